//! A program as it was read: what rules beyond reading need of it. A reference is the number that the document states, and an id
//! is the place of a record.

use megakernel_ir::{BufferId, BufferKind, CounterId, DType, MemSpace, Opcode, TaskId};

use crate::json::Json;

/// The document.
#[derive(Clone, Debug)]
pub struct Program {
    /// `meta.gpu`, if it is a text.
    pub gpu: Option<String>,
    /// The GPU.
    pub target: Option<Target>,
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// The counters.
    pub counters: Vec<Counter>,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Which buffers share storage.
    pub pages: Option<Pages>,
    /// The configuration.
    pub config: Option<Config>,
}

/// A buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its id.
    pub id: i64,
    /// What it is for.
    pub kind: BufferKind,
    /// Of its elements.
    pub dtype: DType,
    /// The extents.
    pub shape: Vec<i64>,
    /// Where it is.
    pub space: MemSpace,
}

/// A counter.
#[derive(Clone, Debug)]
pub struct Counter {
    /// Its id.
    pub id: i64,
    /// Where it starts.
    pub init: i64,
}

/// A task.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its id.
    pub id: i64,
    /// What it does.
    pub op: Opcode,
    /// What it reads.
    pub inputs: Vec<i64>,
    /// What it writes.
    pub outputs: Vec<i64>,
    /// The counter that it increments.
    pub out: i64,
    /// Counter and threshold.
    pub waits: Vec<(i64, i128)>,
    /// The parameters.
    pub params: Vec<(String, Json)>,
    /// Where it runs.
    pub sm: Option<i64>,
    /// Bytes and operations.
    pub estimates: [i64; 2],
}

/// Which buffers share storage.
#[derive(Clone, Debug)]
pub struct Pages {
    /// Buffer and page.
    pub map: Vec<(i64, i64)>,
    /// The pages.
    pub pages: Vec<Page>,
}

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its id.
    pub id: i64,
    /// Where it is.
    pub space: MemSpace,
    /// Its size.
    pub nbytes: i64,
    /// What an allocator believed.
    pub live: [i64; 2],
}

/// The GPU.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// The members that are integers.
    pub ints: Vec<(&'static str, i64)>,
    /// Those that are numbers.
    pub numbers: Vec<(&'static str, f64)>,
    /// Whether it launches cooperatively.
    pub cooperative: bool,
}

impl Target {
    /// A member that is an integer.
    pub fn int(&self, name: &str) -> i128 {
        let found = self.ints.iter().find(|(other, _)| *other == name);
        i128::from(found.map_or(0, |(_, value)| *value))
    }
}

/// The configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Every size.
    pub tiling: Vec<i64>,
    /// Task and SM.
    pub assignment: Vec<(i64, i64)>,
    /// `pipelining_depth`
    pub depth: i64,
    /// `threads_per_block`
    pub threads: i64,
    /// `smem_bytes_per_block`
    pub smem: i64,
}

impl Program {
    /// The buffer that a reference names.
    pub fn buffer(&self, stated: i64) -> Option<&Buffer> {
        self.buffer_at(BufferId::stated(stated))
    }

    /// A buffer by its place.
    pub fn buffer_at(&self, id: BufferId) -> Option<&Buffer> {
        self.buffers.get(id.index())
    }

    /// A task by its place.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(id.index())
    }

    /// The places of the tasks.
    pub fn task_ids(&self) -> impl Iterator<Item = TaskId> + Clone + use<> {
        TaskId::range(0..self.tasks.len())
    }

    /// The tasks with their places.
    pub fn tasks_by_id(&self) -> impl Iterator<Item = (TaskId, &Task)> + Clone {
        self.task_ids().zip(&self.tasks)
    }

    /// The buffers with their places.
    pub fn buffers_by_id(&self) -> impl Iterator<Item = (BufferId, &Buffer)> + Clone {
        BufferId::range(0..self.buffers.len()).zip(&self.buffers)
    }
}

impl Pages {
    /// Whether a buffer is on a page.
    pub fn hold(&self, buffer: BufferId) -> bool {
        self.map.iter().any(|(other, _)| *other == i64::from(buffer))
    }
}

impl Buffer {
    /// The number of elements; nothing where it is beyond 127 bits.
    pub fn numel(&self) -> Option<i128> {
        let mut product: i128 = 1;
        for &extent in &self.shape {
            product = product.checked_mul(i128::from(extent))?;
        }
        Some(product)
    }

    /// The size in bytes, of a buffer that is no larger than it may be.
    pub fn nbytes(&self) -> i128 {
        let bits = i128::from(self.dtype.bits());
        self.numel().and_then(|numel| numel.checked_mul(bits)).map_or(i128::MAX, |bits| (bits + 7) / 8)
    }

    /// The last extent.
    pub fn last(&self) -> Option<i128> {
        self.shape.last().map(|&extent| i128::from(extent))
    }
}

impl Task {
    /// Whether a buffer is an input.
    pub fn reads(&self, buffer: BufferId) -> bool {
        self.inputs.contains(&buffer.into())
    }

    /// Whether a buffer is an output.
    pub fn writes(&self, buffer: BufferId) -> bool {
        self.outputs.contains(&buffer.into())
    }

    /// Whether a buffer is an operand.
    pub fn uses(&self, buffer: BufferId) -> bool {
        self.reads(buffer) || self.writes(buffer)
    }

    /// Whether a counter is the one that the task increments.
    pub fn increments(&self, counter: CounterId) -> bool {
        self.out == i64::from(counter)
    }

    /// Whether a counter is among those that the task waits on.
    pub fn waits_on(&self, counter: CounterId) -> bool {
        self.waits.iter().any(|(other, _)| *other == i64::from(counter))
    }

    /// The value of a parameter.
    pub fn param(&self, name: &str) -> Option<&Json> {
        self.params.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    /// The value of an integer parameter.
    pub fn int(&self, name: &str) -> Option<i128> {
        match self.param(name) {
            Some(Json::Number(text)) => text.parse().ok(),
            _ => None,
        }
    }
}
