//! The MaterializationEliminationPass (clause MCI-26): what one region stores and another loads, each block its own tile, becomes a tile of one region.
//! It rewrites the JSON, so that members that mean nothing stay.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::mem::take;
use std::ops::Range;

use megakernel_mcir::{Document, read};
use serde_json::{Map, Value as Json, json};

use crate::joint::{AROUND, Joint, joint};
use crate::names::Names;
use crate::part::{self, Kind, Node, Part};
use crate::passes;

/// The most nodes that are looked at: a document that takes more has no answer here.
const MOST: u64 = 50_000_000;

/// A tensor between regions, and why it stays.
pub type Stays = (String, &'static str);

/// A document that is being changed.
pub struct Draft<'j> {
    /// Tensors and tiles by name, as they were.
    pub values: &'j Map<String, Json>,
    /// What a block may hold: in shared memory, and in registers.
    pub target: [Option<i64>; 2],
    /// Regions in the order in which they run; none where one has become part of another.
    pub parts: Vec<Option<Part>>,
    /// Outputs of the document.
    outputs: HashSet<&'j str>,
    /// By tensor: the region that stores it.
    storers: HashMap<String, usize>,
    /// By tensor: the regions that load it.
    readers: HashMap<String, BTreeSet<usize>>,
    /// Tensors and tiles that are gone.
    gone: HashSet<String>,
    /// Nodes that were looked at, and the most that may be.
    work: u64,
    most: u64,
}

/// What is between a region and those that load what it stores.
#[derive(Default)]
struct Visit {
    /// The regions that become one for the first tensor that vanishes.
    joint: Option<Joint>,
    /// The tensors before it.
    stays: Vec<Stays>,
    work: u64,
}

impl<'j> Draft<'j> {
    fn of(document: &Document, json: &'j Json, values: &'j Map<String, Json>, most: u64) -> Draft<'j> {
        let parts = json["regions"].as_array().into_iter().flatten();
        let mut draft = Draft {
            values,
            target: [document.target.shared, document.target.register],
            parts: parts.map(|region| Some(Part::of(region, values))).collect(),
            outputs: json["outputs"].as_array().into_iter().flatten().filter_map(Json::as_str).collect(),
            storers: HashMap::new(),
            readers: HashMap::new(),
            gone: HashSet::new(),
            work: 0,
            most,
        };
        for (place, part) in draft.parts.iter().enumerate() {
            for name in part.iter().flat_map(|part| part.tensors(true)) {
                draft.storers.insert(name.to_owned(), place);
            }
            for name in part.iter().flat_map(|part| part.tensors(false)) {
                draft.readers.entry(name.to_owned()).or_default().insert(place);
            }
        }
        draft
    }

    /// The region that stores a tensor.
    pub fn storer(&self, tensor: &str) -> Option<usize> {
        self.storers.get(tensor).copied()
    }

    /// The regions of some that load a tensor.
    pub fn readers(&self, tensor: &str, places: Range<usize>) -> impl Iterator<Item = usize> {
        self.readers.get(tensor).into_iter().flat_map(move |all| all.range(places.clone())).copied()
    }

    /// Fails where this many nodes more are too many.
    fn spend(&self, visit: &mut Visit, nodes: u64) -> Result<(), String> {
        visit.work = visit.work.saturating_add(nodes);
        if self.work.saturating_add(visit.work) > self.most {
            return Err(format!("it takes more than {} steps", self.most));
        }
        Ok(())
    }

    /// Which tensors of those that a region stores stay, until one vanishes.
    fn visit(&self, first: usize) -> Result<Visit, String> {
        let mut visit = Visit::default();
        let Some(part) = &self.parts[first] else { return Ok(visit) };
        self.spend(&mut visit, part.size())?;
        let stores = part.stores();
        // By the region that loads: why all that is between the two stays.
        let mut refused: HashMap<usize, &'static str> = HashMap::new();
        for tensor in part.tensors(true).filter(|name| !self.outputs.contains(name)) {
            let mut readers = self.readers(tensor, 0..self.parts.len());
            let reason = match (readers.next(), readers.next()) {
                (None, _) => "nobody loads it",
                (_, Some(_)) => "several regions load it",
                (Some(second), None) => match refused.get(&second) {
                    Some(reason) => reason,
                    None => {
                        let size = self.parts[second].as_ref().map_or(0, Part::size);
                        self.spend(&mut visit, size.saturating_add(stores.len() as u64))?;
                        match joint(self, &stores, first, second) {
                            Ok(joint) => {
                                self.spend(&mut visit, size.saturating_add(part.size()))?;
                                visit.joint = Some(joint);
                                return Ok(visit);
                            }
                            Err(reason) => {
                                refused.insert(second, reason);
                                reason
                            }
                        }
                    }
                },
            };
            visit.stays.push((tensor.to_owned(), reason));
        }
        Ok(visit)
    }

    /// Makes one region of two, and says which regions store something that may vanish now.
    fn join(&mut self, joint: &Joint) -> BTreeSet<usize> {
        let (Some(first), Some(second)) = (self.parts[joint.first].take(), self.parts[joint.second].take())
        else {
            return BTreeSet::new();
        };
        for (place, part) in [(joint.first, &first), (joint.second, &second)] {
            for name in part.tensors(false) {
                if let Some(readers) = self.readers.get_mut(name) {
                    readers.remove(&place);
                }
            }
        }
        let is_gone = |name: &&String| {
            !self.outputs.contains(name.as_str()) && self.readers.get(*name).is_none_or(BTreeSet::is_empty)
        };
        let gone: HashSet<String> = joint.tiles.keys().filter(is_gone).cloned().collect();
        let (made, unused) = joined(first, second, joint, &gone, self.values);
        self.gone.extend(gone.into_iter().chain(unused));
        for name in made.tensors(true) {
            self.storers.insert(name.to_owned(), joint.place);
        }
        let mut again = BTreeSet::from([joint.place]);
        for name in made.tensors(false) {
            self.readers.entry(name.to_owned()).or_default().insert(joint.place);
            again.extend(self.storers.get(name));
        }
        self.parts[joint.place] = Some(made);
        again
    }
}

/// The region of two, without the stores of tensors that are gone; and the tiles that nobody loads any more.
fn joined(
    mut first: Part,
    mut second: Part,
    joint: &Joint,
    gone: &HashSet<String>,
    values: &Map<String, Json>,
) -> (Part, Vec<String>) {
    let [of_first, of_second] = axes(&first, &second, joint);
    let mut instead: HashMap<String, &str> = HashMap::new();
    for node in second.bodies.iter().flatten().filter(|node| node.kind == Kind::Load) {
        if let Some((tensor, tile)) = node.moved()
            && let Some(kept) = joint.tiles.get(tensor)
        {
            instead.insert(tile.to_owned(), kept);
        }
    }
    for nodes in &mut second.bodies {
        nodes.retain(|node| {
            node.kind != Kind::Load || node.moved().is_none_or(|(_, tile)| !instead.contains_key(tile))
        });
        for name in nodes
            .iter_mut()
            .filter_map(|node| node.json.get_mut("in"))
            .filter_map(Json::as_array_mut)
            .flatten()
        {
            if let Some(kept) = name.as_str().and_then(|name| instead.get(name)) {
                *name = json!(kept);
            }
        }
    }
    for nodes in &mut first.bodies {
        nodes.retain(|node| {
            node.kind != Kind::Store || node.moved().is_none_or(|(tensor, _)| !gone.contains(tensor))
        });
    }
    let goes_on = first.goes_on();
    for nodes in if goes_on { &mut second.bodies } else { &mut first.bodies } {
        nodes.retain(|node| node.kind != Kind::Barrier);
    }
    renamed(&mut first, &of_first);
    renamed(&mut second, &of_second);
    // The smaller one makes way, so that no id is changed very often.
    let is_larger = first.size() >= second.size();
    let (larger, smaller) = if is_larger { (&mut first, &mut second) } else { (&mut second, &mut first) };
    for node in smaller.bodies.iter_mut().flatten() {
        node.json["id"] = json!(larger.ids.free(node.json["id"].as_str().unwrap_or_default()));
    }
    for tile in smaller.tiles.drain() {
        let (memory, bytes) = part::size(values, &tile);
        if larger.tiles.insert(tile) {
            larger.held[memory] = larger.held[memory].saturating_add(bytes);
        }
    }
    for tile in instead.keys().filter(|tile| larger.tiles.remove(*tile)) {
        let (memory, bytes) = part::size(values, tile);
        larger.held[memory] = larger.held[memory].saturating_sub(bytes);
    }
    let (ids, tiles, held) = (take(&mut larger.ids), take(&mut larger.tiles), larger.held);
    let (from, names) = if goes_on { (&first, &of_first) } else { (&second, &of_second) };
    let mut stream = from.stream.clone();
    let mut steps: BTreeMap<String, i64> = BTreeMap::new();
    if let Some(axis) = from.stream["axis"].as_str() {
        let name = names.get(axis).cloned().flatten().unwrap_or_else(|| axis.to_owned());
        steps.insert(name.clone(), from.steps.get(axis).copied().unwrap_or(1));
        for bounds in ["from", "to"] {
            for bound in stream.get_mut(bounds).and_then(Json::as_array_mut).into_iter().flatten() {
                *bound = index(bound, names);
            }
        }
        stream["axis"] = json!(name);
    }
    let state = from.state.clone();
    let mut blocks = take(&mut first.blocks);
    blocks.retain(|axis, _| first.axes.contains_key(axis));
    for axis in blocks.keys() {
        steps.insert(axis.clone(), first.steps.get(axis).copied().unwrap_or(1));
    }
    let bodies = if goes_on {
        let [begin, each, mut end] = first.bodies;
        end.extend(second.bodies.into_iter().flatten());
        [begin, each, end]
    } else {
        let [begin, each, end] = second.bodies;
        [first.bodies.into_iter().flatten().chain(begin).collect(), each, end]
    };
    let unused = instead.into_keys().collect();
    let axes = first.axes;
    (Part { json: second.json, blocks, steps, axes, stream, state, bodies, ids, tiles, held }, unused)
}

/// What axes are in the joined region; those of one value are none.
type Axes = BTreeMap<String, Option<String>>;

/// The axes of two regions in the one that they become.
fn axes(first: &Part, second: &Part, joint: &Joint) -> [Axes; 2] {
    let is_kept = |axis: &String| first.axes.contains_key(axis);
    let of_first = first.blocks.keys().map(|axis| (axis.clone(), is_kept(axis).then(|| axis.clone())));
    let of_second = second.blocks.keys().map(|axis| (axis.clone(), joint.axes.get(axis).cloned()));
    let mut of_second: Axes = of_second.collect();
    if let Some(axis) = second.stream["axis"].as_str() {
        let mut names: Names = first.blocks.keys().cloned().collect();
        of_second.insert(axis.to_owned(), Some(names.free(axis)));
    }
    [of_first.collect(), of_second]
}

/// Gives the nodes of a region other axes; those that have one value are it.
fn renamed(part: &mut Part, axes: &Axes) {
    if axes.iter().all(|(from, to)| to.as_ref() == Some(from)) {
        return;
    }
    for Node { json: node, .. } in part.bodies.iter_mut().flatten() {
        for index_of in node.get_mut("at").and_then(Json::as_array_mut).into_iter().flatten() {
            *index_of = index(index_of, axes);
        }
        if node["fn"] == "mask" {
            for which in ["rows", "columns"] {
                node[which] = index(&node[which], axes);
            }
        }
    }
}

fn index(given: &Json, axes: &Axes) -> Json {
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

/// What is made of a document that breaks no rule, with tiles that are kept as long as their new regions need them; and what stays between its
/// regions, in their order.
///
/// # Errors
/// A document that takes too much.
pub fn eliminated(document: &Document, json: &Json) -> Result<(Json, Vec<Stays>), String> {
    let (made, stays) = apply(document, json, MOST)?;
    let Some(made) = made else { return Ok((json.clone(), stays)) };
    let read = read(&made).map_err(|_| "what it would become is no document".to_owned())?;
    Ok((passes::assign(&read, &made), stays))
}

/// What is made, with the residency that there was, if anything is; and what stays between its regions.
fn apply(document: &Document, json: &Json, most: u64) -> Result<(Option<Json>, Vec<Stays>), String> {
    let no_values = Map::new();
    let values = json["values"].as_object().unwrap_or(&no_values);
    let mut draft = Draft::of(document, json, values, most);
    let mut stays: BTreeMap<usize, Vec<Stays>> = BTreeMap::new();
    // Regions that store something that may vanish, and those of which it depends on where other regions stand.
    let mut open: BTreeSet<usize> = (0..draft.parts.len()).collect();
    let mut waiting: BTreeSet<usize> = BTreeSet::new();
    let mut is_changed = false;
    while let Some(place) = open.pop_first() {
        let visit = draft.visit(place)?;
        draft.work = draft.work.saturating_add(visit.work);
        if visit.stays.iter().any(|(_, reason)| *reason == AROUND) {
            waiting.insert(place);
        }
        stays.insert(place, visit.stays);
        if let Some(joint) = visit.joint {
            open.extend(draft.join(&joint));
            open.append(&mut waiting);
            stays.remove(&joint.second);
            stays.remove(&joint.first);
            is_changed = true;
        }
    }
    let stays = stays.into_values().flatten().collect();
    if !is_changed {
        return Ok((None, stays));
    }
    let mut made = json.clone();
    let is_gone = |name: &str| draft.gone.contains(name);
    if let Some(boundaries) = made.get_mut("boundaries").and_then(Json::as_array_mut) {
        boundaries.retain(|boundary| !boundary["value"].as_str().is_some_and(is_gone));
    }
    // In the order in which they stood; to remove one by one would move the others.
    if let Some(values) = made["values"].as_object_mut() {
        values.retain(|name, _| !is_gone(name));
    }
    made["regions"] = draft.parts.into_iter().flatten().map(Part::region).collect();
    Ok((Some(made), stays))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two regions, of which each loads a tile, computes one, and stores it.
    fn two() -> Json {
        let tensor = json!({"shape": [8], "dtype": "F32", "residency": "global"});
        let tile = json!({"shape": [4], "dtype": "F32", "residency": "register"});
        let region = |[id, from, x, y, to]: [&str; 5]| {
            json!({"id": id, "inputs": [from], "outputs": [to], "streaming": {"tile": {
                "tile_shape": {"i": 4}, "blocks": {"i": 8}, "begin": [
                    {"id": "load", "op": "LoadTile", "in": [from], "out": [x], "at": ["i"]},
                    {"id": "map", "op": "Compute", "fn": "neg", "in": [x], "out": [y]},
                    {"id": "store", "op": "StoreTile", "in": [y], "out": [to], "at": ["i"]}]}}})
        };
        json!({
            "values": {"X": tensor, "T": tensor, "Y": tensor, "a": tile, "b": tile, "c": tile, "d": tile},
            "inputs": ["X"], "outputs": ["Y"], "boundaries": [{"value": "T"}, {"value": "Y"}],
            "residency": [{"memory": "register", "values": ["a", "b", "c", "d"], "lifetime": "node"}],
            "regions": [region(["first", "X", "a", "b", "T"]), region(["second", "T", "c", "d", "Y"])]})
    }

    #[test]
    fn steps_are_counted_before_they_are_taken() {
        let json = two();
        let document = read(&json).expect("a document");
        // A region of three nodes takes four steps to look at. To compare it with another one takes those of that one, and of a store; to make one of
        // both takes those of both. The joined region has four nodes.
        let all = 4 + (4 + 1) + (4 + 4) + 5;
        for most in 0..all {
            let found = apply(&document, &json, most).expect_err("too few");
            assert_eq!(found, format!("it takes more than {most} steps"));
        }
        let (made, stays) = apply(&document, &json, all).expect("enough");
        assert_eq!(made.map(|made| made["regions"].as_array().map(Vec::len)), Some(Some(1)));
        assert_eq!(stays, Vec::new());
    }
}
