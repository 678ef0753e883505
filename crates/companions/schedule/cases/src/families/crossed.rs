//! What a validator that looks at one thing at a time takes for another: waits for one event with different counts, queues beside fences, tasks
//! without a worker that are repeated, values under several names, and workers that wait in the middle of a task.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::{Row, accept, clean, pair, pairs};
use crate::build::{Doc, doc, task};

/// The tasks of these lines in their places, of which some are repeated.
fn repeated(tasks: &[&str], repeats: &[(usize, Value)]) -> Doc {
    repeats.iter().fold(doc(tasks), |doc, (task, repeat)| doc.of_task(*task, "repeat", repeat.clone()))
}

/// Events, their counts and launches.
#[rustfmt::skip] // tables
pub fn counts(_: &Library, sink: &mut Sink) -> Result<()> {
    // Of two waits for one event the higher one holds.
    let rows: &[(&str, &[&str])] = &[
        ("the lower of two waits stands first, before a read", &[">x !e", ">y !e", "?e ?e:2 <x <y"]),
        ("the lower of two waits stands first, before a write", &["<x !e", "<y !e", "?e ?e:2 >x >y"]),
        ("the lower of two waits stands first, before an addition", &[">x !e:2", ">y !e", "?e:2 ?e:3 +x +y"]),
        ("the lower of two waits stands last, before a write", &["<x !e", "<y !e", "?e:2 ?e >x >y"]),
        ("the lower of two waits stands last, before an addition", &[">x !e:2", ">y !e", "?e:3 ?e:2 +x +y"]),
        ("the lower of three waits stands in the middle", &[">x !e", ">y !e", "?e:2 ?e ?e:2 <x <y"]),
    ];
    for (summary, tasks) in rows {
        accept(sink, summary, summary, &[clause::SCH_08], &doc(tasks))?;
    }
    pairs(sink, Rule::ER01, &[
        ("the same wait twice is not one for two", &[">x !e", "!e", "?e ?e <x"], "/tasks/2/phases/0/reads/0", &[">x !e", "!e", "?e:2 <x"]),
        ("twice a wait for half of an amount", &[">x !e:2", "!e:2", "?e:2 ?e:2 <x"], "/tasks/2/phases/0/reads/0", &[">x !e:2", "!e:2", "?e:4 <x"]),
        ("two waits for one of three", &[">x !e", "!e", "!e", "?e ?e:2 <x"], "/tasks/3/phases/0/reads/0", &[">x !e", "!e", "!e", "?e:3 <x"]),
        ("a wait for one in each of two phases", &["<x !e", "!e", "?e | ?e >x"], "/tasks/2/phases/1/writes/0", &["<x !e", "!e", "?e | ?e:2 >x"]),
        ("a wait for a part behind one for all", &[">x !e", ">y !e", "?e:2 <x <y", "?e <x"], "/tasks/3/phases/0/reads/0", &[">x !e", ">y !e", "?e:2 <x <y", "?e:2 <x"]),
        ("a write behind a wait for a part, and another task waits for all", &["<x !e", "!e", "?e:2 >x !f", "?f", "?e <x"], "/tasks/4/phases/0/reads/0", &["<x !e", "!e", "?e:2 >x !f", "?f <x"]),
    ], &doc)?;
    for (summary, tasks) in [
        ("a wait for all behind one for a part that touches nothing", [">x !e", ">y !e", "?e <z", "?e:2 <x <y"]),
        ("a wait for all of a sum behind one for a part", ["+x !e", "+y !e", "?e <z", "?e:2 >x >y"]),
    ] {
        accept(sink, summary, summary, &[clause::SCH_08], &doc(&tasks))?;
    }
    // What orders two tasks is waited for in a later phase.
    for (summary, tasks) in [
        ("a wait in the second phase orders what it reads", [">x !e", "<y | ?e <x"]),
        ("a wait in the second phase orders what the third adds", [">x !e", "<y | ?e | +x"]),
        ("a wait in the third phase orders what it writes", ["<x !e", "<y | >z | ?e >x"]),
        ("of two tasks the second stands first, and waits late", ["<y | ?e >x", "<x !e"]),
    ] {
        clean(sink, summary, summary, &[clause::SCH_03, clause::SCH_08], &doc(&tasks))?;
    }
    // A chain against the order of the document.
    for (summary, tasks) in [
        ("a chain of reads backwards", ["?f <x", "?e <x !f", ">x !e"]),
        ("a chain backwards, of a sum", ["?f <x", "?e +x@g !f", "+x@g !e"]),
        ("a chain backwards, and the last one writes", ["?f >x", "?e <y !f", "<x !e"]),
    ] {
        accept(sink, summary, summary, &[clause::SCH_08], &doc(&tasks))?;
    }
    // Events that count over launches order as others do.
    let counted = |tasks: &[&str]| doc(tasks).with("events", json!({"e": {"period": 2}}));
    let rows: &[(Rule, Row<'_>)] = &[
        (Rule::ER01, ("an epoch of two, and a wait for one, before a read", &[">x !e", "!e", "?e <x"], "/tasks/2/phases/0/reads/0", &[">x !e", "!e", "?e:2 <x"])),
        (Rule::ER02, ("an epoch of two, and a wait for one, before a write", &[">x !e", "!e", "?e >x"], "/tasks/2/phases/0/writes/0", &[">x !e", "!e", "?e:2 >x"])),
        (Rule::ER03, ("an epoch of two, and a wait for one, before an addition", &["<x !e", "!e", "?e +x"], "/tasks/2/phases/0/adds/0", &["<x !e", "!e", "?e:2 +x"])),
        (Rule::ER04, ("an epoch of two, and its signal is not needed", &["| +x@g !e", "!e", "?e | +x@g"], "/tasks/2/phases/1/adds/0", &["| +x@g !e", "!e", "?e:2 | +x@g"])),
    ];
    for (rule, row) in rows {
        pairs(sink, *rule, &[*row], &counted)?;
    }
    // The second wait of a phase is for an event that drifts.
    pairs(sink, Rule::ED05, &[
        ("the second wait of a phase is for an event that drifts", &["!e", "!f", "?f ?e"], "/events/e/period", &["!e:2", "!f", "?f ?e:2"]),
        ("the third wait of a phase is for an event that drifts", &["!e:3", "!f", "!g", "?f ?g ?e:3"], "/events/e/period", &["!e:2", "!f", "!g", "?f ?g ?e:2"]),
        ("the second wait of a later phase is for an event that drifts", &["!e", "!f", "<x | ?f ?e"], "/events/e/period", &["!e:2", "!f", "<x | ?f ?e:2"]),
    ], &counted)?;
    // `#` in `events` is a character like others.
    let hash = |tasks: &[&str], twice: &[usize], period: i64| {
        let repeats: Vec<(usize, Value)> = twice.iter().map(|&task| (task, json!({"times": 2}))).collect();
        repeated(tasks, &repeats).with("events", json!({"e#": {"period": period}}))
    };
    for (summary, document) in [
        ("an event of a repetition, and one with a mark that has a period", hash(&["!e#", "?e#"], &[0, 1], 5)),
        ("an event of a repetition that a task without one names", hash(&["!e#", "?e0 ?e1"], &[0], 3)),
        ("an event with a mark, outside of repetition, and its period", hash(&["!e#:3", "?e#:3", "!e0", "?e0"], &[], 3)),
        ("an event with a mark and those of a repetition", hash(&["!e#:2", "?e#:2", "!e#", "?e#"], &[2, 3], 2)),
    ] {
        clean(sink, summary, summary, &[clause::SCH_05, clause::SCH_11], &document)?;
    }
    // Each task of a repetition is judged.
    let twice = |rule: Rule, summary: &str, tasks: [&[&str]; 2], at: &str, events: Value| {
        let [bad, good] = tasks.map(|tasks| repeated(tasks, &[(0, json!({"times": 2}))]).with("events", events.clone()));
        (rule, summary.to_owned(), at.to_owned(), bad, good)
    };
    let wait = "/tasks/0/phases/0/waits/0";
    for (rule, summary, at, bad, good) in [
        twice(Rule::ED01, "nobody signals what the second of two waits for", [&["?e#", "!e0"], &["?e#", "!e0 !e1"]], wait, json!({})),
        twice(Rule::ED01, "nobody signals what the second of two waits for late", [&["<x | ?e#", "!e0:4"], &["<x | ?e#", "!e0 !e1"]], "/tasks/0/phases/1/waits/0", json!({})),
        twice(Rule::ED02, "the second of two waits for too much", [&["?e#:2", "!e0:2 !e1"], &["?e#:2", "!e0:2 !e1:2"]], wait, json!({})),
        twice(Rule::ED05, "the second of two waits for an event that drifts", [&["?e#", "!e0 !e1:2"], &["?e#", "!e0 !e1"]], "/events/e1/period", json!({"e1": {"period": 1}})),
    ] {
        pair(sink, rule, &summary, &at, &bad, &good)?;
    }
    Ok(())
}

/// Workers: those that wait in the middle of a task, queues beside fences, and tasks that have none.
#[rustfmt::skip] // tables
pub fn held(_: &Library, sink: &mut Sink) -> Result<()> {
    // Signals come where they stand.
    let rows: &[Row<'_>] = &[
        ("it signals behind a wait that needs it", &["<x | ?e !f", "?f !e"], "/tasks/0/phases/1/waits/0", &["<x !f | ?e", "?f !e"]),
        ("it signals two phases behind a wait that needs it", &["<x | ?e | !f:2", "?f:2 !e"], "/tasks/0/phases/1/waits/0", &["<x !f:2 | ?e |", "?f:2 !e"]),
        ("an amount is there before the wait, and one behind it", &["!f | ?e !f", "?f:2 !e"], "/tasks/0/phases/1/waits/0", &["!f !f | ?e", "?f:2 !e"]),
        ("three tasks of which each signals too late", &["<x | ?c !a", "<y | ?a !b", "<z | ?b !c"], "/tasks/0/phases/1/waits/0", &["<x !a | ?c", "<y | ?a !b", "<z | ?b !c"]),
    ];
    pairs(sink, Rule::ED03, rows, &doc)?;
    // A worker that waits in the middle of a task is not free.
    let rows: &[Row<'_>] = &[
        ("a worker waits in its second phase for what stands behind", &["q0: <x | ?e", "q0: !e"], "/tasks/0/phases/1/waits/0", &["q0: <x | ?e", "q1: !e"]),
        ("a worker waits in its third phase for what stands far behind", &["q0: <x | >y | ?e", "q0: >z", "q0: !e"], "/tasks/0/phases/2/waits/0", &["q0: <x | >y | ?e", "q0: >z", "q1: !e"]),
        ("two workers wait in their second phases for each other", &["q0: <x | ?e", "q1: <y | ?f", "q0: !f", "q1: !e"], "/tasks/0/phases/1/waits/0", &["q0: <x | ?e", "q1: <y | ?f", "q2: !f", "q1: !e"]),
        ("a worker has signalled, and waits for what stands behind", &["q0: !f | ?e", "q0: !e", "q1: ?f"], "/tasks/0/phases/1/waits/0", &["q0: !f | ?e", "q1: ?f", "q1: !e"]),
    ];
    pairs(sink, Rule::ED04, rows, &doc)?;
    // Fences of queues and those of events have nothing to do with each other.
    for (name, value) in [
        ("signals", json!({"queue": "ordered", "signal": "relaxed"})),
        ("waits", json!({"queue": "ordered", "wait": "relaxed"})),
        ("signals and waits", json!({"queue": "ordered", "signal": "relaxed", "wait": "relaxed"})),
    ] {
        let good = doc(&["q0: >x !e", "q0: <x", "q1: ?e"]).with("memory", value);
        let bad = good.clone().of_task(1, "phases", json!([])).of_task(2, "phases", task("?e <x")["phases"].clone());
        pair(sink, Rule::ER01, &format!("relaxed {name} where queues are ordered"), "/tasks/2/phases/0/reads/0", &bad, &good)?;
    }
    // A task without a queue is in none, however often it is repeated.
    let ordered = |queue: &str, phases: &str, repeat: Value| {
        repeated(&[&format!("{queue}{phases}")], &[(0, repeat)]).with("memory", json!({"queue": "ordered"}))
    };
    for (summary, rule, list, phases, repeat) in [
        ("two writes of a repetition", Rule::ER02, "writes", ">x", json!({"times": 2})),
        ("two writes of a repetition over one queue", Rule::ER02, "writes", ">x", json!({"times": 2, "queues": 1})),
        ("colliding additions of a repetition with a step", Rule::ER04, "adds", "+x@g", json!({"times": 3, "queue_step": 2, "queues": 2})),
    ] {
        let (bad, good) = (ordered("", phases, repeat.clone()), ordered("q0: ", phases, repeat));
        pair(sink, rule, &format!("{summary}, without a queue"), &format!("/tasks/0/phases/0/{list}/0"), &bad, &good)?;
    }
    // Repetition leads into a queue in any order, which is not the one that is written.
    let shifted = |list: &str| json!([{list: [["x", {"box": [[0, 1]], "shift": [1]}]]}]);
    let any_order = |tasks: [&str; 2], repeat: Value| {
        repeated(&tasks, &[(0, repeat), (1, json!({"times": 1, "queues": 1}))])
            .with("any_order", json!([0]))
            .with("memory", json!({"queue": "ordered"}))
    };
    for (rule, list, other, access, good) in [
        (Rule::ER01, "writes", "q1: <x[1,2]", "reads", "q1: <x[2,3]"),
        (Rule::ER01, "reads", "q1: >x[1,2]", "writes", "q1: >x[2,3]"),
        (Rule::ER03, "adds", "q1: <x[1,2]", "reads", "q1: <x[2,3]"),
    ] {
        let [bad, good] = [other, good].map(|other| {
            any_order(["q1:", other], json!({"times": 2, "queue_step": -1})).of_task(0, "phases", shifted(list))
        });
        let summary = format!("{list} of a repetition, of which the second stands in a queue in any order");
        pair(sink, rule, &summary, &format!("/tasks/1/phases/0/{access}/0"), &bad, &good)?;
    }
    for (summary, first, repeat) in [
        ("a wait of a repetition, and its signal behind it in a queue in any order", "q1: ?e", json!({"times": 1, "queues": 1})),
        ("two waits of a repetition with a step, and a signal behind them", "q2: ?e", json!({"times": 2, "queue_step": -2, "queues": 2})),
        ("a wait of a repetition that begins below, and its signal", "q-4: ?e", json!({"times": 1, "queues": 2})),
    ] {
        clean(sink, summary, summary, &[clause::SCH_05, clause::SCH_07], &any_order([first, "q1: !e"], repeat))?;
    }
    for (summary, tasks, repeat) in [
        ("the first of a repetition with a step is in the queue that is written", ["q0:", "q0: <x[0,1]"], json!({"times": 2, "queue_step": 1})),
        ("the second of a repetition with a step of two is two queues on", ["q1:", "q3: <x[1,2]"], json!({"times": 2, "queue_step": 2})),
        ("the last of a repetition with a step back", ["q2:", "q0: <x[2,3]"], json!({"times": 3, "queue_step": -1})),
    ] {
        let document = repeated(&tasks, &[(0, repeat)]).with("memory", json!({"queue": "ordered"})).of_task(0, "phases", shifted("writes"));
        clean(sink, summary, summary, &[clause::SCH_05, clause::SCH_06], &document)?;
    }
    // Sums in a queue in any order, and in one queue that events order.
    let any = |tasks: &[&str]| doc(tasks).with("any_order", json!([0]));
    pairs(sink, Rule::ER03, &[
        ("a sum and a read in a queue in any order", &["q0: +x", "q0: <x"], "/tasks/1/phases/0/reads/0", &["q0: +x !e", "q0: ?e <x"]),
        ("a write and a sum in a queue in any order", &["q0: >x", "q0: +x@g"], "/tasks/1/phases/0/adds/0", &["q0: >x !e", "q0: ?e +x@g"]),
        ("a read and a sum far apart in a queue in any order", &["q0: <x", "q0: >y", "q0: +x"], "/tasks/2/phases/0/adds/0", &["q0: <x !e", "q0: >y", "q0: ?e +x"]),
    ], &any)?;
    for (summary, tasks) in [
        ("an event between a sum and a read of one queue", ["q0: +x !e", "q0: ?e <x"]),
        ("an event between the end of a sum and a read of one queue", ["q1: <y | +x !e", "q1: ?e <x"]),
    ] {
        clean(sink, summary, summary, &[clause::SCH_08], &doc(&tasks))?;
    }
    // Queues are numbers without bound.
    let (low, high) = (i64::MIN, i64::MAX);
    for (summary, queue, step, other) in [("above", high, 1, low), ("below", low, -1, high), ("far above", high, high, -2)] {
        let made = |region: &str| {
            repeated(&["", &format!("q{other}: >x{region}")], &[(0, json!({"times": 2, "queue_step": step}))])
                .of_task(0, "queue", json!(queue))
                .of_task(0, "phases", json!([{"writes": [["x", {"box": [[0, 1]], "shift": [1]}]]}]))
                .with("memory", json!({"queue": "ordered"}))
        };
        let summary = format!("a queue {summary} what 64 bits hold is none that they do");
        pair(sink, Rule::ER02, &summary, "/tasks/1/phases/0/writes/0", &made("[1,2]"), &made("[2,3]"))?;
    }
    Ok(())
}

/// Names of values.
#[rustfmt::skip] // tables
pub fn aliases(_: &Library, sink: &mut Sink) -> Result<()> {
    let viewed = |tasks: &[&str]| {
        doc(tasks).tensors(json!({"x": {"shape": [8], "init": true}, "y": {"shape": [8], "init": true},
                                  "v": {"shape": [2, 4], "view": "x"}, "h": {"shape": [4], "view": "x", "offset": 4}}))
    };
    // What races through a view is a race of its value.
    let rows: &[(Rule, Row<'_>)] = &[
        (Rule::ER01, ("a read, and a write of a view", &["<x", ">v"], "/tasks/1/phases/0/writes/0", &["<x !e", "?e >v"])),
        (Rule::ER01, ("a write, and a read of half of it", &[">x", "<h"], "/tasks/1/phases/0/reads/0", &[">x[0,4]", "<h"])),
        (Rule::ER01, ("a write of one view, and a read of another", &[">v[1,2][0,4]", "<h"], "/tasks/1/phases/0/reads/0", &[">v[0,1][0,4]", "<h"])),
        (Rule::ER03, ("a read, and an addition to a view", &["<x", "+v"], "/tasks/1/phases/0/adds/0", &["<x !e", "?e +v"])),
        (Rule::ER03, ("an addition, and a write of half of it", &["+x", ">h"], "/tasks/1/phases/0/writes/0", &["+x[0,4]", ">h"])),
        (Rule::ER03, ("an addition to one view, and a read of another", &["+h@g", "<v[1,2][3,4]"], "/tasks/1/phases/0/reads/0", &["+h[0,3]@g", "<v[1,2][3,4]"])),
        (Rule::ER04, ("two additions of a group, one to a view", &["+x@g", "+v@g"], "/tasks/1/phases/0/adds/0", &["+x@g", "+v@f"])),
        (Rule::ER04, ("two additions of a group, to half of it", &["+h@g", "+x@g"], "/tasks/1/phases/0/adds/0", &["+h@g", "+x[0,4]@g"])),
        (Rule::ER04, ("two additions of a group to two views", &["+h@g", "+v[1,2][0,1]@g"], "/tasks/1/phases/0/adds/0", &["+h@g", "+v[0,1][0,1]@g"])),
        // The group of each addition is its own.
        (Rule::ER04, ("the second additions of two phases collide", &["+x[0,4]@g +x[4,8]@h", "+x[4,8]@h"], "/tasks/1/phases/0/adds/0", &["+x[0,4]@g +x[4,8]@h", "+x[4,8]@g"])),
        (Rule::ER04, ("additions to two tensors, and the second ones collide", &["+x@g +y@h", "+x@f +y@h"], "/tasks/1/phases/0/adds/1", &["+x@g +y@h", "+x@f +y@g"])),
        (Rule::ER04, ("an addition without group, and a second one that collides", &["+x +y@h", "+x@g +y@h"], "/tasks/1/phases/0/adds/1", &["+x +y@h", "+x@h +y"])),
        (Rule::ER04, ("the additions of two later phases collide", &["<y | +x@g", "<y | +x@g"], "/tasks/1/phases/1/adds/0", &["<y | +x@g", "<y | +x@h"])),
        // Each of those before counts.
        (Rule::ER03, ("the first of two additions races with a read", &["+x", "+x !e", "?e <x"], "/tasks/2/phases/0/reads/0", &["+x !e", "+x !e", "?e:2 <x"])),
        (Rule::ER03, ("the first of three additions races with a read of a view", &["+x", "+x !e", "+x !e", "?e:2 <v"], "/tasks/3/phases/0/reads/0", &["+x !e", "+x !e", "+x !e", "?e:3 <v"])),
        (Rule::ER03, ("the first of two additions of a part races with a read", &["+x[0,1]", "+x[0,1] !e", "?e <x"], "/tasks/2/phases/0/reads/0", &["+x[0,1] !e", "+x[0,1] !e", "?e:2 <x"])),
        (Rule::ER01, ("the first of two reads races with a write", &["<x", "<x !e", "?e >x"], "/tasks/2/phases/0/writes/0", &["<x !e", "<x !e", "?e:2 >x"])),
        (Rule::ER03, ("the first of two reads races with an addition", &["<x", "<x !e", "?e +x"], "/tasks/2/phases/0/adds/0", &["<x !e", "<x !e", "?e:2 +x"])),
        (Rule::ER01, ("the first of three reads races with a write of half of it", &["<x", "<x !e", "<x !e", "?e:2 >h"], "/tasks/3/phases/0/writes/0", &["<x !e", "<x !e", "<x !e", "?e:3 >h"])),
        // Each access to a tensor counts.
        (Rule::ER01, ("the first of two reads of a tensor races", &["<x[0,2] <x[6,8]", ">x[0,2]"], "/tasks/1/phases/0/writes/0", &["<x[0,2] <x[6,8]", ">x[2,6]"])),
        (Rule::ER02, ("the first of two writes of a tensor races", &[">x[0,2] >x[6,8]", ">x[1,3]"], "/tasks/1/phases/0/writes/0", &[">x[0,2] >x[6,8]", ">x[2,6]"])),
        (Rule::ER03, ("the first of two additions to a tensor races", &["+x[0,2] +x[6,8]", "<x[1,6]"], "/tasks/1/phases/0/reads/0", &["+x[0,2] +x[6,8]", "<x[2,6]"])),
    ];
    for (rule, row) in rows {
        pairs(sink, *rule, &[*row], &viewed)?;
    }
    // A view takes no storage of its own, whatever it names.
    let stored = |view: Value| {
        doc(&[">x !e", "?e <v"]).tensors(json!({"x": {"shape": [8]}, "v": view})).with("storages", json!({"a": {"bytes": 1}}))
    };
    for (summary, storage) in [("that is not there", "b"), ("that is too small", "a"), ("of the name of its tensor", "x")] {
        let document = stored(json!({"shape": [8], "view": "x", "storage": storage}));
        let summary = format!("a view with a storage {summary}");
        clean(sink, &summary, &summary, &[clause::SCH_02], &document)?;
    }
    // A tensor without a storage begins where its views do, whatever its offset.
    for (rule, tasks, list, good) in [
        (Rule::ER01, [">x[0,4]", "<v"], "reads", [">x[4,8]", "<v"]),
        (Rule::ER02, [">x[0,4]", ">v"], "writes", [">x[4,8]", ">v"]),
        (Rule::ER03, ["+x[0,4]", ">v"], "writes", ["+x[4,8]", ">v"]),
    ] {
        let made = |tasks: &[&str]| {
            doc(tasks).tensors(json!({"x": {"shape": [8], "init": true, "offset": 4}, "v": {"shape": [4], "view": "x"}}))
        };
        pair(sink, rule, "a view of a tensor whose offset means nothing", &format!("/tasks/1/phases/0/{list}/0"), &made(&tasks), &made(&good))?;
    }
    // A tensor and a storage of one name are two things.
    for (summary, tasks) in [("two writes", [">a", ">y"]), ("a read and a write", ["<a", ">y"]), ("an addition and a read", ["+a", "<y"])] {
        let document = doc(&tasks)
            .tensors(json!({"a": {"shape": [8], "init": true}, "y": {"shape": [8], "init": true, "storage": "a"}}))
            .with("storages", json!({"a": {"bytes": 8}}));
        let summary = format!("{summary} of a tensor, and of one in a storage of that name");
        clean(sink, &summary, &summary, &[clause::SCH_02], &document)?;
    }
    // Elements of different sizes in one storage.
    for (summary, rule, tasks, good, list) in [
        ("a read and a write", Rule::ER07, ["<x[2,4]", ">y[1,2]"], ["<x[2,4]", ">y[2,4]"], "writes"),
        ("two writes", Rule::ER07, [">x[3,4]", ">y[1,2]"], [">x[3,4]", ">y[0,1]"], "writes"),
        ("a write and an addition", Rule::ER07, [">x[0,1]", "+y[0,1]"], [">x[0,1]", "+y[1,4]"], "adds"),
    ] {
        let made = |tasks: &[&str]| {
            let tensor = |element: i64| json!({"shape": [4], "element": element, "init": true, "storage": "a"});
            doc(tasks).tensors(json!({"x": tensor(2), "y": tensor(4)})).with("storages", json!({"a": {"bytes": 16}}))
        };
        let summary = format!("{summary} of elements of two bytes and of four in one storage");
        pair(sink, rule, &summary, &format!("/tasks/1/phases/0/{list}/0"), &made(&tasks), &made(&good))?;
    }
    let made = |from: i64| {
        doc(&[">w", &format!("<w[{from},8]")]).tensors(json!({"w": {"shape": [8], "element": 4, "init": true}}))
    };
    pair(sink, Rule::ER01, "all of elements of four bytes, and the last of them", "/tasks/1/phases/0/reads/0", &made(7), &made(8))?;
    // Copies of a box may overlap.
    for (summary, bounds, runs, reach) in [
        ("that overlap", json!([[0, 2]]), json!([[0, 1, 3]]), 4),
        ("that overlap by all but one element", json!([[0, 4]]), json!([[0, 1, 2]]), 5),
        ("of copies that overlap", json!([[0, 2]]), json!([[0, 3, 2], [0, 1, 2]]), 6),
    ] {
        let made = |from: i64| {
            doc(&["", &format!("<x[{from},8]")]).of_task(0, "phases", json!([{"writes": [["x", {"box": bounds, "runs": runs}]]}]))
        };
        pair(sink, Rule::ER01, &format!("a read of the end of copies {summary}"), "/tasks/1/phases/0/reads/0", &made(reach - 1), &made(reach))?;
    }
    // Weights beside what tasks write.
    for (summary, tasks) in [
        ("a weight that two tasks read", [">x !e <w", "?e <x <w"]),
        ("a weight that is read while others write", [">x !e", "?e <x | <w[2,4]"]),
        ("a weight of which a task reads a part", ["<w[0,1]", ">x <w[1,8]"]),
    ] {
        let document = doc(&tasks).tensors(json!({"x": {"shape": [8]}, "w": {"shape": [8], "kind": "weight"}}));
        accept(sink, summary, summary, &[clause::SCH_10], &document)?;
    }
    Ok(())
}
