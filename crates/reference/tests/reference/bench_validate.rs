//! Reading and validating: `cargo bench -p megakernel-reference`. Decode steps from 1,000 to 1,000,000 tasks, random
//! graphs without helpful structure, and heavy reuse of pages; for comparison the straightforward validator.

#![allow(missing_docs, clippy::unwrap_used)]

mod programs;
mod straightforward;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use megakernel_ir::read;
use megakernel_reference::validate::{Classes, validate_program};

fn measure(c: &mut Criterion, family: &str, text: &str) {
    let program = read(text.as_bytes()).unwrap();
    let tasks = program.tasks.len();
    let verdict = validate_program(&program, Classes::ALL);
    assert!(verdict.accepts(), "the benchmark's program is accepted: {:?}", verdict.diagnostics.first());

    let mut group = c.benchmark_group(format!("read {family}"));
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function(BenchmarkId::from_parameter(tasks), |b| {
        b.iter(|| read(black_box(text.as_bytes())).unwrap())
    });
    group.finish();

    // What this parser can do at best: find the end of the text, and keep nothing.
    let mut group = c.benchmark_group(format!("skip {family}"));
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function(BenchmarkId::from_parameter(tasks), |b| {
        b.iter(|| serde_json::from_str::<&serde_json::value::RawValue>(black_box(text)).unwrap());
    });
    group.finish();

    let mut group = c.benchmark_group(format!("validate {family}"));
    group.throughput(Throughput::Elements(tasks as u64));
    group.bench_function(BenchmarkId::from_parameter(tasks), |b| {
        b.iter(|| validate_program(black_box(&program), Classes::ALL));
    });
    group.finish();
}

/// Only the time to validate, of a program that is rejected.
fn judge(c: &mut Criterion, family: &str, text: &str) {
    let program = read(text.as_bytes()).unwrap();
    assert!(!validate_program(&program, Classes::ALL).accepts(), "the benchmark's program is rejected");
    let mut group = c.benchmark_group(format!("validate {family}"));
    group.throughput(Throughput::Elements(program.tasks.len() as u64));
    group.bench_function(BenchmarkId::from_parameter(program.tasks.len()), |b| {
        b.iter(|| validate_program(black_box(&program), Classes::ALL));
    });
    group.finish();
}

fn benches(c: &mut Criterion) {
    for size in [1_000, 10_000, 100_000, 1_000_000] {
        measure(c, "decoder", &programs::decoder::program(size));
    }
    for size in [10_000, 100_000] {
        measure(c, "random", &programs::random::program(size, 7));
    }
    measure(c, "paged", &programs::paged::program(100_000));
    // Tiles that cut each other into pieces, accepted and rejected, and races without end.
    for size in [3_300, 20_000, 100_000] {
        measure(c, "tiles in phases", &programs::tiles::phases(size, 300, 7));
        measure(c, "tiles in a chain", &programs::tiles::chain(size, 7, true));
        judge(c, "unwritten tiles", &programs::tiles::chain(size, 7, false));
        judge(c, "unordered tiles", &programs::tiles::unordered(size, 7));
        judge(c, "racing copies", &programs::tiles::copies(2 * size));
    }
    // A set of ancestors per task and every pair of accesses: what all of this is faster than.
    for size in [10_000, 100_000] {
        let text = programs::decoder::program(size);
        let program = read(text.as_bytes()).unwrap();
        let mut group = c.benchmark_group("straightforward decoder");
        group.throughput(Throughput::Elements(program.tasks.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(program.tasks.len()), |b| {
            b.iter(|| straightforward::judge(black_box(&program)).unwrap());
        });
        group.finish();
    }
}

criterion_group! { name = group; config = Criterion::default().sample_size(10); targets = benches }
criterion_main!(group);
