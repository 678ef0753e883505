//! What `megakernel-reference replay` says of runs of task graphs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use megakernel_ir::diagnostic::Diagnostic;
use megakernel_ir::rule::Class;
use megakernel_ir::{CounterId, TaskId};
use megakernel_reference::commands::draw::{self, Chart};
use megakernel_reference::commands::replay::{EXPLAINED, Judged, Kind, NoRun, Run};
use megakernel_task_graph::{System, Task, TaskGraph, Tile, read_system, read_task_graph};
use serde_json::value::RawValue;

use crate::explore::{
    Access, Blocked, Instance, Machine, NotReplayed, Outcome, Replay, Setup, Step, Waiting, Work, replay,
};
use crate::types;
use crate::validate::{Graphs, is_system, validate_graphs};

/// Task graphs, and systems of them.
pub struct TaskGraphs;

impl Kind for TaskGraphs {
    fn is_one(&self, document: &[u8]) -> bool {
        serde_json::from_slice::<BTreeMap<String, &RawValue>>(document)
            .is_ok_and(|members| members.contains_key("ranks") || members.contains_key("all_tasks"))
    }

    fn has_parts(&self) -> bool {
        true
    }

    fn open<'d>(&self, documents: &'d [Vec<u8>], files: &[String]) -> Result<Box<dyn Judged + 'd>, String> {
        let is_whole = matches!(documents, [document] if is_system(document));
        let ranks = match documents {
            [document] if is_whole => read_system(document).map(|system| system.ranks),
            _ => documents.iter().map(|document| read_task_graph(document)).collect(),
        };
        let file = files.join(" ");
        let refused = |diagnostics: &[Diagnostic]| {
            let wrong = |found: &&Diagnostic| {
                matches!(found.rule.class(), Class::STRUCTURE | Class::TASK_GRAPH_STRUCTURE)
            };
            let Diagnostic { rule, pointer, message, .. } = diagnostics.iter().find(wrong)?;
            let slug = rule.slug();
            Some(format!("{file} is no task graph that could run: {rule} {slug} at {pointer}: {message}"))
        };
        let ranks = ranks.map_err(|found| refused(&found).unwrap_or_default())?;
        let system = System { ranks, kernel_graph: None, extra: Vec::new() };
        let is_bare = documents.len() == 1 && !is_whole;
        let graphs = match &*system.ranks {
            [graph] if is_bare => Graphs::Bare(graph, None),
            ranks => Graphs::System(ranks, None),
        };
        let diagnostics = validate_graphs(graphs).diagnostics;
        if let Some(message) = refused(&diagnostics) {
            return Err(message);
        }
        let setup = match graphs {
            Graphs::Bare(graph, _) => Setup::bare(graph),
            Graphs::System(..) => Setup::new(&system),
        };
        let setup = setup.map_err(|message| format!("{file}: {message}"))?;
        let about = about(&system.ranks);
        Ok(Box::new(Found { setup, diagnostics, about }))
    }
}

/// What each work task writes, by rank and number.
fn about(ranks: &[TaskGraph<'_>]) -> Vec<String> {
    let written = |task: &Task<'_>| {
        let is_written = |is_output: bool, tiles: &[Tile<'_>]| -> Vec<String> {
            let all = tiles.iter().enumerate().filter(|(position, tile)| {
                !tile.is_null() && types::writes(task.task_type, is_output, *position)
            });
            all.map(|(_, tile)| tile.base_ptr.to_string()).collect()
        };
        let mut names = is_written(true, task.outputs());
        if names.is_empty() {
            names = is_written(false, task.inputs());
        }
        if names.is_empty() { String::new() } else { format!("to {}", names.join(", ")) }
    };
    ranks.iter().flat_map(|graph| graph.all_tasks.iter().skip(2).map(written)).collect()
}

/// A system with what was found in it.
struct Found {
    setup: Setup,
    diagnostics: Vec<Diagnostic>,
    /// What each task writes.
    about: Vec<String>,
}

impl Judged for Found {
    fn findings(&self) -> Vec<&Diagnostic> {
        let runs = |found: &&Diagnostic| {
            matches!(
                found.rule.class(),
                Class::TASK_GRAPH_DEADLOCK | Class::TASK_GRAPH_RACE | Class::TASK_GRAPH_RANKS
            )
        };
        self.diagnostics.iter().filter(runs).collect()
    }

    fn replay(&self, finding: &Diagnostic, last: usize) -> Result<Run, NoRun> {
        match replay(&self.setup, finding) {
            Ok(replayed) => Ok(Teller { setup: &self.setup }.tell(&replayed, last)),
            Err(wrong @ NotReplayed::Invalid(_)) => Err(NoRun::Wrong(wrong.to_string())),
            Err(other) => Err(NoRun::Without(other.to_string())),
        }
    }

    fn chart(&self) -> Chart {
        let Setup { tasks, events, ends, first, .. } = &self.setup;
        let several = ends.len() > 1;
        let task = |(work, about): (&Work, &String)| draw::Task {
            id: TaskId::at(first.get(work.rank).copied().unwrap_or_default() + work.id),
            number: work.id as u32,
            lane: work.rank,
            kind: types::name(work.kind),
            about: about.clone(),
            waits: work.dependent.into_iter().collect(),
            triggers: work.trigger,
        };
        let event = |(index, event): (usize, &Waiting)| draw::Event {
            id: CounterId::at(index),
            number: event.position as u32,
            lane: event.rank,
            is_end: ends.contains(&index),
        };
        Chart {
            between: "event",
            lanes: (0..ends.len())
                .map(|rank| if several { format!("rank {rank}") } else { String::new() })
                .collect(),
            tasks: tasks.iter().zip(&self.about).map(task).collect(),
            events: events.iter().enumerate().map(event).collect(),
        }
    }
}

/// Tells a run.
struct Teller<'s> {
    setup: &'s Setup,
}

impl Teller<'_> {
    fn tell(&self, replay: &Replay, last: usize) -> Run {
        let iterations =
            replay.steps.iter().map(|&(Step::Start(instance) | Step::Finish(instance))| instance.iteration);
        let iterations = iterations.max().unwrap_or(0) + 1;
        let mut machine = Machine::new(self.setup, iterations);
        let skipped = replay.steps.len().saturating_sub(last);
        let mut told = Run { skipped, ..Run::default() };
        for (index, &step) in replay.steps.iter().enumerate() {
            if machine.step(step).is_err() {
                return told;
            }
            if index >= skipped {
                told.steps.push(self.step(&machine, step, iterations > 1));
            }
        }
        told.outcome = self.outcome(&machine, &replay.outcome);
        told
    }

    fn step(&self, machine: &Machine<'_>, step: Step, iterations: bool) -> String {
        let (Step::Start(instance) | Step::Finish(instance)) = step;
        let mut text = match step {
            Step::Start(_) => format!("start  {}", self.task(instance.task)),
            Step::Finish(_) => format!("finish {}", self.task(instance.task)),
        };
        if iterations {
            let _ = write!(text, " in iteration {}", instance.iteration + 1);
        }
        let Some(task) = self.setup.tasks.get(instance.task) else { return text };
        match (step, task.dependent, task.trigger) {
            (Step::Start(_), Some(event), _) => {
                let (count, needed) = (machine.count(event), machine.needed(event, instance.iteration));
                let _ = write!(text, ": {} is {count} of {needed}", self.event(event));
            }
            (Step::Finish(_), _, Some(event)) => {
                let _ = write!(text, ": {} becomes {}", self.event(event), machine.count(event));
                if self.setup.ends.contains(&event) {
                    let _ = write!(text, " of {}", machine.needed(event, instance.iteration));
                }
            }
            _ => {}
        }
        text
    }

    fn outcome(&self, machine: &Machine<'_>, outcome: &Outcome) -> Vec<String> {
        match outcome {
            Outcome::Deadlock { queues, stuck, endless } => self.deadlock(machine, *queues, stuck, endless),
            Outcome::Lost(task) => vec![format!(
                "lost: every rank has ended the iteration, and {} has not finished",
                self.task(task.task)
            )],
            Outcome::Race { tasks: [one, other], accesses: [first, second], bits } => {
                let next = if one.iteration < other.iteration { ", an iteration ahead," } else { "" };
                vec![format!(
                    "race: {} {} {} of {}, {}{next} {} it, and both run",
                    self.task(one.task),
                    verb(first),
                    bytes(*bits),
                    self.storage(first),
                    self.task(other.task),
                    verb(second)
                )]
            }
            Outcome::AtOnce { tasks: [one, other] } => {
                let next = if one.iteration < other.iteration { ", of the next iteration," } else { "" };
                vec![format!(
                    "at once: {} and {}{next} can both be started, and their team cannot tell them apart",
                    self.task(one.task),
                    self.task(other.task)
                )]
            }
            Outcome::Early { task, missing } => vec![format!(
                "early: {} has started, and {}, which triggers the same event as those it waited for, has not finished",
                self.task(task.task),
                self.task(missing.task)
            )],
            Outcome::Overtaken { late, early } => vec![format!(
                "early: {} has triggered the event for the next iteration, and {} has not for this one; the count does not tell them apart",
                self.task(early.task),
                self.task(late.task)
            )],
            Outcome::DeadWrite { tasks: [one, other], accesses: [first, _], bits } => vec![format!(
                "dead write: {} overwrites {} of {}, which {} has written and nobody has read",
                self.task(other.task),
                bytes(*bits),
                self.storage(first),
                self.task(one.task)
            )],
        }
    }

    fn deadlock(
        &self,
        machine: &Machine<'_>,
        queues: bool,
        stuck: &[Instance],
        endless: &[usize],
    ) -> Vec<String> {
        let mut lines = vec![match queues {
            true => "deadlock with one worker a rank: the head of every queue waits".to_owned(),
            false => {
                format!("deadlock: nothing runs, nothing can start, and {} tasks have not run", stuck.len())
            }
        }];
        for &instance in stuck.iter().take(EXPLAINED) {
            match machine.blocked(instance) {
                Some(Blocked::Count { event, count, needed }) => lines.push(format!(
                    "{} waits for {} to reach {needed}; it is {count}",
                    self.task(instance.task),
                    self.event(event)
                )),
                Some(Blocked::Mates) => {
                    lines.push(format!(
                        "{} waits for mates that some rank does not have",
                        self.task(instance.task)
                    ));
                }
                _ => {}
            }
        }
        if stuck.len() > EXPLAINED {
            lines.push(format!("and so on for {} more", stuck.len() - EXPLAINED));
        }
        for &rank in endless.iter().filter(|_| stuck.is_empty()) {
            if let Some(&end) = self.setup.ends.get(rank) {
                let (count, needed) = (machine.count(end), machine.needed(end, 0));
                lines.push(format!(
                    "the iteration ends when {} reaches {needed}; it is {count}",
                    self.event(end)
                ));
            }
        }
        lines
    }

    fn task(&self, task: usize) -> String {
        let Some(work) = self.setup.tasks.get(task) else { return String::new() };
        format!("task {}{} ({})", work.id, self.of(work.rank), types::name(work.kind))
    }

    fn event(&self, event: usize) -> String {
        let Some(waiting) = self.setup.events.get(event) else { return String::new() };
        format!("event {}{}", waiting.position, self.of(waiting.rank))
    }

    fn storage(&self, access: &Access) -> String {
        let Some((rank, name)) = self.setup.storages.get(access.storage) else { return String::new() };
        format!("`{name}`{}", self.of(*rank))
    }

    fn of(&self, rank: usize) -> String {
        if self.setup.ends.len() > 1 { format!(" of rank {rank}") } else { String::new() }
    }
}

fn verb(access: &Access) -> &'static str {
    match access.writes {
        true if access.adds => "adds to",
        true => "writes",
        false => "reads",
    }
}

fn bytes((start, end): (i128, i128)) -> String {
    format!("bytes {}:{}", start.div_euclid(8), (end + 7).div_euclid(8))
}
