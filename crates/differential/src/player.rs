//! Plays samples to the implementation as the runner plays cases.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use megakernel_conformance::run::{self, Outcome};
use megakernel_conformance::stop::Stop;
use megakernel_conformance::store::Corpus;
use megakernel_conformance::worker::{StartError, WorkerCommand, WorkerProcess};
use megakernel_ir::protocol::Hello;

use crate::sample::Declared;

/// An implementation: what starts it, and what it says of itself.
pub struct Player {
    options: run::Options,
    hello: Hello,
}

impl Player {
    /// Starts the implementation once, to hear what it claims.
    ///
    /// # Errors
    /// It does not start, or does not complete the handshake.
    pub fn new(command: WorkerCommand, jobs: NonZeroUsize, stop: Stop) -> Result<Player, String> {
        let hello = match WorkerProcess::start(&command, &stop) {
            Ok((worker, hello)) => {
                worker.finish();
                hello
            }
            Err(StartError::Spawn(cause)) => {
                return Err(format!("the worker cannot be started: `{}`: {cause}", command.program));
            }
            Err(StartError::Handshake { failure, stderr }) => {
                return Err(format!("the worker did not complete the handshake: {failure}\n{stderr}"));
            }
        };
        Ok(Player { options: run::Options { jobs, stop, ..run::Options::new(command) }, hello })
    }

    /// What the implementation says of itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// What may end everything before its time.
    pub fn stop(&self) -> &Stop {
        &self.options.stop
    }

    /// How many samples are played, or drawn, at once.
    pub fn jobs(&self) -> NonZeroUsize {
        self.options.jobs
    }

    /// Whether cases may ask for warnings: who lists its rules is asked for none that it may lack.
    pub fn warns(&self) -> bool {
        self.hello.rules.is_none()
    }

    /// Plays samples, and says how each ended, in their order.
    ///
    /// # Errors
    /// The files of the cases cannot be written, or the worker cannot be started.
    pub fn play(&self, samples: &[Declared]) -> Result<Vec<Outcome>, String> {
        if samples.is_empty() {
            return Ok(Vec::new());
        }
        let folder = tempfile::tempdir().map_err(|cause| format!("no folder can be made: {cause}"))?;
        let width = samples.len().to_string().len();
        for (index, sample) in samples.iter().enumerate() {
            // In order of id as they are in order here.
            let (case, files) = sample.case(&format!("fuzz/{index:0width$}"), "drawn", None, self.warns())?;
            let case = serde_json::to_vec(&case).map_err(|cause| cause.to_string())?;
            let files = files.into_iter().chain([(format!("cases/fuzz/{index:0width$}.json"), case)]);
            files.into_iter().try_for_each(|(path, bytes)| write(folder.path(), &path, &bytes))?;
        }
        let corpus = Corpus::load(folder.path()).map_err(|cause| cause.to_string())?;
        let run = run::run(&corpus, &self.options, None, &|_| {}).map_err(|cause| cause.to_string())?;
        if let Err(none) = &run.hello
            && self.stop().asked().is_none()
        {
            return Err(format!("the worker did not complete the handshake: {}", none.failure));
        }
        Ok(run.results.into_iter().map(|(_, outcome)| outcome).collect())
    }
}

/// Writes a file below a folder.
///
/// # Errors
/// It cannot be written.
pub fn write(folder: &Path, path: &str, bytes: &[u8]) -> Result<(), String> {
    let path = folder.join(path);
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, bytes));
    written.map_err(|cause| format!("{}: {cause}", path.display()))
}
