//! Runs programs with CUDA kernels and answers the conformance runner: the same sources on a GPU, or on the CPU through a
//! shim.

pub mod sources;
