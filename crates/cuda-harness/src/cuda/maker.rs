//! Programs made for measuring: records as the ABI has them, on memory with random contents.

use megakernel_abi::{Address, BufferRecord, InstructionRecord, ParamsRecord, ProgramRecord, Record};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::{DType, Opcode};

use super::gpu::{Kernel, Memory, Stream};
use super::launches::{Tables, words};
use super::{THREADS, shared_bytes};

/// A program in the making. Buffers have offsets in place of addresses until all are known.
#[derive(Default)]
pub(super) struct Maker {
    pub(super) buffers: Vec<BufferRecord>,
    /// Its tasks.
    pub(super) tasks: Vec<InstructionRecord>,
    pub(super) size: usize,
    /// Bytes that a step reads at least.
    pub(super) read: usize,
    /// Tasks that increment each counter.
    counters: Vec<i32>,
}

impl Maker {
    pub(super) fn buffer(&mut self, dtype: DType, shape: &[usize]) -> i32 {
        let mut record = BufferRecord {
            ptr: Address(self.size as u64),
            numel: shape.iter().product::<usize>() as i64,
            rank: shape.len() as i32,
            dtype: dtype.code() as i32,
            shape: [1; 4],
            stride: [1; 4],
            ..BufferRecord::default()
        };
        let mut stride = record.numel;
        for (at, extent) in shape.iter().enumerate().take(4) {
            stride /= *extent as i64;
            record.shape[at] = *extent as i64;
            record.stride[at] = stride;
        }
        let bytes = dtype.nbytes(record.numel as u64);
        self.size = (self.size + usize::try_from(bytes).unwrap_or(usize::MAX / 2)).next_multiple_of(256);
        self.buffers.push(record);
        self.buffers.len() as i32 - 1
    }

    pub(super) fn vector(&mut self, n: usize) -> i32 {
        self.buffer(DType::BF16, &[1, n])
    }

    pub(super) fn weight(&mut self, n: usize, k: usize) -> i32 {
        self.read += 2 * n * k;
        self.buffer(DType::BF16, &[n, k])
    }

    /// A task that begins when all tasks of some counters are done, and counts for one.
    pub(super) fn task(
        &mut self,
        op: Opcode,
        ins: &[i32],
        out: i32,
        after: &[i32],
        counter: i32,
        params: ParamsRecord,
    ) {
        let mut record = InstructionRecord {
            op: op.code() as i32,
            n_inputs: ins.len() as i32,
            n_outputs: 1,
            n_waits: after.len() as i32,
            outputs: [out, 0, 0, 0],
            out_counter: counter,
            params,
            ..InstructionRecord::default()
        };
        record.inputs.iter_mut().zip(ins).for_each(|(to, id)| *to = *id);
        for (at, counter) in after.iter().enumerate().take(8) {
            record.wait_counter[at] = *counter;
            record.wait_threshold[at] = self.counters.get(*counter as usize).copied().unwrap_or(0);
        }
        if let Some(count) = self.counters.get_mut(counter as usize) {
            *count += 1;
        }
        self.tasks.push(record);
    }

    pub(super) fn counter(&mut self) -> i32 {
        self.counters.push(0);
        self.counters.len() as i32 - 1
    }

    /// One task with a counter of its own.
    pub(super) fn alone(
        &mut self,
        op: Opcode,
        ins: &[i32],
        out: i32,
        after: &[i32],
        params: ParamsRecord,
    ) -> i32 {
        let counter = self.counter();
        self.task(op, ins, out, after, counter, params);
        counter
    }
}

/// A program on the GPU.
pub(super) struct Placed {
    memory: Memory,
    tables: Tables,
    program: ProgramRecord,
    kernel: Kernel,
    blocks: usize,
    shared: u32,
    _records: [Memory; 2],
}

impl Placed {
    /// Buffers get random contents, tasks their queues in turns.
    pub(super) fn new(
        stream: Stream,
        (kernel, blocks, tensor_cores): (Kernel, usize, bool),
        mut maker: Maker,
    ) -> Result<Placed, String> {
        let memory = Memory::new(maker.size)?;
        // One pattern again and again, of a length that no matrix has.
        let pattern = random_weights(maker.size.min((16 << 20) + 512));
        for at in (0..maker.size).step_by(pattern.len()) {
            stream.write_at(&memory, at, &pattern)?;
        }
        maker.buffers.iter_mut().for_each(|buffer| buffer.ptr.0 += memory.address());
        let mut queues = vec![Vec::new(); blocks];
        for (id, record) in maker.tasks.iter_mut().enumerate() {
            record.sm = (id % blocks.max(1)) as i32;
            if let Some(queue) = queues.get_mut(record.sm as usize) {
                queue.push(id as i32);
            }
        }
        let tables = Tables::new(stream, &queues, 4 * maker.counters.len().max(1))?;
        let upload = |bytes: Vec<u8>| {
            let memory = Memory::new(bytes.len())?;
            stream.write(&memory, &bytes).map(|()| memory)
        };
        let records = [
            upload(maker.buffers.iter().flat_map(Record::to_bytes).collect())?,
            upload(maker.tasks.iter().flat_map(Record::to_bytes).collect())?,
        ];
        let program = ProgramRecord {
            buffers: Address(records[0].address()),
            n_buffers: maker.buffers.len() as i32,
            instructions: Address(records[1].address()),
            n_instructions: maker.tasks.len() as i32,
            ..tables.program()
        };
        let shared = shared_bytes(THREADS, tensor_cores) as u32;
        Ok(Placed { memory, tables, program, kernel, blocks, shared, _records: records })
    }

    /// Where its buffers lie, one after the other.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Counters as a launch begins with them.
    pub(super) fn reset(&self, stream: Stream) -> Result<(), String> {
        self.tables.reset(stream)
    }

    /// Launches it, and does not wait.
    pub(super) fn launch(&self, stream: Stream) -> Result<(), String> {
        // No states, no delays, no places.
        let arguments = vec![words(&self.program), vec![0], vec![0], vec![0]];
        stream.launch(self.kernel, self.blocks as u32, THREADS, self.shared, arguments)
    }
}

/// Numbers of BF16 with magnitudes from 2^-9 to 2^-5, of either sign.
fn random_weights(bytes: usize) -> Vec<u8> {
    let mut prng = SplitMix64::new(1);
    (0..bytes / 2)
        .flat_map(|_| {
            let bits = prng.next_u64();
            let (sign, exponent) = ((bits >> 63) as u16, 118 + (bits >> 40) as u16 % 4);
            (sign << 15 | exponent << 7 | bits as u16 & 0x7f).to_le_bytes()
        })
        .collect()
}
