//! `megakernel-conform watch`: plays a few cases each time that the worker changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use megakernel_conformance::oracle::Oracle;
use megakernel_conformance::report::Report;
use megakernel_conformance::run::{self, Options, Outcome, RunError};
use megakernel_conformance::stop::{Asked, Stop};
use megakernel_conformance::store::{Corpus, Filter};
use megakernel_conformance::terminal;
use megakernel_conformance::worker::{WorkerCommand, processes};
use megakernel_ir::protocol::Profile;
use walkdir::WalkDir;

use super::worker::Worker;
use super::{Done, Place, find, print};

/// Play a few cases, again each time that the worker changes, and print what is different from the time before
///
/// What is watched are the program of the worker and the files among its arguments, or else what --path names. Ctrl-C ends it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  megakernel-conform watch --impl ./my-vm race/first-k-of-n/fan-in-nops-3-1-of-3\n  megakernel-conform watch --impl 'python3 my_vm.py' --path my_vm.py --path lib spec/R01/rejected spec/R01/accepted\n\nExit code: that of what was played last: 0 if nothing failed, 1 if something did, or the worker could not be started; 2 if it could not be done, 130 if Ctrl-C came before anything was judged."
)]
pub struct Args {
    /// The cases, by id
    #[arg(required = true, value_name = "CASE")]
    cases: Vec<String>,

    #[command(flatten)]
    worker: Worker,

    /// This profile only; may be repeated
    #[arg(long = "profile", value_name = "PROFILE", hide_possible_values = true, help = super::profiles_help())]
    profiles: Vec<Profile>,

    /// Watch this file, or all files below this directory, instead of the program; the worker must not write there, or it is played
    /// again; may be repeated
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// End after so many times; without it, go on until Ctrl-C
    #[arg(long, value_name = "N")]
    times: Option<NonZeroUsize>,

    #[command(flatten)]
    place: Place,
}

/// How often files are looked at, unless looking takes long itself.
const POLL: Duration = Duration::from_millis(100);

/// What is known of a file without reading it.
type Seen = BTreeMap<PathBuf, (i64, i64, u64, u64)>;

/// How each unit ended, and what else there is to say, in words.
type Ends = BTreeMap<String, String>;

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let corpus = args.place.load()?;
    for id in &args.cases {
        find(&corpus, id)?;
    }
    // Ids have no character that a glob reads otherwise.
    let filter = Some(Filter::new(&format!("{{{}}}", args.cases.join(",")))?);
    let stop = Stop::on_signals().map_err(|cause| format!("signals cannot be waited for: {cause}"))?;
    processes::adopt();
    let mut options = Options { stop: stop.clone(), ..Options::new(args.worker.command()?) };
    options.selection.filter = filter;
    options.selection.profiles.clone_from(&args.profiles);
    let paths = if args.paths.is_empty() { of_command(&options.command) } else { args.paths.clone() };
    let mut seen = look(&paths);
    if !paths.iter().any(|path| path.exists()) {
        return Err(format!(
            "there is nothing to watch: no file is called {}; name the files of the worker with --path",
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" or ")
        ));
    }
    let (mut before, mut code) = (None, None);
    for time in 1.. {
        let Some((ends, ended)) = play(&corpus, &options, &args.worker, before.as_ref())? else { break };
        code = Some(ended);
        print(changes(time, before.as_ref(), &ends))?;
        before = Some(ends);
        if args.times.is_some_and(|times| time >= times.get()) || !wait(&paths, &mut seen, &stop) {
            break;
        }
    }
    // Interrupted before anything was judged, it ends as `run` does.
    Ok(code.or(stop.asked().map(Asked::exit_code)).unwrap_or(0))
}

/// Plays the cases once, and says how each ended, with an exit code; nothing if it was interrupted.
fn play(
    corpus: &Corpus,
    options: &Options,
    worker: &Worker,
    before: Option<&Ends>,
) -> Result<Option<(Ends, u8)>, String> {
    // Another one each time: what a worker did to one is no matter of the next play.
    let oracle = worker.oracle(&options.stop)?;
    let oracle = oracle.as_ref().map(|oracle| oracle as &dyn Oracle);
    let mut run = match run::run(corpus, options, oracle, &|_| {}) {
        Ok(run) => run,
        // It may be about to be built, and all else is as it was.
        Err(RunError::Spawn(cause)) => {
            let said = format!("cannot be started: `{}`: {cause}", options.command.program);
            let mut ends = before.cloned().unwrap_or_default();
            ends.insert("the worker".to_owned(), said);
            return Ok(Some((ends, 1)));
        }
        Err(other) => return Err(other.to_string()),
    };
    if run.stopped.is_some() {
        return Ok(None);
    }
    worker.note(oracle, &mut run);
    let report = Report::new(corpus, options, &run);
    let mut ends = Ends::new();
    for (unit, outcome) in &run.results {
        let said = match outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Skipped(reason) => format!("skipped: {reason}"),
            _ => String::new(),
        };
        ends.insert(format!("{} ({})", unit.case.id, unit.profile), said);
    }
    for (index, failure) in report.failures.iter().enumerate() {
        let mut said = format!("failed: {}\n", failure.cause);
        let stderr = report.stderr.get(&index).map_or("", String::as_str);
        // Writing to a string cannot fail.
        let _ = terminal::write_difference(&mut said, failure, stderr);
        ends.insert(format!("{} ({})", failure.case, failure.profile), said.trim_end().to_owned());
    }
    let notes: Vec<&str> = report.handshake.iter().chain(&report.notes).map(String::as_str).collect();
    if !notes.is_empty() {
        let mut said = notes.join("\n  ") + "\n";
        let _ = terminal::write_stderr(&mut said, &report.handshake_stderr);
        ends.insert("the worker".to_owned(), said.trim_end().to_owned());
    }
    Ok(Some((ends, u8::from(report.totals.failed > 0))))
}

/// What is different from the time before, as text; everything if there was none.
fn changes(time: usize, before: Option<&Ends>, now: &Ends) -> String {
    let was = |name: &String| before.and_then(|ends| ends.get(name));
    let mut text = format!("== {time}\n");
    let unchanged = text.len();
    for (name, said) in now.iter().filter(|(name, said)| was(name) != Some(said)) {
        // A line of its own for each, without what could move a terminal's cursor.
        let said: String =
            said.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect();
        let _ = writeln!(text, "{name}: {said}");
    }
    for name in before.into_iter().flat_map(BTreeMap::keys).filter(|name| !now.contains_key(*name)) {
        let _ = writeln!(text, "{name}: nothing to say any more");
    }
    if text.len() == unchanged {
        text.push_str("nothing changed\n");
    }
    text
}

/// Waits until a file is another one, and then until none changes any more. Whether that was so, and nobody asked to stop.
fn wait(paths: &[PathBuf], seen: &mut Seen, stop: &Stop) -> bool {
    let mut changed = false;
    loop {
        let start = Instant::now();
        let now = look(paths);
        let took = start.elapsed();
        let differs = now != *seen;
        changed |= differs;
        *seen = now;
        if changed && !differs {
            return true;
        }
        // A tenth of the time at most, however many files there are.
        let until = Instant::now() + POLL.max(took * 9);
        while Instant::now() < until {
            if stop.asked().is_some() {
                return false;
            }
            std::thread::sleep(POLL / 10);
        }
    }
}

/// What is there.
fn look(paths: &[PathBuf]) -> Seen {
    // Python writes there while it is played.
    let walk = |path: &PathBuf| {
        WalkDir::new(path).into_iter().filter_entry(|entry| entry.file_name() != "__pycache__")
    };
    let files = paths.iter().flat_map(walk);
    let file = |entry: walkdir::DirEntry| {
        // What a link leads to counts, as it is that which is started.
        let about = std::fs::metadata(entry.path()).ok().filter(std::fs::Metadata::is_file)?;
        // Unlike the time of the last write, that of the last change says that it may be executed now, and nobody can set it.
        Some((entry.path().to_owned(), (about.ctime(), about.ctime_nsec(), about.len(), about.ino())))
    };
    files.filter_map(Result::ok).filter_map(file).collect()
}

/// The files of a command: its program, as the system finds it, and what there is of its arguments.
fn of_command(command: &WorkerCommand) -> Vec<PathBuf> {
    let program = Path::new(&command.program);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = if command.program.contains('/') {
        program.to_owned()
    } else {
        let folders = std::env::split_paths(&path).map(|folder| folder.join(program));
        folders.into_iter().find(|path| path.is_file()).unwrap_or_else(|| program.to_owned())
    };
    let arguments = command.arguments.iter().map(PathBuf::from).filter(|path| path.is_file());
    [found].into_iter().chain(arguments).collect()
}
