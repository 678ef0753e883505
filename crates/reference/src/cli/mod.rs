//! The commands for people.

mod excerpt;
pub mod validate;
