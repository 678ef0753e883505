//! Cases of the corpus as plain JSON, for tests of crates that do not know the runner.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::{files, root};

/// A case, and the document that its edits make of its base.
#[derive(Debug, Clone)]
pub struct Document {
    /// The case as it stands in its file.
    pub case: Value,
    /// What is sent to an implementation.
    pub text: String,
}

impl Document {
    /// The id of the case.
    pub fn id(&self) -> &str {
        self.case["id"].as_str().unwrap_or_default()
    }
}

/// Every case below `corpus/cases/` and a folder in it whose document is a base with edits; at least one.
#[track_caller]
pub fn documents(folder: &str) -> Vec<Document> {
    documents_without(folder, &[])
}

/// The same without those in some of its folders.
pub fn documents_without(folder: &str, left_out: &[&str]) -> Vec<Document> {
    let corpus = root().join("corpus");
    let left_out: Vec<_> = left_out.iter().map(|name| corpus.join("cases").join(folder).join(name)).collect();
    let mut bases: BTreeMap<String, Value> = BTreeMap::new();
    let mut documents = Vec::new();
    for path in files::json_below(&corpus.join("cases").join(folder)) {
        if left_out.iter().any(|left_out| path.starts_with(left_out)) {
            continue;
        }
        let case = files::json(&path);
        let Some(base) = case["document"]["base"].as_str() else { continue };
        let base = bases.entry(base.to_owned()).or_insert_with(|| files::json(&corpus.join(base)));
        let mut document = base.clone();
        if let Some(edit) = case["document"].get("edit") {
            let edit: json_patch::Patch = serde_json::from_value(edit.clone())
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            json_patch::patch(&mut document, &edit)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        documents.push(Document { case, text: document.to_string() });
    }
    assert!(!documents.is_empty(), "no case below corpus/cases/{folder} has a base");
    documents
}

/// Makes a corpus of some cases of the repository's in a folder: the manifest lists these cases, and all programs and tensors, which are
/// links. It is read in a moment, where the whole takes a second.
#[cfg(unix)]
#[track_caller]
pub fn slice(folder: &Path, wanted: impl Fn(&str) -> bool) {
    let corpus = root().join("corpus");
    let mut manifest = files::json(&corpus.join("manifest.json"));
    let cases = manifest["cases"].as_array_mut().expect("a list of cases");
    cases.retain(|entry| entry["id"].as_str().is_some_and(&wanted));
    assert!(!cases.is_empty(), "no case is wanted");
    for entry in &*cases {
        let name = format!("cases/{}.json", entry["id"].as_str().unwrap_or_default());
        let to = folder.join(&name);
        std::fs::create_dir_all(to.parent().expect("a parent")).expect("a folder");
        std::fs::copy(corpus.join(&name), &to).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    for name in ["programs", "tensors"] {
        std::os::unix::fs::symlink(corpus.join(name), folder.join(name)).expect("a link");
    }
    std::fs::write(folder.join("manifest.json"), manifest.to_string()).expect("a manifest");
}
