//! The profile `collectives` among the profiles of the reference.

use megakernel_collectives::Fault;
use megakernel_ir::companion::Reference;
use megakernel_ir::protocol::{Answer, Method as Asked, Profile, Request};
use megakernel_ir::{Diagnostic, read_value};

use serde_json::Value;

use crate::answer::{Answered, Method, answer};
use crate::launch;

/// Answers the requests of the profile `collectives`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collectives;

impl Reference for Collectives {
    fn profiles(&self) -> &[Profile] {
        &[Profile::COLLECTIVES]
    }

    fn answer(&mut self, request: &Request<'_>) -> Answer {
        serve(request)
    }
}

/// Answers a request of the profile `collectives`.
pub fn serve(request: &Request<'_>) -> Answer {
    let value = || read_value(request.document.as_bytes());
    let answered = match request.method {
        Asked::VALIDATE => value().map(|value| judged(Method::Validate, &value)),
        Asked::SIMULATE => value().map(|value| judged(Method::Simulate, &value)),
        Asked::DESCRIBE => value().map(|value| launched(launch::Method::Describe, &value)),
        Asked::KERNEL_ARGS => value().map(|value| launched(launch::Method::KernelArgs, &value)),
        Asked::LAUNCH => value().map(|value| launched(launch::Method::Launch, &value)),
        other => {
            return Answer::Unsupported { reason: format!("collective algorithms have no method `{other}`") };
        }
    };
    answered.unwrap_or_else(|diagnostics| Answer::Reject { diagnostics })
}

fn reject(faults: Vec<Fault>) -> Answer {
    Answer::Reject { diagnostics: faults.into_iter().map(Diagnostic::from).collect() }
}

fn judged(method: Method, value: &Value) -> Answer {
    match answer(method, value) {
        Answered::Accept { warnings, document } => Answer::Accept {
            diagnostics: warnings.into_iter().map(Diagnostic::from).collect(),
            document: document.map(|document| document.to_string()),
        },
        Answered::Reject(faults) => reject(faults),
    }
}

fn launched(method: launch::Method, value: &Value) -> Answer {
    match launch::launch(method, value) {
        launch::Answered::Accept(document) => {
            Answer::Accept { diagnostics: Vec::new(), document: Some(document.to_string()) }
        }
        launch::Answered::Reject(faults) => reject(faults),
        launch::Answered::Unsupported(reason) => Answer::Unsupported { reason },
    }
}
