//! Programs whose tasks wait for all that they conflict with, by way of counters that others use as well, of joins, or of
//! tasks in between.

use megakernel_ir::prng::SplitMix64;
use std::fmt::Write;

use super::Generated;
use super::model::{Access, Known, Model};

/// Most waits of a task (clause DAT-09).
pub const WAITS: usize = 8;
pub const CACHE_ROWS: usize = 96;
/// Rows of the cache that earlier launches filled.
const OLD_ROWS: usize = 3;

/// What a task computes.
pub struct Record {
    pub op: &'static str,
    pub inputs: Vec<usize>,
    pub output: Option<usize>,
    pub params: String,
}

/// A program under construction.
#[derive(Default)]
pub struct Builder {
    rng: Option<SplitMix64>,
    buffers: Vec<String>,
    pub sizes: Vec<(usize, usize, bool)>,
    pub bound: Vec<Option<usize>>,
    /// Rows and columns of pages, which do for all their buffers.
    pub pages: Vec<usize>,
    records: Vec<Record>,
    tasks: Vec<Known>,
    /// Whom each task comes after.
    ancestors: Vec<Vec<bool>>,
    producers: Vec<Vec<usize>>,
    /// Activations that may be read and written.
    pub live: Vec<usize>,
    pub cache: usize,
    pub next_row: usize,
}

impl Builder {
    pub fn new(seed: u64) -> Builder {
        let mut builder =
            Builder { rng: Some(SplitMix64::new(seed)), next_row: OLD_ROWS, ..Builder::default() };
        builder.buffer("CONST", &[1, 1], false);
        builder.cache = builder.buffer("KV_CACHE", &[CACHE_ROWS, 1, 1], true);
        builder
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.rng.as_mut().map_or(0, |rng| rng.index(bound.max(1)))
    }

    pub fn buffer(&mut self, kind: &str, shape: &[usize], is_cache: bool) -> usize {
        let id = self.buffers.len();
        self.buffers
            .push(format!(r#"{{"id":{id},"name":"b{id}","kind":"{kind}","dtype":"F32","shape":{shape:?}}}"#));
        self.sizes.push((shape[0], shape.get(1).copied().unwrap_or(1), is_cache));
        self.bound.push(None);
        id
    }

    /// A live activation; the first one where there is none yet is made.
    pub fn pick(&mut self, number: usize) -> usize {
        if self.live.is_empty() {
            self.fill(2, 1, true);
        }
        self.live[number % self.live.len()]
    }

    pub fn access(&self, buffer: usize, writes: bool) -> Access {
        let (rows, columns, _) = self.sizes[buffer];
        Access { buffer, writes, rows: (0, rows), columns: (0, columns) }
    }

    /// Adds tasks that do not conflict with each other, each after all that it conflicts with.
    pub fn group(&mut self, tasks: Vec<(Record, Vec<Access>)>, one_counter: bool) {
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
    pub fn finish(mut self, sms: u64) -> Generated {
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
