//! GEMM_TILE (clause OPC-06): GEMV_TILE for a tile of rows and columns.
//!
//! As GEMV_TILE, with x `[M, K]` and y `[M, N]`. Reads the rows `[m_off, m_off + M_tile)` of x and, as
//! GEMV_TILE, the rows `[n_off, n_off + N_tile)` of the rest; writes these rows by these columns of y.

use megakernel_ir::{Param, Rule};

use super::{Op, Operands, Place, Problems, checks, matrix};
use crate::region::Region;

pub(super) struct GemmTile;

pub(super) static OP: GemmTile = GemmTile;

/// The rows of the output that the task computes: first and number.
fn rows(operands: &Operands<'_>) -> [i64; 2] {
    [operands.int(Param::MOff, 0), operands.int(Param::MTile, 0)]
}

impl Op for GemmTile {
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        matrix::dtypes(operands, problems);
    }

    fn storage(&self, operands: &Operands<'_>, problems: &mut Problems) {
        matrix::storage(operands, problems);
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        matrix::shapes(operands, |rank| rank == 2, ["[M, K]", "[M, N]"], problems);
    }

    fn bounds(&self, operands: &Operands<'_>, problems: &mut Problems) {
        matrix::bounds(operands, problems);
        let Some(&m) = operands.inputs.first().and_then(|x| x.shape.first()) else { return };
        let [start, length] = rows(operands);
        let (start, length) = ((Param::MOff, start), ("`M_tile`", length));
        checks::within(Rule::M03, operands, start, length, ("M", m, Place::Input(0)), problems);
    }

    fn reads(&self, operands: &Operands<'_>, input: usize) -> Option<Region> {
        let [start, length] = rows(operands);
        match input {
            0 => operands.inputs.first().map(|x| Region::of(x).slice(0, start, length)),
            _ => matrix::reads(operands, input),
        }
    }

    fn writes(&self, operands: &Operands<'_>, output: usize) -> Option<Region> {
        let ([start, length], [first_row, height]) = (matrix::columns(operands), rows(operands));
        let y = operands.outputs.get(output)?;
        Some(Region::of(y).slice(0, first_row, height).slice_last(start, length))
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::{Param, Rule};

    use crate::opcodes::testing::{case, input, output, param};

    const TILE: &str = "K=4 N_tile=8 M_tile=6 n_off=0";

    #[test]
    fn plain_and_quantised_forms() {
        case(&format!("GEMM_TILE F32[6,4] F16[8,4] -> F32[6,8]; {TILE}")).assert_clean();
        case(&format!("GEMM_TILE F32[6,4] F16[8,4] F32[8] -> BF16[6,8]; {TILE} M=6 N=8")).assert_clean();
        case(&format!("GEMM_TILE F32[6,4] I8[8,4] F32[8,2] -> F32[6,8]; {TILE} qdtype=6 group=2"))
            .assert_clean();
        case(&format!("GEMM_TILE F32[6,4] U8[8,2] F32[8,2] I8[8,2] -> F32[6,8]; {TILE} qdtype=7 group=3"))
            .assert_clean();
    }

    #[test]
    fn footprints_are_rows_by_columns() {
        case("GEMM_TILE F32[6,4] F32[8,4] F32[8] -> F32[6,8]; K=4 N_tile=2 M_tile=3 n_off=4 m_off=3")
            .assert_clean()
            .assert_reads(0, Some(&[[3, 6], [0, 4]]))
            .assert_reads(1, Some(&[[4, 6], [0, 4]]))
            .assert_reads(2, Some(&[[4, 6]]))
            .assert_writes(0, Some(&[[3, 6], [4, 6]]));
        case("GEMM_TILE F32[6,4] F32[8,4] -> F32[6,8]; K=4 N_tile=8 M_tile=3 n_off=0")
            .assert_writes(0, Some(&[[0, 3], [0, 8]]));
        case(
            "GEMM_TILE F32[6,4] I8[8,4] F32[8,1] -> F32[6,8]; K=4 N_tile=2 M_tile=3 n_off=4 qdtype=6 group=4",
        )
        .assert_reads(2, Some(&[[4, 6], [0, 1]]));
    }

    #[test]
    fn tiles_lie_inside() {
        let operands = "GEMM_TILE F32[6,4] F32[8,4] -> F32[6,8]; K=4";
        case(&format!("{operands} N_tile=8 M_tile=4 n_off=0 m_off=2")).assert_clean();
        case(&format!("{operands} N_tile=8 M_tile=4 n_off=0 m_off=3"))
            .assert_problem(Rule::M03, param(Param::MOff));
        case(&format!("{operands} N_tile=8 M_tile=7 n_off=0")).assert_problem(Rule::M03, param(Param::MOff));
        case(&format!("{operands} N_tile=8 M_tile=6 n_off=1")).assert_problem(Rule::M03, param(Param::NOff));
        case(&format!("{operands} N_tile=9 M_tile=7 n_off=0"))
            .assert_problems(&[(Rule::M03, param(Param::NOff)), (Rule::M03, param(Param::MOff))]);
    }

    #[test]
    fn matrices_have_rank_two() {
        case(&format!("GEMM_TILE F32[2,3,4] F32[8,4] -> F32[6,8]; {TILE}"))
            .assert_problem(Rule::M02, input(0));
        case(&format!("GEMM_TILE F32[6,4] F32[8,2,2] -> F32[6,8]; {TILE}"))
            .assert_problem(Rule::M02, input(1));
        case(&format!("GEMM_TILE F32[6,4] F32[8,4] -> F32[48]; {TILE}")).assert_problem(Rule::M02, output(0));
    }

    #[test]
    fn sizes_dtypes_and_quantisation_are_those_of_gemv_tile() {
        case(&format!("GEMM_TILE F32[6,4] F32[8,4] -> F32[5,8]; {TILE}"))
            .assert_problem(Rule::M02, output(0));
        case(&format!("GEMM_TILE F32[6,5] F32[8,4] -> F32[6,8]; {TILE}")).assert_problem(Rule::M02, input(0));
        case(&format!("GEMM_TILE F32[6,4] F32[8,4] -> F32[6,8]; {TILE} M=7"))
            .assert_problem(Rule::M02, param(Param::M));
        case(&format!("GEMM_TILE F32[6,4] BOOL[8,4] -> F32[6,8]; {TILE}"))
            .assert_problem(Rule::M01, input(1));
        case(&format!("GEMM_TILE F32[6,4] I8[8,4] F32[8,1] -> F32[6,8]; {TILE} qdtype=6 group=2"))
            .assert_problem(Rule::M08, input(2));
        case(&format!("GEMM_TILE F32[6,4] U8[8,4] F32[8,2] -> F32[6,8]; {TILE} qdtype=7 group=2"))
            .assert_problem(Rule::M08, input(1));
    }
}
