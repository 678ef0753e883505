//! Numbers of binary64 with bounds of their errors (clause MCI-21).

use std::f64::consts::SQRT_2;

use megakernel_mcir::Dtype;
use megakernel_numerics::{DType, decode, encode};

use super::evaluate::{Free, Numbers};

/// What rounding to binary64, and a function of the library, err by, with room to spare.
const UNIT: f64 = 1e-15;
const LARGEST: f64 = f32::MAX as f64;

/// A number and how far it may be off: -∞, or finite, or not specified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    pub v: f64,
    pub e: f64,
}

/// What is not specified.
const OPEN: Bounded = Bounded { v: f64::NAN, e: f64::INFINITY };
const LEAST: Bounded = Bounded { v: f64::NEG_INFINITY, e: 0.0 };

impl Bounded {
    pub fn exact(v: f64) -> Bounded {
        Bounded { v, e: 0.0 }
    }

    /// Whether it is not specified.
    pub fn is_open(self) -> bool {
        self.v.is_nan()
    }

    fn is_least(self) -> bool {
        self == LEAST
    }

    /// A result with what went into its error, and its own rounding.
    fn of(v: f64, e: f64) -> Bounded {
        let e = e + UNIT * v.abs() + f64::MIN_POSITIVE;
        if v.abs() + e <= LARGEST { Bounded { v, e } } else { OPEN }
    }
}

/// Numbers with bounds.
#[derive(Clone, Copy, Debug)]
pub struct Bounds;

/// The least and the largest value of a function within a bound, where it lies between those at the ends and `more`.
fn between(a: Bounded, more: Option<f64>, of: impl Fn(f64) -> f64) -> Bounded {
    let (v, mut e) = (of(a.v), 0.0_f64);
    for end in [Some(of(a.v - a.e)), Some(of(a.v + a.e)), more].into_iter().flatten() {
        e = e.max((end - v).abs());
    }
    // The functions here are as exact as their results, or as their arguments where these cancel.
    Bounded::of(v, e + 4.0 * UNIT * (v.abs() + a.v.abs()))
}

impl Numbers for Bounds {
    type Number = Bounded;

    fn fraction(&self, [p, q]: [i64; 2]) -> Bounded {
        Bounded::of(p as f64 / q as f64, 0.0)
    }

    fn least(&self) -> Bounded {
        LEAST
    }

    fn is_least(&self, a: Bounded) -> bool {
        a.is_least()
    }

    fn scale(&self, a: Bounded, by: [i64; 2]) -> Bounded {
        if a.is_least() && by[0] > 0 { LEAST } else { self.mul(a, self.fraction(by)) }
    }

    fn neg(&self, a: Bounded) -> Bounded {
        if a.is_least() { OPEN } else { Bounded { v: -a.v, e: a.e } }
    }

    fn add(&self, a: Bounded, b: Bounded) -> Bounded {
        match (a, b) {
            (a, b) if a.is_open() || b.is_open() => OPEN,
            (a, b) if a.is_least() || b.is_least() => LEAST,
            (a, b) => Bounded::of(a.v + b.v, a.e + b.e),
        }
    }

    fn sub(&self, a: Bounded, b: Bounded) -> Bounded {
        if b.is_least() { OPEN } else { self.add(a, Bounded { v: -b.v, e: b.e }) }
    }

    fn mul(&self, a: Bounded, b: Bounded) -> Bounded {
        if [a, b].iter().any(|x| x.is_open() || x.is_least()) {
            return OPEN;
        }
        Bounded::of(a.v * b.v, a.v.abs() * b.e + b.v.abs() * a.e + a.e * b.e)
    }

    fn div(&self, a: Bounded, b: Bounded) -> Bounded {
        if [a, b].iter().any(|x| x.is_open() || x.is_least()) || b.v.abs() <= b.e {
            return OPEN;
        }
        let e = (a.v.abs() * b.e + b.v.abs() * a.e) / (b.v.abs() * (b.v.abs() - b.e));
        Bounded::of(a.v / b.v, e)
    }

    fn max(&self, a: Bounded, b: Bounded) -> Bounded {
        match (a, b) {
            (a, b) if a.is_open() || b.is_open() => OPEN,
            (a, other) | (other, a) if a.is_least() => other,
            (a, b) => {
                let v = a.v.max(b.v);
                let (low, high) = ((a.v - a.e).max(b.v - b.e), (a.v + a.e).max(b.v + b.e));
                Bounded { v, e: (v - low).max(high - v) }
            }
        }
    }

    fn exp(&self, a: Bounded) -> Bounded {
        if a.is_least() {
            return Bounded::exact(0.0);
        }
        if a.is_open() { OPEN } else { between(a, None, libm::exp) }
    }

    fn free(&self, function: Free, a: Bounded) -> Bounded {
        if a.is_open() || a.is_least() {
            return OPEN;
        }
        match function {
            Free::Rsqrt if a.v <= a.e => OPEN,
            Free::Rsqrt => between(a, None, |x| 1.0 / x.sqrt()),
            // Each has one least value, near which both ends may be above it; the slope is below 1.2 in magnitude everywhere.
            Free::Silu => {
                between(a, Some(a.v / (1.0 + libm::exp(-a.v)) - 1.2 * a.e), |x| x / (1.0 + libm::exp(-x)))
            }
            Free::Gelu => {
                let of = |x: f64| x / 2.0 * libm::erfc(-x / SQRT_2);
                between(a, Some(of(a.v) - 1.2 * a.e), of)
            }
        }
    }

    fn cast(&self, dtype: Dtype, a: Bounded) -> Bounded {
        let dtype = match dtype {
            Dtype::F32 => return a,
            Dtype::F16 => DType::F16,
            Dtype::BF16 => DType::BF16,
        };
        if a.is_open() || a.is_least() {
            return a;
        }
        let cast = |v: f64| decode(dtype, encode(dtype, v));
        let [v, low, high] = [a.v, a.v - a.e, a.v + a.e].map(cast);
        if low.is_finite() && high.is_finite() { Bounded { v, e: (v - low).max(high - v) } } else { OPEN }
    }
}

/// Whether two results may be the same number. What the first one leaves open, the second one may hold as it likes.
pub fn agree(first: Bounded, second: Bounded) -> bool {
    let is_near = || (first.v - second.v).abs() <= first.e + second.e;
    first.is_open() || first == second || (!second.is_open() && is_near())
}

/// How the inputs look.
#[derive(Clone, Copy, Debug)]
pub enum Look {
    Random,
    Rising,
    Falling,
    /// A row is much larger than the others.
    Dominant(usize),
    Zero,
    /// Products of two rows are near this.
    Products(f64),
}

impl Look {
    /// All of them, for values of so many rows.
    pub fn all(rows: usize) -> Vec<Look> {
        let mut all = vec![Look::Random, Look::Rising, Look::Falling, Look::Zero];
        all.extend([Look::Products(88.0), Look::Products(10_000.0)]);
        all.extend((0..rows).map(Look::Dominant));
        all
    }

    /// An element, from a number between -1 and 1.
    pub fn element(self, shape: &[usize], at: usize, drawn: f64) -> f64 {
        let wide = shape.last().copied().unwrap_or(1).max(1);
        let rows = shape.iter().rev().nth(1).copied().unwrap_or(1).max(1);
        let row = at / wide % rows;
        match self {
            Look::Random => 4.0 * drawn,
            Look::Rising => (1 + row) as f64 * (1.0 + drawn / 16.0),
            Look::Falling => (rows - row) as f64 * (1.0 + drawn / 16.0),
            // All of one sign, so that the largest score of each query is that of the row.
            Look::Dominant(one) => {
                if row == one % rows {
                    20.0 + drawn
                } else {
                    1.0 + drawn / 4.0
                }
            }
            Look::Zero => 0.0,
            Look::Products(target) => (target / wide as f64).sqrt() * (1.0 + drawn / 64.0),
        }
    }
}

/// The number that a value of a dtype holds.
pub fn held(dtype: Dtype, number: f64) -> Bounded {
    match dtype {
        Dtype::F32 => Bounded::exact(f64::from(number as f32)),
        _ => Bounds.cast(dtype, Bounded::exact(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_every_number_is_open_and_what_is_near_is_the_same() {
        let of = Bounded::exact;
        assert!(Bounds.exp(of(89.0)).is_open() && !Bounds.exp(of(88.0)).is_open());
        assert!(Bounds.div(of(1.0), of(0.0)).is_open() && Bounds.free(Free::Rsqrt, of(0.0)).is_open());
        assert_eq!(Bounds.exp(LEAST), of(0.0));
        let third = Bounds.div(of(1.0), of(3.0));
        assert!(agree(Bounds.mul(third, of(3.0)), of(1.0)) && !agree(of(1.0), of(1.000_001)));
        assert!(
            agree(OPEN, of(1.0)) && !agree(of(1.0), OPEN) && agree(LEAST, LEAST) && !agree(LEAST, of(0.0))
        );
        // The least value of both functions lies within the bound.
        for function in [Free::Silu, Free::Gelu] {
            let wide = Bounds.free(function, Bounded { v: -1.0, e: 0.5 });
            for x in [-1.5, -1.28, -0.75, -0.5] {
                let one = Bounds.free(function, of(x));
                assert!((one.v - wide.v).abs() <= wide.e, "{x}: {one:?}, {wide:?}");
            }
        }
    }

    #[test]
    fn a_cast_errs_by_what_it_may_have_been_given() {
        let near = |e| Bounds.cast(Dtype::F16, Bounded { v: 1.0, e });
        assert_eq!((near(0.0).e, near(1e-5).e), (0.0, 0.0));
        assert!(near(0.01).e >= 0.009 && Bounds.cast(Dtype::F16, Bounded::exact(65_520.0)).is_open());
    }
}
