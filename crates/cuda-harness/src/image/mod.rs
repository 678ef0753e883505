//! The file in which a runner gets a launch and leaves its results. `cuda/host/main.cpp` reads it too. Little-endian; each
//! part begins at a multiple of 64, and 64 bytes lie unused on both sides of the counters.

mod launch;

use megakernel_abi::{Address, Record};

use crate::device::{Job, TaskState};
use crate::memory::GUARD;
use crate::progress;

pub use launch::Launch;

const MAGIC: &[u8; 8] = b"AMKHOST2";
const HEADER: usize = 8 * 16;
const STATUS: usize = 16;

/// How the runner says that a launch ended; `State` of main.cpp.
pub const DONE: u32 = 1;
/// Nothing could go on.
pub const ABORTED: u32 = 2;
/// An opcode is missing.
pub const NO_OPCODE: u32 = 3;
/// The kernels need more shared memory, or other blocks.
pub const REFUSED: u32 = 4;
/// The runner ended it after the limit of time.
pub const TIMED_OUT: u32 = 5;

/// What a runner answers whose launch does not stop when it is told to: it is of no further use.
pub const HANGS: &str = "hangs";

/// In place of an SM: the kernels did not say where the block ran.
pub const NOWHERE: u32 = u32::MAX;

/// How a launch is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Threads of a block.
    pub threads: u32,
    /// After how many milliseconds a launch has timed out, where the runner sees to that itself.
    pub limit: u64,
}

/// Where the parts of an image lie.
#[derive(Debug)]
pub struct Places {
    allocations: Vec<usize>,
    status: usize,
    counters: usize,
    blocks: usize,
}

/// What a launch left besides memory.
#[derive(Debug)]
pub struct Left {
    /// One of the constants of this module, or 0 if the runner did not get so far.
    pub state: u32,
    /// By task id.
    pub tasks: Vec<TaskState>,
    /// By counter id.
    pub counters: Vec<u32>,
    /// By block: the SM that it ran on, if the kernels said so.
    pub places: Vec<u32>,
}

/// Makes an image.
pub fn write(job: &Job, settings: Settings, allocations: &[Vec<u8>]) -> (Vec<u8>, Places) {
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
    image.resize(off_status + STATUS + job.instructions.len(), 0);
    let off_counters = align(&mut image) + 64;
    image.resize(off_counters + 4 * job.n_counters + 64, 0);
    let off_blocks = align(&mut image);
    image.resize(off_blocks + 4 * job.num_sms, 0xff);
    let mut header = MAGIC.to_vec();
    for word in [
        u64::from(settings.threads),
        job.shared_bytes,
        job.num_sms as u64,
        job.buffers.len() as u64,
        job.n_counters as u64,
        job.instructions.len() as u64,
        allocations.len() as u64,
        job.seed,
        u64::from(job.perturb),
        settings.limit,
        off_buffers as u64,
        off_instructions as u64,
        off_allocations as u64,
        off_status as u64,
        off_counters as u64,
    ] {
        word64(&mut header, word);
    }
    image.splice(..HEADER, header);
    (image, Places { allocations: places, status: off_status, counters: off_counters, blocks: off_blocks })
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

/// How the runner says that the launch ended, and how far its tasks came: as the kernel says, or, where it says nothing, as
/// the counters show.
pub fn read_status(image: &[u8], places: &Places, job: &Job) -> Left {
    let status = image.get(places.status..).unwrap_or_default();
    let state = status.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
    let tasks = status.get(STATUS..STATUS + job.instructions.len()).unwrap_or_default();
    let tasks = tasks.iter().map(|state| match state {
        1 => TaskState::Waiting,
        2 => TaskState::Running,
        3 => TaskState::Done,
        _ => TaskState::NotStarted,
    });
    let mut tasks: Vec<TaskState> = tasks.collect();
    let counters = image.get(places.counters..places.counters + 4 * job.n_counters).unwrap_or_default();
    let counters = counters.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
    let counters: Vec<u32> = counters.collect();
    if tasks.iter().all(|state| *state == TaskState::NotStarted) {
        tasks = progress::derive(&job.instructions, &counters);
    }
    let blocks = image.get(places.blocks..places.blocks + 4 * job.num_sms).unwrap_or_default();
    let blocks: Vec<u32> = blocks.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let said = blocks.iter().all(|sm| *sm != NOWHERE);
    Left { state, tasks, counters, places: if said { blocks } else { Vec::new() } }
}

#[cfg(test)]
mod tests {
    use megakernel_abi::{BufferRecord, InstructionRecord};

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
            threads: None,
            seed: 7,
            perturb: true,
        };
        let mut allocations = vec![vec![1; 2 * GUARD + 4], vec![2; 2 * GUARD + 8]];
        let settings = Settings { threads: 32, limit: 8 };
        let (mut image, places) = write(&job, settings, &allocations);
        let word = |offset: usize| {
            image
                .get(offset..offset + 8)
                .and_then(|bytes| bytes.try_into().ok())
                .map_or(0, u64::from_le_bytes)
        };
        assert_eq!([8, 16, 24, 32, 40, 48, 56, 64, 72, 80].map(word), [32, 6, 5, 2, 4, 3, 2, 7, 1, 8]);
        let buffers = word(88) as usize;
        let [first, second] = [word(buffers) as usize, word(buffers + 96) as usize];
        assert_eq!((image[first], image[first + 7 + GUARD], image[second]), (2, 2, 1));
        let (status, counters) = (word(112) as usize, word(120) as usize);
        assert!(first.is_multiple_of(64) && status + 16 + 3 + 64 <= counters);
        assert!(counters.is_multiple_of(64) && image.len() == (counters + 16 + 64).next_multiple_of(64) + 20);
        image[first] = 9;
        image[status] = 2;
        image[counters + 4] = 1;
        read_memory(&image, &places, &mut allocations);
        assert_eq!((allocations[1][GUARD], allocations[1][GUARD + 1]), (9, 2));
        use TaskState::{Done, NotStarted, Running};
        let left = read_status(&image, &places, &job);
        assert_eq!((left.state, left.counters, left.places), (ABORTED, vec![0, 1, 0, 0], vec![]));
        let blocks = image.len() - 20;
        for block in 0..5 {
            image[blocks + 4 * block..blocks + 4 * block + 4]
                .copy_from_slice(&(7 + block as u32).to_le_bytes());
        }
        assert_eq!(read_status(&image, &places, &job).places, [7, 8, 9, 10, 11]);
        // The kernel said nothing, so that only the counters tell.
        assert_eq!(left.tasks, [Running, NotStarted, NotStarted]);
        image[status + 17] = 3;
        assert_eq!(read_status(&image, &places, &job).tasks, [NotStarted, Done, NotStarted]);
    }
}
