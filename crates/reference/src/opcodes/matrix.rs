//! What GEMV_TILE and GEMM_TILE share: a weight `[N, K]`, plain or quantised, of which a tile computes some
//! rows.

use megakernel_ir::model::Buffer;
use megakernel_ir::{Param, Rule};

use super::{Operands, Place, Problems, checks, is_quantised, quant};
use crate::region::Region;

const X: Place = Place::Input(0);
const W: Place = Place::Input(1);
const Y: Place = Place::Output(0);

/// Rule M01.
pub(super) fn dtypes(operands: &Operands<'_>, problems: &mut Problems) {
    if is_quantised(operands.task) {
        checks::dtype_in(operands, X, checks::FLOAT, problems);
        checks::dtype_in(operands, Y, checks::FLOAT, problems);
        quant::dtypes(operands, 2, problems);
    } else {
        checks::all_float(operands, problems);
    }
}

/// Rule M08 for the dtype of the weight.
pub(super) fn storage(operands: &Operands<'_>, problems: &mut Problems) {
    if is_quantised(operands.task) {
        quant::dtype(operands, 1, problems);
    }
}

/// Rules M02 and M08. `ranks` says which ranks x and y may have, and `required` says so in words.
pub(super) fn shapes(
    operands: &Operands<'_>,
    ranks: fn(usize) -> bool,
    [x_required, y_required]: [&str; 2],
    problems: &mut Problems,
) {
    let ([x, w, rest @ ..], [y, ..]) = (operands.inputs.as_slice(), operands.outputs.as_slice()) else {
        return;
    };
    // An operand of a wrong rank is reported once and has no sizes to compare.
    let ranked = |buffer: &Buffer<'_>, place, fits: bool, required: &str, problems: &mut Problems| {
        if !fits {
            checks::wrong_shape(Rule::M02, operands, place, required, problems);
        }
        let sizes = || (checks::rows(buffer), checks::last(buffer));
        if fits { sizes() } else { (None, None) }
    };
    let (x_m, x_k) = ranked(x, X, ranks(x.shape.len()), x_required, problems);
    let (w_n, w_k) = ranked(w, W, w.shape.len() == 2, "[N, K]", problems);
    let (y_m, y_n) = ranked(y, Y, ranks(y.shape.len()), y_required, problems);

    checks::agree(operands, "N", (W, w_n), (Y, y_n), Param::N, problems);
    checks::agree(operands, "M", (X, x_m), (Y, y_m), Param::M, problems);
    if is_quantised(operands.task) {
        quantised(operands, w, w_k, x_k, problems);
        return;
    }
    checks::agree(operands, "K", (X, x_k), (W, w_k), Param::K, problems);
    if let ([bias, ..], Some(n)) = (rest, w_n)
        && checks::numel(bias) != n
    {
        let required = format_args!("N = {n} elements");
        checks::wrong_shape(Rule::M02, operands, Place::Input(2), required, problems);
    }
}

/// The width of a quantised weight is M08's; only x and the parameter are left to M02.
fn quantised(
    operands: &Operands<'_>,
    w: &Buffer<'_>,
    w_k: Option<i128>,
    x_k: Option<i128>,
    problems: &mut Problems,
) {
    let k = i128::from(operands.int(Param::K, 0));
    let stored = w_k.map(|width| width.saturating_mul(quant::weights_per_element(w)));
    let of_weight = if stored == x_k { (W, stored) } else { (W, None) };
    checks::agree(operands, "K", (X, x_k), of_weight, Param::K, problems);
    quant::judge(operands, 1, w_k.is_some(), k, Place::Param(Param::K), problems);
}

/// Rule M03 for the columns of the output.
pub(super) fn bounds(operands: &Operands<'_>, problems: &mut Problems) {
    let Some(&n) = operands.inputs.get(1).and_then(|w| w.shape.first()) else { return };
    let [start, length] = columns(operands);
    let length = ("`N_tile`", length);
    checks::within(Rule::M03, operands, (Param::NOff, start), length, ("N", n, W), problems);
}

/// The columns of the output that the task computes: first and number.
pub(super) fn columns(operands: &Operands<'_>) -> [i64; 2] {
    [operands.int(Param::NOff, 0), operands.int(Param::NTile, 0)]
}

/// What the task reads of an input other than x: its rows of the weight, and of what goes with the weight.
pub(super) fn reads(operands: &Operands<'_>, input: usize) -> Option<Region> {
    let buffer = operands.inputs.get(input)?;
    let whole = Region::of(buffer);
    let [start, length] = columns(operands);
    let is_flat_bias = input == 2 && buffer.shape.len() == 1;
    let by_rows = input == 1 || is_quantised(operands.task) || is_flat_bias;
    Some(if by_rows { whole.slice(0, start, length) } else { whole })
}
