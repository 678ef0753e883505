//! The buffers that tasks of the program read and write.

use megakernel_ir::{BufferKind, Opcode};
use serde_json::{Map, Value, json};

use super::{Lowering, Step, Target, plain};
use crate::bridge::boxes::{Form, Home, greatest_common_divisor};
use crate::bridge::host::Record;
use crate::bridge::tensors::Area;
use crate::bridge::work::Use;

impl Lowering<'_, '_> {
    /// The input with the position of the token, or with that of a row of the batch.
    pub(super) fn positions(&mut self, row: Option<i64>) -> usize {
        let known = match row {
            None => self.lowered.positions,
            Some(row) => self.lowered.row_positions.get(&row).copied(),
        };
        if let Some(known) = known {
            return known;
        }
        let record = Record {
            name: row.map_or("positions".to_owned(), |row| format!("positions.{row}")),
            kind: BufferKind::IoInput,
            dtype: megakernel_ir::DType::I32,
            shape: vec![1],
            source: None,
            pieces: Vec::new(),
            values: Vec::new(),
        };
        let number = self.lowered.records.add(record);
        match row {
            None => self.lowered.positions = Some(number),
            Some(row) => drop(self.lowered.row_positions.insert(row, number)),
        }
        number
    }

    /// The buffer of a cache.
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
        let mut sum = self.load_part(number, shape.clone())?;
        for &part in self.plan.sums.get(&number).into_iter().flatten() {
            let part = self.load_part(part, shape.clone())?;
            let area = self.of(number)?.area;
            let next = self.scratch("sum", area, shape.clone());
            self.step(Opcode::Add, &[sum, part], Some(plain(next)), json!({}));
            sum = next;
        }
        Ok(sum)
    }

    /// The same without what is added to it.
    fn load_part(&mut self, number: usize, shape: Vec<i64>) -> Result<usize, String> {
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
        // Pieces of rows are rows of a table: elements of one row, or pieces as long as can be.
        let first = part.columns()[0] - area.columns()[0];
        let unit = match area.rows() {
            1 => 1,
            _ => [first, part.width()].into_iter().fold(area.width(), greatest_common_divisor),
        };
        let pieces = area.width() / unit;
        let ids: Vec<i64> = part
            .rows_in(&area)
            .into_iter()
            .flat_map(|row| {
                (first / unit..(first + part.width()) / unit).map(move |piece| row * pieces + piece)
            })
            .collect();
        let table = match area.rows() {
            1 => vec![area.width()],
            rows => vec![rows * pieces, unit],
        };
        let table = self.whole(found, table);
        let gathered = self.scratch("part", part, shape);
        self.embed(ids, table, unit, gathered);
        Ok(gathered)
    }

    /// Rows of a table by constant ids.
    pub(super) fn embed(&mut self, ids: Vec<i64>, table: usize, width: i64, to: usize) {
        let name = match ids[..] {
            [one] => format!("rows.{one}"),
            [first, .., last] => format!("rows.{first}..{last}"),
            [] => "rows".to_owned(),
        };
        let ids = self.constant(name, megakernel_ir::DType::I32, vec![ids.len() as i64], ids);
        self.step(Opcode::Embed, &[ids, table], Some(plain(to)), json!({"hidden": width}));
    }

    /// A CONST with these values.
    pub(super) fn constant(
        &mut self,
        name: String,
        dtype: megakernel_ir::DType,
        shape: Vec<i64>,
        values: Vec<i64>,
    ) -> usize {
        let kind = BufferKind::Const;
        self.lowered.records.add(Record {
            name,
            kind,
            dtype,
            shape,
            source: None,
            pieces: Vec::new(),
            values,
        })
    }

    /// Columns of a buffer of one row, from `first` on, in a buffer of `width`. Columns before and after those of the buffer are
    /// its first and last.
    pub(super) fn columns(
        &mut self,
        number: usize,
        buffer: usize,
        first: i64,
        width: i64,
    ) -> Result<usize, String> {
        let area = self.boxes.boxes.get(number).ok_or("a buffer is missing")?.area;
        if area.rows() != 1 {
            return Err(format!(
                "reads a part of `{}`, of which no opcode takes a part as a bias",
                self.tensors.label(&area)
            ));
        }
        let last = area.width() - 1;
        let columns = self.scratch("columns", area, vec![width]);
        let ids = (first..first + width).map(|column| column.clamp(0, last)).collect();
        self.embed(ids, buffer, 1, columns);
        Ok(columns)
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
