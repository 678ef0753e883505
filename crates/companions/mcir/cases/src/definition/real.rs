//! Numbers with bounds: NUM-05 and NUM-07 to NUM-09 of the main specification, written down once more.

use megakernel_ir::DType;
use megakernel_numerics::{Interval, decode, encode, interval};

/// The unit of NUM-05.
const U: f64 = (1.0 + 1.0 / 1_048_576.0) / 16_777_216.0;
const LARGEST: f64 = f32::MAX as f64;

fn power(exponent: i32) -> f64 {
    f64::powi(2.0, exponent)
}

/// What rounding to binary32 errs by.
fn r(magnitude: f64) -> f64 {
    (U * magnitude).max(power(-150))
}

fn g(n: usize) -> f64 {
    let n = n as f64 * U;
    n / (1.0 - n)
}

/// Whether binary32 has the number.
fn has(x: f64) -> bool {
    f64::from(x as f32) == x
}

/// A reference and its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Real {
    pub v: f64,
    pub e: f64,
}

/// The bound of a zero of which the sign is not specified.
const SIGN: f64 = f64::from_bits(1);

/// What is not specified.
const ANY: Real = Real { v: 0.0, e: f64::INFINITY };

impl Real {
    /// A number without an error.
    pub const fn exact(v: f64) -> Real {
        Real { v, e: 0.0 }
    }

    /// As an operand: the sign of a zero is none of its error.
    fn operand(self) -> Real {
        if self.e == SIGN { Real::exact(self.v) } else { self }
    }

    /// As a result: the sign of a zero is not specified.
    pub fn result(self) -> Real {
        if self.v == 0.0 { Real { e: self.e.max(SIGN), ..self } } else { self }
    }

    fn is_exact(self) -> bool {
        self.e == 0.0
    }

    /// A result that finite operands give; beyond binary32 it is not specified.
    fn checked(v: f64, e: f64) -> Real {
        if v.is_nan() {
            Real::exact(v)
        } else if e.is_nan() || v.abs() + e > LARGEST {
            ANY
        } else {
            Real { v, e }
        }
    }

    /// As a value on the way to a result: beyond binary32 it is not specified.
    pub fn within(self) -> Real {
        if self.v.is_infinite() && self.e == 0.0 { self } else { Real::checked(self.v, self.e) }
    }

    /// What may be flushed to zero.
    fn flushed(self) -> Real {
        if self.v.abs() - self.e < power(-126) { Real { e: self.e.max(self.v.abs()), ..self } } else { self }
    }

    /// What NaN and unspecified operands give, whatever the operation.
    fn special(operands: &[Real]) -> Option<Real> {
        let nan = operands.iter().find(|operand| operand.v.is_nan());
        let any = || operands.iter().find(|operand| operand.e.is_infinite());
        nan.map(|_| Real::exact(f64::NAN)).or_else(|| any().map(|_| ANY))
    }

    /// The cast to a dtype, as what is computed from it counts it: NUM-08.
    pub fn cast(self, dtype: DType) -> Real {
        let s = decode(dtype, encode(dtype, self.v));
        match interval(dtype, self.v, self.e) {
            Interval::Nan { .. } => Real::exact(f64::NAN),
            Interval::Between { low, high, .. } => {
                let (low, high) = (decode(dtype, low), decode(dtype, high));
                if low == high && s != 0.0 {
                    Real::exact(s)
                } else if low.is_infinite() || high.is_infinite() {
                    ANY
                } else {
                    let e = (high - s).max(s - low);
                    // Both zeros, or one of them.
                    if e == 0.0 && self.e > 0.0 { Real { v: s, e: SIGN } } else { Real { v: s, e } }
                }
            }
            Interval::Any | Interval::Nothing => ANY,
        }
    }

    /// A single operation of NUM-05: of exact operands, `v` is the correctly rounded result of binary64, and `is_in` says whether
    /// binary32 has the real one.
    pub fn single(self, operands: [Real; 2], dtype: DType) -> Real {
        let is_exact = operands.iter().all(|operand| operand.operand().is_exact());
        if !is_exact || !self.v.is_finite() || self.is_exact() {
            return self.result();
        }
        Real { e: if dtype == DType::F32 { 0.0 } else { r(self.v.abs()) }, ..self }.result()
    }

    pub fn neg(self) -> Real {
        let a = self.operand();
        Real { v: -a.v, ..a }.result()
    }

    pub fn add(self, other: Real) -> Real {
        let (a, b) = (self.operand(), other.operand());
        if let Some(special) = Real::special(&[a, b]) {
            return special;
        }
        let v = a.v + b.v;
        if !v.is_finite() && (a.v.is_infinite() || b.v.is_infinite()) {
            return Real::exact(v);
        }
        let p = a.e + b.e;
        let part = v - a.v;
        let rest = (a.v - (v - part)) + (b.v - part);
        if p == 0.0 && rest == 0.0 && has(v) {
            return Real::exact(v);
        }
        // A single sum may exceed binary32; any other use of it looks at the bound, which says so.
        if p == 0.0 { Real { v, e: r(v.abs()) } } else { Real::checked(v, p + r(v.abs() + p)) }
    }

    pub fn sub(self, other: Real) -> Real {
        let other = other.operand();
        self.add(Real { v: -other.v, ..other })
    }

    pub fn mul(self, other: Real) -> Real {
        let (a, b) = (self.operand(), other.operand());
        if let Some(special) = Real::special(&[a, b]) {
            return special;
        }
        let v = a.v * b.v;
        if a.v.is_infinite() || b.v.is_infinite() {
            let finite = if a.v.is_infinite() { b } else { a };
            let is_open = !finite.is_exact() && finite.v.abs() <= finite.e;
            return if is_open { ANY } else { Real::exact(v) };
        }
        let p = a.v.abs() * b.e + b.v.abs() * a.e + a.e * b.e;
        if p == 0.0 && has(v) {
            return Real::exact(v);
        }
        if p == 0.0 { Real { v, e: r(v.abs()) } } else { Real::checked(v, p + r(v.abs() + p)) }
    }

    pub fn div(self, other: Real) -> Real {
        let (a, b) = (self.operand(), other.operand());
        if let Some(special) = Real::special(&[a, b]) {
            return special;
        }
        if b.v.abs() <= b.e {
            return ANY;
        }
        let v = a.v / b.v;
        if a.v.is_infinite() || b.v.is_infinite() || (a.is_exact() && a.v == 0.0) {
            return Real::exact(v);
        }
        let is_power = b.is_exact() && b.v.to_bits() << 12 == 0;
        if is_power && a.is_exact() && has(v) && v.abs() >= power(-126) {
            return Real::exact(v);
        }
        let p = (a.v.abs() * b.e + b.v.abs() * a.e) / (b.v.abs() * (b.v.abs() - b.e));
        Real::checked(v, p + (4.0 * U * (v.abs() + p)).max(power(-150))).flushed()
    }

    pub fn exp(self) -> Real {
        let x = self.operand();
        if let Some(special) = Real::special(&[x]) {
            return special;
        }
        if x.v.is_infinite() || (x.v == 0.0 && x.is_exact()) {
            return Real::exact(libm::exp(x.v));
        }
        let v = libm::exp(x.v);
        let p = v * (libm::exp(x.e) - 1.0);
        let units = (4.0 + 3.0 * (x.v.abs() + x.e)) * U;
        Real::checked(v, p + (units * (v + p)).max(power(-150))).flushed()
    }

    pub fn rsqrt(self) -> Real {
        let x = self.operand();
        if let Some(special) = Real::special(&[x]) {
            return special;
        }
        if x.v - x.e <= 0.0 {
            // The root of a number below zero is none, and of a zero it is left open.
            return if x.v + x.e < 0.0 { Real::exact(f64::NAN) } else { ANY };
        }
        let v = 1.0 / x.v.sqrt();
        if v == 0.0 {
            return Real::exact(v);
        }
        let p = 1.0 / (x.v - x.e).sqrt() - v;
        Real::checked(v, p + (6.0 * U * (v + p)).max(power(-150)))
    }

    fn erf(self) -> Real {
        if let Some(special) = Real::special(&[self]) {
            return special;
        }
        let v = libm::erf(self.v);
        if self.v.is_infinite() {
            return Real::exact(v);
        }
        let nearest = (self.v.abs() - self.e).max(0.0);
        let slope = std::f64::consts::FRAC_2_SQRT_PI * libm::exp(-nearest * nearest);
        Real { v, e: (self.e * slope).min(2.0) + 8.0 * U }
    }

    /// OPC-09 without the last product.
    pub fn silu(self) -> Real {
        let x = self.operand();
        if let Some(special) = Real::special(&[x]) {
            return special;
        }
        if x.is_exact() && x.v == 0.0 {
            return Real::exact(0.0).result();
        }
        if x.v.is_infinite() {
            return Real::exact(if x.v > 0.0 { x.v } else { f64::NAN });
        }
        let power = x.neg().exp();
        if power.e.is_infinite() {
            // The exponential exceeds binary32, and the result may be zero.
            let v = x.v / (1.0 + libm::exp(-x.v));
            return Real { v, e: v.abs() };
        }
        let below = Real::exact(1.0).add(power);
        let (one, two) = (x.div(below), x.mul(Real::exact(1.0).div(below)));
        Real { e: one.e.max(two.e), ..one }.result()
    }

    /// OPC-10.
    pub fn gelu(self) -> Real {
        let x = self.operand();
        if let Some(special) = Real::special(&[x]) {
            return special;
        }
        if x.v.is_infinite() {
            return Real::exact(if x.v > 0.0 { x.v } else { f64::NAN });
        }
        if 2.0 * (x.v.abs() + x.e) > LARGEST {
            return ANY;
        }
        let argument = x.v / std::f64::consts::SQRT_2;
        let e = x.e / std::f64::consts::SQRT_2 + 5.0 * U * argument.abs();
        let bell = Real { v: argument, e }.erf();
        let above = Real::exact(1.0).add(bell);
        let half = Real { v: x.v / 2.0, e: x.e / 2.0 };
        let p = half.v.abs() * above.e + above.v.abs() * half.e + half.e * above.e;
        // `1 + erf` is cancelled where it is small.
        let v = half.v * libm::erfc(-argument);
        Real::checked(v, p + U * (v.abs() + p) + power(-148)).result()
    }

    pub fn max(self, other: Real) -> Real {
        let (a, b) = (self.operand(), other.operand());
        if let Some(special) = Real::special(&[a, b]) {
            return special;
        }
        let v = a.v.max(b.v);
        if v.is_infinite() {
            return Real::exact(v);
        }
        let (low, high) = ((a.v - a.e).max(b.v - b.e), (a.v + a.e).max(b.v + b.e));
        Real { v, e: (v - low).max(high - v) }
    }

    /// A sum of terms, products among them.
    pub fn sum(terms: &[Term]) -> Real {
        let values: Vec<Real> = terms.iter().map(|term| term.value).collect();
        let (up, down) = (f64::INFINITY, f64::NEG_INFINITY);
        let has = |v: f64| values.iter().any(|term| term.v == v);
        if values.iter().any(|term| term.v.is_nan()) || (has(up) && has(down)) {
            return Real::exact(f64::NAN);
        }
        if values.iter().any(|term| term.e.is_infinite()) {
            return ANY;
        }
        if has(up) || has(down) {
            // Finite terms that overflow could turn an infinity into NaN.
            let finite = values.iter().filter(|term| term.v.is_finite());
            let magnitude: f64 = finite.map(|term| term.v.abs() + term.e).sum();
            return if magnitude > LARGEST { ANY } else { Real::exact(if has(up) { up } else { down }) };
        }
        let counted = || terms.iter().filter(|term| term.value.v != 0.0 || term.value.e != 0.0);
        let n = counted().count();
        let products = counted().filter(|term| term.is_product).count();
        let v: f64 = values.iter().map(|term| term.v).sum();
        let magnitude: f64 = values.iter().map(|term| term.v.abs() + term.e).sum();
        if values.iter().all(|term| term.e == 0.0) {
            // NUM-09.
            let grid = values.iter().filter(|term| term.v != 0.0).map(|term| lowest(term.v));
            let grid = grid.fold(f64::INFINITY, f64::min);
            if n == 0 || (grid >= power(-149) && magnitude <= grid * 16_777_216.0) {
                return Real::exact(v);
            }
        }
        let errors: f64 = values.iter().map(|term| term.e).sum();
        let additions = if products > 0 { n } else { n.saturating_sub(1) };
        let e = errors + g(additions) * magnitude + products as f64 * power(-150);
        if magnitude + e > LARGEST { ANY } else { Real { v, e } }
    }
}

/// A term of a sum.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    value: Real,
    is_product: bool,
}

impl Term {
    pub fn of(value: Real) -> Term {
        Term { value: value.operand(), is_product: false }
    }

    /// A product that has not been rounded.
    pub fn product(a: Real, b: Real) -> Term {
        let (a, b) = (a.operand(), b.operand());
        let value = match Real::special(&[a, b]) {
            Some(special) => special,
            None if a.v.is_infinite() || b.v.is_infinite() => a.mul(b),
            None => Real { v: a.v * b.v, e: a.v.abs() * b.e + b.v.abs() * a.e + a.e * b.e },
        };
        Term { value, is_product: true }
    }
}

/// The largest power of two of which a number is a multiple.
fn lowest(x: f64) -> f64 {
    let bits = x.abs().to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let (exponent, whole) = if exponent == 0 { (1, fraction) } else { (exponent, fraction | 1 << 52) };
    power(exponent - 1075 + whole.trailing_zeros() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_examples() {
        // NUM-08: (1 + 2^-30) * 3.
        let sum = Real::exact(1.0).add(Real::exact(power(-30)));
        assert_eq!(sum.e, U * (1.0 + power(-30)));
        let product = sum.mul(Real::exact(3.0));
        let p = 3.0 * sum.e;
        assert!((product.e - (p + U * (3.0 * (1.0 + power(-30)) + p))).abs() < 1e-20);
        assert_eq!(Real::exact(3.0).mul(Real::exact(0.5)), Real::exact(1.5));
        // A single sum is correctly rounded in binary32, and may be rounded twice elsewhere.
        let operands = [Real::exact(1.0), Real::exact(power(-30))];
        assert_eq!(sum.single(operands, DType::F32).e, 0.0);
        assert_eq!(sum.single(operands, DType::F16).e, r(sum.v));
    }

    #[test]
    fn sums_of_small_integers_are_exact_and_others_are_not() {
        let ones = vec![Term::of(Real::exact(1.0)); 4096];
        assert_eq!(Real::sum(&ones), Real::exact(4096.0));
        let tenths = vec![Term::of(Real::exact(f64::from(0.1f32))); 3];
        assert!(Real::sum(&tenths).e > 0.0);
        let product = Term::product(Real::exact(4097.0), Real::exact(4097.0));
        assert_eq!(Real::sum(&[product]).e, g(1) * (4097.0 * 4097.0) + power(-150));
    }

    #[test]
    fn a_cast_that_rounding_decides_has_no_error() {
        let near = |e| Real { v: 1.0 + 3.0 * power(-12), e };
        assert_eq!(near(power(-13)).cast(DType::F16), Real::exact(1.0 + power(-10)));
        assert_eq!(near(power(-11)).cast(DType::F16).e, power(-10));
        assert_eq!(Real::exact(65520.0).cast(DType::F16), Real::exact(f64::INFINITY));
        assert_eq!(Real { v: 65520.0, e: 1.0 }.cast(DType::F16).e, f64::INFINITY);
    }

    #[test]
    fn what_has_no_value_is_a_nan_or_left_open() {
        let (zero, inf) = (Real::exact(0.0), Real::exact(f64::INFINITY));
        assert!(inf.sub(inf).v.is_nan() && zero.mul(inf).v.is_nan());
        assert_eq!(Real::exact(f64::NEG_INFINITY).exp(), zero);
        assert_eq!(zero.div(zero).e, f64::INFINITY);
        assert!(zero.max(Real::exact(f64::NAN)).v.is_nan());
        assert!(Real::exact(-1.0).rsqrt().v.is_nan());
        assert_eq!(Real::exact(100.0).exp().e, f64::INFINITY);
        let product = |a: f64, b: f64| Term::product(Real::exact(a), Real::exact(b));
        let large = f64::from(f32::MAX);
        assert_eq!(Real::sum(&[product(1.0, f64::INFINITY), product(large, 1.0)]), inf);
        assert_eq!(Real::sum(&[product(1.0, f64::INFINITY), product(large, -3.25)]).e, f64::INFINITY);
    }
}
