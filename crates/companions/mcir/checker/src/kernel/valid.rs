//! What is wrong with Kernel IR before it runs (clauses MCI-28 and MCI-30): numbers, names, operands, and buffers in their allocations.

use std::collections::{HashMap, HashSet};

use megakernel_mcir::kernel::{Buffer, Instruction, Kernel, Kernels, View};
use megakernel_mcir::{Dtype, Function, Index, Op, Term, Update};

use crate::document::valid::{MOST, in_range};

/// The most integers that are named where one is used.
const NAMED: usize = 1 << 16;

struct Judge<'k> {
    kernels: &'k Kernels,
    tensors: &'k HashMap<u32, (usize, Dtype)>,
    allocations: HashSet<u32>,
    buffers: HashMap<u32, &'k Buffer>,
    /// Integers that are known, innermost last.
    known: Vec<u32>,
    is_known: HashSet<u32>,
}

fn is_count(number: i64) -> bool {
    (1..=MOST).contains(&number)
}

fn is_shape(shape: &[i64]) -> bool {
    shape.len() <= 64 && shape.iter().all(|&extent| is_count(extent))
}

fn once(names: impl Iterator<Item = u32>) -> bool {
    let mut seen = HashSet::new();
    names.into_iter().all(|name| seen.insert(name))
}

/// Whether Kernel IR is well-formed, as far as it shows before it runs.
///
/// # Errors
/// What is wrong.
pub fn well_formed(kernels: &Kernels) -> Result<(), String> {
    let name = |name: u32| kernels.names[name as usize].as_str();
    if let Some(wrong) = kernels.tensors.iter().find(|tensor| !is_shape(&tensor.shape)) {
        return Err(format!("`{}` has an extent that is out of range", name(wrong.name)));
    }
    let tensors: HashMap<u32, (usize, Dtype)> =
        kernels.tensors.iter().map(|tensor| (tensor.name, (tensor.shape.len(), tensor.dtype))).collect();
    let listed = kernels.inputs.iter().chain(&kernels.outputs);
    if let Some(&unknown) = listed.clone().find(|name| !tensors.contains_key(name)) {
        return Err(format!("`{}` is no tensor", name(unknown)));
    }
    if !once(listed.copied()) || !once(kernels.kernels.iter().map(|kernel| kernel.id)) {
        return Err("a tensor is listed twice, or kernels have the same id".to_owned());
    }
    for kernel in &kernels.kernels {
        let mut judge = Judge {
            kernels,
            tensors: &tensors,
            allocations: kernel.allocations.iter().map(|allocation| allocation.name).collect(),
            buffers: kernel.buffers.iter().map(|buffer| (buffer.name, buffer)).collect(),
            known: Vec::new(),
            is_known: HashSet::new(),
        };
        judge.kernel(kernel).map_err(|what| format!("in the kernel `{}`: {what}", name(kernel.id)))?;
    }
    Ok(())
}

impl Judge<'_> {
    fn name(&self, name: u32) -> &str {
        &self.kernels.names[name as usize]
    }

    fn kernel(&mut self, kernel: &Kernel) -> Result<(), String> {
        let bytes: HashMap<u32, i64> =
            kernel.allocations.iter().map(|allocation| (allocation.name, allocation.bytes)).collect();
        if !bytes.values().all(|&bytes| is_count(bytes)) {
            return Err("an allocation has a size that is out of range".to_owned());
        }
        for buffer in &kernel.buffers {
            let name = self.name(buffer.name);
            let &has = bytes
                .get(&buffer.allocation)
                .ok_or_else(|| format!("`{name}` lies in no allocation that there is"))?;
            let size = buffer.dtype.bytes();
            let is_right = is_shape(&buffer.shape)
                && (1..=64).contains(&buffer.slots)
                && (0..=MOST).contains(&buffer.offset)
                && buffer.offset % size == 0;
            if !is_right {
                return Err(format!("`{name}` has a number that is out of range"));
            }
            let slot = buffer.shape.iter().fold(size, |size, &extent| size.saturating_mul(extent));
            let needs = slot.saturating_mul(buffer.slots).saturating_add(buffer.offset);
            if needs > has {
                return Err(format!("`{name}` ends at the byte {needs} of an allocation of {has}"));
            }
        }
        for axis in &kernel.blocks {
            if !is_count(axis.to) || !is_count(axis.step) {
                return Err("a block loop has a number that is out of range".to_owned());
            }
            self.declare(axis.axis)?;
        }
        self.body(&kernel.body)
    }

    fn declare(&mut self, name: u32) -> Result<(), String> {
        if self.known.len() >= NAMED {
            return Err(format!("more than {NAMED} integers are known at one place"));
        }
        if !self.is_known.insert(name) {
            return Err(format!("`{}` is declared again where it is known", self.name(name)));
        }
        self.known.push(name);
        Ok(())
    }

    fn body(&mut self, body: &[Instruction]) -> Result<(), String> {
        let before = self.known.len();
        body.iter().try_for_each(|instruction| self.instruction(instruction))?;
        self.forget(before);
        Ok(())
    }

    /// Forgets the integers that are known since then.
    fn forget(&mut self, before: usize) {
        for name in self.known.drain(before..) {
            self.is_known.remove(&name);
        }
    }

    fn index(&self, index: &Index) -> Result<(), String> {
        if !in_range(index) {
            return Err("an index has a number that is out of range".to_owned());
        }
        for term in &index.terms {
            if let Term::Axis(axis) | Term::Scaled(_, axis) = term
                && !self.is_known.contains(axis)
            {
                return Err(format!("`{}` is no integer that is known here", self.name(*axis)));
            }
        }
        Ok(())
    }

    fn indices(&self, indices: &[Index]) -> Result<(), String> {
        indices.iter().try_for_each(|index| self.index(index))
    }

    fn view(&self, view: &View) -> Result<&Buffer, String> {
        let buffer = self.buffer(view.buffer)?;
        self.index(&view.slot)?;
        let extent = view.extent.as_deref();
        self.indices(extent.unwrap_or_default())?;
        if extent.is_some_and(|extent| extent.len() != buffer.shape.len()) {
            return Err(format!("a view of `{}` has other axes", self.name(view.buffer)));
        }
        Ok(buffer)
    }

    fn buffer(&self, name: u32) -> Result<&Buffer, String> {
        self.buffers.get(&name).copied().ok_or_else(|| format!("`{}` is no buffer", self.name(name)))
    }

    fn moved(&self, tensor: u32, at: &[Index], view: &View) -> Result<(), String> {
        let name = self.name(tensor);
        let &(rank, dtype) = self.tensors.get(&tensor).ok_or_else(|| format!("`{name}` is no tensor"))?;
        let buffer = self.view(view)?;
        self.indices(at)?;
        if at.len() != rank || buffer.shape.len() > rank {
            return Err(format!("what moves a part of `{name}` has an index too few or too many"));
        }
        if buffer.dtype != dtype {
            return Err(format!("`{name}` is {}, and what is moved {}", dtype.name(), buffer.dtype.name()));
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), String> {
        match instruction {
            Instruction::Loop(each) => {
                self.index(&each.from)?;
                self.index(&each.to)?;
                if !is_count(each.step) {
                    return Err("a loop has a step that is out of range".to_owned());
                }
                let before = self.known.len();
                self.declare(each.axis)?;
                each.number.map_or(Ok(()), |number| self.declare(number))?;
                self.body(&each.body)?;
                self.forget(before);
                Ok(())
            }
            Instruction::If(all, body) => {
                self.indices(all)?;
                self.body(body)
            }
            Instruction::Let(name, _, of) => {
                self.indices(of)?;
                if of.is_empty() {
                    return Err(format!("`{}` is the least of nothing", self.name(*name)));
                }
                self.declare(*name)
            }
            Instruction::Alloc(name) | Instruction::Free(name) => {
                let is_there = self.allocations.contains(name);
                if is_there { Ok(()) } else { Err(format!("`{}` is no allocation", self.name(*name))) }
            }
            Instruction::Fill(init, out) => {
                if matches!(init, megakernel_mcir::Init::Number(number) if !(-MOST..=MOST).contains(number)) {
                    return Err("what is filled in is out of range".to_owned());
                }
                self.view(out).map(drop)
            }
            Instruction::Load(tensor, at, view)
            | Instruction::Prefetch(tensor, at, view)
            | Instruction::Store(tensor, at, view) => self.moved(*tensor, at, view),
            Instruction::Wait(slots) => slots.iter().try_for_each(|(buffer, slot)| {
                self.buffer(*buffer)?;
                self.index(slot)
            }),
            Instruction::Sync => Ok(()),
            Instruction::Compute(op, ins, outs) => {
                let needed = match op {
                    Op::Compute(Function::Matmul(_) | Function::Binary(..)) => (2, 1),
                    Op::UpdateState(Update::OnlineSoftmax) => (3, 4),
                    Op::UpdateState(Update::ScaleAdd) => (3, 1),
                    Op::UpdateState(_) => (2, 1),
                    _ => (1, 1),
                };
                if (ins.len(), outs.len()) != needed {
                    return Err("an instruction has an operand too few or too many".to_owned());
                }
                ins.iter().chain(outs).try_for_each(|view| self.view(view).map(drop))?;
                match op {
                    Op::Compute(Function::Scale(p, q)) if !(-MOST..=MOST).contains(p) || !is_count(*q) => {
                        Err("a fraction is out of range".to_owned())
                    }
                    Op::Compute(Function::Mask(mask)) => {
                        self.index(&mask.rows)?;
                        self.index(&mask.columns)?;
                        let is_right = mask.window.is_none_or(is_count);
                        if is_right { Ok(()) } else { Err("a window is out of range".to_owned()) }
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}
