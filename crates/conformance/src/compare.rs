//! Two reports side by side: two runs, two implementations, or two versions of the suite.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use megakernel_ir::protocol::Profile;

use crate::report::{Counts, Report};

/// Failures of one side that are named.
const NAMED: usize = 20;

/// What two reports have to do with each other.
pub struct Comparison<'a> {
    a: &'a Report,
    b: &'a Report,
    names: [&'a str; 2],
}

/// A failure: case, profile and cause.
type Failure<'a> = (&'a str, Profile, &'a str);

impl<'a> Comparison<'a> {
    /// Compares; the names are those of columns.
    pub fn new((a_name, a): (&'a str, &'a Report), (b_name, b): (&'a str, &'a Report)) -> Comparison<'a> {
        Comparison { a, b, names: [a_name, b_name] }
    }

    /// What fails in the second and does not in the first.
    pub fn worse(&self) -> Vec<Failure<'a>> {
        alone(self.b, self.a)
    }

    /// What fails in the first and does not in the second; it may have been skipped there.
    pub fn better(&self) -> Vec<Failure<'a>> {
        alone(self.a, self.b)
    }

    /// The comparison as text.
    pub fn render(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        for (letter, name, report) in [("A", self.names[0], self.a), ("B", self.names[1], self.b)] {
            let (who, suite, cases) = (report.who(), &report.suite, report.corpus.cases);
            writeln!(
                out,
                "{letter}  {name}: {who}, suite {suite}, corpus of {cases} cases, {}",
                report.verdict.name()
            )?;
        }
        writeln!(out)?;
        let notes = notes(&[self.a, self.b]);
        for note in &notes {
            writeln!(out, "note: {note}")?;
        }
        if !notes.is_empty() {
            writeln!(out)?;
        }
        self.write_profiles(out)?;
        self.write_clauses(out)?;
        self.write_executed(out)?;
        write_failures(out, "fails in B and not in A", &self.worse(), self.a)?;
        write_failures(out, "fails in A and not in B", &self.better(), self.b)?;
        let (worse, better) = (self.worse().len(), self.better().len());
        let both = self.b.failures.len() - worse;
        writeln!(out, "{worse} fail in B alone, {better} in A alone, {both} in both")
    }

    fn write_profiles(&self, out: &mut String) -> fmt::Result {
        let head = "passed  failed  skipped  verdict";
        writeln!(out, "{:<14}  A {head:<50}  B {head}", "Profile")?;
        let cell = |counts: &Counts, verdict: &str| {
            format!("  {:>6}  {:>6}  {:>7}  {verdict}", counts.passed, counts.failed, counts.skipped)
        };
        for a in &self.a.profiles {
            let left = cell(&a.counts, a.verdict.name());
            let right = self.b.profiles.iter().find(|b| b.profile == a.profile);
            let right = right.map_or_else(String::new, |b| cell(&b.counts, b.verdict.name()));
            let same = if right == left { "  =" } else { "  *" };
            writeln!(out, "{:<14}{same}{left:<50}{right}", a.profile)?;
        }
        for b in self.b.profiles.iter().filter(|b| self.a.profiles.iter().all(|a| a.profile != b.profile)) {
            writeln!(out, "{:<14}  *{:<50}{}", b.profile, "", cell(&b.counts, b.verdict.name()))?;
        }
        writeln!(out)
    }

    /// The rules and clauses of which another number of cases fails.
    fn write_clauses(&self, out: &mut String) -> fmt::Result {
        let failed = |report: &'a Report| -> BTreeMap<&'a str, (&'a str, usize)> {
            let line = |line: &'a crate::report::ClauseResult| {
                (line.clause.as_str(), (line.title.as_str(), line.counts.failed))
            };
            report.clauses.iter().map(line).collect()
        };
        let (a, b) = (failed(self.a), failed(self.b));
        self.write_matrix(out, "Rules and clauses", a, b, |(title, failed)| (title.to_owned(), failed))
    }

    /// The opcodes and dtypes of which another number of cases fails.
    fn write_executed(&self, out: &mut String) -> fmt::Result {
        let failed = |report: &'a Report| -> BTreeMap<String, usize> {
            let label =
                |opcode: &Option<String>| opcode.clone().unwrap_or_else(|| "several opcodes".to_owned());
            let line = |line: &crate::report::ExecutedResult| {
                (format!("{} {}", label(&line.opcode), line.dtype), line.failed)
            };
            report.executed.iter().map(line).collect()
        };
        self.write_matrix(out, "Executed", failed(self.a), failed(self.b), |failed| (String::new(), failed))
    }

    fn write_matrix<K: Ord + Clone + fmt::Display, V: Clone>(
        &self,
        out: &mut String,
        title: &str,
        a: BTreeMap<K, V>,
        b: BTreeMap<K, V>,
        read: impl Fn(V) -> (String, usize),
    ) -> fmt::Result {
        let keys: BTreeSet<K> = a.keys().chain(b.keys()).cloned().collect();
        let cell = |side: &BTreeMap<K, V>, key: &K| side.get(key).cloned().map(&read);
        let mut lines = Vec::new();
        for key in keys {
            let (left, right) = (cell(&a, &key), cell(&b, &key));
            let failed = |cell: &Option<(String, usize)>| cell.as_ref().map(|(_, failed)| *failed);
            if failed(&left) == failed(&right) {
                continue;
            }
            let name = left.as_ref().or(right.as_ref()).map_or("", |(name, _)| name).to_owned();
            let show = |cell: Option<usize>| cell.map_or_else(|| "-".to_owned(), |count| count.to_string());
            lines.push((
                format!("{key} {name}").trim_end().to_owned(),
                show(failed(&left)),
                show(failed(&right)),
            ));
        }
        if lines.is_empty() {
            return Ok(());
        }
        let width = lines.iter().map(|(label, ..)| label.chars().count()).max().unwrap_or(0).max(title.len());
        writeln!(out, "{title:<width$}  A failed  B failed")?;
        for (label, left, right) in lines {
            writeln!(out, "{label:<width$}  {left:>8}  {right:>8}")?;
        }
        writeln!(out)
    }
}

/// Why figures may differ for another reason than the implementation; reports are called A, B and so on.
pub(crate) fn notes(reports: &[&Report]) -> Vec<String> {
    let mut found = Vec::new();
    let mut suites: Vec<&str> = Vec::new();
    for report in reports {
        if !suites.contains(&report.suite.as_str()) {
            suites.push(&report.suite);
        }
    }
    if suites.len() > 1 {
        found.push(format!("the suites are {}", suites.join(" and ")));
    }
    let differ = |same: &dyn Fn(&Report, &Report) -> bool| {
        reports.windows(2).any(|pair| matches!(pair, [a, b] if !same(a, b)))
    };
    if differ(&|a, b| a.corpus.digest == b.corpus.digest) {
        found.push("the corpora differ, so that a case may be new, gone or another one".to_owned());
    }
    if differ(&|a, b| a.corpus.selection_alone() == b.corpus.selection_alone()) {
        found.push("different cases were selected; what one run did not play it did not fail".to_owned());
    }
    for (letter, report) in ('A'..).zip(reports) {
        if let Some(partial) = &report.partial {
            found.push(format!("{letter} is partial: the run was {partial}"));
        }
    }
    found
}

/// What fails in one report and not in the other.
fn alone<'a>(one: &'a Report, other: &Report) -> Vec<Failure<'a>> {
    let there: BTreeSet<(&str, Profile)> =
        other.failures.iter().map(|failure| (failure.case.as_str(), failure.profile)).collect();
    let found = one.failures.iter().map(|it| (it.case.as_str(), it.profile, it.cause.as_str()));
    found.filter(|(case, profile, _)| !there.contains(&(*case, *profile))).collect()
}

/// Names failures, with the reason where the other side skipped them.
fn write_failures(out: &mut String, title: &str, failures: &[Failure<'_>], other: &Report) -> fmt::Result {
    if failures.is_empty() {
        return Ok(());
    }
    let skipped = other.skipped();
    writeln!(out, "{title}")?;
    for (case, profile, cause) in failures.iter().take(NAMED) {
        let reason = skipped.get(&(*case, *profile));
        let reason = reason.map_or_else(String::new, |reason| format!("; skipped there: {reason}"));
        writeln!(out, "  {case} ({profile}): {cause}{reason}")?;
    }
    if failures.len() > NAMED {
        writeln!(out, "  and {} more", failures.len() - NAMED)?;
    }
    writeln!(out)
}
