//! The oracle.

pub mod opcodes;
pub mod region;
