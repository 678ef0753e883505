//! Kernel graphs that cannot be translated, the examples of the specification among them.

#![allow(clippy::panic)]

use megakernel_ir::protocol::{Answer, DocumentBytes, Method, Profile, Request};
use megakernel_task_graph_reference as task_graph;
use megakernel_test_support::spec::{self, Shown};
use serde_json::{Value, json};
use std::borrow::Cow;

fn answer(request: &Value) -> Answer {
    task_graph::answer(&Request {
        method: Method::TRANSLATE,
        profile: Profile::TASK_GRAPH,
        document: DocumentBytes::Text(Cow::Owned(request.to_string())),
        arguments: None,
    })
}

/// The rules that a request breaks, and where; none if it is translated.
fn found(request: &Value) -> Vec<(String, String)> {
    match answer(request) {
        Answer::Accept { document, .. } => {
            assert!(document.is_some(), "a translation has a document");
            Vec::new()
        }
        Answer::Reject { diagnostics } => {
            diagnostics.iter().map(|d| (d.rule.id().to_owned(), d.pointer.clone())).collect()
        }
        Answer::Unsupported { reason } | Answer::Failed { message: reason } => panic!("{reason}"),
    }
}

#[test]
fn examples_of_the_specification() {
    let mut seen = 0;
    for Shown { rule, failing, accepted, .. } in spec::examples() {
        if rule.starts_with("TK") {
            let request = |text: &str| serde_json::from_str(text).expect("JSON");
            let broken = found(&request(&failing));
            assert!(
                !broken.is_empty() && broken.iter().all(|(found, _)| *found == rule),
                "{rule}: {broken:?}"
            );
            assert_eq!(found(&request(&accepted)), [], "the twin of {rule}");
            seen += 1;
        }
    }
    assert_eq!(seen, 10, "rules TK");
}

/// Two operators, the second of which reads a fused tensor and a residual.
fn request() -> Value {
    let tensor = |name: &str, dims: [i64; 2], io: &str| json!({"name": name, "data_type": 941, "dims": dims, "io": io});
    json!({"ranks": 2, "rank": 1, "kernel_graph": {
        "tensors": [
            tensor("x", [4, 8], "torch"), tensor("q", [8, 8], "torch"), tensor("k", [4, 8], "torch"),
            {"name": "qk", "data_type": 941, "dims": [12, 8], "io": "fused", "num_groups": 2, "parts": ["q", "k"]},
            tensor("y", [4, 8], "cuda"), tensor("z", [4, 12], "cuda"), tensor("s", [4, 12], "cuda"),
            {"name": "buf", "data_type": 941, "dims": [2, 4, 12], "io": "nvshmem"}
        ],
        "operators": [
            {"name": "first", "task_type": 101, "grid": [4, 2, 1], "inputs": [{"tensor": "x", "map": [1, 0, -1]}, null],
                "outputs": [{"tensor": "y", "map": [1, 0, -1]}]},
            {"name": "second", "task_type": 102, "grid": [6, 1, 1],
                "inputs": [{"tensor": "y", "map": [-1, -1, -1]}, {"tensor": "qk", "map": [0, -1, -1]}],
                "outputs": [{"tensor": "z", "map": [1, -1, -1]}]},
            {"name": "sum", "task_type": 106, "grid": [6, 1, 1],
                "inputs": [{"tensor": "z", "map": [1, -1, -1]}, {"tensor": "buf", "map": [2, -1, -1]}],
                "outputs": [{"tensor": "s", "map": [1, -1, -1]}]}
        ]
    }})
}

#[test]
fn single_edits() {
    assert_eq!(found(&request()), []);
    let edits = [
        ("/ranks", json!(9), "TK06 /ranks"),
        ("/ranks", json!(0), "TK06 /ranks"),
        ("/rank", json!(2), "TK06 /rank"),
        ("/kernel_graph/tensors/4/name", json!("x"), "TK01 /kernel_graph/tensors/4/name"),
        ("/kernel_graph/tensors/4/name", json!("nullptr"), "TK01 /kernel_graph/tensors/4/name"),
        ("/kernel_graph/tensors/0/dims/1", json!(0), "TK06 /kernel_graph/tensors/0/dims/1"),
        ("/kernel_graph/tensors/0/dims", json!([]), "TK06 /kernel_graph/tensors/0/dims"),
        ("/kernel_graph/tensors/0/dims/0", json!(1i64 << 61), "TK06 /kernel_graph/tensors/0/dims"),
        ("/kernel_graph/tensors/0/data_type", json!(999), "TK06 /kernel_graph/tensors/0/data_type"),
        ("/kernel_graph/tensors/3/num_groups", json!(0), "TK05 /kernel_graph/tensors/3/num_groups"),
        ("/kernel_graph/tensors/3/num_groups", json!(3), "TK05 /kernel_graph/tensors/3/parts/0"),
        ("/kernel_graph/tensors/3/parts/1", json!("qk"), "TK05 /kernel_graph/tensors/3/parts/1"),
        ("/kernel_graph/tensors/3/parts/1", json!("w"), "TK01 /kernel_graph/tensors/3/parts/1"),
        ("/kernel_graph/tensors/3/dims/0", json!(18), "TK05 /kernel_graph/tensors/3/parts"),
        ("/kernel_graph/operators/0/grid/0", json!(3), "TK02 /kernel_graph/operators/0/inputs/0/map/0"),
        ("/kernel_graph/operators/0/grid/2", json!(0), "TK06 /kernel_graph/operators/0/grid/2"),
        ("/kernel_graph/operators/0/grid", json!([4, 2]), "TK06 /kernel_graph/operators/0/grid"),
        ("/kernel_graph/operators/0/grid/2", json!(1i64 << 40), "TK06 /kernel_graph/operators/0/grid"),
        ("/kernel_graph/operators/0/task_type", json!(199), "TK06 /kernel_graph/operators/0/task_type"),
        (
            "/kernel_graph/operators/0/inputs/0/map",
            json!([1, 1, -1]),
            "TK02 /kernel_graph/operators/0/inputs/0/map/1",
        ),
        (
            "/kernel_graph/operators/0/inputs/0/map",
            json!([2, 0, -1]),
            "TK02 /kernel_graph/operators/0/inputs/0/map/0",
        ),
        ("/kernel_graph/operators/0/inputs/0/map", json!([1]), "TK02 /kernel_graph/operators/0/inputs/0/map"),
        (
            "/kernel_graph/operators/0/inputs/0/tensor",
            json!("w"),
            "TK01 /kernel_graph/operators/0/inputs/0/tensor",
        ),
        (
            "/kernel_graph/operators/0/outputs/0/tensor",
            json!("qk"),
            "TK05 /kernel_graph/operators/0/outputs/0/tensor",
        ),
        (
            "/kernel_graph/operators/1/inputs/1/map",
            json!([-1, -1, -1]),
            "TK05 /kernel_graph/operators/1/inputs/1/map",
        ),
        ("/kernel_graph/operators/1/inputs/0/tensor", json!("x"), "TK03 /kernel_graph/operators/1/inputs"),
        (
            "/kernel_graph/operators/2/inputs/1/map",
            json!([-1, -1, -1]),
            "TK04 /kernel_graph/operators/2/inputs/1/map",
        ),
        ("/kernel_graph/operators/2/inputs/1", json!(null), "TK04 /kernel_graph/operators/2"),
        ("/kernel_graph/tensors/7/io", json!("cuda"), "TK04 /kernel_graph/operators/2/inputs/1"),
        ("/kernel_graph/tensors/6/data_type", json!(940), "TK04 /kernel_graph/operators/2/outputs/0"),
        ("/kernel_graph/operators/2/grid/0", json!(3), "TK04 /kernel_graph/operators/2/inputs/0"),
        ("/mode", json!("sound"), "TK04 /kernel_graph/operators/2"),
    ];
    for (place, value, expected) in edits {
        let mut edited = request();
        edited["mode"] = json!("exact");
        *edited.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = value.clone();
        let found = found(&edited);
        let first = found.first().map(|(rule, pointer)| format!("{rule} {pointer}"));
        assert_eq!(first.as_deref(), Some(expected), "{place} = {value}: {found:?}");
        assert!(found.iter().all(|(rule, _)| expected.starts_with(&**rule)), "{place} = {value}: {found:?}");
    }
}

#[test]
fn tiles_of_a_fused_tensor_are_in_its_parts() {
    let Answer::Accept { document: Some(document), .. } = answer(&request()) else { panic!("accepted") };
    let graph: Value = serde_json::from_str(&document).expect("JSON");
    let tiles: Vec<(&str, i64)> = graph["all_tasks"]
        .as_array()
        .expect("tasks")
        .iter()
        .filter(|task| task["task_type"] == 102)
        .map(|task| &task["inputs"][1])
        .map(|tile| {
            (tile["base_ptr"].as_str().expect("a name"), tile["offset"].as_i64().expect("bytes") / 16)
        })
        .collect();
    assert_eq!(tiles, [("q", 0), ("q", 2), ("k", 0), ("q", 4), ("q", 6), ("k", 2)]);
}
