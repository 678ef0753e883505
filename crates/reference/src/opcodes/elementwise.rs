//! Opcodes whose operands all have one shape, and where each element of the output depends on the same
//! element of the inputs alone: SILU_MUL, GELU, ADD, MUL, ALLREDUCE_SHARD.

use std::ops::RangeInclusive;

use megakernel_ir::Param;
use megakernel_ir::model::Task;
use smallvec::SmallVec;

use super::{Arity, InPlace, Op, Operands, Problems, checks};

/// An elementwise opcode: *float* operands of equal shapes, read and written whole, in-place use allowed.
pub(super) struct Elementwise {
    /// Number of inputs.
    pub inputs: RangeInclusive<usize>,
}

impl Op for Elementwise {
    fn arity(&self, _task: &Task<'_>) -> Arity {
        Arity { inputs: self.inputs.clone(), outputs: 1 }
    }

    fn required_params(&self, _task: &Task<'_>) -> SmallVec<[Param; 8]> {
        SmallVec::new()
    }

    fn dtypes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::all_float(operands, problems);
    }

    fn shapes(&self, operands: &Operands<'_>, problems: &mut Problems) {
        checks::alike(operands, true, problems);
    }

    fn in_place(&self, _input: usize) -> InPlace {
        InPlace::Allowed
    }
}
