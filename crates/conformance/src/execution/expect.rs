//! What a launch has to leave behind, as the corpus holds it.

use std::collections::BTreeSet;

use megakernel_ir::model::{Buffer, Program};
use megakernel_ir::protocol::Accumulator;
use megakernel_ir::{BufferKind, DType};
use megakernel_numerics::{Stored, TensorFile};

use crate::oracle::Expected;

/// What one buffer has to hold after a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Name of the buffer.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Its elements.
    pub expected: Expected,
}

/// Follows the name of a buffer: the bounds for a binary32 accumulator.
const BOUND: &str = ".bound";

/// Follows [`BOUND`] where the bounds for a truncating accumulator differ.
const TRUNCATING: &str = ".truncating";

/// Follows the name of a buffer: the places of the elements that are judged, where that is a sample.
const AT: &str = ".at";

/// What a file of references and bounds says about the buffers of a program.
///
/// # Errors
/// The file and the program do not belong together. The fault is the corpus's.
pub fn expectations(
    program: &Program<'_>,
    file: &TensorFile,
    accumulator: Accumulator,
) -> Result<Vec<Expectation>, String> {
    let mut left: BTreeSet<&str> = file.tensors.keys().map(String::as_str).collect();
    let mut found = Vec::new();
    for buffer in program.buffers.iter().filter(|buffer| is_output(buffer)) {
        let name: &str = &buffer.name;
        if !left.remove(name) {
            continue;
        }
        let shape = shape(buffer).ok_or_else(|| format!("buffer `{name}` has a negative extent"))?;
        let expected = if buffer.dtype.is_float() {
            let (plain, truncating) = (format!("{name}{BOUND}"), format!("{name}{BOUND}{TRUNCATING}"));
            left.remove(plain.as_str());
            let wider = left.remove(truncating.as_str()) && accumulator == Accumulator::Truncating;
            let bound = if wider { &truncating } else { &plain };
            let at = format!("{name}{AT}");
            let (values, bounds) = if left.remove(at.as_str()) {
                sampled(file, name, bound, &at, &shape)?
            } else {
                (reals(file, name, &shape)?, reals(file, bound, &shape)?)
            };
            if let Some(bound) = bounds.iter().find(|bound| bound.is_nan() || **bound < 0.0) {
                return Err(format!("`{name}` has a bound of {bound}; a bound is not negative"));
            }
            Expected::Reals { values, bounds }
        } else {
            let tensor = file.buffer(name, buffer.dtype, &shape).map_err(|error| error.to_string())?;
            Expected::Ints(tensor.ints())
        };
        found.push(Expectation { name: name.to_owned(), dtype: buffer.dtype, shape, expected });
    }
    if let Some(name) = left.first() {
        return Err(format!(
            "`{name}` is no IO_OUTPUT or KV_CACHE of the program, nor the bound or the places of one"
        ));
    }
    if found.is_empty() {
        return Err("it names no buffer, so that nothing would be judged".to_owned());
    }
    Ok(found)
}

/// Whether the host may read the buffer after a launch.
pub(super) fn is_output(buffer: &Buffer<'_>) -> bool {
    matches!(buffer.kind, BufferKind::IoOutput | BufferKind::KvCache)
}

/// The extents of a buffer.
pub(super) fn shape(buffer: &Buffer<'_>) -> Option<Vec<u64>> {
    buffer.shape.iter().map(|&extent| u64::try_from(extent).ok()).collect()
}

/// Values and bounds of all elements, of which the file has a sample. What is not in it may be anything.
fn sampled(
    file: &TensorFile,
    name: &str,
    bound: &str,
    at: &str,
    shape: &[u64],
) -> Result<(Vec<f64>, Vec<f64>), String> {
    let numel =
        shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent.try_into().ok()?));
    let numel = numel.ok_or_else(|| format!("buffer `{name}` has too many elements"))?;
    let Some(Stored::Buffer(places)) = file.tensors.get(at) else {
        return Err(format!("`{at}` is not of I32"));
    };
    if places.dtype != DType::I32 || places.shape.len() != 1 {
        return Err(format!("`{at}` is not of I32 and rank 1"));
    }
    let places = places.ints();
    let length = [places.len() as u64];
    let of_sample = |name: &str| reals(file, name, &length).map_err(|cause| format!("{cause}, by `{at}`"));
    let (found, found_bounds) = (of_sample(name)?, of_sample(bound)?);
    let (mut values, mut bounds) = (vec![0.0; numel], vec![f64::INFINITY; numel]);
    let mut before = -1;
    for ((&place, value), bound) in places.iter().zip(found).zip(found_bounds) {
        let slots = usize::try_from(place).ok().filter(|_| place > before);
        match slots.and_then(|place| Some((values.get_mut(place)?, bounds.get_mut(place)?))) {
            Some(slots) => (*slots.0, *slots.1) = (value, bound),
            None => {
                return Err(format!("`{at}` has {place} after {before}; required ascending, below {numel}"));
            }
        }
        before = place;
    }
    if places.is_empty() {
        return Err(format!("`{at}` names no element, so that nothing would be judged"));
    }
    Ok((values, bounds))
}

fn reals(file: &TensorFile, name: &str, shape: &[u64]) -> Result<Vec<f64>, String> {
    let (found, values) = file.f64s(name).map_err(|error| error.to_string())?;
    if found != shape {
        return Err(format!("`{name}` has shape {found:?}, the buffer {shape:?}"));
    }
    Ok(values.to_vec())
}
