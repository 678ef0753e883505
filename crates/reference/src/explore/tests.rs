//! The examples of `spec/execution.md` as programs, and both machines against each other.

use megakernel_ir::read;
use serde_json::{Value, json};

use super::{Compact, Explorer, FaultKind, Faults, Machine, Strength, explore};

use FaultKind::*;
use Strength::*;

/// `"op reads -> writes; c2; c0>=1 c1>=2; sm3"`: a task with its counter, waits and SM. Ops: `w` writes whole, `w0` and `w1` one row;
/// `r`, `r0`, `r1` read; `copy`, `softmax`; `append0`, `append1` and `attend0`, `attend1`; `nop`. Buffers are `x`, `y`,
/// `z` (activations of two rows) and `k` (a cache of two rows).
fn program(tasks: &[&str]) -> Value {
    const NAMES: [&str; 5] = ["x", "y", "z", "k", "o"];
    let mut buffers = vec![
        json!({"id": 0, "name": "in", "kind": "IO_INPUT", "dtype": "F32", "shape": [2, 1]}),
        json!({"id": 1, "name": "one", "kind": "CONST", "dtype": "F32", "shape": [1, 1]}),
        json!({"id": 2, "name": "x", "kind": "ACTIVATION", "dtype": "F32", "shape": [2, 1]}),
        json!({"id": 3, "name": "y", "kind": "ACTIVATION", "dtype": "F32", "shape": [2, 1]}),
        json!({"id": 4, "name": "z", "kind": "ACTIVATION", "dtype": "F32", "shape": [2, 1]}),
        json!({"id": 5, "name": "k", "kind": "KV_CACHE", "dtype": "F32", "shape": [2, 1, 1]}),
        json!({"id": 6, "name": "o", "kind": "IO_OUTPUT", "dtype": "F32", "shape": [2, 1]}),
    ];
    let mut records = Vec::new();
    let mut counters = 1;
    for (id, task) in tasks.iter().enumerate() {
        let parts: Vec<&str> = task.split(';').map(str::trim).collect();
        let words: Vec<&str> = parts[0].split_whitespace().filter(|word| *word != "->").collect();
        let named = |index: usize| 2 + NAMES.iter().position(|name| *name == words[index]).expect("a buffer");
        let (verb, row) = match words[0].strip_suffix(['0', '1']) {
            Some(verb) => (verb, words[0][verb.len()..].parse::<i64>().ok()),
            None => (words[0], None),
        };
        let (first, count) = (row.unwrap_or(0), if row.is_some() { 1 } else { 2 });
        let own = |buffers: &mut Vec<Value>, shape: Value| {
            let id = buffers.len();
            buffers.push(json!({"id": id, "name": format!("own{id}"), "kind": "ACTIVATION", "dtype": "F32", "shape": shape}));
            id
        };
        let (op, inputs, outputs, params) = match verb {
            "nop" => ("NOP", vec![], vec![], json!({})),
            "w" => (
                "GEMM_TILE",
                vec![0, 1],
                vec![named(1)],
                json!({"K": 1, "N_tile": 1, "n_off": 0, "M_tile": count, "m_off": first}),
            ),
            "r" => (
                "GEMV_TILE",
                vec![1, named(1)],
                vec![own(&mut buffers, json!([1, 2]))],
                json!({"K": 1, "N_tile": count, "n_off": first}),
            ),
            "copy" => ("COPY", vec![named(1)], vec![named(2)], json!({})),
            "softmax" => ("SOFTMAX", vec![named(1)], vec![named(2)], json!({})),
            "append" => ("KV_APPEND", vec![1, 5], vec![5], json!({"pos": first})),
            "attend" => (
                "ATTENTION_TILE",
                vec![1, 5, 5],
                vec![own(&mut buffers, json!([1]))],
                json!({"head_dim": 1, "kv_start": first, "kv_len": count, "scale": 1.0, "n_heads": 1, "n_kv_heads": 1}),
            ),
            other => unreachable!("no verb {other}"),
        };
        let number = |text: &str| text.parse::<usize>().expect("a number");
        let out = number(&parts[1][1..]);
        counters = counters.max(out + 1);
        let mut waits = Vec::new();
        for wait in parts.get(2).unwrap_or(&"").split_whitespace() {
            let (counter, threshold) = wait[1..].split_once(">=").expect("a wait");
            counters = counters.max(number(counter) + 1);
            waits.push(json!({"counter": number(counter), "threshold": number(threshold)}));
        }
        let sm = parts.get(3).map(|sm| number(&sm[2..]));
        records.push(json!({"id": id, "op": op, "inputs": inputs, "outputs": outputs, "out_counter": out, "waits": waits, "params": params, "sm": sm}));
    }
    let counters: Vec<Value> = (0..counters).map(|id| json!({"id": id})).collect();
    json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers, "counters": counters, "tasks": records})
}

/// The program with these buffers on one page of so many bytes.
fn paged(mut program: Value, buffers: &[usize], nbytes: usize) -> Value {
    let map: serde_json::Map<_, _> = buffers.iter().map(|buffer| (buffer.to_string(), json!(0))).collect();
    program["pages"] = json!({"buffer_to_page": map, "pages": [{"id": 0, "space": "HBM", "nbytes": nbytes}]});
    program
}

/// Explores, and takes the general machine through every run that the explorer gives as evidence.
fn faults_of(program: &Value) -> Faults {
    let text = program.to_string();
    let program = read(text.as_bytes()).expect("it reads");
    let mut explorer = Explorer::new();
    let faults = explorer.explore(&Compact::new(&program).expect("it fits"));
    for (kind, strength) in faults.iter() {
        let run = explorer.run(kind, strength).expect("a run");
        let mut machine = Machine::new(&program);
        let mut seen = Vec::new();
        for event in run.events() {
            let stepped = machine.step(event);
            assert!(stepped.is_ok(), "{event:?}: {stepped:?} in {text}");
            seen = stepped.unwrap_or_default();
        }
        if kind == Deadlock {
            for task in machine.tasks() {
                let _ = machine.step(megakernel_ir::diagnostic::Event::Finish(task));
            }
            seen = machine.deadlock().into_iter().collect();
        } else if !seen.iter().any(|fault| fault.kind == kind) {
            seen = machine.host_reads();
        }
        // Of a clobbered page, the machine knows its own run only, the explorer that without queues any order can come.
        let alike = |fault: &super::Fault| {
            fault.kind == kind && (fault.strength == strength || kind == PageViolation)
        };
        assert!(seen.iter().any(alike), "{kind} {strength:?}: the machine finds {seen:?} in {text}");
    }
    faults
}

fn assert_faults(program: &Value, expected: &[(FaultKind, Strength)]) {
    let faults = faults_of(program);
    assert_eq!(faults.iter().collect::<Vec<_>>(), expected, "{program}");
}

#[test]
fn ordered_programs_have_no_fault() {
    assert_faults(&program(&["w x; c0", "r x; c1; c0>=1"]), &[]);
    assert_faults(&program(&["w0 x; c0", "w1 x; c0", "copy x -> y; c1; c0>=2", "w x; c2; c1>=1"]), &[]);
    assert_faults(&program(&["append0 k; c0", "attend0 k; c1; c0>=1", "append1 k; c2"]), &[]);
}

#[test]
fn queues_block_each_other() {
    let ring = ["nop; c0; c3>=1; sm0", "nop; c1; ; sm0", "nop; c2; c1>=1; sm1", "nop; c3; ; sm1"];
    assert_faults(&program(&ring), &[(Deadlock, Shows)]);
    let straight = ["nop; c0; ; sm0", "nop; c1; ; sm0", "nop; c2; c1>=1; sm1", "nop; c3; ; sm1"];
    assert_faults(&program(&straight), &[]);
    assert_faults(&program(&["nop; c0; c0>=1"]), &[(Deadlock, Shows)]);
    assert_faults(&program(&["nop; c0", "nop; c1; c0>=2"]), &[(Deadlock, Shows)]);
}

#[test]
fn a_partial_wait_is_satisfied_by_any_producer() {
    let tasks = ["w x; c0", "w y; c0", "r x; c1; c0>=1"];
    assert_faults(&program(&tasks), &[(ReadWriteRace, Shows), (UnwrittenRead, Shows)]);
    // The producer that came later was not acquired from, even if it has finished when the reader's successor starts.
    let tasks = ["w x; c0", "w y; c0", "nop; c1; c0>=1", "r x; c2; c1>=1"];
    let faults = faults_of(&program(&tasks));
    assert!(faults.has(ReadWriteRace, Latent) || faults.has(ReadWriteRace, Shows));
    // Whoever reads neither is safe.
    assert_faults(&program(&["w x; c0", "w y; c0", "w z; c1; c0>=1"]), &[]);
}

#[test]
fn tiles_race_where_they_overlap() {
    assert_faults(&program(&["w0 x; c0", "w1 x; c1"]), &[]);
    assert_faults(&program(&["w0 x; c0", "w x; c1"]), &[(WriteWriteRace, Shows)]);
    assert_faults(&program(&["w0 x; c0", "r x; c1; c0>=1"]), &[(UnwrittenRead, Shows)]);
    assert_faults(&program(&["w x; c0", "r x; c1; c0>=1", "w x; c2; c0>=1"]), &[(ReadWriteRace, Shows)]);
}

#[test]
fn a_queue_hides_what_no_counter_orders() {
    let tasks = ["w x; c0; ; sm0", "r x; c1; ; sm0"];
    assert_faults(&program(&tasks), &[(ReadWriteRace, Latent), (UnwrittenRead, Latent)]);
    let tasks = ["w x; c0; ; sm0", "r x; c1; ; sm1"];
    assert_faults(&program(&tasks), &[(ReadWriteRace, Shows), (UnwrittenRead, Shows)]);
    assert_faults(&program(&["w x; c0; ; sm0", "w x; c1; ; sm0"]), &[(WriteWriteRace, Latent)]);
}

#[test]
fn caches_remember_earlier_launches() {
    assert_faults(&program(&["attend k; c0"]), &[]);
    assert_faults(&program(&["attend0 k; c0", "append0 k; c1"]), &[(ReadWriteRace, Shows)]);
    assert_faults(&program(&["attend0 k; c0", "append0 k; c1; c0>=1"]), &[(StaleRead, Shows)]);
    assert_faults(&program(&["attend0 k; c0", "append1 k; c1; c0>=1"]), &[]);
    let again = ["append0 k; c0", "attend0 k; c1; c0>=1", "append0 k; c2; c1>=1"];
    assert_faults(&program(&again), &[]);
}

#[test]
fn buffers_on_one_page_clobber_each_other() {
    let ordered = ["w x; c0", "r x; c1; c0>=1", "w y; c2; c1>=1", "r y; c3; c2>=1"];
    assert_faults(&paged(program(&ordered), &[2, 3], 8), &[]);
    let early = ["w x; c0", "r x; c1; c0>=1", "w y; c2; c0>=1", "r y; c3; c2>=1"];
    assert_faults(&paged(program(&early), &[2, 3], 8), &[(PageViolation, Shows)]);
    assert_faults(&program(&early), &[]);
    // The first value is read again after the second has replaced it.
    let back = ["w x; c0", "w y; c1; c0>=1", "r x; c2; c1>=1"];
    assert_faults(&paged(program(&back), &[2, 3], 8), &[(PageViolation, Shows)]);
    // Different rows never meet, and a page may go back and forth.
    let apart = ["w0 x; c0", "w1 y; c1", "r0 x; c2; c0>=1", "r1 y; c3; c1>=1"];
    assert_faults(&paged(program(&apart), &[2, 3], 8), &[]);
    let turns = ["w x; c0", "r x; c1; c0>=1", "w y; c2; c1>=1", "w x; c3; c2>=1", "r x; c4; c3>=1"];
    assert_faults(&paged(program(&turns), &[2, 3], 8), &[]);
    // In step or not.
    let chain =
        |op| [String::from("w x; c0"), format!("{op} x -> y; c1; c0>=1"), String::from("r y; c2; c1>=1")];
    let chain = |op| paged(program(&chain(op).each_ref().map(String::as_str)), &[2, 3], 8);
    assert_faults(&chain("copy"), &[]);
    assert_faults(&chain("softmax"), &[(PageViolation, Shows)]);
    // A queue keeps the clobber away, until somebody moves a task.
    let kept = ["w x; c0; ; sm0", "r x; c1; c0>=1; sm0", "w y; c2; ; sm0", "r y; c3; c2>=1; sm0"];
    assert_faults(&paged(program(&kept), &[2, 3], 8), &[(PageViolation, Latent)]);
}

#[test]
fn storage_that_is_not_there_is_no_storage() {
    let tasks = ["w x; c0", "r x; c1; c0>=1"];
    assert_faults(&paged(program(&tasks), &[2], 8), &[]);
    assert_faults(&paged(program(&tasks), &[2], 7), &[(PageViolation, Shows)]);
    assert_faults(&paged(program(&["w0 x; c0"]), &[2], 4), &[]);
    let mut missing = paged(program(&tasks), &[2], 8);
    missing["pages"]["buffer_to_page"]["2"] = json!(1);
    assert_faults(&missing, &[(PageViolation, Shows)]);
    let mut elsewhere = paged(program(&tasks), &[2], 8);
    elsewhere["pages"]["pages"][0]["space"] = json!("SMEM");
    assert_faults(&elsewhere, &[(PageViolation, Shows)]);
    // An output on a page is gone when the host comes for it; a cache on a page has forgotten.
    assert_faults(&paged(program(&["w o; c0", "w y; c1; c0>=1"]), &[3, 6], 8), &[(PageViolation, Shows)]);
    assert_faults(&paged(program(&["attend k; c0"]), &[5], 8), &[(UnwrittenRead, Shows)]);
}

#[test]
fn on_chip_buffers_belong_to_one_sm() {
    let on_chip = |tasks: &[&str]| {
        let mut program = program(tasks);
        program["buffers"][2]["space"] = json!("SMEM");
        program
    };
    assert_faults(&on_chip(&["w x; c0; ; sm0", "r x; c1; c0>=1; sm0"]), &[]);
    assert_faults(&on_chip(&["w x; c0; ; sm0", "r x; c1; c0>=1; sm1"]), &[(UnwrittenRead, Shows)]);
}

#[test]
fn queues_that_no_sm_takes_up_block_for_ever() {
    let mut program = program(&["nop; c0; ; sm1"]);
    assert_faults(&program, &[]);
    program["target"] = json!({"name": "t", "sm_arch": 80, "num_sms": 1, "smem_bytes_per_sm": 1, "smem_bytes_per_block_optin": 1, "regs_per_sm": 1, "max_threads_per_sm": 1, "max_regs_per_thread": 1, "l2_bytes": 1, "hbm_bytes": 1, "hbm_bandwidth_gbs": 1.0, "fp16_tflops": 1.0});
    assert_faults(&program, &[(Deadlock, Shows)]);
}

#[test]
fn programs_that_do_not_fit_are_refused() {
    let tasks = ["nop; c0"; 9];
    let text = program(&tasks).to_string();
    assert!(explore(&read(text.as_bytes()).expect("it reads")).is_err());
}
