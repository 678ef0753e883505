//! Which accesses of a storage see the same values.
//!
//! Storage that is written again later holds other values then. Accesses of different values become accesses of different
//! buffers, so each can have the shape that its tasks need. Two accesses that conflict and that nothing orders are always
//! of one version: a race of the graph is a race of the program.

use std::collections::BTreeMap;

use super::Refusal;
use super::order::Order;
use super::sets::Sets;
use super::tensors::Tensors;
use super::work::{Access, Partial, Plan, Use, Work};

/// The versions of all storages.
#[derive(Default)]
pub(super) struct Versions {
    /// Uses that see the same written values; each list has a write.
    pub written: Vec<Written>,
    /// Reads of what no task writes.
    pub host: Vec<usize>,
    /// Uses of each cache tensor of each rank.
    pub caches: Vec<Vec<usize>>,
}

/// The uses of one version of a storage.
#[derive(Default)]
pub(super) struct Written {
    pub uses: Vec<usize>,
    /// No other version of the storage comes later.
    pub is_last: bool,
}

pub(super) fn refuse(of: &Use, reason: String) -> Refusal {
    Refusal { pointer: of.pointer.clone(), rank: of.task.0, reason }
}

/// Finds the versions.
pub(super) fn versions(
    plan: &Plan,
    order: &Order,
    tensors: &Tensors<'_>,
    refusals: &mut Vec<Refusal>,
) -> Versions {
    let mut storages: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (number, found) in plan.uses.iter().enumerate() {
        storages.entry((found.area.rank, found.area.tensor)).or_default().push(number);
    }
    let mut versions = Versions::default();
    for uses in storages.into_values() {
        let of = |number: &usize| plan.uses.get(*number);
        let is_cache = |number: &&usize| of(number).is_some_and(|found| found.access == Access::Cache);
        let first_cache = uses.iter().find(is_cache).copied();
        match first_cache {
            Some(cache) => {
                let other = uses.iter().find(|number| !is_cache(number)).and_then(of);
                if let (Some(other), Some(cache)) = (other, of(&cache)) {
                    let name = tensors.name(cache.area.tensor);
                    let reason = format!("`{name}` is the cache of task {} and no cache here", cache.task.1);
                    refusals.push(refuse(other, reason));
                }
                versions.caches.push(uses);
            }
            None => one_storage(&uses, plan, order, tensors, &mut versions, refusals),
        }
    }
    versions
}

fn one_storage(
    numbers: &[usize],
    plan: &Plan,
    order: &Order,
    tensors: &Tensors<'_>,
    versions: &mut Versions,
    refusals: &mut Vec<Refusal>,
) {
    let uses: Vec<(usize, &Use)> =
        numbers.iter().filter_map(|&number| Some((number, plan.uses.get(number)?))).collect();
    let mut sets = Sets::new(uses.len());
    let mut writers: Vec<usize> =
        (0..uses.len()).filter(|&i| uses.get(i).is_some_and(|u| u.1.access.writes())).collect();
    writers.sort_by_key(|&i| uses.get(i).map(|u| order.height(u.1.task)));
    for (position, &(_, access)) in uses.iter().enumerate() {
        // Of what was not written before, the rest; of unordered and of later writes, whether there are any.
        let (mut rest, mut races, mut later) = (vec![access.area.region], false, Vec::new());
        let own: Vec<&Use> =
            uses.iter().map(|&(_, found)| found).filter(|found| found.task == access.task).collect();
        for (place, &writer) in writers.iter().enumerate().rev() {
            let Some(&(_, write)) = uses.get(writer) else { continue };
            if write.task == access.task || !write.area.region.overlaps(&access.area.region) {
                continue;
            }
            if order.before(write.task, access.task) {
                if !access.access.writes() && rest.iter().any(|region| region.overlaps(&write.area.region)) {
                    rest = rest.iter().flat_map(|region| region.minus(&write.area.region)).collect();
                    sets.join(position, writer);
                }
            } else if order.before(access.task, write.task) {
                later.push(write);
            } else {
                races = true;
                sets.join(position, writer);
                let is_first =
                    !access.access.writes() || writers.iter().position(|&w| w == position) < Some(place);
                if is_first && (access.access.is_dropped() || write.access.is_dropped()) {
                    refusals.push(refuse(access, format!(
                        "nothing orders this access of `{}` and the one of task {}; a program would not show the race, \
                         since it does without this tensor",
                        tensors.label(&access.area), write.task.1
                    )));
                }
            }
        }
        // What comes back to zero by itself is what the host sets.
        let is_zeroed = later.iter().chain(&own).any(|last| {
            last.access == Access::Zero
                && last.area.holds(&access.area)
                && later.iter().all(|write| write.task == last.task || order.before(write.task, last.task))
        });
        let later = later.last().filter(|_| !is_zeroed);
        let is_scratch = !tensors.is_host(access.area.tensor);
        let read_first = rest.first().is_some_and(|region| *region == access.area.region);
        let reason = match access.access {
            Access::Read | Access::Slice if races => continue,
            Access::Read | Access::Slice if rest.is_empty() => continue,
            Access::Weight if races || !read_first => format!(
                "`{}` is read as a weight, and a task writes it; required: a tensor that no task writes",
                tensors.label(&access.area)
            ),
            Access::Read | Access::Slice if !read_first => format!(
                "of `{}` some elements are written before and others never",
                tensors.label(&access.area)
            ),
            Access::Read | Access::Slice
                if later.is_none() && !is_zeroed && is_scratch && !writers.is_empty() =>
            {
                format!(
                    "`{}` is memory that the host does not see, and none writes this part of it",
                    tensors.label(&access.area)
                )
            }
            Access::Read | Access::Slice | Access::Weight => match later {
                Some(write) => format!(
                    "`{}` is read before task {} writes it: values that one iteration leaves to the next have a \
                     counterpart in caches alone",
                    tensors.label(&access.area),
                    write.task.1
                ),
                None => continue,
            },
            _ => continue,
        };
        refusals.push(refuse(access, reason));
    }
    let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for position in 0..uses.len() {
        found.entry(sets.find(position)).or_default().push(position);
    }
    let all: Vec<Vec<usize>> = found.into_values().collect();
    for members in &all {
        let of = |position: &usize| uses.get(*position).copied();
        let listed: Vec<(usize, &Use)> = members.iter().filter_map(of).collect();
        let kept = listed.iter().filter(|(_, found)| !found.access.is_dropped()).map(|&(number, _)| number);
        if !listed.iter().any(|(_, found)| found.access.writes()) {
            versions.host.extend(kept);
            continue;
        }
        // The host sees the last version.
        let is_last = !uses.iter().enumerate().any(|(position, (_, other))| {
            other.access.writes()
                && !members.contains(&position)
                && listed.iter().any(|(_, mine)| {
                    mine.area.region.overlaps(&other.area.region) && order.before(mine.task, other.task)
                })
        });
        let kept: Vec<usize> = kept.collect();
        if !kept.is_empty() {
            versions.written.push(Written { uses: kept, is_last });
        }
    }
}

/// Finds for each reduction of maxima the parts that it chooses from, and makes the reduction pick from all of them.
pub(super) fn join_maxima(
    plan: &mut Plan,
    order: &Order,
    tensors: &Tensors<'_>,
    refusals: &mut Vec<Refusal>,
) {
    for position in 0..plan.tasks.len() {
        let Some(&(task, Work::ArgmaxReduce { values, indices, out })) = plan.tasks.get(position) else {
            continue;
        };
        match parts(plan, order, tensors, values, indices) {
            Ok(area) => {
                let pointer = format!("/all_tasks/{}/inputs/0", task.1);
                plan.uses.push(Use { task, area, access: Access::Read, pointer });
                let logits = plan.uses.len() - 1;
                if let Some((_, work)) = plan.tasks.get_mut(position) {
                    *work = Work::Argmax { logits, out };
                }
            }
            Err(reason) => {
                refusals.push(Refusal { pointer: format!("/all_tasks/{}", task.1), rank: task.0, reason });
            }
        }
    }
}

/// The logits of all parts of a reduction, which together are one box.
fn parts(
    plan: &Plan,
    order: &Order,
    tensors: &Tensors<'_>,
    values: usize,
    indices: usize,
) -> Result<super::tensors::Area, String> {
    let of = |number: usize| plan.uses.get(number).ok_or_else(String::new);
    let (values, indices) = (of(values)?, of(indices)?);
    let reduction = values.task;
    let mut found: Vec<[&Use; 3]> = Vec::new();
    for &Partial { logits, value, index } in &plan.partials {
        let part = [of(value)?, of(logits)?, of(index)?];
        let [value, ..] = part;
        let meets = (value.area.rank, value.area.tensor) == (values.area.rank, values.area.tensor)
            && value.area.region.overlaps(&values.area.region);
        if meets && !order.before(reduction, value.task) {
            found.push(part);
        }
    }
    // A slot that is written twice holds what was written last.
    let all = found.clone();
    found.retain(|[value, ..]| {
        !all.iter().any(|[other, ..]| {
            other.area.region.overlaps(&value.area.region)
                && order.before(value.task, other.task)
                && order.before(other.task, reduction)
        })
    });
    found.sort_by_key(|[value, ..]| value.area.columns()[0]);
    if let Some([value, ..]) = found.iter().find(|[value, ..]| !order.before(value.task, reduction)) {
        return Err(format!(
            "nothing orders task {}, which writes one of the maxima, and this one",
            value.task.1
        ));
    }
    let Some(&[first, logits, _]) = found.first() else {
        return Err("no task of type 110 writes the maxima that it reads".to_owned());
    };
    let mut area = logits.area;
    let (mut slot, mut index_slot) = (values.area.columns()[0], indices.area.columns()[0]);
    for &[value, part, index] in &found {
        let follows = value.area.columns()[0] == slot
            && index.area.columns()[0] == index_slot
            && value.area.same_rows(&values.area)
            && index.area.same_rows(&indices.area)
            && (index.area.rank, index.area.tensor) == (indices.area.rank, indices.area.tensor)
            && [value.area.width(), index.area.width()] == [1, 1];
        let joins = (part.area.rank, part.area.tensor) == (area.rank, area.tensor)
            && part.area.same_rows(&area)
            && part.area.width() == logits.area.width()
            && (value.task == first.task || part.area.columns()[0] == area.columns()[1]);
        if !follows || !joins {
            return Err(format!(
                "the maxima of task {} do not continue those of the slot before; required: slots in the order of the \
                 logits, and parts of one length",
                value.task.1
            ));
        }
        area = area.hull(&part.area);
        (slot, index_slot) = (slot + 1, index_slot + 1);
    }
    if [slot, index_slot] != [values.area.columns()[1], indices.area.columns()[1]] {
        return Err(format!("{} tasks of type 110 write {} slots", found.len(), values.area.width()));
    }
    for write in plan.uses.iter().filter(|found| found.access.writes()) {
        let same = (write.area.rank, write.area.tensor) == (area.rank, area.tensor);
        for [_, part, _] in
            found.iter().filter(|[_, part, _]| same && part.area.region.overlaps(&write.area.region))
        {
            if !order.before(write.task, part.task) && !order.before(reduction, write.task) {
                return Err(format!(
                    "task {} may write `{}` before this task, and not before task {} has read it",
                    write.task.1,
                    tensors.label(&part.area),
                    part.task.1
                ));
            }
        }
    }
    Ok(area)
}
