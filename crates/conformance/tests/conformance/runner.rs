//! What a run selects, skips, counts and reports, with workers that behave.

use std::num::NonZeroUsize;

use megakernel_conformance::report::{ProfileVerdict, Report, RunVerdict};
use megakernel_conformance::run::RunError;
use megakernel_conformance::store::Corpus;
use megakernel_conformance::terminal::{self, Style};
use megakernel_ir::protocol::{Launch, Method, Profile, ToWorker};
use megakernel_test_support::schemas;
use serde_json::{Value, json};

use crate::support::{self, corpus, judge, judge_with, only, options, play, write_case};

fn verdict(report: &Report, profile: Profile) -> ProfileVerdict {
    let line = report.profiles.iter().find(|line| line.profile == profile);
    line.map(|line| line.verdict).expect("every profile has a line")
}

#[test]
fn the_number_of_jobs_does_not_show_in_the_report() {
    let directory = corpus();
    for behaviour in ["good", "accepts-everything", "rejects-everything", "some-rules"] {
        let mut options = options(&[behaviour]);
        let one = play(directory.path(), &options).expect("a run");
        options.jobs = NonZeroUsize::new(7).expect("seven");
        let seven = play(directory.path(), &options).expect("a run");
        assert_eq!(one.to_json().expect("JSON"), seven.to_json().expect("JSON"), "{behaviour}");
        assert_eq!(terminal::render(&one, &Style::default()), terminal::render(&seven, &Style::default()));
    }
}

#[test]
fn the_report_holds_no_path_and_no_time() {
    let directory = corpus();
    let report = play(directory.path(), &options(&["rejects-everything"])).expect("a run");
    let json = report.to_json().expect("JSON");
    let place = directory.path().to_str().expect("UTF-8");
    assert!(!json.contains(place));
    assert!(!json.contains(env!("CARGO_BIN_EXE_test-worker")));
    let value: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["conforms"], json!(false));
    assert_eq!(value["totals"], json!({"passed": 0, "failed": 30, "skipped": 0}));
    let failure =
        value["failures"].as_array().expect("an array").iter().find(|it| it["case"] == "race/partial-wait");
    assert_eq!(
        failure,
        Some(&json!({
            "case": "race/partial-wait", "profile": "validate", "kind": "answer",
            "summary": "what race/partial-wait shows",
            "cause": "rejects under S04 wrong-type what does not break it",
            "clauses": [{"id": "R01", "title": "partial-wait", "document": "spec/rules/race.md"}],
            "expected": "reject, error R01", "actual": "reject, error S04 (test)",
            "rerun": "--profile validate --filter race/partial-wait"
        }))
    );
}

#[test]
fn every_report_conforms_to_its_schema() {
    let validator = schemas::validator("report");
    for behaviour in
        ["good", "rejects-everything", "some-rules", "supports-accepted-only", "garbage", "ends-at-once"]
    {
        let json = judge(&[behaviour]).report.to_json().expect("JSON");
        let value: Value = serde_json::from_str(&json).expect("JSON");
        let errors = schemas::errors(&validator, &value);
        assert!(errors.is_empty(), "{behaviour}: {errors:#?}");
    }
}

#[test]
fn the_lines_of_the_runner_conform_to_their_schema() {
    let validator = schemas::validator("protocol.schema.json#from-runner");
    let text = ToWorker::request(1, Method::ROUNDTRIP, Profile::FORMAT, b"{\n}");
    let bytes = ToWorker::request(2, Method::VALIDATE, Profile::MEMORY_SAFETY, b"\xff");
    let launch = |trace: Option<&str>| Launch {
        document: "{}".into(),
        tensors: vec!["/a.safetensors".into()],
        output: "/b.safetensors".into(),
        trace: trace.map(Into::into),
    };
    let execute = ToWorker::execute(3, vec![launch(None), launch(Some("/c.safetensors"))]);
    for message in [ToWorker::hello(), text, bytes, execute] {
        let value = serde_json::to_value(&message).expect("JSON");
        assert!(validator.is_valid(&value), "{value}");
    }
}

#[test]
fn an_unclaimed_profile_is_no_failure_unless_it_was_asked_for() {
    let judged = judge(&["format-only"]);
    judged.assert_conforms();
    assert_eq!(verdict(&judged.report, Profile::FORMAT), ProfileVerdict::Conforms);
    assert_eq!(verdict(&judged.report, Profile::LAUNCH), ProfileVerdict::NotClaimed);
    assert!(judged.text.contains("     5  profile launch is not claimed"), "{}", judged.text);
    assert_eq!(judged.report.totals.skipped, 21);

    let asked = judge_with(&only(options(&["format-only"]), &[Profile::FORMAT, Profile::LAUNCH], None));
    asked.assert_rejected("not claimed: asked for, but the worker does not claim it");
    assert_eq!(verdict(&asked.report, Profile::FORMAT), ProfileVerdict::Conforms);
    assert_eq!(verdict(&asked.report, Profile::VALIDATE), ProfileVerdict::NotClaimed);
}

#[test]
fn a_run_in_which_nothing_passed_does_not_conform() {
    let judged = judge(&["supports-nothing"]);
    judged.assert_rejected("does not conform: no case passed");
    assert!(judged.text.contains("    30  unsupported: not today"), "{}", judged.text);
    assert_eq!(judged.report.totals.failed, 0);
    let judged = judge(&["claims-nothing"]);
    judged.assert_rejected("0 passed, 0 failed, 30 skipped");
}

#[test]
fn rules_that_are_not_claimed_are_skipped_and_accepted_cases_are_not() {
    let judged = judge(&["some-rules"]);
    judged.assert_conforms_in_part("1 of 2 rules, 8 of 9 cases");
    judged.assert_conforms_in_part("2 of 4 rules, 8 of 10 cases");
    judged.assert_conforms_in_part("0 of 1 rules, 5 of 6 cases");
    for reason in [
        "     2  rule S03 is not claimed",
        "     1  rule M03 is not claimed",
        "     1  rule W04 is not claimed",
    ] {
        assert!(judged.text.contains(reason), "no `{reason}` in\n{}", judged.text);
    }
    assert_eq!(judged.report.totals.skipped, 4);
    assert_eq!(judged.report.totals.passed, 26);
}

#[test]
fn a_worker_that_never_rejects_conforms_in_part_only() {
    // Both pass every case that they are judged by, and find nothing at all.
    for (behaviour, skip) in [
        ("no-rules", "     2  rule S03 is not claimed"),
        ("supports-accepted-only", "     9  unsupported: I would have to reject this"),
    ] {
        let judged = judge(&[behaviour]);
        judged.assert_conforms_in_part("0 of 4 rules, 5 of 10 cases");
        assert!(judged.text.contains(skip), "no `{skip}` in\n{}", judged.text);
        let json: Value = serde_json::from_str(&judged.report.to_json().expect("JSON")).expect("JSON");
        assert_eq!((&json["verdict"], &json["conforms"]), (&json!("conforms in part"), &json!(false)));
        let share = json!({"rules": {"passed": 0, "of": 4}, "cases": {"passed": 5, "of": 10}});
        assert_eq!(json["profiles"][1]["share"], share);
        // It broke no promise there: the profile has no case that the worker did not pass.
        assert_eq!(verdict(&judged.report, Profile::LAUNCH), ProfileVerdict::Conforms);
    }
}

#[test]
fn who_claims_to_name_every_rule_names_the_second_one_too() {
    let directory = corpus();
    let edit = json!([{"op": "add", "path": "/meta/breaks", "value": ["R01", "R05"]}]);
    let document = json!({"base": "programs/empty.json", "edit": edit});
    let expect = json!({"verdict": "reject", "rules": ["R01", "R05"], "every_rule": true});
    write_case(directory.path(), "race/two-rules", &json!(["validate"]), "validate", document, expect);
    // The first claims nothing, so that one rule would do.
    for (behaviour, failed) in [("good", 0), ("names-every-rule", 0), ("names-one-rule", 1)] {
        let report = play(directory.path(), &options(&[behaviour])).expect("a run");
        assert_eq!((report.totals.passed, report.totals.failed), (31 - failed, failed), "{behaviour}");
        let text = terminal::render(&report, &Style::default());
        let lacking = text.contains("reject, error R01 (test), without R05");
        assert_eq!(lacking, failed == 1, "{text}");
    }
}

#[test]
fn a_third_party_may_add_members() {
    let judged = judge_with(&only(options(&["third-party-members"]), &[], Some("accept/*")));
    judged.assert_conforms_in_part("0 of 2 rules, 5 of 9 cases");
    assert_eq!(judged.report.totals.passed, 20);
}

#[test]
fn a_filter_and_profiles_select() {
    let judged = judge_with(&only(options(&["good"]), &[Profile::VALIDATE], Some("structure/*")));
    judged.assert_conforms_in_part("2 of 4 rules, 3 of 10 cases");
    assert_eq!(judged.report.totals.passed, 3);
    assert_eq!(verdict(&judged.report, Profile::FORMAT), ProfileVerdict::NotSelected);
    assert_eq!(judged.report.corpus.filter.as_deref(), Some("structure/*"));
}

#[test]
fn selecting_nothing_is_an_error() {
    let directory = corpus();
    let error = |options| match play(directory.path(), &options) {
        Err(RunError::NothingSelected(message)) => message,
        other => unreachable!("{other:?}"),
    };
    let message = error(only(options(&["good"]), &[], Some("structures/*")));
    assert_eq!(message, "the corpus has no case that matches `structures/*`");
    let message = error(only(options(&["good"]), &[Profile::VALIDATE, Profile::LAUNCH], Some("race/*")));
    assert_eq!(message, "the corpus has no case that matches `race/*` for profile launch");
}

#[test]
fn a_command_that_is_not_there_is_an_error() {
    let directory = corpus();
    let mut options = options(&[]);
    options.command.program = "no-such-command-anywhere".to_owned();
    assert!(matches!(play(directory.path(), &options), Err(RunError::Spawn(_))));
}

#[test]
fn failures_are_cut_off_where_asked_and_say_how_to_rerun_them() {
    let directory = corpus();
    let report = play(directory.path(), &options(&["accepts-everything"])).expect("a run");
    let style = Style {
        colour: true,
        causes: Some(1),
        tables: false,
        command: "megakernel-conform run --impl './my vm'".to_owned(),
    };
    let text = terminal::render(&report, &style);
    assert_eq!(text.matches("rerun").count(), 1, "{text}");
    assert!(
        text.contains(
            "rerun     megakernel-conform run --impl './my vm' --profile format --filter structure/not-json\n"
        ),
        "{text}"
    );
    assert!(text.contains("     1  does not warn of W04\n--limit 2 shows them"), "{text}");
    assert!(text.contains("\x1b[31m"));
    assert!(!terminal::render(&report, &Style::default()).contains('\x1b'));
}

#[test]
fn one_cause_is_printed_once() {
    let judged = judge(&["rejects-everything"]);
    let cause = "rejects under S04 wrong-type what does not break it";
    assert_eq!(judged.text.matches(cause).count(), 1, "{}", judged.text);
    assert!(
        judged.text.contains("30 failures of 1 cause, what to look at first on top\n"),
        "{}",
        judged.text
    );
    assert!(judged.text.contains(&format!("{cause} (30 failures)\n")), "{}", judged.text);
    assert_eq!(judged.text.matches("rerun").count(), 1, "{}", judged.text);
    assert_eq!((judged.report.causes.len(), judged.report.failures.len()), (1, 30));
    // Of all of them, the one with the smallest document.
    assert_eq!(judged.report.causes[0].example.case, "structure/not-json");
}

#[test]
fn who_never_rejects_makes_one_mistake_and_who_misses_two_rules_makes_two() {
    let causes = |behaviour| {
        let report = judge(&[behaviour]).report;
        let causes: Vec<(String, usize)> =
            report.causes.into_iter().map(|it| (it.cause, it.failures)).collect();
        let failed: usize = causes.iter().map(|(_, failures)| failures).sum();
        assert_eq!(failed, report.failures.len());
        causes
    };
    let all = ("accepts every document that breaks a rule".to_owned(), 8);
    assert_eq!(causes("accepts-everything"), [all, ("does not warn of W04".to_owned(), 1)]);
    // It finds what is no JSON.
    let two = [("accepts what breaks S03 missing-member", 2), ("accepts what breaks R01 partial-wait", 1)];
    assert_eq!(causes("misses-two-rules"), two.map(|(cause, failures)| (cause.to_owned(), failures)));
}

#[test]
fn a_worker_that_fails_stands_before_wrong_answers() {
    let judged = judge(&["misses-a-rule-and-crashes"]);
    let causes: Vec<&str> = judged.report.causes.iter().map(|cause| cause.cause.as_str()).collect();
    let crash = "worker ended before it answered (exit status: N)";
    assert_eq!(causes, [crash, "accepts what breaks S03 missing-member"]);
}

#[test]
fn a_run_without_failure_prints_tables_only_where_asked() {
    let directory = corpus();
    let report = play(directory.path(), &options(&["some-rules"])).expect("a run");
    let text = terminal::render(&report, &Style::default());
    assert!(!text.contains("Rules and clauses"), "{text}");
    let all = terminal::render(&report, &Style { tables: true, ..Style::default() });
    assert!(all.contains("Rules and clauses   passed  failed  skipped\n"), "{all}");
    assert!(all.contains("R01 partial-wait         1       0        0\n"), "{all}");
}

#[test]
fn claims_of_unknown_names_are_noted() {
    let judged = judge(&["unknown-claims"]);
    assert_eq!(judged.report.verdict, RunVerdict::ConformsInPart, "{}", judged.text);
    let notes = [
        "worker claims profile `speed`, which this suite does not have",
        "worker claims rule `R1`, which this suite does not have",
    ];
    assert_eq!(judged.report.notes, notes);
    assert!(judged.text.contains("note worker claims rule `R1`"), "{}", judged.text);
}

#[test]
fn a_failure_shows_the_place_that_the_case_names() {
    let directory = corpus();
    let place = json!({"verdict": "reject", "rules": ["S04"], "at": "/tasks/3"});
    write_case(directory.path(), "place", &json!(["format"]), "validate", json!({"text": "[]"}), place);
    let report =
        play(directory.path(), &only(options(&["accepts-everything"]), &[], Some("place"))).expect("a run");
    assert_eq!(report.failures[0].at.as_deref(), Some("/tasks/3"));
    let text = terminal::render(&report, &Style::default());
    assert!(
        text.contains("  expected  reject, error S04\n  at        /tasks/3\n  actual    accept\n"),
        "{text}"
    );
}

#[test]
fn a_broken_corpus_stops_the_run() {
    let all = json!(["format"]);
    let accept = json!({"verdict": "accept"});
    let broken = |document: Value, expected: &str| {
        let directory = corpus();
        write_case(directory.path(), "broken/case", &all, "validate", document, accept.clone());
        match play(directory.path(), &options(&["good"])) {
            Err(RunError::Corpus(error)) => {
                assert!(error.to_string().contains(expected), "no `{expected}` in {error}");
            }
            other => unreachable!("{other:?}"),
        }
    };
    broken(json!({"base": "programs/lost.json"}), "programs/lost.json");
    broken(json!({"base64": "/w="}), "is not base64");
    let edit = json!([{"op": "replace", "path": "/no/such/place", "value": 1}]);
    broken(json!({"base": "programs/empty.json", "edit": edit}), "does not apply to programs/empty.json");
}

#[test]
fn a_case_has_to_be_where_its_id_says_and_in_the_manifest() {
    let directory = corpus();
    let cases = directory.path().join("cases");
    std::fs::rename(cases.join("race/partial-wait.json"), cases.join("race/moved.json")).expect("renamed");
    let error = play(directory.path(), &options(&["good"])).expect_err("moved").to_string();
    assert!(
        error.contains("`id` is `race/partial-wait`, but the file's place calls for `race/moved`"),
        "{error}"
    );

    let directory = corpus();
    let mut manifest = json!({"generator": "0.1.0", "seed": 0, "cases": [], "programs": []});
    let write = |manifest: &Value| {
        std::fs::write(directory.path().join("manifest.json"), manifest.to_string()).expect("written");
    };
    let loaded = |manifest: &Value| {
        write(manifest);
        play(directory.path(), &options(&["good"])).map_err(|error| error.to_string())
    };
    let error = loaded(&manifest).expect_err("no case is listed");
    assert!(error.contains("case `accept/number-0` has a file but is not listed"), "{error}");

    let corpus = Corpus::load(support::corpus().path()).expect("a corpus without manifest");
    let digest = |path: &str| {
        let bytes = std::fs::read(directory.path().join(path)).expect("a file");
        blake3::hash(&bytes).to_hex().to_string()
    };
    let entry = |id: &str, path: &str| json!({"id": id, "blake3": digest(path)});
    manifest["cases"] =
        corpus.cases().iter().map(|case| entry(&case.id, &format!("cases/{}.json", case.id))).collect();
    let error = loaded(&manifest).expect_err("a program is not listed");
    assert!(error.contains("`programs/empty.json` is not listed in manifest.json"), "{error}");
    let other = directory.path().join("cases/accept/number-0.json");
    manifest["programs"] = json!([entry("programs/empty.json", "cases/accept/number-0.json")]);
    let error = loaded(&manifest).expect_err("another program");
    assert!(error.contains("programs/empty.json: it is not the file that manifest.json lists"), "{error}");
    manifest["programs"] = json!([entry("programs/empty.json", "programs/empty.json")]);
    let before = std::fs::read(&other).expect("a case");
    std::fs::write(&other, [&before[..], b"\n"].concat()).expect("written");
    let error = loaded(&manifest).expect_err("another case");
    assert!(error.contains("number-0.json: it is not the file that manifest.json lists"), "{error}");
    std::fs::write(&other, before).expect("written");
    let report = loaded(&manifest).expect("all cases are listed");
    assert_eq!(report.corpus.generator.as_deref(), Some("0.1.0"));

    std::fs::remove_file(directory.path().join("cases/warning/unused.json")).expect("removed");
    let error = loaded(&manifest).expect_err("a case is lost");
    assert!(error.contains("case `warning/unused` is listed but has no file"), "{error}");
}
