//! Passes on documents: TileSchedulingPass (clause MCI-24) and ResidencyAssignmentPass (MCI-25). Both rewrite the JSON, so that members that mean nothing stay.

use std::collections::{BTreeMap, HashSet};

use megakernel_mcir::{Body, Document, Lifetime, Memory, Op, read};
use serde_json::{Value as Json, json};

use crate::validate::validate_document;

/// Whether a document breaks no rule.
fn is_accepted(json: &Json) -> bool {
    read(json)
        .is_ok_and(|document| validate_document(&document).diagnostics.iter().all(|found| !found.is_error()))
}

/// Loads in streams begin an iteration ahead, region by region, where a block can hold two of their tiles.
pub fn schedule(document: &Document, json: &Json) -> Json {
    let mut made = json.clone();
    for (number, region) in document.regions.iter().enumerate() {
        let is_late = |op: &Op| matches!(op, Op::LoadTile(_) | Op::Prefetch(_, 0));
        if region.stream.is_some() && region.tile.bodies[1].iter().any(|node| is_late(&node.op)) {
            let changed = ahead(document, number, made.clone());
            if is_accepted(&changed) {
                made = changed;
            }
        }
    }
    made
}

/// A name that nothing in a region has.
fn fresh(taken: &mut HashSet<String>, of: &str) -> String {
    let name = (0_u64..).map(|number| format!("{of}-{number}")).find(|name| !taken.contains(name));
    let name = name.unwrap_or_default();
    taken.insert(name.clone());
    name
}

fn ahead(document: &Document, number: usize, mut json: Json) -> Json {
    let region = &document.regions[number];
    let name = |name: u32| document.names[name as usize].clone();
    let mut taken: HashSet<String> = region.tile.bodies.iter().flatten().map(|node| name(node.id)).collect();
    let mut tiles = Vec::new();
    let old = json["regions"][number]["streaming"]["tile"]["each"].take();
    let (mut first, mut each) = (Vec::new(), Vec::new());
    for (node, text) in region.tile.bodies[1].iter().zip(old.as_array().into_iter().flatten()) {
        let is_load = matches!(node.op, Op::LoadTile(_));
        if !is_load && !matches!(node.op, Op::Prefetch(_, 0)) {
            each.push(text.clone());
            continue;
        }
        let Some(&tile) = node.outs.first() else { continue };
        tiles.push(tile);
        let mut load = text.clone();
        load["op"] = json!("Prefetch");
        load["version"] = json!(1);
        each.push(load.clone());
        load["version"] = json!(0);
        load["id"] = json!(fresh(&mut taken, &format!("{}-first", name(node.id))));
        first.push(load);
        if is_load {
            let id = fresh(&mut taken, &format!("{}-wait", name(node.id)));
            each.push(json!({"id": id, "op": "Barrier", "wait": [[name(tile), 0]]}));
        }
    }
    let bodies = &mut json["regions"][number]["streaming"]["tile"];
    bodies["each"] = json!(each);
    let mut begin = bodies.get("begin").and_then(Json::as_array).cloned().unwrap_or_default();
    begin.extend(first);
    bodies["begin"] = json!(begin);
    for tile in tiles {
        let text = name(tile);
        let value = document.values.iter().find(|value| value.name == tile);
        json["values"][&text]["buffers"] = json!(value.map_or(2, |value| value.buffers.max(2)));
        let memory = value.map_or(Memory::Shared, |value| value.memory);
        let Some(residency) = json["residency"].as_array_mut() else { continue };
        let mut is_moved = false;
        for kept in residency.iter_mut().filter(|kept| kept["lifetime"] == "node") {
            if let Some(values) = kept["values"].as_array_mut() {
                let before = values.len();
                values.retain(|value| *value != text.as_str());
                is_moved |= values.len() < before;
            }
        }
        if is_moved {
            residency.push(json!({"memory": memory.name(), "lifetime": "iteration", "values": [text]}));
        }
    }
    json
}

/// Each tile is kept no longer than it has to be, in as many slots as it needs.
pub fn assign(document: &Document, json: &Json) -> Json {
    let mut made = json.clone();
    let name = |name: u32| document.names[name as usize].clone();
    let states: HashSet<u32> =
        document.regions.iter().flat_map(|region| &region.state).map(|state| state.value).collect();
    // By tile: the bodies of its nodes but for `Prefetch`, and how far ahead it is loaded.
    let mut used: BTreeMap<u32, (HashSet<Body>, Option<i64>)> = BTreeMap::new();
    for region in &document.regions {
        for (&body, nodes) in Body::ALL.iter().zip(&region.tile.bodies) {
            for node in nodes {
                for &tile in node.ins.iter().chain(&node.outs) {
                    let (bodies, ahead) = used.entry(tile).or_default();
                    if let Op::Prefetch(_, version) = node.op {
                        *ahead = Some(if body == Body::Each { version } else { ahead.unwrap_or(0) });
                    } else {
                        bodies.insert(body);
                    }
                }
            }
        }
    }
    let mut kept: BTreeMap<(Memory, Lifetime), Vec<String>> = BTreeMap::new();
    for value in document.values.iter().filter(|value| value.memory != Memory::Global) {
        let (bodies, ahead) = used.remove(&value.name).unwrap_or_default();
        let lifetime = if states.contains(&value.name) {
            Lifetime::Block
        } else if bodies.len() <= 1 && ahead.is_none() {
            Lifetime::Node
        } else if bodies.iter().all(|&body| body == Body::Each) {
            Lifetime::Iteration
        } else if bodies.contains(&Body::End) {
            Lifetime::Block
        } else {
            Lifetime::Stream
        };
        kept.entry((value.memory, lifetime)).or_default().push(name(value.name));
        let needed = ahead.map_or(1, |version| version + 1);
        if value.buffers > needed {
            made["values"][name(value.name)]["buffers"] = json!(needed);
        }
    }
    let region = |((memory, lifetime), values): (&(Memory, Lifetime), &Vec<String>)| json!({"memory": memory.name(), "lifetime": lifetime.name(), "values": values});
    made["residency"] = json!(kept.iter().map(region).collect::<Vec<Json>>());
    made
}
