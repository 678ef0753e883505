//! From a diagnostic to a run that ends badly.

use std::fmt;

use megakernel_ir::Rule;
use megakernel_ir::diagnostic::Diagnostic;

use super::footprint::Spans;
use super::machine::{Instance, Machine, Step};
use super::setup::{Access, Setup};

/// The most tasks of a system that is replayed.
const MAX_REPLAYED: usize = 1 << 17;

/// A run that shows what a diagnostic says.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The steps, from the starting state on.
    pub steps: Vec<Step>,
    /// What goes wrong after the last of them.
    pub outcome: Outcome,
}

/// How a replayed run ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nothing can start, and tasks have not run, or a rank has not ended its iteration.
    Deadlock {
        /// With one worker a rank; otherwise with any number.
        queues: bool,
        /// Tasks that have not run; of queues, their heads.
        stuck: Vec<Instance>,
        /// Ranks that do not end the iteration.
        endless: Vec<usize>,
    },
    /// All ranks have ended the iteration, and the task has not finished.
    Lost(Instance),
    /// Two tasks run side by side and access the same elements.
    Race {
        /// The tasks.
        tasks: [Instance; 2],
        /// What they access.
        accesses: [Access; 2],
        /// The bits that both access.
        bits: (i128, i128),
    },
    /// Two collectives of one team can both start on one rank.
    AtOnce {
        /// The tasks.
        tasks: [Instance; 2],
    },
    /// A task has started though another one that triggers its event has not finished.
    Early {
        /// The task.
        task: Instance,
        /// The other one.
        missing: Instance,
    },
    /// An event has been triggered for the next iteration before it has for this one.
    Overtaken {
        /// Who has not triggered it yet.
        late: Instance,
        /// Who has, for the next iteration.
        early: Instance,
    },
    /// A task overwrites what another one wrote, and nobody has read it.
    DeadWrite {
        /// The tasks, the overwritten one first.
        tasks: [Instance; 2],
        /// What they write.
        accesses: [Access; 2],
        /// The bits that both write.
        bits: (i128, i128),
    },
}

/// Why a diagnostic cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotReplayed {
    /// The rule is not about runs.
    NoRun,
    /// No run goes wrong in the way that the rule names; the rule may be stricter than the semantics here.
    NoFault,
    /// The diagnostic contradicts the system.
    Invalid(String),
    /// The system has too many tasks.
    TooLarge(usize),
}

impl fmt::Display for NotReplayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotReplayed::NoRun => f.write_str("the rule is about what is written down, not about a run"),
            NotReplayed::NoFault => f.write_str(
                "no run goes wrong in the way that the rule names: the rule is stricter than the semantics here",
            ),
            NotReplayed::Invalid(what) => write!(f, "the diagnostic does not fit the graph: {what}"),
            NotReplayed::TooLarge(tasks) => {
                write!(f, "found {tasks} tasks, required at most {MAX_REPLAYED}")
            }
        }
    }
}

impl std::error::Error for NotReplayed {}

/// Turns a TD, TR or TX diagnostic into a run that ends in what it says. Of the diagnostic, only the rule and the tasks
/// are used.
///
/// # Errors
/// The rule is not about runs, the tasks do not fit the system, or no run shows the fault.
pub fn replay(setup: &Setup, diagnostic: &Diagnostic) -> Result<Replay, NotReplayed> {
    if setup.tasks.len() > MAX_REPLAYED {
        return Err(NotReplayed::TooLarge(setup.tasks.len()));
    }
    let mut tasks = Vec::new();
    for &number in &diagnostic.tasks {
        let task = setup.by_number(number);
        tasks.push(task.ok_or_else(|| NotReplayed::Invalid(format!("there is no work task {number}")))?);
    }
    let pair = || match tasks.as_slice() {
        &[first, second, ..] => Ok([first, second]),
        _ => Err(NotReplayed::Invalid(format!("found {} tasks, required two", tasks.len()))),
    };
    let first = |task: usize| Instance { task, iteration: 0 };
    let found = match diagnostic.rule {
        Rule::TD01 | Rule::TD02 | Rule::TD03 => deadlock(setup, &tasks, false),
        Rule::TD04 => deadlock(setup, &tasks, true),
        Rule::TD05 => tasks.first().and_then(|&task| lost(setup, first(task))),
        Rule::TR01 => partial(setup, &tasks),
        // Mates that differ in their operands hang nobody; one that is missing does.
        Rule::TX05 if tasks.len() > 1 => return deadlock(setup, &tasks, false).ok_or(NotReplayed::NoRun),
        Rule::TX05 => deadlock(setup, &tasks, false),
        Rule::TX06 => {
            let [one, other] = pair()?;
            let next = Instance { task: other, iteration: 1 };
            (one != other)
                .then(|| at_once(setup, first(one), first(other)))
                .flatten()
                .or_else(|| at_once(setup, first(one), next))
        }
        Rule::TR02 | Rule::TR03 | Rule::TR04 | Rule::TR06 | Rule::TX03 => {
            let [one, other] = pair()?;
            race(setup, first(one), first(other), 1)
        }
        Rule::TR05 => {
            let [one, other] = pair()?;
            dead_write(setup, first(one), first(other))
        }
        Rule::TX04 => {
            let [one, other] = pair()?;
            let next = Instance { task: other, iteration: 1 };
            race(setup, first(one), next, 2)
                .or_else(|| overtaken(setup, first(one), next))
                // A trigger of the iteration after the next can stand in for one of this.
                .or_else(|| race(setup, first(one), next, 3))
        }
        _ => return Err(NotReplayed::NoRun),
    };
    found.ok_or(NotReplayed::NoFault)
}

fn deadlock(setup: &Setup, tasks: &[usize], queues: bool) -> Option<Replay> {
    let mut machine = Machine::new(setup, 1);
    let stuck = if queues {
        machine.run_queues()
    } else {
        machine.run_all(|_| false);
        machine.instances().filter(|&instance| !machine.is_finished(instance)).collect()
    };
    let endless: Vec<usize> = (0..setup.ends.len()).filter(|&rank| !machine.has_ended(rank, 0)).collect();
    // The first task named is the one that waits. In a queue another one may be stuck before it.
    let meant = tasks.first().is_none_or(|&task| !machine.is_finished(Instance { task, iteration: 0 }));
    if !meant || (stuck.is_empty() && endless.is_empty()) {
        return None;
    }
    let steps = machine.steps().to_vec();
    Some(Replay { steps, outcome: Outcome::Deadlock { queues, stuck, endless } })
}

fn lost(setup: &Setup, task: Instance) -> Option<Replay> {
    let mut machine = Machine::new(setup, 1);
    machine.run_all(|other| other == task);
    if !machine.all_ended(0) {
        return None;
    }
    let mut machine = trimmed(&machine, &[], true, 1);
    // It may be running by now, or not even have been able to start.
    let _ = machine.step(Step::Start(task));
    Some(Replay { steps: machine.steps().to_vec(), outcome: Outcome::Lost(task) })
}

fn partial(setup: &Setup, tasks: &[usize]) -> Option<Replay> {
    let instance = |task: usize| Instance { task, iteration: 0 };
    let missing = instance(*tasks.last()?);
    for &task in tasks.iter().filter(|&&task| task != missing.task) {
        let waiter = instance(task);
        let mut machine = Machine::new(setup, 1);
        machine.run_all(|other| other == waiter || other == missing);
        if machine.blocked(waiter).is_none() {
            let mut machine = trimmed(&machine, &[waiter], false, 1);
            machine.step(Step::Start(waiter)).ok()?;
            let steps = machine.steps().to_vec();
            return Some(Replay { steps, outcome: Outcome::Early { task: waiter, missing } });
        }
    }
    lost(setup, missing)
}

fn race(setup: &Setup, one: Instance, other: Instance, iterations: usize) -> Option<Replay> {
    let (first, second, bits) = setup.conflict(one.task, other.task)?;
    let mut machine = Machine::new(setup, iterations);
    machine.run_all(|instance| instance == one || instance == other);
    if machine.blocked(one).is_some() || machine.blocked(other).is_some() {
        return None;
    }
    let mut machine = trimmed(&machine, &[one, other], false, iterations);
    machine.step(Step::Start(one)).ok()?;
    machine.step(Step::Start(other)).ok()?;
    let accesses = [first.clone(), second.clone()];
    let steps = machine.steps().to_vec();
    Some(Replay { steps, outcome: Outcome::Race { tasks: [one, other], accesses, bits } })
}

fn at_once(setup: &Setup, one: Instance, other: Instance) -> Option<Replay> {
    let iterations = other.iteration + 1;
    let mut machine = Machine::new(setup, iterations);
    machine.run_all(|instance| instance == one || instance == other);
    if machine.start_blocked(one).is_some() || machine.start_blocked(other).is_some() {
        return None;
    }
    let machine = trimmed(&machine, &[one, other], false, iterations);
    let steps = machine.steps().to_vec();
    Some(Replay { steps, outcome: Outcome::AtOnce { tasks: [one, other] } })
}

fn overtaken(setup: &Setup, late: Instance, early: Instance) -> Option<Replay> {
    let event = setup.tasks.get(late.task)?.trigger?;
    if setup.tasks.get(early.task)?.trigger != Some(event) {
        return None;
    }
    let mut machine = Machine::new(setup, 2);
    machine.run_all(|instance| instance == late);
    if !machine.is_finished(early) {
        return None;
    }
    let mut machine = trimmed(&machine, &[early], false, 2);
    machine.run(early).ok()?;
    Some(Replay { steps: machine.steps().to_vec(), outcome: Outcome::Overtaken { late, early } })
}

fn dead_write(setup: &Setup, one: Instance, other: Instance) -> Option<Replay> {
    let mut machine = Machine::new(setup, 1);
    machine.run_all(|instance| instance == other);
    if machine.blocked(other).is_some() || !machine.is_finished(one) {
        return None;
    }
    let mut machine = trimmed(&machine, &[other], false, 1);
    let written = machine.steps().iter().position(|&step| step == Step::Finish(one))?;
    let between: Vec<usize> = machine
        .steps()
        .iter()
        .skip(written)
        .filter_map(|step| if let Step::Start(instance) = step { Some(instance.task) } else { None })
        .collect();
    let accesses = |task: usize, storage: usize, writes: bool| {
        let all = setup.tasks.get(task).map(|task| task.accesses.as_slice()).unwrap_or_default();
        all.iter().filter(move |access| access.storage == storage && access.writes == writes)
    };
    // Of several pairs of tiles, the one is meant whose shared elements nobody reads, and nobody else writes in between.
    let found = setup.meetings(one.task, other.task, |one, other| one.writes && other.writes);
    for (first, second, _) in found {
        let mut shared = Spans(first.spans().common(&second.spans()).collect());
        for write in between
            .iter()
            .flat_map(|&task| accesses(task, first.storage, true))
            .filter(|write| write.parts.is_empty() || write.parts == first.parts)
        {
            shared = shared.without(&write.spans());
        }
        let mut reads =
            between.iter().chain([&other.task]).flat_map(|&task| accesses(task, first.storage, false));
        if let Some(&bits) = shared.0.first()
            && !reads.any(|read| read.is_beside(first) && read.spans().meet(&shared).is_some())
        {
            let accesses = [first.clone(), second.clone()];
            machine.step(Step::Start(other)).ok()?;
            let steps = machine.steps().to_vec();
            return Some(Replay {
                steps,
                outcome: Outcome::DeadWrite { tasks: [one, other], accesses, bits },
            });
        }
    }
    None
}

/// A shorter run than the one that a machine has taken: only what these tasks need so that they can start, and, if asked
/// for, what the ends of the first iteration need.
fn trimmed<'s>(long: &Machine<'s>, wanted: &[Instance], ends: bool, iterations: usize) -> Machine<'s> {
    let setup = long.setup();
    let finished: Vec<Instance> = long
        .steps()
        .iter()
        .filter_map(|step| if let Step::Finish(instance) = step { Some(*instance) } else { None })
        .collect();
    let mut triggers = vec![Vec::new(); setup.events.len()];
    for &instance in &finished {
        let event = setup.tasks.get(instance.task).and_then(|task| task.trigger);
        if let Some(triggers) = event.and_then(|event| triggers.get_mut(event)) {
            triggers.push(instance);
        }
    }
    // The first that come up to the count.
    let enough = |event: usize, iteration: usize| {
        let count = usize::try_from(long.needed(event, iteration)).unwrap_or(0);
        triggers.get(event).into_iter().flatten().take(count).copied()
    };
    let mut needed = std::collections::HashSet::new();
    let mut stack: Vec<Instance> = Vec::new();
    let before = |instance: Instance, stack: &mut Vec<Instance>| {
        let mates = setup.tasks.get(instance.task).map(|task| task.mates.as_slice()).unwrap_or_default();
        for task in [instance.task].iter().chain(mates).filter_map(|&task| setup.tasks.get(task)) {
            stack.extend(task.dependent.into_iter().flat_map(|event| enough(event, instance.iteration)));
            if let (Some(before), Some(&end)) = (instance.iteration.checked_sub(1), setup.ends.get(task.rank))
            {
                stack.extend(enough(end, before));
            }
        }
    };
    wanted.iter().for_each(|&instance| before(instance, &mut stack));
    if ends {
        stack.extend(setup.ends.iter().flat_map(|&end| enough(end, 0)));
    }
    while let Some(instance) = stack.pop() {
        if needed.insert(instance) {
            before(instance, &mut stack);
        }
    }
    let mut short = Machine::new(setup, iterations);
    for instance in finished.into_iter().filter(|instance| needed.contains(instance)) {
        // What the first triggers needed has run before them.
        let _ = short.run(instance);
    }
    short
}
