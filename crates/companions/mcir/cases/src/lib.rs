//! Cases of the companion on memory-centric IR: a builder, accepted documents with their measures, semantic graphs, what is planted in them, and requests for passes.

use megakernel_corpus::companion::Companion;

pub mod bases;
pub mod build;
pub mod by_hand;
mod definition;
pub mod families;
pub mod graphs;
pub mod joins;
mod plant;
mod scenes;
mod wide;

/// What the generator of the corpus takes.
pub const COMPANION: Companion = Companion {
    name: "mcir",
    families: families::FAMILIES,
    files: families::files,
    spec_example: families::spec_example,
    measure: None,
};
