//! What `megakernel-reference replay` says of runs of programs.

use std::fmt::Write as _;

use megakernel_ir::diagnostic::{AccessKind, Event, Region};
use megakernel_ir::model::{Program, Task};
use megakernel_ir::rule::Class;
use megakernel_ir::{BufferId, CounterId, Diagnostic, Rule, TaskId, read};

use crate::commands::draw::{self, Chart};
use crate::commands::replay::{EXPLAINED, Judged, Kind, NoRun, Run};
use crate::explore::{Blocked, Fault, FaultKind, Machine, NotReplayed, Outcome, Replay, Strength, replay};
use crate::validate::{Classes, validate_program};

/// Programs; what no companion takes is meant as one.
pub struct Programs;

impl Kind for Programs {
    fn is_one(&self, _: &[u8]) -> bool {
        true
    }

    fn open<'d>(&self, documents: &'d [Vec<u8>], files: &[String]) -> Result<Box<dyn Judged + 'd>, String> {
        let [document, ..] = documents else { return Err("there is no file".to_owned()) };
        let file = files.join(" ");
        let first = |diagnostics: &[Diagnostic]| {
            let diagnostic = diagnostics.iter().find(|d| d.rule.class() == Class::STRUCTURE)?;
            let (rule, message) = (diagnostic.rule, &diagnostic.message);
            Some(format!("{file} is no program that could run: {rule} {}: {message}", rule.slug()))
        };
        let program = read(document).map_err(|diagnostics| first(&diagnostics).unwrap_or_default())?;
        let diagnostics = validate_program(&program, Classes::ALL).diagnostics;
        match first(&diagnostics) {
            Some(message) => Err(message),
            None => Ok(Box::new(Found { program, diagnostics })),
        }
    }
}

/// A program with what was found in it.
struct Found<'d> {
    program: Program<'d>,
    diagnostics: Vec<Diagnostic>,
}

impl Judged for Found<'_> {
    fn findings(&self) -> Vec<&Diagnostic> {
        let runs = |rule: Rule| {
            matches!(rule.class(), Class::DEADLOCK | Class::RACE | Class::PAGES) || rule == Rule::M05
        };
        self.diagnostics.iter().filter(|diagnostic| runs(diagnostic.rule)).collect()
    }

    fn replay(&self, finding: &Diagnostic, last: usize) -> Result<Run, NoRun> {
        match replay(&self.program, finding) {
            Ok(replayed) => Ok(Teller { program: &self.program }.tell(&replayed, last)),
            Err(wrong @ NotReplayed::Invalid(_)) => Err(NoRun::Wrong(wrong.to_string())),
            Err(other) => Err(NoRun::Without(other.to_string())),
        }
    }

    fn chart(&self) -> Chart {
        let task = |(id, task): (TaskId, &Task<'_>)| draw::Task {
            id,
            number: id.into(),
            lane: 0,
            kind: task.op.name().to_owned(),
            about: task.sm.map_or(String::new(), |sm| format!("SM {sm}")),
            waits: task.waits.iter().filter_map(|wait| usize::try_from(wait.counter).ok()).collect(),
            triggers: usize::try_from(task.out_counter).ok(),
        };
        let counters = CounterId::range(0..self.program.counters.len());
        Chart {
            between: "counter",
            lanes: vec![String::new()],
            tasks: self.program.tasks_by_id().map(task).collect(),
            events: counters
                .map(|id| draw::Event { id, number: id.into(), lane: 0, is_end: false })
                .collect(),
        }
    }
}

/// Tells a run.
struct Teller<'p> {
    program: &'p Program<'p>,
}

impl Teller<'_> {
    fn tell(&self, replay: &Replay, last: usize) -> Run {
        let mut machine = Machine::new(self.program);
        let skipped = replay.events.len().saturating_sub(last);
        let mut told = Run { skipped, ..Run::default() };
        for (index, &event) in replay.events.iter().enumerate() {
            if machine.step(event).is_err() {
                return told;
            }
            if index >= skipped {
                told.steps.push(self.step(&machine, event));
            }
        }
        told.outcome = match &replay.outcome {
            Outcome::Fault(fault) => self.fault(&machine, fault),
            Outcome::Early { task, missing } => {
                let names: Vec<String> = missing.iter().map(|&task| self.task(task)).collect();
                vec![format!(
                    "{} has started, and {} not finished; nothing that it reads comes from there",
                    self.task(*task),
                    if names.len() == 1 {
                        format!("{} has", names[0])
                    } else {
                        format!("{} have", names.join(", "))
                    }
                )]
            }
        };
        told
    }

    fn step(&self, machine: &Machine<'_>, event: Event) -> String {
        match event {
            Event::Start(task) => {
                let record = &self.program[task];
                let mut text = format!("start  {}", self.task(task));
                if let Some(sm) = record.sm {
                    let _ = write!(text, " on SM {sm}");
                }
                let met: Vec<String> = record
                    .waits
                    .iter()
                    .map(|wait| {
                        let counter = CounterId::stated(wait.counter);
                        format!(
                            "{} is {} of {}",
                            self.counter(counter),
                            machine.count(counter),
                            wait.threshold
                        )
                    })
                    .collect();
                if !met.is_empty() {
                    let _ = write!(text, ": {}", met.join(", "));
                }
                for (kind, buffer, region) in machine.footprint(task) {
                    let verb = match kind {
                        AccessKind::Read => "reads",
                        AccessKind::Write => "writes",
                    };
                    let _ = write!(text, "; {verb} {} of {}", slices(&region), self.buffer(buffer));
                }
                text
            }
            Event::Finish(task) => {
                let counter = CounterId::stated(self.program[task].out_counter);
                format!(
                    "finish {}: {} becomes {}",
                    self.task(task),
                    self.counter(counter),
                    machine.count(counter)
                )
            }
        }
    }

    fn fault(&self, machine: &Machine<'_>, fault: &Fault) -> Vec<String> {
        let task = |index: usize| fault.tasks.get(index).map_or_else(String::new, |&task| self.task(task));
        let buffer =
            |index: usize| fault.buffers.get(index).map_or_else(String::new, |&buffer| self.buffer(buffer));
        let region = fault.region.as_ref().map_or_else(String::new, slices);
        let beside = match fault.strength {
            Strength::Shows => "and both run",
            Strength::Latent => "and no counter orders the two; only this run keeps them apart",
        };
        let line = match fault.kind {
            FaultKind::Deadlock => return self.deadlock(machine, &fault.tasks),
            FaultKind::ReadWriteRace => {
                format!("race: {} reads {region} of {}, {} writes it, {beside}", task(0), buffer(0), task(1))
            }
            FaultKind::WriteWriteRace => {
                format!("race: {} writes {region} of {}, {} writes it, {beside}", task(1), buffer(0), task(0))
            }
            FaultKind::UnwrittenRead => {
                let why = match fault.strength {
                    Strength::Shows => "which nobody has written",
                    Strength::Latent => "which nobody has written from whom it acquired",
                };
                format!("unwritten: {} reads {region} of {}, {why}", task(0), buffer(0))
            }
            FaultKind::StaleRead => format!(
                "stale: {} has read {region} of {} as an earlier launch left it, and {} writes it only now",
                task(1),
                buffer(0),
                task(0)
            ),
            FaultKind::PageViolation => match (fault.tasks.len(), fault.buffers.len()) {
                (1, 1) => format!(
                    "page: {} uses {}, for which its page has no room or does not exist",
                    task(0),
                    buffer(0)
                ),
                (1, _) if !self.uses(machine, fault) => format!(
                    "page: the host reads {} after the launch, and its storage holds what {} wrote into {}",
                    buffer(0),
                    task(0),
                    buffer(1)
                ),
                (1, _) => format!(
                    "page: {} overwrites {} with {} before it has read it",
                    task(0),
                    buffer(0),
                    buffer(1)
                ),
                _ => format!(
                    "page: {} uses {} and {} uses {} in the same storage, and one overwrites what the other needs",
                    task(0),
                    buffer(0),
                    task(1),
                    buffer(1)
                ),
            },
        };
        vec![line]
    }

    /// Whether the first task of a fault itself uses the first buffer.
    fn uses(&self, machine: &Machine<'_>, fault: &Fault) -> bool {
        let (task, buffer) = (fault.tasks.first(), fault.buffers.first());
        let footprint = task.map(|&task| machine.footprint(task)).unwrap_or_default();
        footprint.iter().any(|(_, used, _)| Some(used) == buffer)
    }

    fn deadlock(&self, machine: &Machine<'_>, tasks: &[TaskId]) -> Vec<String> {
        let mut lines = vec![format!(
            "deadlock: nothing runs, nothing can start, and {} tasks are unfinished",
            tasks.len()
        )];
        for &task in tasks.iter().take(EXPLAINED) {
            let why = match machine.blocked(task) {
                Some(Blocked::Counter { counter, count, threshold }) => {
                    let missing: Vec<String> = machine
                        .producers(counter)
                        .iter()
                        .filter(|other| tasks.contains(other))
                        .take(EXPLAINED)
                        .map(|&other| self.task(other))
                        .collect();
                    let from = if missing.is_empty() {
                        String::from("and no task is left to increment it")
                    } else {
                        format!("which {} would increment", missing.join(", "))
                    };
                    format!("waits for {} to reach {threshold}; it is {count}, {from}", self.counter(counter))
                }
                Some(Blocked::Queue(other)) => format!("stands behind {} in its queue", self.task(other)),
                Some(Blocked::NoSm(sm)) => format!("stands in the queue of SM {sm}, which does not exist"),
                Some(Blocked::Status(_)) | None => continue,
            };
            lines.push(format!("{} {why}", self.task(task)));
        }
        if tasks.len() > EXPLAINED {
            lines.push(format!("and so on for {} more", tasks.len() - EXPLAINED));
        }
        lines
    }

    fn task(&self, task: TaskId) -> String {
        let record = &self.program[task];
        match &*record.label {
            "" => format!("task {task} ({})", record.op),
            label => format!("task {task} ({} `{label}`)", record.op),
        }
    }

    fn buffer(&self, buffer: BufferId) -> String {
        format!("buffer {buffer} `{}`", self.program[buffer].name)
    }

    fn counter(&self, counter: CounterId) -> String {
        match &*self.program[counter].note {
            "" => format!("counter {counter}"),
            note => format!("counter {counter} `{note}`"),
        }
    }
}

/// A region as people write slices, such as `[0:4, 16:32]`.
fn slices(region: &Region) -> String {
    let axes: Vec<String> = region.iter().map(|[low, high]| format!("{low}:{high}")).collect();
    format!("[{}]", axes.join(", "))
}
