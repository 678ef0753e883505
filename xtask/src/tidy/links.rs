//! Relative links in Markdown, with their anchors.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::Files;
use megakernel_codegen::markdown::{headings, outside_fences};

/// Links to files or headings that do not exist.
pub fn broken(files: &Files) -> Vec<String> {
    let anchors: BTreeMap<&str, BTreeSet<String>> = files
        .texts()
        .filter(|(path, _)| path.ends_with(".md"))
        .map(|(path, text)| (path, headings(text).into_iter().map(|h| h.anchor).collect()))
        .collect();
    let mut problems = Vec::new();
    for (path, text) in files.texts().filter(|(path, _)| path.ends_with(".md")) {
        for (line, target) in targets(text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').map_or((target, None), |(f, a)| (f, Some(a)));
            let Some(file) = resolve(path, file) else {
                problems.push(format!("{path}:{line}: link `{target}` leads out of the repository"));
                continue;
            };
            if !files.exists(&file) {
                problems
                    .push(format!("{path}:{line}: link `{target}` leads to `{file}`, which does not exist"));
            } else if let (Some(anchor), Some(known)) = (anchor, anchors.get(file.as_str()))
                && !known.contains(anchor)
            {
                problems.push(format!("{path}:{line}: link `{target}`: `{file}` has no heading `#{anchor}`"));
            }
        }
    }
    problems
}

/// Targets of `[text](target)` and `[text]: target` outside code, with their lines.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (line, content) in outside_fences(text) {
        // Every second part between backquotes is code.
        for part in content.split('`').step_by(2) {
            for (at, _) in part.match_indices("](") {
                let rest = part.get(at + 2..).unwrap_or_default();
                let end = rest.find([')', ' ']).unwrap_or(rest.len());
                found.extend(rest.get(..end).map(|target| (line, target)));
            }
            let defined = part.strip_prefix('[').and_then(|r| r.split_once("]: "));
            found.extend(defined.map(|(_, target)| (line, target.trim())));
        }
    }
    found
}

/// The path that a link in `from` leads to, relative to the repository; nothing if it leads out.
pub fn resolve(from: &str, link: &str) -> Option<String> {
    if link.is_empty() {
        return Some(from.to_string());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Vec<String> {
        broken(&Files::from_texts(&[
            ("docs/a.md", text),
            ("spec/b.md", "# B\n### S01 not-json\n"),
            ("c.json", "{}"),
        ]))
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "# Here\n[b](../spec/b.md) [s](../spec/b.md#s01-not-json) [h](#here) [f](../spec) [c](../c.json \"t\")\n\
                    [web](https://example.org/x) `[no](link)`\n```md\n[no](link)\n```\n[r]: ../c.json\n";
        assert_eq!(check(text), Vec::<String>::new());
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        for (text, part) in [
            ("[x](gone.md)", "leads to `docs/gone.md`, which does not exist"),
            (
                "\n[x](../spec/b.md#s02)",
                "docs/a.md:2: link `../spec/b.md#s02`: `spec/b.md` has no heading `#s02`",
            ),
            ("[x](#gone)", "has no heading `#gone`"),
            ("[x](../../shared/a.md)", "leads out of the repository"),
            ("[`code`](gone.md)", "does not exist"),
            ("[r]: gone.md", "does not exist"),
        ] {
            let problems = check(text);
            assert!(
                problems.len() == 1 && problems.iter().all(|p| p.contains(part)),
                "{text:?} gave {problems:?}"
            );
        }
    }
}
