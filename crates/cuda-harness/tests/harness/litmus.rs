//! Litmus programs (clause ABI-06): what signal and wait forget to order is noticed, and what they order passes.

use std::process::Command;

use crate::support::corpus::{assert_no_race, assert_passes, path, play};
use crate::support::fewer;
use crate::support::wrong::assert_wrong_numbers;
use megakernel_conformance::run::Outcome;

/// All programs in which the same memory is written twice.
const AGAIN: &str =
    "execution/litmus/{ping-pong,pages,relay,causality,behind-nops,join,fork,all-to-all,rows,token}*";

/// Signals and waits with a fault; a program in which threads race; and the programs whose results are wrong where memory
/// is as weak as it may be. A release that skips tasks without stores does no harm there: what was released once, everybody
/// sees.
pub const FAULTS: [(&str, &str, Option<&str>); 8] = [
    ("signal_before_writes", "execution/litmus/message", Some("execution/litmus/{message,fork,rows}")),
    ("signal_without_fence", "execution/litmus/message", Some("execution/litmus/*")),
    ("signal_with_block_fence", "execution/litmus/ping-pong", Some("execution/litmus/{ping-pong,token}")),
    ("signal_own_stores", "execution/litmus/behind-nops", None),
    ("wait_without_acquire", "execution/litmus/relay", Some(AGAIN)),
    ("wait_block_scope", "execution/litmus/rows", Some("execution/litmus/{relay,rows}")),
    ("wait_first_only", "execution/litmus/join-8-counters", Some("execution/litmus/join-8-counters")),
    ("wait_without_barrier", "execution/litmus/token", Some("execution/litmus/{token,relay,causality}")),
];

/// The kernels with a fault, and of the opcodes those that the cases have.
fn kernels(name: &str, cases: &str) -> String {
    fewer::including(&fewer::opcodes(cases), &path(&format!("tests/kernels/{name}.cu")))
}

fn says(outcome: &Outcome, text: &str) -> bool {
    format!("{outcome:?}").contains(text)
}

#[test]
#[ignore = "needs minutes, and ThreadSanitizer; the release gate runs it"]
fn minutes_threads_race_where_an_order_is_missing_and_nowhere_else() {
    let checked = ["--sanitize", "thread", "--limit", "60"];
    let cases = FAULTS.map(|(_, case, _)| case.trim_start_matches("execution/litmus/")).join(",");
    assert_no_race(&checked, &format!("execution/litmus/{{{cases}}}"));
    for (fault, case, _) in FAULTS {
        let found = play(&[&checked[..], &["--kernels", &kernels(fault, case)]].concat(), case);
        assert!(
            found.values().all(|outcome| says(outcome, "ThreadSanitizer: data race")),
            "{fault}: {found:#?}"
        );
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_results_are_wrong_in_weak_memory_where_an_order_is_missing_and_nowhere_else() {
    assert_passes(&["--sanitize", "order", "--repeat", "5", "--perturb"], "execution/litmus/*");
    for (fault, _, cases) in FAULTS {
        if let Some(cases) = cases {
            assert_wrong_numbers(&["--sanitize", "order", "--kernels", &kernels(fault, cases)], cases);
        }
    }
    // Where nobody has the lines from before, nothing tells that they are not fetched again.
    let cases = "execution/litmus/message*";
    assert_passes(&["--sanitize", "order", "--kernels", &kernels("wait_without_acquire", cases)], cases);
}

#[test]
fn what_depends_on_turns_is_unstable() {
    // The first turns of the fibers happen to be the right ones.
    let case = "execution/litmus/message";
    let early = kernels("signal_before_writes", case);
    let once = play(&["--kernels", &early], case);
    assert!(once.values().all(|outcome| *outcome == Outcome::Passed), "{once:#?}");
    let repeated = play(&["--kernels", &early, "--repeat", "20", "--perturb"], case);
    for outcome in repeated.values() {
        for part in [
            "unstable: run ",
            " of 20 (--seed ",
            " --perturb) differs from the first from task ",
            "elements of `y",
        ] {
            assert!(says(outcome, part), "{outcome:#?}");
        }
    }
}

#[test]
fn what_depends_on_placement_is_unstable() {
    // The block that a task runs on has no business in its result.
    let text = "AMK_DEVICE void placed(const amk_program_t& program, const amk_instruction_t& task) {\n\
                const amk_buffer_t &x = amk_input(program, task, 0), &y = amk_output(program, task, 0);\n\
                amk_each(y.numel, [&](amk_i64 i) { amk_store(y, i, amk_load(x, i) + float(blockIdx.x == 3)); });\n}\n\
                #define AMK_REPLACE_COPY placed\n";
    let case = "execution/litmus/behind-nops";
    let kernels = fewer::file(&fewer::opcodes(case), text);
    let once = play(&["--kernels", &kernels], case);
    assert!(once.values().all(|outcome| matches!(outcome, Outcome::WrongAnswer(_))), "{once:#?}");
    let found = play(&["--kernels", &kernels, "--repeat", "50"], case);
    for outcome in found.values() {
        assert!(says(outcome, "differs from the first from task 3 (COPY) on, in 256 of 256"), "{outcome:#?}");
    }
}

#[test]
fn litmus_programs_are_stable() {
    assert_passes(&["--repeat", "5", "--perturb"], "execution/litmus/*");
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_litmus_programs_and_the_decoder_are_stable_when_repeated_often() {
    assert_passes(&["--repeat", "15", "--perturb"], "execution/litmus/*");
    assert_passes(&["--repeat", "3"], "execution/exact/decoder*");
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let vm = path("tests/kernels/wait.inc").display().to_string();
    for (options, part) in [
        (&["--opcode-only", "--repeat", "2"][..], "which --opcode-only leaves out"),
        (&["--opcode-only", "--perturb"], "which --opcode-only leaves out"),
        (&["--perturb", "--vm", &vm], "cannot in that of --vm"),
        (&["--placement", "placed.txt"], "it needs --device cuda"),
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_megakernel-cuda")).args(options).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && text.contains(part), "{options:?}: {text}");
    }
}
