//! A system of any size, taken through one run step by step.

use super::setup::Setup;

/// A task of an iteration: `task` is an index among the tasks of the [`Setup`], `iteration` counts from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance {
    /// The task.
    pub task: usize,
    /// The iteration.
    pub iteration: usize,
}

/// A step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A task starts.
    Start(Instance),
    /// A task finishes, and triggers its event.
    Finish(Instance),
}

/// Why a task cannot start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// It has started.
    Started,
    /// Its rank, or that of a mate, has not ended the iteration before.
    Iteration,
    /// It has no mate on some rank.
    Mates,
    /// Its event has been triggered too few times.
    Count {
        /// The event.
        event: usize,
        /// How often it has been triggered.
        count: i128,
        /// How often it has to be.
        needed: i128,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Waiting,
    Running,
    Finished,
}

/// The state of a system between two steps.
#[derive(Clone, Debug)]
pub struct Machine<'s> {
    setup: &'s Setup,
    /// Iteration by iteration, task by task.
    status: Vec<Status>,
    counts: Vec<i128>,
    steps: Vec<Step>,
}

impl<'s> Machine<'s> {
    /// The starting state, from which so many iterations are run.
    pub fn new(setup: &'s Setup, iterations: usize) -> Machine<'s> {
        Machine {
            setup,
            status: vec![Status::Waiting; setup.tasks.len() * iterations],
            counts: vec![0; setup.events.len()],
            steps: Vec::new(),
        }
    }

    /// All tasks of all iterations, in ascending order of both.
    pub fn instances(&self) -> impl Iterator<Item = Instance> + use<> {
        let tasks = self.setup.tasks.len().max(1);
        (0..self.status.len()).map(move |index| Instance { task: index % tasks, iteration: index / tasks })
    }

    fn status(&self, instance: Instance) -> Option<Status> {
        self.status.get(instance.iteration * self.setup.tasks.len() + instance.task).copied()
    }

    /// Whether a task has finished.
    pub fn is_finished(&self, instance: Instance) -> bool {
        self.status(instance) == Some(Status::Finished)
    }

    /// How often an event has been triggered.
    pub fn count(&self, event: usize) -> i128 {
        self.counts.get(event).copied().unwrap_or_default()
    }

    /// How often it has to be for this iteration.
    pub fn needed(&self, event: usize, iteration: usize) -> i128 {
        let threshold = self.setup.events.get(event).map_or(0, |event| i128::from(event.threshold));
        threshold * (iteration as i128 + 1)
    }

    /// Whether a rank has ended an iteration.
    pub fn has_ended(&self, rank: usize, iteration: usize) -> bool {
        self.setup.ends.get(rank).is_some_and(|&end| self.count(end) >= self.needed(end, iteration))
    }

    /// Whether all ranks have.
    pub fn all_ended(&self, iteration: usize) -> bool {
        (0..self.setup.ends.len()).all(|rank| self.has_ended(rank, iteration))
    }

    /// What keeps a task from starting, if anything does.
    pub fn blocked(&self, instance: Instance) -> Option<Blocked> {
        if self.status(instance) != Some(Status::Waiting) {
            return Some(Blocked::Started);
        }
        let task = self.setup.tasks.get(instance.task)?;
        if task.is_stranded {
            return Some(Blocked::Mates);
        }
        let starts = |&task: &usize| self.start_blocked(Instance { task, ..instance });
        [instance.task].iter().chain(&task.mates).find_map(starts)
    }

    /// What keeps a task from starting by itself, not counting mates that it then waits for.
    pub fn start_blocked(&self, instance: Instance) -> Option<Blocked> {
        let task = self.setup.tasks.get(instance.task)?;
        if instance.iteration > 0 && !self.has_ended(task.rank, instance.iteration - 1) {
            return Some(Blocked::Iteration);
        }
        let event = task.dependent?;
        let (count, needed) = (self.count(event), self.needed(event, instance.iteration));
        (count < needed).then_some(Blocked::Count { event, count, needed })
    }

    /// Takes a step.
    ///
    /// # Errors
    /// The semantics do not allow it in this state.
    pub fn step(&mut self, step: Step) -> Result<(), Blocked> {
        let (instance, status) = match step {
            Step::Start(instance) => {
                if let Some(blocked) = self.blocked(instance) {
                    return Err(blocked);
                }
                (instance, Status::Running)
            }
            Step::Finish(instance) => {
                if self.status(instance) != Some(Status::Running) {
                    return Err(Blocked::Started);
                }
                let trigger = self.setup.tasks.get(instance.task).and_then(|task| task.trigger);
                if let Some(count) = trigger.and_then(|event| self.counts.get_mut(event)) {
                    *count += 1;
                }
                (instance, Status::Finished)
            }
        };
        if let Some(slot) = self.status.get_mut(instance.iteration * self.setup.tasks.len() + instance.task) {
            *slot = status;
        }
        self.steps.push(step);
        Ok(())
    }

    /// Runs a task from start to finish.
    ///
    /// # Errors
    /// It cannot start.
    pub fn run(&mut self, instance: Instance) -> Result<(), Blocked> {
        self.step(Step::Start(instance))?;
        self.step(Step::Finish(instance))
    }

    /// Runs all that can run, each to its finish, except for the tasks of which `keep` holds.
    pub fn run_all(&mut self, keep: impl Fn(Instance) -> bool) {
        let mut waiting: Vec<Instance> = self.instances().filter(|&instance| !keep(instance)).collect();
        loop {
            let before = waiting.len();
            waiting.retain(|&instance| self.run(instance).is_err());
            if waiting.len() == before {
                return;
            }
        }
    }

    /// Runs all with one worker a rank, until the head of every queue is stuck. The heads are the result.
    pub fn run_queues(&mut self) -> Vec<Instance> {
        let ranks = self.setup.ends.len();
        let mut queues: Vec<std::collections::VecDeque<Instance>> = vec![Default::default(); ranks];
        for instance in self.instances() {
            if let Some(queue) =
                self.setup.tasks.get(instance.task).and_then(|task| queues.get_mut(task.rank))
            {
                queue.push_back(instance);
            }
        }
        loop {
            let before = self.steps.len();
            for rank in 0..queues.len() {
                while let Some(head) = queues.get(rank).and_then(|queue| queue.front().copied()) {
                    // A mate has come if it stands at the head of its queue, or has gone on already.
                    let mates =
                        self.setup.tasks.get(head.task).map(|task| task.mates.as_slice()).unwrap_or_default();
                    let have_come = mates.iter().map(|&task| Instance { task, ..head }).all(|mate| {
                        self.is_finished(mate) || queues.iter().any(|queue| queue.front() == Some(&mate))
                    });
                    if !have_come || self.run(head).is_err() {
                        break;
                    }
                    queues.get_mut(rank).map(std::collections::VecDeque::pop_front);
                }
            }
            if self.steps.len() == before {
                return queues.iter().filter_map(|queue| queue.front().copied()).collect();
            }
        }
    }

    /// The steps taken.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The system.
    pub fn setup(&self) -> &'s Setup {
        self.setup
    }
}
