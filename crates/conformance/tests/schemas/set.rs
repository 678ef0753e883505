//! The schemas of the repository, loaded without network, and the errors that they give.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::{Registry, ValidationError, Validator};
use serde_json::{Value, json};

/// Names of the files under `schemas/`, without `.schema.json`.
pub const NAMES: [&str; 21] = [
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
    "selection-sequence",
    "selection-index",
    "selection-request",
    "selection-plan",
    "selection-review",
    "case",
    "protocol",
    "diagnostics",
    "report",
    "evidence",
    "manifest",
];

/// Where every `$id` starts; the file's name follows.
pub const BASE: &str = "https://megakernel-conformance.invalid/schemas/0.1/";

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads a JSON file, or fails the test with its path.
pub fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every file below `folder` whose name ends in `.json`, sorted.
pub fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// All schemas by name.
pub fn schemas() -> BTreeMap<String, Value> {
    let folder = root().join("schemas");
    let found: BTreeMap<String, Value> = fs::read_dir(&folder)
        .expect("schemas/ exists")
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_str()?.strip_suffix(".schema.json")?.to_owned();
            Some((name, read(&entry.path())))
        })
        .collect();
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

/// A validator for `reference`, such as `program` or `protocol.schema.json#from-runner`, with no access to any network.
pub fn validator(reference: &str) -> Validator {
    let mut registry = Registry::new();
    for (name, schema) in schemas() {
        registry =
            registry.add(format!("{BASE}{name}.schema.json"), schema).expect("a schema with an address");
    }
    let registry = registry.prepare().expect("references that resolve");
    let reference =
        if reference.contains('.') { reference.to_owned() } else { format!("{reference}.schema.json") };
    jsonschema::draft202012::options()
        .with_registry(&registry)
        .offline()
        .build(&json!({ "$ref": format!("{BASE}{reference}") }))
        .unwrap_or_else(|e| panic!("{reference}: {e}"))
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
