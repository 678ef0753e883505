//! Faults of validators and translators of task graphs, and how many cases reject each.
//!
//! The implementation that has them is the runner's own checker, with the plainest translations; what may not be translated, the
//! caller says. A fault is put before it, as a misread document, or behind it, as a finding that
//! is lost or a graph that is written wrong.

use std::collections::BTreeMap;
use std::fmt::Write;

use megakernel_conformance::case::Case;
use megakernel_conformance::judge::{Judgement, conversation};
use megakernel_conformance::store::Corpus;
use megakernel_corpus::companion::Measured;
use megakernel_ir::Diagnostic;
use megakernel_ir::companion::Question;
use megakernel_ir::protocol::{Answer, DocumentBytes, FromWorker, Method, Profile, Request, Worker};
use megakernel_ir::rule::{Rule, Severity};
use megakernel_task_graph::{Mode, read_task_graph, read_translation};
use megakernel_task_graph_checker as check;
use serde_json::{Value, json};

use crate::{barrier, exact, exact_current};

mod changes;
mod current;
mod table;

/// Every fault.
pub fn faults() -> impl Iterator<Item = &'static GraphFault> + Clone {
    table::FAULTS.iter().chain(current::FAULTS)
}

/// Cases that have to reject a fault.
const REQUIRED: usize = 3;

/// An implementation with a fault.
pub struct GraphFault {
    id: &'static str,
    summary: &'static str,
    wrong: Wrong,
}

enum Wrong {
    /// Gives this verdict on every graph that it can read.
    Always(bool),
    /// Does not find what breaks these rules.
    Blind(&'static [Rule]),
    /// Judges what this makes of the document.
    Misreads(fn(&mut Value)),
    /// Takes tasks of a type for those of another one.
    Retypes(&'static [(i64, i64)]),
    /// Writes back what this makes of the document.
    Rewrites(fn(&mut Value)),
    /// Translates requests that break one of these rules.
    Allows(&'static [Rule]),
    /// Translates what this makes of the request.
    Mistakes(fn(&mut Value)),
    /// Gives what this makes of the exact translation.
    Garbles(fn(&mut Value)),
    /// Gives what this makes of the exact translation of the current generator.
    GarblesCurrent(fn(&mut Value)),
    /// Gives what this makes of the sound translation.
    Unsound(fn(&mut Value)),
    /// Gives the exact translation in the sound mode too.
    ExactOnly,
}

const fn fault(id: &'static str, summary: &'static str, wrong: Wrong) -> GraphFault {
    GraphFault { id, summary, wrong }
}

/// What came out: for each fault the number of cases that reject it.
type Counts = BTreeMap<&'static str, usize>;

/// Who says which rules a request to translate breaks: the reference, since the plainest translations take any kernel graph.
type Refuse<'r> = &'r mut dyn FnMut(&[u8]) -> Vec<Diagnostic>;

/// Plays all faults on the cases of the profile.
///
/// # Errors
/// The corpus is broken.
pub fn measure(
    corpus: &Corpus,
    wanted: &dyn Fn(&Case) -> bool,
    references: &mut dyn Worker,
) -> Result<Measured, String> {
    let refuse: Refuse<'_> = &mut |document| {
        let text = String::from_utf8_lossy(document);
        let request = Request {
            method: Method::TRANSLATE,
            profile: Profile::TASK_GRAPH,
            document: DocumentBytes::Text(text),
            arguments: None,
        };
        match references.answer(&request) {
            Answer::Reject { diagnostics } => diagnostics,
            _ => Vec::new(),
        }
    };
    let mut counts = Counts::new();
    let mut measured = Measured { faults: faults().count(), ..Measured::default() };
    for case in
        corpus.cases().iter().filter(|case| case.profiles.contains(&Profile::TASK_GRAPH) && wanted(case))
    {
        measured.cases += 1;
        let document = corpus.document(case).map_err(|cause| cause.to_string())?;
        if let Judgement::Failed(mismatch) = play(case, &document, None, refuse) {
            let alarm = format!("false alarm: {}: {}; found {}", case.id, mismatch.expected, mismatch.actual);
            measured.false_alarms.push(alarm);
        }
        for fault in faults().filter(|fault| fault.wrong.concerns(case) && fault.wrong.shows(&document)) {
            if matches!(play(case, &document, Some(&fault.wrong), refuse), Judgement::Failed(_)) {
                *counts.entry(fault.id).or_default() += 1;
            }
        }
    }
    let count = |fault: &GraphFault| counts.get(fault.id).copied().unwrap_or_default();
    let survivors = faults().filter(|fault| count(fault) < REQUIRED);
    measured.survivors =
        survivors.map(|fault| format!("{} survives: {} cases reject it", fault.id, count(fault))).collect();
    measured.text = text(measured.cases, &count);
    Ok(measured)
}

/// What the page on adequacy says.
fn text(cases: usize, count: &dyn Fn(&GraphFault) -> usize) -> String {
    let many = faults().count();
    let mut out = format!(
        "## Task graphs\n\n{many} faults of implementations of the [task graph companion](companions/task-graph/README.md), and how \
         many of {cases}\ncases reject each; {REQUIRED} have to. The implementation that has them judges graphs in the plainest way, \
         and translates soundly by\nwaiting for all of an operator before the next. Without a fault it passes all these cases. Which \
         requests to\ntranslate break a rule, the reference says for it.\n\n\
         | fault | an implementation that | cases |\n| --- | --- | ---: |\n"
    );
    for fault in faults() {
        let count = count(fault);
        let cell = if count < REQUIRED { format!("**{count}**") } else { count.to_string() };
        let _ = writeln!(out, "| `{}` | {} | {cell} |", fault.id, fault.summary);
    }
    out
}

impl Wrong {
    fn concerns(&self, case: &Case) -> bool {
        let method = match self {
            Wrong::Always(_) | Wrong::Blind(_) | Wrong::Misreads(_) | Wrong::Retypes(_) => Method::VALIDATE,
            Wrong::Rewrites(_) => Method::ROUNDTRIP,
            Wrong::Allows(_)
            | Wrong::Mistakes(_)
            | Wrong::Garbles(_)
            | Wrong::Unsound(_)
            | Wrong::GarblesCurrent(_)
            | Wrong::ExactOnly => Method::TRANSLATE,
        };
        case.method == method
    }

    /// Whether it can make a difference to a document: one that it reads as it stands, it judges as it should.
    fn shows(&self, document: &[u8]) -> bool {
        self.misread(document).is_none_or(|(before, after)| before != after)
    }

    /// A document before and after it has been misread.
    fn misread(&self, document: &[u8]) -> Option<(Value, Value)> {
        if !matches!(self, Wrong::Misreads(_) | Wrong::Retypes(_)) {
            return None;
        }
        let before: Value = serde_json::from_slice(document).ok()?;
        let mut after = before.clone();
        match self {
            Wrong::Misreads(change) => change(&mut after),
            Wrong::Retypes(types) => changes::retyped(&mut after, types),
            _ => return None,
        }
        Some((before, after))
    }
}

fn play(case: &Case, document: &[u8], wrong: Option<&Wrong>, refuse: Refuse<'_>) -> Judgement {
    let mut ask = |question: &Question<'_>| -> Result<FromWorker, String> {
        serde_json::from_value(answer(question.method, question.document, wrong, refuse))
            .map_err(|cause| cause.to_string())
    };
    match conversation(case, &[], document, &mut ask) {
        Ok(judgement) => judgement,
        Err(cause) => Judgement::Skipped(cause),
    }
}

fn answer(method: Method, document: &[u8], wrong: Option<&Wrong>, refuse: Refuse<'_>) -> Value {
    match method {
        Method::VALIDATE => validate(document, wrong),
        Method::ROUNDTRIP => roundtrip(document, wrong),
        Method::TRANSLATE => translate(document, wrong, refuse),
        method => {
            json!({"type": "response", "outcome": "unsupported", "reason": format!("does not {method}")})
        }
    }
}

fn accept(document: Option<String>) -> Value {
    json!({"type": "response", "outcome": "accept", "document": document})
}

fn reject(rules: impl Iterator<Item = Rule>) -> Value {
    let rules: Vec<Value> = rules.map(|rule| json!({"rule": rule, "severity": "error"})).collect();
    json!({"type": "response", "outcome": "reject", "diagnostics": rules})
}

fn validate(document: &[u8], wrong: Option<&Wrong>) -> Value {
    let misread =
        wrong.and_then(|wrong| wrong.misread(document)).map(|(_, after)| after.to_string().into_bytes());
    let found = match check::judge(misread.as_deref().unwrap_or(document)) {
        Ok(_) if matches!(wrong, Some(Wrong::Always(true))) => Vec::new(),
        Ok(_) if matches!(wrong, Some(Wrong::Always(false))) => vec![Rule::TS01],
        Ok(found) => found.into_iter().map(|(rule, _)| rule).collect(),
        Err(refused) => refused.into_iter().map(|diagnostic| diagnostic.rule).collect(),
    };
    let unseen: &[Rule] = match wrong {
        Some(Wrong::Blind(unseen)) => unseen,
        _ => &[],
    };
    let found: Vec<_> = found.into_iter().filter(|rule| !unseen.contains(rule)).collect();
    let rejected = found.iter().any(|rule| rule.severity() == Severity::Error);
    let diagnostics: Vec<Value> = found
        .iter()
        .map(|rule| {
            let error = rule.severity() == Severity::Error;
            json!({"rule": rule.id(), "severity": if error { "error" } else { "warning" }})
        })
        .collect();
    let outcome = if rejected { "reject" } else { "accept" };
    json!({"type": "response", "outcome": outcome, "diagnostics": diagnostics})
}

fn roundtrip(document: &[u8], wrong: Option<&Wrong>) -> Value {
    let value: Result<Value, _> = serde_json::from_slice(document);
    match (read_task_graph(document), value) {
        (Ok(_), Ok(mut value)) => {
            if let Some(Wrong::Rewrites(change)) = wrong {
                change(&mut value);
            }
            accept(Some(value.to_string()))
        }
        (Err(refused), _) => reject(refused.iter().map(|found| found.rule)),
        (Ok(_), Err(cause)) => json!({"type": "error", "message": cause.to_string()}),
    }
}

fn translate(document: &[u8], wrong: Option<&Wrong>, refuse: Refuse<'_>) -> Value {
    let misread = match wrong {
        Some(Wrong::Mistakes(change)) => serde_json::from_slice(document).ok().map(|mut value| {
            change(&mut value);
            value.to_string().into_bytes()
        }),
        _ => None,
    };
    let failed = |cause: String| json!({"type": "error", "message": cause});
    // To the request as it stands.
    let refused = refuse(document);
    let allowed: &[Rule] = match wrong {
        Some(Wrong::Allows(allowed)) => allowed,
        _ => &[],
    };
    let mut left = refused.iter().map(|found| found.rule).filter(|rule| !allowed.contains(rule)).peekable();
    match (refused.is_empty(), left.peek()) {
        (_, Some(_)) => return reject(left),
        (false, None) => return accept(None),
        (true, None) => {}
    }
    let document = misread.as_deref().unwrap_or(document);
    let request = match read_translation(document) {
        Ok(request) => request,
        Err(refused) => return failed(format!("{refused:?}")),
    };
    let is_exact = request.mode == Mode::Exact || matches!(wrong, Some(Wrong::ExactOnly));
    let graph = &request.kernel_graph;
    let translate = match request.mode {
        Mode::ExactCurrent => exact_current::exact_current,
        _ if is_exact => exact::exact,
        _ => barrier::barrier,
    };
    let translated = translate(graph, request.ranks, request.rank);
    let mut value = match translated {
        Ok(value) => value,
        Err(cause) => return failed(cause.to_string()),
    };
    match wrong {
        Some(Wrong::Garbles(change)) if is_exact => change(&mut value),
        Some(Wrong::GarblesCurrent(change)) if request.mode == Mode::ExactCurrent => change(&mut value),
        Some(Wrong::Unsound(change)) if request.mode == Mode::Sound => change(&mut value),
        _ => {}
    }
    accept(Some(value.to_string()))
}
