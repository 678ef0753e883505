//! `bias-offset-ignored`: takes the bias from the beginning, whatever `n_off` says.

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "bias-offset-ignored",
    summary: "takes the bias from the beginning, whatever `n_off` says",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &BiasOffsetIgnored,
};

struct BiasOffsetIgnored;

impl Kernels for BiasOffsetIgnored {
    fn bias_index(&self, n: usize, n_off: usize) -> usize {
        n - n_off
    }
}
