//! Places in the text of a document.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use crate::diagnostic::Position;
use crate::read::text;
use crate::read::tree::{Kind, Node};

/// The text of a document, for finding the place of a JSON pointer (clause FMT-07). Finding many places costs little more
/// than finding one.
pub struct Source<'a> {
    text: &'a str,
    root: Option<Node<'a>>,
    /// What the larger containers hold that some pointer has led through, by where they begin.
    parts: RefCell<HashMap<usize, Parts<'a>>>,
    lines: OnceCell<Lines>,
}

/// Containers of so many bytes are quickly read again.
const SMALL: usize = 1 << 10;

/// Names of members, empty for elements, and where the values begin.
type Parts<'a> = Rc<[(Cow<'a, str>, usize)]>;

impl<'a> Source<'a> {
    /// A text that may be anything; no place is found in one that is not JSON.
    pub fn new(text: &'a str) -> Source<'a> {
        let root = text::check(text).ok();
        Source { text, root, parts: RefCell::default(), lines: OnceCell::new() }
    }

    /// The bytes of the value that `pointer` names. Of a value that is not there, its nearest ancestor's.
    pub fn range(&self, pointer: &str) -> Option<Range<usize>> {
        Some(self.find(pointer)?.range())
    }

    /// Line and column of the value that `pointer` names.
    pub fn position(&self, pointer: &str) -> Option<Position> {
        Some(self.position_at(self.find(pointer)?.start()))
    }

    /// Line and column of a byte.
    pub fn position_at(&self, offset: usize) -> Position {
        self.lines.get_or_init(|| Lines::new(self.text)).position(self.text, offset)
    }

    fn find(&self, pointer: &str) -> Option<Node<'a>> {
        let mut node = self.root?;
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            let parts = self.parts(node);
            let child = match node.kind() {
                Kind::Object => parts.iter().rev().find(|(name, _)| *name == token),
                Kind::Array => token.parse::<usize>().ok().and_then(|index| parts.get(index)),
                _ => None,
            };
            match child {
                Some((_, start)) => node = node.at(*start),
                None => break,
            }
        }
        Some(node)
    }

    fn parts(&self, node: Node<'a>) -> Parts<'a> {
        let elements = || node.elements().map(|element| (Cow::default(), element.start()));
        let members = || node.members().map(|(name, value)| (name, value.start()));
        if let Some(known) = self.parts.borrow().get(&node.start()) {
            return Rc::clone(known);
        }
        let parts: Parts<'a> = elements().chain(members()).collect();
        let end = parts.last().map_or(0, |(_, last)| node.at(*last).range().end);
        if end > node.start() + SMALL {
            self.parts.borrow_mut().insert(node.start(), Rc::clone(&parts));
        }
        parts
    }
}

/// Bytes between two notes.
const STEP: usize = 1 << 16;

/// What has been counted at every so many bytes of a text, so that no position has to be counted from the beginning.
struct Lines(Vec<Note>);

/// Of a place.
#[derive(Clone, Copy, Default)]
struct Note {
    /// Lines that end before it.
    lines: usize,
    /// Where its own line begins.
    line_start: usize,
    /// Characters before it.
    characters: usize,
}

impl Note {
    /// Of the place behind these bytes, which begin at `start`.
    fn advance(self, bytes: &[u8], start: usize) -> Note {
        let newlines = bytes.iter().filter(|&&byte| byte == b'\n').count();
        let last = bytes.iter().rposition(|&byte| byte == b'\n');
        Note {
            lines: self.lines + newlines,
            line_start: last.map_or(self.line_start, |last| start + last + 1),
            // A character is as many bytes as begin one: those that do not go on with one.
            characters: self.characters + bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count(),
        }
    }
}

impl Lines {
    fn new(text: &str) -> Lines {
        let mut notes = vec![Note::default()];
        let mut last = Note::default();
        for (index, bytes) in text.as_bytes().chunks(STEP).enumerate() {
            last = last.advance(bytes, index * STEP);
            notes.push(last);
        }
        Lines(notes)
    }

    fn note(&self, text: &str, offset: usize) -> Note {
        let step = offset / STEP;
        let start = step * STEP;
        let bytes = text.as_bytes().get(start..offset).unwrap_or_default();
        self.0.get(step).copied().unwrap_or_default().advance(bytes, start)
    }

    fn position(&self, text: &str, offset: usize) -> Position {
        let here = self.note(text, offset.min(text.len()));
        let line = self.note(text, here.line_start);
        Position { line: here.lines + 1, column: here.characters - line.characters + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_a_count_from_the_beginning() {
        let line = |length: usize| format!("{}é\n", "a".repeat(length));
        let text = line(3) + &line(STEP - 6) + &line(0) + &line(2 * STEP) + "é";
        let lines = Lines::new(&text);
        let near = |at: usize| at.saturating_sub(9)..at + 9;
        let places = [0, STEP, 2 * STEP, 3 * STEP, text.len()].into_iter().flat_map(near);
        for offset in places.filter(|&offset| text.is_char_boundary(offset) || offset > text.len()) {
            assert_eq!(lines.position(&text, offset), Position::of_offset(&text, offset), "at {offset}");
        }
    }

    #[test]
    fn pointers_lead_to_values_or_their_nearest_ancestors() {
        let text = format!(
            "{{\"a/b\": [10, {{\"c\": 1, \"c\": 2}}],\n \"d\": \"\\\"\", \"e\": \"{}\"}}",
            " ".repeat(SMALL)
        );
        let text = &text;
        let source = Source::new(text);
        let at = |pointer: &str| source.range(pointer).map(|range| &text[range]);
        // The second time, the object is known and the array, a small one, is not.
        for _ in 0..2 {
            assert_eq!(at("/a~1b/0"), Some("10"));
            // Of two, the last counts.
            assert_eq!(at("/a~1b/1/c"), Some("2"));
            assert_eq!(at("/a~1b/7/c"), Some("[10, {\"c\": 1, \"c\": 2}]"));
            assert_eq!(at("/d/0"), Some("\"\\\"\""));
            assert_eq!(at(""), Some(text.as_str()));
        }
        assert_eq!(source.parts.borrow().len(), 1);
        assert_eq!(source.position("/d"), Some(Position { line: 2, column: 7 }));
        assert_eq!(Source::new("[1,").range(""), None);
    }
}
