//! A program on a device: whole, or task by task, with what is checked after each launch.

use std::collections::BTreeMap;

use megakernel_abi::InstructionRecord;
use megakernel_ir::model::Program;
use megakernel_ir::{BufferId, TaskId};
use megakernel_numerics::Stored;

use crate::device::{Device, End, Ended, Job, TaskState};
use crate::footprint::{self, Region};
use crate::memory::{GUARD, Memory, Overrun};
use crate::plan::Plan;
use crate::session::{Failure, Result, failed};
use crate::stuck;

/// A program on a device.
pub struct Run<'a, 'p> {
    /// What runs it.
    pub device: &'a mut dyn Device,
    /// The program.
    pub program: &'a Program<'p>,
    /// Its queues and order.
    pub plan: &'a Plan,
    /// Its records.
    pub job: &'a Job,
}

/// A task, and what it writes.
struct Step {
    task: TaskId,
    written: Option<Region>,
}

impl Run<'_, '_> {
    /// All of it in one launch.
    pub fn whole(&mut self, start: &Memory) -> Result<Memory> {
        let mut memory = start.clone();
        let ended = self.device.launch(self.job, &mut memory.allocations).map_err(Failure::Failed)?;
        let stuck = || stuck::describe(self.program, &ended.tasks, &ended.counters);
        if let (End::Done, Some(problem)) = (&ended.end, miscounted(self.job, &ended.counters)) {
            return Err(failed(format_args!("the kernel returned, but {problem}: {}", stuck())));
        }
        let problem = match (self.ended(&ended, &stuck), &ended.end) {
            (Err(Failure::Failed(message)), End::Crashed(_)) => message,
            (Err(failure), _) => return Err(failure),
            (Ok(()), _) => match self.trespass(start, &memory) {
                Some(message) => message,
                None => return Ok(memory),
            },
        };
        // It may be large, and copies follow.
        drop(memory);
        // One by one, the task shows that did it, unless it takes several to go wrong.
        match self.steps(start.clone(), true, &mut BTreeMap::new()) {
            Err(Failure::Failed(message)) => Err(Failure::Failed(message)),
            _ => Err(Failure::Failed(format!("{problem}; no task does so in a launch of its own"))),
        }
    }

    /// The tasks one after the other, in an order that the waits allow: each in a launch of its own, or as many in one as
    /// leave each other's writes as they are.
    pub fn steps(
        &mut self,
        start: Memory,
        alone: bool,
        trace: &mut BTreeMap<String, Stored>,
    ) -> Result<Memory> {
        if self.plan.order.len() < self.program.tasks.len() {
            let stuck = self.program.tasks.len() - self.plan.order.len();
            return Err(failed(format_args!("deadlock: {stuck} tasks can never start")));
        }
        let mut memory = start;
        for steps in self.segments(alone) {
            let before = (steps.len() > 1).then(|| memory.clone());
            match (self.segment(&steps, &mut memory), before) {
                (Err(Failure::Failed(message)), Some(mut memory)) => {
                    for step in &steps {
                        self.segment(std::slice::from_ref(step), &mut memory)?;
                    }
                    return Err(Failure::Failed(format!(
                        "{message}; no task does so in a launch of its own"
                    )));
                }
                (other, _) => other?,
            }
            for Step { task, written } in &steps {
                let Some(region) = written else { continue };
                let Some(buffer) = self.program.buffers.get(region.buffer.index()) else { continue };
                let tensor = region.tensor(buffer, memory.buffer(region.buffer)).map_err(failed)?;
                trace.insert(task.to_string(), Stored::Buffer(tensor));
            }
        }
        Ok(memory)
    }

    /// The tasks in order, cut where one writes what an earlier one of the same part wrote.
    fn segments(&self, alone: bool) -> Vec<Vec<Step>> {
        let mut segments = Vec::new();
        let mut open: Vec<Step> = Vec::new();
        // Start and end of what the open part writes, by allocation.
        let mut taken: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for &task in &self.plan.order {
            let record = self.program.tasks.get(task.index());
            let written = record.and_then(|record| footprint::written(self.program, record));
            let spans = written.as_ref().map_or_else(Vec::new, |region| self.spans(region));
            let clashes = |(allocation, start, end): &(usize, usize, usize)| {
                let before = taken.range(..(*allocation, *end)).next_back();
                before.is_some_and(|((of, _), until)| of == allocation && until > start)
            };
            if !open.is_empty() && (alone || spans.iter().any(clashes)) {
                segments.push(std::mem::take(&mut open));
                taken.clear();
            }
            taken.extend(spans.into_iter().map(|(allocation, start, end)| ((allocation, start), end)));
            open.push(Step { task, written });
        }
        segments.push(open);
        segments.retain(|segment| !segment.is_empty());
        segments
    }

    /// The bytes of a region: allocation, start and end.
    fn spans(&self, region: &Region) -> Vec<(usize, usize, usize)> {
        let allocation = self.job.allocation.get(region.buffer.index()).copied().unwrap_or_default();
        let buffer = self.program.buffers.get(region.buffer.index());
        let spans = buffer.map(|buffer| region.spans(buffer)).unwrap_or_default();
        spans.into_iter().map(|span| (allocation, span.start + GUARD, span.end + GUARD)).collect()
    }

    /// Some tasks in one launch, by one block and without waits.
    fn segment(&mut self, steps: &[Step], memory: &mut Memory) -> Result<()> {
        let records = steps.iter().filter_map(|step| self.job.instructions.get(step.task.index()));
        let instructions: Vec<_> =
            records.map(|record| InstructionRecord { n_waits: 0, sm: 0, ..*record }).collect();
        let job = Job { instructions, num_sms: 1, ..self.job.clone() };
        let mut expected = memory.clone();
        let ended = self.device.launch(&job, &mut memory.allocations).map_err(Failure::Failed)?;
        let unfinished = ended.tasks.iter().position(|state| *state != TaskState::Done).unwrap_or(0);
        let name = steps.get(unfinished).map(|step| stuck::name(self.program, step.task)).unwrap_or_default();
        let about = |message: String| Failure::Failed(format!("{name}: {message}"));
        let about_counters = miscounted(&job, &ended.counters).filter(|_| ended.end == End::Done);
        if let Some(problem) = about_counters {
            return Err(about(format!("the kernel returned, but {problem}")));
        }
        self.ended(&ended, &String::new).map_err(|failure| match failure {
            Failure::Failed(message) => about(message),
            unsupported => unsupported,
        })?;
        // Outside its footprint, everything has to be as it was.
        if let Some(overrun) = memory.overruns().first() {
            return Err(about(self.outside(overrun)));
        }
        for (allocation, start, end) in
            steps.iter().filter_map(|step| step.written.as_ref()).flat_map(|region| self.spans(region))
        {
            let to = expected.allocations.get_mut(allocation).and_then(|bytes| bytes.get_mut(start..end));
            let from = memory.allocations.get(allocation).and_then(|bytes| bytes.get(start..end));
            if let (Some(to), Some(from)) = (to, from) {
                to.copy_from_slice(from);
            }
        }
        let mut buffers = BufferId::range(0..self.program.buffers.len());
        match buffers.find(|id| memory.buffer(*id) != expected.buffer(*id)) {
            Some(id) => Err(about(format!("writes to {}, outside its footprint", self.buffer(id)))),
            None => Ok(()),
        }
    }

    /// What the end of a launch means.
    fn ended(&self, ended: &Ended, stuck: &dyn Fn() -> String) -> Result<()> {
        // Of threads and of tasks, what there is to say.
        let with = |what: &str, of_threads: &str| {
            let of_tasks = stuck();
            let said: Vec<_> = [of_threads, &of_tasks].into_iter().filter(|said| !said.is_empty()).collect();
            if said.is_empty() { what.to_owned() } else { format!("{what}: {}", said.join("; ")) }
        };
        Err(match &ended.end {
            End::Done => return Ok(()),
            End::Stuck(threads) => failed(with("TIMEOUT: no task can go on", threads)),
            End::TimedOut => failed(with("TIMEOUT: the launch did not end in time", "")),
            End::NoOpcode => failed("the kernels lack an opcode of the program, and aborted"),
            End::Crashed(said) => failed(with(&format!("the kernels crashed: {said}"), "")),
            End::Refused(reason) => Failure::Unsupported(format!(
                "{} cannot hold the launch, {} blocks with {} bytes of shared memory: {reason}",
                self.device.name(),
                self.job.num_sms,
                self.job.shared_bytes
            )),
        })
    }

    /// What a launch wrote that no launch may write.
    fn trespass(&self, start: &Memory, memory: &Memory) -> Option<String> {
        if let Some(overrun) = memory.overruns().first() {
            let writers = self.program.tasks_by_id().filter(|(_, task)| {
                task.outputs.iter().any(|id| overrun.buffers.contains(&BufferId::stated(*id)))
            });
            let writers: Vec<String> = writers.map(|(task, _)| stuck::name(self.program, task)).collect();
            let writers = if writers.is_empty() { "no task".to_owned() } else { writers.join(", ") };
            return Some(format!("something {}, which is written by {writers}", self.outside(overrun)));
        }
        let changed = self
            .program
            .buffers_by_id()
            .find(|(id, buffer)| buffer.kind.is_read_only() && start.buffer(*id) != memory.buffer(*id));
        changed.map(|(id, _)| format!("something writes to {}, which is read-only", self.buffer(id)))
    }

    fn outside(&self, overrun: &Overrun) -> String {
        let buffers: Vec<String> = overrun.buffers.iter().map(|id| self.buffer(*id)).collect();
        let buffers =
            if buffers.is_empty() { "a page without buffers".to_owned() } else { buffers.join(" and ") };
        match overrun.place {
            Ok(after) => format!("writes outside its buffers: byte {after} after the end of {buffers}"),
            Err(before) => format!("writes outside its buffers: {before} bytes before {buffers}"),
        }
    }

    fn buffer(&self, id: BufferId) -> String {
        self.program
            .buffers
            .get(id.index())
            .map_or_else(|| format!("buffer {id}"), |buffer| format!("buffer {id} `{}`", buffer.name))
    }
}

/// The first counter that is not at the number of tasks that increment it, as it has to be after a launch.
fn miscounted(job: &Job, counters: &[u32]) -> Option<String> {
    let mut expected = vec![0u32; counters.len()];
    for record in &job.instructions {
        let counter = usize::try_from(record.out_counter).ok();
        if let Some(count) = counter.and_then(|counter| expected.get_mut(counter)) {
            *count += 1;
        }
    }
    let differs = |(_, (found, expected)): &(usize, (&u32, &u32))| found != expected;
    let (id, (found, expected)) = counters.iter().zip(&expected).enumerate().find(differs)?;
    Some(format!("counter {id} is at {found}, and {expected} tasks increment it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_has_every_increment_once() {
        let task = |out_counter| InstructionRecord { out_counter, ..InstructionRecord::default() };
        let job = Job { instructions: vec![task(1), task(0), task(1)], ..Job::default() };
        assert_eq!(miscounted(&job, &[1, 2, 0]), None);
        let problem = "counter 1 is at 3, and 2 tasks increment it".to_owned();
        assert_eq!(miscounted(&job, &[1, 3, 0]), Some(problem));
        assert!(miscounted(&job, &[1, 2, 1]).is_some() && miscounted(&job, &[0, 2, 0]).is_some());
    }
}
