//! The result as tables, and its place in the specification.

use std::fmt::Write;
use std::path::Path;

use crate::{Enumeration, Family, Options, Scope, Subject, Tally};

/// What the scopes enumerate, for people.
pub fn list<S: Subject>() -> String {
    let mut out = String::new();
    for scope in S::scopes() {
        let sizes: Vec<u64> = scope.families.iter().map(|family| S::enumerate(family).size()).collect();
        let _ = write!(out, "{}: {}", scope.name, scope.about);
        if !S::EXACT {
            let _ = write!(out, "; up to {} {}s", thousands(sizes.iter().sum()), S::NOUN);
        }
        out.push('\n');
        for (family, &size) in scope.families.iter().zip(&sizes) {
            let size = thousands(size);
            let size = if S::EXACT { format!("{size} {}s", S::NOUN) } else { format!("up to {size}") };
            let _ = writeln!(out, "  {}: {}; {size}", family.name(), family.describe());
        }
    }
    out
}

/// The tables of a scope.
pub fn table<S: Subject>(scope: &Scope<S::Family>, tallies: &[Tally]) -> String {
    let mut out = String::new();
    let mut total = Tally::default();
    let _ = writeln!(
        out,
        "| family | {}s | accepted | rejected, shown | rejected, conservative | disagreements |",
        S::NOUN
    );
    out.push_str("| --- | ---: | ---: | ---: | ---: | ---: |\n");
    for (family, tally) in scope.families.iter().zip(tallies).filter(|(_, tally)| tally.documents > 0) {
        row(&mut out, &format!("`{}`: {}", family.name(), family.describe()), tally);
        total.add(tally);
    }
    row(&mut out, "**all**", &total);
    out.push_str("\n| rule |");
    out.extend(S::REASONS.iter().map(|reason| format!(" {reason} |")));
    out.push_str("\n| --- |");
    out.push_str(&" ---: |".repeat(S::REASONS.len()));
    out.push('\n');
    for (rule, counts) in total.rules.iter().filter(|(_, counts)| counts.iter().any(|&count| count > 0)) {
        let _ = write!(out, "| {rule} {} |", rule.slug());
        out.extend(counts.iter().map(|&count| format!(" {} |", thousands(count))));
        out.push('\n');
    }
    out
}

fn row(out: &mut String, name: &str, tally: &Tally) {
    let numbers = [tally.documents, tally.accepted, tally.shown, tally.conservative, 0].map(thousands);
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
pub fn keep(root: &Path, document: &str, scope: &str, table: &str, options: &Options) -> Result<(), String> {
    let &Options { write, check, .. } = options;
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
