//! Documents that pass and fail.

use std::collections::BTreeSet;

use megakernel_test_support::schemas::{BASE, validator};
use megakernel_test_support::{files, root};
use serde::Deserialize;

use super::set::{NAMES, errors, schemas};

/// An entry of a file under `schemas/tests/<name>/fail`: an edit that makes a passing document fail, and how.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failing {
    /// For the reader.
    why: String,
    /// File below `schemas/tests/<name>`.
    base: String,
    /// RFC 6902.
    edit: json_patch::Patch,
    /// All errors, in any order: JSON pointer into the edited document, keyword.
    errors: Vec<(String, String)>,
}

#[test]
fn every_schema_is_valid_and_has_its_address() {
    for (name, schema) in schemas() {
        let errors: Vec<String> = jsonschema::draft202012::meta::validator()
            .iter_errors(&schema)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        assert_eq!(schema["$id"], format!("{BASE}{name}.schema.json"));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        for field in ["title", "description"] {
            assert!(schema[field].is_string(), "{name} has no {field}");
        }
    }
}

#[test]
fn passing_documents_conform() {
    for name in NAMES {
        let validator = validator(name);
        let files = files::json_below(&root().join("schemas/tests").join(name).join("pass"));
        assert!(!files.is_empty(), "schemas/tests/{name}/pass holds no document");
        for file in files {
            assert_eq!(errors(&validator, &files::json(&file)), [], "{}", file.display());
        }
    }
}

#[test]
fn failing_documents_fail_where_they_say() {
    let mut wrong = Vec::new();
    for name in NAMES {
        let validator = validator(name);
        let folder = root().join("schemas/tests").join(name);
        let mut keywords = BTreeSet::new();
        for file in files::json_below(&folder.join("fail")) {
            let entries: Vec<Failing> =
                serde_json::from_value(files::json(&file)).expect("a list of failing documents");
            assert!(!entries.is_empty(), "{} is empty", file.display());
            for (n, mut entry) in entries.into_iter().enumerate() {
                let mut document = files::json(&folder.join(&entry.base));
                let place = format!("{} entry {n} ({})", file.display(), entry.why);
                json_patch::patch(&mut document, &entry.edit).unwrap_or_else(|e| panic!("{place}: {e}"));
                let found = errors(&validator, &document);
                entry.errors.sort();
                keywords.extend(entry.errors.iter().map(|(_, keyword)| keyword.clone()));
                if found.is_empty() || found != entry.errors {
                    wrong.push(format!("{place}: expected {:?}, found {found:?}", entry.errors));
                }
            }
        }
        assert!(keywords.len() >= 3, "schemas/tests/{name}/fail shows only the keywords {keywords:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_side_of_the_protocol_has_its_own_messages() {
    let runner = validator("protocol.schema.json#from-runner");
    let worker = validator("protocol.schema.json#from-worker");
    for file in files::json_below(&root().join("schemas/tests/protocol/pass")) {
        let line = files::json(&file);
        let stem = file.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        let of_runner = stem.starts_with("runner") || stem.starts_with("request");
        let (own, other) = if of_runner { (&runner, &worker) } else { (&worker, &runner) };
        assert_eq!(errors(own, &line), [], "{stem}");
        // A runner's handshake may have more members, so a worker's would do for it.
        assert!(stem == "worker-hello" || !errors(other, &line).is_empty(), "{stem} from the other side");
    }
}

/// Every line that the commands of the reference print as JSON, as their snapshots have it.
#[test]
fn printed_verdicts_conform() {
    let validator = validator("verdict");
    let mut lines = 0;
    let snapshots = files::below(&root().join("crates/oracle/tests/snapshots"));
    for path in snapshots.iter().filter(|path| path.extension().is_some_and(|ending| ending == "trycmd")) {
        for line in files::text(path).lines().filter(|line| line.starts_with("{\"file")) {
            let printed = serde_json::from_str(line).expect("JSON");
            assert_eq!(errors(&validator, &printed), [], "{}: {line}", path.display());
            lines += 1;
        }
    }
    assert!(lines > 5, "{lines}");
}

#[test]
fn records_of_evidence_conform() {
    let validator = validator("evidence");
    let files = files::json_below(&root().join("evidence"));
    assert!(!files.is_empty(), "evidence/ holds no record");
    for file in files {
        assert_eq!(errors(&validator, &files::json(&file)), [], "{}", file.display());
    }
}

/// Programs and task graphs that real compilers wrote.
#[test]
fn documents_of_real_compilers_conform() {
    for (folder, schema) in [("amk", "program"), ("mpk", "task-graph")] {
        let mut files = files::json_below(&root().join("fixtures").join(folder));
        // What the layers of Mirage registered, in a form of its own.
        files.retain(|path| !path.to_string_lossy().ends_with(".kernel.json"));
        assert!(!files.is_empty(), "fixtures/{folder} holds no document");
        let validator = validator(schema);
        for file in files {
            assert_eq!(errors(&validator, &files::json(&file)), [], "{}", file.display());
        }
    }
}
