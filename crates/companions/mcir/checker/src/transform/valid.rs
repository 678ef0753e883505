//! Whether a graph breaks no rule (IG01 to IG06), for answers: in the runner's own words.

use std::collections::{HashMap, HashSet};

use megakernel_mcir::{Graph, GraphNode, GraphOp};

/// The shapes of all values.
pub type Shapes = HashMap<u32, Vec<usize>>;

const MOST: i64 = 2_147_483_647;
/// The most extents of a value.
const RANK: usize = 64;

/// The shapes of a graph that breaks no rule, and how many numbers it takes to evaluate it, terms of sums and inputs included: `most` of them at most.
///
/// # Errors
/// What is wrong.
pub fn shapes(graph: &Graph, most: usize) -> Result<(Shapes, usize), String> {
    let name = |name: u32| graph.names[name as usize].as_str();
    let mut all = Shapes::new();
    for value in &graph.values {
        let fits = |&extent: &i64| usize::try_from(extent).ok().filter(|_| (1..=MOST).contains(&extent));
        let shape: Option<Vec<usize>> = value.shape.iter().map(fits).collect();
        let shape = shape.filter(|shape| shape.len() <= RANK);
        let shape = shape.ok_or_else(|| {
            format!("`{}` has an extent that is out of range, or more than 64 (IG01)", name(value.name))
        })?;
        all.insert(value.name, shape);
    }
    let unknown = |names: &[u32]| names.iter().find(|name| !all.contains_key(name)).copied();
    let listed = unknown(&graph.inputs).or_else(|| unknown(&graph.outputs));
    let named = |node: &GraphNode| unknown(&node.ins).or_else(|| unknown(&[node.out]));
    if let Some(unknown) = listed.or_else(|| graph.nodes.iter().find_map(named)) {
        return Err(format!("`{}` is no value (IG02)", name(unknown)));
    }
    for names in [&graph.inputs, &graph.outputs, &graph.nodes.iter().map(|node| node.id).collect()] {
        let mut seen = HashSet::new();
        if let Some(&twice) = names.iter().find(|name| !seen.insert(**name)) {
            return Err(format!("`{}` occurs twice (IG03)", name(twice)));
        }
    }
    let mut there: HashSet<u32> = graph.inputs.iter().copied().collect();
    if let Some(&output) = graph.outputs.iter().find(|name| there.contains(name)) {
        return Err(format!("the output `{}` is an input (IG05)", name(output)));
    }
    let elements = |shape: &[usize]| shape.iter().fold(1_usize, |size, &extent| size.saturating_mul(extent));
    let sizes = graph.inputs.iter().filter_map(|name| all.get(name)).map(|shape| elements(shape));
    let mut work = sizes.fold(0, usize::saturating_add);
    for node in &graph.nodes {
        let id = name(node.id);
        numbers(node.op).map_err(|what| format!("{what} of `{id}` is out of range (IG01)"))?;
        if node.ins.len() != node.op.arity() {
            return Err(format!("`{id}` has the wrong number of operands (IG04)"));
        }
        if let Some(&early) = node.ins.iter().find(|name| !there.contains(name)) {
            return Err(format!("`{id}` reads `{}` before it is produced (IG05)", name(early)));
        }
        if !there.insert(node.out) {
            return Err(format!("`{id}` produces `{}` again (IG05)", name(node.out)));
        }
        let ins: Vec<&[usize]> =
            node.ins.iter().filter_map(|name| all.get(name)).map(Vec::as_slice).collect();
        let (shape, terms) =
            produced(node.op, &ins).ok_or_else(|| format!("the shapes of `{id}` do not meet (IG06)"))?;
        if all.get(&node.out) != Some(&shape) {
            return Err(format!("`{id}` produces the shape {shape:?} (IG06)"));
        }
        work = work.saturating_add(elements(&shape).saturating_mul(terms));
    }
    if let Some(value) = graph.values.iter().find(|value| !there.contains(&value.name)) {
        return Err(format!("nothing produces `{}` (IG05)", name(value.name)));
    }
    if work > most {
        return Err(format!("the graph takes {work} operations, and is judged up to {most} (MCI-21)"));
    }
    Ok((all, work))
}

fn numbers(op: GraphOp) -> Result<(), &'static str> {
    let fraction = |[p, q]: [i64; 2], least: i64| (least..=MOST).contains(&p) && (1..=MOST).contains(&q);
    let (fits, what) = match op {
        GraphOp::Scale(by) => (fraction(by, -MOST), "`by`"),
        GraphOp::RmsNorm(eps) | GraphOp::LayerNorm(eps) => (fraction(eps, 0), "`eps`"),
        GraphOp::Attention(by, _) if !fraction(by, -MOST) => (false, "`by`"),
        GraphOp::Mask(masked) | GraphOp::Attention(_, Some(masked)) => {
            let fits = (-MOST..=MOST).contains(&masked.offset);
            (fits && masked.window.is_none_or(|window| (1..=MOST).contains(&window)), "the mask")
        }
        _ => (true, ""),
    };
    if fits { Ok(()) } else { Err(what) }
}

/// Of a row of attention, for each element of the result: n scores of d terms each, what softmax, scale and mask take of them, and n weights in each
/// of `wide` sums.
fn weighed(d: usize, n: usize, wide: usize) -> usize {
    n.saturating_mul(d.saturating_add(6)).div_ceil(wide).saturating_add(n)
}

/// The shape of what a node produces, and how many operations an element takes: of attention, rounded up.
fn produced(op: GraphOp, ins: &[&[usize]]) -> Option<(Vec<usize>, usize)> {
    let a = *ins.first()?;
    let same = |fits: bool, each: usize| fits.then(|| (a.to_vec(), each));
    let has = |axis: i64| usize::try_from(axis).is_ok_and(|axis| axis < a.len());
    match (op, ins) {
        (GraphOp::Matmul, [a, b]) => match (a, b) {
            ([m, k], [l, n]) if k == l => Some((vec![*m, *n], *k)),
            ([h, m, k], [g, l, n]) if k == l && h % g == 0 => Some((vec![*h, *m, *n], *k)),
            _ => None,
        },
        (GraphOp::Attention(..), [q, k, v]) => match (q, k, v) {
            ([m, d], [n, e], [l, wide]) if d == e && n == l => {
                Some((vec![*m, *wide], weighed(*d, *n, *wide)))
            }
            ([h, m, d], [g, n, e], [f, l, wide]) if d == e && n == l && g == f && h % g == 0 => {
                Some((vec![*h, *m, *wide], weighed(*d, *n, *wide)))
            }
            _ => None,
        },
        (GraphOp::Transpose, _) => {
            let (rest, [m, n]) = a.split_last_chunk::<2>()?;
            Some(([rest, &[*n, *m]].concat(), 1))
        }
        (GraphOp::Mask(_), _) => same(a.len() >= 2, 1),
        (GraphOp::Binary(_), [_, b]) => {
            let lacking = a.len().checked_sub(b.len())?;
            same(a.iter().skip(lacking).zip(b.iter()).all(|(a, b)| b == a || *b == 1), 1)
        }
        (GraphOp::Reduce(_, axis), _) if has(axis) => {
            let mut shape = a.to_vec();
            let extent = std::mem::replace(&mut shape[usize::try_from(axis).ok()?], 1);
            Some((shape, extent))
        }
        (GraphOp::Reduce(..), _) => None,
        (GraphOp::Softmax(axis), _) => same(has(axis), 4),
        (GraphOp::RmsNorm(_), [_, w]) => same(w.len() == 1 && a.last() == w.first(), 4),
        (GraphOp::LayerNorm(_), [_, w, b]) => same(w.len() == 1 && a.last() == w.first() && w == b, 6),
        (GraphOp::Rope, [_, c, s]) => {
            let fits = matches!((a, *c), ([.., m, wide], [rows, half]) if m == rows && half.saturating_mul(2) == *wide);
            same(fits && c == s, 3)
        }
        _ => same(true, 1),
    }
}

#[cfg(test)]
mod tests {
    use megakernel_mcir::read_graph;
    use serde_json::{Value, json};

    use super::*;

    fn work(graph: &Value) -> usize {
        shapes(&read_graph(graph).expect("a graph"), usize::MAX).expect("a graph that breaks no rule").1
    }

    #[test]
    fn attention_takes_about_what_it_takes_written_out() {
        for (rows, keys, depth, wide) in [(400, 400, 8, 8), (4, 4, 4, 4), (64, 1000, 3, 50), (30, 30, 1, 1)] {
            let value = |shape: [usize; 2]| json!({"shape": shape, "dtype": "F32"});
            let mut graph = json!({
                "values": {"Q": value([rows, depth]), "K": value([keys, depth]), "V": value([keys, wide]), "O": value([rows, wide])},
                "inputs": ["Q", "K", "V"], "outputs": ["O"],
                "nodes": [{"id": "o", "op": "attention", "in": ["Q", "K", "V"], "out": "O"}]});
            let fused = work(&graph);
            graph["values"]["KT"] = value([depth, keys]);
            graph["values"]["s"] = value([rows, keys]);
            graph["values"]["p"] = value([rows, keys]);
            graph["nodes"] = json!([
                {"id": "t", "op": "transpose", "in": ["K"], "out": "KT"},
                {"id": "s", "op": "matmul", "in": ["Q", "KT"], "out": "s"},
                {"id": "p", "op": "softmax", "axis": 1, "in": ["s"], "out": "p"},
                {"id": "o", "op": "matmul", "in": ["p", "V"], "out": "O"}]);
            let written = work(&graph);
            assert!(fused >= written / 2 && fused <= written * 2, "{rows} x {keys}: {fused}, {written}");
        }
    }
}
