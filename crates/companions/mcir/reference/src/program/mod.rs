//! Documents as programs of opcodes.
//!
//! Tensors become buffers, and what blocks compute becomes tasks: a product one for each tile that blocks store, any other opcode one for all blocks, since it
//! reads its buffers whole. What stands between two opcodes of a region is a buffer too, with the dtype of its tile, so that rounding points stay where they
//! are. What an opcode computes inside of it has to be binary32 in the document. Where there is no opcode, the node is named.

mod attention;
mod buffers;
mod find;
mod run;
mod tasks;

pub use run::run_program;

use megakernel_ir::{Diagnostic, Layout, read as read_program, write};
use megakernel_order::Findings;
use megakernel_reference::validate::{Classes, validate_program};
use serde_json::{Map, Value as Json, json};

use self::buffers::Buffers;
use self::tasks::Lowering;
use crate::validate::{judge, read_document};
use crate::world::World;

/// A document as a program.
#[derive(Clone, Debug)]
pub struct Programmed {
    /// The program, as text.
    pub program: String,
    /// For each buffer that the host fills or reads, by its name: an object with `tensor`, whose elements it holds in their order, or with `values`.
    pub binding: Json,
    /// Warnings of the document.
    pub warnings: Vec<Diagnostic>,
}

/// Why there is no program.
#[derive(Clone, Debug, PartialEq)]
pub enum NoProgram {
    /// The document is rejected.
    Rejected(Vec<Diagnostic>),
    /// Where, as a JSON pointer, and why.
    Refused(String, String),
}

impl NoProgram {
    fn at(pointer: String, reason: impl Into<String>) -> NoProgram {
        NoProgram::Refused(pointer, reason.into())
    }
}

/// The program of a document.
///
/// # Errors
/// See [`NoProgram`].
pub fn program(document: &[u8]) -> Result<Programmed, NoProgram> {
    let document = read_document(document).map_err(NoProgram::Rejected)?;
    let world = World::new(&document);
    let mut findings = Findings::default();
    let judged = judge(&world, &mut findings);
    let (warnings, _) = findings.into_parts();
    if judged.is_none() {
        return Err(NoProgram::Rejected(warnings));
    }
    let mut buffers = Buffers::new(&world);
    let mut tasks = Vec::new();
    for (number, region) in document.regions.iter().enumerate() {
        let mut lowering = Lowering::new(&world, number, region, &mut buffers, &mut tasks);
        lowering.region()?;
    }
    let (records, binding, ids) = buffers.records();
    let counters: Vec<Json> = (0..records.len()).map(|id| json!({"id": id})).collect();
    let tasks: Vec<Json> = tasks.iter().enumerate().map(|(id, task)| task.json(id, &buffers, &ids)).collect();
    let made = json!({
        "ir_version": megakernel_ir::IR_VERSION, "abi_version": megakernel_ir::ABI_VERSION,
        "meta": {"lowered_from": "memory-centric IR"},
        "buffers": records, "counters": counters, "tasks": tasks,
    });
    let text = made.to_string();
    let program = read_program(text.as_bytes()).map_err(|found| unfit(&found))?;
    let verdict = validate_program(&program, Classes::ALL);
    let found: Vec<Diagnostic> = verdict.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    if !found.is_empty() {
        return Err(unfit(&found));
    }
    Ok(Programmed { program: write(&program, Layout::Compact), binding: Json::Object(binding), warnings })
}

/// What a rule of programs does not permit, such as more elements than a buffer may have.
fn unfit(found: &[Diagnostic]) -> NoProgram {
    let first = found.first();
    let told = first.map(|found| format!("{} {}: {}", found.rule, found.pointer, found.message));
    NoProgram::at(String::new(), format!("no program may be like it: {}", told.unwrap_or_default()))
}

type Binding = Map<String, Json>;
