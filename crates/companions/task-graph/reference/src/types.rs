//! Task types by number (clause TGR-05).

/// Ends the kernel.
pub const TERMINATE: i64 = 0;
/// Begins an iteration.
pub const BEGIN_TASK_GRAPH: i64 = 10;
/// Adds up what all ranks have sent.
pub const REDUCE: i64 = 107;
/// Sends a tile to another rank.
pub const NVSHMEM_COPY: i64 = 199;

/// Types whose inputs 1 and 2 are caches, which they read and write in place.
const ATTENTION: [i64; 10] = [103, 104, 115, 116, 117, 153, 164, 257, 263, 284];

/// Whether a type is the scheduler's own.
pub fn is_scheduler(task_type: i64) -> bool {
    (200..=203).contains(&task_type)
}

/// Whether a task of this type writes the input at this position too.
pub fn writes_input(task_type: i64, position: usize) -> bool {
    (1..=2).contains(&position) && ATTENTION.contains(&task_type)
}

/// Whether the type is one that is known to exist.
pub fn is_known(task_type: i64) -> bool {
    matches!(task_type, 0 | 10 | 101..=121 | 151..=164 | 199 | 231..=295 | 301 | 302)
}

/// The type for people.
pub fn name(task_type: i64) -> String {
    let name = match task_type {
        0 => "TERMINATE",
        10 => "BEGIN_TASK_GRAPH",
        101 => "EMBEDDING",
        102 => "RMS_NORM_LINEAR",
        103 => "ATTENTION_1",
        104 => "ATTENTION_2",
        105 => "SILU_MUL_LINEAR_WITH_RESIDUAL",
        106 => "ALLREDUCE",
        107 => "REDUCE",
        108 => "LINEAR_WITH_RESIDUAL",
        109 => "ARGMAX",
        110 => "ARGMAX_PARTIAL",
        111 => "ARGMAX_REDUCE",
        112 => "FIND_NGRAM_PARTIAL",
        113 => "FIND_NGRAM_GLOBAL",
        114 => "TARGET_VERIFY_GREEDY",
        115 => "SINGLE_BATCH_EXTEND_ATTENTION",
        199 => "NVSHMEM_COPY",
        other => return format!("type {other}"),
    };
    name.to_owned()
}
