//! The tile language: what a kernel asks for becomes its log.

use serde_json::{Value, json};

/// A vector that an operation made.
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    id: usize,
    /// How many numbers it has.
    pub n: i64,
}

impl Handle {
    fn name(self) -> String {
        format!("h{}", self.id)
    }
}

/// What a kernel works with.
#[derive(Debug, Default)]
pub struct Tl {
    made: usize,
    /// The log.
    pub ops: Vec<Value>,
}

impl Tl {
    fn make(&mut self, n: i64) -> Handle {
        self.made += 1;
        Handle { id: self.made - 1, n }
    }

    /// A handle of some positions.
    pub fn load(&mut self, (from, to): (i64, i64)) -> Handle {
        let made = self.make(to - from);
        self.ops.push(json!({"op": "load", "to": made.name(), "at": from, "n": made.n}));
        made
    }

    /// Writes a handle.
    pub fn store(&mut self, at: i64, of: Handle) {
        self.ops.push(json!({"op": "store", "of": of.name(), "at": at}));
    }

    /// Sends a handle.
    pub fn send(&mut self, dir: &str, of: Handle) {
        self.ops.push(json!({"op": "send", "of": of.name(), "dir": dir}));
    }

    /// Receives one.
    pub fn recv(&mut self, dir: &str, n: i64) -> Handle {
        let made = self.make(n);
        self.ops.push(json!({"op": "recv", "to": made.name(), "dir": dir, "n": n}));
        made
    }

    /// Adds two.
    pub fn add(&mut self, a: Handle, b: Handle) -> Handle {
        let made = self.make(a.n);
        self.ops.push(json!({"op": "add", "to": made.name(), "a": a.name(), "b": b.name()}));
        made
    }
}
