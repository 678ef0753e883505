//! The rules IS04 and IS05: what nodes take, and what regions say that they take.

use megakernel_ir::Rule;
use megakernel_mcir::{Body, Function, Node, Op, Region, Update};
use megakernel_order::Findings;

use crate::structure::{List, lists};
use crate::world::{ByName, Site, World, moves, nodes};

/// How many values a node has in `in` and in `out`.
fn required(op: &Op) -> (usize, usize) {
    match op {
        Op::Barrier(_) => (0, 0),
        Op::Compute(Function::Matmul(_) | Function::Binary(..)) => (2, 1),
        Op::UpdateState(Update::Add | Update::Max) => (2, 1),
        Op::UpdateState(Update::ScaleAdd) => (3, 1),
        Op::UpdateState(Update::OnlineSoftmax) => (3, 4),
        _ => (1, 1),
    }
}

/// IS04.
pub fn check(world: &World<'_>, findings: &mut Findings) {
    // By value: the last region that prefetches it.
    let mut prefetched = vec![usize::MAX; world.document.values.len()];
    for (number, region) in world.document.regions.iter().enumerate() {
        for site in nodes(number, region) {
            if let (Op::Prefetch(..), Some(&tile)) = (&site.node.op, site.node.outs.first()) {
                prefetched[world.place(tile)] = number;
            }
        }
        for site in nodes(number, region) {
            if let Err(message) = judge(world, region, &site) {
                findings.broken(Rule::IS04, site.pointer(), message);
            }
            for (place, &(name, _)) in site.node.op.waits().iter().enumerate() {
                if prefetched[world.place(name)] != number {
                    let message = format!("no `Prefetch` of the region loads `{}`", world.name(name));
                    findings.broken(Rule::IS04, format!("{}/wait/{place}", site.pointer()), message);
                }
            }
        }
    }
}

fn judge(world: &World<'_>, region: &Region, site: &Site<'_>) -> Result<(), String> {
    let node = site.node;
    let (found, required) = ((node.ins.len(), node.outs.len()), required(&node.op));
    if found != required {
        return Err(format!(
            "found {} values in `in` and {} in `out`, required {} and {}",
            found.0, found.1, required.0, required.1
        ));
    }
    let stands = match node.op {
        Op::Prefetch(..) | Op::Barrier(_) => site.body != Body::End,
        Op::UpdateState(_) => site.body == Body::Each,
        _ => true,
    };
    if !stands {
        return Err(format!("`{}` cannot stand in `{}`", node.op.name(), site.body.name()));
    }
    if matches!(node.op, Op::Prefetch(..)) && region.stream.is_none() {
        return Err("there is no stream, and nothing to prefetch for".to_owned());
    }
    kinds(world, node)
}

fn kinds(world: &World<'_>, node: &Node) -> Result<(), String> {
    let moved = moves(node);
    for (is_out, &name) in
        node.ins.iter().map(|name| (false, name)).chain(node.outs.iter().map(|name| (true, name)))
    {
        let is_tensor = moved.as_ref().is_some_and(|moved| moved.stores == is_out);
        if world.is_tile(name) == is_tensor {
            let required = if is_tensor { "a tensor, in global memory" } else { "a tile, on chip" };
            return Err(format!("found `{}`, required {required}", world.name(name)));
        }
    }
    let (Some(moved), Some(at)) = (moved, node.op.at()) else { return Ok(()) };
    let (tensor, tile) = (&world.value(moved.tensor).shape, &world.value(moved.tile).shape);
    if at.len() != tensor.len() {
        return Err(format!("found {} indices, required one for each of {} axes", at.len(), tensor.len()));
    }
    if tile.len() > tensor.len() {
        return Err(format!("the tile has {} axes, and the tensor {}", tile.len(), tensor.len()));
    }
    Ok(())
}

/// IS05.
pub fn interface(world: &World<'_>, findings: &mut Findings) {
    let document = world.document;
    lists(document, &mut |names, list| {
        for (place, &name) in names.iter().enumerate() {
            if world.is_tile(name) {
                let message = format!("found the tile `{}`, required a tensor", world.name(name));
                findings.broken(Rule::IS05, list.pointer(place), message);
            } else if list == List::Outputs && world.is_input(name) {
                let message = format!("`{}` is an input of the document", world.name(name));
                findings.broken(Rule::IS05, list.pointer(place), message);
            }
        }
    });
    for (place, boundary) in document.boundaries.iter().enumerate() {
        if world.is_tile(boundary.value) {
            let message = format!("found the tile `{}`, required a tensor", world.name(boundary.value));
            findings.broken(Rule::IS05, format!("/boundaries/{place}/value"), message);
        }
    }
    let mut used = vec![usize::MAX; document.values.len()];
    let mut names = ByName::new(document);
    for (number, region) in document.regions.iter().enumerate() {
        for stores in [false, true] {
            let (which, listed) =
                if stores { ("outputs", &region.outputs) } else { ("inputs", &region.inputs) };
            names.set(listed.iter().copied());
            for site in nodes(number, region) {
                let Some(moved) = moves(site.node).filter(|moved| moved.stores == stores) else { continue };
                // A mark of its own for each list.
                used[world.place(moved.tensor)] = 2 * number + usize::from(stores);
                if !names.has(moved.tensor) {
                    let name = world.name(moved.tensor);
                    let message = format!("`{name}` is not among the {which} of the region");
                    let at = if stores { site.output(0) } else { site.input(0) };
                    findings.broken(Rule::IS05, at, message);
                }
            }
            for (place, &name) in listed.iter().enumerate() {
                let is_used = used[world.place(name)] == 2 * number + usize::from(stores);
                if !is_used && !world.is_tile(name) {
                    let message = format!("no node of the region moves `{}`", world.name(name));
                    findings.broken(Rule::IS05, format!("/regions/{number}/{which}/{place}"), message);
                }
            }
        }
    }
}
