//! What is suggested as a repair of a program does repair it: applied, the finding is gone.

use std::collections::BTreeMap;

use megakernel_ir::{Diagnostic, Rule, read};
use megakernel_reference::validate::{Classes, Repair, repairs, validate};
use megakernel_test_support::cases::documents;
use serde_json::{Value, json};

/// How many repairs a finding may take: of several tasks that race with each other, one orders two.
const MOST_STEPS: usize = 8;

fn apply(program: &mut Value, repair: Repair) {
    match repair {
        Repair::Wait { task, counter, threshold } => {
            let task = &mut program["tasks"][task.index()];
            let wait = json!({"counter": u32::from(counter), "threshold": threshold});
            match task["waits"].as_array_mut() {
                Some(waits) => waits.push(wait),
                None => task["waits"] = json!([wait]),
            }
        }
        Repair::Threshold { task, wait, threshold } => {
            program["tasks"][task.index()]["waits"][wait]["threshold"] = threshold.into();
        }
    }
}

fn found(program: &Value) -> Vec<Diagnostic> {
    validate(program.to_string().as_bytes(), Classes::ALL).diagnostics
}

fn counts(found: &[Diagnostic]) -> BTreeMap<Rule, usize> {
    let mut counts = BTreeMap::new();
    found.iter().filter(|one| one.is_error()).for_each(|one| *counts.entry(one.rule).or_default() += 1);
    counts
}

/// What is offered for the findings of one rule, or of all.
fn offered(program: &Value, found: &[Diagnostic], rule: Option<Rule>) -> Vec<(Rule, Repair, String)> {
    let text = program.to_string();
    let Ok(read) = read(text.as_bytes()) else { return Vec::new() };
    let findings: Vec<&Diagnostic> = found.iter().filter(|one| one.is_error()).collect();
    let all = repairs(&read, &findings);
    assert_eq!(all.len(), findings.len());
    let some =
        findings.iter().zip(all).filter_map(|(one, repair)| repair.map(|(to, words)| (one.rule, to, words)));
    some.filter(|(of, ..)| rule.is_none_or(|rule| rule == *of)).collect()
}

#[test]
fn what_is_offered_for_the_programs_of_the_corpus_repairs_them() {
    let (mut repaired, mut wrong) = (BTreeMap::<Rule, usize>::new(), Vec::new());
    for document in ["race", "deadlock"].into_iter().flat_map(documents) {
        if document.case["expect"]["verdict"] != "reject" {
            continue;
        }
        let before: Value = serde_json::from_str(&document.text).expect("JSON");
        let judged = found(&before);
        let counted = counts(&judged);
        let of = |counts: &BTreeMap<Rule, usize>, rule| counts.get(&rule).copied().unwrap_or(0);
        for (rule, repair, words) in offered(&before, &judged, None) {
            let (mut after, mut next, mut left) = (before.clone(), Some(repair), counted.clone());
            for _ in 0..MOST_STEPS {
                let Some(repair) = next.take() else { break };
                apply(&mut after, repair);
                let judged = found(&after);
                left = counts(&judged);
                if of(&left, rule) < of(&counted, rule) {
                    break;
                }
                next = offered(&after, &judged, Some(rule)).into_iter().next().map(|(_, repair, _)| repair);
            }
            let is_new = |rule: &Rule| !counted.contains_key(rule) && !rule.id().starts_with('R');
            if of(&left, rule) < of(&counted, rule) && !left.keys().any(is_new) {
                *repaired.entry(rule).or_default() += 1;
            } else {
                wrong.push(format!("{}: {rule}: {words}: {left:?}", document.id()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} beside {repaired:?}\n{}", wrong.len(), wrong.join("\n"));
    for rule in [Rule::D02, Rule::R01, Rule::R02, Rule::R03, Rule::R04, Rule::R05, Rule::R06] {
        assert!(repaired.get(&rule).is_some_and(|&count| count > 3), "{rule}: {repaired:?}");
    }
}
