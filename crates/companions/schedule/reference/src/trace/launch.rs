//! ET02 to ET05, ET07, ET08, ET11 and ET12: entry by entry. What is missing at the end of a launch is judged in [`super::phases`].

use std::collections::{HashMap, HashSet};

use megakernel_ir::{Diagnostic, Rule, TaskId};
use megakernel_order::Findings;

use super::bytes::Bytes;
use super::parts::{Part, Parts, What};
use super::phases::Made;
use crate::ids::{EventId, PhaseId, StorageId, TensorId};
use crate::world::{Access, Does, World};

/// Judges all launches.
pub fn check(world: &World<'_>, parts: &Parts, findings: &mut Findings) {
    let signals = crate::order::signals(world);
    let mut judge = Judge {
        world,
        parts,
        declared: HashMap::new(),
        raised: vec![0; parts.events.len()],
        signals: &signals,
    };
    for (number, entries) in parts.launches.iter().enumerate() {
        judge.launch(number, entries, findings);
    }
}

/// Phase, what it does, and through which value.
type Key = (PhaseId, Does, TensorId);

struct Judge<'w> {
    world: &'w World<'w>,
    parts: &'w Parts,
    /// What phases declare, as far as it was asked for.
    declared: HashMap<Key, Bytes<()>>,
    /// By how much each event has been raised: in this launch, or in all of them if it has a period.
    raised: Vec<u64>,
    /// By how much each phase raises each event, by the schedule.
    signals: &'w [Vec<(PhaseId, u64)>],
}

/// A finding about a task.
fn found(
    findings: &mut Findings,
    rule: Rule,
    at: impl FnOnce() -> String,
    task: TaskId,
    message: impl FnOnce() -> String,
) {
    findings.report(rule, || Diagnostic::new(rule, at(), message()).tasks([task]));
}

impl Judge<'_> {
    fn launch(&mut self, number: usize, entries: &[Part], findings: &mut Findings) {
        for event in 0..self.parts.events.len() {
            if self.world.periods.get(event).copied().flatten().is_none() {
                self.raised[event] = 0;
            }
        }
        let mut made = Made::new(self.world, self.signals, number as u64 + 1);
        let mut queues = Queues::default();
        let mut changed: HashMap<PhaseId, [Bytes<StorageId>; 2]> = HashMap::new();
        for (index, part) in entries.iter().enumerate() {
            let at = |element: &str| format!("/launches/{number}/{index}{element}");
            let task = part.task;
            let name = || self.world.task_name(task);
            let begins = matches!(part.what, What::Begin(_));
            if made.first(task) != begins {
                found(
                    findings,
                    Rule::ET02,
                    || at(""),
                    task,
                    || match begins {
                        true => format!("{} begins again", name()),
                        false => format!("{} does this and has not begun", name()),
                    },
                );
            }
            if let Some(other) = queues.violates(self.world, task) {
                found(
                    findings,
                    Rule::ET04,
                    || at(""),
                    task,
                    || {
                        let other = self.world.task_name(other);
                        format!("{} is at work after {other}, against the order of their queue", name())
                    },
                );
            }
            let stage = match &part.what {
                What::Begin(queue) => {
                    let own = self.world.tasks[task.index()].queue;
                    if queue.map(i128::from) != own {
                        let word = |queue: Option<i128>| {
                            queue.map_or("no queue".to_owned(), |queue| format!("queue {queue}"))
                        };
                        let given = queue.map(i128::from);
                        found(
                            findings,
                            Rule::ET03,
                            || at("/2"),
                            task,
                            || format!("{} ran in {}, and stands in {}", name(), word(given), word(own)),
                        );
                    }
                    continue;
                }
                What::Wait(..) => 0,
                What::Access(..) => 1,
                What::Signal(..) => 2,
            };
            let late = made.moved(task, part.phase, stage);
            match &part.what {
                What::Begin(_) => {}
                &What::Wait(event, seen) => {
                    self.wait(part, event, seen, &mut made, &at, findings);
                }
                &What::Signal(event, amount) => {
                    self.raised[event.index()] = self.raised[event.index()].saturating_add(amount);
                    if let Some(declared) = made.signal(part.phase, event, amount) {
                        found(
                            findings,
                            Rule::ET11,
                            || at(""),
                            task,
                            || {
                                let event = &self.parts.events[event.index()];
                                format!(
                                    "{} has raised `{event}` by more than the {declared} that the schedule says",
                                    name()
                                )
                            },
                        );
                    }
                }
                What::Access(does, tensor, intervals) => {
                    let bytes = &self.parts.intervals[intervals.clone()];
                    let overlaps = self.overlaps(&mut changed, part.phase, *does, *tensor, bytes);
                    if overlaps && !late {
                        found(
                            findings,
                            Rule::ET05,
                            || at(""),
                            task,
                            || {
                                let order = "a phase reads, then writes, then adds";
                                format!(
                                    "{} comes too late to bytes that its phase has changed already: {order}",
                                    name()
                                )
                            },
                        );
                    }
                    let value = self.world.tensors[tensor.index()].value;
                    if *does == Does::Write {
                        made.write(part.phase, value, bytes);
                    }
                    self.access(part, (part.phase, *does, value), *tensor, bytes, &at, findings);
                }
            }
            if late {
                found(
                    findings,
                    Rule::ET05,
                    || at(""),
                    task,
                    || {
                        format!(
                            "{} does this after what comes later in its phase, or in a later phase",
                            name()
                        )
                    },
                );
            }
        }
        made.missing(&self.parts.events, findings);
    }

    fn wait(
        &self,
        part: &Part,
        event: EventId,
        seen: u64,
        made: &mut Made<'_>,
        at: &dyn Fn(&str) -> String,
        findings: &mut Findings,
    ) {
        let (task, name) = (part.task, &self.parts.events[event.index()]);
        if !made.wait(part.phase, event, seen) {
            found(
                findings,
                Rule::ET07,
                || at(""),
                task,
                || {
                    let who = self.world.task_name(task);
                    format!("{who} waits for `{name}`, and its phase waits for nothing of the kind")
                },
            );
        }
        let raised = self.raised[event.index()];
        if seen > raised {
            found(
                findings,
                Rule::ET12,
                || at("/4"),
                task,
                || {
                    let who = self.world.task_name(task);
                    format!("{who} has seen `{name}` at {seen}, and the entries before raise it to {raised}")
                },
            );
        }
    }

    /// Whether an access comes behind one that its phase makes later. Notes what it changes.
    fn overlaps(
        &self,
        changed: &mut HashMap<PhaseId, [Bytes<StorageId>; 2]>,
        phase: PhaseId,
        does: Does,
        tensor: TensorId,
        bytes: &[[u64; 2]],
    ) -> bool {
        let storage = self.world.tensors[tensor.index()].storage;
        let [written, added] = changed.entry(phase).or_default();
        let meets = |set: &Bytes<StorageId>| bytes.iter().any(|&bytes| set.common(storage, bytes).is_some());
        match does {
            Does::Read => meets(written) || meets(added),
            Does::Write => {
                bytes.iter().for_each(|&bytes| written.add(storage, bytes));
                meets(added)
            }
            Does::Add => {
                bytes.iter().for_each(|&bytes| added.add(storage, bytes));
                false
            }
        }
    }

    /// ET08.
    fn access(
        &mut self,
        part: &Part,
        key: Key,
        tensor: TensorId,
        bytes: &[[u64; 2]],
        at: &dyn Fn(&str) -> String,
        findings: &mut Findings,
    ) {
        let world = self.world;
        let (phase, does, value) = key;
        let declared = self.declared.entry(key).or_insert_with(|| {
            let is_like = |access: &&Access| access.does == does && world.placed(access).value == value;
            let mut all = Bytes::default();
            for access in world.accesses_in(phase).iter().filter(is_like) {
                world.bytes(access).iter().for_each(|&bytes| all.add((), bytes));
            }
            all
        });
        let Some(byte) = bytes.iter().find_map(|&bytes| declared.missing((), bytes)) else { return };
        found(
            findings,
            Rule::ET08,
            || at(""),
            part.task,
            || {
                let does = match does {
                    Does::Read => "reads",
                    Does::Write => "writes",
                    Does::Add => "adds to",
                };
                let byte = byte - world.tensors[tensor.index()].start;
                let at = world.place(part.phase);
                format!(
                    "{} {does} byte {byte} of `{}` in phase {at}, and no region of the schedule says so",
                    world.task_name(part.task),
                    world.tensor_name(tensor)
                )
            },
        );
    }
}

/// Which task of each queue is at work.
#[derive(Default)]
struct Queues {
    last: HashMap<i128, TaskId>,
    left: HashSet<TaskId>,
}

impl Queues {
    /// The task after which this one must not be at work any more, if it is so.
    fn violates(&mut self, world: &World<'_>, task: TaskId) -> Option<TaskId> {
        let at = &world.tasks[task.index()];
        let queue = at.queue?;
        let last = self.last.entry(queue).or_insert(task);
        let other = *last;
        if world.in_order(at).is_some() {
            *last = other.max(task);
            return (task < other).then_some(other);
        }
        if other == task {
            return None;
        }
        self.left.insert(other);
        *last = task;
        self.left.contains(&task).then_some(other)
    }
}
