//! Near misses: edits that look as if they broke a rule, and break none.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::Library;
use megakernel_corpus::families::Sink;
use serde_json::json;

use super::base::{GraphCases, library};

/// Accepted, without a warning.
pub fn near(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let mut accept = |name: &str, case: &str, edit: Edit| sink.graph_accept(library.get(name)?, case, &edit);
    let at = |name: &str, label: &str, rest: &str| library.get(name)?.at(label, rest);

    // Tiles that touch at an edge and no more.
    accept(
        "tiles/quarters",
        "one column less",
        Edit::harmless("an unordered tile ends one column early")
            .replace(at("tiles/quarters", "w0", "outputs/0/dims")?, json!([2, 3])),
    )?;
    accept(
        "tiles/interleaved",
        "same columns of other rows",
        Edit::harmless("two unordered tasks write the same columns of different rows")
            .replace(at("tiles/interleaved", "w0", "outputs/0/dims")?, json!([2, 4, 1]))
            .replace(at("tiles/interleaved", "w1", "outputs/0/dims")?, json!([2, 4, 1]))
            .replace(at("tiles/interleaved", "w1", "outputs/0/offset")?, 32),
    )?;
    accept(
        "chain/side-by-side",
        "both read",
        Edit::harmless("two unordered tasks read the same tile")
            .replace(at("chain/side-by-side", "t1", "inputs/0/offset")?, 0),
    )?;
    accept(
        "fan/split",
        "one reads half",
        Edit::harmless("of four readers one reads the first half only")
            .replace(at("fan/split", "c2", "inputs/0/dims")?, json!([2, 8])),
    )?;
    accept(
        "chain/side-by-side",
        "another tensor",
        Edit::harmless("a task writes the same elements of another tensor")
            .replace(at("chain/side-by-side", "t1", "outputs/0/base_ptr")?, "z")
            .replace(at("chain/side-by-side", "t1", "outputs/0/offset")?, 0),
    )?;
    accept(
        "chain/four",
        "ends that nobody reads",
        Edit::harmless("a task writes a tensor that nobody reads, and nobody writes again").insert(
            at("chain/four", "t1", "outputs/-")?,
            json!({"base_ptr": "debug", "data_type": 941, "dims": [2, 8], "offset": 0, "strides": [8, 1]}),
        ),
    )?;
    accept(
        "reuse/in-place",
        "read and written twice",
        Edit::harmless("the last task updates the tensor in place as well")
            .replace(at("reuse/in-place", "last", "outputs/0/base_ptr")?, "t"),
    )?;
    // Numbers that decide nothing.
    accept(
        "chain/two",
        "variant",
        Edit::harmless("another variant").replace(at("chain/two", "t0", "variant_id")?, 41),
    )?;
    accept(
        "chain/two",
        "reserved variant",
        Edit::harmless("a variant of TERMINATE").replace("/all_tasks/0/variant_id", 3),
    )?;
    accept(
        "chain/two",
        "known type",
        Edit::harmless("the last known type that goes by itself")
            .replace(at("chain/two", "t1", "task_type")?, 295),
    )?;
    accept(
        "chain/one",
        "empty range elsewhere",
        Edit::harmless("the empty range of the end lies elsewhere")
            .replace(at("chain/one", "END", "first_task_id")?, 3)
            .replace(at("chain/one", "END", "last_task_id")?, 3),
    )?;
    accept(
        "chain/one",
        "stride of a unit axis",
        Edit::harmless("the stride of an axis of extent 1 may be anything")
            .replace(at("chain/one", "t0", "inputs/0/dims")?, json!([1, 8]))
            .replace(at("chain/one", "t0", "inputs/0/strides")?, json!([5, 1])),
    )?;
    accept(
        "chain/extended",
        "kv_idx as -1",
        Edit::harmless("a cache index of 65535 is written as -1")
            .replace(at("chain/extended", "t1", "kv_idx")?, -1),
    )?;
    accept(
        "chain/extended",
        "upper half",
        Edit::harmless("the upper half of the word has no other view")
            .replace(at("chain/extended", "t2", "merge_task_offset")?, 12),
    )?;
    accept(
        "chain/two",
        "unknown member",
        Edit::harmless("a task has a member that nobody knows")
            .insert(at("chain/two", "t0", "xcd")?, json!({"a": [1, 2.5, null]})),
    )?;
    accept(
        "decoder/earlier",
        "absent tensor of a known type",
        Edit::harmless("an absent tensor has a known element type")
            .replace(at("decoder/earlier", "attend0", "inputs/3/data_type")?, 941),
    )?;
    accept(
        "ranks/one",
        "no kernel graph",
        Edit::harmless("the kernel graph is null").insert("/kernel_graph", json!(null)),
    )?;
    accept(
        "declared/chain",
        "larger tensor",
        Edit::harmless("a tensor has more rows than its tile")
            .replace("/kernel_graph/tensors/0/dims", json!([3, 8])),
    )?;
    accept(
        "declared/chain",
        "tensor that nobody uses",
        Edit::harmless("a tensor is declared that nobody uses").insert(
            "/kernel_graph/tensors/-",
            json!({"name": "spare", "data_type": 941, "dims": [1], "io": "cuda"}),
        ),
    )?;
    accept(
        "ranks/two",
        "own slots elsewhere",
        Edit::harmless("on one rank, what a task reads is in another tensor")
            .replace(at("ranks/two", "1:linear-a0", "inputs/0/base_ptr")?, "slots_c"),
    )?;
    // A join that takes more producers than it has readers of them.
    accept(
        "diamond/uneven",
        "waits for what it does not read",
        Edit::harmless("a task waits for a branch that it does not read")
            .replace(at("diamond/uneven", "end", "inputs/1/base_ptr")?, "elsewhere"),
    )
}
