//! Reading and validating MPK task graphs: `cargo bench -p megakernel-task-graph-reference --bench task_graph`. A real graph,
//! and decoders of the same make with 12,000 to 1,000,000 tasks; each also with a race in every layer, where
//! validating includes finding the places of the diagnostics; and the graphs of eight ranks together, with 36 layers in which they
//! meet twice for 16 blocks. Of all rounds the fastest counts.

#![allow(missing_docs, clippy::unwrap_used)]

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use megakernel_ir::Source;
use megakernel_task_graph::read_task_graph;
use megakernel_task_graph_reference::validate::{Graphs, validate_graphs};
use megakernel_test_support::fixtures;

const NONE: i64 = 0x7fff_ffff_ffff_fffe;

/// A graph as text, task by task. Events are those that some task has named.
#[derive(Default)]
struct Graph {
    /// The rank, as event ids have it.
    rank: usize,
    /// The team of the collectives that are added next.
    team: usize,
    tasks: Vec<String>,
    /// First and last dependent, and triggers, of the events from 2 on.
    events: Vec<(usize, usize, usize)>,
}

impl Graph {
    fn event(&mut self) -> usize {
        self.events.push((0, 0, 0));
        self.events.len() + 1
    }

    fn task(
        &mut self,
        kind: i64,
        wait: Option<usize>,
        trigger: usize,
        inputs: &[String],
        outputs: &[String],
    ) {
        let id = self.tasks.len() + 2;
        if let Some(wait) = wait {
            let event = &mut self.events[wait - 2];
            event.0 = if event.1 == 0 { id } else { event.0 };
            event.1 = id + 1;
        }
        self.events[trigger - 2].2 += 1;
        let own = |event: usize| (self.rank << 32 | event) as i64;
        let (wait, trigger) = (wait.map_or(NONE, own), own(trigger));
        let [low, middle] = if kind == 302 { [self.team as i64, 0] } else { [-65536, 65535] };
        let request = if kind == 302 { low } else { 0 };
        let (inputs, outputs) = (inputs.join(","), outputs.join(","));
        self.tasks.push(format!(
            r#"{{"dependent_event":{wait},"expert_offset":{low},"inputs":[{inputs}],"kv_idx":{middle},"merge_task_offset":-1,"outputs":[{outputs}],"request_id":{request},"task_offset":{low},"task_type":{kind},"trigger_event":{trigger},"variant_id":0}}"#
        ));
    }

    fn text(&self, first: usize) -> String {
        let mut text = format!(
            r#"{{"all_events":[{{"event_type":911,"first_task_id":0,"last_task_id":0,"num_triggers":1}},{{"event_type":903,"first_task_id":2,"last_task_id":{},"num_triggers":1}}"#,
            self.tasks.len() + 2
        );
        for (index, (first, last, triggers)) in self.events.iter().enumerate() {
            let kind = if index + 1 == self.events.len() { 910 } else { 900 };
            let _ = write!(
                text,
                r#",{{"event_type":{kind},"first_task_id":{first},"last_task_id":{last},"num_triggers":{triggers}}}"#
            );
        }
        text.push_str(r#"],"all_tasks":["#);
        for (kind, trigger) in [(0, NONE), (10, (self.rank << 32 | 1) as i64)] {
            let _ = write!(
                text,
                r#"{{"dependent_event":{NONE},"expert_offset":-1,"inputs":null,"kv_idx":-1,"merge_task_offset":-1,"outputs":null,"request_id":-1,"task_offset":-1,"task_type":{kind},"trigger_event":{trigger},"variant_id":0}},"#
            );
        }
        text.push_str(&self.tasks.join(","));
        let first: Vec<String> = (2..2 + first).map(|id| id.to_string()).collect();
        let _ = write!(text, r#"],"first_tasks":[{}]}}"#, first.join(","));
        text
    }
}

/// Rows and columns of a tile: where it begins and how many there are; and how many columns the tensor has.
fn tile(name: &str, row: usize, rows: usize, column: usize, columns: usize, width: usize) -> String {
    format!(
        r#"{{"base_ptr":"{name}","data_type":941,"dims":[{rows},{columns}],"offset":{},"strides":[{width},1]}}"#,
        2 * (row * width + column)
    )
}

const ROWS: usize = 8;
const HIDDEN: usize = 1024;
const HEADS: usize = 8;
const FFN: usize = 3072;
/// Tasks of a layer.
const LAYER: usize = 8 + 64 + HEADS + 16 + 8 + 96 + 48 + 16;

/// A decoder with about so many tasks, of the operators and tiles of the real Qwen3 graph. If it races, the MLP of every layer
/// waits for the norm's input and not for the norm.
fn decoder(tasks: usize, races: bool, rank: Option<usize>) -> String {
    let mut graph = Graph { rank: rank.unwrap_or(0), ..Graph::default() };
    // Where there are other ranks, a product is a part of a sum, and the next event that of the sum.
    let sum = |graph: &mut Graph, parts: &[usize], from: &str, to: &str| {
        let summed = graph.event();
        for (index, &event) in parts.iter().enumerate() {
            graph.team = index;
            let block = |name: &str| tile(name, 0, ROWS, index * 64, 64, HIDDEN);
            graph.task(302, Some(event), summed, &[block(from)], &[block(to)]);
        }
        summed
    };
    let product = |graph: &mut Graph, name: &'static str, own: &'static str| -> (Vec<usize>, &'static str) {
        match rank {
            Some(_) => ((0..16).map(|_| graph.event()).collect(), own),
            None => (vec![graph.event(); 16], name),
        }
    };
    let whole = |name: &str, width: usize| tile(name, 0, ROWS, 0, width, width);
    let part = |name: &str, index: usize, columns: usize, width: usize| {
        tile(name, 0, ROWS, index * columns, columns, width)
    };
    let weight =
        |name: &str, index: usize, rows: usize, width: usize| tile(name, index * rows, rows, 0, width, width);
    let mut ready = graph.event();
    graph.task(
        101,
        None,
        ready,
        &[whole("tokens", 1), weight("embedding", 0, 32, HIDDEN)],
        &[whole("mlp_out", HIDDEN)],
    );
    for layer in 0..(tasks / LAYER).max(1) {
        let named = |name: &str| format!("layer_{layer}_{name}");
        let norm = |graph: &mut Graph, wait: usize, input: &str, weight: &str| {
            let event = graph.event();
            for row in 0..ROWS {
                let own = |name: &str| tile(name, row, 1, 0, HIDDEN, HIDDEN);
                graph.task(
                    119,
                    Some(wait),
                    event,
                    &[own(input), tile(weight, 0, 1, 0, HIDDEN, HIDDEN)],
                    &[own("normed")],
                );
            }
            event
        };
        let normed = norm(&mut graph, ready, "mlp_out", &named("input_norm"));
        let heads: Vec<usize> = (0..HEADS).map(|_| graph.event()).collect();
        for index in 0..64 {
            let inputs = [whole("normed", HIDDEN), weight(&named("qkv"), index, 64, HIDDEN)];
            graph.task(120, Some(normed), heads[index / 8], &inputs, &[part("attn_in", index, 64, 4096)]);
        }
        let attended = graph.event();
        for (head, &event) in heads.iter().enumerate() {
            let cache = |name: &str| {
                format!(
                    r#"{{"base_ptr":"{}","data_type":941,"dims":[16,4096,1,128],"offset":{},"strides":[4194304,1024,128,1]}}"#,
                    named(name),
                    256 * head
                )
            };
            let inputs = [part("attn_in", head, 512, 4096), cache("k_cache"), cache("v_cache")];
            graph.task(116, Some(event), attended, &inputs, &[part("attn_out", head, 256, 2048)]);
        }
        let (parts, target) = product(&mut graph, "attn_proj_out", "attn_proj_part");
        for (index, &event) in parts.iter().enumerate() {
            let inputs = [
                whole("attn_out", 2048),
                weight(&named("o"), index, 64, 2048),
                part("mlp_out", index, 64, HIDDEN),
            ];
            graph.task(108, Some(attended), event, &inputs, &[part(target, index, 64, HIDDEN)]);
        }
        let projected = match rank {
            Some(_) => sum(&mut graph, &parts, target, "attn_proj_out"),
            None => parts[0],
        };
        let normed = norm(&mut graph, projected, "attn_proj_out", &named("post_norm"));
        let normed = if races { projected } else { normed };
        let pairs: Vec<usize> = (0..48).map(|_| graph.event()).collect();
        for index in 0..96 {
            let inputs = [whole("normed", HIDDEN), weight(&named("gate_up"), index, 64, HIDDEN)];
            graph.task(120, Some(normed), pairs[index / 2], &inputs, &[part("mlp_mid", index, 64, 2 * FFN)]);
        }
        let activated = graph.event();
        for (index, &event) in pairs.iter().enumerate() {
            graph.task(
                118,
                Some(event),
                activated,
                &[part("mlp_mid", index, 128, 2 * FFN)],
                &[part("silu_out", index, 64, FFN)],
            );
        }
        let (parts, target) = product(&mut graph, "mlp_out", "mlp_part");
        for (index, &event) in parts.iter().enumerate() {
            let inputs = [
                whole("silu_out", FFN),
                weight(&named("down"), index, 64, FFN),
                part("attn_proj_out", index, 64, HIDDEN),
            ];
            graph.task(108, Some(activated), event, &inputs, &[part(target, index, 64, HIDDEN)]);
        }
        ready = match rank {
            Some(_) => sum(&mut graph, &parts, target, "mlp_out"),
            None => parts[0],
        };
    }
    let end = graph.event();
    graph.task(111, Some(ready), end, &[whole("mlp_out", HIDDEN)], &[whole("token", 1)]);
    graph.text(1)
}

fn least(rounds: usize, mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..rounds).map(time).min().unwrap()
}

/// Tasks, and the times of reading and of validating.
fn measure(name: &str, text: &str, accepted: bool, rounds: usize) -> (f64, [f64; 2]) {
    let graph = read_task_graph(text.as_bytes()).unwrap();
    let validate = || {
        let verdict = validate_graphs(black_box(Graphs::Bare(&graph, None)));
        if !verdict.diagnostics.is_empty() {
            let source = Source::new(text);
            for diagnostic in &verdict.diagnostics {
                black_box(source.position(&diagnostic.pointer));
            }
        }
        verdict
    };
    let verdict = validate();
    assert_eq!(verdict.accepts(), accepted, "{name}: {:?}", verdict.diagnostics.first());
    let reading = least(rounds, || drop(read_task_graph(black_box(text.as_bytes())).unwrap()));
    let validating = least(rounds, || drop(validate()));
    let (tasks, seconds) = (graph.all_tasks.len(), [reading, validating].map(|time| time.as_secs_f64()));
    println!(
        "| {name} | {tasks} | {:.1} | {:.2} ms | {:.2} ms | {:.2} ms |",
        text.len() as f64 / 1e6,
        seconds[0] * 1e3,
        seconds[1] * 1e3,
        (seconds[0] + seconds[1]) * 1e3
    );
    (tasks as f64, seconds)
}

/// The graphs of eight ranks.
fn measure_ranks(rounds: usize) {
    let texts: Vec<String> = (0..8).map(|rank| decoder(36 * LAYER, false, Some(rank))).collect();
    let read =
        || texts.iter().map(|text| read_task_graph(black_box(text.as_bytes())).unwrap()).collect::<Vec<_>>();
    let ranks = read();
    let validate = || validate_graphs(black_box(Graphs::System(&ranks, None)));
    let verdict = validate();
    assert!(verdict.diagnostics.is_empty(), "{:?}", verdict.diagnostics.first());
    let reading = least(rounds, || drop(read())).as_secs_f64() * 1e3;
    let validating = least(rounds, || drop(validate())).as_secs_f64() * 1e3;
    println!(
        "| 8 ranks, 36 layers | {} | {:.1} | {reading:.2} ms | {validating:.2} ms | {:.2} ms |",
        ranks.iter().map(|graph| graph.all_tasks.len()).sum::<usize>(),
        texts.iter().map(String::len).sum::<usize>() as f64 / 1e6,
        reading + validating
    );
}

fn main() {
    println!("| graph | tasks | MB | read | validate | both |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    measure("qwen3-0.6b, 2 layers", &fixtures::text("mpk/qwen3_06b_2l.json"), true, 50);
    measure_ranks(5);
    let sizes = [(12_000, 20), (100_000, 5), (1_000_000, 3)];
    for (kind, accepted) in [("decoder", true), ("rejected", false)] {
        let row = |&(tasks, rounds): &(usize, usize)| {
            measure(&format!("{kind}-{tasks}"), &decoder(tasks, !accepted, None), accepted, rounds)
        };
        let rows: Vec<_> = sizes.iter().map(row).collect();
        let [(fewest, fast), .., (most, slow)] = rows.as_slice() else { continue };
        let exponent = |index: usize| (slow[index] / fast[index]).ln() / (most / fewest).ln();
        println!(
            "\n{kind}, from {fewest} to {most} tasks: reading grows with the exponent {:.2}, validating with {:.2}.\n",
            exponent(0),
            exponent(1)
        );
    }
}
