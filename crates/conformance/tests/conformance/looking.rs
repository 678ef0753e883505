//! Other ways to look at a run: JUnit's XML, two reports side by side, a case by itself, the text of a clause.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use megakernel_conformance::compare::Comparison;
use megakernel_conformance::junit;
use megakernel_conformance::known::Known;
use megakernel_conformance::report::Report;
use megakernel_conformance::run::Options;
use megakernel_conformance::spec;
use megakernel_ir::protocol::Profile;
use megakernel_test_support::root;
use megakernel_test_support::tools::{Tool, require};
use roxmltree::Document;

use crate::support::{corpus, judge, only, options, play, sessions, write_manifest};

/// The tests of a report by suite and name: what stands in the element, and its message.
fn tests(xml: &str) -> BTreeMap<(String, String), (String, String)> {
    let document = Document::parse(xml).expect("XML");
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    let of = |node: roxmltree::Node<'_, '_>| {
        let attribute = |name| node.attribute(name).unwrap_or_default().to_owned();
        let child = node.children().find(roxmltree::Node::is_element);
        let child = child.map_or_else(Default::default, |child| {
            (child.tag_name().name().to_owned(), child.attribute("message").unwrap_or_default().to_owned())
        });
        ((attribute("classname"), attribute("name")), child)
    };
    cases.map(of).collect()
}

/// The counts that a suite, or all together, says of itself.
fn counts(xml: &str) -> Vec<[usize; 4]> {
    let document = Document::parse(xml).expect("XML");
    let suites = document.descendants().filter(|node| node.tag_name().name().starts_with("testsuite"));
    let number = |node: &roxmltree::Node<'_, '_>, name| {
        node.attribute(name).and_then(|text| text.parse().ok()).expect("a number")
    };
    let names = ["tests", "failures", "errors", "skipped"];
    suites.map(|node| names.map(|name| number(&node, name))).collect()
}

#[test]
fn every_unit_is_a_test_of_junit() {
    let report = judge(&["misses-a-rule-and-crashes"]).report;
    let xml = junit::render(&report);
    let found = tests(&xml);
    assert_eq!(found.len(), 30);
    let (failure, error, passed) =
        (("failure".into(), "accepts what breaks S03 missing-member".into()), "error", "");
    assert_eq!(found[&("format".into(), "structure/no-tasks".into())], failure);
    assert_eq!(found[&("validate".into(), "race/partial-wait".into())].0, error);
    assert_eq!(found[&("launch".into(), "accept/number-0".into())].0, passed);
    assert_eq!(counts(&xml)[..2], [[30, 2, 1, 0], [9, 1, 0, 0]]);
    // What is not claimed was not judged.
    let xml = junit::render(&judge(&["format-only"]).report);
    assert_eq!(counts(&xml)[0], [30, 0, 0, 21]);
    let skipped = ("skipped".into(), "profile launch is not claimed".into());
    assert_eq!(tests(&xml)[&("launch".into(), "accept/number-0".into())], skipped);
}

#[test]
fn a_run_that_shows_nothing_is_red_in_junit_and_in_a_comparison() {
    let directory = corpus();
    let validate = |behaviour: &str| {
        let mut asked = options(&[behaviour]);
        asked.selection.profiles = vec![Profile::VALIDATE];
        play(directory.path(), &asked).expect("a run")
    };
    let nothing = validate("format-only");
    assert_eq!(nothing.exit_code(), 1);
    let xml = junit::render(&nothing);
    assert_eq!(counts(&xml)[0][1], 1, "{xml}");
    let whole = ("validate".to_owned(), "(the profile as a whole)".to_owned());
    assert_eq!(tests(&xml)[&whole].0, "failure");

    let good = validate("good");
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, report: &Report| {
        let path = folder.path().join(name);
        std::fs::write(&path, report.to_json().expect("JSON")).expect("a file");
        path
    };
    let (a, b) = (file("a.json", &good), file("b.json", &nothing));
    let compared = |a: &Path, b: &Path| {
        let program =
            Command::new(env!("CARGO_BIN_EXE_megakernel-conform")).arg("compare").arg(a).arg(b).output();
        program.expect("it runs").status.code()
    };
    assert_eq!((compared(&a, &b), compared(&b, &b), compared(&b, &a)), (Some(1), Some(0), Some(0)));
}

#[test]
fn junit_tells_what_is_known_from_what_passed() {
    let mut known = Known::default();
    known.insert("race/partial-wait", Profile::VALIDATE, "ticket <12> & \"more\"");
    let directory = corpus();
    let with = |behaviour: &str| {
        let report = play(directory.path(), &Options { known: known.clone(), ..options(&[behaviour]) });
        tests(&junit::render(&report.expect("a run")))
            .remove(&("validate".into(), "race/partial-wait".into()))
    };
    let reason = "ticket <12> & \"more\"";
    assert_eq!(with("misses-two-rules"), Some(("skipped".into(), format!("known failure: {reason}"))));
    assert_eq!(with("good"), Some(("failure".into(), format!("it is known to fail, and passes: {reason}"))));
}

#[test]
fn junit_of_a_worker_that_says_anything_is_xml() {
    let directory = corpus();
    let options = only(options(&["error-message"]), &[], Some("race/*"));
    let mut report = play(directory.path(), &options).expect("a run");
    report.failures[0].actual.push_str("]]> \u{1} \u{ffff} </testcase>");
    let xml = junit::render(&report);
    let document = Document::parse(&xml).expect("XML");
    let text = document.descendants().filter_map(|node| node.text()).collect::<String>();
    assert!(text.contains("]]> \u{fffd} \u{fffd} </testcase>"), "{text}");
}

#[test]
fn two_reports_are_compared_by_what_fails() {
    let (a, b) = (judge(&["misses-two-rules"]).report, judge(&["accepts-everything"]).report);
    let same = Comparison::new(("a", &a), ("b", &a));
    assert_eq!((same.worse().len(), same.better().len()), (0, 0));
    assert!(same.render().ends_with("\n0 fail in B alone, 0 in A alone, 3 in both\n"), "{}", same.render());
    let compared = Comparison::new(("a.json", &a), ("b.json", &b));
    assert_eq!((compared.worse().len(), compared.better().len()), (6, 0));
    let text = compared.render();
    for line in [
        "  warning/unused (validate): does not warn of W04\n",
        "6 fail in B alone, 0 in A alone, 3 in both\n",
    ] {
        assert!(text.contains(line), "no `{line}` in\n{text}");
    }
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(" S01 not-json 0 4 "), "{text}");
    assert!(!text.contains("R01 partial-wait"), "both miss it:\n{text}");
    let back = Comparison::new(("b.json", &b), ("a.json", &a)).render();
    assert!(back.contains("fails in A and not in B\n"), "{back}");
    // What one did not play it did not fail.
    let less = judge(&["format-only"]).report;
    let text = Comparison::new(("a.json", &a), ("less.json", &less)).render();
    assert!(
        text.contains(
            "race/partial-wait (validate): accepts what breaks R01 partial-wait; skipped there: profile"
        ),
        "{text}"
    );
    let other = Report { suite: "9.0.0".to_owned(), ..less };
    let text = Comparison::new(("a.json", &a), ("other.json", &other)).render();
    assert!(text.contains("note: the suites are "), "{text}");
}

fn conform(arguments: &[&str], corpus: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_megakernel-conform"));
    if let Some(corpus) = corpus {
        command.env("MEGAKERNEL_CORPUS", corpus);
    }
    command.args(arguments).output().expect("it starts")
}

/// Writes a case with its script, and plays it to a command: the exit code and what was printed.
fn reproduced(corpus: Option<&Path>, case: &str, worker: &[&str]) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().expect("a folder");
    let to = directory.path().join("case");
    let written = conform(&["repro", case, to.to_str().expect("UTF-8")], corpus);
    assert_eq!(written.status.code(), Some(0), "{}", String::from_utf8_lossy(&written.stderr));
    let script = Command::new(require(Tool::Python)).arg(to.join("repro.py")).args(worker).output();
    let script = script.expect("python3 can be started: this test needs it");
    eprintln!("{}", String::from_utf8_lossy(&script.stderr));
    (script.status.code(), String::from_utf8_lossy(&script.stdout).into_owned())
}

#[test]
fn a_case_is_played_without_the_suite() {
    let (python, adapter) = (require(Tool::Python), root().join("examples/python/adapter.py"));
    let adapter = adapter.to_str().expect("UTF-8");
    let case = "spec/R01/rejected";
    let (code, said) = reproduced(None, case, &[&python, adapter]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("validate: reject R01\n") && said.ends_with("as declared\n"), "{said}");
    let (code, said) = reproduced(None, case, &[&python, adapter, "--flaw", "first-k-of-n"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("validate: accept\n  declared: reject R01\nnot as declared\n"), "{said}");
    let (code, said) = reproduced(None, case, &["false"]);
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn an_execution_is_played_without_the_suite() {
    let directory = sessions::corpus();
    write_manifest(directory.path());
    let worker = env!("CARGO_BIN_EXE_test-worker");
    for case in ["execution/block", "numeric/add/one"] {
        let (code, said) = reproduced(Some(directory.path()), case, &[worker, "executes"]);
        assert_eq!(code, Some(0), "{case}: {said}");
    }
    let wrong = [worker, "executes-on-device-wrong"];
    let (code, said) = reproduced(Some(directory.path()), "execution/block", &wrong);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("launch 1: `y`: 1 of 6 elements are wrong, the first at 4 "), "{said}");
}

#[test]
fn a_clause_is_explained_by_its_section() {
    let (clause, text) =
        spec::section(&root().join("corpus"), "R01").expect("the text lies beside the corpus");
    assert_eq!(clause.document, "spec/rules/race.md");
    assert!(text.starts_with("### R01 partial-wait\n") && !text.contains("### R02"), "{text}");
    let output = conform(&["explain", "EXE-07"], None);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("### EXE-07 Race\n") && text.ends_with("\n\nspec/execution.md\n"), "{text}");
    let refused = |id: &str, corpus: Option<&Path>, why: &str| {
        let output = conform(&["explain", id], corpus);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(why), "no `{why}` in {said}");
    };
    refused("R99", None, "no rule and no clause has the id `R99`");
    let alone = corpus();
    refused("R01", Some(alone.path()), "the folder `spec` of the suite belongs beside the corpus");
}
