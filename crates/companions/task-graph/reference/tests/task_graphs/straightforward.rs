//! The rules of task graphs once more, the slow way: every pair of tasks, every element of every tile, all paths in a
//! table. For systems that break no rule of structure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use megakernel_ir::Rule;
use megakernel_task_graph::{EVENT_INVALID, EventId, System, Tile, element_bits};

/// The broken rules, and where; with the numbers of tasks that show it.
pub type Found = BTreeMap<(Rule, String), Vec<u32>>;

/// An event: its rank and its position.
type EventOf = (usize, usize);
/// Whose memory, and which tensor there.
type Storage = (usize, String);

struct Task {
    rank: usize,
    id: usize,
    kind: i64,
    dependent: Option<EventOf>,
    trigger: Option<EventOf>,
}

struct Access {
    task: usize,
    writes: bool,
    storage: Storage,
    pointer: String,
    tile: Tile<'static>,
    /// Bytes, or, of a storage that is judged by hulls, all between the first and the last.
    bytes: BTreeSet<i64>,
}

/// Judges a system by the TD, TR, TB and TX rules, TB01 and TB02 only as far as they need no kernel graph.
pub fn judge(system: &System<'_>) -> Found {
    let world = World::new(system);
    let mut found = Found::new();
    world.counts(&mut found);
    world.cycles(&mut found);
    world.bounds(&mut found);
    world.composition(&mut found);
    if !found.keys().any(|(rule, _)| *rule == Rule::TD03) {
        world.races(&mut found);
    }
    found
}

struct World {
    ranks: usize,
    tasks: Vec<Task>,
    /// Threshold, and whether it ends the iteration.
    events: BTreeMap<EventOf, (i64, bool)>,
    accesses: Vec<Access>,
    /// `paths[a][b]`: dependency edges lead from a to b.
    paths: Vec<Vec<bool>>,
}

fn close(paths: &mut [Vec<bool>]) {
    let n = paths.len();
    for middle in 0..n {
        for from in 0..n {
            if paths[from][middle] {
                let onward = paths[middle].clone();
                paths[from].iter_mut().zip(onward).for_each(|(path, more)| *path |= more);
            }
        }
    }
}

impl World {
    fn new(system: &System<'_>) -> World {
        let (mut tasks, mut events, mut accesses) = (Vec::new(), BTreeMap::new(), Vec::new());
        for (rank, graph) in system.ranks.iter().enumerate() {
            for (position, event) in graph.all_events.iter().enumerate().skip(2) {
                events.insert((rank, position), (event.num_triggers, event.event_type == 910));
            }
            for (id, task) in graph.all_tasks.iter().enumerate().skip(2) {
                let event = |bits: i64| {
                    let id = EventId::from_bits(bits).filter(|_| bits != EVENT_INVALID)?;
                    Some((usize::from(id.rank), id.position as usize))
                };
                let trigger = event(task.trigger_event);
                let mut add = |writes: bool, memory: usize, list: &str, index: usize, tile: &Tile<'_>| {
                    let prefix = format!("/ranks/{rank}/all_tasks/{id}/{list}/{index}");
                    let storage = (memory, tile.base_ptr.to_string());
                    let tile = Tile {
                        base_ptr: "".into(),
                        data_type: tile.data_type,
                        dims: tile.dims.clone(),
                        offset: tile.offset,
                        strides: tile.strides.clone(),
                        extra: Vec::new(),
                    };
                    let bytes = BTreeSet::new();
                    accesses.push(Access {
                        task: tasks.len(),
                        writes,
                        storage,
                        pointer: prefix,
                        tile,
                        bytes,
                    });
                };
                let caches = [103, 104, 115, 116, 117, 153, 164, 257, 263, 284].contains(&task.task_type);
                for (index, tile) in task.inputs().iter().enumerate().filter(|(_, tile)| !tile.is_null()) {
                    add(false, rank, "inputs", index, tile);
                    if caches && (1..=2).contains(&index) {
                        add(true, rank, "inputs", index, tile);
                    }
                }
                for (index, tile) in task.outputs().iter().enumerate().filter(|(_, tile)| !tile.is_null()) {
                    if task.task_type == 199 && index == 0 {
                        let mut slot = tile.clone();
                        slot.dims[0] = 1;
                        add(true, trigger.map_or(rank, |(to, _)| to), "outputs", index, &slot);
                    } else {
                        add(true, rank, "outputs", index, tile);
                    }
                }
                let dependent = event(task.dependent_event);
                tasks.push(Task { rank, id, kind: task.task_type, dependent, trigger });
            }
        }
        let edge = |from: &Task, to: &Task| from.trigger.is_some() && from.trigger == to.dependent;
        let mut paths: Vec<Vec<bool>> =
            tasks.iter().map(|from| tasks.iter().map(|to| edge(from, to)).collect()).collect();
        close(&mut paths);
        let mut world = World { ranks: system.ranks.len(), tasks, events, accesses, paths };
        world.fill_bytes();
        world
    }

    /// The bytes of every tile; the hull in a storage without a common layout.
    fn fill_bytes(&mut self) {
        let mut regular: HashMap<Storage, bool> = HashMap::new();
        for access in &self.accesses {
            let others: Vec<&Tile<'_>> = self
                .accesses
                .iter()
                .filter(|other| other.storage == access.storage)
                .map(|other| &other.tile)
                .collect();
            regular.entry(access.storage.clone()).or_insert_with(|| has_layout(&others));
        }
        for access in &mut self.accesses {
            let exact = bytes(&access.tile);
            access.bytes = match (regular[&access.storage], exact.first(), exact.last()) {
                (false, Some(&first), Some(&last)) => (first..=last).collect(),
                _ => exact,
            };
        }
    }

    fn producers(&self, event: EventOf) -> Vec<usize> {
        (0..self.tasks.len()).filter(|&task| self.tasks[task].trigger == Some(event)).collect()
    }

    fn waits(&self, event: EventOf) -> bool {
        self.events[&event].1 || self.tasks.iter().any(|task| task.dependent == Some(event))
    }

    fn at(&self, task: usize) -> String {
        format!("/ranks/{}/all_tasks/{}", self.tasks[task].rank, self.tasks[task].id)
    }

    /// The number of a task through all ranks, the reserved ones among them.
    fn number(&self, task: usize) -> u32 {
        (task + 2 * (self.tasks[task].rank + 1)) as u32
    }

    fn numbers(&self, tasks: &[usize]) -> Vec<u32> {
        tasks.iter().map(|&task| self.number(task)).collect()
    }

    fn counts(&self, found: &mut Found) {
        for (&event, &(threshold, _)) in self.events.iter().filter(|&(&event, _)| self.waits(event)) {
            let producers = self.producers(event).len() as i64;
            let rule = match producers {
                0 => Rule::TD01,
                _ if threshold > producers => Rule::TD02,
                _ if threshold < producers => Rule::TR01,
                _ => continue,
            };
            let mut tasks = self.producers(event);
            let waiting = (0..self.tasks.len()).filter(|&task| self.tasks[task].dependent == Some(event));
            tasks.reverse();
            let shown = waiting.take(1).chain(tasks.into_iter().take(usize::from(rule == Rule::TR01)));
            found.insert(
                (rule, format!("/ranks/{}/all_events/{}/num_triggers", event.0, event.1)),
                shown.map(|task| self.number(task)).collect(),
            );
        }
        for task in 0..self.tasks.len() {
            if !(0..self.ranks).any(|rank| self.ends(task, rank)) {
                found.insert(
                    (Rule::TD05, format!("{}/trigger_event", self.at(task))),
                    vec![self.number(task)],
                );
            }
        }
    }

    /// Whether a path leads from a task to the end of a rank's iteration.
    fn ends(&self, task: usize, rank: usize) -> bool {
        (0..self.tasks.len()).any(|last| {
            (last == task || self.paths[task][last])
                && self.tasks[last].trigger.is_some_and(|event| event.0 == rank && self.events[&event].1)
        })
    }

    fn cycles(&self, found: &mut Found) {
        let n = self.tasks.len();
        let cyclic = |one: usize, other: usize| self.paths[one][other] && self.paths[other][one];
        for task in (0..n).filter(|&task| cyclic(task, task)) {
            if (0..task).all(|lower| !cyclic(task, lower)) {
                found.insert((Rule::TD03, self.at(task)), vec![self.number(task)]);
            }
        }
        let edges: Vec<(usize, usize)> = (0..n)
            .flat_map(|one| (0..n).map(move |other| (one, other)))
            .filter(|&(one, other)| {
                self.tasks[one].trigger.is_some() && self.tasks[one].trigger == self.tasks[other].dependent
            })
            .collect();
        let same = |one: usize, other: usize| self.tasks[one].rank == self.tasks[other].rank;
        let mut descending = false;
        for &(from, to) in edges.iter().filter(|&&(from, to)| same(from, to) && from > to) {
            descending = true;
            if !cyclic(from, to) {
                found.insert(
                    (Rule::TD04, format!("{}/dependent_event", self.at(to))),
                    self.numbers(&[to, from]),
                );
            }
        }
        if descending || (0..n).any(|task| cyclic(task, task)) {
            return;
        }
        let mut queues = vec![vec![false; n]; n];
        edges.iter().for_each(|&(from, to)| queues[from][to] = true);
        (1..n).filter(|&task| same(task - 1, task)).for_each(|task| queues[task - 1][task] = true);
        close(&mut queues);
        let crossing = edges.iter().filter(|&&(from, to)| !same(from, to) && queues[to][from]);
        if let Some((lowest, from)) = crossing.map(|&(from, to)| (to, from)).min() {
            let at = format!("{}/dependent_event", self.at(lowest));
            found.insert((Rule::TD04, at), self.numbers(&[lowest, from]));
        }
    }

    fn bounds(&self, found: &mut Found) {
        for access in &self.accesses {
            let tile = &access.tile;
            let bits = element_bits(tile.data_type).expect("a known type");
            if tile.offset < 0 || tile.offset * 8 % bits != 0 {
                found.insert((Rule::TB02, format!("{}/offset", access.pointer)), Vec::new());
            } else if wraps(tile, access.writes) {
                found.insert((Rule::TB01, access.pointer.clone()), Vec::new());
            }
        }
    }

    fn composition(&self, found: &mut Found) {
        for &event in self.events.keys() {
            let producers = self.producers(event);
            let copies = producers.iter().filter(|&&task| self.tasks[task].kind == 199);
            let ranks: BTreeSet<usize> = copies.clone().map(|&task| self.tasks[task].rank).collect();
            if copies.count() > 0 && ranks.len() != producers.len() {
                found.insert((Rule::TX02, format!("/ranks/{}/all_events/{}", event.0, event.1)), Vec::new());
            }
        }
    }

    fn ordered(&self, one: usize, other: usize) -> bool {
        self.paths[one][other] || self.paths[other][one]
    }

    fn races(&self, found: &mut Found) {
        let mut racy: BTreeSet<&Storage> = BTreeSet::new();
        let pairs =
            || self.accesses.iter().flat_map(|one| self.accesses.iter().map(move |other| (one, other)));
        let meet = |one: &Access, other: &Access| {
            one.storage == other.storage
                && (one.writes || other.writes)
                && one.bytes.intersection(&other.bytes).next().is_some()
        };
        let remote = |access: &Access| self.tasks[access.task].rank != access.storage.0;
        // `one` has the lower number throughout.
        for (one, other) in pairs().filter(|(one, other)| one.task < other.task && meet(one, other)) {
            if self.ordered(one.task, other.task) {
                continue;
            }
            racy.insert(&one.storage);
            if remote(one) || remote(other) {
                let writer = if remote(other) { other } else { one };
                found.insert((Rule::TX03, writer.pointer.clone()), self.numbers(&[one.task, other.task]));
            } else {
                let rule = match (one.writes, other.writes) {
                    (true, false) => Rule::TR02,
                    (false, true) => Rule::TR03,
                    _ => Rule::TR04,
                };
                found.insert((rule, other.pointer.clone()), self.numbers(&[one.task, other.task]));
            }
        }
        let own = |access: &&Access| !remote(access) && !racy.contains(&access.storage);
        for write in self.accesses.iter().filter(own).filter(|access| access.writes) {
            let same = || self.accesses.iter().filter(own).filter(|access| access.storage == write.storage);
            // For every element, the task that writes it next.
            let mut next: BTreeMap<usize, BTreeSet<i64>> = BTreeMap::new();
            for &byte in &write.bytes {
                let later: BTreeSet<usize> = same()
                    .filter(|other| {
                        other.writes && other.bytes.contains(&byte) && self.paths[write.task][other.task]
                    })
                    .map(|other| other.task)
                    .collect();
                let first = later
                    .iter()
                    .find(|&&one| later.iter().all(|&other| one == other || self.paths[one][other]));
                if let Some(&first) = first {
                    next.entry(first).or_default().insert(byte);
                }
            }
            let dead = next.iter().find(|(second, bytes)| {
                let second = **second;
                !same().any(|read| {
                    !read.writes
                        && self.paths[write.task][read.task]
                        && (read.task == second || self.paths[read.task][second])
                        && read.bytes.intersection(bytes).next().is_some()
                })
            });
            if let Some((&second, _)) = dead {
                found.insert((Rule::TR05, write.pointer.clone()), self.numbers(&[write.task, second]));
            }
        }
        if self.ranks > 1 {
            self.iterations(&racy, found);
        }
    }

    fn iterations(&self, racy: &BTreeSet<&Storage>, found: &mut Found) {
        let ends =
            |task: usize| -> Vec<usize> { (0..self.ranks).filter(|&rank| self.ends(task, rank)).collect() };
        let begins = |task: usize, rank: usize| {
            (0..self.tasks.len())
                .any(|first| self.tasks[first].rank == rank && (first == task || self.paths[first][task]))
        };
        // The first in an iteration, the second in the next.
        let ordered = |one: usize, other: usize| ends(one).iter().any(|&rank| begins(other, rank));
        let remote = |access: &Access| self.tasks[access.task].rank != access.storage.0;
        let judged = |access: &&Access| !racy.contains(&access.storage) && !ends(access.task).is_empty();
        for one in self.accesses.iter().filter(judged) {
            for other in self.accesses.iter().filter(judged) {
                let meet = one.storage == other.storage
                    && (one.writes || other.writes)
                    && one.bytes.intersection(&other.bytes).next().is_some();
                if meet && !ordered(one.task, other.task) {
                    let pointer = [other, one].into_iter().find(|access| remote(access) && access.writes);
                    let at = pointer.unwrap_or(one).pointer.clone();
                    found.insert((Rule::TX04, at), self.numbers(&[one.task, other.task]));
                }
            }
        }
        for &event in self.events.keys().filter(|&&event| self.waits(event)) {
            let at = format!("/ranks/{}/all_events/{}", event.0, event.1);
            if found.contains_key(&(Rule::TX02, at)) {
                continue;
            }
            let producers = self.producers(event);
            for &early in producers.iter().filter(|&&task| !ends(task).is_empty()) {
                let overtaken = |&&late: &&usize| !ends(late).is_empty() && !ordered(late, early);
                if let Some(&late) = producers.iter().find(overtaken) {
                    let at = format!("{}/trigger_event", self.at(early));
                    found.insert((Rule::TX04, at), self.numbers(&[late, early]));
                }
            }
        }
    }
}

/// Extents and strides of the axes that have more than one index.
fn axes(tile: &Tile<'_>) -> Vec<(i64, i64)> {
    tile.dims.iter().copied().zip(tile.strides.iter().copied()).filter(|&(extent, _)| extent > 1).collect()
}

fn bytes(tile: &Tile<'_>) -> BTreeSet<i64> {
    let bits = element_bits(tile.data_type).expect("a known type");
    let mut elements = vec![0];
    for (extent, stride) in axes(tile) {
        elements = (0..extent).flat_map(|index| elements.iter().map(move |e| e + index * stride)).collect();
    }
    elements
        .iter()
        .flat_map(|element| {
            let first = tile.offset * 8 + element * bits;
            first.div_euclid(8)..(first + bits + 7).div_euclid(8)
        })
        .collect()
}

/// Index along each of these strides, the largest first, of an element.
fn coordinates(mut element: i64, strides: &[i64]) -> Vec<i64> {
    strides
        .iter()
        .map(|stride| {
            let index = element / stride;
            element %= stride;
            index
        })
        .collect()
}

/// Whether a tile goes on past the end of one of its own axes.
fn wraps(tile: &Tile<'_>, writes: bool) -> bool {
    let axes = axes(tile);
    if writes && axes.iter().any(|&(_, stride)| stride == 0) {
        return true;
    }
    let mut strides: Vec<(i64, i64)> =
        axes.into_iter().filter(|&(_, stride)| stride > 0).map(|(n, s)| (s, n)).collect();
    strides.sort_unstable_by(|one, other| other.cmp(one));
    if strides.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return true;
    }
    let element = tile.offset * 8 / element_bits(tile.data_type).expect("a known type");
    let along = coordinates(element, &strides.iter().map(|&(stride, _)| stride).collect::<Vec<_>>());
    (1..strides.len()).any(|at| (along[at] + strides[at].1) * strides[at].0 > strides[at - 1].0)
}

/// Whether there are strides in which all of these tiles are boxes.
fn has_layout(tiles: &[&Tile<'_>]) -> bool {
    let types: BTreeSet<i64> = tiles.iter().map(|tile| tile.data_type).collect();
    let axes = |tile: &Tile<'_>| axes(tile).into_iter().filter(|&(_, stride)| stride > 0).collect::<Vec<_>>();
    let all: BTreeSet<i64> =
        tiles.iter().flat_map(|tile| axes(tile)).map(|(_, stride)| stride).chain([1]).collect();
    let strides: Vec<i64> = all.into_iter().rev().collect();
    types.len() == 1
        && strides.windows(2).all(|pair| pair[0] % pair[1] == 0)
        && tiles.iter().all(|tile| {
            let own: BTreeSet<i64> = axes(tile).iter().map(|&(_, stride)| stride).collect();
            let element = tile.offset * 8 / element_bits(tile.data_type).expect("a known type");
            let along = coordinates(element, &strides);
            own.len() == axes(tile).len()
                && axes(tile).iter().all(|&(extent, stride)| {
                    let at = strides.iter().position(|&other| other == stride).expect("it is one of them");
                    at == 0 || (along[at] + extent) * stride <= strides[at - 1]
                })
        })
}
