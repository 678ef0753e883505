//! A builder of documents: ops in a row, kernels from a line of text, requests.

use serde_json::{Map, Value, json};

/// An op. Its readers are filled in when it is put into a sequence.
#[derive(Clone, Debug)]
pub struct Op(Value);

/// An op of a class that reads nothing yet.
pub fn op(class: &str) -> Op {
    Op(json!({"reads": [], "writes": [], "sig": {"class": class}}))
}

impl Op {
    /// What it reads, operand by operand.
    #[must_use]
    pub fn reads(self, values: &[&str]) -> Op {
        self.member("reads", json!(values))
    }

    /// One more value that it writes.
    #[must_use]
    pub fn writes(mut self, value: &str) -> Op {
        if let Some(Value::Array(writes)) = self.0.get_mut("writes") {
            writes.push(json!({"value": value, "readers": []}));
        }
        self
    }

    /// What it writes last is a result of the sequence.
    #[must_use]
    pub fn output(mut self) -> Op {
        if let Some(Value::Object(write)) =
            self.0.get_mut("writes").and_then(|writes| writes.as_array_mut()?.last_mut())
        {
            write.insert("output".to_owned(), json!(true));
        }
        self
    }

    /// A member, such as a row.
    #[must_use]
    pub fn member(mut self, name: &str, value: Value) -> Op {
        if let Some(members) = self.0.as_object_mut() {
            members.insert(name.to_owned(), value);
        }
        self
    }

    /// Sub-rows from an object of rows, added to what is there.
    #[must_use]
    pub fn rows(mut self, rows: &Value) -> Op {
        for (row, subs) in rows.as_object().into_iter().flatten() {
            let members = self.0.as_object_mut().map(|op| op.entry(row).or_insert_with(|| json!({})));
            match (members, subs) {
                (Some(Value::Object(held)), Value::Object(subs)) => {
                    held.extend(subs.iter().map(|(name, value)| (name.clone(), value.clone())));
                }
                (Some(member), other) => *member = other.clone(),
                (None, _) => {}
            }
        }
        self
    }

    /// `sig.core`.
    #[must_use]
    pub fn core(self, core: &str) -> Op {
        self.rows(&json!({"sig": {"core": core}}))
    }

    /// Asks for a cut before it.
    #[must_use]
    pub fn marker(self, marker: &str) -> Op {
        self.member("marker", json!(marker))
    }

    /// The barrier flag.
    #[must_use]
    pub fn barrier(self) -> Op {
        self.rows(&json!({"effects": {"flags": ["barrier"]}}))
    }
}

/// Ops in a row, with the readers of every value.
pub fn sequence(ops: &[Op]) -> Value {
    let mut ops: Vec<Value> = ops.iter().map(|op| op.0.clone()).collect();
    let reads: Vec<Vec<Value>> =
        ops.iter().map(|op| op.get("reads").and_then(Value::as_array).cloned().unwrap_or_default()).collect();
    for op in &mut ops {
        for write in op.get_mut("writes").and_then(Value::as_array_mut).into_iter().flatten() {
            let value = write.get("value").cloned().unwrap_or_default();
            let readers = reads.iter().enumerate().filter(|(_, reads)| reads.contains(&value));
            let readers: Vec<usize> = readers.map(|(id, _)| id).collect();
            if let Some(write) = write.as_object_mut() {
                write.insert("readers".to_owned(), json!(readers));
            }
        }
    }
    json!({"ops": ops})
}

/// Ops of these classes, each of which reads what the one before writes: the values are `v0`, `v1` and so on, and `v0` comes
/// from outside.
pub fn chain(classes: &[&str]) -> Vec<Op> {
    let one = |(at, class): (usize, &&str)| link(op(class), at, at + 1 == classes.len());
    classes.iter().enumerate().map(one).collect()
}

/// An op at a place of a chain.
pub fn link(op: Op, at: usize, last: bool) -> Op {
    let op = op.reads(&[&format!("v{at}")]).writes(&format!("v{}", at + 1));
    if last { op.output() } else { op }
}

/// A kernel: its id, its cost, and its stages, such as `linear! bias/0? relu/0!`. Behind the class stand the chained
/// operands after a slash, `?` for an optional stage, and `!` for one that is written out.
pub fn kernel(id: &str, cost: &str, stages: &str) -> Value {
    let stages: Vec<Value> = stages.split_whitespace().map(stage).collect();
    json!({"id": id, "stages": stages, "cost": {"fixed": cost}})
}

fn stage(text: &str) -> Value {
    let name = text.trim_end_matches(['!', '?']);
    let (class, chained) =
        name.split_once('/').map_or((name, None), |(class, chained)| (class, Some(chained)));
    let (class, core) = class.split_once(':').map_or((class, None), |(class, core)| (class, Some(core)));
    let mut stage = Map::from_iter([("class".to_owned(), json!(class))]);
    if let Some(core) = core {
        stage.insert("core".to_owned(), json!(core));
    }
    if let Some(chained) = chained {
        let positions: Vec<u32> = chained.chars().filter_map(|digit| digit.to_digit(10)).collect();
        stage.insert("chain".to_owned(), json!(positions));
    }
    for (mark, name) in [('?', "optional"), ('!', "out")] {
        if text.contains(mark) {
            stage.insert(name.to_owned(), json!(true));
        }
    }
    Value::Object(stage)
}

/// A kernel with more members.
#[must_use]
pub fn with(mut kernel: Value, members: &Value) -> Value {
    if let (Some(kernel), Some(members)) = (kernel.as_object_mut(), members.as_object()) {
        kernel.extend(members.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    kernel
}

/// A request.
pub fn request(ops: &[Op], kernels: &[Value]) -> Value {
    json!({"sequence": sequence(ops), "index": {"kernels": kernels}})
}

/// A request with options.
pub fn request_with(ops: &[Op], kernels: &[Value], options: Value) -> Value {
    json!({"sequence": sequence(ops), "index": {"kernels": kernels}, "options": options})
}
