//! Numbers with error bounds: the calculus of clauses NUM-05 to NUM-09.
//!
//! Every operation computes its result in binary64, and how far an implementation that works in binary32 or
//! better may lie from it.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A real number `v`, and a bound `e >= 0` on how far what an implementation holds may lie from it.
///
/// Where `v` is infinite or NaN, `e` is 0: the implementation holds just that. Where `e` is infinite, the
/// result is not specified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    /// The reference.
    pub v: f64,
    /// The bound.
    pub e: f64,
}

/// Half a unit in the last place of binary32, relative (NUM-05).
pub const UNIT: f64 = 1.0 / 16_777_216.0;

/// What a truncating accumulator takes instead of [`UNIT`] (NUM-06).
pub const TRUNCATING_UNIT: f64 = 4.0 * UNIT;

/// Half the smallest subnormal number of binary32, 2^-150: what rounding errs at most where it is not relative.
pub const TINY: f64 = 7.006_492_321_624_085e-46;

/// The smallest normal number of binary32, 2^-126: smaller results of functions may be flushed to zero.
pub const SMALLEST_NORMAL: f64 = 1.175_494_350_822_287_5e-38;

/// The largest finite number of binary32.
pub const LARGEST: f64 = f32::MAX as f64;

/// Covers the rounding of this computation itself, which is in binary64: far more than 2^-53 for each 2^-24.
const SLACK: f64 = 1.0 + 1.0 / 1_048_576.0;

/// What a division may be off by, in units of [`UNIT`] (NUM-07).
pub const DIVISION: f64 = 4.0;

/// Budgets of NUM-07 in units of [`UNIT`], relative to the result; for erf, sin and cos absolute.
mod budget {
    pub const DIVISION: f64 = super::DIVISION;
    pub const INVERSE_ROOT: f64 = 6.0;
    pub const EXP: (f64, f64) = (4.0, 3.0);
    pub const POW: (f64, f64) = (8.0, 4.0);
    pub const ERF: f64 = 8.0;
    pub const SINE: f64 = 4.0;
}

/// Whether binary32 has this number.
pub fn fits_binary32(v: f64) -> bool {
    f64::from(v as f32) == v
}

/// The rounding error of a result of this magnitude that is off by so many units at most.
pub fn rounding(magnitude: f64, units: f64) -> f64 {
    (magnitude * units * UNIT * SLACK).max(TINY)
}

/// How far `n` roundings in a row can take a sum or product, relatively: `n u / (1 - n u)`; infinite where that
/// bounds nothing.
pub fn gamma(n: f64, unit: f64) -> f64 {
    let product = n * unit * SLACK;
    if product < 1.0 { product / (1.0 - product) } else { f64::INFINITY }
}

/// The largest power of two of which a finite number other than 0 is a multiple.
pub fn lowest_bit(v: f64) -> f64 {
    let bits = v.abs().to_bits();
    let cleared = bits & bits.wrapping_sub(1);
    // Without the lowest bit of its significand nothing is left of a power of two but its exponent.
    if bits & ((1 << 52) - 1) == 0 { v.abs() } else { v.abs() - f64::from_bits(cleared) }
}

impl Bounded {
    /// Any result passes.
    pub const UNSPECIFIED: Bounded = Bounded { v: 0.0, e: f64::INFINITY };

    /// Zero.
    pub const ZERO: Bounded = Bounded::exact(0.0);

    /// One.
    pub const ONE: Bounded = Bounded::exact(1.0);

    /// A number that every implementation holds as it is.
    pub const fn exact(v: f64) -> Bounded {
        Bounded { v, e: 0.0 }
    }

    /// The result with this bound; not specified where binary32 might overflow, or where there is no bound.
    pub fn checked(v: f64, e: f64) -> Bounded {
        // Written so that NaN fails.
        if v.abs() + e <= LARGEST { Bounded { v, e } } else { Bounded::UNSPECIFIED }
    }

    /// Without error.
    pub fn is_exact(self) -> bool {
        self.e == 0.0
    }

    /// Whether the result is specified.
    pub fn is_specified(self) -> bool {
        self.e.is_finite()
    }

    /// Whether it is NaN and nothing else.
    pub fn is_nan(self) -> bool {
        self.v.is_nan() && self.is_specified()
    }

    /// Whether it is exactly zero.
    pub fn is_zero(self) -> bool {
        self.v == 0.0 && self.is_exact()
    }

    /// Whether every number that it stands for has the sign of `v`, and none is zero.
    pub fn has_sign(self) -> bool {
        self.v.abs() > self.e
    }

    /// The largest absolute value that it stands for.
    pub fn magnitude(self) -> f64 {
        self.v.abs() + self.e
    }

    /// Adds an error.
    pub fn widened(self, e: f64) -> Bounded {
        if self.v.is_finite() { Bounded::checked(self.v, self.e + e) } else { self }
    }

    /// The result of an operation on operands of which one is no number: NaN if some operand is NaN, not
    /// specified if some operand is not, and nothing if all are numbers.
    fn special(operands: &[Bounded]) -> Option<Bounded> {
        if operands.iter().any(|operand| operand.is_nan()) {
            return Some(Bounded::exact(f64::NAN));
        }
        let specified = operands.iter().all(|operand| operand.is_specified());
        (!specified).then_some(Bounded::UNSPECIFIED)
    }

    /// The result of one rounding: `v` in binary64, whether that is the exact result, and the propagated error.
    fn rounded(v: f64, is_exact: bool, propagated: f64) -> Bounded {
        if propagated == 0.0 && is_exact && fits_binary32(v) {
            return Bounded::exact(v);
        }
        Bounded::checked(v, propagated + rounding(v.abs() + propagated, 1.0))
    }

    /// What is left after flushing results below the smallest normal number of binary32.
    pub(super) fn flushed(self) -> Bounded {
        if self.is_zero() || self.v.abs() - self.e >= SMALLEST_NORMAL || !self.v.is_finite() {
            return self;
        }
        Bounded { v: self.v, e: self.e.max(self.v.abs()) }
    }

    /// The product before it is rounded: the propagated error alone.
    pub fn product(self, other: Bounded) -> Bounded {
        if let Some(result) = Bounded::special(&[self, other]) {
            return result;
        }
        let (x, y) = (self, other);
        let v = x.v * y.v;
        if x.v.is_infinite() || y.v.is_infinite() {
            let finite = if x.v.is_infinite() { y } else { x };
            let is_known = finite.has_sign() || finite.is_zero();
            return if is_known { Bounded::exact(v) } else { Bounded::UNSPECIFIED };
        }
        Bounded::checked(v, x.v.abs() * y.e + y.v.abs() * x.e + x.e * y.e)
    }

    /// The product of three factors, multiplied in any order.
    pub fn product_of(x: Bounded, y: Bounded, z: Bounded) -> Bounded {
        let product = x.product(y).product(z);
        if !product.v.is_finite() || !product.is_specified() || product.is_zero() {
            return product;
        }
        let parts = [x * y, y * z, x * z];
        let largest = parts.iter().chain([&x, &y, &z]).map(|part| part.magnitude()).fold(1.0, f64::max);
        // A part that overflows has no magnitude, and leaves the product without a bound. One that underflows
        // is off by so much, times the third factor.
        Bounded::checked(product.v, product.e + rounding(product.magnitude(), 2.0) + 2.0 * TINY * largest)
    }

    /// `1 / sqrt(x)`, by NUM-07.
    pub fn inverse_root(self) -> Bounded {
        if let Some(result) = Bounded::special(&[self]) {
            return result;
        }
        let v = 1.0 / self.v.sqrt();
        if self.is_zero() {
            return Bounded::exact(f64::INFINITY);
        }
        if !self.has_sign() {
            return Bounded::UNSPECIFIED;
        }
        if !v.is_finite() || v == 0.0 {
            return Bounded::exact(v);
        }
        // The slope is steepest at the lower end.
        let propagated = if self.e == 0.0 { 0.0 } else { 1.0 / (self.v - self.e).sqrt() - v };
        Bounded::checked(v, propagated + rounding(v + propagated, budget::INVERSE_ROOT))
    }

    /// Exponential, by NUM-07.
    pub fn exp(self) -> Bounded {
        if let Some(result) = Bounded::special(&[self]) {
            return result;
        }
        if self.is_zero() {
            return Bounded::ONE;
        }
        let v = libm::exp(self.v);
        if self.v.is_infinite() {
            return Bounded::exact(v);
        }
        // A far negative argument has a large error and a result of zero all the same.
        let growth = libm::expm1(self.e);
        let propagated = if growth.is_finite() { v * growth } else { libm::exp(self.v + self.e) };
        let (constant, slope) = budget::EXP;
        let rounding = rounding(v + propagated, constant + slope * self.magnitude());
        Bounded::checked(v, propagated + rounding).flushed()
    }

    /// Error function, by NUM-07.
    pub fn erf(self) -> Bounded {
        if let Some(result) = Bounded::special(&[self]) {
            return result;
        }
        let v = libm::erf(self.v);
        if self.v.is_infinite() {
            return Bounded::exact(v);
        }
        // The slope is steepest at the end nearest to zero.
        let nearest = (self.v.abs() - self.e).max(0.0);
        let slope = std::f64::consts::FRAC_2_SQRT_PI * libm::exp(-nearest * nearest);
        let propagated = (self.e * slope).min(2.0);
        Bounded::checked(v, propagated + rounding(1.0, budget::ERF))
    }

    /// Cosine and sine of an angle, by NUM-07.
    pub fn cos_sin(self) -> [Bounded; 2] {
        if let Some(result) = Bounded::special(&[self]) {
            return [result; 2];
        }
        if self.is_zero() {
            return [Bounded::ONE, Bounded::ZERO];
        }
        if self.v.is_infinite() {
            return [Bounded::exact(f64::NAN); 2];
        }
        // Both stay within -1 and 1, whatever the angle.
        let e = self.e.min(2.0) + rounding(1.0, budget::SINE);
        [Bounded { v: libm::cos(self.v), e }, Bounded { v: libm::sin(self.v), e }]
    }

    /// `base ^ exponent` for a positive base, by NUM-07.
    pub fn pow(base: f64, exponent: f64) -> Bounded {
        if exponent == 0.0 {
            return Bounded::ONE;
        }
        let v = libm::pow(base, exponent);
        let (constant, slope) = budget::POW;
        let units = constant + slope * (exponent * libm::log(base)).abs();
        Bounded::checked(v, rounding(v.abs(), units)).flushed()
    }

    /// The largest of some numbers: `-inf` if there are none. NaN where one is NaN.
    pub fn max(terms: &[Bounded]) -> Bounded {
        if let Some(result) = Bounded::special(terms) {
            return result;
        }
        let mut v = f64::NEG_INFINITY;
        let (mut low, mut high) = (v, v);
        for term in terms {
            v = v.max(term.v);
            low = low.max(term.v - term.e);
            high = high.max(term.v + term.e);
        }
        if v.is_infinite() { Bounded::exact(v) } else { Bounded { v, e: (v - low).max(high - v) } }
    }
}

impl Neg for Bounded {
    type Output = Bounded;

    fn neg(self) -> Bounded {
        Bounded { v: -self.v, e: self.e }
    }
}

impl Add for Bounded {
    type Output = Bounded;

    /// Sum, rounded once.
    fn add(self, other: Bounded) -> Bounded {
        if let Some(result) = Bounded::special(&[self, other]) {
            return result;
        }
        let v = self.v + other.v;
        if !v.is_finite() {
            return Bounded::exact(v);
        }
        // Knuth's two-sum: the part of the sum that binary64 could not hold.
        let virtual_other = v - self.v;
        let residue = (self.v - (v - virtual_other)) + (other.v - virtual_other);
        Bounded::rounded(v, residue == 0.0, self.e + other.e)
    }
}

impl Sub for Bounded {
    type Output = Bounded;

    /// Difference, rounded once.
    fn sub(self, other: Bounded) -> Bounded {
        self + -other
    }
}

impl Mul for Bounded {
    type Output = Bounded;

    /// Product, rounded once.
    fn mul(self, other: Bounded) -> Bounded {
        let product = self.product(other);
        if !product.v.is_finite() || !product.is_specified() {
            return product;
        }
        let is_exact = fits_binary32(product.v) && self.v.mul_add(other.v, -product.v) == 0.0;
        Bounded::rounded(product.v, is_exact, product.e)
    }
}

impl Div for Bounded {
    type Output = Bounded;

    /// Quotient, by NUM-07.
    fn div(self, other: Bounded) -> Bounded {
        if let Some(result) = Bounded::special(&[self, other]) {
            return result;
        }
        let (x, y) = (self, other);
        let v = x.v / y.v;
        if x.v.is_infinite() || y.v.is_infinite() {
            let is_known = y.v.is_infinite() || y.has_sign();
            return if is_known { Bounded::exact(v) } else { Bounded::UNSPECIFIED };
        }
        if !y.has_sign() {
            // The sign of a zero is not known, so that of the infinity is not either.
            return if x.is_zero() && y.is_zero() { Bounded::exact(f64::NAN) } else { Bounded::UNSPECIFIED };
        }
        let divisor = y.v.abs();
        let propagated = (x.e * divisor + x.v.abs() * y.e) / (divisor * (divisor - y.e));
        if x.is_zero() {
            return Bounded::ZERO;
        }
        let is_power_of_two = lowest_bit(divisor) == divisor;
        if propagated == 0.0 && is_power_of_two && fits_binary32(v) && v.abs() >= SMALLEST_NORMAL {
            return Bounded::exact(v);
        }
        let rounding = rounding(v.abs() + propagated, budget::DIVISION);
        Bounded::checked(v, propagated + rounding).flushed()
    }
}

#[cfg(test)]
mod tests;
