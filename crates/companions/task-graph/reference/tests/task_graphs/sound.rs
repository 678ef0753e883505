//! Sound translation of random kernel graphs, judged the straightforward way: every task is a set of elements that it reads
//! and writes, order is a matrix, and two iterations of all ranks are looked at together. Shares nothing with the
//! validator.

#![allow(clippy::panic)]

use std::collections::HashMap;

use crate::kernel_graphs::random::{Random, kernel_graph};
use crate::kernel_graphs::{QWEN3_06B, Qwen3, qwen3};
use megakernel_ir::Rule;
use megakernel_ir::prng::SplitMix64;
use megakernel_task_graph::{EVENT_INVALID, EventId, TaskGraph, Tile, read_kernel_graph, read_translation};
use megakernel_task_graph_reference::translate::translate;
use megakernel_task_graph_reference::validate::{Graphs, validate_graphs};
use serde_json::{Value, json};

/// The elements of a tile, `slots` of its first axis.
fn elements(tile: &Tile<'_>, slots: Option<i64>) -> Vec<i64> {
    let mut found = vec![tile.offset / 2];
    for (axis, (&extent, &stride)) in tile.dims.iter().zip(&tile.strides).enumerate() {
        let extent = if axis == 0 { slots.unwrap_or(extent) } else { extent };
        found = found.iter().flat_map(|at| (0..extent).map(move |i| at + i * stride)).collect();
    }
    found
}

struct Access {
    rank: usize,
    element: (String, i64),
    task: usize,
    writes: bool,
}

/// All ranks, two iterations: task `t` of rank `r` in iteration `k` is a number.
struct System<'g, 'a> {
    ranks: &'g [TaskGraph<'a>],
    tasks: usize,
}

impl System<'_, '_> {
    fn number(&self, iteration: usize, rank: usize, task: usize) -> usize {
        (iteration * self.ranks.len() + rank) * self.tasks + task
    }

    /// Direct successors. The end of an iteration stands as task 0, which is otherwise unused.
    fn edges(&self) -> Vec<Vec<usize>> {
        let mut edges = vec![Vec::new(); 2 * self.ranks.len() * self.tasks];
        for k in 0..2 {
            for (rank, graph) in self.ranks.iter().enumerate() {
                for (id, task) in graph.all_tasks.iter().enumerate().skip(2) {
                    let event = EventId::from_bits(task.trigger_event).expect("every task triggers an event");
                    assert_eq!(
                        event.nvshmem,
                        task.task_type == 199,
                        "only copies trigger events of other ranks"
                    );
                    let owner = usize::from(event.rank);
                    let position = event.position as usize;
                    let waiting = &self.ranks[owner].all_events[position];
                    let from = self.number(k, rank, id);
                    if waiting.event_type == 910 {
                        edges[from].push(self.number(k, owner, 0));
                    }
                    for other in waiting.first_task_id..waiting.last_task_id {
                        edges[from].push(self.number(k, owner, other as usize));
                    }
                    if task.dependent_event == EVENT_INVALID {
                        edges[self.number(k, rank, 1)].push(from);
                    }
                }
                if k == 0 {
                    edges[self.number(0, rank, 0)].push(self.number(1, rank, 1));
                }
            }
        }
        edges
    }

    /// Who comes after whom.
    fn after(&self) -> Vec<Vec<bool>> {
        let edges = self.edges();
        let mut after = vec![Vec::new(); edges.len()];
        fn visit(at: usize, edges: &[Vec<usize>], after: &mut [Vec<bool>]) {
            if !after[at].is_empty() {
                return;
            }
            let mut reached = vec![false; edges.len()];
            for &next in &edges[at] {
                visit(next, edges, after);
                reached[next] = true;
                reached.iter_mut().zip(&after[next]).for_each(|(reached, next)| *reached |= next);
            }
            assert!(!reached[at], "the order has a cycle");
            after[at] = reached;
        }
        (0..edges.len()).for_each(|at| visit(at, &edges, &mut after));
        after
    }

    /// What tasks access, and in the memory of which rank.
    fn accesses(&self) -> Vec<Access> {
        let mut found = Vec::new();
        for (rank, graph) in self.ranks.iter().enumerate() {
            for (id, task) in graph.all_tasks.iter().enumerate() {
                let number = self.number(0, rank, id);
                let mut add = |rank: usize, tile: &Tile<'_>, writes: bool, slots: Option<i64>| {
                    let name = tile.base_ptr.to_string();
                    let accesses = elements(tile, slots).into_iter().map(|at| (name.clone(), at));
                    found.extend(accesses.map(|element| Access { rank, element, task: number, writes }));
                };
                task.inputs().iter().for_each(|tile| add(rank, tile, false, None));
                let target = EventId::from_bits(task.trigger_event).filter(|event| event.nvshmem);
                for tile in task.outputs() {
                    match target {
                        Some(event) => add(usize::from(event.rank), tile, true, Some(1)),
                        None => add(rank, tile, true, None),
                    }
                }
            }
        }
        found
    }
}

/// What is wrong with the graphs of all ranks.
fn judge(ranks: &[TaskGraph<'_>]) {
    let tasks = ranks[0].all_tasks.len();
    let system = System { ranks, tasks };
    for graph in ranks {
        let mut triggers: HashMap<i64, i64> = HashMap::new();
        for (rank, other) in ranks.iter().enumerate() {
            for (id, task) in other.all_tasks.iter().enumerate().skip(2) {
                let event = EventId::from_bits(task.trigger_event).expect("an event");
                if std::ptr::eq(&ranks[usize::from(event.rank)], graph) {
                    *triggers.entry(i64::from(event.position)).or_default() += 1;
                    let waiting = &graph.all_events[event.position as usize];
                    assert!(
                        waiting.event_type == 910 || waiting.first_task_id > id as i64,
                        "task {id} of rank {rank} has an id above those that wait for it"
                    );
                }
            }
        }
        for (position, event) in graph.all_events.iter().enumerate().skip(2) {
            assert_eq!(triggers.get(&(position as i64)), Some(&event.num_triggers), "event {position}");
            for (id, task) in graph.all_tasks.iter().enumerate() {
                let waits =
                    EventId::from_bits(task.dependent_event).is_some_and(|e| e.position as usize == position);
                let listed = (event.first_task_id..event.last_task_id).contains(&(id as i64));
                assert_eq!(waits, listed, "task {id} and event {position}");
            }
        }
    }
    let after = system.after();
    let iteration = ranks.len() * tasks;
    let mut by_element: HashMap<(usize, (String, i64)), Vec<Access>> = HashMap::new();
    for access in system.accesses() {
        by_element.entry((access.rank, access.element.clone())).or_default().push(access);
    }
    for ((rank, element), accesses) in by_element {
        for x in &accesses {
            for y in accesses.iter().filter(|y| x.writes || y.writes) {
                let next = y.task + iteration;
                assert!(
                    after[x.task][next],
                    "{element:?} of rank {rank}: task {} and {} of the next iteration",
                    x.task, y.task
                );
                let ordered = x.task == y.task || after[x.task][y.task] || after[y.task][x.task];
                assert!(ordered, "{element:?} of rank {rank}: tasks {} and {} in no order", x.task, y.task);
            }
        }
    }
}

/// The validator finds nothing, no warning either.
fn assert_accepted(kernel_graph: &Value, graphs: &[TaskGraph<'_>]) {
    let text = kernel_graph.to_string();
    let kernel_graph = read_kernel_graph(text.as_bytes()).expect("a kernel graph");
    let verdict = validate_graphs(Graphs::System(graphs, Some(&kernel_graph)));
    assert!(verdict.diagnostics.is_empty(), "{:?}", verdict.diagnostics.first());
}

/// Translates for all ranks and judges: the number of copies, or the rules that the kernel graph breaks.
fn sound(kernel_graph: &Value, ranks: i64) -> Result<usize, Vec<Rule>> {
    let texts: Vec<String> = (0..ranks)
        .map(|rank| {
            json!({"kernel_graph": kernel_graph, "ranks": ranks, "rank": rank, "mode": "sound"}).to_string()
        })
        .collect();
    let requests: Vec<_> =
        texts.iter().map(|text| read_translation(text.as_bytes()).expect("a request")).collect();
    let mut graphs = Vec::new();
    for request in &requests {
        graphs.push(translate(request).map_err(|found| found.iter().map(|d| d.rule).collect::<Vec<_>>())?);
    }
    judge(&graphs);
    assert_accepted(kernel_graph, &graphs);
    let copies = graphs[0].all_tasks.iter().filter(|task| task.task_type == 199).count();
    Ok(copies)
}

fn random_graphs(seeds: u64, ranks: i64, operators: usize) -> (usize, usize) {
    let (mut translated, mut with_copies) = (0, 0);
    for seed in 0..seeds {
        let mut random = Random(SplitMix64::new(seed * 1000 + ranks as u64));
        let kernel_graph = kernel_graph(&mut random, operators, ranks);
        match std::panic::catch_unwind(|| sound(&kernel_graph, ranks)) {
            Ok(Ok(copies)) => {
                translated += 1;
                with_copies += usize::from(copies > 0);
            }
            Ok(Err(rules)) => assert!(
                rules.iter().all(|&rule| matches!(rule, Rule::TK04 | Rule::TK07 | Rule::TK08)),
                "seed {seed}: {rules:?}"
            ),
            Err(_) => panic!("seed {seed}, {ranks} ranks: {kernel_graph}"),
        }
    }
    (translated, with_copies)
}

#[test]
fn random_graphs_of_one_rank() {
    let (translated, _) = random_graphs(150, 1, 7);
    assert!(translated >= 75, "only {translated} graphs could be translated");
}

#[test]
fn random_graphs_of_several_ranks() {
    for ranks in [2, 3] {
        let (_, with_copies) = random_graphs(100, ranks, 8);
        assert!(
            with_copies >= 10,
            "only {with_copies} graphs with all-reduces could be translated for {ranks} ranks"
        );
    }
}

#[test]
fn decoders_are_translated() {
    for ranks in [1, 2, 4, 8] {
        let kernel_graph = qwen3(Qwen3 { ranks, separate: true, tasks: [32, 16, 48, 16], ..QWEN3_06B });
        let texts: Vec<String> = (0..ranks)
            .map(|rank| {
                json!({"kernel_graph": kernel_graph, "ranks": ranks, "rank": rank, "mode": "sound"})
                    .to_string()
            })
            .collect();
        let requests: Vec<_> =
            texts.iter().map(|text| read_translation(text.as_bytes()).expect("a request")).collect();
        let graphs: Vec<_> = requests.iter().map(|request| translate(request).expect("a graph")).collect();
        assert_accepted(&kernel_graph, &graphs);
    }
}

/// Orders that exact mode does not make.
#[test]
fn what_the_published_generator_gets_wrong() {
    let whole = |tensor: &str| json!({"tensor": tensor, "map": [-1, -1, -1]});
    let cut = |tensor: &str| json!({"tensor": tensor, "map": [0, -1, -1]});
    let operator = |inputs: Value, output: &str| json!({"name": output, "task_type": 121, "grid": [2, 1, 1], "inputs": inputs, "outputs": [cut(output)]});
    let graph = |operators: Value| {
        let names = ["a", "b", "c", "d", "x"];
        let tensors = names.map(|name| json!({"name": name, "data_type": 941, "dims": [4]}));
        json!({"tensors": tensors, "operators": operators})
    };
    let cases = [
        (
            "a residual from two operators back",
            json!([
                operator(json!([whole("x")]), "a"),
                operator(json!([cut("a")]), "b"),
                operator(json!([whole("b"), whole("a")]), "c")
            ]),
        ),
        (
            "a join of two operators",
            json!([
                operator(json!([whole("x")]), "a"),
                operator(json!([whole("x")]), "b"),
                operator(json!([whole("a"), cut("b")]), "c")
            ]),
        ),
        (
            "a buffer that is used again while a reader runs",
            json!([
                operator(json!([whole("x")]), "a"),
                operator(json!([cut("a")]), "b"),
                operator(json!([whole("a")]), "c"),
                operator(json!([cut("b")]), "a"),
                operator(json!([cut("a"), cut("c")]), "d")
            ]),
        ),
    ];
    for (what, operators) in cases {
        assert_eq!(sound(&graph(operators), 1), Ok(0), "{what}");
    }
    let both = json!([operator(json!([whole("x")]), "a"), operator(json!([whole("a")]), "a")]);
    assert_eq!(sound(&graph(both), 1), Err(vec![Rule::TK07]));
    let dead = json!([operator(json!([whole("x")]), "a"), operator(json!([whole("x")]), "a")]);
    assert_eq!(sound(&graph(dead), 1), Err(vec![Rule::TK08]));
}
