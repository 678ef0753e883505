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
        ("behind a wait that ends", &["!s", "?s ?b !a", "?a !b"], "/tasks/1/phases/0/waits/1", &["!s", "?s !a | ?b", "?a !b"]),
        ("before a wait that ends", &["!s", "?b ?s !a", "?a !b"], "/tasks/1/phases/0/waits/0", &["!s", "?s !a | ?b", "?a !b"]),
        ("the last of three waits", &["!s", "!t", "?s ?t ?b !a", "?a !b"], "/tasks/2/phases/0/waits/2", &["!s", "!t", "?s ?t !a | ?b", "?a !b"]),
        ("both waits of the same event", &["!s", "?s ?s:2 !a", "?a !s"], "/tasks/1/phases/0/waits/1", &["!s", "?s !a | ?s:2", "?a !s"]),
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
    let rows: &[Row<'_>] = &[
        ("the first wait ends", &["!s", "q0: ?s ?a", "q0: !a"], "/tasks/1/phases/0/waits/1", &["!s", "q0: ?s ?a", "q1: !a"]),
        ("the last of three waits stands behind", &["!s", "!t", "q0: ?s ?t ?a", "q0: !a"], "/tasks/2/phases/0/waits/2", &["!s", "!t", "q0: ?s ?t", "q0: !a", "?a"]),
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
    accept(
        sink,
        "unwaited too small",
        "nobody waits, and the total is larger",
        &clauses,
        &with(&["!e:2", "!e"], json!(1)),
    )?;
    accept(
        sink,
        "unwaited of many",
        "nobody waits for an event in a queue",
        &clauses,
        &with(&["q0: !e !f", "q0: ?f"], json!(2)),
    )?;
    let unsignalled: &[(&str, &[&str])] = &[
        ("nobody signals it, and it has a period", &["!f", "?f ?e"]),
        ("nobody signals it, and two wait", &["?e", "?e:3"]),
        ("nobody signals it, in a queue", &["q0: !f", "q0: ?f | ?e"]),
    ];
    for (summary, tasks) in unsignalled {
        let good = tasks
            .iter()
            .map(|task| task.replace(" ?e", "").replace("?e:3", "").replace("?e", ""))
            .collect::<Vec<_>>();
        let good: Vec<&str> = good.iter().map(String::as_str).collect();
        let (bad, good) = (with(tasks, json!(3)), with(&good, json!(3)));
        pair(sink, Rule::ED01, summary, "", &bad, &good)?;
    }
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
    // A queue that repetition makes.
    let step = |queue: i64, step: i64, any: i64| {
        doc(&["", "!a"])
            .of_task(0, "phases", json!([{}, {"waits": [["a", 1]]}]))
            .of_task(0, "queue", json!(queue))
            .of_task(0, "repeat", json!({"times": 2, "queue_step": step, "queues": 4}))
            .with("any_order", json!([any]))
    };
    let at = "/tasks/0/phases/1/waits/0";
    for (summary, bad, good) in [
        ("the queue of a repetition, modulo four", (4, 0, 0), (4, 0, 4)),
        ("the second repetition stands in the queue", (2, 1, 3), (2, 1, 1)),
        ("a queue below 0, modulo four", (-1, 0, 3), (-1, 0, -1)),
        ("the second repetition comes round to the queue", (3, 1, 0), (3, 1, 7)),
    ] {
        let [bad, good] = [bad, good].map(|(queue, by, any)| step(queue, by, any));
        pair(sink, Rule::ED06, summary, at, &bad, &good)?;
    }
    for (name, queue, any) in [
        ("a queue that is taken modulo four", 4, 4),
        ("a queue beyond those of the repetition", 9, 9),
        ("a queue below 0 that is taken modulo four", -2, -2),
    ] {
        accept(sink, name, name, &[clause::SCH_05], &step(queue, 0, any))?;
    }
    let rows: &[(&str, &[&str])] = &[
        ("a later wait in another queue", &["q1: | ?a", "q0: !a"]),
        ("a later wait beside queues in any order", &["q7: !b | ?a", "q0: ?b !a", "q5:"]),
        ("what stands behind may run first", &["q0: ?a", "q0: !a"]),
        ("any order of a chain", &["q0: ?b", "q0: ?a !b", "q0: !a"]),
        ("crosswise with a queue in order", &["q0: ?b", "q0: !a", "q1: ?a", "q1: !b"]),
    ];
    for (summary, tasks) in rows {
        accept(sink, summary, summary, &[clause::SCH_07, clause::SCH_09], &any(tasks))?;
    }
    Ok(())
}
