//! JSON text as a tree that nobody builds: a value is the place where it begins, and what it holds is found by reading on.
//! So a document of any size, however wrong, costs no memory beyond its text.
//!
//! The text has to be JSON. Of any other, as many parts are found as can be told, and some of them make no sense.

use std::borrow::Cow;
use std::ops::Range;

use crate::text::Text;

/// A value in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'a> {
    text: &'a str,
    start: usize,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind<'a> {
    Null,
    Bool(bool),
    /// The digits as they stand there.
    Number(&'a str),
    String(Cow<'a, str>),
    Array,
    Object,
}

impl<'a> Node<'a> {
    /// The value of a text.
    pub fn root(text: &'a str) -> Node<'a> {
        Node { text, start: past_space(text.as_bytes(), 0) }
    }

    /// The value that begins at a byte.
    pub fn at(self, start: usize) -> Node<'a> {
        Node { text: self.text, start }
    }

    /// Where it begins.
    pub fn start(self) -> usize {
        self.start
    }

    /// Its bytes.
    pub fn range(self) -> Range<usize> {
        self.start..end_of(self.text.as_bytes(), self.start)
    }

    /// What it is.
    pub fn kind(self) -> Kind<'a> {
        match self.text.as_bytes().get(self.start) {
            Some(b'[') => Kind::Array,
            Some(b'{') => Kind::Object,
            Some(b'"') => Kind::String(unescaped(self.token())),
            Some(b'n') => Kind::Null,
            Some(b't') => Kind::Bool(true),
            Some(b'f') => Kind::Bool(false),
            _ => Kind::Number(self.token()),
        }
    }

    /// The elements of an array.
    pub fn elements(self) -> impl Iterator<Item = Node<'a>> {
        let mut parts = self.parts(b'[');
        std::iter::from_fn(move || parts.next())
    }

    /// The members of an object, in their order.
    pub fn members(self) -> impl Iterator<Item = (Cow<'a, str>, Node<'a>)> {
        let mut parts = self.parts(b'{');
        std::iter::from_fn(move || Some((unescaped(parts.next()?.token()), parts.next()?)))
    }

    fn parts(self, opening: u8) -> Parts<'a> {
        let is_one = self.text.as_bytes().get(self.start) == Some(&opening);
        Parts { text: self.text, next: if is_one { self.start + 1 } else { self.text.len() } }
    }

    fn token(self) -> &'a str {
        self.text.get(self.range()).unwrap_or_default()
    }
}

/// The values between two brackets, names of members among them.
struct Parts<'a> {
    text: &'a str,
    next: usize,
}

impl<'a> Parts<'a> {
    fn next(&mut self) -> Option<Node<'a>> {
        let bytes = self.text.as_bytes();
        let mut start = past_space(bytes, self.next);
        if let Some(b',' | b':') = bytes.get(start) {
            start = past_space(bytes, start + 1);
        }
        if matches!(bytes.get(start), None | Some(b']' | b'}')) {
            self.next = bytes.len();
            return None;
        }
        self.next = end_of(bytes, start);
        Some(Node { text: self.text, start })
    }
}

fn past_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count()
}

/// The end of the value that begins at a byte; past that byte.
fn end_of(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0usize;
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'"' => end_of_string(bytes, at),
            b'[' | b'{' => {
                depth += 1;
                at + 1
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                at + 1
            }
            _ if depth > 0 => at + 1,
            _ => {
                let rest = bytes.get(at + 1..).unwrap_or_default();
                let is_end =
                    |byte: &u8| matches!(byte, b',' | b':' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
                at + 1 + rest.iter().position(is_end).unwrap_or(rest.len())
            }
        };
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// The end of the string that begins at a byte.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The first string of a JSON text that stands for no characters, such as one with half of a surrogate pair, and why.
pub(super) fn wrong_string(text: &str) -> Option<(usize, String)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(start) = bytes.get(at..).and_then(|rest| rest.iter().position(|&byte| byte == b'"')) {
        let start = at + start;
        at = end_of_string(bytes, start);
        let token = text.get(start..at).unwrap_or_default();
        if let Err(error) = serde_json::from_str::<Text<'_>>(token) {
            let message = error.to_string();
            let reason = message.rsplit_once(" at line ").map_or(&*message, |(reason, _)| reason);
            return Some((start, reason.to_owned()));
        }
    }
    None
}

fn unescaped(token: &str) -> Cow<'_, str> {
    serde_json::from_str::<Text<'_>>(token).map_or(Cow::Borrowed(token), |text| text.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        r#" { "a" : [1, -2.5e3 ,"x\"]\u00e9", {}, [ ] ], "b~":null,"":{"t":true, "f" :false}} "#;

    #[test]
    fn values_are_found_where_they_stand() {
        let root = Node::root(TEXT);
        assert_eq!(&TEXT[root.range()], TEXT.trim());
        let members: Vec<_> = root.members().collect();
        let names: Vec<_> = members.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["a", "b~", ""]);
        let elements: Vec<_> = members[0].1.elements().collect();
        let tokens: Vec<_> = elements.iter().map(|node| &TEXT[node.range()]).collect();
        assert_eq!(tokens, ["1", "-2.5e3", r#""x\"]\u00e9""#, "{}", "[ ]"]);
        assert_eq!(elements[1].kind(), Kind::Number("-2.5e3"));
        assert_eq!(elements[2].kind(), Kind::String("x\"]é".into()));
        assert!(elements[3].members().next().is_none() && elements[4].elements().next().is_none());
        assert_eq!(members[1].1.kind(), Kind::Null);
        let inner: Vec<_> = members[2].1.members().map(|(_, node)| node.kind()).collect();
        assert_eq!(inner, [Kind::Bool(true), Kind::Bool(false)]);
        assert!(root.elements().next().is_none() && elements[0].members().next().is_none());
    }

    /// Every prefix and every single deletion of a text: nothing panics or goes on for ever.
    #[test]
    fn what_is_no_json_ends_too() {
        fn count(node: Node<'_>) -> usize {
            1 + node.elements().map(count).sum::<usize>()
                + node.members().map(|(_, value)| count(value)).sum::<usize>()
        }
        assert_eq!(count(Node::root(TEXT)), 11);
        for cut in 0..TEXT.len() {
            let without = format!("{}{}", &TEXT[..cut], &TEXT[cut + 1..]);
            for text in [&TEXT[..cut], &without] {
                assert!(count(Node::root(text)) < 100, "{text}");
            }
        }
    }
}
