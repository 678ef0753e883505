//! `append-sequences-swapped`: gives the rows of a batch to the sequences in reverse.

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "append-sequences-swapped",
    summary: "gives the rows of a batch to the sequences in reverse",
    opcodes: &[Opcode::KvAppend],
    outputs: FLOATS,
    why: "",
    kernels: &AppendSequencesSwapped,
};

struct AppendSequencesSwapped;

impl Kernels for AppendSequencesSwapped {
    fn append_sequence(&self, b: usize, sequences: usize) -> usize {
        sequences - 1 - b
    }
}
