//! `megakernel-reference run`, and the worker's answers to requests to execute.

#![allow(clippy::panic)]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use megakernel_ir::DType;
use megakernel_ir::protocol::{Launch, ToWorker};
use megakernel_numerics::{Stored, Tensor, TensorFile};
use megakernel_test_support::fixtures;
use serde_json::{Value, json};

const DOCUMENT: &str = r#"{"ir_version":"0.2.0","abi_version":"0.2",
 "buffers":[{"id":0,"name":"x","kind":"IO_INPUT","dtype":"F32","shape":[1,1,2]},
            {"id":1,"name":"cache","kind":"KV_CACHE","dtype":"BF16","shape":[2,1,2]},
            {"id":2,"name":"y","kind":"IO_OUTPUT","dtype":"F32","shape":[2,1,2]}],
 "counters":[{"id":0},{"id":1}],
 "tasks":[{"id":0,"op":"KV_APPEND","inputs":[0,1],"outputs":[1],"out_counter":0,"params":{"pos":0}},
          {"id":1,"op":"GELU","inputs":[1],"outputs":[2],"out_counter":1,"waits":[{"counter":0,"threshold":1}]}]}"#;

/// Runs the program; gives back exit code, standard output and standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_megakernel-reference"))
        .args(arguments)
        .output()
        .expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

fn save(path: &Path, name: &str, values: &[f64], shape: &[u64]) {
    let tensor = Tensor::from_reals(DType::F32, shape.to_vec(), values).expect("a tensor");
    let file = TensorFile { tensors: BTreeMap::from([(name.to_owned(), Stored::Buffer(tensor))]) };
    std::fs::write(path, file.to_bytes().expect("bytes")).expect("written");
}

fn load(path: &Path) -> BTreeMap<String, Vec<f64>> {
    let file = TensorFile::read(&std::fs::read(path).expect("a file")).expect("tensors");
    let reals = |stored| match stored {
        Stored::Buffer(tensor) => Tensor::reals(&tensor),
        Stored::F64 { .. } => panic!("no buffer is binary64"),
    };
    file.tensors.into_iter().map(|(name, stored)| (name, reals(stored))).collect()
}

#[test]
fn a_program_runs_on_files_step_by_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let text = |path: &PathBuf| path.to_str().expect("UTF-8").to_owned();
    std::fs::write(path("p.json"), DOCUMENT).expect("written");
    save(&path("x.safetensors"), "x", &[1.0, -2.0], &[1, 1, 2]);
    let (program, x) = (text(&path("p.json")), text(&path("x.safetensors")));
    let (y, trace) = (text(&path("y.safetensors")), text(&path("t.safetensors")));

    let (code, out, err) = run(&[
        "run",
        &program,
        "--tensors",
        &x,
        "--steps",
        "2",
        "--output",
        &y,
        "--trace",
        &trace,
        "--schedule",
        "9",
    ]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let second = load(&path("y.1.safetensors"));
    assert_eq!(second["cache"], [1.0, -2.0, 1.0, -2.0]);
    assert_eq!(second["y"][..2], second["y"][2..]);
    let traced = load(&path("t.1.safetensors"));
    assert_eq!((&traced["0"][..], traced["1"].len()), (&[1.0, -2.0][..], 4), "the row that was appended");
}

#[test]
fn a_program_larger_than_memory_is_refused_in_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.json");
    let large = DOCUMENT.replace(r#""shape":[1,1,2]"#, r#""shape":[4611686018427387904,1,1]"#);
    std::fs::write(&path, large).expect("written");
    let (code, _, err) = run(&["run", &path.display().to_string(), "--random", "1", "--unchecked"]);
    assert!(code == 2 && err.contains("--max-elements"), "{code}: {err}");
    std::fs::write(&path, DOCUMENT).expect("written");
    let path = path.display().to_string();
    let (code, _, err) = run(&["run", &path, "--random", "1", "--max-elements", "9"]);
    assert!(code == 2 && err.contains("10 elements together, and at most 9"), "{code}: {err}");
    assert_eq!(run(&["run", &path, "--random", "1", "--max-elements", "10"]).0, 0);
}

#[test]
fn a_real_decoder_runs_on_random_weights_for_several_steps() {
    let path = fixtures::path("amk/toy_decoder.json");
    let path = path.to_str().expect("UTF-8");
    let decode = |schedule: &str| {
        let arguments = [
            "run",
            path,
            "--random",
            "1",
            "--steps",
            "8",
            "--feed",
            "logits=token_id",
            "--schedule",
            schedule,
        ];
        let (code, out, err) = run(&arguments);
        assert_eq!((code, err.as_str()), (0, ""));
        let lines: Vec<String> =
            out.lines().filter(|line| line.starts_with("  ")).map(str::to_owned).collect();
        assert_eq!(lines.len(), 8 * 6, "{out}");
        lines
    };
    assert_eq!(decode("0"), decode("5"));
}

/// The worker's answer to a request to execute.
fn execute(launches: Vec<Launch<'_>>) -> Value {
    let mut worker = Command::new(env!("CARGO_BIN_EXE_megakernel-reference"))
        .arg("worker")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the worker starts");
    let line = serde_json::to_string(&ToWorker::execute(7, launches)).expect("a line");
    let mut input = worker.stdin.take().expect("standard input");
    writeln!(input, "{line}").expect("written");
    drop(input);
    let output = worker.wait_with_output().expect("it ends");
    serde_json::from_slice(&output.stdout).expect("one answer")
}

#[test]
fn the_worker_executes_a_session_and_says_why_where_it_cannot() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    save(&path("x"), "x", &[1.0, -2.0], &[1, 1, 2]);
    save(&path("wide"), "x", &[1.0, -2.0, 3.0], &[1, 1, 3]);
    std::fs::write(path("cut"), &std::fs::read(path("x")).expect("a file")[..40]).expect("written");
    let launch = |document: &str, tensors: &[&str], output: &str| Launch {
        document: document.to_owned().into(),
        tensors: tensors.iter().map(|name| path(name)).collect(),
        output: path(output),
        trace: Some(path(&format!("{output}.trace"))),
    };
    let next = DOCUMENT.replace(r#""pos":0"#, r#""pos":1"#);

    let answer = execute(vec![launch(DOCUMENT, &["x"], "o0"), launch(&next, &["x"], "o1")]);
    assert_eq!((&answer["id"], &answer["outcome"]), (&json!(7), &json!("accept")), "{answer}");
    assert_eq!(load(&path("o0"))["cache"], [1.0, -2.0, 0.0, 0.0]);
    assert_eq!(load(&path("o1"))["cache"], [1.0, -2.0, 1.0, -2.0]);
    assert_eq!(load(&path("o1.trace"))["0"], [1.0, -2.0]);

    let reason = |launches| {
        let answer = execute(launches);
        assert_eq!(answer["outcome"], "unsupported", "{answer}");
        answer["reason"].as_str().expect("a reason").to_owned()
    };
    assert_eq!(
        reason(vec![launch(DOCUMENT, &["x"], "o"), launch(&next, &[], "o")]),
        "launch 1: no tensor `x` for buffer 0, which is IO_INPUT"
    );
    assert_eq!(
        reason(vec![launch(DOCUMENT, &["wide"], "o")]),
        "launch 0: tensor `x` is F32 [1, 1, 3]; buffer 0 requires F32 [1, 1, 2]"
    );
    assert!(reason(vec![launch(DOCUMENT, &["absent"], "o")]).starts_with("launch 0: cannot read /"));
    assert!(reason(vec![launch(DOCUMENT, &["cut"], "o")]).contains("/cut: "));
    assert!(
        reason(vec![launch(DOCUMENT, &["x", "wide"], "o")])
            .contains("differs from the one in an earlier file")
    );
    assert!(reason(vec![launch(DOCUMENT, &["x"], "no/such/folder")]).contains("cannot write"));

    let answer = execute(vec![launch(&DOCUMENT.replace(r#""pos":0"#, r#""pos":2"#), &["x"], "o")]);
    assert_eq!((&answer["outcome"], &answer["diagnostics"][0]["rule"]), (&json!("reject"), &json!("M04")));
    let answer = execute(vec![launch("{", &["x"], "o")]);
    assert_eq!((&answer["outcome"], &answer["diagnostics"][0]["rule"]), (&json!("reject"), &json!("S01")));
}
