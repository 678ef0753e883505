//! Plays cases of the corpus to the harness, as the runner does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use megakernel_conformance::run::{self, Options, Outcome, Selection};
use megakernel_conformance::store::{Corpus, Filter};
use megakernel_conformance::worker::WorkerCommand;
use megakernel_ir::protocol::Profile;
use megakernel_test_support::root;
use megakernel_test_support::tools::{Tool, require};

/// A path below the crate.
pub fn path(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

fn corpus() -> &'static Corpus {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    CORPUS.get_or_init(|| Corpus::load(&root().join("corpus")).expect("the corpus of this repository"))
}

/// The documents of the launches of the cases that match and execute.
pub fn documents(filter: &str) -> Vec<Vec<u8>> {
    let filter = Filter::new(filter).expect("a glob");
    let cases = corpus().cases().iter().filter(|case| filter.matches(&case.id));
    cases.flat_map(|case| corpus().launch_documents(case).expect("its documents")).collect()
}

/// Plays the cases that match, at least one, to the harness with options: how each ended, by id.
pub fn play(options: &[&str], filter: &str) -> BTreeMap<String, Outcome> {
    require(Tool::Cxx);
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels").display().to_string();
    let arguments = options.iter().copied().chain(["--cache", &cache]).map(String::from).collect();
    play_to(env!("CARGO_BIN_EXE_megakernel-cuda"), arguments, filter)
}

/// Plays the cases that match, at least one, to a program: how each ended, by id.
pub fn play_to(program: &str, arguments: Vec<String>, filter: &str) -> BTreeMap<String, Outcome> {
    let options = Options {
        selection: Selection {
            profiles: vec![Profile::EXECUTE],
            filter: Some(Filter::new(filter).expect("a glob")),
            ..Selection::default()
        },
        ..Options::new(WorkerCommand {
            program: program.to_owned(),
            arguments,
            // The first answer takes as long as the compiler does.
            timeout: Duration::from_secs(120),
            handshake: run::HANDSHAKE,
        })
    };
    let run = run::run(corpus(), &options, None, &|_| {}).expect("a run");
    run.results.into_iter().map(|(unit, outcome)| (unit.case.id.clone(), outcome)).collect()
}

/// Plays the cases that match under ThreadSanitizer, and asserts that every one passes.
#[track_caller]
pub fn assert_no_race(options: &[&str], filter: &str) {
    let found = play(options, filter);
    for (id, outcome) in found {
        assert_runs(&format!("{outcome:?}"));
        assert_eq!(outcome, Outcome::Passed, "{options:?} on {id}");
    }
}

/// Asserts that ThreadSanitizer does not refuse to run, as it does where addresses are too random for it.
#[track_caller]
pub fn assert_runs(said: &str) {
    let refuses = said.contains("FATAL: ThreadSanitizer");
    assert!(!refuses, "ThreadSanitizer does not run here; `sysctl vm.mmap_rnd_bits=28` may help: {said}");
}

/// Asserts that every case passes.
#[track_caller]
pub fn assert_passes(options: &[&str], filter: &str) {
    let failed: BTreeMap<_, _> =
        play(options, filter).into_iter().filter(|(_, outcome)| *outcome != Outcome::Passed).collect();
    assert!(failed.is_empty(), "{options:?} on {filter}: {failed:#?}");
}
