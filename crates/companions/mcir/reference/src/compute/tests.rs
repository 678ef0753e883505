//! Every order of blocks and every moment of landing computes the same, on all cases of the corpus; and what is refused.

use megakernel_ir::protocol::Answer;
use megakernel_test_support::{cases, files, root};
use serde_json::{Value as Json, json};

use super::*;

/// The documents of the cases that compute, with their data: edits of others, and those that stand whole.
fn documents() -> Vec<(String, String)> {
    let edited = cases::documents("mcir/compute").into_iter().map(|found| (found.case, found.text));
    let files = files::json_below(&root().join("corpus/cases/mcir/compute"));
    let whole = files.iter().filter_map(|path| {
        let case = files::json(path);
        let text = case["document"]["text"].as_str()?.to_owned();
        Some((case, text))
    });
    let accepted = edited.chain(whole).filter(|(case, _)| case["expect"]["verdict"] == "accept");
    accepted.map(|(case, text)| (case["id"].as_str().expect("an id").to_owned(), text)).collect()
}

#[test]
fn no_order_of_blocks_and_no_moment_of_landing_makes_a_difference() {
    let documents = documents();
    assert!(documents.len() >= 100, "{} documents", documents.len());
    for (id, text) in documents {
        let (_, first) = compute_text(text.as_bytes(), Choices::default()).expect("an accepted document");
        for blocks in [Blocks::Ascending, Blocks::Descending] {
            for landing in [Landing::Early, Landing::Late] {
                let other = compute_text(text.as_bytes(), Choices { blocks, landing });
                assert_eq!(other.expect("the same").1, first, "{id}: {blocks:?}, {landing:?}");
            }
        }
    }
}

fn copy(extent: i64, data: &Json) -> String {
    json!({
        "values": {"X": {"shape": [extent], "dtype": "F16", "residency": "global"},
            "Y": {"shape": [extent], "dtype": "F16", "residency": "global"},
            "x": {"shape": [4], "dtype": "F16", "residency": "register"}},
        "inputs": ["X"], "outputs": ["Y"], "boundaries": [{"value": "Y"}],
        "residency": [{"memory": "register", "values": ["x"], "lifetime": "block"}],
        "regions": [{"id": "copy", "inputs": ["X"], "outputs": ["Y"], "streaming": {
            "tile": {"tile_shape": {"i": 4}, "blocks": {"i": extent},
                "begin": [{"id": "load", "op": "LoadTile", "in": ["X"], "out": ["x"], "at": ["i"]}],
                "end": [{"id": "store", "op": "StoreTile", "in": ["x"], "out": ["Y"], "at": ["i"]}]}}}],
        "data": data,
    })
    .to_string()
}

#[test]
fn data_that_are_not_there_are_refused_in_words() {
    let accepted = compute(copy(3, &json!({"X": [1, 2, 0x7C00]})).as_bytes());
    let Answer::Accept { document: Some(document), .. } = accepted else { unreachable!("{accepted:?}") };
    assert_eq!(
        serde_json::from_str::<Json>(&document).expect("JSON"),
        json!({"data": {"Y": [1, 2, 0x7C00]}})
    );
    for data in
        [json!(null), json!({}), json!({"X": [1, 2]}), json!({"X": [1, 2, -1]}), json!({"X": [1, 2, 65536]})]
    {
        let answer = compute(copy(3, &data).as_bytes());
        let Answer::Failed { message } = answer else { unreachable!("{answer:?}") };
        assert!(message.contains("3 elements of `X`") || message.contains("`data`"), "{message}");
    }
}

#[test]
fn what_takes_too_long_is_not_begun() {
    // Two tensors of 2 GiB: no rule forbids them.
    let answer = compute(copy(1 << 30, &json!({})).as_bytes());
    assert!(matches!(&answer, Answer::Unsupported { .. }), "{answer:?}");
    // Two tensors of 2 MiB, and five tiles of which there are 64 each.
    let extent = 1 << 20;
    let mut many: Json = serde_json::from_str(&copy(extent, &json!({}))).expect("JSON");
    many["values"]["x"]["shape"] = json!([extent]);
    many["regions"][0]["streaming"]["stream"] = json!({"axis": "j", "to": [2]});
    many["regions"][0]["streaming"]["tile"]["tile_shape"] = json!({"i": extent, "j": 1});
    let names: Vec<String> = (0..5).map(|number| format!("z{number}")).collect();
    for name in &names {
        many["values"][name] =
            json!({"shape": [extent], "dtype": "F16", "residency": "shared", "buffers": 64});
    }
    let shared = json!({"memory": "shared", "values": names, "lifetime": "stream"});
    many["residency"] = json!([many["residency"][0], shared]);
    let ahead = |name: &String| json!({"id": format!("ahead-{name}"), "op": "Prefetch", "in": ["X"], "out": [name], "at": ["i"], "version": 0});
    let wait = |name: &String| json!({"id": format!("wait-{name}"), "op": "Barrier", "wait": [[name, 0]]});
    many["regions"][0]["streaming"]["tile"]["each"] =
        names.iter().flat_map(|name| [ahead(name), wait(name)]).collect();
    let answer = compute(many.to_string().as_bytes());
    assert!(matches!(&answer, Answer::Unsupported { .. }), "{answer:?}");
}

#[test]
fn bounds_of_a_stream_are_exact_beyond_64_bits() {
    // At i of 2^30 the second bound is beyond 2^63; the first one counts. Nothing runs there.
    let mut document: Json = serde_json::from_str(&copy(3, &json!({"X": [1, 2, 3]}))).expect("JSON");
    let far = json!([
        [2_147_483_647, "i"],
        [2_147_483_647, "i"],
        [2_147_483_647, "i"],
        [2_147_483_647, "i"],
        [2_147_483_647, "i"]
    ]);
    let idle = json!({"id": "idle", "inputs": [], "outputs": [], "streaming": {"stream": {"axis": "j", "to": [4, far]},
        "tile": {"tile_shape": {"i": 1 << 30, "j": 1}, "blocks": {"i": i32::MAX}}}});
    document["regions"].as_array_mut().expect("regions").push(idle);
    let answer = compute(document.to_string().as_bytes());
    let Answer::Accept { document: Some(document), .. } = answer else { unreachable!("{answer:?}") };
    assert_eq!(serde_json::from_str::<Json>(&document).expect("JSON"), json!({"data": {"Y": [1, 2, 3]}}));
}
