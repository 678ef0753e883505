//! For tests of kernels whose results are wrong.

use megakernel_conformance::run::Outcome;

use super::corpus::play;

/// Asserts that every case is answered, and answered with wrong numbers.
#[track_caller]
pub fn assert_wrong_numbers(options: &[&str], filter: &str) {
    for (id, outcome) in play(options, filter) {
        let wrong =
            matches!(&outcome, Outcome::WrongAnswer(mismatch) if mismatch.expected.starts_with("launch "));
        assert!(wrong, "{options:?} on {id}: {outcome:?}");
    }
}
