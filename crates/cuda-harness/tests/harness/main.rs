//! The harness from outside: what it computes, what it says, and that the corpus finds faults in kernels.

mod bandwidth;
mod blocks;
mod cuda;
mod examples;
mod facts;
mod faults;
mod fragments;
mod functions;
mod given;
mod groups;
mod host;
mod litmus;
mod mcir;
mod nvrtc;
mod phases;
mod ptx;
mod spinning;
mod strangers;
mod support;
mod tensor_memory;
mod tensor_mistakes;
mod translated;
mod warpgroups;
mod windows;
mod workers;
