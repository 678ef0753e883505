//! Kernels with few opcodes: a compiler spends most of its time on those that no task of a test has.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use megakernel_ir::Opcode;
use serde_json::Value;

use super::corpus::documents;

/// The opcodes of [`super::worker::chain`].
pub const CHAIN: [Opcode; 2] = [Opcode::Copy, Opcode::Add];

/// What leaves out all opcodes but these, in front of what is given with `--kernels` or `--vm`. A task that has one of the others crashes
/// its launch, which no test takes for what it looks for.
pub fn only(opcodes: &[Opcode]) -> String {
    let others = Opcode::ALL.iter().filter(|opcode| !opcodes.contains(opcode));
    let left_out: String = others.map(|opcode| format!("#define AMK_REPLACE_{opcode} left_out\n")).collect();
    format!(
        "AMK_DEVICE void left_out(const amk_program_t&, const amk_instruction_t&) {{ __builtin_trap(); }}\n{left_out}"
    )
}

/// The opcodes of the cases that match, at least one.
pub fn opcodes(filter: &str) -> Vec<Opcode> {
    let mut found = BTreeSet::new();
    for document in documents(filter) {
        let program: Value = serde_json::from_slice(&document).expect("a program");
        let tasks = program["tasks"].as_array().expect("tasks");
        found.extend(tasks.iter().map(|task| {
            let name = task["op"].as_str().expect("an opcode");
            Opcode::from_name(name).expect("an opcode of the table")
        }));
    }
    assert!(!found.is_empty(), "{filter} has no tasks");
    found.into_iter().collect()
}

/// The path of a file with a text behind [`only`] these opcodes: one place for one text, so that it is compiled once.
pub fn file(opcodes: &[Opcode], text: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fewer");
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = format!("{}{text}", only(opcodes));
    let path = folder.join(format!("{}.cu", blake3::hash(text.as_bytes()).to_hex()));
    let mut new = tempfile::NamedTempFile::new_in(&folder).expect("a file");
    new.write_all(text.as_bytes()).expect("it is written");
    // Whole at once: another test may be reading it.
    new.persist(&path).expect("it has its name");
    path.display().to_string()
}

/// The same of another file.
pub fn including(opcodes: &[Opcode], other: &Path) -> String {
    file(opcodes, &format!("#include \"{}\"\n", other.display()))
}
