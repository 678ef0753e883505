//! Faulty and legitimate implementations as real workers.

use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use megakernel_conformance::report::Report;
use megakernel_conformance::run::{self, Options, Selection};
use megakernel_conformance::store::{Corpus, Filter};
use megakernel_conformance::worker::WorkerCommand;
use megakernel_ir::protocol::Profile;
use megakernel_test_support::part;

const WORKER: &str = env!("CARGO_BIN_EXE_megakernel-adequacy");

static CORPUS: LazyLock<Corpus> = LazyLock::new(|| {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    Corpus::load(&corpus).expect("a corpus")
});

/// The exit code of a run of some cases, all of which passed.
const IN_PART: u8 = 3;

/// Judges a worker by the cases that match; the code is that of `cargo xtask conform`.
fn conform(arguments: [&str; 2], filter: &str) -> u8 {
    let arguments = ["worker"].iter().chain(&arguments).map(|&word| word.to_owned()).collect();
    let options = Options {
        selection: Selection {
            profiles: vec![Profile::EXECUTE],
            filter: Some(Filter::new(filter).expect("a pattern")),
            ..Selection::default()
        },
        jobs: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        ..Options::new(WorkerCommand {
            program: WORKER.to_owned(),
            arguments,
            timeout: run::TIMEOUT,
            handshake: run::HANDSHAKE,
        })
    };
    let finished = run::run(&CORPUS, &options, None, &|_| ()).expect("cases that match");
    Report::new(&CORPUS, &options, &finished).exit_code()
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
        assert_eq!(conform(["--fault", fault], filter), 1, "{fault}");
    }
}

#[test]
fn legitimate_workers_conform_as_far_as_they_are_asked() {
    for number in part::one_in(3, ["0", "60", "120", "199"].into_iter()) {
        assert_eq!(conform(["--variant", number], "numeric/gemv-tile/*"), IN_PART, "{number}");
        assert_eq!(conform(["--variant", number], "numeric/attention-combine/*"), IN_PART, "{number}");
    }
}

#[test]
fn a_truncating_worker_is_judged_by_what_it_claims() {
    let list = Command::new(WORKER).arg("list").output().expect("the worker starts");
    let list = String::from_utf8(list.stdout).expect("UTF-8");
    let line = list.lines().find(|line| line.contains("Truncating")).expect("a truncating variant");
    let number: String = line.chars().filter(char::is_ascii_digit).take(2).collect();
    assert_eq!(conform(["--variant", &number], "numeric/gemm-tile/*"), IN_PART);
}

#[test]
fn an_unknown_fault_or_variant_is_wrong_usage() {
    let beyond = megakernel_adequacy::variants::COUNT.to_string();
    for arguments in [["--fault", "no-such-fault"], ["--variant", &beyond]] {
        let output = Command::new(WORKER).arg("worker").args(arguments).output().expect("the worker starts");
        assert_eq!(output.status.code(), Some(2));
    }
}
