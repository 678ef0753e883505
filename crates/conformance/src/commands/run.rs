//! `megakernel-conform run`: judges an implementation.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use megakernel_conformance::evidence::{self, Evidence, Subject};
use megakernel_conformance::known::Known;
use megakernel_conformance::oracle::Oracle;
use megakernel_conformance::report::Report;
use megakernel_conformance::run::{self, Options, Outcome};
use megakernel_conformance::stop::Stop;
use megakernel_conformance::terminal::{self, Style};
use megakernel_conformance::worker::{WorkerCommand, processes};
use megakernel_conformance::{html, junit};
use megakernel_ir::day;
use megakernel_ir::protocol::Profile;

use super::worker::{Worker, reference};
use super::{Done, Place, Selection, lines, print};

const EXAMPLES: &str = "\
Examples:
  megakernel-conform run
      judge the reference validator
  megakernel-conform run --impl ./my-vm
      judge a program that speaks the protocol of spec/conformance.md on its standard input and output
  megakernel-conform run --impl 'python3 my_validator.py --strict' --profile format --profile validate
      a command with arguments; these profiles only, and they have to be claimed
  megakernel-conform run --impl ./my-vm --filter 'race/*'
      the cases whose id begins with race/
  megakernel-conform run --impl ./my-vm --opcode GEMV_TILE --dtype BF16 --fail-fast
      the cases that execute such tasks on programs with such buffers, up to the first failure
  megakernel-conform run --impl ./my-vm --known-failures known.txt --failed-first last.json --json last.json
      for every day: what failed last time comes first, and what is known does not hide what is new
  megakernel-conform run --impl ./my-vm --shard 2/8 --json shard-2.json
      the second of eight parts; `megakernel-conform merge shard-*.json` makes one report of all
  megakernel-conform run --impl ./my-vm --filter 'race/*' --list
      which cases that would be
  megakernel-conform run --impl ./my-vm --profile execute --no-trace
      run programs, judged at their outputs only, also where the worker can write what each task wrote
  megakernel-conform run --impl ./my-vm --profile execute --evidence h100.json
      the same with a record of it for evidence/

Exit code: 0 if every judged profile conforms; 1 if one does not, or a known failure passed; 2 if the run could not be done; 3 if
what was judged conforms in part: cases were skipped or left out by an option; 4 if something failed, all of which is known. A run that
SIGINT, SIGTERM or SIGHUP interrupts reports what it came to, and ends with 130, 143 or 129.";

/// Judge an implementation: play the corpus to it and compare its answers with the declared ones
///
/// The implementation is a command that reads requests as JSON lines from its standard input and writes answers to its
/// standard output; spec/conformance.md describes them. A profile conforms if every case of it passed; if some passed,
/// none failed, and the others were skipped or left out, it conforms in part.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    worker: Worker,

    #[command(flatten)]
    selection: Selection,

    /// How many workers to run at once; by default one for each processor
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Write the report to this file as JSON as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the report to this file as JUnit's XML as well
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Write it to this file as one page of HTML as well, with clauses, documents, twins, graphs and pictures of what failed, and with
    /// witnesses if the reference is beside this program
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write a record of evidence to this file as well (clause CON-14); needs all cases of the profile execute, and a worker
    /// that names its device
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,

    /// What else was run with the same kernels on the same device, for the record: a file with a JSON object a line
    #[arg(long, value_name = "FILE", requires = "evidence")]
    checks: Option<PathBuf>,

    /// A list of failures that are known, a line each: case, profile, reason. They are counted apart, and a line whose case passes is
    /// an error
    #[arg(long, value_name = "FILE")]
    known_failures: Option<PathBuf>,

    /// Write what fails to this file as a list of known failures: with the reasons of --known-failures, and the causes of what was
    /// not there
    #[arg(long, value_name = "FILE")]
    write_known_failures: Option<PathBuf>,

    /// Play first what failed in this report, which --json wrote
    #[arg(long, value_name = "FILE")]
    failed_first: Option<PathBuf>,

    /// End the run at the first failure that is not known; the report is partial then
    #[arg(long)]
    fail_fast: bool,

    /// Print a failure in full of at most so many causes; the JSON report has every failure
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,

    /// Print the tables of rules and clauses, of opcodes and dtypes, and of skips whole; without it only what failed, and of long
    /// tables the first lines
    #[arg(long)]
    tables: bool,

    /// Print the cases that are selected, each under each of its profiles, and play none
    #[arg(long)]
    list: bool,

    #[command(flatten)]
    place: Place,

    /// What stands for this command, worker and oracle in the lines that say how to play a case again
    #[arg(long, value_name = "TEXT", hide = true)]
    rerun: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let corpus = args.place.load()?;
    let units = args.selection.of(&corpus)?;
    if args.list {
        print(lines(&units))?;
        return Ok(0);
    }
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let known = match &args.known_failures {
        Some(path) => {
            Known::read(&read(path)?, &corpus).map_err(|why| format!("{}: {why}", path.display()))?
        }
        None => Known::default(),
    };
    let first = match &args.failed_first {
        Some(path) => failed(path)?,
        None => BTreeSet::new(),
    };
    let options = Options {
        selection: args.selection.asked(),
        jobs: args.jobs.unwrap_or(cores),
        known,
        first,
        fail_fast: args.fail_fast,
        // From here on a signal ends the run and not its report, and what workers leave behind is this process's to end.
        stop: Stop::on_signals().map_err(|cause| format!("signals cannot be waited for: {cause}"))?,
        ..Options::new(args.worker.command()?)
    };
    processes::adopt();
    let checks = match &args.checks {
        Some(path) => {
            evidence::Check::read(&read(path)?).map_err(|why| format!("{}: {why}", path.display()))?
        }
        None => Vec::new(),
    };
    if args.evidence.is_some() {
        evidence::may_be_made_of(&options)?;
    }
    let oracle = args.worker.oracle(&options.stop)?;
    eprintln!("{}", options.patience());
    let bar = terminal::progress_bar(units.len());
    let failed = AtomicUsize::new(0);
    let progress = |outcome: &Outcome| {
        if !matches!(outcome, Outcome::Passed | Outcome::Skipped(_)) {
            let failed = failed.fetch_add(1, Ordering::Relaxed) + 1;
            bar.set_message(format!("{failed} failed"));
        }
        bar.inc(1);
    };
    let asked = oracle.as_ref().map(|oracle| oracle as &dyn Oracle);
    let result = run::run(&corpus, &options, asked, &progress);
    bar.finish_and_clear();
    let mut finished = result.map_err(|cause| match cause {
        run::RunError::Spawn(cause) => {
            format!("the worker cannot be started: `{}`: {cause}", options.command.program)
        }
        other => other.to_string(),
    })?;
    args.worker.note(asked, &mut finished);
    let report = Report::new(&corpus, &options, &finished);
    let style =
        Style { causes: Some(args.limit), tables: args.tables, command: rerun(args)?, ..Style::detect() };
    // First, so that a run is not lost to a directory that is not there.
    print(terminal::render(&report, &style))?;
    if let Some(path) = &args.json {
        keep(path, report.to_json())?;
    }
    if let Some(path) = &args.junit {
        write(path, &junit::render(&report))?;
    }
    if let Some(path) = &args.html {
        let reference = reference().map(|program| WorkerCommand {
            program,
            arguments: vec!["worker".to_owned()],
            timeout: run::TIMEOUT,
            handshake: run::HANDSHAKE,
        });
        let asked = reference.map(|command| html::Witnesses::of(command, options.stop.clone()));
        keep(path, html::render(&report, &corpus, &mut asked.unwrap_or_default()))?;
    }
    if let Some(path) = &args.evidence {
        let subject = Subject::new(&corpus).map_err(|cause| format!("the corpus cannot be used: {cause}"))?;
        let mut record = Evidence::new(&subject, &finished)
            .map_err(|cause| format!("there is no evidence to write: {cause}"))?;
        record.date = day::today();
        record.checks = checks;
        keep(path, record.to_json())?;
    }
    if let Some(path) = &args.write_known_failures {
        let known = report
            .known_failures(&options.known)
            .map_err(|why| format!("no list of known failures is written: {why}"))?;
        write(path, &known.to_text())?;
    }
    Ok(report.exit_code())
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))
}

/// What failed in a run before: nothing, before the first one.
fn failed(path: &Path) -> Result<BTreeSet<(String, Profile)>, String> {
    if matches!(path.try_exists(), Ok(false)) {
        return Ok(BTreeSet::new());
    }
    Ok(super::report(path)?.failures.into_iter().map(|failure| (failure.case, failure.profile)).collect())
}

pub(super) fn keep(path: &Path, json: Result<String, serde_json::Error>) -> Result<(), String> {
    write(path, &json.map_err(|cause| cause.to_string())?)
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|cause| format!("{} cannot be written: {cause}", path.display()))
}

/// The command that plays a single case again, without its selection.
fn rerun(args: &Args) -> Result<String, String> {
    let corpus = args.place.corpus.as_ref().map(|path| path.display().to_string());
    let [worker, oracle, timeout, handshake] = args.worker.options();
    let given = [worker, oracle, ("--corpus", corpus), timeout, handshake];
    // What stands for this command stands for worker and oracle as well.
    let named = if args.rerun.is_some() { 2 } else { 0 };
    let mut words = Vec::new();
    for (name, value) in given.iter().skip(named) {
        if let Some(value) = value {
            words.extend([name, value.as_str()]);
        }
    }
    if args.worker.no_trace {
        words.push("--no-trace");
    }
    let command = args.rerun.as_deref().unwrap_or("megakernel-conform run");
    let words = shlex::try_join(words).map_err(|cause| cause.to_string())?;
    Ok(if words.is_empty() { command.to_owned() } else { format!("{command} {words}") })
}
