//! Judges a launch task by task.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::model::{Program, Task};
use megakernel_ir::rule::CLAUSES;
use megakernel_ir::{BufferKind, DType, Opcode};
use megakernel_numerics::is_nan;
use megakernel_numerics::{Tensor, TensorFile};

use super::expect::{is_output, shape};
use super::outputs::{in_words, judge};
use super::{Class, Elements, Fault, Place, size};
use crate::judge::Mismatch;
use crate::oracle::{Expected, Follow, NoAnswer, OPEN};
use crate::text::excerpt;

/// A launch whose every task passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// For each task that wrote: its opcode, dtype and class of sizes, and the share of its bounds that it used.
    pub tasks: Vec<(Place, Option<f64>)>,
    /// What the caches hold after it, as far as tasks list them.
    pub caches: BTreeMap<String, Tensor>,
}

/// Judges each task of a launch by what it wrote, on the inputs that it had, in an order in which each comes after
/// those that it depends on.
///
/// The outer error is a fault of the oracle, the inner one a fault of the implementation: the first task that is wrong,
/// or an output that no task left so.
///
/// # Errors
/// The oracle has no answer.
pub fn follow(
    place: &str,
    program: &Program<'_>,
    follow: &mut dyn Follow,
    trace: &TensorFile,
    output: &TensorFile,
) -> Result<Result<Traced, Fault>, NoAnswer> {
    let mut traced = Traced { tasks: Vec::new(), caches: BTreeMap::new() };
    for id in follow.order() {
        let Some(mut written) = follow.task(id)? else { continue };
        let task = program.tasks.get(id).ok_or_else(|| format!("no task {id}"))?;
        let buffer =
            program.buffers.get(written.buffer).ok_or_else(|| format!("no buffer {}", written.buffer))?;
        let key = (Some(task.op), buffer.dtype);
        let class = Class::of(size(program, task));
        let what = format!("{place}, {}, `{}`", describe(id, task), excerpt(buffer.name.as_bytes()));
        let tensor = match trace.buffer(&id.to_string(), buffer.dtype, &written.shape()) {
            Ok(tensor) => tensor,
            Err(error) => {
                let required = format!("{what}: {} {:?} in the trace", buffer.dtype, written.shape());
                let actual = excerpt(error.to_string().as_bytes());
                let mismatch = Mismatch::new(required, actual);
                return Ok(Err(Fault { mismatch, key: Some(key), class: Some(class) }));
            }
        };
        if let Expected::Ints(required) = &mut written.expected {
            // What is not specified is whatever it is, and the tasks that read it are judged by that.
            let found = tensor.ints();
            let open = required.iter_mut().zip(found).filter(|(required, _)| **required == OPEN);
            open.for_each(|(required, found)| *required = found);
        }
        match judge(&tensor, &written.expected) {
            Ok(share) => traced.tasks.push(((key, class), share)),
            Err(wrong) => {
                let from: Vec<u64> = written.region.iter().map(|&(low, _)| low).collect();
                let mut mismatch = in_words(&what, &wrong, &from);
                mismatch.expected.push_str(", from the inputs that the task had");
                mismatch.elements = Some(Box::new(Elements::of(&buffer.name, &tensor, &written.expected)));
                return Ok(Err(Fault { mismatch, key: Some(key), class: Some(class) }));
            }
        }
        follow.store(id, &tensor)?;
    }
    // What no task lists stays as it was, and is in nobody's memory.
    let listed: BTreeSet<i64> =
        program.tasks.iter().flat_map(|task| task.inputs.iter().chain(&task.outputs)).copied().collect();
    for (id, buffer) in program.buffers.iter().enumerate() {
        if !is_output(buffer) || !i64::try_from(id).is_ok_and(|id| listed.contains(&id)) {
            continue;
        }
        let left = follow.buffer(id)?;
        if let Some(fault) = shape(buffer)
            .and_then(|shape| contradiction(place, &buffer.name, (buffer.dtype, &shape), &left, output))
        {
            return Ok(Err(fault));
        }
        if buffer.kind == BufferKind::KvCache {
            traced.caches.insert(buffer.name.to_string(), left);
        }
    }
    Ok(Ok(traced))
}

/// The task, its opcode and label, and the clause that says what it computes.
fn describe(id: usize, task: &Task<'_>) -> String {
    let label = match excerpt(task.label.as_bytes()) {
        label if label.is_empty() => String::new(),
        label => format!(" `{label}`"),
    };
    let clause = clause(task.op).map_or_else(String::new, |clause| format!(" ({clause})"));
    format!("task {id} {}{label}{clause}", task.op)
}

/// The clause of an opcode.
pub fn clause(opcode: Opcode) -> Option<&'static str> {
    let clause = CLAUSES.iter().find(|clause| clause.id.starts_with("OPC-") && clause.title == opcode.name());
    clause.map(|clause| clause.id)
}

/// A trace proves something about the outputs only if it leads to them.
fn contradiction(
    place: &str,
    name: &str,
    (dtype, shape): (DType, &[u64]),
    left: &Tensor,
    output: &TensorFile,
) -> Option<Fault> {
    let found = output.buffer(name, dtype, shape);
    // Which NaN it is, is never judged.
    let same = |(a, b): (u32, u32)| a == b || (is_nan(dtype, a) && is_nan(dtype, b));
    if found.as_ref().is_ok_and(|found| found.elements().into_iter().zip(left.elements()).all(same)) {
        return None;
    }
    let mismatch = Mismatch::new(
        format!("{place}, `{}`: what the trace says its tasks left there", excerpt(name.as_bytes())),
        match found {
            Ok(_) => "other elements in the output".to_owned(),
            Err(error) => excerpt(error.to_string().as_bytes()),
        },
    );
    Some(Fault { mismatch, key: None, class: None })
}
