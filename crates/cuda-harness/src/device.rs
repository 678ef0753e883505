//! What runs a launch: the records of the ABI and memory go in, memory and the state of each task come out.

use megakernel_abi::{BufferRecord, InstructionRecord};
use megakernel_ir::protocol::Facts;

/// A launch, ready to be run. The pointers of the buffers are not set yet: that is for whoever knows the addresses.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// By buffer id.
    pub buffers: Vec<BufferRecord>,
    /// The allocation that holds the buffer, which begins behind the allocation's guard zone.
    pub allocation: Vec<usize>,
    /// By task id. Each stands in the queue of an SM below `num_sms`.
    pub instructions: Vec<InstructionRecord>,
    /// Number of counters.
    pub n_counters: usize,
    /// Number of queues, and of blocks.
    pub num_sms: usize,
    /// Dynamic shared memory that the program asks for.
    pub shared_bytes: u64,
    /// Threads of a block that the program asks for (clause ABI-05).
    pub threads: Option<u32>,
    /// Other than 0: an order in which blocks and threads take turns, where the device lets them be told, and of delays.
    pub seed: u64,
    /// Delay tasks at random, before they wait, run and signal.
    pub perturb: bool,
}

/// Threads of a block: what --threads says, or else the program, or else what the device has by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    asked: Option<u32>,
    usual: u32,
}

impl Threads {
    /// # Errors
    /// No block has so many.
    pub fn new(asked: Option<u32>, usual: u32) -> Result<Threads, String> {
        asked.map_or(Ok(()), valid).map(|()| Threads { asked, usual })
    }

    /// Where no program says anything.
    pub fn usual(self) -> u32 {
        self.asked.unwrap_or(self.usual)
    }

    /// Whether no program has a say.
    pub fn fixed(self) -> bool {
        self.asked.is_some()
    }

    /// Of a launch.
    ///
    /// # Errors
    /// Its program asks for blocks that are not whole warps, or too large.
    pub fn of(self, job: &Job) -> Result<u32, String> {
        let threads = self.asked.or(job.threads).unwrap_or(self.usual);
        valid(threads).map(|()| threads)
    }
}

fn valid(threads: u32) -> Result<(), String> {
    let valid = (32..=1024).contains(&threads) && threads.is_multiple_of(32);
    if valid {
        Ok(())
    } else {
        Err(format!("a block has 32 to 1024 threads, a multiple of 32; found {threads}"))
    }
}

/// What a device runs at once, of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Its SMs.
    pub sms: usize,
    /// Blocks on each.
    pub blocks_per_sm: usize,
}

/// What had become of a task when the launch was over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskState {
    /// Its turn had not come.
    #[default]
    NotStarted,
    /// Its counters had not reached their thresholds.
    Waiting,
    /// It was running.
    Running,
    /// It had finished.
    Done,
}

/// How a launch ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// Every task is done.
    #[default]
    Done,
    /// Nothing was left that could go on; what is known of its threads, or nothing.
    Stuck(String),
    /// It did not end within the limit of time, and was ended.
    TimedOut,
    /// A task has an opcode that the kernels do not have.
    NoOpcode,
    /// The device cannot hold the launch, and why; nothing was run.
    Refused(String),
    /// The kernels crashed, or a sanitizer ended them: what they said last.
    Crashed(String),
}

/// The end of a launch, and how far its tasks had come.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// How.
    pub end: End,
    /// By task id.
    pub tasks: Vec<TaskState>,
    /// What the counters held, by id.
    pub counters: Vec<u32>,
    /// By block: the SM that it ran on, where the kernels say so.
    pub places: Vec<u32>,
}

/// Something that runs launches.
pub trait Device {
    /// In a word, for the handshake.
    fn name(&self) -> String;

    /// What a record of evidence says of it and of its kernels (clause CON-14).
    fn facts(&self) -> Facts;

    /// What there is room for when this launch runs. Blocks go to the SMs in turn.
    ///
    /// # Errors
    /// The device cannot tell.
    fn room(&mut self, job: &Job) -> Result<Room, String> {
        Ok(Room { sms: job.num_sms, blocks_per_sm: 1 })
    }

    /// Runs a launch on allocations with their guard zones, and leaves in them what it wrote.
    ///
    /// # Errors
    /// The launch could not be tried at all.
    fn launch(&mut self, job: &Job, allocations: &mut [Vec<u8>]) -> Result<Ended, String>;
}
