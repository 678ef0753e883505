//! Class TB: TB01 tile-bounds, TB02 tile-alignment, TB03 undeclared-tensor.

use std::collections::HashMap;

use megakernel_ir::Rule;
use megakernel_order::Findings;
use megakernel_task_graph::{TensorDecl, Tile, element_bits};
use smallvec::SmallVec;

use crate::types;
use crate::validate::area::Footprint;
use crate::validate::storage::is_slot;
use crate::validate::world::World;

pub fn check(world: &World<'_, '_, '_>, findings: &mut Findings) {
    let declared = world.kernel_graph.map(|graph| {
        let mut declared = HashMap::new();
        for tensor in &graph.tensors {
            declared.entry(&*tensor.name).or_insert(tensor);
        }
        declared
    });
    for rank in world.ranks {
        for (index, task) in rank.graph.all_tasks.iter().enumerate().skip(2) {
            for (is_output, tiles) in [(false, task.inputs()), (true, task.outputs())] {
                for (position, tile) in tiles.iter().enumerate().filter(|(_, tile)| !tile.is_null()) {
                    let list = if is_output { "outputs" } else { "inputs" };
                    let place = || rank.at(&format!("/all_tasks/{index}/{list}/{position}"));
                    if let Some(message) = misaligned(tile) {
                        findings.broken(Rule::TB02, place() + "/offset", message);
                    }
                    let footprint = Footprint { tile, is_slot: is_slot(task, is_output) };
                    let is_written = types::writes(task.task_type, is_output, position);
                    let mut beyond = wraps(footprint, is_written);
                    if let Some(declared) = &declared {
                        match undeclared(tile, declared.get(&*tile.base_ptr).copied()) {
                            Ok(tensor) => beyond = beyond.or_else(|| outside(footprint, tensor)),
                            Err(message) => findings.broken(Rule::TB03, place(), message),
                        }
                    }
                    if let Some(message) = beyond {
                        findings.broken(Rule::TB01, place(), message);
                    }
                }
            }
        }
    }
}

fn misaligned(tile: &Tile<'_>) -> Option<String> {
    let bits = element_bits(tile.data_type)?;
    if tile.offset < 0 {
        return Some(format!("found the offset {}, required at least 0", tile.offset));
    }
    (i128::from(tile.offset) * 8 % i128::from(bits) != 0).then(|| {
        format!("found the offset {}, required a multiple of the element's {} bytes", tile.offset, bits / 8)
    })
}

/// What is wrong with a tile by itself.
fn wraps(footprint: Footprint<'_, '_>, is_written: bool) -> Option<String> {
    let mut axes: SmallVec<[(i64, i64); 4]> =
        footprint.axes().map(|(extent, stride)| (stride, extent)).collect();
    axes.sort_unstable();
    // Where the tile begins within an element, TB02 has found it.
    let mut rest = footprint.first_element()?;
    if is_written && let Some(&(0, extent)) = axes.first() {
        return Some(format!(
            "the {extent} elements of an axis with stride 0 are one, which the task writes {extent} times"
        ));
    }
    axes.retain(|&mut (stride, _)| stride > 0);
    let mut next: Option<i64> = None;
    for &(stride, extent) in axes.iter().rev() {
        if next == Some(stride) {
            return Some(format!(
                "two axes of more than one element have the stride {stride}: they are the same elements"
            ));
        }
        let coordinate = rest / i128::from(stride);
        rest %= i128::from(stride);
        if let Some(next) = next
            && (coordinate + i128::from(extent)) * i128::from(stride) > i128::from(next)
        {
            return Some(format!(
                "along stride {stride} the tile goes from index {coordinate} to {}, but index {} is that of the next stride, {next}",
                coordinate + i128::from(extent) - 1,
                next / stride
            ));
        }
        next = Some(stride);
    }
    None
}

/// The declaration, or why it is not that of the tile.
fn undeclared<'t, 'a>(
    tile: &Tile<'_>,
    tensor: Option<&'t TensorDecl<'a>>,
) -> Result<&'t TensorDecl<'a>, String> {
    match tensor {
        None => Err(format!("the kernel graph declares no tensor `{}`", tile.base_ptr)),
        Some(tensor) if tensor.data_type != tile.data_type => Err(format!(
            "found element type {}, but the kernel graph declares `{}` with {}",
            tile.data_type, tile.base_ptr, tensor.data_type
        )),
        Some(tensor) => Ok(tensor),
    }
}

/// How the tile leaves a declared tensor.
fn outside(footprint: Footprint<'_, '_>, tensor: &TensorDecl<'_>) -> Option<String> {
    let first = footprint.first_element()?;
    let bits = i128::from(element_bits(tensor.data_type)?);
    let bytes = |elements: i128| elements.saturating_mul(bits).saturating_add(7) / 8;
    let elements =
        tensor.dims.iter().fold(1i128, |count, &extent| count.saturating_mul(i128::from(extent.max(0))));
    let end = first.saturating_add(footprint.span());
    if bytes(end) > bytes(elements) {
        return Some(format!("the tile ends with element {}, but `{}` has {elements}", end - 1, tensor.name));
    }
    let mut strides: SmallVec<[i64; 4]> = SmallVec::new();
    let mut stride = 1i64;
    for &extent in tensor.dims.iter().rev() {
        strides.push(stride);
        stride = stride.saturating_mul(extent.max(0));
    }
    strides.reverse();
    let Footprint { tile, is_slot } = footprint;
    let extents: SmallVec<[i64; 4]> = tile
        .dims
        .iter()
        .enumerate()
        .map(|(axis, &extent)| if is_slot && axis == 0 { 1 } else { extent })
        .collect();
    let agrees = |(&extent, (stride, of_tensor)): (&i64, (&i64, &i64))| extent == 1 || stride == of_tensor;
    if strides.len() != tile.strides.len()
        || !extents.iter().zip(tile.strides.iter().zip(&strides)).all(agrees)
    {
        return None;
    }
    let mut rest = first;
    for (axis, ((&extent, &stride), &size)) in extents.iter().zip(&strides).zip(&tensor.dims).enumerate() {
        let (start, left) = match stride {
            0 => (0, rest),
            _ => (rest / i128::from(stride), rest % i128::from(stride)),
        };
        rest = left;
        if start + i128::from(extent) > i128::from(size) {
            return Some(format!(
                "along axis {axis} the tile goes from index {start} to {}, but `{}` has {size}",
                start + i128::from(extent) - 1,
                tensor.name
            ));
        }
    }
    None
}
