//! Extents of a program: one number wherever it stands, so that what belongs together stays together.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The numbers that stand in shapes.
pub fn all(program: &Value) -> BTreeSet<u64> {
    let shapes =
        program["buffers"].as_array().into_iter().flatten().filter_map(|buffer| buffer["shape"].as_array());
    shapes.flatten().filter_map(Value::as_u64).collect()
}

/// Elements of all buffers together.
pub fn elements(program: &Value) -> u64 {
    let buffers = program["buffers"].as_array().into_iter().flatten();
    buffers.map(|buffer| numel(&buffer["shape"])).fold(0, u64::saturating_add)
}

/// Elements of one shape.
pub fn numel(shape: &Value) -> u64 {
    let extents = shape.as_array().into_iter().flatten().filter_map(Value::as_u64);
    extents.fold(1, u64::saturating_mul)
}

/// Replaces a number by another in all shapes, and in all parameters that hold it.
pub fn replace(program: &mut Value, old: u64, new: u64) {
    let change = |value: &mut Value| {
        if value.as_u64() == Some(old) {
            *value = json!(new);
        }
    };
    let records = |program: &mut Value, list: &str, member: &str, change: &dyn Fn(&mut Value)| {
        for record in program.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            match record.get_mut(member) {
                Some(Value::Array(items)) => items.iter_mut().for_each(change),
                Some(Value::Object(members)) => members.values_mut().for_each(change),
                _ => {}
            }
        }
    };
    records(program, "buffers", "shape", &change);
    records(program, "tasks", "params", &change);
}
