//! Faults of selectors and of those who judge documents of selection, and how many cases reject each; and legitimate selectors,
//! which none may reject.
//!
//! The selector that has them is the one of the definitions. What breaks a rule, the reference says, and a faulty judge is one
//! that loses some of its findings or misreads the document.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::Mutex;

use megakernel_conformance::case::Case;
use megakernel_conformance::judge::{Judgement, conversation};
use megakernel_conformance::store::Corpus;
use megakernel_corpus::companion::Measured;
use megakernel_ir::companion::Question as Asked;
use megakernel_ir::protocol::{Answer, DocumentBytes, FromWorker, Method, Profile, Request, Worker};
use megakernel_ir::rule::Severity;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_selection::read_request;
use serde_json::{Value, json};

use crate::definition::{self, Fault, Kind, Question, Table};

mod judges;

use judges::{JUDGES, Wrong};

/// Cases that have to reject a fault.
const REQUIRED: usize = 3;

/// Largest sequences that faulty selectors are measured on: what they are rejected by is small.
const MOST_OPS: usize = 64;

/// Legitimate selectors, with what distinguishes them.
const LEGITIMATE: [(&str, &str); 4] = [
    (
        "automaton",
        "walks with a memory of one region, over an automaton that is built on the way: the reference",
    ),
    ("anew", "computes what it needs of a region from all of its ops, each time anew: the definitions"),
    ("lists", "keeps a list of candidates, and strikes out those that can no longer take the region"),
    ("table", "fills a table of all extents from the last to the first op before it walks"),
];

/// A case with what every implementation is asked about it.
struct Played<'c> {
    case: &'c Case,
    bytes: Vec<u8>,
    /// What the reference says.
    reference: Answer,
    /// What is selected from, where something is.
    request: Option<megakernel_selection::document::Request>,
    ops: usize,
}

/// An implementation.
#[derive(Clone, Copy)]
enum Implementation {
    /// The definitions as they are.
    Anew,
    /// The definitions with a list of candidates.
    Lists,
    /// The definitions with a table of all extents.
    Table,
    /// The definitions with a fault.
    Selector(Fault),
    /// A judge with a fault.
    Judge(&'static Wrong),
}

/// Plays all faults and all legitimate selectors on the cases of the profile.
///
/// # Errors
/// The corpus is broken.
pub fn measure(
    corpus: &Corpus,
    wanted: &dyn Fn(&Case) -> bool,
    references: &mut dyn Worker,
) -> Result<Measured, String> {
    let mut cases = Vec::new();
    for case in
        corpus.cases().iter().filter(|case| case.profiles.contains(&Profile::SELECTION) && wanted(case))
    {
        let bytes = corpus.document(case).map_err(|cause| cause.to_string())?;
        let answer = references.answer(&Request {
            method: case.method,
            profile: Profile::SELECTION,
            document: document(&bytes),
            arguments: None,
        });
        let value: Option<Value> = serde_json::from_slice(&bytes).ok();
        let ops = value.as_ref().and_then(|value| value.pointer("/sequence/ops")?.as_array().map(Vec::len));
        let request = value.filter(|_| selects(case, &answer)).and_then(|value| read_request(&value).ok());
        cases.push(Played { case, bytes, reference: answer, request, ops: ops.unwrap_or(0) });
    }
    let found = Mutex::new((BTreeMap::<&str, usize>::new(), Vec::new()));
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(played) = cases.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let (rejected, alarms) = play_all(played);
                    // Whoever has panicked has reported it, and what is counted stays counted.
                    let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    rejected.into_iter().for_each(|fault| *found.0.entry(fault).or_default() += 1);
                    found.1.extend(alarms);
                }
            });
        }
    });
    let (counts, mut false_alarms) = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    false_alarms.sort();
    let count = |id: &str| counts.get(id).copied().unwrap_or_default();
    let survivors = faults().filter(|(id, _)| count(id) < REQUIRED);
    Ok(Measured {
        faults: faults().count(),
        cases: cases.len(),
        survivors: survivors.map(|(id, _)| format!("{id} survives: {} cases reject it", count(id))).collect(),
        text: text(cases.len(), &count),
        false_alarms,
    })
}

fn document(bytes: &[u8]) -> DocumentBytes<'_> {
    match std::str::from_utf8(bytes) {
        Ok(text) => DocumentBytes::Text(text.into()),
        Err(_) => DocumentBytes::Binary(bytes.to_vec()),
    }
}

/// Every fault with its id and summary.
fn faults() -> impl Iterator<Item = (&'static str, &'static str)> {
    let selectors = Fault::ALL.iter().map(|fault| (fault.slug(), fault.what()));
    selectors.chain(JUDGES.iter().map(|(id, what, _)| (*id, *what)))
}

/// The faults that this case rejects, and a line for each legitimate implementation that it rejects.
fn play_all(played: &Played<'_>) -> (Vec<&'static str>, Vec<String>) {
    // Most faults do not show in most cases: what was answered before is judged as it was.
    let mut judged: HashMap<String, Judgement> = HashMap::new();
    let mut play = |implementation| {
        let answer = answer(played, implementation);
        judged.entry(answer.to_string()).or_insert_with(|| judge(played, &answer)).clone()
    };
    let mut rejected = Vec::new();
    for &fault in Fault::ALL.iter().filter(|fault| concerns(**fault, played)) {
        if matches!(play(Implementation::Selector(fault)), Judgement::Failed(_)) {
            rejected.push(fault.slug());
        }
    }
    for (id, _, wrong) in JUDGES {
        if matches!(play(Implementation::Judge(wrong)), Judgement::Failed(_)) {
            rejected.push(id);
        }
    }
    let mut alarms = Vec::new();
    let reference = Implementation::Judge(&Wrong::Nothing);
    let legitimate = [reference, Implementation::Anew, Implementation::Lists, Implementation::Table];
    for ((id, _), legitimate) in LEGITIMATE.iter().zip(legitimate) {
        if let Judgement::Failed(mismatch) = play(legitimate) {
            let (expected, actual) = (mismatch.expected, mismatch.actual);
            alarms.push(format!("false alarm: {id} fails {}: {expected}; found {actual}", played.case.id));
        }
    }
    (rejected, alarms)
}

/// Whether a fault can show in the answer to a case.
fn concerns(fault: Fault, played: &Played<'_>) -> bool {
    let method = match fault.kind() {
        Kind::Plan | Kind::Beam => Method::SELECT,
        Kind::Explanation => Method::EXPLAIN,
    };
    played.case.method == method && played.ops <= MOST_OPS
}

fn judge(played: &Played<'_>, answer: &Value) -> Judgement {
    let mut ask = |_: &Asked<'_>| -> Result<FromWorker, String> {
        serde_json::from_value(answer.clone()).map_err(|cause| cause.to_string())
    };
    match conversation(played.case, &[], &played.bytes, &mut ask) {
        Ok(judgement) => judgement,
        Err(cause) => Judgement::Skipped(cause),
    }
}

fn answer(played: &Played<'_>, implementation: Implementation) -> Value {
    match implementation {
        Implementation::Judge(wrong) => response(&wrong.answer(played.case.method, &played.reference)),
        Implementation::Selector(fault) => selected(played, None, Some(fault)),
        Implementation::Anew => selected(played, None, None),
        Implementation::Lists => selected(played, Some(&Table::lists()), None),
        Implementation::Table => selected(played, Some(&Table::ahead()), None),
    }
}

/// What a reference finds.
fn diagnostics(reference: &Answer) -> &[Diagnostic] {
    match reference {
        Answer::Reject { diagnostics } | Answer::Accept { diagnostics, .. } => diagnostics,
        _ => &[],
    }
}

fn is_error(found: &Diagnostic) -> bool {
    found.severity == Severity::Error
}

/// Whether there is something to select, in the eyes of the reference.
fn selects(case: &Case, reference: &Answer) -> bool {
    let mut errors = diagnostics(reference).iter().filter(|found| is_error(found));
    [Method::SELECT, Method::EXPLAIN].contains(&case.method) && errors.all(|found| found.rule == Rule::KN01)
}

/// The answer of the definitions; where there is nothing to select, that of the reference.
fn selected(played: &Played<'_>, table: Option<&Table>, fault: Option<Fault>) -> Value {
    let Some(request) = &played.request else {
        return response(&played.reference);
    };
    let question = Question { fault, table, ..Question::of(request) };
    let found = if played.case.method == Method::EXPLAIN {
        definition::explanation(&question)
    } else {
        definition::plan(&question)
    };
    match found {
        Ok(document) => {
            let warnings = findings(diagnostics(&played.reference).iter().filter(|found| !is_error(found)));
            json!({"type": "response", "outcome": "accept", "diagnostics": warnings, "document": document.to_string()})
        }
        Err(_) => {
            let found = [json!({"rule": Rule::KN01.id(), "severity": "error"})];
            json!({"type": "response", "outcome": "reject", "diagnostics": found})
        }
    }
}

fn findings<'d>(diagnostics: impl Iterator<Item = &'d Diagnostic>) -> Vec<Value> {
    let severity = |found: &Diagnostic| if found.severity == Severity::Error { "error" } else { "warning" };
    diagnostics.map(|found| json!({"rule": found.rule.id(), "severity": severity(found)})).collect()
}

fn response(answer: &Answer) -> Value {
    match answer {
        Answer::Accept { diagnostics, document } => json!({
            "type": "response", "outcome": "accept", "diagnostics": findings(diagnostics.iter()), "document": document
        }),
        Answer::Reject { diagnostics } => {
            json!({"type": "response", "outcome": "reject", "diagnostics": findings(diagnostics.iter())})
        }
        Answer::Unsupported { reason } => {
            json!({"type": "response", "outcome": "unsupported", "reason": reason})
        }
        Answer::Failed { message } => json!({"type": "error", "message": message}),
    }
}

/// What the page on adequacy says.
fn text(cases: usize, count: &dyn Fn(&str) -> usize) -> String {
    let all = faults().count();
    let mut out = format!(
        "## Kernel selection\n\n{all} faults of implementations of the [selection companion](companions/selection/README.md), and \
         how many of {cases}\ncases reject each; {REQUIRED} have to. Selectors with a fault are the one of the definitions, on \
         sequences of at most {MOST_OPS} ops; judges\nwith a fault lose findings of the reference, or misread what they judge.\n\n\
         | fault | an implementation that | cases |\n| --- | --- | ---: |\n"
    );
    for (id, what) in faults() {
        let count = count(id);
        let cell = if count < REQUIRED { format!("**{count}**") } else { count.to_string() };
        let _ = writeln!(out, "| `{id}` | {what} | {cell} |");
    }
    out.push_str("\nLegitimate implementations, which pass all these cases:\n\n| implementation | it |\n| --- | --- |\n");
    for (id, what) in LEGITIMATE {
        let _ = writeln!(out, "| `{id}` | {what} |");
    }
    out
}
