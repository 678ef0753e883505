//! The rules EW.

use std::collections::HashMap;

use megakernel_ir::{Diagnostic, Rule, TaskId};
use megakernel_order::happens_before::{Around, Bits, HappensBefore, LANES, Question};
use megakernel_order::{Findings, KEPT_PER_RULE};

use crate::order::Before;
use crate::world::World;

/// EW01.
pub fn redundant_waits(
    world: &World<'_>,
    before: &Before,
    signals: &[Vec<(u32, u64)>],
    order: &HappensBefore<'_>,
    findings: &mut Findings,
) {
    let sums = sums(world, before, signals, order);
    let of = |phase: u32| world.waits.range(phase as usize).map(move |index| (phase, index));
    let redundant: Vec<(u32, usize)> = (0..world.phases() as u32)
        .flat_map(of)
        .filter(|&(_, index)| sums[index] >= world.waits.all()[index].number)
        .collect();
    let told = &redundant[..redundant.len().min(KEPT_PER_RULE as usize)];
    let mut implied_by = implied_by(world, before, signals, order, told).into_iter();
    for (phase, index) in redundant {
        let (wait, task) = (&world.waits.all()[index], world.task_of[phase as usize]);
        let by = implied_by.next().unwrap_or_default();
        findings.report(Rule::EW01, || {
            let message = format!(
                "{} waits for `{}` to reach {}, and {} of it come before without this wait, by {by}",
                world.task_name(task),
                world.events[wait.event as usize],
                wait.number,
                sums[index]
            );
            Diagnostic::new(Rule::EW01, world.wait_pointer(phase, index), message).tasks([task.into()])
        });
    }
}

/// Signals of an event of which it is asked how they come before a wait without it.
const ASKED: usize = 64;
/// Ways that are named.
const NAMED: usize = 3;

/// For each of these waits, by which of the other things that come straight before its phase the signals come that it waits for, in words.
fn implied_by(
    world: &World<'_>,
    before: &Before,
    signals: &[Vec<(u32, u64)>],
    order: &HappensBefore<'_>,
    redundant: &[(u32, usize)],
) -> Vec<String> {
    let ways: Vec<Vec<(u32, String)>> =
        redundant.iter().map(|&(phase, index)| ways(world, before, phase, index)).collect();
    let sources = |index: usize| {
        let all = &signals[world.waits.all()[index].event as usize];
        all.iter().take(ASKED).map(|&(phase, _)| phase)
    };
    let mut questions = Vec::new();
    for (&(_, index), ways) in redundant.iter().zip(&ways) {
        for (node, _) in ways {
            let later = TaskId::from(*node);
            questions.extend(sources(index).map(|earlier| Question { earlier: earlier.into(), later }));
        }
    }
    let answers = order.answer(&questions);
    let mut come =
        questions.iter().zip(answers).map(|(asked, answer)| answer || asked.earlier == asked.later);
    let mut told = Vec::with_capacity(redundant.len());
    for (&(_, index), ways) in redundant.iter().zip(&ways) {
        let mut is_known = vec![false; sources(index).count()];
        let mut names: Vec<&str> = Vec::new();
        for (_, name) in ways {
            let mut is_new = false;
            for is_known in &mut is_known {
                let comes = come.next().unwrap_or(false);
                is_new |= comes && !*is_known;
                *is_known |= comes;
            }
            if is_new {
                names.push(name);
            }
        }
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        told.push(format!("{}{rest}", names.join(" and ")));
    }
    told
}

/// What comes straight before a phase but for one of its waits, as nodes, and in words.
fn ways(world: &World<'_>, before: &Before, phase: u32, without: usize) -> Vec<(u32, String)> {
    let mut ways = Vec::new();
    let [in_task, in_queue] = before.program[phase as usize];
    if let Some(node) = in_task {
        ways.push((node, format!("its phase {}", world.place(node))));
    }
    if let Some(node) = in_queue {
        let task = world.task_name(world.task_of[node as usize]);
        ways.push((node, format!("{task}, which is before it in its queue")));
    }
    for index in world.waits.range(phase as usize).filter(|&index| index != without) {
        let wait = &world.waits.all()[index];
        let name = format!("its wait for `{}` to reach {}", world.events[wait.event as usize], wait.number);
        ways.extend(before.wait[index].map(|node| (node, name)));
    }
    ways
}

/// For each wait the amounts of its event that come before its phase without it. The signals are taken some hundred at a time, and
/// followed to all phases that wait for them.
pub fn sums(
    world: &World<'_>,
    before: &Before,
    signals: &[Vec<(u32, u64)>],
    order: &HappensBefore<'_>,
) -> Vec<u64> {
    // The phases that have something else before them, by event.
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); world.events.len()];
    for phase in 0..world.phases() {
        let range = world.waits.range(phase);
        if range.len() + before.program[phase].iter().flatten().count() < 2 {
            continue;
        }
        for wait in &world.waits.all()[range] {
            let list = &mut waiting[wait.event as usize];
            if list.last() != Some(&(phase as u32)) {
                list.push(phase as u32);
            }
        }
    }
    let mut sums = vec![0u64; world.waits.all().len()];
    let sources = sources(signals, order, |event| !waiting[event].is_empty());
    for batch in batches(&sources) {
        follow(world, before, order, &batch, &waiting, &mut sums);
    }
    sums
}

/// For each of these, a phase and an event: the amounts of the event that come before the phase.
pub fn come(signals: &[Vec<(u32, u64)>], order: &HappensBefore<'_>, asked: &[(u32, u32)]) -> Vec<u64> {
    let mut of_event: HashMap<u32, Vec<usize>> = HashMap::new();
    for (index, &(_, event)) in asked.iter().enumerate() {
        of_event.entry(event).or_default().push(index);
    }
    let mut sums = vec![0u64; asked.len()];
    let sources = sources(signals, order, |event| of_event.contains_key(&(event as u32)));
    for batch in batches(&sources) {
        let asking = |event: &u32| of_event.get(event).into_iter().flatten().copied();
        let around = batch.around(order, batch.amounts.keys().flat_map(asking).map(|index| asked[index].0));
        for (event, amounts) in &batch.amounts {
            for index in asking(event) {
                sums[index] += amounts.within(around.before(asked[index].0.into()));
            }
        }
    }
    sums
}

/// The signals of these events: phase, event and amount, along happens-before.
fn sources(
    signals: &[Vec<(u32, u64)>],
    order: &HappensBefore<'_>,
    is_asked: impl Fn(usize) -> bool,
) -> Vec<(u32, u32, u64)> {
    let asked = signals.iter().enumerate().filter(|(event, _)| is_asked(*event));
    let of = |(event, signals): (usize, &Vec<(u32, u64)>)| {
        signals.iter().map(|&(phase, amount)| (phase, event as u32, amount)).collect::<Vec<_>>()
    };
    let mut sources: Vec<(u32, u32, u64)> = asked.flat_map(of).collect();
    sources.sort_unstable_by_key(|&(phase, event, _)| (order.rank(phase.into()), phase, event));
    sources
}

/// The signals of some hundred phases.
struct Batch {
    /// The phases, a lane each.
    lanes: Vec<u32>,
    /// By event.
    amounts: HashMap<u32, Amounts>,
}

/// For each amount, the lanes that signal so much.
#[derive(Default)]
struct Amounts(HashMap<u64, Bits>);

impl Amounts {
    /// All amounts of these lanes.
    fn within(&self, lanes: Bits) -> u64 {
        let count = |of: &Bits| {
            of.iter().zip(lanes).map(|(of, lanes)| u64::from((of & lanes).count_ones())).sum::<u64>()
        };
        self.0.iter().map(|(amount, of)| amount * count(of)).sum()
    }
}

impl Batch {
    fn around<'h, 'g>(
        &self,
        order: &'h HappensBefore<'g>,
        phases: impl Iterator<Item = u32>,
    ) -> Around<'h, 'g> {
        let tasks: Vec<TaskId> = self.lanes.iter().copied().map(TaskId::from).collect();
        let all = tasks.iter().copied().chain(phases.map(TaskId::from));
        Around::new(order, &tasks, order.positions(all))
    }
}

fn batches(sources: &[(u32, u32, u64)]) -> impl Iterator<Item = Batch> {
    let mut rest = sources.chunk_by(|one, other| one.0 == other.0).peekable();
    std::iter::from_fn(move || {
        rest.peek()?;
        let mut batch = Batch { lanes: Vec::new(), amounts: HashMap::new() };
        for (lane, signals) in rest.by_ref().take(LANES).enumerate() {
            batch.lanes.extend(signals.first().map(|&(phase, ..)| phase));
            for &(_, event, amount) in signals {
                let lanes = batch.amounts.entry(event).or_default().0.entry(amount).or_default();
                lanes[lane / 64] |= 1 << (lane % 64);
            }
        }
        Some(batch)
    })
}

/// Adds to each wait the amounts of the signals of this batch that come before its phase without it.
fn follow(
    world: &World<'_>,
    before: &Before,
    order: &HappensBefore<'_>,
    batch: &Batch,
    waiting: &[Vec<u32>],
    sums: &mut [u64],
) {
    let mut phases: Vec<u32> =
        batch.amounts.keys().flat_map(|event| &waiting[*event as usize]).copied().collect();
    phases.sort_unstable();
    phases.dedup();
    let around = batch.around(order, phases.iter().copied());
    let lane_of: HashMap<u32, usize> =
        batch.lanes.iter().enumerate().map(|(lane, &phase)| (phase, lane)).collect();
    let at = |node: u32| -> Bits {
        let mut bits = around.before(node.into());
        if let Some(&lane) = lane_of.get(&node) {
            bits[lane / 64] |= 1 << (lane % 64);
        }
        bits
    };
    for phase in phases {
        let range = world.waits.range(phase as usize);
        let program: Vec<u32> = before.program[phase as usize].iter().flatten().copied().collect();
        let nodes: Vec<Option<u32>> = before.wait[range.clone()].to_vec();
        let own = program.iter().map(|&node| at(node)).fold(Bits::default(), unite);
        let sets: Vec<Bits> = nodes.iter().map(|node| node.map(at).unwrap_or_default()).collect();
        // What comes before each wait in the list, and what comes behind it.
        let mut behind = vec![Bits::default(); sets.len() + 1];
        for index in (0..sets.len()).rev() {
            behind[index] = unite(behind[index + 1], sets[index]);
        }
        let mut ahead = own;
        for (place, index) in range.enumerate() {
            let amounts = batch.amounts.get(&world.waits.all()[index].event);
            sums[index] += amounts.map_or(0, |amounts| amounts.within(unite(ahead, behind[place + 1])));
            ahead = unite(ahead, sets[place]);
        }
    }
}

fn unite(mut bits: Bits, other: Bits) -> Bits {
    bits.iter_mut().zip(other).for_each(|(bits, other)| *bits |= other);
    bits
}

/// EW02.
pub fn dead_events(world: &World<'_>, signals: &[Vec<(u32, u64)>], findings: &mut Findings) {
    let mut is_waited = vec![false; world.events.len()];
    world.waits.all().iter().for_each(|wait| is_waited[wait.event as usize] = true);
    for (event, signals) in signals.iter().enumerate().filter(|(event, _)| !is_waited[*event]) {
        let Some(&(phase, _)) = signals.first() else { continue };
        let place = world.signals.of(phase as usize).iter().position(|signal| signal.event as usize == event);
        let pointer = format!("{}/signals/{}", world.phase_pointer(phase), place.unwrap_or(0));
        findings.report(Rule::EW02, || {
            let task = world.task_of[phase as usize];
            let message = format!(
                "{} signals `{}`, and nobody waits for it",
                world.task_name(task),
                world.events[event]
            );
            Diagnostic::new(Rule::EW02, pointer, message).tasks([task.into()])
        });
    }
}
