//! JSON, read as strictly as FMT-01 asks: of the protocol's lines, and of documents for who wants it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A JSON value. Numbers keep their text, objects the order of their members.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it stands.
    Number(String),
    /// A string, its escapes resolved.
    String(String),
    /// The elements.
    Array(Vec<Json>),
    /// The members, of which a name may occur twice: see [`parse`].
    Object(Vec<(String, Json)>),
}

/// Why bytes are no JSON, and at which of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Where the text can no longer be continued, in bytes.
    pub offset: usize,
    /// What is wrong there.
    pub why: &'static str,
}

impl std::fmt::Display for JsonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.why)
    }
}

impl std::error::Error for JsonError {}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::String(text.to_owned())
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Json {
        Json::Number(value.to_string())
    }
}

impl Json {
    /// An array of strings.
    pub fn strings<S: AsRef<str>>(values: &[S]) -> Json {
        Json::Array(values.iter().map(|value| Json::from(value.as_ref())).collect())
    }

    /// The member of an object; of several the last.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let Json::Object(members) = self else { return None };
        members.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Json::String(text) = self { Some(text) } else { None }
    }

    /// The elements of an array.
    pub fn as_array(&self) -> Option<&[Json]> {
        if let Json::Array(items) = self { Some(items) } else { None }
    }

    /// The value of an integer text of 64 bits: no fraction, no exponent, not `-0`.
    pub fn as_i64(&self) -> Option<i64> {
        if let Json::Number(text) = self { text.parse().ok().filter(|_| text != "-0") } else { None }
    }

    /// The text on one line, in ASCII.
    pub fn dump(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        match self {
            Json::Null => text.push_str("null"),
            Json::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Json::Number(number) => text.push_str(number),
            Json::String(string) => quote(string, text),
            Json::Array(items) => {
                text.push('[');
                for (n, item) in items.iter().enumerate() {
                    text.push_str(if n > 0 { "," } else { "" });
                    item.write(text);
                }
                text.push(']');
            }
            Json::Object(members) => {
                text.push('{');
                for (n, (name, value)) in members.iter().enumerate() {
                    text.push_str(if n > 0 { "," } else { "" });
                    quote(name, text);
                    text.push(':');
                    value.write(text);
                }
                text.push('}');
            }
        }
    }
}

/// Writes a string as FMT-06 calls canonical.
fn quote(string: &str, text: &mut String) {
    text.push('"');
    for c in string.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            ' '..='~' => text.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
        }
    }
    text.push('"');
}

/// Reads bytes.
///
/// # Errors
/// They are no JSON (S01), have a number beyond binary64, or are nested deeper than 1000 levels.
pub fn parse(bytes: &[u8]) -> Result<Json, JsonError> {
    parse_with_repeats(bytes).map(|(value, _)| value)
}

/// Reads bytes, and says which names occur twice in one object (S02).
///
/// # Errors
/// Those of [`parse`].
pub fn parse_with_repeats(bytes: &[u8]) -> Result<(Json, Vec<String>), JsonError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| JsonError { offset: error.valid_up_to(), why: "the bytes are not UTF-8" })?;
    let mut reader = Reader { text, at: 0, repeated: Vec::new() };
    let value = reader.value(1)?;
    reader.space();
    if reader.at < text.len() {
        return reader.fail("text after the value");
    }
    Ok((value, reader.repeated))
}

const DEEPEST: usize = 1000;

struct Reader<'t> {
    text: &'t str,
    at: usize,
    repeated: Vec<String>,
}

impl<'t> Reader<'t> {
    fn fail<T>(&self, why: &'static str) -> Result<T, JsonError> {
        Err(JsonError { offset: self.at, why })
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The byte here; 0 at the end, which no JSON has.
    fn look(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn space(&mut self) {
        while matches!(self.look(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: u8) -> bool {
        self.space();
        let taken = self.look() == wanted;
        self.at += usize::from(taken);
        taken
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > DEEPEST {
            return self.fail("nested deeper than 1000 levels");
        }
        self.space();
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))]
        {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        match self.look() {
            b'"' => Ok(Json::String(self.string()?)),
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                if !self.take(b']') {
                    loop {
                        items.push(self.value(depth + 1)?);
                        if !self.take(b',') {
                            break;
                        }
                    }
                    if !self.take(b']') {
                        return self.fail("`,` or `]` was expected");
                    }
                }
                Ok(Json::Array(items))
            }
            b'{' => self.members(depth),
            _ => self.number(),
        }
    }

    fn members(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut members = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            if self.look() != b'"' {
                return self.fail("a name was expected");
            }
            let name = self.string()?;
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            if *count == 2 {
                self.repeated.push(name.clone());
            }
            if !self.take(b':') {
                return self.fail("`:` was expected");
            }
            members.push((name, self.value(depth + 1)?));
            if !self.take(b',') {
                break;
            }
        }
        if self.take(b'}') { Ok(Json::Object(members)) } else { self.fail("`,` or `}` was expected") }
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while self.look().is_ascii_digit() {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let from = self.at;
        self.at += usize::from(self.look() == b'-');
        let zero = self.look() == b'0';
        match self.digits() {
            0 => return self.fail("no JSON value"),
            1 => {}
            _ if zero => return self.fail("a leading zero"),
            _ => {}
        }
        if self.look() == b'.' {
            self.at += 1;
            if self.digits() == 0 {
                return self.fail("a digit was expected");
            }
        }
        if matches!(self.look(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.look(), b'+' | b'-'));
            if self.digits() == 0 {
                return self.fail("a digit was expected");
            }
        }
        let text = self.text.get(from..self.at).unwrap_or_default();
        if text.parse::<f64>().is_ok_and(f64::is_finite) {
            Ok(Json::Number(text.to_owned()))
        } else {
            self.fail("a number beyond binary64")
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let mut found = String::new();
        self.at += 1;
        loop {
            let Some(c) = self.rest().chars().next() else {
                return self.fail("the text ends within a string");
            };
            match c {
                '\0'..='\u{1f}' => return self.fail("a control character within a string"),
                '"' => {
                    self.at += 1;
                    return Ok(found);
                }
                '\\' => {
                    self.at += 1;
                    found.push(self.escape()?);
                }
                c => {
                    self.at += c.len_utf8();
                    found.push(c);
                }
            }
        }
    }

    /// What an escape stands for, from behind its `\`.
    fn escape(&mut self) -> Result<char, JsonError> {
        let c = match self.look() {
            c @ (b'"' | b'\\' | b'/') => char::from(c),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                let high = self.unit()?;
                if !(0xd800..=0xdfff).contains(&high) {
                    return Ok(char::from_u32(high).unwrap_or_default());
                }
                if high > 0xdbff || !self.rest().starts_with("\\u") {
                    return self.fail("half of a surrogate pair");
                }
                self.at += 2;
                let low = self.unit()?;
                if !(0xdc00..=0xdfff).contains(&low) {
                    return self.fail("half of a surrogate pair");
                }
                return Ok(
                    char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)).unwrap_or_default()
                );
            }
            _ => return self.fail("no escape"),
        };
        self.at += 1;
        Ok(c)
    }

    fn unit(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(value) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
            return self.fail("four hexadecimal digits were expected");
        };
        self.at += 4;
        Ok(value)
    }
}
