//! Decoder layers as a lowering of a real model writes them.

use serde_json::json;

use super::ops::{Tiles, Weights};
use super::{Buf, Ctr, DType, Op, ProgramBuilder};

/// How attention is cut into tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attention {
    /// One ATTENTION_TILE over the whole window.
    Whole,
    /// This many windows, written as partials and merged by ATTENTION_COMBINE (2 to 8).
    Split(u64),
}

/// Sizes and storage of a decoder.
#[derive(Clone, Copy, Debug)]
pub struct Dims {
    /// Sequences decoded together; `None` uses rank-3 caches and a single sequence.
    pub batch: Option<u64>,
    /// Query heads.
    pub heads: u64,
    /// Key and value heads.
    pub kv_heads: u64,
    /// Elements of one head (even).
    pub head_dim: u64,
    /// Rows of the two MLP projections.
    pub inner: u64,
    /// Rows of each cache.
    pub max_seq: u64,
    /// Row written in this launch; the window is rows `0..=pos`.
    pub pos: u64,
    /// Columns of one GEMV tile.
    pub tile: u64,
    /// Storage of activations and caches.
    pub act: DType,
    /// Storage of the weights.
    pub weights: Weights,
    /// How attention is cut.
    pub attention: Attention,
}

impl Dims {
    /// A small layer: 4 query heads of 8 elements, 2 key heads, whole attention, F32.
    pub const SMALL: Dims = Dims {
        batch: None,
        heads: 4,
        kv_heads: 2,
        head_dim: 8,
        inner: 48,
        max_seq: 32,
        pos: 9,
        tile: 16,
        act: DType::F32,
        weights: Weights::Float(DType::F32),
        attention: Attention::Whole,
    };

    /// Width of the residual stream.
    pub const fn hidden(&self) -> u64 {
        self.heads * self.head_dim
    }

    /// Rows of the residual stream.
    pub fn rows(&self) -> u64 {
        self.batch.unwrap_or(1)
    }

    fn per_head(&self, heads: u64) -> Vec<u64> {
        match self.batch {
            Some(batch) => vec![batch, heads, self.head_dim],
            None => vec![1, heads, self.head_dim],
        }
    }

    fn cache(&self) -> Vec<u64> {
        let mut shape = vec![self.max_seq, self.kv_heads, self.head_dim];
        if let Some(batch) = self.batch {
            shape.insert(0, batch);
        }
        shape
    }
}

/// One layer of a decode step, added to a program.
pub struct DecoderLayer<'a> {
    /// The program the layer is added to.
    pub program: &'a mut ProgramBuilder,
    /// Sizes.
    pub dims: Dims,
    /// Prefix of every name, such as `L0`.
    pub prefix: &'a str,
    /// One position for each sequence.
    pub positions: Buf,
    /// Ids `[0]` for the reshape bridge.
    pub bridge: Buf,
}

impl DecoderLayer<'_> {
    fn name(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix)
    }

    fn act(&mut self, name: &str, shape: &[u64]) -> Buf {
        let (name, dtype) = (self.name(name), self.dims.act);
        self.program.act(&name, dtype, shape)
    }

    fn linear(&mut self, name: &str, x: Buf, n: u64, k: u64, after: &[Ctr]) -> (Buf, Ctr) {
        let y = self.act(name, &[self.dims.rows(), n]);
        let label = self.name(name);
        let matrix = self.program.matrix(&format!("{label}.weight"), n, k, self.dims.weights);
        let done = self.program.matmul(&label, x, &matrix, y, Tiles::from(self.dims.tile), after);
        (y, done)
    }

    fn norm(&mut self, name: &str, x: Buf, after: &[Ctr]) -> (Buf, Ctr) {
        let hidden = self.dims.hidden();
        let y = self.act(name, &[self.dims.rows(), hidden]);
        let label = self.name(name);
        let w = self.program.weight(&format!("{label}.weight"), DType::F32, &[hidden]);
        (y, self.program.rmsnorm(&label, x, w, y, after))
    }

    /// Views `x` as heads through an EMBED of the single row 0, then rotates the heads.
    fn rotated(&mut self, name: &str, x: Buf, heads: u64, after: &[Ctr]) -> (Buf, Ctr) {
        let shape = self.dims.per_head(heads);
        let (head_dim, bridge, positions) = (self.dims.head_dim, self.bridge, self.positions);
        // A batch is already one row a sequence, and EMBED would gather only its first row: COPY keeps them all.
        let view = self.act(&format!("{name}.heads"), &shape);
        let label = self.name(&format!("{name}.reshape"));
        let viewed = if self.dims.batch.is_some() {
            self.program.copy(&label, x, view, after)
        } else {
            self.program.op(Op::Embed, &label, &[bridge, x], view, &[("hidden", head_dim.into())], after)
        };
        let y = self.act(&format!("{name}.rot"), &shape);
        let label = self.name(&format!("{name}.rope"));
        let params = [("head_dim", head_dim.into()), ("theta", json!(10000.0))];
        (y, self.program.op(Op::Rope, &label, &[view, positions], y, &params, &[viewed]))
    }

    fn append(&mut self, name: &str, new: Buf, after: &[Ctr]) -> (Buf, Ctr) {
        let (shape, dtype, pos) = (self.dims.cache(), self.dims.act, self.dims.pos);
        let cache = self.program.cache(&self.name(name), dtype, &shape);
        let label = self.name(&format!("{name}.append"));
        (cache, self.program.op(Op::KvAppend, &label, &[new, cache], cache, &[("pos", pos.into())], after))
    }

    fn attend(&mut self, q: Buf, k: Buf, v: Buf, after: &[Ctr]) -> (Buf, Ctr) {
        let rows = self.dims.rows();
        let y = self.act("attn", &[rows, self.dims.hidden()]);
        let window = self.dims.pos + 1;
        let Attention::Split(parts) = self.dims.attention else {
            let label = self.name("attention");
            let done = attention(self.program, &label, self.dims, [q, k, v, y], (0, window), 0, after);
            return (y, done);
        };
        let mut shape = vec![self.dims.heads, self.dims.head_dim + 2];
        if let Some(batch) = self.dims.batch {
            shape.insert(0, batch);
        }
        let mut partials = Vec::new();
        let mut waits = Vec::new();
        for part in 0..parts {
            let (start, end) = (window * part / parts, window * (part + 1) / parts);
            let name = self.name(&format!("partial{part}"));
            let partial = self.program.act(&name, DType::F32, &shape);
            let label = self.name(&format!("attention[w{part}]"));
            let range = (start, end - start);
            waits.push(attention(self.program, &label, self.dims, [q, k, v, partial], range, 2, after));
            partials.push(partial);
        }
        let label = self.name("combine");
        (y, self.program.op(Op::AttentionCombine, &label, &partials, y, &[], &waits))
    }

    /// Adds the whole layer on top of `x`, which is complete once `ready` is.
    pub fn add(mut self, x: Buf, ready: Ctr) -> (Buf, Ctr) {
        let d = self.dims;
        let (hidden, kv) = (d.hidden(), d.kv_heads * d.head_dim);
        let (normed, normed_done) = self.norm("input_norm", x, &[ready]);
        let (q, q_done) = self.linear("q", normed, hidden, hidden, &[normed_done]);
        let (k, k_done) = self.linear("k", normed, kv, hidden, &[normed_done]);
        let (v, v_done) = self.linear("v", normed, kv, hidden, &[normed_done]);
        let (q, q_done) = self.rotated("q", q, d.heads, &[q_done]);
        let (k, k_done) = self.rotated("k", k, d.kv_heads, &[k_done]);
        let (k_cache, k_done) = self.append("k_cache", k, &[k_done]);
        let (v_cache, v_done) = self.append("v_cache", v, &[v_done]);
        let (attn, attn_done) = self.attend(q, k_cache, v_cache, &[q_done, k_done, v_done]);
        let (o, o_done) = self.linear("o", attn, hidden, hidden, &[attn_done]);
        let (mid, mid_done) = self.residual("mid", x, o, &[ready, o_done]);
        let (normed, normed_done) = self.norm("post_norm", mid, &[mid_done]);
        let (gate, gate_done) = self.linear("gate", normed, d.inner, hidden, &[normed_done]);
        let (up, up_done) = self.linear("up", normed, d.inner, hidden, &[normed_done]);
        let act = self.act("act", &[d.rows(), d.inner]);
        let label = self.name("swiglu");
        let act_done = self.program.op(Op::SiluMul, &label, &[gate, up], act, &[], &[gate_done, up_done]);
        let (down, down_done) = self.linear("down", act, hidden, d.inner, &[act_done]);
        self.residual("out", mid, down, &[mid_done, down_done])
    }

    fn residual(&mut self, name: &str, a: Buf, b: Buf, after: &[Ctr]) -> (Buf, Ctr) {
        let y = self.act(name, &[self.dims.rows(), self.dims.hidden()]);
        let label = self.name(&format!("{name}.add"));
        (y, self.program.op(Op::Add, &label, &[a, b], y, &[], after))
    }
}

/// One ATTENTION_TILE over rows `start..start + len` of the caches; `operands` are q, k, v and the output.
pub fn attention(
    program: &mut ProgramBuilder,
    label: &str,
    dims: Dims,
    [q, k, v, y]: [Buf; 4],
    (start, len): (u64, u64),
    flags: u64,
    after: &[Ctr],
) -> Ctr {
    let mut task = program
        .task(Op::AttentionTile)
        .reads(&[q, k, v])
        .writes(&[y])
        .after(after)
        .label(label)
        .param("head_dim", dims.head_dim)
        .param("kv_start", start)
        .param("kv_len", len)
        .param("scale", 0.25)
        .param("n_heads", dims.heads)
        .param("n_kv_heads", dims.kv_heads);
    if flags != 0 {
        task = task.param("flags", flags);
    }
    task.add()
}

/// A whole decode step: embedding, layers, final norm, logits and the greedy token.
pub fn decode_step(model: &str, dims: Dims, layers: usize, vocab: u64) -> ProgramBuilder {
    let mut p = ProgramBuilder::new(model);
    let rows = dims.rows();
    let token = p.input("token_id", DType::I32, &[rows]);
    let positions = p.input("pos", DType::I32, &[rows]);
    let bridge = if dims.batch.is_none() { p.constant("row_zero", DType::I32, &[1]) } else { positions };
    let table = p.weight("embed.weight", dims.act, &[vocab, dims.hidden()]);
    let mut x = p.act("h0", dims.act, &[rows, dims.hidden()]);
    let mut ready = p.op(Op::Embed, "embed", &[token, table], x, &[("hidden", dims.hidden().into())], &[]);
    for layer in 0..layers {
        let prefix = format!("L{layer}");
        (x, ready) = DecoderLayer { program: &mut p, dims, prefix: &prefix, positions, bridge }.add(x, ready);
    }
    let w = p.weight("norm.weight", DType::F32, &[dims.hidden()]);
    let normed = p.act("final", dims.act, &[rows, dims.hidden()]);
    let done = p.rmsnorm("final_norm", x, w, normed, &[ready]);
    let logits = p.output("logits", DType::F32, &[rows, vocab]);
    let head = p.matrix("lm_head.weight", vocab, dims.hidden(), dims.weights);
    let done = p.matmul("lm_head", normed, &head, logits, Tiles::from(dims.tile * 2), &[done]);
    let next = p.output("next_token", DType::I32, &[rows]);
    p.op(Op::SampleArgmax, "argmax", &[logits], next, &[], &[done]);
    p
}
