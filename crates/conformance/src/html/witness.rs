//! Witnesses of what a worker did not find (clause CON-10): what somebody who finds it shows of the same document.

use megakernel_ir::companion::Question;
use megakernel_ir::protocol::{Method, Profile};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::case::{Case, Verdict};
use crate::stop::Stop;
use crate::worker::{WorkerCommand, WorkerProcess};

/// Somebody to be asked for witnesses, such as the reference. It is started when the first one is needed, and not asked again once it has
/// failed: a page can do without.
#[derive(Default)]
pub struct Witnesses {
    command: Option<WorkerCommand>,
    stop: Stop,
    worker: Option<WorkerProcess>,
}

impl Witnesses {
    /// Of this worker. By default nobody is asked.
    pub fn of(command: WorkerCommand, stop: Stop) -> Witnesses {
        Witnesses { command: Some(command), stop, worker: None }
    }

    /// The witness of a rejection for a rule that the case names, with rule and message.
    pub(super) fn find(&mut self, case: &Case, profile: Profile, document: &[u8]) -> Option<Value> {
        if case.method != Method::VALIDATE || case.expect.verdict != Verdict::Reject {
            return None;
        }
        if let Some(command) = self.command.take() {
            self.worker = WorkerProcess::start(&command, &self.stop).ok().map(|(worker, _)| worker);
        }
        let question =
            Question { method: case.method, document, arguments: case.arguments.as_ref(), anew: false };
        match self.worker.as_mut()?.answer_in_full(profile, &question) {
            Ok((_, line)) => of_answer(&line, case),
            Err(_) => {
                self.worker = None;
                None
            }
        }
    }
}

/// Of an answer no more than this: all else about it is compared elsewhere.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    diagnostics: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    rule: String,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    witness: Option<Value>,
}

fn of_answer(line: &[u8], case: &Case) -> Option<Value> {
    let answer: Answer = serde_json::from_slice(line).ok()?;
    let named = |found: &Found| case.expect.rules.iter().any(|rule| rule.id() == found.rule);
    let found = answer.diagnostics.into_iter().find(|found| found.witness.is_some() && named(found))?;
    Some(json!({ "rule": found.rule, "message": found.message, "witness": found.witness }))
}
