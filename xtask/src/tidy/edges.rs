//! Which crate of ours may depend on which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Every crate of the workspace with the crates of the workspace that it may use directly, in tests too.
const ALLOWED: &[(&str, &[&str])] = &[
    // Other people's: it depends on nothing.
    ("megakernel-adapter", &[]),
    ("megakernel-codegen", &[]),
    ("megakernel-numerics", &[]),
    ("megakernel-ir", &["megakernel-numerics"]),
    ("megakernel-abi", &["megakernel-ir", "megakernel-numerics"]),
    ("megakernel-order", &["megakernel-ir"]),
    ("megakernel-task-graph", &["megakernel-ir"]),
    ("megakernel-collectives", &["megakernel-ir"]),
    (
        "megakernel-collectives-reference",
        &["megakernel-collectives", "megakernel-ir", "megakernel-numerics", "megakernel-reference"],
    ),
    ("megakernel-collectives-checker", &["megakernel-collectives", "megakernel-ir"]),
    // Where the validator and the explorer meet.
    (
        "megakernel-collectives-subject",
        &[
            "megakernel-collectives",
            "megakernel-collectives-reference",
            "megakernel-ir",
            "megakernel-numerics",
            "megakernel-prove",
        ],
    ),
    // Its tests play the cases to the checker, which shares nothing with the reference.
    (
        "megakernel-collectives-cases",
        &[
            "megakernel-collectives",
            "megakernel-collectives-checker",
            "megakernel-conformance",
            "megakernel-corpus",
            "megakernel-ir",
            "megakernel-numerics",
        ],
    ),
    ("megakernel-schedule", &["megakernel-ir"]),
    // It turns programs and task graphs into schedules. Its tests misread those as the faults of the cases do.
    (
        "megakernel-schedule-reference",
        &[
            "megakernel-ir",
            "megakernel-order",
            "megakernel-reference",
            "megakernel-schedule",
            "megakernel-schedule-cases",
            "megakernel-task-graph",
            "megakernel-task-graph-reference",
        ],
    ),
    // Where the validator and the explorer meet.
    (
        "megakernel-schedule-subject",
        &["megakernel-ir", "megakernel-prove", "megakernel-schedule", "megakernel-schedule-reference"],
    ),
    ("megakernel-schedule-checker", &["megakernel-ir", "megakernel-schedule"]),
    (
        "megakernel-schedule-cases",
        &["megakernel-ir", "megakernel-conformance", "megakernel-corpus", "megakernel-schedule-checker"],
    ),
    ("megakernel-mcir", &["megakernel-ir"]),
    (
        "megakernel-mcir-reference",
        &[
            "megakernel-ir",
            "megakernel-mcir",
            "megakernel-numerics",
            "megakernel-order",
            "megakernel-reference",
        ],
    ),
    // Where the validator and the explorer meet, and in its tests faulty passes and the checker.
    (
        "megakernel-mcir-subject",
        &[
            "megakernel-ir",
            "megakernel-mcir",
            "megakernel-mcir-cases",
            "megakernel-mcir-checker",
            "megakernel-mcir-reference",
            "megakernel-prove",
        ],
    ),
    ("megakernel-mcir-checker", &["megakernel-ir", "megakernel-mcir", "megakernel-numerics"]),
    // Its definition is what cases expect, so it shares nothing with the reference.
    ("megakernel-mcir-cases", &["megakernel-ir", "megakernel-corpus", "megakernel-numerics"]),
    ("megakernel-selection", &["megakernel-ir"]),
    // Its tests make the examples from the lowered layers of the cases.
    (
        "megakernel-selection-reference",
        &["megakernel-ir", "megakernel-reference", "megakernel-selection", "megakernel-selection-cases"],
    ),
    (
        "megakernel-selection-cases",
        &["megakernel-ir", "megakernel-conformance", "megakernel-corpus", "megakernel-selection"],
    ),
    // Where the selector of the reference and the definitions meet.
    (
        "megakernel-selection-subject",
        &[
            "megakernel-prove",
            "megakernel-selection",
            "megakernel-selection-cases",
            "megakernel-selection-reference",
        ],
    ),
    // Never the reference: an answer that the judge took from it would judge nothing. Nor the corpus, which it reads as files.
    (
        "megakernel-conformance",
        &[
            "megakernel-collectives-checker",
            "megakernel-ir",
            "megakernel-mcir-checker",
            "megakernel-numerics",
            "megakernel-schedule-checker",
            "megakernel-task-graph",
            "megakernel-task-graph-checker",
        ],
    ),
    ("megakernel-task-graph-checker", &["megakernel-ir", "megakernel-task-graph"]),
    // Nor here, since a case declares its answer. The cases of companions in tests alone: the generator gets them from outside.
    (
        "megakernel-corpus",
        &[
            "megakernel-codegen",
            "megakernel-ir",
            "megakernel-numerics",
            "megakernel-conformance",
            "megakernel-collectives-cases",
            "megakernel-mcir-cases",
            "megakernel-schedule-cases",
            "megakernel-selection-cases",
            "megakernel-task-graph-cases",
        ],
    ),
    (
        "megakernel-task-graph-cases",
        &[
            "megakernel-ir",
            "megakernel-conformance",
            "megakernel-corpus",
            "megakernel-task-graph",
            "megakernel-task-graph-checker",
        ],
    ),
    ("megakernel-reference", &["megakernel-ir", "megakernel-numerics", "megakernel-order"]),
    // Its bridge turns task graphs into programs that the reference of programs accepts, and back.
    (
        "megakernel-task-graph-reference",
        &[
            "megakernel-ir",
            "megakernel-numerics",
            "megakernel-order",
            "megakernel-task-graph",
            "megakernel-reference",
        ],
    ),
    // What is proved is the reference.
    ("megakernel-prove", &["megakernel-ir", "megakernel-reference"]),
    (
        "megakernel-task-graph-subject",
        &["megakernel-ir", "megakernel-prove", "megakernel-task-graph", "megakernel-task-graph-reference"],
    ),
    // The program that composes the references.
    (
        "megakernel-oracle",
        &[
            "megakernel-ir",
            "megakernel-numerics",
            "megakernel-reference",
            "megakernel-collectives-reference",
            "megakernel-mcir-reference",
            "megakernel-schedule-reference",
            "megakernel-selection-reference",
            "megakernel-task-graph-reference",
        ],
    ),
    // Nor the reference, which is passed in: what it compares is what two programs answer.
    (
        "megakernel-differential",
        &["megakernel-conformance", "megakernel-corpus", "megakernel-ir", "megakernel-numerics"],
    ),
    // Nor the reference: its arithmetic has to be a second opinion.
    ("megakernel-adequacy", &["megakernel-ir", "megakernel-numerics", "megakernel-conformance"]),
    // Nor that one: its rules have to be a second opinion.
    ("megakernel-mutants", &["megakernel-ir", "megakernel-conformance"]),
    // A worker like anybody's. Its tests play cases to it, and have the reference judge the programs that it measures.
    (
        "megakernel-cuda-harness",
        &[
            "megakernel-abi",
            "megakernel-ir",
            "megakernel-numerics",
            "megakernel-conformance",
            "megakernel-reference",
        ],
    ),
    // Where those meet that may not know each other.
    (
        "megakernel-suite",
        &[
            "megakernel-collectives-cases",
            "megakernel-collectives-reference",
            "megakernel-collectives-subject",
            "megakernel-mcir-cases",
            "megakernel-mcir-reference",
            "megakernel-mcir-subject",
            "megakernel-schedule",
            "megakernel-schedule-cases",
            "megakernel-schedule-reference",
            "megakernel-schedule-subject",
            "megakernel-selection",
            "megakernel-selection-cases",
            "megakernel-selection-reference",
            "megakernel-selection-subject",
            "megakernel-ir",
            "megakernel-numerics",
            "megakernel-task-graph",
            "megakernel-task-graph-checker",
            "megakernel-task-graph-reference",
            "megakernel-reference",
            "megakernel-prove",
            "megakernel-task-graph-subject",
            "megakernel-conformance",
            "megakernel-corpus",
            "megakernel-task-graph-cases",
            "megakernel-adequacy",
            "megakernel-differential",
            "megakernel-mutants",
        ],
    ),
    // Nothing but the reader of the specification, so that the tests of every crate may use it: see `of_metadata`.
    ("megakernel-test-support", &["megakernel-codegen"]),
    // It calls programs. Its tests make records of evidence.
    ("xtask", &["megakernel-codegen", "megakernel-ir", "megakernel-conformance", "megakernel-cuda-harness"]),
];

/// The crate that tests share.
const TEST_SUPPORT: &str = "megakernel-test-support";

/// Crates of the workspace and the crates of the workspace that each depends on.
pub type Edges = BTreeMap<String, BTreeSet<String>>;

/// Asks cargo for the edges, dev- and build-dependencies included.
pub fn read(root: &Path) -> Result<Edges, String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo metadata cannot be run: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    Ok(of_metadata(&metadata))
}

fn of_metadata(metadata: &Value) -> Edges {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let ours: BTreeSet<&str> = packages().filter_map(|p| p["name"].as_str()).collect();
    let mut edges = Edges::new();
    for package in packages() {
        let used = package["dependencies"].as_array().into_iter().flatten();
        // What tests share, every crate may use in its tests, and none elsewhere.
        let used = used.filter(|d| !(d["name"] == TEST_SUPPORT && d["kind"] == "dev"));
        let used =
            used.filter_map(|d| d["name"].as_str()).filter(|name| ours.contains(name)).map(str::to_owned);
        edges.insert(package["name"].as_str().unwrap_or_default().to_owned(), used.collect());
    }
    edges
}

/// Edges that are not allowed, and crates that the list does not know.
pub fn forbidden(edges: &Edges) -> Vec<String> {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let mut problems = Vec::new();
    for (from, used) in edges {
        let Some(may) = allowed.get(from.as_str()) else {
            problems.push(format!(
                "crate `{from}` is not in the list of allowed edges: add it to xtask/src/tidy/edges.rs"
            ));
            continue;
        };
        for to in used.iter().filter(|to| !may.contains(&to.as_str())) {
            problems.push(format!("crate `{from}` depends on `{to}`, allowed are: [{}]", may.join(", ")));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(conformance_uses: &str, kind: Value) -> Vec<String> {
        forbidden(&of_metadata(&json!({ "packages": [
            { "name": "megakernel-ir", "dependencies": [{ "name": "serde", "kind": null }] },
            { "name": "megakernel-reference", "dependencies": [{ "name": "megakernel-ir", "kind": null }] },
            { "name": "megakernel-test-support", "dependencies": [] },
            { "name": "megakernel-conformance", "dependencies": [{ "name": conformance_uses, "kind": kind }] }
        ]})))
    }

    #[test]
    fn only_the_listed_edges_pass() {
        assert_eq!(check("megakernel-ir", Value::Null), Vec::<String>::new());
        let expected = "crate `megakernel-conformance` depends on `megakernel-reference`, allowed are: \
                        [megakernel-collectives-checker, megakernel-ir, megakernel-mcir-checker, megakernel-numerics, megakernel-schedule-checker, megakernel-task-graph, megakernel-task-graph-checker]";
        assert_eq!(check("megakernel-reference", Value::Null), [expected]);
        assert_eq!(check("megakernel-reference", json!("dev")), [expected]);
        assert_eq!(check(TEST_SUPPORT, json!("dev")), Vec::<String>::new());
        assert_eq!(check(TEST_SUPPORT, Value::Null).len(), 1);
    }

    #[test]
    fn an_unlisted_crate_is_named() {
        let problems =
            forbidden(&of_metadata(&json!({ "packages": [{ "name": "new", "dependencies": [] }] })));
        assert!(
            problems.len() == 1 && problems.iter().all(|p| p.contains("`new` is not in the list")),
            "{problems:?}"
        );
    }
}
