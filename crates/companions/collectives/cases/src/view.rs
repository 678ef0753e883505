//! Looking at documents of the library, in order to plant something in them.

use serde_json::{Value, json};

use crate::build::{Made, Shape};

/// An operation of a document.
pub struct Found<'d> {
    /// Its log.
    pub log: usize,
    /// Its place in the log.
    pub at: usize,
    /// The operation.
    pub op: &'d Value,
}

impl Found<'_> {
    /// Its pointer.
    pub fn pointer(&self) -> String {
        format!("/logs/{}/ops/{}", self.log, self.at)
    }
}

fn list<'d>(value: &'d Value, name: &str) -> &'d [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A number of a document.
pub fn number(value: &Value, pointer: &str) -> Option<usize> {
    value.pointer(pointer).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
}

impl Made {
    /// The logs.
    pub fn logs(&self) -> &[Value] {
        list(&self.document, "logs")
    }

    /// The operations of a log.
    pub fn ops(&self, log: usize) -> &[Value] {
        self.logs().get(log).map(|log| list(log, "ops")).unwrap_or_default()
    }

    /// The operations of this kind that stand in no loop.
    pub fn find(&self, kind: &str) -> Vec<Found<'_>> {
        let of_log = |log: usize| {
            let wanted = move |op: &&Value| op.get("op").and_then(Value::as_str) == Some(kind);
            let ops = self.ops(log).iter().enumerate();
            ops.filter(move |(_, op)| wanted(op)).map(move |(at, op)| Found { log, at, op })
        };
        (0..self.logs().len()).flat_map(of_log).collect()
    }

    /// The ids of the elements of a log.
    pub fn elements_of(&self, log: usize) -> Vec<usize> {
        let entries = self.logs().get(log).map(|log| list(log, "elements")).unwrap_or_default();
        let ids = |entry: &Value| {
            let [first, last, step] = ["/0", "/1", "/2"].map(|at| number(entry, at).unwrap_or(1));
            (first..=last).step_by(step.max(1))
        };
        entries.iter().flat_map(ids).collect()
    }

    /// How many elements there are.
    pub fn elements(&self) -> usize {
        self.results.len()
    }

    /// How many positions a tile has.
    pub fn n_elem(&self) -> usize {
        number(&self.document, "/n_elem").unwrap_or(1)
    }

    /// The shape, if the topology is none of lists.
    pub fn shape(&self) -> Option<Shape> {
        let topology = self.document.get("topology")?;
        let kind =
            ["ring_1d", "torus_2d", "mesh_2d_no_wrap"].into_iter().find(|kind| topology["kind"] == *kind)?;
        let of = |name: &str, default| number(topology, name).unwrap_or(default);
        let (w, h) = if kind == "ring_1d" { (of("/ranks", 1), 1) } else { (of("/w", 1), of("/h", 1)) };
        let capacity = of("/capacity", 4);
        let (cube_w, cube_h) = (of("/cube_w", 4), of("/cube_h", 4));
        let link_at = number(topology, "/link_cube").map(|cube| (cube / cube_w, cube % cube_w));
        Some(Shape { kind, w, h, cube_w, cube_h, capacity, link_at })
    }

    /// An operation that appends to a log.
    pub fn append(&self, log: usize, op: &Value) -> Value {
        json!({"op": "add", "path": format!("/logs/{log}/ops/-"), "value": op})
    }

    /// The pointer of the operation that would be appended as number `further`, counted from 0.
    pub fn appended(&self, log: usize, further: usize) -> String {
        format!("/logs/{log}/ops/{}", self.ops(log).len() + further)
    }

    /// Logs and directions that lead somewhere from every element of the log.
    pub fn ways(&self) -> Vec<(usize, &'static str)> {
        self.directions(|leads| leads.iter().all(|leads| *leads))
    }

    /// Logs and directions that lead nowhere from some element of the log.
    pub fn borders(&self) -> Vec<(usize, &'static str)> {
        self.directions(|leads| leads.iter().any(|leads| !*leads))
    }

    fn directions(&self, wanted: impl Fn(&[bool]) -> bool) -> Vec<(usize, &'static str)> {
        let Some(shape) = self.shape() else { return Vec::new() };
        let mut found = Vec::new();
        for log in 0..self.logs().len() {
            for dir in ["E", "W", "S", "N", "global_E", "global_W", "global_S", "global_N"] {
                if shape.kind == "ring_1d" && ["global_S", "global_N"].contains(&dir) {
                    continue;
                }
                let leads: Vec<bool> =
                    self.elements_of(log).into_iter().map(|element| shape.leads(element, dir)).collect();
                if wanted(&leads) {
                    found.push((log, dir));
                }
            }
        }
        found
    }
}

impl Shape {
    /// Whether a direction leads somewhere from an element: by the table of clause COL-03.
    pub fn leads(&self, element: usize, dir: &str) -> bool {
        let (rank, cube) = (element / self.all_cubes(), element % self.all_cubes());
        let (row, column) = (cube / self.cube_w, cube % self.cube_w);
        let (x, y) = (rank % self.w, rank / self.w);
        let wraps = self.kind != "mesh_2d_no_wrap";
        let linked = (row, column) == self.link();
        match dir {
            "E" => column + 1 < self.cube_w,
            "W" => column > 0,
            "S" => row + 1 < self.cube_h,
            "N" => row > 0,
            "global_E" => linked && self.w > 1 && (wraps || x + 1 < self.w),
            "global_W" => linked && self.w > 1 && (wraps || x > 0),
            "global_S" => linked && self.h > 1 && (wraps || y + 1 < self.h),
            _ => linked && self.h > 1 && (wraps || y > 0),
        }
    }
}
