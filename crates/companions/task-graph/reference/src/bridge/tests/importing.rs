//! What of a graph a program keeps, and what is refused.

use megakernel_ir::rule::Class;
use megakernel_ir::{BufferKind, Rule, read};
use megakernel_task_graph::{EVENT_INVALID, Mode, read_kernel_graph, read_task_graph};
use serde_json::{Value, json};

use super::graphs::{decoder, imported, kernel, operator, tensor, translate, translated};
use crate::bridge::{Imported, Options, Refusal, import};
use megakernel_reference::validate::{Classes, broken_rules, validate_program};

fn accepted(found: Result<Imported, Vec<Refusal>>) -> Imported {
    found.expect("no refusal")
}

fn reasons(found: Result<Imported, Vec<Refusal>>) -> Vec<String> {
    found.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn assert_refused(found: Result<Imported, Vec<Refusal>>, pointer: &str, reason: &str) {
    let reasons = reasons(found);
    assert!(
        reasons.iter().any(|found| found.starts_with(pointer) && found.contains(reason)),
        "expected {pointer}: .. {reason} .. and found {reasons:#?}"
    );
}

fn rules(found: &Imported) -> Vec<Rule> {
    let program = read(found.program.as_bytes()).expect("a program");
    broken_rules(&program, Classes::ALL)
}

/// The decoder with one layer's worth of edits made easy: its graph, and the first task of each operator.
fn graph() -> (String, Value, Vec<usize>) {
    let kernel = decoder(950, 1);
    let graph = translate(&kernel);
    let mut starts = Vec::new();
    let tasks = graph["all_tasks"].as_array().expect("tasks");
    for (number, task) in tasks.iter().enumerate().skip(2) {
        if number == 2 || task["trigger_event"] != tasks[number - 1]["trigger_event"] {
            starts.push(number);
        }
    }
    (kernel, graph, starts)
}

#[test]
fn every_rule_accepts_the_import_of_a_sound_graph() {
    for embeds in [1, 4] {
        for one_queue in [false, true] {
            let kernel = decoder(941, embeds);
            let options = Options { position: 3, one_queue, ..Options::default() };
            let found = accepted(imported(&translate(&kernel), &kernel, &options));
            let program = read(found.program.as_bytes()).expect("a program");
            let verdict = validate_program(&program, Classes::ALL);
            assert!(verdict.accepts(), "{:#?}", verdict.diagnostics);
            assert_eq!(program.tasks.len(), found.origin.len());
            assert!(program.tasks.iter().all(|task| task.waits.len() <= 1));
        }
    }
}

#[test]
fn a_counter_stands_for_each_event_and_scratch_for_what_is_inside_of_a_task() {
    let (kernel, graph, starts) = graph();
    let found = accepted(imported(&graph, &kernel, &Options::default()));
    let program = read(found.program.as_bytes()).expect("a program");
    // Task 3, RMS_NORM_LINEAR.
    let steps: Vec<_> = program
        .tasks
        .iter()
        .zip(&found.origin)
        .filter(|(_, origin)| origin.1 == starts[1])
        .map(|(task, _)| task)
        .collect();
    let ops: Vec<&str> = steps.iter().map(|task| task.op.name()).collect();
    assert_eq!(ops, ["RMSNORM", "GEMV_TILE"]);
    let wait = &steps[0].waits[0];
    assert_eq!((&*program.counters[wait.counter as usize].note, wait.threshold), ("event 2", 1));
    assert_eq!(steps[1].waits[0].counter, steps[0].out_counter);
    assert_eq!(&*program.counters[steps[1].out_counter as usize].note, "event 3");
    let attended = program.tasks.iter().zip(&found.origin).filter(|(_, origin)| origin.1 == starts[2]);
    let ops: Vec<&str> = attended.map(|(task, _)| task.op.name()).collect();
    assert_eq!(
        ops,
        [
            "COPY",
            "RMSNORM",
            "ROPE",
            "COPY",
            "RMSNORM",
            "ROPE",
            "KV_APPEND",
            "KV_APPEND",
            "ATTENTION_TILE",
            "KV_APPEND"
        ]
    );
}

#[test]
fn a_fused_tile_is_cut_into_what_opcodes_need() {
    let (kernel, graph, _) = graph();
    let found = accepted(imported(&graph, &kernel, &Options::default()));
    let of = |name: &str| {
        let bound = found
            .binding
            .buffers
            .iter()
            .filter(|bound| bound.pieces.iter().any(|piece| piece.tensor == name));
        bound.map(|bound| (bound.shape.clone(), bound.pieces.len())).collect::<Vec<_>>()
    };
    // Each group of heads has its rows of each projection in a buffer.
    assert_eq!(of("l0.q"), [(vec![8, 16], 1), (vec![8, 16], 1)]);
    assert_eq!(of("l1.v"), [(vec![4, 16], 1), (vec![4, 16], 1)]);
    assert_eq!(of("l0.gate"), [(vec![32, 16], 1)]);
    assert_eq!(of("l0.k_cache"), [(vec![16, 1, 4], 1), (vec![16, 1, 4], 1)]);
    let kinds: Vec<BufferKind> = found.binding.buffers.iter().map(|bound| bound.kind).collect();
    assert!(kinds.contains(&BufferKind::IoOutput) && kinds.contains(&BufferKind::IoInput));
    // Both layers use one storage, and each has its buffers.
    assert!(
        found.program.contains(r#""name":"mlp_mid[0,0:32]""#)
            && found.program.contains(r#""name":"mlp_mid[0,0:32]#2""#)
    );
}

#[test]
fn a_task_that_writes_several_buffers_becomes_one_product_for_each() {
    let tensors = [
        tensor("x", 950, &[1, 4], "torch"),
        tensor("w", 950, &[8, 4], "torch"),
        tensor("mid", 950, &[1, 8], "cuda"),
        tensor("y", 950, &[1, 4], "torch"),
    ];
    let operators = [
        operator(120, 1, &[("x", -1), ("w", -1)], &[("mid", -1)], json!({})),
        operator(118, 1, &[("mid", -1)], &[("y", -1)], json!({})),
    ];
    let kernel = kernel(&tensors, &operators);
    let found = accepted(imported(&translate(&kernel), &kernel, &Options::default()));
    assert_eq!(rules(&found), []);
    let program = read(found.program.as_bytes()).expect("a program");
    let ops: Vec<&str> = program.tasks.iter().map(|task| task.op.name()).collect();
    assert_eq!(ops, ["GEMV_TILE", "GEMV_TILE", "SILU_MUL"]);
    let starts: Vec<_> = found
        .binding
        .buffers
        .iter()
        .filter(|bound| bound.pieces[0].tensor == "w")
        .map(|bound| bound.pieces[0].start.clone())
        .collect();
    assert_eq!(starts, [[0, 0], [4, 0]]);
}

/// Lets the tasks of one operator wait for nothing.
fn without_wait(graph: &mut Value, starts: &[usize], operator: usize) {
    let end =
        starts.get(operator + 1).copied().unwrap_or(graph["all_tasks"].as_array().expect("tasks").len());
    for task in starts[operator]..end {
        graph["all_tasks"][task]["dependent_event"] = json!(EVENT_INVALID);
    }
}

#[test]
fn a_race_of_the_graph_is_a_race_of_the_program_or_refused() {
    let (kernel, sound, starts) = graph();
    let mut raced = 0;
    for operator in 1..starts.len() {
        let mut graph = sound.clone();
        without_wait(&mut graph, &starts, operator);
        match imported(&graph, &kernel, &Options::default()) {
            Ok(found) => {
                let rules = rules(&found);
                assert!(
                    rules.iter().any(|rule| rule.class() == Class::RACE),
                    "operator {operator}: {rules:?}"
                );
                raced += 1;
            }
            Err(refusals) => {
                assert!(
                    refusals
                        .iter()
                        .all(|found| found.reason.contains("orders") || found.reason.contains("may write")),
                    "{refusals:#?}"
                );
            }
        }
    }
    assert!(raced >= 9, "{raced} of {}", starts.len());
}

#[test]
fn storage_that_is_written_again_too_early_is_one_buffer() {
    let (kernel, mut graph, starts) = graph();
    // The first product of layer 1 writes `attn_in` without waiting for whoever reads that of layer 0.
    without_wait(&mut graph, &starts, 6);
    let found = accepted(imported(&graph, &kernel, &Options::default()));
    assert!(rules(&found).iter().any(|&rule| matches!(rule, Rule::R04 | Rule::R05)), "{:?}", rules(&found));
}

#[test]
fn wrong_thresholds_are_wrong_in_the_program() {
    let (kernel, sound, _) = graph();
    for (triggers, rule) in [(9, Rule::D02), (7, Rule::R01)] {
        let mut graph = sound.clone();
        assert_eq!(graph["all_events"][3]["num_triggers"], 8);
        graph["all_events"][3]["num_triggers"] = json!(triggers);
        assert!(rules(&accepted(imported(&graph, &kernel, &Options::default()))).contains(&rule));
    }
    let mut graph = sound.clone();
    graph["all_events"][3]["num_triggers"] = json!(0);
    assert_refused(imported(&graph, &kernel, &Options::default()), "/all_events/3", "0 triggers");
}

#[test]
fn descending_ids_are_a_deadlock_of_one_queue() {
    let tensors = [
        tensor("x", 950, &[1, 4], "torch"),
        tensor("n", 950, &[4], "torch"),
        tensor("mid", 950, &[1, 4], "cuda"),
        tensor("y", 950, &[1, 4], "torch"),
    ];
    let operators = [
        operator(119, 1, &[("x", -1), ("n", -1)], &[("mid", -1)], json!({"eps": 0.1})),
        operator(119, 1, &[("mid", -1), ("n", -1)], &[("y", -1)], json!({"eps": 0.1})),
    ];
    let kernel = kernel(&tensors, &operators);
    let mut graph = translate(&kernel);
    graph["all_tasks"].as_array_mut().expect("tasks").swap(2, 3);
    let options = |one_queue| Options { one_queue, ..Options::default() };
    assert_eq!(rules(&accepted(imported(&graph, &kernel, &options(false)))), []);
    assert_eq!(rules(&accepted(imported(&graph, &kernel, &options(true)))), [Rule::D05]);
    // A cycle is one in both.
    graph["all_tasks"][3]["dependent_event"] = json!(3);
    assert!(rules(&accepted(imported(&graph, &kernel, &options(false)))).contains(&Rule::D04));
}

#[test]
fn what_has_no_counterpart_is_refused_with_the_reason() {
    let (kernel, sound, starts) = graph();
    let refused = |edit: &dyn Fn(&mut Value), pointer: &str, reason: &str| {
        let mut graph = sound.clone();
        edit(&mut graph);
        assert_refused(imported(&graph, &kernel, &Options::default()), pointer, reason);
    };
    let task = |number: usize| format!("/all_tasks/{number}");
    refused(&|graph| graph["all_tasks"][2]["task_type"] = json!(113), &task(2), "drafts");
    refused(&|graph| graph["all_tasks"][2]["task_type"] = json!(301), &task(2), "task type 301");
    for (code, opcode) in [
        (263, "LOG_SUM_EXP"),
        (264, "LOG_SUM_EXP"),
        (266, "LATENT_ATTENTION"),
        (248, "SCALED_GEMV"),
        (276, "SCALED_GEMV"),
        (265, "SAMPLE"),
        (280, "SIGMOID"),
        (272, "an opcode for each"),
        (999, "no opcodes of it"),
    ] {
        refused(&|graph| graph["all_tasks"][2]["task_type"] = json!(code), &task(2), opcode);
    }
    refused(&|graph| graph["all_tasks"][2]["inputs"][0]["base_ptr"] = json!("z"), &task(2), "not declared");
    refused(&|graph| graph["all_tasks"][2]["inputs"][0]["offset"] = json!(4), &task(2), "TB02");
    refused(&|graph| graph["all_tasks"][2]["outputs"][0]["offset"] = json!(4), &task(2), "TB01");
    refused(&|graph| graph["all_tasks"][2]["outputs"][0]["strides"] = json!([1, 2]), &task(2), "view");
    refused(&|graph| graph["all_tasks"][2]["trigger_event"] = json!(99), &task(2), "is not there");
    refused(&|graph| graph["all_tasks"][2]["trigger_event"] = json!(1i64 << 32), &task(2), "rank 1");
    let lm_head = starts[11];
    refused(
        &|graph| graph["all_tasks"][lm_head]["inputs"].as_array_mut().expect("inputs").truncate(2),
        &task(lm_head),
        "no operator",
    );
    let mut other: Value = serde_json::from_str(&kernel).expect("JSON");
    other["operators"][11]["params"] = json!({});
    let found = imported(&sound, &other.to_string(), &Options::default());
    assert_refused(found, &task(lm_head), "`eps`");
    other["operators"][11]["params"] = json!({"eps": 0.1, "softcap": 30.0});
    assert_refused(imported(&sound, &other.to_string(), &Options::default()), &task(lm_head), "`softcap`");
    let options = Options { position: 16, ..Options::default() };
    assert_refused(imported(&sound, &kernel, &options), &task(starts[2]), "position 16");
}

#[test]
fn a_value_that_one_iteration_leaves_to_the_next_is_refused() {
    let (kernel, mut graph, starts) = graph();
    let last = *starts.last().expect("an operator");
    graph["all_tasks"][last]["outputs"][0]["base_ptr"] = json!("input_token");
    let mut kernel: Value = serde_json::from_str(&kernel).expect("JSON");
    let operators = kernel["operators"].as_array_mut().expect("operators");
    operators.last_mut().expect("one")["outputs"][0]["tensor"] = json!("input_token");
    assert_refused(
        imported(&graph, &kernel.to_string(), &Options::default()),
        "/all_tasks/2/inputs/0",
        "one iteration",
    );
}

#[test]
fn ranks_become_one_program() {
    let tensors = [
        tensor("x", 950, &[1, 4], "torch"),
        tensor("w", 950, &[4, 4], "torch"),
        tensor("part", 950, &[1, 4], "cuda"),
        tensor("slots", 950, &[2, 1, 4], "nvshmem"),
        tensor("sum", 950, &[1, 4], "cuda"),
        tensor("v", 950, &[4, 4], "torch"),
        tensor("rest", 950, &[1, 4], "cuda"),
        tensor("others", 950, &[2, 1, 4], "nvshmem"),
        tensor("all", 950, &[1, 4], "torch"),
    ];
    let operators = [
        operator(120, 2, &[("x", -1), ("w", 0)], &[("part", 1)], json!({})),
        operator(106, 2, &[("part", 1), ("slots", 2)], &[("sum", 1)], json!({})),
        operator(120, 2, &[("sum", -1), ("v", 0)], &[("rest", 1)], json!({})),
        operator(106, 2, &[("rest", 1), ("others", 2)], &[("all", 1)], json!({})),
    ];
    let kernel = kernel(&tensors, &operators);
    let import_all = |mode: Mode| {
        let texts: Vec<String> = translated(&kernel, 2, mode).iter().map(Value::to_string).collect();
        let graphs: Vec<_> =
            texts.iter().map(|text| read_task_graph(text.as_bytes()).expect("a graph")).collect();
        let graphs: Vec<_> = graphs.iter().collect();
        let kernel = read_kernel_graph(kernel.as_bytes()).expect("a kernel graph");
        import(&graphs, &kernel, &Options::default())
    };
    let found = accepted(import_all(Mode::Sound));
    assert_eq!(rules(&found), []);
    assert!(found.program.contains("ALLREDUCE_SHARD") && found.program.contains(r#""name":"r1.all[0,0:2]""#));
    // As the document translates it, REDUCE does not wait for its own partial sum.
    let raced = rules(&accepted(import_all(Mode::Exact)));
    assert!(raced.contains(&Rule::R02) && raced.iter().all(|rule| rule.class() == Class::RACE), "{raced:?}");
    let alone = translated(&kernel, 2, Mode::Sound).remove(1);
    assert_refused(imported(&alone, &kernel, &Options::default()), "/all_tasks/", "rank 0");
}

#[test]
fn a_part_of_a_row_is_taken_by_its_columns() {
    // Layers of which each takes half of what the one before writes whole.
    let tensors = [
        tensor("x", 950, &[1, 8], "torch"),
        tensor("n", 950, &[8], "torch"),
        tensor("mid", 950, &[1, 8], "cuda"),
        tensor("w", 950, &[4, 4], "torch"),
        tensor("y", 950, &[1, 8], "torch"),
    ];
    let operators = [
        operator(119, 1, &[("x", -1), ("n", -1)], &[("mid", -1)], json!({"eps": 0.5})),
        operator(120, 2, &[("mid", 1), ("w", -1)], &[("y", 1)], json!({})),
    ];
    let kernel = kernel(&tensors, &operators);
    let found = accepted(imported(&translate(&kernel), &kernel, &Options::default()));
    assert_eq!(rules(&found), []);
    let constants: Vec<&Vec<i64>> = found
        .binding
        .buffers
        .iter()
        .filter(|bound| bound.kind == BufferKind::Const)
        .map(|bound| &bound.values)
        .collect();
    assert_eq!(constants, [&vec![0, 1, 2, 3], &vec![4, 5, 6, 7]]);
}
