//! A family of systems: all that its dimensions allow, each once.

use std::ops::Range;

use megakernel_task_graph::System;

use super::stage::{self, Action, COPY, END, Order, Trigger};
use megakernel_prove::{Enumeration as Enumerates, Family as Described};

/// Which orders the tasks of a family may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orders {
    /// Any, with every number of triggers awaited, from 0 to one more than there are.
    Any,
    /// Any, with all triggers awaited.
    Full,
    /// Those in which all triggers are awaited, events are triggered by tasks that have lower ids than those of the same rank that
    /// wait, and all that is triggered is waited for. On one rank these are all that break neither a TD rule nor TR01.
    Sound,
}

/// How the ranks of a system differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// There is one.
    One,
    /// Two, with the same tasks.
    Twins,
    /// Two, each with tasks of its own.
    Pair,
    /// Three, each of which does to the next what the one before does to it.
    Ring,
}

impl Ranks {
    /// How many.
    fn count(self) -> usize {
        match self {
            Ranks::One => 1,
            Ranks::Twins | Ranks::Pair => 2,
            Ranks::Ring => 3,
        }
    }

    /// Whether all have the same tasks.
    fn are_alike(self) -> bool {
        self != Ranks::Pair
    }
}

/// A family of systems.
#[derive(Clone, Debug)]
pub struct Family {
    /// Name, unique in a scope.
    pub name: &'static str,
    /// Number of work tasks of a rank.
    pub tasks: usize,
    /// Most events of a rank, without the reserved ones and the end.
    pub events: usize,
    /// Who waits and triggers.
    pub orders: Orders,
    /// How many ranks.
    pub ranks: Ranks,
    /// What a task can do.
    pub actions: Vec<Action>,
}

impl Described for Family {
    fn name(&self) -> &'static str {
        self.name
    }

    fn describe(&self) -> String {
        let ranks = match self.ranks {
            Ranks::One => "",
            Ranks::Twins => "two ranks alike, each with ",
            Ranks::Pair => "two ranks, each with ",
            Ranks::Ring => "three ranks alike, each with ",
        };
        let orders = match self.orders {
            Orders::Any => "any numbers awaited",
            Orders::Full => "all triggers awaited",
            Orders::Sound => "all triggers awaited, in ascending order, up to the end",
        };
        let actions = match self
            .actions
            .iter()
            .filter(|action| !action.reads.is_empty() || !action.writes.is_empty())
            .count()
        {
            0 => String::from("no accesses"),
            _ => format!("{} actions", self.actions.len()),
        };
        format!("{ranks}{} tasks, at most {} events, {orders}, {actions}", self.tasks, self.events)
    }
}

/// What comes before the choices of thresholds and actions.
struct Unit {
    ranks: Vec<Order>,
    events: usize,
    /// For each event, the end last, rank by rank where they may differ, the numbers of triggers that may be awaited.
    thresholds: Vec<Vec<i64>>,
    /// For each task, rank by rank where they may differ, what it can do, by index.
    actions: Vec<Vec<usize>>,
    size: u64,
}

/// Choices of one unit: what one worker does at a time.
#[derive(Clone, Debug)]
pub struct Chunk {
    unit: Range<usize>,
}

const CHUNK: u64 = 1 << 13;

/// A family that is laid out for enumeration.
pub struct Enumeration {
    family: Family,
    units: Vec<Unit>,
}

impl Enumeration {
    /// Lays out a family.
    pub fn new(family: &Family) -> Enumeration {
        let orders = orders(family);
        let mut units = Vec::new();
        let mut add = |ranks: Vec<Order>| {
            if family.orders != Orders::Sound || is_sound(&ranks) {
                units.extend(Some(unit(family, ranks)).filter(|unit| unit.size > 0));
            }
        };
        match family.ranks {
            Ranks::Pair => {
                for (index, one) in orders.iter().enumerate() {
                    for other in orders.iter().skip(index) {
                        add(vec![one.clone(), turned(other, 1, 2)]);
                    }
                }
            }
            alike => {
                let count = alike.count();
                orders
                    .iter()
                    .for_each(|order| add((0..count).map(|rank| turned(order, rank, count)).collect()));
            }
        }
        Enumeration { family: family.clone(), units }
    }

    /// Makes one choice of one place; where ranks are alike, on all.
    fn set(&self, unit: &Unit, system: &mut System<'static>, place: usize, choice: usize, alike: bool) {
        let counters = unit.events + 1;
        if let Some(values) = unit.thresholds.get(place) {
            let (rank, event) = (place / counters, place % counters);
            for (index, graph) in system.ranks.iter_mut().enumerate() {
                if alike || index == rank {
                    graph.all_events[2 + event].num_triggers = values[choice];
                }
            }
        } else {
            let place = place - unit.thresholds.len();
            let (rank, task) = (place / self.family.tasks, place % self.family.tasks);
            let action = &self.family.actions[unit.actions[place][choice]];
            for (index, graph) in system.ranks.iter_mut().enumerate() {
                if alike || index == rank {
                    stage::act(&mut graph.all_tasks[2 + task], action, index);
                }
            }
        }
    }
}

impl Enumerates for Enumeration {
    type Document = System<'static>;
    type Chunk = Chunk;

    fn size(&self) -> u64 {
        self.units.iter().map(|unit| unit.size).sum()
    }

    fn chunks(&self) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let (mut start, mut size) = (0, 0);
        for (index, unit) in self.units.iter().enumerate() {
            size += unit.size;
            if size >= CHUNK || index + 1 == self.units.len() {
                chunks.push(Chunk { unit: start..index + 1 });
                (start, size) = (index + 1, 0);
            }
        }
        chunks
    }

    fn len(&self, chunk: &Chunk) -> u64 {
        self.units[chunk.unit.clone()].iter().map(|unit| unit.size).sum()
    }

    fn visit(&self, chunk: &Chunk, visit: &mut dyn FnMut(&System<'static>)) {
        for unit in &self.units[chunk.unit.clone()] {
            let mut system = stage::system(&unit.ranks, unit.events);
            let mut digits = vec![0; unit.thresholds.len() + unit.actions.len()];
            let alike = self.family.ranks.are_alike();
            (0..digits.len()).for_each(|digit| self.set(unit, &mut system, digit, 0, alike));
            loop {
                visit(&system);
                let mut at = 0;
                while let Some(digit) = digits.get_mut(at) {
                    let choices = unit.choices(at);
                    *digit = (*digit + 1) % choices;
                    let value = *digit;
                    self.set(unit, &mut system, at, value, alike);
                    if value != 0 {
                        break;
                    }
                    at += 1;
                }
                if at == digits.len() {
                    break;
                }
            }
        }
    }
}

impl Unit {
    fn choices(&self, place: usize) -> usize {
        match place.checked_sub(self.thresholds.len()) {
            None => self.thresholds[place].len(),
            Some(place) => self.actions[place].len(),
        }
    }
}

fn unit(family: &Family, ranks: Vec<Order>) -> Unit {
    let name = |event: usize| event.wrapping_add(1);
    let used = ranks.iter().flat_map(|order| {
        let triggers = order.triggers.iter().map(|trigger| match trigger {
            Trigger::Nothing => 0,
            Trigger::Own(event) | Trigger::Copy(_, event) => name(*event),
        });
        triggers.chain(order.dependents.iter().flatten().map(|&event| name(event)))
    });
    // The end's name wraps to 0.
    let events = used.max().unwrap_or(0);
    let differing = if family.ranks.are_alike() { 1 } else { family.ranks.count() };
    let mut thresholds = Vec::new();
    for rank in 0..differing {
        for event in (0..events).chain([END]) {
            let count = producers(&ranks, rank, event);
            thresholds.push(match family.orders {
                Orders::Any => (0..=count + 1).rev().collect(),
                // What nobody triggers is awaited all the same.
                _ => vec![count.max(1)],
            });
        }
    }
    let copies = |copy: bool| -> Vec<usize> {
        let all = family.actions.iter().enumerate();
        all.filter(|(_, action)| (action.kind == COPY) == copy).map(|(index, _)| index).collect()
    };
    let triggers = ranks.iter().take(differing).flat_map(|order| &order.triggers);
    let actions: Vec<Vec<usize>> =
        triggers.map(|trigger| copies(matches!(trigger, Trigger::Copy(..)))).collect();
    let size =
        thresholds.iter().map(Vec::len).chain(actions.iter().map(Vec::len)).map(|n| n as u64).product();
    Unit { ranks, events, thresholds, actions, size }
}

/// How many tasks trigger an event of a rank.
fn producers(ranks: &[Order], owner: usize, event: usize) -> i64 {
    let all =
        ranks.iter().enumerate().flat_map(|(rank, order)| order.triggers.iter().map(move |t| (rank, t)));
    all.filter(|&(rank, trigger)| match *trigger {
        Trigger::Own(named) => rank == owner && named == event,
        Trigger::Copy(to, named) => to == owner && named == event,
        Trigger::Nothing => false,
    })
    .count() as i64
}

/// The order of a rank that is to that rank what this one is to rank 0, of so many.
fn turned(order: &Order, rank: usize, count: usize) -> Order {
    let triggers = order.triggers.iter().map(|&trigger| match trigger {
        Trigger::Copy(to, event) => Trigger::Copy((to + rank) % count, event),
        other => other,
    });
    Order { dependents: order.dependents.clone(), triggers: triggers.collect() }
}

/// All orders of rank 0, up to the names of its events where nobody else uses them: those that wait for an event are neighbours,
/// and events are named in order of first use, by those that wait first.
fn orders(family: &Family) -> Vec<Order> {
    let Family { tasks, events, ranks, .. } = *family;
    let named = ranks.are_alike();
    let mut dependents: Vec<Vec<Option<usize>>> = vec![Vec::new()];
    for _ in 0..tasks {
        let longer = |prefix: Vec<Option<usize>>| {
            let top = prefix.iter().flatten().max().map_or(0, |top| top + 1);
            let choices = (0..events).filter(|&event| {
                let fresh = !prefix.contains(&Some(event));
                let goes_on = prefix.last() == Some(&Some(event));
                goes_on || fresh && (!named || event == top)
            });
            let choices: Vec<_> = std::iter::once(None).chain(choices.map(Some)).collect();
            choices.into_iter().map(move |choice| [prefix.clone(), vec![choice]].concat())
        };
        dependents = dependents.into_iter().flat_map(longer).collect();
    }
    let mut all = Vec::new();
    for dependents in dependents {
        let waited = dependents.iter().flatten().max().map_or(0, |top| top + 1);
        let mut triggers: Vec<(Vec<Trigger>, usize)> =
            vec![(Vec::new(), if named { waited } else { events })];
        // What no sound order has need not be carried on.
        let later = |task: usize, event: usize| {
            dependents
                .iter()
                .position(|&dependent| dependent == Some(event))
                .is_some_and(|first| first > task)
        };
        let possible = |task: usize, choice: &Trigger| match *choice {
            _ if family.orders != Orders::Sound => true,
            Trigger::Nothing => false,
            Trigger::Own(event) => event == END || later(task, event),
            Trigger::Copy(to, event) => to != 0 || later(task, event),
        };
        for task in 0..tasks {
            let longer = |(prefix, used): (Vec<Trigger>, usize)| {
                let mut choices = vec![Trigger::Nothing, Trigger::Own(END)];
                let most = if named { events.min(used + 1) } else { events };
                choices.extend((0..most).map(Trigger::Own));
                if ranks != Ranks::One {
                    let copies = |rank| (0..most).map(move |event| Trigger::Copy(rank, event));
                    choices.extend((0..ranks.count()).flat_map(copies));
                }
                choices.retain(|choice| possible(task, choice));
                choices.into_iter().map(move |choice| {
                    let used = match choice {
                        Trigger::Own(event) | Trigger::Copy(_, event) if event != END => used.max(event + 1),
                        _ => used,
                    };
                    ([prefix.clone(), vec![choice]].concat(), used)
                })
            };
            triggers = triggers.into_iter().flat_map(longer).collect();
        }
        all.extend(
            triggers.into_iter().map(|(triggers, _)| Order { dependents: dependents.clone(), triggers }),
        );
    }
    all
}

/// Whether producers of a rank have lower ids than those that wait for them, everything that is waited for is triggered, and
/// everything that is triggered is waited for.
fn is_sound(ranks: &[Order]) -> bool {
    let waited = |rank: usize, event: usize| ranks[rank].dependents.iter().position(|&d| d == Some(event));
    ranks.iter().enumerate().all(|(rank, order)| {
        order.triggers.iter().enumerate().all(|(task, &trigger)| match trigger {
            Trigger::Nothing => false,
            Trigger::Own(END) => true,
            Trigger::Own(event) => waited(rank, event).is_some_and(|first| first > task),
            Trigger::Copy(to, event) => waited(to, event).is_some_and(|first| to != rank || first > task),
        }) && producers(ranks, rank, END) > 0
            && order.dependents.iter().flatten().all(|&event| producers(ranks, rank, event) > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_counted_by_hand() {
        let all = |tasks, orders, ranks| {
            super::orders(&Family { name: "", tasks, events: 1, orders, ranks, actions: Vec::new() })
        };
        // Waiting: nobody, or the one task for the one event. Triggering: nothing, the end, the event.
        assert_eq!(all(1, Orders::Any, Ranks::One).len(), 6);
        // nobody; the second; the first; both: times three triggers each.
        assert_eq!(all(2, Orders::Any, Ranks::One).len(), 36);
        assert_eq!(all(1, Orders::Any, Ranks::Twins).len(), 10, "and two copies");
        assert_eq!(all(1, Orders::Any, Ranks::Ring).len(), 12, "and three");
        let sound: Vec<_> = all(2, Orders::Sound, Ranks::One)
            .into_iter()
            .filter(|order| is_sound(std::slice::from_ref(order)))
            .collect();
        assert_eq!(sound.len(), 2, "side by side, one after the other: {sound:?}");
    }

    #[test]
    fn a_ring_is_alike_from_every_rank() {
        let order = Order { dependents: vec![None], triggers: vec![Trigger::Copy(1, 0)] };
        let copies: Vec<_> = (0..3).map(|rank| turned(&order, rank, 3).triggers[0]).collect();
        assert_eq!(copies, [1, 2, 0].map(|to| Trigger::Copy(to, 0)));
    }

    #[test]
    fn every_choice_is_visited_once() {
        let actions = vec![
            Action { kind: 101, reads: &[], writes: &[], word: 0 },
            Action { kind: 102, reads: &[], writes: &[], word: 0 },
        ];
        let family =
            Family { name: "", tasks: 2, events: 1, orders: Orders::Any, ranks: Ranks::One, actions };
        let enumeration = Enumeration::new(&family);
        let mut seen = std::collections::HashSet::new();
        for chunk in enumeration.chunks() {
            enumeration.visit(&chunk, &mut |system| {
                assert!(seen.insert(format!("{system:?}")));
            });
        }
        assert_eq!(seen.len() as u64, enumeration.size());
    }
}
