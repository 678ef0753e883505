//! What `megakernel-reference replay` and `draw` say of schedules.

mod machine;

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::rule::Class;
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId};
use megakernel_reference::commands::draw::{self, Chart};
use megakernel_reference::commands::replay::{EXPLAINED, Judged, Kind, NoRun, Run};
use megakernel_schedule::Schedule;
use serde_json::value::RawValue;

use crate::ids::{EventId, PhaseId};
use crate::validate::{load, validate_schedule, world};
use crate::world::{Access, World};
use crate::{expand, race};
use machine::Blocked;
pub use machine::Machine;

/// Launches after which a count that drifts is taken to do no harm.
const LAUNCHES: u64 = 1 << 20;

/// Schedules.
pub struct Schedules;

impl Kind for Schedules {
    fn is_one(&self, document: &[u8]) -> bool {
        serde_json::from_slice::<BTreeMap<String, &RawValue>>(document)
            .is_ok_and(|members| members.contains_key("tensors") && members.contains_key("tasks"))
    }

    fn open<'d>(&self, documents: &'d [Vec<u8>], files: &[String]) -> Result<Box<dyn Judged + 'd>, String> {
        let file = files.join(" ");
        let refused = |found: &[Diagnostic]| {
            let wrong = |found: &&Diagnostic| {
                matches!(found.rule.class(), Class::STRUCTURE | Class::SCHEDULE_STRUCTURE)
            };
            let Diagnostic { rule, pointer, message, .. } = found.iter().find(wrong)?;
            Some(format!(
                "{file} is no schedule that could run: {rule} {} at {pointer}: {message}",
                rule.slug()
            ))
        };
        let document = documents.first().map(Vec::as_slice).unwrap_or_default();
        let schedule = load(document).map_err(|verdict| refused(&verdict.diagnostics).unwrap_or_default())?;
        let found = validate_schedule(&schedule).diagnostics;
        match refused(&found) {
            Some(message) => Err(message),
            None => Ok(Box::new(Found { schedule, found })),
        }
    }
}

/// A schedule with what was found in it.
struct Found {
    schedule: Schedule,
    found: Vec<Diagnostic>,
}

impl Judged for Found {
    fn findings(&self) -> Vec<&Diagnostic> {
        let about_runs = |found: &&Diagnostic| {
            matches!(found.rule.class(), Class::SCHEDULE_DEADLOCK | Class::SCHEDULE_RACE)
        };
        self.found.iter().filter(about_runs).collect()
    }

    fn replay(&self, finding: &Diagnostic, last: usize) -> Result<Run, NoRun> {
        let Some(world) = world(&self.schedule) else {
            return Err(NoRun::Wrong("the schedule has no tasks to run".to_owned()));
        };
        let teller = Teller { world: &world };
        match finding.rule {
            Rule::ED05 => teller.drift(finding),
            Rule::ED06 => teller.held_worker(finding, last),
            rule if rule.class() == Class::SCHEDULE_DEADLOCK => teller.deadlock(rule, last),
            Rule::ER05 | Rule::ER06 | Rule::ER08 => teller.contents(finding, last),
            _ => teller.race(finding, last),
        }
    }

    fn chart(&self) -> Chart {
        world(&self.schedule).map_or_else(|| empty_chart(Vec::new(), Vec::new()), |world| chart(&world))
    }
}

fn empty_chart(tasks: Vec<draw::Task>, events: Vec<draw::Event>) -> Chart {
    Chart { between: "event", lanes: vec![String::new()], tasks, events }
}

/// Events that the same tasks signal are one in the picture, as there a task signals one.
fn chart(world: &World<'_>) -> Chart {
    let mut sets: BTreeMap<BTreeSet<EventId>, usize> = BTreeMap::new();
    let signalled: Vec<Option<usize>> = world
        .tasks
        .iter()
        .map(|task| {
            let signals = task.each_phase().flat_map(|phase| world.signals.of(phase));
            let set: BTreeSet<EventId> = signals.map(|signal| signal.event).collect();
            let next = sets.len();
            (!set.is_empty()).then(|| *sets.entry(set).or_insert(next))
        })
        .collect();
    let mut of_event: BTreeMap<EventId, Vec<usize>> = BTreeMap::new();
    for (set, &index) in &sets {
        set.iter().for_each(|&event| of_event.entry(event).or_default().push(index));
    }
    let tasks = world.tasks_by_id().zip(signalled).map(|((id, task), triggers)| {
        let waits = task.each_phase().flat_map(|phase| world.waits.of(phase));
        let events: BTreeSet<usize> =
            waits.filter_map(|wait| of_event.get(&wait.event)).flatten().copied().collect();
        draw::Task {
            id,
            number: id.into(),
            lane: 0,
            kind: world.document.tasks[task.written].name.replace('#', &task.copy.to_string()),
            about: String::new(),
            waits: events.into_iter().collect(),
            triggers,
        }
    });
    let event = |number: usize| draw::Event {
        id: CounterId::at(number),
        number: number as u32,
        lane: 0,
        is_end: false,
    };
    empty_chart(tasks.collect(), (0..sets.len()).map(event).collect())
}

struct Teller<'w> {
    world: &'w World<'w>,
}

impl Teller<'_> {
    /// A run that goes as far as it can.
    fn deadlock(&self, rule: Rule, last: usize) -> Result<Run, NoRun> {
        let mut machine = Machine::new(self.world);
        machine.run(|_| false);
        let outcome = self.stuck(&machine);
        match outcome.is_empty() {
            true => Err(NoRun::Wrong(format!("every task finishes, and {rule} says that some do not"))),
            false => Ok(self.told(&machine.steps, last, outcome)),
        }
    }

    /// Launch after launch, until one hangs or does not wait.
    fn drift(&self, finding: &Diagnostic) -> Result<Run, NoRun> {
        let named =
            |event: &EventId| expand::period_pointer(&self.world.events[event.index()]) == finding.pointer;
        let Some(event) = self.world.event_ids().find(named) else {
            return Err(NoRun::Wrong("the pointer leads to no event".to_owned()));
        };
        let (total, period) =
            (self.world.totals()[event.index()], self.world.periods[event.index()].unwrap_or(0));
        let counts = self.world.waits.all().iter().filter(|wait| wait.event == event);
        let name = &self.world.events[event.index()];
        // By this much the count is off with each launch.
        let drift = total.abs_diff(period).max(1);
        let (launch, outcome) = if period < total {
            let least = counts.map(|wait| wait.number).min().unwrap_or(1);
            let launch = least.div_ceil(drift) + 1;
            let outcome = format!(
                "early: a wait for {least} holds before any phase of this launch has signalled `{name}`"
            );
            (launch, outcome)
        } else {
            let most = counts.map(|wait| wait.number).max().unwrap_or(1);
            let launch = total.saturating_sub(most) / drift + 2;
            let outcome = format!(
                "deadlock: with all signals of this launch the count of `{name}` is too low for a wait for {most}"
            );
            (launch, outcome)
        };
        if launch > LAUNCHES {
            return Err(NoRun::Without(format!("it takes {launch} launches")));
        }
        let before = i128::from(launch - 1) * i128::from(total);
        let needed = i128::from(launch - 1) * i128::from(period);
        let steps = vec![format!(
            "{} launches run to their end: the count of `{name}` becomes {before}, and waits of launch {launch} are for {needed} more than they say",
            launch - 1
        )];
        Ok(Run { skipped: 0, steps, outcome: vec![outcome] })
    }

    /// The worker takes the task as soon as it can, and then nothing else of its queue.
    fn held_worker(&self, finding: &Diagnostic, last: usize) -> Result<Run, NoRun> {
        let Some(&task) = finding.tasks.first() else {
            return Err(NoRun::Wrong("the finding names no task".to_owned()));
        };
        let mut machine = Machine::new(self.world);
        if machine.blocked(task).is_some() {
            let queue = self.world.tasks[task.index()].queue;
            let is_other = |phase: PhaseId| {
                self.world.task_of[phase.index()] == task || self.world.of_phase(phase).queue == queue
            };
            machine.run(is_other);
        }
        while machine.blocked(task).is_none() {
            machine.step(task);
        }
        machine.run(|_| false);
        let outcome = self.stuck(&machine);
        match outcome.is_empty() {
            true => Err(NoRun::Without(
                "the run that was tried comes to its end: what the task waits for came from other queues"
                    .to_owned(),
            )),
            false => Ok(self.told(&machine.steps, last, outcome)),
        }
    }

    /// The access at which a finding points.
    fn pointed(&self, finding: &Diagnostic) -> Option<&Access> {
        let task = finding.tasks.last()?.index();
        let task = self.world.tasks.get(task)?;
        let is_it = |access: &&Access| self.world.access_pointer(access) == finding.pointer;
        self.world.accesses_of(task).iter().find(is_it)
    }

    /// Two phases that can run now, either of them first.
    fn race(&self, finding: &Diagnostic, last: usize) -> Result<Run, NoRun> {
        let wrong = || NoRun::Wrong("the finding leads to no two accesses".to_owned());
        let second = self.pointed(finding).ok_or_else(wrong)?;
        let first = finding.tasks.first().ok_or_else(wrong)?.index();
        let task = self.world.tasks.get(first).ok_or_else(wrong)?;
        let meets = |access: &&Access| {
            let (one, other) = (self.world.bytes(access), self.world.bytes(second));
            self.world.placed(access).storage == self.world.placed(second).storage
                && race::conflict(self.world, access, second)
                && one.iter().any(|a| other.iter().any(|b| a[0].max(b[0]) < a[1].min(b[1])))
        };
        let mut only_after = None;
        for first in self.world.accesses_of(task).iter().filter(meets) {
            let pair = [first.phase, second.phase];
            let [one, other] = pair.map(|phase| self.world.task_of[phase.index()]);
            let mut machine = Machine::new(self.world);
            machine.run(|phase| pair.contains(&phase));
            let can = |machine: &Machine<'_>, task: TaskId, phase: PhaseId| {
                machine.next(task) == phase && machine.blocked(task).is_none()
            };
            let (can_first, can_second) = (can(&machine, one, pair[0]), can(&machine, other, pair[1]));
            let said = self.pair(first, second);
            if can_first && can_second {
                let outcome = vec![format!("race: {said}; both can run now, and either may be first")];
                return Ok(self.told(&self.needed(&machine.steps, pair), last, outcome));
            }
            // One of them waits for the other, and what the other did need not have arrived.
            let task = if can_first { one } else { other };
            if can_first || can_second {
                machine.step(task);
                machine.run(|phase| pair.contains(&phase));
                let (task, phase) = if can_first { (other, pair[1]) } else { (one, pair[0]) };
                if can(&machine, task, phase) {
                    machine.step(task);
                    let outcome =
                        vec![format!("race: {said}; nothing tells the one that is later what the other did")];
                    only_after.get_or_insert((self.needed(&machine.steps, pair), outcome));
                }
            }
        }
        only_after.map(|(steps, outcome)| self.told(&steps, last, outcome)).ok_or_else(|| {
            NoRun::Without(
                "in the runs that were tried the two never meet: totals alone do not order them".to_owned(),
            )
        })
    }

    fn pair(&self, first: &Access, second: &Access) -> String {
        let [one, other] = [first, second].map(|access| self.world.access_text(access));
        format!("{one}, {other}")
    }

    /// The run up to an access that finds what it should not.
    fn contents(&self, finding: &Diagnostic, last: usize) -> Result<Run, NoRun> {
        let Some(access) = self.pointed(finding) else {
            return Err(NoRun::Wrong("the finding leads to no access".to_owned()));
        };
        let phase = access.phase;
        let mut machine = Machine::new(self.world);
        machine.run(|other| other == phase);
        let task = self.world.task_of[phase.index()];
        if machine.next(task) != phase || machine.blocked(task).is_some() {
            return Err(NoRun::Wrong("the phase of the access cannot run".to_owned()));
        }
        machine.step(task);
        let found = match finding.rule {
            Rule::ER05 => "unwritten: of what it finds, some was written by nobody who comes before",
            Rule::ER06 => "stale: in a later launch some of what it finds is what the launch before has left",
            _ => "clobbered: of what it finds, some is what was put there as another value",
        };
        let outcome = vec![format!("{found}; {}", self.world.access_text(access))];
        Ok(self.told(&self.needed(&machine.steps, [phase; 2]), last, outcome))
    }

    /// The steps without which these phases could not run, of a run that leads to them.
    fn needed(&self, steps: &[PhaseId], phases: [PhaseId; 2]) -> Vec<PhaseId> {
        let mut counts: Vec<u64> = vec![0; self.world.events.len()];
        let mut kept = BTreeSet::new();
        let mut before: BTreeMap<i128, PhaseId> = BTreeMap::new();
        let mut queued: Vec<Option<PhaseId>> = vec![None; self.world.tasks.len()];
        for (task, queued) in self.world.tasks.iter().zip(&mut queued) {
            if let Some((queue, last)) = self.world.in_order(task).zip(task.last_phase()) {
                *queued = before.insert(queue, last);
            }
        }
        let need = |phase: PhaseId, counts: &mut Vec<u64>, wanted: &mut BTreeSet<PhaseId>| {
            let task = self.world.task_of[phase.index()];
            let of = &self.world.tasks[task.index()];
            wanted.extend(match self.world.place(phase).checked_sub(1) {
                Some(before) => Some(of.phase(before)),
                None => queued[task.index()],
            });
            for wait in self.world.waits.of(phase) {
                let count = &mut counts[wait.event.index()];
                *count = (*count).max(wait.number);
            }
        };
        let mut wanted: BTreeSet<PhaseId> = BTreeSet::new();
        phases.iter().for_each(|&phase| need(phase, &mut counts, &mut wanted));
        // What is signalled first counts first: a step is needed if the count before it is too low.
        let mut sums: Vec<u64> = vec![0; self.world.events.len()];
        let mut before: Vec<Vec<(EventId, u64)>> = Vec::with_capacity(steps.len());
        for &step in steps {
            let signals = self.world.signals.of(step).iter();
            before.push(signals.clone().map(|signal| (signal.event, sums[signal.event.index()])).collect());
            signals.for_each(|signal| sums[signal.event.index()] += signal.number);
        }
        for (&step, before) in steps.iter().zip(&before).rev() {
            let signals = before.iter().any(|&(event, sum)| sum < counts[event.index()]);
            if phases.contains(&step) || wanted.contains(&step) || signals {
                kept.insert(step);
                need(step, &mut counts, &mut wanted);
            }
        }
        steps.iter().copied().filter(|step| kept.contains(step)).collect()
    }

    /// What stands still at the end of a run; nothing if all is finished.
    fn stuck(&self, machine: &Machine<'_>) -> Vec<String> {
        let mut waiting = Vec::new();
        let mut behind = 0usize;
        for task in self.world.task_ids() {
            match machine.blocked(task) {
                Some(Blocked::Waits(wait)) => waiting.push((task, wait)),
                Some(Blocked::Behind) => behind += 1,
                Some(Blocked::Finished) | None => {}
            }
        }
        if waiting.is_empty() {
            return Vec::new();
        }
        let tasks = waiting.len() + behind;
        let mut lines = vec![format!(
            "deadlock: nothing can run, and {tasks} {} not finished",
            if tasks == 1 { "task is" } else { "tasks are" }
        )];
        for (task, wait) in waiting.iter().take(EXPLAINED) {
            let phase = self.world.place(machine.next(*task));
            lines.push(format!(
                "{} waits in phase {phase} for `{}` to reach {}; it is {}",
                self.world.task_name(*task),
                self.world.events[wait.event.index()],
                wait.number,
                machine.count(wait.event)
            ));
        }
        if waiting.len() > EXPLAINED {
            lines.push(format!("and so on for {} more", waiting.len() - EXPLAINED));
        }
        if behind > 0 {
            lines.push(format!("{behind} more stand behind these in their queues"));
        }
        lines
    }

    /// The last steps of a run in words.
    fn told(&self, steps: &[PhaseId], last: usize, outcome: Vec<String>) -> Run {
        let skipped = steps.len().saturating_sub(last);
        let (before, shown) = steps.split_at(skipped);
        let mut counts: BTreeMap<EventId, u64> = BTreeMap::new();
        for signal in before.iter().flat_map(|&step| self.world.signals.of(step)) {
            *counts.entry(signal.event).or_default() += signal.number;
        }
        let mut lines = Vec::new();
        for &step in shown {
            let mut line = self.phase(step);
            for wait in self.world.waits.of(step) {
                let count = counts.get(&wait.event).copied().unwrap_or(0);
                line +=
                    &format!("; `{}` is {count} of {}", self.world.events[wait.event.index()], wait.number);
            }
            for signal in self.world.signals.of(step) {
                let count = counts.entry(signal.event).or_default();
                *count += signal.number;
                line += &format!("; `{}` becomes {count}", self.world.events[signal.event.index()]);
            }
            lines.push(line);
        }
        Run { skipped, steps: lines, outcome }
    }

    fn phase(&self, phase: PhaseId) -> String {
        let task = self.world.task_of[phase.index()];
        let of = &self.world.tasks[task.index()];
        let name = self.world.task_name(task);
        let line = match of.each_phase().count() {
            1 => name,
            many => format!("{name}, phase {} of {many}", self.world.place(phase)),
        };
        let queue = of.queue.map(|queue| format!(" on worker {queue}"));
        line + &queue.unwrap_or_default()
    }
}
