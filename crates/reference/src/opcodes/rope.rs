//! ROPE (clause OPC-08): `[x, positions] -> y`, rotary position embedding.
//!
//! x and y *float*, positions I32. x is `[n_heads, head_dim]` with one position or `[S, n_heads, head_dim]`
//! with S; y has the shape of x. Everything is read and written whole.

use megakernel_ir::model::Task;
use megakernel_ir::{Param, Rule};

use super::{Op, Operands, Place, Problems, checks};

pub(super) struct Rope;

pub(super) static OP: Rope = Rope;

const X: Place = Place::Input(0);
const POSITIONS: Place = Place::Input(1);
const Y: Place = Place::Output(0);

impl Op for Rope {
    fn param_ranges(&self, task: &Task<'_>, problems: &mut Problems) {
        let head_dim = task.params.int(Param::HeadDim).unwrap_or(0);
        // A value outside of its own range is reported by S14 and S15.
        if (1..=i64::from(i32::MAX)).contains(&head_dim) && head_dim % 2 != 0 {
            let message = format!("`head_dim` is {head_dim}; ROPE requires an even one");
            checks::wrong_param(Rule::S15, Param::HeadDim, message, problems);
        }
    }

    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::dtypes_of_the_table(operands, problems);
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let ([x, positions, ..], [y, ..]) = (operands.inputs.as_slice(), operands.outputs.as_slice()) else {
            return;
        };
        let count = match *x.shape.as_slice() {
            [_, _] => 1,
            [count, _, _] => i128::from(count),
            _ => {
                let required = "[n_heads, head_dim] or [S, n_heads, head_dim]";
                return checks::wrong_shape(Rule::M02, operands, X, required, problems);
            }
        };
        let (x_dim, y_dim) = (checks::last(x), checks::last(y));
        checks::agree(operands, "head size", (X, x_dim), (Y, y_dim), Param::HeadDim, problems);
        // A scalar has no head size to compare.
        if x_dim == y_dim || y_dim.is_none() {
            checks::output_like_input(operands, problems);
        }
        if checks::numel(positions) != count {
            let required = format_args!("{count} positions for input 0 of shape {:?}", x.shape.as_slice());
            checks::wrong_shape(Rule::M02, operands, POSITIONS, required, problems);
        }
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::{Param, Rule};

    use crate::opcodes::testing::{case, input, output, param};

    #[test]
    fn it_rotates_one_position_or_several() {
        case("ROPE F32[4,8] I32[1] -> F32[4,8]; head_dim=8 theta=10000.0").assert_clean();
        case("ROPE F32[4,8] I32[] -> BF16[4,8]; head_dim=8 theta=10000").assert_clean();
        case("ROPE F32[3,4,8] I32[3] -> F32[3,4,8]; head_dim=8 theta=1.5 n_heads=7").assert_clean();
        case("ROPE F32[1,4,8] I32[1] -> F32[1,4,8]; head_dim=8 theta=1.5")
            .assert_reads(1, Some(&[[0, 1]]))
            .assert_writes(0, Some(&[[0, 1], [0, 4], [0, 8]]));
    }

    #[test]
    fn positions_are_integers_and_the_rest_floats() {
        case("ROPE I32[4,8] I32[1] -> F32[4,8]; head_dim=8 theta=1").assert_problem(Rule::M01, input(0));
        case("ROPE F32[4,8] F32[1] -> F32[4,8]; head_dim=8 theta=1").assert_problem(Rule::M01, input(1));
        case("ROPE F32[4,8] I32[1] -> I32[4,8]; head_dim=8 theta=1").assert_problem(Rule::M01, output(0));
    }

    #[test]
    fn the_one_that_differs_is_to_blame() {
        case("ROPE F32[32] I32[1] -> F32[32]; head_dim=32 theta=1").assert_problem(Rule::M02, input(0));
        case("ROPE F32[4,6] I32[1] -> F32[4,8]; head_dim=8 theta=1").assert_problem(Rule::M02, input(0));
        case("ROPE F32[4,8] I32[1] -> F32[4,6]; head_dim=8 theta=1").assert_problem(Rule::M02, output(0));
        case("ROPE F32[4,8] I32[1] -> F32[1,4,8]; head_dim=8 theta=1").assert_problem(Rule::M02, output(0));
        case("ROPE F32[4,8] I32[1] -> F32[]; head_dim=8 theta=1").assert_problem(Rule::M02, output(0));
        case("ROPE F32[] I32[1] -> F32[4,8]; head_dim=8 theta=1").assert_problem(Rule::M02, input(0));
        case("ROPE F32[4,8] I32[1] -> F32[4,8]; head_dim=6 theta=1")
            .assert_problem(Rule::M02, param(Param::HeadDim));
        case("ROPE F32[4,8] I32[4] -> F32[4,8]; head_dim=8 theta=1").assert_problem(Rule::M02, input(1));
        case("ROPE F32[3,4,8] I32[1] -> F32[3,4,8]; head_dim=8 theta=1").assert_problem(Rule::M02, input(1));
    }

    #[test]
    fn heads_have_two_halves() {
        case("ROPE F32[4,8] I32[1] -> F32[4,8]; head_dim=8 theta=1").assert_in_range();
        case("ROPE F32[4,7] I32[1] -> F32[4,7]; head_dim=7 theta=1").assert_out_of_range(Param::HeadDim);
        case("ROPE F32[4,7] I32[1] -> F32[4,7]; head_dim=-7 theta=1").assert_in_range();
        case("ROPE F32[4,7] I32[1] -> F32[4,7]; head_dim=2147483649 theta=1").assert_in_range();
    }
}
