//! Random programs of hundreds of tasks, valid by construction.

mod builder;
pub mod model;

pub use builder::WAITS;
use builder::{Builder, CACHE_ROWS, Record};
use model::{Access, Model};
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

impl Builder {
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
}
