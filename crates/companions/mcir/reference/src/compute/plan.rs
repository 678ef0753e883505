//! A region as it is run: tiles by number, indices and extents as affine forms.

use std::collections::{HashMap, HashSet};

use megakernel_mcir::{Along, Binary, Body, Dtype, Fold, Function, Init, Node, Op, Unary, Update};

use crate::axes::{Affine, Axes, Extent};
use crate::shapes::{Extents, Shaped};
use crate::world::{World, moves};

/// A region, ready to run.
pub struct Plan<'r> {
    pub axes: &'r Axes,
    pub bodies: [Vec<Step>; 3],
    /// By number: dtype and slots of each tile. One that is not prefetched lies in one slot, however many it has.
    pub tiles: Vec<(Dtype, usize)>,
    /// States: the tile, what it is filled with, its extents.
    pub states: Vec<(usize, f64, Vec<Extent>)>,
    /// Elements that its nodes touch, in all their runs, and what each run takes by itself.
    pub work: i64,
    /// Elements of its tiles, in all slots, and one tile more of each for the next result.
    pub held: i64,
}

/// A part of a tensor.
pub struct Part {
    /// The tensor, by the place of its value.
    pub tensor: usize,
    pub tile: usize,
    /// Where it begins: for each axis of the tensor the index, and what lies between two elements along it.
    pub at: Vec<(Affine, usize)>,
    pub extents: Extents,
    /// What lies between two elements along each axis of the tile.
    pub strides: Vec<usize>,
}

/// A node, ready to run.
pub enum Step {
    Load(Part),
    Store(Part),
    /// With the version that it names.
    Prefetch(Part, i64),
    /// Tiles and versions.
    Barrier(Vec<(usize, i64)>),
    Compute {
        does: Does,
        ins: Vec<usize>,
        outs: Vec<usize>,
    },
}

/// What a node computes.
pub enum Does {
    Matmul(bool),
    Transpose,
    Unary(Unary),
    Scale(f64, f64),
    Binary(Binary, Option<Along>),
    /// Rows, columns, window.
    Mask(Affine, Affine, Option<i64>),
    Reduce(Fold, usize),
    Update(Update),
}

/// The elements of a shape.
pub fn count(shape: &[i64]) -> usize {
    shape.iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).product()
}

impl<'r> Plan<'r> {
    /// Of a region of an accepted document.
    pub fn new(world: &World<'_>, shaped: &'r Shaped<'_>) -> Plan<'r> {
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        let mut tiles = Vec::new();
        let all = shaped.region.tile.bodies.iter().flatten();
        let prefetches = all.filter(|node| matches!(node.op, Op::Prefetch(..)));
        let prefetched: HashSet<u32> = prefetches.flat_map(|node| node.outs.iter().copied()).collect();
        let mut held = 0_i64;
        let mut number = |name: u32| {
            *numbers.entry(name).or_insert_with(|| {
                let value = world.value(name);
                let slots = if prefetched.contains(&name) { value.buffers } else { 1 };
                let elements: i64 = value.shape.iter().product();
                held = held.saturating_add(elements.saturating_mul(slots.saturating_add(1)));
                tiles.push((value.dtype, usize::try_from(slots).unwrap_or(1).max(1)));
                tiles.len() - 1
            })
        };
        let blocks = shaped.axes.count_blocks();
        let times = blocks.saturating_mul(shaped.axes.stream.map_or(1, |stream| stream.count).max(1));
        let bounds = shaped.axes.from.iter().chain(&shaped.axes.to);
        let factors = bounds.fold(0_i64, |sum, form| {
            sum.saturating_add(1 + i64::try_from(form.factors.len()).unwrap_or(i64::MAX))
        });
        let mut work = times.saturating_mul(RUN).saturating_add(blocks.saturating_mul(factors));
        let bodies = Body::ALL.iter().zip(&shaped.region.tile.bodies).map(|(&body, nodes)| {
            let runs = if body == Body::Each { times } else { blocks };
            let step = |node: &Node| {
                let cost = cost(world, node);
                work = work.saturating_add(cost.saturating_mul(runs));
                step(world, shaped, node, &mut number)
            };
            nodes.iter().map(step).collect::<Vec<Step>>()
        });
        let bodies: Vec<Vec<Step>> = bodies.collect();
        let states = shaped.region.state.iter().map(|state| {
            let init = match state.init {
                Init::Number(number) => number as f64,
                Init::Least => f64::NEG_INFINITY,
                Init::Most => f64::INFINITY,
            };
            let extents = shaped.extents(state.value).to_vec();
            (number(state.value), init, extents)
        });
        let states = states.collect();
        let bodies = bodies.try_into().unwrap_or_default();
        Plan { axes: &shaped.axes, bodies, tiles, states, work, held }
    }
}

/// What a run of a node, or of a block, takes though it touches nothing: as long as so many elements do.
const RUN: i64 = 16;

/// About how many numbers a node touches in a run.
fn cost(world: &World<'_>, node: &Node) -> i64 {
    let elements = |name: &u32| -> i64 {
        let value = world.value(*name);
        if world.is_tile(*name) { value.shape.iter().product() } else { 0 }
    };
    let all: i64 = node.ins.iter().chain(&node.outs).map(elements).fold(RUN, i64::saturating_add);
    match &node.op {
        Op::Compute(Function::Matmul(_)) => {
            let inner = node.ins.first().and_then(|name| world.value(*name).shape.last().copied());
            let made = node.outs.first().map_or(0, elements);
            made.saturating_mul(inner.unwrap_or(1)).saturating_add(all)
        }
        _ => all,
    }
}

fn step(world: &World<'_>, shaped: &Shaped<'_>, node: &Node, number: &mut impl FnMut(u32) -> usize) -> Step {
    if let Some(moved) = moves(node) {
        let extents = shaped.part(world, node, &moved);
        let shape = &world.value(moved.tensor).shape;
        let (mut strides, mut at, mut stride) = (vec![0; shape.len()], Vec::new(), 1_i64);
        let indices = node.op.at().unwrap_or_default();
        for (axis, index) in indices.iter().enumerate().rev() {
            strides[axis] = usize::try_from(stride).unwrap_or(0);
            at.push((shaped.axes.affine(index), strides[axis]));
            stride = stride.saturating_mul(shape[axis]);
        }
        let strides = strides.split_off(shape.len() - extents.len());
        let part = Part { tensor: world.place(moved.tensor), tile: number(moved.tile), at, extents, strides };
        return match node.op {
            Op::StoreTile(_) => Step::Store(part),
            Op::Prefetch(_, version) => Step::Prefetch(part, version),
            _ => Step::Load(part),
        };
    }
    let does = match &node.op {
        Op::Compute(function) => match function {
            Function::Matmul(turned) => Does::Matmul(*turned),
            Function::Transpose => Does::Transpose,
            Function::Unary(unary) => Does::Unary(*unary),
            Function::Scale(p, q) => {
                let (p, q) = (*p as f64, *q as f64);
                // One product where binary32 has the factor (MCI-16).
                if f64::from((p / q) as f32) == p / q { Does::Scale(p / q, 1.0) } else { Does::Scale(p, q) }
            }
            Function::Binary(binary, along) => Does::Binary(*binary, *along),
            Function::Mask(mask) => {
                Does::Mask(shaped.axes.affine(&mask.rows), shaped.axes.affine(&mask.columns), mask.window)
            }
        },
        Op::Reduce(fold, axis) => Does::Reduce(*fold, usize::try_from(*axis).unwrap_or(0)),
        Op::UpdateState(update) => Does::Update(*update),
        other => {
            return Step::Barrier(
                other.waits().iter().map(|&(name, version)| (number(name), version)).collect(),
            );
        }
    };
    let ins = node.ins.iter().map(|&name| number(name)).collect();
    let outs = node.outs.iter().map(|&name| number(name)).collect();
    Step::Compute { does, ins, outs }
}
