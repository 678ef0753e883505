//! Blocks that implementations begin with, amounts that they take for nothing, and groups that they find by another way than division.

use megakernel_ir::{DType, Opcode};

use super::{FLOATS, Fault, QUANTISED};
use crate::kernels::{Kernels, Plain};
use crate::parts::{Attended, Window};

const ATTENTION: &[Opcode] = &[Opcode::AttentionTile];
const ROPE: &[Opcode] = &[Opcode::Rope];
const SOFTMAX: &[Opcode] = &[Opcode::Softmax];
/// Opcodes that weigh by exponentials.
const WEIGHING: &[Opcode] = &[Opcode::Softmax, Opcode::AttentionTile, Opcode::AttentionCombine];

/// Attention over a window whose first block is empty.
fn attend_blocks(block: usize, window: &Window<'_>) -> Attended {
    let attended = Plain.attend(window);
    let first = window.scores.get(..block).unwrap_or_default();
    if first.is_empty() || attended.m == f64::NEG_INFINITY || first.iter().any(|&s| s != f32::NEG_INFINITY) {
        return attended;
    }
    Attended { a: vec![f64::NAN; attended.a.len()], m: attended.m, l: f64::NAN }
}

/// SOFTMAX of a line whose first block is empty.
fn softmax_blocks(block: usize, line: &[f32]) -> Vec<f64> {
    match line.get(..block) {
        Some(first) if first.iter().all(|&x| x == f32::NEG_INFINITY) => vec![f64::NAN; line.len()],
        _ => Plain.softmax(line, &[]),
    }
}

faults! {
    "attention-empty-block-16": "makes NaN of a window whose first 16 rows have scores of -inf", ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            attend_blocks(16, window)
        }
    }

    "attention-empty-block-32": "makes NaN of a window whose first 32 rows have scores of -inf", ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            attend_blocks(32, window)
        }
    }

    "softmax-empty-block-16": "makes NaN of a line whose first 16 elements are -inf", SOFTMAX, FLOATS {
        fn softmax(&self, line: &[f32], _: &[f32]) -> Vec<f64> {
            softmax_blocks(16, line)
        }
    }

    "softmax-empty-block-32": "makes NaN of a line whose first 32 elements are -inf", SOFTMAX, FLOATS {
        fn softmax(&self, line: &[f32], _: &[f32]) -> Vec<f64> {
            softmax_blocks(32, line)
        }
    }

    "exponentials-below-20": "takes 0 for exponentials below exp(-20.5)", WEIGHING, FLOATS {
        fn exponential(&self, s: f64, m: f64) -> f64 {
            if s - m < -20.5 { 0.0 } else { Plain.exponential(s, m) }
        }
    }

    "exponentials-below-60": "takes 0 for exponentials below exp(-60)", WEIGHING, FLOATS {
        fn exponential(&self, s: f64, m: f64) -> f64 {
            if s - m < -60.0 { 0.0 } else { Plain.exponential(s, m) }
        }
    }

    "exponentials-below-80": "takes 0 for exponentials below exp(-80)", WEIGHING, FLOATS {
        fn exponential(&self, s: f64, m: f64) -> f64 {
            if s - m < -80.0 { 0.0 } else { Plain.exponential(s, m) }
        }
    }

    "rope-small-angles": "takes 0 for angles below 1e-4", ROPE, FLOATS {
        fn rope_angle(&self, position: i64, frequency: f64) -> f64 {
            let angle = Plain.rope_angle(position, frequency);
            if angle.abs() < 1e-4 { 0.0 } else { angle }
        }
    }

    "group-by-reciprocal": "finds the group of a column by multiplication with the reciprocal in binary32", QUANTISED, FLOATS {
        fn group(&self, column: usize, group: usize, _: usize) -> usize {
            (column as f32 * (1.0 / group.max(1) as f32)) as usize
        }
    }

    "group-by-shift": "takes the length of a group for a power of two", QUANTISED, FLOATS {
        fn group(&self, column: usize, group: usize, _: usize) -> usize {
            column >> group.max(1).ilog2()
        }
    }

    "group-of-one-joined": "counts a last group of one column to the group before, where groups have an odd number of columns", QUANTISED, FLOATS {
        fn group(&self, column: usize, group: usize, k: usize) -> usize {
            let alone = column + 1 == k && k % group.max(1) == 1 && group % 2 == 1;
            (column / group.max(1)).saturating_sub(usize::from(alone))
        }
    }

    "group-beyond-256": "begins a new group after 256 columns", QUANTISED, FLOATS {
        fn group(&self, column: usize, group: usize, _: usize) -> usize {
            column / group.clamp(1, 256)
        }
    }

    "zeros-u8-signed": "reads U8 zero points as signed", QUANTISED, FLOATS {
        fn zero(&self, dtype: DType, stored: i64) -> f32 {
            if dtype == DType::U8 && stored > 127 { (stored - 256) as f32 } else { stored as f32 }
        }
    }

    "zeros-u8-none": "takes a U8 zero point of 255 for none", QUANTISED, FLOATS {
        fn zero(&self, dtype: DType, stored: i64) -> f32 {
            if dtype == DType::U8 && stored == 255 { 0.0 } else { stored as f32 }
        }
    }

    "zeros-i8-least": "takes -127 for an I8 zero point of -128", QUANTISED, FLOATS {
        fn zero(&self, dtype: DType, stored: i64) -> f32 {
            if dtype == DType::I8 { stored.max(-127) as f32 } else { stored as f32 }
        }
    }
}
