//! What can be wrong crossed with where it can stand. A fault of a validator is seen where two axes meet: a wait in a NOP, a second
//! operand, a buffer of another kind. So each family here takes every value of one axis to several of another.

pub mod allowed;
pub mod coverage;
pub mod many;
pub mod members;
pub mod operands;
pub mod orders;
pub mod pages;
pub mod tasks;
pub mod texts;
pub mod values;
