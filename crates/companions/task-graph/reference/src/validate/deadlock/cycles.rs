//! TD03 dependency-cycle.

use megakernel_ir::diagnostic::{Before, CycleStep, Witness};
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_order::Findings;
use megakernel_order::cycles::{components, shortest_cycle};

use crate::validate::world::{Trigger, World};

/// Of each event and meeting, the number of the cycle that it is on; 0 for none. Empty where there is no cycle.
pub struct OnCycle(Vec<u32>);

impl OnCycle {
    /// Whether there is a cycle at all.
    pub fn is_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether a task is a step of the cycle that an event is on.
    pub fn joins(&self, world: &World<'_, '_, '_>, event: CounterId, task: TaskId) -> bool {
        let number = |event: CounterId| self.0.get(event.index()).copied().unwrap_or(0);
        let (Trigger::Event(trigger), Some(wait)) = (world.triggers[task.index()], world.wait(task)) else {
            return false;
        };
        number(event) != 0 && number(trigger) == number(event) && number(wait) == number(event)
    }
}

pub(super) fn check(world: &World<'_, '_, '_>, is_ordered: bool, findings: &mut Findings) -> OnCycle {
    let is_loop = |task: TaskId| {
        let wait = world.dependent[task.index()];
        wait.is_some_and(|event| world.triggers[task.index()] == Trigger::Event(event))
    };
    let loops: Vec<TaskId> = world.task_ids().filter(|&task| is_loop(task)).collect();
    if is_ordered && loops.is_empty() {
        return OnCycle(Vec::new());
    }
    let events = world.waits();
    // From an event, each task that waits for it leads to the event that the task triggers, if any; a collective, to its meeting.
    let successors = |event: CounterId, index: usize| {
        let task = *world.waiters(event).get(index)?;
        Some(world.onward(event, task).unwrap_or(event))
    };
    let mut found = components(events, successors);
    let mut is_found = vec![false; events];
    found.iter().flatten().for_each(|&event| is_found[event.index()] = true);
    for &task in &loops {
        if let Some(event) = world.dependent[task.index()]
            && !std::mem::replace(&mut is_found[event.index()], true)
        {
            found.push(vec![event]);
        }
    }
    if found.is_empty() {
        return OnCycle(Vec::new());
    }
    let mut on_cycle = OnCycle(vec![0; events]);
    for (number, component) in found.iter().enumerate() {
        component.iter().for_each(|&event| on_cycle.0[event.index()] = number as u32 + 1);
    }
    let step_through = |event: CounterId| {
        world.waiters(event).iter().copied().filter(|&task| on_cycle.joins(world, event, task)).min()
    };
    for component in &found {
        let lowest = component.iter().filter_map(|&event| step_through(event)).min();
        let Some(lowest) = lowest else { continue };
        findings.report(Rule::TD03, || {
            let steps = cycle(world, lowest, successors);
            let tasks: Vec<TaskId> = steps.iter().map(|step| step.task).collect();
            let message = match tasks.len() {
                1 => format!("{} waits for the event that it triggers itself", world.task_name(lowest)),
                count => format!(
                    "{} and {} more wait for each other in a cycle",
                    world.task_name(lowest),
                    count - 1
                ),
            };
            let counters = steps.iter().filter_map(|step| match step.then {
                Before::Counter(event) => Some(event),
                Before::Queue(_) => None,
            });
            Diagnostic::new(Rule::TD03, world.at_task(lowest, ""), message)
                .counters(counters.collect::<Vec<_>>())
                .tasks(tasks)
                .witness(Witness::Cycle { steps })
        });
    }
    on_cycle
}

/// A shortest cycle of tasks through one that is on a cycle.
fn cycle(
    world: &World<'_, '_, '_>,
    first: TaskId,
    successors: impl Fn(CounterId, usize) -> Option<CounterId>,
) -> Vec<CycleStep> {
    let (Trigger::Event(from), Some(to)) = (world.triggers[first.index()], world.wait(first)) else {
        return Vec::new();
    };
    let mut steps = vec![CycleStep { task: first, then: Before::Counter(from) }];
    if from == to {
        return steps;
    }
    // The way from the first task's trigger back to what it waits for, closed by an edge that only the search sees.
    let closed = |event: CounterId, index: usize| match (event == to, index) {
        (true, 0) => Some(from),
        (true, _) => None,
        (false, _) => successors(event, index),
    };
    let events = shortest_cycle(world.waits(), from, closed);
    for pair in events.windows(2) {
        let through = |task: &&TaskId| world.triggers[task.index()] == Trigger::Event(pair[1]);
        if let Some(&task) = world.waiters(pair[0]).iter().find(through) {
            steps.push(CycleStep { task, then: Before::Counter(pair[1]) });
        }
    }
    steps
}
