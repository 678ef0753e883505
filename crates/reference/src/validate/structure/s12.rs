//! S12 abi-capacity: what fits the fixed arrays of the ABI records (clause DAT-09).

use megakernel_ir::Rule;
use megakernel_ir::model::{Buffer, Task};
use megakernel_order::Findings;

use crate::region::MAX_RANK;

/// Inputs of a task.
pub(super) const MAX_INPUTS: usize = 8;
/// Outputs of a task.
pub(super) const MAX_OUTPUTS: usize = 4;
/// Waits of a task.
const MAX_WAITS: usize = 8;

pub(super) fn task(index: usize, task: &Task<'_>, findings: &mut Findings) {
    let counts = [
        ("inputs", task.inputs.len(), MAX_INPUTS),
        ("outputs", task.outputs.len(), MAX_OUTPUTS),
        ("waits", task.waits.len(), MAX_WAITS),
    ];
    for (list, found, capacity) in counts {
        if found > capacity {
            let message = format!("{found} {list}; the ABI record of a task holds {capacity}");
            findings.broken(Rule::S12, format!("/tasks/{index}/{list}"), message);
        }
    }
}

pub(super) fn buffer(index: usize, buffer: &Buffer<'_>, findings: &mut Findings) {
    let rank = buffer.shape.len();
    if rank > MAX_RANK {
        let message = format!("rank {rank}; the ABI record of a buffer holds {MAX_RANK} extents");
        findings.broken(Rule::S12, format!("/buffers/{index}/shape"), message);
    }
}
