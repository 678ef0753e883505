//! What of a program a task graph keeps.

use std::collections::BTreeMap;

use megakernel_ir::model::{Program, Task};
use megakernel_ir::read;
use megakernel_task_graph::{EVENT_INVALID, TaskGraph, read_task_graph};
use serde_json::{Value, json};

use super::graphs::{decoder, imported, translate};
use crate::bridge::{Options, export};

/// A program of NOPs with these waits; each task has its own counter unless one is given.
fn program(tasks: &[(&[usize], usize)]) -> String {
    let producers = |counter: usize| tasks.iter().filter(|(_, out)| *out == counter).count();
    let listed: Vec<Value> = tasks
        .iter()
        .enumerate()
        .map(|(id, (waits, out))| {
            let waits: Vec<Value> = waits
                .iter()
                .map(|&counter| json!({"counter": counter, "threshold": producers(counter)}))
                .collect();
            json!({"id": id, "op": "NOP", "inputs": [], "outputs": [], "out_counter": out, "waits": waits})
        })
        .collect();
    let counters: Vec<Value> = (0..tasks.len()).map(|id| json!({"id": id})).collect();
    json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": [], "counters": counters, "tasks": listed})
        .to_string()
}

/// Which task of the program each task of the graph is: those that are no relays, in order of the program. Tasks are told
/// apart by what they write, or in a program of NOPs by nothing: then their order is kept within a group.
fn closure(edges: &[Vec<usize>]) -> Vec<Vec<bool>> {
    let count = edges.len();
    let mut before = vec![vec![false; count]; count];
    for (from, list) in edges.iter().enumerate() {
        for &to in list {
            before[from][to] = true;
        }
    }
    for middle in 0..count {
        for from in 0..count {
            if before[from][middle] {
                let later = before[middle].clone();
                before[from].iter_mut().zip(later).for_each(|(slot, more)| *slot |= more);
            }
        }
    }
    before
}

fn program_order(program: &Program<'_>) -> Vec<Vec<bool>> {
    let edges: Vec<Vec<usize>> = program
        .tasks
        .iter()
        .map(|task| {
            let waits = |later: &Task<'_>| later.waits.iter().any(|wait| wait.counter == task.out_counter);
            program.tasks.iter().enumerate().filter(|(_, later)| waits(later)).map(|(id, _)| id).collect()
        })
        .collect();
    closure(&edges)
}

fn graph_order(graph: &TaskGraph<'_>) -> Vec<Vec<bool>> {
    let edges: Vec<Vec<usize>> = graph
        .all_tasks
        .iter()
        .map(|task| {
            let waits = |id: &usize| graph.all_tasks[*id].dependent_event == task.trigger_event;
            (2..graph.all_tasks.len()).filter(waits).collect()
        })
        .collect();
    closure(&edges)
}

/// The rules of the format that every export keeps.
fn assert_well_formed(graph: &TaskGraph<'_>) {
    let tasks = graph.all_tasks.len();
    assert_eq!((graph.all_events[1].first_task_id, graph.all_events[1].last_task_id), (2, tasks as i64));
    let first: Vec<i64> = (2..tasks)
        .filter(|&id| graph.all_tasks[id].dependent_event == EVENT_INVALID)
        .map(|id| id as i64)
        .collect();
    assert_eq!(graph.first_tasks, first);
    for (position, event) in graph.all_events.iter().enumerate().skip(2) {
        let of = |event: i64| event == position as i64;
        let dependents: Vec<i64> =
            (0..tasks).filter(|&id| of(graph.all_tasks[id].dependent_event)).map(|id| id as i64).collect();
        let range: Vec<i64> = (event.first_task_id..event.last_task_id).collect();
        assert_eq!(dependents, range, "event {position}");
        let triggers: Vec<usize> = (0..tasks).filter(|&id| of(graph.all_tasks[id].trigger_event)).collect();
        assert_eq!(triggers.len() as i64, event.num_triggers, "event {position}");
        let ascends = triggers.iter().all(|&id| dependents.iter().all(|&later| (id as i64) < later));
        assert!(ascends, "event {position}: {triggers:?} before {dependents:?}");
    }
}

#[test]
fn tasks_that_wait_for_several_counters_get_relays() {
    // 2 waits for 0 and 1; 3 waits for 0, which 2 implies.
    let text = program(&[(&[], 0), (&[], 1), (&[0, 1], 2), (&[0, 2], 3)]);
    let program = read(text.as_bytes()).expect("a program");
    let text = export(&program).expect("no refusal");
    let graph = read_task_graph(text.as_bytes()).expect("a graph");
    assert_well_formed(&graph);
    assert!(crate::validate(text.as_bytes()).accepts());
    assert_eq!(graph.all_tasks.len(), 2 + 4 + 2);
    let before = graph_order(&graph);
    // 0 and 1, the two relays, then 2 and 3.
    assert!(before[2][6] && before[3][6] && before[6][7] && !before[2][3] && before[2][4] != before[3][4]);
}

#[test]
fn happens_before_is_the_same() {
    for embeds in [1, 4] {
        let kernel = decoder(950, embeds);
        let found = imported(&translate(&kernel), &kernel, &Options::default()).expect("a program");
        let program = read(found.program.as_bytes()).expect("a program");
        let text = export(&program).expect("no refusal");
        let graph = read_task_graph(text.as_bytes()).expect("a graph");
        assert_well_formed(&graph);
        assert_eq!(graph.all_tasks.len(), program.tasks.len() + 2, "no task waits twice");
        let verdict = crate::validate(text.as_bytes());
        assert!(verdict.accepts(), "{:#?}", verdict.diagnostics);
    }
    // All programs of four tasks in which each waits for some of those before.
    for choice in 0..(1u32 << 6) {
        let waits = |task: usize| -> Vec<usize> {
            (0..task).filter(|&earlier| choice >> (task * (task - 1) / 2 + earlier) & 1 == 1).collect()
        };
        let all: Vec<Vec<usize>> = (0..4).map(waits).collect();
        let tasks: Vec<(&[usize], usize)> =
            all.iter().enumerate().map(|(id, waits)| (&waits[..], id)).collect();
        let text = program(&tasks);
        let program = read(text.as_bytes()).expect("a program");
        let exported = export(&program).expect("no refusal");
        let graph = read_task_graph(exported.as_bytes()).expect("a graph");
        assert_well_formed(&graph);
        // How many tasks come before how many: NOPs have no names.
        let degrees = |before: &[Vec<bool>], ids: &[usize]| {
            let mut found: BTreeMap<(usize, usize), usize> = BTreeMap::new();
            for &id in ids {
                let after = ids.iter().filter(|&&other| before[id][other]).count();
                let earlier = ids.iter().filter(|&&other| before[other][id]).count();
                *found.entry((earlier, after)).or_default() += 1;
            }
            found
        };
        let here = degrees(&program_order(&program), &[0, 1, 2, 3]);
        // A relay is a NOP that triggers an event whose triggers all are relays of one join: it has no twin in the program.
        let before = graph_order(&graph);
        let ids: Vec<usize> = (2..graph.all_tasks.len()).collect();
        let relays = graph.all_tasks.len() - 2 - 4;
        let joins = relays_of(&graph, relays);
        let kept: Vec<usize> = ids.into_iter().filter(|id| !joins.contains(id)).collect();
        assert_eq!(degrees(&before, &kept), here, "choice {choice:b}");
    }
}

/// The relays of a graph of NOPs in which each task of the program has a counter of its own: the tasks that share the event
/// that they trigger, other than the end.
fn relays_of(graph: &TaskGraph<'_>, count: usize) -> Vec<usize> {
    let end = graph.all_events.len() as i64 - 1;
    let shares = |id: &usize| {
        let trigger = graph.all_tasks[*id].trigger_event;
        trigger != end && graph.all_events[trigger as usize].num_triggers > 1
    };
    let found: Vec<usize> = (2..graph.all_tasks.len()).filter(shares).collect();
    assert_eq!(found.len(), count);
    found
}

#[test]
fn tiles_are_the_footprints() {
    let kernel = decoder(950, 1);
    let found = imported(&translate(&kernel), &kernel, &Options::default()).expect("a program");
    let program = read(found.program.as_bytes()).expect("a program");
    let text = export(&program).expect("a graph");
    let graph = read_task_graph(text.as_bytes()).expect("a graph");
    let logits = graph
        .all_tasks
        .iter()
        .filter(|task| task.outputs().iter().any(|tile| &*tile.base_ptr == "argmax_in"));
    let offsets: Vec<(i64, i64)> = logits.map(|task| (task.task_type, task.outputs()[0].offset)).collect();
    assert_eq!(offsets, [(120, 0), (120, 32), (120, 64), (120, 96), (120, 128), (120, 160)]);
    let append = graph.all_tasks.iter().find(|task| task.task_type == 1016).expect("an append");
    assert!(append.inputs()[1].is_null(), "the cache is not read");
    let types: Vec<i64> = graph.all_tasks.iter().map(|task| task.task_type).collect();
    for task_type in [101, 108, 109, 119, 120, 1000, 1001, 1007, 1008, 1009, 1016] {
        assert!(types.contains(&task_type), "{task_type}");
    }
}

#[test]
fn what_the_format_has_no_room_for_is_refused() {
    let refused = |text: &str, pointer: &str, reason: &str| {
        let program = read(text.as_bytes()).expect("a program");
        let found = export(&program).expect_err("refused");
        assert!(
            found.iter().any(|found| found.pointer == pointer && found.reason.contains(reason)),
            "{found:#?}"
        );
    };
    let mut partial: Value =
        serde_json::from_str(&program(&[(&[], 0), (&[], 0), (&[0], 2), (&[0], 3)])).expect("JSON");
    partial["tasks"][3]["waits"][0]["threshold"] = json!(1);
    refused(&partial.to_string(), "/tasks/3/waits/0", "one threshold");
    refused(&program(&[(&[1], 0), (&[0], 1)]), "/tasks", "cycle");
    refused(&program(&[]), "/tasks", "no task");
    let mut shard: Value = serde_json::from_str(&program(&[(&[], 0)])).expect("JSON");
    shard["buffers"] = json!([{"id": 0, "name": "x", "kind": "IO_INPUT", "dtype": "F32", "shape": [2]},
                              {"id": 1, "name": "y", "kind": "IO_OUTPUT", "dtype": "F32", "shape": [2]}]);
    shard["tasks"][0] = json!({"id": 0, "op": "ALLREDUCE_SHARD", "inputs": [0, 0, 0, 0, 0, 0, 0, 0], "outputs": [1],
                               "out_counter": 0});
    refused(&shard.to_string(), "/tasks/0/inputs", "8 inputs");
}
