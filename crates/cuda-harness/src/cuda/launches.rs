//! The runner of `--device cuda`: a process that has a GPU, and runs the launches of images on it.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use megakernel_abi::{Address, ProgramRecord, Record};

use super::binary::{Argument, Entry};
use super::gpu::{Gpu, Kernel, Memory, Module, Progress, Shared, Stream};
use crate::image::{self, Launch};

/// How long a launch that was told to stop may take to do so.
const GRACE: Duration = Duration::from_secs(1);

/// Shared memory that a block gets without asking.
pub(super) const UNASKED: u32 = 48 << 10;

/// The GPU with the kernel on it.
struct Launcher {
    gpu: Gpu,
    kernel: Kernel,
    /// Empty: what our own virtual machine takes.
    arguments: Vec<Argument>,
    stream: Stream,
    /// Beside the other, for what has to reach a kernel that runs.
    aside: Stream,
    /// What stops a kernel, where it polls `abort_flag`.
    stop: Shared,
    /// A byte a task.
    states: Shared,
    /// A word a block.
    places: Shared,
}

fn upload(stream: Stream, bytes: &[u8]) -> Result<Memory, String> {
    let memory = Memory::new(bytes.len())?;
    stream.write(&memory, bytes).map(|()| memory)
}

/// A program as the argument of a kernel.
pub(super) fn words(program: &ProgramRecord) -> Vec<u64> {
    program.to_bytes().as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// Queues, counters and the abort flag on the GPU, as a launch begins with them (clause ABI-05).
pub(super) struct Tables {
    /// Task ids of all queues, one queue after the other; `starts` points into it.
    _ids: Memory,
    starts: Memory,
    lengths: Memory,
    counters: Memory,
    abort_flag: Memory,
    n_counters: usize,
    num_sms: usize,
}

impl Tables {
    /// Queues by SM, and counters of so many bytes.
    pub(super) fn new(stream: Stream, queues: &[Vec<i32>], counter_bytes: usize) -> Result<Tables, String> {
        let words = |words: &[i32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let ids = upload(stream, &words(&queues.concat()))?;
        let lengths: Vec<i32> = queues.iter().map(|queue| queue.len() as i32).collect();
        let starts = queues.iter().scan(ids.address(), |next, queue| {
            let start = *next;
            *next += 4 * queue.len() as u64;
            Some(start)
        });
        Ok(Tables {
            starts: upload(stream, &starts.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())?,
            _ids: ids,
            lengths: upload(stream, &words(&lengths))?,
            counters: upload(stream, &vec![0; counter_bytes])?,
            abort_flag: upload(stream, &[0; 4])?,
            n_counters: counter_bytes / 4,
            num_sms: queues.len(),
        })
    }

    /// Counters and abort flag as a launch begins with them.
    pub(super) fn reset(&self, stream: Stream) -> Result<(), String> {
        stream.fill(&self.counters, 0)?;
        stream.fill(&self.abort_flag, 0)
    }

    /// A program that has these and nothing else.
    pub(super) fn program(&self) -> ProgramRecord {
        ProgramRecord {
            counters: Address(self.counters.address()),
            n_counters: self.n_counters as i32,
            sm_queue: Address(self.starts.address()),
            sm_queue_len: Address(self.lengths.address()),
            num_sms: self.num_sms as i32,
            abort_flag: Address(self.abort_flag.address()),
            ..ProgramRecord::default()
        }
    }
}

/// What a launch left.
struct Left {
    state: u32,
    said: String,
    /// The process is of no further use.
    last: bool,
}

impl Left {
    fn new(state: u32, said: impl Into<String>) -> Left {
        Left { state, said: said.into(), last: false }
    }
}

/// Answers lines of standard input until it ends: a path of an image, or `room` with threads and bytes of shared memory,
/// whose answer is the number of SMs and how many such blocks each holds.
///
/// # Errors
/// There is no GPU or it does not take the CUBIN; or a kernel went wrong, after which no other can run in this process.
pub fn serve(cubin: &Path, entry: &str, gpu: &str) -> Result<(), String> {
    let entry: Entry = serde_json::from_str(entry).map_err(|cause| format!("{entry}: {cause}"))?;
    // What kernels print is no answer.
    let failed = |cause: &dyn std::fmt::Display| format!("standard output: {cause}");
    let mut answers = fs::File::from(rustix::io::dup(io::stdout()).map_err(|cause| failed(&cause))?);
    rustix::stdio::dup2_stdout(io::stderr()).map_err(|cause| failed(&cause))?;

    let bytes = fs::read(cubin).map_err(|cause| format!("{}: {cause}", cubin.display()))?;
    let gpu = Gpu::named(Some(gpu))?;
    gpu.activate()?;
    let mut launcher = Launcher {
        gpu,
        kernel: Module::load(bytes)?.kernel(&entry.kernel)?,
        arguments: entry.arguments,
        stream: Stream::new()?,
        aside: Stream::new()?,
        stop: Shared::new(4)?,
        states: Shared::new(1 << 12)?,
        places: Shared::new(1 << 12)?,
    };
    launcher.stop.fill(2);
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|cause| format!("standard input: {cause}"))?;
        let left = match line.strip_prefix("room ").and_then(|rest| rest.split_once(' ')) {
            Some((threads, shared)) => {
                let number = |text: &str| text.parse::<u32>().map_err(|cause| format!("{text}: {cause}"));
                // Why there is no room is said when a launch is refused.
                let blocks = launcher.room(number(threads)?, number(shared)?).unwrap_or(0);
                Left::new(0, format!("{} {blocks}", gpu.sms()?))
            }
            None => launcher.run(Path::new(&line))?,
        };
        writeln!(answers, "{}", left.said).map_err(|cause| failed(&cause))?;
        if left.last {
            // The kernel still runs. Whoever asked ends this process, or is gone, which ends the input.
            io::copy(&mut io::stdin().lock(), &mut io::sink()).map_err(|cause| failed(&cause))?;
            std::process::exit(3);
        }
    }
    Ok(())
}

impl Launcher {
    /// How many blocks an SM holds at once. The error says why none.
    fn room(&self, threads: u32, shared: u32) -> Result<usize, String> {
        let most = self.kernel.most_threads()?;
        if threads > most {
            return Err(format!("as compiled, the kernel has blocks of at most {most} threads"));
        }
        let bytes = self.gpu.shared_bytes()?;
        if u64::from(shared) > bytes {
            return Err(format!("a block of it has at most {bytes} bytes of shared memory"));
        }
        if shared > UNASKED {
            self.kernel.allow_shared(shared)?;
        }
        match self.kernel.blocks_per_sm(threads, shared)? {
            0 => Err("as compiled, not one block of the kernel fits an SM".to_owned()),
            blocks => Ok(blocks),
        }
    }

    /// Runs the launch of an image, and leaves in it what there is to know.
    fn run(&mut self, path: &Path) -> Result<Left, String> {
        let about = |cause: io::Error| format!("{}: {cause}", path.display());
        let mut bytes = fs::read(path).map_err(about)?;
        let launch = Launch::parse(&bytes)?;
        if self.states.len() < launch.tasks.len() {
            self.states = Shared::new(launch.tasks.len().next_power_of_two())?;
        }
        if self.places.len() < launch.blocks.len() {
            self.places = Shared::new(launch.blocks.len().next_power_of_two())?;
        }
        self.states.fill(0);
        self.places.fill(0xff);
        let left = self.launch(&mut bytes, &launch);
        if let Some(places) = bytes.get_mut(launch.blocks.clone()) {
            places.copy_from_slice(self.places.read().get(..places.len()).unwrap_or_default());
        }
        if let Some(states) = bytes.get_mut(launch.tasks.clone()) {
            states.copy_from_slice(self.states.read().get(..states.len()).unwrap_or_default());
        }
        let state = left.as_ref().map_or(0, |left| left.state);
        if let Some(word) = bytes.get_mut(launch.status..launch.status + 4) {
            word.copy_from_slice(&state.to_le_bytes());
        }
        fs::write(path, bytes).map_err(about)?;
        left
    }

    fn launch(&self, bytes: &mut [u8], launch: &Launch) -> Result<Left, String> {
        let refused = |reason: String| Ok(Left::new(image::REFUSED, reason));
        let (blocks, threads) = (launch.queues.len(), launch.threads);
        if blocks == 0 {
            return Ok(Left::new(image::DONE, ""));
        }
        let Ok(shared) = u32::try_from(launch.shared_bytes) else {
            return refused("no GPU has so much shared memory".to_owned());
        };
        if !self.gpu.is_cooperative()? {
            return refused("it cannot keep all blocks resident at once".to_owned());
        }
        let sms = self.gpu.sms()?;
        match self.room(threads, shared) {
            Err(reason) => return refused(reason),
            Ok(each) if each * sms < blocks => {
                return refused(format!(
                    "as compiled, {each} blocks of {threads} threads are resident on each of its {sms} SMs"
                ));
            }
            Ok(_) => {}
        }
        // The image holds all that goes to the GPU.
        let (needed, free) = (bytes.len(), self.gpu.free_bytes()?);
        if needed > free {
            return refused(format!("it has {free} bytes of free memory, and the launch needs {needed}"));
        }

        let upload = |bytes: &[u8]| upload(self.stream, bytes);
        let mut memory = Vec::with_capacity(launch.allocations.len());
        for range in &launch.allocations {
            memory.push(upload(bytes.get(range.clone()).unwrap_or_default())?);
        }
        let buffers = launch.buffers_at(bytes, |allocation| memory.get(allocation).map(Memory::address));
        let buffers = upload(&buffers)?;
        let instructions = upload(bytes.get(launch.instructions.clone()).unwrap_or_default())?;
        let tables = Tables::new(self.stream, &launch.queues, launch.counters.len())?;
        let program = ProgramRecord {
            buffers: Address(buffers.address()),
            n_buffers: launch.n_buffers as i32,
            instructions: Address(instructions.address()),
            n_instructions: launch.tasks.len() as i32,
            ..tables.program()
        };
        let mut arguments = Vec::with_capacity(self.arguments.len());
        let mut lent = Vec::new();
        for argument in &self.arguments {
            arguments.push(match argument {
                Argument::Program => words(&program),
                Argument::ProgramAddress => {
                    lent.push(upload(&program.to_bytes())?);
                    lent.last().map(Memory::address).into_iter().collect()
                }
                Argument::U32(number) => vec![u64::from(*number)],
                Argument::U64(number) => vec![*number],
                Argument::F32(number) => vec![u64::from(number.to_bits())],
                Argument::Zeros(bytes) => {
                    let zeros = Memory::new(*bytes)?;
                    self.stream.fill(&zeros, 0)?;
                    lent.push(zeros);
                    lent.last().map(Memory::address).into_iter().collect()
                }
            });
        }
        if arguments.is_empty() {
            let own = [self.states.address(), launch.perturb, self.places.address()];
            arguments = [words(&program)].into_iter().chain(own.map(|word| vec![word])).collect();
        }
        self.stream.launch(self.kernel, blocks as u32, threads, shared, arguments)?;

        let limit = Duration::from_millis(launch.limit);
        let mut found = self.wait(limit)?;
        let ended = found == Progress::Done;
        if found == Progress::Runs {
            self.aside.begin_write(&tables.abort_flag, self.stop)?;
            found = self.wait(GRACE)?;
        }
        let read = |stream: Stream, bytes: &mut [u8], range: &std::ops::Range<usize>, from: &Memory| {
            bytes.get_mut(range.clone()).map_or(Ok(()), |to| stream.read(to, from))
        };
        if found != Progress::Done {
            if found == Progress::Runs {
                read(self.aside, bytes, &launch.counters, &tables.counters)?;
            }
            // The kernel may still use all of it.
            std::mem::forget((memory, buffers, instructions, tables, lent));
            return Ok(Left { state: image::TIMED_OUT, said: image::HANGS.to_owned(), last: true });
        }
        read(self.stream, bytes, &launch.counters, &tables.counters)?;
        for (range, memory) in launch.allocations.iter().zip(&memory) {
            read(self.stream, bytes, range, memory)?;
        }
        let mut flag = [0; 4];
        self.stream.read(&mut flag, &tables.abort_flag)?;
        let state = match u32::from_le_bytes(flag) {
            _ if !ended => image::TIMED_OUT,
            1 => image::NO_OPCODE,
            0 => image::DONE,
            _ => image::ABORTED,
        };
        Ok(Left::new(state, ""))
    }

    /// How far the kernel comes in time.
    fn wait(&self, limit: Duration) -> Result<Progress, String> {
        let start = Instant::now();
        let mut pause = Duration::from_micros(20);
        loop {
            let found = self.stream.progress()?;
            if found != Progress::Runs || start.elapsed() > limit {
                return Ok(found);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(2));
        }
    }
}
