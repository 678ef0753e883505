//! The rules ED. Counts never fall, so one run that goes as far as it can tells whether any run gets stuck (clause SCH-09).

use std::collections::HashMap;

use megakernel_ir::diagnostic::{Event, Witness};
use megakernel_ir::{Diagnostic, Rule, TaskId};
use megakernel_order::Findings;

use crate::expand::period_pointer;
use crate::world::{TaskAt, World};

/// Judges the rules.
pub fn check(world: &World<'_>, findings: &mut Findings) {
    let totals = world.totals();
    let mut is_waited = vec![false; world.events.len()];
    for phase in 0..world.phases() {
        for index in world.waits.range(phase) {
            let wait = &world.waits.all()[index];
            let (event, total) = (wait.event as usize, totals[wait.event as usize]);
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
            let task = world.task_of[phase];
            findings.report(rule, || {
                let message = format!("{}: {message}", world.task_name(task));
                Diagnostic::new(rule, world.wait_pointer(phase as u32, index), message).tasks([task.into()])
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
    for (number, task) in world.tasks.iter().enumerate() {
        if !task.queue.is_some_and(|queue| world.any_order.contains(&queue)) {
            continue;
        }
        for phase in task.phases.clone().skip(1) {
            for wait in world.waits.range(phase as usize) {
                findings.report(Rule::ED06, || {
                    let message = format!(
                        "{} waits in its phase {}, and its queue {} is in any order",
                        world.task_name(number as u32),
                        phase - task.phases.start,
                        task.queue.unwrap_or_default()
                    );
                    Diagnostic::new(Rule::ED06, world.wait_pointer(phase, wait), message)
                        .tasks([TaskId::at(number)])
                });
            }
        }
    }
}

/// A run that goes as far as it can.
struct Run {
    /// Tasks that have begun and are not finished.
    stuck: Vec<u32>,
    /// For each task its next phase.
    next: Vec<u32>,
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
        let mut open: Vec<Vec<(u64, u32)>> = vec![Vec::new(); world.events.len()];
        let mut unmet = vec![0u32; world.phases()];
        for (phase, unmet) in unmet.iter_mut().enumerate() {
            for wait in world.waits.of(phase).iter().filter(|wait| wait.number <= totals[wait.event as usize])
            {
                open[wait.event as usize].push((wait.number, phase as u32));
                *unmet += 1;
            }
        }
        open.iter_mut().for_each(|waits| waits.sort_unstable_by(|a, b| b.cmp(a)));
        // The tasks of each queue in reverse, but for its head.
        let mut behind: HashMap<i128, Vec<u32>> = HashMap::new();
        let mut heads: Vec<u32> = Vec::new();
        let in_queue = |task: &TaskAt| world.in_order(task).filter(|_| with_queues);
        for (number, task) in world.tasks.iter().enumerate().rev() {
            match in_queue(task) {
                Some(queue) => behind.entry(queue).or_default().push(number as u32),
                None => heads.push(number as u32),
            }
        }
        heads.extend(behind.values_mut().filter_map(Vec::pop));
        heads.sort_unstable_by(|a, b| b.cmp(a));
        let mut has_begun = vec![false; world.tasks.len()];
        // Tasks of which the next phase may be enabled.
        while let Some(task) = heads.pop() {
            let at = task as usize;
            if !has_begun[at] {
                has_begun[at] = true;
                run.step(Event::Start(task.into()));
            }
            let end = world.tasks[at].phases.end;
            while run.next[at] < end && unmet[run.next[at] as usize] == 0 {
                let phase = run.next[at] as usize;
                run.next[at] += 1;
                for signal in world.signals.of(phase) {
                    let event = signal.event as usize;
                    run.counts[event] += signal.number;
                    while let Some(&(number, waiter)) = open[event].last()
                        && number <= run.counts[event]
                    {
                        open[event].pop();
                        unmet[waiter as usize] -= 1;
                        let of = world.task_of[waiter as usize];
                        let stands = has_begun[of as usize] && run.next[of as usize] == waiter;
                        if unmet[waiter as usize] == 0 && stands && of != task {
                            heads.push(of);
                        }
                    }
                }
            }
            if run.next[at] == end {
                run.step(Event::Finish(task.into()));
                if let Some(next) = in_queue(&world.tasks[at]).and_then(|queue| behind.get_mut(&queue)?.pop())
                {
                    heads.push(next);
                }
            }
        }
        let unfinished = |task: &u32| {
            has_begun[*task as usize] && run.next[*task as usize] < world.tasks[*task as usize].phases.end
        };
        run.stuck = (0..world.tasks.len() as u32).filter(unfinished).collect();
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
        let phase = self.next[task as usize];
        let never = |index: &usize| {
            let wait = &world.waits.all()[*index];
            let event = wait.event as usize;
            wait.number <= self.totals[event] && wait.number > self.counts[event]
        };
        let Some(index) = world.waits.range(phase as usize).find(never) else { return true };
        findings.report(rule, || {
            let wait = &world.waits.all()[index];
            let event = wait.event as usize;
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
                .tasks(self.stuck.iter().take(16).map(|&task| task.into()));
            if self.steps.len() > SHOWN {
                return found;
            }
            let then = format!("task {task} waits for ever");
            found.witness(Witness::Schedule { events: self.steps.clone(), then })
        });
        false
    }
}
