//! Every run of a small schedule, step by step, as clauses SCH-07, SCH-10 and SCH-11 say. It shares nothing with the validator.
//!
//! What a wait has acquired is what it has seen in this run: everything that signalled its event before. A race shows in a run if an
//! access has not seen one that it conflicts with.

use std::collections::BTreeSet;

use megakernel_ir::Rule;

use crate::small::{Access, Does, Held, Phase, Small};

/// Launches that are explored.
const LAUNCHES: u64 = 4;

/// What goes wrong in some run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// A task of the first launch stands still.
    pub deadlock: bool,
    /// A task of a later launch stands still, or races though no task of the first one does.
    pub later: bool,
    /// Races of the first launch, by the rule about them.
    pub races: BTreeSet<Rule>,
    /// What is read and should not be, in any launch.
    pub contents: BTreeSet<Rule>,
}

/// A byte of each tensor, or one that they share.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    /// For each byte: who changed it last.
    last: [Option<u8>; 2],
    /// For each tensor: whether it has been written in this launch.
    written: [bool; 2],
    /// For each tensor: whether a launch before changed it.
    is_old: [bool; 2],
    /// For each tensor: whether this launch changed it.
    is_changed: [bool; 2],
}

/// Where a run stands.
#[derive(Clone)]
struct State {
    next: Vec<usize>,
    counts: [u64; 2],
    /// For each event: the phases that have been released to it.
    released: [u32; 2],
    /// For each phase that has run: the phases that it has seen.
    seen: Vec<Option<u32>>,
    memory: Memory,
}

struct Explorer<'d> {
    small: &'d Small,
    /// Task and place of each phase.
    phases: Vec<(usize, usize)>,
    /// The first phase of each task.
    first: Vec<usize>,
    launch: u64,
    races: BTreeSet<Rule>,
    contents: BTreeSet<Rule>,
    deadlock: bool,
    /// What the first run that finishes leaves.
    end: Option<State>,
}

/// Explores all launches. Nothing for a schedule that is too large.
pub fn explore(small: &Small) -> Option<Faults> {
    let mut faults = Faults::default();
    let (mut counts, mut memory) = ([0; 2], Memory::default());
    for launch in 0..LAUNCHES {
        let mut explorer = Explorer::new(small, launch)?;
        let start = State {
            next: vec![0; small.tasks.len()],
            counts,
            released: [0; 2],
            seen: vec![None; explorer.phases.len()],
            memory,
        };
        explorer.run(&start);
        faults.contents.append(&mut explorer.contents);
        if launch == 0 {
            faults.deadlock = explorer.deadlock;
            faults.races = explorer.races;
        } else {
            faults.later |= explorer.deadlock || explorer.races != faults.races;
        }
        let Some(end) = explorer.end.filter(|_| !explorer.deadlock) else { break };
        // Event 0 alone may count on.
        counts = [small.setting.period.map_or(0, |_| end.counts[0]), 0];
        memory = Memory { written: [false; 2], is_changed: [false; 2], ..end.memory };
        for (is_old, is_changed) in memory.is_old.iter_mut().zip(end.memory.is_changed) {
            *is_old |= is_changed;
        }
        if small.setting.held == Held::Launch {
            memory.last = [None; 2];
        }
    }
    Some(faults)
}

impl<'d> Explorer<'d> {
    fn new(small: &'d Small, launch: u64) -> Option<Explorer<'d>> {
        let (mut phases, mut first) = (Vec::new(), Vec::new());
        for (task, of) in small.tasks.iter().enumerate() {
            first.push(phases.len());
            phases.extend((0..of.phases.len()).map(|place| (task, place)));
        }
        (phases.len() <= 6).then_some(Explorer {
            small,
            phases,
            first,
            launch,
            races: BTreeSet::new(),
            contents: BTreeSet::new(),
            deadlock: false,
            end: None,
        })
    }

    fn is_finished(&self, state: &State, task: usize) -> bool {
        state.next[task] == self.small.tasks[task].phases.len()
    }

    /// Whether the worker of a task is free for it, or has it.
    fn has_worker(&self, state: &State, task: usize) -> bool {
        let Some(queue) = self.small.tasks[task].queue else { return true };
        if state.next[task] > 0 {
            return true;
        }
        let others = (0..self.small.tasks.len())
            .filter(|&other| other != task && self.small.tasks[other].queue == Some(queue));
        let mut blocking = others.filter(|&other| !self.is_finished(state, other));
        if self.small.setting.any_order && queue == 0 {
            blocking.all(|other| state.next[other] == 0)
        } else {
            blocking.all(|other| other > task)
        }
    }

    fn holds(&self, state: &State, &(event, count): &(u8, u64)) -> bool {
        let period = self.small.setting.period.filter(|_| event == 0).unwrap_or(0);
        state.counts[usize::from(event)] >= self.launch * period + count
    }

    fn run(&mut self, state: &State) {
        let mut is_stuck = true;
        for task in 0..self.small.tasks.len() {
            let phase = self.small.tasks[task].phases.get(state.next[task]);
            let Some(phase) = phase.filter(|_| self.has_worker(state, task)) else { continue };
            if phase.waits.iter().all(|wait| self.holds(state, wait)) {
                is_stuck = false;
                let mut after = state.clone();
                self.step(&mut after, task, phase);
                self.run(&after);
            }
        }
        if !is_stuck {
            return;
        }
        if (0..self.small.tasks.len()).all(|task| self.is_finished(state, task)) {
            if self.end.is_none() {
                self.end = Some(state.clone());
            }
        } else {
            self.deadlock = true;
        }
    }

    fn step(&mut self, state: &mut State, task: usize, phase: &Phase) {
        let number = self.first[task] + state.next[task];
        let [release, acquire, in_queue] = self.small.setting.memory;
        let mut seen = 0u32;
        let mut see = |state: &State, other: usize| {
            seen |= state.seen[other].unwrap_or(0) | 1 << other;
        };
        if state.next[task] > 0 {
            see(state, number - 1);
        } else if let Some(queue) = self.small.tasks[task].queue
            && in_queue
            && !(self.small.setting.any_order && queue == 0)
        {
            let before = (0..task).filter(|&other| self.small.tasks[other].queue == Some(queue));
            for other in before.filter(|&other| !self.small.tasks[other].phases.is_empty()) {
                see(state, self.first[other] + self.small.tasks[other].phases.len() - 1);
            }
        }
        if acquire {
            phase.waits.iter().for_each(|&(event, _)| seen |= state.released[usize::from(event)]);
        }
        state.seen[number] = Some(seen);
        self.meet(state, number, phase, seen);
        for access in &phase.accesses {
            self.touch(&mut state.memory, access);
        }
        for &(event, amount) in &phase.signals {
            let event = usize::from(event);
            state.counts[event] += amount;
            if release {
                state.released[event] |= seen | 1 << number;
            }
        }
        state.next[task] += 1;
    }

    /// Compares a phase with all that have run and that it has not seen.
    fn meet(&mut self, state: &State, number: usize, phase: &Phase, seen: u32) {
        let task = self.phases[number].0;
        for (other, &(of, place)) in self.phases.iter().enumerate() {
            if of == task || state.seen[other].is_none() || seen >> other & 1 == 1 {
                continue;
            }
            for one in &self.small.tasks[of].phases[place].accesses {
                for two in &phase.accesses {
                    self.races.extend(race(one, two, self.small.setting.is_shared));
                }
            }
        }
    }

    fn touch(&mut self, memory: &mut Memory, access: &Access) {
        let tensor = usize::from(access.tensor);
        let byte = if self.small.setting.is_shared { 0 } else { tensor };
        if access.does != Does::Write && !memory.written[tensor] {
            match self.small.setting.held {
                Held::Nothing => {
                    self.contents.insert(Rule::ER05);
                }
                Held::Once if memory.is_old[tensor] => {
                    self.contents.insert(Rule::ER06);
                }
                _ => {}
            }
        }
        let is_judged = memory.written[tensor] || self.small.setting.held != Held::Nothing;
        if access.does != Does::Write
            && is_judged
            && memory.last[byte].is_some_and(|last| last != access.tensor)
        {
            self.contents.insert(Rule::ER08);
        }
        if access.does != Does::Read {
            memory.last[byte] = Some(access.tensor);
            memory.is_changed[tensor] = true;
        }
        memory.written[tensor] |= access.does == Does::Write;
    }
}

/// The rule about two accesses that have not seen each other.
fn race(one: &Access, two: &Access, is_shared: bool) -> Option<Rule> {
    if one.tensor != two.tensor {
        let both_read = one.does == Does::Read && two.does == Does::Read;
        return (is_shared && !both_read).then_some(Rule::ER07);
    }
    match (one.does.min(two.does), one.does.max(two.does)) {
        (Does::Read, Does::Read) => None,
        (Does::Read, Does::Write) => Some(Rule::ER01),
        (Does::Write, Does::Write) => Some(Rule::ER02),
        (Does::Add, Does::Add) => (one.group.is_some() && one.group == two.group).then_some(Rule::ER04),
        _ => Some(Rule::ER03),
    }
}
