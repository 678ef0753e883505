//! The reference as a worker of the protocol: judged like anyone's program.

use megakernel_ir::protocol::{Answer, Execute, Hello, Profile, Request, Worker};
use megakernel_reference::answer;

use crate::companions::COMPANIONS;

/// Answers requests about programs and about the documents of the companions.
#[derive(Debug, Default)]
pub struct Reference;

impl Worker for Reference {
    fn hello(&self) -> Hello {
        Hello { trace: true, ..Hello::new("megakernel-reference", env!("CARGO_PKG_VERSION"), &Profile::ALL) }
    }

    fn answer(&mut self, request: &Request<'_>) -> Answer {
        match COMPANIONS.iter().find(|companion| companion.profile == request.profile) {
            Some(companion) => (companion.answer)(request),
            None => answer::answer(request),
        }
    }

    fn execute(&mut self, request: &Execute<'_>) -> Answer {
        answer::execute(request)
    }
}
