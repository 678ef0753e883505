//! A run: selects cases, plays them to workers, judges the answers.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use megakernel_ir::protocol::{Hello, Profile};
use megakernel_ir::registry;
use megakernel_ir::rule::Rule;
use megakernel_ir::{DType, Opcode};

use crate::case::Case;
use crate::execution::{Table, Workspaces};
use crate::judge::{self, Judgement, Mismatch};
use crate::known::Known;
use crate::oracle::Oracle;
use crate::stop::{Asked, Stop};
use crate::store::{Corpus, CorpusError};
use crate::text::excerpt;
use crate::worker::{Failure, StartError, WorkerCommand, WorkerProcess, processes};

mod execute;
mod options;
mod selection;

pub use options::Options;
pub use selection::Selection;

/// The deadline of an answer unless another is asked for.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// The deadline of a handshake unless another is asked for: a worker may have a lot to load.
pub const HANDSHAKE: Duration = Duration::from_secs(60);

/// After so many failures of the process in a row the worker is given up, so that a dead one costs bounded time.
pub const GIVE_UP: usize = 5;

/// After so many answers that did not come in time the worker is given up, so that one that hangs now and then does too.
pub const LATE: usize = 20;

/// After it took so long to start the worker again, all in all, it is given up.
pub const RESTARTS: Duration = Duration::from_secs(600);

/// What is counted: a case under one of its profiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit<'a> {
    /// The case.
    pub case: &'a Case,
    /// The profile.
    pub profile: Profile,
}

/// How a unit ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As declared.
    Passed,
    /// The answer is wrong.
    WrongAnswer(Mismatch),
    /// The worker failed instead of answering.
    WorkerFailed {
        /// How.
        failure: Failure,
        /// The end of its standard error.
        stderr: String,
    },
    /// The worker was given up before.
    NotAsked(String),
    /// Not judged, for this reason.
    Skipped(String),
}

/// A worker that started and did not complete the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoHello {
    /// How it failed.
    pub failure: Failure,
    /// The end of its standard error.
    pub stderr: String,
}

/// A finished run.
#[derive(Debug)]
pub struct Run<'a> {
    /// What the worker said about itself, or why it said nothing.
    pub hello: Result<Hello, NoHello>,
    /// Every selected unit with its end, in order of case and profile.
    pub results: Vec<(Unit<'a>, Outcome)>,
    /// What was executed, by opcode and dtype.
    pub executed: Table,
    /// Whether traces were asked for and judged.
    pub traced: bool,
    /// What else was wrong with the worker.
    pub notes: Vec<String>,
    /// What ended it before all was played.
    pub stopped: Option<Asked>,
    /// Whether a failure ended it before all was played.
    pub failed_fast: bool,
}

impl Run<'_> {
    /// What was done to it before all was played, in words that follow "the run was".
    pub fn partial(&self) -> Option<String> {
        let ended = || self.failed_fast.then(|| "ended at its first failure".to_owned());
        self.stopped.map(|asked| format!("interrupted by {asked}")).or_else(ended)
    }
}

/// Why there is no run.
#[derive(Debug)]
pub enum RunError {
    /// The filter or a profile selects no case.
    NothingSelected(String),
    /// The command cannot be started.
    Spawn(std::io::Error),
    /// The corpus cannot be used.
    Corpus(CorpusError),
    /// The files for a request cannot be written.
    Workspace(String),
    /// The oracle has no answer.
    Oracle(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::NothingSelected(message) => f.write_str(message),
            RunError::Spawn(cause) => write!(f, "the worker cannot be started: {cause}"),
            RunError::Corpus(cause) => write!(f, "the corpus cannot be used: {cause}"),
            RunError::Workspace(cause) => write!(f, "the files of a request cannot be written: {cause}"),
            RunError::Oracle(cause) => write!(f, "the oracle has no answer: {cause}"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<CorpusError> for RunError {
    fn from(cause: CorpusError) -> RunError {
        RunError::Corpus(cause)
    }
}

/// Plays the selected units. `progress` is called once for each, from any thread. With an oracle, a worker that claims
/// `trace` is asked for traces, and they are judged.
///
/// # Errors
/// See [`RunError`]; a worker that starts and then fails, however early, is no error but a result.
pub fn run<'a>(
    corpus: &'a Corpus,
    options: &Options,
    oracle: Option<&dyn Oracle>,
    progress: &(dyn Fn(&Outcome) + Sync),
) -> Result<Run<'a>, RunError> {
    let units = options.selection.units(corpus)?;
    // Before there is a worker that could touch it.
    corpus.hold(units.iter().map(|unit| unit.case))?;
    // Goes last, when nobody is left that could write there.
    let workspaces = Workspaces::default();
    let _orphans = EndOrphans;
    let (worker, hello) = match WorkerProcess::start(&options.command, &options.stop) {
        Ok(started) => started,
        Err(StartError::Spawn(cause)) => return Err(RunError::Spawn(cause)),
        Err(StartError::Handshake { failure, stderr }) => {
            return Ok(without_handshake(units, failure, stderr, &options.stop, progress));
        }
    };
    let run = Shared {
        workspaces: &workspaces,
        stop: &options.stop,
        corpus,
        command: &options.command,
        hello: &hello,
        units: &units,
        order: &order(&units, &options.first),
        known: &options.known,
        fail_fast: options.fail_fast,
        failed: AtomicBool::new(false),
        oracle: oracle.filter(|_| hello.trace),
        executed: Mutex::default(),
        next: AtomicUsize::new(0),
        streak: AtomicUsize::new(0),
        late: AtomicUsize::new(0),
        restarts: Mutex::default(),
        broken: Mutex::new(None),
        notes: Mutex::new(Vec::new()),
        progress,
    };
    let mut indexed = std::thread::scope(|scope| {
        let others: Vec<_> =
            (1..options.jobs.get().min(units.len())).map(|_| scope.spawn(|| run.work(None))).collect();
        let mut indexed = run.work(Some(worker));
        for other in others {
            // A panic of a thread is a defect of the runner and must not look like a result.
            indexed.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        indexed
    });
    if let Some(cause) = run.broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(cause);
    }
    let mut notes = run.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
    notes.extend(unknown_claims(&hello));
    notes.sort();
    notes.dedup();
    let executed = run.executed.into_inner().unwrap_or_else(PoisonError::into_inner);
    indexed.sort_by_key(|(index, _)| *index);
    let results: Vec<_> = units.into_iter().zip(indexed.into_iter().map(|(_, outcome)| outcome)).collect();
    let traced = oracle.is_some() && hello.trace;
    let interrupted = |(_, outcome): &(Unit<'_>, Outcome)| *outcome == interrupted();
    // A signal that comes when all is done changes nothing.
    let stopped = options.stop.asked().filter(|_| results.iter().any(interrupted));
    let failed_fast = results.iter().any(|(_, outcome)| *outcome == not_reached());
    Ok(Run { hello: Ok(hello), results, executed, traced, notes, stopped, failed_fast })
}

/// Ends what workers left behind, when the run is over in whatever way.
struct EndOrphans;

impl Drop for EndOrphans {
    fn drop(&mut self) {
        processes::end_orphans();
    }
}

/// The end of a unit that the run did not come to.
fn interrupted() -> Outcome {
    Outcome::Skipped("the run was interrupted".to_owned())
}

/// The end of a unit that comes after the failure at which the run ends.
fn not_reached() -> Outcome {
    Outcome::Skipped("the run ended at its first failure".to_owned())
}

/// The order in which units are played, as indices: those that come first, and the others.
fn order(units: &[Unit<'_>], first: &BTreeSet<(String, Profile)>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..units.len()).collect();
    if !first.is_empty() {
        let later = |unit: &Unit<'_>| !first.contains(&(unit.case.id.clone(), unit.profile));
        order.sort_by_cached_key(|&index| units.get(index).is_none_or(later));
    }
    order
}

/// Claims that no case can bear out: a misspelt name would otherwise show only in what is skipped.
fn unknown_claims(hello: &Hello) -> Vec<String> {
    let profile = |name: &&String| registry::profiles().all(|profile| profile.name() != *name);
    let rule = |id: &&String| Rule::from_id(id).is_none();
    let note = |what: &str, name: &String| {
        format!("worker claims {what} `{}`, which this suite does not have", excerpt(name.as_bytes()))
    };
    let profiles = hello.profiles.iter().filter(profile).map(|name| note("profile", name));
    let rules = hello.rules.iter().flatten().filter(rule).map(|id| note("rule", id));
    let opcodes = hello.opcodes.iter().filter(|name| Opcode::from_name(name).is_none());
    let dtypes = hello.dtypes.iter().filter(|name| DType::from_name(name).is_none());
    let names = opcodes.map(|name| note("opcode", name)).chain(dtypes.map(|name| note("dtype", name)));
    profiles.chain(rules).chain(names).collect()
}

fn without_handshake<'a>(
    units: Vec<Unit<'a>>,
    failure: Failure,
    stderr: String,
    stop: &Stop,
    progress: &(dyn Fn(&Outcome) + Sync),
) -> Run<'a> {
    let outcome = match failure {
        Failure::Stopped => interrupted(),
        _ => Outcome::NotAsked("the worker did not complete the handshake".to_owned()),
    };
    let stopped = stop.asked().filter(|_| failure == Failure::Stopped);
    let results = units
        .into_iter()
        .map(|unit| {
            progress(&outcome);
            (unit, outcome.clone())
        })
        .collect();
    Run {
        hello: Err(NoHello { failure, stderr }),
        results,
        executed: Table::default(),
        traced: false,
        notes: Vec::new(),
        stopped,
        failed_fast: false,
    }
}

/// What the threads of a run share.
struct Shared<'a> {
    corpus: &'a Corpus,
    command: &'a WorkerCommand,
    hello: &'a Hello,
    units: &'a [Unit<'a>],
    /// The indices of the units, as they are played.
    order: &'a [usize],
    known: &'a Known,
    fail_fast: bool,
    /// Whether something failed that is not known.
    failed: AtomicBool,
    /// Only where the worker writes traces.
    oracle: Option<&'a dyn Oracle>,
    executed: Mutex<Table>,
    workspaces: &'a Workspaces,
    stop: &'a Stop,
    next: AtomicUsize,
    /// Failures of the process in a row.
    streak: AtomicUsize,
    /// Answers that did not come in time.
    late: AtomicUsize,
    /// What starting the worker again took.
    restarts: Mutex<Duration>,
    broken: Mutex<Option<RunError>>,
    notes: Mutex<Vec<String>>,
    progress: &'a (dyn Fn(&Outcome) + Sync),
}

impl Shared<'_> {
    /// Takes units until none is left.
    fn work(&self, mut worker: Option<WorkerProcess>) -> Vec<(usize, Outcome)> {
        let mut done = Vec::new();
        loop {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&index) = self.order.get(place) else { break };
            let Some(unit) = self.units.get(index) else { break };
            let outcome = match self.play(unit, &mut worker) {
                Ok(outcome) => outcome,
                Err(cause) => {
                    self.broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause);
                    // Nothing that follows can count.
                    self.next.store(self.units.len(), Ordering::Relaxed);
                    break;
                }
            };
            let failed = !matches!(outcome, Outcome::Passed | Outcome::Skipped(_));
            if failed && self.known.reason(&unit.case.id, unit.profile).is_none() {
                self.failed.store(true, Ordering::Relaxed);
            }
            (self.progress)(&outcome);
            done.push((index, outcome));
        }
        // Asked to stop, nobody waits for a worker to end.
        let finished = worker.filter(|_| self.stop.asked().is_none());
        if let Some(failure) = finished.and_then(WorkerProcess::finish) {
            self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(failure.to_string());
        }
        done
    }

    fn play(&self, unit: &Unit<'_>, worker: &mut Option<WorkerProcess>) -> Result<Outcome, RunError> {
        if let Some(reason) = judge::skip(unit.case, unit.profile, self.hello) {
            return Ok(Outcome::Skipped(reason));
        }
        if self.stop.asked().is_some() {
            return Ok(interrupted());
        }
        if self.fail_fast && self.failed.load(Ordering::Relaxed) {
            return Ok(not_reached());
        }
        if unit.case.execute.is_some() {
            return self.execute(unit, worker);
        }
        let document = self.corpus.document(unit.case)?;
        let judgement = self.attempt(worker, |process| self.converse(process, unit, &document));
        Ok(judgement.map_or_else(|outcome| outcome, Outcome::from))
    }

    /// Talks with the running worker, or a new one. A worker that fails is ended, and given up after some failures.
    fn attempt<T>(
        &self,
        worker: &mut Option<WorkerProcess>,
        talk: impl FnOnce(&mut WorkerProcess) -> Result<T, Failure>,
    ) -> Result<T, Outcome> {
        if let Some(reason) = self.given_up() {
            return Err(Outcome::NotAsked(reason));
        }
        let outcome = match self.started(worker) {
            Ok(process) => match talk(process) {
                Ok(answer) => {
                    self.streak.store(0, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(failure) => (failure, process.stderr_tail()),
            },
            Err(failure) => (failure, String::new()),
        };
        // Dropping the process kills it with all that it started; the next unit gets a new one.
        *worker = None;
        let (failure, stderr) = outcome;
        match failure {
            Failure::Stopped => return Err(interrupted()),
            Failure::NoAnswer(_) => drop(self.late.fetch_add(1, Ordering::Relaxed)),
            _ => {}
        }
        self.streak.fetch_add(1, Ordering::Relaxed);
        Err(Outcome::WorkerFailed { failure, stderr })
    }

    /// Why the worker is asked no more, if it was given up.
    fn given_up(&self) -> Option<String> {
        if self.streak.load(Ordering::Relaxed) >= GIVE_UP {
            return Some(format!("the worker failed {GIVE_UP} times in a row and was given up"));
        }
        if self.late.load(Ordering::Relaxed) >= LATE {
            return Some(format!("{LATE} answers of the worker did not come in time, and it was given up"));
        }
        let restarts = *self.restarts.lock().unwrap_or_else(PoisonError::into_inner);
        (restarts >= RESTARTS)
            .then(|| format!("it took {RESTARTS:?} to start the worker again and again, and it was given up"))
    }

    /// The running worker, or a new one that describes itself as the first did.
    fn started<'w>(&self, worker: &'w mut Option<WorkerProcess>) -> Result<&'w mut WorkerProcess, Failure> {
        if let Some(process) = worker {
            return Ok(process);
        }
        let start = Instant::now();
        let started = self.anew();
        *self.restarts.lock().unwrap_or_else(PoisonError::into_inner) += start.elapsed();
        started.map(|process| worker.insert(process))
    }

    fn anew(&self) -> Result<WorkerProcess, Failure> {
        match WorkerProcess::start(self.command, self.stop) {
            Ok((process, hello)) if hello == *self.hello => Ok(process),
            Ok(_) => Err(Failure::HelloChanged),
            Err(StartError::Spawn(cause)) => Err(Failure::Restart(cause.to_string())),
            Err(StartError::Handshake { failure: Failure::Stopped, .. }) => Err(Failure::Stopped),
            Err(StartError::Handshake { failure, .. }) => Err(Failure::Restart(failure.to_string())),
        }
    }

    /// Asks what the unit asks.
    fn converse(
        &self,
        worker: &mut WorkerProcess,
        unit: &Unit<'_>,
        document: &[u8],
    ) -> Result<Judgement, Failure> {
        let Unit { case, profile } = *unit;
        judge::conversation(case, &judge::owed(case, self.hello), document, &mut |question| {
            if question.anew {
                // The old one is ended as it is dropped.
                *worker = self.anew()?;
            }
            worker.question(profile, question)
        })
    }
}

impl From<Judgement> for Outcome {
    fn from(judgement: Judgement) -> Outcome {
        match judgement {
            Judgement::Passed => Outcome::Passed,
            Judgement::Failed(mismatch) => Outcome::WrongAnswer(mismatch),
            Judgement::Skipped(reason) => Outcome::Skipped(reason),
        }
    }
}
