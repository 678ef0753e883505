//! The accepted programs: clean under every class of rules, and free of warnings.

use super::library::{Base, Library};
use super::sink::Sink;
use crate::builder::Result;

mod chains;
mod fans;
mod tiles;

/// Builds every accepted program.
pub fn library() -> Result<Library> {
    let lists: &[fn() -> Vec<Base>] = &[chains::bases, fans::bases, tiles::bases];
    Library::new(lists.iter().flat_map(|list| list()))
}

/// One case for each accepted program.
pub fn cases(library: &Library, sink: &mut Sink) -> Result<()> {
    library.iter().try_for_each(|base| sink.base(base))
}
