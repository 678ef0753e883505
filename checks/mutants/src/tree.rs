//! A copy of the workspace in which the mutated crates hold all their mutants, and its build.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::list::Mutant;
use crate::schemata::{self, Mark, Refused, Rendered};

const CRATES: [(&str, &str); 2] = [
    ("crates/reference", "megakernel-reference"),
    ("crates/companions/task-graph/reference", "megakernel-task-graph-reference"),
];

/// A profile of its own: fast enough to play many cases, and as strict about arithmetic as that of the tests.
const PROFILE: &str = "
[profile.mutants]
inherits = \"release\"
opt-level = 2
debug = false
overflow-checks = true
[profile.mutants.package.\"*\"]
opt-level = 1
[profile.mutants.package.megakernel-conformance]
opt-level = 1
";

pub struct Tree {
    pub root: PathBuf,
    pub tree: PathBuf,
}

fn told<T>(path: &Path, result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|cause| format!("{}: {cause}", path.display()))
}

/// Writes a file where it has other contents, so that nothing is compiled twice.
fn write(path: &Path, contents: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|there| there == contents) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        told(folder, fs::create_dir_all(folder))?;
    }
    told(path, fs::write(path, contents))
}

impl Tree {
    /// Copies what the build needs.
    pub fn copy(&self, mutated: &BTreeSet<&str>) -> Result<(), String> {
        let mut git = Command::new("git");
        git.current_dir(&self.root).args(["ls-files", "-z", "--", "Cargo.toml", "Cargo.lock"]);
        git.args(["crates", "adapters/rust", "xtask", "spec", "checks/mutants"]);
        let listed = git.output().map_err(|cause| format!("git: {cause}"))?;
        for file in String::from_utf8_lossy(&listed.stdout).split('\0').filter(|file| !file.is_empty()) {
            if mutated.contains(file) {
                continue;
            }
            let source = self.root.join(file);
            let mut contents = told(&source, fs::read(&source))?;
            let text = String::from_utf8_lossy(&contents).into_owned();
            if file == "Cargo.toml" {
                contents = (text + PROFILE).into_bytes();
            } else if CRATES.iter().any(|(folder, _)| file == format!("{folder}/Cargo.toml")) {
                let depth = "../".repeat(file.matches('/').count());
                let line =
                    format!("[dependencies]\nmegakernel-active = {{ path = \"{depth}crates/active\" }}\n");
                contents = text.replacen("[dependencies]\n", &line, 1).into_bytes();
            }
            let target = match file.strip_prefix("checks/mutants/") {
                Some(own) if own.starts_with("active/") || own.starts_with("player/") => {
                    format!("crates/{own}")
                }
                Some(_) => continue,
                // Cargo adds the two crates to it.
                None if file == "Cargo.lock" && self.tree.join(file).exists() => continue,
                None => file.to_owned(),
            };
            write(&self.tree.join(target), &contents)?;
        }
        Ok(())
    }

    /// Builds the player, and takes out what the compiler refuses.
    pub fn build(&self, mutants: &[Mutant], refused: &mut Refused) -> Result<BTreeSet<u32>, String> {
        let mut files: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
        for mutant in mutants {
            files.entry(&mutant.file).or_default().push(mutant);
        }
        self.copy(&files.keys().copied().collect())?;
        for (step, (_, package)) in CRATES.iter().enumerate().chain([(2, &("", "megakernel-player"))]) {
            loop {
                let (rendered, unknown) = self.write_all(&files, refused)?;
                let errors = self.cargo(if step < 2 { "check" } else { "build" }, package)?;
                if errors.is_empty() {
                    if step == 2 {
                        return Ok(unknown);
                    }
                    break;
                }
                let before = (refused.mutants.len(), refused.plain.len());
                for error in &errors {
                    refuse(error, &rendered, refused)?;
                }
                let after = (refused.mutants.len(), refused.plain.len());
                eprintln!(
                    "{package}: {} errors; {} mutants are out, {} places plain",
                    errors.len(),
                    after.0,
                    after.1
                );
                if before == after {
                    return Err(format!(
                        "no mutant is to blame: {}",
                        errors[0]["rendered"].as_str().unwrap_or("")
                    ));
                }
            }
        }
        Err("nothing was built".to_owned())
    }

    fn write_all<'m>(
        &self,
        files: &BTreeMap<&'m str, Vec<&Mutant>>,
        refused: &mut Refused,
    ) -> Result<(BTreeMap<&'m str, Rendered>, BTreeSet<u32>), String> {
        let (mut all, mut unknown) = (BTreeMap::new(), BTreeSet::new());
        for (&file, mutants) in files {
            let path = self.root.join(file);
            let source = told(&path, fs::read_to_string(&path))?;
            let rendered =
                schemata::render(&source, mutants, refused).map_err(|cause| format!("{file}: {cause}"))?;
            unknown.extend(&rendered.unknown);
            refused.mutants.extend(&rendered.chains);
            write(&self.tree.join(file), rendered.text.as_bytes())?;
            all.insert(file, rendered);
        }
        Ok((all, unknown))
    }

    /// The errors of a build.
    fn cargo(&self, what: &str, package: &str) -> Result<Vec<Value>, String> {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(&self.tree).args([
            what,
            "--profile",
            "mutants",
            "--message-format=json",
            "-p",
            package,
        ]);
        cargo
            .env("RUSTFLAGS", "--cap-lints=allow")
            .env("CARGO_TARGET_DIR", self.target())
            .stdout(Stdio::piped());
        if what == "check" {
            cargo.arg("--lib");
        }
        let output = cargo.stderr(Stdio::piped()).output().map_err(|cause| format!("cargo: {cause}"))?;
        let messages = output.stdout.split(|&byte| byte == b'\n').filter_map(|line| {
            let value: Value = serde_json::from_slice(line).ok()?;
            let message = value.get("message")?;
            let is_error =
                message["level"] == "error" && message["spans"].as_array().is_some_and(|s| !s.is_empty());
            is_error.then(|| message.clone())
        });
        let errors: Vec<Value> = messages.collect();
        if !output.status.success() && errors.is_empty() {
            return Err(format!("cargo {what}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Ok(errors)
    }

    fn target(&self) -> PathBuf {
        self.tree.with_file_name("build")
    }

    /// The program that plays cases.
    pub fn player(&self) -> PathBuf {
        self.target().join("mutants/megakernel-player")
    }
}

/// Takes out what an error is about.
fn refuse(error: &Value, rendered: &BTreeMap<&str, Rendered>, refused: &mut Refused) -> Result<(), String> {
    let spans: Vec<&Value> = error["spans"].as_array().into_iter().flatten().collect();
    let (primary, others): (Vec<&Value>, Vec<&Value>) =
        spans.into_iter().partition(|span| span["is_primary"] == Value::Bool(true));
    for span in primary.into_iter().chain(others) {
        let Some(file) = span["file_name"].as_str().and_then(|name| rendered.get(name)) else { continue };
        let at = |key: &str| span[key].as_u64().unwrap_or_default() as usize;
        let (start, end) = (at("byte_start"), at("byte_end"));
        // Of a match that is no longer complete, the first arm that may be deleted.
        let arms = file.marks.iter().filter_map(|(range, mark)| match mark {
            Mark::Arm(id) if range.start >= end => Some((range.start, *id)),
            _ => None,
        });
        if let (Some((_, id)), "E0004") = (arms.min(), error["code"]["code"].as_str().unwrap_or_default()) {
            refused.mutants.insert(id);
            return Ok(());
        }
        let within = file.marks.iter().filter(|(range, mark)| {
            range.start <= start && end <= range.end && !matches!(mark, Mark::Arm(_))
        });
        match within.min_by_key(|(range, _)| range.len()) {
            Some((_, Mark::Of(id))) => {
                refused.mutants.insert(*id);
                return Ok(());
            }
            Some((_, Mark::Place(ids, is_plain))) => {
                match ids.first() {
                    Some(&first) if !is_plain => drop(refused.plain.insert(first)),
                    _ => refused.mutants.extend(ids),
                }
                return Ok(());
            }
            Some((_, Mark::Arm(_))) | None => {}
        }
    }
    Err(format!("no mutant is to blame: {}", error["rendered"].as_str().unwrap_or_default()))
}
