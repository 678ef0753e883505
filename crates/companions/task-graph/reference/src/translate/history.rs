//! Who last wrote each tensor, and who has read it since, tile by tile.

use super::events::{EventIndex, Events, NodeId};
use megakernel_task_graph::Effect;

use super::plan::{Block, Operand, Operator, PerAxis, Plan};
use crate::types;

/// A tensor as the tasks of an operator access it.
#[derive(Debug)]
pub struct Access<'p> {
    /// Index of the tensor; never that of a fused one.
    pub tensor: usize,
    /// Whether it is written; it may be read too.
    pub writes: bool,
    /// Whether it is read.
    pub reads: bool,
    /// Where among the operator's operands it stands, for messages.
    pub at: Place,
    /// What is accessed; of a part of a fused tensor all is taken to be.
    cut: Option<&'p Operand>,
    /// Events that those come before who access the same tile, by tile.
    pub known: Vec<Option<Vec<EventIndex>>>,
}

/// An operand's place in its operator.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Among the inputs.
    Input(usize),
    /// Among the outputs.
    Output(usize),
}

impl<'p> Access<'p> {
    /// An access to a tensor that is cut as the operand says, or to all of it.
    pub fn new(tensor: usize, writes: bool, at: Place, cut: Option<&'p Operand>) -> Access<'p> {
        let tiles = cut.map_or(1, |operand| operand.cuts.iter().product()) as usize;
        Access { tensor, writes, reads: !writes, at, cut, known: vec![None; tiles] }
    }

    /// The operand, unless all of a part is accessed.
    pub fn operand(&self) -> Option<&'p Operand> {
        self.cut
    }

    /// Number of the tile that a block accesses.
    pub fn tile(&self, block: Block) -> usize {
        self.cut.map_or(0, |operand| flat(&operand.coordinates(block), &operand.cuts))
    }
}

/// Everything that an operator accesses, except for the buffer of an all-reduce, which nothing else may access.
pub fn accesses<'p>(plan: &Plan<'_>, operator: &'p Operator) -> Vec<Access<'p>> {
    let mut found = Vec::new();
    let touched = |is_output: bool, number: usize, operand: &'p Operand, at: Place| {
        let effect = types::effect(operator.task_type, is_output, number);
        let writes = !matches!(effect, Effect::None | Effect::Read);
        let reads = matches!(effect, Effect::Read | Effect::Modify | Effect::Reset | Effect::Add);
        let access = Access::new(operand.tensor, writes, at, Some(operand));
        (effect != Effect::None).then_some(Access { reads, ..access })
    };
    let buffer = operator.all_reduce().map(|[_, buffer, _]| buffer.tensor);
    for (number, operand) in operator.inputs.iter().enumerate() {
        let Some(operand) = operand.as_ref().filter(|operand| Some(operand.tensor) != buffer) else {
            continue;
        };
        let at = Place::Input(number);
        let parts = &plan.tensors[operand.tensor].parts;
        found.extend(parts.iter().map(|part| Access::new(part.tensor, false, at, None)));
        if parts.is_empty() {
            found.extend(touched(false, number, operand, at));
        }
    }
    for (number, operand) in operator.outputs.iter().enumerate() {
        found.extend(touched(true, number, operand, Place::Output(number)));
    }
    found
}

/// What the accesses to one tensor have been.
#[derive(Debug, Default)]
pub struct History {
    write: Option<Layer>,
    reads: Vec<Layer>,
}

/// The accesses of one operator to one tensor.
#[derive(Debug)]
struct Layer {
    tile: PerAxis,
    cuts: PerAxis,
    tiles: Vec<Accessors>,
    /// Events that all of them come before, once somebody has asked.
    all: Option<Vec<EventIndex>>,
}

/// The tasks that access a tile, or the events that they trigger.
#[derive(Clone, Debug, Default)]
struct Accessors {
    tasks: Vec<NodeId>,
    events: Vec<EventIndex>,
}

impl History {
    /// Events that whoever accesses this tile has to wait for.
    pub fn before(&mut self, access: &Access<'_>, block: Block, events: &mut Events) -> Vec<EventIndex> {
        let bounds = access.cut.map(|operand| (operand.coordinates(block), &operand.tile));
        let mut found = Vec::new();
        if let Some(layer) = &mut self.write {
            layer.before(bounds.as_ref(), events, &mut found);
        }
        if access.writes {
            for layer in &mut self.reads {
                layer.before(bounds.as_ref(), events, &mut found);
            }
        }
        events.distinct(&mut found);
        found
    }

    /// Notes that `tasks`, each for a block, have read or written.
    pub fn note(&mut self, access: &Access<'_>, blocks: impl Iterator<Item = Block>, tasks: &[NodeId]) {
        let one = || [1].into_iter().collect();
        let (tile, cuts) = access.cut.map_or_else(|| (one(), one()), |o| (o.tile.clone(), o.cuts.clone()));
        let mut layer =
            Layer { tile, cuts, tiles: vec![Accessors::default(); access.known.len()], all: None };
        for (block, &task) in blocks.zip(tasks) {
            layer.tiles[access.tile(block)].tasks.push(task);
        }
        if access.writes {
            self.write = Some(layer);
            self.reads.clear();
        } else {
            self.reads.push(layer);
        }
    }
}

impl Layer {
    fn before(
        &mut self,
        bounds: Option<&(PerAxis, &PerAxis)>,
        events: &mut Events,
        found: &mut Vec<EventIndex>,
    ) {
        let whole: (PerAxis, PerAxis) = (self.tile.iter().map(|_| 0).collect(), self.cuts.clone());
        let (low, high): (PerAxis, PerAxis) = match bounds {
            Some((coordinates, tile)) if tile.len() == self.tile.len() && self.tiles.len() > 1 => {
                let sides = coordinates.iter().zip(*tile).zip(&self.tile);
                sides
                    .map(|((at, extent), own)| (at * extent / own, ((at + 1) * extent - 1) / own + 1))
                    .unzip()
            }
            _ => whole.clone(),
        };
        if (&low, &high) == (&whole.0, &whole.1) {
            if self.all.is_none() {
                let every: Vec<usize> = (0..self.tiles.len()).collect();
                self.all = Some(self.heads(&every, events));
            }
            if let Some(all) = &mut self.all {
                events.distinct(all);
                found.extend(&*all);
            }
            return;
        }
        let mut tiles = vec![0usize];
        for ((low, high), cuts) in low.iter().zip(&high).zip(&self.cuts) {
            tiles = tiles
                .iter()
                .flat_map(|at| (*low..*high).map(move |c| at * *cuts as usize + c as usize))
                .collect();
        }
        found.extend(self.heads(&tiles, events));
    }

    /// The heads of everyone who accesses these tiles.
    fn heads(&mut self, tiles: &[usize], events: &mut Events) -> Vec<EventIndex> {
        let mut tasks = Vec::new();
        for &tile in tiles {
            tasks.extend(&self.tiles[tile].tasks);
        }
        let mut found = events.heads(&tasks);
        for &tile in tiles {
            let Accessors { tasks, events: known } = &mut self.tiles[tile];
            known.extend(tasks.drain(..).map(|task| events.nodes[task.index()].head));
            events.distinct(known);
            found.extend(&*known);
        }
        events.distinct(&mut found);
        found
    }
}

/// The number of a tile in row-major order.
fn flat(coordinates: &PerAxis, cuts: &PerAxis) -> usize {
    coordinates.iter().zip(cuts).fold(0, |number, (at, cuts)| number * *cuts as usize + *at as usize)
}
