//! Sessions: programs executed one after the other, with the caches kept.

use std::collections::BTreeMap;

use megakernel_ir::model::Program;
use megakernel_ir::{BufferKind, DType, MemSpace};
use megakernel_numerics::Tensor;

use crate::kernels::Kernels;
use crate::memory::{Broken, Buffer, Result, Writer};
use crate::opcodes::{self, Task};
use crate::parts::{Binding, Given, Unwritten};
use crate::schedule::{self, Plan};

/// A program of a session with what the host binds, ready to be executed by any implementation.
pub struct Launch<'a> {
    program: Program<'a>,
    plan: Plan,
    /// What the host has for it.
    tensors: BTreeMap<String, Tensor>,
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
        let bound = bind(Binding::Right, &program, tensors, tensors)?;
        Ok(Launch { program, plan, tensors: tensors.clone(), bound })
    }

    /// The program.
    pub fn program(&self) -> &Program<'a> {
        &self.program
    }
}

/// What the host binds to each buffer, from the files of the first launch and of this one.
fn bind(
    binding: Binding,
    program: &Program<'_>,
    first: &BTreeMap<String, Tensor>,
    tensors: &BTreeMap<String, Tensor>,
) -> Result<Vec<Option<Buffer>>> {
    let mut taken: Vec<&str> = Vec::new();
    let mut bound = Vec::with_capacity(program.buffers.len());
    for (id, buffer) in program.buffers.iter().enumerate() {
        let no_source =
            binding == Binding::EmptySourceByName && buffer.source.as_ref().is_some_and(|s| s.is_empty());
        let by_name = match buffer.kind {
            _ if no_source => true,
            BufferKind::Weight => binding == Binding::ByName,
            BufferKind::Const => matches!(binding, Binding::ByName | Binding::ConstByName),
            _ => binding != Binding::AllBySource,
        };
        let key: &str = buffer.source.as_ref().filter(|_| !by_name).unwrap_or(&buffer.name);
        let from = match (binding, buffer.kind) {
            (Binding::FirstOperand(operands), _) if is_operand(program, id, operands) => first,
            (Binding::FirstWeights, BufferKind::Weight | BufferKind::Const) => first,
            (Binding::FirstInputs, BufferKind::IoInput) => first,
            _ => tensors,
        };
        let tensor = match buffer.kind {
            BufferKind::Activation | BufferKind::IoOutput => None,
            BufferKind::KvCache => alike(binding, from, key),
            BufferKind::Weight | BufferKind::Const | BufferKind::IoInput => Some(
                alike(binding, from, key)
                    .or(tensors.get(key))
                    .ok_or_else(|| Broken(format!("no tensor is given for buffer `{key}`")))?,
            ),
        };
        let again = binding == Binding::Once && tensor.is_some() && taken.contains(&key);
        taken.push(key);
        bound.push(match tensor {
            Some(_) if again => Some(Buffer::zeros(buffer.dtype, shape(buffer)?)),
            tensor => tensor.map(|tensor| fitting(buffer, tensor)).transpose()?,
        });
    }
    Ok(bound)
}

/// The first bytes of a name, so many.
fn cut(name: &str, bytes: usize) -> &[u8] {
    name.as_bytes().get(..bytes).unwrap_or(name.as_bytes())
}

/// The tensor of this name, or the first whose name is alike.
fn alike<'t>(binding: Binding, tensors: &'t BTreeMap<String, Tensor>, key: &str) -> Option<&'t Tensor> {
    let Binding::Cut(bytes) = binding else { return tensors.get(key) };
    tensors.iter().find(|(name, _)| cut(name, bytes) == cut(key, bytes)).map(|(_, tensor)| tensor)
}

/// Whether a buffer is one of these operands of a task.
fn is_operand(program: &Program<'_>, id: usize, operands: &[(megakernel_ir::Opcode, usize)]) -> bool {
    program.tasks.iter().any(|task| {
        let at = |index: usize| task.inputs.get(index).and_then(|&id| usize::try_from(id).ok());
        operands.iter().any(|&(op, index)| op == task.op && at(index) == Some(id))
    })
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
    let binding = kernels.binding();
    let mut caches: BTreeMap<String, Buffer> = BTreeMap::new();
    let mut counts: Vec<u64> = Vec::new();
    let mut outputs = Vec::with_capacity(launches.len());
    let mut last: Vec<Buffer> = Vec::new();
    let Some(first) = launches.first() else { return Ok(outputs) };
    for (n, given) in launches.iter().enumerate() {
        let launch = if binding == Binding::FirstProgram { first } else { given };
        let rebound = match binding {
            Binding::Right => None,
            _ => Some(bind(binding, &launch.program, &first.tensors, &given.tensors)?),
        };
        let merged = (binding == Binding::OneForAName).then(|| one_for_a_name(&launch.program));
        let program = merged.as_ref().unwrap_or(&launch.program);
        if kernels.resets_counters() {
            counts.clear();
        }
        counts.resize(program.counters.len(), 0);
        if !kernels.keeps_caches() || matches!(binding, Binding::CachesFrom(from) if n >= from) {
            caches.clear();
        }
        let bound = rebound.as_ref().unwrap_or(&launch.bound);
        let mut memory = memory(kernels, program, bound, n == 0, &mut caches, &last)?;
        if binding == Binding::UnlistedDropped {
            caches.clear();
        }
        run(kernels, program, &launch.plan, &mut memory, &mut counts)?;
        if kernels.unwritten() == Unwritten::Last {
            last.clone_from(&memory);
        }
        let mut read = Outputs::new();
        for ((buffer, key), contents) in program.buffers.iter().zip(keys(binding, program)).zip(memory) {
            if matches!(buffer.kind, BufferKind::IoOutput | BufferKind::KvCache) {
                read.insert(buffer.name.to_string(), contents.to_tensor(kernels.nan(buffer.dtype)));
            }
            if buffer.kind == BufferKind::KvCache
                && let Some(contents) = carried(binding, program, buffer.id, contents)
            {
                caches.insert(key, contents);
            }
        }
        outputs.push(read);
    }
    Ok(outputs)
}

/// What a cache carries to the next launch.
fn carried(binding: Binding, program: &Program<'_>, id: i64, mut contents: Buffer) -> Option<Buffer> {
    let is_written = || program.tasks.iter().any(|task| task.outputs.contains(&id));
    match binding {
        Binding::CachesUnwrittenForgotten if !is_written() => return None,
        Binding::CachesWithoutNan => contents.change(|_, x| if x.is_nan() { 0.0 } else { x }),
        Binding::CachesWithoutSubnormals => contents.change(|_, x| if x.is_subnormal() { 0.0 } else { x }),
        _ => {}
    }
    Some(contents)
}

/// What tells the buffers of one launch from those of another.
fn keys(binding: Binding, program: &Program<'_>) -> Vec<String> {
    let mut caches = 0;
    let key = |(id, buffer): (usize, &megakernel_ir::model::Buffer<'_>)| {
        caches += usize::from(buffer.kind == BufferKind::KvCache);
        match binding {
            Binding::CachesById => format!("#{id}"),
            Binding::CachesInOrder => format!("#{caches}"),
            Binding::Cut(bytes) => String::from_utf8_lossy(cut(&buffer.name, bytes)).into_owned(),
            _ => buffer.name.to_string(),
        }
    };
    program.buffers.iter().enumerate().map(key).collect()
}

/// The program with the first buffer of each name in place of all others of that name.
fn one_for_a_name<'a>(program: &Program<'a>) -> Program<'a> {
    let mut merged = program.clone();
    let first = |id: &i64| {
        let named = usize::try_from(*id).ok().and_then(|id| program.buffers.get(id));
        let place =
            named.and_then(|named| program.buffers.iter().position(|buffer| buffer.name == named.name));
        place.and_then(|place| i64::try_from(place).ok()).unwrap_or(*id)
    };
    for task in &mut merged.tasks {
        task.inputs = task.inputs.iter().map(first).collect();
        task.outputs = task.outputs.iter().map(first).collect();
    }
    merged
}

/// The buffers of a launch at its start (clause EXE-08).
fn memory(
    kernels: &dyn Kernels,
    program: &Program<'_>,
    bound: &[Option<Buffer>],
    is_first: bool,
    caches: &mut BTreeMap<String, Buffer>,
    last: &[Buffer],
) -> Result<Vec<Buffer>> {
    let binding = kernels.binding();
    let mut memory = Vec::with_capacity(bound.len());
    for (id, ((buffer, key), bound)) in
        program.buffers.iter().zip(keys(binding, program)).zip(bound).enumerate()
    {
        let is_cache = buffer.kind == BufferKind::KvCache;
        let kept = if is_cache { caches.remove(&key) } else { None };
        let kept = kept.filter(|_| binding != Binding::CachesBoundAgain || bound.is_none());
        let counts = match binding {
            Binding::CachesUnbound => false,
            Binding::CachesBoundAgain | Binding::LateCachesBound => true,
            _ => is_first,
        };
        let shape = shape(buffer)?;
        memory.push(match (kept, bound) {
            (Some(kept), _) if kept.dtype == buffer.dtype && kept.shape == shape => kept,
            (Some(_), _) => {
                return Err(Broken(format!("cache `{}` changes its shape between launches", buffer.name)));
            }
            (None, Some(bound)) if counts || !is_cache => bound.clone(),
            (None, _) if is_cache => Buffer::zeros(buffer.dtype, shape),
            (None, _) => match (kernels.unwritten(), last.get(id)) {
                (Unwritten::Garbage, _) => Buffer::garbage(buffer.dtype, shape),
                (Unwritten::Last, Some(last)) if last.dtype == buffer.dtype && last.shape == shape => {
                    last.clone()
                }
                _ => Buffer::zeros(buffer.dtype, shape),
            },
        });
    }
    Ok(memory)
}

/// Runs every task of a launch.
fn run(
    kernels: &dyn Kernels,
    program: &Program<'_>,
    plan: &Plan,
    memory: &mut [Buffer],
    counts: &mut [u64],
) -> Result<()> {
    let mut state = schedule::State::new(plan);
    // Tasks that have counted as finished, with writes that nobody sees yet.
    let mut late: Vec<(usize, Writer<'_>)> = Vec::new();
    loop {
        let Some(task) = state.next(kernels, program, plan, counts) else {
            if late.is_empty() {
                break;
            }
            for (output, writer) in late.drain(..) {
                settle(memory, output, writer);
            }
            continue;
        };
        let written = compute(kernels, program, task, memory)
            .map_err(|Broken(cause)| Broken(format!("task {task}: {cause}")))?;
        match written {
            Some((output, writer)) if kernels.writes_first() => {
                if kernels.binding() == Binding::ClearedByWriters && is_elsewhere(program, output) {
                    clear(memory, output);
                }
                settle(memory, output, writer);
                if kernels.binding() == Binding::OneArena {
                    spread(program, memory, output);
                }
            }
            Some(written) => late.push(written),
            None => {}
        }
        state.finish(task, plan, counts);
    }
    match state.unfinished() {
        None => Ok(()),
        Some(task) => Err(Broken(format!("deadlock: task {task} can never start"))),
    }
}

/// Whether a buffer is an activation outside of HBM.
fn is_elsewhere(program: &Program<'_>, id: usize) -> bool {
    let buffer = program.buffers.get(id);
    buffer.is_some_and(|buffer| buffer.kind == BufferKind::Activation && buffer.space != MemSpace::Hbm)
}

fn clear(memory: &mut [Buffer], id: usize) {
    if let Some(buffer) = memory.get_mut(id) {
        buffer.change(|_, _| 0.0);
    }
}

/// Puts what a buffer outside of HBM holds into all others of its space that have no page.
fn spread(program: &Program<'_>, memory: &mut [Buffer], id: usize) {
    let Some(contents) = memory.get(id).cloned() else { return };
    let has_page = |id: usize| {
        let pages = program.pages.as_ref().map(|pages| &pages.buffer_to_page.0);
        pages.is_some_and(|pages| pages.iter().any(|(buffer, _)| usize::try_from(*buffer) == Ok(id)))
    };
    let space = |id: usize| program.buffers.get(id).map(|buffer| buffer.space);
    for (other, buffer) in memory.iter_mut().enumerate() {
        let shared = is_elsewhere(program, id) && is_elsewhere(program, other) && space(other) == space(id);
        if shared
            && !has_page(id)
            && !has_page(other)
            && buffer.dtype == contents.dtype
            && buffer.shape == contents.shape
        {
            *buffer = contents.clone();
        }
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
    let mut inputs = record.inputs.iter().map(|id| buffer(id).cloned()).collect::<Result<Vec<Buffer>>>()?;
    let (dtype, shape) = (output.dtype, output.shape.clone());
    let mut params = record.params.clone();
    let mut given = Given { program, task: record, inputs: &mut inputs, params: &mut params };
    kernels.given(&mut given);
    if kernels.skips(&given) {
        return Ok(None);
    }
    let mut writer = Writer::new(kernels, record.op, dtype);
    let mut task = Task { op: record.op, params: &params, inputs, dtype, shape };
    opcodes::execute(kernels, &mut task, &mut writer)?;
    Ok(usize::try_from(*id).ok().map(|id| (id, writer)))
}
