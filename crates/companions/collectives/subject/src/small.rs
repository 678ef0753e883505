//! Small systems: a few devices in a ring, a few steps each, and tiles of one number.

use serde_json::{Value, json};

/// What an element does in a step. It has a sum, its own number, and what it received last; in the beginning all three are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Sends the sum.
    Send(Way),
    /// Sends its own number.
    SendOwn(Way),
    /// Sends what it received last.
    SendLast(Way),
    /// Receives, and adds to the sum.
    Add(Way),
    /// Receives in place of the sum.
    Take(Way),
    /// Stores the sum.
    Store,
    /// Stores its own number.
    StoreOwn,
}

/// To whom, or from whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The next device.
    Next,
    /// The one before.
    Before,
}

impl Way {
    /// The other end of a queue calls it so.
    pub fn opposite(self) -> Way {
        match self {
            Way::Next => Way::Before,
            Way::Before => Way::Next,
        }
    }

    /// Who is there, seen from an element.
    pub fn of(self, element: usize, elements: usize) -> usize {
        match self {
            Way::Next => (element + 1) % elements,
            Way::Before => (element + elements - 1) % elements,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Way::Next => "global_E",
            Way::Before => "global_W",
        }
    }
}

/// A system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Small {
    /// Whether it is to be a sum; else a broadcast of device 0.
    pub is_sum: bool,
    /// Messages that a queue holds.
    pub capacity: usize,
    /// What each device does.
    pub logs: Vec<Vec<Step>>,
}

impl Small {
    /// The document.
    pub fn document(&self) -> Value {
        let log = |(element, steps): (usize, &Vec<Step>)| {
            let mut ops: Vec<Value> = ["sum", "own", "last"]
                .iter()
                .map(|name| json!({"op": "load", "to": name, "at": 0, "n": 1}))
                .collect();
            for step in steps {
                let send = |of: &str, way: Way| json!({"op": "send", "of": of, "dir": way.name()});
                let recv = |to: &str, way: Way| json!({"op": "recv", "to": to, "dir": way.name(), "n": 1});
                match *step {
                    Step::Send(way) => ops.push(send("sum", way)),
                    Step::SendOwn(way) => ops.push(send("own", way)),
                    Step::SendLast(way) => ops.push(send("last", way)),
                    Step::Add(way) => {
                        ops.push(recv("last", way));
                        ops.push(json!({"op": "add", "to": "sum", "a": "sum", "b": "last"}));
                    }
                    Step::Take(way) => ops.push(recv("sum", way)),
                    Step::Store => ops.push(json!({"op": "store", "of": "sum", "at": 0})),
                    Step::StoreOwn => ops.push(json!({"op": "store", "of": "own", "at": 0})),
                }
            }
            json!({"elements": [[element, element, 1]], "ops": ops})
        };
        let logs: Vec<Value> = self.logs.iter().enumerate().map(log).collect();
        json!({
            "topology": {"kind": "ring_1d", "ranks": self.logs.len(), "cube_w": 1, "cube_h": 1, "capacity": self.capacity},
            "n_elem": 1,
            "collective": {"kind": if self.is_sum { "all_reduce" } else { "broadcast" }},
            "logs": logs,
        })
    }

    /// All systems that are smaller by one step.
    pub fn smaller(&self) -> Vec<Small> {
        let mut all = Vec::new();
        for (element, steps) in self.logs.iter().enumerate() {
            for at in 0..steps.len() {
                let mut copy = self.clone();
                copy.logs[element].remove(at);
                all.push(copy);
            }
        }
        if self.capacity > 1 {
            all.push(Small { capacity: self.capacity - 1, ..self.clone() });
        }
        all
    }

    /// How many messages are sent to a queue at most.
    pub fn messages(&self) -> usize {
        self.logs.iter().map(Vec::len).max().unwrap_or(0)
    }
}
