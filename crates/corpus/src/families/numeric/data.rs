//! The numbers that numeric cases compute with.
//!
//! Everything here is made with additions, multiplications and powers of two, which every machine rounds alike: no
//! function of a mathematics library may enter a generated file.

use megakernel_numerics::{FloatFormat, decode, encode, ulp};

use crate::builder::DType;
use megakernel_ir::formula::Formula;
use megakernel_ir::prng::SplitMix64;

/// Contents of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers of a float dtype, rounded to it when they are stored.
    Reals(Vec<f64>),
    /// Integers. A buffer of I4 or U8 holds nibbles and bytes as they are stored.
    Ints(Vec<i64>),
    /// Elements of a float dtype as they are stored, for NaN that no number stands for.
    Bits(Vec<u32>),
    /// What a formula gives, of the same dtype and shape.
    Formula(Formula),
}

/// A buffer and what it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<u64>,
    /// Elements in row-major order.
    pub values: Values,
}

/// A float operand.
pub fn reals(dtype: DType, shape: &[u64], values: Vec<f64>) -> Operand {
    Operand { dtype, shape: shape.to_vec(), values: Values::Reals(values) }
}

/// A float operand, by its elements as they are stored.
pub fn bits(dtype: DType, shape: &[u64], bits: Vec<u32>) -> Operand {
    Operand { dtype, shape: shape.to_vec(), values: Values::Bits(bits) }
}

/// An operand of integers; of a float dtype it holds the integers as reals.
pub fn ints(dtype: DType, shape: &[u64], values: Vec<i64>) -> Operand {
    let values = match FloatFormat::of(dtype) {
        Some(_) => Values::Reals(values.iter().map(|&v| v as f64).collect()),
        None => Values::Ints(values),
    };
    Operand { dtype, shape: shape.to_vec(), values }
}

/// What a formula gives.
pub fn formula(formula: Formula) -> Operand {
    Operand { dtype: formula.dtype, shape: formula.shape.clone(), values: Values::Formula(formula) }
}

/// Number of elements of a shape.
pub fn numel(shape: &[u64]) -> usize {
    shape.iter().product::<u64>() as usize
}

/// 2^n, exact for every n that binary64 has; 0 below and infinity above.
pub fn power(n: i32) -> f64 {
    let (base, steps) = if n < 0 { (0.5, n.unsigned_abs()) } else { (2.0, n.unsigned_abs()) };
    (0..steps.min(1100)).fold(1.0, |product, _| product * base)
}

/// The value of a float dtype nearest to `value`.
pub fn rounded(dtype: DType, value: f64) -> f64 {
    decode(dtype, encode(dtype, value))
}

/// A number from `low` to `high`.
pub fn uniform(prng: &mut SplitMix64, low: f64, high: f64) -> f64 {
    low + (high - low) * ((prng.next_u64() >> 11) as f64 * power(-53))
}

/// `n` numbers from `low` to `high`.
pub fn uniforms(prng: &mut SplitMix64, n: usize, low: f64, high: f64) -> Vec<f64> {
    (0..n).map(|_| uniform(prng, low, high)).collect()
}

/// A number distributed much like a normal one with mean 0 and deviation `sigma`.
pub fn normal(prng: &mut SplitMix64, sigma: f64) -> f64 {
    let sum: f64 = (0..6).map(|_| uniform(prng, -1.0, 1.0)).sum();
    // Six uniform numbers have variance 2.
    sum * sigma * std::f64::consts::FRAC_1_SQRT_2
}

/// `n` such numbers.
pub fn normals(prng: &mut SplitMix64, n: usize, sigma: f64) -> Vec<f64> {
    (0..n).map(|_| normal(prng, sigma)).collect()
}

/// 1 or -1.
pub fn sign(prng: &mut SplitMix64) -> f64 {
    if prng.below(2) == 0 { 1.0 } else { -1.0 }
}

/// `n` numbers of either sign whose exponents are spread evenly from `low` to `high`.
pub fn spread(prng: &mut SplitMix64, n: usize, low: i32, high: i32) -> Vec<f64> {
    (0..n)
        .map(|_| {
            let exponent = low + prng.between(0, (high - low).max(0) as usize) as i32;
            sign(prng) * uniform(prng, 1.0, 2.0) * power(exponent)
        })
        .collect()
}

/// The exponents of a dtype's normal numbers, least and largest; those of F32 for a dtype that is no float.
pub fn exponents(dtype: DType) -> (i32, i32) {
    match FloatFormat::of(dtype) {
        Some(format) => {
            let largest = (format.largest >> format.fraction_bits) as i32 - 1 + format.min_exponent;
            (format.min_exponent, largest)
        }
        None => (-126, 127),
    }
}

/// Bits of the significand of a float dtype, the leading one counted.
pub fn precision(dtype: DType) -> i32 {
    FloatFormat::of(dtype).map_or(24, |format| format.fraction_bits as i32 + 1)
}

/// What a dtype has beside ordinary numbers: zeros, the ends of its ranges, infinities if any, and NaN.
pub fn specials(dtype: DType) -> Vec<f64> {
    let Some(format) = FloatFormat::of(dtype) else { return Vec::new() };
    let normal = 1 << format.fraction_bits;
    let mut values: Vec<f64> = [0, 1, 2, normal - 1, normal, normal + 1, format.largest - 1, format.largest]
        .iter()
        .flat_map(|&magnitude| [format_value(dtype, magnitude, false), format_value(dtype, magnitude, true)])
        .collect();
    if format.has_infinity() {
        values.extend([f64::INFINITY, f64::NEG_INFINITY]);
    }
    values.extend([f64::NAN, 1.0, -1.0]);
    values
}

/// The finite ones of [`specials`].
pub fn extremes(dtype: DType) -> Vec<f64> {
    specials(dtype).into_iter().filter(|value| value.is_finite()).collect()
}

fn format_value(dtype: DType, magnitude: u32, negative: bool) -> f64 {
    let value = decode(dtype, magnitude);
    if negative { -value } else { value }
}

/// `n` numbers that tell their positions. In a dtype of 8 bits they are neighbours, from the smallest number on, and
/// repeat after 119; in the others they start at 1, go through eight binades so that narrower dtypes tell most of them
/// apart as well, and repeat after 239. No power of two divides these periods. Every other number is negative.
pub fn coded(dtype: DType, n: usize) -> Vec<f64> {
    let (start, stride, period) = match dtype {
        DType::F8E4M3 | DType::F8E5M2 => (1, 1, 119),
        DType::F16 => (encode(dtype, 1.0), 33, 239),
        DType::BF16 => (encode(dtype, 1.0), 4, 239),
        _ => (encode(dtype, 1.0), 0x4_4321, 239),
    };
    (0..n as u32)
        .map(|index| {
            let value = decode(dtype, start + index % period * stride);
            if index % 2 == 1 { -value } else { value }
        })
        .collect()
}

/// `n` numbers that lie halfway between two neighbours of `to`, or, every third, just beside it as far as `from` can
/// tell; those around the largest number of `to` come first. A dtype `from` without the bits for it gives its own
/// numbers.
pub fn ties(prng: &mut SplitMix64, from: DType, to: DType, n: usize) -> Vec<f64> {
    let Some(format) = FloatFormat::of(to) else { return Vec::new() };
    let (low, high) = exponents(from);
    let mut values = Vec::new();
    let largest = decode(to, format.largest);
    let half = ulp(to, largest) / 2.0;
    for beyond in [0.5, 1.0, 1.5, 2.0, 4.0, 64.0] {
        let value = largest + beyond * half;
        values.extend([value, -value]);
    }
    let subnormal = decode(to, 1);
    values.extend([0.5, 0.75, 1.5, 2.5, 3.5].map(|count| count * subnormal));
    values.retain(|value| rounded(from, *value) == *value);
    values.truncate(n);
    let (to_low, to_high) = exponents(to);
    let (low, high) = (low.max(to_low) + 1, high.min(to_high) - 1);
    while values.len() < n {
        let exponent = low + prng.between(0, (high - low).clamp(0, 40) as usize) as i32;
        let base = rounded(to, uniform(prng, 1.0, 2.0) * power(exponent));
        let mut value = rounded(from, base + ulp(to, base) / 2.0);
        match prng.below(6) {
            0 => value += ulp(from, value),
            1 => value -= ulp(from, value),
            _ => {}
        }
        values.push(sign(prng) * value);
    }
    values
}

/// `n` numbers around the two ends of what `to` holds: from half its smallest number to its smallest normal one, and from
/// half its largest number up to where it overflows and beyond. F32 itself overflows nowhere here: an intermediate
/// result beyond it is not specified.
pub fn ends(to: DType, n: usize) -> Vec<f64> {
    let Some(format) = FloatFormat::of(to) else { return Vec::new() };
    let (least, largest) = (decode(to, 1), decode(to, format.largest));
    let small = [0.6, 1.4, 2.6, 3.3, 5.7, 6.2].map(|count| count * least);
    let normal = decode(to, 1 << format.fraction_bits);
    let mut values: Vec<f64> = small.into_iter().chain([0.4 * normal, 0.9 * normal, 1.1 * normal]).collect();
    values.extend([0.55, 0.9, 0.97].map(|part| part * largest));
    if to != DType::F32 && to != DType::BF16 {
        values.extend([1.02, 1.05, 1.1, 1.4, 3.0].map(|part| part * largest));
    }
    let signed: Vec<f64> = values.iter().flat_map(|v| [*v, -*v]).collect();
    cycle(&signed, n)
}

/// Moves the elements to other places, the same way each time for a given stream.
pub fn shuffle<T>(prng: &mut SplitMix64, items: &mut [T]) {
    for index in (1..items.len()).rev() {
        items.swap(index, prng.below(index as u64 + 1) as usize);
    }
}

/// The first `n` of `values`, repeated as often as it takes.
pub fn cycle(values: &[f64], n: usize) -> Vec<f64> {
    values.iter().copied().cycle().take(n).collect()
}
