//! RMSNORM and LAYERNORM.

use megakernel_ir::{DType, Opcode};

use super::{FLOATS, Fault, HELD, NARROW, round};
use crate::kernels::{Kernels, Plain};
use crate::parts::{Moments, Site};

const LAYER: &[Opcode] = &[Opcode::LayerNorm];
const RMS: &[Opcode] = &[Opcode::RmsNorm];

faults! {
    "layer-bias-dropped": "leaves out the bias of a norm", LAYER, FLOATS {
        fn layer_element(&self, normalised: f64, w: f64, _: Option<f64>, _: DType) -> f64 {
            self.mul(normalised, w)
        }
    }

    "layer-cast-before-weight": "rounds the normalised element to the output's dtype before it multiplies by the weight",
        LAYER, NARROW, HELD {
        fn layer_element(&self, normalised: f64, w: f64, b: Option<f64>, output: DType) -> f64 {
            Plain.layer_element(round(output, normalised), w, b, output)
        }
    }

    "layer-eps-missing": "leaves out eps", LAYER, FLOATS {
        fn normalised(&self, deviation: f64, variance: f64, _: f64) -> f64 {
            Plain.normalised(deviation, variance, 0.0)
        }
    }

    "layer-eps-outside": "adds eps outside the root", LAYER, FLOATS {
        fn normalised(&self, deviation: f64, variance: f64, eps: f64) -> f64 {
            self.div(deviation, self.add(self.root(variance), eps))
        }
    }

    "layer-last-axis": "normalises along the last axis, whatever `hidden` says", LAYER, FLOATS {
        fn layer_run(&self, _: usize, last: usize) -> usize {
            last
        }
    }

    "layer-mean-kept": "takes the mean square instead of the variance", LAYER, FLOATS {
        fn variance(&self, run: &[f32], _: f64) -> f64 {
            self.mean_square(run)
        }
    }

    "layer-moments-difference": "takes the variance as mean of squares less square of mean", LAYER, FLOATS {
        fn variance(&self, run: &[f32], mean: f64) -> f64 {
            let difference = self.sub(self.mean_square(run), self.mul(mean, mean));
            difference.max(0.0)
        }
    }

    "layer-products-in-output-dtype": "rounds the scaled element and the scaled mean to the output's dtype before it subtracts",
        LAYER, NARROW, HELD {
        fn layer_value(&self, x: f64, moments: Moments, w: f64, b: Option<f64>, output: DType) -> f64 {
            let factor = self.inverse_root(self.add(moments.variance, moments.eps));
            let [x, mean] = [x, moments.mean].map(|value| round(output, self.mul(value, factor)));
            self.layer_element(self.sub(x, mean), w, b, output)
        }
    }

    "layer-unbiased": "divides the squared deviations by one less than their number", LAYER, FLOATS {
        fn variance(&self, run: &[f32], mean: f64) -> f64 {
            self.div(self.mul(Plain.variance(run, mean), run.len() as f64), run.len() as f64 - 1.0)
        }
    }

    "layer-weight-missing": "does not multiply by the weight", LAYER, FLOATS {
        fn layer_element(&self, normalised: f64, _: f64, b: Option<f64>, output: DType) -> f64 {
            Plain.layer_element(normalised, 1.0, b, output)
        }
    }

    "rms-cast-before-weight": "rounds the normalised element to the output's dtype before it multiplies by the weight",
        RMS, NARROW, HELD {
        fn rms_element(&self, x: f64, factor: f64, w: f64, output: DType) -> f64 {
            self.mul(round(output, self.mul(x, factor)), w)
        }
    }

    "rms-eps-before-mean": "adds eps to the sum of squares instead of their mean", RMS, FLOATS {
        fn rms_factor(&self, mean_square: f64, eps: f64, n: usize) -> f64 {
            Plain.rms_factor(mean_square, self.div(eps, n as f64), n)
        }
    }

    "rms-eps-fixed": "uses 1e-5, whatever `eps` says", RMS, FLOATS {
        fn rms_factor(&self, mean_square: f64, _: f64, n: usize) -> f64 {
            Plain.rms_factor(mean_square, f64::from(1e-5f32), n)
        }
    }

    "rms-eps-missing": "leaves out eps", RMS, FLOATS {
        fn rms_factor(&self, mean_square: f64, _: f64, n: usize) -> f64 {
            Plain.rms_factor(mean_square, 0.0, n)
        }
    }

    "rms-eps-outside": "adds eps outside the root", RMS, FLOATS {
        fn rms_factor(&self, mean_square: f64, eps: f64, _: usize) -> f64 {
            self.div(1.0, self.add(self.root(mean_square), eps))
        }
    }

    "rms-mean-subtracted": "takes the variance around the mean instead of the mean square", RMS, FLOATS {
        fn mean_square(&self, row: &[f32]) -> f64 {
            self.variance(row, self.mean(row))
        }
    }

    "rms-over-all-rows": "takes the mean square of all rows together", RMS, FLOATS {
        fn rms_rows<'x>(&self, x: &'x [f32], _: usize, _: usize) -> &'x [f32] {
            x
        }
    }

    "rms-squares-fp16": "accumulates the squares in binary16", RMS, FLOATS {
        fn dot_onto(&self, _: Site, start: f64, x: &[f32], w: &[f32]) -> f64 {
            x.iter().zip(w).fold(start, |sum, (&x, &w)| round(DType::F16, f64::from(x) * f64::from(w) + sum))
        }
    }

    "rms-unbiased": "divides the sum of squares by one less than their number", RMS, FLOATS {
        fn mean_square(&self, row: &[f32]) -> f64 {
            self.div(self.dot(Site::Squares, row, row), row.len() as f64 - 1.0)
        }
    }

    "rms-weight-missing": "does not multiply by the weight", RMS, FLOATS {
        fn rms_element(&self, x: f64, factor: f64, _: f64, _: DType) -> f64 {
            self.mul(x, factor)
        }
    }

    "rms-weight-plus-one": "multiplies by 1 + w", RMS, FLOATS {
        fn rms_element(&self, x: f64, factor: f64, w: f64, output: DType) -> f64 {
            Plain.rms_element(x, factor, self.add(1.0, w), output)
        }
    }
}
