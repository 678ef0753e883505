//! The records of a document as a table: which members there are, of which type, and which are required (FMT-03).
//! The model in `model.rs` reads the same records at full speed; a test holds the two together. Companions have tables of
//! their own.

use crate::model::{PagePolicy, SmAssignment};
use crate::names::{BufferKind, DType, MemSpace, Opcode};

/// Type of a JSON value.
pub enum Type {
    /// A string.
    Text,
    /// A string or null.
    NullableText,
    /// True or false.
    Bool,
    /// An integer of 64 bits.
    Int,
    /// An integer or null.
    NullableInt,
    /// Any number.
    Number,
    /// What a wait asks for; a rule of its own says what it may be.
    Threshold,
    /// One of these strings; what they name comes first.
    Name(&'static str, &'static [&'static str]),
    /// Any object.
    Object,
    /// An array of such values.
    Array(&'static Type),
    /// An array or null.
    NullableArray(&'static Type),
    /// An object with these members.
    Record(&'static [Member]),
    /// An object with these members or null.
    NullableRecord(&'static [Member]),
    /// An object whose member names are canonical decimal numbers.
    IntMap,
    /// An object of objects of integers.
    NestedIntMap,
    /// The name of a policy or an object from task ids to SMs.
    SmAssignment,
}

/// A member of a record.
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// Whether it may not be missing.
    pub required: bool,
    /// What it holds.
    pub of: Type,
}

/// A member that may not be missing.
pub const fn required(name: &'static str, of: Type) -> Member {
    Member { name, required: true, of }
}

/// A member that may be missing.
pub const fn optional(name: &'static str, of: Type) -> Member {
    Member { name, required: false, of }
}

use Type::*;

pub(super) const SM_ASSIGNMENT: Type = Name("sm_assignment", SmAssignment::NAMES);

pub(super) const PROGRAM: &[Member] = &[
    required("ir_version", Text),
    required("abi_version", Text),
    optional("meta", Object),
    optional("target", NullableRecord(TARGET)),
    required("buffers", Array(&Record(BUFFER))),
    required("counters", Array(&Record(COUNTER))),
    required("tasks", Array(&Record(TASK))),
    optional("pages", NullableRecord(PAGE_ALLOCATION)),
    optional("config", NullableRecord(CONFIG)),
];

const BUFFER: &[Member] = &[
    required("id", Int),
    required("name", Text),
    required("kind", Name("buffer kind", BufferKind::NAMES)),
    required("dtype", Name("dtype", DType::NAMES)),
    required("shape", Array(&Int)),
    optional("space", Name("memory space", MemSpace::NAMES)),
    optional("source", NullableText),
];

const COUNTER: &[Member] = &[required("id", Int), optional("init", Int), optional("note", Text)];

const TASK: &[Member] = &[
    required("id", Int),
    required("op", Name("opcode", Opcode::NAMES)),
    required("inputs", Array(&Int)),
    required("outputs", Array(&Int)),
    required("out_counter", Int),
    optional("waits", Array(&Record(WAIT))),
    optional("params", Object),
    optional("sm", NullableInt),
    optional("est_bytes", Int),
    optional("est_flops", Int),
    optional("label", Text),
];

const WAIT: &[Member] = &[required("counter", Int), required("threshold", Threshold)];

const PAGE_ALLOCATION: &[Member] =
    &[required("buffer_to_page", IntMap), required("pages", Array(&Record(PAGE)))];

const PAGE: &[Member] = &[
    required("id", Int),
    required("space", Name("memory space", MemSpace::NAMES)),
    required("nbytes", Int),
    optional("live_start", Int),
    optional("live_end", Int),
];

const TARGET: &[Member] = &[
    required("name", Text),
    required("sm_arch", Int),
    required("num_sms", Int),
    required("smem_bytes_per_sm", Int),
    required("smem_bytes_per_block_optin", Int),
    required("regs_per_sm", Int),
    required("max_threads_per_sm", Int),
    required("max_regs_per_thread", Int),
    required("l2_bytes", Int),
    required("hbm_bytes", Int),
    required("hbm_bandwidth_gbs", Number),
    required("fp16_tflops", Number),
    optional("clock_ghz", Number),
    optional("supports_cooperative", Bool),
    optional("wddm_tdr", Bool),
    optional("measured_bw_gbs", Number),
    optional("note", Text),
];

const CONFIG: &[Member] = &[
    optional("tiling", NestedIntMap),
    optional("fusion_grouping", Array(&Array(&Text))),
    optional("sm_assignment", SmAssignment),
    optional("pipelining_depth", Int),
    optional("page_allocation", Name("page allocation policy", PagePolicy::NAMES)),
    optional("threads_per_block", Int),
    optional("smem_bytes_per_block", Int),
];
