//! The validator of task graphs: whether the graphs of all ranks can neither hang, nor race, nor leave their tensors.
//!
//! As with programs ([`crate::validate`]), judging goes in stages: reading; class TS, after which event ids are indices;
//! then the order of the tasks; last the rules that need that order.

use std::collections::BTreeMap;

use megakernel_ir::task_graph::{KernelGraph, System, TaskGraph};
use megakernel_ir::{Diagnostic, read_system, read_task_graph};
use serde_json::value::RawValue;

use crate::validate::Verdict;

/// Task graphs to judge.
#[derive(Clone, Copy, Debug)]
pub enum Graphs<'g, 'a> {
    /// The graph of one rank; others there may be.
    Bare(&'g TaskGraph<'a>),
    /// The graphs of all ranks, and the tensors where they are known.
    System(&'g [TaskGraph<'a>], Option<&'g KernelGraph<'a>>),
}

/// Judges the bytes of a document: a task graph, or a system. Gives a verdict for any bytes.
pub fn validate(document: &[u8]) -> Verdict {
    let verdict = if is_system(document) {
        read_system(document).map(|System { ranks, kernel_graph, .. }| {
            validate_graphs(Graphs::System(&ranks, kernel_graph.as_ref()))
        })
    } else {
        read_task_graph(document).map(|graph| validate_graphs(Graphs::Bare(&graph)))
    };
    verdict.unwrap_or_else(|diagnostics| Verdict { diagnostics, suppressed: BTreeMap::new() })
}

/// Whether a document is meant as a system: an object with a member `ranks`.
pub fn is_system(document: &[u8]) -> bool {
    serde_json::from_slice::<BTreeMap<String, &RawValue>>(document)
        .is_ok_and(|members| members.contains_key("ranks"))
}

/// Judges graphs that have been read.
pub fn validate_graphs(_graphs: Graphs<'_, '_>) -> Verdict {
    Verdict { diagnostics: Vec::<Diagnostic>::new(), suppressed: BTreeMap::new() }
}
