//! How fast the kernels run on a GPU, beside a plain copy: single opcodes at sizes of models, and whole steps of decoders.

use std::time::{Duration, Instant};

use megakernel_abi::ParamsRecord;
use megakernel_ir::{DType, Opcode, day};

use super::cubins::Cubin;
use super::figures::{Line, Report, Step};
use super::gpu::{Gpu, Kernel, Memory, Module, Stream};
use super::maker::{Maker, Placed};
use super::{THREADS, decode, facts, shared_bytes};

/// The matrices of Llama-3.2-1B: name, inputs K, outputs N.
const SHAPES: [(&str, usize, usize); 5] = [
    ("q, o", 2048, 2048),
    ("k, v", 2048, 512),
    ("gate, up", 2048, 8192),
    ("down", 8192, 2048),
    ("vocabulary", 2048, 128_256),
];

/// From so many MiB on, matrix products and decoders are as large as models have them, and below smaller in proportion, so that all of the
/// report can be made where nothing is fast.
const WHOLE: usize = 64;

/// Columns of a task.
const TILE: usize = 64;

/// Launches that are timed together, so that the time between them does not count.
const LAUNCHES: u32 = 10;

/// Reads about `mebibytes` in each launch, more than caches hold.
///
/// # Errors
/// The GPU has too little memory, or the launches do not end as they should.
pub fn measure(gpu: Gpu, cubin: &Cubin, tensor_cores: bool, mebibytes: usize) -> Result<Report, String> {
    let bytes = std::fs::read(&cubin.path).map_err(|cause| format!("{}: {cause}", cubin.path.display()))?;
    gpu.activate()?;
    let module = Module::load(bytes)?;
    let stream = Stream::new()?;
    let (size, sms) = (mebibytes << 20, gpu.sms()?);
    let copy = copied(stream, module.kernel("amk_copy")?, sms, size)?;
    let kernel = module.kernel("amk_vm")?;
    let shared = shared_bytes(THREADS, tensor_cores) as u32;
    if shared > super::launches::UNASKED {
        kernel.allow_shared(shared)?;
    }
    let blocks = sms * kernel.blocks_per_sm(THREADS, shared)?;
    let on = (kernel, blocks, tensor_cores);
    let mut report = Report {
        date: day::today(),
        device: facts(gpu, cubin, THREADS),
        blocks,
        mebibytes,
        copy,
        opcodes: Vec::new(),
        steps: Vec::new(),
    };
    for (opcode, what, flops, maker) in programs(size) {
        let bytes = maker.read;
        let placed = Placed::new(stream, on, maker)?;
        let seconds = timed(stream, || placed.launch(stream))?.as_secs_f64();
        let rate = bytes as f64 / seconds / 1e9;
        report.opcodes.push(Line {
            opcode: opcode.to_owned(),
            what,
            bytes,
            microseconds: seconds * 1e6,
            rate,
            of_the_copy: rate / copy,
            teraflops: flops.map(|flops| flops / seconds / 1e12),
        });
    }
    for model in decode::MODELS {
        let model = if mebibytes < WHOLE { model.shrunk(mebibytes, WHOLE) } else { model };
        let found = decode::measure(stream, on, &model)?;
        report.steps.push(Step {
            model: model.called(),
            context: decode::CONTEXT,
            tasks: found.tasks,
            bytes: found.bytes,
            microseconds: found.seconds * 1e6,
            tokens_per_second: 1.0 / found.seconds,
            of_the_copy: found.bytes as f64 / found.seconds / 1e9 / copy,
            token: found.token,
        });
    }
    Ok(report)
}

/// Billions of bytes a second that a plain copy reads and writes.
fn copied(stream: Stream, copy: Kernel, sms: usize, size: usize) -> Result<f64, String> {
    let (from, to) = (Memory::new(size)?, Memory::new(size)?);
    stream.fill(&from, 0x3c)?;
    let words = vec![(size / 16) as u64];
    let blocks = (sms * copy.blocks_per_sm(THREADS, 0)?) as u32;
    let time = timed(stream, || {
        let arguments = vec![vec![from.address()], vec![to.address()], words.clone()];
        stream.launch(copy, blocks, THREADS, 0, arguments)
    })?;
    Ok(2.0 * size as f64 / time.as_secs_f64().max(1e-9) / 1e9)
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

type Measurement = (&'static str, String, Option<f64>, Maker);

/// Programs without waits, each of one opcode.
fn programs(size: usize) -> Vec<Measurement> {
    let mut found: Vec<Measurement> = Vec::new();
    for (name, k, n) in SHAPES {
        found.push(("GEMV_TILE", format!("BF16, {name}: K {k}, N {n}"), None, gemv(size, k, n, None)));
    }
    for (name, qdtype) in [("I8", DType::I8), ("I4", DType::I4)] {
        let what = format!("{name} in groups of 128, gate, up: K 2048, N 8192");
        found.push(("GEMV_TILE", what, None, gemv(size, 2048, 8192, Some(qdtype))));
    }
    // 4096 where all is whole.
    let side = (4096 * size.min(WHOLE << 20) / (WHOLE << 20)).next_multiple_of(128).max(128);
    let (maker, flops) = gemm(side);
    found.push(("GEMM_TILE", format!("BF16, {side} cubed, tiles of 128 by 128"), Some(flops), maker));
    for dim in [64, 128] {
        let what = format!("BF16, 32 heads, 8 of them in the cache, of {dim}; 128 rows a task");
        found.push(("ATTENTION_TILE", what, None, attention(size, dim)));
    }
    for (name, opcode, inputs) in
        [("RMSNORM", Opcode::RmsNorm, 2), ("SILU_MUL", Opcode::SiluMul, 2), ("ADD", Opcode::Add, 2)]
    {
        found.push((name, "BF16, 16 rows of 2048".to_owned(), None, rows(size, opcode, inputs)));
    }
    found
}

/// Copies of a matrix, or the first columns of one that is larger.
fn gemv(size: usize, k: usize, n: usize, qdtype: Option<DType>) -> Maker {
    let mut p = Maker::default();
    let counter = p.counter();
    let bits = match qdtype {
        Some(DType::I4) => 4,
        Some(_) => 8,
        None => 16,
    };
    let n = n.min(size * 8 / (bits * k)) / TILE * TILE;
    let (x, y) = (p.vector(k), p.vector(n));
    for _ in 0..(size * 8 / (bits * k * n.max(1))).max(1) {
        let mut inputs = vec![x];
        if let Some(dtype) = qdtype {
            p.read += n * k * bits / 8 + 2 * n * k / 128;
            inputs.extend([p.buffer(dtype, &[n, k]), p.buffer(DType::BF16, &[n, k / 128])]);
        } else {
            inputs.push(p.weight(n, k));
        }
        for first in (0..n).step_by(TILE) {
            let params = ParamsRecord {
                k: k as i32,
                n_tile: TILE as i32,
                n_off: first as i32,
                qdtype: qdtype.map_or(0, |dtype| dtype.code() as i32),
                group: if qdtype.is_some() { 128 } else { 0 },
                ..ParamsRecord::default()
            };
            p.task(Opcode::GemvTile, &inputs, y, &[], counter, params);
        }
    }
    p
}

/// A product of square matrices, and its operations.
fn gemm(n: usize) -> (Maker, f64) {
    let mut p = Maker::default();
    let counter = p.counter();
    let (x, w, y) = (p.weight(n, n), p.weight(n, n), p.weight(n, n));
    for m_off in (0..n).step_by(128) {
        for n_off in (0..n).step_by(128) {
            let params = ParamsRecord {
                k: n as i32,
                n_tile: 128,
                m_tile: 128,
                n_off: n_off as i32,
                m_off: m_off as i32,
                ..ParamsRecord::default()
            };
            p.task(Opcode::GemmTile, &[x, w], y, &[], counter, params);
        }
    }
    (p, 2.0 * (n as f64).powi(3))
}

/// Windows of caches that nobody reads twice.
fn attention(size: usize, dim: usize) -> Maker {
    const ROWS: usize = 128;
    let mut p = Maker::default();
    let counter = p.counter();
    let rows = (size / (2 * 2 * 8 * dim)).next_multiple_of(ROWS);
    let (q, y) = (p.vector(32 * dim), p.buffer(DType::F32, &[32, dim + 2]));
    let [k, v] = [0, 1].map(|_| p.buffer(DType::BF16, &[rows, 8, dim]));
    p.read = 2 * 2 * rows * 8 * dim;
    for first in (0..rows).step_by(ROWS) {
        let params = ParamsRecord {
            head_dim: dim as i32,
            n_heads: 32,
            n_kv_heads: 8,
            kv_start: first as i32,
            kv_len: ROWS as i32,
            scale: 0.125,
            flags: 2,
            ..ParamsRecord::default()
        };
        p.task(Opcode::AttentionTile, &[q, k, v], y, &[], counter, params);
    }
    p
}

/// Elementwise work, and norms, on rows that nobody reads twice.
fn rows(size: usize, opcode: Opcode, inputs: usize) -> Maker {
    const SHAPE: [usize; 2] = [16, 2048];
    let mut p = Maker::default();
    let counter = p.counter();
    let bytes = 2 * SHAPE[0] * SHAPE[1];
    let normed = opcode == Opcode::RmsNorm;
    let weight = p.vector(SHAPE[1]);
    let params = ParamsRecord { hidden: SHAPE[1] as i32, eps: 1e-5, ..ParamsRecord::default() };
    for _ in 0..size / (3 * bytes) {
        let first = p.buffer(DType::BF16, &SHAPE);
        let second = if normed { weight } else { p.buffer(DType::BF16, &SHAPE) };
        let y = p.buffer(DType::BF16, &SHAPE);
        p.read += if normed { 2 * bytes } else { (inputs + 1) * bytes };
        p.task(opcode, &[first, second], y, &[], counter, params);
    }
    p
}
