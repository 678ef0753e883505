//! The first launch of a schedule run phase by phase (clause SCH-07), in any order that is asked for.

use std::collections::HashMap;

use megakernel_ir::TaskId;

use crate::ids::{EventId, PhaseId};
use crate::world::{Count, TaskAt, World};

/// The state of a run.
pub struct Machine<'w> {
    world: &'w World<'w>,
    /// What its waits are compared with.
    counts: Vec<u64>,
    /// For each task its next phase.
    next: Vec<PhaseId>,
    /// For each task the one before it in its queue.
    previous: Vec<Option<TaskId>>,
    /// For each queue in any order, the task that has its worker.
    taken: HashMap<i128, TaskId>,
    /// For each event, the counts that phases wait for, those that are still to come last.
    waiters: Vec<Vec<(u64, PhaseId)>>,
    /// For each event, how many of them its count has reached.
    reached: Vec<usize>,
    /// The phases that have run, in their order.
    pub steps: Vec<PhaseId>,
}

/// Why the next phase of a task cannot run.
pub enum Blocked {
    /// It has none.
    Finished,
    /// Its worker is not free.
    Behind,
    /// A count is too low.
    Waits(Count),
}

impl<'w> Machine<'w> {
    /// The begin of the first launch.
    pub fn new(world: &'w World<'w>) -> Machine<'w> {
        let mut last = HashMap::new();
        // One without phases holds nobody up.
        let in_queue = |(id, task): (TaskId, &TaskAt)| {
            let queue = world.in_order(task).filter(|_| !task.phases.is_empty());
            queue.and_then(|queue| last.insert(queue, id))
        };
        let previous = world.tasks_by_id().map(in_queue).collect();
        let mut waiters = vec![Vec::new(); world.events.len()];
        for phase in world.phase_ids() {
            for wait in world.waits.of(phase) {
                waiters[wait.event.index()].push((wait.number, phase));
            }
        }
        waiters.iter_mut().for_each(|waiters: &mut Vec<(u64, PhaseId)>| waiters.sort_unstable());
        Machine {
            world,
            counts: vec![0; world.events.len()],
            next: world.tasks.iter().map(|task| task.phases.start).collect(),
            previous,
            taken: HashMap::new(),
            waiters,
            reached: vec![0; world.events.len()],
            steps: Vec::new(),
        }
    }

    /// What a wait is compared with.
    pub fn count(&self, event: EventId) -> u64 {
        self.counts[event.index()]
    }

    /// The next phase of a task.
    pub fn next(&self, task: TaskId) -> PhaseId {
        self.next[task.index()]
    }

    /// The queue of a task, if it is one in any order.
    fn any_order(&self, task: TaskId) -> Option<i128> {
        self.world.tasks[task.index()].queue.filter(|queue| self.world.any_order.contains(queue))
    }

    fn has_begun(&self, task: TaskId) -> bool {
        self.next[task.index()] > self.world.tasks[task.index()].phases.start
    }

    fn is_finished(&self, task: TaskId) -> bool {
        self.next[task.index()] == self.world.tasks[task.index()].phases.end
    }

    /// Why the next phase of a task cannot run; nothing if it can.
    pub fn blocked(&self, task: TaskId) -> Option<Blocked> {
        if self.is_finished(task) {
            return Some(Blocked::Finished);
        }
        let of = &self.world.tasks[task.index()];
        if !self.has_begun(task) {
            if self.previous[task.index()].is_some_and(|before| !self.is_finished(before)) {
                return Some(Blocked::Behind);
            }
            let holder = of.queue.and_then(|queue| self.taken.get(&queue));
            if holder.is_some_and(|&holder| holder != task && !self.is_finished(holder)) {
                return Some(Blocked::Behind);
            }
        }
        let waits = self.world.waits.of(self.next(task));
        waits.iter().find(|wait| self.count(wait.event) < wait.number).map(|&wait| Blocked::Waits(wait))
    }

    /// Runs the next phase of a task, which is not blocked. Gives the tasks that this may have freed.
    pub fn step(&mut self, task: TaskId) -> Vec<TaskId> {
        let phase = self.next(task);
        self.steps.push(phase);
        self.next[task.index()] = phase.next();
        if let Some(queue) = self.any_order(task) {
            self.taken.insert(queue, task);
        }
        let mut freed = vec![task];
        for signal in self.world.signals.of(phase) {
            let (event, world) = (signal.event.index(), self.world);
            self.counts[event] += signal.number;
            // The others wait on: each is freed once, however many signals come.
            let waiting = &self.waiters[event][self.reached[event]..];
            let now = waiting.partition_point(|(count, _)| *count <= self.counts[event]);
            freed.extend(waiting[..now].iter().map(|&(_, phase)| world.task_of[phase.index()]));
            self.reached[event] += now;
        }
        freed
    }

    /// Runs what can run, but for phases that are held, and what comes after them in their tasks.
    pub fn run(&mut self, held: impl Fn(PhaseId) -> bool) {
        let mut later: Vec<Option<TaskId>> = vec![None; self.world.tasks.len()];
        for (task, previous) in self.world.task_ids().zip(&self.previous) {
            if let Some(previous) = previous {
                later[previous.index()] = Some(task);
            }
        }
        // Of each queue in any order, those that found its worker taken.
        let mut behind: HashMap<i128, Vec<TaskId>> = HashMap::new();
        let mut open: Vec<TaskId> = self.world.task_ids().rev().collect();
        while let Some(task) = open.pop() {
            let queue = self.any_order(task);
            let blocked = self.blocked(task);
            if let (Some(Blocked::Behind), Some(queue)) = (&blocked, queue) {
                behind.entry(queue).or_default().push(task);
                continue;
            }
            if blocked.is_none() && !held(self.next(task)) {
                open.extend(self.step(task));
                if self.is_finished(task) {
                    open.extend(later[task.index()]);
                }
            }
            // Its worker may be free: another one is tried.
            if self.is_finished(task) || !self.has_begun(task) {
                open.extend(queue.and_then(|queue| behind.get_mut(&queue)?.pop()));
            }
        }
    }
}
