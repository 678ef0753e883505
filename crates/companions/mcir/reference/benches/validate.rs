//! The validator: `cargo bench -p megakernel-mcir-reference --bench validate`. Documents of up to 100,000 nodes, as regions with a pipeline of
//! two slots each, and as one region with a long chain of functions; from the text, and as they are read.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use megakernel_mcir_reference::validate;
use serde_json::{Map, json};

/// A region for each five nodes, of which each reads what the last one stored.
fn regions(nodes: usize) -> String {
    let count = nodes / 5;
    let mut values = Map::new();
    let (mut boundaries, mut shared, mut kept, mut regions) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let tensor = json!({"shape": [4096, 64], "dtype": "F32", "residency": "global"});
    values.insert("t0".to_owned(), tensor.clone());
    for number in 0..count {
        let (from, to) = (format!("t{number}"), format!("t{}", number + 1));
        let (x, y) = (format!("x{number}"), format!("y{number}"));
        values.insert(to.clone(), tensor.clone());
        let tile = json!({"shape": [64, 64], "dtype": "F32", "residency": "shared", "buffers": 2});
        values.insert(x.clone(), tile);
        values.insert(y.clone(), json!({"shape": [64, 64], "dtype": "F32", "residency": "register"}));
        boundaries.push(json!({"value": to}));
        shared.push(json!(x));
        kept.push(json!(y));
        let at = json!(["j", 0]);
        regions.push(json!({"id": format!("r{number}"), "inputs": [from], "outputs": [to], "streaming": {
            "stream": {"axis": "j", "to": [4096]},
            "tile": {"tile_shape": {"j": 64},
                "begin": [{"id": "a", "op": "Prefetch", "in": [from], "out": [x], "at": at, "version": 0}],
                "each": [
                    {"id": "b", "op": "Prefetch", "in": [from], "out": [x], "at": at, "version": 1},
                    {"id": "c", "op": "Barrier", "wait": [[x, 0]]},
                    {"id": "d", "op": "Compute", "fn": "exp", "in": [x], "out": [y]},
                    {"id": "e", "op": "StoreTile", "in": [y], "out": [to], "at": at}]}}}));
    }
    json!({"values": values, "inputs": ["t0"], "outputs": [format!("t{count}")], "boundaries": boundaries,
        "residency": [
            {"memory": "shared", "values": shared, "lifetime": "iteration"},
            {"memory": "register", "values": kept, "lifetime": "node"}],
        "target": {"shared_bytes": 232_448, "register_bytes": 262_144}, "regions": regions})
    .to_string()
}

/// One region with as many functions in a row.
fn chain(nodes: usize) -> String {
    let mut values = Map::new();
    for name in ["X", "Y"] {
        values.insert(name.to_owned(), json!({"shape": [4096], "dtype": "F32", "residency": "global"}));
    }
    let mut body = vec![json!({"id": "load", "op": "LoadTile", "in": ["X"], "out": ["x0"], "at": ["i"]})];
    let mut tiles = Vec::new();
    for number in 0..nodes - 1 {
        let (from, to) = (format!("x{number}"), format!("x{}", number + 1));
        let tile = json!({"shape": [64], "dtype": "F32", "residency": "register"});
        values.insert(from.clone(), tile);
        tiles.push(json!(from));
        if number + 2 == nodes {
            body.push(json!({"id": "store", "op": "StoreTile", "in": [from], "out": ["Y"], "at": ["i"]}));
        } else {
            body.push(
                json!({"id": format!("n{number}"), "op": "Compute", "fn": "neg", "in": [from], "out": [to]}),
            );
        }
    }
    json!({"values": values, "inputs": ["X"], "outputs": ["Y"], "boundaries": [{"value": "Y"}],
        "residency": [{"memory": "register", "values": tiles, "lifetime": "node"}],
        "target": {"register_bytes": 262_144},
        "regions": [{"id": "r", "inputs": ["X"], "outputs": ["Y"], "streaming": {
            "tile": {"tile_shape": {"i": 64}, "blocks": {"i": 4096}, "begin": body}}}]})
    .to_string()
}

fn benches(criterion: &mut Criterion) {
    for (name, is_chain) in [("regions", false), ("chain", true)] {
        let document = if is_chain { chain } else { regions };
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10);
        for nodes in [1_000, 10_000, 100_000] {
            let text = document(nodes);
            let verdict = validate(text.as_bytes());
            assert!(verdict.diagnostics.is_empty(), "{:?}", verdict.diagnostics.first());
            group.throughput(Throughput::Elements(nodes as u64));
            group.bench_with_input(BenchmarkId::from_parameter(nodes), &text, |bencher, text| {
                bencher.iter(|| black_box(validate(text.as_bytes())));
            });
        }
        group.finish();
    }
}

criterion_group!(all, benches);
criterion_main!(all);
