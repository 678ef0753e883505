//! Translation against graphs that the published generator wrote: kernel graphs that were put together from them, by hand,
//! translate into the very same tasks and events.

#![allow(clippy::panic)]

use crate::kernel_graphs::{QWEN3_06B, Qwen3, qwen3};
use megakernel_ir::{Layout, write_record};
use megakernel_task_graph::{TaskType, read_translation};
use megakernel_task_graph_reference::translate::translate;
use megakernel_test_support::fixtures;
use serde_json::{Value, json};

/// A published graph.
fn real(name: &str) -> Value {
    fixtures::json(&format!("mpk/{name}"))
}

fn translated(kernel_graph: &Value, ranks: i64, rank: i64, mode: &str) -> Value {
    let request =
        json!({"kernel_graph": kernel_graph, "ranks": ranks, "rank": rank, "mode": mode}).to_string();
    let request = read_translation(request.as_bytes()).expect("a request");
    let graph = translate(&request).unwrap_or_else(|found| panic!("{found:?}"));
    serde_json::from_str(&write_record(&graph, Layout::Compact)).expect("JSON")
}

/// What the layers of the current generator registered, as a kernel graph: operands are split by the table of types.
pub fn registered(name: &str) -> Value {
    let found = real(name);
    let tensors: Vec<Value> = found["tensors"]
        .as_array()
        .expect("tensors")
        .iter()
        .map(|tensor| {
            let mut declared = json!({"name": tensor["name"], "data_type": tensor["dtype"], "dims": tensor["dims"], "io": tensor["io"]});
            for member in ["num_groups", "parts"] {
                if !tensor[member].is_null() {
                    declared[member] = tensor[member].clone();
                }
            }
            declared
        })
        .collect();
    let operators: Vec<Value> = found["ops"]
        .as_array()
        .expect("operators")
        .iter()
        .map(|operator| {
            let name = operator["task"].as_str().expect("a name");
            // Two layers make tasks of one type.
            let of_type = if name == "moe_silu_mul" { "silu_mul" } else { name };
            let known = TaskType::registered(of_type).unwrap_or_else(|| panic!("no type is called {name}"));
            let operand = |argument: &Value| match argument[0].is_null() {
                true => Value::Null,
                false => json!({"tensor": argument[0], "map": argument[1]}),
            };
            let operands: Vec<Value> = operator["args"].as_array().expect("operands").iter().map(operand).collect();
            let (inputs, outputs) = operands.split_at(known.inputs.len());
            json!({
                "name": name, "task_type": known.code, "grid": operator["grid"], "inputs": inputs, "outputs": outputs,
                "params": {"values": operator["params"]},
            })
        })
        .collect();
    json!({"tensors": tensors, "operators": operators})
}

/// Compares part by part, so that a difference is named and not buried in a whole graph.
fn assert_same(real: &Value, ours: &Value) {
    for part in ["all_tasks", "all_events"] {
        let (real, ours) = (real[part].as_array().expect("a list"), ours[part].as_array().expect("a list"));
        for (index, (real, ours)) in real.iter().zip(ours).enumerate() {
            assert_eq!(real, ours, "{part} {index}");
        }
        assert_eq!(real.len(), ours.len(), "{part}");
    }
    assert_eq!(real, ours);
}

#[test]
fn one_rank_is_translated_as_published() {
    let real = real("old_qwen3_06b_2l.json");
    assert_same(&real, &translated(&qwen3(QWEN3_06B), 1, 0, "exact"));
}

#[test]
fn two_ranks_are_translated_as_published() {
    let kernel_graph = qwen3(Qwen3 { ranks: 2, ..QWEN3_06B });
    for (rank, name) in [(0, "old_tp2_r0.json"), (1, "old_tp2_r1.json")] {
        let mut real = real(name);
        // The one defect that is repaired: what REDUCE writes had the extents of the buffer.
        for task in real["all_tasks"].as_array_mut().expect("a list") {
            if task["task_type"] == 107 {
                assert_eq!(task["outputs"][0]["dims"], json!([2, 1, 64]));
                task["outputs"][0]["dims"] = json!([1, 64]);
                task["outputs"][0]["strides"] = json!([1024, 1]);
            }
        }
        assert_same(&real, &translated(&kernel_graph, 2, rank, "exact"));
    }
}

/// Every graph of the current generator for which there is what its layers registered.
#[test]
fn current_graphs_are_translated_as_published() {
    let alone = ["now_q06_2l_cc90", "now_q06_2l_cc90_b8", "now_moe30b_2l_t1", "now_moe30b_2l_splitk"];
    let ranks = ["now_q06_tp2_tile_r0", "now_q06_tp2_tile_r1", "now_q06_tp2_ag_r0", "now_q06_tp2_ag_r1"];
    for name in alone.into_iter().chain(ranks) {
        let kernel_graph = registered(&format!("{name}.kernel.json"));
        let number = if ranks.contains(&name) { 2 } else { 1 };
        let rank = i64::from(name.ends_with("_r1"));
        assert_same(
            &real(&format!("{name}.json")),
            &translated(&kernel_graph, number, rank, "exact-current"),
        );
    }
}
