//! A program of the decoder layer in `examples/mcir` that is written by hand, so that tests have something to compare with which no pass has made.

use serde_json::{Value, json};

const ROWS: usize = 6;
const HIDDEN: usize = 16;
const HEAD: usize = 8;

/// A program that is being written down, task after task.
#[derive(Default)]
struct ByHand {
    dtype: &'static str,
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
        self.buffer(name, "IO_INPUT", self.dtype, shape)
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
            (self.dtype, &[ROWS, HIDDEN]),
            json!({"eps": 1e-5, "hidden": HIDDEN}),
        )
    }

    fn finished(self) -> (Value, Value) {
        let counters: Vec<Value> = (0..self.buffers.len()).map(|id| json!({"id": id})).collect();
        let program = json!({
            "ir_version": megakernel_ir::IR_VERSION, "abi_version": megakernel_ir::ABI_VERSION, "meta": {}, "buffers": self.buffers, "counters": counters, "tasks": self.tasks,
        });
        (program, Value::Object(self.binding))
    }
}

/// The layer of the examples of memory-centric IR as one would write it for the opcodes, with its binding: one product for the queries of both heads, one for what they
/// attend to. Tensors have the dtype of the layer; what is added to a residual, and the logits, another one.
pub fn program(dtype: &'static str, added: &'static str) -> (Value, Value) {
    let mut hand = ByHand { dtype, ..ByHand::default() };
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
    let q = hand.product(xn, wq, "q", dtype, [HIDDEN, 2 * HEAD]);
    let k = hand.product(xn, wk, "k", dtype, [HIDDEN, HEAD]);
    let v = hand.product(xn, wv, "v", dtype, [HIDDEN, HEAD]);
    let cache: (&str, &[usize]) = (dtype, &[ROWS, 1, HEAD]);
    let heads = hand.made("COPY", &[q], "heads", (dtype, &[2 * ROWS, HEAD]), json!({}));
    let keys = hand.made("COPY", &[k], "keys", cache, json!({}));
    let values = hand.made("COPY", &[v], "values", cache, json!({}));
    let params = json!({
        "head_dim": HEAD, "n_heads": 2 * ROWS, "n_kv_heads": 1, "kv_start": 0, "kv_len": ROWS, "scale": 0.25,
    });
    let attended = hand.made(
        "ATTENTION_TILE",
        &[heads, keys, values, seen],
        "attended",
        (dtype, &[2 * ROWS, HEAD]),
        params,
    );
    let rows = hand.made("COPY", &[attended], "rows", (dtype, &[ROWS, 2 * HEAD]), json!({}));
    let o = hand.product(rows, wo, "o", added, [2 * HEAD, HIDDEN]);
    let h = hand.made("ADD", &[x, o], "h", (dtype, &[ROWS, HIDDEN]), json!({}));
    let hn = hand.norm(h, post_norm, "hn");
    let g = hand.product(hn, gate, "g", dtype, [HIDDEN, 24]);
    let u = hand.product(hn, up, "u", dtype, [HIDDEN, 24]);
    let a = hand.made("SILU_MUL", &[g, u], "a", (dtype, &[ROWS, 24]), json!({}));
    let d = hand.product(a, down, "dn", added, [24, HIDDEN]);
    let y = hand.made("ADD", &[h, d], "y", (dtype, &[ROWS, HIDDEN]), json!({}));
    let yn = hand.norm(y, model_norm, "yn");
    let logits = hand.product(yn, lm_head, "logits", added, [HIDDEN, 40]);
    let tokens = hand.output("tokens", "I32", &[ROWS]);
    hand.task("SAMPLE_ARGMAX", &[logits], tokens, json!({}));
    hand.finished()
}

/// The data of the graph, with the weights of both heads one above the other, or one beside the other.
///
/// # Panics
/// If there is no such data.
pub fn joined(data: &Value) -> Value {
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
