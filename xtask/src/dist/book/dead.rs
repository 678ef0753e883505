//! What is wrong with the pages of a book: links that lead nowhere, pages that need a network, and pages that are too long.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use walkdir::WalkDir;

use crate::tidy::links::resolve;

/// A page, as far as links go.
#[derive(Debug, Default)]
struct Page {
    anchors: BTreeSet<String>,
    /// Where it leads, and whether it loads what is there.
    links: Vec<(String, bool)>,
}

/// Every link of every page below a folder that leads to no file or no place of a page, what is loaded from elsewhere, and every page
/// of more than so many bytes: one line each.
///
/// # Errors
/// A file cannot be read, or there is no page.
pub fn problems(folder: &Path, most_bytes: u64) -> Result<Vec<String>, String> {
    let mut pages: BTreeMap<String, Page> = BTreeMap::new();
    let mut files = BTreeSet::new();
    let mut problems = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|cause| format!("{}: {cause}", folder.display()))?;
        let path = entry.path();
        let name = megakernel_codegen::spec::relative(folder, path);
        if entry.file_type().is_file() && name.ends_with(".html") {
            let text = fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
            if text.len() as u64 > most_bytes {
                problems.push(format!("{name}: has {} bytes, and may have {most_bytes}", text.len()));
            }
            pages.insert(name.clone(), page(&text));
        }
        if entry.file_type().is_file() {
            files.insert(name);
        }
    }
    if pages.is_empty() {
        return Err(format!("{} holds no page", folder.display()));
    }
    for (name, page) in &pages {
        for (link, loaded) in &page.links {
            problems.extend(
                wrong(name, link, *loaded, &pages, &files).map(|what| format!("{name}: `{link}` {what}")),
            );
        }
    }
    problems.dedup();
    Ok(problems)
}

fn wrong(
    from: &str,
    link: &str,
    loaded: bool,
    pages: &BTreeMap<String, Page>,
    files: &BTreeSet<String>,
) -> Option<String> {
    let scheme = link.split_once(':').map(|(scheme, _)| scheme);
    if scheme.is_some_and(|scheme| scheme.chars().all(|c| c.is_ascii_alphanumeric()))
        || link.starts_with("//")
    {
        return (loaded && scheme != Some("data")).then(|| "needs a network".to_owned());
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let path = path.split('?').next().unwrap_or_default();
    let Some(to) = resolve(from, &decoded(path)).filter(|_| !path.starts_with('/')) else {
        return Some("leads out of the book".to_owned());
    };
    let to =
        if path.ends_with('/') { format!("{to}/index.html").trim_start_matches('/').to_owned() } else { to };
    if !files.contains(&to) {
        return Some(format!("leads to `{to}`, which does not exist"));
    }
    let anchor = decoded(anchor.unwrap_or_default());
    let known = pages.get(&to).is_none_or(|page| anchor.is_empty() || page.anchors.contains(&anchor));
    (!known).then(|| format!("leads to `#{anchor}`, which `{to}` does not have"))
}

/// The tags of a page, read as browsers do where it matters here: comments and what scripts hold are no tags.
fn page(text: &str) -> Page {
    let mut page = Page::default();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = rest.get(at + 1..).unwrap_or_default();
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let name_end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let name = rest.get(..name_end).unwrap_or_default().to_ascii_lowercase();
        if name.is_empty() {
            continue;
        }
        rest = rest.get(name_end..).unwrap_or_default();
        rest = attributes(rest, |attribute, value| match attribute {
            "id" => drop(page.anchors.insert(value)),
            "name" if name == "a" => drop(page.anchors.insert(value)),
            "href" => page.links.push((value, name == "link")),
            "src" | "poster" | "data" => page.links.push((value, true)),
            _ => {}
        });
        if name == "script" || name == "style" {
            let end = format!("</{name}");
            rest = rest.find(&end).and_then(|at| rest.get(at..)).unwrap_or_default();
        }
    }
    page
}

/// Reads attributes up to the end of a tag: what stands behind it.
fn attributes(mut rest: &str, mut found: impl FnMut(&str, String)) -> &str {
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        if rest.is_empty() {
            return rest;
        }
        if let Some(rest) = rest.strip_prefix('>') {
            return rest;
        }
        let end =
            rest.find(|c: char| c.is_whitespace() || ['=', '>', '/'].contains(&c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end.max(1).min(rest.len()));
        let Some(value) = after.trim_start().strip_prefix('=').map(str::trim_start) else {
            rest = after;
            continue;
        };
        let (value, after) = match value.chars().next().filter(|quote| ['"', '\''].contains(quote)) {
            Some(quote) => value.get(1..).unwrap_or_default().split_once(quote).unwrap_or((value, "")),
            None => {
                value.split_at(value.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(value.len()))
            }
        };
        let entities =
            [("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
        let value =
            entities.iter().fold(value.to_owned(), |value, (entity, sign)| value.replace(entity, sign));
        found(&name.to_ascii_lowercase(), value);
        rest = after;
    }
}

/// The text of an address, whose bytes may be written as `%41`.
fn decoded(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| byte == b'%').and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        out.push(code.unwrap_or(byte));
        rest = after.get(if code.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::write;

    fn of(pages: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        pages.iter().for_each(|(path, text)| write(&folder.path().join(path), text).expect("a file"));
        problems(folder.path(), 300).expect("a book")
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let index = "<a href=\"a/b.html#x%C3%A9\">x</a><A class='c' HREF='a/b.html'><a href=#here><h1 id=here>\
                     <img src=\"data:x\"><a href=\"https://x.example/\"><link rel=icon href=\"i.svg?v=1\"><a href=\"a/\"><br/>";
        let code = "<code>&lt;a href=\"gone.html\"></code> href=\"gone\" <!-- <a href=\"gone\"> --><script>\"<a href='gone'>\"</script>";
        let pages = [
            ("index.html", index),
            ("a/b.html", "<h2 id=\"xé\">"),
            ("a/index.html", code),
            ("i.svg", "<a href=gone>"),
        ];
        assert_eq!(of(&pages), Vec::<String>::new());
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        for (text, problem) in [
            ("<a href=\"gone.html\">", "a/b.html: `gone.html` leads to `a/gone.html`, which does not exist"),
            (
                "<a href=\"../index.html#gone\">",
                "a/b.html: `../index.html#gone` leads to `#gone`, which `index.html` does not have",
            ),
            ("<a href=\"#gone\">", "a/b.html: `#gone` leads to `#gone`, which `a/b.html` does not have"),
            ("<a href=\"../../x\">", "a/b.html: `../../x` leads out of the book"),
            ("<a href=\"../a\">", "a/b.html: `../a` leads to `a`, which does not exist"),
            ("<a href=\"/index.html\">", "a/b.html: `/index.html` leads out of the book"),
            ("<object data=\"gone\">", "a/b.html: `gone` leads to `a/gone`, which does not exist"),
            ("<video poster=//x.example/y.png>", "a/b.html: `//x.example/y.png` needs a network"),
            ("<script src=\"https://x.example/y.js\">", "a/b.html: `https://x.example/y.js` needs a network"),
            ("<link href=//x.example/y.css>", "a/b.html: `//x.example/y.css` needs a network"),
            ("<script>x</script><a href='gone'>", "a/b.html: `gone` leads to `a/gone`, which does not exist"),
        ] {
            assert_eq!(of(&[("index.html", "<p id=x>"), ("a/b.html", text)]), [problem], "{text}");
        }
        let long = "x".repeat(301);
        assert_eq!(of(&[("index.html", &long)]), ["index.html: has 301 bytes, and may have 300"]);
    }

    #[test]
    fn a_folder_without_pages_is_no_book() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(problems(folder.path(), 1).is_err());
    }
}
