//! The accepted programs: clean under every class of rules, and free of warnings.

use super::library::{Base, Library};
use super::sink::Sink;
use crate::builder::Result;

mod attention;
mod caches;
mod chains;
pub mod coverage;
mod decoders;
mod fans;
pub mod large;
pub mod many;
pub mod opcodes;
mod paged;
pub mod pairs;
mod placed;
pub mod random;
mod records;
mod reuse;
pub mod rows;
mod tiles;
pub mod twice;
pub mod units;
pub mod windows;

/// Builds every accepted program. The corpus seed decides the random ones.
pub fn library(corpus_seed: u64) -> Result<Library> {
    let lists: &[fn() -> Vec<Base>] = &[
        chains::bases,
        fans::bases,
        tiles::bases,
        reuse::bases,
        attention::bases,
        caches::bases,
        decoders::bases,
        placed::bases,
        pairs::bases,
        twice::bases,
        paged::bases,
        rows::bases,
        opcodes::bases,
        units::bases,
        windows::bases,
        records::bases,
        large::bases,
        many::bases,
        coverage::bases,
    ];
    Library::new(lists.iter().flat_map(|list| list()).chain(random::bases(corpus_seed)))
}

/// One case for each accepted program.
pub fn cases(library: &Library, sink: &mut Sink) -> Result<()> {
    library.iter().try_for_each(|base| sink.base(base))
}
