//! Generating the corpus: every family's cases, programs and tensors as files, and a manifest of them.
//!
//! The files depend on the specification's examples and the corpus seed alone: not on the number of jobs, and not on
//! anything an implementation answers. Only the values and bounds of cases that are executed come from an oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use megakernel_conformance::case::{Case, Document, Verdict};
use megakernel_conformance::store::{Manifest, ManifestEntry};
use walkdir::WalkDir;

use crate::builder::{Error, Result};
use crate::companion::Companion;
use crate::families::plan::{Draws, Plan};
use crate::families::{self, Family, GENERATOR, Library, Sink};
use crate::oracle::Oracle;

mod fill;

pub use fill::{Certify, Filled, Outputs, ToCertify, Unfilled, expected_file, fill, tensor};

/// What the corpus is generated from.
#[derive(Clone)]
pub struct Options<'a> {
    /// Root of the repository, whose `spec/rules` holds the examples of the rules.
    pub root: PathBuf,
    /// The companions that have cases.
    pub companions: &'a [Companion],
    /// Corpus seed.
    pub seed: u64,
    /// Families, then cases to execute, generated at a time.
    pub jobs: usize,
    /// Computes the references and bounds of the cases that are executed. Without it there are none of those.
    pub oracle: Option<&'a dyn Oracle>,
    /// Finds the faults that each of them rejects. Without it they carry no certificate.
    pub certify: Option<&'a Certify<'a>>,
    /// Which cases are asked for. The oracle is asked for no others.
    pub wanted: &'a Wanted<'a>,
    /// Whether any is whose id begins with these segments: of a family, such as `race/rows/`. No others are made.
    pub begun: &'a Wanted<'a>,
}

/// Whether a case is asked for, by its id.
pub type Wanted<'a> = dyn Fn(&str) -> bool + Sync + 'a;

/// Asks for the whole corpus.
pub const WHOLE: &Wanted<'static> = &|_| true;

/// A generated corpus, in memory.
pub struct Generated {
    /// Cases, in order of id.
    pub cases: Vec<Case>,
    /// Accepted programs.
    pub library: Library,
    /// Bytes of every file, by path below `corpus/`.
    pub files: BTreeMap<String, Vec<u8>>,
    /// How many cases there are, and of what.
    pub counts: Counts,
}

/// How many cases a corpus has, counted in several ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
pub fn generate(options: &Options<'_>) -> Result<Generated> {
    let library = families::accept::library(options.seed)?;
    let mut asked = families::all(options.companions);
    asked.retain(|family| (options.begun)(&format!("{}/", family.id)));
    let mut cases = run_families(&asked, &library, options)?;
    if (options.begun)("spec/") {
        cases.extend(families::spec_examples(&options.root, options.companions, options.seed)?);
    }
    let executed = execute(options)?;
    cases.extend(executed.cases);
    cases.retain(|case| (options.wanted)(&case.id));
    cases.sort_by(|a, b| a.id.cmp(&b.id));
    if let Some(pair) = cases.windows(2).find(|pair| pair[0].id == pair[1].id) {
        return Err(Error(format!("two cases have the id `{}`", pair[0].id)));
    }
    let mut files = BTreeMap::new();
    for case in &cases {
        let mut text = serde_json::to_string_pretty(case).map_err(|error| Error(error.to_string()))?;
        text.push('\n');
        files.insert(format!("cases/{}.json", case.id), text.into_bytes());
    }
    files.extend(executed.programs);
    files.extend(library.iter().map(|base| (base.path(), base.program.to_text().into_bytes())));
    for companion in options.companions {
        files.extend((companion.files)()?);
    }
    files.extend(executed.tensors);
    files.insert(MANIFEST.to_owned(), manifest(options.seed, &files)?.into_bytes());
    let counts = count(&cases);
    Ok(Generated { cases, library, files, counts })
}

/// The file that lists all others.
const MANIFEST: &str = "manifest.json";

/// The text of the manifest of these files, by path.
fn manifest(seed: u64, files: &BTreeMap<String, Vec<u8>>) -> Result<String> {
    let entry = |id: &str, bytes: &[u8]| ManifestEntry {
        id: id.to_owned(),
        blake3: blake3::hash(bytes).to_hex().to_string(),
    };
    let below = |folder: &'static str| files.iter().filter(move |(path, _)| path.starts_with(folder));
    let mut cases: Vec<ManifestEntry> =
        below(CASES).filter_map(|(path, bytes)| case_id(path).map(|id| entry(id, bytes))).collect();
    cases.sort_by(|a, b| a.id.cmp(&b.id));
    manifest_text(&Manifest {
        generator: GENERATOR.to_owned(),
        seed,
        cases,
        programs: below("programs/").map(|(path, bytes)| entry(path, bytes)).collect(),
        tensors: below("tensors/").map(|(path, bytes)| entry(path, bytes)).collect(),
    })
}

/// The folder of the cases.
const CASES: &str = "cases/";

/// The id of the case in a file, by its path in the corpus.
fn case_id(path: &str) -> Option<&str> {
    path.strip_prefix(CASES)?.strip_suffix(".json")
}

/// What was generated of a part of the corpus, with all else that the directory holds: the cases that were not asked for, and programs
/// and tensor files. Of these, those that no case needs any longer stay until the whole corpus is generated.
///
/// # Errors
/// The directory cannot be read.
pub fn within(directory: &Path, mut generated: Generated, options: &Options<'_>) -> Result<Generated> {
    let unread = |error: std::io::Error| Error(format!("{}: {error}", directory.display()));
    for path in files_below(directory).map_err(unread)? {
        let replaced = case_id(&path).is_some_and(options.wanted) || generated.files.contains_key(&path);
        if !replaced {
            let bytes = fs::read(directory.join(&path)).map_err(unread)?;
            generated.files.insert(path, bytes);
        }
    }
    let manifest = manifest(options.seed, &generated.files)?.into_bytes();
    generated.files.insert(MANIFEST.to_owned(), manifest);
    Ok(generated)
}

/// The cases that are executed, with their files by path.
#[derive(Default)]
struct Executed {
    cases: Vec<Case>,
    programs: BTreeMap<String, Vec<u8>>,
    tensors: BTreeMap<String, Vec<u8>>,
}

/// How often random weights are drawn until the oracle is certain of all that follows from them.
const MOST_DRAWS: u64 = 64;

fn execute(options: &Options<'_>) -> Result<Executed> {
    let Some(oracle) = options.oracle else { return Ok(Executed::default()) };
    let mut executed = Executed::default();
    let mut plans = Vec::new();
    let mut open = families::plans(options.seed, options.begun)?;
    open.retain(|plan| (options.wanted)(&plan.id));
    let mut draws = Draws::new();
    while !open.is_empty() {
        let fill = |plan: &Plan| match fill(plan, options.seed, oracle, options.certify) {
            Ok(filled) => Ok((plan.weights, Ok(filled))),
            Err(Unfilled::Refused(error)) if plan.weights.is_some() => Ok((plan.weights, Err(error))),
            Err(unfilled) => Err(Error::from(unfilled)),
        };
        let results = in_parallel(&open, options.jobs, fill)?;
        let mut refused: BTreeSet<&'static str> = BTreeSet::new();
        for (set, result) in &results {
            let (Some(set), Err(error)) = (set, result) else { continue };
            if refused.insert(set) {
                let draw = draws.entry(set).or_default();
                *draw += 1;
                if *draw == MOST_DRAWS {
                    return Err(Error(format!(
                        "{error}\nnone of {MOST_DRAWS} draws of the weights `{set}` will do"
                    )));
                }
            }
        }
        // A set of weights is drawn for all its plans.
        let is_refused = |set: Option<&str>| set.is_some_and(|set| refused.contains(set));
        let filled = results.into_iter().filter(|(set, _)| !is_refused(*set));
        for filled in filled.filter_map(|(_, result)| result.ok()) {
            executed.cases.push(filled.case);
            executed.tensors.extend(filled.files);
        }
        plans.extend(open.into_iter().filter(|plan| !is_refused(plan.weights)));
        open = match refused.is_empty() {
            true => Vec::new(),
            false => families::redrawn(options.seed, &draws)?,
        };
        open.retain(|plan| is_refused(plan.weights) && (options.wanted)(&plan.id));
    }
    for plan in &plans {
        executed.programs.entry(plan.path.clone()).or_insert_with(|| plan.program.to_text().into_bytes());
        for (path, inputs) in plan.launches.iter().flat_map(|launch| &launch.files) {
            if !executed.tensors.contains_key(path) {
                executed.tensors.insert(path.clone(), fill::inputs_file(path, inputs)?);
            }
        }
    }
    Ok(executed)
}

/// Applies `work` to every item on `jobs` threads. The result is in no order.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Result<R>>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = work(item);
                    done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(result);
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut errors: Vec<&str> = done.iter().filter_map(|r| r.as_ref().err()).map(|e| e.0.as_str()).collect();
    if !errors.is_empty() {
        errors.sort_unstable();
        return Err(Error(errors.join("\n")));
    }
    done.into_iter().collect()
}

/// One entry a line, so that a diff of the manifest reads as a list of changed cases.
fn manifest_text(manifest: &Manifest) -> Result<String> {
    let failed = |error: serde_json::Error| Error(error.to_string());
    let Manifest { generator, seed, cases, programs, tensors } = manifest;
    let list = |entries: &[ManifestEntry]| -> Result<String> {
        let lines: std::result::Result<Vec<String>, _> = entries.iter().map(serde_json::to_string).collect();
        Ok(format!("[\n    {}\n  ]", lines.map_err(failed)?.join(",\n    ")))
    };
    let tensors = match tensors.as_slice() {
        [] => String::new(),
        tensors => format!(",\n  \"tensors\": {}", list(tensors)?),
    };
    Ok(format!(
        "{{\n  \"generator\": \"{generator}\",\n  \"seed\": {seed},\n  \"cases\": {},\n  \
         \"programs\": {}{tensors}\n}}\n",
        list(cases)?,
        list(programs)?
    ))
}

/// Runs the families on several threads. The result does not depend on which thread runs what.
fn run_families(families: &[Family], library: &Library, options: &Options<'_>) -> Result<Vec<Case>> {
    let lists = in_parallel(families, options.jobs, |family| {
        let mut sink = Sink::new(family.id, options.seed);
        let failed = |error: Error| Error(format!("family `{}`: {error}", family.id));
        (family.cases)(library, &mut sink).map_err(failed)?;
        let cases = sink.into_cases();
        // Otherwise a part of the corpus would lack what the whole has.
        match cases.iter().find(|case| !case.id.starts_with(&format!("{}/", family.id))) {
            Some(case) => Err(failed(Error(format!("it has the case `{}`", case.id)))),
            None => Ok(cases),
        }
    })?;
    Ok(lists.into_iter().flatten().collect())
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
    for (path, wanted) in &generated.files {
        match fs::read(directory.join(path)) {
            Ok(bytes) if bytes == *wanted => {}
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
        fs::write(target, generated.files.get(path).map_or(&[][..], Vec::as_slice))?;
    }
    for path in &differences.extra {
        fs::remove_file(directory.join(path))?;
    }
    Ok(differences)
}

/// Writes the manifest of a directory that is a corpus from the files that are there.
///
/// # Errors
/// A file cannot be read or written.
pub fn seal(directory: &Path) -> std::io::Result<()> {
    let mut files = BTreeMap::new();
    for path in files_below(directory)? {
        let bytes = fs::read(directory.join(&path))?;
        files.insert(path, bytes);
    }
    let text = manifest(0, &files).map_err(|error| std::io::Error::other(error.to_string()))?;
    fs::write(directory.join(MANIFEST), text)
}

/// The files that belong to the generator: the manifest, and all below `cases/`, `programs/` and `tensors/`.
fn files_below(directory: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    if directory.join(MANIFEST).exists() {
        found.insert(MANIFEST.to_owned());
    }
    for part in ["cases", "programs", "tensors"] {
        let root = directory.join(part);
        if root.exists() {
            for entry in WalkDir::new(&root) {
                let entry = entry?;
                if !entry.file_type().is_dir() {
                    let below = entry.path().strip_prefix(directory).unwrap_or(entry.path());
                    found.insert(below.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"));
                }
            }
        }
    }
    Ok(found)
}

/// The program file that a case starts from, if it has one.
pub fn base_of(case: &Case) -> Option<&str> {
    match &case.document {
        Document::Base { base, .. } => Some(base),
        Document::Text { .. } | Document::Base64 { .. } => None,
    }
}
