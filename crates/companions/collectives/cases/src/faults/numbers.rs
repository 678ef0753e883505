//! Arithmetics of simulators, on the results that the cases know.

use megakernel_numerics::{DType, decode, encode};
use serde_json::Value;

use crate::build::Made;
use crate::expr::{Expr, bits};

/// How a simulator computes.
pub enum Arithmetic {
    /// Binary16 sums by this, of the operands and their exact sum.
    Sums(fn(u32, u32, f64) -> u32),
    /// Sums are not rounded to binary16 before they are stored, but each as this says.
    Wide(fn(f64) -> f64),
    /// Two sums behind each other are rounded once.
    Fused,
    /// What is summed up is summed up anew, in this order.
    Order(fn(&mut Vec<(usize, f64)>)),
    /// Binary32 sums are computed in binary16.
    Narrow,
    /// What is loaded is changed.
    Loads(fn(u32) -> u32),
}

use Arithmetic::{Fused, Loads, Narrow, Order, Sums, Wide};

/// Id, what the simulator does, and how.
type Entry = (&'static str, &'static str, Arithmetic);

fn f16(bits: u32) -> f64 {
    decode(DType::F16, bits)
}

fn rounded(number: f64) -> u32 {
    if number.is_nan() { 0x7E00 } else { encode(DType::F16, number) }
}

/// The binary16 number next to a rounded one, towards zero or away from it.
fn beside(bits: u32, further: bool) -> u32 {
    let magnitude = bits & 0x7FFF;
    bits & 0x8000 | if further { magnitude + 1 } else { magnitude.saturating_sub(1) }
}

fn is_subnormal(bits: u32) -> bool {
    (1..0x400).contains(&(bits & 0x7FFF))
}

fn truncated(exact: f64) -> u32 {
    let near = rounded(exact);
    if f16(near).abs() > exact.abs() { beside(near, false) } else { near }
}

/// The faults.
#[rustfmt::skip] // a table
pub const FAULTS: &[Entry] = &[
    ("sums-in-binary32", "keeps sums in binary32 until they are stored", Wide(|sum| f64::from(sum as f32))),
    ("sums-in-binary64", "keeps sums in binary64 until they are stored", Wide(|sum| sum)),
    ("sums-in-bfloat16", "computes sums in bfloat16", Sums(|_, _, sum| rounded(decode(DType::BF16, encode(DType::BF16, sum))))),
    ("fused", "rounds once where two sums stand behind each other", Fused),
    ("towards-zero", "rounds towards zero", Sums(|_, _, sum| if sum.is_nan() { 0x7E00 } else { truncated(sum) })),
    ("ties-away", "rounds ties away from zero", Sums(|_, _, sum| {
        let low = if sum.is_finite() { truncated(sum) } else { return rounded(sum) };
        let high = beside(low, true);
        if (f16(high) - sum).abs() <= (sum - f16(low)).abs() { high } else { low }
    })),
    ("ties-down", "rounds ties towards zero", Sums(|_, _, sum| {
        let low = if sum.is_finite() { truncated(sum) } else { return rounded(sum) };
        let high = beside(low, true);
        if (f16(high) - sum).abs() < (sum - f16(low)).abs() { high } else { low }
    })),
    ("flushed-sums", "flushes subnormal sums to zero", Sums(|_, _, sum| Some(rounded(sum)).filter(|&bits| !is_subnormal(bits)).unwrap_or(0))),
    ("flushed-operands", "takes subnormal operands for zero", Sums(|a, b, sum| {
        let kept = |bits: u32| if is_subnormal(bits) { 0.0 } else { f16(bits) };
        if is_subnormal(a) || is_subnormal(b) { rounded(kept(a) + kept(b)) } else { rounded(sum) }
    })),
    ("flushed-loads", "flushes subnormal numbers that it loads", Loads(|bits| if is_subnormal(bits) { bits & 0x8000 } else { bits })),
    ("no-minus-zero", "gives +0 for the sum of two -0", Sums(|_, _, sum| if sum == 0.0 { 0 } else { rounded(sum) })),
    ("zeros-are-minus", "gives -0 where numbers cancel", Sums(|_, _, sum| if sum == 0.0 { 0x8000 } else { rounded(sum) })),
    ("loads-without-minus-zero", "loads -0 as +0", Loads(|bits| if bits == 0x8000 { 0 } else { bits })),
    ("saturates", "gives the largest number for an overflow", Sums(|_, _, sum| {
        let bits = rounded(sum);
        if bits & 0x7FFF == 0x7C00 && sum.is_finite() { bits - 1 } else { bits }
    })),
    ("no-infinities", "takes infinities for the largest number", Sums(|_, _, sum| {
        let bits = rounded(sum);
        if bits & 0x7FFF == 0x7C00 { bits - 1 } else { bits }
    })),
    ("negative-nan", "gives a NaN with the sign that hardware gives it", Sums(|_, _, sum| if sum.is_nan() { 0xFE00 } else { rounded(sum) })),
    ("payload-of-nan", "gives a NaN with a payload", Sums(|_, _, sum| if sum.is_nan() { 0x7E01 } else { rounded(sum) })),
    ("signalling-nan", "gives a NaN that signals", Sums(|_, _, sum| if sum.is_nan() { 0x7D00 } else { rounded(sum) })),
    ("nan-is-zero", "takes what is no number for 0", Sums(|_, _, sum| if sum.is_nan() { 0 } else { rounded(sum) })),
    ("opposed-infinities-cancel", "gives 0 for the sum of opposed infinities", Sums(|a, b, sum| {
        if sum.is_nan() && f16(a).is_infinite() && f16(b).is_infinite() { 0 } else { rounded(sum) }
    })),
    ("order-of-ranks", "sums up in the order of elements", Order(|terms| terms.sort_by_key(|(element, _)| *element))),
    ("order-backwards", "sums up from the last element to the first", Order(|terms| terms.sort_by_key(|(element, _)| std::cmp::Reverse(*element)))),
    ("order-of-size", "sums up from the smallest to the largest", Order(|terms| terms.sort_by(|a, b| a.1.abs().total_cmp(&b.1.abs())))),
    ("first-left-out", "leaves out one summand", Order(|terms| { if terms.len() > 1 { terms.remove(0); } })),
    ("wide-sums-narrow", "computes binary32 sums in binary16", Narrow),
];

/// Right, and different.
pub const LEGITIMATE: &[Entry] = &[
    (
        "through-binary32",
        "computes each binary16 sum in binary32, and rounds it",
        Sums(|a, b, _| rounded(f64::from(f16(a) as f32 + f16(b) as f32))),
    ),
    ("swapped", "swaps the operands of each sum", Sums(|a, b, _| rounded(f16(b) + f16(a)))),
];

/// What tiles hold at the end.
pub fn end(made: &Made, document: &Value, arithmetic: &Arithmetic) -> Vec<Vec<u32>> {
    let tile = |tile: &Value| -> Vec<u32> {
        let bits = tile.as_array().into_iter().flatten().filter_map(Value::as_u64);
        bits.filter_map(|bits| u32::try_from(bits).ok()).collect()
    };
    let tiles: Vec<Vec<u32>> =
        document.get("tiles").and_then(Value::as_array).into_iter().flatten().map(tile).collect();
    let mut end = tiles.clone();
    for (held, parts) in end.iter_mut().zip(&made.results) {
        for (from, to, expr) in parts {
            for (position, held) in held.iter_mut().enumerate().take(*to).skip(*from) {
                let leaf = |element: usize| {
                    tiles.get(element).and_then(|tile| tile.get(position)).copied().unwrap_or(0)
                };
                *held = arithmetic.result(expr, &leaf);
            }
        }
    }
    end
}

impl Arithmetic {
    fn result(&self, expr: &Expr, leaf: &dyn Fn(usize) -> u32) -> u32 {
        match self {
            Loads(change) => bits(expr, &|element| change(leaf(element))),
            Sums(sum) => self.narrow(expr, leaf, *sum),
            Wide(round) => match expr {
                Expr::Leaf(element) => leaf(*element),
                _ => rounded(kept(expr, leaf, *round)),
            },
            Fused => match expr {
                Expr::Leaf(element) => leaf(*element),
                _ => fused(expr, leaf),
            },
            Narrow => self.narrow(expr, leaf, |_, _, sum| rounded(sum)),
            Order(order) => {
                let mut terms = Vec::new();
                let sums = if terms_of(expr, leaf, &mut terms) { terms.len() } else { 0 };
                if sums < 2 {
                    return bits(expr, leaf);
                }
                order(&mut terms);
                let sum = terms.iter().map(|(_, number)| *number).reduce(|a, b| f16(rounded(a + b)));
                sum.map_or(0, rounded)
            }
        }
    }

    fn narrow(&self, expr: &Expr, leaf: &dyn Fn(usize) -> u32, sum: fn(u32, u32, f64) -> u32) -> u32 {
        let below = |expr: &Expr| self.narrow(expr, leaf, sum);
        let is_narrow = matches!(self, Narrow);
        match expr {
            Expr::Leaf(element) => leaf(*element),
            Expr::Add(a, b) => {
                let (a, b) = (below(a), below(b));
                sum(a, b, f16(a) + f16(b))
            }
            Expr::Wide(a, b) if is_narrow => {
                let (a, b) = (below(a), below(b));
                rounded(f16(a) + f16(b))
            }
            Expr::Narrow(of) if is_narrow => below(of),
            Expr::Wide(..) | Expr::Narrow(_) => bits(expr, leaf),
        }
    }
}

/// Without rounding to binary16.
fn kept(expr: &Expr, leaf: &dyn Fn(usize) -> u32, round: fn(f64) -> f64) -> f64 {
    match expr {
        Expr::Leaf(element) => f16(leaf(*element)),
        Expr::Add(a, b) | Expr::Wide(a, b) => round(kept(a, leaf, round) + kept(b, leaf, round)),
        Expr::Narrow(of) => kept(of, leaf, round),
    }
}

/// A sum whose left operand is a sum is rounded with it.
fn fused(expr: &Expr, leaf: &dyn Fn(usize) -> u32) -> u32 {
    let Expr::Add(a, b) = expr else { return bits(expr, leaf) };
    let right = f16(fused(b, leaf));
    let left = match &**a {
        Expr::Add(c, d) => f16(fused(c, leaf)) + f16(fused(d, leaf)),
        other => f16(fused(other, leaf)),
    };
    rounded(left + right)
}

/// The summands of binary16 sums; false, where there are others.
fn terms_of(expr: &Expr, leaf: &dyn Fn(usize) -> u32, terms: &mut Vec<(usize, f64)>) -> bool {
    match expr {
        Expr::Leaf(element) => {
            terms.push((*element, f16(leaf(*element))));
            true
        }
        Expr::Add(a, b) => terms_of(a, leaf, terms) && terms_of(b, leaf, terms),
        Expr::Wide(..) | Expr::Narrow(_) => false,
    }
}
