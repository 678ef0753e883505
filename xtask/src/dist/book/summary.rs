//! The order of the pages: that in which the page of a folder names them, and for the rest that of their paths.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use megakernel_codegen::markdown::{headings, links};

use super::cases::Lists;
use super::pages::place;
use crate::tidy::links::resolve;

/// `SUMMARY.md`, from which mdBook makes the table of contents.
pub fn summary(texts: &BTreeMap<String, String>, lists: &Lists) -> String {
    let tree = Tree { texts };
    let mut out = "# Summary\n\n".to_owned();
    let part = |out: &mut String, title: &str| {
        let _ = write!(out, "\n# {title}\n\n");
    };
    let is_companion = |page: &str| page.starts_with("spec/companions/") && page.ends_with("/README.md");
    tree.line(&mut out, 0, "README.md", "");
    part(&mut out, "Specification");
    tree.below(&mut out, 0, "spec/README.md", &|page| !is_companion(page));
    part(&mut out, "Companions");
    for page in tree.children("spec/README.md").into_iter().filter(|page| is_companion(page)) {
        tree.below(&mut out, 0, page, &|_| true);
    }
    let others = |wanted: &dyn Fn(&str) -> bool| {
        let pages = tree.children("README.md").into_iter();
        pages.filter(|page| *page != "spec/README.md" && wanted(page)).collect::<Vec<_>>()
    };
    part(&mut out, "Documents");
    for page in others(&|page| page.starts_with("docs/")) {
        tree.below(&mut out, 0, page, &|_| true);
    }
    part(&mut out, "What lies beside them");
    for page in others(&|page| !page.starts_with("docs/")) {
        tree.below(&mut out, 0, page, &|_| true);
    }
    part(&mut out, "Cases");
    out + &lists.summary()
}

struct Tree<'t> {
    texts: &'t BTreeMap<String, String>,
}

impl<'t> Tree<'t> {
    /// The page of the nearest folder above a page, other than itself.
    fn above(&self, page: &str) -> Option<&'t str> {
        let mut folder = page.strip_suffix("README.md").map_or(page, |folder| folder.trim_end_matches('/'));
        while !folder.is_empty() {
            folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
            let index =
                if folder.is_empty() { "README.md".to_owned() } else { format!("{folder}/README.md") };
            if let Some((index, _)) = self.texts.get_key_value(&index) {
                return Some(index);
            }
        }
        None
    }

    /// The pages below the page of a folder, in the order in which it names them.
    fn children(&self, index: &str) -> Vec<&'t str> {
        let text = self.texts.get(index).map_or("", String::as_str);
        let named: Vec<String> = links(text)
            .into_iter()
            .filter_map(|link| {
                let target = resolve(index, link.target.split('#').next().unwrap_or_default())?;
                Some(if self.texts.contains_key(&target) { target } else { format!("{target}/README.md") })
            })
            .collect();
        let mut pages: Vec<&str> =
            self.texts.keys().map(String::as_str).filter(|page| self.above(page) == Some(index)).collect();
        pages.sort_by_key(|page| (named.iter().position(|name| name == page).unwrap_or(usize::MAX), *page));
        pages
    }

    fn line(&self, out: &mut String, depth: usize, page: &str, mark: &str) {
        let text = self.texts.get(page).map_or("", String::as_str);
        let title = headings(text).into_iter().find(|heading| heading.level == 1);
        let title = title.map_or_else(|| page.to_owned(), |heading| plain(&heading.text));
        let _ = writeln!(out, "{}{mark}[{title}]({})", "  ".repeat(depth), place(page));
    }

    /// The page and all below it that are wanted.
    fn below(&self, out: &mut String, depth: usize, page: &str, wanted: &dyn Fn(&str) -> bool) {
        self.line(out, depth, page, "- ");
        if page.ends_with("README.md") {
            for child in self.children(page).into_iter().filter(|child| wanted(child)) {
                self.below(out, depth + 1, child, wanted);
            }
        }
    }
}

/// A title without marks.
fn plain(title: &str) -> String {
    title.replace(['`', '[', ']', '*'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_stand_in_the_order_in_which_they_are_named() {
        let texts = [
            ("README.md", "# The suite\n[spec](spec/README.md) [c](docs/c.md)\n"),
            ("CHANGES.md", "# Changes\n"),
            ("docs/a.md", "# A\n"),
            ("docs/c.md", "# C `code`\n"),
            ("docs/deep/README.md", "# Deep\n[z](z.md)\n"),
            ("docs/deep/b.md", "# Deep b\n"),
            ("docs/deep/z.md", "# Deep z\n"),
            ("spec/README.md", "# Spec\n[z](rules/z.md) [o](companions/o/README.md) [b](b.md#x)\n"),
            ("spec/b.md", "# B\n"),
            ("spec/rules/z.md", "# Z\n"),
            ("spec/left.md", "# Left\n"),
            ("spec/companions/o/README.md", "# O\n"),
            ("spec/companions/o/rules/w.md", "# W\n"),
        ];
        let texts = texts.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        let expected = "# Summary\n\n[The suite](index.md)\n\n# Specification\n\n- [Spec](spec/index.md)\n  - [Z](spec/rules/z.md)\n  - \
                        [B](spec/b.md)\n  - [Left](spec/left.md)\n\n# Companions\n\n- [O](spec/companions/o/index.md)\n  - \
                        [W](spec/companions/o/rules/w.md)\n\n# Documents\n\n- [C code](docs/c.md)\n- [A](docs/a.md)\n- \
                        [Deep](docs/deep/index.md)\n  - [Deep z](docs/deep/z.md)\n  - [Deep b](docs/deep/b.md)\n\n# What lies beside \
                        them\n\n- [Changes](CHANGES.md)\n\n# Cases\n\n- [Cases](cases/index.md)\n";
        assert_eq!(summary(&texts, &Lists::default()), expected);
    }
}
