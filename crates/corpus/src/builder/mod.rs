//! A typed way of writing programs as JSON values.
//!
//! The builder checks nothing: a family that wants a broken program may have one. It does fill in what is tedious
//! to keep right by hand, which is ids, defaults, and the thresholds of [`TaskBuilder::after`].

mod layers;
mod names;
mod ops;
mod program;
mod target;
mod task;

pub use layers::{Attention, DecoderLayer, Dims, attention, decode_step};
pub use names::{DType, FLOATS, Kind, Op, Space, clause_of, is_unary, slug};
pub use ops::{Matrix, Tiles, Weights};
pub use program::{Error, Program, Result};
pub use target::{config, laptop, server};
pub use task::TaskBuilder;

use serde_json::{Map, Value, json};

/// A buffer of the program being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buf(pub usize);

/// A counter of the program being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ctr(pub usize);

/// A page of the program being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageId(pub usize);

/// How a wait gets its threshold.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Threshold {
    /// The number of producers of the counter, known when the program is finished.
    AllProducers,
    /// This number.
    Exactly(i64),
}

pub(crate) struct TaskRecord {
    op: Op,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    out_counter: usize,
    waits: Vec<(usize, Threshold)>,
    params: Map<String, Value>,
    sm: Option<i64>,
    est_bytes: u64,
    est_flops: u64,
    label: String,
}

struct BufferRecord {
    name: String,
    kind: Kind,
    dtype: DType,
    shape: Vec<u64>,
    space: Space,
}

/// Builds one program.
pub struct ProgramBuilder {
    meta: Map<String, Value>,
    target: Value,
    buffers: Vec<BufferRecord>,
    counters: Vec<String>,
    tasks: Vec<TaskRecord>,
    pages: Vec<(Space, u64)>,
    page_of: Vec<(usize, usize)>,
    config: Value,
}

impl ProgramBuilder {
    /// An empty program without target, pages and config.
    pub fn new(model: &str) -> Self {
        let mut meta = Map::new();
        meta.insert("model".into(), json!(model));
        Self {
            meta,
            target: Value::Null,
            buffers: Vec::new(),
            counters: Vec::new(),
            tasks: Vec::new(),
            pages: Vec::new(),
            page_of: Vec::new(),
            config: Value::Null,
        }
    }

    /// Sets one member of `meta`.
    pub fn meta(&mut self, key: &str, value: Value) {
        self.meta.insert(key.into(), value);
    }

    /// Sets the target, and `meta.gpu` to its name.
    pub fn target(&mut self, target: Value) {
        if let Some(name) = target.get("name") {
            self.meta.insert("gpu".into(), name.clone());
        }
        self.target = target;
    }

    /// Sets the config.
    pub fn config(&mut self, config: Value) {
        self.config = config;
    }

    /// Adds a buffer. WEIGHT and CONST buffers get their name as source.
    pub fn buffer(&mut self, name: &str, kind: Kind, dtype: DType, shape: &[u64], space: Space) -> Buf {
        let shape = shape.to_vec();
        self.buffers.push(BufferRecord { name: name.into(), kind, dtype, shape, space });
        Buf(self.buffers.len() - 1)
    }

    /// Adds an IO_INPUT buffer.
    pub fn input(&mut self, name: &str, dtype: DType, shape: &[u64]) -> Buf {
        self.buffer(name, Kind::IoInput, dtype, shape, Space::Hbm)
    }

    /// Adds an IO_OUTPUT buffer.
    pub fn output(&mut self, name: &str, dtype: DType, shape: &[u64]) -> Buf {
        self.buffer(name, Kind::IoOutput, dtype, shape, Space::Hbm)
    }

    /// Adds a WEIGHT buffer.
    pub fn weight(&mut self, name: &str, dtype: DType, shape: &[u64]) -> Buf {
        self.buffer(name, Kind::Weight, dtype, shape, Space::Hbm)
    }

    /// Adds a CONST buffer.
    pub fn constant(&mut self, name: &str, dtype: DType, shape: &[u64]) -> Buf {
        self.buffer(name, Kind::Const, dtype, shape, Space::Hbm)
    }

    /// Adds a KV_CACHE buffer.
    pub fn cache(&mut self, name: &str, dtype: DType, shape: &[u64]) -> Buf {
        self.buffer(name, Kind::KvCache, dtype, shape, Space::Hbm)
    }

    /// Adds an ACTIVATION buffer in HBM.
    pub fn act(&mut self, name: &str, dtype: DType, shape: &[u64]) -> Buf {
        self.buffer(name, Kind::Activation, dtype, shape, Space::Hbm)
    }

    /// Adds an ACTIVATION buffer in `space`.
    pub fn act_in(&mut self, space: Space, name: &str, dtype: DType, shape: &[u64]) -> Buf {
        self.buffer(name, Kind::Activation, dtype, shape, space)
    }

    /// Adds a counter.
    pub fn counter(&mut self, note: &str) -> Ctr {
        self.counters.push(note.into());
        Ctr(self.counters.len() - 1)
    }

    /// Starts a task; [`TaskBuilder::add`] puts it at the end of the task list.
    pub fn task(&mut self, op: Op) -> TaskBuilder<'_> {
        TaskBuilder::new(self, op)
    }

    /// Adds a page.
    pub fn page(&mut self, space: Space, nbytes: u64) -> PageId {
        self.pages.push((space, nbytes));
        PageId(self.pages.len() - 1)
    }

    /// Puts a buffer on a page.
    pub fn place(&mut self, buffer: Buf, page: PageId) {
        self.page_of.push((buffer.0, page.0));
    }

    /// Size of a buffer, in bytes (0 for a buffer of another program).
    pub fn bytes(&self, buffer: Buf) -> u64 {
        self.buffers.get(buffer.0).map_or(0, |b| b.dtype.nbytes(b.shape.iter().product()) as u64)
    }

    /// Shape of a buffer.
    pub fn shape(&self, buffer: Buf) -> &[u64] {
        self.buffers.get(buffer.0).map_or(&[], |b| &b.shape)
    }

    pub(crate) fn push_task(&mut self, task: TaskRecord) {
        self.tasks.push(task);
    }

    /// Number of tasks so far; the next task gets this id.
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// Writes the program with every member present, in canonical order.
    pub fn finish(self) -> Program {
        let mut producers = vec![0_i64; self.counters.len()];
        for task in &self.tasks {
            if let Some(count) = producers.get_mut(task.out_counter) {
                *count += 1;
            }
        }
        let tasks = self.tasks.iter().enumerate().map(|(id, task)| task.to_json(id, &producers)).collect();
        let buffers = self.buffers.iter().enumerate().map(|(id, buffer)| buffer.to_json(id)).collect();
        let counters =
            self.counters.iter().enumerate().map(|(id, note)| json!({"id": id, "init": 0, "note": note}));
        let mut root = Map::new();
        root.insert("ir_version".into(), json!("0.2.0"));
        root.insert("abi_version".into(), json!("0.2"));
        root.insert("meta".into(), Value::Object(self.meta));
        root.insert("target".into(), self.target);
        root.insert("buffers".into(), Value::Array(buffers));
        root.insert("counters".into(), counters.collect());
        root.insert("tasks".into(), Value::Array(tasks));
        root.insert("pages".into(), pages_json(&self.pages, &self.page_of));
        root.insert("config".into(), self.config);
        Program::new(Value::Object(root))
    }
}

fn pages_json(pages: &[(Space, u64)], page_of: &[(usize, usize)]) -> Value {
    if pages.is_empty() {
        return Value::Null;
    }
    let mut sorted = page_of.to_vec();
    sorted.sort_unstable();
    let map: Map<String, Value> = sorted.iter().map(|(b, p)| (b.to_string(), json!(p))).collect();
    let pages: Vec<Value> = pages
        .iter()
        .enumerate()
        .map(|(id, (space, nbytes))| {
            json!({"id": id, "space": space.name(), "nbytes": nbytes, "live_start": -1, "live_end": -1})
        })
        .collect();
    json!({"buffer_to_page": map, "pages": pages})
}

impl BufferRecord {
    fn to_json(&self, id: usize) -> Value {
        let source = matches!(self.kind, Kind::Weight | Kind::Const).then_some(&self.name);
        json!({
            "id": id, "name": self.name, "kind": self.kind.name(), "dtype": self.dtype.name(),
            "shape": self.shape, "space": self.space.name(), "source": source
        })
    }
}

impl TaskRecord {
    fn to_json(&self, id: usize, producers: &[i64]) -> Value {
        let waits: Vec<Value> = self
            .waits
            .iter()
            .map(|(counter, threshold)| {
                let threshold = match threshold {
                    Threshold::AllProducers => producers.get(*counter).copied().unwrap_or(0),
                    Threshold::Exactly(n) => *n,
                };
                json!({"counter": counter, "threshold": threshold})
            })
            .collect();
        json!({
            "id": id, "op": self.op.name(), "inputs": self.inputs, "outputs": self.outputs,
            "out_counter": self.out_counter, "waits": waits, "params": self.params, "sm": self.sm,
            "est_bytes": self.est_bytes, "est_flops": self.est_flops, "label": self.label
        })
    }
}
