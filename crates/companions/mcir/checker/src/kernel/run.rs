//! Kernel IR run with any kind of numbers (clauses MCI-29 and MCI-30): whatever goes wrong on the way is told.

use std::collections::{HashMap, HashSet};

use megakernel_mcir::kernel::{Extreme, Instruction, Kernel, Kernels, Loop, Tensor, View};
use megakernel_mcir::{Function, Index, Init, Op};

use super::memory::{Chip, Part};
use crate::document::Counted;
use crate::document::compute::{Tile, computed, updated};
use crate::document::run::{RUN, at};
use crate::transform::evaluate::{Held, Numbers};

/// A tensor, and its elements that are there.
type Elements<'k, N> = (&'k Tensor, Vec<Option<N>>);

/// A run.
struct Run<'k, N: Numbers> {
    kernels: &'k Kernels,
    numbers: &'k N,
    tensors: HashMap<u32, Elements<'k, N::Number>>,
    counted: Counted,
    most: u64,
}

/// A block of a kernel.
struct Block<'b, 'k, N: Copy> {
    chip: &'b mut Chip<'k, N>,
    integers: HashMap<u32, i64>,
    /// The most that it may hold.
    most: [i64; 2],
    /// Tensors that the kernel has loaded, and stored.
    moved: &'b mut [HashSet<u32>; 2],
}

/// Runs kernels that are well-formed, as far as [`super::valid`] says, each with so many bytes on chip at most: what tensors hold as a whole, by name, and what was counted.
///
/// # Errors
/// What goes wrong.
pub fn run<N: Numbers>(
    kernels: &Kernels,
    numbers: &N,
    inputs: &Held<N::Number>,
    most: u64,
    bytes: &[[i64; 2]],
) -> Result<(Held<N::Number>, Counted), String> {
    let mut counted = Counted::default();
    let mut tensors = HashMap::new();
    let given: HashSet<u32> = kernels.inputs.iter().copied().collect();
    for tensor in &kernels.tensors {
        let name = &kernels.names[tensor.name as usize];
        let extents = tensor.shape.iter().map(|extent| extent.unsigned_abs());
        let elements = extents.fold(1, u64::saturating_mul);
        counted.work = counted.work.saturating_add(elements);
        if counted.work > most {
            return Err(format!("the tensors have more than {most} elements, and are not judged (MCI-27)"));
        }
        let given = inputs.get(name).filter(|_| given.contains(&tensor.name));
        let held = match given {
            Some(all) => all.iter().copied().map(Some).collect(),
            None => vec![None; usize::try_from(elements).unwrap_or(0)],
        };
        tensors.insert(tensor.name, (tensor, held));
    }
    let mut run = Run { kernels, numbers, tensors, counted, most };
    for (kernel, &bytes) in kernels.kernels.iter().zip(bytes) {
        let ran = run.kernel(kernel, bytes);
        ran.map_err(|what| format!("in the kernel `{}`: {what}", run.name(kernel.id)))?;
    }
    let name = |name: u32| kernels.names[name as usize].clone();
    let whole = |(number, (_, held)): (u32, (_, Vec<Option<N::Number>>))| {
        Some((name(number), held.into_iter().collect::<Option<Vec<_>>>()?))
    };
    Ok((run.tensors.into_iter().filter_map(whole).collect(), run.counted))
}

impl<'k, N: Numbers> Run<'k, N> {
    fn name(&self, name: u32) -> &'k str {
        &self.kernels.names[name as usize]
    }

    fn spend(&mut self, work: usize) -> Result<(), String> {
        self.counted.work = self.counted.work.saturating_add(work as u64).saturating_add(1);
        let most = self.most;
        if self.counted.work > most {
            return Err(format!("it takes more than {most} operations, and is not judged (MCI-27)"));
        }
        Ok(())
    }

    /// What a node takes each time that it runs.
    fn ran(&mut self) -> Result<(), String> {
        self.spend(usize::try_from(RUN).unwrap_or(0))
    }

    fn kernel(&mut self, kernel: &'k Kernel, most: [i64; 2]) -> Result<(), String> {
        let mut chip = Chip::new(kernel);
        let mut moved = [HashSet::new(), HashSet::new()];
        let mut point = vec![0_i64; kernel.blocks.len()];
        loop {
            self.spend(point.len() + kernel.allocations.len())?;
            let integers = kernel.blocks.iter().zip(&point).map(|(axis, &at)| (axis.axis, at)).collect();
            let mut block = Block { chip: &mut chip, integers, most, moved: &mut moved };
            self.body(&mut block, &kernel.body)?;
            chip.end()?;
            // The next block: an odometer.
            let mut carried = true;
            for (axis, at) in kernel.blocks.iter().zip(&mut point).rev() {
                *at += axis.step;
                carried = *at >= axis.to;
                if !carried {
                    break;
                }
                *at = 0;
            }
            if carried {
                return Ok(());
            }
        }
    }

    fn body(&mut self, block: &mut Block<'_, 'k, N::Number>, body: &'k [Instruction]) -> Result<(), String> {
        for instruction in body {
            self.instruction(block, instruction)?;
        }
        Ok(())
    }

    fn indices(&mut self, block: &Block<'_, 'k, N::Number>, indices: &[Index]) -> Result<Vec<i64>, String> {
        self.spend(indices.iter().map(|index| 1 + index.terms.len()).sum())?;
        indices.iter().map(|index| at(index, &block.integers)).collect()
    }

    fn index(&mut self, block: &Block<'_, 'k, N::Number>, index: &Index) -> Result<i64, String> {
        self.spend(index.terms.len())?;
        at(index, &block.integers)
    }

    fn instruction(
        &mut self,
        block: &mut Block<'_, 'k, N::Number>,
        instruction: &'k Instruction,
    ) -> Result<(), String> {
        match instruction {
            Instruction::Loop(each) => self.repeat(block, each),
            Instruction::If(all, body) => {
                if self.indices(block, all)?.iter().all(|&number| number >= 0) {
                    self.body(block, body)?;
                }
                Ok(())
            }
            Instruction::Let(name, extreme, of) => {
                let all = self.indices(block, of)?.into_iter();
                let found = if *extreme == Extreme::Min { all.min() } else { all.max() };
                block.integers.insert(*name, found.ok_or("a `let` of nothing")?);
                Ok(())
            }
            Instruction::Alloc(name) => {
                let taken = block.chip.take(*name, block.most, |work| self.spend(work));
                taken.map_err(|what| self.of(*name, &what))
            }
            Instruction::Free(name) => {
                self.spend(block.chip.on_their_way())?;
                block.chip.give_back(*name).map_err(|what| self.of(*name, &what))
            }
            Instruction::Fill(init, out) => {
                let number = match init {
                    Init::Number(number) => self.numbers.fraction([*number, 1]),
                    Init::Least => self.numbers.least(),
                    Init::Most => return Err("what begins with infinity is not judged (MCI-27)".to_owned()),
                };
                let (shape, part) = self.part(block, out)?;
                self.write(block, vec![(part, vec![number; shape.iter().product()])])
            }
            Instruction::Load(tensor, at, out) => self.load(block, *tensor, at, out, false),
            Instruction::Prefetch(tensor, at, out) => self.load(block, *tensor, at, out, true),
            Instruction::Store(tensor, at, from) => self.store(block, *tensor, at, from),
            Instruction::Wait(slots) => {
                self.ran()?;
                for (buffer, slot) in slots {
                    let slot = self.index(block, slot)?;
                    self.spend(block.chip.on_their_way())?;
                    block.chip.land(*buffer, slot)?;
                }
                Ok(())
            }
            Instruction::Sync => {
                self.spend(0)?;
                block.chip.meet();
                Ok(())
            }
            Instruction::Compute(op, ins, outs) => self.compute(block, op, ins, outs),
        }
    }

    fn of(&self, name: u32, what: &str) -> String {
        format!("`{}`: {what}", self.name(name))
    }

    fn repeat(&mut self, block: &mut Block<'_, 'k, N::Number>, each: &'k Loop) -> Result<(), String> {
        let (mut value, to) = (self.index(block, &each.from)?, self.index(block, &each.to)?);
        let mut number = 0;
        while value < to {
            self.spend(0)?;
            block.integers.insert(each.axis, value);
            if let Some(name) = each.number {
                block.integers.insert(name, number);
            }
            self.body(block, &each.body)?;
            number += 1;
            value = value.checked_add(each.step).ok_or("a loop goes too far")?;
        }
        Ok(())
    }

    fn part(&mut self, block: &Block<'_, 'k, N::Number>, view: &View) -> Result<(Vec<usize>, Part), String> {
        let slot = self.index(block, &view.slot)?;
        let extent = view.extent.as_ref().map(|extent| self.indices(block, extent)).transpose()?;
        let found = block.chip.part(view.buffer, slot, extent.as_deref());
        let (shape, part) = found.map_err(|what| self.of(view.buffer, &what))?;
        self.spend(shape.iter().product())?;
        Ok((shape, part))
    }

    /// Writes parts, none of them before all may be written.
    fn write(
        &mut self,
        block: &mut Block<'_, 'k, N::Number>,
        parts: Vec<(Part, Vec<N::Number>)>,
    ) -> Result<(), String> {
        let mut places = HashSet::new();
        for (part, _) in &parts {
            block.chip.may_write(part).map_err(|what| self.of(part.buffer, &what))?;
            if parts.len() > 1 && !part.units().all(|unit| places.insert(unit)) {
                return Err(self.of(part.buffer, "an instruction writes a byte twice"));
            }
        }
        for (part, mut numbers) in parts {
            let dtype = part.dtype();
            numbers.iter_mut().for_each(|number| *number = self.numbers.cast(dtype, *number));
            block.chip.write(part, &numbers, false);
        }
        Ok(())
    }

    /// Where a tile lies in a tensor: the places of its elements.
    fn places(
        &mut self,
        block: &mut Block<'_, 'k, N::Number>,
        tensor: u32,
        at: &[Index],
        shape: &[usize],
        is_stored: bool,
    ) -> Result<Vec<usize>, String> {
        let [own, other] = if is_stored { [1, 0] } else { [0, 1] };
        block.moved[own].insert(tensor);
        if block.moved[other].contains(&tensor) {
            return Err(format!("`{}` is loaded and stored by one kernel", self.name(tensor)));
        }
        let first = self.indices(block, at)?;
        let whole = self.tensors.get(&tensor).map(|(tensor, _)| &tensor.shape[..]).unwrap_or_default();
        let lacking = whole.len().checked_sub(shape.len()).ok_or("a tile has more axes than its tensor")?;
        let mut places = vec![0_usize];
        for (axis, (&extent, &first)) in whole.iter().zip(&first).enumerate() {
            let count = axis.checked_sub(lacking).map_or(1, |own| shape[own]);
            let end = i64::try_from(count).ok().and_then(|count| first.checked_add(count));
            if first < 0 || end.is_none_or(|end| end > extent) {
                return Err(format!(
                    "{count} elements from {first} on are not all among the {extent} of `{}`",
                    self.name(tensor)
                ));
            }
            let (first, extent) = (usize::try_from(first).unwrap_or(0), usize::try_from(extent).unwrap_or(0));
            places = places
                .into_iter()
                .flat_map(|place| (first..first + count).map(move |at| place * extent + at))
                .collect();
        }
        Ok(places)
    }

    fn load(
        &mut self,
        block: &mut Block<'_, 'k, N::Number>,
        tensor: u32,
        at: &[Index],
        out: &View,
        is_ahead: bool,
    ) -> Result<(), String> {
        self.ran()?;
        let (shape, part) = self.part(block, out)?;
        let places = self.places(block, tensor, at, &shape, false)?;
        self.counted.loaded += places.len() as u64 * part.dtype().bytes().unsigned_abs();
        let held = self.tensors.get(&tensor).map(|(_, held)| &held[..]).unwrap_or_default();
        let numbers: Option<Vec<N::Number>> =
            places.iter().map(|&place| held.get(place).copied().flatten()).collect();
        let numbers = numbers
            .ok_or_else(|| format!("nobody has stored all of what is loaded of `{}`", self.name(tensor)))?;
        block.chip.may_write(&part).map_err(|what| self.of(part.buffer, &what))?;
        block.chip.write(part, &numbers, is_ahead);
        Ok(())
    }

    fn store(
        &mut self,
        block: &mut Block<'_, 'k, N::Number>,
        tensor: u32,
        at: &[Index],
        from: &View,
    ) -> Result<(), String> {
        self.ran()?;
        let (shape, part) = self.part(block, from)?;
        let places = self.places(block, tensor, at, &shape, true)?;
        self.counted.stored += places.len() as u64 * part.dtype().bytes().unsigned_abs();
        let numbers = block.chip.read(&part).map_err(|what| self.of(part.buffer, &what))?;
        block.chip.note(&part);
        let name = self.name(tensor);
        let held = self.tensors.get_mut(&tensor).map(|(_, held)| &mut held[..]).unwrap_or_default();
        for (place, number) in places.into_iter().zip(numbers) {
            if held[place].replace(number).is_some() {
                return Err(format!("the element {place} of `{name}` is stored, and was there already"));
            }
        }
        Ok(())
    }

    fn compute(
        &mut self,
        block: &mut Block<'_, 'k, N::Number>,
        op: &Op,
        ins: &[View],
        outs: &[View],
    ) -> Result<(), String> {
        self.ran()?;
        let mut tiles = Vec::with_capacity(ins.len());
        let mut read = Vec::with_capacity(ins.len());
        for view in ins {
            let (shape, part) = self.part(block, view)?;
            let numbers = block.chip.read(&part).map_err(|what| self.of(part.buffer, &what))?;
            tiles.push(Tile { shape: Some(shape), numbers });
            read.push(part);
        }
        let tiles: Vec<&Tile<N::Number>> = tiles.iter().collect();
        let made = if let Op::UpdateState(update) = op {
            updated(*update, self.numbers, &tiles)?
        } else {
            if let Op::Compute(Function::Mask(mask)) = op {
                self.spend(mask.rows.terms.len() + mask.columns.terms.len())?;
            }
            let index = |index: &Index| at(index, &block.integers);
            let (made, work) = computed(op, self.numbers, &tiles, &index, self.most)?;
            self.spend(work)?;
            vec![made]
        };
        let mut written = Vec::with_capacity(outs.len());
        for (view, tile) in outs.iter().zip(made) {
            let (shape, part) = self.part(block, view)?;
            if tile.shape.as_ref() != Some(&shape) {
                return Err(format!(
                    "`{}`: a view of {shape:?}, and what is computed has {:?}",
                    self.name(view.buffer),
                    tile.shape.unwrap_or_default()
                ));
            }
            written.push((part, tile.numbers));
        }
        self.write(block, written)?;
        read.iter().for_each(|part| block.chip.note(part));
        Ok(())
    }
}
