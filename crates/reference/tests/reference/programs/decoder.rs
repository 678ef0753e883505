//! Decode steps as compilers emit them: per layer a norm, tiled projections under one counter each, rotary embedding,
//! appends, attention, tiled output and MLP projections, residuals.

use super::{Ready, Writer};

const DIM: usize = 1024;
const TILES: usize = 64;

/// A decode step of about `tasks` tasks.
pub fn program(tasks: usize) -> String {
    let mut writer = Writer::default();
    let ids = writer.buffer("IO_INPUT", "I32", "[1]");
    writer.buffer("IO_INPUT", "I32", "[1]");
    let table = writer.buffer("WEIGHT", "F32", &format!("[512,{DIM}]"));
    let mut x = writer.buffer("ACTIVATION", "F32", &format!("[1,{DIM}]"));
    let mut ready = writer.task("EMBED", &[ids, table], x, &[], &format!(r#"{{"hidden":{DIM}}}"#));
    while writer.tasks.len() + 500 < tasks {
        (x, ready) = layer(&mut writer, x, ready, 63);
    }
    let logits = writer.buffer("IO_OUTPUT", "F32", &format!("[1,{DIM}]"));
    projection(&mut writer, x, logits, DIM, ready);
    writer.finish(0)
}

fn layer(writer: &mut Writer, x: usize, x_ready: Ready, position: usize) -> (usize, Ready) {
    let row = format!("[1,{DIM}]");
    let heads = format!("[16,{}]", DIM / 16);
    let cache = format!("[64,16,{}]", DIM / 16);
    let [normed, q, k, v, attended, projected, sum, gate, up, act, down, next] =
        [(); 12].map(|()| writer.buffer("ACTIVATION", "F32", &row));
    let [q_heads, k_heads, q_rope, k_rope] = [(); 4].map(|()| writer.buffer("ACTIVATION", "F32", &heads));
    let [k_cache, v_cache] = [(); 2].map(|()| writer.buffer("KV_CACHE", "F32", &cache));
    let norm = writer.buffer("WEIGHT", "F32", &format!("[{DIM}]"));
    let eps = format!(r#"{{"eps":1e-05,"hidden":{DIM}}}"#);
    let hidden = format!(r#"{{"hidden":{}}}"#, DIM / 16);
    let rope = format!(r#"{{"head_dim":{},"theta":10000.0}}"#, DIM / 16);
    let ready = writer.task("RMSNORM", &[x, norm], normed, &[x_ready], &eps);
    let [q_ready, k_ready, v_ready] = [q, k, v].map(|output| projection(writer, normed, output, DIM, ready));
    let q_ready = writer.task("EMBED", &[1, q], q_heads, &[q_ready], &hidden);
    let k_ready = writer.task("EMBED", &[1, k], k_heads, &[k_ready], &hidden);
    let q_ready = writer.task("ROPE", &[q_heads, 1], q_rope, &[q_ready], &rope);
    let k_ready = writer.task("ROPE", &[k_heads, 1], k_rope, &[k_ready], &rope);
    let pos = format!(r#"{{"pos":{position}}}"#);
    let k_ready = writer.task("KV_APPEND", &[k_rope, k_cache], k_cache, &[k_ready], &pos);
    let v_ready = writer.task("KV_APPEND", &[v, v_cache], v_cache, &[v_ready], &pos);
    let attention = format!(
        r#"{{"head_dim":{},"kv_start":0,"kv_len":{},"scale":0.125,"n_heads":16,"n_kv_heads":16}}"#,
        DIM / 16,
        position + 1
    );
    let done = writer.task(
        "ATTENTION_TILE",
        &[q_rope, k_cache, v_cache],
        attended,
        &[q_ready, k_ready, v_ready],
        &attention,
    );
    let done = projection(writer, attended, projected, DIM, done);
    let done = writer.task("ADD", &[x, projected], sum, &[x_ready, done], "{}");
    let [gate_ready, up_ready] = [gate, up].map(|output| projection(writer, sum, output, DIM, done));
    let act_ready = writer.task("SILU_MUL", &[gate, up], act, &[gate_ready, up_ready], "{}");
    let down_ready = projection(writer, act, down, DIM, act_ready);
    let done = writer.task("ADD", &[sum, down], next, &[done, down_ready], "{}");
    (next, done)
}

/// A projection in tiles under one counter.
fn projection(writer: &mut Writer, input: usize, output: usize, n: usize, wait: Ready) -> Ready {
    let weight = writer.buffer("WEIGHT", "F32", &format!("[{n},{DIM}]"));
    let counter = writer.counter();
    let tile = n / TILES;
    for index in 0..TILES {
        let params = format!(r#"{{"K":{DIM},"N_tile":{tile},"n_off":{}}}"#, index * tile);
        writer.push("GEMV_TILE", &[input, weight], &[output], &[wait], &params, counter);
    }
    (counter, TILES)
}
