//! From a program on which validator and explorer disagree to smaller ones.

use megakernel_ir::Opcode;
use megakernel_ir::model::Program;

/// Without a task, a wait, an SM, a page, or what a task does; with a lower threshold. And without what is then unused.
pub fn smaller(program: &Program<'static>) -> Vec<Program<'static>> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Program<'static>)| {
        let mut copy = program.clone();
        change(&mut copy);
        all.push(copy);
    };
    for task in 0..program.tasks.len() {
        with(&|copy| {
            copy.tasks.remove(task);
            copy.tasks.iter_mut().enumerate().for_each(|(index, task)| task.id = index as i64);
        });
    }
    if program.pages.is_some() {
        with(&|copy| copy.pages = None);
    }
    if program.target.is_some() {
        with(&|copy| copy.target = None);
    }
    for (index, task) in program.tasks.iter().enumerate() {
        if task.op != Opcode::Nop {
            with(&|copy| {
                let task = &mut copy.tasks[index];
                task.op = Opcode::Nop;
                task.inputs.clear();
                task.outputs.clear();
                task.params.0.clear();
            });
        }
        if task.sm.is_some() {
            with(&|copy| copy.tasks[index].sm = None);
        }
        for (position, wait) in task.waits.iter().enumerate() {
            with(&|copy| drop(copy.tasks[index].waits.remove(position)));
            if wait.threshold > 1 {
                with(&|copy| copy.tasks[index].waits[position].threshold -= 1);
            }
        }
    }
    for buffer in 0..program.buffers.len() as i64 {
        let used =
            program.tasks.iter().any(|task| task.inputs.contains(&buffer) || task.outputs.contains(&buffer));
        if !used {
            with(&|copy| remove_buffer(copy, buffer));
        }
    }
    for counter in 0..program.counters.len() as i64 {
        let waited =
            |task: &megakernel_ir::model::Task<'_>| task.waits.iter().any(|wait| wait.counter == counter);
        if !program.tasks.iter().any(|task| task.out_counter == counter || waited(task)) {
            with(&|copy| remove_counter(copy, counter));
        }
    }
    all
}

fn remove_buffer(program: &mut Program<'static>, buffer: i64) {
    let down = |id: &mut i64| *id -= i64::from(*id > buffer);
    program.buffers.remove(buffer as usize);
    program.buffers.iter_mut().for_each(|buffer| down(&mut buffer.id));
    for task in &mut program.tasks {
        task.inputs.iter_mut().chain(task.outputs.iter_mut()).for_each(down);
    }
    if let Some(pages) = &mut program.pages {
        pages.buffer_to_page.0.retain(|&(id, _)| id != buffer);
        pages.buffer_to_page.0.iter_mut().for_each(|(id, _)| down(id));
    }
}

fn remove_counter(program: &mut Program<'static>, counter: i64) {
    let down = |id: &mut i64| *id -= i64::from(*id > counter);
    program.counters.remove(counter as usize);
    program.counters.iter_mut().for_each(|counter| down(&mut counter.id));
    for task in &mut program.tasks {
        down(&mut task.out_counter);
        task.waits.iter_mut().for_each(|wait| down(&mut wait.counter));
    }
}
