//! Findings as a corpus: a folder of cases that the runner plays like any other.

use std::path::Path;

use megakernel_conformance::case::Case;
use megakernel_conformance::store::{Corpus, Manifest};
use megakernel_corpus::builder::Program;
use megakernel_corpus::generate::seal;
use megakernel_ir::prng::fnv1a64;
use megakernel_ir::protocol::Profile;
use megakernel_numerics::TensorFile;
use serde_json::Value;

use crate::difference::Difference;
use crate::player::write;
use crate::sample::{Bound, Declared, Sample, Tensors, bound};

/// A disagreement, shrunk.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The id of its case.
    pub id: String,
    /// The sample, with what the reference says of it.
    pub declared: Declared,
    /// How the implementation differs.
    pub difference: Difference,
}

impl Finding {
    /// A finding under the id that follows from what it is about.
    pub fn new(declared: Declared, difference: Difference) -> Finding {
        let about = match declared.broken().first() {
            Some(rule) => rule.id().to_lowercase(),
            None if declared.sample.launches.is_empty() => "accepted".to_owned(),
            None => declared.clauses(&[]).first().map_or_else(String::new, |clause| clause.to_lowercase()),
        };
        let mut bytes = declared.sample.document.clone();
        for tensor in declared.sample.launches.iter().flat_map(Tensors::values) {
            bytes.extend(&tensor.bytes);
        }
        let id = format!("fuzz/{}/{about}-{:016x}", declared.sample.profile, fnv1a64(&bytes));
        Finding { id, declared, difference }
    }

    /// Number of tasks of its document, if that has some.
    pub fn tasks(&self) -> usize {
        self.declared.sample.value().map_or(0, |value| value["tasks"].as_array().map_or(0, Vec::len))
    }
}

/// A folder of findings.
pub struct Findings<'a> {
    folder: &'a Path,
}

impl<'a> Findings<'a> {
    /// The folder, which need not be there yet.
    pub fn at(folder: &'a Path) -> Findings<'a> {
        Findings { folder }
    }

    /// The samples of earlier findings, by id.
    ///
    /// # Errors
    /// The folder is no corpus, or a case in it is not about one document.
    pub fn read(&self) -> Result<Vec<(String, Sample)>, String> {
        let path = self.folder.join("manifest.json");
        if let Ok(bytes) = std::fs::read(&path) {
            let manifest = serde_json::from_slice::<Manifest>(&bytes).map_err(|cause| {
                format!("{}: it lists no cases, so this is no folder of findings: {cause}", path.display())
            })?;
            if let Some(other) = manifest.cases.iter().find(|case| !case.id.starts_with("fuzz/")) {
                let (path, id) = (path.display(), &other.id);
                return Err(format!("{path}: it lists `{id}`, so this is no folder of findings"));
            }
        }
        if !self.folder.join("cases").is_dir() {
            return Ok(Vec::new());
        }
        // Cases may have gone, or come, by hand.
        self.seal()?;
        let corpus = Corpus::load(self.folder).map_err(|cause| cause.to_string())?;
        corpus.cases().iter().map(|case| Ok((case.id.clone(), sample(&corpus, case)?))).collect()
    }

    /// Adds findings, and lists all that is there in the manifest.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn add(&self, findings: &[Finding], warnings: bool) -> Result<(), String> {
        for finding in findings {
            let Finding { id, declared, difference } = finding;
            let mut declared = declared.clone();
            // A file that people read, where nothing is lost by that: a member may stand twice.
            let document = &declared.sample.document;
            if let Some(value) =
                declared.sample.value().filter(|value| value.to_string().as_bytes() == *document)
            {
                declared.sample.document = Program::new(value).to_text().into_bytes();
            }
            let summary = format!(
                "found by differential fuzzing; then: {}; required: {}",
                difference.actual, difference.expected
            );
            let (case, files) =
                declared.case(id, &summary, Some(&format!("programs/{id}.json")), warnings)?;
            let mut text = serde_json::to_string_pretty(&case).map_err(|cause| cause.to_string())?;
            text.push('\n');
            let files = files.into_iter().chain([(format!("cases/{id}.json"), text.into_bytes())]);
            files.into_iter().try_for_each(|(path, bytes)| write(self.folder, &path, &bytes))?;
        }
        self.seal()
    }

    fn seal(&self) -> Result<(), String> {
        seal(self.folder).map_err(|cause| format!("{}: {cause}", self.folder.display()))
    }
}

fn sample(corpus: &Corpus, case: &Case) -> Result<Sample, String> {
    let failed = |cause: String| format!("case `{}`: {cause}", case.id);
    let [profile] = case.profiles.as_slice() else {
        return Err(failed("it has several profiles".to_owned()));
    };
    let document = corpus.document(case).map_err(|cause| cause.to_string())?;
    let mut launches = Vec::new();
    if *profile == Profile::EXECUTE {
        let value: Value = serde_json::from_slice(&document).map_err(|cause| failed(cause.to_string()))?;
        for launch in case.execute.iter().flat_map(|execution| &execution.launches) {
            let mut tensors = Tensors::new();
            for path in &launch.tensors {
                let bytes = corpus.inputs(path).map_err(|cause| cause.to_string())?;
                let file = TensorFile::read(&bytes).map_err(|cause| failed(cause.to_string()))?;
                for Bound { name, dtype, shape } in bound(&value, launches.is_empty()) {
                    if file.tensors.contains_key(&name) {
                        let tensor =
                            file.buffer(&name, dtype, &shape).map_err(|cause| failed(cause.to_string()))?;
                        tensors.insert(name, tensor.into_owned());
                    }
                }
            }
            launches.push(tensors);
        }
    }
    Ok(Sample { profile: *profile, document, launches })
}
