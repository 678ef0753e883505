//! ATTENTION_TILE and ATTENTION_COMBINE: heads, windows and positions as models have them.

use super::super::bench::{Bench, FROM_F32, Pair, Spec, round};
use super::super::data::{Operand, formula};
use super::{SIZES, draw, draws, empty, line, ordinary};
use crate::builder::{DType, Result};
use megakernel_ir::formula::{Formula, Set, Term};
use megakernel_ir::rule::clause;

use DType::{BF16, F8E4M3, F8E5M2, F16, F32};

/// Bit 1 of `flags`.
const PARTIAL: u64 = 2;

/// The extents of a tile of attention; rows behind the window are not read.
#[derive(Clone, Copy)]
pub struct Tile {
    /// Sequences of a cache of rank 4; 0: a cache of rank 3.
    pub batch: u64,
    /// Query heads.
    pub heads: u64,
    /// Heads of the caches.
    pub kv: u64,
    /// Length of a head.
    pub dim: u64,
    /// First row of the window.
    pub start: u64,
    /// Rows of the window.
    pub len: u64,
    /// `scale`.
    pub scale: f64,
    /// `flags`.
    pub flags: u64,
}

/// One head of 8 elements, one row.
pub const ONE: Tile = Tile { batch: 0, heads: 1, kv: 1, dim: 8, start: 0, len: 1, scale: 0.25, flags: 0 };

impl Tile {
    fn with_batch(&self, shape: &[u64]) -> Vec<u64> {
        (self.batch > 0).then_some(self.batch).iter().chain(shape).copied().collect()
    }

    /// The shape of q.
    pub fn query(&self) -> Vec<u64> {
        self.with_batch(&[self.heads, self.dim])
    }

    /// The shape of k and v.
    pub fn cache(&self) -> Vec<u64> {
        self.with_batch(&[self.start + self.len + 1, self.kv, self.dim])
    }

    /// The shape of the output.
    pub fn output(&self) -> Vec<u64> {
        if self.flags & PARTIAL == 0 { self.query() } else { self.with_batch(&[self.heads, self.dim + 2]) }
    }

    /// A case of these operands.
    pub fn spec(
        &self,
        form: &str,
        data: &'static str,
        about: &str,
        operands: Vec<Operand>,
        to: DType,
    ) -> Spec {
        let spec = Spec::new(form, data, about)
            .inputs(operands)
            .output(to, &self.output())
            .param("head_dim", self.dim)
            .param("kv_start", self.start)
            .param("kv_len", self.len)
            .param("n_heads", self.heads)
            .param("n_kv_heads", self.kv)
            .param("scale", self.scale);
        if self.flags == 0 { spec } else { spec.param("flags", self.flags) }
    }
}

/// Ordinary operands. Values have a term for their place in the window, so that every chunk of rows has others: its mean differs.
fn operands(b: &Bench, form: &str, tile: Tile, [q, k, v]: [DType; 3]) -> Vec<Operand> {
    let seed = |what: &str| b.formula_seed(&format!("{form}-{what}"));
    let row = tile.kv * tile.dim;
    // Rises by 2 every 97 rows, 16 times, and begins again; three times in dtypes that have few digits.
    let mut values = draws(v, &tile.cache(), (-2, 2), -1, seed("v"));
    let times = if matches!(v, F8E4M3 | F8E5M2) { 3 } else { 16 };
    values.terms.push(line(0, 2, row * 97, Some(times)));
    vec![ordinary(q, &tile.query(), 1, seed("q")), ordinary(k, &tile.cache(), 1, seed("k")), formula(values)]
}

/// ATTENTION_TILE.
pub fn attention(b: &mut Bench) -> Result<()> {
    let long: [(&str, Tile); 15] = [
        ("head-160", Tile { heads: 3, dim: 160, len: 21, scale: 0.08, ..ONE }),
        ("head-192", Tile { heads: 2, kv: 2, dim: 192, len: 18, scale: 0.072, ..ONE }),
        ("head-256", Tile { heads: 2, dim: 256, start: 3, len: 17, scale: 0.0625, ..ONE }),
        ("window-4100", Tile { dim: 8, len: 4100, ..ONE }),
        ("window-5003", Tile { heads: 2, dim: 4, start: 1, len: 5003, ..ONE }),
        ("window-8192", Tile { dim: 4, len: 8192, ..ONE }),
        ("start-65540", Tile { dim: 2, start: 65_540, len: 70, scale: 0.5, ..ONE }),
        ("start-66001", Tile { dim: 2, start: 66_001, len: 9, scale: 0.5, ..ONE }),
        ("start-131073", Tile { dim: 2, start: 131_073, len: 33, scale: 0.5, ..ONE }),
        ("heads-66-22", Tile { heads: 66, kv: 22, dim: 4, len: 19, ..ONE }),
        ("heads-72-9", Tile { heads: 72, kv: 9, dim: 6, len: 23, ..ONE }),
        ("heads-96-16", Tile { heads: 96, kv: 16, dim: 4, start: 2, len: 11, ..ONE }),
        ("batch-70", Tile { batch: 70, heads: 1, dim: 4, len: 7, ..ONE }),
        ("batch-67", Tile { batch: 67, heads: 2, kv: 1, dim: 2, len: 9, ..ONE }),
        ("batch-130", Tile { batch: 130, heads: 1, dim: 2, start: 1, len: 5, ..ONE }),
    ];
    for (turn, (form, tile)) in long.into_iter().enumerate() {
        for (from, to) in round(turn) {
            tiled(b, form, tile, [from; 3], to)?;
        }
        // Every other one as a partial result.
        if turn % 2 == 0 {
            let partial = Tile { flags: PARTIAL, ..tile };
            for from in [F16, F8E5M2] {
                tiled(b, &format!("partial-{form}"), partial, [from; 3], F32)?;
            }
        }
    }
    // Ratios of heads, and heads of models; the dtypes of q, k and v differ.
    let models: [(&str, Tile); 12] = [
        ("ratio-3", Tile { heads: 6, kv: 2, dim: 16, len: 21, ..ONE }),
        ("ratio-5", Tile { heads: 10, kv: 2, dim: 12, len: 20, ..ONE }),
        ("ratio-6", Tile { heads: 12, kv: 2, dim: 8, len: 33, ..ONE }),
        ("ratio-7", Tile { heads: 14, kv: 2, dim: 8, len: 35, ..ONE }),
        ("ratio-8", Tile { heads: 16, kv: 2, dim: 8, start: 5, len: 31, ..ONE }),
        ("ratio-28-4", Tile { heads: 28, kv: 4, dim: 16, len: 12, ..ONE }),
        ("head-80", Tile { heads: 4, kv: 2, dim: 80, len: 40, scale: 0.11, ..ONE }),
        ("head-96", Tile { heads: 3, kv: 1, dim: 96, len: 41, scale: 0.1, ..ONE }),
        ("head-128", Tile { heads: 5, kv: 1, dim: 128, len: 65, scale: 0.09, ..ONE }),
        ("window-257", Tile { dim: 24, heads: 2, len: 257, ..ONE }),
        ("window-1030", Tile { dim: 16, start: 300, len: 1030, ..ONE }),
        ("window-2049", Tile { dim: 12, len: 2049, ..ONE }),
    ];
    let mixes: [([DType; 3], DType); 10] = [
        ([F32, BF16, F16], F32),
        ([BF16, F8E4M3, F16], BF16),
        ([F16, F16, F8E5M2], F16),
        ([F8E5M2, F32, BF16], F8E4M3),
        ([F32, F8E5M2, F8E4M3], F8E5M2),
        ([BF16, F32, F8E4M3], F32),
        ([F8E4M3, BF16, F32], F16),
        ([F16, F8E4M3, BF16], F8E5M2),
        ([F32, F16, F32], F8E4M3),
        ([F16, BF16, F8E5M2], BF16),
    ];
    for (turn, (form, tile)) in models.into_iter().enumerate() {
        for place in [turn, turn + 5] {
            if let Some(&(dtypes, to)) = mixes.get(place % 10) {
                tiled(b, &format!("{form}-mixed"), tile, dtypes, to)?;
            }
        }
    }
    Ok(())
}

fn tiled(b: &mut Bench, form: &str, tile: Tile, dtypes: [DType; 3], to: DType) -> Result<()> {
    let operands = operands(b, form, tile, dtypes);
    let spec = tile.spec(form, SIZES, "heads, windows and positions as models have them", operands, to);
    b.add_sampled(spec.clause(clause::NUM_08), &tile.output())
}

/// ATTENTION_COMBINE: long heads and many rows.
pub fn combine(b: &mut Bench) -> Result<()> {
    let long: [(&str, [u64; 2], u64); 6] = [
        ("head-160", [3, 160], 3),
        ("head-192", [2, 192], 8),
        ("head-256", [2, 256], 2),
        ("rows-260", [260, 5], 3),
        ("rows-300", [300, 3], 2),
        ("rows-517", [517, 1], 4),
    ];
    let models = [("head-80", [4, 80], 4), ("head-96", [2, 96], 5), ("head-128", [3, 128], 6)];
    for (form, shape, parts) in long {
        for &pair in FROM_F32 {
            merged(b, form, shape, parts, pair)?;
        }
    }
    for ((form, shape, parts), &pair) in models.into_iter().zip(FROM_F32) {
        merged(b, form, shape, parts, pair)?;
    }
    Ok(())
}

fn merged(b: &mut Bench, form: &str, [rows, dim]: [u64; 2], parts: u64, (_, to): Pair) -> Result<()> {
    let inputs = (0..parts).map(|part| {
        let seed = b.formula_seed(&format!("{form}-{part}"));
        formula(partial([rows, dim], part, seed))
    });
    let inputs: Vec<Operand> = inputs.collect();
    let spec =
        Spec::new(form, SIZES, "heads and rows as models have them").inputs(inputs).output(to, &[rows, dim]);
    b.add_sampled(spec.clause(clause::NUM_08), &[rows, dim])
}

/// A partial result in eighths: accumulators from -40 to 40, maxima from -4 to 4, and denominators from 1 to 8, which differ from row to row.
fn partial([rows, dim]: [u64; 2], part: u64, seed: u64) -> Formula {
    let width = dim + 2;
    let noise = Term::Draw(draw(-320, 320, seed));
    let mut partial = Formula { exponent: -3, terms: vec![noise], ..empty(F32, &[rows, width]) };
    // Rows of long results repeat, so that one entry stands for several.
    let period = if rows > 65 { 13 } else { rows };
    for row in 0..period {
        let every = |column: u64, value: u64, least: i64| Set {
            first: row * width + column,
            count: (rows - row).div_ceil(period),
            stride: period * width,
            value: least + value as i64,
        };
        partial.set.push(every(dim, (row * 7 + part * 11) % 65, -32));
        partial.set.push(every(dim + 1, (row * 5 + part * 3) % 57, 8));
    }
    partial
}
