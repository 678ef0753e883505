//! Programs together with what they compute, where all of it is exact: every task is carried out on the spot, in plain
//! arithmetic on small integers, so that the results are known without any implementation.

mod session;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::numeric::Operand;
use super::super::numeric::data::{ints, numel, reals, rounded};
use super::super::plan::Inputs;
use crate::builder::{Buf, Ctr, DType, Matrix, Op, ProgramBuilder, Tiles};

pub use session::session;

/// What the host read after a launch, by name: outputs and caches.
type Kept = BTreeMap<String, Vec<f64>>;

struct Entry {
    name: String,
    dtype: DType,
    shape: Vec<u64>,
    values: Vec<f64>,
    read_back: bool,
}

/// One launch.
pub struct Ledger {
    /// The program so far. Tasks added to it directly are not carried out.
    pub p: ProgramBuilder,
    entries: Vec<Entry>,
    weights: Inputs,
    inputs: Inputs,
    feeds: Vec<(String, String)>,
    kept: Kept,
    judged: Option<Vec<String>>,
    problems: Vec<String>,
}

/// A weight matrix: its operands, and its elements row by row.
pub struct Known {
    matrix: Matrix,
    rows: Vec<Vec<f64>>,
}

/// Heads of an attention task whose query is 0, so that it computes means.
#[derive(Clone, Copy)]
pub struct Heads {
    pub heads: u64,
    pub kv_heads: u64,
    pub head_dim: u64,
}

fn operand(dtype: DType, shape: &[u64], values: &[f64]) -> Operand {
    match megakernel_numerics::FloatFormat::of(dtype) {
        Some(_) => reals(dtype, shape, values.to_vec()),
        None => ints(dtype, shape, values.iter().map(|value| *value as i64).collect()),
    }
}

impl Known {
    /// The operands of a product with `x`.
    pub fn operands(&self, x: Buf) -> Vec<Buf> {
        [&[x], &self.matrix.operands[..]].concat()
    }
}

impl Ledger {
    fn new(kept: Kept) -> Self {
        let p = ProgramBuilder::new("exact");
        let (weights, inputs) = (Inputs::new(), Inputs::new());
        let (entries, feeds, judged, problems) = (Vec::new(), Vec::new(), None, Vec::new());
        Self { p, entries, weights, inputs, feeds, kept, judged, problems }
    }

    /// Judges these buffers only, and not all outputs and caches.
    pub fn judge(&mut self, buffers: &[&str]) {
        self.judged = Some(buffers.iter().map(|name| (*name).to_owned()).collect());
    }

    fn enter(
        &mut self,
        buffer: Buf,
        name: &str,
        dtype: DType,
        shape: &[u64],
        values: Vec<f64>,
        read_back: bool,
    ) -> Buf {
        if buffer.0 != self.entries.len() {
            self.problems.push(format!("`{name}` is not entered in order"));
        }
        let (name, shape) = (name.to_owned(), shape.to_vec());
        self.entries.push(Entry { name, dtype, shape, values, read_back });
        buffer
    }

    /// An IO_INPUT.
    pub fn input(&mut self, name: &str, dtype: DType, shape: &[u64], values: Vec<f64>) -> Buf {
        self.inputs.insert(name.into(), operand(dtype, shape, &values));
        let buffer = self.p.input(name, dtype, shape);
        self.enter(buffer, name, dtype, shape, values, false)
    }

    /// An I32 IO_INPUT that holds what the launch before left in `from`; `first` in the first launch.
    pub fn fed(&mut self, name: &str, from: &str, shape: &[u64], first: Vec<f64>) -> Buf {
        let buffer = self.p.input(name, DType::I32, shape);
        let values = match self.kept.get(from) {
            Some(values) => {
                self.feeds.push((from.into(), name.into()));
                values.clone()
            }
            None => {
                self.inputs.insert(name.into(), operand(DType::I32, shape, &first));
                first
            }
        };
        self.enter(buffer, name, DType::I32, shape, values, false)
    }

    /// A WEIGHT.
    pub fn weight(&mut self, name: &str, dtype: DType, shape: &[u64], values: Vec<f64>) -> Buf {
        self.weights.insert(name.into(), operand(dtype, shape, &values));
        let buffer = self.p.weight(name, dtype, shape);
        self.enter(buffer, name, dtype, shape, values, false)
    }

    /// A matrix of floats.
    pub fn matrix(&mut self, name: &str, dtype: DType, rows: Vec<Vec<f64>>) -> Known {
        let (n, k) = (rows.len() as u64, rows.first().map_or(0, Vec::len) as u64);
        let w = self.weight(name, dtype, &[n, k], rows.concat());
        Known { matrix: Matrix { n, k, operands: vec![w], quantised: None }, rows }
    }

    /// A matrix of integers with scales and zero points, `group` columns each. `store` is I8, I4, or U8 for packed pairs.
    pub fn quantised(
        &mut self,
        name: &str,
        store: DType,
        rows: Vec<Vec<f64>>,
        group: u64,
        scale: impl Fn(usize, usize) -> f64,
        zero: impl Fn(usize, usize) -> f64,
    ) -> Known {
        let (n, k) = (rows.len() as u64, rows.first().map_or(0, Vec::len) as u64);
        let of = |column: usize| column / group as usize;
        let q: Vec<f64> = rows
            .iter()
            .enumerate()
            .flat_map(|(r, row)| row.iter().enumerate().map(move |(c, v)| (r, c, *v)))
            .map(|(r, c, v)| v / scale(r, of(c)) + zero(r, of(c)))
            .collect();
        let nibbles = |q: &[f64]| -> Vec<f64> { q.iter().map(|q| q + 8.0).collect() };
        let (code, main) = match store {
            DType::I8 => (6, self.weight(name, DType::I8, &[n, k], q)),
            DType::I4 => (7, self.weight(name, DType::I4, &[n, k], nibbles(&q))),
            _ => {
                let bytes = nibbles(&q);
                let bytes = bytes
                    .chunks(2)
                    .map(|pair| pair.iter().rev().fold(0.0, |byte, nibble| byte * 16.0 + nibble));
                (7, self.weight(name, DType::U8, &[n, k / 2], bytes.collect()))
            }
        };
        let groups = k.div_ceil(group);
        let each = |f: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
            (0..n as usize)
                .flat_map(|r| (0..groups as usize).map(move |g| (r, g)))
                .map(|(r, g)| f(r, g))
                .collect()
        };
        let scales = self.weight(&format!("{name}.scales"), DType::F16, &[n, groups], each(&scale));
        let zeros = self.weight(&format!("{name}.zeros"), DType::I8, &[n, groups], each(&zero));
        Known {
            matrix: Matrix { n, k, operands: vec![main, scales, zeros], quantised: Some((code, group)) },
            rows,
        }
    }

    /// An ACTIVATION.
    pub fn act(&mut self, name: &str, dtype: DType, shape: &[u64]) -> Buf {
        let buffer = self.p.act(name, dtype, shape);
        self.enter(buffer, name, dtype, shape, vec![f64::NAN; numel(shape)], false)
    }

    /// An IO_OUTPUT.
    pub fn output(&mut self, name: &str, dtype: DType, shape: &[u64]) -> Buf {
        let buffer = self.p.output(name, dtype, shape);
        self.enter(buffer, name, dtype, shape, vec![f64::NAN; numel(shape)], true)
    }

    /// A KV_CACHE: what the launch before left, else `preset`, which the host binds, else zeros.
    pub fn cache(&mut self, name: &str, dtype: DType, shape: &[u64], preset: Option<Vec<f64>>) -> Buf {
        let buffer = self.p.cache(name, dtype, shape);
        let values = match (self.kept.get(name), preset) {
            (Some(kept), _) => kept.clone(),
            (None, Some(preset)) => {
                self.inputs.insert(name.into(), operand(dtype, shape, &preset));
                preset
            }
            (None, None) => vec![0.0; numel(shape)],
        };
        self.enter(buffer, name, dtype, shape, values, true)
    }

    /// A tensor that no buffer is to be bound to, or not in this launch.
    pub fn stray(&mut self, name: &str, dtype: DType, shape: &[u64], values: &[f64]) {
        self.inputs.insert(name.into(), operand(dtype, shape, values));
    }

    fn values(&self, buffer: Buf) -> Vec<f64> {
        self.entries.get(buffer.0).map(|entry| entry.values.clone()).unwrap_or_default()
    }

    fn columns(&self, buffer: Buf) -> usize {
        self.entries.get(buffer.0).and_then(|entry| entry.shape.last()).map_or(1, |extent| *extent as usize)
    }

    /// Stores elements from `at` on.
    fn store(&mut self, buffer: Buf, at: usize, values: Vec<f64>) {
        let Some(entry) = self.entries.get_mut(buffer.0) else { return };
        if values.iter().any(|value| !value.is_finite() || rounded(entry.dtype, *value) != *value) {
            self.problems.push(format!("`{}` cannot hold what is written to it: {values:?}", entry.name));
        }
        match entry.values.get_mut(at..at + values.len()) {
            Some(place) => place.copy_from_slice(&values),
            None => self.problems.push(format!("`{}` is too small", entry.name)),
        }
    }

    fn store_ints(&mut self, buffer: Buf, values: Vec<f64>) {
        if let Some(entry) = self.entries.get_mut(buffer.0) {
            entry.values = values;
        }
    }

    /// Multiplies each row of `x` by a matrix, in tiles.
    pub fn product(&mut self, label: &str, x: Buf, w: &Known, y: Buf, tiles: Tiles, after: &[Ctr]) -> Ctr {
        let y_values = self.known_product(x, w);
        self.store(y, 0, y_values);
        self.p.matmul(label, x, &w.matrix, y, tiles, after)
    }

    /// What the product of each row of `x` and a matrix is.
    pub fn known_product(&self, x: Buf, w: &Known) -> Vec<f64> {
        let x = self.values(x);
        let dot = |x: &[f64], w: &[f64]| x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
        let rows = x.chunks(w.matrix.k.max(1) as usize);
        rows.flat_map(|x| w.rows.iter().map(move |w| dot(x, w))).collect()
    }

    /// What tasks that are added to the program directly leave in a buffer.
    pub fn write(&mut self, buffer: Buf, values: Vec<f64>) {
        self.store(buffer, 0, values);
    }

    /// The same in tiles of `n_tile` columns with a counter each.
    pub fn separate(
        &mut self,
        label: &str,
        x: Buf,
        w: &Known,
        y: Buf,
        n_tile: u64,
        after: &[Ctr],
    ) -> Vec<Ctr> {
        let values = self.known_product(x, w);
        self.store(y, 0, values);
        let inputs = w.operands(x);
        let mut done = Vec::new();
        for n_off in (0..w.matrix.n).step_by(n_tile.max(1) as usize) {
            let label = format!("{label}[{n_off}]");
            let task = self.p.task(Op::GemvTile).reads(&inputs).writes(&[y]).after(after).label(&label);
            let task = task.param("K", w.matrix.k).param("N_tile", n_tile.min(w.matrix.n - n_off));
            done.push(task.param("n_off", n_off).add());
        }
        done
    }

    /// One ADD.
    pub fn add(&mut self, label: &str, a: Buf, b: Buf, y: Buf, after: &[Ctr]) -> Ctr {
        self.elementwise(Op::Add, label, &[a, b], y, after, |a, b| a + b)
    }

    /// One MUL of two buffers.
    pub fn mul(&mut self, label: &str, a: Buf, b: Buf, y: Buf, after: &[Ctr]) -> Ctr {
        self.elementwise(Op::Mul, label, &[a, b], y, after, |a, b| a * b)
    }

    /// One ALLREDUCE_SHARD.
    pub fn sum(&mut self, label: &str, shards: &[Buf], y: Buf, after: &[Ctr]) -> Ctr {
        self.elementwise(Op::AllreduceShard, label, shards, y, after, |a, b| a + b)
    }

    fn elementwise(
        &mut self,
        op: Op,
        label: &str,
        inputs: &[Buf],
        y: Buf,
        after: &[Ctr],
        both: impl Fn(f64, f64) -> f64,
    ) -> Ctr {
        let operands = inputs.iter().map(|buffer| self.values(*buffer));
        let values = operands.reduce(|a, b| a.iter().zip(&b).map(|(a, b)| both(*a, *b)).collect());
        self.store(y, 0, values.unwrap_or_default());
        self.p.op(op, label, inputs, y, &[], after)
    }

    /// One MUL by a number.
    pub fn scale(&mut self, label: &str, x: Buf, scale: f64, y: Buf, after: &[Ctr]) -> Ctr {
        let values = self.values(x).iter().map(|value| value * scale).collect();
        self.store(y, 0, values);
        self.p.op(Op::Mul, label, &[x], y, &[("scale", json!(scale))], after)
    }

    /// One COPY, which may change the shape.
    pub fn copy(&mut self, label: &str, x: Buf, y: Buf, after: &[Ctr]) -> Ctr {
        let values = self.values(x);
        self.store(y, 0, values);
        self.p.copy(label, x, y, after)
    }

    /// One COPY of integers.
    pub fn copy_ints(&mut self, label: &str, x: Buf, y: Buf, after: &[Ctr]) -> Ctr {
        let values = self.values(x);
        self.store_ints(y, values);
        self.p.copy(label, x, y, after)
    }

    /// One EMBED of rows of a table.
    pub fn embed(&mut self, label: &str, ids: Buf, table: Buf, y: Buf, after: &[Ctr]) -> Ctr {
        let hidden = self.columns(table);
        let table_values = self.values(table);
        let rows = self.values(ids).into_iter().filter_map(|id| table_values.chunks(hidden).nth(id as usize));
        let values = rows.flatten().copied().collect();
        self.store(y, 0, values);
        self.p.op(Op::Embed, label, &[ids, table], y, &[("hidden", json!(hidden))], after)
    }

    /// One KV_APPEND; of one row for each sequence, if the cache has rank 4.
    pub fn append(&mut self, label: &str, new: Buf, cache: Buf, pos: u64, after: &[Ctr]) -> Ctr {
        let shape = self.p.shape(cache).to_vec();
        let (batch, rows, row) = match shape[..] {
            [batch, rows, heads, dim] => (batch as usize, rows as usize, (heads * dim) as usize),
            _ => (1, 1, shape.iter().skip(1).product::<u64>() as usize),
        };
        let values = self.values(new);
        for (sequence, values) in values.chunks(values.len() / batch.max(1)).enumerate() {
            self.store(cache, (sequence * rows + pos as usize) * row, values.to_vec());
        }
        self.p.op(Op::KvAppend, label, &[new, cache], cache, &[("pos", json!(pos))], after)
    }

    /// Sums of `v` over a window, by query heads, for every sequence.
    fn gathered(&self, v: Buf, dims: Heads, (start, len): (u64, u64)) -> Vec<f64> {
        let shape = self.p.shape(v);
        let max_seq = shape.iter().rev().nth(2).copied().unwrap_or(1) as usize;
        let Heads { heads, kv_heads, head_dim } = dims;
        let [heads, kv_heads, head_dim, start, len] =
            [heads, kv_heads, head_dim, start, len].map(|n| n as usize);
        let values = self.values(v);
        let mut sums = Vec::new();
        for cache in values.chunks((max_seq * kv_heads * head_dim).max(1)) {
            for head in 0..heads {
                let from = head / (heads / kv_heads.max(1)).max(1);
                for d in 0..head_dim {
                    let of = |row: usize| {
                        cache.get((row * kv_heads + from) * head_dim + d).copied().unwrap_or(f64::NAN)
                    };
                    sums.push((start..start + len).map(of).sum());
                }
            }
        }
        sums
    }

    /// One ATTENTION_TILE with a query of zeros, over as many rows as a power of two: the mean of the window.
    pub fn mean(
        &mut self,
        label: &str,
        [q, k, v, y]: [Buf; 4],
        dims: Heads,
        window: (u64, u64),
        after: &[Ctr],
    ) -> Ctr {
        if self.values(q).iter().any(|q| *q != 0.0) {
            self.problems.push(format!("`{label}` has a query that is not 0"));
        }
        let sums = self.gathered(v, dims, window);
        self.store(y, 0, sums.iter().map(|sum| sum / window.1 as f64).collect());
        self.window(label, [q, k, v, y], dims, window, 0, after)
    }

    /// The same in several windows, merged; `partials` are the buffers between.
    pub fn merged_mean(
        &mut self,
        label: &str,
        [q, k, v, y]: [Buf; 4],
        partials: &[Buf],
        dims: Heads,
        windows: &[(u64, u64)],
        after: &[Ctr],
    ) -> Ctr {
        let mut done = Vec::new();
        let mut total: Vec<f64> = Vec::new();
        for (index, (window, partial)) in windows.iter().zip(partials).enumerate() {
            let sums = self.gathered(v, dims, *window);
            total.resize(sums.len(), 0.0);
            total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            done.push(self.window(
                &format!("{label}[w{index}]"),
                [q, k, v, *partial],
                dims,
                *window,
                2,
                after,
            ));
        }
        let rows: u64 = windows.iter().map(|(_, len)| len).sum();
        self.store(y, 0, total.iter().map(|sum| sum / rows as f64).collect());
        self.p.op(Op::AttentionCombine, label, partials, y, &[], &done)
    }

    fn window(
        &mut self,
        label: &str,
        [q, k, v, y]: [Buf; 4],
        dims: Heads,
        (start, len): (u64, u64),
        flags: u64,
        after: &[Ctr],
    ) -> Ctr {
        let task = self.p.task(Op::AttentionTile).reads(&[q, k, v]).writes(&[y]).after(after).label(label);
        let task = task.param("head_dim", dims.head_dim).param("kv_start", start).param("kv_len", len);
        let task = task.param("scale", 0.5).param("n_heads", dims.heads).param("n_kv_heads", dims.kv_heads);
        task.param("flags", flags).add()
    }

    /// One SAMPLE_ARGMAX.
    pub fn argmax(&mut self, label: &str, x: Buf, y: Buf, after: &[Ctr]) -> Ctr {
        let columns = self.columns(x);
        let first = |row: &[f64]| {
            let best = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter().position(|value| *value == best).unwrap_or_default() as f64
        };
        let values = self.values(x).chunks(columns).map(first).collect();
        self.store_ints(y, values);
        self.p.op(Op::SampleArgmax, label, &[x], y, &[], after)
    }

    /// One DEQUANT of a quantised matrix, whose elements are stored as they are.
    pub fn dequant(&mut self, label: &str, w: &Known, y: Buf, after: &[Ctr]) -> Ctr {
        self.store(y, 0, w.rows.concat());
        let (code, group) = w.matrix.quantised.unwrap_or_default();
        let params: [(&str, Value); 2] = [("qdtype", json!(code)), ("group", json!(group))];
        self.p.op(Op::Dequant, label, &w.matrix.operands, y, &params, after)
    }

    /// The matrix that a buffer holds.
    pub fn held(&self, w: Buf, k: u64) -> Known {
        let rows: Vec<Vec<f64>> = self.values(w).chunks(k.max(1) as usize).map(<[f64]>::to_vec).collect();
        Known { matrix: Matrix { n: rows.len() as u64, k, operands: vec![w], quantised: None }, rows }
    }
}
