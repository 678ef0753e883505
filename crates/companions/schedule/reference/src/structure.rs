//! The rules ES, as far as the tasks of the document show them; what repetition makes of names is judged in [`crate::expand`].

use std::collections::HashMap;

use megakernel_ir::Rule;
use megakernel_ir::diagnostic::pointer_token;
use megakernel_order::Findings;
use megakernel_schedule::{Access, Kind, NameId, Schedule, Task, Tensor};

use crate::ids::{StorageId, TensorId};
use crate::region::{self, MOST};
use crate::world::Placed;

/// Bytes, most of them.
pub const BYTES: i64 = 1 << 62;
/// Limits of ES06: tasks; phases, waits, signals and accesses; intervals.
pub const LIMITS: [(u64, &str); 3] =
    [(1 << 24, "tasks"), (1 << 26, "phases, waits, signals and accesses"), (1 << 26, "intervals of bytes")];

/// Judges numbers, places and regions. Gives the places of the tensors, which mean nothing where a rule is broken.
pub fn check(document: &Schedule, findings: &mut Findings) -> (Vec<Placed>, usize) {
    let mut by_name: Vec<Option<TensorId>> = vec![None; document.names.len()];
    for (index, tensor) in document.tensors.iter().enumerate() {
        by_name[tensor.name.index()] = Some(TensorId::at(index));
    }
    let tensor_of = |name: NameId| by_name[name.index()].map(TensorId::index);
    let storages: HashMap<NameId, usize> =
        document.storages.iter().enumerate().map(|(index, storage)| (storage.name, index)).collect();
    let at = |list: &str, name: NameId| format!("/{list}/{}", pointer_token(document.name(name)));
    for storage in &document.storages {
        number(storage.bytes, [0, BYTES], || format!("{}/bytes", at("storages", storage.name)), findings);
    }
    for event in &document.events {
        if let Some(period) = event.period {
            number(period, [1, MOST], || format!("{}/period", at("events", event.name)), findings);
        }
    }
    let sizes: Vec<Option<i64>> =
        document.tensors.iter().map(|tensor| size(tensor, &at("tensors", tensor.name), findings)).collect();
    let mut placed = Vec::with_capacity(sizes.len());
    let mut own = document.storages.len();
    for (index, (tensor, size)) in document.tensors.iter().zip(&sizes).enumerate() {
        let pointer = at("tensors", tensor.name);
        let value = match tensor.view {
            None => index,
            Some(view) => match tensor_of(view).filter(|&of| document.tensors[of].view.is_none()) {
                Some(of) => of,
                None => {
                    let name = document.name(view);
                    let message = format!("found `{name}`, required the name of a tensor that is no view");
                    findings.broken(Rule::ES03, format!("{pointer}/view"), message);
                    index
                }
            },
        };
        let root = &document.tensors[value];
        let mut room = if value == index { None } else { sizes[value] };
        let mut storage = None;
        if let Some(name) = root.storage {
            storage = storages.get(&name).copied();
            match storage {
                Some(storage) if value == index => room = Some(document.storages[storage].bytes),
                None if value == index => {
                    let name = document.name(name);
                    let message = format!("found `{name}`, required the name of a storage");
                    findings.broken(Rule::ES03, format!("{pointer}/storage"), message);
                }
                _ => {}
            }
        }
        if let (Some(room), Some(size)) = (room, size)
            && i128::from(tensor.offset) + i128::from(*size) > i128::from(room)
        {
            let message = format!("the tensor ends at byte {}, and there are {room}", tensor.offset + size);
            findings.broken(Rule::ES04, pointer, message);
        }
        let before = if value == index { 0 } else { root.offset };
        placed.push(Placed {
            value: TensorId::at(value),
            // Of a view, that of its tensor: filled in below, since it may come later.
            storage: StorageId::at(storage.unwrap_or(own)),
            start: before.saturating_add(tensor.offset).unsigned_abs(),
            kind: root.kind,
            init: root.init,
        });
        own += 1;
    }
    for index in 0..placed.len() {
        placed[index].storage = placed[placed[index].value.index()].storage;
    }
    tasks(document, &by_name, &placed, findings);
    (placed, own)
}

fn number(number: i64, [least, most]: [i64; 2], at: impl Fn() -> String, findings: &mut Findings) -> bool {
    let fits = (least..=most).contains(&number);
    if !fits {
        findings.broken(Rule::ES01, at(), format!("found {number}, required {least} to {most}"));
    }
    fits
}

/// The bytes of a tensor, where its numbers are in their ranges.
fn size(tensor: &Tensor, pointer: &str, findings: &mut Findings) -> Option<i64> {
    let mut right = number(tensor.element, [1, 4096], || format!("{pointer}/element"), findings);
    for (axis, &extent) in tensor.shape.iter().enumerate() {
        right &= number(extent, [1, MOST], || format!("{pointer}/shape/{axis}"), findings);
    }
    right &= number(tensor.offset, [0, BYTES], || format!("{pointer}/offset"), findings);
    if !right {
        return None;
    }
    let extents = tensor.shape.iter().chain([&tensor.element]);
    let bytes = extents.fold(1i128, |all, &extent| all.saturating_mul(i128::from(extent)));
    let bytes = i64::try_from(bytes).ok().filter(|&bytes| bytes <= BYTES);
    if bytes.is_none() {
        findings.broken(Rule::ES01, pointer, "the tensor has more than 2^62 bytes");
    }
    bytes
}

fn tasks(document: &Schedule, by_name: &[Option<TensorId>], placed: &[Placed], findings: &mut Findings) {
    let mut sizes = [0u64; 3];
    let mut is_large = false;
    for (index, task) in document.tasks.iter().enumerate() {
        // Put together for what is wrong alone: there are very many tasks.
        let at_task = || format!("/tasks/{index}");
        if let Some(repeat) = &task.repeat {
            number(repeat.times, [1, MOST], || format!("{}/repeat/times", at_task()), findings);
            if let Some(queues) = repeat.queues {
                number(queues, [1, MOST], || format!("{}/repeat/queues", at_task()), findings);
            }
        }
        let times = task.repeat.map_or(1, |repeat| repeat.times.clamp(1, MOST));
        let mut of_task = [1, 0, 0];
        for (number, phase) in task.phases.iter().enumerate() {
            let pointer = || format!("{}/phases/{number}", at_task());
            for (list, counts) in [("waits", &phase.waits), ("signals", &phase.signals)] {
                for (place, count) in counts.iter().enumerate() {
                    self::number(
                        count.number,
                        [1, MOST],
                        || format!("{}/{list}/{place}/1", pointer()),
                        findings,
                    );
                }
            }
            let access = |list: &'static str| move |(place, access)| (list, place, access);
            let adds = phase.adds.iter().map(|add| &add.access);
            let accesses = (phase.reads.iter().enumerate().map(access("reads")))
                .chain(phase.writes.iter().enumerate().map(access("writes")))
                .chain(adds.enumerate().map(access("adds")));
            of_task[1] += 1 + phase.waits.len() as u64 + phase.signals.len() as u64;
            for (list, place, access) in accesses {
                of_task[1] += 1;
                let of = Of { document, by_name, placed, task };
                let changes = list != "reads";
                let at = || format!("{}/{list}/{place}", pointer());
                of_task[2] += judge(&of, access, changes, times, at, findings);
            }
        }
        for ((size, of_task), (limit, what)) in sizes.iter_mut().zip(of_task).zip(LIMITS) {
            *size = size.saturating_add(of_task.saturating_mul(times.unsigned_abs()));
            if *size > limit && !is_large {
                is_large = true;
                let message =
                    format!("up to here the document stands for {size} {what}, allowed are {limit}");
                findings.broken(Rule::ES06, at_task(), message);
            }
        }
    }
}

/// Of what an access is.
struct Of<'d> {
    document: &'d Schedule,
    by_name: &'d [Option<TensorId>],
    placed: &'d [Placed],
    task: &'d Task,
}

/// Judges an access whose tensor has one name. Gives the number of its intervals.
fn judge(
    of: &Of<'_>,
    access: &Access,
    changes: bool,
    times: i64,
    at: impl Fn() -> String,
    findings: &mut Findings,
) -> u64 {
    let name = of.document.name(access.tensor);
    if of.task.repeat.is_some() && name.contains('#') {
        // One interval at least; the rest when its tensors are known.
        return 1;
    }
    match of.by_name[access.tensor.index()] {
        Some(index) => {
            let (tensor, placed) = (&of.document.tensors[index.index()], &of.placed[index.index()]);
            fits(tensor, placed, access, changes, times, at, findings).unwrap_or(0)
        }
        None => {
            unknown(name, at(), findings);
            0
        }
    }
}

/// ES03 for an access.
pub fn unknown(name: &str, at: String, findings: &mut Findings) {
    let message = format!("found `{name}`, required the name of a tensor");
    findings.broken(Rule::ES03, format!("{at}/0"), message);
}

/// ES02 and ES05 for an access. Gives the number of its intervals, if it has bytes at all.
pub fn fits(
    tensor: &Tensor,
    placed: &Placed,
    access: &Access,
    changes: bool,
    times: i64,
    at: impl Fn() -> String,
    findings: &mut Findings,
) -> Option<u64> {
    if changes && matches!(placed.kind, Kind::Input | Kind::Weight) {
        findings.broken(Rule::ES05, at(), "the tensor is the host's, and tasks may not change it");
    }
    let wrong = access.region.as_deref().and_then(|region| region::check(region, &tensor.shape, times).err());
    if let Some(wrong) = wrong {
        findings.broken(Rule::ES02, format!("{}/1{}", at(), wrong.at), wrong.message);
        return None;
    }
    Some(region::count(access.region.as_deref(), &tensor.shape))
}
