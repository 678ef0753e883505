//! ROPE.

use megakernel_ir::{DType, Opcode};

use super::{FLOATS, Fault, round};
use crate::kernels::{Kernels, Plain};

const ROPE: &[Opcode] = &[Opcode::Rope];

faults! {
    "rope-adjacent-pairs": "pairs neighbouring elements instead of the two halves", ROPE, FLOATS {
        fn rope_pair(&self, i: usize, _: usize) -> (usize, usize) {
            (2 * i, 2 * i + 1)
        }
    }

    "rope-angle-bf16": "rounds the angle to bfloat16", ROPE, FLOATS {
        fn rope_angle(&self, position: i64, frequency: f64) -> f64 {
            round(DType::BF16, Plain.rope_angle(position, frequency))
        }
    }

    "rope-angle-fp16": "rounds the angle to binary16", ROPE, FLOATS {
        fn rope_angle(&self, position: i64, frequency: f64) -> f64 {
            round(DType::F16, Plain.rope_angle(position, frequency))
        }
    }

    "rope-exponent": "divides the exponent by head_dim instead of its half", ROPE, FLOATS {
        fn rope_frequency(&self, theta: f64, i: usize, half: usize) -> f64 {
            Plain.rope_frequency(theta, i, 2 * half)
        }
    }

    "rope-first-position": "rotates every row by the first position", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], _: usize, h: usize) -> i64 {
            Plain.rope_position(positions, 0, h)
        }
    }

    "rope-frequency-bf16": "rounds the frequencies to bfloat16", ROPE, FLOATS {
        fn rope_frequency(&self, theta: f64, i: usize, half: usize) -> f64 {
            round(DType::BF16, Plain.rope_frequency(theta, i, half))
        }
    }

    "rope-next-position": "rotates by the position behind", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], s: usize, h: usize) -> i64 {
            Plain.rope_position(positions, s, h) + 1
        }
    }

    "rope-position-per-head": "goes to the next position with every head", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], s: usize, h: usize) -> i64 {
            Plain.rope_position(positions, s, h) + h as i64
        }
    }

    "rope-sign": "rotates in the other direction", ROPE, FLOATS {
        fn rotate(&self, a: f64, b: f64, sin: f64, cos: f64) -> (f64, f64) {
            Plain.rotate(a, b, -sin, cos)
        }
    }

    "rope-table-bf16": "rounds sines and cosines to bfloat16", ROPE, FLOATS {
        fn sin_cos(&self, angle: f64) -> (f64, f64) {
            let (sin, cos) = Plain.sin_cos(angle);
            (round(DType::BF16, sin), round(DType::BF16, cos))
        }
    }

    "rope-theta-fixed": "uses the base 10000, whatever `theta` says", ROPE, FLOATS {
        fn rope_frequency(&self, _: f64, i: usize, half: usize) -> f64 {
            Plain.rope_frequency(10000.0, i, half)
        }
    }
}
