//! Task graphs as a schedule (clause SCH-16).

use std::collections::{BTreeMap, BTreeSet};

use megakernel_task_graph::{EventId, Reach, Select, TaskGraph};
use megakernel_task_graph_reference::explore::{Access, Setup};
use megakernel_task_graph_reference::types;
use serde_json::{Map, Value, json};

use super::{MOST, number};

/// Whether tasks meet those of ranks that are not there.
pub fn reaches_others(graph: &TaskGraph<'_>) -> bool {
    let own = graph.all_tasks.get(1).and_then(|task| EventId::from_bits(task.trigger_event));
    graph.all_tasks.iter().skip(2).any(|task| {
        let trigger = EventId::from_bits(task.trigger_event);
        task.known_type().is_some_and(|known| known.reach == Reach::Rendezvous)
            || trigger.zip(own).is_some_and(|(trigger, own)| trigger.rank != own.rank)
    })
}

/// The schedule of a system that breaks no TS rule.
///
/// # Errors
/// What a schedule cannot say.
pub fn schedule(setup: &Setup) -> Result<Value, String> {
    let storages = storages(setup)?;
    let mut events = Map::new();
    let awaited: BTreeSet<usize> =
        setup.tasks.iter().filter_map(|task| task.dependent).chain(setup.ends.iter().copied()).collect();
    for &event in &awaited {
        let waiting = &setup.events[event];
        let triggers =
            number(waiting.threshold, || format!("`num_triggers` of {}", event_name(setup, event)))?;
        events.insert(event_name(setup, event), json!({"period": triggers}));
    }
    let wait = |event: usize| json!([event_name(setup, event), setup.events[event].threshold]);
    let signal = |event: usize| json!([event_name(setup, event), 1]);
    let mut tasks = Vec::new();
    for work in &setup.tasks {
        let mut first = Map::new();
        let mut phases = Vec::new();
        if let Some(event) = work.dependent {
            first.insert("waits".to_owned(), json!([wait(event)]));
        }
        let mut last = match work.mates.first() {
            None => first,
            // All have started before any of them goes on.
            Some(mate) => {
                let meeting = format!("meeting {mate}");
                first.insert("signals".to_owned(), json!([[meeting, 1]]));
                phases.push(Value::Object(first));
                [("waits".to_owned(), json!([[meeting, setup.ends.len()]]))].into_iter().collect()
            }
        };
        let mut lists: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for access in &work.accesses {
            let list = match (access.writes, access.adds) {
                (false, _) => "reads",
                (true, false) => "writes",
                (true, true) => "adds",
            };
            let storage = &storages[access.storage];
            lists
                .entry(list)
                .or_default()
                .extend(storage.accesses(access).into_iter().map(|region| json!([storage.name, region])));
        }
        last.extend(lists.into_iter().map(|(list, accesses)| (list.to_owned(), json!(accesses))));
        if let Some(event) = work.trigger {
            last.insert("signals".to_owned(), json!([signal(event)]));
        }
        phases.push(Value::Object(last));
        tasks.push(json!({
            "name": format!("rank {} task {} {}", work.rank, work.id, types::name(work.kind)),
            "queue": work.rank,
            "phases": phases,
        }));
    }
    for (rank, &end) in setup.ends.iter().enumerate() {
        tasks.push(json!({"name": format!("end of the iteration of rank {rank}"), "phases": [{"waits": [wait(end)]}]}));
    }
    let tensors: Map<String, Value> =
        storages.iter().map(|storage| (storage.name.clone(), storage.tensor())).collect();
    Ok(json!({"tensors": tensors, "events": events, "tasks": tasks}))
}

fn event_name(setup: &Setup, event: usize) -> String {
    let event = &setup.events[event];
    format!("rank {} event {}", event.rank, event.position)
}

/// By what tasks select parts of a tile.
type Axis = (Select, Option<i64>);

/// The memory of a rank that has one name.
struct Storage {
    name: String,
    /// Bytes of an element: all that is accessed begins and ends between elements.
    element: i64,
    /// How many elements there are.
    elements: i64,
    /// By what is selected, and the values that are.
    axes: BTreeMap<Axis, BTreeSet<i64>>,
}

fn storages(setup: &Setup) -> Result<Vec<Storage>, String> {
    let mut ends = vec![(0i64, 0i64); setup.storages.len()];
    let mut axes = vec![BTreeMap::<Axis, BTreeSet<i64>>::new(); setup.storages.len()];
    for access in setup.tasks.iter().flat_map(|task| &task.accesses) {
        let (common, end) = &mut ends[access.storage];
        for [from, to] in bytes(access) {
            *common |= from | to;
            *end = (*end).max(to);
        }
        for &(select, own, value) in &access.parts {
            axes[access.storage].entry((select, own)).or_default().insert(value);
        }
    }
    let all = setup.storages.iter().zip(ends).zip(axes);
    all.map(|(((rank, name), (common, end)), axes)| {
        // The largest power of two that divides all, up to the largest element that there is.
        let element = 1 << common.trailing_zeros().min(12);
        let elements = (end / element).max(1);
        let name = format!("rank {rank} {name}");
        match elements <= MOST {
            true => Ok(Storage { name, element, elements, axes }),
            false => Err(format!(
                "{name} has {elements} elements of {element} bytes; in a schedule a tensor has {MOST} at most"
            )),
        }
    })
    .collect()
}

/// What an access touches, in bytes, and of a byte all of it.
fn bytes(access: &Access) -> Vec<[i64; 2]> {
    let clamped = |at: i128| i64::try_from(at).unwrap_or(i64::MAX);
    let whole = |&(from, to): &(i128, i128)| {
        [clamped(from.div_euclid(8).max(0)), clamped((to + 7).div_euclid(8).max(0))]
    };
    access.spans().0.iter().map(whole).collect()
}

impl Storage {
    fn tensor(&self) -> Value {
        let mut shape: Vec<i64> = self.axes.values().map(|values| values.len() as i64).collect();
        shape.push(self.elements);
        // What is there at first, task graphs do not say.
        json!({"shape": shape, "element": self.element, "init": true})
    }

    /// The regions of an access: as few as runs of boxes can be.
    fn accesses(&self, access: &Access) -> Vec<Value> {
        let selected = self.axes.iter().map(|(&axis, values)| {
            let own = access.parts.iter().find(|&&(select, own, _)| (select, own) == axis);
            let place = own.and_then(|(.., value)| values.iter().position(|known| known == value));
            place.map_or([0, values.len() as i64], |place| [place as i64, place as i64 + 1])
        });
        let before: Vec<[i64; 2]> = selected.collect();
        let intervals: Vec<[i64; 2]> =
            bytes(access).into_iter().map(|interval| interval.map(|at| at / self.element)).collect();
        let axis = before.len();
        let boxed =
            |interval: [i64; 2]| -> Vec<[i64; 2]> { before.iter().copied().chain([interval]).collect() };
        match runs(&intervals) {
            Some((first, runs)) if !runs.is_empty() => {
                let runs: Vec<[i64; 3]> =
                    runs.iter().map(|&[step, count]| [axis as i64, step, count]).collect();
                vec![json!({"box": boxed(first), "runs": runs})]
            }
            _ => intervals.into_iter().map(|interval| json!(boxed(interval))).collect(),
        }
    }
}

/// Intervals as one with copies of copies: steps and counts. Nothing where they are not.
fn runs(intervals: &[[i64; 2]]) -> Option<([i64; 2], Vec<[i64; 2]>)> {
    let first = *intervals.first()?;
    let length = first[1] - first[0];
    if intervals.iter().any(|interval| interval[1] - interval[0] != length) {
        return None;
    }
    let mut begins: Vec<i64> = intervals.iter().map(|interval| interval[0]).collect();
    let mut found = Vec::new();
    while let [one, other, ..] = begins[..] {
        let step = other - one;
        let count = begins.windows(2).take_while(|pair| pair[1] - pair[0] == step).count() + 1;
        // Each further part has to be a copy of the first.
        let copied = begins.len().is_multiple_of(count)
            && begins
                .chunks(count)
                .all(|part| part.iter().zip(&begins).all(|(at, of)| at - part[0] == of - one));
        if !copied {
            return None;
        }
        found.push([step, count as i64]);
        begins = begins.into_iter().step_by(count).collect();
    }
    Some((first, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_at_equal_distances_are_runs_of_one() {
        let rows = |begins: &[i64]| -> Vec<[i64; 2]> { begins.iter().map(|&at| [at, at + 2]).collect() };
        assert_eq!(runs(&rows(&[4])), Some(([4, 6], vec![])));
        assert_eq!(runs(&rows(&[4, 9, 14])), Some(([4, 6], vec![[5, 3]])));
        assert_eq!(runs(&rows(&[0, 3, 10, 13, 20, 23])), Some(([0, 2], vec![[3, 2], [10, 3]])));
        assert_eq!(runs(&rows(&[0, 3, 10, 14])), None);
        assert_eq!(runs(&[[0, 2], [4, 5]]), None);
        assert_eq!(runs(&[]), None);
    }
}
