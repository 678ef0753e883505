//! Rules S01 not-json and S02 duplicate-member.

use serde::de::{Deserialize, IgnoredAny};

use crate::diagnostic::{Diagnostic, Position};
use crate::read::members::join;
use crate::read::tree::{self, Kind, Node};
use crate::rule::Rule;
use crate::text::{Checked, first_repeated};

/// Deeper documents are refused; the nesting that every reader has to support (clause FMT-01).
pub const MAX_DEPTH: usize = 128;

/// The text of a document, which has to be UTF-8 (S01).
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, Box<Diagnostic>> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok());
        let position = valid.map(|valid| Position::of_offset(valid, valid.len()));
        let message =
            format!("not JSON: byte {} is not UTF-8; save the document as UTF-8", error.valid_up_to());
        Box::new(Diagnostic { position, ..Diagnostic::new(Rule::S01, "", message) })
    })
}

/// The value of a JSON text, or what is wrong with it (S01).
pub(super) fn check(text: &str) -> Result<Node<'_>, Box<Diagnostic>> {
    let not_json = |message: String, position| {
        Box::new(Diagnostic::new(Rule::S01, "", format!("not JSON: {message}")).at(position))
    };
    if text.starts_with('\u{feff}') {
        let message = "the text begins with a byte order mark; remove it".to_owned();
        return Err(not_json(message, Position { line: 1, column: 1 }));
    }
    if let Some(offset) = too_deep(text, MAX_DEPTH) {
        let message = format!("nested deeper than {MAX_DEPTH} levels");
        return Err(not_json(message, Position::of_offset(text, offset)));
    }
    let error = match parse::<Checked<false>>(text) {
        Ok(Checked) => None,
        // A number that binary64 cannot hold is JSON all the same; what comes after it need not be.
        Err(error) if is_number_range(&error) => match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => {
                if let Some((offset, reason)) = tree::wrong_string(text) {
                    return Err(not_json(reason, Position::of_offset(text, offset)));
                }
                None
            }
            Err(error) => Some(error),
        },
        Err(error) => Some(error),
    };
    match error {
        None => Ok(Node::root(text)),
        Some(error) => {
            let message = error.to_string();
            let reason = message.rsplit_once(" at line ").map_or(&*message, |(reason, _)| reason).to_owned();
            Err(not_json(reason, position_of(text, &error)))
        }
    }
}

/// A value of a text. The JSON reader by itself stops at a depth that a document may have.
pub(super) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    match serde_json::from_str(text) {
        Err(error)
            if error.to_string().starts_with("recursion limit") && too_deep(text, MAX_DEPTH).is_none() =>
        {
            let mut reader = serde_json::Deserializer::from_str(text);
            reader.disable_recursion_limit();
            let value = T::deserialize(&mut reader)?;
            reader.end()?;
            Ok(value)
        }
        other => other,
    }
}

/// Where the JSON reader stopped. It counts columns in bytes, up to the last one that it has read, none at the beginning
/// of a line.
pub(super) fn position_of(text: &str, error: &serde_json::Error) -> Position {
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let before = line.char_indices().take_while(|(offset, _)| offset + 1 < error.column()).count();
    Position { line: error.line().max(1), column: before + 1 }
}

fn is_number_range(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("number out of range")
}

/// The byte offset at which brackets outside strings open more levels than `most`.
pub fn too_deep(text: &str, most: usize) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (offset, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > most {
            return Some(offset);
        }
    }
    None
}

/// Objects that name a member twice (S02).
pub(super) fn duplicates(root: Node<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    visit(root, &mut String::new(), &mut found);
    found
}

fn visit(node: Node<'_>, pointer: &mut String, found: &mut Vec<Diagnostic>) {
    let length = pointer.len();
    match node.kind() {
        Kind::Array => {
            for (index, element) in node.elements().enumerate() {
                join(pointer, &index.to_string());
                visit(element, pointer, found);
                pointer.truncate(length);
            }
        }
        Kind::Object => {
            let members: Vec<_> = node.members().collect();
            let repeated = first_repeated(members.iter().map(|(name, _)| &**name));
            for (index, (name, value)) in members.into_iter().enumerate() {
                join(pointer, &name);
                if repeated == Some(index) {
                    let message = format!("the object names the member `{name}` twice; keep one of them");
                    found.push(Diagnostic::new(Rule::S02, pointer.clone(), message));
                }
                visit(value, pointer, found);
                pointer.truncate(length);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn rejected(bytes: &[u8]) -> (Rule, Option<Position>) {
        let found = read(bytes).expect_err("the document is no program");
        (found[0].rule, found[0].position)
    }

    #[test]
    fn s01_gives_line_and_column() {
        assert_eq!(rejected(b"{\n  \"a\": nope}"), (Rule::S01, Some(Position { line: 2, column: 9 })));
        assert_eq!(rejected("[\"é\", nope]".as_bytes()), (Rule::S01, Some(Position { line: 1, column: 8 })));
        assert_eq!(rejected(b""), (Rule::S01, Some(Position { line: 1, column: 1 })));
        assert_eq!(rejected(b"[\n"), (Rule::S01, Some(Position { line: 2, column: 1 })));
        assert_eq!(rejected(b"\xef\xbb\xbf{}").0, Rule::S01);
        assert_eq!(rejected(b"{}{}").0, Rule::S01);
        assert_eq!(rejected(b"{\"a\": NaN}").0, Rule::S01);
        assert_eq!(rejected(b"ab\xff"), (Rule::S01, Some(Position { line: 1, column: 3 })));
        assert_eq!(rejected(br#"{"a": "\ud800"}"#).0, Rule::S01);
        assert_eq!(rejected("[".repeat(100_000).as_bytes()).0, Rule::S01);
    }

    /// Whatever a later stage would find, and however a reader fails before it has seen all of the text.
    #[test]
    fn s01_comes_first_and_no_deeper_than_it_says() {
        let nested = |inner: &str, depth: usize| {
            format!(r#"{{"meta": {{"a": {}{}}}, {inner}}}"#, "[".repeat(depth - 2), "]".repeat(depth - 2))
        };
        for (inner, rule) in [
            (r#""ir_version": "1.0.0""#, Rule::S06),
            (r#""tasks": {}"#, Rule::S03),
            (r#""a": 1, "a": 1"#, Rule::S02),
        ] {
            let found = read(nested(inner, 128).as_bytes()).expect_err("it breaks a rule of a later stage");
            assert!(found.iter().any(|diagnostic| diagnostic.rule == rule), "{inner}: {found:?}");
            assert_eq!(rejected(nested(inner, 129).as_bytes()).0, Rule::S01, "{inner}");
        }
        let versions =
            r#""ir_version": "0.2.0", "abi_version": "0.2", "buffers": [], "counters": [], "tasks": []"#;
        let unknown = nested(versions, 128).replacen("meta", "more", 1);
        assert!(read(unknown.as_bytes()).is_ok());
        for (number, rule) in [("1e999", Rule::S16), ("18446744073709551616", Rule::S16), ("2.5", Rule::S16)]
        {
            let waits =
                format!(r#"{{"tasks": [{{"waits": [{{"threshold": {number}}}], "label": "LABEL"}}]}}"#);
            let found = read(waits.as_bytes()).expect_err("a threshold that is no integer");
            let at: Vec<_> =
                found.iter().filter(|d| d.pointer.ends_with("threshold")).map(|d| d.rule).collect();
            assert_eq!(at, [rule], "{number}");
            let escaped = waits.replace("LABEL", r"\\udc00");
            let found = read(escaped.as_bytes()).expect_err("a threshold that is no integer");
            assert!(found.iter().all(|diagnostic| diagnostic.rule != Rule::S01), "{number}: {found:?}");
            assert_eq!(rejected(waits.replace("LABEL", r"\udc00").as_bytes()).0, Rule::S01, "{number}");
        }
    }

    #[test]
    fn s02_finds_repeated_members_at_any_depth() {
        let text = br#"{"meta": {"a": [{"b": 1, "b": 2}]}}"#;
        let found = read(text).expect_err("a member repeats");
        let pointers: Vec<_> = found.iter().filter(|d| d.rule == Rule::S02).map(|d| &*d.pointer).collect();
        assert_eq!(pointers, ["/meta/a/0/b"]);
    }
}
