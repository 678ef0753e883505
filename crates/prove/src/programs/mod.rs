//! Programs, and the reference as their validator and explorer.

mod buffer_set;
mod family;
pub mod random;
mod scopes;
mod shrink;
#[cfg(test)]
mod tests;

use megakernel_ir::model::Program;
use megakernel_ir::{Layout, Rule, write};
use megakernel_reference::agreement::{Judge, Reason, Verdicts};
use serde_json::Value;

use crate::{Scope, Subject, Weakness};
use family::Family;

/// Programs.
pub struct Programs;

impl Subject for Programs {
    const NOUN: &'static str = "program";
    const DOCUMENT: &'static str = "spec/soundness.md";
    const STRUCTURE: &'static str = "an S";
    const EXACT: bool = false;
    const REASONS: &'static [&'static str] = &{
        let mut names = [""; Reason::ALL.len()];
        let mut index = 0;
        while index < names.len() {
            names[index] = Reason::ALL[index].name();
            index += 1;
        }
        names
    };

    /// R06 where a task replaces in place what it reads of an earlier launch: its own write was once taken for the one that
    /// supplies its read.
    const PARTS: &'static [&'static str] = &["R06-in-place"];

    type Document = Program<'static>;
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
        match without {
            None => Judge::default(),
            Some(Weakness::Rule(rule)) => Judge::without(rule),
            Some(Weakness::Part(_)) => Judge::without_replaced(),
        }
    }

    fn ask(judge: &mut Judge, document: &Program<'static>) -> Option<Verdicts> {
        judge.judge(document)
    }

    fn disagree(verdicts: &Verdicts) -> bool {
        verdicts.disagree()
    }

    fn rules(verdicts: &Verdicts) -> &[Rule] {
        &verdicts.rules
    }

    fn reason(verdicts: &Verdicts, rule: usize) -> Option<usize> {
        verdicts.reasons.get(rule).copied().flatten().map(|reason| reason as usize)
    }

    fn shows(verdicts: &Verdicts) -> bool {
        verdicts.faults.shows()
    }

    fn smaller(document: &Program<'static>) -> Vec<Program<'static>> {
        shrink::smaller(document)
    }

    fn text(document: &Program<'static>) -> String {
        text(document)
    }

    fn remarks(judge: &mut Judge, _: &Program<'static>, verdicts: &Verdicts) -> Vec<String> {
        let runs = verdicts.faults.iter().map(|(kind, strength)| {
            let events = judge.run(kind, strength);
            let steps: Vec<String> = events.iter().map(|event| format!("{event:?}").to_lowercase()).collect();
            format!("{kind} at the end of: {}", steps.join(" "))
        });
        runs.collect()
    }
}

/// A program in the style of the specification's examples: a record a line, without the members that have their default.
fn text(program: &Program<'_>) -> String {
    let value: Value = serde_json::from_str(&write(program, Layout::Compact)).unwrap_or_default();
    let members = value.as_object().into_iter().flatten().filter(|(_, value)| !is_default(value));
    let members: Vec<String> = members
        .map(|(name, value)| match value.as_array() {
            Some(records) => {
                let lines: Vec<String> =
                    records.iter().map(|record| format!("  {}", terse(record))).collect();
                format!(" \"{name}\": [\n{}]", lines.join(",\n"))
            }
            None => format!(" \"{name}\": {}", terse(value)),
        })
        .collect();
    format!("{{\n{}\n}}\n", members.join(",\n"))
}

fn is_default(value: &Value) -> bool {
    value.is_null() || value == "" || value.as_object().is_some_and(|object| object.is_empty())
}

/// A record on one line, without members that are 0 only because nobody knows better.
fn terse(record: &Value) -> String {
    let mut record = record.clone();
    if let Some(record) = record.as_object_mut() {
        const HINTS: [&str; 5] = ["init", "est_bytes", "est_flops", "live_start", "live_end"];
        record.retain(|name, value| !is_default(value) && !HINTS.contains(&name.as_str()));
    }
    record.to_string()
}
