//! The enumerations and their canonical codes (clause DAT-02).

pub use megakernel_numerics::DType;
use megakernel_numerics::names;

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
    fn codes_and_names_find_each_other() {
        assert_eq!(Opcode::AttentionCombine.code(), 18);
        assert_eq!(Opcode::from_name("FUSED"), None);
        assert_eq!(BufferKind::from_name("KV_CACHE"), Some(BufferKind::KvCache));
    }
}
