//! Programs of algorithms: accepted under every profile, with the bits of `simulate` in every order, and stuck where the algorithm is.

use std::collections::BTreeMap;

use megakernel_collectives::{Algorithm, read_algorithm, read_launch};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::{Rule, read};
use megakernel_numerics::{DType, Tensor};
use megakernel_reference::validate::{Classes, validate};
use megakernel_reference::vm::{Loaded, Schedule, Session, Settings};
use serde_json::{Value, json};

use super::{Order, lower, piece};
use crate::algorithms::{ALGORITHMS, Setting, named};
use crate::answer::{judged, matched};
use crate::run::least_capacity;
use crate::simulate::simulate;

const ORDERS: [Order; 2] = [Order::Queues, Order::Counters];

/// Finite numbers whose sums depend on the order.
fn tiles(elements: usize, n_elem: i64, seed: u64) -> Vec<Vec<i64>> {
    let mut draws = SplitMix64::new(seed);
    let mut number = || (draws.below(2) << 15 | (15 + draws.below(11)) << 10 | draws.below(1024)) as i64;
    (0..elements).map(|_| (0..n_elem).map(|_| number()).collect()).collect()
}

/// Runs the program of an algorithm in some order of steps, on some tiles.
fn run(algorithm: &Algorithm, text: &str, length: u64, tiles: &[Vec<i64>], seed: u64) -> Vec<Vec<u32>> {
    let program = read(text.as_bytes()).expect("a program");
    let length = usize::try_from(length).expect("a small piece");
    let mut tensors = BTreeMap::new();
    for (element, tile) in tiles.iter().enumerate() {
        for (at, numbers) in tile.chunks(length).enumerate() {
            let bytes = numbers
                .iter()
                .flat_map(|&bits| u16::try_from(bits).expect("16 bits").to_le_bytes())
                .collect();
            let tensor = Tensor::new(DType::F16, vec![numbers.len() as u64], bytes).expect("a tensor");
            tensors.insert(format!("tile.{element}.{at}"), tensor);
        }
    }
    let loaded = Loaded::load(&program).expect("it breaks no rule");
    let settings = Settings { schedule: Schedule::seeded(seed), ..Settings::default() };
    let finished = Session::new().launch(&loaded, &tensors, &settings).expect("it comes to its end");
    let pieces = usize::try_from(algorithm.n_elem).expect("a small tile") / length;
    let end = |element: usize| {
        let output =
            |at| finished.output(&format!("end.{element}.{at}")).expect("an output").tensor.elements();
        (0..pieces).flat_map(output).collect()
    };
    (0..tiles.len()).map(end).collect()
}

/// Rules that the program breaks, of all classes, warnings included.
fn found(text: &str) -> Vec<Rule> {
    validate(text.as_bytes(), Classes::ALL).diagnostics.iter().map(|found| found.rule).collect()
}

fn compare(document: &Value) {
    let algorithm = read_algorithm(document).expect("an algorithm");
    let (program, _) = judged(&algorithm, false).expect("it is right");
    let tiles = tiles(program.lines.len(), algorithm.n_elem, 7);
    let expected = simulate(&program, &tiles);
    for order in ORDERS {
        let text = lower(&algorithm, &program, order).expect("a program").to_string();
        assert_eq!(found(&text), [], "{order:?}: {document}");
        for seed in 0..3 {
            let end = run(&algorithm, &text, piece(&algorithm, &program), &tiles, seed);
            assert_eq!(end, expected, "{order:?}, seed {seed}: {document}");
        }
    }
}

#[test]
fn programs_of_all_algorithms_have_the_bits_of_simulate() {
    let topologies = [
        json!({"kind": "ring_1d", "ranks": 4, "cube_w": 1, "cube_h": 1, "capacity": 1}),
        json!({"kind": "ring_1d", "ranks": 3, "cube_w": 2, "cube_h": 1, "capacity": 2}),
        json!({"kind": "torus_2d", "ranks": 6, "w": 3, "h": 2, "cube_w": 1, "cube_h": 1}),
        json!({"kind": "mesh_2d_no_wrap", "ranks": 3, "w": 1, "h": 3, "cube_w": 1, "cube_h": 1, "capacity": 1}),
    ];
    let mut runs = vec![0; ALGORITHMS.len()];
    for (number, topology) in topologies.iter().enumerate() {
        for (algorithm, runs) in ALGORITHMS.iter().zip(&mut runs) {
            let n_elem = [8, 5, 3, 1][number];
            let bits = if algorithm.identical { "identical" } else { "per_element" };
            let collective = json!({"kind": algorithm.kind.name(), "bits": bits});
            let request = json!({"topology": topology, "n_elem": n_elem, "collective": collective});
            let read = read_launch(&request).expect("a launch request");
            let setting = Setting::new(&read.topology, n_elem, read.collective);
            if algorithm.serves(&setting) {
                compare(&algorithm.document(&setting, topology, &collective));
                *runs += 1;
            }
        }
    }
    assert!(runs.iter().all(|&runs| runs > 0), "{runs:?}");
}

#[test]
fn a_wide_accumulator_is_a_buffer_of_binary32() {
    let document = json!({
        "topology": {"kind": "ring_1d", "ranks": 2, "cube_w": 1, "cube_h": 1}, "n_elem": 3, "scratch": 3,
        "collective": {"kind": "all_reduce"}, "logs": [{"elements": [[0, 1, 1]], "ops": [
            {"op": "load", "to": "a", "at": 0, "n": 3}, {"op": "cast", "to": "w", "of": "a", "dtype": "f32"},
            {"op": "send", "of": "w", "dir": "global_E"}, {"op": "store", "of": "a", "at": 3},
            {"op": "recv", "to": "b", "dir": "global_W", "n": 3, "dtype": "f32"},
            {"op": "add", "to": "s", "a": "w", "b": "b"}, {"op": "cast", "to": "s", "of": "s", "dtype": "f16"},
            {"op": "store", "of": "s", "at": 0}]}]});
    compare(&document);
}

/// `pieces` messages to the east before the first one is received, on a ring: `pieces` slots are enough, and no fewer.
fn in_flight(ranks: i64, pieces: i64, capacity: i64) -> Value {
    let name = |piece: i64| format!("p{piece}");
    let block = |step: i64, piece: i64| json!({"of": {"rank": 1}, "add": -step, "mod": ranks, "times": pieces, "plus": piece});
    let mut ops: Vec<Value> = (0..pieces)
        .map(|piece| json!({"op": "load", "to": name(piece), "at": block(0, piece), "n": 1}))
        .collect();
    for step in 1..ranks {
        ops.extend((0..pieces).map(|piece| json!({"op": "send", "of": name(piece), "dir": "global_E"})));
        for piece in 0..pieces {
            ops.push(json!({"op": "recv", "to": name(piece), "dir": "global_W", "n": 1}));
            ops.push(json!({"op": "store", "of": name(piece), "at": block(step, piece)}));
        }
    }
    json!({"topology": {"kind": "ring_1d", "ranks": ranks, "cube_w": 1, "cube_h": 1, "capacity": capacity},
           "n_elem": ranks * pieces, "collective": {"kind": "all_gather"},
           "logs": [{"elements": [[0, ranks - 1, 1]], "ops": ops}]})
}

#[test]
fn a_deadlock_of_the_algorithm_is_one_of_the_program() {
    for (ranks, pieces) in [(2, 2), (3, 2), (4, 3), (2, 4)] {
        for capacity in 1..=pieces + 1 {
            let algorithm = read_algorithm(&in_flight(ranks, pieces, capacity)).expect("an algorithm");
            let (_, program, _) = matched(&algorithm, false).expect("messages match");
            let least = if capacity < pieces { pieces } else { 1 };
            assert_eq!(least_capacity(&program), Ok(least));
            for (order, rule) in ORDERS.into_iter().zip([Rule::D06, Rule::D04]) {
                let text = lower(&algorithm, &program, order).expect("a program").to_string();
                let expected = if capacity < pieces { vec![rule] } else { Vec::new() };
                let mut found = found(&text);
                found.dedup();
                assert_eq!(found, expected, "{order:?}, {ranks} ranks, {pieces} pieces, capacity {capacity}");
            }
        }
    }
}

#[test]
fn waits_that_cross_are_a_deadlock_whatever_the_capacity() {
    let ring = json!({"kind": "ring_1d", "ranks": 3, "cube_w": 1, "cube_h": 1, "capacity": 9});
    let request = json!({"topology": ring, "n_elem": 1, "collective": {"kind": "all_reduce"}});
    let read = read_launch(&request).expect("a launch request");
    let setting = Setting::new(&read.topology, 1, read.collective);
    let published = named("published").expect("it is in the table");
    let mut document = published.document(&setting, &ring, &json!({"kind": "all_reduce"}));
    // Everybody receives before they send.
    for log in document["logs"].as_array_mut().expect("logs") {
        let ops = log["ops"].as_array_mut().expect("operations");
        let recv = ops.iter().position(|op| op["op"] == "recv").expect("one is received");
        ops.swap(recv - 1, recv);
    }
    let algorithm = read_algorithm(&document).expect("an algorithm");
    let (_, program, _) = matched(&algorithm, false).expect("messages match");
    for (order, rule) in ORDERS.into_iter().zip([Rule::D06, Rule::D04]) {
        let text = lower(&algorithm, &program, order).expect("a program").to_string();
        assert!(found(&text).contains(&rule), "{order:?}: {:?}", found(&text));
    }
}
