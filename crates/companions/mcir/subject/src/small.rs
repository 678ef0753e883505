//! Small documents: what is enumerated, explored, and written as a document.

use serde_json::{Map, Value, json};

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A `Prefetch` of the tile x with this version.
    Prefetch(u8),
    /// A `Barrier` that waits for this version of x.
    Wait(u8),
    /// A node reads x.
    Read,
    /// A `LoadTile` of the tile y.
    Load,
    /// A node reads y.
    Use,
}

/// How long a tile is on chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// As long as its block.
    Block,
    /// Until the stream ends.
    Stream,
    /// For an iteration.
    Iteration,
    /// For the body of its producer.
    Node,
}

impl Kept {
    pub const ALL: [Kept; 4] = [Kept::Block, Kept::Stream, Kept::Iteration, Kept::Node];

    fn name(self) -> &'static str {
        match self {
            Kept::Block => "block",
            Kept::Stream => "stream",
            Kept::Iteration => "iteration",
            Kept::Node => "node",
        }
    }
}

/// A region of two blocks and a stream. Beside its steps it adds up a tensor in a state, which it stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Small {
    /// `begin`, `each`, `end`.
    pub bodies: [Vec<Step>; 3],
    /// The slots of x.
    pub buffers: u8,
    /// Lifetimes of x, of y, of the state.
    pub kept: [Kept; 3],
}

impl Small {
    /// The steps of all bodies.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        self.bodies.iter().flatten().copied()
    }

    /// Whether every tile that is read or waited for has its producer before, and y no more than one, as the IS rules want it.
    pub fn is_formed(&self) -> bool {
        let all =
            || (0..).zip(&self.bodies).flat_map(|(body, steps)| steps.iter().map(move |step| (body, *step)));
        let has_prefetch = self.steps().any(|step| matches!(step, Step::Prefetch(_)));
        let needs_prefetch = self.steps().any(|step| matches!(step, Step::Wait(_) | Step::Read));
        if needs_prefetch && !has_prefetch {
            return false;
        }
        let mut made = None;
        for (body, step) in all() {
            match step {
                Step::Load if made.is_some() => return false,
                Step::Load => made = Some(body),
                // What an iteration produces is gone in `end`: there may have been none.
                Step::Use if !made.is_some_and(|made: usize| made == body || made == 0) => return false,
                _ => {}
            }
        }
        true
    }

    /// The document.
    pub fn document(&self) -> Value {
        let mut values = Map::new();
        let mut residency = Vec::new();
        values.insert("X".to_owned(), json!({"shape": [2, 8], "dtype": "F32", "residency": "global"}));
        values.insert("Y".to_owned(), json!({"shape": [2], "dtype": "F32", "residency": "global"}));
        let mut tile = |name: &str, kept: Kept, buffers: u8| {
            let value = json!({"shape": [1], "dtype": "F32", "residency": "register", "buffers": buffers});
            values.insert(name.to_owned(), value);
            residency.push(json!({"memory": "register", "values": [name], "lifetime": kept.name()}));
        };
        let [x, y, s] = self.kept;
        if self.steps().any(|step| matches!(step, Step::Prefetch(_) | Step::Wait(_) | Step::Read)) {
            tile("x", x, self.buffers);
        }
        if self.steps().any(|step| matches!(step, Step::Load | Step::Use)) {
            tile("y", y, 1);
        }
        tile("s", s, 1);
        tile("z", Kept::Iteration, 1);
        let mut count = 0;
        let mut bodies = [(); 3].map(|()| Vec::new());
        for (body, steps) in bodies.iter_mut().zip(&self.bodies) {
            for step in steps {
                count += 1;
                let id = format!("n{count}");
                let mut read = |from: &str| {
                    let to = format!("r{count}");
                    tile(&to, Kept::Node, 1);
                    json!({"id": id, "op": "Compute", "fn": "copy", "in": [from], "out": [to]})
                };
                body.push(match step {
                    Step::Prefetch(version) => json!({"id": id, "op": "Prefetch", "in": ["X"], "out": ["x"],
                        "at": ["i", "j"], "version": version}),
                    Step::Wait(version) => json!({"id": id, "op": "Barrier", "wait": [["x", version]]}),
                    Step::Read => read("x"),
                    Step::Load => {
                        json!({"id": id, "op": "LoadTile", "in": ["X"], "out": ["y"], "at": ["i", 0]})
                    }
                    Step::Use => read("y"),
                });
            }
        }
        let [begin, mut each, mut end] = bodies;
        each.push(json!({"id": "load", "op": "LoadTile", "in": ["X"], "out": ["z"], "at": ["i", "j"]}));
        each.push(json!({"id": "add", "op": "UpdateState", "fn": "add", "in": ["s", "z"], "out": ["s"]}));
        end.push(json!({"id": "store", "op": "StoreTile", "in": ["s"], "out": ["Y"], "at": ["i"]}));
        json!({
            "values": values, "inputs": ["X"], "outputs": ["Y"], "boundaries": [{"value": "Y"}],
            "residency": residency,
            "regions": [{"id": "r", "inputs": ["X"], "outputs": ["Y"], "streaming": {
                "stream": {"axis": "j", "to": [8]}, "state": [{"value": "s", "init": 0}],
                "tile": {"tile_shape": {"i": 1, "j": 1}, "blocks": {"i": 2},
                    "begin": begin, "each": each, "end": end}}}],
        })
    }

    /// All documents that are smaller by one step.
    pub fn smaller(&self) -> Vec<Small> {
        let mut all = Vec::new();
        for (body, steps) in self.bodies.iter().enumerate() {
            for place in 0..steps.len() {
                let mut copy = self.clone();
                copy.bodies[body].remove(place);
                all.push(copy);
            }
        }
        if self.buffers > 1 {
            all.push(Small { buffers: self.buffers - 1, ..self.clone() });
        }
        all.retain(Small::is_formed);
        all
    }
}
