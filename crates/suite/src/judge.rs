//! The reference as differential fuzzing asks it: answers, values and bounds, and smaller documents.

use std::borrow::Cow;
use std::collections::BTreeMap;

use megakernel_conformance::oracle::Expected;
use megakernel_corpus::oracle::{Launch, Oracle};
use megakernel_differential::{Reference, Says};
use megakernel_ir::companion::{Composed, Reference as Answers};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::protocol::{Accumulator, Answer, DocumentBytes, Method, Profile, Request, Worker};
use megakernel_ir::{Layout, write_record};
use megakernel_prove::programs::random;
use megakernel_task_graph::{System, read_system};
use megakernel_task_graph_subject::shrink::smaller;
use serde_json::Value;

use crate::companions::REFERENCES;
use crate::oracle::Vm;

/// The references of programs and of companions, each asked through the adapter that answers for it as a worker.
pub struct Judge;

/// All of them as one worker.
pub fn worker() -> Composed {
    let mut all: Vec<Box<dyn Answers>> = vec![Box::new(megakernel_reference::answer::Programs)];
    all.extend(REFERENCES.iter().map(|companion| (companion.reference)()));
    Composed::new("megakernel-reference", env!("CARGO_PKG_VERSION"), all).naming_every_rule()
}

thread_local! {
    static WORKER: std::cell::RefCell<Composed> = std::cell::RefCell::new(worker());
}

impl Oracle for Judge {
    fn run(
        &self,
        launches: &[Launch],
        accumulator: Accumulator,
    ) -> Result<Vec<BTreeMap<String, Expected>>, String> {
        Vm.run(launches, accumulator)
    }
}

impl Reference for Judge {
    fn verdict(&self, profile: Profile, document: &[u8]) -> Says {
        let document = match std::str::from_utf8(document) {
            Ok(text) => DocumentBytes::Text(Cow::Borrowed(text)),
            Err(_) => DocumentBytes::Binary(document.to_vec()),
        };
        let request = Request { method: Method::VALIDATE, profile, document, arguments: None };
        match WORKER.with_borrow_mut(|worker| worker.answer(&request)) {
            Answer::Accept { diagnostics, .. } => Says::Accept(diagnostics),
            Answer::Reject { diagnostics } => Says::Reject(diagnostics),
            Answer::Unsupported { .. } | Answer::Failed { .. } => Says::Nothing,
        }
    }

    fn smaller(&self, profile: Profile, document: &[u8]) -> Vec<String> {
        if profile != Profile::TASK_GRAPH {
            return Vec::new();
        }
        // A task graph alone is a system of one rank.
        let Ok(text) = std::str::from_utf8(document) else { return Vec::new() };
        let alone = format!("{{\"ranks\":[{text}]}}");
        let (system, is_alone) = match read_system(document) {
            Ok(system) => (Some(system), false),
            Err(_) => (read_system(alone.as_bytes()).ok(), true),
        };
        let written = |system: &System<'_>| {
            let text = write_record(system, Layout::Compact);
            match serde_json::from_str::<Value>(&text) {
                Ok(value) if is_alone => value["ranks"][0].to_string(),
                _ => text,
            }
        };
        system.map_or_else(Vec::new, |system| smaller(&system).iter().map(written).collect())
    }

    fn random_program(&self, prng: &mut SplitMix64) -> String {
        random::program(prng)
    }
}
