//! The corpus on disk: `manifest.json`, `cases/`, `programs/`, `tensors/`.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use globset::{Glob, GlobSet};
use megakernel_ir::{formula, input};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use walkdir::WalkDir;

use crate::case::{Case, Document, LaunchCase};

/// `corpus/manifest.json`: what the corpus consists of. A case file that is lost or added shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the generator that wrote the corpus.
    pub generator: String,
    /// The corpus seed.
    pub seed: u64,
    /// Every case, in order of id.
    pub cases: Vec<ManifestEntry>,
    /// Every program, in order of path.
    pub programs: Vec<ManifestEntry>,
    /// Every tensor file, in order of path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tensors: Vec<ManifestEntry>,
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
    /// Of the manifest, and so of all files.
    digest: Option<String>,
    /// Digests of the programs and tensor files that the manifest lists, by path.
    digests: Option<HashMap<String, String>>,
    bases: Mutex<HashMap<String, Arc<Base>>>,
    held: Mutex<HashMap<String, Arc<[u8]>>>,
}

/// A program's file, parsed when the first case edits it.
struct Base {
    bytes: Arc<[u8]>,
    value: OnceLock<Result<Value, String>>,
}

impl Corpus {
    /// Reads `manifest.json` and every case below `root`. A directory without manifest is a corpus too.
    ///
    /// # Errors
    /// A file cannot be read, a case contradicts itself or its path, or the manifest lists other cases than are there, or
    /// other bytes of them.
    pub fn load(root: &Path) -> Result<Corpus, CorpusError> {
        let cases_dir = root.join("cases");
        let manifest_path = root.join("manifest.json");
        let (manifest, digest) = read_manifest(&manifest_path)?.unzip();
        let listed = manifest.as_ref().map(|manifest| by_id(&manifest.cases));
        let mut cases = Vec::new();
        let mut reading = Reading { root: &cases_dir, listed: listed.as_ref(), cases: &mut cases };
        reading.directory(&cases_dir)?;
        cases.sort_by(|a: &Case, b: &Case| a.id.cmp(&b.id));
        if let Some(manifest) = &manifest {
            check_manifest(&manifest_path, manifest, &cases)?;
        }
        let digests = manifest.as_ref().map(|manifest| {
            let mut digests = by_id(&manifest.programs);
            digests.extend(by_id(&manifest.tensors));
            let path = |entry: &ManifestEntry| (format!("cases/{}.json", entry.id), entry.blake3.clone());
            digests.extend(manifest.cases.iter().map(path));
            digests
        });
        Ok(Corpus {
            root: root.to_owned(),
            cases,
            manifest,
            digest,
            digests,
            bases: Mutex::default(),
            held: Mutex::default(),
        })
    }

    /// The case with an id.
    pub fn case(&self, id: &str) -> Option<&Case> {
        let index = self.cases.binary_search_by(|case| case.id.as_str().cmp(id)).ok()?;
        self.cases.get(index)
    }

    /// Reads all files of these cases into memory, where nobody can change them any more.
    ///
    /// # Errors
    /// A file cannot be read, or is not the one that the manifest lists.
    pub fn hold<'a>(&self, cases: impl Iterator<Item = &'a Case>) -> Result<(), CorpusError> {
        for case in cases {
            if let Document::Base { base, .. } = &case.document {
                self.base(base)?;
            }
            for launch in case.execute.iter().flat_map(|execution| &execution.launches) {
                for path in launch.tensors.iter().chain([&launch.expected]) {
                    let bytes = self.file(path)?;
                    self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), bytes);
                }
            }
        }
        Ok(())
    }

    /// Where it lies.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// All cases, in order of id.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The manifest, if the corpus has one.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// BLAKE3 of the manifest in hexadecimal, and so a digest of all files, if the corpus has a manifest.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
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
                    return Ok(file.bytes.to_vec());
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
    /// It cannot be read, or is not the one that the manifest lists.
    pub fn file(&self, path: &str) -> Result<Arc<[u8]>, CorpusError> {
        if let Some(bytes) = self.held.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(Arc::clone(bytes));
        }
        let full = self.root.join(path);
        let bytes = input::read(&full).map_err(|cause| error(&full, cause))?;
        verify(&full, path, &bytes, self.digests.as_ref())?;
        Ok(bytes.into())
    }

    /// The bytes of a tensor file of inputs. A file of formulas stands for one (clause NUM-13).
    ///
    /// # Errors
    /// As [`Corpus::file`], and if a formula breaks the clause.
    pub fn inputs(&self, path: &str) -> Result<Arc<[u8]>, CorpusError> {
        let bytes = self.file(path)?;
        if !formula::is_formula(path) {
            return Ok(bytes);
        }
        formula::expand(&bytes).map(Into::into).map_err(|cause| self.error(path, cause))
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
        let file = Arc::new(Base { bytes: self.file(base)?, value: OnceLock::new() });
        bases.insert(base.to_owned(), Arc::clone(&file));
        Ok(file)
    }
}

/// Digests by id.
fn by_id(entries: &[ManifestEntry]) -> HashMap<String, String> {
    entries.iter().map(|entry| (entry.id.clone(), entry.blake3.clone())).collect()
}

/// Compares what was read with what the manifest lists, where there is one.
fn verify(
    path: &Path,
    id: &str,
    bytes: &[u8],
    listed: Option<&HashMap<String, String>>,
) -> Result<(), CorpusError> {
    let Some(listed) = listed else { return Ok(()) };
    match listed.get(id) {
        Some(digest) if *digest == *blake3::hash(bytes).to_hex() => Ok(()),
        Some(_) => Err(error(
            path,
            "it is not the file that manifest.json lists: its digest differs; restore it or generate the corpus again",
        )),
        None => Err(error(path, format!("`{id}` is not listed in manifest.json; generate the corpus again"))),
    }
}

/// What is needed to read cases.
struct Reading<'a> {
    root: &'a Path,
    listed: Option<&'a HashMap<String, String>>,
    cases: &'a mut Vec<Case>,
}

impl Reading<'_> {
    fn directory(&mut self, directory: &Path) -> Result<(), CorpusError> {
        for entry in WalkDir::new(directory).sort_by_file_name() {
            let entry = entry.map_err(|cause| {
                let path = cause.path().unwrap_or(directory).to_owned();
                match cause.into_io_error() {
                    Some(cause) => error(&path, cause),
                    None => error(&path, "it is a link to a folder above it"),
                }
            })?;
            let path = entry.path();
            if !entry.file_type().is_dir() && path.extension().is_some_and(|extension| extension == "json") {
                let case = self.case(path)?;
                self.cases.push(case);
            }
        }
        Ok(())
    }

    fn case(&self, path: &Path) -> Result<Case, CorpusError> {
        let bytes = input::read(path).map_err(|cause| error(path, cause))?;
        let case: Case = serde_json::from_slice(&bytes).map_err(|cause| error(path, cause))?;
        let place = path.strip_prefix(self.root).unwrap_or(path).with_extension("");
        if place != Path::new(&case.id) {
            return Err(error(
                path,
                format!("`id` is `{}`, but the file's place calls for `{}`", case.id, place.display()),
            ));
        }
        // A case that is not listed is named with all the others that are not.
        let listed = self.listed.filter(|listed| listed.contains_key(&case.id));
        verify(path, &case.id, &bytes, listed)?;
        case.check().map_err(|cause| error(path, cause))?;
        Ok(case)
    }
}

/// The manifest and its digest, if there is one.
fn read_manifest(path: &Path) -> Result<Option<(Manifest, String)>, CorpusError> {
    let bytes = match input::read(path) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(error(path, cause)),
    };
    let manifest = serde_json::from_slice(&bytes).map_err(|cause| error(path, cause))?;
    Ok(Some((manifest, blake3::hash(&bytes).to_hex().to_string())))
}

fn check_manifest(path: &Path, manifest: &Manifest, cases: &[Case]) -> Result<(), CorpusError> {
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
    Ok(())
}

/// A glob on case ids. `*` crosses slashes, so that `race/*` is every case below `race`.
#[derive(Clone, Debug)]
pub struct Filter {
    glob: String,
    matcher: GlobSet,
}

impl Filter {
    /// Reads a glob.
    ///
    /// # Errors
    /// Its syntax is wrong.
    pub fn new(glob: &str) -> Result<Filter, String> {
        // The parser goes as deep as they are nested.
        if glob.matches('{').count() > 64 {
            return Err("a glob has at most 64 `{`".to_owned());
        }
        let text = |cause: globset::Error| cause.to_string();
        // Unlike a matcher of one glob, a set says that it cannot be compiled, and does not panic.
        let matcher = GlobSet::builder().add(Glob::new(glob).map_err(text)?).build().map_err(text)?;
        Ok(Filter { glob: glob.to_owned(), matcher })
    }

    /// Whether the case is selected.
    pub fn matches(&self, case: &str) -> bool {
        self.matcher.is_match(case)
    }

    /// Whether a case whose id begins like this may be selected. Where only a look at all of the id tells, it may.
    pub fn may_match_below(&self, start: &str) -> bool {
        let special = self.glob.find(['*', '?', '[', '{', '\\']);
        let plain = &self.glob[..special.unwrap_or(self.glob.len())];
        plain.starts_with(start) || start.starts_with(plain)
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

    #[test]
    fn what_may_be_selected_is_told_by_how_an_id_begins() {
        let may = |glob: &str, start: &str| Filter::new(glob).expect("a glob").may_match_below(start);
        assert!(may("race/*", "race/drop-wait/") && may("race/drop-wait/*", "race/"));
        assert!(!may("race/drop-wait/*", "race/rows/") && !may("race/*", "pages/"));
        // These say nothing of how an id begins, or leave it open.
        for glob in ["*", "*/rows/*", "ra*", "r?ce/rows/x", "[rp]ace/*", "{race,pages}/*", "ra\\ce/*"] {
            assert!(may(glob, "race/rows/"), "{glob}");
        }
    }

    #[test]
    fn a_glob_that_is_too_much_is_an_error() {
        assert!(Filter::new(&("{".repeat(300) + "a" + &"}".repeat(300))).is_err());
        assert!(Filter::new(&"?".repeat(2_000_000)).is_err());
    }
}
