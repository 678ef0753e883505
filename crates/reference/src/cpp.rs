//! Texts of documents in generated C++.

use std::fmt::Write as _;

/// Text for a comment: what could end or continue a line is replaced.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || c == '\\' || c == '?' { ' ' } else { c }).collect()
}

/// A C++ string literal. Bytes beyond ASCII are octal escapes, which end after three digits.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'"' && byte != b'\\' && byte != b'?' => quoted.push(char::from(byte)),
            _ => {
                let _ = write!(quoted, "\\{byte:03o}");
            }
        }
    }
    quoted.push('"');
    quoted
}
