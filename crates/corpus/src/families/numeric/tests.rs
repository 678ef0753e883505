//! What holds for the numeric cases before any reference has seen them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::*;
use crate::builder::{DType, FLOATS, slug};

/// The cases of corpus seed 0.
fn cases() -> &'static [Plan] {
    static PLANS: OnceLock<Vec<Plan>> = OnceLock::new();
    PLANS.get_or_init(|| plans(0, &|_| true).expect("plans"))
}

/// Opcode, dtypes of the inputs, dtype of the output.
fn dtypes(plan: &Plan) -> (String, Vec<String>, String) {
    let program = plan.program.value();
    let of = |name: &str| {
        let found = program["buffers"].as_array().and_then(|list| list.iter().find(|b| b["name"] == name));
        found.map(|buffer| buffer["dtype"].as_str().unwrap_or_default().to_owned())
    };
    let inputs = (0..8).filter_map(|index| of(&format!("i{index}"))).collect();
    let op = program["tasks"][0]["op"].as_str().unwrap_or_default().to_owned();
    (op, inputs, of("y").unwrap_or_default())
}

#[test]
fn a_part_has_what_the_whole_has() {
    let ids = |plans: &[Plan]| -> Vec<String> {
        plans.iter().map(|plan| plan.id.clone()).filter(|id| id.starts_with("numeric/silu-mul/")).collect()
    };
    let part = plans(0, &|start| start == "numeric/silu-mul/").expect("plans");
    assert_eq!((ids(&part), part.len()), (ids(cases()), ids(cases()).len()));
}

#[test]
fn every_opcode_has_cases_of_every_output_and_every_input() {
    let mut outputs: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut inputs: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for plan in cases() {
        let (op, from, to) = dtypes(plan);
        *outputs.entry((op.clone(), to)).or_default() += 1;
        for dtype in from {
            inputs.entry((op.clone(), dtype)).or_default().insert(plan.family.clone());
        }
    }
    for op in Op::ALL.iter().filter(|op| !matches!(op, Op::Nop)) {
        for dtype in FLOATS {
            let key = (op.name().to_owned(), dtype.name().to_owned());
            let count = outputs.get(&key).copied().unwrap_or(0);
            let least = if *op == Op::SampleArgmax { 0 } else { 8 };
            assert!(count >= least, "{op} to {dtype}: {count} cases");
            let families = inputs.get(&key).map_or(0, BTreeSet::len);
            let least = match op {
                Op::AttentionCombine if *dtype != DType::F32 => 0,
                Op::Dequant => 1,
                Op::Embed | Op::KvAppend => 2,
                _ => 3,
            };
            assert!(families >= least, "{op} from {dtype}: {families} families");
        }
    }
    let integers =
        |op: Op, dtype: DType| inputs.contains_key(&(op.name().to_owned(), dtype.name().to_owned()));
    for dtype in [DType::I32, DType::I8, DType::I4, DType::U8, DType::Bool] {
        assert!(integers(Op::Copy, dtype), "COPY of {dtype}");
    }
    for op in [Op::GemvTile, Op::GemmTile, Op::Dequant] {
        for dtype in [DType::I8, DType::I4, DType::U8] {
            assert!(integers(op, dtype), "{op} of {dtype}");
        }
    }
    assert!(integers(Op::AttentionTile, DType::Bool), "ATTENTION_TILE with a BOOL mask");
}

#[test]
fn long_probes_have_every_output() {
    let plans = cases();
    for op in [Op::GemvTile, Op::GemmTile] {
        for data in ["probe", "accumulator", "quantised-probe"] {
            for dtype in FLOATS {
                let end = format!("-to-{}", slug(dtype.name()));
                let family = format!("numeric/{}/{data}", slug(op.name()));
                let found = |plan: &&Plan| {
                    plan.family == family && plan.id.contains("x8192-") && plan.id.ends_with(&end)
                };
                let count = plans.iter().filter(found).count();
                assert!(count >= 3, "{family}: {count} cases of K = 8192 to {dtype}");
            }
        }
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_another_seed_makes_other_numbers() {
    // Special values, parameters at their edges and paths of a softmax are the same for every seed.
    let fixed =
        ["/special-first", "/special-middle", "/special-last", "/edges", "/fine", "/integers", "/online"];
    let is_drawn = |plan: &&Plan| !fixed.iter().any(|end| plan.family.ends_with(end));
    let other = plans(1, &|_| true).expect("plans");
    let (once, other): (Vec<_>, Vec<_>) =
        (cases().iter().filter(is_drawn).collect(), other.iter().filter(is_drawn).collect());
    assert_eq!(once.len(), other.len());
    let inputs = |plan: &Plan| plan.launches.first().and_then(|launch| launch.files.first()).cloned();
    let changed = once.iter().zip(&other).filter(|(once, other)| {
        assert_eq!(once.id, other.id);
        let (Some((_, once)), Some((_, other))) = (inputs(once), inputs(other)) else { return false };
        !crate::families::plan::same(&once, &other)
    });
    let changed = changed.count();
    assert!(changed > once.len() / 2, "{changed} of {} files depend on the seed", once.len());
    // Of formulas too, which draw by a seed of their own; those of positions and scales draw nothing.
    let sized: Vec<_> = once.iter().zip(&other).filter(|(plan, _)| plan.family.ends_with("/sizes")).collect();
    let files =
        |plan: &Plan| plan.launches.iter().flat_map(|launch| launch.files.clone()).collect::<Vec<_>>();
    let changed = sized.iter().filter(|(once, other)| {
        files(once)
            .iter()
            .zip(&files(other))
            .any(|((_, once), (_, other))| !crate::families::plan::same(once, other))
    });
    let changed = changed.count();
    assert!(changed > sized.len() / 2, "{changed} of {} formulas depend on the seed", sized.len());
}

#[test]
fn ids_are_unique_and_start_with_their_family() {
    let plans = cases();
    let ids: BTreeSet<&str> = plans.iter().map(|plan| plan.id.as_str()).collect();
    assert_eq!(ids.len(), plans.len());
    for plan in plans {
        assert!(plan.id.starts_with(&format!("{}/", plan.family)), "{}", plan.id);
        assert!(
            plan.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/".contains(c)),
            "{}",
            plan.id
        );
        assert!(
            plan.program.task("op").is_ok() || plan.program.task("op[t0]").is_ok(),
            "{}: no task `op`",
            plan.id
        );
    }
}

#[test]
fn operands_have_the_elements_that_their_shapes_need() {
    for plan in cases() {
        for (path, inputs) in plan.launches.iter().flat_map(|launch| &launch.files) {
            for (name, operand) in inputs.iter() {
                let count = match &operand.values {
                    Values::Reals(values) => values.len(),
                    Values::Ints(values) => values.len(),
                    Values::Bits(bits) => bits.len(),
                    Values::Formula(formula) => {
                        assert_eq!(
                            (formula.dtype, &formula.shape),
                            (operand.dtype, &operand.shape),
                            "{path}: {name}"
                        );
                        formula.integers().expect("integers").len()
                    }
                };
                assert_eq!(count, data::numel(&operand.shape), "{path}: {name}");
            }
        }
    }
}
