//! What a launch binds: numbers in styles, each of which shows other faults.

use megakernel_corpus::builder::DType;
use megakernel_corpus::families::numeric::data;
use megakernel_ir::prng::SplitMix64;
use megakernel_numerics::{Tensor, encode, pack};
use serde_json::Value;

use crate::sample::{Bound, Tensors, bound};

/// How the numbers of a float buffer are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// Around 0, as weights and activations are.
    Normal,
    /// Small integers, whose sums and products are exact.
    Small,
    /// Large ones, so that results leave the range of narrow dtypes.
    Large,
    /// Of very different magnitudes.
    Spread,
    /// Ordinary ones with a few that are not numbers, infinite, subnormal or the largest of all.
    Special,
    /// Steps of some tens, as scores of attention that weigh nothing beside the largest.
    Steps,
    /// All the same.
    Constant,
    /// Mostly zeros.
    Sparse,
    /// Any bits.
    Bits,
}

const STYLES: [Style; 9] = [
    Style::Normal,
    Style::Small,
    Style::Large,
    Style::Spread,
    Style::Special,
    Style::Steps,
    Style::Constant,
    Style::Sparse,
    Style::Bits,
];

/// The inputs of the first launch of a program, or of a later one, which binds no caches.
pub fn draw(program: &Value, first: bool, prng: &mut SplitMix64) -> Option<Tensors> {
    let mut tensors = Tensors::new();
    // Half of the launches have tame numbers alone, so that all that is computed is judged.
    let tame = prng.below(2) == 0;
    for Bound { name, dtype, shape } in bound(program, first) {
        let styles = if tame { &STYLES[..2] } else { &STYLES[..] };
        let style = prng.pick(styles).copied().unwrap_or(Style::Normal);
        let count = data::numel(&shape);
        let bits = match dtype.is_float() {
            true => floats(dtype, count, style, prng),
            false => ints(dtype, count, rows(program, &name), prng),
        };
        tensors.insert(name, Tensor::new(dtype, shape, pack(dtype, bits)).ok()?);
    }
    Some(tensors)
}

fn floats(dtype: DType, count: usize, style: Style, prng: &mut SplitMix64) -> Vec<u32> {
    let all_bits = u32::MAX >> (32 - 8 * dtype.nbytes(1).min(4));
    let constant = data::normal(prng, 4.0);
    let sigma = prng.pick(&[0.1, 1.0, 1.0, 4.0]).copied().unwrap_or(1.0);
    let one = |prng: &mut SplitMix64| {
        let value = match style {
            Style::Normal | Style::Special => data::normal(prng, sigma),
            Style::Small => prng.below(17) as f64 - 8.0,
            Style::Large => data::normal(prng, 300.0),
            Style::Spread => {
                data::sign(prng) * data::uniform(prng, 1.0, 2.0) * data::power(prng.below(60) as i32 - 30)
            }
            Style::Steps => prng.below(8) as f64 * -12.5,
            Style::Constant => constant,
            Style::Sparse if prng.below(4) > 0 => 0.0,
            Style::Sparse => data::normal(prng, 1.0),
            Style::Bits => return prng.next_u64() as u32 & all_bits,
        };
        encode(dtype, value)
    };
    let mut bits: Vec<u32> = (0..count).map(|_| one(prng)).collect();
    if style == Style::Special && count > 0 {
        let mut specials: Vec<u32> = data::specials(dtype)
            .into_iter()
            .chain(data::extremes(dtype))
            .map(|v| encode(dtype, v))
            .collect();
        // NaNs with a low bit alone, of either sign, and the smallest subnormal.
        let exponent = encode(dtype, f64::INFINITY);
        specials.extend([exponent | 1, exponent | 1 | (all_bits / 2 + 1), 1]);
        for _ in 0..prng.between(1, 3) {
            let at = prng.index(count);
            if let (Some(slot), Some(special)) = (bits.get_mut(at), prng.pick(&specials)) {
                *slot = *special;
            }
        }
    }
    bits
}

/// How many rows the tables have that a buffer of ids may pick from; for other integers, few or many, by the
/// length of the name.
fn rows(program: &Value, name: &str) -> u64 {
    let buffer = |id: &Value| &program["buffers"][id.as_u64().unwrap_or(u64::MAX) as usize];
    let is_it = |id: &Value| buffer(id)["name"] == name || buffer(id)["source"] == name;
    let tasks = program["tasks"].as_array().into_iter().flatten();
    let tables = tasks.filter(|task| task["op"] == "EMBED" && is_it(&task["inputs"][0]));
    let rows = tables.filter_map(|task| buffer(&task["inputs"][1])["shape"][0].as_u64());
    rows.min().unwrap_or(if name.len().is_multiple_of(2) { 8 } else { 3000 })
}

fn ints(dtype: DType, count: usize, below: u64, prng: &mut SplitMix64) -> Vec<u32> {
    let most = match dtype {
        DType::I32 => below.max(1),
        DType::Bool => 2,
        DType::I4 => 16,
        _ => 256,
    };
    // Masks with long runs, where blocks are left out as a whole.
    let run = if prng.below(3) == 0 { prng.between(2, 40) } else { 1 };
    let mut bits = Vec::with_capacity(count);
    while bits.len() < count {
        let value = prng.below(most) as u32;
        bits.extend(std::iter::repeat_n(value, run.min(count - bits.len())));
    }
    bits
}
