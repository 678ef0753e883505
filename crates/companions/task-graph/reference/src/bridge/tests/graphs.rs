//! Kernel graphs and task graphs for tests. A barrier between operators is a sound way to translate any kernel graph; it
//! needs nothing of the translation that is tested elsewhere.

use std::collections::HashMap;

use megakernel_ir::{Layout, write_record};
use megakernel_task_graph::{
    EVENT_INVALID, KernelGraph, Mode, TensorDecl, TensorKind, Translation, read_kernel_graph, read_task_graph,
};
use serde_json::{Value, json};

use crate::bridge::{Imported, Options, Refusal, import};

pub fn tensor(name: &str, data_type: i64, dims: &[i64], io: &str) -> Value {
    json!({"name": name, "data_type": data_type, "dims": dims, "io": io})
}

pub fn fused(name: &str, data_type: i64, dims: &[i64], groups: i64, parts: &[&str]) -> Value {
    json!({"name": name, "data_type": data_type, "dims": dims, "io": "fused", "num_groups": groups, "parts": parts})
}

/// An operator on a grid of one axis. An operand is a tensor and the axis that the grid cuts, or -1.
pub fn operator(
    task_type: i64,
    grid: i64,
    inputs: &[(&str, i64)],
    outputs: &[(&str, i64)],
    params: Value,
) -> Value {
    let operand = |&(tensor, axis): &(&str, i64)| {
        if tensor.is_empty() { Value::Null } else { json!({"tensor": tensor, "map": [axis, -1, -1]}) }
    };
    json!({
        "name": format!("op{task_type}"), "task_type": task_type, "grid": [grid, 1, 1],
        "inputs": inputs.iter().map(operand).collect::<Vec<_>>(),
        "outputs": outputs.iter().map(operand).collect::<Vec<_>>(),
        "params": params,
    })
}

pub fn kernel(tensors: &[Value], operators: &[Value]) -> String {
    json!({"tensors": tensors, "operators": operators}).to_string()
}

/// The task graph in which each operator waits for all of the one before.
pub fn translate(kernel: &str) -> Value {
    let kernel = read_kernel_graph(kernel.as_bytes()).expect("a kernel graph");
    let decls: HashMap<&str, &TensorDecl<'_>> =
        kernel.tensors.iter().map(|decl| (&*decl.name, decl)).collect();
    let nothing = |task_type: i64, trigger: i64| {
        json!({"task_type": task_type, "variant_id": 0, "inputs": null, "outputs": null,
               "trigger_event": trigger, "dependent_event": EVENT_INVALID})
    };
    let mut tasks = vec![nothing(0, EVENT_INVALID), nothing(10, 1)];
    let event = |event_type: i64, triggers: i64, first: usize, last: usize| json!({"event_type": event_type, "num_triggers": triggers, "first_task_id": first, "last_task_id": last});
    let mut events = vec![event(911, 1, 0, 0), event(903, 1, 2, 0)];
    let mut first_tasks = Vec::new();
    for (number, operator) in kernel.operators.iter().enumerate() {
        let grid = operator.grid[0];
        for block in 0..grid {
            if number == 0 {
                first_tasks.push(tasks.len());
            }
            let tile = |tensor: &str, axis: i64| tile(&decls, tensor, axis, block, grid);
            let inputs: Vec<Value> = operator
                .inputs
                .iter()
                .map(|operand| match operand {
                    Some(operand) => tile(&operand.tensor, operand.map[0]),
                    None => json!({"base_ptr": "nullptr", "data_type": 999, "dims": [], "offset": 0, "strides": []}),
                })
                .collect();
            let outputs: Vec<Value> =
                operator.outputs.iter().map(|operand| tile(&operand.tensor, operand.map[0])).collect();
            tasks.push(json!({
                "task_type": operator.task_type, "variant_id": 0, "inputs": inputs, "outputs": outputs,
                "trigger_event": number + 2,
                "dependent_event": if number == 0 { EVENT_INVALID } else { number as i64 + 1 },
            }));
        }
        let is_last = number + 1 == kernel.operators.len();
        let next = kernel.operators.get(number + 1).map_or(0, |next| next.grid[0] as usize);
        let range = if is_last { [0, 0] } else { [tasks.len(), tasks.len() + next] };
        events.push(event(if is_last { 910 } else { 900 }, grid, range[0], range[1]));
    }
    events[1]["last_task_id"] = json!(tasks.len());
    json!({"all_events": events, "all_tasks": tasks, "first_tasks": first_tasks})
}

fn tile(decls: &HashMap<&str, &TensorDecl<'_>>, name: &str, axis: i64, block: i64, grid: i64) -> Value {
    let decl = decls[name];
    let mut dims = decl.dims.to_vec();
    let mut start = vec![0; dims.len()];
    if axis >= 0 {
        dims[axis as usize] /= grid;
        start[axis as usize] = block * dims[axis as usize];
    }
    let mut base = name;
    if decl.io == TensorKind::Fused {
        // Parts alternate in groups along axis 0; a tile lies in one of them.
        let groups = decl.num_groups.0.expect("groups");
        let group = decl.dims[0] / groups;
        let (mut within, number) = (start[0] % group, start[0] / group);
        for part in &decl.parts {
            let length = decls[&**part].dims[0] / groups;
            if within < length {
                base = part;
                start[0] = number * length + within;
                break;
            }
            within -= length;
        }
    }
    let mut strides = vec![1; dims.len()];
    for axis in (0..dims.len() - 1).rev() {
        strides[axis] = strides[axis + 1] * decl.dims[axis + 1];
    }
    let offset: i64 = start.iter().zip(&strides).map(|(start, stride)| start * stride).sum();
    let bits = megakernel_task_graph::element_bits(decl.data_type).expect("a type");
    json!({"base_ptr": base, "data_type": decl.data_type, "dims": dims, "offset": offset * bits / 8, "strides": strides})
}

/// The graphs of all ranks as the reference translates them.
pub fn translated(kernel: &str, ranks: i64, mode: Mode) -> Vec<Value> {
    let graph = |rank| {
        let kernel_graph = read_kernel_graph(kernel.as_bytes()).expect("a kernel graph");
        let request = Translation { kernel_graph, ranks, rank, mode, extra: Vec::new() };
        let graph = crate::translate::translate(&request).expect("a translation");
        serde_json::from_str(&write_record(&graph, Layout::Compact)).expect("JSON")
    };
    (0..ranks).map(graph).collect()
}

pub fn imported(graph: &Value, kernel: &str, options: &Options) -> Result<Imported, Vec<Refusal>> {
    let kernel: KernelGraph<'_> = read_kernel_graph(kernel.as_bytes()).expect("a kernel graph");
    let text = graph.to_string();
    let graph = read_task_graph(text.as_bytes()).expect("a task graph");
    import(&[&graph], &kernel, options)
}

/// A decoder of two layers of width 16: two groups of two heads of 4, 32 inner columns, 48 tokens, 16 positions. `embeds`
/// is in how many tasks the embedding is cut.
pub fn decoder(float: i64, embeds: i64) -> String {
    let mut tensors = vec![
        tensor("input_token", 965, &[1, 1], "torch"),
        tensor("embed_tokens", float, &[48, 16], "torch"),
        tensor("cos", float, &[16, 4], "torch"),
        tensor("sin", float, &[16, 4], "torch"),
        tensor("model_norm", float, &[16], "torch"),
        tensor("lm_head", float, &[48, 16], "torch"),
        tensor("embed_out", float, &[1, 16], "cuda"),
        tensor("attn_in", float, &[1, 32], "cuda"),
        tensor("attn_out", float, &[1, 16], "cuda"),
        tensor("attn_proj_out", float, &[1, 16], "cuda"),
        tensor("mlp_mid", float, &[1, 64], "cuda"),
        tensor("mlp_out", float, &[1, 16], "cuda"),
        tensor("argmax_in", float, &[1, 48], "torch"),
        tensor("argmax_part_value", float, &[1, 6], "cuda"),
        tensor("argmax_part_index", 965, &[1, 6], "cuda"),
        tensor("argmax_out", 965, &[1, 1], "torch"),
    ];
    let mut operators = vec![operator(
        101,
        embeds,
        &[("input_token", -1), ("embed_tokens", 1)],
        &[("embed_out", 1)],
        json!({"input_source": 1}),
    )];
    for layer in 0..2 {
        let name = |what: &str| format!("l{layer}.{what}");
        let weights: [(&str, &[i64]); 11] = [
            ("norm", &[16]),
            ("q", &[16, 16]),
            ("k", &[8, 16]),
            ("v", &[8, 16]),
            ("q_norm", &[4]),
            ("k_norm", &[4]),
            ("o", &[16, 16]),
            ("post_norm", &[16]),
            ("gate", &[32, 16]),
            ("up", &[32, 16]),
            ("down", &[16, 32]),
        ];
        tensors.extend(weights.iter().map(|(what, dims)| tensor(&name(what), float, dims, "torch")));
        for cache in ["k_cache", "v_cache"] {
            tensors.push(tensor(&name(cache), float, &[1, 16, 2, 4], "torch"));
        }
        tensors.push(fused(&name("qkv"), float, &[32, 16], 2, &[&name("q"), &name("k"), &name("v")]));
        tensors.push(fused(&name("gate_up"), float, &[64, 16], 1, &[&name("gate"), &name("up")]));
        let before = if layer == 0 { "embed_out" } else { "mlp_out" };
        operators.extend([
            operator(
                102,
                8,
                &[(before, -1), (&name("norm"), -1), (&name("qkv"), 0)],
                &[("attn_in", 1)],
                json!({"eps": 1e-6}),
            ),
            operator(
                103,
                2,
                &[
                    ("attn_in", 1),
                    (&name("k_cache"), 2),
                    (&name("v_cache"), 2),
                    (&name("q_norm"), -1),
                    (&name("k_norm"), -1),
                    ("cos", -1),
                    ("sin", -1),
                ],
                &[("attn_out", 1)],
                json!({"eps": 1e-6, "theta": 10000.0}),
            ),
            operator(
                108,
                4,
                &[("attn_out", -1), (&name("o"), 0), (before, 1)],
                &[("attn_proj_out", 1)],
                json!({}),
            ),
            operator(
                102,
                8,
                &[("attn_proj_out", -1), (&name("post_norm"), -1), (&name("gate_up"), 0)],
                &[("mlp_mid", 1)],
                json!({"eps": 1e-6}),
            ),
            operator(
                105,
                4,
                &[("mlp_mid", -1), (&name("down"), 0), ("attn_proj_out", 1)],
                &[("mlp_out", 1)],
                json!({}),
            ),
        ]);
    }
    operators.extend([
        operator(
            102,
            6,
            &[("mlp_out", -1), ("model_norm", -1), ("lm_head", 0)],
            &[("argmax_in", 1)],
            json!({"eps": 1e-6}),
        ),
        operator(
            110,
            6,
            &[("argmax_in", 1)],
            &[("argmax_part_value", 1), ("argmax_part_index", 1)],
            json!({}),
        ),
        operator(
            111,
            1,
            &[("argmax_part_value", -1), ("argmax_part_index", -1)],
            &[("argmax_out", -1)],
            json!({}),
        ),
    ]);
    kernel(&tensors, &operators)
}
