//! What a stranger's VM may do on the CPU that waits without a pause, by words of shared memory that it knows by their addresses: as shipped it
//! passes; with a line changed it is stuck, or a race, or ended with a sentence.

use megakernel_test_support::part;

use crate::strangers::{Stranger, assert_says};
use crate::support::corpus::{assert_no_race, assert_passes};
use crate::support::fewer;
use crate::support::worker::{Worker, chain, f32s};
use crate::support::wrong::assert_wrong_numbers;

/// A block that reads what another has written, when it has had many tasks that do nothing.
const CASES: &str = "execution/litmus/behind-nops";

/// Its file with lines changed, and the opcodes of the cases.
fn vm(changes: &[(&str, &str)]) -> String {
    let vm = Stranger { name: "spinning", opcodes: &[] };
    fewer::file(&fewer::opcodes(CASES), &vm.text(changes))
}

/// In front of what a task does.
fn before_task(text: &str) -> String {
    vm(&[("        amk_run(program, task);", &format!("{text}\n        amk_run(program, task);"))])
}

#[test]
fn loops_without_a_pause_let_others_run() {
    let right = vm(&[]);
    let ways = [
        &[][..],
        &["--seed", "3", "--threads", "96", "--repeat", "2"],
        &["--sanitize", "order"],
        &["--sanitize", "address,undefined", "--limit", "60"],
    ];
    for options in part::one_in(2, ways.into_iter()) {
        assert_passes(&[options, &["--vm", &right]].concat(), CASES);
    }
    // More words than are kept of each thread, of which the last is written last; two of them with a pause, and without; and a word that is
    // looked at a thousand times as often as others sleep.
    let many = before_task(
        r"
        __shared__ unsigned words[300];
        if (threadIdx.x == 0) for (int i = 0; i < 300; ++i) atomicExch(&words[i], 0u);
        __syncthreads();
        if (threadIdx.x == 1) {
            for (unsigned sum = 0; sum != 300;) {
                sum = 0;
                for (int i = 0; i < 300; ++i) sum += atomicOr(&words[i], 0u);
            }
        }
        if (threadIdx.x == 2) while (atomicAdd(&words[0], 0u) == 0 || atomicAdd(&words[299], 0u) == 0) __nanosleep(20);
        if (threadIdx.x == 3) while (amk_poll(&words[7]) == 0 || amk_poll(&words[199]) == 0) {}
        if (threadIdx.x == 4) for (int i = 0; i < 300; ++i) { __nanosleep(20); atomicExch(&words[i], 1u); }
        __syncthreads();
        if (threadIdx.x == 5) for (int i = 0; i < 5000; ++i) (void)atomicAdd(&words[0], 0u);",
    );
    assert_passes(&["--vm", &many], CASES);
}

#[test]
fn loops_without_a_pause_whose_end_never_comes_are_noticed() {
    let task = "        amk_run(program, task);";
    // A loop in which all of the block meet, and one of them looks.
    let meeting = "__shared__ unsigned go; if (threadIdx.x == 0) go = 0; __syncthreads(); \
                   while (__syncthreads_or(threadIdx.x == 0 ? atomicAdd(&go, 0u) : 0) == 0) {}";
    let changes = [
        (
            "0u) < amk_u32(task.wait_threshold[w])",
            "0u) <= amk_u32(task.wait_threshold[w])",
            "in block 0 threads 1 to 63 look at `words` + 4, which holds 1, thread 0 looks at counter 5, which holds 0; in block 1 t",
        ),
        ("    atomicExch(&taken, 0);", "", "thread 0 looks at counter 5, which holds 0; task 1 (NOP) runs"),
        (
            "unsigned(position + 1)) {}\n            __threadfence_block();\n        }",
            "0) {}\n        }",
            "threads 1 to 63 look at `words` + 4, which holds 1, thread 0 waits at the barrier of the block, to which 1 of 64 have come",
        ),
        (task, meeting, "in block 0 thread 0 looks at `go`, which holds 0; in block 1"),
    ];
    for (from, to, said) in part::one_in(3, changes.into_iter()) {
        let stuck = ["TIMEOUT: no task can go on: ", said].concat();
        let said = if said.starts_with("in block 0") { &stuck } else { said };
        assert_says(&["--vm", &vm(&[(from, to)])], CASES, said);
    }
    // Who meets often and looks now and then gets on.
    let computing = "__shared__ unsigned go; if (threadIdx.x == 0) go = 0; __syncthreads(); \
                     for (int i = 0; i < 25000 && queue == 0 && position == 0; ++i) if (__syncthreads_or(threadIdx.x == 0 && i % 8 == 0 ? atomicAdd(&go, 0u) : 0) != 0) break;";
    assert_passes(&["--limit", "60", "--threads", "32", "--vm", &before_task(computing)], CASES);
}

/// Threads that sleep often, wait by the clock, look at what nobody changes, or meet in part of the block, while others wait for them.
const PATIENT: &str = r#"
#include "task.cuh"
#include "ops/add.cuh"
__device__ void patient(const amk_program_t& program, const amk_instruction_t& task) {
    __shared__ unsigned word;
    const auto wait = [&](unsigned value) { while (atomicAdd(&word, 0u) != value) __nanosleep(100); };
    if (threadIdx.x == 0) word = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 3000; ++i) __nanosleep(1000);
        for (const long long start = clock64(); clock64() - start < 100000;) __nanosleep(100);
        atomicExch(&word, 1u);
    }
    wait(1);
    __syncthreads();
    if (threadIdx.x == 0) for (int i = 0; i < 30000; ++i) __nanosleep(100);
    if (threadIdx.x == 32) for (int i = 0; i < 60000; ++i) (void)atomicAdd(&word, 0u);
    __syncthreads();
    if (threadIdx.x < 64) {
        for (int i = 0; i < 25000; ++i) asm volatile("bar.sync 1, 64;" ::: "memory");
        if (threadIdx.x == 0) atomicExch(&word, 2u);
    } else {
        wait(2);
    }
    __syncthreads();
    amk_op_add(program, task);
}
#define AMK_REPLACE_ADD patient
"#;

#[test]
fn who_waits_for_long_is_not_stuck() {
    let kernels = fewer::file(&fewer::CHAIN, PATIENT);
    for more in [&[][..], &["--seed", "1"]] {
        let mut worker = Worker::new(&[more, &["--threads", "96", "--kernels", &kernels]].concat());
        let answer = worker.execute(&[chain(&[("ADD", &[])])], &[("x", f32s(&[1.0, -2.5, 3.0]))]);
        assert_eq!(answer["outcome"], "accept", "{more:?}: {answer}");
        assert_eq!(worker.reals("out-0", "y"), [2.0, -5.0, 6.0]);
    }
}

/// Fences for the block alone where others read, and none where the block does.
const UNFENCED: [(&str, &str); 4] = [
    SIGNAL,
    ("(position + 1)) {}\n            __threadfence_block();\n        }", "(position + 1)) {}\n        }"),
    ("    __threadfence();\n}", "    __threadfence_block();\n}"),
    ("        __threadfence_block();\n        atomicAdd(&at", "        atomicAdd(&at"),
];

const RACING: [&str; 7] = ["--sanitize", "thread", "--limit", "60", "--threads", "32", "--vm"];

/// The signal, and what is left of its order where the fence is for the block alone.
const SIGNAL: (&str, &str) = (
    "            __threadfence();\n            atomicAdd(&program",
    "            __threadfence_block();\n            atomicAdd(&program",
);

#[test]
fn a_fence_for_the_block_alone_is_none_for_others_in_weak_memory() {
    let weak = ["--sanitize", "order", "--vm"];
    assert_wrong_numbers(&[&weak[..], &[&vm(&[SIGNAL])]].concat(), CASES);
}

#[test]
#[ignore = "needs minutes, and ThreadSanitizer; the release gate runs it"]
fn minutes_every_fence_that_is_missing_or_too_narrow_is_a_race() {
    assert_no_race(&[&RACING[..], &[&vm(&[])]].concat(), CASES);
    for change in UNFENCED {
        assert_says(&[&RACING[..], &[&vm(&[change])]].concat(), CASES, "ThreadSanitizer: data race");
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_places_in_shared_memory_have_addresses_of_their_own() {
    // The same at each start, and the same multiples as the places on the CPU.
    let right = before_task(
        r"
        __shared__ __align__(128) unsigned char wide[128];
        __shared__ unsigned short narrow;
        assert(__cvta_generic_to_shared(amk_shared()) == 1024);
        const auto agrees = [](const void* place, size_t bytes) {
            const size_t address = __cvta_generic_to_shared(place);
            return address % bytes == reinterpret_cast<size_t>(place) % bytes && __cvta_shared_to_generic(address) == place && __isShared(place);
        };
        assert(agrees(amk_shared(), 2048) && agrees(&words, 8) && agrees(wide, 256) && agrees(&narrow, 4));
        assert(__cvta_generic_to_shared(wide + 128) == __cvta_generic_to_shared(wide) + 128);
        assert(!__isShared(&drawn) && __isGlobal(&drawn) && __cvta_global_to_generic(__cvta_generic_to_global(&drawn)) == &drawn);",
    );
    for options in [&[][..], &["--sanitize", "address,undefined", "--limit", "60"]] {
        assert_passes(&[options, &["--vm", &right]].concat(), CASES);
    }
    for (from, to, said) in [
        ("(address)); }", "(address + 13)); }", "of shared memory, 1 byte behind the end of `words`"),
        ("(address)); }", "(address - 20)); }", "of shared memory, 20 bytes before `words`"),
        (
            "__cvta_generic_to_shared(&words)",
            "__cvta_generic_to_shared(&taken)",
            "an address in shared memory is asked for of a place that is not in it",
        ),
    ] {
        assert_says(&["--vm", &vm(&[(from, to)])], CASES, said);
    }
}
