//! Happens-before, by walking from every task.

use super::Subject;

/// A task: its graph and its index there.
pub type Node = (usize, usize);

/// What comes before what.
pub struct Order {
    nodes: Vec<Node>,
    edges: Vec<Vec<usize>>,
    before: Vec<Vec<bool>>,
}

impl Order {
    /// Walks the edges: from each task to all that depend on the event that it triggers.
    pub fn new(subject: &Subject<'_>) -> Order {
        let mut nodes = Vec::new();
        for graph in 0..subject.graphs.len() {
            nodes.extend((2..subject.tasks(graph).len()).map(|task| (graph, task)));
        }
        let task = |&(graph, task): &Node| subject.tasks(graph).get(task);
        let edges: Vec<Vec<usize>> = nodes
            .iter()
            .map(|producer| {
                let Some(target) = task(producer).and_then(|task| subject.trigger(task)) else {
                    return Vec::new();
                };
                let waits = |node: &Node| {
                    task(node).and_then(|task| subject.dependent(task)).map(|position| (node.0, position))
                };
                (0..nodes.len()).filter(|&n| nodes.get(n).and_then(waits) == Some(target)).collect()
            })
            .collect();
        let before = (0..nodes.len()).map(|from| reached(&edges, from)).collect();
        Order { nodes, edges, before }
    }

    /// Every task from 2 on of every rank.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Where a task stands among the nodes.
    pub fn index(&self, node: Node) -> usize {
        self.nodes.iter().position(|other| *other == node).unwrap_or(usize::MAX)
    }

    /// Whether `a` has finished when `b` starts.
    pub fn is_before(&self, a: usize, b: usize) -> bool {
        self.before.get(a).and_then(|row| row.get(b)).copied().unwrap_or(false)
    }

    /// Whether nothing orders the two.
    pub fn unordered(&self, a: usize, b: usize) -> bool {
        a != b && !self.is_before(a, b) && !self.is_before(b, a)
    }

    /// Whether a task comes before itself.
    pub fn cyclic(&self) -> bool {
        (0..self.nodes.len()).any(|n| self.is_before(n, n))
    }

    /// The tasks that wait for this one.
    pub fn successors(&self, n: usize) -> &[usize] {
        self.edges.get(n).map_or(&[], Vec::as_slice)
    }
}

/// What one or more edges lead to.
pub fn reached(edges: &[Vec<usize>], from: usize) -> Vec<bool> {
    let mut seen = vec![false; edges.len()];
    let mut open = vec![from];
    while let Some(n) = open.pop() {
        for &next in edges.get(n).into_iter().flatten() {
            if let Some(mark) = seen.get_mut(next).filter(|mark| !**mark) {
                *mark = true;
                open.push(next);
            }
        }
    }
    seen
}
