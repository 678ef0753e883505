//! The generator's own parts: builder, edits, and the corpus directory.

use std::fs;
use std::path::Path;

use megakernel_corpus::builder::{DType, Op, ProgramBuilder, Tiles, Weights};
use megakernel_corpus::edit;
use megakernel_corpus::families::{Base, Library};
use megakernel_corpus::generate::{Differences, Options, WHOLE, compare, generate, within, write};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

/// `tile[t0]` and `tile[t1]` fill y, `reader` takes it.
fn two_tiles() -> Base {
    let mut p = ProgramBuilder::new("test");
    let x = p.input("x", DType::F32, &[1, 4]);
    let y = p.act("y", DType::F32, &[1, 6]);
    let out = p.output("out", DType::F32, &[1, 6]);
    let matrix = p.matrix("w", 6, 4, Weights::Float(DType::F16));
    let done = p.matmul("tile", x, &matrix, y, Tiles::from(4), &[]);
    p.op(Op::Softmax, "reader", &[y], out, &[], &[done]);
    Base::new("test/two-tiles", "two tiles", &[clause::OPC_05], p)
}

#[test]
fn the_builder_fills_in_ids_defaults_and_thresholds() {
    let base = two_tiles();
    let program = base.program.value();
    assert_eq!(program["tasks"][2]["waits"], json!([{"counter": 0, "threshold": 2}]));
    assert_eq!(program["tasks"][1]["params"], json!({"K": 4, "N_tile": 2, "n_off": 4}));
    assert_eq!(program["buffers"][3]["source"], "w");
    assert_eq!(program["buffers"][1]["source"], Value::Null);
    for list in ["buffers", "counters", "tasks"] {
        for (index, record) in program[list].as_array().expect("a list").iter().enumerate() {
            assert_eq!(record["id"], index, "{list}");
        }
    }
    let read: Value = serde_json::from_str(&base.program.to_text()).expect("the file is JSON");
    assert_eq!(&read, program);
}

#[test]
fn quantised_matrices_have_the_operands_that_their_storage_needs() {
    let mut p = ProgramBuilder::new("test");
    let zeros = Some(DType::U8);
    let packed = p.matrix("w", 4, 10, Weights::I4Bytes { group: 4, zeros });
    let shapes: Vec<&[u64]> = packed.operands.iter().map(|buffer| p.shape(*buffer)).collect();
    assert_eq!(shapes, [&[4, 5][..], &[4, 3], &[4, 3]]);
    assert_eq!(packed.quantised, Some((7, 4)));
}

#[test]
fn edits_name_their_place() {
    let base = two_tiles();
    let dropped =
        edit::drop_wait(&base.program, "reader", "tile[t1]", Rule::R02).expect("there is such a wait");
    assert_eq!(dropped.operations, [json!({"op": "remove", "path": "/tasks/2/waits/0"})]);
    let weaker = edit::weaken(&base.program, "reader", "tile[t0]", 1).expect("a join of 2");
    assert_eq!(weaker.rules, [Rule::R01]);
    assert_eq!(weaker.at.as_deref(), Some("/tasks/2/waits/0"));
    let orphan = edit::add_orphan_wait(&base.program, "tile[t0]", 3).expect("a task");
    assert_eq!(orphan.at.as_deref(), Some("/tasks/0/waits/0"));
}

#[test]
fn an_edit_that_cannot_break_what_it_says_is_an_error() {
    let base = two_tiles();
    assert!(edit::weaken(&base.program, "reader", "tile[t0]", 2).is_err(), "2 is all of them");
    assert!(edit::raise(&base.program, "reader", "tile[t0]", 2).is_err(), "2 is within them");
    assert!(
        edit::drop_wait(&base.program, "tile[t0]", "reader", Rule::R02).is_err(),
        "there is no such wait"
    );
    let error =
        edit::drop_wait(&base.program, "writer", "tile[t0]", Rule::R02).expect_err("there is no such task");
    assert!(error.to_string().contains("writer"), "{error}");
}

#[test]
fn two_bases_of_one_name_are_an_error() {
    assert!(Library::new([two_tiles(), two_tiles()]).is_err());
}

#[test]
fn a_directory_is_brought_up_to_date_and_compared() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let options = Options {
        root,
        companions: &[],
        seed: 0,
        jobs: 2,
        oracle: None,
        certify: None,
        wanted: WHOLE,
        begun: WHOLE,
    };
    let generated = generate(&options).expect("the corpus generates");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let written = write(path, &generated).expect("written");
    assert_eq!(written.missing.len(), generated.files.len());
    assert_eq!(compare(path, &generated).expect("read"), Differences::default());

    fs::write(path.join("programs/stray.json"), "{}").expect("written");
    fs::write(path.join("manifest.json"), "{}").expect("written");
    fs::remove_file(path.join("cases/accept/record/empty.json")).expect("removed");
    let found = compare(path, &generated).expect("read");
    assert_eq!(found.extra, ["programs/stray.json"]);
    assert_eq!(found.different, ["manifest.json"]);
    assert_eq!(found.missing, ["cases/accept/record/empty.json"]);

    // Files beside the generated ones are none of the generator's business.
    fs::write(path.join("notes.md"), "kept").expect("written");
    write(path, &generated).expect("written");
    assert!(compare(path, &generated).expect("read").is_empty());
    assert!(path.join("notes.md").exists());
}

#[test]
fn a_part_is_written_into_the_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let whole = Options {
        root,
        companions: &[],
        seed: 0,
        jobs: 2,
        oracle: None,
        certify: None,
        wanted: WHOLE,
        begun: WHOLE,
    };
    let all = generate(&whole).expect("the corpus generates");
    let none = generate(&Options { begun: &|_| false, ..whole.clone() }).expect("a part generates");
    assert!(none.cases.is_empty(), "families that are not asked for were made");
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    write(path, &all).expect("written");

    let wanted = |id: &str| id.starts_with("accept/record/");
    let begun = |start: &str| "accept/record/".starts_with(start) || start.starts_with("accept/record/");
    let options = Options { wanted: &wanted, begun: &begun, ..whole };
    let part = || {
        let part = generate(&options).expect("a part generates");
        assert!(part.cases.iter().all(|case| wanted(&case.id)) && part.cases.len() > 1);
        within(path, part, &options).expect("the directory is read")
    };
    assert!(part().files == all.files, "what is up to date stays as it is");

    // Cases that are asked for are made anew, or removed where they are no more; the others stay as they lie there.
    fs::write(path.join("cases/accept/record/empty.json"), "{}").expect("written");
    fs::write(path.join("cases/accept/record/stray.json"), "{}").expect("written");
    fs::write(path.join("cases/accept/stray.json"), "{}").expect("written");
    write(path, &part()).expect("written");
    let found = compare(path, &all).expect("read");
    assert_eq!(found.extra, ["cases/accept/stray.json"]);
    assert_eq!((found.missing, found.different), (vec![], vec!["manifest.json".to_owned()]));
    fs::remove_file(path.join("cases/accept/stray.json")).expect("removed");
    write(path, &part()).expect("written");
    assert!(compare(path, &all).expect("read").is_empty(), "the manifest is of what lies there");
}
