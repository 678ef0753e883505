//! The rules IL and IT: lifetimes, and what is on chip at once (clause MCI-11).

use megakernel_ir::Rule;
use megakernel_mcir::{Body, Lifetime, Memory, Op};
use megakernel_order::Findings;

use crate::shapes::Shaped;
use crate::world::{World, bit, nodes};

/// Lifetimes by name, each with its place: of the residency region, and in it.
pub struct Lifetimes {
    by_name: Vec<Option<(Lifetime, usize, usize)>>,
}

impl Lifetimes {
    /// IL01.
    pub fn new(world: &World<'_>, findings: &mut Findings) -> Lifetimes {
        let mut by_name = vec![None; world.document.names.len()];
        for (place, region) in world.document.residency.iter().enumerate() {
            for (number, &name) in region.values.iter().enumerate() {
                let at = || format!("/residency/{place}/values/{number}");
                let found = world.value(name).memory;
                if found != region.memory {
                    let (name, found, said) = (world.name(name), found.name(), region.memory.name());
                    findings.broken(
                        Rule::IL01,
                        at(),
                        format!("`{name}` is in {found} memory, not in {said}"),
                    );
                } else if by_name[name as usize].is_some() {
                    let message = format!("`{}` stands in two residency regions", world.name(name));
                    findings.broken(Rule::IL01, at(), message);
                }
                by_name[name as usize].get_or_insert((region.lifetime, place, number));
            }
        }
        for value in world.document.values.iter().filter(|value| value.memory != Memory::Global) {
            if by_name[value.name as usize].is_none() {
                let message = format!("`{}` stands in no residency region", world.name(value.name));
                findings.broken(Rule::IL01, world.value_pointer(value.name), message);
            }
        }
        Lifetimes { by_name }
    }

    /// Of a tile.
    pub fn of(&self, name: u32) -> Lifetime {
        self.by_name[name as usize].map_or(Lifetime::Block, |(lifetime, ..)| lifetime)
    }
}

/// Where a tile is used: positions among all nodes of the region.
#[derive(Default)]
pub struct Use {
    /// In which bodies, each as a bit.
    bodies: u8,
    /// The same, by nodes other than `Prefetch`.
    bodies_of_others: u8,
    pub is_prefetched: bool,
    pub first_in_begin: Option<usize>,
    pub first: Option<usize>,
    pub last: Option<usize>,
}

/// The tiles of a region, states first.
pub fn uses(world: &World<'_>, shaped: &Shaped<'_>) -> Vec<(u32, Use)> {
    let mut all = Vec::with_capacity(shaped.region.state.len());
    find(world, shaped, &mut all);
    all
}

fn find(world: &World<'_>, shaped: &Shaped<'_>, all: &mut Vec<(u32, Use)>) {
    let mut places = world.table();
    all.clear();
    for state in &shaped.region.state {
        places.insert(state.value, all.len());
        all.push((state.value, Use::default()));
    }
    for (position, site) in nodes(shaped.number, shaped.region).enumerate() {
        let is_prefetch = matches!(site.node.op, Op::Prefetch(..));
        let produced = site.node.outs.iter().map(|&name| (name, true));
        for (name, is_made) in produced.chain(site.node.ins.iter().map(|&name| (name, false))) {
            if !world.is_tile(name) {
                continue;
            }
            let place = places.get(name).unwrap_or(all.len());
            if place == all.len() {
                places.insert(name, place);
                all.push((name, Use::default()));
            }
            let used = &mut all[place].1;
            used.bodies |= bit(site.body);
            used.bodies_of_others |= if is_prefetch { 0 } else { bit(site.body) };
            used.is_prefetched |= is_prefetch;
            if is_made && site.body == Body::Begin {
                used.first_in_begin.get_or_insert(position);
            }
            used.first.get_or_insert(position);
            used.last = Some(position);
        }
    }
}

/// What regions are judged with, one after the other.
#[derive(Default)]
pub struct Room {
    uses: Vec<(u32, Use)>,
    changes: [Vec<i64>; 2],
}

/// IL02. Also the peaks of the region.
pub fn kept(
    world: &World<'_>,
    shaped: &Shaped<'_>,
    lifetimes: &Lifetimes,
    room: &mut Room,
    findings: &mut Findings,
) -> [Peak; 2] {
    find(world, shaped, &mut room.uses);
    for (position, &(name, ref used)) in room.uses.iter().enumerate() {
        let Some((lifetime, place, number)) = lifetimes.by_name[name as usize] else { continue };
        let is_state = position < shaped.region.state.len();
        let fits = match lifetime {
            Lifetime::Block => true,
            _ if is_state => false,
            Lifetime::Stream => used.bodies & bit(Body::End) == 0,
            Lifetime::Iteration => used.bodies_of_others & !bit(Body::Each) == 0,
            Lifetime::Node => !used.is_prefetched && used.bodies.count_ones() <= 1,
        };
        if !fits {
            let what = if is_state { "is a state" } else { "is produced or read outside of that" };
            let message =
                format!("`{}` has the lifetime `{}`, and {what}", world.name(name), lifetime.name());
            findings.broken(Rule::IL02, format!("/residency/{place}/values/{number}"), message);
        }
    }
    room.peaks(world, shaped, lifetimes)
}

/// The most that a region holds in a memory, and the position of the first node at which it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    pub bytes: i64,
    pub at: usize,
}

/// What a tile takes.
pub fn bytes(world: &World<'_>, name: u32) -> i64 {
    let value = world.value(name);
    value.shape.iter().product::<i64>() * value.dtype.bytes() * value.buffers
}

/// From which position to which a tile takes memory.
pub fn span(shaped: &Shaped<'_>, lifetime: Lifetime, used: &Use) -> (usize, usize) {
    let [begin, each, end] = shaped.region.tile.bodies.each_ref().map(Vec::len);
    match lifetime {
        Lifetime::Block => (0, begin + each + end),
        Lifetime::Node => (used.first.unwrap_or(0), used.last.map_or(0, |last| last + 1)),
        Lifetime::Stream | Lifetime::Iteration => (used.first_in_begin.unwrap_or(begin), begin + each),
    }
}

/// The peaks in shared memory and in registers.
pub fn peaks(world: &World<'_>, shaped: &Shaped<'_>, lifetimes: &Lifetimes) -> [Peak; 2] {
    let mut room = Room::default();
    find(world, shaped, &mut room.uses);
    room.peaks(world, shaped, lifetimes)
}

impl Room {
    /// Of the region whose tiles were found.
    fn peaks(&mut self, world: &World<'_>, shaped: &Shaped<'_>, lifetimes: &Lifetimes) -> [Peak; 2] {
        let count: usize = shaped.region.tile.bodies.iter().map(Vec::len).sum();
        for changes in &mut self.changes {
            changes.clear();
            changes.resize(count + 1, 0);
        }
        for &(name, ref used) in &self.uses {
            let (first, end) = span(shaped, lifetimes.of(name), used);
            let memory = usize::from(world.value(name).memory == Memory::Register);
            let bytes = bytes(world, name);
            self.changes[memory][first] += bytes;
            self.changes[memory][end] -= bytes;
        }
        self.changes.each_ref().map(|changes| {
            let (mut held, mut peak) = (0, Peak::default());
            for (at, change) in changes.iter().take(count).enumerate() {
                held += change;
                if held > peak.bytes {
                    peak = Peak { bytes: held, at };
                }
            }
            peak
        })
    }
}

/// IT01 and IT02.
pub fn target(
    world: &World<'_>,
    shaped: &Shaped<'_>,
    lifetimes: &Lifetimes,
    peaks: [Peak; 2],
    findings: &mut Findings,
) {
    let target = world.document.target;
    let rules = [(Rule::IT01, target.shared, "shared memory"), (Rule::IT02, target.register, "registers")];
    for ((rule, limit, memory), peak) in rules.into_iter().zip(peaks) {
        let Some(limit) = limit.filter(|&limit| peak.bytes > limit) else { continue };
        let node = nodes(shaped.number, shaped.region).nth(peak.at);
        let node = node.map_or("", |site| world.name(site.node.id));
        let held: Vec<String> = uses(world, shaped)
            .into_iter()
            .filter(|(name, used)| {
                let (first, end) = span(shaped, lifetimes.of(*name), used);
                let of = if rule == Rule::IT01 { Memory::Shared } else { Memory::Register };
                world.value(*name).memory == of && (first..end).contains(&peak.at)
            })
            .take(8)
            .map(|(name, _)| format!("`{}` {}", world.name(name), bytes(world, name)))
            .collect();
        let message = format!(
            "at `{node}` a block holds {} bytes in {memory}, and there are {limit}: {}",
            peak.bytes,
            held.join(", ")
        );
        findings.broken(rule, format!("/regions/{}", shaped.number), message);
    }
}
