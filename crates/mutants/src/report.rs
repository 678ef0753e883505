//! The result as a page of the specification.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::Step;
use crate::measure::{ENOUGH, Measured};

/// Cases that have to reject a fault.
pub const REQUIRED: usize = 3;

/// Where the page stands.
pub const DOCUMENT: &str = "spec/adequacy-of-validators.md";

/// What the page says besides the tables, with places for them.
const PAGE: &str = include_str!("page.txt");

/// The faults that too few cases reject, with the number of cases that do.
pub fn survivors(measured: &Measured) -> Vec<(Step, usize)> {
    let counted = measured.kills.keys().map(|step| (*step, measured.count(step)));
    counted.filter(|(_, count)| *count < REQUIRED).collect()
}

fn cases(count: usize) -> String {
    if count < ENOUGH { count.to_string() } else { format!("{ENOUGH} or more") }
}

/// Faults by what goes wrong, with the number of places where that can be, and the fewest cases that reject it in one of them.
fn table(measured: &Measured) -> String {
    let mut rows: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for step in measured.kills.keys() {
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

/// The page.
pub fn page(measured: &Measured) -> String {
    let survivors = survivors(measured);
    let names = measured.kills.keys().map(|step| step.name).collect::<std::collections::BTreeSet<_>>();
    PAGE.replace("{faults}", &measured.kills.len().to_string())
        .replace("{kinds}", &names.len().to_string())
        .replace("{cases}", &measured.cases.to_string())
        .replace("{required}", &REQUIRED.to_string())
        .replace("{killed}", &(measured.kills.len() - survivors.len()).to_string())
        .replace("{open}", &survivors.len().to_string())
        .replace("{table}", table(measured).trim_end())
        .replace("{survivors}", list(&survivors).trim_end())
}
