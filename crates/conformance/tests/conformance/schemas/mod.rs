//! The JSON Schemas under `schemas/`: each is well formed, uses no keyword that does not exist, takes the documents under
//! `schemas/tests/<name>/pass`, refuses those under `fail` exactly where and how they say, and agrees with the enumerations of
//! the code. The corpus conforms to them.

#![allow(clippy::panic, reason = "a helper of a test fails the test")]

mod corpus;
mod documents;
mod keywords;
mod names;
mod set;
mod specification;
mod targets;
