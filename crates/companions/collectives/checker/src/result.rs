//! What each element ends with (clauses COL-16 to COL-19): the rules CT, and CB01.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use megakernel_collectives::document::{Bits, Over};
use megakernel_collectives::{Algorithm, CollectiveKind, Dtype};
use megakernel_ir::Rule;

use crate::Broken;
use crate::logs::{Act, Logs};
use crate::place::Place;
use crate::run::{Work, run};

/// How a number was made.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    /// What an element held at a position.
    Leaf(usize, usize),
    /// A sum; the lesser operand first.
    Add(Dtype, usize, usize),
    /// A conversion.
    Cast(Dtype, usize),
}

/// The initial numbers in a sum, each with how often it is there.
type Count = BTreeMap<(usize, usize), u64>;

/// Every number that is computed, once.
#[derive(Default)]
struct Numbers {
    nodes: Vec<(Node, Rc<Count>)>,
    known: HashMap<Node, usize>,
}

impl Numbers {
    fn make(&mut self, node: Node) -> usize {
        if let Some(&known) = self.known.get(&node) {
            return known;
        }
        let count = match node {
            Node::Leaf(element, position) => Rc::new(Count::from([((element, position), 1)])),
            Node::Cast(_, of) => self.count(of),
            Node::Add(_, a, b) => {
                let mut sum = (*self.count(a)).clone();
                for (leaf, times) in self.count(b).iter() {
                    let all = sum.entry(*leaf).or_default();
                    *all = all.saturating_add(*times);
                }
                Rc::new(sum)
            }
        };
        self.nodes.push((node, count));
        self.known.insert(node, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn count(&self, number: usize) -> Rc<Count> {
        self.nodes.get(number).map(|(_, count)| Rc::clone(count)).unwrap_or_default()
    }

    fn node(&self, number: usize) -> Option<Node> {
        self.nodes.get(number).map(|(node, _)| *node)
    }

    fn add(&mut self, dtype: Dtype, a: usize, b: usize) -> usize {
        self.make(Node::Add(dtype, a.min(b), a.max(b)))
    }

    fn cast(&mut self, from: Dtype, to: Dtype, of: usize) -> usize {
        if from == to {
            return of;
        }
        let narrow = |numbers: &Numbers, of: usize| match numbers.node(of) {
            Some(Node::Cast(Dtype::F32, narrow)) => Some(narrow),
            _ => None,
        };
        match (to, self.node(of)) {
            (Dtype::F16, Some(Node::Cast(Dtype::F32, back))) => back,
            (Dtype::F16, Some(Node::Add(Dtype::F32, a, b))) => match (narrow(self, a), narrow(self, b)) {
                (Some(a), Some(b)) => self.add(Dtype::F16, a, b),
                _ => self.make(Node::Cast(to, of)),
            },
            _ => self.make(Node::Cast(to, of)),
        }
    }
}

/// What a position holds, and what was stored there before.
#[derive(Default)]
struct Cell {
    now: usize,
    stored: bool,
    before: Vec<usize>,
}

#[derive(Default)]
struct Values {
    numbers: Numbers,
    memory: Vec<Vec<Cell>>,
    held: Vec<HashMap<usize, Vec<usize>>>,
    messages: Vec<Vec<usize>>,
}

impl Values {
    fn new(elements: usize, tile: usize, scratch: usize) -> Values {
        let mut values = Values::default();
        for element in 0..elements {
            let mut cells = Vec::new();
            for position in 0..tile + scratch {
                // Of the scratch, nothing is loaded before it is stored.
                let now = values.numbers.make(Node::Leaf(element, position));
                cells.push(Cell { now, ..Cell::default() });
            }
            values.memory.push(cells);
            values.held.push(HashMap::new());
        }
        values
    }

    fn get(&self, element: usize, handle: usize) -> Vec<usize> {
        self.held.get(element).and_then(|held| held.get(&handle)).cloned().unwrap_or_default()
    }
}

impl Work for Values {
    fn act(&mut self, element: usize, act: &Act) {
        let (to, made) = match *act {
            Act::Load { to, at, n } => {
                let cells =
                    self.memory.get(element).and_then(|cells| cells.get(at..at + n)).unwrap_or_default();
                (to, cells.iter().map(|cell| cell.now).collect())
            }
            Act::Store { of, at } => {
                let numbers = self.get(element, of);
                let cells = self.memory.get_mut(element).into_iter().flatten().skip(at);
                for (cell, number) in cells.zip(numbers) {
                    cell.before.push(cell.now);
                    (cell.now, cell.stored) = (number, true);
                }
                return;
            }
            Act::Add { to, a, b, dtype } => {
                let pairs = self.get(element, a).into_iter().zip(self.get(element, b));
                (to, pairs.map(|(a, b)| self.numbers.add(dtype, a, b)).collect())
            }
            Act::Cast { to, of, from, dtype } => {
                let of = self.get(element, of).into_iter();
                (to, of.map(|of| self.numbers.cast(from, dtype, of)).collect())
            }
            Act::Send { .. } | Act::Recv { .. } => return,
        };
        self.receive_handle(element, to, made);
    }

    fn send(&mut self, element: usize, of: usize) -> usize {
        self.messages.push(self.get(element, of));
        self.messages.len() - 1
    }

    fn receive(&mut self, element: usize, to: usize, message: usize) {
        let made = self.messages.get(message).cloned().unwrap_or_default();
        self.receive_handle(element, to, made);
    }
}

impl Values {
    fn receive_handle(&mut self, element: usize, to: usize, made: Vec<usize>) {
        if let Some(held) = self.held.get_mut(element) {
            held.insert(to, made);
        }
    }
}

/// Who contributes to a position of a participant; nothing, where nothing is asked.
fn asked(
    algorithm: &Algorithm,
    place: &Place<'_>,
    group: &[usize],
    participant: usize,
    at: usize,
) -> Option<Vec<usize>> {
    let n_elem = usize::try_from(algorithm.n_elem).unwrap_or(1);
    let q = group.len().max(1);
    let owner = (0..q).find(|j| (j * n_elem / q..(j + 1) * n_elem / q).contains(&at));
    let one = |participant: usize| group.get(participant).map(|&element| vec![element]);
    match algorithm.collective.kind {
        CollectiveKind::AllReduce => Some(group.to_vec()),
        CollectiveKind::ReduceScatter => (owner == Some(participant)).then(|| group.to_vec()),
        CollectiveKind::AllGather => one(owner?),
        CollectiveKind::Broadcast => match algorithm.collective.over {
            Over::Elements => Some(vec![place.link(algorithm.collective.root)]),
            Over::Ranks => one(usize::try_from(algorithm.collective.root).ok()?),
        },
    }
}

/// Judges what stands in the tiles at the end, where everything is done.
pub fn judge(algorithm: &Algorithm, place: &Place<'_>, logs: &Logs) -> Vec<Broken> {
    let elements = place.elements();
    let [tile, scratch] = [algorithm.n_elem, algorithm.scratch].map(|n| usize::try_from(n).unwrap_or(0));
    let mut values = Values::new(elements, tile, scratch);
    run(logs, 1, &mut values);
    let groups: Vec<Vec<usize>> = match algorithm.collective.over {
        Over::Elements => vec![(0..elements).collect()],
        Over::Ranks => {
            let cubes = place.cubes();
            (0..cubes).map(|cube| (cube..elements).step_by(cubes).collect()).collect()
        }
    };
    let mut found = Vec::new();
    for group in &groups {
        for (participant, &element) in group.iter().enumerate() {
            for position in 0..tile {
                let Some(wanted) = asked(algorithm, place, group, participant, position) else { continue };
                let cell = values.memory.get(element).and_then(|cells| cells.get(position));
                let Some(cell) = cell else { continue };
                let wrong = wrong(&values.numbers, cell, &wanted, position);
                let at = |(rule, what)| Broken {
                    rule,
                    what: format!("element {element}, position {position}: {what}"),
                };
                found.extend(wrong.into_iter().map(at));
            }
        }
    }
    if found.is_empty() && algorithm.collective.bits == Bits::Identical {
        found.extend(groups.iter().flat_map(|group| different(algorithm, place, &values, group)));
    }
    found
}

/// The rules CT that a position breaks.
fn wrong(numbers: &Numbers, cell: &Cell, wanted: &[usize], position: usize) -> Vec<(Rule, String)> {
    let right = |number: usize| {
        let count = numbers.count(number);
        count.len() == wanted.len()
            && wanted.iter().all(|&element| count.get(&(element, position)) == Some(&1))
            // What is asked of a single element is its number and nothing computed of it, but for casts there and back.
            && (wanted.len() > 1 || matches!(numbers.node(number), Some(Node::Leaf(..))))
    };
    if right(cell.now) {
        return Vec::new();
    }
    if !cell.stored {
        return vec![(Rule::CT01, "nothing was stored".to_owned())];
    }
    if cell.before.iter().any(|&number| right(number)) {
        return vec![(Rule::CT05, "the right number was overwritten".to_owned())];
    }
    let count = numbers.count(cell.now);
    let mut found = Vec::new();
    if let Some(missing) = wanted.iter().find(|&&element| !count.contains_key(&(element, position))) {
        found.push((Rule::CT02, format!("what element {missing} held is missing")));
    }
    if let Some(((element, of), times)) = count.iter().find(|(_, times)| **times > 1) {
        found.push((
            Rule::CT03,
            format!("what element {element} held at position {of} is there {times} times"),
        ));
    }
    let strange = |&&(element, of): &&(usize, usize)| of != position || !wanted.contains(&element);
    if let Some((element, of)) = count.keys().find(strange) {
        found.push((Rule::CT04, format!("what element {element} held at position {of} is there")));
    }
    found
}

/// CB01, at the first position of each participant whose tree is not that of another.
fn different(algorithm: &Algorithm, place: &Place<'_>, values: &Values, group: &[usize]) -> Vec<Broken> {
    let mut found = Vec::new();
    let number = |element: usize, position: usize| {
        values.memory.get(element).and_then(|cells| cells.get(position)).map(|cell| cell.now)
    };
    for (participant, &element) in group.iter().enumerate() {
        let differs = |&position: &usize| {
            let is_asked = |participant| asked(algorithm, place, group, participant, position).is_some();
            let first = group.iter().enumerate().find(|(other, _)| is_asked(*other));
            is_asked(participant)
                && first.is_some_and(|(_, &first)| number(first, position) != number(element, position))
        };
        let tile = usize::try_from(algorithm.n_elem).unwrap_or(0);
        if let Some(position) = (0..tile).find(differs) {
            let what = format!(
                "element {element} adds position {position} in another order than others do, and can end with other bits"
            );
            found.push(Broken { rule: Rule::CB01, what });
        }
    }
    found
}
