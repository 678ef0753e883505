//! The records of the documents as tables, from which every violation of a wrong document is found. The records of the model
//! read the same at full speed.

use megakernel_ir::shape::Type::*;
use megakernel_ir::shape::{Member, optional, required};

use crate::{Mode, TensorKind};

pub(crate) const TASK_GRAPH: &[Member] = &[
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

pub(crate) const SYSTEM: &[Member] =
    &[required("ranks", Array(&Record(TASK_GRAPH))), optional("kernel_graph", NullableRecord(KERNEL_GRAPH))];

pub(crate) const KERNEL_GRAPH: &[Member] =
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

pub(crate) const TRANSLATION: &[Member] = &[
    required("kernel_graph", Record(KERNEL_GRAPH)),
    optional("ranks", Int),
    optional("rank", Int),
    optional("mode", Name("mode of translation", Mode::NAMES)),
];
