//! From rules and clauses to the cases that cite them, and back.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use megakernel_codegen::spec::{Definition, Spec};

use super::pages::relative;
use crate::tidy::cases::Case;

/// A page has at most so many cases.
const MOST_CASES: usize = 1500;

/// The lists of cases.
#[derive(Debug, Default)]
pub struct Lists {
    /// By declaration: its name, what it is about, and the lists of its ids, in the order of the specification.
    groups: Vec<(String, String, Vec<List>)>,
}

/// The cases of a rule or a clause.
#[derive(Debug)]
struct List {
    id: String,
    title: String,
    /// Where its section stands in the book.
    section: String,
    accepted: usize,
    rejected: usize,
    other: usize,
    /// The pages of the list.
    pages: Vec<String>,
}

impl List {
    fn path(&self) -> String {
        path(&self.id, 0)
    }

    fn cases(&self) -> usize {
        self.accepted + self.rejected + self.other
    }

    /// `1 accepted, 2 rejected`.
    fn counts(&self) -> String {
        let counts = [(self.accepted, "accepted"), (self.rejected, "rejected"), (self.other, "either")];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
        counts.join(", ")
    }
}

/// Where a page of the list of an id stands.
fn path(id: &str, page: usize) -> String {
    if page == 0 { format!("cases/{id}.md") } else { format!("cases/{id}-{}.md", page + 1) }
}

/// The lists of all rules and clauses.
pub fn lists(spec: &Spec, cases: &[Case]) -> Lists {
    let sections: BTreeMap<&str, &Definition> =
        spec.definitions.iter().map(|definition| (definition.id.as_str(), definition)).collect();
    let mut by_id: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        for id in &case.clauses {
            by_id.entry(id).or_default().push(case);
        }
    }
    let of = |definition: &Definition| {
        let mut cases = by_id.get(definition.id.as_str()).cloned().unwrap_or_default();
        cases.sort_by_key(|case| (&case.provenance.family, &case.id));
        let count = |verdict: &str| cases.iter().filter(|case| case.expect.verdict == verdict).count();
        let (accepted, rejected) = (count("accept"), count("reject"));
        let parts: Vec<&[&Case]> = cases.chunks(MOST_CASES).collect();
        let pages =
            parts.iter().enumerate().map(|(n, part)| page(definition, part, n, parts.len(), &sections));
        List {
            id: definition.id.clone(),
            title: definition.title.clone(),
            section: section(definition),
            accepted,
            rejected,
            other: cases.len() - accepted - rejected,
            pages: pages.collect(),
        }
    };
    let group = |declaration: &megakernel_codegen::declaration::Declaration| {
        let owned = spec.definitions.iter().filter(|definition| declaration.owns(&definition.path));
        (declaration.name.clone(), declaration.summary.clone(), owned.map(of).collect())
    };
    Lists { groups: spec.declarations.iter().map(group).collect() }
}

fn section(definition: &Definition) -> String {
    format!("{}#{}", super::pages::place(&definition.path), definition.anchor)
}

/// One page of a list.
fn page(
    definition: &Definition,
    cases: &[&Case],
    n: usize,
    pages: usize,
    sections: &BTreeMap<&str, &Definition>,
) -> String {
    let own = path(&definition.id, n);
    let of = if pages == 1 { String::new() } else { format!(", page {} of {pages}", n + 1) };
    let mut out = format!("# Cases of {} {}{of}\n\n", definition.id, definition.title);
    let _ = writeln!(
        out,
        "These cases cite [{} {}]({}). A case is the file `corpus/cases/<case>.json`; `megakernel-conform document <case>` prints \
         its document.\n",
        definition.id,
        definition.title,
        relative(&own, &section(definition))
    );
    for (label, other) in [("before", n.checked_sub(1)), ("after", Some(n + 1).filter(|next| *next < pages))]
    {
        if let Some(other) = other {
            let _ = writeln!(
                out,
                "[The cases {label} these]({})\n",
                relative(&own, &path(&definition.id, other))
            );
        }
    }
    let mut family = None;
    for case in cases {
        if family != Some(&case.provenance.family) {
            if family.is_some() {
                out += "\n</div>\n";
            }
            family = Some(&case.provenance.family);
            let _ = write!(
                out,
                "\n## {}\n\n<div class=\"list\">\n\n| case | verdict | cites |\n| --- | --- | --- |\n",
                case.provenance.family
            );
        }
        let cites = case.clauses.iter().map(|id| match sections.get(id.as_str()) {
            Some(cited) => format!("[{id}]({})", relative(&own, &section(cited))),
            None => id.clone(),
        });
        let cites: Vec<String> = cites.collect();
        let expect = &case.expect;
        let rules = [&expect.rules[..], &expect.warnings].concat().join(" ");
        let _ = writeln!(out, "| `{}` | {} {rules} | {} |", case.id, expect.verdict, cites.join(" "));
    }
    out + "\n</div>\n"
}

/// A page of the specification with a line below the heading of each rule and clause of it: how many cases cite it.
pub fn counted(spec: &Spec, lists: &Lists, path: &str, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut here: Vec<&Definition> = spec.definitions.iter().filter(|each| each.path == path).collect();
    here.sort_by_key(|definition| definition.line);
    // From the end, so that lines keep their numbers until it is their turn.
    for definition in here.into_iter().rev() {
        let list = lists.all().find(|list| list.id == definition.id);
        // Links are those of the repository until the page is placed, and this one leads to a page that is only in the book.
        // What no case cites says why no case can: that it is not testable.
        let Some(list) = list.filter(|list| list.cases() > 0) else { continue };
        let to = relative(&super::pages::place(path), &list.path()).replace(".md", ".html");
        let cases = if list.cases() == 1 { "case" } else { "cases" };
        let line = format!(
            "<p class=\"cases\"><a href=\"{to}\">{} {cases}</a>: {}</p>",
            list.cases(),
            list.counts()
        );
        lines.splice(definition.line..definition.line, [String::new(), line, String::new()]);
    }
    lines.join("\n") + "\n"
}

/// The pages of all lists, by path.
pub fn pages(lists: Lists) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut index = "# Cases\n\nWhich cases cite which rule and which clause, and what they expect. Every section of the specification leads to \
                     its list, and every row\nof a list to the sections that its case cites.\n\n| of | rules and clauses | without a case |\n\
                     | --- | --- | --- |\n"
        .to_owned();
    for (name, summary, lists) in lists.groups {
        let own = format!("cases/of-{name}.md");
        let without = lists.iter().filter(|list| list.cases() == 0).count();
        let _ = writeln!(index, "| [{name}](of-{name}.md) | {} | {without} |", lists.len());
        let mut text = format!(
            "# Cases of {name}\n\n{summary}\n\n| id | title | cases | |\n| --- | --- | --- | --- |\n"
        );
        for list in lists {
            let count = match list.cases() {
                0 => "0".to_owned(),
                cases => format!("[{cases}]({})", relative(&own, &list.path())),
            };
            let to = relative(&own, &list.section);
            let _ = writeln!(text, "| [{}]({to}) | {} | {count} | {} |", list.id, list.title, list.counts());
            for (n, page) in list.pages.into_iter().enumerate() {
                out.insert(path(&list.id, n), page);
            }
        }
        out.insert(own, text);
    }
    out.insert("cases/index.md".to_owned(), index);
    out
}

impl Lists {
    fn all(&self) -> impl Iterator<Item = &List> {
        self.groups.iter().flat_map(|(_, _, lists)| lists)
    }

    /// The lines of the table of contents.
    pub fn summary(&self) -> String {
        let mut out = "- [Cases](cases/index.md)\n".to_owned();
        for (name, _, lists) in &self.groups {
            let _ = writeln!(out, "  - [Cases of {name}](cases/of-{name}.md)");
            for list in lists {
                for n in 0..list.pages.len() {
                    let number = if n == 0 { String::new() } else { format!(", {}", n + 1) };
                    let _ =
                        writeln!(out, "    - [{} {}{number}]({})", list.id, list.title, path(&list.id, n));
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use megakernel_codegen::declaration::Declaration;
    use megakernel_test_support::root;
    use serde_json::json;

    use super::*;

    const PAGE: &str = "# A\n\n### S01 not-json\n\ntext\n\n### FMT-01 Text\n\ntext\n\n### FMT-02 Names\n\nNot testable: it is a name.\n";

    fn spec() -> Spec {
        let declarations = Declaration::read_all(&root()).expect("declarations");
        Spec::from_files(&[("spec/rules/a.md".to_owned(), PAGE.to_owned())], declarations)
    }

    fn case(id: &str, family: &str, clauses: &[&str], rules: &[&str]) -> Case {
        let verdict = if rules.is_empty() { "accept" } else { "reject" };
        serde_json::from_value(json!({
            "id": id, "clauses": clauses, "expect": {"verdict": verdict, "rules": rules}, "provenance": {"family": family}
        }))
        .expect("a case")
    }

    #[test]
    fn a_section_leads_to_its_cases_and_each_case_to_what_it_cites() {
        let spec = spec();
        let cases = [
            case("g/one", "g", &["S01", "FMT-01"], &["S01"]),
            case("f/two", "f", &["S01"], &[]),
            case("g/a", "g", &["S01"], &[]),
        ];
        let lists = lists(&spec, &cases);
        let page = counted(&spec, &lists, "spec/rules/a.md", PAGE);
        let line = |id: &str, counts: &str| {
            format!("<p class=\"cases\"><a href=\"../../cases/{id}.html\">{counts}</p>\n")
        };
        assert!(
            page.contains(&(line("S01", "3 cases</a>: 2 accepted, 1 rejected") + "\n\ntext\n")),
            "{page}"
        );
        assert!(page.contains(&line("FMT-01", "1 case</a>: 1 rejected")), "{page}");
        assert!(page.ends_with("### FMT-02 Names\n\nNot testable: it is a name.\n"), "{page}");

        let pages = pages(lists);
        let list = &pages["cases/S01.md"];
        let row = "| `g/one` | reject S01 | [S01](../spec/rules/a.md#s01-not-json) [FMT-01](../spec/rules/a.md#fmt-01-text) |\n";
        assert!(list.contains(row), "{list}");
        // By family, then by id.
        let places: Vec<_> =
            ["## f\n", "`f/two`", "## g\n", "`g/a`", "`g/one`"].iter().map(|part| list.find(part)).collect();
        assert!(places.is_sorted() && places.iter().all(Option::is_some), "{list}");
        assert!(pages["cases/FMT-01.md"].contains(row) && !pages.contains_key("cases/FMT-02.md"));
        let core = &pages["cases/of-core.md"];
        assert!(core.contains("| [S01](../spec/rules/a.md#s01-not-json) | not-json | [3](S01.md) | 2 accepted, 1 rejected |\n"), "{core}");
        assert!(core.contains("| Names | 0 |  |\n"), "{core}");
    }

    #[test]
    fn long_lists_have_several_pages() {
        let spec = spec();
        let cases: Vec<Case> =
            (0..2 * MOST_CASES + 1).map(|n| case(&format!("f/{n:05}"), "f", &["S01"], &[])).collect();
        let lists = lists(&spec, &cases);
        let summary = lists.summary();
        let pages = pages(lists);
        let rows = |path: &str| pages[path].matches("| `f/").count();
        assert_eq!(
            ["cases/S01.md", "cases/S01-2.md", "cases/S01-3.md"].map(rows),
            [MOST_CASES, MOST_CASES, 1]
        );
        let second = &pages["cases/S01-2.md"];
        assert!(
            second.contains("](S01.md)")
                && second.contains("](S01-3.md)")
                && second.contains(", page 2 of 3")
        );
        assert!(pages.keys().all(|page| summary.contains(&format!("]({page})"))), "{summary}");
    }
}
