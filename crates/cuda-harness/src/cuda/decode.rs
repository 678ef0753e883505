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
    /// Of how much it has this part, where it has been made smaller.
    part: Option<(usize, usize)>,
}

impl Model {
    /// With about `of` as many layers, columns, heads of caches and tokens as `part`, but with heads that are as long and share caches as before.
    #[must_use]
    pub fn shrunk(self, part: usize, of: usize) -> Model {
        let less = |extent: usize| (extent * part).div_ceil(of.max(1)).max(1);
        let kv_heads = less(self.kv_heads);
        Model {
            layers: less(self.layers),
            hidden: less(self.hidden).next_multiple_of(64),
            inner: less(self.inner).next_multiple_of(64),
            heads: self.heads / self.kv_heads * kv_heads,
            kv_heads,
            vocabulary: less(self.vocabulary),
            part: Some((part, of)),
            ..self
        }
    }

    /// Its name, and that it is not the whole model where it is not.
    pub fn called(&self) -> String {
        self.part.map_or(self.name.to_owned(), |(part, of)| format!("{}, shrunk to {part}/{of}", self.name))
    }
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
        part: None,
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
        part: None,
    },
];

/// Rows of the caches that a step reads.
pub const CONTEXT: usize = 1024;

/// Parts of a window: ATTENTION_COMBINE takes no more.
const SPLITS: usize = 8;

/// Steps that are timed, after as many as do not count; and of a model that was made smaller, whose time nobody compares.
const STEPS: usize = 20;
const FEW: usize = 3;

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

/// Columns of a task, so that a product of so many has as many tasks as there are blocks or fewer.
fn tile(columns: usize, blocks: usize) -> usize {
    columns.div_ceil(blocks).next_multiple_of(8)
}

impl Maker {
    /// Products with weights, in tasks of `tile` columns; with what is added to them as a bias, if anything is.
    fn product(
        &mut self,
        (x, k, bias): (i32, usize, Option<i32>),
        outs: &[(i32, usize)],
        after: i32,
        tile: usize,
    ) -> i32 {
        let counter = self.counter();
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

/// From what a layer has normed to what its heads attend to. Each head of the caches has caches and tasks of its own, so that a block takes a part
/// of the window for the heads that share its rows alone. ATTENTION_COMBINE takes all heads at once, of up to eight parts: what a block has found
/// becomes a row of what all have of its part.
fn attention(
    p: &mut Maker,
    model: &Model,
    (x, normed): (i32, i32),
    position: i32,
    y: i32,
    blocks: usize,
) -> i32 {
    let Model { hidden, heads, kv_heads, head_dim, .. } = *model;
    let shared = heads / kv_heads;
    let columns = tile((heads + 2 * kv_heads) * head_dim, blocks);
    let angle = ParamsRecord { head_dim: head_dim as i32, theta: 500_000.0, ..ParamsRecord::default() };
    let append = |row: usize| ParamsRecord { pos: row as i32, ..ParamsRecord::default() };
    // Of each head of the caches the heads of q that share it, k and v, with the counter of those products.
    let mut projected = Vec::new();
    for _ in 0..kv_heads {
        let outs: Vec<(i32, usize)> = (0..shared + 2).map(|_| (p.vector(head_dim), head_dim)).collect();
        let counter = p.product((x, hidden, None), &outs, normed, columns);
        projected.push((outs, counter));
    }
    let mut turned = Vec::new();
    for (outs, after) in projected {
        let counter = p.counter();
        let (mut queries, mut key, mut value) = (Vec::new(), 0, 0);
        for (at, (out, _)) in outs.into_iter().enumerate() {
            if at > shared {
                value = out;
                continue;
            }
            let to = p.vector(head_dim);
            p.task(Opcode::Rope, &[out, position], to, &[after], counter, angle);
            if at < shared { queries.push(to) } else { key = to }
        }
        turned.push((queries, (key, counter), (value, after)));
    }
    let mut kept = Vec::new();
    for (queries, key, value) in turned {
        let counter = p.counter();
        let q = p.buffer(DType::BF16, &[shared, 1, head_dim]);
        for (row, head) in queries.into_iter().enumerate() {
            p.task(Opcode::KvAppend, &[head, q], q, &[key.1], counter, append(row));
        }
        let caches = [key, value].map(|(row, after)| {
            let cache = p.buffer(DType::BF16, &[CONTEXT, 1, head_dim]);
            p.read += 2 * CONTEXT * head_dim;
            p.task(Opcode::KvAppend, &[row, cache], cache, &[after], counter, append(CONTEXT - 1));
            cache
        });
        kept.push((q, caches, counter));
    }
    let windows = [(); SPLITS].map(|()| p.buffer(DType::F32, &[kv_heads, shared, head_dim + 2]));
    let mut found = Vec::new();
    for (split, window) in windows.into_iter().enumerate() {
        let params = ParamsRecord {
            head_dim: head_dim as i32,
            n_heads: shared as i32,
            n_kv_heads: 1,
            kv_start: (split * CONTEXT / SPLITS) as i32,
            kv_len: (CONTEXT / SPLITS) as i32,
            scale: 1.0 / (head_dim as f32).sqrt(),
            flags: 2,
            ..ParamsRecord::default()
        };
        for (row, (q, [k, v], after)) in kept.iter().enumerate() {
            let part = p.buffer(DType::F32, &[shared, head_dim + 2]);
            let counter = p.alone(Opcode::AttentionTile, &[*q, *k, *v], part, &[*after], params);
            found.push((part, window, row, counter));
        }
    }
    let gathered = p.counter();
    for (part, window, row, after) in found {
        p.task(Opcode::KvAppend, &[part, window], window, &[after], gathered, append(row));
    }
    p.alone(Opcode::AttentionCombine, &windows, y, &[gathered], ParamsRecord::default())
}

/// A whole step: from a token and its position to the next token.
fn step(model: &Model, blocks: usize) -> Maker {
    let Model { hidden, inner, heads, head_dim, vocabulary, .. } = *model;
    let mut p = Maker::default();
    let plain = ParamsRecord::default();
    // The first two hold zeros: a token, and a position.
    let (token, position) = (p.buffer(DType::I32, &[1]), p.buffer(DType::I32, &[1]));
    let next = p.buffer(DType::I32, &[1]);
    let (table, mut x) = (p.buffer(DType::BF16, &[vocabulary, hidden]), p.vector(hidden));
    let mut done =
        p.alone(Opcode::Embed, &[token, table], x, &[], ParamsRecord { hidden: hidden as i32, ..plain });
    for _ in 0..model.layers {
        let (h, normed) = p.norm(x, hidden, done);
        let queries = heads * head_dim;
        let a = p.vector(queries);
        let combined = attention(&mut p, model, (h, normed), position, a, blocks);
        let [between, gate, up, act, after] = [hidden, inner, inner, inner, hidden].map(|n| p.vector(n));
        let added = p.product((a, queries, Some(x)), &[(between, hidden)], combined, tile(hidden, blocks));
        let (h, normed) = p.norm(between, hidden, added);
        let projected =
            p.product((h, hidden, None), &[(gate, inner), (up, inner)], normed, tile(2 * inner, blocks));
        let multiplied = p.alone(Opcode::SiluMul, &[gate, up], act, &[projected], plain);
        done = p.product((act, inner, Some(between)), &[(after, hidden)], multiplied, tile(hidden, blocks));
        x = after;
    }
    let (h, normed) = p.norm(x, hidden, done);
    let logits = p.buffer(DType::F32, &[1, vocabulary]);
    let projected = p.product((h, hidden, None), &[(logits, vocabulary)], normed, tile(vocabulary, blocks));
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
    let steps = if model.part.is_some() { FEW } else { STEPS };
    for _ in 0..2 * steps {
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
    let mut counted = times.split_off(steps);
    counted.sort_by(f64::total_cmp);
    let token = tokens.first().copied().unwrap_or_default();
    if tokens.iter().any(|other| *other != token) || !(0..model.vocabulary as i32).contains(&token) {
        return Err(format!("steps of {} from the same state gave the tokens {tokens:?}", model.called()));
    }
    let seconds = counted.get(steps / 2).copied().unwrap_or_default();
    Ok(Measured { tasks, bytes, seconds, token })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use megakernel_abi::{BufferRecord, InstructionRecord};
    use megakernel_reference::validate::{Classes, validate};
    use serde_json::{Value, json};

    use super::*;

    const TOY: Model = Model {
        name: "toy",
        layers: 2,
        hidden: 48,
        inner: 80,
        heads: 6,
        kv_heads: 2,
        head_dim: 8,
        vocabulary: 100,
        part: None,
    };

    /// A program as a document. What no task writes is a weight; what has all rows of a window, a cache.
    fn document(p: &Maker) -> Value {
        let outputs: BTreeSet<i32> = p.tasks.iter().map(|task| task.outputs[0]).collect();
        let last = p.tasks.last().expect("a task").outputs[0];
        let buffer = |(id, buffer): (usize, &BufferRecord)| {
            let dtype = DType::ALL.iter().find(|dtype| i32::from(dtype.code()) == buffer.dtype);
            let shape = &buffer.shape[..buffer.rank as usize];
            let kind = match id as i32 {
                0 | 1 => "IO_INPUT",
                id if id == last => "IO_OUTPUT",
                id if !outputs.contains(&id) => "WEIGHT",
                _ if shape[0] == CONTEXT as i64 => "KV_CACHE",
                _ => "ACTIVATION",
            };
            json!({"id": id, "name": format!("b{id}"), "kind": kind, "dtype": dtype, "shape": shape})
        };
        let task = |(id, task): (usize, &InstructionRecord)| {
            let op = Opcode::ALL.iter().find(|op| i32::from(op.code()) == task.op).expect("an opcode");
            let given = &task.params;
            let params = match op {
                Opcode::Embed => json!({"hidden": given.hidden}),
                Opcode::RmsNorm => json!({"hidden": given.hidden, "eps": given.eps}),
                Opcode::GemvTile => json!({"K": given.k, "N_tile": given.n_tile, "n_off": given.n_off}),
                Opcode::Rope => json!({"head_dim": given.head_dim, "theta": given.theta}),
                Opcode::KvAppend => json!({"pos": given.pos}),
                Opcode::AttentionTile => {
                    json!({"head_dim": given.head_dim, "n_heads": given.n_heads, "n_kv_heads": given.n_kv_heads,
                        "kv_start": given.kv_start, "kv_len": given.kv_len, "scale": given.scale, "flags": given.flags})
                }
                _ => json!({}),
            };
            let waits: Vec<Value> = (0..task.n_waits as usize)
                .map(|at| json!({"counter": task.wait_counter[at], "threshold": task.wait_threshold[at]}))
                .collect();
            json!({"id": id, "op": op, "inputs": task.inputs[..task.n_inputs as usize], "outputs": [task.outputs[0]],
                "out_counter": task.out_counter, "waits": waits, "params": params})
        };
        let counters = p.tasks.iter().map(|task| task.out_counter).max().expect("a task");
        json!({"ir_version": "0.2.0", "abi_version": "0.2",
            "buffers": p.buffers.iter().enumerate().map(buffer).collect::<Vec<_>>(),
            "counters": (0..=counters).map(|id| json!({"id": id})).collect::<Vec<_>>(),
            "tasks": p.tasks.iter().enumerate().map(task).collect::<Vec<_>>()})
    }

    #[test]
    fn steps_are_programs_that_break_no_rule() {
        let broken = |p: &Maker| -> Vec<String> {
            let verdict = validate(document(p).to_string().as_bytes(), Classes::ALL);
            verdict
                .diagnostics
                .iter()
                .filter(|found| found.is_error())
                .map(|found| format!("{found:?}"))
                .collect()
        };
        let [llama, qwen] = MODELS;
        for (model, blocks) in [
            (TOY, 1),
            (TOY, 16),
            (llama.shrunk(1, 64), 16),
            (qwen.shrunk(1, 64), 16),
            (qwen.shrunk(9, 64), 16),
        ] {
            let mut p = step(&model, blocks);
            assert_eq!(broken(&p), Vec::<String>::new());
            // A program of which a task waits for one less than it needs.
            let task = p.tasks.iter_mut().rfind(|task| task.op == i32::from(Opcode::AttentionCombine.code()));
            task.expect("heads are merged").wait_threshold[0] -= 1;
            assert_ne!(broken(&p), Vec::<String>::new());
        }
    }
}
