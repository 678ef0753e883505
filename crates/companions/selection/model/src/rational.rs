//! Exact rational numbers: costs are compared as they are (clauses SEL-01 and SEL-16).

use std::fmt;

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::{ToPrimitive, Zero};

/// A rational number that is not negative, in lowest terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rational(Ratio<BigUint>);

impl Rational {
    /// Zero.
    pub fn zero() -> Rational {
        Rational::default()
    }

    /// An integer.
    pub fn of(value: u64) -> Rational {
        Rational(Ratio::from_integer(value.into()))
    }

    /// A quotient; `None` where the denominator is zero.
    pub fn new(numerator: BigUint, denominator: BigUint) -> Option<Rational> {
        (!denominator.is_zero()).then(|| Rational(Ratio::new(numerator, denominator)))
    }

    /// The number that a rational text says (clause SEL-01).
    pub fn parse(text: &str) -> Option<Rational> {
        if text.len() > 40 {
            return None;
        }
        if let Some((numerator, denominator)) = text.split_once('/') {
            return Rational::new(natural(numerator)?, natural(denominator)?);
        }
        let Some((whole, fraction)) = text.split_once('.') else {
            return Rational::new(natural(text)?, 1u32.into());
        };
        let scale = BigUint::from(10u32).pow(u32::try_from(fraction.len()).ok()?);
        Rational::new(natural(whole)? * &scale + natural(fraction)?, scale)
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// The numerator in lowest terms.
    pub fn numerator(&self) -> &BigUint {
        self.0.numer()
    }

    /// The denominator in lowest terms.
    pub fn denominator(&self) -> &BigUint {
        self.0.denom()
    }

    /// The sum.
    pub fn plus(&self, other: &Rational) -> Rational {
        Rational(&self.0 + &other.0)
    }

    /// The product.
    pub fn times(&self, other: &Rational) -> Rational {
        Rational(&self.0 * &other.0)
    }

    /// The quotient; `None` for a divisor of zero.
    pub fn divided_by(&self, other: &Rational) -> Option<Rational> {
        (!other.is_zero()).then(|| Rational(&self.0 / &other.0))
    }

    /// The nearest number of 64 bits or so, for people.
    pub fn approximately(&self) -> f64 {
        self.0.to_f64().unwrap_or(f64::INFINITY)
    }
}

/// Digits and nothing else: a sign or an underscore is none.
fn natural(text: &str) -> Option<BigUint> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Rational {
        Rational::parse(text).expect("a rational text")
    }

    #[test]
    fn texts_say_the_same_number() {
        for text in ["209.5", "419/2", "0209.50", "838/4"] {
            assert_eq!(number(text).to_string(), "419/2", "{text}");
        }
        assert_eq!(number("0.0").to_string(), "0");
        assert_eq!(number("000").to_string(), "0");
        for text in
            ["", ".", "1.", ".5", "1/0", "1/00", "-1", "+1", "1e3", " 1", "1/2/3", "1.5/2", "0x1", "１"]
        {
            assert_eq!(Rational::parse(text), None, "{text}");
        }
        assert!(Rational::parse(&"9".repeat(40)).is_some() && Rational::parse(&"9".repeat(41)).is_none());
    }

    #[test]
    fn arithmetic_is_exact_beyond_machine_words() {
        let large = number("1234567890123456789012345678901234567890");
        assert_eq!(large.to_string(), "1234567890123456789012345678901234567890");
        assert_eq!(large.times(&large).divided_by(&large), Some(large.clone()));
        assert_eq!(large.plus(&number("1/3")).to_string(), "3703703670370370367037037036703703703671/3");
        assert!(large < large.plus(&number("1/1000000000000000000000")));
        assert_eq!(number("0.1").plus(&number("0.2")), number("0.3"));
        assert_eq!(large.divided_by(&Rational::zero()), None);
    }
}
