//! The real graphs.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::rule::Class;
use megakernel_task_graph::{TaskGraph, read_task_graph};
use megakernel_test_support::fixtures;
use serde_json::{Value, json};

use super::graphs::kernel;
use crate::bridge::{Imported, Options, Refusal, import};
use megakernel_reference::validate::{Classes, validate_program};

fn text(name: &str) -> String {
    fixtures::text(&format!("mpk/{name}.json"))
}

/// A kernel graph for a task graph that came without one: tensors as large as their tiles say, and an operator for each
/// type and tensors.
fn kernel_of(graphs: &[&TaskGraph<'_>]) -> String {
    let mut tensors: BTreeMap<String, (i64, Vec<i64>, i64)> = BTreeMap::new();
    let mut written: BTreeSet<String> = BTreeSet::new();
    let mut operators = Vec::new();
    let mut known = BTreeSet::new();
    for task in graphs.iter().flat_map(|graph| &graph.all_tasks) {
        written.extend(task.outputs().iter().map(|tile| tile.base_ptr.to_string()));
        for tile in task.inputs().iter().chain(task.outputs()).filter(|tile| !tile.is_null()) {
            let bits = megakernel_task_graph::element_bits(tile.data_type).expect("a type");
            let mut last = tile.offset * 8 / bits + 1;
            last += tile
                .dims
                .iter()
                .zip(&tile.strides)
                .map(|(extent, stride)| (extent - 1) * stride)
                .sum::<i64>();
            let entry = tensors.entry(tile.base_ptr.to_string());
            let (_, strides, size) = entry.or_insert((tile.data_type, tile.strides.to_vec(), 0));
            if strides.len() < tile.strides.len() {
                *strides = tile.strides.to_vec();
            }
            *size = (*size).max(last);
        }
        let names = |tiles: &[megakernel_task_graph::Tile<'_>]| -> Vec<Value> {
            tiles
                .iter()
                .filter(|tile| !tile.is_null())
                .map(|tile| json!({"tensor": &*tile.base_ptr, "map": [-1, -1, -1]}))
                .collect()
        };
        let (inputs, outputs) = (names(task.inputs()), names(task.outputs()));
        if known.insert(json!([task.task_type, inputs, outputs]).to_string()) {
            let params = match task.task_type {
                102 | 119 => json!({"eps": 1e-6}),
                103 => json!({"eps": 1e-6, "theta": 1e6}),
                _ => json!({}),
            };
            operators
                .push(json!({"name": "op", "task_type": task.task_type, "grid": [1, 1, 1], "inputs": inputs,
                                  "outputs": outputs, "params": params}));
        }
    }
    let declared: Vec<Value> = tensors
        .iter()
        .map(|(name, (data_type, strides, size))| {
            let mut dims = Vec::new();
            let mut outer = 0;
            for &stride in strides {
                dims.push(if outer == 0 {
                    size.div_euclid(stride) + i64::from(size % stride != 0)
                } else {
                    outer / stride
                });
                outer = stride;
            }
            let io = if written.contains(name) && name != "argmax_out" { "cuda" } else { "torch" };
            json!({"name": name, "data_type": data_type, "dims": dims, "io": io})
        })
        .collect();
    kernel(&declared, &operators)
}

fn import_real(names: &[&str]) -> Result<Imported, Vec<Refusal>> {
    import_texts(&names.iter().map(|name| text(name)).collect::<Vec<_>>())
}

fn import_texts(texts: &[String]) -> Result<Imported, Vec<Refusal>> {
    let graphs: Vec<TaskGraph<'_>> =
        texts.iter().map(|text| read_task_graph(text.as_bytes()).expect("a graph")).collect();
    let graphs: Vec<&TaskGraph<'_>> = graphs.iter().collect();
    let kernel = kernel_of(&graphs);
    let kernel = megakernel_task_graph::read_kernel_graph(kernel.as_bytes()).expect("a kernel graph");
    import(&graphs, &kernel, &Options { position: 100, one_queue: false })
}

#[test]
fn a_decoder_of_the_earlier_version_is_imported_whole() {
    let found = import_real(&["old_qwen3_06b_2l"]).expect("no refusal");
    let program = megakernel_ir::read(found.program.as_bytes()).expect("a program");
    let verdict = validate_program(&program, Classes::ALL);
    assert!(verdict.accepts(), "{:#?}", verdict.diagnostics);
    let origins: BTreeSet<(usize, usize)> = found.origin.iter().copied().collect();
    assert_eq!(origins.len(), 657);
}

#[test]
fn tasks_without_opcodes_are_named() {
    let refusals = import_real(&["qwen3_06b_2l"]).expect_err("refused");
    // Attention over pages, once for each group of heads and layer.
    let reasons: BTreeSet<&str> = refusals.iter().map(|found| found.reason.as_str()).collect();
    assert_eq!((refusals.len(), reasons.len()), (16, 1), "{reasons:?}");
    assert!(refusals[0].reason.contains("task type 116"), "{}", refusals[0].reason);
}

#[test]
fn the_output_of_reduce_that_the_generator_gets_wrong_is_refused() {
    let refusals = import_real(&["old_tp2_r0", "old_tp2_r1"]).expect_err("refused");
    assert!(refusals.iter().all(|found| found.pointer.starts_with("/all_tasks/")), "{refusals:#?}");
    assert_eq!(refusals.len(), 128, "{refusals:#?}");
}

#[test]
fn a_reduce_that_does_not_wait_for_its_own_sum_is_a_race_of_the_program() {
    let mended: Vec<String> = ["old_tp2_r0", "old_tp2_r1"]
        .iter()
        .map(|name| {
            // The output of REDUCE as it should be: one slot's extents.
            let mut graph: Value = serde_json::from_str(&text(name)).expect("JSON");
            for task in graph["all_tasks"].as_array_mut().expect("tasks") {
                if task["task_type"] == 107 {
                    let tile = &mut task["outputs"][0];
                    tile["dims"] = json!([1, 64]);
                    tile["strides"] = json!([1024, 1]);
                }
            }
            graph.to_string()
        })
        .collect();
    let found = import_texts(&mended).expect("no refusal");
    let program = megakernel_ir::read(found.program.as_bytes()).expect("a program");
    let verdict = validate_program(&program, Classes::ALL);
    let rules: BTreeSet<_> =
        verdict.diagnostics.iter().filter(|found| found.is_error()).map(|found| found.rule).collect();
    assert!(!rules.is_empty() && rules.iter().all(|rule| rule.class() == Class::RACE), "{rules:?}");
    for partial in ["attn_proj_out", "mlp_out"] {
        assert!(verdict.diagnostics.iter().any(|found| found.message.contains(partial)), "{partial}");
    }
}
