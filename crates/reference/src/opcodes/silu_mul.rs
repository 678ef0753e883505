//! SILU_MUL (clause OPC-09): `[gate, up] -> y`, `gate * sigmoid(gate) * up`.
//!
//! All *float*, of one shape, read and written whole. In place: allowed.

use super::elementwise::Elementwise;

pub(super) static OP: Elementwise = Elementwise;

#[cfg(test)]
mod tests {
    use megakernel_ir::Rule;

    use crate::opcodes::testing::{case, input, output};

    #[test]
    fn it_gates() {
        case("SILU_MUL F32[1,8] F16[1,8] -> BF16[1,8]").assert_clean();
        case("SILU_MUL F32[2,3,4] F32[2,3,4] -> #0")
            .assert_clean()
            .assert_reads(1, Some(&[[0, 2], [0, 3], [0, 4]]))
            .assert_writes(0, Some(&[[0, 2], [0, 3], [0, 4]]));
    }

    #[test]
    fn operands_are_floats_of_one_shape() {
        case("SILU_MUL I8[8] F32[8] -> F32[8]").assert_problem(Rule::M01, input(0));
        case("SILU_MUL F32[8] F32[8] -> I32[8]").assert_problem(Rule::M01, output(0));
        case("SILU_MUL F32[6] F32[8] -> F32[8]").assert_problem(Rule::M02, input(0));
        case("SILU_MUL F32[8] F32[6] -> F32[8]").assert_problem(Rule::M02, input(1));
        case("SILU_MUL F32[8] F32[8] -> F32[1,8]").assert_problem(Rule::M02, output(0));
    }
}
