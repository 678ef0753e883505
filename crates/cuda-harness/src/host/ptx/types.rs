//! The types of PTX, and the words of an instruction's name.

/// A type that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `.pred`.
    Predicate,
    /// `.bN` and `.uN`.
    Unsigned(u32),
    /// `.sN`.
    Signed(u32),
    /// `.f32`, `.f64`.
    Float(u32),
    /// A type of `host/ptx/values.hpp`.
    Other(&'static str, u32),
}

/// Those that the headers of the shim know, with their names there and their bits.
const OTHERS: [(&str, &str, u32); 10] = [
    ("f16", "F16", 16),
    ("f16x2", "F16x2", 32),
    ("bf16", "BF16", 16),
    ("bf16x2", "BF16x2", 32),
    ("f32x2", "F32x2", 64),
    ("tf32", "TF32", 32),
    ("e4m3", "E4M3", 8),
    ("e5m2", "E5M2", 8),
    ("e4m3x2", "E4M3x2", 16),
    ("e5m2x2", "E5M2x2", 16),
];

impl Type {
    /// The type of this name, without the point.
    pub fn of(word: &str) -> Option<Type> {
        if word == "pred" {
            return Some(Type::Predicate);
        }
        if let Some((_, name, bits)) = OTHERS.into_iter().find(|(known, ..)| *known == word) {
            return Some(Type::Other(name, bits));
        }
        let (kind, bits) = word.split_at_checked(1)?;
        let bits: u32 = bits.parse().ok()?;
        match kind {
            "b" | "u" if matches!(bits, 8 | 16 | 32 | 64) => Some(Type::Unsigned(bits)),
            "b" if bits == 128 => Some(Type::Unsigned(bits)),
            "s" if matches!(bits, 8 | 16 | 32 | 64) => Some(Type::Signed(bits)),
            "f" if matches!(bits, 32 | 64) => Some(Type::Float(bits)),
            _ => None,
        }
    }

    /// How many bits a register of it has.
    pub const fn bits(self) -> u32 {
        match self {
            Type::Predicate => 1,
            Type::Unsigned(bits) | Type::Signed(bits) | Type::Float(bits) | Type::Other(_, bits) => bits,
        }
    }

    /// Its name in C++.
    pub fn name(self) -> String {
        match self {
            Type::Predicate => "bool".to_owned(),
            Type::Unsigned(128) => "unsigned __int128".to_owned(),
            Type::Unsigned(bits) => format!("std::uint{bits}_t"),
            Type::Signed(bits) => format!("std::int{bits}_t"),
            Type::Float(32) => "float".to_owned(),
            Type::Float(_) => "double".to_owned(),
            Type::Other(name, _) => format!("shim::ptx::{name}"),
        }
    }

    /// With twice the bits, where it is an integer.
    pub const fn wide(self) -> Option<Type> {
        match self {
            Type::Unsigned(bits @ (16 | 32)) => Some(Type::Unsigned(2 * bits)),
            Type::Signed(bits @ (16 | 32)) => Some(Type::Signed(2 * bits)),
            _ => None,
        }
    }

    /// Whether it is a whole number, or bits.
    pub const fn is_integer(self) -> bool {
        matches!(self, Type::Unsigned(_) | Type::Signed(_))
    }
}

/// The modifiers of an instruction, of which each is taken once.
#[derive(Clone, Debug)]
pub struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    /// Those of a name, and its first word.
    pub fn of(name: &'a str) -> (&'a str, Words<'a>) {
        let mut words = name.split('.');
        (words.next().unwrap_or_default(), Words(words.collect()))
    }

    /// Whether a word is there, which is taken.
    pub fn take(&mut self, word: &str) -> bool {
        let at = self.0.iter().position(|known| *known == word);
        at.map(|at| self.0.remove(at)).is_some()
    }

    /// Takes the first of these words that is there.
    pub fn one_of<'b>(&mut self, words: &[&'b str]) -> Option<&'b str> {
        words.iter().copied().find(|word| self.take(word))
    }

    /// Takes all words that say how soon something is read again, which changes no result.
    pub fn take_hints(&mut self) {
        self.0.retain(|word| !word.starts_with("L1::") && !word.starts_with("L2::"));
    }

    /// Takes the next word, if it is a type.
    pub fn next_type(&mut self) -> Option<Type> {
        let found = Type::of(self.0.first()?)?;
        self.0.remove(0);
        Some(found)
    }

    /// Takes the last word, which has to be a type.
    ///
    /// # Errors
    /// It is none.
    pub fn last_type(&mut self) -> Result<Type, String> {
        let word = self.0.pop().ok_or("a type is missing")?;
        Type::of(word).ok_or_else(|| format!("`.{word}` is no type that is understood"))
    }

    /// Takes the next word.
    pub fn next(&mut self) -> Option<&'a str> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// That no word is left.
    ///
    /// # Errors
    /// One is.
    pub fn finish(&self) -> Result<(), String> {
        self.0.first().map_or(Ok(()), |word| Err(format!("`.{word}` is not understood")))
    }
}
