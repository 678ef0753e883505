//! How fast GEMV_TILE reads weights, beside a plain copy on the same GPU.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use megakernel_abi::{Address, BufferRecord, InstructionRecord, ParamsRecord, ProgramRecord, Record};
use megakernel_ir::{DType, Opcode};

use super::cubins::Cubin;
use super::gpu::{Gpu, Kernel, Memory, Module, Stream};
use super::{THREADS, shared_bytes};

/// The matrices of Llama-3.2-1B: name, inputs K, outputs N.
const SHAPES: [(&str, usize, usize); 5] = [
    ("q, o", 2048, 2048),
    ("k, v", 2048, 512),
    ("gate, up", 2048, 8192),
    ("down", 8192, 2048),
    ("vocabulary", 2048, 128_256),
];

/// Columns of a task.
const TILE: usize = 64;

/// Launches that are timed together, so that the time between them does not count.
const LAUNCHES: u32 = 10;

/// Reads `mebibytes` of weights in each launch, more than caches hold: copies of a matrix, or the first columns of one that is
/// larger. The text is a table.
///
/// # Errors
/// There is no GPU, or it has too little memory.
pub fn measure(cubin: &Cubin, mebibytes: usize) -> Result<String, String> {
    let bytes = std::fs::read(&cubin.path).map_err(|cause| format!("{}: {cause}", cubin.path.display()))?;
    let gpu = Gpu::first()?;
    gpu.activate()?;
    let module = Module::load(bytes)?;
    let stream = Stream::new()?;
    let size = mebibytes << 20;
    let sms = gpu.sms()?;

    let copy = module.kernel("amk_copy")?;
    let (from, to) = (Memory::new(size)?, Memory::new(size)?);
    stream.fill(&from, 0x3c)?;
    let words = vec![(size / 16) as u64];
    let time = timed(stream, || {
        let arguments = vec![vec![from.address()], vec![to.address()], words.clone()];
        stream.launch(copy, (sms * copy.blocks_per_sm(THREADS, 0)?) as u32, THREADS, 0, arguments)
    })?;
    let copied = rate(2 * size, time);
    drop((from, to));

    let kernel = module.kernel("amk_vm")?;
    let shared = shared_bytes(THREADS) as u32;
    let blocks = sms * kernel.blocks_per_sm(THREADS, shared)?;
    let mut text = format!(
        "{}, {}: {blocks} blocks of {THREADS} threads, {mebibytes} MiB in each launch\n\n\
         | GEMV_TILE, BF16 | K | N | GB/s | of the copy |\n| --- | ---: | ---: | ---: | ---: |\n\
         | plain copy | | | {copied:.0} | |\n",
        gpu.name(),
        cubin.target
    );
    for (name, k, n) in SHAPES {
        let n = n.min(size / (2 * k)) / TILE * TILE;
        let copies = (size / (2 * k * n.max(1))).max(1);
        let (read, time) = matrix(stream, kernel, blocks, k, n, copies)?;
        let read = rate(read, time);
        let _ = writeln!(text, "| {name} | {k} | {n} | {read:.0} | {:.0} % |", 100.0 * read / copied);
    }
    Ok(text)
}

/// Billions of bytes a second.
fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64().max(1e-9) / 1e9
}

/// The time of one of several launches, after one that does not count.
fn timed(stream: Stream, mut launch: impl FnMut() -> Result<(), String>) -> Result<Duration, String> {
    launch()?;
    stream.wait("a launch")?;
    let start = Instant::now();
    for _ in 0..LAUNCHES {
        launch()?;
    }
    stream.wait("a launch")?;
    Ok(start.elapsed() / LAUNCHES)
}

/// Products with copies of a matrix, as a program without waits: bytes of weights, and time.
fn matrix(
    stream: Stream,
    kernel: Kernel,
    blocks: usize,
    k: usize,
    n: usize,
    copies: usize,
) -> Result<(usize, Duration), String> {
    let buffer = |ptr: u64, shape: [usize; 2]| BufferRecord {
        ptr: Address(ptr),
        numel: (shape[0] * shape[1]) as i64,
        rank: 2,
        dtype: DType::BF16.code() as i32,
        shape: [shape[0] as i64, shape[1] as i64, 1, 1],
        stride: [shape[1] as i64, 1, 1, 1],
        ..BufferRecord::default()
    };
    let weights = 2 * k * n * copies;
    let memory = Memory::new(weights + 2 * k + 2 * n)?;
    stream.fill(&memory, 0x3c)?;
    let (x, y) = (memory.address() + weights as u64, memory.address() + (weights + 2 * k) as u64);
    let mut buffers = vec![buffer(x, [1, k]), buffer(y, [1, n])];
    let mut instructions = Vec::new();
    let tiles = n / TILE;
    for copy in 0..copies {
        buffers.push(buffer(memory.address() + (2 * k * n * copy) as u64, [n, k]));
        for tile in 0..tiles {
            let params = ParamsRecord {
                k: k as i32,
                n: n as i32,
                m: 1,
                n_tile: TILE as i32,
                n_off: (tile * TILE) as i32,
                ..ParamsRecord::default()
            };
            instructions.push(InstructionRecord {
                op: Opcode::GemvTile.code() as i32,
                n_inputs: 2,
                n_outputs: 1,
                inputs: [0, copy as i32 + 2, 0, 0, 0, 0, 0, 0],
                outputs: [1, 0, 0, 0],
                sm: (instructions.len() % blocks.max(1)) as i32,
                params,
                ..InstructionRecord::default()
            });
        }
    }
    let mut queues = vec![Vec::new(); blocks];
    for (id, record) in instructions.iter().enumerate() {
        if let Some(queue) = queues.get_mut(record.sm as usize) {
            queue.push(id as i32);
        }
    }
    let tables = super::launches::Tables::new(stream, &queues, 4)?;
    let upload = |bytes: Vec<u8>| {
        let memory = Memory::new(bytes.len())?;
        stream.write(&memory, &bytes).map(|()| memory)
    };
    let records = upload(buffers.iter().flat_map(Record::to_bytes).collect())?;
    let tasks = upload(instructions.iter().flat_map(Record::to_bytes).collect())?;
    let program = ProgramRecord {
        buffers: Address(records.address()),
        n_buffers: buffers.len() as i32,
        instructions: Address(tasks.address()),
        n_instructions: instructions.len() as i32,
        ..tables.program()
    };
    let time = timed(stream, || {
        // No states, no delays, no places.
        let arguments = vec![super::launches::words(&program), vec![0], vec![0], vec![0]];
        stream.launch(kernel, blocks as u32, THREADS, shared_bytes(THREADS) as u32, arguments)
    })?;
    Ok((weights, time))
}
