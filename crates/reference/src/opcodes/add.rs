//! ADD (clause OPC-11): `[a, b] -> y`, without broadcasting.
//!
//! All *float*, of one shape, read and written whole. In place: allowed.

use super::elementwise::Elementwise;

pub(super) static OP: Elementwise = Elementwise;

#[cfg(test)]
mod tests {
    use megakernel_ir::Rule;

    use crate::opcodes::testing::{case, input, output};

    #[test]
    fn it_adds() {
        case("ADD F32[1,8] F16[1,8] -> F32[1,8]").assert_clean().assert_reads(0, Some(&[[0, 1], [0, 8]]));
        case("ADD F32[8] F32[8] -> #1").assert_clean();
    }

    #[test]
    fn operands_are_floats_of_one_shape() {
        case("ADD F32[8] I32[8] -> F32[8]").assert_problem(Rule::M01, input(1));
        case("ADD F32[1] F32[8] -> F32[8]").assert_problem(Rule::M02, input(0));
        case("ADD F32[8] F32[] -> F32[8]").assert_problem(Rule::M02, input(1));
        case("ADD F32[8] F32[8] -> F32[2,4]").assert_problem(Rule::M02, output(0));
        case("ADD F32[8] F32[7] -> F32[6]").assert_problems(&[(Rule::M02, input(1)), (Rule::M02, output(0))]);
    }

    #[test]
    fn dtypes_are_judged_before_shapes() {
        case("ADD F32[8] I32[7] -> F32[8]").assert_problem(Rule::M01, input(1));
    }
}
