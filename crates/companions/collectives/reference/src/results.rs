//! What a collective asks for (clauses COL-16 to COL-19): the rules CT and CB, and CW01.

use std::collections::{BTreeMap, HashMap, HashSet};

use foldhash::fast::FixedState;
use megakernel_collectives::document::{Bits, Over};
use megakernel_collectives::{Algorithm, CollectiveKind, Fault};
use megakernel_ir::Rule;

use crate::contributions::{Contributions, Counter, leaves, triple};
use crate::covers::Covers;
use crate::network::Network;
use crate::program::Program;
use crate::run::{Turns, run};
use crate::trees::{Node, Piece, Segment, Shared, Stored, Symbols, Tree, Trees};

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

/// A handle, positions, and what is to stand there.
type Asked = (Shared, (u32, u32), Wanted);

struct Judge<'a> {
    algorithm: &'a Algorithm,
    network: &'a Network,
    program: &'a Program,
    groups: Vec<Vec<u32>>,
    covers: Covers,
    counter: Counter,
    counted: HashMap<(Tree, i64, Wanted), Contributions, FixedState>,
    /// What is wrong of handles that may stand in several memories, in some positions.
    shared: HashMap<Asked, Vec<(u32, Segment)>, FixedState>,
    found: Vec<Fault>,
    reported: HashSet<(Rule, usize)>,
}

/// Judges the memories after a complete run: errors, and warnings where there are none. The program completes.
pub fn judge(algorithm: &Algorithm, network: &Network, program: &Program) -> (Vec<Fault>, Vec<Fault>) {
    let mut judge = Judge {
        algorithm,
        network,
        program,
        groups: groups(algorithm, network),
        covers: Covers::default(),
        counter: Counter::default(),
        counted: HashMap::default(),
        shared: HashMap::default(),
        found: Vec::new(),
        reported: HashSet::new(),
    };
    // Where all is well, the order in which elements have their turns makes no difference. What is said of faults depends on the
    // numbers of trees, and so on the order, and has always been that of queues as they are.
    let symbols = judge.symbols(Turns::Ahead, &[]);
    let wrong = judge.wrong(&symbols);
    if !wrong.is_empty() {
        drop(symbols);
        let again = judge.symbols(Turns::Within, &wrong);
        for (group, participant, element) in wrong {
            judge.report(&again, group, participant, element);
        }
        return (judge.found, Vec::new());
    }
    if judge.different(&symbols).next().is_none() {
        return (Vec::new(), Vec::new());
    }
    drop(symbols);
    let again = judge.symbols(Turns::Within, &[]);
    let different: Vec<Different> = judge.different(&again).collect();
    for of in different {
        judge.report_different(&again.trees, of);
    }
    match algorithm.collective.bits {
        Bits::Identical => (judge.found, Vec::new()),
        Bits::PerElement => (Vec::new(), judge.found),
    }
}

/// A participant whose tile is made otherwise than that of the first of its group: both, a position, and the trees there.
struct Different {
    first: u32,
    other: u32,
    at: u32,
    trees: [Tree; 2],
}

/// A position that holds what it should not.
struct Wrong {
    element: u32,
    at: u32,
    segment: Segment,
    wanted: Wanted,
}

/// Positions: from each first one up to the one behind.
#[derive(Default)]
struct Positions(BTreeMap<u32, u32>);

impl Positions {
    fn insert(&mut self, mut from: u32, mut to: u32) {
        if from >= to {
            return;
        }
        while let Some((&first, &last)) = self.0.range(..=to).next_back().filter(|&(_, &last)| last >= from) {
            self.0.remove(&first);
            (from, to) = (from.min(first), to.max(last));
        }
        self.0.insert(from, to);
    }

    /// Whether a position is there, and up to where this is the same.
    fn at(&self, position: u32) -> (bool, u32) {
        match self.0.range(..=position).next_back().filter(|&(_, &last)| last > position) {
            Some((_, &last)) => (true, last),
            None => (false, self.0.range(position..).next().map_or(u32::MAX, |(&first, _)| first)),
        }
    }
}

impl Judge<'_> {
    /// What memories hold at the end, and all that some elements stored. What was known of the trees before is forgotten.
    fn symbols(&mut self, turns: Turns, watched: &[(usize, usize, u32)]) -> Symbols {
        let n_elem = u32::try_from(self.algorithm.n_elem).unwrap_or(u32::MAX);
        let mut symbols = Symbols::new(self.network.elements(), n_elem);
        symbols.watched = watched.iter().map(|&(.., element)| (element as usize, Vec::new())).collect();
        run(self.program, turns, &mut symbols);
        self.counter = Counter::default();
        self.counted.clear();
        self.shared.clear();
        let size = self.groups.first().map_or(0, Vec::len);
        let cubes = if self.groups.len() == 1 { 1 } else { u32::try_from(self.network.cubes()).unwrap_or(1) };
        self.covers = match self.algorithm.collective.kind {
            CollectiveKind::AllReduce | CollectiveKind::ReduceScatter => {
                Covers::new(&symbols.trees, size, |leaf| (leaf % cubes, leaf / cubes))
            }
            CollectiveKind::Broadcast | CollectiveKind::AllGather => Covers::default(),
        };
        symbols
    }

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

    /// Groups, participants and elements that end with something wrong.
    fn wrong(&mut self, symbols: &Symbols) -> Vec<(usize, usize, u32)> {
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
                let is_wrong = |&(from, to, wanted): &(u32, u32, Wanted)| {
                    let mut pieces = symbols.pieces(element as usize, from, to);
                    pieces.any(|(at, piece)| {
                        !self.wrong_in(&symbols.trees, (at, piece), (from, to), wanted).is_empty()
                    })
                };
                if parts.iter().any(is_wrong) {
                    wrong.push((group, participant, element));
                }
            }
        }
        wrong
    }

    /// The segments of a piece that are wrong in some positions, each with its position. Of what several elements hold alike, it is
    /// asked once.
    fn wrong_in(
        &mut self,
        trees: &Trees,
        (at, piece): (u32, &Piece),
        (from, to): (u32, u32),
        wanted: Wanted,
    ) -> Vec<(u32, Segment)> {
        let question = piece.shared(at).map(|shared| (shared, piece.within(at, (from, to)), wanted));
        if let Some(known) = question.and_then(|question| self.shared.get(&question)) {
            return known.clone();
        }
        let segments = piece.between(at, (from, to));
        let wrong: Vec<(u32, Segment)> =
            segments.filter(|&(at, segment)| !self.right(trees, segment, at, wanted)).collect();
        if let Some(question) = question {
            self.shared.insert(question, wrong.clone());
        }
        wrong
    }

    fn contributions(&mut self, trees: &Trees, segment: Segment, at: u32, wanted: Wanted) -> &Contributions {
        let further = i64::from(segment.start) - i64::from(at);
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
            return segment.start == at && trees.node(segment.tree) == Some(Node::Leaf(element));
        }
        if let Wanted::Sum(group) = wanted
            && segment.start == at
            && self.covers.is_whole(segment.tree, group)
        {
            return true;
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

    /// Reports what is wrong in the tile of a participant.
    fn report(&mut self, symbols: &Symbols, group: usize, participant: usize, element: u32) {
        for (from, to, wanted) in self.wanted(group, participant) {
            let mut was_right = None;
            for (first, piece) in symbols.pieces(element as usize, from, to) {
                for (mut at, mut segment) in self.wrong_in(&symbols.trees, (first, piece), (from, to), wanted)
                {
                    if !piece.stored {
                        let asked = self.asked(wanted);
                        self.fault(Rule::CT01, element, at, || {
                            format!("nothing was stored, required {asked}")
                        });
                        continue;
                    }
                    let was_right =
                        was_right.get_or_insert_with(|| self.before(symbols, element, (from, to), wanted));
                    while segment.len > 0 {
                        let (is_stale, until) = was_right.at(at);
                        let len = segment.len.min(until - at);
                        let wrong = Wrong { element, at, segment, wanted };
                        self.wrong_at(&symbols.trees, &wrong, is_stale);
                        (at, segment) = (at + len, segment.behind(len));
                    }
                }
            }
        }
    }

    /// Where some positions of an element held the right thing at some time.
    fn before(
        &mut self,
        symbols: &Symbols,
        element: u32,
        (from, to): (u32, u32),
        wanted: Wanted,
    ) -> Positions {
        let mut found = Positions::default();
        let trees = &symbols.trees;
        if let Some(tree) = trees.find(Node::Leaf(element)) {
            let initial = Segment { tree, start: from, len: to - from };
            if self.right(trees, initial, from, wanted) {
                found.insert(from, to);
            }
        }
        let history: &[Stored] =
            symbols.watched.get(&(element as usize)).map(Vec::as_slice).unwrap_or_default();
        for stored in history {
            let (at, piece) = (stored.0, Piece::of(&stored.1));
            let (mut done, end) = piece.within(at, (from, to));
            if done == end {
                continue;
            }
            for (wrong, segment) in self.wrong_in(trees, (at, &piece), (from, to), wanted) {
                found.insert(done, wrong);
                done = wrong + segment.len;
            }
            found.insert(done, end);
        }
        found
    }

    fn asked(&self, wanted: Wanted) -> String {
        match wanted {
            Wanted::Sum(_) => "the sum of its group".to_owned(),
            Wanted::Of(element) => format!("what {} held", self.network.name(element)),
        }
    }

    fn wrong_at(&mut self, trees: &Trees, part: &Wrong, is_stale: bool) {
        let &Wrong { element, at, segment, wanted: of } = part;
        let (network, asked) = (self.network, self.asked(of));
        if is_stale {
            self.fault(Rule::CT05, element, at, || {
                format!("it held {asked}, and something else was stored over it")
            });
            return;
        }
        let size = self.size(of);
        let Contributions { wanted, double, foreign } = self.contributions(trees, segment, at, of).clone();
        if wanted < size {
            let members = match of {
                Wanted::Of(element) => vec![element],
                Wanted::Sum(group) => self.groups.get(group).cloned().unwrap_or_default(),
            };
            self.fault(Rule::CT02, element, at, || {
                let there = leaves(trees, segment.tree);
                let missing = members.iter().copied().find(|member| !there.contains(member));
                let whose = missing.map_or_else(String::new, |missing| {
                    format!(", that of {} is not", network.name(missing))
                });
                format!("{wanted} of {size} contributions are there{whose}; required {asked}")
            });
        }
        if let Some(leaf) = double {
            let whose = network.name(leaf);
            self.fault(Rule::CT03, element, at, || {
                format!("what {whose} held is there twice; required {asked}")
            });
        }
        if let Some((leaf, further)) = foreign {
            let (whose, position) = (network.name(leaf), i64::from(at) + further);
            self.fault(Rule::CT04, element, at, || {
                format!("what {whose} held at position {position} is there; required {asked}")
            });
        }
    }

    /// The words are put together for the first finding of a log alone.
    fn fault(&mut self, rule: Rule, element: u32, at: u32, what: impl FnOnce() -> String) {
        let log = self.program.lines.get(element as usize).map_or(0, |line| line.log);
        if self.reported.insert((rule, log)) {
            let message = format!("{}, position {at}: {}", self.network.name(element), what());
            self.found.push(Fault::new(rule, format!("/logs/{log}"), message));
        }
    }

    /// Of results that are right, those that differ in bits.
    fn different<'b>(&'b self, symbols: &'b Symbols) -> impl Iterator<Item = Different> + 'b {
        // Of the other collectives, what is right is one number, or asked of one participant alone.
        let is_asked = self.algorithm.collective.kind == CollectiveKind::AllReduce;
        let (from, to) = block(self.algorithm.n_elem, 1, 0);
        let groups = self.groups.iter().filter(move |_| is_asked).filter_map(|members| members.split_first());
        groups.flat_map(move |(&first, others)| {
            let model = symbols.alike(first as usize, from, to);
            let mut same: HashSet<Shared, FixedState> = HashSet::default();
            others.iter().filter_map(move |&other| {
                let shared = symbols.pieces(other as usize, from, to).next().and_then(|(at, piece)| {
                    piece.shared(at).filter(|_| piece.within(at, (from, to)) == (from, to))
                });
                if shared.is_some_and(|shared| same.contains(&shared)) {
                    return None;
                }
                let own = symbols.alike(other as usize, from, to);
                if own == model {
                    same.extend(shared);
                    return None;
                }
                let (at, one, two) = first_difference(&model, &own)?;
                Some(Different { first, other, at, trees: [one, two] })
            })
        })
    }

    /// CB01 or CW01.
    fn report_different(&mut self, trees: &Trees, of: Different) {
        let rule = match self.algorithm.collective.bits {
            Bits::Identical => Rule::CB01,
            Bits::PerElement => Rule::CW01,
        };
        let network = self.network;
        let names = [of.first, of.other].map(|element| network.name(element));
        self.fault(rule, of.other, of.at, || {
            let witness = triple(trees, of.trees[0], of.trees[1]).map(|leaves| {
                let [x, y, z] = leaves.map(|leaf| network.name(leaf));
                format!(
                    "; with 2048 at {x}, 1 at {y} and {z} and 0 elsewhere, {} ends with 2050 and {} with 2048",
                    names[0], names[1]
                )
            });
            format!("{} adds in another order than {} does{}", names[1], names[0], witness.unwrap_or_default())
        });
    }
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
