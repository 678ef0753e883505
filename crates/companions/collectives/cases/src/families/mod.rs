//! The families.

mod accepted;
mod launches;
mod modules;
mod operations;
mod rules;
mod texts;

use std::collections::BTreeMap;

use megakernel_corpus::builder::{Error, Result};
use megakernel_corpus::companion::Example;
use megakernel_corpus::families::{Cases, Document, Library, Sink};
use serde_json::{Value, json};

use crate::bases;
use crate::item::{Planted, path};

macro_rules! planted {
    ($($id:literal $name:ident $items:path,)+) => {
        $(fn $name(_: &Library, sink: &mut Sink) -> Result<()> {
            $items().iter().try_for_each(|planted: &Planted| planted.push(sink))
        })+

        /// The families, by the ids that begin the ids of their cases.
        pub const FAMILIES: &[(&str, Cases)] = &[
            ("collectives/accept", accepted::accepted),
            ("collectives/simulate", accepted::simulated),
            ("collectives/untold", accepted::untold),
            $(($id, $name),)+
            ("collectives/members", texts::members),
            ("collectives/texts", texts::texts),
            ("collectives/launch", launches::launched),
            ("collectives/describe", launches::described),
            ("collectives/kernel-args", launches::arguments),
            ("collectives/launch-requests", launches::wrong),
            ("collectives/links", accepted::linked),
            ("collectives/wide", accepted::wide),
            ("collectives/kernel-args-of-cubes", launches::arguments_of_cubes),
        ];
    };
}

planted! {
    "collectives/ranges" ranges rules::ranges,
    "collectives/grids" grids rules::grids,
    "collectives/edges" edges rules::edges,
    "collectives/elements" elements rules::elements,
    "collectives/primitives" primitives operations::primitives,
    "collectives/handles" handles operations::handles,
    "collectives/directions" directions operations::directions,
    "collectives/borders" borders operations::borders,
    "collectives/empty" empty operations::empty,
    "collectives/outside" outside operations::outside,
    "collectives/operands" operands operations::operands,
    "collectives/scratch" scratch operations::scratch,
    "collectives/slots" slots operations::slots,
    "collectives/messages" messages operations::messages,
    "collectives/tiles" tiles rules::tiles,
    "collectives/long" long rules::long,
    "collectives/receives" receives operations::receives,
    "collectives/leftovers" leftovers operations::leftovers,
    "collectives/full-queues" full rules::full_queues,
    "collectives/crossed-waits" crossed rules::crossed_waits,
    "collectives/unwritten" unwritten rules::unwritten,
    "collectives/missing" missing rules::missing,
    "collectives/double" double rules::double,
    "collectives/foreign" foreign rules::foreign,
    "collectives/stale" stale rules::stale,
    "collectives/bits" bits rules::bits,
    "collectives/orders" orders rules::orders,
    "collectives/outlived" outlived rules::outlived,
    "collectives/modules" module_cases modules::planted,
    "collectives/wraps" wraps rules::wraps,
}

/// The files that the cases send.
///
/// # Errors
/// Two of one name.
pub fn files() -> Result<Vec<(String, Vec<u8>)>> {
    let mut files: BTreeMap<String, Value> = BTreeMap::new();
    let made = bases::all().into_iter().chain(bases::linked()).chain(bases::wide());
    let documents = made.map(|made| (made.name, made.document));
    for (name, document) in documents.chain(modules::bases()) {
        if files.insert(path(&name), document).is_some() {
            return Err(Error(format!("two files are called {name}")));
        }
    }
    Ok(files.into_iter().map(|(path, value)| (path, text(&value).into_bytes())).collect())
}

/// A document with an operation a line.
fn text(value: &Value) -> String {
    let mut members = Vec::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        if name != "logs" {
            members.push(format!("{}: {value}", json!(name)));
            continue;
        }
        let logs = value.as_array().into_iter().flatten().map(|log| {
            let ops = log.get("ops").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let ops: Vec<String> = ops.iter().map(|op| format!("\n   {op}")).collect();
            format!("\n  {{\"elements\": {}, \"ops\": [{}]}}", log["elements"], ops.join(","))
        });
        members.push(format!("\"logs\": [{}]", logs.collect::<Vec<_>>().join(",")));
    }
    format!("{{{}}}\n", members.join(",\n "))
}

/// Of each name, ten at most where there is one name and four where there are several, spread over all.
fn some(planted: Vec<Planted>) -> Vec<Planted> {
    let mut names: BTreeMap<String, Vec<Planted>> = BTreeMap::new();
    for one in planted {
        names.entry(one.name.clone()).or_default().push(one);
    }
    let most = if names.len() == 1 { 10 } else { 4 };
    let spread = |planted: Vec<Planted>| {
        let step = planted.len().div_ceil(most).max(1);
        planted.into_iter().step_by(step)
    };
    names.into_values().flat_map(spread).collect()
}

/// The two cases of an example in the chapter of rules.
///
/// # Errors
/// A case that is not well formed.
pub fn spec_example(sink: &mut Sink, example: &Example<'_>) -> Result<()> {
    let rule = example.rule;
    let clauses = [*rule.clause()];
    let twin = format!("{}/{rule}/accepted", sink.family());
    let (name, expect) = if example.warned {
        ("warned", json!({"verdict": "accept", "warnings": [rule]}))
    } else {
        ("rejected", json!({"verdict": "reject", "rules": [rule]}))
    };
    let summary = format!("the document of the specification for rule {rule}");
    let id = format!("{}/{rule}/{name}", sink.family());
    let document = Document::Text(example.text);
    sink.push_as(
        "validate",
        id,
        &summary,
        &["collectives"],
        &clauses,
        &document,
        expect,
        Some(twin.clone()),
    )?;
    let text = example.accepted.to_string();
    let expect = json!({"verdict": "accept", "warnings": []});
    let summary = "the twin of the specification's document";
    sink.push_as("validate", twin, summary, &["collectives"], &clauses, &Document::Text(&text), expect, None)
}
