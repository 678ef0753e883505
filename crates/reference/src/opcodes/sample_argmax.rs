//! SAMPLE_ARGMAX (clause OPC-17): `[logits] -> ids`, the index of the largest logit of each row.
//!
//! logits *float* of rank 1 or more, ids I32 with an element for each row of logits. Both are accessed whole.

use megakernel_ir::model::Task;
use megakernel_ir::{DType, Param, Rule};
use smallvec::SmallVec;

use super::{Arity, Op, Operands, Place, Problems, checks};

pub(super) struct SampleArgmax;

impl Op for SampleArgmax {
    fn arity(&self, _task: &Task<'_>) -> Arity {
        Arity { inputs: 1..=1, outputs: 1 }
    }

    fn required_params(&self, _task: &Task<'_>) -> SmallVec<[Param; 8]> {
        SmallVec::new()
    }

    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::dtype_in(operands, Place::Input(0), checks::FLOAT, problems);
        checks::dtype_in(operands, Place::Output(0), &[DType::I32], problems);
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
