//! What stays between the regions of a document (clause MCI-26): which tensors vanish when regions become one. Nothing is rewritten here; of a region
//! only its axes, its moves and its tiles are noted.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use megakernel_mcir::{Body, Document, Index, Memory, Op, Region, Target};

use crate::document::uses::{Values, by_name, nodes, summed};

/// A block axis: the region that declared it, and its name there.
type Axis = (usize, u32);

/// An index: axes of more than one value with their factors, and the number.
type Sum = (BTreeMap<Axis, i64>, i64);

/// A node that moves a tile.
#[derive(Clone, Debug)]
struct Move {
    tensor: u32,
    tile: u32,
    /// A `StoreTile`.
    is_store: bool,
    is_prefetch: bool,
    is_repeated: bool,
    at: Vec<Sum>,
}

/// What is noted of a region.
#[derive(Clone, Debug, Default)]
struct Noted {
    goes_on: bool,
    /// The step, and how many values there are: more than one.
    axes: HashMap<Axis, (i64, i64)>,
    moves: Vec<Move>,
    tiles: HashSet<u32>,
}

impl Noted {
    fn of(values: &Values<'_>, number: usize, region: &Region) -> Noted {
        let steps: HashMap<u32, i64> = region.tile.shape.iter().copied().collect();
        let mut axes = HashMap::new();
        let mut single = HashSet::new();
        for &(axis, extent) in &region.tile.blocks {
            let step = steps.get(&axis).map_or(1, |&step| step.max(1));
            let count = extent / step + i64::from(extent % step != 0);
            if count > 1 {
                axes.insert((number, axis), (step, count));
            } else {
                single.insert(axis);
            }
        }
        let mut noted = Noted {
            goes_on: region.stream.is_some() || !region.state.is_empty(),
            axes,
            moves: Vec::new(),
            tiles: region.state.iter().map(|state| state.value).collect(),
        };
        let is_tile = |name: &&u32| values.get(name).is_none_or(|value| value.memory != Memory::Global);
        for (body, node) in nodes(region) {
            noted.tiles.extend(node.ins.iter().chain(&node.outs).filter(is_tile));
            let (Some(at), &[from], &[to]) = (node.op.at(), &node.ins[..], &node.outs[..]) else { continue };
            let is_store = matches!(node.op, Op::StoreTile(_));
            let added = |index: &Index| {
                let (mut axes, number_of) = summed(index);
                axes.retain(|axis, _| !single.contains(axis));
                (axes.into_iter().map(|(axis, factor)| ((number, axis), factor)).collect(), number_of)
            };
            noted.moves.push(Move {
                tensor: if is_store { to } else { from },
                tile: if is_store { from } else { to },
                is_store,
                is_prefetch: matches!(node.op, Op::Prefetch(..)),
                is_repeated: body == Body::Each,
                at: at.iter().map(added).collect(),
            });
        }
        noted
    }

    /// Nodes that store, or load.
    fn moving(&self, is_store: bool) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(move |each| each.is_store == is_store)
    }
}

/// Which axis of the region that stores each axis of the region that loads is, so that a load is a store. Grows `known`; nothing if there is no such
/// correspondence.
fn corresponds(
    stored: &Noted,
    loaded: &Noted,
    store: &Move,
    load: &Move,
    known: &mut HashMap<Axis, Axis>,
) -> Option<()> {
    if store.at.len() != load.at.len() {
        return None;
    }
    for ((to, to_number), (from, from_number)) in store.at.iter().zip(&load.at) {
        if to_number != from_number || to.len() != from.len() {
            return None;
        }
        for (&axis, factor) in from {
            let shape = loaded.axes.get(&axis)?;
            // Of a store that covers its tensor once, no two axes have the same factor, step and number of values.
            let fits =
                |&(other, again): &(&Axis, &i64)| again == factor && stored.axes.get(other) == Some(shape);
            let (&other, _) = to.iter().find(fits)?;
            if *known.entry(axis).or_insert(other) != other {
                return None;
            }
        }
    }
    Some(())
}

/// What vanishes when two regions become one.
struct Joint {
    first: usize,
    second: usize,
    /// Axes of the second one, and those of the first one that they are.
    known: HashMap<Axis, Axis>,
    /// Whether no region between the two loads what the first one stores.
    is_last: bool,
}

/// Why nothing does.
enum Kept {
    /// Regions between the two.
    Between,
    /// Something else, which stays as it is until one of the two changes.
    Own,
}

/// Who moves a tensor.
#[derive(Default)]
struct Users {
    storer: Option<usize>,
    readers: BTreeSet<usize>,
}

/// The regions that are left.
struct Left<'d> {
    values: Values<'d>,
    target: Target,
    outputs: HashSet<u32>,
    /// None where a region has become part of another.
    regions: Vec<Option<Noted>>,
    users: HashMap<u32, Users>,
}

impl Left<'_> {
    fn noted(&mut self, place: usize, region: Noted) {
        for each in &region.moves {
            let users = self.users.entry(each.tensor).or_default();
            if each.is_store {
                users.storer = Some(place);
            } else {
                users.readers.insert(place);
            }
        }
        self.regions[place] = Some(region);
    }

    fn taken(&mut self, place: usize) -> Noted {
        let region = self.regions[place].take().unwrap_or_default();
        for each in region.moving(false) {
            self.users.entry(each.tensor).or_default().readers.remove(&place);
        }
        region
    }

    fn readers(&self, tensor: u32) -> &BTreeSet<usize> {
        const NOBODY: &BTreeSet<usize> = &BTreeSet::new();
        self.users.get(&tensor).map_or(NOBODY, |users| &users.readers)
    }

    fn storer(&self, tensor: u32) -> Option<usize> {
        self.users.get(&tensor)?.storer
    }

    /// What becomes of the first tensor that vanishes of those that a region stores; and whether others may, depending on where other regions stand.
    fn vanishes(&self, first: usize) -> (Option<Joint>, bool) {
        let mut asked = HashSet::new();
        let mut is_between = false;
        let Some(one) = &self.regions[first] else { return (None, false) };
        let stores: HashMap<u32, &Move> = one.moving(true).map(|each| (each.tensor, each)).collect();
        for store in one.moving(true).filter(|store| !self.outputs.contains(&store.tensor)) {
            let mut readers = self.readers(store.tensor).iter();
            if let (Some(&second), None) = (readers.next(), readers.next())
                && asked.insert(second)
            {
                match self.joint(&stores, first, second) {
                    Ok(joint) => return (Some(joint), is_between),
                    Err(Kept::Between) => is_between = true,
                    Err(Kept::Own) => {}
                }
            }
        }
        (None, is_between)
    }

    /// How two regions become one, of which only the second one loads something that the first one stores.
    fn joint(&self, stores: &HashMap<u32, &Move>, first: usize, second: usize) -> Result<Joint, Kept> {
        let (Some(one), Some(two)) = (&self.regions[first], &self.regions[second]) else {
            return Err(Kept::Own);
        };
        if second <= first || (one.goes_on && two.goes_on) || !self.fits(one, two) {
            return Err(Kept::Own);
        }
        let known = self.meet(stores, one, two).ok_or(Kept::Own)?;
        let between = first + 1..second;
        let is_last = !stores.keys().any(|&name| self.readers(name).range(between.clone()).next().is_some());
        let needs = |each: &Move| self.storer(each.tensor).is_some_and(|place| between.contains(&place));
        if !is_last && two.moving(false).any(needs) {
            return Err(Kept::Between);
        }
        Ok(Joint { first, second, known, is_last })
    }

    /// Whether two regions are one without a tensor between them (2 and 3 of the clause): the correspondence of their axes.
    fn meet(&self, stores: &HashMap<u32, &Move>, one: &Noted, two: &Noted) -> Option<HashMap<Axis, Axis>> {
        let shape = |tile: u32| self.values.get(&tile).map(|value| &value.shape);
        let mut known = HashMap::new();
        for load in two.moving(false) {
            let Some(store) = stores.get(&load.tensor) else { continue };
            if load.is_prefetch || shape(load.tile) != shape(store.tile) || (one.goes_on && store.is_repeated)
            {
                return None;
            }
            corresponds(one, two, store, load, &mut known)?;
        }
        let reached: HashSet<Axis> = known.values().copied().collect();
        let all =
            known.len() == two.axes.len() && reached.len() == one.axes.len() && reached.len() == known.len();
        all.then_some(known)
    }

    fn fits(&self, one: &Noted, two: &Noted) -> bool {
        if self.target == Target::default() {
            return true;
        }
        let mut held = [0_i64; 2];
        for value in one.tiles.union(&two.tiles).filter_map(|tile| self.values.get(tile)) {
            let elements = value.shape.iter().fold(1_i64, |size, &extent| size.saturating_mul(extent));
            let bytes = elements.saturating_mul(value.dtype.bytes()).saturating_mul(value.buffers);
            let place = usize::from(value.memory == Memory::Register);
            held[place] = held[place].saturating_add(bytes);
        }
        let limits = [self.target.shared, self.target.register];
        held.iter().zip(limits).all(|(held, limit)| limit.is_none_or(|limit| *held <= limit))
    }

    /// Makes one of two regions, and says which regions store something that may vanish now.
    fn join(&mut self, Joint { first, second, known, is_last }: &Joint) -> BTreeSet<usize> {
        let (mut all, mut two) = (self.taken(*first), self.taken(*second));
        let stored: HashSet<u32> = all.moving(true).map(|each| each.tensor).collect();
        let mut passed = HashSet::new();
        let (moves, tiles) = (&mut two.moves, &mut two.tiles);
        moves.retain(|each| {
            let is_passed = !each.is_store && stored.contains(&each.tensor);
            if is_passed {
                passed.insert(each.tensor);
                tiles.remove(&each.tile);
            }
            !is_passed
        });
        for (axes, _) in two.moves.iter_mut().flat_map(|each| &mut each.at) {
            let renamed = std::mem::take(axes).into_iter();
            *axes =
                renamed.map(|(axis, factor)| (known.get(&axis).copied().unwrap_or(axis), factor)).collect();
        }
        all.moves.retain(|each| {
            !each.is_store
                || !passed.contains(&each.tensor)
                || self.outputs.contains(&each.tensor)
                || !self.readers(each.tensor).is_empty()
        });
        // Those of a region that does not go on run once.
        let once = if all.goes_on { &mut two } else { &mut all };
        once.moves.iter_mut().for_each(|each| each.is_repeated = false);
        all.goes_on |= two.goes_on;
        all.moves.append(&mut two.moves);
        all.tiles.extend(two.tiles);
        let place = if *is_last { *second } else { *first };
        let loaded: Vec<u32> = all.moving(false).map(|each| each.tensor).collect();
        self.noted(place, all);
        loaded.into_iter().filter_map(|tensor| self.storer(tensor)).chain([place]).collect()
    }
}

/// The tensors that stay between the regions of a document.
pub fn stays(document: &Document) -> Vec<u32> {
    let mut left = Left {
        values: by_name(document),
        target: document.target,
        outputs: document.outputs.iter().copied().collect(),
        regions: document.regions.iter().map(|_| None).collect(),
        users: HashMap::new(),
    };
    for (number, region) in document.regions.iter().enumerate() {
        let noted = Noted::of(&left.values, number, region);
        left.noted(number, noted);
    }
    // Of what the other regions store, it is known that nothing vanishes: nothing that this depends on has changed.
    let mut open: BTreeSet<usize> = (0..left.regions.len()).collect();
    let mut waiting = BTreeSet::new();
    while let Some(place) = open.pop_first() {
        let (joint, is_between) = left.vanishes(place);
        if is_between {
            waiting.insert(place);
        }
        if let Some(joint) = joint {
            open.extend(left.join(&joint));
            open.append(&mut waiting);
        }
    }
    let stored = left.regions.iter().flatten().flat_map(|region| region.moving(true));
    stored.map(|each| each.tensor).filter(|name| !left.outputs.contains(name)).collect()
}
