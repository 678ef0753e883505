//! The commands for people.

mod excerpt;
pub mod replay;
pub mod validate;
