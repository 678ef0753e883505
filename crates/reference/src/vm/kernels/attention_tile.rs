//! ATTENTION_TILE (clause OPC-07): attention of one query position per sequence over a window of the cache.

use megakernel_ir::Param;
use megakernel_ir::params::FLAG_PARTIAL_WRITE;

use super::dot::dot;
use super::view::{Line, extent, last};
use super::weights::{self, Reference, Weights};
use super::{Data, Kernel, TaskView, Written};
use crate::vm::bounded::{Bounded, TINY, UNIT};
use crate::vm::sum::Sum;

pub(super) struct AttentionTile;

/// What is the same for all heads.
struct Tile<'a> {
    q: Line<'a>,
    k: Line<'a>,
    v: Line<'a>,
    mask: Option<Mask<'a>>,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    max_seq: usize,
    start: usize,
    length: usize,
    scale: f64,
    unit: f64,
    is_partial: bool,
}

struct Mask<'a> {
    data: Data<'a>,
    has_heads: bool,
}

/// A row of the window that is not left out.
struct Row<'a> {
    score: Bounded,
    v: Line<'a>,
}

impl Kernel for AttentionTile {
    fn run(&self, task: &TaskView<'_>) -> Written {
        let cache = task.shape(1);
        let (batch, max_seq) = match *cache {
            [batch, max_seq, _, _] => (extent(batch), extent(max_seq)),
            [max_seq, ..] => (1, extent(max_seq)),
            [] => (0, 0),
        };
        let mask = task.inputs.get(3).map(|mask| Mask {
            data: mask.data,
            has_heads: mask.shape.len().saturating_add(2) == cache.len().saturating_add(1),
        });
        let tile = Tile {
            q: task.reals(0),
            k: task.reals(1),
            v: task.reals(2),
            mask,
            heads: task.size(Param::NHeads),
            kv_heads: task.size(Param::NKvHeads),
            head_dim: last(cache),
            max_seq,
            start: task.size(Param::KvStart),
            length: task.size(Param::KvLen),
            scale: task.real(Param::Scale, 1.0),
            unit: task.unit,
            is_partial: task.params.int(Param::Flags).unwrap_or(0) & FLAG_PARTIAL_WRITE != 0,
        };
        let mut values = Vec::new();
        for sequence in 0..batch {
            for head in 0..tile.heads {
                values.extend(tile.head(sequence, head));
            }
        }
        Written::Reals(values)
    }
}

impl<'a> Tile<'a> {
    fn head(&self, sequence: usize, head: usize) -> Vec<Bounded> {
        let rows = self.rows(sequence, head);
        let scores: Vec<Bounded> = rows.iter().map(|row| row.score).collect();
        let reference = if self.is_partial { Reference::Maximum } else { Reference::Common };
        let Weights { max, weights } = Weights::of(&scores, reference);
        let is_empty = max.v == f64::NEG_INFINITY;
        if is_empty && !self.is_partial {
            return vec![Bounded::UNSPECIFIED; self.head_dim];
        }
        let denominator = Sum::of(weights.iter().copied(), UNIT);
        let (sums, spreads) = self.weighted(&rows, &weights);
        if self.is_partial {
            // Which of NaN and a number is the larger is not specified.
            let max = if max.v.is_nan() { Bounded::UNSPECIFIED } else { max };
            let sums = sums.into_iter().map(|sum| sum.finish(self.unit, 1.0));
            return sums.chain([max, denominator]).collect();
        }
        let mean = |(sum, spread)| weights::mean(sum, denominator, self.unit, spread);
        sums.into_iter().zip(spreads).map(mean).collect()
    }

    /// The terms of the sum of each element, and the sum of the magnitudes of what is weighed.
    fn weighted(&self, rows: &[Row<'_>], weights: &[Bounded]) -> (Vec<Sum>, Vec<f64>) {
        let mut sums = vec![Sum::new(); self.head_dim];
        let mut spreads = vec![0.0; self.head_dim];
        for (row, &weight) in rows.iter().zip(weights) {
            for ((sum, spread), v) in sums.iter_mut().zip(&mut spreads).zip(row.v.iter()) {
                let is_dropped = weight.is_zero() && !v.v.is_finite();
                // A row of weight zero may be skipped, or multiplied by zero.
                sum.push(if is_dropped { Bounded::UNSPECIFIED } else { weight.product(v) });
                *spread += v.magnitude();
            }
        }
        (sums, spreads)
    }

    /// The rows of the window that the mask does not leave out.
    fn rows(&self, sequence: usize, head: usize) -> Vec<Row<'a>> {
        let group = self.heads.checked_div(self.kv_heads).unwrap_or(1);
        let kv_head = head.checked_div(group).unwrap_or(0);
        let q = self.q.row(sequence * self.heads + head, self.head_dim);
        let q_size: f64 = q.iter().map(Bounded::magnitude).sum();
        let mut rows = Vec::with_capacity(self.length);
        for j in 0..self.length {
            let bias = match &self.mask {
                None => None,
                Some(mask) => match mask.at(self, sequence, head, j) {
                    Masked::Out => continue,
                    Masked::Added(bias) => Some(bias),
                },
            };
            let row = (sequence * self.max_seq + self.start + j) * self.kv_heads + kv_head;
            let (k, v) = (self.k.row(row, self.head_dim), self.v.row(row, self.head_dim));
            let score = self.score(q, k, q_size);
            rows.push(Row { score: bias.map_or(score, |bias| biased(score, bias)), v });
        }
        rows
    }

    /// `scale * q.k`, where the scale may be multiplied with q, k or their product.
    fn score(&self, q: Line<'_>, k: Line<'_>, q_size: f64) -> Bounded {
        let products = dot(q, k).scaled(self.scale);
        let score = products.finish(self.unit, 2.0);
        if products.is_exact() || !score.v.is_finite() {
            return score;
        }
        let k_size: f64 = k.iter().map(Bounded::magnitude).sum();
        score.widened(TINY * (q_size + k_size + products.count() * self.scale.abs()))
    }
}

/// What the mask says of a row.
enum Masked {
    Out,
    Added(Bounded),
}

impl Mask<'_> {
    fn at(&self, tile: &Tile<'_>, sequence: usize, head: usize, j: usize) -> Masked {
        let line = if self.has_heads { sequence * tile.heads + head } else { sequence };
        let index = line * tile.length + j;
        match self.data {
            Data::Reals { values, bounds } => Masked::Added(Line { values, bounds }.at(index)),
            Data::Ints(ints) if ints.get(index) == Some(&0) => Masked::Out,
            Data::Ints(_) => Masked::Added(Bounded::ZERO),
        }
    }
}

/// A score with its mask added. What `-inf` makes of a score that is no number is not specified, since the row
/// may be skipped.
fn biased(score: Bounded, bias: Bounded) -> Bounded {
    if bias.v == f64::NEG_INFINITY && (!score.v.is_finite() || !score.is_specified()) {
        return Bounded::UNSPECIFIED;
    }
    score + bias
}
