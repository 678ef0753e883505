//! Random programs of hundreds of tasks, valid by construction: each task waits for all that it conflicts with, by way of
//! counters that others use as well, of joins, or of tasks in between.

pub mod model;

use std::fmt::Write;

use model::{Access, Known, Model};
use proptest::prelude::*;

/// What comes next in a program.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A new buffer, written in tiles of rows; under one counter, or each under its own.
    Fill { tiles: usize, columns: usize, one_counter: bool },
    /// A tile of an existing buffer written again, after its readers.
    Rewrite { buffer: usize, tile: usize },
    /// A new buffer computed from an existing one as a whole, element by element or not.
    Whole { from: usize, elementwise: bool },
    /// Some rows of a buffer read by several tasks side by side.
    Readers { from: usize, count: usize, one_counter: bool },
    /// A buffer changed in place.
    InPlace { buffer: usize },
    /// A row appended to the cache.
    Append,
    /// Rows of the cache read by several tasks.
    Attend { count: usize, one_counter: bool },
    /// A chain of buffers that take turns on so many pages.
    Paged { from: usize, length: usize, pages: usize },
    /// A layer of a decoder: norm, projections in tiles under one counter each, append, attention, a residual.
    Layer { tiles: usize },
}

/// A random program before it is one: small values make small programs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Number of SMs; with none, tasks have none and stand in any order.
    pub sms: u64,
    /// For all choices that do not matter to the size.
    pub seed: u64,
}

fn free_step() -> impl Strategy<Value = Step> {
    let one = 0..64usize;
    prop_oneof![
        3 => (1..9usize, 1..3usize, any::<bool>())
            .prop_map(|(tiles, columns, one_counter)| Step::Fill { tiles, columns, one_counter }),
        3 => (one.clone(), one.clone()).prop_map(|(buffer, tile)| Step::Rewrite { buffer, tile }),
        3 => (one.clone(), any::<bool>()).prop_map(|(from, elementwise)| Step::Whole { from, elementwise }),
        3 => (one.clone(), 1..6usize, any::<bool>())
            .prop_map(|(from, count, one_counter)| Step::Readers { from, count, one_counter }),
        2 => one.clone().prop_map(|buffer| Step::InPlace { buffer }),
        2 => Just(Step::Append),
        2 => (1..4usize, any::<bool>()).prop_map(|(count, one_counter)| Step::Attend { count, one_counter }),
        2 => (one, 2..7usize, 1..4usize)
            .prop_map(|(from, length, pages)| Step::Paged { from, length, pages }),
    ]
}

/// Programs without any plan behind them.
pub fn free_form() -> impl Strategy<Value = Plan> {
    (prop::collection::vec(free_step(), 1..60), 0..5u64, any::<u64>()).prop_map(|(steps, sms, seed)| Plan {
        steps,
        sms,
        seed,
    })
}

/// Programs as compilers of decoders emit them.
pub fn decoder_like() -> impl Strategy<Value = Plan> {
    let layer = (2..24usize).prop_map(|tiles| Step::Layer { tiles });
    (prop::collection::vec(layer, 1..5), 0..5u64, any::<u64>()).prop_map(|(steps, sms, seed)| Plan {
        steps,
        sms,
        seed,
    })
}

/// A program and what is known of it.
pub struct Generated {
    /// The document.
    pub text: String,
    pub model: Model,
}

/// The program of a plan.
pub fn generate(plan: &Plan) -> Generated {
    let mut builder = Builder::new(plan.seed);
    plan.steps.iter().for_each(|&step| builder.step(step));
    let last = builder.pick(usize::MAX);
    builder.whole(last, "COPY", "IO_OUTPUT");
    builder.finish(plan.sms)
}

/// SplitMix64, the generator of clause CON-09.
pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ (mixed >> 31)) * bound as u128) >> 64) as usize
    }
}

/// Most waits of a task (clause DAT-09).
pub const WAITS: usize = 8;
const CACHE_ROWS: usize = 96;
/// Rows of the cache that earlier launches filled.
const OLD_ROWS: usize = 3;

struct Record {
    op: &'static str,
    inputs: Vec<usize>,
    output: Option<usize>,
    params: String,
}

#[derive(Default)]
struct Builder {
    rng: Option<Rng>,
    buffers: Vec<String>,
    sizes: Vec<(usize, usize, bool)>,
    bound: Vec<Option<usize>>,
    /// Rows and columns of pages, which do for all their buffers.
    pages: Vec<usize>,
    records: Vec<Record>,
    tasks: Vec<Known>,
    /// Whom each task comes after.
    ancestors: Vec<Vec<bool>>,
    producers: Vec<Vec<usize>>,
    /// Activations that may be read and written.
    live: Vec<usize>,
    cache: usize,
    next_row: usize,
}

impl Builder {
    fn new(seed: u64) -> Builder {
        let mut builder = Builder { rng: Some(Rng(seed)), next_row: OLD_ROWS, ..Builder::default() };
        builder.buffer("CONST", &[1, 1], false);
        builder.cache = builder.buffer("KV_CACHE", &[CACHE_ROWS, 1, 1], true);
        builder
    }

    fn below(&mut self, bound: usize) -> usize {
        self.rng.as_mut().map_or(0, |rng| rng.below(bound.max(1)))
    }

    fn buffer(&mut self, kind: &str, shape: &[usize], is_cache: bool) -> usize {
        let id = self.buffers.len();
        self.buffers
            .push(format!(r#"{{"id":{id},"name":"b{id}","kind":"{kind}","dtype":"F32","shape":{shape:?}}}"#));
        self.sizes.push((shape[0], shape.get(1).copied().unwrap_or(1), is_cache));
        self.bound.push(None);
        id
    }

    /// A live activation; the first one where there is none yet is made.
    fn pick(&mut self, number: usize) -> usize {
        if self.live.is_empty() {
            self.fill(2, 1, true);
        }
        self.live[number % self.live.len()]
    }

    fn access(&self, buffer: usize, writes: bool) -> Access {
        let (rows, columns, _) = self.sizes[buffer];
        Access { buffer, writes, rows: (0, rows), columns: (0, columns) }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Fill { tiles, columns, one_counter } => drop(self.fill(tiles, columns, one_counter)),
            Step::Rewrite { buffer, tile } => {
                let buffer = self.pick(buffer);
                let rows = self.sizes[buffer].0;
                let first = tile % rows;
                let count = 1 + self.below(rows - first);
                self.tiles(buffer, &[(first, count)], true);
            }
            Step::Whole { from, elementwise } => {
                let from = self.pick(from);
                let to = self.whole(from, if elementwise { "GELU" } else { "SOFTMAX" }, "ACTIVATION");
                self.live.push(to);
            }
            Step::Readers { from, count, one_counter } => self.readers(from, count, one_counter),
            Step::InPlace { buffer } => {
                let buffer = self.pick(buffer);
                let accesses = vec![self.access(buffer, false), self.access(buffer, true)];
                let record =
                    Record { op: "GELU", inputs: vec![buffer], output: Some(buffer), params: String::new() };
                self.group(vec![(record, accesses)], true);
            }
            Step::Append if self.next_row < CACHE_ROWS => self.append(),
            Step::Append => {}
            Step::Attend { count, one_counter } => self.attend(count, one_counter),
            Step::Paged { from, length, pages } => self.paged(from, length, pages),
            Step::Layer { tiles } => self.layer(tiles),
        }
    }

    fn fill(&mut self, tiles: usize, columns: usize, one_counter: bool) -> usize {
        let heights: Vec<usize> = (0..tiles).map(|_| 1 + self.below(2)).collect();
        let buffer = self.buffer("ACTIVATION", &[heights.iter().sum(), columns], false);
        let mut first = 0;
        let spans: Vec<(usize, usize)> = heights
            .iter()
            .map(|&height| {
                first += height;
                (first - height, height)
            })
            .collect();
        self.tiles(buffer, &spans, one_counter);
        self.live.push(buffer);
        buffer
    }

    /// Writes spans of rows of a buffer from an input of its own.
    fn tiles(&mut self, buffer: usize, spans: &[(usize, usize)], one_counter: bool) {
        let (rows, columns, _) = self.sizes[buffer];
        let input = self.buffer("IO_INPUT", &[rows, columns], false);
        let square = self.buffer("CONST", &[columns, columns], false);
        let tile = |&(first, count): &(usize, usize)| {
            let params =
                format!(r#""K":{columns},"N_tile":{columns},"n_off":0,"M_tile":{count},"m_off":{first}"#);
            let record =
                Record { op: "GEMM_TILE", inputs: vec![input, square], output: Some(buffer), params };
            let rows = (first, first + count);
            (record, vec![Access { buffer, writes: true, rows, columns: (0, columns) }])
        };
        self.group(spans.iter().map(tile).collect(), one_counter);
    }

    /// Computes a new buffer from another one.
    fn whole(&mut self, from: usize, op: &'static str, kind: &str) -> usize {
        let (rows, columns, _) = self.sizes[from];
        let to = self.buffer(kind, &[rows, columns], false);
        self.replace(from, to, op);
        to
    }

    fn replace(&mut self, from: usize, to: usize, op: &'static str) {
        let accesses = vec![self.access(from, false), self.access(to, true)];
        let record = Record { op, inputs: vec![from], output: Some(to), params: String::new() };
        self.group(vec![(record, accesses)], true);
    }

    /// Tasks that take a buffer as the weight of a projection, each some of its rows.
    fn readers(&mut self, from: usize, count: usize, one_counter: bool) {
        let from = self.pick(from);
        let (rows, columns, _) = self.sizes[from];
        let x = self.buffer("CONST", &[1, columns], false);
        let mut group = Vec::new();
        for _ in 0..count {
            let first = self.below(rows);
            let height = 1 + self.below(rows - first);
            let y = self.buffer("ACTIVATION", &[1, rows], false);
            let params = format!(r#""K":{columns},"N_tile":{height},"n_off":{first}"#);
            let record = Record { op: "GEMV_TILE", inputs: vec![x, from], output: Some(y), params };
            let span = (first, first + height);
            let read = Access { buffer: from, writes: false, rows: span, columns: (0, columns) };
            let write = Access { buffer: y, writes: true, rows: (0, 1), columns: span };
            group.push((record, vec![read, write]));
        }
        self.group(group, one_counter);
    }

    fn append(&mut self) {
        let (cache, row) = (self.cache, self.next_row);
        self.next_row += 1;
        let write = Access { buffer: cache, writes: true, rows: (row, row + 1), columns: (0, 1) };
        let record = Record {
            op: "KV_APPEND",
            inputs: vec![0, cache],
            output: Some(cache),
            params: format!(r#""pos":{row}"#),
        };
        self.group(vec![(record, vec![write])], true);
    }

    fn attend(&mut self, count: usize, one_counter: bool) {
        let cache = self.cache;
        let mut group = Vec::new();
        for _ in 0..count {
            let first = self.below(self.next_row);
            let length = 1 + self.below(self.next_row - first);
            let y = self.buffer("ACTIVATION", &[1, 1], false);
            let params = format!(
                r#""head_dim":1,"kv_start":{first},"kv_len":{length},"scale":1.0,"n_heads":1,"n_kv_heads":1"#
            );
            let record =
                Record { op: "ATTENTION_TILE", inputs: vec![0, cache, cache], output: Some(y), params };
            let rows = (first, first + length);
            let read = Access { buffer: cache, writes: false, rows, columns: (0, 1) };
            group.push((record, vec![read, self.access(y, true)]));
        }
        self.group(group, one_counter);
    }

    fn paged(&mut self, from: usize, length: usize, pages: usize) {
        let mut from = self.pick(from);
        let (rows, columns, _) = self.sizes[from];
        let base = self.pages.len();
        self.pages.resize(base + pages, 4 * rows * columns);
        for step in 0..length {
            let to = self.buffer("ACTIVATION", &[rows, columns], false);
            self.bound[to] = Some(base + step % pages);
            self.replace(from, to, "GELU");
            from = to;
        }
        // The last on its page stays; those before it are gone.
        self.live.push(from);
    }

    fn layer(&mut self, tiles: usize) {
        let x = self.pick(usize::MAX);
        let normed = self.whole(x, "SOFTMAX", "ACTIVATION");
        let projections: Vec<usize> = (0..3).map(|_| self.projection(normed, tiles)).collect();
        if self.next_row < CACHE_ROWS {
            self.append();
        }
        self.attend(2, true);
        self.live.extend(&projections);
        let q = projections[0];
        self.step(Step::InPlace { buffer: self.live.iter().position(|&live| live == q).unwrap_or(0) });
        let up = self.projection(q, tiles);
        self.paged_from(up, 3);
    }

    fn paged_from(&mut self, buffer: usize, length: usize) {
        self.live.push(buffer);
        self.paged(self.live.len() - 1, length, 2);
    }

    /// A projection in tiles of one column under one counter.
    fn projection(&mut self, from: usize, tiles: usize) -> usize {
        let (rows, columns, _) = self.sizes[from];
        let weight = self.buffer("WEIGHT", &[tiles, columns], false);
        let to = self.buffer("ACTIVATION", &[rows, tiles], false);
        let tile = |index: usize| {
            let params = format!(r#""K":{columns},"N_tile":1,"n_off":{index},"M_tile":{rows},"m_off":0"#);
            let record = Record { op: "GEMM_TILE", inputs: vec![from, weight], output: Some(to), params };
            let write = Access { buffer: to, writes: true, rows: (0, rows), columns: (index, index + 1) };
            (
                record,
                vec![Access { buffer: from, writes: false, rows: (0, rows), columns: (0, columns) }, write],
            )
        };
        self.group((0..tiles).map(tile).collect(), true);
        to
    }

    /// Adds tasks that do not conflict with each other, each after all that it conflicts with.
    fn group(&mut self, tasks: Vec<(Record, Vec<Access>)>, one_counter: bool) {
        let orders: Vec<Vec<usize>> = tasks.iter().map(|(_, accesses)| self.order(accesses)).collect();
        let mut counter = None;
        for ((record, accesses), waits) in tasks.into_iter().zip(orders) {
            let out = *counter.filter(|_| one_counter).get_or_insert_with(|| {
                self.producers.push(Vec::new());
                self.producers.len() - 1
            });
            counter = Some(out);
            self.push(record, accesses, waits, out);
        }
    }

    fn push(&mut self, record: Record, accesses: Vec<Access>, waits: Vec<usize>, out: usize) {
        let mut ancestors = vec![false; self.tasks.len()];
        for &producer in waits.iter().flat_map(|&counter| &self.producers[counter]) {
            ancestors[producer] = true;
            let more = self.ancestors[producer].iter().enumerate().filter(|(_, is)| **is);
            more.for_each(|(ancestor, _)| ancestors[ancestor] = true);
        }
        self.producers[out].push(self.tasks.len());
        let elementwise = matches!(record.op, "COPY" | "GELU");
        self.records.push(record);
        self.tasks.push(Known { out, waits, sm: None, accesses, elementwise });
        self.ancestors.push(ancestors);
    }

    /// What a task with these accesses has to come after, as counters to wait on; adds joins where these are too many.
    fn order(&mut self, accesses: &[Access]) -> Vec<usize> {
        let conflicts = |task: &Known, access: &Access| {
            let page = self.bound[access.buffer];
            let mut tenants = (0..access.buffer).filter(|&other| page.is_some() && self.bound[other] == page);
            task.accesses.iter().any(|other| other.conflicts(access))
                || tenants.any(|tenant| task.uses(tenant))
        };
        let mut needed: Vec<usize> = (0..self.tasks.len())
            .filter(|&task| accesses.iter().any(|access| conflicts(&self.tasks[task], access)))
            .collect();
        let mut counters = Vec::new();
        // The latest first: it often comes after the others.
        while let Some(task) = needed.pop() {
            let counter = self.tasks[task].out;
            counters.push(counter);
            let covered = |other: usize| {
                let mut producers = self.producers[counter].iter();
                producers
                    .any(|&producer| producer == other || self.ancestors[producer].get(other) == Some(&true))
            };
            needed.retain(|&other| !covered(other));
        }
        // Now and then one that is not needed.
        if self.below(3) == 0 && !self.producers.is_empty() {
            let more = self.below(self.producers.len());
            if !counters.contains(&more) {
                counters.push(more);
            }
        }
        let relay = !counters.is_empty() && self.below(4) == 0;
        if counters.len() > WAITS || relay { self.join(counters) } else { counters }
    }

    /// Tasks that do nothing but wait; gives back the counter of the last.
    fn join(&mut self, mut counters: Vec<usize>) -> Vec<usize> {
        loop {
            let mut next = Vec::new();
            for waits in counters.chunks(WAITS) {
                self.producers.push(Vec::new());
                let out = self.producers.len() - 1;
                let record = Record { op: "NOP", inputs: vec![], output: None, params: String::new() };
                self.push(record, Vec::new(), waits.to_vec(), out);
                next.push(out);
            }
            counters = next;
            if counters.len() <= 1 {
                return counters;
            }
        }
    }

    /// Places the tasks in a list, which with SMs is an order that agrees with the waits.
    fn finish(mut self, sms: u64) -> Generated {
        let count = self.tasks.len();
        let mut keys: Vec<(usize, usize)> = (0..count).map(|task| (self.below(1 << 30), task)).collect();
        if sms > 0 {
            // A task comes after its ancestors, otherwise anywhere.
            for task in 0..count {
                let after = (0..task).filter(|&other| self.ancestors[task][other]).map(|other| keys[other].0);
                let least = after.max().map_or(0, |key| key + 1);
                keys[task].0 = least + self.below((1 << 30) >> (count.min(20)));
            }
        }
        keys.sort_unstable();
        let order: Vec<usize> = keys.into_iter().map(|(_, task)| task).collect();
        let mut position = vec![0; count];
        order.iter().enumerate().for_each(|(index, &task)| position[task] = index);
        let mut tasks = Vec::new();
        let mut lines = Vec::new();
        for (index, &task) in order.iter().enumerate() {
            let sm = (sms > 0 && self.below(8) > 0).then(|| self.below(sms as usize) as i64);
            let known = Known { sm, ..self.tasks[task].clone() };
            let Record { op, inputs, output, params } = &self.records[task];
            let waits: Vec<String> = known
                .waits
                .iter()
                .map(|&counter| {
                    format!(r#"{{"counter":{counter},"threshold":{}}}"#, self.producers[counter].len())
                })
                .collect();
            let outputs: Vec<usize> = output.iter().copied().collect();
            let sm = sm.map_or("null".to_owned(), |sm| sm.to_string());
            lines.push(format!(
                r#"{{"id":{index},"op":"{op}","inputs":{inputs:?},"outputs":{outputs:?},"out_counter":{},"waits":[{}],"params":{{{params}}},"sm":{sm}}}"#,
                known.out,
                waits.join(",")
            ));
            tasks.push(known);
        }
        let model = Model {
            tasks,
            topological: position,
            counters: self.producers.len(),
            buffers: self.sizes.clone(),
            pages: self.bound.clone(),
        };
        Generated { text: self.document(&lines), model }
    }

    fn document(&self, tasks: &[String]) -> String {
        let counters: Vec<String> = (0..self.producers.len()).map(|id| format!(r#"{{"id":{id}}}"#)).collect();
        let mut bound = String::new();
        for (buffer, page) in self.bound.iter().enumerate().filter_map(|(b, page)| Some((b, (*page)?))) {
            let separator = if bound.is_empty() { "" } else { "," };
            let _ = write!(bound, r#"{separator}"{buffer}":{page}"#);
        }
        let pages: Vec<String> = self
            .pages
            .iter()
            .enumerate()
            .map(|(id, nbytes)| format!(r#"{{"id":{id},"space":"HBM","nbytes":{nbytes}}}"#))
            .collect();
        format!(
            "{{\"ir_version\":\"0.2.0\",\"abi_version\":\"0.2\",\n\"pages\":{{\"buffer_to_page\":{{{bound}}},\"pages\":[{}]}},\n\"buffers\":[\n{}],\n\"counters\":[{}],\n\"tasks\":[\n{}]}}\n",
            pages.join(","),
            self.buffers.join(",\n"),
            counters.join(","),
            tasks.join(",\n")
        )
    }
}
