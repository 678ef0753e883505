//! Graphs with norms, reductions, rotations, and operands of which there is one number for each row or column.

use serde_json::json;

use super::{FEW, Streamed};
use crate::graphs::{Draft, Plan, decoder, softmax_in_five};

/// Graphs that compute along rows.
pub fn along_rows(all: &mut Vec<Streamed>) {
    norms(all);
    reductions(all);
    rotations(all);
    repeated(all);
    let mut put = |name, summary, draft: Draft| all.push((name, summary, draft.graph(), FEW));

    let mut draft = Draft::default();
    draft.input("X", &[21, 12], "F16");
    draft.input("G", &[12], "F16");
    draft.input("W", &[12, 9], "F16");
    draft.with("rms_norm", &["X", "G"], "H", &[21, 12], &json!({"eps": [1, 1000]}));
    draft.node("matmul", &["H", "W"], "O", &[21, 9], "F16");
    draft.output("O");
    put("norm and product", "a norm, and a product with what it gives", draft);

    let plan = Plan { mask: Some(json!({"window": 4})), ..Plan::of(12, 10, 3) };
    put(
        "softmax in five nodes",
        "attention whose softmax is reductions, a difference and a quotient",
        softmax_in_five(&plan),
    );
    put("decoder", "the attention of a decoder layer, from norm to residual", decoder());
}

fn norms(all: &mut Vec<Streamed>) {
    let mut put = |name, summary, shape: &[i64], eps: [i64; 2], dtypes: [&str; 3], is_layer| {
        let width = &shape[shape.len() - 1..];
        let mut draft = Draft::default();
        draft.input("X", shape, dtypes[0]);
        draft.input("G", width, dtypes[1]);
        let mut ins = vec!["X", "G"];
        if is_layer {
            draft.input("B", width, dtypes[1]);
            ins.push("B");
        }
        let op = if is_layer { "layer_norm" } else { "rms_norm" };
        draft.push(op, &ins, "O", (shape, dtypes[2]), &json!({"eps": eps}));
        draft.output("O");
        all.push((name, summary, draft.graph(), FEW));
    };
    let halves = ["F16"; 3];
    put("norm", "the root of the mean square", &[21, 13], [1, 1000], halves, false);
    put("norm without eps", "the same with an eps of 0", &[19, 10], [0, 1], ["F16", "F32", "F32"], false);
    put("norm with a large eps", "the same with an eps of 7 / 3", &[5, 12], [7, 3], ["F32"; 3], false);
    put("norm of matrices", "rows of several matrices", &[2, 3, 17, 6], [1, 100_000], ["BF16"; 3], false);
    put("norm of one row", "one row", &[1, 40], [3, 1000], ["BF16", "F16", "F32"], false);
    put("norm of columns of one", "rows of one number", &[20, 1], [1, 2], ["F32"; 3], false);
    put("layer norm", "mean and variance", &[21, 13], [1, 1000], halves, true);
    put("layer norm without eps", "the same with an eps of 0", &[9, 11], [0, 5], ["F32"; 3], true);
    put(
        "layer norm of matrices",
        "rows of three matrices",
        &[3, 18, 8],
        [2, 1001],
        ["BF16", "F32", "F16"],
        true,
    );
}

fn reductions(all: &mut Vec<Streamed>) {
    let mut put = |name, summary, shape: &[i64], axis: usize, function: &str, dtypes: [&str; 2]| {
        let mut left = shape.to_vec();
        left[axis] = 1;
        let mut draft = Draft::default();
        draft.input("X", shape, dtypes[0]);
        draft.push("reduce", &["X"], "O", (&left, dtypes[1]), &json!({"fn": function, "axis": axis}));
        draft.output("O");
        all.push((name, summary, draft.graph(), FEW));
    };
    put("sum of rows", "rows are summed up", &[21, 37], 1, "sum", ["F16", "F32"]);
    put("largest of rows", "the largest of each row", &[21, 37], 1, "max", ["F32", "F16"]);
    put("sum of columns", "columns are summed up", &[37, 21], 0, "sum", ["F32", "F32"]);
    put(
        "largest of columns",
        "the largest of each column, of several matrices",
        &[3, 33, 18],
        1,
        "max",
        ["BF16", "BF16"],
    );
    put("sum of matrices", "matrices are summed up", &[5, 17, 18], 0, "sum", ["F16", "BF16"]);
    put(
        "largest of matrices",
        "the largest of matrices, in the second of four axes",
        &[2, 3, 4, 5],
        1,
        "max",
        ["F32", "F32"],
    );
    put("sum of heads", "rows of several matrices are summed up", &[4, 9, 20], 2, "sum", ["F32", "F16"]);
    put("sum of one axis", "the numbers of one axis are summed up", &[50], 0, "sum", ["F16", "F32"]);
    put("largest of one axis", "the largest number of one axis", &[19], 0, "max", ["F16", "F16"]);
    put("sum of rows of one", "rows of one number are summed up", &[20, 1], 1, "sum", ["F32", "F16"]);
}

fn rotations(all: &mut Vec<Streamed>) {
    let mut put = |name, summary, shape: &[i64], dtypes: [&str; 3]| {
        let (rows, half) = (shape[shape.len() - 2], shape[shape.len() - 1] / 2);
        let mut draft = Draft::default();
        draft.input("X", shape, dtypes[0]);
        draft.input("C", &[rows, half], dtypes[1]);
        draft.input("S", &[rows, half], dtypes[1]);
        draft.node("rope", &["X", "C", "S"], "O", shape, dtypes[2]);
        draft.output("O");
        all.push((name, summary, draft.graph(), FEW));
    };
    put("rope", "pairs turned by angles", &[21, 10], ["F16", "F32", "F16"]);
    put("rope of heads", "pairs of three heads", &[3, 18, 12], ["BF16", "BF16", "BF16"]);
    put("rope of one pair", "one pair in a row", &[9, 2], ["F32", "F32", "F32"]);
    put("rope of a long row", "a half whose tiles are its parts", &[2, 42], ["F16", "F16", "F32"]);
    put("rope of one row", "one row", &[1, 64], ["F32", "F32", "BF16"]);
}

fn repeated(all: &mut Vec<Streamed>) {
    let mut put = |name, summary, function: &str, first: &[i64], second: &[i64]| {
        let mut draft = Draft::default();
        draft.input("X", first, "F16");
        draft.input("Y", second, "BF16");
        draft.node(function, &["X", "Y"], "O", first, "F32");
        draft.output("O");
        all.push((name, summary, draft.graph(), FEW));
    };
    put("a number for each row", "rows are multiplied by a number each", "mul", &[21, 18], &[21, 1]);
    put("a row for all rows", "a matrix of one row is taken off from all", "sub", &[21, 18], &[1, 18]);
    put(
        "a number for each row of heads",
        "rows of matrices are multiplied by a number each",
        "mul",
        &[3, 9, 20],
        &[3, 9, 1],
    );
    put("a matrix for all heads", "one matrix is added to several", "add", &[3, 9, 20], &[1, 9, 20]);
    put(
        "columns for all heads",
        "one column is taken off from those of several matrices",
        "sub",
        &[2, 17, 5],
        &[17, 1],
    );
    put("rows for each head", "each matrix meets a row of its own", "max", &[4, 6, 7], &[4, 1, 7]);
}
