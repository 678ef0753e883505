//! Nodes with right and wrong shapes.

/// What is changed: an operand `a`, `b` or `c`, the result `y`, or, with one number, `axis`.
pub type Change = (&'static str, &'static [i64]);

/// A node, and what makes it a wrong one.
pub struct Row {
    pub name: &'static str,
    pub op: &'static str,
    /// `axis`, where the op has one.
    pub axis: Option<i64>,
    /// Extents of operands, and of the result.
    pub ins: &'static [&'static [i64]],
    pub out: &'static [i64],
    /// What is wrong, and with which changes.
    pub wrong: &'static [(&'static str, &'static [Change])],
}

/// A node without an axis.
pub const fn row(
    op: &'static str,
    name: &'static str,
    ins: &'static [&'static [i64]],
    out: &'static [i64],
    wrong: &'static [(&'static str, &'static [Change])],
) -> Row {
    Row { name, op, axis: None, ins, out, wrong }
}

const fn along(
    op: &'static str,
    name: &'static str,
    axis: i64,
    shapes: [&'static [&'static [i64]]; 2],
    wrong: &'static [(&'static str, &'static [Change])],
) -> Row {
    Row { name, op, axis: Some(axis), ins: shapes[0], out: shapes[1][0], wrong }
}

/// Products and attention.
pub const PRODUCTS: &[Row] = &[
    row(
        "matmul",
        "a product",
        &[&[2, 3], &[3, 4]],
        &[2, 4],
        &[
            ("a second operand of more rows", &[("b", &[4, 4])]),
            ("a second operand of 65536 rows more", &[("b", &[65_539, 4])]),
            ("a second operand that is transposed", &[("b", &[4, 3])]),
            ("a second operand of more columns", &[("b", &[3, 5])]),
            ("a second operand of one axis", &[("b", &[3])]),
            ("a second operand of three axes", &[("b", &[1, 3, 4])]),
            ("a first operand that is transposed", &[("a", &[3, 2])]),
            ("a first operand of one axis", &[("a", &[3])]),
            ("a first operand of other columns", &[("a", &[2, 4])]),
            ("a first operand of other rows", &[("a", &[3, 3])]),
            ("operands of one axis", &[("a", &[3]), ("b", &[3]), ("y", &[])]),
            ("operands in the other order", &[("a", &[3, 4]), ("b", &[2, 3])]),
            ("a transposed result", &[("y", &[4, 2])]),
            ("a result like the first operand", &[("y", &[2, 3])]),
            ("a result like the second operand", &[("y", &[3, 4])]),
            ("a result of one axis", &[("y", &[8])]),
            ("a result of three axes", &[("y", &[1, 2, 4])]),
        ],
    ),
    row(
        "matmul",
        "a product with a square",
        &[&[2, 3], &[3, 3]],
        &[2, 3],
        &[("columns that meet", &[("b", &[4, 3])]), ("one row", &[("b", &[1, 3])])],
    ),
    row(
        "matmul",
        "products",
        &[&[4, 2, 3], &[2, 3, 5]],
        &[4, 2, 5],
        &[
            ("a divisor that is none", &[("b", &[3, 3, 5])]),
            ("a multiple", &[("b", &[8, 3, 5])]),
            ("second operands of more rows", &[("b", &[2, 4, 5])]),
            ("second operands that are transposed", &[("b", &[2, 5, 3])]),
            ("second operands of more columns", &[("b", &[2, 3, 6])]),
            ("one second operand without its axis", &[("b", &[3, 5])]),
            ("one first operand without its axis", &[("a", &[2, 3])]),
            ("first operands that are transposed", &[("a", &[4, 3, 2])]),
            ("first operands of four axes", &[("a", &[1, 4, 2, 3])]),
            ("results for each second operand", &[("y", &[2, 2, 5])]),
            ("transposed results", &[("y", &[4, 5, 2])]),
            ("results like the first operands", &[("y", &[4, 2, 3])]),
            ("results of other rows", &[("y", &[4, 3, 5])]),
            ("results in one matrix", &[("y", &[8, 5])]),
        ],
    ),
    row(
        "matmul",
        "products with squares",
        &[&[2, 3, 4], &[2, 4, 4]],
        &[2, 3, 4],
        &[("columns that meet", &[("b", &[2, 5, 4])]), ("one row", &[("b", &[2, 1, 4])])],
    ),
    row(
        "matmul",
        "products with one matrix",
        &[&[3, 2, 4], &[1, 4, 5]],
        &[3, 2, 5],
        &[("one result", &[("y", &[1, 2, 5])]), ("two matrices", &[("b", &[2, 4, 5])])],
    ),
    row(
        "attention",
        "attention",
        &[&[2, 3], &[5, 3], &[5, 4]],
        &[2, 4],
        &[
            ("keys of another width", &[("b", &[5, 4])]),
            ("keys of 65536 more numbers", &[("b", &[5, 65_539])]),
            ("keys that are transposed", &[("b", &[3, 5])]),
            ("more keys than values", &[("b", &[6, 3])]),
            ("fewer keys than values", &[("b", &[4, 3])]),
            ("keys of one axis", &[("b", &[3])]),
            ("keys of three axes", &[("b", &[1, 5, 3])]),
            ("values that are transposed", &[("c", &[4, 5])]),
            ("more values than keys", &[("c", &[6, 4])]),
            ("65536 more values than keys", &[("c", &[65_541, 4])]),
            ("values of three axes", &[("c", &[1, 5, 4])]),
            ("values of another width", &[("c", &[5, 3])]),
            ("queries of another width", &[("a", &[2, 4])]),
            ("queries that are transposed", &[("a", &[3, 2])]),
            ("more queries than results", &[("a", &[3, 3])]),
            ("a result as wide as the keys", &[("y", &[2, 3])]),
            ("a result as wide as the scores", &[("y", &[2, 5])]),
            ("a result for each key", &[("y", &[5, 4])]),
            ("a transposed result", &[("y", &[4, 2])]),
            ("operands of one axis", &[("a", &[3]), ("b", &[3]), ("c", &[3]), ("y", &[3])]),
        ],
    ),
    row(
        "attention",
        "attention of heads",
        &[&[4, 2, 3], &[2, 5, 3], &[2, 5, 6]],
        &[4, 2, 6],
        &[
            ("a divisor that is none", &[("b", &[3, 5, 3]), ("c", &[3, 5, 6])]),
            ("a multiple", &[("b", &[8, 5, 3]), ("c", &[8, 5, 6])]),
            ("more heads of keys", &[("b", &[4, 5, 3])]),
            ("more heads of values", &[("c", &[4, 5, 6])]),
            ("one head of values", &[("c", &[1, 5, 6])]),
            ("keys of another width", &[("b", &[2, 5, 4])]),
            ("keys that are transposed", &[("b", &[2, 3, 5])]),
            ("fewer keys than values", &[("b", &[2, 4, 3])]),
            ("fewer values than keys", &[("c", &[2, 4, 6])]),
            ("values that are transposed", &[("c", &[2, 6, 5])]),
            ("keys and values of two axes", &[("b", &[5, 3]), ("c", &[5, 6])]),
            ("values of two axes", &[("c", &[5, 6])]),
            ("queries of two axes", &[("a", &[2, 3])]),
            ("queries of another width", &[("a", &[4, 2, 5])]),
            ("more queries than results", &[("a", &[4, 3, 3])]),
            ("results as wide as the keys", &[("y", &[4, 2, 3])]),
            ("results as wide as the scores", &[("y", &[4, 2, 5])]),
            ("results for each key", &[("y", &[4, 5, 6])]),
            ("results for each head of keys", &[("y", &[2, 2, 6])]),
            ("results in one matrix", &[("y", &[8, 6])]),
            (
                "operands of four axes",
                &[("a", &[1, 4, 2, 3]), ("b", &[1, 2, 5, 3]), ("c", &[1, 2, 5, 6]), ("y", &[1, 4, 2, 6])],
            ),
        ],
    ),
];

/// What is done with matrices.
pub const MATRICES: &[Row] = &[
    row(
        "transpose",
        "transposed matrices",
        &[&[2, 3, 4]],
        &[2, 4, 3],
        &[
            ("as they were", &[("y", &[2, 3, 4])]),
            ("with all axes turned", &[("y", &[4, 3, 2])]),
            ("with the first axes turned", &[("y", &[3, 2, 4])]),
            ("with the first axis behind", &[("y", &[3, 4, 2])]),
            ("with the last axis in front", &[("y", &[4, 2, 3])]),
            ("as one matrix", &[("y", &[12, 2])]),
        ],
    ),
    row(
        "transpose",
        "transposed matrices of four axes",
        &[&[2, 3, 4, 5]],
        &[2, 3, 5, 4],
        &[
            ("with all axes turned", &[("y", &[5, 4, 3, 2])]),
            ("with two pairs of axes turned", &[("y", &[3, 2, 5, 4])]),
            ("with the first axes turned", &[("y", &[3, 2, 4, 5])]),
            ("with the middle axes turned", &[("y", &[2, 4, 3, 5])]),
        ],
    ),
    row(
        "mask",
        "a mask",
        &[&[3, 4]],
        &[3, 4],
        &[
            ("transposed", &[("y", &[4, 3])]),
            ("with an axis more", &[("y", &[1, 3, 4])]),
            ("of a vector", &[("a", &[4]), ("y", &[4])]),
            ("of a number", &[("a", &[]), ("y", &[])]),
        ],
    ),
    row(
        "mask",
        "a mask of four axes",
        &[&[2, 3, 4, 5]],
        &[2, 3, 4, 5],
        &[("transposed", &[("y", &[2, 3, 5, 4])]), ("one row less", &[("y", &[2, 3, 3, 5])])],
    ),
    row(
        "rope",
        "angles",
        &[&[3, 8], &[3, 4], &[3, 4]],
        &[3, 8],
        &[
            ("odd", &[("a", &[3, 9]), ("y", &[3, 9])]),
            ("for three pairs of four", &[("b", &[3, 3]), ("c", &[3, 3])]),
            ("for five pairs of four", &[("b", &[3, 5]), ("c", &[3, 5])]),
            ("for each number", &[("b", &[3, 8]), ("c", &[3, 8])]),
            ("transposed", &[("b", &[4, 3]), ("c", &[4, 3])]),
            ("for two rows of three", &[("b", &[2, 4]), ("c", &[2, 4])]),
            ("for one row of three", &[("b", &[1, 4]), ("c", &[1, 4])]),
            ("for no rows", &[("b", &[4]), ("c", &[4])]),
            ("with an axis more", &[("b", &[1, 3, 4]), ("c", &[1, 3, 4])]),
            ("with other cosines", &[("b", &[3, 5])]),
            ("with cosines of other rows", &[("b", &[4, 4])]),
            ("with other sines", &[("c", &[3, 5])]),
            ("with sines of other rows", &[("c", &[4, 4])]),
            ("with sines of one axis", &[("c", &[4])]),
            ("of a vector", &[("a", &[8]), ("b", &[4]), ("c", &[4]), ("y", &[8])]),
            ("to half a row", &[("y", &[3, 4])]),
            ("to transposed rows", &[("y", &[8, 3])]),
        ],
    ),
    row(
        "rope",
        "angles of four axes",
        &[&[2, 3, 5, 8], &[5, 4], &[5, 4]],
        &[2, 3, 5, 8],
        &[
            ("for the axis before", &[("b", &[3, 4]), ("c", &[3, 4])]),
            ("for each matrix", &[("b", &[2, 3, 5, 4]), ("c", &[2, 3, 5, 4])]),
        ],
    ),
];

/// Norms.
pub const NORMS: &[Row] = &[
    row(
        "rms_norm",
        "a root mean square of a vector",
        &[&[5], &[5]],
        &[5],
        &[("of a number", &[("a", &[]), ("y", &[])])],
    ),
    row(
        "rms_norm",
        "a root mean square",
        &[&[2, 3], &[3]],
        &[2, 3],
        &[
            ("with a weight for each row", &[("b", &[2])]),
            ("with one weight", &[("b", &[1])]),
            ("with one weight more", &[("b", &[4])]),
            ("with 65536 weights more", &[("b", &[65_539])]),
            ("with weights in a row", &[("b", &[1, 3])]),
            ("with weights in a column", &[("b", &[3, 1])]),
            ("with a number as its weight", &[("b", &[])]),
            ("to a vector", &[("y", &[3])]),
            ("transposed", &[("y", &[3, 2])]),
        ],
    ),
    row(
        "rms_norm",
        "a root mean square of three axes",
        &[&[2, 3, 4], &[4]],
        &[2, 3, 4],
        &[("with a weight for each row", &[("b", &[3])]), ("with a weight for each matrix", &[("b", &[2])])],
    ),
    row(
        "rms_norm",
        "a root mean square of four axes",
        &[&[2, 3, 4, 5], &[5]],
        &[2, 3, 4, 5],
        &[("with a weight for each row", &[("b", &[4])])],
    ),
    row(
        "layer_norm",
        "a norm of a vector",
        &[&[5], &[5], &[5]],
        &[5],
        &[("of a number", &[("a", &[]), ("y", &[])])],
    ),
    row(
        "layer_norm",
        "a norm",
        &[&[2, 3], &[3], &[3]],
        &[2, 3],
        &[
            ("with a weight for each row", &[("b", &[2])]),
            ("with one weight", &[("b", &[1])]),
            ("with one weight more", &[("b", &[4])]),
            ("with weights in a row", &[("b", &[1, 3])]),
            ("with a bias for each row", &[("c", &[2])]),
            ("with one bias", &[("c", &[1])]),
            ("with one bias more", &[("c", &[4])]),
            ("with a bias in a row", &[("c", &[1, 3])]),
            ("with weights and a bias for each row", &[("b", &[2]), ("c", &[2])]),
            ("transposed", &[("y", &[3, 2])]),
        ],
    ),
    row(
        "layer_norm",
        "a norm of three axes",
        &[&[2, 3, 4], &[4], &[4]],
        &[2, 3, 4],
        &[("with weights and a bias for each row", &[("b", &[3]), ("c", &[3])])],
    ),
    row(
        "layer_norm",
        "a norm of four axes",
        &[&[2, 3, 4, 5], &[5], &[5]],
        &[2, 3, 4, 5],
        &[("with weights and a bias for each row", &[("b", &[4]), ("c", &[4])])],
    ),
];

/// What has an axis.
pub const AXES: &[Row] = &[
    along("softmax", "a softmax along the first axis", 0, [&[&[2, 3, 4]], &[&[2, 3, 4]]], &[]),
    along(
        "softmax",
        "a softmax",
        1,
        [&[&[2, 3]], &[&[2, 3]]],
        &[
            ("along axis 2", &[("axis", &[2])]),
            ("along an axis below 0", &[("axis", &[-1])]),
            ("along an axis 2 below 0", &[("axis", &[-2])]),
            ("along axis 256", &[("axis", &[256])]),
            ("along axis 2^31", &[("axis", &[1 << 31])]),
            ("along axis 2^32", &[("axis", &[1 << 32])]),
            ("along axis 1 less 2^32", &[("axis", &[1 - (1 << 32)])]),
            ("of a number", &[("a", &[]), ("y", &[]), ("axis", &[0])]),
            ("transposed", &[("y", &[3, 2])]),
            ("to a column", &[("y", &[2, 1])]),
        ],
    ),
    along(
        "reduce",
        "a sum over matrices",
        0,
        [&[&[2, 3, 4]], &[&[1, 3, 4]]],
        &[("along the last axis", &[("axis", &[2])]), ("without the axis", &[("y", &[3, 4])])],
    ),
    along(
        "reduce",
        "a sum",
        1,
        [&[&[2, 3, 4]], &[&[2, 1, 4]]],
        &[
            ("without the axis", &[("y", &[2, 4])]),
            ("with an axis of 1 before", &[("y", &[1, 2, 4])]),
            ("with an axis of 1 behind", &[("y", &[2, 4, 1])]),
            ("as it was", &[("y", &[2, 3, 4])]),
            ("along the first axis", &[("axis", &[0])]),
            ("along the last axis", &[("axis", &[2])]),
            ("along axis 3", &[("axis", &[3])]),
            ("along an axis below 0", &[("axis", &[-1])]),
            ("along an axis 2 below 0", &[("axis", &[-2])]),
            ("along axis 257", &[("axis", &[257])]),
            ("along axis 2^32 + 1", &[("axis", &[1 + (1 << 32)])]),
            ("along axis 1 less 2^32", &[("axis", &[1 - (1 << 32)])]),
        ],
    ),
    along(
        "reduce",
        "a sum of one row",
        0,
        [&[&[1, 3]], &[&[1, 3]]],
        &[
            ("along axis 2", &[("axis", &[2])]),
            ("along axis 2^32", &[("axis", &[1 << 32])]),
            ("along an axis below 0", &[("axis", &[-1])]),
            ("along the other axis", &[("axis", &[1])]),
        ],
    ),
    along(
        "reduce",
        "a sum of a vector",
        0,
        [&[&[5]], &[&[1]]],
        &[("to a number", &[("y", &[])]), ("of a number", &[("a", &[]), ("y", &[])])],
    ),
];

/// What is wrong with a result that has to be as its operand.
pub const UNARY: &[(&str, &[Change])] = &[
    ("with other axes in front", &[("y", &[3, 2, 4])]),
    ("with other axes behind", &[("y", &[2, 4, 3])]),
    ("of other rows", &[("y", &[2, 2, 4])]),
    ("of as many elements", &[("y", &[6, 4])]),
    ("with an axis more", &[("y", &[1, 2, 3, 4])]),
    ("with an axis of 1 behind", &[("y", &[2, 3, 4, 1])]),
];

/// What is wrong with two operands of which the second one is repeated, or with the result.
pub const BINARY: &[(&str, &[Change])] = &[
    ("rows for columns", &[("b", &[3])]),
    ("a vector of half the columns", &[("b", &[2])]),
    ("a vector of twice the columns", &[("b", &[8])]),
    ("a vector of 65536 more columns", &[("b", &[65_540])]),
    ("half the columns", &[("b", &[2, 3, 2])]),
    ("half the matrices", &[("a", &[4, 3, 4]), ("y", &[4, 3, 4])]),
    ("the first axes alone", &[("b", &[2, 3])]),
    ("transposed", &[("b", &[2, 4, 3])]),
    ("with an axis of 1 behind", &[("b", &[2, 3, 4, 1])]),
    ("with an axis of 1 in front", &[("b", &[1, 2, 3, 4])]),
    ("more rows than there are", &[("a", &[2, 1, 4]), ("y", &[2, 1, 4])]),
    ("more rows than there are, in the result", &[("a", &[2, 1, 4])]),
    ("more axes than there are", &[("a", &[3, 4]), ("y", &[3, 4])]),
    ("more axes than there are, in the result", &[("a", &[3, 4])]),
    ("a result of other rows", &[("y", &[2, 1, 4])]),
    ("a result with its axes turned", &[("y", &[4, 3, 2])]),
    ("a result of as many elements", &[("y", &[6, 4])]),
];

/// Second operands that are repeated.
pub const REPEATED: &[&[i64]] = &[
    &[2, 3, 4],
    &[3, 4],
    &[4],
    &[],
    &[1],
    &[1, 1],
    &[1, 1, 1],
    &[1, 4],
    &[3, 1],
    &[1, 3, 4],
    &[2, 1, 4],
    &[2, 3, 1],
    &[1, 1, 4],
    &[1, 3, 1],
    &[2, 1, 1],
];
