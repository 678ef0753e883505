//! TS04 and TS05: event ids.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::Library;
use megakernel_corpus::families::Sink;
use megakernel_ir::rule::Rule;
use megakernel_task_graph::NVSHMEM_TAG;

use super::base::{GraphCases, library};

/// TS04 and TS05.
pub fn ids(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let rank = |rank: i64| rank << 32;
    for (name, task, member, id, what) in [
        ("chain/two", "t0", "trigger_event", 99, "an event behind the last"),
        ("chain/two", "t1", "trigger_event", 0, "the termination"),
        ("fan/join", "p2", "trigger_event", 1, "the event that begins"),
        ("chain/four", "t2", "dependent_event", 6, "an event behind the last, to wait for"),
        ("chain/four", "t1", "dependent_event", 5, "the end, to wait for"),
        ("diamond/merged", "left", "dependent_event", 1, "the event that begins, to wait for"),
        ("decoder/extended", "up2", "dependent_event", 0, "the termination, to wait for"),
        ("chain/extended", "t3", "trigger_event", 0xffff_ffff, "the last position that an id has room for"),
        (
            "ranks/two",
            "0:copy-a0-to-1",
            "trigger_event",
            NVSHMEM_TAG | rank(1) | 99,
            "an event that the other rank does not have",
        ),
        ("ranks/two", "1:copy-b0-to-0", "trigger_event", NVSHMEM_TAG, "the termination of the other rank"),
        ("ranks/two", "1:linear-a0", "trigger_event", rank(1) | 77, "an event that its rank does not have"),
    ] {
        let base = library.get(name)?;
        let at = base.at(task, member)?;
        let edit = Edit::breaking(Rule::TS04, format!("a task names {what}")).at(at.clone()).replace(at, id);
        sink.graph_reject(base, what, &edit)?;
    }
    for (name, task, member, change, what) in [
        ("chain/two", "t0", "trigger_event", NVSHMEM_TAG, "a LINEAR triggers with the tag"),
        ("chain/two", "t1", "dependent_event", NVSHMEM_TAG, "a task waits with the tag"),
        ("chain/four", "t1", "trigger_event", 1 << 48, "a bit above the rank"),
        ("fan/join", "p3", "trigger_event", 1 << 62, "the highest bit below the sign"),
        ("diamond/merged", "top", "trigger_event", 1 << 57, "one bit of the tag"),
        ("chain/extended", "t2", "dependent_event", 1 << 55, "a bit between rank and tag, to wait for"),
        ("decoder/earlier", "down1", "trigger_event", i64::MIN, "the sign bit"),
        ("chain/two", "t0", "trigger_event", 1 << 32, "another rank without the tag"),
        ("chain/rank-three", "t1", "dependent_event", -(1 << 32), "another rank, to wait for"),
        (
            "ranks/two",
            "0:copy-a0-to-1",
            "trigger_event",
            -NVSHMEM_TAG,
            "a copy to another rank without the tag",
        ),
        (
            "ranks/two",
            "1:copy-a0-to-1",
            "trigger_event",
            -NVSHMEM_TAG,
            "a copy to its own rank without the tag",
        ),
        ("ranks/three", "2:reduce-a0", "trigger_event", NVSHMEM_TAG, "a REDUCE triggers with the tag"),
        (
            "ranks/three",
            "1:reduce-b0",
            "dependent_event",
            -(1 << 32),
            "a REDUCE waits for an event of another rank",
        ),
        (
            "bare/copies",
            "linear0",
            "trigger_event",
            NVSHMEM_TAG,
            "a LINEAR triggers with the tag before a copy",
        ),
    ] {
        let base = library.get(name)?;
        let at = base.at(task, member)?;
        let id = base.int(&at)?.wrapping_add(change);
        let edit = Edit::breaking(Rule::TS05, what).at(at.clone()).replace(at, id);
        sink.graph_reject(base, what, &edit)?;
    }
    let base = library.get("chain/two")?;
    let at = base.at("t0", "trigger_event")?;
    let edit = Edit::breaking(Rule::TS05, "minus one for no event").at(at.clone()).replace(at, -1);
    sink.graph_reject(base, "minus-one", &edit)
}
