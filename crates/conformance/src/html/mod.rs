//! A report as one page of HTML: causes on the left; of a failure the clause, what was expected, the elements, the accepted twin and
//! the task graph. And several reports side by side. A page needs nothing else, and asks nobody for anything.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::protocol::Profile;
use megakernel_ir::read;
use serde_json::{Map, Value, json};

use crate::case::Case;
use crate::report::{FailureReport, Report};
use crate::spec;
use crate::store::Corpus;

mod compare;
mod witness;

pub use compare::compare;
pub use witness::Witnesses;

const PAGE: &str = include_str!("page.html");

/// What the pages have in common.
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("common.js");

/// What the page of a run does with witnesses.
const WITNESS: &str = include_str!("witness.js");

/// Failures of a cause that are shown with document, twin and graph.
const DETAILED: usize = 20;

/// The longest document that is shown, in bytes.
const LONGEST: usize = 1 << 16;

/// Lines around what differs.
const CONTEXT: usize = 3;

/// The page. Without the specification beside the corpus, clauses are named and not quoted. Of a rejection that was missed it shows the
/// witness, if there is one.
///
/// # Errors
/// None that a report can cause; they are passed on rather than hidden.
pub fn render(report: &Report, corpus: &Corpus, witnesses: &mut Witnesses) -> serde_json::Result<String> {
    let failures: BTreeMap<(&str, Profile), &FailureReport> =
        report.failures.iter().map(|failure| ((failure.case.as_str(), failure.profile), failure)).collect();
    let find = |case: &str, profile| failures.get(&(case, profile)).copied();
    let (mut members, mut details, mut cited) = (Map::new(), Map::new(), BTreeSet::new());
    for cause in &report.causes {
        let group: Vec<&FailureReport> =
            cause.units.iter().filter_map(|(case, profile)| find(case, *profile)).collect();
        let example = find(&cause.example.case, cause.example.profile);
        for failure in example.into_iter().chain(group.iter().copied().take(DETAILED)) {
            cited.extend(failure.clauses.iter().map(|clause| clause.id.as_str()));
            if !details.contains_key(&key(failure))
                && let Some(case) = corpus.case(&failure.case)
            {
                details.insert(key(failure), detail(corpus, case, failure, witnesses));
            }
        }
        members.insert(cause.cause.clone(), group.into_iter().map(key).collect());
    }
    let clauses: Map<String, Value> = cited
        .into_iter()
        .filter_map(|id| Some((id.to_owned(), Value::String(spec::section(corpus.root(), id).ok()?.1))))
        .collect();
    let data = json!({ "report": report, "members": members, "details": details, "clauses": clauses });
    fill(PAGE, &data)
}

/// A page with what all pages have in common, and with its data.
fn fill(page: &str, data: &Value) -> serde_json::Result<String> {
    // Nothing in it may end the element that it stands in.
    let data = serde_json::to_string(data)?.replace('<', "\\u003c");
    // The data comes last, as it may hold anything.
    Ok(page
        .replace("@STYLE@", STYLE)
        .replace("@SCRIPT@", SCRIPT)
        .replace("@WITNESS@", WITNESS)
        .replace("@DATA@", &data))
}

fn key(failure: &FailureReport) -> String {
    format!("{} {}", failure.case, failure.profile)
}

/// What the page shows of a failure beside what the report says.
fn detail(corpus: &Corpus, case: &Case, failure: &FailureReport, witnesses: &mut Witnesses) -> Value {
    let mut detail = Map::new();
    if let Some(elements) = &failure.elements {
        detail.insert("elements".to_owned(), json!(elements));
    }
    let bytes = |case: &Case| corpus.document(case).ok().filter(|bytes| bytes.len() <= LONGEST);
    let Some(document) = bytes(case) else { return detail.into() };
    if let Some(witness) = witnesses.find(case, failure.profile, &document) {
        detail.insert("witness".to_owned(), witness);
    }
    detail.insert("document".to_owned(), json!(lines(&document).join("\n")));
    if let Some(twin) = failure.twin.as_deref().and_then(|twin| bytes(corpus.case(twin)?)) {
        detail.insert("difference".to_owned(), json!(difference(&lines(&twin), &lines(&document))));
    }
    // Also of a program that is to be rejected, as long as it can be read.
    if let Ok(program) = read(&document) {
        let task = |(id, task): (usize, &megakernel_ir::model::Task<'_>)| {
            let waits: Vec<_> = task.waits.iter().map(|wait| (wait.counter, wait.threshold)).collect();
            json!({ "id": id, "op": task.op.name(), "label": task.label, "sm": task.sm.unwrap_or(-1), "out": task.out_counter, "waits": waits })
        };
        let tasks: Vec<Value> = program.tasks.iter().enumerate().map(task).collect();
        detail.insert("tasks".to_owned(), tasks.into());
    }
    detail.into()
}

/// A document line by line: indented if it is JSON.
fn lines(document: &[u8]) -> Vec<String> {
    let value: Option<Value> = serde_json::from_slice(document).ok();
    let text = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    let text = text.unwrap_or_else(|| String::from_utf8_lossy(document).into_owned());
    text.lines().map(str::to_owned).collect()
}

/// What is different between documents that differ in one place: the lines from the first to the last that differ, and some around.
fn difference(before: &[String], after: &[String]) -> Vec<String> {
    let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (a, b) = (before.get(same..).unwrap_or_default(), after.get(same..).unwrap_or_default());
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let marked = |mark: &str, lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| format!("{mark} {line}")).collect()
    };
    let upto = |lines: &[String]| lines.len().saturating_sub(end);
    let mut out = marked(" ", before.get(same.saturating_sub(CONTEXT)..same).unwrap_or_default());
    out.extend(marked("-", a.get(..upto(a)).unwrap_or_default()));
    out.extend(marked("+", b.get(..upto(b)).unwrap_or_default()));
    let rest = a.get(upto(a)..).unwrap_or_default();
    out.extend(marked(" ", rest.get(..CONTEXT.min(rest.len())).unwrap_or_default()));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_shown_with_what_is_around() {
        let lines = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let shown = |a: &str, b: &str| difference(&lines(a), &lines(b)).join("|");
        assert_eq!(shown("a b c d x f g h i", "a b c d y f g h i"), "  b|  c|  d|- x|+ y|  f|  g|  h");
        assert_eq!(shown("a b", "a x b"), "  a|+ x|  b");
        assert_eq!(shown("a a", "a a a"), "  a|  a|+ a");
        assert_eq!(shown("a b", "a b"), "  a|  b");
    }
}
