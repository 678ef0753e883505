//! Which task runs next: counters, waits and queues (clauses EXE-01 and EXE-02).

use std::collections::BTreeMap;

use megakernel_ir::model::Program;

use crate::kernels::Kernels;
use crate::memory::{Broken, Result};

/// The tasks of a program as the scheduler sees them.
pub struct Plan {
    tasks: Vec<Entry>,
}

struct Entry {
    /// Counter and threshold.
    waits: Vec<(usize, u64)>,
    /// The counter that grows.
    counter: usize,
    /// The task before it in its SM's queue.
    after: Option<usize>,
}

impl Plan {
    /// Reads waits, counters and queues.
    ///
    /// # Errors
    /// A counter does not exist.
    pub fn new(program: &Program<'_>) -> Result<Plan> {
        let counter = |id: i64| {
            let found = usize::try_from(id).ok().filter(|&id| id < program.counters.len());
            found.ok_or_else(|| Broken(format!("there is no counter {id}")))
        };
        let mut last: BTreeMap<i64, usize> = BTreeMap::new();
        let mut tasks = Vec::with_capacity(program.tasks.len());
        for (id, task) in program.tasks.iter().enumerate() {
            let waits = task
                .waits
                .iter()
                .map(|wait| Ok((counter(wait.counter)?, u64::try_from(wait.threshold).unwrap_or_default())));
            tasks.push(Entry {
                waits: waits.collect::<Result<_>>()?,
                counter: counter(task.out_counter)?,
                after: task.sm.and_then(|sm| last.insert(sm, id)),
            });
        }
        Ok(Plan { tasks })
    }
}

/// Which tasks have finished.
pub struct State {
    finished: Vec<bool>,
    turn: u64,
}

impl State {
    /// None.
    pub fn new(plan: &Plan) -> State {
        State { finished: vec![false; plan.tasks.len()], turn: 0 }
    }

    /// A task that may start, chosen by the implementation; nothing if there is none.
    pub fn next(
        &mut self,
        kernels: &dyn Kernels,
        program: &Program<'_>,
        plan: &Plan,
        counts: &[u64],
    ) -> Option<usize> {
        let reached = |&(counter, threshold): &(usize, u64)| {
            counts.get(counter).is_some_and(|&count| kernels.reached(count, threshold))
        };
        let done = |task: usize| self.finished.get(task).copied().unwrap_or(true);
        let startable: Vec<usize> = (0..program.tasks.len())
            .zip(&plan.tasks)
            .filter(|(id, task)| {
                let reached = |(index, wait)| !kernels.waits_for(index) || reached(wait);
                !done(*id) && task.after.is_none_or(done) && task.waits.iter().enumerate().all(reached)
            })
            .map(|(id, _)| id)
            .collect();
        self.turn += 1;
        let chosen = kernels.pick(startable.len(), self.turn);
        startable.get(chosen).or(startable.last()).copied()
    }

    /// A task has finished: its counter grows.
    pub fn finish(&mut self, task: usize, plan: &Plan, counts: &mut [u64]) {
        if let Some(finished) = self.finished.get_mut(task) {
            *finished = true;
        }
        if let Some(count) = plan.tasks.get(task).and_then(|entry| counts.get_mut(entry.counter)) {
            *count += 1;
        }
    }

    /// A task that has not finished.
    pub fn unfinished(&self) -> Option<usize> {
        self.finished.iter().position(|finished| !finished)
    }
}
