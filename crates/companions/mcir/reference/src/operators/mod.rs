//! The operator sequence of a document, for kernel selection (SEL-03 of that companion): what its regions compute, opcode by opcode.
//!
//! No kernel goes across the border of a region, so that a marker stands there, and what a boundary lets be stored is an output: a kernel has to write it. What
//! stands between two opcodes of one region may vanish in a kernel.

mod merging;

use std::collections::{HashMap, HashSet};

use serde_json::{Value as Json, json};

use crate::program::{NoProgram, Programmed, program};
use crate::validate::read_document;

/// What an opcode of a product with a bias does after the product: an op of its own (SEL-03).
const BIAS: &str = "bias";

/// What task types of MPK do where opcodes do it otherwise: attention appends keys and values to caches, and reads these; SILU_MUL has both operands in one.
const APPEND_K: &str = "append_k";
const APPEND_V: &str = "append_v";
const CACHED: &str = "attention over a cache";
const HALVES: &str = "silu_mul of halves";

/// The class of an opcode, or of one of the names above, its core, whether it is linear, and the roles of the extents of its result.
const CLASSES: [(&str, &str, &str, &str, [&str; 2]); 15] = [
    (BIAS, "bias", "ew", "linear", ["m", "n"]),
    (APPEND_K, "append_k", "move", "linear", ["m", "d"]),
    (APPEND_V, "append_v", "move", "linear", ["m", "d"]),
    (CACHED, "attention", "attn", "nonlinear", ["m", "d"]),
    (HALVES, "silu_mul", "ew", "nonlinear", ["m", "k"]),
    ("GEMM_TILE", "linear", "gemm", "linear", ["m", "n"]),
    ("GEMV_TILE", "linear", "gemm", "linear", ["m", "n"]),
    ("RMSNORM", "norm", "norm", "nonlinear", ["m", "k"]),
    ("LAYERNORM", "layernorm", "norm", "nonlinear", ["m", "k"]),
    ("ATTENTION_TILE", "attention", "attn", "nonlinear", ["m", "d"]),
    ("ADD", "add", "ew", "linear", ["m", "n"]),
    ("MUL", "mul", "ew", "nonlinear", ["m", "n"]),
    ("GELU", "gelu", "ew", "nonlinear", ["m", "n"]),
    ("SILU_MUL", "silu_mul", "ew", "nonlinear", ["m", "n"]),
    ("COPY", "copy", "move", "linear", ["m", "n"]),
];

/// Tasks that are one operator: the tiles of one product.
#[derive(Clone)]
struct Operator {
    /// Of those in [`CLASSES`].
    op: &'static str,
    params: Json,
    region: Json,
    ins: Vec<usize>,
    out: usize,
}

/// Whose operators those of a sequence are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// The opcodes': one operator for each.
    Opcodes,
    /// The task types': operators are merged as those of MPK take them, and the member `tensors` of the sequence has the weights that are put together.
    TaskTypes,
}

/// The operator sequence of a document, and the document's program, of which it is.
///
/// # Errors
/// See [`NoProgram`]: what no opcode computes is no operator either, nor, where operators are merged, what cannot be.
pub fn operators(document: &[u8], instructions: Instructions) -> Result<(Json, Programmed), NoProgram> {
    let made = program(document)?;
    let refused = |reason: &str| NoProgram::Refused(String::new(), reason.to_owned());
    let text: Json = serde_json::from_str(&made.program).map_err(|error| refused(&error.to_string()))?;
    let read = read_document(document).map_err(NoProgram::Rejected)?;
    let boundaries: HashSet<&str> =
        read.boundaries.iter().map(|boundary| read.names[boundary.value as usize].as_str()).collect();
    let mut buffers = list(&text["buffers"]).to_vec();
    let mut all: Vec<Operator> = Vec::new();
    for task in list(&text["tasks"]) {
        let (ins, outs) = (ids(&task["inputs"]), ids(&task["outputs"]));
        let &[out] = outs.as_slice() else { return Err(refused("a task without one output")) };
        let name = task["op"].as_str().unwrap_or_default();
        let Some(&(op, ..)) = CLASSES.iter().find(|(op, ..)| *op == name) else {
            return Err(refused(&format!("{name} is no operator of a sequence")));
        };
        let is_same = |last: &Operator| last.op == op && last.ins == ins && last.out == out;
        if !all.last().is_some_and(is_same) {
            all.push(Operator {
                op,
                params: task["params"].clone(),
                region: task["label"].clone(),
                ins,
                out,
            });
        }
    }
    let mut all: Vec<Operator> = all.into_iter().flat_map(|one| without_bias(one, &mut buffers)).collect();
    let mut tensors = Vec::new();
    if instructions == Instructions::TaskTypes {
        let place = |label: &Json| {
            let mut regions = read.regions.iter();
            regions.position(|region| *label == read.names[region.id as usize].as_str())
        };
        (all, tensors) = merging::merged(all, &mut buffers, &made.binding).map_err(|(label, reason)| {
            let pointer = place(&label).map(|place| format!("/regions/{place}"));
            NoProgram::Refused(pointer.unwrap_or_default(), reason)
        })?;
    }
    let buffer = |id: usize| buffers.get(id).unwrap_or(&Json::Null);
    // A buffer is the output of one operator, and those that read it come later.
    let writers: HashMap<usize, usize> =
        all.iter().enumerate().map(|(place, one)| (one.out, place)).collect();
    let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, one) in all.iter().enumerate() {
        for (at, &id) in one.ins.iter().enumerate() {
            if !one.ins[..at].contains(&id) {
                readers.entry(id).or_default().push(place);
            }
        }
    }
    let mut ops = Vec::with_capacity(all.len());
    for (place, one) in all.iter().enumerate() {
        let Some((_, class, core, linearity, roles)) = CLASSES.iter().find(|(op, ..)| one.op == *op) else {
            return Err(refused(&format!("{} is no operator of a sequence", one.op)));
        };
        let mut reads = one.ins.clone();
        if *class == "add" {
            // Sums may be read either way: what was computed last comes first, and a residual behind it.
            reads.sort_by_key(|id| std::cmp::Reverse(writers.get(id)));
        }
        let names: Vec<&Json> = reads.iter().map(|&id| &buffer(id)["name"]).collect();
        let made = buffer(one.out);
        let mut written =
            json!({"value": made["name"], "readers": readers.get(&one.out).map_or(&[][..], Vec::as_slice)});
        if made["kind"] == "IO_OUTPUT" || made["name"].as_str().is_some_and(|name| boundaries.contains(name))
        {
            written["output"] = json!(true);
        }
        let mut shape = json!({});
        let extents = list(&made["shape"]);
        for (role, extent) in roles.iter().rev().zip(extents.iter().rev()) {
            shape[*role] = extent.clone();
        }
        let first = reads.first().map_or(&Json::Null, |&id| &buffer(id)["dtype"]);
        let mut op = json!({
            "reads": names, "writes": [written], "sig": {"class": class, "core": core, "linearity": linearity},
            "dtype": {"in": first, "out": made["dtype"], "acc": "F32"}, "layout": {"order": "row"},
            "label": one.region,
        });
        if let Some(eps) = one.params.get("eps") {
            op["eps"] = eps.clone();
        }
        if let Some(effects) = one.params.get("effects") {
            op["effects"] = effects.clone();
            shape["d"] = one.params["head_dim"].clone();
        }
        if one.op == CACHED {
            op["scale"] = one.params["scale"].clone();
            // The tokens of a document are all that it attends to, so that they are the first ones of a text.
            op["position"] = json!(0);
        }
        // What is added within a kernel, if it is added there: a bias to a product, or what passes a layer by.
        if *class == "add" {
            op["epilogue"] = json!({"residual": true});
        }
        if *class == BIAS {
            op["epilogue"] = json!({"bias": true});
        }
        if *class == "linear" {
            shape["k"] = list(&buffer(one.ins[0])["shape"]).last().cloned().unwrap_or_default();
            op["dtype"]["weight"] = buffer(one.ins[1])["dtype"].clone();
            op["layout"]["trans"] = json!("nt");
        }
        op["shape"] = shape;
        if place > 0 && one.region != all[place - 1].region {
            op["marker"] = json!("sync");
        }
        ops.push(op);
    }
    let mut sequence = json!({"ops": ops});
    if !tensors.is_empty() {
        sequence["tensors"] = json!(tensors);
    }
    Ok((sequence, made))
}

/// A product with a bias as two operators: the product, whose sums nobody stores, and the bias. Any other operator as it is.
fn without_bias(one: Operator, buffers: &mut Vec<Json>) -> Vec<Operator> {
    let is_product = CLASSES.iter().any(|(op, class, ..)| one.op == *op && *class == "linear");
    let (true, &[x, weight, bias]) = (is_product, one.ins.as_slice()) else { return vec![one] };
    let made = buffers.get(one.out).cloned().unwrap_or_default();
    let name = format!("{} without its bias", made["name"].as_str().unwrap_or_default());
    let sums = buffers.len();
    buffers.push(json!({"name": name, "dtype": "F32", "shape": made["shape"]}));
    let product = Operator { ins: vec![x, weight], out: sums, ..one.clone() };
    vec![product, Operator { op: BIAS, ins: vec![sums, bias], ..one }]
}

fn list(value: &Json) -> &[Json] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn ids(value: &Json) -> Vec<usize> {
    list(value).iter().filter_map(Json::as_u64).filter_map(|id| usize::try_from(id).ok()).collect()
}
