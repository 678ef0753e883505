//! The result as tables, and its place in the specification.

use std::fmt::Write;
use std::path::Path;

use megakernel_ir::model::Program;
use megakernel_ir::{Layout, Rule, write};
use megakernel_reference::agreement::Reason;
use serde_json::Value;

use super::family::{Enumeration, Family, Waits};
use super::scopes::Scope;
use super::tally::Tally;

/// A program in the style of the specification's examples: a record a line, without the members that have their default.
pub fn document(program: &Program<'_>) -> String {
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

/// What the scopes enumerate, for people.
pub fn list(scopes: &[Scope]) -> String {
    let mut out = String::new();
    for scope in scopes {
        let sizes: Vec<u64> = scope.families.iter().map(|family| Enumeration::new(family).size()).collect();
        let total = thousands(sizes.iter().sum());
        let _ = writeln!(out, "{}: {}; up to {total} programs", scope.name, scope.about);
        for (family, &size) in scope.families.iter().zip(&sizes) {
            let _ = writeln!(out, "  {}: {}; up to {}", family.name, describe(family), thousands(size));
        }
    }
    out
}

/// The dimensions of a family in words.
pub fn describe(family: &Family) -> String {
    let waits = match family.waits {
        Waits::Any => "any waits",
        Waits::Others => "waits on others' counters",
        Waits::AllOfOthers => "full waits on others' counters",
        Waits::Earlier => "waits on counters of earlier tasks",
    };
    let queues = match family.sms {
        0 => String::from("no SMs"),
        1 => String::from("at most 1 SM"),
        sms => format!("at most {sms} SMs"),
    };
    let actions = match family.actions.len() {
        1 => String::from("no accesses"),
        actions => format!("{actions} actions"),
    };
    format!("{} tasks, at most {} counters, {waits}, {queues}, {actions}", family.tasks, family.counters)
}

/// The tables of a scope.
pub fn table(scope: &Scope, tallies: &[Tally]) -> String {
    let mut out = String::new();
    let mut total = Tally::default();
    out.push_str(
        "| family | programs | accepted | rejected, shown | rejected, conservative | disagreements |\n",
    );
    out.push_str("| --- | ---: | ---: | ---: | ---: | ---: |\n");
    for (family, tally) in scope.families.iter().zip(tallies) {
        if tally.programs > 0 {
            row(&mut out, &format!("`{}`: {}", family.name, describe(family)), tally);
            total.add(tally);
        }
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
    let numbers = [tally.programs, tally.accepted, tally.shown, tally.conservative, 0].map(thousands);
    let _ = writeln!(out, "| {name} | {} |", numbers.join(" | "));
}

/// A number with commas.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Writes the tables of a scope to their place in a document of the specification, or compares them with what stands there.
pub fn keep(
    root: &Path,
    document: &str,
    scope: &str,
    table: &str,
    write: bool,
    check: bool,
) -> Result<(), String> {
    if !write && !check {
        return Ok(());
    }
    let path = root.join(document);
    let text =
        std::fs::read_to_string(&path).map_err(|cause| format!("{document} cannot be read: {cause}"))?;
    let updated = replace(&text, scope, table).ok_or_else(|| {
        format!("{document} has no lines `{}` and `{}`", begin(scope).trim_end(), end(scope))
    })?;
    if check && updated != text {
        return Err(format!("{document} has another result for scope {}; write it with `--write`", scope));
    }
    if write {
        std::fs::write(&path, updated).map_err(|cause| format!("{document} cannot be written: {cause}"))?;
    }
    Ok(())
}

fn begin(scope: &str) -> String {
    format!("<!-- prove {scope}: begin -->\n")
}

fn end(scope: &str) -> String {
    format!("<!-- prove {scope}: end -->")
}

fn replace(text: &str, scope: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(&begin(scope))?;
    let (_, after) = rest.split_once(&end(scope))?;
    Some(format!("{before}{}\n{table}\n{}{after}", begin(scope), end(scope)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_between_their_marks() {
        let text = "a\n<!-- prove ci: begin -->\nold\n<!-- prove ci: end -->\nb\n";
        let once = replace(text, "ci", "new\n").unwrap_or_default();
        assert_eq!(once, "a\n<!-- prove ci: begin -->\n\nnew\n\n<!-- prove ci: end -->\nb\n");
        assert_eq!(replace(&once, "ci", "new\n"), Some(once));
        assert_eq!(replace(text, "large", "new"), None);
    }

    #[test]
    fn numbers_have_commas() {
        assert_eq!([7, 999, 1000, 1_234_567].map(thousands), ["7", "999", "1,000", "1,234,567"]);
    }
}
