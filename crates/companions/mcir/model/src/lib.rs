//! Memory-centric IR as its JSON states it (clauses MCI-01 to MCI-06), and semantic graphs (MCI-18). Reading checks members, types and
//! names, and nothing else: numbers may be out of range here, and values unknown.

mod decode;
pub mod document;
pub mod graph;

pub use decode::{Fault, read};
pub use document::{
    Along, Binary, Body, Boundary, Document, Dtype, Fold, Function, Index, Init, Lifetime, Memory, Node, Op,
    Region, Residency, State, Stream, Target, Term, Tile, Unary, Update, Value,
};
pub use graph::{Graph, GraphNode, GraphOp, GraphValue, Masked, Pass, is_graph, read_graph, read_transform};
