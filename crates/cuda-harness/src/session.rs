//! Sessions: launches one after the other, with the caches kept (clause CON-11).

use std::collections::BTreeMap;
use std::path::Path;

use megakernel_abi::{self as abi, Address};
use megakernel_ir::model::{Buffer, Program};
use megakernel_ir::protocol;
use megakernel_ir::{BufferKind, DType};
use megakernel_numerics::{Stored, Tensor, TensorFile};

use crate::device::{Device, Job};
use crate::memory::Memory;
use crate::plan::Plan;
use crate::repeat::Repeat;
use crate::run::Run;

/// How programs are run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Run each task in a launch of its own, and never signal and wait.
    pub opcode_only: bool,
    /// Fill what starts undefined with ones, which are NaN in every float type, and not with zeros.
    pub poison: bool,
    /// Other than 0: placement, turns and delays are drawn by it.
    pub seed: u64,
    /// How often each launch is run, each time placed anew; 0 is once.
    pub repeat: u64,
    /// Delay tasks at random.
    pub perturb: bool,
}

/// Why a launch has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The device does not hold it: the case is left out.
    Unsupported(String),
    /// It went wrong: the case fails.
    Failed(String),
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

pub(crate) fn failed(cause: impl std::fmt::Display) -> Failure {
    Failure::Failed(cause.to_string())
}

/// What launches leave to the next.
pub struct Session<'d> {
    device: &'d mut dyn Device,
    options: Options,
    caches: BTreeMap<String, Tensor>,
    is_first: bool,
}

impl<'d> Session<'d> {
    /// A session in which nothing has run yet.
    pub fn new(device: &'d mut dyn Device, options: Options) -> Session<'d> {
        Session { device, options, caches: BTreeMap::new(), is_first: true }
    }

    /// Runs a launch, and writes its files.
    ///
    /// # Errors
    /// It is too large, cannot be read, does not end, or does something that it must not.
    pub fn launch(&mut self, launch: &protocol::Launch<'_>) -> Result<()> {
        let program = megakernel_ir::read(launch.document.as_bytes()).map_err(|diagnostics| {
            let messages: Vec<&str> = diagnostics.iter().map(|found| found.message.as_str()).collect();
            failed(format_args!("the document cannot be read: {}", messages.join("; ")))
        })?;
        let start = self.memory(&program, &launch.tensors)?;
        self.is_first = false;
        let times = Repeat { program: &program, start: &start, options: self.options };
        let (plan, job) = times.first(self.device)?;
        let mut trace = BTreeMap::new();
        let mut run = Run { device: &mut *self.device, program: &program, plan: &plan, job: &job };
        let memory = if self.options.opcode_only {
            run.steps(start.clone(), true, &mut trace)?
        } else {
            let memory = run.whole(&start)?;
            if launch.trace.is_some() {
                run.steps(start.clone(), false, &mut trace)?;
            }
            times.others(self.device, &plan, &memory)?;
            memory
        };
        let mut outputs = BTreeMap::new();
        for (id, buffer) in program.buffers_by_id() {
            if !matches!(buffer.kind, BufferKind::KvCache | BufferKind::IoOutput) {
                continue;
            }
            let tensor = tensor(buffer, memory.buffer(id))?;
            if buffer.kind == BufferKind::KvCache {
                self.caches.insert(buffer.name.to_string(), tensor.clone());
            }
            if outputs.insert(buffer.name.to_string(), Stored::Buffer(tensor)).is_some() {
                return Err(failed(format_args!("two outputs are called `{}`", buffer.name)));
            }
        }
        write(&launch.output, outputs)?;
        launch.trace.as_ref().map_or(Ok(()), |path| write(path, trace))
    }

    /// Memory as it is before the launch (clause EXE-08).
    fn memory(&self, program: &Program<'_>, files: &[std::path::PathBuf]) -> Result<Memory> {
        let fill = if self.options.poison { 0xff } else { 0 };
        let mut memory = Memory::new(program, fill).map_err(Failure::Unsupported)?;
        let files: Vec<TensorFile> = files.iter().map(|path| read(path)).collect::<Result<_>>()?;
        for (id, buffer) in program.buffers_by_id() {
            let name: &str = match buffer.kind {
                BufferKind::Activation | BufferKind::IoOutput => continue,
                BufferKind::Weight | BufferKind::Const => buffer.source.as_ref().unwrap_or(&buffer.name),
                BufferKind::IoInput | BufferKind::KvCache => &buffer.name,
            };
            let shape = shape(buffer);
            let kept = if buffer.kind == BufferKind::KvCache { self.caches.get(name) } else { None };
            if let Some(kept) = kept {
                if (kept.dtype, &kept.shape) != (buffer.dtype, &shape) {
                    return Err(failed(format_args!("cache `{name}` is not the one of the launch before")));
                }
                memory.set(id, &kept.bytes);
                continue;
            }
            let binds = buffer.kind != BufferKind::KvCache || self.is_first;
            match files.iter().find(|file| binds && file.tensors.contains_key(name)) {
                Some(file) => memory.set(id, &file.buffer(name, buffer.dtype, &shape).map_err(failed)?.bytes),
                None if buffer.kind == BufferKind::KvCache => {
                    memory.set(id, &vec![0; memory.buffer(id).len()]);
                }
                None => return Err(failed(format_args!("no tensor is given for buffer {id} `{name}`"))),
            }
        }
        Ok(memory)
    }
}

/// The records of a program, all its tasks in queues.
pub(crate) fn job(program: &Program<'_>, plan: &Plan, memory: &Memory) -> Result<Job> {
    let buffers = program.buffers.iter().map(|buffer| abi::buffer(buffer, Address::default()));
    let instructions = program.tasks.iter().zip(&plan.sm).map(|(task, sm)| abi::instruction(task, *sm));
    let shared = program.config.as_ref().map_or(0, |config| config.smem_bytes_per_block);
    let threads = program.config.as_ref().map(|config| u32::try_from(config.threads_per_block).unwrap_or(0));
    Ok(Job {
        buffers: buffers.collect::<std::result::Result<_, _>>().map_err(failed)?,
        allocation: memory.allocation_of(),
        instructions: instructions.collect::<std::result::Result<_, _>>().map_err(failed)?,
        n_counters: program.counters.len(),
        num_sms: plan.num_sms,
        shared_bytes: u64::try_from(shared).unwrap_or(0),
        threads,
        seed: 0,
        perturb: false,
    })
}

fn shape(buffer: &Buffer<'_>) -> Vec<u64> {
    buffer.shape.iter().map(|extent| u64::try_from(*extent).unwrap_or(0)).collect()
}

fn tensor(buffer: &Buffer<'_>, contents: &[u8]) -> Result<Tensor> {
    let mut bytes = contents.to_vec();
    // The nibble behind an odd number of I4 is 0 in a file.
    let odd = buffer.numel().is_some_and(|numel| !numel.is_multiple_of(2));
    if let (DType::I4, true, Some(last)) = (buffer.dtype, odd, bytes.last_mut()) {
        *last &= 0x0f;
    }
    Tensor::new(buffer.dtype, shape(buffer), bytes).map_err(failed)
}

fn read(path: &Path) -> Result<TensorFile> {
    let about = |cause: &dyn std::fmt::Display| failed(format_args!("{}: {cause}", path.display()));
    let bytes = std::fs::read(path).map_err(|cause| about(&cause))?;
    TensorFile::read(&bytes).map_err(|cause| about(&cause))
}

fn write(path: &Path, tensors: BTreeMap<String, Stored>) -> Result<()> {
    let about = |cause: &dyn std::fmt::Display| failed(format_args!("{}: {cause}", path.display()));
    let bytes = TensorFile { tensors }.to_bytes().map_err(|cause| about(&cause))?;
    std::fs::write(path, bytes).map_err(|cause| about(&cause))
}
