//! The families.

mod contents;
mod crossed;
mod crossings;
mod deadlock;
mod limits;
mod many;
mod members;
mod minimum;
mod names;
mod order;
mod regions;
mod structure;
mod together;
mod trace;
mod traces;
mod warnings;

use megakernel_corpus::builder::{Error, Result};
use megakernel_corpus::companion::Example;
use megakernel_corpus::families::{Cases, Document, Sink, words};
use megakernel_ir::registry;
use megakernel_ir::rule::{Class, Clause, Rule};
use serde_json::{Value, json};

use crate::build::Doc;

/// The families, by the ids that begin the ids of their cases.
pub const FAMILIES: &[(&str, Cases)] = &[
    ("schedule/texts", members::texts),
    ("schedule/members", members::members),
    ("schedule/numbers", structure::numbers),
    ("schedule/regions", structure::regions),
    ("schedule/names", names::names),
    ("schedule/places", names::places),
    ("schedule/limits", limits::limits),
    ("schedule/sizes", limits::sizes),
    ("schedule/signals", deadlock::signals),
    ("schedule/cycles", deadlock::cycles),
    ("schedule/queues", deadlock::queues),
    ("schedule/epochs", deadlock::epochs),
    ("schedule/workers", deadlock::workers),
    ("schedule/crossings", crossings::crossings),
    ("schedule/reuse", crossings::reuse),
    ("schedule/counts", crossed::counts),
    ("schedule/held", crossed::held),
    ("schedule/aliases", crossed::aliases),
    ("schedule/order", order::order),
    ("schedule/unordered", order::unordered),
    ("schedule/placed", order::placed),
    ("schedule/overlaps", regions::overlaps),
    ("schedule/repeats", regions::repeats),
    ("schedule/uninitialised", contents::uninitialised),
    ("schedule/stale", contents::stale),
    ("schedule/clobbered", contents::clobbered),
    ("schedule/kept", contents::kept),
    ("schedule/together", together::together),
    ("schedule/warnings", warnings::warnings),
    ("schedule/many", many::many),
    ("schedule/large", many::large),
    ("schedule/alike", many::alike),
    ("schedule/own-signals", many::own),
    ("schedule/satisfied", many::satisfied),
    ("schedule/minimum", minimum::minimum),
    ("schedule/traces", trace::members),
    ("schedule/covered", trace::covered),
    ("schedule/departures", trace::departures),
];

pub(crate) const PROFILE: &[&str] = &["schedule"];

/// A case that is accepted, by its name.
pub(crate) fn accept(
    sink: &mut Sink,
    name: &str,
    summary: &str,
    clauses: &[Clause],
    doc: &Doc,
) -> Result<String> {
    put(sink, name, summary, clauses, doc, json!({"verdict": "accept"}))
}

/// A case that is accepted without a warning, as twins are.
pub(crate) fn clean(
    sink: &mut Sink,
    name: &str,
    summary: &str,
    clauses: &[Clause],
    doc: &Doc,
) -> Result<String> {
    put(sink, name, summary, clauses, doc, json!({"verdict": "accept", "warnings": []}))
}

fn put(
    sink: &mut Sink,
    name: &str,
    summary: &str,
    clauses: &[Clause],
    doc: &Doc,
    expect: Value,
) -> Result<String> {
    let id = format!("{}/{}", sink.family(), words(name));
    let text = doc.text();
    sink.push_as("validate", id.clone(), summary, PROFILE, clauses, &Document::Text(&text), expect, None)?;
    Ok(id)
}

/// A case that is rejected by one rule, and its accepted twin.
pub(crate) fn reject(
    sink: &mut Sink,
    name: &str,
    summary: &str,
    (rule, at): (Rule, Option<&str>),
    doc: &Doc,
    twin: &str,
) -> Result<()> {
    let id = format!("{}/{}", sink.family(), words(name));
    let mut expect = json!({"verdict": "reject", "rules": [rule]});
    if let (Some(at), Some(members)) = (at, expect.as_object_mut()) {
        members.insert("at".to_owned(), json!(at));
    }
    let twin = Some(twin.to_owned());
    let text = doc.text();
    sink.push_as("validate", id, summary, PROFILE, &[*rule.clause()], &Document::Text(&text), expect, twin)
}

/// A row of a table: what it is about; the tasks that break the rule, and where; the tasks of the twin.
pub(crate) type Row<'r> = (&'r str, &'r [&'r str], &'r str, &'r [&'r str]);

/// Cases from the rows of a table: each with its twin. `document` makes a document from tasks.
pub(crate) fn pairs(
    sink: &mut Sink,
    rule: Rule,
    rows: &[Row<'_>],
    document: &dyn Fn(&[&str]) -> Doc,
) -> Result<()> {
    for (summary, bad, at, good) in rows {
        pair(sink, rule, summary, at, &document(bad), &document(good))?;
    }
    Ok(())
}

/// A rejected document, and its twin.
pub(crate) fn pair(
    sink: &mut Sink,
    rule: Rule,
    summary: &str,
    at: &str,
    bad: &Doc,
    good: &Doc,
) -> Result<()> {
    let name = format!("{rule} {summary}");
    let twin =
        clean(sink, &format!("{name} twin"), &format!("the twin of: {summary}"), &[*rule.clause()], good)?;
    reject(sink, &name, summary, (rule, (!at.is_empty()).then_some(at)), bad, &twin)
}

/// The two cases of an example in the chapter of rules.
///
/// # Errors
/// Never.
pub fn spec_example(sink: &mut Sink, example: &Example<'_>) -> Result<()> {
    let rule = example.rule;
    let clauses = [*rule.clause()];
    let twin = format!("{}/{rule}/accepted", sink.family());
    let (name, summary, expect) = if example.warned {
        let summary = "the document that the specification warns of".to_owned();
        ("warned", summary, json!({"verdict": "accept", "warnings": [rule]}))
    } else {
        let summary = format!("the document of the specification that rule {rule} rejects");
        ("rejected", summary, json!({"verdict": "reject", "rules": [rule]}))
    };
    let id = format!("{}/{rule}/{name}", sink.family());
    let document = Document::Text(example.text);
    let method = if rule.class() == Class::SCHEDULE_TRACE { "trace" } else { "validate" };
    sink.push_as(method, id, &summary, PROFILE, &clauses, &document, expect, Some(twin.clone()))?;
    let expect = json!({"verdict": "accept", "warnings": []});
    let text = example.accepted.to_string();
    let summary = "the twin of the specification's document";
    sink.push_as(method, twin, summary, PROFILE, &clauses, &Document::Text(&text), expect, None)
}

/// A case of any text.
pub(crate) fn text(
    sink: &mut Sink,
    name: &str,
    summary: &str,
    ids: &[&str],
    text: &str,
    expect: Value,
    twin: Option<&str>,
) -> Result<()> {
    let cited = |id: &&str| {
        let found = registry::heading(id).copied();
        found.ok_or_else(|| Error(format!("nothing is called `{id}`")))
    };
    let clauses: Vec<Clause> = ids.iter().map(cited).collect::<Result<_>>()?;
    let id = format!("{}/{name}", sink.family());
    let twin = twin.map(|twin| format!("{}/{twin}", sink.family()));
    sink.push_as("validate", id, summary, PROFILE, &clauses, &Document::Text(text), expect, twin)
}
