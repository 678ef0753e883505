//! Pages of the repository as pages of the book: where they stand, and where their links lead.

use std::collections::BTreeMap;

use megakernel_codegen::markdown::links;

use crate::tidy::links::resolve;
use crate::tidy::tree::Files;

/// A file that a page leads to is in the book if it is no larger, in bytes.
const MOST_BYTES: usize = 300_000;

/// Where a page of the repository stands in the book. `README.md` is the page of its folder.
pub fn place(path: &str) -> String {
    match path.strip_suffix("README.md") {
        Some(folder) if folder.is_empty() || folder.ends_with('/') => format!("{folder}index.md"),
        _ => path.to_owned(),
    }
}

/// A link from one place of the book to another.
pub fn relative(from: &str, to: &str) -> String {
    let from: Vec<&str> = from.split('/').collect();
    let to: Vec<&str> = to.split('/').collect();
    let folders = from.len().min(to.len()) - 1;
    let shared = from.iter().zip(&to).take(folders).take_while(|(a, b)| a == b).count();
    let up = "../".repeat(from.len() - 1 - shared);
    up + &to.get(shared..).unwrap_or_default().join("/")
}

/// The text of a page with its links as they are in the book, and the files that it leads to. A link to a page leads to the page, one to
/// a folder to its `README.md`, one to a file to the file; of one to anything else, only the words stay.
///
/// # Errors
/// A link is written so that its target cannot be told from the rest.
pub fn placed(
    path: &str,
    text: &str,
    pages: &BTreeMap<String, String>,
    files: &Files,
) -> Result<(String, Vec<String>), String> {
    let mut out = String::new();
    let mut beside = Vec::new();
    let mut done = 0;
    for link in links(text) {
        let outside = link.target.contains("://") || link.target.starts_with("mailto:");
        if outside || link.whole.start < done {
            continue;
        }
        let at = format!("{path}:{}: link `{}`", link.line, link.target);
        let place_of_target =
            link.place.ok_or_else(|| format!("{at} is not written as `[words](target)`"))?;
        let (file, anchor) = match link.target.split_once('#') {
            Some((file, anchor)) => (file, format!("#{anchor}")),
            None => (link.target.as_str(), String::new()),
        };
        let target = resolve(path, file).ok_or_else(|| format!("{at} leads out of the repository"))?;
        let index = if target.is_empty() { "README.md".to_owned() } else { format!("{target}/README.md") };
        let page = [target.clone(), index].into_iter().find(|page| pages.contains_key(page));
        let to = match page {
            // Within the page, as it is written.
            Some(_) if file.is_empty() => Some(anchor),
            Some(page) => Some(relative(&place(path), &place(&page)) + &anchor),
            None if files.text(&target).is_ok_and(|text| text.len() <= MOST_BYTES) => {
                let to = relative(&place(path), &target);
                beside.push(target);
                Some(to)
            }
            None => None,
        };
        match to {
            Some(to) => {
                out += text.get(done..place_of_target.start).unwrap_or_default();
                out += &to;
                done = place_of_target.end;
            }
            None => {
                out += text.get(done..link.whole.start).unwrap_or_default();
                let words = text.get(link.whole.start..place_of_target.start).unwrap_or_default();
                out += words.trim_start_matches('!').trim_start_matches('[').trim_end_matches("](");
                done = link.whole.end;
            }
        }
    }
    out += text.get(done..).unwrap_or_default();
    Ok((out, beside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readmes_are_the_pages_of_their_folders() {
        assert_eq!(place("README.md"), "index.md");
        assert_eq!(place("spec/README.md"), "spec/index.md");
        assert_eq!(place("spec/rules/race.md"), "spec/rules/race.md");
    }

    #[test]
    fn links_lead_from_place_to_place() {
        for (from, to, link) in [
            ("a.md", "b.md", "b.md"),
            ("spec/a.md", "spec/rules/b.md", "rules/b.md"),
            ("spec/rules/b.md", "spec/a.md", "../a.md"),
            ("cases/R01.md", "spec/rules/race.md", "../spec/rules/race.md"),
            ("spec/a.md", "spec/a.md", "a.md"),
            ("a/b/c.md", "a/d/c.md", "../d/c.md"),
            ("spec/rules/b.md", "index.md", "../../index.md"),
        ] {
            assert_eq!(relative(from, to), link, "{from} to {to}");
        }
    }

    #[test]
    fn links_are_those_of_the_book() {
        let page = "[a](../README.md#x) [b](b.md) [c](../code) [`d`](../code/d.py) ![e](../none/e.png) [f](#f) [g](..) \
                    [h](https://h.example/README.md) `[i](b.md)` [j](../code/large)";
        let large = "x".repeat(MOST_BYTES + 1);
        let files = Files::from_texts(&[("code/d.py", ""), ("code/large", &large), ("code/f/g", "")]);
        let pages =
            ["README.md", "spec/README.md", "spec/b.md"].map(|path| (path.to_owned(), String::new())).into();
        let (text, beside) = placed("spec/README.md", page, &pages, &files).expect("a page");
        assert_eq!(
            text,
            "[a](../index.md#x) [b](b.md) c [`d`](../code/d.py) e [f](#f) [g](../index.md) \
             [h](https://h.example/README.md) `[i](b.md)` j"
        );
        assert_eq!(beside, ["code/d.py"]);
    }

    #[test]
    fn links_that_cannot_be_placed_are_said() {
        let placed = |text: &str| placed("a.md", text, &BTreeMap::new(), &Files::from_texts(&[]));
        assert!(
            placed("[b]\n\n[b]: c.md\n").is_err_and(|error| error.starts_with("a.md:1: link `c.md` is not"))
        );
        assert!(
            placed("\n[b](../c.md)\n")
                .is_err_and(|error| error.starts_with("a.md:2: link `../c.md` leads out"))
        );
    }
}
