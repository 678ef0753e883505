//! The accepted documents that rejected cases are edits of. None of them is warned of.

use megakernel_ir::rule::{Clause, clause};
use serde_json::{Value, json};

use crate::build::{Op, kernel, op, request_with, sequence, with};
use crate::item::{Expect, Item, select};

/// A base by its name.
pub fn base(name: &str) -> Value {
    match name {
        "sequence-three" => sequence(&three()),
        "sequence-branch" => sequence(&branch()),
        "sequence-rich" => sequence(&rich()),
        "sequence-two-values" => sequence(&two_values()),
        "index-basic" => json!({"kernels": basic()}),
        "index-rich" => json!({"kernels": rich_index()}),
        "index-optional" => json!({"kernels": optional_index()}),
        "index-units" => json!({"kernels": units()}),
        "request-basic" => request_with(&three(), &basic(), json!({})),
        "request-rich" => request_with(
            &rich(),
            &rich_index(),
            json!({"limit": 16, "machine": {"gbs": "3350.0", "tflops": "989.5"}}),
        ),
        "request-branch" => request_with(&branch(), &basic(), json!({"beam": 2})),
        "review-fused" => review(&three(), &basic(), json!({}), &[(0, 2, "linear_bias_relu")]),
        "review-single" => review(
            &three(),
            &basic(),
            json!({"limit": 1}),
            &[(0, 0, "linear"), (1, 1, "bias"), (2, 2, "relu")],
        ),
        "review-branch" => {
            review(&branch(), &basic(), json!({}), &[(0, 0, "linear"), (1, 2, "bias_relu"), (3, 3, "relu")])
        }
        "review-marked" => {
            review(&marked(), &basic(), json!({}), &[(0, 0, "linear"), (1, 2, "bias_relu"), (3, 3, "store")])
        }
        "review-members" => members(),
        _ => json!({"ops": []}),
    }
}

/// The names of all bases.
pub const NAMES: &[&str] = &[
    "sequence-empty",
    "sequence-three",
    "sequence-branch",
    "sequence-rich",
    "sequence-two-values",
    "index-basic",
    "index-rich",
    "index-optional",
    "index-units",
    "request-basic",
    "request-rich",
    "request-branch",
    "review-fused",
    "review-single",
    "review-branch",
    "review-marked",
    "review-members",
];

fn three() -> Vec<Op> {
    vec![
        op("linear").reads(&["x", "w"]).writes("a").core("gemm"),
        op("bias").reads(&["a", "b"]).writes("c").core("ew").rows(&json!({"epilogue": {"bias": true}})),
        op("relu")
            .reads(&["c"])
            .writes("y")
            .output()
            .core("ew")
            .rows(&json!({"epilogue": {"activation": "relu"}})),
    ]
}

/// What the product computes is read twice.
fn branch() -> Vec<Op> {
    vec![
        op("linear").reads(&["x", "w"]).writes("a").core("gemm"),
        op("bias").reads(&["a", "b"]).writes("c").core("ew"),
        op("relu").reads(&["c"]).writes("y").output().core("ew"),
        op("relu").reads(&["a"]).writes("z").output().core("ew"),
    ]
}

/// A marker behind the product, and a barrier at the end.
fn marked() -> Vec<Op> {
    vec![
        op("linear").reads(&["x", "w"]).writes("a").core("gemm"),
        op("bias").reads(&["a", "b"]).writes("c").core("ew").marker("sync"),
        op("relu").reads(&["c"]).writes("y").core("ew"),
        op("store")
            .reads(&["y"])
            .core("move")
            .rows(&json!({"effects": {"flags": ["barrier"], "writes": ["log"]}})),
    ]
}

fn rich() -> Vec<Op> {
    let dims = json!({"m": 1, "n": 4096, "k": "s"});
    vec![
        op("linear").reads(&["x", "w"]).writes("a").member("label", json!("first")).rows(&json!({
            "sig": {"core": "gemm", "linearity": "linear"}, "shape": {"m": 1, "n": 4096, "k": 1024},
            "dtype": {"in": "BF16", "out": "BF16", "acc": "F32", "weight": "BF16"},
            "layout": {"order": "row", "trans": "nt"}, "effects": {"reads": ["k"]},
            "requirements": {"required": 16, "offered": 128}})),
        op("bias").reads(&["a", "b"]).writes("c").rows(&json!({
            "sig": {"core": "ew", "linearity": "linear"}, "shape": dims,
            "dtype": {"in": "BF16", "out": "F32"}, "layout": {"order": "any"}, "epilogue": {"bias": true, "activation": "none"},
            "effects": {"flags": ["cache"], "writes": ["k"]}, "requirements": {"offered": 64}})),
        op("relu").reads(&["c"]).writes("y").output().rows(&json!({
            "sig": {"core": "ew", "linearity": "nonlinear"}, "shape": {"k": "s"},
            "dtype": {"in": "F32", "out": "F32"}, "epilogue": {"bias": false, "activation": "relu"}})),
    ]
}

/// An op with two values, of which the first has two readers.
fn two_values() -> Vec<Op> {
    vec![
        op("linear").reads(&["x", "w"]).writes("a").writes("b"),
        op("relu").reads(&["a"]).writes("y").output(),
        op("bias").reads(&["b", "a"]).writes("z").output(),
    ]
}

/// Two classes alone, by kernels that dominate none without effects and that none dominates.
fn units() -> Vec<Value> {
    let all = json!({"effects": ["alias", "cache", "communication", "random", "barrier", "read_after_write", "overwrite"]});
    vec![with(kernel("unit relu", "99", "relu!"), &all), with(kernel("unit bias", "99", "bias!"), &all)]
}

fn basic() -> Vec<Value> {
    vec![
        kernel("linear", "5", "linear:gemm!"),
        kernel("bias", "2", "bias!"),
        kernel("relu", "2", "relu!"),
        with(kernel("store", "1", "store!"), &json!({"effects": ["barrier"]})),
        kernel("linear_bias", "6", "linear:gemm bias/0!"),
        kernel("bias_relu", "3", "bias relu/0!"),
        kernel("linear_bias_relu", "13/2", "linear:gemm bias/0 relu/0!"),
    ]
}

fn rich_index() -> Vec<Value> {
    let all = ["cache", "overwrite", "read_after_write"];
    let terms = json!({"fixed": "5000000", "bytes": [{"times": "2", "dims": ["m", "k"]}, {"times": "2", "dims": ["k", "n"]}], "flops": [{"times": "2", "dims": ["m", "n", "k"]}]});
    vec![
        with(
            kernel("linear", "9", "linear!"),
            &json!({
            "shape": {"m": {"min": 1, "max": 64, "multiple": 1}, "k": {"multiple": 16}}, "dtype": {"in": ["BF16", "F16"], "weight": ["BF16", "I8"]},
            "layout": {"order": ["row"], "trans": ["nt", "nn"]}, "requirements": {"align": 16, "vector": 8}, "cost": terms}),
        ),
        with(kernel("bias", "2", "bias!"), &json!({"effects": all})),
        with(
            kernel("relu", "2", "relu!"),
            &json!({"dtype": {"out": ["F32", "F16"]}, "epilogue": {"activation": ["relu"], "allow": ["bias"], "require": []}}),
        ),
        with(
            kernel("linear_bias", "6", "linear! bias/0!"),
            &json!({"effects": all, "dtype": {"acc": ["F32"]}, "epilogue": {"require": ["bias"], "allow": ["bias", "scale"]}}),
        ),
        with(
            kernel("linear_bias_relu", "7", "linear bias/0! relu/0!"),
            &json!({"effects": all, "layout": {"pack": null}, "note": "with a cache"}),
        ),
    ]
}

fn optional_index() -> Vec<Value> {
    vec![
        kernel("norm", "2", "norm!"),
        kernel("linear", "5", "linear!"),
        kernel("scale", "1", "scale!"),
        kernel("bias", "1", "bias!"),
        kernel("linear_all", "6", "norm? linear scale/0? bias/0?!"),
    ]
}

fn review(ops: &[Op], kernels: &[Value], options: Value, regions: &[(usize, usize, &str)]) -> Value {
    let mut review = request_with(ops, kernels, options);
    let regions: Vec<Value> = regions
        .iter()
        .map(|(anchor, last, kernel)| json!({"anchor": anchor, "last": last, "kernel": kernel}))
        .collect();
    if let Some(members) = review.as_object_mut() {
        members.insert("plan".to_owned(), json!({"regions": regions}));
    }
    review
}

/// A plan with all that an answer has.
fn members() -> Value {
    let mut review = review(&three(), &basic(), json!({"limit": 2}), &[]);
    let plan = json!({"cost": "8", "regions": [
        {"anchor": 0, "last": 1, "kernel": "linear_bias", "trigger": "limit", "reason": null, "cost": "6",
         "attrs": {"sig": {"word": ["linear", "bias"], "core": "gemm"}, "epilogue": {"bias": true}}},
        {"anchor": 2, "last": 2, "kernel": "relu", "trigger": "end", "reason": null, "cost": "2",
         "attrs": {"sig": {"word": ["relu"], "core": "ew"}, "epilogue": {"activation": "relu"}}}]});
    if let Some(members) = review.as_object_mut() {
        members.insert("plan".to_owned(), plan);
    }
    review
}

/// The cases that accept the bases: a request is selected for, anything else judged.
pub fn accepted() -> Vec<Item> {
    let one = |name: &&str| {
        let value = base(name);
        let is_request = name.starts_with("request");
        let clauses: &[Clause] = match *name {
            name if name.starts_with("sequence") => &[clause::SEL_01, clause::SEL_02, clause::SEL_03],
            name if name.starts_with("index") => &[clause::SEL_01, clause::SEL_13],
            name if name.starts_with("request") => &[clause::SEL_01, clause::SEL_04],
            _ => &[clause::SEL_01, clause::SEL_23],
        };
        let item =
            select(name, &format!("an accepted document: {}", name.replace('-', ", ")), clauses, value);
        match is_request {
            true => Item { expect: Expect::Clean, ..item },
            false => Item { method: "validate", expect: Expect::Warn(Vec::new()), ..item },
        }
    };
    let mut items: Vec<Item> = NAMES.iter().map(one).collect();
    for name in NAMES.iter().filter(|name| name.starts_with("request")) {
        let item = select(name, "a request that is judged and not answered", &[clause::SEL_01], base(name));
        let name = format!("{name}-judged");
        items.push(Item { method: "validate", name, expect: Expect::Warn(Vec::new()), ..item });
    }
    items
}
