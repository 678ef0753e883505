//! Documents run with any kind of numbers, as the clauses MCI-07 to MCI-12 say: whatever goes wrong on the way is told.
//!
//! A load is under way from its `Prefetch` on until a `Barrier` has waited for it, and its slot cannot be read in between, nor what was there
//! before: so what is read is right at whichever moment loads land. Tiles are forgotten when their lifetime is over.

use std::collections::{BTreeMap, HashMap, HashSet};

use megakernel_mcir::{
    Body, Document, Function, Index, Init, Lifetime, Memory, Node, Op, Region, Term, Value,
};

use super::block::{Block, Version, met, slot};
use super::compute::{Tile, computed, updated};
use crate::transform::evaluate::{Held, Numbers, Scores};

/// What is counted (clause MCI-15), in all regions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Bytes.
    pub loaded: u64,
    /// Bytes.
    pub stored: u64,
    /// Numbers that nodes touch, terms of sums included, and some for each run of a node.
    pub work: u64,
}

/// What a run of a node takes though it touches nothing.
pub(crate) const RUN: u64 = 16;

/// A run of a document.
pub struct Run<'d, N: Numbers> {
    document: &'d Document,
    numbers: &'d N,
    values: HashMap<u32, &'d Value>,
    lifetimes: HashMap<u32, Lifetime>,
    /// Elements that are there.
    tensors: HashMap<u32, Vec<Option<N::Number>>>,
    /// The most work.
    most: u64,
    counted: Counted,
    scores: Option<&'d mut Scores<N::Number>>,
}

fn count(shape: &[i64]) -> usize {
    shape.iter().fold(1, |size: usize, &extent| size.saturating_mul(usize::try_from(extent).unwrap_or(0)))
}

/// Runs a document that is well-formed, as far as [`super::valid`] says: what its tensors hold, by name, and what was counted. Notes what states of
/// `max` and `online_softmax` meet in each block.
///
/// # Errors
/// What goes wrong.
pub fn run<N: Numbers>(
    document: &Document,
    numbers: &N,
    inputs: &Held<N::Number>,
    most: u64,
    scores: Option<&mut Scores<N::Number>>,
) -> Result<(Held<N::Number>, Counted), String> {
    let mut lifetimes = HashMap::new();
    for residency in &document.residency {
        lifetimes.extend(residency.values.iter().map(|&name| (name, residency.lifetime)));
    }
    let mut tensors = HashMap::new();
    let given: HashSet<u32> = document.inputs.iter().copied().collect();
    let mut counted = Counted::default();
    for value in document.values.iter().filter(|value| value.memory == Memory::Global) {
        let (elements, name) = (count(&value.shape), &document.names[value.name as usize]);
        counted.work = counted.work.saturating_add(elements as u64);
        if counted.work > most {
            return Err(format!(
                "`{name}` and the tensors before it have {} elements, and up to {most} are judged (MCI-21)",
                counted.work
            ));
        }
        let given = inputs.get(name).filter(|_| given.contains(&value.name));
        let held = given.map_or_else(|| vec![None; elements], |all| all.iter().copied().map(Some).collect());
        tensors.insert(value.name, held);
    }
    let values = document.values.iter().map(|value| (value.name, value)).collect();
    let mut run = Run { document, numbers, values, lifetimes, tensors, most, counted, scores };
    for region in &document.regions {
        run.region(region).map_err(|what| format!("in the region `{}`: {what}", run.name(region.id)))?;
    }
    let Run { tensors, counted, .. } = run;
    let whole = |(name, held): (u32, Vec<Option<N::Number>>)| {
        Some((document.names[name as usize].clone(), held.into_iter().collect::<Option<Vec<_>>>()?))
    };
    Ok((tensors.into_iter().filter_map(whole).collect(), counted))
}

impl<'d, N: Numbers> Run<'d, N> {
    fn name(&self, name: u32) -> &'d str {
        &self.document.names[name as usize]
    }

    fn value(&self, name: u32) -> Result<&'d Value, String> {
        self.values.get(&name).copied().ok_or_else(|| format!("`{}` is no value", self.name(name)))
    }

    fn spend(&mut self, work: usize) -> Result<(), String> {
        self.counted.work = self.counted.work.saturating_add(work as u64).saturating_add(RUN);
        let most = self.most;
        if self.counted.work > most {
            return Err(format!("it takes more than {most} operations, and is not judged (MCI-21)"));
        }
        Ok(())
    }

    fn region(&mut self, region: &'d Region) -> Result<(), String> {
        let steps: HashMap<u32, i64> = region.tile.shape.iter().copied().collect();
        let step = |axis: u32| steps.get(&axis).copied().unwrap_or(1).max(1);
        let mut point: Vec<i64> = vec![0; region.tile.blocks.len()];
        let bounds = region.stream.iter().flat_map(|stream| stream.from.iter().chain(&stream.to));
        let terms = region.tile.blocks.len() + bounds.map(|index| index.terms.len()).sum::<usize>();
        loop {
            self.spend(terms)?;
            let axes = region.tile.blocks.iter().zip(&point).map(|(&(axis, _), &at)| (axis, at)).collect();
            self.block(region, axes, &step)?;
            // The next block: an odometer.
            let mut carried = true;
            for (&(axis, extent), at) in region.tile.blocks.iter().zip(&mut point).rev() {
                *at += step(axis);
                carried = *at >= extent;
                if !carried {
                    break;
                }
                *at = 0;
            }
            if carried {
                break;
            }
        }
        for &tensor in &region.outputs {
            let held = self.tensors.get(&tensor).map(Vec::as_slice).unwrap_or_default();
            if let Some(at) = held.iter().position(Option::is_none) {
                return Err(format!("nobody stores the element {at} of `{}` (IB02)", self.name(tensor)));
            }
        }
        Ok(())
    }

    fn block(
        &mut self,
        region: &'d Region,
        axes: HashMap<u32, i64>,
        step: &dyn Fn(u32) -> i64,
    ) -> Result<(), String> {
        let (tiles, slots) = (HashMap::new(), BTreeMap::new());
        let (body, met) = (Body::Begin, BTreeMap::new());
        let mut block = Block { axes, tiles, slots, body, stream: None, iteration: 0, count: 1, met };
        if let Some(stream) = &region.stream {
            let bounds = |indices: &[Index]| {
                indices.iter().map(|index| at(index, &block.axes)).collect::<Result<Vec<i64>, String>>()
            };
            let first = bounds(&stream.from)?.into_iter().max().unwrap_or(0);
            let end = bounds(&stream.to)?.into_iter().min().unwrap_or(0);
            let step = step(stream.axis);
            let length = end.checked_sub(first).ok_or("the stream is too long")?;
            block.count = if length > 0 { (length - 1) / step + 1 } else { 0 };
            block.stream = Some((stream.axis, first, step));
        }
        for state in &region.state {
            let init = match state.init {
                Init::Number(number) => self.numbers.fraction([number, 1]),
                Init::Least => self.numbers.least(),
                Init::Most => return Err("a state that begins with infinity is not judged".to_owned()),
            };
            let init = self.numbers.cast(self.value(state.value)?.dtype, init);
            block.tiles.insert(state.value, Tile { shape: None, numbers: vec![init] });
        }
        self.spend(0)?;
        let [begin, each, end] = &region.tile.bodies;
        self.body(&mut block, begin)?;
        block.body = Body::Each;
        for iteration in 0..block.count {
            block.iteration = iteration;
            if let Some((axis, first, step)) = block.stream {
                block.axes.insert(axis, first + iteration * step);
            }
            self.spend(0)?;
            self.body(&mut block, each)?;
            self.forget(&mut block, &[Lifetime::Iteration])?;
        }
        self.forget(&mut block, &[Lifetime::Stream, Lifetime::Iteration])?;
        if let Some((axis, ..)) = block.stream {
            block.axes.remove(&axis);
        }
        block.body = Body::End;
        self.body(&mut block, end)?;
        if let Some(scores) = &mut self.scores {
            scores.extend(std::mem::take(&mut block.met).into_values().flatten().map(|row| (row.len(), row)));
        }
        let pending =
            block.slots.iter().find(|(_, slots)| slots.iter().flatten().any(|version| !version.has_landed));
        pending.map_or(Ok(()), |(&tile, _)| {
            Err(format!("`{}` is on its way when its block ends (IO04)", self.name(tile)))
        })
    }

    /// The memory of tiles goes to others.
    fn forget(&mut self, block: &mut Block<N::Number>, over: &[Lifetime]) -> Result<(), String> {
        self.spend(block.tiles.len())?;
        let is_over = |name: &u32| self.lifetimes.get(name).is_some_and(|lifetime| over.contains(lifetime));
        block.tiles.retain(|name, _| !is_over(name));
        Ok(())
    }

    fn body(&mut self, block: &mut Block<N::Number>, nodes: &'d [Node]) -> Result<(), String> {
        for node in nodes {
            self.node(block, node).map_err(|what| format!("at `{}`: {what}", self.name(node.id)))?;
        }
        self.forget(block, &[Lifetime::Node])
    }

    fn node(&mut self, block: &mut Block<N::Number>, node: &'d Node) -> Result<(), String> {
        match (&node.op, &node.ins[..], &node.outs[..]) {
            (Op::LoadTile(at), &[tensor], &[tile]) => {
                let axes = block.axes.clone();
                let loaded = self.load(tensor, tile, at, &axes)?;
                block.tiles.insert(tile, loaded);
            }
            (Op::Prefetch(at, ahead), &[tensor], &[tile]) => {
                self.prefetch(block, tensor, tile, (at, *ahead))?
            }
            (Op::StoreTile(at), &[tile], &[tensor]) => self.store(block, tile, tensor, at)?,
            (Op::Barrier(waits), ..) => {
                for &(tile, ahead) in waits {
                    self.spend(0)?;
                    let version = block.iteration + ahead;
                    if version >= block.count {
                        continue;
                    }
                    let name = self.name(tile);
                    let slot = slot(block, tile, version).filter(|slot| slot.number == version);
                    let slot = slot.ok_or_else(|| {
                        format!("nobody has begun to load the version {version} of `{name}` (IO05)")
                    })?;
                    slot.has_landed = true;
                }
            }
            (Op::UpdateState(update), ins, outs) => {
                let read = self.read(block, ins)?;
                let met = self.scores.is_some().then(|| met(*update, &read)).flatten();
                let made = updated(*update, self.numbers, &read)?;
                if let Some(met) = met {
                    let rows = block.met.entry(node.id).or_default();
                    rows.resize(rows.len().max(met.len()), Vec::new());
                    rows.iter_mut().zip(met).for_each(|(row, more)| row.extend(more));
                }
                self.write(block, outs, made)?;
            }
            (op, ins, outs) => {
                if let Op::Compute(Function::Mask(mask)) = op {
                    self.spend(mask.rows.terms.len() + mask.columns.terms.len())?;
                }
                let index = |index: &Index| at(index, &block.axes);
                let (made, work) = computed(op, self.numbers, &self.read(block, ins)?, &index, self.most)?;
                self.spend(work)?;
                self.write(block, outs, vec![made])?;
            }
        }
        Ok(())
    }

    /// The tiles that a node reads.
    fn read<'b>(
        &self,
        block: &'b Block<N::Number>,
        names: &[u32],
    ) -> Result<Vec<&'b Tile<N::Number>>, String> {
        let one = |&name: &u32| {
            let text = self.name(name);
            if let Some(slots) = block.slots.get(&name) {
                if block.body != Body::Each {
                    return Err(format!("the prefetched tile `{text}` is read outside of iterations (IS07)"));
                }
                let place = usize::try_from(block.iteration).unwrap_or(0) % slots.len().max(1);
                let slot = slots.get(place).and_then(Option::as_ref);
                return match slot {
                    Some(slot) if slot.number == block.iteration && slot.has_landed => Ok(&slot.tile),
                    Some(slot) if slot.number == block.iteration => {
                        Err(format!("`{text}` is read before a barrier has waited for it (IO01)"))
                    }
                    Some(slot) => Err(format!(
                        "the slot of the version {} of `{text}` has been given to the version {} (IO02)",
                        block.iteration, slot.number
                    )),
                    None => {
                        Err(format!("nobody has loaded the version {} of `{text}` (IO03)", block.iteration))
                    }
                };
            }
            let tile = block.tiles.get(&name);
            tile.ok_or_else(|| format!("`{text}` is not there, or not any more (IS07, IL02)"))
        };
        names.iter().map(one).collect()
    }

    /// What a node has produced, rounded to the dtypes of its tiles.
    fn write(
        &mut self,
        block: &mut Block<N::Number>,
        outs: &[u32],
        made: Vec<Tile<N::Number>>,
    ) -> Result<(), String> {
        let work = made.iter().map(|tile| tile.numbers.len()).sum();
        self.spend(work)?;
        for (&out, mut tile) in outs.iter().zip(made) {
            let value = self.value(out)?;
            if let Some(shape) = &tile.shape {
                let fits = shape.len() == value.shape.len()
                    && shape
                        .iter()
                        .zip(&value.shape)
                        .all(|(&extent, &most)| extent as u64 <= most.unsigned_abs());
                if !fits {
                    return Err(format!(
                        "`{}` has the shape {:?}, and what is produced {shape:?} (IS09)",
                        self.name(out),
                        value.shape
                    ));
                }
            }
            tile.numbers.iter_mut().for_each(|number| *number = self.numbers.cast(value.dtype, *number));
            block.tiles.insert(out, tile);
        }
        Ok(())
    }

    /// Where a tile lies in a tensor: its extents there, and the places of its elements.
    fn part(
        &mut self,
        tensor: u32,
        tile: u32,
        at_: &[Index],
        axes: &HashMap<u32, i64>,
    ) -> Result<(Vec<usize>, Vec<usize>), String> {
        let (of, on) = (self.value(tensor)?, self.value(tile)?);
        if of.dtype != on.dtype {
            return Err(format!(
                "`{}` and `{}` have different dtypes (IS10)",
                self.name(tensor),
                self.name(tile)
            ));
        }
        self.spend(axes.len() + at_.iter().map(|index| index.terms.len()).sum::<usize>())?;
        let lacking = of.shape.len() - on.shape.len();
        let (mut shape, mut places) = (Vec::new(), vec![0_usize]);
        for (axis, (&extent, index)) in of.shape.iter().zip(at_).enumerate() {
            let first = at(index, axes)?;
            if first < 0 || first >= extent {
                return Err(format!(
                    "the index {first} of `{}` is not from 0 to {} (IB01)",
                    self.name(tensor),
                    extent - 1
                ));
            }
            let most = axis.checked_sub(lacking).map_or(1, |own| on.shape[own]).min(extent - first);
            let (first, most) = (usize::try_from(first).unwrap_or(0), usize::try_from(most).unwrap_or(0));
            if axis >= lacking {
                shape.push(most);
            }
            self.spend(places.len().saturating_mul(most))?;
            let along = |place: usize| {
                (first..first + most).map(move |at| place * usize::try_from(extent).unwrap_or(0) + at)
            };
            places = places.into_iter().flat_map(along).collect();
        }
        Ok((shape, places))
    }

    fn load(
        &mut self,
        tensor: u32,
        tile: u32,
        at: &[Index],
        axes: &HashMap<u32, i64>,
    ) -> Result<Tile<N::Number>, String> {
        let (shape, places) = self.part(tensor, tile, at, axes)?;
        let bytes = self.value(tensor)?.dtype.bytes().unsigned_abs();
        self.counted.loaded += places.len() as u64 * bytes;
        let held = self.tensors.get(&tensor).map(Vec::as_slice).unwrap_or_default();
        let numbers: Option<Vec<N::Number>> =
            places.iter().map(|&place| held.get(place).copied().flatten()).collect();
        let numbers = numbers.ok_or_else(|| {
            format!("nobody has stored all of what is loaded of `{}` (IS07)", self.name(tensor))
        })?;
        Ok(Tile { shape: Some(shape), numbers })
    }

    fn store(
        &mut self,
        block: &Block<N::Number>,
        tile: u32,
        tensor: u32,
        at: &[Index],
    ) -> Result<(), String> {
        let (shape, places) = self.part(tensor, tile, at, &block.axes)?;
        let bytes = self.value(tensor)?.dtype.bytes().unsigned_abs();
        self.counted.stored += places.len() as u64 * bytes;
        let read = self.read(block, &[tile])?;
        let Some(stored) = read.first() else { return Ok(()) };
        if stored.shape.as_ref().is_some_and(|found| *found != shape) {
            return Err(format!(
                "`{}` has the shape {:?}, and its place {shape:?} (IS09)",
                self.name(tile),
                stored.shape
            ));
        }
        let text = self.name(tensor);
        let Some(held) = self.tensors.get_mut(&tensor) else { return Ok(()) };
        for (number, place) in places.into_iter().enumerate() {
            let number = stored.numbers[if stored.shape.is_some() { number } else { 0 }];
            if held[place].replace(number).is_some() {
                return Err(format!("the element {place} of `{text}` is stored a second time (IB02)"));
            }
        }
        Ok(())
    }

    fn prefetch(
        &mut self,
        block: &mut Block<N::Number>,
        tensor: u32,
        tile: u32,
        (at, ahead): (&[Index], i64),
    ) -> Result<(), String> {
        let buffers = usize::try_from(self.value(tile)?.buffers).unwrap_or(1).max(1);
        let version = block.iteration + ahead;
        block.slots.entry(tile).or_insert_with(|| (0..buffers).map(|_| None).collect());
        let Some((axis, first, step)) = block.stream else {
            return Err("there is no stream to load ahead of (IS04)".to_owned());
        };
        if version >= block.count {
            return self.spend(0);
        }
        let mut axes = block.axes.clone();
        axes.insert(axis, first + version * step);
        let loaded = self.load(tensor, tile, at, &axes)?;
        let text = self.name(tile);
        let slots = block.slots.get_mut(&tile).map(Vec::as_mut_slice).unwrap_or_default();
        if slots.iter().flatten().any(|slot| slot.number == version) {
            return Err(format!("the version {version} of `{text}` is loaded twice (IO03)"));
        }
        if let Some(slot) = slots.get_mut(usize::try_from(version).unwrap_or(0) % buffers) {
            if slot.as_ref().is_some_and(|slot| !slot.has_landed) {
                return Err(format!(
                    "the slot of the version {version} of `{text}` has another one on its way (IO02)"
                ));
            }
            *slot = Some(Version { number: version, has_landed: false, tile: loaded });
        }
        Ok(())
    }
}

/// What an index is, with axes that have values.
pub(crate) fn at(index: &Index, axes: &HashMap<u32, i64>) -> Result<i64, String> {
    let value =
        |axis: &u32| axes.get(axis).copied().ok_or("an index uses an axis that is not known here (IS02)");
    let mut sum = 0_i64;
    for term in &index.terms {
        let more = match term {
            Term::Number(number) => *number,
            Term::Axis(axis) => value(axis)?,
            Term::Scaled(factor, axis) => factor.checked_mul(value(axis)?).ok_or("an index is too large")?,
        };
        sum = sum.checked_add(more).ok_or("an index is too large")?;
    }
    Ok(sum)
}
