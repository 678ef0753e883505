//! R01 partial-wait: a wait on a counter with several producers waits for all of them.

use megakernel_ir::diagnostic::{Event, Witness};
use megakernel_ir::model::{Program, Task};
use megakernel_ir::{Diagnostic, Rule};

use crate::validate::findings::Findings;
use crate::validate::graph::Graph;

/// The longest schedule that a witness spells out.
const MOST_EVENTS: usize = 10_000;

pub(super) fn check(
    program: &Program<'_>,
    graph: &Graph,
    index: usize,
    task: &Task<'_>,
    findings: &mut Findings,
) {
    for (position, wait) in task.waits.iter().enumerate() {
        let producers = i64::from(graph.producers[wait.counter as usize]);
        if wait.counter == task.out_counter || wait.threshold >= producers {
            continue;
        }
        findings.report(Rule::R01, || {
                let (counter, threshold) = (wait.counter as u32, wait.threshold);
                let message = format!(
                    "task {index} waits for {threshold} of the {producers} tasks that increment counter {counter}, whichever come first; wait for {producers}, or give the tasks that matter a counter of their own"
                );
                let diagnostic = Diagnostic::new(Rule::R01, format!("/tasks/{index}/waits/{position}"), message)
                    .tasks([index as u32])
                    .counters([counter]);
                match overtaking(program, graph, index as u32, counter) {
                    Some((events, left_out)) => {
                        let then = format!("task {index} has started although task {left_out} has not");
                        diagnostic.witness(Witness::Schedule { events, then })
                    }
                    None => diagnostic,
                }
            });
    }
}

/// A schedule in which `task` starts while a producer of `counter` has not run, and that producer; preferably one
/// whose output the task reads. Nothing where other waits make all of them come first: the rule is stricter than
/// the semantics there (clause EXE-11).
fn overtaking(program: &Program<'_>, graph: &Graph, task: u32, counter: u32) -> Option<(Vec<Event>, u32)> {
    let record = &program.tasks[task as usize];
    let reads_from =
        |producer: u32| program.tasks[producer as usize].outputs.iter().any(|id| record.inputs.contains(id));
    let mut producers: Vec<u32> =
        (0..graph.tasks() as u32).filter(|&p| graph.out[p as usize] == counter).collect();
    producers.sort_by_key(|&producer| (!reads_from(producer), std::cmp::Reverse(producer)));
    // Trying a few is enough for any program that people write; each try is a walk over the program.
    producers.into_iter().take(8).find_map(|left_out| {
        let events = run_without(program, graph, task, left_out)?;
        (events.len() <= MOST_EVENTS).then_some((events, left_out))
    })
}

/// Runs every task but `left_out`, one after the other, until `task` has started.
fn run_without(program: &Program<'_>, graph: &Graph, task: u32, left_out: u32) -> Option<Vec<Event>> {
    let needed = ancestors(program, graph, task);
    let mut values = vec![0i64; graph.counters()];
    let mut done = vec![false; graph.tasks()];
    let mut events = Vec::new();
    let startable = |task: u32, values: &[i64]| {
        program.tasks[task as usize].waits.iter().all(|wait| values[wait.counter as usize] >= wait.threshold)
    };
    loop {
        let mut progress = false;
        let mut blocked_queues = std::collections::HashSet::new();
        for &candidate in &needed {
            let sm = program.tasks[candidate as usize].sm;
            if done[candidate as usize] || sm.is_some_and(|sm| blocked_queues.contains(&sm)) {
                continue;
            }
            if candidate == left_out || !startable(candidate, &values) {
                blocked_queues.extend(sm);
                continue;
            }
            events.push(Event::Start(candidate));
            if candidate == task {
                return Some(events);
            }
            events.push(Event::Finish(candidate));
            values[graph.out[candidate as usize] as usize] += 1;
            done[candidate as usize] = true;
            progress = true;
        }
        if !progress {
            return None;
        }
    }
}

/// The task and everything that its waits or its queue put before it, in task-list order.
fn ancestors(program: &Program<'_>, graph: &Graph, task: u32) -> Vec<u32> {
    let mut producers: Vec<Vec<u32>> = vec![Vec::new(); graph.counters()];
    let mut previous = vec![None; graph.tasks()];
    let mut last = std::collections::HashMap::new();
    for (index, record) in program.tasks.iter().enumerate() {
        producers[graph.out[index] as usize].push(index as u32);
        if let Some(sm) = record.sm {
            previous[index] = last.insert(sm, index as u32);
        }
    }
    let mut needed = vec![false; graph.tasks()];
    let mut expanded = vec![false; graph.counters()];
    let mut stack = vec![task];
    while let Some(next) = stack.pop() {
        if std::mem::replace(&mut needed[next as usize], true) {
            continue;
        }
        stack.extend(previous[next as usize]);
        for &counter in graph.waits(next) {
            if !std::mem::replace(&mut expanded[counter as usize], true) {
                stack.extend(&producers[counter as usize]);
            }
        }
    }
    (0..graph.tasks() as u32).filter(|&task| needed[task as usize]).collect()
}
