//! GELU (clause OPC-10): `[x] -> y`, in its exact form.
//!
//! All *float*, of one shape, read and written whole. In place: allowed.

use super::elementwise::Elementwise;

pub(super) static OP: Elementwise = Elementwise;

#[cfg(test)]
mod tests {
    use megakernel_ir::Rule;

    use crate::opcodes::testing::{case, input, output};

    #[test]
    fn it_activates() {
        case("GELU F32[1,8] -> F16[1,8]").assert_clean();
        case("GELU F8E5M2[] -> #0").assert_clean().assert_writes(0, Some(&[]));
    }

    #[test]
    fn operands_are_floats_of_one_shape() {
        case("GELU U8[8] -> F32[8]").assert_problem(Rule::M01, input(0));
        case("GELU F32[8] -> U8[8]").assert_problem(Rule::M01, output(0));
        case("GELU F32[8] -> F32[7]").assert_problem(Rule::M02, output(0));
        case("GELU F32[2,4] -> F32[8]").assert_problem(Rule::M02, output(0)).assert_message(
            "output 0 `out0` (buffer 1) has shape [8]; GELU requires the shape of input 0, [2, 4]",
        );
    }
}
