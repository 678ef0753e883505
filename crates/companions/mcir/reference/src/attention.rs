//! The AttentionPatternPass (clause MCI-22).

use std::collections::{BTreeMap, HashMap, HashSet};

use megakernel_mcir::{Dtype, Graph, GraphNode, GraphOp, GraphValue, Masked};
use serde_json::{Value as Json, json};

/// Attention that is written out.
struct Pattern {
    /// The places of its nodes, the last one first.
    nodes: Vec<usize>,
    by: Option<[i64; 2]>,
    mask: Option<Masked>,
}

struct Finder<'g> {
    graph: &'g Graph,
    names: HashSet<&'g str>,
    values: HashMap<u32, &'g GraphValue>,
    producers: HashMap<u32, usize>,
    /// How often values are read; an output is read by whoever asked for it.
    reads: HashMap<u32, usize>,
}

impl<'g> Finder<'g> {
    fn new(graph: &'g Graph) -> Finder<'g> {
        let mut reads: HashMap<u32, usize> = HashMap::new();
        let read = graph.nodes.iter().flat_map(|node| &node.ins).chain(&graph.outputs);
        read.for_each(|&name| *reads.entry(name).or_default() += 1);
        let produced = |(place, node): (usize, &GraphNode)| (node.out, place);
        Finder {
            graph,
            names: graph.names.iter().map(String::as_str).collect(),
            values: graph.values.iter().map(|value| (value.name, value)).collect(),
            producers: graph.nodes.iter().enumerate().map(produced).collect(),
            reads,
        }
    }

    fn shape(&self, name: u32) -> &'g [i64] {
        self.values.get(&name).map(|value| value.shape.as_slice()).unwrap_or_default()
    }

    fn dtype(&self, name: u32) -> Option<Dtype> {
        self.values.get(&name).map(|value| value.dtype)
    }

    /// The node that produces the first operand of another one, if nobody else would miss the value.
    fn before(&self, place: usize) -> Option<(usize, &'g GraphNode)> {
        let &name = self.graph.nodes[place].ins.first()?;
        let is_inside = self.dtype(name) == Some(Dtype::F32) && self.reads.get(&name) == Some(&1);
        let producer = *self.producers.get(&name).filter(|_| is_inside)?;
        Some((producer, &self.graph.nodes[producer]))
    }

    /// The pattern that ends with a node.
    fn ending(&self, last: usize, lasts: &HashSet<usize>) -> Option<Pattern> {
        let second = |place: usize| self.graph.nodes[place].ins.get(1).map(|&name| self.shape(name));
        if self.graph.nodes[last].op != GraphOp::Matmul {
            return None;
        }
        let mut found = Pattern { nodes: vec![last], by: None, mask: None };
        let (mut place, mut node) = self.before(last)?;
        let GraphOp::Softmax(axis) = node.op else { return None };
        if usize::try_from(axis).ok()? + 1 != self.shape(node.out).len() {
            return None;
        }
        found.nodes.push(place);
        (place, node) = self.before(place)?;
        if let GraphOp::Mask(masked) = node.op {
            found.mask = Some(masked);
            found.nodes.push(place);
            (place, node) = self.before(place)?;
        }
        if let GraphOp::Scale(by) = node.op {
            found.by = Some(by);
            found.nodes.push(place);
            (place, node) = self.before(place)?;
        }
        found.nodes.push(place);
        let (keys, values) = (second(place)?, second(last)?);
        let meet = keys.len() == values.len() && (keys.len() != 3 || keys.first() == values.first());
        (node.op == GraphOp::Matmul && meet && !lasts.contains(&place)).then_some(found)
    }
}

/// What a pass makes of a graph.
struct Draft<'g> {
    finder: &'g Finder<'g>,
    json: &'g Json,
    /// By place: the nodes that stand there instead.
    instead: HashMap<usize, Vec<Json>>,
    gone: HashSet<usize>,
    added: BTreeMap<String, Json>,
    /// Keys that were transposed anew, by what they were: one for all that read them.
    turned: HashMap<u32, String>,
}

impl Draft<'_> {
    /// A name that nothing has yet.
    fn fresh(&self, of: &str) -> String {
        let names = &self.finder.names;
        let is_taken = |name: &String| names.contains(name.as_str()) || self.added.contains_key(name);
        (0_u64..).map(|number| format!("{of}-{number}")).find(|name| !is_taken(name)).unwrap_or_default()
    }

    /// The keys, row by row: what was transposed, if that rounded nothing, and otherwise what is transposed anew.
    fn keys(&mut self, turned: u32, nodes: &mut Vec<Json>) -> Json {
        let finder = self.finder;
        let graph = finder.graph;
        let name = |name: u32| graph.names[name as usize].clone();
        let source = finder.producers.get(&turned).map(|&place| &graph.nodes[place]);
        if let Some(node) = source.filter(|node| node.op == GraphOp::Transpose)
            && let Some(&keys) = node.ins.first()
            && (finder.dtype(turned) == Some(Dtype::F32) || finder.dtype(turned) == finder.dtype(keys))
        {
            return json!(name(keys));
        }
        if let Some(keys) = self.turned.get(&turned) {
            return json!(keys);
        }
        let mut shape = finder.shape(turned).to_vec();
        if let [.., rows, columns] = shape.as_mut_slice() {
            std::mem::swap(rows, columns);
        }
        let dtype = finder.dtype(turned).map_or("F32", Dtype::name);
        let keys = self.fresh(&format!("{}-transposed", name(turned)));
        self.added.insert(keys.clone(), json!({"shape": shape, "dtype": dtype}));
        nodes.push(json!({"id": keys, "op": "transpose", "in": [name(turned)], "out": keys}));
        self.turned.insert(turned, keys.clone());
        json!(keys)
    }

    fn fuse(&mut self, pattern: &Pattern) {
        let (Some(&last), Some(&first)) = (pattern.nodes.first(), pattern.nodes.last()) else { return };
        let graph = self.finder.graph;
        let name = |name: u32| json!(graph.names[name as usize]);
        let (&[queries, turned], &[_, values]) = (&graph.nodes[first].ins[..], &graph.nodes[last].ins[..])
        else {
            return;
        };
        let mut nodes = Vec::new();
        let keys = self.keys(turned, &mut nodes);
        let mut node = json!({
            "id": name(graph.nodes[last].id), "op": "attention", "in": [name(queries), keys, name(values)],
            "out": name(graph.nodes[last].out),
        });
        if let Some(by) = pattern.by {
            node["by"] = json!(by);
        }
        if let Some(Masked { offset, window }) = pattern.mask {
            node["mask"] = json!({"offset": offset, "window": window});
        }
        nodes.push(node);
        self.instead.insert(last, nodes);
        self.gone.extend(&pattern.nodes[1..]);
    }

    /// Transpositions that nobody reads any more.
    fn sweep(&mut self) {
        let graph = self.finder.graph;
        let mut read: HashSet<&str> =
            graph.outputs.iter().map(|&name| graph.names[name as usize].as_str()).collect();
        let kept = graph.nodes.iter().enumerate();
        let kept = kept.filter(|(place, _)| !self.gone.contains(place) && !self.instead.contains_key(place));
        read.extend(kept.flat_map(|(_, node)| &node.ins).map(|&name| graph.names[name as usize].as_str()));
        let new = self.instead.values().flatten().filter_map(|node| node["in"].as_array()).flatten();
        read.extend(new.filter_map(Json::as_str));
        let is_dead = |(_, node): &(usize, &GraphNode)| {
            node.op == GraphOp::Transpose && !read.contains(graph.names[node.out as usize].as_str())
        };
        let dead: Vec<usize> =
            graph.nodes.iter().enumerate().filter(is_dead).map(|(place, _)| place).collect();
        self.gone.extend(dead);
    }

    fn graph(self) -> Json {
        let graph = self.finder.graph;
        let mut json = self.json.clone();
        if let Some(values) = json["values"].as_object_mut() {
            let gone = |place: &usize| graph.names[graph.nodes[*place].out as usize].as_str();
            let gone: HashSet<&str> = self.gone.iter().map(gone).collect();
            // In the order in which they stood; to remove one by one would move the others.
            values.retain(|name, _| !gone.contains(name.as_str()));
            values.extend(self.added);
        }
        let mut nodes = Vec::new();
        for (place, node) in self.json["nodes"].as_array().into_iter().flatten().enumerate() {
            match self.instead.get(&place) {
                Some(instead) => nodes.extend(instead.iter().cloned()),
                None if self.gone.contains(&place) => {}
                None => nodes.push(node.clone()),
            }
        }
        json["nodes"] = json!(nodes);
        json
    }
}

/// Applies the pass to a graph that breaks no rule.
pub fn apply(graph: &Graph, json: &Json) -> Json {
    let finder = Finder::new(graph);
    let (instead, gone, added) = (HashMap::new(), HashSet::new(), BTreeMap::new());
    let mut draft = Draft { finder: &finder, json, instead, gone, added, turned: HashMap::new() };
    let mut lasts = HashSet::new();
    for place in 0..graph.nodes.len() {
        if let Some(pattern) = finder.ending(place, &lasts) {
            lasts.insert(place);
            draft.fuse(&pattern);
        }
    }
    if !lasts.is_empty() {
        draft.sweep();
    }
    draft.graph()
}
