//! The rules ER01 to ER04 and ER07. The bytes of a storage are cut where any access begins or ends. In each piece its accesses, along
//! happens-before, are taken together as far as they do not conflict; if all of each such run come before all of the next, no two
//! accesses of the piece race. Only where that fails are pairs compared.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use megakernel_order::Findings;
use megakernel_order::happens_before::{HappensBefore, Question};

use megakernel_schedule::{Init, Kind};

use crate::exact;
use crate::ids::{AccessId, Node, PhaseId, Place, question};
use crate::world::{Access, Does, NO_GROUP, World};

/// Questions are answered when there are this many.
pub const CHUNK: usize = 1 << 22;

/// A storage with its accesses.
pub struct Storage {
    /// Along happens-before, and within a phase as the phase goes on.
    pub accesses: Vec<AccessId>,
    /// Where pieces begin and end.
    cuts: Vec<u64>,
    /// Where the list of each piece begins.
    starts: Vec<usize>,
    /// For each piece its accesses, as indices of `accesses`.
    lists: Vec<Place>,
}

/// The storages that are changed, or may hold nothing when they are read, in their order.
pub fn storages(world: &World<'_>, order: &HappensBefore<'_>) -> Vec<Storage> {
    let mut of: Vec<Vec<AccessId>> = vec![Vec::new(); world.storages];
    let mut is_judged = vec![false; world.storages];
    for (index, access) in world.accesses.iter().enumerate() {
        let placed = world.placed(access);
        let may_be_empty =
            placed.init == Init::Never && matches!(placed.kind, Kind::Activation | Kind::Output);
        of[placed.storage.index()].push(AccessId::at(index));
        is_judged[placed.storage.index()] |= access.does != Does::Read || may_be_empty;
    }
    let ranks: Vec<u32> = world.phase_ids().map(|phase| order.rank(Node::from(phase).task())).collect();
    let judged = of.into_iter().zip(is_judged).filter(|(_, is_judged)| *is_judged);
    judged.map(|(accesses, _)| Storage::new(world, &ranks, accesses)).collect()
}

impl Storage {
    fn new(world: &World<'_>, ranks: &[u32], mut accesses: Vec<AccessId>) -> Storage {
        accesses.sort_by_key(|&index| {
            let access = &world.accesses[index.index()];
            (ranks[access.phase.index()], access.phase, access.does)
        });
        let bytes = |index: AccessId| world.bytes(&world.accesses[index.index()]);
        let mut cuts: Vec<u64> = accesses.iter().flat_map(|&index| bytes(index)).flatten().copied().collect();
        cuts.sort_unstable();
        cuts.dedup();
        let pieces = |interval: &[u64; 2]| {
            let [from, to] = *interval;
            let first = cuts.partition_point(|&cut| cut < from);
            // Most have one.
            let next = first + 1;
            first..if cuts.get(next) == Some(&to) { next } else { cuts.partition_point(|&cut| cut < to) }
        };
        // Looked up once: the pieces of each interval of each access.
        let ranges: Vec<Range<usize>> = accesses.iter().flat_map(|&index| bytes(index)).map(pieces).collect();
        let mut starts = vec![0usize; cuts.len() + 1];
        for piece in ranges.iter().cloned().flatten() {
            starts[piece + 1] += 1;
        }
        for piece in 0..cuts.len() {
            starts[piece + 1] += starts[piece];
        }
        let mut next = starts.clone();
        let mut lists = vec![Place::default(); starts.last().copied().unwrap_or(0)];
        let mut ranges = ranges.into_iter();
        for (place, &index) in Place::range(0..accesses.len()).zip(&accesses) {
            for piece in ranges.by_ref().take(bytes(index).len()).flatten() {
                lists[next[piece]] = place;
                next[piece] += 1;
            }
        }
        Storage { accesses, cuts, starts, lists }
    }

    /// The accesses of each piece, along happens-before.
    pub fn pieces(&self) -> impl Iterator<Item = &[Place]> {
        self.starts.windows(2).map(|ends| &self.lists[ends[0]..ends[1]]).filter(|list| !list.is_empty())
    }

    /// The first bytes that two accesses share.
    pub fn shared(&self, world: &World<'_>, pair: [&Access; 2]) -> [u64; 2] {
        let [first, second] = pair.map(|access| world.bytes(access));
        let begin = self.cuts.first().copied().unwrap_or(0);
        first_shared(first, second).unwrap_or([begin, begin])
    }

    /// The phase of an access.
    pub fn phase(&self, world: &World<'_>, place: Place) -> PhaseId {
        self.access(world, place).phase
    }

    fn access<'w>(&self, world: &'w World<'_>, place: Place) -> &'w Access {
        &world.accesses[self.accesses[place.index()].index()]
    }
}

/// The first bytes that two ascending lists of intervals share.
pub fn first_shared(first: &[[u64; 2]], second: &[[u64; 2]]) -> Option<[u64; 2]> {
    let (mut one, mut other) = (0, 0);
    while let (Some(a), Some(b)) = (first.get(one), second.get(other)) {
        let [from, to] = [a[0].max(b[0]), a[1].min(b[1])];
        if from < to {
            return Some([from, to]);
        }
        if a[1] < b[1] { one += 1 } else { other += 1 }
    }
    None
}

/// Whether two accesses of one piece by different tasks have to be ordered (clause SCH-10).
pub fn conflict(world: &World<'_>, first: &Access, second: &Access) -> bool {
    if (first.does, second.does) == (Does::Read, Does::Read) {
        return false;
    }
    let is_one_value = world.placed(first).value == world.placed(second).value;
    let both_add = (first.does, second.does) == (Does::Add, Does::Add);
    !(is_one_value && both_add && (first.group != second.group || first.group == NO_GROUP))
}

/// Judges the storages. Says of each whether it has a race.
pub fn check(
    world: &World<'_>,
    order: &HappensBefore<'_>,
    storages: &[Storage],
    findings: &mut Findings,
) -> Vec<bool> {
    let racing = racing(world, order, storages);
    for (storage, found) in storages.iter().zip(&racing).filter(|(_, found)| !found.is_empty()) {
        exact::check(world, order, storage, found, findings);
    }
    racing.iter().map(|found| !found.is_empty()).collect()
}

/// Pairs of a storage that are kept of those that the search finds.
const FOUND: usize = 1 << 10;

/// Of each storage, some pairs of accesses that race; none if none do.
pub fn racing(world: &World<'_>, order: &HappensBefore<'_>, storages: &[Storage]) -> Vec<Vec<[AccessId; 2]>> {
    let mut racing = vec![Vec::new(); storages.len()];
    let (mut questions, mut asked_for) = (Vec::<Question>::new(), Vec::<(usize, [AccessId; 2])>::new());
    let mut settle = |questions: &mut Vec<Question>, asked_for: &mut Vec<(usize, [AccessId; 2])>| {
        for (answer, (storage, pair)) in order.answer(questions).into_iter().zip(asked_for.drain(..)) {
            if !answer && racing[storage].len() < FOUND {
                racing[storage].push(pair);
            }
        }
        questions.clear();
    };
    let alike = Alike::new(world, order);
    for (number, storage) in storages.iter().enumerate() {
        let mut asked = HashSet::new();
        let mut ask = |one: Place, other: Place| {
            let [earlier, later] = [one, other].map(|place| storage.phase(world, place));
            if earlier != later && asked.insert((earlier, later)) {
                questions.push(question(earlier, later));
                asked_for.push((number, [one, other].map(|place| storage.accesses[place.index()])));
                if questions.len() >= CHUNK {
                    settle(&mut questions, &mut asked_for);
                }
            }
        };
        let mut known: &[Place] = &[];
        for piece in storage.pieces() {
            // Neighbouring pieces often have the same accesses.
            if piece != known {
                runs(world, storage, piece, &mut |before, run| {
                    if !before.is_empty() {
                        for later in alike.some(run.iter().map(|&place| (storage.phase(world, place), place)))
                        {
                            before.iter().for_each(|&earlier| ask(earlier, later));
                        }
                    }
                    collisions(world, storage, run, &mut ask);
                });
                known = piece;
            }
        }
    }
    settle(&mut questions, &mut asked_for);
    racing
}

/// Which phases come straight after the same: what comes before one of them comes before all.
struct Alike(Vec<u32>);

impl Alike {
    fn new(world: &World<'_>, order: &HappensBefore<'_>) -> Alike {
        let mut known = HashMap::new();
        let class = |phase: PhaseId| {
            let next = known.len() as u32;
            *known.entry(order.graph().waits(Node::from(phase).task())).or_insert(next)
        };
        Alike(world.phase_ids().map(class).collect())
    }

    /// Of accesses, each with its phase, those of one phase of each class, and of another one where there is: the first may itself be what has to
    /// come before.
    fn some(&self, accesses: impl Iterator<Item = (PhaseId, Place)>) -> Vec<Place> {
        let mut all: Vec<(u32, PhaseId, Place)> =
            accesses.map(|(phase, place)| (self.0[phase.index()], phase, place)).collect();
        all.sort_unstable();
        all.dedup_by_key(|(_, phase, _)| *phase);
        let is_one = |&at: &usize| at < 2 || all[at - 2].0 != all[at].0;
        (0..all.len()).filter(is_one).map(|at| all[at].2).collect()
    }
}

/// The runs of a piece: accesses that follow each other and are all reads, or all additions to one value. Each comes with the run before it, all of
/// which conflicts with all of it.
pub fn runs(world: &World<'_>, storage: &Storage, piece: &[Place], each: &mut dyn FnMut(&[Place], &[Place])) {
    let mut before: &[Place] = &[];
    let mut begin = 0;
    for at in 1..=piece.len() {
        let first = storage.access(world, piece[begin]);
        let goes_on = piece.get(at).is_some_and(|&next| {
            let next = storage.access(world, next);
            let both = |does: Does| first.does == does && next.does == does;
            both(Does::Read) || both(Does::Add) && world.placed(first).value == world.placed(next).value
        });
        if !goes_on {
            each(before, &piece[begin..at]);
            (before, begin) = (&piece[begin..at], at);
        }
    }
}

/// Asks for the order of the additions of one group in a run, by their places.
pub fn collisions(world: &World<'_>, storage: &Storage, run: &[Place], ask: &mut dyn FnMut(Place, Place)) {
    let mut last = HashMap::new();
    for &place in run {
        let access = storage.access(world, place);
        if access.does == Does::Add
            && access.group != NO_GROUP
            && let Some(earlier) = last.insert(access.group, place)
        {
            ask(earlier, place);
        }
    }
}
