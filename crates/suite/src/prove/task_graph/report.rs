//! The result as tables.

use std::fmt::Write;

use megakernel_ir::{Layout, Rule, write_record};
use megakernel_task_graph::System;
use megakernel_task_graph_reference::agreement::{Reason, Verdicts};
use serde_json::Value;

use super::family::{Enumeration, Family, Orders, Ranks};
use super::scopes::Scope;
use crate::prove::report::thousands;

/// Counts of the systems on which validator and explorer agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All.
    pub systems: u64,
    /// Those that no rule rejects.
    pub accepted: u64,
    /// Those rejected of which some run goes wrong.
    pub shown: u64,
    /// Those rejected of which none does.
    pub conservative: u64,
    /// By rule, as [`Rule::ALL`] has them, and reason.
    pub rules: Vec<[u64; Reason::ALL.len()]>,
}

impl Tally {
    /// Counts a system on which the two agree.
    pub fn count(&mut self, verdicts: &Verdicts) {
        self.rules.resize(Rule::ALL.len(), Default::default());
        self.systems += 1;
        if verdicts.rules.is_empty() {
            self.accepted += 1;
        } else if verdicts.faults.shows() || verdicts.faults.queues {
            self.shown += 1;
        } else {
            self.conservative += 1;
        }
        for (&rule, reason) in verdicts.rules.iter().zip(&verdicts.reasons) {
            if let Some(reason) = reason {
                self.rules[rule as usize][*reason as usize] += 1;
            }
        }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &Tally) {
        self.rules.resize(Rule::ALL.len(), Default::default());
        self.systems += other.systems;
        self.accepted += other.accepted;
        self.shown += other.shown;
        self.conservative += other.conservative;
        for (mine, theirs) in self.rules.iter_mut().zip(&other.rules) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
    }
}

/// A system in the style of the specification's examples: a record a line.
pub fn document(system: &System<'_>) -> String {
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

/// What the scopes enumerate, for people.
pub fn list(scopes: &[Scope]) -> String {
    let mut out = String::new();
    for scope in scopes {
        let _ = writeln!(out, "{}: {}", scope.name, scope.about);
        for family in &scope.families {
            let size = thousands(Enumeration::new(family).size());
            let _ = writeln!(out, "  {}: {}; {size} systems", family.name, describe(family));
        }
    }
    out
}

fn describe(family: &Family) -> String {
    let ranks = match family.ranks {
        Ranks::One => "",
        Ranks::Twins => "two ranks alike, each with ",
        Ranks::Pair => "two ranks, each with ",
        Ranks::Ring => "three ranks alike, each with ",
    };
    let orders = match family.orders {
        Orders::Any => "any numbers awaited",
        Orders::Full => "all triggers awaited",
        Orders::Sound => "all triggers awaited, in ascending order, up to the end",
    };
    let actions = match family
        .actions
        .iter()
        .filter(|action| !action.reads.is_empty() || !action.writes.is_empty())
        .count()
    {
        0 => String::from("no accesses"),
        _ => format!("{} actions", family.actions.len()),
    };
    format!("{ranks}{} tasks, at most {} events, {orders}, {actions}", family.tasks, family.events)
}

/// The tables of a scope.
pub fn table(scope: &Scope, tallies: &[Tally]) -> String {
    let mut out = String::new();
    let mut total = Tally::default();
    out.push_str(
        "| family | systems | accepted | rejected, shown | rejected, conservative | disagreements |\n",
    );
    out.push_str("| --- | ---: | ---: | ---: | ---: | ---: |\n");
    for (family, tally) in scope.families.iter().zip(tallies).filter(|(_, tally)| tally.systems > 0) {
        row(&mut out, &format!("`{}`: {}", family.name, describe(family)), tally);
        total.add(tally);
    }
    row(&mut out, "**all**", &total);
    out.push_str("\n| rule |");
    out.extend(Reason::ALL.map(|reason| format!(" {} |", reason.name())));
    out.push_str("\n| --- |");
    out.push_str(&" ---: |".repeat(Reason::ALL.len()));
    out.push('\n');
    for (rule, counts) in Rule::ALL.iter().zip(&total.rules) {
        if counts.iter().any(|&count| count > 0) {
            let _ = write!(out, "| {rule} {} |", rule.slug());
            out.extend(counts.map(|count| format!(" {} |", thousands(count))));
            out.push('\n');
        }
    }
    out
}

fn row(out: &mut String, name: &str, tally: &Tally) {
    let numbers = [tally.systems, tally.accepted, tally.shown, tally.conservative, 0].map(thousands);
    let _ = writeln!(out, "| {name} | {} |", numbers.join(" | "));
}
