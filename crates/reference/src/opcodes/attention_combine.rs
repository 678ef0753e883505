//! ATTENTION_COMBINE (clause OPC-18): two to eight partial results `-> y`, merged.
//!
//! The partials are F32 of one shape of rank 2 or 3, with E = head_dim + 2 >= 3 as last extent; y is *float*
//! with E - 2 elements for each of their rows. Everything is read and written whole.

use megakernel_ir::Rule;

use super::{Op, Operands, Place, Problems, checks};

pub(super) struct AttentionCombine;

pub(super) static OP: AttentionCombine = AttentionCombine;

impl Op for AttentionCombine {
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::dtypes_of_the_table(operands, problems);
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let ([first, ..], [y, ..]) = (operands.inputs.as_slice(), operands.outputs.as_slice()) else {
            return;
        };
        checks::alike(operands, false, problems);
        // Where the first partial is to blame, its shape is no measure for the rest.
        if checks::blamed(problems, Place::Input(0)) {
            return;
        }
        let (true, Some(rows), Some(width @ 3..)) =
            (matches!(first.shape.len(), 2 | 3), checks::rows(first), checks::last(first))
        else {
            let required = "[n_heads, E] or [B, n_heads, E] with E at least 3";
            return checks::wrong_shape(Rule::M02, operands, Place::Input(0), required, problems);
        };
        let elements = rows.saturating_mul(width - 2);
        if checks::numel(y) != elements {
            let required = format_args!("{elements} elements, {} for each of {rows} rows", width - 2);
            checks::wrong_shape(Rule::M02, operands, Place::Output(0), required, problems);
        }
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::Rule;

    use crate::opcodes::testing::{case, input, output};

    #[test]
    fn it_merges_partials() {
        case("ATTENTION_COMBINE F32[4,10] F32[4,10] -> F32[1,32]").assert_clean();
        case("ATTENTION_COMBINE F32[3,4,10] F32[3,4,10] F32[3,4,10] -> F16[3,32]")
            .assert_clean()
            .assert_reads(2, Some(&[[0, 3], [0, 4], [0, 10]]));
        case("ATTENTION_COMBINE F32[4,3] F32[4,3] -> F32[4]").assert_clean();
    }

    #[test]
    fn partials_are_f32() {
        case("ATTENTION_COMBINE F32[4,10] F16[4,10] -> F32[32]").assert_problem(Rule::M01, input(1));
        case("ATTENTION_COMBINE F32[4,10] F32[4,10] -> I32[32]").assert_problem(Rule::M01, output(0));
    }

    #[test]
    fn partials_are_alike_and_hold_the_output() {
        case("ATTENTION_COMBINE F32[4,10] F32[4,9] -> F32[32]").assert_problem(Rule::M02, input(1));
        case("ATTENTION_COMBINE F32[4,9] F32[4,10] F32[4,10] -> F32[32]").assert_problem(Rule::M02, input(0));
        case("ATTENTION_COMBINE F32[40] F32[40] -> F32[32]").assert_problem(Rule::M02, input(0));
        case("ATTENTION_COMBINE F32[1,1,4,10] F32[1,1,4,10] -> F32[32]").assert_problem(Rule::M02, input(0));
        case("ATTENTION_COMBINE F32[4,2] F32[4,2] -> F32[4]").assert_problem(Rule::M02, input(0));
        case("ATTENTION_COMBINE F32[4,10] F32[4,10] -> F32[40]").assert_problem(Rule::M02, output(0));
    }
}
