//! `watch`: what is printed when the worker changes, and how it ends.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::support::{corpus, write_manifest};

/// A corpus, and beside it a program that behaves as its text says.
fn prepared(behaviour: &str) -> TempDir {
    let folder = corpus();
    write_manifest(folder.path());
    behaves(folder.path(), behaviour);
    folder
}

/// Puts another program in the place of the one that is there, in one step.
fn behaves(folder: &Path, behaviour: &str) {
    let (new, program) = (folder.join("new"), folder.join("my-vm"));
    fs::write(
        &new,
        format!("#!/bin/sh\n: > began\nexec '{}' {behaviour}\n", env!("CARGO_BIN_EXE_test-worker")),
    )
    .expect("a file");
    fs::set_permissions(&new, Permissions::from_mode(0o755)).expect("it may run");
    fs::rename(new, program).expect("a file");
}

/// A runner that watches. It is killed after a minute, so that one that does not end fails its test.
struct Watch {
    child: Child,
    said: BufReader<ChildStdout>,
    over: Sender<()>,
}

impl Watch {
    fn start(folder: &Path, program: &str, more: &[&str]) -> Watch {
        let mut command = Command::new(env!("CARGO_BIN_EXE_megakernel-conform"));
        command.arg("watch").arg("--corpus").arg(folder).args(["--impl", program]).args(more);
        command.args(["--profile", "validate", "race/partial-wait", "accept/number-0"]).current_dir(folder);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("it starts");
        let said = BufReader::new(child.stdout.take().expect("a pipe"));
        let (over, ended) = channel();
        let id = Pid::from_raw(i32::try_from(child.id()).expect("an id"));
        std::thread::spawn(move || {
            if ended.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
                let _ = kill(id, Signal::SIGKILL);
            }
        });
        Watch { child, said, over }
    }

    /// The next so many lines.
    fn lines(&mut self, count: usize) -> Vec<String> {
        let lines = self.said.by_ref().lines().take(count);
        lines.map(|line| line.expect("text")).collect()
    }

    /// What else it says, and how it ends, which is soon.
    fn end(mut self) -> (Vec<String>, ExitStatus) {
        let begin = Instant::now();
        let rest = self.lines(usize::MAX);
        let _ = self.over.send(());
        let status = self.child.wait().expect("it ends");
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
        (rest, status)
    }
}

impl Drop for Watch {
    /// Nor does it outlive a test that failed.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const FAILS: [&str; 5] = [
    "== 1",
    "accept/number-0 (validate): passed",
    "race/partial-wait (validate): failed: accepts what breaks R01 partial-wait",
    "  expected  reject, error R01",
    "  actual    accept",
];

#[test]
fn what_changed_with_the_program_is_printed_alone() {
    let folder = prepared("accepts-everything");
    let mut watch = Watch::start(folder.path(), "./my-vm", &["--times", "7"]);
    assert_eq!(watch.lines(5), FAILS);
    behaves(folder.path(), "good");
    assert_eq!(watch.lines(2), ["== 2", "race/partial-wait (validate): passed"]);
    behaves(folder.path(), "good");
    assert_eq!(watch.lines(2), ["== 3", "nothing changed"]);
    // It may not be executed for a while.
    let mode = |mode| {
        fs::set_permissions(folder.path().join("my-vm"), Permissions::from_mode(mode)).expect("it is there");
    };
    mode(0o644);
    let denied = "the worker: cannot be started: `./my-vm`: Permission denied (os error 13)";
    assert_eq!(watch.lines(2), ["== 4", denied]);
    mode(0o755);
    assert_eq!(watch.lines(2), ["== 5", "the worker: nothing to say any more"]);
    // A build that fails takes the program away.
    fs::remove_file(folder.path().join("my-vm")).expect("it is there");
    let gone = "the worker: cannot be started: `./my-vm`: No such file or directory (os error 2)";
    assert_eq!(watch.lines(2), ["== 6", gone]);
    behaves(folder.path(), "good");
    let (rest, status) = watch.end();
    assert_eq!(rest, ["== 7", "the worker: nothing to say any more"]);
    assert_eq!(status.code(), Some(0));
}

#[test]
fn other_files_are_watched_where_they_are_named() {
    let folder = prepared("accepts-everything");
    let sources = folder.path().join("src/deep");
    fs::create_dir_all(&sources).expect("a folder");
    let mut watch =
        Watch::start(folder.path(), "./my-vm", &["--times", "2", "--path", "src", "--path", "notes"]);
    assert_eq!(watch.lines(5), FAILS);
    // Not this one, nor what Python keeps: long enough to be seen, it is another program.
    behaves(folder.path(), "good");
    let kept = folder.path().join("src/__pycache__");
    fs::create_dir(&kept).expect("a folder");
    fs::write(kept.join("x.pyc"), "compiled").expect("a file");
    std::thread::sleep(Duration::from_millis(700));
    behaves(folder.path(), "accepts-everything");
    fs::write(sources.join("new.c"), "int main;").expect("a file");
    let (rest, status) = watch.end();
    assert_eq!(rest, ["== 2", "nothing changed"]);
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_signal_ends_it_while_it_waits_and_while_it_plays() {
    for (behaviour, printed, code) in
        [("good", 3, 0), ("accepts-everything", 5, 1), ("never-answers", 0, 130)]
    {
        let folder = prepared(behaviour);
        let mut watch = Watch::start(folder.path(), "./my-vm", &[]);
        assert_eq!(watch.lines(printed).len(), printed);
        if printed == 0 {
            let begin = Instant::now();
            while !folder.path().join("began").exists() {
                assert!(begin.elapsed() < Duration::from_secs(20), "it plays nothing");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        let id = i32::try_from(watch.child.id()).expect("an id");
        kill(Pid::from_raw(id), Signal::SIGINT).expect("it is there");
        let (rest, status) = watch.end();
        assert_eq!((rest.len(), status.code()), (0, Some(code)), "{behaviour}");
    }
}

#[test]
fn a_handshake_that_fails_is_said_and_what_cannot_be_watched_is_refused() {
    let folder = prepared("garbage-handshake-line");
    let (said, status) = Watch::start(folder.path(), "./my-vm", &["--times", "1"]).end();
    let told = |text: &str| said.iter().any(|line| line.starts_with(text));
    assert!(told("the worker: worker wrote a line that is no message of the protocol"), "{said:?}");
    assert_eq!(status.code(), Some(1));
    let (said, _) = Watch::start(folder.path(), "sh -c 'echo broken >&2'", &["--times", "1"]).end();
    assert!(said.iter().any(|line| line == "  stderr    broken"), "{said:?}");
    let (said, status) = Watch::start(folder.path(), "nowhere-to-be-found", &[]).end();
    assert_eq!((said.len(), status.code()), (0, Some(2)));
    let (said, status) = Watch::start(folder.path(), "./my-vm", &["no/such/case"]).end();
    assert_eq!((said.len(), status.code()), (0, Some(2)));
}
