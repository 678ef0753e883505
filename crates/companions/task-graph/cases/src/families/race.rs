//! Edits that break the TR rules.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::Library;
use megakernel_corpus::families::Sink;
use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::base::{GraphBase, GraphCases, library};

/// TR01: fewer triggers than producers.
pub fn partial(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, event, count) in [
        ("fan/join", "e0", 3),
        ("fan/join", "e0", 1),
        ("fan/all-to-all", "e0", 0),
        ("fan/massive", "e1", 2),
        ("fan/split", "END", 3),
        ("chain/two", "e0", 0),
        ("chain/side-by-side", "END", -1),
        ("diamond/merged", "join", 1),
        ("decoder/extended", "attended", 1),
        ("decoder/earlier", "embedded", 1),
        ("ranks/two", "1:copied-a0", 1),
        ("ranks/four", "2:summed", 1),
        ("ranks/three", "0:copied-b0", 2),
        ("bare/many-copies", "copied2", 0),
    ] {
        let base = library.get(name)?;
        let at = base.at(event, "num_triggers")?;
        let edit =
            Edit::breaking(Rule::TR01, format!("an event takes {count} of {} triggers", base.int(&at)?))
                .at(at.clone())
                .replace(at, count)
                .clause(clause::TGR_10);
        sink.graph_reject(base, &format!("{event} takes {count}"), &edit)?;
    }
    // The end does not wait for a task that it had waited for not, either.
    let base = library.get("diamond/uneven")?;
    let edit = Edit::breaking(
        Rule::TR01,
        "a task triggers the end in place of an event, and the end does not wait for it",
    )
    .at(base.at("END", "num_triggers")?)
    .replace(base.at("b", "trigger_event")?, base.index("END")?)
    .replace(base.at("join", "num_triggers")?, 1)
    .replace(base.at("end", "inputs/1/base_ptr")?, "elsewhere");
    sink.graph_reject(base, "the end", &edit)
}

/// A tile of a base, with some of its members replaced.
fn tile(base: &GraphBase, label: &str, list: &str, changes: &[(&str, Value)]) -> Result<Value> {
    let mut tile = base.value(&base.at(label, list)?)?.clone();
    for (member, value) in changes {
        tile[*member] = value.clone();
    }
    Ok(tile)
}

/// TR02, TR03 and TR04.
pub fn unordered(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;

    // TR02: the later task reads what the earlier writes.
    for (name, writer, reader) in [
        ("chain/side-by-side", "t0", "t3"),
        ("diamond/uneven", "a0", "b"),
        ("diamond/merged", "left", "right"),
        ("fan/all-to-all", "c0", "c2"),
        ("decoder/earlier", "qkv0", "qkv3"),
        ("decoder/extended", "attend0", "attend1"),
        ("tiles/quarters", "w0", "w3"),
        ("tiles/interleaved", "w0", "w1"),
    ] {
        let base = library.get(name)?;
        let at = base.at(reader, "inputs/0")?;
        let edit =
            Edit::breaking(Rule::TR02, format!("`{reader}` reads what `{writer}` writes, and neither waits"))
                .at(at.clone())
                .replace(at, base.value(&base.at(writer, "outputs/0")?)?.clone());
        sink.graph_reject(base, &format!("{reader} reads of {writer}"), &edit)?;
    }
    // One element is enough.
    let base = library.get("fan/pairs")?;
    let at = base.at("c0", "inputs/0")?;
    let edit = Edit::breaking(Rule::TR02, "a reader takes one column of the other group")
        .at(at.clone())
        .replace(format!("{at}/dims/1"), 9);
    sink.graph_reject(base, "one column more", &edit)?;
    let base = library.get("tiles/quarters")?;
    let edge = tile(base, "w0", "outputs/0", &[("dims", json!([1, 1])), ("offset", json!(8 * 2 + 3 * 2))])?;
    let edit = Edit::breaking(Rule::TR02, "a reader takes the last element of an unordered tile")
        .at(base.at("w2", "inputs/1")?)
        .insert(base.at("w2", "inputs/-")?, edge);
    sink.graph_reject(base, "one element", &edit)?;
    // Or the second row, which only the strides tell of.
    for (writer, reader) in [("w0", "w3"), ("w1", "w2")] {
        let offset = base.int(&base.at(writer, "outputs/0/offset")?)? + 8 * 2;
        let row = tile(base, writer, "outputs/0", &[("dims", json!([1, 4])), ("offset", json!(offset))])?;
        let edit = Edit::breaking(Rule::TR02, "a reader takes the second row of an unordered tile")
            .at(base.at(reader, "inputs/1")?)
            .insert(base.at(reader, "inputs/-")?, row);
        sink.graph_reject(base, &format!("{reader} reads the second row of {writer}"), &edit)?;
    }

    // TR03: the later task writes what the earlier reads.
    for (name, reader, writer) in [
        ("chain/side-by-side", "t1", "t2"),
        ("diamond/three-ends", "b", "c"),
        ("fan/split", "c0", "c1"),
        ("tiles/quarters", "w1", "w2"),
        ("decoder/earlier", "qkv1", "qkv2"),
    ] {
        let base = library.get(name)?;
        // The reader gets the later writer's tensor, at the place of that writer's tile.
        let wanted = base.value(&base.at(writer, "outputs/0")?)?.clone();
        let at = base.at(reader, "inputs/0")?;
        let edit = Edit::breaking(Rule::TR03, format!("`{writer}` writes what `{reader}` may still read"))
            .at(base.at(writer, "outputs/0")?)
            .replace(at, wanted);
        sink.graph_reject(base, &format!("{writer} overwrites {reader}"), &edit)?;
    }

    // TR04: both write.
    for (name, first, second) in [
        ("chain/side-by-side", "t0", "t1"),
        ("fan/split", "c1", "c2"),
        ("tiles/quarters", "w1", "w3"),
        ("tiles/interleaved", "w0", "w1"),
        ("diamond/three-ends", "b", "d"),
        ("fan/all-to-all", "c0", "c3"),
        ("decoder/extended", "down0", "down1"),
        ("ranks/two-by-two", "1:reduce-b0", "1:reduce-b1"),
    ] {
        let base = library.get(name)?;
        let at = base.at(second, "outputs/0")?;
        let edit = Edit::breaking(
            Rule::TR04,
            format!("`{first}` and `{second}` write the same tile, and neither waits"),
        )
        .at(at.clone())
        .replace(at, base.value(&base.at(first, "outputs/0")?)?.clone());
        sink.graph_reject(base, &format!("{first} and {second} write"), &edit)?;
    }
    let base = library.get("tiles/quarters")?;
    let at = base.at("w3", "outputs/0")?;
    let edit = Edit::breaking(Rule::TR04, "a tile begins one row too early")
        .at(at.clone())
        .replace(format!("{at}/offset"), 8 * 2 + 4 * 2);
    sink.graph_reject(base, "one row early", &edit)
}

/// TR05: written, never read, written again.
pub fn dead_writes(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, reader, list, writer, what) in [
        ("reuse/buffer", "read", "inputs/0", "write", "the reader between two writes reads another tensor"),
        ("reuse/in-place", "update", "inputs/0", "write", "a task that overwrites a tensor does not read it"),
        (
            "reuse/halves",
            "r0",
            "inputs/0",
            "w0",
            "one of two halves is not read before the whole is written again",
        ),
        ("reuse/halves", "r1", "inputs/0", "w1", "the other half is not read"),
    ] {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::TR05, what)
            .at(base.at(writer, "outputs/0")?)
            .replace(base.at(reader, &format!("{list}/base_ptr"))?, "elsewhere");
        sink.graph_reject(base, &format!("{reader} reads elsewhere"), &edit)?;
    }
    // A later task writes the tensor of an earlier one that nobody reads.
    for (name, first, second) in
        [("chain/four", "t1", "t3"), ("chain/extended", "t0", "t2"), ("diamond/uneven", "a1", "end")]
    {
        let base = library.get(name)?;
        let edit = Edit::breaking(
            Rule::TR05,
            format!("`{first}` and then `{second}` write a tensor that nobody reads"),
        )
        .at(base.at(first, "outputs/1")?)
        .insert(
            base.at(first, "outputs/-")?,
            tile(base, second, "outputs/0", &[("base_ptr", json!("scratch"))])?,
        )
        .insert(
            base.at(second, "outputs/-")?,
            tile(base, second, "outputs/0", &[("base_ptr", json!("scratch"))])?,
        );
        sink.graph_reject(base, &format!("{first} and {second} write scratch"), &edit)?;
    }
    Ok(())
}
