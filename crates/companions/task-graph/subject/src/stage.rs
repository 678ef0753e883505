//! The systems of a family: who triggers what, and what each task accesses.

use megakernel_ir::model::{Given, Text};
use megakernel_task_graph::{EVENT_INVALID, Event, EventId, EventType, System, Task, TaskGraph, Tile};

/// What a task triggers when it has finished. Events are numbered by family, from 0; [`END`] is the one that ends the iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trigger {
    /// Nothing.
    Nothing,
    /// An event of its own rank.
    Own(usize),
    /// The task is a copy, and triggers an event of this rank.
    Copy(usize, usize),
}

/// The event that ends the iteration.
pub const END: usize = usize::MAX;

/// Who waits for what and triggers what on a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// For each task, what it waits for.
    pub dependents: Vec<Option<usize>>,
    /// For each task.
    pub triggers: Vec<Trigger>,
}

/// Part of a tensor: its name, first byte, extents, strides. Elements are bytes.
pub type Part = (&'static str, i64, &'static [i64], &'static [i64]);

/// What a task does besides waiting and triggering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// Its type.
    pub kind: i64,
    /// What it lists as inputs.
    pub reads: &'static [Part],
    /// What it lists as outputs.
    pub writes: &'static [Part],
    /// The lower half of its metadata word: a request, an expert, a team.
    pub word: i64,
}

/// The type of a task that copies into the memory of a rank.
pub const COPY: i64 = 199;

fn tile(&(name, offset, dims, strides): &Part) -> Tile<'static> {
    Tile {
        base_ptr: Text::from(name),
        data_type: 930,
        dims: dims.iter().copied().collect(),
        offset,
        strides: strides.iter().copied().collect(),
        extra: Vec::new(),
    }
}

fn task(kind: i64, dependent: i64, trigger: i64) -> Task<'static> {
    Task {
        dependent_event: dependent,
        expert_offset: Given(Some(0)),
        inputs: Some(Vec::new()),
        kv_idx: Given(Some(0)),
        merge_task_offset: Given(Some(0)),
        outputs: Some(Vec::new()),
        request_id: Given(Some(0)),
        task_offset: Given(Some(0)),
        task_type: kind,
        trigger_event: trigger,
        variant_id: 0,
        extra: Vec::new(),
    }
}

fn event(kind: EventType, num_triggers: i64, range: (usize, usize)) -> Event<'static> {
    Event {
        event_type: kind as i64,
        first_task_id: range.0 as i64,
        last_task_id: range.1 as i64,
        num_triggers,
        extra: Vec::new(),
    }
}

/// The system of these ranks with `events` events each besides the reserved ones, in which no task accesses anything.
pub fn system(ranks: &[Order], events: usize) -> System<'static> {
    let graph = |rank: usize, order: &Order| {
        let id = |rank: usize, event: usize, nvshmem: bool| {
            let position = 2 + event.min(events) as u32;
            EventId { rank: rank as u16, position, nvshmem }.bits()
        };
        let last = order.dependents.len() + 2;
        let mut all_events = vec![
            event(EventType::Termination, 1, (0, 0)),
            event(EventType::LaunchDependentTasks, 1, (2, last)),
        ];
        for name in 0..events {
            let first = order.dependents.iter().position(|&dependent| dependent == Some(name));
            let end = order.dependents.iter().rposition(|&dependent| dependent == Some(name));
            let range = first.zip(end).map_or((0, 0), |(first, end)| (first + 2, end + 3));
            all_events.push(event(EventType::Empty, 0, range));
        }
        all_events.push(event(EventType::EndOfTaskGraph, 0, (0, 0)));
        let begin = EventId { rank: rank as u16, position: 1, nvshmem: false }.bits();
        let mut all_tasks = vec![task(0, EVENT_INVALID, EVENT_INVALID), task(10, EVENT_INVALID, begin)];
        let mut first_tasks = Vec::new();
        for (index, (&dependent, &trigger)) in order.dependents.iter().zip(&order.triggers).enumerate() {
            if dependent.is_none() {
                first_tasks.push(index as i64 + 2);
            }
            let dependent = dependent.map_or(EVENT_INVALID, |event| id(rank, event, false));
            let (kind, trigger) = match trigger {
                Trigger::Nothing => (101, EVENT_INVALID),
                Trigger::Own(event) => (101, id(rank, event, false)),
                Trigger::Copy(to, event) => (COPY, id(to, event, true)),
            };
            all_tasks.push(task(kind, dependent, trigger));
        }
        TaskGraph { all_events, all_tasks, first_tasks, extra: Vec::new() }
    };
    System {
        ranks: ranks.iter().enumerate().map(|(rank, order)| graph(rank, order)).collect(),
        kernel_graph: None,
        extra: Vec::new(),
    }
}

/// Makes a task of a rank do this. A copy writes the slot of its rank, which is where its output begins.
pub fn act(task: &mut Task<'static>, action: &Action, rank: usize) {
    task.task_type = action.kind;
    // Small words: all in the lowest part.
    for member in [&mut task.expert_offset, &mut task.request_id, &mut task.task_offset] {
        member.0 = Some(action.word);
    }
    task.inputs = Some(action.reads.iter().map(tile).collect());
    let mut outputs: Vec<_> = action.writes.iter().map(tile).collect();
    if action.kind == COPY {
        outputs
            .iter_mut()
            .for_each(|tile| tile.offset += rank as i64 * tile.strides.first().copied().unwrap_or(0));
    }
    task.outputs = Some(outputs);
}
