//! Translation against graphs that the published generator wrote: kernel graphs that were put together from them, by hand,
//! translate into the very same tasks and events.

#![allow(clippy::panic)]

use crate::kernel_graphs::{QWEN3_06B, Qwen3, qwen3};
use megakernel_ir::{Layout, write_record};
use megakernel_task_graph::read_translation;
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
