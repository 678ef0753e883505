//! Kernel graphs that cannot be translated: the TK rules.

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;
use megakernel_corpus::families::Library;
use megakernel_corpus::families::Sink;
use megakernel_ir::rule::Rule;
use serde_json::{Value, json};

use super::base::{GraphCases, library};

/// TK01 to TK09.
pub fn rejected(_: &Library, sink: &mut Sink) -> Result<()> {
    let library = library()?;
    let reject =
        |sink: &mut Sink, name: &str, rule: Rule, at: &str, value: Value, what: &str| -> Result<()> {
            let base = library.get(name)?;
            let edit = Edit::breaking(rule, what).replace(at, value);
            sink.graph_reject(base, what, &edit)
        };
    let op = |n: usize, rest: &str| format!("/kernel_graph/operators/{n}/{rest}");
    let tensor = |n: usize, rest: &str| format!("/kernel_graph/tensors/{n}/{rest}");

    reject(sink, "exact/one", Rule::TK01, &op(0, "inputs/0/tensor"), json!("z"), "an input is not declared")?;
    reject(
        sink,
        "exact/same",
        Rule::TK01,
        &op(1, "outputs/0/tensor"),
        json!("Y"),
        "an output differs by its case",
    )?;
    reject(
        sink,
        "exact/decoder",
        Rule::TK01,
        &op(3, "inputs/1/tensor"),
        json!(""),
        "a weight has an empty name",
    )?;
    reject(sink, "exact/same", Rule::TK01, &tensor(2, "name"), json!("x"), "a name is declared twice")?;
    reject(
        sink,
        "exact/fused-groups",
        Rule::TK01,
        &tensor(3, "parts/1"),
        json!("down"),
        "a part of a fused tensor is not declared",
    )?;
    reject(
        sink,
        "sound/chain",
        Rule::TK01,
        &op(0, "inputs/0/tensor"),
        json!("z"),
        "an input is not declared in the sound mode",
    )?;

    reject(sink, "exact/same", Rule::TK02, &op(1, "grid/0"), json!(5), "5 blocks of 24 columns")?;
    reject(sink, "exact/grid", Rule::TK02, &op(0, "grid/0"), json!(3), "3 blocks of 4 rows")?;
    reject(
        sink,
        "exact/grid",
        Rule::TK02,
        &op(0, "inputs/0/map"),
        json!([0, 0, -1]),
        "a map names an axis twice",
    )?;
    reject(
        sink,
        "exact/same",
        Rule::TK02,
        &op(0, "outputs/0/map"),
        json!([2, -1, -1]),
        "a map names an axis that is not there",
    )?;
    reject(
        sink,
        "exact/decoder",
        Rule::TK02,
        &op(1, "inputs/1/map"),
        json!([-2, -1, -1]),
        "a map names axis minus two",
    )?;
    reject(sink, "exact/grid", Rule::TK02, &op(1, "inputs/0/map"), json!([0, 1]), "a map of two entries")?;
    reject(sink, "exact/one", Rule::TK02, &op(0, "grid/0"), json!(16), "16 blocks of 4 rows")?;
    reject(
        sink,
        "sound/grid",
        Rule::TK02,
        &op(1, "grid/0"),
        json!(5),
        "5 blocks of 24 columns in the sound mode",
    )?;

    reject(
        sink,
        "exact/same",
        Rule::TK03,
        &op(1, "inputs/0/tensor"),
        json!("x"),
        "the second operator reads the input of the first",
    )?;
    reject(
        sink,
        "exact/decoder",
        Rule::TK03,
        &op(1, "inputs/0/tensor"),
        json!("qkv_0"),
        "an operator reads what it writes",
    )?;
    reject(
        sink,
        "exact/grid",
        Rule::TK03,
        &op(0, "outputs/0/tensor"),
        json!("y"),
        "the first operator writes another tensor",
    )?;
    reject(
        sink,
        "exact/four-axes",
        Rule::TK03,
        &op(1, "inputs/0/tensor"),
        json!("a"),
        "of four axes, the second operator reads the input of the first",
    )?;
    reject(
        sink,
        "exact/decoder",
        Rule::TK03,
        &op(2, "inputs/0"),
        Value::Null,
        "attention is given no query",
    )?;

    reject(sink, "exact/all-reduce-first-rank", Rule::TK04, "/ranks", json!(1), "an all-reduce on one rank")?;
    reject(
        sink,
        "exact/all-reduce-2",
        Rule::TK04,
        &op(1, "inputs/1"),
        Value::Null,
        "an all-reduce without slots",
    )?;
    reject(
        sink,
        "exact/all-reduce-2",
        Rule::TK04,
        &op(1, "inputs/1/map"),
        json!([1, -1, -1]),
        "the slots are cut along another axis",
    )?;
    reject(
        sink,
        "exact/all-reduce-2",
        Rule::TK04,
        &op(1, "grid/0"),
        json!(4),
        "another grid than its producer's",
    )?;
    reject(
        sink,
        "exact/all-reduce-3",
        Rule::TK04,
        &tensor(3, "dims/0"),
        json!(2),
        "two slots for three ranks",
    )?;
    reject(
        sink,
        "exact/all-reduce-3",
        Rule::TK04,
        &tensor(3, "io"),
        json!("cuda"),
        "slots that other ranks cannot write",
    )?;
    reject(
        sink,
        "exact/all-reduce-4",
        Rule::TK04,
        &tensor(4, "data_type"),
        json!(950),
        "a sum of another element type",
    )?;
    reject(
        sink,
        "exact/all-reduce-4",
        Rule::TK04,
        &op(1, "outputs/0/map"),
        json!([0, -1, -1]),
        "the sum is cut along another axis",
    )?;
    reject(
        sink,
        "sound/all-reduce-2",
        Rule::TK04,
        "/ranks",
        json!(1),
        "an all-reduce on one rank in the sound mode",
    )?;
    reject(
        sink,
        "sound/all-reduce-3",
        Rule::TK04,
        &op(3, "inputs/1/tensor"),
        json!("slots_0"),
        "two all-reduces share their slots",
    )?;

    reject(sink, "exact/fused-groups", Rule::TK05, &tensor(3, "num_groups"), json!(3), "8 rows in 3 groups")?;
    reject(
        sink,
        "exact/fused-groups",
        Rule::TK05,
        &tensor(3, "dims/0"),
        json!(48),
        "more rows than the parts have",
    )?;
    reject(
        sink,
        "exact/fused-one-group",
        Rule::TK05,
        &tensor(2, "dims/1"),
        json!(6),
        "a part with shorter rows",
    )?;
    reject(sink, "exact/fused-both-axes", Rule::TK05, &tensor(3, "num_groups"), json!(0), "no group")?;
    reject(
        sink,
        "exact/fused-groups",
        Rule::TK05,
        &op(0, "grid/0"),
        json!(6),
        "a block of rows of two parts",
    )?;
    reject(sink, "exact/fused-groups", Rule::TK05, &tensor(3, "parts"), json!([]), "no part")?;
    reject(
        sink,
        "exact/fused-one-group",
        Rule::TK05,
        &tensor(2, "data_type"),
        json!(950),
        "parts of two element types",
    )?;

    reject(sink, "exact/one", Rule::TK06, "/ranks", json!(0), "no rank")?;
    reject(sink, "exact/one", Rule::TK06, "/ranks", json!(9), "nine ranks")?;
    reject(sink, "exact/one", Rule::TK06, "/rank", json!(1), "the second rank of one")?;
    reject(sink, "exact/one", Rule::TK06, "/rank", json!(-1), "a negative rank")?;
    reject(sink, "exact/one", Rule::TK06, &op(0, "grid/1"), json!(0), "a grid without blocks")?;
    reject(sink, "exact/one", Rule::TK06, &op(0, "grid"), json!([4, 1]), "a grid of two extents")?;
    reject(sink, "exact/one", Rule::TK06, "/kernel_graph/operators", json!([]), "no operator")?;
    reject(
        sink,
        "exact/four-axes",
        Rule::TK06,
        &tensor(0, "dims"),
        json!([2, 4, 6, 2, 1]),
        "a tensor of five axes",
    )?;
    let whole = json!({"tensor": "x", "map": [-1, -1, -1]});
    reject(sink, "exact/one", Rule::TK06, &op(0, "inputs"), json!(vec![whole.clone(); 8]), "eight inputs")?;
    reject(
        sink,
        "exact/one",
        Rule::TK06,
        &op(0, "outputs"),
        json!([{"tensor": "y", "map": [0, -1, -1]}, whole.clone(), whole]),
        "three outputs",
    )?;
    reject(
        sink,
        "exact/one",
        Rule::TK06,
        &tensor(0, "data_type"),
        json!(999),
        "an element type without a size",
    )?;
    reject(sink, "exact/one", Rule::TK06, &tensor(1, "dims/1"), json!(0), "an axis without extent")?;

    let uncut = json!([-1, -1, -1]);
    reject(
        sink,
        "sound/chain",
        Rule::TK07,
        &op(0, "outputs/0/map"),
        uncut.clone(),
        "six blocks write the whole output",
    )?;
    reject(
        sink,
        "sound/chain",
        Rule::TK07,
        &op(1, "outputs/0/map"),
        uncut.clone(),
        "four blocks write the whole output",
    )?;
    reject(
        sink,
        "sound/grid",
        Rule::TK07,
        &op(0, "outputs/0/map"),
        json!([0, -1, -1]),
        "blocks along one of two axes write the same rows",
    )?;
    reject(
        sink,
        "sound/decoder",
        Rule::TK07,
        &op(0, "outputs/0/map"),
        uncut.clone(),
        "two blocks write the whole embedding",
    )?;
    reject(
        sink,
        "sound/caches",
        Rule::TK07,
        &op(0, "inputs/1/map"),
        uncut.clone(),
        "two blocks of attention update the whole cache",
    )?;
    let own = json!({"tensor": "y1", "map": uncut});
    reject(
        sink,
        "sound/apart",
        Rule::TK07,
        &op(1, "inputs/0"),
        own,
        "each block reads what the other writes",
    )?;

    reject(
        sink,
        "sound/apart",
        Rule::TK08,
        &op(1, "outputs/0/tensor"),
        json!("y0"),
        "an output is overwritten by the next operator",
    )?;
    reject(
        sink,
        "sound/apart",
        Rule::TK08,
        &op(2, "outputs/0/tensor"),
        json!("y0"),
        "an output is overwritten by the operator after the next",
    )?;
    reject(
        sink,
        "sound/dead-write",
        Rule::TK08,
        &op(1, "inputs/0/tensor"),
        json!("x"),
        "the reader between two writes reads another tensor",
    )?;
    reject(
        sink,
        "sound/missing-anti-dependence",
        Rule::TK08,
        &op(1, "inputs/0/tensor"),
        json!("x"),
        "nobody reads a buffer before it is used again",
    )?;
    for name in ["sound/chain", "sound/grid"] {
        let base = library.get(name)?;
        let edit = Edit::breaking(Rule::TK08, "the second operator overwrites what it no longer reads")
            .replace(op(1, "inputs/0/tensor"), "x")
            .replace(op(1, "outputs/0/tensor"), "h");
        sink.graph_reject(base, "reads elsewhere", &edit)?;
    }

    // TK09: what takes part in something larger.
    for (name, operator, code) in [
        ("sound/chain", 0, 301),
        ("sound/chain", 1, 302),
        ("sound/grid", 0, 251),
        ("sound/decoder", 0, 163),
        ("sound/apart", 1, 251),
        ("sound/apart", 0, 302),
    ] {
        let base = library.get(name)?;
        let at = op(operator, "task_type");
        let edit = Edit::breaking(Rule::TK09, format!("operator {operator} is of type {code}"))
            .at(at.clone())
            .replace(at, code);
        sink.graph_reject(base, &format!("{operator} of type {code}"), &edit)?;
    }
    Ok(())
}
