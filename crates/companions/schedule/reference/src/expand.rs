//! From the tasks of the document to all tasks (clause SCH-05).

use std::collections::HashMap;

use megakernel_ir::diagnostic::pointer_token;
use megakernel_ir::{Rule, TaskId};
use megakernel_order::Findings;
use megakernel_schedule::{Count, NameId, Schedule, Task};

use crate::ids::{EventId, GroupId, PhaseId, TensorId};
use crate::region;
use crate::structure;
use crate::world::{self, Access, Does, Lists, NO_GROUP, Placed, TaskAt, World};

/// Names that stand for something: by their text, and by their id in the document where it is the same in all repetitions.
struct Names<'d, Id> {
    document: &'d Schedule,
    fixed: Vec<Option<Id>>,
    by_text: HashMap<String, Id>,
}

impl<Id: Copy + From<u32>> Names<'_, Id> {
    fn new(document: &Schedule) -> Names<'_, Id> {
        Names { document, fixed: vec![None; document.names.len()], by_text: HashMap::new() }
    }

    /// The name as it is in this repetition, or nothing if it is the same in all.
    fn made(&self, name: NameId, copy: Option<u32>) -> Option<String> {
        let text = self.document.name(name);
        copy.filter(|_| text.contains('#')).map(|copy| text.replace('#', &copy.to_string()))
    }

    /// The id of what has this name, a new one where it has none.
    fn id(&mut self, name: NameId, copy: Option<u32>) -> Id {
        let made = self.made(name, copy);
        if let (None, Some(known)) = (&made, self.fixed[name.index()]) {
            return known;
        }
        let is_fixed = made.is_none();
        let text = made.unwrap_or_else(|| self.document.name(name).to_owned());
        let next = Id::from(self.by_text.len() as u32);
        let id = *self.by_text.entry(text).or_insert(next);
        if is_fixed {
            self.fixed[name.index()] = Some(id);
        }
        id
    }
}

/// Writes out all tasks. Nothing where that breaks a rule.
pub fn expand<'d>(
    document: &'d Schedule,
    (tensors, storages): (Vec<Placed>, usize),
    findings: &mut Findings,
) -> Option<World<'d>> {
    let mut out = Out {
        events: Names::new(document),
        groups: Names::new(document),
        tensor_names: document
            .tensors
            .iter()
            .enumerate()
            .map(|(index, tensor)| (document.name(tensor.name), TensorId::at(index)))
            .collect(),
        tensor_of: vec![None; document.names.len()],
        world: World {
            document,
            any_order: document.any_order.iter().copied().map(i128::from).collect(),
            tensors,
            storages,
            tasks: Vec::new(),
            task_of: Vec::new(),
            waits: Lists::default(),
            signals: Lists::default(),
            events: Vec::new(),
            periods: Vec::new(),
            accesses: Vec::new(),
            intervals: Vec::new(),
        },
    };
    for (index, tensor) in document.tensors.iter().enumerate() {
        out.tensor_of[tensor.name.index()] = Some(TensorId::at(index));
    }
    for (written, task) in document.tasks.iter().enumerate() {
        let times = task.repeat.map_or(1, |repeat| repeat.times);
        for copy in 0..u32::try_from(times).unwrap_or(0) {
            out.task(written, task, copy, findings);
            if findings.has(Rule::ES06) {
                return None;
            }
        }
    }
    if !findings.accepts() {
        return None;
    }
    let Out { mut world, events, .. } = out;
    world.events = vec![String::new(); events.by_text.len()];
    world.periods = vec![None; events.by_text.len()];
    for event in &document.events {
        if let Some(&number) = events.by_text.get(document.name(event.name)) {
            world.periods[number.index()] = event.period.map(i64::unsigned_abs);
        }
    }
    for (text, number) in events.by_text {
        world.events[number.index()] = text;
    }
    Some(world)
}

struct Out<'d> {
    world: World<'d>,
    events: Names<'d, EventId>,
    groups: Names<'d, GroupId>,
    tensor_names: HashMap<&'d str, TensorId>,
    tensor_of: Vec<Option<TensorId>>,
}

impl Out<'_> {
    fn task(&mut self, written: usize, task: &Task, copy: u32, findings: &mut Findings) {
        let repeated = task.repeat.map(|_| copy);
        let queue = task.queue.map(|queue| match task.repeat {
            None => i128::from(queue),
            Some(repeat) => {
                let queue = i128::from(queue) + i128::from(repeat.queue_step) * i128::from(copy);
                repeat.queues.map_or(queue, |queues| queue.rem_euclid(i128::from(queues)))
            }
        });
        let id = TaskId::at(self.world.tasks.len());
        let first = PhaseId::at(self.world.phases());
        for (place, phase) in task.phases.iter().enumerate() {
            let node = PhaseId::at(self.world.phases());
            self.world.task_of.push(id);
            for count in &phase.waits {
                let count = self.count(count, repeated);
                self.world.waits.add(count);
            }
            self.world.waits.end();
            for count in &phase.signals {
                let count = self.count(count, repeated);
                self.world.signals.add(count);
            }
            self.world.signals.end();
            let adds = phase.adds.iter().map(|add| (Does::Add, "adds", &add.access, add.group));
            let reads = phase.reads.iter().map(|access| (Does::Read, "reads", access, None));
            let writes = phase.writes.iter().map(|access| (Does::Write, "writes", access, None));
            let (mut index, mut last) = (0, Does::Read);
            for (does, list, access, group) in reads.chain(writes).chain(adds) {
                if does != last {
                    (index, last) = (0, does);
                }
                let at = || format!("/tasks/{written}/phases/{place}/{list}/{index}");
                let group = group.map_or(NO_GROUP, |group| self.groups.id(group, repeated));
                if let Some(tensor) = self.tensor(access, repeated, does, written, at, findings) {
                    self.access(node, tensor, does, group, index, access, copy);
                }
                index += 1;
            }
        }
        let phases = first..PhaseId::at(self.world.phases());
        self.world.tasks.push(TaskAt { written, copy, queue, phases });
    }

    fn count(&mut self, count: &Count, repeated: Option<u32>) -> world::Count {
        let event = self.events.id(count.event, repeated);
        world::Count { event, number: count.number.unsigned_abs() }
    }

    /// The tensor of an access. Where repetition makes its name, the access is judged now.
    fn tensor(
        &self,
        access: &megakernel_schedule::Access,
        repeated: Option<u32>,
        does: Does,
        written: usize,
        at: impl Fn() -> String,
        findings: &mut Findings,
    ) -> Option<TensorId> {
        let Some(name) = self.events.made(access.tensor, repeated) else {
            return self.tensor_of[access.tensor.index()];
        };
        let Some(&tensor) = self.tensor_names.get(name.as_str()) else {
            structure::unknown(&name, at(), findings);
            return None;
        };
        let (record, placed) =
            (&self.world.document.tensors[tensor.index()], &self.world.tensors[tensor.index()]);
        // The shift of this one repetition is that of the last of so many.
        let times = i64::from(repeated.unwrap_or(0)) + 1;
        let intervals = structure::fits(record, placed, access, does != Does::Read, times, at, findings)?;
        let all = intervals.saturating_add(self.world.intervals.len() as u64);
        (all <= MOST_INTERVALS).then_some(tensor).or_else(|| too_many(written, findings))
    }

    #[allow(clippy::too_many_arguments, reason = "one argument for each member of the record")]
    fn access(
        &mut self,
        phase: PhaseId,
        tensor: TensorId,
        does: Does,
        group: GroupId,
        index: u32,
        access: &megakernel_schedule::Access,
        copy: u32,
    ) {
        let record = &self.world.document.tensors[tensor.index()];
        let start = self.world.tensors[tensor.index()].start;
        let first = self.world.intervals.len() as u32;
        let of = (record.shape.as_slice(), record.element);
        region::push(access.region.as_deref(), of, start, copy, &mut self.world.intervals);
        let intervals = first..self.world.intervals.len() as u32;
        self.world.accesses.push(Access { phase, tensor, does, group, index, intervals });
    }
}

const MOST_INTERVALS: u64 = structure::LIMITS[2].0;

fn too_many(written: usize, findings: &mut Findings) -> Option<TensorId> {
    let message = format!("up to here the document stands for more than {MOST_INTERVALS} intervals of bytes");
    findings.broken(Rule::ES06, format!("/tasks/{written}"), message);
    None
}

/// The pointer of an event's period.
pub fn period_pointer(name: &str) -> String {
    format!("/events/{}/period", pointer_token(name))
}
