//! The MaterializationEliminationPass (clause MCI-26): what one region stores and another loads, each block its own tile, becomes a tile of one region.
//! It rewrites the JSON, so that members that mean nothing stay.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use megakernel_mcir::{Document, read};
use serde_json::{Map, Value as Json, json};

use crate::joint::{Joint, Part, joint};
use crate::passes;

/// The most nodes that are looked at: a document of very many regions has no answer here.
const MOST: u64 = 50_000_000;

/// Why a tensor between regions stays.
pub type Stays = (String, &'static str);

/// A document that is being changed.
pub struct Draft {
    /// Tensors and tiles by name.
    pub values: Map<String, Json>,
    /// Outputs of the document.
    pub outputs: HashSet<String>,
    /// What a block may hold: in shared memory, and in registers.
    pub target: [Option<i64>; 2],
    /// Regions in the order in which they run.
    pub parts: Vec<Part>,
    /// Inputs of the document.
    inputs: HashSet<String>,
    /// Nodes that were looked at.
    pub work: u64,
}

fn strings(list: &Json) -> HashSet<String> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
}

impl Draft {
    fn of(document: &Document, json: &Json) -> Draft {
        Draft {
            values: json["values"].as_object().cloned().unwrap_or_default(),
            inputs: strings(&json["inputs"]),
            outputs: strings(&json["outputs"]),
            target: [document.target.shared, document.target.register],
            parts: json["regions"].as_array().into_iter().flatten().map(Part::of).collect(),
            work: 0,
        }
    }

    /// Tensors between inputs and outputs, in the order in which they are stored.
    fn between(&self) -> Vec<String> {
        let stored = self.parts.iter().flat_map(|part| part.tensors(true));
        let inner = stored.filter(|name| !self.inputs.contains(*name) && !self.outputs.contains(*name));
        let mut seen = HashSet::new();
        inner.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
    }

    /// Makes one region of two.
    fn join(&mut self, joint: &Joint) {
        let (at, other) = (joint.place, if joint.place == joint.first { joint.second } else { joint.first });
        let second = self.parts[joint.second].clone();
        let first = self.parts[joint.first].clone();
        let mut gone: Vec<String> = Vec::new();
        for tensor in joint.tiles.keys() {
            let elsewhere =
                self.parts.iter().enumerate().any(|(place, part)| {
                    place != joint.second && part.tensors(false).any(|name| name == tensor)
                });
            if !elsewhere && !self.outputs.contains(tensor) {
                gone.push(tensor.clone());
            }
        }
        let (made, unused) = joined(first, second, joint, &gone);
        for name in gone.iter().chain(&unused) {
            self.values.remove(name);
        }
        self.parts[at] = made;
        self.parts.remove(other);
    }
}

/// The region of two, without the stores of tensors that are gone; and the tiles that nobody loads any more.
fn joined(first: Part, second: Part, joint: &Joint, gone: &[String]) -> (Part, BTreeSet<String>) {
    let mut unused = BTreeSet::new();
    let mut instead: HashMap<String, String> = HashMap::new();
    for node in second.bodies.iter().flatten() {
        if let (Some(tensor), Some(tile)) = (node["in"][0].as_str(), node["out"][0].as_str())
            && node["op"] == "LoadTile"
            && let Some(kept) = joint.tiles.get(tensor)
        {
            instead.insert(tile.to_owned(), kept.clone());
            unused.insert(tile.to_owned());
        }
    }
    let is_kept = |axis: &String| first.axes.contains_key(axis);
    let mut of_first: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut of_second: BTreeMap<String, Option<String>> = BTreeMap::new();
    for axis in first.blocks.keys() {
        of_first.insert(axis.clone(), is_kept(axis).then(|| axis.clone()));
    }
    for axis in second.blocks.keys() {
        of_second.insert(axis.clone(), joint.axes.get(axis).cloned());
    }
    if let Some(axis) = second.stream["axis"].as_str() {
        let mut name = axis.to_owned();
        while first.blocks.contains_key(&name) {
            name.push('\'');
        }
        of_second.insert(axis.to_owned(), Some(name));
    }
    let mut ids: HashSet<String> = first.ids().map(str::to_owned).collect();
    let [one, mut two] = [(&first, &of_first), (&second, &of_second)].map(|(part, axes)| {
        part.bodies
            .each_ref()
            .map(|nodes| nodes.iter().map(|node| renamed(node, axes)).collect::<Vec<Json>>())
    });
    for nodes in &mut two {
        nodes.retain(|node| {
            node["op"] != "LoadTile"
                || node["in"][0].as_str().is_none_or(|name| !joint.tiles.contains_key(name))
        });
        for node in nodes.iter_mut() {
            for name in node["in"].as_array_mut().into_iter().flatten() {
                if let Some(kept) = name.as_str().and_then(|name| instead.get(name)) {
                    *name = json!(kept);
                }
            }
            let mut id = node["id"].as_str().unwrap_or_default().to_owned();
            while !ids.insert(id.clone()) {
                id.push('\'');
            }
            node["id"] = json!(id);
        }
    }
    let mut bodies = if first.goes_on() {
        let [begin, each, mut end] = one;
        end.extend(two.into_iter().flatten().filter(|node| node["op"] != "Barrier"));
        [begin, each, end]
    } else {
        let [begin, each, end] = two;
        let before = one.into_iter().flatten().filter(|node| node["op"] != "Barrier");
        [before.chain(begin).collect(), each, end]
    };
    for nodes in &mut bodies {
        nodes.retain(|node| {
            node["op"] != "StoreTile" || !gone.iter().any(|tensor| node["out"][0] == tensor.as_str())
        });
    }
    let (from, axes) = if first.goes_on() { (&first, &of_first) } else { (&second, &of_second) };
    let mut stream = from.stream.clone();
    let mut steps: BTreeMap<String, i64> = BTreeMap::new();
    if let Some(axis) = from.stream["axis"].as_str() {
        let name = axes.get(axis).cloned().flatten().unwrap_or_else(|| axis.to_owned());
        steps.insert(name.clone(), from.steps.get(axis).copied().unwrap_or(1));
        for bounds in ["from", "to"] {
            for bound in stream.get_mut(bounds).and_then(Json::as_array_mut).into_iter().flatten() {
                *bound = index(bound, axes);
            }
        }
        stream["axis"] = json!(name);
    }
    let blocks: BTreeMap<String, i64> = first
        .blocks
        .iter()
        .filter(|(axis, _)| is_kept(axis))
        .map(|(axis, extent)| (axis.clone(), *extent))
        .collect();
    for axis in blocks.keys() {
        steps.insert(axis.clone(), first.steps.get(axis).copied().unwrap_or(1));
    }
    let state = from.state.clone();
    (Part::made(second.json, blocks, steps, stream, state, bodies), unused)
}

/// A node with other axes; those that have one value are it.
fn renamed(node: &Json, axes: &BTreeMap<String, Option<String>>) -> Json {
    let mut made = node.clone();
    for index_of in made.get_mut("at").and_then(Json::as_array_mut).into_iter().flatten() {
        *index_of = index(index_of, axes);
    }
    if made["fn"] == "mask" {
        for which in ["rows", "columns"] {
            made[which] = index(&made[which], axes);
        }
    }
    made
}

fn index(given: &Json, axes: &BTreeMap<String, Option<String>>) -> Json {
    let name = |axis: &str| axes.get(axis).cloned().unwrap_or_else(|| Some(axis.to_owned()));
    let term = |term: &Json| match term {
        Json::String(axis) => name(axis).map(|axis| json!(axis)),
        Json::Array(pair) => name(pair.get(1)?.as_str()?).map(|axis| json!([pair[0], axis])),
        number => Some(number.clone()),
    };
    match given {
        Json::Array(terms) => terms.iter().filter_map(term).collect(),
        other => term(other).unwrap_or_else(|| json!(0)),
    }
}

/// What is made of a document that breaks no rule: tiles are kept as long as their new regions need them.
///
/// # Errors
/// A document that has too many regions for that.
pub fn eliminated(document: &Document, json: &Json) -> Result<Json, String> {
    let (made, is_changed, _) = apply(document, json)?;
    if !is_changed {
        return Ok(made);
    }
    let read = read(&made).map_err(|_| "what it would become is no document".to_owned())?;
    Ok(passes::assign(&read, &made))
}

/// Which tensors stay between the regions of a document that breaks no rule, and why each cannot vanish.
pub fn stays(json: &Json) -> Vec<Stays> {
    read(json)
        .ok()
        .and_then(|document| apply(&document, json).ok())
        .map_or_else(Vec::new, |(_, _, stays)| stays)
}

/// What is made, with the residency that there was; whether anything is; and what stays between its regions.
fn apply(document: &Document, json: &Json) -> Result<(Json, bool, Vec<Stays>), String> {
    let mut draft = Draft::of(document, json);
    let mut is_changed = false;
    let stays = loop {
        let mut stays = Vec::new();
        let mut found = None;
        for tensor in draft.between() {
            match joint(&mut draft, &tensor) {
                Ok(joint) => {
                    found = Some(joint);
                    break;
                }
                Err(reason) => stays.push((tensor, reason)),
            }
            if draft.work > MOST {
                return Err("it has too many regions".to_owned());
            }
        }
        let Some(joint) = found else { break stays };
        draft.join(&joint);
        is_changed = true;
    };
    if !is_changed {
        return Ok((json.clone(), false, stays));
    }
    let mut made = json.clone();
    let is_there = |name: &Json| name.as_str().is_some_and(|name| draft.values.contains_key(name));
    if let Some(boundaries) = made.get_mut("boundaries").and_then(Json::as_array_mut) {
        boundaries.retain(|boundary| is_there(&boundary["value"]));
    }
    made["regions"] = draft.parts.iter().map(Part::region).collect();
    made["values"] = Json::Object(draft.values);
    Ok((made, true, stays))
}
