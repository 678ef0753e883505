//! Differential fuzzing: the reference does not differ from itself, faults that no case shows are found and shrunk, and what is found
//! plays as cases.

use std::num::NonZeroUsize;
use std::path::Path;

use megakernel_conformance::run::{self, HANDSHAKE, TIMEOUT};
use megakernel_conformance::stop::Stop;
use megakernel_conformance::store::Corpus;
use megakernel_conformance::worker::WorkerCommand;
use megakernel_differential::{Bases, Findings, Fuzz, Options, Outcome, Player};
use megakernel_ir::protocol::Profile;
use megakernel_suite::judge::Judge;
use megakernel_test_support::root;

/// The reference with these faults, as a command.
fn worker(faults: &[&str]) -> WorkerCommand {
    WorkerCommand {
        program: env!("CARGO_BIN_EXE_faulty-worker").to_owned(),
        arguments: faults.iter().map(|fault| (*fault).to_owned()).collect(),
        timeout: TIMEOUT,
        handshake: HANDSHAKE,
    }
}

fn player(command: WorkerCommand, jobs: usize) -> Player {
    let jobs = NonZeroUsize::new(jobs).expect("a job");
    Player::new(command, jobs, Stop::default()).expect("the worker starts")
}

fn bases() -> Bases {
    Bases::find(&root().join("corpus/programs")).expect("the programs of the corpus")
}

fn fuzz(player: &Player, seed: u64, count: u64, profiles: &[Profile]) -> Outcome {
    let options = Options { seed, count, deadline: None, profiles: profiles.to_vec(), per_cause: 2 };
    let fuzz = Fuzz { reference: &Judge, bases: &bases(), player };
    fuzz.run(&options, &[], &|_| {}, &|_| Ok(())).expect("documents are played")
}

const ALL: [Profile; 6] = [
    Profile::FORMAT,
    Profile::VALIDATE,
    Profile::MEMORY_SAFETY,
    Profile::LAUNCH,
    Profile::EXECUTE,
    Profile::TASK_GRAPH,
];

#[test]
fn the_reference_does_not_differ_from_itself_and_draws_the_same_at_any_number_of_jobs() {
    let runs = [1, 3].map(|jobs| fuzz(&player(worker(&[]), jobs), 1, 150, &ALL));
    for outcome in &runs {
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        assert!(outcome.compared > 140, "{outcome:?}");
    }
    assert!(runs[0].coverage == runs[1].coverage);
    assert_eq!(runs[0].compared, runs[1].compared);
}

/// Fuzzes a worker with one fault: it differs, and each finding has at most six tasks.
#[track_caller]
fn found(fault: &str, profile: Profile, seed: u64, count: u64) -> Outcome {
    let outcome = fuzz(&player(worker(&[fault]), 2), seed, count, &[profile]);
    assert!(!outcome.findings.is_empty(), "{fault} is not found in {} documents", outcome.compared);
    for finding in &outcome.findings {
        assert!(finding.tasks() <= 6, "{fault}: {finding:?}");
    }
    outcome
}

#[test]
fn every_fault_of_the_worker_is_in_the_table() {
    let worker = std::process::Command::new(env!("CARGO_BIN_EXE_faulty-worker")).arg("list").output();
    let listed = String::from_utf8(worker.expect("it starts").stdout).expect("text");
    assert!(listed.lines().eq(FAULTS.iter().map(|(id, _)| *id)), "{listed}");
}

/// Every id of `faulty-worker list` with a profile under which it shows.
const FAULTS: [(&str, Profile); 10] = [
    ("stale-narrow", Profile::VALIDATE),
    ("writers-narrow", Profile::VALIDATE),
    ("clobber-bf16", Profile::VALIDATE),
    ("in-place-narrow", Profile::MEMORY_SAFETY),
    ("copy-scalar", Profile::EXECUTE),
    ("embed-ranks", Profile::EXECUTE),
    ("silu-of-itself", Profile::EXECUTE),
    ("rope-ranks", Profile::EXECUTE),
    ("weight-ranks", Profile::EXECUTE),
    ("stray-scale", Profile::EXECUTE),
];

/// In so many documents each of these two faults is found, whatever cases they are made of.
const ENOUGH: u64 = 400;

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_findings_are_cases_that_the_faulty_fail_and_the_right_pass() {
    let outcome = found("in-place-narrow", Profile::MEMORY_SAFETY, 0, ENOUGH);
    let executed = found("embed-ranks", Profile::EXECUTE, 0, ENOUGH);
    let folder = tempfile::tempdir().expect("a folder");
    let findings = Findings::at(folder.path());
    findings.add(&outcome.findings, true).expect("findings are written");
    findings.add(&executed.findings, true).expect("more of them");
    let count = outcome.findings.len() + executed.findings.len();
    assert_eq!(played(folder.path(), worker(&[])), (count, 0));
    assert_eq!(played(folder.path(), worker(&["in-place-narrow", "embed-ranks"])), (0, count));
    // Played first, they are not found again.
    let bases = bases();
    let faulty = player(worker(&["in-place-narrow", "embed-ranks"]), 2);
    let fuzz = Fuzz { reference: &Judge, bases: &bases, player: &faulty };
    let (former, settled, unplayed) =
        fuzz.replay(findings.read().expect("what was written")).expect("they are played");
    assert_eq!((former.len(), settled, unplayed), (count, 0, 0));
    let options = Options {
        seed: 0,
        count: ENOUGH,
        deadline: None,
        profiles: vec![Profile::MEMORY_SAFETY],
        per_cause: 4,
    };
    let twice = fuzz.run(&options, &former, &|_| {}, &|_| Ok(())).expect("documents are played");
    assert!(twice.findings.is_empty() && twice.duplicates > 0, "{:?}", twice.findings);
    // A case may be removed by hand.
    let first = outcome.findings.first().expect("a finding");
    std::fs::remove_file(folder.path().join(format!("cases/{}.json", first.id))).expect("removed");
    assert_eq!(findings.read().expect("the others").len(), count - 1);
}

#[test]
fn a_folder_with_another_manifest_is_no_folder_of_findings() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("manifest.json");
    std::fs::write(&path, r#"{"name": "an application"}"#).expect("written");
    std::fs::create_dir(folder.path().join("cases")).expect("made");
    let refused = Findings::at(folder.path()).read().expect_err("refused");
    assert!(refused.contains("manifest.json"), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).expect("still there"), r#"{"name": "an application"}"#);
}

/// How many cases of a folder pass, and how many fail.
fn played(folder: &Path, command: WorkerCommand) -> (usize, usize) {
    let corpus = Corpus::load(folder).expect("a corpus");
    assert!(corpus.manifest().is_some(), "there is a manifest, so that the runner takes it");
    let run = run::run(&corpus, &run::Options::new(command), None, &|_| {}).expect("cases are played");
    let passed = run.results.iter().filter(|(_, outcome)| *outcome == run::Outcome::Passed).count();
    (passed, run.results.len() - passed)
}

#[test]
#[ignore = "needs minutes: each fault by itself; the release gate runs it"]
fn minutes_every_fault_that_no_case_shows_is_found_and_shrunk() {
    for (fault, profile) in FAULTS {
        // Pages with such buffers are rare.
        let count = if fault == "clobber-bf16" { 6000 } else { 800 };
        let outcome = found(fault, profile, 0, count);
        println!("{fault}: {} findings in {} documents", outcome.findings.len(), outcome.compared);
    }
}
