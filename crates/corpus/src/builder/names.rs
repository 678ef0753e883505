//! The names that programs are written with, and what the generator asks about them.

use megakernel_ir::rule::{CLAUSES, Clause, clause};
pub use megakernel_ir::{BufferKind as Kind, DType, MemSpace as Space, Opcode as Op};

/// The types that every opcode taking a "float" operand takes.
pub const FLOATS: &[DType] = DType::FLOATS;

/// A name as case ids write it: lower case, with dashes.
pub fn slug(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// The clause that defines an opcode.
pub fn clause_of(op: Op) -> Clause {
    let id = format!("OPC-{:02}", op.code());
    // Every opcode has a page.
    CLAUSES.iter().find(|clause| clause.id == id).copied().unwrap_or(clause::OPC_00)
}

/// Whether each element of the output depends on the same element of one input, the only one.
pub fn is_unary(op: Op) -> bool {
    Op::IN_PLACE.contains(&op) && op.record().inputs == [1, 1]
}
