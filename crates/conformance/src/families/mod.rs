//! The case families. Accepted programs are in [`accept`]; every other module makes cases out of them by single
//! edits, or out of text.

pub mod accept;
mod deadlock;
mod library;
mod race;
mod sink;
mod spec_examples;

pub use library::{Base, Library};
pub use sink::{GENERATOR, Sink};
pub use spec_examples::spec_examples;

use crate::builder::Result;

/// One family of cases.
#[derive(Clone, Copy)]
pub struct Family {
    /// The id, which starts the id of each of its cases.
    pub id: &'static str,
    /// Writes the cases.
    pub cases: fn(&Library, &mut Sink) -> Result<()>,
}

/// Every family besides the examples of the specification.
pub fn all() -> Vec<Family> {
    let table: &[(&'static str, fn(&Library, &mut Sink) -> Result<()>)] = &[
        ("accept", accept::cases),
        ("deadlock/wait-without-producer", deadlock::wait_without_producer),
        ("deadlock/threshold-above-producers", deadlock::threshold_above_producers),
        ("deadlock/self-wait", deadlock::self_wait),
        ("deadlock/dependency-cycle", deadlock::dependency_cycle),
        ("race/first-k-of-n", race::first_k_of_n),
        ("race/drop-wait", race::drop_wait),
        ("race/some-tiles-unordered", race::some_tiles_unordered),
    ];
    table.iter().map(|&(id, cases)| Family { id, cases }).collect()
}
