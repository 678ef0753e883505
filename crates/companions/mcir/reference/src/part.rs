//! Regions of a document that is being changed (clause MCI-26).

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value as Json, json};

use crate::names::Names;

const BODIES: [&str; 3] = ["begin", "each", "end"];

/// What a node moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Load,
    Prefetch,
    Store,
    /// Nothing.
    Barrier,
    Other,
}

/// A node of a region.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    pub json: Json,
}

impl Node {
    fn of(json: &Json) -> Node {
        let kind = match json["op"].as_str() {
            Some("LoadTile") => Kind::Load,
            Some("Prefetch") => Kind::Prefetch,
            Some("StoreTile") => Kind::Store,
            Some("Barrier") => Kind::Barrier,
            _ => Kind::Other,
        };
        Node { kind, json: json.clone() }
    }

    /// The tensor that it moves a tile of, and the tile.
    pub fn moved(&self) -> Option<(&str, &str)> {
        let (tensor, tile) = match self.kind {
            Kind::Load | Kind::Prefetch => ("in", "out"),
            Kind::Store => ("out", "in"),
            Kind::Barrier | Kind::Other => return None,
        };
        Some((self.json[tensor][0].as_str()?, self.json[tile][0].as_str()?))
    }
}

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
    pub bodies: [Vec<Node>; 3],
    /// Ids of nodes.
    pub ids: Names,
    /// Every tile that a node or a state has.
    pub tiles: HashSet<String>,
    /// The bytes of all of them, in shared memory and in registers.
    pub held: [i64; 2],
}

fn numbers(map: &Json) -> BTreeMap<String, i64> {
    let all = map.as_object().into_iter().flatten();
    all.map(|(name, number)| (name.clone(), number.as_i64().unwrap_or(1))).collect()
}

/// The memory of a tile, and the bytes that it takes in all its slots.
pub fn size(values: &Map<String, Json>, tile: &str) -> (usize, i64) {
    let Some(value) = values.get(tile) else { return (0, 0) };
    let extents = value["shape"].as_array().into_iter().flatten().filter_map(Json::as_i64);
    let bytes = extents.fold(if value["dtype"] == "F32" { 4 } else { 2 }, i64::saturating_mul);
    let bytes = bytes.saturating_mul(value["buffers"].as_i64().unwrap_or(1));
    (usize::from(value["residency"] == "register"), bytes)
}

impl Part {
    /// A region of a document that breaks no rule.
    pub fn of(region: &Json, values: &Map<String, Json>) -> Part {
        let streaming = &region["streaming"];
        let tile = &streaming["tile"];
        let (blocks, steps) = (numbers(&tile["blocks"]), numbers(&tile["tile_shape"]));
        let mut axes = BTreeMap::new();
        for (axis, &extent) in &blocks {
            let step = steps.get(axis).copied().unwrap_or(1).max(1);
            if extent > step {
                axes.insert(axis.clone(), (step, (extent - 1) / step + 1));
            }
        }
        let state = streaming.get("state").cloned().unwrap_or_else(|| json!([]));
        let bodies =
            BODIES.map(|body| tile[body].as_array().into_iter().flatten().map(Node::of).collect::<Vec<_>>());
        let mut tiles = HashSet::new();
        let nodes = bodies.iter().flatten().flat_map(|node| [&node.json["in"], &node.json["out"]]);
        let named = nodes.filter_map(Json::as_array).flatten();
        let states = state.as_array().into_iter().flatten().map(|state| &state["value"]);
        for name in named.chain(states).filter_map(Json::as_str) {
            if values.get(name).is_some_and(|value| value["residency"] != "global") {
                tiles.insert(name.to_owned());
            }
        }
        let mut held = [0_i64; 2];
        for (memory, bytes) in tiles.iter().map(|tile| size(values, tile)) {
            held[memory] = held[memory].saturating_add(bytes);
        }
        let ids = bodies.iter().flatten().filter_map(|node| node.json["id"].as_str()).map(str::to_owned);
        let ids = ids.collect();
        let (json, stream) = (region.clone(), streaming["stream"].clone());
        Part { json, blocks, steps, axes, stream, state, bodies, ids, tiles, held }
    }

    /// As a document has it.
    pub fn region(self) -> Json {
        let lists = [false, true].map(|is_stored| {
            let mut seen = HashSet::new();
            self.tensors(is_stored).filter(|name| seen.insert(*name)).collect::<Vec<&str>>()
        });
        let [inputs, outputs] = lists.map(|names| json!(names));
        let mut made = self.json;
        (made["inputs"], made["outputs"]) = (inputs, outputs);
        let streaming = &mut made["streaming"];
        (streaming["stream"], streaming["state"]) = (self.stream, self.state);
        let tile = &mut streaming["tile"];
        (tile["blocks"], tile["tile_shape"]) = (json!(self.blocks), json!(self.steps));
        for (body, nodes) in BODIES.iter().zip(self.bodies) {
            tile[*body] = nodes.into_iter().map(|node| node.json).collect();
        }
        made
    }

    /// How many nodes it has, and the region itself.
    pub fn size(&self) -> u64 {
        self.bodies.iter().map(|nodes| nodes.len() as u64).sum::<u64>() + 1
    }

    /// Whether something goes on from one iteration to the next.
    pub fn goes_on(&self) -> bool {
        !self.stream.is_null() || self.state.as_array().is_some_and(|state| !state.is_empty())
    }

    /// Tensors that are stored, or loaded, in the order of the nodes.
    pub fn tensors(&self, is_stored: bool) -> impl Iterator<Item = &str> {
        self.moves(is_stored).filter_map(|(_, node)| node.moved()).map(|(tensor, _)| tensor)
    }

    /// Nodes that store, or load, each with its body.
    pub fn moves(&self, is_stored: bool) -> impl Iterator<Item = (usize, &Node)> {
        let all = self.bodies.iter().enumerate();
        let all = all.flat_map(|(body, nodes)| nodes.iter().map(move |node| (body, node)));
        all.filter(move |(_, node)| match node.kind {
            Kind::Store => is_stored,
            Kind::Load | Kind::Prefetch => !is_stored,
            Kind::Barrier | Kind::Other => false,
        })
    }

    /// What an index adds up to: coefficients of axes of more than one value, and the number.
    pub fn form(&self, index: &Json) -> (BTreeMap<String, i64>, i64) {
        let (mut axes, mut number) = (BTreeMap::new(), 0_i64);
        let one = std::slice::from_ref(index);
        for term in index.as_array().map_or(one, Vec::as_slice) {
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

    /// Its stores by tensor, each with its body.
    pub fn stores(&self) -> HashMap<&str, (usize, &Node)> {
        let stores = self.moves(true);
        stores.filter_map(|(body, node)| Some((node.moved()?.0, (body, node)))).collect()
    }
}
