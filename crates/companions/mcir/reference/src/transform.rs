//! Passes (clause MCI-20).

use megakernel_ir::protocol::Answer;
use megakernel_ir::{Diagnostic, read_value};
use megakernel_mcir::{Fault, Graph, Pass, read_graph, read_transform};
use megakernel_order::Findings;
use serde_json::Value as Json;

use crate::{attention, graph};

/// Answers the method `transform`.
pub fn transform(text: &[u8]) -> Answer {
    match transformed(text) {
        Ok(made) => Answer::Accept { diagnostics: Vec::new(), document: Some(made.to_string()) },
        Err(diagnostics) => Answer::Reject { diagnostics },
    }
}

/// The graph that the pass of a request makes.
///
/// # Errors
/// What is wrong with the request.
pub fn transformed(text: &[u8]) -> Result<Json, Vec<Diagnostic>> {
    let value = read_value(text)?;
    let (pass, graph) = read_transform(&value).map_err(told)?;
    apply(pass, &graph, &value["graph"], "/graph")
}

/// What a pass makes of the graph of a text.
///
/// # Errors
/// What is wrong with the graph.
pub fn transform_graph(pass: Pass, text: &[u8]) -> Result<Json, Vec<Diagnostic>> {
    let value = read_value(text)?;
    let graph = read_graph(&value).map_err(told)?;
    apply(pass, &graph, &value, "")
}

fn told(faults: Vec<Fault>) -> Vec<Diagnostic> {
    faults.into_iter().map(Diagnostic::from).collect()
}

fn apply(pass: Pass, graph: &Graph, json: &Json, at: &str) -> Result<Json, Vec<Diagnostic>> {
    let mut findings = Findings::default();
    graph::judge(graph, at, &mut findings);
    if !findings.accepts() {
        return Err(findings.into_parts().0);
    }
    match pass {
        Pass::AttentionPattern => Ok(attention::apply(graph, json)),
    }
}
