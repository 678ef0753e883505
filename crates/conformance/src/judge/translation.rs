//! Judges the graphs that an accepted sound translation returns, one from each rank.

use megakernel_ir::protocol::FromWorker;
use megakernel_task_graph_checker as check;

use super::Mismatch;
use crate::text::excerpt;

const EXPECTED: &str = "task graphs with the work of the operators that break no rule and keep the order of operators that conflict";

fn mismatch(actual: &str) -> Mismatch {
    Mismatch { expected: EXPECTED.to_owned(), actual: excerpt(actual.as_bytes()) }
}

/// What to ask, for each rank of the request.
///
/// # Errors
/// The request itself is no translation request.
pub fn requests_of_all_ranks(request: &[u8]) -> Result<Vec<String>, Mismatch> {
    check::all_ranks(request).map_err(|cause| mismatch(&cause))
}

/// Judges the answers for all ranks together.
///
/// # Errors
/// A rank has no graph, or they are not sound together; the message names the first thing that is wrong.
pub fn sound_translation(request: &[u8], answers: Vec<FromWorker>) -> Result<(), Mismatch> {
    let mut graphs = Vec::new();
    for (rank, answer) in answers.into_iter().enumerate() {
        match (answer.kind.as_str(), answer.outcome.as_deref(), answer.document) {
            ("response", Some("accept"), Some(graph)) => graphs.push(graph),
            ("response", Some("accept"), None) => {
                return Err(mismatch(&format!("rank {rank}: accept without `document`")));
            }
            ("response", Some(outcome), _) => return Err(mismatch(&format!("rank {rank}: {outcome}"))),
            _ => return Err(mismatch(&format!("rank {rank}: no outcome"))),
        }
    }
    check::sound(request, &graphs).map_err(|cause| mismatch(&cause))
}
