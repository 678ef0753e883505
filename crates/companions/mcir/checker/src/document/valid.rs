//! What is wrong with a document before it runs, in the runner's own words: names, operands, producers, residency and what is on chip at once.
//! What a run shows is left to [`super::run`].

use std::collections::{BTreeMap, HashMap, HashSet};

use megakernel_mcir::{Body, Document, Function, Lifetime, Memory, Node, Op, Region, Term, Update, Value};

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

/// How the tiles of a region are used, by name.
pub fn uses(document: &Document, region: &Region) -> BTreeMap<u32, Use> {
    let tensors: HashSet<u32> = document
        .values
        .iter()
        .filter(|value| value.memory == Memory::Global)
        .map(|value| value.name)
        .collect();
    let mut all: BTreeMap<u32, Use> = BTreeMap::new();
    for state in &region.state {
        all.insert(state.value, Use { is_state: true, ..Use::default() });
    }
    for (place, (body, node)) in nodes(region).enumerate() {
        let is_prefetch = matches!(node.op, Op::Prefetch(..));
        for (name, is_made) in
            node.ins.iter().map(|name| (name, false)).chain(node.outs.iter().map(|name| (name, true)))
        {
            if tensors.contains(name) {
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
pub fn peaks(document: &Document, region: &Region, of: &dyn Fn(&Value, &Use) -> (Lifetime, i64)) -> [i64; 2] {
    let values: HashMap<u32, &Value> = document.values.iter().map(|value| (value.name, value)).collect();
    let [begin, each, end] = region.tile.bodies.each_ref().map(Vec::len);
    let mut changes = [(); 2].map(|()| vec![0_i64; begin + each + end + 1]);
    for (name, used) in uses(document, region) {
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
    let all = document.regions.iter().map(|region| peaks(document, region, of));
    all.fold([0, 0], |most, peak| [most[0].max(peak[0]), most[1].max(peak[1])])
}

struct Judge<'d> {
    document: &'d Document,
    values: HashMap<u32, &'d Value>,
}

/// Whether a document is well-formed, as far as it shows before it runs.
///
/// # Errors
/// What is wrong, with the rule.
pub fn well_formed(document: &Document) -> Result<(), String> {
    let judge = Judge { document, values: document.values.iter().map(|value| (value.name, value)).collect() };
    judge.numbers()?;
    judge.names()?;
    for region in &document.regions {
        let of = |what| format!("in the region `{}`: {what}", judge.name(region.id));
        judge.region(region).map_err(of)?;
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
        if numbers.into_iter().any(|number| !(1..=MOST).contains(&number))
            || bounds.into_iter().any(|indices| indices.len() > 64)
            || region.stream.as_ref().is_some_and(|stream| stream.to.is_empty())
        {
            return Err("a number is out of range (IS01)".to_owned());
        }
        self.once(&nodes(region).map(|(_, node)| node.id).collect::<Vec<u32>>())?;
        self.once(&region.state.iter().map(|state| state.value).collect::<Vec<u32>>())?;
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
        if of(&region.inputs) != moved(false) || of(&region.outputs) != moved(true) {
            return Err("`inputs` and `outputs` are not what it loads and stores (IS05)".to_owned());
        }
        if !moved(false).is_disjoint(&moved(true)) {
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
            let is_far = |term: &Term| match term {
                Term::Number(number) | Term::Scaled(number, _) => number.abs() > MOST,
                Term::Axis(_) => false,
            };
            if at.iter().flat_map(|index| &index.terms).any(is_far) {
                return Err("a number is out of range (IS01)".to_owned());
            }
        }
        let fits = match &node.op {
            Op::Prefetch(_, version) => (0..64).contains(version),
            Op::Barrier(waits) => waits.iter().all(|(_, version)| (0..64).contains(version)),
            Op::Compute(Function::Scale(p, q)) => (-MOST..=MOST).contains(p) && (1..=MOST).contains(q),
            Op::Compute(Function::Mask(_, _, Some(window))) => (1..=MOST).contains(window),
            _ => true,
        };
        if fits { Ok(()) } else { Err("a number is out of range (IS01)".to_owned()) }
    }

    /// IS06, and IO03.
    fn producers(&self) -> Result<(), String> {
        // By value: the region that produces it, and the versions of its `Prefetch` nodes.
        let mut known: HashMap<u32, usize> = HashMap::new();
        let inputs: HashSet<u32> = self.document.inputs.iter().copied().collect();
        for (number, region) in self.document.regions.iter().enumerate() {
            let mut prefetched: BTreeMap<u32, (Vec<i64>, Vec<i64>)> = BTreeMap::new();
            for (body, node) in nodes(region) {
                let places: &[(usize, usize)] =
                    if let Op::UpdateState(update) = node.op { update.states() } else { &[] };
                for (place, &name) in node.outs.iter().enumerate() {
                    if places.iter().any(|&(_, new)| new == place) {
                        continue;
                    }
                    if let Op::Prefetch(_, version) = node.op {
                        let is_again = prefetched.contains_key(&name);
                        let (begin, each) = prefetched.entry(name).or_default();
                        (if body == Body::Each { each } else { begin }).push(version);
                        if is_again || known.insert(name, number).is_none() {
                            continue;
                        }
                    } else if known.insert(name, number).is_none() && !inputs.contains(&name) {
                        continue;
                    }
                    return Err(format!("`{}` has two producers (IS06)", self.name(name)));
                }
            }
            for (name, (mut begin, each)) in prefetched {
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
            for (name, used) in uses(document, region) {
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
