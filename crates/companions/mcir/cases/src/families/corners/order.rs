//! IO01 to IO05 and the warnings about waits: which wait, which read and which tile counts.

use serde_json::{Value, json};

use super::{Corner, accepted, rejected};
use crate::bases;
use crate::build::{Draft, Kernel, Tile};

/// What a node of `begin` or `each` does with the tile `x`, a part of `X` that moves with the stream.
#[derive(Clone, Copy)]
enum Step {
    /// Prefetches the version.
    Load(i64),
    /// Prefetches it from another tensor.
    LoadOther(i64),
    /// Prefetches what does not move.
    LoadSame(i64),
    Wait(&'static [i64]),
    /// Adds the tile to a state.
    Keep,
    /// Stores it.
    Store,
}

use Step::{Keep, Load, LoadOther, LoadSame, Store, Wait};

/// A stream over `X` with so many slots for its tile.
fn pipe(slots: i64, begin: &[Step], each: &[Step]) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[16], "F32");
    draft.tiles(&[Tile("x", &[4], "F32", "shared", "iteration")]);
    draft.buffers("x", slots);
    let mut kernel = Kernel::new("pipe", &[]);
    kernel.stream("j", 4, None, json!([16]));
    let mut kept = Vec::new();
    for (body, steps) in [("begin", begin), ("each", each)] {
        if body == "each" {
            kernel.each();
        }
        for (place, step) in steps.iter().enumerate() {
            let id = format!("{body} {place}");
            let [state, tensor] = ["s", "Y"].map(|name| format!("{name}{place}"));
            match *step {
                Load(version) => kernel.prefetch(&id, "X", "x", json!(["j"]), version),
                LoadOther(version) => {
                    draft.input("Z", &[16], "F32");
                    kernel.prefetch(&id, "Z", "x", json!(["j"]), version);
                }
                LoadSame(version) => kernel.prefetch(&id, "X", "x", json!([0]), version),
                Wait(versions) => {
                    let waits: Vec<Value> = versions.iter().map(|version| json!(["x", version])).collect();
                    kernel.wait(&id, json!(waits));
                }
                Keep => {
                    draft.tiles(&[Tile(&state, &[4], "F32", "register", "block")]);
                    draft.output(&tensor, &[4], "F32");
                    kernel.state(&state, json!(0));
                    kernel.update(&id, "add", &[&state, "x"], &[&state]);
                    kept.push((state, tensor));
                }
                Store => {
                    draft.output(&tensor, &[16], "F32");
                    kernel.store(&id, "x", &tensor, json!(["j"]));
                }
            }
        }
    }
    kernel.end();
    for (state, tensor) in kept {
        kernel.store(&format!("store {state}"), &state, &tensor, json!([0]));
    }
    draft.push(kernel);
    draft.value()
}

/// Two streams over `X`, the second one into a tile of its own or into that of the first.
fn two(is_shared: bool) -> Value {
    let mut draft = Draft::default();
    draft.input("X", &[16], "F32");
    for (region, tile, state, tensor) in
        [("a", "x", "s", "Y"), ("b", if is_shared { "x" } else { "z" }, "t", "W")]
    {
        if region == "a" || !is_shared {
            draft.tiles(&[Tile(tile, &[4], "F32", "shared", "iteration")]);
            draft.buffers(tile, 2);
        }
        draft.tiles(&[Tile(state, &[4], "F32", "register", "block")]);
        draft.output(tensor, &[4], "F32");
        let mut kernel = Kernel::new(region, &[]);
        kernel.stream("j", 4, None, json!([16]));
        kernel.state(state, json!(0));
        kernel.prefetch("first", "X", tile, json!(["j"]), 0);
        kernel.each();
        kernel.prefetch("next", "X", tile, json!(["j"]), 1);
        kernel.wait("wait", json!([[tile, 0]]));
        kernel.update("keep", "add", &[state, tile], &[state]);
        kernel.end();
        kernel.store("store", state, tensor, json!([0]));
        draft.push(kernel);
    }
    draft.value()
}

/// The same two streams, with the state of the first one in both.
fn two_of_one_state() -> Value {
    let mut document = two(false);
    document["values"].as_object_mut().and_then(|values| values.remove("t"));
    for kept in document["residency"].as_array_mut().into_iter().flatten() {
        kept["values"].as_array_mut().into_iter().for_each(|names| names.retain(|name| name != "t"));
    }
    let second = document["regions"][1].to_string().replace("\"t\"", "\"s\"");
    document["regions"][1] = second.parse().unwrap_or_default();
    document
}

/// Two products, of which the second one streams what the first one stores, after an edit.
fn pair(edit: impl FnOnce(&mut Value)) -> Value {
    let mut document = bases::find("pair").map(|base| base.document.clone()).unwrap_or_default();
    edit(&mut document);
    document
}

fn waits(document: &mut Value) -> &mut Value {
    &mut document["regions"][1]["streaming"]["tile"]["each"][2]["wait"]
}

pub fn all() -> Vec<Corner> {
    let each = |place: usize| format!("/regions/0/streaming/tile/each/{place}");
    let second = "/regions/1/streaming/tile";
    let begun_late = |mut document: Value| {
        let end = &mut document["regions"][0]["streaming"]["tile"]["end"];
        if let Some(nodes) = end.as_array_mut() {
            nodes.push(json!({"id": "late", "op": "Barrier", "wait": [["x", 0]]}));
        }
        document
    };
    let ahead = || pipe(2, &[Load(0)], &[Load(1), Wait(&[0]), Keep]);
    vec![
        accepted("one tile ahead", &["MCI-10"], ahead(), &[]),
        accepted("two regions, each with its pipeline", &["MCI-10"], pair(|_| ()), &[]),
        // IO02: the last read counts.
        accepted(
            "one slot, filled behind both reads",
            &["IO02"],
            pipe(1, &[Load(0)], &[Wait(&[0]), Keep, Keep, Load(1)]),
            &[],
        ),
        rejected(
            "one slot, filled between two reads",
            "IO02",
            &each(2),
            pipe(1, &[Load(0)], &[Wait(&[0]), Keep, Load(1), Keep]),
            "one slot, filled behind both reads",
        ),
        // IO02: where nobody reads, the first wait for the version of the iteration is the last use, or nothing is.
        accepted(
            "one slot that nobody reads, filled behind the wait",
            &["IO02"],
            pipe(1, &[Load(0)], &[Wait(&[0]), Load(1)]),
            &["IW01"],
        ),
        rejected(
            "one slot that nobody reads, filled before the wait",
            "IO02",
            &each(0),
            pipe(1, &[Load(0)], &[Load(1), Wait(&[0])]),
            "one tile ahead",
        ),
        accepted(
            "one slot that nobody reads, filled between two waits",
            &["IO02", "IW03"],
            pipe(1, &[Load(0)], &[Wait(&[0]), Load(1), Wait(&[0])]),
            &["IW01", "IW03"],
        ),
        accepted(
            "one slot that nobody reads, with waits an iteration ahead",
            &["IO02"],
            pipe(1, &[Load(0), Wait(&[0])], &[Load(1), Wait(&[1])]),
            &["IW01"],
        ),
        // IO01: the first of two waits counts, and the least version of several.
        accepted(
            "a read between two waits",
            &["IO01", "IW03"],
            pipe(2, &[Load(0)], &[Load(1), Wait(&[0]), Keep, Wait(&[0])]),
            &["IW03"],
        ),
        accepted(
            "waits one and two iterations ahead",
            &["IO01"],
            pipe(3, &[Load(0), Load(1), Wait(&[0])], &[Load(2), Wait(&[1]), Wait(&[2]), Keep]),
            &[],
        ),
        rejected(
            "waits two iterations ahead, and only the first one before",
            "IO04",
            &each(0),
            pipe(3, &[Load(0), Load(1), Wait(&[0])], &[Load(2), Wait(&[2]), Keep]),
            "waits one and two iterations ahead",
        ),
        accepted(
            "a store behind the wait",
            &["IO01"],
            pipe(2, &[Load(0)], &[Load(1), Wait(&[0]), Store]),
            &[],
        ),
        rejected(
            "a store before the wait",
            "IO01",
            &format!("{}/in/0", each(1)),
            pipe(2, &[Load(0)], &[Load(1), Store, Wait(&[0])]),
            "a store behind the wait",
        ),
        // The second region is judged as the first one is.
        rejected(
            "the second region does not wait",
            "IO04",
            &format!("{second}/each/0"),
            pair(|document| {
                if let Some(waits) = waits(document).as_array_mut() {
                    waits.remove(0);
                }
            }),
            "two regions, each with its pipeline",
        ),
        rejected(
            "the second region waits for a tile of the first one",
            "IS04",
            &format!("{second}/each/2/wait/0"),
            pair(|document| waits(document)[0][0] = json!("ux")),
            "two regions, each with its pipeline",
        ),
        accepted("two regions, each with its tile", &["IS06"], two(false), &[]),
        rejected(
            "two regions that prefetch one tile",
            "IS06",
            &format!("{second}/begin/0/out/0"),
            two(true),
            "two regions, each with its tile",
        ),
        rejected(
            "two regions with one state",
            "IS08",
            "/regions/1/streaming/state/0/value",
            two_of_one_state(),
            "two regions, each with its tile",
        ),
        rejected(
            "a tile from two tensors",
            "IS06",
            &format!("{}/out/0", each(0)),
            pipe(2, &[Load(0)], &[LoadOther(1), Wait(&[0]), Keep]),
            "one tile ahead",
        ),
        rejected(
            "a barrier at the end",
            "IS04",
            "/regions/0/streaming/tile/end/1",
            begun_late(ahead()),
            "one tile ahead",
        ),
        // IW03 and IW04.
        accepted(
            "a wait before the stream, and one in it",
            &["IW03"],
            pipe(2, &[Load(0), Wait(&[0])], &[Load(1), Wait(&[0]), Keep]),
            &[],
        ),
        accepted(
            "a prefetch of what does not move",
            &["IW04"],
            pipe(2, &[LoadSame(0)], &[LoadSame(1), Wait(&[0]), Keep]),
            &[],
        ),
    ]
}
