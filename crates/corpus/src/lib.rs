//! The generator of the corpus: a builder of programs, the families of cases, and the files that they become.
//!
//! Verdicts are declared by construction. What an oracle adds are values and bounds, and it is passed in
//! ([`oracle`]).

pub mod builder;
pub mod companion;
pub mod edit;
pub mod families;
pub mod generate;
pub mod oracle;
