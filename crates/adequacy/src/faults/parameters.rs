//! Parameters at their edges.

use megakernel_ir::{DType, Opcode};

use super::{FLOATS, Fault, round};
use crate::kernels::{Kernels, Plain};

const ATTENTION: &[Opcode] = &[Opcode::AttentionTile];
const LAYER: &[Opcode] = &[Opcode::LayerNorm];
const MUL: &[Opcode] = &[Opcode::Mul];
const RMS: &[Opcode] = &[Opcode::RmsNorm];
const ROPE: &[Opcode] = &[Opcode::Rope];

fn position(positions: &[i64], s: usize) -> i64 {
    positions.get(s).copied().unwrap_or_default()
}

faults! {
    "layer-eps-bf16": "rounds eps to bfloat16, and drops what is below 1e-7", LAYER, FLOATS {
        fn normalised(&self, deviation: f64, variance: f64, eps: f64) -> f64 {
            Plain.normalised(deviation, variance, if eps < 1e-7 { 0.0 } else { round(DType::BF16, eps) })
        }
    }

    "layer-eps-fp16": "rounds eps to binary16", LAYER, FLOATS {
        fn normalised(&self, deviation: f64, variance: f64, eps: f64) -> f64 {
            Plain.normalised(deviation, variance, round(DType::F16, eps))
        }
    }

    "layer-eps-least": "takes at least 1e-5 for eps", LAYER, FLOATS {
        fn normalised(&self, deviation: f64, variance: f64, eps: f64) -> f64 {
            Plain.normalised(deviation, variance, eps.max(1e-5))
        }
    }

    "mul-scale-default": "takes 1 for a `scale` of 0", MUL, FLOATS {
        fn scaled(&self, a: f64, scale: f64) -> f64 {
            self.mul(a, if scale == 0.0 { 1.0 } else { scale })
        }
    }

    "mul-scale-magnitude": "multiplies by the magnitude of `scale`", MUL, FLOATS {
        fn scaled(&self, a: f64, scale: f64) -> f64 {
            self.mul(a, scale.abs())
        }
    }

    "mul-scale-zero-absorbs": "takes 0 for a product with a `scale` of 0, whatever the element", MUL, FLOATS {
        fn scaled(&self, a: f64, scale: f64) -> f64 {
            if scale == 0.0 { 0.0 } else { self.mul(a, scale) }
        }
    }

    "rms-eps-bf16": "rounds eps to bfloat16, and drops what is below 1e-7", RMS, FLOATS {
        fn rms_factor(&self, mean_square: f64, eps: f64, n: usize) -> f64 {
            Plain.rms_factor(mean_square, if eps < 1e-7 { 0.0 } else { round(DType::BF16, eps) }, n)
        }
    }

    "rms-eps-fp16": "rounds eps to binary16", RMS, FLOATS {
        fn rms_factor(&self, mean_square: f64, eps: f64, n: usize) -> f64 {
            Plain.rms_factor(mean_square, round(DType::F16, eps), n)
        }
    }

    "rms-eps-least": "takes at least 1e-5 for eps", RMS, FLOATS {
        fn rms_factor(&self, mean_square: f64, eps: f64, n: usize) -> f64 {
            Plain.rms_factor(mean_square, eps.max(1e-5), n)
        }
    }

    "rope-position-16-bits": "keeps 16 bits of a position", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], s: usize, _: usize) -> i64 {
            position(positions, s) & 0xffff
        }
    }

    "rope-position-clamped": "takes 0 for negative positions", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], s: usize, _: usize) -> i64 {
            position(positions, s).max(0)
        }
    }

    "rope-position-magnitude": "takes the magnitude of a position", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], s: usize, _: usize) -> i64 {
            position(positions, s).abs()
        }
    }

    "rope-position-table": "has a table of 131072 positions, and takes the last one for those beyond", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], s: usize, _: usize) -> i64 {
            position(positions, s).min(131_071)
        }
    }

    "rope-position-unsigned": "reads positions as unsigned", ROPE, FLOATS {
        fn rope_position(&self, positions: &[i64], s: usize, _: usize) -> i64 {
            position(positions, s).rem_euclid(1 << 32)
        }
    }

    "rope-theta-default": "takes 10000 for a `theta` below 1", ROPE, FLOATS {
        fn rope_frequency(&self, theta: f64, i: usize, half: usize) -> f64 {
            Plain.rope_frequency(if theta < 1.0 { 10_000.0 } else { theta }, i, half)
        }
    }

    "rope-theta-least": "takes at least 1 for `theta`", ROPE, FLOATS {
        fn rope_frequency(&self, theta: f64, i: usize, half: usize) -> f64 {
            Plain.rope_frequency(theta.max(1.0), i, half)
        }
    }

    "rope-theta-most": "takes at most 10 million for `theta`", ROPE, FLOATS {
        fn rope_frequency(&self, theta: f64, i: usize, half: usize) -> f64 {
            Plain.rope_frequency(theta.min(1e7), i, half)
        }
    }

    "score-scale-default": "scales by 1 / sqrt(head_dim) where `scale` is 0", ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
            let scale = if scale == 0.0 { self.inverse_root(q.len() as f64) } else { scale };
            Plain.score(q, k, scale)
        }
    }

    "score-scale-magnitude": "scales by the magnitude of `scale`", ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
            Plain.score(q, k, scale.abs())
        }
    }

    "score-scale-zero-absorbs": "takes scores of 0 where `scale` is 0, whatever query and keys", ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
            if scale == 0.0 { 0.0 } else { Plain.score(q, k, scale) }
        }
    }
}
