//! `cargo xtask conform`: judges an implementation.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use megakernel_conformance::evidence::{self, Evidence, Subject};
use megakernel_conformance::oracle::Oracle;
use megakernel_conformance::report::Report;
use megakernel_conformance::run::{self, Options, Outcome};
use megakernel_conformance::store::{Corpus, Filter};
use megakernel_conformance::terminal::{self, Style};
use megakernel_conformance::worker::WorkerCommand;
use megakernel_ir::protocol::Profile;
use megakernel_suite::oracle::Vm;

use crate::print;
use crate::tool::build;

const EXAMPLES: &str = "\
Examples:
  cargo xtask conform
      judge the reference validator of this repository
  cargo xtask conform --impl ./my-vm
      judge a program that speaks the protocol of spec/conformance.md on its standard input and output
  cargo xtask conform --impl 'python3 my_validator.py --strict' --profile format --profile validate
      a command with arguments; these profiles only, and they have to be claimed
  cargo xtask conform --impl ./my-vm --filter 'race/*'
      the cases whose id begins with race/
  cargo xtask conform --impl ./my-vm --filter 'race/*' --list
      which cases that would be
  cargo xtask conform --impl ./my-vm --profile execute --no-trace
      run programs, judged at their outputs only, also where the worker can write what each task wrote
  cargo xtask conform --impl 'cuda --trace' --profile execute
      judge the CUDA kernels of this repository; crates/cuda-harness/README.md has their options
  cargo xtask conform --impl 'cuda --device cuda --trace' --profile execute --evidence h100.json
      the same on a GPU, with a record of it for evidence/

Exit code: 0 if every judged profile conforms, 1 if one does not, 2 if the run could not be done.";

/// Judge an implementation: play the corpus to it and compare its answers with the declared ones.
///
/// The implementation is a command that reads requests as JSON lines from its standard input and writes answers to its
/// standard output; spec/conformance.md describes them. A profile conforms if at least one case passed and none failed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The command of the worker, split as a shell splits it; without it the reference is built and judged, and for
    /// `cuda` with options the CUDA harness is
    #[arg(long = "impl", value_name = "COMMAND")]
    implementation: Option<String>,

    /// Judge this profile only, and fail if it is not claimed; may be repeated [format, validate, memory-safety, launch, execute, task-graph]
    #[arg(long = "profile", value_name = "PROFILE", hide_possible_values = true)]
    profiles: Vec<Profile>,

    /// Play the cases whose id matches only; `*` crosses slashes
    #[arg(long, value_name = "GLOB", value_parser = Filter::new)]
    filter: Option<Filter>,

    /// How many workers to run at once; by default one for each processor
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Seconds that a worker may take for an answer
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: Duration,

    /// Judge a worker that can write traces at its outputs alone, and ask for no trace
    #[arg(long)]
    no_trace: bool,

    /// Write the report to this file as JSON as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a record of evidence to this file as well (clause CON-14); needs all cases of the profile execute, and a worker
    /// that names its device
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,

    /// Print at most so many failures; the JSON report has them all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Print the cases that are selected, each under each of its profiles, and play none
    #[arg(long)]
    list: bool,

    /// The directory of the corpus; by default the repository's own
    #[arg(long, value_name = "DIRECTORY")]
    corpus: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is no number of seconds"))?;
    // A day is longer than anybody waits and short enough for every clock.
    if seconds > 0.0 && seconds <= 86_400.0 {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(format!("{text} is out of range; the time limit is more than 0 and at most 86400 seconds"))
    }
}

/// Runs the command.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    match conform(root, args) {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn conform(root: &Path, args: &Args) -> Result<u8, String> {
    let corpus = args.corpus.clone().unwrap_or_else(|| root.join("corpus"));
    let corpus = Corpus::load(&corpus).map_err(|cause| format!("the corpus cannot be used: {cause}"))?;
    let units =
        run::select(&corpus, &args.profiles, args.filter.as_ref()).map_err(|cause| cause.to_string())?;
    if args.list {
        let lines: String = units.iter().map(|unit| format!("{} {}\n", unit.case.id, unit.profile)).collect();
        print(&lines)?;
        return Ok(0);
    }
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut options = Options {
        command: WorkerCommand { program: String::new(), arguments: Vec::new(), timeout: args.timeout },
        profiles: args.profiles.clone(),
        filter: args.filter.clone(),
        jobs: args.jobs.unwrap_or(cores),
    };
    if args.evidence.is_some() {
        evidence::may_be_made_of(&options)?;
    }
    let (program, arguments) = match &args.implementation {
        Some(line) => match split(line)? {
            (name, arguments) if name == CUDA => (prepare_cuda(root, &arguments)?, arguments),
            command => command,
        },
        None => (build(root, "megakernel-oracle", "megakernel-reference")?, vec!["worker".to_owned()]),
    };
    options.command.program.clone_from(&program);
    options.command.arguments = arguments;
    let bar = terminal::progress_bar(units.len());
    let failed = AtomicUsize::new(0);
    let progress = |outcome: &Outcome| {
        if !matches!(outcome, Outcome::Passed | Outcome::Skipped(_)) {
            let failed = failed.fetch_add(1, Ordering::Relaxed) + 1;
            bar.set_message(format!("{failed} failed"));
        }
        bar.inc(1);
    };
    let oracle: Option<&dyn Oracle> = if args.no_trace { None } else { Some(&Vm) };
    let result = run::run(&corpus, &options, oracle, &progress);
    bar.finish_and_clear();
    let finished = result.map_err(|cause| match cause {
        run::RunError::Spawn(cause) => format!("the worker cannot be started: `{program}`: {cause}"),
        other => other.to_string(),
    })?;
    let report = Report::new(&corpus, &options, &finished);
    let style = Style { failures: Some(args.limit), arguments: rerun_arguments(args)?, ..Style::detect() };
    // First, so that a run is not lost to a directory that is not there.
    print(&terminal::render(&report, &style))?;
    if let Some(path) = &args.json {
        let json = report.to_json().map_err(|cause| cause.to_string())?;
        std::fs::write(path, json)
            .map_err(|cause| format!("{} cannot be written: {cause}", path.display()))?;
    }
    if let Some(path) = &args.evidence {
        let subject = Subject::new(&corpus).map_err(|cause| format!("the corpus cannot be used: {cause}"))?;
        let record = Evidence::new(&subject, &finished)
            .map_err(|cause| format!("there is no evidence to write: {cause}"))?;
        let json = record.to_json().map_err(|cause| cause.to_string())?;
        std::fs::write(path, json)
            .map_err(|cause| format!("{} cannot be written: {cause}", path.display()))?;
    }
    Ok(report.exit_code())
}

/// The arguments that a run of a single case needs besides its selection.
fn rerun_arguments(args: &Args) -> Result<String, String> {
    let corpus = args.corpus.as_ref().map(|path| path.display().to_string());
    let mut words = Vec::new();
    let timeout = (args.timeout != run::TIMEOUT).then(|| args.timeout.as_secs_f64().to_string());
    for (name, value) in [("--impl", &args.implementation), ("--corpus", &corpus), ("--timeout", &timeout)] {
        if let Some(value) = value {
            words.extend([name, value]);
        }
    }
    if args.no_trace {
        words.push("--no-trace");
    }
    shlex::try_join(words).map_err(|cause| cause.to_string())
}

fn split(line: &str) -> Result<(String, Vec<String>), String> {
    let mut words = shlex::split(line)
        .ok_or_else(|| format!("--impl `{line}` has an open quote or ends with a backslash"))?;
    if words.is_empty() {
        return Err("--impl is empty; it takes the command that starts the worker".to_owned());
    }
    let program = words.remove(0);
    Ok((program, words))
}

/// The name in `--impl` that stands for the CUDA harness of this repository.
const CUDA: &str = "cuda";

/// Builds the CUDA harness and has it compile its kernels, which no time limit of an answer would allow for.
fn prepare_cuda(root: &Path, arguments: &[String]) -> Result<String, String> {
    let binary = build(root, "megakernel-cuda-harness", "megakernel-cuda")?;
    let status = Command::new(&binary)
        .args(arguments)
        .arg("--prepare")
        .status()
        .map_err(|cause| format!("the CUDA harness cannot be started: {cause}"))?;
    if !status.success() {
        return Err("the CUDA harness cannot be used; see above".to_owned());
    }
    Ok(binary)
}
