//! The virtual machine: what an accepted program computes, and how far another implementation may lie from it.

pub mod bounded;
pub mod kernels;
pub mod sum;
