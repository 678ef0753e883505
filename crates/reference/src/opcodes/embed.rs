//! EMBED (clause OPC-02): `[ids, table] -> y`, the rows of the table that the ids name.
//!
//! ids I32, table and y *float*. The table has rank 1 or more and rows of numel / shape\[0\] elements; y has
//! a row for each id, in any shape. `hidden` is a hint that no shape has to meet. Everything is read and
//! written whole, since the ids are data.

use megakernel_ir::Rule;

use super::{Op, Operands, Place, Problems, checks};

pub(super) struct Embed;

pub(super) static OP: Embed = Embed;

impl Op for Embed {
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::dtypes_of_the_table(operands, problems);
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let ([ids, table, ..], [y, ..]) = (operands.inputs.as_slice(), operands.outputs.as_slice()) else {
            return;
        };
        let Some(&entries) = table.shape.first() else {
            return checks::wrong_shape(Rule::M02, operands, Place::Input(1), "rank 1 or more", problems);
        };
        let (ids, row) = (checks::numel(ids), checks::divided(checks::numel(table), i128::from(entries)));
        // A product that saturates is no buffer's number of elements.
        let elements = ids.saturating_mul(row.unwrap_or(0));
        if elements != checks::numel(y) {
            let required = format_args!(
                "{elements} elements, one row of input 1 with {} elements for each of {ids} ids",
                row.unwrap_or(0)
            );
            checks::wrong_shape(Rule::M02, operands, Place::Output(0), required, problems);
        }
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::Rule;

    use crate::opcodes::testing::{case, input, output};

    #[test]
    fn it_gathers_rows() {
        case("EMBED I32[3] F32[10,4] -> F32[3,4]; hidden=4").assert_clean();
        case("EMBED I32[] BF16[10,4] -> F32[4]; hidden=4").assert_clean();
        case("EMBED I32[3] F32[10] -> F16[3]; hidden=1").assert_clean();
        case("EMBED I32[3] F32[10,4] -> F32[3,4]; hidden=4").assert_reads(1, Some(&[[0, 10], [0, 4]]));
    }

    #[test]
    fn it_serves_as_a_reshape_whatever_hidden_says() {
        case("EMBED I32[1] F32[1,64] -> F32[4,16]; hidden=16").assert_clean();
        case("EMBED I32[1] F32[1,64] -> F32[4,16]; hidden=5").assert_clean();
    }

    #[test]
    fn ids_are_integers_and_the_rest_floats() {
        case("EMBED F32[3] F32[10,4] -> F32[3,4]; hidden=4").assert_problem(Rule::M01, input(0));
        case("EMBED I32[3] I8[10,4] -> F32[3,4]; hidden=4").assert_problem(Rule::M01, input(1));
        case("EMBED I32[3] F32[10,4] -> I32[3,4]; hidden=4").assert_problem(Rule::M01, output(0));
    }

    #[test]
    fn the_output_has_a_row_for_each_id() {
        case("EMBED I32[3] F32[10,4] -> F32[2,4]; hidden=4").assert_problem(Rule::M02, output(0));
        case("EMBED I32[3] F32[] -> F32[3]; hidden=4").assert_problem(Rule::M02, input(1));
        // 2^60 ids of 2^60 elements each.
        let vast = "EMBED I32[1152921504606846976] F32[1,1152921504606846976] -> F32[4]; hidden=4";
        case(vast).assert_problem(Rule::M02, output(0));
    }
}
