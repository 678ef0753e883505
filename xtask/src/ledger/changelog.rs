//! The sections of the changelog.

use super::digest;

/// The file.
pub const CHANGELOG: &str = "CHANGELOG.md";

/// What an item begins with that names what a release would be refused for otherwise.
pub const MARK: &str = "Changed:";

/// A version in the changelog.
#[derive(Debug, PartialEq, Eq)]
pub struct Section {
    /// The version.
    pub version: String,
    /// Whether the heading says that it is released.
    pub released: bool,
    /// Paragraphs and items, in one line each, with single spaces.
    pub entries: Vec<String>,
}

/// Reads the sections, one for each heading of level 2, in order.
pub fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(heading) = line.strip_prefix("## ") {
            let version = heading.split([',', ' ']).next().unwrap_or_default().to_owned();
            let released = !heading.contains("not released");
            sections.push(Section { version, released, entries: Vec::new() });
            goes_on = false;
        } else if let Some(section) = sections.last_mut().filter(|_| !words.is_empty()) {
            let item = line.starts_with("- ");
            match section.entries.last_mut() {
                Some(entry) if goes_on && !item => *entry += &format!(" {words}"),
                _ => section.entries.push(words),
            }
            goes_on = true;
        } else {
            goes_on = false;
        }
    }
    sections
}

impl Section {
    /// What its items name behind [`MARK`], in backticks: ids and paths, or the beginning of some, ended by `/*`.
    pub fn named(&self) -> Vec<String> {
        let marked = self.entries.iter().filter_map(|entry| entry.strip_prefix("- ")?.strip_prefix(MARK));
        let code = marked.flat_map(|entry| entry.split('`').skip(1).step_by(2));
        code.map(str::to_owned).collect()
    }

    /// A line of the ledger for each entry: the version and how it begins, and its digest.
    pub fn lines(&self) -> Vec<(String, String)> {
        let begins =
            |entry: &String| format!("{}: {}", self.version, entry.chars().take(80).collect::<String>());
        self.entries.iter().map(|entry| (begins(entry), digest(entry))).collect()
    }
}

/// Whether one of the names is that of `what`, or its beginning before `/*`.
pub fn names(named: &[String], what: &str) -> bool {
    named.iter().any(|name| match name.strip_suffix("/*") {
        Some(folder) => what.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')),
        None => name == what,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_have_entries_and_names() {
        let text = "# Changes\n\nAll.\n\n## 0.2.0, not released\n\nFor\nIR 1.\n\n- One\n  `a`.\n- Changed: `R01`,\n  `race/*`: why.\n## 0.1.0, 2026-01-01\n- Old.\n";
        let sections = sections(text);
        assert_eq!(sections.len(), 2);
        assert_eq!((sections[0].version.as_str(), sections[0].released), ("0.2.0", false));
        assert_eq!(sections[0].entries, ["For IR 1.", "- One `a`.", "- Changed: `R01`, `race/*`: why."]);
        assert_eq!(sections[0].named(), ["R01", "race/*"]);
        assert!(sections[1].released && sections[1].named().is_empty());
        let named = sections[0].named();
        assert!(names(&named, "race/a/b") && names(&named, "R01"));
        assert!(!names(&named, "racecar/a") && !names(&named, "R02") && !names(&named, "a"));
    }
}
