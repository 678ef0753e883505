//! Faults of checkers, simulators and modules, and how many cases reject each; and what is right in another way, which none may reject.
//!
//! A faulty checker loses findings of the reference, or judges and runs what it has misread. A faulty simulator computes the results
//! that the cases know with another arithmetic. A faulty module is the reference's, and does something else in one place.

mod judges;
mod modules;
mod numbers;

use std::collections::BTreeMap;
use std::fmt::Write;

use megakernel_conformance::case::Case;
use megakernel_conformance::judge::{Judgement, conversation};
use megakernel_conformance::store::Corpus;
use megakernel_corpus::companion::Measured;
use megakernel_ir::companion::Question;
use megakernel_ir::protocol::{Answer, DocumentBytes, FromWorker, Method, Profile, Request, Worker};
use megakernel_ir::rule::Severity;
use serde_json::{Value, json};

use crate::bases;
use crate::build::Made;

/// Cases that have to reject a fault.
const REQUIRED: usize = 3;

/// Id, and what an implementation does that has the fault, or is right in this way.
type Named = (&'static str, &'static str);

/// Every fault.
fn faults() -> impl Iterator<Item = Named> {
    let judges = judges::all().map(|(id, what, _)| (*id, *what));
    let numbers = numbers::FAULTS.iter().map(|(id, what, _)| (*id, *what));
    judges.chain(numbers).chain(modules::FAULTS.iter().map(|(id, what, _)| (*id, *what)))
}

/// Everything that is right.
fn legitimate() -> impl Iterator<Item = Named> {
    let numbers = numbers::LEGITIMATE.iter().map(|(id, what, _)| (*id, *what));
    numbers.chain(modules::LEGITIMATE.iter().map(|(id, what, _)| (*id, *what)))
}

/// A case while it is played.
struct Played<'c> {
    case: &'c Case,
    document: Vec<u8>,
    value: Option<Value>,
    /// What is simulated in the case, where it is known.
    made: Option<&'c Made>,
    references: &'c mut dyn Worker,
}

/// Plays everything on the cases of the profile.
///
/// # Errors
/// The corpus is broken.
pub fn measure(
    corpus: &Corpus,
    wanted: &dyn Fn(&Case) -> bool,
    references: &mut dyn Worker,
) -> Result<Measured, String> {
    let made: Vec<Made> = bases::all().into_iter().chain(bases::linked()).chain(bases::wide()).collect();
    let mut measured = Measured { faults: faults().count(), ..Measured::default() };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let concerned = |case: &&Case| case.profiles.contains(&Profile::COLLECTIVES) && wanted(case);
    for case in corpus.cases().iter().filter(concerned) {
        let document = corpus.document(case).map_err(|cause| cause.to_string())?;
        let value = serde_json::from_slice(&document).ok();
        measured.cases += 1;
        // The name of a case that simulates begins with that of its document.
        let name = case.id.rsplit_once('/').filter(|_| case.method == Method::SIMULATE).map(|(_, name)| name);
        let begins = |made: &&Made| name.is_some_and(|name| name.starts_with(&format!("{}-", made.name)));
        let is_told = case.expect.document.is_some();
        let made = made.iter().filter(|_| is_told).filter(begins).max_by_key(|made| made.name.len());
        let mut played = Played { case, document, value, made, references: &mut *references };
        let (rejected, alarms) = played.all();
        rejected.into_iter().for_each(|id| *counts.entry(id).or_default() += 1);
        measured.false_alarms.extend(alarms);
    }
    let count = |id: &str| counts.get(id).copied().unwrap_or_default();
    let survivors = faults().filter(|(id, _)| count(id) < REQUIRED);
    measured.survivors =
        survivors.map(|(id, _)| format!("{id} survives: {} cases reject it", count(id))).collect();
    measured.text = text(measured.cases, &count);
    Ok(measured)
}

impl Played<'_> {
    /// The faults that the case rejects, and a line for each right implementation that it rejects.
    fn all(&mut self) -> (Vec<&'static str>, Vec<String>) {
        let (mut rejected, mut alarms) = (Vec::new(), Vec::new());
        let mut alarm = |case: &Case, id: &str, judgement: Judgement| {
            if let Judgement::Failed(mismatch) = judgement {
                let (expected, actual) = (mismatch.expected, mismatch.actual);
                alarms.push(format!("false alarm: {id} fails {}: {expected}; found {actual}", case.id));
            }
        };
        if !self.case.expect.checks.is_empty() {
            for (id, _, change) in modules::LEGITIMATE {
                let judgement = self.module(*change);
                alarm(self.case, id, judgement);
            }
            for (id, _, change) in modules::FAULTS {
                if modules::concerns(id, self.case.method) && is_failed(&self.module(*change)) {
                    rejected.push(*id);
                }
            }
            return (rejected, alarms);
        }
        let right = self.ask(self.case.method, &self.document.clone());
        alarm(self.case, "reference", self.judged(&response(&right)));
        for (id, _, wrong) in judges::all() {
            let given = match wrong {
                judges::Wrong::Finds(change) => change(&right),
                judges::Wrong::Misreads(change) => {
                    let Some(mut value) = self.value.clone() else { continue };
                    change(&mut value);
                    // What is read as it is, is judged as it is.
                    if Some(&value) == self.value.as_ref() {
                        continue;
                    }
                    self.ask(self.case.method, value.to_string().as_bytes())
                }
            };
            if is_failed(&self.judged(&response(&given))) {
                rejected.push(*id);
            }
        }
        let (Some(made), Some(value)) = (self.made, &self.value) else { return (rejected, alarms) };
        let simulated = |arithmetic: &numbers::Arithmetic| {
            let end = numbers::end(made, value, arithmetic);
            let document = json!({"tiles": end}).to_string();
            self.judged(
                &json!({"type": "response", "outcome": "accept", "diagnostics": [], "document": document}),
            )
        };
        for (id, _, arithmetic) in numbers::LEGITIMATE {
            alarm(self.case, id, simulated(arithmetic));
        }
        for (id, _, arithmetic) in numbers::FAULTS {
            if is_failed(&simulated(arithmetic)) {
                rejected.push(*id);
            }
        }
        (rejected, alarms)
    }

    fn ask(&mut self, method: Method, document: &[u8]) -> Answer {
        let document = match std::str::from_utf8(document) {
            Ok(text) => DocumentBytes::Text(text.into()),
            Err(_) => DocumentBytes::Binary(document.to_vec()),
        };
        let profile = Profile::COLLECTIVES;
        self.references.answer(&Request { method, profile, document, arguments: None })
    }

    /// What the runner says of one answer.
    fn judged(&self, answer: &Value) -> Judgement {
        let mut ask = |_: &Question<'_>| -> Result<FromWorker, String> { from_worker(answer) };
        conversation(self.case, &[], &self.document, &mut ask).unwrap_or_else(Judgement::Skipped)
    }

    /// What the runner says of the reference's module with a change.
    fn module(&mut self, change: modules::Change) -> Judgement {
        let (case, document) = (self.case, self.document.clone());
        let mut ask = |question: &Question<'_>| -> Result<FromWorker, String> {
            let mut answer = response(&self.ask(question.method, question.document));
            let asked = serde_json::from_slice(question.document).ok();
            let asked = asked.and_then(|value: Value| modules::Asked::read(&value, question.anew));
            let made = answer
                .get("document")
                .and_then(Value::as_str)
                .and_then(|text| serde_json::from_str(text).ok());
            if let (Some(asked), Some(mut made)) = (asked, made) {
                change(&asked, &mut made);
                answer["document"] = json!(Value::to_string(&made));
            }
            from_worker(&answer)
        };
        conversation(case, &[], &document, &mut ask).unwrap_or_else(Judgement::Skipped)
    }
}

fn is_failed(judgement: &Judgement) -> bool {
    matches!(judgement, Judgement::Failed(_))
}

fn from_worker(answer: &Value) -> Result<FromWorker, String> {
    serde_json::from_value(answer.clone()).map_err(|cause| cause.to_string())
}

/// An answer as it travels.
fn response(answer: &Answer) -> Value {
    let findings = |all: &[megakernel_ir::Diagnostic]| -> Vec<Value> {
        let severity = |severity| if severity == Severity::Error { "error" } else { "warning" };
        all.iter()
            .map(|found| json!({"rule": found.rule.id(), "severity": severity(found.severity)}))
            .collect()
    };
    match answer {
        Answer::Accept { diagnostics, document } => json!({
            "type": "response", "outcome": "accept", "diagnostics": findings(diagnostics), "document": document
        }),
        Answer::Reject { diagnostics } => {
            json!({"type": "response", "outcome": "reject", "diagnostics": findings(diagnostics)})
        }
        Answer::Unsupported { reason } => {
            json!({"type": "response", "outcome": "unsupported", "reason": reason})
        }
        Answer::Failed { message } => json!({"type": "error", "message": message}),
    }
}

/// What the page on adequacy says.
fn text(cases: usize, count: &dyn Fn(&str) -> usize) -> String {
    let mut out = format!(
        "## Collective algorithms\n\n{} faults of checkers, simulators and modules of [collective algorithms](companions/collectives/README.md), \
         and how many of {cases}\ncases reject each; {REQUIRED} have to. Checkers with a fault lose findings of the reference, or misread \
         documents; simulators have another arithmetic;\nmodules with a fault are the reference's, changed in one place. 77 faults more, of a \
         checker and a module in Python, are rejected\nby 4 cases, or systems that the module is recorded on, at least, as \
         [`examples/collectives/faults.py`](../examples/collectives/README.md) counts.\n\n\
         | fault | an implementation that | cases |\n| --- | --- | ---: |\n",
        faults().count()
    );
    for (id, what) in faults() {
        let count = count(id);
        let cell = if count < REQUIRED { format!("**{count}**") } else { count.to_string() };
        let _ = writeln!(out, "| `{id}` | {what} | {cell} |");
    }
    out.push_str("\nWhat is right in another way, and passes all these cases:\n\n| implementation | it |\n| --- | --- |\n");
    for (id, what) in legitimate() {
        let _ = writeln!(out, "| `{id}` | {what} |");
    }
    out
}
