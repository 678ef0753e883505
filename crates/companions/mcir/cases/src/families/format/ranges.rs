//! The ranges of axes (MCI-03): which of several bounds of a stream counts, and what depends on a block.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use serde_json::{Value, json};

use super::{Edit, Scene, allowed, breaks, push};
use crate::build::{Draft, Kernel, Tile};
use crate::plant::replace;

const STREAM: &str = "/regions/0/streaming/stream";
const EACH: &str = "/regions/0/streaming/tile/each";
const END: &str = "/regions/0/streaming/tile/end";

/// The sum of every fourth row of so many, in each of two blocks, at 0 and 4.
pub(super) fn every_fourth(rows: i64) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[rows, 4], "F32");
    draft.output("Y", &[8], "F32");
    draft
        .tiles(&[Tile("x", &[4], "F32", "shared", "iteration"), Tile("s", &[4], "F32", "register", "block")]);
    let mut kernel = Kernel::new("sum", &[("i", 8, 4)]);
    kernel.stream("j", 4, Some(json!([0])), json!([rows]));
    kernel.state("s", json!(0));
    kernel.each();
    kernel.load("load", "X", "x", json!(["j", 0]));
    kernel.update("keep", "add", &["s", "x"], &["s"]);
    kernel.end();
    kernel.store("store", "s", "Y", json!(["i"]));
    draft.push(kernel);
    draft.value()
}

fn summed() -> Scene {
    let summary = "a sum over every fourth row, in two blocks";
    Scene { name: "every-fourth-row", summary, cites: &["MCI-03", "IB01"], document: every_fourth(16) }
}

/// A copy that each iteration stores a part of.
fn streamed() -> Scene {
    let mut draft = Draft::default();
    draft.input("X", &[8, 16], "F32");
    draft.output("Y", &[8, 16], "F32");
    draft.tiles(&[Tile("x", &[4, 4], "F32", "shared", "iteration")]);
    let mut kernel = Kernel::new("copy", &[("i", 8, 4)]);
    kernel.stream("j", 4, Some(json!([0])), json!([16]));
    kernel.each();
    kernel.load("load", "X", "x", json!(["i", "j"]));
    kernel.store("store", "x", "Y", json!(["i", "j"]));
    draft.push(kernel);
    let summary = "a copy that each iteration stores a part of";
    Scene { name: "stored-in-the-stream", summary, cites: &["MCI-03", "IB02"], document: draft.value() }
}

/// A copy at places that are twice the value of an axis.
fn doubled() -> Scene {
    let mut draft = Draft::default();
    draft.input("X", &[16], "F32");
    draft.output("Y", &[16], "F32");
    draft.tiles(&[Tile("x", &[4], "F32", "shared", "block")]);
    let mut kernel = Kernel::new("copy", &[("i", 8, 2)]);
    kernel.load("load", "X", "x", json!([["i", "i"]]));
    kernel.end();
    kernel.store("store", "x", "Y", json!([["i", "i"]]));
    draft.push(kernel);
    let summary = "an axis that stands twice in an index";
    Scene { name: "an-axis-twice", summary, cites: &["MCI-03", "IB02"], document: draft.value() }
}

pub fn scenes() -> Vec<Scene> {
    vec![summed(), streamed(), doubled()]
}

/// Bounds of the stream, the row of its axis, and the least number of rows with which that is within the tensor.
#[rustfmt::skip] // a table
fn rows() -> Vec<Edit> {
    let mut found = Vec::new();
    for (name, from, to, index, least) in [
        ("one beginning and one end", json!([0]), json!([16]), json!("j"), 13),
        ("a second beginning that is larger", json!([0, 4]), json!([16]), json!(["j", -4]), 9),
        ("a second beginning that is less", json!([4, 0]), json!([16]), json!(["j", -4]), 9),
        ("a third beginning that is larger", json!([-8, 0, 4]), json!([16]), json!(["j", -4]), 9),
        ("a beginning in the middle that is larger", json!([-8, 4, 0]), json!([16]), json!(["j", -4]), 9),
        ("a beginning below 0", json!([-8]), json!([16]), json!(["j", 8]), 21),
        ("two beginnings below 0", json!([-8, -4]), json!([16]), json!(["j", 4]), 17),
        ("no beginning in its list", json!([]), json!([16]), json!("j"), 13),
        ("a second end that is less", json!([0]), json!([16, 9]), json!("j"), 9),
        ("a second end that is larger", json!([0]), json!([9, 16]), json!("j"), 9),
        ("an end in the middle that is less", json!([0]), json!([20, 9, 16]), json!("j"), 9),
        ("an end off the steps", json!([0]), json!([14]), json!("j"), 13),
        ("a beginning and an end off the steps", json!([3]), json!([14]), json!("j"), 12),
        ("an end that grows with the block", json!([0]), json!([["i", 10]]), json!("j"), 13),
        ("an end that falls with the block", json!([0]), json!([[[-1, "i"], 14]]), json!("j"), 13),
        ("a second end that grows with the block", json!([0]), json!([40, ["i", 10]]), json!("j"), 13),
        ("an end that grows with the block and one that is less", json!([0]), json!([["i", 40], 14]), json!("j"), 13),
        ("a beginning that grows with the block", json!(["i"]), json!([14]), json!("j"), 14),
        ("a beginning that falls with the block", json!([[[-1, "i"]]]), json!([14]), json!(["j", 4]), 18),
        ("a second beginning that grows with the block", json!([0, "i"]), json!([14]), json!("j"), 14),
        ("a first beginning that grows with the block", json!(["i", 0]), json!([14]), json!("j"), 14),
        ("a beginning that grows with the block and is never the largest", json!([["i", -8], 0]), json!([14]), json!("j"), 14),
        ("a beginning and an end that grow with the block", json!(["i"]), json!([["i", 10]]), json!("j"), 14),
        ("a beginning whose axis cancels out", json!([["i", [-1, "i"]]]), json!([14]), json!("j"), 13),
        ("a beginning whose axis has the coefficient 0", json!([0, [[0, "i"]]]), json!([14]), json!("j"), 13),
        ("no value and a row that is its beginning", json!([12]), json!([8]), json!("j"), 13),
        ("no value and two beginnings", json!([4, 12, 8]), json!([4]), json!("j"), 13),
    ] {
        let edit = |rows: i64| {
            vec![
                replace(format!("{STREAM}/from"), from.clone()),
                replace(format!("{STREAM}/to"), to.clone()),
                replace(format!("{EACH}/0/at/0"), index.clone()),
                replace("/values/X/shape/0", rows),
            ]
        };
        let at = format!("{EACH}/0/at/0");
        found.push(allowed(format!("{name} within the tensor"), edit(least)));
        found.push(breaks(format!("{name} behind the last row"), "IB01", at, edit(least - 1)));
    }
    for (name, from, index) in [
        ("a second beginning", json!([0, 4]), json!(["j", -5])),
        ("a beginning below 0", json!([-8, -4]), json!(["j", 3])),
        ("a beginning that falls with the block", json!([[[-1, "i"]]]), json!(["j", 3])),
        ("a beginning that grows with the block", json!(["i"]), json!(["j", -1])),
        ("no beginning", json!([]), json!(["j", -1])),
    ] {
        let at = format!("{EACH}/0/at/0");
        let edit = vec![
            replace(format!("{STREAM}/from"), from),
            replace(&at, index),
            replace("/values/X/shape/0", 32),
        ];
        found.push(breaks(format!("{name} before the first row"), "IB01", at, edit));
    }
    found
}

/// Bounds of a stream that stores.
#[rustfmt::skip] // a table
fn stores() -> Vec<Edit> {
    let place = |which: &str, bounds: Value| vec![replace(format!("{STREAM}/{which}"), bounds)];
    let mut found: Vec<Edit> = [
        ("an end that depends on the block", "to", json!([["i", 12]])),
        ("a first end that depends on the block", "to", json!([["i", 12], 16])),
        ("a second end that depends on the block", "to", json!([16, ["i", 12]])),
        ("an end in the middle that depends on the block", "to", json!([20, ["i", 12], 16])),
        ("a beginning that depends on the block", "from", json!(["i"])),
        ("a first beginning that depends on the block", "from", json!([["i", -8], 0])),
        ("a second beginning that depends on the block", "from", json!([0, ["i", -8]])),
        ("a second beginning that is too late", "from", json!([0, 4])),
        ("a first beginning that is too late", "from", json!([4, 0])),
        ("a second end that is too early", "to", json!([16, 12])),
        ("a first end that is too early", "to", json!([12, 16])),
        ("no value", "to", json!([0])),
    ]
    .into_iter()
    .map(|(name, which, bounds)| breaks(name, "IB02", format!("{EACH}/1/at"), place(which, bounds)))
    .collect();
    for (name, which, bounds) in [
        ("a second end that is later", "to", json!([16, 20])),
        ("a first end that is later", "to", json!([20, 16])),
        ("an end off the steps", "to", json!([13])),
        ("an end whose axis cancels out", "to", json!([["i", 16, [-1, "i"]]])),
        ("a beginning whose axis cancels out", "from", json!([0, ["i", [-1, "i"]]])),
        ("a second beginning that is earlier", "from", json!([0, -4])),
        ("a first beginning that is earlier", "from", json!([-4, 0])),
    ] {
        found.push(allowed(name, place(which, bounds)));
    }
    found
}

/// Twice an axis, otherwise.
fn terms() -> Vec<Edit> {
    let at = format!("{END}/0/at");
    let mut found = Vec::new();
    for (name, index) in [
        ("a coefficient", json!([[2, "i"]])),
        ("two coefficients", json!([[3, "i"], [-1, "i"]])),
        ("a coefficient and the axis", json!(["i", [1, "i"]])),
        ("constants between them", json!([3, "i", -5, "i", 2])),
        ("terms that cancel out", json!(["i", [-1, "i"], [2, "i"]])),
        ("the last place first", json!([12, [-1, "i"], [-1, "i"]])),
    ] {
        found.push(allowed(format!("as {name}"), vec![replace(format!("{at}/0"), index)]));
    }
    for (name, index) in [
        ("the axis once", json!("i")),
        ("the axis three times with one taken away twice", json!(["i", "i", "i", [-2, "i"]])),
        ("terms of which one takes the other away", json!([[2, "i"], [-2, "i"]])),
    ] {
        found.push(breaks(name, "IB02", &at, vec![replace(format!("{at}/0"), index)]));
    }
    found
}

/// What depends on the range of an axis.
pub fn ranges(_: &Library, sink: &mut Sink) -> Result<()> {
    push(sink, &summed(), &rows())?;
    push(sink, &streamed(), &stores())?;
    push(sink, &doubled(), &terms())
}
