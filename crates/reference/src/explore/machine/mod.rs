//! A machine that takes a program of any size through one run, step by step, and says what goes wrong.

mod checks;

use megakernel_ir::diagnostic::{self, AccessKind, Event};
use megakernel_ir::model::Program;

use super::faults::{FaultKind, Strength};
use super::footprint::{Access, accesses};
use super::memory::{Bytes, byte_set};

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has not started.
    Waiting,
    /// It has started and not finished.
    Running,
    /// It has finished.
    Finished,
}

/// Why a step is not enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// A counter is below the threshold of a wait.
    Counter {
        /// The counter.
        counter: u32,
        /// Its value.
        count: u64,
        /// What the task waits for.
        threshold: i64,
    },
    /// A task that stands before it in its queue is unfinished.
    Queue(u32),
    /// No SM takes up its queue (D07).
    NoSm(i64),
    /// For a start: it has started before. For a finish: it does not run.
    Status(Status),
}

/// Something that went wrong at a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What it is.
    pub kind: FaultKind,
    /// Whether the run itself shows it.
    pub strength: Strength,
    /// The task whose step shows it, and the other one if there is one; of a read-write race, the reader and the writer; for
    /// a deadlock, all unfinished tasks.
    pub tasks: Vec<u32>,
    /// The buffers involved.
    pub buffers: Vec<u32>,
    /// The elements involved, of the first buffer.
    pub region: Option<diagnostic::Region>,
}

/// A set of tasks of a program of any size.
#[derive(Clone, Debug, Default)]
struct TaskSet(Vec<u64>);

impl TaskSet {
    fn has(&self, task: u32) -> bool {
        self.0.get(task as usize / 64).is_some_and(|word| word & 1 << (task % 64) != 0)
    }

    fn insert(&mut self, task: u32) {
        let word = task as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (task % 64);
    }

    fn extend(&mut self, other: &TaskSet) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }
}

/// An access by a task that has started.
struct Started {
    task: u32,
    access: Access,
    /// For a buffer on a page: the bytes of the page.
    bytes: Option<Bytes>,
}

/// The state of a run.
pub struct Machine<'p> {
    program: &'p Program<'p>,
    status: Vec<Status>,
    counts: Vec<u64>,
    /// Tasks by the counter that they increment.
    producers: Vec<Vec<u32>>,
    /// The task before each one in its queue.
    previous: Vec<Option<u32>>,
    /// Whom each task acquired from.
    acquired: Vec<TaskSet>,
    /// Who had finished when each task started.
    before: Vec<TaskSet>,
    finished: TaskSet,
    /// By buffer.
    started: Vec<Vec<Started>>,
    events: Vec<Event>,
}

impl<'p> Machine<'p> {
    /// The starting state of a program that breaks no S rule.
    pub fn new(program: &'p Program<'p>) -> Machine<'p> {
        let mut producers = vec![Vec::new(); program.counters.len()];
        let mut last = std::collections::HashMap::new();
        let mut previous = Vec::with_capacity(program.tasks.len());
        for (index, task) in program.tasks.iter().enumerate() {
            producers[task.out_counter as usize].push(index as u32);
            previous.push(task.sm.and_then(|sm| last.insert(sm, index as u32)));
        }
        let tasks = program.tasks.len();
        Machine {
            program,
            status: vec![Status::Waiting; tasks],
            counts: vec![0; program.counters.len()],
            producers,
            previous,
            acquired: vec![TaskSet::default(); tasks],
            before: vec![TaskSet::default(); tasks],
            finished: TaskSet::default(),
            started: program.buffers.iter().map(|_| Vec::new()).collect(),
            events: Vec::new(),
        }
    }

    /// The program.
    pub fn program(&self) -> &'p Program<'p> {
        self.program
    }

    /// Where a task is.
    pub fn status(&self, task: u32) -> Status {
        self.status[task as usize]
    }

    /// Value of a counter.
    pub fn count(&self, counter: u32) -> u64 {
        self.counts[counter as usize]
    }

    /// The tasks that increment a counter.
    pub fn producers(&self, counter: u32) -> &[u32] {
        &self.producers[counter as usize]
    }

    /// The task that stands right before this one in its queue.
    pub fn previous(&self, task: u32) -> Option<u32> {
        self.previous[task as usize]
    }

    /// What a task accesses: how, which buffer, and which elements of it.
    pub fn footprint(&self, task: u32) -> Vec<(AccessKind, u32, diagnostic::Region)> {
        let accesses = accesses(self.program, &self.program.tasks[task as usize]);
        let parts = accesses.iter();
        parts.map(|access| (access.kind, access.buffer as u32, access.region.to_witness())).collect()
    }

    /// The steps so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Why a task cannot start now, or nothing if it can.
    pub fn blocked(&self, task: u32) -> Option<Blocked> {
        let record = &self.program.tasks[task as usize];
        if self.status(task) != Status::Waiting {
            return Some(Blocked::Status(self.status(task)));
        }
        if let Some(sm) = record.sm {
            let sms = self.program.target.as_ref().map_or(i64::MAX, |target| target.num_sms);
            if sm < 0 || sm >= sms {
                return Some(Blocked::NoSm(sm));
            }
        }
        let mut ahead = self.previous(task).filter(|&other| self.status(other) != Status::Finished);
        // Name the head of the queue: the others stand behind it as well.
        while let Some(other) = ahead {
            match self.previous(other).filter(|&other| self.status(other) != Status::Finished) {
                Some(further) => ahead = Some(further),
                None => return Some(Blocked::Queue(other)),
            }
        }
        record.waits.iter().find_map(|wait| {
            let (counter, threshold) = (wait.counter as u32, wait.threshold);
            let count = self.count(counter);
            let open = u64::try_from(threshold).is_ok_and(|threshold| count < threshold);
            open.then_some(Blocked::Counter { counter, count, threshold })
        })
    }

    /// Takes a step. Gives back what goes wrong with it.
    ///
    /// # Errors
    /// The step is not enabled.
    pub fn step(&mut self, event: Event) -> Result<Vec<Fault>, Blocked> {
        match event {
            Event::Start(task) => match self.blocked(task) {
                Some(blocked) => Err(blocked),
                None => Ok(self.start(task)),
            },
            Event::Finish(task) if self.status(task) == Status::Running => {
                self.status[task as usize] = Status::Finished;
                self.finished.insert(task);
                self.counts[self.program.tasks[task as usize].out_counter as usize] += 1;
                self.events.push(event);
                Ok(Vec::new())
            }
            Event::Finish(task) => Err(Blocked::Status(self.status(task))),
        }
    }

    /// The deadlock, if nothing runs, nothing can start, and some task is unfinished.
    pub fn deadlock(&self) -> Option<Fault> {
        let tasks = || 0..self.status.len() as u32;
        let stuck = tasks().all(|task| self.status(task) != Status::Running && self.blocked(task).is_some());
        let unfinished: Vec<u32> = tasks().filter(|&task| self.status(task) != Status::Finished).collect();
        (stuck && !unfinished.is_empty()).then(|| Fault {
            kind: FaultKind::Deadlock,
            strength: Strength::Shows,
            tasks: unfinished,
            buffers: Vec::new(),
            region: None,
        })
    }

    fn start(&mut self, task: u32) -> Vec<Fault> {
        let record = &self.program.tasks[task as usize];
        let mut acquired = TaskSet::default();
        for wait in &record.waits {
            for &producer in &self.producers[wait.counter as usize] {
                if self.finished.has(producer) && !acquired.has(producer) {
                    acquired.insert(producer);
                    acquired.extend(&self.acquired[producer as usize]);
                }
            }
        }
        self.acquired[task as usize] = acquired;
        self.before[task as usize] = self.finished.clone();
        self.status[task as usize] = Status::Running;
        self.events.push(Event::Start(task));
        let accesses = accesses(self.program, record);
        let mut faults = Vec::new();
        for access in &accesses {
            self.check_races(task, access, &mut faults);
            match access.kind {
                AccessKind::Read => self.check_written(task, access, &mut faults),
                AccessKind::Write => self.check_stale(task, access, &mut faults),
            }
            self.check_page(task, access, &accesses, &mut faults);
        }
        for access in accesses {
            let bytes = byte_set(self.program, &access);
            self.started[access.buffer].push(Started { task, access, bytes });
        }
        faults
    }

    /// Whether an earlier access is ordered before a task by what the task acquired.
    fn is_acquired(&self, task: u32, earlier: u32) -> bool {
        self.acquired[task as usize].has(earlier)
    }
}
