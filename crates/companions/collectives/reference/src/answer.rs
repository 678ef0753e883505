//! From a request of the protocol to its answer (clause COL-01). The text is JSON without repeated members here: S01 and S02
//! are judged by the core.

use megakernel_collectives::{Algorithm, Document, Fault, read, read_algorithm};
use serde_json::{Value, json};

use crate::expand::expand;
use crate::network::Network;
use crate::program::Program;
use crate::results::judge;
use crate::run::{deadlock, mismatched, unmatched};
use crate::simulate::simulate;
use crate::structure;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Judge either document.
    Validate,
    /// Run an algorithm on the tiles that it carries.
    Simulate,
}

/// The answer.
#[derive(Clone, Debug)]
pub enum Answered {
    /// No rule is broken.
    Accept {
        /// Of the rules CW.
        warnings: Vec<Fault>,
        /// The tiles at the end.
        document: Option<Value>,
    },
    /// Some are.
    Reject(Vec<Fault>),
}

/// Answers a request.
pub fn answer(method: Method, value: &Value) -> Answered {
    let read = match method {
        Method::Validate => read(value),
        Method::Simulate => read_algorithm(value).map(Document::Algorithm),
    };
    match read {
        Err(found) => Answered::Reject(found),
        Ok(Document::Module(description)) => match structure::description(&description) {
            (found, warnings) if found.is_empty() => Answered::Accept { warnings, document: None },
            (found, _) => Answered::Reject(found),
        },
        Ok(Document::Algorithm(algorithm)) => match judged(&algorithm, method == Method::Simulate) {
            Err(found) => Answered::Reject(found),
            Ok((program, warnings)) => {
                let tiles = algorithm.tiles.as_deref().filter(|_| method == Method::Simulate);
                let document = tiles.map(|tiles| json!({"tiles": simulate(&program, tiles)}));
                Answered::Accept { warnings, document }
            }
        },
    }
}

/// Judges an algorithm stage by stage: its operations, and what there is to warn of.
///
/// # Errors
/// What the first stage finds that finds anything.
pub fn judged(algorithm: &Algorithm, tiles: bool) -> Result<(Program, Vec<Fault>), Vec<Fault>> {
    let (network, program, mut warnings) = matched(algorithm, tiles)?;
    clean(deadlock(&program, &network).into_iter().collect())?;
    let (found, warned) = judge(algorithm, &network, &program);
    clean(found)?;
    warnings.extend(warned);
    Ok((program, warnings))
}

fn clean(found: Vec<Fault>) -> Result<(), Vec<Fault>> {
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Judges what comes before deadlock: the elements, their operations, and warnings of those.
///
/// # Errors
/// What the first stage finds that finds anything.
pub fn matched(algorithm: &Algorithm, tiles: bool) -> Result<(Network, Program, Vec<Fault>), Vec<Fault>> {
    clean(structure::ranges(algorithm))?;
    clean(structure::topology(&algorithm.topology))?;
    let network = Network::new(&algorithm.topology);
    let log_of = structure::elements(algorithm, &network)?;
    clean(structure::tiles(algorithm, network.elements(), tiles))?;
    let (program, warnings) = expand(algorithm, &network, &log_of)?;
    clean(unmatched(&program, &network))?;
    clean(mismatched(&program, &network))?;
    Ok((network, program, warnings))
}
