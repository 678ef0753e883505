//! Random semantic graphs through all passes in turn and through lowering, each answer judged as that of its pass: valid, equivalent, and what the pass has to achieve.

use std::collections::BTreeMap;

use megakernel_ir::prng::SplitMix64;
use megakernel_mcir_checker::{judge_lowering, judge_transform};
use megakernel_mcir_reference::{NotMade, lowered, transformed};
use serde_json::{Map, Value, json};

const PASSES: [&str; 3] = ["MaterializationEliminationPass", "TileSchedulingPass", "ResidencyAssignmentPass"];

/// A value of a graph that is being drawn.
#[derive(Clone)]
struct Known {
    name: String,
    shape: Vec<i64>,
    /// Whether an exponential is in it that nothing has rounded: the judge may tell apart what shifts another exponential of it (MCI-21).
    is_exponential: bool,
}

struct Graph {
    draws: SplitMix64,
    values: Map<String, Value>,
    inputs: Vec<String>,
    nodes: Vec<Value>,
    known: Vec<Known>,
}

impl Graph {
    fn draw(seed: u64) -> Value {
        let (values, inputs, nodes, known) = (Map::new(), Vec::new(), Vec::new(), Vec::new());
        let mut graph = Graph { draws: SplitMix64::new(seed), values, inputs, nodes, known };
        let count = graph.draws.between(1, 5);
        for _ in 0..count {
            graph.step();
        }
        let is_read =
            |name: &str| graph.nodes.iter().any(|node| array(&node["in"]).iter().any(|read| read == name));
        let mut outputs = Vec::new();
        for node in &graph.nodes {
            let name = node["out"].as_str().expect("a name");
            if !is_read(name) || graph.draws.below(6) == 0 {
                outputs.push(name);
            }
        }
        json!({"values": graph.values, "inputs": graph.inputs, "outputs": outputs, "nodes": graph.nodes})
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        *self.draws.pick(of).expect("something to pick")
    }

    fn extent(&mut self) -> i64 {
        self.pick(&[1, 2, 3, 4, 5, 7])
    }

    fn name(&mut self, shape: &[i64], dtype: &str) -> String {
        let name = format!("v{}", self.values.len());
        self.values.insert(name.clone(), json!({"shape": shape, "dtype": dtype}));
        name
    }

    /// A value of this shape: one that is there, or an input.
    fn of_shape(&mut self, shape: &[i64]) -> Known {
        let there: Vec<Known> = self.known.iter().filter(|known| known.shape == shape).cloned().collect();
        if !there.is_empty() && self.draws.below(2) == 0 {
            return there[self.draws.index(there.len())].clone();
        }
        let dtype = self.pick(&["F32", "F16", "BF16"]);
        let name = self.name(shape, dtype);
        self.inputs.push(name.clone());
        let known = Known { name, shape: shape.to_vec(), is_exponential: false };
        self.known.push(known.clone());
        known
    }

    /// A value of so many axes at least: the last one that fits, another one that does, or an input.
    fn any(&mut self, rank: usize, is_plain: bool) -> Known {
        let fits = |known: &&Known| known.shape.len() >= rank && !(is_plain && known.is_exponential);
        let there: Vec<Known> = self.known.iter().filter(fits).cloned().collect();
        if let Some(last) = there.last().filter(|_| self.draws.below(4) > 0) {
            return if self.draws.below(2) == 0 {
                last.clone()
            } else {
                there[self.draws.index(there.len())].clone()
            };
        }
        let axes = rank.max(self.pick(&[1, 2, 2, 2, 3]));
        let shape: Vec<i64> = (0..axes).map(|_| self.extent()).collect();
        self.of_shape(&shape)
    }

    /// A node, and what it makes. Scores and the like are rounded nowhere, as `dtype` says.
    fn node(&mut self, op: &str, ins: &[&Known], shape: Vec<i64>, more: Value, dtype: Option<&str>) -> Known {
        let dtype = dtype.unwrap_or_else(|| self.pick(&["F32", "F32", "F32", "F16", "BF16"]));
        let name = self.name(&shape, dtype);
        let names: Vec<&str> = ins.iter().map(|known| known.name.as_str()).collect();
        let mut node = json!({"id": format!("{op} {name}"), "op": op, "in": names, "out": name});
        node.as_object_mut().expect("a node").extend(more.as_object().expect("members").clone());
        self.nodes.push(node);
        let is_exponential = dtype == "F32"
            && (["exp", "softmax", "attention"].contains(&op)
                || ins.iter().any(|known| known.is_exponential));
        let known = Known { name, shape, is_exponential };
        self.known.push(known.clone());
        known
    }

    fn fraction(&mut self) -> Value {
        json!([self.pick(&[1, 1, 2, 3, 5]), self.pick(&[1, 2, 3, 8])])
    }

    fn mask(&mut self) -> Value {
        let window = if self.draws.below(2) == 0 { json!(self.pick(&[1, 2, 4])) } else { Value::Null };
        json!({"offset": self.pick(&[-1, 0, 0, 1, 3]), "window": window})
    }

    fn step(&mut self) {
        match self.draws.below(12) {
            0 => {
                let op = self.pick(&["copy", "neg", "silu", "gelu", "exp"]);
                let a = self.any(1, op == "exp");
                self.node(op, &[&a], a.shape.clone(), json!({}), None);
            }
            1 => {
                let (a, by) = (self.any(1, false), self.fraction());
                self.node("scale", &[&a], a.shape.clone(), json!({"by": by}), None);
            }
            2 | 3 => {
                let op = self.pick(&["add", "sub", "mul", "max"]);
                let a = self.any(1, false);
                let skipped = self.draws.index(a.shape.len());
                let other: Vec<i64> = a.shape[skipped..]
                    .iter()
                    .map(|&extent| if self.draws.below(3) == 0 { 1 } else { extent })
                    .collect();
                let b = self.of_shape(&other);
                self.node(op, &[&a, &b], a.shape.clone(), json!({}), None);
            }
            4 => {
                self.product();
            }
            5 => {
                let a = self.any(2, false);
                self.node("transpose", &[&a], turned(&a.shape), json!({}), None);
            }
            6 => {
                let a = self.any(1, false);
                let axis = self.draws.index(a.shape.len());
                let mut shape = a.shape.clone();
                shape[axis] = 1;
                let function = self.pick(&["sum", "max"]);
                self.node("reduce", &[&a], shape, json!({"fn": function, "axis": axis}), None);
            }
            7 => {
                let a = self.any(2, true);
                let masked = if self.draws.below(2) == 0 {
                    let mask = self.mask();
                    self.node("mask", &[&a], a.shape.clone(), mask, Some("F32"))
                } else {
                    a
                };
                let shape = masked.shape.clone();
                self.node("softmax", &[&masked], shape.clone(), json!({"axis": shape.len() - 1}), None);
            }
            8 => {
                let x = self.any(2, false);
                let wide = *x.shape.last().expect("an axis");
                let (w, b) = (self.of_shape(&[wide]), self.of_shape(&[wide]));
                let eps = json!({"eps": [self.pick(&[1, 3]), self.pick(&[1, 100])]});
                if self.draws.below(2) == 0 {
                    self.node("rms_norm", &[&x, &w], x.shape.clone(), eps, None);
                } else {
                    self.node("layer_norm", &[&x, &w, &b], x.shape.clone(), eps, None);
                }
            }
            9 => {
                let (rows, half) = (self.extent(), self.extent());
                let x = self.of_shape(&[rows, 2 * half]);
                let (c, s) = (self.of_shape(&[rows, half]), self.of_shape(&[rows, half]));
                self.node("rope", &[&x, &c, &s], x.shape.clone(), json!({}), None);
            }
            _ => self.attention(),
        }
    }

    fn product(&mut self) {
        let a = self.any(2, false);
        if a.shape.len() > 3 {
            return;
        }
        let (rank, columns) = (a.shape.len(), self.extent());
        let mut shape = vec![a.shape[rank - 1], columns];
        if rank == 3 {
            let groups: Vec<i64> = (1..=a.shape[0]).filter(|groups| a.shape[0] % groups == 0).collect();
            shape.insert(0, self.pick(&groups));
        }
        let b = self.of_shape(&shape);
        let mut made = a.shape.clone();
        made[rank - 1] = columns;
        self.node("matmul", &[&a, &b], made, json!({}), None);
    }

    /// Attention as a node, or written out, with any of what is optional.
    fn attention(&mut self) {
        let [rows, keys, depth, wide] = [(); 4].map(|()| self.extent());
        let heads = self.pick(&[0, 0, 1, 2, 4]);
        let groups: Vec<i64> = (1..=heads.max(1)).filter(|groups| heads % groups == 0).collect();
        let groups = self.pick(&groups);
        let with = |heads: i64, last: [i64; 2]| {
            if heads == 0 { last.to_vec() } else { [&[heads][..], &last].concat() }
        };
        let of_keys = if heads == 0 { 0 } else { groups };
        let operand = |graph: &mut Graph, shape: Vec<i64>| {
            let known = graph.of_shape(&shape);
            // What has an exponential in it is rounded first.
            if known.is_exponential {
                graph.node("copy", &[&known], shape, json!({}), Some("BF16"))
            } else {
                known
            }
        };
        let q = operand(self, with(heads, [rows, depth]));
        let k = operand(self, with(of_keys, [keys, depth]));
        let v = operand(self, with(of_keys, [keys, wide]));
        let is_scaled = self.draws.below(3) > 0;
        let is_masked = self.draws.below(2) == 0;
        let (by, mask) = (self.fraction(), self.mask());
        let made = with(heads, [rows, wide]);
        if self.draws.below(3) == 0 {
            let mut more = json!({});
            if is_scaled {
                more["by"] = by;
            }
            if is_masked {
                more["mask"] = mask;
            }
            self.node("attention", &[&q, &k, &v], made, more, None);
            return;
        }
        let scores = with(heads, [rows, keys]);
        // Now and then a rounding keeps it from being a pattern.
        let dtype = self.pick(&["F32", "F32", "F32", "F32", "F32", "F16"]);
        let turned = self.node("transpose", &[&k], turned(&k.shape), json!({}), None);
        let mut last = self.node("matmul", &[&q, &turned], scores.clone(), json!({}), Some(dtype));
        if is_scaled {
            last = self.node("scale", &[&last], scores.clone(), json!({"by": by}), Some(dtype));
        }
        if is_masked {
            last = self.node("mask", &[&last], scores.clone(), mask, Some(dtype));
        }
        let axis = json!({"axis": scores.len() - 1});
        last = self.node("softmax", &[&last], scores, axis, Some(dtype));
        self.node("matmul", &[&last, &v], made, json!({}), None);
    }
}

fn turned(shape: &[i64]) -> Vec<i64> {
    let mut turned = shape.to_vec();
    let rank = turned.len();
    turned.swap(rank - 2, rank - 1);
    turned
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// How many graphs of these have gone all the way, and why others have not.
#[derive(Default)]
struct Count {
    whole: usize,
    patterns: usize,
    regions_joined: usize,
    refused: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

/// Why a graph does not go all the way.
enum Stop {
    Refused(String),
    Wrong(String),
}

fn judged(request: &Value) -> Result<Value, Stop> {
    let text = request.to_string();
    match transformed(text.as_bytes()) {
        Ok(answer) => match judge_transform(text.as_bytes(), &answer.to_string()) {
            Ok(()) => Ok(answer),
            Err(reason) => Err(Stop::Wrong(format!("{reason:?}\n{text}\nbecomes {answer}"))),
        },
        Err(NotMade::Unsupported(reason)) => Err(Stop::Refused(reason)),
        Err(NotMade::Rejected(found)) => Err(Stop::Wrong(format!("{found:?}\n{text}"))),
    }
}

fn of_attention(graph: &Value) -> usize {
    array(&graph["nodes"]).iter().filter(|node| node["op"] == "attention").count()
}

fn through(seed: u64, count: &mut Count) -> Result<(), Stop> {
    let graph = Graph::draw(seed);
    let before = of_attention(&graph);
    let graph = judged(&json!({"pass": "AttentionPatternPass", "graph": graph}))?;
    count.patterns += usize::from(of_attention(&graph) > before);
    let mut request = json!({"pass": "StreamingConversionPass", "graph": graph});
    // As much as is wanted, or so little that tiles of some nodes are smaller.
    let few = [None, Some(4096), Some(512)];
    if let Some(bytes) = few[usize::try_from(seed % 3).unwrap_or(0)] {
        request["target"] = json!({"shared_bytes": bytes, "register_bytes": bytes});
    }
    let mut document = judged(&request)?;
    let regions = array(&document["regions"]).len();
    for pass in PASSES {
        // What the pass before has made is refused by none.
        document = judged(&json!({"pass": pass, "document": document})).map_err(|stop| match stop {
            Stop::Refused(reason) | Stop::Wrong(reason) => Stop::Wrong(format!("{pass}: {reason}")),
        })?;
    }
    count.regions_joined += usize::from(array(&document["regions"]).len() < regions);
    let text = document.to_string();
    let (_, kernels) = lowered(text.as_bytes()).map_err(|none| Stop::Wrong(format!("{none:?}\n{text}")))?;
    judge_lowering(text.as_bytes(), &kernels.to_string())
        .map_err(|reason| Stop::Wrong(format!("{reason:?}\n{text}")))
}

fn through_all(seeds: std::ops::Range<u64>) -> Count {
    let mut count = Count::default();
    for seed in seeds {
        match through(seed, &mut count) {
            Ok(()) => count.whole += 1,
            Err(Stop::Wrong(reason)) => count.wrong.push(format!("seed {seed}: {reason}")),
            // Without the names and numbers that it is about.
            Err(Stop::Refused(reason)) => {
                let what = reason.split_once(": ").map_or(reason.as_str(), |(_, what)| what);
                let what: String = what.chars().filter(|letter| !letter.is_ascii_digit()).collect();
                *count.refused.entry(what).or_default() += 1;
            }
        }
    }
    count
}

fn enough(count: &Count, of: usize) {
    assert!(count.wrong.is_empty(), "{} of {of} are wrong\n{}", count.wrong.len(), count.wrong.join("\n\n"));
    assert!(count.whole * 10 >= of * 8, "{} of {of}: {:?}", count.whole, count.refused);
    assert!(
        count.patterns * 20 >= of && count.regions_joined * 10 >= of,
        "{} and {}",
        count.patterns,
        count.regions_joined
    );
}

#[test]
fn random_graphs_go_through_all_passes_and_through_lowering() {
    enough(&through_all(0..150), 150);
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_thousands_of_random_graphs_go_through_all_passes_and_through_lowering() {
    let of = |part: u64| through_all(1000 + 1500 * part..1000 + 1500 * (part + 1));
    let counts: Vec<Count> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|part| scope.spawn(move || of(part))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    counts.iter().for_each(|count| enough(count, 1500));
}
