//! Sums that several tasks add to.
//!
//! GEMV_TILE overwrites its output, so each task that adds writes a partial sum of its own, and whoever reads the sum adds
//! them up: what the storage held before, and the partial sums in the order of tasks. Partial sums of tasks that add to different
//! columns share a tensor. A task that reads the sum too early reads a partial sum too early, so the race stays one.

use std::collections::{BTreeMap, BTreeSet};

use super::Refusal;
use super::order::Order;
use super::tensors::{Area, Tensors};
use super::versions::refuse;
use super::work::{Access, Plan, Use, Work};

/// Gives each task that adds a partial sum, and each that reads a sum its parts.
pub(super) fn join_sums(
    plan: &mut Plan,
    order: &Order,
    tensors: &mut Tensors<'_>,
    refusals: &mut Vec<Refusal>,
) {
    let mut storages: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for found in plan.uses.iter().filter(|found| found.access == Access::Add) {
        storages.entry((found.area.rank, found.area.tensor)).or_default();
    }
    for (number, found) in plan.uses.iter().enumerate() {
        if let Some(uses) = storages.get_mut(&(found.area.rank, found.area.tensor)) {
            uses.push(number);
        }
    }
    for numbers in storages.into_values() {
        let storage = Storage::new(plan, order, tensors, &numbers);
        let reads = match storage.reads() {
            Ok(reads) => reads,
            Err(refusal) => {
                refusals.push(refusal);
                continue;
            }
        };
        let places = storage.places(&reads);
        apply(plan, tensors, &reads, &places);
    }
}

/// The accesses of one storage.
struct Storage<'p> {
    order: &'p Order,
    tensors: &'p Tensors<'p>,
    adds: Vec<(usize, &'p Use)>,
    writes: Vec<&'p Use>,
    others: Vec<(usize, &'p Use)>,
}

/// Reads, and for each the tasks whose partial sums it adds up, as numbers of uses.
type Reads = BTreeMap<usize, Vec<usize>>;

impl<'p> Storage<'p> {
    fn new(plan: &'p Plan, order: &'p Order, tensors: &'p Tensors<'_>, numbers: &[usize]) -> Storage<'p> {
        let uses: Vec<(usize, &Use)> =
            numbers.iter().filter_map(|&number| Some((number, plan.uses.get(number)?))).collect();
        let of = |wanted: &dyn Fn(Access) -> bool| {
            uses.iter().filter(|(_, found)| wanted(found.access)).copied().collect::<Vec<_>>()
        };
        Storage {
            order,
            tensors,
            adds: of(&|access| access == Access::Add),
            writes: of(&|access| access.writes() && access != Access::Add)
                .into_iter()
                .map(|(_, found)| found)
                .collect(),
            others: of(&|access| !access.writes()),
        }
    }

    fn label(&self, found: &Use) -> String {
        self.tensors.label(&found.area)
    }

    fn ordered(&self, a: &Use, b: &Use) -> bool {
        a.task == b.task || self.order.before(a.task, b.task) || self.order.before(b.task, a.task)
    }

    /// Which partial sums each read adds up.
    fn reads(&self) -> Result<Reads, Refusal> {
        // A program would not show these races: a partial sum is none of the elements that are written or left out.
        let unseen =
            self.others.iter().filter(|(_, found)| found.access.is_dropped()).map(|&(_, found)| found);
        for &(_, add) in &self.adds {
            for other in self.writes.iter().copied().chain(unseen.clone()) {
                if other.area.region.overlaps(&add.area.region) && !self.ordered(add, other) {
                    return Err(refuse(
                        add,
                        format!(
                            "nothing orders this task, which adds to `{}`, and task {}; a program would not show the race, since it \
                         keeps each partial sum by itself",
                            self.label(add),
                            other.task.1
                        ),
                    ));
                }
            }
        }
        let mut reads = Reads::new();
        for &(number, read) in self.others.iter().filter(|(_, found)| !found.access.is_dropped()) {
            let mut parts = Vec::new();
            for &(part, add) in &self.adds {
                let overlaps = add.area.region.overlaps(&read.area.region);
                if overlaps && !self.order.before(read.task, add.task) && !self.is_overwritten(add, read)? {
                    parts.push(part);
                }
            }
            if !parts.is_empty() {
                self.require_start(read)?;
                reads.insert(number, parts);
            }
        }
        let used: BTreeSet<usize> = reads.values().flatten().copied().collect();
        for &(number, add) in &self.adds {
            let later =
                |write: &&&Use| write.area.holds(&add.area) && self.order.before(add.task, write.task);
            let is_last = !self.writes.iter().any(|write| later(&write));
            if !used.contains(&number) || is_last && self.tensors.is_host(add.area.tensor) {
                return Err(refuse(
                    add,
                    format!(
                        "adds to `{}`, which the host reads or nobody does: no task is left to add up the partial sums",
                        self.label(add)
                    ),
                ));
            }
        }
        Ok(reads)
    }

    /// Whether what a task adds is overwritten before a read.
    fn is_overwritten(&self, add: &Use, read: &Use) -> Result<bool, Refusal> {
        let both = Area { region: add.area.region.intersection(&read.area.region), ..add.area };
        let mut over = self.writes.iter().filter(|write| {
            write.area.region.overlaps(&both.region)
                && self.order.before(add.task, write.task)
                && self.order.before(write.task, read.task)
        });
        match over.next() {
            None => Ok(false),
            Some(write) if write.area.holds(&both) => Ok(true),
            Some(write) => Err(refuse(
                read,
                format!(
                    "of the sum `{}` task {} overwrites a part before this task reads it; required: all or nothing",
                    self.label(read),
                    write.task.1
                ),
            )),
        }
    }

    /// That a sum begins with something else than what the iteration before left.
    fn require_start(&self, read: &Use) -> Result<(), Refusal> {
        let has_start = self.writes.iter().any(|write| {
            let before = self.order.before(write.task, read.task);
            write.area.region.overlaps(&read.area.region) && (before || write.access == Access::Zero)
        });
        if has_start {
            return Ok(());
        }
        Err(refuse(
            read,
            format!(
                "reads the sum `{}`, to which every iteration adds and which none sets: values that one iteration leaves to the \
             next have a counterpart in caches alone; see rule TR07",
                self.label(read)
            ),
        ))
    }

    /// The number of the tensor of partial sums for each task that adds: another one for each that a task reads at one place.
    fn places(&self, reads: &Reads) -> BTreeMap<usize, usize> {
        let mut together: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for parts in reads.values() {
            for &part in parts {
                together.entry(part).or_default().extend(parts);
            }
        }
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        for &(number, add) in &self.adds {
            let mut taken = BTreeSet::new();
            for &(other, found) in
                self.adds.iter().filter(|(_, found)| found.area.region.overlaps(&add.area.region))
            {
                // Others have no place yet.
                let Some(&place) = places.get(&other) else { continue };
                let is_read_with = together.get(&number).is_some_and(|with| with.contains(&other));
                if is_read_with || add.task == found.task || !self.ordered(add, found) {
                    taken.insert(place);
                }
            }
            // After those of lower ids, so that the order of partial sums is that of tasks.
            places.insert(number, taken.last().map_or(0, |last| last + 1));
        }
        places
    }
}

/// Moves what is added to partial sums, and adds reads of these.
fn apply(plan: &mut Plan, tensors: &mut Tensors<'_>, reads: &Reads, places: &BTreeMap<usize, usize>) {
    let mut partial: BTreeMap<usize, usize> = BTreeMap::new();
    for (&number, &place) in places {
        if let Some(found) = plan.uses.get_mut(number) {
            let tensor = *partial.entry(place).or_insert_with(|| tensors.partial(found.area.tensor, place));
            (found.access, found.area) = (Access::Columns, Area { tensor, ..found.area });
        }
    }
    let mut biased: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (_, work) in &plan.tasks {
        if let &Work::Linear { residual: Some(residual), out, .. } = work {
            biased.entry(residual).or_default().push(out);
        }
    }
    for (&number, parts) in reads {
        // A bias is a row of a buffer, and a sum is added to the product.
        if plan.uses.get(number).is_some_and(|found| found.access == Access::Slice) {
            let outputs = biased.get(&number).into_iter().flatten();
            for (changed, access) in outputs.map(|&out| (out, Access::Write)).chain([(number, Access::Read)])
            {
                if let Some(found) = plan.uses.get_mut(changed) {
                    found.access = access;
                }
            }
        }
        let wanted: BTreeSet<usize> = parts.iter().filter_map(|part| places.get(part).copied()).collect();
        let Some(read) = plan.uses.get(number).cloned() else { continue };
        let mut uses = Vec::new();
        for tensor in wanted.iter().filter_map(|place| partial.get(place)) {
            uses.push(plan.uses.len());
            plan.uses.push(Use {
                area: Area { tensor: *tensor, ..read.area },
                access: Access::Read,
                ..read.clone()
            });
        }
        plan.sums.insert(number, uses);
    }
}
