//! The enumeration of all interleavings.

use megakernel_ir::TaskId;
use megakernel_ir::diagnostic::Event;

use super::compact::{Cells, Compact, MAX_TASKS, Tasks};
use super::faults::{FaultKind, Faults, Strength};

/// Explores programs one after the other; keeps its memory between them.
///
/// # What is explored
/// Every state that starts and finishes can reach, each once, and from each every step. A state is the set of running
/// tasks, the set of finished ones, and the clocks of both: from whom each acquired when it started. With waits for all
/// producers only, a clock is the same in every run, and does not tell states apart. With SMs and pages there is a second
/// clock, of real time: who had finished when a task started.
///
/// # What is left out
/// One kind of step: the finish of a *silent* task, one whose counter nobody waits on and behind which nobody stands in a
/// queue. That is sound. No condition of any start mentions that finish, so striking it from a run leaves a run, with the same
/// starts and the same clocks of counters; nobody acquires from a silent task. In the run without it the task is still running
/// wherever it was finished. Each fault of the run is in that run, too: a deadlock has all running tasks silent, and is looked
/// for in that form; a race with it shows in more states, not fewer; what it wrote is visible to nobody through a counter; and
/// where real time is counted, a task that started after its finish now runs beside it, which is a fault of the same kind
/// if the two share cells of a page, and no matter if they do not. Every state visited is reachable, so nothing is found
/// that is not there.
#[derive(Debug, Default)]
pub struct Explorer {
    seen: Seen,
    /// Whether nothing is to be left out.
    thorough: bool,
    path: [u8; 2 * MAX_TASKS],
    faults: Faults,
    /// Whether a second launch reads what another task wrote in the first.
    recalls: bool,
    runs: [Run; Faults::BITS],
}

/// A run, as far as it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    length: u8,
    /// Task numbers, with the top bit set for a finish.
    steps: [u8; 2 * MAX_TASKS],
}

const FINISH: u8 = 0x80;

impl Run {
    /// The steps in order.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        self.steps[..usize::from(self.length)].iter().map(|&step| {
            let task = TaskId::from(u32::from(step & !FINISH));
            if step & FINISH == 0 { Event::Start(task) } else { Event::Finish(task) }
        })
    }
}

/// A state, with the clocks of all tasks that have started, eight bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    running: Tasks,
    finished: Tasks,
    acquired: u64,
    before: u64,
}

fn clock(clocks: u64, task: usize) -> Tasks {
    (clocks >> (8 * task)) as Tasks
}

fn each(mut tasks: Tasks) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let task = tasks.trailing_zeros() as usize;
        tasks &= tasks.wrapping_sub(1);
        (task < MAX_TASKS).then_some(task)
    })
}

impl Explorer {
    /// An explorer.
    pub fn new() -> Explorer {
        Explorer::default()
    }

    /// An explorer that leaves nothing out, tells states apart by all clocks, and counts real time wherever there are pages. It finds
    /// the same faults more slowly, which a test of `cargo xtask prove` checks on every program of a scope.
    pub fn thorough() -> Explorer {
        Explorer { thorough: true, ..Explorer::default() }
    }

    /// Explores a program to the end, and gives back all faults that it has in some run.
    pub fn explore(&mut self, program: &Compact) -> Faults {
        self.faults = Faults::NONE;
        self.recalls = false;
        self.seen.clear();
        let timed = program.paged > 0 && (program.placed || self.thorough);
        let by_status = program.joins_all && !timed && !self.thorough;
        let silent = if self.thorough { 0 } else { program.silent };
        Search { explorer: self, program, timed, by_status, silent }.visit(State::default(), 0);
        self.faults = self.faults.strongest();
        self.faults
    }

    /// A run of the program explored last that leads to a fault: the fault shows with the last step.
    pub fn run(&self, kind: FaultKind, strength: Strength) -> Option<&Run> {
        self.faults.has(kind, strength).then(|| &self.runs[Faults::bit(kind, strength)])
    }

    /// Whether, of two launches of the program explored last, the second has a task read in a cache what another task wrote there
    /// in the first. No fault shows in any one launch then, but the value is an old one.
    pub fn recalls(&self) -> bool {
        self.recalls
    }

    /// Number of states of the program explored last.
    pub fn states(&self) -> usize {
        self.seen.count
    }
}

struct Search<'e> {
    explorer: &'e mut Explorer,
    program: &'e Compact,
    /// Whether real time is counted.
    timed: bool,
    /// Whether running and finished tasks tell all states apart.
    by_status: bool,
    /// The tasks whose finish is left out.
    silent: Tasks,
}

impl Search<'_> {
    fn visit(&mut self, state: State, depth: usize) {
        let key = if self.by_status { State { acquired: 0, before: 0, ..state } } else { state };
        if !self.explorer.seen.insert(key) {
            return;
        }
        let program = self.program;
        let started = state.running | state.finished;
        let mut startable = 0;
        for task in each(program.all() & !started & !program.never) {
            if self.can_start(task, state.finished) {
                startable |= 1 << task;
            }
        }
        let finishing = state.running & !self.silent;
        if startable == 0 && finishing == 0 {
            if started != program.all() {
                self.found(FaultKind::Deadlock, Strength::Shows, depth);
            } else {
                if program.paged > 0 {
                    self.host_reads(state, depth);
                }
                self.second_launch(state);
            }
            return;
        }
        for task in each(startable) {
            self.explorer.path[depth] = task as u8;
            let next = self.start(state, task, depth + 1);
            self.visit(next, depth + 1);
        }
        for task in each(finishing) {
            self.explorer.path[depth] = task as u8 | FINISH;
            let next = State {
                running: state.running & !(1 << task),
                finished: state.finished | 1 << task,
                ..state
            };
            self.visit(next, depth + 1);
        }
    }

    /// Counters know how many of their producers have finished, and not which.
    fn can_start(&self, task: usize, finished: Tasks) -> bool {
        self.program.queue[task] & !finished == 0
            && self.program.waits[task]
                .iter()
                .all(|&(producers, threshold)| (producers & finished).count_ones() >= u32::from(threshold))
    }

    /// The state after a start, whose faults are recorded.
    fn start(&mut self, state: State, task: usize, depth: usize) -> State {
        let program = self.program;
        let mut acquired = 0;
        for &(producers, _) in &program.waits[task] {
            for producer in each(producers & state.finished) {
                acquired |= 1 << producer | clock(state.acquired, producer);
            }
        }
        let next = State {
            running: state.running | 1 << task,
            finished: state.finished,
            acquired: state.acquired | u64::from(acquired) << (8 * task),
            before: if self.timed { state.before | u64::from(state.finished) << (8 * task) } else { 0 },
        };

        let unordered = (state.running | state.finished) & !acquired;
        let conflicts = [
            (FaultKind::ReadWriteRace, program.read_write[task]),
            (FaultKind::WriteWriteRace, program.write_write[task]),
            (FaultKind::PageViolation, program.page_race[task]),
        ];
        for (kind, others) in conflicts {
            if others & state.running != 0 {
                self.found(kind, Strength::Shows, depth);
            } else if others & unordered != 0 {
                self.found(kind, Strength::Latent, depth);
            }
        }
        if program.needs[task] != 0 {
            if program.needs[task] & !self.visible(task, state.finished) != 0 {
                self.found(FaultKind::UnwrittenRead, Strength::Shows, depth);
            } else if program.needs[task] & !self.visible(task, acquired) != 0 {
                self.found(FaultKind::UnwrittenRead, Strength::Latent, depth);
            }
        }
        for reader in each(acquired) {
            let overwritten = program.recalls[reader] & program.writes[task];
            if overwritten & !self.visible(reader, clock(state.acquired, reader)) != 0 {
                self.found(FaultKind::StaleRead, Strength::Shows, depth);
            }
        }
        if program.page_fault & 1 << task != 0 {
            self.found(FaultKind::PageViolation, Strength::Shows, depth);
        }
        for buffer in 0..program.paged {
            self.check_page(
                buffer,
                program.page_reads[task][buffer],
                next,
                [acquired, state.finished],
                depth,
            );
        }
        next
    }

    /// What a task sees of the writes of others.
    fn visible(&self, task: usize, writers: Tasks) -> Cells {
        let program = self.program;
        let near = each(writers & !program.elsewhere[task]).map(|writer| program.writes[writer]);
        let far =
            each(writers & program.elsewhere[task]).map(|writer| program.writes[writer] & !program.on_chip);
        near.chain(far).fold(0, |a, b| a | b)
    }

    /// A read of cells of a paged buffer: by what the clock of counters and that of real time have before it, the last
    /// to write each cell has to be a writer of that buffer.
    fn check_page(
        &mut self,
        buffer: usize,
        cells: Cells,
        state: State,
        [acquired, before]: [Tasks; 2],
        depth: usize,
    ) {
        if cells == 0 {
            return;
        }
        if self.timed && self.is_foreign(buffer, cells, before, state.before) {
            return self.found(FaultKind::PageViolation, Strength::Shows, depth);
        }
        if self.is_foreign(buffer, cells, acquired, state.acquired) {
            // Without queues, tasks that no counter orders come in either order.
            let strength = if self.timed { Strength::Latent } else { Strength::Shows };
            self.found(FaultKind::PageViolation, strength, depth);
        }
    }

    /// Whether some cell may hold another buffer's data after these writers, ordered by these clocks.
    fn is_foreign(&self, buffer: usize, cells: Cells, writers: Tasks, clocks: u64) -> bool {
        let program = self.program;
        each(writers).any(|other| {
            let mut foreign = program.writes_as_others(other, buffer) & cells;
            if foreign != 0 {
                for writer in each(writers).filter(|&writer| clock(clocks, writer) & 1 << other != 0) {
                    foreign &= !program.page_writes[writer][buffer];
                }
            }
            foreign != 0
        })
    }

    /// The host reads after every task, in any order that the clocks leave.
    fn host_reads(&mut self, state: State, depth: usize) {
        let all = self.program.all();
        for buffer in 0..self.program.paged {
            self.check_page(buffer, self.program.host_reads[buffer], state, [all, all], depth);
        }
    }

    /// Another launch after this complete one (EXE-09). It takes the same steps and starts from the caches that this one
    /// leaves, so a task reads there what the last writers of this launch wrote, unless a write of its own launch is
    /// visible to it. Its own last value is what it may build on; another task's is that of an earlier launch.
    fn second_launch(&mut self, state: State) {
        let program = self.program;
        for reader in each(program.recalling) {
            let acquired = clock(state.acquired, reader);
            let recalled = program.recalls[reader] & !self.visible(reader, acquired);
            let others = each(program.all() & !(1 << reader));
            let stale = others.fold(0, |stale, writer| {
                let later =
                    each(program.all()).filter(|&later| clock(state.acquired, later) & 1 << writer != 0);
                let replaced = later.fold(0, |replaced, later| replaced | program.writes[later]);
                stale | program.writes[writer] & !replaced
            });
            self.explorer.recalls |= recalled & stale != 0;
        }
    }

    fn found(&mut self, kind: FaultKind, strength: Strength, depth: usize) {
        if self.explorer.faults.has(kind, strength) {
            return;
        }
        self.explorer.faults.insert(kind, strength);
        let run = &mut self.explorer.runs[Faults::bit(kind, strength)];
        *run = Run { length: depth as u8, steps: self.explorer.path };
    }
}

/// A set of states, as a table with open addressing that is emptied in no time.
#[derive(Debug, Default)]
struct Seen {
    slots: Vec<(u32, State)>,
    round: u32,
    count: usize,
}

const FIRST_SLOTS: usize = 1 << 10;

impl Seen {
    fn clear(&mut self) {
        self.count = 0;
        self.round = self.round.wrapping_add(1);
        if self.round == 0 || self.slots.is_empty() {
            self.slots = vec![(0, State::default()); self.slots.len().max(FIRST_SLOTS)];
            self.round = 1;
        }
    }

    /// Whether the state is new.
    fn insert(&mut self, state: State) -> bool {
        if self.count * 2 > self.slots.len() {
            self.grow();
        }
        let new = self.place(state);
        self.count += usize::from(new);
        new
    }

    fn place(&mut self, state: State) -> bool {
        let mask = self.slots.len() - 1;
        let mut slot = hash(state) & mask;
        loop {
            let (round, occupant) = self.slots[slot];
            if round != self.round {
                self.slots[slot] = (self.round, state);
                return true;
            }
            if occupant == state {
                return false;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let larger = vec![(0, State::default()); self.slots.len() * 2];
        let smaller = std::mem::replace(&mut self.slots, larger);
        for (round, state) in smaller {
            if round == self.round {
                self.place(state);
            }
        }
    }
}

fn hash(state: State) -> usize {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let sets = u64::from(state.running) | u64::from(state.finished) << 8;
    let mixed = (sets ^ state.acquired.wrapping_mul(MIX)).wrapping_mul(MIX).rotate_left(23) ^ state.before;
    (mixed.wrapping_mul(MIX) >> 32) as usize
}
