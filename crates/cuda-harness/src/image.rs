//! The file in which the host runner, `cuda/host/main.cpp`, gets a launch and leaves its results. Little-endian; each part
//! begins at a multiple of 64.

use megakernel_ir::abi::{Address, Record};

use crate::device::{Job, TaskState};
use crate::memory::GUARD;

const MAGIC: &[u8; 8] = b"AMKHOST1";
const HEADER: usize = 8 * 13;

/// How the runner says that a launch ended; `State` of main.cpp.
pub const DONE: u32 = 1;
/// Nothing could go on.
pub const ABORTED: u32 = 2;
/// An opcode is missing.
pub const NO_OPCODE: u32 = 3;
/// The kernels need more shared memory, or other blocks.
pub const REFUSED: u32 = 4;
/// Threads of a block waited at different barriers.
pub const DIVERGENT: u32 = 5;

/// Where the parts of an image lie.
#[derive(Debug)]
pub struct Places {
    allocations: Vec<usize>,
    status: usize,
    tasks: usize,
}

/// Makes an image.
pub fn write(job: &Job, threads: u64, seed: u64, allocations: &[Vec<u8>]) -> (Vec<u8>, Places) {
    let mut image = vec![0; HEADER];
    let mut places = Vec::with_capacity(allocations.len());
    for bytes in allocations {
        places.push(align(&mut image));
        image.extend_from_slice(bytes);
    }
    let off_allocations = align(&mut image);
    for (place, bytes) in places.iter().zip(allocations) {
        for word in [*place, bytes.len(), GUARD] {
            word64(&mut image, word as u64);
        }
    }
    let off_buffers = align(&mut image);
    for (record, allocation) in job.buffers.iter().zip(&job.allocation) {
        let mut record = *record;
        record.ptr = Address((places.get(*allocation).copied().unwrap_or_default() + GUARD) as u64);
        record.append(&mut image);
    }
    let off_instructions = align(&mut image);
    job.instructions.iter().for_each(|record| record.append(&mut image));
    let off_status = align(&mut image);
    image.resize(off_status + 16 + job.instructions.len(), 0);
    let mut header = MAGIC.to_vec();
    for word in [
        threads,
        job.shared_bytes,
        job.num_sms as u64,
        job.buffers.len() as u64,
        job.n_counters as u64,
        job.instructions.len() as u64,
        allocations.len() as u64,
        seed,
        off_buffers as u64,
        off_instructions as u64,
        off_allocations as u64,
        off_status as u64,
    ] {
        word64(&mut header, word);
    }
    image.splice(..HEADER, header);
    (image, Places { allocations: places, status: off_status, tasks: job.instructions.len() })
}

fn align(image: &mut Vec<u8>) -> usize {
    image.resize(image.len().next_multiple_of(64), 0);
    image.len()
}

fn word64(image: &mut Vec<u8>, word: u64) {
    image.extend_from_slice(&word.to_le_bytes());
}

/// Copies what the launch left in memory.
pub fn read_memory(image: &[u8], places: &Places, allocations: &mut [Vec<u8>]) {
    for (place, bytes) in places.allocations.iter().zip(allocations) {
        if let Some(found) = image.get(*place..place + bytes.len()) {
            bytes.copy_from_slice(found);
        }
    }
}

/// The state that the runner wrote, 0 if it wrote none, and how far each task came.
pub fn read_status(image: &[u8], places: &Places) -> (u32, Vec<TaskState>) {
    let status = image.get(places.status..).unwrap_or_default();
    let state = status.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
    let tasks = status.get(16..16 + places.tasks).unwrap_or_default();
    let tasks = tasks.iter().map(|state| match state {
        1 => TaskState::Waiting,
        2 => TaskState::Running,
        3 => TaskState::Done,
        _ => TaskState::NotStarted,
    });
    (state, tasks.collect())
}

#[cfg(test)]
mod tests {
    use megakernel_ir::abi::{BufferRecord, InstructionRecord};

    use super::*;

    #[test]
    fn buffers_point_behind_the_guard_of_their_allocation() {
        let job = Job {
            buffers: vec![BufferRecord::default(); 2],
            allocation: vec![1, 0],
            instructions: vec![InstructionRecord::default(); 3],
            n_counters: 4,
            num_sms: 5,
            shared_bytes: 6,
        };
        let mut allocations = vec![vec![1; 2 * GUARD + 4], vec![2; 2 * GUARD + 8]];
        let (mut image, places) = write(&job, 32, 7, &allocations);
        let word = |offset: usize| {
            image
                .get(offset..offset + 8)
                .and_then(|bytes| bytes.try_into().ok())
                .map_or(0, u64::from_le_bytes)
        };
        assert_eq!([8, 16, 24, 32, 40, 48, 56, 64].map(word), [32, 6, 5, 2, 4, 3, 2, 7]);
        let buffers = word(72) as usize;
        let [first, second] = [word(buffers) as usize, word(buffers + 96) as usize];
        assert_eq!((image[first], image[first + 7 + GUARD], image[second]), (2, 2, 1));
        assert!(first.is_multiple_of(64) && image.len() == word(96) as usize + 16 + 3);
        let status = word(96) as usize;
        image[first] = 9;
        image[status] = 2;
        image[status + 17] = 3;
        read_memory(&image, &places, &mut allocations);
        assert_eq!((allocations[1][GUARD], allocations[1][GUARD + 1]), (9, 2));
        let expected = vec![TaskState::NotStarted, TaskState::Done, TaskState::NotStarted];
        assert_eq!(read_status(&image, &places), (ABORTED, expected));
    }
}
