//! The runner's own judge of what documents are lowered to (clauses MCI-27 to MCI-30). It takes nothing from the reference but how documents and Kernel IR are read.

mod memory;
mod run;
mod valid;

pub use run::run;

use megakernel_ir::prng::fnv1a64;
use megakernel_ir::read_value;
use megakernel_mcir::{Document, Kernels, Memory, Source, read, read_kernels};

use crate::document::uses;
use crate::transform::aims::{self, Aim};
use crate::transform::side::Side;
use crate::transform::{MORE, MOST, TIMES, Wrong, first_fault, in_fields, within_bounds};

fn sound(found: String) -> Wrong {
    ("sound kernels (MCI-30)".to_owned(), found)
}

/// Judges what a document is lowered to.
///
/// # Errors
/// What was expected, and what is there.
pub fn judge(document: &[u8], answer: &str) -> Result<(), Wrong> {
    let of_case = |what: String| ("an accepted document in the case".to_owned(), what);
    let value = read_value(document).map_err(|_| of_case(String::new()))?;
    let document_read = read(&value).map_err(|faults| of_case(first_fault(faults)))?;
    let before = Side::of(Source::Document(document_read.clone()), MOST).map_err(of_case)?;
    let counted = before.counted().map_err(of_case)?;
    let value = read_value(answer.as_bytes()).map_err(|found| sound(first_fault(found)))?;
    let kernels = read_kernels(&value).map_err(|faults| sound(first_fault(faults)))?;
    same_tensors(&document_read, &kernels)?;
    let bytes = same_kernels(&document_read, &kernels)?;
    valid::well_formed(&kernels).map_err(sound)?;
    let most = counted.work.saturating_mul(TIMES).saturating_add(MORE);
    let after = Side::Kernels { kernels, most, bytes };
    let found = after.counted().map_err(sound)?;
    aims::moved(counted, found, "MCI-27")?;
    let stored: Vec<u32> = document_read.boundaries.iter().map(|boundary| boundary.value).collect();
    let seed = fnv1a64(document);
    in_fields(&before, &after, &Aim::Lowered(stored.clone()), seed)?;
    within_bounds(&before, &after, &stored, seed)
}

/// Whether both have the same tensors, inputs and outputs.
fn same_tensors(document: &Document, kernels: &Kernels) -> Result<(), Wrong> {
    let name = |name: u32| document.names[name as usize].as_str();
    let other = |name: u32| kernels.names[name as usize].as_str();
    let tensors = document.values.iter().filter(|value| value.memory == Memory::Global);
    let mut expected: Vec<_> =
        tensors.map(|value| (name(value.name), value.shape.as_slice(), value.dtype)).collect();
    let mut found: Vec<_> = kernels
        .tensors
        .iter()
        .map(|tensor| (other(tensor.name), tensor.shape.as_slice(), tensor.dtype))
        .collect();
    expected.sort_by_key(|tensor| tensor.0);
    found.sort_by_key(|tensor| tensor.0);
    if expected != found {
        return Err((format!("the tensors {expected:?} (MCI-27)"), format!("{found:?}")));
    }
    for (which, first, second) in
        [("inputs", &document.inputs, &kernels.inputs), ("outputs", &document.outputs, &kernels.outputs)]
    {
        let first: Vec<&str> = first.iter().map(|&each| name(each)).collect();
        let second: Vec<&str> = second.iter().map(|&each| other(each)).collect();
        if first != second {
            return Err((format!("the {which} {first:?} (MCI-27)"), format!("{second:?}")));
        }
    }
    Ok(())
}

/// Whether there is a kernel for each region, with as many blocks; and what each may hold.
fn same_kernels(document: &Document, kernels: &Kernels) -> Result<Vec<[i64; 2]>, Wrong> {
    let count = |to: i64, step: i64| u128::from(to.unsigned_abs().div_ceil(step.unsigned_abs().max(1)));
    let of_region = |region: &megakernel_mcir::Region| {
        let step =
            |axis: u32| region.tile.shape.iter().find(|(known, _)| *known == axis).map_or(1, |of| of.1);
        let all = region.tile.blocks.iter().map(|&(axis, to)| count(to, step(axis)));
        (document.names[region.id as usize].clone(), all.fold(1_u128, u128::saturating_mul))
    };
    let of_kernel = |kernel: &megakernel_mcir::kernel::Kernel| {
        let all = kernel.blocks.iter().map(|axis| count(axis.to, axis.step));
        (kernels.names[kernel.id as usize].clone(), all.fold(1_u128, u128::saturating_mul))
    };
    let expected: Vec<(String, u128)> = document.regions.iter().map(of_region).collect();
    let found: Vec<(String, u128)> = kernels.kernels.iter().map(of_kernel).collect();
    if expected != found {
        return Err((format!("kernels and their blocks: {expected:?} (MCI-27)"), format!("{found:?}")));
    }
    Ok(uses::held_each(document))
}
