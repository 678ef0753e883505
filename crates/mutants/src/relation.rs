//! Relations between tasks.

use megakernel_ir::TaskId;

/// A relation between tasks: `rows[a][b]` if `a` comes before `b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    rows: Vec<Vec<bool>>,
}

impl Relation {
    /// Without a pair.
    pub fn empty(tasks: usize) -> Relation {
        Relation { rows: vec![vec![false; tasks]; tasks] }
    }

    /// Whether `a` comes before `b`.
    pub fn has(&self, a: TaskId, b: TaskId) -> bool {
        self.rows.get(a.index()).and_then(|row| row.get(b.index())).copied().unwrap_or(false)
    }

    /// Whether one of two tasks comes before the other.
    pub fn orders(&self, a: TaskId, b: TaskId) -> bool {
        self.has(a, b) || self.has(b, a)
    }

    /// Puts `a` before `b`.
    pub fn add(&mut self, a: TaskId, b: TaskId) {
        if let Some(cell) = self.rows.get_mut(a.index()).and_then(|row| row.get_mut(b.index())) {
            *cell = true;
        }
    }

    fn tasks(&self) -> impl Iterator<Item = TaskId> + use<> {
        TaskId::range(0..self.rows.len())
    }

    /// Every pair.
    pub fn pairs(&self) -> impl Iterator<Item = (TaskId, TaskId)> {
        let cells = |(a, row): (TaskId, &Vec<bool>)| {
            let after: Vec<_> = self.tasks().zip(row).filter(|(_, set)| **set).map(|(b, _)| (a, b)).collect();
            after
        };
        self.tasks().zip(&self.rows).flat_map(cells)
    }

    /// The pairs that are kept.
    pub fn filtered(&self, keep: impl Fn(TaskId, TaskId) -> bool) -> Relation {
        let mut kept = Relation::empty(self.rows.len());
        self.pairs().filter(|&(a, b)| keep(a, b)).for_each(|(a, b)| kept.add(a, b));
        kept
    }

    /// What its edges lead to, through the tasks that may be passed, in at most so many edges.
    pub fn closure(&self, passes: impl Fn(TaskId) -> bool, most: usize) -> Relation {
        let after: Vec<Vec<TaskId>> = self
            .rows
            .iter()
            .map(|row| self.tasks().zip(row).filter(|(_, set)| **set).map(|(b, _)| b).collect())
            .collect();
        let mut closed = Relation::empty(self.rows.len());
        for start in self.tasks() {
            let mut front = vec![start];
            for _ in 0..most {
                let mut next = Vec::new();
                for &task in front.iter().filter(|&&task| task == start || passes(task)) {
                    for &other in &after[task.index()] {
                        if !closed.has(start, other) {
                            closed.add(start, other);
                            next.push(other);
                        }
                    }
                }
                if next.is_empty() {
                    break;
                }
                front = next;
            }
        }
        closed
    }

    /// What its edges lead to.
    pub fn closed(&self) -> Relation {
        self.closure(|_| true, usize::MAX)
    }

    /// The sets of two or more tasks that reach each other, as one of each of their tasks.
    pub fn cycles(&self) -> Vec<Vec<TaskId>> {
        let closed = self.closed();
        let mut sets: Vec<Vec<TaskId>> = Vec::new();
        for a in self.tasks().filter(|&a| closed.has(a, a)) {
            match sets.iter_mut().find(|set| closed.has(set[0], a) && closed.has(a, set[0])) {
                Some(set) => set.push(a),
                None => sets.push(vec![a]),
            }
        }
        sets.retain(|set| set.len() >= 2);
        sets
    }
}
