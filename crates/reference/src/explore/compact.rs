//! A small program as bit sets.

use std::fmt;

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::model::Program;
use megakernel_ir::{BufferId, BufferKind, MemSpace};
use smallvec::SmallVec;

use super::footprint::{accesses, runs};
use super::storage::{Storage, bytes, storage};

/// Most tasks of a program that can be explored.
pub const MAX_TASKS: usize = 8;
/// Most elements, over all buffers that some task writes or that start undefined, and most cells of pages.
pub const MAX_CELLS: usize = 64;
/// Most buffers on pages.
const MAX_PAGED: usize = 6;

/// Why a program cannot be explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLarge {
    /// More than [`MAX_TASKS`] tasks.
    Tasks(usize),
    /// More than [`MAX_CELLS`] elements or cells of pages.
    Cells,
    /// Too many buffers on pages.
    PagedBuffers(usize),
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooLarge::Tasks(count) => write!(f, "{count} tasks; at most {MAX_TASKS} can be explored"),
            TooLarge::Cells => write!(f, "more than {MAX_CELLS} elements that tasks can write"),
            TooLarge::PagedBuffers(count) => {
                write!(f, "{count} buffers on pages; at most {MAX_PAGED} can be explored")
            }
        }
    }
}

impl std::error::Error for TooLarge {}

/// A set of tasks.
pub(super) type Tasks = u8;
/// A set of elements, or of cells of pages.
pub(super) type Cells = u64;

/// A program of at most [`MAX_TASKS`] tasks, ready to be explored. A program that breaks no S rule.
#[derive(Clone, Debug, Default)]
pub struct Compact {
    /// How many tasks there are.
    pub(super) tasks: usize,
    /// For each task and wait: the producers of the counter, and the threshold.
    pub(super) waits: [SmallVec<[(Tasks, u8); 4]>; MAX_TASKS],
    /// For each task: those that stand before it in its queue.
    pub(super) queue: [Tasks; MAX_TASKS],
    /// The tasks in queues that no SM takes up (D07).
    pub(super) never: Tasks,
    /// For each task: the tasks on another SM.
    pub(super) elsewhere: [Tasks; MAX_TASKS],
    /// Whether any task has an SM.
    pub(super) placed: bool,
    /// Whether every wait is for all producers, or more.
    pub(super) joins_all: bool,
    /// The tasks whose finish changes nothing for others: see [`super::Explorer`].
    pub(super) silent: Tasks,

    /// For each task: the elements that it reads and that hold nothing before a task writes them.
    pub(super) needs: [Cells; MAX_TASKS],
    /// For each task: the cache elements that it reads.
    pub(super) recalls: [Cells; MAX_TASKS],
    /// The tasks that read cache elements.
    pub(super) recalling: Tasks,
    /// For each task: the elements that it writes.
    pub(super) writes: [Cells; MAX_TASKS],
    /// The elements that only the SM sees that wrote them.
    pub(super) on_chip: Cells,
    /// For each task: the others that read what it writes, or write what it reads.
    pub(super) read_write: [Tasks; MAX_TASKS],
    /// For each task: the others that write what it writes.
    pub(super) write_write: [Tasks; MAX_TASKS],

    /// How many buffers are on pages.
    pub(super) paged: usize,
    /// For each task and paged buffer: the cells of its page that the task reads.
    pub(super) page_reads: [[Cells; MAX_PAGED]; MAX_TASKS],
    /// For each task and paged buffer: the cells of its page that the task writes as that buffer.
    pub(super) page_writes: [[Cells; MAX_PAGED]; MAX_TASKS],
    /// For each paged buffer: the cells that the host reads after the launch.
    pub(super) host_reads: [Cells; MAX_PAGED],
    /// For each task: the others that write what it reads as another buffer, or read what it writes.
    pub(super) page_race: [Tasks; MAX_TASKS],
    /// The tasks that overwrite their own input, or access storage that is not there.
    pub(super) page_fault: Tasks,
}

impl Compact {
    /// The program as bit sets.
    ///
    /// # Errors
    /// It does not fit.
    pub fn new(program: &Program<'_>) -> Result<Compact, TooLarge> {
        let mut compact = Compact::default();
        compact.fill(program)?;
        Ok(compact)
    }

    /// [`Compact::new`] without making a new one.
    ///
    /// # Errors
    /// As there.
    pub fn fill(&mut self, program: &Program<'_>) -> Result<(), TooLarge> {
        if program.tasks.len() > MAX_TASKS {
            return Err(TooLarge::Tasks(program.tasks.len()));
        }
        *self = Compact { tasks: program.tasks.len(), joins_all: true, ..Compact::default() };
        self.fill_order(program);
        self.fill_accesses(program)
    }

    fn fill_order(&mut self, program: &Program<'_>) {
        let sms = program.target.as_ref().map_or(i64::MAX, |target| target.num_sms);
        let mut seen_by_others: Tasks = 0;
        for (index, task) in program.tasks.iter().enumerate() {
            for wait in &task.waits {
                let producers = tasks_where(program, |other| other.out_counter == wait.counter);
                let threshold = u8::try_from(wait.threshold).unwrap_or(u8::MAX);
                self.waits[index].push((producers, threshold));
                self.joins_all &= u32::from(threshold) >= producers.count_ones();
                seen_by_others |= producers;
            }
            let Some(sm) = task.sm else { continue };
            self.placed = true;
            self.queue[index] = tasks_where(program, |other| other.sm == Some(sm)) & ((1 << index) - 1);
            self.elsewhere[index] = tasks_where(program, |other| other.sm.is_some_and(|other| other != sm));
            seen_by_others |= self.queue[index];
            if sm < 0 || sm >= sms {
                self.never |= 1 << index;
            }
        }
        self.silent = self.all() & !seen_by_others;
    }

    fn fill_accesses(&mut self, program: &Program<'_>) -> Result<(), TooLarge> {
        // Where each buffer's elements begin among all elements, and the index of each paged buffer.
        let mut bases: SmallVec<[Option<(u32, BufferKind)>; 16]> = SmallVec::new();
        let mut next = 0;
        let layout = Layout::new(program)?;
        for (id, buffer) in program.buffers_by_id() {
            let tracked = !buffer.kind.is_read_only() || layout.of(id).is_some();
            bases.push(tracked.then_some((next, buffer.kind)));
            if tracked {
                let size = buffer.numel().filter(|&numel| numel <= MAX_CELLS as u64);
                next += size.ok_or(TooLarge::Cells)? as u32;
                if next as usize > MAX_CELLS {
                    return Err(TooLarge::Cells);
                }
            }
        }
        let mut reads = [0; MAX_TASKS];
        let mut elementwise = [[true; MAX_PAGED]; MAX_TASKS];
        for (task, record) in program.tasks.iter().enumerate() {
            for access in accesses(program, record) {
                let buffer = &program[access.buffer];
                let Some((base, kind)) = bases[access.buffer.index()] else { continue };
                let mut elements = 0;
                runs(buffer, &access.region, |first, count| elements |= span(first + u64::from(base), count));
                if matches!(buffer.space, MemSpace::Smem | MemSpace::Register) {
                    self.on_chip |= elements;
                }
                let place = layout.of(access.buffer);
                match access.kind {
                    AccessKind::Write => self.writes[task] |= elements,
                    AccessKind::Read => {
                        reads[task] |= elements;
                        let starts_undefined = matches!(kind, BufferKind::Activation | BufferKind::IoOutput);
                        if starts_undefined || place.is_some() {
                            self.needs[task] |= elements;
                        }
                        if kind == BufferKind::KvCache {
                            self.recalls[task] |= elements;
                            self.recalling |= 1 << task;
                        }
                    }
                }
                let Some(place) = place else { continue };
                let Some(paged) = place.paged else {
                    self.page_fault |= 1 << task;
                    continue;
                };
                let mut cells = 0;
                runs(buffer, &access.region, |first, count| {
                    match place.cells(buffer.dtype.bits(), first, count) {
                        Some(some) => cells |= some,
                        None => self.page_fault |= 1 << task,
                    }
                });
                match access.kind {
                    AccessKind::Write => self.page_writes[task][paged] |= cells,
                    AccessKind::Read => {
                        self.page_reads[task][paged] |= cells;
                        elementwise[task][paged] &= access.elementwise;
                    }
                }
            }
        }
        self.paged = layout.count;
        self.host_reads = layout.host_reads(program);
        self.relate(&reads);
        self.find_own_clobbers(&layout, &elementwise);
        Ok(())
    }

    /// Fills in who conflicts with whom.
    fn relate(&mut self, reads: &[Cells; MAX_TASKS]) {
        for a in 0..self.tasks {
            for b in (0..self.tasks).filter(|&b| b != a) {
                if reads[a] & self.writes[b] != 0 || self.writes[a] & reads[b] != 0 {
                    self.read_write[a] |= 1 << b;
                }
                if self.writes[a] & self.writes[b] != 0 {
                    self.write_write[a] |= 1 << b;
                }
                if self.writes_into(b, a) || self.writes_into(a, b) {
                    self.page_race[a] |= 1 << b;
                }
            }
        }
    }

    /// Whether one task writes into cells that another reads as another buffer.
    fn writes_into(&self, writer: usize, reader: usize) -> bool {
        (0..self.paged)
            .any(|buffer| self.page_reads[reader][buffer] & self.writes_as_others(writer, buffer) != 0)
    }

    /// The cells that a task writes as other buffers than this one.
    pub(super) fn writes_as_others(&self, task: usize, buffer: usize) -> Cells {
        (0..self.paged)
            .filter(|&other| other != buffer)
            .map(|other| self.page_writes[task][other])
            .fold(0, |a, b| a | b)
    }

    /// A task may replace its input by its output on one page only element by element (PAG-02).
    fn find_own_clobbers(&mut self, layout: &Layout, elementwise: &[[bool; MAX_PAGED]; MAX_TASKS]) {
        for (task, elementwise) in elementwise.iter().enumerate().take(self.tasks) {
            for (from, &elementwise) in elementwise.iter().enumerate().take(self.paged) {
                for to in (0..self.paged).filter(|&to| to != from) {
                    let shared = self.page_reads[task][from] & self.page_writes[task][to];
                    let in_step = elementwise && layout.width[from] == layout.width[to];
                    if shared != 0 && !in_step {
                        self.page_fault |= 1 << task;
                    }
                }
            }
        }
    }

    /// All tasks.
    pub(super) fn all(&self) -> Tasks {
        ((1u16 << self.tasks) - 1) as Tasks
    }
}

fn tasks_where<'p>(
    program: &'p Program<'p>,
    holds: impl Fn(&megakernel_ir::model::Task<'p>) -> bool,
) -> Tasks {
    let tasks = program.tasks.iter().enumerate();
    tasks.filter(|(_, task)| holds(task)).fold(0, |set, (index, _)| set | 1 << index)
}

/// The cells `first .. first + count`.
fn span(first: u64, count: u64) -> Cells {
    let ones = if count >= 64 { u64::MAX } else { (1 << count) - 1 };
    ones.checked_shl(first as u32).unwrap_or(0)
}

/// Pages as cells: pieces of storage so small that every element is some of them.
struct Layout {
    /// By buffer.
    places: SmallVec<[(BufferId, Place); 4]>,
    /// How many buffers are on pages that exist.
    count: usize,
    /// Bits of an element of each of these.
    width: [u32; MAX_PAGED],
}

#[derive(Clone, Copy)]
struct Place {
    /// Index among the paged buffers; nothing where the page is missing.
    paged: Option<usize>,
    /// First cell of the page.
    base: u64,
    /// Bytes of a cell.
    cell: u64,
    /// Bytes of the page.
    nbytes: u64,
}

impl Place {
    /// The cells of a run of elements; nothing if some lie behind the end of the page.
    fn cells(&self, bits: u32, first: u64, count: u64) -> Option<Cells> {
        let (low, high) = bytes(bits, first, count);
        let (first, behind) = (low / self.cell, high.div_ceil(self.cell));
        (high <= self.nbytes).then(|| span(self.base + first, behind - first))
    }
}

impl Layout {
    fn new(program: &Program<'_>) -> Result<Layout, TooLarge> {
        let mut layout = Layout { places: SmallVec::new(), count: 0, width: [0; MAX_PAGED] };
        let Some(allocation) = &program.pages else { return Ok(layout) };
        let on_pages = || {
            program.buffers_by_id().filter_map(|(id, buffer)| match storage(program, id) {
                Storage::Page(page, _) => Some((buffer, page)),
                Storage::Own | Storage::Missing => None,
            })
        };
        let cell =
            on_pages().map(|(buffer, _)| u64::from(buffer.dtype.bits()).div_ceil(8)).fold(0, gcd).max(1);
        let mut bases: SmallVec<[u64; 4]> = SmallVec::new();
        let mut next = 0;
        for page in 0..allocation.pages.len() {
            bases.push(next);
            let sizes = on_pages().filter(|&(_, at)| at == page).map(|(buffer, _)| buffer.nbytes());
            let largest = sizes.map(|size| size.map_or(u64::MAX, |size| size as u64)).max().unwrap_or(0);
            next = largest.div_ceil(cell).saturating_add(next);
        }
        if next > MAX_CELLS as u64 {
            return Err(TooLarge::Cells);
        }
        for (id, buffer) in program.buffers_by_id() {
            match storage(program, id) {
                Storage::Own => {}
                Storage::Missing => {
                    layout.places.push((id, Place { paged: None, base: 0, cell, nbytes: 0 }));
                }
                Storage::Page(page, record) => {
                    let width =
                        layout.width.get_mut(layout.count).ok_or(TooLarge::PagedBuffers(layout.count + 1))?;
                    *width = buffer.dtype.bits();
                    let nbytes = u64::try_from(record.nbytes).unwrap_or(0);
                    layout
                        .places
                        .push((id, Place { paged: Some(layout.count), base: bases[page], cell, nbytes }));
                    layout.count += 1;
                }
            }
        }
        Ok(layout)
    }

    fn of(&self, buffer: BufferId) -> Option<Place> {
        self.places.iter().find(|(id, _)| *id == buffer).map(|(_, place)| *place)
    }

    /// The host reads outputs and caches after the launch (EXE-09), wherever they are.
    fn host_reads(&self, program: &Program<'_>) -> [Cells; MAX_PAGED] {
        let mut cells = [0; MAX_PAGED];
        for &(id, place) in &self.places {
            let buffer = &program[id];
            let read = matches!(buffer.kind, BufferKind::IoOutput | BufferKind::KvCache);
            if let (true, Some(paged), Some(numel)) = (read, place.paged, buffer.numel()) {
                // As far as the page goes: that it should go further is P02's.
                let (_, high) = bytes(buffer.dtype.bits(), 0, numel);
                cells[paged] = span(place.base, high.min(place.nbytes).div_ceil(place.cell));
            }
        }
        cells
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
