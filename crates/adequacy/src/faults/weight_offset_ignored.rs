//! `weight-offset-ignored`: takes the rows of W from the beginning, whatever `n_off` says.

use super::{Fault, FLOATS, MATRIX};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "weight-offset-ignored",
    summary: "takes the rows of W from the beginning, whatever `n_off` says",
    opcodes: MATRIX,
    outputs: FLOATS,
    why: "",
    kernels: &WeightOffsetIgnored,
};

struct WeightOffsetIgnored;

impl Kernels for WeightOffsetIgnored {
    fn weight_row(&self, n: usize, n_off: usize) -> usize {
        n - n_off
    }
}
