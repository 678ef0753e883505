//! Passes that forget to rescale an accumulator in one iteration of a stream.

use megakernel_mcir_checker::{judge_lowering, judge_transform};
use megakernel_mcir_reference::lowered;
use serde_json::{Value, json};

use crate::common::{FIELD, answer as right, array, rejected};

/// Accumulators are scaled but in the last iteration.
pub fn not_in_the_last_tile(request: &Value) -> Option<Value> {
    not_in_a_tile(request, |tiles| tiles - 1)
}

/// Accumulators are scaled but in one iteration: the factor is 1 there. It is made of the scores, times 0, of which masks leave those that come before
/// the tile, and those that come behind it.
fn not_in_a_tile(request: &Value, which: fn(i64) -> i64) -> Option<Value> {
    if request["graph"]["nodes"].to_string().contains("mask")
        || !request["graph"].to_string().contains("attention")
    {
        return None;
    }
    forgotten(right(request), which)
}

/// The same of a document with attention that is not masked.
fn forgotten(mut made: Value, which: fn(i64) -> i64) -> Option<Value> {
    let region = array(&mut made["regions"]).first_mut()?;
    let step = region["streaming"]["tile"]["tile_shape"]["j"].as_i64()?;
    let keys = region["streaming"]["stream"]["to"][0].as_i64()?;
    let tile = which((keys + step - 1) / step) * step;
    let each = array(&mut region["streaming"]["tile"]["each"]);
    let at = each.iter().position(|node| node["fn"] == "online_softmax")?;
    let scores = each[at]["in"][0].clone();
    let factors = each[at]["out"][3].clone();
    let compute = |id: &str, from: Value, more: Value| {
        let mut node = json!({"id": id, "op": "Compute", "in": from, "out": [id]});
        node.as_object_mut().expect("a node").extend(more.as_object().expect("members").clone());
        node
    };
    let masked = |id: &str, by: i64| {
        let more = json!({"fn": "mask", "rows": by * tile - 500, "columns": [[by, "j"]]});
        compute(id, json!(["zero"]), more)
    };
    // 1 in columns of other tiles, and 0 in it; then the same for each row; then r i + (1 - i).
    let added = [
        compute("zero", json!([scores]), json!({"fn": "scale", "by": [0, 1]})),
        masked("kept", 1000),
        masked("kept behind", -1000),
        compute("others", json!(["kept", "kept behind"]), json!({"fn": "max"})),
        compute("one", json!(["others"]), json!({"fn": "exp"})),
        json!({"id": "i", "op": "Reduce", "fn": "max", "axis": 1, "in": ["one"], "out": ["i"]}),
        json!({"id": "z", "op": "Reduce", "fn": "max", "axis": 1, "in": ["zero"], "out": ["z"]}),
        compute("e", json!(["z"]), json!({"fn": "exp"})),
        compute("n", json!(["e", "i"]), json!({"fn": "sub"})),
        compute("ri", json!([factors, "i"]), json!({"fn": "mul"})),
        compute("rescaled", json!(["ri", "n"]), json!({"fn": "add"})),
    ];
    let user = each.iter().position(|node| node["fn"] == "scale_add")?;
    each[user]["in"][1] = json!("rescaled");
    each.splice(at + 1..=at, added);
    let shape = |name: &Value| made["values"][name.as_str().expect("a name")]["shape"].clone();
    let (tile, row) = (shape(&scores), shape(&factors));
    for (name, shape) in ["zero", "kept", "kept behind", "others", "one"]
        .map(|name| (name, &tile))
        .into_iter()
        .chain(["i", "z", "e", "n", "ri", "rescaled"].map(|name| (name, &row)))
    {
        made["values"][name] = json!({"shape": shape, "dtype": "F32", "residency": "register"});
        array(&mut made["residency"])
            .push(json!({"memory": "register", "values": [name], "lifetime": "node"}));
    }
    // They take registers of their own.
    Some(made)
}

/// Of 200 columns in tiles of one, the largest score is directed into each fourth one; the tiles between are found by scores that rise.
const TILES: [fn(i64) -> i64; 5] = [|_| 1, |_| 70, |_| 139, |tiles| tiles - 2, |tiles| tiles - 1];

/// One query, so that the largest score of no other row changes in the tile.
fn one_query() -> Value {
    let value = |rows: i64| json!({"shape": [rows, 2], "dtype": "F16"});
    let graph = json!({
        "values": {"Q": value(1), "K": value(200), "V": value(200), "O": value(1)}, "inputs": ["Q", "K", "V"], "outputs": ["O"],
        "nodes": [{"id": "attention", "op": "attention", "in": ["Q", "K", "V"], "out": "O"}],
    });
    let target = json!({"shared_bytes": 8, "register_bytes": 4096});
    json!({"pass": "StreamingConversionPass", "graph": graph, "target": target})
}

#[test]
fn a_rescale_is_missed_in_whichever_of_many_tiles_it_is_left_out() {
    let request = one_query();
    assert_eq!(right(&request)["regions"][0]["streaming"]["tile"]["tile_shape"]["j"], 1);
    for tile in TILES {
        let answer = not_in_a_tile(&request, tile).expect("attention");
        let found = rejected("one query", &request, &answer).expect("a rejection");
        assert!(found.contains(FIELD), "{found}");
    }
}

#[test]
fn it_is_missed_in_each_request_and_whatever_is_drawn() {
    let mut judged = 0;
    for (name, request) in crate::streaming() {
        let Some(answer) = not_in_the_last_tile(&request) else { continue };
        let region = &right(&request)["regions"][0]["streaming"];
        let (step, keys) = (&region["tile"]["tile_shape"]["j"], &region["stream"]["to"][0]);
        if step.as_i64() >= keys.as_i64() {
            continue;
        }
        // What is added takes registers.
        if rejected(&name, &request, &answer).is_some_and(|found| found.contains("(IT0")) {
            continue;
        }
        judged += 1;
        // What is drawn depends on the text of the request, white space included.
        for seed in 0..20 {
            let text = format!("{request}{}", " ".repeat(seed));
            let found = judge_transform(text.as_bytes(), &answer.to_string());
            let is_seen = found.as_ref().is_err_and(|(expected, _)| expected.contains(FIELD));
            assert!(is_seen, "{name}, {seed}: {found:?}");
        }
    }
    assert!(judged >= 3, "{judged} requests");
}

#[test]
fn and_so_it_is_where_documents_are_taken() {
    let mut plain = right(&one_query());
    plain["target"] = json!({});
    // With the nodes of the others, so that they take no more memory; no tile is so far behind.
    let document = forgotten(plain.clone(), |tiles| tiles + 1).expect("attention");
    let text = document.to_string();
    let lower = |document: &Value| lowered(document.to_string().as_bytes()).expect("an accepted document").1;
    assert_eq!(judge_lowering(text.as_bytes(), &lower(&document).to_string()), Ok(()));
    let request = json!({"pass": "TileSchedulingPass", "document": document});
    assert_eq!(rejected("one query", &request, &right(&request)), None);
    for tile in TILES {
        let other = forgotten(plain.clone(), tile).expect("attention");
        let scheduled = right(&json!({"pass": "TileSchedulingPass", "document": other}));
        let found = rejected("one query", &request, &scheduled).expect("a rejection");
        assert!(found.contains(FIELD), "{found}");
        let (expected, _) =
            judge_lowering(text.as_bytes(), &lower(&other).to_string()).expect_err("a rejection");
        assert!(expected.contains(FIELD), "{expected}");
    }
}
