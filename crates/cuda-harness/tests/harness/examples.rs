//! The examples in `examples/cuda` conform, and with a line of theirs changed they do not.

use crate::support::corpus::{assert_no_race, assert_passes, path, play};
use crate::support::fewer;
use megakernel_conformance::run::Outcome;
use megakernel_test_support::part;

const VM: &str = "../../examples/cuda/vm.cu";
const KERNELS: &str = "../../examples/cuda/kernels.cu";

#[test]
fn the_kernels_conform() {
    let file = path(KERNELS).display().to_string();
    let families = if part::is_whole() { "*" } else { "{random,ranks,special}/*" };
    for cases in ["numeric/rmsnorm/", "numeric/silu-mul/", "execution/blocks/mlp-*"] {
        let cases = if cases.ends_with('/') { format!("{cases}{families}") } else { cases.to_owned() };
        assert_passes(&["--kernels", &file], &cases);
    }
}

/// Programs about order that have few tasks and launches.
const SHORT: &str = "execution/order/{behind-nops,fan-in-17,fan-in-8,fan-in-one,in-place,one-by-one-40,rows,turns,waits-of-a-sum,written}*";

#[test]
fn the_vm_conforms() {
    let file = path(VM).display().to_string();
    assert_passes(&["--vm", &file], SHORT);
    assert_passes(&["--vm", &file], "execution/litmus/*");
    assert_passes(
        &["--vm", &file, "--seed", "3", "--repeat", "2"],
        "execution/order/{fan-in-8,in-place,turns}*",
    );
    assert_passes(&["--vm", &file, "--opcode-only"], "execution/exact/products-*");
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_the_vm_conforms_at_any_length() {
    let file = path(VM).display().to_string();
    // A chain of 300 waits in the wrong order takes a second where nothing else runs.
    assert_passes(&["--vm", &file, "--limit", "50"], "execution/order/*");
    assert_passes(&["--vm", &file, "--limit", "50", "--seed", "3", "--repeat", "2"], "execution/order/*");
}

/// A file with a part changed, played to: whether any case ends with a message that has this in it.
#[track_caller]
fn assert_caught(example: &str, change: (&str, &str), options: &[&str], cases: &str, message: &str) {
    let text = std::fs::read_to_string(path(example)).expect("an example");
    let (from, to) = change;
    assert!(text.contains(from), "{example} has no `{from}`");
    let file = fewer::file(&fewer::opcodes(cases), &text.replace(from, to));
    let option = if example == VM { "--vm" } else { "--kernels" };
    let found = play(&[options, &[option, &file]].concat(), cases);
    let caught = |outcome: &Outcome| format!("{outcome:?}").contains(message);
    assert!(found.values().any(caught), "`{from}` changed into `{to}`: {found:?}");
}

#[test]
fn a_vm_that_counts_wrong_is_caught() {
    let caught = |from, to, message| assert_caught(VM, (from, to), &[], "execution/order/fan-in-*", message);
    let signal = "amk_increment_release(&program.counters[task.out_counter]);";
    let twice = format!("{{ {signal} {signal} }}");
    let changes = [
        // It works in the first launch of the process, and in no other.
        ("atomicExch(&drawn, 0u);", "", "the kernel returned, but counter "),
        (
            "position < program.sm_queue_len[queue]",
            "position + 1 < program.sm_queue_len[queue]",
            " is at 0, and 1 tasks",
        ),
        (signal, &twice, "the kernel returned, but counter "),
    ];
    for (from, to, message) in part::one_in(3, changes.into_iter()) {
        caught(from, to, message);
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_a_vm_that_does_not_wait_long_enough_shows_in_what_is_read() {
    let caught = |from, to| assert_caught(VM, (from, to), &["--seed", "1"], SHORT, "elements are wrong");
    caught("lane >= task.n_waits", "lane >= task.n_waits || lane > 0");
    caught("task.wait_counter[lane]]) >=", "task.wait_counter[lane]]) + 1 >=");
}

/// What the order of a VM hangs on, and what is left of it.
const ORDERS: [(&str, &str); 3] = [
    ("amk_increment_release(", "amk_increment("),
    ("amk_poll_acquire(", "amk_poll("),
    (
        "        __syncthreads();\n        if (threadIdx.x == 0) amk_incr",
        "        if (threadIdx.x == 0) amk_incr",
    ),
];

/// Programs whose tasks write what others have read, and how a race in them is looked for.
const CHECKED: (&str, [&str; 4]) = ("execution/order/in-place*", ["--sanitize", "thread", "--limit", "60"]);

#[test]
#[ignore = "needs minutes, and ThreadSanitizer; the release gate runs it"]
fn minutes_a_vm_that_leaves_out_any_order_is_a_race() {
    let (cases, checked) = CHECKED;
    let file = fewer::including(&fewer::opcodes(cases), &path(VM));
    assert_no_race(&[&checked[..], &["--vm", &file]].concat(), cases);
    for change in ORDERS {
        assert_caught(VM, change, &checked, cases, "ThreadSanitizer: data race");
    }
}

#[test]
fn kernels_with_a_fault_are_caught() {
    let caught = |from, to, cases| assert_caught(KERNELS, (from, to), &[], cases, "elements are wrong");
    let changes = [
        ("i < hidden / 2", "i + 1 < hidden / 2", "numeric/rmsnorm/random/*"),
        ("g < 0.0f ? e / (1.0f + e)", "g < 0.0f ? 1.0f / (1.0f + e)", "numeric/silu-mul/random/*"),
    ];
    for (from, to, cases) in part::one_in(2, changes.into_iter()) {
        caught(from, to, cases);
    }
}

#[test]
fn a_vm_for_a_gpu_is_not_for_the_cpu() {
    let found = play(&["--vm", "their.cubin"], "execution/order/in-place");
    // The handshake fails, so that nothing is asked.
    assert!(found.values().all(|outcome| matches!(outcome, Outcome::NotAsked(_))), "{found:?}");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_megakernel-cuda"))
        .args(["--vm", "their.cubin", "--prepare"])
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("their.cubin holds code for a GPU"), "{text}");
}
