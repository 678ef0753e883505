//! Preprocessed C++ as tokens, for what the harness replaces in it.

use std::ops::Range;

/// What a token of C++ is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or a keyword.
    Word,
    /// A number, or a string or character with its quotes.
    Literal,
    /// A character of any other kind.
    Sign,
    /// A line that begins with `#`: where in which file what follows stands.
    Line,
}

/// The tokens of preprocessed text, which has no comments.
pub fn tokens(text: &str) -> Vec<(Kind, Range<usize>)> {
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80;
    let run = |from: usize, holds: &dyn Fn(u8) -> bool| {
        from + bytes[from..].iter().take_while(|byte| holds(**byte)).count()
    };
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut begins_line = true;
    while let Some(&byte) = bytes.get(at) {
        let (kind, end) = match byte {
            b'\n' => {
                begins_line = true;
                at += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'#' if begins_line => (Kind::Line, run(at, &|byte| byte != b'\n')),
            b'"' | b'\'' => (Kind::Literal, quoted(bytes, at)),
            // Quotes in a number are between its digits.
            _ if byte.is_ascii_digit() => {
                (Kind::Literal, run(at, &|byte| is_word(byte) || byte == b'\'' || byte == b'.'))
            }
            _ if is_word(byte) => {
                let end = run(at, &is_word);
                match (&text[at..end], bytes.get(end)) {
                    ("R" | "LR" | "uR" | "UR" | "u8R", Some(b'"')) => (Kind::Literal, raw(text, end)),
                    ("L" | "u" | "U" | "u8", Some(b'"' | b'\'')) => (Kind::Literal, quoted(bytes, end)),
                    _ => (Kind::Word, end),
                }
            }
            _ => (Kind::Sign, at + 1),
        };
        tokens.push((kind, at..end));
        at = end;
        begins_line = false;
    }
    tokens
}

/// The end of a string or character that opens at a place.
fn quoted(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            _ if byte == bytes[open] => return at + 1,
            // None that is right goes over a line.
            b'\n' => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of a raw string whose quote opens at a place.
fn raw(text: &str, open: usize) -> usize {
    let rest = &text[open + 1..];
    let end = rest.split_once('(').and_then(|(delimiter, _)| {
        rest.find(&format!("){delimiter}\"")).map(|close| close + delimiter.len() + 2)
    });
    end.map_or(text.len(), |end| open + 1 + end)
}

/// Words of one text, apart where they are so in it.
pub fn spaced(words: &[&str]) -> String {
    let mut text = String::new();
    for (n, word) in words.iter().enumerate() {
        let glued = n > 0 && words[n - 1].as_bytes().as_ptr_range().end == word.as_ptr();
        if n > 0 && !glued {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}

/// How many words stand between brackets that open with the first one, and these.
pub fn group(words: &[&str], [open, close]: [&str; 2]) -> Option<usize> {
    let mut depth = 0_i32;
    for (n, word) in words.iter().enumerate() {
        depth += i32::from(*word == open) - i32::from(*word == close);
        if depth == 0 {
            return Some(n + 1);
        }
    }
    None
}
