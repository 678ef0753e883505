//! Random systems of task graphs that break no rule of structure, near enough to valid ones that every other rule is
//! broken alone often enough.

use megakernel_ir::model::{Given, Text};
use megakernel_ir::prng::SplitMix64;
use megakernel_task_graph::{EVENT_INVALID, Event, EventId, System, Task, TaskGraph, Tile};

/// What to draw next.
pub struct Random(pub SplitMix64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// What waits for what on a rank: for each event from position 2 on, the range of tasks, by index.
struct Waits(Vec<(usize, usize)>);

/// A system of one to three ranks, with up to nine work tasks each.
pub fn system(seed: u64) -> System<'static> {
    let random = &mut Random(SplitMix64::new(seed));
    let ranks = [1, 1, 1, 2, 2, 3][random.below(6)];
    let alike = random.one_in(2);
    let mut waits: Vec<(usize, Waits)> = Vec::new();
    for rank in 0..ranks {
        if rank > 0 && alike {
            let (tasks, Waits(first)) = &waits[0];
            waits.push((*tasks, Waits(first.clone())));
            continue;
        }
        let tasks = 1 + random.below(9);
        let mut ranges = Vec::new();
        let mut at = 1 + random.below(2).min(tasks - 1);
        while at < tasks && ranges.len() < 5 {
            let end = (at + 1 + random.below(3)).min(tasks);
            ranges.push((at, end));
            at = end + usize::from(random.one_in(6));
        }
        if random.one_in(12) {
            ranges.push((0, 0));
        }
        // Events in another order than their tasks.
        for index in (1..ranges.len()).rev() {
            if random.one_in(4) {
                let other = random.below(index);
                ranges.swap(index, other);
            }
        }
        waits.push((tasks, Waits(ranges)));
    }
    let seed = random.next();
    let mut graphs = Vec::new();
    for rank in 0..ranks {
        // Ranks that are alike draw alike.
        let mut own = Random(SplitMix64::new(if alike { seed } else { seed ^ rank as u64 }));
        graphs.push(graph(&mut own, rank, &waits));
    }
    count_triggers(random, &mut graphs);
    System { ranks: graphs, kernel_graph: None, extra: Vec::new() }
}

fn graph(random: &mut Random, rank: usize, waits: &[(usize, Waits)]) -> TaskGraph<'static> {
    let (tasks, Waits(ranges)) = &waits[rank];
    let careful = !random.one_in(3);
    let own = |event: usize| EventId { rank: rank as u16, position: 2 + event as u32, nvshmem: false }.bits();
    let event = |event_type: i64, (first, last): (i64, i64), num_triggers: i64| Event {
        event_type,
        first_task_id: first,
        last_task_id: last,
        num_triggers,
        extra: Vec::new(),
    };
    let mut all_events = vec![event(911, (0, 0), 1), event(903, (2, *tasks as i64 + 2), 1)];
    for &(first, end) in ranges {
        let range = if first == end { (0, 0) } else { (first as i64 + 2, end as i64 + 2) };
        all_events.push(event(900, range, 0));
    }
    all_events.push(event(910, (0, 0), 0));
    let end = ranges.len();
    let mut all_tasks = vec![task(0, EVENT_INVALID, EVENT_INVALID), task(10, EVENT_INVALID, own(0) - 1)];
    let mut first_tasks = Vec::new();
    for index in 0..*tasks {
        let waited = ranges.iter().position(|&(first, end)| (first..end).contains(&index));
        if waited.is_none() {
            first_tasks.push(index as i64 + 2);
        }
        let later: Vec<usize> = (0..end).filter(|&event| ranges[event].0 > index).collect();
        let mut trigger = if careful && !later.is_empty() && !random.one_in(5) {
            own(later[random.below(later.len())])
        } else if careful || random.one_in(3) {
            own(end)
        } else {
            own(random.below(end + 1))
        };
        let mut kind = [101, 101, 101, 101, 103, 107][random.below(6)];
        if random.one_in(15) {
            trigger = EVENT_INVALID;
        }
        if waits.len() > 1 && random.one_in(2) {
            kind = 199;
            let to = (rank + [1, 1, 2, 0][random.below(4)]) % waits.len();
            let there = waits[to].1.0.len();
            // Copies at the same place of ranks that are alike go to the same event.
            trigger = EventId {
                rank: to as u16,
                position: 2 + random.below(there + 1).min(there) as u32,
                nvshmem: true,
            }
            .bits();
        }
        let mut task = task(kind, waited.map_or(EVENT_INVALID, own), trigger);
        let odd = random.one_in(25);
        let tiles = |random: &mut Random, most: usize| -> Option<Vec<Tile<'static>>> {
            let count = random.below(most + 1);
            (!random.one_in(9)).then(|| (0..count).map(|_| tile(random, odd)).collect())
        };
        task.inputs = tiles(random, if kind == 103 { 3 } else { 2 });
        let most = 1 + usize::from(random.one_in(4));
        task.outputs = tiles(random, most);
        if kind == 199 {
            let slot = tile(random, false);
            // Each rank has a slot of its own, most of the time.
            let at = if random.one_in(6) { 0 } else { 16 * rank as i64 };
            let slots = Tile {
                base_ptr: Text::from(if random.one_in(3) { "more slots" } else { "slots" }),
                data_type: 930,
                dims: [3, 4, 4].into_iter().collect(),
                offset: at,
                strides: [16, 4, 1].into_iter().collect(),
                extra: Vec::new(),
            };
            task.inputs = Some(vec![slot]);
            task.outputs = Some(vec![slots]);
        } else if waits.len() > 1 && random.one_in(4) {
            let name = Text::from(if random.one_in(3) { "more slots" } else { "slots" });
            let slots = Tile {
                base_ptr: name,
                data_type: 930,
                dims: [3, 4, 4].into_iter().collect(),
                offset: 0,
                strides: [16, 4, 1].into_iter().collect(),
                extra: Vec::new(),
            };
            task.inputs = Some(vec![tile(random, false), slots]);
        }
        all_tasks.push(task);
    }
    TaskGraph { all_events, all_tasks, first_tasks, extra: Vec::new() }
}

fn task(task_type: i64, dependent_event: i64, trigger_event: i64) -> Task<'static> {
    Task {
        dependent_event,
        expert_offset: Given(None),
        inputs: Some(Vec::new()),
        kv_idx: Given(None),
        merge_task_offset: Given(None),
        outputs: Some(Vec::new()),
        request_id: Given(None),
        task_offset: Given(None),
        task_type,
        trigger_event,
        variant_id: 0,
        extra: Vec::new(),
    }
}

/// Part of one of four tensors of four rows and four columns; an odd one may have any strides.
fn tile(random: &mut Random, odd: bool) -> Tile<'static> {
    let name = ["a", "b", "c", "d"][random.below(4)];
    let (rows, columns) = (1 + random.below(3) as i64, 1 + random.below(3) as i64);
    let (row, column) = (random.below(5 - rows as usize) as i64, random.below(5 - columns as usize) as i64);
    let mut tile = Tile {
        base_ptr: Text::from(name),
        data_type: 930,
        dims: [rows, columns].into_iter().collect(),
        offset: 4 * row + column,
        strides: [4, 1].into_iter().collect(),
        extra: Vec::new(),
    };
    if random.one_in(4) {
        // All of some rows.
        (tile.dims, tile.offset) = ([rows, 4].into_iter().collect(), 4 * row);
    }
    if random.one_in(5) {
        (tile.dims, tile.strides) = ([columns].into_iter().collect(), [1].into_iter().collect());
    }
    if odd {
        match random.below(5) {
            0 => tile.strides = [3, 1].into_iter().take(tile.dims.len()).collect(),
            1 => tile.data_type = 940,
            2 => tile.offset -= 3,
            3 => tile.strides.iter_mut().for_each(|stride| *stride = 1),
            _ => tile.strides.iter_mut().for_each(|stride| *stride /= 4),
        }
    }
    tile
}

/// Each event gets the number of its triggers, or sometimes another.
fn count_triggers(random: &mut Random, graphs: &mut [TaskGraph<'static>]) {
    let triggers: Vec<EventId> = graphs
        .iter()
        .flat_map(|graph| &graph.all_tasks)
        .filter_map(|task| EventId::from_bits(task.trigger_event))
        .collect();
    for (rank, graph) in graphs.iter_mut().enumerate() {
        for (position, event) in graph.all_events.iter_mut().enumerate().skip(2) {
            let mine = |id: &&EventId| usize::from(id.rank) == rank && id.position as usize == position;
            event.num_triggers = triggers.iter().filter(mine).count() as i64;
            if random.one_in(40) {
                event.num_triggers += [-1, 1, 2][random.below(3)];
            }
        }
    }
}
