//! How the lines of a list of known failures bore out.

use megakernel_ir::protocol::Profile;
use serde::{Deserialize, Serialize};

use super::results::{Ended, Played};
use super::{FailureKind, Report};
use crate::known::Known;

/// A line of the list whose unit was selected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownResult {
    /// The case.
    pub case: String,
    /// Under which profile.
    pub profile: Profile,
    /// Why it is known to fail.
    pub reason: String,
    /// What came of it.
    pub ended: KnownEnd,
}

/// How a unit ended that is known to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KnownEnd {
    /// As known.
    Failed,
    /// So that the line is wrong.
    Passed,
    /// Not judged, or not asked.
    Skipped,
}

/// The lines that were selected.
pub(super) fn of(known: &Known, results: &[Played<'_>]) -> Vec<KnownResult> {
    let line = |(unit, ended): &Played<'_>| {
        let reason = known.reason(&unit.case.id, unit.profile)?;
        let ended = match ended {
            Ended::Passed => KnownEnd::Passed,
            Ended::Failed(failure) if failure.known.is_some() => KnownEnd::Failed,
            Ended::Failed(_) | Ended::Skipped(_) => KnownEnd::Skipped,
        };
        Some(KnownResult {
            case: unit.case.id.clone(),
            profile: unit.profile,
            reason: reason.to_owned(),
            ended,
        })
    };
    results.iter().filter_map(line).collect()
}

impl Report {
    /// The list of known failures after this run: what failed, with the reasons of the list before, and its cause where it was
    /// not there; and the lines of the list before that were not judged.
    ///
    /// # Errors
    /// The worker was not asked about everything, so that it is not known what fails.
    pub fn known_failures(&self, before: &Known) -> Result<Known, String> {
        if let Some(failure) = self.failures.iter().find(|failure| failure.kind == FailureKind::NotAsked) {
            return Err(format!("it is not known what fails: {}", failure.actual));
        }
        let mut known = before.clone();
        for passed in self.passed_though_known() {
            known.remove(&passed.case, passed.profile);
        }
        for failure in self.failures.iter().filter(|failure| failure.known.is_none()) {
            known.insert(&failure.case, failure.profile, &failure.cause);
        }
        Ok(known)
    }
}
