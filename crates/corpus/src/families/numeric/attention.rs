//! ATTENTION_TILE.

use super::bench::{Bench, FROM_F32, Spec, most, round};
use super::data::{Operand, Values, coded, cycle, ends, ints, normals, numel, reals, uniforms};
use super::matmul::mirrored;
use super::probe::{self, Shape};
use crate::builder::{DType, FLOATS, Result};
use megakernel_ir::rule::clause;

use DType::{BF16, F8E4M3, F8E5M2, F16, F32};

/// The extents of a case.
#[derive(Clone, Copy)]
pub(super) struct Att {
    pub(super) batch: Option<u64>,
    pub(super) heads: u64,
    pub(super) kv: u64,
    pub(super) dim: u64,
    pub(super) rows: u64,
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) scale: f64,
    pub(super) flags: u64,
}

const SMALL: Att =
    Att { batch: None, heads: 4, kv: 2, dim: 8, rows: 13, start: 3, len: 8, scale: 0.35, flags: 0 };
pub(super) const PARTIAL: u64 = 2;

impl Att {
    fn sequences(&self) -> usize {
        self.batch.unwrap_or(1) as usize
    }

    fn with_batch(&self, shape: &[u64]) -> Vec<u64> {
        self.batch.iter().chain(shape).copied().collect()
    }

    pub(super) fn q_shape(&self) -> Vec<u64> {
        self.with_batch(&[self.heads, self.dim])
    }

    fn cache_shape(&self) -> Vec<u64> {
        self.with_batch(&[self.rows, self.kv, self.dim])
    }

    /// A cache whose rows outside the window hold NaN, so that reading one of them shows. `inside` gives the rows of
    /// the window, sequence by sequence.
    pub(super) fn cache(&self, dtype: DType, inside: &[f64]) -> Operand {
        let row = (self.kv * self.dim) as usize;
        let (rows, start, len) = (self.rows as usize, self.start as usize, self.len as usize);
        let mut values = vec![f64::NAN; self.sequences() * rows * row];
        for sequence in 0..self.sequences() {
            let from = inside.iter().skip(sequence * len * row).take(len * row);
            let to = values.iter_mut().skip((sequence * rows + start) * row);
            to.zip(from).for_each(|(to, from)| *to = *from);
        }
        reals(dtype, &self.cache_shape(), values)
    }

    /// Elements of the rows of the window of one cache.
    pub(super) fn inside(&self) -> usize {
        self.sequences() * (self.len * self.kv * self.dim) as usize
    }

    pub(super) fn spec(
        &self,
        form: &str,
        data: &'static str,
        about: &str,
        operands: Vec<Operand>,
        to: DType,
    ) -> Spec {
        let output = match self.flags & PARTIAL {
            0 => self.q_shape(),
            _ => self.with_batch(&[self.heads, self.dim + 2]),
        };
        let spec = Spec::new(form, data, about)
            .inputs(operands)
            .output(to, &output)
            .param("head_dim", self.dim)
            .param("kv_start", self.start)
            .param("kv_len", self.len)
            .param("n_heads", self.heads)
            .param("n_kv_heads", self.kv)
            .param("scale", self.scale);
        if self.flags == 0 { spec } else { spec.param("flags", self.flags) }
    }

    /// Ordinary queries, keys and values.
    fn random(&self, b: &Bench, data: &str, what: &str, [q, k, v]: [DType; 3]) -> Vec<Operand> {
        let mut prng = b.prng(data, what);
        let query = normals(&mut prng, numel(&self.q_shape()), 1.5);
        let keys = normals(&mut prng, self.inside(), 1.5);
        let values = normals(&mut prng, self.inside(), 2.0);
        vec![reals(q, &self.q_shape(), query), self.cache(k, &keys), self.cache(v, &values)]
    }
}

/// Groups of heads, windows and batches: name and extents.
fn forms() -> Vec<(&'static str, Att)> {
    vec![
        ("gqa", SMALL),
        ("mha", Att { kv: 4, ..SMALL }),
        ("mqa", Att { kv: 1, ..SMALL }),
        ("gqa-6-3", Att { heads: 6, kv: 3, dim: 4, ..SMALL }),
        ("window-whole", Att { start: 0, len: 13, ..SMALL }),
        ("window-first", Att { start: 0, len: 1, ..SMALL }),
        ("window-last", Att { start: 12, len: 1, ..SMALL }),
        ("window-end", Att { start: 6, len: 7, ..SMALL }),
        ("batch", Att { batch: Some(3), ..SMALL }),
        ("causal", Att { flags: 1, ..SMALL }),
    ]
}

/// ATTENTION_TILE.
pub fn attention(b: &mut Bench) -> Result<()> {
    plain(b)?;
    picked(b)?;
    probes(b)?;
    masks(b)?;
    long_windows(b)?;
    partials(b)?;
    scores(b)?;
    special(b)
}

fn plain(b: &mut Bench) -> Result<()> {
    for (turn, (form, att)) in forms().into_iter().enumerate() {
        for (from, to) in round(turn) {
            let operands = att.random(b, "random", &format!("{form}-{from}"), [from; 3]);
            b.add(att.spec(form, "random", "ordinary numbers", operands, to).clause(clause::NUM_08))?;
        }
    }
    // Heads as models have them, whose rows are several chunks of 16 bytes, and windows longer than a block.
    for (form, from, to, att) in [
        ("head-64", BF16, F32, Att { dim: 64, rows: 300, len: 290, ..SMALL }),
        ("head-128", F16, F16, Att { dim: 128, rows: 70, len: 66, scale: 0.0625, ..SMALL }),
        ("head-128", F32, F32, Att { dim: 128, rows: 24, len: 21, scale: 0.0625, ..SMALL }),
        ("head-32-batch", BF16, BF16, Att { dim: 32, rows: 40, len: 37, batch: Some(2), ..SMALL }),
        ("head-64-partial", F16, F32, Att { dim: 64, rows: 80, len: 70, flags: PARTIAL, ..SMALL }),
    ] {
        let operands = att.random(b, "large", &format!("{form}-{from}"), [from; 3]);
        b.add(att.spec(form, "large", "rows of several chunks", operands, to).clause(clause::NUM_08))?;
    }
    for (from, to) in round(1).chain(round(2)) {
        let operands = SMALL.random(b, "random", &format!("gqa-{from}"), [from; 3]);
        b.add(SMALL.spec("gqa", "random", "ordinary numbers", operands, to).clause(clause::NUM_08))?;
    }
    for (dtypes, to) in [
        ([F32, BF16, BF16], F32),
        ([BF16, F8E4M3, F8E4M3], BF16),
        ([F16, F8E5M2, F8E4M3], F16),
        ([F32, F16, BF16], F8E4M3),
        ([BF16, F32, F16], F8E5M2),
    ] {
        let operands = SMALL.random(b, "mixed", &format!("{dtypes:?}"), dtypes);
        b.add(
            SMALL.spec("gqa", "mixed", "operands of different dtypes", operands, to).clause(clause::NUM_01),
        )?;
    }
    // A query without axes of its own.
    for (from, to) in round(1) {
        let mut operands = SMALL.random(b, "shapes", from.name(), [from; 3]);
        if let Some(q) = operands.first_mut() {
            q.shape = vec![1, 32];
        }
        let spec = SMALL.spec("flat-query", "shapes", "a flat query and a flat output", operands, to);
        b.add(spec.output(to, &[32]))?;
    }
    Ok(())
}

/// Each head's score of one row is 0, and those of the others -256, so that the result is that row of its head's values:
/// the last row of the window for one head, the first for another.
fn picked(b: &mut Bench) -> Result<()> {
    for (turn, (form, att)) in [
        ("gqa-scale-4", Att { scale: 4.0, ..SMALL }),
        ("gqa-8-2", Att { heads: 8, scale: 4.0, ..SMALL }),
        ("window-first-rows", Att { start: 0, scale: 4.0, ..SMALL }),
        ("batch-2", Att { batch: Some(2), scale: 4.0, ..SMALL }),
    ]
    .into_iter()
    .enumerate()
    {
        for (from, to) in round(turn).chain(round(turn + 1)) {
            let (heads, dim) = (att.heads as usize, att.dim as usize);
            let q: Vec<f64> = (0..att.sequences() * heads)
                .flat_map(|h| (0..dim).map(move |d| if d == [7, 0, 3, 5, 1][h % 5] { 8.0 } else { 0.0 }))
                .collect();
            let mut keys = Vec::new();
            for sequence in 0..att.sequences() {
                for row in 0..att.len as usize {
                    for g in 0..att.kv as usize {
                        let place = (row + 3 * g + sequence) % dim;
                        keys.extend((0..dim).map(|d| if d == place { 0.0 } else { -8.0 }));
                    }
                }
            }
            let values = coded(from, att.inside());
            let operands =
                vec![reals(from, &att.q_shape(), q), att.cache(from, &keys), att.cache(from, &values)];
            let about = "each head picks one row of its values, which tell their places";
            b.add(att.spec(form, "picked", about, operands, to).clause(clause::NUM_07))?;
        }
    }
    Ok(())
}

/// Queries of zeros weigh all rows alike, so that the result is an exact mean: each row, and each aligned tile of rows,
/// shows.
fn probes(b: &mut Bench) -> Result<()> {
    for (form, kv, dim, start, len) in
        [("rows-16", 2, 4, 5, 16), ("rows-128", 1, 4, 1, 128), ("rows-2048", 1, 2, 0, 2048)]
    {
        let att = Att { heads: 2, kv, dim, start, len, rows: start + len + 1, scale: 1.0, ..SMALL };
        let mut prng = b.prng("probe", form);
        let columns = (kv * dim) as usize;
        let shape =
            Shape { m: 1, n: columns, k: len as usize, x: vec![1], w: super::matmul::signed(7), reach: 0 };
        let probe = probe::sums(&mut prng, &shape)?;
        let values: Vec<f64> = (0..len as usize)
            .flat_map(|row| probe.w.iter().filter_map(move |w| w.get(row)).map(|v| *v as f64))
            .collect();
        let sums = probe.y();
        let known: Vec<f64> = (0..2)
            .flat_map(|h| sums.iter().skip(h / (2 / kv as usize) * dim as usize).take(dim as usize))
            .map(|sum| sum / len as f64)
            .collect();
        for (from, to) in most() {
            if len > 1000 && from == F32 && to != F8E4M3 {
                continue;
            }
            let q = reals(from, &att.q_shape(), vec![0.0; numel(&att.q_shape())]);
            let keys: Vec<f64> = cycle(&[1.0, -2.0, 0.5], att.inside());
            let operands = vec![q, att.cache(from, &keys), att.cache(from, &values)];
            let about = "scores of zero: an exact mean of small integers, in which every row shows";
            let spec = att.spec(form, "probe", about, operands, to);
            b.add(spec.clause(clause::NUM_09).known(Values::Reals(known.clone())))?;
        }
    }
    Ok(())
}

/// Windows of several tiles whose largest scores come late, early, or tile by tile: what was summed up before has to be
/// scaled anew. And values at the ends of what the output holds.
fn long_windows(b: &mut Bench) -> Result<()> {
    let att = Att { heads: 2, kv: 1, dim: 4, rows: 101, start: 1, len: 100, scale: 1.0, ..SMALL };
    type Score = fn(usize) -> f64;
    let kinds: [(&str, Score); 3] = [
        ("rising", |row| row as f64 * 0.0625),
        ("late", |row| if row >= 90 { 4.0 } else { 0.0 }),
        ("steps", |row| (row / 16) as f64 - ((row % 16) as f64) * 0.125),
    ];
    for (turn, (form, score)) in kinds.into_iter().enumerate() {
        for (from, to) in round(turn).chain(round(turn + 1)) {
            let q = reals(from, &att.q_shape(), cycle(&[1.0, 0.0, 0.0, 0.0], 8));
            let keys: Vec<f64> = (0..100).flat_map(|row| [score(row), 0.0, 0.0, 0.0]).collect();
            let values: Vec<f64> =
                (0..400).map(|i| (i % 4 + 1) as f64 * if i < 200 { 1.0 } else { -2.0 }).collect();
            let operands = vec![q, att.cache(from, &keys), att.cache(from, &values)];
            let about = "a long window whose largest scores come late";
            b.add(att.spec(form, "long", about, operands, to))?;
        }
    }
    for &(from, to) in FROM_F32 {
        for (form, dim) in [("ends-34", 34), ("ends-20", 20), ("ends-17", 17)] {
            let att = Att { heads: 2, kv: 1, dim, rows: 4, start: 1, len: 2, scale: 1.0, ..SMALL };
            // The second row of the window weighs e^-200, which the bound takes to be nothing.
            let q: Vec<f64> = (0..2 * dim).map(|d| if d % dim == 0 { 200.0 } else { 0.0 }).collect();
            let keys: Vec<f64> = (0..2 * dim).map(|d| if d == dim { -1.0 } else { 0.0 }).collect();
            let values: Vec<f64> = [ends(to, dim as usize), vec![0.0; dim as usize]].concat();
            let operands =
                vec![reals(from, &att.q_shape(), q), att.cache(from, &keys), att.cache(from, &values)];
            let about = "results around the smallest and the largest number of the output";
            b.add(att.spec(form, "ends", about, operands, to).own_inputs().clause(clause::NUM_03))?;
        }
    }
    Ok(())
}

/// Float and BOOL masks of each shape, of windows that do not start at row 0.
fn masks(b: &mut Bench) -> Result<()> {
    let batch = Att { batch: Some(2), ..SMALL };
    let per_head: Vec<u64> = vec![4, 8];
    for (place, (form, att, shape)) in [
        ("row", SMALL, vec![8]),
        ("heads", SMALL, per_head),
        ("batch-row", batch, vec![2, 8]),
        ("batch-heads", batch, vec![2, 4, 8]),
    ]
    .into_iter()
    .enumerate()
    {
        for (index, &mask) in FLOATS.iter().chain(&[DType::Bool]).enumerate() {
            // Every mask dtype with every output, in another shape each.
            for (turn, (from, to)) in round(index).enumerate() {
                if (turn + index + place) % 5 >= 2 && mask != DType::Bool {
                    continue;
                }
                let mut prng = b.prng("mask", &format!("{form}-{mask}-{from}"));
                let n = numel(&shape);
                let mut operands = att.random(b, "mask", &format!("{form}-{from}"), [from; 3]);
                if mask == DType::Bool {
                    // Each line keeps a row that the next one leaves out.
                    let keep =
                        (0..n).map(|i| i64::from(prng.below(2) == 0 || i % 8 == (i / 8) % 8)).collect();
                    operands.push(ints(DType::Bool, &shape, keep));
                } else {
                    let least = if mask == F8E4M3 { -200.0 } else { f64::NEG_INFINITY };
                    let values = uniforms(&mut prng, n, -4.0, 4.0);
                    let values = values.iter().enumerate().map(|(i, v)| match (i + i / 8) % 8 {
                        2 | 5 => least,
                        _ => *v,
                    });
                    operands.push(reals(mask, &shape, values.collect()));
                }
                let about = "a mask that differs from row to row, and from head to head if it can";
                b.add(att.spec(form, "mask", about, operands, to))?;
            }
        }
    }
    Ok(())
}

/// PARTIAL_WRITE: accumulator, maximum and denominator; windows of every kind, empty ones among them.
fn partials(b: &mut Bench) -> Result<()> {
    let empty = Att { len: 0, ..SMALL };
    for (form, att) in forms().into_iter().chain([
        ("window-empty", empty),
        ("window-empty-at-end", Att { start: 13, ..empty }),
        ("batch-window-empty", Att { batch: Some(3), ..empty }),
    ]) {
        let att = Att { flags: att.flags | PARTIAL, ..att };
        let form = format!("partial-{form}");
        for &from in FLOATS.iter().take(if form.contains("empty") { 5 } else { 3 }) {
            let operands = att.random(b, "partial", &format!("{form}-{from}"), [from; 3]);
            let mut spec = att.spec(&form, "partial", "what a later task combines", operands, F32);
            if att.len == 0 {
                let row: Vec<f64> =
                    (0..att.dim + 2).map(|d| if d == att.dim { f64::NEG_INFINITY } else { 0.0 }).collect();
                let rows = att.sequences() * att.heads as usize;
                spec = spec.known(Values::Reals(row.repeat(rows)));
            }
            b.add(spec)?;
        }
    }
    let att = Att { flags: PARTIAL, ..SMALL };
    for (form, mask) in
        [("partial-mask-bool", DType::Bool), ("partial-mask-f32", F32), ("partial-mask-all-out", DType::Bool)]
    {
        for &from in FLOATS {
            let mut operands = att.random(b, "partial-mask", &format!("{form}-{from}"), [from; 3]);
            let line: Vec<i64> = vec![0, 1, 1, 0, 1, 0, 0, 1];
            operands.push(match form {
                "partial-mask-f32" => reals(mask, &[8], line.iter().map(|v| *v as f64 * -1.5).collect()),
                "partial-mask-bool" => ints(mask, &[8], line),
                // The second head keeps nothing, which is an empty window.
                _ => ints(mask, &[4, 8], [line.clone(), vec![0; 8], line.clone(), line].concat()),
            });
            let about = "a mask on a partial result; a head that keeps nothing is an empty window";
            b.add(att.spec(form, "partial-mask", about, operands, F32))?;
        }
    }
    Ok(())
}

/// Scores that need a wide accumulator, that overflow exp, or that `scale` changes much.
fn scores(b: &mut Bench) -> Result<()> {
    for &(from, to) in FROM_F32.iter().chain(&[(BF16, BF16), (F16, F16), (BF16, F16), (F16, F32)]) {
        // Scores are small integers whose partial sums are large.
        let att = Att { heads: 2, kv: 1, dim: 64, rows: 8, start: 1, len: 6, scale: 0.5, ..SMALL };
        let mut prng = b.prng("score-accumulator", "scores");
        let xs = (33..=127).step_by(2).chain([1, 2, 3]).collect();
        let shape = Shape { m: 1, n: 6, k: 64, x: xs, w: super::matmul::signed(63), reach: 20_000 };
        let probe = mirrored(probe::probe(&mut prng, &shape)?, 2);
        let values = coded(from, att.inside())
            .iter()
            .enumerate()
            .map(|(i, v)| v + 4.0 * (i / 64) as f64)
            .collect::<Vec<f64>>();
        let keys: Vec<f64> = probe.w().iter().map(|v| *v as f64).collect();
        let operands =
            vec![ints(from, &att.q_shape(), probe.x()), att.cache(from, &keys), att.cache(from, &values)];
        let about = "scores whose partial sums need more bits than a 16-bit float has";
        let spec = att.spec("dim-64", "score-accumulator", about, operands, to);
        b.add(spec.clause(clause::NUM_06))?;
    }
    for &(from, to) in FROM_F32 {
        // One row of weight 1 and 1,023 of 2^-12 with values of 16.
        for (form, place) in [("rows-1024-first", 0), ("rows-1024-middle", 500)] {
            let att = Att { heads: 1, kv: 1, dim: 2, rows: 1024, start: 0, len: 1024, scale: 1.0, ..SMALL };
            let mut keys = cycle(&[-8.317_766_189_575_195, 0.0], 2048);
            let mut values = cycle(&[16.0, -8.0], 2048);
            if let (Some(key), Some(value)) = (keys.get_mut(place * 2), values.get_mut(place * 2)) {
                (*key, *value) = (0.0, 1.0);
            }
            let q = reals(from, &[1, 2], vec![1.0, 1.0]);
            let operands = vec![q, att.cache(from, &keys), att.cache(from, &values)];
            let about = "small weights that an accumulator of 16 bits loses";
            b.add(att.spec(form, "value-accumulator", about, operands, to).clause(clause::NUM_06))?;
        }
    }
    let scales = [
        ("scale-40", 40.0),
        ("scale-1", 1.0),
        ("scale-0-01", 0.01),
        ("scale-negative", -0.5),
        ("scale-0", 0.0),
    ];
    for (turn, (form, scale)) in scales.into_iter().enumerate() {
        for (from, to) in round(turn) {
            let att = Att { scale, ..SMALL };
            let operands = att.random(b, "scale", from.name(), [from; 3]);
            b.add(att.spec(form, "scale", "the scale multiplies each score", operands, to))?;
        }
    }
    Ok(())
}

/// A NaN reaches the heads that read it, and no others.
fn special(b: &mut Bench) -> Result<()> {
    for (from, to) in round(0) {
        for (form, operand, place) in
            [("nan-in-query", 0, 9), ("nan-in-key", 1, 5 * 16 + 3), ("nan-in-value", 2, 7 * 16 + 10)]
        {
            let mut operands = SMALL.random(b, "special", from.name(), [from; 3]);
            if let Some(Operand { values: Values::Reals(values), .. }) = operands.get_mut(operand)
                && let Some(value) = values.get_mut(place)
            {
                *value = f64::NAN;
            }
            let about = "a NaN inside the window reaches the heads that read it, and no others";
            b.add(SMALL.spec(form, "special", about, operands, to).clause(clause::NUM_03))?;
        }
    }
    Ok(())
}
