//! Indices as C++, and which values they may have: what is beyond 62 bits is refused, so that nothing wraps.

use std::collections::HashMap;

use megakernel_mcir::{Index, Term};

use super::Refused;

/// Values that an integer may have, both included.
pub type Range = (i128, i128);

/// The largest magnitude.
const MOST: i128 = 1 << 62;

/// The integers that are known at an instruction.
pub struct Integers<'k> {
    names: &'k [String],
    known: Vec<u32>,
    ranges: HashMap<u32, Range>,
}

/// A name in C++: its number makes it another one than all others, and the rest makes it readable.
pub fn identifier(prefix: char, names: &[String], name: u32) -> String {
    let text = names.get(name as usize).map(String::as_str).unwrap_or_default();
    let plain = text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(24);
    format!("{prefix}{name}_{}", plain.collect::<String>())
}

impl<'k> Integers<'k> {
    pub fn new(names: &'k [String]) -> Integers<'k> {
        Integers { names, known: Vec::new(), ranges: HashMap::new() }
    }

    fn text(&self, name: u32) -> &str {
        self.names.get(name as usize).map(String::as_str).unwrap_or_default()
    }

    /// Declares an integer, and says its name in C++.
    ///
    /// # Errors
    /// It is known already.
    pub fn declare(&mut self, name: u32, range: Range) -> Result<String, Refused> {
        if self.ranges.insert(name, range).is_some() {
            return Err(Refused::of(format!("`{}` is declared again where it is known", self.text(name))));
        }
        self.known.push(name);
        Ok(identifier('i', self.names, name))
    }

    /// How many are known.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// Forgets all but the first ones.
    pub fn forget(&mut self, count: usize) {
        for name in self.known.drain(count..) {
            self.ranges.remove(&name);
        }
    }

    /// The values that an index may have.
    ///
    /// # Errors
    /// An integer that is not known here, or values that 64 bits may not hold.
    pub fn range(&self, index: &Index) -> Result<Range, Refused> {
        let (mut least, mut most) = (0_i128, 0_i128);
        for term in &index.terms {
            let (low, high) = match *term {
                Term::Number(number) => (i128::from(number), i128::from(number)),
                Term::Axis(axis) => self.of(1, axis)?,
                Term::Scaled(factor, axis) => self.of(factor, axis)?,
            };
            least += low;
            most += high;
            // Each partial sum, as C++ takes it.
            if least < -MOST || most > MOST {
                return Err(Refused::of("an index may be beyond 62 bits".to_owned()));
            }
        }
        Ok((least, most))
    }

    fn of(&self, factor: i64, axis: u32) -> Result<Range, Refused> {
        let &(low, high) = self
            .ranges
            .get(&axis)
            .ok_or_else(|| Refused::of(format!("`{}` is no integer that is known here", self.text(axis))))?;
        let ends = [i128::from(factor) * low, i128::from(factor) * high];
        Ok((ends[0].min(ends[1]), ends[0].max(ends[1])))
    }

    /// An index as C++, of the type `long long`.
    ///
    /// # Errors
    /// See [`Integers::range`].
    pub fn index(&self, index: &Index) -> Result<String, Refused> {
        self.range(index)?;
        let term = |term: &Term| match *term {
            Term::Number(number) => format!("{number}ll"),
            Term::Axis(axis) => identifier('i', self.names, axis),
            Term::Scaled(factor, axis) => format!("{factor}ll * {}", identifier('i', self.names, axis)),
        };
        Ok(match index.terms.as_slice() {
            [] => "0ll".to_owned(),
            [Term::Axis(axis)] => identifier('i', self.names, *axis),
            terms => format!("({})", terms.iter().map(term).collect::<Vec<_>>().join(" + ")),
        })
    }

    /// An index as C++ that is a number, if it is one whatever integers are.
    pub fn number(&self, index: &Index) -> Option<i64> {
        match self.range(index) {
            Ok((least, most)) if least == most => i64::try_from(least).ok(),
            _ => None,
        }
    }
}
