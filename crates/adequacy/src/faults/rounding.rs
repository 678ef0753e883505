//! Rounding that is wrong between two operations, where a bound may hide it.

use megakernel_ir::{DType, Opcode};

use super::{FLOATS, Fault, MATRIX, flushed};
use crate::kernels::{Kernels, Plain};
use crate::parts::{Attended, Site, Window};

const ADD: &[Opcode] = &[Opcode::Add];
const ALLREDUCE: &[Opcode] = &[Opcode::AllreduceShard];
const ATTENTION: &[Opcode] = &[Opcode::AttentionTile];
const DEQUANT: &[Opcode] = &[Opcode::Dequant];
const MUL: &[Opcode] = &[Opcode::Mul];
const SILU: &[Opcode] = &[Opcode::SiluMul];
/// Dtypes that hold what is flushed.
const WIDE: &[DType] = &[DType::F32, DType::BF16];
const BELOW: &str = "what is flushed is below what other dtypes hold";
const ONLY_F32: &[DType] = &[DType::F32];
const MAXIMUM: &str = "a score that small shows only as the maximum of a partial, which is F32";
const LAST: &str = "other dtypes are rounded after the last bit of binary32 is lost";

/// A number of binary32, or zero where it is subnormal.
fn normal(x: f64) -> f64 {
    f64::from(f32::from_bits(flushed(DType::F32, (x as f32).to_bits())))
}

/// The sum of products of which subnormal ones count as zero.
fn of_normal_products(start: f64, x: &[f32], w: &[f32]) -> f64 {
    x.iter().zip(w).fold(start, |sum, (&x, &w)| Plain.add(sum, normal(Plain.mul(f64::from(x), f64::from(w)))))
}

/// The nearest number of binary32 that is no larger in magnitude.
fn cut(exact: f64) -> f64 {
    let held = exact as f32;
    if f64::from(held).abs() > exact.abs() && held.is_finite() {
        return f64::from(f32::from_bits(held.to_bits() - 1));
    }
    f64::from(held)
}

faults! {
    "add-cut": "cuts off the digits of a sum that binary32 does not hold", ADD, ONLY_F32, LAST {
        fn sum_of_two(&self, a: f64, b: f64, _: DType) -> f64 {
            cut(a + b)
        }
    }

    "add-flushed": "flushes subnormal sums to zero", ADD, WIDE, BELOW {
        fn sum_of_two(&self, a: f64, b: f64, _: DType) -> f64 {
            normal(self.add(a, b))
        }
    }

    "dequant-cut": "cuts off the digits of a weight that binary32 does not hold", DEQUANT, ONLY_F32, LAST {
        fn weight(&self, q: f32, zero: Option<f32>, scale: f32) -> f64 {
            cut((f64::from(q) - f64::from(zero.unwrap_or_default())) * f64::from(scale))
        }
    }

    "dequant-flushed": "flushes subnormal weights to zero", DEQUANT, WIDE, BELOW {
        fn weight(&self, q: f32, zero: Option<f32>, scale: f32) -> f64 {
            normal(Plain.weight(q, zero, scale))
        }
    }

    "matrix-products-flushed": "flushes subnormal products of a sum over K to zero", MATRIX, WIDE, BELOW {
        fn dot_onto(&self, site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
            match site {
                Site::Matrix => of_normal_products(start, x, w),
                _ => Plain.dot_onto(site, start, x, w),
            }
        }
    }

    "mul-cut": "cuts off the digits of a product that binary32 does not hold", MUL, ONLY_F32, LAST {
        fn product_of_two(&self, a: f64, b: f64, _: Option<f64>) -> f64 {
            cut(a * b)
        }
    }

    "mul-flushed": "flushes subnormal products to zero", MUL, WIDE, BELOW {
        fn product_of_two(&self, a: f64, b: f64, _: Option<f64>) -> f64 {
            normal(self.mul(a, b))
        }
    }

    "score-products-flushed": "flushes subnormal products of a query and a key to zero",
        ATTENTION, ONLY_F32, MAXIMUM {
        fn dot_onto(&self, site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
            match site {
                Site::Scores => of_normal_products(start, x, w),
                _ => Plain.dot_onto(site, start, x, w),
            }
        }
    }

    "probabilities-cut": "cuts the weights of the values, and not those of the denominator, to 18 significant bits",
        ATTENTION, ONLY_F32, LAST {
        fn attend(&self, window: &Window<'_>) -> Attended {
            let whole = Plain.attend(window);
            if whole.m == f64::NEG_INFINITY {
                return whole;
            }
            let bits = |weight: f64| f64::from(f32::from_bits((weight as f32).to_bits() & !0x3f));
            let weight = |&s: &f32| bits(self.exponential(f64::from(s), whole.m)) as f32;
            let weights: Vec<f32> = window.scores.iter().map(weight).collect();
            let a = (0..window.head_dim).map(|d| self.dot(Site::Values, &weights, window.column(d))).collect();
            Attended { a, ..whole }
        }
    }

    "shards-cut": "cuts off digits at each addition of a shard", ALLREDUCE, ONLY_F32, LAST {
        fn sum(&self, site: Site, terms: &[f32]) -> f64 {
            match site {
                Site::Shards => terms.iter().fold(0.0, |sum, &term| cut(sum + f64::from(term))),
                _ => Plain.sum(site, terms),
            }
        }
    }

    "shards-flushed": "flushes subnormal sums of shards to zero", ALLREDUCE, WIDE, BELOW {
        fn sum(&self, site: Site, terms: &[f32]) -> f64 {
            match site {
                Site::Shards => terms.iter().fold(0.0, |sum, &term| normal(self.add(sum, f64::from(term)))),
                _ => Plain.sum(site, terms),
            }
        }
    }

    "silu-product-first": "multiplies gate by up before it divides", SILU, FLOATS {
        fn silu_mul(&self, gate: f64, up: f64, _: DType) -> f64 {
            self.div(self.mul(gate, up), self.add(1.0, self.exp(-gate)))
        }
    }
}
