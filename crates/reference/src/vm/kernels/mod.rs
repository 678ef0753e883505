//! What each opcode computes, one file each: reference and bound together (clauses OPC-00 to OPC-18).

mod add;
mod allreduce_shard;
mod attention_combine;
mod attention_tile;
mod copy;
mod dequant;
mod dot;
mod elementwise;
mod embed;
mod gelu;
mod kv_append;
mod layernorm;
mod matrix;
mod mul;
mod quant;
mod rmsnorm;
mod rope;
mod sample_argmax;
mod silu_mul;
mod softmax;
#[cfg(test)]
mod testing;
mod view;
mod weights;

use megakernel_ir::params::Params;
use megakernel_ir::{DType, Opcode};
use smallvec::SmallVec;

use super::bounded::Bounded;
use crate::region::Region;

/// The elements of a buffer, row-major.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// Of a *float* dtype.
    Reals {
        /// The stored values.
        values: &'a [f64],
        /// How far each may lie from what an implementation has stored; nothing if all are exact.
        bounds: Option<&'a [f64]>,
    },
    /// Of another dtype: integers, 0 or 1 for BOOL, 0 to 15 for I4.
    Ints(&'a [i64]),
}

/// An input of a task: the whole buffer.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// Element type.
    pub dtype: DType,
    /// Extents of the buffer.
    pub shape: &'a [i64],
    /// Its elements.
    pub data: Data<'a>,
}

/// The output of a task.
#[derive(Clone, Copy, Debug)]
pub struct OutputView<'a> {
    /// Element type.
    pub dtype: DType,
    /// Extents of the buffer.
    pub shape: &'a [i64],
    /// What the task writes of it.
    pub region: Region,
}

/// A task, and what its operands hold when it runs.
#[derive(Clone, Debug)]
pub struct TaskView<'a> {
    /// What it computes.
    pub opcode: Opcode,
    /// Its scalars.
    pub params: &'a Params<'a>,
    /// What it reads.
    pub inputs: SmallVec<[Operand<'a>; 8]>,
    /// What it writes.
    pub output: OutputView<'a>,
    /// The unit of long sums (NUM-06): [`UNIT`](super::bounded::UNIT), or
    /// [`TRUNCATING_UNIT`](super::bounded::TRUNCATING_UNIT).
    pub unit: f64,
}

/// The elements of the written region, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// Of a *float* dtype, before the cast to it.
    Reals(Vec<Bounded>),
    /// Of another dtype; nothing where the element is not specified.
    Ints(Vec<Option<i64>>),
}

/// What an opcode computes. Only called for tasks that break no S or M rule.
pub trait Kernel: Sync {
    /// The elements of the region that the task writes.
    fn run(&self, task: &TaskView<'_>) -> Written;
}

/// The kernel of an opcode; NOP has none.
pub fn kernel(opcode: Opcode) -> Option<&'static dyn Kernel> {
    Some(match opcode {
        Opcode::Nop => return None,
        Opcode::Copy => &copy::Copy,
        Opcode::Embed => &embed::Embed,
        Opcode::RmsNorm => &rmsnorm::RmsNorm,
        Opcode::LayerNorm => &layernorm::LayerNorm,
        Opcode::GemvTile | Opcode::GemmTile => &matrix::Matrix,
        Opcode::AttentionTile => &attention_tile::AttentionTile,
        Opcode::Rope => &rope::Rope,
        Opcode::SiluMul => &silu_mul::SiluMul,
        Opcode::Gelu => &gelu::Gelu,
        Opcode::Add => &add::Add,
        Opcode::Mul => &mul::Mul,
        Opcode::Dequant => &dequant::Dequant,
        Opcode::Softmax => &softmax::Softmax,
        Opcode::AllreduceShard => &allreduce_shard::AllreduceShard,
        Opcode::KvAppend => &kv_append::KvAppend,
        Opcode::SampleArgmax => &sample_argmax::SampleArgmax,
        Opcode::AttentionCombine => &attention_combine::AttentionCombine,
    })
}

#[cfg(test)]
mod tests {
    use megakernel_ir::params::{Number, ParamKey, ParamKind, ParamValue};
    use megakernel_ir::{Opcode, Param};

    use super::testing::{FAMILIES, Input, Random, bounded};
    use super::*;
    use crate::vm::bounded::UNIT;

    #[test]
    fn every_opcode_but_nop_has_a_kernel() {
        for &opcode in Opcode::ALL {
            assert_eq!(kernel(opcode).is_none(), opcode == Opcode::Nop, "{opcode}");
        }
    }

    fn params(random: &mut Random) -> Params<'static> {
        let mut params = Params::default();
        for &param in Param::ALL {
            let int = [-1, 0, 1, 2, 3, 7, i64::from(i32::MAX), i64::MIN, i64::MAX][random.below(9)];
            let number = match param.kind() {
                ParamKind::Float => Number::Float([0.0, 1.0, -2.5, 1e300][random.below(4)]),
                // Loops over these are long where no operand limits them.
                _ if matches!(param, Param::KvLen | Param::NTile | Param::MTile | Param::NHeads) => {
                    Number::Int(int.clamp(-1, 7))
                }
                _ => Number::Int(int),
            };
            if random.coin() {
                params.0.push((ParamKey::Known(param), ParamValue::Number(number)));
            }
        }
        params
    }

    /// Operands that fit neither each other nor the parameters.
    #[test]
    fn nonsense_does_not_panic() {
        for seed in 0..20_000 {
            let mut random = Random::new(seed);
            let opcode = Opcode::ALL[random.below(Opcode::ALL.len())];
            let Some(kernel) = kernel(opcode) else { continue };
            let params = params(&mut random);
            let values: Vec<f64> =
                (0..64).map(|_| [0.0, 1.0, -3.5, f64::NAN, f64::INFINITY][random.below(5)]).collect();
            let numbers: Vec<i64> =
                (0..64).map(|_| [0, 1, -1, 300, i64::MIN, i64::MAX][random.below(6)]).collect();
            let shapes: Vec<Vec<i64>> = (0..9)
                .map(|_| {
                    (0..random.below(5)).map(|_| [0, 1, 2, 3, 8, -1, i64::MAX][random.below(7)]).collect()
                })
                .collect();
            let mut inputs = SmallVec::new();
            for shape in shapes.iter().skip(1).take(random.below(9)) {
                let length = random.below(65);
                let data = match random.below(3) {
                    0 => Data::Ints(&numbers[..length]),
                    1 => Data::Reals { values: &values[..length], bounds: None },
                    _ => Data::Reals { values: &values[..length], bounds: Some(&values[..length / 2]) },
                };
                inputs.push(Operand { dtype: DType::ALL[random.below(10)], shape, data });
            }
            let output =
                OutputView { dtype: DType::F32, shape: &shapes[0], region: Region::whole(&shapes[0]) };
            let task = TaskView { opcode, params: &params, inputs, output, unit: UNIT };
            // Sizes in the operands are true in a program; a false one may ask for more than there is.
            if shapes.iter().flatten().all(|&extent| extent < 100) {
                kernel.run(&task);
            }
        }
    }

    /// The paths for exact operands are short cuts and nothing else.
    #[test]
    fn bounds_of_zero_are_no_bounds() {
        let tasks: [(&str, &[usize]); 4] = [
            (
                "GEMM_TILE F32[3,24] F32[4,24] F32[4] -> F32[3,4]; K=24 N_tile=4 n_off=0 M_tile=3",
                &[72, 96, 4],
            ),
            (
                "GEMV_TILE F32[3,24] I8[4,24] F32[4,3] F32[4,3] -> F32[3,4]; K=24 N_tile=4 n_off=0 group=9 qdtype=6",
                &[72, 96, 12, 12],
            ),
            (
                "ATTENTION_TILE F32[2,8] F32[6,1,8] F32[6,1,8] -> F32[2,8]; head_dim=8 n_heads=2 n_kv_heads=1 scale=0.5 kv_start=1 kv_len=4",
                &[16, 48, 48],
            ),
            ("RMSNORM F32[3,8] F32[8] -> F32[3,8]; eps=1e-5 hidden=8", &[24, 8]),
        ];
        for seed in 0..400 {
            let mut random = Random::new(2 * seed);
            let family = FAMILIES[random.below(FAMILIES.len())];
            for (task, sizes) in tasks {
                let (mut plain, mut zeros) = (Vec::new(), Vec::new());
                for (index, &size) in sizes.iter().enumerate() {
                    if task.contains("I8") && index == 1 {
                        let q = Input::Ints(random.integers(size, -3, 3));
                        plain.push(q.clone());
                        zeros.push(q);
                        continue;
                    }
                    let mut values: Vec<f64> =
                        random.sample(family, size).actual.iter().map(|&x| x.into()).collect();
                    if random.below(4) == 0 {
                        let special =
                            [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3e38, 0.0][random.below(5)];
                        values[random.below(size)] = special;
                    }
                    zeros.push(Input::Bounded(values.clone(), vec![0.0; size]));
                    plain.push(Input::Reals(values));
                }
                let bits = |inputs: &[Input]| -> Vec<[u64; 2]> {
                    let canonical = |x: f64| if x.is_nan() { f64::NAN } else { x + 0.0 }.to_bits();
                    bounded(task, inputs).iter().map(|x| [canonical(x.v), canonical(x.e)]).collect()
                };
                assert_eq!(bits(&plain), bits(&zeros), "seed {seed}, {family:?}: {task}");
            }
        }
    }
}
