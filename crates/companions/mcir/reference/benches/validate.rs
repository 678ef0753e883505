//! The validator: `cargo bench -p megakernel-mcir-reference --bench validate`. Documents of up to 100,000 nodes, as regions with a pipeline of
//! two slots each, and as one region with a long chain of functions, from the text. And the interpreter: a million iterations of a stream, and
//! attention.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use megakernel_mcir::Document;
use megakernel_mcir_reference::{Choices, Tensors, compute_document, read_document, validate};
use serde_json::{Map, Value, json};

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

/// Sums of rows: 1,000 blocks of 1,000 iterations, each of which loads a tile of four numbers, reduces it, and updates a state.
fn sums() -> Value {
    let value =
        |shape: Value, residency: &str| json!({"shape": shape, "dtype": "F32", "residency": residency});
    json!({
        "values": {"X": value(json!([1000, 4000]), "global"), "Y": value(json!([1000]), "global"),
            "x": value(json!([1, 4]), "shared"), "p": value(json!([1]), "register"), "s": value(json!([1]), "register")},
        "inputs": ["X"], "outputs": ["Y"], "boundaries": [{"value": "Y"}],
        "residency": [{"memory": "shared", "values": ["x"], "lifetime": "iteration"},
            {"memory": "register", "values": ["p"], "lifetime": "node"},
            {"memory": "register", "values": ["s"], "lifetime": "block"}],
        "regions": [{"id": "sums", "inputs": ["X"], "outputs": ["Y"], "streaming": {
            "stream": {"axis": "j", "to": [4000]}, "state": [{"value": "s", "init": 0}],
            "tile": {"tile_shape": {"i": 1, "j": 4}, "blocks": {"i": 1000},
                "each": [
                    {"id": "load", "op": "LoadTile", "in": ["X"], "out": ["x"], "at": ["i", "j"]},
                    {"id": "add", "op": "Reduce", "fn": "sum", "axis": 1, "in": ["x"], "out": ["p"]},
                    {"id": "keep", "op": "UpdateState", "fn": "add", "in": ["s", "p"], "out": ["s"]}],
                "end": [{"id": "store", "op": "StoreTile", "in": ["s"], "out": ["Y"], "at": ["i"]}]}}}],
    })
}

/// One head of streaming attention over so many rows and keys of 64, tiles of 64 and 64, one tile ahead.
fn attention(rows: i64) -> Value {
    let value = |shape: &[i64], dtype: &str, residency: &str, buffers: i64| json!({"shape": shape, "dtype": dtype, "residency": residency, "buffers": buffers});
    let mut values = Map::new();
    for name in ["Q", "K", "V", "O"] {
        values.insert(name.to_owned(), value(&[rows, 64], "F16", "global", 1));
    }
    for (name, shape, dtype, residency, buffers) in [
        ("q", &[64, 64][..], "F16", "shared", 1),
        ("k", &[64, 64], "F16", "shared", 2),
        ("v", &[64, 64], "F16", "shared", 2),
        ("t", &[64, 64], "F32", "register", 1),
        ("s", &[64, 64], "F32", "register", 1),
        ("p", &[64, 64], "F32", "register", 1),
        ("r", &[64], "F32", "register", 1),
        ("pv", &[64, 64], "F32", "register", 1),
        ("o", &[64, 64], "F16", "register", 1),
        ("m", &[64], "F32", "register", 1),
        ("l", &[64], "F32", "register", 1),
        ("acc", &[64, 64], "F32", "register", 1),
    ] {
        values.insert(name.to_owned(), value(shape, dtype, residency, buffers));
    }
    let load = |id: &str, tensor: &str, tile: &str, version: i64| json!({"id": id, "op": "Prefetch", "in": [tensor], "out": [tile], "at": ["j", 0], "version": version});
    json!({
        "values": values, "inputs": ["Q", "K", "V"], "outputs": ["O"], "boundaries": [{"value": "O"}],
        "residency": [{"memory": "shared", "values": ["q"], "lifetime": "block"},
            {"memory": "shared", "values": ["k", "v"], "lifetime": "iteration"},
            {"memory": "register", "values": ["t", "s", "p", "r", "pv", "o"], "lifetime": "node"},
            {"memory": "register", "values": ["m", "l", "acc"], "lifetime": "block"}],
        "regions": [{"id": "attention", "inputs": ["Q", "K", "V"], "outputs": ["O"], "streaming": {
            "stream": {"axis": "j", "to": [rows]},
            "state": [{"value": "m", "init": "-inf"}, {"value": "l", "init": 0}, {"value": "acc", "init": 0}],
            "tile": {"tile_shape": {"i": 64, "j": 64}, "blocks": {"i": rows},
                "begin": [{"id": "lq", "op": "LoadTile", "in": ["Q"], "out": ["q"], "at": ["i", 0]},
                    load("k0", "K", "k", 0), load("v0", "V", "v", 0)],
                "each": [load("kn", "K", "k", 1), load("vn", "V", "v", 1),
                    {"id": "b", "op": "Barrier", "wait": [["k", 0], ["v", 0]]},
                    {"id": "qk", "op": "Compute", "fn": "matmul_nt", "in": ["q", "k"], "out": ["t"]},
                    {"id": "sc", "op": "Compute", "fn": "scale", "by": [1, 8], "in": ["t"], "out": ["s"]},
                    {"id": "us", "op": "UpdateState", "fn": "online_softmax", "in": ["s", "m", "l"],
                        "out": ["m", "l", "p", "r"]},
                    {"id": "pv", "op": "Compute", "fn": "matmul_nn", "in": ["p", "v"], "out": ["pv"]},
                    {"id": "ua", "op": "UpdateState", "fn": "scale_add", "in": ["acc", "r", "pv"], "out": ["acc"]}],
                "end": [{"id": "dv", "op": "Compute", "fn": "div", "along": "rows", "in": ["acc", "l"], "out": ["o"]},
                    {"id": "so", "op": "StoreTile", "in": ["o"], "out": ["O"], "at": ["i", 0]}]}}}],
    })
}

/// The inputs of a document, some numbers.
fn inputs(document: &Document) -> Tensors {
    let value = |name: &u32| document.values.iter().find(|value| value.name == *name).unwrap();
    let count = |name: &u32| value(name).shape.iter().product::<i64>();
    let numbers = |name: &u32| (0..count(name)).map(|place| (place % 17) as f64 / 8.0 - 1.0).collect();
    document.inputs.iter().map(|name| (document.names[*name as usize].clone(), numbers(name))).collect()
}

fn computing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compute");
    group.sample_size(10);
    let documents =
        [("a million iterations", sums(), 1_000_000), ("attention of 1,024 rows", attention(1024), 256)];
    for (name, document, iterations) in documents {
        let document = read_document(document.to_string().as_bytes()).unwrap();
        let inputs = inputs(&document);
        group.throughput(Throughput::Elements(iterations));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let run = compute_document(&document, &|| Ok(inputs.clone()), Choices::default());
                black_box(run.unwrap());
            });
        });
    }
    group.finish();
}

criterion_group!(all, benches, computing);
criterion_main!(all);
