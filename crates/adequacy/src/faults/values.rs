//! Values that an implementer does not think of: in rows that are left out, in terms whose other factor is 0, in lines of one
//! element or of one value, below what a maximum begins with.

use megakernel_ir::{DType, Opcode};

use super::{FLOATS, Fault, I32, MATRIX, QUANTISED, WRITE_FLOATS};
use crate::kernels::{Kernels, Plain};
use crate::parts::{Attended, Moments, Site, Window};

const ARGMAX: &[Opcode] = &[Opcode::SampleArgmax];
const ATTENTION: &[Opcode] = &[Opcode::AttentionTile];
const COMBINE: &[Opcode] = &[Opcode::AttentionCombine];
const DEQUANT: &[Opcode] = &[Opcode::Dequant];
const GELU: &[Opcode] = &[Opcode::Gelu];
const LAYER: &[Opcode] = &[Opcode::LayerNorm];
const MUL: &[Opcode] = &[Opcode::Mul];
const RMS: &[Opcode] = &[Opcode::RmsNorm];
const ROPE: &[Opcode] = &[Opcode::Rope];
const SILU: &[Opcode] = &[Opcode::SiluMul];
const SOFTMAX: &[Opcode] = &[Opcode::Softmax];
/// Dtypes that tell an infinity from a NaN.
const WITH_INFINITY: &[DType] = &[DType::F32, DType::F16, DType::BF16, DType::F8E5M2];
const SAME: &str = "F8E4M3 holds a NaN in either case";

/// The larger of the two, as `fmaxf` has it, but that a NaN stays.
fn at_least(least: f64, maximum: f64) -> f64 {
    if maximum < least { least } else { maximum }
}

/// SOFTMAX of a line with some number for the maximum.
fn softmax_from(k: &dyn Kernels, line: &[f32], m: f64) -> Vec<f64> {
    let weights: Vec<f32> = line.iter().map(|&x| k.exponential(f64::from(x), m) as f32).collect();
    let l = k.sum(Site::Denominator, &weights);
    weights.iter().map(|&weight| k.div(f64::from(weight), l)).collect()
}

/// Attention over a window with some number for the maximum.
fn attend_from(k: &dyn Kernels, window: &Window<'_>, m: f64) -> Attended {
    let weights: Vec<f32> = window.scores.iter().map(|&s| k.exponential(f64::from(s), m) as f32).collect();
    let l = k.sum(Site::Denominator, &weights);
    let a = (0..window.head_dim).map(|d| k.dot(Site::Values, &weights, window.column(d))).collect();
    Attended { a, m, l }
}

/// The sum of products without those that a test leaves out.
fn filtered(start: f64, x: &[f32], w: &[f32], counts: impl Fn(f32, f32) -> bool) -> f64 {
    let (x, w): (Vec<f32>, Vec<f32>) = x.iter().zip(w).filter(|&(&x, &w)| counts(x, w)).unzip();
    Plain.dot_onto(Site::Matrix, start, &x, &w)
}

faults! {
    "argmax-from-half": "begins the search for the largest logit at -65504", ARGMAX, I32 {
        fn least_logit(&self) -> Option<f32> {
            Some(-65504.0)
        }
    }

    "argmax-from-lowest": "begins the search for the largest logit at the lowest finite number", ARGMAX, I32 {
        fn least_logit(&self) -> Option<f32> {
            Some(f32::MIN)
        }
    }

    "argmax-from-thousands": "begins the search for the largest logit at -10000", ARGMAX, I32 {
        fn least_logit(&self) -> Option<f32> {
            Some(-1e4)
        }
    }

    "argmax-from-smallest": "begins the search for the largest logit at the smallest normal number", ARGMAX, I32 {
        fn least_logit(&self) -> Option<f32> {
            Some(f32::MIN_POSITIVE)
        }
    }

    "argmax-from-zero": "begins the search for the largest logit at 0", ARGMAX, I32 {
        fn least_logit(&self) -> Option<f32> {
            Some(0.0)
        }
    }

    "attention-from-half": "begins the search for the largest score at -65504", ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            attend_from(self, window, at_least(-65504.0, self.maximum(window.scores)))
        }
    }

    "attention-from-thousands": "begins the search for the largest score at -10000", ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            attend_from(self, window, at_least(-1e4, self.maximum(window.scores)))
        }
    }

    "attention-from-zero": "begins the search for the largest score at 0", ATTENTION, FLOATS {
        fn attend(&self, window: &Window<'_>) -> Attended {
            attend_from(self, window, at_least(0.0, self.maximum(window.scores)))
        }
    }

    "attention-infinite-score": "takes a score of +inf for the largest finite number", ATTENTION, FLOATS {
        fn score(&self, q: &[f32], k: &[f32], scale: f64) -> f64 {
            Plain.score(q, k, scale).min(f64::from(f32::MAX))
        }
        fn masked(&self, score: f64, mask: f64, _: f64) -> f64 {
            self.add(score, mask).min(f64::from(f32::MAX))
        }
    }

    "attention-left-out-added": "adds -1e9 to the score of a row that a BOOL mask leaves out", ATTENTION, FLOATS {
        fn left_out(&self, score: f64) -> Option<f64> {
            Some(self.add(score, -1e9))
        }
    }

    "attention-left-out-half": "gives a row that a BOOL mask leaves out the score -65504", ATTENTION, FLOATS {
        fn left_out(&self, _: f64) -> Option<f64> {
            Some(-65504.0)
        }
    }

    "attention-left-out-infinite": "gives a row that a BOOL mask leaves out the score -inf, and multiplies its value by 0",
        ATTENTION, FLOATS {
        fn left_out(&self, _: f64) -> Option<f64> {
            Some(f64::NEG_INFINITY)
        }
    }

    "attention-left-out-lowest": "gives a row that a BOOL mask leaves out the lowest finite score", ATTENTION, FLOATS {
        fn left_out(&self, _: f64) -> Option<f64> {
            Some(f64::from(f32::MIN))
        }
    }

    "attention-left-out-thousands": "gives a row that a BOOL mask leaves out the score -10000", ATTENTION, FLOATS {
        fn left_out(&self, _: f64) -> Option<f64> {
            Some(-1e4)
        }
    }

    "attention-one-row": "takes the value for the result where the window has one row", ATTENTION, FLOATS {
        fn attend_plain(&self, window: &Window<'_>) -> Vec<f64> {
            if window.scores.len() == 1 {
                return (0..window.head_dim).flat_map(|d| window.column(d)).map(|&v| f64::from(v)).collect();
            }
            self.normalise(&self.attend(window))
        }
    }

    "cast-infinity-largest": "stores the largest finite number for an infinity", WRITE_FLOATS, FLOATS {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            let format = megakernel_numerics::FloatFormat::of(dtype).filter(|_| value.is_infinite());
            let held = |bits| megakernel_numerics::decode(dtype, bits).copysign(value);
            megakernel_numerics::encode(dtype, format.map_or(value, |format| held(format.largest)))
        }
    }

    "cast-infinity-nan": "stores NaN for an infinity", WRITE_FLOATS, WITH_INFINITY, SAME {
        fn cast(&self, _: Opcode, dtype: DType, value: f64) -> u32 {
            megakernel_numerics::encode(dtype, if value.is_infinite() { f64::NAN } else { value })
        }
    }

    "combine-from-half": "begins the search for the largest maximum at -65504", COMBINE, FLOATS {
        fn combine(&self, partials: &[Attended]) -> Vec<f64> {
            Plain.combine(&begun(partials, -65504.0))
        }
    }

    "combine-from-thousands": "begins the search for the largest maximum at -10000", COMBINE, FLOATS {
        fn combine(&self, partials: &[Attended]) -> Vec<f64> {
            Plain.combine(&begun(partials, -1e4))
        }
    }

    "combine-from-zero": "begins the search for the largest maximum at 0", COMBINE, FLOATS {
        fn combine(&self, partials: &[Attended]) -> Vec<f64> {
            Plain.combine(&begun(partials, 0.0))
        }
    }

    "dequant-difference-skipped": "takes 0 where an integer is its zero point, whatever the scale", DEQUANT, FLOATS {
        fn weight(&self, q: f32, zero: Option<f32>, scale: f32) -> f64 {
            if q == zero.unwrap_or(0.0) { 0.0 } else { Plain.weight(q, zero, scale) }
        }
    }

    "gelu-infinity-zero": "takes 0 for GELU of -inf", GELU, FLOATS {
        fn gelu(&self, x: f64) -> f64 {
            if x == f64::NEG_INFINITY { 0.0 } else { Plain.gelu(x) }
        }
    }

    "keys-zero-skipped": "skips elements of keys that are 0, whatever the query", ATTENTION, FLOATS {
        fn dot_onto(&self, site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
            match site {
                Site::Scores => filtered(start, x, w, |_, k| k != 0.0),
                _ => Plain.dot_onto(site, start, x, w),
            }
        }
    }

    "layer-floor": "takes at least 1e-12 for the variance and eps", LAYER, FLOATS {
        fn layer_value(&self, x: f64, moments: Moments, w: f64, b: Option<f64>, output: DType) -> f64 {
            let variance = if moments.variance + moments.eps < 1e-12 { 1e-12 } else { moments.variance };
            Plain.layer_value(x, Moments { variance, ..moments }, w, b, output)
        }
    }

    "layer-one-element": "takes the bias for the result where a run has one element", LAYER, FLOATS {
        fn variance(&self, run: &[f32], mean: f64) -> f64 {
            if run.len() == 1 { f64::NEG_INFINITY } else { Plain.variance(run, mean) }
        }
        fn layer_value(&self, x: f64, moments: Moments, w: f64, b: Option<f64>, output: DType) -> f64 {
            if moments.variance == f64::NEG_INFINITY {
                return b.unwrap_or(0.0);
            }
            Plain.layer_value(x, moments, w, b, output)
        }
    }

    "matrix-input-skipped": "skips terms of a product whose x is 0, whatever the weight", MATRIX, FLOATS {
        fn dot_onto(&self, site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
            match site {
                Site::Matrix => filtered(start, x, w, |x, _| x != 0.0),
                _ => Plain.dot_onto(site, start, x, w),
            }
        }
    }

    "matrix-weight-skipped": "skips terms of a product whose weight is 0, whatever x", MATRIX, FLOATS {
        fn dot_onto(&self, site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
            match site {
                Site::Matrix => filtered(start, x, w, |_, w| w != 0.0),
                _ => Plain.dot_onto(site, start, x, w),
            }
        }
    }

    "mul-zero-absorbs": "takes 0 for a product with 0, whatever the other factor", MUL, FLOATS {
        fn product_of_two(&self, a: f64, b: f64, _: Option<f64>) -> f64 {
            if a == 0.0 || b == 0.0 { 0.0 } else { self.mul(a, b) }
        }
    }

    "queries-zero-skipped": "skips elements of the query that are 0, whatever the keys", ATTENTION, FLOATS {
        fn dot_onto(&self, site: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
            match site {
                Site::Scores => filtered(start, x, w, |q, _| q != 0.0),
                _ => Plain.dot_onto(site, start, x, w),
            }
        }
    }

    "quantised-integer-skipped": "takes 0 for a weight whose integer is 0, whatever zero point and scale", QUANTISED, FLOATS {
        fn weight(&self, q: f32, zero: Option<f32>, scale: f32) -> f64 {
            if q == 0.0 { 0.0 } else { Plain.weight(q, zero, scale) }
        }
    }

    "rms-floor": "takes at least 1e-12 for the mean of squares and eps", RMS, FLOATS {
        fn rms_factor(&self, mean_square: f64, eps: f64, _: usize) -> f64 {
            self.inverse_root(at_least(1e-12, self.add(mean_square, eps)))
        }
    }

    "rms-one-element": "takes the weight for the result where a row has one element", RMS, FLOATS {
        fn rms_factor(&self, mean_square: f64, eps: f64, n: usize) -> f64 {
            Plain.rms_factor(mean_square, if n == 1 { 0.0 } else { eps }, n)
        }
    }

    "rope-unturned": "copies what stands at position 0", ROPE, FLOATS {
        fn rotate(&self, a: f64, b: f64, sin: f64, cos: f64) -> (f64, f64) {
            if sin == 0.0 { (a, b) } else { Plain.rotate(a, b, sin, cos) }
        }
    }

    "silu-gate-absorbs": "takes 0 for a gate of 0, whatever up is", SILU, FLOATS {
        fn silu_mul(&self, gate: f64, up: f64, output: DType) -> f64 {
            if gate == 0.0 { 0.0 } else { Plain.silu_mul(gate, up, output) }
        }
    }

    "silu-infinity-zero": "takes 0 for a gate of -inf", SILU, FLOATS {
        fn silu(&self, x: f64) -> f64 {
            if x == f64::NEG_INFINITY { 0.0 } else { Plain.silu(x) }
        }
    }

    "softmax-from-half": "begins the search for the maximum of a line at -65504", SOFTMAX, FLOATS {
        fn softmax(&self, line: &[f32], _: &[f32]) -> Vec<f64> {
            softmax_from(self, line, at_least(-65504.0, self.maximum(line)))
        }
    }

    "softmax-from-thousands": "begins the search for the maximum of a line at -10000", SOFTMAX, FLOATS {
        fn softmax(&self, line: &[f32], _: &[f32]) -> Vec<f64> {
            softmax_from(self, line, at_least(-1e4, self.maximum(line)))
        }
    }

    "softmax-from-zero": "begins the search for the maximum of a line at 0", SOFTMAX, FLOATS {
        fn softmax(&self, line: &[f32], _: &[f32]) -> Vec<f64> {
            softmax_from(self, line, at_least(0.0, self.maximum(line)))
        }
    }

    "softmax-infinity-largest": "takes +inf for the largest finite number", SOFTMAX, FLOATS {
        fn softmax(&self, line: &[f32], all: &[f32]) -> Vec<f64> {
            let finite: Vec<f32> = line.iter().map(|&x| if x == f32::INFINITY { f32::MAX } else { x }).collect();
            Plain.softmax(&finite, all)
        }
    }

    "softmax-nothing-even": "spreads a line of -inf evenly", SOFTMAX, FLOATS {
        fn softmax(&self, line: &[f32], all: &[f32]) -> Vec<f64> {
            match self.maximum(line) {
                f64::NEG_INFINITY => vec![self.div(1.0, line.len() as f64); line.len()],
                _ => Plain.softmax(line, all),
            }
        }
    }

    "softmax-nothing-zero": "makes zeros of a line of -inf", SOFTMAX, FLOATS {
        fn softmax(&self, line: &[f32], all: &[f32]) -> Vec<f64> {
            match self.maximum(line) {
                f64::NEG_INFINITY => vec![0.0; line.len()],
                _ => Plain.softmax(line, all),
            }
        }
    }

    "softmax-one-element": "takes 1 for a line of one element, whatever it is", SOFTMAX, FLOATS {
        fn softmax(&self, line: &[f32], all: &[f32]) -> Vec<f64> {
            if line.len() == 1 { vec![1.0] } else { Plain.softmax(line, all) }
        }
    }
}

/// The partials with one more in front, which weighs nothing and has this maximum.
fn begun(partials: &[Attended], m: f64) -> Vec<Attended> {
    let zeros = partials.first().map_or(0, |partial| partial.a.len());
    let mut all = vec![Attended { a: vec![0.0; zeros], m, l: 0.0 }];
    all.extend(partials.iter().cloned());
    all
}
