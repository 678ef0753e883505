//! The commands of the repository, as a person meets them.

mod bundle;
mod programs;
mod release_gate;
