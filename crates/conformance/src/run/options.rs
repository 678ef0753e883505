//! What to run, and how.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use megakernel_ir::protocol::Profile;

use super::{GIVE_UP, LATE, RESTARTS, Selection};
use crate::known::Known;
use crate::stop::Stop;
use crate::worker::WorkerCommand;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The worker.
    pub command: WorkerCommand,
    /// The cases and profiles asked for.
    pub selection: Selection,
    /// How many workers at once.
    pub jobs: NonZeroUsize,
    /// What may end the run before all is played.
    pub stop: Stop,
    /// Failures that are known.
    pub known: Known,
    /// What is played before the rest.
    pub first: BTreeSet<(String, Profile)>,
    /// Whether the run ends at the first failure that is not known.
    pub fail_fast: bool,
}

impl Options {
    /// All that the worker claims, by one worker at a time.
    pub fn new(command: WorkerCommand) -> Options {
        Options {
            command,
            selection: Selection::default(),
            jobs: NonZeroUsize::MIN,
            stop: Stop::default(),
            known: Known::default(),
            first: BTreeSet::new(),
            fail_fast: false,
        }
    }

    /// How long a run may take beyond the time of the answers that come, in words.
    pub fn patience(&self) -> String {
        let WorkerCommand { timeout, handshake, .. } = &self.command;
        format!(
            "an answer may take {timeout:?} and a handshake {handshake:?}; a worker is given up after {GIVE_UP} failures in a row, \
             {LATE} answers that do not come ({:?}), or {RESTARTS:?} of starting it again",
            timeout.saturating_mul(LATE as u32)
        )
    }
}
