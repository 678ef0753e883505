//! Hostile workers (`docs/hostile-workers.md`): whatever a worker does, the runner ends in time with the right exit code, and leaves
//! no process and no file behind.

use std::collections::VecDeque;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{self, sessions};

/// What workers of documents do, how the run ends, and a part of what the report says.
const DOCUMENTS: &[(&str, i32, &str)] = &[
    ("good", 0, "30 passed, 0 failed, 0 skipped"),
    ("accepts-everything", 1, "actual    accept"),
    ("rejects-everything", 1, "actual    reject, error S04"),
    ("accepts-with-errors", 1, "a contradiction"),
    ("rejects-without-rule", 1, "reject without a diagnostic of severity error"),
    ("unknown-rule", 1, "a diagnostic of rule `Z99`"),
    ("unknown-outcome", 1, "outcome `maybe`"),
    ("unsupported-without-reason", 1, "unsupported without a `reason`"),
    ("error-message", 1, "an error instead of a response"),
    ("counts-layout", 1, "byte 23 differs"),
    ("loses-members", 0, ""),
    // Claims.
    ("claims-nothing", 1, "0 passed, 0 failed, 30 skipped"),
    ("supports-nothing", 1, "does not conform: no case passed"),
    ("no-rules", 3, "conforms in part: 0 of 4 rules, 5 of 10 cases"),
    ("supports-accepted-only", 3, "conforms in part: 0 of 4 rules, 5 of 10 cases"),
    ("some-rules", 3, "conforms in part: 2 of 4 rules, 8 of 10 cases"),
    ("unknown-claims", 3, "worker claims profile `speed`"),
    ("changes-its-mind", 1, "gave another `hello`"),
    // Handshakes.
    ("no-handshake", 1, "did not complete the handshake within"),
    ("slow-handshake", 0, "30 passed"),
    ("garbage-handshake", 1, "no handshake: worker"),
    ("garbage-handshake-line", 1, "no handshake: worker wrote a line"),
    ("handshake-without-name", 1, "missing field `name`"),
    ("other-protocol", 1, "worker speaks version `2.0`"),
    ("ends-at-once", 1, "stderr    cannot open display"),
    ("endless-handshake", 1, "no handshake: worker"),
    // Lines.
    ("garbage", 1, "no message of the protocol"),
    ("not-utf8", 1, "invalid utf-8"),
    ("not-utf8-inside", 1, "invalid utf-8"),
    ("other-message", 1, "a message of type `progress`"),
    ("wrong-shape", 1, "invalid type"),
    ("wrong-id", 1, "an `id` that is not that of the request"),
    ("no-id", 1, "without the `id` of the request"),
    ("answers-twice", 1, "an `id` that is not that of the request"),
    ("answers-early", 1, "an `id` that is not that of the request"),
    ("endless-line", 1, "worker"),
    ("flood", 1, "no message of the protocol"),
    ("ends-in-mid-line", 1, "worker ended before it answered"),
    // Time.
    ("never-answers", 1, "failed 5 times in a row and was given up"),
    ("deaf", 1, "gave no answer within"),
    ("hangs-on-every-second", 1, "gave no answer within"),
    ("never-ends", 0, "note worker still ran"),
    ("fails-at-the-end", 0, "note worker failed when its input was closed"),
    ("closes-output", 1, "closed its standard output"),
    // Processes.
    ("crashes-every-tenth", 1, "(exit status: 101)"),
    ("crashes-every-third", 1, "(exit status: 101)"),
    ("leaves-a-child", 1, "worker ended before it answered"),
    ("hangs-with-a-child", 1, "gave no answer within"),
    ("leaves-an-escaped-child", 1, "worker ended before it answered"),
    ("leaves-a-daemon", 1, "worker ended before it answered"),
    ("leaves-a-bare-daemon", 1, "worker ended before it answered"),
    ("keeps-a-daemon", 0, "30 passed"),
    ("hands-over", 1, "worker ended before it answered (exit status: 0)"),
];

/// The same of workers that execute.
const SESSIONS: &[(&str, i32, &str)] = &[
    ("executes", 0, "2 passed, 0 failed, 0 skipped"),
    ("executes-only-add", 3, "conforms in part: 1 of 3 opcodes, 1 of 3 dtypes, 1 of 2 cases"),
    ("executes-rejects", 1, "actual    reject, error M03"),
    ("executes-nothing", 1, "does not conform: no case passed"),
    ("executes-crashes", 1, "(exit status: 101)"),
    ("executes-hangs", 1, "gave no answer within"),
    ("executes-without-file", 1, "actual    no file"),
    ("executes-truncated", 1, "a file that cannot be read"),
    ("executes-garbage", 1, "a file that cannot be read"),
    ("executes-directory", 1, "something that is no plain file"),
    ("executes-link", 1, "something that is no plain file"),
    ("executes-link-to-file", 1, "something that is no plain file"),
    ("executes-fifo", 1, "something that is no plain file"),
    ("executes-huge", 1, "a file of more than "),
    ("executes-endless", 1, "worker wrote files of more than "),
    ("executes-floods-below", 1, "worker wrote files of more than "),
    ("executes-many-files", 1, "worker made more than 10000 files"),
    (
        "executes-deep",
        1,
        "worker made more than 10000 files before it answered, or some that cannot be counted",
    ),
    ("executes-removes-session", 1, "actual    no file"),
    ("executes-removes-all-sessions", 1, "actual    no file"),
    ("executes-moves-session", 0, "2 passed"),
    ("executes-moves-all-sessions", 0, "2 passed"),
    ("executes-closes-session", 0, "2 passed"),
    ("executes-comes-back", 0, "2 passed"),
    ("executes-widens-bounds", 1, "0 passed, 2 failed, 0 skipped"),
    ("executes-removes-corpus", 0, "2 passed"),
];

/// The same of workers whose traces an oracle judges, and that disturb it.
const TRACED: &[(&str, i32, &str)] = &[
    ("executes-trace", 0, "2 passed, 0 failed, 0 skipped"),
    ("executes-trace-kills-idle-oracle", 0, "2 passed, 0 failed, 0 skipped"),
    ("executes-trace-kills-oracle", 1, "0 passed, 2 failed, 0 skipped"),
];

/// What a run came to.
struct Ended {
    code: i32,
    text: String,
    report: Value,
}

/// How a run is disturbed: this signal, after this time.
type Disturbed = Option<(Signal, Duration)>;

/// Judges a worker in a process of its own, whose temporary files have a directory of their own.
#[track_caller]
fn judged(corpus: &Path, behaviour: &str, limits: (u64, u64), disturbed: Disturbed) -> Ended {
    judged_by(None, corpus, behaviour, limits, disturbed)
}

/// The same; with an oracle, traces are judged.
#[track_caller]
fn judged_by(
    oracle: Option<&str>,
    corpus: &Path,
    behaviour: &str,
    (timeout, jobs): (u64, u64),
    disturbed: Disturbed,
) -> Ended {
    support::write_manifest(corpus);
    let temporary = tempfile::tempdir().expect("a directory");
    let kept = tempfile::tempdir().expect("a directory");
    let report = kept.path().join("report.json");
    let start = Instant::now();
    let worker = env!("CARGO_BIN_EXE_test-worker");
    let seconds = |milliseconds: u64| Duration::from_millis(milliseconds).as_secs_f64().to_string();
    let program = |name: &str| format!("'{worker}' {name} '{}'", corpus.join("token").display());
    let traces = match oracle {
        None => vec!["--no-trace".to_owned()],
        Some(oracle) => vec!["--oracle".to_owned(), program(oracle)],
    };
    let mut runner = Command::new(env!("CARGO_BIN_EXE_megakernel-conform"))
        .arg("run")
        .args(traces)
        .args(["--impl".to_owned(), program(behaviour)])
        .args(["--timeout", &seconds(timeout), "--handshake-timeout", &seconds(timeout.max(2000))])
        .args(["--jobs", &jobs.to_string()])
        .arg("--corpus")
        .arg(corpus)
        .arg("--json")
        .arg(&report)
        .env("TMPDIR", temporary.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the runner starts");
    let pipes = (runner.stdout.take().expect("a pipe"), runner.stderr.take().expect("a pipe"));
    let said = thread::spawn(move || {
        let mut text = String::new();
        let (mut stdout, mut stderr) = pipes;
        let _ = stdout.read_to_string(&mut text).and_then(|_| stderr.read_to_string(&mut text));
        text
    });
    let mut disturbed = disturbed;
    let status = loop {
        if let Some(status) = runner.try_wait().expect("its status") {
            break status;
        }
        if let Some((signal, _)) = disturbed.take_if(|(_, after)| start.elapsed() > *after) {
            kill(Pid::from_raw(runner.id().cast_signed()), signal).expect("it is there");
        }
        assert!(start.elapsed() < Duration::from_secs(300), "{behaviour}: the runner hangs");
        sleep(Duration::from_millis(5));
    };
    let tokens = [corpus.display().to_string(), temporary.path().display().to_string()];
    let left = processes(&tokens);
    for pid in &left {
        let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
    }
    assert!(left.is_empty(), "{behaviour}: {} processes are left", left.len());
    let files: Vec<_> = std::fs::read_dir(temporary.path())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert!(files.is_empty(), "{behaviour}: left behind {files:?}");
    let text = said.join().expect("what it said");
    let report = std::fs::read(report).unwrap_or_default();
    let report = serde_json::from_slice(&report).unwrap_or_default();
    Ended { code: status.code().unwrap_or(-1), text, report }
}

/// Processes that know one of these, by their command line or their environment.
fn processes(tokens: &[String]) -> Vec<i32> {
    let knows = |pid: &i32| {
        let part = |name| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let (line, environment) = (part("cmdline"), part("environ"));
        let texts = [String::from_utf8_lossy(&line), String::from_utf8_lossy(&environment)];
        texts.iter().any(|text| tokens.iter().any(|token| text.contains(token)))
    };
    let entries = std::fs::read_dir("/proc").expect("Linux").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(knows).collect()
}

/// Plays each behaviour, some at once.
fn play(table: &[(&str, i32, &str)], corpus: &(dyn Fn() -> tempfile::TempDir + Sync)) {
    let left = Mutex::new(table.iter().collect::<VecDeque<_>>());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some((behaviour, code, part)) = next() {
                    // Who does not hang gets time.
                    let hangs = ["gave no answer", "given up", "handshake within"];
                    let timeout = if hangs.iter().any(|hang| part.contains(hang)) { 400 } else { 120_000 };
                    let ended = judged(corpus().path(), behaviour, (timeout, 1), None);
                    assert_eq!(ended.code, *code, "{behaviour}: {}", ended.text);
                    assert!(ended.text.contains(part), "{behaviour}: no `{part}` in {}", ended.text);
                    assert_eq!(ended.report["conforms"], *code == 0, "{behaviour}");
                }
            });
        }
    });
}

#[test]
fn the_table_for_people_names_them_all() {
    let table = include_str!("../../../../docs/hostile-workers.md");
    for (behaviour, ..) in DOCUMENTS.iter().chain(SESSIONS).chain(TRACED) {
        assert!(table.contains(&format!("`{behaviour}`")), "docs/hostile-workers.md lacks `{behaviour}`");
    }
}

#[test]
fn workers_of_documents_leave_nothing_behind() {
    play(DOCUMENTS, &support::corpus);
}

#[test]
fn workers_that_execute_leave_nothing_behind() {
    play(SESSIONS, &sessions::corpus);
}

#[test]
fn an_oracle_that_is_killed_costs_the_case_and_not_the_run() {
    for (behaviour, code, part) in TRACED {
        let corpus = sessions::corpus();
        let ended = judged_by(Some("follows"), corpus.path(), behaviour, (30_000, 1), None);
        assert_eq!(ended.code, *code, "{behaviour}: {}", ended.text);
        assert!(ended.text.contains(part), "{behaviour}: no `{part}` in {}", ended.text);
        assert_eq!(ended.text.contains("was killed by signal 9"), *code == 1, "{behaviour}: {}", ended.text);
    }
}

#[test]
fn nobody_waits_for_an_oracle_when_a_run_is_interrupted() {
    let after = Some((Signal::SIGINT, Duration::from_millis(2500)));
    let start = Instant::now();
    let corpus = sessions::corpus();
    let ended = judged_by(Some("follows-silently"), corpus.path(), "executes-trace", (60_000, 1), after);
    assert_eq!(ended.code, 130, "{}", ended.text);
    assert_eq!(ended.report["partial"], "interrupted by SIGINT", "{}", ended.text);
    assert!(start.elapsed() < Duration::from_secs(30), "the interrupt waited");
}

#[test]
fn a_file_that_turns_into_a_pipe_is_read_or_refused_and_never_waited_for() {
    for _ in 0..5 {
        let ended = judged(sessions::corpus().path(), "executes-flips-to-fifo", (20_000, 1), None);
        let pipe = ended.text.contains("something that is no plain file");
        assert_eq!(ended.code, i32::from(pipe), "{}", ended.text);
    }
}

#[test]
fn an_interrupted_run_reports_what_it_came_to() {
    for (behaviour, signal, code) in [
        ("slow", Signal::SIGINT, 130),
        ("slow", Signal::SIGTERM, 143),
        ("slow", Signal::SIGHUP, 129),
        ("hangs-with-a-child", Signal::SIGINT, 130),
        ("keeps-a-daemon-and-hangs", Signal::SIGTERM, 143),
        ("no-handshake", Signal::SIGINT, 130),
    ] {
        let corpus = support::corpus();
        let all = serde_json::json!(["format", "validate"]);
        for n in 0..200 {
            let document = serde_json::json!({"text": format!("{{\"tasks\":[{n}]}}")});
            let expect = serde_json::json!({"verdict": "accept"});
            support::write_case(corpus.path(), &format!("many/{n}"), &all, "validate", document, expect);
        }
        let after = Duration::from_millis(1500);
        let ended = judged(corpus.path(), behaviour, (60_000, 2), Some((signal, after)));
        assert_eq!(ended.code, code, "{behaviour}: {}", ended.text);
        let partial = format!("interrupted by {signal}");
        assert_eq!(ended.report["partial"], Value::from(partial.as_str()), "{behaviour}");
        assert!(
            ended.text.contains(&format!("this report is partial: the run was {partial}\n")),
            "{}",
            ended.text
        );
        assert_eq!(ended.report["conforms"], false);
        assert_eq!(ended.report["totals"]["failed"], 0, "{}", ended.text);
        let count = |name: &str| ended.report["totals"][name].as_u64().expect("a count");
        assert_eq!(count("passed") + count("skipped"), 430);
        assert!(count("skipped") > 0);
        if behaviour == "slow" {
            assert!(count("passed") > 0, "{}", ended.text);
            assert_eq!(ended.report["verdict"], "conforms in part");
            assert!(ended.text.contains("  the run was interrupted\n"), "{}", ended.text);
        } else {
            assert_eq!(ended.report["verdict"], "not judged", "{}", ended.text);
        }
    }
}

#[test]
fn workers_at_once_do_not_end_each_other() {
    for behaviour in ["crashes-every-third", "leaves-a-bare-daemon"] {
        let ended = judged(support::corpus().path(), behaviour, (20_000, 4), None);
        assert_eq!(ended.code, 1, "{}", ended.text);
        assert!(!ended.text.contains("signal"), "{}", ended.text);
    }
    let ended = judged(support::corpus().path(), "keeps-a-daemon", (20_000, 4), None);
    assert_eq!(ended.code, 0, "{}", ended.text);
    let ended = judged(sessions::corpus().path(), "executes-removes-all-sessions", (20_000, 2), None);
    assert_eq!(ended.code, 1, "{}", ended.text);
}
