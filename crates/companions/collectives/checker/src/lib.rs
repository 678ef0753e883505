//! A straightforward judge of collective algorithms: every rule on logs as its sentence says it, position by position, with no
//! thought for speed.
//!
//! It never decides what a case expects. It judges the logs that a worker's module makes, of which many are right, and it gives a
//! second opinion on the cases of the corpus in the tests. Numbers of the document and its topology are taken to be right
//! (CS01 to CS04, CS15).

mod contract;
mod logs;
mod place;
mod result;
mod run;

use std::fmt;

use megakernel_collectives::Algorithm;
use megakernel_ir::Rule;

pub use contract::{CHECKER, Contracts};

/// A broken rule, and what breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The rule.
    pub rule: Rule,
    /// What was found.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.rule, self.what)
    }
}

/// Judges an algorithm, stage by stage (clause COL-01): what the first stage finds that finds anything.
pub fn judge(algorithm: &Algorithm) -> Vec<Broken> {
    let place = place::Place::new(&algorithm.topology);
    let logs = match logs::expand(algorithm, &place) {
        Ok(logs) => logs,
        Err(found) => return found,
    };
    for stage in [logs.unmatched(), logs.mismatched(), run::deadlock(&logs)] {
        if !stage.is_empty() {
            return stage;
        }
    }
    result::judge(algorithm, &place, &logs)
}
