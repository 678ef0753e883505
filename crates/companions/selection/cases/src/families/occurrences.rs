//! How often the cases show each trigger, each reason, and each operator of the rows.

use std::collections::BTreeMap;

use megakernel_selection::{Reason, Trigger};
use megakernel_test_support::cases::documents;
use serde_json::Value;

/// So many cases have to show each.
const LEAST: usize = 10;

/// The operators of SEL-05, each with the sub-rows that it composes.
const OPERATORS: [(&str, &[&str]); 11] = [
    ("append", &["/sig/class"]),
    ("table", &["/sig/core"]),
    ("dominance", &["/sig/linearity"]),
    ("only one", &["/epilogue/activation"]),
    ("once", &["/epilogue/bias", "/epilogue/scale", "/epilogue/residual", "/layout/trans"]),
    ("unify", &["/shape"]),
    ("chain", &["/dtype/out"]),
    ("join", &["/dtype/acc"]),
    ("same", &["/dtype/weight", "/layout/order", "/layout/pack"]),
    ("union", &["/effects/flags", "/effects/reads", "/effects/writes"]),
    ("multiple and divisor", &["/requirements/required", "/requirements/offered"]),
];

/// The first op of a region and the one behind the last that the walk tried to add to it.
fn tried(region: &Value) -> Option<(usize, usize)> {
    let number = |name: &str| usize::try_from(region.get(name)?.as_u64()?).ok();
    let (anchor, last) = (number("anchor")?, number("last")?);
    let was_tried = region["trigger"] == "compose" || region["trigger"] == "empty";
    Some((anchor, last + 1 + usize::from(was_tried)))
}

/// Whether some sub-row stands in an op and in an earlier one, so that what it makes of the two shows in the plan.
fn meets(ops: &[Value], subs: &[&str]) -> bool {
    subs.iter().any(|sub| ops.iter().filter(|op| op.pointer(sub).is_some()).count() > 1)
}

#[test]
fn each_trigger_reason_and_operator_is_shown_by_ten_cases() {
    let mut shown: BTreeMap<String, usize> = BTreeMap::new();
    let triggers = Trigger::ALL.iter().map(|trigger| format!("trigger {}", trigger.name()));
    let reasons = Reason::ALL.iter().map(|reason| format!("reason {}", reason.name()));
    let operators = OPERATORS.iter().map(|(operator, _)| format!("operator {operator}"));
    shown.extend(triggers.chain(reasons).chain(operators).map(|what| (what, 0)));
    for document in documents("selection") {
        let regions = document.case.pointer("/expect/document/regions").and_then(Value::as_array);
        let Some(regions) = regions.filter(|_| document.case["method"] == "select") else { continue };
        let request: Value = serde_json::from_str(&document.text).unwrap_or_default();
        let ops = request.pointer("/sequence/ops").and_then(Value::as_array);
        let ops = ops.map(Vec::as_slice).unwrap_or_default();
        let mut of_case: Vec<String> = Vec::new();
        for region in regions {
            let name = |member: &str| region[member].as_str().unwrap_or_default().to_owned();
            of_case.push(format!("trigger {}", name("trigger")));
            of_case.push(format!("reason {}", name("reason")));
            let Some((first, end)) = tried(region) else { continue };
            let ops = &ops[first..end.min(ops.len())];
            let met = OPERATORS.iter().filter(|(_, subs)| meets(ops, subs));
            of_case.extend(met.map(|(operator, _)| format!("operator {operator}")));
        }
        of_case.sort();
        of_case.dedup();
        for what in of_case {
            shown.entry(what).and_modify(|count| *count += 1);
        }
    }
    let rare: Vec<_> = shown.iter().filter(|(_, count)| **count < LEAST).collect();
    assert!(rare.is_empty(), "fewer than {LEAST} cases show {rare:?}");
    assert_eq!(shown.len(), Trigger::ALL.len() + Reason::ALL.len() + OPERATORS.len());
}
