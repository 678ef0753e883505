//! From the witness of a diagnostic to a run that ends badly.

use std::fmt;

use megakernel_ir::diagnostic::{Diagnostic, Event, Witness};
use megakernel_ir::model::Program;
use megakernel_ir::{BufferId, CounterId, Rule, TaskId};

use super::compact::Compact;
use super::faults::{FaultKind, Strength};
use super::machine::{Blocked, Fault, Machine, Status};
use super::search::Explorer;

/// The most tasks of a program that is replayed: the machine keeps a set of tasks for each task.
pub const MAX_REPLAYED: usize = 1 << 14;

/// A run that shows what a diagnostic says.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The steps, from the starting state on.
    pub events: Vec<Event>,
    /// What goes wrong at the last of them.
    pub outcome: Outcome,
}

/// How a replayed run ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// With a fault.
    Fault(Fault),
    /// A task has started though some producer of a counter that it waits on has not finished (rule R01). Nothing else went
    /// wrong on the way: the task does not depend on these producers.
    Early {
        /// The task.
        task: TaskId,
        /// The producers that have not finished.
        missing: Vec<TaskId>,
    },
}

/// Why a diagnostic cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotReplayed {
    /// It has no witness.
    NoWitness,
    /// No run that was tried goes wrong in the way that the rule names; the rule may be stricter than the semantics here
    /// (clause EXE-11).
    NoFault,
    /// The witness contradicts the program.
    Invalid(String),
    /// The program has more than [`MAX_REPLAYED`] tasks.
    TooLarge(usize),
}

impl fmt::Display for NotReplayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotReplayed::NoWitness => f.write_str("the diagnostic has no witness"),
            NotReplayed::NoFault => {
                f.write_str("no run goes wrong in the way that the rule names: the rule is stricter than the semantics here")
            }
            NotReplayed::Invalid(what) => write!(f, "the witness does not fit the program: {what}"),
            NotReplayed::TooLarge(tasks) => {
                write!(f, "the program has {tasks} tasks; at most {MAX_REPLAYED} can be replayed")
            }
        }
    }
}

impl std::error::Error for NotReplayed {}

/// Turns the witness of a D, R or P diagnostic, or of M05, into a run that ends in what the diagnostic says.
///
/// A witness that is not a run, such as two unordered tasks, leaves the schedule open. Then the run takes only the steps that the
/// tasks need and keeps those apart that must not come first; where queues make that impossible, it is any complete run, and
/// the fault that it ends with is a latent one.
///
/// # Errors
/// There is no witness, it does not fit the program, or no run shows the fault.
pub fn replay(program: &Program<'_>, diagnostic: &Diagnostic) -> Result<Replay, NotReplayed> {
    if program.tasks.len() > MAX_REPLAYED {
        return Err(NotReplayed::TooLarge(program.tasks.len()));
    }
    let Some(witness) = &diagnostic.witness else { return without_witness(program, diagnostic) };
    let tasks = named(witness);
    if let Some(task) = tasks.iter().find(|task| task.index() >= program.tasks.len()) {
        return Err(NotReplayed::Invalid(format!("there is no task {task}")));
    }
    let mut run = Run::new(program, diagnostic.rule);
    let ended = match witness {
        Witness::Cycle { .. } => run.until_deadlock(&tasks),
        Witness::Schedule { events, .. } if events.is_empty() => run.until_deadlock(&diagnostic.tasks),
        Witness::Schedule { events, .. } => return run.schedule(events),
        Witness::Unordered { first, second, .. } => run.together(&[first.task, second.task]),
        Witness::Clobber { first, second, .. } => run.together(&[first.task, second.task]),
        Witness::Unwritten { task, .. } => run.together(&[*task]),
        // Task graphs are replayed by `task_graph::explore`, and choices of kernels do not run.
        Witness::Overlap { .. } | Witness::Choice { .. } => return Err(NotReplayed::NoWitness),
    };
    ended
        .or_else(|| Run::new(program, diagnostic.rule).all_in_order(&tasks))
        .or_else(|| explored(program, diagnostic.rule))
        .ok_or(NotReplayed::NoFault)
}

/// Which task reads last, and which buffer a page holds then, can depend on the whole order: a small program is explored for it.
fn explored(program: &Program<'_>, rule: Rule) -> Option<Replay> {
    if rule != Rule::P01 {
        return None;
    }
    let mut explorer = Explorer::new();
    explorer.explore(&Compact::new(program).ok()?);
    let kind = FaultKind::PageViolation;
    let events =
        explorer.run(kind, Strength::Shows).or_else(|| explorer.run(kind, Strength::Latent))?.events();
    let mut run = Run::new(program, rule);
    events.into_iter().find_map(|event| run.take(event, &[]).ok().flatten())
}

/// A diagnostic that says all by its tasks and buffers: a queue that no SM takes up, storage that is not there.
fn without_witness(program: &Program<'_>, diagnostic: &Diagnostic) -> Result<Replay, NotReplayed> {
    let mut run = Run { buffers: diagnostic.buffers.clone(), ..Run::new(program, diagnostic.rule) };
    let replayed = match diagnostic.rule {
        Rule::D07 => run.until_deadlock(&diagnostic.tasks),
        Rule::R07 | Rule::P02 | Rule::P03 | Rule::P05 => run.go_on(&[]),
        // After the launch the host reads outputs and caches, wherever they are.
        Rule::P04 => run.go_on(&[]).or_else(|| run.host_reads()),
        _ => None,
    };
    replayed.ok_or(NotReplayed::NoWitness)
}

fn named(witness: &Witness) -> Vec<TaskId> {
    match witness {
        Witness::Cycle { steps } => steps.iter().map(|step| step.task).collect(),
        Witness::Schedule { events, .. } => {
            events.iter().map(|&(Event::Start(task) | Event::Finish(task))| task).collect()
        }
        Witness::Unordered { first, second, .. } => vec![first.task, second.task],
        Witness::Clobber { first, second, .. } => vec![first.task, second.task],
        Witness::Unwritten { task, .. } => vec![*task],
        Witness::Overlap { first, second, .. } => vec![first.task, second.task],
        Witness::Choice { .. } => Vec::new(),
    }
}

/// Whether a fault is what a rule forbids.
fn fits(rule: Rule, kind: FaultKind) -> bool {
    use FaultKind::*;
    match rule {
        Rule::D01 | Rule::D02 | Rule::D03 | Rule::D04 | Rule::D05 | Rule::D06 | Rule::D07 => kind == Deadlock,
        Rule::R01 => kind != Deadlock,
        Rule::R02 | Rule::M05 => matches!(kind, UnwrittenRead | ReadWriteRace),
        Rule::R03 | Rule::R05 => kind == ReadWriteRace,
        Rule::R04 => kind == WriteWriteRace,
        Rule::R06 => matches!(kind, ReadWriteRace | StaleRead),
        Rule::R07 => kind == UnwrittenRead,
        Rule::P04 => matches!(kind, PageViolation | UnwrittenRead),
        _ => kind == PageViolation,
    }
}

/// A run under construction.
struct Run<'p> {
    machine: Machine<'p>,
    rule: Rule,
    /// The buffers that a fault has to be about.
    buffers: Vec<BufferId>,
}

impl<'p> Run<'p> {
    fn new(program: &'p Program<'p>, rule: Rule) -> Run<'p> {
        Run { machine: Machine::new(program), rule, buffers: Vec::new() }
    }

    fn end(&self, fault: Fault) -> Replay {
        Replay { events: self.machine.events().to_vec(), outcome: Outcome::Fault(fault) }
    }

    /// Takes a step. The result is the end of the replay, if it ends with a fault that the rule forbids, in which all of these tasks
    /// have a part.
    fn take(&mut self, event: Event, tasks: &[TaskId]) -> Result<Option<Replay>, Blocked> {
        let faults = self.machine.step(event)?;
        let rule = self.rule;
        // A race of others is no evidence, nor is a read that lacks what another task writes.
        let meant = |fault: &Fault| match fault.kind {
            FaultKind::UnwrittenRead => {
                tasks.is_empty() || fault.tasks.iter().all(|task| tasks.contains(task))
            }
            _ => tasks.iter().all(|task| fault.tasks.contains(task)),
        };
        let fault = faults
            .into_iter()
            .filter(|fault| fits(rule, fault.kind))
            .find(|fault| meant(fault) && self.is_about(fault));
        Ok(fault.map(|fault| self.end(fault)))
    }

    fn is_about(&self, fault: &Fault) -> bool {
        self.buffers.iter().all(|buffer| fault.buffers.contains(buffer))
    }

    /// What the host finds after a run that has come to its end.
    fn host_reads(&mut self) -> Option<Replay> {
        let ended = self.machine.tasks().all(|task| self.machine.status(task) == Status::Finished);
        let faults = if ended { self.machine.host_reads() } else { Vec::new() };
        let fault = faults.into_iter().find(|fault| self.is_about(fault))?;
        Some(self.end(fault))
    }

    /// Runs tasks from start to finish, one after the other, as long as some of these can start and `until` does not hold.
    fn drain(&mut self, candidates: &[TaskId], until: impl Fn(&Machine<'p>) -> bool) {
        let mut waiting: Vec<TaskId> = candidates.to_vec();
        loop {
            let before = waiting.len();
            let mut left = Vec::new();
            for &task in &waiting {
                if until(&self.machine) {
                    return;
                }
                if self.machine.step(Event::Start(task)).is_err()
                    || self.machine.step(Event::Finish(task)).is_err()
                {
                    left.push(task);
                }
            }
            if left.len() == before {
                return;
            }
            waiting = left;
        }
    }

    /// Runs what can run. The program stops short, and these tasks never start.
    fn until_deadlock(&mut self, tasks: &[TaskId]) -> Option<Replay> {
        let all: Vec<TaskId> = self.machine.tasks().collect();
        self.drain(&all, |_| false);
        let fault = self.machine.deadlock()?;
        tasks.iter().all(|task| fault.tasks.contains(task)).then(|| self.end(fault))
    }

    /// Brings tasks to where each can start while none has, by the steps that they need; then starts them, one upon the
    /// other.
    fn together(&mut self, tasks: &[TaskId]) -> Option<Replay> {
        let needed: Vec<TaskId> =
            self.needs(tasks).into_iter().filter(|task| !tasks.contains(task)).collect();
        let ready = |machine: &Machine<'_>| tasks.iter().all(|&task| machine.blocked(task).is_none());
        self.drain(&needed, ready);
        if !ready(&self.machine) {
            return None;
        }
        // The reader first: what it misses is missing already.
        let reads = |task: TaskId| !self.machine.program()[task].inputs.is_empty();
        let mut order = tasks.to_vec();
        order.dedup();
        if self.rule == Rule::R02 {
            order.sort_by_key(|&task| {
                (!reads(task), std::cmp::Reverse(tasks.iter().position(|&other| other == task)))
            });
        }
        let mut ended = None;
        for task in order {
            match self.take(Event::Start(task), tasks) {
                Ok(None) => {}
                Ok(Some(replay)) => {
                    ended = Some(replay);
                    break;
                }
                Err(_) => return None,
            }
        }
        ended.or_else(|| self.go_on(tasks))
    }

    /// Finishes what runs and runs all that is left, until the fault shows.
    fn go_on(&mut self, tasks: &[TaskId]) -> Option<Replay> {
        let all = self.machine.tasks();
        for task in all.clone() {
            if self.machine.status(task) == Status::Running {
                self.take(Event::Finish(task), tasks).ok()?;
            }
        }
        // A page is clobbered under a reader that need not be among the tasks of the witness.
        let meant: &[TaskId] = if self.rule == Rule::P01 { &[] } else { tasks };
        let mut waiting: Vec<TaskId> = all.collect();
        loop {
            let before = waiting.len();
            let mut left = Vec::new();
            for task in waiting {
                match self.take(Event::Start(task), meant) {
                    Ok(Some(replay)) => return Some(replay),
                    Ok(None) => drop(self.machine.step(Event::Finish(task))),
                    Err(_) if self.machine.status(task) == Status::Waiting => left.push(task),
                    Err(_) => {}
                }
            }
            if left.len() == before || left.is_empty() {
                return None;
            }
            waiting = left;
        }
    }

    /// A complete run in which each task starts as early as the list order allows.
    fn all_in_order(&mut self, tasks: &[TaskId]) -> Option<Replay> {
        match self.rule {
            Rule::D01 | Rule::D02 | Rule::D03 | Rule::D04 | Rule::D05 | Rule::D06 => None,
            _ => self.go_on(tasks),
        }
    }

    /// Takes the steps of a schedule, and those that they need and that it leaves out.
    fn schedule(mut self, events: &[Event]) -> Result<Replay, NotReplayed> {
        let listed = |task: TaskId| events.contains(&Event::Start(task));
        for &event in events {
            if let Event::Start(task) = event
                && self.machine.blocked(task).is_some()
            {
                let needed: Vec<TaskId> =
                    self.needs(&[task]).into_iter().filter(|&other| !listed(other)).collect();
                self.drain(&needed, |machine| machine.blocked(task).is_none());
            }
            match self.take(event, &[]) {
                Ok(Some(replay)) => return Ok(replay),
                Ok(None) => {}
                Err(blocked) => {
                    return Err(NotReplayed::Invalid(format!("{event:?} is not enabled: {blocked:?}")));
                }
            }
        }
        let Some(&Event::Start(task)) = events.last() else { return Err(NotReplayed::NoFault) };
        let record = &self.machine.program()[task];
        let counters = record.waits.iter().map(|wait| CounterId::stated(wait.counter));
        let producers = counters.flat_map(|counter| self.machine.producers(counter));
        let missing: Vec<TaskId> =
            producers.copied().filter(|&other| self.machine.status(other) != Status::Finished).collect();
        if self.rule != Rule::R01 || missing.is_empty() {
            return Err(NotReplayed::NoFault);
        }
        let early =
            Replay { events: self.machine.events().to_vec(), outcome: Outcome::Early { task, missing } };
        // The start alone is no fault; often it becomes one when the others come.
        Ok(self.go_on(&[]).unwrap_or(early))
    }

    /// The tasks, and all that their waits and queues put before them, in list order.
    fn needs(&self, tasks: &[TaskId]) -> Vec<TaskId> {
        let mut needed = vec![false; self.machine.program().tasks.len()];
        let mut stack = tasks.to_vec();
        while let Some(task) = stack.pop() {
            if std::mem::replace(&mut needed[task.index()], true) {
                continue;
            }
            stack.extend(self.machine.previous(task));
            let record = &self.machine.program()[task];
            for wait in &record.waits {
                let producers = self.machine.producers(CounterId::stated(wait.counter));
                stack.extend(producers.iter().filter(|other| !needed[other.index()]));
            }
        }
        self.machine.tasks().filter(|task| needed[task.index()]).collect()
    }
}
