//! Reading and validating decoder-like programs of 1k, 10k and 100k tasks: `cargo bench -p megakernel-reference`.
//!
//! The programs are decode steps as compilers emit them: per layer a norm, tiled projections under one counter each,
//! rotary embedding, appends, attention, tiled output and MLP projections, residuals.

#![allow(missing_docs, clippy::unwrap_used)]

use std::fmt::Write;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use megakernel_ir::protocol::Profile;
use megakernel_ir::read;
use megakernel_reference::validate::{Classes, validate, validate_program};

/// Writes a decode step of about `tasks` tasks.
struct Decoder {
    buffers: Vec<String>,
    tasks: Vec<String>,
    counters: usize,
}

const DIM: usize = 1024;
const TILES: usize = 64;

impl Decoder {
    fn buffer(&mut self, kind: &str, dtype: &str, shape: &str) -> usize {
        let id = self.buffers.len();
        self.buffers.push(format!(
            r#"{{"id":{id},"name":"b{id}","kind":"{kind}","dtype":"{dtype}","shape":{shape},"space":"HBM","source":null}}"#
        ));
        id
    }

    /// A task of its own counter that waits for whole counters, given with their producers.
    fn task(
        &mut self,
        op: &str,
        inputs: &[usize],
        output: usize,
        waits: &[(usize, usize)],
        params: &str,
    ) -> (usize, usize) {
        let counter = self.counters;
        self.counters += 1;
        self.push(op, inputs, output, waits, params, counter);
        (counter, 1)
    }

    fn push(
        &mut self,
        op: &str,
        inputs: &[usize],
        output: usize,
        waits: &[(usize, usize)],
        params: &str,
        counter: usize,
    ) {
        let id = self.tasks.len();
        let mut list = String::new();
        for (index, (counter, threshold)) in waits.iter().enumerate() {
            let separator = if index > 0 { "," } else { "" };
            write!(list, r#"{separator}{{"counter":{counter},"threshold":{threshold}}}"#).unwrap();
        }
        self.tasks.push(format!(
            r#"{{"id":{id},"op":"{op}","inputs":{inputs:?},"outputs":[{output}],"out_counter":{counter},"waits":[{list}],"params":{params},"sm":null,"est_bytes":4096,"est_flops":2048,"label":"{op}[{id}]"}}"#
        ));
    }

    /// A projection in tiles under one counter.
    fn projection(&mut self, input: usize, output: usize, n: usize, wait: (usize, usize)) -> (usize, usize) {
        let weight = self.buffer("WEIGHT", "F32", &format!("[{n},{DIM}]"));
        let counter = self.counters;
        self.counters += 1;
        let tile = n / TILES;
        for index in 0..TILES {
            let params = format!(r#"{{"K":{DIM},"N_tile":{tile},"n_off":{}}}"#, index * tile);
            self.push("GEMV_TILE", &[input, weight], output, &[wait], &params, counter);
        }
        (counter, TILES)
    }

    fn layer(&mut self, x: usize, x_ready: (usize, usize), position: usize) -> (usize, (usize, usize)) {
        let row = format!("[1,{DIM}]");
        let heads = format!("[16,{}]", DIM / 16);
        let cache = format!("[64,16,{}]", DIM / 16);
        let [normed, q, k, v, attended, projected, sum, gate, up, act, down, next] =
            [(); 12].map(|()| self.buffer("ACTIVATION", "F32", &row));
        let [q_heads, k_heads, q_rope, k_rope] = [(); 4].map(|()| self.buffer("ACTIVATION", "F32", &heads));
        let [k_cache, v_cache] = [(); 2].map(|()| self.buffer("KV_CACHE", "F32", &cache));
        let norm = self.buffer("WEIGHT", "F32", &format!("[{DIM}]"));
        let eps = format!(r#"{{"eps":1e-05,"hidden":{DIM}}}"#);
        let hidden = format!(r#"{{"hidden":{}}}"#, DIM / 16);
        let rope = format!(r#"{{"head_dim":{},"theta":10000.0}}"#, DIM / 16);
        let ready = self.task("RMSNORM", &[x, norm], normed, &[x_ready], &eps);
        let [q_ready, k_ready, v_ready] = [q, k, v].map(|output| self.projection(normed, output, DIM, ready));
        let q_ready = self.task("EMBED", &[1, q], q_heads, &[q_ready], &hidden);
        let k_ready = self.task("EMBED", &[1, k], k_heads, &[k_ready], &hidden);
        let q_ready = self.task("ROPE", &[q_heads, 1], q_rope, &[q_ready], &rope);
        let k_ready = self.task("ROPE", &[k_heads, 1], k_rope, &[k_ready], &rope);
        let pos = format!(r#"{{"pos":{position}}}"#);
        let k_ready = self.task("KV_APPEND", &[k_rope, k_cache], k_cache, &[k_ready], &pos);
        let v_ready = self.task("KV_APPEND", &[v, v_cache], v_cache, &[v_ready], &pos);
        let attention = format!(
            r#"{{"head_dim":{},"kv_start":0,"kv_len":{},"scale":0.125,"n_heads":16,"n_kv_heads":16}}"#,
            DIM / 16,
            position + 1
        );
        let done = self.task(
            "ATTENTION_TILE",
            &[q_rope, k_cache, v_cache],
            attended,
            &[q_ready, k_ready, v_ready],
            &attention,
        );
        let done = self.projection(attended, projected, DIM, done);
        let done = self.task("ADD", &[x, projected], sum, &[x_ready, done], "{}");
        let [gate_ready, up_ready] = [gate, up].map(|output| self.projection(sum, output, DIM, done));
        let act_ready = self.task("SILU_MUL", &[gate, up], act, &[gate_ready, up_ready], "{}");
        let down_ready = self.projection(act, down, DIM, act_ready);
        let done = self.task("ADD", &[sum, down], next, &[done, down_ready], "{}");
        (next, done)
    }

    fn program(tasks: usize) -> String {
        let mut decoder = Decoder { buffers: Vec::new(), tasks: Vec::new(), counters: 0 };
        let ids = decoder.buffer("IO_INPUT", "I32", "[1]");
        decoder.buffer("IO_INPUT", "I32", "[1]");
        let table = decoder.buffer("WEIGHT", "F32", &format!("[512,{DIM}]"));
        let mut x = decoder.buffer("ACTIVATION", "F32", &format!("[1,{DIM}]"));
        let mut ready = decoder.task("EMBED", &[ids, table], x, &[], &format!(r#"{{"hidden":{DIM}}}"#));
        while decoder.tasks.len() + 500 < tasks {
            (x, ready) = decoder.layer(x, ready, 63);
        }
        let logits = decoder.buffer("IO_OUTPUT", "F32", &format!("[1,{DIM}]"));
        decoder.projection(x, logits, DIM, ready);
        let counters: Vec<String> =
            (0..decoder.counters).map(|id| format!(r#"{{"id":{id},"init":0,"note":""}}"#)).collect();
        format!(
            r#"{{"ir_version":"0.2.0","abi_version":"0.2","meta":{{}},"target":null,"buffers":[{}],"counters":[{}],"tasks":[{}],"pages":null,"config":null}}"#,
            decoder.buffers.join(","),
            counters.join(","),
            decoder.tasks.join(",")
        )
    }
}

fn benches(c: &mut Criterion) {
    for size in [1_000, 10_000, 100_000] {
        let text = Decoder::program(size);
        let program = read(text.as_bytes()).unwrap();
        let tasks = program.tasks.len();
        assert!(
            validate(text.as_bytes(), Classes::ALL).diagnostics.is_empty(),
            "the benchmark's program is accepted"
        );

        let mut group = c.benchmark_group("read");
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(tasks), |b| {
            b.iter(|| read(black_box(text.as_bytes())).unwrap())
        });
        group.finish();

        let mut group = c.benchmark_group("validate");
        group.throughput(Throughput::Elements(tasks as u64));
        let classes =
            [("all classes", Classes::ALL), ("profile validate", Classes::of_profile(Profile::Validate))];
        for (name, classes) in classes {
            group.bench_function(BenchmarkId::new(name, tasks), |b| {
                b.iter(|| validate_program(black_box(&program), classes));
            });
        }
        group.finish();
    }
}

criterion_group! { name = group; config = Criterion::default().sample_size(20); targets = benches }
criterion_main!(group);
