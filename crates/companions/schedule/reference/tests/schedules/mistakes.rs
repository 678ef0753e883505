//! The table of `examples/schedule/mistakes.py`: mistakes of authors in schedules that are safe, other schedules that are right, and traces of
//! toy runtimes. The program judges each with the validator in Python, and here the reference does.

use std::collections::BTreeSet;
use std::process::Command;

use megakernel_schedule_reference::{trace, validate};
use megakernel_test_support::root;
use megakernel_test_support::tools::{Tool, require};
use serde_json::Value;

#[test]
fn mistakes_of_authors_are_rejected_by_the_rules_of_the_table() {
    let mut command = Command::new(require(Tool::Python));
    command.arg(root().join("examples/schedule/mistakes.py")).arg("--documents");
    let output = command.env("PYTHONDONTWRITEBYTECODE", "1").output().expect("python");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the validator in Python differs from its table, or: {said}");
    let (mut mistakes, mut right, mut departures, mut covered) = (0, 0, 0, 0);
    for line in String::from_utf8(output.stdout).expect("UTF-8").lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let text = row["document"].to_string();
        let is_trace = row["method"] == "trace";
        let verdict = if is_trace { trace(text.as_bytes()) } else { validate(text.as_bytes()) };
        let found: BTreeSet<&str> = verdict
            .diagnostics
            .iter()
            .filter(|found| found.is_error())
            .map(|found| found.rule.id())
            .collect();
        let expected: BTreeSet<&str> =
            row["expected"].as_array().expect("rules").iter().filter_map(Value::as_str).collect();
        assert_eq!(found, expected, "{}", row["name"]);
        let count = match (is_trace, found.is_empty()) {
            (false, false) => &mut mistakes,
            (false, true) => &mut right,
            (true, false) => &mut departures,
            (true, true) => &mut covered,
        };
        *count += 1;
    }
    assert!(mistakes >= 50 && right >= 15, "{mistakes} mistakes, {right} schedules that are right");
    assert!(departures >= 8 && covered >= 6, "{departures} traces that depart, {covered} that are covered");
}
