//! Documents that are lowered (clauses MCI-27 to MCI-30).

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Document, Library, Sink, words};
use serde_json::{Value, json};

use super::{PROFILE, amounts, cited, path};
use crate::bases::{self, Base};
use crate::build::{Draft, Kernel, Tile};
use crate::joins;
use crate::wide::{self, Kept};

const CLAUSES: &[&str] = &["MCI-27", "MCI-28", "MCI-29", "MCI-30"];

/// A document that is lowered: its name, what it is, and the document.
pub type Lowered = (String, String, Value);

/// Documents that lie in files of the corpus.
fn small() -> impl Iterator<Item = &'static Base> {
    bases::all().iter().filter(|base| base.name.starts_with("small-"))
}

/// Documents whose tiles are tried in one memory alone.
const MOVED: &[&str] = &[
    "small-attention",
    "small-attention-grouped",
    "small-attention-deep",
    "small-chain",
    "small-norm",
    "small-pair",
    "small-product-gelu",
    "small-sum-deep",
    "small-now",
];

/// A document with all tiles in one memory.
fn moved(base: &Base, memory: &str) -> Lowered {
    let mut document = base.document.clone();
    document["target"] = json!({});
    for value in document["values"].as_object_mut().into_iter().flat_map(|values| values.values_mut()) {
        if value["residency"] != "global" {
            value["residency"] = json!(memory);
        }
    }
    for region in document["residency"].as_array_mut().into_iter().flatten() {
        region["memory"] = json!(memory);
    }
    let name = format!("{} in {memory} memory", base.name);
    (name, format!("{}, all of it in {memory} memory", base.summary), document)
}

/// Documents with lifetimes as long as they can be.
fn kept(base: &Base) -> Lowered {
    let mut document = base.document.clone();
    document["target"] = json!({});
    for region in document["residency"].as_array_mut().into_iter().flatten() {
        region["lifetime"] = json!("block");
    }
    let name = format!("{} kept", base.name);
    (name, format!("{}, each tile for its block", base.summary), document)
}

/// Sums of the columns before the row, of which the first rows have none.
fn triangle(step: i64, dtype: &str) -> Lowered {
    let mut draft = Draft::default();
    draft.input("X", &[9, 9], dtype);
    draft.output("Y", &[9], dtype);
    draft.tiles(&[
        Tile("x", &[1, step], dtype, "shared", "iteration"),
        Tile("part", &[1], dtype, "register", "node"),
        Tile("sum", &[1], dtype, "register", "block"),
    ]);
    draft.buffers("x", 3);
    let mut kernel = Kernel::new("rows", &[("i", 9, 1)]);
    kernel.stream("j", step, None, json!([9, ["i", -1]]));
    kernel.state("sum", json!(2));
    for version in 0..2 {
        kernel.prefetch(&format!("x{version}"), "X", "x", json!(["i", "j"]), version);
    }
    kernel.each();
    kernel.prefetch("next", "X", "x", json!(["i", "j"]), 2);
    kernel.wait("wait", json!([["x", 0]]));
    kernel.reduce("reduce", "sum", 1, "x", "part");
    kernel.update("keep", "add", &["sum", "part"], &["sum"]);
    kernel.end();
    kernel.store("store", "sum", "Y", json!(["i"]));
    draft.push(kernel);
    let name = format!("triangle of {dtype} in steps of {step}");
    (name, "streams that some blocks do not have, which begin with 2".to_owned(), draft.value())
}

/// A large tile in each memory, kept so long, between others that are as large: whoever gives it back late holds more than the document.
fn given_back() -> Vec<Lowered> {
    let mut all = Vec::new();
    for memory in ["shared", "register"] {
        for (what, lifetime, in_begin, is_prefetched) in [
            ("for its stream", "stream", false, false),
            ("for its stream from its beginning on", "stream", true, false),
            ("for its stream one tile ahead", "stream", true, true),
            ("for its iteration", "iteration", false, false),
            ("for its iteration one tile ahead", "iteration", true, true),
            ("for its node", "node", false, false),
        ] {
            let document = wide::kept(Kept { memory, lifetime, in_begin, is_prefetched }).value();
            let summary =
                "a large tile, and others as large in `begin` and in `end`, one at a time".to_owned();
            all.push((format!("large in {memory} memory {what}"), summary, document));
        }
    }
    all
}

/// Documents that cases carry themselves.
fn own() -> Vec<Lowered> {
    let mut all = joins::all();
    all.retain(|(name, ..)| !name.starts_with("small-"));
    for name in MOVED {
        if let Some(base) = bases::find(name) {
            all.extend(["shared", "register"].map(|memory| moved(base, memory)));
            all.push(kept(base));
        }
    }
    all.extend(given_back());
    let fractions = "a tile times fractions below 0, of one and of others".to_owned();
    all.push(("fractions".to_owned(), fractions, wide::fractions().value()));
    all.extend(amounts::small().map(|(name, draft)| (name.clone(), name, draft.value())));
    all.extend([(1, "F32"), (2, "F16"), (4, "BF16")].map(|(step, dtype)| triangle(step, dtype)));
    all
}

/// All documents that are lowered.
pub fn all() -> Vec<Lowered> {
    let one = |base: &Base| (base.name.clone(), base.summary.clone(), base.document.clone());
    let mut all: Vec<Lowered> = small().map(one).collect();
    all.extend(own());
    all
}

/// Documents that become kernels, and documents that do not.
///
/// # Errors
/// A case that is not well formed.
pub fn lowered(_: &Library, sink: &mut Sink) -> Result<()> {
    let expect = json!({"verdict": "accept", "warnings": [], "lowered": true});
    let clauses = cited(CLAUSES)?;
    let id = |sink: &Sink, name: &str| format!("{}/{}", sink.family(), words(name));
    for base in small() {
        let file = path(&base.name);
        let document = Document::Edited(&file, &[]);
        let id = id(sink, &base.name);
        sink.push_as("lower", id, &base.summary, PROFILE, &clauses, &document, expect.clone(), None)?;
    }
    for (name, summary, document) in own() {
        let text = document.to_string();
        let id = id(sink, &name);
        let document = Document::Text(&text);
        sink.push_as("lower", id, &summary, PROFILE, &clauses, &document, expect.clone(), None)?;
    }
    let Some(base) = small().find(|base| base.name == "small-sum") else { return Ok(()) };
    let twin = Some(id(sink, &base.name));
    for (name, rule, at, edit) in [
        ("regions in quotes", "S04", "/regions", json!({"op": "replace", "path": "/regions", "value": ""})),
        (
            "an extent of 0",
            "IS01",
            "/values/Y/shape/0",
            json!({"op": "replace", "path": "/values/Y/shape/0", "value": 0}),
        ),
        (
            "an output that is nowhere",
            "IS02",
            "/outputs/0",
            json!({"op": "replace", "path": "/outputs/0", "value": "nobody"}),
        ),
        ("no boundary", "IM01", "/values/Y", json!({"op": "remove", "path": "/boundaries/0"})),
        (
            "a load that nobody waits for",
            "IO04",
            "/regions/0/streaming/tile/each/0",
            json!({"op": "remove", "path": "/regions/0/streaming/tile/each/1"}),
        ),
    ] {
        let expect = json!({"verdict": "reject", "rules": [rule], "at": at});
        let file = path(&base.name);
        let edit = [edit];
        let document = Document::Edited(&file, &edit);
        let clauses = cited(&[rule, "MCI-27"])?;
        let id = id(sink, name);
        sink.push_as("lower", id, name, PROFILE, &clauses, &document, expect, twin.clone())?;
    }
    Ok(())
}
