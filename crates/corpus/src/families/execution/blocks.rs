//! One launch of a part of a model.

use megakernel_ir::rule::{Clause, clause};
use serde_json::json;

use super::super::plan::Plan;
use super::arrange::Form;
use super::contents::{activations, caches, weights};
use super::session::{SessionBuilder, Step};
use crate::builder::{
    Attention, Buf, Ctr, DType, Dims, Op, ProgramBuilder, Result, Tiles, Weights, attention, slug,
};

use DType::{BF16, F8E4M3, F16, F32};

/// The cases.
pub fn plans(seed: u64) -> Result<Vec<Plan>> {
    let mut plans = Vec::new();
    let mut add =
        |name: &str, about: &str, clauses: &[Clause], form: Form, p: ProgramBuilder| -> Result<()> {
            let session = SessionBuilder::new(("blocks", name), about, clauses, form, p)?;
            let program = session.program();
            let mut files = weights(program, seed)?;
            files.extend(activations(program, seed)?);
            files.extend(caches(program, seed)?);
            plans.push(session.shared(&format!("blocks/{name}"), files).launch(Step::default()).plan());
            Ok(())
        };
    let mlp_clauses = &[clause::NUM_08, clause::OPC_03, clause::OPC_05, clause::OPC_09, clause::OPC_11][..];
    for (name, about, act, weights, form) in [
        ("mlp-f32", "an MLP with a gate", F32, Weights::Float(F32), Form::Reversed),
        ("mlp-f16", "an MLP with a gate, in F16", F16, Weights::Float(F16), Form::Plain),
        ("mlp-bf16", "an MLP with a gate, in BF16", BF16, Weights::Float(BF16), Form::Plain),
        ("mlp-fp8", "an MLP with a gate, F8E4M3 weights in F16", F16, Weights::Float(F8E4M3), Form::Plain),
        (
            "mlp-i8",
            "an MLP with a gate, I8 weights",
            F32,
            Weights::I8 { group: 16, zeros: Some(DType::I8) },
            Form::Paged,
        ),
        (
            "mlp-i4",
            "an MLP with a gate, I4 weights in BF16",
            BF16,
            Weights::I4 { group: 12, zeros: Some(F16) },
            Form::Plain,
        ),
        (
            "mlp-i4-bytes",
            "an MLP with a gate, packed 4-bit weights",
            F32,
            Weights::I4Bytes { group: 8, zeros: None },
            Form::Placed,
        ),
    ] {
        add(name, about, mlp_clauses, form, mlp(act, weights))?;
    }
    // More than every GPU gives to a block that does not ask, and no more than all can give; blocks of another size.
    let mut large = mlp(BF16, Weights::Float(BF16));
    large.config(json!({"target": "any", "threads_per_block": 128, "smem_bytes_per_block": 65_536}));
    let about = "an MLP whose blocks have 128 threads and 64 KiB of shared memory";
    add("mlp-shared-64-kib", about, &[clause::OPC_05, clause::OPC_09], Form::Plain, large)?;
    for (dtype, form) in [(F32, Form::Shuffled), (BF16, Form::PagedReversed)] {
        let name = format!("ffn-{}", slug(dtype.name()));
        let about = "LAYERNORM, two products in tiles of rows and columns with biases, and GELU between them";
        add(
            &name,
            about,
            &[clause::NUM_08, clause::OPC_04, clause::OPC_06, clause::OPC_10, clause::OPC_11],
            form,
            ffn(dtype),
        )?;
    }
    for (shards, form) in [(1, Form::Plain), (2, Form::Reversed), (4, Form::Placed), (8, Form::PagedReversed)]
    {
        let name = format!("tensor-parallel-{shards}");
        let about = format!("an MLP in {shards} shards, whose results are added");
        let clauses = &[clause::EXE_10, clause::NUM_08, clause::OPC_05, clause::OPC_09, clause::OPC_15];
        add(&name, &about, clauses, form, tensor_parallel(shards))?;
    }
    let small = Dims { max_seq: 12, pos: 9, ..Dims::SMALL };
    let clauses = &[
        clause::EXE_08,
        clause::NUM_08,
        clause::OPC_05,
        clause::OPC_07,
        clause::OPC_08,
        clause::OPC_11,
        clause::OPC_16,
    ][..];
    let split = &[clause::EXE_08, clause::NUM_08, clause::OPC_07, clause::OPC_16, clause::OPC_18][..];
    for (name, about, dims, first, form) in [
        ("attention-f32", "grouped heads", small, 0, Form::Reversed),
        (
            "attention-f16",
            "grouped heads, in F16",
            Dims { act: F16, weights: Weights::Float(F16), ..small },
            0,
            Form::Plain,
        ),
        (
            "attention-bf16",
            "grouped heads, in BF16",
            Dims { act: BF16, weights: Weights::Float(BF16), ..small },
            0,
            Form::Plain,
        ),
        ("attention-window", "a window of the last 6 rows", small, 4, Form::Plain),
        ("attention-first-row", "position 0, a window of one row", Dims { pos: 0, ..small }, 0, Form::Plain),
        ("attention-last-row", "the last row of the caches", Dims { pos: 11, ..small }, 0, Form::Paged),
        ("attention-batch", "3 sequences", Dims { batch: Some(3), ..small }, 0, Form::Shuffled),
        (
            "attention-split-2",
            "2 windows, merged",
            Dims { attention: Attention::Split(2), ..small },
            0,
            Form::Plain,
        ),
        (
            "attention-split-8",
            "8 windows, merged",
            Dims { attention: Attention::Split(8), ..small },
            0,
            Form::PagedReversed,
        ),
        (
            "attention-split-f16",
            "4 windows over F16 caches, merged",
            Dims { act: F16, attention: Attention::Split(4), ..small },
            0,
            Form::Plain,
        ),
        (
            "attention-batch-split",
            "2 sequences, 3 windows, merged",
            Dims { batch: Some(2), attention: Attention::Split(3), ..small },
            0,
            Form::Placed,
        ),
    ] {
        let clauses = if dims.attention == Attention::Whole { clauses } else { split };
        let about = format!(
            "projections, rotation, append over caches with contents, attention, projection: {about}"
        );
        add(name, &about, clauses, form, block(dims, first))?;
    }
    Ok(plans)
}

fn mlp(act: DType, weights: Weights) -> ProgramBuilder {
    let (hidden, inner) = (32, 48);
    let mut p = ProgramBuilder::new("mlp");
    let x = p.input("x", act, &[1, hidden]);
    let normed = p.act("normed", act, &[1, hidden]);
    let [gate, up, product] = ["gate", "up", "product"].map(|name| p.act(name, act, &[1, inner]));
    let down = p.act("down", act, &[1, hidden]);
    let y = p.output("y", act, &[1, hidden]);
    let w = p.weight("norm.weight", F32, &[hidden]);
    let done = p.rmsnorm("norm", x, w, normed, &[]);
    let matrix = p.matrix("gate.weight", inner, hidden, weights);
    let gated = p.matmul("gate", normed, &matrix, gate, 16.into(), &[done]);
    let matrix = p.matrix("up.weight", inner, hidden, weights);
    let upped = p.matmul("up", normed, &matrix, up, 20.into(), &[done]);
    let done = p.op(Op::SiluMul, "silu", &[gate, up], product, &[], &[gated, upped]);
    let matrix = p.matrix("down.weight", hidden, inner, weights);
    let done = p.matmul("down", product, &matrix, down, 8.into(), &[done]);
    p.op(Op::Add, "residual", &[x, down], y, &[], &[done]);
    p
}

fn ffn(act: DType) -> ProgramBuilder {
    let (rows, hidden, inner) = (5, 24, 40);
    let mut p = ProgramBuilder::new("ffn");
    let x = p.input("x", act, &[rows, hidden]);
    let normed = p.act("normed", act, &[rows, hidden]);
    let wide = p.act("wide", act, &[rows, inner]);
    let active = p.act("active", act, &[rows, inner]);
    let narrow = p.act("narrow", act, &[rows, hidden]);
    let y = p.output("y", act, &[rows, hidden]);
    let w = p.weight("norm.weight", act, &[hidden]);
    let b = p.weight("norm.bias", act, &[hidden]);
    let params = [("eps", json!(1e-5)), ("hidden", json!(hidden))];
    let done = p.op(Op::LayerNorm, "norm", &[x, w, b], normed, &params, &[]);
    let tiles = |n| Tiles { n, m: Some(2) };
    let mut matrix = p.matrix("up.weight", inner, hidden, Weights::Float(act));
    matrix.operands.push(p.weight("up.bias", act, &[inner]));
    let done = p.matmul("up", normed, &matrix, wide, tiles(16), &[done]);
    let done = p.op(Op::Gelu, "gelu", &[wide], active, &[], &[done]);
    let mut matrix = p.matrix("down.weight", hidden, inner, Weights::Float(act));
    matrix.operands.push(p.weight("down.bias", act, &[hidden]));
    let done = p.matmul("down", active, &matrix, narrow, tiles(10), &[done]);
    p.op(Op::Add, "residual", &[x, narrow], y, &[], &[done]);
    p
}

/// Each shard has some columns of the inner dimension. The sum is made in place of the first shard's result.
fn tensor_parallel(shards: u64) -> ProgramBuilder {
    let (hidden, inner) = (32, 96);
    let mut p = ProgramBuilder::new("tensor-parallel");
    let x = p.input("x", F32, &[1, hidden]);
    let y = p.output("y", F32, &[1, hidden]);
    let part = inner / shards;
    let mut parts: Vec<Buf> = Vec::new();
    let mut ready: Vec<Ctr> = Vec::new();
    for shard in 0..shards {
        let name = |what: &str| format!("shard{shard}.{what}");
        let [gate, up, product] = ["gate", "up", "product"].map(|what| p.act(&name(what), F32, &[1, part]));
        let down = p.act(&name("down"), F32, &[1, hidden]);
        let matrix = p.matrix(&name("gate.weight"), part, hidden, Weights::Float(F32));
        let gated = p.matmul(&name("gate"), x, &matrix, gate, 16.into(), &[]);
        let matrix = p.matrix(&name("up.weight"), part, hidden, Weights::Float(F32));
        let upped = p.matmul(&name("up"), x, &matrix, up, 16.into(), &[]);
        let done = p.op(Op::SiluMul, &name("silu"), &[gate, up], product, &[], &[gated, upped]);
        let matrix = p.matrix(&name("down.weight"), hidden, part, Weights::Float(F32));
        ready.push(p.matmul(&name("down"), product, &matrix, down, 16.into(), &[done]));
        parts.push(down);
    }
    let sum = parts.first().copied().unwrap_or(x);
    let done = p.op(Op::AllreduceShard, "sum", &parts, sum, &[], &ready);
    p.op(Op::Add, "residual", &[sum, x], y, &[], &[done]);
    p
}

/// Attention of a layer: rows before the position come from the caches' contents. The window starts at row `first`.
fn block(dims: Dims, first: u64) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("attention");
    let (rows, hidden) = (dims.rows(), dims.hidden());
    let x = p.input("x", dims.act, &[rows, hidden]);
    let positions = p.constant("positions", DType::I32, &[rows]);
    let heads = |count: u64| vec![rows, count, dims.head_dim];
    let mut cache_shape = vec![dims.max_seq, dims.kv_heads, dims.head_dim];
    cache_shape.splice(0..0, dims.batch);
    let mut ready: Vec<Ctr> = Vec::new();
    let mut operands: Vec<Buf> = Vec::new();
    for (name, count) in [("q", dims.heads), ("k", dims.kv_heads), ("v", dims.kv_heads)] {
        let flat = p.act(name, dims.act, &[rows, count * dims.head_dim]);
        let matrix = p.matrix(&format!("{name}.weight"), count * dims.head_dim, hidden, dims.weights);
        let mut done = p.matmul(name, x, &matrix, flat, dims.tile.into(), &[]);
        let mut last = flat;
        if name != "v" {
            let viewed = p.act(&format!("{name}.heads"), dims.act, &heads(count));
            let turned = p.act(&format!("{name}.turned"), dims.act, &heads(count));
            done = p.copy(&format!("{name}.view"), flat, viewed, &[done]);
            let params = [("head_dim", json!(dims.head_dim)), ("theta", json!(10_000.0))];
            done = p.op(Op::Rope, &format!("{name}.rope"), &[viewed, positions], turned, &params, &[done]);
            last = turned;
        }
        if name != "q" {
            let cache = p.cache(&format!("{name}_cache"), dims.act, &cache_shape);
            let params = [("pos", json!(dims.pos))];
            done = p.op(Op::KvAppend, &format!("{name}.append"), &[last, cache], cache, &params, &[done]);
            last = cache;
        }
        ready.push(done);
        operands.push(last);
    }
    let mixed = p.act("mixed", dims.act, &[rows, hidden]);
    let (q, k, v) = match operands[..] {
        [q, k, v] => (q, k, v),
        _ => (x, x, x),
    };
    let window = dims.pos + 1 - first;
    let done = match dims.attention {
        Attention::Whole => {
            attention(&mut p, "attention", dims, [q, k, v, mixed], (first, window), 0, &ready)
        }
        Attention::Split(parts) => {
            let mut shape = vec![dims.heads, dims.head_dim + 2];
            shape.splice(0..0, dims.batch);
            let mut partials = Vec::new();
            let mut done = Vec::new();
            for part in 0..parts {
                let (start, end) = (window * part / parts, window * (part + 1) / parts);
                let partial = p.act(&format!("partial{part}"), F32, &shape);
                let (label, range) = (format!("window{part}"), (first + start, end - start));
                done.push(attention(&mut p, &label, dims, [q, k, v, partial], range, 2, &ready));
                partials.push(partial);
            }
            p.op(Op::AttentionCombine, "combine", &partials, mixed, &[], &done)
        }
    };
    let projected = p.act("projected", dims.act, &[rows, hidden]);
    let matrix = p.matrix("o.weight", hidden, hidden, dims.weights);
    let done = p.matmul("o", mixed, &matrix, projected, dims.tile.into(), &[done]);
    let y = p.output("y", dims.act, &[rows, hidden]);
    p.op(Op::Add, "residual", &[x, projected], y, &[], &[done]);
    p
}
