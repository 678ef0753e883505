//! Text from a worker, made safe to print, and names that a worker cannot guess.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// 64 bits that nobody can guess: the keys of the standard library's hashing come from the operating system.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A name of 32 hexadecimal digits that nobody can guess.
pub fn secret() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// The longest excerpt, in characters.
const EXCERPT: usize = 200;

/// The longest explanation, which says what stands where when a launch is stuck.
const EXPLANATION: usize = 1000;

/// The beginning of what a worker wrote, on one line and without control characters: a report must not be at the
/// mercy of the implementation that it is about.
pub fn excerpt(bytes: &[u8]) -> String {
    beginning(bytes, EXCERPT)
}

/// The same of what a worker gives as the reason why it has no answer, of which more is kept.
pub fn explanation(bytes: &[u8]) -> String {
    beginning(bytes, EXPLANATION)
}

fn beginning(bytes: &[u8], most: usize) -> String {
    // Enough bytes for the characters that are kept, however long the line is.
    let head = bytes.get(..bytes.len().min(4 * most + 4)).unwrap_or(bytes);
    let text = String::from_utf8_lossy(head);
    let text = text.trim_end_matches(['\n', '\r']);
    let mut shown = String::new();
    for character in text.chars().take(most) {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if text.chars().nth(most).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_and_has_no_control_characters() {
        assert_eq!(excerpt(b"plain\n"), "plain");
        assert_eq!(excerpt(b"\x1b[2Jx\ty"), "\\u{1b}[2Jx\\ty");
        assert_eq!(excerpt(b"\xff"), "\u{fffd}");
        let long = "é".repeat(100_000);
        let shown = excerpt(long.as_bytes());
        assert_eq!(shown.chars().count(), 203);
        assert!(shown.ends_with("..."));
        let explained = explanation(long.as_bytes());
        assert_eq!((explained.chars().count(), explained.ends_with("é...")), (1003, true));
    }
}
