//! Corners: documents of which a reading in a hurry says the other thing, each beside one that differs in that alone. They answer faults of validators, measures and
//! executors that no other family finds.

mod graphs;
mod measures;
mod order;
mod places;
mod readings;
mod texts;

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink, words};
use serde_json::{Value, json};

use super::{PROFILE, cited};

/// A document, and what is said of it.
struct Corner {
    name: &'static str,
    cites: Vec<&'static str>,
    document: Value,
    expect: Value,
    twin: Option<&'static str>,
    method: &'static str,
}

/// One that is accepted, with these warnings.
fn accepted(name: &'static str, cites: &[&'static str], document: Value, warnings: &[&str]) -> Corner {
    let expect = json!({"verdict": "accept", "warnings": warnings});
    // Beside one with warnings stands the plainest one without.
    let twin = (!warnings.is_empty()).then_some("one tile ahead");
    Corner { name, cites: cites.to_vec(), document, expect, twin, method: "validate" }
}

/// One that breaks a rule at a place; another one of these has the name of the twin.
fn rejected(name: &'static str, rule: &'static str, at: &str, document: Value, twin: &'static str) -> Corner {
    let expect = json!({"verdict": "reject", "rules": [rule], "at": at});
    Corner { name, cites: vec![rule], document, expect, twin: Some(twin), method: "validate" }
}

/// All of them.
///
/// # Errors
/// A case that is not well formed.
pub fn corners(_: &Library, sink: &mut Sink) -> Result<()> {
    let mut all = texts::all();
    all.extend(order::all());
    all.extend(places::all());
    all.extend(measures::all());
    all.extend(graphs::all());
    all.extend(readings::all());
    for Corner { name, cites, document, expect, twin, method } in all {
        let id = format!("{}/{}", sink.family(), words(name));
        let twin = twin.map(|twin| format!("{}/{}", sink.family(), words(twin)));
        let text = document.to_string();
        sink.push_as(method, id, name, PROFILE, &cited(&cites)?, &Document::Text(&text), expect, twin)?;
    }
    Ok(())
}
