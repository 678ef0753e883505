//! The StreamingConversionPass (clause MCI-23): a region for each node of a graph, which streams what the node sums over.

use std::collections::{HashMap, HashSet};

use megakernel_mcir::{Dtype, Graph, GraphNode, GraphOp, GraphValue, Masked, Target};
use serde_json::{Map, Value as Json, json};

use crate::names::Names;

mod rows;

/// The largest step of an axis. Smaller ones are halves of it.
pub const STEP: Step = Step { block: 128, stream: 128 };

/// The steps of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Of block axes.
    pub block: i64,
    /// Of the stream.
    pub stream: i64,
}

impl Step {
    /// Both steps are halved, as far as they are above 1; nothing if none is.
    pub fn half(self) -> Option<Step> {
        let half = |step: i64| (step / 2).max(1);
        let smaller = Step { block: half(self.block), stream: half(self.stream) };
        (smaller != self).then_some(smaller)
    }
}

/// Transpositions that round nothing, by what they produce: what is transposed.
fn turned(graph: &Graph) -> HashMap<u32, u32> {
    let dtypes: HashMap<u32, Dtype> = graph.values.iter().map(|value| (value.name, value.dtype)).collect();
    let is_exact =
        |from: u32, to: u32| dtypes.get(&to) == Some(&Dtype::F32) || dtypes.get(&to) == dtypes.get(&from);
    let turned = graph.nodes.iter().filter(|node| node.op == GraphOp::Transpose);
    let pairs = turned.filter_map(|node| Some((node.out, *node.ins.first()?)));
    pairs.filter(|&(out, from)| is_exact(from, out)).collect()
}

/// The places of the nodes that become regions: all but transpositions of which nobody reads what is not multiplied from the right.
pub fn regions(graph: &Graph) -> Vec<usize> {
    let turned = turned(graph);
    let mut read: HashSet<u32> = graph.outputs.iter().copied().collect();
    for node in &graph.nodes {
        let is_folded =
            |place: usize, name: u32| place == 1 && node.op == GraphOp::Matmul && turned.contains_key(&name);
        read.extend(
            node.ins
                .iter()
                .enumerate()
                .filter(|&(place, &name)| !is_folded(place, name))
                .map(|(_, &name)| name),
        );
    }
    let stays = |node: &GraphNode| !turned.contains_key(&node.out) || read.contains(&node.out);
    graph.nodes.iter().enumerate().filter(|(_, node)| stays(node)).map(|(place, _)| place).collect()
}

/// A document that is being written.
struct Draft<'g> {
    graph: &'g Graph,
    /// See [`turned`].
    turned: HashMap<u32, u32>,
    /// The values of the graph by name.
    given: HashMap<u32, &'g GraphValue>,
    /// Names that are taken.
    names: Names,
    values: Map<String, Json>,
    /// Tiles by memory and lifetime.
    kept: [Vec<String>; 4],
    regions: Vec<Json>,
    step: Step,
}

/// Which tiles: of what is loaded or computed, and for a node or for the block.
const KEPT: [(&str, &str); 4] =
    [("shared", "node"), ("register", "node"), ("shared", "block"), ("register", "block")];
const LOADED: usize = 0;
const MADE: usize = 1;
const LOADED_ONCE: usize = 2;
const STATE: usize = 3;

/// A region that is being written.
#[derive(Default)]
struct Region {
    steps: Map<String, Json>,
    blocks: Map<String, Json>,
    stream: Json,
    state: Vec<Json>,
    bodies: [Vec<Json>; 3],
    inputs: Vec<String>,
}

const BEGIN: usize = 0;
const EACH: usize = 1;
const END: usize = 2;

impl Region {
    /// A block axis.
    fn axis(&mut self, name: &str, extent: i64, step: i64) {
        self.blocks.insert(name.to_owned(), json!(extent));
        self.steps.insert(name.to_owned(), json!(step));
    }

    fn push(&mut self, body: usize, mut node: Json) {
        let count: usize = self.bodies.iter().map(Vec::len).sum();
        node["id"] = json!(format!("n{count}"));
        self.bodies[body].push(node);
    }
}

/// The document of a graph that breaks no rule, with a step for each of its [`regions`].
///
/// # Errors
/// The op that has no tiles here.
pub fn document(graph: &Graph, target: Target, steps: &[Step]) -> Result<Json, String> {
    let (names, values) = (graph.names.iter().cloned().collect(), Map::new());
    let given = graph.values.iter().map(|value| (value.name, value)).collect();
    let nodes: Vec<&GraphNode> = regions(graph).into_iter().map(|place| &graph.nodes[place]).collect();
    let (kept, regions) = Default::default();
    let mut draft = Draft { graph, turned: turned(graph), given, names, values, kept, regions, step: STEP };
    let made: HashSet<u32> = nodes.iter().map(|node| node.out).chain(graph.inputs.iter().copied()).collect();
    for value in graph.values.iter().filter(|value| made.contains(&value.name)) {
        let tensor = json!({"shape": value.shape, "dtype": value.dtype.name(), "residency": "global"});
        draft.values.insert(draft.name(value.name), tensor);
    }
    for (node, &step) in nodes.iter().zip(steps) {
        draft.step = step;
        draft.region(node).map_err(|reason| format!("`{}`: {reason}", draft.name(node.id)))?;
    }
    let all = |names: &[u32]| names.iter().map(|&name| draft.name(name)).collect::<Vec<String>>();
    let boundaries: Vec<Json> = nodes.iter().map(|node| json!({"value": draft.name(node.out)})).collect();
    let residency = KEPT.iter().zip(&draft.kept).filter(|(_, tiles)| !tiles.is_empty());
    let residency: Vec<Json> = residency
        .map(|((memory, lifetime), tiles)| json!({"memory": memory, "lifetime": lifetime, "values": tiles}))
        .collect();
    Ok(json!({
        "values": draft.values, "inputs": all(&graph.inputs), "outputs": all(&graph.outputs),
        "boundaries": boundaries, "residency": residency,
        "target": {"shared_bytes": target.shared, "register_bytes": target.register},
        "regions": draft.regions,
    }))
}

impl Draft<'_> {
    fn name(&self, name: u32) -> String {
        self.graph.names[name as usize].clone()
    }

    fn value(&self, name: u32) -> (&[i64], &'static str) {
        self.given.get(&name).map_or((&[], "F32"), |value| (&value.shape, value.dtype.name()))
    }

    /// A new tile.
    fn tile(&mut self, of: &str, shape: &[i64], dtype: &str, kept: usize) -> String {
        let name = self.names.free(of);
        let tile = json!({"shape": shape, "dtype": dtype, "residency": KEPT[kept].0});
        self.values.insert(name.clone(), tile);
        self.kept[kept].push(name.clone());
        name
    }

    /// A tile that a node loads.
    fn load(&mut self, region: &mut Region, body: usize, tensor: u32, shape: &[i64], at: &[Json]) -> String {
        let (name, dtype) = (self.name(tensor), self.value(tensor).1);
        let kept = if body == BEGIN && region.stream.is_object() { LOADED_ONCE } else { LOADED };
        let tile = self.tile(&format!("{name} tile"), shape, dtype, kept);
        region.push(body, json!({"op": "LoadTile", "in": [name], "out": [tile], "at": at}));
        if !region.inputs.contains(&name) {
            region.inputs.push(name);
        }
        tile
    }

    /// A tile that a node computes: its `op` and other members are `node`.
    fn make(
        &mut self,
        region: &mut Region,
        body: usize,
        ins: &[&str],
        what: (&[i64], &str),
        node: Json,
    ) -> String {
        self.make_in(MADE, region, body, ins, what, node)
    }

    /// The same, kept as told.
    fn make_in(
        &mut self,
        kept: usize,
        region: &mut Region,
        body: usize,
        ins: &[&str],
        (shape, dtype): (&[i64], &str),
        mut node: Json,
    ) -> String {
        let tile = self.tile("tile", shape, dtype, kept);
        node["in"] = json!(ins);
        node["out"] = json!([tile]);
        if node.get("op").is_none() {
            node["op"] = json!("Compute");
        }
        region.push(body, node);
        tile
    }

    fn state(&mut self, region: &mut Region, of: &str, shape: &[i64], init: Json) -> String {
        let tile = self.tile(of, shape, "F32", STATE);
        region.state.push(json!({"value": tile, "init": init}));
        tile
    }

    fn store(&mut self, region: &mut Region, body: usize, tile: &str, tensor: u32, at: &[Json]) {
        let node = json!({"op": "StoreTile", "in": [tile], "out": [self.name(tensor)], "at": at});
        region.push(body, node);
    }

    fn region(&mut self, node: &GraphNode) -> Result<(), String> {
        let mut region = Region::default();
        match node.op {
            GraphOp::Matmul => self.matmul(&mut region, node),
            GraphOp::Attention(by, mask) => self.attention(&mut region, node, by, mask),
            GraphOp::Softmax(axis) => self.softmax(&mut region, node, axis)?,
            GraphOp::RmsNorm(eps) => self.norm(&mut region, node, eps, false)?,
            GraphOp::LayerNorm(eps) => self.norm(&mut region, node, eps, true)?,
            GraphOp::Reduce(fold, axis) => self.reduce(&mut region, node, fold, axis)?,
            GraphOp::Rope => self.rope(&mut region, node)?,
            GraphOp::Transpose
            | GraphOp::Unary(_)
            | GraphOp::Scale(_)
            | GraphOp::Binary(_)
            | GraphOp::Mask(_) => {
                self.elements(&mut region, node)?;
            }
        }
        let Region { steps, blocks, stream, state, bodies: [begin, each, end], inputs } = region;
        self.regions.push(json!({
            "id": self.name(node.id), "inputs": inputs, "outputs": [self.name(node.out)],
            "streaming": {"stream": stream, "state": state,
                "tile": {"tile_shape": steps, "blocks": blocks, "begin": begin, "each": each, "end": end}}}));
        Ok(())
    }

    /// Block axes for all but the last axes of a value, a point each, and their indices.
    fn lead(region: &mut Region, shape: &[i64], last: usize) -> Vec<Json> {
        let lead = shape.iter().take(shape.len().saturating_sub(last)).enumerate();
        lead.map(|(place, &extent)| {
            let axis = format!("h{place}");
            region.axis(&axis, extent, 1);
            json!(axis)
        })
        .collect()
    }

    /// What is computed element by element, and transpositions: blocks along the last two axes.
    fn elements(&mut self, region: &mut Region, node: &GraphNode) -> Result<(), String> {
        let a = node.ins[0];
        let shape = self.value(a).0.to_vec();
        let mut at = Draft::lead(region, &shape, 2);
        let lacking = at.len();
        let mut tile = Vec::new();
        for (&extent, axis) in shape[lacking..].iter().zip(["i", "j"]) {
            tile.push(self.step.block.min(extent));
            region.axis(axis, extent, self.step.block.min(extent));
            at.push(json!(axis));
        }
        let x = self.load(region, BEGIN, a, &tile, &at);
        let mut ins = vec![x];
        let (mut made, mut made_at) = (tile.clone(), at.clone());
        let does = match node.op {
            GraphOp::Transpose => {
                made.reverse();
                made_at[lacking..].reverse();
                json!({"fn": "transpose"})
            }
            GraphOp::Scale(by) => json!({"fn": "scale", "by": by}),
            GraphOp::Mask(Masked { offset, window }) => {
                json!({"fn": "mask", "rows": ["i", offset], "columns": "j", "window": window})
            }
            GraphOp::Binary(binary) => {
                let (other, along) =
                    self.second(region, node.ins[1], &shape, (&tile[..], &at[..]), binary.name())?;
                ins.push(other);
                let mut does = json!({"fn": binary.name()});
                if let Some(along) = along {
                    does["along"] = json!(along);
                }
                does
            }
            other => json!({"fn": other.name()}),
        };
        let names: Vec<&str> = ins.iter().map(String::as_str).collect();
        let out = self.make(region, BEGIN, &names, (&made, self.value(node.out).1), does);
        self.store(region, BEGIN, &out, node.out, &made_at);
        Ok(())
    }

    /// Block axes for matrices of which `groups` are on the right: the index on the left, and on the right.
    fn matrices(region: &mut Region, left: &[i64], right: &[i64]) -> (Vec<Json>, Vec<Json>) {
        let (&[h, _, _], &[g, _, _]) = (left, right) else { return (Vec::new(), Vec::new()) };
        region.axis("g", g, 1);
        if h == g {
            return (vec![json!("g")], vec![json!("g")]);
        }
        region.axis("h", h / g, 1);
        (vec![json!([[h / g, "g"], "h"])], vec![json!("g")])
    }

    fn matmul(&mut self, region: &mut Region, node: &GraphNode) {
        let [a, b] = [0, 1].map(|place| node.ins[place]);
        let (left, right) = (self.value(a).0.to_vec(), self.value(b).0.to_vec());
        let ([.., m, k], [.., n]) = (&left[..], &right[..]) else { return };
        let (on_left, on_right) = Draft::matrices(region, &left, &right);
        let [rows, columns] = [*m, *n].map(|extent| self.step.block.min(extent));
        let inner = self.step.stream.min(*k);
        region.axis("i", *m, rows);
        region.axis("j", *n, columns);
        region.steps.insert("k".to_owned(), json!(inner));
        region.stream = json!({"axis": "k", "to": [k]});
        let sum = self.state(region, "sum", &[rows, columns], json!(0));
        let at = |lead: &[Json], last: [&str; 2]| [lead, &last.map(|axis| json!(axis))].concat();
        let x = self.load(region, EACH, a, &[rows, inner], &at(&on_left, ["i", "k"]));
        let (y, function) = match self.turned.get(&b).copied() {
            Some(rows) => {
                let y = self.load(region, EACH, rows, &[columns, inner], &at(&on_right, ["j", "k"]));
                (y, "matmul_nt")
            }
            None => (self.load(region, EACH, b, &[inner, columns], &at(&on_right, ["k", "j"])), "matmul_nn"),
        };
        let part = self.make(region, EACH, &[&x, &y], (&[rows, columns], "F32"), json!({"fn": function}));
        region.push(EACH, json!({"op": "UpdateState", "fn": "add", "in": [sum, part], "out": [sum]}));
        let dtype = self.value(node.out).1;
        let out = if dtype == "F32" {
            sum
        } else {
            self.make(region, END, &[&sum], (&[rows, columns], dtype), json!({"fn": "copy"}))
        };
        self.store(region, END, &out, node.out, &at(&on_left, ["i", "j"]));
    }

    fn attention(&mut self, region: &mut Region, node: &GraphNode, by: [i64; 2], mask: Option<Masked>) {
        let [q, k, v] = [0, 1, 2].map(|place| node.ins[place]);
        let (queries, keys) = (self.value(q).0.to_vec(), self.value(k).0.to_vec());
        let wide = self.value(v).0.last().copied().unwrap_or(1);
        let ([.., m, d], [.., n, _]) = (&queries[..], &keys[..]) else { return };
        let (on_left, on_right) = Draft::matrices(region, &queries, &keys);
        let (rows, columns) = (self.step.block.min(*m), self.step.stream.min(*n));
        region.axis("i", *m, rows);
        region.steps.insert("j".to_owned(), json!(columns));
        // Tiles that are masked as a whole are left out: those above the diagonal of the last row, and below the window of the first one.
        let (mut from, mut to) = (vec![json!(0)], vec![json!(n)]);
        if let Some(masked) = mask.filter(|masked| masked.offset >= 0) {
            to.push(json!(["i", rows + masked.offset]));
            from.extend(masked.window.map(|window| json!(["i", masked.offset + 1 - window])));
        }
        region.stream = json!({"axis": "j", "from": from, "to": to});
        let at = |lead: &[Json], first: &str| [lead, &[json!(first), json!(0)]].concat();
        let top = self.state(region, "top", &[rows], json!("-inf"));
        let sum = self.state(region, "sum", &[rows], json!(0));
        let acc = self.state(region, "acc", &[rows, wide], json!(0));
        let x = self.load(region, BEGIN, q, &[rows, *d], &at(&on_left, "i"));
        let y = self.load(region, EACH, k, &[columns, *d], &at(&on_right, "j"));
        let tile = [rows, columns];
        let mut scores = self.make(region, EACH, &[&x, &y], (&tile, "F32"), json!({"fn": "matmul_nt"}));
        if by[0] != by[1] {
            scores = self.make(region, EACH, &[&scores], (&tile, "F32"), json!({"fn": "scale", "by": by}));
        }
        if let Some(Masked { offset, window }) = mask {
            let does = json!({"fn": "mask", "rows": ["i", offset], "columns": "j", "window": window});
            scores = self.make(region, EACH, &[&scores], (&tile, "F32"), does);
        }
        let weights = self.tile("weights", &tile, "F32", MADE);
        let factors = self.tile("factors", &[rows], "F32", MADE);
        region.push(EACH, json!({"op": "UpdateState", "fn": "online_softmax", "in": [scores, top, sum], "out": [top, sum, weights, factors]}));
        let z = self.load(region, EACH, v, &[columns, wide], &at(&on_right, "j"));
        let part =
            self.make(region, EACH, &[&weights, &z], (&[rows, wide], "F32"), json!({"fn": "matmul_nn"}));
        region.push(
            EACH,
            json!({"op": "UpdateState", "fn": "scale_add", "in": [acc, factors, part], "out": [acc]}),
        );
        let dtype = self.value(node.out).1;
        let out = self.make(
            region,
            END,
            &[&acc, &sum],
            (&[rows, wide], dtype),
            json!({"fn": "div", "along": "rows"}),
        );
        self.store(region, END, &out, node.out, &at(&on_left, "i"));
    }
}
