//! The documents of the companion on collective algorithms (clauses COL-01 to COL-05, COL-07 and COL-17), as their JSON states
//! them. Reading checks members, types and names, and nothing else.

mod decode;
pub mod document;

pub use decode::{Fault, read, read_algorithm};
pub use document::{
    Affine, Algorithm, Bits, Collective, CollectiveKind, Document, Dtype, Edge, Log, Module,
    ModuleDescription, Number, Op, Over, Topology, TopologyKind, Variable,
};
