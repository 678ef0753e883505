//! The list of mutants, as cargo-mutants writes it.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is mutated.
pub const FILES: [&str; 3] = [
    "crates/reference/src/validate/**",
    "crates/reference/src/opcodes/**",
    "crates/companions/task-graph/reference/src/validate/**",
];

/// A change of the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mutant {
    /// Its place in the list.
    pub id: u32,
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub function: String,
    /// The type of the function's result.
    pub result: String,
    /// What cargo-mutants calls it: place, and from what to what.
    pub name: String,
    pub genre: String,
    pub replacement: String,
    /// What the repository's text around it becomes.
    pub diff: String,
}

impl Mutant {
    /// Whether it is about proposals or words, by the name of its file or function, which no case judges.
    pub fn is_about_words(&self) -> bool {
        const FUNCTIONS: [&str; 12] = [
            "pointer",
            "subject",
            "shape",
            "rotate_to_lowest",
            "cycle_of_tasks",
            "steps",
            "with_reasons",
            "message",
            "describe",
            "explain",
            "words",
            "witness",
        ];
        let last = self.function.rsplit("::").next().unwrap_or_default();
        self.file.contains("/repair")
            || self.file.ends_with("/describe.rs")
            || FUNCTIONS.contains(&last)
            || matches!(self.result.as_str(), "-> String" | "-> Option<String>")
    }
}

/// Asks cargo-mutants.
pub fn list(root: &Path) -> Result<Vec<Mutant>, String> {
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["mutants", "--list", "--json", "--diff"]);
    for glob in FILES {
        command.args(["-f", glob]);
    }
    let output = command.output().map_err(|cause| format!("cargo mutants cannot be started: {cause}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "cargo mutants failed; `cargo install cargo-mutants --version 27.1.0`: {stderr}"
        ));
    }
    let listed: Vec<Value> = serde_json::from_slice(&output.stdout)
        .map_err(|cause| format!("the list cannot be read: {cause}"))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| value.as_u64().unwrap_or_default() as usize;
    let one = |(id, value): (usize, &Value)| Mutant {
        id: id as u32,
        file: text(&value["file"]),
        line: number(&value["span"]["start"]["line"]),
        column: number(&value["span"]["start"]["column"]),
        function: text(&value["function"]["function_name"]),
        result: text(&value["function"]["return_type"]),
        name: text(&value["name"]),
        genre: text(&value["genre"]),
        replacement: text(&value["replacement"]),
        diff: text(&value["diff"]),
    };
    Ok(listed.iter().enumerate().map(one).collect())
}
