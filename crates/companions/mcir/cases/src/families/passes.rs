//! Passes that make documents, of graphs and of documents (clauses MCI-23 to MCI-26).

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink, words};
use serde_json::{Value, json};

use super::{PROFILE, cited};
use crate::bases::{self, Base};
use crate::graphs;
use crate::joins;

fn accepted(sink: &mut Sink, clause: &str, name: &str, summary: &str, request: &Value) -> Result<()> {
    let clauses = cited(&["MCI-19", "MCI-20", "MCI-21", clause])?;
    let id = format!("{}/{}", sink.family(), words(name));
    let text = request.to_string();
    let expect = json!({"verdict": "accept", "warnings": [], "equivalent": true});
    sink.push_as("transform", id, summary, PROFILE, &clauses, &Document::Text(&text), expect, None)
}

/// Graphs that become documents.
///
/// # Errors
/// A case that is not well formed.
pub fn streamed(_: &Library, sink: &mut Sink) -> Result<()> {
    for (name, summary, graph, target) in graphs::streamed() {
        let mut request = json!({"pass": "StreamingConversionPass", "graph": graph});
        if let Some([shared, register]) = target {
            request["target"] = json!({"shared_bytes": shared, "register_bytes": register});
        }
        accepted(sink, "MCI-23", name, summary, &request)?;
    }
    let Some((_, _, graph, _)) = graphs::streamed().into_iter().next() else { return Ok(()) };
    let whole = json!({"pass": "StreamingConversionPass", "graph": graph, "target": {"shared_bytes": null}});
    for (name, rule, at, path, value) in [
        ("a target in an array", "S04", "/target", "/target", json!([])),
        ("a target in quotes", "S04", "/target/shared_bytes", "/target/shared_bytes", json!("1024")),
        ("an extent of 0", "IG01", "/graph/values/Q/shape/0", "/graph/values/Q/shape/0", json!(0)),
        ("an unknown output", "IG02", "/graph/outputs/0", "/graph/outputs/0", json!("nobody")),
    ] {
        let mut request = whole.clone();
        if let Some(place) = request.pointer_mut(path) {
            *place = value;
        }
        let twin = Some(format!("{}/attention", sink.family()));
        rejected(sink, name, rule, at, &request, twin)?;
    }
    Ok(())
}

fn rejected(
    sink: &mut Sink,
    name: &str,
    rule: &str,
    at: &str,
    request: &Value,
    twin: Option<String>,
) -> Result<()> {
    let (clauses, text) = (cited(&[rule, "MCI-20"])?, request.to_string());
    let expect = json!({"verdict": "reject", "rules": [rule], "at": at});
    let id = format!("{}/{}", sink.family(), words(name));
    sink.push_as("transform", id, name, PROFILE, &clauses, &Document::Text(&text), expect, twin)
}

/// Documents of a few tiles.
fn small() -> impl Iterator<Item = &'static Base> {
    bases::all().iter().filter(|base| base.name.starts_with("small-"))
}

fn loads_late(document: &Value) -> bool {
    let regions = document["regions"].as_array().into_iter().flatten();
    regions.into_iter().any(|region| {
        let streaming = &region["streaming"];
        let each = streaming["tile"]["each"].as_array().into_iter().flatten();
        !streaming["stream"].is_null() && each.into_iter().any(|node| node["op"] == "LoadTile")
    })
}

/// Documents whose loads begin ahead afterwards: with any memory, and with none to spare.
///
/// # Errors
/// A case that is not well formed.
pub fn scheduled(_: &Library, sink: &mut Sink) -> Result<()> {
    for base in small() {
        let mut document = base.document.clone();
        document["target"] = json!({});
        let request = |document: &Value| json!({"pass": "TileSchedulingPass", "document": document});
        accepted(sink, "MCI-24", &base.name, &base.summary, &request(&document))?;
        if loads_late(&document) {
            let bytes = |which: &str| base.measures[which].clone();
            document["target"] =
                json!({"shared_bytes": bytes("shared"), "register_bytes": bytes("register")});
            let name = format!("{} without memory to spare", base.name);
            let summary = format!("{}, on a target that has what it needs, and no more", base.summary);
            accepted(sink, "MCI-24", &name, &summary, &request(&document))?;
        }
    }
    broken(sink, "TileSchedulingPass")
}

/// Documents whose tiles are all kept for the block, in more slots than they need.
///
/// # Errors
/// A case that is not well formed.
pub fn assigned(_: &Library, sink: &mut Sink) -> Result<()> {
    for base in small() {
        let mut document = base.document.clone();
        document["target"] = json!({});
        for residency in document["residency"].as_array_mut().into_iter().flatten() {
            residency["lifetime"] = json!("block");
        }
        for value in document["values"].as_object_mut().into_iter().flat_map(|values| values.values_mut()) {
            if value["residency"] != "global" {
                value["buffers"] = json!(value["buffers"].as_i64().unwrap_or(1) + 2);
            }
        }
        let request = json!({"pass": "ResidencyAssignmentPass", "document": document});
        accepted(sink, "MCI-25", &base.name, &base.summary, &request)?;
    }
    broken(sink, "ResidencyAssignmentPass")
}

/// Documents of several regions, some of which become one.
///
/// # Errors
/// A case that is not well formed.
pub fn eliminated(_: &Library, sink: &mut Sink) -> Result<()> {
    let all = joins::all();
    for (name, summary, document) in &all {
        let request = json!({"pass": "MaterializationEliminationPass", "document": document});
        accepted(sink, "MCI-26", name, summary, &request)?;
    }
    let Some((name, _, document)) = all.first() else { return Ok(()) };
    faulty(sink, "MaterializationEliminationPass", name, document)
}

/// Requests whose document is none, or breaks a rule.
fn broken(sink: &mut Sink, pass: &str) -> Result<()> {
    let Some(base) = small().find(|base| loads_late(&base.document)) else { return Ok(()) };
    faulty(sink, pass, &base.name, &base.document)
}

fn faulty(sink: &mut Sink, pass: &str, name: &str, document: &Value) -> Result<()> {
    let accepted = format!("{}/{}", sink.family(), words(name));
    let whole = json!({"pass": pass, "document": document});
    let tensor = document["outputs"][0].as_str().unwrap_or_default();
    let extent = format!("/document/values/{tensor}/shape/0");
    for (name, rule, at, path, value) in [
        ("a document in an array", "S04", "/document", "/document", json!([])),
        ("a document with an extent of 0", "IS01", extent.as_str(), extent.as_str(), json!(0)),
        (
            "a document with an unknown output",
            "IS02",
            "/document/outputs/0",
            "/document/outputs/0",
            json!("nobody"),
        ),
    ] {
        let mut request = whole.clone();
        if let Some(place) = request.pointer_mut(path) {
            *place = value;
        }
        rejected(sink, name, rule, at, &request, Some(accepted.clone()))?;
    }
    let mut request = whole;
    request["document"]["boundaries"] = json!([]);
    let at = format!("/document/values/{tensor}");
    rejected(sink, "a document without boundaries", "IM01", &at, &request, Some(accepted))
}
