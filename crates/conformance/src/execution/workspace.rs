//! The files between runner and worker.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use megakernel_ir::model::{Buffer, Program};
use megakernel_ir::protocol::Launch;
use megakernel_numerics::TensorFile;

use super::session::{Prepared, Session};
use super::{Fault, outputs};
use crate::folder::{self, Folder};
use crate::run::RunError;
use crate::store::Corpus;
use crate::worker::Failure;

/// More than a header and what little else an implementation may add.
const SLACK: u64 = 1 << 20;

/// Bytes of a header for each tensor, generously.
const HEADER: u64 = 512;

/// What a worker may take of the disk beyond the limits of its files, until it has answered. Afterwards each file is read with
/// its own limit.
const WORK: u64 = 64 << 20;

/// How often a directory is made anew that a worker takes away before it was even given to it.
const ATTEMPTS: usize = 10;

/// What the system says of a directory that somebody else has renamed, removed, closed or put something into.
const MEDDLED: [ErrorKind; 4] =
    [ErrorKind::NotFound, ErrorKind::AlreadyExists, ErrorKind::PermissionDenied, ErrorKind::NotADirectory];

fn failed(cause: &dyn std::fmt::Display) -> RunError {
    RunError::Workspace(format!("{}: {cause}", std::env::temp_dir().display()))
}

/// Where the directories of a run's sessions lie. All go with this, when no worker is left that could put something back.
#[derive(Default)]
pub struct Workspaces {
    /// The last one is in use; the others are what workers moved or removed.
    outer: Mutex<Vec<Folder>>,
}

impl Workspaces {
    /// Makes a directory for a session; the inner error is of a kind that a worker can cause.
    fn folder(&self) -> std::io::Result<std::io::Result<Folder>> {
        let mut outer = self.outer.lock().unwrap_or_else(PoisonError::into_inner);
        match outer.last() {
            Some(folder) if folder.is_in_place() => Ok(folder.inner()),
            _ => {
                let folder = Folder::outer()?;
                let inner = folder.inner();
                outer.push(folder);
                Ok(inner)
            }
        }
    }
}

/// A private directory with the inputs of a session, which goes when this goes. The names of its files are the same for
/// all cases of a form.
pub struct Workspace {
    directory: Folder,
    inputs: Vec<Vec<PathBuf>>,
    /// What the inputs take on the disk.
    taken: u64,
    traces: bool,
}

impl Workspace {
    /// Copies the inputs of a session. With `traces`, the worker is to write traces too.
    ///
    /// # Errors
    /// A file of the corpus cannot be read, or one here cannot be written. The inner error is the worker's fault.
    pub fn new(
        workspaces: &Workspaces,
        corpus: &Corpus,
        session: &Session<'_>,
        traces: bool,
    ) -> Result<Result<Workspace, Failure>, RunError> {
        for _ in 0..ATTEMPTS {
            match Workspace::attempt(workspaces, corpus, session, traces)? {
                Ok(workspace) if workspace.directory.path().to_str().is_none() => {
                    return Err(failed(&"its path is not UTF-8, which the protocol needs; set TMPDIR"));
                }
                Ok(workspace) => return Ok(Ok(workspace)),
                // Some worker of the run has been at it meanwhile.
                Err(cause) if MEDDLED.contains(&cause.kind()) => {}
                Err(cause) => return Err(failed(&cause)),
            }
        }
        Ok(Err(Failure::Meddled))
    }

    fn attempt(
        workspaces: &Workspaces,
        corpus: &Corpus,
        session: &Session<'_>,
        traces: bool,
    ) -> Result<std::io::Result<Workspace>, RunError> {
        let directory = match workspaces.folder().map_err(|cause| failed(&cause))? {
            Ok(directory) => directory,
            Err(cause) => return Ok(Err(cause)),
        };
        let mut copies: BTreeMap<&str, PathBuf> = BTreeMap::new();
        let mut inputs = Vec::new();
        let mut taken = 0u64;
        for launch in &session.launches {
            let mut paths = Vec::new();
            for source in &launch.case.tensors {
                let path = match copies.get(source.as_str()) {
                    Some(path) => path.clone(),
                    None => {
                        let name = format!("input-{}.safetensors", copies.len());
                        let bytes = corpus.inputs(source).map_err(RunError::Corpus)?;
                        if let Err(cause) = directory.write(&name, &bytes) {
                            return Ok(Err(cause));
                        }
                        taken = taken.saturating_add(bytes.len() as u64).saturating_add(SLACK);
                        let path = directory.path().join(name);
                        copies.insert(source, path.clone());
                        path
                    }
                };
                paths.push(path);
            }
            inputs.push(paths);
        }
        Ok(Ok(Workspace { directory, inputs, taken, traces }))
    }

    /// The launches as the request has them.
    pub fn launches<'a>(&self, session: &Session<'a>) -> Vec<Launch<'a>> {
        let launch = |(n, (launch, inputs)): (usize, (&Prepared<'a>, &Vec<PathBuf>))| Launch {
            document: launch.document.into(),
            tensors: inputs.clone(),
            output: self.directory.path().join(output_name(n)),
            trace: self.traces.then(|| self.directory.path().join(trace_name(n))),
        };
        session.launches.iter().zip(&self.inputs).enumerate().map(launch).collect()
    }

    /// Stops a worker that would fill the disk.
    ///
    /// # Errors
    /// Its directory, with all below it, takes more than the files of `session` can.
    pub fn watch(&self, session: &Session<'_>) -> Result<(), Failure> {
        let written = session
            .launches
            .iter()
            .map(|launch| output_limit(&launch.program).saturating_add(trace_limit(&launch.program)));
        let limit = written.fold(WORK.saturating_add(self.taken), u64::saturating_add);
        match self.directory.taken() {
            Some(taken) if taken <= limit => Ok(()),
            Some(_) => Err(Failure::TooMuchWritten(limit)),
            None => Err(Failure::TooManyFiles(folder::ENTRIES)),
        }
    }

    /// Reads what the worker wrote after a launch; tensors that are not `wanted` are passed over.
    ///
    /// # Errors
    /// There is no such file, or it is far too large, or no file of tensors.
    pub fn output(&self, launch: usize, program: &Program<'_>) -> Result<TensorFile, Fault> {
        let wanted = |name: &str| program.buffers.iter().any(|buffer| *buffer.name == *name);
        let place = format!("launch {launch}: a tensor file with every IO_OUTPUT and KV_CACHE");
        read(&self.directory, &output_name(launch), output_limit(program), &wanted, &place)
    }

    /// Reads the trace of a launch in the same way.
    ///
    /// # Errors
    /// As [`Workspace::output`].
    pub fn trace(&self, launch: usize, program: &Program<'_>) -> Result<TensorFile, Fault> {
        let tasks = program.tasks.len();
        let wanted = |name: &str| name.parse().is_ok_and(|task: usize| task < tasks);
        let place = format!("launch {launch}: a tensor file with what each task wrote");
        read(&self.directory, &trace_name(launch), trace_limit(program), &wanted, &place)
    }
}

fn output_name(launch: usize) -> String {
    format!("output-{launch}.safetensors")
}

fn trace_name(launch: usize) -> String {
    format!("trace-{launch}.safetensors")
}

/// The largest file of outputs that is read.
fn output_limit(program: &Program<'_>) -> u64 {
    let sizes = program.buffers.iter().map(|buffer| size(Some(buffer)));
    sizes.fold(SLACK, u64::saturating_add)
}

/// The largest trace that is read.
fn trace_limit(program: &Program<'_>) -> u64 {
    let written = program.tasks.iter().flat_map(|task| &task.outputs);
    let buffer = |&id| usize::try_from(id).ok().and_then(|id| program.buffers.get(id));
    written.map(|id| size(buffer(id))).fold(SLACK, u64::saturating_add)
}

fn size(buffer: Option<&Buffer<'_>>) -> u64 {
    buffer.and_then(Buffer::nbytes).map_or(0, i64::unsigned_abs).saturating_add(HEADER)
}

/// Reads a file of tensors that the worker wrote, at most `limit` bytes of it.
fn read(
    folder: &Folder,
    name: &str,
    limit: u64,
    wanted: &dyn Fn(&str) -> bool,
    required: &str,
) -> Result<TensorFile, Fault> {
    let failed = |actual: String| Fault::of_file(required, actual);
    let file = folder.open(name).map_err(|cause| match cause.kind() {
        ErrorKind::NotFound => failed("no file".to_owned()),
        ErrorKind::InvalidInput => failed("something that is no plain file".to_owned()),
        _ => failed(format!("a file that cannot be read: {cause}")),
    })?;
    let mut bytes = Vec::new();
    match file.take(limit.saturating_add(1)).read_to_end(&mut bytes) {
        Err(cause) => Err(failed(format!("a file that cannot be read: {cause}"))),
        Ok(length) if length as u64 > limit => {
            Err(failed(format!("a file of more than {limit} bytes, more than all buffers together")))
        }
        Ok(_) => TensorFile::read_some(&bytes, wanted).map_err(|error| outputs::unreadable(required, &error)),
    }
}
