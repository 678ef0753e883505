//! One task at a time, from contents that somebody else wrote: how a trace is judged (clause NUM-12).

use std::collections::BTreeMap;

use megakernel_ir::model::Program;
use megakernel_ir::protocol::Accumulator;
use megakernel_ir::{BufferId, Diagnostic, TaskId};
use megakernel_numerics::Tensor;

use super::bounded::Bounded;
use super::fault::Fault;
use super::load::Loaded;
use super::memory::{BindError, Computed, MOST_ELEMENTS, Memory, Reference, held, volume};
use super::schedule::Schedule;
use super::session::unit;
use crate::region::Region;

/// What a task should write.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskOutput {
    /// The buffer.
    pub buffer: BufferId,
    /// The elements of it.
    pub region: Region,
    /// What they should be, row-major.
    pub reference: Reference,
}

/// A launch of an implementation that is followed. Memory holds what the implementation wrote.
#[derive(Debug)]
pub struct Following<'p> {
    loaded: Loaded<'p>,
    memory: Memory,
    unit: f64,
}

impl<'p> Following<'p> {
    /// Memory before the first task. `tensors` bind buffers as [`Session::launch`](super::Session::launch) says, but for caches:
    /// each holds the tensor of its name in `caches`, or zeros.
    ///
    /// # Errors
    /// The program breaks a rule, or a buffer is not bound as it should be; in words.
    pub fn new(
        program: &'p Program<'p>,
        tensors: &BTreeMap<String, Tensor>,
        caches: &BTreeMap<String, Tensor>,
        accumulator: Accumulator,
    ) -> Result<Following<'p>, String> {
        let first = |found: Vec<Diagnostic>| {
            let message = |diagnostic: &Diagnostic| {
                format!("{} at {}: {}", diagnostic.rule, diagnostic.pointer, diagnostic.message)
            };
            found.first().map(message).unwrap_or_default()
        };
        let loaded = Loaded::load(program).map_err(first)?;
        let memory = held(program, caches)
            .and_then(|caches| Memory::new(program, tensors, &caches, false, MOST_ELEMENTS))
            .map_err(|error: BindError| error.to_string())?;
        Ok(Following { loaded, memory, unit: unit(accumulator) })
    }

    /// The tasks, each after those that it depends on.
    ///
    /// # Errors
    /// The run of an accepted program ends in a fault: the validator or the VM is wrong.
    pub fn order(&self) -> Result<Vec<TaskId>, Fault> {
        self.loaded.rehearse(Schedule::default())
    }

    /// What a task should write, from what memory holds now; nothing for a task that writes nothing.
    ///
    /// # Errors
    /// The opcode gives no meaning to the operands.
    pub fn task(&self, task: TaskId) -> Result<Option<TaskOutput>, Fault> {
        let written = self.memory.compute(&self.loaded, task, self.unit)?;
        let Some((written, (buffer, region))) = written.zip(self.loaded.written(task)) else {
            return Ok(None);
        };
        let reference = match written {
            Computed::Reals(elements) => {
                let (values, bounds) = elements.into_iter().map(|Bounded { v, e }| (v, e)).unzip();
                Reference::Reals { values, bounds }
            }
            Computed::Ints(elements) => {
                let specified = |(value, is_specified): (i64, bool)| is_specified.then_some(value);
                Reference::Ints(elements.into_iter().map(specified).collect())
            }
        };
        Ok(Some(TaskOutput { buffer, region, reference }))
    }

    /// Puts what the implementation wrote into memory: the elements of the task's box, row-major.
    ///
    /// # Errors
    /// The task writes nothing, or a box of another shape or dtype; in words.
    pub fn store(&mut self, task: TaskId, written: &Tensor) -> Result<(), String> {
        let (buffer, region) =
            self.loaded.written(task).ok_or_else(|| format!("task {task} writes nothing"))?;
        let dtype = self.memory.contents(buffer).map(|contents| contents.dtype);
        if dtype != Some(written.dtype) || u128::from(written.numel()) != volume(&region) {
            return Err(format!(
                "task {task} writes {} elements of {}, not {} of {}",
                volume(&region),
                dtype.map_or("no dtype", |dtype| dtype.name()),
                written.numel(),
                written.dtype
            ));
        }
        let written = if written.dtype.is_float() {
            Computed::Reals(written.reals().into_iter().map(|v| Bounded { v, e: 0.0 }).collect())
        } else {
            Computed::Ints(written.ints().into_iter().map(|value| (value, true)).collect())
        };
        self.memory.store(&self.loaded, task, &written);
        Ok(())
    }

    /// What a buffer holds now.
    ///
    /// # Errors
    /// There is no such buffer, or no task lists it; in words.
    pub fn buffer(&self, buffer: BufferId) -> Result<Tensor, String> {
        let record = self.loaded.program().buffers.get(buffer.index());
        let held = record.zip(self.memory.contents(buffer));
        let (record, contents) = held.ok_or_else(|| format!("buffer {buffer} holds nothing"))?;
        contents.tensor(&Region::of(record)).map_err(|error| error.to_string())
    }
}
