//! COPY (clause OPC-01): `[x] -> y`, element by element in row-major order.
//!
//! Both *float*, or both of one dtype; equal numbers of elements, whatever the shapes. Reads and writes the
//! whole of both. In place: allowed.

use megakernel_ir::Rule;

use super::{Op, Operands, Place, Problems, checks};

pub(super) struct Copy;

pub(super) static OP: Copy = Copy;

impl Op for Copy {
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let ([x, ..], [y, ..]) = (operands.inputs.as_slice(), operands.outputs.as_slice()) else { return };
        if x.dtype != y.dtype && !(x.dtype.is_float() && y.dtype.is_float()) {
            let required = if x.dtype.is_float() {
                format!("a float dtype, to match input 0 of dtype {}", x.dtype)
            } else {
                format!("{}, the dtype of input 0, since only floats are converted", x.dtype)
            };
            checks::wrong_dtype(Rule::M01, operands, Place::Output(0), required, problems);
        }
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        let ([x, ..], [y, ..]) = (operands.inputs.as_slice(), operands.outputs.as_slice()) else { return };
        let elements = checks::numel(x);
        if elements != checks::numel(y) {
            let required = format_args!("{elements} elements, as many as input 0 has");
            checks::wrong_shape(Rule::M02, operands, Place::Output(0), required, problems);
        }
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::Rule;

    use crate::opcodes::testing::{case, output};

    #[test]
    fn it_converts_floats_and_reshapes() {
        case("COPY F32[4] -> BF16[4]").assert_clean();
        case("COPY F32[2,6] -> F8E4M3[3,1,4]").assert_clean();
        case("COPY I4[6] -> I4[2,3]").assert_clean();
        case("COPY BOOL[] -> BOOL[1]").assert_clean().assert_reads(0, Some(&[]));
        case("COPY F32[2,6] -> F32[12]")
            .assert_reads(0, Some(&[[0, 2], [0, 6]]))
            .assert_writes(0, Some(&[[0, 12]]));
    }

    #[test]
    fn it_converts_nothing_else() {
        case("COPY F32[4] -> I32[4]").assert_problem(Rule::M01, output(0));
        case("COPY I32[4] -> F32[4]").assert_problem(Rule::M01, output(0));
        case("COPY I8[4] -> U8[4]").assert_problem(Rule::M01, output(0));
    }

    #[test]
    fn it_keeps_the_number_of_elements() {
        case("COPY F32[4] -> F32[3]").assert_problem(Rule::M02, output(0));
        case("COPY F32[2,2] -> F32[]").assert_problem(Rule::M02, output(0));
        case("COPY F32[9] -> F32[2,4]").assert_message(
            "output 0 `out0` (buffer 1) has shape [2, 4]; COPY requires 9 elements, as many as input 0 has",
        );
    }
}
