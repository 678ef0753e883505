//! What buffers hold: reals with bounds, or integers.
//!
//! Of a float element two things are kept: the stored value, which has been cast to the dtype and is what later tasks
//! read, with a bound on what another implementation may have stored there; and, for buffers that outlive the launch, the
//! reference and bound before the cast, by which a result is judged (clause NUM-10).

mod contents;
mod error;

use std::collections::BTreeMap;

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::model::{Buffer, Program};
use megakernel_ir::{BufferId, BufferKind, Opcode, TaskId};
use megakernel_numerics::Tensor;

use super::bounded::Bounded;
use super::fault::Fault;
use super::kernels::{OutputView, TaskView, Written, kernel};
use super::load::Loaded;
use crate::region::Region;
pub(super) use contents::Contents;
pub use contents::Reference;
use contents::set;
pub use error::BindError;

/// The most elements that the buffers of one launch may have together, where nothing else is said: 2 to 8 GiB of memory here.
pub const MOST_ELEMENTS: u64 = 1 << 28;

/// The smallest number above 0: as a bound it leaves open the sign of a zero and nothing else.
const SIGN_OF_ZERO: f64 = 5e-324;

/// What a task computed: the elements of the region that it writes, row-major.
#[derive(Clone, Debug)]
pub(super) enum Computed {
    /// Before the cast. An element that is not specified has a value all the same.
    Reals(Vec<Bounded>),
    /// Each with whether it is specified.
    Ints(Vec<(i64, bool)>),
}

/// The contents of the caches of a session. Names need not differ, so the place among buffers of one name counts, too.
pub(super) type Caches = BTreeMap<(String, usize), Contents>;

/// Caches that hold the tensors of their names; those without a tensor hold zeros.
///
/// # Errors
/// A tensor is of another dtype or shape than its cache.
pub(super) fn held(program: &Program<'_>, tensors: &BTreeMap<String, Tensor>) -> Result<Caches, BindError> {
    let mut caches = Caches::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (id, buffer) in program.buffers_by_id().filter(|(_, buffer)| buffer.kind == BufferKind::KvCache) {
        let place = places.entry(&buffer.name).or_default();
        if let Some(tensor) = tensors.get(&*buffer.name) {
            let contents = Contents::bound(id, buffer, &buffer.name, tensor)?;
            caches.insert((buffer.name.to_string(), *place), contents);
        }
        *place += 1;
    }
    Ok(caches)
}

/// The memory of one launch.
#[derive(Debug)]
pub(super) struct Memory {
    /// By buffer; nothing for buffers that no task lists and that do not outlive the launch.
    contents: Vec<Option<Contents>>,
}

impl Memory {
    /// The memory at the start of a launch (clause EXE-08). Caches come from the launch before, or from `tensors`, or are
    /// zeros; activations and outputs are zeros.
    pub fn new(
        program: &Program<'_>,
        tensors: &BTreeMap<String, Tensor>,
        caches: &Caches,
        is_first: bool,
        most_elements: u64,
    ) -> Result<Memory, BindError> {
        let mut used = vec![false; program.buffers.len()];
        for task in &program.tasks {
            task.inputs
                .iter()
                .chain(&task.outputs)
                .for_each(|&id| set(&mut used, BufferId::stated(id).index(), true));
        }
        let outlives =
            |buffer: &Buffer<'_>| matches!(buffer.kind, BufferKind::IoOutput | BufferKind::KvCache);
        let is_needed = |&(id, buffer): &(BufferId, &Buffer<'_>)| {
            used.get(id.index()).copied().unwrap_or(false) || outlives(buffer)
        };
        let needed = || program.buffers_by_id().filter(is_needed);
        let elements =
            needed().fold(0u64, |sum, (_, buffer)| sum.saturating_add(buffer.numel().unwrap_or(u64::MAX)));
        if elements > most_elements {
            return Err(BindError::TooLarge { elements, limit: most_elements });
        }
        let mut contents: Vec<Option<Contents>> = program.buffers.iter().map(|_| None).collect();
        let mut places = BTreeMap::new();
        for (id, buffer) in needed() {
            let made = match buffer.kind {
                BufferKind::Weight | BufferKind::Const | BufferKind::IoInput => {
                    let named = buffer.source.as_ref().filter(|_| buffer.kind != BufferKind::IoInput);
                    let key: &str = named.unwrap_or(&buffer.name);
                    let tensor = tensors.get(key).ok_or_else(|| BindError::Missing {
                        buffer: id,
                        kind: buffer.kind,
                        key: key.to_owned(),
                    })?;
                    Contents::bound(id, buffer, key, tensor)?
                }
                BufferKind::KvCache => {
                    let place: &mut usize = places.entry(buffer.name.to_string()).or_default();
                    let key = (buffer.name.to_string(), *place);
                    *place += 1;
                    match (caches.get(&key), tensors.get(&*buffer.name)) {
                        (Some(cache), _) => {
                            if cache.dtype != buffer.dtype || cache.shape[..] != buffer.shape[..] {
                                return Err(BindError::CacheChanged {
                                    buffer: id,
                                    name: buffer.name.to_string(),
                                    before: (cache.dtype, cache.shape.clone()),
                                    now: (buffer.dtype, buffer.shape.to_vec()),
                                });
                            }
                            cache.clone()
                        }
                        (None, Some(tensor)) if is_first => {
                            Contents::bound(id, buffer, &buffer.name, tensor)?
                        }
                        _ => Contents::zeros(buffer),
                    }
                }
                BufferKind::Activation | BufferKind::IoOutput => Contents::zeros(buffer),
            };
            set(&mut contents, id.index(), Some(made));
        }
        Ok(Memory { contents })
    }

    /// Keeps the caches for the launch after.
    pub fn keep(&self, program: &Program<'_>, caches: &mut Caches) {
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (buffer, contents) in program.buffers.iter().zip(&self.contents) {
            if let (BufferKind::KvCache, Some(contents)) = (buffer.kind, contents) {
                let place = places.entry(buffer.name.to_string()).or_default();
                caches.insert((buffer.name.to_string(), *place), contents.clone());
                *place += 1;
            }
        }
    }

    /// What a buffer holds.
    pub fn contents(&self, buffer: BufferId) -> Option<&Contents> {
        self.contents.get(buffer.index())?.as_ref()
    }

    /// What a task computes from what memory holds; nothing for a task that writes nothing.
    pub fn compute(&self, loaded: &Loaded<'_>, task: TaskId, unit: f64) -> Result<Option<Computed>, Fault> {
        if let Some(fault) = loaded.undefined.get(&task) {
            return Err(fault.clone());
        }
        let (Some(record), Some((buffer, region))) =
            (loaded.program().tasks.get(task.index()), loaded.written(task))
        else {
            return Ok(None);
        };
        let failed = |what: &str| Fault::NotComputed { task, what: what.to_owned() };
        let output = self.contents(buffer).ok_or_else(|| failed("its output has no contents"))?;
        let kernel = kernel(record.op).ok_or_else(|| failed("the opcode is not implemented"))?;
        let run = |with_bounds| {
            let operand =
                |&id: &i64| self.contents(BufferId::stated(id)).map(|contents| contents.operand(with_bounds));
            let inputs = record.inputs.iter().map(operand).collect::<Option<_>>();
            let written = kernel.run(&TaskView {
                opcode: record.op,
                params: &record.params,
                inputs: inputs.ok_or_else(|| failed("an input has no contents"))?,
                output: OutputView { dtype: output.dtype, shape: &output.shape, region },
                unit,
            });
            let (count, is_real) = match &written {
                Written::Reals(new) => (new.len(), true),
                Written::Ints(new) => (new.len(), false),
            };
            let fits = is_real == output.dtype.is_float() && count as u128 == volume(&region);
            if fits {
                Ok(written)
            } else {
                Err(failed("the kernel gives other elements than the task writes"))
            }
        };
        let planned = loaded.planned.get(task.index()).map_or(&[][..], |planned| planned.as_slice());
        let is_open = planned.iter().any(|planned| {
            let contents = self.contents(planned.access.buffer);
            planned.access.kind == AccessKind::Read
                && contents.is_some_and(|contents| contents.is_open(&planned.region))
        });
        let written = run(true)?;
        // What is not specified for whoever was off by the bounds still has a value for us, who were not.
        let is_specified = match &written {
            Written::Reals(new) => new.iter().all(|element| element.e < f64::INFINITY),
            Written::Ints(new) => new.iter().all(Option::is_some),
        };
        let exact = if is_specified { None } else { Some(run(false)?) };
        // Each element that these two write comes of one integer: where another is open, it is specified all the same.
        let by_element = matches!(record.op, Opcode::Embed | Opcode::Copy);
        let ids = record.inputs.first().filter(|_| by_element);
        let ids = ids.and_then(|&id| self.contents(BufferId::stated(id)));
        let each = ids.and_then(|ids| usize::try_from(volume(&region)).ok()?.checked_div(ids.len()));
        let is_open = |at: usize| {
            is_open
                && match (ids, each) {
                    (Some(ids), Some(each)) if each > 0 => ids.is_open_at(at / each),
                    _ => true,
                }
        };
        Ok(Some(finish(written, exact, record.op, is_open)))
    }

    /// Stores what a task computed.
    pub fn store(&mut self, loaded: &Loaded<'_>, task: TaskId, written: &Computed) {
        if let Some((buffer, region)) = loaded.written(task)
            && let Some(Some(contents)) = self.contents.get_mut(buffer.index())
        {
            contents.store(&region, written);
        }
    }
}

/// What holds for the elements of every opcode: a bound is a number, zeros of arithmetic have either sign, what comes of
/// an integer that is not specified (`is_open`, by the place of the element) is not either, and an element that is not specified has the value that it has if
/// the operands are `exact`.
fn finish(
    written: Written,
    exact: Option<Written>,
    opcode: Opcode,
    is_open: impl Fn(usize) -> bool,
) -> Computed {
    let moves = matches!(opcode, Opcode::Copy | Opcode::Embed | Opcode::KvAppend | Opcode::SampleArgmax);
    match (written, exact) {
        (Written::Reals(mut elements), exact) => {
            let exact = if let Some(Written::Reals(exact)) = exact { exact } else { Vec::new() };
            for (at, element) in elements.iter_mut().enumerate() {
                if is_open(at) || element.e.is_nan() {
                    element.e = f64::INFINITY;
                }
                if let (false, Some(exact)) = (element.e < f64::INFINITY, exact.get(at)) {
                    element.v = exact.v;
                }
                if element.v == 0.0 && !moves {
                    element.e = element.e.max(SIGN_OF_ZERO);
                }
            }
            Computed::Reals(elements)
        }
        (Written::Ints(elements), exact) => {
            let exact = if let Some(Written::Ints(exact)) = exact { exact } else { Vec::new() };
            let element = |(at, element): (usize, Option<i64>)| {
                let value = element.or_else(|| exact.get(at).copied().flatten()).unwrap_or(0);
                (value, element.is_some() && !is_open(at))
            };
            Computed::Ints(elements.into_iter().enumerate().map(element).collect())
        }
    }
}

/// Number of elements of a region.
pub(super) fn volume(region: &Region) -> u128 {
    let lengths =
        region.axes().iter().map(|[low, high]| u128::try_from(high.saturating_sub(*low)).unwrap_or(0));
    lengths.fold(1, u128::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_leaves_the_sign_of_zero_open_and_moves_keep_it() {
        let zero = || Written::Reals(vec![Bounded { v: -0.0, e: 0.0 }]);
        let bound = |opcode| match finish(zero(), None, opcode, |_| false) {
            Computed::Reals(elements) => elements.first().map_or(f64::NAN, |element| element.e),
            Computed::Ints(_) => f64::NAN,
        };
        assert_eq!((bound(Opcode::Add), bound(Opcode::Copy)), (SIGN_OF_ZERO, 0.0));
    }

    #[test]
    fn what_comes_of_an_open_integer_is_open_and_nothing_else() {
        let written = Written::Reals(vec![Bounded { v: 1.0, e: 0.0 }; 3]);
        let Computed::Reals(found) = finish(written, None, Opcode::Embed, |at| at == 1) else {
            unreachable!("they are real numbers")
        };
        let is_certain: Vec<bool> = found.iter().map(|element| element.e == 0.0).collect();
        assert_eq!(is_certain, [true, false, true]);
    }
}
