//! Waits of which one look at the schedule tells that they stay (clause SCH-14): a phase that has to come before another one does so through
//! this wait alone. It stays whatever else goes, since fewer waits order less.

use std::collections::BTreeSet;

use megakernel_ir::TaskId;
use megakernel_order::Order;
use megakernel_order::happens_before::{HappensBefore, Question};
use megakernel_schedule::Schedule;

use crate::minimise::Wait;
use crate::order::{Before, signals};
use crate::race::conflict;
use crate::validate::world;
use crate::world::World;

/// Accesses that are compared at most. Of the waits that are left, nothing is known.
const MOST: usize = 1 << 26;
/// Of so many signals of a wait it is asked how they come before it.
const ASKED: usize = 8;

/// Waits that cannot go from a schedule that is accepted. There may be others.
pub fn needed(schedule: &Schedule) -> BTreeSet<Wait> {
    let mut needed = BTreeSet::new();
    let Some(world) = world(schedule) else { return needed };
    let signals = signals(&world);
    let before = Before::new(&world, &signals);
    let graph = before.graph(&world);
    let Some(order) = Order::new(&graph) else { return needed };
    let order = HappensBefore::new(&graph, &order);
    let mut compared = 0;
    // For each signal that has to come before a wait: the wait, and how many questions are about it. The first is whether it does come before; the
    // others, whether it does without the wait.
    let (mut questions, mut asked) = (Vec::new(), Vec::new());
    for phase in 0..world.phases() as u32 {
        let at = world.waits.range(phase as usize);
        for index in at.clone() {
            let mut others: Vec<u32> = before.program[phase as usize].iter().flatten().copied().collect();
            others.extend(at.clone().filter(|&other| other != index).filter_map(|other| before.wait[other]));
            let event = world.waits.all()[index].event as usize;
            let sources = signals[event].iter().map(|&(source, _)| source);
            let mut conflicting =
                sources.filter(|&source| clash(&world, source, phase, &mut compared)).take(ASKED);
            for source in conflicting.by_ref() {
                let earlier = TaskId::from(source);
                questions.push(Question { earlier, later: phase.into() });
                questions.extend(others.iter().map(|&other| Question { earlier, later: other.into() }));
                asked.push(([phase, (index - at.start) as u32], others.len()));
            }
        }
    }
    let answers = order.answer(&questions);
    let mut answers =
        questions.iter().zip(answers).map(|(asked, answer)| answer || asked.earlier == asked.later);
    for ([phase, place], others) in asked {
        let comes = answers.next().unwrap_or(false);
        let comes_without = answers.by_ref().take(others).filter(|answer| *answer).count() > 0;
        if comes && !comes_without {
            let task = world.task_of[phase as usize] as usize;
            needed.insert([world.tasks[task].written as usize, world.place(phase) as usize, place as usize]);
        }
    }
    needed
}

/// Whether phases of two tasks access bytes in ways that have to be ordered. No, where too much has been compared.
fn clash(world: &World<'_>, one: u32, other: u32, compared: &mut usize) -> bool {
    if world.task_of[one as usize] == world.task_of[other as usize] {
        return false;
    }
    let (ones, others) = (world.accesses_of(&(one..one + 1)), world.accesses_of(&(other..other + 1)));
    ones.iter().any(|one| {
        others.iter().any(|other| {
            *compared += 1;
            *compared <= MOST
                && world.placed(one).storage == world.placed(other).storage
                && conflict(world, one, other)
                && overlap(world.bytes(one), world.bytes(other), compared)
        })
    })
}

/// Whether two ascending lists of intervals share a byte.
fn overlap(one: &[[u64; 2]], other: &[[u64; 2]], compared: &mut usize) -> bool {
    let (mut at, mut to) = (0, 0);
    while let (Some(one), Some(other)) = (one.get(at), other.get(to)) {
        *compared += 1;
        if one[0].max(other[0]) < one[1].min(other[1]) {
            return true;
        }
        if one[1] < other[1] { at += 1 } else { to += 1 }
    }
    false
}
