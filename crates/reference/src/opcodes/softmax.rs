//! SOFTMAX (clause OPC-14): `[x] -> y` along the axis `dim`, the last one by default.
//!
//! Both *float*, of one shape of rank 1 or more; -rank <= dim < rank. Both are accessed whole.

use megakernel_ir::{Param, Rule};

use super::{Op, Operands, Place, Problems, checks};

pub(super) struct Softmax;

pub(super) static OP: Softmax = Softmax;

impl Op for Softmax {
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::dtypes_of_the_table(operands, problems);
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let Some(x) = operands.inputs.first() else { return };
        let Ok(rank) = i64::try_from(x.shape.len()) else { return };
        let dim = operands.int(Param::Dim, -1);
        if rank == 0 {
            checks::wrong_shape(Rule::M02, operands, Place::Input(0), "rank 1 or more", problems);
        } else if !(-rank..rank).contains(&dim) {
            let message = format!(
                "`dim` is {dim}; required {} to {} for {} of rank {rank}",
                -rank,
                rank - 1,
                checks::subject(operands, Place::Input(0))
            );
            checks::wrong_param(Rule::M02, Param::Dim, message, problems);
        }
        checks::output_like_input(operands, problems);
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::{Param, Rule};

    use crate::opcodes::testing::{case, input, output, param};

    #[test]
    fn it_takes_any_axis() {
        case("SOFTMAX F32[2,8] -> F16[2,8]").assert_clean().assert_writes(0, Some(&[[0, 2], [0, 8]]));
        case("SOFTMAX F32[2,8] -> F32[2,8]; dim=1").assert_clean();
        case("SOFTMAX F32[2,8] -> F32[2,8]; dim=-2").assert_clean();
    }

    #[test]
    fn operands_are_floats_of_one_shape() {
        case("SOFTMAX I32[8] -> F32[8]").assert_problem(Rule::M01, input(0));
        case("SOFTMAX F32[8] -> I32[8]").assert_problem(Rule::M01, output(0));
        case("SOFTMAX F32[2,8] -> F32[16]").assert_problem(Rule::M02, output(0));
    }

    #[test]
    fn the_axis_exists() {
        case("SOFTMAX F32[2,8] -> F32[2,8]; dim=2")
            .assert_problem(Rule::M02, param(Param::Dim))
            .assert_message("`dim` is 2; required -2 to 1 for input 0 `in0` (buffer 0) of rank 2");
        case("SOFTMAX F32[2,8] -> F32[2,8]; dim=-3").assert_problem(Rule::M02, param(Param::Dim));
        case("SOFTMAX F32[] -> F32[]").assert_problem(Rule::M02, input(0));
    }
}
