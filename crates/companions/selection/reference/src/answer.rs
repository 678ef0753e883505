//! From a request of the protocol to its answer (clause SEL-01). The text is JSON without repeated members here: S01 and
//! S02 are judged by the core.

use megakernel_ir::Rule;
use megakernel_selection::{Document, Fault, Request, read, read_request};
use serde_json::{Value, json};

use crate::beam::beam;
use crate::explain::Explainer;
use crate::kernels::Kernels;
use crate::plan::{Region, document};
use crate::review_rules::review;
use crate::stream::{Listener, Selector, Stuck};
use crate::structure;
use crate::warnings::warnings;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Judge any document.
    Validate,
    /// Make a plan.
    Select,
    /// Explain the walk with one state.
    Explain,
}

/// The answer.
#[derive(Clone, Debug)]
pub enum Answered {
    /// No rule is broken.
    Accept {
        /// Of the rules KW.
        warnings: Vec<Fault>,
        /// A plan or an explanation.
        document: Option<Value>,
    },
    /// Some are.
    Reject(Vec<Fault>),
}

/// Answers a request.
pub fn answer(method: Method, value: &Value) -> Answered {
    let read = match method {
        Method::Validate => read(value),
        Method::Select | Method::Explain => read_request(value).map(Document::Request),
    };
    let read = match read {
        Ok(read) => read,
        Err(faults) => return Answered::Reject(faults),
    };
    let found = rules(&read);
    if !found.is_empty() {
        return Answered::Reject(found);
    }
    let mut warned = Vec::new();
    let document = match &read {
        Document::Sequence(_) => None,
        Document::Index(index) => {
            warnings(index, "", &mut warned);
            None
        }
        Document::Request(request) => {
            warnings(&request.index, "/index", &mut warned);
            match produced(method, request) {
                Ok(document) => document,
                Err(fault) => return Answered::Reject(vec![fault]),
            }
        }
        Document::Review(given) => {
            let kernels = kernels(&given.request);
            let found = review(given, &kernels);
            if !found.is_empty() {
                return Answered::Reject(found);
            }
            warnings(&given.request.index, "/index", &mut warned);
            None
        }
    };
    Answered::Accept { warnings: warned, document }
}

/// The rules KS, and if none is broken KQ and KI.
fn rules(document: &Document) -> Vec<Fault> {
    let (sequence, index, options, at) = match document {
        Document::Sequence(sequence) => (Some(sequence), None, None, ""),
        Document::Index(index) => (None, Some(index), None, ""),
        Document::Request(request) | Document::Review(megakernel_selection::Review { request, .. }) => {
            (Some(&request.sequence), Some(&request.index), Some(&request.options), "/")
        }
    };
    let [of_sequence, of_index] = if at.is_empty() { ["", ""] } else { ["/sequence", "/index"] };
    let mut found = Vec::new();
    sequence.inspect(|sequence| structure::sequence(sequence, of_sequence, &mut found));
    index.inspect(|index| structure::index(index, of_index, &mut found));
    options.inspect(|options| structure::options(options, "", &mut found));
    if found.is_empty() {
        sequence.inspect(|sequence| structure::computable(sequence, of_sequence, &mut found));
        index.inspect(|index| structure::choosable(index, of_index, &mut found));
    }
    found
}

/// The index of a request, prepared for its machine.
pub fn kernels(request: &Request) -> Kernels {
    Kernels::new(&request.index, request.options.machine.as_ref())
}

/// The plan of a request that breaks no rule.
///
/// # Errors
/// Where there is none.
pub fn plan(request: &Request, kernels: &Kernels) -> Result<Vec<Region>, Stuck> {
    let size = |number: i64| usize::try_from(number).unwrap_or(1);
    let (limit, width) = (size(request.options.limit), size(request.options.beam));
    if width > 1 {
        return beam(kernels, &request.sequence, limit, width);
    }
    let mut regions = Vec::new();
    walk(request, kernels, limit, &mut regions)?;
    Ok(regions)
}

fn walk(
    request: &Request,
    kernels: &Kernels,
    limit: usize,
    listener: &mut impl Listener,
) -> Result<(), Stuck> {
    let mut selector = Selector::new(kernels, limit);
    for op in &request.sequence.ops {
        selector.push(op, listener)?;
    }
    selector.end(listener)
}

fn produced(method: Method, request: &Request) -> Result<Option<Value>, Fault> {
    let kernels = kernels(request);
    let stuck = |stuck: Stuck| {
        let message = if stuck.begins {
            format!("no kernel takes op {}", stuck.op)
        } else {
            format!("no kernel completes a region from op {}", stuck.op)
        };
        let fault = Fault::new(Rule::KN01, format!("/sequence/ops/{}", stuck.op), message);
        if method == Method::Explain || request.options.beam == 1 {
            shown(fault, &stuck, request, &kernels)
        } else {
            fault
        }
    };
    match method {
        Method::Validate => Ok(None),
        Method::Select => {
            let regions = plan(request, &kernels).map_err(stuck)?;
            Ok(Some(document(&regions, &|kernel| kernels.id(kernel).to_owned())))
        }
        Method::Explain => {
            let limit = usize::try_from(request.options.limit).unwrap_or(1);
            let mut explainer = Explainer::new(&kernels);
            walk(request, &kernels, limit, &mut explainer).map_err(stuck)?;
            Ok(Some(json!({"steps": explainer.steps})))
        }
    }
}

/// The fault, with the ops of the region in which the walk is stuck and the kernels that were viable for it.
fn shown(fault: Fault, stuck: &Stuck, request: &Request, kernels: &Kernels) -> Fault {
    if stuck.begins {
        return fault.shown_by([stuck.op], []);
    }
    let mut explainer = Explainer::new(kernels);
    // It comes to the same op as before.
    let _ = walk(request, kernels, usize::try_from(request.options.limit).unwrap_or(1), &mut explainer);
    let step = explainer.steps.last();
    let last = step.and_then(|step| usize::try_from(step.get("op")?.as_u64()?).ok()).unwrap_or(stuck.op);
    let viable = step.and_then(|step| step.get("viable")?.as_array()).map(Vec::as_slice).unwrap_or_default();
    fault.shown_by(stuck.op..=last, viable.iter().filter_map(Value::as_str))
}
