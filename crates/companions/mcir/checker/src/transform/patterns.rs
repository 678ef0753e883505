//! What AttentionPatternPass has to achieve (clause MCI-22): how many bytes may lie between inputs and outputs, and which values may not be there.

use std::collections::{HashMap, HashSet};

use megakernel_mcir::{Dtype, Graph, GraphNode, GraphOp};

use super::valid::Shapes;

fn elements(shapes: &Shapes, name: u32) -> u64 {
    let shape = shapes.get(&name).map(Vec::as_slice).unwrap_or_default();
    shape.iter().fold(1, |size: u64, &extent| size.saturating_mul(extent as u64))
}

/// The values that are neither inputs nor outputs, and their dtypes.
pub fn inside(graph: &Graph) -> impl Iterator<Item = (u32, Dtype)> {
    let listed: HashSet<u32> = graph.inputs.iter().chain(&graph.outputs).copied().collect();
    let values = graph.values.iter().map(|value| (value.name, value.dtype));
    values.filter(move |(name, _)| !listed.contains(name))
}

/// The bytes of all values that are neither inputs nor outputs.
pub fn between(graph: &Graph, shapes: &Shapes) -> u64 {
    let bytes =
        |(name, dtype): (u32, Dtype)| elements(shapes, name).saturating_mul(dtype.bytes().unsigned_abs());
    inside(graph).map(bytes).fold(0, u64::saturating_add)
}

/// What has to be achieved.
pub struct Aim {
    /// The most bytes that may be left.
    pub most: u64,
    /// The values that nodes of patterns produce, but for the last node of each.
    pub gone: Vec<u32>,
    /// How many patterns there are.
    pub patterns: usize,
}

/// What has to be achieved in a graph.
pub fn aim(graph: &Graph, shapes: &Shapes) -> Aim {
    let dtypes: HashMap<u32, Dtype> = graph.values.iter().map(|value| (value.name, value.dtype)).collect();
    let outputs: HashSet<u32> = graph.outputs.iter().copied().collect();
    let makers: HashMap<u32, &GraphNode> = graph.nodes.iter().map(|node| (node.out, node)).collect();
    let mut reads: HashMap<u32, usize> = HashMap::new();
    graph.nodes.iter().flat_map(|node| &node.ins).for_each(|&name| *reads.entry(name).or_default() += 1);
    // The node that produces the first operand of a node, which only that node reads.
    let before = |node: &GraphNode| {
        let name = *node.ins.first()?;
        let is_alone = reads.get(&name) == Some(&1)
            && !outputs.contains(&name)
            && dtypes.get(&name) == Some(&Dtype::F32);
        makers.get(&name).copied().filter(|_| is_alone)
    };
    let rank = |name: u32| shapes.get(&name).map_or(0, Vec::len);
    let mut found = Aim { most: between(graph, shapes), gone: Vec::new(), patterns: 0 };
    let mut lasts = HashSet::new();
    for last in graph.nodes.iter().filter(|node| node.op == GraphOp::Matmul) {
        let Some(softmax) = before(last) else { continue };
        let GraphOp::Softmax(axis) = softmax.op else { continue };
        let mut row = vec![softmax];
        let mut next = before(softmax);
        for is_there in [|op| matches!(op, GraphOp::Mask(_)), |op| matches!(op, GraphOp::Scale(_))]
            as [fn(GraphOp) -> bool; 2]
        {
            if let Some(node) = next.filter(|node| is_there(node.op)) {
                row.push(node);
                next = before(node);
            }
        }
        let Some(first) = next.filter(|node| node.op == GraphOp::Matmul) else { continue };
        row.push(first);
        let ([queries, keys], [_, values]) = (&first.ins[..], &last.ins[..]) else { continue };
        let group =
            |name: u32| shapes.get(&name).filter(|shape| shape.len() == 3).and_then(|shape| shape.first());
        let meet = rank(*keys) == rank(*values) && group(*keys) == group(*values);
        let along_last = usize::try_from(axis).is_ok_and(|axis| axis + 1 == rank(softmax.out));
        if !meet || !along_last || lasts.contains(&first.id) {
            continue;
        }
        lasts.insert(last.id);
        let bytes = |name: u32| elements(shapes, name).saturating_mul(4);
        let gone = row.iter().fold(0, |sum: u64, node| sum.saturating_add(bytes(node.out)));
        let kept = bytes(*queries).saturating_add(bytes(*keys));
        found.most = found.most.saturating_sub(gone).saturating_add(kept);
        found.gone.extend(row.iter().map(|node| node.out));
        found.patterns += 1;
    }
    found
}
