//! Inputs that a formula gives (clause NUM-13), and references of a sample (clause NUM-11).

use std::path::Path;

use megakernel_conformance::report::Report;
use megakernel_numerics::{DType, Stored, Tensor};

use crate::executing::play_in;
use crate::support::sessions::{corpus, write_tensors};

const EXPECTED: &str = "tensors/numeric/add/one.0.expected.safetensors";

/// What is expected of `y` at these places.
fn sample(root: &Path, places: &[i64], values: &[f64]) {
    let shape = vec![values.len() as u64];
    let reals = |values: &[f64]| Stored::F64 { shape: shape.clone(), values: values.to_vec() };
    let at = Tensor::from_ints(DType::I32, vec![places.len() as u64], places).expect("places");
    let tensors =
        [("y", reals(values)), ("y.bound", reals(&vec![0.0; values.len()])), ("y.at", Stored::Buffer(at))];
    write_tensors(root, EXPECTED, tensors.map(|(name, stored)| (name.to_owned(), stored)));
}

/// The report on the case of one opcode.
fn report(root: &Path) -> Report {
    play_in(root, "executes").expect("a run").report
}

#[test]
fn only_the_sample_is_judged() {
    let directory = corpus();
    // The sums are 5, 0, NaN and 2.
    sample(directory.path(), &[0, 3], &[5.0, 2.0]);
    assert_eq!(report(directory.path()).totals.failed, 0);
    sample(directory.path(), &[0, 3], &[5.0, 3.0]);
    let found = report(directory.path());
    assert_eq!(found.failures.len(), 1);
    let text = found.to_json().expect("JSON");
    assert!(text.contains("[3]") && text.contains("1 of 4 elements are wrong"), "{text}");
}

#[test]
fn a_broken_sample_is_the_corpuss_fault() {
    for (places, values, why) in [
        (&[3, 0][..], &[2.0, 5.0][..], "`y.at` has 0 after 3"),
        (&[0, 0], &[5.0, 5.0], "`y.at` has 0 after 0"),
        (&[0, 4], &[5.0, 5.0], "`y.at` has 4 after 0; required ascending, below 4"),
        (&[-1], &[5.0], "`y.at` has -1"),
        (&[], &[], "names no element"),
        (&[0, 1], &[5.0], "`y` has shape [1], the buffer [2], by `y.at`"),
    ] {
        let directory = corpus();
        sample(directory.path(), places, values);
        let error = play_in(directory.path(), "executes").err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains(why)), "no `{why}` in {error:?}");
    }
}

/// Gives the inputs of the case by this file of formulas.
fn by_formula(root: &Path, formulas: &str) {
    let case = root.join("cases/numeric/add/one.json");
    let text = std::fs::read_to_string(&case).expect("the case");
    let edited = text.replace("tensors/numeric/add.safetensors", "tensors/numeric/add.formula.json");
    assert_ne!(text, edited);
    std::fs::write(&case, edited).expect("a file");
    std::fs::write(root.join("tensors/numeric/add.formula.json"), formulas).expect("a file");
}

#[test]
fn inputs_that_a_formula_gives_are_files_like_others() {
    let directory = corpus();
    let term = r#"{"i0": {"dtype": "BF16", "shape": [4], "exponent": -1, "terms": [{"start": 1, "step": 2}]},
        "i1": {"dtype": "BF16", "shape": [4], "set": [{"first": 2, "value": 100}]}}"#;
    by_formula(directory.path(), term);
    sample(directory.path(), &[0, 1, 2, 3], &[0.5, 1.5, 102.5, 3.5]);
    // 102.5 is between the two neighbours 102 and 103 of BF16, of which 102 is even.
    let found = report(directory.path());
    assert_eq!(found.totals.failed, 0, "{:?}", found.failures);
    sample(directory.path(), &[0, 1, 2, 3], &[0.5, 1.5, 101.0, 3.5]);
    assert_eq!(report(directory.path()).totals.failed, 1);
}

#[test]
fn a_broken_formula_is_the_corpuss_fault() {
    let directory = corpus();
    by_formula(directory.path(), r#"{"i0": {"dtype": "BF16", "shape": [4], "terms": [{"start": 1}]}}"#);
    let error = play_in(directory.path(), "executes").err().map(|error| error.to_string());
    let named = |error: &String| error.contains("add.formula.json") && error.contains("corpus");
    assert!(error.as_ref().is_some_and(named), "{error:?}");
}
