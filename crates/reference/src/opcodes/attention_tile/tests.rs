//! Tests of ATTENTION_TILE.

use megakernel_ir::{Param, Rule};

use crate::opcodes::testing::{Case, case, input, output, param};

/// Four query heads over two cache heads of size 8, window `[2, 7)` of 16 rows.
const PARAMS: &str = "head_dim=8 kv_start=2 kv_len=5 scale=0.5 n_heads=4 n_kv_heads=2";

/// A task with [`PARAMS`] and more.
fn tile(operands: &str, more: &str) -> Case {
    case(&format!("ATTENTION_TILE {operands}; {PARAMS} {more}"))
}

/// A task with rank-3 caches and these parameters.
fn with(params: &str) -> Case {
    case(&format!("ATTENTION_TILE F32[4,8] F32[16,2,8] F32[16,2,8] -> F32[1,32]; scale=0.5 {params}"))
}

#[test]
fn one_sequence() {
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] -> F32[1,32]", "").assert_clean();
    tile("F16[32] BF16[16,2,8] F8E4M3[16,2,8] -> F16[4,8]", "flags=1").assert_clean();
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] F32[5] -> F32[32]", "").assert_clean();
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] BOOL[4,5] -> F32[32]", "").assert_clean();
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] -> F32[4,10]", "flags=2").assert_clean();
}

#[test]
fn several_sequences() {
    tile("F32[3,4,8] F32[3,16,2,8] F32[3,16,2,8] -> F32[3,32]", "").assert_clean();
    tile("F32[3,4,8] F32[3,16,2,8] F32[3,16,2,8] BOOL[3,5] -> F32[3,4,8]", "").assert_clean();
    tile("F32[3,4,8] F32[3,16,2,8] F32[3,16,2,8] F32[3,4,5] -> F32[96]", "").assert_clean();
    tile("F32[3,4,8] F32[3,16,2,8] F32[3,16,2,8] -> F32[3,4,10]", "flags=3").assert_clean();
}

#[test]
fn the_footprint_is_the_window_of_the_caches() {
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] F32[5] -> F32[32]", "")
        .assert_reads(0, Some(&[[0, 4], [0, 8]]))
        .assert_reads(1, Some(&[[2, 7], [0, 2], [0, 8]]))
        .assert_reads(2, Some(&[[2, 7], [0, 2], [0, 8]]))
        .assert_reads(3, Some(&[[0, 5]]))
        .assert_writes(0, Some(&[[0, 32]]));
    tile("F32[3,4,8] F32[3,16,2,8] F32[3,16,2,8] -> F32[3,32]", "")
        .assert_reads(2, Some(&[[0, 3], [2, 7], [0, 2], [0, 8]]));
    case(
        "ATTENTION_TILE F32[4,8] F32[16,2,8] F32[16,2,8] -> F32[4,10]; \
         head_dim=8 kv_start=2 kv_len=0 scale=0.5 n_heads=4 n_kv_heads=2 flags=2",
    )
    .assert_clean()
    .assert_reads(1, Some(&[[2, 2], [0, 2], [0, 8]]));
}

#[test]
fn dtypes() {
    tile("I32[4,8] F32[16,2,8] F32[16,2,8] -> F32[32]", "").assert_problem(Rule::M01, input(0));
    tile("F32[4,8] I8[16,2,8] F32[16,2,8] -> F32[32]", "").assert_problem(Rule::M01, input(1));
    tile("F32[4,8] F32[16,2,8] I8[16,2,8] -> F32[32]", "").assert_problem(Rule::M01, input(2));
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] U8[5] -> F32[32]", "").assert_problem(Rule::M01, input(3));
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] -> BOOL[32]", "").assert_problem(Rule::M01, output(0));
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] -> F16[4,10]", "flags=2").assert_problem(Rule::M01, output(0));
}

#[test]
fn shapes_of_the_caches() {
    tile("F32[4,8] F32[16,16] F32[16,16] -> F32[32]", "").assert_problem(Rule::M02, input(1));
    tile("F32[4,8] F32[16,2,8] F32[16,16] -> F32[32]", "").assert_problem(Rule::M02, input(2));
    tile("F32[4,8] F32[16,2,8] F32[12,2,8] -> F32[32]", "").assert_problem(Rule::M02, input(2));
    tile("F32[4,8] F32[16,2,8] F32[1,16,2,8] -> F32[32]", "").assert_problem(Rule::M02, input(2));
    tile("F32[4,8] F32[16,4,8] F32[16,2,8] -> F32[32]", "").assert_problem(Rule::M02, input(1));
    tile("F32[4,8] F32[16,2,8] F32[16,2,4] -> F32[32]", "").assert_problem(Rule::M02, input(2));
    tile("F32[3,4,8] F32[3,16,2,8] F32[2,16,2,8] -> F32[96]", "").assert_problem(Rule::M02, input(2));
}

#[test]
fn shapes_of_query_and_output() {
    tile("F32[2,8] F32[16,2,8] F32[16,2,8] -> F32[32]", "").assert_problem(Rule::M02, input(0));
    tile("F32[33] F32[16,2,8] F32[16,2,8] -> F32[32]", "").assert_problem(Rule::M02, input(0));
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] -> F32[24]", "").assert_problem(Rule::M02, output(0));
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] -> F32[33]", "").assert_problem(Rule::M02, output(0));
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] -> F32[40]", "flags=2").assert_problem(Rule::M02, output(0));
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] -> F32[4,8]", "flags=2").assert_problem(Rule::M02, output(0));
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] -> F32[1,4,10]", "flags=2").assert_problem(Rule::M02, output(0));
    tile("F32[12,8] F32[3,16,2,8] F32[3,16,2,8] -> F32[96]", "").assert_problem(Rule::M02, input(0));
    tile("F32[2,4,8] F32[3,16,2,8] F32[3,16,2,8] -> F32[96]", "").assert_problem(Rule::M02, input(0));
    tile("F32[3,4,8] F32[3,16,2,8] F32[3,16,2,8] -> F32[2,4,8]", "").assert_problem(Rule::M02, output(0));
    tile("F32[3,4,8] F32[3,16,2,8] F32[3,16,2,8] -> F32[12,10]", "flags=2")
        .assert_problem(Rule::M02, output(0));
}

#[test]
fn shapes_of_the_mask() {
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] F32[16] -> F32[32]", "").assert_problem(Rule::M02, input(3));
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] F32[2,5] -> F32[32]", "").assert_problem(Rule::M02, input(3));
    tile("F32[4,8] F32[16,2,8] F32[16,2,8] F32[1,4,5] -> F32[32]", "").assert_problem(Rule::M02, input(3));
    tile("F32[3,4,8] F32[3,16,2,8] F32[3,16,2,8] F32[5] -> F32[96]", "").assert_problem(Rule::M02, input(3));
    tile("F32[3,4,8] F32[3,16,2,8] F32[3,16,2,8] F32[4,5] -> F32[96]", "")
        .assert_problem(Rule::M02, input(3));
}

#[test]
fn parameters_agree_with_the_shapes() {
    let window = "kv_start=2 kv_len=5";
    with(&format!("{window} head_dim=4 n_heads=4 n_kv_heads=2"))
        .assert_problem(Rule::M02, param(Param::HeadDim));
    with(&format!("{window} head_dim=8 n_heads=8 n_kv_heads=2"))
        .assert_problem(Rule::M02, param(Param::NHeads));
    with(&format!("{window} head_dim=8 n_heads=4 n_kv_heads=1"))
        .assert_problem(Rule::M02, param(Param::NKvHeads));
}

#[test]
fn the_window_lies_inside_the_cache() {
    let heads = "head_dim=8 n_heads=4 n_kv_heads=2";
    with(&format!("{heads} kv_start=11 kv_len=5")).assert_clean();
    with(&format!("{heads} kv_start=12 kv_len=5"))
        .assert_problem(Rule::M04, param(Param::KvStart))
        .assert_reads(1, Some(&[[12, 16], [0, 2], [0, 8]]));
    let batched = "ATTENTION_TILE F32[30,4,8] F32[30,16,2,8] F32[30,16,2,8] -> F32[30,32]; scale=1";
    case(&format!("{batched} {heads} kv_start=0 kv_len=17")).assert_problem(Rule::M04, param(Param::KvStart));
}

#[test]
fn ranges_of_parameters() {
    let heads = "head_dim=8 n_heads=4 n_kv_heads=2";
    with(&format!("{heads} kv_start=0 kv_len=1")).assert_in_range();
    with(&format!("{heads} kv_start=0 kv_len=0")).assert_out_of_range(Param::KvLen);
    with(&format!("{heads} kv_start=0 kv_len=0 flags=1")).assert_out_of_range(Param::KvLen);
    with(&format!("{heads} kv_start=0 kv_len=0 flags=2")).assert_in_range();
    with("head_dim=8 n_heads=5 n_kv_heads=2 kv_start=0 kv_len=1").assert_out_of_range(Param::NHeads);
    with("head_dim=8 n_heads=2 n_kv_heads=4 kv_start=0 kv_len=1").assert_out_of_range(Param::NHeads);
    // Reported elsewhere, so no relation is judged.
    with("head_dim=8 n_heads=5 n_kv_heads=0 kv_start=0 kv_len=1").assert_in_range();
    with("head_dim=8 n_heads=5 n_kv_heads=2147483648 kv_start=0 kv_len=1").assert_in_range();
    with(&format!("{heads} kv_start=0 kv_len=0 flags=4")).assert_in_range();
    with(&format!("{heads} kv_start=0 kv_len=0 flags=0.5")).assert_in_range();
}
