//! Small task graphs, built as JSON.

#![allow(dead_code)]

use serde_json::{Value, json};

/// An event id that names no event.
pub const NONE: i64 = 0x7fff_ffff_ffff_fffe;
/// The tag of ids that other ranks trigger.
pub const TAG: i64 = 0x1e00_0000_0000_0000;

/// The id of an event.
pub fn event(rank: i64, position: i64) -> i64 {
    rank << 32 | position
}

/// A tile of a matrix of 64 columns and 16-bit elements.
pub fn tile(name: &str, row: i64, column: i64, rows: i64, columns: i64) -> Value {
    json!({"base_ptr": name, "data_type": 941, "dims": [rows, columns], "offset": 2 * (64 * row + column), "strides": [64, 1]})
}

/// A graph of the earlier version that is put together task by task.
#[derive(Clone)]
pub struct Builder {
    rank: i64,
    tasks: Vec<Value>,
}

impl Builder {
    /// Without tasks from 2 on.
    pub fn new(rank: i64) -> Builder {
        let reserved = |kind: i64, trigger: i64| json!({"dependent_event": NONE, "inputs": null, "outputs": null, "task_type": kind, "trigger_event": trigger, "variant_id": 0});
        Builder { rank, tasks: vec![reserved(0, NONE), reserved(10, event(rank, 1))] }
    }

    /// A task that waits for an event of its rank, if any, and triggers one.
    pub fn task(
        mut self,
        kind: i64,
        wait: Option<i64>,
        trigger: i64,
        inputs: &[Value],
        outputs: &[Value],
    ) -> Builder {
        let trigger = if trigger >> 32 == 0 { event(self.rank, trigger) } else { trigger };
        let wait = wait.map_or(NONE, |position| event(self.rank, position));
        self.tasks.push(json!({"dependent_event": wait, "inputs": inputs, "outputs": outputs, "task_type": kind, "trigger_event": trigger, "variant_id": 0}));
        self
    }

    /// The graph: `triggers` are the thresholds of the events from 2 on, the last of which is the end.
    pub fn graph(self, triggers: &[i64]) -> Value {
        let tasks = self.tasks;
        let mut events = vec![
            json!({"event_type": 911, "first_task_id": 0, "last_task_id": 0, "num_triggers": 1}),
            json!({"event_type": 903, "first_task_id": 2, "last_task_id": tasks.len(), "num_triggers": 1}),
        ];
        for (index, threshold) in triggers.iter().enumerate() {
            let id = event(self.rank, index as i64 + 2);
            let waits = |task: &Value| task["dependent_event"] == json!(id);
            let first = tasks.iter().position(waits).unwrap_or(0);
            let last = tasks.iter().rposition(waits).map_or(0, |last| last + 1);
            let kind = if index + 1 == triggers.len() { 910 } else { 900 };
            events.push(json!({"event_type": kind, "first_task_id": first, "last_task_id": last, "num_triggers": threshold}));
        }
        let free = |index: &usize| tasks[*index]["dependent_event"] == json!(NONE);
        let first: Vec<usize> = (2..tasks.len()).filter(free).collect();
        json!({"all_events": events, "all_tasks": tasks, "first_tasks": first})
    }
}

/// Two producers of halves of `h`, a reader of both, and a second layer that uses `h` again.
pub fn layers() -> Value {
    let half = |part: i64| tile("h", 0, 32 * part, 1, 32);
    let row = |name: &str| tile(name, 0, 0, 1, 64);
    Builder::new(0)
        .task(102, None, 2, &[row("x"), row("w")], &[half(0)])
        .task(102, None, 2, &[row("x"), row("w")], &[half(1)])
        .task(118, Some(2), 3, &[row("h")], &[row("y")])
        .task(102, Some(3), 4, &[row("y"), row("w")], &[half(0)])
        .task(102, Some(3), 4, &[row("y"), row("w")], &[half(1)])
        .task(118, Some(4), 5, &[row("h")], &[row("z")])
        .graph(&[2, 1, 2, 1])
}

/// One rank of a sound system of two: two all-reduces an iteration, each with a buffer of its own; every rank copies to both.
pub fn rank_of_two(rank: i64) -> Value {
    let to = |other: i64, position: i64| TAG | event(other, position);
    let slots = |name: &str, offset: i64| json!({"base_ptr": name, "data_type": 941, "dims": [2, 1, 64], "offset": offset, "strides": [64, 64, 1]});
    let row = |name: &str| tile(name, 0, 0, 1, 64);
    let own = 128 * rank;
    Builder::new(rank)
        .task(102, None, 2, &[row("x")], &[row("p")])
        .task(199, Some(2), to(0, 3), &[row("p")], &[slots("b0", own)])
        .task(199, Some(2), to(1, 3), &[row("p")], &[slots("b0", own)])
        .task(107, Some(3), 4, &[row("p"), slots("b0", 0)], &[row("s")])
        .task(102, Some(4), 5, &[row("s")], &[row("q")])
        .task(199, Some(5), to(0, 6), &[row("q")], &[slots("b1", own)])
        .task(199, Some(5), to(1, 6), &[row("q")], &[slots("b1", own)])
        .task(107, Some(6), 7, &[row("q"), slots("b1", 0)], &[row("t")])
        .graph(&[1, 2, 1, 1, 2, 1])
}

/// Both ranks.
pub fn system() -> Value {
    json!({"ranks": [rank_of_two(0), rank_of_two(1)]})
}
