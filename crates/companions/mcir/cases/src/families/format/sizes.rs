//! IS11, and lists that are longer than a byte counts.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use serde_json::{Value, json};

use super::ranges::every_fourth;
use super::{Edit, Scene, allowed, breaks, push};
use crate::build::{Draft, Kernel, Tile};
use crate::plant::{add, replace};

const TILE: &str = "/regions/0/streaming/tile";
const TO: &str = "/regions/0/streaming/stream/to";
/// A third of 2^31.
const THIRD: i64 = 715_827_882;
/// More than a byte counts.
const MANY: usize = 260;

/// Three nodes in almost a third of 2^31 blocks.
fn blocks() -> Scene {
    let mut draft = Draft::default();
    draft.input("X", &[THIRD], "F32");
    draft.output("Y", &[THIRD], "F32");
    draft.tiles(&[Tile("x", &[1], "F32", "shared", "block"), Tile("y", &[1], "F32", "register", "block")]);
    let mut kernel = Kernel::new("map", &[("i", THIRD, 1)]);
    kernel.load("load", "X", "x", json!(["i"]));
    kernel.compute("copy", "copy", &["x"], "y", json!({}));
    kernel.end();
    kernel.store("store", "y", "Y", json!(["i"]));
    draft.push(kernel);
    let summary = "three nodes in a third of 2^31 blocks";
    Scene { name: "a-third-of-all-blocks", summary, cites: &["IS11"], document: draft.value() }
}

/// A copy in one block of three axes.
fn axes() -> Scene {
    let mut draft = Draft::default();
    draft.input("X", &[1, 1, 1], "F32");
    draft.output("Y", &[1, 1, 1], "F32");
    draft.tiles(&[Tile("x", &[1, 1, 1], "F32", "shared", "block")]);
    let mut kernel = Kernel::new("copy", &[("a", 4, 4), ("b", 4, 4), ("c", 4, 4)]);
    kernel.load("load", "X", "x", json!(["a", "b", "c"]));
    kernel.end();
    kernel.store("store", "x", "Y", json!(["a", "b", "c"]));
    draft.push(kernel);
    let summary = "one block of three axes";
    Scene { name: "three-block-axes", summary, cites: &["IS11"], document: draft.value() }
}

/// Three nodes in two blocks of a sixth of 2^31 iterations.
fn stream() -> Scene {
    let document = every_fourth(2 * THIRD);
    let summary = "three nodes in two blocks of a sixth of 2^31 iterations";
    Scene { name: "a-sixth-of-all-iterations", summary, cites: &["IS11", "MCI-03"], document }
}

fn empty(id: &str) -> Value {
    json!({"id": id, "inputs": [], "outputs": [], "streaming": {"tile": {"tile_shape": {}}}})
}

/// A copy behind many regions without nodes.
fn regions() -> Scene {
    let mut draft = Draft::default();
    draft.input("X", &[4], "F32");
    draft.output("Y", &[4], "F32");
    draft.tiles(&[Tile("x", &[4], "F32", "shared", "block")]);
    for number in 1..MANY {
        draft.push(Kernel::new(&format!("r{number}"), &[]));
    }
    let mut kernel = Kernel::new("copy", &[]);
    kernel.load("load", "X", "x", json!([0]));
    kernel.store("store", "x", "Y", json!([0]));
    draft.push(kernel);
    let summary = "260 regions, of which the last one does something";
    Scene { name: "many-regions", summary, cites: &["MCI-04"], document: draft.value() }
}

/// A sum behind many nodes in each body.
fn nodes() -> Scene {
    let mut draft = Draft::default();
    draft.input("X", &[4], "F32");
    draft.output("Y", &[4], "F32");
    draft.tiles(&[Tile("x", &[4], "F32", "shared", "block"), Tile("s", &[4], "F32", "register", "block")]);
    let mut kernel = Kernel::new("sum", &[]);
    kernel.state("s", json!(0));
    for number in 0..MANY {
        kernel.wait(&format!("a{number}"), json!([]));
    }
    kernel.load("load", "X", "x", json!([0]));
    kernel.each();
    for number in 0..MANY {
        kernel.wait(&format!("b{number}"), json!([]));
    }
    kernel.update("keep", "add", &["s", "x"], &["s"]);
    kernel.end();
    let mut last = "s".to_owned();
    for number in 0..MANY {
        let next = format!("t{number}");
        draft.tiles(&[Tile(&next, &[4], "F32", "register", "node")]);
        kernel.compute(&format!("c{number}"), "neg", &[&last], &next, json!({}));
        last = next;
    }
    kernel.store("store", &last, "Y", json!([0]));
    draft.push(kernel);
    let summary = "260 nodes in each body before the last one";
    Scene { name: "many-nodes", summary, cites: &["MCI-05"], document: draft.value() }
}

/// As many sums as a list has entries.
fn sums() -> Scene {
    let mut draft = Draft::default();
    let mut kernel = Kernel::new("sums", &[]);
    kernel.stream("j", 4, None, json!([8]));
    let name = |kind: &str, number: usize| format!("{kind}{number}");
    for number in 0..66 {
        let [x, y] = ["in", "out"].map(|kind| name(kind, number));
        draft.input(&x, &[8], "F32");
        draft.output(&y, &[4], "F32");
        let [x, s] = ["x", "s"].map(|kind| name(kind, number));
        draft.tiles(&[
            Tile(&x, &[4], "F32", "shared", "iteration"),
            Tile(&s, &[4], "F32", "register", "block"),
        ]);
        draft.buffers(&x, 2);
        kernel.state(&s, json!(number));
        kernel.prefetch(&name("first", number), &name("in", number), &x, json!(["j"]), 0);
    }
    kernel.each();
    for number in 0..66 {
        kernel.prefetch(&name("next", number), &name("in", number), &name("x", number), json!(["j"]), 1);
    }
    kernel.wait("wait", json!((0..66).map(|number| json!([name("x", number), 0])).collect::<Vec<_>>()));
    for number in 0..66 {
        let s = name("s", number);
        kernel.update(&name("keep", number), "add", &[&s, &name("x", number)], &[&s]);
    }
    kernel.end();
    for number in 0..66 {
        kernel.store(&name("store", number), &name("s", number), &name("out", number), json!([0]));
    }
    draft.push(kernel);
    let summary = "66 inputs, outputs, states, and tiles for which a barrier waits";
    Scene { name: "many-sums", summary, cites: &["MCI-01", "MCI-10"], document: draft.value() }
}

pub fn scenes() -> Vec<Scene> {
    vec![blocks(), axes(), stream(), regions(), nodes(), sums()]
}

fn of_blocks() -> Vec<Edit> {
    let at = format!("{TILE}/blocks/i");
    let large = |extent: i64| vec![replace(&at, extent)];
    let with = |extent: i64, others: i64| -> Vec<Value> {
        let mut edit: Vec<Value> =
            [&*at, "/values/X/shape/0", "/values/Y/shape/0"].map(|at| replace(at, extent)).into();
        edit.extend(
            (1..=others).map(|number| add(format!("/regions/{number}"), empty(&format!("r{number}")))),
        );
        edit
    };
    let barrier = add(format!("{TILE}/each"), json!([{"id": "none", "op": "Barrier", "wait": []}]));
    vec![
        breaks("one more than 2^31", "IS11", "/regions/0", large(THIRD + 1)),
        breaks("the most blocks", "IS11", "/regions/0", large(i64::from(i32::MAX))),
        breaks("a node more", "IS11", "/regions/0", vec![barrier]),
        allowed("two regions without nodes more", with(THIRD, 2)),
        breaks("three regions without nodes more", "IS11", "/regions/3", with(THIRD, 3)),
        allowed("eight regions more", with(THIRD - 2, 8)),
        breaks("nine regions more", "IS11", "/regions/9", with(THIRD - 2, 9)),
        allowed("seventeen regions more", with(THIRD - 5, 17)),
        breaks("eighteen regions more", "IS11", "/regions/18", with(THIRD - 5, 18)),
        breaks(
            "a region without nodes of as many blocks more",
            "IS11",
            "/regions/1",
            vec![add(
                "/regions/1",
                json!({"id": "idle", "inputs": [], "outputs": [], "streaming": {"tile": {"tile_shape": {"i": 1}, "blocks": {"i": THIRD}}}}),
            )],
        ),
    ]
}

fn of_axes() -> Vec<Edit> {
    let counts: [[u32; 3]; 8] = [
        [15, 15, 1],
        [16, 15, 0],
        [16, 16, 0],
        [21, 21, 20],
        [21, 21, 21],
        [22, 22, 20],
        [28, 28, 8],
        [28, 28, 28],
    ];
    counts
        .into_iter()
        .map(|counts| {
            let axes = ["a", "b", "c"].into_iter().zip(counts);
            let edit =
                axes.map(|(axis, bits)| replace(format!("{TILE}/blocks/{axis}"), 4_i64 << bits)).collect();
            let bits: u32 = counts.iter().sum();
            let name = format!("2^{bits} blocks as 2^{} and 2^{} and 2^{}", counts[0], counts[1], counts[2]);
            breaks(name, "IS11", "/regions/0", edit)
        })
        .collect()
}

fn of_stream() -> Vec<Edit> {
    let end = 2 * THIRD;
    let from = "/regions/0/streaming/stream/from";
    let bounds = |begin: Value, end: Value| vec![replace(from, json!([begin])), replace(TO, json!([end]))];
    let many = |i: i64, j: i64, to: i64| {
        vec![
            replace(format!("{TILE}/tile_shape/i"), 1),
            replace(format!("{TILE}/blocks/i"), i),
            replace(format!("{TILE}/tile_shape/j"), j),
            replace(TO, json!([to])),
        ]
    };
    let too_large = |name: &str, edit: Vec<Value>| breaks(name, "IS11", "/regions/0", edit);
    vec![
        too_large("an iteration more", bounds(json!(0), json!(end + 1))),
        allowed("an end off the steps", bounds(json!(0), json!(end - 1))),
        allowed("a later beginning", bounds(json!(8), json!(end))),
        too_large("an earlier beginning", bounds(json!(-1), json!(end))),
        allowed("a beginning that depends on the block", bounds(json!("i"), json!(end))),
        too_large(
            "a beginning that depends on the block and an iteration more",
            bounds(json!("i"), json!(end + 1)),
        ),
        allowed("an end that depends on the block", bounds(json!(0), json!(["i", end - 4]))),
        too_large(
            "an end that depends on the block and is late in one of them",
            bounds(json!(0), json!(["i", end - 3])),
        ),
        too_large("no iteration in a third of 2^31 blocks", many(THIRD + 1, 4, 0)),
        too_large("the most blocks of the longest stream", many(i64::from(i32::MAX), 1, i64::from(i32::MAX))),
        too_large("2^32 iterations of all blocks", many(1 << 16, 1, 1 << 16)),
        too_large("2^60 iterations of all blocks", many(1 << 30, 1, 1 << 30)),
        too_large("a step less", vec![replace(format!("{TILE}/tile_shape/j"), 3)]),
        too_large("a block more", vec![replace(format!("{TILE}/blocks/i"), 9)]),
    ]
}

/// What is unknown behind the first hundreds of entries.
fn unknown(places: &[String]) -> Vec<Edit> {
    places
        .iter()
        .map(|at| breaks(format!("no value at {at}"), "IS02", at, vec![replace(at, "nobody")]))
        .collect()
}

/// IS11, and long lists.
pub fn sizes(_: &Library, sink: &mut Sink) -> Result<()> {
    push(sink, &blocks(), &of_blocks())?;
    push(sink, &axes(), &of_axes())?;
    push(sink, &stream(), &of_stream())?;
    let last = format!("/regions/{}/streaming/tile/begin/0/in/0", MANY - 1);
    push(sink, &regions(), &unknown(&[last]))?;
    let last = ["begin", "each", "end"].map(|body| format!("{TILE}/{body}/{MANY}/in/0"));
    push(sink, &nodes(), &unknown(&last))?;
    let last = [
        "/inputs/65".to_owned(),
        "/outputs/65".to_owned(),
        "/boundaries/65/value".to_owned(),
        "/residency/0/values/65".to_owned(),
        "/regions/0/inputs/65".to_owned(),
        "/regions/0/outputs/65".to_owned(),
        "/regions/0/streaming/state/65/value".to_owned(),
        format!("{TILE}/each/66/wait/65/0"),
    ];
    push(sink, &sums(), &unknown(&last))
}
