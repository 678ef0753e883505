//! Results of the plain VM that can be computed by hand.

use std::collections::BTreeMap;

use megakernel_adequacy::kernels::{Kernels, Plain};
use megakernel_adequacy::launch::{Launch, session};
use megakernel_adequacy::parts::Unwritten;
use megakernel_adequacy::variants::{self, style::Style};
use megakernel_ir::DType;
use megakernel_numerics::Tensor;
use serde_json::{Value, json};

/// An input: dtype, shape, values.
type Input<'a> = (DType, &'a [u64], &'a [f64]);

/// One task whose inputs are `i0`, `i1`, .. and whose output is `y`.
fn program(op: &str, inputs: &[Input<'_>], output: (DType, &[u64]), params: Value) -> Value {
    let mut buffers: Vec<Value> = Vec::new();
    for (id, (dtype, shape, _)) in inputs.iter().enumerate() {
        buffers.push(json!({"id": id, "name": format!("i{id}"), "kind": "IO_INPUT", "dtype": dtype.name(), "shape": shape}));
    }
    let y = inputs.len();
    buffers.push(
        json!({"id": y, "name": "y", "kind": "IO_OUTPUT", "dtype": output.0.name(), "shape": output.1}),
    );
    json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers, "counters": [{"id": 0}],
        "tasks": [{"id": 0, "op": op, "inputs": (0..y).collect::<Vec<_>>(), "outputs": [y], "out_counter": 0, "params": params}]})
}

fn tensors(inputs: &[Input<'_>]) -> BTreeMap<String, Tensor> {
    let tensor = |&(dtype, shape, values): &Input<'_>| {
        let ints: Vec<i64> = values.iter().map(|&value| value as i64).collect();
        match dtype.is_float() {
            true => Tensor::from_reals(dtype, shape.to_vec(), values),
            false => Tensor::from_ints(dtype, shape.to_vec(), &ints),
        }
    };
    let named = |(id, input)| (format!("i{id}"), tensor(input).expect("a tensor"));
    inputs.iter().enumerate().map(named).collect()
}

fn run(kernels: &dyn Kernels, program: &Value, tensors: &BTreeMap<String, Tensor>) -> Vec<f64> {
    let text = program.to_string();
    let launch = Launch::new(text.as_bytes(), tensors).expect("a program");
    let outputs = session(kernels, &[launch]).expect("it runs");
    let y = &outputs[0]["y"];
    if y.dtype.is_float() { y.reals() } else { y.ints().into_iter().map(|int| int as f64).collect() }
}

/// The results have to be exact in every variant.
#[track_caller]
fn assert_exact(op: &str, inputs: &[Input<'_>], output: (DType, &[u64]), params: Value, expected: &[f64]) {
    let program = program(op, inputs, output, params);
    let tensors = tensors(inputs);
    assert_eq!(run(&Plain, &program, &tensors), expected);
    for variant in variants::all() {
        // Some programs write a part of their output, and the rest is undefined.
        let style = Style { unwritten: Unwritten::Zeros, ..variant.style };
        assert_eq!(run(&style, &program, &tensors), expected, "{}", variant.summary());
    }
}

const F32: DType = DType::F32;

#[test]
fn products() {
    let x: Input<'_> = (F32, &[2, 3], &[1., 2., 3., -1., 0., 4.]);
    let w: Input<'_> = (DType::BF16, &[4, 3], &[1., 0., 0., 0., 1., 0., 1., 1., 1., -2., 0., 1.]);
    let bias: Input<'_> = (F32, &[4], &[10., 20., 30., 40.]);
    let tile = json!({"K": 3, "N_tile": 2, "n_off": 2});
    assert_exact("GEMV_TILE", &[x, w, bias], (F32, &[2, 4]), tile, &[0., 0., 36., 41., 0., 0., 33., 46.]);
    let tile = json!({"K": 3, "N_tile": 3, "n_off": 1, "M_tile": 1, "m_off": 1});
    assert_exact("GEMM_TILE", &[x, w], (F32, &[2, 4]), tile, &[0., 0., 0., 0., 0., 0., 3., 6.]);
}

#[test]
fn quantised_products() {
    let x: Input<'_> = (F32, &[6], &[1., 2., 4., 8., 16., 32.]);
    // Nibbles 9, 7, 8, 10, 15, 0, which are 1, -1, 0, 2, 7, -8 in groups of 4.
    let packed: Input<'_> = (DType::U8, &[1, 3], &[0x79 as f64, 0xa8 as f64, 0x0f as f64]);
    let scales: Input<'_> = (F32, &[1, 2], &[2., 0.5]);
    let tile = json!({"K": 6, "N_tile": 1, "n_off": 0, "qdtype": 7, "group": 4});
    assert_exact("GEMV_TILE", &[x, packed, scales], (F32, &[1]), tile, &[-42.]);
    let zeros: Input<'_> = (DType::I8, &[1, 2], &[-1., 3.]);
    let params = json!({"qdtype": 7, "group": 4});
    let weights = [4., 0., 2., 6., 2., -5.5];
    assert_exact("DEQUANT", &[packed, scales, zeros], (F32, &[1, 6]), params, &weights);
}

#[test]
fn attention_of_grouped_heads() {
    // Scores are all equal, so every row weighs the same and the result is a mean.
    let q: Input<'_> = (F32, &[4, 2], &[0.; 8]);
    let keys: Input<'_> = (F32, &[4, 2, 2], &[1.; 16]);
    let values: Vec<f64> = (0..16).map(f64::from).collect();
    let values: Input<'_> = (F32, &[4, 2, 2], &values);
    let params =
        json!({"head_dim": 2, "n_heads": 4, "n_kv_heads": 2, "kv_start": 1, "kv_len": 2, "scale": 1.0});
    let expected = [6., 7., 6., 7., 8., 9., 8., 9.];
    assert_exact("ATTENTION_TILE", &[q, keys, values], (F32, &[4, 2]), params.clone(), &expected);
    let mask: Input<'_> = (DType::Bool, &[2], &[0., 1.]);
    let expected = [8., 9., 8., 9., 10., 11., 10., 11.];
    assert_exact("ATTENTION_TILE", &[q, keys, values, mask], (F32, &[4, 2]), params, &expected);
}

#[test]
fn partials_and_their_merger() {
    let q: Input<'_> = (F32, &[1, 1], &[1.]);
    // Scores of 0 weigh exactly 1, in whatever base.
    let keys: Input<'_> = (F32, &[2, 1, 1], &[0., 0.]);
    let values: Input<'_> = (F32, &[2, 1, 1], &[5., 7.]);
    let params = |len: u32| json!({"head_dim": 1, "n_heads": 1, "n_kv_heads": 1, "kv_start": 0, "kv_len": len, "scale": 1.0, "flags": 2});
    let inputs = [q, keys, values];
    assert_exact("ATTENTION_TILE", &inputs, (F32, &[1, 3]), params(2), &[12., 0., 2.]);
    assert_exact("ATTENTION_TILE", &inputs, (F32, &[1, 3]), params(0), &[0., f64::NEG_INFINITY, 0.]);
    let (some, none): (Input<'_>, Input<'_>) =
        ((F32, &[1, 3], &[12., 0., 2.]), (F32, &[1, 3], &[9., f64::NEG_INFINITY, 0.]));
    assert_exact("ATTENTION_COMBINE", &[none, some], (F32, &[1]), json!({}), &[6.]);
    assert_exact("ATTENTION_COMBINE", &[none, none], (F32, &[1]), json!({}), &[0.]);
}

#[test]
fn norms_of_exact_roots() {
    let x: Input<'_> = (F32, &[1, 4], &[2., -2., 2., 2.]);
    let w: Input<'_> = (F32, &[4], &[1., 2., 3., 4.]);
    let params = json!({"eps": 12.0, "hidden": 4});
    assert_exact("RMSNORM", &[x, w], (F32, &[1, 4]), params, &[0.5, -1., 1.5, 2.]);
    let x: Input<'_> = (F32, &[2, 2], &[1., 3., 3., 1.]);
    let b: Input<'_> = (F32, &[4], &[0., 0., 1., 0.]);
    let params = json!({"eps": 3.0, "hidden": 4});
    assert_exact("LAYERNORM", &[x, w, b], (F32, &[2, 2]), params, &[-0.5, 1., 2.5, -2.]);
}

#[test]
fn softmax_along_an_axis() {
    let x: Input<'_> = (F32, &[2, 2], &[0., 7., 0., 7.]);
    assert_exact("SOFTMAX", &[x], (F32, &[2, 2]), json!({"dim": 0}), &[0.5; 4]);
    let low = f64::NEG_INFINITY;
    let x: Input<'_> = (F32, &[2, 2], &[0., low, low, 3.]);
    assert_exact("SOFTMAX", &[x], (F32, &[2, 2]), json!({}), &[1., 0., 0., 1.]);
}

#[test]
fn moves() {
    let ids: Input<'_> = (DType::I32, &[2], &[2., 0.]);
    let table: Input<'_> = (F32, &[3, 2], &[1., 2., 3., 4., 5., 6.]);
    assert_exact("EMBED", &[ids, table], (F32, &[4]), json!({"hidden": 1}), &[5., 6., 1., 2.]);
    let logits: Input<'_> = (F32, &[2, 3], &[1., 3., 3., -0., 0., -1.]);
    assert_exact("SAMPLE_ARGMAX", &[logits], (DType::I32, &[2]), json!({}), &[1., 0.]);
    let x: Input<'_> = (F32, &[1, 4], &[1., 2., 3., 4.]);
    let at: Input<'_> = (DType::I32, &[1], &[0.]);
    let params = json!({"head_dim": 4, "theta": 10000.0});
    assert_exact("ROPE", &[x, at], (F32, &[1, 4]), params, &[1., 2., 3., 4.]);
}

#[test]
fn elementwise() {
    let a: Input<'_> = (F32, &[3], &[0., 2., -3.]);
    let b: Input<'_> = (F32, &[3], &[1., 5., 7.]);
    let y: (DType, &[u64]) = (DType::F8E5M2, &[3]);
    assert_exact("ADD", &[a, b], y, json!({}), &[1., 7., 4.]);
    assert_exact("MUL", &[a, b], y, json!({"scale": 9.0}), &[0., 10., -20.]);
    assert_exact("MUL", &[a], y, json!({"scale": -0.5}), &[-0., -1., 1.5]);
    assert_exact("ALLREDUCE_SHARD", &[a, b, a], y, json!({}), &[1., 8., 1.]);
    let far: Input<'_> = (F32, &[2], &[200., -200.]);
    let one: Input<'_> = (F32, &[2], &[1., 1.]);
    assert_exact("GELU", &[far], (F32, &[2]), json!({}), &[200., -0.]);
    assert_exact("SILU_MUL", &[far, one], (F32, &[2]), json!({}), &[200., -0.]);
}

#[test]
fn caches_are_kept_and_counters_are_not() {
    let program = |pos: u32| {
        json!({"ir_version": "0.2.0", "abi_version": "0.2",
            "buffers": [
                {"id": 0, "name": "new", "kind": "IO_INPUT", "dtype": "F32", "shape": [2, 1, 1]},
                {"id": 1, "name": "cache", "kind": "KV_CACHE", "dtype": "F32", "shape": [2, 3, 1, 1]},
                {"id": 2, "name": "y", "kind": "IO_OUTPUT", "dtype": "F32", "shape": [2, 3]}],
            "counters": [{"id": 0}, {"id": 1}],
            "tasks": [
                {"id": 0, "op": "COPY", "inputs": [1], "outputs": [2], "out_counter": 1, "waits": [{"counter": 0, "threshold": 1}]},
                {"id": 1, "op": "KV_APPEND", "inputs": [0, 1], "outputs": [1], "out_counter": 0, "params": {"pos": pos}}]})
        .to_string()
    };
    let new = |a, b| {
        let tensor = Tensor::from_reals(F32, vec![2, 1, 1], &[a, b]).expect("a tensor");
        BTreeMap::from([("new".to_owned(), tensor)])
    };
    let (first, second) = (program(0), program(2));
    let launches = [
        Launch::new(first.as_bytes(), &new(1., 2.)).expect("a program"),
        Launch::new(second.as_bytes(), &new(3., 4.)).expect("a program"),
    ];
    let outputs = session(&Plain, &launches).expect("it runs");
    assert_eq!(outputs[0]["y"].reals(), [1., 0., 0., 2., 0., 0.]);
    assert_eq!(outputs[1]["y"].reals(), [1., 0., 3., 2., 0., 4.]);
    assert_eq!(outputs[1]["cache"].reals(), outputs[1]["y"].reals());

    let cleared = megakernel_adequacy::faults::fault("caches-cleared").expect("a fault");
    let outputs = session(cleared.kernels, &launches).expect("it runs");
    assert_eq!(outputs[1]["y"].reals(), [0., 0., 3., 0., 0., 4.]);
    let kept = megakernel_adequacy::faults::fault("counters-kept").expect("a fault");
    let outputs = session(kept.kernels, &launches).expect("it runs");
    assert_eq!(outputs[1]["cache"].reals(), [1., 0., 3., 2., 0., 4.]);
}

/// A launch that copies each of some caches into an output, with a tensor of ones for each.
fn copies(caches: &[&str]) -> (String, BTreeMap<String, Tensor>) {
    let n = caches.len();
    let shape = json!([2, 1, 1]);
    let named = |id: usize, name: &str, kind| json!({"id": id, "name": name, "kind": kind, "dtype": "F32", "shape": shape});
    let inputs = caches.iter().enumerate().map(|(id, name)| named(id, name, "KV_CACHE"));
    let outputs =
        caches.iter().enumerate().map(|(id, name)| named(n + id, &format!("of-{name}"), "IO_OUTPUT"));
    let buffers: Vec<Value> = inputs.chain(outputs).collect();
    let task =
        |id: usize| json!({"id": id, "op": "COPY", "inputs": [id], "outputs": [n + id], "out_counter": id});
    let counters: Vec<Value> = (0..n).map(|id| json!({"id": id})).collect();
    let tasks: Vec<Value> = (0..n).map(task).collect();
    let program = json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers, "counters": counters, "tasks": tasks});
    let ones = Tensor::from_reals(F32, vec![2, 1, 1], &[1., 1.]).expect("a tensor");
    (program.to_string(), caches.iter().map(|name| (name.to_string(), ones.clone())).collect())
}

#[test]
fn caches_are_bound_in_the_first_launch_and_found_by_name() {
    let texts = [&["k"][..], &["v"], &["v", "k"]].map(copies);
    let launches: Vec<Launch<'_>> = texts
        .iter()
        .map(|(text, tensors)| Launch::new(text.as_bytes(), tensors).expect("a program"))
        .collect();
    let last = |kernels: &dyn Kernels| {
        let outputs = session(kernels, &launches).expect("it runs");
        ["of-v", "of-k"].map(|name| outputs[2][name].reals()[0])
    };
    assert_eq!(last(&Plain), [0., 1.]);
    let of = |id: &str| last(megakernel_adequacy::faults::fault(id).expect("a fault").kernels);
    assert_eq!(of("caches-bound-late"), [1., 1.]);
    assert_eq!(of("caches-unlisted-dropped"), [0., 0.]);
    assert_eq!(of("caches-unbound"), [0., 0.]);
}
