//! What buffers hold: reals with bounds, or integers.
//!
//! Of a float element two things are kept: the stored value, which has been cast to the dtype and is what later tasks
//! read, with a bound on what another implementation may have stored there; and, for buffers that outlive the launch, the
//! reference and bound before the cast, by which a result is judged (clause NUM-10).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::model::{Buffer, Program};
use megakernel_ir::{BufferKind, DType, Opcode};
use megakernel_numerics::{Tensor, TensorError};
use megakernel_numerics::{decode, encode};

use super::bounded::Bounded;
use super::fault::Fault;
use super::kernels::{Data, Operand, OutputView, TaskView, Written, kernel};
use super::load::{Loaded, index, runs};
use crate::region::Region;

/// The most elements that the buffers of one launch may have together: 2 to 8 GiB of memory here.
const MOST_ELEMENTS: u64 = 1 << 28;

/// The smallest number above 0: as a bound it leaves open the sign of a zero and nothing else.
const SIGN_OF_ZERO: f64 = 5e-324;

/// Why a buffer could not be given its contents.
#[derive(Clone, Debug, PartialEq)]
pub enum BindError {
    /// Nothing of that name was given.
    Missing {
        /// The buffer.
        buffer: usize,
        /// Its kind.
        kind: BufferKind,
        /// The name that was looked for: the buffer's `source` or `name`.
        key: String,
    },
    /// What was given has another dtype or shape.
    Differs {
        /// The buffer.
        buffer: usize,
        /// The name.
        key: String,
        /// Dtype and shape given.
        found: (DType, Vec<u64>),
        /// Dtype and shape of the buffer.
        required: (DType, Vec<u64>),
    },
    /// A cache had another dtype or shape in the launch before.
    CacheChanged {
        /// The buffer.
        buffer: usize,
        /// Its name.
        name: String,
        /// Dtype and shape before.
        before: (DType, Vec<i64>),
        /// Dtype and shape now.
        now: (DType, Vec<i64>),
    },
    /// The buffers do not fit into memory.
    TooLarge {
        /// Elements of all buffers that are used.
        elements: u64,
        /// The most that are taken.
        limit: u64,
    },
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::Missing { buffer, kind, key } => {
                write!(f, "no tensor `{key}` for buffer {buffer}, which is {kind}")
            }
            BindError::Differs { buffer, key, found, required } => write!(
                f,
                "tensor `{key}` is {} {:?}; buffer {buffer} requires {} {:?}",
                found.0, found.1, required.0, required.1
            ),
            BindError::CacheChanged { buffer, name, before, now } => write!(
                f,
                "cache `{name}` (buffer {buffer}) was {} {:?} in the launch before and is {} {:?} now",
                before.0, before.1, now.0, now.1
            ),
            BindError::TooLarge { elements, limit } => {
                write!(f, "the program's buffers have {elements} elements; at most {limit} are executed")
            }
        }
    }
}

impl std::error::Error for BindError {}

/// What a correct execution leaves in a buffer or a part of one, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum Reference {
    /// Of a float dtype, before the cast to it (clause NUM-10).
    Reals {
        /// The references.
        values: Vec<f64>,
        /// How far from them it may lie; infinite: not specified.
        bounds: Vec<f64>,
    },
    /// Of another dtype; nothing where the element is not specified.
    Ints(Vec<Option<i64>>),
}

/// The elements of a buffer.
#[derive(Clone, Debug)]
enum Elements {
    Reals {
        /// As stored: values of the dtype.
        values: Vec<f64>,
        /// How far what another implementation stored may lie from them; empty if all are exact.
        bounds: Vec<f64>,
        /// Before the cast, of buffers that outlive the launch.
        before: Option<(Vec<f64>, Vec<f64>)>,
    },
    Ints {
        values: Vec<i64>,
        /// Elements that no clause specifies.
        open: BTreeSet<usize>,
    },
}

/// The contents of a buffer.
#[derive(Clone, Debug)]
pub(super) struct Contents {
    pub dtype: DType,
    pub shape: Vec<i64>,
    elements: Elements,
}

impl Contents {
    /// Zeros. Of a buffer that outlives the launch, the references are kept.
    pub fn zeros(buffer: &Buffer<'_>) -> Contents {
        let count = buffer.numel().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        let outlives = matches!(buffer.kind, BufferKind::IoOutput | BufferKind::KvCache);
        let elements = if buffer.dtype.is_float() {
            let before = outlives.then(|| (vec![0.0; count], vec![0.0; count]));
            Elements::Reals { values: vec![0.0; count], bounds: Vec::new(), before }
        } else {
            Elements::Ints { values: vec![0; count], open: BTreeSet::new() }
        };
        Contents { dtype: buffer.dtype, shape: buffer.shape.to_vec(), elements }
    }

    /// The contents of a tensor of the dtype and shape of the buffer; an I4 buffer may be given as its bytes.
    fn bound(number: usize, buffer: &Buffer<'_>, key: &str, tensor: &Tensor) -> Result<Contents, BindError> {
        let shape: Vec<u64> = buffer.shape.iter().map(|&extent| extent.max(0) as u64).collect();
        let size = buffer.nbytes().map_or(0, |size| size.max(0) as u64);
        let packed = buffer.dtype == DType::I4 && tensor.dtype == DType::U8 && tensor.shape == [size];
        if !packed && (tensor.dtype != buffer.dtype || tensor.shape != shape) {
            return Err(BindError::Differs {
                buffer: number,
                key: key.to_owned(),
                found: (tensor.dtype, tensor.shape.clone()),
                required: (buffer.dtype, shape),
            });
        }
        let mut contents = Contents::zeros(buffer);
        match &mut contents.elements {
            Elements::Reals { values, before, .. } => {
                fill(values, &tensor.reals());
                if let Some((references, _)) = before {
                    references.clone_from(values);
                }
            }
            Elements::Ints { values, .. } if packed => {
                let nibbles = tensor.bytes.iter().flat_map(|byte| [byte & 15, byte >> 4]);
                values.iter_mut().zip(nibbles).for_each(|(value, nibble)| *value = nibble.into());
            }
            Elements::Ints { values, .. } => fill(values, &tensor.ints()),
        }
        Ok(contents)
    }

    /// The contents as a kernel sees them, with their bounds or as if they were exact.
    fn operand(&self, with_bounds: bool) -> Operand<'_> {
        let data = match &self.elements {
            Elements::Reals { values, bounds, .. } => {
                let is_bounded = with_bounds && !bounds.is_empty();
                Data::Reals { values, bounds: is_bounded.then_some(bounds.as_slice()) }
            }
            Elements::Ints { values, .. } => Data::Ints(values),
        };
        Operand { dtype: self.dtype, shape: &self.shape, data }
    }

    /// Whether no clause specifies some element of a region.
    fn is_open(&self, region: &Region) -> bool {
        let Elements::Ints { open, .. } = &self.elements else { return false };
        let mut hit = false;
        if !open.is_empty() {
            runs(&self.shape, region, |first, count| {
                hit |= open.range(interval(first, count)).next().is_some()
            });
        }
        hit
    }

    /// The stored elements of a region as a tensor of the region's shape.
    pub fn tensor(&self, region: &Region) -> Result<Tensor, TensorError> {
        let shape = region.to_witness().iter().map(|[low, high]| (high - low).max(0) as u64).collect();
        match &self.elements {
            Elements::Reals { values, .. } => {
                Tensor::from_reals(self.dtype, shape, &gather(values, &self.shape, region))
            }
            Elements::Ints { values, .. } => {
                Tensor::from_ints(self.dtype, shape, &gather(values, &self.shape, region))
            }
        }
    }

    /// The references and bounds of the whole buffer.
    pub fn reference(&self) -> Reference {
        match &self.elements {
            Elements::Reals { before: Some((values, bounds)), .. } => {
                Reference::Reals { values: values.clone(), bounds: bounds.clone() }
            }
            Elements::Reals { values, bounds, before: None } => {
                let bounds = if bounds.is_empty() { vec![0.0; values.len()] } else { bounds.clone() };
                Reference::Reals { values: values.clone(), bounds }
            }
            Elements::Ints { values, open } => {
                let specified = |(index, &value)| (!open.contains(&index)).then_some(value);
                Reference::Ints(values.iter().enumerate().map(specified).collect())
            }
        }
    }

    /// Stores what a task computed for the elements of a region, cast to the dtype.
    fn store(&mut self, region: &Region, written: &Computed) {
        let dtype = self.dtype;
        match (&mut self.elements, written) {
            (Elements::Reals { values, bounds, before }, Computed::Reals(new)) => {
                let mut new = new.iter();
                runs(&self.shape, region, |first, count| {
                    for (at, element) in interval(first, count).zip(&mut new) {
                        let (value, bound) = cast(dtype, *element);
                        set(values, at, value);
                        if bounds.is_empty() && bound > 0.0 {
                            bounds.resize(values.len(), 0.0);
                        }
                        set(bounds, at, bound);
                        if let Some((references, before)) = before {
                            set(references, at, element.v);
                            set(before, at, element.e);
                        }
                    }
                });
            }
            (Elements::Ints { values, open }, Computed::Ints(new)) => {
                let mut new = new.iter();
                runs(&self.shape, region, |first, count| {
                    for (at, &(value, is_specified)) in interval(first, count).zip(&mut new) {
                        set(values, at, value);
                        if is_specified {
                            open.remove(&at)
                        } else {
                            open.insert(at)
                        };
                    }
                });
            }
            // Refused before: see `Memory::compute`.
            _ => {}
        }
    }
}

/// The stored value of a result, and how far what another implementation stores may lie from it.
fn cast(dtype: DType, Bounded { v, e }: Bounded) -> (f64, f64) {
    let round = |value: f64| decode(dtype, encode(dtype, value));
    let stored = round(v);
    if e == 0.0 || v.is_nan() {
        return (stored, if e == f64::INFINITY { e } else { 0.0 });
    }
    let (low, high) = (round(v - e), round(v + e));
    let same = |other: f64| other == stored || other.is_nan() && stored.is_nan();
    if e.is_finite() && same(low) && same(high) {
        (stored, 0.0)
    } else if e.is_finite() && low.is_finite() && high.is_finite() && stored.is_finite() {
        (stored, (high - stored).max(stored - low))
    } else {
        (stored, f64::INFINITY)
    }
}

fn interval(first: i64, count: i64) -> std::ops::Range<usize> {
    let first = usize::try_from(first).unwrap_or(0);
    first..first.saturating_add(usize::try_from(count).unwrap_or(0))
}

fn set<T>(values: &mut [T], at: usize, value: T) {
    if let Some(slot) = values.get_mut(at) {
        *slot = value;
    }
}

fn gather<T: Copy>(values: &[T], shape: &[i64], region: &Region) -> Vec<T> {
    let mut found = Vec::new();
    runs(shape, region, |first, count| {
        found.extend_from_slice(values.get(interval(first, count)).unwrap_or(&[]));
    });
    found
}

/// Copies as many elements as both have.
fn fill<T: Copy>(values: &mut [T], from: &[T]) {
    values.iter_mut().zip(from).for_each(|(slot, &value)| *slot = value);
}

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
    ) -> Result<Memory, BindError> {
        let mut used = vec![false; program.buffers.len()];
        for task in &program.tasks {
            task.inputs.iter().chain(&task.outputs).for_each(|&id| set(&mut used, index(id), true));
        }
        let outlives =
            |buffer: &Buffer<'_>| matches!(buffer.kind, BufferKind::IoOutput | BufferKind::KvCache);
        let is_needed = |&(number, buffer): &(usize, &Buffer<'_>)| {
            used.get(number).copied().unwrap_or(false) || outlives(buffer)
        };
        let needed = || program.buffers.iter().enumerate().filter(is_needed);
        let elements =
            needed().fold(0u64, |sum, (_, buffer)| sum.saturating_add(buffer.numel().unwrap_or(u64::MAX)));
        if elements > MOST_ELEMENTS {
            return Err(BindError::TooLarge { elements, limit: MOST_ELEMENTS });
        }
        let mut contents: Vec<Option<Contents>> = program.buffers.iter().map(|_| None).collect();
        let mut places = BTreeMap::new();
        for (number, buffer) in needed() {
            let made = match buffer.kind {
                BufferKind::Weight | BufferKind::Const | BufferKind::IoInput => {
                    let named = buffer.source.as_ref().filter(|_| buffer.kind != BufferKind::IoInput);
                    let key: &str = named.unwrap_or(&buffer.name);
                    let tensor = tensors.get(key).ok_or_else(|| BindError::Missing {
                        buffer: number,
                        kind: buffer.kind,
                        key: key.to_owned(),
                    })?;
                    Contents::bound(number, buffer, key, tensor)?
                }
                BufferKind::KvCache => {
                    let place: &mut usize = places.entry(buffer.name.to_string()).or_default();
                    let key = (buffer.name.to_string(), *place);
                    *place += 1;
                    match (caches.get(&key), tensors.get(&*buffer.name)) {
                        (Some(cache), _) => {
                            if cache.dtype != buffer.dtype || cache.shape[..] != buffer.shape[..] {
                                return Err(BindError::CacheChanged {
                                    buffer: number,
                                    name: buffer.name.to_string(),
                                    before: (cache.dtype, cache.shape.clone()),
                                    now: (buffer.dtype, buffer.shape.to_vec()),
                                });
                            }
                            cache.clone()
                        }
                        (None, Some(tensor)) if is_first => {
                            Contents::bound(number, buffer, &buffer.name, tensor)?
                        }
                        _ => Contents::zeros(buffer),
                    }
                }
                BufferKind::Activation | BufferKind::IoOutput => Contents::zeros(buffer),
            };
            set(&mut contents, number, Some(made));
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
    pub fn contents(&self, buffer: usize) -> Option<&Contents> {
        self.contents.get(buffer)?.as_ref()
    }

    /// What a task computes from what memory holds; nothing for a task that writes nothing.
    pub fn compute(&self, loaded: &Loaded<'_>, task: usize, unit: f64) -> Result<Option<Computed>, Fault> {
        if let Some(fault) = loaded.undefined.get(&task) {
            return Err(fault.clone());
        }
        let (Some(record), Some((buffer, region))) = (loaded.program().tasks.get(task), loaded.written(task))
        else {
            return Ok(None);
        };
        let failed = |what: &str| Fault::NotComputed { task, what: what.to_owned() };
        let output = self.contents(buffer).ok_or_else(|| failed("its output has no contents"))?;
        let kernel = kernel(record.op).ok_or_else(|| failed("the opcode is not implemented"))?;
        let run = |with_bounds| {
            let operand = |&id: &i64| self.contents(index(id)).map(|contents| contents.operand(with_bounds));
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
        let planned = loaded.planned.get(task).map_or(&[][..], |planned| planned.as_slice());
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
        Ok(Some(finish(written, exact, record.op, is_open)))
    }

    /// Stores what a task computed.
    pub fn store(&mut self, loaded: &Loaded<'_>, task: usize, written: &Computed) {
        if let Some((buffer, region)) = loaded.written(task)
            && let Some(Some(contents)) = self.contents.get_mut(buffer)
        {
            contents.store(&region, written);
        }
    }
}

/// What holds for the elements of every opcode: a bound is a number, zeros of arithmetic have either sign, what comes of
/// something that is not specified is not either, and an element that is not specified has the value that it has if
/// the operands are `exact`.
fn finish(written: Written, exact: Option<Written>, opcode: Opcode, is_open: bool) -> Computed {
    let moves = matches!(opcode, Opcode::Copy | Opcode::Embed | Opcode::KvAppend | Opcode::SampleArgmax);
    match (written, exact) {
        (Written::Reals(mut elements), exact) => {
            let exact = if let Some(Written::Reals(exact)) = exact { exact } else { Vec::new() };
            for (at, element) in elements.iter_mut().enumerate() {
                if is_open || element.e.is_nan() {
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
                (value, element.is_some() && !is_open)
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
    fn what_is_stored_is_off_by_what_others_may_store() {
        let stored = |dtype, v, e| cast(dtype, Bounded { v, e });
        // Halfway between two numbers of F16, 1 and 1 + 2^-10.
        let tie = 1.0 + 1.0 / 2048.0;
        assert_eq!(stored(DType::F16, tie, 0.0), (1.0, 0.0));
        assert_eq!(stored(DType::F16, tie, 1e-9), (1.0, 1.0 / 1024.0));
        assert_eq!(stored(DType::F16, 1.0001, 1e-9), (1.0, 0.0), "both ends round to one number");
        assert_eq!(stored(DType::F16, 65519.0, 2.0), (65504.0, f64::INFINITY), "it may overflow");
        assert_eq!(stored(DType::F8E4M3, 463.0, 2.0), (448.0, f64::INFINITY), "it may become NaN");
        assert_eq!(stored(DType::F32, f64::INFINITY, 0.0), (f64::INFINITY, 0.0));
        assert_eq!(stored(DType::F32, 0.0, SIGN_OF_ZERO), (0.0, 0.0));
        assert_eq!(stored(DType::F32, 3.0, f64::INFINITY), (3.0, f64::INFINITY));
        let (value, bound) = stored(DType::BF16, f64::NAN, 0.0);
        assert!(value.is_nan() && bound == 0.0);
    }

    #[test]
    fn arithmetic_leaves_the_sign_of_zero_open_and_moves_keep_it() {
        let zero = || Written::Reals(vec![Bounded { v: -0.0, e: 0.0 }]);
        let bound = |opcode| match finish(zero(), None, opcode, false) {
            Computed::Reals(elements) => elements.first().map_or(f64::NAN, |element| element.e),
            Computed::Ints(_) => f64::NAN,
        };
        assert_eq!((bound(Opcode::Add), bound(Opcode::Copy)), (SIGN_OF_ZERO, 0.0));
    }
}
