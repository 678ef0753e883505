//! `load-flushes-subnormals`: reads subnormal numbers as zero.

use megakernel_ir::numerics::{decode, encode};
use megakernel_ir::{DType, Opcode};

use super::{Fault, FLOATS, WRITE_FLOATS, flushed};
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "load-flushes-subnormals",
    summary: "reads subnormal numbers as zero",
    opcodes: WRITE_FLOATS,
    outputs: FLOATS,
    why: "",
    kernels: &LoadFlushesSubnormals,
};

struct LoadFlushesSubnormals;

impl Kernels for LoadFlushesSubnormals {
    fn load(&self, _: Opcode, dtype: DType, _: DType, elements: &[f32]) -> Option<Vec<f32>> {
        let read = |&x: &f32| decode(dtype, flushed(dtype, encode(dtype, f64::from(x)))) as f32;
        Some(elements.iter().map(read).collect())
    }
}
