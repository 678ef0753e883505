//! The enumerations and their canonical codes (clause DAT-02).

/// Declares an enumeration whose members have a name, which JSON uses, and a code, which the ABI uses.
#[macro_export]
macro_rules! names {
    ($(#[$meta:meta])* $type:ident, $what:literal { $($(#[$vmeta:meta])* $variant:ident = $code:literal $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $type { $($(#[$vmeta])* $variant = $code,)+ }

        impl $type {
            /// Every member, by code.
            pub const ALL: &'static [$type] = &[$($type::$variant,)+];
            /// Every name, by code.
            pub const NAMES: &'static [&'static str] = &[$($name,)+];

            /// The name that JSON uses.
            pub const fn name(self) -> &'static str {
                match self { $($type::$variant => $name,)+ }
            }

            /// The code that the ABI uses.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The member with this name.
            pub fn from_name(name: &str) -> Option<$type> {
                match name { $($name => Some($type::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl $crate::record::serde::Serialize for $type {
            fn serialize<S: $crate::record::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> $crate::record::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::record::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl $crate::record::serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("the name of ", $what))
                    }
                    fn visit_str<E: $crate::record::serde::de::Error>(self, name: &str) -> Result<$type, E> {
                        $type::from_name(name).ok_or_else(|| E::unknown_variant(name, $type::NAMES))
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }
    };
}

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

names! {
    /// Where a buffer lives.
    MemSpace, "a memory space" {
        /// Device memory.
        Hbm = 0 "HBM",
        /// Device memory used as scratch.
        GlobalScratch = 1 "GLOBAL_SCRATCH",
        /// Shared memory of one SM.
        Smem = 2 "SMEM",
        /// Registers of one SM.
        Register = 3 "REGISTER",
    }
}

names! {
    /// What a buffer is for.
    BufferKind, "a buffer kind" {
        /// Model weight; read-only.
        Weight = 0 "WEIGHT",
        /// Intermediate value of one launch.
        Activation = 1 "ACTIVATION",
        /// State that persists over launches.
        KvCache = 2 "KV_CACHE",
        /// Input of the launch; read-only.
        IoInput = 3 "IO_INPUT",
        /// Output of the launch.
        IoOutput = 4 "IO_OUTPUT",
        /// Constant; read-only.
        Const = 5 "CONST",
    }
}

names! {
    /// Opcode of a task. Code 19 is reserved.
    Opcode, "an opcode" {
        /// Does nothing.
        Nop = 0 "NOP",
        /// Copies, casting where the dtypes differ.
        Copy = 1 "COPY",
        /// Gathers rows of a table.
        Embed = 2 "EMBED",
        /// Root-mean-square normalisation.
        RmsNorm = 3 "RMSNORM",
        /// Layer normalisation.
        LayerNorm = 4 "LAYERNORM",
        /// Tile of columns of a matrix-vector product.
        GemvTile = 5 "GEMV_TILE",
        /// Tile of a matrix product.
        GemmTile = 6 "GEMM_TILE",
        /// Attention over a window of a KV cache.
        AttentionTile = 7 "ATTENTION_TILE",
        /// Rotary position embedding.
        Rope = 8 "ROPE",
        /// Gated SiLU.
        SiluMul = 9 "SILU_MUL",
        /// Exact GELU.
        Gelu = 10 "GELU",
        /// Elementwise sum.
        Add = 11 "ADD",
        /// Elementwise product, or product with a scalar.
        Mul = 12 "MUL",
        /// Expands quantised values.
        Dequant = 13 "DEQUANT",
        /// Softmax over one axis.
        Softmax = 14 "SOFTMAX",
        /// Sum of shards.
        AllreduceShard = 15 "ALLREDUCE_SHARD",
        /// Writes rows of a KV cache.
        KvAppend = 16 "KV_APPEND",
        /// Index of the largest logit.
        SampleArgmax = 17 "SAMPLE_ARGMAX",
        /// Merges partial attention results.
        AttentionCombine = 18 "ATTENTION_COMBINE",
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

    /// The dtypes that the opcodes call float: F32, F16, BF16, F8E4M3, F8E5M2.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2)
    }
}

impl BufferKind {
    /// Tasks may read it without waiting for a producer, and none may write it.
    pub const fn is_read_only(self) -> bool {
        matches!(self, BufferKind::Weight | BufferKind::Const | BufferKind::IoInput)
    }
}

impl MemSpace {
    /// Storage that one SM cannot share with another.
    pub const fn is_on_chip(self) -> bool {
        matches!(self, MemSpace::Smem | MemSpace::Register)
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
        assert_eq!(Opcode::AttentionCombine.code(), 18);
        assert_eq!(Opcode::from_name("FUSED"), None);
        assert_eq!(BufferKind::from_name("KV_CACHE"), Some(BufferKind::KvCache));
    }

    #[test]
    fn packed_sizes_round_up() {
        assert_eq!(DType::I4.nbytes(3), 2);
        assert_eq!(DType::BF16.nbytes(3), 6);
        assert_eq!(DType::I4.nbytes(0), 0);
    }
}
