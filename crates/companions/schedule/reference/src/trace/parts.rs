//! ET01: entries as parts of the schedule.

use std::collections::HashMap;
use std::ops::Range;

use megakernel_ir::{Rule, TaskId};
use megakernel_order::Findings;
use megakernel_schedule::{Access, Count, Done, Entry, NameId, Trace};

use crate::ids::{EventId, PhaseId, TensorId};
use crate::region;
use crate::structure::LIMITS;
use crate::world::{Does, World};

/// Counts, most of them.
const COUNTS: i64 = 1 << 62;

/// What a task did.
pub struct Part {
    /// The task.
    pub task: TaskId,
    /// The phase, among all phases. That of a begin means nothing.
    pub phase: PhaseId,
    /// What it did.
    pub what: What,
}

/// What a task or a phase did.
pub enum What {
    /// A worker took it.
    Begin(Option<i64>),
    /// Saw this count of an event.
    Wait(EventId, u64),
    /// Accessed bytes, as indices of [`Parts::intervals`], of a tensor.
    Access(Does, TensorId, Range<usize>),
    /// Raised an event by an amount.
    Signal(EventId, u64),
}

/// A trace, of which all is known.
pub struct Parts {
    /// Launches.
    pub launches: Vec<Vec<Part>>,
    /// Names of the events: those of the schedule, and those that it does not have.
    pub events: Vec<String>,
    /// Half-open intervals of bytes of their storages.
    pub intervals: Vec<[u64; 2]>,
}

/// Looks up what the entries are about. What breaks ET01 is not among the parts.
pub fn parts(world: &World<'_>, trace: &Trace, findings: &mut Findings) -> Parts {
    let names = &world.document.names;
    let mut look = Look {
        world,
        events: world.event_ids().zip(&world.events).map(|(id, name)| (name.as_str(), id)).collect(),
        tensors: HashMap::new(),
        parts: Parts { launches: Vec::new(), events: world.events.clone(), intervals: Vec::new() },
        is_full: false,
    };
    for (index, tensor) in world.document.tensors.iter().enumerate() {
        look.tensors.insert(tensor.name, TensorId::at(index));
    }
    for (launch, entries) in trace.launches.iter().enumerate() {
        let mut parts = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            match look.part(entry, names) {
                Ok(part) => parts.push(part),
                Err((element, message)) => {
                    findings.broken(Rule::ET01, format!("/launches/{launch}/{index}/{element}"), message);
                    if look.is_full {
                        return look.parts;
                    }
                }
            }
        }
        look.parts.launches.push(parts);
    }
    look.parts
}

struct Look<'d> {
    world: &'d World<'d>,
    events: HashMap<&'d str, EventId>,
    tensors: HashMap<NameId, TensorId>,
    parts: Parts,
    is_full: bool,
}

/// The element of the entry that is wrong, and what is wrong with it.
type Wrong = (usize, String);

impl<'d> Look<'d> {
    fn part(&mut self, entry: &Entry, names: &'d [String]) -> Result<Part, Wrong> {
        let tasks = &self.world.tasks;
        let task = usize::try_from(entry.task).ok().and_then(|task| Some((task, tasks.get(task)?)));
        let Some((task, at)) = task else {
            let message = format!("found task {}, and the schedule has {} tasks", entry.task, tasks.len());
            return Err((1, message));
        };
        let task = TaskId::at(task);
        let begin = |queue| Part { task, phase: at.phases.start, what: What::Begin(queue) };
        if let Done::Begin(queue) = entry.done {
            return Ok(begin(queue));
        }
        let phase = usize::try_from(entry.phase).ok().and_then(|place| at.each_phase().nth(place));
        let Some(phase) = phase else {
            let phases = at.each_phase().count();
            let message = format!("found phase {}, and task {task} has {phases} phases", entry.phase);
            return Err((2, message));
        };
        let what = match &entry.done {
            Done::Begin(queue) => return Ok(begin(*queue)),
            Done::Wait(count) => {
                let (event, number) = self.count(count, [0, COUNTS], names)?;
                What::Wait(event, number)
            }
            Done::Signal(count) => {
                let (event, number) = self.count(count, [1, region::MOST], names)?;
                What::Signal(event, number)
            }
            Done::Read(access) => self.access(Does::Read, access, names)?,
            Done::Write(access) => self.access(Does::Write, access, names)?,
            Done::Add(access) => self.access(Does::Add, access, names)?,
        };
        Ok(Part { task, phase, what })
    }

    fn count(
        &mut self,
        count: &Count,
        [least, most]: [i64; 2],
        names: &'d [String],
    ) -> Result<(EventId, u64), Wrong> {
        if !(least..=most).contains(&count.number) {
            return Err((4, format!("found {}, required {least} to {most}", count.number)));
        }
        let name = names.get(count.event.index()).map_or("", String::as_str);
        let next = EventId::at(self.parts.events.len());
        let event = *self.events.entry(name).or_insert(next);
        if event == next {
            self.parts.events.push(name.to_owned());
        }
        Ok((event, count.number.unsigned_abs()))
    }

    fn access(&mut self, does: Does, access: &Access, names: &[String]) -> Result<What, Wrong> {
        let Some(&tensor) = self.tensors.get(&access.tensor) else {
            let name = names.get(access.tensor.index()).map_or("", String::as_str);
            return Err((3, format!("the schedule has no tensor `{name}`")));
        };
        let record = &self.world.document.tensors[tensor.index()];
        let region = access.region.as_deref();
        if let Some(region) = region {
            region::check(region, &record.shape, 1).map_err(|wrong| (4, wrong.message))?;
        }
        let first = self.parts.intervals.len();
        let (most, what) = LIMITS[2];
        if region::count(region, &record.shape).saturating_add(first as u64) > most {
            self.is_full = true;
            return Err((4, format!("up to here the trace has more than {most} {what}")));
        }
        let of = (record.shape.as_slice(), record.element);
        let start = self.world.tensors[tensor.index()].start;
        region::push(region, of, start, 0, &mut self.parts.intervals);
        Ok(What::Access(does, tensor, first..self.parts.intervals.len()))
    }
}
