//! The corpus on disk: `manifest.json`, `cases/`, `programs/`, `tensors/`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use globset::{Glob, GlobMatcher};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::{Case, Document, LaunchCase};

/// `corpus/manifest.json`: what the corpus consists of. A case file that is lost or added shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the generator that wrote the corpus.
    pub generator: String,
    /// The corpus seed.
    pub seed: u64,
    /// How many cases there are, and of what.
    #[serde(default)]
    pub counts: Counts,
    /// Every case, in order of id.
    pub cases: Vec<ManifestEntry>,
    /// Every program, in order of path.
    pub programs: Vec<ManifestEntry>,
    /// Every tensor file, in order of path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tensors: Vec<ManifestEntry>,
}

/// How many cases a corpus has, counted in several ways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// All cases.
    pub cases: usize,
    /// Cases by declared verdict.
    pub verdicts: BTreeMap<String, usize>,
    /// Cases judged under each profile; a case may count for several.
    pub profiles: BTreeMap<String, usize>,
    /// Rejecting (for W: warned) cases of each rule.
    pub rules: BTreeMap<String, usize>,
    /// Cases that cite each clause or rule.
    pub clauses: BTreeMap<String, usize>,
    /// Cases of each family.
    pub families: BTreeMap<String, usize>,
}

/// A file of the corpus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestEntry {
    /// Id of a case, or path of a program or tensor file below `corpus/`.
    pub id: String,
    /// BLAKE3 of the file's bytes, in hexadecimal.
    pub blake3: String,
}

/// Why a corpus cannot be used. The fault is the suite's, never the judged implementation's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorpusError {
    /// The file or directory.
    pub path: PathBuf,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for CorpusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}

impl std::error::Error for CorpusError {}

fn error(path: &Path, message: impl ToString) -> CorpusError {
    CorpusError { path: path.to_owned(), message: message.to_string() }
}

/// The cases of a corpus, in order of id, and access to its programs.
pub struct Corpus {
    root: PathBuf,
    cases: Vec<Case>,
    manifest: Option<Manifest>,
    bases: Mutex<HashMap<String, Arc<Base>>>,
}

/// A program's file, parsed when the first case edits it.
struct Base {
    bytes: Vec<u8>,
    value: OnceLock<Result<Value, String>>,
}

impl Corpus {
    /// Reads `manifest.json` and every case below `root`. A directory without manifest is a corpus too.
    ///
    /// # Errors
    /// A file cannot be read, a case contradicts itself or its path, or the manifest lists other cases than are there.
    pub fn load(root: &Path) -> Result<Corpus, CorpusError> {
        let cases_dir = root.join("cases");
        let mut cases = Vec::new();
        read_cases(&cases_dir, &cases_dir, &mut cases)?;
        cases.sort_by(|a: &Case, b: &Case| a.id.cmp(&b.id));
        let manifest = read_manifest(&root.join("manifest.json"), &cases)?;
        Ok(Corpus { root: root.to_owned(), cases, manifest, bases: Mutex::default() })
    }

    /// All cases, in order of id.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The manifest, if the corpus has one.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// The bytes that a case sends.
    ///
    /// # Errors
    /// The base is missing or not JSON, an edit does not apply, or base64 is malformed.
    pub fn document(&self, case: &Case) -> Result<Vec<u8>, CorpusError> {
        let path = || self.root.join("cases").join(format!("{}.json", case.id));
        match &case.document {
            Document::Text { text } => Ok(text.clone().into_bytes()),
            Document::Base64 { base64 } => BASE64
                .decode(base64)
                .map_err(|cause| error(&path(), format!("`document.base64` is not base64: {cause}"))),
            Document::Base { base, edit } => {
                let file = self.base(base)?;
                if edit.0.is_empty() {
                    return Ok(file.bytes.clone());
                }
                let value = file
                    .value
                    .get_or_init(|| serde_json::from_slice(&file.bytes).map_err(|cause| cause.to_string()));
                let mut value = value.clone().map_err(|cause| error(&self.root.join(base), cause))?;
                json_patch::patch(&mut value, edit).map_err(|cause| {
                    error(&path(), format!("`document.edit` does not apply to {base}: {cause}"))
                })?;
                serde_json::to_vec(&value).map_err(|cause| error(&path(), cause))
            }
        }
    }

    /// The documents of the launches of a case that executes, in order; none for another case.
    ///
    /// # Errors
    /// As [`Corpus::document`], and if an edit of a launch does not apply.
    pub fn launch_documents(&self, case: &Case) -> Result<Vec<Vec<u8>>, CorpusError> {
        let Some(execution) = &case.execute else { return Ok(Vec::new()) };
        let whole = self.document(case)?;
        let path = || self.root.join("cases").join(format!("{}.json", case.id));
        let edited = |(n, launch): (usize, &LaunchCase)| {
            if launch.edit.0.is_empty() {
                return Ok(whole.clone());
            }
            let mut value = serde_json::from_slice(&whole).map_err(|cause| error(&path(), cause))?;
            json_patch::patch(&mut value, &launch.edit).map_err(|cause| {
                error(&path(), format!("the edit of launch {n} does not apply to the document: {cause}"))
            })?;
            serde_json::to_vec(&value).map_err(|cause| error(&path(), cause))
        };
        execution.launches.iter().enumerate().map(edited).collect()
    }

    /// The bytes of a file of the corpus, such as a tensor file; `path` is below `corpus/`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn file(&self, path: &str) -> Result<Vec<u8>, CorpusError> {
        let path = self.root.join(path);
        std::fs::read(&path).map_err(|cause| error(&path, cause))
    }

    /// An error about a file of the corpus; `path` is below `corpus/`.
    pub fn error(&self, path: &str, message: impl ToString) -> CorpusError {
        error(&self.root.join(path), message)
    }

    fn base(&self, base: &str) -> Result<Arc<Base>, CorpusError> {
        let mut bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = bases.get(base) {
            return Ok(Arc::clone(file));
        }
        let path = self.root.join(base);
        let bytes = std::fs::read(&path).map_err(|cause| error(&path, cause))?;
        let file = Arc::new(Base { bytes, value: OnceLock::new() });
        bases.insert(base.to_owned(), Arc::clone(&file));
        Ok(file)
    }
}

fn read_cases(root: &Path, directory: &Path, cases: &mut Vec<Case>) -> Result<(), CorpusError> {
    let entries = std::fs::read_dir(directory).map_err(|cause| error(directory, cause))?;
    for entry in entries {
        let entry = entry.map_err(|cause| error(directory, cause))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(|cause| error(&path, cause))?;
        if kind.is_dir() {
            read_cases(root, &path, cases)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            cases.push(read_case(root, &path)?);
        }
    }
    Ok(())
}

fn read_case(root: &Path, path: &Path) -> Result<Case, CorpusError> {
    let text = std::fs::read_to_string(path).map_err(|cause| error(path, cause))?;
    let case: Case = serde_json::from_str(&text).map_err(|cause| error(path, cause))?;
    let place = path.strip_prefix(root).unwrap_or(path).with_extension("");
    if place != Path::new(&case.id) {
        return Err(error(
            path,
            format!("`id` is `{}`, but the file's place calls for `{}`", case.id, place.display()),
        ));
    }
    case.check().map_err(|cause| error(path, cause))?;
    Ok(case)
}

fn read_manifest(path: &Path, cases: &[Case]) -> Result<Option<Manifest>, CorpusError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(error(path, cause)),
    };
    let manifest: Manifest = serde_json::from_str(&text).map_err(|cause| error(path, cause))?;
    let listed: BTreeSet<&str> = manifest.cases.iter().map(|entry| entry.id.as_str()).collect();
    let found: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    if let Some(lost) = listed.difference(&found).next() {
        return Err(error(
            path,
            format!("case `{lost}` is listed but has no file; restore it or generate the corpus again"),
        ));
    }
    if let Some(extra) = found.difference(&listed).next() {
        return Err(error(
            path,
            format!("case `{extra}` has a file but is not listed; generate the corpus again"),
        ));
    }
    Ok(Some(manifest))
}

/// A glob on case ids. `*` crosses slashes, so that `race/*` is every case below `race`.
#[derive(Clone, Debug)]
pub struct Filter {
    glob: String,
    matcher: GlobMatcher,
}

impl Filter {
    /// Reads a glob.
    ///
    /// # Errors
    /// Its syntax is wrong.
    pub fn new(glob: &str) -> Result<Filter, String> {
        let matcher = Glob::new(glob).map_err(|cause| cause.to_string())?.compile_matcher();
        Ok(Filter { glob: glob.to_owned(), matcher })
    }

    /// Whether the case is selected.
    pub fn matches(&self, case: &str) -> bool {
        self.matcher.is_match(case)
    }

    /// The glob as given.
    pub fn as_str(&self) -> &str {
        &self.glob
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_crosses_slashes() {
        let filter = Filter::new("race/*").expect("a glob");
        assert!(filter.matches("race/first-k-of-n/four-tiles-wait-two"));
        assert!(!filter.matches("deadlock/self-wait/one"));
        assert!(Filter::new("race/[").is_err());
    }
}
