//! The decoder layer as operators that the task types of MPK take, and layers of which there are none.

use megakernel_mcir_reference::{Instructions, NoProgram, operators};
use megakernel_test_support::{files, root};
use serde_json::{Value, json};

use super::layer::passed;

/// The graph of the example, changed.
fn graph(change: impl Fn(&mut Value)) -> Value {
    let mut graph = files::json(&root().join("examples/mcir/decoder.json"));
    change(&mut graph);
    graph
}

fn merged(graph: &Value) -> Result<Value, NoProgram> {
    let document = passed(graph.to_string()).to_string();
    operators(document.as_bytes(), Instructions::TaskTypes).map(|(sequence, _)| sequence)
}

fn node<'g>(graph: &'g mut Value, id: &str) -> &'g mut Value {
    let nodes = graph["nodes"].as_array_mut().expect("nodes");
    nodes.iter_mut().find(|node| node["id"] == id).expect("a node")
}

/// Puts a node before another one.
fn insert(graph: &mut Value, before: &str, made: Value) {
    let nodes = graph["nodes"].as_array_mut().expect("nodes");
    let place = nodes.iter().position(|node| node["id"] == before).expect("a node");
    nodes.insert(place, made);
}

fn value(graph: &mut Value, name: &str, shape: &[i64], dtype: &str) {
    graph["values"][name] = json!({"shape": shape, "dtype": dtype});
}

#[test]
fn heads_become_one_product_one_attention_and_one_product() {
    let sequence = merged(&graph(|_| ())).expect("a sequence");
    let ops: Vec<(&str, Vec<&str>, &str, bool)> = sequence["ops"]
        .as_array()
        .expect("ops")
        .iter()
        .map(|op| {
            let reads = op["reads"].as_array().expect("reads").iter().filter_map(Value::as_str).collect();
            let class = op["sig"]["class"].as_str().expect("a class");
            let made = op["writes"][0]["value"].as_str().expect("a value");
            (class, reads, made, op["marker"] == "sync")
        })
        .collect();
    let classes: Vec<&str> = ops.iter().map(|(class, ..)| *class).collect();
    let expected = [
        "norm",
        "linear",
        "append_k",
        "append_v",
        "attention",
        "linear",
        "add",
        "norm",
        "linear",
        "silu_mul",
        "linear",
        "add",
        "norm",
        "linear",
    ];
    assert_eq!(classes, expected);
    let heads = "q0 q1 k v";
    assert_eq!((&ops[1].1[..], ops[1].2), (&["xn", "wq0 wq1 wk wv"][..], heads));
    assert_eq!((&ops[2].1[..], &ops[3].1[..]), (&[heads][..], &[heads][..]));
    assert_eq!(ops[4].1, [heads, ops[2].2, ops[3].2]);
    assert_eq!(ops[4].2, "attended0 attended1");
    assert_eq!(ops[5].1, ["attended0 attended1", "wo0 wo1"]);
    assert_eq!(ops[6].1, [ops[5].2, "x"]);
    assert_eq!(ops[8].1, ["hn", "gate up"]);
    assert_eq!(ops[9].1, [ops[8].2]);
    // What is appended and attended to is one kernel, and so may a product be with its residual.
    let syncs: Vec<usize> = (0..ops.len()).filter(|&place| ops[place].3).collect();
    assert_eq!(syncs, [1, 2, 5, 7, 8, 9, 10, 12, 13]);
    assert_eq!(sequence["ops"][4]["scale"], json!(0.25));
    assert_eq!(sequence["ops"][4]["position"], 0, "all that tokens attend to is in the document");
    assert_eq!(sequence["ops"][4]["shape"], json!({"m": 6, "d": 8}));
    let tensor = |name: &str| {
        let all = sequence["tensors"].as_array().expect("tensors");
        all.iter().find(|tensor| tensor["name"] == name).expect("a tensor").clone()
    };
    let fused = |name: &str, rows: i64, parts: &[&str]| json!({"name": name, "data_type": 941, "dims": [rows, 16], "io": "fused", "num_groups": 1, "parts": parts});
    assert_eq!(tensor("wq0 wq1 wk wv"), fused("wq0 wq1 wk wv", 32, &["wq0", "wq1", "wk", "wv"]));
    assert_eq!(tensor("gate up"), fused("gate up", 48, &["gate", "up"]));
    let beside = json!({"name": "wo0 wo1", "data_type": 941, "dims": [16, 16], "io": "torch", "columns": ["wo0", "wo1"]});
    assert_eq!(tensor("wo0 wo1"), beside);
}

#[test]
fn layers_that_no_task_types_compute_are_refused_with_the_region_and_the_reason() {
    let is_mask = |offset: i64, window: Value| {
        graph(|graph| {
            let node = node(graph, "masked1");
            node["offset"] = json!(offset);
            node["window"] = window.clone();
        })
    };
    let causal = "another mask than the causal one";
    let beside = "task type 116 writes all heads beside each other";
    let cases: Vec<(&str, Value, &str)> = vec![
        ("a token sees the next one", is_mask(1, Value::Null), causal),
        ("a window", is_mask(0, json!(3)), causal),
        (
            "no mask",
            graph(|graph| {
                graph["nodes"].as_array_mut().expect("nodes").retain(|node| node["id"] != "masked0");
                node(graph, "weights0")["in"] = json!(["scaled0"]);
                graph["values"].as_object_mut().expect("values").remove("masked0");
            }),
            causal,
        ),
        (
            "keys of the embeddings",
            graph(|graph| node(graph, "k")["in"] = json!(["x", "wk_t"])),
            "are products of more than one value",
        ),
        (
            "queries with a bias",
            graph(|graph| {
                value(graph, "bias", &[8], "BF16");
                value(graph, "p", &[6, 8], "F32");
                graph["inputs"].as_array_mut().expect("inputs").push(json!("bias"));
                *node(graph, "q0") = json!({"id": "p", "op": "matmul", "in": ["xn", "wq0_t"], "out": "p"});
                insert(graph, "wq1_t", json!({"id": "q0", "op": "add", "in": ["p", "bias"], "out": "q0"}));
            }),
            "`attended0` attends with `q0`, which no product writes",
        ),
        (
            "a scale of its own",
            graph(|graph| node(graph, "scaled1")["by"] = json!([1, 2])),
            "more than one length or scale",
        ),
        (
            "keys that are asked for",
            graph(|graph| graph["outputs"].as_array_mut().expect("outputs").push(json!("k"))),
            "`k` is no matter of its attention alone",
        ),
        (
            "what a head attends to is asked for",
            graph(|graph| graph["outputs"].as_array_mut().expect("outputs").push(json!("attended1"))),
            beside,
        ),
        (
            "a product of a head that is rounded",
            graph(|graph| value(graph, "o1", &[6, 16], "BF16")),
            "are not summed up in F32",
        ),
        (
            "a residual between the heads",
            graph(|graph| {
                *node(graph, "o") = json!({"id": "o", "op": "add", "in": ["o0", "x"], "out": "o"});
                *node(graph, "h") = json!({"id": "h", "op": "add", "in": ["o", "o1"], "out": "h"});
            }),
            "are not summed up in F32",
        ),
        (
            "a weight of two products",
            graph(|graph| {
                graph["nodes"].as_array_mut().expect("nodes").retain(|node| node["id"] != "wq1_t");
                graph["values"].as_object_mut().expect("values").remove("wq1_t");
                graph["values"].as_object_mut().expect("values").remove("wq1");
                graph["inputs"].as_array_mut().expect("inputs").retain(|input| input != "wq1");
                node(graph, "q1")["in"] = json!(["xn", "wq0_t"]);
            }),
            "`wq0` is no weight of this product alone",
        ),
        (
            "a gate that is asked for",
            graph(|graph| graph["outputs"].as_array_mut().expect("outputs").push(json!("u"))),
            "`a` is not of two products that nobody else reads",
        ),
        (
            "gate and up of two values",
            graph(|graph| node(graph, "u")["in"] = json!(["xn", "up_t"])),
            "gate and up of `a` are not two products of one value",
        ),
        (
            "a factor that is not rounded",
            graph(|graph| value(graph, "u", &[6, 24], "F32")),
            "the product with `up` takes \"BF16\", \"BF16\" and makes \"F32\"; required: BF16, and BF16",
        ),
        (
            "a rotation",
            graph(|graph| {
                value(graph, "turned", &[6, 8], "BF16");
                for name in ["cos", "sin"] {
                    value(graph, name, &[6, 4], "BF16");
                    graph["inputs"].as_array_mut().expect("inputs").push(json!(name));
                }
                let rope = json!({"id": "turned", "op": "rope", "in": ["q0", "cos", "sin"], "out": "turned"});
                insert(graph, "scores0", rope);
                node(graph, "scores0")["in"] = json!(["turned", "k_t"]);
            }),
            "it turns rows by cosines and sines that are read",
        ),
        ("F16", files::json(&root().join("examples/mcir/layer.json")), "required: BF16, and"),
    ];
    for (what, graph, reason) in cases {
        match merged(&graph) {
            Err(NoProgram::Refused(pointer, said)) => {
                assert!(said.contains(reason), "{what}: {said}");
                assert!(pointer.starts_with("/regions/"), "{what}: {pointer}");
            }
            other => unreachable!("{what}: {other:?}"),
        }
    }
}

#[test]
fn heads_with_keys_of_their_own_stand_in_groups() {
    let found = merged(&graph(|graph| {
        for name in ["k", "v"] {
            let [own, weight, turned] = [format!("{name}1"), format!("w{name}1"), format!("w{name}1_t")];
            value(graph, &own, &[6, 8], "BF16");
            value(graph, &weight, &[8, 16], "BF16");
            value(graph, &turned, &[16, 8], "BF16");
            graph["inputs"].as_array_mut().expect("inputs").push(json!(weight));
            insert(graph, "k_t", json!({"id": turned, "op": "transpose", "in": [weight], "out": turned}));
            insert(graph, "k_t", json!({"id": own, "op": "matmul", "in": ["xn", turned], "out": own}));
        }
        value(graph, "k1_t", &[8, 6], "BF16");
        insert(graph, "scores1", json!({"id": "k1_t", "op": "transpose", "in": ["k1"], "out": "k1_t"}));
        node(graph, "scores1")["in"] = json!(["q1", "k1_t"]);
        node(graph, "attended1")["in"] = json!(["weights1", "v1"]);
    }));
    let sequence = found.expect("a sequence");
    assert_eq!(sequence["ops"][1]["reads"], json!(["xn", "wq0 wk wv wq1 wk1 wv1"]));
    assert_eq!(sequence["ops"][4]["writes"][0]["value"], json!("attended0 attended1"));
}
