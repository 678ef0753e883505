//! The data model of clauses DAT-01 to DAT-08: a program as its JSON document states it, borrowed from the text.
//!
//! Reading checks the shape of the records and nothing else: ids and references may be wrong here. So they are `i64`, which holds
//! any number that a document writes; what class S has judged has the types of [`crate::ids`].

use serde_json::value::RawValue;
use smallvec::SmallVec;

use crate::names::{BufferKind, DType, MemSpace, Opcode};
use crate::params::{Number, Params};
use crate::record;

/// Members that this version does not know, kept as they were written.
pub type Extra<'a> = Vec<(Text<'a>, &'a RawValue)>;

record! {
    /// A complete schedule of one launch (clause DAT-01).
    pub struct Program {
        /// Format version, `MAJOR.MINOR[.PATCH]`.
        ir_version: Text<'a>, required;
        /// ABI version, `MAJOR.MINOR`.
        abi_version: Text<'a>, required;
        /// Provenance; any JSON object.
        meta: Meta<'a>, default Meta::default();
        /// The GPU, as data.
        target: Option<Target<'a>>, default None;
        /// Every named tensor; the id of a buffer is its index.
        buffers: Vec<Buffer<'a>>, required;
        /// Every counter; the id of a counter is its index.
        counters: Vec<Counter<'a>>, required;
        /// The tasks; list order is queue order within an SM.
        tasks: Vec<Task<'a>>, required;
        /// Binding of activations to storage.
        pages: Option<PageAllocation<'a>>, default None;
        /// The search point that this program was lowered from.
        config: Option<ScheduleConfig<'a>>, default None;
    }
}

record! {
    /// A named tensor (clause DAT-03).
    pub struct Buffer {
        /// Equal to the index.
        id: i64, required;
        /// Name; IO buffers and KV caches are bound by it.
        name: Text<'a>, required;
        /// What it is for.
        kind: BufferKind, required;
        /// Element type.
        dtype: DType, required;
        /// Extents, outermost first; row-major.
        shape: SmallVec<[i64; 4]>, required;
        /// Where it lives.
        space: MemSpace, default MemSpace::Hbm;
        /// Key in the model's state, for WEIGHT and CONST.
        source: Option<Text<'a>>, default None;
    }
}

record! {
    /// A synchronisation counter (clause DAT-05).
    pub struct Counter {
        /// Equal to the index.
        id: i64, required;
        /// Value at launch; zero.
        init: i64, default 0;
        /// For people.
        note: Text<'a>, default Text::from("");
    }
}

record! {
    /// A precondition of a task: the counter has reached the threshold (clause DAT-07).
    pub struct Wait {
        /// Id of the counter.
        counter: i64, required;
        /// At least 1.
        threshold: i64, required;
    }
}

record! {
    /// One instruction (clause DAT-06).
    pub struct Task {
        /// Equal to the index.
        id: i64, required;
        /// What it computes.
        op: Opcode, required;
        /// Ids of the buffers that it reads.
        inputs: SmallVec<[i64; 4]>, required;
        /// Ids of the buffers that it writes.
        outputs: SmallVec<[i64; 2]>, required;
        /// The counter that it increments by 1 when it finishes.
        out_counter: i64, required;
        /// What it waits for; all of it.
        waits: Vec<Wait<'a>>, default Vec::new();
        /// Scalars of the opcode.
        params: Params<'a>, default Params::default();
        /// The SM whose queue holds it.
        sm: Option<i64>, default None;
        /// Cost hint.
        est_bytes: i64, default 0;
        /// Cost hint.
        est_flops: i64, default 0;
        /// For people.
        label: Text<'a>, default Text::from("");
    }
}

record! {
    /// Binding of buffers to pages (clause PAG-01).
    pub struct PageAllocation {
        /// Buffer id to page id, in document order.
        buffer_to_page: IntMap, required;
        /// The pages; the id of a page is its index.
        pages: Vec<Page<'a>>, required;
    }
}

record! {
    /// A slot of scratch storage (clause PAG-01).
    pub struct Page {
        /// Equal to the index.
        id: i64, required;
        /// Where it lives.
        space: MemSpace, required;
        /// Size in bytes.
        nbytes: i64, required;
        /// Hint, never trusted.
        live_start: i64, default -1;
        /// Hint, never trusted.
        live_end: i64, default -1;
    }
}

record! {
    /// A GPU as data (clause TGT-01). Sizes in bytes unless said otherwise.
    pub struct Target {
        /// Name, such as `h100`.
        name: Text<'a>, required;
        /// Compute capability times ten.
        sm_arch: i64, required;
        /// Number of SMs.
        num_sms: i64, required;
        /// Shared memory of an SM.
        smem_bytes_per_sm: i64, required;
        /// Largest dynamic shared memory of a block that opts in.
        smem_bytes_per_block_optin: i64, required;
        /// 32-bit registers of an SM.
        regs_per_sm: i64, required;
        /// Resident threads of an SM.
        max_threads_per_sm: i64, required;
        /// Registers that one thread can have.
        max_regs_per_thread: i64, required;
        /// L2 cache.
        l2_bytes: i64, required;
        /// Device memory.
        hbm_bytes: i64, required;
        /// Peak bandwidth of the device memory in GB/s (1e9 bytes).
        hbm_bandwidth_gbs: Number, required;
        /// Peak dense FP16 rate in TFLOP/s.
        fp16_tflops: Number, required;
        /// SM clock in GHz; 0 if unknown.
        clock_ghz: Number, default Number::Float(0.0);
        /// Whether it can launch cooperative kernels.
        supports_cooperative: bool, default true;
        /// Whether a display watchdog ends long kernels.
        wddm_tdr: bool, default false;
        /// Measured bandwidth in GB/s, where someone measured it.
        measured_bw_gbs: Given<Number>, if_present;
        /// For people.
        note: Text<'a>, default Text::from("");
    }
}

record! {
    /// A point of the schedule search space (clause TGT-02).
    pub struct ScheduleConfig {
        /// Tile sizes per kind of operation.
        tiling: NestedIntMap<'a>, default NestedIntMap::default();
        /// Groups of operations fused into one task group.
        fusion_grouping: Vec<Vec<Text<'a>>>, default Vec::new();
        /// How tasks are assigned to SMs.
        sm_assignment: SmAssignment, default SmAssignment::LoadBalance;
        /// Instructions ahead for which weights are prefetched.
        pipelining_depth: i64, default 2;
        /// How activations are bound to pages.
        page_allocation: PagePolicy, default PagePolicy::GraphColor;
        /// Block size.
        threads_per_block: i64, default 256;
        /// Dynamic shared memory of a block in bytes.
        smem_bytes_per_block: i64, default 0;
    }
}

pub use crate::maps::{Given, IntMap, Meta, NestedIntMap, PagePolicy, SmAssignment};
pub use crate::text::Text;

impl Buffer<'_> {
    /// Number of elements, or nothing where an extent is below 1 or the product leaves 64 bits (rule S20).
    pub fn numel(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |product, &extent| {
            let extent = u64::try_from(extent).ok().filter(|&extent| extent > 0)?;
            product.checked_mul(extent)
        })
    }

    /// Size in bytes, or nothing where it or the number of elements leaves 63 bits (rule S20).
    pub fn nbytes(&self) -> Option<i64> {
        let numel = self.numel().filter(|&numel| i64::try_from(numel).is_ok())?;
        i64::try_from(self.dtype.nbytes(numel)).ok()
    }
}
