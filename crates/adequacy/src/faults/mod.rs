//! Seeded numeric faults: each an implementation that is right but for one step. The corpus has to reject every one.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use megakernel_ir::protocol::Accumulator;
use megakernel_ir::{DType, Opcode};
use megakernel_numerics::{FloatFormat, decode, encode};

use crate::kernels::Kernels;

/// A table of faults. Each is: its id; what the implementation does wrong, as the end of a sentence; the opcodes whose results it
/// can change; the element types of outputs that it can change; why these are not all, where they are not; and in braces the
/// step that goes wrong, in place of that of [`Kernels`].
macro_rules! faults {
    ($($id:literal: $summary:literal, $opcodes:ident, $outputs:ident $(, $why:ident)? { $($step:tt)+ })+) => {
        pub(super) const FAULTS: &[Fault] = &[$({
            struct Wrong;
            impl Kernels for Wrong {
                fn steps(&self) -> &dyn Kernels {
                    self
                }
                $($step)+
            }
            Fault { id: $id, summary: $summary, opcodes: $opcodes, outputs: $outputs, why: [$($why,)? ""][0], kernels: &Wrong, accumulator: megakernel_ir::protocol::Accumulator::Binary32, needs: None }
        }),+];
    };
}

mod attention;
mod binding;
mod blocks;
mod conversion;
mod counts;
mod crossed;
mod elementwise;
mod matmul;
mod movement;
mod narrow;
mod norms;
mod online;
mod order;
mod parameters;
mod quantised;
mod rope;
mod rounding;
mod sizes;
mod softmax;
mod special;
mod values;

pub use special::{Seen, Watch};

/// Every fault, in order of id.
pub static ALL: LazyLock<Vec<Fault>> = LazyLock::new(|| {
    let tables = [
        attention::FAULTS,
        binding::FAULTS,
        blocks::FAULTS,
        conversion::FAULTS,
        counts::FAULTS,
        crossed::FAULTS,
        elementwise::FAULTS,
        matmul::FAULTS,
        matmul::DECLARED,
        movement::FAULTS,
        narrow::FAULTS,
        norms::FAULTS,
        online::FAULTS,
        order::FAULTS,
        parameters::FAULTS,
        quantised::FAULTS,
        rope::FAULTS,
        rounding::FAULTS,
        sizes::FAULTS,
        softmax::FAULTS,
        special::MISREAD,
        special::MISSTORED,
        values::FAULTS,
    ];
    let mut all = tables.concat();
    all.sort_by_key(|fault| fault.id);
    all
});

/// A fault, and what it can show in.
#[derive(Clone, Copy)]
pub struct Fault {
    /// Names the fault in certificates and tables.
    pub id: &'static str,
    /// What the implementation does wrong, as the end of a sentence.
    pub summary: &'static str,
    /// Opcodes whose results it can change; none: it is about launches, and any program may show it.
    pub opcodes: &'static [Opcode],
    /// Element types of outputs that it can change, of those that the opcodes have; none for a fault of launches.
    pub outputs: &'static [DType],
    /// Why these are not all that the opcodes have.
    pub why: &'static str,
    /// The faulty implementation.
    pub kernels: &'static dyn Kernels,
    /// What it declares to be judged by.
    pub accumulator: Accumulator,
    /// What a run without a fault has to meet for the fault to show, where that is known.
    pub needs: Option<Seen>,
}

impl std::fmt::Debug for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

/// The fault with this id.
pub fn fault(id: &str) -> Option<&'static Fault> {
    ALL.iter().find(|fault| fault.id == id)
}

impl Fault {
    /// Whether it can show in a run that meets these special values.
    pub fn can_show(&self, seen: &BTreeSet<Seen>) -> bool {
        self.needs.is_none_or(|needed| seen.contains(&needed))
    }

    /// Whether it is about launches and not about opcodes.
    pub fn is_of_launches(&self) -> bool {
        self.opcodes.is_empty()
    }
}

/// What most opcodes write.
const FLOATS: &[DType] = DType::FLOATS;
/// The floats to which a binary32 value has to be rounded.
const NARROW: &[DType] = &[DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2];
/// What SAMPLE_ARGMAX writes.
const I32: &[DType] = &[DType::I32];

/// What no rounding to an output hides.
const F32: &[DType] = &[DType::F32];

/// Why these are not all.
const LOST: &str = "a narrower output rounds away more than an adder loses";
/// Why the first of them is not among these.
const HELD: &str = "a value held in binary32 is an F32 already";

/// The products over K.
const MATRIX: &[Opcode] = &[Opcode::GemvTile, Opcode::GemmTile];
/// Opcodes that take quantised weights.
const QUANTISED: &[Opcode] = &[Opcode::GemvTile, Opcode::GemmTile, Opcode::Dequant];
/// Opcodes whose sums tensor cores may make.
const TENSOR_CORES: &[Opcode] = &[Opcode::GemvTile, Opcode::GemmTile, Opcode::AttentionTile];
/// Opcodes that write floats.
const WRITE_FLOATS: &[Opcode] = Opcode::WRITE_FLOATS;

/// Opcodes and one more; `N` counts it.
const fn and<const N: usize>(opcodes: &[Opcode], last: Opcode) -> [Opcode; N] {
    let mut all = [last; N];
    let (whole, _) = all.split_at_mut(opcodes.len());
    whole.copy_from_slice(opcodes);
    all
}

/// `value` rounded to a dtype.
fn round(dtype: DType, value: f64) -> f64 {
    decode(dtype, encode(dtype, value))
}

/// The neighbour of `nearest` that is as near to `value`, if there is one.
fn tie(dtype: DType, nearest: u32, value: f64) -> Option<u32> {
    let stored = decode(dtype, nearest);
    if stored == value || !stored.is_finite() {
        return None;
    }
    // Bits grow with the magnitude.
    let other = if stored.abs() < value.abs() { nearest + 1 } else { nearest - 1 };
    ((stored + decode(dtype, other)) / 2.0 == value).then_some(other)
}

/// The same bits, or those of a zero where they are of a subnormal number.
fn flushed(dtype: DType, bits: u32) -> u32 {
    match FloatFormat::of(dtype) {
        Some(format) if format.magnitude(bits) < 1 << format.fraction_bits => bits & format.sign(),
        _ => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_in_order() {
        assert!(ALL.len() >= 40);
        assert!(ALL.windows(2).all(|pair| pair[0].id < pair[1].id));
        assert_eq!(fault("gqa-by-tile").map(|fault| fault.opcodes), Some(&[Opcode::AttentionTile][..]));
        assert!(fault("no-such-fault").is_none());
    }

    #[test]
    fn an_opcode_is_added_to_a_list() {
        assert_eq!(
            and::<3>(&[Opcode::Add, Opcode::Mul], Opcode::Gelu),
            [Opcode::Add, Opcode::Mul, Opcode::Gelu]
        );
    }

    #[test]
    fn what_a_fault_cannot_change_has_a_reason() {
        for fault in ALL.iter() {
            let all = match fault.opcodes {
                [] => FLOATS,
                [Opcode::SampleArgmax] => I32,
                _ => FLOATS,
            };
            assert_eq!(fault.outputs == all, fault.why.is_empty(), "{}", fault.id);
            assert!(fault.outputs.iter().all(|dtype| all.contains(dtype)), "{}", fault.id);
            assert!(!fault.summary.ends_with('.') && fault.summary.starts_with(char::is_lowercase));
        }
    }

    #[test]
    fn ties_are_found_on_both_sides() {
        // 1 + 2^-8 is between the bfloat16 numbers 0x3f80 and 0x3f81.
        assert_eq!(tie(DType::BF16, 0x3f80, 1.00390625), Some(0x3f81));
        assert_eq!(tie(DType::BF16, 0xbf82, -1.01171875), Some(0xbf81));
        assert_eq!(tie(DType::BF16, 0x3f80, 1.0), None);
        assert_eq!(tie(DType::BF16, 0x3f80, 1.001), None);
    }

    #[test]
    fn subnormals_are_flushed_with_their_sign() {
        assert_eq!(flushed(DType::F16, 0x83ff), 0x8000);
        assert_eq!(flushed(DType::F16, 0x0400), 0x0400);
        assert_eq!(flushed(DType::F32, 1), 0);
    }
}
