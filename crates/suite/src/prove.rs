//! `cargo xtask prove`: the validator against every interleaving of every small program.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use megakernel_ir::Rule;
use megakernel_prove::programs::Programs;
use megakernel_prove::{Options, Provable, Shard, Weakness};
use megakernel_suite::companions::SUBJECTS;

use crate::print;

/// What is proved.
fn subjects() -> Vec<&'static (dyn Provable + Sync)> {
    let programs: &(dyn Provable + Sync) = &Programs;
    std::iter::once(programs).chain(SUBJECTS.iter().copied()).collect()
}

const EXAMPLES: &str = "\
Examples:
  cargo xtask prove
      the scope `ci`, on all processors
  cargo xtask prove --list
      what the scopes enumerate
  cargo xtask prove --scope large --shard 2/8 --checkpoint large-2.json
      the second of eight parts; stopped and started again, it goes on where it was
  cargo xtask prove --scope large --merge large-*.json
      all eight together
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
    /// Which programs: quick, ci, medium, large or huge; which task graphs: task-graph-quick, task-graph-ci, task-graph-current, task-graph-large; which
    /// requests to select: selection-ci, selection-large; which collective algorithms: collectives-quick, collectives-ci,
    /// collectives-sampled; which schedules: schedule-quick, schedule-ci; which traces of schedules: trace-quick, trace-ci
    #[arg(long, value_name = "NAME", default_value = "ci")]
    scope: String,

    /// How many threads; by default one for each processor
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Only every N-th piece of work, from the I-th on; `auto` or `auto/N` as the environment of a job says, as for `conform`
    #[arg(long, value_name = "I/N", value_parser = Shard::of_command_line)]
    shard: Option<Shard>,

    /// Only the family of this name
    #[arg(long, value_name = "NAME")]
    family: Option<String>,

    /// Write down how far the run has come to this file, and go on from there if it exists
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,

    /// In place of a run, put those of all shards together whose checkpoints these are
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["shard", "checkpoint"])]
    merge: Vec<PathBuf>,

    /// Print what the scopes enumerate, and enumerate nothing
    #[arg(long)]
    list: bool,

    /// Write the result into the specification; needs a whole scope
    #[arg(long, conflicts_with_all = ["shard", "family"])]
    write: bool,

    /// Fail if the result is not the one in the specification; needs a whole scope
    #[arg(long, conflicts_with_all = ["shard", "family", "write"])]
    check: bool,

    /// Drop the findings of this rule, or those that its part `R06-in-place` is about, to see the explorer notice
    #[arg(long, value_name = "RULE", value_parser = weakness)]
    without: Option<Weakness>,
}

/// What a validator may be told to overlook: a rule by its id, or a part of one.
pub fn weakness(name: &str) -> Result<Weakness, String> {
    let parts: Vec<&str> = subjects().iter().flat_map(|subject| subject.parts()).copied().collect();
    let part = || parts.iter().copied().find(|&part| part == name).map(Weakness::Part);
    Rule::from_id(name)
        .map(Weakness::Rule)
        .or_else(part)
        .ok_or_else(|| format!("no rule has the id `{name}`, nor has a part of one: {}", parts.join(", ")))
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
    let subjects = subjects();
    if args.list {
        let lists: Vec<String> = subjects.iter().map(|subject| subject.list()).collect();
        return print(&lists.concat()).map(|()| ExitCode::SUCCESS);
    }
    let scope = args.scope.as_str();
    let Some(subject) = subjects.iter().find(|subject| subject.scopes().contains(&scope)) else {
        let names: Vec<&str> = subjects.iter().flat_map(|subject| subject.scopes()).collect();
        return Err(format!("there is no scope `{scope}`; required one of {}", names.join(", ")));
    };
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let options = Options {
        jobs: args.jobs.unwrap_or(cores),
        shard: args.shard,
        family: args.family.clone(),
        checkpoint: args.checkpoint.clone(),
        merge: args.merge.clone(),
        without: args.without,
        write: args.write,
        check: args.check,
    };
    let agreed = subject.prove(root, scope, &options, &print)?;
    Ok(if agreed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
