//! From a semantic graph to what it computes, over every companion on the way: passes make a document of memory-centric IR, that is an operator sequence, kernels
//! are selected, and the plan becomes a kernel graph, a task graph and a program. Its tokens are those of the document's own program, and of one by hand.

#![allow(clippy::panic, reason = "a helper of a test fails the test")]

mod bias;
mod layer;

use std::collections::BTreeMap;

use megakernel_ir::model::Program;
use megakernel_ir::{DType, Layout, read, write_record};
use megakernel_mcir_cases::families::compute::drawn;
use megakernel_mcir_reference::{Instructions, Programmed, operators, run_program, transformed};
use megakernel_numerics::{Tensor, pack};
use megakernel_reference::validate::{Classes, validate};
use megakernel_reference::vm::{Loaded, Session, Settings};
use megakernel_selection_reference::kernel_graph::{self, Setting};
use megakernel_selection_reference::{Answered, Method, answer};
use megakernel_task_graph::{Mode, Translation, read_kernel_graph, read_task_graph};
use megakernel_task_graph_reference::bridge::{Options, import};
use megakernel_task_graph_reference::translate::translate;
use megakernel_test_support::{files, root};
use serde_json::{Value, json};

const PASSES: [&str; 3] = ["MaterializationEliminationPass", "TileSchedulingPass", "ResidencyAssignmentPass"];

/// The document that all passes make of a graph of the examples.
fn document(graph: &str) -> Value {
    passed(&files::json(&root().join("examples/mcir").join(graph)))
}

/// The document that all passes make of a graph.
fn passed(graph: &Value) -> Value {
    let made = |request: Value| {
        transformed(request.to_string().as_bytes())
            .unwrap_or_else(|none| panic!("{}: {none:?}", request["pass"]))
    };
    let graph = made(json!({"pass": "AttentionPatternPass", "graph": graph}));
    let target = json!({"shared_bytes": 232_448, "register_bytes": 262_144});
    let first = made(json!({"pass": "StreamingConversionPass", "graph": graph, "target": target}));
    PASSES.iter().fold(first, |document, pass| made(json!({"pass": pass, "document": document})))
}

fn index(name: &str) -> Value {
    files::json(&root().join("examples/selection/indices").join(name))
}

/// The request for a plan, and the plan. What kernels cost is no matter here, since each op has one.
fn selected(sequence: &Value, mut index: Value) -> (Value, Value) {
    for kernel in index["kernels"].as_array_mut().expect("kernels") {
        kernel["cost"] = json!({"fixed": "1"});
    }
    let request = json!({"sequence": sequence, "index": index});
    match answer(Method::Select, &request) {
        Answered::Accept { document: Some(plan), .. } => (request, plan),
        other => panic!("no plan: {other:?}"),
    }
}

/// First and last op of each region, and its kernel.
fn outline(plan: &Value) -> Vec<(u64, u64, &str)> {
    let region = |region: &'_ Value| Some((region["anchor"].as_u64()?, region["last"].as_u64()?));
    let regions = plan["regions"].as_array().expect("regions");
    let one = |found| {
        let (anchor, last) = region(found).expect("a region");
        (anchor, last, found["kernel"].as_str().expect("a kernel"))
    };
    regions.iter().map(one).collect()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn a_block_goes_over_selection_and_task_graphs_to_the_tokens_of_a_program_by_hand() {
    let document = document("block.json");
    let (sequence, _) =
        operators(document.to_string().as_bytes(), Instructions::Opcodes).expect("a sequence");
    let (request, plan) = selected(&sequence, index("mpk.json"));
    let expected = [
        (0, 0, "119 norm"),
        (1, 1, "120 linear"),
        (2, 3, "108 linear add"),
        (4, 4, "119 norm"),
        (5, 5, "120 linear"),
    ];
    assert_eq!(outline(&plan), expected);
    let tasks = |columns: u64| columns / 8;
    let setting = Setting { tensors: &[], positions: 1, tasks: &tasks, eps: 1e-6, theta: 10_000.0 };
    let graph = kernel_graph::kernel_graph(&request, &plan, &setting).expect("a kernel graph");
    let eps: Vec<&Value> = graph["operators"]
        .as_array()
        .expect("operators")
        .iter()
        .filter(|operator| operator["task_type"] == 119)
        .map(|operator| &operator["params"]["eps"])
        .collect();
    assert_eq!(eps, [&json!(1e-6), &json!(1e-3)]);
    let graph = graph.to_string();
    let mut seen = Vec::new();
    for mode in [Mode::Sound, Mode::Exact] {
        let kernel_graph = read_kernel_graph(graph.as_bytes()).expect("a kernel graph");
        let request = Translation { kernel_graph, ranks: 1, rank: 0, mode, extra: Vec::new() };
        let task_graph = write_record(&translate(&request).expect("a translation"), Layout::Compact);
        let judged = megakernel_task_graph_reference::validate(task_graph.as_bytes()).diagnostics;
        assert!(judged.iter().all(|found| !found.is_error()), "{judged:?}");
        let task_graph = read_task_graph(task_graph.as_bytes()).expect("a task graph");
        let made = import(&[&task_graph], &request.kernel_graph, &Options::default()).expect("no refusal");
        let judged = validate(made.program.as_bytes(), Classes::ALL).diagnostics;
        assert!(judged.iter().all(|found| !found.is_error()), "{judged:?}");
        let program: Program<'_> = read(made.program.as_bytes()).expect("a program");
        for seed in 0..4 {
            let (document, _) = drawn(&document, seed);
            let host = tensors(&document);
            let tensors = made.binding.gather(|_, name| host.get(name)).expect("tensors");
            let loaded = Loaded::load(&program).expect("no refusal");
            let launch = Session::new().launch(&loaded, &tensors, &Settings::default()).expect("a run");
            let mut logits = vec![f64::NAN; 48];
            for bound in &made.binding.buffers {
                for piece in bound.pieces.iter().filter(|piece| piece.tensor == "logits") {
                    let values = launch.output(&bound.buffer).expect("an output").tensor.reals();
                    let (from, count) = (piece.start[1] as usize, piece.extents[1] as usize);
                    logits[from..from + count].copy_from_slice(&values[piece.at as usize..][..count]);
                }
            }
            assert!(logits.iter().all(|logit| logit.is_finite()), "{logits:?}");
            let by_hand = run_program(&by_hand(), &document["data"], seed).expect("it runs");
            let token = greatest(&logits);
            assert_eq!(json!([token]), by_hand["data"]["token"], "seed {seed}");
            seen.push(token);
        }
    }
    assert_eq!(seen[..4], seen[4..]);
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 2, "{seen:?} says little");
}

/// The inputs of a document with data.
fn tensors(document: &Value) -> BTreeMap<String, Tensor> {
    let one = |name: &str| {
        let numbers = |list: &Value| -> Vec<u64> {
            list.as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
        };
        let bits = bits_of(&document["data"][name]);
        let tensor =
            Tensor::new(DType::BF16, numbers(&document["values"][name]["shape"]), pack(DType::BF16, bits));
        (name.to_owned(), tensor.expect("a tensor"))
    };
    strings(&document["inputs"]).into_iter().map(one).collect()
}

fn bits_of(list: &Value) -> impl Iterator<Item = u32> {
    list.as_array().into_iter().flatten().filter_map(Value::as_u64).map(|bits| bits as u32)
}

fn greatest(numbers: &[f64]) -> usize {
    (0..numbers.len()).fold(0, |best, place| if numbers[place] > numbers[best] { place } else { best })
}

/// The block as one would write it for the opcodes.
fn by_hand() -> Programmed {
    let inputs = [
        ("x", vec![1, 16]),
        ("norm", vec![16]),
        ("w1", vec![32, 16]),
        ("w2", vec![16, 32]),
        ("model_norm", vec![16]),
        ("lm_head", vec![48, 16]),
    ];
    let made = [("xn", 16), ("u", 32), ("d", 16), ("y", 16), ("yn", 16), ("logits", 48)];
    let mut buffers: Vec<Value> = Vec::new();
    let mut add = |name: &str, kind: &str, dtype: &str, shape: &[i64]| {
        buffers
            .push(json!({"id": buffers.len(), "name": name, "kind": kind, "dtype": dtype, "shape": shape}));
    };
    inputs.iter().for_each(|(name, shape)| add(name, "IO_INPUT", "BF16", shape));
    made.iter().for_each(|(name, width)| add(name, "ACTIVATION", "BF16", &[1, *width]));
    add("token", "IO_OUTPUT", "I32", &[1]);
    let norm = |eps: f64| json!({"eps": eps, "hidden": 16});
    let product = |k: i64, n: i64| json!({"K": k, "N_tile": n, "n_off": 0});
    let tasks: Vec<Value> = [
        ("RMSNORM", vec![0, 1], norm(1e-6)),
        ("GEMV_TILE", vec![6, 2], product(16, 32)),
        ("GEMV_TILE", vec![7, 3], product(32, 16)),
        ("ADD", vec![0, 8], json!({})),
        ("RMSNORM", vec![9, 4], norm(1e-3)),
        ("GEMV_TILE", vec![10, 5], product(16, 48)),
        ("SAMPLE_ARGMAX", vec![11], json!({})),
    ]
    .into_iter()
    .enumerate()
    .map(|(id, (op, ins, params))| {
        // Each task writes the buffer behind the inputs that has its number.
        let waits = if id == 0 { json!([]) } else { json!([{"counter": id - 1, "threshold": 1}]) };
        json!({"id": id, "op": op, "inputs": ins, "outputs": [6 + id], "out_counter": id, "waits": waits, "params": params})
    })
    .collect();
    let program = json!({
        "ir_version": megakernel_ir::IR_VERSION, "abi_version": megakernel_ir::ABI_VERSION, "meta": {}, "buffers": buffers,
        "counters": (0..tasks.len()).map(|id| json!({"id": id})).collect::<Vec<_>>(), "tasks": tasks,
    });
    let mut binding = json!({"token": {"tensor": "token"}});
    inputs.iter().for_each(|(name, _)| binding[*name] = json!({"tensor": name}));
    Programmed { program: program.to_string(), binding, warnings: Vec::new() }
}

#[test]
fn kernels_over_the_opcodes_are_those_of_the_layers_program() {
    let document = document("layer.json");
    let (sequence, made) =
        operators(document.to_string().as_bytes(), Instructions::Opcodes).expect("a sequence");
    let ops = sequence["ops"].as_array().expect("ops");
    let program: Value = serde_json::from_str(&made.program).expect("JSON");
    let opcodes: Vec<&str> =
        program["tasks"].as_array().expect("tasks").iter().filter_map(|task| task["op"].as_str()).collect();
    let (_, plan) = selected(&sequence, index("amk.json"));
    let expected: Vec<(u64, u64, &str)> = (0..).zip(opcodes).map(|(place, op)| (place, place, op)).collect();
    assert_eq!(outline(&plan), expected);
    // A marker for each region but the first, and an output for each boundary.
    let regions = document["regions"].as_array().expect("regions");
    assert_eq!(ops.iter().filter(|op| op["marker"] == "sync").count() + 1, regions.len());
    let outputs: Vec<&str> = ops
        .iter()
        .flat_map(|op| op["writes"].as_array().expect("writes"))
        .filter_map(|write| write.get("output").and(write["value"].as_str()))
        .collect();
    let boundaries: Vec<&str> = document["boundaries"]
        .as_array()
        .expect("boundaries")
        .iter()
        .filter_map(|one| one["value"].as_str())
        .collect();
    assert_eq!(outputs, boundaries);
}

#[test]
fn a_sum_joins_its_product_in_a_region_and_in_no_other_one() {
    let document = document("block.json");
    let (mut sequence, _) =
        operators(document.to_string().as_bytes(), Instructions::Opcodes).expect("a sequence");
    let sums = |plan: &Value| -> Vec<(u64, u64)> {
        let all = outline(plan).into_iter().filter(|(.., kernel)| kernel.contains("add"));
        all.map(|(anchor, last, _)| (anchor, last)).collect()
    };
    assert_eq!(sums(&selected(&sequence, index("mpk.json")).1), [(2, 3)]);
    let answered = |sequence: &Value| {
        let options = json!({"machine": {"gbs": "1", "tflops": "1"}});
        let request = json!({"sequence": sequence, "index": index("mpk.json"), "options": options});
        answer(Method::Select, &request)
    };
    assert!(matches!(answered(&sequence), Answered::Accept { .. }));
    sequence["ops"][3]["marker"] = json!("sync");
    let Answered::Reject(faults) = answered(&sequence) else { panic!("no task type adds by itself") };
    assert!(!faults.is_empty() && faults.iter().all(|fault| fault.rule.id() == "KN01"), "{faults:?}");
}

#[test]
fn an_op_of_another_dtype_is_refused() {
    let (sequence, _) =
        operators(document("block.json").to_string().as_bytes(), Instructions::Opcodes).expect("a sequence");
    for (member, dtype) in [("in", "F16"), ("in", "I32"), ("weight", "I8"), ("out", "F32")] {
        let mut sequence = sequence.clone();
        sequence["ops"][5]["dtype"][member] = json!(dtype);
        let (request, plan) = selected(&sequence, index("mpk.json"));
        let setting = Setting { tensors: &[], positions: 1, tasks: &|_| 1, eps: 1e-6, theta: 10_000.0 };
        let refused = kernel_graph::kernel_graph(&request, &plan, &setting).expect_err("a refusal");
        assert_eq!(refused, format!("op `linear` has the dtype {dtype}, and task types take BF16"));
    }
}

#[test]
fn norms_of_a_region_have_one_eps() {
    let ops = files::json(&root().join("examples/selection/layers/mpk-qwen3-0.6b-decode.json"));
    let made = |eps: &[(&str, f64)]| {
        let mut sequence = ops.clone();
        for (class, eps) in eps {
            let all = sequence["ops"].as_array_mut().expect("ops");
            let op = all.iter_mut().find(|op| op["sig"]["class"] == *class).expect("an op");
            op["eps"] = json!(eps);
        }
        let (request, plan) = selected(&sequence, index("mpk.json"));
        let setting = Setting { tensors: &[], positions: 4, tasks: &|_| 1, eps: 1e-6, theta: 10_000.0 };
        kernel_graph::kernel_graph(&request, &plan, &setting)
    };
    let refused = Err("the norms of a region have more than one eps".to_owned());
    // What says nothing has the eps of the setting.
    assert_eq!(made(&[("norm_q", 1e-3)]), refused);
    assert_eq!(made(&[("norm_q", 1e-3), ("norm_k", 1e-2)]), refused);
    for eps in [&[][..], &[("norm_q", 1e-3), ("norm_k", 1e-3)]] {
        assert_ne!(made(eps), refused);
    }
}

#[test]
fn operands_that_a_task_type_does_not_take_are_refused() {
    let ops = files::json(&root().join("examples/selection/layers/mpk-llama-3.2-1b-decode.json"));
    for (class, place, twice) in [
        ("silu_mul", 1, false),
        ("silu_mul", 1, true),
        ("linear", 2, false),
        ("norm", 2, false),
        ("add", 2, false),
        ("add", 2, true),
    ] {
        let mut sequence = ops.clone();
        let all = sequence["ops"].as_array_mut().expect("ops");
        let op = all.iter_mut().rfind(|op| op["sig"]["class"] == class).expect("an op");
        let reads = op["reads"].as_array_mut().expect("reads");
        let more = if twice { reads[place - 1].clone() } else { json!("more") };
        reads.push(more.clone());
        let (request, plan) = selected(&sequence, index("mpk.json"));
        let setting = Setting { tensors: &[], positions: 1, tasks: &|_| 1, eps: 1e-6, theta: 10_000.0 };
        let refused = kernel_graph::kernel_graph(&request, &plan, &setting).expect_err("a refusal");
        let more = more.as_str().expect("a name");
        let expected = format!("op `{class}` has the operand {place}, `{more}`, which task type ");
        assert!(refused.starts_with(&expected), "{refused}");
    }
}
