//! ES06: how much a document may stand for.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use serde_json::json;

use super::text;

/// ES06.
pub fn limits(_: &Library, sink: &mut Sink) -> Result<()> {
    let good = r#"{"tensors": {}, "tasks": [{"phases": [], "repeat": {"times": 3}}]}"#;
    text(
        sink,
        "few",
        "a few repetitions",
        &["SCH-05"],
        good,
        json!({"verdict": "accept", "warnings": []}),
        None,
    )?;
    let rows: &[(&str, &str, &str, &str)] = &[
        ("2^24 tasks and one", "", r#"{"phases": [], "repeat": {"times": 16777217}}"#, "/tasks/0"),
        ("the most repetitions", "", r#"{"phases": [], "repeat": {"times": 2147483647}}"#, "/tasks/0"),
        (
            "the second task is too much",
            "",
            r#"{"phases": []}, {"phases": [], "repeat": {"times": 16777216}}"#,
            "/tasks/1",
        ),
        (
            "two tasks together",
            "",
            r#"{"phases": [], "repeat": {"times": 9000000}}, {"phases": [], "repeat": {"times": 9000000}}"#,
            "/tasks/1",
        ),
        ("phases", "", r#"{"phases": [{}, {}, {}, {}, {}], "repeat": {"times": 16000000}}"#, "/tasks/0"),
        (
            "signals",
            "",
            r#"{"phases": [{"signals": [["e", 1], ["f", 1], ["g", 1], ["h", 1]]}], "repeat": {"times": 16000000}}"#,
            "/tasks/0",
        ),
        (
            "waits",
            "",
            r#"{"phases": [{"waits": [["e", 1], ["f", 1], ["g", 1], ["h", 1]]}], "repeat": {"times": 16000000}}"#,
            "/tasks/0",
        ),
        (
            "accesses",
            r#""x": {"shape": [4]}"#,
            r#"{"phases": [{"reads": [["x", null], ["x", null], ["x", null], ["x", null]]}], "repeat": {"times": 16000000}}"#,
            "/tasks/0",
        ),
        (
            "signals and what is left",
            "",
            r#"{"phases": [{"signals": [["e", 1], ["e", 1], ["e", 1]]}, {}], "repeat": {"times": 16000000}}"#,
            "/tasks/0",
        ),
        (
            "signals of a second task",
            "",
            r#"{"phases": [{}]}, {"phases": [{"signals": [["e", 1], ["e", 1], ["e", 1], ["e", 1], ["e", 1]]}], "repeat": {"times": 12000000}}"#,
            "/tasks/1",
        ),
        (
            "phases of two tasks",
            "",
            r#"{"phases": [{}, {}, {}, {}], "repeat": {"times": 9000000}}, {"phases": [{}, {}, {}, {}, {}], "repeat": {"times": 7700000}}"#,
            "/tasks/1",
        ),
        (
            "copies of two tasks",
            r#""x": {"shape": [200000000]}"#,
            r#"{"phases": [{"reads": [["x", {"box": [[0, 1]], "runs": [[0, 2, 40000000]]}]]}]}, {"phases": [{"reads": [["x", {"box": [[0, 1]], "runs": [[0, 2, 40000000]]}]]}]}"#,
            "/tasks/1",
        ),
        (
            "rows of two boxes",
            r#""x": {"shape": [100000000, 2]}"#,
            r#"{"phases": [{"reads": [["x", [[0, 50000000], [0, 1]]], ["x", [[50000000, 100000000], [1, 2]]]]}]}"#,
            "/tasks/0",
        ),
        (
            "rows of a box of three axes",
            r#""x": {"shape": [10000, 10000, 4]}"#,
            r#"{"phases": [{"reads": [["x", [[0, 10000], [0, 10000], [1, 4]]]]}]}"#,
            "/tasks/0",
        ),
        (
            "rows of a box",
            r#""x": {"shape": [100000000, 2]}"#,
            r#"{"phases": [{"reads": [["x", [[0, 100000000], [0, 1]]]]}]}"#,
            "/tasks/0",
        ),
        (
            "copies of a box",
            r#""x": {"shape": [200000000]}"#,
            r#"{"phases": [{"reads": [["x", {"box": [[0, 1]], "runs": [[0, 2, 100000000]]}]]}]}"#,
            "/tasks/0",
        ),
        (
            "copies in repetition",
            r#""x": {"shape": [200000]}"#,
            r#"{"repeat": {"times": 10000}, "phases": [{"reads": [["x", {"box": [[0, 1]], "runs": [[0, 2, 10000]]}]]}]}"#,
            "/tasks/0",
        ),
        (
            "copies of a tensor with a number",
            r#""x0": {"shape": [200000000]}"#,
            r##"{"repeat": {"times": 1}, "phases": [{"reads": [["x#", {"box": [[0, 1]], "runs": [[0, 2, 100000000]]}]]}]}"##,
            "/tasks/0",
        ),
    ];
    for (summary, tensors, tasks, at) in rows {
        let document = format!("{{\"tensors\": {{{tensors}}}, \"tasks\": [{tasks}]}}");
        let expect = json!({"verdict": "reject", "rules": ["ES06"], "at": at});
        let name = megakernel_corpus::families::words(summary);
        text(sink, &name, summary, &["ES06", "SCH-05"], &document, expect, Some("few"))?;
    }
    Ok(())
}

/// What is not too large: documents at a limit, with another rule broken so that nobody need hold them; and intervals that are few.
pub fn sizes(_: &Library, sink: &mut Sink) -> Result<()> {
    let accept = json!({"verdict": "accept", "warnings": []});
    let storage = |bytes: i64| format!(r#""storages": {{"a": {{"bytes": {bytes}}}, "b": {{"bytes": 8}}}}, "#);
    let (number, place) = (("ES01", -1), ("ES04", 7));
    let shape = |shape: &str| format!(r#""x": {{"shape": {shape}}}, "#);
    let rows: Vec<(&str, (&str, i64), String, String)> = vec![
        ("2^24 tasks", number, String::new(), r#"{"phases": [], "repeat": {"times": 16777216}}"#.to_owned()),
        (
            "2^24 tasks in two",
            number,
            String::new(),
            r#"{"phases": [], "repeat": {"times": 16777215}}, {"phases": []}"#.to_owned(),
        ),
        (
            "2^24 tasks in three",
            number,
            String::new(),
            r#"{"phases": []}, {"phases": [], "repeat": {"times": 16777214}}, {"phases": []}"#.to_owned(),
        ),
        (
            "2^26 phases",
            number,
            String::new(),
            r#"{"phases": [{}, {}, {}, {}], "repeat": {"times": 16777216}}"#.to_owned(),
        ),
        (
            "2^26 phases and signals",
            number,
            String::new(),
            r#"{"phases": [{"signals": [["e", 1], ["f", 1], ["g", 1]]}], "repeat": {"times": 16777216}}"#.to_owned(),
        ),
        (
            "2^26 phases and waits",
            number,
            String::new(),
            r#"{"phases": [{"waits": [["e", 1]]}, {"waits": [["f", 1]]}], "repeat": {"times": 16777216}}"#.to_owned(),
        ),
        (
            "2^26 copies",
            place,
            shape("[200000000]"),
            r#"{"phases": [{"reads": [["x", {"box": [[0, 1]], "runs": [[0, 2, 67108864]]}]]}]}"#.to_owned(),
        ),
        (
            "2^26 rows",
            place,
            shape("[8192, 8192, 2]"),
            r#"{"phases": [{"reads": [["x", [[0, 8192], [0, 8192], [1, 2]]]]}]}"#.to_owned(),
        ),
        (
            "2^26 rows and copies in repetition",
            place,
            shape("[8192, 4]"),
            r#"{"repeat": {"times": 4096}, "phases": [{"reads": [["x", {"box": [[0, 8192], [0, 1]], "runs": [[1, 2, 2]]}]]}]}"#
                .to_owned(),
        ),
    ];
    for (summary, (rule, bytes), tensors, tasks) in rows {
        let made = |bytes: i64, tasks: &str| {
            let lies = if rule == "ES04" { "a" } else { "b" };
            let small = format!(r#""y": {{"shape": [8], "storage": "{lies}"}}"#);
            format!("{{{}\"tensors\": {{{tensors}{small}}}, \"tasks\": [{tasks}]}}", storage(bytes))
        };
        let name = megakernel_corpus::families::words(summary);
        let twin = format!("{name}-twin");
        let about = ["ES06", "SCH-05"];
        text(
            sink,
            &twin,
            &format!("the twin of: {summary}"),
            &about,
            &made(8, r#"{"phases": []}"#),
            accept.clone(),
            None,
        )?;
        let expect = json!({"verdict": "reject", "rules": [rule]});
        let summary = format!("{summary} are not too many; what is wrong is a storage");
        text(sink, &name, &summary, &about, &made(bytes, &tasks), expect, Some(&twin))?;
    }
    for (summary, shape, region) in [
        ("rows without a gap between them", "[100000000, 2]", "[[0, 100000000], [0, 2]]"),
        ("planes without a gap between them", "[10000, 10000, 2]", "[[0, 10000], [0, 10000], [0, 2]]"),
        ("rows of one element each", "[134217728, 1]", "[[5, 134217728], [0, 1]]"),
        ("an empty box with many rows", "[100000000, 2]", "[[0, 100000000], [1, 1]]"),
        ("an empty box with many copies", "[200000000]", r#"{"box": [[3, 3]], "runs": [[0, 2, 100000000]]}"#),
    ] {
        let document = format!(
            r#"{{"tensors": {{"x": {{"shape": {shape}, "init": true}}}}, "tasks": [{{"phases": [{{"reads": [["x", {region}]]}}]}}]}}"#
        );
        let name = megakernel_corpus::families::words(summary);
        text(sink, &name, summary, &["ES06", "SCH-04"], &document, accept.clone(), None)?;
    }
    Ok(())
}
