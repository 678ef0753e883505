//! Opcodes whose operands all have one shape, and where each element of the output depends on the same
//! element of the inputs alone: SILU_MUL, GELU, ADD, MUL, ALLREDUCE_SHARD.

use super::{Op, Operands, Problems, checks};

/// An elementwise opcode: *float* operands of equal shapes, read and written whole, in-place use allowed.
pub(super) struct Elementwise;

impl Op for Elementwise {
    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::dtypes_of_the_table(operands, problems);
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::alike(operands, true, problems);
    }
}
