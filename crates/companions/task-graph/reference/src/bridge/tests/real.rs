//! The real graphs.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::Rule;
use megakernel_ir::rule::Class;
use megakernel_task_graph::{TaskGraph, TaskType, read_task_graph};
use megakernel_test_support::fixtures;
use serde_json::{Value, json};

use super::graphs::kernel;
use crate::bridge::{Imported, Options, Refusal, Request, Run, import};
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
    import(&graphs, &kernel, &Options { position: 100, ..Options::default() })
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
    // Attention over pages, once for each group of heads and layer: of which request is data.
    let reasons: BTreeSet<&str> = refusals.iter().map(|found| found.reason.as_str()).collect();
    assert_eq!((refusals.len(), reasons.len()), (16, 1), "{reasons:?}");
    assert!(refusals[0].reason.contains("give the requests"), "{}", refusals[0].reason);
}

/// What the layers of the current generator registered, with the parameters that a program needs.
fn registered(name: &str) -> String {
    let found: Value = serde_json::from_str(&text(&format!("{name}.kernel"))).expect("JSON");
    let tensors: Vec<Value> = found["tensors"]
        .as_array()
        .expect("tensors")
        .iter()
        .map(|tensor| {
            let mut declared =
                json!({"name": tensor["name"], "data_type": tensor["dtype"], "dims": tensor["dims"], "io": tensor["io"]});
            for member in ["num_groups", "parts"].into_iter().filter(|member| !tensor[*member].is_null()) {
                declared[member] = tensor[member].clone();
            }
            declared
        })
        .collect();
    let operator = |operator: &Value| {
        let name = operator["task"].as_str().expect("a name").trim_start_matches("moe_silu").to_owned();
        let name = if name == "_mul" { "silu_mul".to_owned() } else { name };
        let known = TaskType::registered(&name).expect("a type");
        let operand = |argument: &Value| json!({"tensor": argument[0], "map": argument[1]});
        let operands: Vec<Value> =
            operator["args"].as_array().expect("operands").iter().map(operand).collect();
        let (inputs, outputs) = operands.split_at(known.inputs.len());
        let params = match name {
            name if name.contains("rmsnorm") => json!({"eps": 1e-6}),
            name if name.contains("attention") => json!({"eps": 1e-6, "theta": 1e6}),
            _ => json!({}),
        };
        json!({"name": "op", "task_type": known.code, "grid": operator["grid"], "inputs": inputs, "outputs": outputs,
               "params": params})
    };
    kernel(&tensors, &found["ops"].as_array().expect("operators").iter().map(operator).collect::<Vec<_>>())
}

/// The rules that the program of real graphs breaks, for so many requests of one token each.
fn rules_of_current(names: &[&str], requests: i64) -> BTreeSet<Rule> {
    let texts: Vec<String> = names.iter().map(|name| text(name)).collect();
    let graphs: Vec<TaskGraph<'_>> =
        texts.iter().map(|text| read_task_graph(text.as_bytes()).expect("a graph")).collect();
    let tasks: usize = graphs.iter().map(|graph| graph.all_tasks.len() - 2).sum();
    let kernel = registered(names[0]);
    let kernel = megakernel_task_graph::read_kernel_graph(kernel.as_bytes()).expect("a kernel graph");
    let request = |number| Request { tokens: 1, position: 3 + 5 * number, pages: vec![number] };
    let layer = |first: i64| vec![(0..8).map(|expert| (first + 7 * expert) % 128).collect()];
    let routing = if names[0].contains("moe") { vec![layer(3), layer(90)] } else { Vec::new() };
    let run = Run { requests: (0..requests).map(request).collect(), routing };
    let graphs: Vec<&TaskGraph<'_>> = graphs.iter().collect();
    let found = import(&graphs, &kernel, &Options { run, ..Options::default() }).expect("no refusal");
    let origins: BTreeSet<(usize, usize)> = found.origin.iter().copied().collect();
    assert_eq!(origins.len(), tasks, "every task has its part of the program");
    let program = megakernel_ir::read(found.program.as_bytes()).expect("a program");
    let verdict = validate_program(&program, Classes::ALL);
    verdict.diagnostics.iter().filter(|found| found.is_error()).map(|found| found.rule).collect()
}

#[test]
fn graphs_of_the_current_generator_are_imported_whole() {
    for (names, requests) in [
        (&["now_q06_2l_cc90"][..], 1),
        (&["now_q06_2l_cc90_b8"], 8),
        (&["now_moe30b_2l_t1"], 1),
        (&["now_moe30b_2l_splitk"], 1),
        (&["now_q06_tp2_tile_r0", "now_q06_tp2_tile_r1"], 1),
    ] {
        assert_eq!(rules_of_current(names, requests), BTreeSet::new(), "{names:?}");
    }
    let raced = rules_of_current(&["now_q06_tp2_ag_r0", "now_q06_tp2_ag_r1"], 1);
    assert!(!raced.is_empty() && raced.iter().all(|rule| rule.class() == Class::RACE), "{raced:?}");
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
