use megakernel_ir::protocol::Method;
use serde_json::{Value, json};

use super::*;

fn case(method: Method, expect: Value) -> Case {
    serde_json::from_value(json!({
        "id": "x", "summary": "", "profiles": ["validate"], "method": method.name(), "clauses": ["R01"],
        "document": {"text": "{}"}, "expect": expect,
        "provenance": {"family": "x", "seed": 0, "generator": "0"}
    }))
    .expect("a case")
}

fn judge(expect: Value, answer: Value) -> Judgement {
    verdict(&case(Method::VALIDATE, expect), &response(answer))
}

fn response(mut answer: Value) -> FromWorker {
    answer["type"] = json!("response");
    answer["id"] = json!(1);
    serde_json::from_value(answer).expect("a response")
}

fn error(rule: &str) -> Value {
    json!({"rule": rule, "severity": "error", "witness": {"kind": "third-party"}})
}

fn warning(rule: &str) -> Value {
    json!({"rule": rule, "severity": "warning"})
}

fn assert_failed(judgement: Judgement, actual: &str) {
    match judgement {
        Judgement::Failed(mismatch) => {
            assert!(mismatch.actual.contains(actual), "`{}` lacks `{actual}`", mismatch.actual)
        }
        other => unreachable!("{other:?} is no failure with `{actual}`"),
    }
}

#[test]
fn a_rejection_names_a_declared_rule_and_no_other() {
    let expect = json!({"verdict": "reject", "rules": ["R01", "R02"]});
    let reject = |rules: &[&str]| {
        let diagnostics: Vec<Value> = rules.iter().map(|rule| error(rule)).collect();
        judge(expect.clone(), json!({"outcome": "reject", "diagnostics": diagnostics}))
    };
    assert_eq!(reject(&["R01"]), Judgement::Passed);
    assert_eq!(reject(&["R02", "R02", "R01"]), Judgement::Passed);
    assert_failed(reject(&["R03"]), "error R03");
    assert_failed(reject(&["R01", "S09"]), "errors R01; S09");
    assert_failed(reject(&[]), "without a diagnostic");
    assert_failed(judge(expect.clone(), json!({"outcome": "accept"})), "accept");
}

#[test]
fn warnings_count_only_where_they_are_declared() {
    let free = json!({"verdict": "accept"});
    let declared = json!({"verdict": "accept", "warnings": ["W01"]});
    let quiet = json!({"verdict": "accept", "warnings": []});
    let answer = |rules: &[&str]| {
        let diagnostics: Vec<Value> = rules.iter().map(|rule| warning(rule)).collect();
        json!({"outcome": "accept", "diagnostics": diagnostics})
    };
    assert_eq!(judge(free, answer(&["W04"])), Judgement::Passed);
    assert_eq!(judge(declared.clone(), answer(&["W01", "W01"])), Judgement::Passed);
    assert_failed(judge(declared.clone(), answer(&[])), "no warning");
    assert_failed(judge(declared, answer(&["W01", "W04"])), "warnings W01; W04");
    assert_eq!(judge(quiet.clone(), answer(&[])), Judgement::Passed);
    assert_failed(judge(quiet, answer(&["W04"])), "warning W04");
}

#[test]
fn either_is_not_anything() {
    let free = json!({"verdict": "either"});
    let bound = json!({"verdict": "either", "rules": ["S04"]});
    for expect in [&free, &bound] {
        assert_eq!(judge(expect.clone(), json!({"outcome": "accept"})), Judgement::Passed);
        let s04 = json!({"outcome": "reject", "diagnostics": [error("S04")]});
        assert_eq!(judge(expect.clone(), s04), Judgement::Passed);
        assert_failed(judge(expect.clone(), json!({"outcome": "reject"})), "without a diagnostic");
    }
    let s03 = json!({"outcome": "reject", "diagnostics": [error("S03")]});
    assert_eq!(judge(free, s03.clone()), Judgement::Passed);
    assert_failed(judge(bound, s03), "S03");
}

#[test]
fn answers_that_contradict_themselves_or_the_specification_fail() {
    let accept = json!({"verdict": "accept"});
    let failed = |answer: Value, actual: &str| assert_failed(judge(accept.clone(), answer), actual);
    failed(json!({"outcome": "accept", "diagnostics": [error("R01")]}), "contradiction");
    failed(json!({"outcome": "accept", "diagnostics": [warning("X99")]}), "`X99`");
    let info = json!({"rule": "W01", "severity": "info"});
    failed(json!({"outcome": "accept", "diagnostics": [info]}), "`info`");
    failed(json!({"outcome": "perhaps"}), "`perhaps`");
    failed(json!({}), "without `outcome`");
    failed(json!({"outcome": "unsupported"}), "without a `reason`");
    let refusal = json!({"type": "error", "id": 1, "message": "what?"});
    let refusal: FromWorker = serde_json::from_value(refusal).expect("an error message");
    assert_failed(verdict(&case(Method::VALIDATE, accept.clone()), &refusal), "what?");
}

#[test]
fn unsupported_is_a_skip_with_the_reason_of_the_worker() {
    let answer = json!({"outcome": "unsupported", "reason": "rank 4"});
    let skipped = Judgement::Skipped("unsupported: rank 4".to_owned());
    assert_eq!(judge(json!({"verdict": "reject", "rules": ["R01"]}), answer), skipped);
}

#[test]
fn unclaimed_profiles_and_rules_are_skipped_before_asking() {
    let mut hello = Hello::new("x", "1", &[Profile::VALIDATE]);
    let reject = case(Method::VALIDATE, json!({"verdict": "reject", "rules": ["R01", "R02"]}));
    let accept = case(Method::VALIDATE, json!({"verdict": "accept", "warnings": []}));
    let warn = case(Method::VALIDATE, json!({"verdict": "accept", "warnings": ["W01", "W04"]}));
    assert_eq!(skip(&reject, Profile::VALIDATE, &hello), None);
    assert_eq!(skip(&accept, Profile::LAUNCH, &hello), Some("profile launch is not claimed".to_owned()));
    hello.rules = Some(vec!["R02".to_owned(), "W04".to_owned()]);
    assert_eq!(skip(&reject, Profile::VALIDATE, &hello), None);
    assert_eq!(skip(&accept, Profile::VALIDATE, &hello), None);
    assert_eq!(skip(&warn, Profile::VALIDATE, &hello), Some("rule W01 is not claimed".to_owned()));
    hello.rules = Some(Vec::new());
    let reason = "rules R01, R02 are not claimed".to_owned();
    assert_eq!(skip(&reject, Profile::VALIDATE, &hello), Some(reason));
}

#[test]
fn who_claims_every_rule_owes_those_that_it_implements() {
    let mut hello = Hello::new("x", "1", &[Profile::VALIDATE]);
    let expect = json!({"verdict": "reject", "rules": ["R01", "R02"], "every_rule": true});
    let both = case(Method::VALIDATE, expect);
    let one = case(Method::VALIDATE, json!({"verdict": "reject", "rules": ["R01", "R02"]}));
    assert_eq!(owed(&both, &hello), []);
    hello.every_rule = true;
    assert_eq!(owed(&both, &hello), [Rule::R01, Rule::R02]);
    assert_eq!(owed(&one, &hello), []);
    hello.rules = Some(vec!["R02".to_owned()]);
    assert_eq!(owed(&both, &hello), [Rule::R02]);
}

fn trip(declared: Value, sent: &str, returned: &str) -> Result<(), Mismatch> {
    let case = case(Method::ROUNDTRIP, json!({"verdict": "accept", "document": declared}));
    let answer = response(json!({"outcome": "accept", "document": returned}));
    compare_documents(&case, sent.as_bytes(), &answer)
}

#[test]
fn documents_are_compared_by_value() {
    let declared = json!({"a": 1, "b": [0.0, 1e16, {"c": "é"}]});
    let good = r#"{"b":[-0.0,10000000000000000,{"c":"\u00e9"}],"a":1.0}"#;
    assert_eq!(trip(declared.clone(), "{}", good), Ok(()));
    let wrong = |returned: &str, actual: &str| {
        let mismatch = trip(declared.clone(), "{}", returned).expect_err("they differ");
        assert_eq!(mismatch.actual, actual);
    };
    wrong(r#"{"b":[0,1e16,{"c":"é"}],"a":2}"#, "/a: 2");
    wrong(r#"{"b":[0,1e16,{"c":"é"}]}"#, "/a: no such member");
    wrong(r#"{"a":1,"b":[0,1e16]}"#, "/b: 2 elements");
    wrong(r#"{"a":1,"b":[0,1e16,{"c":"e"}]}"#, r#"/b/2/c: "e""#);
    wrong(r#"{"a":1,"b":[0,10000000000000001,{"c":"é"}]}"#, "/b/1: 10000000000000001");
    wrong(r#"{"a":"1","b":[]}"#, r#"/a: "1""#);
    wrong("[]", "the document: []");
    assert!(trip(declared.clone(), "{}", r#"{"a":1,"a":1}"#).expect_err("twice").actual.contains("twice"));
    let silent = response(json!({"outcome": "accept"}));
    let case = case(Method::ROUNDTRIP, json!({"verdict": "accept", "document": declared}));
    let mismatch = compare_documents(&case, b"{}", &silent).expect_err("nothing returned");
    assert_eq!(mismatch.actual, "accept without `document`");
}

#[test]
fn large_integers_may_be_rounded_only_beyond_64_bits() {
    let declared = json!({"meta": [u64::MAX, i64::MAX]});
    assert_eq!(
        trip(declared.clone(), "{}", r#"{"meta":[18446744073709551616.0,9223372036854775807]}"#),
        Ok(())
    );
    let rounded = trip(declared, "{}", r#"{"meta":[18446744073709551615,9223372036854775808]}"#);
    assert_eq!(rounded.expect_err("rounded").actual, "/meta/1: 9223372036854775808");
}

#[test]
fn only_members_of_the_input_may_be_added() {
    let declared = json!({"tasks": [{"id": 0}]});
    let sent = r#"{"tasks":[{"id":0,"note/1":{"x":[1]}}],"later":true}"#;
    assert_eq!(trip(declared.clone(), sent, r#"{"tasks":[{"id":0}]}"#), Ok(()));
    assert_eq!(trip(declared.clone(), sent, sent), Ok(()));
    let changed = sent.replace("[1]", "[2]");
    assert_eq!(
        trip(declared.clone(), sent, &changed).expect_err("changed").actual,
        "/tasks/0/note~11/x/0: 2"
    );
    let invented = r#"{"tasks":[{"id":0}],"mine":1}"#;
    assert_eq!(trip(declared, sent, invented).expect_err("invented").actual, "/mine: 1");
}

/// A writer may add the one member that need not be written, with its default, and may not leave it out once it is there.
#[test]
fn the_default_of_a_member_may_be_added_and_no_value_dropped() {
    let absent = json!({"target": {"num_sms": 4}, "pages": null});
    let sent = r#"{"target":{"num_sms":4}}"#;
    let with =
        |value: &str| format!(r#"{{"target":{{"num_sms":4,"measured_bw_gbs":{value}}},"pages":null}}"#);
    for zero in ["0.0", "0", "-0.0"] {
        assert_eq!(trip(absent.clone(), sent, &with(zero)), Ok(()), "{zero}");
    }
    for other in ["1.5", "null", "false", "\"0\"", "[]"] {
        let wrong = trip(absent.clone(), sent, &with(other)).expect_err("another value");
        assert_eq!(wrong.actual, format!("/target/measured_bw_gbs: {other}"));
    }
    for value in ["0.0", "1.5"] {
        let present: Value = serde_json::from_str(&with(value)).expect("a value");
        assert_eq!(trip(present.clone(), &with(value), &with(value)), Ok(()));
        let dropped = trip(present, &with(value), r#"{"target":{"num_sms":4},"pages":null}"#);
        assert_eq!(dropped.expect_err("dropped").actual, "/target/measured_bw_gbs: no such member");
    }
    let elsewhere = r#"{"target":{"num_sms":4,"hbm":0},"pages":null,"measured_bw_gbs":0.0}"#;
    assert!(trip(absent, sent, elsewhere).is_err());
}

#[test]
fn the_second_trip_returns_the_same_bytes() {
    let answer = |document: &str| response(json!({"outcome": "accept", "document": document}));
    assert_eq!(compare_second("{\"a\": 1}", &answer("{\"a\": 1}")), Ok(()));
    let mismatch = compare_second("{\"a\": 1}", &answer("{\"a\":1}")).expect_err("a space less");
    assert_eq!(mismatch.actual, "byte 5 differs: first ` 1}`, then `1}`");
    let rejects = response(json!({"outcome": "reject", "diagnostics": [error("S01")]}));
    assert_eq!(compare_second("{}", &rejects).expect_err("rejected").actual, "reject of its own document");
}

#[test]
fn explanations_are_kept_and_their_beginning_is_the_cause() {
    let judged = |end: &str| {
        let message = format!("no task can go on: {}{end}", "all of them wait, ".repeat(20));
        let answer: FromWorker =
            serde_json::from_value(json!({"type": "error", "id": 1, "message": message})).expect("an error");
        match verdict(&case(Method::EXECUTE, json!({"verdict": "accept"})), &answer) {
            Judgement::Failed(mismatch) => mismatch,
            other => unreachable!("{other:?} is no failure"),
        }
    };
    let (first, second) = (judged("here"), judged("there"));
    assert!(
        first.actual.ends_with("wait, here") && second.actual.ends_with("wait, there"),
        "{}",
        first.actual
    );
    assert_eq!(first.cause, second.cause);
}
