//! Kernels as strangers write them, with CUDA's own types, functions and headers: cases pass on the CPU, and with a line changed they are
//! rejected, or ended with a sentence that says what is wrong.

use std::collections::BTreeMap;
use std::process::Command;

use megakernel_conformance::run::Outcome;
use megakernel_ir::Opcode;
use megakernel_test_support::{files, part};
use serde_json::json;

use crate::support::corpus::{assert_no_race, assert_passes, path, play};
use crate::support::fewer;
use crate::support::worker::{Worker, chain, f32s};
use crate::support::wrong::assert_wrong_numbers;

/// A kernel of `tests/kernels/strangers`, and the opcodes that its cases have.
pub struct Stranger {
    /// Its file's.
    pub name: &'static str,
    /// Those.
    pub opcodes: &'static [Opcode],
}

impl Stranger {
    /// Its text, each of these texts replaced by another.
    #[track_caller]
    pub fn text(&self, changes: &[(&str, &str)]) -> String {
        let mut text = files::text(&path(&format!("tests/kernels/strangers/{}.cu", self.name)));
        for (from, to) in changes {
            assert_eq!(text.matches(from).count(), 1, "{} has `{from}` once", self.name);
            text = text.replace(from, to);
        }
        text
    }

    /// The path of a file with that.
    #[track_caller]
    pub fn with(&self, changes: &[(&str, &str)]) -> String {
        fewer::file(self.opcodes, &self.text(changes))
    }

    /// The same as it is.
    pub fn unchanged(&self) -> String {
        self.with(&[])
    }
}

/// Asserts that each case ends with a message that has this in it.
#[track_caller]
pub fn assert_says(options: &[&str], cases: &str, message: &str) {
    let found: BTreeMap<String, Outcome> = play(options, cases);
    let says = |outcome: &Outcome| format!("{outcome:?}").contains(message);
    assert!(found.values().all(says), "{options:?} on {cases}, not `{message}`: {found:#?}");
}

const VECTORS: Stranger = Stranger { name: "vectors", opcodes: &[Opcode::Add, Opcode::Copy] };

#[test]
fn vectors_are_loaded_and_stored_where_they_lie_as_they_have_to() {
    let right = VECTORS.unchanged();
    let cases = "numeric/{add,copy}/{random,sizes,storage,special,integers}/*";
    assert_passes(&["--kernels", &right], cases);
    let long = "numeric/add/sizes/1x1027-f32-to-f32";
    let wrong = VECTORS.with(&[("l.z + r.z", "l.z + r.y"), ("__stcs(to + i,", "__stcs(to + i / 2,")]);
    assert_wrong_numbers(&["--kernels", &wrong], long);
    assert_wrong_numbers(&["--kernels", &wrong], "numeric/copy/sizes/1x1027-f16-to-f16");
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_vectors_that_do_not_lie_as_they_have_to_are_said() {
    // All elements are right, and the loads no GPU would do.
    let checked = ["--sanitize", "undefined", "--kernels"];
    let displaced = VECTORS.with(&[
        ("first = 0", "first = 1"),
        (
            "from = static_cast<const ulonglong2*>(x.ptr)",
            "from = reinterpret_cast<const ulonglong2*>(static_cast<const char*>(x.ptr) + 8)",
        ),
    ]);
    // The path of the kernel is too long for the runner to keep the end of what it says.
    let nine = f32s(&[1.0; 9]);
    let mut program = chain(&[("ADD", &[])]);
    program["buffers"][0]["shape"] = json!([9]);
    program["buffers"][1]["shape"] = json!([9]);
    let answer = Worker::new(&[&checked[..], &[&displaced]].concat()).execute(&[program], &[("x", nine)]);
    let said = answer["message"].as_str().unwrap_or_default();
    assert!(
        said.contains("misaligned address")
            && said.contains("'const struct float4', which requires 16 byte alignment"),
        "{answer}"
    );
    assert_says(
        &["--kernels", &displaced],
        "numeric/copy/sizes/1x1027-f16-to-f16",
        "a load of 16 bytes at an address that is no multiple of 16",
    );
    assert_passes(&[&checked[..], &[&VECTORS.unchanged()]].concat(), "numeric/add/sizes/1x1027-f32-to-f32");
}

const HALVES: Stranger =
    Stranger { name: "halves", opcodes: &[Opcode::Add, Opcode::Mul, Opcode::SiluMul, Opcode::Copy] };

#[test]
fn numbers_of_cudas_headers_are_rounded_once() {
    let right = HALVES.unchanged();
    let families = "{random,range,special,halfway,nan,cancellation,sizes,tails,ends}";
    assert_passes(
        &["--kernels", &right],
        &format!("numeric/{{add,mul,silu-mul}}/{families}/*-{{f16-to-f16,bf16-to-bf16}}"),
    );
    assert_passes(&["--kernels", &right], "numeric/copy/{special,halfway,range,nan,sizes}/*");
    let wrong = HALVES.with(&[
        ("__hadd2(a, b)", "__hmul2(a, b)"),
        ("__high2bfloat16(a), __high2bfloat16(b)", "__low2bfloat16(a), __high2bfloat16(b)"),
        ("__floats2half2_rn(silu(g.x) * u.x,", "__floats2half2_rn(silu(g.y) * u.x,"),
        ("__float2half_rn(value)", "__float2half_rz(value)"),
        ("__float2bfloat16_rn(value)", "__float2bfloat16_ru(value)"),
        ("__NV_NOSAT, __NV_E4M3", "__NV_SATFINITE, __NV_E4M3"),
        ("__NV_NOSAT, __NV_E5M2", "__NV_SATFINITE, __NV_E5M2"),
    ]);
    for cases in [
        "numeric/add/random/plain-f16-to-f16",
        "numeric/mul/random/two-bf16-to-bf16",
        "numeric/silu-mul/random/plain-f16-to-f16",
        "numeric/copy/halfway/*f32-to-{f16,bf16}",
        "numeric/copy/special/flat-f32-to-{f8e4m3,f8e5m2}",
    ] {
        assert_wrong_numbers(&["--kernels", &wrong], cases);
    }
}

const WARPS: Stranger = Stranger { name: "warps", opcodes: &[Opcode::RmsNorm] };

/// What of [`WARPS`] is changed, and what is said of it.
const MASKS: [(&str, &str, &str); 6] = [
    (
        "lane < 16 ? 0x0000ffffu : 0xffff0000u",
        "0xffffffffu",
        "waits in __shfl_down_sync(0xffffffff) for lane 31, which waits at a barrier of the block",
    ),
    (
        "lane < 16 ? 0x0000ffffu : 0xffff0000u",
        "lane < 16 ? 0x00007fffu : 0xffff0000u",
        "lane 15 of warp 0 in block 0 calls __shfl_down_sync(0x00007fff), whose mask does not name it",
    ),
    (
        "lane < 16 ? 0x0000ffffu : 0xffff0000u",
        "lane < 8 ? 0x000001ffu : lane < 16 ? 0x0000ffffu : 0xffff0000u",
        "waits in __shfl_down_sync(0x000001ff) for lane 8, which waits in __shfl_down_sync(0x0000ffff)",
    ),
    (
        "__shfl_sync(mask, sum, 0, 16)",
        "__shfl_sync(mask, sum, 0)",
        "reads in __shfl_sync(0xffff0000) from lane 0, which the mask does not name",
    ),
    (
        "__shfl_sync(mask, sum, 0, 16)",
        "(lane % 16 < 3 ? __shfl_sync(mask, sum, 0, 16) : __shfl_up_sync(mask, sum, lane % 16, 16))",
        "calls __shfl_sync(0x0000ffff), and lane 12 __shfl_up_sync(0x0000ffff)",
    ),
    (
        "sum, delta, 16)",
        "sum, delta, 12)",
        "calls __shfl_down_sync with the width 12, which is no power of two up to 32",
    ),
];

/// Three rows for four halves of warps, so that one half of a warp has none.
const ROWS: &str = "numeric/rmsnorm/eps/rows-3x32-f32-to-*";

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_halves_of_a_warp_meet_by_their_masks() {
    let right = WARPS.unchanged();
    for options in [&["--kernels", &right][..], &["--kernels", &right, "--seed", "3", "--threads", "96"]] {
        assert_passes(options, "numeric/rmsnorm/{random,sizes,special,range,long}/*");
    }
    for (from, to, said) in MASKS {
        assert_says(&["--kernels", &WARPS.with(&[(from, to)])], ROWS, said);
    }
    // Eight bits may hide that half of the squares is missing beside a large eps.
    let case = "numeric/rmsnorm/eps/rows-3x32-f32-to-f32";
    assert_wrong_numbers(&["--kernels", &WARPS.with(&[("delta = 8", "delta = 4")])], case);
}

#[test]
#[ignore = "needs minutes, and ThreadSanitizer; the release gate runs it"]
fn minutes_halves_of_a_warp_meet_by_their_masks_as_threads_of_the_cpu() {
    let checked = ["--sanitize", "thread", "--limit", "60", "--kernels"];
    assert_no_race(&[&checked[..], &[&WARPS.unchanged()]].concat(), ROWS);
    // Halves that meet by themselves do not wait for each other.
    let case = "execution/litmus/behind-nops";
    let checked_warp = [&checked[..4], &["--threads", "32", "--kernels"]].concat();
    assert_no_race(&[&checked_warp[..], &[&CACHED.unchanged()]].concat(), case);
    let half = ("__syncwarp(0xffffffffu)", "__syncwarp(threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u)");
    assert_says(&[&checked_warp[..], &[&CACHED.with(&[half])]].concat(), case, "ThreadSanitizer: data race");
    // Which of the lanes says it depends on their turns.
    for (mask, part) in [
        (0, "waits in __shfl_down_sync(0xffffffff) for lane "),
        (1, "calls __shfl_down_sync(0x00007fff), whose mask does not name it"),
        (2, "waits in __shfl_down_sync(0x000001ff) for lane 8, which waits in __shfl_down_sync(0x0000ffff)"),
        (3, "reads in __shfl_sync(0xffff0000) from lane 0, which the mask does not name"),
    ] {
        let (from, to, _) = MASKS[mask];
        assert_says(
            &[&checked[..], &[&WARPS.with(&[(from, to)])]].concat(),
            "numeric/rmsnorm/eps/rows-3x32-f32-to-f32",
            part,
        );
    }
}

const CACHED: Stranger = Stranger { name: "cached", opcodes: &[Opcode::Copy, Opcode::Nop] };

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_loads_stores_and_meetings_of_lanes_order_in_weak_memory_what_they_promise() {
    let weak = ["--sanitize", "order", "--threads", "32", "--repeat", "3", "--kernels"];
    let cases = "execution/litmus/behind-nops";
    assert_passes(&[&weak[..], &[&CACHED.unchanged()]].concat(), cases);
    let stale = ("__stcg(to + i, __ldcg(from + i))", "__stcg(to + i, __ldg(from + i))");
    let half = ("__syncwarp(0xffffffffu)", "__syncwarp(threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u)");
    for change in [stale, half] {
        assert_wrong_numbers(&[&weak[..4], &["--kernels", &CACHED.with(&[change])]].concat(), cases);
    }
    // Where nothing brings the cache up to date, what goes past it finds what others wrote, and what does not does not.
    let wait = format!("#include {:?}\n", path("tests/kernels/wait_without_acquire.cu"));
    let deaf =
        |changes: &[(&str, &str)]| fewer::file(CACHED.opcodes, &format!("{}{wait}", CACHED.text(changes)));
    assert_passes(&[&weak[..], &[&deaf(&[("__ldcs(", "__ldcg(")])]].concat(), cases);
    assert_wrong_numbers(&[&weak[..4], &["--kernels", &deaf(&[])]].concat(), cases);
}

const WMMA: Stranger = Stranger { name: "wmma", opcodes: &[Opcode::GemmTile] };
const FRAGMENTS: Stranger = Stranger { name: "fragments", opcodes: &[Opcode::GemmTile] };

/// Products of F16, and of BF16, of all shapes of output tiles.
const PRODUCTS: &str = "numeric/gemm-tile/{random,sizes,large,ranks,accumulator,coded,bias}/*{f16,bf16}-to-*";
/// Of those, the small ones.
const FEW_PRODUCTS: &str = "numeric/gemm-tile/{random,ranks,coded,bias}/*{f16,bf16}-to-*";
const DECLARED: [&str; 3] = ["--accumulator", "truncating", "--kernels"];

/// Sums that tell which adder made them, in the dtypes that these kernels multiply on matrix units.
const FAINT: &str = "numeric/gemm-tile/faint/3x4x2048-binary32-{bf16,f16}-to-f32";

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_matrix_units_are_rejected_as_what_they_are_not() {
    for stranger in [WMMA, FRAGMENTS] {
        let kernels = stranger.unchanged();
        assert_passes(&[&DECLARED[..], &[&kernels]].concat(), FAINT);
        assert_wrong_numbers(&["--kernels", &kernels], FAINT);
    }
    // Sums of F16 in F16, which no declaration covers.
    let kind = "std::conditional_t<std::is_same_v<T, half>, half, float>";
    let narrow =
        ("wmma::accumulator, M, N, 16, float> sum;", &*format!("wmma::accumulator, M, N, 16, {kind}> sum;"));
    let kernels = WMMA.with(&[narrow]);
    assert_wrong_numbers(
        &[&DECLARED[..], &[&kernels]].concat(),
        "numeric/gemm-tile/random/5x12x40-f16-to-f32",
    );
    assert_passes(&[&DECLARED[..], &[&kernels]].concat(), "numeric/gemm-tile/random/5x12x40-bf16-to-f32");
}

#[test]
fn products_of_wmma_conform_as_what_they_are_declared() {
    assert_passes(&[&DECLARED[..], &[&WMMA.unchanged()]].concat(), FEW_PRODUCTS);
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_mistakes_around_wmma_are_found() {
    let random = "numeric/gemm-tile/random/5x12x40-{bf16,f16}-to-*";
    for (from, to) in [
        ("wmma::col_major> right", "wmma::row_major> right"),
        ("wmma::mem_row_major", "wmma::mem_col_major"),
        (
            "wmma::mma_sync(sum, left, right, sum);\n            __syncwarp();",
            "wmma::fill_fragment(sum, 0.0f);\n            wmma::mma_sync(sum, left, right, sum);\n            __syncwarp();",
        ),
    ] {
        assert_wrong_numbers(&[&DECLARED[..], &[&WMMA.with(&[(from, to)])]].concat(), random);
    }
    for (from, to, said) in [
        (
            "right, b, 16)",
            "right, b, 12)",
            "load_matrix_sync with rows or columns that are no multiple of 16 bytes",
        ),
        ("left, a, 16)", "left, a + 8, 16)", "load_matrix_sync with an address that is no multiple of 32"),
        (
            "left, a, 16)",
            "left, a + lane / 16 * 16, 16)",
            "lane 16 of warp 0 in block 0 calls load_matrix_sync with another matrix or stride than lane 0",
        ),
    ] {
        assert_says(&[&DECLARED[..], &[&WMMA.with(&[(from, to)])]].concat(), random, said);
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_products_of_all_sizes_conform_as_what_they_are_declared() {
    for stranger in [WMMA, FRAGMENTS] {
        assert_passes(&[&DECLARED[..], &[&stranger.unchanged()]].concat(), PRODUCTS);
    }
}

#[test]
fn products_of_fragments_conform_as_what_they_are_declared() {
    assert_passes(&[&DECLARED[..], &[&FRAGMENTS.unchanged()]].concat(), FEW_PRODUCTS);
    let random = "numeric/gemm-tile/random/5x12x40-{bf16,f16}-to-*";
    let changes = [("amk_copy_wait();", ""), ("sums[0], a, b)", "sums[0], a, b + 2)")];
    for (from, to) in part::one_in(2, changes.into_iter()) {
        assert_wrong_numbers(&[&DECLARED[..], &[&FRAGMENTS.with(&[(from, to)])]].concat(), random);
    }
}

/// Whose units add up the products, the worker cannot see.
#[test]
fn a_worker_declares_how_a_strangers_kernel_adds_up() {
    let copies = fewer::file(&fewer::CHAIN, "");
    for (options, declared) in [
        (&[][..], json!(null)),
        (&["--accumulator", "binary32"], json!(null)),
        (&["--accumulator", "truncating"], json!("truncating")),
    ] {
        let mut worker = Worker::new(&[&["--kernels", &copies], options].concat());
        assert_eq!(
            worker.say(&json!({"type": "hello", "protocol": "1.0"}))["accumulator"],
            declared,
            "{options:?}"
        );
    }
    for (options, part) in [
        (
            &["--accumulator", "truncating"][..],
            "there is none: the kernels of this harness use matrix units with --tensor-cores",
        ),
        (
            &["--accumulator", "binary32", "--tensor-cores", "--kernels", &copies],
            "--tensor-cores has kernels of this harness add up as `truncating`",
        ),
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_megakernel-cuda")).args(options).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && text.contains(part), "{options:?}: {text}");
    }
}
