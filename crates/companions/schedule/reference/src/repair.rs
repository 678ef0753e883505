//! Which waits would order what races: for events that are signalled already, at the place where they cost least. What a wait costs is
//! by how much it makes the longest path of phases longer; then, by how much later its phase comes.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_order::happens_before::{HappensBefore, Question};
use megakernel_order::{Findings, Order};
use megakernel_schedule::{Count, NameId, Schedule};

use crate::ids::{EventId, Node, PhaseId, question};
use crate::order::{Before, signals};
use crate::world::World;
use crate::{deadlock, exact, race};

/// A wait to be added to a phase of the document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    /// The task of the document.
    pub task: usize,
    /// Its phase.
    pub phase: usize,
    /// The event, as the document calls it.
    pub event: String,
    /// All that is signalled of it.
    pub count: u64,
    /// The place of the wait of this phase that has another count for this event, if there is one.
    pub raises: Option<usize>,
    /// Other events that would do as well, and cost as much or more.
    pub instead: Vec<String>,
}

/// How often what still races is looked at again. Once is enough, unless a new wait leaves out what another one was to order.
const ROUNDS: usize = 4;

/// The waits that a schedule lacks, in an empty list if it does not race. Nothing if it breaks other rules, or no wait for what is
/// signalled already would order all that races.
pub fn repair(schedule: &Schedule) -> Option<Vec<Missing>> {
    let mut mended = schedule.clone();
    let mut all: Vec<Missing> = Vec::new();
    for _ in 0..ROUNDS {
        let more = lacking(&mended)?;
        if more.is_empty() {
            return crate::validate::accepts(&mended).then_some(all);
        }
        add(&mut mended, &more);
        all.extend(more);
    }
    None
}

/// Adds waits.
pub fn add(schedule: &mut Schedule, missing: &[Missing]) {
    for Missing { task, phase, event, count, raises, .. } in missing {
        let Some(name) = schedule.names.iter().position(|name| name == event) else { continue };
        let phase = schedule.tasks.get_mut(*task).and_then(|task| task.phases.get_mut(*phase));
        let Some(waits) = phase.map(|phase| &mut phase.waits) else { continue };
        let wait = Count { event: NameId::at(name), number: i64::try_from(*count).unwrap_or(i64::MAX) };
        match raises.and_then(|place| waits.get_mut(place)) {
            Some(raised) => *raised = wait,
            None => waits.push(wait),
        }
    }
}

/// Waits for what races now.
fn lacking(schedule: &Schedule) -> Option<Vec<Missing>> {
    let mut findings = Findings::quiet();
    let world = crate::validate::expanded(schedule, &mut findings)?;
    deadlock::check(&world, &mut findings);
    let signals = signals(&world);
    let before = Before::new(&world, &signals);
    let graph = before.graph(&world);
    let order = Order::new(&graph).filter(|_| findings.accepts())?;
    let order = HappensBefore::new(&graph, &order);
    let storages = race::storages(&world, &order);
    let racing = race::racing(&world, &order, &storages);
    let racing = storages.iter().zip(&racing).filter(|(_, found)| !found.is_empty());
    let pairs: BTreeSet<[PhaseId; 2]> = racing
        .flat_map(|(storage, found)| exact::pairs(&world, &order, storage, found))
        .map(|pair| pair.map(|access| world.accesses[access.index()].phase))
        .collect();
    let paths = Paths::new(&world, &before, &order);
    let mut chosen: BTreeMap<(PhaseId, EventId), BTreeSet<EventId>> = BTreeMap::new();
    let mut known: BTreeMap<(EventId, PhaseId), bool> = BTreeMap::new();
    let mut possible = |event: EventId, phase: PhaseId| {
        *known.entry((event, phase)).or_insert_with(|| is_possible(&world, &order, &signals, event, phase))
    };
    for [one, other] in pairs {
        let is_known = |[first, second]: [PhaseId; 2]| {
            after(&world, first).any(|(event, _)| chosen.contains_key(&(second, event)))
        };
        if is_known([one, other]) || is_known([other, one]) {
            continue;
        }
        let mut options: Vec<(u32, u32, PhaseId, EventId)> = Vec::new();
        for [first, second] in [[one, other], [other, one]] {
            let events: BTreeSet<EventId> = after(&world, first).map(|(event, _)| event).collect();
            for event in events.into_iter().filter(|&event| possible(event, second)) {
                let (longer, later) = paths.cost(&signals, event, second);
                options.push((longer, later, second, event));
            }
        }
        options.sort_unstable();
        let &(.., second, event) = options.first()?;
        let instead =
            options.iter().filter(|option| option.2 == second && option.3 != event).map(|option| option.3);
        chosen.insert((second, event), instead.collect());
    }
    let totals = world.totals();
    let mut missing: BTreeSet<Missing> = BTreeSet::new();
    for ((phase, event), instead) in chosen {
        let (task, phase) = (world.of_phase(phase).written, world.place(phase));
        let name = &world.events[event.index()];
        let waits = &schedule.tasks.get(task)?.phases.get(phase)?.waits;
        missing.insert(Missing {
            task,
            phase,
            // A name that repetition made is none that a wait of the document could have.
            event: schedule.names.contains(name).then(|| name.clone())?,
            raises: waits.iter().position(|wait| schedule.name(wait.event) == *name),
            count: totals[event.index()],
            instead: instead.into_iter().map(|event| world.events[event.index()].clone()).collect(),
        });
    }
    Some(missing.into_iter().collect())
}

/// What a task signals from a phase on, and in which phase.
fn after<'w>(world: &'w World<'_>, phase: PhaseId) -> impl Iterator<Item = (EventId, PhaseId)> + 'w {
    let phases = world.of_phase(phase).each_phase().skip(world.place(phase));
    phases.flat_map(|at| world.signals.of(at).iter().map(move |signal| (signal.event, at)))
}

/// Whether a phase may wait for all of an event: none of its signals comes after the phase, or with it.
fn is_possible(
    world: &World<'_>,
    order: &HappensBefore<'_>,
    signals: &[Vec<(PhaseId, u64)>],
    event: EventId,
    phase: PhaseId,
) -> bool {
    let task = world.task_of[phase.index()];
    let sources = signals[event.index()].iter().map(|&(source, _)| source);
    let is_own = |source: PhaseId| world.task_of[source.index()] == task && source >= phase;
    let questions: Vec<Question> = sources.clone().map(|later| question(phase, later)).collect();
    !sources.into_iter().any(is_own) && !order.answer(&questions).contains(&true)
}

/// Lengths of paths, in phases.
struct Paths {
    /// Up to a phase, itself included.
    to: Vec<u32>,
    /// From a phase on, itself left out.
    from: Vec<u32>,
    longest: u32,
}

impl Paths {
    fn new(world: &World<'_>, before: &Before, order: &HappensBefore<'_>) -> Paths {
        let nodes: Vec<Node> = order.sequence().iter().map(|&node| node.into()).collect();
        let (mut to, mut from) = (vec![0u32; nodes.len()], vec![0u32; nodes.len()]);
        let weight = |node: Node| u32::from(world.as_phase(node).is_ok());
        for &node in &nodes {
            let longest = before.straight_before(world, node).iter().map(|&at| to[at.index()]).max();
            to[node.index()] = longest.unwrap_or(0) + weight(node);
        }
        for &node in nodes.iter().rev() {
            for at in before.straight_before(world, node) {
                from[at.index()] = from[at.index()].max(from[node.index()] + weight(node));
            }
        }
        let longest = to.iter().copied().max().unwrap_or(0);
        Paths { to, from, longest }
    }

    /// By how much the longest path becomes longer, and by how much later the phase comes.
    fn cost(&self, signals: &[Vec<(PhaseId, u64)>], event: EventId, phase: PhaseId) -> (u32, u32) {
        let last =
            signals[event.index()].iter().map(|&(source, _)| self.to[source.index()]).max().unwrap_or(0);
        let now = self.to[phase.index()];
        let then = now.max(last + 1);
        ((then + self.from[phase.index()]).saturating_sub(self.longest), then - now)
    }
}
