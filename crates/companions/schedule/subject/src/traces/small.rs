//! Small schedules with logs of runs: what is enumerated, judged, and written as a document.

use serde_json::{Map, Value, json};

use crate::small::Does;

/// Bytes of each tensor.
pub const BYTES: i64 = 2;

/// What a schedule says that a run does. `x` and `y` are tensors of [`BYTES`] bytes, and `v` is a view of `x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Whether queue 0 is in any order.
    pub any_order: bool,
    /// The period of the events.
    pub period: Option<u64>,
    /// What the tensors are.
    pub tensors: Tensors,
}

/// What the tensors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tensors {
    /// Nothing is in them when a launch begins.
    Empty,
    /// The host fills them for each launch.
    Filled,
    /// Caches.
    Cache,
    /// The host fills them, and they lie in one storage, at the same place.
    Shared,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its queue.
    pub queue: Option<i64>,
    /// Its phases.
    pub phases: Vec<Phase>,
}

/// A phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Event and count.
    pub waits: Vec<(char, u64)>,
    /// Accesses.
    pub accesses: Vec<Access>,
    /// Event and amount.
    pub signals: Vec<(char, u64)>,
}

/// What is done, the tensor, and its bytes.
pub type Access = (Does, char, [i64; 2]);

/// An entry of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The next launch begins.
    Launch,
    /// A worker took a task.
    Begin(i64, Option<i64>),
    /// A phase of a task did something.
    Did(i64, i64, Done),
}

/// What a phase did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// It waited, and saw a count.
    Wait(char, i64),
    /// It accessed bytes.
    Access(Access),
    /// It raised an event.
    Signal(char, i64),
}

/// A schedule with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Small {
    /// The schedule.
    pub plan: Plan,
    /// The log of all launches.
    pub log: Vec<Entry>,
}

impl Small {
    /// The document.
    pub fn document(&self) -> Value {
        let Plan { tasks, any_order, period, tensors } = &self.plan;
        let mut tensor = json!({"shape": [BYTES]});
        let is_shared = *tensors == Tensors::Shared;
        match tensors {
            Tensors::Empty => {}
            Tensors::Filled | Tensors::Shared => tensor["init"] = json!(true),
            Tensors::Cache => tensor["kind"] = json!("cache"),
        }
        if is_shared {
            tensor["storage"] = json!("s");
        }
        let mut document = json!({
            "tensors": {"x": tensor, "y": tensor, "v": {"shape": [BYTES], "view": "x"}},
            "tasks": tasks.iter().map(task).collect::<Vec<_>>(),
            "launches": self.launches(),
        });
        if is_shared {
            document["storages"] = json!({"s": {"bytes": BYTES}});
        }
        if *any_order {
            document["any_order"] = json!([0]);
        }
        if let Some(period) = period {
            document["events"] = json!({"a": {"period": period}, "b": {"period": period}});
        }
        document
    }

    fn launches(&self) -> Vec<Vec<Value>> {
        let mut launches = vec![Vec::new()];
        for entry in &self.log {
            let value = match *entry {
                Entry::Launch => {
                    launches.push(Vec::new());
                    continue;
                }
                Entry::Begin(task, queue) => json!(["begin", task, queue]),
                Entry::Did(task, phase, Done::Wait(event, count)) => {
                    json!(["wait", task, phase, event, count])
                }
                Entry::Did(task, phase, Done::Signal(event, amount)) => {
                    json!(["signal", task, phase, event, amount])
                }
                Entry::Did(task, phase, Done::Access((does, tensor, bytes))) => {
                    let name = list(does).trim_end_matches('s');
                    json!([name, task, phase, tensor, [bytes]])
                }
            };
            if let Some(launch) = launches.last_mut() {
                launch.push(value);
            }
        }
        launches
    }

    /// All that are smaller by one step.
    pub fn smaller(&self) -> Vec<Small> {
        let shorter = (0..self.log.len()).map(|at| {
            let mut copy = self.clone();
            copy.log.remove(at);
            copy
        });
        let mut all: Vec<Small> = shorter.collect();
        for (at, task) in self.plan.tasks.iter().enumerate() {
            for (place, phase) in task.phases.iter().enumerate() {
                let mut with = |change: &dyn Fn(&mut Phase)| {
                    let mut copy = self.clone();
                    change(&mut copy.plan.tasks[at].phases[place]);
                    all.push(copy);
                };
                for index in 0..phase.waits.len() {
                    with(&|phase| {
                        phase.waits.remove(index);
                    });
                }
                for index in 0..phase.accesses.len() {
                    with(&|phase| {
                        phase.accesses.remove(index);
                    });
                }
                for index in 0..phase.signals.len() {
                    with(&|phase| {
                        phase.signals.remove(index);
                    });
                }
            }
        }
        all
    }
}

/// The member of a phase that has such accesses.
fn list(does: Does) -> &'static str {
    match does {
        Does::Read => "reads",
        Does::Write => "writes",
        Does::Add => "adds",
    }
}

fn task(task: &Task) -> Value {
    let phase = |phase: &Phase| {
        let mut members = Map::from_iter([
            ("waits".to_owned(), json!(phase.waits)),
            ("signals".to_owned(), json!(phase.signals)),
        ]);
        for &(does, tensor, bytes) in &phase.accesses {
            let all = members.entry(list(does)).or_insert_with(|| json!([]));
            if let Some(all) = all.as_array_mut() {
                all.push(json!([tensor, [bytes]]));
            }
        }
        Value::Object(members)
    };
    json!({"queue": task.queue, "phases": task.phases.iter().map(phase).collect::<Vec<_>>()})
}
