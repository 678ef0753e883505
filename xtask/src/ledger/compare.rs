//! Two ledgers: what is new, what is gone, what says something else; and what of that nobody may publish without saying so.

use std::collections::BTreeMap;
use std::fmt;

use super::changelog::{CHANGELOG, MARK, names};
use super::schemas::{self, Effect};
use super::state::{Case, Ledger};

/// Ids and changes that a line names at most.
const SHOWN: usize = 5;

/// What has changed.
#[derive(Debug, Default)]
pub struct Comparison {
    /// How many, by what they are, their family, and what became of them.
    pub counts: BTreeMap<(&'static str, String), BTreeMap<&'static str, usize>>,
    /// What the changelog names and the version allows.
    pub named: Vec<String>,
    /// What a release is refused for: each line has the place, and what to do.
    pub refused: Vec<String>,
    /// Whether something of what is named may break users, so that the version has to say so.
    pub breaks: bool,
}

/// One comparison under way.
struct Work<'l> {
    last: &'l Ledger,
    now: &'l Ledger,
    done: Comparison,
}

/// Compares the state of the repository with the last ledger.
pub fn compare(last: &Ledger, now: &Ledger) -> Comparison {
    let mut work = Work { last, now, done: Comparison::default() };
    work.cases();
    work.clauses();
    work.schemas();
    work.files();
    work.changelog();
    work.versions();
    work.done
}

impl<'l> Work<'l> {
    fn count(&mut self, what: &'static str, family: &str, became: &'static str) {
        let counts = self.done.counts.entry((what, family.to_owned())).or_default();
        *counts.entry(became).or_default() += 1;
    }

    fn is_named(&self, name: &str) -> bool {
        names(&self.now.named, name)
    }

    /// Notes what the changelog has to name, and whether it does. `breaks`: whether it may break users (docs/versioning.md), as what a case,
    /// clause or schema says may, and a record of a device or a licence may not.
    fn refuse(&mut self, name: &str, what: String, breaks: bool) {
        if self.is_named(name) {
            self.done.named.push(what);
            self.done.breaks |= breaks;
        } else {
            let suite = suite(self.now);
            self.done.refused.push(format!(
                "{what}: undo it, or name `{name}` in an item `- {MARK}` of section {suite} of {CHANGELOG}"
            ));
        }
    }

    fn cases(&mut self) {
        let (last, now) = (self.last, self.now);
        // By family and what became of them, so that a family that is gone is one line.
        let mut refused: BTreeMap<(String, &'static str), Vec<(&String, String)>> = BTreeMap::new();
        let mut found = |work: &mut Self, id: &'l String, became, what: String| {
            work.count("cases", &family(id), became);
            refused.entry((family(id), became)).or_default().push((id, what));
        };
        for (id, before) in &last.cases {
            match now.cases.get(id) {
                None => found(self, id, "gone", String::new()),
                Some(case) if answer(case) != answer(before) => {
                    found(self, id, "flipped", format!(" (was {}, is {})", answer(before), answer(case)));
                }
                Some(case) if case.digest != before.digest => self.count("cases", &family(id), "recomputed"),
                Some(_) => {}
            }
        }
        for id in now.cases.keys().filter(|id| !last.cases.contains_key(*id)) {
            if last.gone.contains(id) {
                found(self, id, "used again", String::new());
            } else {
                self.count("cases", &family(id), "added");
            }
        }
        for ((family, became), list) in refused {
            let (named, unnamed): (Vec<_>, Vec<_>) = list.into_iter().partition(|(id, _)| self.is_named(id));
            let text = |list: &[(&String, String)]| {
                let shown: Vec<String> =
                    list.iter().take(SHOWN).map(|(id, what)| format!("`{id}`{what}")).collect();
                let more = list.len().saturating_sub(SHOWN);
                let more = if more > 0 { format!(", and {more} more") } else { String::new() };
                format!(
                    "corpus/cases/{family}: {} cases are {became}: {}{more}",
                    list.len(),
                    shown.join(", ")
                )
            };
            if !named.is_empty() {
                self.done.named.push(text(&named));
                self.done.breaks = true;
            }
            if let Some((first, _)) = unnamed.first() {
                // Of several, the family is the shortest name.
                let several = format!("{family}/*");
                self.refuse(if unnamed.len() > 1 { &several } else { first }, text(&unnamed), true);
            }
        }
    }

    fn clauses(&mut self) {
        let (last, now) = (self.last, self.now);
        for (id, before) in &last.clauses {
            let Some(after) = now.clauses.get(id) else {
                self.count("clauses", &before.path, "gone");
                self.refuse(id, format!("{}: {id} is gone", before.path), true);
                continue;
            };
            let words = [
                ("MUST", before.must, after.must),
                ("MUST NOT", before.must_not, after.must_not),
                ("SHOULD", before.should, after.should),
                ("MAY", before.may, after.may),
            ];
            let counts: Vec<String> = words
                .iter()
                .filter(|(_, before, after)| before != after)
                .map(|(word, before, after)| format!("{after} times {word}, {before} before"))
                .collect();
            let place = format!("{}:{}: {id}", after.path, after.line);
            if before.binding != after.binding || !counts.is_empty() {
                self.count("clauses", &after.path, "binding otherwise");
                let how = if counts.is_empty() {
                    "what it demands, or a number or name in it, is another".to_owned()
                } else {
                    counts.join(", ")
                };
                self.refuse(id, format!("{place} binds otherwise than before ({how})"), true);
            } else if before.text != after.text {
                self.count("clauses", &after.path, "reworded");
            }
        }
        for (_, after) in now.clauses.iter().filter(|(id, _)| !last.clauses.contains_key(*id)) {
            self.count("clauses", &after.path, "added");
        }
    }

    fn schemas(&mut self) {
        let (last, now) = (self.last, self.now);
        for (path, before) in &last.schemas {
            let Some(after) = now.schemas.get(path) else {
                self.count("schemas", path, "gone");
                self.refuse(path, format!("{path} is gone"), true);
                continue;
            };
            let changes = schemas::changes(before, after);
            for (effect, what, became) in [
                (Effect::TakesMore, "takes more than before", "taking more"),
                (Effect::TakesLess, "refuses what it took before", "taking less"),
                (Effect::Other, "may take other documents than before", "changed"),
            ] {
                let of: Vec<_> = changes.iter().filter(|change| change.effect == effect).collect();
                if of.is_empty() {
                    continue;
                }
                self.count("schemas", path, became);
                let shown: Vec<String> =
                    of.iter().take(SHOWN).map(|change| format!("{} {}", change.at, change.what)).collect();
                let more = of.len().saturating_sub(SHOWN);
                let more = if more > 0 { format!("; and {more} more") } else { String::new() };
                self.refuse(path, format!("{path} {what}: {}{more}", shown.join("; ")), true);
            }
        }
        for path in now.schemas.keys().filter(|path| !last.schemas.contains_key(*path)) {
            self.count("schemas", path, "added");
        }
    }

    fn files(&mut self) {
        let (last, now) = (self.last, self.now);
        for (path, before) in &last.files {
            let became = match now.files.get(path) {
                None => "gone",
                Some(after) if after != before => "changed",
                Some(_) => continue,
            };
            self.count("files", path, became);
            self.refuse(path, format!("{path} is {became}"), false);
        }
        for path in now.files.keys().filter(|path| !last.files.contains_key(*path)) {
            self.count("files", path, "added");
        }
    }

    /// Released sections stay as they are. The one that was being written may be edited, and does not become shorter.
    fn changelog(&mut self) {
        let (last, now) = (self.last, self.now);
        let version = |key: &str| key.split(": ").next().unwrap_or_default().to_owned();
        let open = if last.released { String::new() } else { suite(last) };
        for (key, before) in last.changelog.iter().filter(|(key, _)| version(key) != open) {
            if now.changelog.get(key) != Some(before) {
                self.count("changelog", &version(key), "changed");
                self.refuse(
                    CHANGELOG,
                    format!("{CHANGELOG}: the entry `{key}` of a released version is changed or gone"),
                    false,
                );
            }
        }
        let count = |ledger: &Ledger| ledger.changelog.keys().filter(|key| version(key) == open).count();
        let (before, after) = (count(last), count(now));
        if after < before {
            self.count("changelog", &open, "cut");
            let gone: Vec<&String> = last
                .changelog
                .keys()
                .filter(|key| version(key) == open && !now.changelog.contains_key(*key))
                .collect();
            let shown: Vec<String> = gone.iter().take(SHOWN).map(|key| format!("`{key}`")).collect();
            self.refuse(
                CHANGELOG,
                format!(
                    "{CHANGELOG}: section {open} has {after} entries, {before} before, without {}",
                    shown.join(", ")
                ),
                false,
            );
        }
    }

    fn versions(&mut self) {
        let (last, now) = (self.last, self.now);
        for (name, before) in &last.versions {
            let after = now.versions.get(name).map(String::as_str).unwrap_or_default();
            if parts(after) < parts(before) {
                self.refuse(
                    name,
                    format!("docs/versioning.md: version `{name}` is `{after}`, and was {before}"),
                    true,
                );
            } else if after != before {
                self.count("versions", name, "raised");
            }
        }
        if !last.released {
            return;
        }
        let (from, to) = (suite(last), suite(now));
        if self.done.breaks && !breaks(&from, &to) {
            self.done.refused.push(format!(
                "Cargo.toml: version {to} comes after {from}, and {CHANGELOG} names what breaks: raise the major part, or the minor part while the major one is 0"
            ));
        } else if from == to && !self.done.counts.is_empty() {
            self.done
                .refused
                .push(format!("Cargo.toml: version {to} is released, and something has changed: raise it"));
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut totals: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for ((what, _), counts) in &self.counts {
            counts.iter().for_each(|(became, count)| *totals.entry((what, became)).or_default() += count);
        }
        if totals.is_empty() {
            writeln!(f, "ledger: nothing has changed")?;
        }
        for ((what, became), count) in totals {
            writeln!(f, "ledger: {what}: {count} {became}")?;
            for ((_, family), counts) in self.counts.iter().filter(|((of, _), _)| *of == what) {
                if let Some(count) = counts.get(became) {
                    writeln!(f, "  {count:>6}  {family}")?;
                }
            }
        }
        self.named.iter().try_for_each(|what| writeln!(f, "  named in the changelog: {what}"))?;
        self.refused.iter().try_for_each(|what| writeln!(f, "  error: {what}"))?;
        writeln!(f, "ledger: a release is refused for {} things", self.refused.len())
    }
}

/// The first two parts of an id, or the first where there are two in all.
fn family(id: &str) -> String {
    let folder = id.rsplit_once('/').map_or(id, |(folder, _)| folder);
    folder.split('/').take(2).collect::<Vec<_>>().join("/")
}

fn answer(case: &Case) -> String {
    let all = std::iter::once(&case.verdict).chain(&case.rules).chain(&case.warnings);
    all.map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn suite(ledger: &Ledger) -> String {
    ledger.versions.get("suite").cloned().unwrap_or_default()
}

fn parts(version: &str) -> Vec<u64> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// Whether the step from one version to another may break something.
fn breaks(from: &str, to: &str) -> bool {
    let (from, to) = (parts(from), parts(to));
    let significant = if from.first() == Some(&0) { 2 } else { 1 };
    to.iter().take(significant).gt(from.iter().take(significant))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(suite: &str, released: bool) -> Ledger {
        let case = Case {
            verdict: "accept".to_owned(),
            rules: Vec::new(),
            warnings: Vec::new(),
            digest: "1".to_owned(),
        };
        Ledger {
            released,
            versions: [("suite".to_owned(), suite.to_owned())].into(),
            cases: ["a/b/1", "a/b/2", "c/1"].map(|id| (id.to_owned(), case.clone())).into(),
            gone: vec!["d/1".to_owned()],
            changelog: ["- One", "- Two"].map(|text| (format!("{suite}: {text}"), text.to_owned())).into(),
            ..Ledger::default()
        }
    }

    #[test]
    fn what_is_added_or_recomputed_is_counted_and_not_refused() {
        let (last, mut now) = (ledger("0.1.0", false), ledger("0.1.0", false));
        now.cases.insert("a/b/3".to_owned(), now.cases["c/1"].clone());
        now.cases.get_mut("c/1").expect("a case").digest = "2".to_owned();
        let found = compare(&last, &now);
        assert_eq!(found.refused, [""; 0]);
        assert_eq!(
            found.to_string(),
            "ledger: cases: 1 added\n       1  a/b\nledger: cases: 1 recomputed\n       1  c\nledger: a release is refused for 0 things\n"
        );
    }

    #[test]
    fn what_is_named_passes_where_the_version_allows_it() {
        let last = ledger("0.1.0", true);
        for (version, named, refused) in [
            ("0.2.0", "a/b/*", 0),
            ("0.2.0", "a/b/1", 1),
            ("0.2.0", "a/c/*", 1),
            ("0.1.1", "a/b/*", 1),
            ("1.0.0", "a/b/*", 0),
        ] {
            let mut now = ledger("0.1.0", true);
            now.versions.insert("suite".to_owned(), version.to_owned());
            now.cases.retain(|id, _| !id.starts_with("a/"));
            now.named = vec![named.to_owned()];
            let found = compare(&last, &now).refused;
            assert_eq!(found.len(), refused, "{version} {named}: {found:?}");
        }
    }

    #[test]
    fn a_record_made_anew_is_named_and_needs_no_larger_step() {
        let (mut last, mut now) = (ledger("0.1.0", true), ledger("0.1.0", true));
        let path = "evidence/h100.json";
        last.files.insert(path.to_owned(), "1".to_owned());
        now.files.insert(path.to_owned(), "2".to_owned());
        now.versions.insert("suite".to_owned(), "0.1.1".to_owned());
        assert_eq!(compare(&last, &now).refused.len(), 1);
        now.named = vec![path.to_owned()];
        assert_eq!(compare(&last, &now).refused, [""; 0]);
    }

    #[test]
    fn several_cases_are_named_by_their_family() {
        let (last, mut now) = (ledger("0.1.0", false), ledger("0.1.0", false));
        now.cases.retain(|id, _| !id.starts_with("a/"));
        let found = compare(&last, &now).refused;
        assert!(found.len() == 1 && found[0].contains("name `a/b/*`"), "{found:?}");
    }

    #[test]
    fn a_released_version_is_not_changed() {
        let (last, mut now) = (ledger("0.1.0", true), ledger("0.1.0", true));
        assert_eq!(compare(&last, &now).refused, [""; 0]);
        now.cases.get_mut("c/1").expect("a case").digest = "2".to_owned();
        assert_eq!(compare(&last, &now).refused.len(), 1);
    }

    #[test]
    fn an_open_section_may_be_edited_and_a_released_one_not() {
        let edit = |released, text: &str| {
            let mut now = ledger("0.1.0", false);
            now.changelog.remove("0.1.0: - One");
            now.changelog.extend((!text.is_empty()).then(|| (format!("0.1.0: {text}"), text.to_owned())));
            now.versions.insert("suite".to_owned(), "0.2.0".to_owned());
            compare(&ledger("0.1.0", released), &now).refused.len()
        };
        assert_eq!((edit(false, "- One more"), edit(false, "")), (0, 1));
        assert_eq!((edit(true, "- One more"), edit(true, "")), (1, 1));
    }
}
