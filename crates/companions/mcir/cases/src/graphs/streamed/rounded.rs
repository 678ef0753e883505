//! Graphs in which sums, weights and quotients are rounded, and sums of one number.

use serde_json::json;

use super::{FEW, Streamed};
use crate::graphs::{Draft, Plan};

/// Graphs that round what they add up and divide.
pub fn rounded(all: &mut Vec<Streamed>) {
    written_out(all);
    quotients(all);
    sums(all);
}

/// Attention whose scores or weights are rounded: no pattern, so that all of it stays as it is written.
fn written_out(all: &mut Vec<Streamed>) {
    for (name, summary, scores, weights, mask) in [
        ("rounded weights", "attention with weights in BF16", "F32", "BF16", None),
        (
            "rounded scores",
            "causal attention with scores in F16, weights in BF16",
            "F16",
            "BF16",
            Some(json!({})),
        ),
    ] {
        let plan = Plan { scores, weights, mask, ..Plan::of(18, 20, 6) };
        all.push((name, summary, plan.draft().graph(), FEW));
    }

    // Softmax in five nodes: what is taken off, weights, their sum and the quotient, each with a rounding of its own.
    let mut draft = Draft::default();
    draft.input("X", &[19, 21], "F32");
    draft.push("reduce", &["X"], "top", (&[19, 1], "BF16"), &json!({"fn": "max", "axis": 1}));
    draft.node("sub", &["X", "top"], "below", &[19, 21], "F16");
    draft.node("exp", &["below"], "e", &[19, 21], "BF16");
    draft.push("reduce", &["e"], "sum", (&[19, 1], "F16"), &json!({"fn": "sum", "axis": 1}));
    draft.node("div", &["e", "sum"], "O", &[19, 21], "F16");
    draft.output("O");
    all.push((
        "rounded softmax in five nodes",
        "softmax in five nodes, each of which rounds",
        draft.graph(),
        FEW,
    ));

    for (name, summary, shape) in [
        ("rounded softmax", "weights of rows in BF16", [21, 13]),
        ("softmax of one column", "rows of one number, each of which weighs 1", [20, 1]),
    ] {
        let mut draft = Draft::default();
        draft.input("X", &shape, "F32");
        draft.push("softmax", &["X"], "p", (&shape, "BF16"), &json!({"axis": 1}));
        // What weighs 1 is nothing to look at alone.
        draft.node("mul", &["p", "X"], "O", &shape, "F16");
        draft.output("O");
        all.push((name, summary, draft.graph(), FEW));
    }
}

fn quotients(all: &mut Vec<Streamed>) {
    for (name, summary, second, dtype) in [
        ("quotient", "a matrix is divided by another one, element by element", &[21, 18][..], "BF16"),
        ("quotient by a number for each row", "rows are divided by a number each", &[21, 1], "F16"),
        ("quotient by a number for each column", "columns are divided by a number each", &[18], "BF16"),
    ] {
        let mut draft = Draft::default();
        draft.input("X", &[21, 18], "F16");
        draft.input("Y", second, "F32");
        draft.node("div", &["X", "Y"], "O", &[21, 18], dtype);
        draft.output("O");
        all.push((name, summary, draft.graph(), FEW));
    }
}

fn sums(all: &mut Vec<Streamed>) {
    for (name, summary, shape, axis, dtypes) in [
        (
            "rounded sum of rows",
            "rows are summed up, and the sums are rounded to BF16",
            &[21, 37][..],
            1,
            ["F32", "BF16"],
        ),
        (
            "rounded sum of columns",
            "columns are summed up, and the sums are rounded to F16",
            &[37, 21],
            0,
            ["F32", "F16"],
        ),
        ("sum of one row", "a matrix of one row is summed up along its columns", &[1, 20], 0, ["F32", "F16"]),
        ("sum of one number", "the only number there is is summed up", &[1], 0, ["F16", "BF16"]),
        ("sum of one matrix", "one matrix is summed up with no other one", &[1, 5, 6], 0, ["F32", "BF16"]),
    ] {
        let mut left = shape.to_vec();
        left[axis] = 1;
        let mut draft = Draft::default();
        draft.input("X", shape, dtypes[0]);
        draft.push("reduce", &["X"], "S", (&left, dtypes[1]), &json!({"fn": "sum", "axis": axis}));
        draft.node("gelu", &["S"], "O", &left, "F32");
        draft.output("O");
        all.push((name, summary, draft.graph(), FEW));
    }

    let mut draft = Draft::default();
    draft.input("X", &[19, 1], "F32");
    draft.input("W", &[1, 21], "BF16");
    draft.node("matmul", &["X", "W"], "P", &[19, 21], "F16");
    draft.node("silu", &["P"], "O", &[19, 21], "BF16");
    draft.output("O");
    all.push((
        "product of one column",
        "a column times a row: each element is one product",
        draft.graph(),
        FEW,
    ));
}
