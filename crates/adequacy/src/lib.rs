//! How well the corpus tells right from wrong: an ordinary binary32 VM, whose every step can be replaced; seeded
//! numeric [`faults`], each of which the corpus has to reject; legitimate [`variants`], none of which it may reject; and how to
//! [`measure`] that.
//!
//! The VM is written from the pages of the specification, by itself: it shares no arithmetic with the reference.

pub mod faults;
pub mod kernels;
pub mod launch;
pub mod measure;
pub mod memory;
mod opcodes;
pub mod order;
pub mod parts;
mod schedule;
pub mod variants;
pub mod worker;
