//! IS06 to IS08: two producers, none, and states, in each kind of place.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use serde_json::{Value, json};

use super::{Edit, allowed, breaks, push, scenes};
use crate::plant::{add, replace};

const BEGIN: &str = "/regions/0/streaming/tile/begin";
const EACH: &str = "/regions/0/streaming/tile/each";
const END: &str = "/regions/0/streaming/tile/end";
const NEXT: &str = "/regions/1/streaming/tile";

fn compute(function: &str, ins: &[&str], out: &str) -> Value {
    json!({"id": "extra", "op": "Compute", "fn": function, "in": ins, "out": [out]})
}

fn load(tensor: &str, tile: &str, at: Value) -> Value {
    json!({"id": "extra", "op": "LoadTile", "in": [tensor], "out": [tile], "at": at})
}

fn store(tile: &str, tensor: &str) -> Value {
    json!({"id": "extra", "op": "StoreTile", "in": [tile], "out": [tensor], "at": [0]})
}

fn reduce(tile: &str, out: &str) -> Value {
    json!({"id": "extra", "op": "Reduce", "fn": "sum", "axis": 0, "in": [tile], "out": [out]})
}

fn tile(name: &str) -> Value {
    add(format!("/values/{name}"), json!({"shape": [4], "dtype": "F32", "residency": "register"}))
}

/// IS06 in the document with every member.
fn twice() -> Vec<Edit> {
    let mut found = Vec::new();
    for (name, place, index) in [
        ("a constant in the first index", 0, json!(["i", 4])),
        ("a coefficient in the first index", 0, json!([[2, "i"]])),
        ("a number for the first index", 0, json!(0)),
        ("a constant in the second index", 1, json!(["j", 4])),
        ("a coefficient in the second index", 1, json!([[2, "j"]])),
        ("a sign in the second index", 1, json!([[-1, "j"]])),
        ("a number for the second index", 1, json!(0)),
        ("an axis more in the second index", 1, json!(["j", "i"])),
        ("the other axis in the second index", 1, json!("i")),
        ("a constant in the last index", 2, json!(1)),
        ("an axis in the last index", 2, json!("i")),
    ] {
        let edit = vec![replace(format!("{EACH}/0/at/{place}"), index)];
        found.push(breaks(
            format!("Prefetches that differ by {name}"),
            "IS06",
            format!("{EACH}/0/out/0"),
            edit,
        ));
    }
    for (name, place, index) in [
        ("coefficients that add up", 0, json!([[3, "i"], [-2, "i"]])),
        ("constants that cancel out", 1, json!([4, "j", -4])),
        ("an axis that cancels out", 1, json!(["i", "j", [-1, "i"]])),
        ("a coefficient of 0", 1, json!([[0, "i"], "j"])),
    ] {
        let edit = vec![replace(format!("{EACH}/1/at/{place}"), index)];
        found.push(allowed(format!("Prefetches whose indices are written with {name}"), edit));
    }
    let rows = "/regions/0/outputs/2";
    for (name, at, out, node, more) in [
        ("a tile that is loaded twice", format!("{BEGIN}/3"), 0, load("RR", "r", json!(["i"])), vec![]),
        (
            "a tile that is loaded and then loaded in each iteration",
            format!("{EACH}/0"),
            0,
            load("RR", "r", json!(["i"])),
            vec![],
        ),
        (
            "a tile that is loaded and then computed",
            format!("{EACH}/11"),
            0,
            compute("copy", &["t"], "r"),
            vec![],
        ),
        (
            "a tile that is prefetched and then loaded",
            format!("{EACH}/2"),
            0,
            load("WW", "w", json!(["i", "j"])),
            vec![],
        ),
        (
            "a tile that is prefetched and then computed",
            format!("{EACH}/11"),
            0,
            compute("copy", &["d"], "w"),
            vec![],
        ),
        ("a tile that is computed twice", format!("{EACH}/11"), 0, compute("copy", &["d"], "a"), vec![]),
        ("a tile that is reduced twice", format!("{EACH}/11"), 0, reduce("p", "t"), vec![]),
        ("a tile that is computed and then reduced", format!("{EACH}/11"), 0, reduce("p", "q"), vec![]),
        (
            "a tile of an update that is computed",
            format!("{EACH}/11"),
            0,
            compute("copy", &["d"], "p"),
            vec![],
        ),
        (
            "a tile of an iteration that is computed behind the stream",
            format!("{END}/3"),
            0,
            compute("copy", &["e"], "t"),
            vec![],
        ),
        (
            "a tile that the other region loads too",
            format!("{NEXT}/begin/3"),
            0,
            load("YY", "r", json!(["k"])),
            vec![],
        ),
        (
            "a tile that the other region computes too",
            format!("{NEXT}/end/3"),
            0,
            compute("copy", &["n"], "e"),
            vec![],
        ),
        ("a tensor that is stored twice", format!("{END}/3"), 0, store("m", "MM"), vec![]),
        (
            "a tensor that is stored before the stream too",
            format!("{END}/1"),
            0,
            store("e", "YY"),
            vec![add(format!("{BEGIN}/1"), store("r", "YY"))],
        ),
        (
            "a tensor that the other region stores too",
            format!("{NEXT}/end/3"),
            0,
            store("n", "YY"),
            vec![add("/regions/1/outputs/2", "YY")],
        ),
        ("an input that is stored", format!("{END}/3"), 0, store("e", "RR"), vec![add(rows, "RR")]),
        (
            "an input of nobody else that is stored",
            format!("{END}/3"),
            0,
            store("e", "EE"),
            vec![
                add(rows, "EE"),
                add("/inputs/3", "EE"),
                add("/values/EE", json!({"shape": [8], "dtype": "F32", "residency": "global"})),
            ],
        ),
    ] {
        // The second store of a tensor stands there already where the edit puts another one before it.
        let mut edit = more;
        let is_there = edit.iter().any(|edit| edit["path"] == format!("{BEGIN}/1"));
        if !is_there {
            edit.push(add(&at, node));
        }
        let place = format!("{at}/out/{out}");
        found.push(breaks(name, "IS06", place, edit));
    }
    found
}

/// IS07 in the document with every member.
fn early() -> Vec<Edit> {
    let mut found = Vec::new();
    for (name, place, tile) in [
        ("a tile of a later node", format!("{EACH}/4/in/0"), "d"),
        ("a tile of the next node", format!("{EACH}/5/in/0"), "c"),
        ("a tile of itself", format!("{EACH}/6/in/0"), "c"),
        ("a tile of a later node in second place", format!("{EACH}/6/in/1"), "d"),
        ("a tile of a later update", format!("{EACH}/7/in/1"), "q"),
        ("a tile of the update itself", format!("{EACH}/8/in/0"), "p"),
        ("a tile of a later node to reduce", format!("{EACH}/3/in/0"), "b"),
        ("a tile of a later node for an update", format!("{EACH}/8/in/0"), "t"),
        ("a tile of what comes behind the stream", format!("{EACH}/10/in/2"), "e"),
        ("a tile of the other region", format!("{EACH}/10/in/1"), "y"),
        ("a tile of an iteration behind the stream", format!("{END}/0/in/0"), "q"),
        ("a tile of an iteration behind the stream in second place", format!("{END}/0/in/1"), "t"),
        ("a tile of an iteration to store", format!("{END}/1/in/0"), "t"),
        ("a prefetched tile behind the stream", format!("{END}/0/in/0"), "w"),
        ("a prefetched tile behind the stream in second place", format!("{END}/0/in/1"), "x"),
        ("a tile of the first region", format!("{NEXT}/begin/2/in/0"), "r"),
        ("a tile of the first region in second place", format!("{NEXT}/end/0/in/1"), "e"),
        ("a state of the first region", format!("{NEXT}/begin/2/in/1"), "m"),
        ("a state of the first region to store", format!("{NEXT}/end/1/in/0"), "s"),
        ("a prefetched tile of the first region", format!("{NEXT}/end/0/in/0"), "w"),
    ] {
        found.push(breaks(name, "IS07", &place, vec![replace(&place, tile)]));
    }
    for (name, at, node) in [
        ("a prefetched tile before the stream", format!("{BEGIN}/3"), compute("copy", &["x"], "v")),
        (
            "a prefetched tile before the stream and its Prefetch",
            format!("{BEGIN}/0"),
            compute("copy", &["w"], "v"),
        ),
        ("a prefetched tile that is reduced before the stream", format!("{BEGIN}/3"), reduce("w", "v")),
        ("a tile of an iteration before the stream", format!("{BEGIN}/3"), compute("copy", &["t"], "v")),
        ("a tile of the end before the stream", format!("{BEGIN}/3"), compute("copy", &["e"], "v")),
    ] {
        found.push(breaks(name, "IS07", format!("{at}/in/0"), vec![tile("v"), add(at, node)]));
    }
    let tensor =
        |shape: &[i64]| add("/values/nobody", json!({"shape": shape, "dtype": "F32", "residency": "global"}));
    found.push(breaks(
        "a LoadTile of what nobody stores",
        "IS07",
        format!("{BEGIN}/0/in/0"),
        vec![
            tensor(&[8]),
            replace(format!("{BEGIN}/0/in/0"), "nobody"),
            replace("/regions/0/inputs/2", "nobody"),
        ],
    ));
    found.push(breaks(
        "a Prefetch of what nobody stores",
        "IS07",
        format!("{BEGIN}/2/in/0"),
        vec![
            tensor(&[8, 8]),
            replace(format!("{BEGIN}/2/in/0"), "nobody"),
            replace(format!("{EACH}/1/in/0"), "nobody"),
            replace("/regions/0/inputs/1", "nobody"),
        ],
    ));
    found.push(breaks(
        "a LoadTile of what the next region stores",
        "IS07",
        format!("{BEGIN}/0/in/0"),
        vec![replace(format!("{BEGIN}/0/in/0"), "ZZ"), replace("/regions/0/inputs/2", "ZZ")],
    ));
    found
}

/// IS08 in the document with every member: two states in one update, and what is no place of a state.
fn misplaced() -> Vec<Edit> {
    let update = format!("{EACH}/8");
    let mut found = Vec::new();
    for (name, place, state) in [
        ("an update from the sum of weights in place of the largest score", "in/1", "l"),
        ("an update from the largest score in place of the sum of weights", "in/2", "m"),
        ("an update from a state of another node in place of the largest score", "in/1", "s"),
        ("an update from a state of another node in place of the sum of weights", "in/2", "s"),
        ("an update from a tile in place of the largest score", "in/1", "r"),
        ("an update from a tile in place of the sum of weights", "in/2", "r"),
        ("an update of a state of another node in place of the largest score", "out/0", "s"),
        ("an update of a state of another node in place of the sum of weights", "out/1", "s"),
    ] {
        found.push(breaks(name, "IS08", &update, vec![replace(format!("{update}/{place}"), state)]));
    }
    found.push(breaks(
        "a state in place of weights",
        "IS08",
        format!("{update}/out/2"),
        vec![replace(format!("{update}/out/2"), "s"), replace(format!("{EACH}/9/in/0"), "d")],
    ));
    found.push(breaks(
        "a state in place of factors",
        "IS08",
        format!("{update}/out/3"),
        vec![replace(format!("{update}/out/3"), "s"), replace(format!("{EACH}/10/in/1"), "t")],
    ));
    for (name, place) in [("scores", "8/in/0"), ("factors", "10/in/1"), ("addends", "10/in/2")] {
        let state = if name == "scores" { "m" } else { "s" };
        let place = format!("{EACH}/{place}");
        let edit = vec![replace(&place, state)];
        found.push(breaks(format!("an update of a state with itself for {name}"), "IS08", place, edit));
    }
    for (name, at, node) in [
        ("a LoadTile", format!("{BEGIN}/3"), load("RR", "m", json!(["i"]))),
        ("a LoadTile in the stream", format!("{EACH}/11"), load("RR", "s", json!(["i"]))),
        ("a Reduce", format!("{EACH}/11"), reduce("p", "l")),
        ("a Reduce behind the stream", format!("{END}/1"), reduce("e", "l")),
        ("a Compute", format!("{EACH}/11"), compute("copy", &["t"], "s")),
        ("a Compute before the stream", format!("{BEGIN}/3"), compute("copy", &["r"], "l")),
    ] {
        found.push(breaks(
            format!("{name} that writes a state"),
            "IS08",
            format!("{at}/out/0"),
            vec![add(at, node)],
        ));
    }
    found.push(breaks(
        "a state of two regions",
        "IS08",
        "/regions/1/streaming/state/0/value",
        vec![
            add("/regions/1/streaming/state", json!([{"value": "s", "init": 0}])),
            add(
                format!("{NEXT}/each/1"),
                json!({"id": "keep", "op": "UpdateState", "fn": "add", "in": ["s", "y"], "out": ["s"]}),
            ),
        ],
    ));
    found.push(breaks(
        "a tensor as a state",
        "IS08",
        "/regions/0/streaming/state/3/value",
        vec![add("/regions/0/streaming/state/3", json!({"value": "RR", "init": 0}))],
    ));
    found.push(breaks(
        "a state that nobody updates",
        "IS08",
        "/regions/0/streaming/state/3",
        vec![tile("v"), add("/regions/0/streaming/state/3", json!({"value": "v", "init": 0}))],
    ));
    found
}

/// IS08 in the document with two states: what reads one too early, and what updates it a second time.
fn ordered() -> Vec<Edit> {
    let mut found = Vec::new();
    let update = |function: &str, ins: [&str; 2]| json!({"id": "extra", "op": "UpdateState", "fn": function, "in": ins, "out": [ins[0]]});
    let most = json!({"id": "most", "op": "UpdateState", "fn": "max", "in": ["u", "s"], "out": ["u"]});
    let sum = json!({"id": "sum", "op": "UpdateState", "fn": "add", "in": ["s", "x"], "out": ["s"]});
    found.push(breaks(
        "another update reads it first",
        "IS08",
        format!("{EACH}/2/in/1"),
        vec![replace(format!("{EACH}/2"), most), replace(format!("{EACH}/3"), sum)],
    ));
    for (name, place, at, node) in [
        ("a Compute reads it first", 0, format!("{EACH}/0"), compute("copy", &["s"], "v")),
        (
            "a Compute reads it first as the second operand",
            1,
            format!("{EACH}/2"),
            compute("add", &["x", "s"], "v"),
        ),
        (
            "a Compute reads the other one between both updates",
            0,
            format!("{EACH}/3"),
            compute("neg", &["u"], "v"),
        ),
        (
            "a Reduce reads it first",
            0,
            format!("{EACH}/1"),
            json!({"id": "extra", "op": "Reduce", "fn": "sum", "axis": 0, "in": ["s"], "out": ["v"]}),
        ),
        ("a Compute reads it before the stream", 0, format!("{BEGIN}/1"), compute("exp", &["u"], "v")),
    ] {
        found.push(breaks(name, "IS08", format!("{at}/in/{place}"), vec![tile("v"), add(at, node)]));
    }
    let tensor = [
        add("/values/T", json!({"shape": [4], "dtype": "F32", "residency": "global"})),
        add("/boundaries/1", json!({"value": "T"})),
        add("/regions/0/outputs/1", "T"),
    ];
    for (name, at) in [("before the stream", format!("{BEGIN}/1")), ("in the stream", format!("{EACH}/2"))] {
        let mut edit = tensor.to_vec();
        edit.push(add(&at, store("s", "T")));
        found.push(breaks(format!("a StoreTile reads it first {name}"), "IS08", format!("{at}/in/0"), edit));
    }
    for (name, place) in [("itself", format!("{EACH}/2/in/1")), ("a state itself", format!("{EACH}/3/in/1"))]
    {
        let own = if place.contains("/2/") { "s" } else { "u" };
        found.push(breaks(format!("an update by {name}"), "IS08", &place, vec![replace(&place, own)]));
    }
    for (name, at) in [
        ("from the other state", format!("{EACH}/2")),
        ("from the other state that is new", format!("{EACH}/3")),
    ] {
        let other = if at.ends_with('2') { "u" } else { "s" };
        found.push(breaks(
            format!("an update {name}"),
            "IS08",
            &at,
            vec![replace(format!("{at}/in/0"), other)],
        ));
    }
    for (name, function, ins) in [
        ("in the same way", "add", ["s", "x"]),
        ("in another way", "max", ["s", "x"]),
        ("by the other one", "max", ["s", "u"]),
    ] {
        let at = format!("{EACH}/4");
        found.push(breaks(
            format!("a second update {name}"),
            "IS08",
            &at,
            vec![add(&at, update(function, ins))],
        ));
    }
    // The state is read in the stream alone, so that nothing else reads what is prefetched.
    let fetch =
        json!({"id": "extra", "op": "Prefetch", "in": ["X"], "out": ["s"], "at": ["j"], "version": 0});
    let at = format!("{EACH}/4");
    found.push(breaks("a Prefetch that writes a state", "IS08", format!("{at}/out/0"), vec![add(at, fetch)]));
    found
}

/// IS06 to IS08.
pub fn producers(_: &Library, sink: &mut Sink) -> Result<()> {
    let mut all = twice();
    all.extend(early());
    all.extend(misplaced());
    push(sink, &scenes::every()?, &all)?;
    push(sink, &scenes::states()?, &ordered())
}
