//! The accepted kernel graphs: requests to translate them exactly, for up to 8 ranks, and soundly.

use megakernel_corpus::builder::Result;
use megakernel_ir::rule::{Clause, clause};
use serde_json::{Value, json};

use super::base::GraphBase;
use crate::build::{BF16, Document, GraphBuilder, I64, NewTask, Tensor, system};
use crate::kernel::{KernelBuilder, WHOLE};

const EMBED: i64 = 101;
const RMS_LINEAR: i64 = 102;
const ATTENTION: i64 = 103;
const SILU: i64 = 105;
const ALL_REDUCE: i64 = 106;
const LINEAR: i64 = 108;
const ARGMAX_PARTIAL: i64 = 110;
const ARGMAX_REDUCE: i64 = 111;
const RMS: i64 = 119;

/// Cut along axis 0 or 1 by grid axis x.
const ROWS: [i64; 3] = [0, -1, -1];
const COLUMNS: [i64; 3] = [1, -1, -1];

/// Every accepted request.
pub fn all() -> Result<Vec<GraphBase>> {
    let mut all = exact();
    all.extend(sound());
    all.extend(super::exact_current::bases());
    Ok(all)
}

/// A system of one rank with the kernel graph that declares its tensors.
pub fn declared_chain() -> Result<Document> {
    let mut k = KernelBuilder::new();
    let (x, h, y) = (k.torch("x", BF16, &[2, 8]), k.cuda("h", BF16, &[2, 8]), k.torch("y", BF16, &[2, 8]));
    let (w, v) = (k.torch("w", BF16, &[8, 8]), k.torch("v", BF16, &[8, 8]));
    k.operator("first", RMS_LINEAR, [2, 1, 1], &[Some((&x, WHOLE)), Some((&w, ROWS))], &[(&h, COLUMNS)]);
    k.operator("second", LINEAR, [2, 1, 1], &[Some((&h, WHOLE)), Some((&v, ROWS))], &[(&y, COLUMNS)]);
    let mut graph = GraphBuilder::new();
    let e = graph.event("e");
    for n in 0..2 {
        let task = NewTask::new(&format!("first{n}"), RMS_LINEAR).reads(&[x.whole(), w.block(0, n, 2)]);
        graph.add(task.writes(&[h.block(1, n, 2)]).triggers(e));
    }
    for n in 0..2 {
        let task = NewTask::new(&format!("second{n}"), LINEAR).reads(&[h.whole(), v.block(0, n, 2)]);
        graph.add(task.writes(&[y.block(1, n, 2)]).after(e));
    }
    system(&[graph], Some(k.value()))
}

/// What the graphs of two ranks and two all-reduces of one block declare.
pub fn declared_ranks() -> Value {
    let mut k = KernelBuilder::new();
    k.torch("x", BF16, &[2, 4]);
    for round in ["a", "b"] {
        k.torch(&format!("w_{round}"), BF16, &[4, 4]);
        k.cuda(&format!("partial_{round}"), BF16, &[2, 4]);
        k.nvshmem(&format!("slots_{round}"), BF16, &[2, 2, 4]);
        k.cuda(&format!("sum_{round}"), BF16, &[2, 4]);
    }
    k.value()
}

/// `rows` by `columns`, through two products.
fn two(first: [i64; 3], second: [i64; 3], produced: [i64; 3], consumed: [i64; 3]) -> KernelBuilder {
    let mut k = KernelBuilder::new();
    let (x, h, y) = (k.torch("x", BF16, &[4, 24]), k.cuda("h", BF16, &[4, 24]), k.torch("y", BF16, &[4, 24]));
    k.operator("first", RMS, first, &[Some((&x, produced))], &[(&h, produced)]);
    k.operator("second", LINEAR, second, &[Some((&h, consumed))], &[(&y, consumed)]);
    k
}

fn decoder(k: &mut KernelBuilder, layers: usize) {
    let token = k.torch("token", I64, &[1, 1]);
    let table = k.torch("table", BF16, &[32, 16]);
    let (cos, sin) = (k.torch("cos", BF16, &[8, 4]), k.torch("sin", BF16, &[8, 4]));
    let mut x = k.cuda("x", BF16, &[1, 16]);
    k.operator(
        "embed",
        EMBED,
        [2, 1, 1],
        &[Some((&token, WHOLE)), Some((&table, COLUMNS))],
        &[(&x, COLUMNS)],
    );
    for n in 0..layers {
        let name = |what: &str| format!("{what}_{n}");
        let norm = k.torch(&name("norm"), BF16, &[16]);
        let w = k.torch(&name("w_qkv"), BF16, &[24, 16]);
        let qkv = k.cuda(&name("qkv"), BF16, &[1, 24]);
        let inputs = [Some((&x, WHOLE)), Some((&norm, WHOLE)), Some((&w, ROWS))];
        k.operator(&name("qkv"), RMS_LINEAR, [4, 1, 1], &inputs, &[(&qkv, COLUMNS)]);
        let (keys, values) =
            (k.torch(&name("k_cache"), BF16, &[8, 8]), k.torch(&name("v_cache"), BF16, &[8, 8]));
        let o = k.cuda(&name("o"), BF16, &[1, 16]);
        let inputs = [
            Some((&qkv, COLUMNS)),
            Some((&keys, COLUMNS)),
            Some((&values, COLUMNS)),
            None,
            None,
            Some((&cos, WHOLE)),
            Some((&sin, WHOLE)),
        ];
        k.operator(&name("attention"), ATTENTION, [2, 1, 1], &inputs, &[(&o, COLUMNS)]);
        let w = k.torch(&name("w_o"), BF16, &[16, 16]);
        let h = k.cuda(&name("h"), BF16, &[1, 16]);
        let inputs = [Some((&o, WHOLE)), Some((&w, ROWS)), Some((&x, COLUMNS))];
        k.operator(&name("o"), LINEAR, [4, 1, 1], &inputs, &[(&h, COLUMNS)]);
        let (norm, w) = (k.torch(&name("norm2"), BF16, &[16]), k.torch(&name("w_up"), BF16, &[32, 16]));
        let m = k.cuda(&name("m"), BF16, &[1, 32]);
        let inputs = [Some((&h, WHOLE)), Some((&norm, WHOLE)), Some((&w, ROWS))];
        k.operator_with(&name("up"), RMS_LINEAR, [4, 1, 1], &inputs, &[(&m, COLUMNS)], json!({"eps": 1e-6}));
        let w = k.torch(&name("w_down"), BF16, &[16, 16]);
        let y = k.cuda(&name("y"), BF16, &[1, 16]);
        let inputs = [Some((&m, WHOLE)), Some((&w, ROWS)), Some((&h, COLUMNS))];
        k.operator(&name("down"), SILU, [2, 1, 1], &inputs, &[(&y, COLUMNS)]);
        x = y;
    }
    let (values, indices) = (k.cuda("best", BF16, &[1, 4]), k.cuda("where", I64, &[1, 4]));
    let w = k.torch("lm_head", BF16, &[32, 16]);
    let norm = k.torch("norm_last", BF16, &[16]);
    let logits = k.cuda("logits", BF16, &[1, 32]);
    let inputs = [Some((&x, WHOLE)), Some((&norm, WHOLE)), Some((&w, ROWS))];
    k.operator("logits", RMS_LINEAR, [4, 1, 1], &inputs, &[(&logits, COLUMNS)]);
    let outputs = [(&values, COLUMNS), (&indices, COLUMNS)];
    k.operator("best", ARGMAX_PARTIAL, [4, 1, 1], &[Some((&logits, COLUMNS))], &outputs);
    let next = k.torch("next", I64, &[1, 1]);
    let inputs = [Some((&values, WHOLE)), Some((&indices, WHOLE))];
    k.operator("choose", ARGMAX_REDUCE, [1, 1, 1], &inputs, &[(&next, WHOLE)]);
}

/// Two partial sums, each with an all-reduce behind it, over a grid.
fn parallel(ranks: i64, grid: [i64; 3], map: [i64; 3], reduces: usize) -> KernelBuilder {
    let mut k = KernelBuilder::new();
    let mut x = k.torch("x", BF16, &[2, 16]);
    let slot_map = map.map(|axis| if axis < 0 { axis } else { axis + 1 });
    for n in 0..reduces {
        let w = k.torch(&format!("w_{n}"), BF16, &[16, 16]);
        let partial = k.nvshmem(&format!("partial_{n}"), BF16, &[2, 16]);
        let slots = k.nvshmem(&format!("slots_{n}"), BF16, &[ranks, 2, 16]);
        let sum = k.cuda(&format!("sum_{n}"), BF16, &[2, 16]);
        k.operator(
            &format!("linear_{n}"),
            LINEAR,
            grid,
            &[Some((&x, WHOLE)), Some((&w, WHOLE))],
            &[(&partial, map)],
        );
        k.operator(
            &format!("all_reduce_{n}"),
            ALL_REDUCE,
            grid,
            &[Some((&partial, map)), Some((&slots, slot_map))],
            &[(&sum, map)],
        );
        x = sum;
    }
    let y = k.torch("y", BF16, &[2, 16]);
    k.operator("last", RMS, [2, 1, 1], &[Some((&x, COLUMNS))], &[(&y, COLUMNS)]);
    k
}

/// One fused matrix of rows from two tensors, in groups.
fn fused(groups: i64, blocks: i64, map: [i64; 3]) -> KernelBuilder {
    let mut k = KernelBuilder::new();
    let x = k.torch("x", BF16, &[1, 8]);
    let (gate, up) = (k.torch("gate", BF16, &[16, 8]), k.torch("up", BF16, &[8, 8]));
    let both = k.fused("gate_up", &[24, 8], groups, &[&gate, &up]);
    let (m, y) = (k.cuda("m", BF16, &[1, 24]), k.torch("y", BF16, &[1, 24]));
    let grid = if map == ROWS { [blocks, 1, 1] } else { [2, blocks, 1] };
    let columns = if map == ROWS { COLUMNS } else { [-1, 1, -1] };
    k.operator("products", RMS_LINEAR, grid, &[Some((&x, WHOLE)), Some((&both, map))], &[(&m, columns)]);
    k.operator("scale", RMS, [3, 1, 1], &[Some((&m, COLUMNS))], &[(&y, COLUMNS)]);
    k
}

fn exact() -> Vec<GraphBase> {
    let mut out = Vec::new();
    let clauses = &[clause::TGR_12, clause::TGR_13, clause::TGR_14];
    let mut add =
        |name: &str, summary: &str, clauses: &[Clause], k: &KernelBuilder, ranks: i64, rank: i64| {
            out.push(GraphBase::request(
                &format!("exact/{name}"),
                summary,
                clauses,
                k.request(ranks, rank, "exact"),
            ));
        };

    let mut one = KernelBuilder::new();
    let (x, y) = (one.torch("x", BF16, &[4, 8]), one.torch("y", BF16, &[4, 8]));
    one.operator("only", RMS, [4, 1, 1], &[Some((&x, ROWS))], &[(&y, ROWS)]);
    add("one", "one operator of four blocks", clauses, &one, 1, 0);
    add(
        "one-on-rank-two",
        "the graph of the third of four ranks, without an all-reduce",
        &[clause::TGR_16],
        &one,
        4,
        2,
    );

    let x1 = [3, 1, 1];
    for (name, summary, k) in [
        ("same", "both cut into 3 along the same axis: 3 events", two(x1, x1, COLUMNS, COLUMNS)),
        ("gcd-6-4", "6 producers and 4 consumers: 2 events", two([6, 1, 1], [4, 1, 1], COLUMNS, COLUMNS)),
        ("gcd-4-6", "4 producers and 6 consumers: 2 events", two([4, 1, 1], [6, 1, 1], COLUMNS, COLUMNS)),
        ("coprime", "3 producers and 4 consumers: 1 event", two(x1, [4, 1, 1], COLUMNS, COLUMNS)),
        (
            "massive",
            "24 producers and 12 consumers: 12 events",
            two([24, 1, 1], [12, 1, 1], COLUMNS, COLUMNS),
        ),
        (
            "one-to-all",
            "1 producer and 8 consumers: 1 event with 8 tasks",
            two([1, 1, 1], [8, 1, 1], COLUMNS, COLUMNS),
        ),
        ("one-to-twelve", "1 producer and 12 consumers", two([1, 1, 1], [12, 1, 1], COLUMNS, COLUMNS)),
        (
            "two-to-all",
            "2 producers and 24 consumers: 2 events with 12 tasks each",
            two([2, 1, 1], [24, 1, 1], COLUMNS, COLUMNS),
        ),
        ("all-to-one", "12 producers and 1 consumer", two([12, 1, 1], [1, 1, 1], COLUMNS, COLUMNS)),
        (
            "crosswise",
            "producers cut columns, consumers rows: 1 event",
            two([6, 1, 1], [2, 1, 1], COLUMNS, ROWS),
        ),
        (
            "grid",
            "grids of two axes: 2 x 3 producers, 4 x 3 consumers, 2 x 3 events",
            two([2, 3, 1], [4, 3, 1], [0, 1, -1], [0, 1, -1]),
        ),
        (
            "grid-turned",
            "a grid whose axes cut the other axes of the tensor",
            two([2, 3, 1], [6, 2, 1], [0, 1, -1], [1, 0, -1]),
        ),
        ("grid-z", "blocks along y and z", two([1, 2, 4], [1, 4, 2], [-1, 0, 1], [-1, 0, 1])),
        (
            "grid-whole",
            "a grid, and one task that reads all of it",
            two([4, 6, 1], [1, 1, 1], [0, 1, -1], WHOLE),
        ),
    ] {
        add(name, summary, clauses, &k, 1, 0);
    }

    let mut deep = KernelBuilder::new();
    let dims = [2, 4, 6, 2];
    let (a, b, c) = (deep.torch("a", BF16, &dims), deep.cuda("b", BF16, &dims), deep.torch("c", BF16, &dims));
    deep.operator("first", RMS, [2, 4, 6], &[Some((&a, [0, 1, 2]))], &[(&b, [0, 1, 2])]);
    deep.operator("second", LINEAR, [2, 3, 2], &[Some((&b, [3, 2, 0]))], &[(&c, [3, 2, 0])]);
    add("four-axes", "a tensor of four axes, cut along three of them", clauses, &deep, 1, 0);

    let mut shared = KernelBuilder::new();
    let (x, a, b) =
        (shared.torch("x", BF16, &[2, 8]), shared.cuda("a", BF16, &[2, 8]), shared.cuda("b", BF16, &[2, 8]));
    let y = shared.torch("y", BF16, &[2, 8]);
    shared.operator("both", RMS, [4, 1, 1], &[Some((&x, COLUMNS))], &[(&a, COLUMNS), (&b, COLUMNS)]);
    shared.operator("join", SILU, [2, 1, 1], &[Some((&a, WHOLE)), Some((&b, COLUMNS))], &[(&y, COLUMNS)]);
    add(
        "two-shared",
        "two tensors shared with the same producer: the last one decides the events",
        clauses,
        &shared,
        1,
        0,
    );

    let mut variants = KernelBuilder::new();
    let mut from = variants.torch("h0", BF16, &[2, 8]);
    for (n, params) in [json!({}), json!({"eps": 1}), json!({}), json!({"eps": 2}), json!({"eps": 1})]
        .into_iter()
        .enumerate()
    {
        let to = variants.cuda(&format!("h{}", n + 1), BF16, &[2, 8]);
        let grid = if n == 4 { [1, 1, 1] } else { [2, 1, 1] };
        variants.operator_with(
            &format!("op{n}"),
            RMS,
            grid,
            &[Some((&from, COLUMNS))],
            &[(&to, COLUMNS)],
            params,
        );
        from = to;
    }
    add("variants", "five operators of one type and four variants", &[clause::TGR_15], &variants, 1, 0);

    let mut types = KernelBuilder::new();
    let (x, h, y) =
        (types.torch("x", 925, &[4, 8]), types.cuda("h", I64, &[4, 8]), types.torch("y", 950, &[4, 8]));
    types.operator("widen", 231, [4, 1, 1], &[Some((&x, ROWS))], &[(&h, ROWS)]);
    types.operator("narrow", 301, [2, 2, 1], &[Some((&h, [0, 1, -1]))], &[(&y, [0, 1, -1])]);
    add("widths", "offsets of elements of 4, 32 and 64 bits", &[clause::TGR_13], &types, 1, 0);

    for (layers, name, summary) in [
        (1, "decoder", "a decoder layer with embedding and logits"),
        (2, "decoder-two", "two decoder layers, with variants shared"),
    ] {
        let mut k = KernelBuilder::new();
        decoder(&mut k, layers);
        add(name, summary, &[clause::TGR_11, clause::TGR_14], &k, 1, 0);
    }
    for (name, summary, k) in [
        ("fused-one-group", "a fused tensor of one group", fused(1, 6, ROWS)),
        ("fused-groups", "a fused tensor whose parts alternate in four groups", fused(4, 12, ROWS)),
        ("fused-both-axes", "a fused tensor cut along both axes", fused(2, 6, [1, 0, -1])),
    ] {
        add(name, summary, &[clause::TGR_13], &k, 1, 0);
    }
    for ranks in 2..=8 {
        let rank = ranks * 3 / 4;
        let summary = format!("an all-reduce of two blocks, rank {rank} of {ranks}");
        add(
            &format!("all-reduce-{ranks}"),
            &summary,
            &[clause::TGR_14],
            &parallel(ranks, [2, 1, 1], COLUMNS, 1),
            ranks,
            rank,
        );
    }
    add(
        "all-reduce-first-rank",
        "rank 0 of two, two all-reduces",
        &[clause::TGR_14],
        &parallel(2, [4, 1, 1], COLUMNS, 2),
        2,
        0,
    );
    add(
        "all-reduce-grid",
        "an all-reduce over a grid of two axes, rank 1 of 3",
        &[clause::TGR_14],
        &parallel(3, [2, 4, 1], [0, 1, -1], 1),
        3,
        1,
    );
    out
}

fn sound() -> Vec<GraphBase> {
    let mut out = Vec::new();
    let clauses = &[clause::TGR_17];
    let mut add = |name: &str, summary: &str, k: &KernelBuilder, ranks: i64| {
        out.push(GraphBase::request(
            &format!("sound/{name}"),
            summary,
            clauses,
            k.request(ranks, 0, "sound"),
        ));
    };
    for (name, summary, k) in [
        ("chain", "6 producers and 4 consumers", two([6, 1, 1], [4, 1, 1], COLUMNS, COLUMNS)),
        ("grid", "grids of two axes, turned", two([2, 3, 1], [6, 2, 1], [0, 1, -1], [1, 0, -1])),
        (
            "overlapping",
            "3 producers and 4 consumers whose tiles overlap without order",
            two([3, 1, 1], [4, 1, 1], COLUMNS, COLUMNS),
        ),
    ] {
        add(name, summary, &k, 1);
    }
    for (layers, name) in [(1, "decoder"), (2, "decoder-two")] {
        let mut k = KernelBuilder::new();
        decoder(&mut k, layers);
        add(name, "a decoder, whose residuals skip operators", &k, 1);
    }
    for (name, summary, k) in super::defects::kernels() {
        add(name, summary, &k, 1);
    }
    for ranks in [2, 3, 4] {
        let summary = format!("two all-reduces over {ranks} ranks");
        add(&format!("all-reduce-{ranks}"), &summary, &parallel(ranks, [2, 1, 1], COLUMNS, 2), ranks);
    }
    add(
        "all-reduce-grid",
        "two all-reduces of a grid over 2 ranks",
        &parallel(2, [2, 2, 1], [0, 1, -1], 2),
        2,
    );

    let mut apart = KernelBuilder::new();
    for n in 0..3 {
        let (x, y) =
            (apart.torch(&format!("x{n}"), BF16, &[2, 8]), apart.torch(&format!("y{n}"), BF16, &[2, 8]));
        apart.operator(&format!("op{n}"), RMS, [2, 1, 1], &[Some((&x, ROWS))], &[(&y, ROWS)]);
    }
    add("apart", "three operators that share nothing", &apart, 1);
    out.extend(caches());
    out
}

fn caches() -> Vec<GraphBase> {
    let mut k = KernelBuilder::new();
    let mut x = k.torch("x", BF16, &[1, 8]);
    let (keys, values) = (k.torch("k_cache", BF16, &[4, 8]), k.torch("v_cache", BF16, &[4, 8]));
    for n in 0..3 {
        let y = k.cuda(&format!("y{n}"), BF16, &[1, 8]);
        let blocks = if n == 1 { 1 } else { 2 };
        let map = if n == 1 { WHOLE } else { COLUMNS };
        let inputs: Vec<Option<(&Tensor, [i64; 3])>> =
            vec![Some((&x, map)), Some((&keys, map)), Some((&values, map))];
        k.operator(&format!("attention{n}"), ATTENTION, [blocks, 1, 1], &inputs, &[(&y, map)]);
        x = y;
    }
    let request = k.request(1, 0, "sound");
    vec![GraphBase::request(
        "sound/caches",
        "three operators that write the same caches in place",
        &[clause::TGR_17],
        request,
    )]
}
