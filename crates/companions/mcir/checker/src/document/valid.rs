//! What is wrong with a document before it runs, in the runner's own words: names, operands, producers, residency and what is on chip at once.
//! What a run shows is left to [`super::run`].

use std::collections::{BTreeMap, HashSet};

use super::uses::{Summed, Values, by_name, held, lifetimes, nodes, summed, uses};
use megakernel_mcir::{
    Body, Document, Function, Index, Init, Lifetime, Memory, Node, Op, Region, State, Term, Update,
};

pub(crate) const MOST: i64 = 2_147_483_647;

/// Whether the numbers of an index are those that IS01 allows.
pub(crate) fn in_range(index: &Index) -> bool {
    index.terms.iter().all(|term| match term {
        Term::Number(number) | Term::Scaled(number, _) => (-MOST..=MOST).contains(number),
        Term::Axis(_) => true,
    })
}

/// The loads ahead of one tile.
#[derive(Default)]
struct Loads {
    /// The tensor and the indices of the first one.
    from: Option<(Option<u32>, Vec<Summed>)>,
    /// Versions that are loaded before the first iteration.
    begin: Vec<i64>,
    /// Versions that are loaded in each.
    each: Vec<i64>,
}

struct Judge<'d> {
    document: &'d Document,
    values: Values<'d>,
}

/// Whether a document is well-formed, as far as it shows before it runs.
///
/// # Errors
/// What is wrong, with the rule.
pub fn well_formed(document: &Document) -> Result<(), String> {
    let judge = Judge { document, values: by_name(document) };
    judge.numbers()?;
    judge.names()?;
    for region in &document.regions {
        let of = |what| format!("in the region `{}`: {what}", judge.name(region.id));
        judge.region(region).map_err(of)?;
    }
    let mut states = HashSet::new();
    for state in document.regions.iter().flat_map(|region| &region.state) {
        if !states.insert(state.value) {
            return Err(format!("`{}` is a state twice (IS08)", judge.name(state.value)));
        }
    }
    judge.producers()?;
    judge.storage()?;
    judge.residency()
}

impl<'d> Judge<'d> {
    fn name(&self, name: u32) -> &'d str {
        &self.document.names[name as usize]
    }

    fn is_tile(&self, name: u32) -> Option<bool> {
        self.values.get(&name).map(|value| value.memory != Memory::Global)
    }

    /// IS01 and IS03, of what is not in a region.
    fn numbers(&self) -> Result<(), String> {
        for value in &self.document.values {
            let elements = value.shape.iter().try_fold(1_i64, |size, &extent| size.checked_mul(extent));
            let most = if value.memory == Memory::Global { 1 << 60 } else { 1 << 20 };
            let fits = value.shape.len() <= 64
                && value.shape.iter().all(|extent| (1..=MOST).contains(extent))
                && elements.is_some_and(|elements| elements <= most)
                && (1..=64).contains(&value.buffers);
            if !fits {
                return Err(format!("`{}` has a number that is out of range (IS01)", self.name(value.name)));
            }
        }
        let boundaries: Vec<u32> = self.document.boundaries.iter().map(|boundary| boundary.value).collect();
        let ids: Vec<u32> = self.document.regions.iter().map(|region| region.id).collect();
        [&self.document.inputs, &self.document.outputs, &boundaries, &ids]
            .into_iter()
            .try_for_each(|names| self.once(names))
    }

    fn once(&self, names: &[u32]) -> Result<(), String> {
        let mut seen = HashSet::new();
        let twice = names.iter().find(|name| !seen.insert(**name));
        twice.map_or(Ok(()), |&name| Err(format!("`{}` occurs twice (IS03)", self.name(name))))
    }

    /// IS02, and IS05 of what is not in a region.
    fn names(&self) -> Result<(), String> {
        let document = self.document;
        let tensors = document.inputs.iter().chain(&document.outputs);
        let tensors = tensors.chain(document.boundaries.iter().map(|boundary| &boundary.value));
        for &name in tensors {
            if self.is_tile(name) != Some(false) {
                return Err(format!("`{}` is no tensor (IS02, IS05)", self.name(name)));
            }
        }
        let kept = document.residency.iter().flat_map(|residency| &residency.values);
        let nodes = document.regions.iter().flat_map(nodes);
        let used = nodes.flat_map(|(_, node)| {
            node.ins
                .iter()
                .chain(&node.outs)
                .copied()
                .chain(node.op.waits().iter().map(|&(name, _)| name))
                .collect::<Vec<_>>()
        });
        let states = document.regions.iter().flat_map(|region| region.state.iter().map(|state| state.value));
        for name in kept.copied().chain(used).chain(states) {
            if !self.values.contains_key(&name) {
                return Err(format!("`{}` is no value (IS02)", self.name(name)));
            }
        }
        let inputs: HashSet<u32> = document.inputs.iter().copied().collect();
        let is_input = document.outputs.iter().find(|name| inputs.contains(name));
        is_input.map_or(Ok(()), |&name| Err(format!("the output `{}` is an input (IS05)", self.name(name))))
    }

    fn region(&self, region: &Region) -> Result<(), String> {
        let blocks: HashSet<u32> = region.tile.blocks.iter().map(|&(axis, _)| axis).collect();
        let stream = region.stream.as_ref().map(|stream| stream.axis);
        let axes: HashSet<u32> = blocks.iter().copied().chain(stream).collect();
        let steps: HashSet<u32> = region.tile.shape.iter().map(|&(axis, _)| axis).collect();
        if steps != axes || stream.is_some_and(|axis| blocks.contains(&axis)) {
            return Err("the axes are not those that have steps (IS02, IS03)".to_owned());
        }
        let numbers = region.tile.shape.iter().chain(&region.tile.blocks).map(|&(_, number)| number);
        let bounds = region.stream.iter().flat_map(|stream| [&stream.from, &stream.to]);
        let far =
            |state: &State| matches!(state.init, Init::Number(number) if !(-MOST..=MOST).contains(&number));
        if numbers.into_iter().any(|number| !(1..=MOST).contains(&number))
            || bounds.into_iter().any(|indices| indices.len() > 64 || !indices.iter().all(in_range))
            || region.state.iter().any(far)
            || region.stream.as_ref().is_some_and(|stream| stream.to.is_empty())
        {
            return Err("a number is out of range (IS01)".to_owned());
        }
        self.once(&nodes(region).map(|(_, node)| node.id).collect::<Vec<u32>>())?;
        self.once(&region.state.iter().map(|state| state.value).collect::<Vec<u32>>())?;
        let ahead = nodes(region).filter(|(_, node)| matches!(node.op, Op::Prefetch(..)));
        let ahead: HashSet<u32> = ahead.flat_map(|(_, node)| &node.outs).copied().collect();
        for (_, node) in nodes(region) {
            if let Some((tile, _)) = node.op.waits().iter().find(|(tile, _)| !ahead.contains(tile)) {
                let (node, tile) = (self.name(node.id), self.name(*tile));
                return Err(format!("at `{node}`: nothing loads `{tile}` ahead (IS04)"));
            }
        }
        for (body, node) in nodes(region) {
            self.node(region, body, node).map_err(|what| format!("at `{}`: {what}", self.name(node.id)))?;
        }
        let moved = |stores: bool| -> HashSet<u32> {
            let moving = nodes(region).filter(|(_, node)| node.op.at().is_some());
            let moving = moving.filter(|(_, node)| matches!(node.op, Op::StoreTile(_)) == stores);
            moving.flat_map(|(_, node)| if stores { node.outs.clone() } else { node.ins.clone() }).collect()
        };
        let of = |names: &[u32]| names.iter().copied().collect::<HashSet<u32>>();
        self.once(&region.inputs)?;
        self.once(&region.outputs)?;
        let (loaded, stored) = (moved(false), moved(true));
        if of(&region.inputs) != loaded || of(&region.outputs) != stored {
            return Err("`inputs` and `outputs` are not what it loads and stores (IS05)".to_owned());
        }
        if !loaded.is_disjoint(&stored) {
            return Err("it loads what it stores (IB03)".to_owned());
        }
        self.states(region)
    }

    /// IS08.
    fn states(&self, region: &Region) -> Result<(), String> {
        let declared: HashSet<u32> = region.state.iter().map(|state| state.value).collect();
        let mut updated = HashSet::new();
        for (body, node) in nodes(region) {
            let places: &[(usize, usize)] =
                if let Op::UpdateState(update) = node.op { update.states() } else { &[] };
            for (place, name) in node.ins.iter().enumerate() {
                let is_own = places.iter().any(|&(old, _)| old == place);
                if declared.contains(name) && !is_own && body != Body::End && !updated.contains(name) {
                    return Err(format!(
                        "the state `{}` is read before it is updated (IS08)",
                        self.name(*name)
                    ));
                }
            }
            for (place, name) in node.outs.iter().enumerate() {
                let own = places.iter().find(|&&(_, new)| new == place);
                let fits = match own {
                    Some(&(old, _)) => {
                        declared.contains(name) && node.ins.get(old) == Some(name) && updated.insert(*name)
                    }
                    None => !declared.contains(name),
                };
                if !fits {
                    return Err(format!("`{}` is not updated as a state (IS08)", self.name(*name)));
                }
            }
        }
        if updated.len() == declared.len() {
            Ok(())
        } else {
            Err("a state is never updated (IS08)".to_owned())
        }
    }

    /// IS01 and IS04.
    fn node(&self, region: &Region, body: Body, node: &Node) -> Result<(), String> {
        let tensors = |names: &[u32]| {
            names.iter().map(|&name| self.is_tile(name) == Some(false)).collect::<Vec<bool>>()
        };
        let found = (tensors(&node.ins), tensors(&node.outs));
        let of = |ins: usize, outs: usize| (vec![false; ins], vec![false; outs]);
        let needed = match &node.op {
            Op::LoadTile(_) | Op::Prefetch(..) => (vec![true], vec![false]),
            Op::StoreTile(_) => (vec![false], vec![true]),
            Op::Barrier(_) => of(0, 0),
            Op::Compute(Function::Matmul(_) | Function::Binary(..)) => of(2, 1),
            Op::Compute(_) | Op::Reduce(..) => of(1, 1),
            Op::UpdateState(Update::OnlineSoftmax) => of(3, 4),
            Op::UpdateState(Update::ScaleAdd) => of(3, 1),
            Op::UpdateState(_) => of(2, 1),
        };
        let stands = match node.op {
            Op::Prefetch(..) => body != Body::End && region.stream.is_some(),
            Op::Barrier(_) => body != Body::End,
            Op::UpdateState(_) => body == Body::Each,
            _ => true,
        };
        if found != needed || !stands {
            return Err("it has other operands than its `op`, or stands elsewhere (IS04)".to_owned());
        }
        if let (Some(at), Some(&first), Some(&second)) = (node.op.at(), node.ins.first(), node.outs.first()) {
            let (tensor, tile) =
                if matches!(node.op, Op::StoreTile(_)) { (second, first) } else { (first, second) };
            let rank = |name: u32| self.values.get(&name).map_or(0, |value| value.shape.len());
            if at.len() != rank(tensor) || rank(tile) > rank(tensor) {
                return Err("it has an index too few or too many (IS04)".to_owned());
            }
            if !at.iter().all(in_range) {
                return Err("a number is out of range (IS01)".to_owned());
            }
        }
        let fits = match &node.op {
            Op::Prefetch(_, version) => (0..64).contains(version),
            Op::Barrier(waits) => waits.iter().all(|(_, version)| (0..64).contains(version)),
            Op::Compute(Function::Scale(p, q)) => (-MOST..=MOST).contains(p) && (1..=MOST).contains(q),
            Op::Compute(Function::Mask(mask)) => {
                in_range(&mask.rows)
                    && in_range(&mask.columns)
                    && mask.window.is_none_or(|window| (1..=MOST).contains(&window))
            }
            _ => true,
        };
        if fits { Ok(()) } else { Err("a number is out of range (IS01)".to_owned()) }
    }

    /// IS06, and IO03.
    fn producers(&self) -> Result<(), String> {
        let mut known = HashSet::new();
        let inputs: HashSet<u32> = self.document.inputs.iter().copied().collect();
        for region in &self.document.regions {
            // By value: what its `Prefetch` nodes load, and which versions of it.
            let mut prefetched: BTreeMap<u32, Loads> = BTreeMap::new();
            for (body, node) in nodes(region) {
                let places: &[(usize, usize)] =
                    if let Op::UpdateState(update) = node.op { update.states() } else { &[] };
                for (place, &name) in node.outs.iter().enumerate() {
                    if places.iter().any(|&(_, new)| new == place) {
                        continue;
                    }
                    if let Op::Prefetch(at, version) = &node.op {
                        let from = (node.ins.first().copied(), at.iter().map(summed).collect());
                        let loads = prefetched.entry(name).or_default();
                        (if body == Body::Each { &mut loads.each } else { &mut loads.begin }).push(*version);
                        // The first one is the producer, and others load the same.
                        let is_fine = match &loads.from {
                            Some(first) => *first == from,
                            None => {
                                loads.from = Some(from);
                                known.insert(name)
                            }
                        };
                        if is_fine {
                            continue;
                        }
                    } else if known.insert(name) && !inputs.contains(&name) {
                        continue;
                    }
                    return Err(format!("`{}` has two producers (IS06)", self.name(name)));
                }
            }
            for (name, Loads { mut begin, each, .. }) in prefetched {
                begin.sort_unstable();
                if each.len() != 1 || !begin.iter().copied().eq(0..each[0]) {
                    return Err(format!(
                        "versions of `{}` are loaded never, or twice (IO03)",
                        self.name(name)
                    ));
                }
            }
        }
        Ok(())
    }

    /// IM01 and IM02.
    fn storage(&self) -> Result<(), String> {
        let document = self.document;
        let allowed: HashSet<u32> = document
            .inputs
            .iter()
            .copied()
            .chain(document.boundaries.iter().map(|boundary| boundary.value))
            .collect();
        let tensors = document.values.iter().filter(|value| value.memory == Memory::Global);
        if let Some(value) = tensors.into_iter().find(|value| !allowed.contains(&value.name)) {
            return Err(format!("`{}` is stored without a boundary (IM01)", self.name(value.name)));
        }
        let stored: HashSet<u32> =
            document.regions.iter().flat_map(|region| &region.outputs).copied().collect();
        let empty = document.boundaries.iter().find(|boundary| !stored.contains(&boundary.value));
        empty.map_or(Ok(()), |boundary| {
            Err(format!("no region stores `{}` (IM02)", self.name(boundary.value)))
        })
    }

    /// IL01, IL02, IT01 and IT02.
    fn residency(&self) -> Result<(), String> {
        let document = self.document;
        let mut kept = HashSet::new();
        for residency in &document.residency {
            for name in &residency.values {
                let memory = self.values.get(name).map(|value| value.memory);
                if memory != Some(residency.memory) || memory == Some(Memory::Global) || !kept.insert(*name) {
                    return Err(format!(
                        "`{}` stands in the wrong residency region, or in two (IL01)",
                        self.name(*name)
                    ));
                }
            }
        }
        let tiles = document.values.iter().filter(|value| value.memory != Memory::Global);
        if let Some(value) = tiles.into_iter().find(|value| !kept.contains(&value.name)) {
            return Err(format!("`{}` stands in no residency region (IL01)", self.name(value.name)));
        }
        let lifetimes = lifetimes(document);
        for region in &document.regions {
            for (name, used) in uses(&self.values, region) {
                let lifetime = lifetimes.get(&name).copied().unwrap_or(Lifetime::Block);
                if !used.fits(lifetime) {
                    return Err(format!("`{}` is used where its lifetime is over (IL02)", self.name(name)));
                }
            }
        }
        let [shared, register] = held(document);
        for (held, most, rule) in
            [(shared, document.target.shared, "IT01"), (register, document.target.register, "IT02")]
        {
            if most.is_some_and(|most| held > most) {
                return Err(format!(
                    "a block holds {held} bytes at once, and there are {} ({rule})",
                    most.unwrap_or(0)
                ));
            }
        }
        Ok(())
    }
}
