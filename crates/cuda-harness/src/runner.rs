//! A process that runs launches, one after the other. It is kept, so that what kernels leave in globals is there in the next
//! launch, as on a GPU; what hangs or crashes costs this process and nothing else.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::device::{End, Ended, Job};
use crate::image::{self, Settings};

/// How long a process may take to end by itself.
const FAREWELL: Duration = Duration::from_millis(1500);

/// The command of a runner, and the process while there is one.
#[derive(Debug)]
pub struct Runner {
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(&'static str, &'static str)>,
    folder: tempfile::TempDir,
    process: Option<Process>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<String>,
}

/// What came of a launch, as the runner's process shows it.
#[derive(Debug)]
enum Outcome {
    Answered(String),
    TimedOut,
    /// The process ended, and said this.
    Died(ExitStatus, String),
}

impl Runner {
    /// A runner that is started by its first launch.
    ///
    /// # Errors
    /// There is no folder for the images.
    pub fn new(
        program: PathBuf,
        arguments: Vec<String>,
        environment: Vec<(&'static str, &'static str)>,
    ) -> Result<Runner, String> {
        let folder = tempfile::tempdir().map_err(|cause| format!("no folder for launches: {cause}"))?;
        Ok(Runner { program, arguments, environment, folder, process: None })
    }

    /// Runs a launch. A process that does not answer within `patience` is ended; the next launch has a new one.
    ///
    /// # Errors
    /// The process cannot be started, or the image cannot be written or read.
    pub fn launch(
        &mut self,
        job: &Job,
        settings: Settings,
        patience: Duration,
        allocations: &mut [Vec<u8>],
    ) -> Result<Ended, String> {
        let (bytes, places) = image::write(job, settings, allocations);
        let path = self.folder.path().join("image");
        fs::write(&path, bytes).map_err(|cause| format!("the image cannot be written: {cause}"))?;
        let outcome = self
            .ask(&path.display().to_string(), patience)
            .map_err(|cause| format!("{} cannot be run: {cause}", self.program.display()))?;
        let image = fs::read(&path).map_err(|cause| format!("the image cannot be read: {cause}"))?;
        let left = image::read_status(&image, &places, job);
        if matches!(&outcome, Outcome::Answered(said) if said == image::HANGS) {
            self.process = None;
        }
        let end = match outcome {
            Outcome::TimedOut => End::TimedOut,
            Outcome::Died(status, said) => End::Crashed(format!("{status}: {said}")),
            Outcome::Answered(said) => match left.state {
                image::DONE => End::Done,
                image::ABORTED => End::Stuck(said),
                image::NO_OPCODE => End::NoOpcode,
                image::REFUSED => End::Refused(said),
                image::TIMED_OUT => End::TimedOut,
                other => return Err(format!("the runner ended a launch in state {other}, which is none")),
            },
        };
        image::read_memory(&image, &places, allocations);
        Ok(Ended { end, tasks: left.tasks, counters: left.counters, places: left.places })
    }

    /// What the process answers to a line that is no launch.
    ///
    /// # Errors
    /// It does not answer.
    pub fn answer(&mut self, line: &str, patience: Duration) -> Result<String, String> {
        match self.ask(line, patience) {
            Ok(Outcome::Answered(said)) => Ok(said),
            Ok(Outcome::TimedOut) => Err("the runner does not answer".to_owned()),
            Ok(Outcome::Died(status, said)) => Err(format!("the runner ended with {status}: {said}")),
            Err(cause) => Err(format!("{} cannot be run: {cause}", self.program.display())),
        }
    }

    /// Has the process answer a line.
    fn ask(&mut self, line: &str, patience: Duration) -> io::Result<Outcome> {
        let errors = self.folder.path().join("errors");
        // What a new process says counts from its start on: it may end before it is asked.
        let (mut process, said_before) = match self.process.take() {
            Some(process) => (process, fs::metadata(&errors)?.len()),
            None => (self.start(&errors)?, 0),
        };
        // A process that is gone is noticed below: it closes its output.
        let _ = process.input.as_mut().map(|input| writeln!(input, "{line}"));
        match process.answers.recv_timeout(patience) {
            Ok(answer) => {
                self.process = Some(process);
                Ok(Outcome::Answered(answer))
            }
            Err(RecvTimeoutError::Timeout) => {
                process.child.kill()?;
                Ok(Outcome::TimedOut)
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = process.child.wait()?;
                let said = fs::read(&errors)?;
                let said = said.get(said_before as usize..).unwrap_or_default();
                Ok(Outcome::Died(status, summary(&String::from_utf8_lossy(said))))
            }
        }
    }

    fn start(&self, errors: &Path) -> io::Result<Process> {
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .envs(self.environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(errors)?)
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| io::Error::other("the process has no pipes"))?;
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Process { child, input: Some(input), answers })
    }
}

impl Drop for Process {
    /// At the end of its input a process ends by itself, and a tool that watches it says what it found. One that hangs is
    /// killed.
    fn drop(&mut self) {
        self.input = None;
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && start.elapsed() < FAREWELL {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a sanitizer found and where, or the last line.
fn summary(text: &str) -> String {
    let marks = ["ERROR: AddressSanitizer", "WARNING: ThreadSanitizer", "runtime error:"];
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(first) = lines().position(|line| marks.iter().any(|mark| line.contains(mark))) else {
        return lines().next_back().unwrap_or("it said nothing").to_owned();
    };
    let found = lines().nth(first).unwrap_or_default();
    let frames = lines().skip(first).filter(|line| line.starts_with('#')).take(2);
    std::iter::once(found).chain(frames).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_report_the_finding_and_its_place_are_shown() {
        let text = "noise\n==7==ERROR: AddressSanitizer: heap-buffer-overflow\nWRITE of size 4\n    #0 0x1 in f a.cu:3\n #1 0x2 in g\n #2 0x3 in h\n";
        let found = summary(text);
        assert_eq!(
            found,
            "==7==ERROR: AddressSanitizer: heap-buffer-overflow; #0 0x1 in f a.cu:3; #1 0x2 in g"
        );
        assert_eq!((summary("a\nb\n"), summary("")), ("b".to_owned(), "it said nothing".to_owned()));
    }

    /// A runner that is a line of the shell.
    fn shell(script: &str) -> Runner {
        let arguments = vec!["-c".to_owned(), script.to_owned()];
        Runner::new(PathBuf::from("sh"), arguments, Vec::new())
            .unwrap_or_else(|found| unreachable!("{found}"))
    }

    #[test]
    fn a_process_is_kept_until_it_dies_or_hangs() {
        let script = "n=0; while read path; do n=$((n+1)); case $path in die) echo why >&2; exit 3;; hang) sleep 60;; *) echo $n;; esac; done";
        let mut runner = shell(script);
        let mut said = |path: &str| {
            let patience = Duration::from_millis(if path == "hang" { 50 } else { 20_000 });
            match runner.ask(path, patience) {
                Ok(Outcome::Answered(text)) => text,
                Ok(Outcome::TimedOut) => "timed out".to_owned(),
                Ok(Outcome::Died(status, said)) => format!("{:?}: {said}", status.code()),
                Err(cause) => cause.to_string(),
            }
        };
        let found = ["a", "b", "die", "a", "hang", "a", "b", "c"].map(&mut said);
        assert_eq!(found, ["1", "2", "Some(3): why", "1", "timed out", "1", "2", "3"]);
    }

    #[test]
    fn what_a_process_says_before_it_is_asked_is_heard() {
        let mut runner = shell("echo early >&2; exit 2");
        for _ in 0..20 {
            let said = match runner.ask("a", Duration::from_secs(20)) {
                Ok(Outcome::Died(_, said)) => said,
                other => unreachable!("{other:?}"),
            };
            assert_eq!(said, "early");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_said() {
        let runner = Runner::new(PathBuf::from("no-such-program"), Vec::new(), Vec::new());
        assert!(runner.is_ok_and(|mut runner| runner.ask("a", Duration::from_secs(1)).is_err()));
    }
}
