//! `cargo xtask adequacy`, and faulty and legitimate implementations as real workers.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

fn xtask(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().expect("xtask starts")
}

/// The worker, built as this test was.
fn worker() -> &'static str {
    static WORKER: OnceLock<String> = OnceLock::new();
    WORKER.get_or_init(|| {
        let directory: PathBuf =
            PathBuf::from(env!("CARGO_BIN_EXE_xtask")).parent().expect("a directory").into();
        let profile = match directory.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let build = ["build", "--quiet", "--package", "megakernel-adequacy", "--profile", profile];
        let status = Command::new(env!("CARGO")).args(build).status().expect("cargo starts");
        assert!(status.success());
        let binary = directory.join(format!("megakernel-adequacy{}", std::env::consts::EXE_SUFFIX));
        binary.into_os_string().into_string().expect("UTF-8")
    })
}

/// Judges a worker by the cases that match.
fn conform(worker_arguments: &str, filter: &str) -> Output {
    let command = format!("'{}' worker {worker_arguments}", worker());
    xtask(&["conform", "--impl", &command, "--profile", "execute", "--filter", filter])
}

#[track_caller]
fn assert_exit(code: i32, output: &Output) {
    let out = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{out}{error}");
}

#[test]
fn faulty_workers_do_not_conform() {
    for (fault, filter) in [
        ("gqa-by-tile", "numeric/attention-tile/*"),
        ("k-tile-stale-weight", "numeric/gemv-tile/*8192*"),
        ("cast-fp8-saturates", "numeric/copy/*"),
        ("argmax-last-tie", "numeric/sample-argmax/*"),
        ("rope-adjacent-pairs", "numeric/rope/*"),
    ] {
        assert_exit(1, &conform(&format!("--fault {fault}"), filter));
    }
}

#[test]
fn legitimate_workers_conform() {
    for number in ["0", "60", "120", "199"] {
        assert_exit(0, &conform(&format!("--variant {number}"), "numeric/gemv-tile/*"));
        assert_exit(0, &conform(&format!("--variant {number}"), "numeric/attention-combine/*"));
    }
}

#[test]
fn a_truncating_worker_is_judged_by_what_it_claims() {
    let list = Command::new(worker()).arg("list").output().expect("the worker starts");
    let list = String::from_utf8(list.stdout).expect("UTF-8");
    let line = list.lines().find(|line| line.contains("Truncating")).expect("a truncating variant");
    let number: String = line.chars().filter(char::is_ascii_digit).take(2).collect();
    assert_exit(0, &conform(&format!("--variant {number}"), "numeric/gemm-tile/*"));
}

#[test]
fn an_unknown_fault_or_variant_is_wrong_usage() {
    for arguments in [["--fault", "no-such-fault"], ["--variant", "200"]] {
        let output =
            Command::new(worker()).arg("worker").args(arguments).output().expect("the worker starts");
        assert_exit(2, &output);
    }
    assert_exit(2, &xtask(&["adequacy", "--fault", "no-such-fault"]));
    assert_exit(2, &xtask(&["adequacy", "--filter", "no/such/case"]));
}

#[test]
fn some_cases_are_measured_by_themselves() {
    let output = xtask(&["adequacy", "--filter", "numeric/gelu/*"]);
    assert_exit(0, &output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("| GELU | BF16 |") && text.contains(" 0 false alarms"), "{text}");

    let output = xtask(&["adequacy", "--filter", "numeric/gelu/*", "--fault", "gelu-tanh"]);
    assert_exit(0, &output);
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("gelu-tanh: "));
    let output = xtask(&["adequacy", "--filter", "numeric/gelu/*", "--fault", "gqa-by-tile"]);
    assert_exit(1, &output);
}
