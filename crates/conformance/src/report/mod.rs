//! What a run found, ready to print: the same content as a table for people and as JSON for programs.
//!
//! A report depends on the corpus, the selection and the worker's answers alone: it holds no times, no paths of this
//! machine, and its order is that of the cases, so that two runs can be compared byte by byte.

use std::collections::BTreeMap;

use megakernel_ir::protocol::Profile;
use serde::Serialize;

use crate::run::{Options, Outcome, Run};
use crate::stop::Asked;
use crate::store::Corpus;

mod causes;
mod executed;
mod implementation;
mod results;
mod share;

pub use causes::{CauseResult, Example};
pub use executed::ExecutedResult;
pub use implementation::Implementation;
pub use share::{Part, Share};

/// Version of the report's JSON form.
pub const FORMAT: &str = "1.1";

/// A report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`FORMAT`].
    pub report: &'static str,
    /// The verdict on the run.
    pub verdict: RunVerdict,
    /// Whether it is [`RunVerdict::Conforms`], and not in part.
    pub conforms: bool,
    /// What ended the run before all was played; the report is about the part before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// Who was judged; absent where the handshake failed.
    pub implementation: Option<Implementation>,
    /// Why the handshake failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake: Option<String>,
    /// By what it was judged.
    pub corpus: CorpusInfo,
    /// Over all profiles.
    pub totals: Counts,
    /// By profile, in the fixed order of profiles.
    pub profiles: Vec<ProfileResult>,
    /// By rule and clause, in the order of the specification.
    pub clauses: Vec<ClauseResult>,
    /// By opcode and dtype; empty if nothing was executed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub executed: Vec<ExecutedResult>,
    /// By reason.
    pub skips: Vec<Skips>,
    /// The failures by cause, what to look at first on top; empty if nothing failed, or nothing was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseResult>,
    /// In order of case and profile.
    pub failures: Vec<FailureReport>,
    /// What else was wrong with the worker.
    pub notes: Vec<String>,
    /// The end of the worker's standard error, by index of `failures`; for people only, as it may differ from run to
    /// run.
    #[serde(skip)]
    pub stderr: BTreeMap<usize, String>,
    /// The same for a failed handshake.
    #[serde(skip)]
    pub handshake_stderr: String,
    /// The signal that interrupted the run.
    #[serde(skip)]
    pub stopped: Option<Asked>,
}

/// The corpus and what was selected of it.
#[derive(Clone, Debug, Serialize)]
pub struct CorpusInfo {
    /// Number of cases.
    pub cases: usize,
    /// Version of the generator, where the corpus has a manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// The corpus seed, where the corpus has a manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The profiles asked for; empty: all claimed.
    pub profiles: Vec<Profile>,
    /// The filter on case ids.
    pub filter: Option<String>,
}

/// Units counted by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// As declared.
    pub passed: usize,
    /// Otherwise.
    pub failed: usize,
    /// Not judged.
    pub skipped: usize,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Skipped(_) => self.skipped += 1,
            Outcome::WrongAnswer(_) | Outcome::WorkerFailed { .. } | Outcome::NotAsked(_) => self.failed += 1,
        }
    }
}

/// A profile's line.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileResult {
    /// The profile.
    pub profile: Profile,
    /// The verdict on the implementation.
    pub verdict: ProfileVerdict,
    /// Why, unless the counts say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// How much of it was shown, where it conforms in part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Its units.
    #[serde(flatten)]
    pub counts: Counts,
}

/// The verdict on an implementation under a profile (clause CON-08).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ProfileVerdict {
    /// Every case of it that the corpus has was played and passed.
    #[serde(rename = "conforms")]
    Conforms,
    /// Cases passed and none failed, but some were skipped or not selected.
    #[serde(rename = "conforms in part")]
    ConformsInPart,
    /// Anything else that was judged.
    #[serde(rename = "does not conform")]
    DoesNotConform,
    /// The implementation does not claim it.
    #[serde(rename = "not claimed")]
    NotClaimed,
    /// The run was interrupted before any case of it passed or failed.
    #[serde(rename = "not judged")]
    NotJudged,
    /// The filter selects no case of it.
    #[serde(rename = "not selected")]
    NotSelected,
}

impl ProfileVerdict {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            ProfileVerdict::Conforms => "conforms",
            ProfileVerdict::ConformsInPart => "conforms in part",
            ProfileVerdict::DoesNotConform => "does not conform",
            ProfileVerdict::NotClaimed => "not claimed",
            ProfileVerdict::NotJudged => "not judged",
            ProfileVerdict::NotSelected => "not selected",
        }
    }
}

/// The verdict on a run (clause CON-08).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum RunVerdict {
    /// Every profile that was judged conforms, and at least one was.
    #[serde(rename = "conforms")]
    Conforms,
    /// None that was judged does not conform, and at least one conforms in part only.
    #[serde(rename = "conforms in part")]
    ConformsInPart,
    /// Anything else.
    #[serde(rename = "does not conform")]
    DoesNotConform,
    /// The run was interrupted before any case passed or failed.
    #[serde(rename = "not judged")]
    NotJudged,
}

impl RunVerdict {
    /// The exit code of a run that was not interrupted.
    pub const fn exit_code(self) -> u8 {
        match self {
            RunVerdict::Conforms => 0,
            RunVerdict::DoesNotConform => 1,
            // A run that could not be done, or was not.
            RunVerdict::NotJudged => 2,
            RunVerdict::ConformsInPart => 3,
        }
    }
}

/// A rule's or clause's line.
#[derive(Clone, Debug, Serialize)]
pub struct ClauseResult {
    /// Its id.
    pub clause: String,
    /// Its slug or title.
    pub title: &'static str,
    /// The units that cite it.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Units skipped for one reason.
#[derive(Clone, Debug, Serialize)]
pub struct Skips {
    /// The reason.
    pub reason: String,
    /// How many.
    pub count: usize,
    /// Which cases, each once.
    pub cases: Vec<String>,
}

/// A failed unit.
#[derive(Clone, Debug, Serialize)]
pub struct FailureReport {
    /// The case.
    pub case: String,
    /// Under which profile.
    pub profile: Profile,
    /// Who is at fault: the answer, the process, or an earlier failure.
    pub kind: FailureKind,
    /// What the case shows.
    pub summary: String,
    /// What all failures of this cause have in common, in words.
    pub cause: String,
    /// The opcode whose elements are wrong, where it is one alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opcode: Option<&'static str>,
    /// The dtype of the elements that are wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dtype: Option<&'static str>,
    /// What it tests.
    pub clauses: Vec<ClauseReference>,
    /// The declared answer.
    pub expected: String,
    /// The place in the document that breaks the rule, as a pointer, where the case names one. It is not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The answer, or what came instead of one.
    pub actual: String,
    /// The accepted case that differs by one edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twin: Option<String>,
    /// Arguments of `megakernel-conform run` that play this unit alone, without `--impl`.
    pub rerun: String,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The answer is wrong.
    Answer,
    /// The worker failed instead of answering.
    Worker,
    /// The worker had been given up.
    NotAsked,
}

/// A clause and where to read it.
#[derive(Clone, Debug, Serialize)]
pub struct ClauseReference {
    /// Its id.
    pub id: String,
    /// Its slug or title; empty for an id that the specification does not have.
    pub title: &'static str,
    /// The file that holds it.
    pub document: &'static str,
}

impl Report {
    /// Summarises a run.
    pub fn new(corpus: &Corpus, options: &Options, run: &Run<'_>) -> Report {
        let mut totals = Counts::default();
        for (_, outcome) in &run.results {
            totals.add(outcome);
        }
        let profiles = results::profiles(corpus, options, run);
        let verdict = results::verdict(&profiles, options, totals, run);
        let (failures, stderr) = results::failures(run);
        Report {
            report: FORMAT,
            verdict,
            conforms: verdict == RunVerdict::Conforms,
            partial: run.stopped.map(|asked| format!("interrupted by {asked}")),
            implementation: run.hello.as_ref().ok().map(|hello| Implementation::new(hello, run.traced)),
            handshake: run.hello.as_ref().err().map(|no_hello| no_hello.failure.to_string()),
            corpus: CorpusInfo {
                cases: corpus.cases().len(),
                generator: corpus.manifest().map(|manifest| manifest.generator.clone()),
                seed: corpus.manifest().map(|manifest| manifest.seed),
                profiles: options.profiles.clone(),
                filter: options.filter.as_ref().map(|filter| filter.as_str().to_owned()),
            },
            totals,
            profiles,
            clauses: results::clauses(run),
            executed: run.executed.rows().map(|(key, row)| ExecutedResult::new(key, row)).collect(),
            skips: results::skips(run),
            causes: causes::of(corpus, run, &failures),
            failures,
            notes: run.notes.clone(),
            stderr,
            handshake_stderr: run
                .hello
                .as_ref()
                .err()
                .map(|no_hello| no_hello.stderr.clone())
                .unwrap_or_default(),
            stopped: run.stopped,
        }
    }

    /// The exit code of the run: 0, 1 or 3, or that of an interrupted one.
    pub fn exit_code(&self) -> u8 {
        self.stopped.map_or_else(|| self.verdict.exit_code(), Asked::exit_code)
    }

    /// The report as JSON, ended by a line feed.
    ///
    /// # Errors
    /// None that a report can cause; they are passed on rather than hidden.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}
