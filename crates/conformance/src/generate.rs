//! Generating the corpus: every family's cases and programs as files, and a manifest of them.
//!
//! The files depend on the specification's examples and the corpus seed alone: not on the number of jobs, and not on
//! anything an implementation answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::builder::{Error, Result};
use crate::case::{Case, Document, Verdict};
use crate::families::{self, Family, GENERATOR, Library, Sink};
use crate::store::{Counts, Manifest, ManifestEntry};

/// What the corpus is generated from.
#[derive(Clone, Debug)]
pub struct Options {
    /// Root of the repository, whose `spec/rules` holds the examples of the rules.
    pub root: PathBuf,
    /// Corpus seed.
    pub seed: u64,
    /// Families generated at a time.
    pub jobs: usize,
}

/// A generated corpus, in memory.
pub struct Generated {
    /// Cases, in order of id.
    pub cases: Vec<Case>,
    /// Accepted programs.
    pub library: Library,
    /// Text of every file, by path below `corpus/`.
    pub files: BTreeMap<String, String>,
    /// What the manifest counts.
    pub counts: Counts,
}

/// How a directory differs from the generated corpus. Paths are relative to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Files that should be there.
    pub missing: Vec<String>,
    /// Files that should not be there.
    pub extra: Vec<String>,
    /// Files with other contents.
    pub different: Vec<String>,
}

impl Differences {
    /// Whether the directory holds exactly the generated corpus.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.extra.is_empty() && self.different.is_empty()
    }
}

/// Generates the corpus in memory.
///
/// # Errors
/// A family asks for something that its base does not have, two cases share an id, or the specification's examples
/// cannot be read.
pub fn generate(options: &Options) -> Result<Generated> {
    let library = families::accept::library(options.seed)?;
    let mut cases = run_families(&families::all(), &library, options)?;
    cases.extend(families::spec_examples(&options.root, options.seed)?);
    cases.sort_by(|a, b| a.id.cmp(&b.id));
    if let Some(pair) = cases.windows(2).find(|pair| pair[0].id == pair[1].id) {
        return Err(Error(format!("two cases have the id `{}`", pair[0].id)));
    }
    let mut files = BTreeMap::new();
    let mut manifest = Manifest {
        generator: GENERATOR.to_owned(),
        seed: options.seed,
        counts: count(&cases),
        cases: Vec::new(),
        programs: Vec::new(),
        tensors: Vec::new(),
    };
    for case in &cases {
        let mut text = serde_json::to_string_pretty(case).map_err(|error| Error(error.to_string()))?;
        text.push('\n');
        manifest.cases.push(entry(&case.id, &text));
        files.insert(format!("cases/{}.json", case.id), text);
    }
    for base in library.iter() {
        let text = base.program.to_text();
        manifest.programs.push(entry(&base.path(), &text));
        files.insert(base.path(), text);
    }
    manifest.programs.sort_by(|a, b| a.id.cmp(&b.id));
    files.insert("manifest.json".to_owned(), manifest_text(&manifest)?);
    Ok(Generated { cases, library, files, counts: manifest.counts })
}

fn entry(id: &str, text: &str) -> ManifestEntry {
    ManifestEntry { id: id.to_owned(), blake3: blake3::hash(text.as_bytes()).to_hex().to_string() }
}

/// One entry a line, so that a diff of the manifest reads as a list of changed cases.
fn manifest_text(manifest: &Manifest) -> Result<String> {
    let failed = |error: serde_json::Error| Error(error.to_string());
    let Manifest { generator, seed, counts, cases, programs, tensors } = manifest;
    let counts = serde_json::to_string_pretty(counts).map_err(failed)?.replace('\n', "\n  ");
    let list = |entries: &[ManifestEntry]| -> Result<String> {
        let lines: std::result::Result<Vec<String>, _> = entries.iter().map(serde_json::to_string).collect();
        Ok(format!("[\n    {}\n  ]", lines.map_err(failed)?.join(",\n    ")))
    };
    let tensors = match tensors.as_slice() {
        [] => String::new(),
        tensors => format!(",\n  \"tensors\": {}", list(tensors)?),
    };
    Ok(format!(
        "{{\n  \"generator\": \"{generator}\",\n  \"seed\": {seed},\n  \"counts\": {counts},\n  \"cases\": {},\n  \
         \"programs\": {}{tensors}\n}}\n",
        list(cases)?,
        list(programs)?
    ))
}

/// Runs the families on `jobs` threads. The result does not depend on which thread runs what.
fn run_families(families: &[Family], library: &Library, options: &Options) -> Result<Vec<Case>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Result<Vec<Case>>>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.clamp(1, families.len().max(1)) {
            scope.spawn(|| {
                while let Some(family) = families.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut sink = Sink::new(family.id, options.seed);
                    let cases = (family.cases)(library, &mut sink)
                        .map(|()| sink.into_cases())
                        .map_err(|error| Error(format!("family `{}`: {error}", family.id)));
                    done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(cases);
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let lists: Result<Vec<Vec<Case>>> = done.into_iter().collect();
    Ok(lists?.into_iter().flatten().collect())
}

fn count(cases: &[Case]) -> Counts {
    let mut counts = Counts { cases: cases.len(), ..Counts::default() };
    for case in cases {
        bump(&mut counts.verdicts, case.expect.verdict.name());
        bump(&mut counts.families, &case.provenance.family);
        for profile in &case.profiles {
            bump(&mut counts.profiles, &profile.to_string());
        }
        for clause in &case.clauses {
            bump(&mut counts.clauses, clause);
        }
        if case.expect.verdict == Verdict::Reject {
            for rule in &case.expect.rules {
                bump(&mut counts.rules, rule.id());
            }
        }
        for rule in case.expect.warnings.iter().flatten() {
            bump(&mut counts.rules, rule.id());
        }
    }
    counts
}

fn bump(map: &mut BTreeMap<String, usize>, key: &str) {
    *map.entry(key.to_owned()).or_default() += 1;
}

/// Compares a corpus directory with the generated corpus.
///
/// # Errors
/// The directory cannot be read.
pub fn compare(directory: &Path, generated: &Generated) -> std::io::Result<Differences> {
    let mut differences = Differences::default();
    let found = files_below(directory)?;
    for (path, text) in &generated.files {
        match fs::read(directory.join(path)) {
            Ok(bytes) if bytes == text.as_bytes() => {}
            Ok(_) => differences.different.push(path.clone()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                differences.missing.push(path.clone());
            }
            Err(error) => return Err(error),
        }
    }
    differences.extra = found.into_iter().filter(|path| !generated.files.contains_key(path)).collect();
    Ok(differences)
}

/// Makes a corpus directory hold exactly the generated corpus, touching only the files that differ.
///
/// # Errors
/// A file cannot be read, written or removed.
pub fn write(directory: &Path, generated: &Generated) -> std::io::Result<Differences> {
    fs::create_dir_all(directory)?;
    let differences = compare(directory, generated)?;
    for path in differences.missing.iter().chain(&differences.different) {
        let target = directory.join(path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(target, generated.files.get(path).map_or("", String::as_str))?;
    }
    for path in &differences.extra {
        fs::remove_file(directory.join(path))?;
    }
    Ok(differences)
}

/// The files that belong to the generator: the manifest, and all below `cases/` and `programs/`.
fn files_below(directory: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    if directory.join("manifest.json").exists() {
        found.insert("manifest.json".to_owned());
    }
    for part in ["cases", "programs"] {
        let root = directory.join(part);
        if root.exists() {
            walk(&root, part, &mut found)?;
        }
    }
    Ok(found)
}

fn walk(directory: &Path, prefix: &str, found: &mut BTreeSet<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), &path, found)?;
        } else {
            found.insert(path);
        }
    }
    Ok(())
}

/// The program file that a case starts from, if it has one.
pub fn base_of(case: &Case) -> Option<&str> {
    match &case.document {
        Document::Base { base, .. } => Some(base),
        Document::Text { .. } | Document::Base64 { .. } => None,
    }
}
