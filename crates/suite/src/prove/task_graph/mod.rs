//! The scopes of task graphs: the validator of the companion against every interleaving of every small system.

mod family;
pub(super) mod report;
pub(super) mod scopes;
mod shrink;
mod stage;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use megakernel_ir::{Diagnostic, Rule};
use megakernel_task_graph::System;
use megakernel_task_graph_reference::agreement::{self, Verdicts};
use megakernel_task_graph_reference::explore::{Setup, replay};
use megakernel_task_graph_reference::validate::{Graphs, validate_graphs};

use family::{Chunk, Enumeration};
use report::Tally;
use scopes::Scope;

/// Where the result stands.
pub(super) const DOCUMENT: &str = "spec/companions/task-graph/soundness.md";

type Judge = agreement::Judge<fn(&System<'_>) -> Vec<Diagnostic>>;

fn judge(without: Option<Rule>) -> Judge {
    agreement::Judge::new(validate, without)
}

/// What the validator says of a system.
fn validate(system: &System<'_>) -> Vec<Diagnostic> {
    validate_graphs(Graphs::System(&system.ranks, None)).diagnostics
}

/// A system on which validator and explorer disagree, as small as possible.
pub(super) struct Disagreement {
    family: &'static str,
    system: System<'static>,
    verdicts: Verdicts,
    runs: Vec<String>,
}

impl std::fmt::Display for Disagreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&report::document(&self.system))?;
        writeln!(f, "family {}: validator and explorer disagree on the system above", self.family)?;
        writeln!(f, "{}", self.verdicts)?;
        for (rule, reason) in self.verdicts.rules.iter().zip(&self.verdicts.reasons) {
            if reason.is_none() {
                writeln!(f, "no run bears out {rule} {}", rule.slug())?;
            }
        }
        if let Some(missed) = self.verdicts.missed {
            writeln!(f, "no rule about it rejects {missed}")?;
        }
        self.runs.iter().try_for_each(|run| writeln!(f, "{run}"))
    }
}

/// Shrinks a system, and says what is wrong with what is left. Nothing if it could not be judged.
fn explain(judge: &mut Judge, family: &'static str, system: &System<'static>) -> Option<Box<Disagreement>> {
    let first = judge.judge(system)?;
    let system = shrink::shrink(system, |smaller| {
        judge.judge(smaller).is_some_and(|found| {
            found.disagree()
                && found.rules.is_empty() == first.rules.is_empty()
                && found.missed.is_some() == first.missed.is_some()
        })
    });
    let verdicts = judge.judge(&system)?;
    Some(Box::new(Disagreement { family, runs: runs(&system), system, verdicts }))
}

/// Runs that end badly, for what the whole validator finds.
fn runs(system: &System<'_>) -> Vec<String> {
    let Ok(setup) = Setup::new(system) else { return Vec::new() };
    let found = validate(system);
    let all = found.iter().filter_map(|diagnostic| Some((diagnostic, replay(&setup, diagnostic).ok()?)));
    all.map(|(diagnostic, run)| format!("{}: {}; {:?}", diagnostic.rule, diagnostic.message, run.outcome))
        .collect()
}

/// How many threads, which part of the scope, and what is left out.
pub(super) struct Options<'a> {
    pub jobs: usize,
    /// The part, from 1, and how many there are.
    pub shard: (usize, usize),
    pub family: Option<&'a str>,
    pub without: Option<Rule>,
}

/// The counts, family by family, or the first disagreement, or nothing where a system could not be judged.
pub(super) fn run(scope: &Scope, options: &Options<'_>) -> Result<Vec<Tally>, Option<Box<Disagreement>>> {
    let enumerations: Vec<Enumeration<'_>> = scope.families.iter().map(Enumeration::new).collect();
    let wanted = |index: usize| options.family.is_none_or(|name| scope.families[index].name == name);
    let all = enumerations.iter().enumerate().filter(|&(index, _)| wanted(index));
    let chunks: Vec<Chunk> = all
        .flat_map(|(index, enumeration)| enumeration.chunks(index))
        .skip(options.shard.0 - 1)
        .step_by(options.shard.1)
        .collect();
    let mut tallies = vec![Tally::default(); scope.families.len()];
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut found = None;
    std::thread::scope(|threads| {
        let (sender, results) = mpsc::sync_channel(2 * options.jobs);
        for _ in 0..options.jobs {
            let (sender, chunks, next, stop, enumerations) =
                (sender.clone(), &chunks, &next, &stop, &enumerations);
            threads.spawn(move || {
                let mut judge = judge(options.without);
                while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = run_chunk(&mut judge, scope, &enumerations[chunk.family], chunk, stop);
                    if stop.load(Ordering::Relaxed) && result.is_ok()
                        || sender.send((chunk.family, result)).is_err()
                    {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (family, result) in results {
            match result {
                Ok(tally) => tallies[family].add(&tally),
                Err(disagreement) => {
                    stop.store(true, Ordering::Relaxed);
                    found.get_or_insert(disagreement);
                }
            }
        }
    });
    found.map_or(Ok(tallies), Err)
}

fn run_chunk(
    judge: &mut Judge,
    scope: &Scope,
    enumeration: &Enumeration<'_>,
    chunk: &Chunk,
    stop: &AtomicBool,
) -> Result<Tally, Option<Box<Disagreement>>> {
    let mut tally = Tally::default();
    let mut wrong: Option<System<'static>> = None;
    enumeration.visit(chunk, |system| {
        if wrong.is_some() || stop.load(Ordering::Relaxed) {
            return;
        }
        match judge.judge(system) {
            Some(verdicts) if !verdicts.disagree() => tally.count(&verdicts),
            _ => wrong = Some(system.clone()),
        }
    });
    match wrong {
        None => Ok(tally),
        Some(system) => Err(explain(judge, scope.families[chunk.family].name, &system)),
    }
}
