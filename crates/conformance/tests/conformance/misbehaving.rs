//! Workers that misbehave: each is judged non-conforming, in bounded time, by a report that says why.

use std::path::Path;
use std::time::Duration;

use megakernel_conformance::report::{FailureKind, FailureReport};
use megakernel_conformance::run::{GIVE_UP, LATE};
use megakernel_ir::protocol::Profile;

use crate::support::judged::TIMEOUT;
use crate::support::{self, Judged, judge, judge_with, options};

/// Units of the tiny corpus.
const UNITS: usize = 30;

#[test]
fn the_tiny_corpus_is_passed_by_a_worker_that_behaves() {
    let judged = judge(&["good"]);
    judged.assert_conforms();
    assert_eq!(judged.report.totals.passed, UNITS);
    assert!(judged.report.notes.is_empty(), "{}", judged.text);
}

#[test]
fn accepting_everything_passes_only_the_accepted_cases() {
    let judged = judge(&["accepts-everything"]);
    judged.assert_rejected("accepts every document that breaks a rule (8 failures)");
    let missed =
        |failure: &FailureReport| failure.expected == "reject, error R01" && failure.actual == "accept";
    assert!(judged.report.failures.iter().any(missed), "{}", judged.text);
    // Five accepted cases under four profiles, and the round trip.
    assert_eq!(judged.report.totals.passed, 21);
    judged.assert_rejected("expected  accept, warning W04");
}

#[test]
fn rejecting_everything_passes_nothing() {
    let judged = judge(&["rejects-everything"]);
    judged.assert_rejected("actual    reject, error S04 (test)");
    assert_eq!(judged.report.totals.passed, 0);
}

#[test]
fn a_crash_costs_its_own_case_alone() {
    let judged = judge(&["crashes-every-tenth"]);
    judged.assert_rejected("worker ended before it answered (exit status: 101)");
    judged.assert_rejected("stderr    assertion failed: tenth request");
    // The round trip takes two requests.
    assert_eq!(count(&judged, FailureKind::Worker), 3, "{}", judged.text);
    assert_eq!(judged.report.totals.passed, UNITS - 3);
}

#[test]
fn good_answers_between_failures_keep_a_worker_from_being_given_up() {
    let judged = judge(&["crashes-every-third"]);
    judged.assert_rejected("worker ended before it answered");
    assert!(count(&judged, FailureKind::Worker) > GIVE_UP, "{}", judged.text);
    assert_eq!(count(&judged, FailureKind::NotAsked), 0, "{}", judged.text);
}

#[test]
fn silence_is_given_up_after_some_requests() {
    let judged = judge(&["never-answers"]);
    judged.assert_rejected("worker gave no answer within 400ms");
    judged.assert_rejected("not asked: the worker failed 5 times in a row and was given up");
    assert_eq!(count(&judged, FailureKind::Worker), GIVE_UP);
    assert_eq!(count(&judged, FailureKind::NotAsked), UNITS - GIVE_UP);
    assert_eq!(judged.report.totals.failed, UNITS);
}

#[test]
fn a_worker_that_does_not_read_is_given_up_too() {
    // More than a pipe holds, so that writing it blocks.
    let directory = support::corpus();
    let text = format!("\"{}\"", "x".repeat(1 << 20));
    let all = serde_json::json!(["format"]);
    let (document, expect) = (serde_json::json!({"text": text}), serde_json::json!({"verdict": "accept"}));
    support::write_case(directory.path(), "accept/large", &all, "validate", document, expect);
    let options = support::only(options(&["deaf"]), &[], Some("accept/large"));
    let start = std::time::Instant::now();
    let report = support::play(directory.path(), &options).expect("a run");
    assert_eq!(report.exit_code(), 1);
    assert!(report.failures[0].actual.contains("no answer within"), "{}", report.failures[0].actual);
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_worker_without_handshake_is_not_asked() {
    for (behaviour, why) in [
        (
            "no-handshake",
            "no handshake: worker did not complete the handshake within 1.6s, the limit that --handshake-timeout sets",
        ),
        ("garbage-handshake-line", "a line that is no message of the protocol"),
        ("garbage-handshake", "a line that is no message of the protocol"),
        ("ends-at-once", "no handshake: worker ended before it answered (exit status: 7)"),
        ("ends-at-once", "stderr    cannot open display"),
        ("other-protocol", "worker speaks version `2.0` of the protocol, but the runner speaks 1.0"),
        ("handshake-without-name", "missing field `name`"),
        ("endless-handshake", "worker wrote a line of more than 64 MiB"),
    ] {
        let judged = judge(&[behaviour]);
        judged.assert_rejected(why);
        assert_eq!(count(&judged, FailureKind::NotAsked), UNITS, "{behaviour}");
        assert!(judged.report.implementation.is_none());
    }
}

#[test]
fn what_is_no_answer_to_the_request_fails_it() {
    for (behaviour, why) in [
        ("garbage", "the line is `Segmentation fault (core dumped)`"),
        ("not-utf8", "a line that is no message of the protocol"),
        ("not-utf8-inside", "a line that is no message of the protocol: invalid utf-8 sequence"),
        ("hands-over", "worker ended before it answered (exit status: 0)"),
        ("other-message", "a message of type `progress`, but a `response` or an `error` is required"),
        (
            "wrong-id",
            "worker answered with an `id` that is not that of the request: twice, too late, or too early",
        ),
        ("no-id", "worker answered without the `id` of the request"),
        ("wrong-shape", "invalid type: string \"none\""),
        ("closes-output", "worker closed its standard output before it answered"),
        ("flood", "a line that is no message of the protocol"),
        ("ends-in-mid-line", "worker ended before it answered (exit status: 0)"),
    ] {
        let judged = judge(&[behaviour]);
        judged.assert_rejected(why);
        assert_eq!(judged.report.totals.passed, 0, "{behaviour}");
        assert_eq!(count(&judged, FailureKind::Worker), GIVE_UP, "{behaviour}");
    }
}

#[test]
fn an_endless_line_is_cut_off() {
    let options = support::only(options(&["endless-line"]), &[], Some("accept/number-0"));
    judge_with(&options).assert_rejected("worker wrote a line of more than 64 MiB");
}

#[test]
fn answers_that_say_nothing_fail_their_case_alone() {
    for (behaviour, why) in [
        ("unknown-rule", "a diagnostic of rule `Z99`, which the specification does not have"),
        ("unknown-outcome", "outcome `maybe`; an outcome is accept, reject or unsupported"),
        ("unsupported-without-reason", "unsupported without a `reason`"),
        ("error-message", "an error instead of a response: \\u{1b}[31mout of memory"),
        ("accepts-with-errors", "a contradiction: accept with an error"),
        ("rejects-without-rule", "reject without a diagnostic of severity error"),
    ] {
        let judged = judge(&[behaviour]);
        judged.assert_rejected(why);
        assert_eq!(count(&judged, FailureKind::Answer), UNITS, "{behaviour}: {}", judged.text);
    }
}

#[test]
fn an_answer_that_comes_twice_is_not_taken_for_the_next_one() {
    let judged = judge(&["answers-twice"]);
    judged.assert_rejected("an `id` that is not that of the request");
}

#[test]
fn an_answer_before_the_question_is_none() {
    let judged = judge(&["answers-early"]);
    judged.assert_rejected("an `id` that is not that of the request");
    assert_eq!(judged.report.totals.passed, 0, "{}", judged.text);
}

#[test]
fn a_worker_that_hangs_now_and_then_is_given_up_too() {
    let directory = support::corpus();
    for number in 0..60 {
        let all = serde_json::json!(["format"]);
        let (document, expect) =
            (serde_json::json!({"text": r#"{"tasks":[]}"#}), serde_json::json!({"verdict": "accept"}));
        let id = format!("many/{number}");
        support::write_case(directory.path(), &id, &all, "validate", document, expect);
    }
    let options = support::only(options(&["hangs-on-every-second"]), &[Profile::FORMAT], Some("many/*"));
    let (start, bound) = (std::time::Instant::now(), TIMEOUT * LATE as u32);
    let report = support::play(directory.path(), &options).expect("a run");
    let given_up = "not asked: 20 answers of the worker did not come in time, and it was given up";
    assert_eq!(report.failures.iter().filter(|failure| failure.actual == given_up).count(), 60 - 2 * LATE);
    assert_eq!(report.totals.passed, LATE);
    assert!(start.elapsed() < bound + Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(options.patience().contains("20 answers that do not come (8s)"), "{}", options.patience());
}

#[test]
fn a_handshake_may_take_longer_than_an_answer() {
    let mut options = options(&["slow-handshake"]);
    judge_with(&options).assert_conforms();
    options.command.handshake = Duration::from_millis(300);
    judge_with(&options).assert_rejected("within 300ms, the limit that --handshake-timeout sets");
}

#[test]
fn a_late_answer_is_not_taken_for_the_next_one() {
    let directory = support::corpus();
    let all = serde_json::json!(["format"]);
    let document = serde_json::json!({"text": r#"{"tasks":["late"]}"#});
    support::write_case(
        directory.path(),
        "accept/a-late-one",
        &all,
        "validate",
        document,
        serde_json::json!({"verdict": "accept"}),
    );
    let report = support::play(directory.path(), &options(&["late-once"])).expect("a run");
    assert_eq!(report.totals.passed, UNITS, "{report:#?}");
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].case, "accept/a-late-one");
    assert!(report.failures[0].actual.contains("no answer within"));
    assert_eq!(report.exit_code(), 1);
}

#[test]
fn children_of_a_worker_die_with_it() {
    for behaviour in ["leaves-a-child", "hangs-with-a-child"] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let trace = directory.path().join("pid");
        let judged = judge(&[behaviour, trace.to_str().expect("UTF-8")]);
        judged.assert_rejected(if behaviour == "leaves-a-child" {
            "worker ended before"
        } else {
            "no answer within"
        });
        let pid = std::fs::read_to_string(&trace).expect("the worker left a child");
        assert!(is_gone(&pid), "process {pid} is still there");
    }
}

#[test]
fn a_child_that_escaped_costs_no_time() {
    let judged =
        judge_with(&support::only(options(&["leaves-an-escaped-child"]), &[], Some("accept/number-0")));
    judged.assert_rejected("worker ended before it answered (exit status: 1)");
    // The child holds the pipes for five seconds.
    assert!(judged.took < Duration::from_secs(4), "{:?}", judged.took);
}

#[test]
fn a_worker_has_to_stay_the_same() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = directory.path().join("started");
    let judged = judge(&["changes-its-mind", trace.to_str().expect("UTF-8")]);
    judged.assert_rejected("worker was started again and gave another `hello` than the first time");
}

#[test]
fn a_bad_end_is_noted() {
    let judged = judge(&["fails-at-the-end"]);
    judged.assert_conforms();
    assert!(
        judged.text.contains("note worker failed when its input was closed (exit status: 3)"),
        "{}",
        judged.text
    );
    let judged = judge(&["never-ends"]);
    judged.assert_conforms();
    assert!(judged.text.contains("was killed"), "{}", judged.text);
    assert!(judged.took < Duration::from_secs(10));
}

#[test]
fn round_trips_that_lose_or_change_something_fail() {
    judge(&["counts-layout"]).assert_rejected("byte 23 differs: first ``, then ` `");
    let directory = support::corpus();
    let document = serde_json::json!({"text": r#"{"tasks":[],"name":"x"}"#});
    let expect = serde_json::json!({"verdict": "accept", "document": {"tasks": [], "name": "x"}});
    support::write_case(
        directory.path(),
        "trip/name",
        &serde_json::json!(["format"]),
        "roundtrip",
        document,
        expect,
    );
    let report = support::play(directory.path(), &options(&["loses-members"])).expect("a run");
    assert_eq!(report.failures.len(), 1, "{report:#?}");
    assert_eq!(report.failures[0].expected, r#"/name: "x""#);
    assert_eq!(report.failures[0].actual, "/name: no such member");
}

#[test]
fn the_deadline_is_that_of_an_answer_and_not_of_the_run() {
    let judged = judge(&["slow"]);
    judged.assert_conforms();
    assert!(judged.took > TIMEOUT * 2, "{:?}", judged.took);
}

/// How many units failed in this way.
fn count(judged: &Judged, kind: FailureKind) -> usize {
    judged.report.failures.iter().filter(|failure| failure.kind == kind).count()
}

/// Whether a process has ended; one that nobody has collected yet counts.
fn is_gone(pid: &str) -> bool {
    let path = Path::new("/proc").join(pid).join("stat");
    let deadline = std::time::Instant::now() + Duration::from_secs(2);
    loop {
        match std::fs::read_to_string(&path) {
            Err(_) => return true,
            Ok(stat) if stat.contains(") Z ") => return true,
            Ok(_) if std::time::Instant::now() > deadline => return false,
            Ok(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}
