//! The files below `examples/selection`: indices of both instruction sets, decoder layers, and the explanation of one. They are made
//! here, and compared; `SELECTION=overwrite cargo test -p megakernel-selection-reference --test examples` writes them.

#![allow(clippy::panic, reason = "a helper of a test fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

use megakernel_selection::{Fault, Rational, read_request};
use megakernel_selection_cases::build::{Op, op, request_with, sequence};
use megakernel_selection_cases::families::layers::{LLAMA_1B, QWEN3_8B, amk, mpk, overlapping, prefill};
use megakernel_selection_cases::families::text;
use megakernel_selection_reference::answer::kernels;
use megakernel_selection_reference::draw;
use megakernel_selection_reference::optimum::optimum;
use megakernel_selection_reference::plan::Region;
use megakernel_selection_reference::stream::Stuck;
use megakernel_selection_reference::{Answered, Method, answer, plan};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../examples/selection")
}

/// Compares a file with what it has to be, or writes it.
fn keep(name: &str, wanted: &str) {
    let path = folder().join(name);
    if std::env::var_os("SELECTION").is_some_and(|what| what == "overwrite") {
        let parent = path.parent().unwrap_or_else(|| panic!("{name} has no folder"));
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, wanted))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    let found = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(found == wanted, "{name} is out of date: see the first lines of this test for how to write it");
}

fn accepted(value: &Value) -> Vec<Fault> {
    match answer(Method::Validate, value) {
        Answered::Accept { warnings, .. } => warnings,
        Answered::Reject(faults) => panic!("{faults:?}"),
    }
}

fn indices() -> [(&'static str, Value); 5] {
    let index = |kernels: Vec<Value>| json!({"kernels": kernels});
    [
        ("mpk", index(mpk::whole())),
        ("mpk-current", index(mpk::current())),
        ("amk", index(amk::index())),
        ("overlapping", index(overlapping())),
        ("prefill", index(prefill())),
    ]
}

#[test]
fn indices_are_data() {
    // No layer of those below lacks the rotation, or has a bias.
    let unrotated = ("mpk-unrotated", json!({"kernels": mpk::unrotated()}));
    let biased = ("amk-biased", json!({"kernels": amk::biased()}));
    for (name, index) in indices().into_iter().chain([unrotated, biased]) {
        accepted(&index);
        keep(&format!("indices/{name}.json"), &text(&index));
    }
}

#[test]
fn no_opcode_adds_a_bias_alone() {
    let before = accepted(&json!({"kernels": amk::index()}));
    let warned = accepted(&json!({"kernels": amk::biased()}));
    let more: Vec<&Fault> = warned.iter().filter(|fault| !before.contains(fault)).collect();
    let [fault] = more[..] else { panic!("{more:?}") };
    assert_eq!((fault.rule.id(), &*fault.pointer), ("KW04", "/kernels/19/stages/1"));
    // The warning is right: behind a product there is a plan, and behind anything else there is none, as there is no program.
    let planned = |first: Op| {
        let extents = |op: Op| op.member("shape", json!({"m": 4, "k": 8, "n": 8}));
        let bias = op("bias").reads(&["v", "b"]).writes("y").output();
        let ops = [extents(first.reads(&["x", "w"]).writes("v")), extents(bias)];
        let options = json!({"machine": {"gbs": "3350.0", "tflops": "989.0"}});
        answer(Method::Select, &request_with(&ops, &amk::biased(), options))
    };
    let Answered::Accept { document: Some(plan), .. } = planned(op("linear")) else {
        panic!("no plan of a product with a bias");
    };
    assert_eq!(plan["regions"][0]["kernel"], "GEMM_TILE bias");
    let Answered::Reject(faults) = planned(op("norm")) else { panic!("a bias without a product") };
    let found: Vec<(&str, &str)> = faults.iter().map(|fault| (fault.rule.id(), &*fault.pointer)).collect();
    assert_eq!(found, [("KN01", "/sequence/ops/1")]);
}

/// Prefill, decode, and decode of a batch.
const ROWS: [(&str, u64); 3] = [("decode", 1), ("batch-8", 8), ("prefill-512", 512)];

fn layers() -> Vec<(String, Value)> {
    let mut layers = Vec::new();
    for model in [mpk::QWEN3_0_6B, QWEN3_8B, LLAMA_1B] {
        for (rows, m) in ROWS {
            layers.push((format!("mpk-{}-{rows}", model.name), sequence(&mpk::layer(&model, m))));
            for (quantised, what) in [(false, "dense"), (true, "quantised")] {
                let ops = amk::layer(&model, m, quantised);
                layers.push((format!("amk-{}-{what}-{rows}", model.name), sequence(&ops)));
            }
        }
    }
    layers
}

#[test]
fn layers_are_data() {
    for (name, layer) in layers() {
        accepted(&layer);
        keep(&format!("layers/{name}.json"), &text(&layer));
    }
}

fn cost(regions: &[Region]) -> Rational {
    regions.iter().fold(Rational::zero(), |sum, region| sum.plus(&region.cost))
}

/// What greed costs on a layer: regions and cost of the walk and of the optimum, or where there is no plan.
fn greed(layer: &Value, index: &Value) -> String {
    let options = json!({"machine": {"gbs": "3350.0", "tflops": "989.0"}});
    let request = json!({"sequence": layer, "index": index, "options": options});
    let request = read_request(&request).unwrap_or_else(|faults| panic!("{faults:?}"));
    let kernels = kernels(&request);
    let walked = plan(&request, &kernels);
    let best = optimum(&kernels, &request.sequence, 64);
    let shown = |found: &Result<Vec<Region>, Stuck>| match found {
        Ok(regions) => format!("{} | {:.2}", regions.len(), cost(regions).approximately() / 1e6),
        Err(stuck) => format!("no plan: op {} | ", stuck.op),
    };
    let ratio = match (&walked, &best) {
        (Ok(walked), Ok(best)) => {
            assert!(cost(walked) >= cost(best), "the walk is cheaper than the optimum");
            let ratio =
                cost(walked).divided_by(&cost(best)).unwrap_or_else(|| panic!("a plan costs nothing"));
            format!("{:.3}", ratio.approximately())
        }
        (Ok(_), Err(_)) => panic!("the walk has a plan, and the optimum has none"),
        (Err(_), _) => String::new(),
    };
    format!("{} | {} | {ratio}", shown(&walked), shown(&best))
}

#[test]
fn what_greed_costs_on_layers() {
    let mut out = "# What greed costs on the layers\n\nThe plan of the walk beside the optimum, in microseconds of the cost model on an \
                   H100; made by a test.\n\n| layer | index | regions | cost | regions of the optimum | its cost | ratio |\n\
                   | --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for (name, layer) in layers() {
        for (index, kernels) in indices() {
            // Each index has a lowering of its own.
            if name.starts_with("amk") == (index == "amk") {
                out.push_str(&format!("| {name} | {index} | {} |\n", greed(&layer, &kernels)));
            }
        }
    }
    keep("optimum.md", &out);
}

/// The layer whose explanation is printed and drawn.
fn qwen3() -> Value {
    mpk::request(&mpk::QWEN3_0_6B, 1, &[])
}

#[test]
fn an_explanation_is_printed_and_drawn() {
    let request = qwen3();
    let Answered::Accept { document: Some(steps), .. } = answer(Method::Explain, &request) else {
        panic!("no explanation");
    };
    keep("qwen3-layer.json", &text(&request));
    keep("qwen3-layer.txt", &draw::text(&request, &steps));
    keep("qwen3-layer.svg", &draw::svg(&request, &steps));
}
