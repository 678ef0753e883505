//! Cases of the companion on online kernel selection: a builder of documents, the families, and the selector that says what
//! they expect, written from the definitions alone.

use megakernel_corpus::companion::Companion;

pub mod build;
pub mod definition;
pub mod families;
pub mod faults;
pub mod item;

/// What the generator of the corpus takes.
pub const COMPANION: Companion = Companion {
    name: "selection",
    families: families::FAMILIES,
    files: families::files,
    spec_example: families::spec_example,
    measure: Some(faults::measure),
};
