//! Kernel IR: faulty lowerings, each of which the runner's judge rejects in three documents at least for what it is about, and other right ones, which it
//! accepts in all (clauses MCI-27 to MCI-30).

use std::sync::LazyLock;

use megakernel_mcir_cases::families::lowering;
use megakernel_mcir_checker::judge_lowering;
use megakernel_mcir_reference::lowered;
use serde_json::{Value, json};

/// What a faulty or another right lowering makes of the right one to a document; nothing where it would do what is right.
type Lowering = fn(&mut Value);

fn array(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().expect("an array")
}

fn rejected(name: &str, document: &Value, answer: &Value) -> Option<String> {
    let (expected, found) = judge_lowering(document.to_string().as_bytes(), &answer.to_string()).err()?;
    Some(format!("{name}: expected {expected}, found {found}"))
}

/// All documents, each with what the reference lowers it to.
fn all() -> &'static [(String, Value, Value)] {
    static ALL: LazyLock<Vec<(String, Value, Value)>> = LazyLock::new(|| {
        let one = |(name, _, document): (String, String, Value)| {
            let (_, made) = lowered(document.to_string().as_bytes()).expect("an accepted document");
            (name, document, made)
        };
        lowering::all().into_iter().map(one).collect()
    });
    &ALL
}

/// Calls with each list of instructions, outer ones first: and whether it is the body of a loop.
fn bodies(made: &mut Value, visit: &mut impl FnMut(&mut Vec<Value>, bool)) {
    fn below(body: &mut Value, is_loop: bool, visit: &mut impl FnMut(&mut Vec<Value>, bool)) {
        visit(array(body), is_loop);
        for instruction in array(body) {
            let is_loop = instruction["op"] == "loop";
            if instruction.get("body").is_some() {
                below(&mut instruction["body"], is_loop, visit);
            }
        }
    }
    array(&mut made["kernels"]).iter_mut().for_each(|kernel| below(&mut kernel["body"], false, visit));
}

/// Calls with each instruction.
fn instructions(made: &mut Value, mut visit: impl FnMut(&mut Value)) {
    bodies(made, &mut |body, _| body.iter_mut().for_each(&mut visit));
}

/// Calls with each view.
fn views(made: &mut Value, mut visit: impl FnMut(&mut Value)) {
    instructions(made, |instruction| {
        for side in ["in", "out"] {
            match instruction.get_mut(side) {
                Some(Value::Array(all)) => all.iter_mut().for_each(&mut visit),
                Some(view) => visit(view),
                None => {}
            }
        }
    });
}

/// Leaves out the instructions of a kind.
fn without(made: &mut Value, op: &str) {
    bodies(made, &mut |body, _| body.retain(|instruction| instruction["op"] != op));
}

/// One more than an index.
fn more(index: &Value, by: i64) -> Value {
    match index {
        Value::Array(terms) => json!([terms.as_slice(), &[json!(by)]].concat()),
        index => json!([index, by]),
    }
}

/// Calls with each instruction of a kind.
fn of_kind(made: &mut Value, op: &str, mut visit: impl FnMut(&mut Value)) {
    instructions(made, |each| {
        if each["op"] == op {
            visit(each);
        }
    });
}

fn number(value: &Value) -> i64 {
    value.as_i64().expect("an integer")
}

/// Calls with each buffer or allocation of all kernels.
fn each_of(made: &mut Value, member: &str, mut visit: impl FnMut(&mut Value)) {
    for kernel in array(&mut made["kernels"]) {
        kernel[member].as_object_mut().expect("a map").values_mut().for_each(&mut visit);
    }
}

/// Whether an instruction computes.
fn computes(each: &Value) -> bool {
    ["compute", "reduce", "update"].iter().any(|op| each["op"] == *op)
}

const MEET: &str = "threads have not met";
const WRITTEN: &str = "has not been written";
const FIELD: &str = "in a finite field";
const LIES: &str = "are not all among";
const WAY: &str = "on its way";
const BLOCKS: &str = "kernels and their blocks";
const HOLDS: &str = "a block holds";

/// What goes wrong, what the judge says of it, and how.
const FAULTS: &[(&str, &str, Lowering)] = &[
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

/// Other right lowerings.
const VARIANTS: &[(&str, Lowering)] = &[
    ("the reference's", |_| {}),
    ("block loops in the other order", |made| {
        array(&mut made["kernels"]).iter_mut().for_each(|kernel| array(&mut kernel["blocks"]).reverse());
    }),
    ("threads meet everywhere", |made| {
        bodies(made, &mut |body, _| {
            *body = std::mem::take(body).into_iter().flat_map(|each| [json!({"op": "sync"}), each]).collect();
        });
    }),
    ("tiles in registers in one allocation", |made| {
        for kernel in array(&mut made["kernels"]) {
            let allocations = kernel["allocations"].as_object().expect("a map").clone();
            let at_first: Vec<String> = array(&mut kernel["body"])
                .iter()
                .take_while(|each| each["op"] == "alloc" || each["op"] == "let")
                .filter_map(|each| each["allocation"].as_str().map(str::to_owned))
                .filter(|name| allocations[name]["memory"] == "register")
                .collect();
            let mut bytes = 0;
            // Those of four bytes first, since each begins at a multiple of its size.
            for size in ["F32", "F16", "BF16"] {
                for name in at_first
                    .iter()
                    .filter(|name| kernel["buffers"][*name]["dtype"] == size)
                    .cloned()
                    .collect::<Vec<_>>()
                {
                    kernel["buffers"][&name]["allocation"] = json!("together");
                    kernel["buffers"][&name]["offset"] = json!(bytes);
                    bytes += number(&allocations[&name]["bytes"]);
                }
            }
            if bytes == 0 {
                continue;
            }
            let of_them = |each: &Value| at_first.iter().any(|name| each["allocation"] == name.as_str());
            array(&mut kernel["body"]).retain(|each| !of_them(each));
            array(&mut kernel["body"]).insert(0, json!({"op": "alloc", "allocation": "together"}));
            kernel["allocations"]["together"] = json!({"memory": "register", "bytes": bytes});
        }
    }),
    ("loops that are unrolled by one iteration", |made| {
        bodies(made, &mut |body, _| {
            let Some(at) = body.iter().position(|each| each["op"] == "loop") else { return };
            let mut rest = body[at].clone();
            let from = rest["from"].clone();
            // The first iteration is a loop of its own, of one value; the others are numbered from 1 on.
            let step = number(&rest["step"]);
            body[at]["to"] = json!("once");
            let bound =
                json!({"op": "let", "name": "once", "fn": "min", "of": [rest["to"], more(&from, step)]});
            rest["from"] = more(&from, step);
            let number = rest["number"].as_str().expect("a name").to_owned();
            let next = json!({"op": "let", "name": number, "fn": "max", "of": [["before", 1]]});
            rest["number"] = json!("before");
            array(&mut rest["body"]).insert(0, next);
            body.insert(at + 1, rest);
            body.insert(at, bound);
        });
    }),
    ("other names", |made| {
        let text = made["kernels"].to_string();
        // Buffers and allocations have the same names here, and integers others.
        let mut renamed: Value = serde_json::from_str(&text).expect("JSON");
        for kernel in array(&mut renamed) {
            for member in ["allocations", "buffers"] {
                let all = kernel[member].as_object().expect("a map").clone();
                kernel[member] =
                    all.into_iter().map(|(name, value)| (format!("tile {name}"), value)).collect();
            }
        }
        made["kernels"] = renamed;
        let other = |value: &mut Value| {
            if let Some(name) = value.as_str() {
                *value = json!(format!("tile {name}"));
            }
        };
        each_of(made, "buffers", |buffer| other(&mut buffer["allocation"]));
        instructions(made, |each| {
            each.get_mut("allocation").into_iter().for_each(other);
            each.get_mut("for").into_iter().flat_map(array).for_each(|slot| other(&mut slot["buffer"]));
        });
        views(made, |view| other(&mut view["buffer"]));
    }),
];

/// What is made of the right answers, where it is something else.
fn changed(lowering: Lowering) -> impl Iterator<Item = (&'static str, &'static Value, Value)> {
    all().iter().filter_map(move |(name, document, right)| {
        let mut made = right.clone();
        lowering(&mut made);
        (made != *right).then_some((name.as_str(), document, made))
    })
}

#[test]
fn right_ones_are_accepted() {
    let found = all().iter().filter_map(|(name, document, answer)| rejected(name, document, answer));
    assert_eq!(found.collect::<Vec<String>>(), Vec::<String>::new());
}

#[test]
fn the_schema_takes_what_the_reference_makes() {
    let schema = megakernel_test_support::schemas::validator("kernel-ir");
    for (name, _, made) in all() {
        let found: Vec<String> = schema.iter_errors(made).map(|error| error.to_string()).collect();
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn other_right_ones_are_accepted() {
    for (what, lowering) in VARIANTS.iter().skip(1) {
        // All of them would take long, and each is tried in documents far from each other.
        let answers: Vec<_> = changed(*lowering).step_by(5).collect();
        assert!(answers.len() >= 5, "{what}: {} answers", answers.len());
        let found = answers.iter().filter_map(|(name, document, answer)| rejected(name, document, answer));
        assert_eq!(found.collect::<Vec<String>>(), Vec::<String>::new(), "{what}");
    }
}

#[test]
fn faulty_ones_are_rejected_for_what_they_are_about() {
    let mut few = Vec::new();
    for (what, reasons, lowering) in FAULTS {
        let mut others = Vec::new();
        let mut count = 0;
        for found in changed(*lowering).filter_map(|(name, document, made)| rejected(name, document, &made)) {
            if reasons.split('|').any(|reason| found.contains(reason)) {
                count += 1;
            } else {
                others.push(found);
            }
            if count >= 3 {
                break;
            }
        }
        if count < 3 {
            others.truncate(5);
            few.push((what, count, others));
        }
    }
    assert!(
        few.is_empty(),
        "faults that fewer than three documents reject for what they are about: {few:#?}"
    );
}

#[test]
fn the_example_is_what_its_document_is_lowered_to() {
    let [document, kernels] = ["MCI-04", "MCI-28"].map(|clause| {
        let texts = megakernel_test_support::spec::blocks(clause, "json");
        serde_json::from_str::<Value>(&texts[0]).expect("JSON")
    });
    // A document of a few tiles in its place: the one of the text takes too many operations to be judged.
    let small = |value: &Value| -> Value {
        let mut text = value.to_string();
        for (large, small) in [
            ("[256", "[128"),
            ("\"i\":256", "\"i\":128"),
            ("\"to\":256", "\"to\":128"),
            ("4096", "384"),
            ("3967", "255"),
        ] {
            text = text.replace(large, small);
        }
        serde_json::from_str(&text).expect("JSON")
    };
    let (document, kernels) = (small(&document), small(&kernels));
    assert_eq!(rejected("the example", &document, &kernels), None);
    for at in 0..2 {
        let mut made = kernels.clone();
        let mut place = 0;
        bodies(&mut made, &mut |body, _| {
            body.retain(|each| {
                place += usize::from(each["op"] == "sync");
                each["op"] != "sync" || place != at + 1
            });
        });
        let found = rejected("the example", &document, &made).expect("a meeting that is needed");
        assert!(found.contains(MEET), "{found}");
    }
}
