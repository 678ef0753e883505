//! What is drawn: tasks by operator, and what they wait for, in rows.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::{CounterId, TaskId};

/// A document as boxes and lines: tasks that wait for counters or events, and increment or trigger them.
#[derive(Debug)]
pub struct Chart {
    /// What stands between tasks: `counter` or `event`.
    pub between: &'static str,
    /// Names of what stands side by side, the ranks; one without a name if there is one only.
    pub lanes: Vec<String>,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// What they wait for.
    pub events: Vec<Event>,
}

/// A task.
#[derive(Debug)]
pub struct Task {
    /// Its id in diagnostics.
    pub id: TaskId,
    /// Its number in its lane.
    pub number: u32,
    /// Where it stands.
    pub lane: usize,
    /// What it does.
    pub kind: String,
    /// To what. Tasks of one row that do the same to the same are one operator.
    pub about: String,
    /// The events that it waits for, by index.
    pub waits: Vec<usize>,
    /// The event that it triggers.
    pub triggers: Option<usize>,
}

/// A counter or an event.
#[derive(Debug)]
pub struct Event {
    /// Its id in diagnostics.
    pub id: CounterId,
    /// Its number in its lane.
    pub number: u32,
    /// Where it stands.
    pub lane: usize,
    /// Whether it ends everything.
    pub is_end: bool,
}

/// A box: an operator, or events between the same operators.
#[derive(Debug)]
pub struct Node {
    /// Where it stands.
    pub lane: usize,
    /// Operators in even rows, events in odd ones, each below all that come before it.
    pub row: usize,
    /// What it is, first the kind.
    pub lines: Vec<String>,
    /// Whether it is of events.
    pub is_of_events: bool,
    /// Its tasks or events, by index.
    pub members: Vec<usize>,
}

/// The boxes of a chart, and which box each task and each event is in.
#[derive(Debug)]
pub struct Boxes {
    /// The boxes.
    pub nodes: Vec<Node>,
    /// Of each task.
    pub of_task: Vec<usize>,
    /// Of each event; nothing where nobody has to do with it.
    pub of_event: Vec<Option<usize>>,
}

impl Chart {
    /// Who triggers each event, and who waits for it.
    pub fn around(&self) -> Vec<[Vec<usize>; 2]> {
        let mut around = vec![[Vec::new(), Vec::new()]; self.events.len()];
        for (index, task) in self.tasks.iter().enumerate() {
            if let Some([producers, _]) = task.triggers.and_then(|event| around.get_mut(event)) {
                producers.push(index);
            }
            for &event in &task.waits {
                if let Some([_, dependents]) = around.get_mut(event) {
                    dependents.push(index);
                }
            }
        }
        around
    }

    /// How many events stand before each task, on the longest way. What waits for itself stands below what it is known to follow.
    fn depths(&self, around: &[[Vec<usize>; 2]]) -> Vec<usize> {
        let mut depths = vec![0; self.tasks.len()];
        let mut open: Vec<usize> = self
            .tasks
            .iter()
            .map(|task| {
                let producers =
                    |event: &usize| around.get(*event).map_or(0, |[producers, _]| producers.len());
                task.waits.iter().map(producers).sum()
            })
            .collect();
        let mut ready: Vec<usize> = (0..self.tasks.len()).filter(|&task| open[task] == 0).collect();
        let mut is_done = vec![false; self.tasks.len()];
        let mut next = 0;
        loop {
            while let Some(task) = ready.pop() {
                if std::mem::replace(&mut is_done[task], true) {
                    continue;
                }
                let Some(event) = self.tasks[task].triggers else { continue };
                for &later in around.get(event).map_or(&[][..], |[_, dependents]| dependents) {
                    if is_done[later] {
                        continue;
                    }
                    depths[later] = depths[later].max(depths[task] + 1);
                    open[later] = open[later].saturating_sub(1);
                    if open[later] == 0 {
                        ready.push(later);
                    }
                }
            }
            // What is left waits for itself: a cycle is cut at the first task of it that something leads to.
            let left = || (0..self.tasks.len()).filter(|&task| !is_done[task]);
            match left().find(|&task| depths[task] > 0).or_else(|| left().next()) {
                Some(task) => ready.push(task),
                None => return depths,
            }
            next += 1;
            if next > self.tasks.len() {
                return depths;
            }
        }
    }

    /// Puts tasks together to operators, and events that stand between the same operators.
    pub fn boxes(&self) -> Boxes {
        let around = self.around();
        let depths = self.depths(&around);
        let mut nodes: Vec<Node> = Vec::new();
        let mut operators: BTreeMap<(usize, usize, &str, &str), usize> = BTreeMap::new();
        let mut of_task = Vec::new();
        for (index, (task, &depth)) in self.tasks.iter().zip(&depths).enumerate() {
            let key = (task.lane, depth, &*task.kind, &*task.about);
            let node = *operators.entry(key).or_insert_with(|| {
                let lines = [&task.kind, &task.about].into_iter().filter(|line| !line.is_empty());
                nodes.push(Node {
                    lane: task.lane,
                    row: 2 * depth,
                    lines: lines.cloned().collect(),
                    is_of_events: false,
                    members: Vec::new(),
                });
                nodes.len() - 1
            });
            nodes[node].members.push(index);
            of_task.push(node);
        }
        let mut between: BTreeMap<(usize, BTreeSet<usize>, BTreeSet<usize>), usize> = BTreeMap::new();
        let mut of_event = Vec::new();
        for (index, (event, [producers, dependents])) in self.events.iter().zip(&around).enumerate() {
            if producers.is_empty() && dependents.is_empty() {
                of_event.push(None);
                continue;
            }
            let set = |tasks: &[usize]| tasks.iter().map(|&task| of_task[task]).collect::<BTreeSet<_>>();
            let last = producers.iter().map(|&task| depths[task] + 1).max();
            let first = dependents.iter().map(|&task| depths[task]).min();
            let row = (2 * last.or(first).unwrap_or_default()).saturating_sub(1);
            let node = *between.entry((event.lane, set(producers), set(dependents))).or_insert_with(|| {
                let lines = if event.is_end { vec!["END".to_owned()] } else { Vec::new() };
                nodes.push(Node { lane: event.lane, row, lines, is_of_events: true, members: Vec::new() });
                nodes.len() - 1
            });
            nodes[node].members.push(index);
            of_event.push(Some(node));
        }
        Boxes { nodes, of_task, of_event }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: u32, kind: &str, waits: &[usize], triggers: Option<usize>) -> Task {
        let (kind, about) = (kind.to_owned(), String::new());
        Task { id: TaskId::from(number), number, lane: 0, kind, about, waits: waits.to_vec(), triggers }
    }

    fn chart(tasks: Vec<Task>, events: u32) -> Chart {
        let event = |number| Event { id: CounterId::from(number), number, lane: 0, is_end: false };
        Chart {
            between: "event",
            lanes: vec![String::new()],
            tasks,
            events: (0..events).map(event).collect(),
        }
    }

    #[test]
    fn tasks_of_one_kind_and_row_are_an_operator() {
        let all = vec![
            task(0, "A", &[], Some(0)),
            task(1, "A", &[], Some(1)),
            task(2, "B", &[0], Some(2)),
            task(3, "B", &[1], Some(2)),
            task(4, "A", &[2], None),
        ];
        let boxes = chart(all, 3).boxes();
        let seen: Vec<(usize, &[usize])> =
            boxes.nodes.iter().map(|node| (node.row, &*node.members)).collect();
        // Both events between A and B are one box; the later A is another operator.
        let expected: [(usize, &[usize]); 5] =
            [(0, &[0, 1]), (2, &[2, 3]), (4, &[4]), (1, &[0, 1]), (3, &[2])];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_cycle_ends() {
        let all = vec![task(0, "A", &[1], Some(0)), task(1, "B", &[0], Some(1)), task(2, "C", &[], Some(1))];
        let boxes = chart(all, 2).boxes();
        assert_eq!(boxes.of_task.len(), 3);
        assert!(boxes.nodes.iter().all(|node| node.row < 8));
    }
}
