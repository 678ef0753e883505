//! The machine: counters, queues, and one step after the other (clauses EXE-01 and EXE-02).
//!
//! An access can happen at any moment between start and finish, so it is judged at the start, against everything that has
//! started before; of two tasks that nothing orders, the later start finds the other. The values move in steps of their
//! own, which the schedule may delay.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::{BufferKind, CounterId, TaskId};

use super::clocks::Clocks;
use super::fault::{Access, Blocked, Fault, HOST, NoStorage, Stuck};
use super::history::{History, Reading};
use super::load::{Loaded, Planned, Storage, bytes, starts_undefined};
use super::schedule::{Schedule, Step};
use crate::region::Region;

/// What the steps between start and finish do.
pub(super) trait Work {
    /// Whether there is anything to do between start and finish.
    const WORKS: bool;

    /// The task takes in its operands and computes.
    fn read(&mut self, task: TaskId) -> Result<(), Fault>;

    /// It stores what it computed.
    fn write(&mut self, task: TaskId) -> Result<(), Fault>;
}

/// Schedules and checks without values.
pub(super) struct Idle;

impl Work for Idle {
    const WORKS: bool = false;

    fn read(&mut self, _task: TaskId) -> Result<(), Fault> {
        Ok(())
    }

    fn write(&mut self, _task: TaskId) -> Result<(), Fault> {
        Ok(())
    }
}

/// One launch under way.
pub(super) struct Machine<'m, 'p> {
    loaded: &'m Loaded<'p>,
    counts: Vec<u64>,
    /// Of each counter, how many entries of its waiters have been let go.
    released: Vec<usize>,
    /// Of each task, waits that are not satisfied, and one more while it stands behind another in its queue.
    held: Vec<usize>,
    finished: Vec<bool>,
    clocks: Clocks,
    buffers: Vec<History>,
    pages: Vec<History>,
    enabled: BinaryHeap<Reverse<(u64, TaskId, Step)>>,
    schedule: Schedule,
    order: Vec<TaskId>,
}

impl<'m, 'p> Machine<'m, 'p> {
    /// The starting state: every counter at 0.
    pub fn new(loaded: &'m Loaded<'p>, schedule: Schedule) -> Machine<'m, 'p> {
        let program = loaded.program();
        let pages = program.pages.as_ref().map_or(0, |pages| pages.pages.len());
        let held = program.tasks.iter().zip(&loaded.queued).map(|(task, queued)| {
            task.waits.len() + usize::from(queued.previous.is_some()) + usize::from(queued.nowhere)
        });
        let mut machine = Machine {
            loaded,
            counts: vec![0; program.counters.len()],
            released: vec![0; program.counters.len()],
            held: held.collect(),
            finished: vec![false; program.tasks.len()],
            clocks: Clocks::new(program),
            buffers: vec![History::default(); program.buffers.len()],
            pages: vec![History::default(); pages],
            enabled: BinaryHeap::new(),
            schedule,
            order: Vec::with_capacity(program.tasks.len()),
        };
        for task in TaskId::range(0..program.tasks.len()) {
            if machine.held.get(task.index()) == Some(&0) {
                machine.enable(Step::Start, task);
            }
        }
        machine
    }

    /// Runs to the end, or to the first fault. Gives back the tasks in the order in which they started.
    pub fn run<W: Work>(mut self, work: &mut W) -> Result<Vec<TaskId>, Fault> {
        while let Some(Reverse((_, task, step))) = self.enabled.pop() {
            match step {
                Step::Start => {
                    self.start(task)?;
                    self.enable(if W::WORKS { Step::Read } else { Step::Finish }, task);
                }
                Step::Read => {
                    work.read(task)?;
                    self.enable(Step::Write, task);
                }
                Step::Write => {
                    work.write(task)?;
                    self.enable(Step::Finish, task);
                }
                Step::Finish => self.finish(task),
            }
        }
        if self.finished.iter().all(|&finished| finished) {
            self.host_reads()?;
            Ok(self.order)
        } else {
            Err(self.deadlock())
        }
    }

    fn enable(&mut self, step: Step, task: TaskId) {
        let sm = self.loaded.program().tasks.get(task.index()).and_then(|task| task.sm);
        let rank = self.schedule.rank(step, task, sm);
        self.enabled.push(Reverse((rank, task, step)));
    }

    fn start(&mut self, task: TaskId) -> Result<(), Fault> {
        let loaded = self.loaded;
        let Some(record) = loaded.program().tasks.get(task.index()) else { return Ok(()) };
        self.order.push(task);
        self.clocks.start(task, record.waits.iter().map(|wait| CounterId::stated(wait.counter)));
        let planned = loaded.planned.get(task.index()).map_or(&[][..], |planned| planned.as_slice());
        self.check_in_place(planned)?;
        planned.iter().try_for_each(|planned| self.access(planned))
    }

    fn finish(&mut self, task: TaskId) {
        let loaded = self.loaded;
        let Some(record) = loaded.program().tasks.get(task.index()) else { return };
        if let Some(finished) = self.finished.get_mut(task.index()) {
            *finished = true;
        }
        let counter = CounterId::stated(record.out_counter);
        self.clocks.finish(task, counter);
        if let Some(count) = self.counts.get_mut(counter.index()) {
            *count += 1;
        }
        self.release(counter);
        if let Some(next) = loaded.queued.get(task.index()).and_then(|queued| queued.next) {
            self.let_go(next);
        }
    }

    /// Lets go whoever waits for what the counter has reached.
    fn release(&mut self, counter: CounterId) {
        let loaded = self.loaded;
        let (Some(table), Some(&count)) =
            (loaded.counters.get(counter.index()), self.counts.get(counter.index()))
        else {
            return;
        };
        loop {
            let Some(released) = self.released.get_mut(counter.index()) else { return };
            match table.waiters.get(*released) {
                Some(&(threshold, task)) if i128::from(threshold) <= i128::from(count) => {
                    *released += 1;
                    self.let_go(task);
                }
                _ => return,
            }
        }
    }

    /// One thing less holds the task.
    fn let_go(&mut self, task: TaskId) {
        let Some(held) = self.held.get_mut(task.index()) else { return };
        *held = held.saturating_sub(1);
        if *held == 0 {
            self.enable(Step::Start, task);
        }
    }

    /// A task may replace an operand of its own only element by element, and only in an equal shape (PAG-02).
    fn check_in_place(&self, planned: &[Planned]) -> Result<(), Fault> {
        let buffers = &self.loaded.program().buffers;
        let parts = |planned: &Planned| self.located(planned);
        for write in planned.iter().filter(|planned| planned.access.kind == AccessKind::Write) {
            for read in planned.iter().filter(|planned| planned.access.kind == AccessKind::Read) {
                let same = read.access.buffer == write.access.buffer;
                let alike =
                    match (buffers.get(read.access.buffer.index()), buffers.get(write.access.buffer.index()))
                    {
                        (Some(x), Some(y)) => x.dtype.bits() == y.dtype.bits() && x.shape == y.shape,
                        _ => false,
                    };
                if read.elementwise && (same || alike) {
                    continue;
                }
                let meets = if same {
                    read.region.overlaps(&write.region)
                } else {
                    match (parts(read), parts(write)) {
                        (Some((here, ours)), Some((there, theirs))) => {
                            here == there
                                && ours.iter().any(|part| theirs.iter().any(|other| part.overlaps(other)))
                        }
                        _ => false,
                    }
                };
                if meets {
                    return Err(Fault::Overwrites { read: read.access, write: write.access });
                }
            }
        }
        Ok(())
    }

    /// The page of an access and the bytes there.
    fn located(&self, planned: &Planned) -> Option<(usize, smallvec::SmallVec<[Region; 2]>)> {
        match self.loaded.storage.get(planned.access.buffer.index()) {
            Some(&Storage::Page(page)) => {
                let buffer = self.loaded.program().buffers.get(planned.access.buffer.index())?;
                Some((page, bytes(buffer, &planned.region)))
            }
            _ => None,
        }
    }

    fn access(&mut self, planned: &Planned) -> Result<(), Fault> {
        let Planned { access, region, .. } = *planned;
        let program = self.loaded.program();
        let (Some(buffer), Some(&storage)) =
            (program.buffers.get(access.buffer.index()), self.loaded.storage.get(access.buffer.index()))
        else {
            return Ok(());
        };
        let sm_of = |task: TaskId| program.tasks.get(task.index()).and_then(|task| task.sm);
        let reading = Reading {
            needs_write: starts_undefined(buffer.kind, storage),
            on_chip: if buffer.space.is_on_chip() { sm_of(access.task) } else { None },
        };
        let (history, parts) = match storage {
            Storage::ReadOnly => return Ok(()),
            Storage::Missing(why) => return Err(Fault::NoStorage { access, why }),
            Storage::Own => (self.buffers.get_mut(access.buffer.index()), smallvec::smallvec![region]),
            Storage::Page(page) => {
                let parts = bytes(buffer, &region);
                let size = program
                    .pages
                    .as_ref()
                    .and_then(|pages| pages.pages.get(page))
                    .map_or(0, |page| page.nbytes);
                let needed = parts.last().map_or(0, |part| part.axes()[0][1]);
                if needed > size {
                    return Err(Fault::NoStorage { access, why: NoStorage::TooSmall { page: size, needed } });
                }
                (self.pages.get_mut(page), parts)
            }
        };
        let Some(history) = history else { return Ok(()) };
        for part in parts {
            match access.kind {
                AccessKind::Read => history.read(access, part, reading, &self.clocks, sm_of)?,
                AccessKind::Write => history.write(access, part, &self.clocks)?,
            }
        }
        Ok(())
    }

    /// What the host finds after the launch: outputs that are wholly written, and not by way of another buffer.
    fn host_reads(&self) -> Result<(), Fault> {
        let program = self.loaded.program();
        for (id, buffer) in program.buffers_by_id() {
            let is_output = buffer.kind == BufferKind::IoOutput;
            if !is_output && buffer.kind != BufferKind::KvCache {
                continue;
            }
            let region = Region::of(buffer);
            let missing = match self.loaded.storage.get(id.index()) {
                Some(Storage::Own) if is_output => {
                    self.buffers.get(id.index()).and_then(|history| history.missing(&region))
                }
                Some(&Storage::Page(page)) => {
                    let access = Access { task: HOST, kind: AccessKind::Read, operand: 0, buffer: id };
                    let reading = Reading { needs_write: is_output, on_chip: None };
                    for part in bytes(buffer, &region) {
                        if let Some(history) = self.pages.get(page) {
                            history.check_read(access, &part, reading, &|_| true, &|_| None)?;
                        }
                    }
                    None
                }
                _ => None,
            };
            if let Some(region) = missing {
                return Err(Fault::Unfilled { buffer: id, region: region.to_witness() });
            }
        }
        Ok(())
    }

    fn deadlock(&self) -> Fault {
        let program = self.loaded.program();
        let mut left: Vec<usize> = self.loaded.counters.iter().map(|table| table.producers).collect();
        left.iter_mut().zip(&self.counts).for_each(|(left, &count)| {
            *left = left.saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
        });
        let stuck = program.tasks_by_id().filter_map(|(id, task)| {
            if self.finished.get(id.index()).copied().unwrap_or(true) {
                return None;
            }
            let mut by: Vec<Blocked> = Vec::new();
            for (position, wait) in task.waits.iter().enumerate() {
                let counter = CounterId::stated(wait.counter);
                let count = self.counts.get(counter.index()).copied().unwrap_or(0);
                if i128::from(count) < i128::from(wait.threshold) {
                    let unfinished = left.get(counter.index()).copied().unwrap_or(0);
                    by.push(Blocked::Counter {
                        wait: position,
                        counter,
                        count,
                        threshold: wait.threshold,
                        unfinished,
                    });
                }
            }
            if let (Some(queued), Some(sm)) = (self.loaded.queued.get(id.index()), task.sm) {
                if queued.nowhere {
                    by.push(Blocked::NoSm { sm });
                } else if let Some(behind) = queued.previous
                    && self.finished.get(behind.index()) == Some(&false)
                {
                    by.push(Blocked::Queue { sm, behind });
                }
            }
            Some(Stuck { task: id, by })
        });
        Fault::Deadlock { stuck: stuck.collect() }
    }
}
