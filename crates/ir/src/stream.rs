//! JSON, read from the start of a text to its end without a tree, for companions whose documents are large. Everything gives nothing where the text is not what is asked for: what is wrong
//! with it, [`crate::decode`] says. What is rare is left to `serde_json`: strings with escapes, and values of members that nobody knows.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::value::RawValue;

use crate::maps::check_extra;
use crate::model::{Extra, Text};
use crate::read::{MAX_DEPTH, too_deep};

/// A place in a text.
#[derive(Debug)]
pub struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// Arrays and objects that have begun and not ended.
    depth: usize,
}

impl<'t> Reader<'t> {
    /// The start of a text.
    pub fn new(text: &'t str) -> Reader<'t> {
        Reader { text, at: 0, depth: 0 }
    }

    /// The next byte that is no white space, which is not taken.
    pub fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match *bytes.get(self.at)? {
                b' ' | b'\n' | b'\t' | b'\r' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Takes a byte if it is the next one.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.takes(byte).then_some(())
    }

    /// The begin of an array or an object.
    fn begin(&mut self, bracket: u8) -> Option<()> {
        self.depth += 1;
        self.take(bracket)
    }

    /// Its end, if it is the next.
    fn ends(&mut self, bracket: u8) -> bool {
        let is_next = self.takes(bracket);
        self.depth -= usize::from(is_next);
        is_next
    }

    /// Takes a word if it is the next one.
    pub fn word(&mut self, word: &str) -> bool {
        self.peek();
        let is_next = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    /// The end of the text.
    pub fn end(&mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }

    /// A string.
    pub fn string(&mut self) -> Option<Cow<'t, str>> {
        self.take(b'"')?;
        let (bytes, begin) = (self.text.as_bytes(), self.at);
        loop {
            match *bytes.get(self.at)? {
                b'"' => break,
                b'\\' => return self.escaped(begin),
                0..0x20 => return None,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(Cow::Borrowed(&self.text[begin..self.at - 1]))
    }

    /// A string that began before this place, where it has an escape.
    fn escaped(&mut self, begin: usize) -> Option<Cow<'t, str>> {
        let bytes = self.text.as_bytes();
        while *bytes.get(self.at)? != b'"' {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        serde_json::from_str(&self.text[begin - 1..self.at]).ok().map(Cow::Owned)
    }

    /// An integer of 64 bits, without fraction and exponent.
    pub fn integer(&mut self) -> Option<i64> {
        let is_negative = self.takes(b'-');
        let rest = &self.text.as_bytes()[self.at..];
        let (mut number, mut digits) = (0u64, 0);
        while let Some(digit @ b'0'..=b'9') = rest.get(digits) {
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            digits += 1;
        }
        // No digit, a zero before others, the zero below zero, or more than an integer.
        let is_other = digits == 0 || rest[0] == b'0' && (digits > 1 || is_negative);
        if is_other || matches!(rest.get(digits), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        let begin = self.at - usize::from(is_negative);
        self.at += digits;
        match number as i64 {
            // Below 10^18, of which nothing has wrapped around.
            number if digits <= 18 => Some(if is_negative { -number } else { number }),
            _ => self.text[begin..self.at].parse().ok(),
        }
    }

    /// Null, or a value.
    pub fn nullable<T>(&mut self, value: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.word("null") { Some(None) } else { value(self).map(Some) }
    }

    /// An array, of which this reads each element.
    pub fn array(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.begin(b'[')?;
        if self.ends(b']') {
            return Some(());
        }
        loop {
            element(self)?;
            if !self.takes(b',') {
                return self.ends(b']').then_some(());
            }
        }
    }

    /// An array as a list.
    pub fn list<T>(&mut self, mut element: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut list = Vec::new();
        self.array(|reader| element(reader).map(|element| list.push(element)))?;
        Some(list)
    }

    /// An array of two.
    pub fn pair<A, B>(
        &mut self,
        first: impl FnOnce(&mut Self) -> Option<A>,
        second: impl FnOnce(&mut Self) -> Option<B>,
    ) -> Option<(A, B)> {
        self.begin(b'[')?;
        let first = first(self)?;
        self.take(b',')?;
        let second = second(self)?;
        self.ends(b']').then_some((first, second))
    }

    /// Further elements of an array, of which some have been read.
    pub fn further<T>(&mut self, element: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.takes(b',') { element(self).map(Some) } else { Some(None) }
    }

    /// An object, of which this reads each value.
    pub fn members(&mut self, mut value: impl FnMut(&mut Self, Cow<'t, str>) -> Option<()>) -> Option<()> {
        self.begin(b'{')?;
        if self.ends(b'}') {
            return Some(());
        }
        loop {
            let name = self.string()?;
            self.take(b':')?;
            value(self, name)?;
            if !self.takes(b',') {
                return self.ends(b'}').then_some(());
            }
        }
    }

    /// An object. This reads the values of the members that it knows, and says of which it does not.
    pub fn object(&mut self, mut member: impl FnMut(&mut Self, &str) -> Option<bool>) -> Option<()> {
        let mut extra = Extra::new();
        self.members(|reader, name| {
            if !member(reader, &name)? {
                extra.push((Text(name), reader.raw()?));
            }
            Some(())
        })?;
        check_extra(&extra).ok()
    }

    /// Any value, which `serde_json` reads however deep it is.
    fn raw(&mut self) -> Option<&'t RawValue> {
        let mut values = serde_json::Deserializer::from_str(&self.text[self.at..]).into_iter();
        let value: &RawValue = values.next()?.ok()?;
        self.at += values.byte_offset();
        too_deep(value.get(), MAX_DEPTH.saturating_sub(self.depth)).is_none().then_some(value)
    }
}

/// A member that stands in an object once.
pub fn once<T>(member: &mut Option<T>, value: Option<T>) -> Option<bool> {
    member.replace(value?).is_none().then_some(true)
}

/// The numbers of the names that were met.
#[derive(Debug)]
pub struct Names<'t> {
    numbers: HashMap<Cow<'t, str>, u32, RandomState>,
    texts: Vec<Cow<'t, str>>,
    /// Names that were met lately, by a few of their bytes: most names stand near where they stood before.
    lately: Box<[u32; LATELY]>,
}

const LATELY: usize = 256;

impl<'t> Names<'t> {
    /// None yet.
    pub fn new() -> Names<'t> {
        Names { numbers: HashMap::default(), texts: Vec::new(), lately: Box::new([0; LATELY]) }
    }

    /// The number of a name: how many others were met before it.
    pub fn number(&mut self, name: Cow<'t, str>) -> u32 {
        let mix = |mixed: usize, byte: &u8| mixed.wrapping_mul(31).wrapping_add(usize::from(*byte));
        let place = &mut self.lately[name.as_bytes().iter().rev().take(8).fold(name.len(), mix) % LATELY];
        if self.texts.get(*place as usize) == Some(&name) {
            return *place;
        }
        let next = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        *place = *self.numbers.entry(name).or_insert_with_key(|name| {
            self.texts.push(name.clone());
            next
        });
        *place
    }

    /// The names by their numbers.
    pub fn into_texts(self) -> Vec<String> {
        self.texts.into_iter().map(Cow::into_owned).collect()
    }
}

impl Default for Names<'_> {
    fn default() -> Self {
        Names::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_json_and_of_64_bits() {
        let read = |text: &str| Reader::new(text).integer();
        for number in [0, 7, -7, 10, i64::MAX, i64::MIN] {
            assert_eq!(read(&format!(" {number},")), Some(number));
        }
        for text in ["", "-", "-0", "00", "01", "1.0", "1e3", "1E3", "9223372036854775808", "+1", "x"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn strings_end_where_they_end() {
        let read = |text: &str| {
            let mut reader = Reader::new(text);
            let string = reader.string().map(Cow::into_owned);
            string.zip(reader.end()).map(|(string, ())| string)
        };
        assert_eq!(read(r#" "aé" "#).as_deref(), Some("aé"));
        assert_eq!(read(r#""a\"\\""#).as_deref(), Some("a\"\\"));
        assert_eq!(read(r#""\u0041é""#).as_deref(), Some("Aé"));
        for text in ["\"a", "\"a\\", "\"a\\\"", "\"\n\"", "\"\\q\"", "\"\\ud800\"", "\"\\é\"", "a"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn members_that_nobody_knows_are_passed_over_once_each() {
        let read = |text: &str| {
            let (mut reader, mut known) = (Reader::new(text), None);
            reader.object(|reader, name| match name {
                "a" => once(&mut known, reader.integer()),
                _ => Some(false),
            })?;
            reader.end()?;
            known
        };
        assert_eq!(read(r#"{"b": [1, {"c": "}"}], "a": 3, "d":1.5 }"#), Some(3));
        assert_eq!(read(r#"{"\u0061": 3}"#), Some(3));
        for text in [
            r#"{"a": 3, "a": 3}"#,
            r#"{"a": 3, "b": 1, "b": 2}"#,
            r#"{"a": 3, "b": {"c": 1, "c": 1}}"#,
            r#"{"a": 3,}"#,
            r#"{"a": 3, "b": }"#,
            r#"{"a": 3, "b": 01}"#,
            r#"{"a" 3}"#,
            r#"{"a": 3"#,
            r#"{"a": 3}}"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
