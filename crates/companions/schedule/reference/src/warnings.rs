//! The rules EW.

use std::collections::HashMap;

use megakernel_ir::{Diagnostic, Rule, TaskId};
use megakernel_order::happens_before::{Around, Bits, HappensBefore, LANES};
use megakernel_order::{Findings, KEPT_PER_RULE};

use crate::ids::{EventId, Node, PhaseId, question};
use crate::order::Before;
use crate::world::World;

/// EW01.
pub fn redundant_waits(
    world: &World<'_>,
    before: &Before,
    signals: &[Vec<(PhaseId, u64)>],
    order: &HappensBefore<'_>,
    findings: &mut Findings,
) {
    let sums = sums(world, before, signals, order);
    let of = |phase: PhaseId| world.waits.range(phase).map(move |index| (phase, index));
    let redundant: Vec<(PhaseId, usize)> = world
        .phase_ids()
        .flat_map(of)
        .filter(|&(_, index)| sums[index] >= world.waits.all()[index].number)
        .collect();
    let told = &redundant[..redundant.len().min(KEPT_PER_RULE as usize)];
    let mut implied_by = implied_by(world, before, signals, order, told).into_iter();
    for (phase, index) in redundant {
        let (wait, task) = (&world.waits.all()[index], world.task_of[phase.index()]);
        let by = implied_by.next().unwrap_or_default();
        findings.report(Rule::EW01, || {
            let message = format!(
                "{} waits for `{}` to reach {}, and {} of it come before without this wait, by {by}",
                world.task_name(task),
                world.events[wait.event.index()],
                wait.number,
                sums[index]
            );
            Diagnostic::new(Rule::EW01, world.wait_pointer(phase, index), message).tasks([task])
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
    signals: &[Vec<(PhaseId, u64)>],
    order: &HappensBefore<'_>,
    redundant: &[(PhaseId, usize)],
) -> Vec<String> {
    let ways: Vec<Vec<(Node, String)>> =
        redundant.iter().map(|&(phase, index)| ways(world, before, phase, index)).collect();
    let sources = |index: usize| {
        let all = &signals[world.waits.all()[index].event.index()];
        all.iter().take(ASKED).map(|&(phase, _)| phase)
    };
    let mut questions = Vec::new();
    for (&(_, index), ways) in redundant.iter().zip(&ways) {
        for (node, _) in ways {
            questions.extend(sources(index).map(|earlier| question(earlier, *node)));
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
fn ways(world: &World<'_>, before: &Before, phase: PhaseId, without: usize) -> Vec<(Node, String)> {
    let mut ways = Vec::new();
    let [in_task, in_queue] = before.program[phase.index()];
    if let Some(phase) = in_task {
        ways.push((phase.into(), format!("its phase {}", world.place(phase))));
    }
    if let Some(phase) = in_queue {
        let task = world.task_name(world.task_of[phase.index()]);
        ways.push((phase.into(), format!("{task}, which is before it in its queue")));
    }
    for index in world.waits.range(phase).filter(|&index| index != without) {
        let wait = &world.waits.all()[index];
        let name = format!("its wait for `{}` to reach {}", world.events[wait.event.index()], wait.number);
        ways.extend(before.wait[index].map(|node| (node, name)));
    }
    ways
}

/// For each wait the amounts of its event that come before its phase without it. The signals are taken some hundred at a time, and
/// followed to all phases that wait for them.
pub fn sums(
    world: &World<'_>,
    before: &Before,
    signals: &[Vec<(PhaseId, u64)>],
    order: &HappensBefore<'_>,
) -> Vec<u64> {
    // The phases that have something else before them, by event.
    let mut waiting: Vec<Vec<PhaseId>> = vec![Vec::new(); world.events.len()];
    for phase in world.phase_ids() {
        let range = world.waits.range(phase);
        if range.len() + before.program[phase.index()].iter().flatten().count() < 2 {
            continue;
        }
        for wait in &world.waits.all()[range] {
            let list = &mut waiting[wait.event.index()];
            if list.last() != Some(&phase) {
                list.push(phase);
            }
        }
    }
    let mut sums = vec![0u64; world.waits.all().len()];
    let sources = sources(signals, order, |event| !waiting[event.index()].is_empty());
    for batch in batches(&sources) {
        follow(world, before, order, &batch, &waiting, &mut sums);
    }
    sums
}

/// For each of these, a phase and an event: the amounts of the event that come before the phase.
pub fn come(
    signals: &[Vec<(PhaseId, u64)>],
    order: &HappensBefore<'_>,
    asked: &[(PhaseId, EventId)],
) -> Vec<u64> {
    let mut of_event: HashMap<EventId, Vec<usize>> = HashMap::new();
    for (index, &(_, event)) in asked.iter().enumerate() {
        of_event.entry(event).or_default().push(index);
    }
    let mut sums = vec![0u64; asked.len()];
    let sources = sources(signals, order, |event| of_event.contains_key(&event));
    for batch in batches(&sources) {
        let asking = |event: &EventId| of_event.get(event).into_iter().flatten().copied();
        let around = batch.around(order, batch.amounts.keys().flat_map(asking).map(|index| asked[index].0));
        for (event, amounts) in &batch.amounts {
            for index in asking(event) {
                sums[index] += amounts.within(around.before(Node::from(asked[index].0).task()));
            }
        }
    }
    sums
}

/// The signals of these events: phase, event and amount, along happens-before.
fn sources(
    signals: &[Vec<(PhaseId, u64)>],
    order: &HappensBefore<'_>,
    is_asked: impl Fn(EventId) -> bool,
) -> Vec<(PhaseId, EventId, u64)> {
    let asked = EventId::range(0..signals.len()).zip(signals).filter(|(event, _)| is_asked(*event));
    let of = |(event, signals): (EventId, &Vec<(PhaseId, u64)>)| {
        signals.iter().map(|&(phase, amount)| (phase, event, amount)).collect::<Vec<_>>()
    };
    let mut sources: Vec<(PhaseId, EventId, u64)> = asked.flat_map(of).collect();
    let rank = |phase: PhaseId| order.rank(Node::from(phase).task());
    sources.sort_unstable_by_key(|&(phase, event, _)| (rank(phase), phase, event));
    sources
}

/// The signals of some hundred phases.
struct Batch {
    /// The phases, a lane each.
    lanes: Vec<PhaseId>,
    /// By event.
    amounts: HashMap<EventId, Amounts>,
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
        phases: impl Iterator<Item = PhaseId>,
    ) -> Around<'h, 'g> {
        let ordered = |phase: PhaseId| Node::from(phase).task();
        let tasks: Vec<TaskId> = self.lanes.iter().copied().map(ordered).collect();
        let all = tasks.iter().copied().chain(phases.map(ordered));
        Around::new(order, &tasks, order.positions(all))
    }
}

fn batches(sources: &[(PhaseId, EventId, u64)]) -> impl Iterator<Item = Batch> {
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
    waiting: &[Vec<PhaseId>],
    sums: &mut [u64],
) {
    let mut phases: Vec<PhaseId> =
        batch.amounts.keys().flat_map(|event| &waiting[event.index()]).copied().collect();
    phases.sort_unstable();
    phases.dedup();
    let around = batch.around(order, phases.iter().copied());
    let lane_of: HashMap<Node, usize> =
        batch.lanes.iter().enumerate().map(|(lane, &phase)| (phase.into(), lane)).collect();
    let at = |node: Node| -> Bits {
        let mut bits = around.before(node.task());
        if let Some(&lane) = lane_of.get(&node) {
            bits[lane / 64] |= 1 << (lane % 64);
        }
        bits
    };
    for phase in phases {
        let range = world.waits.range(phase);
        let program = before.program[phase.index()].iter().flatten();
        let own = program.map(|&phase| at(phase.into())).fold(Bits::default(), unite);
        let nodes = before.wait[range.clone()].iter();
        let sets: Vec<Bits> = nodes.map(|node| node.map(at).unwrap_or_default()).collect();
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
pub fn dead_events(world: &World<'_>, signals: &[Vec<(PhaseId, u64)>], findings: &mut Findings) {
    let mut is_waited = vec![false; world.events.len()];
    world.waits.all().iter().for_each(|wait| is_waited[wait.event.index()] = true);
    let unwaited = |(event, _): &(EventId, _)| !is_waited[event.index()];
    for (event, signals) in world.event_ids().zip(signals).filter(unwaited) {
        let Some(&(phase, _)) = signals.first() else { continue };
        let place = world.signals.of(phase).iter().position(|signal| signal.event == event);
        let pointer = format!("{}/signals/{}", world.phase_pointer(phase), place.unwrap_or(0));
        findings.report(Rule::EW02, || {
            let task = world.task_of[phase.index()];
            let message = format!(
                "{} signals `{}`, and nobody waits for it",
                world.task_name(task),
                world.events[event.index()]
            );
            Diagnostic::new(Rule::EW02, pointer, message).tasks([task])
        });
    }
}
