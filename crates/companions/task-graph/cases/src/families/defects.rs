//! What generators get wrong: kernel graphs, the hazardous graphs that were made of them, and the rule that finds each.
//!
//! The kernel graphs are accepted in the sound mode of translation; the graphs are single edits of good ones.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::Library;
use megakernel_corpus::families::Sink;
use megakernel_ir::rule::Rule;

use super::base::{GraphCases, library};
use crate::build::BF16;
use crate::kernel::KernelBuilder;

const COLUMNS: [i64; 3] = [1, -1, -1];
const WHOLE: [i64; 3] = [-1, -1, -1];

/// The kernel graphs, each with the name of its case and a summary.
pub fn kernels() -> Vec<(&'static str, &'static str, KernelBuilder)> {
    let mut out = Vec::new();
    let cut = [2, 1, 1];
    let (rms, linear, silu) = (119, 108, 105);

    let mut k = KernelBuilder::new();
    let (x, a, b, y) = four(&mut k, ["x", "a", "b", "y"]);
    k.operator("both", rms, cut, &[Some((&x, COLUMNS))], &[(&a, COLUMNS), (&b, COLUMNS)]);
    k.operator("join", silu, cut, &[Some((&a, COLUMNS)), Some((&b, COLUMNS))], &[(&y, COLUMNS)]);
    out.push(("double-counted-join", "an operator that shares two tensors with the one before it", k));

    let mut k = KernelBuilder::new();
    let (x, a, b, y) = four(&mut k, ["x", "a", "b", "y"]);
    k.operator("first", rms, cut, &[Some((&x, COLUMNS))], &[(&a, COLUMNS)]);
    k.operator("second", linear, cut, &[Some((&a, COLUMNS))], &[(&b, COLUMNS)]);
    k.operator("third", silu, cut, &[Some((&b, COLUMNS)), Some((&a, WHOLE))], &[(&y, COLUMNS)]);
    out.push(("missing-second-edge", "an operator that needs the two operators before it", k));

    let mut k = KernelBuilder::new();
    let (x, a, b, y) = four(&mut k, ["x", "a", "b", "y"]);
    k.operator("embed", rms, cut, &[Some((&x, COLUMNS))], &[(&a, COLUMNS)]);
    k.operator("norm", linear, [1, 1, 1], &[Some((&a, WHOLE))], &[(&b, WHOLE)]);
    k.operator("product", linear, cut, &[Some((&b, WHOLE)), Some((&a, COLUMNS))], &[(&y, COLUMNS)]);
    out.push(("stripped-residual", "an operator with a residual from above the one before it", k));

    let mut k = KernelBuilder::new();
    let (x, a, b, y) = four(&mut k, ["x", "a", "b", "y"]);
    k.operator("first", rms, cut, &[Some((&x, COLUMNS))], &[(&a, COLUMNS)]);
    k.operator("reader", linear, cut, &[Some((&a, COLUMNS))], &[(&b, COLUMNS)]);
    k.operator("again", rms, cut, &[Some((&x, WHOLE))], &[(&a, COLUMNS)]);
    k.operator("join", silu, cut, &[Some((&a, COLUMNS)), Some((&b, COLUMNS))], &[(&y, COLUMNS)]);
    out.push((
        "missing-anti-dependence",
        "a buffer that is written again while nothing but its old reader needs it",
        k,
    ));

    let mut k = KernelBuilder::new();
    let (x, a, b, y) = four(&mut k, ["x", "a", "b", "y"]);
    k.operator("first", rms, cut, &[Some((&x, COLUMNS))], &[(&a, COLUMNS)]);
    k.operator("second", linear, cut, &[Some((&a, COLUMNS)), Some((&b, COLUMNS))], &[(&b, COLUMNS)]);
    k.operator("over", linear, cut, &[Some((&b, COLUMNS))], &[(&a, COLUMNS)]);
    k.operator("last", linear, cut, &[Some((&a, COLUMNS))], &[(&y, COLUMNS)]);
    out.push(("dead-write", "a buffer that is written, read and written again", k));

    let mut k = KernelBuilder::new();
    let (x, a, b, y) = four(&mut k, ["x", "a", "b", "y"]);
    k.operator("top", rms, cut, &[Some((&x, COLUMNS))], &[(&a, COLUMNS)]);
    k.operator("twice", linear, [1, 1, 1], &[Some((&a, WHOLE)), Some((&a, WHOLE))], &[(&b, WHOLE)]);
    k.operator("last", linear, cut, &[Some((&b, COLUMNS))], &[(&y, COLUMNS)]);
    out.push(("duplicate-edge", "an operator that reads a tensor twice", k));
    out
}

type Four = (crate::build::Tensor, crate::build::Tensor, crate::build::Tensor, crate::build::Tensor);

fn four(k: &mut KernelBuilder, [a, b, c, d]: [&str; 4]) -> Four {
    (k.torch(a, BF16, &[2, 8]), k.cuda(b, BF16, &[2, 8]), k.cuda(c, BF16, &[2, 8]), k.torch(d, BF16, &[2, 8]))
}

/// What the translation of these graphs must not give.
pub fn defects(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;

    let base = library.get("fan/columns")?;
    let count = base.at("e0", "num_triggers")?;
    let edit = Edit::breaking(
        Rule::TD02,
        "the join is counted once for each tensor that it shares, and triggered once",
    )
    .at(count.clone())
    .replace(count, 2);
    sink.graph_reject(base, "double-counted-join", &edit)?;
    let base = library.get("fan/join")?;
    let count = base.at("e0", "num_triggers")?;
    let edit = Edit::breaking(Rule::TD02, "each of four producers is counted twice")
        .at(count.clone())
        .replace(count, 8);
    sink.graph_reject(base, "double-counted-join", &edit)?;

    // The bottom of the diamond needs both branches, and the event of only one of them is made.
    let base = library.get("diamond/merged")?;
    let end = base.index("END")?;
    let edit = Edit::breaking(Rule::TR02, "the edge from the right branch to the join is not made")
        .at(base.at("bottom", "inputs/1")?)
        .replace(base.at("right", "trigger_event")?, end)
        .replace(base.at("join", "num_triggers")?, 1)
        .replace(base.at("END", "num_triggers")?, 2);
    sink.graph_reject(base, "missing-second-edge", &edit)?;
    let base = library.get("diamond/uneven")?;
    let edit = Edit::breaking(Rule::TR02, "the edge from the short branch to the join is not made")
        .at(base.at("end", "inputs/1")?)
        .replace(base.at("b", "trigger_event")?, base.index("END")?)
        .replace(base.at("join", "num_triggers")?, 1)
        .replace(base.at("END", "num_triggers")?, 2);
    sink.graph_reject(base, "missing-second-edge", &edit)?;

    // The residual is read, but nothing says so but the tile.
    let base = library.get("diamond/three-ends")?;
    let residual = base.value(&base.at("a", "outputs/0")?)?.clone();
    let edit = Edit::breaking(Rule::TR02, "a residual is added by a task that waits for nothing")
        .at(base.at("d", "inputs/1")?)
        .insert(base.at("d", "inputs/-")?, residual);
    sink.graph_reject(base, "stripped-residual", &edit)?;

    let base = library.get("reuse/buffer")?;
    let edit = Edit::breaking(Rule::TR05, "the reader of the first write is stripped of its input")
        .at(base.at("write", "outputs/0")?)
        .replace(base.at("read", "inputs/0/base_ptr")?, "x");
    sink.graph_reject(base, "stripped-residual", &edit)?;

    // The task that writes the buffer again waits for what it reads itself, not for the old reader.
    let base = library.get("diamond/three-ends")?;
    let edit =
        Edit::breaking(Rule::TR03, "a task writes what another task still reads, and nothing orders the two")
            .at(base.at("c", "outputs/0")?)
            .replace(base.at("b", "inputs/0/base_ptr")?, "b");
    sink.graph_reject(base, "missing-anti-dependence", &edit)?;
    let base = library.get("fan/all-to-all")?;
    let edit = Edit::breaking(Rule::TR03, "one of four readers overwrites what the others read")
        .at(base.at("c3", "outputs/0")?)
        .replace(base.at("c3", "outputs/0/base_ptr")?, "h");
    sink.graph_reject(base, "missing-anti-dependence", &edit)?;

    let base = library.get("reuse/in-place")?;
    let edit = Edit::breaking(Rule::TR05, "the task that updates the buffer does not read it")
        .at(base.at("write", "outputs/0")?)
        .replace(base.at("update", "inputs/0/base_ptr")?, "u");
    sink.graph_reject(base, "dead-write", &edit)?;

    let base = library.get("fan/split")?;
    let edit =
        Edit::breaking(Rule::TD02, "an operator that reads a tensor twice gets two edges, and one trigger")
            .at(base.at("e0", "num_triggers")?)
            .replace(base.at("e0", "num_triggers")?, 2);
    sink.graph_reject(base, "duplicate-edge", &edit)?;
    let base = library.get("fan/pairs")?;
    let edit = Edit::breaking(Rule::TD02, "each edge of a pair of operators is made twice")
        .at(base.at("e1", "num_triggers")?)
        .replace(base.at("e1", "num_triggers")?, 4);
    sink.graph_reject(base, "duplicate-edge", &edit)
}
