//! Which operator depends on which, as the current generator sees it: steps 1 to 5 of clause TGR-24.

use std::collections::BTreeSet;

use megakernel_ir::{Diagnostic, Rule};

use super::exact::{event_dims, gcd};
use super::plan::{Block, Operator, Plan};

/// Axes of a tensor.
pub const AXES: usize = 4;

/// An operator depends on another one by a tensor.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The operator that writes the tensor.
    pub from: usize,
    /// The one that reads it.
    pub to: usize,
    /// The maps of the two.
    pub maps: [[Option<usize>; 3]; 2],
    /// Into how many slices each axis of the tensor is cut.
    pub slices: [i64; AXES],
}

impl Edge {
    /// Blocks of a slice along each grid axis, of the producer (0) or the consumer (1).
    pub fn steps(&self, side: usize, grid: Block) -> Block {
        let along = |axis: usize| {
            self.maps[side][axis]
                .map_or(grid[axis], |axis_of_tensor| grid[axis] / self.slices[axis_of_tensor])
        };
        [along(0), along(1), along(2)]
    }

    /// From a place among the slices of one side, that of the other.
    pub fn across(&self, from: usize, place: Block) -> Block {
        let to = 1 - from;
        let along = |axis: usize| {
            let wanted = self.maps[to][axis];
            let same = wanted.and_then(|wanted| self.maps[from].iter().position(|map| *map == Some(wanted)));
            same.map_or(0, |axis| place[axis])
        };
        [along(0), along(1), along(2)]
    }
}

/// Edges that are not left out, in order.
#[derive(Debug)]
pub struct Edges(Vec<Edge>);

impl Edges {
    /// Steps 1 to 5.
    pub fn new(plan: &Plan<'_>) -> Result<Edges, Vec<Diagnostic>> {
        let mut edges = Edges(stripped(all(plan), plan.operators.len()));
        edges.refuse(plan.operators.len())?;
        for (index, operator) in plan.operators.iter().enumerate() {
            if edges.is_fork(index) {
                edges.agree(index, 0, operator);
            }
        }
        for (index, operator) in plan.operators.iter().enumerate() {
            if edges.is_join(index) {
                edges.agree(index, 1, operator);
            }
        }
        Ok(edges)
    }

    /// Edges from an operator.
    pub fn leaving(&self, from: usize) -> impl Iterator<Item = &Edge> {
        self.0.iter().filter(move |edge| edge.from == from)
    }

    /// Edges to an operator.
    pub fn entering(&self, to: usize) -> impl Iterator<Item = &Edge> {
        self.0.iter().filter(move |edge| edge.to == to)
    }

    /// Whether it has several consumers.
    pub fn is_fork(&self, index: usize) -> bool {
        self.leaving(index).map(|edge| edge.to).collect::<BTreeSet<_>>().len() > 1
    }

    /// Whether it has several producers.
    pub fn is_join(&self, index: usize) -> bool {
        self.entering(index).map(|edge| edge.from).collect::<BTreeSet<_>>().len() > 1
    }

    /// TK10.
    fn refuse(&self, operators: usize) -> Result<(), Vec<Diagnostic>> {
        let mut found = Vec::new();
        for to in 0..operators {
            let forks: Vec<usize> =
                self.entering(to).map(|edge| edge.from).filter(|&from| self.is_fork(from)).collect();
            let Some(&fork) = forks.first() else { continue };
            let message = if self.is_join(to) {
                format!(
                    "operator {fork} has several consumers, and this one of them has several producers: one event cannot hold both (cases 2 and 3 of the generator)"
                )
            } else if forks.len() > 1 {
                format!(
                    "operator {fork} has several consumers, and this one of them reads two tensors of it: the generator would make its tasks twice"
                )
            } else {
                continue;
            };
            found.push(Diagnostic::new(Rule::TK10, format!("/kernel_graph/operators/{to}"), message));
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    /// Gives all edges at one side of an operator the same steps there.
    fn agree(&mut self, index: usize, side: usize, operator: &Operator) {
        let is_own = |edge: &&mut Edge| [edge.from, edge.to][side] == index;
        let mut common = [1; 3];
        for edge in self.0.iter_mut().filter(is_own) {
            let steps = edge.steps(side, operator.grid);
            common = [0, 1, 2].map(|axis| common[axis] / gcd(common[axis], steps[axis]) * steps[axis]);
        }
        for edge in self.0.iter_mut().filter(is_own) {
            let steps = edge.steps(side, operator.grid);
            for axis in 0..3 {
                if let Some(cut) = edge.maps[side][axis] {
                    edge.slices[cut] /= common[axis] / steps[axis];
                }
            }
        }
    }
}

/// Step 1, with the slices of step 4.
fn all(plan: &Plan<'_>) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut writers: Vec<Option<(usize, [Option<usize>; 3])>> = vec![None; plan.tensors.len()];
    for (to, consumer) in plan.operators.iter().enumerate() {
        for input in consumer.inputs.iter().flatten() {
            let Some((from, map)) = writers[input.tensor] else { continue };
            let maps = [map, input.map];
            let slices = event_dims(&plan.operators[from], consumer, maps);
            edges.push(Edge { from, to, maps, slices });
        }
        // The later output of two that are one tensor is the latest writer.
        for output in &consumer.outputs {
            writers[output.tensor] = Some((to, output.map));
        }
    }
    edges
}

/// Step 2: an edge goes whose end can be reached by way of another operator.
fn stripped(edges: Vec<Edge>, operators: usize) -> Vec<Edge> {
    let mut after: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); operators];
    // Edges lead to later operators only.
    for index in (0..operators).rev() {
        let mut reached = BTreeSet::new();
        for edge in edges.iter().filter(|edge| edge.from == index) {
            reached.insert(edge.to);
            reached.extend(&after[edge.to]);
        }
        after[index] = reached;
    }
    let around = |edge: &Edge| {
        edges
            .iter()
            .any(|other| other.from == edge.from && other.to != edge.to && after[other.to].contains(&edge.to))
    };
    edges.iter().filter(|edge| !around(edge)).cloned().collect()
}
