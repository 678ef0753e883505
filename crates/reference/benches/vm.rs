//! The VM: each opcode at a shape from a decoder, a decode step with values, and the schedule of a large one without.
//! `cargo bench -p megakernel-reference --bench vm`. Throughput is in elements that the task reads.

#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use megakernel_ir::read;
use megakernel_reference::vm::files::fill_random;
use megakernel_reference::vm::{Following, Loaded, Schedule, Session, Settings};
use megakernel_test_support::fixtures;
use serde_json::{Value, json};

/// Opcode, what it reads, what it writes, parameters. Buffers are `dtype[shape]`.
type Case = (&'static str, &'static [&'static str], &'static str, fn() -> Value);

const CASES: &[Case] = &[
    ("COPY", &["BF16[2048]"], "F32[2048]", || json!({})),
    ("EMBED", &["I32[1]", "BF16[4096,512]"], "BF16[1,512]", || json!({"hidden": 512})),
    ("RMSNORM", &["BF16[1,2048]", "BF16[2048]"], "BF16[1,2048]", || json!({"eps": 1e-5, "hidden": 2048})),
    (
        "LAYERNORM",
        &["BF16[1,2048]", "BF16[2048]", "BF16[2048]"],
        "BF16[1,2048]",
        || json!({"eps": 1e-5, "hidden": 2048}),
    ),
    (
        "GEMV_TILE",
        &["BF16[1,2048]", "BF16[64,2048]"],
        "BF16[1,64]",
        || json!({"K": 2048, "N_tile": 64, "n_off": 0}),
    ),
    (
        "GEMV_TILE",
        &["BF16[1,2048]", "U8[64,1024]", "BF16[64,32]"],
        "BF16[1,64]",
        || json!({"K": 2048, "N_tile": 64, "n_off": 0, "qdtype": 7, "group": 64}),
    ),
    (
        "GEMM_TILE",
        &["BF16[16,1024]", "BF16[64,1024]"],
        "BF16[16,64]",
        || json!({"K": 1024, "N_tile": 64, "M_tile": 16, "n_off": 0}),
    ),
    (
        "ATTENTION_TILE",
        &["BF16[32,64]", "BF16[256,8,64]", "BF16[256,8,64]"],
        "BF16[32,64]",
        || json!({"head_dim": 64, "kv_start": 0, "kv_len": 256, "scale": 0.125, "n_heads": 32, "n_kv_heads": 8}),
    ),
    ("ROPE", &["BF16[32,64]", "I32[1]"], "BF16[32,64]", || json!({"head_dim": 64, "theta": 10000.0})),
    ("SILU_MUL", &["BF16[8192]", "BF16[8192]"], "BF16[8192]", || json!({})),
    ("GELU", &["BF16[8192]"], "BF16[8192]", || json!({})),
    ("ADD", &["BF16[8192]", "BF16[8192]"], "BF16[8192]", || json!({})),
    ("MUL", &["BF16[8192]", "BF16[8192]"], "BF16[8192]", || json!({})),
    ("DEQUANT", &["I8[16,1024]", "F16[16,16]"], "BF16[16,1024]", || json!({"qdtype": 6, "group": 64})),
    ("SOFTMAX", &["F32[32,256]"], "F32[32,256]", || json!({})),
    (
        "ALLREDUCE_SHARD",
        &["BF16[2048]", "BF16[2048]", "BF16[2048]", "BF16[2048]"],
        "BF16[2048]",
        || json!({}),
    ),
    ("KV_APPEND", &["BF16[1,8,64]", "cache BF16[256,8,64]"], "cache", || json!({"pos": 7})),
    ("SAMPLE_ARGMAX", &["F32[1,32768]"], "I32[1]", || json!({})),
    ("ATTENTION_COMBINE", &["F32[32,66]", "F32[32,66]", "F32[32,66]", "F32[32,66]"], "F32[32,64]", || {
        json!({})
    }),
];

fn buffer(id: usize, text: &str, kind: &str) -> (Value, u64) {
    let (dtype, shape) = text.trim_end_matches(']').split_once('[').unwrap();
    let shape: Vec<u64> = shape.split(',').map(|extent| extent.parse().unwrap()).collect();
    let numel = shape.iter().product();
    (json!({"id": id, "name": format!("b{id}"), "kind": kind, "dtype": dtype, "shape": shape}), numel)
}

/// The program of one task, and how many elements it reads.
fn program((op, inputs, output, params): &Case) -> (String, u64) {
    let mut buffers = Vec::new();
    let mut elements = 0;
    for (id, input) in inputs.iter().enumerate() {
        let (record, numel) = match input.strip_prefix("cache ") {
            Some(cache) => (buffer(id, cache, "KV_CACHE").0, 0),
            None => buffer(id, input, "IO_INPUT"),
        };
        buffers.push(record);
        elements += numel;
    }
    let written = if *output == "cache" { inputs.len() - 1 } else { inputs.len() };
    if *output != "cache" {
        buffers.push(buffer(written, output, "IO_OUTPUT").0);
    }
    let ids: Vec<usize> = (0..inputs.len()).collect();
    let task =
        json!({"id": 0, "op": op, "inputs": ids, "outputs": [written], "out_counter": 0, "params": params()});
    let program = json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers, "counters": [{"id": 0}],
        "tasks": [task]});
    (program.to_string(), elements)
}

fn opcodes(c: &mut Criterion) {
    let mut group = c.benchmark_group("opcode");
    for case in CASES {
        let (text, elements) = program(case);
        let program = read(text.as_bytes()).unwrap();
        let mut tensors = BTreeMap::new();
        fill_random(&program, &mut tensors, 1).unwrap();
        let following = Following::new(&program, &tensors, &BTreeMap::new(), Default::default()).unwrap();
        group.throughput(Throughput::Elements(elements));
        group.bench_function(BenchmarkId::new(case.0, case.1.join(" ")), |b| {
            b.iter(|| following.task(black_box(0.into())).unwrap());
        });
    }
    group.finish();
}

fn programs(c: &mut Criterion) {
    let text = fixtures::bytes("amk/toy_decoder.json");
    let program = read(&text).unwrap();
    let loaded = Loaded::load(&program).unwrap();
    let mut tensors = BTreeMap::new();
    fill_random(&program, &mut tensors, 1).unwrap();
    let mut group = c.benchmark_group("launch");
    group.throughput(Throughput::Elements(program.tasks.len() as u64));
    group.bench_function("toy_decoder", |b| {
        b.iter(|| Session::new().launch(&loaded, &tensors, &Settings::default()).unwrap());
    });
    group.finish();

    let mut group = c.benchmark_group("rehearse");
    for name in ["toy_decoder", "llama32_1b_decode"] {
        let text = fixtures::bytes(&format!("amk/{name}.json"));
        let program = read(&text).unwrap();
        let loaded = Loaded::load(&program).unwrap();
        group.throughput(Throughput::Elements(program.tasks.len() as u64));
        for seed in [0, 3] {
            let schedule = Schedule::seeded(seed);
            group.bench_function(BenchmarkId::new(name, schedule.habit()), |b| {
                b.iter(|| loaded.rehearse(schedule.clone()).unwrap());
            });
        }
    }
    group.finish();
}

criterion_group! { name = group; config = Criterion::default().sample_size(20); targets = opcodes, programs }
criterion_main!(group);
