//! A stranger's products by `tcgen05`, of operands however they lie: as shipped they pass on the CPU, and with one of the mistakes that people make they
//! do not.

use megakernel_conformance::run::Outcome;
use megakernel_ir::Opcode;
use megakernel_test_support::{files, part};

use crate::strangers::{Stranger, assert_says};
use crate::support::corpus::{assert_passes, path, play};
use crate::support::fewer;
use crate::support::worker::{Worker, chain, f32s};
use crate::tensor_mistakes::{CHANGES, MISTAKES};

const STRANGER: Stranger = Stranger { name: "tensor_memory", opcodes: &[Opcode::GemmTile] };

/// The path of the stranger's two files as one, with a change.
fn kernels(changes: &[(&str, &str)]) -> String {
    let instructions = files::text(&path("tests/kernels/strangers/tensor_memory.cuh"));
    let one = ("#include \"tensor_memory.cuh\"\n", instructions.as_str());
    STRANGER.with(&[&[one], changes].concat())
}

/// The options for a file with some of its switches set, such as `M=64 N=8`.
fn options(kernels: &str, threads: &str, switches: &str) -> Vec<String> {
    let defines =
        switches.split_whitespace().flat_map(|set| ["--define".to_owned(), format!("TENSOR_{set}")]);
    ["--threads", threads, "--accumulator", "truncating", "--kernels", kernels]
        .map(str::to_owned)
        .into_iter()
        .chain(defines)
        .collect()
}

fn passes(kernels: &str, threads: &str, switches: &str, more: &[&str], cases: &str) {
    let options = options(kernels, threads, switches);
    let options: Vec<&str> = more.iter().copied().chain(options.iter().map(String::as_str)).collect();
    assert_passes(&options, cases);
}

#[test]
fn products_in_tensor_memory_conform() {
    // Half of the lanes for each of two sums, masks, a first factor in tensor memory, another by columns, signs, and two shapes of registers.
    let switches = "M=64 INTERLEAVED=1 MASKED=1 A_MEMORY=1 ST=64 LD=256 LD_NUM=2 B_LAYOUT=64 B_MAJOR=1 NEGATED=3 ISSUER=1";
    passes(&kernels(&[]), "128", switches, &[], "numeric/gemm-tile/{random,special}/*");
}

const LARGE: &str = "numeric/gemm-tile/large/72x72x200-whole-bf16-to-f32";

#[test]
fn mistakes_around_tensor_memory_are_found() {
    let mistakes = [
        ("", ("proxy_fence();\n", "\n"), "tcgen05.mma reads what was stored at `amk_shared()`"),
        (
            "",
            ("if (filled >= STAGES) barrier_wait(", "if (filled > STAGES) barrier_wait("),
            "an operand of a tcgen05.mma, at `amk_shared()`",
        ),
        (
            "M=64 N=8",
            (
                "threadIdx.x / 32 % 4, thread = threadIdx.x % 32;\n    const int groups",
                "0, thread = threadIdx.x % 32;\n    const int groups",
            ),
            "tcgen05.ld at lane 0 of tensor memory by warp 1, which reaches lanes 32 to 63",
        ),
    ];
    for (switches, change, said) in part::one_in(3, mistakes.into_iter()) {
        let options = options(&kernels(&[change]), "128", switches);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        assert_says(&options, LARGE, said);
    }
}

/// Two products of small integers after each other, of 8 bits with sums of 32, of F16 with such sums, and with binary32 of which the second adds half.
const OTHER_SUMS: &str = r#"
#include "task.cuh"
#include <cuda_fp16.h>
#define MULTIPLY(KIND, MORE)                                                                                                    \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::" KIND " [%0], %1, %2, %3, p" MORE "; }" \
                 ::"r"(tensor), "l"(describe(a)), "l"(describe(b)), "r"(instruction), "r"(step) : "memory")
__device__ void twice(const amk_program_t&, const amk_instruction_t&) {
    // Lines of 32 bytes along K, in matrices of 8 lines by 16 bytes: of a line one after the other.
    __shared__ alignas(128) unsigned char a[64 * 32], b[8 * 32];
    __shared__ alignas(8) unsigned long long barrier;
    __shared__ unsigned address;
    const unsigned done = unsigned(__cvta_generic_to_shared(&barrier));
    const auto of_a = [](int m, int k) { return (m * 5 + k * 3) % 7 - 3; };
    const auto of_b = [](int n, int k) { return (n * 3 + k) % 5 - 2; };
    const auto lay = [](unsigned char* to, int line, int k, int bytes, int value) {
        to += line / 8 * 256 + k * bytes / 16 * 128 + line % 8 * 16 + k * bytes % 16;
        if (bytes == 1) *to = (unsigned char)value;
        else *reinterpret_cast<__half*>(to) = __float2half(float(value));
    };
    const auto describe = [](const void* start) { return (__cvta_generic_to_shared(start) >> 4) | 8ull << 16 | 16ull << 32 | 1ull << 46; };
    if (threadIdx.x < 32) asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.b32 [%0], 32;" ::"l"(&address) : "memory");
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(done) : "memory");
    __syncthreads();
    const unsigned tensor = address + 8;
    for (int kind = 0; kind < 3; ++kind) {
        const int bytes = kind == 0 ? 1 : 2, K = 32 / bytes;
        for (int i = threadIdx.x; i < 64 * K; i += blockDim.x) lay(a, i / K, i % K, bytes, of_a(i / K, i % K));
        for (int i = threadIdx.x; i < 8 * K; i += blockDim.x) lay(b, i / K, i % K, bytes, of_b(i / K, i % K));
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        const unsigned instruction = 1u << 17 | 4u << 24 | (kind == 0 ? 2u << 4 | 1u << 7 | 1u << 10 : kind == 2 ? 1u << 4 : 0);
        for (int step = 0; step < 2 && threadIdx.x == 0; ++step) {
            if (kind == 0) MULTIPLY("i8", "");
            else if (kind == 1) MULTIPLY("f16", "");
            else MULTIPLY("f16", ", 1");
        }
        if (threadIdx.x == 0) asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%0];" ::"l"(&barrier) : "memory");
        for (unsigned passed = 0; passed == 0;) {
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(passed) : "r"(done), "r"(kind & 1) : "memory");
        }
        unsigned d[8];
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8+8]; tcgen05.wait::ld.sync.aligned;"
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7])
                     : "r"(address + (threadIdx.x / 32 << 21)) : "memory");
        for (int n = 0; n < 8 && threadIdx.x % 32 < 16; ++n) {
            int sum = 0;
            for (int k = 0; k < K; ++k) sum += of_a(threadIdx.x / 32 * 16 + threadIdx.x % 32, k) * of_b(n, k);
            if (kind == 0) assert(int(d[n]) == 2 * sum);
            else if (kind == 1) assert(__half2float(__ushort_as_half((unsigned short)d[n])) == 2.0f * float(sum));
            else assert(__uint_as_float(d[n]) == 1.5f * float(sum));
        }
        __syncthreads();
    }
    if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(address) : "memory");
}
#define AMK_REPLACE_ADD twice
"#;

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_other_sums_in_tensor_memory() {
    let run = |text: &str| {
        let kernels = fewer::file(&fewer::CHAIN, text);
        let mut worker = Worker::new(&["--threads", "128", "--kernels", &kernels]);
        worker.execute(&[chain(&[("ADD", &[])])], &[("x", f32s(&[1.0, -2.5, 3.0]))])
    };
    let right = run(OTHER_SUMS);
    assert_eq!(right["outcome"], "accept", "{right}");
    for (from, to, said) in [
        (
            "= address + 8;",
            "= address + 28;",
            "tcgen05.mma of columns 508 to 515 of tensor memory, of which 512 is not allocated",
        ),
        ("1u << 17 | 4u", "1u << 17 | 5u", "M is neither 64 nor 128"),
        ("2u << 4 | 1u << 7", "1u << 4 | 1u << 7", "no such sums"),
        ("1ull << 46", "1ull << 45", "is no descriptor of a matrix for tcgen05"),
        (" tcgen05.wait::ld.sync.aligned;", "", "Assertion"),
        (
            "[%0], 32;\" ::\"l\"",
            "[%0], 48;\" ::\"l\"",
            "tcgen05.alloc of 48 columns, which is no power of two from 32 to 512",
        ),
    ] {
        assert_eq!(OTHER_SUMS.matches(from).count(), 1, "{from}");
        let wrong = run(&OTHER_SUMS.replace(from, to));
        assert!(wrong["message"].as_str().is_some_and(|found| found.contains(said)), "{said}: {wrong}");
    }
    let waits = run(&OTHER_SUMS
        .replace("if (threadIdx.x < 32) asm volatile(\"tcgen05.alloc", "asm volatile(\"tcgen05.alloc")
        .replace("], 32;", "], 256;"));
    let said = "for 256 columns of tensor memory, of which 0 are free";
    assert!(waits["message"].as_str().is_some_and(|found| found.contains(said)), "{waits}");
}

/// Switches that between them have each layout of operands, each shape of an instruction, of loads and of stores, and each order.
const VARIANTS: [&str; 26] = [
    "",
    "A_LAYOUT=16 B_LAYOUT=16",
    "A_LAYOUT=8 B_LAYOUT=8",
    "A_LAYOUT=32 B_LAYOUT=64 M=64",
    "A_LAYOUT=8 B_LAYOUT=8 B_MAJOR=1",
    "A_LAYOUT=128 B_LAYOUT=32 B_MAJOR=1 N=16",
    "A_LAYOUT=16 B_LAYOUT=16 A_MAJOR=1 B_MAJOR=1",
    "A_LAYOUT=64 B_LAYOUT=32 A_MAJOR=1 M=64",
    "A_LAYOUT=128 B_LAYOUT=128 A_MAJOR=1 B_MAJOR=1 N=128",
    "M=64 N=256 LD_NUM=32",
    "M=64 N=24",
    "N=8 ODD_N=1",
    "N=256 A_LAYOUT=64 B_LAYOUT=64",
    "LD=64 LD_NUM=8",
    "LD=128 LD_NUM=4",
    "LD=256 LD_NUM=8",
    "LD=2 LD_NUM=4 M=64",
    "A_MEMORY=1 ST=128 B_LAYOUT=64",
    "A_MEMORY=1 ST=2",
    "A_MEMORY=1 ST=32 STAGED=1",
    "A_MEMORY=1 ST=256 STAGED=1",
    "ACCUMULATORS=1 M=64 N=8",
    "M=64 INTERLEAVED=1 LD=256 LD_NUM=4 A_MEMORY=1 ST=64 N=256",
    "MASKED=1 M=64",
    "ISSUER=2 A_MEMORY=1",
    "KIND=1 A_LAYOUT=132 B_LAYOUT=132 A_MAJOR=1 B_MAJOR=1",
];

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_products_in_tensor_memory_conform_however_operands_lie() {
    let kernels = kernels(&[]);
    for (number, switches) in VARIANTS.iter().enumerate() {
        let threads = ["128", "256", "160"][number % 3];
        passes(
            &kernels,
            threads,
            switches,
            &[],
            "numeric/gemm-tile/{random,faint,special,ranks,bias,large}/*",
        );
    }
    // A block that has given up the right to allocate may run no other such task.
    passes(&kernels, "128", "RELINQUISH=1", &[], "numeric/gemm-tile/large/*-whole-*");
    for more in [
        &["--seed", "3"][..],
        &["--sanitize", "address,undefined", "--limit", "60"],
        &["--sanitize", "order"],
    ] {
        passes(&kernels, "256", "", more, "numeric/gemm-tile/random/*");
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_mistakes_in_products_in_tensor_memory_are_found() {
    // One of them is none with 128 threads.
    let found = |switches: &str, change: (&str, &str)| {
        ["128", "256"].into_iter().any(|threads| {
            let options = options(&kernels(&[change]), threads, switches);
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let played = play(&options, "numeric/gemm-tile/{large,random}/*");
            played.values().any(|outcome| *outcome != Outcome::Passed)
        })
    };
    for (switches, from, to) in MISTAKES {
        assert!(found(switches, (from, to)), "{switches}: `{to}` for `{from}`");
    }
    for (switches, from, to) in CHANGES {
        assert!(!found(switches, (from, to)), "{switches}: `{to}` for `{from}`");
    }
}
