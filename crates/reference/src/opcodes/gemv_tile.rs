//! GEMV_TILE (clause OPC-05): `[x, W(, bias)] -> y`, or `[x, qW, scales(, zeros)] -> y` with `qdtype`.
//!
//! x has rank 1 or more and last extent K, and so M = numel / K rows; W is `[N, K]`; y has last extent N and
//! M * N elements; bias has N elements. Quantised: qW is I8 `[N, K]`, U8 `[N, K/2]` or I4 `[N, K]`, scales
//! and zeros are `[N, ceil(K / group)]`. Reads x whole and the rows `[n_off, n_off + N_tile)` of the rest (a
//! bias that is not flat counts whole); writes these columns of y.

use super::{Op, Operands, Problems, matrix};
use crate::region::Region;

pub(super) struct GemvTile;

pub(super) static OP: GemvTile = GemvTile;

impl Op for GemvTile {
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        matrix::dtypes(operands, problems);
    }

    fn storage(&self, operands: &Operands<'_>, problems: &mut Problems) {
        matrix::storage(operands, problems);
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let required = ["rank 1 or more, K last", "rank 1 or more, N last"];
        matrix::shapes(operands, |rank| rank >= 1, required, problems);
    }

    fn bounds(&self, operands: &Operands<'_>, problems: &mut Problems) {
        matrix::bounds(operands, problems);
    }

    fn reads(&self, operands: &Operands<'_>, input: usize) -> Option<Region> {
        match input {
            0 => operands.inputs.first().map(|x| Region::of(x)),
            _ => matrix::reads(operands, input),
        }
    }

    fn writes(&self, operands: &Operands<'_>, output: usize) -> Option<Region> {
        let [start, length] = matrix::columns(operands);
        operands.outputs.get(output).map(|y| Region::of(y).slice_last(start, length))
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::{Param, Rule};

    use crate::opcodes::testing::{case, input, output, param};

    #[test]
    fn plain_forms() {
        case("GEMV_TILE F32[1,4] F32[8,4] -> F32[1,8]; K=4 N_tile=2 n_off=6").assert_clean();
        case("GEMV_TILE F32[4] BF16[8,4] -> F16[8]; K=4 N_tile=8 n_off=0 N=8 M=1").assert_clean();
        case("GEMV_TILE F32[3,4] F32[8,4] F32[8] -> F32[3,8]; K=4 N_tile=8 n_off=0 M=3").assert_clean();
        case("GEMV_TILE F32[2,3,4] F32[8,4] F32[2,4] -> F32[6,8]; K=4 N_tile=8 n_off=0").assert_clean();
    }

    #[test]
    fn quantised_forms() {
        let params = "K=6 N_tile=4 n_off=0 group=4";
        case(&format!("GEMV_TILE F32[6] I8[4,6] F32[4,2] -> F32[4]; {params} qdtype=6")).assert_clean();
        case(&format!("GEMV_TILE F32[6] I8[4,6] F16[4,2] I8[4,2] -> F32[4]; {params} qdtype=6"))
            .assert_clean();
        case(&format!("GEMV_TILE F32[6] U8[4,3] F32[4,2] U8[4,2] -> F32[4]; {params} qdtype=7"))
            .assert_clean();
        case(&format!("GEMV_TILE F32[6] I4[4,6] F32[4,2] F32[4,2] -> F32[4]; {params} qdtype=7"))
            .assert_clean();
    }

    #[test]
    fn footprints_are_the_rows_of_the_tile() {
        case("GEMV_TILE F32[2,4] F32[8,4] F32[8] -> F32[1,2,8]; K=4 N_tile=2 n_off=4")
            .assert_clean()
            .assert_reads(0, Some(&[[0, 2], [0, 4]]))
            .assert_reads(1, Some(&[[4, 6], [0, 4]]))
            .assert_reads(2, Some(&[[4, 6]]))
            .assert_writes(0, Some(&[[0, 1], [0, 2], [4, 6]]));
        case("GEMV_TILE F32[4] F32[8,4] F32[8,1] -> F32[8]; K=4 N_tile=2 n_off=4")
            .assert_clean()
            .assert_reads(2, Some(&[[0, 8], [0, 1]]));
        case("GEMV_TILE F32[4] U8[8,2] F32[8,1] U8[8,1] -> F32[8]; K=4 N_tile=2 n_off=4 qdtype=7 group=32")
            .assert_clean()
            .assert_reads(1, Some(&[[4, 6], [0, 2]]))
            .assert_reads(2, Some(&[[4, 6], [0, 1]]))
            .assert_reads(3, Some(&[[4, 6], [0, 1]]));
    }

    #[test]
    fn footprints_are_cut_to_the_buffers() {
        case("GEMV_TILE F32[4] F32[8,4] -> F32[8]; K=4 N_tile=4 n_off=6")
            .assert_problem(Rule::M03, param(Param::NOff))
            .assert_message(
                "`n_off` 6 plus `N_tile` 4 is 10; required at most 8, the N of input 1 `in1` (buffer 1)",
            )
            .assert_reads(1, Some(&[[6, 8], [0, 4]]))
            .assert_writes(0, Some(&[[6, 8]]));
        case("GEMV_TILE F32[4] F32[8,4] -> F32[8]; K=4 N_tile=2147483647 n_off=2147483647")
            .assert_problem(Rule::M03, param(Param::NOff))
            .assert_writes(0, Some(&[[8, 8]]));
    }

    #[test]
    fn operands_are_floats_but_for_the_quantised_one() {
        let params = "K=4 N_tile=8 n_off=0";
        case(&format!("GEMV_TILE I32[4] F32[8,4] -> F32[8]; {params}")).assert_problem(Rule::M01, input(0));
        case(&format!("GEMV_TILE F32[4] I8[8,4] -> F32[8]; {params}"))
            .assert_problem(Rule::M01, input(1))
            .assert_message(
                "input 1 `in1` (buffer 1) has dtype I8; GEMV_TILE takes F32, F16, BF16, F8E4M3, F8E5M2",
            );
        case(&format!("GEMV_TILE F32[4] F32[8,4] I32[8] -> F32[8]; {params}"))
            .assert_problem(Rule::M01, input(2));
        case(&format!("GEMV_TILE F32[4] F32[8,4] -> I32[8]; {params}")).assert_problem(Rule::M01, output(0));
        let params = "K=4 N_tile=8 n_off=0 qdtype=6 group=4";
        case(&format!("GEMV_TILE F32[4] I8[8,4] I8[8,1] -> F32[8]; {params}"))
            .assert_problem(Rule::M01, input(2));
        case(&format!("GEMV_TILE F32[4] I8[8,4] F32[8,1] I32[8,1] -> F32[8]; {params}"))
            .assert_problem(Rule::M01, input(3));
    }

    #[test]
    fn the_size_that_differs_is_to_blame() {
        let params = "K=4 N_tile=8 n_off=0";
        case(&format!("GEMV_TILE F32[5] F32[8,4] -> F32[8]; {params}")).assert_problem(Rule::M02, input(0));
        case(&format!("GEMV_TILE F32[4] F32[8,5] -> F32[8]; {params}")).assert_problem(Rule::M02, input(1));
        case(&format!("GEMV_TILE F32[4] F32[8,4] -> F32[9]; {params}")).assert_problem(Rule::M02, output(0));
        case(&format!("GEMV_TILE F32[4] F32[8,4] -> F32[2,8]; {params}"))
            .assert_problem(Rule::M02, output(0));
        case(&format!("GEMV_TILE F32[4] F32[9,4] -> F32[8]; {params} N=8"))
            .assert_problem(Rule::M02, input(1));
        case(&format!("GEMV_TILE F32[2,4] F32[8,4] -> F32[1,8]; {params} M=1"))
            .assert_problem(Rule::M02, input(0));
        case(&format!("GEMV_TILE F32[4] F32[8,4] F32[7] -> F32[8]; {params}"))
            .assert_problem(Rule::M02, input(2));
        case(&format!("GEMV_TILE F32[] F32[8,4] -> F32[8]; {params}")).assert_problem(Rule::M02, input(0));
        case(&format!("GEMV_TILE F32[4] F32[32] -> F32[8]; {params}")).assert_problem(Rule::M02, input(1));
        case(&format!("GEMV_TILE F32[4] F32[8,4] -> F32[]; {params}")).assert_problem(Rule::M02, output(0));
    }

    #[test]
    fn parameters_agree_with_the_shapes() {
        let operands = "GEMV_TILE F32[4] F32[8,4] -> F32[8]; N_tile=8 n_off=0";
        case(&format!("{operands} K=5")).assert_problem(Rule::M02, param(Param::K));
        case(&format!("{operands} K=4 N=9")).assert_problem(Rule::M02, param(Param::N));
        case(&format!("{operands} K=4 M=2")).assert_problem(Rule::M02, param(Param::M));
    }

    #[test]
    fn the_quantised_operand_is_judged_by_qdtype_and_group() {
        let int8 = "K=6 N_tile=4 n_off=0 group=4 qdtype=6";
        case(&format!("GEMV_TILE F32[6] U8[4,3] F32[4,2] -> F32[4]; {int8}"))
            .assert_problem(Rule::M08, input(1));
        case(&format!("GEMV_TILE F32[6] F32[4,6] F32[4,2] -> F32[4]; {int8}"))
            .assert_problem(Rule::M08, input(1));
        case(&format!("GEMV_TILE F32[6] I8[4,3] F32[4,2] -> F32[4]; {int8}"))
            .assert_problem(Rule::M08, input(1));
        case(&format!("GEMV_TILE F32[6] I8[4,6] F32[4,3] -> F32[4]; {int8}"))
            .assert_problem(Rule::M08, input(2));
        case(&format!("GEMV_TILE F32[6] I8[4,6] F32[8] -> F32[4]; {int8}"))
            .assert_problem(Rule::M08, input(2));
        case(&format!("GEMV_TILE F32[6] I8[4,6] F32[4,2] I8[4,1] -> F32[4]; {int8}"))
            .assert_problem(Rule::M08, input(3));
        let int4 = "N_tile=4 n_off=0 group=4 qdtype=7";
        case(&format!("GEMV_TILE F32[6] I8[4,6] F32[4,2] -> F32[4]; K=6 {int4}"))
            .assert_problem(Rule::M08, input(1));
        case(&format!("GEMV_TILE F32[6] U8[4,6] F32[4,2] -> F32[4]; K=6 {int4}"))
            .assert_problem(Rule::M08, input(1));
        case(&format!("GEMV_TILE F32[6] I4[4,3] F32[4,2] -> F32[4]; K=6 {int4}"))
            .assert_problem(Rule::M08, input(1));
        case(&format!("GEMV_TILE F32[5] I4[4,5] F32[4,2] -> F32[4]; K=5 {int4}"))
            .assert_problem(Rule::M08, param(Param::K));
    }

    #[test]
    fn rank_and_rows_of_the_quantised_operand_are_shapes_like_any() {
        let params = "K=6 N_tile=4 n_off=0 group=4 qdtype=6";
        case(&format!("GEMV_TILE F32[6] I8[24] F32[4,2] -> F32[4]; {params}"))
            .assert_problem(Rule::M02, input(1));
        case(&format!("GEMV_TILE F32[6] I8[5,6] F32[4,2] -> F32[4]; {params} N=4"))
            .assert_problem(Rule::M02, input(1));
        case(&format!("GEMV_TILE F32[5] I8[4,6] F32[4,2] -> F32[4]; {params}"))
            .assert_problem(Rule::M02, input(0));
    }

    #[test]
    fn dtype_and_an_odd_k_are_judged_beside_a_wrong_rank() {
        let params = "N_tile=4 n_off=0 group=4";
        case(&format!("GEMV_TILE F32[6] F16[24] F32[4,2] -> F32[4]; K=6 {params} qdtype=6"))
            .assert_problems(&[(Rule::M08, input(1)), (Rule::M02, input(1))]);
        case(&format!("GEMV_TILE F32[5] I4[20] F32[4,2] -> F32[4]; K=5 {params} qdtype=7"))
            .assert_problems(&[(Rule::M02, input(1)), (Rule::M08, param(Param::K))]);
    }

    #[test]
    fn a_wrong_k_contradicts_x_and_the_quantised_width() {
        case("GEMV_TILE F32[6] I8[4,6] F32[4,2] -> F32[4]; K=8 N_tile=4 n_off=0 group=4 qdtype=6")
            .assert_problems(&[(Rule::M02, param(Param::K)), (Rule::M08, input(1))]);
    }
}
