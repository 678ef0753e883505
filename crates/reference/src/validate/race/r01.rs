//! R01 partial-wait: a wait on a counter with several producers waits for all of them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use megakernel_ir::diagnostic::{Event, Witness};
use megakernel_ir::model::{Program, Task, Wait};
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::{Findings, Graph};

use crate::validate::deadlock::never_starts;

/// The longest schedule that a witness spells out.
const MOST_EVENTS: usize = 10_000;
/// Producers that are left out in turn until the waiting task overtakes one.
const TRIES: usize = 8;
/// In programs with more tasks, only the first broken wait gets a schedule.
const MANY_TASKS: usize = 10_000;

/// Whether a task waits for some of several tasks.
pub(super) fn is_partial(graph: &Graph, task: &Task<'_>, wait: &Wait<'_>) -> bool {
    wait.counter != task.out_counter
        && wait.threshold < i64::from(graph.producers(CounterId::stated(wait.counter)))
}

pub(super) fn check(
    program: &Program<'_>,
    graph: &Graph,
    id: TaskId,
    task: &Task<'_>,
    findings: &mut Findings,
) {
    for (position, wait) in task.waits.iter().enumerate() {
        if !is_partial(graph, task, wait) {
            continue;
        }
        let (counter, threshold) = (CounterId::stated(wait.counter), wait.threshold);
        let producers = graph.producers(counter);
        let is_first = !findings.has(Rule::R01);
        findings.report(Rule::R01, || {
                let message = format!(
                    "task {id} waits for {threshold} of the {producers} tasks that increment counter {counter}, whichever come first; wait for {producers}, or give the tasks that matter a counter of their own"
                );
                let diagnostic = Diagnostic::new(Rule::R01, format!("/tasks/{id}/waits/{position}"), message)
                    .tasks([id])
                    .counters([counter]);
                let has_schedule = is_first || graph.tasks() <= MANY_TASKS;
                match has_schedule.then(|| overtaking(program, graph, id, counter)).flatten() {
                    Some((events, left_out)) => {
                        let then = format!("task {id} has started although task {left_out} has not");
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
fn overtaking(
    program: &Program<'_>,
    graph: &Graph,
    task: TaskId,
    counter: CounterId,
) -> Option<(Vec<Event>, TaskId)> {
    let record = &program[task];
    let reads_from = |producer: TaskId| program[producer].outputs.iter().any(|id| record.inputs.contains(id));
    let mut producers: Vec<TaskId> =
        TaskId::range(0..graph.tasks()).filter(|&task| graph.out(task) == counter).collect();
    producers.sort_by_key(|&producer| (!reads_from(producer), Reverse(producer)));
    // Each try is a walk over the program; a few are enough for any program that people write.
    producers.into_iter().take(TRIES).find_map(|left_out| {
        let events = run_without(program, graph, task, left_out)?;
        (events.len() <= MOST_EVENTS).then_some((events, left_out))
    })
}

/// Runs every task but `left_out`, one after the other, until `task` has started.
fn run_without(program: &Program<'_>, graph: &Graph, task: TaskId, left_out: TaskId) -> Option<Vec<Event>> {
    let Needed { tasks, next_in_queue, mut missing } = needed(program, graph, task);
    let mut values = vec![0i64; graph.counters()];
    let mut events = Vec::new();
    let mut ready: BinaryHeap<Reverse<TaskId>> =
        tasks.iter().copied().filter(|task| missing[task.index()] == 0).map(Reverse).collect();
    while let Some(Reverse(next)) = ready.pop() {
        if next == left_out || never_starts(&program[next], program.target.as_ref()) {
            continue;
        }
        events.push(Event::Start(next));
        if next == task {
            return Some(events);
        }
        events.push(Event::Finish(next));
        let mut arrived = |task: TaskId| {
            if let Some(count) = missing[task.index()].checked_sub(1) {
                missing[task.index()] = count;
                if count == 0 {
                    ready.push(Reverse(task));
                }
            }
        };
        next_in_queue[next.index()].into_iter().for_each(&mut arrived);
        let counter = graph.out(next);
        values[counter.index()] += 1;
        for &waiter in graph.waiters(counter) {
            for wait in &program[waiter].waits {
                if CounterId::stated(wait.counter) == counter && wait.threshold == values[counter.index()] {
                    arrived(waiter);
                }
            }
        }
    }
    None
}

/// The part of a program that decides whether a task can start.
struct Needed {
    /// The task and everything that its waits or its queue put before it.
    tasks: Vec<TaskId>,
    /// Of each task, the one after it in its queue.
    next_in_queue: Vec<Option<TaskId>>,
    /// Of each task, how many waits and queue predecessors are open. Zero for those that are not needed: they never
    /// become ready a second time.
    missing: Vec<usize>,
}

/// What has to be known to run a task and all that comes before it.
fn needed(program: &Program<'_>, graph: &Graph, task: TaskId) -> Needed {
    let mut producers: Vec<Vec<TaskId>> = vec![Vec::new(); graph.counters()];
    let mut previous = vec![None; graph.tasks()];
    let mut next_in_queue = vec![None; graph.tasks()];
    let mut last = HashMap::new();
    for (id, record) in program.tasks_by_id() {
        producers[graph.out(id).index()].push(id);
        if let Some(sm) = record.sm {
            previous[id.index()] = last.insert(sm, id);
            if let Some(previous) = previous[id.index()] {
                next_in_queue[previous.index()] = Some(id);
            }
        }
    }
    let mut is_needed = vec![false; graph.tasks()];
    let mut expanded = vec![false; graph.counters()];
    let mut stack = vec![task];
    while let Some(next) = stack.pop() {
        if std::mem::replace(&mut is_needed[next.index()], true) {
            continue;
        }
        stack.extend(previous[next.index()]);
        for &counter in graph.waits(next) {
            if !std::mem::replace(&mut expanded[counter.index()], true) {
                stack.extend(&producers[counter.index()]);
            }
        }
    }
    let tasks: Vec<TaskId> = TaskId::range(0..graph.tasks()).filter(|task| is_needed[task.index()]).collect();
    let mut missing = vec![0; graph.tasks()];
    for &task in &tasks {
        let waits = program[task].waits.len();
        missing[task.index()] = waits + usize::from(previous[task.index()].is_some());
    }
    Needed { tasks, next_in_queue, missing }
}
