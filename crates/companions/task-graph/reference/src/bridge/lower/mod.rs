//! The tasks of the program.

mod attention;
mod buffers;
mod experts;

use std::collections::BTreeMap;

use megakernel_ir::{BufferKind, Opcode};
use serde_json::{Map, Value, json};

use super::Refusal;
use super::boxes::{Boxes, Form, Home};
use super::host::{Piece, Record, Records};
use super::order::{Order, TaskRef};
use super::tensors::{Area, Tensors};
use super::work::{Left, Plan, Work};

/// A task of the program before its counters are known.
pub(super) struct Step {
    pub op: Opcode,
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
    pub params: Map<String, Value>,
}

/// The steps of each task of the graph, in its order, and the buffers.
pub(super) struct Lowered {
    pub steps: Vec<(TaskRef, Vec<Step>)>,
    pub records: Records,
    /// The buffer with the position.
    pub positions: Option<usize>,
    /// The buffers with the positions of rows of the batch.
    pub row_positions: BTreeMap<i64, usize>,
}

/// Lowers every task.
pub(super) fn lower(
    plan: &Plan,
    boxes: &Boxes,
    order: &Order,
    tensors: &Tensors<'_>,
    position: i64,
    ranks: usize,
    refusals: &mut Vec<Refusal>,
) -> Lowered {
    let mut records = Records::default();
    for found in &boxes.boxes {
        let prefix = if ranks > 1 { format!("r{}.", found.area.rank) } else { String::new() };
        records.add(Record {
            name: format!("{prefix}{}", tensors.label(&found.area)),
            kind: found.kind,
            dtype: tensors.dtype(found.area.tensor),
            shape: found.shape(),
            source: None,
            // Scratch is nothing that the host sees.
            pieces: match found.kind {
                BufferKind::Activation => Vec::new(),
                _ => vec![Piece { area: found.area, at: 0 }],
            },
            values: Vec::new(),
        });
    }
    let mut lowered = Lowered { steps: Vec::new(), records, positions: None, row_positions: BTreeMap::new() };
    for (task, work) in &plan.tasks {
        let mut lowering = Lowering {
            plan,
            boxes,
            order,
            tensors,
            position,
            prefix: if ranks > 1 { format!("r{}.t{}", task.0, task.1) } else { format!("t{}", task.1) },
            lowered: &mut lowered,
            steps: Vec::new(),
        };
        match lowering.work(work) {
            Ok(()) => {
                let steps = lowering.steps;
                lowered.steps.push((*task, steps));
            }
            Err(reason) => {
                refusals.push(Refusal { pointer: format!("/all_tasks/{}", task.1), rank: task.0, reason });
            }
        }
    }
    lowered
}

struct Lowering<'p, 'k> {
    plan: &'p Plan,
    boxes: &'p Boxes,
    order: &'p Order,
    tensors: &'p Tensors<'k>,
    position: i64,
    /// How scratch of this task is called.
    prefix: String,
    lowered: &'p mut Lowered,
    steps: Vec<Step>,
}

/// A result on its way: the buffer that the opcode writes, and where KV_APPEND puts it if that is scratch.
struct Target {
    buffer: usize,
    then: Option<(usize, i64)>,
}

/// A part of a residual: its box, the buffer to read, and its columns.
type ResidualPart = (usize, usize, Area);

impl Lowering<'_, '_> {
    fn work(&mut self, work: &Work) -> Result<(), String> {
        match work {
            Work::Nothing => self.step(Opcode::Nop, &[], None, json!({})),
            Work::ArgmaxReduce { .. } => return Err("its parts are not known".to_owned()),
            &Work::Embed { ids, table, out } => {
                let (ids, area) = (self.load(ids)?, self.of(table)?.area);
                let kind = BufferKind::Weight;
                let table =
                    self.lowered.records.whole(kind, area, vec![area.rows(), area.width()], self.tensors);
                let target = self.store(out)?;
                let params = json!({"hidden": area.width()});
                self.step(Opcode::Embed, &[ids, table], Some(target), params);
            }
            &Work::Norm { x, weight, eps, out } => {
                let (x, hidden) = (self.load(x)?, self.of(x)?.area.width());
                let weight = self.weight(weight)?;
                let target = self.store(out)?;
                self.step(Opcode::RmsNorm, &[x, weight], Some(target), json!({"eps": eps, "hidden": hidden}));
            }
            &Work::SiluMul { gate, up, out } => {
                let (gate, up) = (self.load(gate)?, self.load(up)?);
                let target = self.store(out)?;
                self.step(Opcode::SiluMul, &[gate, up], Some(target), json!({}));
            }
            &Work::Linear { left, weight, residual, out } => self.linear(left, weight, residual, out)?,
            Work::Attention(tokens) => tokens.iter().try_for_each(|token| self.attention(token))?,
            Work::Routed(_) => return Err("its rows are not known".to_owned()),
            Work::Experts(products) => products.iter().try_for_each(|product| {
                self.linear(Left::Plain(product.x), product.weight, None, product.out)
            })?,
            Work::Choose(choose) => self.choose(choose)?,
            Work::ExpertSum(sums) => sums.iter().try_for_each(|sum| self.expert_sum(sum))?,
            &Work::Zero { out } => self.zero(out)?,
            &Work::Add { left, right, out } => {
                let (left, right) = (self.load(left)?, self.load(right)?);
                let target = self.store(out)?;
                self.step(Opcode::Add, &[left, right], Some(target), json!({}));
            }
            &Work::Argmax { logits, out } => {
                let logits = self.load(logits)?;
                let target = self.store(out)?;
                self.step(Opcode::SampleArgmax, &[logits], Some(target), json!({}));
            }
            Work::Sum { shards, out } => {
                let inputs: Result<Vec<usize>, String> =
                    shards.iter().map(|&shard| self.load(shard)).collect();
                let (inputs, target) = (inputs?, self.store(*out)?);
                self.step(Opcode::AllreduceShard, &inputs, Some(target), json!({}));
            }
            &Work::Copy { from, to } => {
                let from = self.load(from)?;
                let target = self.store(to)?;
                self.step(Opcode::Copy, &[from], Some(target), json!({}));
            }
        }
        Ok(())
    }

    /// A matrix product, with what comes before it and the residual after it; one GEMV_TILE for each buffer on the way.
    fn linear(
        &mut self,
        left: Left,
        weight: usize,
        residual: Option<usize>,
        out: usize,
    ) -> Result<(), String> {
        let x = match left {
            Left::Plain(x) => self.load(x)?,
            Left::Norm { x, weight, eps } => {
                let area = self.of(x)?.area;
                let (x, weight) = (self.load(x)?, self.weight(weight)?);
                let normed = self.scratch("norm", area, area.shape());
                let params = json!({"eps": eps, "hidden": area.width()});
                self.step(Opcode::RmsNorm, &[x, weight], Some(plain(normed)), params);
                normed
            }
            Left::SiluMul { gate, up } => {
                let area = self.of(gate)?.area;
                let (gate, up) = (self.load(gate)?, self.load(up)?);
                let product = self.scratch("act", area, area.shape());
                self.step(Opcode::SiluMul, &[gate, up], Some(plain(product)), json!({}));
                product
            }
        };
        let (weight, area) = (self.of(weight)?.area, self.of(out)?.area);
        let inner = weight.width();
        let is_sum = residual.is_some_and(|residual| self.plan.sums.contains_key(&residual));
        if let (Some(residual), true) = (residual, is_sum || area.rows() > 1) {
            let product = self.scratch("product", area, area.shape());
            let w = self.lowered.records.whole(
                BufferKind::Weight,
                weight,
                vec![weight.rows(), inner],
                self.tensors,
            );
            let params = json!({"K": inner, "N_tile": area.width(), "n_off": 0});
            self.step(Opcode::GemvTile, &[x, w], Some(plain(product)), params);
            let residual = self.load(residual)?;
            let target = self.store(out)?;
            self.step(Opcode::Add, &[product, residual], Some(target), json!({}));
            return Ok(());
        }
        let outputs = self.parts(out)?;
        let residual = match residual {
            Some(residual) => Some((self.of(residual)?.area, self.residual_parts(residual)?)),
            None => None,
        };
        let (start, reader) = (area.columns()[0], self.of(out)?.task);
        // Where the buffers of the output or of the residual change.
        let mut cuts: Vec<i64> =
            outputs.iter().flat_map(|(_, part)| part.columns()).map(|column| column - start).collect();
        if let Some((from, parts)) = &residual {
            let columns = parts.iter().flatten().flat_map(|(_, _, part)| part.columns());
            cuts.extend(columns.map(|column| column - from.columns()[0]));
        }
        cuts.sort_unstable();
        cuts.dedup();
        let mut done = 0;
        for pair in cuts.windows(2) {
            let &[low, high] = pair else { continue };
            let segment = area.between(start + low, start + high);
            let home = outputs.iter().find(|(_, part)| part.holds(&segment));
            let &(number, _) = home.ok_or("parts of its output are in no buffer")?;
            let target = self.target(number, &segment);
            let (width, offset) = match target.then {
                None => {
                    let found = self.boxes.boxes.get(number).map(|found| found.area);
                    let found = found.ok_or("a buffer is missing")?;
                    (found.width(), segment.columns()[0] - found.columns()[0])
                }
                Some(_) => (segment.width(), 0),
            };
            let rows = rows_between(&weight, low, high);
            let piece = Piece { area: rows, at: offset * inner };
            let shape = vec![width, inner];
            let w =
                self.lowered.records.matched(BufferKind::Weight, target.buffer, shape, piece, self.tensors);
            let mut inputs = vec![x, w];
            if let Some((from, parts)) = &residual {
                let wanted = from.between(from.columns()[0] + low, from.columns()[0] + high);
                inputs.push(self.bias(&wanted, parts.as_deref(), target.buffer, width, offset, reader)?);
            }
            let params = json!({"K": inner, "N_tile": high - low, "n_off": offset});
            self.step(Opcode::GemvTile, &inputs, Some(target), params);
            done += high - low;
        }
        if done == area.width() { Ok(()) } else { Err("parts of its output are in no buffer".to_owned()) }
    }

    /// The buffers of a residual: box, buffer to read, columns. Nothing if the host binds it.
    fn residual_parts(&mut self, residual: usize) -> Result<Option<Vec<ResidualPart>>, String> {
        if let Some(Home::Host) = self.boxes.homes.get(residual) {
            return Ok(None);
        }
        let reader = self.of(residual)?.task;
        let mut found = Vec::new();
        for (number, part) in self.parts(residual)? {
            let whole = self.boxes.boxes.get(number).ok_or("a buffer is missing")?;
            let shape = whole.area.shape();
            if whole.form != Form::Direct && part != whole.area {
                self.require_written(number, reader)?;
            }
            found.push((number, self.whole(number, shape), part));
        }
        Ok(Some(found))
    }

    /// That a task can read all of a box, though it is told of a part.
    fn require_written(&self, number: usize, reader: TaskRef) -> Result<(), String> {
        let whole = self.boxes.boxes.get(number).ok_or("a buffer is missing")?;
        let writers = whole.writers.iter().filter_map(|&writer| self.plan.uses.get(writer));
        match writers.map(|write| write.task).find(|&task| !self.order.before(task, reader)) {
            None => Ok(()),
            Some(late) => Err(format!(
                "reads a part of `{}`, which can only be read as one, and nothing orders task {} before it, which writes \
                 another part",
                self.tensors.label(&whole.area),
                late.1
            )),
        }
    }

    /// What GEMV_TILE adds: a buffer as long as its output, with the residual at the same columns.
    fn bias(
        &mut self,
        wanted: &Area,
        parts: Option<&[ResidualPart]>,
        target: usize,
        width: i64,
        offset: i64,
        reader: TaskRef,
    ) -> Result<usize, String> {
        let Some(parts) = parts else {
            let piece = Piece { area: *wanted, at: offset };
            return Ok(self.lowered.records.matched(
                BufferKind::IoInput,
                target,
                vec![width],
                piece,
                self.tensors,
            ));
        };
        let found = parts.iter().find(|(_, _, part)| part.holds(wanted));
        let &(number, buffer, _) = found.ok_or("parts of its residual are in no buffer")?;
        let whole = self.boxes.boxes.get(number).ok_or("a buffer is missing")?.area;
        let place = wanted.columns()[0] - whole.columns()[0];
        if (whole.width(), place) == (width, offset) {
            return Ok(buffer);
        }
        self.require_written(number, reader)?;
        self.columns(number, buffer, place - offset, width)
    }
}

fn plain(buffer: usize) -> Target {
    Target { buffer, then: None }
}

/// Some rows of a matrix, counted from its first.
fn rows_between(matrix: &Area, low: i64, high: i64) -> Area {
    let outer = (0..matrix.axes.saturating_sub(1))
        .find(|&axis| matrix.interval(axis)[1] - matrix.interval(axis)[0] > 1);
    match outer {
        Some(axis) => matrix.slice(axis, matrix.interval(axis)[0] + low, high - low),
        None => *matrix,
    }
}
