//! The accepted graphs of one rank.

use megakernel_corpus::builder::Result;
use megakernel_ir::rule::{Clause, clause};
use serde_json::json;

use super::base::GraphBase;
use super::systems;
use crate::build::{BF16, Document, GraphBuilder, I64, NewTask, Tensor, Tile};

pub const RMS: i64 = 119;
pub const LINEAR: i64 = 108;
const RMS_LINEAR: i64 = 102;
const SILU: i64 = 105;
const ATTENTION: i64 = 103;
const EMBED: i64 = 101;
const ARGMAX: i64 = 109;

const CLAUSES: &[Clause] = &[clause::TGR_01, clause::TGR_02, clause::TGR_03];

/// Every accepted graph and system.
pub fn all() -> Result<Vec<GraphBase>> {
    let mut all = chains()?;
    all.extend(fans()?);
    all.extend(reuse()?);
    all.extend(tiles()?);
    all.extend(layers()?);
    all.extend(systems::all()?);
    all.extend(super::current::bases()?);
    all.extend(super::areas::bases()?);
    Ok(all)
}

fn new(name: &str, summary: &str, graph: &GraphBuilder) -> Result<GraphBase> {
    Ok(GraphBase::new(name, summary, CLAUSES, graph.finish()?))
}

/// Two rows of an activation.
pub fn act(name: &str, columns: i64) -> Tensor {
    Tensor::bf16(name, &[2, columns])
}

/// Tasks in a row; each reads what the one before it wrote.
pub fn row(graph: &mut GraphBuilder, length: usize) {
    let mut after = None;
    for n in 0..length {
        let (from, to) = (act(&format!("h{n}"), 8), act(&format!("h{}", n + 1), 8));
        let mut task = NewTask::new(&format!("t{n}"), if n % 2 == 0 { RMS } else { LINEAR })
            .reads(&[from.whole(), act(&format!("w{n}"), 8).whole()])
            .writes(&[to.whole()]);
        if let Some(event) = after {
            task = task.after(event);
        }
        if n + 1 < length {
            let event = graph.event(&format!("e{n}"));
            task = task.triggers(event);
            after = Some(event);
        }
        graph.add(task);
    }
}

fn chains() -> Result<Vec<GraphBase>> {
    let mut out = Vec::new();
    for (name, summary, length, extended) in [
        ("chain/one", "one task, of the earlier version", 1, false),
        ("chain/two", "two tasks in a row", 2, false),
        ("chain/four", "four tasks in a row", 4, false),
        ("chain/extended", "four tasks in a row, with metadata", 4, true),
    ] {
        let mut graph = GraphBuilder::new();
        if extended {
            graph = graph.extended();
        }
        row(&mut graph, length);
        out.push(new(name, summary, &graph)?);
    }
    let mut graph = GraphBuilder::of_rank(3);
    row(&mut graph, 3);
    out.push(new(
        "chain/rank-three",
        "the graph of rank 3, which has nothing to do with other ranks",
        &graph,
    )?);

    let mut graph = GraphBuilder::new();
    for n in 0..4 {
        let task = NewTask::new(&format!("t{n}"), RMS)
            .reads(&[act("x", 8).block(1, n, 4)])
            .writes(&[act("y", 8).block(1, n, 4)]);
        graph.add(task);
    }
    out.push(new("chain/side-by-side", "four tasks that have nothing to do with each other", &graph)?);

    let mut graph = GraphBuilder::new();
    let e = graph.event("e");
    graph.add(NewTask::new("empty", RMS).reads(&[]).writes(&[act("h", 8).whole()]).triggers(e));
    graph.add(NewTask::new("null", LINEAR).reads(&[act("h", 8).whole()]).after(e));
    out.push(new("chain/no-operands", "inputs that are an empty list, outputs that are null", &graph)?);

    let mut graph = GraphBuilder::new().extended();
    let e = graph.event("e");
    let outputs = [act("a", 8).whole(), act("b", 8).whole(), act("c", 8).whole()];
    let inputs: Vec<Tile> = (0..7).map(|n| act(&format!("i{n}"), 8).whole()).collect();
    graph.add(NewTask::new("full", 121).reads(&inputs).writes(&outputs).triggers(e));
    graph.add(NewTask::new("next", 120).reads(&outputs).writes(&[act("d", 8).whole()]).after(e));
    let mut base = new("chain/full", "7 inputs and 3 outputs, as many as the extended version has", &graph)?;
    let task = base.at("next", "")?;
    if let Some(task) = base.document.value.pointer_mut(&task).and_then(|task| task.as_object_mut()) {
        // Request 2 of a batch, with a cache index and a word that has the upper half set.
        for (name, value) in [
            ("request_id", 2),
            ("kv_idx", 5),
            ("expert_offset", 0x5_0002),
            ("task_offset", 0x5_0002),
            ("merge_task_offset", 7),
        ] {
            task.insert(name.to_owned(), json!(value));
        }
    }
    out.push(base);
    Ok(out)
}

/// A graph of `producers` tasks that write columns and `consumers` that read them.
fn stages(producers: i64, consumers: i64, events: i64) -> GraphBuilder {
    let mut graph = GraphBuilder::new();
    let handles: Vec<_> = (0..events).map(|n| graph.event(&format!("e{n}"))).collect();
    let (h, y) = (act("h", 16), act("y", 16));
    for n in 0..producers {
        let event = handles[(n * events / producers) as usize];
        let task = NewTask::new(&format!("p{n}"), RMS_LINEAR)
            .reads(&[act("x", 16).whole(), Tensor::bf16("w", &[16, 16]).block(0, n, producers)])
            .writes(&[h.block(1, n, producers)])
            .triggers(event);
        graph.add(task);
    }
    for n in 0..consumers {
        let event = (n * events / consumers) as usize;
        let task = NewTask::new(&format!("c{n}"), LINEAR)
            .reads(&[h.block(1, event as i64, events)])
            .writes(&[y.block(1, n, consumers)])
            .after(handles[event]);
        graph.add(task);
    }
    graph
}

fn fans() -> Result<Vec<GraphBase>> {
    let mut out = Vec::new();
    for (name, summary, shape) in [
        ("fan/join", "four tasks write columns that one task reads", (4, 1, 1)),
        ("fan/split", "one task writes what four tasks read", (1, 4, 1)),
        ("fan/all-to-all", "four tasks write columns, and each of four reads all", (4, 4, 1)),
        ("fan/pairs", "four tasks and two, in two groups that do not wait for each other", (4, 2, 2)),
        ("fan/columns", "four tasks and four, each pair with an event of its own", (4, 4, 4)),
        ("fan/massive", "sixteen tasks and eight, in four groups", (16, 8, 4)),
    ] {
        out.push(new(name, summary, &stages(shape.0, shape.1, shape.2))?);
    }

    // A task has one event to trigger and one to wait for: a join of two branches is one event.
    let mut graph = GraphBuilder::new();
    let (fork, join) = (graph.event("fork"), graph.event("join"));
    let (x, h, a, b, y) = (act("x", 8), act("h", 8), act("a", 8), act("b", 8), act("y", 8));
    graph.add(NewTask::new("top", RMS).reads(&[x.whole()]).writes(&[h.whole()]).triggers(fork));
    graph.add(
        NewTask::new("left", LINEAR).reads(&[h.whole()]).writes(&[a.whole()]).after(fork).triggers(join),
    );
    graph.add(
        NewTask::new("right", LINEAR).reads(&[h.whole()]).writes(&[b.whole()]).after(fork).triggers(join),
    );
    graph.add(
        NewTask::new("bottom", SILU)
            .reads(&[a.whole(), b.whole(), h.whole()])
            .writes(&[y.whole()])
            .after(join),
    );
    out.push(new(
        "diamond/merged",
        "two branches that meet again, with a residual from above the fork",
        &graph,
    )?);

    let mut graph = GraphBuilder::new();
    let (one, two, join) = (graph.event("one"), graph.event("two"), graph.event("join"));
    graph.add(NewTask::new("a0", RMS).reads(&[x.whole()]).writes(&[h.whole()]).triggers(one));
    graph.add(NewTask::new("a1", LINEAR).reads(&[h.whole()]).writes(&[a.whole()]).after(one).triggers(two));
    graph.add(
        NewTask::new("a2", LINEAR)
            .reads(&[a.whole()])
            .writes(&[act("a2", 8).whole()])
            .after(two)
            .triggers(join),
    );
    graph.add(NewTask::new("b", LINEAR).reads(&[act("z", 8).whole()]).writes(&[b.whole()]).triggers(join));
    let last = [act("a2", 8).whole(), b.whole()];
    graph.add(NewTask::new("end", SILU).reads(&last).writes(&[y.whole()]).after(join));
    out.push(new("diamond/uneven", "a long branch and a short one that starts by itself", &graph)?);

    let mut graph = GraphBuilder::new();
    let next = graph.event("next");
    graph.add(NewTask::new("a", RMS).reads(&[x.whole()]).writes(&[h.whole()]).triggers(next));
    graph.add(NewTask::new("b", LINEAR).reads(&[h.whole()]).writes(&[a.whole()]).after(next));
    graph.add(NewTask::new("c", LINEAR).reads(&[h.whole()]).writes(&[b.whole()]).after(next));
    graph.add(NewTask::new("d", ARGMAX).reads(&[x.whole()]).writes(&[y.whole()]));
    out.push(new("diamond/three-ends", "three tasks trigger the end, and two start at once", &graph)?);
    Ok(out)
}

fn reuse() -> Result<Vec<GraphBase>> {
    let mut out = Vec::new();
    let (x, t, u, v, y) = (act("x", 8), act("t", 8), act("u", 8), act("v", 8), act("y", 8));

    let mut graph = GraphBuilder::new();
    let (a, b, c) = (graph.event("a"), graph.event("b"), graph.event("c"));
    graph.add(NewTask::new("write", RMS).reads(&[x.whole()]).writes(&[t.whole()]).triggers(a));
    graph.add(NewTask::new("read", LINEAR).reads(&[t.whole()]).writes(&[u.whole()]).after(a).triggers(b));
    graph.add(NewTask::new("over", LINEAR).reads(&[u.whole()]).writes(&[t.whole()]).after(b).triggers(c));
    graph.add(NewTask::new("last", LINEAR).reads(&[t.whole()]).writes(&[y.whole()]).after(c));
    out.push(new("reuse/buffer", "a buffer is written again when its reader has finished", &graph)?);

    let mut graph = GraphBuilder::new();
    let (a, b) = (graph.event("a"), graph.event("b"));
    graph.add(NewTask::new("write", RMS).reads(&[x.whole()]).writes(&[t.whole()]).triggers(a));
    graph.add(
        NewTask::new("update", LINEAR)
            .reads(&[t.whole(), v.whole()])
            .writes(&[t.whole()])
            .after(a)
            .triggers(b),
    );
    graph.add(NewTask::new("last", LINEAR).reads(&[t.whole()]).writes(&[y.whole()]).after(b));
    out.push(new("reuse/in-place", "a task overwrites what it reads", &graph)?);

    let mut graph = GraphBuilder::new();
    let (a, b) = (graph.event("a"), graph.event("b"));
    graph.add(NewTask::new("w0", RMS).reads(&[x.whole()]).writes(&[t.block(1, 0, 2)]).triggers(a));
    graph.add(NewTask::new("w1", RMS).reads(&[x.whole()]).writes(&[t.block(1, 1, 2)]).triggers(a));
    graph.add(
        NewTask::new("r0", LINEAR)
            .reads(&[t.block(1, 0, 2)])
            .writes(&[u.block(1, 0, 2)])
            .after(a)
            .triggers(b),
    );
    graph.add(
        NewTask::new("r1", LINEAR)
            .reads(&[t.block(1, 1, 2)])
            .writes(&[u.block(1, 1, 2)])
            .after(a)
            .triggers(b),
    );
    graph.add(NewTask::new("over", LINEAR).reads(&[u.whole()]).writes(&[t.whole()]).after(b));
    out.push(new(
        "reuse/halves",
        "two halves are written and read, then the whole is written again",
        &graph,
    )?);

    // Two attention tasks work on their own heads, and a later one on both.
    let mut graph = GraphBuilder::new();
    let (a, b) = (graph.event("a"), graph.event("b"));
    let (q, k, cache) = (act("q", 8), Tensor::bf16("k_cache", &[4, 8]), Tensor::bf16("v_cache", &[4, 8]));
    let (o, p) = (act("o", 8), act("p", 8));
    graph.add(NewTask::new("project", RMS_LINEAR).reads(&[x.whole()]).writes(&[q.whole()]).triggers(a));
    for n in 0..2 {
        let inputs = [
            q.block(1, n, 2),
            k.block(1, n, 2),
            cache.block(1, n, 2),
            Tile::null(),
            Tile::null(),
            Tensor::bf16("cos", &[4, 4]).whole(),
            Tensor::bf16("sin", &[4, 4]).whole(),
        ];
        let task = NewTask::new(&format!("heads{n}"), ATTENTION).reads(&inputs).writes(&[o.block(1, n, 2)]);
        graph.add(task.after(a).triggers(b));
    }
    let inputs =
        [o.whole(), k.whole(), cache.whole(), Tile::null(), Tile::null(), Tile::null(), Tile::null()];
    graph.add(NewTask::new("again", 115).reads(&inputs).writes(&[p.whole()]).after(b));
    out.push(new(
        "reuse/caches",
        "attention writes its caches in place, two tasks a half each, then one the whole",
        &graph,
    )?);
    Ok(out)
}

/// Two tasks that share tiles of one tensor.
fn pair(first: &[Tile], second: &[Tile]) -> Result<Document> {
    let mut graph = GraphBuilder::new();
    let e = graph.event("e");
    graph.add(NewTask::new("write", RMS).reads(&[act("x", 8).whole()]).writes(first).triggers(e));
    graph.add(NewTask::new("read", LINEAR).reads(second).writes(&[act("y", 8).whole()]).after(e));
    graph.finish()
}

fn tiles() -> Result<Vec<GraphBase>> {
    let four = Tensor::bf16("t", &[2, 4, 2, 6]);
    let nibbles = Tensor::new("t", 925, &[4, 8]);
    let wide = Tensor::new("t", I64, &[4, 4]);
    let column = Tensor::bf16("t", &[4, 4]).tile(&[0, 1], &[4, 1]);
    let mut repeated = Tensor::bf16("b", &[8]).whole();
    (repeated.dims, repeated.strides) = (vec![2, 8], vec![0, 1]);
    let mut transposed = Tensor::bf16("t", &[4, 6]).whole();
    (transposed.dims, transposed.strides) = (vec![6, 4], vec![1, 6]);
    let rows = Tensor::bf16("t", &[4, 6]);
    let table = [
        (
            "tiles/four-axes",
            "a box of a tensor of four axes",
            pair(&[four.tile(&[1, 2, 0, 3], &[1, 2, 2, 3])], &[four.tile(&[1, 0, 0, 0], &[1, 4, 2, 6])])?,
        ),
        ("tiles/nibbles", "elements of 4 bits", pair(&[nibbles.block(1, 1, 2)], &[nibbles.whole()])?),
        ("tiles/wide", "elements of 64 bits", pair(&[wide.block(0, 1, 2)], &[wide.whole()])?),
        (
            "tiles/column",
            "a tile of one column",
            pair(std::slice::from_ref(&column), std::slice::from_ref(&column))?,
        ),
        (
            "tiles/repeated",
            "a row that is read twice, along a stride of 0",
            pair(&[act("t", 8).whole()], &[repeated, act("t", 8).whole()])?,
        ),
        (
            "tiles/transposed",
            "a matrix that is read by columns",
            pair(&[rows.block(0, 0, 2), rows.block(0, 1, 2)], &[transposed])?,
        ),
    ];
    let mut out: Vec<GraphBase> = table
        .into_iter()
        .map(|(name, summary, document)| GraphBase::new(name, summary, &[clause::TGR_02], document))
        .collect();

    // Unordered tasks may share a tensor, as long as they share no element.
    let t = Tensor::bf16("t", &[4, 8]);
    let mut graph = GraphBuilder::new();
    for (n, start) in [[0, 0], [0, 4], [2, 0], [2, 4]].iter().enumerate() {
        let task = NewTask::new(&format!("w{n}"), RMS)
            .reads(&[act("x", 8).whole()])
            .writes(&[t.tile(start, &[2, 4])]);
        graph.add(task);
    }
    out.push(new("tiles/quarters", "four unordered tasks write the quarters of a matrix", &graph)?);
    let mut graph = GraphBuilder::new();
    for n in 0..2 {
        // Every other column, which no contiguous tile is.
        let tile = Tile {
            base: "t".into(),
            dtype: BF16,
            dims: vec![4, 4, 1],
            strides: vec![8, 2, 1],
            offset: 2 * n,
        };
        graph.add(NewTask::new(&format!("w{n}"), RMS).reads(&[act("x", 8).whole()]).writes(&[tile]));
    }
    out.push(new("tiles/interleaved", "two unordered tasks write the even and the odd columns", &graph)?);
    Ok(out)
}

/// A decoder layer: embedding, projection, attention with caches, output and MLP with residuals.
fn layer(graph: &mut GraphBuilder) {
    let hidden = 16;
    let events: Vec<_> =
        ["embedded", "projected", "attended", "added", "gated"].map(|e| graph.event(e)).into();
    let (x, qkv, o, h, m, y) = (
        act("x", hidden),
        act("qkv", 24),
        act("o", hidden),
        act("h", hidden),
        act("m", 32),
        act("y", hidden),
    );
    let table = Tensor::bf16("table", &[32, hidden]);
    let token = Tensor::new("token", I64, &[2, 1]);
    for n in 0..2 {
        let task = NewTask::new(&format!("embed{n}"), EMBED).reads(&[token.whole(), table.block(1, n, 2)]);
        graph.add(task.writes(&[x.block(1, n, 2)]).triggers(events[0]));
    }
    for n in 0..4 {
        let weights = [
            x.whole(),
            Tensor::bf16("norm", &[hidden]).whole(),
            Tensor::bf16("w_qkv", &[24, hidden]).block(0, n, 4),
        ];
        let task = NewTask::new(&format!("qkv{n}"), RMS_LINEAR).reads(&weights).writes(&[qkv.block(1, n, 4)]);
        graph.add(task.after(events[0]).triggers(events[1]));
    }
    for n in 0..2 {
        let inputs = [
            qkv.block(1, n, 2),
            Tensor::bf16("k_cache", &[8, 8]).block(1, n, 2),
            Tensor::bf16("v_cache", &[8, 8]).block(1, n, 2),
            Tile::null(),
            Tile::null(),
            Tensor::bf16("cos", &[8, 4]).whole(),
            Tensor::bf16("sin", &[8, 4]).whole(),
        ];
        let task = NewTask::new(&format!("attend{n}"), ATTENTION).reads(&inputs).writes(&[o.block(1, n, 2)]);
        graph.add(task.after(events[1]).triggers(events[2]));
    }
    for n in 0..2 {
        let inputs = [o.whole(), Tensor::bf16("w_o", &[hidden, hidden]).block(0, n, 2), x.block(1, n, 2)];
        let task = NewTask::new(&format!("add{n}"), LINEAR).reads(&inputs).writes(&[h.block(1, n, 2)]);
        graph.add(task.after(events[2]).triggers(events[3]));
    }
    for n in 0..4 {
        let inputs = [
            h.whole(),
            Tensor::bf16("norm2", &[hidden]).whole(),
            Tensor::bf16("w_up", &[32, hidden]).block(0, n, 4),
        ];
        let task =
            NewTask::new(&format!("up{n}"), RMS_LINEAR).variant(1).reads(&inputs).writes(&[m.block(1, n, 4)]);
        graph.add(task.after(events[3]).triggers(events[4]));
    }
    for n in 0..2 {
        let inputs = [m.whole(), Tensor::bf16("w_down", &[hidden, 16]).block(0, n, 2), h.block(1, n, 2)];
        let task = NewTask::new(&format!("down{n}"), SILU).reads(&inputs).writes(&[y.block(1, n, 2)]);
        graph.add(task.after(events[4]));
    }
}

fn layers() -> Result<Vec<GraphBase>> {
    let mut out = Vec::new();
    for (name, summary, extended) in [
        ("decoder/earlier", "a decoder layer, of the earlier version", false),
        ("decoder/extended", "a decoder layer, with metadata", true),
    ] {
        let mut graph = GraphBuilder::new();
        if extended {
            graph = graph.extended();
        }
        layer(&mut graph);
        let mut base = new(name, summary, &graph)?;
        base.clauses.push(clause::TGR_05);
        out.push(base);
    }
    Ok(out)
}
