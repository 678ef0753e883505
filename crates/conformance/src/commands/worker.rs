//! The worker that a command judges, and the oracle of its traces.

use std::time::Duration;

use megakernel_conformance::oracle::{Oracle, ProcessOracle, TIMEOUT};
use megakernel_conformance::run;
use megakernel_conformance::stop::Stop;
use megakernel_conformance::worker::{WorkerCommand, split};

/// How to start it, and what to wait for.
#[derive(clap::Args)]
pub struct Worker {
    /// The command of the worker, split as a shell splits it; without it the reference beside this program is judged
    #[arg(long = "impl", value_name = "COMMAND")]
    implementation: Option<String>,

    /// Seconds that a worker may take for an answer
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: Duration,

    /// Seconds that a worker may take to start and to complete the handshake, whatever it has to load
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    handshake_timeout: Duration,

    /// The command of the oracle that says what each task of a trace should write (docs/oracle.md); without it the reference
    /// beside this program, and if there is none no traces are asked for
    #[arg(long, value_name = "COMMAND", conflicts_with = "no_trace")]
    oracle: Option<String>,

    /// Judge a worker that can write traces at its outputs alone, and ask for no trace
    #[arg(long)]
    pub no_trace: bool,
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

const NO_WORKER: &str =
    "no worker is named, and the reference is not beside this program; name one with --impl";

const NO_ORACLE: &str = "worker can write traces, but none were asked for: there is no oracle to judge them by; name one with \
                         --oracle, such as `megakernel-reference oracle`";

impl Worker {
    /// The command that starts it.
    ///
    /// # Errors
    /// There is none, or it cannot be split.
    pub fn command(&self) -> Result<WorkerCommand, String> {
        let (program, arguments) = match &self.implementation {
            Some(line) => split("--impl", "worker", line)?,
            None => (reference().ok_or(NO_WORKER)?, vec!["worker".to_owned()]),
        };
        Ok(WorkerCommand { program, arguments, timeout: self.timeout, handshake: self.handshake_timeout })
    }

    /// The oracle of its traces, if there is one and traces are wanted.
    ///
    /// # Errors
    /// Its command cannot be split.
    pub fn oracle(&self, stop: &Stop) -> Result<Option<ProcessOracle>, String> {
        let command = match (&self.oracle, self.no_trace) {
            (_, true) => None,
            (Some(line), _) => Some(split("--oracle", "oracle", line)?),
            (None, _) => reference().map(|path| (path, vec!["oracle".to_owned()])),
        };
        Ok(command.map(|(program, arguments)| ProcessOracle::new(program, arguments, TIMEOUT, stop.clone())))
    }

    /// Notes that traces were not asked for, where that was for want of an oracle.
    pub fn note(&self, oracle: Option<&dyn Oracle>, run: &mut run::Run<'_>) {
        if oracle.is_none() && !self.no_trace && run.hello.as_ref().is_ok_and(|hello| hello.trace) {
            run.notes.push(NO_ORACLE.to_owned());
            // In order, as a merged report has them.
            run.notes.sort();
        }
    }

    /// The options that name worker and oracle, and those of its deadlines that are not the usual ones.
    pub fn options(&self) -> [(&'static str, Option<String>); 4] {
        let seconds = |given: Duration, usual| (given != usual).then(|| given.as_secs_f64().to_string());
        [
            ("--impl", self.implementation.clone()),
            ("--oracle", self.oracle.clone()),
            ("--timeout", seconds(self.timeout, run::TIMEOUT)),
            ("--handshake-timeout", seconds(self.handshake_timeout, run::HANDSHAKE)),
        ]
    }
}

/// The reference, if it is beside this program.
pub fn reference() -> Option<String> {
    let own = std::env::current_exe().ok()?;
    let path = own.with_file_name(format!("megakernel-reference{}", std::env::consts::EXE_SUFFIX));
    if path.is_file() { path.into_os_string().into_string().ok() } else { None }
}
