//! The one reader of Markdown: headings, lines outside code, and code blocks, as CommonMark sees them.

use std::collections::BTreeMap;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

/// A heading of a Markdown file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// 1 for `#`.
    pub level: usize,
    /// The text after the marks, as it is written.
    pub text: String,
    /// Line, from 1.
    pub line: usize,
    /// Anchor, with `-1`, `-2` appended to repeats.
    pub anchor: String,
}

/// A fenced code block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeBlock {
    /// What stands behind the opening fence, such as `json`.
    pub info: String,
    /// The lines between the fences.
    pub text: String,
    /// Line of the opening fence, from 1.
    pub line: usize,
}

fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter()
}

/// Numbers of lines from 1, by offset.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    fn at(&self, offset: usize) -> usize {
        1 + self.0.partition_point(|&end| end < offset)
    }
}

/// The headings of a Markdown text.
pub fn headings(text: &str) -> Vec<Heading> {
    let lines = Lines::of(text);
    let mut out: Vec<Heading> = Vec::new();
    let mut repeats: BTreeMap<String, usize> = BTreeMap::new();
    for (event, range) in events(text) {
        let Event::Start(Tag::Heading { level, .. }) = event else { continue };
        let line = lines.at(range.start);
        let source = text.get(range).unwrap_or_default().lines().next().unwrap_or_default();
        let title = source.trim_start_matches('#').trim().trim_end_matches('#').trim_end().to_string();
        let plain = anchor(&title);
        let count = repeats.entry(plain.clone()).or_insert(0);
        let anchor = if *count == 0 { plain } else { format!("{plain}-{count}") };
        *count += 1;
        out.push(Heading { level: level as usize, text: title, line, anchor });
    }
    out
}

/// The fenced code blocks of a Markdown text.
pub fn code_blocks(text: &str) -> Vec<CodeBlock> {
    let lines = Lines::of(text);
    let mut out: Vec<CodeBlock> = Vec::new();
    let mut open = false;
    for (event, range) in events(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let line = lines.at(range.start);
                out.push(CodeBlock { info: info.into_string(), text: String::new(), line });
                open = true;
            }
            Event::Text(part) if open => {
                if let Some(block) = out.last_mut() {
                    block.text.push_str(&part);
                }
            }
            Event::End(_) => open = false,
            _ => {}
        }
    }
    out
}

/// A link or a picture of a Markdown text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it leads, as it is written.
    pub target: String,
    /// Where all of it stands in the text, in bytes.
    pub whole: Range<usize>,
    /// Where its target stands, if the link holds it: not what names a definition elsewhere, nor an address alone.
    pub place: Option<Range<usize>>,
    /// Line, from 1.
    pub line: usize,
}

/// The links of a Markdown text, in order.
pub fn links(text: &str) -> Vec<Link> {
    let lines = Lines::of(text);
    let mut out = Vec::new();
    for (event, whole) in events(text) {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else { continue };
        let source = text.get(whole.clone()).unwrap_or_default();
        let start = source.rfind("](").map(|at| at + 2).filter(|&at| {
            let rest = source.get(at..).unwrap_or_default();
            rest.strip_prefix(&*dest_url).is_some_and(|rest| rest.starts_with([')', ' ']))
        });
        let place = start.map(|at| whole.start + at..whole.start + at + dest_url.len());
        out.push(Link { target: dest_url.into_string(), line: lines.at(whole.start), whole, place });
    }
    out
}

/// The lines of a Markdown text that stand outside fenced code blocks, with their numbers from 1.
pub fn outside_fences(text: &str) -> Vec<(usize, &str)> {
    let lines = Lines::of(text);
    let mut fenced: Vec<Range<usize>> = Vec::new();
    for (event, range) in events(text) {
        if let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) = event {
            fenced.push(lines.at(range.start)..lines.at(range.end.saturating_sub(1)) + 1);
        }
    }
    let mut fenced = fenced.into_iter().peekable();
    let mut out = Vec::new();
    for (n, content) in text.lines().enumerate() {
        while fenced.next_if(|range| range.end <= n + 1).is_some() {}
        if fenced.peek().is_none_or(|range| !range.contains(&(n + 1))) {
            out.push((n + 1, content));
        }
    }
    out
}

/// The anchor that Markdown renderers give to a heading: lower case, spaces to dashes, other punctuation dropped.
fn anchor(title: &str) -> String {
    title
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c if c.is_alphanumeric() => Some(c),
            _ => None,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_follow_the_renderers() {
        let anchors: Vec<_> = headings("# The `run` call, in brief\n# A_b - C\n# A_b - C\n")
            .into_iter()
            .map(|h| h.anchor)
            .collect();
        assert_eq!(anchors, ["the-run-call-in-brief", "a_b---c", "a_b---c-1"]);
    }

    #[test]
    fn links_are_found_with_their_places() {
        let text = "[a](b.md#c) `[no](x)`\n![d](e.png \"f\") [`g`](h) <https://i.example> [j]\n\n[j]: k.md\n```\n[no](x)\n```\n";
        let found: Vec<_> = links(text)
            .into_iter()
            .map(|link| (link.target.clone(), link.line, link.place.map(|at| &text[at])))
            .collect();
        let expected = [
            ("b.md#c", 1, true),
            ("e.png", 2, true),
            ("h", 2, true),
            ("https://i.example", 2, false),
            ("k.md", 2, false),
        ];
        let expected: Vec<_> =
            expected.map(|(to, line, here)| (to.to_owned(), line, here.then_some(to))).into();
        assert_eq!(found, expected);
        assert_eq!(&text[links(text)[1].whole.clone()], "![d](e.png \"f\")");
    }

    #[test]
    fn code_is_told_from_text() {
        let text = "a\n```json x\n# b\n```\nc\n````\n```\nd\n````\n## e\n";
        let lines: Vec<_> = outside_fences(text);
        assert_eq!(lines, [(1, "a"), (5, "c"), (10, "## e")]);
        let blocks = code_blocks(text);
        assert_eq!(
            (blocks[0].info.as_str(), blocks[0].text.as_str(), blocks[0].line),
            ("json x", "# b\n", 2)
        );
        assert_eq!((blocks[1].text.as_str(), blocks[1].line), ("```\nd\n", 6));
        let found = headings(text);
        assert_eq!((found.len(), found[0].line, found[0].level), (1, 10, 2));
    }
}
