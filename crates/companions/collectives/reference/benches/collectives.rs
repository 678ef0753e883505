//! The validator: `cargo bench -p megakernel-collectives-reference --bench collectives`. All-reduces on rings of devices of 4 x 4 cubes in the
//! compact form, up to ten million operations, from the text to the verdict: one that is right, and one with a round too few. Before
//! each, processor time of a single run is printed: other work on the machine does not lengthen that.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use megakernel_collectives::read_algorithm;
use megakernel_collectives_reference::answer::matched;
use megakernel_collectives_reference::{Answered, Method, answer};
use serde_json::{Value, json};

/// Columns and rows of the cubes of a device, and the column and row of the cube that is connected to others.
const CUBES: usize = 4;
const LINK: usize = 2;

/// What a place in a line does so that the sum of all comes to `LINK`, and what it does when the sum comes back.
fn line(place: usize, [up, down]: [&str; 2], n: usize) -> [Vec<Value>; 2] {
    let recv = |to: &str, dir: &str| json!({"op": "recv", "to": to, "dir": dir, "n": n});
    let send = |dir: &str| json!({"op": "send", "of": "sum", "dir": dir});
    let (mut there, mut back) = (Vec::new(), Vec::new());
    let towards = if place < LINK { up } else { down };
    for (dir, is_arm) in [(down, 0 < place && place <= LINK), (up, LINK <= place && place + 1 < CUBES)] {
        if is_arm {
            there.extend([recv("in", dir), json!({"op": "add", "to": "sum", "a": "sum", "b": "in"})]);
            back.push(send(dir));
        }
    }
    if place != LINK {
        there.push(send(towards));
        back.insert(0, recv("sum", towards));
    }
    [there, back]
}

/// Reduce-scatter and all-gather around the ring, block by block, as many rounds as `rounds` says.
fn exchange(ranks: usize, rounds: usize) -> Vec<Value> {
    let block = |first: i64, of: Value| json!({"of": of, "add": first, "mod": ranks});
    let round = |first: i64| block(first, json!({"rank": 1, "s": -1}));
    let send = json!({"op": "send", "of": "sum", "dir": "global_E"});
    vec![
        json!({"op": "store", "of": "sum", "at": 0}),
        json!({"op": "load", "to": "sum", "at": block(0, json!({"rank": 1})), "n": 1}),
        json!({"for": "s", "count": ranks - 1, "ops": [
            send,
            {"op": "recv", "to": "in", "dir": "global_W", "n": 1},
            {"op": "load", "to": "own", "at": round(-1), "n": 1},
            {"op": "add", "to": "sum", "a": "own", "b": "in"}]}),
        json!({"op": "store", "of": "sum", "at": block(1, json!({"rank": 1}))}),
        json!({"for": "s", "count": rounds, "ops": [
            send,
            {"op": "recv", "to": "sum", "dir": "global_W", "n": 1},
            {"op": "store", "of": "sum", "at": round(0)}]}),
        json!({"op": "load", "to": "sum", "at": 0, "n": ranks}),
    ]
}

/// The text of the document: cubes reduce to one, which goes around the ring and spreads the sum.
fn document(ranks: usize, rounds: usize) -> String {
    let log = |cube: usize| {
        let (row, column) = (cube / CUBES, cube % CUBES);
        let [mut ops, back] = line(column, ["E", "W"], ranks);
        if column == LINK {
            let [there, down] = line(row, ["S", "N"], ranks);
            ops.extend(there);
            ops.extend(if row == LINK { exchange(ranks, rounds) } else { Vec::new() });
            ops.extend(down);
        }
        ops.insert(0, json!({"op": "load", "to": "sum", "at": 0, "n": ranks}));
        ops.extend(back);
        ops.push(json!({"op": "store", "of": "sum", "at": 0}));
        let all = CUBES * CUBES;
        json!({"elements": [[cube, all * (ranks - 1) + cube, all]], "ops": ops})
    };
    json!({"topology": {"kind": "ring_1d", "ranks": ranks, "capacity": 1}, "n_elem": ranks,
        "collective": {"kind": "all_reduce"}, "logs": (0..CUBES * CUBES).map(log).collect::<Vec<_>>()})
    .to_string()
}

fn judged(text: &str) -> Answered {
    answer(Method::Validate, &serde_json::from_str(text).expect("JSON"))
}

/// The processor time of this thread so far, in seconds, where the system says so.
fn processor() -> Option<f64> {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(times.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

fn benches(criterion: &mut Criterion) {
    for (name, too_few) in [("accepted", 0), ("a round too few", 1)] {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10);
        for ranks in [6, 32, 110, 370, 1_024, 1_190] {
            let text = document(ranks, ranks - 1 - too_few);
            let start = processor();
            let is_accepted = matches!(judged(&text), Answered::Accept { .. });
            let took = start.zip(processor()).map(|(start, end)| end - start);
            assert_eq!(is_accepted, too_few == 0, "{ranks}");
            let read = read_algorithm(&serde_json::from_str(&text).expect("JSON")).expect("an algorithm");
            let (_, program, _) = matched(&read, false).expect("messages match");
            let operations = program.ops.len();
            drop(program);
            println!("{name}, {ranks} devices, {operations} operations: {took:?} s of processor time");
            group.throughput(Throughput::Elements(operations as u64));
            let id = BenchmarkId::from_parameter(format!("{ranks} devices, {operations} operations"));
            group.bench_with_input(id, &text, |bencher, text| bencher.iter(|| black_box(judged(text))));
        }
        group.finish();
    }
}

criterion_group!(all, benches);
criterion_main!(all);
