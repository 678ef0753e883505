//! Strangers' kernels with inline PTX, written from its manual alone: as shipped they pass on the CPU, and with one of the mistakes that people make they do not.

use megakernel_ir::Opcode;
use megakernel_test_support::part;

use crate::strangers::{Stranger, assert_says};
use crate::support::corpus::{assert_no_race, assert_passes};
use crate::support::fewer;
use crate::support::worker::{Worker, chain};
use crate::support::wrong::assert_wrong_numbers;

/// A VM whose opcodes are the suite's.
const SYNCHRONIZED: Stranger = Stranger { name: "synchronized", opcodes: &[] };

/// With the opcodes of these cases.
fn vm(cases: &str, changes: &[(&str, &str)]) -> String {
    fewer::file(&fewer::opcodes(cases), &SYNCHRONIZED.text(changes))
}

const BEHIND_NOPS: &str = "execution/litmus/behind-nops";
const LITMUS: &str = "execution/litmus/*";

/// Orders of a wait and of a signal that are less than each has to have.
const UNORDERED: [(&str, &str); 4] = [
    ("ld.acquire.gpu.global.u32 seen", "ld.relaxed.gpu.global.u32 seen"),
    ("ld.acquire.gpu.global.u32 seen", "ld.acquire.cta.global.u32 seen"),
    ("red.release.gpu.global.add.u32", "red.relaxed.gpu.global.add.u32"),
    ("red.release.gpu.global.add.u32", "red.release.cta.global.add.u32"),
];

#[test]
fn a_vm_that_spins_in_ptx_conforms_and_says_what_it_waits_for() {
    let right = vm(LITMUS, &[]);
    assert_passes(&["--vm", &right], LITMUS);
    let changes = [
        // What waits for which is said, with the instruction.
        (
            ("setp.hs.u32 met, seen, %2", "setp.hi.u32 met, seen, %2"),
            "no task can go on: in block 0 thread 0 looks at counter 5, which holds 0 (",
        ),
        (
            ("meet(FINISHED);", "meet(FINISHED + threadIdx.x / 32);"),
            "no task can go on: in block 0 threads 0 to 31 wait at barrier 2, to which 32 of 64 threads have come by whole warps (",
        ),
        (
            ("vote.sync.all.pred q, p, 0xffffffff", "vote.sync.all.pred q, p, 0x7fffffff"),
            "lane 31 of warp 0 in block 0 calls vote.sync.all(0x7fffffff), whose mask does not name it",
        ),
        // More threads than there are.
        (
            ("\"r\"(barrier), \"r\"(blockDim.x)", "\"r\"(barrier), \"r\"(blockDim.x + 32)"),
            "comes to barrier 1 of 96 threads, which has to be a multiple of 32 up to the 64",
        ),
    ];
    for (change, said) in part::one_in(3, changes.into_iter()) {
        assert_says(&["--vm", &vm(BEHIND_NOPS, &[change])], BEHIND_NOPS, said);
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_a_vm_that_spins_in_ptx_orders_no_more_than_it_says() {
    let right = vm(LITMUS, &[]);
    assert_passes(&["--vm", &right, "--seed", "3", "--threads", "96"], LITMUS);
    let weak = ["--sanitize", "order", "--vm"];
    assert_passes(&[&weak[..], &[&right]].concat(), LITMUS);
    for change in UNORDERED {
        assert_wrong_numbers(&[&weak[..], &[&vm(BEHIND_NOPS, &[change])]].concat(), BEHIND_NOPS);
    }
}

#[test]
#[ignore = "needs minutes, and ThreadSanitizer; the release gate runs it"]
fn minutes_a_vm_that_spins_in_ptx_and_orders_too_little_races() {
    let checked = |threads, changes: &[(&str, &str)]| {
        let vm = vm(BEHIND_NOPS, changes);
        ["--sanitize", "thread", "--limit", "60", "--threads", threads, "--vm", &vm].map(str::to_owned)
    };
    let races = |threads, change| {
        let options = checked(threads, &[change]);
        assert_says(&options.each_ref().map(String::as_str), BEHIND_NOPS, "ThreadSanitizer: data race");
    };
    assert_no_race(&checked("32", &[]).each_ref().map(String::as_str), BEHIND_NOPS);
    races("32", UNORDERED[0]);
    races("32", UNORDERED[2]);
    races("64", ("meet(FINISHED);", ";"));
}

const PIPELINED: Stranger = Stranger { name: "pipelined", opcodes: &[Opcode::RmsNorm, Opcode::Copy] };

/// Bulk copies into shared memory and out of it, by a warp that brings rows and others that use them.
#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_rows_that_are_brought_by_bulk_copies_are_waited_for() {
    let right = PIPELINED.unchanged();
    let cases = "numeric/{rmsnorm,copy}/{random,special,integers,storage,ends}/*";
    for options in [&[][..], &["--seed", "3", "--threads", "96"]] {
        assert_passes(&[options, &["--kernels", &right]].concat(), cases);
    }
    // Rows of a multiple of 16 bytes.
    let rows = "numeric/rmsnorm/random/*";
    let wrong = |change, cases: &str, said: Option<&str>| {
        let changed = PIPELINED.with(&[change]);
        match said {
            None => assert_wrong_numbers(&["--kernels", &changed], cases),
            Some(said) => assert_says(&["--kernels", &changed], cases, said),
        }
    };
    let wait = "barrier_wait(room.full[s], row / STAGES & 1);";
    let too_many = Some("more arrivals at an mbarrier (1) than it still expects in this phase (0)");
    wrong((wait, ";"), rows, too_many);
    wrong(("bulk_load(room.rows[s], from", "bulk_load(room.rows[0], from"), rows, None);
    wrong((wait, "barrier_wait(room.full[s], (row / STAGES & 1) ^ 1);"), rows, too_many);
    // A copy sees what is stored before a fence, by whichever thread that has met the others, and nothing later.
    let fence = "asm volatile(\"fence.proxy.async.shared::cta;\" : : : \"memory\");";
    let (meet, store) =
        ("meet(WRITTEN, 32 * consumers);", "amk_store(result, (results_in_bulk ? 0 : row * hidden) + i,");
    let unknown = Some("a bulk copy reads what was stored at `amk_shared()` +");
    wrong((fence, ";"), rows, unknown);
    let by_one = PIPELINED.with(&[(fence, ";"), (meet, &format!("{meet} if (threadIdx.x == 0) {fence}"))]);
    assert_passes(&["--kernels", &by_one], rows);
    let early = PIPELINED.with(&[(fence, ";"), (store, &format!("{fence} {store}"))]);
    assert_says(&["--kernels", &early], rows, "with no `fence.proxy.async` since");
}

const JOINED: Stranger = Stranger { name: "joined", opcodes: &[Opcode::Add] };

/// Bulk copies that add to what is there.
#[test]
fn what_bulk_copies_add_is_there_once_it_is_waited_for() {
    let right = JOINED.unchanged();
    for options in [&[][..], &["--seed", "3", "--threads", "96"]] {
        let cases = "numeric/add/{random,special,ranks}/*";
        assert_passes(&[options, &["--kernels", &right]].concat(), cases);
    }
    assert_says(
        &["--kernels", &JOINED.with(&[("wait_for_copies();\n            }", "}")])],
        "numeric/add/ranks/rank-4-f32-to-f32",
        "a thread returns while a bulk copy of it reads shared memory: cp.async.bulk.wait_group is missing",
    );
    let changes = [
        (("bulk_group.add.f32", "bulk_group.max.f32"), "f32"),
        (("add.noftz.f16", "add.noftz.bf16"), "f16"),
        (("add.noftz.bf16", "min.bf16"), "bf16"),
        // What comes next is stored over what is still read.
        (("wait_group 0", "wait_group 1"), "f32"),
    ];
    for (change, dtype) in part::one_in(3, changes.into_iter()) {
        let cases = format!("numeric/add/ranks/rank-4-{dtype}-to-{dtype}");
        assert_wrong_numbers(&["--kernels", &JOINED.with(&[change])], &cases);
    }
}

const MULTIPLIED: Stranger = Stranger { name: "multiplied", opcodes: &[Opcode::GemmTile] };

/// Copies of words, `ldmatrix` and `mma.sync`.
#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_tiles_that_are_multiplied_in_ptx_conform() {
    let right = MULTIPLIED.unchanged();
    let declared = ["--accumulator", "truncating", "--kernels"];
    for options in [&[][..], &["--seed", "3", "--threads", "96"]] {
        assert_passes(
            &[options, &declared, &[&right]].concat(),
            "numeric/gemm-tile/{random,faint,special,ranks,bias,widths}/*",
        );
    }
    let tiles = "numeric/gemm-tile/random/*-{f16,bf16}-to-f32";
    for change in [
        ("wait_group<STAGES - 2>();", "wait_group<STAGES - 1>();"),
        (
            "mine + lane % 16 * PITCH + (k + lane / 16 * 8) * 2",
            "mine + (lane / 16 * 8 + lane % 8) * PITCH + (k + lane / 8 % 2 * 8) * 2",
        ),
    ] {
        assert_wrong_numbers(&[&declared[..], &[&MULTIPLIED.with(&[change])]].concat(), tiles);
    }
    let narrow = MULTIPLIED.with(&[("#define PITCH 80", "#define PITCH 72")]);
    assert_says(
        &[&declared[..], &[&narrow]].concat(),
        tiles,
        "cp.async to shared memory of 16 bytes at an address that is no multiple of it",
    );
}

#[test]
fn a_fault_in_ptx_is_said_with_its_line_and_instruction() {
    let text = "#include \"task.cuh\"\n__device__ void odd(const amk_program_t&, const amk_instruction_t&) {\n    unsigned word;\n    \
                asm volatile(\"ld.shared.u32 %0, [%1 + 2];\" : \"=r\"(word) : \"r\"(1024));\n}\n#define AMK_REPLACE_ADD odd\n";
    let file = fewer::file(&fewer::CHAIN, text);
    let before = fewer::only(&fewer::CHAIN).lines().count();
    let said = Worker::new(&["--kernels", &file]).failure(&chain(&[("ADD", &[])]));
    let found = "a load of 4 bytes at an address that is no multiple of it";
    assert!(said.contains(found) && said.contains(&format!(".cu:{}, ld.shared.u32)", before + 4)), "{said}");
}
