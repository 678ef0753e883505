//! Code for a GPU that somebody has compiled: a CUBIN, a fat binary or PTX, by itself or with a file that says how it is launched.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The kernel of a virtual machine, unless a file names another.
pub const KERNEL: &str = "amk_megakernel";

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// The record of the program (clause ABI-05).
    Program,
    /// The address of that record on the GPU.
    ProgramAddress,
    /// A number.
    U32(u32),
    /// A number.
    U64(u64),
    /// A number.
    F32(f32),
    /// The address of so many bytes that are 0 before each launch.
    Zeros(usize),
}

/// How a kernel is launched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name, as the file has it.
    pub kernel: String,
    /// What it takes; empty: what our own takes.
    pub arguments: Vec<Argument>,
    /// Bytes of dynamic shared memory that a block needs at least.
    pub shared_bytes: u64,
}

fn program_alone() -> Vec<Argument> {
    vec![Argument::Program]
}

impl Entry {
    /// A kernel that takes the program alone.
    pub fn taking_the_program(kernel: &str) -> Entry {
        Entry { kernel: kernel.to_owned(), arguments: program_alone(), shared_bytes: 0 }
    }

    /// Our own.
    pub fn own() -> Entry {
        Entry { arguments: Vec::new(), ..Entry::taking_the_program("amk_vm") }
    }
}

/// What `--vm FILE.json` holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    binary: PathBuf,
    #[serde(default = "kernel")]
    kernel: String,
    #[serde(default = "program_alone")]
    arguments: Vec<Argument>,
    #[serde(default)]
    shared_bytes: u64,
}

fn kernel() -> String {
    KERNEL.to_owned()
}

/// Whether a file is code for a GPU, or describes such a file, by its name.
pub fn is_binary(path: &Path) -> bool {
    path.extension().is_some_and(|end| ["cubin", "fatbin", "ptx", "json"].iter().any(|known| end == *known))
}

/// The file with the code, and how its kernel is launched. A path in a description starts from the folder of that.
///
/// # Errors
/// The description cannot be read, or says something that no launch can do.
pub fn read(path: &Path) -> Result<(PathBuf, Entry), String> {
    if path.extension().is_none_or(|end| end != "json") {
        return Ok((path.to_path_buf(), Entry::taking_the_program(KERNEL)));
    }
    let text = fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    let about = |what: &dyn std::fmt::Display| {
        format!("{} does not say how a kernel is launched: {what}", path.display())
    };
    let described: Described = serde_json::from_str(&text).map_err(|cause| about(&cause))?;
    let Described { binary, kernel, arguments, shared_bytes } = described;
    if !arguments.iter().any(|argument| matches!(argument, Argument::Program | Argument::ProgramAddress)) {
        return Err(about(&"`arguments` has neither \"program\" nor \"program_address\""));
    }
    if arguments.contains(&Argument::Zeros(0)) {
        return Err(about(&"`zeros` is 0, and no memory has so few bytes"));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok((folder.join(binary), Entry { kernel, arguments, shared_bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(text: &str) -> Result<(PathBuf, Entry), String> {
        let folder = tempfile::tempdir().unwrap_or_else(|cause| unreachable!("{cause}"));
        let path = folder.path().join("theirs.json");
        fs::write(&path, text).unwrap_or_else(|cause| unreachable!("{cause}"));
        let found = read(&path);
        found.map(|(binary, entry)| {
            (binary.strip_prefix(folder.path()).map(Path::to_path_buf).unwrap_or(binary), entry)
        })
    }

    #[test]
    fn a_description_says_all_or_leaves_it_to_what_is_usual() {
        let usual = (PathBuf::from("a.cubin"), Entry::taking_the_program(KERNEL));
        assert_eq!(described(r#"{"binary": "a.cubin"}"#), Ok(usual));
        let all = r#"{"binary": "/b.fatbin", "kernel": "k", "shared_bytes": 7,
            "arguments": [{"u32": 1}, "program_address", {"u64": 2}, {"f32": 0.5}, {"zeros": 3}, "program"]}"#;
        use Argument::{F32, Program, ProgramAddress, U32, U64, Zeros};
        let arguments = vec![U32(1), ProgramAddress, U64(2), F32(0.5), Zeros(3), Program];
        let entry = Entry { kernel: "k".to_owned(), arguments, shared_bytes: 7 };
        assert_eq!(described(all), Ok((PathBuf::from("/b.fatbin"), entry.clone())));
        // So it goes to the process that launches it.
        let text = serde_json::to_string(&entry).unwrap_or_default();
        assert_eq!(serde_json::from_str::<Entry>(&text).ok(), Some(entry));
        let own = serde_json::to_string(&Entry::own()).unwrap_or_default();
        assert_eq!(serde_json::from_str::<Entry>(&own).ok(), Some(Entry::own()));
    }

    #[test]
    fn what_no_launch_can_do_is_said() {
        for (text, part) in [
            ("", "EOF"),
            ("{}", "missing field `binary`"),
            (r#"{"binary": "a", "kernels": "b"}"#, "unknown field `kernels`"),
            (r#"{"binary": "a", "arguments": []}"#, "neither \"program\""),
            (r#"{"binary": "a", "arguments": [{"u32": 1}]}"#, "neither \"program\""),
            (r#"{"binary": "a", "arguments": ["program", {"u32": -1}]}"#, "-1"),
            (r#"{"binary": "a", "arguments": ["program", {"zeros": 0}]}"#, "`zeros` is 0"),
            (r#"{"binary": "a", "arguments": ["states"]}"#, "unknown variant `states`"),
        ] {
            let found = described(text);
            assert!(
                found
                    .as_ref()
                    .is_err_and(|why| why.contains("theirs.json does not say") && why.contains(part)),
                "{text}: {found:?}"
            );
        }
    }
}
