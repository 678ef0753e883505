//! What orders two phases where it is easily forgotten, what does not, and where the bytes of a region lie.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::{Row, accept, pair, pairs};
use crate::build::{Doc, doc};

fn ordered(tasks: &[&str]) -> Doc {
    doc(tasks).with("memory", json!({"queue": "ordered"}))
}

/// One task, repeated.
fn repeated(task: &str, repeat: Value) -> Doc {
    doc(&[task]).of_task(0, "repeat", repeat)
}

/// All is in order.
#[rustfmt::skip] // tables
pub fn order(_: &Library, sink: &mut Sink) -> Result<()> {
    let rows: &[(&str, &[&str])] = &[
        ("the producer stands later", &["?e <x", ">x !e"]),
        ("the producer of a sum stands later", &["?e >x", "+x@g !e"]),
        ("of three tasks the first stands last", &["?f <x", "?e <x >y !f", ">x !e"]),
        ("the second of one group stands first", &["?e +x@g", "+x@g !e"]),
        ("two waits, and both are needed", &[">x !a", ">y !b", "?a ?b <x <y"]),
        ("two waits in two phases, and both are needed", &[">x !a", ">y !b", "?a | ?b <x <y"]),
        ("three waits of three producers", &[">x !a", ">y !b", ">z !c", "?a ?b ?c <x <y <z"]),
        ("the lower wait of an event stands last", &[">x !a:2", ">y !a", "?a:3 ?a <x <y"]),
        ("a wait for all before one for nothing of it", &["+x@g !a", "!b", "?a ?b +x@g"]),
    ];
    for (summary, tasks) in rows {
        accept(sink, summary, summary, &[clause::SCH_08], &doc(tasks))?;
    }
    let rows: &[(&str, &[&str])] = &[
        ("the second phase of a task before its queue goes on", &["q0: | >x", "q0: <x"]),
        ("the third phase of a task before its queue goes on", &["q0: <y | <z | +x@g", "q0: | +x@g"]),
        ("a part of a task that reads late, before a write", &["q2: >y | <x", "q2: >x"]),
        ("the first phase of a task behind its queue", &["q0: >x", "q0: <x | <y"]),
        ("the first of three phases behind its queue", &["q0: >x", "q0: +x@g | <y |"]),
        ("the first phase reads what the last one wrote", &["q3: | >x", "q3: <x | >y", "q3: <y |"]),
        ("another queue between two tasks", &["q0: >x", "q1: >y", "q0: <x"]),
        ("two queues by turns", &["q0: >x", "q1: >y", "q0: <x | >x", "q1: <y", "q0: <x"]),
        ("a task without a queue between two tasks", &["q0: >x", "<y", "q0: <x"]),
        ("a queue, and a task without one far behind", &["q0: >x !e", "q1:", "q2: >y", "q0: >x", "q2: <y"]),
    ];
    for (summary, tasks) in rows {
        accept(sink, summary, summary, &[clause::SCH_08, clause::SCH_06], &ordered(tasks))?;
    }
    // Queues of repeated tasks.
    let writes = json!([{"writes": [["x", null]]}]);
    for (name, queue, repeat) in [
        ("all in the queue that is written", 3, json!({"times": 4})),
        ("all in queue 0", 0, json!({"times": 3})),
        ("no step over four queues", 1, json!({"times": 3, "queues": 4})),
        ("a step over one queue", 0, json!({"times": 3, "queue_step": 1, "queues": 1})),
        ("a step of four over four queues", 2, json!({"times": 3, "queue_step": 4, "queues": 4})),
        ("a step of two over two queues", -1, json!({"times": 4, "queue_step": 2, "queues": 2})),
        ("a step back over two queues", 0, json!({"times": 3, "queue_step": -2, "queues": 2})),
    ] {
        let document = ordered(&[""]).of_task(0, "phases", writes.clone()).of_task(0, "queue", json!(queue)).of_task(0, "repeat", repeat);
        accept(sink, name, name, &[clause::SCH_05, clause::SCH_06], &document)?;
    }
    let behind = |queue: i64, repeat: Value, of: i64| {
        ordered(&["", ""])
            .of_task(0, "phases", json!([{"writes": [["x", null]]}]))
            .of_task(0, "queue", json!(queue))
            .of_task(0, "repeat", repeat)
            .of_task(1, "phases", json!([{"reads": [["x", null]]}]))
            .of_task(1, "queue", json!(of))
    };
    let one = |queues: i64| json!({"times": 1, "queues": queues});
    for (name, document) in [
        ("queue -1 of four is 3", behind(-1, one(4), 3)),
        ("queue -5 of three is 1", behind(-5, one(3), 1)),
        ("queue -8 of four is 0", behind(-8, one(4), 0)),
        ("a step back from 0", behind(0, json!({"times": 2, "queue_step": -4, "queues": 4}), 0)),
        ("queue 6 of four is 2", behind(6, one(4), 2)),
        ("a sum beyond 64 bits", behind(i64::MAX, json!({"times": 2, "queue_step": i64::MAX, "queues": 1}), 0)),
        ("a sum beyond 64 bits, of three", behind(i64::MAX, json!({"times": 2, "queue_step": 6, "queues": 3}), 1)),
    ] {
        accept(sink, name, name, &[clause::SCH_05], &document)?;
    }
    let adds = |task: &str, times: i64| repeated(task, json!({"times": times}));
    for (name, document) in [
        ("a group for each", adds("+x@g#", 3)),
        ("two groups for each", adds("+x[0,4]@g# +x[4,8]@h#", 2)),
        ("a group for each, with words around it", adds("+x@layer#.down", 12)),
    ] {
        accept(sink, name, name, &[clause::SCH_05, clause::SCH_10], &document)?;
    }
    Ok(())
}

/// Pairs of which one looks ordered, and is not.
#[rustfmt::skip] // tables
pub fn unordered(_: &Library, sink: &mut Sink) -> Result<()> {
    let any = |tasks: &[&str]| ordered(tasks).with("any_order", json!([0]));
    let rows: &[Row<'_>] = &[
        ("two writes in a queue in any order", &["q0: >x", "q0: >x"], "/tasks/1/phases/0/writes/0", &["q1: >x", "q1: >x"]),
        ("two writes far apart in a queue in any order", &["q0: >x", "q1:", "q0: >y", "q0: >x"], "/tasks/3/phases/0/writes/0", &["q2: >x", "q1:", "q0: >y", "q2: >x"]),
        ("two writes of a queue in any order, and another queue", &["q0: >x[0,4]", "q0: >x[2,6]", "q1: >y"], "/tasks/1/phases/0/writes/0", &["q0: >x[0,4]", "q0: >x[4,6]", "q1: >y"]),
    ];
    pairs(sink, Rule::ER02, rows, &any)?;
    let rows: &[Row<'_>] = &[
        ("a queue in any order reads before it writes", &["q0: <x", "q0: >x"], "/tasks/1/phases/0/writes/0", &["q3: <x", "q3: >x"]),
    ];
    pairs(sink, Rule::ER01, rows, &any)?;
    let rows: &[Row<'_>] = &[
        ("two additions of the group without a name", &["+x@", "+x@"], "/tasks/1/phases/0/adds/0", &["+x@", "+x"]),
        ("three additions, two of the group without a name", &["+x@", "+x", "+x@"], "/tasks/2/phases/0/adds/0", &["+x@", "+x", "+x@g"]),
        ("parts of the group without a name", &["+x[0,5]@", "+x[4,8]@"], "/tasks/1/phases/0/adds/0", &["+x[0,5]@", "+x[5,8]@"]),
    ];
    pairs(sink, Rule::ER04, rows, &doc)?;
    let groups = |first: &str, second: &str| doc(&[first, second]).of_task(0, "repeat", json!({"times": 3}));
    for (summary, bad, good) in [
        ("the group of a repetition, and one that is called so", ["+x@g#", "+x@g1"], ["+x@g#", "+x@g3"]),
        ("two names of one group", ["+y@g# +x@g#", "+x@g2"], ["+y@g# +x@g#", "+x@g#"]),
    ] {
        let [bad, good] = [bad, good].map(|[first, second]| groups(first, second));
        pair(sink, Rule::ER04, summary, "/tasks/1/phases/0/adds/0", &bad, &good)?;
    }
    let far = |event: &str| {
        doc(&[">x[0,1] !e#", &format!("?{event} <x[0,1]")]).of_task(0, "repeat", json!({"times": 1}))
    };
    for (name, event) in [("a repetition of one", "e0"), ("a repetition of one has its number", "e0:1")] {
        accept(sink, name, name, &[clause::SCH_05], &far(event))?;
    }
    let many = |tasks: [&str; 2], times: i64| doc(&tasks).of_task(0, "repeat", json!({"times": times}));
    for (name, tasks, times) in [
        ("the tenth of a repetition is called 10", ["!e#", "?e10 ?e9"], 11),
        ("the sixteenth of a repetition is called 16", ["!e#", "?e15 ?e16"], 17),
        ("two numbers of two digits", ["!e#.#", "?e12.12"], 13),
        ("a name of numbers alone", ["!#", "?0 ?1"], 2),
        ("three number signs", ["!#a#b#", "?1a1b1"], 2),
        ("a number sign at both ends", ["!#e#", "?3e3"], 4),
        ("a repetition of one task", ["!e#", "?e0"], 1),
        ("a repetition of one task, two events", ["!e# !#f", "?e0 ?0f"], 1),
    ] {
        accept(sink, name, name, &[clause::SCH_05], &many(tasks, times))?;
    }
    for (name, tasks) in [
        ("a number sign in a wait outside of repetition", ["!e#", "?e#"]),
        ("two number signs outside of repetition", ["!# !##", "?# ?##"]),
        ("a number sign in an event, and one that ends in 0", ["!e# !e0", "?e# ?e0"]),
    ] {
        accept(sink, name, name, &[clause::SCH_05], &doc(&tasks))?;
    }
    let rows: &[Row<'_>] = &[
        ("a number sign outside of repetition is no number", &["!e#", "?e0", "?e#"], "/tasks/1/phases/0/waits/0", &["!e#", "?e#"]),
        ("the number of a task outside of repetition", &["|", "q0: !e#", "q0: ?e0", "?e#"], "/tasks/2/phases/0/waits/0", &["|", "q0: !e#", "?e#"]),
    ];
    pairs(sink, Rule::ED01, rows, &doc)
}

fn writes([first, second]: [(&str, &Value); 2], tensors: Value, times: Option<i64>) -> Doc {
    let phases = |(tensor, region): (&str, &Value)| json!([{"writes": [[tensor, region]]}]);
    let made = doc(&["", ""]).of_task(0, "phases", phases(first)).of_task(1, "phases", phases(second));
    let made = made.tensors(tensors).with("storages", json!({"a": {"bytes": 96}}));
    times.into_iter().fold(made, |made, times| made.of_task(0, "repeat", json!({"times": times})))
}

/// Where bytes lie: views in storages, copies, shifts along two axes.
pub fn placed(_: &Library, sink: &mut Sink) -> Result<()> {
    let at = "/tasks/1/phases/0/writes/0";
    let tensors = json!({
        "x": {"shape": [4, 6], "element": 2, "storage": "a", "offset": 16},
        "v": {"shape": [4], "element": 2, "view": "x", "offset": 8},
        "b": {"shape": [8], "view": "x", "offset": 40},
        "y": {"shape": [16], "storage": "a", "offset": 64},
        "w": {"shape": [32]}
    });
    let runs = |bounds: Value, runs: Value| json!({"box": bounds, "runs": runs});
    let rows = [
        // Bytes 24 to 32 of the storage.
        (
            "a view of a tensor in a storage",
            ("x", json!([[0, 1], [3, 6]])),
            ("v", json!([[1, 2]])),
            ("v", json!([[3, 4]])),
        ),
        (
            "the last bytes of a view in a storage",
            ("x", json!([[3, 4], [5, 6]])),
            ("b", json!([[7, 8]])),
            ("b", json!([[0, 5]])),
        ),
        (
            "two views of a tensor in a storage",
            ("v", json!([[0, 4]])),
            ("x", json!([[0, 1], [4, 5]])),
            ("b", Value::Null),
        ),
        (
            "copies of two, four apart",
            ("w", runs(json!([[0, 2]]), json!([[0, 4, 4]]))),
            ("w", json!([[5, 7]])),
            ("w", json!([[6, 8]])),
        ),
        (
            "copies of three, three apart",
            ("w", runs(json!([[0, 3]]), json!([[0, 3, 4]]))),
            ("w", json!([[9, 11]])),
            ("w", json!([[12, 32]])),
        ),
        (
            "copies of two, three apart",
            ("w", runs(json!([[1, 3]]), json!([[0, 3, 5]]))),
            ("w", json!([[13, 15]])),
            ("w", json!([[15, 32]])),
        ),
        (
            "copies of four, five apart",
            ("w", runs(json!([[0, 4]]), json!([[0, 5, 2]]))),
            ("w", json!([[5, 6]])),
            ("w", json!([[9, 32]])),
        ),
        (
            "rows two apart",
            ("x", runs(json!([[0, 1], [0, 6]]), json!([[0, 2, 2]]))),
            ("x", json!([[2, 3], [5, 6]])),
            ("x", json!([[1, 2], [0, 6]])),
        ),
        (
            "rows three apart",
            ("x", runs(json!([[0, 1], [2, 4]]), json!([[0, 3, 2]]))),
            ("x", json!([[3, 4], [3, 4]])),
            ("x", json!([[3, 4], [4, 6]])),
        ),
        (
            "columns and rows",
            ("x", runs(json!([[0, 1], [0, 1]]), json!([[1, 2, 3], [0, 1, 2]]))),
            ("x", json!([[1, 2], [4, 5]])),
            ("x", json!([[1, 2], [5, 6]])),
        ),
        (
            "rows and columns",
            ("x", runs(json!([[0, 1], [0, 1]]), json!([[0, 2, 2], [1, 5, 2]]))),
            ("x", json!([[2, 3], [5, 6]])),
            ("x", json!([[2, 3], [1, 5]])),
        ),
        (
            "copies of copies of two",
            ("w", runs(json!([[0, 2]]), json!([[0, 3, 2], [0, 12, 2]]))),
            ("w", json!([[15, 16]])),
            ("w", json!([[18, 32]])),
        ),
        (
            "three runs",
            ("w", runs(json!([[0, 1]]), json!([[0, 2, 2], [0, 5, 2], [0, 11, 2]]))),
            ("w", json!([[18, 19]])),
            ("w", json!([[17, 18]])),
        ),
        (
            "the copy of the second run alone",
            ("w", runs(json!([[0, 1]]), json!([[0, 2, 2], [0, 20, 2]]))),
            ("w", json!([[22, 23]])),
            ("w", json!([[4, 20]])),
        ),
        (
            "a copy behind the last",
            ("w", runs(json!([[0, 4]]), json!([[0, 8, 2]]))),
            ("w", json!([[11, 12]])),
            ("w", json!([[16, 20]])),
        ),
        (
            "a single copy",
            ("w", runs(json!([[0, 4]]), json!([[0, 8, 1]]))),
            ("w", json!([[3, 9]])),
            ("w", json!([[8, 12]])),
        ),
    ];
    for (summary, first, second, other) in rows {
        let made = |second: &(&str, Value)| {
            writes([(first.0, &first.1), (second.0, &second.1)], tensors.clone(), None)
        };
        pair(sink, Rule::ER02, summary, at, &made(&second), &made(&other))?;
    }
    // Beside each other in a storage, by views.
    let rows = [(
        "a view reaches the next tensor",
        ("b", Value::Null),
        ("y", json!([[0, 1]])),
        ("y", json!([[8, 16]])),
    )];
    for (summary, first, second, _) in rows {
        let twin = writes([(first.0, &first.1), (second.0, &second.1)], tensors.clone(), None);
        accept(sink, summary, "a view ends where the next tensor begins", &[clause::SCH_02], &twin)?;
    }
    let near = |offset: i64| {
        json!({"x": {"shape": [8], "storage": "a", "offset": 8}, "v": {"shape": [4], "view": "x", "offset": 4},
               "y": {"shape": [4], "storage": "a", "offset": offset}})
    };
    for (summary, bad, good) in
        [("a view reaches another tensor", 15, 16), ("another tensor reaches a view", 9, 8)]
    {
        let made = |offset: i64| writes([("v", &Value::Null), ("y", &Value::Null)], near(offset), None);
        pair(sink, Rule::ER07, summary, at, &made(bad), &made(good))?;
    }
    // Shifts of repeated tasks along two axes.
    let at = "/tasks/0/phases/0/writes/0";
    for (summary, bounds, bad, good, times) in [
        ("columns that move by one", json!([[0, 4], [0, 2]]), [0, 1], [0, 2], 3),
        ("blocks that move by their rows alone", json!([[0, 2], [0, 3]]), [1, 0], [2, 3], 2),
        ("elements that move by a column", json!([[0, 1], [0, 2]]), [0, 1], [1, 1], 4),
        ("blocks that do not move", json!([[0, 2], [0, 3]]), [0, 0], [0, 3], 2),
    ] {
        let made = |shift: [i64; 2]| {
            let region = json!({"box": bounds, "shift": shift});
            let empty = json!([[0, 0]]);
            writes([("x", &region), ("w", &empty)], tensors.clone(), Some(times))
        };
        pair(sink, Rule::ER02, summary, at, &made(bad), &made(good))?;
    }
    Ok(())
}
