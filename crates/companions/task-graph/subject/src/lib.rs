//! Systems of task graphs as a subject of proof: the validator of the companion against every interleaving of every small system.

mod family;
mod scopes;
pub mod shrink;
mod stage;
#[cfg(test)]
mod tests;

use megakernel_ir::{Diagnostic, Layout, Rule, write_record};
use megakernel_prove::{Scope, Subject, Weakness};
use megakernel_task_graph::System;
use megakernel_task_graph_reference::agreement::{self, Reason, Verdicts};
use megakernel_task_graph_reference::explore::{Setup, replay};
use megakernel_task_graph_reference::validate::{Graphs, validate_graphs};
use serde_json::Value;

use family::Family;

/// Systems of task graphs.
pub struct Systems;

/// For the list of what is proved.
pub static SUBJECT: Systems = Systems;

/// The reference validator beside the explorer.
pub type Judge = agreement::Judge<fn(&System<'_>) -> Vec<Diagnostic>>;

impl Subject for Systems {
    const NOUN: &'static str = "system";
    const DOCUMENT: &'static str = "spec/companions/task-graph/soundness.md";
    const STRUCTURE: &'static str = "a TS";
    const EXACT: bool = true;
    const REASONS: &'static [&'static str] = &{
        let mut names = [""; Reason::ALL.len()];
        let mut index = 0;
        while index < names.len() {
            names[index] = Reason::ALL[index].name();
            index += 1;
        }
        names
    };

    type Document = System<'static>;
    type Family = Family;
    type Enumeration = family::Enumeration;
    type Judge = Judge;
    type Verdicts = Verdicts;

    fn scopes() -> Vec<Scope<Family>> {
        scopes::all()
    }

    fn enumerate(family: &Family) -> family::Enumeration {
        family::Enumeration::new(family)
    }

    fn judge(without: Option<Weakness>) -> Judge {
        let rule = match without {
            Some(Weakness::Rule(rule)) => Some(rule),
            Some(Weakness::Part(_)) | None => None,
        };
        agreement::Judge::new(validate, rule)
    }

    fn ask(judge: &mut Judge, document: &System<'static>) -> Option<Verdicts> {
        judge.judge(document)
    }

    fn disagree(verdicts: &Verdicts) -> bool {
        verdicts.disagree()
    }

    fn alike(one: &Verdicts, other: &Verdicts) -> bool {
        one.rules.is_empty() == other.rules.is_empty() && one.missed.is_some() == other.missed.is_some()
    }

    fn rules(verdicts: &Verdicts) -> &[Rule] {
        &verdicts.rules
    }

    fn reason(verdicts: &Verdicts, rule: usize) -> Option<usize> {
        verdicts.reasons.get(rule).copied().flatten().map(|reason| reason as usize)
    }

    fn shows(verdicts: &Verdicts) -> bool {
        verdicts.faults.shows() || verdicts.faults.queues
    }

    fn smaller(document: &System<'static>) -> Vec<System<'static>> {
        shrink::smaller(document)
    }

    fn text(document: &System<'static>) -> String {
        text(document)
    }

    fn remarks(_: &mut Judge, document: &System<'static>, verdicts: &Verdicts) -> Vec<String> {
        let missed = verdicts.missed.map(|missed| format!("no rule about it rejects {missed}"));
        missed.into_iter().chain(runs(document)).collect()
    }
}

/// What the validator says of a system.
fn validate(system: &System<'_>) -> Vec<Diagnostic> {
    validate_graphs(Graphs::System(&system.ranks, None)).diagnostics
}

/// Runs that end badly, for what the whole validator finds.
fn runs(system: &System<'_>) -> Vec<String> {
    let Ok(setup) = Setup::new(system) else { return Vec::new() };
    let found = validate(system);
    let all = found.iter().filter_map(|diagnostic| Some((diagnostic, replay(&setup, diagnostic).ok()?)));
    all.map(|(diagnostic, run)| format!("{}: {}; {:?}", diagnostic.rule, diagnostic.message, run.outcome))
        .collect()
}

/// A system in the style of the specification's examples: a record a line.
fn text(system: &System<'_>) -> String {
    let value: Value = serde_json::from_str(&write_record(system, Layout::Compact)).unwrap_or_default();
    let mut graphs = Vec::new();
    for graph in value["ranks"].as_array().into_iter().flatten() {
        let members = graph.as_object().into_iter().flatten().map(|(name, value)| {
            let records = value.as_array().filter(|records| records.iter().any(Value::is_object));
            match records {
                Some(records) => {
                    let lines: Vec<String> = records.iter().map(|record| format!("    {record}")).collect();
                    format!("   \"{name}\": [\n{}]", lines.join(",\n"))
                }
                None => format!("   \"{name}\": {value}"),
            }
        });
        graphs.push(format!("  {{\n{}}}", members.collect::<Vec<_>>().join(",\n")));
    }
    format!("{{\n \"ranks\": [\n{}]\n}}\n", graphs.join(",\n"))
}
