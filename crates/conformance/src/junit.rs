//! A report as JUnit's XML, which servers of continuous integration read: a suite for each profile, a test for each case.
//!
//! What is known to fail is skipped there, with its reason, since the form has no word for it; a line of the list that is wrong is a
//! failure. There are no times, so that the same run gives the same bytes.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use megakernel_ir::protocol::Profile;

use crate::report::{FailureKind, FailureReport, Report, RunVerdict};

/// How a case ended, in the words of the form.
enum Test<'a> {
    Passed,
    Skipped(String),
    Failed(&'a FailureReport),
    /// Though it is known to fail.
    Surprising(&'a str),
    /// A profile that does not conform though no case of it failed.
    Unshown(&'a str),
}

/// The report as XML.
pub fn render(report: &Report) -> String {
    let passed = report.passed.iter().map(|(case, profile)| (*profile, case.as_str(), Test::Passed));
    let mut suites = Suites::new();
    for (profile, case, test) in passed {
        suites.entry(profile).or_default().insert(case, test);
    }
    for skips in &report.skips {
        let tests = suites.entry(skips.profile).or_default();
        tests.extend(skips.cases.iter().map(|case| (case.as_str(), Test::Skipped(skips.reason.clone()))));
    }
    for failure in &report.failures {
        let test = match &failure.known {
            Some(reason) => Test::Skipped(format!("known failure: {reason}")),
            None => Test::Failed(failure),
        };
        suites.entry(failure.profile).or_default().insert(&failure.case, test);
    }
    for known in report.passed_though_known() {
        suites.entry(known.profile).or_default().insert(&known.case, Test::Surprising(&known.reason));
    }
    // A run that shows nothing is not green.
    let nothing =
        report.verdict == RunVerdict::DoesNotConform && report.totals.passed + report.totals.failed == 0;
    for line in &report.profiles {
        let none = (nothing && line.counts.skipped > 0).then_some("no case passed");
        if let Some(reason) = line.reason.as_deref().or(none) {
            let tests = suites.entry(line.profile).or_default();
            tests.insert("(the profile as a whole)", Test::Unshown(reason));
        }
    }
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut out, &suites);
    out
}

type Suites<'a> = BTreeMap<Profile, BTreeMap<&'a str, Test<'a>>>;

fn write_all(out: &mut String, suites: &Suites<'_>) -> fmt::Result {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    let all = || suites.values().flat_map(BTreeMap::values);
    writeln!(out, "<testsuites name=\"megakernel-conform\" {}>", counts(all()))?;
    for (profile, tests) in suites {
        writeln!(out, "  <testsuite name=\"{profile}\" {}>", counts(tests.values()))?;
        for (case, test) in tests {
            let head = format!("    <testcase classname=\"{profile}\" name=\"{}\"", escaped(case));
            match test {
                Test::Passed => writeln!(out, "{head}/>")?,
                Test::Skipped(reason) => {
                    writeln!(out, "{head}><skipped message=\"{}\"/></testcase>", escaped(reason))?;
                }
                Test::Failed(failure) => write_failure(out, &head, failure)?,
                Test::Unshown(reason) => {
                    let message = escaped(reason);
                    writeln!(out, "{head}><failure type=\"profile\" message=\"{message}\"/></testcase>")?;
                }
                Test::Surprising(reason) => {
                    let message = format!("it is known to fail, and passes: {reason}");
                    let message = escaped(&message);
                    writeln!(
                        out,
                        "{head}><failure type=\"known-failure\" message=\"{message}\"/></testcase>"
                    )?;
                }
            }
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

fn write_failure(out: &mut String, head: &str, failure: &FailureReport) -> fmt::Result {
    let (element, kind) = match failure.kind {
        FailureKind::Answer => ("failure", "answer"),
        FailureKind::Worker => ("error", "worker"),
        FailureKind::NotAsked => ("error", "not-asked"),
    };
    writeln!(out, "{head}><{element} type=\"{kind}\" message=\"{}\">", escaped(&failure.cause))?;
    writeln!(out, "{}", escaped(&failure.summary))?;
    for clause in &failure.clauses {
        writeln!(
            out,
            "clause    {} {}, {}",
            escaped(&clause.id),
            escaped(&clause.title),
            escaped(&clause.document)
        )?;
    }
    writeln!(out, "expected  {}", escaped(&failure.expected))?;
    if let Some(at) = failure.at.as_ref().filter(|at| !at.is_empty()) {
        writeln!(out, "at        {}", escaped(at))?;
    }
    writeln!(out, "actual    {}", escaped(&failure.actual))?;
    writeln!(out, "rerun     {}</{element}></testcase>", escaped(&failure.rerun))
}

/// The attributes that count tests.
fn counts<'a>(tests: impl Iterator<Item = &'a Test<'a>>) -> String {
    let [mut all, mut failures, mut errors, mut skipped] = [0usize; 4];
    for test in tests {
        all += 1;
        match test {
            Test::Passed => {}
            Test::Skipped(_) => skipped += 1,
            Test::Failed(failure) if failure.kind != FailureKind::Answer => errors += 1,
            Test::Failed(_) | Test::Surprising(_) | Test::Unshown(_) => failures += 1,
        }
    }
    format!("tests=\"{all}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

/// Text as XML has it; characters that no document of XML may have are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            control if control.is_ascii_control() && !matches!(control, '\t' | '\n') => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
