//! MPK task graphs: judging, translating, and the bridge to programs (companion specification, clauses TGR).

pub mod agreement;
pub mod bridge;
pub mod codegen;
mod commands;
pub mod explore;
pub mod translate;
pub mod types;
pub mod validate;

pub use commands::COMPANION;
pub use validate::validate;

use megakernel_ir::companion::Reference;
use megakernel_ir::protocol::{Answer, Method, Profile, Request};
use megakernel_ir::{Layout, write_record};
use megakernel_task_graph::read_task_graph;

/// Answers the requests of the profile `task-graph`.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaskGraphs;

impl Reference for TaskGraphs {
    fn profiles(&self) -> &[Profile] {
        &[Profile::TASK_GRAPH]
    }

    fn answer(&mut self, request: &Request<'_>) -> Answer {
        answer(request)
    }
}

/// Answers a request of the profile `task-graph`.
pub fn answer(request: &Request<'_>) -> Answer {
    let document = request.document.as_bytes();
    match request.method {
        Method::VALIDATE => validate(document).into(),
        Method::ROUNDTRIP => match read_task_graph(document) {
            Ok(graph) => Answer::Accept {
                diagnostics: Vec::new(),
                document: Some(write_record(&graph, Layout::Indent(2))),
            },
            Err(diagnostics) => Answer::Reject { diagnostics },
        },
        Method::TRANSLATE => translate::answer(request),
        method => Answer::Unsupported { reason: format!("task graphs have no method `{method}`") },
    }
}
