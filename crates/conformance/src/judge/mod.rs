//! Compares an answer with the declared one (clauses CON-06 and CON-07).

use std::collections::BTreeSet;

use megakernel_ir::companion::Question;
use megakernel_ir::protocol::{FromWorker, Hello, Method, Profile, Reported};
use megakernel_ir::registry::Carries;
use megakernel_ir::rule::Rule;

use crate::case::{Case, Verdict};
use crate::checkers;
use crate::execution::{Elements, Key};
use crate::text::{excerpt, explanation};

pub(crate) mod cause;
mod json;
mod roundtrip;

pub use roundtrip::{compare_documents, compare_exactly, compare_second};

/// What is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What the case declares.
    pub expected: String,
    /// What the worker answered.
    pub actual: String,
    /// What all failures of this cause have in common, in words.
    pub cause: String,
    /// Where elements are wrong: whose they are, as in the table of what was executed.
    pub key: Option<Key>,
    /// How far off they are.
    pub elements: Option<Box<Elements>>,
}

impl Mismatch {
    /// A mismatch whose cause is that what differs is what differs.
    pub fn new(expected: impl Into<String>, actual: impl Into<String>) -> Mismatch {
        let (expected, actual) = (expected.into(), actual.into());
        let cause = cause::plain(&format!("{actual}; required: {expected}"));
        Mismatch { expected, actual, cause, key: None, elements: None }
    }

    /// A mismatch with a cause of its own.
    fn because(cause: String, expected: String, actual: String) -> Mismatch {
        Mismatch { expected, actual, cause, key: None, elements: None }
    }

    /// The same of elements that are wrong.
    pub(crate) fn of_elements(mut self, key: Option<Key>) -> Mismatch {
        self.key = key;
        match key {
            Some((Some(opcode), dtype)) => self.cause = format!("what {opcode} writes as {dtype} is wrong"),
            Some((None, dtype)) => {
                self.cause = format!("what programs of several opcodes end with as {dtype} is wrong");
            }
            None => {}
        }
        self
    }
}

/// An answer's bearing on its case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// As declared.
    Passed,
    /// Otherwise.
    Failed(Mismatch),
    /// Not judged, for this reason.
    Skipped(String),
}

/// Why the worker is not asked about the case at all, if so.
pub fn skip(case: &Case, profile: Profile, hello: &Hello) -> Option<String> {
    if !hello.claims(profile) {
        return Some(format!("profile {profile} is not claimed"));
    }
    let implements = |rule: &Rule| hello.implements(rule.id());
    let rules = &case.expect.rules;
    if case.expect.verdict == Verdict::Reject && !rules.iter().any(implements) {
        return Some(not_claimed(rules.iter()));
    }
    let lacking: Vec<&Rule> =
        case.expect.warnings.iter().flatten().filter(|rule| !implements(rule)).collect();
    (!lacking.is_empty()).then(|| not_claimed(lacking.into_iter()))
}

fn not_claimed<'a>(rules: impl ExactSizeIterator<Item = &'a Rule>) -> String {
    let (noun, verb) = if rules.len() == 1 { ("rule", "is") } else { ("rules", "are") };
    let ids: Vec<&str> = rules.map(|rule| rule.id()).collect();
    format!("{noun} {} {verb} not claimed", ids.join(", "))
}

/// The rules that a rejection has to name, all of them: those that the document breaks, where the worker claims to name every one.
pub fn owed(case: &Case, hello: &Hello) -> Vec<Rule> {
    let rules = case.expect.rules.iter().copied();
    if case.expect.every_rule && hello.every_rule {
        rules.filter(|rule| hello.implements(rule.id())).collect()
    } else {
        Vec::new()
    }
}

/// Judges outcome and rules of an answer. What an accepted round trip returns is left to [`compare_documents`].
pub fn verdict(case: &Case, answer: &FromWorker) -> Judgement {
    let because = |cause: String, actual| Judgement::Failed(Mismatch::because(cause, expected(case), actual));
    // The cause is what the worker said, whatever was expected.
    let failed = |actual: String| because(cause::plain(&actual), actual);
    if answer.kind == "error" {
        let message = answer.message.as_deref().unwrap_or("without a message");
        let said = |shown: String| format!("an error instead of a response: {shown}");
        // How an explanation goes on differs from failure to failure of the same cause.
        let cause = cause::plain(&said(excerpt(message.as_bytes())));
        return because(cause, said(explanation(message.as_bytes())));
    }
    let diagnostics = answer.diagnostics.as_deref().unwrap_or_default();
    if let Err(fault) = known(diagnostics) {
        return failed(fault);
    }
    let rejected = match answer.outcome.as_deref() {
        Some("accept") => false,
        Some("reject") => true,
        Some("unsupported") => {
            return match answer.reason.as_deref() {
                Some(reason) => {
                    Judgement::Skipped(format!("unsupported: {}", explanation(reason.as_bytes())))
                }
                None => failed("unsupported without a `reason`".to_owned()),
            };
        }
        Some(other) => {
            let other = excerpt(other.as_bytes());
            return failed(format!("outcome `{other}`; an outcome is accept, reject or unsupported"));
        }
        None => return failed("a response without `outcome`".to_owned()),
    };
    let errors = rules(diagnostics, "error");
    if !rejected && !errors.is_empty() {
        return failed(format!("a contradiction: accept with an error, {}", describe(diagnostics, "error")));
    }
    if rejected && errors.is_empty() {
        return failed(
            "reject without a diagnostic of severity error; a rejection names its rule".to_owned(),
        );
    }
    let allowed: BTreeSet<&str> = case.expect.rules.iter().map(|rule| rule.id()).collect();
    let good = match case.expect.verdict {
        Verdict::Accept => !rejected,
        Verdict::Reject => rejected && errors.is_subset(&allowed),
        Verdict::Either => !rejected || allowed.is_empty() || errors.is_subset(&allowed),
    };
    if !good {
        return if rejected {
            let wrong = errors.iter().copied().filter(|id| !allowed.contains(id));
            because(cause::rejects(wrong), format!("reject, {}", describe(diagnostics, "error")))
        } else {
            because(cause::accepts(&case.expect.rules), "accept".to_owned())
        };
    }
    if let Some(declared) = &case.expect.warnings {
        let declared: BTreeSet<&str> = declared.iter().map(|rule| rule.id()).collect();
        if rules(diagnostics, "warning") != declared {
            let outcome = if rejected { "reject" } else { "accept" };
            let found: Vec<&str> = rules(diagnostics, "warning").into_iter().collect();
            let cause = match found.as_slice() {
                [] => format!("does not warn of {}", declared.into_iter().collect::<Vec<_>>().join(" and ")),
                found => format!("warns of {} where others are right", found.join(" and ")),
            };
            return because(cause, format!("{outcome}, {}", describe(diagnostics, "warning")));
        }
    }
    Judgement::Passed
}

/// Sends a question, and gives the answer.
pub type Ask<'a, E> = dyn FnMut(&Question<'_>) -> Result<FromWorker, E> + 'a;

/// Judges a case that does not execute by the answers that `ask` gives, in as many requests as it takes. A rejection has to name
/// the rules `owed`.
///
/// # Errors
/// Those of `ask`.
pub fn conversation<E>(
    case: &Case,
    owed: &[Rule],
    document: &[u8],
    ask: &mut Ask<'_, E>,
) -> Result<Judgement, E> {
    let question =
        Question { method: case.method, document, arguments: case.arguments.as_ref(), anew: false };
    let answer = ask(&question)?;
    let judgement = match verdict(case, &answer) {
        Judgement::Passed => named(owed, &answer),
        other => other,
    };
    let accepted = answer.outcome.as_deref() == Some("accept");
    if judgement != Judgement::Passed || !accepted {
        return Ok(judgement);
    }
    let compared = match case.method.answer() {
        _ if !case.expect.checks.is_empty() => checkers::judge(case, &question, &answer, ask)?,
        Carries::Document if case.method == Method::ROUNDTRIP => {
            match compare_documents(case, document, &answer) {
                Ok(()) => {
                    let first = answer.document.unwrap_or_default();
                    let second = ask(&Question { document: first.as_bytes(), ..question })?;
                    compare_second(&first, &second)
                }
                Err(mismatch) => Err(mismatch),
            }
        }
        Carries::Document => compare_exactly(case, &answer),
        Carries::Verdict | Carries::Files => Ok(()),
    };
    Ok(compared.map_or_else(Judgement::Failed, |()| Judgement::Passed))
}

/// Whether a rejection names all of these rules.
fn named(owed: &[Rule], answer: &FromWorker) -> Judgement {
    let diagnostics = answer.diagnostics.as_deref().unwrap_or_default();
    let errors = rules(diagnostics, "error");
    let lacking: Vec<&str> = owed.iter().map(|rule| rule.id()).filter(|id| !errors.contains(id)).collect();
    if lacking.is_empty() {
        return Judgement::Passed;
    }
    let ids: Vec<&str> = owed.iter().map(|rule| rule.id()).collect();
    Judgement::Failed(Mismatch::because(
        format!("rejects without {}, which the worker claims to name", lacking.join(" and ")),
        format!("reject, errors {}, since the worker claims `every_rule`", ids.join(" and ")),
        format!("reject, {}, without {}", describe(diagnostics, "error"), lacking.join(" and ")),
    ))
}

/// Rules and severities have to be ones that the specification has.
fn known(diagnostics: &[Reported]) -> Result<(), String> {
    for diagnostic in diagnostics {
        if Rule::from_id(&diagnostic.rule).is_none() {
            let rule = excerpt(diagnostic.rule.as_bytes());
            return Err(format!("a diagnostic of rule `{rule}`, which the specification does not have"));
        }
        if !matches!(diagnostic.severity.as_str(), "error" | "warning") {
            let severity = excerpt(diagnostic.severity.as_bytes());
            return Err(format!("a diagnostic of severity `{severity}`; a severity is error or warning"));
        }
    }
    Ok(())
}

fn rules<'a>(diagnostics: &'a [Reported], severity: &str) -> BTreeSet<&'a str> {
    diagnostics.iter().filter(|found| found.severity == severity).map(|found| found.rule.as_str()).collect()
}

/// The rules of one severity, each with the place and message of its first diagnostic.
fn describe(diagnostics: &[Reported], severity: &str) -> String {
    let mut seen = BTreeSet::new();
    let mut shown = Vec::new();
    for found in diagnostics.iter().filter(|found| found.severity == severity) {
        if !seen.insert(&found.rule) {
            continue;
        }
        let mut text = found.rule.clone();
        if let Some(pointer) = found.pointer.as_deref().filter(|pointer| !pointer.is_empty()) {
            text = format!("{text} at {}", excerpt(pointer.as_bytes()));
        }
        if let Some(message) = &found.message {
            text = format!("{text} ({})", excerpt(message.as_bytes()));
        }
        shown.push(text);
    }
    match shown.len() {
        0 => format!("no {severity}"),
        1 => format!("{severity} {}", shown.join("")),
        _ => format!("{severity}s {}", shown.join("; ")),
    }
}

/// The declared answer in words.
pub fn expected(case: &Case) -> String {
    let join = |rules: &[Rule], last: &str| match rules {
        [] => "none".to_owned(),
        [rule] => rule.id().to_owned(),
        _ => {
            let ids: Vec<&str> = rules.iter().map(|rule| rule.id()).collect();
            format!("{} {}", last, ids.join(", "))
        }
    };
    let expect = &case.expect;
    let mut text = match expect.verdict {
        Verdict::Accept => "accept".to_owned(),
        Verdict::Reject => format!("reject, error {}", join(&expect.rules, "among")),
        Verdict::Either if expect.rules.is_empty() => "accept or reject".to_owned(),
        Verdict::Either => format!("accept, or reject with error {}", join(&expect.rules, "among")),
    };
    if let Some(warnings) = &expect.warnings {
        text = match warnings.as_slice() {
            [] => format!("{text}, no warning"),
            warnings => format!("{text}, warning {}", join(warnings, "each of")),
        };
    }
    text
}

#[cfg(test)]
mod tests;
