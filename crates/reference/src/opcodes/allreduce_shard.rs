//! ALLREDUCE_SHARD (clause OPC-15): one to eight inputs `-> y`, their sum.
//!
//! All *float*, of one shape, read and written whole. In place: allowed.

use super::elementwise::Elementwise;

pub(super) static OP: Elementwise = Elementwise;

#[cfg(test)]
mod tests {
    use megakernel_ir::Rule;

    use crate::opcodes::testing::{case, input, output};

    #[test]
    fn it_sums_up_to_eight_shards() {
        case("ALLREDUCE_SHARD F32[8] -> F32[8]").assert_clean();
        case("ALLREDUCE_SHARD F32[8] F16[8] F32[8] -> #1").assert_clean();
        case("ALLREDUCE_SHARD F32[2] F32[2] F32[2] F32[2] F32[2] F32[2] F32[2] F32[2] -> F32[2]")
            .assert_clean()
            .assert_reads(7, Some(&[[0, 2]]));
    }

    #[test]
    fn operands_are_floats_of_one_shape() {
        case("ALLREDUCE_SHARD F32[8] F32[8] I32[8] -> F32[8]").assert_problem(Rule::M01, input(2));
        case("ALLREDUCE_SHARD F32[8] F32[8] F32[7] -> F32[8]").assert_problem(Rule::M02, input(2));
        case("ALLREDUCE_SHARD F32[7] F32[8] F32[8] -> F32[8]").assert_problem(Rule::M02, input(0));
        case("ALLREDUCE_SHARD F32[8] F32[8] F32[8] -> F32[4]").assert_problem(Rule::M02, output(0));
    }
}
