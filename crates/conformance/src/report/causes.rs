//! Failures by cause: a mistake that fails hundreds of cases is one mistake.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::Opcode;
use megakernel_ir::protocol::Profile;
use serde::{Deserialize, Serialize};

use super::results::{Ended, Played};
use super::{FailureKind, FailureReport};
use crate::case::{Case, Verdict};
use crate::store::Corpus;

/// So many failures of a cause are looked at to find the one with the smallest document.
const LOOKED_AT: usize = 50;

/// What an implementation does wrong that never rejects.
const NEVER_REJECTS: &str = "accepts every document that breaks a rule";

/// Failures that have one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseResult {
    /// In words.
    pub cause: String,
    /// Failures that have it.
    pub failures: usize,
    /// The opcode whose elements are wrong, where it is one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opcode: Option<String>,
    /// The dtype of the elements that are wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
    /// The failure to look at first: of the first of them, one that names a place if there is any, with the smallest document.
    pub example: Example,
    /// The units, in order; the list of failures has them with all else.
    #[serde(skip)]
    pub units: BTreeSet<(String, Profile)>,
}

/// A failure, as the list of failures has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The case.
    pub case: String,
    /// Under which profile.
    pub profile: Profile,
}

/// What decides which cause stands first: no answer before wrong answers; then by profile, in their order; under each first what
/// is rejected without need, which hides the rest, then what is accepted, by rule, then what is computed, by opcode.
type Rank = (bool, usize, u8, usize, Reverse<usize>, String);

/// The causes, what to look at first on top, but for what is known. A worker that was not asked has failed before.
pub(super) fn of(corpus: &Corpus, results: &[Played<'_>]) -> Vec<CauseResult> {
    let new = |failure: &&FailureReport| failure.known.is_none();
    let failures: Vec<&FailureReport> =
        results.iter().filter_map(|(_, ended)| ended.failure()).filter(new).collect();
    let cases: BTreeMap<&str, &Case> =
        results.iter().map(|(unit, _)| (unit.case.id.as_str(), unit.case)).collect();
    let never_rejects = never_rejects(results, &failures);
    let mut groups: BTreeMap<&str, Vec<&FailureReport>> = BTreeMap::new();
    let asked = |failure: &&FailureReport| failure.kind != FailureKind::NotAsked;
    for failure in failures.into_iter().filter(asked) {
        let lenient =
            never_rejects && cases.get(&*failure.case).is_some_and(|case| is_lenient(case, failure));
        groups.entry(if lenient { NEVER_REJECTS } else { &failure.cause }).or_default().push(failure);
    }
    let mut ranked: Vec<(Rank, CauseResult)> = Vec::new();
    for (cause, group) in groups {
        let Some(example) = example(corpus, &cases, &group) else { continue };
        let rank = rank(cause, &cases, &group);
        ranked.push((
            rank,
            CauseResult {
                cause: cause.to_owned(),
                failures: group.len(),
                opcode: example.opcode.clone(),
                dtype: example.dtype.clone(),
                units: group.iter().map(|failure| (failure.case.clone(), failure.profile)).collect(),
                example: Example { case: example.case.clone(), profile: example.profile },
            },
        ));
    }
    ranked.sort_by(|(a, _), (b, _)| a.cmp(b));
    ranked.into_iter().map(|(_, cause)| cause).collect()
}

/// Whether a document that is to be rejected was accepted.
fn is_lenient(case: &Case, failure: &FailureReport) -> bool {
    case.expect.verdict == Verdict::Reject
        && failure.kind == FailureKind::Answer
        && failure.actual == "accept"
}

/// Whether documents that break different rules were accepted, and none was rejected.
fn never_rejects(results: &[Played<'_>], failures: &[&FailureReport]) -> bool {
    let rejects = |case: &Case| case.expect.verdict == Verdict::Reject;
    let rejected = results.iter().any(|(unit, ended)| rejects(unit.case) && matches!(ended, Ended::Passed));
    let answers = || failures.iter().filter(|failure| failure.kind == FailureKind::Answer);
    let accepted: BTreeSet<&str> = answers()
        .filter(|failure| failure.actual == "accept")
        .map(|failure| failure.cause.as_str())
        .collect();
    !rejected && accepted.len() > 1 && !answers().any(|failure| failure.actual.starts_with("reject, "))
}

fn rank(cause: &str, cases: &BTreeMap<&str, &Case>, group: &[&FailureReport]) -> Rank {
    let answered = group.iter().all(|failure| failure.kind == FailureKind::Answer);
    let profile = group.iter().map(|failure| failure.profile.index()).min().unwrap_or(usize::MAX);
    let (kind, place) = group
        .iter()
        .map(|failure| {
            let case = cases.get(&*failure.case);
            let rule =
                case.and_then(|case| case.expect.rules.first()).map_or(usize::MAX, |rule| rule.number());
            match (failure.opcode.as_deref().and_then(Opcode::from_name), &failure.dtype) {
                (Some(opcode), _) => (2, opcode as usize),
                (None, Some(_)) => (3, 0),
                _ if failure.cause.starts_with("rejects under ") => (0, 0),
                _ if failure.actual == "accept" => (1, rule),
                _ => (4, 0),
            }
        })
        .min()
        .unwrap_or((u8::MAX, 0));
    (answered, profile, kind, place, Reverse(group.len()), cause.to_owned())
}

/// The failure of a group that is easiest to look into.
fn example<'a>(
    corpus: &Corpus,
    cases: &BTreeMap<&str, &Case>,
    group: &[&'a FailureReport],
) -> Option<&'a FailureReport> {
    let key = |failure: &&&FailureReport| {
        // One that names a place or a task is easier to look into than a shorter one that does not.
        let nameless = failure.at.as_ref().is_none_or(String::is_empty) && failure.opcode.is_none();
        let document = cases.get(&*failure.case).map(|case| corpus.document(case));
        // One that cannot be made was not sent either.
        (nameless, document.and_then(Result::ok).map_or(usize::MAX, |document| document.len()))
    };
    group.iter().take(LOOKED_AT).min_by_key(key).copied()
}
