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
}
