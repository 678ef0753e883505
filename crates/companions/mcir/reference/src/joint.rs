//! Which regions can be one (clause MCI-26).

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value as Json, json};

use crate::elimination::Draft;

const BODIES: [&str; 3] = ["begin", "each", "end"];
const EACH: usize = 1;

/// A region.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// As it was; its id and what means nothing stay.
    pub json: Json,
    /// Extents of block axes.
    pub blocks: BTreeMap<String, i64>,
    /// Steps of all axes.
    pub steps: BTreeMap<String, i64>,
    /// Block axes of more than one value: the step, and how many values there are.
    pub axes: BTreeMap<String, (i64, i64)>,
    /// Null where there is none.
    pub stream: Json,
    /// An array.
    pub state: Json,
    /// Nodes of `begin`, `each` and `end`.
    pub bodies: [Vec<Json>; 3],
}

fn numbers(map: &Json) -> BTreeMap<String, i64> {
    let all = map.as_object().into_iter().flatten();
    all.map(|(name, number)| (name.clone(), number.as_i64().unwrap_or(1))).collect()
}

impl Part {
    /// A region of a document that breaks no rule.
    pub fn of(region: &Json) -> Part {
        let streaming = &region["streaming"];
        let tile = &streaming["tile"];
        let bodies = BODIES.map(|body| tile[body].as_array().cloned().unwrap_or_default());
        let state = streaming.get("state").cloned().unwrap_or_else(|| json!([]));
        let (blocks, steps) = (numbers(&tile["blocks"]), numbers(&tile["tile_shape"]));
        Part::made(region.clone(), blocks, steps, streaming["stream"].clone(), state, bodies)
    }

    /// A region in the place of another one, which gives it its id.
    pub fn made(
        json: Json,
        blocks: BTreeMap<String, i64>,
        steps: BTreeMap<String, i64>,
        stream: Json,
        state: Json,
        bodies: [Vec<Json>; 3],
    ) -> Part {
        let mut axes = BTreeMap::new();
        for (axis, &extent) in &blocks {
            let step = steps.get(axis).copied().unwrap_or(1).max(1);
            if extent > step {
                axes.insert(axis.clone(), (step, (extent - 1) / step + 1));
            }
        }
        Part { json, blocks, steps, axes, stream, state, bodies }
    }

    /// As a document has it.
    pub fn region(&self) -> Json {
        let mut made = self.json.clone();
        let mut lists = [Vec::new(), Vec::new()];
        for (list, is_stored) in lists.iter_mut().zip([false, true]) {
            for name in self.tensors(is_stored) {
                if !list.contains(&name) {
                    list.push(name);
                }
            }
        }
        let [inputs, outputs] = lists;
        (made["inputs"], made["outputs"]) = (json!(inputs), json!(outputs));
        let streaming = &mut made["streaming"];
        (streaming["stream"], streaming["state"]) = (self.stream.clone(), self.state.clone());
        let tile = &mut streaming["tile"];
        (tile["blocks"], tile["tile_shape"]) = (json!(self.blocks), json!(self.steps));
        for (body, nodes) in BODIES.iter().zip(&self.bodies) {
            tile[*body] = json!(nodes);
        }
        made
    }

    /// Whether something goes on from one iteration to the next.
    pub fn goes_on(&self) -> bool {
        !self.stream.is_null() || self.state.as_array().is_some_and(|state| !state.is_empty())
    }

    /// Ids of nodes.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.bodies.iter().flatten().filter_map(|node| node["id"].as_str())
    }

    /// Tensors that are stored, or loaded, in the order of the nodes.
    pub fn tensors(&self, is_stored: bool) -> impl Iterator<Item = &str> {
        self.moves(is_stored)
            .filter_map(move |(_, node)| node[if is_stored { "out" } else { "in" }][0].as_str())
    }

    /// Nodes that store, or load, each with its body.
    fn moves(&self, is_stored: bool) -> impl Iterator<Item = (usize, &Json)> {
        let all = self
            .bodies
            .iter()
            .enumerate()
            .flat_map(|(body, nodes)| nodes.iter().map(move |node| (body, node)));
        all.filter(move |(_, node)| match node["op"].as_str() {
            Some("StoreTile") => is_stored,
            Some("LoadTile" | "Prefetch") => !is_stored,
            _ => false,
        })
    }

    /// Every tile that a node or a state has.
    fn tiles<'p>(&'p self, draft: &'p Draft) -> HashSet<&'p str> {
        let of = |node: &'p Json, side: &str| node.get(side).and_then(Json::as_array).into_iter().flatten();
        let named = self.bodies.iter().flatten().flat_map(move |node| of(node, "in").chain(of(node, "out")));
        let states = self.state.as_array().into_iter().flatten().map(|state| &state["value"]);
        let all = named.chain(states).filter_map(Json::as_str);
        all.filter(|name| draft.values.get(*name).is_some_and(|value| value["residency"] != "global"))
            .collect()
    }

    /// What an index adds up to: coefficients of axes of more than one value, and the number.
    fn form(&self, index: &Json) -> (BTreeMap<String, i64>, i64) {
        let (mut axes, mut number) = (BTreeMap::new(), 0_i64);
        let one = [index.clone()];
        for term in index.as_array().map_or(&one[..], Vec::as_slice) {
            let (axis, factor) = match term {
                Json::String(axis) => (axis.as_str(), 1),
                Json::Array(pair) => (pair[1].as_str().unwrap_or_default(), pair[0].as_i64().unwrap_or(0)),
                other => {
                    number = number.saturating_add(other.as_i64().unwrap_or(0));
                    continue;
                }
            };
            if self.axes.contains_key(axis) || !self.blocks.contains_key(axis) {
                let sum: &mut i64 = axes.entry(axis.to_owned()).or_default();
                *sum = sum.saturating_add(factor);
            }
        }
        axes.retain(|_, factor| *factor != 0);
        (axes, number)
    }
}

/// Two regions that can be one.
#[derive(Clone, Debug)]
pub struct Joint {
    /// The one that stores.
    pub first: usize,
    /// The one that loads.
    pub second: usize,
    /// Which of the two places it takes.
    pub place: usize,
    /// Block axes of the second one, and those of the first one that they are.
    pub axes: HashMap<String, String>,
    /// By tensor that the first one stores and the second one loads: the tile.
    pub tiles: HashMap<String, String>,
}

/// The regions that become one so that a tensor vanishes.
///
/// # Errors
/// Why it stays.
pub fn joint(draft: &mut Draft, tensor: &str) -> Result<Joint, &'static str> {
    let has = |part: &Part, is_stored: bool| part.tensors(is_stored).any(|name| name == tensor);
    let first = draft.parts.iter().position(|part| has(part, true)).ok_or("nobody stores it")?;
    let readers =
        || draft.parts.iter().enumerate().filter(|(_, part)| has(part, false)).map(|(place, _)| place);
    let second = readers().next().ok_or("nobody loads it")?;
    if readers().count() > 1 {
        return Err("several regions load it");
    }
    draft.work +=
        draft.parts.iter().flat_map(|part| &part.bodies).map(|nodes| nodes.len() as u64 + 1).sum::<u64>();
    let (one, two) = (&draft.parts[first], &draft.parts[second]);
    if one.goes_on() && two.goes_on() {
        return Err("the regions that store and load it both have a stream or a state");
    }
    let (axes, tiles) = matched(draft, one, two)?;
    let stored: HashSet<&str> = one.tensors(true).collect();
    let loaded: HashSet<&str> = two.tensors(false).collect();
    let meet = |is_stored: bool, names: &HashSet<&str>| {
        draft.parts[first + 1..second]
            .iter()
            .any(|part| part.tensors(is_stored).any(|name| names.contains(name)))
    };
    let place = match (meet(false, &stored), meet(true, &loaded)) {
        (false, _) => second,
        (true, false) => first,
        (true, true) => {
            return Err(
                "a region between those that store and load it needs the one, and the other needs it",
            );
        }
    };
    let mut held = [0_i64; 2];
    let all: HashSet<&str> = one.tiles(draft).union(&two.tiles(draft)).copied().collect();
    for value in all.iter().filter_map(|name| draft.values.get(*name)) {
        let extents = value["shape"].as_array().into_iter().flatten().filter_map(Json::as_i64);
        let bytes = extents.fold(if value["dtype"] == "F32" { 4 } else { 2 }, i64::saturating_mul);
        let bytes = bytes.saturating_mul(value["buffers"].as_i64().unwrap_or(1));
        let sum = &mut held[usize::from(value["residency"] == "register")];
        *sum = sum.saturating_add(bytes);
    }
    if held.iter().zip(draft.target).any(|(held, most)| most.is_some_and(|most| *held > most)) {
        return Err("the tiles of the regions that store and load it do not fit together");
    }
    Ok(Joint { first, second, place, axes, tiles })
}

/// Axes by axes, and tiles by tensors.
type Matched = (HashMap<String, String>, HashMap<String, String>);

/// How the tiles that one region loads are those that another one stores.
fn matched(draft: &Draft, one: &Part, two: &Part) -> Result<Matched, &'static str> {
    const OTHER: &str = "blocks load other tiles of it than they store";
    let (mut axes, mut back, mut tiles) = (HashMap::new(), HashMap::new(), HashMap::new());
    for (body, store) in one.moves(true) {
        let (Some(tensor), Some(tile)) = (store["out"][0].as_str(), store["in"][0].as_str()) else {
            continue;
        };
        for (_, load) in two.moves(false).filter(|(_, load)| load["in"][0] == tensor) {
            if one.goes_on() && body == EACH {
                return Err("it is stored in each iteration");
            }
            let shape = |name: &Json| {
                name.as_str().and_then(|name| draft.values.get(name)).map(|value| &value["shape"])
            };
            if load["op"] != "LoadTile" || shape(&load["out"][0]) != shape(&store["in"][0]) {
                return Err(OTHER);
            }
            let places = |node: &Json| node["at"].as_array().cloned().unwrap_or_default();
            for (stored, loaded) in places(store).iter().zip(&places(load)) {
                let ((stored, number), (loaded, other)) = (one.form(stored), two.form(loaded));
                let (mut stored, mut loaded): (Vec<_>, Vec<_>) =
                    (stored.into_iter().collect(), loaded.into_iter().collect());
                stored.sort_by_key(|(axis, factor)| (*factor, one.axes.get(axis)));
                loaded.sort_by_key(|(axis, factor)| (*factor, two.axes.get(axis)));
                if number != other || stored.len() != loaded.len() {
                    return Err(OTHER);
                }
                for ((to, factor), (from, again)) in stored.into_iter().zip(loaded) {
                    let same = one.axes.contains_key(&to) && one.axes.get(&to) == two.axes.get(&from);
                    let is_new =
                        axes.insert(from.clone(), to.clone()).is_none_or(|known: String| known == to);
                    let is_only = back.insert(to, from.clone()).is_none_or(|known: String| known == from);
                    if !(same && factor == again && is_new && is_only) {
                        return Err(OTHER);
                    }
                }
            }
            tiles.insert(tensor.to_owned(), tile.to_owned());
        }
    }
    if axes.len() != one.axes.len() || axes.len() != two.axes.len() {
        return Err(OTHER);
    }
    Ok((axes, tiles))
}
