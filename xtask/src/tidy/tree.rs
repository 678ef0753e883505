//! The files of the repository, and what must not be in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The paths that git tracks or would track, ignored ones left out, sorted: those of these files and folders, or all if there are none.
///
/// # Errors
/// git is missing, or the root is no working tree.
pub fn listed(root: &Path, below: &[&str]) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["--literal-pathspecs", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"])
        .args(below)
        .current_dir(root)
        .output()
        .map_err(|e| format!("git cannot be run: {e}; it is needed to list the files"))?;
    if !output.status.success() {
        return Err(format!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let paths = String::from_utf8_lossy(&output.stdout);
    let mut paths: Vec<String> =
        paths.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    // What is being merged has several lines.
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Every file that git tracks or would track, the readable ones with their text.
#[derive(Clone, Debug, Default)]
pub struct Files {
    texts: BTreeMap<String, String>,
    /// Files and the folders above them.
    paths: BTreeSet<String>,
}

impl Files {
    /// Lists the files with git, those not yet added included, ignored ones left out.
    pub fn read(root: &Path) -> Result<Files, String> {
        let mut files = Files::default();
        for path in listed(root, &[])? {
            let full = root.join(&path);
            if full.is_file() {
                files.add(&path, fs::read_to_string(full).ok());
            }
        }
        Ok(files)
    }

    /// The same from texts in memory: `(path, text)`.
    #[cfg(test)]
    pub fn from_texts(texts: &[(&str, &str)]) -> Files {
        let mut files = Files::default();
        texts.iter().for_each(|(path, text)| files.add(path, Some((*text).to_string())));
        files
    }

    /// Leaves the files that are asked for.
    #[cfg(test)]
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.texts.retain(|path, _| keep(path));
    }

    /// Writes a file, or removes it.
    #[cfg(test)]
    pub fn set(&mut self, path: &str, text: Option<String>) {
        self.texts.remove(path);
        self.paths.remove(path);
        if text.is_some() {
            self.add(path, text);
        }
    }

    fn add(&mut self, path: &str, text: Option<String>) {
        let mut folder = path;
        while let Some((above, _)) = folder.rsplit_once('/').filter(|(above, _)| !self.paths.contains(*above))
        {
            self.paths.insert(above.to_string());
            folder = above;
        }
        self.paths.insert(path.to_string());
        if let Some(text) = text {
            self.texts.insert(path.to_string(), text);
        }
    }

    /// Path and text of every file that is UTF-8.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of a file.
    ///
    /// # Errors
    /// There is none, or it is not UTF-8.
    pub fn text(&self, path: &str) -> Result<&str, String> {
        self.texts.get(path).map(String::as_str).ok_or_else(|| format!("{path}: there is no such text"))
    }

    /// Whether there is such a file or folder; the root is the empty path.
    pub fn exists(&self, path: &str) -> bool {
        path.is_empty() || self.paths.contains(path)
    }

    /// The folder of the package that a file belongs to: the nearest above it with a `Cargo.toml`, or the root.
    pub fn package<'p>(&self, path: &'p str) -> &'p str {
        let mut folder = path;
        while let Some((above, _)) = folder.rsplit_once('/') {
            if self.paths.contains(&format!("{above}/Cargo.toml")) {
                return above;
            }
            folder = above;
        }
        ""
    }

    /// Whether a file is source.
    pub fn is_code(path: &str) -> bool {
        [".rs", ".py", ".sh", ".cu", ".h"].iter().any(|suffix| path.ends_with(suffix))
    }

    /// Whether somebody wrote a file: the corpus, which has most of all lines, is generated, and compared with what is generated.
    pub fn is_written(path: &str) -> bool {
        !path.starts_with("corpus/") || path.ends_with(".md")
    }
}

/// Absolute paths of somebody's machine.
pub fn machine_paths(files: &Files) -> Vec<String> {
    let folders = ["home", "root", "tmp", "work", "mnt", "Users"].map(|folder| format!("/{folder}/"));
    lines(files, Files::is_written, |_, line| {
        if !line.contains('/') {
            return None;
        }
        let folder = folders.iter().find(|folder| starts_a_path(line, folder))?;
        Some(format!("names a path under `{folder}`, which exists on one machine only"))
    })
}

/// Whether `folder` occurs where a path starts, not inside a longer path or an address.
fn starts_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        before.is_none_or(|c| !(c.is_alphanumeric() || ['.', '_', '-', '/', '}', '*', '~'].contains(&c)))
    })
}

/// Code that is not there yet, and tests that do not run: except those that need a tool, which `.ci/run` has.
pub fn stubs(files: &Files) -> Vec<String> {
    // Written in two parts, so that this file does not find itself.
    let marks = [
        ("todo", "!("),
        ("unimplemented", "!("),
        ("#[igno", "re"),
        ("FIX", "ME"),
        ("TO", "DO:"),
        ("XX", "X "),
    ]
    .map(|(a, b)| format!("{a}{b}"));
    lines(files, Files::is_code, |_, line| {
        // What is ignored because it needs a tool says so; `.ci/run` has the tool, and runs it.
        let line = line.replace(&format!("{}re = \"needs ", "#[igno"), "");
        let mark = marks.iter().find(|mark| line.contains(mark.as_str()))?;
        Some(format!("holds `{mark}`: finish it or remove it"))
    })
}

/// Tests of minutes that nothing says so of: `cargo test` would run them each time, and the release gate never.
pub fn unmarked_minutes(files: &Files) -> Vec<String> {
    let (test, mark) = (format!("fn {}_", "minutes"), format!("{}re = \"needs minutes", "#[igno"));
    let mut problems = Vec::new();
    for (path, text) in files.texts().filter(|(path, _)| path.ends_with(".rs")) {
        let mut above = "";
        for (n, line) in text.lines().enumerate() {
            if line.trim_start().starts_with(&test) && !above.trim_start().starts_with(&mark) {
                problems.push(format!(
                    "{path}:{}: put `{mark}; ...\"]` above it, or give it another name",
                    n + 1
                ));
            }
            above = line;
        }
    }
    problems
}

/// What `find` says of each line of each file that `of` takes.
pub fn lines(
    files: &Files,
    of: impl Fn(&str) -> bool,
    find: impl Fn(&str, &str) -> Option<String>,
) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, text) in files.texts().filter(|(path, _)| of(path)) {
        for (n, line) in text.lines().enumerate() {
            problems.extend(find(path, line).map(|what| format!("{path}:{}: {what}", n + 1)));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_paths_are_found_where_a_path_starts() {
        let path = |folder: &str, rest: &str| format!("{}{folder}/{rest}", "/");
        for bad in
            [path("home", "me/x"), format!("see `{}`", path("tmp", "x")), format!("cd {}", path("work", "x"))]
        {
            assert_eq!(machine_paths(&Files::from_texts(&[("a.md", &bad)])).len(), 1, "{bad}");
        }
        for good in ["https://example.org/home/x", "../tmp/x", "a/work/b", "target/tmp/x", "$HOME/root/x"] {
            assert_eq!(machine_paths(&Files::from_texts(&[("a.md", good)])), Vec::<String>::new(), "{good}");
        }
    }

    #[test]
    fn stubs_are_found_in_code_only() {
        let stub = format!("fn f() {{ {}() }}", "todo!");
        assert_eq!(stubs(&Files::from_texts(&[("a.rs", &stub)])).len(), 1);
        assert_eq!(stubs(&Files::from_texts(&[("a.md", &stub)])), Vec::<String>::new());
        let ignored = format!("{}re]\nfn f() {{}}", "#[igno");
        assert_eq!(stubs(&Files::from_texts(&[("a.rs", &ignored)])).len(), 1);
        let needs = format!("{}re = \"needs numpy\"]\nfn f() {{}}", "#[igno");
        assert_eq!(stubs(&Files::from_texts(&[("a.rs", &needs)])), Vec::<String>::new());
    }

    #[test]
    fn tests_of_minutes_are_marked() {
        let text = |above: &str| format!("#[test]\n{above}\nfn {}_of_all() {{}}\n", "minutes");
        let found = |above: &str| unmarked_minutes(&Files::from_texts(&[("a.rs", &text(above))]));
        assert_eq!(
            found(&format!("{}re = \"needs minutes; the gate runs it\"]", "#[igno")),
            Vec::<String>::new()
        );
        for above in ["", &format!("{}re = \"needs numpy\"]", "#[igno")] {
            assert!(
                found(above).iter().all(|said| said.starts_with("a.rs:3: put `")) && found(above).len() == 1
            );
        }
    }

    #[test]
    fn folders_exist_with_their_files() {
        let files = Files::from_texts(&[("a/b/c.md", "")]);
        assert!(files.exists("a/b") && files.exists("a") && files.exists("") && !files.exists("a/c.md"));
    }
}
