//! From a document to tables that can be run without looking anything up by name.

use std::collections::{BTreeMap, HashMap};

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::model::{Buffer, Program, Task};
use megakernel_ir::rule::Class;
use megakernel_ir::{BufferId, BufferKind, CounterId, Diagnostic, TaskId};
use smallvec::SmallVec;

use super::fault::{Access, Fault, NoStorage};
use crate::opcodes::{self, InPlace, Operands, Place, Problems};
use crate::region::Region;
use crate::validate::{Classes, validate_program};

/// An access of a task as its opcode states it (clause EXE-04).
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub access: Access,
    /// Elements of the buffer; never empty.
    pub region: Region,
    /// A read of elements each of which the opcode reads before it writes the same element of its output (EXE-10).
    pub elementwise: bool,
}

/// Where a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// Nobody can write it: nothing to keep a history of.
    ReadOnly,
    /// Of its own.
    Own,
    /// On a page, from its first byte on.
    Page(usize),
    /// Nowhere.
    Missing(NoStorage),
}

/// Tasks that wait for a counter, by what they wait for.
#[derive(Clone, Debug, Default)]
pub(super) struct CounterTable {
    /// Thresholds in rising order, each with a task; a task as often as it waits.
    pub waiters: Vec<(i64, TaskId)>,
    /// How many tasks increment it.
    pub producers: usize,
}

/// Where a task stands in its queue (clause EXE-02).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queued {
    pub previous: Option<TaskId>,
    pub next: Option<TaskId>,
    /// The queue is that of an SM that the target does not have.
    pub nowhere: bool,
}

/// A program that can be run.
#[derive(Debug)]
pub struct Loaded<'p> {
    program: &'p Program<'p>,
    pub(super) planned: Vec<SmallVec<[Planned; 4]>>,
    pub(super) storage: Vec<Storage>,
    pub(super) counters: Vec<CounterTable>,
    pub(super) queued: Vec<Queued>,
    /// Tasks whose opcode gives no meaning to their operands.
    pub(super) undefined: BTreeMap<TaskId, Fault>,
}

impl<'p> Loaded<'p> {
    /// Loads a program that breaks no rule of the classes S, D, R, P and M.
    ///
    /// Class L is left out: it is about block sizes and shared memory of a device, and this machine has none.
    ///
    /// # Errors
    /// Everything that the validator finds in these classes.
    pub fn load(program: &'p Program<'p>) -> Result<Loaded<'p>, Vec<Diagnostic>> {
        let classes = [Class::STRUCTURE, Class::DEADLOCK, Class::RACE, Class::PAGES, Class::MEMORY_SAFETY];
        Loaded::judged(program, Classes::of(&classes))
    }

    /// Loads a program that breaks no S rule, whatever else is wrong with it. Running it tells.
    ///
    /// # Errors
    /// The S rules that it breaks.
    pub fn load_unchecked(program: &'p Program<'p>) -> Result<Loaded<'p>, Vec<Diagnostic>> {
        Loaded::judged(program, Classes::of(&[Class::STRUCTURE]))
    }

    fn judged(program: &'p Program<'p>, classes: Classes) -> Result<Loaded<'p>, Vec<Diagnostic>> {
        let verdict = validate_program(program, classes);
        if !verdict.accepts() {
            return Err(verdict.diagnostics.into_iter().filter(Diagnostic::is_error).collect());
        }
        let (planned, undefined) = plan(program);
        Ok(Loaded {
            program,
            planned,
            storage: program.buffers_by_id().map(|(id, buffer)| storage(program, id, buffer)).collect(),
            counters: counters(program),
            queued: queues(program),
            undefined,
        })
    }

    /// The program.
    pub fn program(&self) -> &'p Program<'p> {
        self.program
    }

    /// The elements of its output that a task writes; nothing for a task that writes nothing.
    pub fn written(&self, task: TaskId) -> Option<(BufferId, Region)> {
        let planned = self.planned.get(task.index())?;
        let write = planned.iter().find(|planned| planned.access.kind == AccessKind::Write)?;
        Some((write.access.buffer, write.region))
    }
}

type Plans = (Vec<SmallVec<[Planned; 4]>>, BTreeMap<TaskId, Fault>);

fn plan(program: &Program<'_>) -> Plans {
    let mut undefined = BTreeMap::new();
    let planned = program.tasks_by_id().map(|(id, task)| {
        let operands = Operands::new(program, task);
        let (fits, problems) = judge(task, &operands);
        if let Some(problem) = problems.into_iter().next() {
            let pointer = match problem.place {
                Place::Input(position) => format!("/tasks/{id}/inputs/{position}"),
                Place::Output(position) => format!("/tasks/{id}/outputs/{position}"),
                Place::Param(param) => format!("/tasks/{id}/params/{}", param.name()),
            };
            let (rule, message) = (problem.rule, problem.message);
            undefined.insert(id, Fault::Undefined { task: id, rule, pointer, message });
        }
        accesses(id, task, &operands, fits)
    });
    (planned.collect(), undefined)
}

/// Whether the opcode takes operands of these shapes, and what else is wrong with them.
fn judge(task: &Task<'_>, operands: &Operands<'_>) -> (bool, Problems) {
    let op = opcodes::op(task.op);
    let mut problems = Problems::new();
    op.shapes(operands, &mut problems);
    let fits = problems.is_empty();
    if fits {
        op.dtypes(operands, &mut problems);
    }
    if problems.is_empty() {
        op.storage(operands, &mut problems);
    }
    if problems.is_empty() {
        op.bounds(operands, &mut problems);
    }
    (fits, problems)
}

/// The accesses of a task, reads first. Operands that the opcode does not take count whole (clause EXE-04).
fn accesses(id: TaskId, task: &Task<'_>, operands: &Operands<'_>, fits: bool) -> SmallVec<[Planned; 4]> {
    let op = opcodes::op(task.op);
    let mut planned = SmallVec::new();
    let mut push = |kind, operand, buffer: i64, region: Option<Region>, elementwise| {
        if let Some(region) = region.filter(|region| !region.is_empty()) {
            let access = Access { task: id, kind, operand, buffer: BufferId::stated(buffer) };
            planned.push(Planned { access, region, elementwise });
        }
    };
    for (position, (&buffer, record)) in task.inputs.iter().zip(&operands.inputs).enumerate() {
        let whole = op.accesses(position).then(|| Region::of(record));
        let region = if fits { op.reads(operands, position) } else { whole };
        let elementwise = opcodes::in_place(task.op, position) == InPlace::Allowed;
        push(AccessKind::Read, position, buffer, region, elementwise);
    }
    for (position, (&buffer, record)) in task.outputs.iter().zip(&operands.outputs).enumerate() {
        let region = if fits { op.writes(operands, position) } else { Some(Region::of(record)) };
        push(AccessKind::Write, position, buffer, region, false);
    }
    planned
}

fn storage(program: &Program<'_>, id: BufferId, record: &Buffer<'_>) -> Storage {
    let mapping = program.pages.as_ref().map_or(&[][..], |pages| &pages.buffer_to_page.0);
    let mapped = mapping.iter().find(|&&(buffer, _)| buffer == i64::from(id));
    let page = mapped.map(|&(_, page)| usize::try_from(page).unwrap_or(usize::MAX));
    match page {
        None if record.kind.is_read_only() => Storage::ReadOnly,
        None => Storage::Own,
        Some(page) => match program.pages.as_ref().and_then(|pages| pages.pages.get(page)) {
            None => Storage::Missing(NoStorage::NoPage),
            Some(slot) if slot.space != record.space => Storage::Missing(NoStorage::OtherSpace),
            Some(_) => Storage::Page(page),
        },
    }
}

fn counters(program: &Program<'_>) -> Vec<CounterTable> {
    let mut tables = vec![CounterTable::default(); program.counters.len()];
    for (id, task) in program.tasks_by_id() {
        if let Some(table) = tables.get_mut(CounterId::stated(task.out_counter).index()) {
            table.producers += 1;
        }
        for wait in &task.waits {
            if let Some(table) = tables.get_mut(CounterId::stated(wait.counter).index()) {
                table.waiters.push((wait.threshold, id));
            }
        }
    }
    tables.iter_mut().for_each(|table| table.waiters.sort_unstable());
    tables
}

fn queues(program: &Program<'_>) -> Vec<Queued> {
    let mut queued = vec![Queued::default(); program.tasks.len()];
    let mut last = HashMap::new();
    for (id, task) in program.tasks_by_id() {
        let Some(sm) = task.sm else { continue };
        let exists = sm >= 0 && program.target.as_ref().is_none_or(|target| sm < target.num_sms);
        let previous = last.insert(sm, id);
        if let Some(slot) = queued.get_mut(id.index()) {
            *slot = Queued { previous, next: None, nowhere: !exists };
        }
        if let Some(slot) = previous.and_then(|previous: TaskId| queued.get_mut(previous.index())) {
            slot.next = Some(id);
        }
    }
    queued
}

/// The bytes of its page that a region of a buffer occupies, as regions of one axis.
pub(super) fn bytes(buffer: &Buffer<'_>, region: &Region) -> SmallVec<[Region; 2]> {
    let bits = i64::from(buffer.dtype.bits());
    let mut intervals: SmallVec<[(i64, i64); 2]> = SmallVec::new();
    runs(&buffer.shape, region, |first, count| {
        let low = first.saturating_mul(bits) / 8;
        let high = first.saturating_add(count).saturating_mul(bits).saturating_add(7) / 8;
        match intervals.last_mut() {
            Some(last) if last.1 >= low => last.1 = last.1.max(high),
            _ => intervals.push((low, high)),
        }
    });
    intervals.iter().map(|&(low, high)| Region::whole(&[high]).slice(0, low, high - low)).collect()
}

/// Calls `visit` with the first index and the length of each contiguous run of a region of a buffer of this shape, in
/// row-major order. Axes that are taken whole make longer runs, not more of them.
pub(super) fn runs(shape: &[i64], region: &Region, mut visit: impl FnMut(i64, i64)) {
    if region.is_empty() {
        return;
    }
    let extent = |axis: usize| shape.get(axis).copied().unwrap_or(1);
    let axes = region.axes();
    let mut strides = [1i64; 4];
    for axis in (0..3).rev() {
        strides[axis] = strides[axis + 1].saturating_mul(extent(axis + 1));
    }
    // The innermost axis that is cut; those behind it are whole.
    let inner = (0..4).rev().find(|&axis| axes[axis] != [0, extent(axis)]).unwrap_or(0);
    let [low, high] = axes[inner];
    let range = |axis: usize| if axis < inner { axes[axis][0]..axes[axis][1] } else { 0..1 };
    for i in range(0) {
        for j in range(1) {
            for k in range(2) {
                let row = i
                    .saturating_mul(strides[0])
                    .saturating_add(j.saturating_mul(strides[1]))
                    .saturating_add(k.saturating_mul(strides[2]));
                let first = row.saturating_add(low.saturating_mul(strides[inner]));
                visit(first, (high - low).saturating_mul(strides[inner]));
            }
        }
    }
}

/// Whether the contents at launch are undefined (clause EXE-08). Nothing is put on a page before the launch.
pub(super) fn starts_undefined(kind: BufferKind, storage: Storage) -> bool {
    matches!(kind, BufferKind::Activation | BufferKind::IoOutput) || !matches!(storage, Storage::Own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_as_long_as_they_can_be() {
        let all = |shape: &[i64], region: Region| {
            let mut found = Vec::new();
            runs(shape, &region, |first, count| found.push((first, count)));
            found
        };
        let whole = Region::whole(&[2, 3, 4]);
        assert_eq!(all(&[2, 3, 4], whole), [(0, 24)]);
        assert_eq!(all(&[2, 3, 4], whole.slice(0, 1, 1)), [(12, 12)]);
        assert_eq!(all(&[2, 3, 4], whole.slice(1, 1, 2)), [(4, 8), (16, 8)]);
        assert_eq!(all(&[2, 3, 4], whole.slice(2, 1, 2).slice(0, 0, 1)), [(1, 2), (5, 2), (9, 2)]);
        assert_eq!(all(&[], Region::whole(&[])), [(0, 1)]);
        assert_eq!(all(&[2, 3, 4], whole.slice(1, 3, 1)), []);
    }
}
