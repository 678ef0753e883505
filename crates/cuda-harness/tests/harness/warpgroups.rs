//! Strangers' products by `wgmma`, in all ways that operands may lie: as shipped they pass on the CPU, and with one of the mistakes that people make they
//! do not.

use megakernel_conformance::run::Outcome;
use megakernel_ir::Opcode;
use megakernel_test_support::part;

use crate::strangers::{Stranger, assert_says};
use crate::support::corpus::{assert_passes, play};
use crate::support::fewer;
use crate::support::worker::{Worker, chain, f32s};

const HALVES: Stranger = Stranger { name: "warpgroups", opcodes: &[Opcode::GemmTile] };
const OTHERS: Stranger = Stranger { name: "warpgroups_types", opcodes: &[Opcode::GemmTile] };

/// As their comments say, in which order the macro counts them.
const VARIANTS_OF_HALVES: usize = 17;
const VARIANTS_OF_OTHERS: usize = 6;

/// The options for a file, in one of its variants.
fn variant(kernels: &str, number: usize) -> Vec<String> {
    let number = format!("WARPGROUP_VARIANT={number}");
    ["--threads", "128", "--accumulator", "truncating", "--define", &number, "--kernels", kernels]
        .map(str::to_owned)
        .to_vec()
}

fn passes(kernels: &str, number: usize, more: &[&str], cases: &str) {
    let options = variant(kernels, number);
    let options: Vec<&str> = more.iter().copied().chain(options.iter().map(String::as_str)).collect();
    assert_passes(&options, cases);
}

const CASES: &str = "numeric/gemm-tile/{random,special}/*";

#[test]
fn products_of_four_warps_conform() {
    // One of the ways in which operands lie: all of them, of both kernels, are the gate's.
    for (stranger, number) in part::one_in(2, [(HALVES, 6), (OTHERS, 2)].into_iter()) {
        passes(&stranger.unchanged(), number, &[], CASES);
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_mistakes_around_products_of_four_warps_are_found() {
    for (change, said) in [
        (("warpgroup_fence();\n#", "#"), "a thread begins its first wgmma without a `wgmma.fence`"),
        (("proxy_fence();\n", "\n"), "wgmma reads what was stored at `amk_shared()`"),
        (("warpgroup_commit();\n", "\n"), "a thread returns while sums of a wgmma are under way"),
        (
            ("warpgroup_commit();\n", "warpgroup_commit(); d[1] *= 0.5f;\n"),
            "a sum of a wgmma was written, or its variable has gone, before it was waited for",
        ),
        (
            ("if (computes) {\n", "if (computes && threadIdx.x < 96) {\n"),
            "in block 0 threads 0 to 95 wait for wgmma that 96 of the 128 threads of four warps have begun (",
        ),
    ] {
        let options = variant(&HALVES.with(&[change]), 4);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        assert_says(&options, "numeric/gemm-tile/random/*-{f16,bf16}-to-f32", said);
    }
}

/// Sums of F16, two in a register: twice the product of two matrices of small integers, in two steps that are under way together.
const SUMS_OF_HALVES: &str = r#"
#include "task.cuh"
#include <cuda_fp16.h>
__device__ void twice(const amk_program_t&, const amk_instruction_t&) {
    // Matrices of 8 by 8 in a row: of A along M first, and of B, whose columns are the lines.
    __shared__ alignas(128) __half a[64 * 16], b[8 * 16];
    const auto of_a = [](int m, int k) { return float((m * 5 + k * 3) % 7 - 3); };
    const auto of_b = [](int n, int k) { return float((n * 3 + k) % 5 - 2); };
    for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) a[i / 16 % 8 * 8 + i / 128 * 64 + i % 16 / 8 * 512 + i % 8] = __float2half(of_a(i / 16, i % 16));
    for (int i = threadIdx.x; i < 8 * 16; i += blockDim.x) b[i / 16 * 8 + i % 16 / 8 * 64 + i % 8] = __float2half(of_b(i / 16, i % 16));
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    const auto describe = [](const void* start, unsigned long long leading) {
        return (__cvta_generic_to_shared(start) >> 4) | (leading >> 4) << 16 | 8ull << 32;
    };
    unsigned d[2] = {0x7e007e00u, 0x7e007e00u};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int step = 0; step < 2; ++step) {
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, %2, %3, p, 1, 1, 0, 0; }"
                     : "+r"(d[0]), "+r"(d[1]) : "l"(describe(a, 1024)), "l"(describe(b, 128)), "r"(step));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; ++i) {
        const int m = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 * 8, n = threadIdx.x % 4 * 2 + i % 2;
        float sum = 0.0f;
        for (int k = 0; k < 16; ++k) sum += 2.0f * of_a(m, k) * of_b(n, k);
        assert(__half2float(__ushort_as_half((unsigned short)(d[i / 2] >> 16 * (i % 2)))) == sum);
    }
}
#define AMK_REPLACE_ADD twice
"#;

#[test]
fn sums_of_halves_are_two_in_a_register() {
    let kernels = |text: &str| fewer::file(&fewer::CHAIN, text);
    let run = |text: &str| {
        let mut worker = Worker::new(&["--threads", "128", "--kernels", &kernels(text)]);
        let x = [("x", f32s(&[1.0, -2.5, 3.0]))];
        worker.execute(&[chain(&[("ADD", &[])])], &x)
    };
    let right = run(SUMS_OF_HALVES);
    assert_eq!(right["outcome"], "accept", "{right}");
    let unfenced = run(&SUMS_OF_HALVES.replace(
        "\"r\"(step));",
        "\"r\"(step)); if (step == 0) { asm volatile(\"wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\"); d[1] = 0; }",
    ));
    let said = "a wgmma adds to a register that was written with no `wgmma.fence` since";
    assert!(unfenced["message"].as_str().is_some_and(|found| found.contains(said)), "{unfenced}");
    let early = run(&SUMS_OF_HALVES.replace("wait_group.sync.aligned 0", "wait_group.sync.aligned 1"));
    assert!(early["message"].as_str().is_some_and(|said| said.contains("Assertion")), "{early}");
}

/// Changes of how operands lie and are described, of registers, and of order; with a variant that has it.
const MISTAKES: [(usize, (&str, &str)); 14] = [
    (4, ("plain ^ (plain >> 3 & (Layout - 16))", "plain ^ (plain >> 2 & (Layout - 16))")),
    (2, ("plain ^ (plain >> 3 & (Layout - 16))", "plain ^ (plain >> 3 & 0x70)")),
    (0, ("encode(leading) << 16 | encode(stride) << 32", "encode(stride) << 16 | encode(leading) << 32")),
    (4, ("encode(start) | encode", "(start & 0x3fff) | encode")),
    (
        4,
        (
            "SWIZZLED_128 ? 1 : Layout == SWIZZLED_64 ? 2 : Layout == SWIZZLED_32 ? 3",
            "SWIZZLED_128 ? 3 : Layout == SWIZZLED_64 ? 2 : Layout == SWIZZLED_32 ? 1",
        ),
    ),
    (2, ("leading = 16;\n        stride = 8 * Layout;", "leading = 16;\n        stride = Layout;")),
    (11, ("leading = TILE_K * Layout;", "leading = 16;")),
    (3, ("b_at + place<V.layout_b, V.transposed_b>(0, k, N), N)", "b_at, N)")),
    (4, ("const int accumulate = step > 0 || k > 0;", "const int accumulate = k > 0;")),
    (4, ("m = first + i / 2 % 2 * 8", "m = first + i / 4 % 2 * 8")),
    (
        5,
        (
            "row = first + part % 2 * 8, k = k0 + part / 4 * 16 + part / 2 % 2 * 8",
            "row = first + part / 2 % 2 * 8, k = k0 + part / 4 * 16 + part % 2 * 8",
        ),
    ),
    (4, ("proxy_fence();\n                __syncthreads();", "proxy_fence();")),
    (4, ("warpgroup_wait<STAGES - 1>();", "warpgroup_wait<STAGES>();")),
    (
        8,
        (
            "\"n\"(V.sign_a), \"n\"(V.sign_b), \"n\"(V.transposed_a), \"n\"(V.transposed_b))",
            "\"n\"(V.sign_a), \"n\"(V.sign_b), \"n\"(V.transposed_a), \"n\"(0))",
        ),
    ),
];

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_mistakes_in_products_of_four_warps_are_found() {
    for (number, change) in MISTAKES {
        let options = variant(&HALVES.with(&[change]), number);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        for (id, outcome) in play(&options, "numeric/gemm-tile/large/72x72x200-whole-bf16-to-f32") {
            assert!(matches!(outcome, Outcome::WrongAnswer(_)), "{change:?} on {id}: {outcome:?}");
        }
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_products_of_four_warps_conform_however_operands_lie() {
    for (stranger, variants) in [(HALVES, VARIANTS_OF_HALVES), (OTHERS, VARIANTS_OF_OTHERS)] {
        let kernels = stranger.unchanged();
        for number in 0..variants {
            passes(
                &kernels,
                number,
                &[],
                "numeric/gemm-tile/{random,faint,special,ranks,bias,widths,large,coded,range}/*",
            );
        }
        for more in [
            &["--seed", "3"][..],
            &["--sanitize", "address,undefined", "--limit", "60"],
            &["--sanitize", "order"],
            &["--sanitize", "thread", "--limit", "60"],
        ] {
            passes(&kernels, 4, more, "numeric/gemm-tile/random/*");
        }
    }
}
