//! Figures by hand, and bounds that no algorithm is below.

use megakernel_collectives::{read_algorithm, read_launch};
use serde_json::{Value, json};

use super::{Bounds, Costs, Figures, bounds, figures};
use crate::algorithms::{ALGORITHMS, Algorithm, Setting};
use crate::answer::judged;

const COSTS: Costs = Costs { alpha: 1.0, beta: 0.25 };

fn analysed(algorithm: &Algorithm, topology: &Value, n_elem: i64) -> Option<(Figures, Bounds)> {
    let collective = json!({"kind": algorithm.kind.name(), "bits": "per_element"});
    let request = json!({"topology": topology, "n_elem": n_elem, "collective": collective});
    let read = read_launch(&request).expect("a launch request");
    let setting = Setting::new(&read.topology, n_elem, read.collective);
    if !algorithm.serves(&setting) {
        return None;
    }
    let document =
        read_algorithm(&algorithm.document(&setting, topology, &collective)).expect("an algorithm");
    let (program, _) = judged(&document, false).expect("it is right");
    let found = figures(&program, &setting.network, COSTS).expect("it completes");
    Some((found, bounds(&document, &setting.network)))
}

fn named(name: &str, topology: &Value, n_elem: i64) -> (Figures, Bounds) {
    analysed(crate::algorithms::named(name).expect("it is in the table"), topology, n_elem)
        .expect("it runs there")
}

fn ring(ranks: i64) -> Value {
    json!({"kind": "ring_1d", "ranks": ranks, "cube_w": 1, "cube_h": 1})
}

#[test]
fn a_ring_of_four_costs_what_is_counted_by_hand() {
    // Blocks of 2 numbers, 4 bytes, go round in 2 * 3 steps, all devices at once.
    let (found, least) = named("ring", &ring(4), 8);
    assert_eq!((found.steps, found.total(true), found.least_capacity), (6, (24, 96), 1));
    assert_eq!(found.busiest(true).map(|(_, load)| (load.messages, load.bytes)), Some((6, 24)));
    assert!((found.time - 6.0 * 2.0).abs() < 1e-9, "{}", found.time);
    // 2 * 3 * 16 bytes over 8 connections, and the far side is 2 away.
    assert_eq!(least, Bounds { steps: Some(2), bytes: Some(96), busiest: Some(12) });
    // Both ways, each connection has half.
    let (found, _) = named("ring-both-ways", &ring(4), 8);
    assert_eq!(found.busiest(true).map(|(_, load)| load.bytes), Some(12));
}

#[test]
fn a_full_queue_delays_its_sender() {
    // Two messages of 2 bytes, then one more operation; with one slot the second waits until the first was received.
    let edges =
        json!([{"from": 0, "out": "a", "to": 1, "in": "a"}, {"from": 0, "out": "b", "to": 1, "in": "b"}]);
    let top = |capacity: i64| json!({"kind": "explicit", "ranks": 2, "cube_w": 1, "cube_h": 1, "capacity": capacity, "edges": edges});
    let document = |capacity: i64| {
        json!({"topology": top(capacity), "n_elem": 1, "collective": {"kind": "broadcast"}, "logs": [
            {"elements": [[0, 0, 1]], "ops": [{"op": "load", "to": "x", "at": 0, "n": 1},
                {"op": "send", "of": "x", "dir": "a"}, {"op": "send", "of": "x", "dir": "a"},
                {"op": "send", "of": "x", "dir": "b"}]},
            {"elements": [[1, 1, 1]], "ops": [{"op": "recv", "to": "y", "dir": "a", "n": 1},
                {"op": "recv", "to": "y", "dir": "a", "n": 1}, {"op": "recv", "to": "y", "dir": "b", "n": 1},
                {"op": "store", "of": "y", "at": 0}]}]})
    };
    let time = |capacity: i64| {
        let read = read_algorithm(&document(capacity)).expect("an algorithm");
        let (program, _) = judged(&read, false).expect("it is right");
        let network = crate::network::Network::new(&read.topology);
        figures(&program, &network, COSTS).expect("it completes")
    };
    // A message takes 1.5. Two after each other on `a`, `b` beside them; or `b` only when the first has come.
    assert_eq!((time(2).time, time(2).steps), (3.0, 1));
    let ends: Vec<f64> = time(1).messages.iter().map(|message| message.end).collect();
    assert_eq!(ends, [1.5, 3.0, 3.0]);
    assert_eq!(time(2).messages.last().map(|message| message.end), Some(1.5));
}

#[test]
fn no_algorithm_is_below_a_bound_and_some_reach_it() {
    let grid = |kind: &str, w: i64, h: i64, cubes: [i64; 2]| json!({"kind": kind, "ranks": w * h, "w": w, "h": h, "cube_w": cubes[0], "cube_h": cubes[1]});
    let mut topologies: Vec<Value> = [1, 2, 3, 4, 5, 8].map(ring).into();
    for (w, h) in [(1, 3), (2, 2), (3, 2), (3, 3), (4, 4), (5, 2)] {
        topologies.extend(["torus_2d", "mesh_2d_no_wrap"].map(|kind| grid(kind, w, h, [1, 1])));
    }
    topologies.push(grid("torus_2d", 2, 3, [2, 3]));
    topologies.push(grid("mesh_2d_no_wrap", 1, 2, [4, 4]));
    let (mut reached, mut compared) = ([0; 3], 0);
    for topology in &topologies {
        let ranks = topology["ranks"].as_i64().expect("ranks");
        for algorithm in ALGORITHMS {
            for n_elem in [1, 4 * ranks, 7] {
                let Some((found, least)) = analysed(algorithm, topology, n_elem) else { continue };
                let at = format!("{} on {topology}, {n_elem}: {least:?}", algorithm.name);
                let bytes = found.busiest(true).map_or(0, |(_, load)| load.bytes);
                let pairs = [
                    (Some(found.steps), least.steps),
                    (Some(found.total(true).1), least.bytes),
                    (Some(bytes), least.busiest),
                ];
                for ((found, least), reached) in pairs.into_iter().zip(&mut reached) {
                    assert!(least.is_none() || found >= least, "{at}: {found:?}");
                    *reached += i32::from(found == least);
                }
                assert!(
                    least.time(COSTS).is_none_or(|time| found.time >= time - 1e-9),
                    "{at}: {}",
                    found.time
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 150 && reached.iter().all(|&reached| reached > 20), "{compared}, {reached:?}");
}

#[test]
fn quarters_reach_the_bound_of_a_square_torus() {
    let torus = json!({"kind": "torus_2d", "ranks": 16, "w": 4, "h": 4, "cube_w": 1, "cube_h": 1});
    let (found, least) = named("torus-quarters", &torus, 64);
    assert_eq!(found.busiest(true).map(|(_, load)| load.bytes), least.busiest);
    assert_eq!(least.busiest, Some(15 * 128 / 32));
}
