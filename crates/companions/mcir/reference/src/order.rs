//! The rules IO01 to IO05: prefetched tiles, for any number of iterations (clause MCI-10).

use megakernel_ir::Rule;
use megakernel_mcir::{Body, Op};
use megakernel_order::Findings;
use smallvec::SmallVec;

use crate::shapes::Shaped;
use crate::world::{Site, World, nodes};

/// What the nodes of a region do with a prefetched tile, each in the order of the nodes.
#[derive(Default)]
struct Tile<'d> {
    /// Prefetches, and their versions.
    prefetches: SmallVec<[(Site<'d>, i64); 2]>,
    /// Waits: the barrier, the place in it, the version.
    waits: SmallVec<[(Site<'d>, usize, i64); 1]>,
    /// Reads in `each`: the node, and the place in its `in`.
    reads: SmallVec<[(Site<'d>, usize); 1]>,
}

/// Judges a region.
pub fn check(world: &World<'_>, shaped: &Shaped<'_>, findings: &mut Findings) {
    let mut tiles: SmallVec<[(u32, Tile<'_>); 1]> = SmallVec::new();
    let mut places = world.table();
    for site in nodes(shaped.number, shaped.region) {
        if let (&Op::Prefetch(_, version), Some(&name)) = (&site.node.op, site.node.outs.first()) {
            let place = places.get(name).unwrap_or(tiles.len());
            if place == tiles.len() {
                places.insert(name, place);
                tiles.push((name, Tile::default()));
            }
            tiles[place].1.prefetches.push((site, version));
        }
    }
    if tiles.is_empty() {
        return;
    }
    for site in nodes(shaped.number, shaped.region) {
        for (number, &(name, version)) in site.node.op.waits().iter().enumerate() {
            if let Some(place) = places.get(name) {
                tiles[place].1.waits.push((site, number, version));
            }
        }
        for (number, &name) in site.node.ins.iter().enumerate() {
            if let Some(place) = places.get(name) {
                tiles[place].1.reads.push((site, number));
            }
        }
    }
    for (name, tile) in &tiles {
        judge(world, *name, tile, findings);
    }
}

fn judge(world: &World<'_>, name: u32, tile: &Tile<'_>, findings: &mut Findings) {
    let text = world.name(name);
    let Some((issue, ahead, begun)) = pipeline(tile) else {
        let at = tile.prefetches.first().map(|(site, _)| site.pointer()).unwrap_or_default();
        let message = format!(
            "the `Prefetch` nodes of `{text}` begin some version never, or twice: required one in `each` with \
             a version d, and in `begin` one for each version below d"
        );
        findings.broken(Rule::IO03, at, message);
        return;
    };
    let mut is_early = false;
    for (barrier, number, version) in &tile.waits {
        let too_early = if barrier.body == Body::Begin {
            usize::try_from(*version)
                .ok()
                .and_then(|version| begun.get(version))
                .is_none_or(|&(_, place)| place > barrier.place)
        } else {
            *version > ahead || (*version == ahead && issue.place > barrier.place)
        };
        if too_early {
            is_early = true;
            let id = world.name(barrier.node.id);
            let when = if barrier.body == Body::Begin { "" } else { "t + " };
            let message = format!(
                "`{id}` waits for the version {when}{version} of `{text}`, which no node before it has begun"
            );
            findings.broken(Rule::IO05, format!("{}/wait/{number}", barrier.pointer()), message);
        }
    }
    if !is_early {
        waited(world, name, tile, (issue, ahead), findings);
    }
}

/// The versions that `begin` begins, from 0, and where.
type Begun = SmallVec<[(i64, usize); 1]>;

/// The `Prefetch` in `each` and its version, and what `begin` begins; none where IO03 is broken.
fn pipeline<'t, 'd>(tile: &'t Tile<'d>) -> Option<(&'t Site<'d>, i64, Begun)> {
    let mut steady = tile.prefetches.iter().filter(|(site, _)| site.body == Body::Each);
    let (issue, ahead) = steady.next()?;
    let early = tile.prefetches.iter().filter(|(site, _)| site.body == Body::Begin);
    let mut begun: Begun = early.map(|(site, version)| (*version, site.place)).collect();
    begun.sort_unstable();
    let is_whole = steady.next().is_none() && begun.iter().map(|&(version, _)| version).eq(0..*ahead);
    is_whole.then_some((issue, *ahead, begun))
}

/// IO04, IO01 and IO02.
fn waited(
    world: &World<'_>,
    name: u32,
    tile: &Tile<'_>,
    (issue, ahead): (&Site<'_>, i64),
    findings: &mut Findings,
) {
    let text = world.name(name);
    // Versions as bits: they are below 64.
    let early = tile.waits.iter().filter(|(barrier, ..)| barrier.body == Body::Begin);
    let early = early.fold(0_u64, |all, &(_, _, version)| all | 1 << version);
    let is_early = |version: &i64| early >> *version & 1 == 1;
    let each = || tile.waits.iter().filter(|(barrier, ..)| barrier.body == Body::Each);
    // Waits of earlier iterations reach all versions but the first ones, which `begin` has to wait for.
    let least = each().map(|&(_, _, version)| version).filter(|&version| version > 0).min();
    let by_earlier = least.is_some_and(|least| (0..least).all(|version| is_early(&version)));
    let now = each()
        .filter(|&&(_, _, version)| version == 0)
        .map(|(barrier, ..)| barrier)
        .min_by_key(|barrier| barrier.place);
    if !by_earlier && now.is_none() {
        let id = world.name(issue.node.id);
        let first = (0..least.unwrap_or(1)).find(|version| !is_early(version)).unwrap_or(0);
        let message = format!("`{id}` loads `{text}`, and no `Barrier` waits for its version {first}");
        findings.broken(Rule::IO04, issue.pointer(), message);
        return;
    }
    let reads = || tile.reads.iter().filter(|(site, _)| site.body == Body::Each);
    if !by_earlier {
        for (site, place) in reads().filter(|(site, _)| now.is_some_and(|now| now.place > site.place)) {
            let (reader, loader) = (world.name(site.node.id), world.name(issue.node.id));
            let message = format!(
                "`{reader}` reads the version t of `{text}` in the iteration t before a `Barrier` has waited for \
                 it: what `{loader}` began in the iteration t - {ahead} may not have landed"
            );
            findings.broken(Rule::IO01, site.input(*place), message);
        }
    }
    let last = reads().map(|(site, _)| site).max_by_key(|site| site.place);
    let last = last.or(if by_earlier { None } else { now });
    let buffers = world.value(name).buffers;
    if buffers < ahead || (buffers == ahead && last.is_some_and(|last| last.place > issue.place)) {
        let (loader, user) = (world.name(issue.node.id), last.map_or("", |site| world.name(site.node.id)));
        let message = format!(
            "`{loader}` loads the version t + {ahead} of `{text}` in the iteration t into the slot of the version \
             t + {}, which `{user}` uses in the iteration t + {}: there are {buffers} slots",
            ahead - buffers,
            ahead - buffers
        );
        findings.broken(Rule::IO02, issue.pointer(), message);
    }
}
