//! The rules ES01 and ES02.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::{accept, pair};
use crate::build::{Doc, doc};

/// A row: what is wrong, where, and the JSON that stands there in the rejected and in the accepted document.
pub(super) type Value2<'r> = (&'r str, &'r str, Value, Value);

pub(super) fn put(
    sink: &mut Sink,
    rule: Rule,
    rows: Vec<Value2<'_>>,
    document: &dyn Fn(Value) -> Doc,
) -> Result<()> {
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
                "extents whose product is 2^64",
                "/tensors/x",
                json!({"shape": [65_536, 65_536, 65_536, 65_536]}),
                json!({"shape": [65_536, 65_536, 65_536, 16_384]}),
            ),
            (
                "elements with which the product is 2^64",
                "/tensors/x",
                json!({"shape": [1 << 30, 1 << 30], "element": 16}),
                json!({"shape": [1 << 30, 1 << 30], "element": 4}),
            ),
            (
                "a product of little more than 2^64",
                "/tensors/x",
                json!({"shape": [1 << 30, 1 << 30, 17]}),
                json!({"shape": [1 << 30, 1 << 30, 4]}),
            ),
            (
                "2^62 elements of two bytes",
                "/tensors/x",
                json!({"shape": [1 << 30, 1 << 30, 4], "element": 2}),
                json!({"shape": [1 << 30, 1 << 30, 2], "element": 2}),
            ),
            (
                "elements of a megabyte",
                "/tensors/x/element",
                json!({"shape": [8], "element": 1 << 20}),
                json!({"shape": [8], "element": 1 << 12}),
            ),
            (
                "the largest elements",
                "/tensors/x/element",
                json!({"shape": [], "element": 2_147_483_647}),
                json!({"shape": [], "element": 2048}),
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
                "the least period",
                "/events/e/period",
                json!({"e": {"period": -2_147_483_647}}),
                json!({"e": {"period": 1}}),
            ),
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
        (
            "a wait for the least number",
            ["!e", "?e:-2147483647"],
            "/tasks/1/phases/0/waits/0/1",
            ["!e", "?e:1"],
        ),
        ("a wait for 0 before another", ["!e", "?e:0 ?e"], "/tasks/1/phases/0/waits/0/1", ["!e", "?e"]),
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
                "queues modulo -1",
                "/tasks/0/repeat/queues",
                json!({"times": 1, "queues": -1}),
                json!({"times": 1, "queues": 1}),
            ),
            (
                "queues modulo -4",
                "/tasks/0/repeat/queues",
                json!({"times": 2, "queue_step": 1, "queues": -4}),
                json!({"times": 2, "queue_step": 1, "queues": 4}),
            ),
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
            "an interval backwards, along the first axis",
            format!("{at}/0"),
            json!([[4, 0], [0, 6]]),
            json!([[0, 4], [0, 6]]),
        ),
        (
            "an interval backwards, in an object",
            format!("{at}/box/0"),
            boxed(json!([[2, 1], [0, 6]]), json!({})),
            boxed(json!([[1, 2], [0, 6]]), json!({})),
        ),
        ("one axis in an object", at.to_owned(), boxed(json!([[0, 4]]), json!({})), good.clone()),
        (
            "one axis, and a shift of one",
            at.to_owned(),
            boxed(json!([[0, 4]]), json!({shift: [0]})),
            boxed(json!([[0, 4], [0, 6]]), json!({shift: [0, 0]})),
        ),
        (
            "no shift for two axes",
            at.to_owned(),
            boxed(json!([[0, 1], [0, 2]]), json!({shift: []})),
            boxed(json!([[0, 1], [0, 2]]), json!({shift: [0, 0]})),
        ),
        (
            "a shift of one axis for an empty box",
            at.to_owned(),
            boxed(json!([[0, 1], [2, 2]]), json!({shift: [0]})),
            boxed(json!([[0, 1], [2, 2]]), json!({shift: [0, 0]})),
        ),
        (
            "a run along the axis -1",
            format!("{at}/runs/0"),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[-1, 1, 2]]})),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[1, 1, 2]]})),
        ),
        (
            "a run along the axis -2",
            format!("{at}/runs/0"),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[-2, 1, 2]]})),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[0, 1, 2]]})),
        ),
        (
            "a second run along the axis -1",
            format!("{at}/runs/1"),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[0, 1, 2], [-1, 0, 1]]})),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[0, 1, 2], [1, 0, 1]]})),
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
            "a run back to the begin",
            format!("{at}/runs/0"),
            boxed(json!([[3, 4], [0, 6]]), json!({runs: [[0, -1, 2]]})),
            boxed(json!([[3, 4], [0, 6]]), json!({runs: [[0, 0, 2]]})),
        ),
        (
            "a run with a negative step and one copy",
            format!("{at}/runs/0"),
            boxed(json!([[0, 4], [0, 6]]), json!({runs: [[1, -6, 1]]})),
            boxed(json!([[0, 4], [0, 6]]), json!({runs: [[1, 0, 1]]})),
        ),
        (
            "a second run of no copy",
            format!("{at}/runs/1"),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[1, 2, 3], [0, 1, 0]]})),
            boxed(json!([[0, 1], [0, 1]]), json!({runs: [[1, 2, 3], [0, 1, 1]]})),
        ),
        (
            "a run of no copy and no step",
            format!("{at}/runs/0"),
            boxed(json!([[0, 4], [0, 6]]), json!({runs: [[0, 0, 0]]})),
            boxed(json!([[0, 4], [0, 6]]), json!({runs: [[0, 0, 1]]})),
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
            "the second of two copies is beyond",
            at.to_owned(),
            boxed(json!([[0, 4], [0, 4]]), json!({runs: [[1, 3, 2]]})),
            boxed(json!([[0, 4], [0, 4]]), json!({runs: [[1, 2, 2]]})),
        ),
        (
            "rows are copied beyond the last",
            at.to_owned(),
            boxed(json!([[0, 2], [0, 6]]), json!({runs: [[0, 1, 4]]})),
            boxed(json!([[0, 2], [0, 6]]), json!({runs: [[0, 1, 3]]})),
        ),
        (
            "three runs together reach beyond",
            at.to_owned(),
            boxed(json!([[0, 4], [0, 3]]), json!({runs: [[1, 1, 2], [1, 1, 2], [1, 2, 2]]})),
            boxed(json!([[0, 4], [0, 3]]), json!({runs: [[1, 1, 2], [1, 1, 2], [1, 1, 2]]})),
        ),
        (
            "two runs along the first axis reach beyond",
            at.to_owned(),
            boxed(json!([[0, 1], [0, 6]]), json!({runs: [[0, 2, 2], [0, 1, 3]]})),
            boxed(json!([[0, 1], [0, 6]]), json!({runs: [[0, 2, 2], [0, 1, 2]]})),
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
    let along = |shift: [i64; 2], bounds: [i64; 4], times: i64| {
        let [low, high, from, to] = bounds;
        let region = boxed(json!([[low, high], [from, to]]), json!({"shift": shift}));
        write(region).of_task(0, "repeat", json!({"times": times}))
    };
    for (summary, shift, bounds, most) in [
        ("repetition moves columns beyond", [0, 2], [0, 4, 0, 2], 3),
        ("repetition moves rows beyond by two", [2, 0], [0, 1, 0, 6], 2),
        ("repetition moves it along both axes", [1, 1], [0, 1, 0, 1], 4),
        ("repetition moves columns below 0", [0, -3], [0, 4, 3, 6], 2),
        ("repetition moves rows below 0 by two", [-2, 0], [2, 3, 0, 6], 2),
        ("repetition moves it up and to the left", [-1, 1], [2, 3, 0, 6 - 3], 3),
    ] {
        pair(sink, Rule::ES02, summary, at, &along(shift, bounds, most + 1), &along(shift, bounds, most))?;
    }
    for (name, region) in [
        ("empty in an object", json!({"box": [[0, 9], [7, 7]]})),
        ("empty with copies beyond", json!({"box": [[0, 0], [0, 6]], runs: [[0, 5, 9]]})),
        ("a step of 0 makes no difference", json!({"box": [[3, 4], [0, 6]], runs: [[0, 0, 7]]})),
        ("a step of 0 along the second axis", json!({"box": [[0, 4], [0, 6]], runs: [[1, 0, 2], [0, 0, 2]]})),
        ("copies up to the end", json!({"box": [[0, 2], [0, 2]], runs: [[0, 2, 2], [1, 2, 3]]})),
    ] {
        accept(sink, name, name, &[clause::SCH_04], &write(region))?;
    }
    let empty = write(json!([[9, 9], [0, 6]]));
    accept(sink, "empty", "an empty interval beyond the tensor", &[clause::SCH_04], &empty)?;
    Ok(())
}
