//! Layers with a bias over the opcodes: kernels for a product and its bias, and the program that they stand for. No task type has one.

use megakernel_mcir_cases::families::compute::drawn;
use megakernel_mcir_reference::{Choices, Instructions, Programmed, compute_text, operators, run_program};
use megakernel_numerics::{DType, encode, interval};
use megakernel_selection_reference::{Answered, Method, answer};
use serde_json::{Value, json};

use super::{bits_of, index, outline, passed, selected, strings};

/// A graph of linear layers with a bias, the result of each but the last through GELU: what goes in has `widths[0]` columns.
fn layers(rows: u64, widths: &[u64]) -> Value {
    let tensor = |shape: &[u64], dtype: &str| json!({"shape": shape, "dtype": dtype});
    let mut values = json!({"x": tensor(&[rows, widths[0]], "BF16")});
    let (mut inputs, mut nodes) = (vec![json!("x")], Vec::new());
    let mut last = "x".to_owned();
    for (number, pair) in widths.windows(2).enumerate() {
        let [k, n] = [pair[0], pair[1]];
        let [w, b, t, p, y, g] = ["w", "b", "w_t", "p", "y", "g"].map(|name| format!("{name}{number}"));
        for (name, shape, dtype) in [
            (&w, &[n, k] as &[u64], "BF16"),
            (&b, &[n], "BF16"),
            (&t, &[k, n], "BF16"),
            (&p, &[rows, n], "F32"),
            (&y, &[rows, n], "BF16"),
        ] {
            values[name] = tensor(shape, dtype);
        }
        inputs.extend([json!(w), json!(b)]);
        nodes.push(json!({"id": t, "op": "transpose", "in": [w], "out": t}));
        nodes.push(json!({"id": p, "op": "matmul", "in": [last, t], "out": p}));
        nodes.push(json!({"id": y, "op": "add", "in": [p, b], "out": y}));
        last = y;
        if number + 2 < widths.len() {
            values[&g] = tensor(&[rows, n], "BF16");
            nodes.push(json!({"id": g, "op": "gelu", "in": [last], "out": g}));
            last = g;
        }
    }
    json!({"values": values, "inputs": inputs, "outputs": [last], "nodes": nodes})
}

/// The document of the passes, its operator sequence, and its program.
fn chain(graph: &Value) -> (Value, Value, Programmed) {
    let document = passed(graph);
    let text = document.to_string();
    let (sequence, made) = operators(text.as_bytes(), Instructions::Opcodes).expect("a sequence");
    (document, sequence, made)
}

/// The opcode of each product, norm and so on of a program: the tiles of one product are one.
fn opcodes(made: &Programmed) -> Vec<String> {
    let program: Value = serde_json::from_str(&made.program).expect("JSON");
    let tasks = program["tasks"].as_array().expect("tasks");
    let mut all: Vec<(&Value, &str)> =
        tasks.iter().map(|task| (&task["outputs"], task["op"].as_str().expect("an opcode"))).collect();
    all.dedup_by_key(|(outputs, _)| outputs.to_string());
    all.into_iter().map(|(_, op)| op.to_owned()).collect()
}

/// The kernels of the opcodes, without those of one of them.
fn biased(without: &str) -> Value {
    let mut index = index("amk-biased.json");
    let kernels = index["kernels"].as_array_mut().expect("kernels");
    kernels.retain(|kernel| !kernel["id"].as_str().is_some_and(|id| id.starts_with(without)));
    index
}

/// The rules by which there is no plan.
fn refused(sequence: &Value, mut index: Value) -> Vec<&'static str> {
    for kernel in index["kernels"].as_array_mut().expect("kernels") {
        kernel["cost"] = json!({"fixed": "1"});
    }
    match answer(Method::Select, &json!({"sequence": sequence, "index": index})) {
        Answered::Reject(faults) => faults.iter().map(|fault| fault.rule.id()).collect(),
        other => panic!("a plan: {other:?}"),
    }
}

#[test]
fn a_layer_with_a_bias_goes_over_opcodes_to_the_sums_that_integers_have() {
    for (rows, op, other) in [(1, "GEMV_TILE", "GEMM_TILE"), (5, "GEMM_TILE", "GEMV_TILE")] {
        let (mut document, sequence, made) = chain(&layers(rows, &[16, 8]));
        let (_, plan) = selected(&sequence, biased(other));
        assert_eq!(outline(&plan), [(0, 1, &*format!("{op} bias"))]);
        assert_eq!(opcodes(&made), [op]);
        // Integers that every sum has exactly, so that no order of additions matters.
        let number = |seed: u64, at: u64| ((at * 7 + seed * 3 + at * at) % 5) as i64 - 2;
        let numbers = |seed: u64, count: u64| -> Vec<i64> { (0..count).map(|at| number(seed, at)).collect() };
        let (x, w, b) = (numbers(1, rows * 16), numbers(2, 8 * 16), numbers(3, 8));
        let bits = |all: &[i64]| -> Vec<u32> {
            all.iter().map(|&number| encode(DType::BF16, number as f64)).collect()
        };
        document["data"] = json!({"x": bits(&x), "w0": bits(&w), "b0": bits(&b)});
        let expected: Vec<i64> = x
            .chunks(16)
            .flat_map(|row| {
                let sum = |(w, b): (&[i64], &i64)| row.iter().zip(w).map(|(x, w)| x * w).sum::<i64>() + b;
                w.chunks(16).zip(&b).map(sum).collect::<Vec<_>>()
            })
            .collect();
        let expected = json!({"y0": bits(&expected)});
        let (_, computed) =
            compute_text(document.to_string().as_bytes(), Choices::default()).expect("it computes");
        assert_eq!(computed["data"], expected, "the interpreter");
        let run = run_program(&made, &document["data"], 3).expect("it runs");
        assert_eq!(run["data"], expected, "the program");
    }
}

#[test]
fn several_rows_with_a_bias_are_no_matter_of_gemv() {
    let (_, sequence, _) = chain(&layers(5, &[16, 8]));
    assert_eq!(refused(&sequence, biased("GEMM_TILE")), ["KN01"]);
}

#[test]
fn two_layers_with_a_bias_go_over_opcodes_to_what_their_document_computes() {
    let (document, sequence, made) = chain(&layers(6, &[16, 32, 8]));
    let (_, plan) = selected(&sequence, index("amk-biased.json"));
    let expected = [(0, 1, "GEMM_TILE bias"), (2, 2, "GELU"), (3, 4, "GEMM_TILE bias")];
    assert_eq!(outline(&plan), expected);
    assert_eq!(opcodes(&made), ["GEMM_TILE", "GELU", "GEMM_TILE"]);
    for seed in 0..4 {
        let (document, outputs) = drawn(&document, seed);
        let run = run_program(&made, &document["data"], seed).expect("it runs");
        let reals = |member: &str| -> Vec<f64> {
            let all = outputs["y1"][member].as_array().expect("numbers");
            all.iter().map(|number| number.as_f64().expect("a number")).collect()
        };
        let (values, bounds) = (reals("values"), reals("bounds"));
        assert_eq!(values.len(), 6 * 8);
        let found: Vec<u32> = bits_of(&run["data"]["y1"]).collect();
        assert_eq!(found.len(), values.len());
        for (place, ((value, bound), bits)) in values.iter().zip(&bounds).zip(found).enumerate() {
            let fits = interval(DType::BF16, *value, *bound).admits(bits);
            assert!(fits, "seed {seed}, element {place}: {bits:#x} and not {value} within {bound}");
        }
    }
}

#[test]
fn no_task_type_computes_a_product_with_a_bias() {
    let (_, sequence, _) = chain(&layers(1, &[16, 8]));
    let ops = sequence["ops"].as_array().expect("ops");
    let classes: Vec<&str> = ops.iter().filter_map(|op| op["sig"]["class"].as_str()).collect();
    assert_eq!(classes, ["linear", "bias"], "{sequence}");
    let sums = ops[0]["writes"][0]["value"].as_str().expect("a name");
    assert_eq!(strings(&ops[0]["reads"]), ["x", "w0"], "{sequence}");
    assert_eq!(strings(&ops[1]["reads"]), [sums, "b0"], "{sequence}");
    assert_eq!((&ops[1]["writes"][0]["value"], &ops[1]["epilogue"]), (&json!("y0"), &json!({"bias": true})));
    // Nor does any opcode but with a kernel that says so: one for the product alone would leave the bias out.
    for name in ["mpk.json", "amk.json"] {
        assert_eq!(refused(&sequence, index(name)), ["KN01"], "{name}");
    }
}
