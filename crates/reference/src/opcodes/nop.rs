//! NOP (clause OPC-00): no operands and no footprint. A join of its waits.

use megakernel_ir::Param;
use megakernel_ir::model::Task;
use smallvec::SmallVec;

use super::{Arity, Op, Operands, Problems};

pub(super) struct Nop;

impl Op for Nop {
    fn arity(&self, _task: &Task<'_>) -> Arity {
        Arity { inputs: 0..=0, outputs: 0 }
    }

    fn required_params(&self, _task: &Task<'_>) -> SmallVec<[Param; 8]> {
        SmallVec::new()
    }

    fn dtypes(&self, _operands: &Operands<'_>, _problems: &mut Problems) {}

    fn shapes(&self, _operands: &Operands<'_>, _problems: &mut Problems) {}
}

#[cfg(test)]
mod tests {
    use crate::opcodes::testing::case;

    #[test]
    fn it_accesses_nothing() {
        case("NOP ->").assert_clean().assert_reads(0, None).assert_writes(0, None);
        case("NOP -> ; eps=0.5").assert_clean();
    }
}
