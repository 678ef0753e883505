//! What a block has on chip, two bytes at a time (clauses MCI-29 and MCI-30).

use std::collections::HashMap;

use megakernel_mcir::kernel::{Allocation, Buffer, Kernel};
use megakernel_mcir::{Dtype, Memory};

/// Two bytes: a part of the element that was written there.
#[derive(Clone)]
struct Cell<N> {
    /// Of the first part of an element.
    number: Option<N>,
    /// Which part of the element.
    part: usize,
    dtype: Dtype,
    /// The number of the write; 0 where there was none.
    write: u64,
    /// When its memory had been taken, for the write to be one of now.
    taken: u64,
    /// The meetings before the last time that it was read, and that it was written.
    read: u64,
    written: u64,
    is_on_its_way: bool,
}

/// An allocation, as long as a kernel runs.
struct Area<N> {
    memory: Memory,
    bytes: i64,
    cells: Vec<Cell<N>>,
    /// The number of the taking, where it is taken.
    taken: Option<u64>,
    /// The meetings before it was touched last, and those before memory was touched that had been given back when this was taken.
    touched: u64,
    barred: u64,
}

/// Elements of a slot: where each begins.
pub struct Part {
    pub buffer: u32,
    pub slot: usize,
    allocation: u32,
    dtype: Dtype,
    places: Vec<usize>,
}

impl Part {
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Where its bytes lie, in twos, by allocation.
    pub fn units(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        self.places.iter().flat_map(|&at| at..at + units(self.dtype)).map(|at| (self.allocation, at))
    }
}

/// What the blocks of a kernel have, one after the other.
pub struct Chip<'k, N> {
    buffers: HashMap<u32, &'k Buffer>,
    areas: HashMap<u32, Area<N>>,
    flights: Vec<Part>,
    /// How often threads have met, blocks that ended included.
    meetings: u64,
    serial: u64,
    held: [i64; 2],
    /// The meetings before shared memory was touched that was given back since.
    given_back: u64,
}

const NOT_TAKEN: &str = "memory is used that is not taken";

fn index(memory: Memory) -> usize {
    usize::from(memory == Memory::Register)
}

impl<'k, N: Copy> Chip<'k, N> {
    pub fn new(kernel: &'k Kernel) -> Chip<'k, N> {
        let area = |&Allocation { name, memory, bytes }: &Allocation| {
            (name, Area { memory, bytes, cells: Vec::new(), taken: None, touched: 0, barred: 0 })
        };
        Chip {
            buffers: kernel.buffers.iter().map(|buffer| (buffer.name, buffer)).collect(),
            areas: kernel.allocations.iter().map(area).collect(),
            flights: Vec::new(),
            meetings: 1,
            serial: 0,
            held: [0, 0],
            given_back: 0,
        }
    }

    pub fn buffer(&self, name: u32) -> Result<&'k Buffer, String> {
        self.buffers.get(&name).copied().ok_or_else(|| "a view of no buffer".to_owned())
    }

    /// How many loads are on their way.
    pub fn on_their_way(&self) -> usize {
        self.flights.len()
    }

    /// A block has ended.
    ///
    /// # Errors
    /// What it has left undone.
    pub fn end(&mut self) -> Result<(), String> {
        if !self.flights.is_empty() {
            return Err("a load is on its way when its block ends".to_owned());
        }
        self.areas.values_mut().for_each(|area| area.taken = None);
        (self.held, self.given_back) = ([0, 0], 0);
        self.meet();
        Ok(())
    }

    pub fn meet(&mut self) {
        self.meetings += 1;
    }

    /// Takes memory, after what it costs to look at it the first time has been spent.
    ///
    /// # Errors
    /// It is taken already, or there is not so much.
    pub fn take(
        &mut self,
        name: u32,
        most: [i64; 2],
        spend: impl FnOnce(usize) -> Result<(), String>,
    ) -> Result<(), String> {
        let area = self.areas.get_mut(&name).ok_or("no such allocation")?;
        if area.taken.is_some() {
            return Err("the allocation is taken a second time".to_owned());
        }
        let of = index(area.memory);
        self.held[of] = self.held[of].saturating_add(area.bytes);
        if self.held[of] > most[of] {
            let (held, memory) = (self.held[of], area.memory.name());
            return Err(format!(
                "a block holds {held} bytes in {memory} memory, and its region {}",
                most[of]
            ));
        }
        self.serial += 1;
        area.taken = Some(self.serial);
        area.barred = if area.memory == Memory::Shared { self.given_back } else { 0 };
        let is_new = area.cells.is_empty();
        let count = usize::try_from(area.bytes).unwrap_or(0).div_ceil(2);
        spend(if is_new { 8 * count } else { 0 })?;
        if is_new {
            let none = Cell {
                number: None,
                part: 0,
                dtype: Dtype::F32,
                write: 0,
                taken: 0,
                read: 0,
                written: 0,
                is_on_its_way: false,
            };
            area.cells = vec![none; count];
        }
        Ok(())
    }

    /// Gives memory back.
    ///
    /// # Errors
    /// It is not taken, or a load is on its way to it.
    pub fn give_back(&mut self, name: u32) -> Result<(), String> {
        let area = self.areas.get_mut(&name).ok_or("no such allocation")?;
        if area.taken.take().is_none() {
            return Err("an allocation is given back that is not taken".to_owned());
        }
        if self.flights.iter().any(|flight| flight.allocation == name) {
            return Err("an allocation is given back while a load is on its way to it".to_owned());
        }
        self.held[index(area.memory)] -= area.bytes;
        if area.memory == Memory::Shared {
            self.given_back = self.given_back.max(area.touched);
        }
        Ok(())
    }

    /// The elements of a view.
    ///
    /// # Errors
    /// Its extents are not those of the buffer.
    pub fn part(&self, name: u32, slot: i64, extents: Option<&[i64]>) -> Result<(Vec<usize>, Part), String> {
        let buffer = self.buffer(name)?;
        let extents = extents.unwrap_or(&buffer.shape);
        let fits = |(extent, most): (&i64, &i64)| (1..=*most).contains(extent);
        if extents.len() != buffer.shape.len() || !extents.iter().zip(&buffer.shape).all(fits) {
            return Err(format!("the extents {extents:?} of a view of a buffer of {:?}", buffer.shape));
        }
        // Before its elements are counted: what is taken is no more than a region has.
        if self.areas.get(&buffer.allocation).is_none_or(|area| area.taken.is_none()) {
            return Err(NOT_TAKEN.to_owned());
        }
        let number = |number: i64| usize::try_from(number).unwrap_or(0);
        let slot = number(slot.rem_euclid(buffer.slots.max(1)));
        let size = buffer.shape.iter().fold(1, |size: usize, &extent| size.saturating_mul(number(extent)));
        let mut places = vec![0_usize];
        for (&extent, &all) in extents.iter().zip(&buffer.shape) {
            let along = |place: usize| (0..number(extent)).map(move |at| place * number(all) + at);
            places = places.into_iter().flat_map(along).collect();
        }
        let units = number(buffer.dtype.bytes()) / 2;
        let first = number(buffer.offset) / 2 + slot * size * units;
        places.iter_mut().for_each(|place| *place = first + *place * units);
        let shape = extents.iter().map(|&extent| number(extent)).collect();
        let part = Part { buffer: name, slot, allocation: buffer.allocation, dtype: buffer.dtype, places };
        Ok((shape, part))
    }

    /// What a part holds; nothing is noted of it yet.
    ///
    /// # Errors
    /// Something else is there, or may be.
    pub fn read(&self, part: &Part) -> Result<Vec<N>, String> {
        let area = self.area(part)?;
        let is_shared = area.memory == Memory::Shared;
        let units = units(part.dtype);
        let one = |&place: &usize| {
            let first = area.cells.get(place).ok_or("a buffer does not lie in its allocation")?;
            for (number, cell) in area.cells[place..].iter().take(units).enumerate() {
                if cell.is_on_its_way {
                    return Err("what is read is on its way".to_owned());
                }
                let is_whole = cell.write == first.write && cell.part == number && cell.dtype == part.dtype;
                if cell.write == 0 || Some(cell.taken) != area.taken || !is_whole {
                    return Err("what is read has not been written, or is written over".to_owned());
                }
                if is_shared && cell.written >= self.meetings {
                    return Err("threads have not met between a write and a read".to_owned());
                }
            }
            first.number.ok_or_else(|| "what is read has not been written".to_owned())
        };
        part.places.iter().map(one).collect()
    }

    fn area(&self, part: &Part) -> Result<&Area<N>, String> {
        let area = self.areas.get(&part.allocation).ok_or("no such allocation")?;
        if area.taken.is_none() {
            return Err(NOT_TAKEN.to_owned());
        }
        if area.barred >= self.meetings {
            return Err("threads have not met since memory was given back that may be the same".to_owned());
        }
        Ok(area)
    }

    /// Whether a part may be written.
    ///
    /// # Errors
    /// Why not.
    pub fn may_write(&self, part: &Part) -> Result<(), String> {
        let area = self.area(part)?;
        let is_shared = area.memory == Memory::Shared;
        for &place in &part.places {
            let cells = area.cells.get(place..place + units(part.dtype));
            for cell in cells.ok_or("a buffer does not lie in its allocation")? {
                if cell.is_on_its_way {
                    return Err("something is written where a load is on its way".to_owned());
                }
                if is_shared && cell.written.max(cell.read) >= self.meetings {
                    return Err("threads have not met before memory is written again".to_owned());
                }
            }
        }
        Ok(())
    }

    /// Notes that a part has been read.
    pub fn note(&mut self, part: &Part) {
        let meetings = self.meetings;
        let Some(area) = self.areas.get_mut(&part.allocation) else { return };
        area.touched = meetings;
        for &place in &part.places {
            area.cells[place..].iter_mut().take(units(part.dtype)).for_each(|cell| cell.read = meetings);
        }
    }

    /// Writes a part that may be written.
    pub fn write(&mut self, part: Part, numbers: &[N], is_on_its_way: bool) {
        let meetings = self.meetings;
        let Some(area) = self.areas.get_mut(&part.allocation) else { return };
        area.touched = meetings;
        for (&place, &number) in part.places.iter().zip(numbers) {
            self.serial += 1;
            for (at, cell) in area.cells[place..].iter_mut().take(units(part.dtype)).enumerate() {
                *cell = Cell {
                    number: (at == 0).then_some(number),
                    part: at,
                    dtype: part.dtype,
                    write: self.serial,
                    taken: area.taken.unwrap_or(0),
                    read: cell.read,
                    written: meetings,
                    is_on_its_way,
                };
            }
        }
        if is_on_its_way {
            self.flights.push(part);
        }
    }

    /// Waits for loads to a slot.
    ///
    /// # Errors
    /// No such buffer.
    pub fn land(&mut self, name: u32, slot: i64) -> Result<(), String> {
        let slots = self.buffer(name)?.slots.max(1);
        let slot = usize::try_from(slot.rem_euclid(slots)).unwrap_or(0);
        let meetings = self.meetings;
        for part in self.flights.extract_if(.., |part| part.buffer == name && part.slot == slot) {
            let Some(area) = self.areas.get_mut(&part.allocation) else { continue };
            area.touched = meetings;
            for &place in &part.places {
                for cell in area.cells[place..].iter_mut().take(units(part.dtype)) {
                    (cell.is_on_its_way, cell.written) = (false, meetings);
                }
            }
        }
        Ok(())
    }
}

/// How often two bytes an element has.
fn units(dtype: Dtype) -> usize {
    usize::try_from(dtype.bytes()).unwrap_or(4) / 2
}
