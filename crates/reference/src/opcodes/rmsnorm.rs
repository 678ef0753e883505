//! RMSNORM (clause OPC-03): `[x, w] -> y`, rows of `hidden` elements.
//!
//! All *float*. x\[-1\] and the number of elements of w are `hidden`; y has the shape of x. Everything is
//! read and written whole.

use megakernel_ir::Param;
use megakernel_ir::Rule;

use super::{Op, Operands, Place, Problems, checks};

pub(super) struct RmsNorm;

pub(super) static OP: RmsNorm = RmsNorm;

const X: Place = Place::Input(0);
const W: Place = Place::Input(1);

impl Op for RmsNorm {
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::dtypes_of_the_table(operands, problems);
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let [x, w, ..] = operands.inputs.as_slice() else { return };
        let row = checks::last(x);
        if row.is_none() {
            checks::wrong_shape(Rule::M02, operands, X, "rank 1 or more", problems);
        }
        let weights = Some(checks::numel(w));
        checks::agree(operands, "row length", (X, row), (W, weights), Param::Hidden, problems);
        // Where x is to blame, its shape is no measure for y.
        if !checks::blamed(problems, X) {
            checks::output_like_input(operands, problems);
        }
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::{Param, Rule};

    use crate::opcodes::testing::{case, input, output, param};

    #[test]
    fn it_normalises_rows() {
        case("RMSNORM F32[1,8] F32[8] -> F32[1,8]; eps=1e-5 hidden=8").assert_clean();
        case("RMSNORM BF16[2,3,8] F32[2,4] -> F16[2,3,8]; eps=0 hidden=8").assert_clean();
        case("RMSNORM F32[8] F32[8] -> F32[8]; eps=1e-5 hidden=8")
            .assert_reads(0, Some(&[[0, 8]]))
            .assert_reads(1, Some(&[[0, 8]]))
            .assert_writes(0, Some(&[[0, 8]]));
    }

    #[test]
    fn operands_are_floats() {
        case("RMSNORM I32[8] F32[8] -> F32[8]; eps=0 hidden=8").assert_problem(Rule::M01, input(0));
        case("RMSNORM F32[8] I8[8] -> F32[8]; eps=0 hidden=8").assert_problem(Rule::M01, input(1));
        case("RMSNORM F32[8] F32[8] -> U8[8]; eps=0 hidden=8").assert_problem(Rule::M01, output(0));
    }

    #[test]
    fn the_one_that_differs_is_to_blame() {
        case("RMSNORM F32[1,6] F32[8] -> F32[1,8]; eps=0 hidden=8").assert_problem(Rule::M02, input(0));
        case("RMSNORM F32[1,8] F32[6] -> F32[1,8]; eps=0 hidden=8").assert_problem(Rule::M02, input(1));
        case("RMSNORM F32[1,8] F32[8] -> F32[1,6]; eps=0 hidden=8").assert_problem(Rule::M02, output(0));
        case("RMSNORM F32[1,8] F32[8] -> F32[8]; eps=0 hidden=8").assert_problem(Rule::M02, output(0));
        case("RMSNORM F32[1,8] F32[8] -> F32[1,8]; eps=0 hidden=4")
            .assert_problem(Rule::M02, param(Param::Hidden))
            .assert_message(
                "`hidden` is 4; required 8, the row length of input 0 `in0` (buffer 0) with shape [1, 8] and \
                 input 1 `in1` (buffer 1) with shape [8]",
            );
        case("RMSNORM F32[] F32[1] -> F32[]; eps=0 hidden=1").assert_problem(Rule::M02, input(0));
    }
}
