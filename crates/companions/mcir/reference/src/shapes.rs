//! The rules IS09 to IS11, and the extents of all tiles (clauses MCI-06 and MCI-09).

use megakernel_ir::Rule;
use megakernel_mcir::{Along, Function, Node, Op, Region, Update};
use megakernel_order::Findings;
use smallvec::{SmallVec, smallvec};

use crate::axes::{Axes, Extent};
use crate::world::{ByName, Move, Site, World, moves, nodes};

/// The limit of IS11.
const MOST_WORK: i64 = 1 << 31;

/// The extents of a tile: few have more than two.
pub type Extents = SmallVec<[Extent; 2]>;

/// A region whose tiles have extents.
pub struct Shaped<'d> {
    pub number: usize,
    pub region: &'d Region,
    pub axes: Axes,
    /// In the order of the names.
    extents: Vec<(u32, Extents)>,
}

/// IS11: the regions with their axes and no extents yet, if they are not too much.
pub fn count<'d>(world: &World<'d>, findings: &mut Findings) -> Vec<Shaped<'d>> {
    let mut work = 0_i64;
    let mut all = Vec::with_capacity(world.document.regions.len());
    for (number, region) in world.document.regions.iter().enumerate() {
        let axes = Axes::new(region);
        let times = axes.stream.map_or(1, |stream| stream.count).max(1);
        let each = i64::try_from(nodes(number, region).count()).unwrap_or(i64::MAX).max(1);
        work = work.saturating_add(axes.count_blocks().saturating_mul(times).saturating_mul(each));
        if work > MOST_WORK {
            let message = format!("nodes run {work} times, and at most 2^31 times is allowed");
            findings.broken(Rule::IS11, format!("/regions/{number}"), message);
            return Vec::new();
        }
        all.push(Shaped { number, region, axes, extents: Vec::new() });
    }
    all
}

/// IS09 and IS10. The regions have the extents of their tiles from then on, if they are to keep them.
pub fn shape(world: &World<'_>, regions: &mut [Shaped<'_>], keeps: bool, findings: &mut Findings) {
    let mut shaping = Shaping {
        made: Vec::new(),
        places: ByName::new(world.document),
        states: ByName::new(world.document),
    };
    for shaped in regions {
        shaping.region(world, shaped, findings);
        if keeps {
            shaped.extents = shaping.made.drain(..).collect();
            shaped.extents.sort_unstable_by_key(|&(name, _)| name);
        }
    }
}

impl Shaped<'_> {
    /// Of a tile of the region; none of any other.
    pub fn extents(&self, tile: u32) -> &[Extent] {
        let place = self.extents.binary_search_by_key(&tile, |&(name, _)| name);
        place.map_or(&[], |place| &self.extents[place].1)
    }

    /// The extents of the part of a tensor that a tile is.
    pub fn part(&self, world: &World<'_>, node: &Node, moved: &Move) -> Extents {
        let (sizes, tensor) = (&world.value(moved.tile).shape, &world.value(moved.tensor).shape);
        let lacking = tensor.len().saturating_sub(sizes.len());
        let at = node.op.at().unwrap_or_default().iter().skip(lacking);
        let all = sizes.iter().zip(tensor.iter().skip(lacking)).zip(at);
        all.map(|((&size, &of), index)| self.axes.extent(size, of, index)).collect()
    }
}

/// What is known of a region so far.
struct Shaping {
    /// Tiles in the order in which they are produced.
    made: Vec<(u32, Extents)>,
    /// Where they stand there.
    places: ByName<usize>,
    states: ByName<()>,
}

impl Shaping {
    fn region(&mut self, world: &World<'_>, shaped: &Shaped<'_>, findings: &mut Findings) {
        let (number, region) = (shaped.number, shaped.region);
        self.made.clear();
        self.places.clear();
        self.states.set(region.state.iter().map(|state| state.value));
        // A prefetched tile has its extents wherever its first `Prefetch` stands.
        for site in nodes(number, region).filter(|site| matches!(site.node.op, Op::Prefetch(..))) {
            if let Some(moved) = moves(site.node) {
                self.insert(moved.tile, shaped.part(world, site.node, &moved));
            }
        }
        for site in nodes(number, region) {
            self.visit(world, shaped, &site, findings);
        }
    }

    fn get(&self, tile: u32) -> Option<&[Extent]> {
        Some(&self.made[self.places.get(tile)?].1)
    }

    fn insert(&mut self, tile: u32, extents: Extents) {
        match self.places.get(tile) {
            Some(place) => self.made[place].1 = extents,
            None => {
                self.places.insert(tile, self.made.len());
                self.made.push((tile, extents));
            }
        }
    }

    fn visit(&mut self, world: &World<'_>, of: &Shaped<'_>, site: &Site<'_>, findings: &mut Findings) {
        let node = site.node;
        if let Err(message) = self.judge(world, of, node) {
            findings.broken(Rule::IS09, site.pointer(), message);
            // What follows is judged as if this were right.
            for &name in node.outs.iter().filter(|&&name| world.is_tile(name)) {
                let shape = &world.value(name).shape;
                let whole = shape.iter().map(|&size| Extent { size, rest: None }).collect();
                self.insert(name, whole);
            }
        }
        if let Some(moved) = moves(node) {
            let (tile, tensor) = (world.value(moved.tile).dtype, world.value(moved.tensor).dtype);
            if tile != tensor {
                let message = format!(
                    "`{}` is {}, and `{}` {}: a move does not convert",
                    world.name(moved.tile),
                    tile.name(),
                    world.name(moved.tensor),
                    tensor.name()
                );
                findings.broken(Rule::IS10, site.pointer(), message);
            }
        }
    }

    fn judge(&mut self, world: &World<'_>, of: &Shaped<'_>, node: &Node) -> Result<(), String> {
        let made = match (&node.op, moves(node)) {
            (_, Some(moved)) if moved.stores => {
                let place = of.part(world, node, &moved);
                let tile = self.get(moved.tile).unwrap_or_default();
                return same("the tile and its place in the tensor", tile, &place);
            }
            (_, Some(moved)) => smallvec![of.part(world, node, &moved)],
            (Op::Barrier(_), _) => return Ok(()),
            _ => self.computed(node)?,
        };
        for (&name, extents) in node.outs.iter().zip(made) {
            let declared = &world.value(name).shape;
            let sizes = || extents.iter().map(|extent| extent.size);
            if !sizes().eq(declared.iter().copied()) {
                let found: Vec<i64> = sizes().collect();
                let name = world.name(name);
                return Err(format!("`{name}` has the shape {declared:?}, and what is produced {found:?}"));
            }
            let stream = of.axes.stream_place();
            let moves = |extent: &Extent| {
                extent.rest.iter().any(|rest| rest.factors.iter().any(|&(place, _)| place == stream))
            };
            if self.states.has(name) && extents.iter().any(moves) {
                let name = world.name(name);
                return Err(format!("the state `{name}` would have other extents in other iterations"));
            }
            self.insert(name, extents);
        }
        Ok(())
    }

    /// What a node makes of its tiles. A state that nothing has updated yet has no extents, and takes any.
    fn computed(&self, node: &Node) -> Result<SmallVec<[Extents; 1]>, String> {
        let tile = |place: usize| self.get(*node.ins.get(place)?);
        let known = |place: usize| tile(place).unwrap_or_default();
        let a = known(0);
        Ok(match &node.op {
            Op::Reduce(_, axis) => {
                let gone = usize::try_from(*axis).ok().filter(|&axis| axis < a.len());
                let Some(gone) = gone else {
                    return Err(format!("found the axis {axis}, and the tile has {}", a.len()));
                };
                let mut left = Extents::from(a);
                left.remove(gone);
                smallvec![left]
            }
            Op::UpdateState(Update::Add | Update::Max) => {
                same("the state and what it meets", tile(0).unwrap_or(known(1)), known(1))?;
                smallvec![known(1).into()]
            }
            Op::UpdateState(Update::ScaleAdd) => {
                let (r, x) = (known(1), known(2));
                if x.len() != 1 {
                    ranked(x, 2)?;
                }
                ranked(r, 1)?;
                same("the state and what is added", tile(0).unwrap_or(x), x)?;
                same("the rows", r, x.get(..1).unwrap_or_default())?;
                smallvec![x.into()]
            }
            Op::UpdateState(Update::OnlineSoftmax) => {
                ranked(a, 2)?;
                let rows = a.get(..1).unwrap_or_default();
                for state in [1, 2] {
                    same("the rows", tile(state).unwrap_or(rows), rows)?;
                }
                smallvec![rows.into(), rows.into(), a.into(), rows.into()]
            }
            Op::Compute(function) => smallvec![function_of(function, a, known(1))?],
            _ => SmallVec::new(),
        })
    }
}

fn function_of(function: &Function, a: &[Extent], b: &[Extent]) -> Result<Extents, String> {
    match (function, a, b) {
        (Function::Matmul(transposed), a, b) => {
            ranked(a, 2)?;
            ranked(b, 2)?;
            let (inner, outer) = if *transposed { (1, 0) } else { (0, 1) };
            same("the extents that are added up", &a[1..], &b[inner..=inner])?;
            Ok(smallvec![a[0].clone(), b[outer].clone()])
        }
        (Function::Transpose, a, _) => {
            ranked(a, 2)?;
            Ok(a.iter().rev().cloned().collect())
        }
        (Function::Mask(..), a, _) => ranked(a, 2).map(|()| a.into()),
        (Function::Binary(_, None), a, b) => same("the tiles", a, b).map(|()| a.into()),
        (Function::Binary(_, Some(along)), a, b) => {
            ranked(a, 2)?;
            ranked(b, 1)?;
            let (what, axis) = if *along == Along::Rows { ("the rows", 0) } else { ("the columns", 1) };
            same(what, &a[axis..=axis], b)?;
            Ok(a.into())
        }
        (Function::Unary(_) | Function::Scale(..), a, _) => Ok(a.into()),
    }
}

fn ranked(tile: &[Extent], rank: usize) -> Result<(), String> {
    if tile.len() == rank {
        return Ok(());
    }
    Err(format!("found a tile of {} axes, required {rank}", tile.len()))
}

fn same(what: &str, first: &[Extent], second: &[Extent]) -> Result<(), String> {
    if first == second {
        return Ok(());
    }
    let text = |tile: &[Extent]| {
        let each = |extent: &Extent| match &extent.rest {
            None => extent.size.to_string(),
            Some(rest) if rest.factors.is_empty() => format!("{} of {}", rest.number, extent.size),
            Some(_) => format!("{}, less at the edge", extent.size),
        };
        let each: Vec<String> = tile.iter().map(each).collect();
        format!("[{}]", each.join("; "))
    };
    let (first, second) = (text(first), text(second));
    if first == second {
        return Err(format!("{what} end at different edges: {first}"));
    }
    Err(format!("{what} differ: {first} and {second}"))
}
