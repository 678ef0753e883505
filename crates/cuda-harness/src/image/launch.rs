//! An image as a runner reads it.

use std::ops::Range;

use megakernel_abi::{BufferRecord, InstructionRecord};

use super::{HEADER, MAGIC, STATUS};

/// Where everything lies that a launch needs. Offsets are those of bytes in the image.
#[derive(Debug)]
pub struct Launch {
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block.
    pub shared_bytes: u64,
    /// Milliseconds after which it has timed out.
    pub limit: u64,
    /// Other than 0: the seed of delays.
    pub perturb: u64,
    /// By SM: the tasks of its queue.
    pub queues: Vec<Vec<i32>>,
    /// Memory, with guard zones.
    pub allocations: Vec<Range<usize>>,
    /// How many buffers there are.
    pub n_buffers: usize,
    /// Their records.
    pub buffers: Range<usize>,
    /// The records of the tasks.
    pub instructions: Range<usize>,
    /// The counters, whose final values belong here.
    pub counters: Range<usize>,
    /// A byte a task, for how far it came.
    pub tasks: Range<usize>,
    /// The word for how the launch ended.
    pub status: usize,
    /// A word a block, for the SM that it ran on.
    pub blocks: Range<usize>,
}

impl Launch {
    /// Reads an image, and checks that all its parts lie in it.
    ///
    /// # Errors
    /// It is no image of this version.
    pub fn parse(bytes: &[u8]) -> Result<Launch, String> {
        let not_one = || "the file is not an image of this version".to_owned();
        let header = bytes.get(..HEADER).filter(|header| header.starts_with(MAGIC)).ok_or_else(not_one)?;
        let word = |at: usize| word(header, 8 * at).ok_or_else(not_one);
        let size = |at: usize| word(at).and_then(|word| usize::try_from(word).map_err(|_| not_one()));
        let part = |start: usize, count: usize, each: usize| {
            let end = count.checked_mul(each).and_then(|bytes| bytes.checked_add(start));
            end.filter(|end| *end <= bytes.len()).map(|end| start..end).ok_or_else(not_one)
        };
        let (n_buffers, n_tasks) = (size(4)?, size(6)?);
        let mut allocations = Vec::new();
        let entries = part(size(13)?, size(7)?, 24)?;
        for entry in bytes.get(entries).unwrap_or_default().chunks_exact(24) {
            let field = |at: usize| self::word(entry, at).and_then(|word| usize::try_from(word).ok());
            let (start, length) = field(0).zip(field(8)).ok_or_else(not_one)?;
            allocations.push(part(start, length, 1)?);
        }
        let instructions = part(size(12)?, n_tasks, InstructionRecord::LAYOUT.size)?;
        // A number that no image is large enough for would exhaust memory.
        let mut queues = vec![Vec::new(); part(0, size(3)?, 1)?.len()];
        let records = bytes.get(instructions.clone()).unwrap_or_default();
        for (id, record) in records.chunks_exact(InstructionRecord::LAYOUT.size).enumerate() {
            let sm = record.get(SM..SM + 4).and_then(|sm| sm.try_into().ok()).map(i32::from_le_bytes);
            let queue = sm.and_then(|sm| queues.get_mut(usize::try_from(sm).ok()?)).ok_or_else(not_one)?;
            queue.push(id as i32);
        }
        let status = size(14)?;
        let counters = part(size(15)?, size(5)?, 4)?;
        let blocks = part(counters.end.saturating_add(64).next_multiple_of(64), queues.len(), 4)?;
        Ok(Launch {
            threads: u32::try_from(word(1)?).map_err(|_| not_one())?,
            shared_bytes: word(2)?,
            limit: word(10)?,
            perturb: if word(9)? == 0 { 0 } else { u64::from(word(8)? as u32 | 1) },
            queues,
            allocations,
            n_buffers,
            buffers: part(size(11)?, n_buffers, BufferRecord::LAYOUT.size)?,
            instructions,
            counters,
            tasks: part(status.saturating_add(STATUS), n_tasks, 1)?,
            status,
            blocks,
        })
    }

    /// The records of the buffers, with the addresses that allocations have got.
    pub fn buffers_at(&self, bytes: &[u8], address: impl Fn(usize) -> Option<u64>) -> Vec<u8> {
        let mut records = bytes.get(self.buffers.clone()).unwrap_or_default().to_vec();
        for record in records.chunks_exact_mut(BufferRecord::LAYOUT.size) {
            let offset = word(record, 0).and_then(|word| usize::try_from(word).ok()).unwrap_or_default();
            // A buffer without bytes may begin where its allocation's last guard zone does, so that no two are in question.
            let found = self.allocations.iter().position(|range| range.contains(&offset));
            let start = found.and_then(|found| Some((address(found)?, self.allocations.get(found)?.start)));
            let place = start.map_or(0, |(address, start)| address + (offset - start) as u64);
            if let Some(pointer) = record.first_chunk_mut() {
                *pointer = place.to_le_bytes();
            }
        }
        records
    }
}

/// Where `sm` stands in an instruction.
const SM: usize = 132;

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use megakernel_abi::{BufferRecord, InstructionRecord};

    use super::*;
    use crate::device::Job;
    use crate::image::{Settings, write};
    use crate::memory::GUARD;

    fn image() -> Vec<u8> {
        let task = |sm: i32| InstructionRecord { sm, ..InstructionRecord::default() };
        let job = Job {
            buffers: vec![BufferRecord::default(); 2],
            allocation: vec![1, 0],
            instructions: vec![task(2), task(0), task(2)],
            n_counters: 4,
            num_sms: 3,
            shared_bytes: 6,
            threads: None,
            seed: 4,
            perturb: true,
        };
        let allocations = [vec![1; 2 * GUARD + 4], vec![2; 2 * GUARD + 8]];
        write(&job, Settings { threads: 32, limit: 8 }, &allocations).0
    }

    #[test]
    fn a_runner_reads_what_the_harness_wrote() {
        let bytes = image();
        let launch = Launch::parse(&bytes).unwrap_or_else(|found| unreachable!("{found}"));
        assert_eq!((launch.threads, launch.shared_bytes, launch.perturb, launch.limit), (32, 6, 5, 8));
        assert_eq!(launch.queues, [vec![1], vec![], vec![0, 2]]);
        let contents: Vec<&[u8]> = launch.allocations.iter().map(|range| &bytes[range.clone()]).collect();
        assert_eq!(contents, [&[1; 2 * GUARD + 4][..], &[2; 2 * GUARD + 8]]);
        assert_eq!((launch.counters.len(), launch.tasks.len(), launch.n_buffers), (16, 3, 2));
        let records = launch.buffers_at(&bytes, |allocation| [1 << 40, 1 << 41].get(allocation).copied());
        let pointers: Vec<u64> = records.chunks_exact(96).filter_map(|record| word(record, 0)).collect();
        assert_eq!(pointers, [(1 << 41) + GUARD as u64, (1 << 40) + GUARD as u64]);
    }

    #[test]
    fn what_is_cut_or_wrong_is_no_image() {
        let whole = image();
        for length in 0..whole.len() {
            assert!(Launch::parse(&whole[..length]).is_err(), "{length}");
        }
        for at in (0..HEADER).step_by(8) {
            let mut wrong = whole.clone();
            wrong[at + 7] = 0xff;
            let is_free = [16, 64, 72, 80].contains(&at);
            assert_eq!(Launch::parse(&wrong).is_ok(), is_free, "{at}");
        }
    }
}
