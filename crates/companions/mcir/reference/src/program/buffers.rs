//! The buffers of a program.

use std::collections::{BTreeMap, HashSet};

use megakernel_mcir::Dtype;
use serde_json::{Value as Json, json};

use super::Binding;
use crate::world::World;

/// What a buffer holds.
enum Holds {
    /// A tensor of the document.
    Tensor(u32),
    /// These numbers, each 0 or 1.
    Kept(Vec<u8>),
    /// What tasks leave to each other.
    Scratch,
}

struct Buffer {
    name: String,
    kind: &'static str,
    dtype: &'static str,
    shape: Vec<i64>,
    holds: Holds,
    is_used: bool,
    writers: usize,
}

/// All buffers.
pub struct Buffers<'d> {
    world: &'d World<'d>,
    all: Vec<Buffer>,
    /// By tensor and shape.
    known: BTreeMap<(u32, Vec<i64>), usize>,
}

impl<'d> Buffers<'d> {
    /// None yet.
    pub fn new(world: &'d World<'d>) -> Buffers<'d> {
        Buffers { world, all: Vec::new(), known: BTreeMap::new() }
    }

    fn add(&mut self, buffer: Buffer) -> usize {
        self.all.push(buffer);
        self.all.len() - 1
    }

    /// A task reads or writes a buffer.
    pub fn touched(&mut self, buffer: usize, is_written: bool) {
        if let Some(buffer) = self.all.get_mut(buffer) {
            buffer.is_used = true;
            buffer.writers += usize::from(is_written);
        }
    }

    /// How many tasks write a buffer.
    pub fn writers(&self, buffer: usize) -> usize {
        self.all.get(buffer).map_or(0, |buffer| buffer.writers)
    }

    /// The buffer with a tensor, in a shape with as many elements; whether it is new. Inputs are bound by the host once for each shape.
    pub fn tensor(&mut self, name: u32, shape: &[i64]) -> (usize, bool) {
        let key = (name, shape.to_vec());
        if let Some(&known) = self.known.get(&key) {
            return (known, false);
        }
        let value = self.world.value(name);
        let is_whole = value.shape.as_slice() == shape;
        let kind = if self.world.is_input(name) {
            "IO_INPUT"
        } else if is_whole && self.world.document.outputs.contains(&name) {
            "IO_OUTPUT"
        } else {
            "ACTIVATION"
        };
        let holds = if kind == "ACTIVATION" { Holds::Scratch } else { Holds::Tensor(name) };
        let (name, dtype) = (self.world.name(name).to_owned(), value.dtype.name());
        let number =
            self.add(Buffer { name, kind, dtype, shape: shape.to_vec(), holds, is_used: false, writers: 0 });
        self.known.insert(key, number);
        (number, true)
    }

    /// A buffer between two tasks.
    pub fn scratch(&mut self, name: &str, of: Dtype, shape: &[i64]) -> usize {
        let (name, shape) = (name.to_owned(), shape.to_vec());
        self.add(Buffer {
            name,
            kind: "ACTIVATION",
            dtype: of.name(),
            shape,
            holds: Holds::Scratch,
            is_used: false,
            writers: 0,
        })
    }

    /// A buffer with numbers that are known.
    pub fn kept(&mut self, name: &str, shape: Vec<i64>, numbers: Vec<u8>) -> usize {
        let name = name.to_owned();
        self.add(Buffer {
            name,
            kind: "IO_INPUT",
            dtype: "BOOL",
            shape,
            holds: Holds::Kept(numbers),
            is_used: false,
            writers: 0,
        })
    }

    /// As a program has those that tasks use; what the host has to know; and the id of each.
    pub fn records(&self) -> (Vec<Json>, Binding, Vec<usize>) {
        let (mut records, mut binding, mut ids) =
            (Vec::new(), Binding::new(), Vec::with_capacity(self.all.len()));
        let mut names = HashSet::new();
        for buffer in &self.all {
            ids.push(records.len());
            if !buffer.is_used {
                continue;
            }
            let (mut name, mut number) = (buffer.name.clone(), 1);
            while !names.insert(name.clone()) {
                number += 1;
                name = format!("{}.{number}", buffer.name);
            }
            match &buffer.holds {
                Holds::Tensor(tensor) => {
                    binding.insert(name.clone(), json!({"tensor": self.world.name(*tensor)}));
                }
                Holds::Kept(numbers) => {
                    binding.insert(name.clone(), json!({"values": numbers}));
                }
                Holds::Scratch => {}
            }
            records.push(json!({
                "id": records.len(), "name": name, "kind": buffer.kind, "dtype": buffer.dtype, "shape": buffer.shape,
            }));
        }
        (records, binding, ids)
    }
}
