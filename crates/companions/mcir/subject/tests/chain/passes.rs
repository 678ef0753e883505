//! Graphs through the passes one after the other, each answer judged as that of its pass, and through lowering.

use megakernel_mcir_cases::graphs;
use megakernel_mcir_checker::{judge_lowering, judge_transform};
use megakernel_mcir_reference::{lowered, transformed};
use serde_json::json;

/// What every pass on documents has to make in turn of what the one before made.
const PASSES: [&str; 3] = ["MaterializationEliminationPass", "TileSchedulingPass", "ResidencyAssignmentPass"];

#[test]
fn graphs_go_through_all_passes_and_through_lowering() {
    let mut count = 0;
    for (name, _, graph, target) in graphs::streamed() {
        let made = |request: serde_json::Value| {
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
