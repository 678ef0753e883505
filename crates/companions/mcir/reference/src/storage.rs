//! The rules IM01 and IM02: what is stored; and the warnings.

use megakernel_ir::Rule;
use megakernel_mcir::{Body, Memory, Op};
use megakernel_order::Findings;

use crate::producers::{added, states};
use crate::world::{ByName, World, nodes};

/// IM01 and IM02.
pub fn check(world: &World<'_>, findings: &mut Findings) {
    let document = world.document;
    let allowed = ByName::of(document, document.boundaries.iter().map(|boundary| boundary.value));
    let outputs = document.regions.iter().flat_map(|region| region.outputs.iter().copied());
    let stored = ByName::of(document, outputs);
    for value in &document.values {
        let is_stored = value.memory == Memory::Global && !world.is_input(value.name);
        if is_stored && !allowed.has(value.name) {
            let name = world.name(value.name);
            let message = format!("`{name}` takes global memory, is no input, and has no boundary");
            findings.broken(Rule::IM01, world.value_pointer(value.name), message);
        }
    }
    for (place, boundary) in document.boundaries.iter().enumerate() {
        if !stored.has(boundary.value) {
            let message = format!("no region stores `{}`", world.name(boundary.value));
            findings.broken(Rule::IM02, format!("/boundaries/{place}"), message);
        }
    }
}

/// IW01 to IW05.
pub fn warnings(world: &World<'_>, findings: &mut Findings) {
    let document = world.document;
    let mut used = vec![false; document.values.len()];
    let mut loaded = vec![false; document.values.len()];
    let mut ahead = ByName::new(document);
    let outputs = ByName::of(document, document.outputs.iter().copied());
    // Of tiles of the region, by body: the versions, which are below 64, as bits.
    let mut waited: Vec<[u64; 3]> = Vec::new();
    for (number, region) in document.regions.iter().enumerate() {
        let mut places = world.table();
        waited.clear();
        for site in nodes(number, region) {
            let node = site.node;
            for (place, &name) in node.ins.iter().enumerate() {
                if node.outs.len() > 1 || !states(node).iter().any(|&(old, _)| old == place) {
                    used[world.place(name)] = true;
                }
            }
            for (place, &(name, version)) in node.op.waits().iter().enumerate() {
                let of_tile = places.get(name).unwrap_or(waited.len());
                if of_tile == waited.len() {
                    places.insert(name, of_tile);
                    waited.push([0; 3]);
                }
                let of_body = &mut waited[of_tile][site.body as usize];
                let before = std::mem::replace(of_body, *of_body | 1 << version);
                if before == *of_body {
                    let text = world.name(name);
                    let message = format!("an earlier barrier has waited for this version of `{text}`");
                    findings.broken(Rule::IW03, format!("{}/wait/{place}", site.pointer()), message);
                }
            }
            match (&node.op, node.ins.first(), node.outs.first()) {
                (Op::StoreTile(_), _, Some(&tensor)) => used[world.place(tensor)] = true,
                (Op::Prefetch(_, version), Some(&tensor), Some(&tile)) => {
                    loaded[world.place(tensor)] = true;
                    if site.body == Body::Each {
                        ahead.insert(tile, *version);
                    }
                }
                (Op::LoadTile(at), Some(&tensor), _) => {
                    loaded[world.place(tensor)] = true;
                    let Some(stream) = region.stream.as_ref().filter(|_| site.body == Body::Each) else {
                        continue;
                    };
                    if !at.iter().any(|index| added(index).0.iter().any(|&(axis, _)| axis == stream.axis)) {
                        let message = format!("no index depends on `{}`", world.name(stream.axis));
                        findings.broken(Rule::IW04, site.pointer(), message);
                    }
                }
                _ => {}
            }
        }
    }
    for value in &document.values {
        if !used[world.place(value.name)] {
            let message = format!("nothing uses `{}`", world.name(value.name));
            findings.broken(Rule::IW01, world.value_pointer(value.name), message);
        }
        let needed = ahead.get(value.name).unwrap_or(0) + 1;
        if value.memory != Memory::Global && value.buffers > needed {
            let message = format!("found {} slots, and at most {needed} versions at once", value.buffers);
            findings.broken(Rule::IW02, format!("{}/buffers", world.value_pointer(value.name)), message);
        }
    }
    for (place, boundary) in document.boundaries.iter().enumerate() {
        if !outputs.has(boundary.value) && !loaded[world.place(boundary.value)] {
            let message = format!("`{}` is no output, and nothing loads it", world.name(boundary.value));
            findings.broken(Rule::IW05, format!("/boundaries/{place}"), message);
        }
    }
}
