//! Graphs on which repairs are done.

use std::collections::BTreeSet;

use megakernel_ir::{CounterId, TaskId};
use megakernel_task_graph::{EVENT_INVALID, EventId, EventType, Reach, Task, TaskGraph};
use megakernel_task_graph_reference::validate::{Graphs, Repair};

/// Graphs, and where tasks and events are in them.
pub struct Patient<'a> {
    /// The graphs.
    pub ranks: Vec<TaskGraph<'a>>,
    /// Whether there is one graph, by itself.
    pub is_bare: bool,
}

impl Patient<'_> {
    /// The rank of the n-th of things that are numbered on through the ranks, and its number there.
    fn place(&self, mut number: usize, length: fn(&TaskGraph<'_>) -> usize) -> (usize, usize) {
        for (rank, graph) in self.ranks.iter().enumerate() {
            if number < length(graph) {
                return (rank, number);
            }
            number -= length(graph);
        }
        unreachable!("there is no such number")
    }

    fn task(&self, task: TaskId) -> (usize, usize) {
        self.place(task.index(), |graph| graph.all_tasks.len())
    }

    fn event(&self, event: CounterId) -> (usize, usize) {
        self.place(event.index(), |graph| graph.all_events.len())
    }

    fn id((rank, position): (usize, usize)) -> i64 {
        EventId { rank: rank as u16, position: position as u32, nvshmem: false }.bits()
    }

    fn triggers_of(&self, event: (usize, usize)) -> i64 {
        let bits = Patient::id(event);
        let tagged = EventId { nvshmem: true, ..EventId::from_bits(bits).expect("an id") }.bits();
        let all = self.ranks.iter().flat_map(|graph| graph.all_tasks.iter().skip(2));
        all.filter(|task| task.trigger_event == bits || task.trigger_event == tagged).count() as i64
    }

    /// Does what a repair says; nothing where it is for people to see how.
    pub fn apply(&mut self, repair: Repair) -> bool {
        match repair {
            Repair::Wait { task, event } => {
                let (rank, task) = self.task(task);
                self.ranks[rank].all_tasks[task].dependent_event = Patient::id(self.event(event));
            }
            Repair::Trigger { task, event } => {
                let ((rank, task), event) = (self.task(task), self.event(event));
                let before = EventId::from_bits(self.ranks[rank].all_tasks[task].trigger_event)
                    .map(|id| (usize::from(id.rank), id.position as usize));
                if let Some(before) = before
                    && self.count(before) >= self.triggers_of(before)
                {
                    self.ranks[before.0].all_events[before.1].num_triggers -= 1;
                }
                let nvshmem = is_put(&self.ranks[rank].all_tasks[task]);
                let id = EventId { nvshmem, ..EventId::from_bits(Patient::id(event)).expect("an id") };
                self.ranks[rank].all_tasks[task].trigger_event = id.bits();
                let count = self.count(event).max(self.triggers_of(event));
                self.ranks[event.0].all_events[event.1].num_triggers = count;
            }
            Repair::New { tasks: [one, other] } => {
                let ((rank, one), (_, other)) = (self.task(one), self.task(other));
                let graph = &mut self.ranks[rank];
                let before = EventId::from_bits(graph.all_tasks[one].trigger_event);
                if let Some(before) = before {
                    graph.all_events[before.position as usize].num_triggers -= 1;
                }
                let new = Patient::id((rank, graph.all_events.len()));
                let mut event = graph.all_events[1].clone();
                (event.event_type, event.num_triggers) = (EventType::Empty as i64, 1);
                graph.all_events.push(event);
                graph.all_tasks[one].trigger_event = new;
                graph.all_tasks[other].dependent_event = new;
            }
            Repair::Join { events: [one, other] } => {
                let (into, from) = (self.event(one), self.event(other));
                for task in &mut self.ranks[into.0].all_tasks {
                    for id in [&mut task.trigger_event, &mut task.dependent_event] {
                        if *id == Patient::id(from) {
                            *id = Patient::id(into);
                        }
                    }
                }
                self.ranks[into.0].all_events[into.1].num_triggers = self.triggers_of(into);
                self.ranks[from.0].all_events[from.1].num_triggers = 1;
            }
            Repair::Put { like, event } => {
                let ((rank, like), event) = (self.task(like), self.event(event));
                let mut put = self.ranks[rank].all_tasks[like].clone();
                put.trigger_event =
                    EventId { nvshmem: true, ..EventId::from_bits(Patient::id(event)).expect("an id") }
                        .bits();
                self.ranks[rank].all_tasks.push(put);
                self.ranks[event.0].all_events[event.1].num_triggers += 1;
            }
            Repair::Exchange { .. } => return false,
            Repair::Count { event } => {
                let event = self.event(event);
                self.ranks[event.0].all_events[event.1].num_triggers = self.triggers_of(event);
            }
            Repair::Renumber { .. } => {}
            Repair::Apart { task, output } => {
                let (rank, task) = self.task(task);
                let tile = &mut self.ranks[rank].all_tasks[task].outputs.as_mut().expect("outputs")[output];
                tile.base_ptr = "a tensor of its own".into();
            }
            Repair::Start { task, output } => self.start(task, output),
            Repair::Team { task, team } => {
                let (rank, task) = self.task(task);
                let task = &mut self.ranks[rank].all_tasks[task];
                (task.task_offset.0, task.expert_offset.0) = (Some(team), Some(team));
                (task.request_id.0, task.kv_idx.0) =
                    (Some(i64::from(team as i16)), Some(team >> 16 & 0xffff));
            }
            Repair::Mate { like, rank, before } => self.mate(like, rank, before),
        }
        self.ranks.iter_mut().enumerate().all(|(rank, graph)| renumber(rank, graph))
    }

    fn count(&self, (rank, event): (usize, usize)) -> i64 {
        self.ranks[rank].all_events[event].num_triggers
    }

    /// Another event of a rank, with one trigger.
    fn new_event(&mut self, rank: usize) -> i64 {
        let graph = &mut self.ranks[rank];
        let mut event = graph.all_events[1].clone();
        (event.event_type, event.num_triggers) = (EventType::Empty as i64, 1);
        graph.all_events.push(event);
        Patient::id((rank, graph.all_events.len() - 1))
    }

    /// A TENSOR_INIT before all that add to an output and wait for the same.
    fn start(&mut self, task: TaskId, output: usize) {
        let (rank, number) = self.task(task);
        let adder = self.ranks[rank].all_tasks[number].clone();
        let tile = adder.outputs()[output].clone();
        let wait = match EventId::from_bits(adder.dependent_event) {
            Some(id) => {
                self.ranks[rank].all_events[id.position as usize].num_triggers += 1;
                adder.dependent_event
            }
            None => {
                let new = self.new_event(rank);
                for other in &mut self.ranks[rank].all_tasks[2..] {
                    if other.dependent_event == EVENT_INVALID
                        && other.outputs().iter().any(|one| one.base_ptr == tile.base_ptr)
                    {
                        other.dependent_event = new;
                    }
                }
                new
            }
        };
        let init = Task {
            task_type: 262,
            inputs: Some(vec![tile]),
            outputs: Some(Vec::new()),
            dependent_event: EVENT_INVALID,
            trigger_event: wait,
            ..adder
        };
        self.ranks[rank].all_tasks.push(init);
    }

    /// A collective on another rank, between the events at the same positions.
    fn mate(&mut self, like: TaskId, rank: usize, before: Option<TaskId>) {
        let (own, number) = self.task(like);
        let mut mate = self.ranks[own].all_tasks[number].clone();
        for id in [&mut mate.trigger_event, &mut mate.dependent_event] {
            if let Some(there) = EventId::from_bits(*id) {
                *id = EventId { rank: rank as u16, ..there }.bits();
            }
        }
        let at = before.map_or(self.ranks[rank].all_tasks.len(), |before| self.task(before).1);
        let triggered = EventId::from_bits(mate.trigger_event).map(|id| (rank, id.position as usize));
        self.ranks[rank].all_tasks.insert(at, mate);
        if let Some(event) = triggered {
            self.ranks[rank].all_events[event.1].num_triggers =
                self.count(event).max(self.triggers_of(event));
        }
    }

    pub fn graphs(&self) -> Graphs<'_, '_> {
        if self.is_bare { Graphs::Bare(&self.ranks[0], None) } else { Graphs::System(&self.ranks, None) }
    }
}

fn is_put(task: &Task<'_>) -> bool {
    task.known_type().is_some_and(|one| one.reach == Reach::Put)
}

/// Deals out ids anew: tasks of one event stand together, and after all that trigger it; events without tasks are left out. Nothing
/// comes of it where tasks wait for each other.
pub fn renumber(rank: usize, graph: &mut TaskGraph<'_>) -> bool {
    let own = |bits: i64| {
        EventId::from_bits(bits).filter(|id| usize::from(id.rank) == rank).map(|id| id.position as usize)
    };
    let mut left: Vec<_> = graph.all_tasks.drain(2..).collect();
    let mut first_tasks = Vec::new();
    while !left.is_empty() {
        let open: BTreeSet<usize> = left.iter().filter_map(|task| own(task.trigger_event)).collect();
        let next = left
            .iter()
            .map(|task| own(task.dependent_event))
            .find(|event| event.is_none_or(|event| !open.contains(&event)));
        let Some(next) = next else { return false };
        let (now, later) = left.into_iter().partition(|task| own(task.dependent_event) == next);
        left = later;
        let (start, now): (usize, Vec<_>) = (graph.all_tasks.len(), now);
        graph.all_tasks.extend(now);
        let end = graph.all_tasks.len();
        match next {
            Some(event) => {
                graph.all_events[event].first_task_id = start as i64;
                graph.all_events[event].last_task_id = end as i64;
            }
            None => first_tasks.extend((start..end).map(|task| task as i64)),
        }
    }
    graph.first_tasks = first_tasks;
    let end = graph.all_tasks.len() as i64;
    graph.all_events[1].last_task_id = end;
    for position in 2..graph.all_events.len() {
        let waits = |task: &Task<'_>| own(task.dependent_event) == Some(position);
        if !graph.all_tasks.iter().any(waits) {
            (graph.all_events[position].first_task_id, graph.all_events[position].last_task_id) = (0, 0);
        }
    }
    true
}
