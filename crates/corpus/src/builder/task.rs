//! Writing one task.

use serde_json::{Map, Value};

use super::{Buf, Ctr, Op, ProgramBuilder, TaskRecord, Threshold};

/// One task, before it is added to its program.
pub struct TaskBuilder<'a> {
    program: &'a mut ProgramBuilder,
    out: Option<Ctr>,
    record: TaskRecord,
}

impl<'a> TaskBuilder<'a> {
    pub(super) fn new(program: &'a mut ProgramBuilder, op: Op) -> Self {
        let record = TaskRecord {
            op,
            inputs: Vec::new(),
            outputs: Vec::new(),
            out_counter: 0,
            waits: Vec::new(),
            params: Map::new(),
            sm: None,
            est_bytes: 0,
            est_flops: 0,
            label: String::new(),
        };
        Self { program, out: None, record }
    }

    /// The input operands, in order.
    pub fn reads(mut self, inputs: &[Buf]) -> Self {
        self.record.inputs = inputs.iter().map(|buffer| buffer.0).collect();
        self
    }

    /// The output operands, in order.
    pub fn writes(mut self, outputs: &[Buf]) -> Self {
        self.record.outputs = outputs.iter().map(|buffer| buffer.0).collect();
        self
    }

    /// The counter to increment. Without it the task gets a counter of its own.
    pub fn out(mut self, counter: Ctr) -> Self {
        self.out = Some(counter);
        self
    }

    /// Waits for every producer of each counter, those included that are added later.
    pub fn after(mut self, counters: &[Ctr]) -> Self {
        for counter in counters {
            if !self.record.waits.iter().any(|(known, _)| *known == counter.0) {
                self.record.waits.push((counter.0, Threshold::AllProducers));
            }
        }
        self
    }

    /// Waits for a counter to reach `threshold`.
    pub fn wait(mut self, counter: Ctr, threshold: i64) -> Self {
        self.record.waits.push((counter.0, Threshold::Exactly(threshold)));
        self
    }

    /// Sets a parameter.
    pub fn param(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.record.params.insert(key.into(), value.into());
        self
    }

    /// Sets several parameters.
    pub fn params<'p, 'k: 'p>(self, params: impl IntoIterator<Item = &'p (&'k str, Value)>) -> Self {
        params.into_iter().fold(self, |task, (key, value)| task.param(key, value.clone()))
    }

    /// Assigns the task to an SM; `None` leaves it unassigned.
    pub fn sm(mut self, sm: impl Into<Option<usize>>) -> Self {
        self.record.sm = sm.into().map(|sm| sm as i64);
        self
    }

    /// The cost hints.
    pub fn cost(mut self, est_bytes: u64, est_flops: u64) -> Self {
        self.record.est_bytes = est_bytes;
        self.record.est_flops = est_flops;
        self
    }

    /// The label, by which edits find the task.
    pub fn label(mut self, label: &str) -> Self {
        self.record.label = label.into();
        self
    }

    /// Adds the task and gives the counter it increments.
    pub fn add(self) -> Ctr {
        let Self { program, out, mut record } = self;
        let counter = match out {
            Some(counter) => counter,
            None => program.counter(&record.label),
        };
        record.out_counter = counter.0;
        program.push_task(record);
        counter
    }
}
