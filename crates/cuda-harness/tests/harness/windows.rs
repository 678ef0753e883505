//! ATTENTION_TILE with fewer heads than a block has warps for: several share the same heads, each with a part of the window.

use megakernel_cuda_harness::sources::SOURCES;
use megakernel_ir::{DType, Opcode};
use megakernel_numerics::Tensor;
use serde_json::json;

use crate::support::fewer;
use crate::support::worker::Worker;

const DIM: usize = 64;
const ROWS: usize = 140;
const START: usize = 3;

/// By name: what stands once in `ops/attention_tile.cuh`, and what a fault has in its place.
const FAULTS: [(&str, &str, &str); 3] = [
    ("what parts have is not rescaled", "by * sums[head][i]", "sums[head][i]"),
    (
        "a row between two parts is left out",
        "(part + 1) / parts) * step_rows",
        "(part + 1) / parts) * step_rows - 1",
    ),
    ("the last part is left out", "other < parts; ++other", "other < parts - 1; ++other"),
];

/// Heads, heads of the caches, and rows of a window.
#[derive(Clone, Copy, Debug)]
struct Shape(usize, usize, usize);

/// From 1, 2 and 4 heads at once, one of which leaves warps over, to more than there are warps; windows of less than a step of a warp, of more
/// steps than warps, and of nothing.
const SHAPES: [Shape; 8] = [
    Shape(1, 1, 130),
    Shape(2, 1, 31),
    Shape(4, 1, 130),
    Shape(4, 1, 5),
    Shape(3, 3, 130),
    Shape(8, 2, 97),
    Shape(40, 2, 130),
    Shape(4, 1, 0),
];

/// A file for `--kernels` whose ATTENTION_TILE has a text in place of another one.
fn with(from: &str, to: &str) -> String {
    let (_, text) = SOURCES.iter().find(|(path, _)| *path == "ops/attention_tile.cuh").expect("a source");
    assert_eq!(text.matches(from).count(), 1, "{from}");
    let text = text.replace(from, to).replace("#pragma once", "").replace("#include", "// ");
    let text = ["attention_", "op_attention_"]
        .iter()
        .fold(text, |text, name| text.replace(&format!("amk_{name}"), &format!("faulty_{name}")));
    fewer::file(
        &[Opcode::AttentionTile],
        &format!("{text}#define AMK_REPLACE_ATTENTION_TILE faulty_op_attention_tile\n"),
    )
}

/// The row that a head weighs, and every 64th from there on, if they lie in its window; all others have the same score.
fn picked(head: usize) -> usize {
    (head * 29 + 70) % DIM
}

fn value(row: usize, cache: usize, d: usize) -> f64 {
    ((row * 7 + d * 3 + cache * 11) % 101) as f64
}

/// What a head has, by the definition: sums, the largest score, the sum of weights, all of which are exact.
fn expected(Shape(heads, caches, len): Shape, partial: bool) -> Vec<f64> {
    let mut found = Vec::new();
    for head in 0..heads {
        let all: Vec<usize> = (START..START + len).collect();
        let mut weighed: Vec<usize> = all.iter().copied().filter(|row| row % DIM == picked(head)).collect();
        let max = if all.is_empty() {
            f64::NEG_INFINITY
        } else if weighed.is_empty() {
            0.0
        } else {
            200.0
        };
        if weighed.is_empty() {
            weighed = all;
        }
        let sum = |d| weighed.iter().map(|row| value(*row, head / (heads / caches), d)).sum::<f64>();
        let weight = weighed.len() as f64;
        found.extend((0..DIM).map(|d| if partial { sum(d) } else { f64::from((sum(d) / weight) as f32) }));
        if partial {
            found.extend([max, weight]);
        }
    }
    found
}

/// What kernels have.
fn run(shape: Shape, dtype: DType, partial: bool, options: &[&str]) -> Vec<f64> {
    let Shape(heads, caches, len) = shape;
    let tensor = |shape: &[usize], at: &dyn Fn(usize) -> f64| {
        let values: Vec<f64> = (0..shape.iter().product()).map(at).collect();
        Tensor::from_reals(dtype, shape.iter().map(|extent| *extent as u64).collect(), &values)
            .expect("a tensor")
    };
    let unit = |from: usize, to: usize| f64::from(u8::from(from == to));
    let cache = [ROWS, caches, DIM];
    let tensors = [
        ("q", tensor(&[heads, DIM], &|at| 200.0 * unit(picked(at / DIM), at % DIM))),
        ("k", tensor(&cache, &|at| unit(at / DIM / caches % DIM, at % DIM))),
        ("v", tensor(&cache, &|at| value(at / DIM / caches, at / DIM % caches, at % DIM))),
    ];
    let dtype = dtype.name();
    let out = if partial { DIM + 2 } else { DIM };
    let buffer = |id: usize, name: &str, kind: &str, dtype: &str, shape: &[usize]| json!({"id": id, "name": name, "kind": kind, "dtype": dtype, "shape": shape});
    let program = json!({"ir_version": "0.2.0", "abi_version": "0.2",
        "buffers": [buffer(0, "q", "IO_INPUT", dtype, &[heads, DIM]), buffer(1, "k", "IO_INPUT", dtype, &cache),
                    buffer(2, "v", "IO_INPUT", dtype, &cache), buffer(3, "y", "IO_OUTPUT", "F32", &[heads, out])],
        "counters": [{"id": 0}],
        "tasks": [{"id": 0, "op": "ATTENTION_TILE", "inputs": [0, 1, 2], "outputs": [3], "out_counter": 0,
                   "params": {"head_dim": DIM, "n_heads": heads, "n_kv_heads": caches, "kv_start": START, "kv_len": len,
                              "scale": 1.0, "flags": if partial { 2 } else { 0 }}}]});
    let mut worker = Worker::new(options);
    let answer = worker.execute(&[program], &tensors);
    assert_eq!(answer["outcome"], "accept", "{shape:?} {options:?}: {answer}");
    worker.reals("out-0", "y")
}

#[test]
fn warps_that_share_a_window_have_what_one_has() {
    let right = fewer::file(&[Opcode::AttentionTile], "");
    let ways = |check: &mut dyn FnMut(Shape, DType, bool, &str)| {
        for shape in SHAPES {
            for partial in [true, false] {
                // Without rows only a part is specified.
                if shape.2 == 0 && !partial {
                    continue;
                }
                for threads in ["32", "64", "256"] {
                    check(shape, DType::BF16, partial, threads);
                }
                check(shape, DType::F32, partial, "256");
            }
        }
    };
    ways(&mut |shape, dtype, partial, threads| {
        let found = run(shape, dtype, partial, &["--threads", threads, "--kernels", &right]);
        assert_eq!(found, expected(shape, partial), "{shape:?} {dtype} {partial} {threads}");
    });
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_faults_of_warps_that_share_a_window_are_seen() {
    // The second head weighs all rows.
    for (fault, from, to) in FAULTS {
        let faulty = with(from, to);
        let found = run(Shape(2, 1, 31), DType::BF16, true, &["--threads", "256", "--kernels", &faulty]);
        assert_ne!(found, expected(Shape(2, 1, 31), true), "{fault}");
    }
}
