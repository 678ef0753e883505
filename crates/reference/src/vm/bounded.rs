//! Numbers with error bounds: the calculus of clauses NUM-05 to NUM-09.
//!
//! Every operation computes its result in binary64, and how far an implementation that works in binary32 or
//! better may lie from it.

use std::ops::Neg;

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

/// Budgets of NUM-07 in units of [`UNIT`], relative to the result; for erf, sin and cos absolute.
mod budget {
    pub const DIVISION: f64 = 4.0;
    pub const INVERSE_ROOT: f64 = 6.0;
    pub const EXP: (f64, f64) = (4.0, 3.0);
    pub const POW: (f64, f64) = (8.0, 4.0);
    pub const ERF: f64 = 4.0;
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

/// Whether all sums of these terms, in any order and any part, are exact (NUM-09): `grid` is a power of two of
/// which all terms are multiples, `magnitude` the sum of their absolute values.
pub fn is_exact_sum(magnitude: f64, grid: f64) -> bool {
    grid >= 2.0 * TINY && magnitude <= grid / UNIT && magnitude <= LARGEST
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

    /// Whether it is specified and a number, or an infinity.
    fn is_nan(self) -> bool {
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
    fn flushed(self) -> Bounded {
        if self.is_zero() || self.v.abs() - self.e >= SMALLEST_NORMAL || !self.v.is_finite() {
            return self;
        }
        Bounded { v: self.v, e: self.e.max(self.v.abs()) }
    }

    /// Sum, rounded once.
    pub fn add(self, other: Bounded) -> Bounded {
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

    /// Difference, rounded once.
    pub fn sub(self, other: Bounded) -> Bounded {
        self.add(-other)
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

    /// Product, rounded once.
    pub fn mul(self, other: Bounded) -> Bounded {
        let product = self.product(other);
        if !product.v.is_finite() || !product.is_specified() {
            return product;
        }
        let is_exact = fits_binary32(product.v) && self.v.mul_add(other.v, -product.v) == 0.0;
        Bounded::rounded(product.v, is_exact, product.e)
    }

    /// Quotient, by NUM-07.
    pub fn div(self, other: Bounded) -> Bounded {
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
        let propagated = propagated + v * f64::EPSILON;
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
        let propagated = if self.e == 0.0 { 0.0 } else { v * libm::expm1(self.e) };
        let (constant, slope) = budget::EXP;
        let rounding = rounding(v + propagated, constant + slope * self.magnitude());
        Bounded::checked(v, propagated + rounding).flushed()
    }

    /// Error function, by NUM-07.
    pub fn erf(self) -> Bounded {
        if let Some(result) = Bounded::special(&[self]) {
            return result;
        }
        let v = super::erf::erf(self.v);
        if self.v.is_infinite() {
            return Bounded::exact(v);
        }
        // The slope is 2 / sqrt(pi) at most.
        let propagated = (self.e * std::f64::consts::FRAC_2_SQRT_PI).min(2.0);
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

    /// Sum in any order, each partial sum rounded to this unit (NUM-08, NUM-09).
    pub fn sum(terms: &[Bounded], unit: f64) -> Bounded {
        let mut sum = Sum::new();
        for &term in terms {
            sum.term(term);
        }
        sum.finish(unit, 0.0)
    }
}

impl Neg for Bounded {
    type Output = Bounded;

    fn neg(self) -> Bounded {
        Bounded { v: -self.v, e: self.e }
    }
}

/// A sum in the making, its terms known one by one.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    /// Sum of the terms.
    v: f64,
    /// Sum of their errors.
    e: f64,
    /// Sum of their magnitudes.
    magnitude: f64,
    /// Number of terms that are not exactly zero.
    count: u64,
    /// Power of two of which all terms are multiples.
    grid: f64,
    special: Special,
}

/// What the terms that are no numbers make of a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Special {
    None,
    Infinite(f64),
    Unspecified,
    NaN,
}

impl Default for Sum {
    fn default() -> Sum {
        Sum::new()
    }
}

impl Sum {
    /// The empty sum.
    pub fn new() -> Sum {
        Sum { v: 0.0, e: 0.0, magnitude: 0.0, count: 0, grid: f64::INFINITY, special: Special::None }
    }

    /// Adds a term.
    pub fn term(&mut self, term: Bounded) {
        if !term.v.is_finite() || !term.is_specified() {
            self.special = match (self.special, term) {
                (Special::NaN, _) => Special::NaN,
                (_, term) if term.is_nan() => Special::NaN,
                (Special::Unspecified, _) => Special::Unspecified,
                (_, term) if !term.is_specified() => Special::Unspecified,
                (Special::Infinite(v), term) if v != term.v => Special::NaN,
                (_, term) => Special::Infinite(term.v),
            };
            return;
        }
        if term.is_zero() {
            return;
        }
        self.v += term.v;
        self.e += term.e;
        self.magnitude += term.v.abs();
        self.count += 1;
        if term.v != 0.0 {
            self.grid = self.grid.min(lowest_bit(term.v));
        }
    }

    /// Adds exact terms at once: their sum, the sum of their absolute values, how many are not zero, and a
    /// power of two of which all are multiples (0 where that is of no use).
    pub fn exact_terms(&mut self, v: f64, magnitude: f64, count: u64, grid: f64) {
        self.v += v;
        self.magnitude += magnitude;
        self.count += count;
        self.grid = self.grid.min(grid);
    }

    /// The sum, where each addition is rounded to `unit`, and each term has been rounded `roundings` times
    /// before.
    pub fn finish(self, unit: f64, roundings: f64) -> Bounded {
        let Sum { v, e, magnitude, count, grid, special } = self;
        // Finite terms that might overflow could turn an infinity into NaN.
        let overflows = magnitude + e > LARGEST;
        match special {
            Special::NaN => return Bounded::exact(f64::NAN),
            Special::Unspecified => return Bounded::UNSPECIFIED,
            Special::Infinite(_) if overflows => return Bounded::UNSPECIFIED,
            Special::Infinite(v) => return Bounded::exact(v),
            Special::None => {}
        }
        if count == 0 {
            return Bounded::ZERO;
        }
        if e == 0.0 && is_exact_sum(magnitude, grid) {
            return Bounded::exact(v);
        }
        let count = count as f64;
        let steps = count - 1.0 + roundings;
        let underflow = if roundings > 0.0 { count * roundings * TINY } else { 0.0 };
        let total = e + gamma(steps, unit) * (magnitude + e) + underflow;
        if overflows { Bounded::UNSPECIFIED } else { Bounded::checked(v, total.max(TINY)) }
    }
}
