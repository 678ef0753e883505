//! Sums that several tasks add to.

use megakernel_ir::model::Program;
use megakernel_ir::rule::Class;
use megakernel_ir::{Rule, read};
use megakernel_task_graph::EVENT_INVALID;
use serde_json::{Value, json};

use super::super::graphs::{imported, kernel, operator, tensor, translate};
use super::{F32, Matrices, SPLIT_K, assert_near, dot, launch, of_type, refused};
use crate::bridge::Options;
use megakernel_reference::validate::{Classes, broken_rules};

const ZERO: i64 = 262;

/// A product in four parts of K on top of what `start` puts into its output, and then `end`.
fn split_k(rows: i64, start: Vec<Value>, end: Value) -> String {
    let tensors = [
        tensor("x", F32, &[rows, 16], "torch"),
        tensor("w", F32, &[8, 16], "torch"),
        tensor("start", F32, &[rows, 8], "torch"),
        tensor("v", F32, &[8, 16], "torch"),
        tensor("edge", F32, &[1], "cuda"),
        tensor("sum", F32, &[rows, 8], "cuda"),
        tensor("y", F32, &[rows, 8], "torch"),
    ];
    let mut operators = start;
    operators.push(operator(SPLIT_K, 4, &[("x", 1), ("w", 1)], &[("sum", -1)], json!({})));
    operators.push(end);
    kernel(&tensors, &operators)
}

fn zero() -> Value {
    operator(ZERO, 1, &[("sum", -1), ("edge", -1)], &[("edge", -1)], json!({}))
}

fn copy() -> Value {
    operator(121, 2, &[("sum", 1)], &[("y", 1)], json!({}))
}

fn matrices_of_sums(rows: u64) -> Matrices {
    Matrices::new(&[("x", &[rows, 16]), ("w", &[8, 16]), ("v", &[8, 16]), ("start", &[rows, 8])])
}

#[test]
fn parts_of_a_product_are_added_to_what_was_there() {
    for rows in [1, 3] {
        let matrices = matrices_of_sums(rows);
        let product = |row: usize, column: usize| dot(matrices.row("x", row), matrices.row("w", column));
        let all = || (0..rows as usize).flat_map(|row| (0..8).map(move |column| (row, column)));
        let from_zero = split_k(rows as i64, vec![zero()], copy());
        let found = imported(&translate(&from_zero), &from_zero, &Options::default()).expect("no refusal");
        let wanted: Vec<f64> = all().map(|(row, column)| product(row, column)).collect();
        assert_near(&launch(&found, &matrices, &[]), &wanted);

        let begin = operator(121, 2, &[("start", 1)], &[("sum", 1)], json!({}));
        let from_there = split_k(rows as i64, vec![begin], copy());
        let found = imported(&translate(&from_there), &from_there, &Options::default()).expect("no refusal");
        let start = |row: usize, column: usize| matrices.row("start", row)[column];
        let wanted: Vec<f64> = all().map(|(row, column)| product(row, column) + start(row, column)).collect();
        assert_near(&launch(&found, &matrices, &[]), &wanted);
    }
}

#[test]
fn a_sum_of_parts_can_be_a_residual() {
    for rows in [1, 2] {
        let matrices = matrices_of_sums(rows);
        let end = operator(108, 2, &[("x", -1), ("v", 0), ("sum", 1)], &[("y", 1)], json!({}));
        let kernel = split_k(rows as i64, vec![zero()], end);
        let found = imported(&translate(&kernel), &kernel, &Options::default()).expect("no refusal");
        let all = (0..rows as usize).flat_map(|row| (0..8).map(move |column| (row, column)));
        let product =
            |name: &str, row: usize, column: usize| dot(matrices.row("x", row), matrices.row(name, column));
        let wanted: Vec<f64> =
            all.map(|(row, column)| product("w", row, column) + product("v", row, column)).collect();
        assert_near(&launch(&found, &matrices, &[]), &wanted);
    }
}

#[test]
fn parts_are_added_in_the_order_of_tasks() {
    let kernel = split_k(1, vec![zero()], copy());
    let found = imported(&translate(&kernel), &kernel, &Options::default()).expect("no refusal");
    let program: Program<'_> = read(found.program.as_bytes()).expect("a program");
    let name = |id: i64| program.buffers[id as usize].name.to_string();
    let steps = |op: &'static str| {
        let of_op = program.tasks.iter().zip(&found.origin).filter(move |(task, _)| task.op.name() == op);
        of_op.map(|(task, origin)| (origin.1, task))
    };
    // Task 2 sets to zero, tasks 3 to 6 add, and tasks 7 and 8 each read a half.
    let partial = |half: &str| (0..4).map(|part| format!("sum.sum{part}[0,{half}]")).collect::<Vec<_>>();
    for (reader, half) in [(7, "0:4"), (8, "4:8")] {
        let added: Vec<String> = steps("ADD")
            .filter(|(origin, _)| *origin == reader)
            .map(|(_, task)| name(task.inputs[1]))
            .collect();
        assert_eq!(added, partial(half));
        let written: Vec<(usize, String)> = steps("GEMV_TILE")
            .map(|(origin, task)| (origin, name(task.outputs[0])))
            .filter(|(_, name)| name.ends_with(&format!("{half}]")))
            .collect();
        assert_eq!(written, (3..).zip(partial(half)).collect::<Vec<_>>());
    }
}

#[test]
fn a_race_on_a_sum_is_a_race_of_the_program_or_refused() {
    let kernel = split_k(1, vec![zero()], operator(121, 1, &[("sum", -1)], &[("y", -1)], json!({})));
    // The sum is read before all have added to it.
    let mut graph = translate(&kernel);
    let wait = of_type(&mut graph, SPLIT_K)[0]["dependent_event"].clone();
    of_type(&mut graph, 121).into_iter().for_each(|task| task["dependent_event"] = wait.clone());
    let found = imported(&graph, &kernel, &Options::default()).expect("no refusal");
    let program: Program<'_> = read(found.program.as_bytes()).expect("a program");
    let rules = broken_rules(&program, Classes::ALL);
    assert!(rules.contains(&Rule::R02) || rules.contains(&Rule::R03), "{rules:?}");
    assert!(rules.iter().all(|rule| rule.class() == Class::RACE), "{rules:?}");
    // What is added to is set at the same time.
    let mut graph = translate(&kernel);
    of_type(&mut graph, SPLIT_K).into_iter().for_each(|task| task["dependent_event"] = json!(EVENT_INVALID));
    refused(imported(&graph, &kernel, &Options::default()), "which adds to `sum`, and task 2");
}

#[test]
fn a_sum_without_a_start_or_a_reader_is_refused() {
    let kernel = split_k(1, Vec::new(), copy());
    refused(imported(&translate(&kernel), &kernel, &Options::default()), "TR07");
    let unread = operator(121, 1, &[("start", -1)], &[("y", -1)], json!({}));
    let kernel = split_k(1, vec![zero()], unread);
    refused(imported(&translate(&kernel), &kernel, &Options::default()), "adds to `sum`");
}
