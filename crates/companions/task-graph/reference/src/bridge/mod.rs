//! The bridge between task graphs and programs (clauses TGR-18 and TGR-19).
//!
//! [`import`] turns the task graphs of all ranks of a system into one program, whose verdict says of races what the rules of
//! the companion say of the graphs, and which the VM can run. What has no counterpart is refused with the reason: nothing
//! is approximated. [`export()`] goes the other way and keeps happens-before exactly.
//!
//! An import goes through these stages: `operands` says what each task reads and writes, and in which form its opcodes need
//! that, as `work`; `order` is happens-before; `routes` and `sums` say which rows an expert has and what a sum is made of; `versions` finds out which accesses of a storage see the same values; `boxes` cuts those
//! into buffers; `lower` writes the tasks of the program, with `host` collecting what the host has to bind.

mod boxes;
mod elements;
mod export;
mod given;
mod host;
mod import;
mod lower;
mod operands;
mod order;
mod routes;
mod sets;
mod sums;
mod tensors;
#[cfg(test)]
mod tests;
mod versions;
mod work;

pub use export::export;
pub use given::{Request, Run};
pub use import::{Imported, Options, import};

use std::fmt;

/// Why a graph or program has no counterpart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Where: a JSON pointer into the graph of that rank, or into the program.
    pub pointer: String,
    /// The rank, where several graphs are imported.
    pub rank: usize,
    /// What was found, and what is missing.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the whole graph" } else { &self.pointer };
        write!(f, "{place}: {}", self.reason)
    }
}
