//! The adapter libraries of `adapters/`: their workers are judged, and they answer what the protocol asks of every worker, whatever the
//! handlers do.

mod conversation;
mod faults;
mod languages;
mod page;

use std::num::NonZeroUsize;
use std::sync::OnceLock;

use megakernel_conformance::report::{ProfileVerdict, Report};
use megakernel_conformance::run::{self, HANDSHAKE, Options, Selection, TIMEOUT};
use megakernel_conformance::store::{Corpus, Filter};
use megakernel_conformance::worker::WorkerCommand;
use megakernel_ir::protocol::Profile;
use megakernel_ir::shard::Shard;
use megakernel_test_support::{files, root};

use languages::Language;

/// Plays every `of`-th case of a profile.
fn play(command: Vec<String>, profile: Profile, of: usize) -> Report {
    let shard = Shard::new(1, of).expect("a shard");
    play_selected(command, Selection { profiles: vec![profile], shard: Some(shard), ..Selection::default() })
}

fn play_selected(command: Vec<String>, selection: Selection) -> Report {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    let (program, arguments) = command.split_first().expect("a program");
    let options = Options {
        jobs: NonZeroUsize::new(2).expect("two is not zero"),
        selection,
        ..Options::new(WorkerCommand {
            program: program.clone(),
            arguments: arguments.to_vec(),
            timeout: TIMEOUT,
            handshake: HANDSHAKE,
        })
    };
    let corpus = CORPUS.get_or_init(|| Corpus::load(&root().join("corpus")).expect("the corpus can be read"));
    let run = run::run(corpus, &options, None, &|_| ()).expect("the worker can be started");
    Report::new(corpus, &options, &run)
}

fn judge(language: Language) {
    let report = play(language.worker("minimal"), Profile::FORMAT, 10);
    let failures: Vec<_> = report.failures.iter().map(|f| (&f.case, &f.actual)).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    let claimed = report.implementation.and_then(|i| i.rules).expect("it lists its rules");
    for rule in &claimed {
        let line = report.clauses.iter().find(|line| line.clause == *rule).expect("a rule of the corpus");
        assert!(line.counts.passed > 0, "no case of {rule} passed");
    }
    conversation::hold(language, &language.worker("careless"));
    let complete = language.worker("complete");
    for profile in [Profile::FORMAT, Profile::LAUNCH] {
        let report = play(complete.clone(), profile, 10);
        let failures: Vec<_> = report.failures.iter().map(|f| (&f.case, &f.actual)).collect();
        assert!(failures.is_empty(), "{failures:#?}");
        let line = report.profiles.iter().find(|line| line.profile == profile).expect("a line");
        assert_eq!(line.verdict, ProfileVerdict::ConformsInPart, "a shard shows a part");
        assert!(line.counts.passed > 100 && line.counts.skipped == 0, "{:?}", line.counts);
    }
    // In Python numpy would be needed.
    if language != Language::Python {
        let adds = Filter::new("numeric/add/*").expect("a glob");
        let selection =
            Selection { profiles: vec![Profile::EXECUTE], filter: Some(adds), ..Selection::default() };
        let report = play_selected(complete, selection);
        let failures: Vec<_> = report.failures.iter().map(|f| (&f.case, &f.actual)).collect();
        assert!(failures.is_empty(), "{failures:#?}");
        assert!(report.totals.passed > 10, "{:?}", report.totals);
    }
}

#[test]
fn the_adapter_in_python_is_judged() {
    judge(Language::Python);
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_the_adapter_in_cpp_is_judged() {
    judge(Language::Cpp);
}

#[test]
fn the_adapter_in_rust_is_judged() {
    judge(Language::Rust);
}

#[test]
#[ignore = "needs minutes, and Go; the release gate runs it"]
fn minutes_the_adapter_in_go_is_judged() {
    judge(Language::Go);
}

#[test]
fn minimal_workers_are_short() {
    for language in Language::ALL {
        let lines = files::text(&language.source("minimal")).lines().count();
        assert!((5..50).contains(&lines), "{language:?}: {lines} lines");
    }
}
