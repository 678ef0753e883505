//! `cargo xtask agree`: validator, explorer and VM on programs at random.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::model::Program;
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::{Rule, read};
use megakernel_prove::programs::{Programs, random};
use megakernel_prove::{Subject, Weakness, thousands};
use megakernel_reference::agreement::{Judge, Verdicts};
use megakernel_reference::vm::{Access, Fault, Loaded, Schedule};

use crate::print;
use crate::prove::weakness;

const EXAMPLES: &str = "\
Examples:
  cargo xtask agree
      200,000 programs, or as many as there is time for
  cargo xtask agree --count 5000000 --seed 7 --seconds 3600
      others, and for longer

Exit code: 0 if all agree on every program, 1 if not, 2 if the run could not be done.";

/// Compare validator, explorer and VM on programs at random
///
/// The programs have up to 6 tasks on irregular tiles, caches, pages and SMs, and many of them work in place. An accepted program
/// must have no bad execution, and the VM must find nothing wrong with it in any order; of a rejected one, each rule must be borne
/// out by an execution or be conservative on purpose, and what goes wrong in the VM must be known to the explorer, but for writes to
/// one page that nobody reads. The first program on which that fails is printed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How many programs
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    count: u64,

    /// Which programs: each has a generator of its own, that of this number plus its place
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,

    /// Stop after so many seconds, at whatever number
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    seconds: u64,

    /// In how many orders the VM runs each program
    #[arg(long, value_name = "N", default_value_t = 4)]
    schedules: u64,

    /// How many threads; by default one for each processor
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Drop the findings of this rule, or those that its part `R06-in-place` is about, to see the others notice
    #[arg(long, value_name = "RULE", value_parser = weakness)]
    without: Option<Weakness>,
}

/// What came of some programs.
#[derive(Clone, Debug, Default)]
struct Counts {
    programs: u64,
    accepted: u64,
    /// Rejected, and some execution goes wrong.
    shown: u64,
    /// Rejected, and none does.
    conservative: u64,
    /// Of those that go wrong, how many went wrong in the VM.
    failed: u64,
    /// Runs of the VM.
    runs: u64,
    rules: Vec<u64>,
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = args.jobs.unwrap_or(cores).get() as u64;
    let end = Instant::now() + Duration::from_secs(args.seconds);
    // Of several disagreements the first is reported, whatever the number of threads.
    let stop = AtomicU64::new(args.count);
    let results: Vec<_> = std::thread::scope(|scope| {
        let work = |job: u64| {
            let (mut judge, mut counts) = (Programs::judge(args.without), Counts::default());
            let mut at = job;
            while at < stop.load(Ordering::Relaxed) && Instant::now() < end {
                if let Err(found) =
                    compare(&mut judge, args.seed.wrapping_add(at), args.schedules, &mut counts)
                {
                    stop.fetch_min(at, Ordering::Relaxed);
                    return (counts, Some((at, found)));
                }
                at += jobs;
            }
            (counts, None)
        };
        let threads: Vec<_> = (0..jobs).map(|job| scope.spawn(move || work(job))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let mut all = Counts { rules: vec![0; Rule::ALL.len()], ..Counts::default() };
    let mut found: Option<(u64, String)> = None;
    for (counts, disagreement) in results {
        all.add(&counts);
        found = found.into_iter().chain(disagreement).min();
    }
    let (text, code) = match found {
        Some((_, text)) => (text, ExitCode::FAILURE),
        None if all.programs == 0 => ("no program was judged\n".to_owned(), ExitCode::from(2)),
        None => (all.table(), ExitCode::SUCCESS),
    };
    match print(&text) {
        Ok(()) => code,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Asks all three about the program of a seed.
fn compare(judge: &mut Judge, seed: u64, schedules: u64, counts: &mut Counts) -> Result<(), String> {
    let text = random::program(&mut SplitMix64::new(seed));
    let wrong = |what: &str| Err(format!("{text}seed {seed}: {what}\n"));
    let Ok(program) = read(text.as_bytes()) else { return wrong("the program does not read") };
    let Some(verdicts) = judge.judge(&program) else {
        return wrong("the program breaks an S rule or is too large to explore");
    };
    if verdicts.disagree() {
        return wrong(&format!("validator and explorer disagree\n{verdicts}"));
    }
    if let Err(what) = verdicts.witnesses(&program) {
        return wrong(&what);
    }
    counts.count(&verdicts);
    let Ok(loaded) = Loaded::load_unchecked(&program) else {
        return wrong("the VM does not load the program");
    };
    let mut failed = None;
    for schedule in 0..schedules {
        counts.runs += 1;
        if let Err(fault) = loaded.rehearse(Schedule::seeded(schedule))
            && (verdicts.rules.is_empty() || !is_unread_clobber(&fault))
        {
            failed.get_or_insert_with(|| format!("schedule {schedule}: {}", explain(&fault, &program)));
        }
    }
    if let Some(what) = &failed
        && verdicts.faults.is_empty()
    {
        return wrong(&format!("the VM and the explorer disagree\n{verdicts}\nVM: {what}"));
    }
    counts.failed += u64::from(failed.is_some());
    Ok(())
}

/// Two writes of different buffers to the same bytes of a page, in no order. The VM calls that a race; to the explorer only a read of
/// those bytes makes it one (clause PAG-01). Where P01 does not reject it, R01 does: a partial wait counts as an order.
fn is_unread_clobber(fault: &Fault) -> bool {
    let writes = |access: &Access| access.kind == AccessKind::Write;
    matches!(fault, Fault::Unordered { first, second, .. }
        if first.buffer != second.buffer && writes(first) && writes(second))
}

fn explain(fault: &Fault, program: &Program<'_>) -> String {
    format!("{} at {}", fault.explain(program), fault.pointer())
}

impl Counts {
    fn count(&mut self, verdicts: &Verdicts) {
        self.rules.resize(Rule::ALL.len(), 0);
        self.programs += 1;
        match (verdicts.rules.is_empty(), verdicts.faults.shows()) {
            (true, _) => self.accepted += 1,
            (false, true) => self.shown += 1,
            (false, false) => self.conservative += 1,
        }
        for rule in &verdicts.rules {
            if let Some(place) = Rule::ALL.iter().position(|other| other == rule) {
                self.rules[place] += 1;
            }
        }
    }

    fn add(&mut self, other: &Counts) {
        let Counts { programs, accepted, shown, conservative, failed, runs, rules } = other;
        self.programs += programs;
        self.accepted += accepted;
        self.shown += shown;
        self.conservative += conservative;
        self.failed += failed;
        self.runs += runs;
        self.rules.iter_mut().zip(rules).for_each(|(mine, theirs)| *mine += theirs);
    }

    fn table(&self) -> String {
        let rules = Rule::ALL.iter().zip(&self.rules).filter(|(_, count)| **count > 0);
        let rules: Vec<String> = rules.map(|(rule, count)| format!("{rule} {}", thousands(*count))).collect();
        format!(
            "{} programs: {} accepted, {} rejected and going wrong, {} rejected on purpose; {} runs of the VM, in which {} of them \
             went wrong; no disagreement\n{}\n",
            thousands(self.programs),
            thousands(self.accepted),
            thousands(self.shown),
            thousands(self.conservative),
            thousands(self.runs),
            thousands(self.failed),
            rules.join(", ")
        )
    }
}
