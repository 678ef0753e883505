//! The rules ES.

use megakernel_ir::Rule;
use megakernel_ir::diagnostic::pointer_token;
use megakernel_schedule::{Access, Kind, NameId, Region, Schedule, Task};

use crate::Findings;
use crate::parts::{Placed, count, named, tensor};

const MANY: i64 = 2_147_483_647;
const BYTES: i64 = 1 << 62;
/// Tasks of a repetition that are looked at one by one, where a name has their numbers.
const LOOKED: i64 = 1 << 12;

pub fn errors(schedule: &Schedule) -> Findings {
    let mut found = numbers(schedule);
    let is_sound = |found: &Findings, at: &str| !found.iter().any(|(_, pointer)| pointer.starts_with(at));
    let name = |id: NameId| schedule.name(id);
    for record in &schedule.tensors {
        let at = format!("/tensors/{}", pointer_token(name(record.name)));
        let is_numbered = is_sound(&found, &at);
        let mut room = None;
        if let Some(view) = record.view {
            match schedule.tensors.iter().find(|of| of.name == view && of.view.is_none()) {
                None => drop(found.insert((Rule::ES03, format!("{at}/view")))),
                Some(of) if is_sound(&found, &format!("/tensors/{}/", pointer_token(name(of.name)))) => {
                    room = Some(size(of))
                }
                Some(_) => {}
            }
        } else if let Some(storage) = record.storage {
            match schedule.storages.iter().find(|of| of.name == storage) {
                None => drop(found.insert((Rule::ES03, format!("{at}/storage")))),
                Some(of) => room = Some(of.bytes.into()),
            }
        }
        if is_numbered
            && room.is_some_and(|room| i128::from(record.offset).saturating_add(size(record)) > room)
        {
            found.insert((Rule::ES04, at));
        }
    }
    let [mut tasks, mut parts, mut intervals] = [0u128; 3];
    for (index, task) in schedule.tasks.iter().enumerate() {
        let at = format!("/tasks/{index}");
        let times = task.repeat.map_or(1, |repeat| repeat.times).max(0);
        tasks += times.unsigned_abs() as u128;
        for (place, phase) in task.phases.iter().enumerate() {
            let lists = [
                phase.waits.len(),
                phase.signals.len(),
                phase.reads.len(),
                phase.writes.len(),
                phase.adds.len(),
            ];
            parts += times.unsigned_abs() as u128 * (1 + lists.iter().sum::<usize>() as u128);
            let adds: Vec<Access> = phase.adds.iter().map(|add| add.access.clone()).collect();
            for (member, list) in [("reads", &phase.reads), ("writes", &phase.writes), ("adds", &adds)] {
                for (number, access) in list.iter().enumerate() {
                    let at = format!("{at}/phases/{place}/{member}/{number}");
                    intervals += judge(schedule, task, times, access, (&at, member != "reads"), &mut found);
                }
            }
        }
        if tasks > 1 << 24 || parts > 1 << 26 || intervals > 1 << 26 {
            found.insert((Rule::ES06, at));
            break;
        }
    }
    found
}

fn size(record: &megakernel_schedule::Tensor) -> i128 {
    let extents = record.shape.iter().chain([&record.element]).map(|&extent| i128::from(extent));
    extents.fold(1, i128::saturating_mul)
}

fn numbers(schedule: &Schedule) -> Findings {
    let mut found = Findings::new();
    let mut within = |number: i64, [least, most]: [i64; 2], at: String| {
        if number < least || number > most {
            found.insert((Rule::ES01, at));
        }
    };
    let at = |list: &str, name: NameId| format!("/{list}/{}", pointer_token(schedule.name(name)));
    let mut large = Vec::new();
    for record in &schedule.tensors {
        let at = at("tensors", record.name);
        record
            .shape
            .iter()
            .enumerate()
            .for_each(|(axis, &extent)| within(extent, [1, MANY], format!("{at}/shape/{axis}")));
        within(record.element, [1, 4096], format!("{at}/element"));
        within(record.offset, [0, BYTES], format!("{at}/offset"));
        if record.shape.iter().all(|&extent| extent > 0) && size(record) > BYTES.into() {
            large.push(at);
        }
    }
    schedule
        .storages
        .iter()
        .for_each(|one| within(one.bytes, [0, BYTES], format!("{}/bytes", at("storages", one.name))));
    for event in &schedule.events {
        event
            .period
            .into_iter()
            .for_each(|period| within(period, [1, MANY], format!("{}/period", at("events", event.name))));
    }
    for (index, task) in schedule.tasks.iter().enumerate() {
        if let Some(repeat) = task.repeat {
            within(repeat.times, [1, MANY], format!("/tasks/{index}/repeat/times"));
            repeat
                .queues
                .into_iter()
                .for_each(|queues| within(queues, [1, MANY], format!("/tasks/{index}/repeat/queues")));
        }
        for (place, phase) in task.phases.iter().enumerate() {
            for (member, list) in [("waits", &phase.waits), ("signals", &phase.signals)] {
                for (number, count) in list.iter().enumerate() {
                    within(
                        count.number,
                        [1, MANY],
                        format!("/tasks/{index}/phases/{place}/{member}/{number}/1"),
                    );
                }
            }
        }
    }
    for at in large {
        if !found.iter().any(|(_, pointer)| pointer.starts_with(&at)) {
            found.insert((Rule::ES01, at));
        }
    }
    found
}

/// ES02, ES03 and ES05 of an access. Gives how many intervals it has in all tasks.
fn judge(
    schedule: &Schedule,
    task: &Task,
    times: i64,
    access: &Access,
    (at, changes): (&str, bool),
    found: &mut Findings,
) -> u128 {
    let is_numbered = task.repeat.is_some() && schedule.name(access.tensor).contains('#');
    let copies: Vec<i64> = match times {
        0 => Vec::new(),
        _ if is_numbered => (0..times.min(LOOKED)).collect(),
        _ => vec![0, times - 1],
    };
    let mut intervals = 0;
    for &k in &copies {
        let Some(tensor) = tensor(schedule, &named(schedule, task, access.tensor, k)) else {
            found.insert((Rule::ES03, format!("{at}/0")));
            continue;
        };
        if changes && matches!(tensor.of.kind, Kind::Input | Kind::Weight) {
            found.insert((Rule::ES05, at.to_owned()));
        }
        let wrong = access.region.as_deref().and_then(|region| wrong(region, &tensor, k));
        if let Some(wrong) = wrong {
            found.insert((Rule::ES02, format!("{at}/1{wrong}")));
            continue;
        }
        intervals += count(access.region.as_deref(), &tensor.record.shape);
    }
    if is_numbered { intervals } else { intervals / 2 * times.unsigned_abs() as u128 }
}

/// Where a region is wrong.
fn wrong(region: &Region, tensor: &Placed<'_>, k: i64) -> Option<String> {
    let shape = &tensor.record.shape;
    if region.bounds.len() != shape.len() {
        return Some(String::new());
    }
    let inner = if region.is_object() { "/box" } else { "" };
    if let Some(axis) = region.bounds.iter().position(|&[lo, hi]| lo < 0 || hi < lo) {
        return Some(format!("{inner}/{axis}"));
    }
    let is_run = |&[axis, step, count]: &[i64; 3]| {
        usize::try_from(axis).is_ok_and(|axis| axis < shape.len()) && step >= 0 && (1..=MANY).contains(&count)
    };
    if let Some(run) = region.runs().iter().position(|run| !is_run(run)) {
        return Some(format!("/runs/{run}"));
    }
    if region.shift().is_some_and(|shift| shift.len() != shape.len()) {
        return Some(String::new());
    }
    if region.bounds.iter().any(|[lo, hi]| lo == hi) {
        return None;
    }
    let is_beyond = |axis: usize| {
        let along = region.runs().iter().filter(|run| usize::try_from(run[0]) == Ok(axis));
        let reach: i128 = along.map(|[_, step, count]| i128::from(*step) * i128::from(count - 1)).sum();
        let shift = region.shift().map_or(0, |shift| i128::from(shift[axis]) * i128::from(k));
        let [lo, hi] = region.bounds[axis].map(i128::from);
        lo + shift < 0 || hi + reach + shift > shape[axis].into()
    };
    (0..shape.len()).any(is_beyond).then(String::new)
}
