//! A worker process: start, handshake, one request at a time, end (clauses CON-02 to CON-04).
//!
//! Nothing that the process does can hang or crash the runner. It has a process group of its own and a
//! [mark](processes::Mark), so that its end is the end of all that it started; its pipes are served by threads that nobody
//! waits for; lines have a limit; every answer has a deadline. After any failure here the process is killed and must not be
//! asked again, so a late answer has nobody to reach.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use megakernel_ir::companion::Question;
use megakernel_ir::protocol::{FromWorker, Hello, Launch, Method, PROTOCOL, Profile, ToWorker};
use process_wrap::std::{ChildWrapper, CommandWrap, ResetSigmask};
use serde::Deserialize;

use crate::stop::Stop;
use crate::text::random;
use processes::{MARK, Mark};

mod failure;
pub mod processes;

pub use failure::Failure;

/// The program and the arguments of a command line, split as a shell does. `option` gave it, and it starts the `what`.
///
/// # Errors
/// A quote is open, or it is empty.
pub fn split(option: &str, what: &str, line: &str) -> Result<(String, Vec<String>), String> {
    let mut words = shlex::split(line)
        .ok_or_else(|| format!("{option} `{line}` has an open quote or ends with a backslash"))?;
    if words.is_empty() {
        return Err(format!("{option} is empty; it takes the command that starts the {what}"));
    }
    let program = words.remove(0);
    Ok((program, words))
}

/// The longest line that a worker may write.
pub const LINE_LIMIT: usize = 64 << 20;

/// How much of a worker's standard error is kept.
const STDERR_TAIL: usize = 4096;

/// How often a waiting runner looks whether the process is still there.
const POLL: Duration = Duration::from_millis(20);

/// How long output that is already in the pipe may take after the process ended.
const GRACE: Duration = Duration::from_millis(200);

/// How long a worker may take to exit once its input is closed.
const EXIT: Duration = Duration::from_secs(2);

/// How to start a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The program, found as a shell finds it.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The deadline of each answer.
    pub timeout: Duration,
    /// The deadline of the handshake, before which a worker may load what it needs.
    pub handshake: Duration,
}

/// Why a worker is not there.
#[derive(Debug)]
pub enum StartError {
    /// The operating system could not start the command.
    Spawn(std::io::Error),
    /// The process started and did not complete the handshake.
    Handshake {
        /// How.
        failure: Failure,
        /// The end of its standard error.
        stderr: String,
    },
}

/// A running worker after its handshake.
pub struct WorkerProcess {
    child: Box<dyn ChildWrapper>,
    requests: Option<Sender<Vec<u8>>>,
    lines: Receiver<Line>,
    tail: Arc<Mutex<Vec<u8>>>,
    stderr: Option<JoinHandle<()>>,
    mark: Mark,
    stop: Stop,
    timeout: Duration,
    /// Whether the handshake is complete.
    greeted: bool,
    requests_so_far: u64,
    /// Whether it was ended.
    over: bool,
}

enum Line {
    Complete(Vec<u8>),
    TooLong,
}

impl WorkerProcess {
    /// Starts the command and completes the handshake. When `stop` is asked for, the worker is not waited for any more.
    ///
    /// # Errors
    /// See [`StartError`]; the process is gone then.
    pub fn start(command: &WorkerCommand, stop: &Stop) -> Result<(WorkerProcess, Hello), StartError> {
        let mark = Mark::random();
        let mut wrap = CommandWrap::with_new(&command.program, |inner| {
            inner
                .args(&command.arguments)
                .env(MARK, mark.value())
                .process_group(0)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        // The runner may have blocked signals that it waits for itself.
        wrap.wrap(ResetSigmask);
        let mut child = processes::started(|| wrap.spawn(), |child| child.id()).map_err(StartError::Spawn)?;
        let (requests, to_write) = channel();
        if let Some(stdin) = child.stdin().take() {
            thread::spawn(move || write_requests(stdin, &to_write));
        }
        // A small bound keeps a worker that floods its output from filling the runner's memory.
        let (to_read, lines) = sync_channel(2);
        if let Some(stdout) = child.stdout().take() {
            thread::spawn(move || read_lines(stdout, &to_read));
        }
        let tail = Arc::new(Mutex::new(Vec::new()));
        let stderr = child.stderr().take().map(|pipe| {
            let tail = Arc::clone(&tail);
            thread::spawn(move || keep_tail(pipe, &tail))
        });
        let mut worker = WorkerProcess {
            child,
            requests: Some(requests),
            lines,
            tail,
            stderr,
            mark,
            stop: stop.clone(),
            timeout: command.timeout,
            greeted: false,
            requests_so_far: 0,
            over: false,
        };
        let late = Failure::NoHandshake(command.handshake);
        let hello = worker.exchange(&ToWorker::hello(), command.handshake, late, &|| Ok(()));
        match hello.and_then(|line| read_hello(&line)) {
            Ok(hello) => {
                worker.greeted = true;
                Ok((worker, hello))
            }
            Err(failure) => {
                worker.kill();
                Err(StartError::Handshake { failure, stderr: worker.stderr_tail() })
            }
        }
    }

    /// Sends a request and waits for its answer. After an error the process is killed and every later call fails.
    ///
    /// # Errors
    /// No answer came, or none that belongs to the request.
    pub fn ask(&mut self, method: Method, profile: Profile, document: &[u8]) -> Result<FromWorker, Failure> {
        self.question(profile, &Question { method, document, arguments: None, anew: false })
    }

    /// The same for a question with arguments. Starting the worker anew is for who starts it.
    ///
    /// # Errors
    /// Those of [`WorkerProcess::ask`].
    pub fn question(&mut self, profile: Profile, question: &Question<'_>) -> Result<FromWorker, Failure> {
        self.answer_in_full(profile, question).map(|(answer, _)| answer)
    }

    /// The same, with the line of the answer: its diagnostics may hold more than is compared.
    ///
    /// # Errors
    /// Those of [`WorkerProcess::ask`].
    pub(crate) fn answer_in_full(
        &mut self,
        profile: Profile,
        question: &Question<'_>,
    ) -> Result<(FromWorker, Vec<u8>), Failure> {
        let id = self.next_id();
        let request = ToWorker::request(id, question.method, profile, question.document);
        let request = request.with_arguments(question.arguments.cloned());
        self.answered(id, &request, &|| Ok(()))
    }

    /// Sends a request to execute and waits for its answer, in the same way.
    ///
    /// # Errors
    /// As [`WorkerProcess::ask`].
    /// While the worker has not answered, `watch` is asked now and then whether it has to be stopped.
    pub fn execute(
        &mut self,
        launches: Vec<Launch<'_>>,
        watch: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<FromWorker, Failure> {
        let id = self.next_id();
        self.request(id, &ToWorker::execute(id, launches), watch)
    }

    /// A number that the worker cannot know before it is asked, so that no answer can come before its question. JSON readers
    /// keep integers of 53 bits.
    fn next_id(&mut self) -> u64 {
        self.requests_so_far += 1;
        (random() >> 44 << 32) | (self.requests_so_far & 0xffff_ffff)
    }

    fn request(
        &mut self,
        id: u64,
        request: &ToWorker<'_>,
        watch: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<FromWorker, Failure> {
        self.answered(id, request, watch).map(|(answer, _)| answer)
    }

    /// An answer, and its line.
    fn answered(
        &mut self,
        id: u64,
        request: &ToWorker<'_>,
        watch: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<(FromWorker, Vec<u8>), Failure> {
        let (timeout, late) = (self.timeout, Failure::NoAnswer(self.timeout));
        let answer = self.exchange(request, timeout, late, watch);
        let answer = answer.and_then(|line| Ok((read_answer(&line, id)?, line)));
        if answer.is_err() {
            self.kill();
        }
        answer
    }

    /// The end of what the worker wrote on its standard error. Once the process was killed it is complete, unless a
    /// process that escaped the kill still holds the pipe.
    pub fn stderr_tail(&self) -> String {
        let deadline = Instant::now() + GRACE;
        while self.stderr.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&tail).trim_end().to_owned()
    }

    /// Closes the worker's input and waits for its end. Says what was wrong with it, if anything was.
    pub fn finish(mut self) -> Option<Failure> {
        self.requests = None;
        match self.exit_status(EXIT) {
            Some(status) if status.success() => None,
            Some(status) => Some(Failure::BadExit(status)),
            None => Some(Failure::DoesNotEnd(EXIT)),
        }
    }

    /// Sends a line and waits for one; `late` is what happened if none comes within the timeout.
    fn exchange(
        &mut self,
        message: &ToWorker<'_>,
        timeout: Duration,
        late: Failure,
        watch: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Vec<u8>, Failure> {
        let mut line = serde_json::to_vec(message)
            .map_err(|cause| Failure::Unreadable { cause: cause.to_string(), line: Vec::new() })?;
        line.push(b'\n');
        self.still_there()?;
        // If the writer is gone the process closed its input; its exit or its silence is what gets reported.
        if let Some(requests) = &self.requests {
            let _ = requests.send(line);
        }
        let deadline = Instant::now() + timeout;
        loop {
            if self.stop.asked().is_some() {
                return Err(Failure::Stopped);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(POLL)) {
                Ok(Line::Complete(line)) => return self.still_there().map(|()| line),
                Ok(Line::TooLong) => return Err(Failure::LineTooLong),
                Err(RecvTimeoutError::Disconnected) => return Err(self.output_ended()),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Err(late);
                }
                Err(RecvTimeoutError::Timeout) => watch()?,
            }
            // A child of the process may keep the pipe open, so the end of output is not the only sign.
            if let Ok(Some(status)) = self.child.try_wait() {
                // What stands there instead of a handshake says more than the exit status.
                return match self.lines.recv_timeout(GRACE) {
                    Ok(Line::Complete(line)) if !self.greeted => Ok(line),
                    Ok(Line::TooLong) => Err(Failure::LineTooLong),
                    _ => Err(Failure::Exited(status)),
                };
            }
        }
    }

    /// Whether there is a worker that a line could come from: a process that it left behind may go on talking, and is not it.
    fn still_there(&mut self) -> Result<(), Failure> {
        match self.child.try_wait() {
            Ok(Some(status)) if self.greeted => Err(Failure::Exited(status)),
            _ => Ok(()),
        }
    }

    fn output_ended(&mut self) -> Failure {
        self.exit_status(GRACE).map_or(Failure::ClosedOutput, Failure::Exited)
    }

    fn exit_status(&mut self, patience: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn kill(&mut self) {
        self.requests = None;
        if !self.over {
            self.over = true;
            processes::end_group(self.child.id());
            let _ = self.child.wait();
            processes::ended(self.child.id());
            self.mark.end();
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Of a first line only the type is certain.
#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: String,
}

/// A line is text as a whole, members that nobody reads included.
fn text(line: &[u8]) -> Result<&str, Failure> {
    std::str::from_utf8(line)
        .map_err(|cause| Failure::Unreadable { cause: cause.to_string(), line: line.to_vec() })
}

fn read_hello(bytes: &[u8]) -> Result<Hello, Failure> {
    let unreadable =
        |cause: serde_json::Error| Failure::Unreadable { cause: cause.to_string(), line: bytes.to_vec() };
    let line = text(bytes)?;
    let typed: Typed = serde_json::from_str(line).map_err(unreadable)?;
    if typed.kind != "hello" {
        return Err(Failure::NotHello(typed.kind));
    }
    let hello: Hello = serde_json::from_str(line).map_err(unreadable)?;
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    if major(&hello.protocol) != major(PROTOCOL) {
        return Err(Failure::OtherProtocol(hello.protocol));
    }
    Ok(hello)
}

fn read_answer(line: &[u8], id: u64) -> Result<FromWorker, Failure> {
    let answer: FromWorker = serde_json::from_str(text(line)?)
        .map_err(|cause| Failure::Unreadable { cause: cause.to_string(), line: line.to_vec() })?;
    match (answer.kind.as_str(), answer.id) {
        // A line that the worker could not read has no number that it could repeat.
        ("response", Some(found)) | ("error", Some(found)) if found == id => Ok(answer),
        ("error", None) => Ok(answer),
        ("response" | "error", Some(_)) => Err(Failure::OtherId),
        ("response", None) => Err(Failure::NoId),
        _ => Err(Failure::NotResponse(answer.kind)),
    }
}

fn write_requests(mut stdin: impl Write, requests: &Receiver<Vec<u8>>) {
    while let Ok(line) = requests.recv() {
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn read_lines(stdout: impl Read, lines: &SyncSender<Line>) {
    let mut stdout = BufReader::with_capacity(1 << 16, stdout);
    loop {
        let mut line = Vec::new();
        let read = stdout.by_ref().take(LINE_LIMIT as u64 + 1).read_until(b'\n', &mut line);
        let complete = line.last() == Some(&b'\n');
        let message = match read {
            Ok(_) if complete => Line::Complete(line),
            Ok(length) if length > LINE_LIMIT => Line::TooLong,
            // A beginning of a line says nothing.
            Ok(_) | Err(_) => return,
        };
        let stop = matches!(message, Line::TooLong);
        if lines.send(message).is_err() || stop {
            return;
        }
    }
}

pub(crate) fn keep_tail(mut stderr: impl Read, tail: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 1024];
    while let Ok(length @ 1..) = stderr.read(&mut chunk) {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(chunk.iter().take(length));
        let excess = tail.len().saturating_sub(STDERR_TAIL);
        tail.drain(..excess);
    }
}
