//! Names of task types, as the functions that run them are called.

/// The types of the document; the names are its own, in lower case.
const NAMES: [(i64, &str); 17] = [
    (101, "embedding"),
    (102, "rms_norm_linear"),
    (103, "attention_1"),
    (104, "attention_2"),
    (105, "silu_mul_linear_with_residual"),
    (107, "reduce"),
    (108, "linear_with_residual"),
    (109, "argmax"),
    (110, "argmax_partial"),
    (111, "argmax_reduce"),
    (112, "find_ngram_partial"),
    (113, "find_ngram_global"),
    (114, "target_verify_greedy"),
    (115, "single_batch_extend_attention"),
    (199, "nvshmem_copy"),
    (0, "terminate"),
    (10, "begin_task_graph"),
];

/// The name of a type; of one that the document does not have, its number.
pub fn of(task_type: i64) -> String {
    let known = NAMES.iter().find(|(code, _)| *code == task_type);
    known.map_or_else(|| format!("task_{task_type}").replace('-', "minus_"), |(_, name)| (*name).to_owned())
}
