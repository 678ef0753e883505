//! The enumerations and their canonical codes (clause DAT-02).

pub use megakernel_numerics::DType;
use megakernel_numerics::names;

pub use crate::opcodes::Opcode;

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
