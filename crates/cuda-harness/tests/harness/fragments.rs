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
const ATTENTION: [(&str, &str, &str, &str); 10] = [
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
        "a tile is read while it is under way",
        "amk_copy_wait();\n            __syncthreads();\n            for",
        "__syncthreads();\n            for",
        LARGE,
    ),
    ("a tile is overwritten by the next one", "stages + tile % 2 * 4 * keys * width", "stages", LARGE),
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

const PRODUCTS: [Opcode; 2] = [Opcode::GemvTile, Opcode::GemmTile];

/// Weights in groups, without zeros.
const GROUPS: &str = "numeric/gemv-tile/quantised/2x3x1120-i*symmetric-chunks-bf16-*";

/// The same of `tensor.cuh`.
const PRODUCT: [(&str, &str, &str, &str); 7] = [
    (
        "the rows of x are loaded as those of the weight are",
        "my_m + 16 * a + lane % 16, chunk = 2 * k + lane / 16",
        "my_m + 16 * a + lane / 16 * 8 + lane % 8, chunk = 2 * k + lane / 8 % 2",
        "numeric/gemm-tile/random/5x12x40-f8*-to-{bf16,f16,f8e5m2}",
    ),
    (
        // Two fewer than are declared.
        "sums have 21 bits of a fraction",
        "second[b / 2] + b % 2 * 2);",
        "second[b / 2] + b % 2 * 2), [&] { for (float& sum : sums[a][b]) sum = __uint_as_float(__float_as_uint(sum) & ~3u); }();",
        "numeric/gem*-tile/faint/{2,3,17}x4x20*-truncating-{bf16,f16}-to-f32",
    ),
    (
        "a stage is read while it is under way",
        "amk_copy_wait();\n                __syncthreads();\n                stage",
        "__syncthreads();\n                stage",
        "numeric/gemm-tile/random/5x12x40-f16-to-*",
    ),
    (
        "bytes are unsigned",
        "float(int(byte ^ 0x80u) - 128)",
        "float(int(byte))",
        "numeric/gemv-tile/quantised/2x3x1120-i8-symmetric-chunks-bf16-*",
    ),
    (
        "nibbles are exchanged",
        "float(int(words[0] >> 4 * i & 15u) - 8)",
        "float(int(words[0] >> 4 * (i ^ 1) & 15u) - 8)",
        "numeric/gemv-tile/quantised/2x3x1120-i4-*symmetric-chunks-bf16-*",
    ),
    ("a group has the scale of the next one", "scale(end / group - 1)", "scale(end / group)", GROUPS),
    ("the last group is left out", "if (quantised) scale(groups - 1);", "", GROUPS),
];

/// Windows of more than one tile, none of them of whole tiles.
const LARGE: &str = "numeric/attention-tile/large/head-{64-bf16,64-partial,128-f16}*";

/// A source of the kernels.
fn source(name: &str) -> &'static str {
    SOURCES.iter().find(|(path, _)| *path == name).map(|(_, text)| *text).expect("a source")
}

/// A source that has a text in place of another one, in a namespace of its own beside the right one.
fn faulty(name: &str, from: &str, to: &str) -> String {
    let text = source(name);
    assert_eq!(text.matches(from).count(), 1, "{from}");
    let text = text.replace(from, to).replace("#pragma once", "").replace("#include", "// ");
    format!("#include \"ops/attention_tile.cuh\"\n#include \"matrix.cuh\"\nnamespace faulty {{\n{text}\n}}\n")
}

/// A file for `--kernels` whose ATTENTION_TILE has a text in place of another one.
fn attention_with(from: &str, to: &str) -> String {
    let text = faulty("tensor_attention.cuh", from, to);
    let text = format!(
        "{text}AMK_DEVICE void faulty_attention(const amk_program_t& program, const amk_instruction_t& task) {{\n\
         switch (amk_input(program, task, 0).dtype) {{\n\
         case AMK_DTYPE_F16: faulty::amk_attention_by_fragment<AMK_DTYPE_F16>(program, task); break;\n\
         case AMK_DTYPE_BF16: faulty::amk_attention_by_fragment<AMK_DTYPE_BF16>(program, task); break;\n\
         default: amk_op_attention_tile(program, task); break;\n}}\n}}\n\
         #define AMK_REPLACE_ATTENTION_TILE faulty_attention\n"
    );
    fewer::file(&[Opcode::AttentionTile], &text)
}

/// A file for `--kernels` whose GEMM_TILE and GEMV_TILE have a text in place of another one.
fn product_with(from: &str, to: &str) -> String {
    // By their arguments, the right ones would be found too.
    let text = ["amk_matrix_of_dtype", "amk_rectangles"]
        .iter()
        .fold(faulty("tensor.cuh", from, to), |text, name| text.replace(name, &format!("faulty_{name}")));
    let text = format!(
        "{text}AMK_DEVICE void faulty_product(const amk_program_t& program, const amk_instruction_t& task, amk_i64 lo, amk_i64 hi) {{\n\
         const int dtype = hi - lo > 1 ? amk_fragment_dtype(program, task) : int(AMK_DTYPE_COUNT);\n\
         if (dtype == AMK_DTYPE_COUNT) return amk_matrix(program, task, lo, hi);\n\
         faulty::amk_matrix_by_fragment(program, task, dtype, lo, hi);\n}}\n\
         AMK_DEVICE void faulty_gemm(const amk_program_t& program, const amk_instruction_t& task) {{\n\
         faulty_product(program, task, task.params.m_off, task.params.m_off + task.params.M_tile);\n}}\n\
         AMK_DEVICE void faulty_gemv(const amk_program_t& program, const amk_instruction_t& task) {{\n\
         faulty_product(program, task, 0, amk_input(program, task, 0).numel / task.params.K);\n}}\n\
         #define AMK_REPLACE_GEMM_TILE faulty_gemm\n#define AMK_REPLACE_GEMV_TILE faulty_gemv\n"
    );
    fewer::file(&PRODUCTS, &text)
}

#[test]
#[ignore = "needs minutes; a C++ compiler makes a program for each fault"]
fn minutes_faults_of_products_on_matrix_units_are_rejected() {
    let right = fewer::file(&PRODUCTS, "");
    for (fault, from, to, cases) in PRODUCT {
        eprintln!("{fault}");
        assert_passes(&["--tensor-cores", "--kernels", &right], cases);
        assert_wrong_numbers(&["--tensor-cores", "--kernels", &product_with(from, to)], cases);
    }
}

#[test]
#[ignore = "needs minutes; a C++ compiler makes a program for each fault"]
fn minutes_faults_of_attention_on_matrix_units_are_rejected() {
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
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_heads_of_all_fragments_and_turns_pick_their_rows() {
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

/// Each code of 8 and of 4 bits is one element of a weight, and x the unit matrix: what comes out are the sums that binary64 has, with all
/// infinities and NaN.
#[test]
fn every_code_of_few_bits_is_widened_to_its_number() {
    const K: usize = 8;
    let tensor = |dtype: DType, shape: [usize; 2], bytes: Vec<u8>| {
        Tensor::new(dtype, shape.map(|extent| extent as u64).to_vec(), bytes).expect("a tensor")
    };
    let reals = |dtype: DType, shape: [usize; 2], values: &[f64]| {
        Tensor::from_reals(dtype, shape.map(|extent| extent as u64).to_vec(), values).expect("a tensor")
    };
    let unit: Vec<f64> = (0..K * K).map(|at| f64::from(u8::from(at / K == at % K))).collect();
    let nibbles: Vec<f64> =
        (0..256).flat_map(|byte| [f64::from(byte % 16) - 8.0, f64::from(byte / 16) - 8.0]).collect();
    for (w, of_x) in [
        (DType::F8E4M3, &[DType::F16, DType::BF16, DType::F8E5M2][..]),
        (DType::F8E5M2, &[DType::F16, DType::BF16, DType::F8E4M3]),
        (DType::I8, &[DType::F16, DType::BF16, DType::F8E4M3]),
        (DType::U8, &[DType::F16, DType::BF16, DType::F8E5M2]),
    ] {
        let qdtype =
            [(DType::I8, 6), (DType::U8, 7)].into_iter().find_map(|(of, code)| (of == w).then_some(code));
        let stored = if w == DType::U8 { K / 2 } else { K };
        let rows = 256 / stored;
        let weight = tensor(w, [rows, stored], (0..=255).collect());
        let (values, scale) = match qdtype {
            Some(7) => (nibbles.clone(), 0.5),
            Some(_) => (weight.reals(), 0.5),
            None => (weight.reals(), 1.0),
        };
        let expected =
            |m: usize, n: usize| -> f64 { (0..K).map(|k| unit[m * K + k] * values[n * K + k] * scale).sum() };
        let expected: Vec<String> =
            (0..K * rows).map(|at| format!("{:?}", expected(at / rows, at % rows) + 0.0)).collect();
        for x in of_x {
            let buffer = |id: usize, name: &str, kind: &str, dtype: DType, shape: [usize; 2]| json!({"id": id, "name": name, "kind": kind, "dtype": dtype.name(), "shape": shape});
            let mut buffers = vec![
                buffer(0, "x", "IO_INPUT", *x, [K, K]),
                buffer(1, "w", "WEIGHT", w, [rows, stored]),
                buffer(2, "y", "IO_OUTPUT", DType::F32, [K, rows]),
            ];
            let mut params = json!({"K": K, "N_tile": rows, "M_tile": K, "n_off": 0});
            let mut inputs = vec![0, 1];
            let mut tensors = vec![("x", reals(*x, [K, K], &unit)), ("w", weight.clone())];
            if let Some(code) = qdtype {
                buffers.push(buffer(3, "s", "WEIGHT", DType::F32, [rows, 1]));
                tensors.push(("s", reals(DType::F32, [rows, 1], &vec![0.5; rows])));
                inputs.push(3);
                params["qdtype"] = json!(code);
                params["group"] = json!(K);
            }
            let program = json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers, "counters": [{"id": 0}],
                "tasks": [{"id": 0, "op": "GEMM_TILE", "inputs": inputs, "outputs": [2], "out_counter": 0, "params": params}]});
            let run = |kernels: &str| -> Vec<String> {
                let mut worker = Worker::new(&["--tensor-cores", "--kernels", kernels]);
                let answer = worker.execute(std::slice::from_ref(&program), &tensors);
                assert_eq!(answer["outcome"], "accept", "{w} {x}: {answer}");
                // Zeros have either sign.
                worker.reals("out-0", "y").iter().map(|value| format!("{:?}", value + 0.0)).collect()
            };
            assert_eq!(run(&fewer::file(&PRODUCTS, "")), expected, "{w} {x}");
            if w == DType::F8E4M3 {
                let (from, to) = ("amk_e4m3::decode(byte)", "amk_e4m3::decode(byte - (byte % 128 == 127))");
                assert_ne!(run(&product_with(from, to)), expected, "the NaN of {w} as a number");
            }
        }
    }
}
