//! Requests to translate as the current generator does: forks, joins, steps in common, metadata and collectives; and what it refuses.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::json;

use super::base::{GraphBase, GraphCases, library};
use crate::build::{BF16, I64, Tensor};
use crate::kernel::{KernelBuilder, WHOLE};

const COPY: i64 = 121;
const ADD: i64 = 281;
const LINEAR: i64 = 120;
const REDUCE: i64 = 107;
const PUT: i64 = 301;
const COLLECTIVE: i64 = 302;

const ROWS: [i64; 3] = [0, -1, -1];
const COLUMNS: [i64; 3] = [1, -1, -1];
const BOTH: [i64; 3] = [0, 1, -1];

/// A graph of matrices of 4 rows and 24 columns.
#[derive(Default)]
struct Matrices(KernelBuilder);

impl Matrices {
    fn given(&mut self, name: &str) -> Tensor {
        self.0.torch(name, BF16, &[4, 24])
    }

    /// An operator of one input, cut alike on both sides.
    fn copy(&mut self, from: &Tensor, grid: [i64; 3], map: [i64; 3], to: &str) -> Tensor {
        self.copy_by(from, grid, [map, map], to)
    }

    fn copy_by(&mut self, from: &Tensor, grid: [i64; 3], maps: [[i64; 3]; 2], to: &str) -> Tensor {
        let made = self.0.cuda(to, BF16, &[4, 24]);
        self.0.operator(&format!("make {to}"), COPY, grid, &[Some((from, maps[0]))], &[(&made, maps[1])]);
        made
    }

    /// An operator of two inputs.
    fn add(&mut self, from: [&Tensor; 2], grid: [i64; 3], maps: [[i64; 3]; 3], to: &str) -> Tensor {
        let made = self.0.cuda(to, BF16, &[4, 24]);
        let inputs = [Some((from[0], maps[0])), Some((from[1], maps[1]))];
        self.0.operator(&format!("make {to}"), ADD, grid, &inputs, &[(&made, maps[2])]);
        made
    }
}

/// The accepted requests.
pub fn bases() -> Vec<GraphBase> {
    let mut all = Vec::new();
    let mut add = |name: &str, summary: &str, k: &KernelBuilder, ranks: i64, rank: i64| {
        let request = k.request(ranks, rank, "exact-current");
        let clauses = &[clause::TGR_24, clause::TGR_12, clause::TGR_13];
        all.push(GraphBase::request(&format!("exact-current/{name}"), summary, clauses, request));
    };
    for (name, summary, k) in shapes() {
        add(name, summary, &k, 1, 0);
    }
    for (name, summary, k) in words() {
        add(&name, &summary, &k, 1, 0);
    }
    for (ranks, rank) in [(2, 0), (2, 1), (3, 1), (4, 3), (8, 0)] {
        let summary = format!("two exchanges of puts and reductions, rank {rank} of {ranks}");
        add(&format!("puts-{ranks}-{rank}"), &summary, &exchanges(ranks, false), ranks, rank);
    }
    add("puts-joined", "a join of what was put and of what was not", &exchanges(3, true), 3, 2);
    for (ranks, rank, grid) in [(2, 0, [4, 1, 1]), (4, 2, [2, 3, 1]), (1, 0, [2, 2, 1])] {
        let mut m = Matrices::default();
        let x = m.given("x");
        let a = m.copy(&x, grid, BOTH, "a");
        let b = m.0.cuda("b", BF16, &[4, 24]);
        m.0.operator("sum", COLLECTIVE, grid, &[Some((&a, BOTH))], &[(&b, BOTH)]);
        m.copy(&b, [2, 1, 1], ROWS, "c");
        let summary = format!("a collective over {ranks} ranks, seen from rank {rank}");
        add(&format!("collective-{ranks}"), &summary, &m.0, ranks, rank);
    }
    all
}

/// How operators hang together.
fn shapes() -> Vec<(&'static str, &'static str, KernelBuilder)> {
    let mut all = Vec::new();
    let mut add = |name, summary, m: Matrices| all.push((name, summary, m.0));
    let (one, three, six) = ([1, 1, 1], [3, 1, 1], [6, 1, 1]);

    let mut m = Matrices::default();
    let x = m.given("x");
    m.copy(&x, [4, 1, 1], ROWS, "a");
    add("one", "one operator of four blocks", m);

    for (name, summary, grids, maps) in [
        ("chain-gcd", "6 producers and 4 consumers: 2 events", [six, [4, 1, 1]], [COLUMNS, COLUMNS]),
        (
            "chain-crosswise",
            "producers cut columns, consumers rows: 1 event",
            [six, [2, 1, 1]],
            [COLUMNS, ROWS],
        ),
        (
            "chain-grid",
            "2 x 6 producers and 4 x 3 consumers: 2 x 3 events",
            [[2, 6, 1], [4, 3, 1]],
            [BOTH, BOTH],
        ),
        ("chain-turned", "grids whose axes cut other axes", [[2, 3, 1], [6, 2, 1]], [BOTH, [1, 0, -1]]),
    ] {
        let mut m = Matrices::default();
        let x = m.given("x");
        let a = m.copy(&x, grids[0], maps[0], "a");
        m.copy(&a, grids[1], maps[1], "b");
        add(name, summary, m);
    }

    let mut m = Matrices::default();
    let (x, y) = (m.given("x"), m.given("y"));
    m.copy(&x, three, COLUMNS, "a");
    m.copy(&y, [2, 1, 1], ROWS, "b");
    add("roots", "two operators that nothing connects: both begin and both end", m);

    let mut m = Matrices::default();
    let (x, y) = (m.given("x"), m.given("y"));
    let a = m.copy(&x, one, WHOLE, "a");
    let b = m.copy(&a, one, WHOLE, "b");
    m.copy(&y, [2, 1, 1], ROWS, "c");
    m.copy(&b, one, WHOLE, "d");
    add("depths", "an operator that begins comes up before earlier ones that are deeper", m);

    for (name, summary, grid, maps, consumers) in [
        ("fork", "two consumers cut as the producer is", six, COLUMNS, vec![(six, COLUMNS), (six, COLUMNS)]),
        (
            "fork-steps",
            "steps of 3 and 2 blocks become one of 6",
            [12, 1, 1],
            COLUMNS,
            vec![([4, 1, 1], COLUMNS), (six, COLUMNS)],
        ),
        (
            "fork-whole",
            "one consumer reads all of it: one event",
            six,
            COLUMNS,
            vec![(six, COLUMNS), (one, WHOLE)],
        ),
        (
            "fork-three",
            "three consumers of 2, 4 and 8 blocks",
            [8, 1, 1],
            COLUMNS,
            vec![([2, 1, 1], COLUMNS), ([4, 1, 1], COLUMNS), ([8, 1, 1], COLUMNS)],
        ),
        (
            "fork-grid",
            "a grid of two axes, and consumers of one",
            [4, 6, 1],
            BOTH,
            vec![([2, 1, 1], ROWS), ([3, 1, 1], COLUMNS)],
        ),
        (
            "fork-turned",
            "a consumer whose grid is turned",
            [2, 6, 1],
            BOTH,
            vec![([6, 2, 1], [1, 0, -1]), ([2, 2, 1], BOTH)],
        ),
        (
            "fork-finer",
            "consumers that are cut finer than the producer",
            three,
            COLUMNS,
            vec![([12, 1, 1], COLUMNS), (six, COLUMNS)],
        ),
    ] {
        let mut m = Matrices::default();
        let x = m.given("x");
        let a = m.copy(&x, grid, maps, "a");
        for (n, (grid, map)) in consumers.into_iter().enumerate() {
            m.copy(&a, grid, map, &format!("b{n}"));
        }
        add(name, summary, m);
    }

    for (name, summary, grids, maps, grid, own) in [
        ("join", "two producers cut as the consumer is", [six, six], [COLUMNS, COLUMNS], six, [COLUMNS; 3]),
        (
            "join-steps",
            "steps of 3 and 2 blocks become one of 6",
            [[4, 1, 1], six],
            [COLUMNS, COLUMNS],
            [12, 1, 1],
            [COLUMNS; 3],
        ),
        (
            "join-whole",
            "one input is read whole",
            [six, six],
            [COLUMNS, COLUMNS],
            six,
            [COLUMNS, WHOLE, COLUMNS],
        ),
        (
            "join-grid",
            "rows of one producer, columns of the other",
            [[2, 1, 1], three],
            [ROWS, COLUMNS],
            [4, 6, 1],
            [[0, -1, -1], [-1, 1, -1], BOTH],
        ),
    ] {
        let mut m = Matrices::default();
        let (x, y) = (m.given("x"), m.given("y"));
        let (a, b) = (m.copy(&x, grids[0], maps[0], "a"), m.copy(&y, grids[1], maps[1], "b"));
        m.copy(&y, three, COLUMNS, "beside");
        m.add([&a, &b], grid, own, "c");
        add(name, summary, m);
    }

    let mut m = Matrices::default();
    let x = m.given("x");
    let a = m.copy(&x, six, COLUMNS, "a");
    let (b, c) = (m.copy(&a, six, COLUMNS, "b"), m.copy(&a, three, COLUMNS, "c"));
    m.add([&b, &c], six, [COLUMNS; 3], "d");
    add("diamond", "a fork whose consumers meet again in a join", m);

    let mut m = Matrices::default();
    let x = m.given("x");
    let a = m.copy(&x, three, COLUMNS, "a");
    let b = m.copy(&a, six, COLUMNS, "b");
    let c = m.add([&b, &a], six, [COLUMNS; 3], "c");
    m.add([&c, &a], three, [COLUMNS; 3], "d");
    add("stripped", "a residual is left out twice, since what lies between leads there", m);

    let mut m = Matrices::default();
    let x = m.given("x");
    let (a, b) = (m.0.cuda("a", BF16, &[4, 24]), m.0.cuda("b", BF16, &[4, 24]));
    let outputs = [(&a, COLUMNS), (&b, COLUMNS)];
    m.0.operator("both", 110, six, &[Some((&x, COLUMNS))], &outputs);
    m.add([&a, &b], three, [COLUMNS, WHOLE, COLUMNS], "c");
    add("two-shared", "two tensors of one producer: the first input decides", m);

    let mut m = Matrices::default();
    let (x, y) = (m.given("x"), m.given("y"));
    let (a, b) = (m.0.cuda("a", BF16, &[4, 24]), m.0.cuda("b", BF16, &[4, 24]));
    m.0.operator("both", 110, three, &[Some((&x, COLUMNS))], &[(&a, COLUMNS), (&b, COLUMNS)]);
    let c = m.copy(&y, three, COLUMNS, "c");
    let d = m.0.cuda("d", BF16, &[4, 24]);
    let inputs = [Some((&a, COLUMNS)), Some((&b, COLUMNS)), Some((&c, COLUMNS))];
    m.0.operator("join", 252, three, &inputs, &[(&d, COLUMNS)]);
    add("join-counted-twice", "a join of two tensors of one producer counts each of its tasks twice", m);

    let mut m = Matrices::default();
    let x = m.given("x");
    let a = m.copy(&x, six, COLUMNS, "a");
    let again = m.0.torch("again", I64, &[4, 24]);
    let b = m.0.cuda("b", I64, &[4, 24]);
    m.0.operator("wide", COPY, six, &[Some((&again, COLUMNS))], &[(&b, COLUMNS)]);
    m.copy(&a, three, COLUMNS, "c");
    let d = m.0.cuda("d", BF16, &[4, 24]);
    m.0.operator_with("param", COPY, six, &[Some((&x, COLUMNS))], &[(&d, COLUMNS)], json!({"n": 1}));
    add("variants", "element types make no variant, tiles and parameters do", m);

    let mut m = Matrices::default();
    let x = m.given("x");
    let (q, k) = (m.0.torch("q", BF16, &[8, 24]), m.0.torch("k", BF16, &[4, 24]));
    let w = m.0.shuffled("w", &[12, 24], 4, &[&q, &k]);
    let y = m.0.cuda("y", BF16, &[4, 12]);
    m.0.operator("products", LINEAR, six, &[Some((&x, WHOLE)), Some((&w, ROWS))], &[(&y, COLUMNS)]);
    add("shuffled", "tiles of a shuffled weight are its own", m);
    all
}

/// One operator of each type whose blocks have words of their own, over a grid that shows which axis is which.
fn words() -> Vec<(String, String, KernelBuilder)> {
    let grid = [2, 3, 4];
    [
        (COPY, 1, 1),
        (260, 1, 3),
        (264, 2, 1),
        (266, 2, 2),
        (267, 2, 1),
        (268, 5, 0),
        (270, 2, 1),
        (287, 2, 2),
        (295, 4, 1),
        (161, 4, 1),
        (249, 6, 1),
        (255, 4, 1),
        (COLLECTIVE, 1, 1),
    ]
    .into_iter()
    .map(|(code, inputs, outputs)| {
        let mut k = KernelBuilder::new();
        let mut tensors = |what: &str, count: usize| -> Vec<Tensor> {
            (0..count).map(|n| k.torch(&format!("{what}{n}"), BF16, &[2, 4])).collect()
        };
        let (read, written) = (tensors("in", inputs), tensors("out", outputs));
        let read: Vec<_> = read.iter().map(|tensor| Some((tensor, WHOLE))).collect();
        let written: Vec<_> = written.iter().map(|tensor| (tensor, WHOLE)).collect();
        k.operator("only", code, grid, &read, &written);
        (format!("word-{code}"), format!("the words of 2 x 3 x 4 blocks of type {code}"), k)
    })
    .collect()
}

/// Two exchanges; perhaps with a join behind the second one.
fn exchanges(ranks: i64, is_joined: bool) -> KernelBuilder {
    let mut m = Matrices::default();
    let mut x = m.given("x");
    let blocks = [6, 1, 1];
    for n in 0..2 {
        let partial = m.0.nvshmem(&format!("partial_{n}"), BF16, &[4, 24]);
        let slots = m.0.nvshmem(&format!("slots_{n}"), BF16, &[ranks, 4, 24]);
        let sum = m.0.cuda(&format!("sum_{n}"), BF16, &[4, 24]);
        let inner = [2, -1, -1];
        m.0.operator(&format!("part {n}"), COPY, [3, 1, 1], &[Some((&x, COLUMNS))], &[(&partial, COLUMNS)]);
        m.0.operator(&format!("put {n}"), PUT, blocks, &[Some((&partial, COLUMNS))], &[(&slots, inner)]);
        let inputs = [Some((&partial, COLUMNS)), Some((&slots, inner))];
        if is_joined && n == 1 {
            let y = m.given("y");
            let local = m.copy(&y, blocks, COLUMNS, "local");
            let inputs = [Some((&local, COLUMNS)), Some((&slots, inner))];
            m.0.operator("reduce 1", REDUCE, blocks, &inputs, &[(&sum, COLUMNS)]);
        } else {
            m.0.operator(&format!("reduce {n}"), REDUCE, blocks, &inputs, &[(&sum, COLUMNS)]);
        }
        x = sum;
    }
    m.copy(&x, [2, 1, 1], COLUMNS, "last");
    m.0
}

/// TK06, TK09 and TK10, as they are in this mode.
pub fn rejected(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let op = |n: usize, rest: &str| format!("/kernel_graph/operators/{n}/{rest}");
    // An edge from a fork to a join, then a second one from a fork to one of its consumers.
    for base in ["join", "join-steps", "join-whole", "join-grid"] {
        let base = library.get(&format!("exact-current/{base}"))?;
        for tensor in ["a", "b"] {
            let what = format!("an operator beside the join reads `{tensor}` too");
            let edit = Edit::breaking(Rule::TK10, &what)
                .at("/kernel_graph/operators/3")
                .replace(op(2, "inputs/0/tensor"), tensor);
            sink.graph_reject(base, &what, &edit)?;
        }
    }
    for base in ["diamond", "fork", "fork-steps", "fork-whole", "fork-three", "fork-turned"] {
        let base = library.get(&format!("exact-current/{base}"))?;
        let twice = json!({"tensor": "a", "map": [-1, -1, -1]});
        let what = "the second consumer of the fork reads it twice";
        let edit = Edit::breaking(Rule::TK10, what)
            .at("/kernel_graph/operators/2")
            .replace(op(2, "task_type"), ADD)
            .insert(op(2, "inputs/1"), twice);
        sink.graph_reject(base, what, &edit)?;
    }

    for (base, operator, code, what) in [
        ("one", 0, 104, "a type that the generator has no code for"),
        ("fork", 1, 106, "an all-reduce of the earlier generator"),
        ("chain-gcd", 1, 5000, "a number that is no type"),
        ("join", 3, COPY, "two inputs where the type has one"),
        ("word-266", 0, 267, "two outputs where the type has one"),
    ] {
        let base = library.get(&format!("exact-current/{base}"))?;
        let at = op(operator, "task_type");
        sink.graph_reject(base, what, &Edit::breaking(Rule::TK09, what).at(at.clone()).replace(at, code))?;
    }
    let base = library.get("exact-current/puts-2-0")?;
    let what = "puts on one rank";
    sink.graph_reject(
        base,
        what,
        &Edit::breaking(Rule::TK09, what).at(op(1, "task_type")).replace("/ranks", 1),
    )?;
    for base in ["puts-2-0", "puts-3-1", "puts-4-3"] {
        let base = library.get(&format!("exact-current/{base}"))?;
        let what = "nobody reads what was put";
        let edit = Edit::breaking(Rule::TK09, what)
            .at(op(4, "task_type"))
            .replace(op(5, "inputs/1/tensor"), "slots_0");
        sink.graph_reject(base, what, &edit)?;
    }

    let base = library.get("exact-current/word-260")?;
    let output = json!({"tensor": "out0", "map": [-1, -1, -1]});
    let what = "four outputs";
    let edit = Edit::breaking(Rule::TK06, what).at(op(0, "outputs")).insert(op(0, "outputs/3"), output);
    sink.graph_reject(base, what, &edit)
}
