//! The rules IG01 to IG06, on semantic graphs (clause MCI-18).

use std::collections::HashSet;

use megakernel_ir::Rule;
use megakernel_ir::diagnostic::pointer_token;
use megakernel_mcir::{Graph, GraphNode, GraphOp, GraphValue, Masked};
use megakernel_order::Findings;

use crate::structure::{BYTES, MOST, RANK};

/// A graph and where it stands.
struct Judge<'g> {
    graph: &'g Graph,
    /// The pointer to it.
    at: &'g str,
    /// By name: the place among the values.
    places: Vec<Option<usize>>,
    findings: &'g mut Findings,
}

/// Judges a graph that stands at a pointer.
pub fn judge(graph: &Graph, at: &str, findings: &mut Findings) {
    let mut places = vec![None; graph.names.len()];
    for (place, value) in graph.values.iter().enumerate() {
        places[value.name as usize] = Some(place);
    }
    let mut judge = Judge { graph, at, places, findings };
    judge.numbers();
    judge.names();
    judge.repeated();
    if !judge.findings.accepts() {
        return;
    }
    judge.operands();
    if !judge.findings.accepts() {
        return;
    }
    judge.order();
    judge.shapes();
}

impl<'g> Judge<'g> {
    fn broken(&mut self, rule: Rule, at: &str, message: String) {
        let pointer = format!("{}{at}", self.at);
        self.findings.broken(rule, pointer, message);
    }

    fn name(&self, name: u32) -> &'g str {
        &self.graph.names[name as usize]
    }

    fn value(&self, name: u32) -> Option<&'g GraphValue> {
        self.graph.values.get(self.places[name as usize]?)
    }

    fn shape(&self, name: u32) -> &'g [i64] {
        self.value(name).map(|value| value.shape.as_slice()).unwrap_or_default()
    }

    fn number(&mut self, number: i64, [least, most]: [i64; 2], at: &str) -> bool {
        let fits = (least..=most).contains(&number);
        if !fits {
            self.broken(Rule::IG01, at, format!("found {number}, required {least} to {most}"));
        }
        fits
    }

    fn masked(&mut self, masked: Masked, at: &str) {
        self.number(masked.offset, [-MOST, MOST], &format!("{at}/offset"));
        if let Some(window) = masked.window {
            self.number(window, [1, MOST], &format!("{at}/window"));
        }
    }

    /// IG01.
    fn numbers(&mut self) {
        for value in &self.graph.values {
            let at = format!("/values/{}/shape", pointer_token(self.name(value.name)));
            if value.shape.len() > RANK {
                let message = format!("found {} extents, required at most {RANK}", value.shape.len());
                self.broken(Rule::IG01, &at, message);
                continue;
            }
            let mut fits = true;
            for (axis, &extent) in value.shape.iter().enumerate() {
                fits &= self.number(extent, [1, MOST], &format!("{at}/{axis}"));
            }
            let bytes =
                value.shape.iter().try_fold(value.dtype.bytes(), |size, &extent| size.checked_mul(extent));
            if fits && bytes.is_none_or(|bytes| bytes > BYTES) {
                self.broken(Rule::IG01, &at, "found a value of more than 2^62 bytes".to_owned());
            }
        }
        for (place, node) in self.graph.nodes.iter().enumerate() {
            let at = format!("/nodes/{place}");
            match node.op {
                GraphOp::Scale([p, q]) => self.fraction([p, q], -MOST, &format!("{at}/by")),
                GraphOp::RmsNorm(eps) | GraphOp::LayerNorm(eps) => {
                    self.fraction(eps, 0, &format!("{at}/eps"));
                }
                GraphOp::Mask(masked) => self.masked(masked, &at),
                GraphOp::Attention(by, mask) => {
                    self.fraction(by, -MOST, &format!("{at}/by"));
                    if let Some(masked) = mask {
                        self.masked(masked, &format!("{at}/mask"));
                    }
                }
                _ => {}
            }
        }
    }

    fn fraction(&mut self, [p, q]: [i64; 2], least: i64, at: &str) {
        self.number(p, [least, MOST], &format!("{at}/0"));
        self.number(q, [1, MOST], &format!("{at}/1"));
    }

    /// IG02.
    fn names(&mut self) {
        let graph = self.graph;
        let mut known = |name: u32, at: String| {
            if self.places[name as usize].is_none() {
                let message = format!("found `{}`, required the name of a value", self.name(name));
                self.broken(Rule::IG02, &at, message);
            }
        };
        for (which, names) in [("inputs", &graph.inputs), ("outputs", &graph.outputs)] {
            names.iter().enumerate().for_each(|(place, &name)| known(name, format!("/{which}/{place}")));
        }
        for (place, node) in graph.nodes.iter().enumerate() {
            let ins = node.ins.iter().enumerate();
            ins.for_each(|(operand, &name)| known(name, format!("/nodes/{place}/in/{operand}")));
            known(node.out, format!("/nodes/{place}/out"));
        }
    }

    /// IG03.
    fn repeated(&mut self) {
        let graph = self.graph;
        let mut once = |names: &mut dyn Iterator<Item = u32>, at: &dyn Fn(usize) -> String| {
            let mut seen = HashSet::new();
            for (place, name) in names.enumerate() {
                if !seen.insert(name) {
                    let message = format!("`{}` stands here a second time", self.name(name));
                    self.broken(Rule::IG03, &at(place), message);
                }
            }
        };
        once(&mut graph.inputs.iter().copied(), &|place| format!("/inputs/{place}"));
        once(&mut graph.outputs.iter().copied(), &|place| format!("/outputs/{place}"));
        once(&mut graph.nodes.iter().map(|node| node.id), &|place| format!("/nodes/{place}/id"));
    }

    /// IG04.
    fn operands(&mut self) {
        for (place, node) in self.graph.nodes.iter().enumerate() {
            let (found, needed) = (node.ins.len(), node.op.arity());
            if found != needed {
                let op = node.op.name();
                let message = format!("`{op}` reads {found} values, required {needed}");
                self.broken(Rule::IG04, &format!("/nodes/{place}"), message);
            }
        }
    }

    /// IG05.
    fn order(&mut self) {
        let graph = self.graph;
        let mut there: HashSet<u32> = graph.inputs.iter().copied().collect();
        for (place, &name) in graph.outputs.iter().enumerate() {
            if there.contains(&name) {
                let message = format!("the output `{}` is an input", self.name(name));
                self.broken(Rule::IG05, &format!("/outputs/{place}"), message);
            }
        }
        for (place, node) in graph.nodes.iter().enumerate() {
            for (operand, name) in node.ins.iter().enumerate() {
                if !there.contains(name) {
                    let message = format!("nothing has produced `{}` yet", self.name(*name));
                    self.broken(Rule::IG05, &format!("/nodes/{place}/in/{operand}"), message);
                }
            }
            if !there.insert(node.out) {
                let message = format!("`{}` is there already", self.name(node.out));
                self.broken(Rule::IG05, &format!("/nodes/{place}/out"), message);
            }
        }
        for value in graph.values.iter().filter(|value| !there.contains(&value.name)) {
            let name = self.name(value.name);
            let message = format!("`{name}` is no input, and no node produces it");
            self.broken(Rule::IG05, &format!("/values/{}", pointer_token(name)), message);
        }
    }

    /// IG06.
    fn shapes(&mut self) {
        for (place, node) in self.graph.nodes.iter().enumerate() {
            let message = match self.produced(node) {
                Ok(shape) if shape == self.shape(node.out) => continue,
                Ok(shape) => {
                    let (name, found) = (self.name(node.out), self.shape(node.out));
                    format!("`{name}` has the shape {found:?}, and what is produced {shape:?}")
                }
                Err(message) => message,
            };
            self.broken(Rule::IG06, &format!("/nodes/{place}"), message);
        }
    }

    /// The shape of what a node produces.
    fn produced(&self, node: &GraphNode) -> Result<Vec<i64>, String> {
        let of = |place: usize| node.ins.get(place).map(|&name| self.shape(name)).unwrap_or_default();
        let (a, b, c) = (of(0), of(1), of(2));
        let wrong = || {
            let all: Vec<String> = node.ins.iter().map(|&name| format!("{:?}", self.shape(name))).collect();
            format!("the shapes {} do not meet in `{}`", all.join(", "), node.op.name())
        };
        let require = |fits: bool| if fits { Ok(()) } else { Err(wrong()) };
        match node.op {
            GraphOp::Matmul => product(a, b).ok_or_else(wrong),
            GraphOp::Transpose => {
                require(a.len() >= 2)?;
                let mut shape = a.to_vec();
                let last = shape.len() - 1;
                shape.swap(last - 1, last);
                Ok(shape)
            }
            GraphOp::Binary(_) => {
                let fits = |(&a, &b): (&i64, &i64)| b == a || b == 1;
                require(b.len() <= a.len() && a.iter().rev().zip(b.iter().rev()).all(fits))?;
                Ok(a.to_vec())
            }
            GraphOp::Reduce(_, axis) => {
                let mut shape = a.to_vec();
                *place(&mut shape, axis)? = 1;
                Ok(shape)
            }
            GraphOp::Softmax(axis) => {
                place(&mut a.to_vec(), axis)?;
                Ok(a.to_vec())
            }
            GraphOp::Mask(_) => require(a.len() >= 2).map(|()| a.to_vec()),
            GraphOp::RmsNorm(_) => {
                require(b.len() == 1 && a.last() == b.last())?;
                Ok(a.to_vec())
            }
            GraphOp::LayerNorm(_) => {
                require(b.len() == 1 && a.last() == b.last() && b == c)?;
                Ok(a.to_vec())
            }
            GraphOp::Rope => {
                let fits = |x: &[i64], c: &[i64]| match (x, c) {
                    ([.., m, n], [rows, half]) => rows == m && half.checked_mul(2) == Some(*n),
                    _ => false,
                };
                require(fits(a, b) && b == c)?;
                Ok(a.to_vec())
            }
            GraphOp::Attention(..) => {
                require(b.len() == c.len() && b.first() == c.first())?;
                let mut turned = b.to_vec();
                if let [.., n, d] = turned.as_mut_slice() {
                    std::mem::swap(n, d);
                }
                let scores = product(a, &turned).ok_or_else(wrong)?;
                product(&scores, c).ok_or_else(wrong)
            }
            GraphOp::Unary(_) | GraphOp::Scale(_) => Ok(a.to_vec()),
        }
    }
}

/// The extent along an axis.
fn place(shape: &mut [i64], axis: i64) -> Result<&mut i64, String> {
    let rank = shape.len();
    let extent = usize::try_from(axis).ok().and_then(|axis| shape.get_mut(axis));
    extent.ok_or_else(|| format!("found the axis {axis}, and the value has {rank}"))
}

/// The shape of a product of matrices, or of rows of them.
fn product(a: &[i64], b: &[i64]) -> Option<Vec<i64>> {
    match (a, b) {
        ([m, k], [inner, n]) if k == inner => Some(vec![*m, *n]),
        ([h, m, k], [g, inner, n]) if k == inner && h % g == 0 => Some(vec![*h, *m, *n]),
        _ => None,
    }
}
