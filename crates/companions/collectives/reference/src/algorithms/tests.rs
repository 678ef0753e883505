//! Every algorithm on every small topology that it runs on: accepted by the validator, whose rules know nothing of how it was made.

use megakernel_collectives::{CollectiveKind, read_algorithm, read_launch};
use serde_json::{Value, json};

use super::{ALGORITHMS, Setting};
use crate::answer::judged;
use crate::run::least_capacity;

fn topologies() -> Vec<Value> {
    let mut all = Vec::new();
    let mut with = |kind: &str, w: i64, h: i64, cube_w: i64, cube_h: i64| {
        let mut top =
            json!({"kind": kind, "ranks": w * h, "cube_w": cube_w, "cube_h": cube_h, "capacity": 1});
        if kind != "ring_1d" {
            (top["w"], top["h"]) = (json!(w), json!(h));
        }
        all.push(top);
    };
    for ranks in 1..=9 {
        with("ring_1d", ranks, 1, 1, 1);
    }
    with("ring_1d", 16, 1, 1, 1);
    for (w, h) in
        [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2), (2, 3), (1, 5), (3, 3), (4, 3), (3, 4), (5, 2), (4, 4)]
    {
        for kind in ["torus_2d", "mesh_2d_no_wrap"] {
            with(kind, w, h, 1, 1);
        }
    }
    for (kind, w, h) in [("ring_1d", 4, 1), ("ring_1d", 3, 1), ("torus_2d", 2, 3), ("mesh_2d_no_wrap", 2, 2)]
    {
        with(kind, w, h, 2, 3);
        with(kind, w, h, 3, 1);
    }
    // A star, and a line with a way back of its own.
    let edge =
        |from: i64, out: &str, to: i64, into: &str| json!({"from": from, "out": out, "to": to, "in": into});
    let star = [edge(0, "a", 1, "up"), edge(1, "up", 0, "a"), edge(2, "up", 0, "b"), edge(0, "b", 2, "up")];
    all.push(json!({"kind": "explicit", "ranks": 3, "cube_w": 1, "cube_h": 2, "capacity": 1, "edges": star}));
    let line = [edge(0, "x", 1, "l"), edge(1, "x", 2, "l"), edge(2, "y", 1, "r"), edge(1, "y", 0, "r")];
    all.push(json!({"kind": "explicit", "ranks": 3, "cube_w": 1, "cube_h": 1, "capacity": 1, "edges": line}));
    all
}

fn settings() -> impl Iterator<Item = (Setting, Value, Value)> {
    let kinds = CollectiveKind::ALL.iter().map(|kind| kind.name());
    let collectives: Vec<Value> = kinds
        .flat_map(|kind| ["identical", "per_element"].map(|bits| json!({"kind": kind, "bits": bits})))
        .collect();
    topologies().into_iter().enumerate().flat_map(move |(number, topology)| {
        let ranks = topology["ranks"].as_i64().expect("ranks");
        let collectives = collectives.clone();
        collectives.into_iter().map(move |mut collective| {
            collective["root"] = json!((ranks - 1) / 2);
            let n_elem = [1, 2 * ranks + 3, ranks, 5][number % 4];
            let request = json!({"topology": topology, "n_elem": n_elem, "collective": collective});
            let read = read_launch(&request).expect("a launch request");
            (Setting::new(&read.topology, n_elem, read.collective), topology.clone(), collective)
        })
    })
}

#[test]
fn every_algorithm_reaches_what_it_says_with_one_slot_a_queue() {
    let mut runs = vec![0; ALGORITHMS.len()];
    for (setting, topology, collective) in settings() {
        for (algorithm, runs) in ALGORITHMS.iter().zip(&mut runs) {
            if !algorithm.serves(&setting) {
                continue;
            }
            *runs += 1;
            let document = algorithm.document(&setting, &topology, &collective);
            let read = read_algorithm(&document).expect("an algorithm");
            let (program, _) = judged(&read, false)
                .unwrap_or_else(|found| unreachable!("{} on {topology}: {found:?}", algorithm.name));
            assert_eq!(least_capacity(&program), Ok(1), "{} on {topology}", algorithm.name);
        }
    }
    assert!(runs.iter().all(|&runs| runs >= 4), "{runs:?}");
}

#[test]
fn the_published_algorithm_has_equal_bits_on_rings_of_two_alone() {
    let of = |ranks: i64| {
        let topology = json!({"kind": "ring_1d", "ranks": ranks, "cube_w": 2, "cube_h": 2});
        let request = json!({"topology": topology, "n_elem": 2, "collective": {"kind": "all_reduce"}});
        let read = read_launch(&request).expect("a launch request");
        let setting = Setting::new(&read.topology, 2, read.collective);
        let published = super::named("published").expect("it is in the table");
        assert!(!published.serves(&setting), "it does not promise equal bits");
        let document = published.document(&setting, &topology, &json!({"kind": "all_reduce"}));
        judged(&read_algorithm(&document).expect("an algorithm"), false)
    };
    for ranks in 1..=2 {
        assert!(of(ranks).is_ok(), "ring of {ranks}");
    }
    for ranks in 3..=6 {
        let found = of(ranks).expect_err("orders differ");
        assert_eq!(found.first().map(|fault| fault.rule), Some(megakernel_ir::Rule::CB01), "ring of {ranks}");
    }
}

#[test]
fn every_shape_has_an_algorithm_for_every_collective() {
    for (setting, topology, collective) in settings() {
        let in_order = setting.is_flat()
            || matches!(setting.collective.kind, CollectiveKind::AllReduce | CollectiveKind::Broadcast);
        assert_eq!(super::chosen(&setting).is_some(), in_order, "{collective} on {topology}");
    }
}
