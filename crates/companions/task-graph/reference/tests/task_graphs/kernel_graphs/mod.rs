//! Kernel graphs of whole models, for tests and benchmarks.

#![allow(dead_code)]

pub mod random;

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// 16 bits a number.
pub const BF16: i64 = 941;
/// 64-bit integers.
pub const I64: i64 = 965;

/// A kernel graph in the making.
#[derive(Default)]
pub struct Graph {
    pub tensors: Vec<Value>,
    pub operators: Vec<Value>,
    names: BTreeSet<String>,
}

/// An operand: a tensor and its map.
pub fn operand(tensor: &str, map: [i64; 3]) -> Value {
    json!({"tensor": tensor, "map": map})
}

impl Graph {
    /// Declares a tensor, unless that has been done.
    pub fn declare(&mut self, name: &str, data_type: i64, dims: &[i64], io: &str) {
        if self.names.insert(name.to_owned()) {
            self.tensors.push(json!({"name": name, "data_type": data_type, "dims": dims, "io": io}));
        }
    }

    /// Declares a tensor of the host.
    pub fn weight(&mut self, name: &str, dims: &[i64]) {
        self.declare(name, BF16, dims, "torch");
    }

    /// Declares a tensor that the graph allocates.
    pub fn activation(&mut self, name: &str, dims: &[i64]) {
        self.declare(name, BF16, dims, "cuda");
    }

    /// Declares tensors, and another that fuses them along axis 0.
    pub fn fused(&mut self, name: &str, groups: i64, inner: i64, parts: &[(String, i64)]) {
        for (part, rows) in parts {
            self.weight(part, &[*rows, inner]);
        }
        let rows: i64 = parts.iter().map(|(_, rows)| rows).sum();
        let parts: Vec<&str> = parts.iter().map(|(part, _)| &**part).collect();
        self.tensors.push(json!({
            "name": name, "data_type": BF16, "dims": [rows, inner], "io": "fused", "num_groups": groups, "parts": parts,
        }));
    }

    /// Adds an operator.
    pub fn operator(
        &mut self,
        name: &str,
        task_type: i64,
        grid: [i64; 3],
        inputs: Vec<Value>,
        outputs: Vec<Value>,
    ) {
        self.operators.push(
            json!({"name": name, "task_type": task_type, "grid": grid, "inputs": inputs, "outputs": outputs}),
        );
    }

    /// The document.
    pub fn value(self) -> Value {
        json!({"tensors": self.tensors, "operators": self.operators})
    }
}

/// Extents of a Qwen3 decoder of which each rank has a share.
#[derive(Clone, Copy)]
pub struct Qwen3 {
    pub layers: i64,
    pub ranks: i64,
    pub hidden: i64,
    pub heads: i64,
    pub kv_heads: i64,
    pub intermediate: i64,
    /// Tasks of the projections in front of attention, behind it, in front of the gate, and behind it.
    pub tasks: [i64; 4],
    pub vocabulary: i64,
    pub padded_vocabulary: i64,
    /// Whether each layer has tensors of its own for what the published script uses again and again.
    pub separate: bool,
}

/// The published Qwen3 0.6B with two layers.
pub const QWEN3_06B: Qwen3 = Qwen3 {
    layers: 2,
    ranks: 1,
    hidden: 1024,
    heads: 16,
    kv_heads: 8,
    intermediate: 3072,
    tasks: [64, 16, 96, 16],
    vocabulary: 151_936,
    padded_vocabulary: 153_600,
    separate: false,
};

/// Qwen3 8B: 36 layers, about 12,000 tasks.
pub const QWEN3_8B: Qwen3 = Qwen3 {
    layers: 36,
    hidden: 4096,
    heads: 32,
    kv_heads: 8,
    intermediate: 12_288,
    tasks: [96, 64, 96, 64],
    ..QWEN3_06B
};

const HEAD: i64 = 128;

/// One decode step, as the published script builds it.
pub fn qwen3(shape: Qwen3) -> Value {
    let Qwen3 { layers, ranks, hidden, tasks, .. } = shape;
    let (heads, kv_heads) = (shape.heads / ranks, shape.kv_heads / ranks);
    let intermediate = shape.intermediate / ranks;
    let mut graph = Graph::default();
    graph.declare("input_token", I64, &[1, 1], "torch");
    graph.weight("embed_tokens", &[shape.vocabulary, hidden]);
    graph.activation("embed_out", &[1, hidden]);
    graph.operator(
        "embed",
        101,
        [hidden / 16, 1, 1],
        vec![operand("input_token", [-1, 1, -1]), operand("embed_tokens", [1, -1, -1])],
        vec![operand("embed_out", [1, 0, -1])],
    );
    let mut x = "embed_out".to_owned();
    let fused_heads = (heads + 2 * kv_heads) * HEAD;
    for layer in 0..layers {
        let own = |name: &str| if shape.separate { format!("layer_{layer}_{name}") } else { name.to_owned() };
        let weight = |name: &str| format!("layer_{layer}_{name}");
        let (attn_in, attn_out) = (own("attn_in"), own("attn_out"));
        let parts = [("q_proj", heads), ("k_proj", kv_heads), ("v_proj", kv_heads)];
        graph.fused(
            &weight("qkv_proj"),
            kv_heads,
            hidden,
            &parts.map(|(part, heads)| (weight(part), heads * HEAD)),
        );
        graph.weight(&weight("input_layernorm"), &[hidden]);
        graph.activation(&attn_in, &[1, fused_heads]);
        graph.operator(
            "qkv",
            102,
            [tasks[0], 1, 1],
            vec![
                operand(&x, [-1, -1, -1]),
                operand(&weight("input_layernorm"), [-1, -1, -1]),
                operand(&weight("qkv_proj"), [0, -1, -1]),
            ],
            vec![operand(&attn_in, [1, -1, -1])],
        );
        for cache in ["k_cache", "v_cache"] {
            graph.weight(&weight(cache), &[1, 32_768, kv_heads, HEAD]);
        }
        for norm in ["q_norm", "k_norm"] {
            graph.weight(&weight(norm), &[HEAD]);
        }
        graph.weight("cos_position_embedding", &[4096, HEAD]);
        graph.weight("sin_position_embedding", &[4096, HEAD]);
        graph.activation(&attn_out, &[1, heads * HEAD]);
        graph.operator(
            "attention",
            103,
            [1, kv_heads, 1],
            vec![
                operand(&attn_in, [0, 1, -1]),
                operand(&weight("k_cache"), [0, 2, -1]),
                operand(&weight("v_cache"), [0, 2, -1]),
                operand(&weight("q_norm"), [-1, -1, -1]),
                operand(&weight("k_norm"), [-1, -1, -1]),
                operand("cos_position_embedding", [-1, -1, -1]),
                operand("sin_position_embedding", [-1, -1, -1]),
            ],
            vec![operand(&attn_out, [0, 1, -1])],
        );
        let attn_proj_out = own("attn_proj_out");
        projection(
            &mut graph,
            108,
            &attn_out,
            &weight("o_proj"),
            heads * HEAD,
            &x,
            &attn_proj_out,
            hidden,
            tasks[1],
        );
        x = all_reduce(
            &mut graph,
            ranks,
            shape.separate.then_some(layer),
            &attn_proj_out,
            "attn_allreduce_out",
            hidden,
            tasks[1],
        );
        let mlp_mid = own("mlp_mid");
        let parts = ["gate_proj", "up_proj"].map(|part| (weight(part), intermediate));
        graph.fused(&weight("gate_up_proj"), 1, hidden, &parts);
        graph.weight(&weight("post_attn_layernorm"), &[hidden]);
        graph.activation(&mlp_mid, &[1, 2 * intermediate]);
        graph.operator(
            "gate_up",
            102,
            [tasks[2], 1, 1],
            vec![
                operand(&x, [-1, -1, -1]),
                operand(&weight("post_attn_layernorm"), [-1, -1, -1]),
                operand(&weight("gate_up_proj"), [0, -1, -1]),
            ],
            vec![operand(&mlp_mid, [1, -1, -1])],
        );
        let mlp_out = own("mlp_out");
        projection(
            &mut graph,
            105,
            &mlp_mid,
            &weight("down_proj"),
            intermediate,
            &x,
            &mlp_out,
            hidden,
            tasks[3],
        );
        x = all_reduce(
            &mut graph,
            ranks,
            shape.separate.then_some(layer),
            &mlp_out,
            "mlp_final",
            hidden,
            tasks[3],
        );
    }
    graph.weight("model_norm_weight", &[hidden]);
    graph.weight("lm_head", &[shape.padded_vocabulary, hidden]);
    graph.activation("argmax_in", &[1, shape.padded_vocabulary]);
    graph.activation("argmax_part_value", &[1, 96]);
    graph.declare("argmax_part_index", I64, &[1, 96], "cuda");
    graph.declare("argmax_out", I64, &[1, 1], "cuda");
    graph.operator(
        "lm_head",
        102,
        [96, 1, 1],
        vec![
            operand(&x, [-1, -1, -1]),
            operand("model_norm_weight", [-1, -1, -1]),
            operand("lm_head", [0, -1, -1]),
        ],
        vec![operand("argmax_in", [1, -1, -1])],
    );
    graph.operator(
        "argmax_partial",
        110,
        [96, 1, 1],
        vec![operand("argmax_in", [1, 0, -1])],
        vec![operand("argmax_part_value", [1, 0, -1]), operand("argmax_part_index", [1, 0, -1])],
    );
    graph.operator(
        "argmax_reduce",
        111,
        [1, 1, 1],
        vec![operand("argmax_part_value", [0, -1, -1]), operand("argmax_part_index", [0, -1, -1])],
        vec![operand("argmax_out", [0, -1, -1])],
    );
    graph.value()
}

#[expect(clippy::too_many_arguments)]
fn projection(
    graph: &mut Graph,
    task_type: i64,
    input: &str,
    weight: &str,
    width: i64,
    residual: &str,
    output: &str,
    hidden: i64,
    tasks: i64,
) {
    graph.weight(weight, &[hidden, width]);
    graph.activation(output, &[1, hidden]);
    graph.operator(
        weight,
        task_type,
        [tasks, 1, 1],
        vec![operand(input, [-1, -1, -1]), operand(weight, [0, -1, -1]), operand(residual, [1, -1, -1])],
        vec![operand(output, [1, -1, -1])],
    );
}

/// An all-reduce, if there are ranks to reduce over; the name of what holds the sum.
fn all_reduce(
    graph: &mut Graph,
    ranks: i64,
    layer: Option<i64>,
    partial: &str,
    sum: &str,
    hidden: i64,
    tasks: i64,
) -> String {
    if ranks == 1 {
        return partial.to_owned();
    }
    let own = |name: &str| layer.map_or_else(|| name.to_owned(), |layer| format!("layer_{layer}_{name}"));
    let buffer = if layer.is_some() { own(&format!("{sum}_buf")) } else { "all_reduce_buf".to_owned() };
    graph.declare(&buffer, BF16, &[ranks, 1, hidden], "nvshmem");
    graph.activation(&own(sum), &[1, hidden]);
    graph.operator(
        "allreduce",
        106,
        [tasks, 1, 1],
        vec![operand(partial, [1, -1, -1]), operand(&buffer, [2, -1, -1])],
        vec![operand(&own(sum), [1, -1, -1])],
    );
    own(sum)
}
