//! What an opcode of the table still lacks: one line a place, with the file to edit.

use std::collections::BTreeSet;

use megakernel_codegen::opcodes::{InPlace, Opcode, TABLE, Table};

use super::cases::Case;
use super::tree::Files;

/// Where something of an opcode stands.
enum Place {
    /// A file of its own.
    File(fn(&Opcode) -> String),
    /// A text in one file.
    Text(&'static str, fn(&Opcode) -> String),
    /// A text somewhere below a folder; the second is the file to edit.
    Below(&'static str, &'static str, fn(&Opcode) -> String),
}

/// Which opcodes have something.
type Which = fn(&Opcode) -> bool;

const ALL: Which = |_| true;
const COMPUTING: Which = Opcode::computes;
/// Programs of an opcode that computes each element by itself are made from its row.
const NOT_ELEMENTWISE: Which = |op| op.in_place != InPlace::Allowed;
const WRITING_FLOATS: Which = Opcode::writes_floats;

/// What every opcode has: what it is, where, and which opcodes need it.
const PLACES: &[(&str, Place, Which)] = &[
    ("its page", Place::File(|op| format!("spec/opcodes/{}.md", op.slug())), ALL),
    ("its dtypes, shapes and footprint in the reference", Place::File(reference), ALL),
    (
        "what the reference computes",
        Place::File(|op| format!("crates/reference/src/vm/kernels/{}.rs", op.module())),
        COMPUTING,
    ),
    (
        "what a plain implementation computes",
        Place::File(|op| format!("crates/adequacy/src/opcodes/{}.rs", op.module())),
        COMPUTING,
    ),
    (
        "a fault that cases have to reject",
        Place::Below("crates/adequacy/src/faults/", "crates/adequacy/src/faults/<group>.rs", |op| {
            format!("Opcode::{}", op.variant())
        }),
        COMPUTING,
    ),
    (
        "faults of special values in what it stores",
        Place::Text("crates/adequacy/src/faults/special.rs", |op| format!("{}\"", op.variant())),
        WRITING_FLOATS,
    ),
    (
        "its row in the second validator",
        Place::Text("crates/mutants/src/opcodes.rs", |op| format!("Opcode::{}", op.variant())),
        ALL,
    ),
    (
        "its device function",
        Place::File(|op| format!("crates/cuda-harness/cuda/ops/{}.cuh", op.module())),
        ALL,
    ),
    (
        "an accepted program that uses it",
        Place::Below(
            "crates/corpus/src/families/accept/",
            "crates/corpus/src/families/accept/opcodes.rs",
            |op| format!("Op::{}", op.variant()),
        ),
        NOT_ELEMENTWISE,
    ),
    (
        "its numeric family",
        Place::Text("crates/corpus/src/families/numeric/mod.rs", |op| format!("(Op::{},", op.variant())),
        COMPUTING,
    ),
    (
        "a task that conforms to the schema",
        Place::Text("schemas/tests/program/pass/every-opcode.json", |op| format!("\"{}\"", op.name)),
        ALL,
    ),
    (
        "a second opinion on its values",
        Place::Text("checks/model.py", |op| format!("@opcode(\"{}\")", op.name)),
        COMPUTING,
    ),
];

/// The reference keeps one opcode in a folder.
fn reference(op: &Opcode) -> String {
    format!("crates/reference/src/opcodes/{}.rs", op.module())
}

/// What the files lack.
pub fn lacking(table: &Table, files: &Files) -> Vec<String> {
    let texts: Vec<(&str, &str)> = files.texts().collect();
    let mut problems = Vec::new();
    for opcode in &table.opcodes {
        for (what, place, needed) in PLACES {
            if !needed(opcode) {
                continue;
            }
            let (found, file, hint) = match place {
                Place::File(path) => {
                    let path = path(opcode);
                    let folder = path.replace(".rs", "/mod.rs");
                    let found = texts.iter().any(|(known, _)| *known == path || *known == folder);
                    (found, path, String::new())
                }
                Place::Text(path, wanted) => {
                    let wanted = wanted(opcode);
                    // Lines are broken where a formatter likes.
                    let found = texts.iter().any(|(known, text)| {
                        known == path && text.split_whitespace().collect::<String>().contains(&wanted)
                    });
                    (found, (*path).to_owned(), format!(": no `{wanted}`"))
                }
                Place::Below(folder, file, wanted) => {
                    let wanted = wanted(opcode);
                    let found = texts.iter().any(|(path, text)| {
                        path.starts_with(folder)
                            && text.match_indices(&wanted).any(|(at, _)| {
                                let next = text[at + wanted.len()..].chars().next();
                                !next.is_some_and(|c| c.is_ascii_alphanumeric())
                            })
                    });
                    (found, (*file).to_owned(), format!(": no `{wanted}`"))
                }
            };
            if !found {
                problems.push(format!("{file}{hint}: {} lacks {what}", opcode.name));
            }
        }
        let page = format!("spec/opcodes/{}.md", opcode.slug());
        let heading = format!("### {} {}", opcode.clause(), opcode.name);
        if let Some((_, text)) = texts.iter().find(|(path, _)| *path == page) {
            if !text.lines().any(|line| line == heading) {
                problems.push(format!("{page}: {} lacks its heading `{heading}`", opcode.name));
            }
            for param in opcode.required.iter().chain(&opcode.optional) {
                if !text.contains(&format!("`{param}`")) {
                    problems.push(format!("{page}: {} lacks its parameter `{param}`", opcode.name));
                }
            }
        }
    }
    problems
}

/// Opcodes whose clause no case cites.
pub fn uncited(table: &Table, cases: &[Case]) -> Vec<String> {
    let cited: BTreeSet<&str> = cases.iter().flat_map(|case| &case.clauses).map(String::as_str).collect();
    (table.opcodes.iter())
        .filter(|opcode| !cited.contains(opcode.clause().as_str()))
        .map(|opcode| {
            format!(
                "{TABLE}: no case cites {} of {}: edit the files above, then `cargo xtask corpus generate`",
                opcode.clause(),
                opcode.name
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table() -> Table {
        Table::from_text(
            r#"{"parameters": [], "reserved": [], "opcodes": [
                {"code": 20, "name": "CLAMP", "summary": "s", "inputs": [1, 1], "outputs": 1}]}"#,
        )
        .expect("a table")
    }

    #[test]
    fn a_row_alone_lacks_everything_else() {
        let problems = lacking(&table(), &Files::default());
        assert_eq!(problems.len(), PLACES.len(), "{problems:#?}");
        assert!(
            problems.contains(&"spec/opcodes/clamp.md: CLAMP lacks its page".to_owned()),
            "{problems:#?}"
        );
        assert!(problems.iter().any(|p| p.starts_with("checks/model.py: no `@opcode(\"CLAMP\")`")));
        let special =
            "crates/adequacy/src/faults/special.rs: no `Clamp\"`: CLAMP lacks faults of special values";
        assert!(problems.iter().any(|p| p.starts_with(special)), "{problems:#?}");
        assert!(uncited(&table(), &[])[0].contains("no case cites OPC-20 of CLAMP"));
    }

    #[test]
    fn an_elementwise_opcode_needs_no_program_and_one_that_writes_integers_no_faults_of_floats() {
        let text = r#"{"parameters": [], "reserved": [], "opcodes": [
            {"code": 20, "name": "CLAMP", "summary": "s", "inputs": [1, 1], "outputs": 1, "in_place": "allowed"},
            {"code": 21, "name": "TOP", "summary": "s", "inputs": [1, 1], "outputs": 1,
             "dtypes": {"inputs": ["float"], "output": "I32"}}]}"#;
        let problems = lacking(&Table::from_text(text).expect("a table"), &Files::default());
        let lacks = |what: &str| problems.iter().any(|problem| problem.ends_with(what));
        assert!(!lacks("CLAMP lacks an accepted program that uses it"), "{problems:#?}");
        assert!(lacks("TOP lacks an accepted program that uses it"), "{problems:#?}");
        assert!(lacks("CLAMP lacks faults of special values in what it stores"), "{problems:#?}");
        assert!(!lacks("TOP lacks faults of special values in what it stores"), "{problems:#?}");
    }

    #[test]
    fn the_repository_lacks_nothing() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let files = Files::read(&root).expect("files");
        let table = Table::read(&root).expect("the table");
        assert_eq!(lacking(&table, &files), Vec::<String>::new());
        let case =
            |op: &Opcode| json!({"id": op.name, "clauses": [op.clause()], "expect": {"verdict": "accept"}});
        let cases: Vec<Case> =
            serde_json::from_value(table.opcodes.iter().map(case).collect()).expect("cases");
        assert_eq!(uncited(&table, &cases), Vec::<String>::new());
    }
}
