//! The validator of task graphs: whether the graphs of all ranks can neither hang, nor race, nor leave their tensors.
//!
//! As with programs ([`megakernel_reference::validate`]), judging goes in stages: reading; class TS, after which event ids are indices;
//! then the order of the tasks; last the rules that need that order.

mod area;
mod bounds;
mod deadlock;
mod meetings;
mod order;
mod race;
mod rank;
mod ranks;
mod repair;
mod storage;
mod structure;
mod warnings;
mod world;

use std::collections::BTreeMap;

use megakernel_ir::Rule;
use megakernel_ir::rule::Severity;
use megakernel_order::{Findings, HappensBefore, KEPT_PER_RULE, Verdict};
use megakernel_task_graph::{KernelGraph, System, TaskGraph, read_system, read_task_graph};
use serde_json::value::RawValue;

use area::Layout;
use order::Events;
use rank::Rank;
pub use repair::{Repair, repairs};
use storage::Storage;
use world::World;

/// Task graphs to judge.
#[derive(Clone, Copy, Debug)]
pub enum Graphs<'g, 'a> {
    /// The graph of one rank; others there may be. And the tensors where they are known.
    Bare(&'g TaskGraph<'a>, Option<&'g KernelGraph<'a>>),
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
        read_task_graph(document).map(|graph| validate_graphs(Graphs::Bare(&graph, None)))
    };
    verdict.unwrap_or_else(Verdict::of_unread)
}

/// Whether a document is meant as a system: an object with a member `ranks`.
pub fn is_system(document: &[u8]) -> bool {
    serde_json::from_slice::<BTreeMap<String, &RawValue>>(document)
        .is_ok_and(|members| members.contains_key("ranks"))
}

/// Judges graphs that have been read.
pub fn validate_graphs(graphs: Graphs<'_, '_>) -> Verdict {
    validate_keeping(graphs, KEPT_PER_RULE)
}

/// Judges graphs that have been read, and keeps so many findings of a rule.
pub fn validate_keeping(graphs: Graphs<'_, '_>, most: u64) -> Verdict {
    let mut findings = Findings::keeping(most);
    check(&graphs, &mut findings);
    Verdict::from(findings)
}

/// The rules of severity error that graphs break, in order. The verdict of [`validate_graphs`] at a fraction of its cost.
pub fn broken_rules(graphs: Graphs<'_, '_>) -> Vec<Rule> {
    let mut findings = Findings::quiet();
    check(&graphs, &mut findings);
    findings.rules().filter(|rule| rule.severity() == Severity::Error).collect()
}

fn check(graphs: &Graphs<'_, '_>, findings: &mut Findings) {
    let ranks = Rank::of(graphs);
    structure::check(&ranks, findings);
    if !findings.accepts() {
        return;
    }
    let is_partial = match graphs {
        Graphs::Bare(..) => ranks.iter().any(Rank::reaches_others),
        Graphs::System(..) => {
            ranks::check_ids(&ranks, findings);
            !findings.accepts()
        }
    };
    let world = World::new(&ranks, graphs, is_partial);
    warnings::check(&world, findings);
    bounds::check(&world, findings);
    ranks::check_events(&world, findings);
    meetings::check(&world, findings);
    let events = Events::new(&world);
    deadlock::check(&world, events.order.is_some(), findings);
    let storages = Storage::all(&world);
    let layouts: Vec<Layout> = storages.iter().map(|storage| storage.layout(&world)).collect();
    for (storage, layout) in storages.iter().zip(&layouts) {
        if *layout == Layout::Irregular
            && let Some(first) = storage.first_irregular(&world)
        {
            warnings::mixed_layout(&world, first, storage.name, findings);
        }
    }
    if let Some(order) =
        events.order.as_ref().filter(|_| !findings.has(Rule::TD03) && !findings.has(Rule::TX05))
    {
        race::check(&world, &HappensBefore::new(&events.graph, order), &storages, &layouts, findings);
    }
}
