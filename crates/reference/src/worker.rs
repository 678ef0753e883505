//! The reference as a worker of the protocol: judged like anyone's program.

use megakernel_ir::protocol::{Answer, Hello, Method, Profile, Request, Worker};
use megakernel_ir::{Layout, read, write};

use crate::validate::{Classes, validate};

/// Answers requests with the verdicts of [`validate`].
#[derive(Debug, Default)]
pub struct Reference;

impl Worker for Reference {
    fn hello(&self) -> Hello {
        Hello::new("megakernel-reference", env!("CARGO_PKG_VERSION"), &Profile::STATIC)
    }

    fn answer(&mut self, request: &Request<'_>) -> Answer {
        let document = request.document.as_bytes();
        let verdict = validate(document, Classes::of_profile(request.profile));
        if !verdict.accepts() {
            return Answer::Reject { diagnostics: verdict.diagnostics };
        }
        let document = match request.method {
            Method::Validate | Method::Execute => None,
            Method::Roundtrip => read(document).ok().map(|program| write(&program, Layout::Indent(2))),
        };
        Answer::Accept { diagnostics: verdict.diagnostics, document }
    }
}
