//! Launches: the order of tasks, and what is left from one launch to the next.

use megakernel_ir::{DType, Opcode};

use super::Fault;
use crate::kernels::Kernels;

const LAUNCHES: &[Opcode] = &[];
const NONE: &[DType] = &[];
const LAUNCH: &str = "it is about launches, whatever they write";
const ORDER: &str = "it is about the order of tasks, whatever they write";

faults! {
    "caches-cleared": "clears the caches between launches", LAUNCHES, NONE, LAUNCH {
        fn keeps_caches(&self) -> bool {
            false
        }
    }

    "counter-before-write": "increments the counter before the writes of the task are visible",
        LAUNCHES, NONE, ORDER {
        fn writes_first(&self) -> bool {
            false
        }
        fn pick(&self, n: usize, _: u64) -> usize {
            n.saturating_sub(1)
        }
    }

    "counters-kept": "does not reset the counters between launches", LAUNCHES, NONE, ORDER {
        fn resets_counters(&self) -> bool {
            false
        }
        fn pick(&self, n: usize, _: u64) -> usize {
            n.saturating_sub(1)
        }
    }

    "waits-any-producer": "starts a task when the first producer of a counter has finished",
        LAUNCHES, NONE, ORDER {
        fn reached(&self, count: u64, threshold: u64) -> bool {
            count >= threshold.min(1)
        }
        fn pick(&self, n: usize, _: u64) -> usize {
            n.saturating_sub(1)
        }
    }

    "waits-first-only": "looks at the first wait of a task only", LAUNCHES, NONE, ORDER {
        fn waits(&self, n: usize) -> usize {
            n.min(1)
        }
        fn pick(&self, n: usize, _: u64) -> usize {
            n.saturating_sub(1)
        }
    }

    "waits-one-less": "starts a task when all producers of a counter but one have finished",
        LAUNCHES, NONE, ORDER {
        fn reached(&self, count: u64, threshold: u64) -> bool {
            count + 1 >= threshold
        }
        fn pick(&self, n: usize, _: u64) -> usize {
            n.saturating_sub(1)
        }
    }
}
