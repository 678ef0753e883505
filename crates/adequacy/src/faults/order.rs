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

    "counter-in-8-bits": "counts producers in 8 bits", LAUNCHES, NONE, ORDER {
        fn reached(&self, count: u64, threshold: u64) -> bool {
            count >= threshold % 256
        }
        fn pick(&self, n: usize, _: u64) -> usize {
            n.saturating_sub(1)
        }
    }

    "counter-of-31": "starts a task when 31 producers of a counter have finished, and tasks in the order of the list",
        LAUNCHES, NONE, ORDER {
        fn reached(&self, count: u64, threshold: u64) -> bool {
            count >= threshold.min(31)
        }
    }

    "counter-of-127": "starts a task when 127 producers of a counter have finished, and tasks in the order of the list",
        LAUNCHES, NONE, ORDER {
        fn reached(&self, count: u64, threshold: u64) -> bool {
            count >= threshold.min(127)
        }
    }

    "counter-of-16": "starts a task when 16 producers of a counter have finished", LAUNCHES, NONE, ORDER {
        fn reached(&self, count: u64, threshold: u64) -> bool {
            count >= threshold.min(16)
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
        fn waits_for(&self, index: usize) -> bool {
            index == 0
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

    "wait-0-ignored": "does not look at the first wait of a task, and starts tasks in the order of the list",
        LAUNCHES, NONE, ORDER {
        fn waits_for(&self, index: usize) -> bool {
            index != 0
        }
    }

    "wait-1-ignored": "does not look at the second wait of a task, and starts tasks in the order of the list",
        LAUNCHES, NONE, ORDER {
        fn waits_for(&self, index: usize) -> bool {
            index != 1
        }
    }

    "wait-2-ignored": "does not look at the third wait of a task, and starts tasks in the order of the list",
        LAUNCHES, NONE, ORDER {
        fn waits_for(&self, index: usize) -> bool {
            index != 2
        }
    }

    "wait-3-ignored": "does not look at the fourth wait of a task, and starts tasks in the order of the list",
        LAUNCHES, NONE, ORDER {
        fn waits_for(&self, index: usize) -> bool {
            index != 3
        }
    }

    "wait-4-ignored": "does not look at the fifth wait of a task, and starts tasks in the order of the list",
        LAUNCHES, NONE, ORDER {
        fn waits_for(&self, index: usize) -> bool {
            index != 4
        }
    }

    "wait-5-ignored": "does not look at the sixth wait of a task, and starts tasks in the order of the list",
        LAUNCHES, NONE, ORDER {
        fn waits_for(&self, index: usize) -> bool {
            index != 5
        }
    }

    "wait-6-ignored": "does not look at the seventh wait of a task, and starts tasks in the order of the list",
        LAUNCHES, NONE, ORDER {
        fn waits_for(&self, index: usize) -> bool {
            index != 6
        }
    }

    "wait-7-ignored": "does not look at the eighth wait of a task, and starts tasks in the order of the list",
        LAUNCHES, NONE, ORDER {
        fn waits_for(&self, index: usize) -> bool {
            index != 7
        }
    }
}
