//! A decoder layer of real shapes, lowered for two instruction sets, against their indices.

use megakernel_ir::rule::{Clause, clause};
use serde_json::{Value, json};

use crate::build::{Op, kernel, op, request_with, with};
use crate::item::{Item, select};

/// A model: what its layer looks like.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Its name in the names of files.
    pub name: &'static str,
    hidden: u64,
    heads: u64,
    kv_heads: u64,
    head_dim: u64,
    inter: u64,
    /// Norms of queries and keys.
    qk_norm: bool,
}

/// Qwen3-8B.
pub const QWEN3_8B: Model = Model {
    name: "qwen3-8b",
    hidden: 4096,
    heads: 32,
    kv_heads: 8,
    head_dim: 128,
    inter: 12_288,
    qk_norm: true,
};
/// Llama-3.2-1B.
pub const LLAMA_1B: Model = Model {
    name: "llama-3.2-1b",
    hidden: 2048,
    heads: 32,
    kv_heads: 8,
    head_dim: 64,
    inter: 8192,
    qk_norm: false,
};

/// The machine of the costs: the bandwidth of an H100, and nearly the rate of its matrix units.
fn machine() -> Value {
    json!({"gbs": "3350.0", "tflops": "989.5"})
}

/// A record of costs: bytes of weights and activations, operations, and half a microsecond to begin.
fn priced(kernel: Value, bytes: &[&[&str]], flops: &[&[&str]]) -> Value {
    let terms = |terms: &[&[&str]]| -> Vec<Value> {
        terms.iter().map(|dims| json!({"times": "2", "dims": dims})).collect()
    };
    with(kernel, &json!({"cost": {"fixed": "500000", "bytes": terms(bytes), "flops": terms(flops)}}))
}

/// An elementwise op, a norm or a product on `m` rows: dtype BF16.
fn step(class: &str, core: &str, reads: &[&str], writes: &str, shape: Value) -> Op {
    let linearity = if ["linear", "add", "rope_q", "rope_k", "append_k", "append_v"].contains(&class) {
        "linear"
    } else {
        "nonlinear"
    };
    op(class)
        .reads(reads)
        .writes(writes)
        .rows(&json!({
        "sig": {"core": core, "linearity": linearity},
        "dtype": {"in": "BF16", "out": "BF16", "acc": "F32"}, "layout": {"order": "row"},
        "requirements": {"offered": 128}}))
        .member("shape", shape)
}

fn linear(reads: &[&str], writes: &str, shape: Value, weight: &str) -> Op {
    step("linear", "gemm", reads, writes, shape)
        .rows(&json!({"dtype": {"weight": weight}, "layout": {"trans": "nt"}}))
}

/// The task types of MPK that the suite's import knows.
pub mod mpk {
    use super::*;

    /// Qwen3-0.6B.
    pub const QWEN3_0_6B: Model = Model {
        name: "qwen3-0.6b",
        hidden: 1024,
        heads: 16,
        kv_heads: 8,
        head_dim: 128,
        inter: 3072,
        qk_norm: true,
    };

    /// A layer as MPK's generator cuts it: q, k, v in one product, gate and up in another.
    pub fn layer(model: &Model, m: u64) -> Vec<Op> {
        let (h, kv) = (model.heads * model.head_dim, model.kv_heads * model.head_dim);
        let qkv = h + 2 * kv;
        let head = json!({"m": m, "d": model.head_dim});
        let cache = |writes: &str| json!({"effects": {"flags": ["cache"], "writes": [writes]}});
        let mut ops = vec![
            step("norm", "norm", &["x", "w_in"], "xn", json!({"m": m, "k": model.hidden})),
            linear(&["xn", "w_qkv"], "qkv", json!({"m": m, "k": model.hidden, "n": qkv}), "BF16")
                .rows(&json!({"layout": {"pack": "qkv"}})),
        ];
        let (mut q, mut k) = ("qkv", "qkv");
        if model.qk_norm {
            ops.push(step("norm_q", "norm", &["qkv", "w_q"], "q1", head.clone()));
            ops.push(step("norm_k", "norm", &["qkv", "w_k"], "k1", head.clone()));
            (q, k) = ("q1", "k1");
        }
        ops.extend([
            step("rope_q", "move", &[q, "cos", "sin"], "q2", head.clone()),
            step("rope_k", "move", &[k, "cos", "sin"], "k2", head.clone()),
            step("append_k", "move", &["k2"], "k3", head.clone()).rows(&cache("k_cache")),
            step("append_v", "move", &["qkv"], "v3", head.clone()).rows(&cache("v_cache")),
            step("attention", "attn", &["q2", "k3", "v3"], "o", head.clone())
                .rows(&json!({"effects": {"flags": ["cache"], "reads": ["k_cache", "v_cache"]}})),
            linear(&["o", "w_o"], "p", json!({"m": m, "k": h, "n": model.hidden}), "BF16"),
            step("add", "ew", &["p", "x"], "h", json!({"m": m, "n": model.hidden}))
                .rows(&json!({"epilogue": {"residual": true}})),
            step("norm", "norm", &["h", "w_post"], "hn", json!({"m": m, "k": model.hidden})),
            linear(
                &["hn", "w_gate_up"],
                "gu",
                json!({"m": m, "k": model.hidden, "n": 2 * model.inter}),
                "BF16",
            )
            .rows(&json!({"layout": {"pack": "gate-up"}})),
            step("silu_mul", "ew", &["gu"], "a", json!({"m": m, "k": model.inter})),
            linear(&["a", "w_down"], "d", json!({"m": m, "k": model.inter, "n": model.hidden}), "BF16"),
            step("add", "ew", &["d", "h"], "y", json!({"m": m, "n": model.hidden}))
                .rows(&json!({"epilogue": {"residual": true}}))
                .output(),
        ]);
        ops
    }

    /// The index, with ids that begin with the number of the task type.
    pub fn index() -> Vec<Value> {
        let attention = ["cache", "read_after_write"];
        vec![
            kernel("101 embed", "1", "embed!"),
            priced(
                kernel("102 norm linear", "0", "norm linear/0!"),
                &[&["m", "k"], &["k", "n"], &["m", "n"]],
                &[&["m", "n", "k"]],
            ),
            with(
                kernel(
                    "103 attention",
                    "4000000",
                    "norm_q? norm_k? rope_q rope_k append_k! append_v! attention!",
                ),
                &json!({"effects": attention, "shape": {"m": {"max": 1}}}),
            ),
            priced(
                kernel("105 silu_mul linear add", "0", "silu_mul linear/0 add/0!"),
                &[&["m", "k"], &["m", "k"], &["k", "n"], &["m", "n"]],
                &[&["m", "n", "k"]],
            ),
            with(kernel("107 reduce", "1", "all_reduce!"), &json!({"effects": ["communication"]})),
            priced(
                kernel("108 linear add", "0", "linear add/0!"),
                &[&["m", "k"], &["k", "n"], &["m", "n"]],
                &[&["m", "n", "k"]],
            ),
            kernel("109 argmax", "1", "argmax!"),
            priced(kernel("118 silu_mul", "0", "silu_mul!"), &[&["m", "k"], &["m", "k"], &["m", "k"]], &[]),
            priced(kernel("119 norm", "0", "norm!"), &[&["m", "k"], &["m", "k"]], &[]),
            priced(
                kernel("120 linear", "0", "linear!"),
                &[&["m", "k"], &["k", "n"], &["m", "n"]],
                &[&["m", "n", "k"]],
            ),
            kernel("199 copy", "1", "copy!"),
        ]
    }

    /// All task types of the suite's import: those of a layer, and what partial maxima need.
    pub fn whole() -> Vec<Value> {
        let mut kernels = index();
        let more = [("110 argmax_partial", "argmax_partial!"), ("111 argmax_reduce", "argmax_reduce!")];
        kernels.extend(more.map(|(id, stages)| kernel(id, "1", stages)));
        kernels
    }

    /// The task types that the generator of 2026 makes of such layers: attention over a paged cache takes any number of tokens, and
    /// costs more to begin than that of one.
    pub fn current() -> Vec<Value> {
        let stages = "norm_q? norm_k? rope_q rope_k append_k! append_v! attention!";
        let mut kernels = index();
        kernels.push(with(
            kernel("116 paged attention", "5000000", stages),
            &json!({"effects": ["cache", "read_after_write"]}),
        ));
        kernels.push(kernel("121 identity", "1", "identity!"));
        kernels
    }

    /// These, and attention over a paged cache of queries and keys that no position turns.
    pub fn unrotated() -> Vec<Value> {
        let mut kernels = current();
        kernels.push(with(
            kernel("116 paged attention, unrotated", "5000000", "append_k! append_v! attention!"),
            &json!({"effects": ["cache", "read_after_write"]}),
        ));
        kernels
    }

    /// A request for a layer, without some of the kernels.
    pub fn request(model: &Model, m: u64, without: &[&str]) -> Value {
        request_over(index(), model, m, without)
    }

    /// A request for a layer over one of the indices, without some of its kernels.
    pub fn request_over(kernels: Vec<Value>, model: &Model, m: u64, without: &[&str]) -> Value {
        let is_kept = |kernel: &Value| {
            !without.iter().any(|id| kernel["id"].as_str().is_some_and(|kernel| kernel.starts_with(id)))
        };
        let kernels: Vec<Value> = kernels.into_iter().filter(is_kept).collect();
        request_with(&layer(model, m), &kernels, json!({"machine": machine()}))
    }
}

/// The opcodes of AMK.
pub mod amk {
    use super::*;

    /// A layer with a buffer for each matrix: q, k, v, gate and up are products of their own. Quantised weights are
    /// dequantised first.
    pub fn layer(model: &Model, m: u64, quantised: bool) -> Vec<Op> {
        let (h, kv) = (model.heads * model.head_dim, model.kv_heads * model.head_dim);
        let mut ops: Vec<Op> = Vec::new();
        let product = |ops: &mut Vec<Op>, x: &str, w: &str, y: &str, k: u64, n: u64| {
            let shape = json!({"m": m, "k": k, "n": n});
            if quantised {
                let packed = format!("{w}_packed");
                ops.push(op("dequant").reads(&[&packed, &format!("{w}_scale")]).writes(w).rows(&json!({
                    "sig": {"core": "ew", "linearity": "linear"}, "dtype": {"weight": "I4"}, "shape": {"k": k, "n": n},
                    "epilogue": {"scale": true}})));
                ops.push(linear(&[w, x], y, shape, "I4"));
            } else {
                ops.push(linear(&[x, w], y, shape, "BF16"));
            }
        };
        let wide = json!({"m": m, "k": model.hidden});
        let head = json!({"m": m, "d": model.head_dim});
        ops.push(step("norm", "norm", &["x", "w_in"], "xn", wide.clone()));
        product(&mut ops, "xn", "w_q", "q", model.hidden, h);
        product(&mut ops, "xn", "w_k", "k", model.hidden, kv);
        product(&mut ops, "xn", "w_v", "v", model.hidden, kv);
        let (mut q, mut k) = ("q", "k");
        if model.qk_norm {
            ops.push(step("norm", "norm", &["q", "g_q"], "q1", head.clone()));
            ops.push(step("norm", "norm", &["k", "g_k"], "k1", head.clone()));
            (q, k) = ("q1", "k1");
        }
        let cache = |writes: &str| json!({"effects": {"flags": ["cache"], "writes": [writes]}});
        ops.push(step("rope", "move", &[q, "pos"], "q2", head.clone()));
        ops.push(step("rope", "move", &[k, "pos"], "k2", head.clone()));
        ops.push(step("append", "move", &["k2"], "k3", head.clone()).rows(&cache("k_cache")));
        ops.push(step("append", "move", &["v"], "v3", head.clone()).rows(&cache("v_cache")));
        let reads = json!({"effects": {"flags": ["cache"], "reads": ["k_cache", "v_cache"]}});
        ops.push(step("attention", "attn", &["q2", "k3", "v3"], "o", head).rows(&reads));
        product(&mut ops, "o", "w_o", "p", h, model.hidden);
        let residual = json!({"epilogue": {"residual": true}});
        let narrow = json!({"m": m, "n": model.hidden});
        ops.push(step("add", "ew", &["p", "x"], "h", narrow.clone()).rows(&residual));
        ops.push(step("norm", "norm", &["h", "w_post"], "hn", wide));
        product(&mut ops, "hn", "w_gate", "g", model.hidden, model.inter);
        product(&mut ops, "hn", "w_up", "u", model.hidden, model.inter);
        ops.push(step("silu_mul", "ew", &["g", "u"], "a", json!({"m": m, "n": model.inter})));
        product(&mut ops, "a", "w_down", "d", model.inter, model.hidden);
        ops.push(step("add", "ew", &["d", "h"], "y", narrow).rows(&residual).output());
        ops
    }

    /// The index. A residual goes into the bias operand, which has one row.
    pub fn index() -> Vec<Value> {
        let bytes: &[&[&str]] = &[&["m", "k"], &["k", "n"], &["m", "n"]];
        let flops: &[&[&str]] = &[&["m", "n", "k"]];
        let one = json!({"shape": {"m": {"max": 1}}});
        let cache = json!({"effects": ["cache"]});
        let unit = |id: &str, class: &str| kernel(id, "2000000", &format!("{class}!"));
        vec![
            with(priced(kernel("GEMV_TILE", "0", "linear!"), bytes, &[]), &one),
            priced(kernel("GEMM_TILE", "0", "linear!"), bytes, flops),
            with(priced(kernel("GEMV_TILE residual", "0", "linear add/0!"), bytes, &[]), &one),
            with(
                priced(
                    kernel("GEMV_TILE quantised", "0", "dequant linear/0!"),
                    &[&["m", "k"], &["m", "n"]],
                    &[],
                ),
                &one,
            ),
            priced(
                kernel("GEMM_TILE quantised", "0", "dequant linear/0!"),
                &[&["m", "k"], &["m", "n"]],
                flops,
            ),
            unit("RMSNORM", "norm"),
            with(unit("ROPE", "rope"), &json!({"shape": {"d": {"multiple": 2}}})),
            with(unit("KV_APPEND", "append"), &cache),
            with(unit("ATTENTION_TILE", "attention"), &cache),
            unit("ADD", "add"),
            unit("SILU_MUL", "silu_mul"),
            unit("DEQUANT", "dequant"),
            unit("GELU", "gelu"),
            unit("SOFTMAX", "softmax"),
            unit("LAYERNORM", "layernorm"),
            unit("EMBED", "embed"),
            unit("SAMPLE_ARGMAX", "argmax"),
            unit("COPY", "copy"),
            unit("MUL", "mul"),
        ]
    }

    /// The index, and products with a bias: what both opcodes add to their sums, one number a column. No opcode does that alone, since ADD
    /// does not repeat a row.
    pub fn biased() -> Vec<Value> {
        let bytes: &[&[&str]] = &[&["m", "k"], &["k", "n"], &["m", "n"], &["n"]];
        let one = json!({"shape": {"m": {"max": 1}}});
        let mut kernels = index();
        kernels.extend([
            with(priced(kernel("GEMV_TILE bias", "0", "linear bias/0!"), bytes, &[]), &one),
            priced(kernel("GEMM_TILE bias", "0", "linear bias/0!"), bytes, &[&["m", "n", "k"]]),
        ]);
        kernels
    }
}

/// The task types of MPK, and one kernel that overlaps with them, so that greed can lose: add and norm in one.
pub fn overlapping() -> Vec<Value> {
    let mut kernels = mpk::index();
    kernels.push(priced(kernel("add norm", "0", "add! norm/0!"), &[&["m", "n"], &["m", "n"]], &[]));
    kernels
}

/// For many tokens: attention takes them all, add and norm may be one kernel, and the norm before a product is repeated in each of its
/// blocks of 64 columns, which read their rows anew.
pub fn prefill() -> Vec<Value> {
    let mut kernels = overlapping();
    for kernel in &mut kernels {
        if kernel["id"] == "103 attention" {
            kernel["id"] = json!("attention of many tokens");
            kernel["shape"] = json!({});
        }
        if kernel["id"] == "102 norm linear" {
            let term = |times: &str, dims: &[&str]| json!({"times": times, "dims": dims});
            kernel["cost"] = json!({
                "fixed": "500000",
                "bytes": [term("1/32", &["m", "k", "n"]), term("2", &["k", "n"]), term("2", &["m", "n"])],
                "flops": [term("2", &["m", "n", "k"]), term("1/16", &["m", "n", "k"])],
            });
        }
    }
    kernels
}

/// A layer in one token, a batch and a prefill, over the task types of 2026.
fn current(model: &Model, clauses: &[Clause]) -> Vec<Item> {
    let mut items = Vec::new();
    // Some models do without the norms of queries and keys.
    let shift = if model.qk_norm { 0 } else { 2 };
    for m in [1, 8, 512] {
        for without in ["", "102", "105", "116"] {
            let norm = |at: usize, reason: &str| match without {
                "102" => format!("{at}-{at} 119 norm empty; {0}-{0} 120 linear compose:{reason}", at + 1),
                _ => format!("{at}-{} 102 norm linear compose:{reason}", at + 1),
            };
            let attention = if m == 1 { "103 attention" } else { "116 paged attention" };
            let [o, hn, a] = [9, 11, 13].map(|op| op - shift);
            let last = match without {
                "105" => format!("{a}-{a} 118 silu_mul empty; {}-{} 108 linear add end", a + 1, a + 2),
                _ => format!("{a}-{} 105 silu_mul linear add end", a + 2),
            };
            let outline = [
                norm(0, "sig_conflict"),
                format!("2-{} {attention} compose:sig_conflict", o - 1),
                format!("{o}-{} 108 linear add compose:sig_conflict", o + 1),
                norm(hn, "shape_mismatch"),
                last,
            ];
            let what = if without.is_empty() { "all".to_owned() } else { format!("without-{without}") };
            let left_out: &[&str] = if without.is_empty() { &[] } else { &[without] };
            let base = mpk::request_over(mpk::current(), model, m, left_out);
            let summary =
                format!("a layer of {}, tokens: {m}, over the task types of MPK in 2026, {what}", model.name);
            let file = format!("layer-mpk-current-{}-{m}-{what}", model.name);
            let item = select(&file, &summary, clauses, base);
            // Without it, nothing takes the attention of several tokens.
            let is_stuck = without == "116" && m > 1;
            items.push(if is_stuck { item.stuck(2) } else { item.plan(&outline.join("; ")) });
        }
    }
    items
}

/// The layers.
pub fn layers() -> Vec<Item> {
    let mut items = Vec::new();
    let clauses = &[clause::SEL_13, clause::SEL_16, clause::SEL_20];
    for model in [mpk::QWEN3_0_6B, QWEN3_8B, LLAMA_1B] {
        for (what, without) in [
            ("all", vec![]),
            ("without-102", vec!["102"]),
            ("without-105", vec!["105"]),
            ("without-102-105", vec!["102", "105"]),
            ("without-103", vec!["103"]),
            ("without-108", vec!["108"]),
        ] {
            let base = mpk::request(&model, 1, &without);
            let summary =
                format!("a layer of {} in one token, over the task types of MPK, {what}", model.name);
            let item = select(&format!("layer-mpk-{}-{what}", model.name), &summary, clauses, base);
            let shift = if model.qk_norm { 0 } else { 2 };
            let at = |op: usize| op - shift;
            items.push(match what {
                "without-103" => item.stuck(2),
                "without-108" => item.stuck(at(10)),
                _ => item,
            });
        }
        for m in [2, 8, 512] {
            let summary = format!("a layer of {} in {m} tokens: 103 takes one", model.name);
            items.push(
                select(
                    &format!("layer-mpk-{}-{m}", model.name),
                    &summary,
                    clauses,
                    mpk::request(&model, m, &[]),
                )
                .stuck(2),
            );
        }
        for (quantised, what) in [(false, "dense"), (true, "quantised")] {
            for m in [1, 4, 1024] {
                let base = request_with(
                    &amk::layer(&model, m, quantised),
                    &amk::index(),
                    json!({"machine": machine()}),
                );
                let summary =
                    format!("a layer of {}, {what}, in {m} tokens, over the opcodes of AMK", model.name);
                items.push(select(&format!("layer-amk-{}-{what}-{m}", model.name), &summary, clauses, base));
            }
        }
    }
    for beam in [1, 4, 64] {
        let options = json!({"beam": beam, "machine": machine()});
        let base = request_with(&mpk::layer(&mpk::QWEN3_0_6B, 1), &overlapping(), options);
        let summary =
            format!("add and norm in one kernel, beside the task types of MPK, with a beam of {beam}");
        items.push(select(
            &format!("layer-overlapping-{beam}"),
            &summary,
            &[clause::SEL_25, clause::SEL_20],
            base,
        ));
    }
    // Behind all others, since some of these are explained by their places.
    for model in [mpk::QWEN3_0_6B, QWEN3_8B, LLAMA_1B] {
        items.extend(current(&model, clauses));
    }
    items
}
