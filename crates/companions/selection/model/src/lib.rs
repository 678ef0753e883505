//! The documents of the companion on online kernel selection (clauses SEL-01 to SEL-04 and SEL-13): operator sequences,
//! kernel indices, requests, plans and reviews, as their JSON states them. Reading checks members, types and names, and
//! nothing else; [`Rational`] holds costs exactly.

mod decode;
pub mod document;
pub mod names;
pub mod rational;

pub use decode::{Fault, read, read_index, read_request, read_sequence};
pub use document::{
    Constraints, Cost, Document, GivenPlan, GivenRegion, Index, Kernel, Machine, Op, Options, Request,
    Review, RoleRange, Rows, Sequence, Stage, Term, Write,
};
pub use names::{Activation, Core, Dtype, Flag, Flags, Linearity, Marker, Reason, Trigger};
pub use rational::Rational;
