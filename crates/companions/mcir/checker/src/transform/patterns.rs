//! What AttentionPatternPass has to achieve (clause MCI-22): how many bytes may lie between inputs and outputs.

use std::collections::{HashMap, HashSet};

use megakernel_mcir::{Dtype, Graph, GraphNode, GraphOp};

use super::valid::Shapes;

fn elements(shapes: &Shapes, name: u32) -> u64 {
    let shape = shapes.get(&name).map(Vec::as_slice).unwrap_or_default();
    shape.iter().fold(1, |size: u64, &extent| size.saturating_mul(extent as u64))
}

/// The bytes of all values that are neither inputs nor outputs.
pub fn between(graph: &Graph, shapes: &Shapes) -> u64 {
    let is_inside = |name: &u32| !graph.inputs.contains(name) && !graph.outputs.contains(name);
    let inside = graph.values.iter().filter(|value| is_inside(&value.name));
    inside.map(|value| elements(shapes, value.name).saturating_mul(value.dtype.bytes().unsigned_abs())).sum()
}

/// The most bytes that may be left, and how many patterns there are.
pub fn allowed(graph: &Graph, shapes: &Shapes) -> (u64, usize) {
    let dtypes: HashMap<u32, Dtype> = graph.values.iter().map(|value| (value.name, value.dtype)).collect();
    let read =
        |name: u32| graph.nodes.iter().flat_map(|node| &node.ins).filter(|&&read| read == name).count();
    // The node that produces the first operand of a node, which only that node reads.
    let before = |node: &GraphNode| {
        let name = *node.ins.first()?;
        let is_alone =
            read(name) == 1 && !graph.outputs.contains(&name) && dtypes.get(&name) == Some(&Dtype::F32);
        graph.nodes.iter().find(|other| is_alone && other.out == name)
    };
    let rank = |name: u32| shapes.get(&name).map_or(0, Vec::len);
    let (mut left, mut lasts) = (between(graph, shapes), HashSet::new());
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
        let gone: u64 = row.iter().map(|node| 4 * elements(shapes, node.out)).sum();
        let kept = 4 * (elements(shapes, *queries) + elements(shapes, *keys));
        left = left.saturating_sub(gone).saturating_add(kept);
    }
    (left, lasts.len())
}
