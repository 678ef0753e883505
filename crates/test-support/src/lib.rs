//! What the tests and benchmarks of all crates share. Of our crates it depends on the reader of the specification alone, so that
//! all may use it.
//!
//! Whatever is missing fails the test that asked for it, with a sentence: a test is never green because something was absent.

// This crate is part of tests: to panic is how a test fails.
#![allow(clippy::panic)]

pub mod cases;
pub mod files;
pub mod fixtures;
pub mod part;
pub mod python;
pub mod schemas;
pub mod spec;
pub mod tools;

use std::path::PathBuf;

/// The root of the repository.
pub fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root.pop();
    root
}
