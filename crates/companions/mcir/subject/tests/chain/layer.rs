//! A decoder layer with its vocabulary, from the graph of the example through all passes to a program of opcodes; and a program of the same layer that is written by hand.

use megakernel_mcir::{Pass, Target};
use megakernel_mcir_cases::by_hand::{self, joined};
use megakernel_mcir_cases::families::compute::drawn;
use megakernel_mcir_cases::graphs;
use megakernel_mcir_reference::{
    Programmed, measure_document, program, read_document, run_program, transform_text,
};
use megakernel_test_support::{files, root};
use serde_json::{Value, json};

use super::plays::{Play, wrong};

const PASSES: [Pass; 5] = [
    Pass::AttentionPattern,
    Pass::StreamingConversion,
    Pass::MaterializationElimination,
    Pass::TileScheduling,
    Pass::ResidencyAssignment,
];

/// The document of the example's graph after all passes.
fn document() -> Value {
    passed(files::text(&root().join("examples/mcir/layer.json")))
}

/// The document that all passes make of a graph.
pub fn passed(mut text: String) -> Value {
    let target = Target { shared: Some(232_448), register: Some(262_144) };
    for pass in PASSES {
        let made = transform_text(pass, text.as_bytes(), target);
        text = made.unwrap_or_else(|not_made| unreachable!("{pass:?}: {not_made:?}")).0.to_string();
    }
    serde_json::from_str(&text).expect("JSON")
}

/// The opcodes of a program, with how many tasks each has.
fn count(text: &str) -> Vec<(String, usize)> {
    let value: Value = serde_json::from_str(text).expect("JSON");
    let mut count = std::collections::BTreeMap::new();
    for task in value["tasks"].as_array().expect("tasks") {
        *count.entry(task["op"].as_str().expect("an opcode").to_owned()).or_default() += 1;
    }
    count.into_iter().collect()
}

/// The layer by hand.
fn by_hand() -> Programmed {
    let (program, binding) = by_hand::program("F16", "F32");
    Programmed { program: program.to_string(), binding, warnings: Vec::new() }
}

fn tokens_of(logits: &Value) -> Vec<u64> {
    let logits: Vec<f32> = logits
        .as_array()
        .expect("logits")
        .iter()
        .map(|bits| f32::from_bits(u32::try_from(bits.as_u64().expect("bits")).expect("32 bits")))
        .collect();
    let largest = |row: &[f32]| {
        let best = row
            .iter()
            .enumerate()
            .fold(0, |best, (place, &logit)| if logit > row[best] { place } else { best });
        best as u64
    };
    logits.chunks(40).map(largest).collect()
}

#[test]
fn a_decoder_layer_becomes_a_program_with_the_tokens_of_one_by_hand() {
    let document = document();
    let read = read_document(document.to_string().as_bytes()).expect("a document");
    let measures = measure_document(&read).1.expect("accepted").expect("it is counted");
    let materialized = measures["materialized"].as_array().expect("tensors");
    let of_scores = |name: &&Value| {
        let name = name.as_str().expect("a name");
        ["scores", "scaled", "masked", "weights"].iter().any(|of| name.starts_with(of))
    };
    assert!(!materialized.is_empty(), "what is between two products with a stream each");
    assert_eq!(materialized.iter().find(of_scores), None);
    let mut seen = Vec::new();
    for seed in 0..4 {
        let (document, outputs) = drawn(&document, seed);
        let made = program(document.to_string().as_bytes());
        let made = made.unwrap_or_else(|none| unreachable!("{none:?}"));
        let expected = [
            ("ADD", 3),
            ("ATTENTION_TILE", 2),
            ("COPY", 2),
            ("GEMM_TILE", 10),
            ("RMSNORM", 3),
            ("SILU_MUL", 1),
        ];
        let expected: Vec<(String, usize)> =
            expected.iter().map(|&(op, count)| (op.to_owned(), count)).collect();
        assert_eq!(count(&made.program), expected);
        let play = Play { name: format!("layer {seed}"), document, outputs };
        let answer = run_program(&made, &play.document["data"], seed).expect("it runs");
        assert_eq!(wrong(&play, &answer), None);
        let found = tokens_of(&answer["data"]["logits"]);
        let hand = run_program(&by_hand(), &joined(&play.document["data"]), seed).expect("it runs");
        assert_eq!(json!(found), hand["data"]["tokens"], "seed {seed}");
        seen.extend(found);
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() >= 4, "{seen:?} says little");
}

/// What the page runs on the kernels stands in files: the program with its binding, and data with the tokens that the program by hand has in the VM.
/// With `LAYER=overwrite` in the environment they are written down.
#[test]
fn the_files_of_the_layer_are_its_program_and_the_tokens_of_one_by_hand() {
    let (document, _) = drawn(&document(), 0);
    let made = program(document.to_string().as_bytes()).expect("a program");
    let hand = run_program(&by_hand(), &joined(&document["data"]), 0).expect("it runs");
    let data = json!({"data": document["data"], "tokens": hand["data"]["tokens"]});
    let program: Value = serde_json::from_str(&made.program).expect("JSON");
    for (name, made) in [("program", program), ("binding", made.binding), ("data", data)] {
        let file = root().join("examples/mcir/layer").join(name).with_extension("json");
        if std::env::var_os("LAYER").is_some_and(|value| value == "overwrite") {
            std::fs::create_dir_all(root().join("examples/mcir/layer")).expect("a folder");
            std::fs::write(&file, format!("{made}\n")).expect("written");
        }
        assert!(files::json(&file) == made, "{} is another one; LAYER=overwrite writes it", file.display());
    }
}

#[test]
fn a_norm_keeps_its_eps() {
    for (name, op) in [("norm", "RMSNORM"), ("layer norm", "LAYERNORM")] {
        let found = graphs::streamed().into_iter().find(|&(found, ..)| found == name);
        let mut graph = found.expect("a graph").2;
        // So large that nothing of about 1 is the same without it.
        graph["nodes"][0]["eps"] = json!([7, 3]);
        let target = Target::default();
        let made = transform_text(Pass::StreamingConversion, graph.to_string().as_bytes(), target);
        let (document, outputs) = drawn(&made.expect("a document").0, 0);
        let made = program(document.to_string().as_bytes()).expect("a program");
        assert_eq!(count(&made.program), [(op.to_owned(), 1)]);
        let answer = run_program(&made, &document["data"], 0).expect("it runs");
        assert_eq!(wrong(&Play { name: name.to_owned(), document, outputs }, &answer), None);
    }
}
