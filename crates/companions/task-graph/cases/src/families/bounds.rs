//! Edits that break the TB rules.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::Library;
use megakernel_corpus::families::Sink;
use megakernel_ir::rule::Rule;
use serde_json::{Value, json};

use super::base::{GraphCases, library};

/// TB01 and TB02 of tiles by themselves.
pub fn bounds(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    for (name, label, list, members, what) in [
        ("chain/two", "t0", "inputs/1", vec![("dims", json!([2, 9]))], "a row runs into the next"),
        ("chain/two", "t1", "inputs/1", vec![("offset", json!(2))], "a matrix begins in the middle of a row"),
        ("chain/one", "t0", "inputs/1", vec![("strides", json!([1, 1]))], "two axes have the same stride"),
        ("chain/extended", "t3", "outputs/0", vec![("strides", json!([0, 1]))], "a row is written twice"),
        ("fan/split", "p0", "inputs/1", vec![("strides", json!([4, 1]))], "rows overlap"),
        (
            "tiles/four-axes",
            "write",
            "inputs/0",
            vec![("dims", json!([2, 16]))],
            "a row twice as long as the stride",
        ),
        (
            "decoder/earlier",
            "embed1",
            "inputs/1",
            vec![("offset", json!(30))],
            "a block of columns runs into the next row",
        ),
        (
            "decoder/extended",
            "attend0",
            "inputs/5",
            vec![("strides", json!([1, 4])), ("dims", json!([8, 4]))],
            "a transposed table has columns longer than their stride",
        ),
    ] {
        let base = library.get(name)?;
        let at = base.at(label, list)?;
        let edit = members.into_iter().fold(
            Edit::breaking(Rule::TB01, format!("in a tile, {what}")).at(at.clone()),
            |edit, (member, value): (&str, Value)| edit.replace(format!("{at}/{member}"), value),
        );
        sink.graph_reject(base, what, &edit)?;
    }
    for (name, label, list, offset, what) in [
        ("chain/two", "t0", "inputs/1", 1, "16 bits at an odd byte"),
        ("fan/join", "p1", "inputs/1", -2, "a negative offset"),
        ("tiles/wide", "write", "inputs/0", 3, "16 bits at byte 3"),
        ("decoder/earlier", "embed0", "inputs/0", 4, "64 bits at byte 4"),
        ("decoder/extended", "qkv0", "inputs/1", -32, "a negative offset of whole elements"),
        ("ranks/two", "1:linear-a0", "inputs/1", 7, "16 bits at byte 7, on the second rank"),
        ("chain/one", "t0", "outputs/0", i64::MAX, "16 bits at the last byte that an offset can name"),
    ] {
        let base = library.get(name)?;
        let at = base.at(label, &format!("{list}/offset"))?;
        let edit =
            Edit::breaking(Rule::TB02, format!("a tile has {what}")).at(at.clone()).replace(at, offset);
        sink.graph_reject(base, what, &edit)?;
    }
    Ok(())
}

/// TB01 and TB03 of tiles whose tensors are declared.
pub fn declared(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let base = library.get("declared/chain")?;
    for (label, list, member, value, what) in [
        ("0:first0", "inputs/0", "dims", json!([3, 8]), "one row more than the tensor has"),
        ("0:first1", "inputs/1", "offset", json!(8 * 8 * 2), "a block behind the last"),
        ("0:second1", "inputs/1", "dims", json!([5, 8]), "a block that begins inside and ends outside"),
        ("0:second0", "inputs/0", "offset", json!(16), "all rows, from the second on"),
    ] {
        let at = base.at(label, list)?;
        let edit = Edit::breaking(Rule::TB01, format!("a tile has {what}"))
            .at(at.clone())
            .replace(format!("{at}/{member}"), value);
        sink.graph_reject(base, what, &edit)?;
    }
    let at = base.at("0:first0", "inputs/0")?;
    let edit = Edit::breaking(Rule::TB01, "a part of a row passes the end of the row, and not of the tensor")
        .at(at.clone())
        .replace(format!("{at}/dims"), json!([1, 4]))
        .replace(format!("{at}/offset"), 10);
    sink.graph_reject(base, "past the end of a row", &edit)?;
    let edit = Edit::breaking(Rule::TB01, "a tensor is declared with one row less than a tile has")
        .at(base.at("0:first0", "inputs/0")?)
        .replace("/kernel_graph/tensors/0/dims", json!([1, 8]));
    sink.graph_reject(base, "declared with fewer rows", &edit)?;

    // What the earlier version prints: the sum with the extents and strides of the buffer of slots.
    let two = library.get("declared/two-ranks")?;
    for (label, what) in [
        ("0:reduce-b0", "the last sum has the extents of the slots, on rank 0"),
        ("1:reduce-a0", "the first sum has the extents of the slots, on rank 1"),
    ] {
        let at = two.at(label, "outputs/0")?;
        let edit = Edit::breaking(Rule::TB01, format!("the output slot of REDUCE was overwritten: {what}"))
            .at(at.clone())
            .replace(format!("{at}/dims"), json!([2, 2, 4]))
            .replace(format!("{at}/strides"), json!([8, 4, 1]));
        sink.graph_reject(two, what, &edit)?;
    }

    for (label, list, member, value, what) in [
        ("0:first0", "inputs/0", "base_ptr", json!("X"), "a name that differs by its case"),
        ("0:first1", "inputs/1", "base_ptr", json!(""), "an empty name"),
        ("0:second1", "outputs/0", "base_ptr", json!("z"), "an output that is not declared"),
        ("0:first0", "inputs/1", "data_type", json!(940), "another type of the same width"),
        ("0:second0", "inputs/1", "data_type", json!(940), "another type of the same width, of a weight"),
    ] {
        let at = base.at(label, list)?;
        let edit = Edit::breaking(Rule::TB03, format!("a tile has {what}"))
            .at(at.clone())
            .replace(format!("{at}/{member}"), value);
        sink.graph_reject(base, what, &edit)?;
    }
    let edit = Edit::breaking(Rule::TB03, "a tensor is declared under another name")
        .at(base.at("0:first0", "inputs/0")?)
        .replace("/kernel_graph/tensors/0/name", "other");
    sink.graph_reject(base, "declared under another name", &edit)
}
