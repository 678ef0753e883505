//! Elementwise opcodes, ALLREDUCE_SHARD among them.

use megakernel_ir::{DType, Opcode};

use super::{FLOATS, Fault, HELD, NARROW, round};
use crate::kernels::{Kernels, Plain};

const ADD: &[Opcode] = &[Opcode::Add];
const ALLREDUCE: &[Opcode] = &[Opcode::AllreduceShard];
/// Opcodes that go element by element.
const ELEMENTWISE: &[Opcode] = Opcode::IN_PLACE;
const GELU: &[Opcode] = &[Opcode::Gelu];
const MUL: &[Opcode] = &[Opcode::Mul];
const SILU: &[Opcode] = &[Opcode::SiluMul];

faults! {
    "add-first-twice": "adds the first operand to itself", ADD, FLOATS {
        fn sum_of_two(&self, a: f64, _: f64, _: DType) -> f64 {
            self.add(a, a)
        }
    }

    "add-in-output-dtype": "rounds both operands to the output's dtype before it adds them",
        ADD, NARROW, HELD {
        fn sum_of_two(&self, a: f64, b: f64, output: DType) -> f64 {
            self.add(round(output, a), round(output, b))
        }
    }

    "elements-by-eight": "computes elements in whole groups of eight only", ELEMENTWISE, FLOATS {
        fn elements(&self, n: usize) -> usize {
            n / 8 * 8
        }
    }

    "gelu-argument": "does not divide the argument of erf by sqrt(2)", GELU, FLOATS {
        fn gelu(&self, x: f64) -> f64 {
            self.mul(self.mul(0.5, x), self.add(1.0, self.erf(x)))
        }
    }

    "gelu-sigmoid": "approximates GELU by x sigmoid(1.702 x)", GELU, FLOATS {
        fn gelu(&self, x: f64) -> f64 {
            let x = x as f32;
            f64::from(x / (1.0 + libm::expf(-1.702 * x)))
        }
    }

    "gelu-tanh": "approximates GELU by a hyperbolic tangent", GELU, FLOATS {
        fn gelu(&self, x: f64) -> f64 {
            let x = x as f32;
            let inner = 0.797_884_6 * (x + 0.044715 * x * x * x);
            f64::from(0.5 * x * (1.0 + libm::tanhf(inner)))
        }
    }

    "mul-scale-always": "multiplies two operands by `scale` as well", MUL, FLOATS {
        fn product_of_two(&self, a: f64, b: f64, scale: Option<f64>) -> f64 {
            self.mul(self.mul(a, b), scale.unwrap_or(1.0))
        }
    }

    "mul-scale-ignored": "does not multiply a single operand by `scale`", MUL, FLOATS {
        fn scaled(&self, a: f64, _: f64) -> f64 {
            a
        }
    }

    "shard-first-twice": "counts the first shard twice", ALLREDUCE, FLOATS {
        fn all_reduce(&self, shards: &[f32], output: DType) -> f64 {
            let first = f64::from(shards.first().copied().unwrap_or_default());
            self.add(Plain.all_reduce(shards, output), first)
        }
    }

    "shard-last-skipped": "leaves out the last shard, where there are several", ALLREDUCE, FLOATS {
        fn all_reduce(&self, shards: &[f32], output: DType) -> f64 {
            let but_last = shards.get(..shards.len().saturating_sub(1)).filter(|shards| !shards.is_empty());
            Plain.all_reduce(but_last.unwrap_or(shards), output)
        }
    }

    "shards-averaged": "takes the mean of the shards", ALLREDUCE, FLOATS {
        fn all_reduce(&self, shards: &[f32], output: DType) -> f64 {
            self.div(Plain.all_reduce(shards, output), shards.len() as f64)
        }
    }

    "shards-in-output-dtype": "rounds to the output's dtype after every shard", ALLREDUCE, NARROW, HELD {
        fn all_reduce(&self, shards: &[f32], output: DType) -> f64 {
            shards.iter().fold(0.0, |sum, &shard| round(output, self.add(sum, f64::from(shard))))
        }
    }

    "silu-cast-before-up": "rounds the activation to the output's dtype before it multiplies by up",
        SILU, NARROW, HELD {
        fn silu_mul(&self, gate: f64, up: f64, output: DType) -> f64 {
            self.mul(round(output, self.silu(gate)), up)
        }
    }

    "silu-of-up": "applies SILU to up and multiplies by gate", SILU, FLOATS {
        fn silu_mul(&self, gate: f64, up: f64, output: DType) -> f64 {
            Plain.silu_mul(up, gate, output)
        }
    }

    "silu-overflow": "computes the sigmoid as exp(x) / (1 + exp(x))", SILU, FLOATS {
        fn silu(&self, x: f64) -> f64 {
            let power = self.exp(x);
            self.mul(x, self.div(power, self.add(1.0, power)))
        }
    }

    "silu-without-gate": "multiplies up by the sigmoid of gate only", SILU, FLOATS {
        fn silu(&self, x: f64) -> f64 {
            self.div(1.0, self.add(1.0, self.exp(-x)))
        }
    }

    "silu-without-up": "does not multiply by up", SILU, FLOATS {
        fn silu_mul(&self, gate: f64, _: f64, _: DType) -> f64 {
            self.silu(gate)
        }
    }
}
