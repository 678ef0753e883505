//! The small decoder on two ranks, each with half of the heads and of the inner columns: with either collective of the current
//! generator it picks the tokens of one rank.

use std::collections::BTreeMap;

use megakernel_ir::model::Program;
use megakernel_ir::{DType, read};
use megakernel_numerics::Tensor;
use megakernel_task_graph::{EventId, Mode, read_kernel_graph, read_task_graph};
use serde_json::{Value, json};

use super::decoder::{by_hand, run, tokens, weights};
use super::graphs::{decoder, fused, kernel, operator, tensor, translated};
use crate::bridge::{Imported, Options, import};
use crate::validate::{Graphs, broken_rules};
use megakernel_reference::validate::{Classes, validate_program};
use megakernel_reference::vm::steps::{advance, greedy};
use megakernel_reference::vm::{Loaded, Schedule, Session, Settings};

const F32: i64 = 950;
const ALL_REDUCE: i64 = 106;
const COLLECTIVE: i64 = 302;

/// What one of two ranks computes; `collective` is the type that sums up over ranks.
fn half_decoder(collective: i64) -> String {
    let mut tensors = vec![
        tensor("input_token", 965, &[1, 1], "torch"),
        tensor("embed_tokens", F32, &[48, 16], "torch"),
        tensor("cos", F32, &[16, 4], "torch"),
        tensor("sin", F32, &[16, 4], "torch"),
        tensor("model_norm", F32, &[16], "torch"),
        tensor("lm_head", F32, &[48, 16], "torch"),
        tensor("embed_out", F32, &[1, 16], "cuda"),
        tensor("attn_in", F32, &[1, 16], "cuda"),
        tensor("attn_out", F32, &[1, 8], "cuda"),
        tensor("attn_part", F32, &[1, 16], "nvshmem"),
        tensor("attn_proj_out", F32, &[1, 16], "cuda"),
        tensor("mlp_mid", F32, &[1, 32], "cuda"),
        tensor("mlp_part", F32, &[1, 16], "nvshmem"),
        tensor("mlp_out", F32, &[1, 16], "cuda"),
        tensor("argmax_in", F32, &[1, 48], "torch"),
        tensor("argmax_part_value", F32, &[1, 6], "cuda"),
        tensor("argmax_part_index", 965, &[1, 6], "cuda"),
        tensor("argmax_out", 965, &[1, 1], "torch"),
    ];
    let embed = [("input_token", -1), ("embed_tokens", 1)];
    let mut operators = vec![operator(101, 1, &embed, &[("embed_out", 1)], json!({}))];
    for layer in 0..2 {
        let name = |what: &str| format!("l{layer}.{what}");
        let weights: [(&str, &[i64]); 11] = [
            ("norm", &[16]),
            ("q", &[8, 16]),
            ("k", &[4, 16]),
            ("v", &[4, 16]),
            ("q_norm", &[4]),
            ("k_norm", &[4]),
            ("o", &[16, 8]),
            ("post_norm", &[16]),
            ("gate", &[16, 16]),
            ("up", &[16, 16]),
            ("down", &[16, 16]),
        ];
        tensors.extend(weights.iter().map(|(what, dims)| tensor(&name(what), F32, dims, "torch")));
        for cache in ["k_cache", "v_cache"] {
            tensors.push(tensor(&name(cache), F32, &[1, 16, 1, 4], "torch"));
        }
        tensors.push(fused(&name("qkv"), F32, &[16, 16], 1, &[&name("q"), &name("k"), &name("v")]));
        tensors.push(fused(&name("gate_up"), F32, &[32, 16], 1, &[&name("gate"), &name("up")]));
        let before = if layer == 0 { "embed_out" } else { "mlp_out" };
        let mut summed = |part: &str, sum: &str| {
            if collective == COLLECTIVE {
                return operator(COLLECTIVE, 4, &[(part, 1)], &[(sum, 1)], json!({}));
            }
            let slots = format!("{}.slots", name(part));
            tensors.push(tensor(&slots, F32, &[2, 1, 16], "nvshmem"));
            operator(ALL_REDUCE, 4, &[(part, 1), (&slots, 2)], &[(sum, 1)], json!({}))
        };
        let eps = json!({"eps": 1e-6});
        operators.extend([
            operator(
                102,
                4,
                &[(before, -1), (&name("norm"), -1), (&name("qkv"), 0)],
                &[("attn_in", 1)],
                eps.clone(),
            ),
            operator(
                103,
                1,
                &[
                    ("attn_in", 1),
                    (&name("k_cache"), 2),
                    (&name("v_cache"), 2),
                    (&name("q_norm"), -1),
                    (&name("k_norm"), -1),
                    ("cos", -1),
                    ("sin", -1),
                ],
                &[("attn_out", 1)],
                json!({"eps": 1e-6, "theta": 10000.0}),
            ),
            operator(
                108,
                4,
                &[("attn_out", -1), (&name("o"), 0), (before, 1)],
                &[("attn_part", 1)],
                json!({}),
            ),
            summed("attn_part", "attn_proj_out"),
            operator(
                102,
                4,
                &[("attn_proj_out", -1), (&name("post_norm"), -1), (&name("gate_up"), 0)],
                &[("mlp_mid", 1)],
                eps,
            ),
            operator(
                105,
                4,
                &[("mlp_mid", -1), (&name("down"), 0), ("attn_proj_out", 1)],
                &[("mlp_part", 1)],
                json!({}),
            ),
            summed("mlp_part", "mlp_out"),
        ]);
    }
    let parts = [("argmax_part_value", 1), ("argmax_part_index", 1)];
    let whole = [("argmax_part_value", -1), ("argmax_part_index", -1)];
    let logits = [("mlp_out", -1), ("model_norm", -1), ("lm_head", 0)];
    operators.extend([
        operator(102, 6, &logits, &[("argmax_in", 1)], json!({"eps": 1e-6})),
        operator(110, 6, &[("argmax_in", 1)], &parts, json!({})),
        operator(111, 1, &whole, &[("argmax_out", -1)], json!({})),
    ]);
    kernel(&tensors, &operators)
}

/// The part of a tensor that a rank has: rows of what makes heads and inner columns, columns of what takes them.
fn part(rank: usize, name: &str, whole: &Tensor) -> Tensor {
    let axis = match name.split_once('.').map(|(_, what)| what) {
        Some("q" | "k" | "v" | "gate" | "up") => 0,
        Some("o" | "down") => 1,
        _ => return whole.clone(),
    };
    let (rows, columns) = (whole.shape[0] as usize, whole.shape[1] as usize);
    let [height, width] = if axis == 0 { [rows / 2, columns] } else { [rows, columns / 2] };
    let [top, left] = if axis == 0 { [rank * height, 0] } else { [0, rank * width] };
    let all = whole.reals();
    let at = |row: usize, column: usize| all[(top + row) * columns + left + column];
    let values: Vec<f64> = (0..height)
        .flat_map(|row| (0..width).map(move |column| (row, column)))
        .map(|(r, c)| at(r, c))
        .collect();
    Tensor::from_reals(DType::F32, vec![height as u64, width as u64], &values).expect("a tensor")
}

/// The graphs as the current generator would write them whose puts go to the own slot too: copies of the earlier version are puts, the
/// waits for them are tagged, and there is metadata.
fn with_puts(mut graphs: Vec<Value>) -> Vec<Value> {
    let tag = |id: &Value| {
        let id = EventId::from_bits(id.as_i64().expect("an id")).expect("an event");
        EventId { nvshmem: true, ..id }.bits()
    };
    let is_copy = |task: &Value| task["task_type"] == 199;
    let all = graphs.iter().flat_map(|graph| graph["all_tasks"].as_array().expect("tasks"));
    let signalled: Vec<i64> =
        all.filter(|task| is_copy(task)).map(|task| tag(&task["trigger_event"])).collect();
    for task in graphs.iter_mut().flat_map(|graph| graph["all_tasks"].as_array_mut().expect("tasks")) {
        if is_copy(task) {
            task["task_type"] = json!(301);
        }
        let waits = task["dependent_event"].as_i64().and_then(EventId::from_bits);
        if let Some(id) = waits.map(|id| EventId { nvshmem: true, ..id }.bits())
            && signalled.contains(&id)
        {
            task["dependent_event"] = json!(id);
        }
        for member in ["request_id", "kv_idx", "merge_task_offset", "expert_offset", "task_offset"] {
            task[member] = json!(-1);
        }
    }
    graphs
}

fn imported(graphs: &[Value], kernel: &str) -> Imported {
    let texts: Vec<String> = graphs.iter().map(Value::to_string).collect();
    let graphs: Vec<_> =
        texts.iter().map(|text| read_task_graph(text.as_bytes()).expect("a graph")).collect();
    assert_eq!(broken_rules(Graphs::System(&graphs, None)), []);
    let kernel = read_kernel_graph(kernel.as_bytes()).expect("a kernel graph");
    let graphs: Vec<_> = graphs.iter().collect();
    import(&graphs, &kernel, &Options::default()).expect("no refusal")
}

/// The tokens that each of two ranks picks, step by step.
fn tokens_of_ranks(found: &Imported, mut tensors: BTreeMap<String, Tensor>, steps: i64) -> [Vec<i64>; 2] {
    let mut program: Program<'_> = read(found.program.as_bytes()).expect("a program");
    assert_eq!(
        validate_program(&program, Classes::ALL).diagnostics.iter().find(|found| found.is_error()),
        None
    );
    let mut session = Session::new();
    let (mut token, mut picked) = (5, [Vec::new(), Vec::new()]);
    for step in 0..steps {
        for (name, value) in [("r0.input_token", token), ("r1.input_token", token), ("positions", step)] {
            let buffer = program.buffers.iter().find(|buffer| &*buffer.name == name).expect("an input");
            let shape = buffer.shape.iter().map(|&extent| extent as u64).collect();
            let tensor = Tensor::from_ints(DType::I32, shape, &[value]).expect("a tensor");
            tensors.insert(name.to_owned(), tensor);
        }
        let loaded = Loaded::load(&program).expect("no refusal");
        let settings = Settings { schedule: Schedule::seeded(9), ..Settings::default() };
        let launch = session.launch(&loaded, &tensors, &settings).expect("a run");
        for (rank, picked) in picked.iter_mut().enumerate() {
            let out = launch.output(&format!("r{rank}.argmax_out")).expect("a token");
            let (id, is_certain) = greedy(&out.reference, 1)[0];
            assert!(is_certain, "step {step} of rank {rank}");
            picked.push(id);
        }
        token = picked[0][step as usize];
        advance(&mut program);
    }
    picked
}

#[test]
fn two_ranks_pick_the_tokens_of_one() {
    let whole = weights(&decoder(F32, 1), DType::F32);
    let one = tokens(&run(&by_hand("F32", true), whole.clone(), 5, 0, true));
    assert!(one.iter().any(|token| *token != one[0]), "{one:?} says little");
    for collective in [COLLECTIVE, ALL_REDUCE] {
        let kernel = half_decoder(collective);
        let graphs = match collective {
            COLLECTIVE => translated(&kernel, 2, Mode::ExactCurrent),
            _ => with_puts(translated(&kernel, 2, Mode::Sound)),
        };
        let found = imported(&graphs, &kernel);
        assert!(found.program.contains("ALLREDUCE_SHARD"));
        let parts: BTreeMap<(usize, String), Tensor> = [0, 1]
            .into_iter()
            .flat_map(|rank| {
                whole.iter().map(move |(name, tensor)| ((rank, name.clone()), part(rank, name, tensor)))
            })
            .collect();
        let bound = found.binding.gather(|rank, name| parts.get(&(rank, name.to_owned()))).expect("tensors");
        assert_eq!(tokens_of_ranks(&found, bound, 5), [one.clone(), one.clone()], "with {collective}");
    }
}
