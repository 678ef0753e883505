//! Faults of validators of schedules, and how many cases reject each. The implementation that has them is the runner's own checker: a
//! fault is put before it, as a misread document, or behind it, as a finding that is lost. Logs of runs the runner does not check
//! itself: there, and where waits are to go, the implementation is the reference.

mod asked;
pub mod changes;
mod logs;
mod table;

use std::collections::BTreeMap;

use megakernel_conformance::case::Case;
use megakernel_conformance::judge::{Judgement, conversation};
use megakernel_conformance::store::Corpus;
use megakernel_corpus::companion::Measured;
use megakernel_ir::companion::Question;
use megakernel_ir::protocol::{FromWorker, Method, Profile, Worker};
use megakernel_ir::rule::{Rule, Severity};
use megakernel_schedule_checker::judge;
use serde_json::{Value, json};

/// Cases that have to reject a fault.
const REQUIRED: usize = 3;

/// What a validator does wrong.
enum Wrong {
    /// Gives this verdict on every document that it can read.
    Always(bool),
    /// Does not find what breaks these rules.
    Blind(&'static [Rule]),
    /// Judges what this makes of the document.
    Misreads(fn(&mut Value)),
}

/// Id, what the validator does, and how.
type Fault = (&'static str, &'static str, Wrong);

/// What a validator makes of a document that has the fault of this id; nothing where none has it that misreads documents.
pub fn misread(id: &str) -> Option<fn(&mut Value)> {
    table::FAULTS.iter().find_map(|(known, _, wrong)| match wrong {
        Wrong::Misreads(change) if *known == id => Some(*change),
        _ => None,
    })
}

/// Plays all faults on the cases of the profile that ask for a verdict.
///
/// # Errors
/// The corpus is broken.
pub fn measure(
    corpus: &Corpus,
    wanted: &dyn Fn(&Case) -> bool,
    reference: &mut dyn Worker,
) -> Result<Measured, String> {
    let faults = || table::FAULTS.iter();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut measured = Measured { faults: faults().count(), ..Measured::default() };
    let concerned = |case: &&Case| {
        case.method == Method::VALIDATE && case.profiles.contains(&Profile::SCHEDULE) && wanted(case)
    };
    for case in corpus.cases().iter().filter(concerned) {
        let document = corpus.document(case).map_err(|cause| cause.to_string())?;
        // What is too large for one who compares all pairs, such a validator does not judge.
        let Some(right) = answer(&document, None) else { continue };
        measured.cases += 1;
        if let Judgement::Failed(mismatch) = played(case, &document, &right) {
            let alarm = format!("false alarm: {}: {}; found {}", case.id, mismatch.expected, mismatch.actual);
            measured.false_alarms.push(alarm);
        }
        for (id, _, wrong) in faults() {
            let failed = answer(&document, Some(wrong)).is_none_or(|given| {
                given != right && matches!(played(case, &document, &given), Judgement::Failed(_))
            });
            *counts.entry(id).or_default() += usize::from(failed);
        }
    }
    let count = |id: &str| counts.get(id).copied().unwrap_or_default();
    let survivors = faults().filter(|(id, ..)| count(id) < REQUIRED);
    measured.survivors =
        survivors.map(|(id, ..)| format!("{id} survives: {} cases reject it", count(id))).collect();
    measured.text = text(measured.cases, &count);
    asked::measure(corpus, wanted, reference, &mut measured)?;
    Ok(measured)
}

/// What the page on adequacy says.
fn text(cases: usize, count: &dyn Fn(&str) -> usize) -> String {
    let mut out = format!(
        "## Schedules\n\n{} faults of validators of [schedules](companions/schedule/README.md), and how many of {cases}\ncases reject \
         each; {REQUIRED} have to. The validator that has them reads the rules in the plainest way, and compares all pairs;\ndocuments \
         too large for that are left out. Without a fault it passes all these cases. 334 faults more, of a validator\nin Python, are \
         counted by [`examples/schedule/faults.py`](../examples/schedule/README.md).\n\n| fault | a validator that | cases |\n\
         | --- | --- | ---: |\n",
        table::FAULTS.len()
    );
    for (id, summary, _) in table::FAULTS {
        out.push_str(&row(id, summary, count(id)));
    }
    out
}

/// A row of a table: the fault, and how many cases reject it.
fn row(id: &str, summary: &str, count: usize) -> String {
    let cell = if count < REQUIRED { format!("**{count}**") } else { count.to_string() };
    format!("| `{id}` | {summary} | {cell} |\n")
}

fn played(case: &Case, document: &[u8], answer: &Value) -> Judgement {
    let mut ask = |_: &Question<'_>| -> Result<FromWorker, String> {
        serde_json::from_value(answer.clone()).map_err(|cause| cause.to_string())
    };
    conversation(case, &[], document, &mut ask).unwrap_or_else(Judgement::Skipped)
}

/// What a validator with this fault answers; nothing where it cannot hold the document.
fn answer(document: &[u8], wrong: Option<&Wrong>) -> Option<Value> {
    let misread = match wrong {
        Some(Wrong::Misreads(change)) => serde_json::from_slice(document).ok().map(|mut value| {
            change(&mut value);
            value.to_string().into_bytes()
        }),
        _ => None,
    };
    let found = judge(misread.as_deref().unwrap_or(document)).ok()?;
    let is_read = !found.iter().any(|(rule, _)| rule.id().starts_with('S'));
    let mut rules: Vec<Rule> = found.into_iter().map(|(rule, _)| rule).collect();
    match wrong {
        Some(Wrong::Always(true)) if is_read => rules.clear(),
        Some(Wrong::Always(false)) if is_read => rules = vec![Rule::ES01],
        Some(Wrong::Blind(unseen)) => rules.retain(|rule| !unseen.contains(rule)),
        _ => {}
    }
    let severity = |rule: &Rule| if rule.severity() == Severity::Error { "error" } else { "warning" };
    let outcome = if rules.iter().any(|rule| severity(rule) == "error") { "reject" } else { "accept" };
    let diagnostics: Vec<Value> =
        rules.iter().map(|rule| json!({"rule": rule.id(), "severity": severity(rule)})).collect();
    Some(json!({"type": "response", "outcome": outcome, "diagnostics": diagnostics}))
}
