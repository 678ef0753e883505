//! ET02, ET06, ET09 and ET10: what a launch lacks at its end.

use std::collections::{HashMap, HashSet};

use megakernel_ir::{Diagnostic, Rule, TaskId};
use megakernel_order::Findings;
use megakernel_schedule::{Init, Kind};

use super::bytes::Bytes;
use crate::ids::{EventId, PhaseId, TensorId};
use crate::world::{Access, Does, World};

/// What the tasks of a launch have done so far.
pub struct Made<'w> {
    world: &'w World<'w>,
    /// By how much each phase raises each event, by the schedule.
    signals: &'w [Vec<(PhaseId, u64)>],
    /// Which launch it is, from 1 on.
    launch: u64,
    /// How far each task is: its latest phase, and in it waits, accesses or signals.
    reached: Vec<Option<(PhaseId, u8)>>,
    has_entry: Vec<bool>,
    /// For each wait of the schedule, whether its count was seen.
    seen: Vec<bool>,
    /// By how much a phase raised an event.
    raised: HashMap<(PhaseId, EventId), u64>,
    /// What a phase wrote, by value.
    written: HashMap<PhaseId, Bytes<TensorId>>,
}

impl Made<'_> {
    /// Nothing yet.
    pub fn new<'w>(world: &'w World<'w>, signals: &'w [Vec<(PhaseId, u64)>], launch: u64) -> Made<'w> {
        Made {
            world,
            signals,
            launch,
            reached: vec![None; world.tasks.len()],
            has_entry: vec![false; world.tasks.len()],
            seen: vec![false; world.waits.all().len()],
            raised: HashMap::new(),
            written: HashMap::new(),
        }
    }

    /// Whether this is the first entry of a task.
    pub fn first(&mut self, task: TaskId) -> bool {
        !std::mem::replace(&mut self.has_entry[task.index()], true)
    }

    /// Whether a task has been further already.
    pub fn moved(&mut self, task: TaskId, phase: PhaseId, stage: u8) -> bool {
        let reached = &mut self.reached[task.index()];
        let is_late = reached.is_some_and(|furthest| furthest > (phase, stage));
        *reached = (*reached).max(Some((phase, stage)));
        is_late
    }

    /// A count that a phase saw. Whether it waits for the event at all.
    pub fn wait(&mut self, phase: PhaseId, event: EventId, seen: u64) -> bool {
        let mut is_declared = false;
        let period = self.world.periods.get(event.index()).copied().flatten().unwrap_or(0);
        for index in self.world.waits.range(phase) {
            let wait = self.world.waits.all()[index];
            if wait.event == event {
                is_declared = true;
                self.seen[index] |=
                    seen >= period.saturating_mul(self.launch - 1).saturating_add(wait.number);
            }
        }
        is_declared
    }

    /// An amount by which a phase raised an event. The declared amount if there is more now.
    pub fn signal(&mut self, phase: PhaseId, event: EventId, amount: u64) -> Option<u64> {
        let raised = self.raised.entry((phase, event)).or_default();
        *raised = raised.saturating_add(amount);
        let declared = declared(self.signals, phase, event);
        (*raised > declared).then_some(declared)
    }

    /// Bytes that a phase wrote through a value.
    pub fn write(&mut self, phase: PhaseId, value: TensorId, bytes: &[[u64; 2]]) {
        let written = self.written.entry(phase).or_default();
        bytes.iter().for_each(|&bytes| written.add(value, bytes));
    }

    /// What is missing. `events` are their names.
    pub fn missing(&self, events: &[String], findings: &mut Findings) {
        let mut report = |rule: Rule, at: String, task: TaskId, message: &dyn Fn() -> String| {
            findings.report(rule, || {
                let message = format!("in launch {}: {}", self.launch, message());
                Diagnostic::new(rule, at, message).tasks([task])
            });
        };
        let mut short = HashSet::new();
        for (id, task) in self.world.tasks_by_id() {
            let name = || self.world.task_name(id);
            if !self.has_entry[id.index()] {
                report(Rule::ET02, format!("/tasks/{}", task.written), id, &|| {
                    format!("{} does not run", name())
                });
                continue;
            }
            for phase in task.each_phase() {
                for index in self.world.waits.range(phase).filter(|&index| !self.seen[index]) {
                    let wait = self.world.waits.all()[index];
                    report(Rule::ET06, self.world.wait_pointer(phase, index), id, &|| {
                        let event = &events[wait.event.index()];
                        format!("{} goes on without having seen `{event}` at {}", name(), wait.number)
                    });
                }
                let signals = self.world.signals.of(phase);
                for (place, signal) in signals.iter().enumerate() {
                    let raised = self.raised.get(&(phase, signal.event)).copied().unwrap_or(0);
                    let declared = declared(self.signals, phase, signal.event);
                    if raised < declared && short.insert((phase, signal.event)) {
                        let at = format!("{}/signals/{place}", self.world.phase_pointer(phase));
                        report(Rule::ET10, at, id, &|| {
                            let event = &events[signal.event.index()];
                            format!(
                                "{} has raised `{event}` by {raised} of the {declared} of the schedule",
                                name()
                            )
                        });
                    }
                }
            }
        }
        for access in self.world.accesses.iter().filter(|access| self.is_needed(access)) {
            let placed = self.world.placed(access);
            let task = self.world.task_of[access.phase.index()];
            let written = self.written.get(&access.phase);
            let missing = self.world.bytes(access).iter().find_map(|&bytes| match written {
                None => Some(bytes[0]),
                Some(written) => written.missing(placed.value, bytes),
            });
            if let Some(byte) = missing {
                report(Rule::ET09, self.world.access_pointer(access), task, &|| {
                    let byte = byte - self.world.placed(access).start;
                    format!("{}, and has not written byte {byte} of it", self.world.access_text(access))
                });
            }
        }
    }

    /// Whether somebody counts on a write.
    fn is_needed(&self, access: &Access) -> bool {
        let placed = self.world.placed(access);
        let value = &self.world.document.tensors[placed.value.index()];
        let is_filled = placed.kind == Kind::Cache || placed.init == Init::Launch;
        access.does == Does::Write
            && self.has_entry[self.world.task_of[access.phase.index()].index()]
            && !(is_filled && value.storage.is_none())
    }
}

/// The amount by which a phase raises an event, by the schedule; none for an event that only the log has.
fn declared(signals: &[Vec<(PhaseId, u64)>], phase: PhaseId, event: EventId) -> u64 {
    let Some(of) = signals.get(event.index()) else { return 0 };
    of.binary_search_by_key(&phase, |&(phase, _)| phase).map_or(0, |at| of[at].1)
}
