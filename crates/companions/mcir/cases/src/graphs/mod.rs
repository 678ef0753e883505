//! Semantic graphs that are accepted, most of them about attention.

mod streamed;

pub use streamed::streamed;

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

/// An accepted graph.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its file.
    pub name: String,
    /// What it is.
    pub summary: &'static str,
    /// The graph.
    pub graph: Value,
}

/// A graph that is being written.
#[derive(Clone, Debug, Default)]
struct Draft {
    values: Map<String, Value>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    nodes: Vec<Value>,
}

impl Draft {
    fn value(&mut self, name: &str, shape: &[i64], dtype: &str) {
        self.values.insert(name.to_owned(), json!({"shape": shape, "dtype": dtype}));
    }

    fn input(&mut self, name: &str, shape: &[i64], dtype: &str) {
        self.inputs.push(name.to_owned());
        self.value(name, shape, dtype);
    }

    /// A node with members of its own, and the value that it produces.
    fn push(&mut self, op: &str, ins: &[&str], out: &str, (shape, dtype): (&[i64], &str), more: &Value) {
        self.value(out, shape, dtype);
        let mut node = json!({"id": format!("{op}-{out}"), "op": op});
        if let (Some(node), Value::Object(more)) = (node.as_object_mut(), more.clone()) {
            node.extend(more);
        }
        node["in"] = json!(ins);
        node["out"] = json!(out);
        self.nodes.push(node);
    }

    fn node(&mut self, op: &str, ins: &[&str], out: &str, shape: &[i64], dtype: &str) {
        self.push(op, ins, out, (shape, dtype), &json!({}));
    }

    /// A node that rounds nothing.
    fn with(&mut self, op: &str, ins: &[&str], out: &str, shape: &[i64], more: &Value) {
        self.push(op, ins, out, (shape, "F32"), more);
    }

    fn output(&mut self, name: &str) {
        self.outputs.push(name.to_owned());
    }

    fn graph(self) -> Value {
        json!({"values": self.values, "inputs": self.inputs, "outputs": self.outputs, "nodes": self.nodes})
    }
}

/// Attention that is written out, step by step.
#[derive(Clone, Debug)]
struct Plan {
    heads: Option<(i64, i64)>,
    rows: i64,
    keys: i64,
    depth: i64,
    wide: i64,
    by: Option<[i64; 2]>,
    mask: Option<Value>,
    dtype: &'static str,
    scores: &'static str,
    weights: &'static str,
}

impl Plan {
    fn of(rows: i64, keys: i64, depth: i64) -> Plan {
        Plan {
            heads: None,
            rows,
            keys,
            depth,
            wide: depth,
            by: Some([1, 2]),
            mask: None,
            dtype: "F16",
            scores: "F32",
            weights: "F32",
        }
    }

    fn shape(&self, is_query: bool, rows: i64, columns: i64) -> Vec<i64> {
        match self.heads {
            None => vec![rows, columns],
            Some((queries, keys)) => vec![if is_query { queries } else { keys }, rows, columns],
        }
    }

    fn inputs(&self, draft: &mut Draft) {
        draft.input("Q", &self.shape(true, self.rows, self.depth), self.dtype);
        draft.input("K", &self.shape(false, self.keys, self.depth), self.dtype);
        draft.input("V", &self.shape(false, self.keys, self.wide), self.dtype);
    }

    /// The scores, up to the weights. The names begin with `of`.
    fn weights(&self, draft: &mut Draft, of: &str, queries: &str, turned: &str) -> String {
        let shape = self.shape(true, self.rows, self.keys);
        let name = |what: &str| format!("{of}{what}");
        let mut last = name("s");
        draft.node("matmul", &[queries, turned], &last, &shape, self.scores);
        if let Some(by) = self.by {
            let next = name("t");
            draft.push("scale", &[&last], &next, (&shape, self.scores), &json!({"by": by}));
            last = next;
        }
        if let Some(mask) = &self.mask {
            let next = name("u");
            draft.with("mask", &[&last], &next, &shape, mask);
            last = next;
        }
        let weights = name("p");
        let axis = shape.len() - 1;
        draft.push("softmax", &[&last], &weights, (&shape, self.weights), &json!({"axis": axis}));
        weights
    }

    fn turned(&self, draft: &mut Draft) {
        draft.node("transpose", &["K"], "KT", &self.shape(false, self.depth, self.keys), self.dtype);
    }

    fn product(&self, draft: &mut Draft, weights: &str, out: &str, dtype: &str) {
        draft.node("matmul", &[weights, "V"], out, &self.shape(true, self.rows, self.wide), dtype);
    }

    /// All of it, from `Q`, `K` and `V` to `O`.
    fn draft(&self) -> Draft {
        let mut draft = Draft::default();
        self.inputs(&mut draft);
        self.turned(&mut draft);
        let weights = self.weights(&mut draft, "", "Q", "KT");
        self.product(&mut draft, &weights, "O", self.dtype);
        draft.output("O");
        draft
    }
}

/// Those with a pattern.
fn patterns(all: &mut Vec<(&'static str, &'static str, Draft)>) {
    let plain = Plan::of(12, 10, 3);
    let of = |change: fn(&mut Plan)| {
        let mut plan = Plan::of(12, 10, 3);
        change(&mut plan);
        plan.draft()
    };
    all.push(("attention", "attention with a scale", plain.draft()));
    all.push(("unscaled", "attention without a scale", of(|plan| plan.by = None)));
    all.push(("negative", "attention with a scale below 0", of(|plan| plan.by = Some([-3, 4]))));
    all.push(("causal", "causal attention", of(|plan| plan.mask = Some(json!({})))));
    let shifted = of(|plan| plan.mask = Some(json!({"offset": 2, "window": null})));
    all.push(("shifted", "causal attention behind keys of earlier tokens", shifted));
    let windowed = of(|plan| plan.mask = Some(json!({"offset": 1, "window": 3})));
    all.push(("window", "attention in a window", windowed));
    let narrow = of(|plan| (plan.mask, plan.by) = (Some(json!({"offset": -1, "window": 2})), None));
    all.push(("narrow", "attention to two earlier keys, without a scale", narrow));
    let hidden = of(|plan| plan.mask = Some(json!({"offset": -2})));
    all.push(("hidden", "attention in which the first rows see nothing", hidden));
    all.push(("wide", "attention with values wider than keys", of(|plan| plan.wide = 5)));
    all.push(("bfloat", "attention in BF16, without a rounding on the way", of(|plan| plan.dtype = "BF16")));
    all.push(("single", "attention in F32, where nothing is rounded", of(|plan| plan.dtype = "F32")));
    all.push(("heads", "attention of three heads", of(|plan| plan.heads = Some((3, 3)))));
    all.push(("grouped", "four heads of queries, two of keys", of(|plan| plan.heads = Some((4, 2)))));
    let multi = of(|plan| {
        plan.heads = Some((3, 1));
        plan.mask = Some(json!({"window": 4}));
    });
    all.push(("multi-query", "three heads of queries, one of keys, in a window", multi));

    // Scores that are no larger than what they are made of.
    for (name, summary, rows, keys, depth) in [
        ("cube", "attention without a scale, of as many rows as keys, and as deep", 6, 6, 6),
        ("deep", "attention without a scale, deeper than it has rows and keys", 4, 5, 12),
        ("low", "attention without a scale, of as many rows as it is deep, and fewer keys", 9, 5, 9),
    ] {
        let plan = Plan { by: None, ..Plan::of(rows, keys, depth) };
        all.push((name, summary, plan.draft()));
    }

    // Keys that were transposed elsewhere; as many of them as they are deep, so that shapes tell nothing.
    let square = Plan::of(6, 6, 6);
    for (name, summary, plan) in [
        ("turned-keys", "keys that come transposed", &plain),
        ("square", "keys that come transposed, and have the shape of those that do not", &square),
    ] {
        let mut draft = Draft::default();
        draft.input("Q", &[plan.rows, plan.depth], "F16");
        draft.input("KT", &[plan.depth, plan.keys], "F16");
        draft.input("V", &[plan.keys, plan.wide], "F16");
        let weights = plan.weights(&mut draft, "", "Q", "KT");
        plan.product(&mut draft, &weights, "O", "F16");
        draft.output("O");
        all.push((name, summary, draft));
    }
    for (name, summary, dtype, heads) in [
        ("rounded-keys", "keys that are rounded when they are transposed", "BF16", None),
        ("halved-keys", "keys that are rounded to F16 when they are transposed", "F16", None),
        (
            "rounded-heads",
            "keys of two heads that are rounded when they are transposed",
            "BF16",
            Some((2, 2)),
        ),
    ] {
        let mut plan = Plan { dtype: "F32", heads, ..plain.clone() };
        let mut draft = Draft::default();
        plan.inputs(&mut draft);
        plan.dtype = dtype;
        plan.turned(&mut draft);
        let weights = plan.weights(&mut draft, "", "Q", "KT");
        plan.product(&mut draft, &weights, "O", "F32");
        draft.output("O");
        all.push((name, summary, draft));
    }
    several(all, &plain);
}

/// Those with more than one pattern, or more around it.
fn several(all: &mut Vec<(&'static str, &'static str, Draft)>, plain: &Plan) {
    let mut draft = Draft::default();
    plain.inputs(&mut draft);
    draft.input("R", &[12, 3], "F16");
    plain.turned(&mut draft);
    for (queries, of, out) in [("Q", "a", "A"), ("R", "b", "B")] {
        let weights = plain.weights(&mut draft, of, queries, "KT");
        plain.product(&mut draft, &weights, out, "F16");
        draft.output(out);
    }
    all.push(("shared-keys", "two rows of queries on the same keys", draft));

    let mut draft = Draft::default();
    for (name, shape) in [("Q", [12, 3]), ("R", [12, 3]), ("KT", [3, 10]), ("V", [10, 3])] {
        draft.input(name, &shape, "F16");
    }
    for (queries, of, out) in [("Q", "a", "A"), ("R", "b", "B")] {
        let weights = plain.weights(&mut draft, of, queries, "KT");
        plain.product(&mut draft, &weights, out, "F16");
        draft.output(out);
    }
    all.push(("shared-turned-keys", "two rows of queries on the same keys, which come transposed", draft));

    let mut draft = Draft::default();
    plain.inputs(&mut draft);
    plain.turned(&mut draft);
    let weights = plain.weights(&mut draft, "a", "Q", "KT");
    plain.product(&mut draft, &weights, "A", "F32");
    let mut causal = plain.clone();
    causal.mask = Some(json!({}));
    let weights = causal.weights(&mut draft, "b", "A", "KT");
    plain.product(&mut draft, &weights, "O", "F16");
    draft.output("O");
    all.push(("layers", "attention whose queries come from attention", draft));

    let mut draft = Draft::default();
    plain.inputs(&mut draft);
    draft.input("W", &[3, 7], "F16");
    plain.turned(&mut draft);
    let weights = plain.weights(&mut draft, "a", "Q", "KT");
    plain.product(&mut draft, &weights, "A", "F32");
    draft.with("softmax", &["A"], "B", &[12, 3], &json!({"axis": 1}));
    draft.node("matmul", &["B", "W"], "O", &[12, 7], "F32");
    draft.output("O");
    all.push(("chained", "a second softmax whose scores are what attention gives", draft));

    all.push(("decoder", "the attention of a decoder layer, from norm to residual", decoder()));
}

/// The attention of a decoder layer, from norm to residual.
fn decoder() -> Draft {
    let mut draft = Draft::default();
    draft.input("X", &[9, 4], "BF16");
    for name in ["WQ", "WK", "WV", "WO"] {
        draft.input(name, &[4, 4], "BF16");
    }
    draft.input("C", &[9, 2], "F32");
    draft.input("S", &[9, 2], "F32");
    draft.input("G", &[4], "BF16");
    draft.with("rms_norm", &["X", "G"], "H", &[9, 4], &json!({"eps": [1, 100_000]}));
    for (weight, out) in [("WQ", "q0"), ("WK", "k0"), ("WV", "V")] {
        draft.node("matmul", &["H", weight], out, &[9, 4], "BF16");
    }
    draft.node("rope", &["q0", "C", "S"], "q", &[9, 4], "BF16");
    draft.node("rope", &["k0", "C", "S"], "K", &[9, 4], "BF16");
    let mut plan = Plan::of(9, 9, 4);
    (plan.dtype, plan.mask) = ("BF16", Some(json!({})));
    plan.turned(&mut draft);
    let weights = plan.weights(&mut draft, "", "q", "KT");
    plan.product(&mut draft, &weights, "y", "BF16");
    draft.node("matmul", &["y", "WO"], "z", &[9, 4], "F32");
    draft.node("add", &["X", "z"], "O", &[9, 4], "BF16");
    draft.output("O");
    draft
}

/// Those without a pattern.
fn others(all: &mut Vec<(&'static str, &'static str, Draft)>) {
    let of = |change: fn(&mut Plan)| {
        let mut plan = Plan::of(12, 10, 3);
        change(&mut plan);
        plan.draft()
    };
    all.push(("half-weights", "weights that are rounded to F16", of(|plan| plan.weights = "F16")));
    all.push(("half-scores", "scores that are rounded to BF16", of(|plan| plan.scores = "BF16")));
    let both = of(|plan| (plan.scores, plan.weights) = ("F16", "F16"));
    all.push(("half-everything", "scores and weights that are rounded", both));

    let plain = Plan::of(12, 10, 3);
    for (name, summary, value) in [
        ("scores-asked-for", "scores that are asked for", "t"),
        ("weights-asked-for", "weights that are asked for", "p"),
    ] {
        let mut draft = plain.draft();
        draft.output(value);
        all.push((name, summary, draft));
    }
    let mut draft = plain.draft();
    draft.with("reduce", &["t"], "top", &[12, 1], &json!({"fn": "max", "axis": 1}));
    draft.output("top");
    all.push(("scores-read-twice", "scores of which somebody takes the largest", draft));

    for (name, summary, plan) in [
        ("columns", "softmax along the other axis", Plan::of(12, 10, 3)),
        ("columns-square", "softmax along the other axis, of as many rows as keys", Plan::of(10, 10, 3)),
        ("columns-causal", "softmax along the other axis, of masked scores", {
            let mut plan = Plan::of(10, 10, 3);
            plan.mask = Some(json!({}));
            plan
        }),
    ] {
        let mut draft = plan.draft();
        for node in draft.nodes.iter_mut().filter(|node| node["op"] == "softmax") {
            node["axis"] = json!(0);
        }
        all.push((name, summary, draft));
    }

    let mut draft = Draft::default();
    plain.inputs(&mut draft);
    plain.turned(&mut draft);
    draft.node("matmul", &["Q", "KT"], "s", &[12, 10], "F32");
    draft.with("mask", &["s"], "t", &[12, 10], &json!({"offset": 1}));
    draft.with("scale", &["t"], "u", &[12, 10], &json!({"by": [1, 2]}));
    draft.with("softmax", &["u"], "p", &[12, 10], &json!({"axis": 1}));
    plain.product(&mut draft, "p", "O", "F16");
    draft.output("O");
    all.push(("masked-first", "scores that are masked before they are scaled", draft));

    written_out(all);

    let mut draft = Draft::default();
    draft.input("A", &[7, 12], "F16");
    plain.inputs(&mut draft);
    plain.turned(&mut draft);
    let weights = plain.weights(&mut draft, "", "Q", "KT");
    draft.node("matmul", &["A", &weights], "O", &[7, 10], "F16");
    draft.output("O");
    all.push(("second-operand", "weights that are the second operand of a product", draft));

    let mut draft = Draft::default();
    draft.input("Q", &[4, 6, 3], "F16");
    draft.input("K", &[2, 6, 3], "F16");
    draft.input("V", &[4, 6, 3], "F16");
    draft.node("transpose", &["K"], "KT", &[2, 3, 6], "F16");
    let mut plan = Plan::of(6, 6, 3);
    plan.heads = Some((4, 2));
    let weights = plan.weights(&mut draft, "", "Q", "KT");
    plan.product(&mut draft, &weights, "O", "F16");
    draft.output("O");
    all.push(("uneven-groups", "more heads of values than of keys", draft));
    around(all);
}

/// Softmax in five nodes.
fn written_out(all: &mut Vec<(&'static str, &'static str, Draft)>) {
    for (name, summary, mask, dtype) in [
        ("written-out", "softmax in five nodes", None, "F16"),
        ("written-out-causal", "softmax in five nodes, of masked scores", Some(json!({})), "F32"),
        ("written-out-window", "softmax in five nodes, in a window", Some(json!({"window": 4})), "BF16"),
    ] {
        all.push((name, summary, softmax_in_five(&Plan { mask, dtype, ..Plan::of(12, 10, 3) })));
    }
}

/// Attention that is written out, with its softmax in five nodes.
fn softmax_in_five(plan: &Plan) -> Draft {
    let mut draft = plan.draft();
    // The softmax and the product that it was for, in other words.
    let product = draft.nodes.pop();
    let scores = draft.nodes.pop().map(|softmax| softmax["in"][0].clone()).unwrap_or_default();
    let scores = scores.as_str().unwrap_or_default();
    draft.with("reduce", &[scores], "top", &[plan.rows, 1], &json!({"fn": "max", "axis": 1}));
    draft.node("sub", &[scores, "top"], "d", &[plan.rows, plan.keys], "F32");
    draft.node("exp", &["d"], "e", &[plan.rows, plan.keys], "F32");
    draft.with("reduce", &["e"], "sum", &[plan.rows, 1], &json!({"fn": "sum", "axis": 1}));
    draft.node("div", &["e", "sum"], "p", &[plan.rows, plan.keys], "F32");
    draft.nodes.extend(product);
    draft
}

/// Graphs without attention, and one that has it as a node.
fn around(all: &mut Vec<(&'static str, &'static str, Draft)>) {
    let mut draft = Draft::default();
    draft.input("X", &[5, 4], "F16");
    draft.input("W1", &[4, 6], "F16");
    draft.input("B1", &[6], "F16");
    draft.input("W2", &[6, 4], "F16");
    draft.input("G", &[4], "F16");
    draft.input("B", &[4], "F16");
    draft.with("layer_norm", &["X", "G", "B"], "H", &[5, 4], &json!({"eps": [1, 1000]}));
    draft.node("matmul", &["H", "W1"], "h", &[5, 6], "F32");
    draft.node("add", &["h", "B1"], "hb", &[5, 6], "F32");
    draft.node("gelu", &["hb"], "g", &[5, 6], "F16");
    draft.node("matmul", &["g", "W2"], "O", &[5, 4], "F16");
    draft.output("O");
    all.push(("mlp", "norm, product, bias, GELU, product", draft));

    let mut draft = Draft::default();
    draft.input("X", &[2, 3, 4], "BF16");
    draft.input("W", &[3, 1], "F32");
    draft.node("copy", &["X"], "a", &[2, 3, 4], "F32");
    draft.node("silu", &["a"], "b", &[2, 3, 4], "F32");
    draft.node("neg", &["b"], "c", &[2, 3, 4], "F32");
    draft.node("mul", &["c", "a"], "d", &[2, 3, 4], "F32");
    draft.node("max", &["d", "W"], "e", &[2, 3, 4], "F32");
    draft.node("mul", &["e", "e"], "f", &[2, 3, 4], "F32");
    draft.with("reduce", &["f"], "g", &[1, 3, 4], &json!({"fn": "sum", "axis": 0}));
    draft.node("rsqrt", &["g"], "Y", &[1, 3, 4], "F16");
    draft.output("Y");
    all.push(("elementwise", "functions of elements, and a sum along the first axis", draft));

    let mut draft = Draft::default();
    let mut plan = Plan::of(12, 10, 3);
    plan.heads = Some((4, 2));
    plan.inputs(&mut draft);
    let more = json!({"by": [1, 2], "mask": {"offset": 1, "window": 6}});
    draft.with("attention", &["Q", "K", "V"], "O", &[4, 12, 3], &more);
    draft.output("O");
    all.push(("node", "attention that is a node already", draft));
}

/// All of them.
pub fn all() -> &'static [Sample] {
    static ALL: LazyLock<Vec<Sample>> = LazyLock::new(|| {
        let mut all = Vec::new();
        patterns(&mut all);
        others(&mut all);
        let sample = |(name, summary, draft): (&str, &'static str, Draft)| Sample {
            name: format!("graph-{name}"),
            summary,
            graph: draft.graph(),
        };
        all.into_iter().map(sample).collect()
    });
    &ALL
}

/// The text of a graph, with a line for each value and node.
pub fn text(graph: &Value) -> String {
    let values = graph["values"].as_object().into_iter().flatten();
    let values: Vec<String> = values.map(|(name, value)| format!("{}: {value}", json!(name))).collect();
    let nodes: Vec<String> = graph["nodes"].as_array().into_iter().flatten().map(Value::to_string).collect();
    format!(
        "{{\"values\": {{\n  {}}},\n \"inputs\": {}, \"outputs\": {},\n \"nodes\": [\n  {}]}}\n",
        values.join(",\n  "),
        graph["inputs"],
        graph["outputs"],
        nodes.join(",\n  ")
    )
}
