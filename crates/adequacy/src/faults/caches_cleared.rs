//! `caches-cleared`: clears the caches between launches.

use super::Fault;
use crate::kernels::Kernels;

/// The fault.
pub const FAULT: Fault = Fault {
    id: "caches-cleared",
    summary: "clears the caches between launches",
    opcodes: &[],
    outputs: &[],
    why: "it is about launches, whatever they write",
    kernels: &CachesCleared,
};

struct CachesCleared;

impl Kernels for CachesCleared {
    fn keeps_caches(&self) -> bool {
        false
    }
}
