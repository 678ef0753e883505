//! Conformance statements (clause CON-16): what a report comes to, short enough to be published, and checked against the report.

use std::collections::BTreeSet;

use json_patch::PatchOperation;
use megakernel_ir::protocol::Profile;
use serde::{Deserialize, Serialize};

use crate::execution::used;
use crate::report::{
    CorpusInfo, Implementation, ProfileResult, ProfileVerdict, Refusal, Report, RunVerdict, SizeResult,
    recompute,
};
use crate::store::Corpus;

/// Version of the form.
pub const FORMAT: &str = "1.0";

/// A statement.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// [`FORMAT`].
    pub statement: String,
    /// The same in a sentence.
    pub says: String,
    /// Version of the suite.
    pub suite: String,
    /// The verdict on the run.
    pub verdict: RunVerdict,
    /// Who was judged, and on which device, as it said.
    pub implementation: Implementation,
    /// By what it was judged, and what of that was selected.
    pub corpus: CorpusInfo,
    /// The profiles that were judged, in their order, with the share where one conforms in part.
    pub profiles: Vec<ProfileResult>,
    /// What programs that were executed, and passed, are made of; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<Executed>,
    /// How many of the failures are known ones; absent if nothing failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_failures: Option<usize>,
    /// BLAKE3 of the bytes of the report that all of this follows from, in hexadecimal.
    pub report: String,
}

/// What was executed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Executed {
    /// Opcodes of tasks, in their order.
    pub opcodes: Vec<String>,
    /// Dtypes of buffers, in their order.
    pub dtypes: Vec<String>,
    /// How large they are, by opcode and axis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeResult>,
}

impl Statement {
    /// The statement that follows from the bytes of a report.
    ///
    /// # Errors
    /// It is no report, none of a whole run of this corpus by this version of the suite, or it contradicts itself.
    pub fn new(corpus: &Corpus, bytes: &[u8]) -> Result<Statement, Refusal> {
        let text = std::str::from_utf8(bytes).map_err(|cause| Refusal::Unfit(cause.to_string()))?;
        let report = Report::read(text).map_err(Refusal::Unfit)?;
        if let Some(shard) = report.corpus.shard {
            return Err(Refusal::Unfit(format!(
                "it is the report of shard {shard}; a statement is made of that of the whole run, which `merge` puts together"
            )));
        }
        if let Some(partial) = &report.partial {
            return Err(Refusal::Unfit(format!("the run was {partial}; a statement is made of a whole one")));
        }
        let follows = recompute(corpus, &report)?;
        let differences = differences(&report, &follows);
        if !differences.is_empty() {
            return Err(Refusal::Contradiction(differences.join("; ")));
        }
        let Some(implementation) = follows.implementation.clone() else {
            return Err(Refusal::Unfit("nobody was judged, since the handshake failed".to_owned()));
        };
        let judged = |profile: &&ProfileResult| {
            !matches!(profile.verdict, ProfileVerdict::NotClaimed | ProfileVerdict::NotSelected)
                || follows.corpus.profiles.contains(&profile.profile)
        };
        let profiles: Vec<ProfileResult> = follows.profiles.iter().filter(judged).cloned().collect();
        let failures = &follows.failures;
        let known = failures.iter().filter(|failure| failure.known.is_some()).count();
        Ok(Statement {
            statement: FORMAT.to_owned(),
            says: says(&implementation, &follows.suite, &profiles, &follows.sizes),
            suite: follows.suite.clone(),
            verdict: follows.verdict,
            implementation,
            corpus: follows.corpus.clone(),
            profiles,
            executed: executed(corpus, &follows),
            known_failures: (!failures.is_empty()).then_some(known),
            report: blake3::hash(bytes).to_hex().to_string(),
        })
    }

    /// Reads a statement.
    ///
    /// # Errors
    /// It is none, or of another form.
    pub fn read(text: &str) -> Result<Statement, String> {
        #[derive(Deserialize)]
        struct Form {
            statement: String,
        }

        // The form first: another one may have other members.
        let none = |cause: serde_json::Error| format!("it is no statement: {cause}");
        let Form { statement: form } = serde_json::from_str(text).map_err(none)?;
        if form != FORMAT {
            return Err(format!("it is a statement of form {form}, and this runner reads {FORMAT}"));
        }
        serde_json::from_str(text).map_err(none)
    }

    /// What is wrong with it if this one follows from the report: each difference in words, none if it holds.
    pub fn against(&self, follows: &Statement) -> Vec<String> {
        if self.report != follows.report {
            // All else would be about another report.
            return vec![format!(
                "it was made of another report, or the report was changed: BLAKE3 {} and not {}",
                follows.report, self.report
            )];
        }
        differences(self, follows)
    }

    /// The statement as JSON, ended by a line feed.
    ///
    /// # Errors
    /// None that a statement can cause; they are passed on rather than hidden.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}

/// Where what is said is not what follows.
fn differences<T: Serialize>(said: &T, follows: &T) -> Vec<String> {
    let value = |of: &T| serde_json::to_value(of).unwrap_or_default();
    let (mut said, follows) = (value(said), value(follows));
    let at = |document: &serde_json::Value, pointer: &str| {
        document.pointer(pointer).map_or_else(|| "nothing".to_owned(), short)
    };
    let mut found = Vec::new();
    for operation in json_patch::diff(&said, &follows).0 {
        let path = operation.path().to_string();
        let (before, is_addition) = (at(&said, &path), matches!(operation, PatchOperation::Add(_)));
        let is_removal = matches!(operation, PatchOperation::Remove(_));
        // Places are those of what the steps before have made of it.
        if json_patch::patch(&mut said, &[operation]).is_err() {
            found.push(format!("`{path}` cannot be compared"));
            break;
        }
        let says = if is_addition { "nothing" } else { &before };
        let right = if is_removal { "nothing".to_owned() } else { at(&said, &path) };
        found.push(format!("`{path}` says {says}, and {right} follows"));
    }
    found
}

/// A value in a line.
fn short(value: &serde_json::Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(57).collect::<String>() + "..." }
}

/// What cases that were executed and passed are made of.
fn executed(corpus: &Corpus, report: &Report) -> Option<Executed> {
    let (mut opcodes, mut dtypes) = (BTreeSet::new(), BTreeSet::new());
    for (case, profile) in &report.passed {
        if *profile == Profile::EXECUTE
            && let Some(case) = corpus.case(case)
        {
            let (of_case, with) = used(corpus, case);
            opcodes.extend(of_case);
            dtypes.extend(with);
        }
    }
    (!opcodes.is_empty()).then(|| Executed {
        opcodes: opcodes.iter().map(|opcode| opcode.name().to_owned()).collect(),
        dtypes: dtypes.iter().map(|dtype| dtype.name().to_owned()).collect(),
        sizes: report.sizes.clone(),
    })
}

/// The statement in a sentence.
fn says(who: &Implementation, suite: &str, profiles: &[ProfileResult], sizes: &[SizeResult]) -> String {
    let with = |verdict| profiles.iter().filter(move |line| line.verdict == verdict);
    let names = |verdict| with(verdict).map(|line| line.profile.name()).collect::<Vec<_>>();
    let mut parts = Vec::new();
    let whole = names(ProfileVerdict::Conforms);
    if !whole.is_empty() {
        parts.push(format!("conforms to {}", listed(&whole)));
    }
    let in_part = with(ProfileVerdict::ConformsInPart);
    let in_part: Vec<String> = in_part
        .map(|line| {
            let share = line.share.map(|share| format!(" ({share})")).unwrap_or_default();
            format!("{}{share}", line.profile)
        })
        .collect();
    if !in_part.is_empty() {
        parts.push(format!("conforms in part to {}", listed(&in_part)));
    }
    let shown = [ProfileVerdict::Conforms, ProfileVerdict::ConformsInPart];
    let others = profiles.iter().filter(|line| !shown.contains(&line.verdict));
    let others: Vec<&str> = others.map(|line| line.profile.name()).collect();
    if !others.is_empty() {
        parts.push(format!("does not conform to {}", listed(&others)));
    }
    if parts.is_empty() {
        parts.push("conforms to nothing".to_owned());
    }
    let reach = listed(&SizeResult::of_models(sizes));
    if !reach.is_empty() {
        parts.push(format!("executes sizes up to {reach}"));
    }
    format!("{} {} {}, by suite {suite}", who.name, who.version, parts.join("; it "))
}

/// `a, b and c`.
fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}
