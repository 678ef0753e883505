//! Launches with values, one after the other (clause EXE-09).

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use megakernel_ir::protocol::Accumulator;
use megakernel_ir::{BufferId, BufferKind, TaskId};
use megakernel_numerics::{Tensor, TensorError};

use super::bounded::{TRUNCATING_UNIT, UNIT};
use super::fault::Fault;
use super::load::Loaded;
use super::machine::{Machine, Work};
use super::memory::{BindError, Caches, Computed, MOST_ELEMENTS, Memory, Reference};
use super::schedule::Schedule;
use crate::region::Region;

/// How a launch is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// In which order; list order by default.
    pub schedule: Schedule,
    /// What the bounds allow for in long sums.
    pub accumulator: Accumulator,
    /// Whether to keep what each task wrote.
    pub trace: bool,
    /// The most elements that the buffers may have together; [`MOST_ELEMENTS`] by default.
    pub most_elements: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        let (schedule, accumulator) = (Schedule::default(), Accumulator::default());
        Settings { schedule, accumulator, trace: false, most_elements: MOST_ELEMENTS }
    }
}

/// An output or a cache after a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The buffer.
    pub buffer: BufferId,
    /// Its name.
    pub name: String,
    /// What it holds: the references, correctly rounded.
    pub tensor: Tensor,
    /// What another implementation is judged by.
    pub reference: Reference,
}

/// A launch that is over.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Every `IO_OUTPUT` and `KV_CACHE`, in the order of the buffers.
    pub outputs: Vec<Output>,
    /// What each task wrote, by task: the elements of its write footprint, in the shape of its box. Empty unless asked for.
    pub trace: BTreeMap<TaskId, Tensor>,
    /// The tasks in the order in which they started.
    pub order: Vec<TaskId>,
}

impl Finished {
    /// The output of this name.
    pub fn output(&self, name: &str) -> Option<&Output> {
        self.outputs.iter().find(|output| output.name == name)
    }
}

/// Why a launch did not come to its end.
#[derive(Clone, Debug)]
pub enum LaunchError {
    /// A buffer has no contents to begin with.
    Bind(BindError),
    /// Something went wrong while running.
    Fault(Fault),
    /// A result is no tensor.
    Tensor(TensorError),
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaunchError::Bind(error) => error.fmt(f),
            LaunchError::Fault(fault) => write!(f, "{} at {}", fault.name(), fault.pointer()),
            LaunchError::Tensor(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LaunchError {}

/// A row of launches. Counters, activations and outputs begin anew in each; caches keep their contents.
#[derive(Debug, Default)]
pub struct Session {
    caches: Caches,
    launches: usize,
}

impl Session {
    /// A session before its first launch: all caches are zeros.
    pub fn new() -> Session {
        Session::default()
    }

    /// Runs a program to its end. `tensors` bind WEIGHT and CONST buffers by `source`, or by `name` without one,
    /// IO_INPUT by name, and in the first launch KV_CACHE by name. Only buffers that some task lists need one.
    ///
    /// # Errors
    /// A tensor is missing or of another type, or the run ends in a fault. The caches are then as they were before.
    pub fn launch(
        &mut self,
        loaded: &Loaded<'_>,
        tensors: &BTreeMap<String, Tensor>,
        settings: &Settings,
    ) -> Result<Finished, LaunchError> {
        let program = loaded.program();
        let memory = Memory::new(program, tensors, &self.caches, self.launches == 0, settings.most_elements)
            .map_err(LaunchError::Bind)?;
        let mut computing = Computing {
            loaded,
            memory,
            unit: unit(settings.accumulator),
            pending: HashMap::new(),
            trace: settings.trace.then(BTreeMap::new),
        };
        let order = Machine::new(loaded, settings.schedule.clone())
            .run(&mut computing)
            .map_err(LaunchError::Fault)?;
        let Computing { memory, trace, .. } = computing;
        let mut outputs = Vec::new();
        for (id, buffer) in program.buffers_by_id() {
            if let (BufferKind::IoOutput | BufferKind::KvCache, Some(contents)) =
                (buffer.kind, memory.contents(id))
            {
                outputs.push(Output {
                    buffer: id,
                    name: buffer.name.to_string(),
                    tensor: contents.tensor(&Region::of(buffer)).map_err(LaunchError::Tensor)?,
                    reference: contents.reference(),
                });
            }
        }
        memory.keep(program, &mut self.caches);
        self.launches += 1;
        Ok(Finished { outputs, trace: trace.unwrap_or_default(), order })
    }
}

/// The unit of long sums (NUM-06).
pub(super) fn unit(accumulator: Accumulator) -> f64 {
    match accumulator {
        Accumulator::Binary32 => UNIT,
        Accumulator::Truncating => TRUNCATING_UNIT,
    }
}

/// Computes between the start and the finish of each task.
struct Computing<'m, 'p> {
    loaded: &'m Loaded<'p>,
    memory: Memory,
    unit: f64,
    /// Computed and not yet stored.
    pending: HashMap<TaskId, Computed>,
    trace: Option<BTreeMap<TaskId, Tensor>>,
}

impl Work for Computing<'_, '_> {
    const WORKS: bool = true;

    fn read(&mut self, task: TaskId) -> Result<(), Fault> {
        if let Some(written) = self.memory.compute(self.loaded, task, self.unit)? {
            self.pending.insert(task, written);
        }
        Ok(())
    }

    fn write(&mut self, task: TaskId) -> Result<(), Fault> {
        let Some(written) = self.pending.remove(&task) else { return Ok(()) };
        self.memory.store(self.loaded, task, &written);
        if let Some(trace) = &mut self.trace
            && let Some((buffer, region)) = self.loaded.written(task)
            && let Some(contents) = self.memory.contents(buffer)
        {
            let tensor = contents.tensor(&region);
            let tensor = tensor.map_err(|error| Fault::NotComputed { task, what: error.to_string() })?;
            trace.insert(task, tensor);
        }
        Ok(())
    }
}
