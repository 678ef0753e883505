//! Views at an instruction: their extents, and loops over their elements.

use std::rc::Rc;

use megakernel_mcir::kernel::View;

use super::code::Code;
use super::place::aligned;
use super::tiles::{Held, Layout, linear};
use super::{Refused, dtype, stored};

/// A view at an instruction.
#[derive(Clone)]
pub struct Seen {
    pub held: Rc<Held>,
    /// The pointer or array.
    pub name: String,
    pub layout: Layout,
    /// In C++, a number between 0 and the slots.
    pub slot: String,
    /// The slot as it stands in the view, by which two views of a buffer are compared.
    version: String,
    /// In C++.
    pub extents: Vec<String>,
}

impl Seen {
    /// An element.
    pub fn at(&self, coordinates: &[String], threads: i64) -> String {
        let place = match self.layout {
            Layout::Memory if self.held.layout != Layout::Memory => linear(&self.held.shape, coordinates),
            _ => self.held.place(&self.slot, coordinates, threads),
        };
        format!("{}[{place}]", self.name)
    }

    /// An element as a number.
    pub fn get(&self, coordinates: &[String], threads: i64) -> String {
        format!("{}::get({})", dtype(self.held.dtype), self.at(coordinates, threads))
    }

    /// Whether this is the same part of the same buffer.
    pub fn is(&self, other: &Seen) -> bool {
        self.name == other.name && self.version == other.version
    }
}

impl Code<'_> {
    pub(super) fn buffer(&self, name: u32) -> Result<Rc<Held>, Refused> {
        let text = &self.kernels.names[name as usize];
        self.held.get(&name).cloned().ok_or_else(|| Refused::of(format!("`{text}` is no buffer")))
    }

    /// A view at an instruction, whose slot and extents are declared with a number.
    pub(super) fn seen(&mut self, view: &View, number: usize) -> Result<Seen, Refused> {
        let held = self.buffer(view.buffer)?;
        self.used.insert(view.buffer);
        let version = self.integers.index(&view.slot)?;
        let slot = match self.integers.number(&view.slot) {
            _ if held.slots == 1 => "0".to_owned(),
            Some(slot) => slot.rem_euclid(held.slots).to_string(),
            None => {
                self.line(format!("const int s{number} = mcir::slot({version}, {});", held.slots));
                format!("s{number}")
            }
        };
        let mut extents = Vec::with_capacity(held.shape.len());
        let stated = view.extent.as_deref();
        if stated.is_some_and(|stated| stated.len() != held.shape.len()) {
            return Err(Refused::of("a view has more or fewer axes than its buffer"));
        }
        for (axis, extent) in held.shape.iter().enumerate() {
            let Some(index) = stated.and_then(|stated| stated.get(axis)) else {
                extents.push(extent.to_string());
                continue;
            };
            extents.push(match self.integers.number(index) {
                Some(number) => number.to_string(),
                None => {
                    let text = self.integers.index(index)?;
                    self.line(format!("[[maybe_unused]] const int n{number}_{axis} = (int){text};"));
                    format!("n{number}_{axis}")
                }
            });
        }
        Ok(Seen { name: held.name.clone(), layout: held.layout, held, slot, version, extents })
    }

    /// Opens loops over the elements that a thread has of a view in a layout, or takes of one in memory: coordinates, and how many braces are open.
    pub(super) fn walk(&mut self, seen: &Seen, layout: Layout) -> (Vec<String>, usize) {
        let (rank, threads) = (seen.extents.len(), self.threads);
        let names: Vec<String> = (0..rank).map(|axis| format!("c{axis}")).collect();
        let extents = &seen.extents;
        match layout {
            _ if rank == 0 => {
                self.open("if (thread == 0)");
                (names, 1)
            }
            _ if rank == 1 || layout == Layout::Rows => {
                self.open(format!("for (int c0 = thread; c0 < {}; c0 += {threads})", extents[0]));
                for (axis, extent) in extents.iter().enumerate().skip(1) {
                    self.open(format!("for (int c{axis} = 0; c{axis} < {extent}; ++c{axis})"));
                }
                (names, rank)
            }
            _ => {
                // Of registers, the elements of the whole slot; of memory, those of the view.
                let shape: Vec<String> = if layout == Layout::Elements {
                    seen.held.shape.iter().map(i64::to_string).collect()
                } else {
                    extents.clone()
                };
                self.open(format!(
                    "for (int e = thread, all = {}; e < all; e += {threads})",
                    shape.join(" * ")
                ));
                for axis in 0..rank {
                    let inner = shape[axis + 1..].join(" * ");
                    let divided = if inner.is_empty() { "e".to_owned() } else { format!("e / ({inner})") };
                    let wrapped = if axis == 0 { String::new() } else { format!(" % {}", shape[axis]) };
                    self.line(format!("[[maybe_unused]] const int c{axis} = {divided}{wrapped};"));
                }
                if shape == *extents {
                    return (names, 1);
                }
                let inside: Vec<String> =
                    names.iter().zip(extents).map(|(name, extent)| format!("{name} < {extent}")).collect();
                self.open(format!("if ({})", inside.join(" && ")));
                (names, 2)
            }
        }
    }

    /// Casts a number to an element.
    pub(super) fn put(&mut self, seen: &Seen, coordinates: &[String], value: &str) {
        let element = seen.at(coordinates, self.threads);
        self.line(format!("{element} = {}::put({value});", dtype(seen.held.dtype)));
    }

    /// Copies what another thread needs into memory for exchanges, from some byte on: the view as it is seen there, and the first byte behind.
    pub(super) fn staged(&mut self, seen: &Seen, number: usize, from: i64) -> (Seen, i64) {
        let stored = stored(seen.held.dtype);
        let name = self.exchange_from(from, stored, number);
        let mut staged = seen.clone();
        (staged.name, staged.layout) = (name, Layout::Memory);
        let (coordinates, braces) = self.walk(seen, seen.layout);
        let (to, element) = (staged.at(&coordinates, self.threads), seen.at(&coordinates, self.threads));
        self.line(format!("{to} = {element};"));
        self.close(braces);
        let size = seen.held.elements().saturating_mul(seen.held.dtype.bytes());
        (staged, self.exchange_to(from, size))
    }

    /// Declares a pointer to memory for exchanges, from some byte on.
    pub(super) fn exchange_from(&mut self, from: i64, stored: &str, number: usize) -> String {
        let place = self.exchange.saturating_add(from);
        self.line(format!("{stored} *const x{number} = ({stored} *)(mcir::shared_memory() + {place});"));
        format!("x{number}")
    }

    /// The first byte behind what is exchanged.
    pub(super) fn exchange_to(&mut self, from: i64, size: i64) -> i64 {
        let end = aligned(from.saturating_add(size));
        self.exchanged = self.exchanged.max(end);
        end
    }
}
