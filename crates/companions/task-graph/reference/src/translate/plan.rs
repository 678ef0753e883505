//! A kernel graph that breaks no TK rule of its own: every name is an index, every extent is divided (clauses TGR-11 to
//! TGR-13). Only [`super::check`] makes one.

use megakernel_ir::model::{Given, Text};
use megakernel_task_graph::{EVENT_INVALID, Task, Tile};
use smallvec::SmallVec;

/// One number an axis.
pub type PerAxis = SmallVec<[i64; 4]>;
/// A position in a grid: x, y, z.
pub type Block = [i64; 3];

/// What is to be translated.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Number of ranks.
    pub ranks: i64,
    /// The rank whose graph is wanted.
    pub rank: i64,
    /// The tensors, as declared.
    pub tensors: Vec<Tensor<'a>>,
    /// The operators, in order.
    pub operators: Vec<Operator>,
}

/// A declared tensor.
#[derive(Debug)]
pub struct Tensor<'a> {
    /// Its name.
    pub name: Text<'a>,
    /// Code of its element type.
    pub data_type: i64,
    /// Bits of an element.
    pub bits: i64,
    /// Extents.
    pub dims: PerAxis,
    /// Row-major strides, in elements.
    pub strides: PerAxis,
    /// The parts of a fused tensor; empty for others.
    pub parts: Vec<Part>,
    /// Rows of all parts in one group; the extent of axis 0 for tensors that are not fused.
    pub group_rows: i64,
}

/// A part of a fused tensor.
#[derive(Debug)]
pub struct Part {
    /// Index of the tensor that it is.
    pub tensor: usize,
    /// First row within each group.
    pub begin: i64,
    /// Rows in each group.
    pub rows: i64,
}

/// An operator: one task, or several of an all-reduce, for each block of its grid.
#[derive(Debug)]
pub struct Operator {
    /// Type of its tasks.
    pub task_type: i64,
    /// Which of the variants of that type (clause TGR-15).
    pub variant: i64,
    /// Extents x, y, z.
    pub grid: Block,
    /// What it reads; nothing where an operand is left out.
    pub inputs: Vec<Option<Operand>>,
    /// What it writes.
    pub outputs: Vec<Operand>,
}

/// A tensor as an operator cuts it.
#[derive(Debug)]
pub struct Operand {
    /// Index of the tensor.
    pub tensor: usize,
    /// For x, y, z: the axis that it cuts.
    pub map: [Option<usize>; 3],
    /// Extents of a tile.
    pub tile: PerAxis,
    /// Number of tiles along each axis.
    pub cuts: PerAxis,
}

impl Operator {
    /// The operands of an all-reduce: partial sum, buffer, sum.
    pub fn all_reduce(&self) -> Option<[&Operand; 3]> {
        match (&*self.inputs, &*self.outputs) {
            ([Some(partial), Some(buffer)], [sum]) if self.task_type == super::ALL_REDUCE => {
                Some([partial, buffer, sum])
            }
            _ => None,
        }
    }

    /// Every block, x outermost.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        blocks_between([0; 3], self.grid)
    }

    /// How many there are.
    pub fn blocks_count(&self) -> usize {
        self.grid.iter().product::<i64>() as usize
    }

    /// The block at a place of that order.
    pub fn block(&self, place: u32) -> Block {
        let (place, [_, y, z]) = (i64::from(place), self.grid);
        [place / z / y, place / z % y, place % z]
    }

    /// The place of a block in that order.
    pub fn place(&self, block: Block) -> usize {
        ((block[0] * self.grid[1] + block[1]) * self.grid[2] + block[2]) as usize
    }
}

/// Every block of a box, x outermost.
pub fn blocks_between(low: Block, high: Block) -> impl Iterator<Item = Block> {
    (low[0]..high[0])
        .flat_map(move |x| (low[1]..high[1]).flat_map(move |y| (low[2]..high[2]).map(move |z| [x, y, z])))
}

impl Operand {
    /// The coordinates, in tiles, of what a block uses.
    pub fn coordinates(&self, block: Block) -> PerAxis {
        let mut coordinates: PerAxis = self.tile.iter().map(|_| 0).collect();
        for (axis, along) in self.map.iter().zip(block) {
            if let Some(coordinate) = axis.and_then(|axis| coordinates.get_mut(axis)) {
                *coordinate = along;
            }
        }
        coordinates
    }
}

impl<'a> Plan<'a> {
    /// The part of a tensor that a block uses (clause TGR-13).
    pub fn tile(&self, operand: &Operand, block: Block) -> Tile<'a> {
        self.tile_from(operand, block, 0)
    }

    /// The same, `skipped` elements further on.
    pub fn tile_from(&self, operand: &Operand, block: Block, skipped: i64) -> Tile<'a> {
        let whole = &self.tensors[operand.tensor];
        let mut at = operand.coordinates(block);
        at.iter_mut().zip(&operand.tile).for_each(|(at, tile)| *at *= tile);
        let mut stored = whole;
        if let Some((part, row)) = at.first().and_then(|&row| whole.part_of(row)) {
            stored = &self.tensors[part];
            at[0] = row;
        }
        let elements: i64 = at.iter().zip(&stored.strides).map(|(at, stride)| at * stride).sum();
        Tile {
            base_ptr: stored.name.clone(),
            data_type: whole.data_type,
            dims: operand.tile.clone(),
            offset: (i128::from(elements + skipped) * i128::from(stored.bits) / 8) as i64,
            strides: stored.strides.clone(),
            extra: Vec::new(),
        }
    }

    /// The task of a block, with no events yet.
    pub fn task(&self, operator: &Operator, block: Block) -> Task<'a> {
        let inputs = operator
            .inputs
            .iter()
            .map(|operand| operand.as_ref().map_or_else(null_tile, |o| self.tile(o, block)));
        let outputs = operator.outputs.iter().map(|operand| self.tile(operand, block));
        task(operator.task_type, operator.variant, inputs.collect(), outputs.collect())
    }
}

impl Tensor<'_> {
    /// Number of elements.
    pub fn elements(&self) -> i64 {
        self.dims.iter().product()
    }

    /// Of a fused tensor: the tensor that holds a row, and the row there.
    fn part_of(&self, row: i64) -> Option<(usize, i64)> {
        let (group, within) = (row / self.group_rows, row % self.group_rows);
        let part = self.parts.iter().rev().find(|part| part.begin <= within)?;
        Some((part.tensor, group * part.rows + within - part.begin))
    }
}

/// A task with no events. A list of operands that is empty is null, as published graphs have it.
pub fn task<'a>(task_type: i64, variant: i64, inputs: Vec<Tile<'a>>, outputs: Vec<Tile<'a>>) -> Task<'a> {
    let some = |tiles: Vec<Tile<'a>>| (!tiles.is_empty()).then_some(tiles);
    Task {
        dependent_event: EVENT_INVALID,
        expert_offset: Given(None),
        inputs: some(inputs),
        kv_idx: Given(None),
        merge_task_offset: Given(None),
        outputs: some(outputs),
        request_id: Given(None),
        task_offset: Given(None),
        task_type,
        trigger_event: EVENT_INVALID,
        variant_id: variant,
        extra: Vec::new(),
    }
}

/// The tile of an operand that is left out.
fn null_tile<'a>() -> Tile<'a> {
    Tile {
        base_ptr: Text::from(megakernel_task_graph::NULL_TENSOR),
        data_type: super::UNKNOWN_ELEMENT,
        dims: SmallVec::new(),
        offset: 0,
        strides: SmallVec::new(),
        extra: Vec::new(),
    }
}
