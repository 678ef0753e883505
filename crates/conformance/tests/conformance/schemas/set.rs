//! The names of the schemas, and the errors that they give.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::{ValidationError, Validator};
use megakernel_test_support::schemas;
use serde_json::Value;

/// Names of the files under `schemas/`, without `.schema.json`.
pub const NAMES: [&str; 34] = [
    "companion",
    "opcode-table",
    "program",
    "target",
    "target-record",
    "schedule-config",
    "task-graph",
    "system",
    "kernel-graph",
    "translation",
    "collective-algorithm",
    "collective-module",
    "collective-launch",
    "mcir",
    "semantic-graph",
    "mcir-transform",
    "kernel-ir",
    "schedule",
    "schedule-trace",
    "schedule-waits",
    "selection-sequence",
    "selection-index",
    "selection-request",
    "selection-plan",
    "selection-review",
    "case",
    "formulas",
    "protocol",
    "diagnostics",
    "verdict",
    "report",
    "statement",
    "evidence",
    "manifest",
];

/// All schemas by name, which are those that are named here.
pub fn schemas() -> BTreeMap<String, Value> {
    let found = schemas::all();
    let mut expected: Vec<String> = NAMES.map(str::to_owned).into();
    // What the others refer to; no document is one.
    expected.extend(["names", "opcodes"].map(str::to_owned));
    expected.sort();
    assert_eq!(found.keys().cloned().collect::<Vec<_>>(), expected, "the files under schemas/");
    found
}

/// The schema of a document of the profile `task-graph`.
pub fn task_graph_schema(document: &Value) -> &'static str {
    match (&document["ranks"], &document["kernel_graph"]) {
        (Value::Array(_), _) => "system",
        (_, Value::Null) => "task-graph",
        _ => "translation",
    }
}

/// The schema of a document of the profile `collectives`: what `validate` takes it for (clause COL-01).
pub fn collective_schema(document: &Value) -> &'static str {
    if document.get("module").is_some() { "collective-module" } else { "collective-algorithm" }
}

/// The schema of a document of the profile `mcir`: what `validate` takes it for, and the method `transform` (clauses MCI-18 and MCI-20).
pub fn mcir_schema(document: &Value) -> &'static str {
    let has = |name: &str| document.get(name).is_some();
    match () {
        () if has("pass") || has("graph") => "mcir-transform",
        () if has("nodes") && !has("regions") => "semantic-graph",
        () => "mcir",
    }
}

/// The schema of a document of the profile `schedule`: the method `trace` takes one with `launches` (clause SCH-17).
pub fn schedule_schema(document: &Value) -> &'static str {
    if document.get("launches").is_some() { "schedule-trace" } else { "schedule" }
}

/// The schema of a document of the profile `selection`: what `validate` takes it for (clause SEL-01).
pub fn selection_schema(document: &Value) -> &'static str {
    let has = |name: &str| document.get(name).is_some();
    match () {
        () if has("plan") => "selection-review",
        () if has("sequence") || has("index") => "selection-request",
        () if has("kernels") => "selection-index",
        () => "selection-sequence",
    }
}

/// Where and by which keyword a document fails: `(JSON pointer, keyword)`, sorted, each once. Empty: it conforms.
pub fn errors(validator: &Validator, document: &Value) -> Vec<(String, String)> {
    let found: BTreeSet<_> =
        validator.iter_errors(document).map(|e| (e.instance_path().to_string(), keyword(&e))).collect();
    found.into_iter().collect()
}

/// The keyword that an error comes from; `falseSchema` for the schema `false`.
fn keyword(error: &ValidationError<'_>) -> String {
    // The library reports dependentRequired as required.
    if error.schema_path().to_string().contains("/dependentRequired") {
        return "dependentRequired".to_owned();
    }
    error.kind().keyword().to_owned()
}
