//! The rules IS06 to IS08: who produces what, and when.

use std::collections::BTreeMap;

use megakernel_ir::Rule;
use megakernel_mcir::{Body, Index, Node, Op, Region, Term};
use megakernel_order::Findings;

use crate::axes::Factors;
use crate::world::{ByName, Site, World, bit, moves, nodes};

/// The places of states in `in` and `out` of a node.
pub fn states(node: &Node) -> &'static [(usize, usize)] {
    if let Op::UpdateState(update) = node.op { update.states() } else { &[] }
}

/// An index whose terms have been added, as something to compare.
pub fn added(index: &Index) -> Summed {
    let mut number = 0;
    let mut factors = Factors::new();
    for term in &index.terms {
        match *term {
            Term::Number(value) => number += value,
            Term::Axis(axis) => factors.push((axis, 1)),
            Term::Scaled(factor, axis) => factors.push((axis, factor)),
        }
    }
    if factors.len() > 1 {
        factors.sort_unstable();
        factors.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
    }
    factors.retain(|&mut (_, factor)| factor != 0);
    (factors, number)
}

/// What an index adds up to: each variable with its factor, and the number.
pub type Summed = (Factors, i64);

/// What indices add up to, by value, for first producers that other nodes were compared with: added once, since any number of nodes may be.
type Sums = BTreeMap<usize, Vec<Summed>>;

/// Whether a `Prefetch` loads what the first producer of the value does: another one in the region, of the same tile of the tensor.
fn is_same_load(sums: &mut Sums, place: usize, first: &Node, second: &Node) -> bool {
    let (Op::Prefetch(a, _), Op::Prefetch(b, _)) = (&first.op, &second.op) else { return false };
    if first.ins != second.ins || a.len() != b.len() {
        return false;
    }
    if a.iter().zip(b).all(|(a, b)| a.terms == b.terms) {
        return true;
    }
    let a = sums.entry(place).or_insert_with(|| a.iter().map(added).collect());
    a.iter().zip(b).all(|(a, b)| *a == added(b))
}

/// IS06.
pub fn one(world: &World<'_>, findings: &mut Findings) {
    // By value: the first producer, and its region.
    let mut known: Vec<Option<(&Node, usize)>> = vec![None; world.document.values.len()];
    let mut sums = Sums::new();
    for (number, region) in world.document.regions.iter().enumerate() {
        for site in nodes(number, region) {
            for (place, &name) in site.node.outs.iter().enumerate() {
                if states(site.node).iter().any(|&(_, out)| out == place) {
                    continue;
                }
                let value = world.place(name);
                let message = match known[value] {
                    _ if world.is_input(name) => "it is an input of the document".to_owned(),
                    None => {
                        known[value] = Some((site.node, number));
                        continue;
                    }
                    Some((first, of)) if of == number && is_same_load(&mut sums, value, first, site.node) => {
                        continue;
                    }
                    Some((first, _)) => format!("it is produced by `{}` too", world.name(first.id)),
                };
                let message = format!("`{}` has two producers: {message}", world.name(name));
                findings.broken(Rule::IS06, site.output(place), message);
            }
        }
    }
}

/// IS07.
pub fn earlier(world: &World<'_>, findings: &mut Findings) {
    let document = world.document;
    let mut stored: Vec<bool> = document.values.iter().map(|value| world.is_input(value.name)).collect();
    // By tile: the bodies of the region that can read it from here on, each as a bit.
    let mut there: ByName<u8> = ByName::new(document);
    let make = |there: &mut ByName<u8>, tile: u32, bodies: u8| {
        let before = there.get(tile).unwrap_or(0);
        there.insert(tile, before | bodies);
    };
    let (mut states, mut outputs) = (ByName::new(document), ByName::new(document));
    for (number, region) in document.regions.iter().enumerate() {
        states.set(region.state.iter().map(|state| state.value));
        outputs.set(region.outputs.iter().copied());
        there.clear();
        for site in nodes(number, region) {
            if let (Op::Prefetch(..), Some(&tile)) = (&site.node.op, site.node.outs.first()) {
                make(&mut there, tile, bit(Body::Each));
            }
        }
        for site in nodes(number, region) {
            for (place, &name) in site.node.ins.iter().enumerate() {
                let is_there = if world.is_tile(name) {
                    states.has(name) || there.get(name).is_some_and(|bodies| bodies & bit(site.body) != 0)
                } else {
                    stored[world.place(name)] || outputs.has(name)
                };
                if !is_there {
                    let message = format!("no node before it produces `{}`", world.name(name));
                    findings.broken(Rule::IS07, site.input(place), message);
                }
            }
            if matches!(site.node.op, Op::Prefetch(..)) {
                continue;
            }
            let bodies = if site.body == Body::Begin { u8::MAX } else { bit(site.body) };
            for &name in &site.node.outs {
                make(&mut there, name, bodies);
            }
        }
        for site in nodes(number, region) {
            if let Some(moved) = moves(site.node).filter(|moved| moved.stores) {
                stored[world.place(moved.tensor)] = true;
            }
        }
    }
}

/// IS08.
pub fn of_states(world: &World<'_>, findings: &mut Findings) {
    let mut declared = ByName::new(world.document);
    let mut of = [(); 2].map(|()| ByName::new(world.document));
    for (number, region) in world.document.regions.iter().enumerate() {
        for (place, state) in region.state.iter().enumerate() {
            let is_new = declared.add(state.value);
            if !is_new || !world.is_tile(state.value) {
                let what = if is_new { "is no tile" } else { "is a state of another region" };
                let at = format!("/regions/{number}/streaming/state/{place}/value");
                findings.broken(Rule::IS08, at, format!("`{}` {what}", world.name(state.value)));
            }
        }
        of_region(world, number, region, &mut of, findings);
    }
}

fn of_region(
    world: &World<'_>,
    number: usize,
    region: &Region,
    [declared, updated]: &mut [ByName<()>; 2],
    findings: &mut Findings,
) {
    declared.set(region.state.iter().map(|state| state.value));
    updated.clear();
    // Without states, only an update of one can be wrong.
    let is_about_states = |site: &Site<'_>| !region.state.is_empty() || !states(site.node).is_empty();
    for site in nodes(number, region).filter(is_about_states) {
        let node = site.node;
        let pairs: Vec<(u32, u32)> =
            states(node).iter().filter_map(|&(a, b)| Some((*node.ins.get(a)?, *node.outs.get(b)?))).collect();
        if pairs.iter().any(|(old, new)| old != new || !declared.has(*new)) {
            let message = "what it updates is no state of the region, or another one than it reads";
            findings.broken(Rule::IS08, site.pointer(), message);
        } else {
            // An update has two states at most.
            let is_twice = |pairs: &[(u32, u32)]| pairs.len() > 1 && pairs[0].1 == pairs[1].1;
            if is_twice(&pairs) || pairs.iter().any(|&(_, new)| updated.has(new)) {
                findings.broken(Rule::IS08, site.pointer(), "it updates a state a second time");
            }
        }
        for (place, name) in node.ins.iter().enumerate() {
            let is_own = states(node).iter().any(|&(old, _)| old == place);
            if !is_own && site.body != Body::End && declared.has(*name) && !updated.has(*name) {
                let message = format!("the state `{}` is read before it is updated", world.name(*name));
                findings.broken(Rule::IS08, site.input(place), message);
            }
        }
        for (place, name) in node.outs.iter().enumerate() {
            if declared.has(*name) && !states(node).iter().any(|&(_, new)| new == place) {
                let message = format!("`{}` is a state, and this does not update it", world.name(*name));
                findings.broken(Rule::IS08, site.output(place), message);
            }
        }
        updated.extend(pairs.iter().map(|&(_, new)| new));
    }
    for (place, state) in region.state.iter().enumerate() {
        if !updated.has(state.value) {
            let message = format!("no `UpdateState` updates `{}`", world.name(state.value));
            findings.broken(Rule::IS08, format!("/regions/{number}/streaming/state/{place}"), message);
        }
    }
}
