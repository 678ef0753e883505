//! The pages of runs: what data they hold, and that they need nothing else. `checks/page.py` looks at them in a browser.

use std::path::Path;

use megakernel_conformance::html::{self, Witnesses};
use megakernel_conformance::report::Report;
use megakernel_conformance::run::Options;
use megakernel_conformance::stop::Stop;
use megakernel_conformance::store::Corpus;
use megakernel_conformance::worker::WorkerCommand;
use serde_json::{Value, json};

use crate::support::{corpus, only, options, play, sessions, write_manifest};

/// The page of a run on a corpus, and the data in it.
fn page(root: &Path, options: &Options) -> (String, Value) {
    page_with(root, options, &mut Witnesses::default())
}

fn page_with(root: &Path, options: &Options, witnesses: &mut Witnesses) -> (String, Value) {
    let corpus = Corpus::load(root).expect("a corpus");
    let report = play(root, options).expect("a run");
    let page = html::render(&report, &corpus, witnesses).expect("JSON");
    let data = data(&page);
    (page, data)
}

/// The data in a page.
fn data(page: &str) -> Value {
    let begin = page.find("id=\"data\">").expect("the element of the data") + "id=\"data\">".len();
    let end = begin + page[begin..].find("</script>").expect("its end");
    serde_json::from_str(&page[begin..end]).expect("the data is JSON")
}

/// That a browser needs nothing but the page.
#[track_caller]
fn assert_alone(page: &str) {
    for loads in ["src=", "url(", "@import", "fetch(", "https:", "@STYLE@", "@SCRIPT@", "@WITNESS@", "@DATA@"]
    {
        assert!(!page.contains(loads), "{loads}");
    }
    let elsewhere = page.matches("http:").count();
    assert_eq!(elsewhere, page.matches("http://www.w3.org/2000/svg").count(), "only names of forms");
}

#[test]
fn a_page_holds_its_report_and_loads_nothing() {
    let directory = corpus();
    let options = options(&["misses-two-rules"]);
    let (page, data) = page(directory.path(), &options);
    let report = play(directory.path(), &options).expect("a run").to_json().expect("JSON");
    assert_eq!(data["report"], serde_json::from_str::<Value>(&report).expect("JSON"));
    assert_eq!(
        data["members"]["accepts what breaks R01 partial-wait"],
        json!(["race/partial-wait validate"])
    );
    assert!(
        data["details"]["race/partial-wait validate"]["document"]
            .as_str()
            .is_some_and(|it| it.contains("R01"))
    );
    assert_alone(&page);
}

#[test]
fn what_a_worker_says_does_not_end_the_data_of_its_page() {
    let directory = corpus();
    let report = play(directory.path(), &options(&["error-message"])).expect("a run");
    let mut hostile = report;
    hostile.notes.push("</script><script>alert(1)</script>".to_owned());
    let corpus = Corpus::load(directory.path()).expect("a corpus");
    let page = html::render(&hostile, &corpus, &mut Witnesses::default()).expect("JSON");
    assert!(!page.contains("alert(1)</script>") && page.contains("\\u003c/script>"), "not escaped");
}

#[test]
fn a_page_shows_how_far_off_the_elements_are_and_what_the_tasks_are() {
    let directory = sessions::corpus();
    let (_, data) = page(directory.path(), &options(&["executes-on-device-wrong"]));
    let shown = &data["details"]["execution/block execute"];
    // Off by 950 bounds, in the fifth of six elements.
    let elements =
        json!({"name": "y", "dtype": "F32", "shape": [2, 3], "columns": 3, "levels": [0, 0, 0, 0, 140, 0]});
    assert_eq!(shown["elements"], elements);
    let tasks = shown["tasks"].as_array().expect("a list");
    let second = json!({"id": 1, "op": "ADD", "label": "cache", "sm": -1, "out": 1, "waits": [[0, 1]]});
    assert_eq!((tasks.len(), &tasks[1]), (4, &second));
}

#[test]
fn a_page_shows_the_witness_of_a_rejection_that_was_missed() {
    let directory = corpus();
    let missing = options(&["accepts-everything"]);
    let with = |behaviour: &str| {
        let mut witnesses = Witnesses::of(options(&[behaviour]).command, Stop::default());
        page_with(directory.path(), &missing, &mut witnesses)
    };
    let (text, found) = with("shows-witnesses");
    let witness = json!({"kind": "schedule", "events": [{"start": 0}], "then": "</script>"});
    let shown = json!({"rule": "R01", "message": "how", "witness": witness});
    assert_eq!(found["details"]["race/partial-wait validate"]["witness"], shown);
    assert!(text.contains("\\u003c/script>"), "escaped");
    // Not of another rule, and not of an acceptance.
    for other in ["memory/bounds memory-safety", "warning/unused validate"] {
        assert!(
            found["details"][other].is_object() && found["details"][other]["witness"].is_null(),
            "{other}"
        );
    }
    // Who shows none, does not answer, does not end a handshake or is not there takes nothing else from the page.
    let (_, without) = page(directory.path(), &missing);
    for behaviour in ["good", "never-answers", "garbage", "garbage-handshake"] {
        assert_eq!(with(behaviour).1, without, "{behaviour}");
    }
    let nobody = WorkerCommand { program: "/nowhere".to_owned(), ..options(&[]).command };
    let nobody = &mut Witnesses::of(nobody, Stop::default());
    assert_eq!(page_with(directory.path(), &missing, nobody).1, without);
}

/// How a case ended in each run, a letter each, and the row.
fn row<'a>(data: &'a Value, case: &str, profile: &str) -> (&'a str, &'a Value) {
    let rows = data["cases"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["case"] == case && row["profile"] == profile).expect("a row");
    (row["ends"].as_str().expect("letters"), row)
}

/// The same report, on another corpus.
fn elsewhere(mut report: Report) -> Report {
    report.corpus.digest = Some("another".to_owned());
    report
}

#[test]
fn a_page_of_several_runs_says_of_each_case_how_it_ended_in_each() {
    let directory = corpus();
    write_manifest(directory.path());
    let race = only(options(&["never-answers"]), &[], Some("race/*"));
    let runs: [Report; 5] = [
        play(directory.path(), &options(&["good"])).expect("a run"),
        play(directory.path(), &options(&["misses-two-rules"])).expect("a run"),
        play(directory.path(), &options(&["format-only"])).expect("a run"),
        play(directory.path(), &race).expect("a run"),
        // Of another version of the suite, whose cases nobody here can name.
        elsewhere(play(directory.path(), &options(&["misses-two-rules"])).expect("a run")),
    ];
    let corpus = Corpus::load(directory.path()).expect("a corpus");
    let sides: Vec<(&str, &Report)> = runs.iter().map(|run| ("a.json", run)).collect();
    let page = html::compare(&sides, &corpus).expect("JSON");
    assert_alone(&page);
    let found = data(&page);
    let end = |case, profile| row(&found, case, profile).0;
    assert_eq!(found["cases"].as_array().map(Vec::len), Some(30), "a row for each case under each profile");
    assert_eq!(end("race/partial-wait", "validate"), "pfstf");
    assert_eq!(end("accept/number-0", "format"), "pppau");
    assert_eq!(end("accept/number-0", "launch"), "ppsau");
    let (_, race) = row(&found, "race/partial-wait", "validate");
    let text = |run: usize, which: usize| {
        let index = race["why"][run][which].as_u64().and_then(|index| usize::try_from(index).ok());
        found["texts"][index.expect("an index")].as_str().expect("a text").to_owned()
    };
    assert_eq!(text(1, 0), "accepts what breaks R01 partial-wait");
    assert_eq!(text(2, 0), "profile validate is not claimed");
    assert!(text(3, 2).contains("worker gave no answer within 400ms"), "{}", text(3, 2));
    assert_eq!(text(1, 3), "--profile validate --filter race/partial-wait");
    assert_eq!((&race["why"][0], &race["differs"]), (&Value::Null, &json!(true)));

    // The same twice: nothing differs. What fails for another cause does.
    let same = data(&html::compare(&[("a", &runs[1]), ("b", &runs[1])], &corpus).expect("JSON"));
    assert!(same["cases"].as_array().expect("a list").iter().all(|row| row["differs"].is_null()));
    let mut other = runs[1].clone();
    other.failures[0].cause = "another </script> cause".to_owned();
    let page = html::compare(&[("a", &runs[1]), ("b", &other)], &corpus).expect("JSON");
    assert!(page.contains("another \\u003c/script> cause"), "escaped");
    let differ =
        data(&page)["cases"].as_array().expect("a list").iter().filter(|row| row["differs"] == true).count();
    assert_eq!(differ, 1);
    // Who does not say how a case ended does not differ.
    let named = [("a", &runs[0]), ("b", &runs[3]), ("c", &runs[4])];
    let found = data(&html::compare(&named, &corpus).expect("JSON"));
    let (ends, accepted) = row(&found, "accept/number-0", "format");
    assert_eq!((ends, &accepted["differs"]), ("pau", &Value::Null));
    // Whoever counts other cases than are selected does not say which of them passed.
    let mut miscounted = runs[0].clone();
    miscounted.totals.passed -= 1;
    let found = data(&html::compare(&[("a", &miscounted)], &corpus).expect("JSON"));
    assert!(found["cases"].as_array().expect("a list").is_empty(), "{found}");
}

#[test]
fn a_page_of_several_runs_says_what_was_executed() {
    let directory = sessions::corpus();
    write_manifest(directory.path());
    let corpus = Corpus::load(directory.path()).expect("a corpus");
    let [good, wrong] = ["executes", "executes-on-device-wrong"]
        .map(|behaviour| play(directory.path(), &options(&[behaviour])).expect("a run"));
    let found = data(&html::compare(&[("a", &good), ("b", &wrong)], &corpus).expect("JSON"));
    let (ends, block) = row(&found, "execution/block", "execute");
    assert_eq!(ends, "pf");
    let opcodes = block["opcodes"].as_array().expect("a list").iter();
    let opcodes: Vec<&Value> =
        opcodes.map(|index| &found["texts"][index.as_u64().expect("an index") as usize]).collect();
    assert_eq!(opcodes, ["ADD", "MUL", "SAMPLE_ARGMAX"]);
}
