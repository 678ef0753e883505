//! A decoder layer with its vocabulary, from the graph of the example through all passes to a program of opcodes; and a program of the same layer that is written by hand.

use megakernel_mcir::{Pass, Target};
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
    let mut text = files::text(&root().join("examples/mcir/layer.json"));
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

const ROWS: usize = 6;
const HIDDEN: usize = 16;
const HEAD: usize = 8;

/// A program that is being written down, task after task.
#[derive(Default)]
struct ByHand {
    buffers: Vec<Value>,
    tasks: Vec<Value>,
    binding: serde_json::Map<String, Value>,
    /// By buffer: whether a task writes it.
    is_written: Vec<bool>,
}

impl ByHand {
    fn buffer(&mut self, name: &str, kind: &str, dtype: &str, shape: &[usize]) -> usize {
        let id = self.buffers.len();
        self.buffers.push(json!({"id": id, "name": name, "kind": kind, "dtype": dtype, "shape": shape}));
        self.is_written.push(false);
        id
    }

    /// A buffer that the host fills with elements.
    fn input(&mut self, name: &str, shape: &[usize], tensor: &str) -> usize {
        self.binding.insert(name.to_owned(), json!({"tensor": tensor}));
        self.buffer(name, "IO_INPUT", "F16", shape)
    }

    fn output(&mut self, name: &str, dtype: &str, shape: &[usize]) -> usize {
        self.binding.insert(name.to_owned(), json!({"tensor": name}));
        self.buffer(name, "IO_OUTPUT", dtype, shape)
    }

    /// A task that writes a buffer, after all that write what it reads.
    fn task(&mut self, op: &str, ins: &[usize], out: usize, params: Value) {
        let waits: Vec<Value> = ins
            .iter()
            .filter(|&&buffer| self.is_written[buffer])
            .map(|buffer| json!({"counter": buffer, "threshold": 1}))
            .collect();
        self.tasks.push(json!({
            "id": self.tasks.len(), "op": op, "inputs": ins, "outputs": [out], "out_counter": out, "waits": waits, "params": params,
        }));
        self.is_written[out] = true;
    }

    fn made(
        &mut self,
        op: &str,
        ins: &[usize],
        name: &str,
        (dtype, shape): (&str, &[usize]),
        params: Value,
    ) -> usize {
        let out = self.buffer(name, "ACTIVATION", dtype, shape);
        self.task(op, ins, out, params);
        out
    }

    fn product(&mut self, x: usize, w: usize, name: &str, dtype: &str, [k, n]: [usize; 2]) -> usize {
        let params = json!({"K": k, "M_tile": ROWS, "N_tile": n, "m_off": 0, "n_off": 0});
        self.made("GEMM_TILE", &[x, w], name, (dtype, &[ROWS, n]), params)
    }

    fn norm(&mut self, x: usize, weight: usize, name: &str) -> usize {
        self.made(
            "RMSNORM",
            &[x, weight],
            name,
            ("F16", &[ROWS, HIDDEN]),
            json!({"eps": 1e-5, "hidden": HIDDEN}),
        )
    }

    fn programmed(self) -> Programmed {
        let counters: Vec<Value> = (0..self.buffers.len()).map(|id| json!({"id": id})).collect();
        let program = json!({
            "ir_version": megakernel_ir::IR_VERSION, "abi_version": megakernel_ir::ABI_VERSION, "meta": {}, "buffers": self.buffers, "counters": counters, "tasks": self.tasks,
        });
        Programmed {
            program: program.to_string(),
            binding: Value::Object(self.binding),
            warnings: Vec::new(),
        }
    }
}

/// The layer as one would write it for the opcodes: one product for the queries of both heads, one for what they attend to, which adds the residual as well.
fn by_hand() -> Programmed {
    let mut hand = ByHand::default();
    let x = hand.input("x", &[ROWS, HIDDEN], "x");
    let [norm, post_norm, model_norm] =
        ["norm", "post_norm", "model_norm"].map(|name| hand.input(name, &[HIDDEN], name));
    let wq = hand.input("wq", &[2 * HEAD, HIDDEN], "wq");
    let [wk, wv] = ["wk", "wv"].map(|name| hand.input(name, &[HEAD, HIDDEN], name));
    let wo = hand.input("wo", &[HIDDEN, 2 * HEAD], "wo");
    let [gate, up] = ["gate", "up"].map(|name| hand.input(name, &[24, HIDDEN], name));
    let down = hand.input("down", &[HIDDEN, 24], "down");
    let lm_head = hand.input("lm_head", &[40, HIDDEN], "lm_head");
    // Rows of queries are heads, two for each token, and a token sees those up to itself.
    let seen: Vec<u8> =
        (0..2 * ROWS).flat_map(|row| (0..ROWS).map(move |key| u8::from(key <= row / 2))).collect();
    hand.binding.insert("seen".to_owned(), json!({"values": seen}));
    let seen = hand.buffer("seen", "IO_INPUT", "BOOL", &[2 * ROWS, ROWS]);

    let xn = hand.norm(x, norm, "xn");
    let q = hand.product(xn, wq, "q", "F16", [HIDDEN, 2 * HEAD]);
    let k = hand.product(xn, wk, "k", "F16", [HIDDEN, HEAD]);
    let v = hand.product(xn, wv, "v", "F16", [HIDDEN, HEAD]);
    let cache: (&str, &[usize]) = ("F16", &[ROWS, 1, HEAD]);
    let heads = hand.made("COPY", &[q], "heads", ("F16", &[2 * ROWS, HEAD]), json!({}));
    let keys = hand.made("COPY", &[k], "keys", cache, json!({}));
    let values = hand.made("COPY", &[v], "values", cache, json!({}));
    let params = json!({
        "head_dim": HEAD, "n_heads": 2 * ROWS, "n_kv_heads": 1, "kv_start": 0, "kv_len": ROWS, "scale": 0.25,
    });
    let attended = hand.made(
        "ATTENTION_TILE",
        &[heads, keys, values, seen],
        "attended",
        ("F16", &[2 * ROWS, HEAD]),
        params,
    );
    let rows = hand.made("COPY", &[attended], "rows", ("F16", &[ROWS, 2 * HEAD]), json!({}));
    let o = hand.product(rows, wo, "o", "F32", [2 * HEAD, HIDDEN]);
    let h = hand.made("ADD", &[x, o], "h", ("F16", &[ROWS, HIDDEN]), json!({}));
    let hn = hand.norm(h, post_norm, "hn");
    let g = hand.product(hn, gate, "g", "F16", [HIDDEN, 24]);
    let u = hand.product(hn, up, "u", "F16", [HIDDEN, 24]);
    let a = hand.made("SILU_MUL", &[g, u], "a", ("F16", &[ROWS, 24]), json!({}));
    let d = hand.product(a, down, "dn", "F32", [24, HIDDEN]);
    let y = hand.made("ADD", &[h, d], "y", ("F16", &[ROWS, HIDDEN]), json!({}));
    let yn = hand.norm(y, model_norm, "yn");
    let logits = hand.product(yn, lm_head, "logits", "F32", [HIDDEN, 40]);
    let tokens = hand.output("tokens", "I32", &[ROWS]);
    hand.task("SAMPLE_ARGMAX", &[logits], tokens, json!({}));
    hand.programmed()
}

/// The data of the graph, with the weights of both heads one above the other, or one beside the other.
fn joined(data: &Value) -> Value {
    let mut data = data.clone();
    let list = |name: &str| data[name].as_array().expect("elements").clone();
    let wq = [list("wq0"), list("wq1")].concat();
    let (first, second) = (list("wo0"), list("wo1"));
    let wo: Vec<Value> =
        first.chunks(HEAD).zip(second.chunks(HEAD)).flat_map(|(a, b)| [a, b].concat()).collect();
    data["wq"] = json!(wq);
    data["wo"] = json!(wo);
    data
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
