//! Faults of those who check logs of runs, and of those who say which waits can go: played, and counted.

use std::collections::BTreeMap;

use megakernel_conformance::case::Case;
use megakernel_conformance::judge::Judgement;
use megakernel_conformance::store::Corpus;
use megakernel_corpus::companion::Measured;
use megakernel_ir::protocol::{Answer, DocumentBytes, Method, Profile, Request, Worker};
use megakernel_ir::rule::{Rule, Severity};
use serde_json::{Value, json};

use super::{REQUIRED, logs, played, row};

/// What one does wrong who has the reference's answers.
pub enum Wrong {
    /// Does not find what breaks these rules.
    Blind(&'static [Rule]),
    /// Is asked about what this makes of the document.
    Misreads(fn(&mut Value)),
    /// Answers with what this makes of the waits that can go, where all waits have these pointers.
    Answers(fn(&mut Vec<Value>, &[String])),
}

/// The faults of each method, and what the page calls the implementations.
const TABLES: [(Method, &[logs::Fault], &str); 2] = [
    (Method::TRACE, logs::TRACES, "checkers of [logs of runs](companions/schedule/trace.md)"),
    (
        Method::MINIMISE,
        logs::MINIMUM,
        "implementations of [minimal waits](companions/schedule/execution.md#sch-14-minimal-waits)",
    ),
];

/// Plays them on the cases of their methods, and adds what comes of it.
///
/// # Errors
/// The corpus is broken.
pub fn measure(
    corpus: &Corpus,
    wanted: &dyn Fn(&Case) -> bool,
    reference: &mut dyn Worker,
    measured: &mut Measured,
) -> Result<(), String> {
    for (method, faults, who) in TABLES {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let concerned = |case: &&Case| {
            case.method == method && case.profiles.contains(&Profile::SCHEDULE) && wanted(case)
        };
        let mut cases = 0;
        for case in corpus.cases().iter().filter(concerned) {
            cases += 1;
            let document = corpus.document(case).map_err(|cause| cause.to_string())?;
            let right = ask(reference, method, &document);
            if let Judgement::Failed(mismatch) = played(case, &document, &response(&right)) {
                let (expected, actual) = (mismatch.expected, mismatch.actual);
                let alarm = format!("false alarm: reference fails {}: {expected}; found {actual}", case.id);
                measured.false_alarms.push(alarm);
            }
            for (id, _, wrong) in faults {
                let Some(given) = given(reference, method, &document, &right, wrong) else { continue };
                let failed = matches!(played(case, &document, &given), Judgement::Failed(_));
                *counts.entry(id).or_default() += usize::from(failed);
            }
        }
        measured.cases += cases;
        measured.faults += faults.len();
        measured.text += &format!(
            "\n{} faults of {who}, and how many of {cases} cases reject each; {REQUIRED} have to. They misread documents\nbefore the \
             reference is asked, lose its findings, or change its answer:\n\n| fault | an implementation that | cases |\n| --- | --- | ---: |\n",
            faults.len()
        );
        for (id, summary, _) in faults {
            let count = counts.get(id).copied().unwrap_or_default();
            measured.text += &row(id, summary, count);
            if count < REQUIRED {
                measured.survivors.push(format!("{id} survives: {count} cases reject it"));
            }
        }
    }
    Ok(())
}

fn ask(reference: &mut dyn Worker, method: Method, document: &[u8]) -> Answer {
    let document = match std::str::from_utf8(document) {
        Ok(text) => DocumentBytes::Text(text.into()),
        Err(_) => DocumentBytes::Binary(document.to_vec()),
    };
    reference.answer(&Request { method, profile: Profile::SCHEDULE, document, arguments: None })
}

/// What an implementation with this fault answers; nothing where that is what the reference does.
fn given(
    reference: &mut dyn Worker,
    method: Method,
    document: &[u8],
    right: &Answer,
    wrong: &Wrong,
) -> Option<Value> {
    match wrong {
        Wrong::Blind(rules) => {
            let mut answer = response(right);
            let found = answer.get_mut("diagnostics")?.as_array_mut()?;
            let before = found.len();
            found.retain(|found| !rules.iter().any(|rule| found["rule"] == rule.id()));
            if found.len() == before {
                return None;
            }
            if !found.iter().any(|found| found["severity"] == "error") {
                answer["outcome"] = json!("accept");
            }
            Some(answer)
        }
        Wrong::Misreads(change) => {
            let value: Value = serde_json::from_slice(document).ok()?;
            let mut misread = value.clone();
            change(&mut misread);
            (misread != value).then(|| response(&ask(reference, method, misread.to_string().as_bytes())))
        }
        Wrong::Answers(change) => {
            let Answer::Accept { document: Some(answer), .. } = right else { return None };
            let (value, mut answer): (Value, Value) =
                (serde_json::from_slice(document).ok()?, serde_json::from_str(answer).ok()?);
            let dropped = answer.get_mut("dropped")?.as_array_mut()?;
            let before = dropped.clone();
            change(dropped, &waits(&value));
            if *dropped == before {
                return None;
            }
            let mut given = response(right);
            given["document"] = json!(answer.to_string());
            Some(given)
        }
    }
}

/// The pointers of all waits.
fn waits(document: &Value) -> Vec<String> {
    let list = |value: &Value, member: &str| value[member].as_array().cloned().unwrap_or_default();
    let mut all = Vec::new();
    for (task, record) in list(document, "tasks").iter().enumerate() {
        for (phase, record) in list(record, "phases").iter().enumerate() {
            let waits = 0..list(record, "waits").len();
            all.extend(waits.map(|place| format!("/tasks/{task}/phases/{phase}/waits/{place}")));
        }
    }
    all
}

/// An answer as it travels, without the places of findings.
fn response(answer: &Answer) -> Value {
    let findings = |all: &[megakernel_ir::Diagnostic]| -> Vec<Value> {
        let severity = |severity| if severity == Severity::Error { "error" } else { "warning" };
        all.iter()
            .map(|found| json!({"rule": found.rule.id(), "severity": severity(found.severity)}))
            .collect()
    };
    match answer {
        Answer::Accept { diagnostics, document } => {
            let found = findings(diagnostics);
            json!({"type": "response", "outcome": "accept", "diagnostics": found, "document": document})
        }
        Answer::Reject { diagnostics } => {
            json!({"type": "response", "outcome": "reject", "diagnostics": findings(diagnostics)})
        }
        Answer::Unsupported { reason } => {
            json!({"type": "response", "outcome": "unsupported", "reason": reason})
        }
        Answer::Failed { message } => json!({"type": "error", "message": message}),
    }
}
