//! Translating: `cargo bench -p megakernel-task-graph-reference --bench translate`. A decode step of Qwen3 8B with 36 layers and about
//! 12,000 tasks, and decoders of the same make up to 1,000,000 tasks, in both modes; and how long it takes to validate what
//! came out. Of all rounds the fastest counts.

#![allow(missing_docs, clippy::unwrap_used)]

mod kernel_graphs;

use std::hint::black_box;
use std::time::{Duration, Instant};

use kernel_graphs::{QWEN3_8B, Qwen3, qwen3};
use megakernel_task_graph::read_translation;
use megakernel_task_graph_reference::translate::translate;
use megakernel_task_graph_reference::validate::{Graphs, validate_graphs};
use serde_json::json;

fn fastest<T>(rounds: usize, mut run: impl FnMut() -> T) -> (Duration, T) {
    let mut best: Option<(Duration, T)> = None;
    for _ in 0..rounds {
        let start = Instant::now();
        let result = black_box(run());
        let took = start.elapsed();
        if best.as_ref().is_none_or(|(before, _)| took < *before) {
            best = Some((took, result));
        }
    }
    best.unwrap()
}

fn measure(what: &str, shape: Qwen3, rounds: usize) {
    let kernel_graph = qwen3(shape);
    for mode in ["exact", "sound"] {
        let text = json!({"kernel_graph": kernel_graph, "ranks": shape.ranks, "mode": mode}).to_string();
        let (took, graph) =
            fastest(rounds, || translate(&read_translation(text.as_bytes()).unwrap()).unwrap());
        let (judged, verdict) = fastest(rounds, || validate_graphs(Graphs::Bare(&graph, None)));
        let tasks = graph.all_tasks.len();
        let each = took.as_nanos() as usize / tasks;
        let accepts = if verdict.accepts() { "accepted" } else { "rejected" };
        println!(
            "{what}, {mode}: {tasks} tasks, translated in {took:.1?} ({each} ns a task), {accepts} in {judged:.1?}"
        );
    }
}

fn main() {
    measure("Qwen3 8B", QWEN3_8B, 10);
    for layers in [300, 3000] {
        measure(&format!("{layers} layers"), Qwen3 { layers, ..QWEN3_8B }, 3);
    }
    measure(
        "Qwen3 8B on two ranks",
        Qwen3 { ranks: 2, separate: true, tasks: [48, 64, 96, 64], ..QWEN3_8B },
        10,
    );
}
