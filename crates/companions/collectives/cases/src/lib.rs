//! Cases of the companion on collective algorithms: algorithms written from their definitions, which know what each element ends
//! with, and what can be planted in them.

use megakernel_corpus::companion::Companion;

pub mod algorithms;
pub mod bases;
pub mod build;
pub mod expr;
pub mod families;
pub mod faults;
pub mod item;
pub mod view;

/// What the generator of the corpus takes.
pub const COMPANION: Companion = Companion {
    name: "collectives",
    families: families::FAMILIES,
    files: families::files,
    spec_example: families::spec_example,
    measure: Some(faults::measure),
};
