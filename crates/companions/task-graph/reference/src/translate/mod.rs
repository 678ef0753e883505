//! From a kernel graph to the task graph of one rank (clauses TGR-11 to TGR-17, and TGR-24).
//!
//! `check` resolves the names and divides the extents, and reports what breaks a TK rule; after that every index holds.
//! `exact` is the algorithm of mid 2025, and `current` that of spring 2026; `sound` makes a graph that breaks no rule, whatever the operators share.

mod assemble;
mod check;
mod current;
mod edges;
mod events;
mod exact;
mod history;
pub(super) mod plan;
mod sound;
mod suitable;
mod variants;
mod words;

use megakernel_ir::protocol::{Answer, Request};
use megakernel_ir::{Diagnostic, Layout, write_record};
use megakernel_task_graph::{Mode, TaskGraph, Translation, read_translation};

/// Type of task 0.
const TERMINATE: i64 = 0;
/// Type of task 1.
const BEGIN: i64 = 10;
/// An operator that becomes COPY and REDUCE tasks.
const ALL_REDUCE: i64 = 106;
/// Adds up what all ranks have copied into this one's buffer.
pub(super) const REDUCE: i64 = 107;
/// Copies into another rank's memory.
pub(super) const COPY: i64 = 199;
/// Writes a slot of another rank's memory, in the current version.
pub(super) const PUT: i64 = 301;
/// Element type of a tensor that is not there.
const UNKNOWN_ELEMENT: i64 = 999;
/// Most ranks.
const MAX_RANKS: i64 = 8;
/// Most tasks that are translated.
const MAX_TASKS: i64 = 1 << 22;

/// Answers a request to translate: the document is the task graph of the rank that was asked for.
pub fn answer(request: &Request<'_>) -> Answer {
    let translated = read_translation(request.document.as_bytes())
        .and_then(|request| translate(&request).map(|graph| write_record(&graph, Layout::Compact)));
    match translated {
        Ok(document) => Answer::Accept { diagnostics: Vec::new(), document: Some(document) },
        Err(diagnostics) => Answer::Reject { diagnostics },
    }
}

/// Resolves a request, for those who only need to know what its operators are.
pub(super) fn plan<'a>(request: &Translation<'a>) -> Result<plan::Plan<'a>, Vec<Diagnostic>> {
    check::plan(request)
}

/// Translates a kernel graph for one rank.
///
/// # Errors
/// Diagnostics of the TK rules, never none; their pointers start at the request.
pub fn translate<'a>(request: &Translation<'a>) -> Result<TaskGraph<'a>, Vec<Diagnostic>> {
    let plan = check::plan(request)?;
    match request.mode {
        Mode::Exact => exact::translate(&plan),
        Mode::Sound => sound::translate(&plan),
        Mode::ExactCurrent => current::translate(&plan),
    }
}
