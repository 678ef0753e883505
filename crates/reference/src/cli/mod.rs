//! The commands for people.

mod excerpt;
pub mod replay;
pub mod run;
pub mod validate;
