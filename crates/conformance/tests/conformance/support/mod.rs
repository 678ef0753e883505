//! A tiny corpus and a way to play it to `test-worker`.

use std::path::Path;
use std::time::Instant;

use megakernel_conformance::report::Report;
use megakernel_conformance::run::{self, Options, RunError};
use megakernel_conformance::store::{Corpus, Filter, Manifest, ManifestEntry};
use megakernel_conformance::terminal::{self, Style};
use megakernel_ir::protocol::Profile;
use megakernel_test_support::files;
use serde_json::{Value, json};
use tempfile::TempDir;

pub mod judged;
pub mod sessions;

pub use judged::{Judged, options};

/// Writes a corpus that `test-worker` conforms to: 12 cases, 30 units.
pub fn corpus() -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let root = directory.path();
    std::fs::create_dir_all(root.join("programs")).expect("a directory");
    std::fs::write(root.join("programs/empty.json"), r#"{"meta": {}, "tasks": []}"#).expect("a file");
    let all = json!(["format", "validate", "memory-safety", "launch"]);
    let base = |edit: Value| json!({"base": "programs/empty.json", "edit": edit});
    let breaks = |rule: &str| base(json!([{"op": "add", "path": "/meta/breaks", "value": rule}]));
    for i in 0..5 {
        let document = base(json!([{"op": "add", "path": "/meta/number", "value": i}]));
        write_case(
            root,
            &format!("accept/number-{i}"),
            &all,
            "validate",
            document,
            json!({"verdict": "accept"}),
        );
    }
    let both = json!(["format", "validate"]);
    let reject = |rule: &str| json!({"verdict": "reject", "rules": [rule]});
    write_case(root, "structure/not-json", &both, "validate", json!({"text": "{"}), reject("S01"));
    write_case(root, "structure/not-utf8", &both, "validate", json!({"base64": "/w=="}), reject("S01"));
    let without_tasks = base(json!([{"op": "remove", "path": "/tasks"}]));
    write_case(root, "structure/no-tasks", &both, "validate", without_tasks, reject("S03"));
    write_case(root, "race/partial-wait", &json!(["validate"]), "validate", breaks("R01"), reject("R01"));
    write_case(root, "memory/bounds", &json!(["memory-safety"]), "validate", breaks("M03"), reject("M03"));
    let warned = json!({"verdict": "accept", "warnings": ["W04"]});
    write_case(root, "warning/unused", &json!(["validate"]), "validate", breaks("W04"), warned);
    let trip = json!({"text": r#"{"later":1,"tasks":[]}"#});
    let returned = json!({"verdict": "accept", "document": {"tasks": []}});
    write_case(root, "trip/unknown-member", &json!(["format"]), "roundtrip", trip, returned);
    directory
}

/// Writes one case.
pub fn write_case(root: &Path, id: &str, profiles: &Value, method: &str, document: Value, expect: Value) {
    let rule = expect.pointer("/rules/0").cloned().unwrap_or(json!("DAT-01"));
    let case = json!({
        "id": id, "summary": format!("what {id} shows"), "profiles": profiles, "method": method, "clauses": [rule],
        "document": document, "expect": expect,
        "provenance": {"family": "test", "seed": 0, "generator": "0.1.0"}
    });
    let path = root.join("cases").join(format!("{id}.json"));
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    std::fs::write(path, case.to_string()).expect("a file");
}

/// Writes the manifest of a corpus.
pub fn write_manifest(root: &Path) {
    let entries = |folder: &str, id: &dyn Fn(&str) -> String| -> Vec<ManifestEntry> {
        let found = if root.join(folder).is_dir() { files::below(&root.join(folder)) } else { Vec::new() };
        let entry = |path: &std::path::PathBuf| {
            let below = path.strip_prefix(root).expect("below it").to_str().expect("UTF-8");
            let digest = blake3::hash(&std::fs::read(path).expect("a file"));
            ManifestEntry { id: id(below), blake3: digest.to_hex().to_string() }
        };
        let mut entries: Vec<ManifestEntry> = found.iter().map(entry).collect();
        entries.sort_by(|a, b| a.id.cmp(&b.id));
        entries
    };
    let case = |below: &str| below.trim_start_matches("cases/").trim_end_matches(".json").to_owned();
    let manifest = Manifest {
        generator: "0.1.0".to_owned(),
        seed: 0,
        cases: entries("cases", &case),
        programs: entries("programs", &str::to_owned),
        tensors: entries("tensors", &str::to_owned),
    };
    let text = serde_json::to_string(&manifest).expect("JSON");
    std::fs::write(root.join("manifest.json"), text).expect("a file");
}

/// Plays a corpus.
pub fn play(root: &Path, options: &Options) -> Result<Report, RunError> {
    let corpus = Corpus::load(root).map_err(RunError::Corpus)?;
    let run = run::run(&corpus, options, None, &|_| {})?;
    Ok(Report::new(&corpus, options, &run))
}

/// Plays the tiny corpus to a behaviour.
pub fn judge(behaviour: &[&str]) -> Judged {
    judge_with(&options(behaviour))
}

/// Plays the tiny corpus.
pub fn judge_with(options: &Options) -> Judged {
    let directory = corpus();
    let start = Instant::now();
    let report = play(directory.path(), options).expect("a run");
    let took = start.elapsed();
    let text = terminal::render(&report, &Style::default());
    Judged { report, text, took }
}

/// A filter, and profiles, added to options.
pub fn only(mut options: Options, profiles: &[Profile], filter: Option<&str>) -> Options {
    options.selection.profiles = profiles.to_vec();
    options.selection.filter = filter.map(|glob| Filter::new(glob).expect("a glob"));
    options
}
