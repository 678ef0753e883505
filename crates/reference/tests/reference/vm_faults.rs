//! The faults that the VM finds by itself, each in the smallest program that has it: which one, where, and in which words.

#![allow(clippy::panic)]

use megakernel_ir::TaskId;
use megakernel_ir::model::Program;
use megakernel_ir::read;
use megakernel_reference::vm::{Fault, Habit, Loaded, Schedule};
use serde_json::{Value, json};

/// Buffers `in` and `w` (inputs), `x` and `y` (activations), `k` (a cache), `out`; each of two rows of one.
fn program(tasks: Value) -> Value {
    let buffer = |id: usize, name: &str, kind: &str, shape: Value| json!({"id": id, "name": name, "kind": kind, "dtype": "F32", "shape": shape});
    let tasks: Vec<Value> = tasks
        .as_array()
        .expect("a list")
        .iter()
        .enumerate()
        .map(|(id, task)| {
            let mut task = task.clone();
            task["id"] = json!(id);
            task.as_object_mut().expect("an object").entry("out_counter").or_insert(json!(id));
            task
        })
        .collect();
    json!({"ir_version": "0.2.0", "abi_version": "0.2",
        "buffers": [buffer(0, "in", "IO_INPUT", json!([2, 1])), buffer(1, "x", "ACTIVATION", json!([2, 1])),
                    buffer(2, "y", "ACTIVATION", json!([2, 1])), buffer(3, "out", "IO_OUTPUT", json!([2, 1]))],
        "counters": (0..8).map(|id| json!({"id": id})).collect::<Vec<_>>(), "tasks": tasks})
}

fn copy(from: usize, to: usize) -> Value {
    json!({"op": "COPY", "inputs": [from], "outputs": [to]})
}

fn waiting(mut task: Value, waits: &[(usize, usize)]) -> Value {
    task["waits"] = waits
        .iter()
        .map(|(counter, threshold)| json!({"counter": counter, "threshold": threshold}))
        .collect();
    task
}

/// The fault of a program under list order, and what it says.
fn fault(document: &Value) -> (Fault, String) {
    let text = document.to_string();
    let program: Program<'_> = read(text.as_bytes()).expect("a program");
    assert!(Loaded::load(&program).is_err(), "the rules reject it");
    let loaded = Loaded::load_unchecked(&program).expect("no S rule is broken");
    let fault = loaded.rehearse(Schedule::default()).expect_err("it goes wrong");
    let words = format!("{} at {}", fault.explain(&program), fault.pointer());
    (fault, words)
}

#[test]
fn a_deadlock_names_the_stuck_tasks_and_what_each_waits_for() {
    let mut document = program(json!([
        waiting(copy(0, 1), &[(1, 1)]),
        waiting(copy(1, 3), &[(0, 1)]),
        {"op": "NOP", "inputs": [], "outputs": [], "sm": 0, "waits": [{"counter": 7, "threshold": 1}]},
        {"op": "NOP", "inputs": [], "outputs": [], "sm": 0},
        {"op": "NOP", "inputs": [], "outputs": []}
    ]));
    let (_, words) = fault(&document);
    assert_eq!(
        words,
        "deadlock: nothing runs, nothing can start, 4 tasks are unfinished; \
         task 0 (COPY) waits for counter 1 to reach 1; it is 0, which one unfinished task would increment; \
         task 1 (COPY) waits for counter 0 to reach 1; it is 0, which one unfinished task would increment; \
         task 2 (NOP) waits for counter 7 to reach 1; it is 0, and no task is left to increment it; \
         task 3 (NOP) stands behind task 2 (NOP) in the queue of SM 0 at /tasks/0/waits/0"
    );
    document["tasks"][2]["waits"] = json!([]);
    document["tasks"][0]["waits"] = json!([]);
    document["tasks"][1]["waits"][0]["threshold"] = json!(2);
    assert!(
        fault(&document)
            .1
            .contains("task 1 (COPY) waits for counter 0 to reach 2; it is 1, and no task is left")
    );
}

#[test]
fn races_are_found_whichever_task_comes_first() {
    let (_, words) = fault(&program(json!([copy(0, 3), copy(0, 3)])));
    assert_eq!(
        words,
        "unordered: task 1 (COPY) writes buffer 3 `out` and task 0 (COPY) writes buffer 3 `out` access [0:2, 0:1] of it, \
         and no counter orders them at /tasks/1/outputs/0"
    );
    // Read and write, in both orders; the queue keeps them apart, and still no counter orders them.
    for order in [[copy(0, 1), copy(1, 3), copy(0, 1)], [copy(0, 1), copy(0, 1), copy(1, 3)]] {
        let [first, second, third] = order;
        let mut document = program(json!([first, waiting(second, &[(0, 1)]), waiting(third, &[(0, 1)])]));
        for task in 1..3 {
            document["tasks"][task]["sm"] = json!(0);
        }
        assert!(matches!(fault(&document).0, Fault::Unordered { .. }));
    }
}

#[test]
fn a_writer_has_to_wait_for_every_reader() {
    // Two readers that nothing orders, and a writer that waits for the second.
    let tasks = |waits: &[(usize, usize)]| {
        let reader = |to| waiting(copy(1, to), &[(0, 1)]);
        program(json!([copy(0, 1), reader(2), reader(3), waiting(copy(0, 1), waits)]))
    };
    let (found, _) = fault(&tasks(&[(2, 1)]));
    let Fault::Unordered { first, second, .. } = found else { panic!("{found:?}") };
    assert_eq!((first.task, second.task), (TaskId::from(1), TaskId::from(3)));
    let text = tasks(&[(1, 1), (2, 1)]).to_string();
    let program = read(text.as_bytes()).expect("a program");
    assert!(Loaded::load(&program).expect("accepted").rehearse(Schedule::default()).is_ok());
}

#[test]
fn a_partial_wait_is_a_race_in_the_orders_that_show_it() {
    let mut document = program(json!([copy(0, 1), copy(0, 2), waiting(copy(1, 3), &[(0, 1)])]));
    document["tasks"][1]["out_counter"] = json!(0);
    let text = document.to_string();
    let program = read(text.as_bytes()).expect("a program");
    let loaded = Loaded::load_unchecked(&program).expect("no S rule is broken");
    assert!(loaded.rehearse(Schedule::default()).is_ok(), "in list order, the right producer comes first");
    let fault = loaded.rehearse(Schedule::new(Habit::Backwards, 0)).expect_err("backwards it does not");
    assert_eq!((fault.name(), fault.pointer().as_str()), ("unwritten", "/tasks/2/inputs/0"));
}

#[test]
fn what_nobody_wrote_is_found_to_the_element() {
    let half = json!({"op": "GEMM_TILE", "inputs": [0, 4], "outputs": [1],
        "params": {"K": 1, "N_tile": 1, "n_off": 0, "M_tile": 1, "m_off": 1}});
    let mut document = program(json!([half, waiting(copy(1, 3), &[(0, 1)])]));
    let weight = json!({"id": 4, "name": "w", "kind": "WEIGHT", "dtype": "F32", "shape": [1, 1]});
    document["buffers"].as_array_mut().expect("a list").push(weight);
    let (_, words) = fault(&document);
    assert_eq!(
        words,
        "unwritten: task 1 (COPY) reads buffer 1 `x`, but nobody has written [0:1, 0:1] of it at /tasks/1/inputs/0"
    );
    document["tasks"][0]["outputs"] = json!([3]);
    document["tasks"][1] = json!({"id": 1, "op": "NOP", "inputs": [], "outputs": [], "out_counter": 1});
    let (_, words) = fault(&document);
    assert_eq!(
        words,
        "unfilled: the launch is over, and nobody has written [0:1, 0:1] of buffer 3 `out` at /buffers/3"
    );
}

#[test]
fn a_page_that_two_buffers_use_at_once_is_found() {
    let tasks = json!([copy(0, 1), waiting(copy(0, 2), &[(0, 1)]), waiting(copy(1, 3), &[(1, 1)])]);
    let mut document = program(tasks);
    document["pages"] =
        json!({"buffer_to_page": {"1": 0, "2": 0}, "pages": [{"id": 0, "space": "HBM", "nbytes": 8}]});
    assert_eq!(
        fault(&document).1,
        "clobbered: task 2 (COPY) reads buffer 1 `x`, but task 1 (COPY) writes buffer 2 `y` on the same page, over bytes \
         [0:8] at /tasks/2/inputs/0"
    );
    document["pages"]["pages"][0]["nbytes"] = json!(7);
    assert_eq!(
        fault(&document).1,
        "no storage: task 0 (COPY) writes buffer 1 `x`, which would need a page of 8 bytes; its page has 7 at \
         /tasks/0/outputs/0"
    );
    document["pages"]["pages"][0] = json!({"id": 0, "space": "SMEM", "nbytes": 8});
    assert!(fault(&document).1.contains("is mapped to a page of another space"));
    document["pages"]["pages"][0] = json!({"id": 0, "space": "HBM", "nbytes": 8});
    document["tasks"][1]["op"] = json!("SOFTMAX");
    document["tasks"][1]["inputs"] = json!([1]);
    assert!(
        fault(&document)
            .1
            .starts_with("overwrites: task 1 (SOFTMAX) reads buffer 1 `x` and writes buffer 2 `y`")
    );
    document["tasks"][1]["op"] = json!("GELU");
    document["tasks"][2]["inputs"] = json!([2]);
    let text = document.to_string();
    let program = read(text.as_bytes()).expect("a program");
    assert!(Loaded::load(&program).expect("in place is allowed").rehearse(Schedule::default()).is_ok());
}

#[test]
fn on_chip_storage_is_hidden_from_another_sm() {
    let mut document = program(json!([copy(0, 1), waiting(copy(1, 3), &[(0, 1)])]));
    document["buffers"][1]["space"] = json!("SMEM");
    document["tasks"][0]["sm"] = json!(0);
    document["tasks"][1]["sm"] = json!(1);
    assert_eq!(
        fault(&document).1,
        "hidden: task 1 (COPY) reads buffer 1 `x` on SM 1, but task 0 (COPY) writes buffer 1 `x` on SM 0, and the buffer \
         is on chip at /tasks/1/inputs/0"
    );
}
