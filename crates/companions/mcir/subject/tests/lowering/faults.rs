//! Faulty lowerings.

use serde_json::{Value, json};

use crate::{
    Lowering, array, bodies, computes, each_of, instructions, more, number, of_kind, views, without,
};

/// What the judge says where threads do not meet.
pub const MEET: &str = "threads have not met";
const WRITTEN: &str = "has not been written";
const FIELD: &str = "in a finite field";
const LIES: &str = "are not all among";
const WAY: &str = "on its way";
const BLOCKS: &str = "kernels and their blocks";
const HOLDS: &str = "a block holds";

/// What goes wrong, what the judge says of it, and how.
pub const FAULTS: &[(&str, &str, Lowering)] = &[
    ("no initial values", WRITTEN, |made| without(made, "fill")),
    ("initial values of 1", FIELD, |made| of_kind(made, "fill", |each| each["value"] = json!(1))),
    ("initial values in each iteration anew", FIELD, |made| {
        let mut fills = Vec::new();
        bodies(made, &mut |body, is_loop| {
            if is_loop {
                // Those that follow a meeting change nothing about it.
                body.splice(0..0, fills.clone());
                body.push(json!({"op": "sync"}));
            } else if body.iter().any(|each| each["op"] == "alloc") {
                fills = body.iter().filter(|each| each["op"] == "fill").cloned().collect();
            }
        });
    }),
    ("factors where sums are written", "an instruction writes a byte twice", |made| {
        of_kind(made, "update", |each| {
            if each["fn"] == "online_softmax" {
                each["out"][3] = each["out"][1].clone();
            }
        });
    }),
    ("initial values of the first block alone", WRITTEN, |made| {
        for kernel in array(&mut made["kernels"]) {
            let Some(axis) = kernel["blocks"][0]["axis"].as_str().map(str::to_owned) else { continue };
            for each in array(&mut kernel["body"]).iter_mut().filter(|each| each["op"] == "fill") {
                *each = json!({"op": "if", "all": [[[-1, axis]]], "body": [each]});
            }
        }
    }),
    ("tails that are padded", LIES, |made| {
        views(made, |view| {
            view.as_object_mut().expect("a view").remove("extent");
        });
    }),
    ("tails that are padded where something is computed", WRITTEN, |made| {
        instructions(made, |each| {
            for side in ["in", "out"] {
                let is_computed = computes(each);
                for view in each.get_mut(side).filter(|_| is_computed).into_iter().flat_map(array) {
                    view.as_object_mut().expect("a view").remove("extent");
                }
            }
        });
    }),
    ("extents that are too short by one", "a view of|do not meet|has not been written", |made| {
        of_kind(made, "load", |each| {
            for extent in each["out"].get_mut("extent").into_iter().flat_map(array) {
                *extent = more(extent, -1);
            }
        });
    }),
    ("the last tile of a stream left out", FIELD, |made| {
        of_kind(made, "loop", |each| each["to"] = more(&each["to"], -number(&each["step"])));
    }),
    ("a stream that goes on beyond its end", LIES, |made| {
        of_kind(made, "loop", |each| each["to"] = more(&each["to"], number(&each["step"])));
    }),
    ("loads of iterations that are not there", LIES, |made| {
        of_kind(made, "if", |each| array(&mut each["all"]).clear());
    }),
    ("an extent of a block axis that is too large", BLOCKS, |made| {
        for axis in array(&mut made["kernels"]).iter_mut().flat_map(|kernel| array(&mut kernel["blocks"])) {
            axis["to"] = json!(number(&axis["to"]) + number(&axis["step"]));
        }
    }),
    ("places of a tile of another stride", LIES, |made| {
        of_kind(made, "load", |each| {
            for index in array(&mut each["at"]) {
                if let Some(name) = index.as_str().map(str::to_owned) {
                    *index = json!([[2, name]]);
                }
            }
        });
    }),
    ("places in the other order", LIES, |made| {
        of_kind(made, "load", |each| array(&mut each["at"]).reverse())
    }),
    ("slots that are not those of the iteration", WAY, |made| {
        of_kind(made, "prefetch", |each| each["out"]["slot"] = json!(0));
    }),
    (
        "slots that are off by one where they are read",
        "has not been written|on its way|in a finite field",
        |made| {
            instructions(made, |each| {
                for view in each.get_mut("in").filter(|ins| ins.is_array()).into_iter().flat_map(array) {
                    if view.get("slot").is_some() {
                        view["slot"] = more(&view["slot"], 1);
                    }
                }
            });
        },
    ),
    ("a slot too few", "threads have not met|on its way", |made| {
        each_of(made, "buffers", |buffer| {
            if buffer.get("slots").is_some() {
                buffer["slots"] = json!(number(&buffer["slots"]) - 1);
            }
        });
    }),
    ("no waits", WAY, |made| without(made, "wait")),
    ("waits for another slot", WAY, |made| {
        of_kind(made, "wait", |each| {
            for slot in array(&mut each["for"]).iter_mut().filter(|slot| slot.get("slot").is_some()) {
                slot["slot"] = more(&slot["slot"], 1);
            }
        });
    }),
    ("threads do not meet", MEET, |made| without(made, "sync")),
    ("threads do not meet at the end of an iteration", MEET, |made| {
        bodies(made, &mut |body, is_loop| {
            if is_loop && body.last().is_some_and(|last| last["op"] == "sync") {
                body.pop();
            }
        });
    }),
    ("threads do not meet behind a wait", MEET, |made| {
        bodies(made, &mut |body, _| {
            for at in (1..body.len()).rev() {
                if body[at]["op"] == "sync" && body[at - 1]["op"] == "wait" {
                    body.remove(at);
                }
            }
        });
    }),
    ("threads meet before they wait", MEET, |made| {
        bodies(made, &mut |body, _| {
            for at in 1..body.len() {
                if body[at]["op"] == "sync" && body[at - 1]["op"] == "wait" {
                    body.swap(at - 1, at);
                }
            }
        });
    }),
    ("stores in each iteration", "was there already|has not been written", |made| {
        for kernel in array(&mut made["kernels"]) {
            let body = array(&mut kernel["body"]);
            let Some(at) = body.iter().position(|each| each["op"] == "loop") else { continue };
            let mut end = body.split_off(at + 1);
            let taken: Vec<Value> = end
                .iter()
                .filter(|each| each["op"] == "alloc")
                .map(|each| each["allocation"].clone())
                .collect();
            end.retain(|each| each["op"] != "free" || taken.contains(&each["allocation"]));
            array(&mut body[at]["body"]).extend(end);
        }
    }),
    ("allocations that are too small by the last slot", "of an allocation of", |made| {
        each_of(made, "allocations", |allocation| {
            allocation["bytes"] = json!(1.max(number(&allocation["bytes"]) - 2))
        });
    }),
    ("allocations that are twice as large", HOLDS, |made| {
        each_of(made, "allocations", |allocation| {
            allocation["bytes"] = json!(2 * number(&allocation["bytes"]))
        });
    }),
    ("tiles that are given back before they are read", "memory is used that is not taken", |made| {
        bodies(made, &mut |body, _| {
            // Each goes behind what writes it first.
            for at in (1..body.len()).rev().filter(|at| *at > 1) {
                if body[at]["op"] == "free" && computes(&body[at - 1]) {
                    body.swap(at - 1, at);
                }
            }
        });
    }),
    ("memory that is kept", HOLDS, |made| {
        // What a body takes first is taken for the block.
        for kernel in array(&mut made["kernels"]) {
            let mut all = Vec::new();
            let mut one = json!({"kernels": [kernel.clone()]});
            bodies(&mut one, &mut |body, _| {
                all.extend(body.iter().filter(|each| each["op"] == "alloc").cloned());
                body.retain(|each| each["op"] != "alloc" && each["op"] != "free");
            });
            *kernel = one["kernels"][0].clone();
            array(&mut kernel["body"]).splice(0..0, all);
        }
    }),
    ("two tiles in one place", "has not been written|threads have not met", |made| {
        for kernel in array(&mut made["kernels"]) {
            let all = kernel["allocations"].as_object().expect("a map").clone();
            let mut shared: Vec<&String> =
                all.keys().filter(|name| all[*name]["memory"] == "shared").collect();
            shared.sort_by_key(|name| -number(&all[*name]["bytes"]));
            let Some(first) = shared.first() else { continue };
            for name in &shared {
                kernel["buffers"][*name]["allocation"] = json!(first);
            }
            // Taken once, for the block.
            let mut one = json!({"kernels": [kernel.clone()]});
            let is_one = |each: &Value| shared.iter().any(|name| each["allocation"] == name.as_str());
            bodies(&mut one, &mut |body, _| body.retain(|each| !is_one(each)));
            *kernel = one["kernels"][0].clone();
            array(&mut kernel["body"]).insert(0, json!({"op": "alloc", "allocation": first}));
        }
    }),
    ("kernels in the other order", BLOCKS, |made| array(&mut made["kernels"]).reverse()),
    ("a kernel is missing", BLOCKS, |made| {
        array(&mut made["kernels"]).pop();
    }),
    ("scores that are stored", "the tensors", |made| {
        made["tensors"]["scores"] = json!({"shape": [4, 4], "dtype": "F32"});
    }),
    ("a tile is loaded twice", "bytes loaded", |made| {
        bodies(made, &mut |body, _| {
            if let Some(at) = body.iter().position(|each| each["op"] == "load") {
                body.splice(at..at, [body[at].clone(), json!({"op": "sync"})]);
            }
        });
    }),
    ("updates before what they need", "has not been written|in a finite field", |made| {
        bodies(made, &mut |body, _| {
            let Some(at) = body.iter().position(|each| each["op"] == "update") else { return };
            if at > 0 && computes(&body[at - 1]) {
                body.swap(at - 1, at);
            }
        });
    }),
    ("the rounding of a result left out", "what is moved", |made| {
        each_of(made, "buffers", |buffer| buffer["dtype"] = json!("F32"));
        each_of(made, "allocations", |allocation| {
            allocation["bytes"] = json!(2 * number(&allocation["bytes"]))
        });
    }),
];
