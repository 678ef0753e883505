//! Conversions, judging and files of tensors: clauses NUM-01 to NUM-04, NUM-10 and NUM-11.

#![allow(clippy::panic, reason = "a helper of a test fails the test")]

mod conversions;
mod convert;
mod judging;
mod second_opinion;
mod table;
mod tensors;

use proptest::test_runner::Config;

/// So many cases of a property. Failures are printed, and no file is left beside the tests.
fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}
