//! NOP (clause OPC-00): no operands and no footprint. A join of its waits.

use super::{Op, Operands, Problems};

pub(super) struct Nop;

pub(super) static OP: Nop = Nop;

impl Op for Nop {
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
