//! Vector clocks: from whom each running task has acquired (clause EXE-03).
//!
//! A clock does not list tasks one by one. When a task starts it joins a *lane* whose last task it has acquired from, or
//! opens a new one; so the tasks of a lane happen one after the other, and one number for each lane says which of them are
//! known. There are about as many lanes as tasks that can run at once, however long the program is.
//!
//! Counters carry the clocks: a finishing task joins its own into that of its counter, and a starting task takes those of
//! the counters that it waits for, as they are at that moment. Nothing here looks at the graph of the program.

use std::rc::Rc;

use megakernel_ir::model::Program;
use megakernel_ir::{CounterId, TaskId};

/// Where a task stands: the `position`-th task, from 1, of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Epoch {
    lane: usize,
    position: u32,
}

/// A set of tasks: of each lane, the first so many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock(Vec<u32>);

impl Clock {
    fn at(&self, lane: usize) -> u32 {
        self.0.get(lane).copied().unwrap_or(0)
    }

    fn raise(&mut self, epoch: Epoch) {
        if self.0.len() <= epoch.lane {
            self.0.resize(epoch.lane + 1, 0);
        }
        if let Some(known) = self.0.get_mut(epoch.lane) {
            *known = (*known).max(epoch.position);
        }
    }

    fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(known, &more)| *known = (*known).max(more));
    }
}

/// What a counter carries.
#[derive(Clone, Debug, Default)]
struct Released {
    clock: Rc<Clock>,
    /// Tasks that wait for it and have not started; with none left, nobody asks for the clock.
    waiting: u32,
}

/// The clocks of one launch.
#[derive(Debug)]
pub(super) struct Clocks {
    /// How many tasks each lane holds.
    lanes: Vec<u32>,
    /// Of each task that has started.
    epochs: Vec<Option<Epoch>>,
    /// Of each running task, what it has acquired.
    acquired: Vec<Rc<Clock>>,
    counters: Vec<Released>,
}

impl Clocks {
    /// The clocks before the first start.
    pub fn new(program: &Program<'_>) -> Clocks {
        let mut counters = vec![Released::default(); program.counters.len()];
        for wait in program.tasks.iter().flat_map(|task| &task.waits) {
            if let Some(counter) = counters.get_mut(CounterId::stated(wait.counter).index()) {
                counter.waiting += 1;
            }
        }
        Clocks {
            lanes: Vec::new(),
            epochs: vec![None; program.tasks.len()],
            acquired: vec![Rc::default(); program.tasks.len()],
            counters,
        }
    }

    /// A task starts, and acquires from all that have finished on these counters.
    pub fn start(&mut self, task: TaskId, counters: impl Iterator<Item = CounterId>) {
        let mut acquired: Option<Rc<Clock>> = None;
        for counter in counters {
            let Some(released) = self.counters.get_mut(counter.index()) else { continue };
            released.waiting = released.waiting.saturating_sub(1);
            match &mut acquired {
                None => acquired = Some(Rc::clone(&released.clock)),
                Some(acquired) => Rc::make_mut(acquired).join(&released.clock),
            }
            if released.waiting == 0 {
                released.clock = Rc::default();
            }
        }
        let acquired = acquired.unwrap_or_default();
        // A lane whose last task is known can be continued; others may have been continued by somebody else.
        let free = |&(lane, &length): &(usize, &u32)| acquired.at(lane) == length;
        let lane = match self.lanes.iter().enumerate().take(acquired.0.len()).find(free) {
            Some((lane, _)) => lane,
            None => {
                self.lanes.push(0);
                self.lanes.len() - 1
            }
        };
        if let (Some(length), Some(epoch), Some(slot)) =
            (self.lanes.get_mut(lane), self.epochs.get_mut(task.index()), self.acquired.get_mut(task.index()))
        {
            *length += 1;
            *epoch = Some(Epoch { lane, position: *length });
            *slot = acquired;
        }
    }

    /// A task finishes, and releases what it did and what it acquired to its counter.
    pub fn finish(&mut self, task: TaskId, counter: CounterId) {
        let acquired = self.acquired.get_mut(task.index()).map(std::mem::take).unwrap_or_default();
        let (Some(released), Some(&Some(epoch))) =
            (self.counters.get_mut(counter.index()), self.epochs.get(task.index()))
        else {
            return;
        };
        if released.waiting > 0 {
            let clock = Rc::make_mut(&mut released.clock);
            clock.join(&acquired);
            clock.raise(epoch);
        }
    }

    /// Whether the running task `task` has acquired from `other`.
    pub fn has_acquired(&self, task: TaskId, other: TaskId) -> bool {
        match (self.acquired.get(task.index()), self.epochs.get(other.index())) {
            (Some(clock), Some(&Some(epoch))) => clock.at(epoch.lane) >= epoch.position,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::testing::nops;

    #[test]
    fn a_task_acquires_from_those_that_had_finished_and_from_theirs() {
        // t0 and t1 count on c0, t2 waits for one of them, t3 waits for t2.
        let text = nops(&["c0", "c0", "c1 c0>=1", "c2 c1>=1"]);
        let program = megakernel_ir::read(text.as_bytes()).expect("reads");
        let mut clocks = Clocks::new(&program);
        let [t0, t1, t2, t3] = [0, 1, 2, 3].map(TaskId::from);
        let [c0, c1] = [0, 1].map(CounterId::from);
        clocks.start(t0, [].into_iter());
        clocks.start(t1, [].into_iter());
        assert!(!clocks.has_acquired(t1, t0) && !clocks.has_acquired(t0, t1));
        clocks.finish(t1, c0);
        clocks.start(t2, [c0].into_iter());
        assert!(clocks.has_acquired(t2, t1) && !clocks.has_acquired(t2, t0));
        clocks.finish(t0, c0);
        assert!(!clocks.has_acquired(t2, t0), "what finishes after the start is not acquired");
        clocks.finish(t2, c1);
        clocks.start(t3, [c1].into_iter());
        assert!(clocks.has_acquired(t3, t2) && clocks.has_acquired(t3, t1) && !clocks.has_acquired(t3, t0));
        assert!(!clocks.has_acquired(t3, t3));
    }

    #[test]
    fn a_chain_is_one_lane() {
        let tasks: Vec<String> = (0..50)
            .map(|id| if id == 0 { "c0".to_owned() } else { format!("c{id} c{}>=1", id - 1) })
            .collect();
        let text = nops(&tasks.iter().map(String::as_str).collect::<Vec<_>>());
        let program = megakernel_ir::read(text.as_bytes()).expect("reads");
        let mut clocks = Clocks::new(&program);
        for index in 0..50usize {
            let task = TaskId::at(index);
            clocks.start(task, index.checked_sub(1).map(CounterId::at).into_iter());
            assert!(TaskId::range(0..index).all(|other| clocks.has_acquired(task, other)));
            clocks.finish(task, CounterId::at(index));
        }
        assert_eq!(clocks.lanes, [50]);
        assert!(clocks.counters.iter().all(|counter| counter.clock.0.is_empty()), "clocks are let go");
    }
}
