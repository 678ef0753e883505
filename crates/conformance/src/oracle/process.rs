//! An oracle that is a process ([`megakernel_ir::protocol::oracle`]).
//!
//! As with workers, nothing that it does can hang or crash the runner: its pipes are served by threads that nobody waits for,
//! every answer has a deadline, and a process that failed is killed. But it is no implementation that is judged: what it does wrong
//! by itself ends the run. What is done to it does not: a worker has the same rights as the runner and may kill it.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use megakernel_ir::model::Program;
use megakernel_ir::protocol::Accumulator;
use megakernel_ir::protocol::oracle::{Answer, Bytes, Numbers, ORACLE, Request, frame, read, words};
use megakernel_numerics::Tensor;
use process_wrap::std::{ChildWrapper, CommandWrap, ProcessGroup, ResetSigmask};

use super::{Expected, Follow, NoAnswer, Oracle, Written};
use crate::stop::Stop;
use crate::text::excerpt;
use crate::worker::{keep_tail, processes};

/// How long an answer may take. The largest task of the corpus takes a small part of a second.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// After it was lost so many times it is not started again, so that a worker that kills or stops it costs bounded time.
pub const LOST: usize = 5;

/// How often a run that waits for an answer looks whether it should stop.
const LOOK: Duration = Duration::from_millis(50);

/// How long a process that has closed its output may take to be gone.
const GONE: Duration = Duration::from_secs(1);

/// A command that starts oracles. As many processes run as launches are followed at once; they are reused.
pub struct ProcessOracle {
    program: String,
    arguments: Vec<String>,
    timeout: Duration,
    stop: Stop,
    idle: Mutex<Vec<Connection>>,
    /// Whether one has ever said hello. Before that, a silent one is none.
    has_spoken: AtomicBool,
    lost: AtomicUsize,
}

impl ProcessOracle {
    /// An oracle that is started when it is needed.
    pub fn new(program: String, arguments: Vec<String>, timeout: Duration, stop: Stop) -> ProcessOracle {
        let (idle, has_spoken, lost) = (Mutex::default(), AtomicBool::default(), AtomicUsize::default());
        ProcessOracle { program, arguments, timeout, stop, idle, has_spoken, lost }
    }

    fn connection(&self) -> Result<Connection, NoAnswer> {
        if self.lost.load(Ordering::Relaxed) >= LOST {
            let message = format!("the oracle was killed or silent {LOST} times and is not started again");
            return Err(NoAnswer::Killed(message));
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let started = || Connection::start(&self.program, &self.arguments, self.timeout, self.stop.clone());
        let connection = idle.map_or_else(started, Ok).map_err(|cause| self.noted(cause))?;
        self.has_spoken.store(true, Ordering::Relaxed);
        Ok(connection)
    }

    /// Takes note of a failure. What was done to one process may have been done to those that are idle.
    fn noted(&self, cause: NoAnswer) -> NoAnswer {
        match &cause {
            NoAnswer::Silent(message) if !self.has_spoken.load(Ordering::Relaxed) => {
                return NoAnswer::Faulty(message.clone());
            }
            NoAnswer::Killed(_) | NoAnswer::Silent(_) => {
                self.lost.fetch_add(1, Ordering::Relaxed);
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
            }
            NoAnswer::Faulty(_) | NoAnswer::Stopped => {}
        }
        cause
    }
}

impl Oracle for ProcessOracle {
    fn follow<'a>(
        &'a self,
        document: &str,
        _: &'a Program<'a>,
        tensors: &BTreeMap<String, Tensor>,
        caches: &BTreeMap<String, Tensor>,
        accumulator: Accumulator,
    ) -> Result<Box<dyn Follow + 'a>, NoAnswer> {
        let connection = self.connection()?;
        let mut launch =
            Followed { oracle: self, connection: Mutex::new(Some(connection)), order: Vec::new() };
        let described = |tensors: &BTreeMap<String, Tensor>| {
            tensors.iter().map(|(name, tensor)| Bytes::of(name, tensor)).collect()
        };
        let request = Request::Follow {
            accumulator,
            program: document.len() as u64,
            tensors: described(tensors),
            caches: described(caches),
        };
        let contents = tensors.values().chain(caches.values()).map(|tensor| tensor.bytes.as_slice());
        let payload: Vec<&[u8]> = std::iter::once(document.as_bytes()).chain(contents).collect();
        launch.order = match launch.ask(&request, &payload)? {
            (Answer::Following { order }, _) => order,
            (other, _) => return Err(unexpected(&other).into()),
        };
        Ok(Box::new(launch))
    }
}

/// A launch that a process follows. The process goes back when it is over, unless it failed.
struct Followed<'a> {
    oracle: &'a ProcessOracle,
    connection: Mutex<Option<Connection>>,
    order: Vec<usize>,
}

impl Followed<'_> {
    fn ask(&self, request: &Request, payload: &[&[u8]]) -> Result<(Answer, Vec<u8>), NoAnswer> {
        let mut place = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = place.as_mut().ok_or_else(|| "the oracle failed before".to_owned())?;
        let answer = connection.ask(request, payload).map_err(|cause| self.oracle.noted(cause));
        if answer.is_err() {
            *place = None;
        }
        match answer? {
            (Answer::Error { message }, _) => Err(message.into()),
            answer => Ok(answer),
        }
    }
}

impl Follow for Followed<'_> {
    fn order(&self) -> Vec<usize> {
        self.order.clone()
    }

    fn task(&mut self, task: usize) -> Result<Option<Written>, NoAnswer> {
        match self.ask(&Request::Task { task }, &[])? {
            (Answer::Nothing, _) => Ok(None),
            (Answer::Written { buffer, region, numbers, .. }, payload) => {
                let expected = match numbers {
                    Numbers::Reals => {
                        let mut values: Vec<f64> = words(&payload).map(f64::from_le_bytes).collect();
                        let bounds = values.split_off(values.len() / 2);
                        Expected::Reals { values, bounds }
                    }
                    Numbers::Ints => Expected::Ints(words(&payload).map(i64::from_le_bytes).collect()),
                };
                Ok(Some(Written { buffer, region, expected }))
            }
            (other, _) => Err(unexpected(&other).into()),
        }
    }

    fn store(&mut self, task: usize, written: &Tensor) -> Result<(), NoAnswer> {
        match self.ask(&Request::Store { task, tensor: Bytes::of("", written) }, &[&written.bytes])? {
            (Answer::Stored, _) => Ok(()),
            (other, _) => Err(unexpected(&other).into()),
        }
    }

    fn buffer(&self, buffer: usize) -> Result<Tensor, NoAnswer> {
        match self.ask(&Request::Buffer { buffer }, &[])? {
            (Answer::Holds { tensor }, payload) => Ok(tensor.take(&mut payload.as_slice())?),
            (other, _) => Err(unexpected(&other).into()),
        }
    }
}

impl Drop for Followed<'_> {
    fn drop(&mut self) {
        let connection = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.oracle.idle.lock().unwrap_or_else(PoisonError::into_inner).extend(connection);
    }
}

fn unexpected(answer: &Answer) -> String {
    format!("the oracle gave an answer to another question: `{}`", excerpt(format!("{answer:?}").as_bytes()))
}

/// A message from the process, or the end of its output.
type Incoming = std::io::Result<Option<(Answer, Vec<u8>)>>;

/// A process that has said hello.
struct Connection {
    command: String,
    child: Box<dyn ChildWrapper>,
    requests: Sender<Vec<u8>>,
    answers: Receiver<Incoming>,
    tail: Arc<Mutex<Vec<u8>>>,
    timeout: Duration,
    stop: Stop,
}

impl Connection {
    fn start(
        program: &str,
        arguments: &[String],
        timeout: Duration,
        stop: Stop,
    ) -> Result<Connection, NoAnswer> {
        let mut wrap = CommandWrap::with_new(program, |inner| {
            inner.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        });
        wrap.wrap(ProcessGroup::leader()).wrap(ResetSigmask);
        let mut child = processes::started(|| wrap.spawn(), |child| child.id())
            .map_err(|cause| format!("`{program}` cannot be started as an oracle: {cause}"))?;
        let (requests, to_write) = channel();
        if let Some(stdin) = child.stdin().take() {
            thread::spawn(move || write_all(stdin, &to_write));
        }
        let (to_read, answers) = channel();
        if let Some(stdout) = child.stdout().take() {
            thread::spawn(move || read_all(stdout, &to_read));
        }
        let tail = Arc::new(Mutex::new(Vec::new()));
        if let Some(pipe) = child.stderr().take() {
            let tail = Arc::clone(&tail);
            thread::spawn(move || keep_tail(pipe, &tail));
        }
        let command = std::iter::once(program).chain(arguments.iter().map(String::as_str));
        let command = command.collect::<Vec<_>>().join(" ");
        let mut connection = Connection { command, child, requests, answers, tail, timeout, stop };
        match connection.ask(&Request::Hello { oracle: ORACLE.to_owned() }, &[])? {
            (Answer::Hello { oracle, .. }, _) if oracle == ORACLE => Ok(connection),
            (Answer::Hello { oracle, .. }, _) => Err(connection
                .failed(&format!(
                    "speaks version `{}` of its messages, but the runner speaks {ORACLE}",
                    excerpt(oracle.as_bytes())
                ))
                .into()),
            _ => Err(connection.failed("did not begin with a `hello`").into()),
        }
    }

    fn ask(&mut self, request: &Request, payload: &[&[u8]]) -> Result<(Answer, Vec<u8>), NoAnswer> {
        let bytes = frame(request, payload).map_err(|cause| cause.to_string())?;
        // If the writer is gone, so is the process, which is said below.
        let _ = self.requests.send(bytes);
        let end = Instant::now() + self.timeout;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left.min(LOOK)) {
                Ok(Ok(Some(answer))) => return Ok(answer),
                Ok(Ok(None)) | Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Ok(Err(cause)) => {
                    return Err(self.failed(&format!("wrote what is no message: {cause}")).into());
                }
                Err(RecvTimeoutError::Timeout) if self.stop.asked().is_some() => {
                    self.kill();
                    return Err(NoAnswer::Stopped);
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    let message = self.failed(&format!("gave no answer within {:?}", self.timeout));
                    return Err(NoAnswer::Silent(message));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Why there is no more output: by a signal of somebody else's, or of its own accord.
    fn ended(&mut self) -> NoAnswer {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if start.elapsed() < GONE => thread::sleep(Duration::from_millis(5)),
                status => break status.ok().flatten(),
            }
        };
        match status.and_then(|status| status.signal()) {
            Some(signal) => NoAnswer::Killed(self.failed(&format!("was killed by signal {signal}"))),
            None => self.failed("ended before it answered").into(),
        }
    }

    /// Kills the process and says what was wrong with it.
    fn failed(&mut self, what: &str) -> String {
        self.kill();
        // What it wrote is in the pipe already.
        thread::sleep(Duration::from_millis(20));
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let stderr = match String::from_utf8_lossy(&tail).trim_end() {
            "" => String::new(),
            text => format!("; it wrote on its standard error: {}", excerpt(text.as_bytes())),
        };
        format!("the oracle `{}` {what}{stderr}", self.command)
    }

    fn kill(&mut self) {
        // The group may be gone already, which is as good.
        let _ = self.child.start_kill();
        let _ = self.child.wait();
        processes::ended(self.child.id());
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.kill();
    }
}

fn write_all(mut stdin: impl Write, requests: &Receiver<Vec<u8>>) {
    while let Ok(bytes) = requests.recv() {
        if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn read_all(stdout: impl Read, answers: &Sender<Incoming>) {
    let mut stdout = BufReader::with_capacity(1 << 16, stdout);
    loop {
        let answer = read(&mut stdout);
        let over = !matches!(answer, Ok(Some(_)));
        if answers.send(answer).is_err() || over {
            return;
        }
    }
}
