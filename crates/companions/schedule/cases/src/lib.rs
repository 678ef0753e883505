//! Cases of the companion on schedules: documents from short texts, and the families.

use megakernel_corpus::companion::Companion;

pub mod build;
pub mod families;
mod faults;
mod log;

/// What the generator of the corpus takes.
pub const COMPANION: Companion = Companion {
    name: "schedule",
    families: families::FAMILIES,
    // The documents are small, and stand in the cases.
    files: || Ok(Vec::new()),
    spec_example: families::spec_example,
    measure: Some(faults::measure),
};
