//! GEMV_TILE and GEMM_TILE with float weights.

use super::bench::{Bench, Spec};
use super::data::{Operand, Values, coded, cycle, ints, normals, numel, reals, rounded, spread, uniforms};
use super::probe::{Probe, Shape, probe};
use crate::builder::{DType, Result};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::rule::clause;

use DType::{BF16, F8E4M3, F8E5M2, F16, F32};

/// Dtypes of x, of the weight, and of the output.
type Triple = (DType, DType, DType);

/// Every dtype in every place, several times.
const TRIPLES: &[Triple] = &[
    (F32, F32, F32),
    (F32, F32, F16),
    (F32, F32, BF16),
    (F32, F32, F8E4M3),
    (F32, F32, F8E5M2),
    (BF16, BF16, BF16),
    (F16, F16, F16),
    (BF16, BF16, F32),
    (F16, F16, F32),
    (BF16, F8E4M3, BF16),
    (F16, F8E5M2, F16),
    (F8E4M3, F8E4M3, BF16),
    (F8E5M2, F8E4M3, F16),
    (F8E4M3, F8E4M3, F8E4M3),
    (F8E5M2, F8E5M2, F8E5M2),
];

/// Every output for each of a few inputs: what a narrow output hides has to show all the same.
const INPUTS: [(DType, DType); 5] =
    [(BF16, BF16), (F16, F16), (F32, F32), (F8E4M3, F8E4M3), (F8E5M2, F8E4M3)];
const OUTPUTS: [DType; 5] = [F32, F16, BF16, F8E4M3, F8E5M2];

/// A product of `x [m, k]` and `w [n, k]`, in tiles of `n_tile` columns and, for GEMM_TILE, `m_tile` rows.
#[derive(Clone, Copy)]
pub struct Extents {
    /// Rows of x.
    pub m: u64,
    /// Rows of the weight.
    pub n: u64,
    /// Length of a dot product.
    pub k: u64,
    /// Columns of a tile.
    pub n_tile: u64,
    /// Rows of a tile; 0 for GEMV_TILE.
    pub m_tile: u64,
}

impl Extents {
    /// The name within a form.
    pub fn name(&self) -> String {
        format!("{}x{}x{}", self.m, self.n, self.k)
    }

    /// The tasks that together write the output.
    pub fn tiles(&self, mut spec: Spec) -> Spec {
        let m_step = if self.m_tile == 0 { self.m } else { self.m_tile };
        for m_off in (0..self.m).step_by(m_step as usize) {
            for n_off in (0..self.n).step_by(self.n_tile as usize) {
                let mut params = vec![("N_tile", self.n_tile.min(self.n - n_off)), ("n_off", n_off)];
                if self.m_tile != 0 {
                    params.extend([("M_tile", m_step.min(self.m - m_off)), ("m_off", m_off)]);
                }
                spec = spec.tile(&params);
            }
        }
        spec.param("K", self.k)
    }
}

/// A case of this opcode, with the tiles as tasks.
fn product(
    extents: Extents,
    (form, data, about): (&str, &'static str, &str),
    x: Operand,
    w: Operand,
    bias: Option<Operand>,
    to: DType,
) -> Spec {
    let spec = Spec::new(form, data, about).inputs([x, w]).inputs(bias).output(to, &[extents.m, extents.n]);
    extents.tiles(spec)
}

/// GEMV_TILE.
pub fn gemv(b: &mut Bench) -> Result<()> {
    let small = Extents { m: 2, n: 12, k: 40, n_tile: 5, m_tile: 0 };
    common(b, small)?;
    for &(x, w, to) in TRIPLES.iter().step_by(2) {
        // A vector, and rows of several axes.
        let mut prng = b.prng("shapes", &format!("{x}-{w}"));
        let spec = Spec::new("vector", "shapes", "x of one axis")
            .inputs([
                reals(x, &[24], normals(&mut prng, 24, 1.0)),
                reals(w, &[7, 24], normals(&mut prng, 168, 1.0)),
            ])
            .output(to, &[7]);
        b.add(Extents { m: 1, n: 7, k: 24, n_tile: 7, m_tile: 0 }.tiles(spec))?;
        let spec = Spec::new("rank-3", "shapes", "x of three axes")
            .inputs([
                reals(x, &[2, 3, 16], normals(&mut prng, 96, 1.0)),
                reals(w, &[5, 16], normals(&mut prng, 80, 1.0)),
            ])
            .output(to, &[6, 5]);
        b.add(Extents { m: 6, n: 5, k: 16, n_tile: 3, m_tile: 0 }.tiles(spec))?;
    }
    probes(
        b,
        &[(1, 3, 8192, 2, 0), (1, 4, 1000, 3, 0), (2, 4, 100, 4, 0), (3, 5, 64, 2, 0), (1, 3, 2048, 1, 0)],
    )
}

/// GEMM_TILE.
pub fn gemm(b: &mut Bench) -> Result<()> {
    let small = Extents { m: 5, n: 12, k: 40, n_tile: 5, m_tile: 2 };
    common(b, small)?;
    // Larger than what a block of matrix units computes at once, in rows, columns and steps of K, and no multiple of it.
    for (name, x, to, m_tile, n_tile) in [
        ("whole", BF16, F32, 72, 72),
        ("whole", F16, F16, 72, 72),
        ("tiles", BF16, BF16, 24, 40),
        ("tiles", F16, F32, 24, 40),
    ] {
        let e = Extents { m: 72, n: 72, k: 200, n_tile, m_tile };
        let mut prng = b.prng("large", &format!("{name}-{x}"));
        let mut operand = || reals(x, &[72, 200], normals(&mut prng, 72 * 200, 1.0));
        let (left, right) = (operand(), operand());
        let about = ("large", "tiles larger than what a block computes at once");
        let form = format!("{}-{name}", e.name());
        b.add(product(e, (&form, about.0, about.1), left, right, None, to).clause(clause::NUM_08))?;
    }
    probes(
        b,
        &[(2, 2, 8192, 1, 1), (3, 3, 1000, 2, 2), (3, 5, 100, 4, 3), (4, 5, 64, 2, 3), (2, 2, 2048, 2, 1)],
    )
}

/// Data families that both opcodes have, in a small product.
fn common(b: &mut Bench, e: Extents) -> Result<()> {
    let Extents { m, n, k, .. } = e;
    let (xs, ws) = ([m, k], [n, k]);
    let (xn, wn) = (numel(&xs), numel(&ws));
    let form = e.name();
    for (turn, &(x, w, to)) in TRIPLES.iter().enumerate() {
        let names = format!("{x}-{w}");
        let mut prng = b.prng("random", &names);
        let operands =
            [reals(x, &xs, normals(&mut prng, xn, 1.0)), reals(w, &ws, normals(&mut prng, wn, 1.0))];
        let [left, right] = operands.clone();
        b.add(
            product(e, (&form, "random", "ordinary numbers"), left, right, None, to)
                .clause(clause::NUM_08)
                .clause(clause::NUM_12),
        )?;

        // A bias of rank 1 or 2, in another dtype each.
        let (rank, bias_dtype) = if turn % 2 == 0 { (1, w) } else { (2, F32) };
        let shape = if rank == 1 { vec![n] } else { vec![1, n] };
        let values = (0..n).map(|i| rounded(bias_dtype, i as f64 * 1.5 - 7.0)).collect();
        let bias = reals(bias_dtype, &shape, values);
        let [left, right] = operands;
        let about = "a bias that tells its column";
        b.add(product(e, (&format!("{form}-bias-rank-{rank}"), "bias", about), left, right, Some(bias), to))?;

        // These two take turns: what they show does not depend on the dtypes so much.
        if turn % 2 == 0 {
            let mut prng = b.prng("cancellation", &names);
            let (left, right) = cancelling(&mut prng, e);
            let about = "sums much smaller than their terms";
            b.add(product(
                e,
                (&form, "cancellation", about),
                reals(x, &xs, left),
                reals(w, &ws, right),
                None,
                to,
            ))?;
        } else {
            let mut prng = b.prng("range", &names);
            let left = reals(x, &xs, spread(&mut prng, xn, -8, 4));
            let right = reals(w, &ws, spread(&mut prng, wn, -8, 4));
            b.add(product(e, (&form, "range", "terms of very different magnitudes"), left, right, None, to))?;
        }
        // Rows of x with a single 1 pick a column of the weight.
        let mut left = vec![0.0; xn];
        let mut known = Vec::new();
        let right: Vec<f64> = coded(w, wn).iter().map(|v| rounded(w, *v)).collect();
        for row in 0..m as usize {
            let place = [k as usize - 1, 0, 17, 8, 31][row % 5];
            if let Some(value) = left.get_mut(row * k as usize + place) {
                *value = 1.0;
            }
            known.extend(right.chunks(k as usize).filter_map(|w| w.get(place)));
        }
        let about = "each row of x picks one column of the weight, whose elements tell their places";
        let spec = product(e, (&form, "coded", about), reals(x, &xs, left), reals(w, &ws, right), None, to);
        b.add(spec.clause(clause::NUM_09).known(Values::Reals(known)))?;
    }
    for to in OUTPUTS {
        bias_exact(b, e, to)?;
        for (n, k) in [(6, 192), (5, 320), (4, 512)] {
            bias_exact(b, Extents { n, k, n_tile: 3, ..e }, to)?;
        }
        halfway(b, e, to)?;
        special(b, e, to)?;
    }
    Ok(())
}

/// Terms in pairs that nearly cancel, and a small rest.
fn cancelling(prng: &mut SplitMix64, e: Extents) -> (Vec<f64>, Vec<f64>) {
    let k = e.k as usize;
    let row: Vec<f64> = uniforms(prng, k / 2, 1.0, 2.0);
    let x: Vec<f64> =
        (0..e.m).flat_map(|_| row.iter().flat_map(|v| [*v, *v]).take(k).collect::<Vec<f64>>()).collect();
    let w = (0..e.n as usize * k / 2)
        .flat_map(|_| {
            let w = prng.between(4, 15) as f64;
            // A sixteenth part survives in a quarter of the pairs.
            [w, if prng.below(4) == 0 { -w * 0.9375 } else { -w }]
        })
        .collect();
    (x, w)
}

/// Small integers and a bias of integers, so that a bias taken from another column shows in every dtype.
fn bias_exact(b: &mut Bench, e: Extents, to: DType) -> Result<()> {
    let (form, k) = (format!("{}-bias", e.name()), e.k as usize);
    let mut prng = b.prng("bias-probe", &form);
    let x: Vec<i64> = (0..e.m).flat_map(|_| cycle(&[1.0, -1.0, 2.0, -2.0], k)).map(|v| v as i64).collect();
    // Rows that are constant over each four elements have products of 0 with x.
    let w: Vec<i64> = (0..e.n as usize * k / 4).flat_map(|_| [1 + prng.below(6) as i64; 4]).collect();
    let bias: Vec<i64> = (0..e.n as i64).map(|i| if i % 2 == 0 { 1 + i / 2 } else { -1 - i / 2 }).collect();
    let known = (0..e.m).flat_map(|_| bias.iter().map(|v| *v as f64)).collect();
    let bias = ints(to, &[e.n], bias);
    let about = "the products are 0, the result is the bias of the column";
    let (x, w) = (ints(BF16, &[e.m, e.k], x), ints(BF16, &[e.n, e.k], w));
    let spec = product(e, (&form, "bias-probe", about), x, w, Some(bias), to).own_inputs();
    b.add(spec.clause(clause::NUM_09).known(Values::Reals(known)))
}

/// Exact sums halfway between two numbers of the output, and around its largest.
fn halfway(b: &mut Bench, e: Extents, to: DType) -> Result<()> {
    let precision = super::data::precision(to);
    let mut prng = b.prng("halfway", to.name());
    let form = e.name();
    let n = (e.m * e.n) as usize;
    let mut goals: Vec<i64> = match to {
        F8E4M3 => vec![447, 448, 456, 463, 464, 465, 480, -464, -465, -500, 1000, -4000],
        F8E5M2 => vec![57_343, 57_344, 59_000, 61_439, 61_440, -61_439, -61_440, -61_441, 65_536, 100_000],
        F16 => vec![65_503, 65_504, 65_519, 65_520, -65_519, -65_520, -65_521, 70_000],
        // In F32 there are no ties below 2^24.
        _ => vec![],
    };
    while goals.len() < n {
        // One bit more than the output has, and now and then two.
        let bits = precision + i32::from(prng.below(4) == 0);
        let low = 1_i64 << bits.min(21);
        let goal = (low + prng.below(low as u64) as i64) | 1;
        goals.push(if prng.below(2) == 0 { goal } else { -goal });
    }
    goals.truncate(n);
    // One row of x holds the parts of the goals that sum up: x is all ones but for its last element in each row.
    let (m, k) = (e.m as usize, e.k as usize);
    let mut x = vec![1.0; m * k];
    let mut w = vec![0.0; e.n as usize * k];
    let mut known = vec![0.0; n];
    for column in 0..e.n as usize {
        let Some(goal) = goals.get(column).copied() else { continue };
        let row: Vec<i64> = (0..k - 1).map(|_| prng.below(17) as i64 - 8).collect();
        let rest = goal - row.iter().sum::<i64>();
        for (place, value) in row.into_iter().chain([rest]).enumerate() {
            if let Some(slot) = w.get_mut(column * k + place) {
                *slot = value as f64;
            }
        }
        for r in 0..m {
            // Rows after the first are multiples by a power of two: the same significands at other exponents.
            let factor = [1.0, -1.0, 0.5, -0.25, 2.0][r % 5];
            x.iter_mut().skip(r * k).take(k).for_each(|v| *v = factor);
            if let Some(slot) = known.get_mut(r * e.n as usize + column) {
                *slot = goal as f64 * factor;
            }
        }
    }
    let about = "exact sums halfway between two numbers of the output, or around its largest";
    let (x, w) = (reals(F32, &[e.m, e.k], x), reals(F32, &[e.n, e.k], w));
    let spec = product(e, (&form, "halfway", about), x, w, None, to).own_inputs();
    b.add(spec.clause(clause::NUM_02).clause(clause::NUM_09).known(Values::Reals(known)))
}

/// A NaN or an infinity in one row reaches the results of that row, and no others.
fn special(b: &mut Bench, e: Extents, to: DType) -> Result<()> {
    let mut prng = b.prng("special", &e.name());
    let mut x = uniforms(&mut prng, numel(&[e.m, e.k]), 0.5, 2.0);
    let mut w = uniforms(&mut prng, numel(&[e.n, e.k]), 0.5, 2.0);
    let k = e.k as usize;
    let put = |list: &mut Vec<f64>, row: usize, column: usize, value: f64| {
        if let Some(slot) = list.get_mut(row * k + column) {
            *slot = value;
        }
    };
    put(&mut w, 1, k - 1, f64::NAN);
    put(&mut w, 3, 0, f64::INFINITY);
    put(&mut w, 5, 7, f64::NEG_INFINITY);
    put(&mut x, 1, 3, -0.0);
    put(&mut w, 7, 9, -0.0);
    if e.m > 3 {
        put(&mut x, 3, 5, f64::NAN);
    }
    let about = "a NaN and infinities of one row do not reach the others";
    let (x, w) = (reals(F32, &[e.m, e.k], x), reals(F32, &[e.n, e.k], w));
    b.add(product(e, (&e.name(), "special", about), x, w, None, to).clause(clause::NUM_03))
}

/// Exact probes of several lengths: m, n, k, columns and rows of a tile.
fn probes(b: &mut Bench, shapes: &[(u64, u64, u64, u64, u64)]) -> Result<()> {
    for (turn, &(m, n, k, n_tile, m_tile)) in shapes.iter().enumerate() {
        let e = Extents { m, n, k, n_tile, m_tile };
        for (place, (x, w)) in INPUTS.into_iter().enumerate() {
            // Each length with two or three pairs of dtypes, the longest with all but F32, in which it is large.
            if k != 8192 && !(place + turn).is_multiple_of(3) && !(place + turn).is_multiple_of(5) {
                continue;
            }
            let mut prng = b.prng("probe", &format!("{}-{x}-{w}", e.name()));
            let shape = Shape {
                m: m as usize,
                n: n as usize,
                k: k as usize,
                x: vec![1, 2, 3, 4],
                w: signed(7),
                reach: 0,
            };
            if !(k == 8192 && x == F32) {
                let about = "small integers: every k, and every aligned tile of 8 to 1,024, shows if it is dropped, repeated or stale";
                add_probe(b, e, ("probe", about), (x, w), &probe(&mut prng, &shape)?)?;
            }
            let mut prng = b.prng("accumulator", &format!("{}-{x}-{w}", e.name()));
            let (xs, ws) = match (x, w) {
                (F8E4M3, _) => ((9..=15).collect::<Vec<i64>>(), signed(15)),
                (F8E5M2, _) => (vec![5, 6, 7, 8], signed(15)),
                // The magnitudes of all terms together must stay below 2^24 for the sum to be exact.
                _ => ((33..=127).step_by(2).collect(), signed(if k > 4096 { 31 } else { 63 })),
            };
            // 8-bit factors have products of 8 bits: only long sums of them leave what 16-bit floats hold.
            if k < 1000 && matches!(x, F8E4M3 | F8E5M2) {
                continue;
            }
            let xs = xs.into_iter().chain([1, 2, 3]).collect();
            let reach = match x {
                F8E4M3 | F8E5M2 => (4 * k as i64).min(12_000),
                _ => 20_000,
            };
            let shape = Shape { m: 1, n: n as usize, k: k as usize, x: xs, w: ws, reach };
            let about = "integers whose partial sums need more bits than a 16-bit float has, and whose sums are small";
            if !(k == 8192 && x == F32) {
                add_probe(b, e, ("accumulator", about), (x, w), &mirrored(probe(&mut prng, &shape)?, m))?;
            }
        }
    }
    Ok(())
}

/// The probe with its row of x, the negative of it, and so on, as rows of x.
pub fn mirrored(probe: Probe, m: u64) -> Probe {
    let rows = |rows: &[Vec<i64>]| -> Vec<Vec<i64>> {
        let signs = (0..m).map(|row| if row % 2 == 0 { 1 } else { -1 });
        signs.flat_map(|sign| rows.first().map(|row| row.iter().map(|v| v * sign).collect())).collect()
    };
    Probe { x: rows(&probe.x), y: rows(&probe.y), w: probe.w }
}

/// Every value from -limit to limit but 0.
pub fn signed(limit: i64) -> Vec<i64> {
    (-limit..=limit).filter(|v| *v != 0).collect()
}

fn add_probe(
    b: &mut Bench,
    e: Extents,
    (data, about): (&'static str, &str),
    (x, w): (DType, DType),
    probe: &Probe,
) -> Result<()> {
    for to in OUTPUTS {
        let (left, right) = (ints(x, &[e.m, e.k], probe.x()), ints(w, &[e.n, e.k], probe.w()));
        let spec = product(e, (&e.name(), data, about), left, right, None, to);
        b.add(spec.clause(clause::NUM_06).clause(clause::NUM_09).known(Values::Reals(probe.y())))?;
    }
    Ok(())
}
