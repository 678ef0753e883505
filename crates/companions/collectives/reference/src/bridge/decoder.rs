//! A decoder whose heads and inner columns are divided among ranks: with an algorithm in place of ALLREDUCE_SHARD it has the caches
//! and the logits that `simulate` predicts, and picks the tokens of one rank.

use std::collections::BTreeMap;

use megakernel_collectives::{Algorithm, read_algorithm, read_launch};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::read;
use megakernel_numerics::{DType, Tensor};
use megakernel_reference::validate::{Classes, validate};
use megakernel_reference::vm::steps::advance;
use megakernel_reference::vm::{Finished, Loaded, Schedule, Session, Settings};
use serde_json::{Value, json};

use super::splice;
use crate::algorithms::{Setting, named};
use crate::answer::judged;
use crate::simulate::simulate;

const HIDDEN: usize = 16;
const HEADS: usize = 4;
const INNER: usize = 32;
const VOCABULARY: usize = 48;
const LAYERS: usize = 2;
const STEPS: i64 = 4;

/// Writes the decoder: whole, or cut at each sum over ranks into programs that are launched one after the other.
struct Writer {
    ranks: usize,
    is_whole: bool,
    buffers: Vec<Value>,
    tasks: Vec<Value>,
    ids: BTreeMap<String, usize>,
    done: Vec<String>,
}

impl Writer {
    fn buffer(&mut self, name: &str, kind: &str, dtype: &str, shape: &[usize]) -> usize {
        let next = self.buffers.len();
        let id = *self.ids.entry(name.to_owned()).or_insert(next);
        if id == next {
            self.buffers.push(json!({"id": id, "name": name, "kind": kind, "dtype": dtype, "shape": shape}));
        }
        id
    }

    fn weight(&mut self, name: &str, shape: &[usize]) -> usize {
        self.buffer(name, "WEIGHT", "F16", shape)
    }

    fn scratch(&mut self, name: &str, shape: &[usize]) -> usize {
        self.buffer(name, "ACTIVATION", "F16", shape)
    }

    /// What the next program reads too, if there is one.
    fn passed(&mut self, name: &str) -> usize {
        let kind = if self.is_whole { "ACTIVATION" } else { "IO_OUTPUT" };
        self.buffer(name, kind, "F16", &[1, HIDDEN])
    }

    /// Each task waits for the one before.
    fn task(&mut self, op: &str, inputs: &[usize], output: usize, params: Value) {
        let id = self.tasks.len();
        let waits: Vec<Value> =
            id.checked_sub(1).into_iter().map(|before| json!({"counter": before, "threshold": 1})).collect();
        self.tasks.push(json!({"id": id, "op": op, "inputs": inputs, "outputs": [output], "out_counter": id,
                               "waits": waits, "params": params}));
    }

    fn product(&mut self, x: usize, weight: &str, out: &str, [rows, inner]: [usize; 2]) -> usize {
        let weight = self.weight(weight, &[rows, inner]);
        let out = if out.contains("part") { self.passed(out) } else { self.scratch(out, &[1, rows]) };
        self.task("GEMV_TILE", &[x, weight], out, json!({"K": inner, "N_tile": rows, "n_off": 0}));
        out
    }

    fn norm(&mut self, x: usize, weight: &str, out: &str) -> usize {
        let (weight, out) = (self.weight(weight, &[HIDDEN]), self.scratch(out, &[1, HIDDEN]));
        self.task("RMSNORM", &[x, weight], out, json!({"eps": 1e-6, "hidden": HIDDEN}));
        out
    }

    /// Adds the sum of the parts of all ranks to what each had.
    fn sum(&mut self, label: &str, parts: &[usize], before: &str, after: &str) {
        if self.is_whole {
            for rank in 0..self.ranks {
                let sum = self.scratch(&format!("{label}.sum.{rank}"), &[1, HIDDEN]);
                self.task("ALLREDUCE_SHARD", parts, sum, json!({}));
            }
        } else {
            self.end();
        }
        for rank in 0..self.ranks {
            let sum = self.buffer(&format!("{label}.sum.{rank}"), "IO_INPUT", "F16", &[1, HIDDEN]);
            let had = self.buffer(&format!("{before}.{rank}"), "IO_INPUT", "F16", &[1, HIDDEN]);
            let has = self.passed(&format!("{after}.{rank}"));
            self.task("ADD", &[had, sum], has, json!({}));
        }
    }

    fn end(&mut self) {
        let counters: Vec<Value> = (0..self.tasks.len()).map(|id| json!({"id": id})).collect();
        let (buffers, tasks) = (std::mem::take(&mut self.buffers), std::mem::take(&mut self.tasks));
        self.ids.clear();
        let program = json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers, "counters": counters, "tasks": tasks});
        self.done.push(program.to_string());
    }

    fn attention(&mut self, layer: usize, rank: usize, x: usize) -> usize {
        let heads = HEADS / self.ranks;
        let [width, dim] = [HIDDEN / self.ranks, HIDDEN / HEADS];
        let name = |what: &str| format!("l{layer}.{what}.{rank}");
        let positions = self.buffer("positions", "IO_INPUT", "I32", &[1]);
        let turned = ["q", "k"].map(|what| {
            let flat = self.product(x, &name(what), &name(&format!("{what}.flat")), [width, HIDDEN]);
            let split = self.scratch(&name(&format!("{what}.split")), &[heads, dim]);
            let turned = self.scratch(&name(&format!("{what}.turned")), &[heads, dim]);
            self.task("COPY", &[flat], split, json!({}));
            self.task("ROPE", &[split, positions], turned, json!({"head_dim": dim, "theta": 10000.0}));
            turned
        });
        let value = self.product(x, &name("v"), &name("v.flat"), [width, HIDDEN]);
        let caches = [("k_cache", turned[1]), ("v_cache", value)].map(|(what, new)| {
            let cache = self.buffer(&name(what), "KV_CACHE", "F16", &[8, heads, dim]);
            self.task("KV_APPEND", &[new, cache], cache, json!({"pos": 0}));
            cache
        });
        let attended = self.scratch(&name("attended"), &[1, width]);
        let params = json!({"head_dim": dim, "n_heads": heads, "n_kv_heads": heads, "scale": 0.5, "kv_start": 0, "kv_len": 1});
        self.task("ATTENTION_TILE", &[turned[0], caches[0], caches[1]], attended, params);
        self.product(attended, &name("o"), &name("attn.part"), [HIDDEN, width])
    }

    fn mlp(&mut self, layer: usize, rank: usize, x: usize) -> usize {
        let width = INNER / self.ranks;
        let name = |what: &str| format!("l{layer}.{what}.{rank}");
        let gate = self.product(x, &name("gate"), &name("gated"), [width, HIDDEN]);
        let up = self.product(x, &name("up"), &name("upped"), [width, HIDDEN]);
        let both = self.scratch(&name("both"), &[1, width]);
        self.task("SILU_MUL", &[gate, up], both, json!({}));
        self.product(both, &name("down"), &name("mlp.part"), [HIDDEN, width])
    }
}

/// The programs of a step.
fn decoder(ranks: usize, is_whole: bool) -> Vec<String> {
    let mut w = Writer {
        ranks,
        is_whole,
        buffers: Vec::new(),
        tasks: Vec::new(),
        ids: BTreeMap::new(),
        done: Vec::new(),
    };
    for rank in 0..ranks {
        let token = w.buffer("token", "IO_INPUT", "I32", &[1]);
        let table = w.weight("embedding", &[VOCABULARY, HIDDEN]);
        let hidden = w.passed(&format!("hidden0.{rank}"));
        w.task("EMBED", &[token, table], hidden, json!({"hidden": HIDDEN}));
    }
    for layer in 0..LAYERS {
        let [first, middle, last] =
            [format!("hidden{layer}"), format!("middle{layer}"), format!("hidden{}", layer + 1)];
        for (what, from, to) in [("attn", &first, &middle), ("mlp", &middle, &last)] {
            let mut parts = Vec::new();
            for rank in 0..ranks {
                let x = w.passed(&format!("{from}.{rank}"));
                let normed =
                    w.norm(x, &format!("l{layer}.{what}.norm"), &format!("l{layer}.{what}.normed.{rank}"));
                parts.push(match what {
                    "attn" => w.attention(layer, rank, normed),
                    _ => w.mlp(layer, rank, normed),
                });
            }
            w.sum(&format!("l{layer}.{what}"), &parts, from, to);
        }
    }
    for rank in 0..ranks {
        let x = w.passed(&format!("hidden{LAYERS}.{rank}"));
        let normed = w.norm(x, "norm", &format!("normed.{rank}"));
        let head = w.weight("head", &[VOCABULARY, HIDDEN]);
        let logits = w.buffer(&format!("logits.{rank}"), "IO_OUTPUT", "F16", &[1, VOCABULARY]);
        w.task("GEMV_TILE", &[normed, head], logits, json!({"K": HIDDEN, "N_tile": VOCABULARY, "n_off": 0}));
        let token = w.buffer(&format!("picked.{rank}"), "IO_OUTPUT", "I32", &[1]);
        w.task("SAMPLE_ARGMAX", &[logits], token, json!({}));
    }
    w.end();
    w.done
}

/// The weights of the model, each rank with its rows or columns: the same model however many ranks there are.
fn weights(ranks: usize) -> BTreeMap<String, Tensor> {
    let mut draws = SplitMix64::new(11);
    let mut tensors = BTreeMap::new();
    let mut put = |name: String, [rows, columns]: [usize; 2], axis: Option<usize>| {
        let all: Vec<f64> = (0..rows * columns)
            .map(|_| (draws.next_u64() >> 40) as f64 / (1u64 << 23) as f64 - 1.0)
            .collect();
        let all_ranks = if axis.is_some() { ranks } else { 1 };
        for rank in 0..all_ranks {
            let [height, width] = match axis {
                Some(0) => [rows / ranks, columns],
                Some(_) => [rows, columns / ranks],
                None => [rows, columns],
            };
            let [top, left] = if axis == Some(0) { [rank * height, 0] } else { [0, rank * width] };
            let at = |place: usize| all[(top + place / width) * columns + left + place % width];
            let part: Vec<f64> = (0..height * width).map(at).collect();
            let shape = if rows == 1 { vec![width as u64] } else { vec![height as u64, width as u64] };
            let name = if axis.is_some() { format!("{name}.{rank}") } else { name.clone() };
            tensors.insert(name, Tensor::from_reals(DType::F16, shape, &part).expect("a tensor"));
        }
    };
    put("embedding".to_owned(), [VOCABULARY, HIDDEN], None);
    put("head".to_owned(), [VOCABULARY, HIDDEN], None);
    put("norm".to_owned(), [1, HIDDEN], None);
    for layer in 0..LAYERS {
        for what in ["attn.norm", "mlp.norm"] {
            put(format!("l{layer}.{what}"), [1, HIDDEN], None);
        }
        for what in ["q", "k", "v"] {
            put(format!("l{layer}.{what}"), [HIDDEN, HIDDEN], Some(0));
        }
        for what in ["gate", "up"] {
            put(format!("l{layer}.{what}"), [INNER, HIDDEN], Some(0));
        }
        put(format!("l{layer}.o"), [HIDDEN, HIDDEN], Some(1));
        put(format!("l{layer}.down"), [HIDDEN, INNER], Some(1));
    }
    tensors
}

/// What the host reads after the last program of each step: logits, tokens and caches, as bits.
type Read = BTreeMap<String, Vec<u32>>;

/// What all ranks get for the parts that they have.
type Sums<'a> = dyn Fn(&[Vec<i64>]) -> Vec<Vec<u32>> + 'a;

/// Runs some steps, each with the token that rank 0 picked before. `sums` says what all ranks get where programs are cut.
fn run(texts: &[String], ranks: usize, seed: u64, sums: &Sums<'_>) -> Vec<Read> {
    let mut programs: Vec<_> = texts.iter().map(|text| read(text.as_bytes()).expect("a program")).collect();
    let (mut session, mut token) = (Session::new(), 5);
    let mut tensors = weights(ranks);
    // The numbers of pieces.
    for piece in 0..HIDDEN {
        let number = Tensor::from_ints(DType::I32, vec![1], &[piece as i64]).expect("a tensor");
        tensors.insert(format!("piece.{piece}"), number);
    }
    let bits = |finished: &Finished, name: &str| Some(finished.output(name)?.tensor.elements());
    let mut steps = Vec::new();
    for step in 0..STEPS {
        for (name, value) in [("token", token), ("positions", step)] {
            tensors
                .insert(name.to_owned(), Tensor::from_ints(DType::I32, vec![1], &[value]).expect("a tensor"));
        }
        let mut found = Read::new();
        for program in &programs {
            let loaded = Loaded::load(program).expect("it breaks no rule");
            let settings = Settings { schedule: Schedule::seeded(seed), ..Settings::default() };
            let finished = session.launch(&loaded, &tensors, &settings).expect("it comes to its end");
            for buffer in &program.buffers {
                let Some(output) = finished.output(&buffer.name) else { continue };
                tensors.insert(buffer.name.to_string(), output.tensor.clone());
                if ["logits", "picked"].iter().any(|name| buffer.name.starts_with(name))
                    || buffer.name.contains("_cache")
                {
                    found.insert(buffer.name.to_string(), output.tensor.elements());
                }
            }
            let part = |rank: usize, what: &str| bits(&finished, &format!("{what}.{rank}"));
            for label in (0..LAYERS).flat_map(|layer| ["attn", "mlp"].map(|what| format!("l{layer}.{what}")))
            {
                let parts: Option<Vec<Vec<u32>>> =
                    (0..ranks).map(|rank| part(rank, &format!("{}.part", label.clone()))).collect();
                let Some(parts) = parts else { continue };
                let tiles: Vec<Vec<i64>> =
                    parts.iter().map(|part| part.iter().map(|&bits| i64::from(bits)).collect()).collect();
                for (rank, sum) in sums(&tiles).into_iter().enumerate() {
                    let bytes = sum.iter().flat_map(|&bits| (bits as u16).to_le_bytes()).collect();
                    let sum = Tensor::new(DType::F16, vec![1, HIDDEN as u64], bytes).expect("a tensor");
                    tensors.insert(format!("{label}.sum.{rank}"), sum);
                }
            }
        }
        token = i64::from(found["picked.0"][0]);
        steps.push(found);
        programs.iter_mut().for_each(advance);
    }
    steps
}

fn algorithm(name: &str, ranks: usize) -> Algorithm {
    let topology = json!({"kind": "ring_1d", "ranks": ranks, "cube_w": 1, "cube_h": 1, "capacity": 2});
    let collective = json!({"kind": "all_reduce", "bits": "per_element"});
    let request = json!({"topology": topology, "n_elem": HIDDEN, "collective": collective});
    let asked = read_launch(&request).expect("a launch request");
    let setting = Setting::new(&asked.topology, HIDDEN as i64, asked.collective);
    let document = named(name).expect("it is in the table").document(&setting, &topology, &collective);
    read_algorithm(&document).expect("an algorithm")
}

/// The tokens that a rank picked.
fn tokens(steps: &[Read], rank: usize) -> Vec<u32> {
    steps.iter().map(|read| read[&format!("picked.{rank}")][0]).collect()
}

#[test]
fn a_decoder_of_several_ranks_has_what_simulate_predicts_and_picks_the_tokens_of_one() {
    let no_sums = |_: &[Vec<i64>]| Vec::new();
    let alone = tokens(&run(&decoder(1, true), 1, 0, &no_sums), 0);
    assert!(alone.iter().any(|token| *token != alone[0]), "{alone:?} says little");
    for ranks in [2, 4] {
        let whole = &decoder(ranks, true)[0];
        let mut ends = Vec::new();
        for name in ["published", "ring"] {
            let algorithm = algorithm(name, ranks);
            let (program, _) = judged(&algorithm, false).expect("it is right");
            let into = serde_json::from_str(whole).expect("JSON");
            let spliced = splice(&algorithm, &program, &into).expect("it fits").to_string();
            assert!(!spliced.contains("ALLREDUCE_SHARD"));
            let verdict = validate(spliced.as_bytes(), Classes::ALL);
            assert_eq!(verdict.diagnostics.iter().find(|found| found.is_error()), None, "{name} of {ranks}");
            let here = run(&[spliced], ranks, 3, &no_sums);
            let predicted = run(&decoder(ranks, false), ranks, 0, &|tiles| simulate(&program, tiles));
            assert_eq!(here, predicted, "{name} of {ranks}");
            assert_eq!(here.last().map_or(0, BTreeMap::len), ranks * (2 + 2 * LAYERS));
            for rank in 0..ranks {
                assert_eq!(tokens(&here, rank), alone, "{name} of {ranks}, rank {rank}");
            }
            ends.push(here);
        }
        // With two ranks there is one order of additions.
        assert_eq!(ends[0] == ends[1], ranks == 2, "{ranks}");
    }
}

#[test]
fn what_does_not_fit_is_said_in_words() {
    let algorithm = algorithm("ring", 2);
    let (program, _) = judged(&algorithm, false).expect("it is right");
    let refused = |edit: &dyn Fn(&mut Value), ranks: usize| {
        let mut into: Value = serde_json::from_str(&decoder(ranks, true)[0]).expect("JSON");
        edit(&mut into);
        splice(&algorithm, &program, &into).expect_err("it does not fit")
    };
    assert!(refused(&|_| {}, 4).contains("no ALLREDUCE_SHARD of 2 buffers"));
    let paged = |into: &mut Value| into["pages"] = json!({});
    assert!(refused(&paged, 2).contains("pages"));
    let wide = |into: &mut Value| {
        let buffers = into["buffers"].as_array_mut().expect("buffers").iter_mut();
        buffers
            .filter(|buffer| buffer["name"] == "l0.attn.part.0")
            .for_each(|buffer| buffer["dtype"] = json!("F32"));
    };
    assert!(refused(&wide, 2).contains("16 numbers of F32"));
    let one = |into: &mut Value| {
        let tasks = into["tasks"].as_array_mut().expect("tasks").iter_mut();
        tasks
            .filter(|task| task["op"] == "ALLREDUCE_SHARD")
            .take(1)
            .for_each(|task| task["op"] = json!("ADD"));
    };
    assert!(refused(&one, 2).contains("1 sums of the same buffers, required 2"));
}

/// A file of the examples is this. `BLESS=1` writes it.
#[track_caller]
fn assert_example(name: &str, value: &Value) {
    let path = format!("{}/../../../../examples/collectives/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, format!("{value}\n")).expect("it is written");
    }
    let text = std::fs::read_to_string(&path).expect("it is there");
    let there: Value = serde_json::from_str(&text).expect("JSON");
    assert!(there == *value, "{name} is another; BLESS=1 writes it anew");
}

#[test]
fn the_examples_are_this_decoder_and_a_ring_with_its_program() {
    let decoder: Value = serde_json::from_str(&decoder(2, true)[0]).expect("JSON");
    assert_example("decoder.json", &decoder);
    // What the host shim of the CUDA harness runs, in its tests.
    let algorithm = algorithm("ring", 4);
    let (program, _) = judged(&algorithm, false).expect("it is right");
    let mut draws = SplitMix64::new(3);
    let mut number = || (draws.below(2) << 15 | (15 + draws.below(11)) << 10 | draws.below(1024)) as i64;
    let tiles: Vec<Vec<i64>> = (0..4).map(|_| (0..HIDDEN).map(|_| number()).collect()).collect();
    let lowered = super::lower(&algorithm, &program, super::Order::Queues).expect("a program");
    let (piece, end) = (super::piece(&algorithm, &program), simulate(&program, &tiles));
    assert_example("lowered.json", &json!({"program": lowered, "piece": piece, "tiles": tiles, "end": end}));
}

#[test]
fn sums_of_eight_shards_that_wait_for_eight_counters_have_no_more_waits_than_a_task_can() {
    let of = |first: usize, what: &str, kind: &str| -> Vec<Value> {
        let buffer = |rank| json!({"id": first + rank, "name": format!("{what}.{rank}"), "kind": kind, "dtype": "F16", "shape": [1, HIDDEN]});
        (0..8).map(buffer).collect()
    };
    let buffers = [of(0, "x", "IO_INPUT"), of(8, "part", "ACTIVATION"), of(16, "sum", "IO_OUTPUT")].concat();
    let task = |id: usize, op: &str, inputs: Vec<usize>, output: usize, waits: &[Value]| json!({"id": id, "op": op, "inputs": inputs, "outputs": [output], "out_counter": id, "waits": waits, "params": {}});
    let waits: Vec<Value> = (0..8).map(|counter| json!({"counter": counter, "threshold": 1})).collect();
    let copies = (0..8).map(|rank| task(rank, "COPY", vec![rank], 8 + rank, &[]));
    let sums = (0..8).map(|rank| task(8 + rank, "ALLREDUCE_SHARD", (8..16).collect(), 16 + rank, &waits));
    let counters: Vec<Value> = (0..16).map(|id| json!({"id": id})).collect();
    let tasks: Vec<Value> = copies.chain(sums).collect();
    let whole = json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers, "counters": counters, "tasks": tasks});
    let errors = |program: &Value| -> Vec<_> {
        let found = validate(program.to_string().as_bytes(), Classes::ALL).diagnostics;
        found.into_iter().filter(|found| found.is_error()).map(|found| (found.rule, found.message)).collect()
    };
    assert_eq!(errors(&whole), []);
    let algorithm = algorithm("ring", 8);
    let (program, _) = judged(&algorithm, false).expect("it is right");
    assert_eq!(errors(&splice(&algorithm, &program, &whole).expect("it fits")), []);
}
