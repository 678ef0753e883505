//! Small schedules: what is enumerated, explored, and written as a document.

use serde_json::{Map, Value, json};

/// A schedule of a few phases. Events and tensors are numbers; a tensor is one byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Small {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// All else.
    pub setting: Setting,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its queue.
    pub queue: Option<u8>,
    /// Its phases.
    pub phases: Vec<Phase>,
}

/// A phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Event and count.
    pub waits: Vec<(u8, u64)>,
    /// What it does, in the order in which it does it.
    pub accesses: Vec<Access>,
    /// Event and amount.
    pub signals: Vec<(u8, u64)>,
}

/// An access to a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What it does.
    pub does: Does,
    /// The tensor.
    pub tensor: u8,
    /// The group of an addition.
    pub group: Option<u8>,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Does {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It adds.
    Add,
}

/// What tensors hold when a launch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nothing.
    Nothing,
    /// What the host puts there for each launch.
    Launch,
    /// What the host has put there once, or the launch before left.
    Once,
    /// The same, of kind `cache`.
    Cache,
}

/// What a schedule has beside tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Whether a signal releases, a wait acquires, and a queue orders.
    pub memory: [bool; 3],
    /// Whether queue 0 is in any order.
    pub any_order: bool,
    /// The period of event 0.
    pub period: Option<u64>,
    /// What the tensors hold.
    pub held: Held,
    /// Whether the two tensors are the same byte.
    pub is_shared: bool,
}

/// Sound fences, and tensors that the host fills.
pub const PLAIN: Setting = Setting {
    memory: [true, true, false],
    any_order: false,
    period: None,
    held: Held::Launch,
    is_shared: false,
};

impl Small {
    /// The document.
    pub fn document(&self) -> Value {
        let Setting { memory, any_order, period, held, is_shared } = self.setting;
        let tensor = |index: usize| {
            let mut tensor = Map::from_iter([("shape".to_owned(), json!([]))]);
            match held {
                Held::Nothing => None,
                Held::Launch => tensor.insert("init".to_owned(), json!(true)),
                Held::Once => tensor.insert("init".to_owned(), json!("once")),
                Held::Cache => tensor.insert("kind".to_owned(), json!("cache")),
            };
            if is_shared {
                tensor.insert("storage".to_owned(), json!("s"));
            }
            (tensor_name(index as u8), Value::Object(tensor))
        };
        let mut document = Map::new();
        document.insert("tensors".to_owned(), Value::Object((0..2).map(tensor).collect()));
        if is_shared {
            document.insert("storages".to_owned(), json!({"s": {"bytes": 1}}));
        }
        if let Some(period) = period {
            document.insert("events".to_owned(), json!({"a": {"period": period}}));
        }
        if any_order {
            document.insert("any_order".to_owned(), json!([0]));
        }
        let [signal, wait, queue] = memory;
        document.insert(
            "memory".to_owned(),
            json!({"signal": if signal { "release" } else { "relaxed" },
                   "wait": if wait { "acquire" } else { "relaxed" },
                   "queue": if queue { "ordered" } else { "unordered" }}),
        );
        document.insert("tasks".to_owned(), self.tasks.iter().map(task).collect());
        Value::Object(document)
    }

    /// All schedules that are smaller by one step.
    pub fn smaller(&self) -> Vec<Small> {
        let mut all = Vec::new();
        let mut with = |change: &dyn Fn(&mut Small)| {
            let mut copy = self.clone();
            change(&mut copy);
            all.push(copy);
        };
        for (at, task) in self.tasks.iter().enumerate() {
            with(&|copy| drop(copy.tasks.remove(at)));
            if task.queue.is_some() {
                with(&|copy| copy.tasks[at].queue = None);
            }
            for (place, phase) in task.phases.iter().enumerate() {
                with(&|copy| drop(copy.tasks[at].phases.remove(place)));
                for index in 0..phase.waits.len() {
                    with(&|copy| {
                        copy.tasks[at].phases[place].waits.remove(index);
                    });
                }
                for index in 0..phase.signals.len() {
                    with(&|copy| {
                        copy.tasks[at].phases[place].signals.remove(index);
                    });
                }
                for index in 0..phase.accesses.len() {
                    with(&|copy| {
                        copy.tasks[at].phases[place].accesses.remove(index);
                    });
                }
            }
        }
        all
    }
}

fn tensor_name(index: u8) -> String {
    if index == 0 { "x".to_owned() } else { "y".to_owned() }
}

fn task(task: &Task) -> Value {
    let counts = |counts: &[(u8, u64)]| -> Value {
        counts.iter().map(|&(event, number)| json!([if event == 0 { "a" } else { "b" }, number])).collect()
    };
    let phase = |phase: &Phase| {
        let mut members = Map::new();
        for (name, list) in [("waits", &phase.waits), ("signals", &phase.signals)] {
            if !list.is_empty() {
                members.insert(name.to_owned(), counts(list));
            }
        }
        for access in &phase.accesses {
            let name = match access.does {
                Does::Read => "reads",
                Does::Write => "writes",
                Does::Add => "adds",
            };
            let mut entry = vec![json!(tensor_name(access.tensor)), Value::Null];
            if let Some(group) = access.group {
                entry.push(json!(group.to_string()));
            }
            if let Some(list) = members.entry(name).or_insert_with(|| json!([])).as_array_mut() {
                list.push(json!(entry));
            }
        }
        Value::Object(members)
    };
    let mut members = Map::new();
    if let Some(queue) = task.queue {
        members.insert("queue".to_owned(), json!(queue));
    }
    members.insert("phases".to_owned(), task.phases.iter().map(phase).collect());
    Value::Object(members)
}
