//! `megakernel-reference replay`.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::diagnostic::{AccessKind, Event, Region};
use megakernel_ir::model::Program;
use megakernel_ir::rule::Class;
use megakernel_ir::{Diagnostic, Rule, read};
use megakernel_reference::explore::{
    Blocked, Fault, FaultKind, Machine, NotReplayed, Outcome, Replay, Strength, replay,
};
use megakernel_reference::validate::{Classes, validate_program};

use crate::cli::replay_task_graph;

/// What the command line says.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference replay program.json\n  megakernel-reference replay --rule R05 program.json\n\nThe steps are those of spec/execution.md, clause EXE-01."
)]
pub struct Arguments {
    /// A program in the JSON format of spec/format.md, or a task graph or a system of spec/companions/task-graph.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replay the findings of this rule only, such as R05.
    #[arg(long, value_name = "RULE", value_parser = rule)]
    rule: Option<Rule>,
    /// Print all steps of each run, not only the last ones.
    #[arg(long)]
    all: bool,
}

/// How many steps of a run are printed.
const SHOWN: usize = 40;
/// How many tasks of a deadlock are explained.
const EXPLAINED: usize = 8;

fn rule(id: &str) -> Result<Rule, String> {
    Rule::from_id(id).ok_or_else(|| format!("no rule has the id `{id}`"))
}

/// Replays every finding. 0: each was shown, or needs no run; 1: a witness leads nowhere; 2: there is no program to run.
pub fn run(arguments: &Arguments) -> ExitCode {
    let mut text = String::new();
    let code = match replay_file(arguments, &mut text) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("error: {message}");
            2
        }
    };
    match io::stdout().write_all(text.as_bytes()) {
        // Whoever read the output has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write to standard output: {error}");
            ExitCode::from(2)
        }
        _ => ExitCode::from(code),
    }
}

fn replay_file(arguments: &Arguments, out: &mut String) -> Result<u8, String> {
    let file: &Path = &arguments.file;
    let bytes = std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    if replay_task_graph::is_one(&bytes) {
        return replay_task_graph::run(&bytes, file, arguments.rule, arguments.all, out);
    }
    let first = |diagnostics: &[Diagnostic]| {
        let diagnostic = diagnostics.iter().find(|d| d.rule.class() == Class::Structure)?;
        let (rule, message) = (diagnostic.rule, &diagnostic.message);
        Some(format!("{} is no program that could run: {rule} {}: {message}", file.display(), rule.slug()))
    };
    let program = read(&bytes).map_err(|diagnostics| first(&diagnostics).unwrap_or_default())?;
    let diagnostics = validate_program(&program, Classes::ALL).diagnostics;
    if let Some(message) = first(&diagnostics) {
        return Err(message);
    }
    let runs = |rule: Rule| {
        matches!(rule.class(), Class::Deadlock | Class::Race | Class::Pages) || rule == Rule::M05
    };
    let wanted = |diagnostic: &&Diagnostic| {
        runs(diagnostic.rule) && arguments.rule.is_none_or(|rule| rule == diagnostic.rule)
    };
    let (mut shown, mut without, mut invalid) = (0, 0, 0);
    for diagnostic in diagnostics.iter().filter(wanted) {
        let rule = diagnostic.rule;
        let _ = writeln!(out, "{rule} {} at {}: {}", rule.slug(), diagnostic.pointer, diagnostic.message);
        match replay(&program, diagnostic) {
            Ok(replayed) => {
                shown += 1;
                Shown { program: &program, all: arguments.all }.print(&replayed, out);
            }
            Err(NotReplayed::Invalid(what)) => {
                invalid += 1;
                let _ = writeln!(out, "  the witness does not fit the program: {what}");
            }
            Err(other) => {
                without += 1;
                let _ = writeln!(out, "  not replayed: {other}");
            }
        }
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "{}: {shown} replayed to a bad state, {without} without a run, {invalid} wrong witnesses",
        file.display()
    );
    Ok(u8::from(invalid > 0))
}

/// Prints a run.
struct Shown<'p> {
    program: &'p Program<'p>,
    all: bool,
}

impl Shown<'_> {
    fn print(&self, replay: &Replay, out: &mut String) {
        let mut machine = Machine::new(self.program);
        let skipped = if self.all { 0 } else { replay.events.len().saturating_sub(SHOWN) };
        if skipped > 0 {
            let _ = writeln!(out, "  ... {skipped} steps before these; --all prints them");
        }
        for (index, &event) in replay.events.iter().enumerate() {
            if machine.step(event).is_err() {
                return;
            }
            if index >= skipped {
                let _ = writeln!(out, "  {:>4}. {}", index + 1, self.step(&machine, event));
            }
        }
        let lines = match &replay.outcome {
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
        out.extend(lines.iter().map(|line| format!("  => {line}\n")));
    }

    fn step(&self, machine: &Machine<'_>, event: Event) -> String {
        match event {
            Event::Start(task) => {
                let record = &self.program.tasks[task as usize];
                let mut text = format!("start  {}", self.task(task));
                if let Some(sm) = record.sm {
                    let _ = write!(text, " on SM {sm}");
                }
                let met: Vec<String> = record
                    .waits
                    .iter()
                    .map(|wait| {
                        let counter = wait.counter as u32;
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
                let counter = self.program.tasks[task as usize].out_counter as u32;
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

    fn deadlock(&self, machine: &Machine<'_>, tasks: &[u32]) -> Vec<String> {
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

    fn task(&self, task: u32) -> String {
        let record = &self.program.tasks[task as usize];
        match &*record.label {
            "" => format!("task {task} ({})", record.op),
            label => format!("task {task} ({} `{label}`)", record.op),
        }
    }

    fn buffer(&self, buffer: u32) -> String {
        format!("buffer {buffer} `{}`", self.program.buffers[buffer as usize].name)
    }

    fn counter(&self, counter: u32) -> String {
        match &*self.program.counters[counter as usize].note {
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
