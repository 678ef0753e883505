//! Happens-before, by walking from every task.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_task_graph::{EventId, Task};

use super::{Subject, is_collective, is_put};

/// A task: its graph and its index there.
pub type Node = (usize, usize);

/// What comes before what.
pub struct Order {
    nodes: Vec<Node>,
    /// By events.
    direct: Vec<Vec<usize>>,
    /// By events, and by the events of mates.
    edges: Vec<Vec<usize>>,
    mates: Vec<Vec<usize>>,
    /// By edges alone.
    led: Vec<Vec<bool>>,
    /// And by what ranks may bring that are not seen.
    before: Vec<Vec<bool>>,
}

impl Order {
    /// Walks the edges: from each task to all that depend on the event that it triggers, and to the mates of those.
    pub fn new(subject: &Subject<'_>) -> Order {
        let mut nodes = Vec::new();
        for graph in 0..subject.graphs.len() {
            nodes.extend((2..subject.tasks(graph).len()).map(|task| (graph, task)));
        }
        let task = |&(graph, task): &Node| subject.tasks(graph).get(task);
        let direct: Vec<Vec<usize>> = nodes
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
        let mates = mates(subject, &nodes);
        let edges: Vec<Vec<usize>> = direct
            .iter()
            .map(|next| {
                let met = next.iter().flat_map(|&n| mates.get(n).into_iter().flatten());
                let all: BTreeSet<usize> = next.iter().chain(met).copied().collect();
                all.into_iter().collect()
            })
            .collect();
        let all = |edges: &[Vec<usize>]| -> Vec<Vec<bool>> {
            (0..nodes.len()).map(|from| reached(edges, from)).collect()
        };
        let led = all(&edges);
        let mut with_unseen = edges.clone();
        for (from, to) in unseen(subject, &nodes, &direct) {
            if let Some(edges) = with_unseen.get_mut(from) {
                edges.push(to);
            }
        }
        let before = if with_unseen == edges { led.clone() } else { all(&with_unseen) };
        Order { nodes, direct, edges, mates, led, before }
    }

    /// The tasks that depend on the event that this one triggers.
    pub fn direct(&self, n: usize) -> &[usize] {
        self.direct.get(n).map_or(&[], Vec::as_slice)
    }

    /// The collectives that meet this one, itself among them; none if it has no mate on some rank.
    pub fn mates(&self, n: usize) -> &[usize] {
        self.mates.get(n).map_or(&[], Vec::as_slice)
    }

    /// Every task from 2 on of every rank.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Where a task stands among the nodes.
    pub fn index(&self, node: Node) -> usize {
        // They stand in the order of the document.
        self.nodes.binary_search(&node).unwrap_or(usize::MAX)
    }

    /// Whether `a` has finished when `b` starts.
    pub fn is_before(&self, a: usize, b: usize) -> bool {
        self.before.get(a).and_then(|row| row.get(b)).copied().unwrap_or(false)
    }

    /// Whether edges lead from `a` to `b`.
    pub fn leads(&self, a: usize, b: usize) -> bool {
        self.led.get(a).and_then(|row| row.get(b)).copied().unwrap_or(false)
    }

    /// Whether nothing orders the two.
    pub fn unordered(&self, a: usize, b: usize) -> bool {
        a != b && !self.is_before(a, b) && !self.is_before(b, a)
    }

    /// Whether a task comes before itself.
    pub fn cyclic(&self) -> bool {
        (0..self.nodes.len()).any(|n| self.leads(n, n))
    }

    /// The tasks that come after this one by an edge.
    pub fn successors(&self, n: usize) -> &[usize] {
        self.edges.get(n).map_or(&[], Vec::as_slice)
    }
}

/// Whether copies of ranks that are not seen may trigger the event.
pub fn from_elsewhere(subject: &Subject<'_>, graph: usize, event: usize) -> bool {
    let tasks = subject.tasks(graph);
    let tagged = |task: &Task<'_>| EventId::from_bits(task.dependent_event).is_some_and(|id| id.nvshmem);
    let reduced =
        |task: &Task<'_>| (task.task_type == 107 || tagged(task)) && subject.dependent(task) == Some(event);
    let copied = |task: &Task<'_>| is_put(task) && subject.trigger(task) == Some((graph, event));
    subject.incomplete() && tasks.iter().any(|task| reduced(task) || copied(task))
}

/// The order that ranks which are not seen may bring: what goes to them comes before whatever may come from them, if all of that has
/// higher ids. Of a collective it is its start that goes and comes.
fn unseen(subject: &Subject<'_>, nodes: &[Node], direct: &[Vec<usize>]) -> Vec<(usize, usize)> {
    let task = |n: usize| nodes.get(n).and_then(|&(graph, task)| subject.tasks(graph).get(task));
    let mut edges = Vec::new();
    if !subject.incomplete() {
        return edges;
    }
    let meets = |n: usize| task(n).is_some_and(is_collective);
    let waits = |n: usize| task(n).and_then(|task| subject.dependent(task));
    let goes = |n: usize| {
        let id = task(n).and_then(|task| EventId::from_bits(task.trigger_event));
        id.is_some_and(|id| id.nvshmem && id.rank != subject.rank(0))
    };
    let all = || 0..nodes.len();
    let events: BTreeSet<usize> =
        all().filter_map(waits).filter(|&event| from_elsewhere(subject, 0, event)).collect();
    let of_events = events.into_iter().map(|event| all().filter(|&n| waits(n) == Some(event)).collect());
    let arrivals: Vec<Vec<usize>> = of_events.chain(all().filter(|&n| meets(n)).map(|n| vec![n])).collect();
    for n in all().filter(|&n| goes(n) || meets(n)) {
        let before: Vec<usize> = match meets(n) {
            true => all().filter(|&p| direct.get(p).is_some_and(|next| next.contains(&n))).collect(),
            false => vec![n],
        };
        for later in arrivals.iter().filter(|later| later.iter().all(|&to| to > n)) {
            edges.extend(before.iter().flat_map(|&from| later.iter().map(move |&to| (from, to))));
        }
    }
    edges
}

/// Of each collective those that it meets: on every rank, the one that is as far along its team by ids.
fn mates(subject: &Subject<'_>, nodes: &[Node]) -> Vec<Vec<usize>> {
    let mut teams: BTreeMap<i64, Vec<Vec<usize>>> = BTreeMap::new();
    for (n, &(graph, task)) in nodes.iter().enumerate() {
        let task = subject.tasks(graph).get(task);
        if let Some(task) = task.filter(|task| is_collective(task) && !subject.bare) {
            let team = teams.entry(task.task_offset.0.unwrap_or(0));
            let ranks = team.or_insert_with(|| vec![Vec::new(); subject.graphs.len()]);
            if let Some(own) = ranks.get_mut(graph) {
                own.push(n);
            }
        }
    }
    let mut mates = vec![Vec::new(); nodes.len()];
    for ranks in teams.values() {
        for nth in 0..ranks.iter().map(Vec::len).min().unwrap_or(0) {
            let all: Vec<usize> = ranks.iter().filter_map(|own| own.get(nth).copied()).collect();
            for &n in &all {
                if let Some(of) = mates.get_mut(n) {
                    of.clone_from(&all);
                }
            }
        }
    }
    mates
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
