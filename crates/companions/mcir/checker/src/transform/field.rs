//! Numbers as residues (clause MCI-21): modulo q, from which exponents are taken, and modulo p, in which powers of an element of the order q
//! are exponentials.

use std::collections::HashMap;

use megakernel_ir::prng::SplitMix64;
use megakernel_mcir::Dtype;

use super::evaluate::{Free, Numbers};

const Q: u64 = (1 << 31) - 1;
const P: u64 = 46 * Q + 1;

/// A number, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Residues {
    /// -∞.
    Least,
    /// Not specified.
    Open,
    /// Modulo p and, unless an exponential is in it, modulo q; and the dtype to which it was cast.
    Known { p: u64, q: Option<u64>, cast: Option<Dtype> },
}

use Residues::{Known, Least, Open};

/// What is drawn for one trial: the keys of its functions and of its order.
#[derive(Clone, Debug)]
pub struct Field {
    key: u64,
    /// Of the order q modulo p.
    base: u64,
    /// By residue: how far it stands above those that are not here.
    raised: HashMap<u64, usize>,
}

fn times(a: u64, b: u64, modulus: u64) -> u64 {
    let rest = u128::from(a) * u128::from(b) % u128::from(modulus);
    u64::try_from(rest).unwrap_or(0)
}

fn power(mut base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, base, modulus);
        }
        base = times(base, base, modulus);
        exponent >>= 1;
    }
    result
}

/// One divided by a number, unless that is 0.
fn inverse(a: u64, modulus: u64) -> Option<u64> {
    (a != 0).then(|| power(a, modulus - 2, modulus))
}

/// An integer modulo a number.
fn residue(a: i64, modulus: u64) -> u64 {
    let size = a.unsigned_abs() % modulus;
    if a < 0 && size > 0 { modulus - size } else { size }
}

fn known(p: u64, q: Option<u64>) -> Residues {
    Known { p, q, cast: None }
}

/// An operation on both residues. What it leaves as it was, as a sum with 0 does, is the same number, which may have been cast before.
fn both(a: Residues, b: Residues, of: impl Fn(u64, u64, u64) -> Option<u64>) -> Residues {
    let (Known { p, q, .. }, Known { p: other, q: exponent, .. }) = (a, b) else { return Open };
    match of(p, other, P) {
        Some(made) if made == p => a,
        Some(made) if made == other => b,
        Some(made) => known(made, q.zip(exponent).and_then(|(a, b)| of(a, b, Q))),
        None => Open,
    }
}

impl Field {
    pub fn new(draws: &mut SplitMix64) -> Field {
        // Any power of 46 that is not 1 has the order q, which is prime.
        let base = loop {
            let base = power(2 + draws.below(P - 2), 46, P);
            if base != 1 {
                break base;
            }
        };
        Field { key: draws.next_u64(), base, raised: HashMap::new() }
    }

    /// The same, but for its order: these are larger than all others, and among each other as the numbers beside them say.
    pub fn raising(&self, raised: impl Iterator<Item = (Residues, usize)>) -> Field {
        let raised = raised.filter_map(
            |(number, height)| {
                if let Known { p, .. } = number { Some((p, height)) } else { None }
            },
        );
        Field { raised: raised.collect(), ..*self }
    }

    /// A number that is drawn, of an input of this dtype.
    pub fn draw(draws: &mut SplitMix64, dtype: Dtype) -> Residues {
        let cast = (dtype != Dtype::F32).then_some(dtype);
        Known { p: draws.below(P), q: Some(draws.below(Q)), cast }
    }

    /// A random function of a number, by name.
    fn hash(&self, name: u64, p: u64) -> SplitMix64 {
        let mut of = SplitMix64::new(self.key ^ name.rotate_left(40));
        SplitMix64::new(of.next_u64() ^ p)
    }

    fn drawn(&self, name: u64, p: u64) -> Residues {
        let mut hash = self.hash(name, p);
        known(hash.below(P), Some(hash.below(Q)))
    }
}

impl Numbers for Field {
    type Number = Residues;

    fn fraction(&self, [above, below]: [i64; 2]) -> Residues {
        let of = |modulus| {
            inverse(residue(below, modulus), modulus)
                .map(|part| times(residue(above, modulus), part, modulus))
        };
        of(P).map_or(Open, |p| known(p, of(Q)))
    }

    fn least(&self) -> Residues {
        Least
    }

    fn is_least(&self, a: Residues) -> bool {
        a == Least
    }

    fn scale(&self, a: Residues, by: [i64; 2]) -> Residues {
        match a {
            Least if by[0] > 0 => Least,
            a => self.mul(a, self.fraction(by)),
        }
    }

    fn neg(&self, a: Residues) -> Residues {
        self.mul(a, known(P - 1, Some(Q - 1)))
    }

    fn add(&self, a: Residues, b: Residues) -> Residues {
        match (a, b) {
            (Open, _) | (_, Open) => Open,
            (Least, _) | (_, Least) => Least,
            (a, b) => both(a, b, |a, b, modulus| Some((a + b) % modulus)),
        }
    }

    fn sub(&self, a: Residues, b: Residues) -> Residues {
        match (a, b) {
            (Least, Known { .. }) => Least,
            (a, b) => both(a, b, |a, b, modulus| Some((a + modulus - b) % modulus)),
        }
    }

    fn mul(&self, a: Residues, b: Residues) -> Residues {
        both(a, b, |a, b, modulus| Some(times(a, b, modulus)))
    }

    fn div(&self, a: Residues, b: Residues) -> Residues {
        both(a, b, |a, b, modulus| inverse(b, modulus).map(|part| times(a, part, modulus)))
    }

    fn max(&self, a: Residues, b: Residues) -> Residues {
        let rank = |p: u64| (self.raised.get(&p).copied().unwrap_or(0), self.hash(1, p).next_u64(), p);
        match (a, b) {
            (Open, _) | (_, Open) => Open,
            (Least, other) | (other, Least) => other,
            (Known { p: first, .. }, Known { p: second, .. }) => {
                if rank(first) < rank(second) {
                    b
                } else {
                    a
                }
            }
        }
    }

    fn exp(&self, a: Residues) -> Residues {
        match a {
            Open => Open,
            Least => known(0, Some(0)),
            Known { p, q, .. } => {
                let exponent = q.unwrap_or_else(|| self.hash(2, p).below(Q));
                known(power(self.base, exponent, P), None)
            }
        }
    }

    fn free(&self, function: Free, a: Residues) -> Residues {
        match a {
            Known { p, .. } => self.drawn(16 + function as u64, p),
            _ => Open,
        }
    }

    fn cast(&self, dtype: Dtype, a: Residues) -> Residues {
        match a {
            Known { p, q: _, cast } if dtype != Dtype::F32 && cast != Some(dtype) => {
                match self.drawn(32 + dtype as u64, p) {
                    Known { p, q, .. } => Known { p, q, cast: Some(dtype) },
                    other => other,
                }
            }
            a => a,
        }
    }
}

/// What values hold, as something to compare, in whichever order they hold it. Nothing, if no element is specified.
pub fn contents(numbers: &[Residues]) -> Option<Vec<u64>> {
    let mut all: Vec<u64> = numbers
        .iter()
        .map(|number| match number {
            Known { p, .. } => *p,
            Least => P,
            Open => P + 1,
        })
        .collect();
    all.sort_unstable();
    all.first().is_some_and(|&least| least < P).then_some(all)
}

/// Whether two results may be the same number. What the first one leaves open, the second one may hold as it likes.
pub fn agree(first: Residues, second: Residues) -> bool {
    match (first, second) {
        (Open, _) | (Least, Least) => true,
        (Known { p, .. }, Known { p: other, .. }) => p == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_turn_sums_into_products_and_roundings_are_seen() {
        let mut draws = SplitMix64::new(7);
        let field = Field::new(&mut draws);
        let [a, b] = [0; 2].map(|_| Field::draw(&mut draws, Dtype::F32));
        let (sum, product) = (field.exp(field.add(a, b)), field.mul(field.exp(a), field.exp(b)));
        assert!(agree(sum, product) && !agree(sum, field.exp(a)), "{sum:?}, {product:?}");
        let quotient = field.div(a, b);
        assert!(agree(field.mul(quotient, b), a) && agree(field.sub(field.add(a, b), b), a));
        assert!(agree(field.max(a, field.max(b, a)), field.max(b, a)));
        let half = field.cast(Dtype::F16, a);
        assert!(!agree(half, a) && agree(field.cast(Dtype::F16, half), half));
        assert!(!agree(field.cast(Dtype::BF16, a), half) && agree(field.cast(Dtype::F32, a), a));
        assert!(agree(field.scale(field.scale(a, [3, 8]), [-8, 3]), field.neg(a)));
    }

    #[test]
    fn what_was_cast_is_cast_no_more_where_an_operation_leaves_it_as_it_was() {
        let mut draws = SplitMix64::new(8);
        let field = Field::new(&mut draws);
        let x = Field::draw(&mut draws, Dtype::F16);
        let [one, zero] = [1, 0].map(|number| field.fraction([number, 1]));
        for same in [
            field.add(x, zero),
            field.add(zero, x),
            field.sub(x, zero),
            field.mul(x, one),
            field.div(x, one),
            field.scale(x, [3, 3]),
            field.add(x, field.exp(Least)),
        ] {
            assert_eq!(field.cast(Dtype::F16, same), x);
            assert!(!agree(field.cast(Dtype::BF16, same), x));
            assert!(agree(field.exp(same), field.exp(x)), "{same:?}");
        }
        for other in [field.add(x, one), field.neg(x), field.sub(zero, x)] {
            assert!(!agree(field.cast(Dtype::F16, other), other));
        }
    }

    #[test]
    fn least_numbers_weigh_nothing_and_are_not_multiplied() {
        let field = Field::new(&mut SplitMix64::new(9));
        let one = field.fraction([1, 1]);
        assert!(agree(field.exp(Least), field.fraction([0, 1])));
        assert_eq!(field.scale(Least, [1, 8]), Least);
        assert_eq!([field.scale(Least, [-1, 8]), field.sub(Least, Least), field.mul(Least, one)], [Open; 3]);
        assert_eq!([field.max(Least, one), field.add(one, Least)], [one, Least]);
        assert!(!agree(one, Open) && agree(Open, one) && !agree(one, Least));
    }
}
