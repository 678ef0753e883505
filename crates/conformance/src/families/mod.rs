//! The case families. Accepted programs are in [`accept`]; every other module makes cases out of them by single
//! edits, or out of text.

pub mod accept;
mod library;
mod sink;

pub use library::{Base, Library};
pub use sink::{GENERATOR, Sink};

use crate::builder::Result;

/// One family of cases.
#[derive(Clone, Copy)]
pub struct Family {
    /// The id, which starts the id of each of its cases.
    pub id: &'static str,
    /// Writes the cases.
    pub cases: fn(&Library, &mut Sink) -> Result<()>,
}

/// Every family besides the accepted programs.
pub fn all() -> Vec<Family> {
    Vec::new()
}
