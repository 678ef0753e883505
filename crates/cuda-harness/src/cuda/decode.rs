//! How fast one step of a decoder runs: programs of the shapes of real models, with random weights, as one launch.

use std::time::Instant;

use megakernel_abi::ParamsRecord;
use megakernel_ir::{DType, Opcode};

use super::gpu::{Kernel, Stream};
use super::maker::{Maker, Placed};

/// The extents of a decoder.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// As it is called.
    pub name: &'static str,
    layers: usize,
    hidden: usize,
    inner: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    vocabulary: usize,
}

/// From the configurations that their makers publish. Normalisation of queries and keys, which Qwen3 has, is left out.
pub const MODELS: [Model; 2] = [
    Model {
        name: "Llama-3.2-1B",
        layers: 16,
        hidden: 2048,
        inner: 8192,
        heads: 32,
        kv_heads: 8,
        head_dim: 64,
        vocabulary: 128_256,
    },
    Model {
        name: "Qwen3-0.6B",
        layers: 28,
        hidden: 1024,
        inner: 3072,
        heads: 16,
        kv_heads: 8,
        head_dim: 128,
        vocabulary: 151_936,
    },
];

/// Rows of the caches that a step reads.
pub const CONTEXT: usize = 1024;

/// Parts of a window: ATTENTION_COMBINE takes no more.
const SPLITS: usize = 8;

/// Steps that are timed, after as many as do not count.
const STEPS: usize = 20;

/// What was measured of a step.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Tasks of the program.
    pub tasks: usize,
    /// Bytes of weights and caches that a step has to read.
    pub bytes: usize,
    /// Seconds, the median.
    pub seconds: f64,
    /// The token that came out, each time the same.
    pub token: i32,
}

impl Maker {
    /// A product with weights, in as many tasks as there are blocks or fewer; with what is added to it as a bias, if anything is.
    fn product(
        &mut self,
        (x, k, bias): (i32, usize, Option<i32>),
        outs: &[(i32, usize)],
        after: i32,
        blocks: usize,
    ) -> i32 {
        let counter = self.counter();
        let all: usize = outs.iter().map(|(_, n)| n).sum();
        let tile = all.div_ceil(blocks).next_multiple_of(8);
        for (out, n) in outs {
            let operands: Vec<i32> = [x, self.weight(*n, k)].into_iter().chain(bias).collect();
            for first in (0..*n).step_by(tile) {
                let params = ParamsRecord {
                    k: k as i32,
                    n_tile: tile.min(n - first) as i32,
                    n_off: first as i32,
                    ..ParamsRecord::default()
                };
                self.task(Opcode::GemvTile, &operands, *out, &[after], counter, params);
            }
        }
        counter
    }

    fn norm(&mut self, x: i32, hidden: usize, after: i32) -> (i32, i32) {
        let (w, y) = (self.vector(hidden), self.vector(hidden));
        let params = ParamsRecord { hidden: hidden as i32, eps: 1e-5, ..ParamsRecord::default() };
        (y, self.alone(Opcode::RmsNorm, &[x, w], y, &[after], params))
    }
}

/// A whole step: from a token and its position to the next token.
fn step(model: &Model, blocks: usize) -> Maker {
    let Model { hidden, inner, heads, kv_heads, head_dim, vocabulary, .. } = *model;
    let mut p = Maker::default();
    let plain = ParamsRecord::default();
    // The first two hold zeros: a token, and a position.
    let (token, position) = (p.buffer(DType::I32, &[1]), p.buffer(DType::I32, &[1]));
    let next = p.buffer(DType::I32, &[1]);
    let (table, mut x) = (p.buffer(DType::BF16, &[vocabulary, hidden]), p.vector(hidden));
    let mut done = p.alone(Opcode::Embed, &[token, table], x, &[], plain);
    for _ in 0..model.layers {
        let (h, normed) = p.norm(x, hidden, done);
        let (queries, keys) = (heads * head_dim, kv_heads * head_dim);
        let [q, k, v] = [queries, keys, keys].map(|n| p.vector(n));
        let projected = p.product((h, hidden, None), &[(q, queries), (k, keys), (v, keys)], normed, blocks);
        let turned = p.counter();
        let angle = ParamsRecord { head_dim: head_dim as i32, theta: 500_000.0, ..ParamsRecord::default() };
        let (q2, k2) = (p.vector(queries), p.vector(keys));
        p.task(Opcode::Rope, &[q, position], q2, &[projected], turned, angle);
        p.task(Opcode::Rope, &[k, position], k2, &[projected], turned, angle);
        let kept = p.counter();
        let append = ParamsRecord { pos: CONTEXT as i32 - 1, ..ParamsRecord::default() };
        let caches = [k2, v].map(|rows| {
            let cache = p.buffer(DType::BF16, &[CONTEXT, kv_heads, head_dim]);
            p.read += 2 * CONTEXT * keys;
            p.task(Opcode::KvAppend, &[rows, cache], cache, &[turned], kept, append);
            cache
        });
        let attended = p.counter();
        let parts: Vec<i32> = (0..SPLITS)
            .map(|split| {
                let part = p.buffer(DType::F32, &[heads, head_dim + 2]);
                let params = ParamsRecord {
                    head_dim: head_dim as i32,
                    n_heads: heads as i32,
                    n_kv_heads: kv_heads as i32,
                    kv_start: (split * CONTEXT / SPLITS) as i32,
                    kv_len: (CONTEXT / SPLITS) as i32,
                    scale: 1.0 / (head_dim as f32).sqrt(),
                    flags: 2,
                    ..ParamsRecord::default()
                };
                p.task(Opcode::AttentionTile, &[q2, caches[0], caches[1]], part, &[kept], attended, params);
                part
            })
            .collect();
        let a = p.vector(queries);
        let combined = p.alone(Opcode::AttentionCombine, &parts, a, &[attended], plain);
        let [between, gate, up, act, after] = [hidden, inner, inner, inner, hidden].map(|n| p.vector(n));
        let added = p.product((a, queries, Some(x)), &[(between, hidden)], combined, blocks);
        let (h, normed) = p.norm(between, hidden, added);
        let projected = p.product((h, hidden, None), &[(gate, inner), (up, inner)], normed, blocks);
        let multiplied = p.alone(Opcode::SiluMul, &[gate, up], act, &[projected], plain);
        done = p.product((act, inner, Some(between)), &[(after, hidden)], multiplied, blocks);
        x = after;
    }
    let (h, normed) = p.norm(x, hidden, done);
    let logits = p.buffer(DType::F32, &[1, vocabulary]);
    let projected = p.product((h, hidden, None), &[(logits, vocabulary)], normed, blocks);
    p.alone(Opcode::SampleArgmax, &[logits], next, &[projected], plain);
    p
}

/// Runs steps of a model, and says how long one takes.
///
/// # Errors
/// There is too little memory, or the launches do not end as they should.
pub(super) fn measure(stream: Stream, on: (Kernel, usize, bool), model: &Model) -> Result<Measured, String> {
    let maker = step(model, on.1);
    let (tasks, bytes) = (maker.tasks.len(), maker.read);
    let placed = Placed::new(stream, on, maker)?;
    stream.write_at(placed.memory(), 0, &[0; 512])?;
    let (mut times, mut tokens) = (Vec::new(), Vec::new());
    for _ in 0..2 * STEPS {
        let start = Instant::now();
        placed.reset(stream)?;
        placed.launch(stream)?;
        stream.wait("a step")?;
        times.push(start.elapsed().as_secs_f64());
        // The third buffer is the token that came out.
        let mut word = [0; 4];
        stream.read_at(&mut word, placed.memory(), 512)?;
        tokens.push(i32::from_le_bytes(word));
    }
    let mut counted = times.split_off(STEPS);
    counted.sort_by(f64::total_cmp);
    let token = tokens.first().copied().unwrap_or_default();
    if tokens.iter().any(|other| *other != token) || !(0..model.vocabulary as i32).contains(&token) {
        return Err(format!("steps of {} from the same state gave the tokens {tokens:?}", model.name));
    }
    let seconds = counted.get(STEPS / 2).copied().unwrap_or_default();
    Ok(Measured { tasks, bytes, seconds, token })
}
