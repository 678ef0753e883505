//! SAMPLE_ARGMAX (clause OPC-17): `[logits] -> ids`, the index of the largest logit of each row.
//!
//! logits *float* of rank 1 or more, ids I32 with an element for each row of logits. Both are accessed whole.

use megakernel_ir::Rule;

use super::{Op, Operands, Place, Problems, checks};

pub(super) struct SampleArgmax;

pub(super) static OP: SampleArgmax = SampleArgmax;

impl Op for SampleArgmax {
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::dtypes_of_the_table(operands, problems);
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let ([logits, ..], [ids, ..]) = (operands.inputs.as_slice(), operands.outputs.as_slice()) else {
            return;
        };
        let Some(rows) = checks::rows(logits) else {
            return checks::wrong_shape(Rule::M02, operands, Place::Input(0), "rank 1 or more", problems);
        };
        if checks::numel(ids) != rows {
            let required = format_args!("{rows} elements, one for each row of input 0");
            checks::wrong_shape(Rule::M02, operands, Place::Output(0), required, problems);
        }
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::Rule;

    use crate::opcodes::testing::{case, input, output};

    #[test]
    fn it_picks_an_index_a_row() {
        case("SAMPLE_ARGMAX F32[1,256] -> I32[1]").assert_clean().assert_reads(0, Some(&[[0, 1], [0, 256]]));
        case("SAMPLE_ARGMAX BF16[256] -> I32[]").assert_clean().assert_writes(0, Some(&[]));
        case("SAMPLE_ARGMAX F32[2,3,256] -> I32[6]").assert_clean();
    }

    #[test]
    fn logits_are_floats_and_ids_integers() {
        case("SAMPLE_ARGMAX I32[1,256] -> I32[1]").assert_problem(Rule::M01, input(0));
        case("SAMPLE_ARGMAX F32[1,256] -> F32[1]").assert_problem(Rule::M01, output(0));
    }

    #[test]
    fn there_is_an_id_for_each_row() {
        case("SAMPLE_ARGMAX F32[] -> I32[]").assert_problem(Rule::M02, input(0));
        case("SAMPLE_ARGMAX F32[2,256] -> I32[1]").assert_problem(Rule::M02, output(0));
    }
}
