//! Documents and answers that are small to write and much to judge: each is answered, with a reason where it is refused. What took quadratic
//! time would not end here.

use megakernel_ir::protocol::Answer;
use megakernel_mcir_checker::{judge_lowering, judge_transform};
use megakernel_mcir_reference::{lowered, measure, transformed, validate};
use serde_json::{Map, Value, json};

fn transform(graph: &Value) -> Value {
    let request = json!({"pass": "AttentionPatternPass", "graph": graph}).to_string();
    transformed(request.as_bytes()).expect("a graph that breaks no rule")
}

/// So many patterns on the same keys, which come transposed, unscaled.
fn patterns(count: usize) -> Value {
    let value = |shape: [usize; 2]| json!({"shape": shape, "dtype": "F32"});
    let mut values = Map::new();
    values.insert("KT".to_owned(), value([2, 3]));
    values.insert("V".to_owned(), value([3, 2]));
    values.insert("Q".to_owned(), value([4, 2]));
    let (mut nodes, mut outputs) = (Vec::new(), Vec::new());
    for number in 0..count {
        let of = |what: &str| format!("{what}{number}");
        values.insert(of("s"), value([4, 3]));
        values.insert(of("p"), value([4, 3]));
        values.insert(of("O"), value([4, 2]));
        nodes.extend([
            json!({"id": of("s"), "op": "matmul", "in": ["Q", "KT"], "out": of("s")}),
            json!({"id": of("p"), "op": "softmax", "axis": 1, "in": [of("s")], "out": of("p")}),
            json!({"id": of("O"), "op": "matmul", "in": [of("p"), "V"], "out": of("O")}),
        ]);
        outputs.push(of("O"));
    }
    json!({"values": values, "inputs": ["Q", "KT", "V"], "outputs": outputs, "nodes": nodes})
}

#[test]
fn values_keep_their_order_and_patterns_share_the_keys_that_are_transposed_for_them() {
    let graph = patterns(20_000);
    let made = transform(&graph);
    let names = |graph: &Value| -> Vec<String> {
        graph["values"].as_object().expect("values").keys().cloned().collect()
    };
    let mut kept: Vec<String> =
        names(&graph).into_iter().filter(|name| !name.starts_with(['s', 'p'])).collect();
    kept.push("KT-transposed-0".to_owned());
    assert_eq!(names(&made), kept);
    assert_eq!(
        made["nodes"].as_array().map(Vec::len),
        Some(20_001),
        "an attention each, and one transposition"
    );
}

#[test]
fn what_is_unchanged_is_no_answer_however_small_its_scores_are() {
    // Four scores for each row of two numbers, and 600 numbers of each key.
    for (rows, keys, depth) in [(2, 2, 2), (6, 6, 6), (9, 5, 9), (4, 5, 12), (2, 3, 600)] {
        let value = |shape: [usize; 2]| json!({"shape": shape, "dtype": "F32"});
        let graph = json!({
            "values": {"Q": value([rows, depth]), "KT": value([depth, keys]), "V": value([keys, depth]), "s": value([rows, keys]),
                "p": value([rows, keys]), "O": value([rows, depth])},
            "inputs": ["Q", "KT", "V"], "outputs": ["O"],
            "nodes": [{"id": "1", "op": "matmul", "in": ["Q", "KT"], "out": "s"},
                {"id": "2", "op": "softmax", "axis": 1, "in": ["s"], "out": "p"},
                {"id": "3", "op": "matmul", "in": ["p", "V"], "out": "O"}]});
        let request = json!({"pass": "AttentionPatternPass", "graph": graph}).to_string();
        let right = transform(&graph).to_string();
        assert_eq!(judge_transform(request.as_bytes(), &right), Ok(()), "{rows} x {keys} x {depth}");
        let (expected, found) =
            judge_transform(request.as_bytes(), &graph.to_string()).expect_err("nothing was done");
        assert!(expected.contains("(MCI-22)"), "{rows} x {keys} x {depth}: {expected}, {found}");
    }
}

#[test]
fn answers_that_take_too_much_are_refused_by_the_number_of_their_operations() {
    let graph = patterns(1);
    let request = json!({"pass": "AttentionPatternPass", "graph": graph}).to_string();
    let mut answer = transform(&graph);
    answer["values"]["huge"] = json!({"shape": [2_000_000, 1_000_000], "dtype": "F32"});
    answer["inputs"] = graph["inputs"].clone();
    let huge = json!({"id": "huge", "op": "matmul", "in": ["Q", "KT"], "out": "huge"});
    let mut wide = answer.clone();
    wide["nodes"].as_array_mut().expect("nodes").push(huge);
    let (_, found) = judge_transform(request.as_bytes(), &wide.to_string()).expect_err("shapes do not meet");
    assert!(found.contains("(IG06)"), "{found}");
    // A row of doublings: each product is as wide as both of its operands are long.
    let mut nodes = answer["nodes"].as_array().expect("nodes").clone();
    let mut values = answer["values"].as_object().expect("values").clone();
    values.remove("huge");
    nodes.push(json!({"id": "t", "op": "matmul", "in": ["Q", "KT"], "out": "t0"}));
    values.insert("t0".to_owned(), json!({"shape": [4, 3], "dtype": "F32"}));
    for number in 0..100_000 {
        let (from, to) = (format!("t{number}"), format!("t{}", number + 1));
        values.insert(to.clone(), json!({"shape": [4, 3], "dtype": "F32"}));
        nodes.push(json!({"id": to, "op": "add", "in": [from, from], "out": to}));
    }
    answer["nodes"] = json!(nodes);
    answer["values"] = json!(values);
    let (_, found) = judge_transform(request.as_bytes(), &answer.to_string()).expect_err("too much");
    assert!(found.contains("is judged up to"), "{found}");
}

#[test]
fn values_of_any_number_of_extents_are_refused_before_they_are_compared() {
    let mut graph = patterns(1);
    graph["values"]["Q"]["shape"] = json!(vec![1; 100_000]);
    let found = validate(graph.to_string().as_bytes()).diagnostics;
    assert_eq!(found.len(), 1);
    assert!(found[0].rule.to_string() == "IG01" && found[0].pointer == "/values/Q/shape", "{found:?}");
}

#[test]
fn tiles_at_an_edge_of_a_billion_blocks_are_not_counted_one_by_one() {
    let extent = 3 * 32_768 - 1;
    let document = json!({
        "values": {"X": {"shape": [extent, extent], "dtype": "F32", "residency": "global"},
            "Y": {"shape": [extent, extent], "dtype": "F32", "residency": "global"},
            "x": {"shape": [3, 3], "dtype": "F32", "residency": "register"}},
        "inputs": ["X"], "outputs": ["Y"], "boundaries": [{"value": "Y"}],
        "residency": [{"memory": "register", "values": ["x"], "lifetime": "block"}],
        "regions": [{"id": "copy", "inputs": ["X"], "outputs": ["Y"], "streaming": {
            "tile": {"tile_shape": {"i": 3, "k": 3}, "blocks": {"i": extent, "k": extent},
                "begin": [{"id": "load", "op": "LoadTile", "in": ["X"], "out": ["x"], "at": ["i", "k"]}],
                "end": [{"id": "store", "op": "StoreTile", "in": ["x"], "out": ["Y"], "at": ["i", "k"]}]}}}]});
    let text = document.to_string();
    assert!(validate(text.as_bytes()).diagnostics.is_empty());
    let Answer::Unsupported { reason } = measure(text.as_bytes()) else { unreachable!("it was counted") };
    assert!(reason.contains("more than 268435456 points"), "{reason}");
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_documents_that_take_too_much_are_refused_as_answers() {
    let graph = json!({
        "values": {"X": {"shape": [8], "dtype": "F32"}, "Y": {"shape": [8], "dtype": "F32"}},
        "inputs": ["X"], "outputs": ["Y"],
        "nodes": [{"id": "n", "op": "neg", "in": ["X"], "out": "Y"}]});
    let request = json!({"pass": "StreamingConversionPass", "graph": graph}).to_string();
    let right = transformed(request.as_bytes()).expect("a graph that breaks no rule");
    assert_eq!(judge_transform(request.as_bytes(), &right.to_string()), Ok(()));
    // Blocks that do nothing, more than can be counted.
    let mut answer = right.clone();
    answer["regions"]
        .as_array_mut()
        .expect("regions")
        .push(json!({"id": "idle", "inputs": [], "outputs": [], "streaming": {
        "tile": {"tile_shape": {"a": 1, "b": 1}, "blocks": {"a": 2_147_483_647, "b": 2_147_483_647}}}}));
    let (_, found) = judge_transform(request.as_bytes(), &answer.to_string()).expect_err("too many blocks");
    assert!(found.contains("it takes more than"), "{found}");
    // A tensor that no machine holds, of which one element is stored.
    let mut answer = right.clone();
    answer["values"]["Z"] =
        json!({"shape": [2_000_000_000, 2_000_000], "dtype": "F32", "residency": "global"});
    answer["values"]["z"] = json!({"shape": [1, 1], "dtype": "F32", "residency": "register"});
    answer["values"]["x"] = json!({"shape": [1], "dtype": "F32", "residency": "register"});
    answer["boundaries"].as_array_mut().expect("boundaries").push(json!({"value": "Z"}));
    answer["residency"]
        .as_array_mut()
        .expect("residency")
        .push(json!({"memory": "register", "values": ["x", "z"], "lifetime": "block"}));
    answer["regions"].as_array_mut().expect("regions").push(json!({"id": "huge", "inputs": [], "outputs": ["Z"], "streaming": {
        "tile": {"tile_shape": {}, "begin": [{"id": "s", "op": "StoreTile", "in": ["z"], "out": ["Z"], "at": [0, 0]}]}}}));
    let (_, found) =
        judge_transform(request.as_bytes(), &answer.to_string()).expect_err("too large a tensor");
    assert!(found.contains("are judged (MCI-21)"), "{found}");
    // Numbers beyond those that a document may have, wherever they stand.
    let tile = right["regions"][0]["streaming"]["tile"]["begin"][0]["out"][0].clone();
    for (place, value) in [
        ("/regions/0/streaming/tile/begin/0/at", json!([i64::MIN])),
        ("/regions/0/streaming/stream", json!({"axis": "t", "from": [-2], "to": [8, i64::MAX]})),
        ("/regions/0/streaming/state", json!([{"value": tile, "init": i64::MIN}])),
    ] {
        let mut answer = right.clone();
        let (parent, member) = place.rsplit_once('/').expect("a place");
        answer.pointer_mut(parent).expect("a parent")[member] = value;
        if member == "stream" {
            answer["regions"][0]["streaming"]["tile"]["tile_shape"]["t"] = json!(1);
        }
        let (_, found) = judge_transform(request.as_bytes(), &answer.to_string()).expect_err(place);
        assert!(found.contains("(IS01)"), "{place}: {found}");
    }
    // Regions that do nothing, and many more values.
    let mut answer = right.clone();
    for number in 0..100_000 {
        answer["values"][format!("v{number}")] =
            json!({"shape": [1], "dtype": "F32", "residency": "register"});
        // As many as may run (MCI-21).
        if number < 8_000 {
            answer["regions"].as_array_mut().expect("regions").push(
                json!({"id": format!("r{number}"), "inputs": [], "outputs": [], "streaming": {"tile": {"tile_shape": {}}}}),
            );
        }
    }
    let names: Vec<String> = (0..100_000).map(|number| format!("v{number}")).collect();
    answer["residency"]
        .as_array_mut()
        .expect("residency")
        .push(json!({"memory": "register", "values": names, "lifetime": "node"}));
    assert_eq!(judge_transform(request.as_bytes(), &answer.to_string()), Ok(()));
    // One tile in more and more nodes: each reads all of it.
    let mut answer = right;
    let begin = answer["regions"][0]["streaming"]["tile"]["begin"].as_array_mut().expect("nodes");
    let tile = begin[0]["out"][0].as_str().expect("a name").to_owned();
    let more = (0..200_000).map(|number| json!({"id": format!("m{number}"), "op": "Compute", "fn": "neg", "in": [tile], "out": [format!("m{number}")]}));
    let more: Vec<Value> = more.collect();
    begin.splice(1..1, more);
    let mut values = answer["values"].as_object().expect("values").clone();
    let names: Vec<String> = (0..200_000).map(|number| format!("m{number}")).collect();
    for name in &names {
        values.insert(name.clone(), json!({"shape": [8], "dtype": "F32", "residency": "register"}));
    }
    answer["values"] = json!(values);
    answer["residency"]
        .as_array_mut()
        .expect("residency")
        .push(json!({"memory": "register", "values": names, "lifetime": "node"}));
    let (_, found) = judge_transform(request.as_bytes(), &answer.to_string()).expect_err("too many nodes");
    assert!(found.contains("it takes more than"), "{found}");
}

/// A document of maps of one tile each: the tensors that a region loads, and those that it stores. All nodes that do the same have the same id in
/// all regions.
fn maps(outputs: &[String], regions: &[(Vec<String>, Vec<String>)]) -> Value {
    let mut values = Map::new();
    let (mut tiles, mut all) = (Vec::new(), Vec::new());
    let mut stored = std::collections::BTreeSet::new();
    for (number, (ins, outs)) in regions.iter().enumerate() {
        let mut begin = Vec::new();
        let mut tile = |name: String| {
            values.insert(name.clone(), json!({"shape": [4], "dtype": "F32", "residency": "register"}));
            tiles.push(name.clone());
            name
        };
        let first = tile(format!("first {number}"));
        for (place, tensor) in ins.iter().enumerate() {
            let to = if place == 0 { first.clone() } else { tile(format!("{place} of {number}")) };
            begin.push(json!({"id": format!("load {place}"), "op": "LoadTile", "in": [tensor], "out": [to], "at": ["i"]}));
        }
        let last = tile(format!("last {number}"));
        begin.push(json!({"id": "map", "op": "Compute", "fn": "neg", "in": [first], "out": [last]}));
        for (place, tensor) in outs.iter().enumerate() {
            begin.push(json!({"id": format!("store {place}"), "op": "StoreTile", "in": [last], "out": [tensor], "at": ["i"]}));
        }
        for tensor in ins.iter().chain(outs) {
            values.insert(tensor.clone(), json!({"shape": [8], "dtype": "F32", "residency": "global"}));
        }
        stored.extend(outs);
        all.push(json!({"id": format!("region {number}"), "inputs": ins, "outputs": outs, "streaming": {
            "tile": {"tile_shape": {"i": 4}, "blocks": {"i": 8}, "begin": begin}}}));
    }
    let boundaries: Vec<Value> = stored.iter().map(|name| json!({"value": name})).collect();
    json!({"values": values, "inputs": ["X"], "outputs": outputs, "boundaries": boundaries, "regions": all,
        "residency": [{"memory": "register", "values": tiles, "lifetime": "node"}]})
}

fn names(of: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{of}{number}")).collect()
}

/// What becomes of a document, and how many regions and tensors it has then. The judge is asked where that is not much more.
fn joined(document: &Value, is_judged: bool) -> (Value, usize, usize) {
    let request = json!({"pass": "MaterializationEliminationPass", "document": document}).to_string();
    let made = transformed(request.as_bytes()).expect("a document that breaks no rule");
    let tensors = made["values"].as_object().expect("values").values();
    let tensors = tensors.filter(|value| value["residency"] == "global").count();
    let regions = made["regions"].as_array().expect("regions").len();
    if is_judged {
        assert_eq!(judge_transform(request.as_bytes(), &made.to_string()), Ok(()));
        // Where something vanishes, nothing is too little.
        let is_one = regions < document["regions"].as_array().expect("regions").len();
        let found = judge_transform(request.as_bytes(), &document.to_string()).err();
        assert_eq!(found.is_some_and(|(expected, _)| expected.contains("bytes between regions")), is_one);
    }
    (made, regions, tensors)
}

#[test]
fn chains_of_maps_with_equal_ids_become_one_region() {
    for (count, is_judged) in [(300, true), (4_000, false)] {
        let regions: Vec<_> = (0..count)
            .map(|number| {
                let from = if number == 0 { "X".to_owned() } else { format!("T{number}") };
                (vec![from], vec![format!("T{}", number + 1)])
            })
            .collect();
        let (made, regions, tensors) = joined(&maps(&[format!("T{count}")], &regions), is_judged);
        assert_eq!((regions, tensors), (1, 2), "{count} maps");
        let nodes = made["regions"][0]["streaming"]["tile"]["begin"].as_array().expect("nodes");
        let ids: std::collections::BTreeSet<&str> =
            nodes.iter().map(|node| node["id"].as_str().expect("an id")).collect();
        assert_eq!((nodes.len(), ids.len()), (count + 2, count + 2), "each with an id of its own");
        assert!(ids.iter().all(|id| id.len() < 32), "ids do not grow");
    }
}

#[test]
fn maps_that_are_all_loaded_by_the_last_region_become_one_with_it() {
    for (count, is_judged) in [(100, true), (1_000, false)] {
        let mut regions: Vec<_> =
            names("T", count).into_iter().map(|name| (vec!["X".to_owned()], vec![name])).collect();
        regions.push((names("T", count), vec!["Y".to_owned()]));
        let (made, regions, tensors) = joined(&maps(&["Y".to_owned()], &regions), is_judged);
        assert_eq!((regions, tensors), (1, 2), "{count} maps");
        let nodes = made["regions"][0]["streaming"]["tile"]["begin"].as_array().expect("nodes");
        assert!(nodes.iter().all(|node| node["id"].as_str().expect("an id").len() < 32), "ids do not grow");
    }
}

#[test]
fn tensors_that_two_regions_load_stay_however_many_they_are() {
    for (count, is_judged) in [(100, true), (5_000, false)] {
        let all = names("T", count);
        let one = |to: &str| (all.clone(), vec![to.to_owned()]);
        let regions = [(vec!["X".to_owned()], all.clone()), one("Y"), one("Z")];
        let (_, regions, tensors) = joined(&maps(&["Y".to_owned(), "Z".to_owned()], &regions), is_judged);
        assert_eq!((regions, tensors), (3, count + 3), "{count} tensors");
    }
}

#[test]
fn any_number_of_tensors_between_two_regions_vanish_or_stay_together() {
    for (count, is_judged) in [(100, true), (20_000, false)] {
        let all = names("T", count);
        let regions = [(vec!["X".to_owned()], all.clone()), (all.clone(), vec!["Y".to_owned()])];
        let document = maps(&["Y".to_owned()], &regions);
        let (_, regions, tensors) = joined(&document, is_judged);
        assert_eq!((regions, tensors), (1, 2), "{count} tensors");
        // Blocks of the second region load other tiles of the last one.
        let mut other = document;
        let begin = &mut other["regions"][1]["streaming"]["tile"]["begin"];
        begin[count - 1]["at"] = json!([0]);
        let (_, regions, tensors) = joined(&other, is_judged);
        assert_eq!((regions, tensors), (2, count + 2), "{count} tensors");
    }
}

#[test]
fn kernels_that_take_too_much_or_count_too_far_are_refused() {
    let value = |residency: &str| json!({"shape": [4], "dtype": "F32", "residency": residency});
    let document = json!({
        "values": {"X": value("global"), "Y": value("global"), "x": value("register")},
        "inputs": ["X"], "outputs": ["Y"], "boundaries": [{"value": "Y"}],
        "residency": [{"memory": "register", "values": ["x"], "lifetime": "block"}],
        "regions": [{"id": "copy", "inputs": ["X"], "outputs": ["Y"], "streaming": {"tile": {"tile_shape": {}, "each": [
            {"id": "load", "op": "LoadTile", "in": ["X"], "out": ["x"], "at": [0]},
            {"id": "store", "op": "StoreTile", "in": ["x"], "out": ["Y"], "at": [0]}]}}}]})
    .to_string();
    let (_, right) = lowered(document.as_bytes()).expect("a document that breaks no rule");
    assert_eq!(judge_lowering(document.as_bytes(), &right.to_string()), Ok(()));
    let most = 2_147_483_647_i64;
    let around = |body: Value| json!([{"op": "loop", "axis": "a", "to": most, "step": 1, "body": body}]);
    let half =
        |body: Vec<Value>| json!([{"op": "loop", "axis": "a", "to": 1 << 19, "step": 1, "body": body}]);
    let large = json!({"memory": "register", "bytes": most});
    let power = |count: usize| -> Vec<Value> {
        let of = |at: usize| match at {
            0 => json!([most]),
            at => json!([[[most, format!("p{}", at - 1)]]]),
        };
        (0..count)
            .map(|at| json!({"op": "let", "name": format!("p{at}"), "fn": "max", "of": of(at)}))
            .collect()
    };
    let mut further = power(2);
    further.push(json!({"op": "loop", "axis": "a", "from": [[2, "p1"], most, most, most, most, -1], "to": [[2, "p1"], most, most, most, most], "step": most, "body": []}));
    for (reason, place, with) in [
        ("it takes more than", "/kernels/0/body", around(json!([]))),
        (
            "it takes more than",
            "/kernels/0/body",
            around(json!([{"op": "loop", "axis": "b", "to": 9, "step": 1, "body": []}])),
        ),
        // What waits for nothing, and what is known to be 0, is work as well.
        ("it takes more than", "/kernels/0/body", half(vec![json!({"op": "wait", "for": []}); 3])),
        (
            "it takes more than",
            "/kernels/0/body",
            half(vec![json!({"op": "if", "all": vec![json!([]); 8], "body": []})]),
        ),
        ("a block holds", "/kernels/0/allocations/x", large.clone()),
        ("out of range", "/kernels/0/allocations/x", json!({"memory": "register", "bytes": most + 1})),
        ("out of range", "/kernels/0/buffers/x/shape", json!([most, most, most + 1])),
        ("of an allocation of", "/kernels/0/buffers/x/shape", json!(vec![most; 64])),
        ("out of range", "/kernels/0/buffers/x/shape", json!(vec![1; 65])),
        ("kernels and their blocks", "/kernels/0/blocks", json!([{"axis": "i", "to": most, "step": 1}])),
        (
            "out of range",
            "/kernels/0/blocks",
            json!(vec![json!({"axis": "i", "to": i64::MIN, "step": i64::MIN}); 3]),
        ),
        ("an index is too large", "/kernels/0/body", json!(power(4))),
        ("a loop goes too far", "/kernels/0/body", json!(further)),
        ("is no integer that is known", "/kernels/0/body", json!([{"op": "if", "all": ["a"], "body": []}])),
    ] {
        let mut made = right.clone();
        *made.pointer_mut(place).expect("a place") = with;
        let (expected, found) = judge_lowering(document.as_bytes(), &made.to_string()).expect_err(reason);
        assert!(expected.contains(reason) || found.contains(reason), "{reason}: {expected}, {found}");
    }
    // An allocation that nobody takes costs nothing, and what lies in it cannot be used.
    let mut made = right.clone();
    made["kernels"][0]["allocations"]["y"] = large;
    assert_eq!(judge_lowering(document.as_bytes(), &made.to_string()), Ok(()));
    made["kernels"][0]["buffers"]["y"] = json!({"allocation": "y", "shape": [most / 8], "dtype": "F32"});
    made["kernels"][0]["body"] = json!([{"op": "fill", "value": 0, "out": {"buffer": "y"}}]);
    let (_, found) = judge_lowering(document.as_bytes(), &made.to_string()).expect_err("it is not taken");
    assert!(found.contains("not taken"), "{found}");
}

#[test]
fn documents_of_many_nodes_are_lowered() {
    let count = 20_000;
    let value = |residency: &str| json!({"shape": [1], "dtype": "F32", "residency": residency});
    let mut values = Map::new();
    values.insert("X".to_owned(), value("global"));
    values.insert("Y".to_owned(), value("global"));
    let mut nodes = vec![json!({"id": "load", "op": "LoadTile", "in": ["X"], "out": ["t0"], "at": [0]})];
    for number in 0..=count {
        values.insert(format!("t{number}"), value("shared"));
        if number > 0 {
            // All read the first one, which threads need not meet for again.
            let node = json!({"id": number.to_string(), "op": "Compute", "fn": "neg", "in": ["t0"], "out": [format!("t{number}")]});
            nodes.push(node);
        }
    }
    nodes.push(
        json!({"id": "store", "op": "StoreTile", "in": [format!("t{count}")], "out": ["Y"], "at": [0]}),
    );
    let tiles: Vec<String> = (0..=count).map(|number| format!("t{number}")).collect();
    let document = json!({
        "values": values, "inputs": ["X"], "outputs": ["Y"], "boundaries": [{"value": "Y"}],
        "residency": [{"memory": "shared", "values": tiles, "lifetime": "iteration"}],
        "regions": [{"id": "copies", "inputs": ["X"], "outputs": ["Y"], "streaming": {"tile": {"tile_shape": {}, "each": nodes}}}]})
    .to_string();
    let (_, made) = lowered(document.as_bytes()).expect("a document that breaks no rule");
    let body = made["kernels"][0]["body"].as_array().expect("a body");
    let meetings = body.iter().filter(|each| each["op"] == "sync").count();
    assert_eq!(meetings, 2, "behind the load, and before the store");
}
