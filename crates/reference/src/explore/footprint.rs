//! What the tasks access (clause EXE-04), as the opcodes state it.

use megakernel_ir::BufferId;
use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::model::{Buffer, Program, Task};
use smallvec::SmallVec;

use crate::opcodes::{self, InPlace, Operands, Problems};
use crate::region::Region;

/// One access of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// The buffer.
    pub buffer: BufferId,
    /// Read or write.
    pub kind: AccessKind,
    /// What is accessed; never empty.
    pub region: Region,
    /// A read that the opcode does element by element, each before it writes the same element of its output (EXE-10).
    pub elementwise: bool,
}

/// The accesses of a task of a program without broken references, reads first.
pub(super) fn accesses(program: &Program<'_>, task: &Task<'_>) -> SmallVec<[Access; 6]> {
    let operands = Operands::new(program, task);
    let op = opcodes::op(task.op);
    let mut problems = Problems::new();
    op.shapes(&operands, &mut problems);
    // Operands that the opcode does not take have no footprint but the whole of each.
    let fits = problems.is_empty();
    let mut accesses = SmallVec::new();
    let mut push = |id: i64, kind, region: Option<Region>, elementwise| {
        if let Some(region) = region.filter(|region| !region.is_empty()) {
            accesses.push(Access { buffer: BufferId::stated(id), kind, region, elementwise });
        }
    };
    for (index, (&id, buffer)) in task.inputs.iter().zip(&operands.inputs).enumerate() {
        let whole = op.accesses(index).then(|| Region::of(buffer));
        let region = if fits { op.reads(&operands, index) } else { whole };
        push(id, AccessKind::Read, region, opcodes::in_place(task.op, index) == InPlace::Allowed);
    }
    for (index, (&id, buffer)) in task.outputs.iter().zip(&operands.outputs).enumerate() {
        let region = if fits { op.writes(&operands, index) } else { Some(Region::of(buffer)) };
        push(id, AccessKind::Write, region, false);
    }
    accesses
}

/// Calls `visit` with the first index and the number of elements of every contiguous run of a region, in row-major order.
pub(super) fn runs(buffer: &Buffer<'_>, region: &Region, mut visit: impl FnMut(u64, u64)) {
    let extent = |axis: usize| buffer.shape.get(axis).map_or(1, |&extent| extent.max(0) as u64);
    let [a, b, c, d] = region.axes().map(|[low, high]| (low.max(0) as u64, high.max(0) as u64));
    if d.0 >= d.1 {
        return;
    }
    for i in a.0..a.1 {
        for j in b.0..b.1 {
            for k in c.0..c.1 {
                let row = ((i * extent(1) + j) * extent(2) + k) * extent(3);
                visit(row + d.0, d.1 - d.0);
            }
        }
    }
}
