//! Whether a schedule covers a log, by running it along: the tasks take the steps of clause SCH-07 in pieces, and each entry has to be the next
//! piece of its task. It shares nothing with the validator, and has none of its rules.

use std::collections::{BTreeMap, BTreeSet};

use super::small::{Access, BYTES, Done, Entry, Plan, Small, Tensors};
use crate::small::Does;

/// A piece of a phase.
const WAITS: usize = 0;
const ACCESSES: usize = 1;
const SIGNALS: usize = 2;

/// A byte, of a value or of a storage.
type Byte = (char, i64);

/// How far a task is.
#[derive(Default)]
struct At {
    has_begun: bool,
    phase: usize,
    piece: usize,
    /// The waits of the phase that are over, by their place.
    over: BTreeSet<usize>,
    /// What the phase has done to bytes: of a value, and where they lie.
    done: Vec<(Does, Byte, Byte)>,
    /// By how much it has raised events.
    raised: BTreeMap<char, u64>,
}

struct Run<'s> {
    plan: &'s Plan,
    launch: u64,
    counts: BTreeMap<char, u64>,
    tasks: Vec<At>,
}

/// Whether some run of the schedule can have had this log.
pub fn covers(small: &Small) -> bool {
    let mut run = Run { plan: &small.plan, launch: 0, counts: BTreeMap::new(), tasks: Vec::new() };
    small.log.split(|entry| *entry == Entry::Launch).all(|entries| run.is_launch(entries))
}

impl Run<'_> {
    fn is_launch(&mut self, entries: &[Entry]) -> bool {
        self.launch += 1;
        self.tasks = self.plan.tasks.iter().map(|_| At::default()).collect();
        if self.plan.period.is_none() {
            self.counts.clear();
        }
        entries.iter().all(|entry| self.take(*entry))
            && (0..self.tasks.len()).all(|task| self.tasks[task].has_begun && self.finish(task))
    }

    fn take(&mut self, entry: Entry) -> bool {
        match entry {
            Entry::Launch => false,
            Entry::Begin(task, queue) => self.index(task).is_some_and(|task| self.begin(task, queue)),
            Entry::Did(task, phase, done) => {
                let Some(task) = self.index(task).filter(|&task| self.tasks[task].has_begun) else {
                    return false;
                };
                let phases = &self.plan.tasks[task].phases;
                let Some(phase) = usize::try_from(phase).ok().filter(|&phase| phase < phases.len()) else {
                    return false;
                };
                let piece = match done {
                    Done::Wait(..) => WAITS,
                    Done::Access(..) => ACCESSES,
                    Done::Signal(..) => SIGNALS,
                };
                self.go(task, [phase, piece]) && self.does(task, done)
            }
        }
    }

    fn index(&self, task: i64) -> Option<usize> {
        usize::try_from(task).ok().filter(|&task| task < self.tasks.len())
    }

    /// A worker takes a task: its own, and it has finished whatever comes before.
    fn begin(&mut self, task: usize, queue: Option<i64>) -> bool {
        let own = self.plan.tasks[task].queue;
        if self.tasks[task].has_begun || queue != own {
            return false;
        }
        let any_order = self.plan.any_order && own == Some(0);
        for other in
            (0..self.tasks.len()).filter(|&other| own.is_some() && self.plan.tasks[other].queue == own)
        {
            let has_begun = self.tasks[other].has_begun;
            let has_to_be_done = if any_order { has_begun } else { other < task };
            if has_to_be_done && !(has_begun && self.finish(other)) {
                return false;
            }
        }
        self.tasks[task].has_begun = true;
        true
    }

    fn finish(&mut self, task: usize) -> bool {
        self.go(task, [self.plan.tasks[task].phases.len(), WAITS])
    }

    /// Goes on to a piece, if nothing that is to be done before it is missing, and it is not behind already.
    fn go(&mut self, task: usize, to: [usize; 2]) -> bool {
        while [self.tasks[task].phase, self.tasks[task].piece] < to {
            if !self.is_done(task) {
                return false;
            }
            let at = &mut self.tasks[task];
            at.piece += 1;
            if at.piece > SIGNALS {
                *at = At { has_begun: true, phase: at.phase + 1, ..At::default() };
            }
        }
        [self.tasks[task].phase, self.tasks[task].piece] == to
    }

    /// Whether all of a piece that cannot be left out has been done.
    fn is_done(&self, task: usize) -> bool {
        let at = &self.tasks[task];
        let phase = &self.plan.tasks[task].phases[at.phase];
        match at.piece {
            WAITS => (0..phase.waits.len()).all(|wait| at.over.contains(&wait)),
            ACCESSES => {
                // Where something is in memory anyway, and only this, it may stay.
                let may_stay = matches!(self.plan.tensors, Tensors::Filled | Tensors::Cache);
                let mut written = phase.accesses.iter().filter(|(does, ..)| *does == Does::Write);
                let is_written =
                    |byte| at.done.iter().any(|(does, value, _)| *does == Does::Write && *value == byte);
                may_stay
                    || written.all(|access| self.bytes(access).iter().all(|(value, _)| is_written(*value)))
            }
            _ => phase
                .signals
                .iter()
                .all(|(event, _)| at.raised.get(event) == Some(&amount(&phase.signals, *event))),
        }
    }

    /// The bytes of an access: of a value, and where they lie.
    fn bytes(&self, &(_, tensor, [from, to]): &Access) -> Vec<(Byte, Byte)> {
        let value = if tensor == 'v' { 'x' } else { tensor };
        let storage = if self.plan.tensors == Tensors::Shared { 's' } else { value };
        (from..to).map(|byte| ((value, byte), (storage, byte))).collect()
    }

    fn does(&mut self, task: usize, done: Done) -> bool {
        let phase = &self.plan.tasks[task].phases[self.tasks[task].phase];
        match done {
            Done::Wait(event, count) => {
                let raised = self.counts.get(&event).copied().unwrap_or(0);
                let before = self.plan.period.unwrap_or(0) * (self.launch - 1);
                let Some(count) = u64::try_from(count).ok().filter(|&count| count <= raised) else {
                    return false;
                };
                let of = phase.waits.iter().enumerate().filter(|(_, wait)| wait.0 == event);
                let (all, over): (Vec<_>, Vec<_>) =
                    of.map(|(at, wait)| (at, before + wait.1 <= count)).unzip();
                self.tasks[task]
                    .over
                    .extend(all.iter().zip(over).filter(|(_, over)| *over).map(|(at, _)| *at));
                !all.is_empty()
            }
            Done::Access(access @ (does, tensor, [from, to])) => {
                let bytes = self.bytes(&access);
                let like = |other: &&Access| other.0 == does;
                let declared: BTreeSet<Byte> = phase
                    .accesses
                    .iter()
                    .filter(like)
                    .flat_map(|other| self.bytes(other))
                    .map(|byte| byte.0)
                    .collect();
                let done = &mut self.tasks[task].done;
                // A phase reads, then writes, then adds.
                let is_late = |place| done.iter().any(|&(other, _, at)| at == place && does < other);
                let is_right = (0..=to).contains(&from)
                    && to <= BYTES
                    && "xyv".contains(tensor)
                    && bytes.iter().all(|&(value, place)| declared.contains(&value) && !is_late(place));
                done.extend(bytes.into_iter().map(|(value, place)| (does, value, place)));
                is_right
            }
            Done::Signal(event, by) => {
                let Some(by) = u64::try_from(by).ok().filter(|&by| by > 0) else { return false };
                *self.counts.entry(event).or_default() += by;
                let raised = self.tasks[task].raised.entry(event).or_default();
                *raised += by;
                *raised <= amount(&phase.signals, event)
            }
        }
    }
}

/// By how much signals raise an event.
fn amount(signals: &[(char, u64)], event: char) -> u64 {
    signals.iter().filter(|(of, _)| *of == event).map(|(_, amount)| amount).sum()
}
