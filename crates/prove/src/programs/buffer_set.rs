//! The buffers of a family of programs, and what its tasks can do to them.

use megakernel_ir::model::{Buffer, Counter, IntMap, Page, PageAllocation, Program, Target, Task, Text};
use megakernel_ir::params::{ParamKey, ParamValue, Params};
use megakernel_ir::{BufferKind, CounterId, DType, MemSpace, Number, Opcode, Param, TaskId};

/// What one task does. Buffers are those of the set, by index; a tile is a range of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing (NOP).
    Nothing,
    /// Writes a tile (GEMM_TILE from an input).
    Write(u8, Tile),
    /// Reads a tile (GEMV_TILE with the buffer as its weight, into a buffer of the task's own).
    Read(u8, Tile),
    /// Reads a tile of one buffer and writes the same tile of another (GEMM_TILE).
    Move(u8, u8, Tile),
    /// Copies a buffer whole, element by element (COPY).
    Copy(u8, u8),
    /// Computes a buffer whole from another, not element by element (SOFTMAX).
    Mix(u8, u8),
    /// Changes a buffer in place (GELU).
    InPlace(u8),
    /// Appends rows to the cache (KV_APPEND).
    Append(Tile),
    /// Reads rows of the cache (ATTENTION_TILE, into a buffer of the task's own).
    Attend(Tile),
    /// Writes the cache whole (COPY from an input).
    Fill,
    /// Changes the cache in place (GELU).
    Update,
}

/// First row and number of rows.
pub type Tile = (u8, u8);

/// Every tile of so many rows.
pub fn tiles(rows: u8) -> Vec<Tile> {
    (0..rows).flat_map(|first| (1..=rows - first).map(move |count| (first, count))).collect()
}

impl Action {
    /// The shared buffers that it uses, in order.
    pub fn uses(self) -> impl Iterator<Item = u8> {
        let (first, second) = match self {
            Action::Write(buffer, _) | Action::Read(buffer, _) | Action::InPlace(buffer) => {
                (Some(buffer), None)
            }
            Action::Move(from, to, _) | Action::Copy(from, to) | Action::Mix(from, to) => {
                (Some(from), Some(to))
            }
            Action::Nothing | Action::Append(_) | Action::Attend(_) | Action::Fill | Action::Update => {
                (None, None)
            }
        };
        first.into_iter().chain(second)
    }
}

/// The storage of a family of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSet {
    /// Rows of every shared buffer and of the cache.
    pub rows: u8,
    /// How many shared buffers there are.
    pub shared: u8,
    /// Whether there is a cache.
    pub cache: bool,
    /// How the storage differs from the ordinary.
    pub storage: Storage,
}

/// Where shared buffers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Each on its own.
    Own,
    /// All on one page that has room for them.
    OnePage,
    /// On one page; the second has elements of half the width.
    MixedWidths,
    /// On one page, which has room for the first row only.
    SmallPage,
    /// On a page that does not exist.
    NoPage,
    /// On a page of another memory space.
    OtherSpace,
    /// The cache is on a page.
    PagedCache,
    /// Each on its own, in the shared memory of an SM.
    OnChip,
    /// Each on its own, and the target has one SM.
    OneSm,
}

const TARGET: Target<'static> = Target {
    name: Text(std::borrow::Cow::Borrowed("one-sm")),
    sm_arch: 80,
    num_sms: 1,
    smem_bytes_per_sm: 1024,
    smem_bytes_per_block_optin: 1024,
    regs_per_sm: 1024,
    max_threads_per_sm: 1024,
    max_regs_per_thread: 255,
    l2_bytes: 1024,
    hbm_bytes: 1024,
    hbm_bandwidth_gbs: Number::Int(1),
    fp16_tflops: Number::Int(1),
    clock_ghz: Number::Int(0),
    supports_cooperative: true,
    wddm_tdr: false,
    measured_bw_gbs: megakernel_ir::model::Given(None),
    note: Text(std::borrow::Cow::Borrowed("")),
    extra: Vec::new(),
};

/// The input that fills tiles, `[rows, 1]`.
const INPUT: i64 = 0;
/// A constant of one element, `[1, 1]`.
const ONE: i64 = 1;
/// The first shared buffer.
const SHARED: i64 = 2;

impl BufferSet {
    /// A set of so many activations of so many rows.
    pub const fn activations(shared: u8, rows: u8, storage: Storage) -> BufferSet {
        BufferSet { rows, shared, cache: false, storage }
    }

    /// A set with a cache of so many rows only.
    pub const fn cache(rows: u8) -> BufferSet {
        BufferSet { rows, shared: 0, cache: true, storage: Storage::Own }
    }

    /// Whether exchanging shared buffers changes nothing.
    pub fn is_symmetric(&self) -> bool {
        self.storage != Storage::MixedWidths
    }

    fn cache_id(&self) -> i64 {
        SHARED + i64::from(self.shared)
    }

    /// Builds the program around tasks: everything but them and the counters.
    pub fn program(&self, tasks: usize) -> Program<'static> {
        let rows = i64::from(self.rows);
        let mut buffers = Vec::new();
        let mut add = |name: &'static str, kind, shape: &[i64], dtype, space| {
            buffers.push(Buffer {
                id: buffers.len() as i64,
                name: Text::from(name),
                kind,
                dtype,
                shape: shape.iter().copied().collect(),
                space,
                source: None,
                extra: Vec::new(),
            });
        };
        add("in", BufferKind::IoInput, &[rows, 1], DType::F32, MemSpace::Hbm);
        add("one", BufferKind::Const, &[1, 1], DType::F32, MemSpace::Hbm);
        for index in 0..self.shared {
            let name = ["x", "y", "z"].get(usize::from(index)).copied().unwrap_or("more");
            let narrow = index == 1 && self.storage == Storage::MixedWidths;
            let space = if self.storage == Storage::OnChip { MemSpace::Smem } else { MemSpace::Hbm };
            let dtype = if narrow { DType::F16 } else { DType::F32 };
            add(name, BufferKind::Activation, &[rows, 1], dtype, space);
        }
        if self.cache {
            add("cache", BufferKind::KvCache, &[rows, 1, 1], DType::F32, MemSpace::Hbm);
        }
        for _ in 0..tasks {
            // Every task has a buffer of its own, so that ids stay when actions change.
            let shape: &[i64] = if self.cache { &[1] } else { &[1, rows] };
            add("own", BufferKind::Activation, shape, DType::F32, MemSpace::Hbm);
        }
        let target = (self.storage == Storage::OneSm).then_some(TARGET);
        Program {
            ir_version: Text::from(megakernel_ir::IR_VERSION),
            abi_version: Text::from(megakernel_ir::ABI_VERSION),
            meta: Default::default(),
            target,
            buffers,
            counters: Vec::new(),
            tasks: Vec::new(),
            pages: self.pages(),
            config: None,
            extra: Vec::new(),
        }
    }

    fn pages(&self) -> Option<PageAllocation<'static>> {
        let rows = i64::from(self.rows);
        let (page, nbytes, space) = match self.storage {
            Storage::Own | Storage::OnChip | Storage::OneSm => return None,
            Storage::OnePage | Storage::MixedWidths | Storage::PagedCache => (0, 4 * rows, MemSpace::Hbm),
            Storage::SmallPage => (0, 4, MemSpace::Hbm),
            Storage::NoPage => (1, 4 * rows, MemSpace::Hbm),
            Storage::OtherSpace => (0, 4 * rows, MemSpace::GlobalScratch),
        };
        let mapped = if self.storage == Storage::PagedCache {
            vec![(self.cache_id(), page)]
        } else {
            (0..i64::from(self.shared)).map(|buffer| (SHARED + buffer, page)).collect()
        };
        let page = Page { id: 0, space, nbytes, live_start: -1, live_end: -1, extra: Vec::new() };
        Some(PageAllocation { buffer_to_page: IntMap(mapped), pages: vec![page], extra: Vec::new() })
    }

    /// The task that does this, without its place in the order.
    pub fn task(&self, id: TaskId, action: Action) -> Task<'static> {
        let shared = |buffer: u8| SHARED + i64::from(buffer);
        let own = SHARED + i64::from(self.shared) + i64::from(self.cache) + i64::from(id);
        let int = |param, value: u8| (param, Number::Int(i64::from(value)));
        let tile = |(first, count): Tile| {
            vec![
                int(Param::K, 1),
                int(Param::NTile, 1),
                int(Param::NOff, 0),
                int(Param::MTile, count),
                int(Param::MOff, first),
            ]
        };
        let (op, inputs, output, params) = match action {
            Action::Nothing => (Opcode::Nop, vec![], None, vec![]),
            Action::Write(to, rows) => (Opcode::GemmTile, vec![INPUT, ONE], Some(shared(to)), tile(rows)),
            Action::Move(from, to, rows) => {
                (Opcode::GemmTile, vec![shared(from), ONE], Some(shared(to)), tile(rows))
            }
            Action::Read(from, (first, count)) => {
                let params = vec![int(Param::K, 1), int(Param::NTile, count), int(Param::NOff, first)];
                (Opcode::GemvTile, vec![ONE, shared(from)], Some(own), params)
            }
            Action::Copy(from, to) => (Opcode::Copy, vec![shared(from)], Some(shared(to)), vec![]),
            Action::Mix(from, to) => (Opcode::Softmax, vec![shared(from)], Some(shared(to)), vec![]),
            Action::InPlace(buffer) => (Opcode::Gelu, vec![shared(buffer)], Some(shared(buffer)), vec![]),
            Action::Fill => (Opcode::Copy, vec![INPUT], Some(self.cache_id()), vec![]),
            Action::Update => (Opcode::Gelu, vec![self.cache_id()], Some(self.cache_id()), vec![]),
            Action::Append((first, count)) => {
                // The rows of `in` or the one of `one`: an append is of one row or of all.
                let new = if count == self.rows { INPUT } else { ONE };
                (
                    Opcode::KvAppend,
                    vec![new, self.cache_id()],
                    Some(self.cache_id()),
                    vec![int(Param::Pos, first)],
                )
            }
            Action::Attend((first, count)) => {
                let params = vec![
                    int(Param::HeadDim, 1),
                    int(Param::KvStart, first),
                    int(Param::KvLen, count),
                    (Param::Scale, Number::Float(1.0)),
                    int(Param::NHeads, 1),
                    int(Param::NKvHeads, 1),
                ];
                (Opcode::AttentionTile, vec![ONE, self.cache_id(), self.cache_id()], Some(own), params)
            }
        };
        let params = params
            .into_iter()
            .map(|(param, number)| (ParamKey::Known(param), ParamValue::Number(number)))
            .collect();
        Task {
            id: id.into(),
            op,
            inputs: inputs.into_iter().collect(),
            outputs: output.into_iter().collect(),
            out_counter: 0,
            waits: Vec::new(),
            params: Params(params),
            sm: None,
            est_bytes: 0,
            est_flops: 0,
            label: Text::from(""),
            extra: Vec::new(),
        }
    }
}

/// A counter with this id.
pub fn counter(id: CounterId) -> Counter<'static> {
    Counter { id: id.into(), init: 0, note: Text::from(""), extra: Vec::new() }
}
