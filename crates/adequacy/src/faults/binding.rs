//! What the host binds, and what lasts from launch to launch.

use megakernel_ir::{DType, Opcode};

use super::Fault;
use crate::kernels::Kernels;
use crate::parts::Binding;

struct Wrongly(Binding);

impl Kernels for Wrongly {
    fn steps(&self) -> &dyn Kernels {
        self
    }
    fn binding(&self) -> Binding {
        self.0
    }
}

const LAUNCHES: &[Opcode] = &[];
const NONE: &[DType] = &[];

/// A line for each: its id, the binding, and what the implementation does wrong.
macro_rules! bindings {
    ($($id:literal $binding:ident: $summary:literal;)+) => {
        pub(super) const FAULTS: &[Fault] = &[$(Fault {
            id: $id,
            summary: $summary,
            opcodes: LAUNCHES,
            outputs: NONE,
            why: "it is about launches, whatever they write",
            kernels: &Wrongly(Binding::$binding),
            needs: None,
        }),+];
    };
}

bindings! {
    "bound-by-name" ByName: "binds WEIGHT and CONST by name, whatever `source` says";
    "bound-constants-by-name" ConstByName: "binds CONST by name, whatever `source` says";
    "bound-once" Once: "binds each tensor to the first buffer that asks for it, and zeros to the others";
    "buffers-by-name" OneForAName: "takes buffers of one name for one buffer";
    "caches-bound-again" CachesBoundAgain: "binds a cache in every launch that has a tensor for it";
    "caches-bound-late" LateCachesBound: "binds a cache that a later launch is the first to list";
    "caches-by-id" CachesById: "takes a cache for the one that had its id in the launch before";
    "caches-in-order" CachesInOrder: "takes the nth cache for the nth of the launch before";
    "caches-unbound" CachesUnbound: "begins every cache with zeros";
    "caches-unlisted-dropped" UnlistedDropped: "forgets a cache that a launch does not list";
    "inputs-kept" FirstInputs: "keeps the inputs of the first launch";
    "programs-kept" FirstProgram: "keeps the program of the first launch";
    "weights-kept" FirstWeights: "keeps the weights of the first launch";
}
