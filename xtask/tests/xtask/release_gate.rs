//! The command line of `cargo xtask release-gate`, on the corpus and kernels as they are, and on records with faults.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use megakernel_conformance::evidence::{Cases, Evidence, FORMAT, Judged, Line, OfSize, Skip, Subject};
use megakernel_conformance::store::Corpus;
use megakernel_cuda_harness::{host, sources};
use megakernel_ir::protocol::{Accumulator, Facts};
use megakernel_ir::{ABI_VERSION, IR_VERSION, Opcode};
use megakernel_test_support::cases;

/// A corpus of some cases that execute, of every opcode among them: the gate itself goes through the whole.
static SOME: LazyLock<PathBuf> = LazyLock::new(|| {
    // Nobody would remove a temporary folder that is made once for all tests.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("some-cases");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder of an earlier run is removed");
    }
    cases::slice(&folder, |id| {
        id.starts_with("execution/exact/") || id.starts_with("numeric/") && id.contains("/constants/")
    });
    folder
});

/// A record of the host that supports a release, made of these cases.
static GOOD: LazyLock<Evidence> = LazyLock::new(|| {
    let corpus = Corpus::load(&SOME).expect("a corpus");
    let Subject { cases, judged } = Subject::new(&corpus).expect("cases that execute");
    let line = |(opcode, dtype): &(Option<Opcode>, megakernel_ir::DType)| Line {
        opcode: opcode.map(|opcode| opcode.name().to_owned()),
        dtype: dtype.name().to_owned(),
        cases: 1,
        failed: 0,
        largest_error: None,
        sizes: vec![OfSize { up_to: 16, cases: 1, failed: 0, largest_error: None }],
    };
    Evidence {
        evidence: FORMAT.to_owned(),
        date: None,
        suite: env!("CARGO_PKG_VERSION").to_owned(),
        ir_version: IR_VERSION.to_owned(),
        abi_version: ABI_VERSION.to_owned(),
        implementation: Judged {
            name: "megakernel-cuda".to_owned(),
            version: String::new(),
            accumulator: Accumulator::Binary32,
            traced: true,
        },
        device: Facts {
            name: "some CPU".to_owned(),
            target: "host".to_owned(),
            kernels: sources::digest(sources::Kernels::Host, &host::OPTIONS, &[]),
            ..Facts::default()
        },
        conforms: false,
        passed: cases.cases - 1,
        failed: 0,
        skipped: 1,
        executed: judged.iter().map(line).collect(),
        checks: Vec::new(),
        failures: Vec::new(),
        skips: vec![Skip { reason: "too wide".to_owned(), cases: vec!["a/b".to_owned()] }],
        corpus: cases,
    }
});

/// Runs the gate on records alone.
fn gate(records: &[(&str, &str)], arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in records {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let corpus =
        if arguments.contains(&"--corpus") { Vec::new() } else { vec![Path::new("--corpus"), &SOME] };
    // Tests of the workspace have built what it calls.
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .env("MEGAKERNEL_BUILT", "1")
        .args(["release-gate", "--evidence-only", "--evidence"])
        .arg(folder.path())
        .args(arguments)
        .args(corpus)
        .output()
        .expect("xtask starts")
}

fn text(record: &Evidence) -> String {
    record.to_json().expect("JSON")
}

#[track_caller]
fn assert_refused(why: &str, records: &[(&str, &str)], arguments: &[&str]) {
    let output = gate(records, arguments);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains(why), "no `{why}` in {said}");
    assert!(said.ends_with("release gate: 1 errors, may not be published\n"), "{said}");
}

#[test]
fn current_evidence_that_conforms_in_part_may_be_published() {
    let output = gate(&[("host.json", &text(&GOOD)), ("README.md", "no record")], &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
    for part in [
        "release gate: evidence/host.json ... ok\n  note: conforms in part: ",
        "cases\n  note: 1 cases were skipped: too wide\n",
        "note: without evidence, so not to be claimed: a10, ",
        "h100",
        "release gate: may be published\n",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
}

/// A fault, put into a record.
type Edit = fn(&mut Evidence);

/// What can be wrong with a record, and what the gate says of it.
const EDITS: [(&str, Edit); 10] = [
    ("stale: is about another corpus", |record| record.corpus.digest = "0".repeat(64)),
    ("stale: is about other kernels", |record| record.device.kernels = "0".repeat(64)),
    ("stale: is about ABI 0.1", |record| record.abi_version = "0.1".to_owned()),
    ("/executed/0/largest_error: 1.5 of ", |record| {
        let line = &mut record.executed[0];
        (line.largest_error, line.sizes[0].largest_error) = (Some(1.5), Some(1.5));
    }),
    ("/executed/0: 0 of 1000000 cases of ", |record| {
        let line = &mut record.executed[0];
        (line.cases, line.sizes[0].cases) = (1_000_000, 1_000_000);
    }),
    ("cases are not those of its sizes", |record| record.executed[0].sizes[0].cases = 2),
    ("/date: `yesterday` is no day", |record| record.date = Some("yesterday".to_owned())),
    ("1 cases failed: race/one", |record| {
        record.conforms = false;
        (record.passed, record.failed) = (record.passed - 1, 1);
        record.failures = vec!["race/one".to_owned()];
    }),
    ("says nothing about ROPE in ", |record| {
        record.executed.retain(|line| line.opcode.as_deref() != Some("ROPE"));
    }),
    ("counts ", |record| record.passed -= 1),
];

#[test]
fn a_record_with_a_fault_is_refused_for_it_alone() {
    let edited = EDITS.iter().enumerate().map(|(n, (_, edit))| {
        let mut record = GOOD.clone();
        edit(&mut record);
        (format!("edited-{n}.json"), text(&record))
    });
    let records: Vec<(String, String)> = edited.chain([("host.json".to_owned(), text(&GOOD))]).collect();
    let records: Vec<(&str, &str)> =
        records.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let output = gate(&records, &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        said.ends_with(&format!("release gate: {} errors, may not be published\n", EDITS.len())),
        "{said}"
    );
    for (n, (why, _)) in EDITS.iter().enumerate() {
        let heading = format!("release gate: evidence/edited-{n}.json ... FAILED\n");
        let part = said.split_once(&heading).map_or("", |(_, part)| part);
        let errors: Vec<&str> = part.lines().take_while(|line| line.starts_with("  error: ")).collect();
        assert!(
            matches!(errors[..], [error] if error.contains(why)),
            "no `{why}` alone in {errors:?} of {said}"
        );
    }
}

#[test]
fn the_gate_ends_with_a_table() {
    let output = gate(&[("host.json", &text(&GOOD))], &["--require", "sm_90a"]);
    let said = String::from_utf8_lossy(&output.stdout);
    let table = said.split_once("\ncheck ").map_or("", |(_, table)| table);
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    let verdict = |name: &str| {
        let row = rows.iter().find(|row| row.join(" ").starts_with(name));
        row.and_then(|row| row.iter().rev().nth(1).copied()).unwrap_or_default().to_owned()
    };
    assert_eq!(verdict("evidence/host.json"), "ok", "{said}");
    assert_eq!(verdict("required targets have evidence"), "FAILED", "{said}");
    assert_eq!(verdict("targets"), "ok", "{said}");
}

#[test]
fn a_release_claims_what_it_has_evidence_of() {
    assert_refused("there is no record of target `host`", &[], &[]);
    let good = text(&GOOD);
    assert_refused(
        "there is no record of target `sm_90a`",
        &[("host.json", &good)],
        &["--require", "sm_90a"],
    );
    assert_refused("is no record: ", &[("host.json", &good), ("h100.json", "{}")], &[]);
    let mut gpu = GOOD.clone();
    gpu.implementation.name = "somebody's VM".to_owned();
    gpu.device.target = "sm_90a".to_owned();
    gpu.device.name = "NVIDIA H100 80GB HBM3".to_owned();
    let records = [("host.json", good.as_str()), ("h100.json", &text(&gpu))];
    let output = gate(&records, &["--require", "sm_90a"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains(" h100,"), "{said}");
}

#[test]
fn evidence_of_another_corpus_is_told_by_the_files() {
    // A corpus with one program of the real one changed would be too large for a test; one without cases is another too.
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("cases")).expect("a folder");
    let manifest = r#"{"generator": "0.1.0", "seed": 0, "cases": [], "programs": []}"#;
    std::fs::write(folder.path().join("manifest.json"), manifest).expect("a file");
    let mut record = GOOD.clone();
    let corpus = folder.path().to_str().expect("UTF-8");
    assert_refused("another corpus: ", &[("host.json", &text(&record))], &["--corpus", corpus]);
    record.corpus = Cases { cases: 0, digest: record.corpus.digest };
    let output = gate(&[("host.json", &text(&record))], &["--corpus", "/nonexistent"]);
    assert_eq!(output.status.code(), Some(2));
}
