//! What a run found, by profile, clause, reason and failure.

use std::collections::BTreeMap;

use megakernel_ir::Opcode;
use megakernel_ir::protocol::Profile;
use megakernel_ir::registry;

use super::{
    ClauseReference, ClauseResult, Counts, ExecutedResult, FailureKind, FailureReport, Implementation,
    KnownResult, ProfileResult, ProfileVerdict, RunVerdict, Share, Skips,
};
use crate::judge::{self, Mismatch, cause};
use crate::run::{Options, Outcome, Run, Selection, Unit};
use crate::store::Corpus;

/// How a unit ended, as a report has it.
pub(super) enum Ended {
    Passed,
    Skipped(String),
    Failed(Box<FailureReport>),
}

impl Ended {
    /// The failure, if it is one.
    pub(super) fn failure(&self) -> Option<&FailureReport> {
        match self {
            Ended::Failed(failure) => Some(failure),
            Ended::Passed | Ended::Skipped(_) => None,
        }
    }
}

/// A unit and its end.
pub(super) type Played<'a> = (Unit<'a>, Ended);

/// What a report is made of.
pub(super) struct Parts<'a> {
    pub(super) selection: &'a Selection,
    pub(super) implementation: Option<Implementation>,
    pub(super) handshake: Option<String>,
    pub(super) partial: Option<String>,
    pub(super) known: Option<Vec<KnownResult>>,
    /// In order of case and profile.
    pub(super) results: Vec<Played<'a>>,
    pub(super) executed: Vec<ExecutedResult>,
    pub(super) notes: Vec<String>,
}

impl Parts<'_> {
    /// Whether what was not judged may be judged elsewhere, or another time.
    fn is_open(&self) -> bool {
        self.partial.is_some() || self.selection.shard.is_some()
    }

    fn asked_for(&self, profile: Profile) -> bool {
        self.selection.profiles.contains(&profile)
    }
}

/// By profile, in the fixed order of profiles.
pub(super) fn profiles(corpus: &Corpus, parts: &Parts<'_>) -> Vec<ProfileResult> {
    registry::profiles().map(|profile| profile_result(profile, corpus, parts)).collect()
}

/// The verdict on a run by those on its profiles.
pub(super) fn verdict(profiles: &[ProfileResult], totals: Counts, parts: &Parts<'_>) -> RunVerdict {
    let unclaimed = |result: &ProfileResult| {
        result.verdict == ProfileVerdict::NotClaimed && parts.asked_for(result.profile)
    };
    let bad = |result: &ProfileResult| result.verdict == ProfileVerdict::DoesNotConform || unclaimed(result);
    let part = |result: &ProfileResult| {
        matches!(result.verdict, ProfileVerdict::ConformsInPart | ProfileVerdict::NotJudged)
    };
    if profiles.iter().any(bad) {
        RunVerdict::DoesNotConform
    } else if totals.passed == 0 {
        if parts.is_open() { RunVerdict::NotJudged } else { RunVerdict::DoesNotConform }
    } else if profiles.iter().any(part) {
        RunVerdict::ConformsInPart
    } else {
        RunVerdict::Conforms
    }
}

fn profile_result(profile: Profile, corpus: &Corpus, parts: &Parts<'_>) -> ProfileResult {
    let mut counts = Counts::default();
    let mut selected = false;
    for (_, ended) in parts.results.iter().filter(|(unit, _)| unit.profile == profile) {
        selected = true;
        counts.add(ended);
    }
    let claimed = parts.implementation.as_ref().is_none_or(|who| who.claims(profile));
    let cases = corpus.cases().iter().filter(|case| case.profiles.contains(&profile)).count();
    let narrowed = parts.selection.narrows();
    let (verdict, reason) = if !claimed {
        let asked = parts.asked_for(profile);
        (ProfileVerdict::NotClaimed, asked.then_some("asked for, but the worker does not claim it"))
    } else if !selected && (narrowed || !parts.selection.profiles.is_empty()) {
        (ProfileVerdict::NotSelected, None)
    } else if counts.failed > 0 {
        (ProfileVerdict::DoesNotConform, None)
    } else if counts.passed == 0 && parts.is_open() {
        (ProfileVerdict::NotJudged, None)
    } else if counts.passed == 0 {
        (ProfileVerdict::DoesNotConform, Some("no case passed"))
    } else if counts.passed < cases || narrowed {
        (ProfileVerdict::ConformsInPart, None)
    } else {
        (ProfileVerdict::Conforms, None)
    };
    let share =
        (verdict == ProfileVerdict::ConformsInPart).then(|| Share::new(profile, corpus, &parts.results));
    ProfileResult { profile, verdict, reason: reason.map(str::to_owned), share, counts }
}

/// By rule and clause, in the order of the specification.
pub(super) fn clauses(results: &[Played<'_>]) -> Vec<ClauseResult> {
    let mut by_id: BTreeMap<&str, Counts> = BTreeMap::new();
    for (unit, ended) in results {
        for clause in &unit.case.clauses {
            by_id.entry(clause).or_default().add(ended);
        }
    }
    let mut lines = Vec::new();
    for clause in registry::headings() {
        if let Some(counts) = by_id.remove(clause.id) {
            lines.push(ClauseResult { clause: clause.id.to_owned(), title: clause.title.to_owned(), counts });
        }
    }
    // Ids that the specification does not have: a defect of the corpus, better shown than dropped.
    lines.extend(by_id.into_iter().map(|(id, counts)| ClauseResult {
        clause: id.to_owned(),
        title: String::new(),
        counts,
    }));
    lines
}

/// By reason and profile.
pub(super) fn skips(results: &[Played<'_>]) -> Vec<Skips> {
    let mut by_reason: BTreeMap<(&str, Profile), Skips> = BTreeMap::new();
    for (unit, ended) in results {
        if let Ended::Skipped(reason) = ended {
            let skips = by_reason.entry((reason, unit.profile)).or_insert_with(|| Skips {
                reason: reason.clone(),
                profile: unit.profile,
                count: 0,
                cases: Vec::new(),
            });
            skips.count += 1;
            skips.cases.push(unit.case.id.clone());
        }
    }
    by_reason.into_values().collect()
}

/// In order of case and profile, with the ends of standard error by index of the failure.
pub(super) fn of_run<'a>(options: &Options, run: &Run<'a>) -> (Vec<Played<'a>>, BTreeMap<usize, String>) {
    let mut results = Vec::new();
    let mut tails = BTreeMap::new();
    let mut failures = 0;
    for (unit, outcome) in &run.results {
        let (kind, mismatch) = match outcome {
            Outcome::Passed => {
                results.push((*unit, Ended::Passed));
                continue;
            }
            Outcome::Skipped(reason) => {
                results.push((*unit, Ended::Skipped(reason.clone())));
                continue;
            }
            Outcome::WrongAnswer(mismatch) => (FailureKind::Answer, mismatch.clone()),
            Outcome::WorkerFailed { failure, stderr } => {
                tails.insert(failures, stderr.clone());
                (FailureKind::Worker, without_answer(unit, failure.to_string()))
            }
            Outcome::NotAsked(reason) => {
                (FailureKind::NotAsked, without_answer(unit, format!("not asked: {reason}")))
            }
        };
        failures += 1;
        // Who was not asked did not fail as it is known to.
        let known =
            options.known.reason(&unit.case.id, unit.profile).filter(|_| kind != FailureKind::NotAsked);
        let failure = failure_report(unit, kind, mismatch, known);
        results.push((*unit, Ended::Failed(Box::new(failure))));
    }
    (results, tails)
}

fn without_answer(unit: &Unit<'_>, actual: String) -> Mismatch {
    Mismatch {
        expected: judge::expected(unit.case),
        cause: cause::plain(&actual),
        actual,
        key: None,
        elements: None,
    }
}

fn failure_report(
    unit: &Unit<'_>,
    kind: FailureKind,
    mismatch: Mismatch,
    known: Option<&str>,
) -> FailureReport {
    let Mismatch { expected, actual, cause, key, elements } = mismatch;
    let case = unit.case;
    let reference = |id: &String| {
        let clause = registry::heading(id);
        ClauseReference {
            id: id.clone(),
            title: clause.map_or("", |clause| clause.title).to_owned(),
            document: clause.map_or("", |clause| clause.document).to_owned(),
        }
    };
    FailureReport {
        case: case.id.clone(),
        profile: unit.profile,
        kind,
        summary: case.summary.clone(),
        cause,
        opcode: key.and_then(|(opcode, _)| opcode).map(|opcode: Opcode| opcode.name().to_owned()),
        dtype: key.map(|(_, dtype)| dtype.name().to_owned()),
        known: known.map(str::to_owned),
        elements,
        clauses: case.clauses.iter().map(reference).collect(),
        expected,
        at: case.expect.at.clone(),
        actual,
        twin: case.twin.clone(),
        rerun: format!("--profile {} --filter {}", unit.profile, case.id),
    }
}
