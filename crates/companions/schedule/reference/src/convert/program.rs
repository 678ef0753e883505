//! A program as a schedule (clause SCH-15).

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::diagnostic::AccessKind;
use megakernel_ir::model::{Buffer, Program};
use megakernel_ir::{BufferId, BufferKind};
use megakernel_reference::explore::Machine;
use serde_json::{Map, Value, json};

use super::number;
use crate::structure::BYTES;

/// The schedule of a program that breaks no S rule.
///
/// # Errors
/// What a schedule cannot say.
pub fn schedule(program: &Program<'_>) -> Result<Value, String> {
    let machine = Machine::new(program);
    let pages = Pages::of(program);
    let mut in_place = BTreeSet::new();
    let mut tasks = Vec::new();
    for (id, task) in program.tasks_by_id() {
        let mut waits = Vec::new();
        for wait in &task.waits {
            let threshold = number(wait.threshold, || format!("a threshold of task {id}"))?;
            waits.push(json!([counter(wait.counter), threshold]));
        }
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let footprint = machine.footprint(id);
        let is_written = |read: &&(AccessKind, BufferId, _)| {
            footprint.iter().any(|(kind, buffer, _)| (*kind, *buffer) == (AccessKind::Write, read.1))
        };
        in_place.extend(
            footprint
                .iter()
                .filter(|access| access.0 == AccessKind::Read)
                .filter(is_written)
                .map(|read| read.1),
        );
        for (kind, buffer, region) in footprint {
            let access = json!([name(program, buffer), self::region(&program[buffer], &region)]);
            match kind {
                AccessKind::Read => reads.push(access),
                AccessKind::Write => writes.push(access),
            }
        }
        let label = task.label.trim();
        tasks.push(json!({
            "name": format!("{}{}{label}", task.op.name(), if label.is_empty() { "" } else { " " }),
            "queue": task.sm,
            "phases": [{"waits": waits, "reads": reads, "writes": writes,
                        "signals": [[counter(task.out_counter), 1]]}],
        }));
    }
    let mut tensors = Map::new();
    for (id, buffer) in program.buffers_by_id() {
        let mut tensor = tensor(buffer, in_place.contains(&id));
        for extent in tensor["shape"].as_array().into_iter().flatten().filter_map(Value::as_i64) {
            number(extent, || format!("an extent of buffer {id}"))?;
        }
        if let Some(page) = pages.of_buffer.get(&id) {
            tensor["storage"] = json!(page_name(*page));
        }
        tensors.insert(name(program, id), tensor);
    }
    if let Some((page, bytes)) = pages.sizes.iter().find(|(_, bytes)| **bytes > BYTES) {
        return Err(format!("page {page} has {bytes} bytes; in a schedule a storage has {BYTES} at most"));
    }
    let storages: Map<String, Value> =
        pages.sizes.iter().map(|(&page, &bytes)| (page_name(page), json!({"bytes": bytes}))).collect();
    Ok(json!({"tensors": tensors, "storages": storages, "tasks": tasks}))
}

/// Which pages hold buffers, and which ones.
#[derive(Default)]
struct Pages {
    of_buffer: BTreeMap<BufferId, i64>,
    sizes: BTreeMap<i64, i64>,
}

impl Pages {
    /// Of the entries that keep P03.
    fn of(program: &Program<'_>) -> Pages {
        let mut found = Pages::default();
        let Some(pages) = &program.pages else { return found };
        for &(buffer, page) in &pages.buffer_to_page.0 {
            let record = usize::try_from(page).ok().and_then(|page| pages.pages.get(page));
            let id = BufferId::stated(buffer);
            if let Some(record) = record.filter(|_| id.index() < program.buffers.len()) {
                found.of_buffer.insert(id, page);
                found.sizes.insert(page, record.nbytes.max(0));
            }
        }
        found
    }
}

fn page_name(page: i64) -> String {
    format!("page {page}")
}

fn counter(id: i64) -> String {
    format!("counter {id}")
}

/// Names of buffers need not differ.
fn name(program: &Program<'_>, id: BufferId) -> String {
    format!("{} {id}", &*program[id].name)
}

fn tensor(buffer: &Buffer<'_>, in_place: bool) -> Value {
    let bits = buffer.dtype.bits();
    let (shape, element) = match bits % 8 {
        0 => (buffer.shape.to_vec(), bits / 8),
        _ => (vec![buffer.nbytes().unwrap_or(0)], 1),
    };
    let (kind, init) = match buffer.kind {
        BufferKind::Weight | BufferKind::Const => ("weight", json!(false)),
        BufferKind::IoInput => ("input", json!(false)),
        BufferKind::Activation => ("activation", json!(false)),
        BufferKind::IoOutput => ("output", json!(false)),
        // What a task changes in place is meant to go on from launch to launch; of any other cache R06 is as strict as ER06.
        BufferKind::KvCache if in_place => ("cache", json!(false)),
        BufferKind::KvCache => ("activation", json!("once")),
    };
    json!({"shape": shape, "element": element, "kind": kind, "init": init})
}

/// Nothing of it is more than the whole; elements of less than a byte are taken together.
fn region(buffer: &Buffer<'_>, region: &[[i64; 2]]) -> Value {
    let is_whole = region.iter().zip(&buffer.shape).all(|(&interval, &extent)| interval == [0, extent]);
    if is_whole || !buffer.dtype.bits().is_multiple_of(8) { Value::Null } else { json!(region) }
}
