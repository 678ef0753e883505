//! LAYERNORM (clause OPC-04): `[x, w(, b)] -> y`, runs of `hidden` elements, which may span several axes.
//!
//! All *float*. x has a multiple of `hidden` elements, w and b have `hidden`; y has the shape of x.
//! Everything is read and written whole.

use megakernel_ir::Param;
use megakernel_ir::Rule;

use super::{Op, Operands, Place, Problems, checks};

pub(super) struct LayerNorm;

pub(super) static OP: LayerNorm = LayerNorm;

const X: Place = Place::Input(0);
const W: Place = Place::Input(1);
const B: Place = Place::Input(2);
const HIDDEN: Place = Place::Param(Param::Hidden);

impl Op for LayerNorm {
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::dtypes_of_the_table(operands, problems);
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let [x, w, rest @ ..] = operands.inputs.as_slice() else { return };
        let hidden = i128::from(operands.int(Param::Hidden, 0));
        let weights = Some(checks::numel(w));
        // Without a bias, x shows whether w or `hidden` is to blame, provided that the runs are its last
        // axis.
        let (other, size) = match rest {
            [b, ..] => (B, Some(checks::numel(b))),
            [] => (X, checks::last(x).filter(|&row| Some(row) == weights)),
        };
        checks::agree(operands, "number of weights", (W, weights), (other, size), Param::Hidden, problems);
        let elements = checks::numel(x);
        if !checks::blamed(problems, HIDDEN) && checks::divided(elements, hidden).is_none() {
            let required = format_args!("a multiple of {hidden} elements, the value of `hidden`");
            checks::wrong_shape(Rule::M02, operands, X, required, problems);
        }
        // Where x is to blame, its shape is no measure for y.
        if !checks::blamed(problems, X) {
            checks::output_like_input(operands, problems);
        }
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::{Param, Rule};

    use crate::opcodes::testing::{case, input, output, param};

    #[test]
    fn it_normalises_runs_with_and_without_a_bias() {
        case("LAYERNORM F32[2,8] F32[8] -> F32[2,8]; eps=1e-5 hidden=8").assert_clean();
        case("LAYERNORM F32[2,8] F32[8] BF16[8] -> F16[2,8]; eps=0 hidden=8").assert_clean();
        case("LAYERNORM F32[3,2,4] F32[8] F32[2,4] -> F32[3,2,4]; eps=0 hidden=8").assert_clean();
        case("LAYERNORM F32[2,8] F32[8] F32[8] -> F32[2,8]; eps=0 hidden=8").assert_reads(2, Some(&[[0, 8]]));
    }

    #[test]
    fn operands_are_floats() {
        case("LAYERNORM I32[8] F32[8] -> F32[8]; eps=0 hidden=8").assert_problem(Rule::M01, input(0));
        case("LAYERNORM F32[8] F32[8] I32[8] -> F32[8]; eps=0 hidden=8").assert_problem(Rule::M01, input(2));
    }

    #[test]
    fn the_one_that_differs_is_to_blame() {
        case("LAYERNORM F32[2,6] F32[8] -> F32[2,6]; eps=0 hidden=8").assert_problem(Rule::M02, input(0));
        case("LAYERNORM F32[2,8] F32[4] -> F32[2,8]; eps=0 hidden=8").assert_problem(Rule::M02, input(1));
        case("LAYERNORM F32[2,8] F32[4] F32[8] -> F32[2,8]; eps=0 hidden=8")
            .assert_problem(Rule::M02, input(1));
        case("LAYERNORM F32[2,8] F32[8] F32[4] -> F32[2,8]; eps=0 hidden=8")
            .assert_problem(Rule::M02, input(2));
        case("LAYERNORM F32[2,8] F32[8] -> F32[16]; eps=0 hidden=8").assert_problem(Rule::M02, output(0));
        case("LAYERNORM F32[2,8] F32[8] -> F32[2,8]; eps=0 hidden=4")
            .assert_problem(Rule::M02, param(Param::Hidden));
        case("LAYERNORM F32[2,8] F32[8] F32[8] -> F32[2,8]; eps=0 hidden=6")
            .assert_problem(Rule::M02, param(Param::Hidden));
    }
}
