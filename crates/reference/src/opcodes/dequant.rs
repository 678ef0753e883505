//! DEQUANT (clause OPC-13): `[q, scales(, zeros)] -> y`, quantised values along the last axis.
//!
//! y is *float* of rank 1 or more with last extent K. q has the shape of y, as I8 (`qdtype` 6) or I4 (7), or
//! with last extent K / 2 as U8 (7). scales are *float*, zeros *float*, I8 or U8, both with last extent
//! ceil(K / group). Everything is read and written whole.

use megakernel_ir::Rule;

use super::{Op, Operands, Place, Problems, checks, quant};

pub(super) struct Dequant;

pub(super) static OP: Dequant = Dequant;

impl Op for Dequant {
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        quant::dtypes(operands, 1, problems);
        checks::dtype_in(operands, Place::Output(0), checks::FLOAT, problems);
    }

    fn storage(&self, operands: &Operands<'_>, problems: &mut Problems) {
        quant::dtype(operands, 0, problems);
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let ([q, ..], [y, ..]) = (operands.inputs.as_slice(), operands.outputs.as_slice()) else { return };
        let Some((&k, lead)) = y.shape.split_last() else {
            return checks::wrong_shape(Rule::M02, operands, Place::Output(0), "rank 1 or more", problems);
        };
        if q.shape.split_last().is_none_or(|(_, q_lead)| q_lead != lead) {
            let required = format_args!("the rank of output 0 and its leading extents {lead:?}");
            checks::wrong_shape(Rule::M02, operands, Place::Input(0), required, problems);
        }
        let is_ranked = q.shape.len() == y.shape.len();
        quant::judge(operands, 0, is_ranked, i128::from(k), Place::Output(0), problems);
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::Rule;

    use crate::opcodes::testing::{case, input, output};

    #[test]
    fn it_expands_each_storage() {
        case("DEQUANT I8[2,6] F32[2,2] -> F32[2,6]; qdtype=6 group=4").assert_clean();
        case("DEQUANT U8[2,3] F16[2,2] U8[2,2] -> BF16[2,6]; qdtype=7 group=4").assert_clean();
        case("DEQUANT I4[2,6] F32[2,1] F32[2,1] -> F32[2,6]; qdtype=7 group=64").assert_clean();
        case("DEQUANT I8[7] F32[7] I8[7] -> F32[7]; qdtype=6 group=1").assert_clean();
        case("DEQUANT U8[2,3] F16[2,2] -> F32[2,6]; qdtype=7 group=4")
            .assert_reads(0, Some(&[[0, 2], [0, 3]]))
            .assert_reads(1, Some(&[[0, 2], [0, 2]]));
    }

    #[test]
    fn dtypes() {
        case("DEQUANT I8[4] I8[1] -> F32[4]; qdtype=6 group=4").assert_problem(Rule::M01, input(1));
        case("DEQUANT I8[4] F32[1] I32[1] -> F32[4]; qdtype=6 group=4").assert_problem(Rule::M01, input(2));
        case("DEQUANT I8[4] F32[1] -> I32[4]; qdtype=6 group=4").assert_problem(Rule::M01, output(0));
        case("DEQUANT U8[4] F32[1] -> F32[4]; qdtype=6 group=4").assert_problem(Rule::M08, input(0));
        case("DEQUANT I8[4] F32[1] -> F32[4]; qdtype=7 group=4")
            .assert_problem(Rule::M08, input(0))
            .assert_message(
                "input 0 `in0` (buffer 0) has dtype I8; DEQUANT takes U8 or I4 where `qdtype` is 7",
            );
        case("DEQUANT F32[4] F32[1] -> F32[4]; qdtype=6 group=4").assert_problem(Rule::M08, input(0));
        case("DEQUANT U8[8] F32[2,1] -> F32[2,4]; qdtype=6 group=4")
            .assert_problems(&[(Rule::M08, input(0)), (Rule::M02, input(0))]);
    }

    #[test]
    fn widths_and_groups() {
        case("DEQUANT I8[4] F32[1] -> F32[8]; qdtype=6 group=8").assert_problem(Rule::M08, input(0));
        case("DEQUANT U8[8] F32[1] -> F32[8]; qdtype=7 group=8").assert_problem(Rule::M08, input(0));
        case("DEQUANT I4[4] F32[1] -> F32[8]; qdtype=7 group=8").assert_problem(Rule::M08, input(0));
        case("DEQUANT I4[5] F32[1] -> F32[5]; qdtype=7 group=8")
            .assert_problem(Rule::M08, output(0))
            .assert_message(
                "output 0 `out0` (buffer 2) has the last extent 5; required an even one where `qdtype` is 7",
            );
        case("DEQUANT U8[2] F32[1] -> F32[5]; qdtype=7 group=8").assert_problem(Rule::M08, output(0));
        case("DEQUANT I8[2,8] F32[2,1] -> F32[2,8]; qdtype=6 group=4")
            .assert_problem(Rule::M08, input(1))
            .assert_message(
                "input 1 `in1` (buffer 1) has shape [2, 1]; DEQUANT requires [2, 2] for K = 8 and `group` 4",
            );
        case("DEQUANT I8[2,8] F32[1,2] -> F32[2,8]; qdtype=6 group=4").assert_problem(Rule::M08, input(1));
        case("DEQUANT I8[2,8] F32[2,2] I8[4] -> F32[2,8]; qdtype=6 group=4")
            .assert_problem(Rule::M08, input(2));
    }

    #[test]
    fn rank_and_leading_extents() {
        case("DEQUANT I8[16] F32[2,2] -> F32[2,8]; qdtype=6 group=4").assert_problem(Rule::M02, input(0));
        case("DEQUANT I8[3,8] F32[3,2] -> F32[2,8]; qdtype=6 group=4").assert_problem(Rule::M02, input(0));
        case("DEQUANT I8[] F32[] -> F32[]; qdtype=6 group=4").assert_problem(Rule::M02, output(0));
    }
}
