//! The mistakes of `examples/schedule/mutations.py` in schedules of public systems: each is rejected, or leaves what every run reads, and what
//! it leaves, as it was.

use std::collections::BTreeMap;
use std::process::Command;

use megakernel_test_support::root;
use megakernel_test_support::tools::{Tool, require};
use serde_json::Value;

use crate::effect::{Effect, Schedule};
use crate::{broken, fixture};

/// A schedule that is safe.
struct Safe {
    document: Value,
    before: Option<Vec<Vec<u64>>>,
    effect: Effect,
}

impl Safe {
    fn new(name: &str, members: &Value) -> Safe {
        let mut document = fixture(name);
        for (member, value) in members.as_object().expect("members") {
            document[member] = value.clone();
        }
        assert_eq!(broken(&document), BTreeMap::new(), "{name}");
        let schedule = Schedule::read(&document);
        let effect = schedule.effect().expect("one effect in every run");
        Safe { before: schedule.before(), document, effect }
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_a_mistake_is_rejected_or_changes_nothing_that_is_read() {
    let mut command = Command::new(require(Tool::Python));
    command.arg(root().join("examples/schedule/mutations.py")).arg("--patches");
    let output = command.env("PYTHONDONTWRITEBYTECODE", "1").output().expect("python");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut safe: BTreeMap<String, Safe> = BTreeMap::new();
    let (mut rejected, mut same_order, mut harmless) = (0, Vec::new(), Vec::new());
    for line in String::from_utf8(output.stdout).expect("UTF-8").lines() {
        let mutation: Value = serde_json::from_str(line).expect("JSON");
        let name = mutation["schedule"].as_str().expect("a name");
        let safe = safe.entry(name.to_owned()).or_insert_with(|| Safe::new(name, &mutation["members"]));
        let mut document = safe.document.clone();
        let patch: json_patch::Patch = serde_json::from_value(mutation["patch"].clone()).expect("a patch");
        json_patch::patch(&mut document, &patch).expect("it applies");
        let what = format!("{name}: {} at {}", mutation["kind"], mutation["at"]);
        let rules = broken(&document);
        if rules.keys().any(|rule| rule.starts_with("ES")) {
            // A wait for 0 is no wait, whatever its loss would do.
            rejected += 1;
            continue;
        }
        let schedule = Schedule::read(&document);
        let effect = schedule.effect();
        // Both agree on each: what is rejected gets stuck, races, or reads something else.
        let is_same = effect.as_ref().is_ok_and(|effect| *effect == safe.effect);
        assert_eq!(rules.is_empty(), is_same, "{what}: {rules:?}, {:?}", effect.err());
        match is_same {
            false => rejected += 1,
            true if schedule.before() == safe.before => same_order.push(what),
            true => harmless.push(what),
        }
    }
    println!("the same order: {same_order:#?}\nthe same effect: {harmless:#?}");
    assert_eq!((rejected, same_order.len(), harmless.len()), (60, 7, 5));
}
