//! The enumeration of all runs.

use super::compact::{Cells, Compact, Instances, MAX_INSTANCES};
use super::faults::Faults;

/// Explores systems one after the other; keeps its memory between them.
///
/// # What is explored
/// Every set of finished tasks that some run reaches, each once. A task that has started and not finished is not part of a
/// state: nobody's start depends on it, and a finish can be put off for as long as one likes. So in a state, all tasks that
/// could start run side by side in some run, and every state of starts and finishes is one of these with some of those
/// started. A test compares with the enumeration of all starts and finishes, with clocks, on every system of a scope.
#[derive(Debug, Default)]
pub struct Explorer {
    level: Vec<Instances>,
    next: Vec<Instances>,
    states: u64,
}

fn each(mut set: Instances) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (bit < MAX_INSTANCES).then_some(bit)
    })
}

impl Explorer {
    /// How many states have been visited so far.
    pub fn states(&self) -> u64 {
        self.states
    }

    /// Visits every state of a system.
    pub fn explore(&mut self, system: &Compact) -> Faults {
        let mut faults = Faults { queues: system.queues, ..Faults::default() };
        let all = if system.instances == MAX_INSTANCES { !0 } else { (1 << system.instances) - 1 };
        let mut conflicts = [[0; MAX_INSTANCES]; 2];
        let cells = |sets: &[Cells], at: usize| sets.get(at).copied().unwrap_or_default();
        for one in each(all) {
            for other in each(all & !(1 << one)) {
                let written = cells(&system.writes, other);
                let both_add = cells(&system.adds, one) & cells(&system.adds, other);
                if cells(&system.reads, one) & written != 0 {
                    conflicts[0][one] |= 1 << other;
                }
                if cells(&system.writes, one) & written & !both_add != 0 {
                    conflicts[1][one] |= 1 << other;
                }
            }
        }
        let has_rivals = |&i: &usize| system.rivals.get(i).is_some_and(|&rivals| rivals != 0);
        let in_teams = each(all).filter(has_rivals).fold(0, |set: Instances, i| set | 1 << i);
        self.level.clear();
        self.level.push(0);
        while !self.level.is_empty() {
            self.next.clear();
            for &finished in &self.level {
                self.states += 1;
                let waiting = each(all & !finished);
                let ready = waiting
                    .filter(|&i| {
                        system
                            .needs
                            .get(i)
                            .is_some_and(|needs| needs.iter().all(|need| need.is_met(finished)))
                    })
                    .fold(0, |set: Instances, i| set | 1 << i);
                for i in each(ready) {
                    faults.read_write[i] |= conflicts[0][i] & ready;
                    faults.write_write[i] |= conflicts[1][i] & ready;
                    self.next.push(finished | 1 << i);
                }
                if in_teams & !finished != 0 {
                    let started = each(in_teams & !finished)
                        .filter(|&i| system.can_start(i, finished))
                        .fold(0, |set: Instances, i| set | 1 << i);
                    for i in each(started) {
                        let rivals = system.rivals.get(i).copied().unwrap_or_default();
                        faults.at_once[i] |= rivals & started & !(1 << i);
                    }
                }
                for i in each(all & !finished) {
                    faults.without[i] |= finished | ready;
                }
                for (iteration, ends) in system.ends.iter().enumerate() {
                    let ended = ends.iter().all(|end| end.is_met(finished));
                    let mine = ((1 << system.tasks) - 1) << (iteration * system.tasks);
                    if ended {
                        faults.lost |= mine & !finished;
                    } else if ready == 0 {
                        faults.endless = true;
                    }
                }
                if ready == 0 {
                    faults.stuck |= all & !finished;
                }
            }
            self.next.sort_unstable();
            self.next.dedup();
            std::mem::swap(&mut self.level, &mut self.next);
        }
        for i in each(all) {
            faults.without[i] &= !(1 << i);
        }
        dead_writes(system, &mut faults);
        faults
    }
}

/// A write is dead if, of the elements that some other task is the next to write, none is read in between. What is dead in
/// a later iteration is dead in the first.
fn dead_writes(system: &Compact, faults: &mut Faults) {
    let before = |one: usize, other: usize| one != other && faults.without[one] & (1 << other) == 0;
    let of = |sets: &[Cells], at: usize| sets.get(at).copied().unwrap_or_default();
    let mut dead = [0; MAX_INSTANCES];
    let tasks = system.tasks.min(MAX_INSTANCES);
    for (first, dead) in dead.iter_mut().enumerate().take(tasks) {
        for second in (0..tasks).filter(|&second| system.ranks.get(first) == system.ranks.get(second)) {
            let between = |other: usize| before(first, other) && before(other, second);
            let mut shared = of(&system.values, first) & of(&system.own_writes, second);
            if shared == 0 || !before(first, second) {
                continue;
            }
            for other in (0..tasks).filter(|&other| between(other)) {
                shared &= !of(&system.own_writes, other);
            }
            let reads = |reader: usize| (of(&system.reads, reader) | of(&system.adds, reader)) & shared != 0;
            if shared != 0 && !reads(second) && !(0..tasks).any(|reader| between(reader) && reads(reader)) {
                *dead |= 1 << second;
            }
        }
    }
    faults.dead = dead;
}
