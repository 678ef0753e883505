//! Task graphs: a builder of documents, the accepted graphs that cases are made of, what the exact translation of a kernel
//! graph says, and a straightforward judge of graphs, which cases of the sound translation are judged by.

pub mod barrier;
pub mod build;
pub mod check;
pub mod exact;
pub mod kernel;
