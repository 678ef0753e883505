//! From a row of operators to what they compute: kernels are selected over the task types of MPK, the plan becomes a kernel graph,
//! and that is translated, validated, made a program, validated again and run. Without some of the kernels the plan is another
//! one, and what comes out is the same bits.

#![allow(clippy::panic, reason = "a helper of a test fails the test")]

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::model::Program;
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::{BufferKind, DType, Layout, read, write_record};
use megakernel_numerics::Tensor;
use megakernel_reference::validate::{Classes, validate};
use megakernel_reference::vm::steps::{advance, greedy};
use megakernel_reference::vm::{Loaded, Schedule, Session, Settings};
use megakernel_selection_cases::build::{Op, kernel, op, request};
use megakernel_selection_cases::families::layers::{LLAMA_1B, mpk};
use megakernel_selection_reference::kernel_graph::{self, Setting};
use megakernel_selection_reference::{Answered, Method, answer};
use megakernel_task_graph::{Mode, Translation, read_kernel_graph, read_task_graph};
use megakernel_task_graph_reference::bridge::{Options, Run, import};
use megakernel_task_graph_reference::translate::translate;
use serde_json::{Value, json};

const HIDDEN: i64 = 16;
const INTER: i64 = 32;

/// The example of the task graphs: its tensors are those of the decoder that is lowered here.
fn example() -> Value {
    let text = include_str!("../../../examples/task-graph/decoder.json");
    serde_json::from_str(text).expect("JSON")
}

fn step(class: &str, core: &str, reads: &[&str], writes: &str, shape: Value) -> Op {
    op(class).reads(reads).writes(writes).core(core).member("shape", shape)
}

/// The operators of the decoder, in the order in which they can be computed. Values have the names of tensors.
fn lowered() -> Vec<Op> {
    let wide = |k: i64| json!({"m": 1, "k": k});
    let product = |k: i64, n: i64| json!({"m": 1, "k": k, "n": n});
    let narrow = |n: i64| json!({"m": 1, "n": n});
    let mut ops =
        vec![step("embed", "opaque", &["input_token", "embed_tokens"], "embed_out", narrow(HIDDEN))];
    let mut x = "embed_out".to_owned();
    for layer in 0..2 {
        let v = |name: &str| format!("{layer}.{name}");
        let w = |name: &str| format!("l{layer}.{name}");
        let writes = |name: &str| json!({"effects": {"flags": ["cache"], "writes": [w(name)]}});
        let reads = json!({"effects": {"flags": ["cache"], "reads": [w("k_cache"), w("v_cache")]}});
        let head = json!({"m": 1, "n": HIDDEN});
        ops.extend([
            step("norm", "norm", &[&x, &w("norm")], &v("xn"), wide(HIDDEN)),
            step("linear", "gemm", &[&v("xn"), &w("qkv")], &v("qkv"), product(HIDDEN, 32)),
            step("norm_q", "norm", &[&v("qkv"), &w("q_norm")], &v("q1"), json!({})),
            step("norm_k", "norm", &[&v("qkv"), &w("k_norm")], &v("k1"), json!({})),
            step("rope_q", "move", &[&v("q1"), "cos", "sin"], &v("q2"), json!({})),
            step("rope_k", "move", &[&v("k1"), "cos", "sin"], &v("k2"), json!({})),
            step("append_k", "move", &[&v("k2")], &v("k3"), json!({})).rows(&writes("k_cache")),
            step("append_v", "move", &[&v("qkv")], &v("v3"), json!({})).rows(&writes("v_cache")),
            step("attention", "attn", &[&v("q2"), &v("k3"), &v("v3")], &v("attended"), head).rows(&reads),
            step("linear", "gemm", &[&v("attended"), &w("o")], &v("p"), product(HIDDEN, HIDDEN)),
            step("add", "ew", &[&v("p"), &x], &v("h"), narrow(HIDDEN)),
            step("norm", "norm", &[&v("h"), &w("post_norm")], &v("hn"), wide(HIDDEN)),
            step("linear", "gemm", &[&v("hn"), &w("gate_up")], &v("gu"), product(HIDDEN, 2 * INTER)),
            step("silu_mul", "ew", &[&v("gu")], &v("a"), wide(INTER)),
            step("linear", "gemm", &[&v("a"), &w("down")], &v("d"), product(INTER, HIDDEN)),
            step("add", "ew", &[&v("d"), &v("h")], &v("y"), narrow(HIDDEN)),
        ]);
        x = v("y");
    }
    let partial = step("argmax_partial", "opaque", &["argmax_in"], "argmax_part_value", narrow(6));
    ops.extend([
        step("norm", "norm", &[&x, "model_norm"], "normed", wide(HIDDEN)),
        step("linear", "gemm", &["normed", "lm_head"], "argmax_in", product(HIDDEN, 48)).output(),
        partial.writes("argmax_part_index"),
        step("argmax_reduce", "opaque", &["argmax_part_value", "argmax_part_index"], "argmax_out", narrow(1))
            .output(),
    ]);
    ops
}

/// The request without the kernels whose ids begin like this. Costs are as in the index, fixed.
fn decoder(without: &[&str]) -> Value {
    let is_kept = |kernel: &Value| {
        let id = kernel["id"].as_str().unwrap_or_default();
        !without.iter().any(|without| id.starts_with(without))
    };
    // Those of one kernel alone have a formula, which needs a machine; what they cost is no matter here.
    let fixed = |mut kernel: Value| {
        kernel["cost"] = json!({"fixed": "1"});
        kernel
    };
    let more = [
        kernel("110 argmax_partial", "1", "argmax_partial!"),
        kernel("111 argmax_reduce", "1", "argmax_reduce!"),
    ];
    let kernels: Vec<Value> = mpk::index().into_iter().chain(more).filter(is_kept).map(fixed).collect();
    request(&lowered(), &kernels)
}

/// How many tasks share so many columns: a tile of a fused weight lies in one of its parts.
fn tasks(columns: u64) -> u64 {
    match columns {
        48 => 6,
        32 | 64 => 8,
        _ => 4,
    }
}

/// The kernel graph of a plan, with the tensors of the example's host.
fn kernel_graph(request: &Value, plan: &Value) -> Value {
    // The values of the example's own graph are not those of this one, but for the parts of the maximum.
    let of_host = |tensor: &&Value| {
        tensor["io"] != "cuda" || tensor["name"].as_str().is_some_and(|name| name.starts_with("argmax_part"))
    };
    let example = example();
    let tensors: Vec<Value> =
        example["tensors"].as_array().expect("tensors").iter().filter(of_host).cloned().collect();
    let setting = Setting { tensors: &tensors, positions: 16, tasks: &tasks, eps: 1e-6, theta: 10_000.0 };
    kernel_graph::kernel_graph(request, plan, &setting).expect("a kernel graph")
}

fn selected(request: &Value) -> Value {
    match answer(Method::Select, request) {
        Answered::Accept { document: Some(plan), .. } => plan,
        other => panic!("no plan: {other:?}"),
    }
}

fn outline(plan: &Value) -> Vec<(u64, u64, String)> {
    let region = |region: &Value| {
        let kernel = region["kernel"].as_str()?.split(' ').next()?.to_owned();
        Some((region["anchor"].as_u64()?, region["last"].as_u64()?, kernel))
    };
    plan["regions"].as_array().into_iter().flatten().filter_map(region).collect()
}

/// Random tensors of the host, three elements in a row of a matrix, so that bounds leave something to judge.
fn weights(graph: &Value) -> BTreeMap<String, Tensor> {
    let mut draws = SplitMix64::new(7);
    let mut unit = || (draws.next_u64() >> 40) as f64 / f64::from(1u32 << 23) - 1.0;
    let mut tensors = BTreeMap::new();
    for tensor in example()["tensors"].as_array().expect("tensors") {
        let name = tensor["name"].as_str().expect("a name");
        if tensor["data_type"] != 941 || name.ends_with("_cache") {
            continue;
        }
        assert!(graph["tensors"].is_array());
        let shape: Vec<u64> =
            tensor["dims"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        let width = shape.get(1).copied().unwrap_or(1);
        let values: Vec<f64> = (0..shape.iter().product::<u64>())
            .map(|index| {
                let (row, column) = (index / width, index % width);
                let is_kept = name == "embed_tokens" || width < 4 || (row * 7 + column * 5) % width < 3;
                if is_kept { unit() } else { 0.0 }
            })
            .collect();
        tensors.insert(name.to_owned(), Tensor::from_reals(DType::BF16, shape, &values).expect("a tensor"));
    }
    tensors
}

/// What a run leaves behind: tokens, logits step by step, and the caches after the last.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    tokens: Vec<i64>,
    logits: Vec<Vec<u32>>,
    caches: BTreeMap<String, Vec<u32>>,
}

/// Takes a kernel graph through the whole chain, and runs four tokens.
fn run(graph: &Value, mode: Mode) -> Left {
    let text = graph.to_string();
    let kernel_graph = read_kernel_graph(text.as_bytes()).expect("a kernel graph");
    let request = Translation { kernel_graph, ranks: 1, rank: 0, mode, extra: Vec::new() };
    let translated = translate(&request).expect("a translation");
    let task_graph = write_record(&translated, Layout::Compact);
    let judged = megakernel_task_graph_reference::validate(task_graph.as_bytes()).diagnostics;
    assert!(judged.iter().all(|found| !found.is_error()), "{judged:?}");
    let task_graph = read_task_graph(task_graph.as_bytes()).expect("a task graph");
    let imported = import(&[&task_graph], &request.kernel_graph, &Options::default()).expect("no refusal");
    let judged = validate(imported.program.as_bytes(), Classes::ALL).diagnostics;
    assert!(judged.iter().all(|found| !found.is_error()), "{judged:?}");
    let host = weights(graph);
    let mut tensors = imported.binding.gather(|_, name| host.get(name)).expect("tensors");
    let mut program: Program<'_> = read(imported.program.as_bytes()).expect("a program");
    let (mut session, mut token) = (Session::new(), 5);
    let mut left = Left { tokens: Vec::new(), logits: Vec::new(), caches: BTreeMap::new() };
    for step in 0..4 {
        for (name, value) in [("input_token", token), ("positions", step)] {
            let buffer = program.buffers.iter().find(|buffer| *buffer.name == *name).expect("an input");
            let shape = buffer.shape.iter().map(|&extent| extent as u64).collect();
            tensors
                .insert(name.to_owned(), Tensor::from_ints(DType::I32, shape, &[value]).expect("a tensor"));
        }
        let loaded = Loaded::load(&program).expect("no refusal");
        let settings = Settings { schedule: Schedule::seeded(3), ..Settings::default() };
        let launch = session.launch(&loaded, &tensors, &settings).expect("a run");
        token = greedy(&launch.output("argmax_out").expect("a token").reference, 1)[0].0;
        left.tokens.push(token);
        left.logits.push(launch.output("argmax_in").expect("logits").tensor.elements());
        for bound in imported.binding.buffers.iter().filter(|bound| bound.kind == BufferKind::KvCache) {
            let place = format!("{:?}", bound.pieces);
            let cache = launch.output(&bound.buffer).expect("a cache");
            left.caches.insert(place, cache.tensor.elements());
        }
        advance(&mut program);
    }
    left
}

#[test]
fn the_plan_of_the_decoder_is_the_example_of_task_graphs() {
    let request = decoder(&[]);
    let plan = selected(&request);
    let found = kernel_graph(&request, &plan);
    let types = |graph: &Value| -> Vec<(i64, i64)> {
        let operators = graph["operators"].as_array().into_iter().flatten();
        operators.filter_map(|one| Some((one["task_type"].as_i64()?, one["grid"][0].as_i64()?))).collect()
    };
    assert_eq!(types(&found), types(&example()));
    // And operand by operand, but for the names of what is passed on.
    let weights = |graph: &Value| -> Vec<BTreeSet<String>> {
        let operators = graph["operators"].as_array().into_iter().flatten();
        let host = |one: &Value| {
            let names =
                one["inputs"].as_array().into_iter().flatten().filter_map(|input| input["tensor"].as_str());
            names
                .filter(|name| name.starts_with('l') || name.starts_with("model"))
                .map(str::to_owned)
                .collect()
        };
        operators.map(host).collect()
    };
    assert_eq!(weights(&found), weights(&example()));
}

#[test]
fn other_plans_yield_the_same_bits() {
    let whole = decoder(&[]);
    let plan = selected(&whole);
    let left = run(&kernel_graph(&whole, &plan), Mode::Sound);
    assert!(left.tokens.iter().collect::<BTreeSet<_>>().len() > 1, "{:?} says little", left.tokens);
    assert_eq!(left.caches.len(), 8, "two caches of two heads in two layers");
    assert!(left.caches.values().any(|cache| cache.iter().any(|&element| element != 0)));
    assert_eq!(left, run(&kernel_graph(&whole, &plan), Mode::Exact), "the other translation");
    let mut plans = vec![outline(&plan)];
    for without in [&["102"][..], &["105"], &["102", "105"]] {
        let request = decoder(without);
        let plan = selected(&request);
        assert!(!plans.contains(&outline(&plan)), "without {without:?} the plan is the same");
        plans.push(outline(&plan));
        assert_eq!(run(&kernel_graph(&request, &plan), Mode::Sound), left, "without {without:?}");
    }
    let lengths: Vec<usize> = plans.iter().map(Vec::len).collect();
    // 1 + 2 * 5 + 1 + 2; each of the five 102 becomes two, and each of the two 105 becomes two.
    assert_eq!(lengths, [14, 19, 16, 21]);
}

/// What no tensor is given for is made up of the extents of the ops: those of Llama-3.2-1B here, which has no norms of heads.
#[test]
fn a_layer_of_a_real_model_becomes_a_program() {
    let request = mpk::request(&LLAMA_1B, 1, &[]);
    let plan = selected(&request);
    let tasks = |columns: u64| columns / 64;
    let setting = Setting { tensors: &[], positions: 16, tasks: &tasks, eps: 1e-6, theta: 10_000.0 };
    let graph = kernel_graph::kernel_graph(&request, &plan, &setting).expect("a kernel graph");
    let dims = |name: &str| {
        let tensors = graph["tensors"].as_array().into_iter().flatten();
        tensors.filter(|tensor| tensor["name"] == name).map(|tensor| &tensor["dims"]).collect::<Vec<_>>()
    };
    // 32 heads of queries and 8 of keys and values, of 64 elements each; 2,048 wide, and 8,192 between.
    for (name, extents) in [
        ("x", json!([1, 2048])),
        ("w_in", json!([2048])),
        ("w_qkv", json!([48 * 64, 2048])),
        ("k_cache", json!([1, 16, 8, 64])),
        ("cos", json!([16, 64])),
        ("o", json!([1, 2048])),
        ("w_gate_up", json!([2 * 8192, 2048])),
        ("w_down", json!([2048, 8192])),
    ] {
        assert_eq!(dims(name), [&extents], "{name}");
    }
    let attention = &graph["operators"][1];
    assert_eq!((&attention["task_type"], &attention["grid"]), (&json!(103), &json!([8, 1, 1])));
    assert_eq!((&attention["inputs"][3], &attention["inputs"][4]), (&Value::Null, &Value::Null));
    let text = graph.to_string();
    let kernel_graph = read_kernel_graph(text.as_bytes()).expect("a kernel graph");
    let request = Translation { kernel_graph, ranks: 1, rank: 0, mode: Mode::Sound, extra: Vec::new() };
    let task_graph = write_record(&translate(&request).expect("a translation"), Layout::Compact);
    let task_graph = read_task_graph(task_graph.as_bytes()).expect("a task graph");
    let imported = import(&[&task_graph], &request.kernel_graph, &Options::default()).expect("no refusal");
    let judged = validate(imported.program.as_bytes(), Classes::ALL).diagnostics;
    assert!(judged.is_empty(), "{judged:?}");
}

/// Eight tokens of one request, over the pages of its text: a task for each head of keys.
#[test]
fn several_tokens_of_a_request_become_a_program() {
    let request = mpk::request_over(mpk::current(), &LLAMA_1B, 8, &[]);
    let plan = selected(&request);
    let tasks = |columns: u64| columns / 64;
    let setting = Setting { tensors: &[], positions: 16, tasks: &tasks, eps: 1e-6, theta: 10_000.0 };
    let graph = kernel_graph::kernel_graph(&request, &plan, &setting).expect("a kernel graph");
    let attention = &graph["operators"][1];
    assert_eq!((&attention["task_type"], &attention["grid"]), (&json!(116), &json!([1, 8, 1])));
    let maps: Vec<&Value> =
        attention["inputs"].as_array().expect("inputs").iter().map(|input| &input["map"]).collect();
    let (heads, pages, whole) = (json!([-1, 1, -1]), json!([-1, 2, -1]), json!([-1, -1, -1]));
    assert_eq!(maps, [&heads, &pages, &pages, &Value::Null, &Value::Null, &whole, &whole]);
    assert_eq!(attention["outputs"], json!([{"tensor": "o", "map": heads}]));
    let text = graph.to_string();
    let kernel_graph = read_kernel_graph(text.as_bytes()).expect("a kernel graph");
    let request = Translation { kernel_graph, ranks: 1, rank: 0, mode: Mode::Sound, extra: Vec::new() };
    let task_graph = write_record(&translate(&request).expect("a translation"), Layout::Compact);
    let task_graph = read_task_graph(task_graph.as_bytes()).expect("a task graph");
    let run = Run::read(br#"{"requests": [{"tokens": 8, "position": 3, "pages": [0]}]}"#).expect("a run");
    let options = Options { run, ..Options::default() };
    let imported = import(&[&task_graph], &request.kernel_graph, &options).expect("no refusal");
    let judged = validate(imported.program.as_bytes(), Classes::ALL).diagnostics;
    assert!(judged.is_empty(), "{judged:?}");
    // A token attends over those before it, and itself.
    let program: Value = serde_json::from_str(&imported.program).expect("JSON");
    let tasks = program["tasks"].as_array().expect("tasks").iter();
    let attended = tasks.filter(|task| task["op"] == "ATTENTION_TILE");
    let mut seen: Vec<u64> = attended.filter_map(|task| task["params"]["kv_len"].as_u64()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (4..12).flat_map(|count| [count; 8]).collect::<Vec<u64>>());
}

#[test]
fn without_attention_or_residual_there_is_no_plan() {
    for (without, op, why) in [("103", 3, "no kernel takes op 3"), ("108", 11, "no kernel takes op 11")] {
        let Answered::Reject(faults) = answer(Method::Select, &decoder(&[without])) else {
            panic!("a plan without {without}");
        };
        let [fault] = faults.as_slice() else { panic!("{faults:?}") };
        assert_eq!(
            (fault.rule.id(), fault.pointer.as_str()),
            ("KN01", format!("/sequence/ops/{op}").as_str())
        );
        assert_eq!(fault.message, why);
    }
}
