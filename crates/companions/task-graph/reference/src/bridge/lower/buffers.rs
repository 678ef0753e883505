//! The buffers that tasks of the program read and write.

use megakernel_ir::{BufferKind, Opcode};
use serde_json::{Map, Value, json};

use super::{Lowering, Step, Target, plain};
use crate::bridge::boxes::{Form, Home};
use crate::bridge::host::Record;
use crate::bridge::tensors::Area;
use crate::bridge::work::Use;

impl Lowering<'_, '_> {
    pub(super) fn positions(&mut self) -> usize {
        if let Some(known) = self.lowered.positions {
            return known;
        }
        let record = Record {
            name: "positions".to_owned(),
            kind: BufferKind::IoInput,
            dtype: megakernel_ir::DType::I32,
            shape: vec![1],
            source: None,
            pieces: Vec::new(),
            values: Vec::new(),
        };
        let number = self.lowered.records.add(record);
        self.lowered.positions = Some(number);
        number
    }

    pub(super) fn cache(&self, number: usize) -> Result<usize, String> {
        match self.boxes.homes.get(number) {
            Some(Home::Boxes(parts)) => {
                parts.first().map(|&(found, _)| found).ok_or_else(|| "a cache is missing".to_owned())
            }
            _ => Err("a cache is missing".to_owned()),
        }
    }

    pub(super) fn of(&self, number: usize) -> Result<&Use, String> {
        self.plan.uses.get(number).ok_or_else(|| "an operand is missing".to_owned())
    }

    pub(super) fn parts(&self, number: usize) -> Result<Vec<(usize, Area)>, String> {
        match self.boxes.homes.get(number) {
            Some(Home::Boxes(parts)) => Ok(parts.clone()),
            _ => Err("an operand is in no buffer".to_owned()),
        }
    }

    /// A norm's weight, as one row.
    pub(super) fn weight(&mut self, number: usize) -> Result<usize, String> {
        let area = self.of(number)?.area;
        Ok(self.lowered.records.whole(BufferKind::Weight, area, vec![area.numel()], self.tensors))
    }

    pub(super) fn load(&mut self, number: usize) -> Result<usize, String> {
        let shape = self.of(number)?.area.shape();
        self.load_as(number, shape)
    }

    /// A buffer of this shape with all of an operand.
    pub(super) fn load_as(&mut self, number: usize, shape: Vec<i64>) -> Result<usize, String> {
        if let Some(Home::Host) = self.boxes.homes.get(number) {
            let area = self.of(number)?.area;
            return Ok(self.lowered.records.whole(BufferKind::IoInput, area, shape, self.tensors));
        }
        let parts = self.parts(number)?;
        let &[(found, part)] = &parts[..] else { return Err("an operand is in several buffers".to_owned()) };
        let area = self.boxes.boxes.get(found).ok_or("a buffer is missing")?.area;
        if part == area {
            return Ok(self.whole(found, shape));
        }
        let reader = self.of(number)?.task;
        self.require_written(found, reader)?;
        let row = self.whole(found, area.shape());
        let columns = self.columns(found, row, part.columns()[0] - area.columns()[0], part.width())?;
        if shape == [part.width()] {
            return Ok(columns);
        }
        let copy = self.scratch("in", part, shape);
        self.step(Opcode::Copy, &[columns], Some(plain(copy)), json!({}));
        Ok(copy)
    }

    /// All of a box in this shape: itself, or a copy.
    pub(super) fn whole(&mut self, number: usize, shape: Vec<i64>) -> usize {
        let Some(found) = self.boxes.boxes.get(number) else { return number };
        if found.shape() == shape {
            return number;
        }
        let copy = self.scratch("in", found.area, shape);
        self.step(Opcode::Copy, &[number], Some(plain(copy)), json!({}));
        copy
    }

    pub(super) fn store(&mut self, number: usize) -> Result<Target, String> {
        let parts = self.parts(number)?;
        let &[(found, area)] = &parts[..] else { return Err("an output is in several buffers".to_owned()) };
        Ok(self.target(found, &area))
    }

    /// Where an opcode writes this part of a box.
    pub(super) fn target(&mut self, number: usize, area: &Area) -> Target {
        let Some(found) = self.boxes.boxes.get(number) else { return plain(number) };
        match found.form {
            Form::Gathered { .. } => {
                let buffer = self.scratch("out", *area, area.shape());
                Target { buffer, then: Some((number, found.row(area))) }
            }
            _ => plain(number),
        }
    }

    pub(super) fn scratch(&mut self, name: &str, area: Area, shape: Vec<i64>) -> usize {
        self.lowered.records.add(Record {
            name: format!("{}.{name}", self.prefix),
            kind: BufferKind::Activation,
            dtype: self.tensors.dtype(area.tensor),
            shape,
            source: None,
            pieces: Vec::new(),
            values: Vec::new(),
        })
    }

    pub(super) fn step(&mut self, op: Opcode, inputs: &[usize], target: Option<Target>, params: Value) {
        let params = if let Value::Object(params) = params { params } else { Map::new() };
        let outputs = target.iter().map(|target| target.buffer).collect();
        self.steps.push(Step { op, inputs: inputs.to_vec(), outputs, params });
        if let Some(Target { buffer, then: Some((whole, row)) }) = target {
            self.step(Opcode::KvAppend, &[buffer, whole], Some(plain(whole)), json!({"pos": row}));
        }
    }
}
