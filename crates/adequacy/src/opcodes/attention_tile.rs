//! ATTENTION_TILE

use std::ops::Range;

use megakernel_ir::Param;
use megakernel_ir::params::FLAG_PARTIAL_WRITE;

use super::{Task, divide, part};
use crate::kernels::Kernels;
use crate::memory::{Buffer, Elements, Result, Writer, broken};
use crate::parts::{Heads, Window};

pub fn run(kernels: &dyn Kernels, task: &Task<'_>, writer: &mut Writer<'_>) -> Result<()> {
    let (q, k, v) = (task.reals(0)?, task.reals(1)?, task.reals(2)?);
    let (sequences, rows) = match *task.input(1)?.shape.as_slice() {
        [rows, _, _] => (1, rows),
        [sequences, rows, _, _] => (sequences, rows),
        _ => return broken("cache is not of rank 3 or 4"),
    };
    let head_dim = task.size(Param::HeadDim)?;
    let heads = Heads { queries: task.size(Param::NHeads)?, caches: task.size(Param::NKvHeads)? };
    let (start, len) = (task.size(Param::KvStart)?, task.size(Param::KvLen)?);
    let scale = task.real(Param::Scale)?;
    let mask =
        if task.inputs.len() > 3 { Some(Mask::new(task.input(3)?, sequences, start, len)?) } else { None };
    let partial = task.params.int(Param::Flags).unwrap_or_default() & FLAG_PARTIAL_WRITE != 0;
    let window = if len == 0 { 0..0 } else { kernels.window(start, len, rows) };

    let (mut scores, mut columns) = (Vec::new(), Vec::new());
    let mut values: Vec<&[f32]> = Vec::new();
    for b in 0..sequences {
        for h in 0..heads.queries {
            let q = part(q, (b * heads.queries + h) * head_dim, head_dim)?;
            let cached = |cache: &'_ [f32], row: usize| -> Result<Range<usize>> {
                let at =
                    (kernels.cache_of(b, sequences) * rows + row) * heads.caches + kernels.kv_head(h, heads);
                part(cache, at * head_dim, head_dim)?;
                Ok(at * head_dim..(at + 1) * head_dim)
            };
            scores.clear();
            values.clear();
            for row in window.clone() {
                let score = kernels.score(q, k.get(cached(k, row)?).unwrap_or_default(), scale);
                let score = match mask.as_ref().map(|mask| mask.at(kernels, b, h, row)) {
                    None => score,
                    Some(Rule::Add(term)) => kernels.masked(score, term, scale),
                    Some(Rule::Keep(keep)) if kernels.keeps(keep) => score,
                    Some(Rule::Keep(_)) => match kernels.left_out(score) {
                        Some(score) => score,
                        None => continue,
                    },
                };
                scores.push(score as f32);
                values.push(v.get(cached(v, kernels.value_row(row, &window))?).unwrap_or_default());
            }
            columns.clear();
            for d in 0..head_dim {
                columns.extend(values.iter().filter_map(|value| value.get(d)));
            }
            let window = Window { scores: &scores, columns: &columns, head_dim };
            let row = match (partial, scores.is_empty()) {
                (true, false) => kernels.partial(kernels.attend(&window)),
                (true, true) => kernels.partial(kernels.attended_nothing(head_dim)),
                (false, false) => kernels.attend_plain(&window),
                (false, true) => kernels.normalise(&kernels.attended_nothing(head_dim)),
            };
            let place = (b * heads.queries + h) * row.len();
            for (d, value) in row.into_iter().enumerate() {
                writer.real(place + d, value);
            }
        }
    }
    Ok(())
}

/// The fourth operand.
struct Mask<'a> {
    elements: &'a Elements,
    /// Rows for each sequence: one, or one for each head.
    rows: usize,
    start: usize,
    len: usize,
}

/// What the mask says about one row of the window.
enum Rule {
    /// Add this to the score.
    Add(f64),
    /// Leave the row out, or do not.
    Keep(bool),
}

impl<'a> Mask<'a> {
    fn new(buffer: &'a Buffer, sequences: usize, start: usize, len: usize) -> Result<Mask<'a>> {
        let rows = if len == 0 { 0 } else { divide(buffer.len(), sequences * len)? };
        Ok(Mask { elements: &buffer.elements, rows, start, len })
    }

    fn at(&self, kernels: &dyn Kernels, sequence: usize, head: usize, row: usize) -> Rule {
        let line = if self.rows == 1 { 0 } else { kernels.mask_row(head) };
        // A window that a fault has moved may leave the mask.
        let j = row.saturating_sub(self.start).min(self.len.saturating_sub(1));
        let place = (sequence * self.rows + line) * self.len + j;
        match self.elements {
            Elements::Reals(terms) => Rule::Add(terms.get(place).copied().map_or(0.0, f64::from)),
            Elements::Ints(flags) => Rule::Keep(flags.get(place).is_some_and(|&flag| flag != 0)),
        }
    }
}
