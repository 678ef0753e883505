//! The repository's own schemas.

use std::path::Path;

use serde_json::{Value, json};

/// A validator of the repository's own schemas.
pub fn schema(reference: &str) -> jsonschema::Validator {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let base = "https://megakernel-conformance.invalid/schemas/0.1/";
    let mut registry = jsonschema::Registry::new();
    for name in ["report", "evidence", "case", "diagnostics", "protocol"] {
        let name = format!("{name}.schema.json");
        let text = std::fs::read_to_string(directory.join(&name)).expect("a schema");
        let schema: Value = serde_json::from_str(&text).expect("JSON");
        registry = registry.add(format!("{base}{name}"), schema).expect("a schema with an address");
    }
    let registry = registry.prepare().expect("references that resolve");
    let options = jsonschema::draft202012::options().with_registry(&registry).offline();
    options.build(&json!({"$ref": format!("{base}{reference}")})).expect("a schema")
}
