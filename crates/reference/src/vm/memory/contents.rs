//! The contents of one buffer: values as an implementation without any error stores them, and how far others may lie from them.

use std::collections::BTreeSet;

use megakernel_ir::model::Buffer;
use megakernel_ir::{BufferId, BufferKind, DType};
use megakernel_numerics::{Tensor, TensorError, decode, encode};

use super::{BindError, Computed};
use crate::region::Region;
use crate::vm::bounded::Bounded;
use crate::vm::kernels::{Data, Operand};
use crate::vm::load::runs;

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
pub(in crate::vm) struct Contents {
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
    pub(super) fn bound(
        number: BufferId,
        buffer: &Buffer<'_>,
        key: &str,
        tensor: &Tensor,
    ) -> Result<Contents, BindError> {
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
    pub(super) fn operand(&self, with_bounds: bool) -> Operand<'_> {
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
    pub(super) fn is_open(&self, region: &Region) -> bool {
        let Elements::Ints { open, .. } = &self.elements else { return false };
        let mut hit = false;
        if !open.is_empty() {
            runs(&self.shape, region, |first, count| {
                hit |= open.range(interval(first, count)).next().is_some()
            });
        }
        hit
    }

    /// How many elements it has.
    pub(super) fn len(&self) -> usize {
        match &self.elements {
            Elements::Reals { values, .. } => values.len(),
            Elements::Ints { values, .. } => values.len(),
        }
    }

    /// Whether no clause specifies the integer at this place.
    pub(super) fn is_open_at(&self, place: usize) -> bool {
        matches!(&self.elements, Elements::Ints { open, .. } if open.contains(&place))
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
    pub(super) fn store(&mut self, region: &Region, written: &Computed) {
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

pub(super) fn set<T>(values: &mut [T], at: usize, value: T) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::memory::SIGN_OF_ZERO;

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
}
