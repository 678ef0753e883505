//! Single named edits: what makes a rejected case out of an accepted program.
//!
//! An edit carries the RFC 6902 operations, the rule that it breaks, and the pointer of the diagnostic. The
//! functions here know how to write an edit; that it breaks one rule and no other is up to the family that makes it.

use megakernel_ir::rule::{Clause, Rule};
use serde_json::{Value, json};

use crate::builder::{Error, Program, Result};

/// One edit of an accepted program.
#[derive(Clone, Debug, Default)]
pub struct Edit {
    /// RFC 6902 operations.
    pub operations: Vec<Value>,
    /// Rules under which the edited program may be rejected (or warned of).
    pub rules: Vec<Rule>,
    /// Whether it breaks each of the rules, and not perhaps one of them.
    pub breaks_each: bool,
    /// Pointer of the diagnostic, where the edit determines it.
    pub at: Option<String>,
    /// What the edit does, as the summary of its case.
    pub what: String,
    /// Clauses that the case cites besides its rules.
    pub clauses: Vec<Clause>,
}

impl Edit {
    /// An edit that breaks no rule.
    pub fn harmless(what: impl Into<String>) -> Self {
        Self { what: what.into(), ..Self::default() }
    }

    /// An edit that breaks `rule`.
    pub fn breaking(rule: Rule, what: impl Into<String>) -> Self {
        Self { rules: vec![rule], what: what.into(), ..Self::default() }
    }

    /// Another rule under which the same program may be rejected.
    pub fn or(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Another rule that the same program breaks as well: who claims to name every rule names both.
    pub fn and(self, rule: Rule) -> Self {
        Self { breaks_each: true, ..self.or(rule) }
    }

    /// Does what another edit does as well. What is broken is for this one to say.
    pub fn also(mut self, other: Edit) -> Self {
        self.what = format!("{}, and {}", self.what, other.what);
        self.operations.extend(other.operations);
        self
    }

    /// What its case cites: its rules, then its clauses.
    pub fn cites(&self) -> Vec<Clause> {
        self.rules.iter().map(|rule| *rule.clause()).chain(self.clauses.iter().copied()).collect()
    }

    /// The pointer of the diagnostic.
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.at = Some(pointer.into());
        self
    }

    /// Another clause that the case is about.
    pub fn clause(mut self, clause: Clause) -> Self {
        self.clauses.push(clause);
        self
    }

    /// Adds a `replace` operation.
    pub fn replace(mut self, pointer: impl Into<String>, value: impl Into<Value>) -> Self {
        self.operations.push(json!({"op": "replace", "path": pointer.into(), "value": value.into()}));
        self
    }

    /// Adds an `add` operation.
    pub fn insert(mut self, pointer: impl Into<String>, value: impl Into<Value>) -> Self {
        self.operations.push(json!({"op": "add", "path": pointer.into(), "value": value.into()}));
        self
    }

    /// Adds a `remove` operation.
    pub fn remove(mut self, pointer: impl Into<String>) -> Self {
        self.operations.push(json!({"op": "remove", "path": pointer.into()}));
        self
    }
}

/// Pointer of the wait of `task` on the counter that `producer` increments.
pub fn wait_pointer(program: &Program, task: &str, producer: &str) -> Result<String> {
    let (task, producer) = (program.task(task)?, program.task(producer)?);
    Ok(format!("/tasks/{task}/waits/{}", program.wait_on(task, producer)?))
}

/// Pointer of a member of a task.
pub fn task_pointer(program: &Program, task: &str, rest: &str) -> Result<String> {
    Ok(format!("/tasks/{}/{rest}", program.task(task)?))
}

/// Pointer of a member of a buffer.
pub fn buffer_pointer(program: &Program, buffer: &str, rest: &str) -> Result<String> {
    Ok(format!("/buffers/{}/{rest}", program.buffer(buffer)?))
}

/// Removes the wait of `task` on the counter of `producer`.
pub fn drop_wait(program: &Program, task: &str, producer: &str, rule: Rule) -> Result<Edit> {
    let pointer = wait_pointer(program, task, producer)?;
    Ok(Edit::breaking(rule, format!("`{task}` no longer waits for `{producer}`")).remove(pointer))
}

/// Lowers the threshold of the wait of `task` on the counter of `producer`: fewer than its producers (R01).
pub fn weaken(program: &Program, task: &str, producer: &str, threshold: u64) -> Result<Edit> {
    let counter = program.out_counter(program.task(producer)?)?;
    let producers = program.producers(counter)? as u64;
    if threshold >= producers {
        return Err(Error(format!("threshold {threshold} does not weaken a join of {producers}")));
    }
    let pointer = wait_pointer(program, task, producer)?;
    Ok(Edit::breaking(Rule::R01, format!("`{task}` goes on after {threshold} of {producers} producers"))
        .at(pointer.clone())
        .replace(format!("{pointer}/threshold"), threshold))
}

/// Raises the threshold of the wait of `task` on the counter of `producer` above its producers (D02).
pub fn raise(program: &Program, task: &str, producer: &str, threshold: u64) -> Result<Edit> {
    let counter = program.out_counter(program.task(producer)?)?;
    let producers = program.producers(counter)? as u64;
    if threshold <= producers {
        return Err(Error(format!("threshold {threshold} is within the {producers} producers")));
    }
    let pointer = wait_pointer(program, task, producer)?;
    Ok(Edit::breaking(
        Rule::D02,
        format!("`{task}` waits for {threshold} increments of {producers} producers"),
    )
    .at(pointer.clone())
    .replace(format!("{pointer}/threshold"), threshold))
}

/// Makes `task` wait for every producer of the counter of `producer`.
pub fn add_wait(program: &Program, task: &str, producer: &str, rule: Rule) -> Result<Edit> {
    let counter = program.out_counter(program.task(producer)?)?;
    let threshold = program.producers(counter)?;
    let pointer = task_pointer(program, task, "waits/-")?;
    Ok(Edit::breaking(rule, format!("`{task}` also waits for `{producer}`"))
        .insert(pointer, json!({"counter": counter, "threshold": threshold})))
}

/// Makes `task` wait on a new counter that nothing increments (D01).
pub fn add_orphan_wait(program: &Program, task: &str, threshold: u64) -> Result<Edit> {
    let counter = program.len("/counters")?;
    let waits = program.len(&task_pointer(program, task, "waits")?)?;
    Ok(Edit::breaking(Rule::D01, format!("`{task}` waits on a counter that no task increments"))
        .at(task_pointer(program, task, &format!("waits/{waits}"))?)
        .insert("/counters/-", json!({"id": counter, "init": 0, "note": "orphan"}))
        .insert(task_pointer(program, task, "waits/-")?, json!({"counter": counter, "threshold": threshold})))
}

/// Makes `task` increment the counter of the task `other` in place of its own.
pub fn redirect_out(program: &Program, task: &str, other: &str, rule: Rule) -> Result<Edit> {
    let counter = program.out_counter(program.task(other)?)?;
    Ok(Edit::breaking(rule, format!("`{task}` increments the counter of `{other}`"))
        .replace(task_pointer(program, task, "out_counter")?, counter))
}

/// Moves a task to another SM.
pub fn set_sm(program: &Program, task: &str, sm: i64, rule: Rule) -> Result<Edit> {
    Ok(Edit::breaking(rule, format!("`{task}` is assigned to SM {sm}"))
        .replace(task_pointer(program, task, "sm")?, sm))
}

/// Sets (or adds) a parameter of a task.
pub fn set_param(program: &Program, task: &str, key: &str, value: Value, rule: Rule) -> Result<Edit> {
    let pointer = task_pointer(program, task, &format!("params/{key}"))?;
    Ok(Edit::breaking(rule, format!("`{task}` has {key} = {value}")).insert(pointer, value))
}

/// Exchanges the places of two tasks in the task list; ids stay dense and in order.
pub fn swap_tasks(program: &Program, first: &str, second: &str, rule: Rule) -> Result<Edit> {
    let (a, b) = (program.task(first)?, program.task(second)?);
    let mut task_a = program.at(&format!("/tasks/{a}"))?.clone();
    let mut task_b = program.at(&format!("/tasks/{b}"))?.clone();
    task_a["id"] = json!(b);
    task_b["id"] = json!(a);
    Ok(Edit::breaking(rule, format!("`{first}` and `{second}` change places in the task list"))
        .replace(format!("/tasks/{a}"), task_b)
        .replace(format!("/tasks/{b}"), task_a))
}

/// Turns a task into a NOP that still waits and still increments its counter.
pub fn to_nop(program: &Program, task: &str, rule: Rule) -> Result<Edit> {
    let index = program.task(task)?;
    let mut nop = program.at(&format!("/tasks/{index}"))?.clone();
    nop["op"] = json!("NOP");
    nop["inputs"] = json!([]);
    nop["outputs"] = json!([]);
    nop["params"] = json!({});
    Ok(Edit::breaking(rule, format!("`{task}` becomes a NOP")).replace(format!("/tasks/{index}"), nop))
}

/// Changes the type of a buffer.
pub fn set_dtype(program: &Program, buffer: &str, dtype: &str, rule: Rule) -> Result<Edit> {
    Ok(Edit::breaking(rule, format!("buffer `{buffer}` holds {dtype}"))
        .replace(buffer_pointer(program, buffer, "dtype")?, dtype))
}

/// Changes the shape of a buffer.
pub fn set_shape(program: &Program, buffer: &str, shape: &[i64], rule: Rule) -> Result<Edit> {
    Ok(Edit::breaking(rule, format!("buffer `{buffer}` has shape {shape:?}"))
        .replace(buffer_pointer(program, buffer, "shape")?, json!(shape)))
}

/// Puts a buffer on a page.
pub fn move_to_page(program: &Program, buffer: &str, page: i64, rule: Rule) -> Result<Edit> {
    let id = program.buffer(buffer)?;
    Ok(Edit::breaking(rule, format!("buffer `{buffer}` is mapped to page {page}"))
        .insert(format!("/pages/buffer_to_page/{id}"), page))
}
