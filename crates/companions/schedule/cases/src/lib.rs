//! Cases of the companion on schedules: documents from short texts, and the families.

use megakernel_corpus::companion::Companion;

pub mod build;
pub mod families;
mod faults;
mod log;

/// How a schedule can be misread: the faults by their ids, and what they are made of.
pub mod changes {
    pub use crate::faults::changes::{
        ACCESSES, COUNTS, entries, event_names, keep, kind_for, phases, put, taken_for, tensors,
    };
    pub use crate::faults::misread;
}

/// What the generator of the corpus takes.
pub const COMPANION: Companion = Companion {
    name: "schedule",
    families: families::FAMILIES,
    // The documents are small, and stand in the cases.
    files: || Ok(Vec::new()),
    spec_example: families::spec_example,
    measure: Some(faults::measure),
};
