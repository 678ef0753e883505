//! The code of a kernel: loops, memory, moves and meetings. Views are in [`super::views`], what is computed in [`super::compute`].

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::rc::Rc;

use megakernel_mcir::kernel::{Extreme, Instruction, Kernel, Kernels, Tensor, View};
use megakernel_mcir::{Index, Init, Memory};
use megakernel_numerics::{decode, encode};

use super::index::{Integers, identifier};
use super::place::{aligned, places};
use super::tiles::{Held, Layout, linear};
use super::{Refused, one_line, stored};

/// The most allocations in shared memory, of which pairs are looked at.
const MOST_ALLOCATIONS: usize = 8192;

/// The most bytes that a thread has in registers, which the compiler moves to memory where there are too many.
const MOST_REGISTERS: i64 = 1 << 16;

/// A kernel as C++.
pub struct Made {
    pub text: String,
    pub blocks: i64,
    pub shared_bytes: i64,
    /// What it takes, and whether it stores it.
    pub tensors: BTreeMap<u32, bool>,
}

/// What is being generated of a kernel.
pub struct Code<'k> {
    pub(super) kernels: &'k Kernels,
    kernel: &'k Kernel,
    tensors: &'k BTreeMap<u32, (usize, &'k Tensor, i64)>,
    pub(super) threads: i64,
    pub(super) held: HashMap<u32, Rc<Held>>,
    allocations: HashSet<u32>,
    /// Where allocations lie in shared memory.
    places: BTreeMap<u32, i64>,
    /// Allocations of registers in which several buffers lie, so that threads share them.
    common: BTreeSet<u32>,
    pub(super) integers: Integers<'k>,
    text: String,
    depth: usize,
    pub(super) used: BTreeSet<u32>,
    taken: BTreeMap<u32, bool>,
    /// Where memory for exchanges begins, and the most that an instruction has needed of it.
    pub(super) exchange: i64,
    pub(super) exchanged: i64,
    /// The most bytes of a thread that an instruction holds back.
    pub(super) held_back: i64,
}

impl<'k> Code<'k> {
    pub fn new(
        kernels: &'k Kernels,
        kernel: &'k Kernel,
        tensors: &'k BTreeMap<u32, (usize, &'k Tensor, i64)>,
        threads: i64,
    ) -> Result<Code<'k>, Refused> {
        let sizes: HashMap<u32, (Memory, i64)> =
            kernel.allocations.iter().map(|each| (each.name, (each.memory, each.bytes))).collect();
        let mut count: HashMap<u32, usize> = HashMap::new();
        for buffer in &kernel.buffers {
            *count.entry(buffer.allocation).or_default() += 1;
        }
        let is_common = |name: u32| count.get(&name).is_some_and(|&count| count > 1);
        let mut shared = BTreeMap::new();
        let mut common = BTreeSet::new();
        for (&name, &(memory, bytes)) in &sizes {
            if !(1..1 << 31).contains(&bytes) {
                return Err(Refused::of("a size is out of range")
                    .within(&kernels.names[name as usize])
                    .within("allocations"));
            }
            if memory == Memory::Shared || is_common(name) {
                shared.insert(name, bytes);
            }
            if memory != Memory::Shared && is_common(name) {
                common.insert(name);
            }
        }
        if shared.len() > MOST_ALLOCATIONS {
            let message = format!("more than {MOST_ALLOCATIONS} in shared memory");
            return Err(Refused::of(message).within("allocations"));
        }
        let mut held = HashMap::new();
        for buffer in &kernel.buffers {
            let text = &kernels.names[buffer.name as usize];
            let refused = |message: &str| Refused::of(message).within(text).within("buffers");
            let &(_, has) =
                sizes.get(&buffer.allocation).ok_or_else(|| refused("it lies in no allocation"))?;
            let name = identifier('b', &kernels.names, buffer.name);
            let is_memory = shared.contains_key(&buffer.allocation);
            let one = Held::new(name, buffer, is_memory, threads);
            let is_right = buffer.shape.len() <= 64
                && buffer.shape.iter().all(|&extent| extent > 0)
                && (1..=64).contains(&buffer.slots)
                && buffer.offset >= 0
                && buffer.offset % buffer.dtype.bytes() == 0;
            let bytes = one.elements().saturating_mul(buffer.slots).saturating_mul(buffer.dtype.bytes());
            if !is_right || bytes.saturating_add(buffer.offset) > has {
                return Err(refused("a number is out of range, or it does not lie in its allocation"));
            }
            held.insert(buffer.name, Rc::new(one));
        }
        let (places, end) = places(&kernel.body, &shared);
        Ok(Code {
            kernels,
            kernel,
            tensors,
            threads,
            held,
            allocations: sizes.into_keys().collect(),
            places,
            common,
            integers: Integers::new(&kernels.names),
            text: String::new(),
            depth: 1,
            used: BTreeSet::new(),
            taken: BTreeMap::new(),
            exchange: aligned(end),
            exchanged: 0,
            held_back: 0,
        })
    }

    /// The code of the kernel with a number.
    pub fn kernel(mut self, number: usize) -> Result<Made, Refused> {
        let (mut blocks, mut begin) = (1_i64, String::new());
        let mut counts = Vec::new();
        for axis in &self.kernel.blocks {
            if axis.to < 1 || axis.step < 1 {
                return Err(Refused::of("a number is out of range").within("blocks"));
            }
            let count = (axis.to - 1) / axis.step + 1;
            blocks = blocks.saturating_mul(count);
            let last = i128::from((count - 1).saturating_mul(axis.step));
            counts.push((self.integers.declare(axis.axis, (0, last))?, count, axis.step));
        }
        if blocks > i64::from(i32::MAX) {
            return Err(Refused::of(format!("more than {} blocks", i32::MAX)).within("blocks"));
        }
        let mut inner = 1_i64;
        for (name, count, step) in counts.iter().rev() {
            let line = format!(
                "  [[maybe_unused]] const long long {name} = (long long)blockIdx.x / {inner} % {count} * {step};\n"
            );
            begin.insert_str(0, &line);
            inner = inner.saturating_mul(*count);
        }
        self.body(&self.kernel.body)?;
        let mut registers = self.held_back;
        for name in &self.used {
            let Some(held) = self.held.get(name) else { continue };
            let (stored, name) = (stored(held.dtype), &held.name);
            let _ = match held.layout {
                Layout::Memory => {
                    let place = self.places.get(&held.allocation).copied().unwrap_or(0) + held.offset;
                    writeln!(
                        begin,
                        "  {stored} *const {name} = ({stored} *)(mcir::shared_memory() + {place});"
                    )
                }
                _ => {
                    let count = held.each(self.threads).saturating_mul(held.slots);
                    registers = registers.saturating_add(count.saturating_mul(held.dtype.bytes()));
                    writeln!(begin, "  {stored} {name}[{count}];")
                }
            };
        }
        if registers > MOST_REGISTERS {
            return Err(Refused::of(format!(
                "each of {} threads would hold {registers} bytes in registers, and no more than {MOST_REGISTERS} are taken; \
                 with more threads each holds less",
                self.threads
            )));
        }
        let shared_bytes =
            if self.exchanged > 0 { self.exchange.saturating_add(self.exchanged) } else { self.exchange };
        if shared_bytes > i64::from(i32::MAX) {
            return Err(Refused::of("more shared memory than a number has room for"));
        }
        let parameters: Vec<String> = self
            .taken
            .iter()
            .filter_map(|(name, is_stored)| {
                let (_, tensor, _) = self.tensors.get(name)?;
                let constant = if *is_stored { "" } else { "const " };
                let name = identifier('t', &self.kernels.names, *name);
                Some(format!("{constant}{} *__restrict__ {name}", stored(tensor.dtype)))
            })
            .collect();
        let text = format!(
            "\n// {}\n__global__ void __launch_bounds__({}) kernel_{number}({}) {{\n  [[maybe_unused]] const int thread = (int)threadIdx.x;\n\
             {begin}{}}}\n",
            one_line(&self.kernels.names[self.kernel.id as usize]),
            self.threads,
            parameters.join(", "),
            self.text
        );
        Ok(Made { text, blocks, shared_bytes, tensors: self.taken })
    }

    /// Writes a line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let _ = writeln!(self.text, "{:1$}{2}", "", 2 * self.depth, line.as_ref());
    }

    /// Writes a line that opens a brace.
    pub(super) fn open(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        self.line(if line.is_empty() { "{".to_owned() } else { format!("{line} {{") });
        self.depth += 1;
    }

    pub(super) fn close(&mut self, braces: usize) {
        for _ in 0..braces {
            self.depth -= 1;
            self.line("}");
        }
    }

    pub(super) fn meet(&mut self) {
        self.line("__syncthreads();");
    }

    fn body(&mut self, body: &'k [Instruction]) -> Result<(), Refused> {
        let known = self.integers.count();
        for (number, instruction) in body.iter().enumerate() {
            self.instruction(instruction).map_err(|refused| refused.within(number).within("body"))?;
        }
        self.integers.forget(known);
        Ok(())
    }

    fn instruction(&mut self, instruction: &'k Instruction) -> Result<(), Refused> {
        match instruction {
            Instruction::Loop(each) => {
                let (from, to) = (self.integers.range(&each.from)?, self.integers.range(&each.to)?);
                let (first, end) = (self.integers.index(&each.from)?, self.integers.index(&each.to)?);
                if each.step < 1 || each.step > i64::from(i32::MAX) {
                    return Err(Refused::of("the step is out of range"));
                }
                let known = self.integers.count();
                let axis = self.integers.declare(each.axis, (from.0, from.0.max(to.1 - 1)))?;
                let mut also = (String::new(), String::new());
                if let Some(number) = each.number {
                    let number = self.integers.declare(number, (0, (to.1 - from.0).max(0)))?;
                    also = (format!(", {number} = 0"), format!(", ++{number}"));
                }
                self.open(format!(
                    "for (long long {axis} = {first}{}; {axis} < {end}; {axis} += {}{})",
                    also.0, each.step, also.1
                ));
                self.body(&each.body)?;
                self.close(1);
                self.integers.forget(known);
            }
            Instruction::If(all, body) => {
                let all: Result<Vec<String>, Refused> =
                    all.iter().map(|index| Ok(format!("{} >= 0", self.integers.index(index)?))).collect();
                let all = all?.join(" && ");
                self.open(format!("if ({})", if all.is_empty() { "true" } else { &all }));
                self.body(body)?;
                self.close(1);
            }
            Instruction::Let(name, which, of) => self.named(*name, *which, of)?,
            Instruction::Alloc(name) | Instruction::Free(name) => {
                if !self.allocations.contains(name) {
                    return Err(Refused::of("no such allocation"));
                }
                // Registers may be taken without a meeting; here they may lie where shared memory was given back.
                if matches!(instruction, Instruction::Alloc(_)) && self.common.contains(name) {
                    self.meet();
                }
            }
            Instruction::Fill(value, out) => {
                self.open("");
                let seen = self.seen(out, 0)?;
                let value = match value {
                    // Cast once, to what it is stored as.
                    Init::Number(number) => {
                        let of = crate::compute::format(seen.held.dtype);
                        match decode(of, encode(of, *number as f64)) {
                            cast if cast.is_finite() => super::compute::float(cast),
                            _ if *number < 0 => "-mcir::infinity()".to_owned(),
                            _ => "mcir::infinity()".to_owned(),
                        }
                    }
                    Init::Least => "-mcir::infinity()".to_owned(),
                    Init::Most => "mcir::infinity()".to_owned(),
                };
                let (coordinates, braces) = self.walk(&seen, seen.layout);
                self.put(&seen, &coordinates, &value);
                self.close(braces + 1);
                self.after(&[out]);
            }
            Instruction::Load(tensor, at, view) | Instruction::Prefetch(tensor, at, view) => {
                self.moved(*tensor, at, view, false)?;
            }
            Instruction::Store(tensor, at, view) => self.moved(*tensor, at, view, true)?,
            Instruction::Wait(slots) => {
                for (buffer, slot) in slots {
                    self.integers.range(slot)?;
                    self.buffer(*buffer)?;
                }
            }
            Instruction::Sync => self.meet(),
            Instruction::Compute(op, ins, outs) => {
                self.open("");
                self.compute(op, ins, outs)?;
                self.close(1);
                let views: Vec<&View> = ins.iter().chain(outs).collect();
                self.after(&views);
            }
        }
        Ok(())
    }

    fn named(&mut self, name: u32, which: Extreme, of: &[Index]) -> Result<(), Refused> {
        let mut texts = Vec::with_capacity(of.len());
        let mut range: Option<super::index::Range> = None;
        for index in of {
            let (one, (low, high)) = (self.integers.index(index)?, self.integers.range(index)?);
            let (function, joined) = match (which, range) {
                (_, None) => ("", (low, high)),
                (Extreme::Min, Some(known)) => ("mcir::least_of", (known.0.min(low), known.1.min(high))),
                (Extreme::Max, Some(known)) => ("mcir::largest_of", (known.0.max(low), known.1.max(high))),
            };
            texts.push((function, one));
            range = Some(joined);
        }
        let range = range.ok_or_else(|| Refused::of("it is the least or the largest of nothing"))?;
        let name = self.integers.declare(name, range)?;
        for (function, one) in texts {
            self.line(if function.is_empty() {
                format!("[[maybe_unused]] long long {name} = {one};")
            } else {
                format!("{name} = {function}({name}, {one});")
            });
        }
        Ok(())
    }

    /// Threads meet after they have touched registers in which several buffers lie, since these are in memory that they share.
    fn after(&mut self, views: &[&View]) {
        let is_common = |view: &&View| {
            self.held.get(&view.buffer).is_some_and(|held| self.common.contains(&held.allocation))
        };
        if views.iter().any(is_common) {
            self.meet();
        }
    }

    fn moved(&mut self, tensor: u32, at: &[Index], view: &View, is_stored: bool) -> Result<(), Refused> {
        let text = &self.kernels.names[tensor as usize];
        let &(_, of, _) =
            self.tensors.get(&tensor).ok_or_else(|| Refused::of(format!("`{text}` is no tensor")))?;
        let known = self.taken.entry(tensor).or_insert(is_stored);
        if *known != is_stored {
            return Err(Refused::of(format!("the kernel loads and stores `{text}`")));
        }
        self.open("");
        let seen = self.seen(view, 0)?;
        let rank = of.shape.len();
        if at.len() != rank || seen.held.shape.len() > rank || seen.held.dtype != of.dtype {
            return Err(Refused::of(format!(
                "`{text}` has other axes or another dtype than what is moved from it or to it"
            )));
        }
        let mut first = Vec::with_capacity(rank);
        for (axis, index) in at.iter().enumerate() {
            let index = self.integers.index(index)?;
            self.line(format!("const long long a{axis} = {index};"));
            first.push(format!("a{axis}"));
        }
        let lacking = rank - seen.held.shape.len();
        let (coordinates, braces) = self.walk(&seen, seen.layout);
        let places: Vec<String> = first
            .into_iter()
            .enumerate()
            .map(|(axis, first)| match axis.checked_sub(lacking).and_then(|own| coordinates.get(own)) {
                Some(coordinate) => format!("({first} + {coordinate})"),
                None => first,
            })
            .collect();
        let global =
            format!("{}[{}]", identifier('t', &self.kernels.names, tensor), linear(&of.shape, &places));
        let element = seen.at(&coordinates, self.threads);
        self.line(if is_stored {
            format!("{global} = {element};")
        } else {
            format!("{element} = {global};")
        });
        self.close(braces + 1);
        self.after(&[view]);
        Ok(())
    }
}
