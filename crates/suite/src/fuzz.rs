//! `cargo xtask fuzz`: an implementation and the reference on new documents.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use megakernel_conformance::run::{HANDSHAKE, TIMEOUT};
use megakernel_conformance::stop::Stop;
use megakernel_conformance::terminal;
use megakernel_conformance::worker::{WorkerCommand, processes, split};
use megakernel_differential::{Bases, Finding, Findings, Fuzz, Options, Outcome, Player, Progress};
use megakernel_ir::protocol::Profile;
use megakernel_ir::registry;
use megakernel_suite::judge::Judge;

use crate::print;

const EXAMPLES: &str = "\
Examples:
  cargo xtask fuzz --impl ./my-vm
      2,000 new documents: programs to judge, programs with tensors to execute, documents of companions, as the
      implementation claims profiles
  cargo xtask fuzz --impl ./my-vm --profile execute --count 100000 --time 600 --seed 7
      programs to execute alone, others than before, for ten minutes
  cargo xtask fuzz --impl ./my-vm --findings fuzz-findings
      what was found before first; then what is new joins it. The folder belongs in version control
  cargo xtask conform --impl ./my-vm --corpus fuzz-findings
      the findings as cases, with all that a report has

Each document starts from one of the corpus, or from nothing, and is changed in a few places. The reference says what is required of
it, and the implementation is judged as in `conform`. Where they differ, the document is made smaller as long as they do, and written
as a case. Of several documents that are drawn, the one with the crossing that was seen least is played: rule with opcode, kind,
space and dtype; opcode with dtype, rank and position of an operand.

A finding says that two programs differ, not which of them is wrong: read the clauses that its case cites. Where it is the reference,
the specification or a bound, tell us.

Exit code: 0 if nothing differs, 1 if something does, 2 if the run could not be done.";

/// Compare an implementation with the reference on documents that no case has
///
/// New programs, tensors and documents of companions are drawn, judged by the reference, and played to the implementation. What the two
/// differ on is shrunk to a small document and written as a case; causes that were found before are counted. With one seed and count
/// the same is found at any number of jobs, unless the time is over before, or the worker fails so often that it is given up for a while.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The command that starts a worker; it speaks the protocol of spec/conformance.md
    #[arg(long = "impl", value_name = "COMMAND")]
    implementation: String,

    /// How many documents
    #[arg(long, value_name = "N", default_value_t = 2000)]
    count: u64,

    /// Which documents
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,

    /// Stop after so many seconds, at whatever number
    #[arg(long, value_name = "SECONDS")]
    time: Option<u64>,

    /// This profile only; may be repeated [default: all that the implementation claims and there are documents for]
    #[arg(long = "profile", value_name = "PROFILE")]
    profiles: Vec<Profile>,

    /// The folder of findings: those in it are played first, and new ones are written there
    #[arg(long, value_name = "DIRECTORY", default_value = "fuzz-findings")]
    findings: PathBuf,

    /// How many disagreements of one cause, in the words of a report, are shrunk; the others are counted
    #[arg(long, value_name = "N", default_value = "4")]
    per_cause: NonZeroUsize,

    /// The folder of documents that new ones start from [default: programs, in the corpus of the repository]
    #[arg(long, value_name = "DIRECTORY")]
    bases: Option<PathBuf>,

    /// The seconds that an answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,

    /// How many workers and threads; by default one for each processor
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

/// Runs the command.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    match fuzz(root, args) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// How it ends: 0 where nothing differs, 1 where something does, and as a signal asks for where one came.
fn fuzz(root: &Path, args: &Args) -> Result<ExitCode, String> {
    // A time beyond what a clock counts is none.
    let deadline = args.time.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds)));
    let bases = Bases::find(&args.bases.clone().unwrap_or_else(|| root.join("corpus/programs")))?;
    let stop = Stop::on_signals().map_err(|cause| format!("signals cannot be waited for: {cause}"))?;
    processes::adopt();
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let player = Player::new(command(args)?, args.jobs.unwrap_or(cores), stop)?;
    let profiles = profiles(&args.profiles, &player, &bases)?;
    let without = |profile: &Profile| player.hello().claims(*profile) && !bases.serve(*profile);
    let left_out: Vec<&str> = registry::profiles().filter(without).map(Profile::name).collect();
    if !left_out.is_empty() {
        print(&format!(
            "nothing is drawn for {}: there is no document to start from\n",
            left_out.join(", ")
        ))?;
    }
    let findings = Findings::at(&args.findings);
    let fuzz = Fuzz { reference: &Judge, bases: &bases, player: &player };
    let (former, settled, unplayed) = fuzz.replay(findings.read()?)?;
    if former.len() + settled + unplayed > 0 {
        print(&format!(
            "{} findings of before: {} still differ, {settled} do not, {unplayed} were not played\n{}",
            former.len() + settled + unplayed,
            former.len(),
            list(&former)
        ))?;
    }
    let options = Options {
        seed: args.seed,
        count: args.count,
        deadline,
        profiles: profiles.clone(),
        per_cause: args.per_cause.get(),
    };
    let bar = terminal::progress_bar(usize::try_from(args.count).unwrap_or(usize::MAX));
    let progress = |now: Progress| {
        bar.set_message(format!("{} findings", now.findings));
        bar.set_position(now.drawn);
    };
    let keep = |finding: &Finding| findings.add(std::slice::from_ref(finding), player.warns());
    let outcome = fuzz.run(&options, &former, &progress, &keep);
    bar.finish_and_clear();
    let outcome = outcome?;
    print(&text(&outcome, &profiles, args))?;
    if let Some(asked) = player.stop().asked() {
        return Ok(ExitCode::from(asked.exit_code()));
    }
    match outcome.findings.is_empty() && former.is_empty() {
        true if args.count > 0 && outcome.compared == 0 => Err("no document was compared".to_owned()),
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::FAILURE),
    }
}

fn command(args: &Args) -> Result<WorkerCommand, String> {
    let (program, arguments) = split("--impl", "worker", &args.implementation)?;
    let timeout = Duration::from_secs(args.timeout);
    Ok(WorkerCommand { program, arguments, timeout, handshake: HANDSHAKE })
}

/// The profiles asked for, or else those that the implementation claims and documents can be drawn for.
fn profiles(asked: &[Profile], player: &Player, bases: &Bases) -> Result<Vec<Profile>, String> {
    if let Some(profile) = asked.iter().find(|profile| !player.hello().claims(**profile)) {
        return Err(format!("the worker does not claim the profile {profile}"));
    }
    let serves = |profile: &Profile| player.hello().claims(*profile) && bases.serve(*profile);
    let all: Vec<Profile> = match asked {
        [] => registry::profiles().filter(serves).collect(),
        asked => asked.to_vec(),
    };
    match all.iter().find(|profile| !bases.serve(**profile)) {
        Some(profile) => Err(format!("there is no document of the profile {profile} to start from")),
        None if all.is_empty() => {
            Err("the worker claims no profile that documents can be drawn for".to_owned())
        }
        None => Ok(all),
    }
}

fn list(findings: &[Finding]) -> String {
    let mut out = String::new();
    for Finding { id, difference, .. } in findings {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {id}\n    {}", difference.cause);
        let _ = writeln!(out, "    required: {}\n    answered: {}", difference.expected, difference.actual);
    }
    out
}

fn text(outcome: &Outcome, profiles: &[Profile], args: &Args) -> String {
    let mut out = outcome.coverage.text(profiles);
    let unclaimed = |reason: &str| reason.starts_with("rule") && reason.ends_with("not claimed");
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for (reason, count) in &outcome.skipped {
        let reason = if unclaimed(reason) { "none of the rules that are broken is claimed" } else { reason };
        *reasons.entry(reason).or_default() += count;
    }
    for (reason, count) in reasons {
        let _ = writeln!(out, "skipped {count}: {reason}");
    }
    if !outcome.findings.is_empty() {
        let _ = writeln!(out, "Findings, as cases in {}", args.findings.display());
        out.push_str(&list(&outcome.findings));
    }
    let _ = writeln!(
        out,
        "{} documents drawn, {} compared, {} without an answer of the reference; {} findings, {} disagreements of the same causes",
        outcome.drawn,
        outcome.compared,
        outcome.unanswered,
        outcome.findings.len(),
        outcome.duplicates
    );
    out
}
