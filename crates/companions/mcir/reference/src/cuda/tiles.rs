//! Which thread holds which element of a buffer, and how C++ says so.
//!
//! Elements in shared memory are there for every thread. Of a buffer in registers, a thread holds the rows whose number is its own modulo
//! the number of threads, if there are enough of them to keep threads busy; otherwise single elements.

use std::fmt::Write as _;

use megakernel_mcir::Dtype;
use megakernel_mcir::kernel::Buffer;

/// Where the elements of a slot are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In memory that all threads see.
    Memory,
    /// Row `i`, along the first axis, in registers of the thread `i` modulo the threads.
    Rows,
    /// Element `e`, in row-major order, in registers of the thread `e` modulo the threads.
    Elements,
}

/// A buffer as it is kept.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its pointer or array, in C++.
    pub name: String,
    pub allocation: u32,
    pub layout: Layout,
    /// Extents of a slot.
    pub shape: Vec<i64>,
    pub dtype: Dtype,
    pub slots: i64,
    /// Where it begins in shared memory: its allocation, and bytes from there on.
    pub offset: i64,
}

impl Held {
    /// A buffer in registers, or in memory.
    pub fn new(name: String, buffer: &Buffer, is_memory: bool, threads: i64) -> Held {
        let rows = buffer.shape.first().copied().unwrap_or(1);
        let layout = match buffer.shape.len() {
            _ if is_memory => Layout::Memory,
            0 | 1 => Layout::Rows,
            _ if rows.saturating_mul(2) >= threads => Layout::Rows,
            _ => Layout::Elements,
        };
        Held {
            name,
            allocation: buffer.allocation,
            layout,
            shape: buffer.shape.clone(),
            dtype: buffer.dtype,
            slots: buffer.slots,
            offset: buffer.offset,
        }
    }

    /// Elements of a slot.
    pub fn elements(&self) -> i64 {
        self.shape.iter().fold(1_i64, |count, &extent| count.saturating_mul(extent))
    }

    fn width(&self) -> i64 {
        self.shape.iter().skip(1).fold(1_i64, |count, &extent| count.saturating_mul(extent))
    }

    /// How many elements of a slot a thread holds or, of a slot in memory, computes at most.
    pub fn each(&self, threads: i64) -> i64 {
        match self.layout {
            Layout::Rows => {
                let rows = self.shape.first().copied().unwrap_or(1);
                (rows.saturating_add(threads - 1) / threads).saturating_mul(self.width())
            }
            _ => self.elements().saturating_add(threads - 1) / threads,
        }
    }

    /// The element at some coordinates, in C++: its place in the pointer or array, in the slot that is named.
    pub fn place(&self, slot: &str, coordinates: &[String], threads: i64) -> String {
        let (row, stride) = match self.layout {
            Layout::Rows => {
                let row = coordinates.first().map(|row| format!("{row} / {threads}"));
                (row.unwrap_or_else(|| "0".to_owned()), self.each(threads))
            }
            Layout::Memory => (linear(&self.shape, coordinates), self.elements()),
            Layout::Elements => {
                (format!("({}) / {threads}", linear(&self.shape, coordinates)), self.each(threads))
            }
        };
        let mut place = if self.layout == Layout::Rows && coordinates.len() > 1 {
            format!("({row}) * {} + {}", self.width(), linear(&self.shape[1..], &coordinates[1..]))
        } else {
            row
        };
        if self.slots > 1 && slot != "0" {
            let _ = write!(place, " + {slot} * {stride}");
        }
        place
    }
}

/// Coordinates as one number, in row-major order.
pub fn linear(shape: &[i64], coordinates: &[String]) -> String {
    let mut text = String::new();
    for (axis, (coordinate, extent)) in coordinates.iter().zip(shape).enumerate() {
        text = if axis == 0 { coordinate.clone() } else { format!("({text}) * {extent} + {coordinate}") };
    }
    if text.is_empty() { "0".to_owned() } else { text }
}
