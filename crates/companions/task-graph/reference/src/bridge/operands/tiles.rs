//! The tiles of a task as operands, and the parameters of its operator.

use megakernel_task_graph::Tile;
use serde_json::{Map, Value};

use super::Planner;
use crate::bridge::tensors::Area;
use crate::bridge::work::{Access, Use};

/// The parameters of its operator that a task of a type may have.
fn known_params(task_type: i64) -> &'static [&'static str] {
    match super::kind(task_type) {
        101 => &["input_source"],
        102 | 119 => &["eps"],
        103 | 115 | 116 => &["eps", "theta", "scale", "n_heads", "n_kv_heads", "head_dim", "position"],
        _ => &[],
    }
}

impl Planner<'_, '_> {
    pub(super) fn arity(&self, inputs: usize, outputs: usize) -> Result<(), String> {
        let count = |tiles: &[Tile<'_>]| tiles.iter().filter(|tile| !tile.is_null()).count();
        let found = (count(self.task.inputs()), count(self.task.outputs()));
        if found == (inputs, outputs) {
            return Ok(());
        }
        Err(format!(
            "task type {} has {} inputs and {} outputs; required: {inputs} and {outputs}",
            self.task.task_type, found.0, found.1
        ))
    }

    pub(super) fn tile(&self, position: usize) -> Result<Area, String> {
        self.tile_of("inputs", position)
    }

    pub(super) fn tile_of(&self, member: &str, position: usize) -> Result<Area, String> {
        let tiles = if member == "inputs" { self.task.inputs() } else { self.task.outputs() };
        match tiles.get(position).filter(|tile| !tile.is_null()) {
            Some(tile) => self.tensors.area(tile, self.id.0),
            None => Err(format!("{member}[{position}] is missing")),
        }
    }

    pub(super) fn input(&mut self, position: usize, access: Access) -> Result<usize, String> {
        let area = self.tile(position)?;
        Ok(self.put(area, access, self.pointer("inputs", position)))
    }

    pub(super) fn output(&mut self, position: usize, access: Access) -> Result<usize, String> {
        let area = self.tile_of("outputs", position)?;
        Ok(self.put(area, access, self.pointer("outputs", position)))
    }

    /// An input that may be left out.
    pub(super) fn optional(&mut self, position: usize) -> Result<Option<usize>, String> {
        match self.task.inputs().get(position) {
            Some(tile) if !tile.is_null() => self.input(position, Access::Weight).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn pointer(&self, member: &str, position: usize) -> String {
        format!("/all_tasks/{}/{member}/{position}", self.id.1)
    }

    pub(super) fn put(&mut self, area: Area, access: Access, pointer: String) -> usize {
        self.plan.uses.push(Use { task: self.id, area, access, pointer });
        self.plan.uses.len() - 1
    }

    pub(super) fn area(&self, number: usize) -> Area {
        // Every number comes from `put`.
        let nothing =
            Area { rank: 0, tensor: 0, axes: 0, region: megakernel_reference::region::Region::whole(&[]) };
        self.plan.uses.get(number).map_or(nothing, |found| found.area)
    }

    pub(super) fn require(&self, operand: usize, numel: i64, what: &str, unit: &str) -> Result<(), String> {
        let found = self.area(operand).numel();
        if found == numel {
            return Ok(());
        }
        Err(format!("{what} {found} elements; required: {numel} {unit}"))
    }

    pub(super) fn same_shape(&self, a: usize, b: usize) -> Result<(), String> {
        let (a, b) = (self.area(a), self.area(b));
        if a.shape() == b.shape() {
            return Ok(());
        }
        Err(format!(
            "`{}` has shape {:?} and `{}` {:?}; required: the same",
            self.tensors.label(&a),
            a.shape(),
            self.tensors.label(&b),
            b.shape()
        ))
    }

    /// The parameters of the operator that the task is of: the one of its type with the same tensors.
    pub(super) fn params(&self) -> Result<Map<String, Value>, String> {
        // A tile that is no box of a declared tensor is a better reason than an operator that is not found for it.
        for tile in self.task.inputs().iter().chain(self.task.outputs()).filter(|tile| !tile.is_null()) {
            self.tensors.area(tile, self.id.0)?;
        }
        let named = |operand: &str, tile: Option<&Tile<'_>>| {
            let name = tile.map_or("", |tile| &*tile.base_ptr);
            operand == name
                || self
                    .tensors
                    .named(operand)
                    .is_some_and(|decl| decl.parts.iter().any(|part| **part == *name))
        };
        let mut found: Option<Map<String, Value>> = None;
        for operator in &self.kernel.operators {
            let inputs = operator.inputs.iter().enumerate().all(|(position, operand)| {
                let tile = self.task.inputs().get(position).filter(|tile| !tile.is_null());
                match operand {
                    Some(operand) => named(&operand.tensor, tile),
                    None => tile.is_none(),
                }
            });
            let mut outputs = operator.outputs.iter().enumerate();
            let outputs =
                outputs.all(|(position, operand)| named(&operand.tensor, self.task.outputs().get(position)));
            if operator.task_type != self.task.task_type || !inputs || !outputs {
                continue;
            }
            let params = operator.params.value();
            if found.as_ref().is_some_and(|other| *other != params) {
                return Err("two operators of the kernel graph have this type and these tensors, and other parameters; give their tensors different names".to_owned());
            }
            found = Some(params);
        }
        let found = found.ok_or("no operator of the kernel graph has this type and these tensors; add the operator that the task is of")?;
        let known = known_params(self.task.task_type);
        match found.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(format!("parameter `{key}` of the operator has no counterpart in a program")),
            None => Ok(found),
        }
    }
}
