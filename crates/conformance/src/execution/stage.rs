//! The files between runner and worker.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use megakernel_ir::model::{Buffer, Program};
use megakernel_ir::protocol::Launch;
use megakernel_numerics::TensorFile;
use tempfile::TempDir;

use super::session::{Prepared, Session};
use super::{Fault, outputs};
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

/// A private directory with the inputs of a session, which goes when this goes. The names of its files are the same for
/// all cases of a form.
pub struct Stage {
    directory: TempDir,
    inputs: Vec<Vec<PathBuf>>,
    traces: bool,
}

impl Stage {
    /// Copies the inputs of a session. With `traces`, the worker is to write traces too.
    ///
    /// # Errors
    /// A file of the corpus cannot be read, or one here cannot be written.
    pub fn new(corpus: &Corpus, session: &Session<'_>, traces: bool) -> Result<Stage, RunError> {
        let failed = |cause: &dyn std::fmt::Display| {
            RunError::Stage(format!("{}: {cause}", std::env::temp_dir().display()))
        };
        let directory = TempDir::new().map_err(|cause| failed(&cause))?;
        if directory.path().to_str().is_none() {
            return Err(failed(&"its path is not UTF-8, which the protocol needs; set TMPDIR"));
        }
        let mut copies: BTreeMap<&str, PathBuf> = BTreeMap::new();
        let mut inputs = Vec::new();
        for launch in &session.launches {
            let mut paths = Vec::new();
            for source in &launch.case.tensors {
                let path = match copies.get(source.as_str()) {
                    Some(path) => path.clone(),
                    None => {
                        let path = directory.path().join(format!("input-{}.safetensors", copies.len()));
                        let bytes = corpus.file(source).map_err(RunError::Corpus)?;
                        std::fs::write(&path, bytes).map_err(|cause| failed(&cause))?;
                        copies.insert(source, path.clone());
                        path
                    }
                };
                paths.push(path);
            }
            inputs.push(paths);
        }
        Ok(Stage { directory, inputs, traces })
    }

    /// The launches as the request has them.
    pub fn launches<'a>(&self, session: &Session<'a>) -> Vec<Launch<'a>> {
        let launch = |(n, (launch, inputs)): (usize, (&Prepared<'a>, &Vec<PathBuf>))| Launch {
            document: launch.document.into(),
            tensors: inputs.clone(),
            output: self.output_path(n),
            trace: self.traces.then(|| self.trace_path(n)),
        };
        session.launches.iter().zip(&self.inputs).enumerate().map(launch).collect()
    }

    /// Stops a worker that would fill the disk.
    ///
    /// # Errors
    /// Its directory takes more than the files of `session` can.
    pub fn watch(&self, session: &Session<'_>) -> Result<(), Failure> {
        let files = session.launches.iter().zip(&self.inputs).map(|(launch, inputs)| {
            let inputs = inputs.iter().map(|path| std::fs::metadata(path).map_or(0, |found| taken(&found)));
            let written = output_limit(&launch.program).saturating_add(trace_limit(&launch.program));
            inputs.fold(written, u64::saturating_add)
        });
        let limit = files.fold(WORK, u64::saturating_add);
        let Ok(entries) = std::fs::read_dir(self.directory.path()) else { return Ok(()) };
        let sizes = entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|found| taken(&found));
        if sizes.fold(0, u64::saturating_add) > limit { Err(Failure::TooMuchWritten(limit)) } else { Ok(()) }
    }

    /// Reads what the worker wrote after a launch; tensors that are not `wanted` are passed over.
    ///
    /// # Errors
    /// There is no such file, or it is far too large, or no file of tensors.
    pub fn output(&self, launch: usize, program: &Program<'_>) -> Result<TensorFile, Fault> {
        let wanted = |name: &str| program.buffers.iter().any(|buffer| *buffer.name == *name);
        let place = format!("launch {launch}: a tensor file with every IO_OUTPUT and KV_CACHE");
        read(&self.output_path(launch), output_limit(program), &wanted, &place)
    }

    /// Reads the trace of a launch in the same way.
    ///
    /// # Errors
    /// As [`Stage::output`].
    pub fn trace(&self, launch: usize, program: &Program<'_>) -> Result<TensorFile, Fault> {
        let tasks = program.tasks.len();
        let wanted = |name: &str| name.parse().is_ok_and(|task: usize| task < tasks);
        let place = format!("launch {launch}: a tensor file with what each task wrote");
        read(&self.trace_path(launch), trace_limit(program), &wanted, &place)
    }

    fn output_path(&self, launch: usize) -> PathBuf {
        self.directory.path().join(format!("output-{launch}.safetensors"))
    }

    fn trace_path(&self, launch: usize) -> PathBuf {
        self.directory.path().join(format!("trace-{launch}.safetensors"))
    }
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

/// The bytes that a file takes on the disk: a file with holes takes less than its length.
fn taken(found: &Metadata) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::blocks(found).saturating_mul(512);
    #[cfg(not(unix))]
    return found.len();
}

/// Reads a file of tensors that the worker wrote, at most `limit` bytes of it.
fn read(path: &Path, limit: u64, wanted: &dyn Fn(&str) -> bool, required: &str) -> Result<TensorFile, Fault> {
    let failed = |actual: String| Fault::of_file(required, actual);
    // Looked at before it is opened: a pipe would block, and a link could lead to a device that never ends.
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(failed("something that is no plain file".to_owned())),
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Err(failed("no file".to_owned())),
        Err(cause) => return Err(failed(format!("a file that cannot be read: {cause}"))),
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit.saturating_add(1)).read_to_end(&mut bytes));
    match read {
        Err(cause) => Err(failed(format!("a file that cannot be read: {cause}"))),
        Ok(length) if length as u64 > limit => {
            Err(failed(format!("a file of more than {limit} bytes, more than all buffers together")))
        }
        Ok(_) => TensorFile::read_some(&bytes, wanted).map_err(|error| outputs::unreadable(required, &error)),
    }
}
