//! Tiles that lie to each other otherwise than as boxes of one grid, and boxes whose edges together cut a tensor into very many parts.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::{Library, Sink};
use megakernel_ir::rule::{Rule, clause};
use serde_json::Value;

use super::base::{GraphBase, GraphCases, library};
use super::graphs::{LINEAR, RMS, act};
use crate::build::{BF16, GraphBuilder, I64, NewTask, Tensor, Tile};

const NIBBLE: i64 = 925;
const BYTE: i64 = 935;

/// Two tiles of one tensor, of which the second begins where the first ends, and by how many bytes it may move to meet it.
struct Beside {
    name: &'static str,
    summary: &'static str,
    tiles: [Tile; 2],
    nearer: &'static [i64],
}

fn tile(dtype: i64, offset: i64, dims: &[i64], strides: &[i64]) -> Tile {
    Tile { base: "t".into(), dtype, dims: dims.to_vec(), strides: strides.to_vec(), offset }
}

fn besides() -> [Beside; 4] {
    [
        Beside {
            name: "wider",
            summary: "elements of 16 bits, and of 64 bits behind them",
            tiles: [tile(BF16, 0, &[8], &[1]), tile(I64, 16, &[2], &[1])],
            nearer: &[8, 16],
        },
        Beside {
            name: "narrower",
            summary: "elements of 64 bits, and of 16 bits behind them",
            tiles: [tile(I64, 0, &[2], &[1]), tile(BF16, 16, &[8], &[1])],
            nearer: &[2, 8, 16],
        },
        Beside {
            name: "nibbles",
            summary: "seven elements of 4 bits take four bytes",
            tiles: [tile(NIBBLE, 0, &[7], &[1]), tile(BF16, 4, &[2], &[1])],
            nearer: &[2, 4],
        },
        Beside {
            name: "pitches",
            summary: "rows 10 elements apart, and behind them rows 6 elements apart",
            tiles: [tile(BF16, 0, &[2, 4], &[10, 1]), tile(BF16, 28, &[3, 4], &[6, 1])],
            nearer: &[2, 16, 28],
        },
    ]
}

/// How many boxes stand on the diagonal.
const BOXES: i64 = 16;

/// Two unordered tasks; and boxes on the diagonal of a cube, of which every task reads a corner, and two tasks overwrite
/// all of it in the end.
pub fn bases() -> Result<Vec<GraphBase>> {
    let mut bases = Vec::new();
    let mut graph = GraphBuilder::new();
    for (n, label) in ["one", "two"].into_iter().enumerate() {
        let tile = tile(BF16, 16 * n as i64, &[8], &[1]);
        graph.add(NewTask::new(label, RMS).reads(&[act("x", 8).whole()]).writes(&[tile]));
    }
    let summary = "two unordered tasks write the halves of a row";
    bases.push(GraphBase::new("areas/halves", summary, &[clause::TGR_04], graph.finish()?));
    let (t, mut graph) = (Tensor::bf16("t", &[2 * BOXES; 3]), GraphBuilder::new());
    let (written, read) = (graph.event("written"), graph.event("read"));
    let over = graph.event("over");
    for n in 0..BOXES {
        let task = NewTask::new(&format!("w{n}"), RMS).reads(&[act("x", 8).whole()]);
        graph.add(task.writes(&[t.tile(&[2 * n; 3], &[2; 3])]).triggers(written));
    }
    for n in 0..BOXES {
        let task = NewTask::new(&format!("r{n}"), LINEAR).reads(&[t.tile(&[2 * n; 3], &[1; 3])]);
        graph.add(task.writes(&[act("u", 2 * BOXES).block(1, n, BOXES)]).after(written).triggers(read));
    }
    for n in 0..2 {
        let task = NewTask::new(&format!("over{n}"), LINEAR).reads(&[act("u", 2 * BOXES).whole()]);
        graph.add(task.writes(&[t.block(0, n, 2)]).after(read).triggers(over));
    }
    graph.add(NewTask::new("last", LINEAR).reads(&[t.whole()]).writes(&[act("y", 8).whole()]).after(over));
    let summary = "boxes on the diagonal of a cube are written, read in part, and overwritten by halves";
    bases.push(GraphBase::new("areas/diagonal", summary, &[clause::TGR_04], graph.finish()?));
    Ok(bases)
}

/// TW03 alone where the tiles of two unordered tasks stand beside each other, and TR02 to TR04 with it where they meet by some bytes.
pub fn beside(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let base = library.get("areas/halves")?;
    for Beside { name, summary, tiles, nearer } in besides() {
        for (order, lower) in [("first", "one"), ("last", "two")] {
            let placed = |edit: Edit, nearer: i64, reader: Option<&str>| -> Result<Edit> {
                let mut edit = edit.clause(clause::TGR_04);
                for label in ["one", "two"] {
                    let tile = &tiles[usize::from(label != lower)];
                    let offset = if label == lower { tile.offset } else { tile.offset - nearer };
                    let tile = Tile { offset, ..tile.clone() }.json();
                    if reader == Some(label) {
                        edit = edit
                            .replace(base.at(label, "inputs/0")?, tile)
                            .replace(base.at(label, "outputs/0/base_ptr")?, "elsewhere");
                    } else {
                        edit = edit.replace(base.at(label, "outputs/0")?, tile);
                    }
                }
                Ok(edit)
            };
            for (rule, reader) in [(Rule::TR04, None), (Rule::TR02, Some("two")), (Rule::TR03, Some("one"))] {
                let how = reader.map_or("both write".to_owned(), |reader| format!("{reader} reads"));
                // The first of the tiles with which those so far are not regular.
                let at = base.at("two", if rule == Rule::TR02 { "inputs/0" } else { "outputs/0" })?;
                let edit = placed(Edit::breaking(Rule::TW03, summary).at(at.clone()), 0, reader)?;
                sink.graph_warn(base, &format!("{name} {order} {how}"), &edit)?;
                for &bytes in nearer {
                    let what = format!("{summary}, {bytes} bytes nearer");
                    let edit = placed(Edit::breaking(rule, what).at(at.clone()), bytes, reader)?;
                    sink.graph_reject(base, &format!("{name} {order} {how} {bytes} nearer"), &edit)?;
                }
            }
        }
    }
    far_out(sink)
}

/// TR04 alone, and no TW03, of tiles at the last offsets that there are: a storage is regular however far out its tiles begin.
fn far_out(sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let base = library.get("areas/halves")?;
    let placed = |edit: Edit, dtype: i64, offsets: [i64; 2]| -> Result<Edit> {
        let mut edit = edit.clause(clause::TGR_04);
        for (label, offset) in ["one", "two"].into_iter().zip(offsets) {
            edit = edit.replace(base.at(label, "outputs/0")?, tile(dtype, offset, &[1], &[1]).json());
        }
        Ok(edit)
    };
    for (name, dtype, offsets) in [
        ("last two bytes", BYTE, [i64::MAX - 1, i64::MAX]),
        ("last two bytes in turn", BYTE, [i64::MAX, i64::MAX - 1]),
        ("last byte but one and the first", BYTE, [i64::MAX - 1, 0]),
        ("last 64 bits and those before", I64, [i64::MAX - 7, i64::MAX - 15]),
        ("last 4 bits of all and the first", NIBBLE, [i64::MAX, 0]),
    ] {
        let edit = Edit::harmless(format!("two unordered tasks write one element each: the {name}"));
        sink.graph_accept(base, name, &placed(edit, dtype, offsets)?)?;
    }
    for (name, dtype, offset) in [
        ("last byte twice", BYTE, i64::MAX),
        ("last 64 bits twice", I64, i64::MAX - 7),
        ("last 4 bits twice", NIBBLE, i64::MAX),
    ] {
        let edit = Edit::breaking(Rule::TR04, format!("two unordered tasks write one element: the {name}"));
        let edit = placed(edit.at(base.at("two", "outputs/0")?), dtype, [offset; 2])?;
        sink.graph_reject(base, name, &edit)?;
    }
    Ok(())
}

/// TR02 to TR05 among boxes of which most have no cut in common.
pub fn diagonal(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let base = library.get("areas/diagonal")?;
    let boxed = |label: &str| -> Result<Value> { Ok(base.value(&base.at(label, "outputs/0")?)?.clone()) };
    for n in [0, 7, 8, BOXES - 1] {
        let (writer, reader) = (format!("w{n}"), format!("r{n}"));
        let edit = Edit::breaking(Rule::TR05, format!("nobody reads of the box of `{writer}`"));
        let edit = edit.at(base.at(&writer, "outputs/0")?).clause(clause::TGR_04);
        let edit = edit.replace(base.at(&reader, "inputs/0/base_ptr")?, "elsewhere");
        sink.graph_reject(base, &format!("{reader} reads elsewhere"), &edit)?;
    }
    for (first, second) in [("w0", "w1"), ("w0", "w15"), ("w7", "w8"), ("w14", "w15")] {
        let (input, output) = (base.at(second, "inputs/0")?, base.at(second, "outputs/0")?);
        let edit = Edit::breaking(Rule::TR02, format!("`{second}` reads the box of `{first}`"));
        let edit = edit.at(input.clone()).replace(input, boxed(first)?);
        sink.graph_reject(base, &format!("{second} reads of {first}"), &edit)?;
        let edit = Edit::breaking(Rule::TR03, format!("`{first}` reads the box of `{second}`"));
        let edit = edit.at(output.clone()).replace(base.at(first, "inputs/0")?, boxed(second)?);
        sink.graph_reject(base, &format!("{first} reads of {second}"), &edit)?;
        let edit = Edit::breaking(Rule::TR04, format!("`{second}` writes the box of `{first}`"));
        let edit = edit.at(output.clone()).replace(output, boxed(first)?);
        sink.graph_reject(base, &format!("{first} and {second} write"), &edit)?;
    }
    Ok(())
}
