//! What is wrong with a document before it runs, in the runner's own words: names, operands, producers, residency and what is on chip at once.
//! What a run shows is left to [`super::run`].

use std::collections::{BTreeMap, HashMap, HashSet};

use megakernel_mcir::{
    Body, Document, Function, Index, Init, Lifetime, Memory, Node, Op, Region, State, Term, Update, Value,
};

const MOST: i64 = 2_147_483_647;

/// How a tile is used in its region.
#[derive(Clone, Debug, Default)]
pub struct Use {
    /// Where its nodes stand; those of a `Prefetch` are noted apart.
    bodies: HashSet<Body>,
    pub is_prefetched: bool,
    /// Among all nodes of the region.
    first: usize,
    last: usize,
    first_in_begin: Option<usize>,
    pub is_state: bool,
}

impl Use {
    /// Whether all uses are where a lifetime allows them (clause MCI-11).
    fn fits(&self, lifetime: Lifetime) -> bool {
        let only = |bodies: &[Body]| self.bodies.iter().all(|body| bodies.contains(body));
        match lifetime {
            Lifetime::Block => true,
            _ if self.is_state => false,
            Lifetime::Stream => only(&[Body::Begin, Body::Each]),
            Lifetime::Iteration => only(&[Body::Each]),
            Lifetime::Node => self.bodies.len() <= 1 && !self.is_prefetched,
        }
    }

    /// The shortest lifetime that it may have.
    pub fn shortest(&self) -> Lifetime {
        let all = [Lifetime::Node, Lifetime::Iteration, Lifetime::Stream];
        all.into_iter().find(|&lifetime| self.fits(lifetime)).unwrap_or(Lifetime::Block)
    }
}

/// The nodes of a region with the bodies in which they stand.
pub fn nodes(region: &Region) -> impl Iterator<Item = (Body, &Node)> {
    let bodies = Body::ALL.iter().zip(&region.tile.bodies);
    bodies.flat_map(|(&body, nodes)| nodes.iter().map(move |node| (body, node)))
}

/// The values of a document by name.
type Values<'d> = HashMap<u32, &'d Value>;

fn by_name(document: &Document) -> Values<'_> {
    document.values.iter().map(|value| (value.name, value)).collect()
}

/// How the tiles of a region are used, by name.
fn uses(values: &Values<'_>, region: &Region) -> BTreeMap<u32, Use> {
    let mut all: BTreeMap<u32, Use> = BTreeMap::new();
    for state in &region.state {
        all.insert(state.value, Use { is_state: true, ..Use::default() });
    }
    for (place, (body, node)) in nodes(region).enumerate() {
        let is_prefetch = matches!(node.op, Op::Prefetch(..));
        for (name, is_made) in
            node.ins.iter().map(|name| (name, false)).chain(node.outs.iter().map(|name| (name, true)))
        {
            if values.get(name).is_some_and(|value| value.memory == Memory::Global) {
                continue;
            }
            let used = all.entry(*name).or_insert_with(|| Use { first: place, ..Use::default() });
            used.last = place;
            if is_prefetch {
                used.is_prefetched = true;
            } else {
                used.bodies.insert(body);
            }
            if is_made && body == Body::Begin {
                used.first_in_begin.get_or_insert(place);
            }
        }
    }
    all
}

/// The peaks of a region in shared memory and in registers (clause MCI-11), with lifetimes and slots that are asked for by name.
fn peaks(values: &Values<'_>, region: &Region, of: &dyn Fn(&Value, &Use) -> (Lifetime, i64)) -> [i64; 2] {
    let [begin, each, end] = region.tile.bodies.each_ref().map(Vec::len);
    let mut changes = [(); 2].map(|()| vec![0_i64; begin + each + end + 1]);
    for (name, used) in uses(values, region) {
        let Some(value) = values.get(&name) else { continue };
        let (lifetime, buffers) = of(value, &used);
        let (first, after) = match lifetime {
            Lifetime::Block => (0, begin + each + end),
            Lifetime::Node => (used.first, used.last + 1),
            Lifetime::Stream | Lifetime::Iteration => (used.first_in_begin.unwrap_or(begin), begin + each),
        };
        let elements = value.shape.iter().fold(1_i64, |size, &extent| size.saturating_mul(extent));
        let bytes = elements.saturating_mul(value.dtype.bytes()).saturating_mul(buffers);
        let memory = usize::from(value.memory == Memory::Register);
        changes[memory][first] += bytes;
        changes[memory][after] -= bytes;
    }
    changes.map(|changes| {
        let mut held = 0;
        changes
            .iter()
            .take(begin + each + end)
            .map(|change| {
                held += change;
                held
            })
            .max()
            .unwrap_or(0)
            .max(0)
    })
}

/// The lifetimes that a document gives its tiles.
pub fn lifetimes(document: &Document) -> HashMap<u32, Lifetime> {
    let of = |residency: &'_ megakernel_mcir::Residency| {
        let lifetime = residency.lifetime;
        residency.values.iter().map(move |&name| (name, lifetime)).collect::<Vec<_>>()
    };
    document.residency.iter().flat_map(of).collect()
}

/// The peaks of a document as it stands: the largest of all regions.
pub fn held(document: &Document) -> [i64; 2] {
    let lifetimes = lifetimes(document);
    let of = |value: &Value, _: &Use| {
        (lifetimes.get(&value.name).copied().unwrap_or(Lifetime::Block), value.buffers)
    };
    largest(document, &of)
}

/// The largest peaks of all regions.
pub fn largest(document: &Document, of: &dyn Fn(&Value, &Use) -> (Lifetime, i64)) -> [i64; 2] {
    let values = by_name(document);
    let all = document.regions.iter().map(|region| peaks(&values, region, of));
    all.fold([0, 0], |most, peak| [most[0].max(peak[0]), most[1].max(peak[1])])
}

/// What an index adds up to: each axis with its factor, and the number.
type Summed = (BTreeMap<u32, i64>, i64);

fn summed(index: &Index) -> Summed {
    let (mut factors, mut sum): Summed = Default::default();
    for term in &index.terms {
        let (number, axis) = match *term {
            Term::Number(number) => (number, None),
            Term::Axis(axis) => (1, Some(axis)),
            Term::Scaled(factor, axis) => (factor, Some(axis)),
        };
        let of = axis.map_or(&mut sum, |axis| factors.entry(axis).or_default());
        *of = of.saturating_add(number);
    }
    factors.retain(|_, factor| *factor != 0);
    (factors, sum)
}

/// Whether the numbers of an index are those that IS01 allows.
fn in_range(index: &Index) -> bool {
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
            Op::Compute(Function::Mask(rows, columns, window)) => {
                in_range(rows)
                    && in_range(columns)
                    && window.is_none_or(|window| (1..=MOST).contains(&window))
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
                        let is_same = *loads.from.get_or_insert_with(|| from.clone()) == from;
                        let is_again = loads.begin.len() + loads.each.len() > 1;
                        if if is_again { is_same } else { known.insert(name) } {
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
