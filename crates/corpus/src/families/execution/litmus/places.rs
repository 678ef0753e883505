//! A ledger whose tasks are put on SMs as they are written.

use super::super::ledger::Ledger;

/// A program on its way, and the SM of each of its tasks.
pub struct Places<'l> {
    /// The program.
    pub l: &'l mut Ledger,
    sms: Vec<usize>,
}

impl<'l> Places<'l> {
    /// A program without tasks.
    pub fn new(l: &'l mut Ledger) -> Self {
        Self { l, sms: Vec::new() }
    }

    /// Adds tasks on one SM.
    pub fn on<T>(&mut self, sm: usize, add: impl FnOnce(&mut Ledger) -> T) -> T {
        self.from(sm, 0, add)
    }

    /// Adds tasks on SMs that follow each other, a task each.
    pub fn each_from<T>(&mut self, sm: usize, add: impl FnOnce(&mut Ledger) -> T) -> T {
        self.from(sm, 1, add)
    }

    fn from<T>(&mut self, sm: usize, step: usize, add: impl FnOnce(&mut Ledger) -> T) -> T {
        let added = add(self.l);
        let tasks = self.sms.len()..self.l.p.task_count();
        let first = tasks.start;
        self.sms.extend(tasks.map(|task| sm + step * (task - first)));
        added
    }

    /// Gives the tasks their SMs.
    pub fn assign(self) {
        self.l.p.assign(|task| self.sms.get(task).copied());
    }
}
