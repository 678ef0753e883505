//! Cases of the profile `task-graph`: a builder of documents, the accepted documents that cases are made of, what the exact
//! translation of a kernel graph says, the families, and faults that the cases have to reject.

use megakernel_corpus::companion::Companion;

pub mod barrier;
pub mod build;
pub mod exact;
pub mod exact_current;
mod families;
pub mod faults;
pub mod kernel;
pub mod lines;

pub use families::{FAMILIES, GraphBase, GraphCases, GraphLibrary, library};

/// What the generator of the corpus takes.
pub const COMPANION: Companion = Companion {
    name: "task-graph",
    families: FAMILIES,
    files: || Ok(library()?.files()),
    spec_example: families::spec_example,
    measure: Some(faults::measure),
};
