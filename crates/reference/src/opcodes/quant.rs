//! Quantised weights, of which GEMV_TILE, GEMM_TILE and DEQUANT have one each: rule M08, and M01 for scales
//! and zeros.

use megakernel_ir::model::Buffer;
use megakernel_ir::{DType, Param, Rule};

use super::{Operands, Place, Problem, Problems, checks};

/// The dtypes of zeros: *float*, I8 or U8.
const ZEROS: &[DType] =
    &[DType::F32, DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2, DType::I8, DType::U8];

/// The value of `qdtype` for 4-bit weights; the other value is 6.
const QDTYPE_I4: i64 = 7;

/// Rule M01 for the scales, input `scales`, and the zeros, the input after it where there is one. The
/// quantised operand is left to [`judge`].
pub(super) fn dtypes(operands: &Operands<'_>, scales: usize, problems: &mut Problems) {
    checks::dtype_in(operands, Place::Input(scales), checks::FLOAT, problems);
    checks::dtype_in(operands, Place::Input(scales.saturating_add(1)), ZEROS, problems);
}

/// The dtypes that `qdtype` allows.
fn allowed(operands: &Operands<'_>) -> &'static [DType] {
    if operands.int(Param::QDType, 0) == QDTYPE_I4 { &[DType::U8, DType::I4] } else { &[DType::I8] }
}

/// Rule M08 for the dtype of the quantised operand.
pub(super) fn dtype(operands: &Operands<'_>, q_index: usize, problems: &mut Problems) {
    let Some(q) = operands.inputs.get(q_index) else { return };
    if !allowed(operands).contains(&q.dtype) {
        let is_i4 = operands.int(Param::QDType, 0) == QDTYPE_I4;
        let required = if is_i4 { "U8 or I4 where `qdtype` is 7" } else { "I8 where `qdtype` is 6" };
        checks::wrong_dtype(Rule::M08, operands, Place::Input(q_index), required, problems);
    }
}

/// Rule M08 for the shape of a quantised operand, which has the right rank or not, and, unless M02 has been broken for that
/// operand, for its scales and zeros, the inputs after it. `k` is the length of the quantised axis; `k_place` is what an
/// odd one is blamed on.
pub(super) fn judge(
    operands: &Operands<'_>,
    q_index: usize,
    is_ranked: bool,
    k: i128,
    k_place: Place,
    problems: &mut Problems,
) {
    let Some(q) = operands.inputs.get(q_index) else { return };
    let place = Place::Input(q_index);
    let is_i4 = operands.int(Param::QDType, 0) == QDTYPE_I4;

    if is_i4 && k.checked_rem(2) != Some(0) {
        let message = match k_place {
            Place::Param(param) => {
                format!("`{}` is {k}; required an even number where `qdtype` is 7", param.name())
            }
            _ => {
                let subject = checks::subject(operands, k_place);
                format!("{subject} has the last extent {k}; required an even one where `qdtype` is 7")
            }
        };
        problems.push(Problem { rule: Rule::M08, place: k_place, message });
    } else if is_ranked && allowed(operands).contains(&q.dtype) {
        let width = k / weights_per_element(q);
        if checks::last(q) != Some(width) {
            let required = format_args!("the last extent {width} for K = {k} and dtype {}", q.dtype);
            checks::wrong_shape(Rule::M08, operands, place, required, problems);
        }
    }

    if !is_ranked || problems.iter().any(|problem| problem.rule == Rule::M02 && problem.place == place) {
        return;
    }
    let Some(groups) = ceil_div(k, i128::from(operands.int(Param::Group, 1))) else { return };
    let lead = q.shape.split_last().map_or(&[][..], |(_, lead)| lead);
    for (index, scales) in operands.inputs.iter().enumerate().skip(q_index.saturating_add(1)) {
        let fits = scales
            .shape
            .split_last()
            .is_some_and(|(&width, scales_lead)| i128::from(width) == groups && scales_lead == lead);
        if !fits {
            let shape: Vec<i128> = lead.iter().map(|&extent| extent.into()).chain([groups]).collect();
            let group = operands.int(Param::Group, 1);
            let required = format_args!("{shape:?} for K = {k} and `group` {group}");
            checks::wrong_shape(Rule::M08, operands, Place::Input(index), required, problems);
        }
    }
}

/// Weights that one element of the quantised operand holds: two nibbles of a U8, otherwise one.
pub(super) fn weights_per_element(q: &Buffer<'_>) -> i128 {
    if q.dtype == DType::U8 { 2 } else { 1 }
}

/// Quotient of positive numbers, rounded up; nothing for other numbers, which S15 refuses.
fn ceil_div(total: i128, part: i128) -> Option<i128> {
    if total < 1 || part < 1 {
        return None;
    }
    Some((total - 1) / part + 1)
}
