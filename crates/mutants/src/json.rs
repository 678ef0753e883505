//! The text of a document (clause FMT-01): rules S01 and S02.

use crate::steps::Steps;

/// A JSON value; numbers as they were written.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// The text of a number.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object, in the order of the document.
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The name.
    pub name: String,
    /// The name as it was written, escapes and all.
    pub raw: String,
    /// The value.
    pub value: Json,
}

/// How deep a reader has to go.
const DEPTH: usize = 128;

/// Reads a document; nothing if it breaks S01.
pub fn read(steps: &Steps, bytes: &[u8]) -> Option<Json> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) if steps.errs("text-bytes-replaced") => String::from_utf8_lossy(bytes).into_owned(),
        Err(_) => return None,
    };
    let mut reader = Reader { steps, text: text.chars().collect(), at: 0 };
    if reader.peek() == Some('\u{feff}') && steps.errs("text-byte-order-mark") {
        reader.at += 1;
    }
    reader.space();
    let value = reader.value(1)?;
    reader.space();
    if reader.at < reader.text.len() && !steps.errs("text-after-the-value") {
        return None;
    }
    Some(value)
}

struct Reader<'s> {
    steps: &'s Steps,
    text: Vec<char>,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn starts(&self, word: &str) -> bool {
        word.chars().enumerate().all(|(i, c)| self.text.get(self.at + i) == Some(&c))
    }

    fn space(&mut self) {
        while let Some(found) = self.peek() {
            let is_space = match found {
                ' ' | '\n' => true,
                '\t' => self.steps.step("text-tab-refused", true, || false),
                '\r' => self.steps.step("text-return-refused", true, || false),
                '\u{b}' | '\u{c}' => self.steps.errs("text-form-feed"),
                c if c.is_whitespace() => self.steps.errs("text-wide-space"),
                _ => false,
            };
            if is_space {
                self.at += 1;
            } else if self.starts("//") && self.steps.errs("text-comment-of-a-line") {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            } else if self.starts("/*") && self.steps.errs("text-comment-of-a-block") {
                while self.at < self.text.len() && !self.starts("*/") {
                    self.at += 1;
                }
                self.at += 2;
            } else {
                break;
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        match self.peek()? {
            '{' | '[' => {
                let refuses = depth > DEPTH;
                let refuses = self.steps.step("text-depth-of-127", refuses, || depth > DEPTH - 1);
                let refuses = self.steps.step("text-depth-of-64", refuses, || depth > 64);
                let refuses = self.steps.step("text-depth-of-32", refuses, || depth > 32);
                match (refuses, self.peek()?) {
                    (true, _) => None,
                    (false, '{') => self.object(depth),
                    (false, _) => self.list(depth),
                }
            }
            '"' => Some(Json::Text(self.string('"')?.0)),
            '\'' if self.steps.errs("text-single-quotes") => Some(Json::Text(self.string('\'')?.0)),
            '-' | '+' | '.' | '0'..='9' => self.number(),
            _ => self.literal(),
        }
    }

    fn literal(&mut self) -> Option<Json> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_alphabetic()) {
            self.at += 1;
        }
        let word: String = self.text.get(start..self.at)?.iter().collect();
        match word.as_str() {
            "null" => return Some(Json::Null),
            "true" => return Some(Json::Bool(true)),
            "false" => return Some(Json::Bool(false)),
            "NaN" if self.steps.errs("text-nan") => return Some(Json::Number("0.0".to_owned())),
            "Infinity" if self.steps.errs("text-infinity") => return Some(Json::Number("1e308".to_owned())),
            _ => {}
        }
        let lower = word.to_ascii_lowercase();
        let known = ["null", "true", "false", "none"].contains(&lower.as_str());
        match (known && self.steps.errs("text-literals-in-any-case"), lower.as_str()) {
            (true, "true") => Some(Json::Bool(true)),
            (true, "false") => Some(Json::Bool(false)),
            (true, _) => Some(Json::Null),
            (false, _) => None,
        }
    }

    fn list(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.take(']') {
            return Some(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.take(']') {
                return Some(Json::List(items));
            }
            match self.peek() {
                Some(',') => self.at += 1,
                None if self.steps.errs("text-cut-short") => return Some(Json::List(items)),
                _ => return None,
            }
            self.space();
            if self.peek() == Some(']') && self.steps.errs("text-trailing-comma-in-array") {
                self.at += 1;
                return Some(Json::List(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        let mut members = Vec::new();
        self.space();
        if self.take('}') {
            return Some(Json::Object(members));
        }
        loop {
            let (name, raw) = match self.peek()? {
                '"' => self.string('"')?,
                '\'' if self.steps.errs("text-single-quotes") => self.string('\'')?,
                c if c.is_alphabetic() && self.steps.errs("text-bare-names") => self.bare(),
                _ => return None,
            };
            self.space();
            if !self.take(':') {
                return None;
            }
            self.space();
            let value = self.value(depth + 1)?;
            members.push(Member { name, raw, value });
            self.space();
            if self.take('}') {
                return Some(Json::Object(members));
            }
            match self.peek() {
                Some(',') => self.at += 1,
                None if self.steps.errs("text-cut-short") => return Some(Json::Object(members)),
                _ => return None,
            }
            self.space();
            if self.peek() == Some('}') && self.steps.errs("text-trailing-comma-in-object") {
                self.at += 1;
                return Some(Json::Object(members));
            }
        }
    }

    fn bare(&mut self) -> (String, String) {
        let mut name = String::new();
        while let Some(c) = self.peek().filter(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
            self.at += 1;
        }
        (name.clone(), name)
    }

    /// A string, and as it was written.
    fn string(&mut self, quote: char) -> Option<(String, String)> {
        self.at += 1;
        let (start, mut text) = (self.at, String::new());
        loop {
            let found = self.peek()?;
            self.at += 1;
            match found {
                c if c == quote => break,
                '\\' => text.push(self.escape()?),
                c if c < ' ' => {
                    if !self.steps.errs("text-control-characters") {
                        return None;
                    }
                    text.push(c);
                }
                '\u{7f}' if self.steps.errs("text-delete-refused") => return None,
                c if !c.is_ascii() && self.steps.errs("text-only-ascii") => return None,
                c => text.push(c),
            }
        }
        let raw = self.text.get(start..self.at - 1)?.iter().collect();
        Some((text, raw))
    }

    fn escape(&mut self) -> Option<char> {
        let found = self.peek()?;
        self.at += 1;
        Some(match found {
            '"' | '\\' => found,
            '/' => self.steps.step("text-escaped-slash-refused", Some('/'), || None)?,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode(),
            c if self.steps.errs("text-any-escape") => c,
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let digits: String = self.text.get(self.at..self.at + 4)?.iter().collect();
        let upper = digits.chars().any(|c| c.is_ascii_uppercase());
        let is_hex = digits.chars().all(|c| c.is_ascii_hexdigit());
        if !is_hex || upper && self.steps.errs("text-upper-case-digits-refused") {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(&digits, 16).ok()
    }

    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if first == 0 && self.steps.errs("text-nul-refused") {
            return None;
        }
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first);
        }
        let lone = if first < 0xdc00 { "text-lone-high-surrogate" } else { "text-lone-low-surrogate" };
        if first < 0xdc00 && self.starts("\\u") {
            let back = self.at;
            self.at += 2;
            match self.hex() {
                Some(second @ 0xdc00..0xe000) if !self.steps.errs("text-pairs-refused") => {
                    return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
                }
                _ => self.at = back,
            }
        }
        self.steps.errs(lone).then_some('\u{fffd}')
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.at;
        if self.peek() == Some('+') {
            if !self.steps.errs("text-plus-sign") {
                return None;
            }
            self.at += 1;
        }
        if self.take('-') && self.starts("Infinity") && self.steps.errs("text-infinity") {
            self.at += "Infinity".len();
            return Some(Json::Number("-1e308".to_owned()));
        }
        let whole = self.digits();
        let zeros = whole > 1 && self.text.get(self.at - whole) == Some(&'0');
        if zeros && !self.steps.errs("text-leading-zeros")
            || whole == 0 && !self.steps.errs("text-point-first")
        {
            return None;
        }
        if self.take('.') && self.digits() == 0 && !self.steps.errs("text-point-last") {
            return None;
        }
        if let Some(mark @ ('e' | 'E')) = self.peek() {
            self.at += 1;
            if mark == 'E' && self.steps.errs("text-upper-exponent-refused") {
                return None;
            }
            if self.take('+') {
                if self.steps.errs("text-exponent-plus-refused") {
                    return None;
                }
            } else {
                self.take('-');
            }
            if self.digits() == 0 && !self.steps.errs("text-empty-exponent") {
                return None;
            }
        }
        let text: String = self.text.get(start..self.at)?.iter().collect();
        Some(Json::Number(text))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }
}

/// What the objects of a document are called, by the name of the member that holds them.
fn place(place: &'static str, name: &str) -> &'static str {
    match (place, name) {
        ("unknown" | "meta", _) => place,
        ("program", "buffers") => "buffer",
        ("program", "counters") => "counter",
        ("program", "tasks") => "task",
        ("program", "pages") => "pages",
        ("program", "target") => "target",
        ("program", "config") => "config",
        ("program", "meta") => "meta",
        ("task", "waits") => "wait",
        ("task", "params") => "params",
        ("pages", "pages") => "page",
        ("pages", "buffer_to_page") => "buffer_to_page",
        ("config", "tiling" | "sm_assignment") => "map",
        ("map", _) => "map",
        _ => "unknown",
    }
}

/// Whether some object has two members of one name (rule S02).
pub fn has_duplicates(steps: &Steps, value: &Json, at: &'static str) -> bool {
    match value {
        Json::List(items) => {
            let items = items.iter().filter(|_| at != "unknown" || !steps.errs("duplicates-below-arrays"));
            items.fold(false, |found, item| has_duplicates(steps, item, at) | found)
        }
        Json::Object(members) => {
            let pairs = || {
                let later = |i: usize| members.get(i + 1..).unwrap_or_default();
                members.iter().enumerate().flat_map(move |(i, a)| later(i).iter().map(move |b| (a, b)))
            };
            let found = pairs().any(|(a, b)| a.name == b.name);
            let found = steps.step_of(["duplicates-ignored", at, ""], found, || false);
            let found = steps.step("duplicates-by-spelling", found, || pairs().any(|(a, b)| a.raw == b.raw));
            let found = steps.step("duplicates-only-with-other-values", found, || {
                pairs().any(|(a, b)| a.name == b.name && a.value != b.value)
            });
            let found = steps.step("duplicates-only-side-by-side", found, || {
                members.windows(2).any(|pair| pair[0].name == pair[1].name)
            });
            let found = steps.step("duplicates-only-with-the-first", found, || {
                members
                    .iter()
                    .skip(1)
                    .any(|other| members.first().is_some_and(|first| first.name == other.name))
            });
            let found = steps.step("duplicates-in-any-case", found, || {
                pairs().any(|(a, b)| a.name.eq_ignore_ascii_case(&b.name))
            });
            let mut found = found;
            for member in members {
                found |= has_duplicates(steps, &member.value, place(at, &member.name));
            }
            found
        }
        _ => false,
    }
}
