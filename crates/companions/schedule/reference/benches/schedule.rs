//! The validator: `cargo bench --workspace --bench schedule`. Layers of 148 tasks on 148 workers, each of which reads
//! nine tiles of the layer before and writes one of its own, and waits for all of that layer: ten accesses a task, up to a million
//! tasks, and then the schedules under `fixtures/`. Before, processor time, elapsed time and the peak memory of a single run of each size
//! are printed: from the text to the verdict, warnings included.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use megakernel_schedule_reference::validate;
use megakernel_test_support::root;

const WORKERS: usize = 148;
const READS: usize = 9;

/// A schedule of so many tasks.
fn layers(tasks: usize) -> String {
    let layers = tasks.div_ceil(WORKERS);
    let mut out = String::from("{\"tensors\": {");
    for layer in 0..layers {
        let comma = if layer == 0 { "" } else { ", " };
        write!(out, "{comma}\"x{layer}\": {{\"shape\": [{WORKERS}, 64], \"element\": 2}}").unwrap();
    }
    out.push_str("}, \"tasks\": [");
    for task in 0..tasks {
        let (layer, worker) = (task / WORKERS, task % WORKERS);
        let comma = if task == 0 { "" } else { "," };
        write!(out, "{comma}\n{{\"queue\": {worker}, \"phases\": [{{").unwrap();
        if let Some(before) = layer.checked_sub(1) {
            write!(out, "\"waits\": [[\"e{before}\", {WORKERS}]], \"reads\": [").unwrap();
            for read in 0..READS {
                let tile = (worker + 17 * read) % WORKERS;
                let comma = if read == 0 { "" } else { ", " };
                write!(out, "{comma}[\"x{before}\", [[{tile}, {}], [0, 64]]]", tile + 1).unwrap();
            }
            out.push_str("], ");
        }
        write!(out, "\"writes\": [[\"x{layer}\", [[{worker}, {}], [0, 64]]]], ", worker + 1).unwrap();
        write!(out, "\"signals\": [[\"e{layer}\", 1]]}}]}}").unwrap();
    }
    out.push_str("]}");
    out
}

/// The most memory that this process has held, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib / 1024)
}

/// Processor time of this process, in seconds.
fn processor() -> f64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = status.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = |at: usize| after_name.split_whitespace().nth(at).and_then(|ticks| ticks.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}

fn once(name: &str, text: &[u8], rounds: u32) {
    let (begin, before) = (Instant::now(), processor());
    for _ in 0..rounds {
        black_box(validate(text));
    }
    println!(
        "{name}, {:.1} MB of text: {:.4} s of processor time, {:.4} s elapsed, peak {} MiB",
        text.len() as f64 / 1e6,
        (processor() - before) / f64::from(rounds),
        begin.elapsed().as_secs_f64() / f64::from(rounds),
        peak()
    );
}

const FIXTURES: [&str; 4] = [
    "hazy_llama1b_1l_full_wait",
    "hazy_llama1b_1l_as_kernels_wait",
    "triton_distributed_2l_all_waits",
    "triton_distributed_2l_trimmed_waits",
];

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(root().join(format!("fixtures/schedules/{name}.json"))).unwrap()
}

fn schedules(c: &mut Criterion) {
    for name in FIXTURES {
        once(name, &fixture(name), 20);
    }
    for (tasks, rounds) in [(1_000, 50), (16 * 148 * 4, 10), (10_000, 10), (100_000, 2), (1_000_000, 1)] {
        let text = layers(tasks);
        assert!(tasks > 10_000 || validate(text.as_bytes()).accepts());
        once(&format!("{tasks} tasks"), text.as_bytes(), rounds);
    }
    let mut group = c.benchmark_group("layers");
    group.sample_size(10);
    for tasks in [1_000, 10_000, 100_000] {
        let text = layers(tasks);
        group.throughput(Throughput::Elements(tasks as u64));
        group.bench_with_input(BenchmarkId::from_parameter(tasks), &text, |b, text| {
            b.iter(|| black_box(validate(text.as_bytes())));
        });
    }
    group.finish();
    let mut group = c.benchmark_group("fixtures");
    group.sample_size(10);
    for name in FIXTURES {
        let text = fixture(name);
        group.bench_function(name, |b| b.iter(|| black_box(validate(&text))));
    }
    group.finish();
}

criterion_group!(benches, schedules);
criterion_main!(benches);
