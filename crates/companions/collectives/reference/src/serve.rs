//! The profile `collectives` among the profiles of the reference.

use megakernel_ir::companion::Reference;
use megakernel_ir::protocol::{Answer, Method as Asked, Profile, Request};
use megakernel_ir::{Diagnostic, read_value};

use crate::answer::{Answered, Method, answer};

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
    let method = match request.method {
        Asked::VALIDATE => Method::Validate,
        Asked::SIMULATE => Method::Simulate,
        other => {
            return Answer::Unsupported { reason: format!("collective algorithms have no method `{other}`") };
        }
    };
    let value = match read_value(request.document.as_bytes()) {
        Ok(value) => value,
        Err(diagnostics) => return Answer::Reject { diagnostics },
    };
    match answer(method, &value) {
        Answered::Accept { warnings, document } => Answer::Accept {
            diagnostics: warnings.into_iter().map(Diagnostic::from).collect(),
            document: document.map(|document| document.to_string()),
        },
        Answered::Reject(faults) => {
            Answer::Reject { diagnostics: faults.into_iter().map(Diagnostic::from).collect() }
        }
    }
}
