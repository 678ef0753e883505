//! The specification's text as data: every `.md` file under `spec/`, its headings and the ids they carry.
//!
//! A heading of level 3 that starts with an id defines it: `### S01 not-json` a rule, `### FMT-03 Unknown members`
//! a clause. Nothing else defines an id, so this reader is the single place that says what an id looks like.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Which family an id belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdKind {
    /// The letter or two letters of a class, and two digits: `S01`, `TS01`.
    Rule,
    /// Three letters, a dash and two digits: `FMT-03`.
    Clause,
}

/// One id as the specification defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// `S01` or `FMT-03`.
    pub id: String,
    /// Rule or clause.
    pub kind: IdKind,
    /// The rule's slug or the clause's title: the rest of the heading.
    pub title: String,
    /// Path of the file, relative to the repository, with `/`.
    pub path: String,
    /// Line of the heading, from 1.
    pub line: usize,
    /// Anchor of the heading inside its file, as Markdown renderers make it.
    pub anchor: String,
    /// The text below the heading, up to the next heading of the same or a higher level.
    pub body: String,
}

/// A heading of a Markdown file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// 1 for `#`.
    pub level: usize,
    /// The text after the marks.
    pub text: String,
    /// Line, from 1.
    pub line: usize,
    /// Anchor, with `-1`, `-2` appended to repeats.
    pub anchor: String,
}

/// All ids of the specification in order: rules by id, then clauses by id, with what is wrong about the headings.
#[derive(Debug, Default)]
pub struct Spec {
    /// Rules first, then clauses, each sorted by id.
    pub definitions: Vec<Definition>,
    /// Malformed or repeated ids, one message each, `path:line: what`.
    pub problems: Vec<String>,
}

impl Spec {
    /// Reads every `.md` file below `root/spec`.
    pub fn read(root: &Path) -> Result<Spec, String> {
        let mut files = Vec::new();
        for path in markdown_files(&root.join("spec"))? {
            let text =
                fs::read_to_string(&path).map_err(|e| format!("{}: cannot be read: {e}", path.display()))?;
            files.push((relative(root, &path), text));
        }
        Ok(Spec::from_files(&files))
    }

    /// The same from texts in memory: `(path, text)`.
    pub fn from_files(files: &[(String, String)]) -> Spec {
        let mut spec = Spec::default();
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for (path, text) in files {
            let lines: Vec<&str> = text.lines().collect();
            let headings = headings(text);
            for (n, heading) in headings.iter().enumerate() {
                let at = format!("{path}:{}", heading.line);
                let (word, title) = heading.text.split_once(' ').unwrap_or((&heading.text, ""));
                let Some(kind) = id_kind(word) else {
                    if looks_like_id(word) {
                        spec.problems.push(format!(
                            "{at}: heading starts with `{word}`, which is no id: write the letters of a class and two digits, \
                             or three letters, a dash and two digits"
                        ));
                    }
                    continue;
                };
                if heading.level != 3 {
                    spec.problems
                        .push(format!("{at}: `{word}` stands on level {}, required 3", heading.level));
                    continue;
                }
                let title = title.trim();
                if title.is_empty() || (kind == IdKind::Rule && !is_slug(title)) {
                    spec.problems.push(format!(
                        "{at}: `{word}` is followed by `{title}`, required {}",
                        if kind == IdKind::Rule { "a slug of a-z, 0-9 and dashes" } else { "a title" }
                    ));
                    continue;
                }
                if let Some(first) = seen.insert(word.to_string(), at.clone()) {
                    spec.problems.push(format!("{at}: `{word}` is already defined at {first}"));
                    continue;
                }
                let end = headings
                    .get(n + 1..)
                    .unwrap_or_default()
                    .iter()
                    .find(|next| next.level <= 3)
                    .map_or(lines.len(), |next| next.line - 1);
                spec.definitions.push(Definition {
                    id: word.to_string(),
                    kind,
                    title: title.to_string(),
                    path: path.clone(),
                    line: heading.line,
                    anchor: heading.anchor.clone(),
                    body: lines.get(heading.line..end).unwrap_or_default().join("\n"),
                });
            }
        }
        spec.definitions
            .sort_by(|a, b| (a.kind, class_order(&a.id), &a.id).cmp(&(b.kind, class_order(&b.id), &b.id)));
        spec
    }

    /// The rules, in order.
    pub fn rules(&self) -> impl Iterator<Item = &Definition> {
        self.definitions.iter().filter(|d| d.kind == IdKind::Rule)
    }

    /// The clauses, in order.
    pub fn clauses(&self) -> impl Iterator<Item = &Definition> {
        self.definitions.iter().filter(|d| d.kind == IdKind::Clause)
    }
}

/// The classes of rules in the order in which the specification presents and judges them.
/// Those of a companion have two letters.
pub const CLASSES: [&str; 14] = ["S", "D", "R", "P", "M", "L", "W", "TS", "TD", "TR", "TB", "TX", "TK", "TW"];

fn class_order(id: &str) -> usize {
    let letters = id.trim_end_matches(|c: char| c.is_ascii_digit());
    CLASSES.iter().position(|class| *class == letters).unwrap_or(CLASSES.len())
}

/// What kind of id `word` is, if it is one.
pub fn id_kind(word: &str) -> Option<IdKind> {
    let bytes = word.as_bytes();
    let upper = |b: &u8| b.is_ascii_uppercase();
    let digit = |b: &u8| b.is_ascii_digit();
    match bytes {
        [.., b, c] if CLASSES.contains(&&word[..word.len() - 2]) && digit(b) && digit(c) => {
            Some(IdKind::Rule)
        }
        [a, b, c, b'-', d, e] if upper(a) && upper(b) && upper(c) && digit(d) && digit(e) => {
            Some(IdKind::Clause)
        }
        _ => None,
    }
}

/// Whether a heading's first word was probably meant as an id: capitals, then digits, perhaps with a dash or underscore.
fn looks_like_id(word: &str) -> bool {
    let word = word.trim_end_matches([':', '.', ',']);
    let letters = word.chars().take_while(char::is_ascii_alphabetic).count();
    let digits = word.chars().rev().take_while(char::is_ascii_digit).count();
    let between = word.len().saturating_sub(letters + digits);
    (1..=4).contains(&letters) && digits >= 1 && between <= 1 && word.is_ascii()
}

fn is_slug(text: &str) -> bool {
    !text.is_empty()
        && text.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}

/// The headings of a Markdown text, code fences left out.
pub fn headings(text: &str) -> Vec<Heading> {
    let mut out: Vec<Heading> = Vec::new();
    let mut repeats: BTreeMap<String, usize> = BTreeMap::new();
    for (line, content) in outside_fences(text) {
        let level = content.bytes().take_while(|b| *b == b'#').count();
        let Some(rest) = content.get(level..) else { continue };
        if !(1..=6).contains(&level) || !rest.starts_with(' ') {
            continue;
        }
        let title = rest.trim().trim_end_matches('#').trim_end().to_string();
        let plain = slug_of_heading(&title);
        let count = repeats.entry(plain.clone()).or_insert(0);
        let anchor = if *count == 0 { plain } else { format!("{plain}-{count}") };
        *count += 1;
        out.push(Heading { level, text: title, line, anchor });
    }
    out
}

/// The lines of a Markdown text that stand outside code fences, with their numbers from 1.
pub fn outside_fences(text: &str) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    let mut fence: Option<&str> = None;
    for (n, content) in text.lines().enumerate() {
        let start = content.trim_start();
        let marks = start.len() - start.trim_start_matches('`').len();
        match fence {
            None if marks >= 3 => fence = start.get(..marks),
            None => out.push((n + 1, content)),
            Some(open) if start.starts_with(open) && start.trim_matches('`').trim().is_empty() => {
                fence = None
            }
            Some(_) => {}
        }
    }
    out
}

/// The anchor that Markdown renderers give to a heading: lower case, spaces to dashes, other punctuation dropped.
fn slug_of_heading(title: &str) -> String {
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

/// Every `.md` file below `folder`, sorted by path. A folder that does not exist holds none.
pub fn markdown_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(dir) = open.pop() {
        if !dir.exists() {
            continue;
        }
        let entries = fs::read_dir(&dir).map_err(|e| format!("{}: cannot be listed: {e}", dir.display()))?;
        for entry in entries {
            let path = entry.map_err(|e| format!("{}: cannot be listed: {e}", dir.display()))?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// `path` below `root`, with `/` between its parts.
pub fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Spec {
        Spec::from_files(&[("spec/a.md".to_string(), text.to_string())])
    }

    #[test]
    fn rules_come_before_clauses_and_keep_their_place() {
        let spec = spec(
            "# A\n\n### FMT-03 Unknown members\nkept\n\n### S01 not-json\nbody\n#### more\nmore\n## B\nnot mine\n",
        );
        assert_eq!(spec.problems, Vec::<String>::new());
        let ids: Vec<_> =
            spec.definitions.iter().map(|d| (d.id.as_str(), d.title.as_str(), d.line)).collect();
        assert_eq!(ids, [("S01", "not-json", 6), ("FMT-03", "Unknown members", 3)]);
        let rule = spec.rules().next().map(|d| (d.anchor.as_str(), d.body.as_str()));
        assert_eq!(rule, Some(("s01-not-json", "body\n#### more\nmore")));
    }

    #[test]
    fn headings_inside_fences_define_nothing() {
        assert!(
            spec("```text\n### S01 not-json\n```\n````md\n```\n### S02 duplicate-member\n````\n")
                .definitions
                .is_empty()
        );
    }

    #[test]
    fn a_repeated_id_is_named_with_both_places() {
        let problems = spec("### S01 not-json\n\n### S01 again\n").problems;
        assert_eq!(problems, ["spec/a.md:3: `S01` is already defined at spec/a.md:1"]);
    }

    #[test]
    fn malformed_ids_are_reported() {
        for (text, part) in [
            ("### S1 not-json\n", "`S1`, which is no id"),
            ("### FMT03 Unknown members\n", "`FMT03`, which is no id"),
            ("### FMT-3 Unknown members\n", "`FMT-3`, which is no id"),
            ("## S01 not-json\n", "stands on level 2, required 3"),
            ("### S01 Not JSON\n", "required a slug"),
            ("### S01\n", "required a slug"),
            ("### FMT-03\n", "required a title"),
        ] {
            let problems = spec(text).problems;
            assert!(
                problems.len() == 1 && problems.iter().all(|p| p.contains(part)),
                "{text:?} gave {problems:?}"
            );
        }
    }

    #[test]
    fn anchors_follow_the_renderers() {
        let anchors: Vec<_> = headings("# The `run` call, in brief\n# A_b - C\n# A_b - C\n")
            .into_iter()
            .map(|h| h.anchor)
            .collect();
        assert_eq!(anchors, ["the-run-call-in-brief", "a_b---c", "a_b---c-1"]);
    }
}
