//! The reference of the companion on online kernel selection: rows, kernels, the streaming selector, the beam and the
//! optimum, explanations, and the rules (`spec/companions/selection`).

pub mod answer;
pub mod automaton;
pub mod beam;
mod commands;
pub mod draw;
pub mod explain;
pub mod kernel_graph;
pub mod kernels;
#[cfg(test)]
mod laws;
pub mod optimum;
pub mod plan;
pub mod review_rules;
pub mod rows;
pub mod serve;
pub mod shape;
pub mod stream;
mod structure;
mod warnings;

pub use answer::{Answered, Method, answer, plan};
pub use commands::COMPANION;
pub use review_rules::review;
