//! A builder of documents: values with their lifetimes, and kernels node by node.

use serde_json::{Map, Value, json};

/// A document that is being written.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    values: Map<String, Value>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    boundaries: Vec<Value>,
    residency: Vec<Value>,
    regions: Vec<Value>,
    target: Option<Value>,
}

/// A tile: its name, shape, dtype, memory and lifetime.
#[derive(Clone, Copy, Debug)]
pub struct Tile<'t>(pub &'t str, pub &'t [i64], pub &'t str, pub &'t str, pub &'t str);

impl Draft {
    /// A tensor that is there before.
    pub fn input(&mut self, name: &str, shape: &[i64], dtype: &str) {
        self.inputs.push(name.to_owned());
        self.tensor(name, shape, dtype);
    }

    /// A tensor that is asked for.
    pub fn output(&mut self, name: &str, shape: &[i64], dtype: &str) {
        self.outputs.push(name.to_owned());
        self.stored(name, shape, dtype);
    }

    /// A tensor with a boundary.
    pub fn stored(&mut self, name: &str, shape: &[i64], dtype: &str) {
        self.boundary(name);
        self.tensor(name, shape, dtype);
    }

    /// A boundary alone.
    pub fn boundary(&mut self, name: &str) {
        self.boundaries.push(json!({"value": name}));
    }

    /// A tensor without a boundary.
    pub fn tensor(&mut self, name: &str, shape: &[i64], dtype: &str) {
        self.values.insert(name.to_owned(), json!({"shape": shape, "dtype": dtype, "residency": "global"}));
    }

    /// Tiles, each in the residency region of its memory and lifetime.
    pub fn tiles(&mut self, tiles: &[Tile<'_>]) {
        for Tile(name, shape, dtype, memory, lifetime) in tiles {
            let value = json!({"shape": shape, "dtype": dtype, "residency": memory});
            self.values.insert((*name).to_owned(), value);
            let known = self
                .residency
                .iter_mut()
                .find(|region| region["memory"] == *memory && region["lifetime"] == *lifetime);
            match known.and_then(|region| region["values"].as_array_mut()) {
                Some(values) => values.push(json!(name)),
                None => {
                    self.residency.push(json!({"memory": memory, "values": [name], "lifetime": lifetime}))
                }
            }
        }
    }

    /// Extents of a value.
    pub fn shape(&self, name: &str) -> Vec<i64> {
        let shape = self.values.get(name).and_then(|value| value["shape"].as_array());
        shape.into_iter().flatten().filter_map(Value::as_i64).collect()
    }

    /// The dtype of a value.
    pub fn dtype(&self, name: &str) -> String {
        let dtype = self.values.get(name).and_then(|value| value["dtype"].as_str());
        dtype.unwrap_or_default().to_owned()
    }

    /// Gives a tile slots.
    pub fn buffers(&mut self, name: &str, buffers: i64) {
        if buffers != 1
            && let Some(value) = self.values.get_mut(name).and_then(Value::as_object_mut)
        {
            value.insert("buffers".to_owned(), json!(buffers));
        }
    }

    /// What a block may hold.
    pub fn target(&mut self, shared: i64, register: i64) {
        self.target = Some(json!({"shared_bytes": shared, "register_bytes": register}));
    }

    /// Adds a kernel.
    pub fn push(&mut self, kernel: Kernel) {
        self.regions.push(kernel.value());
    }

    /// The document.
    pub fn value(self) -> Value {
        let mut members = Map::new();
        members.insert("values".to_owned(), Value::Object(self.values));
        members.insert("inputs".to_owned(), json!(self.inputs));
        members.insert("outputs".to_owned(), json!(self.outputs));
        members.insert("boundaries".to_owned(), json!(self.boundaries));
        members.insert("residency".to_owned(), json!(self.residency));
        if let Some(target) = self.target {
            members.insert("target".to_owned(), target);
        }
        members.insert("regions".to_owned(), json!(self.regions));
        Value::Object(members)
    }
}

/// An execution region that is being written.
#[derive(Clone, Debug)]
pub struct Kernel {
    id: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
    stream: Option<Value>,
    state: Vec<Value>,
    steps: Map<String, Value>,
    blocks: Map<String, Value>,
    bodies: [Vec<Value>; 3],
    body: usize,
}

/// Adds a name to a list that lacks it.
fn listed(list: &mut Vec<String>, name: &str) {
    if !list.iter().any(|known| known == name) {
        list.push(name.to_owned());
    }
}

impl Kernel {
    /// One without nodes, with block axes: name, extent, step.
    pub fn new(id: &str, blocks: &[(&str, i64, i64)]) -> Kernel {
        let extents = blocks.iter().map(|(axis, extent, _)| ((*axis).to_owned(), json!(extent))).collect();
        let steps = blocks.iter().map(|(axis, _, step)| ((*axis).to_owned(), json!(step))).collect();
        Kernel {
            id: id.to_owned(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            stream: None,
            state: Vec::new(),
            steps,
            blocks: extents,
            bodies: [Vec::new(), Vec::new(), Vec::new()],
            body: 0,
        }
    }

    /// A stream, with its step and its end, and perhaps its beginning.
    pub fn stream(&mut self, axis: &str, step: i64, from: Option<Value>, to: Value) {
        let mut stream = json!({"axis": axis});
        if let Some(from) = from {
            stream["from"] = from;
        }
        stream["to"] = to;
        self.stream = Some(stream);
        self.steps.insert(axis.to_owned(), json!(step));
    }

    /// A state.
    pub fn state(&mut self, name: &str, init: Value) {
        self.state.push(json!({"value": name, "init": init}));
    }

    /// Nodes from here on stand in `each`.
    pub fn each(&mut self) {
        self.body = 1;
    }

    /// Nodes from here on stand in `end`.
    pub fn end(&mut self) {
        self.body = 2;
    }

    fn node(&mut self, node: Value) {
        self.bodies[self.body].push(node);
    }

    /// A load.
    pub fn load(&mut self, id: &str, tensor: &str, tile: &str, at: Value) {
        listed(&mut self.inputs, tensor);
        self.node(json!({"id": id, "op": "LoadTile", "in": [tensor], "out": [tile], "at": at}));
    }

    /// A load that lands later.
    pub fn prefetch(&mut self, id: &str, tensor: &str, tile: &str, at: Value, version: i64) {
        listed(&mut self.inputs, tensor);
        self.node(
            json!({"id": id, "op": "Prefetch", "in": [tensor], "out": [tile], "at": at, "version": version}),
        );
    }

    /// A barrier.
    pub fn wait(&mut self, id: &str, waits: Value) {
        self.node(json!({"id": id, "op": "Barrier", "wait": waits}));
    }

    /// A store.
    pub fn store(&mut self, id: &str, tile: &str, tensor: &str, at: Value) {
        listed(&mut self.outputs, tensor);
        self.node(json!({"id": id, "op": "StoreTile", "in": [tile], "out": [tensor], "at": at}));
    }

    /// A function of tiles, with members of its own in `more`.
    pub fn compute(&mut self, id: &str, function: &str, ins: &[&str], out: &str, more: Value) {
        let mut node = json!({"id": id, "op": "Compute", "fn": function, "in": ins, "out": [out]});
        if let (Some(node), Value::Object(more)) = (node.as_object_mut(), more) {
            node.extend(more);
        }
        self.node(node);
    }

    /// A reduction.
    pub fn reduce(&mut self, id: &str, function: &str, axis: i64, tile: &str, out: &str) {
        self.node(
            json!({"id": id, "op": "Reduce", "fn": function, "axis": axis, "in": [tile], "out": [out]}),
        );
    }

    /// An update of states.
    pub fn update(&mut self, id: &str, function: &str, ins: &[&str], outs: &[&str]) {
        self.node(json!({"id": id, "op": "UpdateState", "fn": function, "in": ins, "out": outs}));
    }

    fn value(self) -> Value {
        let mut streaming = Map::new();
        if let Some(stream) = self.stream {
            streaming.insert("stream".to_owned(), stream);
        }
        if !self.state.is_empty() {
            streaming.insert("state".to_owned(), json!(self.state));
        }
        let mut tile = Map::new();
        tile.insert("tile_shape".to_owned(), Value::Object(self.steps));
        tile.insert("blocks".to_owned(), Value::Object(self.blocks));
        for (name, body) in ["begin", "each", "end"].into_iter().zip(self.bodies) {
            if !body.is_empty() {
                tile.insert(name.to_owned(), json!(body));
            }
        }
        streaming.insert("tile".to_owned(), Value::Object(tile));
        json!({"id": self.id, "inputs": self.inputs, "outputs": self.outputs, "streaming": streaming})
    }
}

/// The extents of the tiles along an axis: all of the step, and the rest.
pub fn cuts(extent: i64, step: i64) -> Vec<i64> {
    (0..extent).step_by(usize::try_from(step).unwrap_or(1)).map(|at| step.min(extent - at)).collect()
}

/// Bytes of an element.
pub fn size(dtype: &str) -> i64 {
    if dtype == "F32" { 4 } else { 2 }
}

/// The text of a document, with a line for each value, residency region and node.
pub fn text(document: &Value) -> String {
    let empty = Map::new();
    let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let mut members = Vec::new();
    for (name, value) in document.as_object().unwrap_or(&empty) {
        let lines = |lines: Vec<String>, open: &str, close: &str| {
            if lines.is_empty() {
                return format!("{open}{close}");
            }
            format!("{open}\n  {}{close}", lines.join(",\n  "))
        };
        let text = match (name.as_str(), value) {
            ("values", Value::Object(values)) => lines(
                values.iter().map(|(name, value)| format!("{}: {value}", json!(name))).collect(),
                "{",
                "}",
            ),
            ("residency", Value::Array(regions)) => {
                lines(regions.iter().map(Value::to_string).collect(), "[", "]")
            }
            ("regions", Value::Array(regions)) => {
                lines(regions.iter().map(|region| region_text(&object(region))).collect(), "[", "]")
            }
            (_, value) => value.to_string(),
        };
        members.push(format!("{}: {text}", json!(name)));
    }
    format!("{{{}}}\n", members.join(",\n "))
}

fn region_text(region: &Map<String, Value>) -> String {
    let mut members = Vec::new();
    for (name, value) in region {
        let Some(streaming) = value.as_object().filter(|_| name == "streaming") else {
            members.push(format!("{}: {value}", json!(name)));
            continue;
        };
        let mut parts = Vec::new();
        for (name, value) in streaming {
            let Some(tile) = value.as_object().filter(|_| name == "tile") else {
                parts.push(format!("{}: {value}", json!(name)));
                continue;
            };
            let mut bodies = Vec::new();
            for (name, value) in tile {
                bodies.push(match value.as_array() {
                    Some(nodes) => {
                        let nodes: Vec<String> = nodes.iter().map(Value::to_string).collect();
                        format!("{}: [\n     {}]", json!(name), nodes.join(",\n     "))
                    }
                    None => format!("{}: {value}", json!(name)),
                });
            }
            parts.push(format!("\"tile\": {{{}}}", bodies.join(",\n    ")));
        }
        members.push(format!("\"streaming\": {{\n   {}}}", parts.join(",\n   ")));
    }
    format!("{{{}}}", members.join(", "))
}
