//! Exact rational numbers: costs are compared as they are (clauses SEL-01 and SEL-16).

use std::cmp::Ordering;
use std::fmt;

/// A natural number of any size: digits to the base 2^32, lowest first, without leading zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Natural(Vec<u32>);

impl Natural {
    /// Zero.
    pub const fn zero() -> Natural {
        Natural(Vec::new())
    }

    /// A number of 64 bits.
    pub fn of(value: u64) -> Natural {
        Natural(vec![value as u32, (value >> 32) as u32]).trimmed()
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    fn trimmed(mut self) -> Natural {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    /// The sum.
    pub fn plus(&self, other: &Natural) -> Natural {
        let mut digits = Vec::with_capacity(self.0.len().max(other.0.len()) + 1);
        let mut carry = 0u64;
        for at in 0..self.0.len().max(other.0.len()) {
            let sum = u64::from(self.digit(at)) + u64::from(other.digit(at)) + carry;
            digits.push(sum as u32);
            carry = sum >> 32;
        }
        digits.push(carry as u32);
        Natural(digits).trimmed()
    }

    /// The product.
    pub fn times(&self, other: &Natural) -> Natural {
        let mut digits = vec![0u32; self.0.len() + other.0.len() + 1];
        for (low, &a) in self.0.iter().enumerate() {
            let mut carry = 0u64;
            for (high, &b) in other.0.iter().enumerate() {
                if let Some(digit) = digits.get_mut(low + high) {
                    let sum = u64::from(a) * u64::from(b) + u64::from(*digit) + carry;
                    *digit = sum as u32;
                    carry = sum >> 32;
                }
            }
            if let Some(digit) = digits.get_mut(low + other.0.len()) {
                *digit = carry as u32;
            }
        }
        Natural(digits).trimmed()
    }

    fn digit(&self, at: usize) -> u32 {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// The difference; `other` is no larger.
    fn minus(&self, other: &Natural) -> Natural {
        let mut digits = Vec::with_capacity(self.0.len());
        let mut borrow = 0i64;
        for at in 0..self.0.len() {
            let difference = i64::from(self.digit(at)) - i64::from(other.digit(at)) - borrow;
            borrow = i64::from(difference < 0);
            digits.push(difference as u32);
        }
        Natural(digits).trimmed()
    }

    fn bits(&self) -> usize {
        self.0.last().map_or(0, |last| self.0.len() * 32 - last.leading_zeros() as usize)
    }

    fn bit(&self, at: usize) -> bool {
        self.digit(at / 32) >> (at % 32) & 1 == 1
    }

    /// Quotient and remainder, digit by binary digit; the divisor is not zero.
    fn divided(&self, divisor: &Natural) -> (Natural, Natural) {
        if let ([], _) | ([_], [_]) | ([_, _], [_] | [_, _]) | ([_], [_, _]) = (&*self.0, &*divisor.0) {
            let small = |n: &Natural| u64::from(n.digit(1)) << 32 | u64::from(n.digit(0));
            let (a, b) = (small(self), small(divisor).max(1));
            return (Natural::of(a / b), Natural::of(a % b));
        }
        let mut quotient = vec![0u32; self.0.len()];
        let mut rest = Natural::zero();
        for at in (0..self.bits()).rev() {
            rest = rest.plus(&rest);
            if self.bit(at) {
                rest = rest.plus(&Natural::of(1));
            }
            if rest >= *divisor {
                rest = rest.minus(divisor);
                if let Some(digit) = quotient.get_mut(at / 32) {
                    *digit |= 1 << (at % 32);
                }
            }
        }
        (Natural(quotient).trimmed(), rest)
    }

    fn greatest_common_divisor(&self, other: &Natural) -> Natural {
        let (mut a, mut b) = (self.clone(), other.clone());
        while !b.is_zero() {
            let rest = a.divided(&b).1;
            a = std::mem::replace(&mut b, rest);
        }
        a
    }

    fn from_digits(text: &str) -> Option<Natural> {
        let mut value = Natural::zero();
        for byte in text.bytes() {
            let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
            value = value.times(&Natural::of(10)).plus(&Natural::of(digit));
        }
        (!text.is_empty()).then_some(value)
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Natural) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Natural) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Natural {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let mut rest = self.clone();
        let chunk = Natural::of(1_000_000_000);
        while !rest.is_zero() {
            let (quotient, part) = rest.divided(&chunk);
            parts.push(part.digit(0));
            rest = quotient;
        }
        let mut text = parts.last().copied().unwrap_or(0).to_string();
        for part in parts.iter().rev().skip(1) {
            text.push_str(&format!("{part:09}"));
        }
        f.pad(&text)
    }
}

/// A rational number that is not negative, in lowest terms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rational {
    numerator: Natural,
    denominator: Natural,
}

impl Default for Rational {
    fn default() -> Rational {
        Rational::zero()
    }
}

impl Rational {
    /// Zero.
    pub fn zero() -> Rational {
        Rational { numerator: Natural::zero(), denominator: Natural::of(1) }
    }

    /// An integer.
    pub fn of(value: u64) -> Rational {
        Rational { numerator: Natural::of(value), denominator: Natural::of(1) }
    }

    /// A quotient; `None` where the denominator is zero.
    pub fn new(numerator: &Natural, denominator: &Natural) -> Option<Rational> {
        if denominator.is_zero() {
            return None;
        }
        let common = numerator.greatest_common_divisor(denominator);
        let (numerator, denominator) = (numerator.divided(&common).0, denominator.divided(&common).0);
        Some(Rational { numerator, denominator })
    }

    /// The number that a rational text says (clause SEL-01).
    pub fn parse(text: &str) -> Option<Rational> {
        if text.len() > 40 {
            return None;
        }
        if let Some((numerator, denominator)) = text.split_once('/') {
            return Rational::new(&Natural::from_digits(numerator)?, &Natural::from_digits(denominator)?);
        }
        let (whole, fraction) = text.split_once('.').map_or((text, None), |(a, b)| (a, Some(b)));
        let Some(fraction) = fraction else {
            return Rational::new(&Natural::from_digits(whole)?, &Natural::of(1));
        };
        let (whole, fraction, digits) =
            (Natural::from_digits(whole)?, Natural::from_digits(fraction)?, fraction.len());
        let scale = (0..digits).fold(Natural::of(1), |scale, _| scale.times(&Natural::of(10)));
        Rational::new(&whole.times(&scale).plus(&fraction), &scale)
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.numerator.is_zero()
    }

    /// The numerator in lowest terms.
    pub fn numerator(&self) -> &Natural {
        &self.numerator
    }

    /// The denominator in lowest terms.
    pub fn denominator(&self) -> &Natural {
        &self.denominator
    }

    /// The sum.
    pub fn plus(&self, other: &Rational) -> Rational {
        if self.denominator == other.denominator {
            let sum = self.numerator.plus(&other.numerator);
            return Rational::new(&sum, &self.denominator).unwrap_or_default();
        }
        let sum = self.numerator.times(&other.denominator).plus(&other.numerator.times(&self.denominator));
        Rational::new(&sum, &self.denominator.times(&other.denominator)).unwrap_or_default()
    }

    /// The product.
    pub fn times(&self, other: &Rational) -> Rational {
        let numerator = self.numerator.times(&other.numerator);
        Rational::new(&numerator, &self.denominator.times(&other.denominator)).unwrap_or_default()
    }

    /// The quotient; `None` for a divisor of zero.
    pub fn divided_by(&self, other: &Rational) -> Option<Rational> {
        Rational::new(&self.numerator.times(&other.denominator), &self.denominator.times(&other.numerator))
    }

    /// The nearest number of 64 bits or so, for people.
    pub fn approximately(&self) -> f64 {
        let number =
            |n: &Natural| n.0.iter().rev().fold(0.0, |sum, &digit| sum * 4_294_967_296.0 + f64::from(digit));
        number(&self.numerator) / number(&self.denominator)
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Rational) -> Ordering {
        if self.denominator == other.denominator {
            return self.numerator.cmp(&other.numerator);
        }
        self.numerator.times(&other.denominator).cmp(&other.numerator.times(&self.denominator))
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Rational) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Rational {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator == Natural::of(1) {
            return self.numerator.fmt(f);
        }
        f.pad(&format!("{}/{}", self.numerator, self.denominator))
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

    #[test]
    fn small_arithmetic_agrees_with_machine_words() {
        for a in 0..60u64 {
            for b in 1..60u64 {
                let (a, b) = (a * 0x1_2345_6789, b * 0x8765_4321);
                let (quotient, rest) = Natural::of(a).divided(&Natural::of(b));
                assert_eq!((quotient, rest), (Natural::of(a / b), Natural::of(a % b)));
                assert_eq!(
                    Natural::of(a).times(&Natural::of(b)).to_string(),
                    (u128::from(a) * u128::from(b)).to_string()
                );
                assert_eq!(Natural::of(a).cmp(&Natural::of(b)), a.cmp(&b));
            }
        }
    }
}
