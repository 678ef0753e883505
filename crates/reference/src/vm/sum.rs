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
        let grid = if term.v == 0.0 { f64::INFINITY } else { lowest_bit(term.v) };
        self.push_as(term, term.v.abs(), grid);
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
        if self.special == Special::None && self.overflows() {
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
