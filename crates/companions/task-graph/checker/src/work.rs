//! The tasks that each operator of a kernel graph becomes (clauses TGR-12 to TGR-15), written down from the clauses. The sound
//! translation has the same work, in any order; cases of the exact translation build on it too.

use std::collections::BTreeMap;

use megakernel_task_graph::{
    KernelGraph, NULL_TENSOR, Operand, Operator, TensorDecl, TensorKind, element_bits,
};
use serde_json::{Value, json};

/// Or what is wrong with the graph.
type Result<T> = std::result::Result<T, String>;

/// A part of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// Name of the tensor.
    pub base: String,
    /// Code of the element type.
    pub dtype: i64,
    /// Extents.
    pub dims: Vec<i64>,
    /// Strides in elements.
    pub strides: Vec<i64>,
    /// Where it begins, in bytes.
    pub offset: i64,
}

impl Tile {
    /// An operand that is left out.
    pub fn null() -> Tile {
        Tile { base: NULL_TENSOR.to_owned(), dtype: 999, dims: Vec::new(), strides: Vec::new(), offset: 0 }
    }

    /// As the document has it.
    pub fn json(&self) -> Value {
        json!({
            "base_ptr": self.base, "data_type": self.dtype, "dims": self.dims, "offset": self.offset,
            "strides": self.strides
        })
    }
}

/// Operators of this type become copies and reductions.
pub const ALL_REDUCE: i64 = 106;
/// Adds up what was copied.
pub const REDUCE: i64 = 107;
/// Copies a block to a rank.
pub const COPY: i64 = 199;

/// A task that an operator becomes.
#[derive(Clone, Debug)]
pub struct Work {
    /// Which operator.
    pub operator: usize,
    /// Block of the grid.
    pub block: [i64; 3],
    /// Type.
    pub task_type: i64,
    /// Variant.
    pub variant: i64,
    /// What it reads.
    pub inputs: Vec<Tile>,
    /// What it writes.
    pub outputs: Vec<Tile>,
    /// Of a copy: the rank that it copies to.
    pub target: Option<i64>,
}

/// The tasks of every operator, on one of `ranks` ranks. With `own` each block is copied to the own rank too.
///
/// # Errors
/// The graph breaks a TK rule.
pub fn work(graph: &KernelGraph<'_>, ranks: i64, rank: i64, own: bool) -> Result<Vec<Vec<Work>>> {
    let mut variants: BTreeMap<i64, Vec<Value>> = BTreeMap::new();
    let mut all = Vec::new();
    for (n, operator) in graph.operators.iter().enumerate() {
        let mut tasks = Vec::new();
        let mut reductions = Vec::new();
        for block in blocks(grid(operator)) {
            let inputs: Vec<Tile> = operator
                .inputs
                .iter()
                .map(|input| {
                    input.as_ref().map_or(Ok(Tile::null()), |input| tile(graph, operator, input, block))
                })
                .collect::<Result<_>>()?;
            let outputs: Vec<Tile> = operator
                .outputs
                .iter()
                .map(|output| tile(graph, operator, output, block))
                .collect::<Result<_>>()?;
            let plain = Work {
                operator: n,
                block,
                task_type: operator.task_type,
                variant: 0,
                inputs,
                outputs,
                target: None,
            };
            if operator.task_type != ALL_REDUCE {
                tasks.push(plain);
                continue;
            }
            let [Some(partial), Some(slots)] = [plain.inputs.first(), plain.inputs.get(1)] else {
                return Err(format!("all-reduce `{}` has fewer than 2 inputs", operator.name));
            };
            let name = operator.inputs.first().and_then(Option::as_ref).map_or("", |input| &input.tensor);
            let whole: i64 = declared(graph, name)?.dims.iter().product();
            let slot = Tile {
                offset: slots.offset + rank * whole * element_bits(partial.dtype).unwrap_or(8) / 8,
                ..slots.clone()
            };
            for target in (0..ranks).filter(|target| own || *target != rank) {
                tasks.push(Work {
                    task_type: COPY,
                    inputs: vec![partial.clone()],
                    outputs: vec![slot.clone()],
                    target: Some(target),
                    ..plain.clone()
                });
            }
            reductions.push(Work { task_type: REDUCE, ..plain });
        }
        tasks.extend(reductions);
        // Three types have one variant only.
        if ![ALL_REDUCE, REDUCE, 109].contains(&operator.task_type) {
            let key = tasks.first().map(|task| variant_key(task, operator)).unwrap_or_default();
            let known = variants.entry(operator.task_type).or_default();
            let variant = known.iter().position(|other| *other == key).unwrap_or_else(|| {
                known.push(key);
                known.len() - 1
            });
            tasks.iter_mut().for_each(|task| task.variant = variant as i64);
        }
        all.push(tasks);
    }
    Ok(all)
}

/// What code depends on: shapes, strides and element types of the tiles, and the parameters.
fn variant_key(task: &Work, operator: &Operator<'_>) -> Value {
    let tiles = |tiles: &[Tile]| -> Vec<Value> {
        tiles.iter().map(|tile| json!([tile.dims, tile.strides, tile.dtype])).collect()
    };
    json!([tiles(&task.inputs), tiles(&task.outputs), operator.params.value()])
}

/// Blocks along each axis of the grid.
pub fn grid(operator: &Operator<'_>) -> [i64; 3] {
    [0, 1, 2].map(|axis| operator.grid.get(axis).copied().unwrap_or(1))
}

/// Every block, x slowest.
fn blocks([x, y, z]: [i64; 3]) -> Vec<[i64; 3]> {
    (0..x).flat_map(|x| (0..y).flat_map(move |y| (0..z).map(move |z| [x, y, z]))).collect()
}

fn declared<'a>(graph: &'a KernelGraph<'a>, name: &str) -> Result<&'a TensorDecl<'a>> {
    let found = graph.tensors.iter().find(|tensor| &*tensor.name == name);
    found.ok_or_else(|| format!("no tensor is named `{name}`"))
}

fn strides(tensor: &TensorDecl<'_>) -> Vec<i64> {
    (0..tensor.dims.len()).map(|d| tensor.dims.iter().skip(d + 1).product()).collect()
}

/// The grid axis that cuts an axis of a tensor.
pub fn cut(map: &[i64], axis: usize) -> Option<usize> {
    map.iter().position(|&cut| cut == axis as i64)
}

/// The part of a tensor that a block uses.
fn tile(
    graph: &KernelGraph<'_>,
    operator: &Operator<'_>,
    operand: &Operand<'_>,
    block: [i64; 3],
) -> Result<Tile> {
    let tensor = declared(graph, &operand.tensor)?;
    let grid = grid(operator);
    let extents: Vec<i64> = tensor
        .dims
        .iter()
        .enumerate()
        .map(|(d, extent)| cut(&operand.map, d).map_or(*extent, |axis| extent / grid[axis]))
        .collect();
    let start =
        |d: usize| cut(&operand.map, d).map_or(0, |axis| block[axis] * extents.get(d).copied().unwrap_or(0));
    let mut starts: Vec<i64> = (0..extents.len()).map(start).collect();
    let mut holder = tensor;
    if tensor.io == TensorKind::Fused {
        let groups = tensor.num_groups.0.unwrap_or(1);
        let parts: Vec<&TensorDecl<'_>> =
            tensor.parts.iter().map(|name| declared(graph, name)).collect::<Result<_>>()?;
        let share = |part: &TensorDecl<'_>| part.dims.first().copied().unwrap_or(0) / groups;
        let group: i64 = parts.iter().map(|part| share(part)).sum();
        let row = starts.first().copied().unwrap_or(0);
        let mut within = row % group;
        for part in parts {
            if within < share(part) {
                holder = part;
                if let Some(start) = starts.first_mut() {
                    *start = row / group * share(part) + within;
                }
                break;
            }
            within -= share(part);
        }
    }
    let strides = strides(holder);
    let first: i64 = starts.iter().zip(&strides).map(|(start, stride)| start * stride).sum();
    let offset = first * element_bits(holder.data_type).unwrap_or(8) / 8;
    Ok(Tile { base: holder.name.to_string(), dtype: tensor.data_type, dims: extents, strides, offset })
}
