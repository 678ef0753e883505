//! Which regions overlap, and what repetition makes of them.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::{accept, clean, pair, reject};
use crate::build::{Doc, doc};

fn writes([first, second]: [(&str, &Value); 2], tensors: Value) -> Doc {
    let phases = |(tensor, region): (&str, &Value)| json!([{"writes": [[tensor, region]]}]);
    let tasks = doc(&["", ""]).of_task(0, "phases", phases(first)).of_task(1, "phases", phases(second));
    tasks.tensors(tensors).with("storages", json!({"a": {"bytes": 64}}))
}

/// Two unordered writes: whether they overlap.
pub fn overlaps(_: &Library, sink: &mut Sink) -> Result<()> {
    let at = "/tasks/1/phases/0/writes/0";
    let whole = Value::Null;
    let tensors = || {
        json!({"x": {"shape": [4, 6], "element": 2}, "v": {"shape": [24], "element": 2, "view": "x"},
               "b": {"shape": [12], "view": "x", "offset": 12}})
    };
    let runs = |bounds: Value, runs: Value| json!({"box": bounds, "runs": runs});
    // Two that overlap, and a second one in place of the second that does not.
    let rows = vec![
        (
            "the same",
            ("x", json!([[0, 2], [0, 6]])),
            ("x", json!([[0, 2], [0, 6]])),
            ("x", json!([[2, 4], [0, 6]])),
        ),
        ("all of it", ("x", whole.clone()), ("x", json!([[3, 4], [5, 6]])), ("x", json!([[3, 4], [6, 6]]))),
        (
            "one element",
            ("x", json!([[0, 2], [0, 3]])),
            ("x", json!([[1, 4], [2, 6]])),
            ("x", json!([[1, 4], [3, 6]])),
        ),
        (
            "one row",
            ("x", json!([[0, 3], [0, 6]])),
            ("x", json!([[2, 4], [0, 6]])),
            ("x", json!([[3, 4], [0, 6]])),
        ),
        (
            "columns",
            ("x", json!([[0, 4], [0, 3]])),
            ("x", json!([[0, 4], [2, 4]])),
            ("x", json!([[0, 4], [3, 4]])),
        ),
        (
            "a box within",
            ("x", json!([[0, 4], [0, 6]])),
            ("x", json!([[1, 2], [2, 4]])),
            ("x", json!([[1, 1], [2, 4]])),
        ),
        (
            "a view, the same bytes",
            ("x", json!([[0, 1], [0, 6]])),
            ("v", json!([[0, 6]])),
            ("v", json!([[6, 12]])),
        ),
        (
            "a view, the last element",
            ("x", json!([[3, 4], [0, 6]])),
            ("v", json!([[0, 19]])),
            ("v", json!([[0, 18]])),
        ),
        (
            "a column in a view",
            ("x", json!([[0, 4], [5, 6]])),
            ("v", json!([[5, 6]])),
            ("v", json!([[6, 11]])),
        ),
        (
            "a view with an offset",
            ("x", json!([[1, 2], [0, 6]])),
            ("b", whole.clone()),
            ("b", json!([[3, 3]])),
        ),
        ("bytes of a view", ("x", json!([[1, 2], [0, 1]])), ("b", json!([[1, 2]])), ("b", json!([[2, 3]]))),
        ("two views", ("v", json!([[6, 8]])), ("b", json!([[3, 4]])), ("b", json!([[4, 5]]))),
        (
            "runs that fall into each other's gaps",
            ("v", runs(json!([[0, 2]]), json!([[0, 4, 6]]))),
            ("v", runs(json!([[1, 3]]), json!([[0, 4, 5]]))),
            ("v", runs(json!([[2, 4]]), json!([[0, 4, 6]]))),
        ),
        (
            "only the last copy",
            ("v", runs(json!([[0, 1]]), json!([[0, 5, 4]]))),
            ("v", json!([[11, 24]])),
            ("v", json!([[16, 24]])),
        ),
        (
            "copies of copies",
            ("v", runs(json!([[0, 1]]), json!([[0, 2, 2], [0, 12, 2]]))),
            ("v", json!([[14, 15]])),
            ("v", json!([[13, 14]])),
        ),
        (
            "runs along both axes",
            ("x", runs(json!([[0, 1], [0, 1]]), json!([[0, 2, 2], [1, 3, 2]]))),
            ("x", json!([[2, 3], [3, 4]])),
            ("x", json!([[1, 2], [0, 6]])),
        ),
        (
            "a shift that has no effect here",
            ("v", json!({"box": [[0, 2]], "shift": [10]})),
            ("v", json!([[1, 2]])),
            ("v", json!([[2, 24]])),
        ),
    ];
    for (summary, first, second, other) in rows {
        let made = |second: &(&str, Value)| writes([(first.0, &first.1), (second.0, &second.1)], tensors());
        pair(sink, Rule::ER02, summary, at, &made(&second), &made(&other))?;
    }
    let scalar = |tensors: Value| {
        let (x, y) = (("x", &Value::Null), ("y", &Value::Null));
        writes([x, y], tensors)
    };
    let apart = scalar(json!({"x": {"shape": []}, "y": {"shape": []}}));
    let twin = clean(sink, "scalars apart", "two tensors without axes", &[clause::SCH_02], &apart)?;
    let shared = scalar(json!({"x": {"shape": [], "element": 4, "storage": "a"},
                               "y": {"shape": [], "storage": "a", "offset": 3}}));
    let summary = "two tensors without axes in one storage";
    reject(sink, "scalars shared", summary, (Rule::ER07, Some(at)), &shared, &twin)
}

/// Repeated tasks.
pub fn repeats(_: &Library, sink: &mut Sink) -> Result<()> {
    let shifted = |shift: i64| {
        let region = json!({"box": [[0, 2]], "shift": [shift]});
        doc(&[""]).of_task(0, "phases", json!([{"writes": [["x", region]]}])).of_task(
            0,
            "repeat",
            json!({"times": 4}),
        )
    };
    let at = "/tasks/0/phases/0/writes/0";
    pair(sink, Rule::ER02, "tiles that share an element", at, &shifted(1), &shifted(2))?;
    pair(sink, Rule::ER02, "tiles that do not move", at, &shifted(0), &shifted(2))?;
    // Four tiles, and a reader that waits for so many.
    let joined = |count: i64| {
        let region = json!({"box": [[0, 2]], "shift": [2]});
        let wait = format!("?e:{count} <x");
        doc(&["", &wait])
            .of_task(0, "phases", json!([{"writes": [["x", region]], "signals": [["e", 1]]}]))
            .of_task(0, "repeat", json!({"times": 4}))
    };
    let at = "/tasks/1/phases/0/reads/0";
    pair(sink, Rule::ER01, "a reader of four tiles waits for three", at, &joined(3), &joined(4))?;
    let one_by_one = |wait: &str| {
        let reads = json!([{"waits": [[wait, 1]], "reads": [["x", {"box": [[0, 2]], "shift": [2]}]]}]);
        doc(&["", ""])
            .of_task(
                0,
                "phases",
                json!([{"writes": [["x", {"box": [[0, 2]], "shift": [2]}]], "signals": [[if wait == "all" { "all" } else { "e#" }, 1]]}]),
            )
            .of_task(0, "repeat", json!({"times": 4}))
            .of_task(1, "phases", reads)
            .of_task(1, "repeat", json!({"times": 4}))
    };
    pair(
        sink,
        Rule::ER01,
        "each reads its tile, and waits for any",
        at,
        &one_by_one("all"),
        &one_by_one("e#"),
    )?;
    pair(
        sink,
        Rule::ER01,
        "each reads its tile, and waits for the first",
        at,
        &one_by_one("e0"),
        &one_by_one("e#"),
    )?;
    let missing = |times: i64| {
        doc(&["!e#", "?e#"]).of_task(0, "repeat", json!({"times": times})).of_task(
            1,
            "repeat",
            json!({"times": 4}),
        )
    };
    pair(
        sink,
        Rule::ED01,
        "four wait and three signal",
        "/tasks/1/phases/0/waits/0",
        &missing(3),
        &missing(4),
    )?;
    let groups = |group: &str| {
        doc(&[""]).of_task(0, "phases", json!([{"adds": [["x", null, group]]}])).of_task(
            0,
            "repeat",
            json!({"times": 3}),
        )
    };
    let at = "/tasks/0/phases/0/adds/0";
    pair(sink, Rule::ER04, "one group for all", at, &groups("g"), &groups("g#"))?;
    let queues = |queues: i64| {
        let repeat = json!({"times": 4, "queue_step": 1, "queues": queues});
        doc(&["q0: !e", "?e:4"])
            .of_task(0, "phases", json!([{"writes": [["x", null]], "signals": [["e", 1]]}]))
            .of_task(0, "repeat", repeat)
            .with("memory", json!({"queue": "ordered"}))
    };
    let at = "/tasks/0/phases/0/writes/0";
    pair(sink, Rule::ER02, "four tasks over two queues", at, &queues(2), &queues(1))?;
    let stepped = |step: i64| {
        doc(&["q3:"])
            .of_task(0, "phases", json!([{"writes": [["x", null]]}]))
            .of_task(0, "repeat", json!({"times": 2, "queue_step": step, "queues": 4}))
            .with("memory", json!({"queue": "ordered"}))
    };
    pair(sink, Rule::ER02, "a negative step", at, &stepped(-1), &stepped(-4))?;
    let order = |tasks: [&str; 2]| {
        let [first, second] = tasks;
        doc(&[first, second]).of_task(0, "repeat", json!({"times": 2})).of_task(
            1,
            "repeat",
            json!({"times": 2}),
        )
    };
    let (bad, good) = (order(["q0: ?e:2", "q0: !e"]), order(["q0: !e", "q0: ?e:2"]));
    pair(
        sink,
        Rule::ED04,
        "repetitions stand one behind the other",
        "/tasks/0/phases/0/waits/0",
        &bad,
        &good,
    )?;
    let plain = doc(&["!e#", "?e#"]);
    accept(sink, "a number sign", "outside of repetition it is a character", &[clause::SCH_05], &plain)?;
    let twice = doc(&["!e#f#", "?e2f2 ?e0f0"]).of_task(0, "repeat", json!({"times": 3}));
    accept(sink, "two number signs", "each of them is replaced", &[clause::SCH_05], &twice)?;
    Ok(())
}
