//! The rules ES.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::{accept, pair, text};
use crate::build::{Doc, doc};

/// A row: what is wrong, where, and the JSON that stands there in the rejected and in the accepted document.
type Value2<'r> = (&'r str, &'r str, Value, Value);

fn put(sink: &mut Sink, rule: Rule, rows: Vec<Value2<'_>>, document: &dyn Fn(Value) -> Doc) -> Result<()> {
    for (summary, at, bad, good) in rows {
        pair(sink, rule, summary, at, &document(bad), &document(good))?;
    }
    Ok(())
}

/// ES01.
pub fn numbers(_: &Library, sink: &mut Sink) -> Result<()> {
    let tensor = |tensor: Value| doc(&[">x"]).tensors(json!({"x": tensor}));
    put(
        sink,
        Rule::ES01,
        vec![
            ("an extent of 0", "/tensors/x/shape/0", json!({"shape": [0]}), json!({"shape": [1]})),
            ("a negative extent", "/tensors/x/shape/1", json!({"shape": [2, -1]}), json!({"shape": [2, 1]})),
            (
                "an extent of 2^31",
                "/tensors/x/shape/0",
                json!({"shape": [2_147_483_648_i64]}),
                json!({"shape": [2_147_483_647]}),
            ),
            (
                "more than 2^62 bytes",
                "/tensors/x",
                json!({"shape": [2_147_483_647, 2_147_483_647], "element": 2}),
                json!({"shape": [2_147_483_647, 2_147_483_647]}),
            ),
            (
                "extents whose product is beyond 64 bits",
                "/tensors/x",
                json!({"shape": [1_000_000_000, 1_000_000_000, 1_000_000_000]}),
                json!({"shape": [1_000_000_000, 1_000_000_000, 4]}),
            ),
            (
                "elements of 0 bytes",
                "/tensors/x/element",
                json!({"shape": [8], "element": 0}),
                json!({"shape": [8], "element": 1}),
            ),
            (
                "elements of 4097 bytes",
                "/tensors/x/element",
                json!({"shape": [8], "element": 4097}),
                json!({"shape": [8], "element": 4096}),
            ),
            (
                "a negative offset",
                "/tensors/x/offset",
                json!({"shape": [8], "offset": -1}),
                json!({"shape": [8], "offset": 0}),
            ),
        ],
        &tensor,
    )?;
    let member = |name: &'static str| move |value: Value| doc(&["!e", "?e"]).with(name, value);
    put(
        sink,
        Rule::ES01,
        vec![(
            "a storage of minus one byte",
            "/storages/a/bytes",
            json!({"a": {"bytes": -1}}),
            json!({"a": {"bytes": 0}}),
        )],
        &member("storages"),
    )?;
    put(
        sink,
        Rule::ES01,
        vec![
            ("a period of 0", "/events/e/period", json!({"e": {"period": 0}}), json!({"e": {"period": 1}})),
            (
                "a negative period of an event with a slash",
                "/events/a~1b/period",
                json!({"a/b": {"period": -1}}),
                json!({"a/b": {"period": 2}}),
            ),
        ],
        &member("events"),
    )?;
    for (summary, bad, at, good) in [
        ("an amount of 0", ["!e !e:0", "?e"], "/tasks/0/phases/0/signals/1/1", ["!e !e:1", "?e"]),
        ("a negative amount", ["!e:-1", "?e"], "/tasks/0/phases/0/signals/0/1", ["!e:1", "?e"]),
        (
            "an amount of 2^31",
            ["!e:2147483648", "?e"],
            "/tasks/0/phases/0/signals/0/1",
            ["!e:2147483647", "?e"],
        ),
        ("a wait for 0", ["!e", "?e:0"], "/tasks/1/phases/0/waits/0/1", ["!e", "?e:1"]),
        ("a negative wait", ["!e", "| ?e:-2"], "/tasks/1/phases/1/waits/0/1", ["!e", "| ?e:1"]),
    ] {
        pair(sink, Rule::ES01, summary, at, &doc(&bad), &doc(&good))?;
    }
    let repeat = |value: Value| doc(&["!e", "?e"]).of_task(0, "repeat", value);
    put(
        sink,
        Rule::ES01,
        vec![
            ("no repetition", "/tasks/0/repeat/times", json!({"times": 0}), json!({"times": 1})),
            (
                "queues modulo 0",
                "/tasks/0/repeat/queues",
                json!({"times": 2, "queues": 0}),
                json!({"times": 2, "queues": 1}),
            ),
        ],
        &repeat,
    )
}

/// ES02.
pub fn regions(_: &Library, sink: &mut Sink) -> Result<()> {
    let at = "/tasks/0/phases/0/writes/0/1";
    let write = |region: Value| {
        let tensors = json!({"x": {"shape": [4, 6]}});
        doc(&[""]).tensors(tensors).of_task(0, "phases", json!([{"writes": [["x", region]]}]))
    };
    let good = json!([[0, 4], [0, 6]]);
    let boxed = |bounds: Value, more: Value| {
        let mut region = json!({"box": bounds});
        if let (Some(region), Some(more)) = (region.as_object_mut(), more.as_object()) {
            region.extend(more.clone());
        }
        region
    };
    let (runs, shift) = ("runs", "shift");
    let rows = vec![
        ("beyond the first axis", at.to_owned(), json!([[0, 5], [0, 6]]), good.clone()),
        ("beyond the second axis", at.to_owned(), json!([[0, 4], [1, 7]]), json!([[0, 4], [1, 6]])),
        ("wholly beyond", at.to_owned(), json!([[4, 5], [0, 6]]), json!([[3, 4], [0, 6]])),
        ("one axis", at.to_owned(), json!([[0, 4]]), good.clone()),
        ("three axes", at.to_owned(), json!([[0, 4], [0, 6], [0, 1]]), good.clone()),
        ("no axis", at.to_owned(), json!([]), good.clone()),
        (
            "an interval that ends before it begins",
            format!("{at}/1"),
            json!([[0, 4], [3, 2]]),
            json!([[0, 4], [3, 3]]),
        ),
        ("a negative begin", format!("{at}/0"), json!([[-1, 4], [0, 6]]), good.clone()),
        (
            "in an object, a negative begin",
            format!("{at}/box/0"),
            boxed(json!([[-1, 4], [0, 6]]), json!({})),
            boxed(json!([[0, 4], [0, 6]]), json!({})),
        ),
        (
            "a run along an axis that is not there",
            format!("{at}/runs/0"),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[2, 1, 2]]})),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[1, 1, 2]]})),
        ),
        (
            "a run with a negative step",
            format!("{at}/runs/1"),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[0, 1, 2], [1, -1, 2]]})),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[0, 1, 2], [1, 0, 2]]})),
        ),
        (
            "a run of no copy",
            format!("{at}/runs/0"),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[0, 1, 0]]})),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[0, 1, 1]]})),
        ),
        (
            "the last copy is beyond",
            at.to_owned(),
            boxed(json!([[0, 4], [0, 2]]), json!({runs: [[1, 3, 3]]})),
            boxed(json!([[0, 4], [0, 2]]), json!({runs: [[1, 2, 3]]})),
        ),
        (
            "two runs together reach beyond",
            at.to_owned(),
            boxed(json!([[0, 1], [0, 2]]), json!({runs: [[1, 2, 2], [1, 3, 2]]})),
            boxed(json!([[0, 1], [0, 2]]), json!({runs: [[1, 2, 2], [1, 2, 2]]})),
        ),
        (
            "a shift of one axis",
            at.to_owned(),
            boxed(json!([[0, 1], [0, 2]]), json!({shift: [1]})),
            boxed(json!([[0, 1], [0, 2]]), json!({shift: [1, 1]})),
        ),
    ];
    for (summary, at, bad, good) in rows {
        pair(sink, Rule::ES02, summary, &at, &write(bad), &write(good))?;
    }
    let moved = |times: i64| {
        let region = boxed(json!([[0, 1], [0, 6]]), json!({shift: [1, 0]}));
        write(region).of_task(0, "repeat", json!({"times": times}))
    };
    pair(sink, Rule::ES02, "the last repetition is beyond", at, &moved(5), &moved(4))?;
    let back = |times: i64| {
        let region = boxed(json!([[3, 4], [0, 6]]), json!({shift: [-1, 0]}));
        write(region).of_task(0, "repeat", json!({"times": times}))
    };
    pair(sink, Rule::ES02, "repetition moves it below 0", at, &back(5), &back(4))?;
    let empty = write(json!([[9, 9], [0, 6]]));
    accept(sink, "empty", "an empty interval beyond the tensor", &[clause::SCH_04], &empty)?;
    Ok(())
}

/// ES03 and ES05.
pub fn names(_: &Library, sink: &mut Sink) -> Result<()> {
    let rows: &[(&str, &[&str], &str, &[&str])] = &[
        ("a read of no tensor", &["<a"], "/tasks/0/phases/0/reads/0/0", &["<x"]),
        ("a write of no tensor", &["<x", ">a"], "/tasks/1/phases/0/writes/0/0", &["<x", ">y"]),
        ("an addition to no tensor", &["| +a@g"], "/tasks/0/phases/1/adds/0/0", &["| +x@g"]),
        ("a tensor in capitals", &["<x <X"], "/tasks/0/phases/0/reads/1/0", &["<x <y"]),
        ("the name of an event", &["!e", "?e <e"], "/tasks/1/phases/0/reads/0/0", &["!e", "?e <x"]),
        ("a number sign outside of repetition", &["<x#"], "/tasks/0/phases/0/reads/0/0", &["<x"]),
    ];
    for (summary, bad, at, good) in rows {
        pair(sink, Rule::ES03, summary, at, &doc(bad), &doc(good))?;
    }
    let tensors = |tensors: Value| doc(&[">x"]).tensors(tensors).with("storages", json!({"a": {"bytes": 8}}));
    put(
        sink,
        Rule::ES03,
        vec![
            (
                "a storage that is not there",
                "/tensors/x/storage",
                json!({"x": {"shape": [8], "storage": "b"}}),
                json!({"x": {"shape": [8], "storage": "a"}}),
            ),
            (
                "a view of nothing",
                "/tensors/x/view",
                json!({"x": {"shape": [8], "view": "a"}}),
                json!({"x": {"shape": [8], "view": "w"}, "w": {"shape": [8]}}),
            ),
            (
                "a view of itself",
                "/tensors/x/view",
                json!({"x": {"shape": [8], "view": "x"}}),
                json!({"x": {"shape": [8]}}),
            ),
            (
                "a view of a view",
                "/tensors/x/view",
                json!({"x": {"shape": [8], "view": "v"}, "v": {"shape": [8], "view": "w"}, "w": {"shape": [8]}}),
                json!({"x": {"shape": [8], "view": "w"}, "v": {"shape": [8], "view": "w"}, "w": {"shape": [8]}}),
            ),
        ],
        &tensors,
    )?;
    let numbered = |times: i64| {
        let tensor = json!({"shape": [8]});
        let tensors = json!({"x0": tensor, "x1": tensor, "x2": tensor});
        doc(&[">x#"]).tensors(tensors).of_task(0, "repeat", json!({"times": times}))
    };
    let at = "/tasks/0/phases/0/writes/0/0";
    pair(sink, Rule::ES03, "the last repetition has no tensor", at, &numbered(4), &numbered(3))?;

    let kind = |kind: &'static str, task: &'static str| {
        move |kind_of: &str| {
            let tensors = json!({"x": {"shape": [8], "kind": if kind_of.is_empty() { kind } else { kind_of }},
                                 "v": {"shape": [4], "view": "x"}});
            doc(&[task]).tensors(tensors)
        }
    };
    for (summary, of, task, at) in [
        ("a write of an input", "input", ">x", "/tasks/0/phases/0/writes/0"),
        ("a write of a weight", "weight", ">x", "/tasks/0/phases/0/writes/0"),
        ("an addition to an input", "input", "+x", "/tasks/0/phases/0/adds/0"),
        ("an addition to a weight", "weight", "+x@g", "/tasks/0/phases/0/adds/0"),
        ("a write of a view of an input", "input", ">v", "/tasks/0/phases/0/writes/0"),
        ("an addition to a view of a weight", "weight", "+v", "/tasks/0/phases/0/adds/0"),
        ("a write of a part", "weight", "<x[0,4] >x[4,8]", "/tasks/0/phases/0/writes/0"),
        ("a write of nothing of it", "weight", ">x[4,4]", "/tasks/0/phases/0/writes/0"),
        ("a write in the last phase", "input", "<x | | >x", "/tasks/0/phases/2/writes/0"),
        ("a write in a queue", "input", "q7: >x", "/tasks/0/phases/0/writes/0"),
    ] {
        let document = kind(of, task);
        pair(sink, Rule::ES05, summary, at, &document(""), &document("cache"))?;
    }
    Ok(())
}

/// ES04.
pub fn places(_: &Library, sink: &mut Sink) -> Result<()> {
    let tensors =
        |tensors: Value| doc(&[">x"]).tensors(tensors).with("storages", json!({"a": {"bytes": 16}}));
    let placed = |shape: i64, element: i64, offset: i64| json!({"x": {"shape": [shape], "element": element, "storage": "a", "offset": offset}});
    let view = |shape: i64, element: i64, offset: i64| {
        json!({"x": {"shape": [shape], "element": element, "view": "w", "offset": offset},
               "w": {"shape": [4], "element": 4}})
    };
    let inner = |offset: i64, of: i64| {
        json!({"x": {"shape": [8], "view": "w", "offset": offset},
               "w": {"shape": [8], "storage": "a", "offset": of}})
    };
    put(
        sink,
        Rule::ES04,
        vec![
            ("a byte too many", "/tensors/x", placed(17, 1, 0), placed(16, 1, 0)),
            ("elements of two bytes", "/tensors/x", placed(9, 2, 0), placed(8, 2, 0)),
            ("an offset", "/tensors/x", placed(8, 1, 9), placed(8, 1, 8)),
            ("wholly behind", "/tensors/x", placed(1, 1, 16), placed(1, 1, 15)),
            ("far behind", "/tensors/x", placed(1, 1, 1 << 62), placed(1, 1, 1)),
            (
                "two axes",
                "/tensors/x",
                json!({"x": {"shape": [4, 5], "storage": "a"}}),
                json!({"x": {"shape": [4, 4], "storage": "a"}}),
            ),
            ("a view larger than its tensor", "/tensors/x", view(17, 1, 0), view(16, 1, 0)),
            ("a view of larger elements", "/tensors/x", view(3, 8, 0), view(2, 8, 0)),
            ("a view with an offset", "/tensors/x", view(2, 4, 9), view(2, 4, 8)),
            ("a view that stays in the storage", "/tensors/x", inner(1, 0), inner(0, 0)),
            ("the tensor of a view", "/tensors/w", inner(0, 9), inner(0, 8)),
        ],
        &tensors,
    )?;
    accept(sink, "whole", "a tensor that fills its storage", &[clause::SCH_02], &tensors(placed(4, 4, 0)))?;
    Ok(())
}

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
