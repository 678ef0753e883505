//! Sessions: launches one after the other, with the caches kept (clause CON-11).

use std::collections::BTreeMap;
use std::path::Path;

use megakernel_ir::abi::{self, Address, InstructionRecord};
use megakernel_ir::model::{Buffer, Program};
use megakernel_ir::protocol;
use megakernel_ir::tensor::{Stored, Tensor, TensorFile};
use megakernel_ir::{BufferKind, DType};

use crate::device::{Device, End, Ended, Job};
use crate::footprint;
use crate::memory::{Memory, Overrun};
use crate::plan::{Plan, plan};
use crate::stuck;

/// How programs are run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Run each task in a launch of its own, and never signal and wait.
    pub opcode_only: bool,
    /// Fill what starts undefined with ones, which are NaN in every float type, and not with zeros.
    pub poison: bool,
}

/// Why a launch has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The device does not hold it: the case is left out.
    Unsupported(String),
    /// It went wrong: the case fails.
    Failed(String),
}

type Result<T> = std::result::Result<T, Failure>;

fn failed(cause: impl std::fmt::Display) -> Failure {
    Failure::Failed(cause.to_string())
}

/// What launches leave to the next.
pub struct Session<'d> {
    device: &'d mut dyn Device,
    options: Options,
    caches: BTreeMap<String, Tensor>,
}

impl<'d> Session<'d> {
    /// A session in which nothing has run yet.
    pub fn new(device: &'d mut dyn Device, options: Options) -> Session<'d> {
        Session { device, options, caches: BTreeMap::new() }
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
        let plan = plan(&program);
        let job = job(&program, &plan, &start)?;
        let mut trace = BTreeMap::new();
        let mut run = Run { device: &mut *self.device, program: &program, plan: &plan, job: &job };
        let memory = if self.options.opcode_only {
            run.each(start, &mut trace)?
        } else {
            let memory = run.whole(start.clone())?;
            if launch.trace.is_some() {
                run.each(start, &mut trace)?;
            }
            memory
        };
        let mut outputs = BTreeMap::new();
        for (id, buffer) in program.buffers.iter().enumerate() {
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
        for (id, buffer) in program.buffers.iter().enumerate() {
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
            match files.iter().find(|file| file.tensors.contains_key(name)) {
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
fn job(program: &Program<'_>, plan: &Plan, memory: &Memory) -> Result<Job> {
    let buffers = program.buffers.iter().map(|buffer| abi::buffer(buffer, Address::default()));
    let instructions = program.tasks.iter().zip(&plan.sm).map(|(task, sm)| abi::instruction(task, *sm));
    let shared = program.config.as_ref().map_or(0, |config| config.smem_bytes_per_block);
    Ok(Job {
        buffers: buffers.collect::<std::result::Result<_, _>>().map_err(failed)?,
        allocation: memory.allocation_of(),
        instructions: instructions.collect::<std::result::Result<_, _>>().map_err(failed)?,
        n_counters: program.counters.len(),
        num_sms: plan.num_sms,
        shared_bytes: u64::try_from(shared).unwrap_or(0),
    })
}

/// A program on a device.
struct Run<'a, 'p> {
    device: &'a mut dyn Device,
    program: &'a Program<'p>,
    plan: &'a Plan,
    job: &'a Job,
}

impl Run<'_, '_> {
    /// All of it in one launch.
    fn whole(&mut self, start: Memory) -> Result<Memory> {
        let mut memory = start.clone();
        let ended = self.device.launch(self.job, &mut memory.allocations).map_err(Failure::Failed)?;
        let problem = match self.ended(&ended) {
            Err(failure @ Failure::Unsupported(_)) => return Err(failure),
            Err(Failure::Failed(message)) if !matches!(ended.end, End::Crashed(_)) => {
                return Err(Failure::Failed(message));
            }
            Err(Failure::Failed(message)) => message,
            Ok(()) => match self.trespass(&start, &memory) {
                Some(message) => message,
                None => return Ok(memory),
            },
        };
        // One by one, the task shows that did it, unless it takes several to go wrong.
        match self.each(start, &mut BTreeMap::new()) {
            Err(Failure::Failed(message)) => Err(Failure::Failed(message)),
            _ => Err(Failure::Failed(format!("{problem}; no task does so in a launch of its own"))),
        }
    }

    /// Each task in a launch of its own, in an order that the waits allow.
    fn each(&mut self, start: Memory, trace: &mut BTreeMap<String, Stored>) -> Result<Memory> {
        if self.plan.order.len() < self.program.tasks.len() {
            let stuck = self.program.tasks.len() - self.plan.order.len();
            return Err(failed(format_args!("deadlock: {stuck} tasks can never start")));
        }
        let mut memory = start;
        for &task in &self.plan.order {
            let (Some(record), Some(instruction)) =
                (self.program.tasks.get(task), self.job.instructions.get(task))
            else {
                continue;
            };
            let instruction = InstructionRecord { n_waits: 0, sm: 0, ..*instruction };
            let job = Job { instructions: vec![instruction], num_sms: 1, ..self.job.clone() };
            let before = memory.clone();
            let ended = self.device.launch(&job, &mut memory.allocations).map_err(Failure::Failed)?;
            let about =
                |message: String| Failure::Failed(format!("{}: {message}", stuck::name(self.program, task)));
            self.ended(&ended).map_err(|failure| match failure {
                Failure::Failed(message) => about(message),
                unsupported => unsupported,
            })?;
            // Outside its footprint, everything has to be as it was.
            let written = footprint::written(self.program, record);
            let mut expected = before;
            if let Some((region, buffer)) =
                written.as_ref().and_then(|region| Some((region, self.program.buffers.get(region.buffer)?)))
            {
                let (mut bytes, found) =
                    (expected.buffer(region.buffer).to_vec(), memory.buffer(region.buffer));
                for span in region.spans(buffer) {
                    if let (Some(to), Some(from)) = (bytes.get_mut(span.clone()), found.get(span)) {
                        to.copy_from_slice(from);
                    }
                }
                expected.set(region.buffer, &bytes);
                let tensor = region.tensor(buffer, memory.buffer(region.buffer)).map_err(failed)?;
                trace.insert(task.to_string(), Stored::Buffer(tensor));
            }
            if let Some(overrun) = memory.overruns().first() {
                return Err(about(self.outside(overrun)));
            }
            if let Some(id) =
                (0..self.program.buffers.len()).find(|id| memory.buffer(*id) != expected.buffer(*id))
            {
                return Err(about(format!("writes to {}, outside its footprint", self.buffer(id))));
            }
        }
        Ok(memory)
    }

    /// What the end of a launch means.
    fn ended(&self, ended: &Ended) -> Result<()> {
        let stuck = || stuck::describe(self.program, &ended.tasks);
        Err(match &ended.end {
            End::Done => return Ok(()),
            End::Stuck => failed(format_args!("TIMEOUT: no task can go on: {}", stuck())),
            End::TimedOut => failed(format_args!("TIMEOUT: the launch did not end in time: {}", stuck())),
            End::NoOpcode => failed("the kernels lack an opcode of the program, and aborted"),
            End::Divergent => {
                failed(format_args!("threads of one block wait at different barriers: {}", stuck()))
            }
            End::Crashed(said) => failed(format_args!("the kernels crashed: {said}: {}", stuck())),
            End::Refused => Failure::Unsupported(format!(
                "{} cannot hold the launch: {} blocks with {} bytes of shared memory",
                self.device.name(),
                self.job.num_sms,
                self.job.shared_bytes
            )),
        })
    }

    /// What a launch wrote that no launch may write.
    fn trespass(&self, start: &Memory, memory: &Memory) -> Option<String> {
        if let Some(overrun) = memory.overruns().first() {
            let writers = self.program.tasks.iter().enumerate().filter(|(_, task)| {
                let ids = task.outputs.iter().filter_map(|id| usize::try_from(*id).ok());
                ids.into_iter().any(|id| overrun.buffers.contains(&id))
            });
            let writers: Vec<String> = writers.map(|(task, _)| stuck::name(self.program, task)).collect();
            let writers = if writers.is_empty() { "no task".to_owned() } else { writers.join(", ") };
            return Some(format!("something {}, which is written by {writers}", self.outside(overrun)));
        }
        let changed = self
            .program
            .buffers
            .iter()
            .enumerate()
            .find(|(id, buffer)| buffer.kind.is_read_only() && start.buffer(*id) != memory.buffer(*id));
        changed.map(|(id, _)| format!("something writes to {}, which is read-only", self.buffer(id)))
    }

    fn outside(&self, overrun: &Overrun) -> String {
        let buffers: Vec<String> = overrun.buffers.iter().map(|id| self.buffer(*id)).collect();
        let buffers =
            if buffers.is_empty() { "a page without buffers".to_owned() } else { buffers.join(" and ") };
        match overrun.place {
            Ok(after) => format!("writes outside its buffers: byte {after} after the end of {buffers}"),
            Err(before) => format!("writes outside its buffers: {before} bytes before {buffers}"),
        }
    }

    fn buffer(&self, id: usize) -> String {
        self.program
            .buffers
            .get(id)
            .map_or_else(|| format!("buffer {id}"), |buffer| format!("buffer {id} `{}`", buffer.name))
    }
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
