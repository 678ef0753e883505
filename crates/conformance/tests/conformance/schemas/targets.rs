//! The records under `targets/` say what clause TGT-05 asks for, and their figures agree with each other.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_test_support::schemas::validator;
use megakernel_test_support::{files, fixtures, root};
use serde_json::Value;

use super::set::errors;

/// Figures that a compute capability decides: `sm_arch`, shared memory of an SM and of a block, threads of an SM, and the
/// operations of an SM in a clock that fp16_tflops comes from.
const CAPABILITIES: [(u64, u64, u64, u64, f64); 7] = [
    (75, 64 << 10, 64 << 10, 1024, 1024.0),
    (80, 164 << 10, 163 << 10, 2048, 2048.0),
    (86, 100 << 10, 99 << 10, 1536, 1024.0),
    (89, 100 << 10, 99 << 10, 1536, 1024.0),
    (90, 228 << 10, 227 << 10, 2048, 4096.0),
    (100, 228 << 10, 227 << 10, 2048, 8192.0),
    (120, 100 << 10, 99 << 10, 1536, 1024.0),
];

/// Fraction bits of an adder from which the bounds of a truncating accumulator hold (clause NUM-06).
const COVERED: u64 = 23;

/// Every record, by the name of its file.
fn records() -> BTreeMap<String, Value> {
    let files = files::json_below(&root().join("targets"));
    let stem = |path: &std::path::PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    files.iter().map(|path| (stem(path).unwrap_or_default(), files::json(path))).collect()
}

fn list<'v>(value: &'v Value, member: &str) -> &'v [Value] {
    value[member].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What is wrong with a record beyond its form.
fn problems(record: &Value) -> Vec<String> {
    let target = &record["target"];
    let mut problems = Vec::new();
    let figures = target.as_object().into_iter().flatten().map(|(member, _)| member.as_str());
    let figures: BTreeSet<&str> = figures.filter(|member| !["name", "note"].contains(member)).collect();
    let mut sourced: Vec<&str> = list(record, "sources")
        .iter()
        .flat_map(|source| list(source, "members"))
        .filter_map(Value::as_str)
        .collect();
    sourced.sort_unstable();
    if sourced != figures.iter().copied().collect::<Vec<_>>() {
        problems.push(format!("sources for {sourced:?}, figures {figures:?}"));
    }
    let number = |member: &str| target[member].as_u64().unwrap_or(0);
    let real = |member: &str| target[member].as_f64().unwrap_or(0.0);
    match CAPABILITIES.iter().find(|(arch, ..)| *arch == number("sm_arch")) {
        None => problems.push("a compute capability that this test does not know".to_owned()),
        Some((_, sm, block, threads, rate)) => {
            let found = (
                number("smem_bytes_per_sm"),
                number("smem_bytes_per_block_optin"),
                number("max_threads_per_sm"),
            );
            if found != (*sm, *block, *threads) {
                problems.push(format!("shared memory and threads are {found:?}"));
            }
            // Twice as much is a figure for sparse matrices, half as much one for another accumulator.
            let peak = number("num_sms") as f64 * real("clock_ghz") * rate / 1000.0;
            let share = real("fp16_tflops") / peak;
            if !(0.45..=1.6).contains(&share) {
                problems.push(format!("fp16_tflops is {share:.2} of what SMs, clock and rate give"));
            }
        }
    }
    if (number("regs_per_sm"), number("max_regs_per_thread")) != (65536, 255) {
        problems.push("registers".to_owned());
    }
    if real("measured_bw_gbs") > real("hbm_bandwidth_gbs") {
        problems.push("more bandwidth was measured than there is".to_owned());
    }
    for unit in list(record, "matrix_units") {
        let covered = unit["fraction_bits"].as_u64().is_some_and(|bits| bits >= COVERED);
        let whole = unit["operand_bits"].is_null();
        if (covered && whole) != (unit["accumulator"] == "truncating") {
            problems
                .push(format!("the accumulator of {} does not follow from its bits", unit["instruction"]));
        }
    }
    problems
}

#[test]
fn records_say_what_they_have_to_and_agree_with_their_capability() {
    let (records, validator) = (records(), validator("target-record"));
    for name in ["rtx5090", "b200", "h100", "h200"] {
        assert!(records.contains_key(name), "there is no record of {name}");
    }
    let mut devices = BTreeSet::new();
    for (name, record) in &records {
        assert_eq!(errors(&validator, record), [], "targets/{name}.json");
        assert_eq!(record["target"]["name"], name.as_str());
        assert_eq!(problems(record), [""; 0], "targets/{name}.json");
        for device in list(record, "devices") {
            assert!(devices.insert(device.to_string()), "{device} is in two records");
        }
    }
}

/// An edit of a record, and a part of what has to be found.
type Mistake = (&'static str, &'static str, Value, &'static str);

#[test]
fn mistakes_in_a_record_are_found() {
    let mistakes: [Mistake; 7] = [
        ("h100", "/target/smem_bytes_per_block_optin", 233_472.into(), "shared memory"),
        ("rtx5090", "/target/max_threads_per_sm", 2048.into(), "threads"),
        ("l4", "/target/fp16_tflops", 242.0.into(), "2.00 of what"),
        ("h100", "/target/measured_bw_gbs", 3351.0.into(), "more bandwidth"),
        ("h100", "/sources/0/members/0", "num_sms".into(), "sources for"),
        ("h100", "/matrix_units/2/accumulator", "truncating".into(), "wgmma"),
        ("b200", "/matrix_units/2/fraction_bits", 13.into(), ""),
    ];
    for (name, at, value, part) in mistakes {
        let mut record = records()[name].clone();
        *record.pointer_mut(at).expect("such a member") = value;
        let found = problems(&record);
        // The last one is TF32: fewer bits change nothing, for its operands are cut as well.
        let expected =
            if part.is_empty() { found.is_empty() } else { found.len() == 1 && found[0].contains(part) };
        assert!(expected, "{name} {at}: {found:?}");
    }
}

/// The record of h100 is the target that the compiler of AMK writes.
#[test]
fn the_record_is_the_target_of_a_real_program() {
    let (real, ours) = (&fixtures::json("amk/toy_decoder.json")["target"], &records()["h100"]["target"]);
    for (member, value) in real.as_object().into_iter().flatten().filter(|(member, _)| *member != "note") {
        assert_eq!(&ours[member], value, "{member}");
    }
}
