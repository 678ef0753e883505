//! The oracle of the suite: a validator that judges any document by every rule of the specification, and a VM that runs
//! what it accepts.

pub mod agreement;
pub mod answer;
pub mod commands;
pub mod cpp;
pub mod explore;
pub mod opcodes;
pub mod oracle;
pub mod region;
pub mod validate;
pub mod vm;
