//! What a generated program is known to do, and what follows from it by the definitions of the rules.

use std::collections::BTreeSet;

use megakernel_ir::Rule;

/// An access of a task: a box of rows and columns of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub buffer: usize,
    pub writes: bool,
    pub rows: (usize, usize),
    pub columns: (usize, usize),
}

impl Access {
    /// What both access; nothing where that is no element.
    pub fn shared(&self, other: &Access) -> Option<Access> {
        let cut = |a: (usize, usize), b: (usize, usize)| (a.0.max(b.0), a.1.min(b.1));
        let (rows, columns) = (cut(self.rows, other.rows), cut(self.columns, other.columns));
        let meet = self.buffer == other.buffer && rows.0 < rows.1 && columns.0 < columns.1;
        meet.then_some(Access { rows, columns, ..*self })
    }

    /// Whether the two may not happen at once.
    pub fn conflicts(&self, other: &Access) -> bool {
        (self.writes || other.writes) && self.shared(other).is_some()
    }
}

/// A task: its place in the order, and its accesses.
#[derive(Clone, Debug)]
pub struct Known {
    pub out: usize,
    pub waits: Vec<usize>,
    pub sm: Option<i64>,
    pub accesses: Vec<Access>,
    /// Whether element `i` of what it writes needs element `i` of what it reads only.
    pub elementwise: bool,
}

impl Known {
    pub fn uses(&self, buffer: usize) -> bool {
        self.accesses.iter().any(|access| access.buffer == buffer)
    }

    fn reads(&self, buffer: usize) -> bool {
        self.accesses.iter().any(|access| access.buffer == buffer && !access.writes)
    }

    fn writes(&self, buffer: usize) -> bool {
        self.accesses.iter().any(|access| access.buffer == buffer && access.writes)
    }
}

/// A program in which every wait is for all producers.
#[derive(Clone, Debug)]
pub struct Model {
    /// In list order.
    pub tasks: Vec<Known>,
    /// The tasks in an order that agrees with the waits.
    pub topological: Vec<usize>,
    pub counters: usize,
    /// By buffer: rows, columns, and whether it is a cache.
    pub buffers: Vec<(usize, usize, bool)>,
    /// By buffer: its page.
    pub pages: Vec<Option<usize>>,
}

/// Sets of ancestors.
pub struct Before(Vec<Vec<u64>>);

impl Before {
    pub fn has(&self, earlier: usize, later: usize) -> bool {
        self.0[later][earlier / 64] >> (earlier % 64) & 1 != 0
    }

    fn ordered(&self, a: usize, b: usize) -> bool {
        a == b || self.has(a, b) || self.has(b, a)
    }
}

impl Model {
    pub fn producers(&self) -> Vec<Vec<usize>> {
        let mut producers = vec![Vec::new(); self.counters];
        self.tasks.iter().enumerate().for_each(|(index, task)| producers[task.out].push(index));
        producers
    }

    pub fn before(&self) -> Before {
        let producers = self.producers();
        let mut before = vec![vec![0u64; self.tasks.len().div_ceil(64)]; self.tasks.len()];
        for &task in &self.topological {
            for &producer in self.tasks[task].waits.iter().flat_map(|&counter| &producers[counter]) {
                let ancestors = before[producer].clone();
                before[task].iter_mut().zip(ancestors).for_each(|(word, more)| *word |= more);
                before[task][producer / 64] |= 1 << (producer % 64);
            }
        }
        Before(before)
    }

    /// The rules among R02 to R06 and P01 that the order of the tasks breaks, where all that is read is written by
    /// someone, and by nobody after the reader only.
    pub fn broken(&self) -> BTreeSet<Rule> {
        let before = self.before();
        let mut rules = BTreeSet::new();
        for (buffer, &(_, _, is_cache)) in self.buffers.iter().enumerate() {
            let accesses: Vec<(usize, &Access)> = self
                .tasks
                .iter()
                .enumerate()
                .flat_map(|(index, task)| task.accesses.iter().map(move |access| (index, access)))
                .filter(|(_, access)| access.buffer == buffer)
                .collect();
            let writes = || accesses.iter().filter(|(_, access)| access.writes);
            for (position, &(a, first)) in accesses.iter().enumerate() {
                for &(b, second) in &accesses[position + 1..] {
                    if !first.conflicts(second) || before.ordered(a, b) {
                        continue;
                    }
                    if first.writes && second.writes {
                        rules.insert(Rule::R04);
                        continue;
                    }
                    let ((reader, read), (writer, write)) =
                        if first.writes { ((b, second), (a, first)) } else { ((a, first), (b, second)) };
                    let precedes_reader = || writes().filter(|(other, _)| before.has(*other, reader));
                    let overwrites = || {
                        let shared = read.shared(write);
                        precedes_reader().any(|(other, access)| {
                            shared.is_some_and(|shared| shared.shared(access).is_some())
                                && before.has(*other, writer)
                        })
                    };
                    rules.insert(if is_cache {
                        Rule::R06
                    } else if !precedes_reader().any(|(_, access)| access.conflicts(read)) {
                        Rule::R02
                    } else if overwrites() {
                        Rule::R05
                    } else {
                        Rule::R03
                    });
                }
            }
        }
        if self.clobbers(&before) {
            rules.insert(Rule::P01);
        }
        rules
    }

    /// Whether two buffers of a page are in use at once.
    fn clobbers(&self, before: &Before) -> bool {
        let bound: Vec<usize> =
            (0..self.buffers.len()).filter(|&buffer| self.pages[buffer].is_some()).collect();
        let users = |buffer: usize| (0..self.tasks.len()).filter(move |&task| self.tasks[task].uses(buffer));
        let precedes = |a: usize, b: usize| {
            users(a).all(|x| users(b).all(|y| before.has(x, y) || x == y && self.hands_over(x, a, b)))
        };
        bound.iter().enumerate().any(|(position, &a)| {
            bound[position + 1..]
                .iter()
                .any(|&b| self.pages[a] == self.pages[b] && !precedes(a, b) && !precedes(b, a))
        })
    }

    /// Whether the task replaces one buffer by the other element by element.
    fn hands_over(&self, task: usize, from: usize, to: usize) -> bool {
        let task = &self.tasks[task];
        let one_way = task.reads(from) && !task.writes(from) && task.writes(to) && !task.reads(to);
        task.elementwise && one_way && self.buffers[from] == self.buffers[to]
    }

    /// Whether the second of two tasks of one queue stands before the first, so that an edge from the first to it breaks D05.
    pub fn is_behind(&self, task: usize, other: usize) -> bool {
        self.tasks[task].sm.is_some() && self.tasks[task].sm == self.tasks[other].sm && task > other
    }

    /// Whether a chain of waits and queues leads from one task to another without the edges that are left out.
    pub fn leads(&self, from: usize, to: usize, is_left_out: impl Fn(usize, usize) -> bool) -> bool {
        let mut seen = vec![false; self.tasks.len()];
        let mut stack = vec![from];
        while let Some(task) = stack.pop() {
            if std::mem::replace(&mut seen[task], true) {
                continue;
            }
            let (out, sm) = (self.tasks[task].out, self.tasks[task].sm);
            let next_in_queue =
                (task + 1..self.tasks.len()).find(|&other| sm.is_some() && self.tasks[other].sm == sm);
            stack.extend(next_in_queue);
            let waiters = (0..self.tasks.len()).filter(|&other| self.tasks[other].waits.contains(&out));
            stack.extend(waiters.filter(|&other| !is_left_out(task, other)));
        }
        seen[to]
    }
}
