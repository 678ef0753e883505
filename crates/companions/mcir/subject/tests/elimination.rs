//! Faulty passes that make one region of two, each of which the runner's judge rejects in three requests at least for what it is about, and other right
//! ones, which it accepts in all (clause MCI-26); and what stays, as those who wrote the documents say.

mod common;

use common::{FIELD, MOVED, Pass, TARGET, answer, array, rejected};
use megakernel_mcir::{Pass as Kind, Target};
use megakernel_mcir_cases::joins;
use megakernel_mcir_reference::{Stays, transform_text, transformed};
use serde_json::{Value, json};

const STAYS: &str = "bytes between regions";
const STORED: &str = "tensors of the document";

fn request(document: &Value) -> Value {
    json!({"pass": "MaterializationEliminationPass", "document": document})
}

fn right(document: &Value) -> Value {
    answer(&request(document))
}

/// What the right answer leaves between regions.
fn stays(document: &Value) -> Vec<Stays> {
    let text = document.to_string();
    let made = transform_text(Kind::MaterializationElimination, text.as_bytes(), Target::default());
    made.expect("an accepted document").1
}

/// Calls with each body of a document.
fn bodies(document: &mut Value, mut visit: impl FnMut(&mut Vec<Value>)) {
    array(&mut document["regions"]).iter_mut().for_each(|region| of_region(region, &mut visit));
}

/// Calls with each body of a region.
fn of_region(region: &mut Value, mut visit: impl FnMut(&mut Vec<Value>)) {
    for body in ["begin", "each", "end"] {
        let nodes = region["streaming"]["tile"].get_mut(body).and_then(Value::as_array_mut);
        nodes.into_iter().for_each(&mut visit);
    }
}

/// Calls with each node of a document.
fn nodes(document: &mut Value, mut visit: impl FnMut(&mut Value)) {
    bodies(document, |nodes| nodes.iter_mut().for_each(&mut visit));
}

/// The right answer, changed; nothing where that changes nothing.
fn changed(document: &Value, change: impl FnOnce(&mut Value)) -> Option<Value> {
    let before = right(document);
    let mut made = before.clone();
    change(&mut made);
    (made != before).then_some(made)
}

/// The right answer to another document; nothing where that is the right one to this.
fn of_other(document: &Value, change: impl FnOnce(&mut Value)) -> Option<Value> {
    let mut other = document.clone();
    change(&mut other);
    let made = transformed(request(&other).to_string().as_bytes()).ok()?;
    (made != right(document)).then_some(made)
}

fn listed(document: &Value) -> Vec<String> {
    let names = ["inputs", "outputs"].into_iter().flat_map(|list| document[list].as_array().expect("names"));
    names.map(|name| name.as_str().expect("a name").to_owned()).collect()
}

/// Tensors between inputs and outputs.
fn between(document: &Value) -> Vec<String> {
    let (listed, values) = (listed(document), document["values"].as_object().expect("values"));
    let tensors =
        values.iter().filter(|(_, value)| value["residency"] == "global").map(|(name, _)| name.clone());
    tensors.filter(|name| !listed.contains(name)).collect()
}

/// Those that are gone in the right answer.
fn gone(document: &Value) -> Vec<String> {
    let left = between(&right(document));
    between(document).into_iter().filter(|name| !left.contains(name)).collect()
}

/// The tile that a region of a document stores as a tensor.
fn stored_tile(document: &Value, tensor: &str) -> Option<String> {
    let mut found = None;
    nodes(&mut document.clone(), |node| {
        if node["op"] == "StoreTile" && node["out"][0] == tensor {
            found = node["in"][0].as_str().map(str::to_owned);
        }
    });
    found
}

/// What vanished is loaded with the indices of the store wherever it is loaded.
fn loads_like_stores(document: &mut Value) {
    let mut at = std::collections::HashMap::new();
    let axes = |region: &Value| -> Vec<String> {
        region["streaming"]["tile"]["blocks"].as_object().expect("axes").keys().cloned().collect()
    };
    for region in array(&mut document["regions"]) {
        let own = axes(region);
        of_region(region, |nodes| {
            for node in nodes {
                if node["op"] == "StoreTile" {
                    at.insert(node["out"][0].clone(), (node["at"].clone(), own.clone()));
                } else if let (true, Some((indices, others))) =
                    (node["op"] == "LoadTile", at.get(&node["in"][0]))
                {
                    let mut text = indices.to_string();
                    for (other, axis) in others.iter().zip(&own) {
                        text = text.replace(&format!("\"{other}\""), &format!("\"{axis}\""));
                    }
                    if others.len() == own.len() {
                        node["at"] = serde_json::from_str(&text).expect("JSON");
                    }
                }
            }
        });
    }
}

/// A function before a tensor that stays is computed behind it: the tensor holds what nobody had stored before.
fn made_later(document: &Value) -> Option<Value> {
    changed(document, |made| {
        for name in between(made) {
            let Some(tile) = stored_tile(made, &name) else { continue };
            let (mut function, dtype) = (None, made["values"][&name]["dtype"].clone());
            let values = made["values"].clone();
            nodes(made, |node| {
                let is_single = node["in"].as_array().is_some_and(|ins| ins.len() == 1);
                if node["op"] == "Compute" && node["out"][0] == tile.as_str() && is_single {
                    let from = node["in"][0].as_str().unwrap_or_default();
                    if values[from]["dtype"] == dtype {
                        function = Some(std::mem::replace(&mut node["fn"], json!("copy")));
                    }
                }
            });
            let Some(function) = function else { continue };
            let mut late = Vec::new();
            bodies(made, |all| {
                let Some(place) = all.iter().position(|node| node["in"][0] == name.as_str()) else { return };
                let loaded = all[place]["out"][0].as_str().expect("a name").to_owned();
                let before = format!("{loaded} before");
                all[place]["out"] = json!([before]);
                all.insert(
                    place + 1,
                    json!({"id": before, "op": "Compute", "fn": function, "in": [before], "out": [loaded]}),
                );
                late.push((before, loaded));
            });
            for (before, loaded) in late {
                made["values"][&before] = made["values"][&loaded].clone();
                for kept in array(&mut made["residency"]) {
                    if array(&mut kept["values"]).iter().any(|name| *name == loaded.as_str()) {
                        array(&mut kept["values"]).push(json!(before));
                    }
                }
            }
        }
    })
}

#[rustfmt::skip] // a table
const FAULTS: &[(&str, &str, Pass)] = &[
    ("nothing is done", STAYS, |document| (right(document) != *document).then(|| document.clone())),
    ("the last tensor that vanishes stays", STAYS, |document| {
        // An output for as long as the pass runs.
        let name = gone(document).pop()?;
        let mut other = document.clone();
        array(&mut other["outputs"]).push(json!(name));
        let mut made = right(&other);
        made["outputs"] = document["outputs"].clone();
        Some(made)
    }),
    ("tensors that vanish have other names", STAYS, |document| {
        let mut text = document.to_string();
        for name in gone(document) {
            text = text.replace(&format!("\"{name}\""), &format!("\"other {name}\""));
        }
        Some(serde_json::from_str(&text).expect("JSON")).filter(|made| made != document)
    }),
    ("what stays holds something else: what it was made of", STORED, made_later),
    ("a rounding between regions is lost", FIELD, |document| changed(document, |made| {
        for tensor in gone(document).iter().filter(|name| document["values"][name.as_str()]["dtype"] != "F32") {
            if let Some(tile) = stored_tile(document, tensor) {
                made["values"][&tile]["dtype"] = json!("F32");
            }
        }
    })),
    ("the first region is left out", FIELD, |document| changed(document, |made| nodes(made, |node| {
        if ["exp", "gelu", "silu"].iter().any(|function| node["fn"] == *function) {
            node["fn"] = json!("copy");
        }
    }))),
    ("the other function comes first", FIELD, |document| changed(document, |made| nodes(made, |node| {
        let other = [("exp", "neg"), ("neg", "exp"), ("gelu", "silu"), ("silu", "gelu")];
        if let Some((_, other)) = other.iter().find(|(function, _)| node["fn"] == *function) {
            node["fn"] = json!(other);
        }
    }))),
    ("tiles of stores are taken whatever is loaded", FIELD, |document| of_other(document, loads_like_stores)),
    ("a bias is added in each iteration", FIELD, |document| changed(document, |made| {
        let mut is_repeated = false;
        for region in array(&mut made["regions"]) {
            let tile = &mut region["streaming"]["tile"];
            if !(tile["end"].is_array() && tile["each"].is_array()) {
                continue;
            }
            let Some(place) = array(&mut tile["end"]).iter().position(|node| node["along"] == "columns") else { continue };
            let mut bias = array(&mut tile["end"]).remove(place);
            let load = array(&mut tile["end"]).remove(place - 1);
            let (sum, with) = (bias["in"][0].clone(), bias["out"][0].clone());
            for node in array(&mut tile["end"]) {
                if node["in"][0] == with {
                    node["in"][0] = sum.clone();
                }
            }
            let each = array(&mut tile["each"]);
            let update = each.iter().position(|node| node["op"] == "UpdateState").expect("an update");
            bias["in"][0] = each[update]["in"][1].clone();
            each[update]["in"][1] = with;
            each.insert(update, bias);
            each.insert(update, load);
            is_repeated = true;
        }
        if is_repeated {
            array(&mut made["residency"]).iter_mut().for_each(|kept| kept["lifetime"] = json!("block"));
        }
    })),
    ("a region that several load goes to the first of them", "(IS0", |document| {
        let readers = |name: &str| {
            let regions = document["regions"].as_array().expect("regions").iter();
            regions.filter(|region| region["inputs"].as_array().is_some_and(|inputs| inputs.iter().any(|input| input == name))).count()
        };
        let name = between(document).into_iter().find(|name| readers(name) > 1)?;
        let mut other = document.clone();
        let mut is_first = true;
        for region in array(&mut other["regions"]) {
            if array(&mut region["inputs"]).iter().any(|input| *input == name.as_str()) && !std::mem::take(&mut is_first) {
                *region = Value::Null;
            }
        }
        let others: Vec<Value> = document["regions"].as_array()?.iter().zip(array(&mut other["regions"]).iter()).filter(|(_, kept)| kept.is_null()).map(|(region, _)| region.clone()).collect();
        let mut made = right(document);
        array(&mut made["regions"]).retain(|region| !others.iter().any(|other| other["id"] == region["id"]));
        for region in array(&mut made["regions"]) {
            of_region(region, |nodes| nodes.retain(|node| node["out"][0] != name.as_str()));
            array(&mut region["outputs"]).retain(|output| *output != name.as_str());
        }
        array(&mut made["boundaries"]).retain(|boundary| boundary["value"] != name.as_str());
        array(&mut made["regions"]).extend(others);
        made["values"].as_object_mut().expect("values").remove(&name);
        Some(made)
    }),
    ("an output that the next region loads is not stored", "(IM02)", |document| {
        let regions = document["regions"].as_array().expect("regions");
        let name = document["outputs"].as_array()?.iter().find(|name| regions.iter().any(|region| region["inputs"].as_array().is_some_and(|inputs| inputs.contains(name))))?.clone();
        changed(document, |made| for region in array(&mut made["regions"]) {
            of_region(region, |nodes| nodes.retain(|node| node["out"][0] != name));
            array(&mut region["outputs"]).retain(|output| *output != name);
        })
    }),
    ("boundaries go, and stores stay", "(IM01)", |document| {
        let mut made = document.clone();
        let names = gone(document);
        array(&mut made["boundaries"]).retain(|boundary| !names.iter().any(|name| boundary["value"] == name.as_str()));
        (made != *document).then_some(made)
    }),
    ("boundaries of what vanished stay", "(IM02)", |document| changed(document, |made| for name in gone(document) {
        made["values"][&name] = document["values"][&name].clone();
        array(&mut made["boundaries"]).push(json!({"value": name}));
    })),
    ("tiles are kept as long as before", "(IL0", |document| changed(document, |made| {
        let known = made["values"].clone();
        made["residency"] = document["residency"].clone();
        for kept in array(&mut made["residency"]) {
            array(&mut kept["values"]).retain(|name| known.get(name.as_str().expect("a name")).is_some());
        }
    })),
    ("a tile that is there is loaded again", MOVED, |document| changed(document, |made| {
        let mut tile = None;
        bodies(made, |all| if let (None, Some(place)) = (&tile, all.iter().position(|node| node["op"] == "LoadTile")) {
            let mut again = all[place].clone();
            tile = again["out"][0].as_str().map(str::to_owned);
            (again["id"], again["out"]) = (json!("again"), json!(["again"]));
            all.insert(place, again);
        });
        if let Some(tile) = tile {
            made["values"]["again"] = made["values"][&tile].clone();
            let memory = made["values"]["again"]["residency"].clone();
            array(&mut made["residency"]).push(json!({"memory": memory, "lifetime": "node", "values": ["again"]}));
        }
    })),
    ("regions change places", "(IS07)", |document| changed(document, |made| array(&mut made["regions"]).reverse())),
    ("there is another target", TARGET, |document| changed(document, |made| made["target"] = json!({"shared_bytes": 1 << 20}))),
    ("regions become one that do not fit", "(IT0", |document| {
        let mut free = document.clone();
        free["target"] = json!({});
        let mut made = right(&free);
        made["target"] = document["target"].clone();
        // The tiles are all kept for the block.
        array(&mut made["residency"]).iter_mut().for_each(|kept| kept["lifetime"] = json!("block"));
        (document["target"].is_object() && made != right(document)).then_some(made)
    }),
];

/// Tiles of the right answer are all kept for their blocks.
fn kept_for_blocks(document: &Value) -> Option<Value> {
    let mut made = right(document);
    array(&mut made["residency"]).iter_mut().for_each(|kept| kept["lifetime"] = json!("block"));
    made["target"].is_null().then_some(made)
}

const VARIANTS: &[(&str, Pass)] = &[
    ("the reference's", |document| Some(right(document))),
    ("the reference's of its own", |document| Some(right(&right(document)))),
    ("longer lifetimes", kept_for_blocks),
    ("loads that begin ahead", |document| {
        let request = json!({"pass": "TileSchedulingPass", "document": right(document)});
        document["target"].is_null().then(|| answer(&request))
    }),
];

/// What the judge says of an answer to a document, if it rejects it.
fn rejection(name: &str, document: &Value, answer: &Value) -> Option<String> {
    rejected(name, &request(document), answer)
}

#[test]
fn faulty_passes_are_rejected_and_other_right_ones_are_not() {
    let documents = joins::all();
    for (what, pass) in VARIANTS {
        let answers: Vec<_> = documents
            .iter()
            .filter_map(|(name, _, document)| Some((name, document, pass(document)?)))
            .collect();
        assert!(answers.len() >= 3, "{what}: {} answers", answers.len());
        let found = answers.iter().filter_map(|(name, document, answer)| rejection(name, document, answer));
        assert_eq!(found.collect::<Vec<_>>(), Vec::<String>::new(), "{what}");
    }
    let mut few = Vec::new();
    for (what, reason, pass) in FAULTS {
        let answers =
            documents.iter().filter_map(|(name, _, document)| Some((name, document, pass(document)?)));
        let found: Vec<String> =
            answers.filter_map(|(name, document, answer)| rejection(name, document, &answer)).collect();
        if found.iter().filter(|found| found.contains(reason)).count() < 3 {
            few.push((what, found));
        }
    }
    assert!(few.is_empty(), "faults that fewer than three requests reject for what they are about: {few:#?}");
}

#[test]
fn what_stays_is_what_the_documents_were_written_for() {
    const STREAMS: &str = "the regions that store and load it both have a stream or a state";
    const TILES: &str = "blocks load other tiles of it than they store";
    const SEVERAL: &str = "several regions load it";
    const MEMORY: &str = "the tiles of the regions that store and load it do not fit together";
    const EACH: &str = "it is stored in each iteration";
    const AROUND: &str =
        "a region between those that store and load it needs the one, and the other needs it";
    let expected: &[(&str, &[(&str, &str)])] = &[
        ("two maps", &[]),
        ("four maps", &[]),
        ("other steps", &[("T", TILES)]),
        ("one row of blocks", &[]),
        ("turned twice", &[]),
        ("turned back", &[]),
        ("turned back by other tiles", &[]),
        ("diamond", &[]),
        ("asked for on the way", &[]),
        ("read twice in a block", &[]),
        ("two tiles in a block", &[("T", TILES)]),
        ("epilogue", &[]),
        ("epilogue ahead", &[]),
        ("mlp", &[("G", STREAMS)]),
        ("mlp in BF16", &[("G", STREAMS)]),
        ("mlp in F32", &[("G", STREAMS)]),
        ("two products", &[("C", STREAMS)]),
        ("product asked for", &[]),
        ("streamed", &[("A", TILES)]),
        ("epilogue of other tiles", &[("H", TILES)]),
        ("two epilogues", &[("H", SEVERAL)]),
        ("norm of a sum", &[]),
        ("norm of a sum with a state", &[]),
        ("norm of a sum in parts", &[("T", TILES)]),
        ("scaled norm", &[]),
        ("scaled norm with a state", &[("T", EACH)]),
        ("queries", &[]),
        ("queries in each", &[]),
        ("streamed map", &[("T", EACH)]),
        ("streamed map of points", &[("T", EACH)]),
        ("heads in groups", &[]),
        ("heads in other groups", &[("T", TILES)]),
        ("two between", &[]),
        ("two between, one turned", &[("T", TILES), ("U", TILES)]),
        ("a way around", &[]),
        ("a way around, turned", &[("T", AROUND), ("U", TILES), ("V", TILES)]),
        ("earlier", &[("U", TILES)]),
        ("later", &[("V", TILES)]),
        ("an output between", &[]),
        ("an output between, turned", &[("T", TILES)]),
        ("one of two", &[]),
        ("five regions", &[("U", TILES)]),
        ("rounded weights", &[]),
        ("rounded weights of one column", &[]),
        ("quotient", &[]),
        ("rounded epilogue", &[]),
        ("norm of one number", &[]),
        ("masked", &[]),
        ("masked with names in turn", &[]),
        ("masked by the rows of the next block", &[]),
        ("masked at other places", &[]),
        ("masked in one row of blocks", &[]),
        ("causal queries", &[]),
        ("causal queries, tiles left out", &[]),
        ("two maps, just enough memory", &[]),
        ("two maps, a byte too little of shared memory", &[("T", MEMORY)]),
        ("two maps, a byte too little of registers", &[("T", MEMORY)]),
        ("scaled norm, just enough memory", &[]),
        ("scaled norm, a byte too little of shared memory", &[("T", MEMORY)]),
        ("scaled norm, a byte too little of registers", &[("T", MEMORY)]),
        // Enough for the product and the bias; GELU has a tile of its own in registers.
        ("epilogue, just enough memory", &[("C", MEMORY)]),
        ("epilogue, a byte too little of shared memory", &[("C", MEMORY), ("H", MEMORY)]),
        ("epilogue, a byte too little of registers", &[("C", MEMORY), ("H", MEMORY)]),
        ("norm of a sum, just enough memory", &[]),
        ("norm of a sum, a byte too little of shared memory", &[("T", MEMORY)]),
        ("norm of a sum, a byte too little of registers", &[("T", MEMORY)]),
        ("read twice in a block, just enough memory", &[]),
        ("read twice in a block, a byte too little of shared memory", &[("T", MEMORY)]),
        ("read twice in a block, a byte too little of registers", &[("T", MEMORY)]),
        ("small-pair", &[("H", STREAMS)]),
        ("small-parts", &[("P", STREAMS)]),
        ("small-chain", &[]),
    ];
    let documents = joins::all();
    assert_eq!(documents.len(), expected.len());
    for (name, _, document) in &documents {
        let (_, tensors) = expected.iter().find(|(known, _)| known == name).expect(name);
        let mut found = stays(document);
        found.sort();
        let wanted: Vec<(String, &str)> =
            tensors.iter().map(|(tensor, reason)| ((*tensor).to_owned(), *reason)).collect();
        assert_eq!(found, wanted, "{name}");
        // The judge has found out by itself whether something vanishes.
        let found = rejection(name, document, document);
        let is_enough = gone(document).is_empty();
        assert_eq!(found.is_none(), is_enough, "{name}: {found:?}");
        assert!(found.is_none_or(|found| found.contains(STAYS)), "{name}");
    }
}

#[test]
fn values_that_are_left_keep_their_order() {
    let names = |document: &Value| -> Vec<String> {
        document["values"].as_object().expect("values").keys().cloned().collect()
    };
    let mut several = 0;
    for (name, _, document) in joins::all() {
        let left = names(&right(&document));
        let (kept, gone): (Vec<String>, _) =
            names(&document).into_iter().partition(|name| left.contains(name));
        assert_eq!(left, kept, "{name}");
        several += usize::from(gone.len() > 1);
    }
    assert!(several >= 3, "of {several} documents several values vanish");
}
