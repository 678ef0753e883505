//! `silu-overflow`: computes the sigmoid as exp(x) / (1 + exp(x)).

use megakernel_ir::Opcode;

use super::{Fault, FLOATS};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "silu-overflow",
    summary: "computes the sigmoid as exp(x) / (1 + exp(x))",
    opcodes: &[Opcode::SiluMul],
    outputs: FLOATS,
    why: "",
    kernels: &SiluOverflow,
};

struct SiluOverflow;

impl Kernels for SiluOverflow {
    fn silu(&self, x: f64) -> f64 {
        let power = self.exp(x);
        self.mul(x, self.div(power, self.add(1.0, power)))
    }
}
