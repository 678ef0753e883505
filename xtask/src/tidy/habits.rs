//! Habits of the code: what it reads stands in the repository, tests say when they cannot run, modules are laid out in one way.

use std::collections::BTreeSet;

use super::tree::{Files, lines};

/// Source past this many lines wants to be two files.
const LONG: usize = 500;

/// Source that may be longer, with the reason in the second place.
const MAY_BE_LONG: [(&str, &str); 2] = [("generated.rs", "generated"), ("checks/model.py", "to be split")];

/// Paths in code that lead out of the repository, so that what runs depends on what happens to lie beside it.
pub fn paths_out(files: &Files) -> Vec<String> {
    let kinds = [".rs", ".py", ".toml", ".sh", ".ci/run", "checks/run"];
    let of = |path: &str| kinds.iter().any(|kind| path.ends_with(kind));
    lines(files, of, |path, line| {
        let found = climbs(line).into_iter().find(|climb| leads_out(files, path, line, climb))?;
        Some(format!("`{}{}` leads out of the repository", "../".repeat(found.up), found.first))
    })
}

/// A run of `../` and the name after it.
#[derive(Debug, PartialEq)]
struct Climb<'l> {
    up: usize,
    first: &'l str,
}

fn climbs(line: &str) -> Vec<Climb<'_>> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("..") {
        let before = rest.get(..at).and_then(|text| text.chars().next_back());
        rest = rest.get(at..).unwrap_or_default();
        let mut up = 0;
        while let Some(after) = rest.strip_prefix("../") {
            up += 1;
            rest = after;
        }
        if up == 0 {
            rest = rest.trim_start_matches('.');
            continue;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c))).unwrap_or(rest.len());
        let (first, after) = rest.split_at(end);
        rest = after;
        // In the middle of a path it depends on what stands before.
        if !before.is_some_and(|c| c.is_alphanumeric() || c == '/' || c == '}') {
            found.push(Climb { up, first });
        }
    }
    found
}

/// Whether a climb leaves the repository from wherever it may start: the folder of the file, that of its package, or, where the line
/// says so, the root.
fn leads_out(files: &Files, path: &str, line: &str, climb: &Climb<'_>) -> bool {
    if line.contains("root()") || line.contains("root.join") {
        return true;
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let package = files.package(path);
    let starts = if line.contains("CARGO_MANIFEST_DIR") { vec![package] } else { vec![folder, package] };
    !starts.iter().any(|start| {
        let mut base = *start;
        for _ in 0..climb.up {
            if base.is_empty() {
                return false;
            }
            base = base.rsplit_once('/').map_or("", |(above, _)| above);
        }
        // What is not below a folder of the repository may still be made by a test, in a folder of its own.
        !base.is_empty() || climb.first.is_empty() || files.exists(climb.first)
    })
}

/// Tests that say that they were skipped and then pass: where something is missing they have to fail, or to be ignored with a reason.
pub fn silent_skips(files: &Files) -> Vec<String> {
    // Written in two parts, so that this file does not find itself.
    let mark = format!("{}{}", "ski", "pped");
    let test = |path: &str| {
        path.ends_with(".rs")
            && (path.contains("/tests/") || path.contains("/benches/") || path.ends_with("tests.rs"))
    };
    lines(files, test, |_, line| {
        let says = line.contains("print") && line.contains(&mark) && line.contains("!(");
        says.then(|| {
            "a test that only says that it was skipped is green: let it fail (`test_support::tools::require`), \
             or be ignored with what it needs as the reason"
                .to_owned()
        })
    })
}

/// What git leaves in a file where two changes met.
pub fn merge_marks(files: &Files) -> Vec<String> {
    lines(files, Files::is_written, |_, line| {
        let marked = line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
        marked.then(|| {
            "what two changes made of this stands side by side: choose, and delete the marks".to_owned()
        })
    })
}

/// Code in comments that rustdoc takes for a test. To look for one it compiles each crate once more, so that libraries turn that off, with
/// `doctest = false`.
pub fn doc_tests(files: &Files) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, text) in files.texts().filter(|(path, _)| path.ends_with(".rs")) {
        let mut inside = false;
        for (n, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let fence = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim_start);
            let Some(fence) = fence.and_then(|line| line.strip_prefix("```")) else {
                inside &= fence.is_some();
                continue;
            };
            inside = !inside;
            if inside && !["text", "console", "json"].contains(&fence.trim()) {
                problems.push(format!(
                    "{path}:{}: a code block that looks like a test of rustdoc, and none of those is run: say ```text, ```console \
                     or ```json, or write a test",
                    n + 1
                ));
            }
        }
    }
    problems
}

/// Modules with children that stand beside their folder, `x.rs` and `x/`, and not in it, as `x/mod.rs`.
pub fn modules_beside(files: &Files) -> Vec<String> {
    let paths = || files.texts().map(|(path, _)| path).filter(|path| path.ends_with(".rs"));
    let folders: BTreeSet<&str> = paths().filter_map(|path| Some(path.rsplit_once('/')?.0)).collect();
    paths()
        .filter_map(|path| Some((path, path.strip_suffix(".rs")?)))
        .filter(|(_, module)| folders.contains(module))
        .map(|(path, module)| format!("{path} stands beside {module}/: move it to {module}/mod.rs"))
        .collect()
}

/// Source past [`LONG`] lines.
pub fn long_sources(files: &Files) -> Vec<String> {
    too_long(files, |path| Files::is_code(path) && !MAY_BE_LONG.iter().any(|(end, _)| path.ends_with(end)))
}

/// Prose past [`LONG`] lines, and source that may be long for now.
pub fn long_texts(files: &Files) -> Vec<String> {
    let for_now =
        |path: &str| MAY_BE_LONG.iter().any(|(end, reason)| path.ends_with(end) && *reason != "generated");
    too_long(files, |path| path.ends_with(".md") || for_now(path))
}

fn too_long(files: &Files, of: impl Fn(&str) -> bool) -> Vec<String> {
    files
        .texts()
        .filter(|(path, _)| of(path))
        .filter_map(|(path, text)| {
            let count = text.lines().count();
            (count > LONG).then(|| format!("{path} has {count} lines; past {LONG}, two files may be clearer"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(path: &str, text: &str) -> Files {
        Files::from_texts(&[
            ("Cargo.toml", ""),
            ("crates/a/Cargo.toml", ""),
            ("crates/a/tests/t.rs", ""),
            ("fixtures/x.json", ""),
            ("examples/b/run.sh", ""),
            (path, text),
        ])
    }

    #[test]
    fn paths_that_lead_out_are_named() {
        let up = |count: usize, rest: &str| format!("{}{rest}", "../".repeat(count));
        for (path, text) in [
            ("crates/a/tests/t.rs", format!("join(\"{}\")", up(3, "shared/x"))),
            ("crates/a/src/b/t.rs", format!("join(\"{}\")", up(4, "shared/x"))),
            ("crates/a/src/b/t.rs", format!("env!(\"CARGO_MANIFEST_DIR\"), \"{}\"", up(3, "fixtures/x"))),
            ("crates/a/src/t.rs", format!("{}().join(\"{}\")", "root", up(1, "fixtures"))),
            ("crates/a/Cargo.toml", format!("path = \"{}\"", up(3, "other"))),
            ("examples/b/run.sh", format!("cd {}", up(3, ""))),
            ("x.py", format!("open('{}')", up(1, "x"))),
        ] {
            let found = paths_out(&files(path, &text));
            assert_eq!(found.len(), 1, "{path}: {text}: {found:?}");
        }
    }

    #[test]
    fn paths_that_stay_pass() {
        let up = |count: usize, rest: &str| format!("{}{rest}", "../".repeat(count));
        for (path, text) in [
            ("crates/a/tests/t.rs", format!("env!(\"CARGO_MANIFEST_DIR\"), \"{}\"", up(2, "fixtures/x"))),
            ("crates/a/tests/t.rs", format!("include_str!(\"{}\")", up(3, "fixtures/x"))),
            ("crates/a/Cargo.toml", format!("path = \"{}\"", up(1, "b"))),
            ("examples/b/run.sh", format!("cd \"$(dirname \"$0\")/{}\"", up(2, ""))),
            ("crates/a/src/t.rs", "for i in 0..n {}; 0../2".to_owned()),
            ("crates/a/README.md", up(9, "x")),
        ] {
            assert_eq!(paths_out(&files(path, &text)), Vec::<String>::new(), "{path}: {text}");
        }
    }

    #[test]
    fn skips_that_only_print_are_named() {
        let text = format!("{}!(\"{}: no tool\");", "eprintln", "skipped");
        assert_eq!(silent_skips(&Files::from_texts(&[("crates/a/tests/t.rs", &text)])).len(), 1);
        assert_eq!(silent_skips(&Files::from_texts(&[("crates/a/src/t.rs", &text)])), Vec::<String>::new());
    }

    #[test]
    fn a_merge_that_is_half_done_is_named() {
        let text = format!("a\n{} HEAD\nb\n=======\nc\n{} x\n", "<".repeat(7), ">".repeat(7));
        let found = merge_marks(&Files::from_texts(&[("a.md", &text), ("b.md", "Title\n=======\n")]));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a.md:2: ") && found[1].starts_with("a.md:6: "), "{found:?}");
    }

    #[test]
    fn code_in_comments_says_that_it_is_no_test() {
        let block =
            |kind: &str| format!("/// Adds.\n///\n/// ```{kind}\n/// add(1, 2)\n/// ```\nfn add() {{}}\n");
        for (kind, count) in [("", 1), ("rust", 1), ("should_panic", 1), ("text", 0), ("console", 0)] {
            let text = format!("//! ```json\n//! []\n//! ```\n{}{}", block(kind), block("text"));
            let found = doc_tests(&Files::from_texts(&[("a.rs", &text), ("a.md", &block(""))]));
            assert_eq!(found.len(), count, "{kind}: {found:?}");
            assert!(found.iter().all(|line| line.starts_with("a.rs:6: ")), "{kind}: {found:?}");
        }
    }

    #[test]
    fn modules_are_laid_out_in_one_way() {
        let found =
            modules_beside(&Files::from_texts(&[("a/x.rs", ""), ("a/x/y.rs", ""), ("a/z/mod.rs", "")]));
        assert_eq!(found, ["a/x.rs stands beside a/x/: move it to a/x/mod.rs"]);
        // A folder of other files belongs to whoever reads it.
        let data = [("a/x.rs", ""), ("a/x/y.json", ""), ("a/z/mod.rs", ""), ("a/z/x.rs", "")];
        assert_eq!(modules_beside(&Files::from_texts(&data)), Vec::<String>::new());
    }

    #[test]
    fn long_files_are_listed() {
        let text = "x\n".repeat(LONG + 1);
        let files = Files::from_texts(&[("a.rs", &text), ("a.md", &text), ("b.json", &text), ("c.rs", "x")]);
        assert_eq!(long_sources(&files), ["a.rs has 501 lines; past 500, two files may be clearer"]);
        assert_eq!(long_texts(&files), ["a.md has 501 lines; past 500, two files may be clearer"]);
    }
}
