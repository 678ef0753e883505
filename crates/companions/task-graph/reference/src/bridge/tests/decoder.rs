//! A small decoder, as a kernel graph and as a program that was written by hand.

use std::collections::BTreeMap;

use megakernel_ir::model::Program;
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::{DType, read};
use megakernel_numerics::Tensor;
use megakernel_task_graph::{Mode, read_kernel_graph};
use serde_json::{Value, json};

use super::graphs::{decoder, imported, translate, translated};
use crate::bridge::{Imported, Options};
use megakernel_reference::vm::steps::{advance, greedy};
use megakernel_reference::vm::{Finished, Loaded, Reference, Schedule, Session, Settings};

/// Random tensors for all of a kernel graph, by its names.
pub fn weights(kernel: &str, dtype: DType) -> BTreeMap<String, Tensor> {
    let kernel = read_kernel_graph(kernel.as_bytes()).expect("a kernel graph");
    let mut prng = SplitMix64::new(7);
    let mut unit = || (prng.next_u64() >> 40) as f64 / (1u64 << 23) as f64 - 1.0;
    let mut tensors = BTreeMap::new();
    for decl in kernel.tensors.iter().filter(|decl| decl.data_type != 965 && !decl.name.ends_with("_cache")) {
        let shape: Vec<u64> = decl.dims.iter().map(|&extent| extent as u64).collect();
        let numel: u64 = shape.iter().product();
        // Three elements of each row of a matrix: bounds grow with the root of how many there are.
        let width = if shape.len() > 1 { shape[1] } else { 1 };
        let is_table = &*decl.name == "embed_tokens";
        let mut element = |index: u64| {
            let (row, column) = (index / width, index % width);
            let is_kept = is_table || width < 4 || (row * 7 + column * 5) % width < 3;
            if is_kept { unit() } else { 0.0 }
        };
        let values: Vec<f64> = (0..numel).map(&mut element).collect();
        tensors.insert(decl.name.to_string(), Tensor::from_reals(dtype, shape, &values).expect("a tensor"));
    }
    tensors
}

type Scratch<'s> = dyn FnMut(&str, &[i64]) -> usize + 's;
type Emit<'s> = dyn FnMut(&str, &[usize], usize, Value) + 's;

/// The same decoder as a person would write it: whole tensors, one task for each step. The residual is a bias of the
/// product or added to it.
pub fn by_hand(dtype: &str, has_bias: bool) -> String {
    let position = 0;
    let (mut buffers, mut tasks) = (Vec::<Value>::new(), Vec::<Value>::new());
    let mut buffer = |name: &str, kind: &str, dtype: &str, shape: &[i64]| {
        buffers
            .push(json!({"id": buffers.len(), "name": name, "kind": kind, "dtype": dtype, "shape": shape}));
        buffers.len() - 1
    };
    let mut task = |op: &str, inputs: &[usize], output: usize, params: Value| {
        let id = tasks.len();
        let waits: Vec<Value> =
            if id == 0 { vec![] } else { vec![json!({"counter": id - 1, "threshold": 1})] };
        tasks.push(json!({"id": id, "op": op, "inputs": inputs, "outputs": [output], "out_counter": id,
                          "waits": waits, "params": params}));
    };
    let token = buffer("input_token", "IO_INPUT", "I32", &[1]);
    let positions = buffer("positions", "IO_INPUT", "I32", &[1]);
    let table = buffer("embed_tokens", "WEIGHT", dtype, &[48, 16]);
    let mut hidden = buffer("embed_out", "ACTIVATION", dtype, &[16]);
    task("EMBED", &[token, table], hidden, json!({"hidden": 16}));
    for layer in 0..2 {
        let mut weight =
            |name: &str, shape: &[i64]| buffer(&format!("l{layer}.{name}"), "WEIGHT", dtype, shape);
        let norms = [weight("norm", &[16]), weight("post_norm", &[16])];
        let projections = [weight("q", &[16, 16]), weight("k", &[8, 16]), weight("v", &[8, 16])];
        let head_norms = [weight("q_norm", &[4]), weight("k_norm", &[4])];
        let [o, gate, up, down] = [
            weight("o", &[16, 16]),
            weight("gate", &[32, 16]),
            weight("up", &[32, 16]),
            weight("down", &[16, 32]),
        ];
        let caches = ["k_cache", "v_cache"]
            .map(|name| buffer(&format!("l{layer}.{name}"), "KV_CACHE", dtype, &[16, 2, 4]));
        let mut scratch =
            |name: &str, shape: &[i64]| buffer(&format!("{layer}.{name}"), "ACTIVATION", dtype, shape);
        let normed = scratch("normed", &[16]);
        task("RMSNORM", &[hidden, norms[0]], normed, json!({"eps": 1e-6, "hidden": 16}));
        let mut heads = Vec::new();
        for (number, (projection, width)) in projections.into_iter().zip([16, 8, 8]).enumerate() {
            let flat = scratch("flat", &[width]);
            task("GEMV_TILE", &[normed, projection], flat, json!({"K": 16, "N_tile": width, "n_off": 0}));
            let Some(&norm) = head_norms.get(number) else {
                heads.push(flat);
                continue;
            };
            let [split, unit, turned] =
                ["split", "unit", "turned"].map(|name| scratch(name, &[width / 4, 4]));
            task("COPY", &[flat], split, json!({}));
            task("RMSNORM", &[split, norm], unit, json!({"eps": 1e-6, "hidden": 4}));
            task("ROPE", &[unit, positions], turned, json!({"head_dim": 4, "theta": 10000.0}));
            heads.push(turned);
        }
        for (new, cache) in [(heads[1], caches[0]), (heads[2], caches[1])] {
            task("KV_APPEND", &[new, cache], cache, json!({"pos": position}));
        }
        let attended = scratch("attended", &[16]);
        let params = json!({"head_dim": 4, "n_heads": 4, "n_kv_heads": 2, "scale": 0.5, "kv_start": 0,
                            "kv_len": position + 1});
        task("ATTENTION_TILE", &[heads[0], caches[0], caches[1]], attended, params);
        let residual = |name: &str,
                        x: usize,
                        weight: usize,
                        inner: i64,
                        to: usize,
                        scratch: &mut Scratch<'_>,
                        task: &mut Emit<'_>| {
            let [product, sum] = ["product", "sum"].map(|what| scratch(&format!("{name}.{what}"), &[16]));
            let params = json!({"K": inner, "N_tile": 16, "n_off": 0});
            if has_bias {
                task("GEMV_TILE", &[x, weight, to], sum, params);
            } else {
                task("GEMV_TILE", &[x, weight], product, params);
                task("ADD", &[to, product], sum, json!({}));
            }
            sum
        };
        let middle = residual("o", attended, o, 16, hidden, &mut scratch, &mut task);
        let [normed, gated, upped, product] =
            [("n", 16), ("g", 32), ("u", 32), ("p", 32)].map(|(name, width)| scratch(name, &[width]));
        task("RMSNORM", &[middle, norms[1]], normed, json!({"eps": 1e-6, "hidden": 16}));
        task("GEMV_TILE", &[normed, gate], gated, json!({"K": 16, "N_tile": 32, "n_off": 0}));
        task("GEMV_TILE", &[normed, up], upped, json!({"K": 16, "N_tile": 32, "n_off": 0}));
        task("SILU_MUL", &[gated, upped], product, json!({}));
        hidden = residual("down", product, down, 32, middle, &mut scratch, &mut task);
    }
    let normed = buffer("normed", "ACTIVATION", dtype, &[16]);
    let norm = buffer("model_norm", "WEIGHT", dtype, &[16]);
    let head = buffer("lm_head", "WEIGHT", dtype, &[48, 16]);
    let logits = buffer("argmax_in", "IO_OUTPUT", dtype, &[48]);
    let picked = buffer("argmax_out", "IO_OUTPUT", "I32", &[1]);
    task("RMSNORM", &[hidden, norm], normed, json!({"eps": 1e-6, "hidden": 16}));
    task("GEMV_TILE", &[normed, head], logits, json!({"K": 16, "N_tile": 48, "n_off": 0}));
    task("SAMPLE_ARGMAX", &[logits], picked, json!({}));
    let counters: Vec<Value> = (0..tasks.len()).map(|id| json!({"id": id})).collect();
    json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers, "counters": counters, "tasks": tasks})
        .to_string()
}

/// Runs a row of steps, each with the token that the one before picked.
pub fn run(
    text: &str,
    mut tensors: BTreeMap<String, Tensor>,
    steps: i64,
    schedule: u64,
    certain: bool,
) -> Vec<Finished> {
    let mut program: Program<'_> = read(text.as_bytes()).expect("a program");
    let mut session = Session::new();
    let mut token = 5;
    let mut finished = Vec::new();
    for step in 0..steps {
        let shape = |name: &str| {
            let buffer = program.buffers.iter().find(|buffer| *buffer.name == *name).expect("an input");
            buffer.shape.iter().map(|&extent| extent as u64).collect::<Vec<_>>()
        };
        for (name, value) in [("input_token", token), ("positions", step)] {
            let tensor = Tensor::from_ints(DType::I32, shape(name), &[value]).expect("a tensor");
            tensors.insert(name.to_owned(), tensor);
        }
        let loaded = Loaded::load(&program).expect("no refusal");
        let settings = Settings { schedule: Schedule::seeded(schedule), ..Settings::default() };
        let launch = session.launch(&loaded, &tensors, &settings).expect("a run");
        let (id, is_certain) = greedy(&launch.output("argmax_out").expect("a token").reference, 1)[0];
        assert!(
            is_certain || !certain,
            "step {step}: {:?}",
            launch.output("argmax_in").map(|logits| &logits.reference)
        );
        token = id;
        finished.push(launch);
        advance(&mut program);
    }
    finished
}

pub fn tokens(finished: &[Finished]) -> Vec<i64> {
    finished.iter().map(|launch| launch.output("argmax_out").expect("a token").tensor.ints()[0]).collect()
}

/// How far the logits of a step lie apart, and how far they may.
fn distance(a: &Finished, b: &Finished) -> (f64, f64) {
    let of = |launch: &Finished| match &launch.output("argmax_in").expect("logits").reference {
        Reference::Reals { values, bounds } => (values.clone(), bounds.clone()),
        Reference::Ints(_) => (Vec::new(), Vec::new()),
    };
    let ((a, a_bounds), (b, b_bounds)) = (of(a), of(b));
    let pairs = a.iter().zip(&b).zip(a_bounds.iter().zip(&b_bounds));
    pairs.fold((0.0, f64::INFINITY), |(far, spare), ((a, b), (e, f))| {
        (f64::max(far, (a - b).abs()), f64::min(spare, e + f - (a - b).abs()))
    })
}

/// The imported decoder and the one written by hand.
fn both(float: i64, dtype: DType, embeds: i64, has_bias: bool, steps: i64) -> ([Vec<Finished>; 2], Imported) {
    let kernel = decoder(float, embeds);
    let tensors = weights(&kernel, dtype);
    let imported = imported(&translate(&kernel), &kernel, &Options::default()).expect("no refusal");
    let bound = imported.binding.gather(|_, name| tensors.get(name)).expect("tensors");
    // Products of narrow elements leave less room than what the bounds allow for.
    let certain = dtype == DType::F32;
    let here = run(&imported.program, bound, steps, 3, certain);
    let there = run(&by_hand(dtype.name(), has_bias), tensors, steps, 0, certain);
    assert_eq!(tokens(&here), tokens(&there));
    ([here, there], imported)
}

fn logits(launch: &Finished) -> Vec<u32> {
    launch.output("argmax_in").expect("logits").tensor.elements()
}

#[test]
fn an_imported_decoder_yields_what_one_written_by_hand_yields() {
    let ([here, there], imported) = both(950, DType::F32, 1, false, 6);
    let distinct: std::collections::BTreeSet<i64> = tokens(&here).into_iter().collect();
    assert!(distinct.len() > 1, "{distinct:?} says little");
    for (a, b) in here.iter().zip(&there) {
        let (far, spare) = distance(a, b);
        assert!(far < 1e-5 && spare >= 0.0, "{far} apart, {spare} to spare");
    }
    assert_eq!(imported.binding.positions.as_deref(), Some("positions"));
    assert_eq!(imported.binding.unused, ["argmax_part_index", "argmax_part_value", "cos", "sin"]);
}

#[test]
fn the_same_steps_yield_the_same_bits() {
    for (float, dtype) in [(950, DType::F32), (941, DType::BF16), (940, DType::F16)] {
        let ([here, there], _) = both(float, dtype, 1, true, 4);
        for (a, b) in here.iter().zip(&there) {
            assert_eq!(logits(a), logits(b), "{dtype:?}");
        }
    }
}

#[test]
fn parts_of_a_row_that_tasks_write_whole_are_put_together() {
    let ([several, one], imported) = both(950, DType::F32, 4, true, 4);
    for (a, b) in several.iter().zip(&one) {
        assert_eq!(logits(a), logits(b));
    }
    assert!(imported.program.contains(r#""name":"t2.out""#), "the first task does not write scratch");
}

#[test]
fn each_translation_of_a_kernel_graph_yields_the_same() {
    let kernel = decoder(941, 4);
    let tensors = weights(&kernel, DType::BF16);
    let there = run(&by_hand("BF16", true), tensors.clone(), 3, 0, false);
    for mode in [Mode::Exact, Mode::Sound] {
        let graph = &translated(&kernel, 1, mode)[0];
        let imported = imported(graph, &kernel, &Options::default()).expect("no refusal");
        let bound = imported.binding.gather(|_, name| tensors.get(name)).expect("tensors");
        let here = run(&imported.program, bound, 3, 11, false);
        assert_eq!(tokens(&here), tokens(&there));
        for (a, b) in here.iter().zip(&there) {
            assert_eq!(logits(a), logits(b), "{mode:?}");
        }
    }
}

#[test]
fn the_example_is_this_decoder() {
    let example = include_str!("../../../../../../../examples/task-graph/decoder.json");
    let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    assert_eq!(parsed(example), parsed(&decoder(941, 4)));
}

#[test]
fn attention_of_a_token_that_is_made_for_a_position_has_that_one() {
    let mut kernel: Value = serde_json::from_str(&decoder(941, 1)).expect("JSON");
    for operator in kernel["operators"].as_array_mut().expect("operators") {
        if operator["task_type"] == 103 {
            operator["params"]["position"] = json!(2);
        }
    }
    let kernel = kernel.to_string();
    let at = |position| {
        imported(&translate(&kernel), &kernel, &Options { position, ..Options::default() }).map(|_| ())
    };
    assert_eq!(at(2), Ok(()));
    // Each of the two layers has a task for each head of keys.
    let refusals = at(3).expect_err("a refusal");
    assert_eq!(refusals.len(), 4, "{refusals:?}");
    assert!(refusals.iter().all(|found| found.reason.contains("has the position 2, and the run 3")));
}
