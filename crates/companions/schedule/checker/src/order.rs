//! Happens-before (clause SCH-08): for each phase all those before it; and EW01.

use std::collections::BTreeMap;

use crate::parts::World;

pub struct Order {
    /// For each phase, whether each other one comes before it.
    before: Vec<Vec<bool>>,
    /// Straight before each phase: the phase before it in its task, or the last one of its queue.
    program: Vec<Option<usize>>,
}

impl Order {
    /// `run` has every phase, each behind all that come before it.
    pub fn new(world: &World<'_>, run: &[usize]) -> Order {
        let mut program = vec![None; world.phases.len()];
        let mut last: BTreeMap<i128, usize> = BTreeMap::new();
        for (queue, phases) in &world.tasks {
            for pair in phases.windows(2) {
                program[pair[1]] = Some(pair[0]);
            }
            let queue = queue.filter(|&queue| world.schedule.memory.queue && world.is_in_order(queue));
            if let (Some(queue), Some(&begin), Some(&end)) = (queue, phases.first(), phases.last()) {
                program[begin] = last.insert(queue, end);
            }
        }
        let mut order = Order { before: vec![vec![false; world.phases.len()]; world.phases.len()], program };
        for &phase in run {
            order.before[phase] = order.before_without(world, phase, None);
        }
        order
    }

    /// What comes before a phase, one of its waits left out.
    fn before_without(&self, world: &World<'_>, phase: usize, without: Option<usize>) -> Vec<bool> {
        let waits = world.phases[phase].waits.iter().enumerate().filter(|(place, _)| Some(*place) != without);
        let seen = waits.flat_map(|(_, (event, count, _))| seen(world, event, *count));
        let mut all = vec![false; world.phases.len()];
        for earlier in seen.chain(self.program[phase]) {
            all[earlier] = true;
            all.iter_mut().zip(&self.before[earlier]).for_each(|(all, before)| *all |= before);
        }
        all
    }

    /// Whether an access, by phase and place, comes before another one.
    pub fn earlier(&self, one: (usize, usize), other: (usize, usize)) -> bool {
        if one.0 == other.0 { one.1 < other.1 } else { self.before[other.0][one.0] }
    }

    /// The waits that are over without themselves in some task, by pointer; and in how many tasks.
    pub fn redundant(&self, world: &World<'_>) -> BTreeMap<String, usize> {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for (number, phase) in world.phases.iter().enumerate() {
            for (place, (event, count, pointer)) in phase.waits.iter().enumerate() {
                let before = self.before_without(world, number, Some(place));
                let sure: i128 = signals(world, event)
                    .filter(|(earlier, _)| before[*earlier])
                    .map(|(_, amount)| amount)
                    .sum();
                if sure >= *count {
                    *found.entry(pointer.clone()).or_default() += 1;
                }
            }
        }
        found
    }
}

/// The phases that signal an event, and by how much.
fn signals<'w>(world: &'w World<'_>, event: &'w str) -> impl Iterator<Item = (usize, i128)> + 'w {
    world.phases.iter().enumerate().filter_map(move |(number, phase)| {
        let of = phase.signals.iter().filter(|(of, ..)| of == event);
        let amount: i128 = of.map(|(_, amount, _)| amount).sum();
        (amount > 0).then_some((number, amount))
    })
}

/// The phases whose signals a wait has seen.
fn seen(world: &World<'_>, event: &str, count: i128) -> Vec<usize> {
    let memory = world.schedule.memory;
    let total = world.total(event);
    let needed = |(_, amount): &(usize, i128)| memory.signal && memory.wait && total - amount < count;
    signals(world, event).filter(needed).map(|(phase, _)| phase).collect()
}
