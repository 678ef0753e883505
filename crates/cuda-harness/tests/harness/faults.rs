//! Kernels with a fault, given with `--kernels`, are rejected by the corpus; those of this repository pass the same cases.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_test_support::{files, part, root};

use crate::litmus;
use crate::support::corpus::{assert_no_race, assert_passes, path, play};
use crate::support::fewer;
use crate::support::wrong::assert_wrong_numbers;
use megakernel_conformance::run::Outcome;
use megakernel_ir::Opcode;

/// Each kernel has the fault of its name in `crates/adequacy`, and a glob: every case that matches has to reject it.
const NUMERIC: [(&str, &str); 21] = [
    ("accumulator_bf16", "numeric/gemv-tile/accumulator/1x3x2048-f16-to-*"),
    ("append_next_row", "numeric/kv-append/halfway/*"),
    ("argmax_last_tie", "numeric/sample-argmax/equal/*"),
    ("cast_fp8_saturates", "numeric/copy/special/flat-{bf16,f16,f32,f8e5m2}-to-f8e4m3"),
    ("cast_truncates", "numeric/add/random/plain-f*-to-{f16,bf16}"),
    ("combine_without_rescaling", "numeric/attention-combine/rescaled/*"),
    ("gelu_tanh", "numeric/gelu/random/*-to-{f16,f32}"),
    ("gqa_by_tile", "numeric/attention-tile/mixed/*"),
    ("k_last_dropped", "numeric/gemv-tile/halfway/*"),
    ("k_tile_repeated", "numeric/gemv-tile/accumulator/1x3x2048-f16-to-*"),
    ("layer_unbiased", "numeric/layernorm/short/bias-*"),
    ("nibbles_swapped", "numeric/dequant/ends/i4-bytes-*"),
    ("rms_eps_outside", "numeric/rmsnorm/eps/*-to-{f32,f16}"),
    ("rope_adjacent_pairs", "numeric/rope/random/*"),
    ("rope_angle_bf16", "numeric/rope/far/*"),
    ("score_scale_missing", "numeric/attention-tile/mixed/*"),
    ("silu_cast_before_up", "numeric/silu-mul/random/plain-*-to-{f16,bf16}"),
    ("softmax_without_maximum", "numeric/softmax/levels/*"),
    ("weight_offset_ignored", "numeric/gemm-tile/random/*"),
    ("window_ends_early", "numeric/attention-tile/mixed/*"),
    ("zero_point_added", "numeric/dequant/zeros/i4-bytes-*"),
];

/// The instruction that a kernel replaces, by its file or by the one that this includes.
fn replaced(kernel: &str) -> String {
    let folder = path("tests/kernels");
    let text = files::text(&folder.join(format!("{kernel}.cu")));
    let included = text.lines().find_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
    let all = format!("{text}{}", included.map(|name| files::text(&folder.join(name))).unwrap_or_default());
    let name = all.lines().find_map(|line| line.strip_prefix("#define AMK_REPLACE_")?.split(' ').next());
    name.expect("an instruction that it replaces").to_owned()
}

/// The kernels in as few groups as can be, in each of which none replaces what another one does: a group is compiled once, and most
/// of the time goes into compiling.
fn groups() -> Vec<BTreeMap<String, (&'static str, &'static str)>> {
    let mut groups: Vec<BTreeMap<_, _>> = Vec::new();
    for (kernel, cases) in NUMERIC {
        let instruction = replaced(kernel);
        match groups.iter_mut().find(|group| !group.contains_key(&instruction)) {
            Some(group) => drop(group.insert(instruction, (kernel, cases))),
            None => groups.push(BTreeMap::from([(instruction, (kernel, cases))])),
        }
    }
    groups
}

#[test]
fn numeric_faults_are_rejected_and_the_kernels_without_them_pass() {
    for group in part::one_in(3, groups().into_iter()) {
        let include = |kernel: &str| format!("#include {:?}\n", path(&format!("tests/kernels/{kernel}.cu")));
        let text: String = group.values().map(|(kernel, _)| include(kernel)).collect();
        let needed: Vec<Opcode> = group.values().flat_map(|(_, cases)| fewer::opcodes(cases)).collect();
        let file = fewer::file(&needed, &text);
        for (instruction, (kernel, cases)) in &group {
            eprintln!("{kernel}");
            // What is rejected is rejected for this kernel: no other one of the group is run.
            let run = fewer::opcodes(cases);
            let run: Vec<&str> = run.iter().map(|opcode| opcode.name()).collect();
            let replaced: Vec<&String> = group.keys().filter(|name| run.contains(&name.as_str())).collect();
            assert_eq!(replaced, [instruction], "{kernel}");
            assert_wrong_numbers(&["--kernels", &file], cases);
            assert_passes(&[], cases);
        }
    }
}

#[test]
#[ignore = "needs minutes, and ThreadSanitizer; the release gate runs it"]
fn minutes_a_signal_that_orders_too_little_is_a_race() {
    let cases = "execution/order/in-place*";
    let checked = ["--sanitize", "thread", "--limit", "60"];
    let opcodes = fewer::opcodes(cases);
    assert_no_race(&[&checked[..], &["--kernels", &fewer::file(&opcodes, "")]].concat(), cases);
    // The others are played to litmus programs, which takes minutes.
    let file = fewer::including(&opcodes, &path("tests/kernels/signal_without_fence.cu"));
    let found = play(&[&checked[..], &["--kernels", &file]].concat(), cases);
    // Threads take their own turns: a race may not happen in each of the cases.
    let is_race = |outcome: &Outcome| format!("{outcome:?}").contains("ThreadSanitizer: data race");
    assert!(found.values().any(is_race), "{found:?}");
}

#[test]
fn a_signal_before_the_writes_shows_in_what_is_read() {
    let cases = "execution/order/in-place*";
    let kernels = path("tests/kernels/signal_before_writes.cu");
    let file = fewer::including(&fewer::opcodes(cases), &kernels);
    // Two seeds whose schedules let a reader come between signal and write in both programs.
    for seed in ["1", "3"] {
        assert_passes(&["--seed", seed], cases);
        assert_wrong_numbers(&["--seed", seed, "--kernels", &file], cases);
    }
}

#[test]
fn every_kernel_of_the_folder_is_tested() {
    let names = |folder: &str, extension: &str| -> BTreeSet<String> {
        let entries = std::fs::read_dir(path(folder)).expect("a folder");
        let files = entries.map(|entry| entry.expect("an entry").path());
        let of_kind = files.filter(|file| file.extension().is_some_and(|found| found == extension));
        of_kind.filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned())).collect()
    };
    let mut left = names("tests/kernels", "cu");
    let seeded: String = files::below(&root().join("crates/adequacy/src/faults"))
        .iter()
        .map(|path| files::text(path))
        .collect();
    for (kernel, _) in NUMERIC {
        let name = format!("\"{}\":", kernel.replace('_', "-"));
        assert!(seeded.contains(&name), "no seeded fault has the name {kernel}");
    }
    // The last one has a test in host.rs.
    let others = litmus::FAULTS.iter().map(|(kernel, ..)| *kernel).chain(["writes_outside"]);
    for kernel in NUMERIC.iter().map(|(kernel, _)| *kernel).chain(others) {
        assert!(left.remove(kernel), "tests/kernels has no {kernel}.cu");
    }
    assert!(left.is_empty(), "nothing tests {left:?}");
}
