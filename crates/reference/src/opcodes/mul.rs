//! MUL (clause OPC-12): `[a, b] -> y`, or `[a] -> y`, times the parameter `scale`.
//!
//! All *float*, of one shape, read and written whole. In place: allowed.

use super::elementwise::Elementwise;

pub(super) static OP: Elementwise = Elementwise;

#[cfg(test)]
mod tests {
    use megakernel_ir::Rule;

    use crate::opcodes::testing::{case, input, output};

    #[test]
    fn it_multiplies_by_a_buffer_or_a_number() {
        case("MUL F32[1,8] F16[1,8] -> F32[1,8]").assert_clean();
        case("MUL F32[8] -> F32[8]").assert_clean();
        case("MUL F32[8] -> #0; scale=0.5").assert_clean();
    }

    #[test]
    fn operands_are_floats_of_one_shape() {
        case("MUL F32[8] BOOL[8] -> F32[8]").assert_problem(Rule::M01, input(1));
        case("MUL F32[8] F32[1] -> F32[8]").assert_problem(Rule::M02, input(1));
        case("MUL F32[7] -> F32[8]; scale=2").assert_problem(Rule::M02, output(0));
    }
}
