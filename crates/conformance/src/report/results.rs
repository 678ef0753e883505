//! What a run found, by profile, clause, reason and failure.

use std::collections::BTreeMap;

use megakernel_ir::Opcode;
use megakernel_ir::protocol::Profile;
use megakernel_ir::registry;

use super::{
    ClauseReference, ClauseResult, Counts, FailureKind, FailureReport, ProfileResult, ProfileVerdict,
    RunVerdict, Share, Skips,
};
use crate::judge::{self, Mismatch, cause};
use crate::run::{Options, Outcome, Run, Unit};
use crate::store::Corpus;

/// By profile, in the fixed order of profiles.
pub(super) fn profiles(corpus: &Corpus, options: &Options, run: &Run<'_>) -> Vec<ProfileResult> {
    registry::profiles().map(|profile| profile_result(profile, corpus, options, run)).collect()
}

/// The verdict on a run by those on its profiles.
pub(super) fn verdict(
    profiles: &[ProfileResult],
    options: &Options,
    totals: Counts,
    run: &Run<'_>,
) -> RunVerdict {
    let unclaimed = |result: &ProfileResult| {
        result.verdict == ProfileVerdict::NotClaimed && options.profiles.contains(&result.profile)
    };
    let bad = |result: &ProfileResult| result.verdict == ProfileVerdict::DoesNotConform || unclaimed(result);
    let part = |result: &ProfileResult| {
        matches!(result.verdict, ProfileVerdict::ConformsInPart | ProfileVerdict::NotJudged)
    };
    if profiles.iter().any(bad) {
        RunVerdict::DoesNotConform
    } else if totals.passed == 0 {
        if run.stopped.is_some() { RunVerdict::NotJudged } else { RunVerdict::DoesNotConform }
    } else if profiles.iter().any(part) {
        RunVerdict::ConformsInPart
    } else {
        RunVerdict::Conforms
    }
}

fn profile_result(profile: Profile, corpus: &Corpus, options: &Options, run: &Run<'_>) -> ProfileResult {
    let mut counts = Counts::default();
    let mut selected = false;
    for (_, outcome) in run.results.iter().filter(|(unit, _)| unit.profile == profile) {
        selected = true;
        counts.add(outcome);
    }
    let claimed = run.hello.as_ref().map_or(true, |hello| hello.claims(profile));
    let cases = corpus.cases().iter().filter(|case| case.profiles.contains(&profile)).count();
    let (verdict, reason) = if !claimed {
        let asked = options.profiles.contains(&profile);
        (ProfileVerdict::NotClaimed, asked.then_some("asked for, but the worker does not claim it"))
    } else if !selected && (options.filter.is_some() || !options.profiles.is_empty()) {
        (ProfileVerdict::NotSelected, None)
    } else if counts.failed > 0 {
        (ProfileVerdict::DoesNotConform, None)
    } else if counts.passed == 0 && run.stopped.is_some() {
        (ProfileVerdict::NotJudged, None)
    } else if counts.passed == 0 {
        (ProfileVerdict::DoesNotConform, Some("no case passed"))
    } else if counts.passed < cases {
        (ProfileVerdict::ConformsInPart, None)
    } else {
        (ProfileVerdict::Conforms, None)
    };
    let share = (verdict == ProfileVerdict::ConformsInPart).then(|| Share::new(profile, corpus, run));
    ProfileResult { profile, verdict, reason, share, counts }
}

/// By rule and clause, in the order of the specification.
pub(super) fn clauses(run: &Run<'_>) -> Vec<ClauseResult> {
    let mut by_id: BTreeMap<&str, Counts> = BTreeMap::new();
    for (unit, outcome) in &run.results {
        for clause in &unit.case.clauses {
            by_id.entry(clause).or_default().add(outcome);
        }
    }
    let mut results = Vec::new();
    for clause in registry::headings() {
        if let Some(counts) = by_id.remove(clause.id) {
            results.push(ClauseResult { clause: clause.id.to_owned(), title: clause.title, counts });
        }
    }
    // Ids that the specification does not have: a defect of the corpus, better shown than dropped.
    results.extend(by_id.into_iter().map(|(id, counts)| ClauseResult {
        clause: id.to_owned(),
        title: "",
        counts,
    }));
    results
}

/// By reason.
pub(super) fn skips(run: &Run<'_>) -> Vec<Skips> {
    let mut by_reason: BTreeMap<&str, Skips> = BTreeMap::new();
    for (unit, outcome) in &run.results {
        if let Outcome::Skipped(reason) = outcome {
            let skips = by_reason.entry(reason).or_insert_with(|| Skips {
                reason: reason.clone(),
                count: 0,
                cases: Vec::new(),
            });
            skips.count += 1;
            if skips.cases.last() != Some(&unit.case.id) {
                skips.cases.push(unit.case.id.clone());
            }
        }
    }
    by_reason.into_values().collect()
}

/// In order of case and profile, with the ends of standard error by index.
pub(super) fn failures(run: &Run<'_>) -> (Vec<FailureReport>, BTreeMap<usize, String>) {
    let mut failures = Vec::new();
    let mut tails = BTreeMap::new();
    for (unit, outcome) in &run.results {
        let (kind, mismatch) = match outcome {
            Outcome::Passed | Outcome::Skipped(_) => continue,
            Outcome::WrongAnswer(mismatch) => (FailureKind::Answer, mismatch.clone()),
            Outcome::WorkerFailed { failure, stderr } => {
                tails.insert(failures.len(), stderr.clone());
                (FailureKind::Worker, without_answer(unit, failure.to_string()))
            }
            Outcome::NotAsked(reason) => {
                (FailureKind::NotAsked, without_answer(unit, format!("not asked: {reason}")))
            }
        };
        failures.push(failure_report(unit, kind, mismatch));
    }
    (failures, tails)
}

fn without_answer(unit: &Unit<'_>, actual: String) -> Mismatch {
    Mismatch { expected: judge::expected(unit.case), cause: cause::plain(&actual), actual, key: None }
}

fn failure_report(unit: &Unit<'_>, kind: FailureKind, mismatch: Mismatch) -> FailureReport {
    let Mismatch { expected, actual, cause, key } = mismatch;
    let case = unit.case;
    let reference = |id: &String| {
        let clause = registry::headings().find(|clause| clause.id == id);
        ClauseReference {
            id: id.clone(),
            title: clause.map_or("", |clause| clause.title),
            document: clause.map_or("", |clause| clause.document),
        }
    };
    FailureReport {
        case: case.id.clone(),
        profile: unit.profile,
        kind,
        summary: case.summary.clone(),
        cause,
        opcode: key.and_then(|(opcode, _)| opcode).map(Opcode::name),
        dtype: key.map(|(_, dtype)| dtype.name()),
        clauses: case.clauses.iter().map(reference).collect(),
        expected,
        at: case.expect.at.clone(),
        actual,
        twin: case.twin.clone(),
        rerun: format!("--profile {} --filter {}", unit.profile, case.id),
    }
}
