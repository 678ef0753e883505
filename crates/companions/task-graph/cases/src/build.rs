//! A builder of task graphs: tasks by label, events by handle. It fills in ids, counts and ranges.

use std::collections::BTreeMap;

use megakernel_corpus::builder::{Error, Result};
use megakernel_task_graph::{EVENT_INVALID, EventId, EventType, element_bits};
pub use megakernel_task_graph_checker::work::Tile;
use serde_json::{Map, Value, json};

/// A tensor that lies row-major in its memory.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Name.
    pub name: String,
    /// Code of the element type.
    pub dtype: i64,
    /// Extents, outermost first.
    pub dims: Vec<i64>,
}

/// bfloat16.
pub const BF16: i64 = 941;
/// 64-bit integers.
pub const I64: i64 = 965;

impl Tensor {
    /// A tensor of any type.
    pub fn new(name: &str, dtype: i64, dims: &[i64]) -> Tensor {
        Tensor { name: name.to_owned(), dtype, dims: dims.to_vec() }
    }

    /// A tensor of bfloat16.
    pub fn bf16(name: &str, dims: &[i64]) -> Tensor {
        Tensor::new(name, BF16, dims)
    }

    /// Strides in elements: each is the product of the extents that follow.
    pub fn strides(&self) -> Vec<i64> {
        let mut strides: Vec<i64> = Vec::new();
        let mut stride = 1;
        for extent in self.dims.iter().rev() {
            strides.push(stride);
            stride *= extent;
        }
        strides.reverse();
        strides
    }

    /// How many elements it has.
    pub fn elements(&self) -> i64 {
        self.dims.iter().product()
    }

    /// All of it.
    pub fn whole(&self) -> Tile {
        self.tile(&vec![0; self.dims.len()], &self.dims)
    }

    /// The part that begins at `start` and has these extents.
    pub fn tile(&self, start: &[i64], extents: &[i64]) -> Tile {
        let strides = self.strides();
        let first: i64 = start.iter().zip(&strides).map(|(at, stride)| at * stride).sum();
        let offset = first * element_bits(self.dtype).unwrap_or(8) / 8;
        Tile { base: self.name.clone(), dtype: self.dtype, dims: extents.to_vec(), strides, offset }
    }

    /// Block `index` of `count` along an axis, whole along the others.
    pub fn block(&self, axis: usize, index: i64, count: i64) -> Tile {
        let mut start = vec![0; self.dims.len()];
        let mut extents = self.dims.clone();
        if let (Some(start), Some(extent)) = (start.get_mut(axis), extents.get_mut(axis)) {
            *extent /= count;
            *start = index * *extent;
        }
        self.tile(&start, &extents)
    }
}

/// An event of a graph that is being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event(usize);

impl Event {
    /// Index among the events of the graph; 0 and 1 are reserved.
    pub fn position(self) -> usize {
        self.0 + 2
    }
}

#[derive(Clone, Debug)]
enum Trigger {
    End,
    Nothing,
    Own(Event),
    Remote(u16, Event),
}

/// A task of a graph that is being built.
#[derive(Clone, Debug)]
pub struct NewTask {
    label: String,
    task_type: i64,
    variant: i64,
    inputs: Option<Vec<Value>>,
    outputs: Option<Vec<Value>>,
    after: Option<Event>,
    signalled: bool,
    trigger: Trigger,
    word: Option<[i64; 2]>,
}

impl NewTask {
    /// A task that waits for nothing and triggers the end.
    pub fn new(label: &str, task_type: i64) -> NewTask {
        NewTask {
            label: label.to_owned(),
            task_type,
            variant: 0,
            inputs: None,
            outputs: None,
            after: None,
            signalled: false,
            trigger: Trigger::End,
            word: None,
        }
    }

    /// The metadata word: its lower half, as `expert_offset` has it, and its upper half.
    pub fn word(mut self, low: i64, high: i64) -> NewTask {
        self.word = Some([low, high]);
        self
    }

    /// The metadata of a request.
    pub fn request(self, request: i64) -> NewTask {
        self.word(-65536 + request, -1)
    }

    /// The event that puts signal and that it waits for.
    pub fn after_signal(mut self, event: Event) -> NewTask {
        self.signalled = true;
        self.after(event)
    }

    /// What it reads, in order.
    pub fn reads(mut self, tiles: &[Tile]) -> NewTask {
        self.inputs = Some(tiles.iter().map(Tile::json).collect());
        self
    }

    /// What it writes, in order.
    pub fn writes(mut self, tiles: &[Tile]) -> NewTask {
        self.outputs = Some(tiles.iter().map(Tile::json).collect());
        self
    }

    /// The event that it waits for.
    pub fn after(mut self, event: Event) -> NewTask {
        self.after = Some(event);
        self
    }

    /// The event that it triggers, in place of the end.
    pub fn triggers(mut self, event: Event) -> NewTask {
        self.trigger = Trigger::Own(event);
        self
    }

    /// Triggers nothing, not even the end.
    pub fn triggers_nothing(mut self) -> NewTask {
        self.trigger = Trigger::Nothing;
        self
    }

    /// The event of a rank that it triggers, with the tag.
    pub fn triggers_at(mut self, rank: u16, event: Event) -> NewTask {
        self.trigger = Trigger::Remote(rank, event);
        self
    }

    /// Which variant it runs.
    pub fn variant(mut self, variant: i64) -> NewTask {
        self.variant = variant;
        self
    }
}

/// The graph of one rank.
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    rank: u16,
    extended: bool,
    tasks: Vec<NewTask>,
    events: Vec<String>,
    remote: BTreeMap<Event, i64>,
}

/// A finished document, and where its tasks and events are.
#[derive(Clone, Debug)]
pub struct Document {
    /// The document.
    pub value: Value,
    /// Pointers of tasks and events by label.
    pub labels: BTreeMap<String, String>,
}

impl GraphBuilder {
    /// A graph of the earlier version, of rank 0.
    pub fn new() -> GraphBuilder {
        GraphBuilder::default()
    }

    /// The graph of this rank.
    pub fn of_rank(rank: u16) -> GraphBuilder {
        GraphBuilder { rank, ..GraphBuilder::default() }
    }

    /// Gives every task the metadata members.
    pub fn extended(mut self) -> GraphBuilder {
        self.extended = true;
        self
    }

    /// A new event.
    pub fn event(&mut self, label: &str) -> Event {
        self.events.push(label.to_owned());
        Event(self.events.len() - 1)
    }

    /// An event that tasks of other ranks, or copies, trigger so many times.
    pub fn remote_event(&mut self, label: &str, triggers: i64) -> Event {
        let event = self.event(label);
        self.remote.insert(event, triggers);
        event
    }

    /// END_OF_TASK_GRAPH, once all other events are there.
    pub fn end(&self) -> Event {
        Event(self.events.len())
    }

    /// Sets how often an event is triggered, if not by its own rank alone.
    pub fn count(&mut self, event: Event, triggers: i64) {
        self.remote.insert(event, triggers);
    }

    /// Adds a task.
    pub fn add(&mut self, task: NewTask) {
        self.tasks.push(task);
    }

    fn id(&self, position: usize) -> EventId {
        EventId { rank: self.rank, position: position as u32, nvshmem: false }
    }

    /// Puts the event END_OF_TASK_GRAPH behind the others and writes the document.
    pub fn finish(&self) -> Result<Document> {
        self.finish_below("")
    }

    /// The same, as a part of a larger document.
    pub fn finish_below(&self, root: &str) -> Result<Document> {
        let end = self.events.len() + 2;
        let mut labels = BTreeMap::new();
        let mut place = |label: &str, pointer: String| match labels.insert(label.to_owned(), pointer) {
            Some(_) => Err(Error(format!("two tasks or events have the label `{label}`"))),
            None => Ok(()),
        };
        let count = self.tasks.len() + 2;
        let mut events = vec![event(EventType::Termination, 1, 0, 0)];
        events.push(event(EventType::LaunchDependentTasks, 1, 2, count));
        for (n, label) in self.events.iter().enumerate() {
            let dependents: Vec<usize> =
                (0..self.tasks.len()).filter(|&t| self.tasks[t].after == Some(Event(n))).collect();
            let (first, last) = match (dependents.first(), dependents.last()) {
                (Some(first), Some(last)) => (first + 2, last + 3),
                _ => (0, 0),
            };
            if last - first != dependents.len() {
                return Err(Error(format!("the tasks after event `{label}` are not next to each other")));
            }
            let own = self.tasks.iter().filter(|task| matches!(task.trigger, Trigger::Own(e) if e.0 == n));
            let triggers = self.remote.get(&Event(n)).copied().unwrap_or(own.count() as i64);
            events.push(event(EventType::Empty, triggers, first, last));
            place(label, format!("{root}/all_events/{}", n + 2))?;
        }
        let ending = self.tasks.iter().filter(|task| matches!(task.trigger, Trigger::End)).count();
        let ending = self.remote.get(&self.end()).copied().unwrap_or(ending as i64);
        events.push(event(EventType::EndOfTaskGraph, ending, 0, 0));
        place("END", format!("{root}/all_events/{end}"))?;

        let mut tasks = vec![
            self.task(0, 0, (&None, &None), EVENT_INVALID, EVENT_INVALID, true),
            self.task(10, 0, (&None, &None), self.id(1).bits(), EVENT_INVALID, true),
        ];
        let mut first = Vec::new();
        for (n, task) in self.tasks.iter().enumerate() {
            let trigger = match task.trigger {
                Trigger::End => self.id(end).bits(),
                Trigger::Nothing => EVENT_INVALID,
                Trigger::Own(event) => self.id(event.position()).bits(),
                Trigger::Remote(rank, event) => {
                    EventId { rank, position: event.position() as u32, nvshmem: true }.bits()
                }
            };
            let waits = |event: Event| EventId { nvshmem: task.signalled, ..self.id(event.position()) };
            let dependent = task.after.map_or(EVENT_INVALID, |event| waits(event).bits());
            if task.after.is_none() {
                first.push(n + 2);
            }
            let tiles = (&task.inputs, &task.outputs);
            let mut record = self.task(task.task_type, task.variant, tiles, trigger, dependent, false);
            if let (Some(word), true) = (task.word, self.extended) {
                for (member, value) in metadata(word) {
                    record[member] = json!(value);
                }
            }
            tasks.push(record);
            place(&task.label, format!("{root}/all_tasks/{}", n + 2))?;
        }
        let value = json!({"all_events": events, "all_tasks": tasks, "first_tasks": first});
        Ok(Document { value, labels })
    }

    fn task(
        &self,
        task_type: i64,
        variant: i64,
        (inputs, outputs): (&Option<Vec<Value>>, &Option<Vec<Value>>),
        trigger: i64,
        dependent: i64,
        reserved: bool,
    ) -> Value {
        let mut task = Map::new();
        let mut put = |name: &str, value: Value| task.insert(name.to_owned(), value);
        put("dependent_event", json!(dependent));
        if self.extended {
            put("expert_offset", json!(if reserved { -1 } else { -65536 }));
        }
        put("inputs", json!(inputs));
        if self.extended {
            put("kv_idx", json!(if reserved { -1 } else { 65535 }));
            put("merge_task_offset", json!(-1));
        }
        put("outputs", json!(outputs));
        if self.extended {
            put("request_id", json!(if reserved { -1 } else { 0 }));
            put("task_offset", json!(if reserved { -1 } else { -65536 }));
        }
        put("task_type", json!(task_type));
        put("trigger_event", json!(trigger));
        put("variant_id", json!(variant));
        Value::Object(task)
    }
}

/// The five views of a metadata word: its lower and its upper half.
pub fn metadata([low, high]: [i64; 2]) -> [(&'static str, i64); 5] {
    [
        ("expert_offset", low),
        ("kv_idx", low >> 16 & 0xffff),
        ("merge_task_offset", high),
        ("request_id", i64::from(low as i16)),
        ("task_offset", low),
    ]
}

fn event(kind: EventType, triggers: i64, first: usize, last: usize) -> Value {
    json!({"event_type": kind as i64, "first_task_id": first, "last_task_id": last, "num_triggers": triggers})
}

/// The graphs of all ranks in one document; labels begin with `0:`, `1:` and so on.
pub fn system(graphs: &[GraphBuilder], kernel_graph: Option<Value>) -> Result<Document> {
    let mut labels = BTreeMap::new();
    let mut ranks = Vec::new();
    for (rank, graph) in graphs.iter().enumerate() {
        let part = graph.finish_below(&format!("/ranks/{rank}"))?;
        ranks.push(part.value);
        labels.extend(part.labels.into_iter().map(|(label, at)| (format!("{rank}:{label}"), at)));
    }
    let mut value = json!({"ranks": ranks});
    if let Some(kernel_graph) = kernel_graph {
        value["kernel_graph"] = kernel_graph;
    }
    Ok(Document { value, labels })
}

/// The text of a document: one task, event, tensor or operator a line, so that a diff reads well.
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    write_lines(value, 0, &mut out);
    out.push('\n');
    out
}

/// What is broken into lines: graphs, systems, kernel graphs, requests, and lists of records in them.
fn breaks(value: &Value) -> bool {
    const WHOLE: [&str; 4] = ["all_tasks", "ranks", "operators", "kernel_graph"];
    match value {
        Value::Object(map) => WHOLE.iter().any(|name| map.contains_key(*name)),
        Value::Array(items) => items.first().is_some_and(|item| {
            breaks(item)
                || ["task_type", "event_type", "io", "data_type"].iter().any(|name| item.get(name).is_some())
        }),
        _ => false,
    }
}

fn write_lines(value: &Value, depth: usize, out: &mut String) {
    let (indent, close) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    match value {
        Value::Object(map) if breaks(value) => {
            out.push('{');
            for (n, (name, member)) in map.iter().enumerate() {
                out.push_str(if n == 0 { "\n" } else { ",\n" });
                out.push_str(&format!("{indent}{}: ", Value::from(name.as_str())));
                write_lines(member, depth + 1, out);
            }
            out.push_str(&format!("\n{close}}}"));
        }
        Value::Array(items) if breaks(value) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                out.push_str(if n == 0 { "\n" } else { ",\n" });
                out.push_str(&indent);
                write_lines(item, depth + 1, out);
            }
            out.push_str(&format!("\n{close}]"));
        }
        other => out.push_str(&other.to_string()),
    }
}
