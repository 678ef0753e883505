//! What a run found, ready to print: the same content as a table for people and as JSON for programs.
//!
//! A report depends on the corpus, the selection and the worker's answers alone: it holds no times, no paths of this
//! machine, and its order is that of the cases, so that two runs can be compared byte by byte.

use std::collections::BTreeMap;

use megakernel_ir::protocol::Profile;
use megakernel_ir::shard::Shard;
use megakernel_ir::{DType, Opcode};
use serde::{Deserialize, Serialize};

use crate::execution::Elements;
use crate::run::{Options, Run, Selection};
use crate::stop::Asked;
use crate::store::{Corpus, Filter};

mod causes;
mod executed;
mod implementation;
mod known;
mod merge;
mod refusal;
mod results;
mod share;

pub use causes::{CauseResult, Example};
pub use executed::{ExecutedResult, SizeResult};
pub use implementation::Implementation;
pub use known::{KnownEnd, KnownResult};
pub use merge::{merge, recompute};
pub use refusal::Refusal;
pub use share::{Part, Share};

use results::{Ended, Parts};

/// Version of the report's JSON form.
pub const FORMAT: &str = "1.1";

/// The exit code of a run in which nothing failed but what is known.
const KNOWN: u8 = 4;

/// A report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`FORMAT`].
    pub report: String,
    /// Version of the suite.
    pub suite: String,
    /// The verdict on the run.
    pub verdict: RunVerdict,
    /// Whether it is [`RunVerdict::Conforms`], and not in part.
    pub conforms: bool,
    /// What ended the run before all was played; the report is about the part before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// Who was judged; absent where the handshake failed.
    pub implementation: Option<Implementation>,
    /// Why the handshake failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executed: Vec<ExecutedResult>,
    /// How large what passed is, by opcode and axis; empty if nothing was executed that passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeResult>,
    /// By reason and profile.
    pub skips: Vec<Skips>,
    /// The failures by cause, what to look at first on top; empty if nothing failed, or nothing was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseResult>,
    /// In order of case and profile.
    pub failures: Vec<FailureReport>,
    /// The lines of the list of known failures that were selected, in the same order; absent if there was no list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Vec<KnownResult>>,
    /// What else was wrong with the worker.
    pub notes: Vec<String>,
    /// The units that passed, in the same order.
    #[serde(skip)]
    pub passed: Vec<(String, Profile)>,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusInfo {
    /// Number of cases.
    pub cases: usize,
    /// Version of the generator, where the corpus has a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// The corpus seed, where the corpus has a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The profiles asked for; empty: all claimed.
    pub profiles: Vec<Profile>,
    /// The filter on case ids.
    pub filter: Option<String>,
    /// BLAKE3 of the manifest, and so of all files, where the corpus has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The filters on case ids that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// The rules and clauses one of which a case has to cite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clauses: Vec<String>,
    /// The opcodes one of which a case has to execute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opcodes: Vec<String>,
    /// The dtypes one of which a buffer of a case has to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dtypes: Vec<String>,
    /// The part that was played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

impl CorpusInfo {
    fn new(corpus: &Corpus, selection: &Selection) -> CorpusInfo {
        let globs = |filters: &[Filter]| filters.iter().map(|glob| glob.as_str().to_owned()).collect();
        CorpusInfo {
            cases: corpus.cases().len(),
            generator: corpus.manifest().map(|manifest| manifest.generator.clone()),
            seed: corpus.manifest().map(|manifest| manifest.seed),
            profiles: selection.profiles.clone(),
            filter: selection.filter.as_ref().map(|filter| filter.as_str().to_owned()),
            digest: corpus.digest().map(str::to_owned),
            exclude: globs(&selection.exclude),
            clauses: selection.clauses.clone(),
            opcodes: selection.opcodes.iter().map(|opcode| opcode.name().to_owned()).collect(),
            dtypes: selection.dtypes.iter().map(|dtype| dtype.name().to_owned()).collect(),
            shard: selection.shard,
        }
    }

    /// What was asked for, whatever the corpus is.
    pub fn selection_alone(&self) -> CorpusInfo {
        CorpusInfo { cases: 0, generator: None, seed: None, digest: None, ..self.clone() }
    }

    /// What was selected.
    ///
    /// # Errors
    /// A name or a glob is none.
    fn selection(&self) -> Result<Selection, String> {
        let opcode =
            |name: &String| Opcode::from_name(name).ok_or_else(|| format!("no opcode is called `{name}`"));
        let dtype =
            |name: &String| DType::from_name(name).ok_or_else(|| format!("no dtype is called `{name}`"));
        Ok(Selection {
            profiles: self.profiles.clone(),
            filter: self.filter.as_deref().map(Filter::new).transpose()?,
            exclude: self.exclude.iter().map(|glob| Filter::new(glob)).collect::<Result<_, _>>()?,
            clauses: self.clauses.clone(),
            opcodes: self.opcodes.iter().map(opcode).collect::<Result<_, _>>()?,
            dtypes: self.dtypes.iter().map(dtype).collect::<Result<_, _>>()?,
            shard: self.shard,
        })
    }
}

/// Units counted by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// As declared.
    pub passed: usize,
    /// Otherwise.
    pub failed: usize,
    /// Not judged.
    pub skipped: usize,
}

impl Counts {
    fn add(&mut self, ended: &Ended) {
        match ended {
            Ended::Passed => self.passed += 1,
            Ended::Skipped(_) => self.skipped += 1,
            Ended::Failed(_) => self.failed += 1,
        }
    }
}

/// A profile's line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProfileResult {
    /// The profile.
    pub profile: Profile,
    /// The verdict on the implementation.
    pub verdict: ProfileVerdict,
    /// Why, unless the counts say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How much of it was shown, where it conforms in part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Its units.
    #[serde(flatten)]
    pub counts: Counts,
}

/// The verdict on an implementation under a profile (clause CON-08).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            RunVerdict::Conforms => "conforms",
            RunVerdict::ConformsInPart => "conforms in part",
            RunVerdict::DoesNotConform => "does not conform",
            RunVerdict::NotJudged => "not judged",
        }
    }

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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClauseResult {
    /// Its id.
    pub clause: String,
    /// Its slug or title.
    pub title: String,
    /// The units that cite it.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Units of a profile that were skipped for one reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Skips {
    /// The reason.
    pub reason: String,
    /// Under which profile.
    pub profile: Profile,
    /// How many.
    pub count: usize,
    /// Which cases, in order.
    pub cases: Vec<String>,
}

/// A failed unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opcode: Option<String>,
    /// The dtype of the elements that are wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
    /// Why it is known, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// How far off the elements of the first tensor are that is wrong; for people only.
    #[serde(skip)]
    pub elements: Option<Box<Elements>>,
    /// What it tests.
    pub clauses: Vec<ClauseReference>,
    /// The declared answer.
    pub expected: String,
    /// The place in the document that breaks the rule, as a pointer, where the case names one. It is not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The answer, or what came instead of one.
    pub actual: String,
    /// The accepted case that differs by one edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin: Option<String>,
    /// Arguments of `megakernel-conform run` that play this unit alone, without `--impl`.
    pub rerun: String,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClauseReference {
    /// Its id.
    pub id: String,
    /// Its slug or title; empty for an id that the specification does not have.
    pub title: String,
    /// The file that holds it.
    pub document: String,
}

impl Report {
    /// Summarises a run.
    pub fn new(corpus: &Corpus, options: &Options, run: &Run<'_>) -> Report {
        let (results, stderr) = results::of_run(options, run);
        let parts = Parts {
            selection: &options.selection,
            implementation: run.hello.as_ref().ok().map(|hello| Implementation::new(hello, run.traced)),
            handshake: run.hello.as_ref().err().map(|no_hello| no_hello.failure.to_string()),
            partial: run.partial(),
            known: (!options.known.is_empty()).then(|| known::of(&options.known, &results)),
            results,
            executed: run.executed.rows().map(|(key, row)| ExecutedResult::new(key, row.whole)).collect(),
            notes: run.notes.clone(),
        };
        let tail = run.hello.as_ref().err().map(|no_hello| no_hello.stderr.clone());
        Report {
            stderr,
            handshake_stderr: tail.unwrap_or_default(),
            stopped: run.stopped,
            ..Report::assembled(corpus, parts)
        }
    }

    /// What follows from how each unit ended.
    fn assembled(corpus: &Corpus, parts: Parts<'_>) -> Report {
        let mut totals = Counts::default();
        for (_, ended) in &parts.results {
            totals.add(ended);
        }
        let passed = parts.results.iter().filter(|(_, ended)| matches!(ended, Ended::Passed));
        let profiles = results::profiles(corpus, &parts);
        let verdict = results::verdict(&profiles, totals, &parts);
        Report {
            report: FORMAT.to_owned(),
            suite: env!("CARGO_PKG_VERSION").to_owned(),
            verdict,
            conforms: verdict == RunVerdict::Conforms,
            partial: parts.partial,
            corpus: CorpusInfo::new(corpus, parts.selection),
            totals,
            profiles,
            clauses: results::clauses(&parts.results),
            executed: parts.executed,
            sizes: SizeResult::of_passed(corpus, &parts.results),
            skips: results::skips(&parts.results),
            causes: causes::of(corpus, &parts.results),
            failures: parts.results.iter().filter_map(|(_, ended)| ended.failure()).cloned().collect(),
            known: parts.known,
            implementation: parts.implementation,
            handshake: parts.handshake,
            notes: parts.notes,
            passed: passed.map(|(unit, _)| (unit.case.id.clone(), unit.profile)).collect(),
            stderr: BTreeMap::new(),
            handshake_stderr: String::new(),
            stopped: None,
        }
    }

    /// The exit code of the run: that of its verdict, of an interruption, or of what is known.
    pub fn exit_code(&self) -> u8 {
        match self.stopped {
            Some(asked) => asked.exit_code(),
            None if self.passed_though_known().next().is_some() => RunVerdict::DoesNotConform.exit_code(),
            None if self.fails_as_known() => KNOWN,
            None => self.verdict.exit_code(),
        }
    }

    /// The lines of the list of known failures that are wrong, since the case passed.
    pub fn passed_though_known(&self) -> impl Iterator<Item = &KnownResult> {
        self.known.iter().flatten().filter(|known| known.ended == KnownEnd::Passed)
    }

    /// Whether something failed, all of which is known, and nothing else is wrong.
    fn fails_as_known(&self) -> bool {
        let failed_alone = |profile: &ProfileResult| {
            profile.verdict != ProfileVerdict::DoesNotConform || profile.counts.failed > 0
        };
        let unclaimed = |profile: &ProfileResult| {
            profile.verdict == ProfileVerdict::NotClaimed && self.corpus.profiles.contains(&profile.profile)
        };
        self.totals.failed > 0
            && self.totals.passed > 0
            && self.failures.iter().all(|failure| failure.known.is_some())
            && self.profiles.iter().all(|profile| failed_alone(profile) && !unclaimed(profile))
    }

    /// Reads a report.
    ///
    /// # Errors
    /// It is none, or of another form.
    pub fn read(text: &str) -> Result<Report, String> {
        #[derive(Deserialize)]
        struct Version {
            report: String,
        }
        let version: Version =
            serde_json::from_str(text).map_err(|cause| format!("it is no report: {cause}"))?;
        // Of the same major version: members that are new, who does not know them ignores.
        let major = |form: &str| form.split('.').next().map(str::to_owned);
        if major(&version.report) != major(FORMAT) {
            return Err(format!("it is a report of form {}, and this runner reads {FORMAT}", version.report));
        }
        serde_json::from_str(text).map_err(|cause| format!("it is no report: {cause}"))
    }

    /// The report as JSON, ended by a line feed.
    ///
    /// # Errors
    /// None that a report can cause; they are passed on rather than hidden.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}
