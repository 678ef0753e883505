//! The workers of `examples/cuda`, which share nothing with the harness, judged without a GPU: that in C++ with a stand-in for CUDA's
//! runtime API, that in Python with the stand-ins for the driver and for NVRTC below cuda-python. With a line changed they fail.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::corpus::{path, play_to};
use crate::support::driver::{Driver, fibers};
use crate::support::worker::{append, chain};
use megakernel_conformance::run::Outcome;
use megakernel_test_support::root;
use megakernel_test_support::tools::{Tool, require};
use serde_json::{Value, json};

/// What is played: opcodes that they claim and that they do not, and programs of several tasks, launches and SMs.
const CASES: &str = "{execution/{exact,order,several}/*,numeric/{gemv-tile,rmsnorm,rope,silu-mul}/random/*}";

/// So many of those, at least, need no more than what is claimed.
const CLAIMED: usize = 52;

fn example(name: &str) -> PathBuf {
    root().join("examples/cuda").join(name)
}

/// A folder with both workers and their kernel, in which texts have been changed: of a file, what stands there once, and what
/// stands there then.
fn changed(changes: &[(&str, &str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["worker.cu", "worker.cuh", "worker.py"] {
        let mut text = std::fs::read_to_string(example(name)).expect("an example");
        for (file, from, to) in changes.iter().filter(|(file, ..)| *file == name) {
            assert_eq!(text.matches(from).count(), 1, "{file}: `{from}`");
            text = text.replace(from, to);
        }
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

/// The worker in C++ for the CPU: its program, in the folder of its source.
#[track_caller]
fn compiled(folder: &Path) -> String {
    let (program, object) = (folder.join("worker"), folder.join("fibers.o"));
    std::fs::write(&object, fibers()).expect("a file");
    let output = Command::new(require(Tool::Cxx))
        .args(["-x", "c++", "-std=c++20", "-pthread", "-Wall", "-Wextra", "-Werror"])
        .arg(format!("-I{}", path("tests/driver").display()))
        .arg(format!("-I{}", path("cuda").display()))
        .arg(format!("-I{}", root().join("adapters/cpp").display()))
        .arg(folder.join("worker.cu"))
        .args([OsStr::new("-x"), OsStr::new("none"), object.as_os_str()])
        .arg("-o")
        .arg(&program)
        .output()
        .expect("the compiler starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program.display().to_string()
}

/// Asserts that all cases pass which need no more than what is claimed, and that others are left out.
#[track_caller]
fn assert_conforms(found: &BTreeMap<String, Outcome>) {
    let failed: BTreeMap<_, _> = found
        .iter()
        .filter(|(_, outcome)| !matches!(outcome, Outcome::Passed | Outcome::Skipped(_)))
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let passed = found.values().filter(|outcome| **outcome == Outcome::Passed).count();
    assert!((CLAIMED..found.len()).contains(&passed), "{passed} of {} cases passed", found.len());
    let left_out = Outcome::Skipped("opcode ROPE is not claimed".into());
    let mut rope = found.iter().filter(|(id, _)| id.starts_with("numeric/rope/"));
    assert!(rope.all(|(_, outcome)| *outcome == left_out));
}

/// What a worker answers when it is asked to run a program, and what it says beside; its exit status.
fn asked(command: &mut Command, program: &Value) -> (String, String, Option<i32>) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the worker starts");
    let launch = json!({"document": program.to_string(), "tensors": [], "output": "/absent/output"});
    let request =
        json!({"type": "request", "id": 1, "method": "execute", "profile": "execute", "launches": [launch]});
    // A worker that has ended does not read it.
    let _ = writeln!(child.stdin.take().expect("a pipe"), "{request}");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

/// What no claim can say, a worker says itself; and without a GPU, one sentence.
#[track_caller]
fn assert_says_what_it_lacks(worker: &dyn Fn(&str) -> Command, why: &str) {
    let (answer, said, code) = asked(&mut worker(""), &append(0, 2));
    let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|_| json!(said));
    let expected = json!({"type": "response", "id": 1, "outcome": "unsupported",
                          "reason": "caches are not kept from launch to launch"});
    assert_eq!((&answer, code), (&expected, Some(0)), "{said}");
    let (answer, said, code) = asked(&mut worker("none"), &append(0, 2));
    assert_eq!((answer.as_str(), said.lines().count(), code), ("", 1, Some(2)), "{said}");
    assert!(said.contains(why), "{said}");
}

#[test]
fn the_worker_over_the_runtime_api_conforms() {
    let folder = changed(&[]);
    let program = compiled(folder.path());
    assert_conforms(&play_to(&program, Vec::new(), CASES));
    let worker = |kind: &str| {
        let mut command = Command::new(&program);
        command.env("AMK_STAND_IN", kind);
        command
    };
    assert_says_what_it_lacks(&worker, "there is no GPU: no CUDA-capable device is detected");
}

/// The worker with changes fails some of the cases, with a message that has this in it.
#[track_caller]
fn assert_caught(changes: &[(&str, &str, &str)], cases: &str, message: &str) {
    let folder = changed(changes);
    assert_some_say(&play_to(&compiled(folder.path()), Vec::new(), cases), message);
}

/// Some of the cases end with a message that has this in it.
#[track_caller]
fn assert_some_say(found: &BTreeMap<String, Outcome>, message: &str) {
    assert!(found.values().any(|outcome| format!("{outcome:?}").contains(message)), "{message}: {found:#?}");
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_a_worker_that_does_not_wait_or_takes_another_tile_is_caught() {
    assert_caught(
        &[("worker.cuh", "task.first_wait + task.n_waits;", "task.first_wait + task.n_waits - 1;")],
        "execution/order/fan-in-*",
        "elements are wrong",
    );
    assert_caught(
        &[("worker.cu", "integer(params, \"n_off\", 0)", "0")],
        "numeric/gemv-tile/random/*",
        "elements are wrong",
    );
}

/// Only the first task of each queue signals.
const MUTE: (&str, &str, &str) = (
    "worker.cuh",
    "        if (threadIdx.x == 0) {",
    "        if (threadIdx.x == 0 && at == machine.queues[blockIdx.x]) {",
);

/// Launches that hang because of it, and others.
const HANGS: &str = "{execution/order/one-by-one-40*,numeric/add/random/*}";

/// Asserts that launches that hang are said, and that the next ones run.
#[track_caller]
fn assert_hangs(found: &BTreeMap<String, Outcome>) {
    let (order, numeric): (Vec<_>, Vec<_>) = found.iter().partition(|(id, _)| id.starts_with("execution"));
    let hangs =
        |outcome: &Outcome| format!("{outcome:?}").contains("the launch did not end within its limit");
    assert!(!order.is_empty() && order.iter().all(|(_, outcome)| hangs(outcome)), "{order:#?}");
    assert!(numeric.iter().any(|(_, outcome)| **outcome == Outcome::Passed), "{numeric:#?}");
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_a_launch_that_hangs_is_said_and_the_next_one_runs() {
    let folder = changed(&[MUTE, ("worker.cu", "LIMIT{20}", "LIMIT{1}")]);
    assert_hangs(&play_to(&compiled(folder.path()), Vec::new(), HANGS));
}

/// The arguments of `env` that start the worker in Python, from its file, on the stand-in for a GPU of a kind.
#[track_caller]
fn in_python(driver: &Driver, script: &Path, kind: &str) -> Vec<String> {
    vec![
        format!("LD_LIBRARY_PATH={}", driver.folder().display()),
        format!("AMK_STAND_IN={kind}"),
        require(Tool::PythonPackage("cuda.bindings.driver")),
        script.display().to_string(),
    ]
}

#[test]
#[ignore = "needs minutes, and cuda-python; the release gate runs it"]
fn minutes_faults_of_the_worker_over_cuda_python_are_caught() {
    let folder = changed(&[
        MUTE,
        ("worker.py", "LIMIT = 20", "LIMIT = 1"),
        ("worker.py", "params.get(\"n_off\", 0)", "0"),
    ]);
    let driver = Driver::of_worker(&folder.path().join("worker.cuh"));
    let mut arguments = in_python(&driver, &folder.path().join("worker.py"), "");
    // A copy does not find the adapter by itself.
    arguments.insert(0, format!("PYTHONPATH={}", root().join("adapters/python/src").display()));
    assert_hangs(&play_to("env", arguments.clone(), HANGS));
    assert_some_say(&play_to("env", arguments, "numeric/gemv-tile/random/*"), "elements are wrong");
}

#[test]
#[ignore = "needs minutes, and cuda-python; the release gate runs it"]
fn minutes_the_worker_over_cuda_python_conforms() {
    let driver = Driver::of_worker(&example("worker.cuh"));
    let arguments = |kind: &str| in_python(&driver, &example("worker.py"), kind);
    assert_conforms(&play_to("env", arguments(""), CASES));
    let worker = |kind: &str| {
        let mut command = Command::new("env");
        command.args(arguments(kind));
        command
    };
    assert_says_what_it_lacks(&worker, "no program can run here: cuInit: CUDA_ERROR_NO_DEVICE");
    let (_, said, code) = asked(&mut worker("does-not-compile"), &append(0, 2));
    let expected = "worker.cuh does not compile for sm_90: kernels.cu(1): error: expected a declaration\n";
    assert_eq!((said.as_str(), code), (expected, Some(1)));
    let mut large = chain(&[("COPY", &[])]);
    for buffer in 0..2 {
        large["buffers"][buffer]["shape"] = json!([1 << 20]);
    }
    let (answer, said, _) = asked(&mut worker("small"), &large);
    assert!(answer.contains("cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"), "{answer}{said}");
}
