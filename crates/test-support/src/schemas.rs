//! The schemas of the repository, loaded without network.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jsonschema::{Registry, Validator};
use serde_json::{Value, json};

use crate::{files, root};

/// Where every `$id` starts; the file's name follows.
pub const BASE: &str = "https://megakernel-conformance.invalid/schemas/0.1/";

/// The files of all schemas, those of companions among them, by name: what stands before `.schema.json`.
#[track_caller]
pub fn paths() -> BTreeMap<String, PathBuf> {
    let named = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".schema.json")?.to_owned();
        Some((name, path))
    };
    files::below(&root().join("schemas")).into_iter().filter_map(named).collect()
}

/// All schemas by name.
#[track_caller]
pub fn all() -> BTreeMap<String, Value> {
    paths().into_iter().map(|(name, path)| (name, files::json(&path))).collect()
}

/// A validator of one schema, `report` say, or of a part of one, `protocol.schema.json#/$defs/hello` say, with the others at hand.
#[track_caller]
pub fn validator(reference: &str) -> Validator {
    let mut registry = Registry::new();
    for (name, schema) in all() {
        let id = schema["$id"].as_str().unwrap_or_else(|| panic!("the schema {name} has no $id")).to_owned();
        registry = registry.add(id, schema).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let registry = registry.prepare().unwrap_or_else(|error| panic!("references between schemas: {error}"));
    let file = if reference.contains(".schema.json") {
        reference.to_owned()
    } else {
        format!("{reference}.schema.json")
    };
    jsonschema::draft202012::options()
        .with_registry(&registry)
        .offline()
        .build(&json!({ "$ref": format!("{BASE}{file}") }))
        .unwrap_or_else(|error| panic!("{reference}: {error}"))
}

/// What a schema finds wrong: `place: what`.
pub fn errors(validator: &Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}
