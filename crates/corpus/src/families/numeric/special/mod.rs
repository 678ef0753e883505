//! Values that nobody expects, in every place: NaN, infinities, subnormal numbers and signed zeros in each operand of each opcode,
//! at the first, a middle and the last place of a line. Lines do not depend on each other, so one case holds them all.

mod attention;
mod edges;
mod lines;
mod products;

use megakernel_ir::rule::clause;
use megakernel_numerics::{FloatFormat, decode};

use super::bench::{Bench, Pair, Spec};
use super::data::{Values, ints, power, reals, rounded};
use crate::builder::{DType, Result};

use DType::{BF16, F8E4M3, F8E5M2, F16, F32};

pub use attention::{attention, combine};
pub use edges::{append as append_edges, embed as embed_edges, layernorm as layernorm_edges};
pub use edges::{mul as mul_edges, rmsnorm as rmsnorm_edges, rope as rope_edges, softmax as softmax_edges};
pub use lines::{argmax, layernorm, rmsnorm, rope, softmax};
pub use products::{dequant, gemm, gemv};

/// Each output from itself, so that it holds the subnormal numbers of its input; and from dtypes with infinities, with a wider
/// range, or with subnormal numbers that binary32 holds as normal ones.
const PAIRS: [Pair; 10] = [
    (F32, F32),
    (F16, F16),
    (BF16, BF16),
    (F8E4M3, F8E4M3),
    (F8E5M2, F8E5M2),
    (F32, F8E4M3),
    (F32, F16),
    (F32, F8E5M2),
    (F16, F32),
    (F16, BF16),
];

/// A data family, and where its special values stand in a line of five.
const PLACES: [(&str, usize); 3] = [("special-first", 0), ("special-middle", 2), ("special-last", 4)];

const ABOUT: &str = "NaN, infinities, subnormal numbers and zeros, each in a line of its own";

/// A line without special values.
const ORDINARY: [f64; 5] = [1.0, -2.0, 2.0, 3.0, -1.0];

/// The smallest subnormal number of a dtype, and the largest.
fn subnormals(dtype: DType) -> [f64; 2] {
    let normal = FloatFormat::of(dtype).map_or(2, |format| 1 << format.fraction_bits);
    [decode(dtype, 1), decode(dtype, normal - 1)]
}

/// What makes about 1 of the largest subnormal number of a dtype.
fn big(dtype: DType) -> f64 {
    power(-FloatFormat::of(dtype).map_or(0, |format| format.min_exponent))
}

/// The special values, as a dtype has them.
fn values(dtype: DType) -> Vec<f64> {
    let [low, high] = subnormals(dtype);
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, low, -high, -0.0].map(|value| rounded(dtype, value)).to_vec()
}

/// A line with one element replaced.
fn with<const N: usize>(mut line: [f64; N], at: usize, value: f64) -> [f64; N] {
    if let Some(element) = line.get_mut(at) {
        *element = value;
    }
    line
}

/// Lines of one operand after the other.
fn lines<const N: usize>(lines: &[[f64; N]]) -> (u64, Vec<f64>) {
    (lines.len() as u64, lines.concat())
}

/// COPY.
pub fn copy(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let (n, x) = moved(from, at);
        let spec =
            Spec::new("specials", data, ABOUT).input(reals(from, &[n, 5], x.clone())).output(to, &[n, 5]);
        spec.known(Values::Reals(x))
    })
}

/// COPY of integers whose number is no multiple of a power of two.
pub fn copy_integers(b: &mut Bench) -> Result<()> {
    for dtype in [DType::I32, DType::I8, DType::I4, DType::U8, DType::Bool] {
        for (form, n, shape) in
            [("ragged-7", 7_i64, &[7_u64][..]), ("ragged-15", 15, &[5, 3]), ("ragged-50", 50, &[2, 25])]
        {
            let values: Vec<i64> =
                (0..n).map(|i| if dtype == DType::Bool { (i + 1) % 2 } else { 1 + i % 13 }).collect();
            let spec = Spec::new(form, "integers", "integers whose number is no multiple of 4 or 8")
                .input(ints(dtype, &[n as u64], values.clone()))
                .output(dtype, shape);
            b.add(spec.known(Values::Ints(values)).clause(clause::NUM_11))?;
        }
    }
    Ok(())
}

/// EMBED.
pub fn embed(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let (n, x) = moved(from, at);
        let known = x.chunks(5).rev().flatten().copied().collect();
        let spec = Spec::new("specials", data, ABOUT)
            .input(ints(DType::I32, &[n], (0..n as i64).rev().collect()))
            .input(reals(from, &[n, 5], x))
            .output(to, &[n, 5])
            .param("hidden", 5);
        spec.known(Values::Reals(known))
    })
}

/// KV_APPEND.
pub fn append(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let (n, x) = moved(from, at);
        let known = [vec![1.0; 5], x.clone(), vec![1.0; 5]].concat();
        let spec = Spec::new("specials", data, ABOUT)
            .input(reals(from, &[n, 1, 5], x))
            .cache(reals(to, &[n + 2, 1, 5], vec![1.0; (n as usize + 2) * 5]))
            .param("pos", 1);
        spec.known(Values::Reals(known))
    })
}

fn moved(from: DType, at: usize) -> (u64, Vec<f64>) {
    let special = values(from).into_iter().map(|value| with(ORDINARY, at, value));
    lines(&special.chain([ORDINARY]).collect::<Vec<_>>())
}

/// ADD: beside each special value an ordinary number and a zero.
pub fn add(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let pairs = values(from).into_iter().flat_map(|value| [[value, 2.0], [value, 0.0]]);
        both(("specials", data), at, (from, to), pairs.flat_map(|[x, y]| [[x, y], [y, x]]).collect())
    })
}

/// MUL: beside each special value an ordinary number, a zero, and what makes a normal number of a subnormal one.
pub fn mul(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let others = [2.0, 0.0, big(from)];
        let pairs = values(from).into_iter().flat_map(|value| others.map(|other| [value, other]));
        both(("specials", data), at, (from, to), pairs.flat_map(|[x, y]| [[x, y], [y, x]]).collect())
    })
}

/// SILU_MUL: beside each special value an ordinary number, a zero, and what makes a normal number of a subnormal one.
pub fn silu_mul(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let others = [1.0, 0.0, big(from)];
        let pairs = values(from).into_iter().flat_map(|value| others.map(|other| [value, other]));
        let mut pairs: Vec<[f64; 2]> = pairs.flat_map(|[x, y]| [[x, y], [y, x]]).collect();
        if matches!(from, F32 | BF16) {
            // Their product is beyond binary32, and what comes of it is not: about -160.
            pairs.push([-88.0, rounded(from, 3e38)]);
        }
        both(("specials", data), at, (from, to), pairs)
    })
}

/// An opcode of one operand that computes each element by itself.
pub fn unary(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let (n, x) = moved(from, at);
        Spec::new("specials", data, ABOUT).input(reals(from, &[n, 5], x)).output(to, &[n, 5])
    })
}

/// ALLREDUCE_SHARD: each special value in each shard, beside ordinary numbers and beside zeros.
pub fn allreduce(b: &mut Bench) -> Result<()> {
    each(b, |data, at, (from, to)| {
        let mut shards: [Vec<[f64; 5]>; 3] = Default::default();
        for value in values(from) {
            for (place, other) in (0..3).flat_map(|place| [(place, 2.0), (place, 0.0)]) {
                for (index, shard) in shards.iter_mut().enumerate() {
                    shard.push(with(ORDINARY, at, if index == place { value } else { other }));
                }
            }
        }
        // Each addition of what stands after a 1 loses nearly a unit in the last place.
        if from == F32 {
            let parts = [1.0, 1.9375 * power(-23), 1.9375 * power(-23)];
            shards.iter_mut().zip(parts).for_each(|(shard, part)| shard.push(with([0.0; 5], at, part)));
        }
        let shards = shards.map(|shard| lines(&shard));
        let n = shards.first().map_or(0, |(n, _)| *n);
        let inputs = shards.map(|(n, shard)| reals(from, &[n, 5], shard));
        Spec::new("specials", data, ABOUT).inputs(inputs).output(to, &[n, 5])
    })
}

/// Two operands whose lines hold these pairs at one place.
fn both((form, data): (&str, &'static str), at: usize, (from, to): Pair, pairs: Vec<[f64; 2]>) -> Spec {
    let line = |side: usize| {
        let values = pairs.iter().filter_map(|pair| pair.get(side));
        lines(&values.map(|&value| with(ORDINARY, at, value)).collect::<Vec<_>>())
    };
    let (n, x) = line(0);
    let inputs = [reals(from, &[n, 5], x), reals(from, &[n, 5], line(1).1)];
    Spec::new(form, data, ABOUT).inputs(inputs).output(to, &[n, 5])
}

/// A case for each place and each pair of dtypes.
fn each(b: &mut Bench, spec: impl Fn(&'static str, usize, Pair) -> Spec) -> Result<()> {
    for (data, at) in PLACES {
        for pair in PAIRS {
            b.add(spec(data, at, pair).clause(clause::NUM_03))?;
        }
    }
    Ok(())
}
