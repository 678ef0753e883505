//! The rules ES03, ES04 and ES05.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::structure::put;
use super::{accept, pair};
use crate::build::doc;

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
                "a storage in capitals",
                "/tensors/x/storage",
                json!({"x": {"shape": [8], "storage": "A"}}),
                json!({"x": {"shape": [8], "storage": "a"}}),
            ),
            (
                "a tensor for a storage",
                "/tensors/x/storage",
                json!({"x": {"shape": [8], "storage": "w"}, "w": {"shape": [8]}}),
                json!({"x": {"shape": [8], "storage": "a"}, "w": {"shape": [8]}}),
            ),
            (
                "a view of the next view",
                "/tensors/v/view",
                json!({"v": {"shape": [8], "view": "w"}, "w": {"shape": [8], "view": "x"}, "x": {"shape": [8]}}),
                json!({"v": {"shape": [8], "view": "x"}, "w": {"shape": [8], "view": "x"}, "x": {"shape": [8]}}),
            ),
            (
                "two views of each other",
                "",
                json!({"v": {"shape": [8], "view": "w"}, "w": {"shape": [8], "view": "v"}, "x": {"shape": [8]}}),
                json!({"v": {"shape": [8], "view": "x"}, "w": {"shape": [8], "view": "x"}, "x": {"shape": [8]}}),
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

    for (summary, task, times, right) in [
        ("the second repetition has no tensor", "<y# >x#", 2, 1),
        ("the last of many repetitions has no tensor", "+z#", 12, 11),
    ] {
        let numbered = |times: i64| {
            let mut tensors =
                serde_json::Map::from_iter([("y0".to_owned(), json!({"shape": [8], "init": true}))]);
            tensors.extend((0..11).map(|k| (format!("z{k}"), json!({"shape": [8], "init": true}))));
            tensors.extend((0..2).map(|k| (format!("x{k}"), json!({"shape": [8]}))));
            doc(&[task]).tensors(Value::Object(tensors)).of_task(0, "repeat", json!({"times": times}))
        };
        let (bad, good) = (numbered(times), numbered(right));
        pair(sink, Rule::ES03, summary, "", &bad, &good)?;
    }
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
