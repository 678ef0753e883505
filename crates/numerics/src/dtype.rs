//! Element types and what they take to store (clauses DAT-02 and DAT-03).

use crate::names;

names! {
    /// Element type of a buffer.
    DType, "a dtype" {
        /// IEEE binary32.
        F32 = 0 "F32",
        /// IEEE binary16.
        F16 = 1 "F16",
        /// bfloat16.
        BF16 = 2 "BF16",
        /// OCP 8-bit float, 4 exponent bits; no infinities.
        F8E4M3 = 3 "F8E4M3",
        /// OCP 8-bit float, 5 exponent bits.
        F8E5M2 = 4 "F8E5M2",
        /// 32-bit signed integer.
        I32 = 5 "I32",
        /// 8-bit signed integer.
        I8 = 6 "I8",
        /// 4-bit integer, two to a byte, the even element in the low nibble.
        I4 = 7 "I4",
        /// 8-bit unsigned integer.
        U8 = 8 "U8",
        /// One byte, zero or one.
        Bool = 9 "BOOL",
    }
}

impl DType {
    /// Width of an element.
    pub const fn bits(self) -> u32 {
        match self {
            DType::F32 | DType::I32 => 32,
            DType::F16 | DType::BF16 => 16,
            DType::F8E4M3 | DType::F8E5M2 | DType::I8 | DType::U8 | DType::Bool => 8,
            DType::I4 => 4,
        }
    }

    /// Bytes of `count` elements, packed, rounded up to a whole byte (clause DAT-03).
    pub const fn nbytes(self, count: u64) -> u128 {
        (count as u128 * self.bits() as u128).div_ceil(8)
    }

    /// The dtypes that the opcodes call *float*.
    pub const FLOATS: &'static [DType] = &[DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2];

    /// Whether it is one of [`FLOATS`](DType::FLOATS).
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_positions() {
        for (code, dtype) in DType::ALL.iter().enumerate() {
            assert_eq!(usize::from(dtype.code()), code);
        }
    }

    #[test]
    fn packed_sizes_round_up() {
        assert_eq!(DType::I4.nbytes(3), 2);
        assert_eq!(DType::BF16.nbytes(3), 6);
        assert_eq!(DType::I4.nbytes(0), 0);
    }
}
