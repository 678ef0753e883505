//! SOFTMAX, the merging of partials, and exponentials wherever they are taken.

use megakernel_ir::{DType, Opcode};

use super::{FLOATS, Fault, round};
use crate::kernels::{Kernels, Plain};
use crate::parts::Site;

const COMBINE: &[Opcode] = &[Opcode::AttentionCombine];
/// Opcodes that take exponentials.
const EXPONENTIALS: &[Opcode] =
    &[Opcode::AttentionTile, Opcode::SiluMul, Opcode::Softmax, Opcode::AttentionCombine];
const SOFTMAX: &[Opcode] = &[Opcode::Softmax];
/// Opcodes that weigh by exponentials of differences to a maximum.
const WEIGHTED: &[Opcode] = &[Opcode::AttentionTile, Opcode::Softmax, Opcode::AttentionCombine];
const ONLY_F32: &[DType] = &[DType::F32];
const CHANCE: &str = "the digits that are missing show in binary32, and in others by chance";

faults! {
    "combine-empty-weighed": "weighs a partial whose denominator is 0 like any other", COMBINE, FLOATS {
        fn partial_weight(&self, m_p: f64, _: f64, m: f64) -> f64 {
            self.exponential(m_p, m)
        }
        fn merged(&self, a: f64, l: f64) -> f64 {
            self.div(a, l)
        }
    }

    "combine-last-dropped": "leaves out the last partial", COMBINE, FLOATS {
        fn partials(&self, n: usize) -> usize {
            n - 1
        }
    }

    "combine-not-normalised": "does not divide the merged accumulator", COMBINE, FLOATS {
        fn merged(&self, a: f64, _: f64) -> f64 {
            a
        }
    }

    "combine-tail-swapped": "reads the denominator of a partial as its maximum, and the other way round",
        COMBINE, FLOATS {
        fn partial_tail(&self, first: f64, second: f64) -> (f64, f64) {
            (second, first)
        }
    }

    "combine-without-rescaling": "adds up partials without rescaling them to the common maximum",
        COMBINE, FLOATS {
        fn partial_weight(&self, _: f64, l_p: f64, _: f64) -> f64 {
            if l_p > 0.0 { 1.0 } else { 0.0 }
        }
    }

    "exponential-base-2": "takes powers of 2 instead of e", EXPONENTIALS, FLOATS {
        fn exp(&self, x: f64) -> f64 {
            f64::from(libm::exp2f(x as f32))
        }
    }

    "exponential-bf16": "rounds exponentials to bfloat16", EXPONENTIALS, FLOATS {
        fn exp(&self, x: f64) -> f64 {
            round(DType::BF16, Plain.exp(x))
        }
    }

    "exponential-constant": "takes 1.4427 for the logarithm of e to base 2", EXPONENTIALS, ONLY_F32, CHANCE {
        fn exp(&self, x: f64) -> f64 {
            // The logarithm, cut off after four digits.
            f64::from(libm::exp2f(x as f32 * (14_427.0 / 10_000.0)))
        }
    }

    "softmax-common-maximum": "subtracts the maximum of the first 4,096 numbers of the operand instead of that of the line",
        SOFTMAX, FLOATS {
        fn softmax(&self, line: &[f32], all: &[f32]) -> Vec<f64> {
            // Not of all of them, which each line would look for anew.
            let m = self.maximum(all.get(..4096).unwrap_or(all));
            let weights: Vec<f32> = line.iter().map(|&x| self.exponential(f64::from(x), m) as f32).collect();
            let l = self.sum(Site::Denominator, &weights);
            weights.iter().map(|&weight| self.div(f64::from(weight), l)).collect()
        }
    }

    "softmax-first-axis": "goes along the first axis", SOFTMAX, FLOATS {
        fn axis(&self, _: i64, _: usize) -> usize {
            0
        }
    }

    "softmax-last-axis": "goes along the last axis, whatever `dim` says", SOFTMAX, FLOATS {
        fn axis(&self, _: i64, rank: usize) -> usize {
            rank.saturating_sub(1)
        }
    }

    "softmax-nan-lost": "passes over a NaN among the scores", WEIGHTED, FLOATS {
        fn exponential(&self, s: f64, m: f64) -> f64 {
            if s.is_nan() { 0.0 } else { Plain.exponential(s, m) }
        }
        fn maximum(&self, numbers: &[f32]) -> f64 {
            f64::from(numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max))
        }
    }

    "softmax-without-maximum": "does not subtract the maximum before the exponential", WEIGHTED, FLOATS {
        fn exponential(&self, s: f64, _: f64) -> f64 {
            self.exp(s)
        }
    }
}
