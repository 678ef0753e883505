//! The rules IB01 to IB03: where tiles lie, and what is stored.

use megakernel_ir::Rule;
use megakernel_mcir::Body;
use megakernel_order::Findings;
use smallvec::SmallVec;

use crate::axes::{Affine, Axes};
use crate::shapes::Shaped;
use crate::world::{World, moves, nodes};

/// Judges a region.
pub fn check(world: &World<'_>, shaped: &Shaped<'_>, findings: &mut Findings) {
    let sites = || nodes(shaped.number, shaped.region);
    let stores = |node| moves(node).filter(|moved| moved.stores);
    let mut stored = world.table();
    for moved in sites().filter_map(|site| stores(site.node)) {
        stored.insert(moved.tensor, 0);
    }
    for site in sites() {
        let (Some(moved), Some(at)) = (moves(site.node), site.node.op.at()) else { continue };
        let (tensor, tile) = (&world.value(moved.tensor).shape, &world.value(moved.tile).shape);
        let mut is_inside = true;
        let forms: SmallVec<[Affine; 2]> = at.iter().map(|index| shaped.axes.affine(index)).collect();
        for (place, (form, &extent)) in forms.iter().zip(tensor).enumerate() {
            let (least, most) = shaped.axes.bounds(form);
            if least < 0 || most >= extent {
                is_inside = false;
                let message =
                    format!("found an index from {least} to {most}, required one from 0 to {}", extent - 1);
                findings.broken(Rule::IB01, format!("{}/at/{place}", site.pointer()), message);
            }
        }
        if moved.stores && is_inside {
            let in_stream = site.body == Body::Each;
            if let Err(message) = coverage(world, &shaped.axes, in_stream, &forms, tile, tensor) {
                findings.broken(Rule::IB02, format!("{}/at", site.pointer()), message);
            }
        }
        if !moved.stores && stored.has(moved.tensor) {
            let message = format!("the region stores `{}` itself", world.name(moved.tensor));
            findings.broken(Rule::IB03, site.input(0), message);
        }
    }
}

/// IB02. Where tiles of one size begin, along an axis, are sums of multiples of strides: they are all multiples of the size, each once,
/// if and only if the strides are those of a number system whose first one is the size.
fn coverage(
    world: &World<'_>,
    axes: &Axes,
    in_stream: bool,
    forms: &[Affine],
    tile: &[i64],
    tensor: &[i64],
) -> Result<(), String> {
    let mut moving: SmallVec<[u32; 4]> = (0..axes.stream_place()).collect();
    if let Some(stream) = axes.stream.filter(|_| in_stream) {
        if !axes.is_fixed {
            return Err("the stream has other bounds in other blocks".to_owned());
        }
        if stream.count == 0 {
            return Err("the stream has no iteration, and nothing is stored".to_owned());
        }
        if stream.count > 1 {
            moving.push(axes.stream_place());
        }
    }
    for &place in &moving {
        let along = |form: &&Affine| form.factors.iter().any(|&(axis, _)| axis == place);
        let times = forms.iter().filter(along).count();
        if times != 1 {
            let name = axes.axis(place).map_or("", |axis| world.name(axis.name));
            return Err(if times == 0 {
                format!("each value of `{name}` stores the same elements")
            } else {
                format!("`{name}` moves the store along {times} axes at once")
            });
        }
    }
    let lacking = tensor.len().saturating_sub(tile.len());
    for (number, (form, &extent)) in forms.iter().zip(tensor).enumerate() {
        let mut size = number.checked_sub(lacking).and_then(|axis| tile.get(axis)).copied().unwrap_or(1);
        let mut strides: SmallVec<[(i64, i64); 2]> = SmallVec::new();
        for &(place, factor) in &form.factors {
            if let Some(axis) = axes.axis(place) {
                strides.push((factor.saturating_abs().saturating_mul(axis.step), axis.count));
            }
        }
        let first = axes.bounds(form).0;
        if first != 0 {
            return Err(format!("along axis {number} nobody stores the index 0: the first one is {first}"));
        }
        strides.sort_unstable();
        for (stride, count) in strides {
            if stride < size {
                return Err(format!("along axis {number} the index {stride} is stored more than once"));
            }
            if stride > size {
                return Err(format!("along axis {number} nobody stores the index {size}"));
            }
            size = size.saturating_mul(count);
        }
        if size < extent {
            return Err(format!("along axis {number} nobody stores the index {size}"));
        }
    }
    Ok(())
}
