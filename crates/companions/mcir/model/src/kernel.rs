//! Kernel IR (clause MCI-28). Names of tensors, allocations, buffers and integers stand once in [`Kernels::names`], and records refer to them by position.

use megakernel_ir::decode::{Decode, Intern, Place};
use serde_json::Value as Json;

use crate::decode::{Decoder, Fault, decoded};
use crate::document::{Dtype, Index, Init, Memory, Op};

/// Kernels that run one after the other.
#[derive(Clone, Debug, Default)]
pub struct Kernels {
    /// Every name that is used.
    pub names: Vec<String>,
    /// In global memory, in the order of the names.
    pub tensors: Vec<Tensor>,
    /// Tensors that are there before.
    pub inputs: Vec<u32>,
    /// Tensors that are asked for.
    pub outputs: Vec<u32>,
    /// In the order in which they run.
    pub kernels: Vec<Kernel>,
}

/// A value in global memory.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its name.
    pub name: u32,
    /// Extents, outermost first.
    pub shape: Vec<i64>,
    /// Of its elements.
    pub dtype: Dtype,
}

/// A kernel: what each of its blocks does.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its id.
    pub id: u32,
    /// The loops over its blocks, outermost first.
    pub blocks: Vec<BlockLoop>,
    /// By name, in the order of the names.
    pub allocations: Vec<Allocation>,
    /// By name, in the order of the names.
    pub buffers: Vec<Buffer>,
    /// What a block runs.
    pub body: Vec<Instruction>,
}

/// A loop over blocks: from 0 to below an extent.
#[derive(Clone, Copy, Debug)]
pub struct BlockLoop {
    /// The name of its integer.
    pub axis: u32,
    /// All values are below it.
    pub to: i64,
    /// From one value to the next.
    pub step: i64,
}

/// Memory of a block.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// Its name.
    pub name: u32,
    /// Shared memory or registers.
    pub memory: Memory,
    /// Its size.
    pub bytes: i64,
}

/// Tiles of one shape in an allocation.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name.
    pub name: u32,
    /// Where it lies.
    pub allocation: u32,
    /// The byte at which it begins there.
    pub offset: i64,
    /// Extents of a slot, outermost first.
    pub shape: Vec<i64>,
    /// Of its elements.
    pub dtype: Dtype,
    /// How many slots there are, one behind the other.
    pub slots: i64,
}

/// A part of a slot, from its first element on.
#[derive(Clone, Debug)]
pub struct View {
    /// The buffer.
    pub buffer: u32,
    /// Modulo the slots of the buffer.
    pub slot: Index,
    /// Extents; the whole slot where there are none.
    pub extent: Option<Vec<Index>>,
}

/// What the threads of a block do.
#[derive(Clone, Debug)]
pub enum Instruction {
    /// Runs its body once for each value.
    Loop(Loop),
    /// Runs its body if none of these is negative.
    If(Vec<Index>, Vec<Instruction>),
    /// Names the largest or the least of some integers.
    Let(u32, Extreme, Vec<Index>),
    /// Takes memory.
    Alloc(u32),
    /// Gives it back.
    Free(u32),
    /// All elements become this.
    Fill(Init, View),
    /// From a tensor.
    Load(u32, Vec<Index>, View),
    /// The same, without waiting for it.
    Prefetch(u32, Vec<Index>, View),
    /// To a tensor.
    Store(u32, Vec<Index>, View),
    /// Until what is on its way to slots of buffers has landed.
    Wait(Vec<(u32, Index)>),
    /// All threads of the block meet.
    Sync,
    /// Does what a `Compute`, a `Reduce` or an `UpdateState` does.
    Compute(Op, Vec<View>, Vec<View>),
}

/// A loop within a block.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The name of its integer.
    pub axis: u32,
    /// The name of the number of the iteration, from 0 on.
    pub number: Option<u32>,
    /// The first value.
    pub from: Index,
    /// All values are below it.
    pub to: Index,
    /// From one value to the next.
    pub step: i64,
    /// What is repeated.
    pub body: Vec<Instruction>,
}

/// Which of some integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The least.
    Min,
    /// The largest.
    Max,
}

const OPS: &[&str] = &[
    "loop", "if", "let", "alloc", "free", "fill", "load", "prefetch", "store", "wait", "sync", "compute",
    "reduce", "update",
];

/// Reads Kernel IR.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read_kernels(value: &Json) -> Result<Kernels, Vec<Fault>> {
    decoded(|decoder| decoder.kernels(&Place::root(value)))
}

impl Decoder {
    fn kernels(&mut self, at: &Place<'_>) -> Option<Kernels> {
        self.object(at)?;
        let tensors = self.required(at, "tensors", |decoder, at| Some(decoder.map(at, Decoder::tensor)));
        let inputs = self.required(at, "inputs", Decoder::names);
        let outputs = self.required(at, "outputs", Decoder::names);
        let kernels = self.required(at, "kernels", |decoder, at| decoder.array(at, Decoder::kernel));
        Some(Kernels {
            names: self.met_names(),
            tensors: tensors?,
            inputs: inputs?,
            outputs: outputs?,
            kernels: kernels?,
        })
    }

    fn integers(&mut self, at: &Place<'_>) -> Option<Vec<i64>> {
        self.array(at, Decoder::integer)
    }

    fn dtype(&mut self, at: &Place<'_>) -> Option<Dtype> {
        self.named(at, "dtype", Dtype::ALL, Dtype::name)
    }

    fn tensor(&mut self, name: u32, at: &Place<'_>) -> Option<Tensor> {
        self.object(at)?;
        let shape = self.required(at, "shape", Decoder::integers);
        let dtype = self.required(at, "dtype", Decoder::dtype);
        Some(Tensor { name, shape: shape?, dtype: dtype? })
    }

    fn kernel(&mut self, at: &Place<'_>) -> Option<Kernel> {
        self.object(at)?;
        let id = self.required(at, "id", Decoder::name);
        let blocks = self.list(at, "blocks", Decoder::block_loop);
        let allocations =
            self.required(at, "allocations", |decoder, at| Some(decoder.map(at, Decoder::allocation)));
        let buffers = self.required(at, "buffers", |decoder, at| Some(decoder.map(at, Decoder::buffer)));
        let body = self.required(at, "body", Decoder::instructions);
        Some(Kernel { id: id?, blocks, allocations: allocations?, buffers: buffers?, body: body? })
    }

    fn block_loop(&mut self, at: &Place<'_>) -> Option<BlockLoop> {
        self.object(at)?;
        let axis = self.required(at, "axis", Decoder::name);
        let to = self.required(at, "to", Decoder::integer);
        let step = self.required(at, "step", Decoder::integer);
        Some(BlockLoop { axis: axis?, to: to?, step: step? })
    }

    fn allocation(&mut self, name: u32, at: &Place<'_>) -> Option<Allocation> {
        self.object(at)?;
        let memory = self.required(at, "memory", |decoder, at| {
            decoder.named(at, "memory", &[Memory::Shared, Memory::Register], Memory::name)
        });
        let bytes = self.required(at, "bytes", Decoder::integer);
        Some(Allocation { name, memory: memory?, bytes: bytes? })
    }

    fn buffer(&mut self, name: u32, at: &Place<'_>) -> Option<Buffer> {
        self.object(at)?;
        let allocation = self.required(at, "allocation", Decoder::name);
        let offset = self.optional(at, "offset", Decoder::integer).unwrap_or(0);
        let shape = self.required(at, "shape", Decoder::integers);
        let dtype = self.required(at, "dtype", Decoder::dtype);
        let slots = self.optional(at, "slots", Decoder::integer).unwrap_or(1);
        Some(Buffer { name, allocation: allocation?, offset, shape: shape?, dtype: dtype?, slots })
    }

    fn view(&mut self, at: &Place<'_>) -> Option<View> {
        self.object(at)?;
        let buffer = self.required(at, "buffer", Decoder::name);
        let slot = self.optional(at, "slot", Decoder::index).unwrap_or_default();
        let extent = self.optional(at, "extent", |decoder, at| decoder.array(at, Decoder::index));
        Some(View { buffer: buffer?, slot, extent })
    }

    fn views(&mut self, at: &Place<'_>) -> Option<Vec<View>> {
        self.array(at, Decoder::view)
    }

    fn indices(&mut self, at: &Place<'_>) -> Option<Vec<Index>> {
        self.array(at, Decoder::index)
    }

    fn instructions(&mut self, at: &Place<'_>) -> Option<Vec<Instruction>> {
        self.array(at, Decoder::instruction)
    }

    fn waited(&mut self, at: &Place<'_>) -> Option<(u32, Index)> {
        self.object(at)?;
        let buffer = self.required(at, "buffer", Decoder::name);
        Some((buffer?, self.optional(at, "slot", Decoder::index).unwrap_or_default()))
    }

    fn instruction(&mut self, at: &Place<'_>) -> Option<Instruction> {
        self.object(at)?;
        let op = self.required(at, "op", |decoder, at| decoder.named(at, "op", OPS, |name| name))?;
        Some(match op {
            "loop" => {
                let axis = self.required(at, "axis", Decoder::name);
                let number = self.nullable(at, "number", Decoder::name);
                let from = self.optional(at, "from", Decoder::index).unwrap_or_default();
                let to = self.required(at, "to", Decoder::index);
                let step = self.required(at, "step", Decoder::integer);
                let body = self.required(at, "body", Decoder::instructions);
                Instruction::Loop(Loop { axis: axis?, number, from, to: to?, step: step?, body: body? })
            }
            "if" => {
                let all = self.required(at, "all", Decoder::indices);
                Instruction::If(all?, self.required(at, "body", Decoder::instructions)?)
            }
            "let" => {
                let name = self.required(at, "name", Decoder::name);
                let extreme = self.required(at, "fn", |decoder, at| {
                    let all = [Extreme::Min, Extreme::Max];
                    let name = |which| if which == Extreme::Min { "min" } else { "max" };
                    decoder.named(at, "function of integers", &all, name)
                });
                Instruction::Let(name?, extreme?, self.required(at, "of", Decoder::indices)?)
            }
            "alloc" => Instruction::Alloc(self.required(at, "allocation", Decoder::name)?),
            "free" => Instruction::Free(self.required(at, "allocation", Decoder::name)?),
            "fill" => {
                let value = self.required(at, "value", Decoder::initial);
                Instruction::Fill(value?, self.required(at, "out", Decoder::view)?)
            }
            "load" | "prefetch" | "store" => {
                let tensor = self.required(at, "tensor", Decoder::name);
                let indices = self.at(at);
                let view = self.required(at, if op == "store" { "in" } else { "out" }, Decoder::view);
                let made = match op {
                    "load" => Instruction::Load,
                    "prefetch" => Instruction::Prefetch,
                    _ => Instruction::Store,
                };
                made(tensor?, indices?, view?)
            }
            "wait" => {
                Instruction::Wait(self.required(at, "for", |decoder, at| decoder.array(at, Decoder::waited))?)
            }
            "sync" => Instruction::Sync,
            _ => {
                let work = match op {
                    "compute" => self.function(at).map(Op::Compute),
                    "reduce" => self.fold(at).map(|(fold, axis)| Op::Reduce(fold, axis)),
                    _ => self.update(at).map(Op::UpdateState),
                };
                let ins = self.required(at, "in", Decoder::views);
                let outs = self.required(at, "out", Decoder::views);
                Instruction::Compute(work?, ins?, outs?)
            }
        })
    }
}
