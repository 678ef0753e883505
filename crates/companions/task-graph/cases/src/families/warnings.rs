//! Edits that only warnings are about.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::Library;
use megakernel_corpus::families::Sink;
use megakernel_ir::rule::{Rule, clause};
use megakernel_task_graph::NVSHMEM_TAG;
use serde_json::json;

use super::base::{GraphCases, library};

/// TW01 to TW04.
pub fn warnings(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, task, kind) in [
        ("chain/two", "t0", 7777),
        ("chain/extended", "t3", 100),
        ("fan/join", "c0", 122),
        ("decoder/earlier", "up1", 165),
        ("diamond/merged", "left", -1),
        ("decoder/extended", "add0", 303),
        ("ranks/two", "1:linear-a0", 1i64 << 40),
    ] {
        let base = library.get(name)?;
        let at = base.at(task, "task_type")?;
        let edit = Edit::breaking(Rule::TW01, format!("a task of type {kind}"))
            .at(at.clone())
            .replace(at, kind)
            .clause(clause::TGR_05);
        sink.graph_warn(base, &format!("{task} {kind}"), &edit)?;
    }
    for (name, root, triggers) in [
        ("chain/one", "", 0),
        ("chain/two", "", 1),
        ("decoder/extended", "", 4),
        ("fan/massive", "", -1),
        ("ranks/two", "/ranks/1", 1),
        ("bare/copies", "", 1),
    ] {
        let base = library.get(name)?;
        let events = base.value(&format!("{root}/all_events"))?.as_array().map_or(0, Vec::len);
        let event =
            json!({"event_type": 900, "first_task_id": 0, "last_task_id": 0, "num_triggers": triggers});
        let edit = Edit::breaking(Rule::TW02, format!("an event of {triggers} triggers that no task names"))
            .at(format!("{root}/all_events/{events}"))
            .insert(format!("{root}/all_events/-"), event);
        sink.graph_warn(base, &format!("unused of {triggers}"), &edit)?;
    }

    // TW03. Ordered tasks may use a storage in any layout: it is only that no tile can be told from its neighbour.
    for (name, task, list, members, what) in [
        (
            "chain/two",
            "t1",
            "inputs/0",
            vec![("strides", json!([6, 1])), ("dims", json!([2, 6]))],
            "a reader sees rows of 6 where the writer has rows of 8",
        ),
        (
            "chain/four",
            "t2",
            "inputs/0",
            vec![("data_type", json!(931)), ("dims", json!([2, 4]))],
            "a reader takes bytes where the writer has 16 bits",
        ),
        (
            "diamond/three-ends",
            "c",
            "inputs/0",
            vec![("dims", json!([16])), ("strides", json!([1]))],
            "one of two readers sees one row of all",
        ),
        (
            "tiles/wide",
            "read",
            "inputs/0",
            vec![("data_type", json!(955)), ("dims", json!([4, 4]))],
            "a reader takes 32 bits where the writer has 64",
        ),
        (
            "tiles/column",
            "read",
            "inputs/0",
            vec![("strides", json!([3, 1]))],
            "a reader steps by 3 elements where the writer steps by 4",
        ),
    ] {
        let base = library.get(name)?;
        let at = base.at(task, list)?;
        let edit = members
            .into_iter()
            .fold(Edit::breaking(Rule::TW03, what).at(at.clone()), |edit, (member, value)| {
                edit.replace(format!("{at}/{member}"), value)
            });
        sink.graph_warn(base, what, &edit)?;
    }

    // TW04: a copy goes to a rank that is not in the document. What it was to come before no longer waits for what it reads.
    for (name, copy, rank) in [
        ("bare/copies", "copy0", 1),
        ("bare/copies", "copy0", 65_535),
        ("bare/many-copies", "copy0", 1),
        ("bare/many-copies", "copy3", 7),
        ("bare/many-copies", "copy2", 3),
    ] {
        let base = library.get(name)?;
        let at = base.at(copy, "trigger_event")?;
        let id = NVSHMEM_TAG | rank << 32 | (base.int(&at)? & 0xffff_ffff);
        let partial = base.at(&copy.replace("copy", "reduce"), "inputs/0/base_ptr")?;
        let edit = Edit::breaking(Rule::TW04, format!("a copy goes to rank {rank}"))
            .at("")
            .replace(at, id)
            .replace(partial, "elsewhere")
            .clause(clause::TGR_01);
        sink.graph_warn(base, &format!("{copy} to {rank}"), &edit)?;
    }
    Ok(())
}
