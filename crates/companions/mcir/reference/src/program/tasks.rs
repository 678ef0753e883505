//! The tasks of a region.

use std::collections::{BTreeSet, HashMap};

use megakernel_mcir::{Binary, Body, Function, Index, Op, Region, Unary};
use serde_json::{Value as Json, json};

use super::NoProgram;
use super::buffers::Buffers;
use super::find::{Found, Norm, Product, Tiles, form};
use crate::world::{World, nodes};

/// The most tasks of one product.
const MOST_TASKS: usize = 1 << 20;

/// A task of the program.
pub struct Task {
    op: &'static str,
    inputs: Vec<usize>,
    output: usize,
    params: Json,
    label: String,
}

impl Task {
    /// As a program has it: a counter for each buffer counts the tasks that write it. `ids` has the id of each buffer.
    pub fn json(&self, id: usize, buffers: &Buffers<'_>, ids: &[usize]) -> Json {
        let of = |buffer: usize| ids.get(buffer).copied().unwrap_or_default();
        let read: BTreeSet<usize> = self.inputs.iter().copied().collect();
        let waits = read.into_iter().filter_map(|buffer| {
            let writers = buffers.writers(buffer);
            (writers > 0).then(|| json!({"counter": of(buffer), "threshold": writers}))
        });
        let inputs: Vec<usize> = self.inputs.iter().map(|&buffer| of(buffer)).collect();
        json!({
            "id": id, "op": self.op, "inputs": inputs, "outputs": [of(self.output)], "out_counter": of(self.output),
            "waits": waits.collect::<Vec<_>>(), "params": self.params, "label": self.label,
        })
    }
}

pub(super) type Form = (Vec<(u32, i64)>, i64);

/// A tile of all blocks at once: the buffer that holds it, and how it lies there as a tensor.
#[derive(Clone)]
pub(super) struct Whole {
    pub buffer: usize,
    /// The tensor of the document, if it is one.
    pub tensor: Option<u32>,
    pub at: Vec<Form>,
    pub shape: Vec<i64>,
}

/// The lowering of a region.
pub struct Lowering<'l, 'd> {
    pub(super) world: &'d World<'d>,
    number: usize,
    pub(super) region: &'d Region,
    tiles: Tiles<'d>,
    pub(super) buffers: &'l mut Buffers<'d>,
    tasks: &'l mut Vec<Task>,
    known: HashMap<u32, Whole>,
    /// Whether what is stored now is stored in each iteration.
    pub(super) is_in_each: bool,
}

impl<'l, 'd> Lowering<'l, 'd> {
    pub fn new(
        world: &'d World<'d>,
        number: usize,
        region: &'d Region,
        buffers: &'l mut Buffers<'d>,
        tasks: &'l mut Vec<Task>,
    ) -> Lowering<'l, 'd> {
        let tiles = Tiles::new(world, number, region);
        Lowering { world, number, region, tiles, buffers, tasks, known: HashMap::new(), is_in_each: false }
    }

    pub(super) fn name(&self, value: u32) -> &'d str {
        self.world.name(value)
    }

    /// The tasks of all that the region stores.
    pub fn region(&mut self) -> Result<(), NoProgram> {
        for site in nodes(self.number, self.region) {
            let (Op::StoreTile(at), &[tile], &[tensor]) =
                (&site.node.op, site.node.ins.as_slice(), site.node.outs.as_slice())
            else {
                continue;
            };
            let shape = self.world.value(tensor).shape.to_vec();
            let (buffer, _) = self.buffers.tensor(tensor, &shape);
            if self.buffers.writers(buffer) > 0 {
                let reason = format!("`{}` is stored by more than one node", self.name(tensor));
                return Err(NoProgram::at(site.pointer(), reason));
            }
            self.is_in_each = site.body == Body::Each && self.region.stream.is_some();
            let target = Whole { buffer, tensor: Some(tensor), at: at.iter().map(form).collect(), shape };
            if let Some(known) = self.known.get(&tile).cloned() {
                self.same(&known, &target, &site.pointer())?;
                self.task("COPY", &[known.buffer], buffer, json!({}));
            } else {
                self.made(tile, Some((&target, site.pointer())))?;
            }
        }
        Ok(())
    }

    pub(super) fn task(&mut self, op: &'static str, inputs: &[usize], output: usize, params: Json) {
        let label = self.name(self.region.id).to_owned();
        inputs.iter().for_each(|&buffer| self.buffers.touched(buffer, false));
        self.buffers.touched(output, true);
        self.tasks.push(Task { op, inputs: inputs.to_vec(), output, params, label });
    }

    /// Two tiles have to be the same part of tensors of the same shape, since opcodes read and write whole buffers.
    fn same(&self, one: &Whole, other: &Whole, pointer: &str) -> Result<(), NoProgram> {
        if one.at == other.at && one.shape == other.shape {
            return Ok(());
        }
        let reason = format!(
            "its operands are different parts of what they belong to, {:?} and {:?}: an opcode takes elements at the same places, and none moves or \
             transposes them",
            one.shape, other.shape
        );
        Err(NoProgram::at(pointer.to_owned(), reason))
    }

    /// The buffer for what is computed: that of the tensor which it is stored in, or one between tasks.
    pub(super) fn output(
        &mut self,
        tile: u32,
        mut like: Whole,
        target: Option<(&Whole, String)>,
    ) -> Result<Whole, NoProgram> {
        match target {
            Some((target, pointer)) => {
                self.same(&like, target, &pointer)?;
                (like.buffer, like.tensor) = (target.buffer, target.tensor);
            }
            None => {
                let name = format!("{}.{}", self.name(self.region.id), self.name(tile));
                like.buffer = self.buffers.scratch(&name, self.world.value(tile).dtype, &like.shape);
                like.tensor = None;
            }
        }
        self.known.insert(tile, like.clone());
        Ok(like)
    }

    /// A tile that is there, or that is computed now.
    pub(super) fn value(&mut self, tile: u32) -> Result<Whole, NoProgram> {
        if self.is_in_each && self.region.state.iter().any(|state| state.value == tile) {
            let pointer = self.tiles.of(tile).map_or_else(String::new, |found| found.pointer.clone());
            let name = self.name(tile);
            let reason =
                format!("`{name}` is read before the stream ends, and no opcode computes parts of a sum");
            return Err(NoProgram::at(pointer, reason));
        }
        if let Some(known) = self.known.get(&tile) {
            return Ok(known.clone());
        }
        if let Some(found) = self.tiles.of(tile)
            && let (Op::LoadTile(at) | Op::Prefetch(at, _), &[tensor]) =
                (&found.node.op, found.node.ins.as_slice())
        {
            let shape = self.world.value(tensor).shape.to_vec();
            let (buffer, _) = self.buffers.tensor(tensor, &shape);
            return Ok(Whole { buffer, tensor: Some(tensor), at: at.iter().map(form).collect(), shape });
        }
        self.made(tile, None)
    }

    /// Computes a tile of all blocks.
    fn made(&mut self, tile: u32, target: Option<(&Whole, String)>) -> Result<Whole, NoProgram> {
        let Some(found) = self.tiles.of(tile).cloned() else {
            return Err(NoProgram::at(String::new(), format!("nothing produces `{}`", self.name(tile))));
        };
        if let Some(attention) = self.tiles.attention(tile) {
            return self.attention(tile, &attention, target);
        }
        if let Some(product) = self.tiles.product(tile) {
            return self.product(tile, &product, target);
        }
        let width = self.world.value(tile).shape.last().copied().unwrap_or(1);
        if let Some(norm) = self.tiles.norm(tile, width) {
            return self.norm(tile, &found, &norm, width, target);
        }
        if let Some((gate, up)) = self.tiles.gated(tile) {
            return self.each(tile, &found, "SILU_MUL", &[gate, up], target);
        }
        if self.tiles.is_rotated(tile) {
            let reason = "it turns rows by cosines and sines that are read, and ROPE takes positions, of which it computes them itself";
            return Err(NoProgram::at(found.pointer.clone(), reason));
        }
        let ins = found.node.ins.clone();
        match &found.node.op {
            Op::LoadTile(_) | Op::Prefetch(..) => self.each(tile, &found, "COPY", &[tile], target),
            Op::Compute(Function::Unary(Unary::Copy)) => self.each(tile, &found, "COPY", &ins, target),
            Op::Compute(Function::Unary(Unary::Gelu)) => self.each(tile, &found, "GELU", &ins, target),
            Op::Compute(Function::Binary(Binary::Add, None)) => self.each(tile, &found, "ADD", &ins, target),
            Op::Compute(Function::Binary(Binary::Mul, None)) => self.each(tile, &found, "MUL", &ins, target),
            _ => Err(NoProgram::at(found.pointer.clone(), missing(&found.node.op))),
        }
    }

    /// An opcode that makes one element of one element of each operand.
    fn each(
        &mut self,
        tile: u32,
        found: &Found<'d>,
        op: &'static str,
        ins: &[u32],
        target: Option<(&Whole, String)>,
    ) -> Result<Whole, NoProgram> {
        let mut operands = Vec::with_capacity(ins.len());
        for &tile in ins {
            operands.push(self.value(tile)?);
        }
        let Some(first) = operands.first().cloned() else {
            return Err(NoProgram::at(found.pointer.clone(), "it has no operand"));
        };
        operands.iter().try_for_each(|other| self.same(&first, other, &found.pointer))?;
        let made = self.output(tile, first, target)?;
        let inputs: Vec<usize> = operands.iter().map(|operand| operand.buffer).collect();
        self.task(op, &inputs, made.buffer, json!({}));
        Ok(made)
    }

    /// The buffer with a tile in another shape of as many elements.
    pub(super) fn shaped(&mut self, tile: u32, whole: &Whole, shape: Vec<i64>) -> usize {
        if whole.shape == shape {
            return whole.buffer;
        }
        let (buffer, is_new) = match whole.tensor {
            Some(tensor) => self.buffers.tensor(tensor, &shape),
            None => {
                let name = format!("{}.{}", self.name(self.region.id), self.name(tile));
                (self.buffers.scratch(&name, self.world.value(tile).dtype, &shape), true)
            }
        };
        if is_new && !whole.tensor.is_some_and(|tensor| self.world.is_input(tensor)) {
            self.task("COPY", &[whole.buffer], buffer, json!({}));
        }
        buffer
    }

    /// The values of an axis that runs through all of an extent, with its step; one value with all of it where an index is 0.
    fn parts(&self, at: &Form, extent: i64, size: i64) -> Option<Vec<(i64, i64)>> {
        if *at == (Vec::new(), 0) {
            return (size >= extent).then(|| vec![(0, extent)]);
        }
        let (&[(axis, 1)], 0) = (at.0.as_slice(), at.1) else { return None };
        let step = self.region.tile.shape.iter().find(|(name, _)| *name == axis)?.1;
        let of_block = self.region.tile.blocks.iter().find(|(name, _)| *name == axis);
        let runs = of_block.is_some_and(|&(_, to)| to == extent) || self.streams(axis, extent);
        let parts =
            || (0..).map(|number| number * step).take_while(|&from| from < extent).take(MOST_TASKS + 1);
        runs.then(|| parts().map(|from| (from, step.min(extent - from))).collect())
    }

    /// Whether the stream runs along an axis through all of an extent, in every block.
    pub(super) fn streams(&self, axis: u32, extent: i64) -> bool {
        let Some(stream) = &self.region.stream else { return false };
        let is = |index: &Index, number: i64| form(index) == (Vec::new(), number);
        stream.axis == axis
            && stream.from.iter().all(|index| is(index, 0))
            && matches!(stream.to.as_slice(), [to] if is(to, extent))
    }

    /// Whether the tiles of the stream follow each other along an axis of theirs: no gap, and nothing twice.
    pub(super) fn follow(&self, tile: u32, along: usize, extent: i64) -> bool {
        let axis = self.region.stream.as_ref().map_or(u32::MAX, |stream| stream.axis);
        let step = self.region.tile.shape.iter().find(|(name, _)| *name == axis).map(|&(_, step)| step);
        let size = self.world.value(tile).shape.get(along).copied();
        step.zip(size).is_some_and(|(step, size)| step.min(extent) == size.min(extent))
    }

    fn product(
        &mut self,
        tile: u32,
        product: &Product<'d>,
        target: Option<(&Whole, String)>,
    ) -> Result<Whole, NoProgram> {
        let refused = |reason: String| NoProgram::at(product.found.pointer.clone(), reason);
        let (left, right) = (self.name(product.x), self.name(product.w));
        if !product.by_rows {
            return Err(refused(format!(
                "`{right}` stands the wrong way round: GEMM_TILE and GEMV_TILE multiply with the rows of their second operand, as `matmul_nt` does, and \
                 no opcode transposes"
            )));
        }
        if product.is_streamed && self.is_in_each {
            return Err(refused(
                "its sum is stored before the stream ends, and no opcode computes parts of a sum".to_owned(),
            ));
        }
        // What is summed up in each iteration is what the iteration has. An error ends the lowering, so nothing is put back then.
        let is_in_each = self.is_in_each;
        self.is_in_each |= product.is_streamed && self.region.stream.is_some();
        let (x, w) = (self.value(product.x)?, self.value(product.w)?);
        self.is_in_each = is_in_each;
        let (&[m, k], &[n, inner]) = (x.shape.as_slice(), w.shape.as_slice()) else {
            return Err(refused(format!(
                "`{left}` and `{right}` are parts of tensors that are no matrices, and GEMM_TILE takes matrices alone"
            )));
        };
        let sizes = |tile: u32| self.world.value(tile).shape.clone();
        let (tile_x, tile_w) = (sizes(product.x), sizes(product.w));
        let runs_through = if product.is_streamed {
            let axis = self.region.stream.as_ref().map_or(u32::MAX, |stream| stream.axis);
            x.at[1] == (vec![(axis, 1)], 0) && self.streams(axis, k) && self.follow(product.x, 1, k)
        } else {
            x.at[1] == (Vec::new(), 0) && tile_x[1] >= k
        };
        if !runs_through || x.at[1] != w.at[1] || k != inner {
            return Err(refused(format!(
                "GEMM_TILE sums up whole rows of `{left}` and `{right}`, and the document parts of them"
            )));
        }
        let rows = self.parts(&x.at[0], m, tile_x[0]);
        let columns = self.parts(&w.at[0], n, tile_w[0]);
        let (Some(rows), Some(columns)) = (rows, columns) else {
            return Err(refused(format!(
                "the blocks do not run through all rows of `{left}` and of `{right}`, each by an axis of its own"
            )));
        };
        if rows.len().saturating_mul(columns.len()) > MOST_TASKS {
            return Err(refused(format!("it would be more than {MOST_TASKS} tasks of GEMM_TILE")));
        }
        let mut inputs = vec![x.buffer, w.buffer];
        if let Some(bias) = product.bias {
            let added = self.value(bias)?;
            if added.at != [w.at[0].clone()] || added.shape != [n] {
                let reason = format!("`{}` is no bias of the columns that are computed", self.name(bias));
                return Err(refused(reason));
            }
            inputs.push(added.buffer);
        }
        let like =
            Whole { buffer: 0, tensor: None, at: vec![x.at[0].clone(), w.at[0].clone()], shape: vec![m, n] };
        let made = self.output(tile, like, target)?;
        for &(m_off, m_tile) in &rows {
            for &(n_off, n_tile) in &columns {
                let mut params = json!({"K": k, "N_tile": n_tile, "n_off": n_off});
                let op = if m == 1 {
                    "GEMV_TILE"
                } else {
                    (params["M_tile"], params["m_off"]) = (json!(m_tile), json!(m_off));
                    "GEMM_TILE"
                };
                self.task(op, &inputs, made.buffer, params);
            }
        }
        Ok(made)
    }

    fn norm(
        &mut self,
        tile: u32,
        found: &Found<'d>,
        norm: &Norm,
        width: i64,
        target: Option<(&Whole, String)>,
    ) -> Result<Whole, NoProgram> {
        let op = if norm.is_layer { "LAYERNORM" } else { "RMSNORM" };
        let x = self.value(norm.x)?;
        let mut inputs = vec![x.buffer];
        let is_whole = x.shape.last() == Some(&width) && x.at.last() == Some(&(Vec::new(), 0));
        let mut are_rows = true;
        for weight in [Some(norm.weight), norm.bias].into_iter().flatten() {
            let weight = self.value(weight)?;
            are_rows &= weight.shape == [width] && weight.at == [(Vec::new(), 0)];
            inputs.push(weight.buffer);
        }
        if !is_whole || !are_rows {
            let reason = format!("{op} takes whole rows, and a weight for each column of them");
            return Err(NoProgram::at(found.pointer.clone(), reason));
        }
        let made = self.output(tile, x, target)?;
        self.task(
            op,
            &inputs,
            made.buffer,
            json!({"eps": norm.eps.0 as f64 / norm.eps.1 as f64, "hidden": width}),
        );
        Ok(made)
    }
}

/// Which opcode there is not.
fn missing(op: &Op) -> String {
    let what = match op {
        Op::Compute(Function::Matmul(_)) => "a product that stands where it does",
        Op::Compute(Function::Transpose) => "`transpose`",
        Op::Compute(Function::Unary(function)) => {
            return format!("no opcode computes `{}` by itself", function.name());
        }
        Op::Compute(Function::Binary(function, along)) => {
            let along = along.map_or(String::new(), |along| format!(" along `{}`", along.name()));
            return format!("no opcode computes `{}`{along} by itself", function.name());
        }
        Op::Compute(Function::Scale(..)) => "`scale` by itself",
        Op::Compute(Function::Mask(..)) => "`mask` by itself",
        Op::Reduce(fold, _) => {
            return format!("no opcode computes a `{}` along an axis by itself", fold.name());
        }
        Op::UpdateState(update) => {
            return format!(
                "no opcode keeps this state by `{}`: products of binary32 are summed up from 0 on by GEMM_TILE, and ATTENTION_TILE has the states of a \
                 softmax that is not rounded on the way",
                update.name()
            );
        }
        _ => "this",
    };
    format!("no opcode computes {what}")
}
