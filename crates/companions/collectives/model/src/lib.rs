//! The documents of the companion on collective algorithms (clauses COL-01 to COL-05, COL-07, COL-17 and COL-21), as their JSON states
//! them. Reading checks members, types and names, and nothing else.

mod decode;
pub mod document;

pub use decode::{Fault, read, read_algorithm, read_launch};
pub use document::{
    Affine, Algorithm, Bits, Collective, CollectiveKind, Document, Dtype, Edge, LaunchRequest, Log, Module,
    ModuleDescription, Number, Op, Over, Topology, TopologyKind, Variable,
};
