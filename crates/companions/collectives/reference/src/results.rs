//! What a collective asks for (clauses COL-16 to COL-19): the rules CT and CB, and CW01.

use std::collections::{HashMap, HashSet};

use megakernel_collectives::document::{Bits, Over};
use megakernel_collectives::{Algorithm, CollectiveKind, Fault};
use megakernel_ir::Rule;

use crate::network::Network;
use crate::program::Program;
use crate::run::run;
use crate::trees::{
    Contributions, Counter, Node, Segment, Stored, Symbols, Tree, Trees, leaves, stored, triple,
};

/// What is to stand in some positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Wanted {
    /// The sum over a group, by its number.
    Sum(usize),
    /// What an element held at the beginning.
    Of(u32),
}

/// The groups of participants: the elements of each.
pub fn groups(algorithm: &Algorithm, network: &Network) -> Vec<Vec<u32>> {
    let all = 0..u32::try_from(network.elements()).unwrap_or(0);
    match algorithm.collective.over {
        Over::Elements => vec![all.collect()],
        Over::Ranks => {
            let cubes = usize::try_from(network.cubes()).unwrap_or(1).max(1);
            (0..cubes).map(|cube| all.clone().skip(cube).step_by(cubes).collect()).collect()
        }
    }
}

/// The positions of block `j` of `q`.
fn block(n_elem: i64, q: usize, j: usize) -> (u32, u32) {
    let [q, j] = [q, j].map(|number| i128::try_from(number).unwrap_or(1));
    let edge = |j: i128| u32::try_from(i128::from(n_elem) * j / q).unwrap_or(u32::MAX);
    (edge(j), edge(j + 1))
}

struct Judge<'a> {
    algorithm: &'a Algorithm,
    network: &'a Network,
    program: &'a Program,
    groups: Vec<Vec<u32>>,
    counter: Counter,
    counted: HashMap<(Tree, i64, Wanted), Contributions>,
    found: Vec<Fault>,
    reported: HashSet<(Rule, usize)>,
}

/// Judges the memories after a complete run: errors, and warnings where there are none.
pub fn judge(
    algorithm: &Algorithm,
    network: &Network,
    program: &Program,
    symbols: Symbols,
) -> (Vec<Fault>, Vec<Fault>) {
    let mut judge = Judge {
        algorithm,
        network,
        program,
        groups: groups(algorithm, network),
        counter: Counter::default(),
        counted: HashMap::new(),
        found: Vec::new(),
        reported: HashSet::new(),
    };
    let wrong = judge.wrong(&symbols);
    if wrong.is_empty() {
        let different = judge.different(&symbols);
        return match algorithm.collective.bits {
            Bits::Identical => (different, Vec::new()),
            Bits::PerElement => (Vec::new(), different),
        };
    }
    // What was there before is known only if it is written down: once more, for the elements that are wrong.
    let n_elem = u32::try_from(algorithm.n_elem).unwrap_or(u32::MAX);
    let mut again = Symbols::new(symbols.trees, network.elements(), n_elem);
    again.watched = wrong.iter().map(|part| (part.element as usize, Vec::new())).collect();
    run(program, 1, &mut again);
    for part in wrong {
        let history = again.watched.get(&(part.element as usize)).map(Vec::as_slice).unwrap_or_default();
        judge.report(&again.trees, &part, history);
    }
    (judge.found, Vec::new())
}

/// Positions of an element that hold what they should not.
struct Part {
    element: u32,
    at: u32,
    segment: Segment,
    stored: bool,
    wanted: Wanted,
}

impl Judge<'_> {
    /// What each participant has to hold, as positions and what.
    fn wanted(&self, group: usize, participant: usize) -> Vec<(u32, u32, Wanted)> {
        let members = self.groups.get(group).map(Vec::as_slice).unwrap_or_default();
        let collective = &self.algorithm.collective;
        let all = block(self.algorithm.n_elem, 1, 0);
        match collective.kind {
            CollectiveKind::AllReduce => vec![(all.0, all.1, Wanted::Sum(group))],
            CollectiveKind::ReduceScatter => {
                let (from, to) = block(self.algorithm.n_elem, members.len(), participant);
                vec![(from, to, Wanted::Sum(group))]
            }
            CollectiveKind::Broadcast => {
                let root = match collective.over {
                    Over::Elements => Some(self.network.link(collective.root)),
                    Over::Ranks => {
                        usize::try_from(collective.root).ok().and_then(|root| members.get(root).copied())
                    }
                };
                root.map(|root| (all.0, all.1, Wanted::Of(root))).into_iter().collect()
            }
            CollectiveKind::AllGather => {
                let parts = members.iter().enumerate().map(|(j, &member)| {
                    let (from, to) = block(self.algorithm.n_elem, members.len(), j);
                    (from, to, Wanted::Of(member))
                });
                parts.filter(|(from, to, _)| from < to).collect()
            }
        }
    }

    fn wrong(&mut self, symbols: &Symbols) -> Vec<Part> {
        let mut wrong = Vec::new();
        for group in 0..self.groups.len() {
            let members = self.groups.get(group).cloned().unwrap_or_default();
            let shared = self.algorithm.collective.kind != CollectiveKind::ReduceScatter;
            let once = self.wanted(group, 0);
            for (participant, &element) in members.iter().enumerate() {
                let own;
                let parts = if shared {
                    &once
                } else {
                    own = self.wanted(group, participant);
                    &own
                };
                for &(from, to, wanted) in parts {
                    for held in symbols.held(element as usize, from, to) {
                        if !self.right(&symbols.trees, held.segment, held.at, wanted) {
                            let (at, segment, stored) = (held.at, held.segment, held.stored);
                            wrong.push(Part { element, at, segment, stored, wanted });
                        }
                    }
                }
            }
        }
        wrong
    }

    fn contributions(&mut self, trees: &Trees, segment: Segment, at: u32, wanted: Wanted) -> &Contributions {
        let further = segment.start - i64::from(at);
        let (counter, groups, network) = (&mut self.counter, &self.groups, self.network);
        self.counted.entry((segment.tree, further, wanted)).or_insert_with(|| {
            let whole = groups.len() == 1;
            counter.count(trees, segment.tree, further, |leaf| match wanted {
                Wanted::Sum(group) => whole || usize::try_from(network.cube(leaf)) == Ok(group),
                Wanted::Of(element) => leaf == element,
            })
        })
    }

    fn right(&mut self, trees: &Trees, segment: Segment, at: u32, wanted: Wanted) -> bool {
        if let Wanted::Of(element) = wanted {
            return segment.start == i64::from(at) && trees.node(segment.tree) == Some(Node::Leaf(element));
        }
        let size = self.size(wanted);
        let found = self.contributions(trees, segment, at, wanted);
        found.wanted == size && found.double.is_none() && found.foreign.is_none()
    }

    /// How many contributions are asked for.
    fn size(&self, wanted: Wanted) -> usize {
        match wanted {
            Wanted::Sum(group) => self.groups.get(group).map_or(0, Vec::len),
            Wanted::Of(_) => 1,
        }
    }

    /// Reports what is wrong, position by position where an earlier store cuts it.
    fn report(&mut self, trees: &Trees, part: &Part, history: &[Stored]) {
        let (from, to) = (part.at, part.at + part.segment.len);
        let mut cuts = vec![from];
        let mut earlier: Vec<(u32, Segment)> = Vec::new();
        let mut note = |at: u32, segment: Segment| {
            let end = at + segment.len;
            if at < to && end > from {
                cuts.extend([at, end].into_iter().filter(|cut| (from..to).contains(cut)));
                earlier.push((at, segment));
            }
        };
        history.iter().flat_map(stored).for_each(|(at, segment)| note(at, segment));
        let initial = trees.find(Node::Leaf(part.element));
        if let Some(tree) = initial.filter(|_| part.stored) {
            let (start, len) = (i64::from(from), part.segment.len);
            note(from, Segment { tree, start, len });
        }
        cuts.sort_unstable();
        cuts.dedup();
        for cut in cuts {
            let was_right = earlier.iter().any(|&(at, segment)| {
                let inside = at <= cut && cut - at < segment.len;
                let here = Segment { start: segment.start + i64::from(cut) - i64::from(at), ..segment };
                inside && self.right(trees, here, cut, part.wanted)
            });
            let segment = Segment { start: part.segment.start + i64::from(cut - from), ..part.segment };
            self.wrong_at(trees, part, segment, cut, was_right);
        }
    }

    fn wrong_at(&mut self, trees: &Trees, part: &Part, segment: Segment, at: u32, was_right: bool) {
        let network = self.network;
        let asked = match part.wanted {
            Wanted::Sum(_) => "the sum of its group".to_owned(),
            Wanted::Of(element) => format!("what {} held", network.name(element)),
        };
        if !part.stored {
            return self.fault(Rule::CT01, part.element, at, format!("nothing was stored, required {asked}"));
        }
        if was_right {
            let message = format!("it held {asked}, and something else was stored over it");
            return self.fault(Rule::CT05, part.element, at, message);
        }
        let size = self.size(part.wanted);
        let Contributions { wanted, double, foreign } =
            self.contributions(trees, segment, at, part.wanted).clone();
        if wanted < size {
            let there = leaves(trees, segment.tree);
            let missing = match part.wanted {
                Wanted::Of(element) => Some(element),
                Wanted::Sum(group) => {
                    let members = self.groups.get(group).map(Vec::as_slice).unwrap_or_default();
                    members.iter().copied().find(|member| !there.contains(member))
                }
            };
            let whose = missing
                .map_or_else(String::new, |missing| format!(", that of {} is not", network.name(missing)));
            let message = format!("{wanted} of {size} contributions are there{whose}; required {asked}");
            self.fault(Rule::CT02, part.element, at, message);
        }
        if let Some(leaf) = double {
            let message = format!("what {} held is there twice; required {asked}", network.name(leaf));
            self.fault(Rule::CT03, part.element, at, message);
        }
        if let Some((leaf, further)) = foreign {
            let position = i64::from(at) + further;
            let message =
                format!("what {} held at position {position} is there; required {asked}", network.name(leaf));
            self.fault(Rule::CT04, part.element, at, message);
        }
    }

    fn fault(&mut self, rule: Rule, element: u32, at: u32, what: String) {
        let log = self.program.lines.get(element as usize).map_or(0, |line| line.log);
        if self.reported.insert((rule, log)) {
            let message = format!("{}, position {at}: {what}", self.network.name(element));
            self.found.push(Fault::new(rule, format!("/logs/{log}"), message));
        }
    }

    /// CB01 or CW01, of results that are right.
    fn different(&mut self, symbols: &Symbols) -> Vec<Fault> {
        let rule = match self.algorithm.collective.bits {
            Bits::Identical => Rule::CB01,
            Bits::PerElement => Rule::CW01,
        };
        // Of the others, what is right is one number, or asked of one participant alone.
        if self.algorithm.collective.kind != CollectiveKind::AllReduce {
            return Vec::new();
        }
        let (from, to) = block(self.algorithm.n_elem, 1, 0);
        for members in std::mem::take(&mut self.groups) {
            let Some((&first, others)) = members.split_first() else { continue };
            let model = alike(symbols, first, from, to);
            for &other in others {
                let own = alike(symbols, other, from, to);
                if own == model {
                    continue;
                }
                let Some((at, one, two)) = first_difference(&model, &own) else { continue };
                let names = [first, other].map(|element| self.network.name(element));
                let witness = triple(&symbols.trees, one, two).map(|leaves| {
                    let [x, y, z] = leaves.map(|leaf| self.network.name(leaf));
                    format!("; with 2048 at {x}, 1 at {y} and {z} and 0 elsewhere, {} ends with 2050 and {} with 2048", names[0], names[1])
                });
                let message = format!(
                    "{} adds in another order than {} does{}",
                    names[1],
                    names[0],
                    witness.unwrap_or_default()
                );
                self.fault(rule, other, at, message);
            }
        }
        std::mem::take(&mut self.found)
    }
}

/// First positions and trees of the tile of an element, where neighbours differ.
fn alike(symbols: &Symbols, element: u32, from: u32, to: u32) -> Vec<(u32, Tree)> {
    let mut found: Vec<(u32, Tree)> = Vec::new();
    for held in symbols.held(element as usize, from, to) {
        if found.last().is_none_or(|&(_, tree)| tree != held.segment.tree) {
            found.push((held.at, held.segment.tree));
        }
    }
    found
}

/// The first position at which two tiles differ, and the trees there.
fn first_difference(one: &[(u32, Tree)], other: &[(u32, Tree)]) -> Option<(u32, Tree, Tree)> {
    let at = |list: &[(u32, Tree)], position: u32| {
        let behind = list.partition_point(|&(at, _)| at <= position);
        behind.checked_sub(1).and_then(|index| list.get(index)).map(|&(_, tree)| tree)
    };
    let mut positions: Vec<u32> = one.iter().chain(other).map(|&(at, _)| at).collect();
    positions.sort_unstable();
    positions.into_iter().find_map(|position| {
        let (one, other) = (at(one, position)?, at(other, position)?);
        (one != other).then_some((position, one, other))
    })
}
