//! What the machine looks at when a task starts.

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::{BufferId, BufferKind, TaskId};

use super::{Fault, Machine, Started, Status, TaskSet};
use crate::explore::faults::{FaultKind, Strength};
use crate::explore::footprint::Access;
use crate::explore::memory::{Bytes, byte_set};
use crate::explore::storage::{Storage, storage};
use crate::region::Region;

impl Machine<'_> {
    /// What the host finds wrong after all tasks have run: it reads outputs and caches (EXE-09), and one that lies on a
    /// page may hold another buffer.
    pub fn host_reads(&self) -> Vec<Fault> {
        let mut all = TaskSet::default();
        self.tasks().for_each(|task| all.insert(task));
        let mut faults = Vec::new();
        for (id, buffer) in self.program.buffers_by_id() {
            let Storage::Page(page, _) = storage(self.program, id) else { continue };
            if !matches!(buffer.kind, BufferKind::IoOutput | BufferKind::KvCache) {
                continue;
            }
            let whole =
                Access { buffer: id, kind: AccessKind::Read, region: Region::of(buffer), elementwise: false };
            let Some(bytes) = byte_set(self.program, &whole) else { continue };
            let on_page =
                |other: BufferId| matches!(storage(self.program, other), Storage::Page(at, _) if at == page);
            let foreign = self.buffers().filter(|&other| other != id && on_page(other));
            for other in foreign.flat_map(|other| self.started(other)) {
                let orders = [(&self.before, Strength::Shows), (&self.acquired, Strength::Latent)];
                let strength = orders.into_iter().find(|(clocks, _)| {
                    other.access.kind == AccessKind::Write && self.is_foreign(id, &bytes, other, clocks, &all)
                });
                if let Some((_, strength)) = strength {
                    faults.push(Fault {
                        kind: FaultKind::PageViolation,
                        strength,
                        tasks: vec![other.task],
                        buffers: vec![id, other.access.buffer],
                        region: Some(whole.region.to_witness()),
                    });
                }
            }
        }
        faults
    }

    fn strength_beside(&self, other: TaskId) -> Strength {
        if self.status(other) == Status::Running { Strength::Shows } else { Strength::Latent }
    }

    pub(super) fn check_races(&self, task: TaskId, access: &Access, faults: &mut Vec<Fault>) {
        for other in self.started(access.buffer) {
            let kind = match (access.kind, other.access.kind) {
                (AccessKind::Read, AccessKind::Read) => continue,
                (AccessKind::Write, AccessKind::Write) => FaultKind::WriteWriteRace,
                _ => FaultKind::ReadWriteRace,
            };
            // The reader first.
            let reads_later = kind == FaultKind::ReadWriteRace && other.access.kind == AccessKind::Read;
            let tasks = if reads_later { vec![other.task, task] } else { vec![task, other.task] };
            let shared = access.region.intersection(&other.access.region);
            if !shared.is_empty() && !self.is_acquired(task, other.task) {
                faults.push(Fault {
                    kind,
                    strength: self.strength_beside(other.task),
                    tasks,
                    buffers: vec![access.buffer],
                    region: Some(shared.to_witness()),
                });
            }
        }
    }

    /// What is left of a region after the visible writes of these tasks.
    fn unwritten(&self, task: TaskId, buffer: BufferId, region: Region, writers: &TaskSet) -> Vec<Region> {
        let sm = |task: TaskId| self.program[task].sm;
        let mut rest = vec![region];
        for other in self.started(buffer) {
            let far = matches!((sm(task), sm(other.task)), (Some(here), Some(there)) if here != there);
            let hidden = far && self.program[buffer].space.is_on_chip();
            if other.access.kind == AccessKind::Write
                && other.task != task
                && writers.has(other.task)
                && !hidden
            {
                rest = rest.iter().flat_map(|part| part.minus(&other.access.region)).collect();
            }
        }
        rest
    }

    pub(super) fn check_written(&self, task: TaskId, access: &Access, faults: &mut Vec<Fault>) {
        let kind = self.program[access.buffer].kind;
        let paged = !matches!(storage(self.program, access.buffer), Storage::Own);
        if !paged && !matches!(kind, BufferKind::Activation | BufferKind::IoOutput) {
            return;
        }
        for (writers, strength) in
            [(&self.finished, Strength::Shows), (&self.acquired[task.index()], Strength::Latent)]
        {
            if let Some(missing) = self.unwritten(task, access.buffer, access.region, writers).first() {
                return faults.push(Fault {
                    kind: FaultKind::UnwrittenRead,
                    strength,
                    tasks: vec![task],
                    buffers: vec![access.buffer],
                    region: Some(missing.to_witness()),
                });
            }
        }
    }

    pub(super) fn check_stale(&self, task: TaskId, access: &Access, faults: &mut Vec<Fault>) {
        if self.program[access.buffer].kind != BufferKind::KvCache {
            return;
        }
        let readers =
            self.started(access.buffer).iter().filter(|other| other.access.kind == AccessKind::Read);
        for other in readers.filter(|other| self.is_acquired(task, other.task)) {
            let shared = other.access.region.intersection(&access.region);
            let seen = &self.acquired[other.task.index()];
            let old = if shared.is_empty() {
                Vec::new()
            } else {
                self.unwritten(other.task, access.buffer, shared, seen)
            };
            if let Some(old) = old.first() {
                faults.push(Fault {
                    kind: FaultKind::StaleRead,
                    strength: Strength::Shows,
                    tasks: vec![task, other.task],
                    buffers: vec![access.buffer],
                    region: Some(old.to_witness()),
                });
            }
        }
    }

    pub(super) fn check_page(&self, task: TaskId, access: &Access, own: &[Access], faults: &mut Vec<Fault>) {
        let fault = |strength, tasks, buffers| Fault {
            kind: FaultKind::PageViolation,
            strength,
            tasks,
            buffers,
            region: Some(access.region.to_witness()),
        };
        let buffer = access.buffer;
        let place = storage(self.program, access.buffer);
        let (page, record) = match place {
            Storage::Own => return,
            Storage::Missing => return faults.push(fault(Strength::Shows, vec![task], vec![buffer])),
            Storage::Page(page, record) => (page, record),
        };
        let Some(bytes) = byte_set(self.program, access) else { return };
        if bytes.end() > u64::try_from(record.nbytes).unwrap_or(0) {
            return faults.push(fault(Strength::Shows, vec![task], vec![buffer]));
        }
        let bits = |buffer: BufferId| self.program[buffer].dtype.bits();
        let on_page = |other: BufferId| {
            other != access.buffer
                && matches!(storage(self.program, other), Storage::Page(at, _) if at == page)
        };
        if access.kind == AccessKind::Read {
            // A task may replace its input by its output on one page only element by element.
            for write in own.iter().filter(|other| other.kind == AccessKind::Write && on_page(other.buffer)) {
                let in_step = access.elementwise && bits(access.buffer) == bits(write.buffer);
                let clobbers = byte_set(self.program, write).is_some_and(|written| written.meets(&bytes));
                if !in_step && clobbers {
                    faults.push(fault(Strength::Shows, vec![task], vec![buffer, write.buffer]));
                }
            }
        }
        let foreign = self.buffers().filter(|&other| on_page(other));
        for other in foreign.flat_map(|other| self.started(other)) {
            let both_read = access.kind == AccessKind::Read && other.access.kind == AccessKind::Read;
            let both_write = access.kind == AccessKind::Write && other.access.kind == AccessKind::Write;
            let (acquired, meets) = (self.is_acquired(task, other.task), |bytes: &Bytes| {
                other.bytes.as_ref().is_some_and(|others| others.meets(bytes))
            });
            let others = || (vec![task, other.task], vec![buffer, other.access.buffer]);
            if !both_read && !both_write && !acquired && meets(&bytes) {
                let (tasks, buffers) = others();
                faults.push(fault(self.strength_beside(other.task), tasks, buffers));
            }
            if access.kind != AccessKind::Read || other.access.kind != AccessKind::Write || both_read {
                continue;
            }
            let orders = [(&self.before, Strength::Shows), (&self.acquired, Strength::Latent)];
            for (clocks, strength) in orders {
                let clock = &clocks[task.index()];
                if clock.has(other.task) && self.is_foreign(access.buffer, &bytes, other, clocks, clock) {
                    let (tasks, buffers) = others();
                    faults.push(fault(strength, tasks, buffers));
                    break;
                }
            }
        }
    }

    /// Whether some of these bytes may hold what `other` wrote: no write of the buffer itself follows it.
    fn is_foreign(
        &self,
        buffer: BufferId,
        bytes: &Bytes,
        other: &Started,
        clocks: &[TaskSet],
        clock: &TaskSet,
    ) -> bool {
        let Some(mut rest) = other.bytes.as_ref().map(|written| written.intersection(bytes)) else {
            return false;
        };
        for own in self.started(buffer) {
            let follows = clock.has(own.task) && clocks[own.task.index()].has(other.task);
            if own.access.kind == AccessKind::Write
                && follows
                && let Some(written) = &own.bytes
            {
                rest = rest.minus(written);
            }
        }
        !rest.is_empty()
    }
}
