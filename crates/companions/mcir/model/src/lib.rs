//! Memory-centric IR as its JSON states it (clauses MCI-01 to MCI-06), semantic graphs (MCI-18), requests for passes (MCI-20), and Kernel IR (MCI-28). Reading checks members, types and
//! names, and nothing else: numbers may be out of range here, and values unknown.

mod decode;
pub mod document;
pub mod graph;
pub mod kernel;
pub mod passes;
mod stream;

pub use decode::{Fault, read};
pub use document::{
    Along, Binary, Body, Boundary, Document, Dtype, Fold, Function, Index, Init, Lifetime, Mask, Memory,
    Node, Op, Region, Residency, Sizes, State, Stream, Target, Term, Tile, Unary, Update, Value,
};
pub use graph::{Graph, GraphNode, GraphOp, GraphValue, Masked, is_graph, read_graph};
pub use kernel::{Kernels, read_kernels};
pub use passes::{Pass, Request, Source, read_transform};
pub use stream::read_text;
