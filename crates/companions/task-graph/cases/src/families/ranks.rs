//! Edits that break the TX rules.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::Library;
use megakernel_corpus::families::Sink;
use megakernel_ir::rule::Rule;
use megakernel_task_graph::NVSHMEM_TAG;
use serde_json::json;

use super::base::{GraphCases, GraphLibrary, library};

/// TX01 to TX04.
pub fn ranks(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;

    let swapped = |sink: &mut Sink, name: &str, a: usize, b: usize| -> Result<()> {
        let base = library.get(name)?;
        let (one, two) =
            (base.value(&format!("/ranks/{a}"))?.clone(), base.value(&format!("/ranks/{b}"))?.clone());
        let edit = Edit::breaking(Rule::TX01, format!("the graphs of ranks {a} and {b} change places"))
            .at(format!("/ranks/{a}"))
            .replace(format!("/ranks/{a}"), two)
            .replace(format!("/ranks/{b}"), one);
        sink.graph_reject(base, &format!("ranks {a} and {b}"), &edit)
    };
    swapped(sink, "ranks/two", 0, 1)?;
    swapped(sink, "ranks/three", 1, 2)?;
    swapped(sink, "ranks/apart", 0, 1)?;
    let base = library.get("ranks/apart")?;
    let edit = Edit::breaking(Rule::TX01, "the first rank is left out").at("/ranks/0").remove("/ranks/0");
    sink.graph_reject(base, "first left out", &edit)?;
    let base = library.get("ranks/one")?;
    let edit = Edit::breaking(Rule::TX01, "a rank is there twice")
        .at("/ranks/1")
        .insert("/ranks/-", base.value("/ranks/0")?.clone());
    sink.graph_reject(base, "there twice", &edit)?;
    let base = library.get("ranks/two-by-two")?;
    let at = base.at("1:copy-b1-to-0", "trigger_event")?;
    let id = NVSHMEM_TAG | 5 << 32 | (base.int(&at)? & 0xffff_ffff);
    let edit =
        Edit::breaking(Rule::TX01, "a copy goes to a rank that is not there").at("/ranks/1").replace(at, id);
    sink.graph_reject(base, "no such rank", &edit)?;

    // TX02: two copies of one rank, or a copy and a local task, trigger one event. The counts are right.
    for (name, copy, event, waits, reduce) in [
        ("ranks/two-by-two", "1:copy-a1-to-0", "0:copied-a0", "0:copied-a1", "0:reduce-a1"),
        ("ranks/two-by-two", "0:copy-a0-to-1", "1:copied-a1", "1:copied-a0", "1:reduce-a0"),
        ("ranks/two-by-two", "0:copy-b0-to-1", "1:copied-b1", "1:copied-b0", "1:reduce-b0"),
        ("ranks/four", "3:copy-a0-to-2", "2:copied-a1", "2:copied-a0", "2:reduce-a0"),
        ("ranks/four", "1:copy-b1-to-3", "3:copied-b0", "3:copied-b1", "3:reduce-b1"),
    ] {
        let base = library.get(name)?;
        let at = base.at(copy, "trigger_event")?;
        let id = (base.int(&at)? & !0xffff_ffff) | base.index(event)?;
        let (more, less) = (base.at(event, "num_triggers")?, base.at(waits, "num_triggers")?);
        let edit = Edit::breaking(
            Rule::TX02,
            "a copy triggers the event of the other block: two come from one rank",
        )
        .at(base.at(event, "")?)
        .replace(at, id)
        .replace(more.clone(), base.int(&more)? + 1)
        .replace(less.clone(), base.int(&less)? - 1)
        // The sum of its own block does not need it.
        .replace(base.at(reduce, "inputs/1/base_ptr")?, "elsewhere");
        sink.graph_reject(base, copy, &edit)?;
    }
    for (name, rank, task, event) in [
        ("ranks/two-by-two", Some(0), "reduce-b0", "copied-b1"),
        ("ranks/two-by-two", Some(1), "reduce-b0", "copied-b1"),
        ("ranks/four", Some(2), "reduce-b0", "copied-b1"),
        ("bare/many-copies", None, "reduce1", "copied3"),
    ] {
        let base = library.get(name)?;
        let label = |label: &str| rank.map_or_else(|| label.to_owned(), |rank| format!("{rank}:{label}"));
        let (more, end) = (base.at(&label(event), "num_triggers")?, base.at(&label("END"), "num_triggers")?);
        let edit = Edit::breaking(Rule::TX02, "a REDUCE triggers an event of copies")
            .at(base.at(&label(event), "")?)
            .replace(
                base.at(&label(task), "trigger_event")?,
                rank.unwrap_or(0) << 32 | base.index(&label(event))?,
            )
            .replace(more.clone(), base.int(&more)? + 1)
            .replace(end.clone(), base.int(&end)? - 1);
        sink.graph_reject(base, &label(task), &edit)?;
    }
    races(sink, &library)
}

/// TX03 and TX04.
fn races(sink: &mut Sink, library: &GraphLibrary) -> Result<()> {
    for (name, copy, reader, list) in [
        ("ranks/two", "0:copy-a0-to-1", "1:linear-a0", "inputs/0"),
        ("ranks/three", "0:copy-a0-to-2", "2:linear-a0", "inputs/1"),
        ("ranks/two-by-two", "1:copy-a0-to-0", "0:linear-a1", "inputs/0"),
    ] {
        let base = library.get(name)?;
        let mut slot = base.value(&base.at(copy, "outputs/0")?)?.clone();
        slot["dims"][0] = json!(1);
        let edit = Edit::breaking(
            Rule::TX03,
            format!("`{reader}` reads a slot, whether or not `{copy}` has written it"),
        )
        .at(base.at(copy, "outputs/0")?)
        .replace(base.at(reader, list)?, slot);
        sink.graph_reject(base, &format!("{reader} reads of {copy}"), &edit)?;
    }
    for (name, copy, other, what) in [
        (
            "ranks/two",
            "1:copy-a0-to-0",
            "0:copy-a0-to-0",
            "a rank copies to the slot that its peer copies to itself",
        ),
        (
            "ranks/four",
            "0:copy-b0-to-1",
            "1:copy-b0-to-1",
            "one of four ranks copies to the own slot of another",
        ),
        ("ranks/three", "2:copy-b0-to-1", "0:copy-b0-to-1", "two ranks copy to the same slot of a third"),
        ("ranks/four", "1:copy-a1-to-2", "3:copy-a1-to-2", "two ranks copy the same block to the same slot"),
    ] {
        let base = library.get(name)?;
        let at = base.at(copy, "outputs/0/offset")?;
        let mut edit =
            Edit::breaking(Rule::TX03, what).replace(at, base.int(&base.at(other, "outputs/0/offset")?)?);
        // Of two remote writes either can be named.
        if other.ends_with(&other[..1]) {
            edit = edit.at(base.at(copy, "outputs/0")?);
        }
        sink.graph_reject(base, &format!("{copy} as {other}"), &edit)?;
    }

    // TX04: nothing tells the other ranks when the last REDUCE has read the slots of the first all-reduce.
    for (name, reduce, copy) in [
        ("ranks/two", "0:reduce-b0", "1:copy-a0-to-0"),
        ("ranks/two", "1:reduce-b0", "0:copy-a0-to-1"),
        ("ranks/two-by-two", "1:reduce-b1", "0:copy-a1-to-1"),
        ("ranks/three", "2:reduce-b0", "0:copy-a0-to-2"),
        ("ranks/four", "3:reduce-b0", "1:copy-a0-to-3"),
    ] {
        let base = library.get(name)?;
        let edit = Edit::breaking(
            Rule::TX04,
            format!("`{reduce}` reads slots that `{copy}` may already fill for the next iteration"),
        )
        .at(base.at(copy, "outputs/0")?)
        .replace(base.at(reduce, "inputs/1/base_ptr")?, "slots_a");
        sink.graph_reject(base, &format!("{reduce} reads slots-a"), &edit)?;
    }
    // A last copy holds up the end of its target only; its own rank may be in the next iteration.
    for (name, copy) in [
        ("ranks/two", "0:copy-b0-to-1"),
        ("ranks/two-by-two", "1:copy-b1-to-0"),
        ("ranks/three", "2:copy-b0-to-0"),
    ] {
        let base = library.get(name)?;
        let edit = Edit::breaking(
            Rule::TX04,
            format!("`{copy}` reads what its own rank may already write for the next iteration"),
        )
        .at(base.at(copy, "inputs/0")?)
        .replace(base.at(copy, "inputs/0/base_ptr")?, "partial_a");
        sink.graph_reject(base, &format!("{copy} reads partial-a"), &edit)?;
    }
    Ok(())
}
