//! How a document uses its tiles, and what is on chip at once (clause MCI-11).

use std::collections::{BTreeMap, HashMap, HashSet};

use megakernel_mcir::{Body, Document, Index, Lifetime, Memory, Node, Op, Region, Term, Value};

/// How a tile is used in its region.
#[derive(Clone, Debug, Default)]
pub struct Use {
    /// Where its nodes stand; those of a `Prefetch` are noted apart.
    pub(super) bodies: HashSet<Body>,
    pub is_prefetched: bool,
    /// Among all nodes of the region.
    first: usize,
    last: usize,
    first_in_begin: Option<usize>,
    pub is_state: bool,
}

impl Use {
    /// Whether all uses are where a lifetime allows them (clause MCI-11).
    pub(super) fn fits(&self, lifetime: Lifetime) -> bool {
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

/// What an index adds up to: each axis with its factor, and the number.
pub type Summed = (BTreeMap<u32, i64>, i64);

/// Adds up an index.
pub fn summed(index: &Index) -> Summed {
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

/// The values of a document by name.
pub(crate) type Values<'d> = HashMap<u32, &'d Value>;

/// Looks them up.
pub(crate) fn by_name(document: &Document) -> Values<'_> {
    document.values.iter().map(|value| (value.name, value)).collect()
}

/// How the tiles of a region are used, by name.
pub(super) fn uses(values: &Values<'_>, region: &Region) -> BTreeMap<u32, Use> {
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
    most_of(held_each(document).into_iter())
}

fn most_of(all: impl Iterator<Item = [i64; 2]>) -> [i64; 2] {
    all.fold([0, 0], |most, peak| [most[0].max(peak[0]), most[1].max(peak[1])])
}

/// The peaks of each region of a document as it stands.
pub fn held_each(document: &Document) -> Vec<[i64; 2]> {
    let (values, lifetimes) = (by_name(document), lifetimes(document));
    let of = |value: &Value, _: &Use| {
        (lifetimes.get(&value.name).copied().unwrap_or(Lifetime::Block), value.buffers)
    };
    document.regions.iter().map(|region| peaks(&values, region, &of)).collect()
}

/// The largest peaks of all regions.
pub fn largest(document: &Document, of: &dyn Fn(&Value, &Use) -> (Lifetime, i64)) -> [i64; 2] {
    let values = by_name(document);
    most_of(document.regions.iter().map(|region| peaks(&values, region, of)))
}
