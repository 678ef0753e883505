//! The driver of `replay`: every finding about executions is run to the state that it speaks of, step by step.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::{Diagnostic, Rule, terminal};

use super::draw::Chart;
use super::{Companion, read_file, wrong};

/// Run a rejected program the way that goes wrong, step by step, for each finding about its execution.
///
/// Exits 0 if every witness leads to what it says, 1 if one does not, 2 if the file holds no program that could run.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference replay program.json\n  megakernel-reference replay --rule R05 program.json\n  megakernel-reference replay rank0.json rank1.json\n\nThe steps are those of spec/execution.md, clause EXE-01; of a schedule, those of clause SCH-07; of task graphs, those of clause TGR-07."
)]
pub struct Arguments {
    /// A program in the JSON format of spec/format.md, a schedule of spec/companions/schedule, or a task graph or a system of
    /// spec/companions/task-graph; or the task graphs of all ranks in their order.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
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
pub const EXPLAINED: usize = 8;

/// The rule with this id.
pub fn rule(id: &str) -> Result<Rule, String> {
    Rule::from_id(id).ok_or_else(|| format!("no rule has the id `{id}`"))
}

/// A kind of documents, as `replay` takes it.
pub trait Kind {
    /// Whether a document is of this kind, as far as can be told without reading all of it.
    fn is_one(&self, document: &[u8]) -> bool;

    /// Whether several documents can be the parts of one.
    fn has_parts(&self) -> bool {
        false
    }

    /// Reads and judges a document, or the parts of one. There is at least one, and as many as names of files.
    ///
    /// # Errors
    /// Why it could not run, with the name of its file.
    fn open<'d>(&self, documents: &'d [Vec<u8>], files: &[String]) -> Result<Box<dyn Judged + 'd>, String>;
}

/// A document that could run, and what was found about its runs.
pub trait Judged {
    /// The findings that are about runs.
    fn findings(&self) -> Vec<&Diagnostic>;

    /// Replays a finding, and tells the last so many steps of the run.
    ///
    /// # Errors
    /// There is no run to tell.
    fn replay(&self, finding: &Diagnostic, last: usize) -> Result<Run, NoRun>;

    /// Its tasks and what they wait for.
    fn chart(&self) -> Chart;
}

/// A run, in words.
#[derive(Debug, Default)]
pub struct Run {
    /// How many steps come before those that are told.
    pub skipped: usize,
    /// The steps that are told, a line each. Fewer where one could not be taken.
    pub steps: Vec<String>,
    /// What has gone wrong after the last step, some lines; none where a step could not be taken.
    pub outcome: Vec<String>,
}

/// Why there is no run.
#[derive(Debug)]
pub enum NoRun {
    /// The witness leads nowhere, in words.
    Wrong(String),
    /// None is known, or none is needed, in words.
    Without(String),
}

/// Replays every finding. 0: each was shown, or needs no run; 1: a witness leads nowhere; 2: there is nothing to run.
pub(super) fn run(arguments: &Arguments, programs: &dyn Kind, companions: &[&Companion]) -> ExitCode {
    let mut text = String::new();
    let code = match replay_file(arguments, programs, companions, &mut text) {
        Ok(code) => ExitCode::from(code),
        Err(message) => wrong(message),
    };
    match terminal::print(&text) {
        Ok(()) => code,
        Err(message) => wrong(message),
    }
}

fn replay_file(
    arguments: &Arguments,
    programs: &dyn Kind,
    companions: &[&Companion],
    out: &mut String,
) -> Result<u8, String> {
    let documents = read(&arguments.files)?;
    let judged = open(&arguments.files, &documents, programs, companions)?;
    let file = names(&arguments.files).join(" ");
    let last = if arguments.all { usize::MAX } else { SHOWN };
    let (mut shown, mut without, mut invalid) = (0, 0, 0);
    for finding in judged.findings() {
        let rule = finding.rule;
        if arguments.rule.is_some_and(|wanted| wanted != rule) {
            continue;
        }
        let _ = writeln!(out, "{rule} {} at {}: {}", rule.slug(), finding.pointer, finding.message);
        match judged.replay(finding, last) {
            Ok(run) => {
                shown += 1;
                print(&run, out);
            }
            Err(NoRun::Wrong(why)) => {
                invalid += 1;
                let _ = writeln!(out, "  {why}");
            }
            Err(NoRun::Without(why)) => {
                without += 1;
                let _ = writeln!(out, "  not replayed: {why}");
            }
        }
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "{file}: {shown} replayed to a bad state, {without} without a run, {invalid} wrong witnesses"
    );
    Ok(u8::from(invalid > 0))
}

/// The bytes of files.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Vec<u8>>, String> {
    files.iter().map(|file| read_file(file)).collect()
}

/// What the files hold: the parts of one document of a kind.
pub(super) fn open<'d>(
    files: &[PathBuf],
    documents: &'d [Vec<u8>],
    programs: &dyn Kind,
    companions: &[&Companion],
) -> Result<Box<dyn Judged + 'd>, String> {
    let is_of = |kind: &dyn Kind| documents.first().is_some_and(|document| kind.is_one(document));
    let of_companion = companions.iter().filter_map(|companion| companion.replay).find(|kind| is_of(*kind));
    let names = names(files);
    let kind: &dyn Kind = of_companion.map_or(programs, |kind| kind);
    if files.len() > 1 && !kind.has_parts() {
        return Err(format!("{} are {} files; a program is taken alone", names.join(" "), files.len()));
    }
    kind.open(documents, &names)
}

pub(super) fn names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.display().to_string()).collect()
}

fn print(run: &Run, out: &mut String) {
    if run.skipped > 0 {
        let _ = writeln!(out, "  ... {} steps before these; --all prints them", run.skipped);
    }
    for (index, step) in run.steps.iter().enumerate() {
        let _ = writeln!(out, "  {:>4}. {step}", run.skipped + index + 1);
    }
    for line in &run.outcome {
        let _ = writeln!(out, "  => {line}");
    }
}
