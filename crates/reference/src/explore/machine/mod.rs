//! A machine that takes a program of any size through one run, step by step, and says what goes wrong.

mod checks;

use megakernel_ir::diagnostic::{self, AccessKind, Event};
use megakernel_ir::model::Program;
use megakernel_ir::{BufferId, CounterId, TaskId};

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
        counter: CounterId,
        /// Its value.
        count: u64,
        /// What the task waits for.
        threshold: i64,
    },
    /// A task that stands before it in its queue is unfinished.
    Queue(TaskId),
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
    pub tasks: Vec<TaskId>,
    /// The buffers involved.
    pub buffers: Vec<BufferId>,
    /// The elements involved, of the first buffer.
    pub region: Option<diagnostic::Region>,
}

/// A set of tasks of a program of any size.
#[derive(Clone, Debug, Default)]
struct TaskSet(Vec<u64>);

impl TaskSet {
    fn has(&self, task: TaskId) -> bool {
        let (word, bit) = (task.index() / 64, task.index() % 64);
        self.0.get(word).is_some_and(|word| word & 1 << bit != 0)
    }

    fn insert(&mut self, task: TaskId) {
        let (word, bit) = (task.index() / 64, task.index() % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
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
    task: TaskId,
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
    producers: Vec<Vec<TaskId>>,
    /// The task before each one in its queue.
    previous: Vec<Option<TaskId>>,
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
        for (id, task) in program.tasks_by_id() {
            producers[CounterId::stated(task.out_counter).index()].push(id);
            previous.push(task.sm.and_then(|sm| last.insert(sm, id)));
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

    /// All tasks.
    pub fn tasks(&self) -> impl DoubleEndedIterator<Item = TaskId> + Clone + use<> {
        TaskId::range(0..self.status.len())
    }

    /// Where a task is.
    pub fn status(&self, task: TaskId) -> Status {
        self.status[task.index()]
    }

    /// Value of a counter.
    pub fn count(&self, counter: CounterId) -> u64 {
        self.counts[counter.index()]
    }

    /// The tasks that increment a counter.
    pub fn producers(&self, counter: CounterId) -> &[TaskId] {
        &self.producers[counter.index()]
    }

    /// The task that stands right before this one in its queue.
    pub fn previous(&self, task: TaskId) -> Option<TaskId> {
        self.previous[task.index()]
    }

    /// What a task accesses: how, which buffer, and which elements of it.
    pub fn footprint(&self, task: TaskId) -> Vec<(AccessKind, BufferId, diagnostic::Region)> {
        let accesses = accesses(self.program, &self.program[task]);
        let parts = accesses.iter();
        parts.map(|access| (access.kind, access.buffer, access.region.to_witness())).collect()
    }

    /// The steps so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Why a task cannot start now, or nothing if it can.
    pub fn blocked(&self, task: TaskId) -> Option<Blocked> {
        let record = &self.program[task];
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
            let (counter, threshold) = (CounterId::stated(wait.counter), wait.threshold);
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
                self.status[task.index()] = Status::Finished;
                self.finished.insert(task);
                self.counts[CounterId::stated(self.program[task].out_counter).index()] += 1;
                self.events.push(event);
                Ok(Vec::new())
            }
            Event::Finish(task) => Err(Blocked::Status(self.status(task))),
        }
    }

    /// The deadlock, if nothing runs, nothing can start, and some task is unfinished.
    pub fn deadlock(&self) -> Option<Fault> {
        let tasks = || self.tasks();
        let stuck = tasks().all(|task| self.status(task) != Status::Running && self.blocked(task).is_some());
        let unfinished: Vec<TaskId> = tasks().filter(|&task| self.status(task) != Status::Finished).collect();
        (stuck && !unfinished.is_empty()).then(|| Fault {
            kind: FaultKind::Deadlock,
            strength: Strength::Shows,
            tasks: unfinished,
            buffers: Vec::new(),
            region: None,
        })
    }

    fn buffers(&self) -> impl Iterator<Item = BufferId> + use<> {
        BufferId::range(0..self.started.len())
    }

    /// The accesses of a buffer so far.
    fn started(&self, buffer: BufferId) -> &[Started] {
        &self.started[buffer.index()]
    }

    fn start(&mut self, task: TaskId) -> Vec<Fault> {
        let record = &self.program[task];
        let mut acquired = TaskSet::default();
        for wait in &record.waits {
            for &producer in self.producers(CounterId::stated(wait.counter)) {
                if self.finished.has(producer) && !acquired.has(producer) {
                    acquired.insert(producer);
                    acquired.extend(&self.acquired[producer.index()]);
                }
            }
        }
        self.acquired[task.index()] = acquired;
        self.before[task.index()] = self.finished.clone();
        self.status[task.index()] = Status::Running;
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
            self.started[access.buffer.index()].push(Started { task, access, bytes });
        }
        faults
    }

    /// Whether an earlier access is ordered before a task by what the task acquired.
    fn is_acquired(&self, task: TaskId, earlier: TaskId) -> bool {
        self.acquired[task.index()].has(earlier)
    }
}
