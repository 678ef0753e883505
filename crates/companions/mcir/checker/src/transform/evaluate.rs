//! Graphs computed with any kind of numbers (clauses MCI-18 and MCI-19).

use std::collections::HashMap;

use megakernel_mcir::{Binary, Dtype, Fold, Graph, GraphNode, GraphOp, Masked, Unary};

use super::valid::Shapes;

/// The functions that an equivalent graph may not look into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Free {
    Rsqrt,
    Silu,
    Gelu,
}

/// A kind of numbers.
pub trait Numbers {
    type Number: Copy;
    /// `p / q`.
    fn fraction(&self, fraction: [i64; 2]) -> Self::Number;
    /// -∞.
    fn least(&self) -> Self::Number;
    fn is_least(&self, a: Self::Number) -> bool;
    /// Times a fraction, which leaves -∞ alone if it is above 0.
    fn scale(&self, a: Self::Number, by: [i64; 2]) -> Self::Number;
    fn neg(&self, a: Self::Number) -> Self::Number;
    fn add(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    fn sub(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    fn mul(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    fn div(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    fn max(&self, a: Self::Number, b: Self::Number) -> Self::Number;
    fn exp(&self, a: Self::Number) -> Self::Number;
    fn free(&self, function: Free, a: Self::Number) -> Self::Number;
    /// What a value of a dtype holds.
    fn cast(&self, dtype: Dtype, a: Self::Number) -> Self::Number;
}

/// The numbers of each value, by its name.
pub type Held<N> = HashMap<String, Vec<N>>;

/// What the softmax of a graph is taken of, in nodes of their own and in attention, and what maxima of a document meet: how long each row is, and all rows.
pub type Scores<N> = Vec<(usize, Vec<N>)>;

/// Numbers in row-major order.
pub struct Array<'v, N> {
    pub shape: &'v [usize],
    pub numbers: &'v [N],
}

impl<N> Array<'_, N> {
    fn last(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// The extent before the last one.
    fn rows(&self) -> usize {
        self.shape.iter().rev().nth(1).copied().unwrap_or(1)
    }

    /// How many matrices there are, or one.
    fn matrices(&self) -> usize {
        self.shape.iter().rev().skip(2).product()
    }
}

/// Computes what the values of a graph hold, and notes scores. The graph breaks no rule.
pub fn evaluate<N: Numbers>(
    graph: &Graph,
    shapes: &Shapes,
    numbers: &N,
    inputs: &Held<N::Number>,
    scores: &mut Scores<N::Number>,
) -> Held<N::Number> {
    let dtypes: HashMap<u32, Dtype> = graph.values.iter().map(|value| (value.name, value.dtype)).collect();
    let mut held = inputs.clone();
    for node in &graph.nodes {
        let array = |&name: &u32| Array {
            shape: shapes.get(&name).map(Vec::as_slice).unwrap_or_default(),
            numbers: held.get(&graph.names[name as usize]).map(Vec::as_slice).unwrap_or_default(),
        };
        let ins: Vec<Array<'_, N::Number>> = node.ins.iter().map(array).collect();
        let dtype = dtypes.get(&node.out).copied().unwrap_or(Dtype::F32);
        let made = computed(node, numbers, &ins, scores)
            .into_iter()
            .map(|number| numbers.cast(dtype, number))
            .collect();
        held.insert(graph.names[node.out as usize].clone(), made);
    }
    held
}

fn computed<N: Numbers>(
    node: &GraphNode,
    numbers: &N,
    ins: &[Array<'_, N::Number>],
    met: &mut Scores<N::Number>,
) -> Vec<N::Number> {
    let Some(a) = ins.first() else { return Vec::new() };
    let each = |of: &dyn Fn(N::Number) -> N::Number| a.numbers.iter().map(|&number| of(number)).collect();
    match (node.op, ins) {
        (GraphOp::Matmul, [a, b]) => product(numbers, a, b, false),
        (GraphOp::Transpose, _) => {
            let (rows, columns) = (a.rows(), a.last());
            let place = |at: usize| {
                let (matrix, within) = (at / (rows * columns), at % (rows * columns));
                matrix * rows * columns + within % rows * columns + within / rows
            };
            (0..a.numbers.len()).map(|at| a.numbers[place(at)]).collect()
        }
        (GraphOp::Unary(function), _) => each(&|a| unary(numbers, function, a)),
        (GraphOp::Scale(by), _) => each(&|a| numbers.scale(a, by)),
        (GraphOp::Binary(function), [a, b]) => {
            let of = |at: usize| {
                binary(numbers, function, a.numbers[at], b.numbers[repeated(a.shape, b.shape, at)])
            };
            (0..a.numbers.len()).map(of).collect()
        }
        (GraphOp::Reduce(fold, axis), _) => {
            let mut made = Vec::new();
            lines(a.shape, axis, &mut |line| {
                made.extend(folded(numbers, fold, line.iter().map(|&at| a.numbers[at])));
            });
            made
        }
        (GraphOp::Mask(masked), _) => mask(numbers, a, masked),
        (GraphOp::Softmax(axis), _) => {
            if usize::try_from(axis).is_ok_and(|axis| axis + 1 == a.shape.len()) {
                met.push((a.last(), a.numbers.to_vec()));
            }
            softmax(numbers, a, axis)
        }
        (GraphOp::RmsNorm(eps), [x, w]) => norm(numbers, x, w.numbers, None, eps),
        (GraphOp::LayerNorm(eps), [x, w, b]) => norm(numbers, x, w.numbers, Some(b.numbers), eps),
        (GraphOp::Rope, [x, c, s]) => {
            let (wide, half) = (x.last(), x.last() / 2);
            let of = |at: usize| {
                let (row, column) = (at / wide % x.rows(), at % wide);
                let angle = row * half + column % half;
                let (own, other) = (numbers.mul(x.numbers[at], c.numbers[angle]), |at: usize| {
                    numbers.mul(x.numbers[at], s.numbers[angle])
                });
                if column < half {
                    numbers.sub(own, other(at + half))
                } else {
                    numbers.add(own, other(at - half))
                }
            };
            (0..x.numbers.len()).map(of).collect()
        }
        (GraphOp::Attention(by, masked), [q, k, v]) => {
            let mut scores: Vec<N::Number> =
                product(numbers, q, k, true).into_iter().map(|score| numbers.scale(score, by)).collect();
            let mut shape = q.shape.to_vec();
            if let Some(last) = shape.last_mut() {
                *last = k.rows();
            }
            if let Some(masked) = masked {
                scores = mask(numbers, &Array { shape: &shape, numbers: &scores }, masked);
            }
            let axis = i64::try_from(shape.len() - 1).unwrap_or(0);
            let weights = softmax(numbers, &Array { shape: &shape, numbers: &scores }, axis);
            met.push((k.rows(), scores));
            product(numbers, &Array { shape: &shape, numbers: &weights }, v, false)
        }
        _ => Vec::new(),
    }
}

/// A function of one number.
pub fn unary<N: Numbers>(numbers: &N, function: Unary, a: N::Number) -> N::Number {
    match function {
        Unary::Copy => a,
        Unary::Neg => numbers.neg(a),
        Unary::Exp => numbers.exp(a),
        Unary::Rsqrt => numbers.free(Free::Rsqrt, a),
        Unary::Silu => numbers.free(Free::Silu, a),
        Unary::Gelu => numbers.free(Free::Gelu, a),
    }
}

/// A function of two numbers.
pub fn binary<N: Numbers>(numbers: &N, function: Binary, a: N::Number, b: N::Number) -> N::Number {
    match function {
        Binary::Add => numbers.add(a, b),
        Binary::Sub => numbers.sub(a, b),
        Binary::Mul => numbers.mul(a, b),
        Binary::Div => numbers.div(a, b),
        Binary::Max => numbers.max(a, b),
    }
}

/// What a line is reduced to, if it has an element.
pub fn folded<N: Numbers>(
    numbers: &N,
    fold: Fold,
    line: impl Iterator<Item = N::Number>,
) -> Option<N::Number> {
    match fold {
        Fold::Sum => line.reduce(|a, b| numbers.add(a, b)),
        Fold::Max => line.reduce(|a, b| numbers.max(a, b)),
    }
}

/// The element of `b` that meets an element of `a`.
pub fn repeated(a: &[usize], b: &[usize], at: usize) -> usize {
    let (mut rest, mut place, mut stride) = (at, 0, 1);
    for (axis, &extent) in a.iter().rev().enumerate() {
        let other = b.iter().rev().nth(axis).copied().unwrap_or(1);
        if other > 1 {
            place += rest % extent * stride;
        }
        (rest, stride) = (rest / extent, stride * other);
    }
    place
}

/// Products of matrices; where there are fewer on the right, rows of them share one.
pub fn product<N: Numbers>(
    numbers: &N,
    a: &Array<'_, N::Number>,
    b: &Array<'_, N::Number>,
    is_turned: bool,
) -> Vec<N::Number> {
    let (m, inner) = (a.rows(), a.last());
    let n = if is_turned { b.rows() } else { b.last() };
    let mut made = Vec::with_capacity(a.matrices() * m * n);
    for matrix in 0..a.matrices() {
        let other = matrix * b.matrices() / a.matrices() * inner * n;
        for place in 0..m * n {
            let (row, column) = (place / n, place % n);
            let term = |k: usize| {
                let at = if is_turned { column * inner + k } else { k * n + column };
                numbers.mul(a.numbers[(matrix * m + row) * inner + k], b.numbers[other + at])
            };
            made.extend((0..inner).map(term).reduce(|a, b| numbers.add(a, b)));
        }
    }
    made
}

/// Calls with the places of each line along an axis.
pub fn lines(shape: &[usize], axis: i64, visit: &mut dyn FnMut(&[usize])) {
    let axis = usize::try_from(axis).unwrap_or(0);
    let extent = shape.get(axis).copied().unwrap_or(1);
    let inner: usize = shape.iter().skip(axis + 1).product();
    let outer: usize = shape.iter().take(axis).product();
    for line in 0..outer * inner {
        let first = line / inner * extent * inner + line % inner;
        let places: Vec<usize> = (0..extent).map(|at| first + at * inner).collect();
        visit(&places);
    }
}

pub fn mask<N: Numbers>(numbers: &N, a: &Array<'_, N::Number>, masked: Masked) -> Vec<N::Number> {
    let (rows, columns) = (a.rows(), a.last());
    let of = |(at, &number): (usize, &N::Number)| {
        let row = i64::try_from(at / columns % rows).unwrap_or(0).saturating_add(masked.offset);
        let column = i64::try_from(at % columns).unwrap_or(0);
        let is_kept = column <= row && masked.window.is_none_or(|window| column > row.saturating_sub(window));
        if is_kept { number } else { numbers.least() }
    };
    a.numbers.iter().enumerate().map(of).collect()
}

fn softmax<N: Numbers>(numbers: &N, a: &Array<'_, N::Number>, axis: i64) -> Vec<N::Number> {
    let mut made = a.numbers.to_vec();
    lines(a.shape, axis, &mut |line| {
        let Some(top) = line.iter().map(|&at| a.numbers[at]).reduce(|a, b| numbers.max(a, b)) else { return };
        let weight = |&at: &usize| numbers.exp(numbers.sub(a.numbers[at], top));
        let Some(sum) = line.iter().map(weight).reduce(|a, b| numbers.add(a, b)) else { return };
        for at in line {
            made[*at] = numbers.div(weight(at), sum);
        }
    });
    made
}

/// With a bias, about the mean.
fn norm<N: Numbers>(
    numbers: &N,
    x: &Array<'_, N::Number>,
    weights: &[N::Number],
    bias: Option<&[N::Number]>,
    eps: [i64; 2],
) -> Vec<N::Number> {
    let wide = x.last();
    let part = [1, i64::try_from(wide).unwrap_or(1)];
    let mean = |all: &[N::Number]| {
        let sum = all.iter().copied().reduce(|a, b| numbers.add(a, b));
        numbers.scale(sum.unwrap_or_else(|| numbers.fraction([0, 1])), part)
    };
    let mut made = Vec::with_capacity(x.numbers.len());
    for line in x.numbers.chunks_exact(wide.max(1)) {
        let mut line = line.to_vec();
        if bias.is_some() {
            let middle = mean(&line);
            line.iter_mut().for_each(|x| *x = numbers.sub(*x, middle));
        }
        let squares: Vec<N::Number> = line.iter().map(|&x| numbers.mul(x, x)).collect();
        let root = numbers.free(Free::Rsqrt, numbers.add(mean(&squares), numbers.fraction(eps)));
        for (place, &x) in line.iter().enumerate() {
            let y = numbers.mul(numbers.mul(x, root), weights[place]);
            made.push(bias.map_or(y, |bias| numbers.add(y, bias[place])));
        }
    }
    made
}
