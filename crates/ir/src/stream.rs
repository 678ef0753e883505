//! JSON, read from the start of a text to its end without a tree, for companions whose documents are large. Everything gives nothing where the text is not what is asked for: what is wrong
//! with it, [`crate::decode`] says. What is rare is left to `serde_json`: strings with escapes, and values of members that nobody knows.

use std::borrow::Cow;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use serde_json::value::RawValue;
use smallvec::SmallVec;

use crate::maps::check_extra;
use crate::model::{Extra, Text};
use crate::read::{MAX_DEPTH, too_deep};

/// A place in a text.
#[derive(Clone, Debug)]
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
    #[inline]
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
    #[inline]
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Option<()> {
        self.takes(byte).then_some(())
    }

    /// The begin of an array or an object.
    #[inline]
    fn begin(&mut self, bracket: u8) -> Option<()> {
        self.depth += 1;
        self.take(bracket)
    }

    /// Its end, if it is the next.
    #[inline]
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
        let begin = self.at;
        self.at += plain(&self.text.as_bytes()[begin..]);
        match *self.text.as_bytes().get(self.at)? {
            b'"' => self.at += 1,
            b'\\' => return self.escaped(begin),
            _ => return None,
        }
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

    /// An array as a list. A short one, as most are, has no room to spare.
    pub fn list<T>(&mut self, element: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.few::<T, 4>(element).map(SmallVec::into_vec)
    }

    /// An array as a list that takes no memory of its own where it is short.
    pub fn few<T, const N: usize>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<SmallVec<[T; N]>>
    where
        [T; N]: smallvec::Array<Item = T>,
    {
        let mut list = SmallVec::new();
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
        if extra.is_empty() { Some(()) } else { check_extra(&extra).ok() }
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

/// How many bytes stand before the first one that ends a string or begins an escape, or that no string has. Eight are looked at in one go.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    // Of each byte the highest bit: whether it is below that, which is right up to the first one that is.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & (ONES << 7);
    let (words, rest) = bytes.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
        let found = is(b'"') | is(b'\\') | below(word, 0x20);
        if found != 0 {
            return place * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    words.len() * 8 + rest.iter().position(ends).unwrap_or(rest.len())
}

/// The numbers of the names that were met.
#[derive(Debug, Default)]
pub struct Names<'t> {
    texts: Vec<Cow<'t, str>>,
    /// Each at the place that the hash of its key says, or the next one that was free. At least a quarter is free.
    places: Vec<Known>,
    hashes: RandomState,
}

/// A name that was met.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The bytes of a text of up to eight, which are not looked up elsewhere, and of others the hash.
    key: u64,
    /// How many bytes the text has.
    length: u32,
    number: u32,
}

impl Known {
    /// No name: the place is free.
    const NONE: Known = Known { key: 0, length: 0, number: u32::MAX };
}

impl<'t> Names<'t> {
    /// None yet.
    pub fn new() -> Names<'t> {
        Names::default()
    }

    /// The number of a name: how many others were met before it.
    pub fn number(&mut self, name: Cow<'t, str>) -> u32 {
        if 4 * self.texts.len() >= 3 * self.places.len() {
            self.grow();
        }
        let key = packed(name.as_bytes()).unwrap_or_else(|| self.hashes.hash_one(&*name));
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
        let mut place = self.first(key);
        loop {
            let known = self.places[place];
            if known.number == Known::NONE.number {
                break;
            }
            let is_like = known.key == key && known.length == length;
            if is_like && (length <= 8 || self.texts[known.number as usize] == name) {
                return known.number;
            }
            place = self.next(place);
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.places[place] = Known { key, length, number };
        self.texts.push(name);
        number
    }

    fn first(&self, key: u64) -> usize {
        self.hashes.hash_one(key) as usize & (self.places.len() - 1)
    }

    fn next(&self, place: usize) -> usize {
        (place + 1) & (self.places.len() - 1)
    }

    fn grow(&mut self) {
        let more = vec![Known::NONE; (2 * self.places.len()).max(256)];
        let before = std::mem::replace(&mut self.places, more);
        for known in before.into_iter().filter(|known| known.number != Known::NONE.number) {
            let mut place = self.first(known.key);
            while self.places[place].number != Known::NONE.number {
                place = self.next(place);
            }
            self.places[place] = known;
        }
    }

    /// The text of a number.
    pub fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }

    /// The names by their numbers.
    pub fn into_texts(self) -> Vec<String> {
        self.texts.into_iter().map(Cow::into_owned).collect()
    }
}

/// The bytes of a text of up to eight as a number, which with their count says which text it is.
fn packed(text: &[u8]) -> Option<u64> {
    let byte = |place: usize| u64::from(text[place]);
    let half = |half: &[u8; 4]| u64::from(u32::from_le_bytes(*half));
    match (text.len(), text.first_chunk(), text.last_chunk()) {
        (4..=8, Some(first), Some(last)) => Some(half(first) | half(last) << 32),
        (0, ..) => Some(0),
        (length @ 1..=3, ..) => Some(byte(0) | byte(length / 2) << 8 | byte(length - 1) << 16),
        _ => None,
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
    fn each_byte_ends_a_string_or_not_wherever_it_stands() {
        for special in 0..=u8::MAX {
            for (before, behind) in (0..18).flat_map(|before| (0..10).map(move |behind| (before, behind))) {
                // What is next to it is as close to what ends a string as a byte can be that does not.
                let mut bytes = [b'!', b' ', b'#', b'[', b']', 0xff].repeat(3);
                bytes.truncate(before);
                bytes.push(special);
                bytes.extend([b' ', b'!', 0x80, b'#'].repeat(3).iter().take(behind));
                let ends = special < 0x20 || special == b'"' || special == b'\\';
                assert_eq!(plain(&bytes), if ends { before } else { bytes.len() }, "{bytes:?}");
            }
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

    #[test]
    fn names_have_the_numbers_of_their_first_place() {
        let of_length = |length: usize| ["a", "b"].map(|byte| byte.repeat(length));
        let mut all: Vec<String> = (1..=20).flat_map(of_length).collect();
        // Those that differ in one byte, from the first one to the last, and one that is a byte longer, whatever the byte.
        for length in 1..=12 {
            for place in 0..length {
                let mut text = "x".repeat(length);
                text.replace_range(place..=place, "y");
                all.push(text);
            }
            all.push("\0".repeat(length));
        }
        all.push(String::new());
        all.extend((0..5_000).map(|number| format!("t{number}")));
        all.extend((0..5_000).map(|number| format!("a long name {number}")));
        let mut names = Names::new();
        for _ in 0..2 {
            for (number, text) in (0..).zip(&all) {
                assert_eq!(names.number(Cow::Borrowed(text)), number, "{text:?}");
                assert_eq!(names.text(number), text);
            }
        }
        assert_eq!(names.into_texts(), all);
    }
}
