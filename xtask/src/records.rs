//! The records under `evidence/` as the runner judges them, on the corpus and the kernels as they are.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::tool;

/// What there is to say about a record.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Why it is no record.
    pub problem: Option<String>,
    /// Why it is about something else than what is there.
    pub stale: Vec<String>,
    /// What is wrong with it otherwise.
    pub wrong: Vec<String>,
    /// What is worth knowing.
    pub notes: Vec<String>,
    /// The device; absent where it is no record.
    pub device: Option<Device>,
}

/// The device that a record is about.
#[derive(Clone, Debug, Deserialize)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// The target that it ran the kernels for.
    pub target: String,
    /// The day of the run, where the record has it.
    pub date: Option<String>,
}

#[derive(Deserialize)]
struct Digests {
    host: String,
    gpu: String,
    tensor_cores: String,
}

/// Asks the harness for the digests of its kernels, and the runner about every record of a folder, by file name.
///
/// # Errors
/// A program cannot be built, or the runner cannot tell.
pub fn read(root: &Path, folder: &Path, corpus: Option<&Path>) -> Result<BTreeMap<String, Record>, String> {
    let programs = tool::build_all(root, &[tool::CONFORM, tool::CUDA])?;
    let mut digests = Command::new(&programs[1]);
    let digests: Digests = parse(&output(digests.arg("--digests"), &[0])?)?;
    let mut examine = Command::new(&programs[0]);
    examine.arg("evidence").arg(folder).args([
        "--host-kernels",
        &digests.host,
        "--gpu-kernels",
        &digests.gpu,
        "--tensor-core-kernels",
        &digests.tensor_cores,
    ]);
    examine.arg("--corpus").arg(corpus.map_or_else(|| root.join("corpus"), Path::to_owned));
    parse(&output(&mut examine, &[0, 1])?)
}

fn output(command: &mut Command, codes: &[i32]) -> Result<Vec<u8>, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|cause| format!("{program} cannot be started: {cause}"))?;
    if output.status.code().is_some_and(|code| codes.contains(&code)) {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.trim().trim_start_matches("error: ").to_owned())
}

fn parse<T: serde::de::DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|cause| cause.to_string())
}
