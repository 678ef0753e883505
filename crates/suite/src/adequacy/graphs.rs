//! Faults of validators and translators of task graphs, and how many cases reject each.
//!
//! The implementation that has them is the straightforward judge of the conformance crate, with the plainest translations; what
//! may not be translated, the reference says. A fault is put before it, as a misread document, or behind it, as a finding that
//! is lost or a graph that is written wrong.

use std::collections::BTreeMap;
use std::fmt::Write;

use megakernel_conformance::case::Case;
use megakernel_conformance::judge::{Judgement, conversation};
use megakernel_conformance::store::Corpus;
use megakernel_ir::companion::Question;
use megakernel_ir::protocol::{FromWorker, Method, Profile};
use megakernel_ir::rule::Severity;
use megakernel_task_graph::{Mode, read_task_graph, read_translation};
use megakernel_task_graph_cases::{barrier, exact};
use megakernel_task_graph_checker as check;
use megakernel_task_graph_reference::translate as reference;
use serde_json::{Value, json};

use super::changes;

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
    Blind(&'static [&'static str]),
    /// Judges what this makes of the document.
    Misreads(fn(&mut Value)),
    /// Writes back what this makes of the document.
    Rewrites(fn(&mut Value)),
    /// Translates requests that break one of these rules.
    Allows(&'static [&'static str]),
    /// Translates what this makes of the request.
    Mistakes(fn(&mut Value)),
    /// Gives what this makes of the exact translation.
    Garbles(fn(&mut Value)),
    /// Gives what this makes of the sound translation.
    Unsound(fn(&mut Value)),
    /// Gives the exact translation in the sound mode too.
    ExactOnly,
}

const fn fault(id: &'static str, summary: &'static str, wrong: Wrong) -> GraphFault {
    GraphFault { id, summary, wrong }
}

/// Every fault.
pub const FAULTS: &[GraphFault] = &[
    fault("tg-accepts-all", "accepts every graph", Wrong::Always(true)),
    fault("tg-rejects-all", "rejects every graph", Wrong::Always(false)),
    fault(
        "tg-anti-dependence-unseen",
        "does not look for tasks that overwrite what is still read",
        Wrong::Blind(&["TR03"]),
    ),
    fault(
        "tg-boxes-as-hulls",
        "takes a tile for everything between its first and last element",
        Wrong::Misreads(changes::hulls),
    ),
    fault(
        "tg-caches-read-only",
        "takes the caches of attention for read only",
        Wrong::Misreads(changes::caches_read),
    ),
    fault(
        "tg-counts-ignored",
        "assumes that every event takes as many triggers as it gets",
        Wrong::Blind(&["TD01", "TD02", "TR01"]),
    ),
    fault("tg-cycles-unseen", "does not look for cycles", Wrong::Blind(&["TD03"])),
    fault("tg-dead-writes-unseen", "does not look for writes that nobody reads", Wrong::Blind(&["TR05"])),
    fault(
        "tg-declarations-ignored",
        "does not look at the kernel graph",
        Wrong::Misreads(changes::undeclared),
    ),
    fault(
        "tg-descending-ids-allowed",
        "does not compare ids of producers and dependents",
        Wrong::Blind(&["TD04"]),
    ),
    fault(
        "tg-element-types-ignored",
        "takes every element for one of 16 bits",
        Wrong::Misreads(changes::sixteen_bits),
    ),
    fault(
        "tg-events-by-range",
        "takes the range of an event for the tasks that depend on it",
        Wrong::Misreads(changes::by_range),
    ),
    fault("tg-first-rank-only", "judges the first rank of a system", Wrong::Misreads(changes::first_rank)),
    fault("tg-first-tasks-ignored", "does not look at the list of first tasks", Wrong::Blind(&["TS07"])),
    fault("tg-ids-as-doubles", "reads integers as binary64", Wrong::Misreads(changes::doubles)),
    fault("tg-ids-undecoded", "does not take event ids apart", Wrong::Blind(&["TS05"])),
    fault("tg-iterations-ignored", "looks at one iteration only", Wrong::Blind(&["TX04"])),
    fault(
        "tg-joins-counted-low",
        "does not mind events that take fewer triggers than they get",
        Wrong::Blind(&["TR01"]),
    ),
    fault("tg-lost-tasks-allowed", "does not mind tasks that reach no end", Wrong::Blind(&["TD05"])),
    fault("tg-metadata-ignored", "does not compare the metadata", Wrong::Blind(&["TS10"])),
    fault(
        "tg-offsets-ignored",
        "takes every tile to begin with its tensor",
        Wrong::Misreads(changes::no_offsets),
    ),
    fault("tg-range-unchecked", "does not compare ranges with dependents", Wrong::Blind(&["TS06"])),
    fault(
        "tg-ranks-apart",
        "judges each rank by itself, and no copy between them",
        Wrong::Blind(&["TX01", "TX02", "TX03", "TX04"]),
    ),
    fault(
        "tg-read-after-write-unseen",
        "does not look for tasks that read what is being written",
        Wrong::Blind(&["TR02"]),
    ),
    fault("tg-strides-ignored", "takes every tile for contiguous", Wrong::Misreads(changes::contiguous)),
    fault(
        "tg-tensors-not-tiles",
        "lets two tasks conflict that use a tensor in common",
        Wrong::Misreads(changes::whole_tensors),
    ),
    fault("tg-warnings-unknown", "never warns", Wrong::Blind(&["TW01", "TW02", "TW03", "TW04"])),
    fault("tg-write-write-unseen", "does not look for tasks that write the same", Wrong::Blind(&["TR04"])),
    fault(
        "tg-back-as-doubles",
        "writes integers back as binary64 has them",
        Wrong::Rewrites(changes::doubles),
    ),
    fault(
        "tg-back-null-as-empty",
        "writes `null` back as an empty list",
        Wrong::Rewrites(changes::null_as_empty),
    ),
    fault(
        "tg-back-without-unknown",
        "drops members that it does not know",
        Wrong::Rewrites(changes::without_unknown),
    ),
    fault(
        "tg-back-with-metadata",
        "gives tasks metadata that they did not have",
        Wrong::Rewrites(changes::with_metadata),
    ),
    fault("tg-copies-untagged", "leaves the tag out of the ids of copies", Wrong::Garbles(changes::untagged)),
    fault(
        "tg-copies-to-own-rank",
        "lets copies trigger the event of their own rank",
        Wrong::Garbles(changes::to_own_rank),
    ),
    fault(
        "tg-events-kept-massive",
        "leaves large events as they are before the prelaunch",
        Wrong::Garbles(changes::massive),
    ),
    fault(
        "tg-fused-whole",
        "does not resolve a fused tensor to its parts",
        Wrong::Mistakes(changes::unfused),
    ),
    fault(
        "tg-blocks-reversed",
        "gives the last block of a grid to the first task",
        Wrong::Garbles(changes::reversed_work),
    ),
    fault(
        "tg-offsets-in-elements",
        "counts offsets in elements",
        Wrong::Garbles(changes::offsets_in_elements),
    ),
    fault(
        "tg-reduce-without-output",
        "leaves REDUCE without its output",
        Wrong::Garbles(changes::no_reduce_output),
    ),
    fault(
        "tg-strides-of-tiles",
        "gives tiles the strides of their own extents",
        Wrong::Garbles(changes::contiguous),
    ),
    fault(
        "tg-translates-to-doubles",
        "writes the integers of a translation as binary64 has them",
        Wrong::Garbles(changes::doubles),
    ),
    fault(
        "tg-variants-not-shared",
        "gives every task the first variant",
        Wrong::Garbles(changes::no_variants),
    ),
    fault("tg-sound-as-exact", "has no sound mode, and gives the published translation", Wrong::ExactOnly),
    fault(
        "tg-sound-counts-twice",
        "counts each producer of a join twice",
        Wrong::Unsound(changes::counts_twice),
    ),
    fault(
        "tg-sound-drops-edges",
        "makes no edge to the last operator",
        Wrong::Unsound(changes::last_is_free),
    ),
    fault("tg-sound-loses-task", "leaves the last task out", Wrong::Unsound(changes::loses_task)),
    fault("tg-tensors-undeclared", "takes operands that name no tensor", Wrong::Allows(&["TK01"])),
    fault("tg-grids-uneven", "cuts what its grid does not divide", Wrong::Allows(&["TK02"])),
    fault("tg-operators-unconnected", "translates exactly what shares no tensor", Wrong::Allows(&["TK03"])),
    fault("tg-all-reduces-any", "does not look at the operands of an all-reduce", Wrong::Allows(&["TK04"])),
    fault("tg-fused-any", "does not compare a fused tensor with its parts", Wrong::Allows(&["TK05"])),
    fault("tg-kernels-any-size", "does not look at the sizes in a kernel graph", Wrong::Allows(&["TK06"])),
    fault(
        "tg-blocks-conflict",
        "translates soundly blocks of an operator that conflict",
        Wrong::Allows(&["TK07"]),
    ),
    fault(
        "tg-outputs-dead",
        "translates soundly outputs that are overwritten unread",
        Wrong::Allows(&["TK08"]),
    ),
];

/// What came out: for each fault the number of cases that reject it; and what the implementation without a fault fails.
pub struct Killed {
    counts: BTreeMap<&'static str, usize>,
    cases: usize,
    false_alarms: Vec<String>,
}

/// Plays all faults on the cases of the profile.
///
/// # Errors
/// The corpus is broken.
pub fn measure(corpus: &Corpus, wanted: impl Fn(&Case) -> bool) -> Result<Killed, String> {
    let mut killed = Killed { counts: BTreeMap::new(), cases: 0, false_alarms: Vec::new() };
    for case in
        corpus.cases().iter().filter(|case| case.profiles.contains(&Profile::TASK_GRAPH) && wanted(case))
    {
        killed.cases += 1;
        let document = corpus.document(case).map_err(|cause| cause.to_string())?;
        if let Judgement::Failed(mismatch) = play(case, &document, None) {
            killed
                .false_alarms
                .push(format!("{}: {}; found {}", case.id, mismatch.expected, mismatch.actual));
        }
        for fault in FAULTS.iter().filter(|fault| fault.wrong.concerns(case)) {
            if matches!(play(case, &document, Some(&fault.wrong)), Judgement::Failed(_)) {
                *killed.counts.entry(fault.id).or_default() += 1;
            }
        }
    }
    Ok(killed)
}

impl Wrong {
    fn concerns(&self, case: &Case) -> bool {
        let method = match self {
            Wrong::Always(_) | Wrong::Blind(_) | Wrong::Misreads(_) => Method::VALIDATE,
            Wrong::Rewrites(_) => Method::ROUNDTRIP,
            Wrong::Allows(_)
            | Wrong::Mistakes(_)
            | Wrong::Garbles(_)
            | Wrong::Unsound(_)
            | Wrong::ExactOnly => Method::TRANSLATE,
        };
        case.method == method
    }
}

impl Killed {
    /// Cases that were played.
    pub fn cases(&self) -> usize {
        self.cases
    }

    /// A line for each fault that survives, and for each case that the implementation without a fault fails.
    pub fn problems(&self, whole: bool) -> Vec<String> {
        let survivor = |fault: &&GraphFault| whole && self.count(fault) < REQUIRED;
        let survivors = FAULTS.iter().filter(survivor);
        survivors
            .map(|fault| format!("{} survives: {} cases reject it", fault.id, self.count(fault)))
            .chain(self.false_alarms.iter().map(|alarm| format!("false alarm: {alarm}")))
            .collect()
    }

    fn count(&self, fault: &GraphFault) -> usize {
        self.counts.get(fault.id).copied().unwrap_or_default()
    }

    /// The kill table.
    pub fn table(&self) -> String {
        let mut out = String::from("| fault | an implementation that | cases |\n| --- | --- | ---: |\n");
        for fault in FAULTS {
            let count = self.count(fault);
            let cell = if count < REQUIRED { format!("**{count}**") } else { count.to_string() };
            let _ = writeln!(out, "| `{}` | {} | {cell} |", fault.id, fault.summary);
        }
        out
    }
}

fn play(case: &Case, document: &[u8], wrong: Option<&Wrong>) -> Judgement {
    let mut ask = |question: &Question<'_>| -> Result<FromWorker, String> {
        serde_json::from_value(answer(question.method, question.document, wrong))
            .map_err(|cause| cause.to_string())
    };
    match conversation(case, document, &mut ask) {
        Ok(judgement) => judgement,
        Err(cause) => Judgement::Skipped(cause),
    }
}

fn answer(method: Method, document: &[u8], wrong: Option<&Wrong>) -> Value {
    match method {
        Method::VALIDATE => validate(document, wrong),
        Method::ROUNDTRIP => roundtrip(document, wrong),
        Method::TRANSLATE => translate(document, wrong),
        method => {
            json!({"type": "response", "outcome": "unsupported", "reason": format!("does not {method}")})
        }
    }
}

fn accept(document: Option<String>) -> Value {
    json!({"type": "response", "outcome": "accept", "document": document})
}

fn reject<'r>(rules: impl Iterator<Item = &'r str>) -> Value {
    let rules: Vec<Value> = rules.map(|rule| json!({"rule": rule, "severity": "error"})).collect();
    json!({"type": "response", "outcome": "reject", "diagnostics": rules})
}

fn validate(document: &[u8], wrong: Option<&Wrong>) -> Value {
    let misread = match wrong {
        Some(Wrong::Misreads(change)) => serde_json::from_slice(document).ok().map(|mut value| {
            change(&mut value);
            value.to_string().into_bytes()
        }),
        _ => None,
    };
    let found = match check::judge(misread.as_deref().unwrap_or(document)) {
        Ok(_) if matches!(wrong, Some(Wrong::Always(true))) => Vec::new(),
        Ok(_) if matches!(wrong, Some(Wrong::Always(false))) => vec![megakernel_ir::Rule::TS01],
        Ok(found) => found.into_iter().map(|(rule, _)| rule).collect(),
        Err(refused) => refused.into_iter().map(|diagnostic| diagnostic.rule).collect(),
    };
    let unseen: &[&str] = match wrong {
        Some(Wrong::Blind(unseen)) => unseen,
        _ => &[],
    };
    let found: Vec<_> = found.into_iter().filter(|rule| !unseen.contains(&rule.id())).collect();
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
        (Err(refused), _) => reject(refused.iter().map(|found| found.rule.id())),
        (Ok(_), Err(cause)) => json!({"type": "error", "message": cause.to_string()}),
    }
}

fn translate(document: &[u8], wrong: Option<&Wrong>) -> Value {
    let misread = match wrong {
        Some(Wrong::Mistakes(change)) => serde_json::from_slice(document).ok().map(|mut value| {
            change(&mut value);
            value.to_string().into_bytes()
        }),
        _ => None,
    };
    let failed = |cause: String| json!({"type": "error", "message": cause});
    // The plain translator takes any kernel graph: which break a rule is the reference's answer, to the request as it stands.
    let refused = match read_translation(document) {
        Ok(request) => reference::translate(&request).err().unwrap_or_default(),
        Err(refused) => refused,
    };
    let allowed: &[&str] = match wrong {
        Some(Wrong::Allows(allowed)) => allowed,
        _ => &[],
    };
    let mut left =
        refused.iter().map(|found| found.rule.id()).filter(|rule| !allowed.contains(rule)).peekable();
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
    let translated = if is_exact {
        exact::exact(graph, request.ranks, request.rank)
    } else {
        barrier::barrier(graph, request.ranks, request.rank)
    };
    let mut value = match translated {
        Ok(value) => value,
        Err(cause) => return failed(cause.to_string()),
    };
    match wrong {
        Some(Wrong::Garbles(change)) if is_exact => change(&mut value),
        Some(Wrong::Unsound(change)) if !is_exact => change(&mut value),
        _ => {}
    }
    accept(Some(value.to_string()))
}
