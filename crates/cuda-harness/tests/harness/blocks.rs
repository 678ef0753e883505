//! What a stranger's kernel has of its block: variables of shared memory, and groups of its threads. As shipped they pass on the CPU; with a
//! line changed they do not.

use std::process::Command;

use megakernel_ir::Opcode;
use megakernel_test_support::part;

use crate::strangers::{Stranger, assert_says};
use crate::support::corpus::{assert_no_race, assert_passes};
use crate::support::fewer;
use crate::support::worker::{Worker, chain, f32s};
use crate::support::wrong::assert_wrong_numbers;

const SHARED: Stranger = Stranger { name: "shared", opcodes: &[Opcode::Softmax, Opcode::Add] };

const DECLARED: Stranger = Stranger { name: "declared", opcodes: &[Opcode::RmsNorm] };

/// Rows of other lengths than blocks have, and axes.
const ROWS: &str = "numeric/softmax/{ranks,special,range,random}/*";
const TILES: &str = "numeric/add/sizes/1x1027-f32-to-f32";

#[test]
fn variables_of_a_block_hold_what_its_threads_write() {
    let right = SHARED.unchanged();
    assert_passes(&["--kernels", &right], "numeric/softmax/random/*");
    assert_passes(&["--seed", "3", "--threads", "96", "--kernels", &right], "numeric/add/sizes/*");
    assert_passes(&["--kernels", &DECLARED.unchanged()], "numeric/rmsnorm/random/*");
    let wrong = SHARED.with(&[
        ("room.of_warp[threadIdx.x / 32] = value", "room.of_warp[0] = value"),
        ("i % 4 * 32", "i % 4 * 31"),
    ]);
    assert_wrong_numbers(&["--kernels", &wrong], "numeric/softmax/random/*-f32-to-f32");
    assert_wrong_numbers(&["--kernels", &wrong], TILES);
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_variables_of_a_block_hold_what_its_threads_write_in_every_mode() {
    let (right, declared) = (SHARED.unchanged(), DECLARED.unchanged());
    let checked = ["--sanitize", "address,undefined", "--limit", "60"];
    for options in [&[][..], &["--seed", "3", "--threads", "96"], &checked] {
        let rows = if options == checked { "numeric/softmax/random/*" } else { ROWS };
        assert_passes(&[options, &["--kernels", &right]].concat(), rows);
        assert_passes(&[options, &["--kernels", &right]].concat(), "numeric/add/sizes/*");
        assert_passes(&[options, &["--kernels", &declared]].concat(), "numeric/rmsnorm/random/*");
    }
    assert_passes(&["--kernels", &declared], "numeric/rmsnorm/sizes/*");
}

/// The first function of [`SHARED`].
const LARGEST: &str = "__device__ float largest_of_block";

/// Stores beside variables, where nobody has any.
const BESIDE: [(&str, &str, &str); 3] = [
    (
        "__shared__ amk_i64 numel;",
        "__shared__ amk_i64 numel; (&numel)[1] = 1;",
        "a store behind the end of `numel` in shared memory",
    ),
    (
        "__shared__ amk_i64 numel;",
        "__shared__ amk_i64 numel; (&numel)[-1] = 1;",
        "a store before `numel` in shared memory",
    ),
    (
        "float* const tile = ",
        "amk_shared()[48 * 1024] = 1; float* const tile = ",
        "a store behind the end of `amk_shared()` in shared memory",
    ),
];

#[test]
fn accesses_beside_a_variable_of_a_block_are_said() {
    for (from, to, said) in part::one_in(3, BESIDE.into_iter()) {
        assert_says(&["--kernels", &SHARED.with(&[(from, to)])], TILES, said);
    }
    // Declared outside, it is each function's that names it.
    let outside = |then: &str, set: &str| {
        let declared = ["__shared__ amk_i64 numel;\n", LARGEST].concat();
        let changes =
            [(LARGEST, &*declared), ("    __shared__ amk_i64 numel;", then), ("numel = y.numel;", set)];
        ["--kernels".to_owned(), SHARED.with(&changes)]
    };
    // And captured by nobody.
    let sets = ["[=] { numel = y.numel; }();", "numel = y.numel;", "[](amk_i64 n) { numel = n; }(y.numel);"];
    for set in part::one_in(3, sets.into_iter()) {
        assert_passes(&outside("", set).each_ref().map(String::as_str), TILES);
    }
    let said = "a store behind the end of `numel` in shared memory";
    let behind = outside("(&numel)[1] = 1;", "numel = y.numel;");
    assert_says(&behind.each_ref().map(String::as_str), TILES, said);
    let first = SHARED.with(&[("__shared__ amk_i64 numel;", "__shared__ amk_i64 numel = 0;")]);
    let cache = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_megakernel-cuda"))
        .args(["--kernels", &first, "--prepare", "--cache"])
        .arg(cache.path())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("`__shared__ amk_i64 numel = 0;`: shared memory has no first value"), "{said}");
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_accesses_beside_a_variable_of_a_block_are_seen_by_sanitizers() {
    let checked = ["--sanitize", "address,undefined", "--kernels"];
    for (from, to, _) in BESIDE {
        assert_says(&[&checked[..], &[&SHARED.with(&[(from, to)])]].concat(), TILES, "AddressSanitizer");
    }
    // At no larger multiple than it asks for, which nothing but a sanitizer notices on a CPU.
    let anywhere = SHARED.with(&[("__align__(16) float tiles", "float tiles")]);
    let mut worker = Worker::new(&[&checked[..], &[&anywhere]].concat());
    let answer = worker.execute(&[chain(&[("ADD", &[])])], &[("x", f32s(&[1.0, -2.5, 3.0]))]);
    let said = answer["message"].as_str().unwrap_or_default();
    assert!(
        said.contains("misaligned address") && said.contains("which requires 16 byte alignment"),
        "{answer}"
    );
}

#[test]
#[ignore = "needs ThreadSanitizer, which does not run on every kernel"]
fn a_missing_barrier_around_a_variable_of_a_block_is_a_race() {
    let checked = ["--sanitize", "thread", "--limit", "60", "--kernels"];
    let cases = "numeric/softmax/random/*-f32-to-f32";
    assert_no_race(&[&checked[..], &[&SHARED.unchanged()]].concat(), TILES);
    let unmet = ("of_thread[threadIdx.x] = value;\n    __syncthreads();", "of_thread[threadIdx.x] = value;");
    assert_says(&[&checked[..], &[&SHARED.with(&[unmet])]].concat(), cases, "ThreadSanitizer: data race");
}

#[test]
#[ignore = "needs minutes, and ThreadSanitizer; the release gate runs it"]
fn minutes_each_missing_barrier_around_a_variable_of_a_block_is_a_race() {
    let checked = ["--sanitize", "thread", "--limit", "60", "--kernels"];
    let rows = "numeric/softmax/random/*-f32-to-f32";
    assert_no_race(&[&checked[..], &[&SHARED.unchanged()]].concat(), rows);
    for (from, to, cases) in [
        ("__syncthreads();\n    if (threadIdx.x == 0) {", "if (threadIdx.x == 0) {", rows),
        ("numel = y.numel;\n    __syncthreads();", "numel = y.numel;", TILES),
    ] {
        let changed = SHARED.with(&[(from, to)]);
        assert_says(&[&checked[..], &[&changed]].concat(), cases, "ThreadSanitizer: data race");
    }
    let (of_rows, declared) = ("numeric/rmsnorm/random/*-f32-to-f32", DECLARED.unchanged());
    assert_no_race(&[&checked[..], &[&declared]].concat(), of_rows);
    assert_says(
        &[
            &checked[..],
            &[&DECLARED.with(&[("room.first = 0;\n    }\n    __syncthreads();", "room.first = 0;\n    }")])],
        ]
        .concat(),
        of_rows,
        "ThreadSanitizer: data race",
    );
}

const GROUPS: Stranger = Stranger { name: "groups", opcodes: &[Opcode::RmsNorm, Opcode::Add, Opcode::Copy] };

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_groups_of_lanes_and_their_copies_conform() {
    let right = GROUPS.unchanged();
    for options in [&[][..], &["--seed", "3", "--threads", "96"]] {
        assert_passes(&[options, &["--kernels", &right]].concat(), "numeric/rmsnorm/{random,sizes}/*");
        assert_passes(&[options, &["--kernels", &right]].concat(), "numeric/add/sizes/*");
    }
    // A part of what is copied is taken too early; copies go over what others still read; lanes of one group call other functions.
    let early = [("cg::wait_prior<1>(block)", "cg::wait_prior<2>(block)")];
    let over = [
        ("__shared__ __align__(16) float parts[2][128]", "__shared__ __align__(16) float parts[1][128]"),
        ("parts[first / 128 % 2], from", "parts[0], from"),
        ("parts[first / 128 % 2][i]", "parts[0][i]"),
    ];
    for changes in [&early[..], &over] {
        assert_wrong_numbers(&["--kernels", &GROUPS.with(changes)], TILES);
    }
    let other = GROUPS.with(&[(
        "sum = cg::reduce(tile, sum, cg::plus<float>());",
        "if (tile.thread_rank() == 0) tile.sync(); else sum = cg::reduce(tile, sum, cg::plus<float>());",
    )]);
    assert_says(
        &["--kernels", &other],
        "numeric/rmsnorm/eps/rows-3x32-f32-to-f32",
        "calls reduce(0x000000ff), and lane 0 __syncwarp(0x000000ff)",
    );
}

const ATOMIC: Stranger = Stranger { name: "atomic", opcodes: &[Opcode::Copy, Opcode::Nop, Opcode::Add] };

#[test]
fn atomic_words_and_pipelines_conform() {
    assert_passes(&["--kernels", &ATOMIC.unchanged()], "{execution/litmus/behind-nops,numeric/add/sizes/*}");
    let early = ATOMIC.with(&[("__pipeline_wait_prior(1)", "__pipeline_wait_prior(2)")]);
    assert_wrong_numbers(&["--kernels", &early], TILES);
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_atomic_words_order_as_much_as_they_are_asked_to_in_weak_memory() {
    let cases = "execution/litmus/behind-nops";
    let right = ATOMIC.unchanged();
    let weak = ["--sanitize", "order", "--threads", "32", "--kernels"];
    assert_passes(&[&weak[..], &[&right]].concat(), cases);
    for change in UNORDERED {
        assert_wrong_numbers(&[&weak[..], &[&ATOMIC.with(&[change])]].concat(), cases);
    }
    // In order, and for the block alone.
    let block = ATOMIC.with(&[("thread_scope_device", "thread_scope_block")]);
    assert_wrong_numbers(&[&weak[..], &[&block]].concat(), cases);
}

/// Words that order less than signal and wait have to.
const UNORDERED: [(&str, &str); 2] =
    [("memory_order_acquire", "memory_order_relaxed"), ("memory_order_release", "memory_order_relaxed")];

#[test]
#[ignore = "needs minutes, and ThreadSanitizer; the release gate runs it"]
fn minutes_atomic_words_that_order_too_little_are_a_race() {
    let cases = "execution/litmus/behind-nops";
    let checked = ["--sanitize", "thread", "--limit", "60", "--threads", "32", "--kernels"];
    assert_no_race(&[&checked[..], &[&ATOMIC.unchanged()]].concat(), cases);
    for change in UNORDERED {
        assert_says(
            &[&checked[..], &[&ATOMIC.with(&[change])]].concat(),
            cases,
            "ThreadSanitizer: data race",
        );
    }
}

/// Its opcodes are the suite's.
const GRID: Stranger = Stranger { name: "grid", opcodes: &[Opcode::Copy, Opcode::Add, Opcode::Nop] };

/// Blocks that meet each by itself: a count may be seen before what it counts.
const ALONE: (&str, &str) = ("grid.sync();", "__syncthreads();");

#[test]
fn blocks_that_meet_as_a_grid_see_what_all_of_them_wrote() {
    let cases = "execution/litmus/*";
    let opcodes = fewer::opcodes(cases);
    let right = fewer::file(&opcodes, &GRID.text(&[]));
    assert_passes(&["--vm", &right, "--seed", "3", "--repeat", "2"], cases);
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_blocks_that_meet_as_a_grid_are_ordered_in_weak_memory() {
    let opcodes = fewer::opcodes("execution/litmus/*");
    let file = |changes: &[(&str, &str)]| fewer::file(&opcodes, &GRID.text(changes));
    let right = file(&[]);
    assert_passes(&["--vm", &right], "execution/litmus/*");
    assert_passes(&["--sanitize", "order", "--repeat", "3", "--vm", &right], "execution/litmus/behind-nops");
    assert_wrong_numbers(&["--sanitize", "order", "--vm", &file(&[ALONE])], "execution/litmus/behind-nops");
}

#[test]
#[ignore = "needs minutes, and ThreadSanitizer; the release gate runs it"]
fn minutes_blocks_that_do_not_meet_as_a_grid_race() {
    let cases = "execution/litmus/behind-nops";
    let checked = ["--sanitize", "thread", "--limit", "60", "--threads", "32", "--vm"];
    let file = |changes: &[(&str, &str)]| fewer::file(&fewer::opcodes(cases), &GRID.text(changes));
    assert_no_race(&[&checked[..], &[&file(&[])]].concat(), cases);
    assert_says(&[&checked[..], &[&file(&[ALONE])]].concat(), cases, "ThreadSanitizer: data race");
}
