//! Text from a worker, made safe to print.

/// The longest excerpt, in characters.
const EXCERPT: usize = 200;

/// The beginning of what a worker wrote, on one line and without control characters: a report must not be at the
/// mercy of the implementation that it is about.
pub fn excerpt(bytes: &[u8]) -> String {
    // Enough bytes for the characters that are kept, however long the line is.
    let head = bytes.get(..bytes.len().min(4 * EXCERPT + 4)).unwrap_or(bytes);
    let text = String::from_utf8_lossy(head);
    let text = text.trim_end_matches(['\n', '\r']);
    let mut shown = String::new();
    for character in text.chars().take(EXCERPT) {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if text.chars().nth(EXCERPT).is_some() {
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
    }
}
