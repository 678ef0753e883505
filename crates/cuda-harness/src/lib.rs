//! Runs programs with CUDA kernels and answers the conformance runner.
//!
//! The kernels are the C++ sources in `cuda/`. They run on a GPU, or on the CPU through a shim; see the README of the crate.

pub mod cuda;
pub mod device;
mod footprint;
pub mod given;
pub mod host;
mod image;
mod includes;
mod memory;
mod place;
mod plan;
mod progress;
mod repeat;
mod run;
mod runner;
pub mod session;
pub mod sources;
mod stuck;
pub mod worker;
