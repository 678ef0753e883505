//! Graphs through the passes one after the other, each answer judged as that of its pass, and through lowering.

use megakernel_mcir_cases::graphs;
use megakernel_mcir_checker::{judge_lowering, judge_transform};
use megakernel_mcir_reference::{NotMade, lowered, transformed};
use serde_json::{Value, json};

/// What every pass on documents has to make in turn of what the one before made.
const PASSES: [&str; 3] = ["MaterializationEliminationPass", "TileSchedulingPass", "ResidencyAssignmentPass"];

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_graphs_go_through_all_passes_and_through_lowering() {
    let mut count = 0;
    for (name, _, graph, target) in graphs::streamed() {
        let made = |request: Value| {
            let text = request.to_string();
            let answer = transformed(text.as_bytes());
            let answer = answer.unwrap_or_else(|not_made| unreachable!("{name}: {not_made:?}"));
            let judged = judge_transform(text.as_bytes(), &answer.to_string());
            assert_eq!(judged, Ok(()), "{name}: {}", request["pass"]);
            answer
        };
        let graph = made(json!({"pass": "AttentionPatternPass", "graph": graph}));
        let mut request = json!({"pass": "StreamingConversionPass", "graph": graph});
        if let Some([shared, register]) = target {
            request["target"] = json!({"shared_bytes": shared, "register_bytes": register});
        }
        let mut document = made(request);
        for pass in PASSES {
            document = made(json!({"pass": pass, "document": document}));
        }
        let text = document.to_string();
        let (_, kernels) = lowered(text.as_bytes()).unwrap_or_else(|none| unreachable!("{name}: {none:?}"));
        assert_eq!(judge_lowering(text.as_bytes(), &kernels.to_string()), Ok(()), "{name}");
        count += usize::from(["norm and product", "mlp", "decoder"].contains(&name));
    }
    assert_eq!(
        count, 3,
        "a norm and a product, a product with bias and GELU and another one, a decoder's attention"
    );
}

/// So many nodes `add`, one after the other, each of which adds the same value.
fn sums(count: usize, shape: &[i64]) -> Value {
    let value = json!({"shape": shape, "dtype": "F32"});
    let mut values = json!({"0": value, "Y": value});
    let mut nodes = Vec::new();
    for place in 0..count {
        let (from, to) = (place.to_string(), (place + 1).to_string());
        nodes.push(json!({"id": format!("add {place}"), "op": "add", "in": [from, "Y"], "out": to}));
        values[to] = value.clone();
    }
    json!({"values": values, "inputs": ["0", "Y"], "outputs": [count.to_string()], "nodes": nodes})
}

#[test]
fn every_node_has_the_largest_tiles_that_fit() {
    // Tiles of 64 by 64: two that are loaded, and one that is computed. Of 128 by 128, neither memory has enough.
    let bytes = 4 * 64 * 64;
    for count in [1, 150] {
        let target = json!({"shared_bytes": 2 * bytes, "register_bytes": bytes});
        let graph = sums(count, &[256, 256]);
        let request = json!({"pass": "StreamingConversionPass", "graph": graph, "target": target});
        let made = transformed(request.to_string().as_bytes()).expect("a document");
        let regions = made["regions"].as_array().expect("regions");
        let steps = regions.iter().map(|region| region["streaming"]["tile"]["tile_shape"].clone());
        assert_eq!(steps.collect::<Vec<_>>(), vec![json!({"i": 64, "j": 64}); count]);
    }
}

#[test]
fn one_number_is_added_to_another_one() {
    let request = json!({"pass": "StreamingConversionPass", "graph": sums(2, &[])}).to_string();
    let made = transformed(request.as_bytes()).expect("a document");
    assert_eq!(judge_transform(request.as_bytes(), &made.to_string()), Ok(()));
}

#[test]
fn a_node_without_tiles_is_named() {
    let value = |shape: Value| json!({"shape": shape, "dtype": "F32"});
    let graph = json!({
        "values": {"X": value(json!([4])), "G": value(json!([4])), "O": value(json!([4]))}, "inputs": ["X", "G"], "outputs": ["O"],
        "nodes": [{"id": "the norm", "op": "rms_norm", "eps": [0, 1], "in": ["X", "G"], "out": "O"}],
    });
    let request = json!({"pass": "StreamingConversionPass", "graph": graph}).to_string();
    let reason = "`the norm`: there are no tiles for `rms_norm` of one axis".to_owned();
    assert_eq!(transformed(request.as_bytes()), Err(NotMade::Unsupported(reason)));
}
