//! Special values, by where they are met: each operand of each opcode, and what each opcode stores.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use megakernel_ir::protocol::Accumulator;
use megakernel_ir::{DType, Opcode};
use megakernel_numerics::{FloatFormat, decode, encode};

use super::{FLOATS, Fault, I32, flushed};
use crate::kernels::Kernels;
use crate::parts::Operand;

/// A class of values that implementations forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Special {
    /// NaN.
    Nan,
    /// An infinity of either sign.
    Infinity,
    /// A subnormal number of its dtype.
    Subnormal,
    /// A zero with a sign.
    MinusZero,
}

impl Special {
    const ALL: [Special; 4] = [Special::Nan, Special::Infinity, Special::Subnormal, Special::MinusZero];

    /// Whether `value`, as `dtype` holds it, is of this class.
    fn has(self, dtype: DType, value: f64) -> bool {
        match self {
            Special::Nan => value.is_nan(),
            Special::Infinity => value.is_infinite(),
            Special::Subnormal => {
                let bits = encode(dtype, value);
                value.is_finite() && flushed(dtype, bits) != bits
            }
            Special::MinusZero => value == 0.0 && value.is_sign_negative(),
        }
    }
}

/// A class of values at a place: an operand of an opcode, or what it stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    op: Opcode,
    /// Which operand; nothing: what is stored.
    operand: Option<usize>,
    special: Special,
}

/// An implementation without a fault that notes which special values it meets where. Most cases have few, so that most faults
/// of this file need not be played on them.
#[derive(Default)]
pub struct Watch(Mutex<BTreeSet<Seen>>);

impl Watch {
    /// What has been met.
    pub fn seen(self) -> BTreeSet<Seen> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, op: Opcode, operand: Option<usize>, found: impl Fn(Special) -> bool) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.extend(Special::ALL.into_iter().filter(|&special| found(special)).map(|special| Seen {
            op,
            operand,
            special,
        }));
    }
}

impl Kernels for Watch {
    fn steps(&self) -> &dyn Kernels {
        self
    }
    fn load(&self, operand: Operand, _: DType, elements: &[f32]) -> Option<Vec<f32>> {
        let Operand { op, index, dtype } = operand;
        self.note(op, Some(index), |special| elements.iter().any(|&x| special.has(dtype, f64::from(x))));
        None
    }
    fn cast(&self, op: Opcode, dtype: DType, value: f64) -> u32 {
        self.note(op, None, |special| special.has(dtype, value));
        encode(dtype, value)
    }
}

/// Reads a class of values in one operand as 0.
struct Misread(Seen);

impl Kernels for Misread {
    fn steps(&self) -> &dyn Kernels {
        self
    }
    fn load(&self, operand: Operand, _: DType, elements: &[f32]) -> Option<Vec<f32>> {
        let Seen { op, operand: index, special } = self.0;
        let read = |&x: &f32| if special.has(operand.dtype, f64::from(x)) { 0.0 } else { x };
        ((operand.op, Some(operand.index)) == (op, index)).then(|| elements.iter().map(read).collect())
    }
}

/// Stores 0 for a class of values, and the largest number for infinities.
struct Misstored(Seen);

impl Kernels for Misstored {
    fn steps(&self) -> &dyn Kernels {
        self
    }
    fn cast(&self, op: Opcode, dtype: DType, value: f64) -> u32 {
        let Seen { op: wrong, special, .. } = self.0;
        if op != wrong || !special.has(dtype, value) {
            return encode(dtype, value);
        }
        match (special, FloatFormat::of(dtype)) {
            (Special::Infinity, Some(format)) => encode(dtype, decode(dtype, format.largest).copysign(value)),
            _ => encode(dtype, 0.0),
        }
    }
}

macro_rules! class {
    (nan) => {
        Special::Nan
    };
    (infinity) => {
        Special::Infinity
    };
    (subnormal) => {
        Special::Subnormal
    };
    (minus_zero) => {
        Special::MinusZero
    };
}

macro_rules! words {
    (nan) => {
        "NaN"
    };
    (infinity) => {
        "infinities"
    };
    (subnormal) => {
        "subnormal numbers"
    };
    (minus_zero) => {
        "-0"
    };
}

macro_rules! suffix {
    (nan) => {
        "nan"
    };
    (infinity) => {
        "infinity"
    };
    (subnormal) => {
        "subnormal"
    };
    (minus_zero) => {
        "minus-zero"
    };
}

/// A line for each operand: its opcode and place, how the ids begin, what it is, and the classes, each with the outputs in which
/// it shows.
macro_rules! misread {
    ($($op:ident $index:literal $stem:literal $what:literal: $($class:ident $outputs:ident $($why:ident)?),+;)+) => {
        pub(super) const MISREAD: &[Fault] = &[$($({
            const SEEN: Seen = Seen { op: Opcode::$op, operand: Some($index), special: class!($class) };
            Fault {
                id: concat!($stem, "-", suffix!($class), "-misread"),
                summary: concat!("reads ", words!($class), " in ", $what, " as 0"),
                opcodes: &[Opcode::$op],
                outputs: $outputs,
                why: [$($why,)? ""][0],
                kernels: &Misread(SEEN),
                accumulator: Accumulator::Binary32,
                needs: Some(SEEN),
            }
        },)+)+];
    };
}

/// A line for each opcode: what it is called in ids, and the classes, each with the outputs in which it shows.
macro_rules! misstored {
    ($($op:ident $stem:literal $name:literal: $($class:ident $outputs:ident $($why:ident)?),+;)+) => {
        pub(super) const MISSTORED: &[Fault] = &[$($({
            const SEEN: Seen = Seen { op: Opcode::$op, operand: None, special: class!($class) };
            Fault {
                id: concat!($stem, "-stores-no-", suffix!($class)),
                summary: concat!("stores no ", words!($class), " as a result of ", $name),
                opcodes: &[Opcode::$op],
                outputs: $outputs,
                why: [$($why,)? ""][0],
                kernels: &Misstored(SEEN),
                accumulator: Accumulator::Binary32,
                needs: Some(SEEN),
            }
        },)+)+];
    };
}

/// Dtypes whose subnormal numbers are numbers of binary32 that no division may flush.
const ABOVE: &[DType] = &[DType::F16, DType::F8E4M3, DType::F8E5M2];
const FLUSHED: &str = "a quotient below 2^-126 may be flushed to zero";

misread! {
    Add 0 "add-first" "the first operand of ADD": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    Add 1 "add-second" "the second operand of ADD": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    AllreduceShard 0 "shard-first" "the first shard": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    AllreduceShard 1 "shard-second" "the second shard": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    AllreduceShard 2 "shard-third" "the third shard": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    AttentionCombine 0 "combine-first" "the first partial": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    AttentionCombine 1 "combine-second" "the second partial": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    AttentionTile 0 "attention-query" "the query": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    AttentionTile 1 "attention-key" "the keys": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    AttentionTile 2 "attention-value" "the values": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    AttentionTile 3 "attention-mask" "the mask": nan FLOATS, infinity FLOATS;
    Copy 0 "copy" "what COPY reads": nan FLOATS, infinity FLOATS, subnormal FLOATS, minus_zero FLOATS;
    Dequant 1 "dequant-scale" "the scales of DEQUANT": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    Dequant 2 "dequant-zero" "the zero points of DEQUANT": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    Embed 1 "embed-table" "the table": nan FLOATS, infinity FLOATS, subnormal FLOATS, minus_zero FLOATS;
    Gelu 0 "gelu" "what GELU reads": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    GemmTile 0 "gemm-input" "x of GEMM_TILE": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    GemmTile 1 "gemm-weight" "W of GEMM_TILE": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    GemmTile 2 "gemm-third" "bias or scales of GEMM_TILE": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    GemmTile 3 "gemm-zero" "the zero points of GEMM_TILE": nan FLOATS, subnormal FLOATS;
    GemvTile 0 "gemv-input" "x of GEMV_TILE": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    GemvTile 1 "gemv-weight" "W of GEMV_TILE": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    GemvTile 2 "gemv-third" "bias or scales of GEMV_TILE": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    GemvTile 3 "gemv-zero" "the zero points of GEMV_TILE": nan FLOATS, subnormal FLOATS;
    KvAppend 0 "append" "new rows": nan FLOATS, infinity FLOATS, subnormal FLOATS, minus_zero FLOATS;
    LayerNorm 0 "layer-input" "x of LAYERNORM": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    LayerNorm 1 "layer-weight" "the weight of LAYERNORM": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    LayerNorm 2 "layer-bias" "the bias of LAYERNORM": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    Mul 0 "mul-first" "the first operand of MUL": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    Mul 1 "mul-second" "the second operand of MUL": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    RmsNorm 0 "rms-input" "x of RMSNORM": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    RmsNorm 1 "rms-weight" "the weight of RMSNORM": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    Rope 0 "rope" "what ROPE turns": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    SampleArgmax 0 "argmax" "the logits": infinity I32, subnormal I32;
    SiluMul 0 "silu-gate" "the gate": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    SiluMul 1 "silu-up" "up": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    Softmax 0 "softmax" "what SOFTMAX reads": nan FLOATS, infinity FLOATS;
}

misstored! {
    Add "add" "ADD": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    AllreduceShard "shards" "ALLREDUCE_SHARD": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    AttentionCombine "combine" "ATTENTION_COMBINE": nan FLOATS, infinity FLOATS, subnormal ABOVE FLUSHED;
    AttentionTile "attention" "ATTENTION_TILE": nan FLOATS, infinity FLOATS, subnormal ABOVE FLUSHED;
    Copy "copy" "COPY": nan FLOATS, infinity FLOATS, subnormal FLOATS, minus_zero FLOATS;
    Dequant "dequant" "DEQUANT": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    Embed "embed" "EMBED": nan FLOATS, infinity FLOATS, subnormal FLOATS, minus_zero FLOATS;
    Gelu "gelu" "GELU": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    GemmTile "gemm" "GEMM_TILE": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    GemvTile "gemv" "GEMV_TILE": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    KvAppend "append" "KV_APPEND": nan FLOATS, infinity FLOATS, subnormal FLOATS, minus_zero FLOATS;
    LayerNorm "layer" "LAYERNORM": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    Mul "mul" "MUL": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    RmsNorm "rms" "RMSNORM": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    Rope "rope" "ROPE": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    SiluMul "silu" "SILU_MUL": nan FLOATS, infinity FLOATS, subnormal FLOATS;
    Softmax "softmax" "SOFTMAX": nan FLOATS, subnormal ABOVE FLUSHED;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_go_by_the_dtype() {
        assert!(Special::Subnormal.has(DType::F16, 2f64.powi(-20)));
        assert!(!Special::Subnormal.has(DType::F32, 2f64.powi(-20)));
        assert!(
            !Special::Subnormal.has(DType::F16, 0.0) && !Special::Subnormal.has(DType::F8E4M3, f64::INFINITY)
        );
        assert!(Special::MinusZero.has(DType::F32, -0.0) && !Special::MinusZero.has(DType::F32, 0.0));
    }

    #[test]
    fn a_fault_of_an_operand_leaves_the_others_alone() {
        let seen = Seen { op: Opcode::Mul, operand: Some(1), special: Special::Nan };
        let read = |index| {
            let operand = Operand { op: Opcode::Mul, index, dtype: DType::F32 };
            Misread(seen).load(operand, DType::F32, &[1.0, f32::NAN])
        };
        assert_eq!(read(0), None);
        assert_eq!(read(1), Some(vec![1.0, 0.0]));
    }

    #[test]
    fn what_is_met_is_noted_by_place() {
        let watch = Watch::default();
        watch.load(Operand { op: Opcode::Add, index: 1, dtype: DType::F32 }, DType::F32, &[-0.0, 1.0]);
        watch.cast(Opcode::Add, DType::F16, 2f64.powi(-20));
        let expected = [
            Seen { op: Opcode::Add, operand: None, special: Special::Subnormal },
            Seen { op: Opcode::Add, operand: Some(1), special: Special::MinusZero },
        ];
        assert_eq!(watch.seen(), expected.into());
    }
}
