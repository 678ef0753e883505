//! What holds for the execution cases before any reference has seen them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::super::numeric::{Values, data};
use super::super::plan::{Inputs, same};
use super::arrange::Form;
use super::contents::buffers;
use super::ledger::session;
use super::*;
use crate::builder::{DType, Program};

fn cases() -> &'static [Plan] {
    static PLANS: OnceLock<Vec<Plan>> = OnceLock::new();
    PLANS.get_or_init(|| plans(0, &Draws::new()).expect("plans"))
}

fn tasks(program: &Program) -> &[Value] {
    program.at("/tasks").expect("tasks").as_array().expect("a list")
}

#[test]
fn ids_are_unique_and_start_with_their_family() {
    let ids: BTreeSet<&str> = cases().iter().map(|plan| plan.id.as_str()).collect();
    assert_eq!(ids.len(), cases().len());
    for plan in cases() {
        assert!(plan.id.starts_with(&format!("{}/", plan.family)), "{}", plan.id);
        assert!(
            plan.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/".contains(c)),
            "{}",
            plan.id
        );
        assert!(!plan.launches.is_empty(), "{}", plan.id);
    }
}

#[test]
fn files_of_one_path_are_the_same() {
    let mut programs: BTreeMap<&str, &Program> = BTreeMap::new();
    let mut files: BTreeMap<&str, &Inputs> = BTreeMap::new();
    for plan in cases() {
        let known = programs.entry(&plan.path).or_insert(&plan.program);
        assert_eq!(*known, &*plan.program, "{}", plan.path);
        for (path, inputs) in plan.launches.iter().flat_map(|launch| &launch.files) {
            let known = files.entry(path).or_insert(inputs);
            assert!(same(known, inputs), "{}: {path}", plan.id);
        }
    }
}

#[test]
fn every_launch_binds_what_its_program_reads() {
    // There each launch has buffers of its own, and what they should hold is in the plan.
    for plan in cases().iter().filter(|plan| plan.family != binding::FAMILY) {
        let found = buffers(&plan.program).expect("buffers");
        for (index, launch) in plan.launches.iter().enumerate() {
            let mut bound: BTreeSet<&str> = BTreeSet::new();
            for (name, operand) in launch.files.iter().flat_map(|(_, inputs)| inputs.iter()) {
                assert!(bound.insert(name), "{}, launch {index}: two tensors `{name}`", plan.id);
                let count = match &operand.values {
                    Values::Reals(values) => values.len(),
                    Values::Ints(values) => values.len(),
                    Values::Bits(bits) => bits.len(),
                    Values::Formula(formula) => formula.integers().expect("integers").len(),
                };
                assert_eq!(count, data::numel(&operand.shape), "{}: {name}", plan.id);
                if let Some(buffer) = found.iter().find(|buffer| buffer.name == *name) {
                    assert_eq!(
                        (buffer.dtype, &buffer.shape),
                        (operand.dtype, &operand.shape),
                        "{}: {name}",
                        plan.id
                    );
                }
            }
            for feed in &launch.feeds {
                assert_eq!(feed.launch + 1, index, "{}: fed by the launch before", plan.id);
                assert!(bound.insert(&feed.to), "{}: `{}` is bound and fed", plan.id, feed.to);
            }
            for buffer in &found {
                let needed = matches!(buffer.kind.as_str(), "WEIGHT" | "CONST" | "IO_INPUT");
                assert!(
                    !needed || bound.contains(&*buffer.name),
                    "{}, launch {index}: {}",
                    plan.id,
                    buffer.name
                );
            }
        }
    }
}

#[test]
fn tasks_are_numbered_as_they_are_listed_and_launches_change_parameters_only() {
    for plan in cases().iter().filter(|plan| plan.family != binding::FAMILY) {
        for (id, task) in tasks(&plan.program).iter().enumerate() {
            assert_eq!(task["id"], id, "{}", plan.id);
        }
        for (index, launch) in plan.launches.iter().enumerate() {
            assert!(index > 0 || launch.edit.is_empty(), "{}: the first launch is the program", plan.id);
            for operation in &launch.edit {
                let path = operation["path"].as_str().expect("a path");
                assert!(path.contains("/params/"), "{}: {path}", plan.id);
                assert_ne!(
                    plan.program.at(path).expect("a parameter"),
                    &operation["value"],
                    "{}: {path}",
                    plan.id
                );
            }
        }
    }
}

#[test]
fn decoders_advance_by_a_row_each_launch_and_continue_with_the_token_picked() {
    let decoders: Vec<&Plan> = cases().iter().filter(|plan| plan.family == "execution/decode").collect();
    assert!(decoders.len() > 20);
    for plan in decoders {
        let append =
            tasks(&plan.program).iter().position(|task| task["op"] == "KV_APPEND").expect("an append");
        let start = plan.program.int(&format!("/tasks/{append}/params/pos")).expect("a position");
        for (index, launch) in plan.launches.iter().enumerate().skip(1) {
            let path = format!("/tasks/{append}/params/pos");
            let operation = json!({"op": "replace", "path": path, "value": start + index as i64});
            assert!(launch.edit.contains(&operation), "{}, launch {index}", plan.id);
            assert_eq!(launch.feeds.len(), 1, "{}, launch {index}", plan.id);
        }
    }
}

#[test]
fn forms_differ_as_they_say() {
    let find = |id: &str| &cases().iter().find(|plan| plan.id == id).expect("the case").program;
    let plain = find("execution/decode/two-layers");
    let labels = |program: &Program| -> Vec<Value> {
        tasks(program).iter().map(|task| task["label"].clone()).collect()
    };
    let reversed = find("execution/decode/two-layers-reversed");
    assert_eq!(labels(plain).into_iter().rev().collect::<Vec<_>>(), labels(reversed));
    let placed = find("execution/decode/two-layers-half-placed");
    let count = tasks(placed).iter().filter(|task| task["sm"].is_null()).count();
    assert!(count > 0 && count < tasks(placed).len());
    let paged = find("execution/decode/two-layers-paged");
    let pages = paged.len("/pages/pages").expect("pages");
    let buffers = paged.at("/pages/buffer_to_page").expect("a map").as_object().expect("a map").len();
    assert!(pages * 3 < buffers, "{buffers} buffers on {pages} pages");
}

#[test]
fn a_session_that_leaves_the_exact_numbers_is_refused() {
    let build = |value: f64| {
        session(("exact", "too-large"), "", &[], Form::Plain, 1, |l, _| {
            let x = l.input("x", DType::BF16, &[1], vec![value]);
            let y = l.output("y", DType::BF16, &[1]);
            l.add("add", x, x, y, &[]);
            l.scale("scale", y, 0.25, y, &[]);
            let z = l.output("z", DType::BF16, &[1]);
            l.add("odd", x, y, z, &[]);
            Ok(())
        })
    };
    assert!(build(128.0).is_ok());
    let error = build(255.0).expect_err("382.5 is no number of BF16");
    assert!(error.0.contains("cannot hold"), "{error}");
}
