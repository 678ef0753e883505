//! The rules ED. Counts never fall, so one run that goes as far as it can tells whether any run gets stuck (clause SCH-09).

use std::collections::HashMap;

use megakernel_ir::diagnostic::{Event, Witness};
use megakernel_ir::{Diagnostic, Rule, TaskId};
use megakernel_order::Findings;

use crate::expand::period_pointer;
use crate::ids::PhaseId;
use crate::world::{TaskAt, World};

/// Judges the rules.
pub fn check(world: &World<'_>, findings: &mut Findings) {
    let totals = world.totals();
    let mut is_waited = vec![false; world.events.len()];
    for phase in world.phase_ids() {
        for index in world.waits.range(phase) {
            let wait = &world.waits.all()[index];
            let event = wait.event.index();
            let total = totals[event];
            is_waited[event] = true;
            if total >= wait.number {
                continue;
            }
            let (rule, message) = if total == 0 {
                (Rule::ED01, format!("no phase signals `{}`", world.events[event]))
            } else {
                let message = format!(
                    "the wait is for {}, and all signals of `{}` are {total} together",
                    wait.number, world.events[event]
                );
                (Rule::ED02, message)
            };
            let task = world.task_of[phase.index()];
            findings.report(rule, || {
                let message = format!("{}: {message}", world.task_name(task));
                Diagnostic::new(rule, world.wait_pointer(phase, index), message).tasks([task])
            });
        }
    }
    for (event, period) in world.periods.iter().enumerate() {
        if let Some(period) = *period
            && is_waited[event]
            && totals[event] != 0
            && period != totals[event]
        {
            let message = format!(
                "found {period}, required {}, the amounts of all signals in a launch: the launches after the first {}",
                totals[event],
                if period > totals[event] { "wait for ever" } else { "do not wait for all of them" }
            );
            findings.broken(Rule::ED05, period_pointer(&world.events[event]), message);
        }
    }
    held_workers(world, findings);
    let alone = Run::of(world, &totals, false);
    if alone.report(world, Rule::ED03, findings) && !findings.has(Rule::ED06) {
        Run::of(world, &totals, true).report(world, Rule::ED04, findings);
    }
}

fn held_workers(world: &World<'_>, findings: &mut Findings) {
    for (id, task) in world.tasks_by_id() {
        if !task.queue.is_some_and(|queue| world.any_order.contains(&queue)) {
            continue;
        }
        for phase in task.each_phase().skip(1) {
            for wait in world.waits.range(phase) {
                findings.report(Rule::ED06, || {
                    let message = format!(
                        "{} waits in its phase {}, and its queue {} is in any order",
                        world.task_name(id),
                        world.place(phase),
                        task.queue.unwrap_or_default()
                    );
                    Diagnostic::new(Rule::ED06, world.wait_pointer(phase, wait), message).tasks([id])
                });
            }
        }
    }
}

/// A run that goes as far as it can.
struct Run {
    /// Tasks that have begun and are not finished.
    stuck: Vec<TaskId>,
    /// For each task its next phase.
    next: Vec<PhaseId>,
    counts: Vec<u64>,
    totals: Vec<u64>,
    /// How the run went, as far as a witness has room.
    steps: Vec<Event>,
}

/// Steps that a witness holds at most.
const SHOWN: usize = 1 << 12;

impl Run {
    /// With the queues as they are, or with a worker for each task.
    fn of(world: &World<'_>, totals: &[u64], with_queues: bool) -> Run {
        let mut run = Run {
            stuck: Vec::new(),
            next: world.tasks.iter().map(|task| task.phases.start).collect(),
            counts: vec![0; world.events.len()],
            totals: totals.to_vec(),
            steps: Vec::new(),
        };
        // The waits of each event that can ever be enabled, descending by count.
        let mut open: Vec<Vec<(u64, PhaseId)>> = vec![Vec::new(); world.events.len()];
        let mut unmet = vec![0u32; world.phases()];
        for (phase, unmet) in world.phase_ids().zip(&mut unmet) {
            for wait in world.waits.of(phase).iter().filter(|wait| wait.number <= totals[wait.event.index()])
            {
                open[wait.event.index()].push((wait.number, phase));
                *unmet += 1;
            }
        }
        open.iter_mut().for_each(|waits| waits.sort_unstable_by(|a, b| b.cmp(a)));
        // The tasks of each queue in reverse, but for its head.
        let mut behind: HashMap<i128, Vec<TaskId>> = HashMap::new();
        let mut heads: Vec<TaskId> = Vec::new();
        let in_queue = |task: &TaskAt| world.in_order(task).filter(|_| with_queues);
        for (id, task) in world.tasks_by_id().rev() {
            match in_queue(task) {
                Some(queue) => behind.entry(queue).or_default().push(id),
                None => heads.push(id),
            }
        }
        heads.extend(behind.values_mut().filter_map(Vec::pop));
        heads.sort_unstable_by(|a, b| b.cmp(a));
        let mut has_begun = vec![false; world.tasks.len()];
        // Tasks of which the next phase may be enabled.
        while let Some(task) = heads.pop() {
            let at = task.index();
            if !has_begun[at] {
                has_begun[at] = true;
                run.step(Event::Start(task));
            }
            let end = world.tasks[at].phases.end;
            while run.next[at] < end && unmet[run.next[at].index()] == 0 {
                let phase = run.next[at];
                run.next[at] = phase.next();
                for signal in world.signals.of(phase) {
                    let event = signal.event.index();
                    run.counts[event] += signal.number;
                    while let Some(&(number, waiter)) = open[event].last()
                        && number <= run.counts[event]
                    {
                        open[event].pop();
                        unmet[waiter.index()] -= 1;
                        let of = world.task_of[waiter.index()];
                        let stands = has_begun[of.index()] && run.next[of.index()] == waiter;
                        if unmet[waiter.index()] == 0 && stands && of != task {
                            heads.push(of);
                        }
                    }
                }
            }
            if run.next[at] == end {
                run.step(Event::Finish(task));
                if let Some(next) = in_queue(&world.tasks[at]).and_then(|queue| behind.get_mut(&queue)?.pop())
                {
                    heads.push(next);
                }
            }
        }
        let unfinished =
            |(id, task): &(TaskId, &TaskAt)| has_begun[id.index()] && run.next[id.index()] < task.phases.end;
        run.stuck = world.tasks_by_id().filter(unfinished).map(|(id, _)| id).collect();
        run
    }

    fn step(&mut self, event: Event) {
        if self.steps.len() <= SHOWN {
            self.steps.push(event);
        }
    }

    /// Whether all tasks finish; reports the first wait that does not end otherwise.
    fn report(self, world: &World<'_>, rule: Rule, findings: &mut Findings) -> bool {
        let Some(&task) = self.stuck.first() else { return true };
        let phase = self.next[task.index()];
        let never = |index: &usize| {
            let wait = &world.waits.all()[*index];
            let event = wait.event.index();
            wait.number <= self.totals[event] && wait.number > self.counts[event]
        };
        let Some(index) = world.waits.range(phase).find(never) else { return true };
        findings.report(rule, || {
            let wait = &world.waits.all()[index];
            let event = wait.event.index();
            let why = if rule == Rule::ED03 {
                "the phases that signal the rest wait for it, one through the other"
            } else {
                "the tasks that signal the rest stand behind tasks that wait, in this queue or another"
            };
            let standing = match self.stuck.len() {
                1 => "1 task stands".to_owned(),
                tasks => format!("{tasks} tasks stand"),
            };
            let message = format!(
                "{} waits for `{}` to reach {}, and it stays at {} of {}: {why}; {standing} still",
                world.task_name(task),
                world.events[event],
                wait.number,
                self.counts[event],
                self.totals[event],
            );
            let found = Diagnostic::new(rule, world.wait_pointer(phase, index), message)
                .tasks(self.stuck.iter().take(16).copied());
            if self.steps.len() > SHOWN {
                return found;
            }
            let then = format!("task {task} waits for ever");
            found.witness(Witness::Schedule { events: self.steps.clone(), then })
        });
        false
    }
}
