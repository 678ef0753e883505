//! What a document stands for: all tasks, with names made and bytes found (clauses SCH-02 to SCH-05).

use std::collections::BTreeMap;

use megakernel_schedule::{Access, Init, Kind, NameId, Region, Schedule, Task, Tensor};

use crate::{MOST, TooLarge};

/// Where a tensor lies.
pub struct Placed<'d> {
    pub record: &'d Tensor,
    /// The tensor that it is or shows, which has the kind and the init.
    pub of: &'d Tensor,
    pub storage: Storage,
    /// Its first byte there.
    pub start: i128,
}

/// A storage by its name, or that of a single tensor by the tensor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Storage {
    Shared(NameId),
    Own(NameId),
}

/// The tensor of this name.
pub fn tensor<'d>(schedule: &'d Schedule, name: &str) -> Option<Placed<'d>> {
    let by_name = |name: &str| schedule.tensors.iter().find(|tensor| schedule.name(tensor.name) == name);
    let record = by_name(name)?;
    let of = record.view.and_then(|view| by_name(schedule.name(view))).unwrap_or(record);
    let before = if record.view.is_some() { i128::from(of.offset) } else { 0 };
    let storage = of.storage.map_or(Storage::Own(of.name), Storage::Shared);
    Some(Placed { record, of, storage, start: before + i128::from(record.offset) })
}

/// A name in the `k`-th task of a repetition.
pub fn named(schedule: &Schedule, task: &Task, name: NameId, k: i64) -> String {
    let text = schedule.name(name);
    if task.repeat.is_some() { text.replace('#', &k.to_string()) } else { text.to_owned() }
}

/// The last axis that a box does not cover from end to end.
fn last_cut(region: &Region, shape: &[i64]) -> Option<usize> {
    (0..shape.len()).rev().find(|&axis| region.bounds[axis] != [0, shape[axis]])
}

/// As how many intervals a region counts.
pub fn count(region: Option<&Region>, shape: &[i64]) -> u128 {
    let Some(region) = region else { return 1 };
    let extent = |[lo, hi]: &[i64; 2]| (hi - lo).unsigned_abs().into();
    if region.bounds.iter().any(|bounds| extent(bounds) == 0u128) {
        return 0;
    }
    let rows = &region.bounds[..last_cut(region, shape).unwrap_or(0)];
    let copies = region.runs().iter().map(|[_, _, count]| count.unsigned_abs().into());
    rows.iter().map(extent).chain(copies).fold(1, u128::saturating_mul)
}

/// The intervals of bytes of a region in the `k`-th task.
fn bytes(region: Option<&Region>, tensor: &Placed<'_>, k: i64) -> Vec<[i128; 2]> {
    let (shape, element) = (&tensor.record.shape, i128::from(tensor.record.element));
    let behind = |axis: usize| shape[axis + 1..].iter().map(|&extent| i128::from(extent)).product::<i128>();
    let all: i128 = shape.iter().map(|&extent| i128::from(extent)).product();
    let whole = Region { bounds: shape.iter().map(|&extent| [0, extent]).collect(), object: None };
    let region = region.unwrap_or(&whole);
    if count(Some(region), shape) == 0 {
        return Vec::new();
    }
    let cut = last_cut(region, shape);
    let length =
        cut.map_or(all, |axis| i128::from(region.bounds[axis][1] - region.bounds[axis][0]) * behind(axis));
    let mut begins = vec![0i128];
    for (axis, &[lo, hi]) in region.bounds.iter().enumerate() {
        let shift = region.shift().map_or(0, |shift| i128::from(shift[axis]) * i128::from(k));
        let places = if cut.is_some_and(|cut| axis < cut) { lo..hi } else { lo..lo + 1 };
        let step = |place: i64| (i128::from(place) + shift) * behind(axis);
        begins =
            begins.iter().flat_map(|begin| places.clone().map(move |place| begin + step(place))).collect();
    }
    for &[axis, step, count] in region.runs() {
        let step = i128::from(step) * usize::try_from(axis).map_or(0, behind);
        begins = begins
            .iter()
            .flat_map(|begin| (0..count).map(move |copy| begin + i128::from(copy) * step))
            .collect();
    }
    let byte = |at: i128| tensor.start + at * element;
    begins.into_iter().map(|begin| [byte(begin), byte(begin + length)]).collect()
}

/// All tasks.
pub struct World<'d> {
    pub schedule: &'d Schedule,
    /// The queue of each task, and its phases.
    pub tasks: Vec<(Option<i128>, Vec<usize>)>,
    pub phases: Vec<Phase>,
    /// The sums of all amounts, by event.
    totals: BTreeMap<String, i128>,
}

/// A phase: its task, and what it does, each with its pointer.
pub struct Phase {
    pub task: usize,
    pub waits: Vec<(String, i128, String)>,
    pub signals: Vec<(String, i128, String)>,
    /// In the order in which the phase does them.
    pub touches: Vec<Touch>,
}

/// An access.
pub struct Touch {
    pub does: Does,
    /// The tensor that is accessed, or shown.
    pub value: NameId,
    pub kind: Kind,
    pub init: Init,
    pub storage: Storage,
    pub bytes: Vec<[i128; 2]>,
    pub group: Option<String>,
    pub pointer: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    Read,
    Write,
    Add,
}

impl<'d> World<'d> {
    /// Of a document that breaks no ES rule.
    pub fn new(schedule: &'d Schedule) -> Result<World<'d>, TooLarge> {
        let mut world = World { schedule, tasks: Vec::new(), phases: Vec::new(), totals: BTreeMap::new() };
        let mut held = 0;
        for (written, task) in schedule.tasks.iter().enumerate() {
            for k in 0..task.repeat.map_or(1, |repeat| repeat.times) {
                world.add(task, &format!("/tasks/{written}"), k, &mut held)?;
            }
        }
        Ok(world)
    }

    fn add(&mut self, task: &Task, at: &str, k: i64, held: &mut u128) -> Result<(), TooLarge> {
        let schedule = self.schedule;
        let queue = task.queue.map(|queue| {
            let Some(repeat) = task.repeat else { return i128::from(queue) };
            let queue = i128::from(queue) + i128::from(k) * i128::from(repeat.queue_step);
            repeat.queues.map_or(queue, |queues| queue.rem_euclid(queues.into()))
        });
        let mut phases = Vec::new();
        for (place, phase) in task.phases.iter().enumerate() {
            let at = format!("{at}/phases/{place}");
            let counts = |list: &[megakernel_schedule::Count], member: &str| -> Vec<_> {
                let one = |(index, count): (usize, &megakernel_schedule::Count)| {
                    (
                        named(schedule, task, count.event, k),
                        i128::from(count.number),
                        format!("{at}/{member}/{index}"),
                    )
                };
                list.iter().enumerate().map(one).collect()
            };
            let mut touches = Vec::new();
            let mut touch = |does, member: &str, index: usize, access: &Access, group: Option<NameId>| {
                let Some(tensor) = tensor(schedule, &named(schedule, task, access.tensor, k)) else { return };
                *held += count(access.region.as_deref(), &tensor.record.shape);
                if *held > MOST as u128 {
                    return;
                }
                touches.push(Touch {
                    does,
                    value: tensor.of.name,
                    kind: tensor.of.kind,
                    init: tensor.of.init,
                    storage: tensor.storage,
                    bytes: bytes(access.region.as_deref(), &tensor, k),
                    group: group.map(|group| named(schedule, task, group, k)),
                    pointer: format!("{at}/{member}/{index}"),
                });
            };
            phase
                .reads
                .iter()
                .enumerate()
                .for_each(|(index, access)| touch(Does::Read, "reads", index, access, None));
            phase
                .writes
                .iter()
                .enumerate()
                .for_each(|(index, access)| touch(Does::Write, "writes", index, access, None));
            phase
                .adds
                .iter()
                .enumerate()
                .for_each(|(index, add)| touch(Does::Add, "adds", index, &add.access, add.group));
            phases.push(self.phases.len());
            let (waits, signals) = (counts(&phase.waits, "waits"), counts(&phase.signals, "signals"));
            *held += 1 + (waits.len() + signals.len()) as u128;
            for (event, amount, _) in &signals {
                *self.totals.entry(event.clone()).or_default() += amount;
            }
            self.phases.push(Phase { task: self.tasks.len(), waits, signals, touches });
        }
        *held += 1;
        self.tasks.push((queue, phases));
        if *held > MOST as u128 { Err(TooLarge) } else { Ok(()) }
    }

    /// Whether a worker takes the tasks of a queue in their order.
    pub fn is_in_order(&self, queue: i128) -> bool {
        !self.schedule.any_order.iter().any(|&any| i128::from(any) == queue)
    }

    /// The sum of all amounts.
    pub fn total(&self, event: &str) -> i128 {
        self.totals.get(event).copied().unwrap_or(0)
    }

    /// The storages, each once.
    pub fn storages(&self) -> std::collections::BTreeSet<Storage> {
        self.phases.iter().flat_map(|phase| &phase.touches).map(|touch| touch.storage).collect()
    }

    /// The accesses of a storage: phase, place in the phase, access.
    pub fn touches(&self, storage: Storage) -> Vec<(usize, usize, &Touch)> {
        let all = self.phases.iter().enumerate();
        let all = all.flat_map(|(at, phase)| {
            phase.touches.iter().enumerate().map(move |(place, one)| (at, place, one))
        });
        all.filter(|(.., touch)| touch.storage == storage).collect()
    }
}
