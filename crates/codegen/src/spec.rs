//! The specification's text as data: every `.md` file under `spec/`, its headings and the ids they carry.
//!
//! A heading of level 3 that starts with an id defines it: `### S01 not-json` a rule, `### FMT-03 Unknown members`
//! a clause. Nothing else defines an id, so this reader is the single place that says what an id looks like.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::declaration::{Class, Declaration};
use crate::markdown::headings;

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

/// All ids of the specification in order: rules by id, then clauses by id, with what is wrong about the headings.
#[derive(Debug, Default)]
pub struct Spec {
    /// Rules first, then clauses, each sorted by id; rules by class before that.
    pub definitions: Vec<Definition>,
    /// Of the core and of every companion.
    pub declarations: Vec<Declaration>,
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
        Ok(Spec::from_files(&files, Declaration::read_all(root)?))
    }

    /// The same from texts in memory: `(path, text)`.
    pub fn from_files(files: &[(String, String)], declarations: Vec<Declaration>) -> Spec {
        let mut spec = Spec { declarations, ..Spec::default() };
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for (path, text) in files {
            let lines: Vec<&str> = text.lines().collect();
            let headings = headings(text);
            for (n, heading) in headings.iter().enumerate() {
                let at = format!("{path}:{}", heading.line);
                let (word, title) = heading.text.split_once(' ').unwrap_or((&heading.text, ""));
                let Some(kind) = shape(word) else {
                    if looks_like_id(word) {
                        spec.problems.push(format!(
                            "{at}: heading starts with `{word}`, which is no id: write the letters of a class and two digits, \
                             or three letters, a dash and two digits"
                        ));
                    }
                    continue;
                };
                if let Err(problem) = spec.declared(kind, word, path) {
                    spec.problems.push(format!("{at}: heading `{}`: {problem}", heading.text));
                    continue;
                }
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
        let mut definitions = std::mem::take(&mut spec.definitions);
        definitions.sort_by_cached_key(|each| (each.kind, spec.class_order(&each.id), each.id.clone()));
        spec.definitions = definitions;
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

impl Spec {
    /// Every class of rules, in the order in which they are listed.
    pub fn classes(&self) -> impl Iterator<Item = &Class> {
        self.declarations.iter().flat_map(|declaration| &declaration.classes)
    }

    /// What kind of id `word` is, if it is one: it has the shape, and its letters or its prefix are declared.
    pub fn id_kind(&self, word: &str) -> Option<IdKind> {
        let kind = shape(word)?;
        let stem = stem(kind, word);
        let declares = |declaration: &Declaration| declares(declaration, kind, stem);
        self.declarations.iter().any(declares).then_some(kind)
    }

    fn class_order(&self, id: &str) -> usize {
        self.classes().position(|class| class.letters == stem(IdKind::Rule, id)).unwrap_or(usize::MAX)
    }

    /// Whether letters or prefix of an id are declared, and by whoever owns the file.
    fn declared(&self, kind: IdKind, word: &str, path: &str) -> Result<(), String> {
        let stem = stem(kind, word);
        let what = match kind {
            IdKind::Rule => "class of rules",
            IdKind::Clause => "clause prefix",
        };
        let Some(by) = self.declarations.iter().find(|each| declares(each, kind, stem)) else {
            return Err(format!(
                "no declaration has a {what} `{stem}`: add it to spec/core.json, or to the companion's companion.json"
            ));
        };
        if by.owns(path) { Ok(()) } else { Err(format!("{what} `{stem}` belongs to {}", by.path())) }
    }
}

/// The letters of a rule's id, or the prefix of a clause's.
fn stem(kind: IdKind, id: &str) -> &str {
    match kind {
        IdKind::Rule => id.trim_end_matches(|c: char| c.is_ascii_digit()),
        IdKind::Clause => id.split('-').next().unwrap_or_default(),
    }
}

fn declares(declaration: &Declaration, kind: IdKind, stem: &str) -> bool {
    match kind {
        IdKind::Rule => declaration.classes.iter().any(|class| class.letters == stem),
        IdKind::Clause => declaration.clauses.iter().any(|prefix| prefix == stem),
    }
}

/// What kind of id `word` has the shape of.
fn shape(word: &str) -> Option<IdKind> {
    let upper = |b: &u8| b.is_ascii_uppercase();
    let digit = |b: &u8| b.is_ascii_digit();
    match word.as_bytes() {
        [a, b, c] if upper(a) && digit(b) && digit(c) => Some(IdKind::Rule),
        [a, b, c, d] if upper(a) && upper(b) && digit(c) && digit(d) => Some(IdKind::Rule),
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

/// Every `.md` file below `folder`, sorted by path. A folder that does not exist holds none.
pub fn markdown_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.map_err(|e| format!("{}: cannot be listed: {e}", folder.display()))?;
        if entry.file_type().is_file() && entry.path().extension().is_some_and(|end| end == "md") {
            found.push(entry.into_path());
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

    fn spec_in(path: &str, text: &str) -> Spec {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        Spec::from_files(
            &[(path.to_string(), text.to_string())],
            Declaration::read_all(&root).expect("declarations"),
        )
    }

    fn spec(text: &str) -> Spec {
        spec_in("spec/a.md", text)
    }

    #[test]
    fn letters_and_prefixes_have_to_be_declared_where_they_stand() {
        let problem = |path: &str, text: &str| spec_in(path, text).problems.join("\n");
        assert_eq!(
            problem("spec/a.md", "# A\n### QQ01 new-class\n"),
            "spec/a.md:2: heading `QQ01 new-class`: no declaration has a class of rules `QQ`: add it to spec/core.json, or to the companion's companion.json"
        );
        assert!(
            problem("spec/a.md", "### QQQ-01 New\n").contains("no declaration has a clause prefix `QQQ`")
        );
        assert!(
            problem("spec/companions/task-graph/a.md", "### R08 new\n")
                .contains("class of rules `R` belongs to spec/core.json")
        );
        assert!(problem("spec/a.md", "### TGR-99 New\n").contains("belongs to spec/companions/task-graph"));
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
}
