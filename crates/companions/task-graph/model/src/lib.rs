//! MPK task graphs and the kernel graphs that they are translated from, as their JSON documents state them (clauses
//! TGR-01 to TGR-06 and TGR-11).
//!
//! As in [`megakernel_ir::model`], reading checks the shape of the records and nothing else: ids may be dangling here.

mod generated;
mod shape;
mod types;

use megakernel_ir::model::{Given, Meta, Text};
use megakernel_ir::{Diagnostic, names, read_record, record};
use smallvec::SmallVec;

pub use generated::{SELECTIONS, TASK_TYPES};
pub use types::{Effect, Member, Reach, Role, Select, Selection, TaskType, Version};

/// An event id that names no event. Its bits include those of [`NVSHMEM_TAG`]: compare with this first.
pub const EVENT_INVALID: i64 = 0x7fff_ffff_ffff_fffe;
/// Set in the id of an event that tasks of other ranks trigger.
pub const NVSHMEM_TAG: i64 = 0x1e00_0000_0000_0000;
/// Most inputs of a task.
pub const MAX_INPUTS: usize = 7;
/// Most outputs of a task.
pub const MAX_OUTPUTS: usize = 3;
/// Most outputs of a task in a graph of the earlier version, which has no metadata members.
pub const MAX_OUTPUTS_EARLIER: usize = 2;
/// Most axes of a tensor.
pub const MAX_DIMS: usize = 4;
/// The name of a tensor that is not there.
pub const NULL_TENSOR: &str = "nullptr";

record! {
    /// The task graph of one rank, as `task_graph.json` holds it. The id of a task or event is its index.
    pub struct TaskGraph {
        /// The events.
        all_events: Vec<Event<'a>>, required;
        /// The tasks, 0 and 1 included.
        all_tasks: Vec<Task<'a>>, required;
        /// The tasks that wait for no event.
        first_tasks: Vec<i64>, required;
    }
}

record! {
    /// An event: a counter that tasks increment and tasks wait on (clause TGR-03).
    pub struct Event {
        /// One of [`EventType`].
        event_type: i64, required;
        /// First task of the half-open range that depends on the event.
        first_task_id: i64, required;
        /// End of that range.
        last_task_id: i64, required;
        /// How many triggers it takes in each iteration.
        num_triggers: i64, required;
    }
}

record! {
    /// A task (clause TGR-02). Members that the earlier version does not have are [`Given`].
    pub struct Task {
        /// Id of the event that the task waits for, or [`EVENT_INVALID`].
        dependent_event: i64, required;
        /// A view of the metadata word: all of its lower half.
        expert_offset: Given<i64>, if_present;
        /// What it reads; none where null.
        inputs: Option<Vec<Tile<'a>>>, required;
        /// A view of the metadata word: bits 16 to 31.
        kv_idx: Given<i64>, if_present;
        /// The upper half of the metadata word.
        merge_task_offset: Given<i64>, if_present;
        /// What it writes; none where null.
        outputs: Option<Vec<Tile<'a>>>, required;
        /// A view of the metadata word: bits 0 to 15, signed.
        request_id: Given<i64>, if_present;
        /// A view of the metadata word: all of its lower half.
        task_offset: Given<i64>, if_present;
        /// What the task does (clause TGR-05); unknown numbers are kept.
        task_type: i64, required;
        /// Id of the event that the task triggers when it has finished, or [`EVENT_INVALID`].
        trigger_event: i64, required;
        /// Which of the variants of its type it runs.
        variant_id: i64, required;
    }
}

record! {
    /// A part of a tensor that a task reads or writes (clause TGR-04).
    pub struct Tile {
        /// Name of the tensor, or [`NULL_TENSOR`].
        base_ptr: Text<'a>, required;
        /// Code of the element type; see [`element_bits`].
        data_type: i64, required;
        /// Extents of the tile, outermost first.
        dims: SmallVec<[i64; 4]>, required;
        /// Where the tile begins in the tensor, in bytes.
        offset: i64, required;
        /// Strides of the tensor, in elements.
        strides: SmallVec<[i64; 4]>, required;
    }
}

record! {
    /// The task graphs of all ranks, and perhaps the kernel graph that they are meant to come from.
    pub struct System {
        /// One graph a rank; the rank is the index.
        ranks: Vec<TaskGraph<'a>>, required;
        /// Declares the tensors.
        kernel_graph: Option<KernelGraph<'a>>, default None;
    }
}

record! {
    /// Operators on tensors, before they are cut into tasks (clause TGR-11).
    pub struct KernelGraph {
        /// The tensors, in the order of their declaration.
        tensors: Vec<TensorDecl<'a>>, required;
        /// The operators, in the order of execution.
        operators: Vec<Operator<'a>>, required;
    }
}

record! {
    /// A tensor: contiguous, row-major, and from where it has its memory.
    pub struct TensorDecl {
        /// Name; tiles refer to it.
        name: Text<'a>, required;
        /// Code of the element type.
        data_type: i64, required;
        /// Extents, outermost first.
        dims: SmallVec<[i64; 4]>, required;
        /// Where its memory comes from.
        io: TensorKind, default TensorKind::Torch;
        /// Of a fused tensor: how many groups the parts alternate in.
        num_groups: Given<i64>, if_present;
        /// Of a fused tensor: the names of its parts, which are fused along axis 0.
        parts: Vec<Text<'a>>, default Vec::new();
    }
}

record! {
    /// An operator: a grid of tasks of one type.
    pub struct Operator {
        /// For people and for messages.
        name: Text<'a>, required;
        /// Type of its tasks; 106 is an all-reduce.
        task_type: i64, required;
        /// Extents of the grid, x, y, z.
        grid: SmallVec<[i64; 4]>, required;
        /// What its tasks read; null for an operand that is left out.
        inputs: Vec<Option<Operand<'a>>>, required;
        /// What its tasks write.
        outputs: Vec<Operand<'a>>, required;
        /// What the code of its tasks needs besides shapes, such as `eps`.
        params: Meta<'a>, default Meta::default();
    }
}

record! {
    /// A tensor as an operator uses it.
    pub struct Operand {
        /// Name of the tensor.
        tensor: Text<'a>, required;
        /// For grid axis x, y, z: the axis of the tensor that it cuts, or -1.
        map: SmallVec<[i64; 4]>, required;
    }
}

record! {
    /// A request to translate (clause TGR-16).
    pub struct Translation {
        /// What to translate.
        kernel_graph: KernelGraph<'a>, required;
        /// Number of ranks, 1 to 8.
        ranks: i64, default 1;
        /// The rank whose graph is asked for.
        rank: i64, default 0;
        /// Which translation.
        mode: Mode, default Mode::Exact;
    }
}

names! {
    /// Where the memory of a tensor comes from (clause TGR-11).
    TensorKind, "a kind of tensor" {
        /// The host's.
        Torch = 0 "torch",
        /// Several of the host's tensors, fused along axis 0.
        Fused = 1 "fused",
        /// Allocated for the graph.
        Cuda = 2 "cuda",
        /// Allocated symmetrically on all ranks.
        Nvshmem = 3 "nvshmem",
        /// Allocated, and filled from several of the host's tensors before the first iteration.
        Shuffled = 4 "shuffled",
    }
}

names! {
    /// Which translation is asked for (clause TGR-16).
    Mode, "a mode of translation" {
        /// The algorithm of mid 2025, to the letter.
        Exact = 0 "exact",
        /// Any graph that breaks no rule.
        Sound = 1 "sound",
        /// The algorithm of spring 2026, to the letter.
        ExactCurrent = 2 "exact-current",
    }
}

/// Reads the task graph of one rank (clause TGR-01).
///
/// # Errors
/// Diagnostics of the rules S01 to S05; never none. Likewise of the other documents.
pub fn read_task_graph(bytes: &[u8]) -> Result<TaskGraph<'_>, Vec<Diagnostic>> {
    read_record(bytes, shape::TASK_GRAPH)
}

/// Reads the task graphs of all ranks (clause TGR-01).
///
/// # Errors
/// See [`read_task_graph`].
pub fn read_system(bytes: &[u8]) -> Result<System<'_>, Vec<Diagnostic>> {
    read_record(bytes, shape::SYSTEM)
}

/// Reads a kernel graph (clause TGR-11).
///
/// # Errors
/// See [`read_task_graph`].
pub fn read_kernel_graph(bytes: &[u8]) -> Result<KernelGraph<'_>, Vec<Diagnostic>> {
    read_record(bytes, shape::KERNEL_GRAPH)
}

/// Reads a request to translate (clause TGR-16).
///
/// # Errors
/// See [`read_task_graph`].
pub fn read_translation(bytes: &[u8]) -> Result<Translation<'_>, Vec<Diagnostic>> {
    read_record(bytes, shape::TRANSLATION)
}

/// The types of events (clause TGR-03).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub enum EventType {
    /// A counter, and nothing else happens.
    Empty = 900,
    /// Launches its range of tasks.
    LaunchTasks = 901,
    /// Launches its range of tasks, by several schedulers.
    LaunchMassiveTasks = 902,
    /// Launches its range of tasks, which wait for their own events.
    LaunchDependentTasks = 903,
    /// The iteration ends.
    EndOfTaskGraph = 910,
    /// The kernel ends.
    Termination = 911,
    /// No event.
    Invalid = 999,
}

impl EventType {
    /// The type with this code.
    pub const fn from_code(code: i64) -> Option<EventType> {
        Some(match code {
            900 => EventType::Empty,
            901 => EventType::LaunchTasks,
            902 => EventType::LaunchMassiveTasks,
            903 => EventType::LaunchDependentTasks,
            910 => EventType::EndOfTaskGraph,
            911 => EventType::Termination,
            999 => EventType::Invalid,
            _ => return None,
        })
    }
}

/// An event id taken apart: bits 0 to 31 are the position, bits 32 to 47 the rank; above stands the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// Rank that owns the event.
    pub rank: u16,
    /// Index among the events of that rank.
    pub position: u32,
    /// Whether tasks of other ranks trigger it.
    pub nvshmem: bool,
}

impl EventId {
    /// Takes an id apart. Nothing for [`EVENT_INVALID`], which is no id, and for ids with other bits than those above.
    pub const fn from_bits(bits: i64) -> Option<EventId> {
        let nvshmem = bits & NVSHMEM_TAG == NVSHMEM_TAG;
        let id = EventId { rank: (bits >> 32) as u16, position: bits as u32, nvshmem };
        if bits != EVENT_INVALID && id.bits() == bits { Some(id) } else { None }
    }

    /// The number in the document.
    pub const fn bits(self) -> i64 {
        let tag = if self.nvshmem { NVSHMEM_TAG } else { 0 };
        tag | (self.rank as i64) << 32 | self.position as i64
    }
}

/// Bits of an element by the code of its type: the codes from 920 on go up by ten for each doubling, from 4 bits.
pub const fn element_bits(data_type: i64) -> Option<i64> {
    match data_type {
        920..=929 => Some(4),
        930..=939 => Some(8),
        940..=949 => Some(16),
        950..=959 => Some(32),
        960..=969 => Some(64),
        _ => None,
    }
}

impl<'a> Task<'a> {
    /// The tiles that it lists as inputs.
    pub fn inputs(&self) -> &[Tile<'a>] {
        self.inputs.as_deref().unwrap_or_default()
    }

    /// The tiles that it lists as outputs.
    pub fn outputs(&self) -> &[Tile<'a>] {
        self.outputs.as_deref().unwrap_or_default()
    }
}

impl Tile<'_> {
    /// Whether the operand is left out.
    pub fn is_null(&self) -> bool {
        &*self.base_ptr == NULL_TENSOR
    }
}

#[cfg(test)]
mod tests {
    use megakernel_ir::{Layout, Rule, write_record};

    use super::*;

    const GRAPH: &str = r#"{"all_events":[{"event_type":911,"first_task_id":0,"last_task_id":0,"num_triggers":1,"x":1.50}],"all_tasks":[{"dependent_event":9223372036854775806,"inputs":null,"outputs":[{"base_ptr":"y","data_type":941,"dims":[1,8],"offset":16,"strides":[8,1]}],"task_type":7777,"trigger_event":2161727825432805400,"variant_id":0}],"first_tasks":[]}"#;

    #[test]
    fn a_graph_is_written_as_it_was_read() {
        let graph = read_task_graph(GRAPH.as_bytes()).expect("a graph");
        assert_eq!(graph.all_tasks[0].trigger_event, 2_161_727_825_432_805_400);
        assert!(graph.all_tasks[0].request_id.0.is_none());
        assert_eq!(write_record(&graph, Layout::Compact), GRAPH);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let broken = GRAPH.replace("\"offset\":16", "\"offset\":1.5").replace("\"num_triggers\":1,", "");
        let found = read_task_graph(broken.as_bytes()).expect_err("two violations");
        let found: Vec<(Rule, &str)> = found.iter().map(|d| (d.rule, &*d.pointer)).collect();
        assert_eq!(found, [(Rule::S03, "/all_events/0"), (Rule::S04, "/all_tasks/0/outputs/0/offset")]);
    }

    #[test]
    fn event_ids_are_taken_apart() {
        assert_eq!(EventId::from_bits(EVENT_INVALID), None);
        assert_eq!(
            EventId::from_bits(2_161_727_825_432_805_400),
            Some(EventId { rank: 1, position: 24, nvshmem: true })
        );
        assert_eq!(EventId::from_bits(7), Some(EventId { rank: 0, position: 7, nvshmem: false }));
        assert_eq!(EventId::from_bits(-1), None);
        assert_eq!(EventId::from_bits(1 << 48), None);
    }
}
