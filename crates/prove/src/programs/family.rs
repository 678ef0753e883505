//! A family of programs: all that its dimensions allow, each once.

use std::ops::Range;

use megakernel_ir::model::{Program, Task, Wait};
use megakernel_ir::{CounterId, TaskId};

use super::buffer_set::{Action, BufferSet, counter};
use crate::{Enumeration as Enumerates, Family as Described};

/// Which waits the tasks of a family may have. Thresholds reach from 1 to the number of producers, where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// On every counter, the task's own among them, and on one that nobody increments; up to one above the number of
    /// producers.
    Any,
    /// On every counter but the task's own.
    Others,
    /// On every counter but the task's own, for all of its producers.
    AllOfOthers,
    /// On every counter all of whose producers stand earlier in the list. Up to the names of the tasks, these are all
    /// programs that break neither D03 nor D04 nor a D rule about queues.
    Earlier,
}

/// A family of programs.
#[derive(Clone, Debug)]
pub struct Family {
    /// Name, unique in a scope.
    pub name: &'static str,
    /// Number of tasks.
    pub tasks: usize,
    /// Most counters that tasks increment.
    pub counters: usize,
    /// What tasks wait for.
    pub waits: Waits,
    /// Most SMs; with any, every task is in one of the queues, or in none.
    pub sms: usize,
    /// The buffers.
    pub buffers: BufferSet,
    /// What a task can do.
    pub actions: Vec<Action>,
}

impl Described for Family {
    fn name(&self) -> &'static str {
        self.name
    }

    fn describe(&self) -> String {
        let waits = match self.waits {
            Waits::Any => "any waits",
            Waits::Others => "waits on others' counters",
            Waits::AllOfOthers => "full waits on others' counters",
            Waits::Earlier => "waits on counters of earlier tasks",
        };
        let queues = match self.sms {
            0 => String::from("no SMs"),
            1 => String::from("at most 1 SM"),
            sms => format!("at most {sms} SMs"),
        };
        let actions = match self.actions.len() {
            1 => String::from("no accesses"),
            actions => format!("{actions} actions"),
        };
        format!("{} tasks, at most {} counters, {waits}, {queues}, {actions}", self.tasks, self.counters)
    }
}

/// What comes before the choices of the single tasks: who increments which counter, and who stands in which queue.
struct Unit {
    outs: Vec<CounterId>,
    sms: Vec<Option<usize>>,
    /// For each task, the sets of waits that it may have.
    waits: Vec<Vec<Vec<Wait<'static>>>>,
    /// Number of choices of all tasks together.
    size: u64,
}

/// Choices of one unit: what one worker does at a time.
#[derive(Clone, Debug)]
pub struct Chunk {
    unit: usize,
    range: Range<u64>,
}

const CHUNK: u64 = 1 << 15;

/// A family that is laid out for enumeration.
pub struct Enumeration {
    family: Family,
    units: Vec<Unit>,
    /// Task by task, a record for each action.
    records: Vec<Vec<Task<'static>>>,
}

impl Enumeration {
    /// Lays out a family.
    pub fn new(family: &Family) -> Enumeration {
        let mut units = Vec::new();
        let tasks = TaskId::range(0..family.tasks);
        for outs in numberings(family.tasks, family.counters) {
            let outs: Vec<CounterId> = outs.into_iter().map(CounterId::at).collect();
            let waits: Vec<_> = tasks.clone().map(|task| wait_sets(family.waits, &outs, task)).collect();
            let size = waits.iter().map(|sets| (sets.len() * family.actions.len()) as u64).product();
            for sms in placements(family.tasks, family.sms) {
                units.push(Unit { outs: outs.clone(), sms, waits: waits.clone(), size });
            }
        }
        let record = |task| family.actions.iter().map(|&action| family.buffers.task(task, action)).collect();
        let records = tasks.map(record).collect();
        Enumeration { family: family.clone(), units, records }
    }

    fn task(&self, unit: &Unit, task: TaskId, digit: u64) -> Task<'static> {
        let actions = self.family.actions.len() as u64;
        let mut record = self.records[task.index()][(digit % actions) as usize].clone();
        record.out_counter = unit.outs[task.index()].into();
        record.waits.clone_from(&unit.waits[task.index()][(digit / actions) as usize]);
        record.sm = unit.sms[task.index()].map(|sm| sm as i64);
        record
    }
}

impl Enumerates for Enumeration {
    type Document = Program<'static>;
    type Chunk = Chunk;

    fn size(&self) -> u64 {
        self.units.iter().map(|unit| unit.size).sum()
    }

    fn chunks(&self) -> Vec<Chunk> {
        let of_unit = |(index, unit): (usize, &Unit)| {
            let size = unit.size;
            (0..size)
                .step_by(CHUNK as usize)
                .map(move |start| Chunk { unit: index, range: start..(start + CHUNK).min(size) })
        };
        self.units.iter().enumerate().flat_map(of_unit).collect()
    }

    fn len(&self, chunk: &Chunk) -> u64 {
        chunk.range.end - chunk.range.start
    }

    fn visit(&self, chunk: &Chunk, visit: &mut dyn FnMut(&Program<'static>)) {
        let unit = &self.units[chunk.unit];
        let mut program = self.family.buffers.program(self.family.tasks);
        let top = unit.outs.iter().max().map_or(0, |top| top.index() + 1);
        // One more for the wait on a counter that nobody increments.
        let counters = top + usize::from(self.family.waits == Waits::Any);
        program.counters = CounterId::range(0..counters).map(counter).collect();
        let actions = self.family.actions.len() as u64;
        let radix = |task: TaskId| unit.waits[task.index()].len() as u64 * actions;
        let tasks = TaskId::range(0..self.family.tasks);
        let mut digits = vec![0; self.family.tasks];
        let mut rest = chunk.range.start;
        for (task, digit) in tasks.clone().zip(&mut digits) {
            *digit = rest % radix(task);
            rest /= radix(task);
        }
        for (task, &digit) in tasks.clone().zip(&digits) {
            program.tasks.push(self.task(unit, task, digit));
        }
        for index in chunk.range.clone() {
            if index > chunk.range.start {
                for (task, digit) in tasks.clone().zip(&mut digits) {
                    *digit = (*digit + 1) % radix(task);
                    program.tasks[task.index()] = self.task(unit, task, *digit);
                    if *digit != 0 {
                        break;
                    }
                }
            }
            let chosen = digits.iter().map(|digit| self.family.actions[(digit % actions) as usize]);
            if !self.family.buffers.is_symmetric() || is_first_of_its_images(chosen) {
                visit(&program);
            }
        }
    }
}

/// Of programs that differ in the names of their shared buffers, the one is taken that names them in order of first use.
fn is_first_of_its_images(actions: impl Iterator<Item = Action>) -> bool {
    let mut next = 0;
    for buffer in actions.flat_map(Action::uses) {
        if buffer > next {
            return false;
        }
        next += u8::from(buffer == next);
    }
    true
}

/// All ways to give each of `count` things one of at most `most` names, where names come in order of first use.
fn numberings(count: usize, most: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        let longer = |prefix: Vec<usize>| {
            let used = prefix.iter().max().map_or(0, |top| top + 1);
            (0..=used.min(most.saturating_sub(1))).map(move |name| [prefix.clone(), vec![name]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// All ways to put tasks into at most `sms` queues, or into none; queues are named in order of first use.
fn placements(tasks: usize, sms: usize) -> Vec<Vec<Option<usize>>> {
    let mut all = vec![Vec::new()];
    for _ in 0..tasks {
        let longer = |prefix: Vec<Option<usize>>| {
            let used = prefix.iter().flatten().max().map_or(0, |top| top + 1);
            let queues = (0..sms.min(used + 1)).map(Some);
            std::iter::once(None).chain(queues).map(move |sm| [prefix.clone(), vec![sm]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// The sets of waits that a task may have, at most one wait for a counter: of two, the larger decides.
fn wait_sets(rule: Waits, outs: &[CounterId], task: TaskId) -> Vec<Vec<Wait<'static>>> {
    let counters = outs.iter().max().map_or(0, |top| top.index() + 1);
    let mut sets = vec![Vec::new()];
    for name in CounterId::range(0..counters + usize::from(rule == Waits::Any)) {
        let producers = outs.iter().filter(|&&out| out == name).count() as i64;
        let earlier = outs.iter().skip(task.index()).all(|&out| out != name);
        let thresholds = match rule {
            Waits::Any if producers == 0 => 1..=1,
            Waits::Any => 1..=producers + 1,
            Waits::Others if name != outs[task.index()] => 1..=producers,
            Waits::AllOfOthers if name != outs[task.index()] => producers..=producers,
            Waits::Earlier if earlier => 1..=producers,
            _ => continue,
        };
        let longer = |set: Vec<Wait<'static>>| {
            let more = thresholds.clone().map(|threshold| {
                let wait = Wait { counter: name.into(), threshold, extra: Vec::new() };
                [set.clone(), vec![wait]].concat()
            });
            let more: Vec<_> = more.collect();
            std::iter::once(set).chain(more)
        };
        sets = sets.into_iter().flat_map(longer).collect();
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_in_order_of_first_use() {
        // The numbers of Bell.
        assert_eq!((1..=5).map(|n| numberings(n, n).len()).collect::<Vec<_>>(), [1, 2, 5, 15, 52]);
        assert_eq!(numberings(3, 2), [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]]);
        assert_eq!(placements(3, 3).len(), 15);
        assert_eq!(placements(2, 0), [[None, None]]);
        assert_eq!(placements(4, 3).len(), 51);
    }

    #[test]
    fn waits_are_of_the_counters_that_the_rule_allows() {
        let outs = [0, 0, 1].map(CounterId::from);
        let counts =
            |rule| TaskId::range(0..3).map(|task| wait_sets(rule, &outs, task).len()).collect::<Vec<_>>();
        assert_eq!(counts(Waits::Any), [24, 24, 24]);
        assert_eq!(counts(Waits::Others), [2, 2, 3]);
        assert_eq!(counts(Waits::AllOfOthers), [2, 2, 2]);
        assert_eq!(counts(Waits::Earlier), [1, 1, 3]);
    }

    #[test]
    fn mirror_images_are_left_out() {
        use Action::*;
        assert!(is_first_of_its_images([Write(0, (0, 1)), Copy(0, 1), Nothing].into_iter()));
        assert!(!is_first_of_its_images([Write(1, (0, 1)), Copy(1, 0)].into_iter()));
        assert!(!is_first_of_its_images([Copy(1, 0)].into_iter()));
    }
}
