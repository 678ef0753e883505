//! The rules ER05, ER06 and ER08.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::{Row, accept, pair, pairs};
use crate::build::{Doc, doc};

/// ER05.
#[rustfmt::skip] // a table
pub fn uninitialised(_: &Library, sink: &mut Sink) -> Result<()> {
    let never = |tasks: &[&str]| {
        let tensors = json!({"x": {"shape": [8]}, "y": {"shape": [8], "kind": "output"}, "v": {"shape": [4], "view": "x", "offset": 4}});
        doc(tasks).tensors(tensors)
    };
    let rows: &[Row<'_>] = &[
        ("nobody writes", &["<x"], "/tasks/0/phases/0/reads/0", &[">x | <x"]),
        ("it is read before it is written", &["<x | >x"], "/tasks/0/phases/0/reads/0", &[">x | <x"]),
        ("it is read and written in one phase", &["<x >x"], "/tasks/0/phases/0/reads/0", &[">x | <x >x"]),
        ("the reader comes first", &["<x !e", "?e >x"], "/tasks/0/phases/0/reads/0", &[">x !e", "?e <x"]),
        ("one element is missing", &[">x[0,7] !e", "?e <x"], "/tasks/1/phases/0/reads/0", &[">x[0,7] >x[7,8] !e", "?e <x"]),
        ("the first half is missing", &[">x[4,8] !e", "?e <x[2,6]"], "/tasks/1/phases/0/reads/0", &[">x[4,8] !e", "?e <x[4,6]"]),
        ("one of three tiles is missing", &[">x[0,3] !e", ">x[5,8] !e", "?e:2 <x"], "/tasks/2/phases/0/reads/0", &[">x[0,5] !e", ">x[5,8] !e", "?e:2 <x"]),
        ("a sum without a start", &["+x !e", "?e <x[0,0]"], "/tasks/0/phases/0/adds/0", &[">x +x !e", "?e <x[0,0]"]),
        ("an addition before the start value", &["+x | >x"], "/tasks/0/phases/0/adds/0", &[">x | +x"]),
        ("additions of two tasks", &["+x@g !e", "?e +x@g"], "/tasks/1/phases/0/adds/0", &[">x +x@g !e", "?e +x@g"]),
        ("a sum is read, and began with nothing", &[">x[0,4] | +x | <x"], "/tasks/0/phases/2/reads/0", &[">x[0,8] | +x | <x"]),
        ("an output is added to", &["+y"], "/tasks/0/phases/0/adds/0", &[">y +y"]),
        ("an output is read by the next task", &["!e", "?e <y"], "/tasks/1/phases/0/reads/0", &["!e >y", "?e <y"]),
        ("it is read and written in one phase of a later task", &["!e", "?e <x >x"], "/tasks/1/phases/0/reads/0", &["!e >x", "?e <x >x"]),
        ("a part is read and written in one phase", &[">x[0,4] | <x[2,6] >x[4,8]"], "/tasks/0/phases/1/reads/0", &[">x[0,4] | <x[2,4] >x[4,8]"]),
        ("an output is read back", &["<y"], "/tasks/0/phases/0/reads/0", &[">y | <y"]),
        ("through a view", &[">x[0,6] !e", "?e <v"], "/tasks/1/phases/0/reads/0", &[">x[4,8] !e", "?e <v"]),
        ("written through a view, and read whole", &[">v | <x"], "/tasks/0/phases/1/reads/0", &[">v | <x[4,8]"]),
        ("another tensor was written", &[">y !e", "?e <x"], "/tasks/1/phases/0/reads/0", &[">x !e", "?e <x"]),
    ];
    pairs(sink, Rule::ER05, rows, &never)?;
    for kind in ["input", "weight", "cache"] {
        let tensors = json!({"x": {"shape": [8], "kind": kind}});
        let summary = format!("tensors of kind {kind} hold something from the start");
        accept(sink, &summary, &summary, &[clause::SCH_10], &doc(&["<x"]).tensors(tensors))?;
    }
    let input = json!({"x": {"shape": [8], "kind": "input"}, "v": {"shape": [4], "view": "x", "offset": 4}, "y": {"shape": [8], "kind": "input", "init": false}});
    for (summary, tasks) in [("an input is read through a view", ["<v"]), ("an input with init false holds something", ["<y"])] {
        accept(sink, summary, summary, &[clause::SCH_10], &doc(&tasks).tensors(input.clone()))?;
    }
    let own = |of: Value, own: Value| {
        let mut view = json!({"shape": [8], "view": "x"});
        if let (Some(view), Some(own)) = (view.as_object_mut(), own.as_object()) {
            view.extend(own.clone());
        }
        doc(&["<v"]).tensors(json!({"x": of, "v": view}))
    };
    let (filled, empty) = (json!({"shape": [8], "init": true}), json!({"shape": [8]}));
    for (summary, bad, good) in [
        ("a view of its own init", json!({"init": true}), json!({"init": false})),
        ("a view of its own init, once", json!({"init": "once"}), json!({})),
        ("a view of its own kind", json!({"kind": "cache"}), json!({"kind": "activation"})),
    ] {
        let at = "/tasks/0/phases/0/reads/0";
        pair(sink, Rule::ER05, summary, at, &own(empty.clone(), bad), &own(filled.clone(), good))?;
    }
    let summary = "what the host fills for each launch is read and written";
    accept(sink, summary, summary, &[clause::SCH_10], &doc(&["<x +x | >x | <x"]))?;
    let summary = "nothing of it is read";
    accept(sink, summary, summary, &[clause::SCH_04], &never(&["<x[3,3]"]))?;
    Ok(())
}

/// ER06.
#[rustfmt::skip] // a table
pub fn stale(_: &Library, sink: &mut Sink) -> Result<()> {
    let once = |tasks: &[&str]| {
        let tensors = json!({"x": {"shape": [8], "init": "once"}, "y": {"shape": [8], "kind": "output", "init": "once"}, "v": {"shape": [4], "view": "x", "offset": 4}});
        doc(tasks).tensors(tensors)
    };
    let rows: &[Row<'_>] = &[
        ("a sum that goes on", &["+x"], "/tasks/0/phases/0/adds/0", &[">x +x"]),
        ("a sum that goes on, and is read", &["+x !e", "?e <x"], "/tasks/1/phases/0/reads/0", &[">x +x !e", "?e <x"]),
        ("two tasks add", &["+x", "+x"], "/tasks/1/phases/0/adds/0", &[">x !e", "?e +x", "?e +x"]),
        ("it is read, and then written for the next launch", &["<x !e", "?e >x"], "/tasks/0/phases/0/reads/0", &[">x !e", "?e <x"]),
        ("it is read and written in one phase", &["<x >x"], "/tasks/0/phases/0/reads/0", &[">x | <x"]),
        ("a part is set back", &[">x[0,4] | +x"], "/tasks/0/phases/1/adds/0", &[">x[0,8] | +x"]),
        ("it is set back at the end", &["+x !e", "?e <x | >x"], "/tasks/0/phases/0/adds/0", &[">x | +x !e", "?e <x"]),
        ("a part is written before it is read", &[">x[0,2] !e", "?e <x | >x"], "/tasks/1/phases/0/reads/0", &[">x[0,8] !e", "?e <x | >x"]),
        ("an output", &["+y"], "/tasks/0/phases/0/adds/0", &[">y | +y"]),
        ("through a view", &["<v | >x"], "/tasks/0/phases/0/reads/0", &["<x[0,4] | >v"]),
        ("changed through a view", &["<x | >v"], "/tasks/0/phases/0/reads/0", &["<x[0,4] | >v"]),
        ("changed far away", &["<x !e", "?e !f", "?f >x[7,8]"], "/tasks/0/phases/0/reads/0", &["<x[0,7] !e", "?e !f", "?f >x[7,8]"]),
    ];
    pairs(sink, Rule::ER06, rows, &once)?;
    let summary = "what is never changed stays";
    accept(sink, summary, summary, &[clause::SCH_10], &once(&["<x", "<x"]))?;
    let cache = json!({"x": {"shape": [8], "kind": "cache", "init": "once"}});
    let summary = "a cache is meant to be carried over";
    accept(sink, summary, summary, &[clause::SCH_10], &doc(&["<x +x | >x"]).tensors(cache))?;
    Ok(())
}

/// ER08.
#[rustfmt::skip] // a table
pub fn clobbered(_: &Library, sink: &mut Sink) -> Result<()> {
    let shared = |x: Value, y: Value| {
        move |tasks: &[&str]| -> Doc {
            let mut tensors = json!({"x": x, "y": y, "v": {"shape": [4], "view": "x"}});
            for (name, offset) in [("x", 0), ("y", 4)] {
                if let Some(tensor) = tensors.get_mut(name).and_then(Value::as_object_mut) {
                    tensor.extend([("shape".to_owned(), json!([8])), ("storage".to_owned(), json!("a")), ("offset".to_owned(), json!(offset))]);
                }
            }
            doc(tasks).tensors(tensors).with("storages", json!({"a": {"bytes": 12}}))
        }
    };
    // The last four bytes of x are the first four of y.
    let rows: &[Row<'_>] = &[
        ("between writing and reading", &[">x | >y | <x"], "/tasks/0/phases/2/reads/0", &[">x | <x | >y"]),
        ("a part of it", &[">x | >y[0,1] | <x"], "/tasks/0/phases/2/reads/0", &[">x | >y[4,8] | <x"]),
        ("the part that is shared is not written anew", &[">x | >y | >x[0,7] | <x"], "/tasks/0/phases/3/reads/0", &[">x | >y | >x[4,8] | <x"]),
        ("by another task", &[">x !e", "?e >y !f", "?f <x"], "/tasks/2/phases/0/reads/0", &[">x !e", "?e <x !f", "?f >y"]),
        ("an addition goes on with it", &[">x | >y | +x"], "/tasks/0/phases/2/adds/0", &[">x | +x | >y"]),
        ("an addition clobbers it", &[">x | >y | >x | +y"], "/tasks/0/phases/3/adds/0", &[">x | >y | +y"]),
        ("the other one is read after it was replaced", &[">y | >x | <y"], "/tasks/0/phases/2/reads/0", &[">y | >x[0,4] | <y"]),
        ("back and forth, and once too few", &[">x | <x | >y | <y | >x | <y"], "/tasks/0/phases/5/reads/0", &[">x | <x | >y | <y | >x | <x"]),
    ];
    pairs(sink, Rule::ER08, rows, &shared(json!({}), json!({})))?;
    let rows: &[Row<'_>] = &[
        ("a cache is written over", &["<x !e", "?e >y"], "/tasks/0/phases/0/reads/0", &["<x !e", "?e >y[4,8]"]),
        ("a cache is written over, and read through a view", &[">y !e", "?e <x"], "/tasks/1/phases/0/reads/0", &[">y !e", "?e <v"]),
        ("a cache is added to where another value was", &[">y | +x"], "/tasks/0/phases/1/adds/0", &[">x | +x | >y"]),
    ];
    pairs(sink, Rule::ER08, rows, &shared(json!({"kind": "cache"}), json!({})))?;
    let weight = shared(json!({"kind": "weight"}), json!({}));
    let rows: &[Row<'_>] = &[("a weight lies where others work", &["<x !e", "?e >y"], "/tasks/0/phases/0/reads/0", &["<x !e", "?e >y[4,8]"])];
    pairs(sink, Rule::ER08, rows, &weight)?;
    let once = shared(json!({"init": "once"}), json!({}));
    let rows: &[Row<'_>] = &[("a table that the host fills once", &["<x !e", "?e >y"], "/tasks/0/phases/0/reads/0", &["<x !e", "?e >y[4,8]"])];
    pairs(sink, Rule::ER08, rows, &once)?;
    let launch = shared(json!({"init": true}), json!({}));
    let summary = "what the host fills for each launch may be written over";
    let good = launch(&["<x !e", "?e >y"]);
    pair(sink, Rule::ER08, summary, "/tasks/1/phases/0/reads/0", &launch(&[">y !e", "?e <x"]), &good)
}

/// What a launch finds as the last one left it, or as the host puts it; and what a phase does one after the other.
#[rustfmt::skip] // tables
pub fn kept(_: &Library, sink: &mut Sink) -> Result<()> {
    let beside = |x: Value| {
        move |tasks: &[&str]| -> Doc {
            let mut tensors = json!({"x": x, "y": {"init": true}});
            for (name, offset) in [("x", 0), ("y", 4)] {
                if let Some(tensor) = tensors.get_mut(name).and_then(Value::as_object_mut) {
                    tensor.extend([("shape".to_owned(), json!([8])), ("storage".to_owned(), json!("a")), ("offset".to_owned(), json!(offset))]);
                }
            }
            doc(tasks).tensors(tensors).with("storages", json!({"a": {"bytes": 12}}))
        }
    };
    for (what, of) in [
        ("a weight", json!({"kind": "weight"})),
        ("a cache", json!({"kind": "cache"})),
        ("a table that is filled once", json!({"init": "once"})),
        ("an output that is filled once", json!({"kind": "output", "init": "once"})),
    ] {
        let document = beside(of);
        for (how, bad, good) in [
            ("another value is written there", ["<x !e", "?e >y"], ["<x !e", "?e >y[4,8]"]),
            ("another value is added to there", ["<x !e", "?e +y"], ["<x !e", "?e +y[4,8]"]),
            ("one byte of another value is added to", ["<x !e", "?e +y[0,1]"], ["<x[0,4] !e", "?e +y[0,1]"]),
        ] {
            let at = "/tasks/0/phases/0/reads/0";
            pair(sink, Rule::ER08, &format!("{what}: {how}"), at, &document(&bad), &document(&good))?;
        }
    }
    for (what, of) in [
        ("an input", json!({"kind": "input"})),
        ("an input that says once", json!({"kind": "input", "init": "once"})),
        ("an input that says false", json!({"kind": "input", "init": false})),
        ("a tensor that is filled for each launch", json!({"init": true})),
        ("an output that is filled for each launch", json!({"kind": "output", "init": true})),
    ] {
        let summary = format!("{what} is put back");
        accept(sink, &summary, &summary, &[clause::SCH_10], &beside(of)(&["<x !e", "?e >y"]))?;
    }
    // A phase writes in the order of its array, and adds behind that.
    let document = beside(json!({}));
    let rows: &[Row<'_>] = &[
        ("written, and written over in the same phase", &[">x >y | <x"], "/tasks/0/phases/1/reads/0", &[">y >x | <x"]),
        ("written over and back in the same phase", &[">y >x >y | <x"], "/tasks/0/phases/1/reads/0", &[">x >y >x | <x"]),
        ("the second of two writes stays", &[">x[4,8] >y[0,4] !e", "?e <x[4,8]"], "/tasks/1/phases/0/reads/0", &[">y[0,4] >x[4,8] !e", "?e <x[4,8]"]),
        ("an addition behind all writes", &[">y >x +y | <x"], "/tasks/0/phases/1/reads/0", &[">y >x +x | <x"]),
    ];
    pairs(sink, Rule::ER08, rows, &document)?;
    Ok(())
}
