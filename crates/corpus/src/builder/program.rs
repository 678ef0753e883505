//! A finished program, and the questions that edits ask about it.

use std::fmt;

use serde_json::Value;

/// Why a corpus could not be generated: a family asked for something its base does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Result of a step of generation.
pub type Result<T> = std::result::Result<T, Error>;

/// A finished program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    value: Value,
}

impl Program {
    /// Wraps a document.
    pub fn new(value: Value) -> Self {
        Self { value }
    }

    /// The document.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value at a JSON pointer.
    pub fn at(&self, pointer: &str) -> Result<&Value> {
        self.value.pointer(pointer).ok_or_else(|| Error(format!("the base has nothing at `{pointer}`")))
    }

    /// The integer at a JSON pointer.
    pub fn int(&self, pointer: &str) -> Result<i64> {
        self.at(pointer)?.as_i64().ok_or_else(|| Error(format!("no integer at `{pointer}`")))
    }

    /// Number of entries of a list.
    pub fn len(&self, pointer: &str) -> Result<usize> {
        self.at(pointer)?.as_array().map(Vec::len).ok_or_else(|| Error(format!("no list at `{pointer}`")))
    }

    /// Index of the task with this label. Labels that edits use must be unique.
    pub fn task(&self, label: &str) -> Result<usize> {
        self.find("/tasks", "label", label)
    }

    /// Index of the buffer with this name.
    pub fn buffer(&self, name: &str) -> Result<usize> {
        self.find("/buffers", "name", name)
    }

    fn find(&self, list: &str, member: &str, wanted: &str) -> Result<usize> {
        let items = self.at(list)?.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut hits = items.iter().enumerate().filter(|(_, item)| item[member] == wanted);
        match (hits.next(), hits.next()) {
            (Some((index, _)), None) => Ok(index),
            (None, _) => Err(Error(format!("nothing in `{list}` has {member} `{wanted}`"))),
            (Some(_), Some(_)) => Err(Error(format!("several entries of `{list}` have {member} `{wanted}`"))),
        }
    }

    /// The counter a task increments.
    pub fn out_counter(&self, task: usize) -> Result<i64> {
        self.int(&format!("/tasks/{task}/out_counter"))
    }

    /// How many tasks increment a counter.
    pub fn producers(&self, counter: i64) -> Result<usize> {
        let tasks = self.at("/tasks")?.as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(tasks.iter().filter(|task| task["out_counter"] == counter).count())
    }

    /// Index of the wait of `task` on the counter of the task `producer`.
    pub fn wait_on(&self, task: usize, producer: usize) -> Result<usize> {
        let counter = self.out_counter(producer)?;
        let waits =
            self.at(&format!("/tasks/{task}/waits"))?.as_array().map(Vec::as_slice).unwrap_or_default();
        waits
            .iter()
            .position(|wait| wait["counter"] == counter)
            .ok_or_else(|| Error(format!("task {task} does not wait on the counter of task {producer}")))
    }

    /// The text of the program file: one buffer, counter, task or page a line.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        write_lines(&self.value, 0, &mut out);
        out.push('\n');
        out
    }
}

/// Objects and lists of records break into lines down to this depth; deeper values stay on their line.
fn breaks(value: &Value, depth: usize) -> bool {
    match value {
        Value::Object(map) => depth == 0 || (depth == 1 && map.values().any(is_records)),
        Value::Array(_) => is_records(value) && depth <= 2,
        _ => false,
    }
}

fn is_records(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.first().is_some_and(Value::is_object))
}

fn write_lines(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth + 1);
    let close = "  ".repeat(depth);
    match value {
        Value::Object(map) if breaks(value, depth) => {
            out.push('{');
            for (index, (key, item)) in map.iter().enumerate() {
                out.push_str(if index == 0 { "\n" } else { ",\n" });
                out.push_str(&indent);
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push_str(": ");
                write_lines(item, depth + 1, out);
            }
            out.push('\n');
            out.push_str(&close);
            out.push('}');
        }
        Value::Array(items) if breaks(value, depth) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "\n" } else { ",\n" });
                out.push_str(&indent);
                out.push_str(&item.to_string());
            }
            out.push('\n');
            out.push_str(&close);
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}
