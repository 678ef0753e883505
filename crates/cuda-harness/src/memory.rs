//! The memory of a launch: an allocation for each page and for each buffer without one, with guard zones.

use megakernel_ir::BufferId;
use megakernel_ir::model::Program;

/// Bytes of a guard zone, on each side of an allocation.
pub const GUARD: usize = 256;

/// More than any case needs, whatever the machine has.
const LEAST_BYTES: usize = 1 << 30;

/// Copies of memory that exist at a time: as before, as it becomes, and the same for the process that runs the launch.
const COPIES: usize = 6;

/// An error in a document must not exhaust the machine.
fn most_bytes() -> usize {
    let said = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = said.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok());
    (kibibytes.unwrap_or(0) * 1024 / COPIES).max(LEAST_BYTES)
}

/// The allocations of a launch.
#[derive(Clone, Debug)]
pub struct Memory {
    /// With their guard zones.
    pub allocations: Vec<Vec<u8>>,
    /// By buffer: the allocation that holds it, and its size.
    places: Vec<(usize, usize)>,
}

/// A write into a guard zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// The buffers of the allocation.
    pub buffers: Vec<BufferId>,
    /// Where, in bytes: below 0 is before the allocation, the rest is counted from its end.
    pub place: Result<usize, usize>,
}

/// What guard zones hold: a byte that differs from its neighbours, so that copies of them show as well.
fn guard(i: usize) -> u8 {
    (i.wrapping_mul(37) ^ 0xc3) as u8
}

impl Memory {
    /// Memory for the buffers of a program, every byte of it the same.
    ///
    /// # Errors
    /// It is too large, or a buffer does not fit its page.
    pub fn new(program: &Program<'_>, fill: u8) -> Result<Memory, String> {
        let mut memory = Memory { allocations: Vec::new(), places: Vec::new() };
        let (mut total, most) = (0, most_bytes());
        let mut allocate = |allocations: &mut Vec<Vec<u8>>, size: usize| {
            total += size;
            if total > most {
                return Err(format!("the buffers need more than {most} bytes"));
            }
            let guards = (0..GUARD).map(guard);
            allocations.push(guards.clone().chain(std::iter::repeat_n(fill, size)).chain(guards).collect());
            Ok(allocations.len() - 1)
        };
        let mut pages = Vec::new();
        for page in program.pages.iter().flat_map(|pages| &pages.pages) {
            let size = usize::try_from(page.nbytes).ok().filter(|&size| size <= most);
            let size = size.ok_or_else(|| format!("page {} has {} bytes", page.id, page.nbytes))?;
            pages.push((allocate(&mut memory.allocations, size)?, size));
        }
        for buffer in &program.buffers {
            let size = buffer.nbytes().and_then(|size| usize::try_from(size).ok());
            let size = size.filter(|&size| size <= most);
            let size = size.ok_or_else(|| format!("buffer {} has more than {most} bytes", buffer.id))?;
            let mapped = program.pages.iter().flat_map(|pages| &pages.buffer_to_page.0);
            let page = mapped.filter(|(id, _)| *id == buffer.id).map(|(_, page)| *page).next();
            let allocation =
                match page.map(|page| usize::try_from(page).ok().and_then(|page| pages.get(page))) {
                    None => allocate(&mut memory.allocations, size)?,
                    Some(Some((allocation, room))) if *room >= size => *allocation,
                    Some(_) => return Err(format!("buffer {} has no page that holds it", buffer.id)),
                };
            memory.places.push((allocation, size));
        }
        Ok(memory)
    }

    /// The allocation of each buffer.
    pub fn allocation_of(&self) -> Vec<usize> {
        self.places.iter().map(|(allocation, _)| *allocation).collect()
    }

    /// The contents of a buffer.
    pub fn buffer(&self, id: BufferId) -> &[u8] {
        let Some(&(allocation, size)) = self.places.get(id.index()) else { return &[] };
        self.allocations.get(allocation).and_then(|bytes| bytes.get(GUARD..GUARD + size)).unwrap_or_default()
    }

    /// Sets the contents of a buffer.
    pub fn set(&mut self, id: BufferId, contents: &[u8]) {
        let Some(&(allocation, size)) = self.places.get(id.index()) else { return };
        let bytes = self.allocations.get_mut(allocation).and_then(|bytes| bytes.get_mut(GUARD..GUARD + size));
        if let Some(bytes) = bytes.filter(|bytes| bytes.len() == contents.len()) {
            bytes.copy_from_slice(contents);
        }
    }

    /// The first byte of each allocation's guard zones that does not hold what it should.
    pub fn overruns(&self) -> Vec<Overrun> {
        let mut found = Vec::new();
        for (allocation, bytes) in self.allocations.iter().enumerate() {
            let Some((before, rest)) = bytes.split_at_checked(GUARD) else { continue };
            let Some((_, after)) = rest.len().checked_sub(GUARD).and_then(|at| rest.split_at_checked(at))
            else {
                continue;
            };
            let changed = |zone: &[u8]| -> Vec<usize> {
                zone.iter().enumerate().filter(|(i, byte)| **byte != guard(*i)).map(|(i, _)| i).collect()
            };
            let place = match (changed(before).last(), changed(after).first()) {
                (_, Some(after)) => Ok(*after),
                (Some(before), None) => Err(GUARD - before),
                (None, None) => continue,
            };
            let all = BufferId::range(0..self.places.len()).zip(&self.places);
            let buffers = all.filter(|(_, (of, _))| *of == allocation).map(|(id, _)| id).collect();
            found.push(Overrun { buffers, place });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{"ir_version": "0.2.0", "abi_version": "0.2",
        "buffers": [
          {"id": 0, "name": "x", "kind": "IO_INPUT", "dtype": "I4", "shape": [3]},
          {"id": 1, "name": "y", "kind": "ACTIVATION", "dtype": "F32", "shape": [2]},
          {"id": 2, "name": "z", "kind": "ACTIVATION", "dtype": "F16", "shape": [2]}],
        "counters": [], "tasks": [],
        "pages": {"buffer_to_page": {"1": 0, "2": 0}, "pages": [{"id": 0, "space": "HBM", "nbytes": 16}]}}"#;

    #[test]
    fn pages_are_shared_and_guarded() {
        let program =
            megakernel_ir::read(DOCUMENT.as_bytes()).unwrap_or_else(|found| unreachable!("{found:?}"));
        let mut memory = Memory::new(&program, 7).unwrap_or_else(|found| unreachable!("{found}"));
        assert_eq!((memory.allocation_of(), memory.buffer(0.into())), (vec![1, 0, 0], &[7, 7][..]));
        memory.set(1.into(), &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((memory.buffer(2.into()), memory.overruns()), (&[1, 2, 3, 4][..], vec![]));
        // Behind the buffer, but on its page still; and then behind that.
        memory.allocations[0][GUARD + 15] = 0;
        assert_eq!(memory.overruns(), []);
        memory.allocations[0][GUARD + 16 + 5] ^= 1;
        memory.allocations[1][GUARD - 2] ^= 1;
        let on_page = Overrun { buffers: vec![1.into(), 2.into()], place: Ok(5) };
        assert_eq!(memory.overruns(), [on_page, Overrun { buffers: vec![0.into()], place: Err(2) }]);
    }

    #[test]
    fn what_is_too_large_or_has_no_page_is_said() {
        let page = DOCUMENT.replace("16}", "7}");
        let large = DOCUMENT.replace("[3]", "[100000000, 100000000]");
        for (text, part) in [(page, "buffer 1 has no page"), (large, "more than")] {
            let program =
                megakernel_ir::read(text.as_bytes()).unwrap_or_else(|found| unreachable!("{found:?}"));
            assert!(Memory::new(&program, 0).is_err_and(|error| error.contains(part)));
        }
    }
}
