//! Algorithms from their definitions: the logs of all elements, and beside them what each element holds at the end.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::expr::{Expr, add, leaf};

/// How devices are connected, and how many cubes each has.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The name of the kind.
    pub kind: &'static str,
    /// Columns of devices; of a ring, all of them.
    pub w: usize,
    /// Rows of devices.
    pub h: usize,
    /// Columns of cubes.
    pub cube_w: usize,
    /// Rows of cubes.
    pub cube_h: usize,
    /// Messages that each queue holds.
    pub capacity: usize,
    /// Row and column of the cube that is connected to other devices, where it is not the middle one.
    pub link_at: Option<(usize, usize)>,
}

impl Shape {
    /// A ring.
    pub fn ring(ranks: usize) -> Shape {
        Shape { kind: "ring_1d", w: ranks, h: 1, cube_w: 1, cube_h: 1, capacity: 1, link_at: None }
    }

    /// A torus.
    pub fn torus(w: usize, h: usize) -> Shape {
        Shape { kind: "torus_2d", w, h, ..Shape::ring(1) }
    }

    /// A mesh.
    pub fn mesh(w: usize, h: usize) -> Shape {
        Shape { kind: "mesh_2d_no_wrap", w, h, ..Shape::ring(1) }
    }

    /// With so many cubes.
    #[must_use]
    pub fn cubes(self, cube_w: usize, cube_h: usize) -> Shape {
        Shape { cube_w, cube_h, ..self }
    }

    /// With queues that hold so many messages.
    #[must_use]
    pub fn capacity(self, capacity: usize) -> Shape {
        Shape { capacity, ..self }
    }

    /// With another cube connected to other devices.
    #[must_use]
    pub fn linked(self, row: usize, column: usize) -> Shape {
        Shape { link_at: Some((row, column)), ..self }
    }

    /// Devices.
    pub fn ranks(&self) -> usize {
        self.w * self.h
    }

    /// Cubes of each.
    pub fn all_cubes(&self) -> usize {
        self.cube_w * self.cube_h
    }

    /// Elements.
    pub fn elements(&self) -> usize {
        self.ranks() * self.all_cubes()
    }

    /// The cube that is connected to other devices, by row and column.
    pub fn link(&self) -> (usize, usize) {
        self.link_at.unwrap_or((self.cube_h / 2, self.cube_w / 2))
    }

    /// An element by rank, row and column of its cube.
    pub fn element(&self, rank: usize, row: usize, column: usize) -> usize {
        rank * self.all_cubes() + row * self.cube_w + column
    }

    /// The element of a rank that is connected to other devices.
    pub fn link_of(&self, rank: usize) -> usize {
        let (row, column) = self.link();
        self.element(rank, row, column)
    }

    /// As a document has it.
    pub fn topology(&self) -> Value {
        let mut topology = json!({"kind": self.kind, "ranks": self.ranks()});
        if self.kind != "ring_1d" {
            topology["w"] = json!(self.w);
            topology["h"] = json!(self.h);
        }
        // What is left out is the default.
        if (self.cube_w, self.cube_h) != (4, 4) {
            topology["cube_w"] = json!(self.cube_w);
            topology["cube_h"] = json!(self.cube_h);
        }
        if self.capacity != 4 {
            topology["capacity"] = json!(self.capacity);
        }
        if let Some((row, column)) = self.link_at {
            topology["link_cube"] = json!(row * self.cube_w + column);
        }
        topology
    }

    /// A name of it for files.
    pub fn slug(&self) -> String {
        let devices = match self.kind {
            "ring_1d" => format!("ring-{}", self.w),
            "torus_2d" => format!("torus-{}x{}", self.w, self.h),
            _ => format!("mesh-{}x{}", self.w, self.h),
        };
        let cubes = if self.all_cubes() == 1 {
            String::new()
        } else {
            format!("-cubes-{}x{}", self.cube_w, self.cube_h)
        };
        let link = self.link_at.map(|(row, column)| format!("-link-{}", row * self.cube_w + column));
        format!("{devices}{cubes}{}", link.unwrap_or_default())
    }
}

/// An algorithm with what it computes.
#[derive(Clone, Debug)]
pub struct Made {
    /// The name of its file.
    pub name: String,
    /// In words.
    pub summary: String,
    /// The document.
    pub document: Value,
    /// What each element holds at the end: parts of its tile, by first position and position behind, and how they are made. What is
    /// in no part is as it was.
    pub results: Vec<Vec<(usize, usize, Rc<Expr>)>>,
}

/// Logs while they are written.
pub struct Build {
    shape: Shape,
    n_elem: usize,
    ops: Vec<Vec<Value>>,
    /// The handle that each element is about to send or store.
    held: Vec<String>,
    /// How it is made.
    pub made: Vec<Rc<Expr>>,
}

impl Build {
    /// Every element has loaded its tile.
    pub fn new(shape: &Shape, n_elem: usize) -> Build {
        let all = shape.elements();
        let own = json!({"op": "load", "to": "own", "at": 0, "n": n_elem});
        Build {
            shape: shape.clone(),
            n_elem,
            ops: vec![vec![own]; all],
            held: vec!["own".to_owned(); all],
            made: (0..all).map(leaf).collect(),
        }
    }

    /// No element has done anything.
    pub fn empty(shape: &Shape, n_elem: usize) -> Build {
        let mut build = Build::new(shape, n_elem);
        build.ops.iter_mut().for_each(Vec::clear);
        build
    }

    /// Any operation.
    pub fn op(&mut self, element: usize, op: Value) {
        if let Some(ops) = self.ops.get_mut(element) {
            ops.push(op);
        }
    }

    /// Sends what is held.
    pub fn send(&mut self, element: usize, dir: &str) {
        let of = self.held[element].clone();
        self.op(element, json!({"op": "send", "of": of, "dir": dir}));
    }

    /// Receives what another element holds, and adds it.
    pub fn reduce(&mut self, element: usize, dir: &str, from: &Rc<Expr>) {
        let of = self.held[element].clone();
        self.op(element, json!({"op": "recv", "to": "in", "dir": dir, "n": self.n_elem}));
        self.op(element, json!({"op": "add", "to": "sum", "a": of, "b": "in"}));
        self.held[element] = "sum".to_owned();
        self.made[element] = add(&self.made[element], from);
    }

    /// Receives what another element holds, in place of its own.
    pub fn take(&mut self, element: usize, dir: &str, from: &Rc<Expr>) {
        self.op(element, json!({"op": "recv", "to": "sum", "dir": dir, "n": self.n_elem}));
        self.held[element] = "sum".to_owned();
        self.made[element] = Rc::clone(from);
    }

    /// Reduces a line to one of its places: from both ends towards it. There, the lower arm is added first.
    pub fn gather(&mut self, line: &[usize], to: usize, [up, down]: [&str; 2]) {
        for place in 0..to {
            if place > 0 {
                let from = Rc::clone(&self.made[line[place - 1]]);
                self.reduce(line[place], down, &from);
            }
            self.send(line[place], up);
        }
        for place in (to + 1..line.len()).rev() {
            if place + 1 < line.len() {
                let from = Rc::clone(&self.made[line[place + 1]]);
                self.reduce(line[place], up, &from);
            }
            self.send(line[place], down);
        }
        if to > 0 {
            let from = Rc::clone(&self.made[line[to - 1]]);
            self.reduce(line[to], down, &from);
        }
        if to + 1 < line.len() {
            let from = Rc::clone(&self.made[line[to + 1]]);
            self.reduce(line[to], up, &from);
        }
    }

    /// Spreads what one place of a line holds over all of it.
    pub fn spread(&mut self, line: &[usize], from: usize, [up, down]: [&str; 2]) {
        let what = Rc::clone(&self.made[line[from]]);
        if from > 0 {
            self.send(line[from], down);
        }
        if from + 1 < line.len() {
            self.send(line[from], up);
        }
        for place in (0..from).rev() {
            self.take(line[place], up, &what);
            if place > 0 {
                self.send(line[place], down);
            }
        }
        for place in from + 1..line.len() {
            self.take(line[place], down, &what);
            if place + 1 < line.len() {
                self.send(line[place], up);
            }
        }
    }

    /// The cubes of each device, reduced to its link cube.
    pub fn gather_cubes(&mut self) {
        let shape = self.shape.clone();
        let (row, column) = shape.link();
        for rank in 0..shape.ranks() {
            for y in 0..shape.cube_h {
                let line: Vec<usize> = (0..shape.cube_w).map(|x| shape.element(rank, y, x)).collect();
                self.gather(&line, column, ["E", "W"]);
            }
            let line: Vec<usize> = (0..shape.cube_h).map(|y| shape.element(rank, y, column)).collect();
            self.gather(&line, row, ["S", "N"]);
        }
    }

    /// What the link cube of each device holds, spread over its cubes.
    pub fn spread_cubes(&mut self) {
        let shape = self.shape.clone();
        let (row, column) = shape.link();
        for rank in 0..shape.ranks() {
            let line: Vec<usize> = (0..shape.cube_h).map(|y| shape.element(rank, y, column)).collect();
            self.spread(&line, row, ["S", "N"]);
            for y in 0..shape.cube_h {
                let line: Vec<usize> = (0..shape.cube_w).map(|x| shape.element(rank, y, x)).collect();
                self.spread(&line, column, ["E", "W"]);
            }
        }
    }

    /// The lines of link cubes along a dimension of the devices, with the names of its directions.
    pub fn lines(&self, rows: bool) -> (Vec<Vec<usize>>, [&'static str; 2]) {
        let shape = &self.shape;
        let line = |fixed: usize| {
            let extent = if rows { shape.w } else { shape.h };
            let rank = |at: usize| if rows { fixed * shape.w + at } else { at * shape.w + fixed };
            (0..extent).map(|at| shape.link_of(rank(at))).collect()
        };
        let count = if rows { shape.h } else { shape.w };
        let names = if rows { ["global_E", "global_W"] } else { ["global_S", "global_N"] };
        ((0..count).map(line).collect(), names)
    }

    /// Stores what is held, everywhere, and makes the document.
    pub fn stored(mut self, name: &str, summary: &str, collective: &Value) -> Made {
        for element in 0..self.shape.elements() {
            // Whoever holds what it loaded has nothing to write.
            if self.held[element] != "own" {
                let of = self.held[element].clone();
                self.op(element, json!({"op": "store", "of": of, "at": 0}));
            }
        }
        let results = self.made.iter().map(|made| vec![(0, self.n_elem, Rc::clone(made))]).collect();
        self.document(name, summary, collective, results)
    }

    /// Makes the document. Elements that do the same share a log.
    pub fn document(
        self,
        name: &str,
        summary: &str,
        collective: &Value,
        results: Vec<Vec<(usize, usize, Rc<Expr>)>>,
    ) -> Made {
        let mut logs: Vec<(Vec<Value>, Vec<usize>)> = Vec::new();
        for (element, ops) in self.ops.into_iter().enumerate() {
            match logs.iter_mut().find(|(known, _)| *known == ops) {
                Some((_, elements)) => elements.push(element),
                None => logs.push((ops, vec![element])),
            }
        }
        let logs: Vec<Value> = logs
            .into_iter()
            .map(|(ops, elements)| json!({"elements": runs(&elements), "ops": ops}))
            .collect();
        let document = algorithm(&self.shape.topology(), self.n_elem, collective, logs);
        Made { name: name.to_owned(), summary: summary.to_owned(), document, results }
    }
}

/// A document.
pub fn algorithm(topology: &Value, n_elem: usize, collective: &Value, logs: Vec<Value>) -> Value {
    let mut document = Map::new();
    document.insert("topology".to_owned(), topology.clone());
    document.insert("n_elem".to_owned(), json!(n_elem));
    document.insert("collective".to_owned(), collective.clone());
    document.insert("logs".to_owned(), Value::Array(logs));
    Value::Object(document)
}

/// Ascending ids as `[first, last, step]`.
pub fn runs(ids: &[usize]) -> Vec<[usize; 3]> {
    let mut runs: Vec<[usize; 3]> = Vec::new();
    for &id in ids {
        match runs.last_mut() {
            Some([first, last, step]) if first == last => (*last, *step) = (id, id - *first),
            Some([_, last, step]) if id == *last + *step => *last = id,
            _ => runs.push([id, id, 1]),
        }
    }
    runs
}

/// The positions of block `j` of `q`.
pub fn block(n_elem: usize, q: usize, j: usize) -> (usize, usize) {
    (j * n_elem / q, (j + 1) * n_elem / q)
}
