//! What stays between the regions of a document (clause MCI-26): which tensors vanish when regions become one. Nothing is rewritten here; of a region
//! only its axes, its moves and its tiles are noted.

use std::collections::{HashMap, HashSet};

use megakernel_mcir::{Body, Document, Index, Memory, Op, Region, Term};

use crate::document::uses::nodes;

/// A block axis: the region that declared it, and its name there.
type Axis = (usize, u32);

/// An index, as what it adds up to.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sum {
    number: i64,
    /// Sorted by axis.
    axes: Vec<(Axis, i64)>,
}

/// A node that moves a tile.
#[derive(Clone, Debug)]
struct Move {
    tensor: u32,
    tile: u32,
    /// `LoadTile`, `Prefetch` or `StoreTile`.
    is_store: bool,
    is_prefetch: bool,
    is_repeated: bool,
    at: Vec<Sum>,
}

/// What is noted of a region.
#[derive(Clone, Debug)]
struct Noted {
    goes_on: bool,
    /// The step, and how many values there are: more than one.
    axes: HashMap<Axis, (i64, i64)>,
    moves: Vec<Move>,
    tiles: HashSet<u32>,
}

impl Noted {
    fn of(document: &Document, number: usize, region: &Region) -> Noted {
        let step =
            |axis: u32| region.tile.shape.iter().find(|(name, _)| *name == axis).map_or(1, |(_, step)| *step);
        let count = |axis: u32, extent: i64| {
            let step = step(axis).max(1);
            (step, extent / step + i64::from(extent % step != 0))
        };
        let single: HashSet<u32> = region
            .tile
            .blocks
            .iter()
            .filter(|&&(axis, extent)| count(axis, extent).1 <= 1)
            .map(|(axis, _)| *axis)
            .collect();
        let axes = region.tile.blocks.iter().filter(|(axis, _)| !single.contains(axis));
        let axes = axes.map(|&(axis, extent)| ((number, axis), count(axis, extent))).collect();
        let mut noted = Noted {
            goes_on: region.stream.is_some() || !region.state.is_empty(),
            axes,
            moves: Vec::new(),
            tiles: region.state.iter().map(|state| state.value).collect(),
        };
        let global: HashSet<u32> = document
            .values
            .iter()
            .filter(|value| value.memory == Memory::Global)
            .map(|value| value.name)
            .collect();
        for (body, node) in nodes(region) {
            noted.tiles.extend(node.ins.iter().chain(&node.outs).filter(|name| !global.contains(name)));
            let (Some(at), &[from], &[to]) = (node.op.at(), &node.ins[..], &node.outs[..]) else { continue };
            let is_store = matches!(node.op, Op::StoreTile(_));
            noted.moves.push(Move {
                tensor: if is_store { to } else { from },
                tile: if is_store { from } else { to },
                is_store,
                is_prefetch: matches!(node.op, Op::Prefetch(..)),
                is_repeated: body == Body::Each,
                at: at.iter().map(|index| added(index, number, &single)).collect(),
            });
        }
        noted
    }

    fn has(&self, tensor: u32, is_store: bool) -> bool {
        self.moves.iter().any(|each| each.is_store == is_store && each.tensor == tensor)
    }

    fn of_tensor(&self, tensor: u32, is_store: bool) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(move |each| each.is_store == is_store && each.tensor == tensor)
    }
}

fn added(index: &Index, region: usize, single: &HashSet<u32>) -> Sum {
    let mut sum = Sum::default();
    let mut axes: HashMap<u32, i64> = HashMap::new();
    for term in &index.terms {
        match *term {
            Term::Number(number) => sum.number = sum.number.wrapping_add(number),
            Term::Axis(axis) => *axes.entry(axis).or_insert(0) += 1,
            Term::Scaled(factor, axis) => *axes.entry(axis).or_insert(0) += factor,
        }
    }
    let left = axes.into_iter().filter(|(axis, factor)| *factor != 0 && !single.contains(axis));
    sum.axes = left.map(|(axis, factor)| ((region, axis), factor)).collect();
    sum.axes.sort_unstable();
    sum
}

/// Which axis of the region that stores each axis of the region that loads is, so that a load is a store. Grows `known`; nothing if there is no such correspondence.
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
    for (to, from) in store.at.iter().zip(&load.at) {
        if to.number != from.number || to.axes.len() != from.axes.len() {
            return None;
        }
        for &(axis, factor) in &from.axes {
            let shape = loaded.axes.get(&axis)?;
            // Of a store that covers its tensor once, no two axes have the same factor, step and number of values.
            let fits =
                |&&(other, again): &&(Axis, i64)| again == factor && stored.axes.get(&other) == Some(shape);
            let &(other, _) = to.axes.iter().find(fits)?;
            if *known.entry(axis).or_insert(other) != other {
                return None;
            }
        }
    }
    Some(())
}

/// Whether two regions are one without a tensor between them (2 and 3 of the clause), and the correspondence of their axes.
fn meet(document: &Document, one: &Noted, two: &Noted) -> Option<HashMap<Axis, Axis>> {
    let shape = |tile: u32| document.values.iter().find(|value| value.name == tile).map(|value| &value.shape);
    let mut known = HashMap::new();
    for store in one.moves.iter().filter(|each| each.is_store) {
        for load in two.of_tensor(store.tensor, false) {
            if load.is_prefetch || shape(load.tile) != shape(store.tile) || (one.goes_on && store.is_repeated)
            {
                return None;
            }
            corresponds(one, two, store, load, &mut known)?;
        }
    }
    let reached: HashSet<Axis> = known.values().copied().collect();
    let all =
        known.len() == two.axes.len() && reached.len() == one.axes.len() && reached.len() == known.len();
    all.then_some(known)
}

fn fits(document: &Document, tiles: &HashSet<u32>) -> bool {
    let mut held = [0_i64; 2];
    for value in document.values.iter().filter(|value| tiles.contains(&value.name)) {
        let elements = value.shape.iter().fold(1_i64, |size, &extent| size.saturating_mul(extent));
        let bytes = elements.saturating_mul(value.dtype.bytes()).saturating_mul(value.buffers);
        let place = usize::from(value.memory == Memory::Register);
        held[place] = held[place].saturating_add(bytes);
    }
    let limits = [document.target.shared, document.target.register];
    held.iter().zip(limits).all(|(held, limit)| limit.is_none_or(|limit| *held <= limit))
}

/// The tensors that stay between the regions of a document.
pub fn stays(document: &Document) -> Vec<u32> {
    let mut regions: Vec<Noted> = document
        .regions
        .iter()
        .enumerate()
        .map(|(number, region)| Noted::of(document, number, region))
        .collect();
    let listed: HashSet<u32> = document.inputs.iter().chain(&document.outputs).copied().collect();
    loop {
        let stored = regions.iter().flat_map(|region| region.moves.iter().filter(|each| each.is_store));
        let left: Vec<u32> = stored.map(|each| each.tensor).filter(|name| !listed.contains(name)).collect();
        let Some((first, second, known)) =
            left.iter().find_map(|&tensor| vanishes(document, &regions, tensor))
        else {
            return left;
        };
        one(&mut regions, first, second, &known, &listed);
    }
}

fn vanishes(
    document: &Document,
    regions: &[Noted],
    tensor: u32,
) -> Option<(usize, usize, HashMap<Axis, Axis>)> {
    let first = regions.iter().position(|region| region.has(tensor, true))?;
    let readers: Vec<usize> = (0..regions.len()).filter(|&place| regions[place].has(tensor, false)).collect();
    let &[second] = &readers[..] else { return None };
    let (one, two) = (&regions[first], &regions[second]);
    if second <= first || (one.goes_on && two.goes_on) {
        return None;
    }
    let known = meet(document, one, two)?;
    let waits = between(regions, first, second, false) && between(regions, first, second, true);
    let tiles = one.tiles.union(&two.tiles).copied().collect();
    (!waits && fits(document, &tiles)).then_some((first, second, known))
}

/// Whether a region between two others loads what the first stores, or stores what the second loads.
fn between(regions: &[Noted], first: usize, second: usize, stores: bool) -> bool {
    let end = &regions[if stores { second } else { first }];
    let needed: HashSet<u32> =
        end.moves.iter().filter(|each| each.is_store != stores).map(|each| each.tensor).collect();
    regions[first + 1..second].iter().any(|region| {
        region.moves.iter().any(|each| each.is_store == stores && needed.contains(&each.tensor))
    })
}

/// Makes one of two regions.
fn one(
    regions: &mut Vec<Noted>,
    first: usize,
    second: usize,
    known: &HashMap<Axis, Axis>,
    listed: &HashSet<u32>,
) {
    let is_last = !between(regions, first, second, false);
    let mut two = regions.remove(second);
    let mut all = regions.remove(first);
    let passed: HashSet<u32> = all
        .moves
        .iter()
        .filter(|each| each.is_store && two.has(each.tensor, false))
        .map(|each| each.tensor)
        .collect();
    let loaded: HashSet<u32> = two
        .moves
        .iter()
        .filter(|each| !each.is_store && passed.contains(&each.tensor))
        .map(|each| each.tile)
        .collect();
    two.moves.retain(|each| each.is_store || !passed.contains(&each.tensor));
    two.tiles.retain(|tile| !loaded.contains(tile));
    for sum in two.moves.iter_mut().flat_map(|each| &mut each.at) {
        for (axis, _) in &mut sum.axes {
            *axis = known.get(axis).copied().unwrap_or(*axis);
        }
        sum.axes.sort_unstable();
    }
    let is_read = |tensor: u32| regions.iter().any(|region| region.has(tensor, false));
    all.moves.retain(|each| {
        !each.is_store
            || !passed.contains(&each.tensor)
            || listed.contains(&each.tensor)
            || is_read(each.tensor)
    });
    // Those of a region that does not go on run once.
    let once = if all.goes_on { &mut two } else { &mut all };
    once.moves.iter_mut().for_each(|each| each.is_repeated = false);
    all.goes_on |= two.goes_on;
    all.moves.append(&mut two.moves);
    all.tiles.extend(two.tiles);
    regions.insert(if is_last { second - 1 } else { first }, all);
}
