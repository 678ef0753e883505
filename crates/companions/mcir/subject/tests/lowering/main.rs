//! Kernel IR: faulty lowerings, each of which the runner's judge rejects in three documents at least for what it is about, and other right ones, which it
//! accepts in all (clauses MCI-27 to MCI-30).

mod faults;
mod variants;

use std::sync::LazyLock;

use megakernel_mcir_cases::families::lowering;
use megakernel_mcir_checker::judge_lowering;
use megakernel_mcir_reference::lowered;
use serde_json::{Value, json};

use faults::{FAULTS, MEET};
use variants::VARIANTS;

/// What a faulty or another right lowering makes of the right one to a document; nothing where it would do what is right.
type Lowering = fn(&mut Value);

fn array(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().expect("an array")
}

fn rejected(name: &str, document: &Value, answer: &Value) -> Option<String> {
    let (expected, found) = judge_lowering(document.to_string().as_bytes(), &answer.to_string()).err()?;
    Some(format!("{name}: expected {expected}, found {found}"))
}

/// All documents, each with what the reference lowers it to.
fn all() -> &'static [(String, Value, Value)] {
    static ALL: LazyLock<Vec<(String, Value, Value)>> = LazyLock::new(|| {
        let one = |(name, _, document): (String, String, Value)| {
            let (_, made) = lowered(document.to_string().as_bytes()).expect("an accepted document");
            (name, document, made)
        };
        lowering::all().into_iter().map(one).collect()
    });
    &ALL
}

/// Calls with each list of instructions, outer ones first: and whether it is the body of a loop.
fn bodies(made: &mut Value, visit: &mut impl FnMut(&mut Vec<Value>, bool)) {
    fn below(body: &mut Value, is_loop: bool, visit: &mut impl FnMut(&mut Vec<Value>, bool)) {
        visit(array(body), is_loop);
        for instruction in array(body) {
            let is_loop = instruction["op"] == "loop";
            if instruction.get("body").is_some() {
                below(&mut instruction["body"], is_loop, visit);
            }
        }
    }
    array(&mut made["kernels"]).iter_mut().for_each(|kernel| below(&mut kernel["body"], false, visit));
}

/// Calls with each instruction.
fn instructions(made: &mut Value, mut visit: impl FnMut(&mut Value)) {
    bodies(made, &mut |body, _| body.iter_mut().for_each(&mut visit));
}

/// Calls with each view.
fn views(made: &mut Value, mut visit: impl FnMut(&mut Value)) {
    instructions(made, |instruction| {
        for side in ["in", "out"] {
            match instruction.get_mut(side) {
                Some(Value::Array(all)) => all.iter_mut().for_each(&mut visit),
                Some(view) => visit(view),
                None => {}
            }
        }
    });
}

/// Leaves out the instructions of a kind.
fn without(made: &mut Value, op: &str) {
    bodies(made, &mut |body, _| body.retain(|instruction| instruction["op"] != op));
}

/// An index with a number added.
fn more(index: &Value, by: i64) -> Value {
    match index {
        Value::Array(terms) => json!([terms.as_slice(), &[json!(by)]].concat()),
        index => json!([index, by]),
    }
}

/// Calls with each instruction of a kind.
fn of_kind(made: &mut Value, op: &str, mut visit: impl FnMut(&mut Value)) {
    instructions(made, |each| {
        if each["op"] == op {
            visit(each);
        }
    });
}

fn number(value: &Value) -> i64 {
    value.as_i64().expect("an integer")
}

/// Calls with each buffer or allocation of all kernels.
fn each_of(made: &mut Value, member: &str, mut visit: impl FnMut(&mut Value)) {
    for kernel in array(&mut made["kernels"]) {
        kernel[member].as_object_mut().expect("a map").values_mut().for_each(&mut visit);
    }
}

/// Whether an instruction computes.
fn computes(each: &Value) -> bool {
    ["compute", "reduce", "update"].iter().any(|op| each["op"] == *op)
}

/// What is made of the right answers, where it is something else.
fn changed(lowering: Lowering) -> impl DoubleEndedIterator<Item = (&'static str, &'static Value, Value)> {
    all().iter().filter_map(move |(name, document, right)| {
        let mut made = right.clone();
        lowering(&mut made);
        (made != *right).then_some((name.as_str(), document, made))
    })
}

#[test]
fn right_ones_are_accepted() {
    let found = all().iter().filter_map(|(name, document, answer)| rejected(name, document, answer));
    assert_eq!(found.collect::<Vec<String>>(), Vec::<String>::new());
}

#[test]
fn the_schema_takes_what_the_reference_makes() {
    let schema = megakernel_test_support::schemas::validator("kernel-ir");
    for (name, _, made) in all() {
        let found: Vec<String> = schema.iter_errors(made).map(|error| error.to_string()).collect();
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn other_right_ones_are_accepted() {
    for (what, lowering) in VARIANTS {
        // All of them would take long, and each is tried in documents far from each other; the last one has a state in BF16.
        let answers: Vec<_> = changed(*lowering).rev().step_by(5).collect();
        assert!(answers.len() >= 5, "{what}: {} answers", answers.len());
        let found = answers.iter().filter_map(|(name, document, answer)| rejected(name, document, answer));
        assert_eq!(found.collect::<Vec<String>>(), Vec::<String>::new(), "{what}");
    }
}

#[test]
fn faulty_ones_are_rejected_for_what_they_are_about() {
    let mut few = Vec::new();
    for (what, reasons, lowering) in FAULTS {
        let mut others = Vec::new();
        let mut count = 0;
        for found in changed(*lowering).filter_map(|(name, document, made)| rejected(name, document, &made)) {
            if reasons.split('|').any(|reason| found.contains(reason)) {
                count += 1;
            } else {
                others.push(found);
            }
            if count >= 3 {
                break;
            }
        }
        if count < 3 {
            others.truncate(5);
            few.push((what, count, others));
        }
    }
    assert!(
        few.is_empty(),
        "faults that fewer than three documents reject for what they are about: {few:#?}"
    );
}

#[test]
fn the_example_is_what_its_document_is_lowered_to() {
    let [document, kernels] = ["MCI-04", "MCI-28"].map(|clause| {
        let texts = megakernel_test_support::spec::blocks(clause, "json");
        serde_json::from_str::<Value>(&texts[0]).expect("JSON")
    });
    // A document of a few tiles in its place: the one of the text takes too many operations to be judged.
    let small = |value: &Value| -> Value {
        let mut text = value.to_string();
        for (large, small) in [
            ("[256", "[128"),
            ("\"i\":256", "\"i\":128"),
            ("\"to\":256", "\"to\":128"),
            ("4096", "384"),
            ("3967", "255"),
        ] {
            text = text.replace(large, small);
        }
        serde_json::from_str(&text).expect("JSON")
    };
    let (document, kernels) = (small(&document), small(&kernels));
    assert_eq!(rejected("the example", &document, &kernels), None);
    for at in 0..2 {
        let mut made = kernels.clone();
        let mut place = 0;
        bodies(&mut made, &mut |body, _| {
            body.retain(|each| {
                place += usize::from(each["op"] == "sync");
                each["op"] != "sync" || place != at + 1
            });
        });
        let found = rejected("the example", &document, &made).expect("a meeting that is needed");
        assert!(found.contains(MEET), "{found}");
    }
}
