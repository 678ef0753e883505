//! Every opcode in each of its operand forms, with operands of as few elements as it takes, all of which tasks write. What is seen
//! of an operand here is that it is one. Each program comes in three placements.

use megakernel_ir::rule::clause;
use serde_json::{Value, json};

use super::Base;
use crate::builder::{Buf, Ctr, DType, Op, ProgramBuilder, clause_of, slug};

/// An operand form of an opcode, as small as possible.
pub struct Unit {
    /// The opcode.
    pub op: Op,
    /// Name of the form.
    pub name: &'static str,
    /// Dtype and shape of each input; the last one of KV_APPEND is its cache.
    pub inputs: Vec<(DType, Vec<u64>)>,
    /// The shape of the output, whose dtype is `dtype`.
    pub output: Vec<u64>,
    /// The dtype of the output.
    pub dtype: DType,
    /// The parameters.
    pub params: Vec<(&'static str, Value)>,
}

/// How the tasks of a program are placed.
pub const PLACEMENTS: [&str; 3] = ["unplaced", "one-queue", "joined"];

impl Unit {
    /// The name of its program in a placement.
    pub fn base(&self, placement: &str) -> String {
        format!("unit/{}-{}-{placement}", slug(self.op.name()), self.name)
    }

    /// Whether the operand is the cache that KV_APPEND writes.
    pub fn is_cache(&self, input: usize) -> bool {
        self.op == Op::KvAppend && input == 1
    }

    /// Whether it has the parameter `qdtype`.
    pub fn is_quantised(&self) -> bool {
        self.params.iter().any(|(key, _)| *key == "qdtype")
    }

    /// The place of the quantised weight.
    pub fn weight(&self) -> usize {
        usize::from(self.op != Op::Dequant)
    }

    /// `make0`.. write the inputs `i0`.., `op` reads them and writes `y`, `use` reads that, and `again0`.. overwrite the inputs.
    fn program(&self, placement: &str) -> ProgramBuilder {
        let mut p = ProgramBuilder::new("unit");
        let (mut inputs, mut sources, mut made): (Vec<Buf>, Vec<Buf>, Vec<Ctr>) = Default::default();
        for (index, (dtype, shape)) in self.inputs.iter().enumerate() {
            if self.is_cache(index) {
                continue;
            }
            let source = p.input(&format!("s{index}"), *dtype, shape);
            let input = p.act(&format!("i{index}"), *dtype, shape);
            made.push(p.copy(&format!("make{index}"), source, input, &[]));
            sources.push(source);
            inputs.push(input);
        }
        let y = p.act("y", self.dtype, &self.output);
        let z = p.output("z", self.dtype, &self.output);
        let waits = match placement {
            "joined" => vec![p.task(Op::Nop).after(&made).label("join").add()],
            _ => made.clone(),
        };
        let mut operands = inputs.clone();
        if self.op == Op::KvAppend {
            operands.push(y);
        }
        let done = p.op(self.op, "op", &operands, y, &self.params, &waits);
        p.copy("use", y, z, &[done]);
        for (index, (&source, &input)) in sources.iter().zip(&inputs).enumerate() {
            p.copy(&format!("again{index}"), source, input, &[done, made[index]]);
        }
        if placement == "one-queue" {
            p.assign(|_| Some(0));
        }
        p
    }
}

/// A parameter: an integer where it is whole.
pub fn number(value: f64) -> Value {
    if value.fract() == 0.0 { json!(value as i64) } else { json!(value) }
}

fn unit(
    op: Op,
    name: &'static str,
    inputs: &[(DType, &[u64])],
    (dtype, output): (DType, &[u64]),
    params: &[(&'static str, f64)],
) -> Unit {
    Unit {
        op,
        name,
        inputs: inputs.iter().map(|(dtype, shape)| (*dtype, shape.to_vec())).collect(),
        output: output.to_vec(),
        dtype,
        params: params.iter().map(|(key, value)| (*key, number(*value))).collect(),
    }
}

const ROW: (DType, &[u64]) = (DType::F32, &[1, 1]);

/// Every form.
pub fn units() -> Vec<Unit> {
    let mut units = written();
    for &op in Op::IN_PLACE {
        if !units.iter().any(|unit| unit.op == op) {
            units.push(unit(op, "plain", &vec![ROW; op.record().inputs[0]], ROW, &[]));
        }
    }
    units
}

/// The forms that are written down. An opcode that computes each element by itself needs none.
fn written() -> Vec<Unit> {
    use DType::{Bool, F32, I4, I8, I32, U8};
    const SCALAR: (DType, &[u64]) = (F32, &[1]);
    const CACHE: (DType, &[u64]) = (F32, &[1, 1, 1]);
    const CACHES: (DType, &[u64]) = (F32, &[1, 1, 1, 1]);
    const PARTIAL: (DType, &[u64]) = (F32, &[1, 3]);
    const PARTIALS: (DType, &[u64]) = (F32, &[1, 1, 3]);
    let gemv = [("K", 1.0), ("N_tile", 1.0), ("n_off", 0.0)];
    let gemm = [("K", 1.0), ("N_tile", 1.0), ("M_tile", 1.0), ("n_off", 0.0), ("m_off", 0.0)];
    let i8 = [("qdtype", 6.0), ("group", 1.0)];
    let i4 = [("K", 2.0), ("N_tile", 1.0), ("n_off", 0.0), ("qdtype", 7.0), ("group", 2.0)];
    let gemm_i4 = [
        ("K", 2.0),
        ("N_tile", 1.0),
        ("M_tile", 1.0),
        ("n_off", 0.0),
        ("m_off", 0.0),
        ("qdtype", 7.0),
        ("group", 2.0),
    ];
    let norm = [("hidden", 1.0), ("eps", 0.5)];
    let window = [
        ("head_dim", 1.0),
        ("kv_start", 0.0),
        ("kv_len", 1.0),
        ("scale", 0.5),
        ("n_heads", 1.0),
        ("n_kv_heads", 1.0),
    ];
    let partial = [&window[..], &[("flags", 2.0)]].concat();
    vec![
        unit(Op::Copy, "plain", &[ROW], ROW, &[]),
        unit(Op::Embed, "rows", &[(I32, &[1]), ROW], ROW, &[("hidden", 1.0)]),
        unit(Op::RmsNorm, "plain", &[ROW, SCALAR], ROW, &norm),
        unit(Op::LayerNorm, "no-bias", &[ROW, SCALAR], ROW, &norm),
        unit(Op::LayerNorm, "bias", &[ROW, SCALAR, SCALAR], ROW, &norm),
        unit(Op::GemvTile, "plain", &[ROW, ROW], ROW, &gemv),
        unit(Op::GemvTile, "bias", &[ROW, ROW, SCALAR], ROW, &gemv),
        unit(Op::GemvTile, "bias-row", &[ROW, ROW, ROW], ROW, &gemv),
        unit(Op::GemvTile, "vector", &[SCALAR, ROW], SCALAR, &gemv),
        unit(Op::GemvTile, "i8", &[ROW, (I8, &[1, 1]), ROW], ROW, &[&gemv[..], &i8].concat()),
        unit(Op::GemvTile, "i8-zeros", &[ROW, (I8, &[1, 1]), ROW, ROW], ROW, &[&gemv[..], &i8].concat()),
        unit(Op::GemvTile, "i4", &[(F32, &[1, 2]), (I4, &[1, 2]), ROW], ROW, &i4),
        unit(Op::GemvTile, "i4-bytes-zeros", &[(F32, &[1, 2]), (U8, &[1, 1]), ROW, (U8, &[1, 1])], ROW, &i4),
        unit(Op::GemmTile, "plain", &[ROW, ROW], ROW, &gemm),
        unit(Op::GemmTile, "bias", &[ROW, ROW, SCALAR], ROW, &gemm),
        unit(Op::GemmTile, "bias-row", &[ROW, ROW, ROW], ROW, &gemm),
        unit(Op::GemmTile, "i8", &[ROW, (I8, &[1, 1]), ROW], ROW, &[&gemm[..], &i8].concat()),
        unit(Op::GemmTile, "i8-zeros", &[ROW, (I8, &[1, 1]), ROW, ROW], ROW, &[&gemm[..], &i8].concat()),
        unit(Op::GemmTile, "i4", &[(F32, &[1, 2]), (I4, &[1, 2]), ROW], ROW, &gemm_i4),
        unit(
            Op::GemmTile,
            "i4-bytes-zeros",
            &[(F32, &[1, 2]), (U8, &[1, 1]), ROW, (U8, &[1, 1])],
            ROW,
            &gemm_i4,
        ),
        unit(Op::AttentionTile, "plain", &[ROW, CACHE, CACHE], ROW, &window),
        unit(Op::AttentionTile, "mask", &[ROW, CACHE, CACHE, SCALAR], ROW, &window),
        unit(Op::AttentionTile, "mask-bool", &[ROW, CACHE, CACHE, (Bool, &[1, 1])], ROW, &window),
        unit(Op::AttentionTile, "partial", &[ROW, CACHE, CACHE], PARTIAL, &partial),
        unit(Op::AttentionTile, "batch", &[CACHE, CACHES, CACHES], CACHE, &window),
        unit(Op::AttentionTile, "batch-mask", &[CACHE, CACHES, CACHES, ROW], CACHE, &window),
        unit(Op::AttentionTile, "batch-partial", &[CACHE, CACHES, CACHES], (F32, &[1, 1, 3]), &partial),
        unit(
            Op::Rope,
            "one",
            &[(F32, &[1, 2]), (I32, &[1])],
            (F32, &[1, 2]),
            &[("head_dim", 2.0), ("theta", 100.0)],
        ),
        unit(
            Op::Rope,
            "positions",
            &[(F32, &[1, 1, 2]), (I32, &[1])],
            (F32, &[1, 1, 2]),
            &[("head_dim", 2.0), ("theta", 100.0)],
        ),
        unit(Op::SiluMul, "plain", &[ROW, ROW], ROW, &[]),
        unit(Op::Gelu, "plain", &[ROW], ROW, &[]),
        unit(Op::Add, "plain", &[ROW, ROW], ROW, &[]),
        unit(Op::Mul, "two", &[ROW, ROW], ROW, &[]),
        unit(Op::Mul, "scale", &[ROW], ROW, &[("scale", 0.5)]),
        unit(Op::Dequant, "i8", &[(I8, &[1, 1]), ROW], ROW, &i8),
        unit(Op::Dequant, "i8-zeros", &[(I8, &[1, 1]), ROW, ROW], ROW, &i8),
        unit(Op::Dequant, "i4", &[(I4, &[1, 2]), ROW], (F32, &[1, 2]), &[("qdtype", 7.0), ("group", 2.0)]),
        unit(
            Op::Dequant,
            "i4-bytes-zeros",
            &[(U8, &[1, 1]), ROW, (U8, &[1, 1])],
            (F32, &[1, 2]),
            &[("qdtype", 7.0), ("group", 2.0)],
        ),
        unit(Op::Softmax, "plain", &[ROW], ROW, &[("dim", -1.0)]),
        unit(Op::AllreduceShard, "one", &[ROW], ROW, &[]),
        unit(Op::AllreduceShard, "eight", &[ROW; 8], ROW, &[]),
        unit(Op::KvAppend, "row", &[ROW, CACHE], CACHE, &[("pos", 0.0)]),
        unit(Op::KvAppend, "batch", &[CACHE, CACHES], CACHES, &[("pos", 0.0)]),
        unit(Op::SampleArgmax, "plain", &[ROW], (I32, &[1]), &[]),
        unit(Op::AttentionCombine, "two", &[PARTIAL; 2], ROW, &[]),
        unit(Op::AttentionCombine, "eight", &[PARTIALS; 8], CACHE, &[]),
    ]
}

/// Each form in each placement.
pub fn bases() -> Vec<Base> {
    let mut bases = Vec::new();
    for unit in units() {
        for placement in PLACEMENTS {
            let summary = format!(
                "{}, form `{}`, on single elements that tasks write, {}",
                unit.op.name(),
                unit.name,
                match placement {
                    "joined" => "behind a NOP",
                    "one-queue" => "all in one queue",
                    _ => "without SMs",
                }
            );
            let clauses = [clause_of(unit.op), clause::EXE_04];
            bases.push(Base::new(unit.base(placement), summary, &clauses, unit.program(placement)));
        }
    }
    bases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::accept::opcodes::forms;

    #[test]
    fn every_opcode_has_a_form_and_those_that_compute_a_unit() {
        let (forms, units) = (forms(), units());
        for &op in Op::ALL {
            assert!(forms.iter().any(|form| form.op == op), "no form of {op}");
            assert!(op == Op::Nop || units.iter().any(|unit| unit.op == op), "no unit of {op}");
        }
    }
}
