//! The rules IS06 to IS08: who produces what, and when.

use megakernel_ir::Rule;
use megakernel_mcir::{Body, Index, Node, Op, Region, Term};
use megakernel_order::Findings;

use crate::world::{ByName, Site, World, moves, nodes};

/// The places of states in `in` and `out` of a node.
pub fn states(node: &Node) -> &'static [(usize, usize)] {
    if let Op::UpdateState(update) = node.op { update.states() } else { &[] }
}

/// An index whose terms have been added, as something to compare.
pub fn added(index: &Index) -> (Vec<(u32, i64)>, i64) {
    let mut number = 0;
    let mut factors: Vec<(u32, i64)> = Vec::new();
    for term in &index.terms {
        match *term {
            Term::Number(value) => number += value,
            Term::Axis(axis) => factors.push((axis, 1)),
            Term::Scaled(factor, axis) => factors.push((axis, factor)),
        }
    }
    factors.sort_unstable();
    factors.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 += if is_same { next.1 } else { 0 };
        is_same
    });
    factors.retain(|&(_, factor)| factor != 0);
    (factors, number)
}

/// What an index adds up to: each variable with its factor, and the number.
type Summed = (Vec<(u32, i64)>, i64);

/// The first producer of a value, with what its indices add up to, of a `Prefetch`: added once, since any number of nodes may be compared with it.
struct First<'d> {
    site: Site<'d>,
    at: Option<Vec<Summed>>,
}

impl<'d> First<'d> {
    fn new(site: Site<'d>) -> First<'d> {
        let at =
            if let Op::Prefetch(at, _) = &site.node.op { Some(at.iter().map(added).collect()) } else { None };
        First { site, at }
    }

    fn is_same_load(&self, second: &Site<'_>) -> bool {
        let (Some(a), Op::Prefetch(b, _)) = (&self.at, &second.node.op) else { return false };
        let is_same = self.site.region == second.region && self.site.node.ins == second.node.ins;
        is_same && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| *a == added(b))
    }
}

/// IS06.
pub fn one(world: &World<'_>, findings: &mut Findings) {
    let mut known: Vec<Option<First<'_>>> = world.document.values.iter().map(|_| None).collect();
    for (number, region) in world.document.regions.iter().enumerate() {
        for site in nodes(number, region) {
            for (place, &name) in site.node.outs.iter().enumerate() {
                if states(site.node).iter().any(|&(_, out)| out == place) {
                    continue;
                }
                let message = match &known[world.place(name)] {
                    _ if world.is_input(name) => "it is an input of the document".to_owned(),
                    None => {
                        known[world.place(name)] = Some(First::new(site));
                        continue;
                    }
                    Some(first) if first.is_same_load(&site) => continue,
                    Some(first) => format!("it is produced by `{}` too", world.name(first.site.node.id)),
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
    // By value: the region and the body that can read it from here on.
    let mut there = vec![[usize::MAX; 3]; document.names.len()];
    let (mut states, mut outputs) = (ByName::new(document), ByName::new(document));
    for (number, region) in document.regions.iter().enumerate() {
        states.set(region.state.iter().map(|state| state.value));
        outputs.set(region.outputs.iter().copied());
        for site in nodes(number, region) {
            if let (Op::Prefetch(..), Some(&tile)) = (&site.node.op, site.node.outs.first()) {
                there[tile as usize][Body::Each as usize] = number;
            }
        }
        for site in nodes(number, region) {
            for (place, &name) in site.node.ins.iter().enumerate() {
                let is_there = if world.is_tile(name) {
                    states.has(name) || there[name as usize][site.body as usize] == number
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
            for &name in &site.node.outs {
                let bodies: &[Body] = if site.body == Body::Begin { Body::ALL } else { &[site.body] };
                for &body in bodies {
                    there[name as usize][body as usize] = number;
                }
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
    for site in nodes(number, region) {
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
