//! From a program on which validator and explorer disagree to smaller ones.

use megakernel_ir::model::{Program, Task};
use megakernel_ir::{BufferId, CounterId, Opcode, TaskId};

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
            copy.tasks.iter_mut().enumerate().for_each(|(index, task)| task.id = TaskId::at(index).into());
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
    for (buffer, _) in program.buffers_by_id() {
        let id = i64::from(buffer);
        if !program.tasks.iter().any(|task| task.inputs.contains(&id) || task.outputs.contains(&id)) {
            with(&|copy| remove_buffer(copy, buffer));
        }
    }
    for counter in CounterId::range(0..program.counters.len()) {
        let counters = |task: &Task<'_>| {
            let waits = task.waits.iter().map(|wait| wait.counter);
            waits.chain([task.out_counter]).any(|id| CounterId::stated(id) == counter)
        };
        if !program.tasks.iter().any(counters) {
            with(&|copy| remove_counter(copy, counter));
        }
    }
    all
}

fn remove_buffer(program: &mut Program<'static>, id: BufferId) {
    let down = |other: &mut i64| *other -= i64::from(*other > i64::from(id));
    program.buffers.remove(id.index());
    program.buffers.iter_mut().for_each(|buffer| down(&mut buffer.id));
    for task in &mut program.tasks {
        task.inputs.iter_mut().chain(task.outputs.iter_mut()).for_each(down);
    }
    if let Some(pages) = &mut program.pages {
        pages.buffer_to_page.0.retain(|&(buffer, _)| buffer != i64::from(id));
        pages.buffer_to_page.0.iter_mut().for_each(|(buffer, _)| down(buffer));
    }
}

fn remove_counter(program: &mut Program<'static>, id: CounterId) {
    let down = |other: &mut i64| *other -= i64::from(*other > i64::from(id));
    program.counters.remove(id.index());
    program.counters.iter_mut().for_each(|counter| down(&mut counter.id));
    for task in &mut program.tasks {
        down(&mut task.out_counter);
        task.waits.iter_mut().for_each(|wait| down(&mut wait.counter));
    }
}
