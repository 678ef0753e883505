//! The worked example of `docs/implementing.md` is judged as what it claims to be, and its planted bugs are found.

use std::io::Write;
use std::num::NonZeroUsize;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use megakernel_conformance::report::{FailureKind, ProfileVerdict, Report, RunVerdict};
use megakernel_conformance::run::{self, HANDSHAKE, Options, Selection, TIMEOUT};
use megakernel_conformance::store::{Corpus, Filter};
use megakernel_conformance::worker::WorkerCommand;
use megakernel_ir::protocol::Profile;
use megakernel_ir::shard::Shard;
use megakernel_test_support::tools::{Tool, require};
use megakernel_test_support::{part, root};

/// Judges what the example does without numpy; `flaw` is one of the bugs that it can plant.
fn judge(flaw: Option<&str>, filter: Option<&str>) -> Report {
    play(require(Tool::Python), flaw, &[Profile::FORMAT, Profile::VALIDATE], filter)
}

/// Judges what it executes.
fn judge_execution(flaw: Option<&str>, filter: Option<&str>) -> Report {
    play(require(Tool::PythonPackage("numpy")), flaw, &[Profile::EXECUTE], filter)
}

fn play(python: String, flaw: Option<&str>, profiles: &[Profile], filter: Option<&str>) -> Report {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    let adapter = root().join("examples/python/adapter.py").display().to_string();
    let flaw = flaw.into_iter().flat_map(|name| ["--flaw".to_owned(), name.to_owned()]);
    let third = Shard::new(1, 3).expect("a third");
    let shard = (filter.is_none() && !part::is_whole()).then_some(third);
    let options = Options {
        jobs: NonZeroUsize::new(2).expect("two is not zero"),
        selection: Selection {
            profiles: profiles.to_vec(),
            filter: filter.map(|glob| Filter::new(glob).expect("a glob")),
            shard,
            ..Selection::default()
        },
        ..Options::new(WorkerCommand {
            program: python,
            arguments: std::iter::once(adapter).chain(flaw).collect(),
            timeout: TIMEOUT,
            handshake: HANDSHAKE,
        })
    };
    let corpus = CORPUS.get_or_init(|| Corpus::load(&root().join("corpus")).expect("the corpus can be read"));
    let run = run::run(corpus, &options, None, &|_| ()).expect("python3 can be started: this test needs it");
    Report::new(corpus, &options, &run)
}

fn verdict(report: &Report, profile: Profile) -> ProfileVerdict {
    report.profiles.iter().find(|result| result.profile == profile).expect("every profile has a line").verdict
}

#[test]
fn it_conforms_in_part_to_what_it_claims_and_every_claimed_rule_was_played() {
    let report = judge(None, None);
    let failures: Vec<_> = report.failures.iter().map(|f| (&f.case, f.profile, &f.actual)).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(report.verdict, RunVerdict::ConformsInPart);
    assert_eq!(report.notes, Vec::<String>::new());
    assert_eq!(verdict(&report, Profile::FORMAT), ProfileVerdict::ConformsInPart);
    assert_eq!(verdict(&report, Profile::VALIDATE), ProfileVerdict::ConformsInPart);
    assert_claimed_rules_were_played_and_no_others(report);
}

#[test]
#[ignore = "needs numpy, which checks/run --prepare installs"]
fn it_conforms_in_part_to_what_it_executes() {
    let report = judge_execution(None, None);
    let failures: Vec<_> = report.failures.iter().map(|f| (&f.case, f.profile, &f.actual)).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(verdict(&report, Profile::EXECUTE), ProfileVerdict::ConformsInPart);
    assert_every_opcode_was_played(&report);
}

fn assert_claimed_rules_were_played_and_no_others(report: Report) {
    let claimed = report.implementation.and_then(|i| i.rules).expect("it lists its rules");
    for rule in &claimed {
        let line = report.clauses.iter().find(|line| line.clause == *rule).expect("a rule of the corpus");
        assert!(line.counts.passed > 0, "no case of {rule} passed");
    }
    for skips in &report.skips {
        let unclaimed = skips.reason.ends_with("not claimed") || skips.reason.contains("nested deeper");
        assert!(unclaimed, "skipped for another reason: {}", skips.reason);
        assert!(!claimed.iter().any(|rule| skips.reason == format!("rule {rule} is not claimed")));
    }
}

#[test]
fn each_planted_bug_is_found() {
    for (flaw, clause, kind) in
        [("first-k-of-n", "R01", FailureKind::Answer), ("crash-on-cycle", "D04", FailureKind::Worker)]
    {
        let report = judge(Some(flaw), Some("{deadlock,race,spec}/*"));
        assert_eq!(report.verdict, RunVerdict::DoesNotConform, "{flaw} was not noticed");
        let first = report.failures.first().expect("a failure");
        assert_eq!(first.kind, kind, "{flaw}: {}", first.actual);
        assert!(first.clauses.iter().any(|c| c.id == clause), "{flaw} failed {} first", first.case);
    }
}

fn assert_every_opcode_was_played(report: &Report) {
    let claimed = report.implementation.as_ref().map(|i| i.opcodes.clone()).expect("it lists its opcodes");
    assert!(claimed.len() > 10, "{claimed:?}");
    // A NOP computes nothing that could be judged.
    for opcode in claimed.iter().filter(|name| *name != "NOP") {
        let mut lines = report.executed.iter().filter(|line| line.opcode.as_ref() == Some(opcode));
        assert!(lines.any(|line| line.cases > line.failed), "no case of {opcode} passed");
    }
}

#[test]
#[ignore = "needs minutes, and numpy; the release gate runs it"]
fn minutes_a_rotation_of_neighbours_is_found_in_the_task_that_does_it() {
    let report = judge_execution(Some("adjacent-rope"), Some("{numeric/rope,execution}/*"));
    assert_eq!(verdict(&report, Profile::EXECUTE), ProfileVerdict::DoesNotConform);
    assert!(report.failures.iter().all(|f| f.kind == FailureKind::Answer && f.profile == Profile::EXECUTE));
    let first = report.failures.first().expect("a failure");
    assert!(
        report.failures.iter().any(|f| f.clauses.iter().any(|c| c.id == "OPC-08")),
        "{} failed first",
        first.case
    );
}

#[test]
fn without_numpy_it_does_not_claim_to_execute() {
    let adapter = root().join("examples/python/adapter.py");
    // -S leaves out all installed packages.
    let mut worker = Command::new(require(Tool::Python))
        .arg("-S")
        .arg(adapter)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python3 can be started: this test needs it");
    let mut input = worker.stdin.take().expect("its standard input is piped");
    input.write_all(b"{\"type\":\"hello\",\"protocol\":\"1.0\"}\n").expect("it reads");
    drop(input);
    let output = worker.wait_with_output().expect("it ends");
    let (hello, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(hello.contains("\"profiles\": [\"format\", \"validate\"]"), "{hello}");
    assert!(!hello.contains("opcodes"), "{hello}");
    assert!(said.contains("execute is not claimed"), "{said}");
}
