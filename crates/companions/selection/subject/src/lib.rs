//! Every small request of a scope, answered by the reference and from the definitions, and the laws of SEL-26.

pub mod compare;
pub mod scope;

mod prove;

pub use compare::{Count, Disagreement, compare, run};
pub use prove::SUBJECT;
pub use scope::{Scope, scopes};
