//! The records of a document as a table: which members there are, of which type, and which are required (FMT-03).
//! The model in `model.rs` reads the same records at full speed; a test holds the two together.

use crate::model::{PagePolicy, SmAssignment};
use crate::names::{BufferKind, DType, MemSpace, Opcode};
use crate::task_graph::{Mode, TensorKind};

/// Type of a JSON value.
pub(super) enum Type {
    Text,
    NullableText,
    Bool,
    Int,
    NullableInt,
    Number,
    Threshold,
    /// One of these strings.
    Name(&'static str, &'static [&'static str]),
    /// Any object.
    Object,
    Array(&'static Type),
    NullableArray(&'static Type),
    Record(&'static [Member]),
    NullableRecord(&'static [Member]),
    /// An object whose member names are canonical decimal numbers.
    IntMap,
    NestedIntMap,
    SmAssignment,
}

/// A member of a record.
pub(super) struct Member {
    pub name: &'static str,
    pub required: bool,
    pub of: Type,
}

const fn required(name: &'static str, of: Type) -> Member {
    Member { name, required: true, of }
}

const fn optional(name: &'static str, of: Type) -> Member {
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

pub(super) const TASK_GRAPH: &[Member] = &[
    required("all_events", Array(&Record(EVENT))),
    required("all_tasks", Array(&Record(GRAPH_TASK))),
    required("first_tasks", Array(&Int)),
];

const EVENT: &[Member] = &[
    required("event_type", Int),
    required("first_task_id", Int),
    required("last_task_id", Int),
    required("num_triggers", Int),
];

const GRAPH_TASK: &[Member] = &[
    required("dependent_event", Int),
    optional("expert_offset", Int),
    required("inputs", NullableArray(&Record(TILE))),
    optional("kv_idx", Int),
    optional("merge_task_offset", Int),
    required("outputs", NullableArray(&Record(TILE))),
    optional("request_id", Int),
    optional("task_offset", Int),
    required("task_type", Int),
    required("trigger_event", Int),
    required("variant_id", Int),
];

const TILE: &[Member] = &[
    required("base_ptr", Text),
    required("data_type", Int),
    required("dims", Array(&Int)),
    required("offset", Int),
    required("strides", Array(&Int)),
];

pub(super) const SYSTEM: &[Member] =
    &[required("ranks", Array(&Record(TASK_GRAPH))), optional("kernel_graph", NullableRecord(KERNEL_GRAPH))];

pub(super) const KERNEL_GRAPH: &[Member] =
    &[required("tensors", Array(&Record(TENSOR))), required("operators", Array(&Record(OPERATOR)))];

const TENSOR: &[Member] = &[
    required("name", Text),
    required("data_type", Int),
    required("dims", Array(&Int)),
    optional("io", Name("kind of tensor", TensorKind::NAMES)),
    optional("num_groups", Int),
    optional("parts", Array(&Text)),
];

const OPERATOR: &[Member] = &[
    required("name", Text),
    required("task_type", Int),
    required("grid", Array(&Int)),
    required("inputs", Array(&NullableRecord(OPERAND))),
    required("outputs", Array(&Record(OPERAND))),
    optional("params", Object),
];

const OPERAND: &[Member] = &[required("tensor", Text), required("map", Array(&Int))];

pub(super) const TRANSLATION: &[Member] = &[
    required("kernel_graph", Record(KERNEL_GRAPH)),
    optional("ranks", Int),
    optional("rank", Int),
    optional("mode", Name("mode of translation", Mode::NAMES)),
];
