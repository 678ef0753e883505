//! The rules IS09 to IS11, and the extents of all tiles (clauses MCI-06 and MCI-09).

use std::collections::{HashMap, HashSet};

use megakernel_ir::Rule;
use megakernel_mcir::{Along, Function, Node, Op, Region, Update};
use megakernel_order::Findings;

use crate::axes::{Axes, Extent};
use crate::world::{Move, Site, World, moves, nodes};

/// The limit of IS11.
const MOST_WORK: i64 = 1 << 31;

/// A region whose tiles have extents.
pub struct Shaped<'d> {
    pub number: usize,
    pub region: &'d Region,
    pub axes: Axes,
    /// By name.
    pub extents: HashMap<u32, Vec<Extent>>,
    pub states: HashSet<u32>,
}

/// IS11: the axes of all regions, if they are not too much.
pub fn count(world: &World<'_>, findings: &mut Findings) -> Vec<Axes> {
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
        all.push(axes);
    }
    all
}

impl<'d> Shaped<'d> {
    /// IS09 and IS10.
    pub fn new(
        world: &World<'d>,
        number: usize,
        region: &'d Region,
        axes: Axes,
        findings: &mut Findings,
    ) -> Shaped<'d> {
        let states: HashSet<u32> = region.state.iter().map(|state| state.value).collect();
        let mut shaped = Shaped { number, region, axes, extents: HashMap::new(), states };
        // A prefetched tile has its extents wherever its first `Prefetch` stands.
        for site in nodes(number, region).filter(|site| matches!(site.node.op, Op::Prefetch(..))) {
            if let Some(moved) = moves(site.node) {
                let part = shaped.part(world, site.node, &moved);
                shaped.extents.insert(moved.tile, part);
            }
        }
        for site in nodes(number, region) {
            shaped.visit(world, &site, findings);
        }
        shaped
    }

    /// The extents of the part of a tensor that a tile is.
    pub fn part(&self, world: &World<'_>, node: &Node, moved: &Move) -> Vec<Extent> {
        let (sizes, tensor) = (&world.value(moved.tile).shape, &world.value(moved.tensor).shape);
        let lacking = tensor.len().saturating_sub(sizes.len());
        let at = node.op.at().unwrap_or_default().iter().skip(lacking);
        let all = sizes.iter().zip(tensor.iter().skip(lacking)).zip(at);
        all.map(|((&size, &of), index)| self.axes.extent(size, of, index)).collect()
    }

    fn visit(&mut self, world: &World<'_>, site: &Site<'_>, findings: &mut Findings) {
        let node = site.node;
        if let Err(message) = self.judge(world, node) {
            findings.broken(Rule::IS09, site.pointer(), message);
            // What follows is judged as if this were right.
            for &name in node.outs.iter().filter(|&&name| world.is_tile(name)) {
                let shape = &world.value(name).shape;
                let whole = shape.iter().map(|&size| Extent { size, rest: None }).collect();
                self.extents.insert(name, whole);
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

    fn judge(&mut self, world: &World<'_>, node: &Node) -> Result<(), String> {
        let made = match (&node.op, moves(node)) {
            (_, Some(moved)) if moved.stores => {
                let place = self.part(world, node, &moved);
                let tile = self.extents.get(&moved.tile).cloned().unwrap_or_default();
                return same("the tile and its place in the tensor", &tile, &place);
            }
            (_, Some(moved)) => vec![self.part(world, node, &moved)],
            (Op::Barrier(_), _) => return Ok(()),
            _ => self.computed(node)?,
        };
        for (&name, extents) in node.outs.iter().zip(made) {
            let declared = &world.value(name).shape;
            let found: Vec<i64> = extents.iter().map(|extent| extent.size).collect();
            if found != *declared {
                let name = world.name(name);
                return Err(format!("`{name}` has the shape {declared:?}, and what is produced {found:?}"));
            }
            let stream = self.axes.stream_place();
            let moves = |extent: &Extent| {
                extent.rest.iter().any(|rest| rest.factors.iter().any(|&(place, _)| place == stream))
            };
            if self.states.contains(&name) && extents.iter().any(moves) {
                let name = world.name(name);
                return Err(format!("the state `{name}` would have other extents in other iterations"));
            }
            self.extents.insert(name, extents);
        }
        Ok(())
    }

    /// What a node makes of its tiles. A state that nothing has updated yet has no extents, and takes any.
    fn computed(&self, node: &Node) -> Result<Vec<Vec<Extent>>, String> {
        let tile =
            |place: usize| -> Option<&[Extent]> { self.extents.get(node.ins.get(place)?).map(Vec::as_slice) };
        let known = |place: usize| tile(place).unwrap_or_default();
        let a = known(0);
        Ok(match &node.op {
            Op::Reduce(_, axis) => {
                let gone = usize::try_from(*axis).ok().filter(|&axis| axis < a.len());
                let Some(gone) = gone else {
                    return Err(format!("found the axis {axis}, and the tile has {}", a.len()));
                };
                let mut left = a.to_vec();
                left.remove(gone);
                vec![left]
            }
            Op::UpdateState(Update::Add | Update::Max) => {
                same("the state and what it meets", tile(0).unwrap_or(known(1)), known(1))?;
                vec![known(1).to_vec()]
            }
            Op::UpdateState(Update::ScaleAdd) => {
                let (r, x) = (known(1), known(2));
                if x.len() != 1 {
                    ranked(x, 2)?;
                }
                ranked(r, 1)?;
                same("the state and what is added", tile(0).unwrap_or(x), x)?;
                same("the rows", r, x.get(..1).unwrap_or_default())?;
                vec![x.to_vec()]
            }
            Op::UpdateState(Update::OnlineSoftmax) => {
                ranked(a, 2)?;
                let rows = a.get(..1).unwrap_or_default();
                for state in [1, 2] {
                    same("the rows", tile(state).unwrap_or(rows), rows)?;
                }
                vec![rows.to_vec(), rows.to_vec(), a.to_vec(), rows.to_vec()]
            }
            Op::Compute(function) => vec![function_of(function, a, known(1))?],
            _ => Vec::new(),
        })
    }
}

fn function_of(function: &Function, a: &[Extent], b: &[Extent]) -> Result<Vec<Extent>, String> {
    match (function, a, b) {
        (Function::Matmul(transposed), a, b) => {
            ranked(a, 2)?;
            ranked(b, 2)?;
            let (inner, outer) = if *transposed { (1, 0) } else { (0, 1) };
            same("the extents that are added up", &a[1..], &b[inner..=inner])?;
            Ok(vec![a[0].clone(), b[outer].clone()])
        }
        (Function::Transpose, a, _) => {
            ranked(a, 2)?;
            Ok(a.iter().rev().cloned().collect())
        }
        (Function::Mask(..), a, _) => ranked(a, 2).map(|()| a.to_vec()),
        (Function::Binary(_, None), a, b) => same("the tiles", a, b).map(|()| a.to_vec()),
        (Function::Binary(_, Some(along)), a, b) => {
            ranked(a, 2)?;
            ranked(b, 1)?;
            let (what, axis) = if *along == Along::Rows { ("the rows", 0) } else { ("the columns", 1) };
            same(what, &a[axis..=axis], b)?;
            Ok(a.to_vec())
        }
        (Function::Unary(_) | Function::Scale(..), a, _) => Ok(a.to_vec()),
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
