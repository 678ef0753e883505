//! The result as a page of the specification.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::Step;
use crate::allowed::ALLOWED;
use crate::equivalent::{EQUIVALENT, why};
use crate::measure::{ENOUGH, Measured};

/// Cases that have to reject a fault.
pub const REQUIRED: usize = 3;

/// Where the page stands.
pub const DOCUMENT: &str = "spec/adequacy-of-validators.md";

/// What the page says besides the tables, with places for them.
const PAGE: &str = include_str!("page.txt");

/// The faults that a document can show and too few cases reject, with the number of cases that do.
pub fn survivors(measured: &Measured) -> Vec<(Step, usize)> {
    let counted = observable(measured).map(|step| (*step, measured.count(step)));
    counted.filter(|(_, count)| *count < REQUIRED).collect()
}

/// The faults that a document can show.
fn observable(measured: &Measured) -> impl Iterator<Item = &Step> {
    measured.kills.keys().filter(|step| why(step).is_none())
}

/// What contradicts the lists of this crate: cases that show a fault which none can show, and sentences that too few programs
/// show, or whose faults refuse none of them.
pub fn contradictions(measured: &Measured) -> Vec<String> {
    let mut found = Vec::new();
    for equivalent in &EQUIVALENT {
        let cases = measured.kills.get(&equivalent.step).into_iter().flatten();
        found.extend(
            cases.map(|case| {
                format!("`{case}` rejects the fault `{}`, which no case can show", equivalent.step)
            }),
        );
    }
    for (allowed, shown) in ALLOWED.iter().zip(&measured.allowed) {
        let (clause, sentence) = (allowed.clause, allowed.sentence);
        if shown.cases.len() < REQUIRED {
            found.push(format!("{} cases show what {clause} allows: `{sentence}`", shown.cases.len()));
        }
        for fault in allowed.faults.iter().filter(|fault| !shown.faults.contains(*fault)) {
            found.push(format!("the fault `{fault}` refuses no case of {clause}: `{sentence}`"));
        }
    }
    found
}

fn cases(count: usize) -> String {
    if count < ENOUGH { count.to_string() } else { format!("{ENOUGH} or more") }
}

/// Faults by what goes wrong, with the number of places where that can be, and the fewest cases that reject it in one of them.
fn table(measured: &Measured) -> String {
    let mut rows: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for step in observable(measured) {
        let (places, fewest) = rows.entry(step.name).or_insert((0, ENOUGH));
        *places += 1;
        *fewest = (*fewest).min(measured.count(step));
    }
    let mut out = String::from("| fault | places | cases |\n| --- | ---: | ---: |\n");
    for (name, (places, fewest)) in rows {
        let _ = writeln!(out, "| `{name}` | {places} | {} |", cases(fewest));
    }
    out
}

fn list(survivors: &[(Step, usize)]) -> String {
    if survivors.is_empty() {
        return "None.\n".to_owned();
    }
    let mut out = String::from("| fault | cases |\n| --- | ---: |\n");
    for (step, count) in survivors {
        let _ = writeln!(out, "| `{step}` | {count} |");
    }
    out
}

/// The faults that no document shows.
fn equivalents() -> String {
    let mut out = String::from("| fault | why |\n| --- | --- |\n");
    for equivalent in &EQUIVALENT {
        let _ = writeln!(out, "| `{}` | {} |", equivalent.step, equivalent.why);
    }
    out
}

/// What sentences allow, with the number of programs that show it and the faults that refuse it.
fn sentences(measured: &Measured) -> String {
    let mut out = String::from("| clause | allows | programs | refused by |\n| --- | --- | ---: | --- |\n");
    for (allowed, shown) in ALLOWED.iter().zip(&measured.allowed) {
        // A bar ends a cell of the table, and none of the sentences has one.
        let faults: Vec<String> = allowed.faults.iter().map(|fault| format!("`{fault}`")).collect();
        let (clause, sentence) = (allowed.clause, allowed.sentence);
        let _ = writeln!(out, "| {clause} | {sentence} | {} | {} |", shown.cases.len(), faults.join(", "));
    }
    out
}

/// The page.
pub fn page(measured: &Measured) -> String {
    let survivors = survivors(measured);
    let names = observable(measured).map(|step| step.name).collect::<BTreeSet<_>>();
    let programs: BTreeSet<&String> = measured.allowed.iter().flat_map(|shown| &shown.cases).collect();
    let faults = observable(measured).count();
    PAGE.replace("{faults}", &faults.to_string())
        .replace("{sentences}", &ALLOWED.len().to_string())
        .replace("{programs}", &programs.len().to_string())
        .replace("{allowed}", sentences(measured).trim_end())
        .replace("{equivalents}", equivalents().trim_end())
        .replace("{kinds}", &names.len().to_string())
        .replace("{cases}", &measured.cases.to_string())
        .replace("{required}", &REQUIRED.to_string())
        .replace("{killed}", &(faults - survivors.len()).to_string())
        .replace("{open}", &survivors.len().to_string())
        .replace("{table}", table(measured).trim_end())
        .replace("{survivors}", list(&survivors).trim_end())
}
