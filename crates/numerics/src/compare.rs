//! Judging a tensor against a reference and a bound (clause NUM-10).

use std::fmt;

use super::convert::{FloatFormat, decode, encode, is_nan};
use crate::DType;
use crate::Tensor;

/// What one element may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Anything: the result is not specified.
    Any,
    /// Any NaN.
    Nan {
        /// The dtype of the element.
        dtype: DType,
    },
    /// From `low` to `high`, both included, in the order of clause NUM-10.
    Between {
        /// The dtype of the element.
        dtype: DType,
        /// Bits of the least admitted element.
        low: u32,
        /// Bits of the greatest admitted element.
        high: u32,
    },
    /// Nothing: the bound is negative or NaN, or the dtype is not a float. A fault of whoever made the reference.
    Nothing,
}

/// The elements that the cast can give of a value that is off by at most `bound` from `reference`.
pub fn interval(dtype: DType, reference: f64, bound: f64) -> Interval {
    if !dtype.is_float() || bound.is_nan() || bound < 0.0 {
        Interval::Nothing
    } else if bound == f64::INFINITY {
        Interval::Any
    } else if reference.is_nan() {
        Interval::Nan { dtype }
    } else if bound == 0.0 {
        // Not `reference + 0`, which would lose the sign of a zero.
        let only = encode(dtype, reference);
        Interval::Between { dtype, low: only, high: only }
    } else {
        // Where an end is zero, both zeros are admitted. A sum that is zero is +0.
        let low = add_to_odd(reference, -bound);
        let low = encode(dtype, if low == 0.0 { -0.0 } else { low });
        let high = encode(dtype, add_to_odd(reference, bound));
        Interval::Between { dtype, low, high }
    }
}

impl Interval {
    /// Whether an element with these bits passes.
    pub fn admits(self, bits: u32) -> bool {
        match self {
            Interval::Any => true,
            Interval::Nan { dtype } => is_nan(dtype, bits),
            Interval::Between { dtype, low, high } => {
                let Some(format) = FloatFormat::of(dtype) else { return false };
                if format.is_nan(bits) {
                    // Only an overflow gives a NaN here. Its sign is not specified.
                    return format.is_nan(low) || format.is_nan(high);
                }
                (order(format, low)..=order(format, high)).contains(&order(format, bits))
            }
            Interval::Nothing => false,
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Interval::Any => f.write_str("anything"),
            Interval::Nan { .. } => f.write_str("NaN"),
            Interval::Between { dtype, low, high } if low == high => write!(f, "{:?}", decode(dtype, low)),
            Interval::Between { dtype, low, high } => {
                write!(f, "{:?} to {:?}", decode(dtype, low), decode(dtype, high))
            }
            Interval::Nothing => f.write_str("nothing"),
        }
    }
}

/// Position of an element in the order of values: -0 before +0, the NaN of F8E4M3 beyond the largest number.
fn order(format: FloatFormat, bits: u32) -> i64 {
    let magnitude = i64::from(format.magnitude(bits));
    if bits & format.sign() == 0 { magnitude } else { -1 - magnitude }
}

/// `a + b` rounded to odd: of the two binary64 around an inexact sum, the one whose last bit is 1.
///
/// Rounding such a sum again, to a narrower dtype, gives what rounding the exact sum would.
fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let b_part = sum - a;
    let rest = (a - (sum - b_part)) + (b - b_part);
    match rest {
        _ if !sum.is_finite() || sum.to_bits() & 1 == 1 => sum,
        rest if rest > 0.0 => sum.next_up(),
        rest if rest < 0.0 => sum.next_down(),
        _ => sum,
    }
}

/// The least share of the bound that explains an element: the smallest `t >= 0` such that `interval(reference, t bound)`
/// admits it, ends of ties aside. 0 where the element is the cast of the reference, at most 1 where it passes, infinite
/// where no bound would do.
pub fn share(dtype: DType, bits: u32, reference: f64, bound: f64) -> f64 {
    let Some(format) = FloatFormat::of(dtype) else { return f64::INFINITY };
    let admitted = interval(dtype, reference, bound);
    let distance = match admitted {
        Interval::Any => return 0.0,
        Interval::Nan { .. } | Interval::Nothing => f64::INFINITY,
        Interval::Between { .. } if interval(dtype, reference, 0.0).admits(bits) => return 0.0,
        Interval::Between { .. } => distance(format, bits, reference),
    };
    match admitted.admits(bits) {
        true if bound > 0.0 && distance.is_finite() => distance / bound,
        true => 0.0,
        false => distance / bound,
    }
}

/// How far `value` is from the nearest real whose cast has these bits.
fn distance(format: FloatFormat, bits: u32, value: f64) -> f64 {
    let middle = |m: u32| (format.finite(m) + format.finite(m + 1)) / 2.0;
    if format.is_nan(bits) {
        return if format.has_infinity() {
            f64::INFINITY
        } else {
            (middle(format.largest) - value.abs()).max(0.0)
        };
    }
    let magnitude = format.magnitude(bits);
    let value = if bits & format.sign() == 0 { value } else { -value };
    let low = magnitude.checked_sub(1).map_or(0.0, middle);
    let high = if magnitude > format.largest { f64::INFINITY } else { middle(magnitude) };
    (low - value).max(value - high).max(0.0)
}

/// How much of its bounds a tensor that passed has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tightness {
    /// The largest [`share`] of all elements, 0 to 1.
    pub share: f64,
    /// The element that has it.
    pub index: usize,
    /// Elements that were judged.
    pub judged: usize,
    /// Elements whose bound is infinite, so that anything passed.
    pub unspecified: usize,
}

/// Why a tensor does not pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// Elements differ from what is admitted.
    Elements(Wrong),
    /// The tensor, the reference and the bound are not of one length.
    Lengths {
        /// Elements of the tensor.
        tensor: usize,
        /// Elements of the reference.
        reference: usize,
        /// Elements of the bound.
        bound: usize,
    },
}

/// The first wrong element of a tensor, and how many there are.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    /// Position in row-major order.
    pub index: usize,
    /// The same as coordinates, outermost first.
    pub at: Vec<u64>,
    /// The bits of the element.
    pub bits: u32,
    /// The value of the element.
    pub got: f64,
    /// What was admitted.
    pub admitted: Admitted,
    /// How many elements are wrong.
    pub wrong: usize,
    /// How many elements there are.
    pub of: usize,
    /// The largest [`share`] of the wrong elements; infinite for integers.
    pub worst: f64,
}

/// What was admitted in place of a wrong element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Admitted {
    /// One integer.
    Int(i64),
    /// An interval around a reference.
    Real {
        /// The unrounded reference.
        reference: f64,
        /// How far a result may be off before the cast.
        bound: f64,
        /// What follows from both.
        interval: Interval,
    },
}

/// Judges a tensor of a float dtype. `reference` and `bound` have a value for each element, in row-major order.
pub fn compare(tensor: &Tensor, reference: &[f64], bound: &[f64]) -> Result<Tightness, Mismatch> {
    let dtype = tensor.dtype;
    let elements = tensor.elements();
    if elements.len() != reference.len() || elements.len() != bound.len() {
        let lengths = (elements.len(), reference.len(), bound.len());
        return Err(Mismatch::Lengths { tensor: lengths.0, reference: lengths.1, bound: lengths.2 });
    }
    let mut tightness = Tightness { judged: elements.len(), ..Tightness::default() };
    let mut wrong: Option<Wrong> = None;
    for (index, ((&bits, &reference), &bound)) in elements.iter().zip(reference).zip(bound).enumerate() {
        // What is not specified, or not in a sample, is looked at no further.
        if bound == f64::INFINITY && dtype.is_float() {
            tightness.unspecified += 1;
            continue;
        }
        // Most elements are the cast of the reference, and need no closer look.
        if (0.0..f64::INFINITY).contains(&bound) && dtype.is_float() && bits == encode(dtype, reference) {
            continue;
        }
        let interval = interval(dtype, reference, bound);
        let share = share(dtype, bits, reference, bound);
        if !interval.admits(bits) {
            let wrong = wrong.get_or_insert_with(|| {
                let admitted = Admitted::Real { reference, bound, interval };
                Wrong::first(tensor, index, bits, elements.len(), admitted)
            });
            wrong.wrong += 1;
            wrong.worst = wrong.worst.max(share);
        } else if share > tightness.share {
            tightness.share = share;
            tightness.index = index;
        }
    }
    wrong.map_or(Ok(tightness), |wrong| Err(Mismatch::Elements(wrong)))
}

/// Judges a tensor of an integer dtype or BOOL: every element is what `required` says.
pub fn compare_ints(tensor: &Tensor, required: &[i64]) -> Result<(), Mismatch> {
    let (elements, ints) = (tensor.elements(), tensor.ints());
    if ints.len() != required.len() {
        return Err(Mismatch::Lengths {
            tensor: ints.len(),
            reference: required.len(),
            bound: required.len(),
        });
    }
    let mut wrong: Option<Wrong> = None;
    let pairs = elements.iter().zip(ints.iter().zip(required)).enumerate();
    for (index, (&bits, (_, &required))) in pairs.filter(|(_, (_, (got, required)))| got != required) {
        let wrong = wrong.get_or_insert_with(|| {
            Wrong::first(tensor, index, bits, elements.len(), Admitted::Int(required))
        });
        wrong.wrong += 1;
        wrong.worst = f64::INFINITY;
    }
    wrong.map_or(Ok(()), |wrong| Err(Mismatch::Elements(wrong)))
}

impl Wrong {
    fn first(tensor: &Tensor, index: usize, bits: u32, of: usize, admitted: Admitted) -> Wrong {
        let (at, got) = (coordinates(&tensor.shape, index), decode(tensor.dtype, bits));
        Wrong { index, at, bits, got, admitted, wrong: 0, of, worst: 0.0 }
    }
}

/// Coordinates of the element at a position in row-major order.
fn coordinates(shape: &[u64], index: usize) -> Vec<u64> {
    let mut rest = index as u64;
    let mut at: Vec<u64> = Vec::with_capacity(shape.len());
    for &extent in shape.iter().rev() {
        at.push(rest.checked_rem(extent).unwrap_or(0));
        rest = rest.checked_div(extent).unwrap_or(0);
    }
    at.reverse();
    at
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Elements(wrong) => wrong.fmt(f),
            Mismatch::Lengths { tensor, reference, bound } => write!(
                f,
                "the tensor has {tensor} elements, its reference {reference} and its bound {bound}: they must be equally many"
            ),
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wrong { at, bits, got, .. } = self;
        match &self.admitted {
            Admitted::Int(required) => write!(f, "element {at:?} is {got}, required is {required}")?,
            Admitted::Real { reference, bound, interval } => {
                write!(f, "element {at:?} is {got:?} (bits {bits:#x}), admitted is {interval} ")?;
                write!(f, "(reference {reference:?}, bound {bound:?})")?;
            }
        }
        write!(f, "; {} of {} elements are wrong", self.wrong, self.of)
    }
}

impl std::error::Error for Mismatch {}
