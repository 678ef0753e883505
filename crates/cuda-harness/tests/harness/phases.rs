//! Strangers' kernels with barriers and pipelines of libcu++: as shipped they pass on the CPU; with one of the mistakes that people make they do not.

use megakernel_ir::Opcode;
use megakernel_test_support::part;

use crate::strangers::{Stranger, assert_says};
use crate::support::corpus::{assert_no_race, assert_passes};
use crate::support::wrong::assert_wrong_numbers;

const PHASES: Stranger =
    Stranger { name: "phases", opcodes: &[Opcode::Softmax, Opcode::RmsNorm, Opcode::Add, Opcode::Copy] };
const STAGES: Stranger =
    Stranger { name: "stages", opcodes: &[Opcode::Mul, Opcode::Copy, Opcode::SiluMul, Opcode::RmsNorm] };

/// Several tiles, rows and lines.
const FAMILIES: &str = "/{random,special,ends,storage}/*";
const TILES: &str = "/sizes/1x1027-f32-to-f32";

#[test]
fn phases_of_barriers_end_when_all_have_come_and_all_bytes_are_there() {
    let right = PHASES.unchanged();
    for options in part::one_in(2, [&["--seed", "3", "--threads", "96"], &[][..]].into_iter()) {
        let cases =
            [format!("numeric/{{softmax,rmsnorm,add,copy}}{FAMILIES}"), format!("numeric/add{TILES}")];
        cases.iter().for_each(|cases| assert_passes(&[options, &["--kernels", &right]].concat(), cases));
    }
    let mistakes = [
        (
            ("ready.wait(ready.arrive());", "(void)ready.arrive();"),
            "numeric/rmsnorm/random/rows-4x48-f32-to-f32",
            None,
        ),
        (
            ("full[tile % 2].arrive_and_wait();", "(void)full[tile % 2].arrive();"),
            "numeric/add/random/plain-f32-to-f32",
            None,
        ),
        (
            (
                "cuda::aligned_size_t<16>(bytes), full[step % 2]);",
                "cuda::aligned_size_t<16>(bytes), full[(step + 1) % 2]);",
            ),
            "numeric/rmsnorm/random/rows-4x48-f32-to-f32",
            None,
        ),
        (
            ("met.arrive_and_drop();", ";"),
            "numeric/softmax/sizes/7x259-dim-0-f32-to-f32",
            Some(
                "in block 0 threads 0 to 31 wait for the mbarrier `met`, whose phase of parity 0 has 32 of 64 arrivals still to come, \
                 threads 32 to 63 wait at the barrier of the b",
            ),
        ),
        (
            (
                "cuda::device::barrier_expect_tx(full[slot], a_bytes + b_bytes);",
                "cuda::device::barrier_expect_tx(full[slot], a_bytes + b_bytes + 16);",
            ),
            "numeric/add/sizes/1x1027-f32-to-f32",
            Some(
                "TIMEOUT: no task can go on: in block 0 threads 0 to 63 wait for the mbarrier `full`, \
                 whose phase of parity 0 has 0 of 64 arrivals still to come, and 16 bytes; task 0",
            ),
        ),
        (
            ("init(full + block.thread_rank(), block.size());", "init(full + block.thread_rank(), 1);"),
            "numeric/add/random/plain-f32-to-f32",
            None,
        ),
        (
            ("if (threadIdx.x == 0) met.~barrier();", "met.~barrier();"),
            "numeric/softmax/random/rows-4x40-f32-to-f32",
            Some("an mbarrier that was not initialised, or was stored over"),
        ),
    ];
    for ((from, to), cases, said) in part::one_in(3, mistakes.into_iter()) {
        assert_rejected(&["--kernels", &PHASES.with(&[(from, to)])], cases, said);
    }
}

/// By a message, or by numbers.
#[track_caller]
fn assert_rejected(options: &[&str], cases: &str, said: Option<&str>) {
    match said {
        Some(said) => assert_says(options, cases, said),
        None => assert_wrong_numbers(options, cases),
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_stages_of_pipelines_are_filled_before_they_are_used_and_used_before_they_are_filled() {
    let right = STAGES.unchanged();
    for options in [&[][..], &["--seed", "3", "--threads", "96"]] {
        let cases =
            [format!("numeric/{{mul,copy,silu-mul,rmsnorm}}{FAMILIES}"), format!("numeric/mul{TILES}")];
        cases.iter().for_each(|cases| assert_passes(&[options, &["--kernels", &right]].concat(), cases));
    }
    for ((from, to), cases, said) in [
        (
            ("wait_prior<MUL_STAGES - 1>(pipe);", "wait_prior<MUL_STAGES>(pipe);"),
            "numeric/mul/random/two-f32-to-f32",
            None,
        ),
        (("tile_pipe.consumer_wait();", ";"), "numeric/silu-mul/random/*-f32-to-f32", None),
        (
            ("unsigned char* const to = stages[visit % ROW_STAGES];", "unsigned char* const to = stages[0];"),
            "numeric/rmsnorm/random/*-f32-to-f32",
            None,
        ),
        (
            ("tile_pipe.producer_commit();", ";"),
            "numeric/silu-mul/random/*-f32-to-f32",
            Some("arrivals still to come"),
        ),
    ] {
        assert_rejected(&["--kernels", &STAGES.with(&[(from, to)])], cases, said);
    }
}

#[test]
#[ignore = "needs minutes, and ThreadSanitizer; the release gate runs it"]
fn minutes_what_barriers_and_pipelines_do_not_order_is_a_race() {
    let checked = ["--sanitize", "thread", "--limit", "60", "--kernels"];
    let lines = "numeric/softmax/random/*-f32-to-f32";
    assert_no_race(
        &[&checked[..], &[&PHASES.unchanged()]].concat(),
        "numeric/{softmax,rmsnorm,add}/random/*-f32-to-f32",
    );
    assert_no_race(
        &[&checked[..], &[&STAGES.unchanged()]].concat(),
        "numeric/{mul,silu-mul,rmsnorm}/random/*-f32-to-f32",
    );
    let early = PHASES.with(&[("met.wait(cuda::std::move(token));", ";")]);
    assert_says(&[&checked[..], &[&early]].concat(), lines, "ThreadSanitizer: data race");
}
