//! Kernels on matrix units, as emulated: cases pass with `--tensor-cores`, and reject faults that are planted in what fragments, tiles and
//! parts of weights have of their own.

use megakernel_cuda_harness::sources::SOURCES;
use megakernel_ir::{DType, Opcode};
use megakernel_numerics::Tensor;
use serde_json::json;

use crate::support::corpus::assert_passes;
use crate::support::fewer;
use crate::support::worker::Worker;
use crate::support::wrong::assert_wrong_numbers;

/// By name: what stands once in `tensor_attention.cuh`, what a fault has in its place, and cases all of which reject it.
const ATTENTION: [(&str, &str, &str, &str); 9] = [
    (
        "two words of a fragment of weights are exchanged",
        "word = head / 8 + key / 4 % 2 * 2",
        "word = head / 8 * 2 + key / 4 % 2",
        "numeric/attention-tile/random/batch-{f16,bf16}-to-*",
    ),
    (
        "queries are loaded as the other operand is",
        "lane % 16, chunk + 2 * half + lane / 16",
        "lane / 16 * 8 + lane % 8, chunk + 2 * half + lane / 8 % 2",
        LARGE,
    ),
    (
        "what has been summed is not rescaled",
        "t.sum(head, d) * t.rescale[head] + sum",
        "t.sum(head, d) + sum",
        "numeric/attention-tile/large/head-64-bf16*",
    ),
    (
        "the last eight rows of a tile are left out",
        "for (int row = 0; row < t.keys; row += 8)",
        "for (int row = 0; row < t.keys - 8; row += 8)",
        LARGE,
    ),
    (
        "the last tile is left out, if it is not full",
        "tile * t.keys < window_rows; ++tile",
        "tile * t.keys + t.keys <= window_rows; ++tile",
        LARGE,
    ),
    (
        "a tile is overwritten by the next one",
        "stages + tile % 2 * 4 * keys * width",
        "stages",
        LARGE,
    ),
    (
        "rows behind the window count",
        "bool live = j < window_rows;",
        "bool live = true;",
        "numeric/attention-tile/random/batch-{f16,bf16}-to-*",
    ),
    (
        "weights are rounded to 11 bits",
        "+ (sums[1][i / 4][i % 4] + sums[2][i / 4][i % 4] / 1024.0f) / 1024.0f",
        "",
        "numeric/attention-tile/random/{batch,gqa,mqa}-f16-to-f32",
    ),
    (
        "all heads have the mask of the first",
        "(mask_by_head ? bh + head : b)",
        "(mask_by_head ? bh : b)",
        "numeric/attention-tile/mask/heads-{f16,bf16}-bool-to-*",
    ),
];

/// Windows of more than one tile, none of them of whole tiles.
const LARGE: &str = "numeric/attention-tile/large/head-{64-bf16,64-partial,128-f16}*";

/// A source of the kernels.
fn source(name: &str) -> &'static str {
    SOURCES.iter().find(|(path, _)| *path == name).map(|(_, text)| *text).expect("a source")
}

/// A file for `--kernels` whose ATTENTION_TILE has a text in place of another one.
fn attention_with(from: &str, to: &str) -> String {
    let text = source("tensor_attention.cuh");
    assert_eq!(text.matches(from).count(), 1, "{from}");
    let text = text.replace(from, to).replace("#pragma once", "").replace("#include", "// ");
    // In a namespace of its own, beside the right one.
    let text = format!(
        "#include \"ops/attention_tile.cuh\"\nnamespace faulty {{\n{text}\n}}\n\
         AMK_DEVICE void faulty_attention(const amk_program_t& program, const amk_instruction_t& task) {{\n\
         switch (amk_input(program, task, 0).dtype) {{\n\
         case AMK_DTYPE_F16: faulty::amk_attention_by_fragment<AMK_DTYPE_F16>(program, task); break;\n\
         case AMK_DTYPE_BF16: faulty::amk_attention_by_fragment<AMK_DTYPE_BF16>(program, task); break;\n\
         default: amk_op_attention_tile(program, task); break;\n}}\n}}\n\
         #define AMK_REPLACE_ATTENTION_TILE faulty_attention\n"
    );
    fewer::file(&[Opcode::AttentionTile], &text)
}

#[test]
fn faults_of_attention_on_matrix_units_are_rejected() {
    let right = fewer::file(&[Opcode::AttentionTile], "");
    for (fault, from, to, cases) in ATTENTION {
        eprintln!("{fault}");
        assert_passes(&["--tensor-cores", "--kernels", &right], cases);
        assert_wrong_numbers(&["--tensor-cores", "--kernels", &attention_with(from, to)], cases);
    }
}

/// 20 heads that share rows, so that a block takes them in two turns, of which each picks two rows in different tiles: the others weigh
/// nothing at all.
#[test]
fn heads_of_all_fragments_and_turns_pick_their_rows() {
    const HEADS: usize = 40;
    const CACHES: usize = 2;
    const DIM: usize = 64;
    const ROWS: usize = 2 * DIM;
    let value = |row: usize, cache: usize, d: usize| match (row, d) {
        (5, 7) => f64::INFINITY,
        (5 | 69, 9) => f64::NEG_INFINITY,
        _ => ((row * 7 + d * 3 + cache * 11) % 101) as f64,
    };
    let expected: Vec<f64> = (0..HEADS * DIM)
        .map(|at| (at / DIM, at % DIM))
        .map(|(head, d)| {
            let of = |row| value(row, head / (HEADS / CACHES), d);
            (of(head) + of(head + DIM)) / 2.0
        })
        .collect();
    let picks = |from: usize, to: usize| f64::from(u8::from(from == to));
    for dtype in ["F16", "BF16"] {
        let tensor = |shape: &[usize], at: &dyn Fn(usize) -> f64| {
            let values: Vec<f64> = (0..shape.iter().product()).map(at).collect();
            let shape = shape.iter().map(|extent| *extent as u64).collect();
            Tensor::from_reals(DType::from_name(dtype).expect("a dtype"), shape, &values).expect("a tensor")
        };
        let cache = [ROWS, CACHES, DIM];
        let tensors = [
            ("q", tensor(&[HEADS, DIM], &|at| 200.0 * picks(at / DIM, at % DIM))),
            ("k", tensor(&cache, &|at| picks(at / DIM / CACHES % DIM, at % DIM))),
            ("v", tensor(&cache, &|at| value(at / DIM / CACHES, at / DIM % CACHES, at % DIM))),
        ];
        let buffer = |id: usize, name: &str, kind: &str, dtype: &str, shape: &[usize]| json!({"id": id, "name": name, "kind": kind, "dtype": dtype, "shape": shape});
        let program = json!({"ir_version": "0.2.0", "abi_version": "0.2",
            "buffers": [buffer(0, "q", "IO_INPUT", dtype, &[HEADS, DIM]), buffer(1, "k", "IO_INPUT", dtype, &cache),
                        buffer(2, "v", "IO_INPUT", dtype, &cache), buffer(3, "y", "IO_OUTPUT", "F32", &[HEADS, DIM])],
            "counters": [{"id": 0}],
            "tasks": [{"id": 0, "op": "ATTENTION_TILE", "inputs": [0, 1, 2], "outputs": [3], "out_counter": 0,
                       "params": {"head_dim": DIM, "n_heads": HEADS, "n_kv_heads": CACHES, "kv_start": 0, "kv_len": ROWS,
                                  "scale": 1.0}}]});
        let run = |options: &[&str], kernels: &str| {
            let mut worker = Worker::new(&[&["--tensor-cores", "--kernels", kernels], options].concat());
            let answer = worker.execute(std::slice::from_ref(&program), &tensors);
            assert_eq!(answer["outcome"], "accept", "{dtype}: {answer}");
            worker.reals("out-0", "y")
        };
        let right = fewer::file(&[Opcode::AttentionTile], "");
        for options in [&[][..], &["--threads", "32"], &["--threads", "256", "--seed", "3"]] {
            assert_eq!(run(options, &right), expected, "{dtype} {options:?}");
        }
        // A part that is zero would make a NaN of an infinity.
        let faulty = attention_with("finite = amk_warp_max(finite ? 0.0f : 1.0f) == 0.0f;", "finite = true;");
        assert_ne!(run(&[], &faulty), expected);
    }
}
