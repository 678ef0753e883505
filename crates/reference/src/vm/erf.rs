//! The error function in binary64, which the standard library does not have.

pub use libm::erf;
