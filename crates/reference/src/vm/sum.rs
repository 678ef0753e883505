//! Sums in any order: clauses NUM-06, NUM-08 and NUM-09.

use super::bounded::{Bounded, LARGEST, TINY, UNIT, gamma, lowest_bit};

/// A sum in the making. Terms that are exactly zero do not count: adding zero is exact.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    /// Sum of the terms.
    v: f64,
    /// Sum of their errors.
    e: f64,
    /// Sum of their magnitudes.
    magnitude: f64,
    /// Number of terms.
    count: u64,
    /// A power of two of which all terms are multiples.
    grid: f64,
    special: Special,
}

/// What the terms that are no finite numbers make of a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Special {
    None,
    Infinite(f64),
    Unspecified,
    NaN,
}

/// A power of two of which a term is a multiple. A term with an error needs none: its sum is not exact.
fn grid(term: Bounded) -> f64 {
    if term.v == 0.0 || !term.is_exact() { f64::INFINITY } else { lowest_bit(term.v) }
}

impl Default for Sum {
    fn default() -> Sum {
        Sum::new()
    }
}

impl Sum {
    /// The empty sum.
    pub const fn new() -> Sum {
        Sum { v: 0.0, e: 0.0, magnitude: 0.0, count: 0, grid: f64::INFINITY, special: Special::None }
    }

    /// The sum of these terms, each addition rounded to `unit`.
    pub fn of(terms: impl IntoIterator<Item = Bounded>, unit: f64) -> Bounded {
        let mut sum = Sum::new();
        terms.into_iter().for_each(|term| sum.push(term));
        sum.finish(unit, 0.0)
    }

    /// Adds a term.
    pub fn push(&mut self, term: Bounded) {
        self.push_as(term, term.v.abs(), grid(term));
    }

    /// Adds a term that is known to be finite and specified.
    pub fn push_finite(&mut self, term: Bounded) {
        if !term.is_zero() {
            self.v += term.v;
            self.e += term.e;
            self.magnitude += term.v.abs();
            self.count += 1;
            self.grid = self.grid.min(grid(term));
        }
    }

    /// Adds a term that an implementation may hold in parts: `magnitude` is the sum of their absolute values,
    /// `grid` a power of two of which all are multiples.
    pub fn push_as(&mut self, term: Bounded, magnitude: f64, grid: f64) {
        if !term.v.is_finite() || !term.is_specified() {
            self.special = match (self.special, term) {
                (Special::NaN, _) => Special::NaN,
                (_, term) if term.is_nan() => Special::NaN,
                (Special::Unspecified, _) => Special::Unspecified,
                (_, term) if !term.is_specified() => Special::Unspecified,
                (Special::Infinite(v), term) if v != term.v => Special::NaN,
                (_, term) => Special::Infinite(term.v),
            };
        } else if magnitude != 0.0 || term.e != 0.0 {
            self.v += term.v;
            self.e += term.e;
            self.magnitude += magnitude;
            self.count += 1;
            self.grid = self.grid.min(grid);
        }
    }

    /// Adds `count` exact terms at once: their sum, that of their absolute values, and a power of two of which
    /// all are multiples, or 0 where they are known not to sum up exactly.
    pub fn push_exact(&mut self, v: f64, magnitude: f64, count: u64, grid: f64) {
        self.v += v;
        self.magnitude += magnitude;
        self.count += count;
        self.grid = self.grid.min(grid);
    }

    /// Every term multiplied by a finite number.
    pub fn scaled(mut self, factor: f64) -> Sum {
        if let Special::Infinite(v) = self.special {
            self.special = if factor == 0.0 { Special::NaN } else { Special::Infinite(v * factor.signum()) };
        }
        // Finite terms that overflow before the factor could turn an infinity into NaN.
        if self.special != Special::NaN && self.overflows() {
            self.special = Special::Unspecified;
        }
        if factor == 0.0 {
            return Sum { special: self.special, ..Sum::new() };
        }
        self.v *= factor;
        self.e *= factor.abs();
        self.magnitude *= factor.abs();
        self.grid *= lowest_bit(factor);
        self
    }

    /// Number of terms.
    pub fn count(&self) -> f64 {
        self.count as f64
    }

    /// The largest absolute value that a partial sum can have.
    pub fn magnitude(&self) -> f64 {
        self.magnitude + self.e
    }

    /// Whether some partial sum might overflow in binary32.
    fn overflows(&self) -> bool {
        self.magnitude.is_nan() || self.magnitude() > LARGEST
    }

    /// Whether all sums of these terms are exact, in any order and of any part (NUM-09).
    pub fn is_exact(&self) -> bool {
        self.special == Special::None
            && self.e == 0.0
            && (self.count == 0
                || (self.grid >= 2.0 * TINY && self.magnitude <= self.grid / UNIT && !self.overflows()))
    }

    /// The sum, where each addition is rounded to `unit` and each term has been rounded `roundings` times.
    pub fn finish(self, unit: f64, roundings: f64) -> Bounded {
        if self.is_exact() { Bounded::exact(self.v) } else { self.finish_rounded(unit, roundings) }
    }

    /// [`Sum::finish`] where the terms are such that sums of them are rounded even if these here are not.
    pub fn finish_rounded(self, unit: f64, roundings: f64) -> Bounded {
        match self.special {
            Special::NaN => return Bounded::exact(f64::NAN),
            // Finite terms that overflow could turn an infinity into NaN.
            _ if self.overflows() => return Bounded::UNSPECIFIED,
            Special::Unspecified => return Bounded::UNSPECIFIED,
            Special::Infinite(v) => return Bounded::exact(v),
            Special::None if self.count == 0 => return Bounded::ZERO,
            Special::None => {}
        }
        let count = self.count();
        let relative = gamma(count - 1.0 + roundings, unit);
        // Sums of binary32 numbers never underflow; products and quotients do.
        Bounded::checked(self.v, self.e + relative * self.magnitude() + count * roundings * TINY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::bounded::TRUNCATING_UNIT;

    fn exact(terms: &[f64]) -> Bounded {
        Sum::of(terms.iter().map(|&term| Bounded::exact(term)), UNIT)
    }

    #[test]
    fn multiples_of_a_power_of_two_within_24_bits_are_exact() {
        let limit = 2f64.powi(24);
        assert_eq!(exact(&[limit - 2.0, 1.0, -1.0]), Bounded::exact(limit - 2.0));
        assert!(exact(&[limit, 1.0, -1.0]).e > 0.0);
        assert_eq!(exact(&[0.5, 0.25, -0.75]), Bounded::exact(0.0));
        assert_eq!(
            exact(&[2f64.powi(-149), 2f64.powi(-130)]),
            Bounded::exact(2f64.powi(-149) + 2f64.powi(-130))
        );
        // Products may have bits below those of binary32.
        let mut sum = Sum::new();
        sum.push_exact(2f64.powi(-160), 2f64.powi(-160), 1, 2f64.powi(-160));
        assert!(!sum.is_exact());
        assert_eq!(sum.finish(UNIT, 1.0).e, gamma(1.0, UNIT) * 2f64.powi(-160) + TINY);
    }

    #[test]
    fn zeros_do_not_count() {
        assert_eq!(exact(&[0.0, 0.1, 0.0]), Bounded::exact(0.1));
        let two = exact(&[0.1f32.into(), 0.0, 0.3f32.into()]);
        assert_eq!(two.e, gamma(1.0, UNIT) * (f64::from(0.1f32) + f64::from(0.3f32)));
    }

    #[test]
    fn bounds_grow_with_magnitudes_and_the_unit() {
        let terms = [1e6, -1e6 + 0.1, 0.3].map(Bounded::exact);
        let [narrow, wide] = [UNIT, TRUNCATING_UNIT].map(|unit| Sum::of(terms, unit));
        assert!(narrow.e > 2.0 * 2e6 * UNIT && narrow.e < 2.001 * 2e6 * UNIT);
        assert!(wide.e > 3.99 * narrow.e);
    }

    #[test]
    fn errors_of_terms_add_up() {
        let sum = Sum::of([Bounded { v: 1.0, e: 0.5 }, Bounded { v: 0.0, e: 0.25 }], UNIT);
        assert!(sum.v == 1.0 && sum.e > 0.75 && sum.e < 0.750_001);
    }

    #[test]
    fn too_many_terms_have_no_bound() {
        let mut sum = Sum::new();
        sum.push_exact(0.1, 0.1, 1 << 24, 0.0);
        assert_eq!(sum.finish(UNIT, 1.0), Bounded::UNSPECIFIED);
        assert_eq!(gamma(2f64.powi(24), UNIT), f64::INFINITY);
    }

    #[test]
    fn infinities_and_nan() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        assert_eq!(exact(&[1.0, inf, inf]).v, inf);
        assert!(exact(&[1.0, inf, -inf]).v.is_nan());
        assert!(exact(&[nan, 1.0]).v.is_nan());
        assert_eq!(exact(&[LARGEST, LARGEST, inf]), Bounded::UNSPECIFIED);
        assert_eq!(exact(&[LARGEST, -LARGEST]), Bounded::UNSPECIFIED);
        assert!(Sum::of([Bounded::UNSPECIFIED, Bounded::exact(nan)], UNIT).v.is_nan());
        assert_eq!(Sum::of([Bounded::UNSPECIFIED, Bounded::exact(inf)], UNIT), Bounded::UNSPECIFIED);
    }

    #[test]
    fn scaling_moves_the_grid() {
        let mut sum = Sum::new();
        [5.0, -4.0].map(Bounded::exact).into_iter().for_each(|term| sum.push(term));
        assert_eq!(sum.scaled(0.75).finish(UNIT, 2.0), Bounded::exact(0.75));
        assert!(sum.scaled(0.1).finish(UNIT, 2.0).e > 0.0);
        assert_eq!(sum.scaled(0.0).finish(UNIT, 2.0), Bounded::ZERO);
        sum.push(Bounded::exact(f64::INFINITY));
        assert_eq!(sum.scaled(-2.0).finish(UNIT, 2.0).v, f64::NEG_INFINITY);
        assert!(sum.scaled(0.0).finish(UNIT, 2.0).v.is_nan());
        [LARGEST, LARGEST].map(Bounded::exact).into_iter().for_each(|term| sum.push(term));
        assert_eq!(sum.scaled(0.25).finish(UNIT, 2.0), Bounded::UNSPECIFIED);
    }
}
