//! How `test-worker` is started, and what is asserted of a judged run.

use std::time::Duration;

use megakernel_conformance::report::Report;
use megakernel_conformance::run::Options;
use megakernel_conformance::worker::WorkerCommand;

/// For workers that keep somebody waiting: short enough for tests that wait for it five times.
pub const TIMEOUT: Duration = Duration::from_millis(400);

/// Behaviours that keep somebody waiting.
const WAITED_FOR: [&str; 13] = [
    "deaf",
    "executes-hangs",
    "hangs-on-every-second",
    "hangs-with-a-child",
    "keeps-a-daemon-and-hangs",
    "late-once",
    "leaves-a-child",
    "lingers",
    "never-answers",
    "never-ends",
    "no-handshake",
    "slow",
    "slow-handshake",
];

/// Options for a behaviour of `test-worker`. On a machine that does much else, any answer may be late: so much is allowed to those who do not keep
/// somebody waiting.
pub fn options(behaviour: &[&str]) -> Options {
    let is_waited_for = behaviour.first().is_some_and(|name| WAITED_FOR.contains(name));
    let (timeout, handshake) = if is_waited_for {
        (TIMEOUT, TIMEOUT * 4)
    } else {
        (Duration::from_secs(60), Duration::from_secs(60))
    };
    Options::new(WorkerCommand {
        program: env!("CARGO_BIN_EXE_test-worker").to_owned(),
        arguments: behaviour.iter().map(|&word| word.to_owned()).collect(),
        timeout,
        handshake,
    })
}

/// A judged run, with the time that it took.
pub struct Judged {
    pub report: Report,
    pub text: String,
    pub took: Duration,
}

impl Judged {
    /// Asserts that the worker does not conform, that the report says why, and that it did not take for ever.
    #[track_caller]
    pub fn assert_rejected(&self, why: &str) {
        assert_eq!(self.report.exit_code(), 1, "{}", self.text);
        assert!(!self.report.conforms);
        assert!(self.text.contains(why), "no `{why}` in\n{}", self.text);
        assert!(self.took < Duration::from_secs(300), "took {:?}", self.took);
        let counts = self.report.totals;
        let last = format!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
        assert_eq!(self.text.lines().last(), Some(last.as_str()));
    }

    /// Asserts that no case failed, and that the report says of which part of the profile that is true.
    #[allow(dead_code, reason = "not all tests have such runs")]
    #[track_caller]
    pub fn assert_conforms_in_part(&self, share: &str) {
        assert_eq!(self.report.exit_code(), 3, "{}", self.text);
        assert!(!self.report.conforms);
        assert_eq!(self.report.totals.failed, 0, "{}", self.text);
        let line = format!("  conforms in part: {share}\n");
        assert!(self.text.contains(&line), "no `{line}` in\n{}", self.text);
    }

    /// Asserts that all that was judged is as declared, and was all.
    #[track_caller]
    pub fn assert_conforms(&self) {
        assert_eq!(self.report.exit_code(), 0, "{}", self.text);
        assert_eq!(self.report.totals.failed, 0, "{}", self.text);
    }
}
