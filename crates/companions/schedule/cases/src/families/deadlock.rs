//! The rules ED.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::{Row, accept, pair, pairs};
use crate::build::doc;

/// ED01 and ED02.
#[rustfmt::skip] // tables
pub fn signals(_: &Library, sink: &mut Sink) -> Result<()> {
    let w0 = "/tasks/1/phases/0/waits/0";
    let rows: &[Row<'_>] = &[
        ("another name is signalled", &["!done", "?ready", "?done"], w0, &["!ready", "?ready"]),
        ("a name in another case", &["!e", "?E", "?e"], w0, &["!E", "?E"]),
        ("a mark behind the name", &["!e", "?e_", "?e"], w0, &["!e", "?e"]),
        ("the second of two waits", &["!e", "?e ?f"], "/tasks/1/phases/0/waits/1", &["!e", "?e", "!f", "?f"]),
        ("a wait in the second phase", &["!e", "?e | ?f"], "/tasks/1/phases/1/waits/0", &["!e", "!f", "?e | ?f"]),
        ("a single task waits", &["?e"], "/tasks/0/phases/0/waits/0", &["|"]),
        ("the only signal is in a task that is gone", &["<x", "?e >x"], w0, &["<x !e", "?e >x"]),
        ("one event of a whole layer", &["!a0", "!a1", "?a0 ?a1 ?a2"], "/tasks/2/phases/0/waits/2", &["!a0", "!a1", "!a2", "?a0 ?a1 ?a2"]),
        ("a count of two of nothing", &["!e", "?e ?f:2"], "/tasks/1/phases/0/waits/1", &["!e", "!f:2", "?e ?f:2"]),
        ("in a queue", &["q0: !e", "q0: ?f", "q1: ?e"], w0, &["q0: !e", "q0: ?e"]),
    ];
    pairs(sink, Rule::ED01, rows, &doc)?;
    let rows: &[Row<'_>] = &[
        ("two of one", &["!e", "?e:2"], w0, &["!e:2", "?e:2"]),
        ("three of two tasks", &["!e", "!e", "?e:3"], "/tasks/2/phases/0/waits/0", &["!e", "!e", "?e:2"]),
        ("one more than the amounts", &["!e:4", "!e:4", "?e:9"], "/tasks/2/phases/0/waits/0", &["!e:4", "!e:4", "?e:8"]),
        ("amounts in two phases of a task", &["!e | !e", "?e:3"], w0, &["!e | !e", "?e:2"]),
        ("two signals in one phase", &["!e !e", "?e:3"], w0, &["!e !e", "?e:2"]),
        ("counted as in the launch before", &["!e", "?e:2"], w0, &["!e", "?e"]),
        ("the largest count", &["!e", "?e:2147483647"], w0, &["!e:2147483647", "?e:2147483647"]),
        ("a later wait for more", &["!e:2", "?e:2 | ?e:3"], "/tasks/1/phases/1/waits/0", &["!e:2", "!e", "?e:2 | ?e:3"]),
        ("blocks in place of tasks", &["!e", "!e", "!e", "!e", "?e:16"], "/tasks/4/phases/0/waits/0", &["!e:4", "!e:4", "!e:4", "!e:4", "?e:16"]),
        ("of two waits for one event, the higher", &["!e", "?e ?e:2"], "/tasks/1/phases/0/waits/1", &["!e:2", "?e:2"]),
    ];
    pairs(sink, Rule::ED02, rows, &doc)
}

/// ED03.
#[rustfmt::skip] // tables
pub fn cycles(_: &Library, sink: &mut Sink) -> Result<()> {
    let w = "/tasks/0/phases/0/waits/0";
    let rows: &[Row<'_>] = &[
        ("two tasks", &["?b !a", "?a !b"], w, &["!a | ?b", "?a !b"]),
        ("three tasks", &["?c !a", "?a !b", "?b !c"], w, &["!a | ?c", "?a !b", "?b !c"]),
        ("four tasks and one beside them", &["?d !a", "?a !b", "?b !c", "?c !d", "?d"], w, &["!a | ?d", "?a !b", "?b !c", "?c !d", "?d"]),
        ("a task waits for itself", &["?a !a"], w, &["!a", "?a"]),
        ("a task waits for its own later phase", &["?a | !a"], w, &["!a", "?a |"]),
        ("a task waits for its share of a join", &["!a", "?a:2 !a"], "/tasks/1/phases/0/waits/0", &["!a", "!a | ?a:2"]),
        ("each wait is early enough and not late enough", &["!a | ?b:2 !c", "?c !b:2 | ?a"], "/tasks/0/phases/1/waits/0", &["!a | ?b:2 !c", "!b:2 | ?c", "?a"]),
        ("either of two would do, and both wait", &["?c !e", "?c !e", "?e !c"], w, &["!e", "?c !e", "?e !c"]),
        ("two of three would do, and two wait", &["!e", "?c !e", "?c !e", "?e:2 !c"], "/tasks/1/phases/0/waits/0", &["!e", "!e", "?c !e", "?e:2 !c"]),
        ("amounts that suffice only with the waiting task", &["!e:3", "?e:4 !e:2"], "/tasks/1/phases/0/waits/0", &["!e:3", "?e:3 !e:2"]),
        ("in the middle of tasks", &["| ?b | !a", "| ?a | !b"], "/tasks/0/phases/1/waits/0", &["| !a | ?b", "| ?a | !b"]),
        ("behind a task that runs", &["!s", "?s | ?b !a", "?a !b"], "/tasks/1/phases/1/waits/0", &["!s", "?s !a | ?b", "?a !b"]),
        ("a ring that a count over launches does not break", &["?b !a", "?a !b", "!c", "?c"], w, &["!a", "?a !b", "?b !c", "?c"]),
    ];
    pairs(sink, Rule::ED03, rows, &doc)?;
    for (name, tasks) in [
        ("a wait for the half that is there", &["!e", "?e !f", "?f !e", "?e:2"][..]),
        ("a counter that goes on from step to step", &["!e", "?e:1 !e", "?e:2 !e", "?e:3 !e", "?e:4"][..]),
        ("two tasks hand over and back", &["!a | ?b | !a | ?b:2", "?a !b | ?a:2 !b"][..]),
    ] {
        accept(sink, name, name, &[clause::SCH_07, clause::SCH_09], &doc(tasks))?;
    }
    Ok(())
}

/// ED04.
#[rustfmt::skip] // tables
pub fn queues(_: &Library, sink: &mut Sink) -> Result<()> {
    let w = "/tasks/0/phases/0/waits/0";
    let rows: &[Row<'_>] = &[
        ("it waits for what stands behind it", &["q0: ?a", "q0: !a"], w, &["q0: !a", "q0: ?a"]),
        ("far behind it", &["q0: ?a", "q0: |", "q0:", "q0: !a"], w, &["q0: |", "q0:", "q0: !a", "q0: ?a"]),
        ("in the middle of a task", &["q0: | ?a", "q0: !a"], "/tasks/0/phases/1/waits/0", &["q0: | ?a", "q1: !a"]),
        ("two queues, crosswise", &["q0: ?b", "q0: !a", "q1: ?a", "q1: !b"], w, &["q0: !a", "q0: ?b", "q1: ?a", "q1: !b"]),
        ("three queues in a ring", &["q0: ?c", "q0: !a", "q1: ?a", "q1: !b", "q2: ?b", "q2: !c"], w, &["q0: !a", "q0: ?c", "q1: ?a", "q1: !b", "q2: ?b", "q2: !c"]),
        ("through a task without a queue", &["q0: ?b", "q0: !a", "?a !b"], w, &["q0: !a", "q0: ?b", "?a !b"]),
        ("one part of a join stands behind", &["!a", "q0: ?a:2", "q0: !a"], "/tasks/1/phases/0/waits/0", &["!a", "q0: !a", "q0: ?a:2"]),
        ("the amount of those before does not suffice", &["q0: !a:3", "q0: ?a:4", "q0: !a"], "/tasks/1/phases/0/waits/0", &["q0: !a:3", "q0: ?a:3", "q0: !a"]),
        ("of three signals, two stand behind", &["q1: !a", "q0: ?a:2", "q0: !a", "q0: !a"], "/tasks/1/phases/0/waits/0", &["q1: !a", "q0: ?a", "q0: !a", "q0: !a", "?a:3"]),
        ("a negative queue", &["q-1: ?a", "q-1: !a"], w, &["q-1: ?a", "q1: !a"]),
        ("a loader behind its consumer", &["q0: >x !l", "q0: ?l <x | ?m >y", "q0: !m"], "/tasks/1/phases/1/waits/0", &["q0: >x !l", "q0: ?l <x | ?m >y", "q1: !m"]),
        ("both orders would do, and the queue has the third", &["q0: ?a ?b", "q1: !a", "q0: !b"], "/tasks/0/phases/0/waits/1", &["q0: ?a", "q1: !a", "q0: !b", "?b"]),
    ];
    pairs(sink, Rule::ED04, rows, &doc)?;
    let ordered = |tasks: &[&str]| doc(tasks).with("memory", json!({"queue": "ordered"}));
    let rows: &[Row<'_>] = &[
        ("a queue that orders memory waits no less", &["q0: ?a", "q0: !a"], w, &["q0: ?a", "q1: !a"]),
    ];
    pairs(sink, Rule::ED04, rows, &ordered)?;
    let relaxed = |tasks: &[&str]| doc(tasks).with("memory", json!({"signal": "relaxed", "wait": "relaxed"}));
    let rows: &[Row<'_>] = &[
        ("without fences counts are waited for all the same", &["q0: ?a", "q0: !a"], w, &["q0: !a", "q0: ?a"]),
    ];
    pairs(sink, Rule::ED04, rows, &relaxed)
}

/// ED05: launches.
pub fn epochs(_: &Library, sink: &mut Sink) -> Result<()> {
    let with = |tasks: &[&str], period: Value| doc(tasks).with("events", json!({"e": {"period": period}}));
    let at = "/events/e/period";
    let rows: &[(&str, &[&str], i64, i64)] = &[
        ("a period below the total", &["!e", "!e", "?e:2"], 1, 2),
        ("a period above the total", &["!e", "!e", "?e:2"], 3, 2),
        ("the period is the count of the first wait", &["!e", "?e !e", "?e:2"], 1, 2),
        ("a signal was added and the period was not", &["!e:2", "!e", "?e:3"], 2, 3),
        ("a signal was dropped and the period was not", &["!e", "?e"], 2, 1),
        ("tasks were counted, and the amounts are larger", &["!e:4", "!e:4", "?e:8"], 2, 8),
        ("the total of another event", &["!e", "!f:2", "?e ?f:2"], 2, 1),
        ("signals in two phases", &["!e | !e", "?e:2"], 1, 2),
        ("a partial wait", &["!e", "!e", "?e"], 1, 2),
        ("the largest period", &["!e", "?e"], 2_147_483_647, 1),
        ("in a queue", &["q0: !e", "q0: !e", "q0: ?e:2"], 4, 2),
    ];
    for (summary, tasks, wrong, right) in rows {
        pair(sink, Rule::ED05, summary, at, &with(tasks, json!(wrong)), &with(tasks, json!(right)))?;
    }
    let clauses = [clause::SCH_11, clause::SCH_01];
    accept(sink, "null", "a period of null is none", &clauses, &with(&["!e", "?e"], Value::Null))?;
    accept(sink, "unwaited", "nobody waits for the event", &clauses, &with(&["!e"], json!(7)))?;
    let unused = doc(&["!f", "?f"]).with("events", json!({"e": {"period": 7}}));
    accept(sink, "unused", "an event that no task names", &clauses, &unused)?;
    Ok(())
}

/// ED06: queues in any order.
#[rustfmt::skip] // tables
pub fn workers(_: &Library, sink: &mut Sink) -> Result<()> {
    let any = |tasks: &[&str]| doc(tasks).with("any_order", json!([0, 5]));
    let rows: &[Row<'_>] = &[
        ("what it waits for stands in its queue", &["q0: | ?a", "q0: !a"], "/tasks/0/phases/1/waits/0", &["q0: ?a", "q0: !a"]),
        ("what it waits for stands before it", &["q0: !a", "q0: | ?a"], "/tasks/1/phases/1/waits/0", &["q0: !a", "q0: ?a"]),
        ("what it waits for stands in another queue", &["q0: | ?a", "q1: !a"], "/tasks/0/phases/1/waits/0", &["q1: | ?a", "q0: !a"]),
        ("in the third phase", &["q0: | <x | ?a", "q1: !a"], "/tasks/0/phases/2/waits/0", &["q0: ?a | <x |", "q1: !a"]),
        ("the second queue of the list", &["q5: | ?a", "q1: !a"], "/tasks/0/phases/1/waits/0", &["q5: ?a", "q1: !a"]),
        ("two tasks hold the worker for each other", &["q0: !a | ?b", "q0: !b | ?a"], "/tasks/0/phases/1/waits/0", &["q1: !a | ?b", "q2: !b | ?a"]),
        ("it waits again for what it has waited for", &["!a", "q0: ?a | ?a"], "/tasks/1/phases/1/waits/0", &["!a", "q0: ?a |"]),
        ("it waits for itself", &["q0: !a | ?a"], "/tasks/0/phases/1/waits/0", &["q1: !a", "q0: ?a"]),
        ("one of many tasks", &["q0: !a", "q0: ?a", "q0: | ?a", "q0: ?a"], "/tasks/2/phases/1/waits/0", &["q0: !a", "q0: ?a", "q0: ?a |", "q0: ?a"]),
        ("a loader with a wait at its last block", &["q0: <x | <y ?k", "q1: >z !k"], "/tasks/0/phases/1/waits/0", &["q0: ?k <x | <y", "q1: >z !k"]),
    ];
    pairs(sink, Rule::ED06, rows, &any)?;
    let rows: &[(&str, &[&str])] = &[
        ("what stands behind may run first", &["q0: ?a", "q0: !a"]),
        ("any order of a chain", &["q0: ?b", "q0: ?a !b", "q0: !a"]),
        ("crosswise with a queue in order", &["q0: ?b", "q0: !a", "q1: ?a", "q1: !b"]),
    ];
    for (summary, tasks) in rows {
        accept(sink, summary, summary, &[clause::SCH_07, clause::SCH_09], &any(tasks))?;
    }
    Ok(())
}
