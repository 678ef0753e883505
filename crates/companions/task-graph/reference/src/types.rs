//! Task types by number (clause TGR-05).

use megakernel_task_graph::{Effect, Reach, Role, TaskType};

/// Ends the kernel.
pub const TERMINATE: i64 = 0;
/// Begins an iteration.
pub const BEGIN_TASK_GRAPH: i64 = 10;
/// Adds up what all ranks have sent.
pub const REDUCE: i64 = 107;
/// Sends a tile to another rank: the earlier generator's.
pub const NVSHMEM_COPY: i64 = 199;
/// Sends a tile to another rank: the current generator's.
pub const NVSHMEM_PUT: i64 = 301;
/// Sums up a tile of all ranks, which meet for it.
pub const NVSHMEM_TILE_ALLREDUCE: i64 = 302;

/// Whether a type is the scheduler's own.
pub fn is_scheduler(task_type: i64) -> bool {
    (200..=203).contains(&task_type)
}

/// Whether a task writes into the memory of the rank whose event it triggers.
pub fn is_put(task_type: i64) -> bool {
    TaskType::of(task_type).is_some_and(|one| one.reach == Reach::Put)
}

/// Whether a task meets those of all other ranks.
pub fn is_collective(task_type: i64) -> bool {
    TaskType::of(task_type).is_some_and(|one| one.reach == Reach::Rendezvous)
}

/// What the table says of an operand, if it says anything.
pub fn role(task_type: i64, is_output: bool, position: usize) -> Option<&'static Role> {
    let known = TaskType::of(task_type)?;
    if is_output { known.outputs.get(position) } else { known.inputs.get(position) }
}

/// What a task does with an operand.
pub fn effect(task_type: i64, is_output: bool, position: usize) -> Effect {
    let otherwise = if is_output { Effect::Write } else { Effect::Read };
    role(task_type, is_output, position).map_or(otherwise, |role| role.access)
}

/// Whether a task of this type writes the operand.
pub fn writes(task_type: i64, is_output: bool, position: usize) -> bool {
    !matches!(effect(task_type, is_output, position), Effect::None | Effect::Read)
}

/// The type for people.
pub fn name(task_type: i64) -> String {
    TaskType::of(task_type).map_or_else(|| format!("type {task_type}"), |one| one.name.to_owned())
}
