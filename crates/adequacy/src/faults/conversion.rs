//! Rounding where an element is stored.

use megakernel_ir::{DType, Opcode};
use megakernel_numerics::{FloatFormat, decode, encode};

use super::{FLOATS, Fault, HELD, NARROW, WRITE_FLOATS, flushed, round, tie};
use crate::kernels::Kernels;
use crate::parts::{Given, Operand};

const E4M3: &[DType] = &[DType::F8E4M3];
const EIGHT_BITS: &[DType] = &[DType::F8E4M3, DType::F8E5M2];
const F16: &[DType] = &[DType::F16];
/// Dtypes with infinities that are cut off numbers of binary32.
const CUT: &[DType] = &[DType::F16, DType::BF16, DType::F8E5M2];
const NOTHING_CUT: &str = "nothing is cut off an F32, and F8E4M3 has no infinity";
/// Opcodes that move values as they are.
const MOVES: &[Opcode] = &[Opcode::Copy, Opcode::Embed, Opcode::KvAppend];
const STORED: &str = "other dtypes are stored as they should be";

faults! {
    "cast-e4m3-early-nan": "stores NaN for every number beyond 448, also where it rounds to 448",
        WRITE_FLOATS, E4M3, STORED {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            let beyond = dtype == DType::F8E4M3 && value.abs() > 448.0;
            encode(dtype, if beyond { f64::NAN } else { value })
        }
    }

    "cast-flushes-subnormals": "stores zero for subnormal numbers", WRITE_FLOATS, FLOATS {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            flushed(dtype, encode(dtype, value))
        }
    }

    "cast-subnormals-cut": "cuts off the digits of subnormal numbers", WRITE_FLOATS, NARROW, HELD {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            let nearest = encode(dtype, value);
            let is_further = decode(dtype, nearest).abs() > value.abs();
            let is_subnormal = flushed(dtype, nearest) != nearest;
            // Bits grow with the magnitude.
            if is_subnormal && is_further { nearest - 1 } else { nearest }
        }
    }

    "moved-nan-cut": "stores an infinity for a NaN of F32 of which only digits that do not fit tell it from one", MOVES, CUT, NOTHING_CUT {
        fn given(&self, given: &mut Given<'_, '_>) {
            let output = given.output().map(|output| output.dtype).filter(|dtype| CUT.contains(dtype));
            let Some(format) = output.and_then(FloatFormat::of) else { return };
            let bits = format.fraction_bits;
            let index = usize::from(given.task.op == Opcode::Embed);
            if MOVES.contains(&given.task.op) {
                let kept = 0x7f_ffff >> (23 - bits) << (23 - bits);
                let is_lost = |x: f32| x.is_nan() && x.to_bits() & kept == 0;
                given.change(index, |_, x| if is_lost(x) { f32::INFINITY.copysign(x) } else { x });
            }
        }
    }

    "cast-fp16-saturates": "stores the largest finite number where F16 overflows", WRITE_FLOATS, F16, STORED {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            let finite = dtype == DType::F16 && value.is_finite();
            encode(dtype, if finite { value.clamp(-65504.0, 65504.0) } else { value })
        }
    }

    "cast-fp8-saturates": "stores the largest finite number where an 8-bit float overflows",
        WRITE_FLOATS, EIGHT_BITS, STORED {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            let largest = match dtype {
                DType::F8E4M3 => 448.0,
                DType::F8E5M2 => 57344.0,
                _ => return encode(dtype, value),
            };
            encode(dtype, if value.is_nan() { value } else { value.clamp(-largest, largest) })
        }
    }

    "cast-fp8-twice": "rounds to binary16 on the way to an 8-bit float", WRITE_FLOATS, EIGHT_BITS, STORED {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            let narrow = matches!(dtype, DType::F8E4M3 | DType::F8E5M2);
            encode(dtype, if narrow { round(DType::F16, value) } else { value })
        }
    }

    "cast-half-away": "rounds ties away from zero", WRITE_FLOATS, NARROW, HELD {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            let nearest = encode(dtype, value);
            tie(dtype, nearest, value).map_or(nearest, |other| other.max(nearest))
        }
    }

    "cast-half-up": "rounds ties towards plus infinity", WRITE_FLOATS, NARROW, HELD {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            let nearest = encode(dtype, value);
            match tie(dtype, nearest, value) {
                // Bits grow with the magnitude.
                Some(other) if (other > nearest) == (value > 0.0) => other,
                _ => nearest,
            }
        }
    }

    "cast-nan-swallowed": "stores zero for NaN", WRITE_FLOATS, FLOATS {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            encode(dtype, if value.is_nan() { 0.0 } else { value })
        }
    }

    "cast-truncates": "cuts off the digits that do not fit", WRITE_FLOATS, NARROW, HELD {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            let nearest = encode(dtype, value);
            let stored = decode(dtype, nearest);
            let too_far = stored.abs() > value.abs() || value.is_finite() && !stored.is_finite();
            if too_far { nearest - 1 } else { nearest }
        }
    }

    "load-flushes-subnormals": "reads subnormal numbers as zero", WRITE_FLOATS, FLOATS {
        fn load(&self, operand: Operand, _: DType, elements: &[f32]) -> Option<Vec<f32>> {
            let dtype = operand.dtype;
            let read = |&x: &f32| decode(dtype, flushed(dtype, encode(dtype, f64::from(x)))) as f32;
            Some(elements.iter().map(read).collect())
        }
    }
}
