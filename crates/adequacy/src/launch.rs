//! Sessions: programs executed one after the other, with the caches kept.

use std::collections::BTreeMap;

use megakernel_ir::model::Program;
use megakernel_ir::{BufferKind, DType};
use megakernel_numerics::Tensor;

use crate::kernels::Kernels;
use crate::memory::{Broken, Buffer, Result, Writer};
use crate::opcodes::{self, Task};
use crate::schedule::{self, Plan};

/// A program of a session with what the host binds, ready to be executed by any implementation.
pub struct Launch<'a> {
    program: Program<'a>,
    plan: Plan,
    /// Bound contents, by buffer.
    bound: Vec<Option<Buffer>>,
}

impl<'a> Launch<'a> {
    /// Reads a document, and binds `tensors` to its buffers (clause CON-11): WEIGHT and CONST by `source`, else by
    /// `name`; IO_INPUT and KV_CACHE by `name`.
    ///
    /// # Errors
    /// The document is none, a tensor is missing or does not fit, or an id is dangling.
    pub fn new(document: &'a [u8], tensors: &BTreeMap<String, Tensor>) -> Result<Launch<'a>> {
        let program = megakernel_ir::read(document).map_err(|diagnostics| {
            let texts: Vec<String> =
                diagnostics.iter().map(|diagnostic| diagnostic.message.clone()).collect();
            Broken(format!("document cannot be read: {}", texts.join("; ")))
        })?;
        let plan = Plan::new(&program)?;
        let mut bound = Vec::with_capacity(program.buffers.len());
        for buffer in &program.buffers {
            let key: &str = match (buffer.kind, &buffer.source) {
                (BufferKind::Weight | BufferKind::Const, Some(source)) => source,
                _ => &buffer.name,
            };
            let tensor = match buffer.kind {
                BufferKind::Activation | BufferKind::IoOutput => None,
                BufferKind::KvCache => tensors.get(key),
                BufferKind::Weight | BufferKind::Const | BufferKind::IoInput => Some(
                    tensors
                        .get(key)
                        .ok_or_else(|| Broken(format!("no tensor is given for buffer `{key}`")))?,
                ),
            };
            let contents = tensor.map(|tensor| fitting(buffer, tensor)).transpose()?;
            bound.push(contents);
        }
        Ok(Launch { program, plan, bound })
    }

    /// The program.
    pub fn program(&self) -> &Program<'a> {
        &self.program
    }
}

fn fitting(buffer: &megakernel_ir::model::Buffer<'_>, tensor: &Tensor) -> Result<Buffer> {
    // I4 travels as bytes.
    let fits = tensor.dtype == buffer.dtype || (buffer.dtype == DType::I4 && tensor.dtype == DType::U8);
    if !fits {
        return Err(Broken(format!(
            "tensor for buffer `{}` is {}, required {}",
            buffer.name, tensor.dtype, buffer.dtype
        )));
    }
    Buffer::from_tensor(buffer.dtype, shape(buffer)?, tensor)
        .map_err(|cause| Broken(format!("buffer `{}`: {cause}", buffer.name)))
}

/// More elements than any case has: a fault in a document must not exhaust the memory.
const MOST_ELEMENTS: u64 = 1 << 31;

fn shape(buffer: &megakernel_ir::model::Buffer<'_>) -> Result<Vec<usize>> {
    let small = buffer.numel().is_some_and(|numel| numel <= MOST_ELEMENTS);
    let extents: Option<Vec<usize>> =
        buffer.shape.iter().map(|&extent| usize::try_from(extent).ok()).collect();
    match extents {
        Some(extents) if small => Ok(extents),
        _ => Err(Broken(format!("buffer `{}` has no usable shape", buffer.name))),
    }
}

/// What the host reads after a launch: every IO_OUTPUT and KV_CACHE, by name.
pub type Outputs = BTreeMap<String, Tensor>;

/// Executes the launches of a session in order.
///
/// # Errors
/// A program breaks a rule, so that it cannot be executed.
pub fn session(kernels: &dyn Kernels, launches: &[Launch<'_>]) -> Result<Vec<Outputs>> {
    let mut caches: BTreeMap<String, Buffer> = BTreeMap::new();
    let mut counts: Vec<u64> = Vec::new();
    let mut outputs = Vec::with_capacity(launches.len());
    for launch in launches {
        if kernels.resets_counters() {
            counts.clear();
        }
        counts.resize(launch.program.counters.len(), 0);
        if !kernels.keeps_caches() {
            caches.clear();
        }
        let mut memory = memory(launch, &mut caches)?;
        run(kernels, launch, &mut memory, &mut counts)?;
        let mut read = Outputs::new();
        for (buffer, contents) in launch.program.buffers.iter().zip(memory) {
            if matches!(buffer.kind, BufferKind::IoOutput | BufferKind::KvCache) {
                read.insert(buffer.name.to_string(), contents.to_tensor());
            }
            if buffer.kind == BufferKind::KvCache {
                caches.insert(buffer.name.to_string(), contents);
            }
        }
        outputs.push(read);
    }
    Ok(outputs)
}

/// The buffers of a launch at its start (clause EXE-08).
fn memory(launch: &Launch<'_>, caches: &mut BTreeMap<String, Buffer>) -> Result<Vec<Buffer>> {
    let mut memory = Vec::with_capacity(launch.bound.len());
    for (buffer, bound) in launch.program.buffers.iter().zip(&launch.bound) {
        let kept = if buffer.kind == BufferKind::KvCache { caches.remove(&*buffer.name) } else { None };
        let shape = shape(buffer)?;
        memory.push(match (kept, bound) {
            (Some(kept), _) if kept.dtype == buffer.dtype && kept.shape == shape => kept,
            (Some(_), _) => {
                return Err(Broken(format!("cache `{}` changes its shape between launches", buffer.name)));
            }
            (None, Some(bound)) => bound.clone(),
            (None, None) => Buffer::zeros(buffer.dtype, shape),
        });
    }
    Ok(memory)
}

/// Runs every task of a launch.
fn run(kernels: &dyn Kernels, launch: &Launch<'_>, memory: &mut [Buffer], counts: &mut [u64]) -> Result<()> {
    let mut state = schedule::State::new(&launch.plan);
    // Tasks that have counted as finished, with writes that nobody sees yet.
    let mut late: Vec<(usize, Writer<'_>)> = Vec::new();
    loop {
        let Some(task) = state.next(kernels, &launch.program, &launch.plan, counts) else {
            if late.is_empty() {
                break;
            }
            for (output, writer) in late.drain(..) {
                settle(memory, output, writer);
            }
            continue;
        };
        let written = compute(kernels, &launch.program, task, memory)
            .map_err(|Broken(cause)| Broken(format!("task {task}: {cause}")))?;
        match written {
            Some((output, writer)) if kernels.writes_first() => settle(memory, output, writer),
            Some(written) => late.push(written),
            None => {}
        }
        state.finish(task, &launch.plan, counts);
    }
    match state.unfinished() {
        None => Ok(()),
        Some(task) => Err(Broken(format!("deadlock: task {task} can never start"))),
    }
}

fn settle(memory: &mut [Buffer], output: usize, writer: Writer<'_>) {
    if let Some(buffer) = memory.get_mut(output) {
        writer.finish(buffer);
    }
}

/// What a task writes, and into which buffer; nothing for NOP.
fn compute<'k>(
    kernels: &'k dyn Kernels,
    program: &Program<'_>,
    task: usize,
    memory: &[Buffer],
) -> Result<Option<(usize, Writer<'k>)>> {
    let Some(record) = program.tasks.get(task) else { return Ok(None) };
    let buffer = |id: &i64| -> Result<&Buffer> {
        let found = usize::try_from(*id).ok().and_then(|id| memory.get(id));
        found.ok_or_else(|| Broken(format!("there is no buffer {id}")))
    };
    let Some(id) = record.outputs.first() else { return Ok(None) };
    let output = buffer(id)?;
    let inputs = record.inputs.iter().map(|id| buffer(id).cloned()).collect::<Result<Vec<Buffer>>>()?;
    let (dtype, shape) = (output.dtype, output.shape.clone());
    let mut writer = Writer::new(kernels, record.op, dtype);
    let mut task = Task { op: record.op, params: &record.params, inputs, dtype, shape };
    opcodes::execute(kernels, &mut task, &mut writer)?;
    Ok(usize::try_from(*id).ok().map(|id| (id, writer)))
}
