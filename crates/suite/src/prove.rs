//! `cargo xtask prove`: the validator against every interleaving of every small program.

mod checkpoint;
mod family;
mod report;
mod scopes;
mod shrink;
mod stage;
mod tally;
mod task_graph;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use megakernel_ir::Rule;
use megakernel_ir::model::Program;
use megakernel_reference::agreement::{Judge, Verdicts};

use checkpoint::Checkpoint;
use family::{Chunk, Enumeration, Family};
use scopes::Scope;
use tally::Tally;

const EXAMPLES: &str = "\
Examples:
  cargo xtask prove
      the scope `ci`, on all processors
  cargo xtask prove --list
      what the scopes enumerate
  cargo xtask prove --scope large --shard 2/8 --checkpoint large-2.json
      the second of eight parts; stopped and started again, it goes on where it was
  cargo xtask prove --write
      write the result into spec/soundness.md

Exit code: 0 if validator and explorer agree on every program, 1 if not, 2 if the run could not be done.";

/// Compare the validator with an exploration of every interleaving, on every program of a scope
///
/// All programs of each family of the scope are enumerated, up to the names of counters, buffers and SMs. On each, the
/// reference validator judges the document and the explorer runs it in every way that the semantics allow. An accepted program must
/// have no bad execution; a rejected one must have one of the kind that the rule forbids, or be rejected by a rule that
/// spec/execution.md marks as deliberately conservative (EXE-11). On the first program where that fails, a smallest such
/// program is printed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Which programs: quick, ci, medium or large; which task graphs: task-graph-quick, task-graph-ci, task-graph-large
    #[arg(long, value_name = "NAME", default_value = "ci")]
    scope: String,

    /// How many threads; by default one for each processor
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Only every N-th piece of work, from the I-th on
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Only the family of this name
    #[arg(long, value_name = "NAME")]
    family: Option<String>,

    /// Write down how far the run has come to this file, and go on from there if it exists
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,

    /// Print what the scopes enumerate, and enumerate nothing
    #[arg(long)]
    list: bool,

    /// Write the result into the specification; needs a whole scope
    #[arg(long, conflicts_with_all = ["shard", "family"])]
    write: bool,

    /// Fail if the result is not the one in the specification; needs a whole scope
    #[arg(long, conflicts_with_all = ["shard", "family", "write"])]
    check: bool,

    /// Drop the findings of this rule, to see the explorer notice
    #[arg(long, value_name = "RULE", value_parser = rule)]
    without: Option<Rule>,
}

fn rule(id: &str) -> Result<Rule, String> {
    Rule::from_id(id).ok_or_else(|| format!("no rule has the id `{id}`"))
}

/// A part of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    /// From 1.
    part: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers =
            text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part, of)) if (1..=of).contains(&part) => Ok(Shard { part, of }),
            _ => Err(format!("`{text}` is no part; required I/N with I from 1 to N, such as 2/8")),
        }
    }
}

/// Runs the command.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    match prove(root, args) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn prove(root: &Path, args: &Args) -> Result<ExitCode, String> {
    let scopes = scopes::all();
    let graphs = task_graph::scopes::all();
    if args.list {
        let lists = [report::list(&scopes), task_graph::report::list(&graphs)].concat();
        return print(&lists).map(|()| ExitCode::SUCCESS);
    }
    if let Some(scope) = graphs.iter().find(|scope| scope.name == args.scope) {
        return prove_task_graphs(root, args, scope);
    }
    let names = || {
        let all = scopes.iter().map(|scope| scope.name).chain(graphs.iter().map(|scope| scope.name));
        all.collect::<Vec<_>>().join(", ")
    };
    let Some(scope) = scopes.iter().find(|scope| scope.name == args.scope) else {
        return Err(format!("there is no scope `{}`; required one of {}", args.scope, names()));
    };
    check_family(args, scope.name, scope.families.iter().map(|family| family.name))?;
    let start = Instant::now();
    match run_scope(scope, args)? {
        Outcome::Disagreement(found) => {
            print(&found.to_string())?;
            Ok(ExitCode::FAILURE)
        }
        Outcome::Agreement(tallies) => {
            let table = report::table(scope, &tallies);
            print(&table)?;
            let total = tallies.iter().map(|tally| tally.programs).sum();
            let rate = total as f64 / start.elapsed().as_secs_f64();
            eprintln!("{} programs a second", report::thousands(rate as u64));
            report::keep(root, "spec/soundness.md", scope.name, &table, args.write, args.check)?;
            print(&format!("{} programs, no disagreement\n", report::thousands(total)))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn check_family(
    args: &Args,
    scope: &str,
    families: impl Iterator<Item = &'static str>,
) -> Result<(), String> {
    let names: Vec<&str> = families.collect();
    match &args.family {
        Some(name) if !names.contains(&name.as_str()) => {
            Err(format!("scope {scope} has no family `{name}`; required one of {}", names.join(", ")))
        }
        _ => Ok(()),
    }
}

fn prove_task_graphs(
    root: &Path,
    args: &Args,
    scope: &task_graph::scopes::Scope,
) -> Result<ExitCode, String> {
    check_family(args, scope.name, scope.families.iter().map(|family| family.name))?;
    if args.checkpoint.is_some() {
        return Err(format!("scope {} keeps no checkpoint; run parts of it with --shard", scope.name));
    }
    let start = Instant::now();
    let shard = args.shard.unwrap_or(Shard { part: 1, of: 1 });
    let options = task_graph::Options {
        jobs: jobs(args),
        shard: (shard.part, shard.of),
        family: args.family.as_deref(),
        without: args.without,
    };
    match task_graph::run(scope, &options) {
        Ok(tallies) => {
            let table = task_graph::report::table(scope, &tallies);
            print(&table)?;
            let total = tallies.iter().map(|tally| tally.systems).sum();
            let rate = total as f64 / start.elapsed().as_secs_f64();
            eprintln!("{} systems a second", report::thousands(rate as u64));
            report::keep(root, task_graph::DOCUMENT, scope.name, &table, args.write, args.check)?;
            print(&format!("{} systems, no disagreement\n", report::thousands(total)))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(Some(found)) => {
            print(&found.to_string())?;
            Ok(ExitCode::FAILURE)
        }
        Err(None) => {
            Err("the enumeration made a system that breaks a TS rule or is too large to explore".to_owned())
        }
    }
}

fn jobs(args: &Args) -> usize {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    args.jobs.unwrap_or(cores).get()
}

fn print(text: &str) -> Result<(), String> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(cause) if cause.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("the result cannot be printed: {cause}"))
        }
        _ => Ok(()),
    }
}

/// How a run over a scope ends.
enum Outcome {
    /// The counts, family by family.
    Agreement(Vec<Tally>),
    /// The first program on which the two disagree.
    Disagreement(Box<Disagreement>),
}

/// A program on which validator and explorer disagree, as small as possible.
struct Disagreement {
    family: &'static str,
    program: Program<'static>,
    verdicts: Verdicts,
    runs: Vec<String>,
}

impl std::fmt::Display for Disagreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&report::document(&self.program))?;
        writeln!(f, "family {}: validator and explorer disagree on the program above", self.family)?;
        writeln!(f, "{}", self.verdicts)?;
        for (rule, reason) in self.verdicts.rules.iter().zip(&self.verdicts.reasons) {
            if reason.is_none() {
                writeln!(f, "no run bears out {rule} {}", rule.slug())?;
            }
        }
        self.runs.iter().try_for_each(|run| writeln!(f, "{run}"))
    }
}

/// Shrinks a program, and says what is wrong with what is left.
fn explain(judge: &mut Judge, family: &Family, program: &Program<'static>) -> Option<Box<Disagreement>> {
    let program = shrink::shrink(judge, program);
    let verdicts = judge.judge(&program)?;
    let runs = verdicts.faults.iter().map(|(kind, strength)| {
        let events = judge.run(kind, strength);
        let steps: Vec<String> = events.iter().map(|event| format!("{event:?}").to_lowercase()).collect();
        format!("{kind} at the end of: {}", steps.join(" "))
    });
    let runs = runs.collect();
    Some(Box::new(Disagreement { family: family.name, program, verdicts, runs }))
}

fn run_scope(scope: &Scope, args: &Args) -> Result<Outcome, String> {
    let enumerations: Vec<Enumeration<'_>> = scope.families.iter().map(Enumeration::new).collect();
    let wanted = |family: &Family| args.family.as_ref().is_none_or(|name| family.name == name);
    let shard = args.shard.unwrap_or(Shard { part: 1, of: 1 });
    let chunks: Vec<Chunk> = enumerations
        .iter()
        .enumerate()
        .filter(|(index, _)| wanted(&scope.families[*index]))
        .flat_map(|(index, enumeration)| enumeration.chunks(index))
        .skip(shard.part - 1)
        .step_by(shard.of)
        .collect();
    let mut checkpoint = Checkpoint::open(args, scope, chunks.len())?;
    let bar = progress_bar(chunks.iter().map(Chunk::len).sum());
    bar.set_position(chunks.iter().take(checkpoint.done).map(Chunk::len).sum());
    bar.reset_eta();
    let next = AtomicUsize::new(checkpoint.done);
    let stop = AtomicBool::new(false);
    let jobs = jobs(args);
    let mut found = None;
    let mut saved = Ok(());
    std::thread::scope(|threads| {
        let (sender, results) = mpsc::sync_channel(2 * jobs);
        for _ in 0..jobs {
            let (sender, chunks, next, stop, enumerations) =
                (sender.clone(), &chunks, &next, &stop, &enumerations);
            threads.spawn(move || {
                let mut judge = Judge::without(args.without);
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(chunk) = chunks.get(index).filter(|_| !stop.load(Ordering::Relaxed)) else {
                        return;
                    };
                    let family = &scope.families[chunk.family];
                    let result = run_chunk(&mut judge, family, &enumerations[chunk.family], chunk, stop);
                    if sender.send((index, chunk, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut last_saved = Instant::now();
        for (index, chunk, result) in results {
            match result {
                Ok(tally) => checkpoint.add(index, chunk.family, tally),
                Err(disagreement) => {
                    stop.store(true, Ordering::Relaxed);
                    found.get_or_insert(disagreement);
                }
            }
            bar.inc(chunk.len());
            if last_saved.elapsed() > Duration::from_secs(10) && saved.is_ok() {
                saved = checkpoint.save();
                last_saved = Instant::now();
            }
        }
    });
    bar.finish_and_clear();
    saved.and_then(|()| checkpoint.save())?;
    match found {
        Some(Some(disagreement)) => Ok(Outcome::Disagreement(disagreement)),
        Some(None) => {
            Err("the enumeration made a program that breaks an S rule or is too large to explore".to_owned())
        }
        None => Ok(Outcome::Agreement(checkpoint.tallies)),
    }
}

/// Counts the programs of a piece. The error is a disagreement, or nothing for a program that could not be judged.
fn run_chunk(
    judge: &mut Judge,
    family: &Family,
    enumeration: &Enumeration<'_>,
    chunk: &Chunk,
    stop: &AtomicBool,
) -> Result<Tally, Option<Box<Disagreement>>> {
    let mut tally = Tally::default();
    let mut wrong: Option<Program<'static>> = None;
    enumeration.visit(chunk, |program| {
        if wrong.is_some() || stop.load(Ordering::Relaxed) {
            return;
        }
        match judge.judge(program) {
            Some(verdicts) if !verdicts.disagree() => tally.count(&verdicts),
            _ => wrong = Some(program.clone()),
        }
    });
    match wrong {
        None => Ok(tally),
        Some(program) => Err(explain(judge, family, &program)),
    }
}

fn progress_bar(choices: u64) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(choices), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} {per_sec} {eta} left") {
        bar.set_style(style);
    }
    bar
}
