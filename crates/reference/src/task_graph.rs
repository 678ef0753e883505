//! MPK task graphs: judging, translating, and the bridge to programs (companion specification, clauses TGR).

use megakernel_ir::protocol::{Answer, Request};

/// Answers a request of the profile `task-graph`.
pub fn answer(request: &Request<'_>) -> Answer {
    Answer::Unsupported {
        reason: format!("method `{}` is not implemented for task graphs", request.method.name()),
    }
}
