//! What the checks read of a case. The runner reads all of it.

use std::path::Path;

use serde::Deserialize;
use walkdir::WalkDir;

/// A case, as far as ids go.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Its id.
    pub id: String,
    /// The clauses and rules that it tests.
    pub clauses: Vec<String>,
    /// The profiles that it counts for.
    #[serde(default)]
    pub profiles: Vec<String>,
    /// The declared answer.
    pub expect: Expect,
    /// How it is executed, if it is.
    #[serde(default)]
    pub execute: Option<Execution>,
    /// The accepted case that differs by one edit.
    #[serde(default)]
    pub twin: Option<String>,
    /// Where it comes from.
    #[serde(default)]
    pub provenance: Provenance,
}

/// Where a case comes from.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Provenance {
    /// The first segments of the id.
    pub family: String,
}

/// A declared answer.
#[derive(Clone, Debug, Deserialize)]
pub struct Expect {
    /// `accept`, `reject` or `either`.
    pub verdict: String,
    /// The rules of a rejection.
    #[serde(default)]
    pub rules: Vec<String>,
    /// The warnings.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// What is known of an execution.
#[derive(Clone, Debug, Deserialize)]
pub struct Execution {
    /// The seeded faults that the case rejects.
    #[serde(default)]
    pub certificate: Vec<String>,
}

/// Reads every case below a folder.
///
/// # Errors
/// A file is no case, or there is none.
pub fn read(folder: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.map_err(|cause| format!("{}: {cause}", folder.display()))?;
        let path = entry.path();
        if entry.file_type().is_file() && path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
            let case = serde_json::from_slice(&text);
            cases.push(case.map_err(|cause| format!("{}: {cause}", path.display()))?);
        }
    }
    if cases.is_empty() {
        return Err(format!("{} holds no case", folder.display()));
    }
    cases.sort_by(|a: &Case, b: &Case| a.id.cmp(&b.id));
    Ok(cases)
}
