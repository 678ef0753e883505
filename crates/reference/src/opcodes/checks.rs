//! What the checks of several opcodes share: the dtypes that they take, sizes that have to agree, and the
//! words of the messages. Nothing is formatted unless a rule is broken.

use std::fmt::Display;

use megakernel_ir::model::Buffer;
use megakernel_ir::{DType, Param, Rule};

use super::{Operands, Place, Problem, Problems};

/// The dtypes that the opcodes call *float*.
pub(super) const FLOAT: &[DType] = DType::FLOATS;

/// Number of elements. A buffer that breaks S20 has none, which agrees with no shape.
pub(super) fn numel(buffer: &Buffer<'_>) -> i128 {
    buffer.numel().map_or(0, i128::from)
}

/// The last extent; a scalar has none.
pub(super) fn last(buffer: &Buffer<'_>) -> Option<i128> {
    buffer.shape.last().map(|&extent| i128::from(extent))
}

/// `total / part` where that leaves no remainder.
pub(super) fn divided(total: i128, part: i128) -> Option<i128> {
    (total.checked_rem(part)? == 0).then(|| total / part)
}

/// The number of rows of the last extent.
pub(super) fn rows(buffer: &Buffer<'_>) -> Option<i128> {
    divided(numel(buffer), last(buffer)?)
}

/// Whether a problem at this place has been found already.
pub(super) fn blamed(problems: &Problems, place: Place) -> bool {
    problems.iter().any(|problem| problem.place == place)
}

fn buffer<'p>(operands: &Operands<'p>, place: Place) -> Option<&'p Buffer<'p>> {
    match place {
        Place::Input(index) => operands.inputs.get(index).copied(),
        Place::Output(index) => operands.outputs.get(index).copied(),
        Place::Param(_) => None,
    }
}

/// How a message names a place.
pub(super) fn subject(operands: &Operands<'_>, place: Place) -> String {
    let (side, index) = match place {
        Place::Input(index) => ("input", index),
        Place::Output(index) => ("output", index),
        Place::Param(param) => return format!("`{}`", param.name()),
    };
    match buffer(operands, place) {
        Some(buffer) => format!("{side} {index} `{}` (buffer {})", buffer.name, buffer.id),
        None => format!("{side} {index}"),
    }
}

/// The shape of the operand at this place, as a message gives it.
fn shape(operands: &Operands<'_>, place: Place) -> String {
    buffer(operands, place).map(|buffer| format!("{:?}", buffer.shape.as_slice())).unwrap_or_default()
}

/// The dtype of an operand is not one that the opcode takes (M01), or that `qdtype` calls for (M08).
#[cold]
pub(super) fn wrong_dtype(
    rule: Rule,
    operands: &Operands<'_>,
    place: Place,
    required: impl Display,
    problems: &mut Problems,
) {
    let found = buffer(operands, place).map_or("", |buffer| buffer.dtype.name());
    let message =
        format!("{} has dtype {found}; {} takes {required}", subject(operands, place), operands.task.op);
    problems.push(Problem { rule, place, message });
}

/// The shape of an operand is not one that the opcode takes (M02), or that the quantisation calls for (M08).
#[cold]
pub(super) fn wrong_shape(
    rule: Rule,
    operands: &Operands<'_>,
    place: Place,
    required: impl Display,
    problems: &mut Problems,
) {
    let (subject, found) = (subject(operands, place), shape(operands, place));
    let message = format!("{subject} has shape {found}; {} requires {required}", operands.task.op);
    problems.push(Problem { rule, place, message });
}

/// A parameter that does not go with the shapes or with another parameter.
#[cold]
pub(super) fn wrong_param(rule: Rule, param: Param, message: String, problems: &mut Problems) {
    problems.push(Problem { rule, place: Place::Param(param), message });
}

/// Rule M01 for an operand that takes some dtypes.
pub(super) fn dtype_in(operands: &Operands<'_>, place: Place, allowed: &[DType], problems: &mut Problems) {
    if buffer(operands, place).is_some_and(|buffer| !allowed.contains(&buffer.dtype)) {
        let names: Vec<&str> = allowed.iter().map(|dtype| dtype.name()).collect();
        wrong_dtype(Rule::M01, operands, place, names.join(", "), problems);
    }
}

/// Rule M01 for an opcode all of whose operands are *float*.
pub(super) fn all_float(operands: &Operands<'_>, problems: &mut Problems) {
    for index in 0..operands.inputs.len() {
        dtype_in(operands, Place::Input(index), FLOAT, problems);
    }
    for index in 0..operands.outputs.len() {
        dtype_in(operands, Place::Output(index), FLOAT, problems);
    }
}

/// Rule M01 for an opcode whose dtypes the table gives.
pub(super) fn dtypes_of_the_table(operands: &Operands<'_>, problems: &mut Problems) {
    let Some(dtypes) = operands.task.op.record().dtypes else { return };
    for index in 0..operands.inputs.len() {
        dtype_in(operands, Place::Input(index), dtypes.input(index), problems);
    }
    for index in 0..operands.outputs.len() {
        dtype_in(operands, Place::Output(index), dtypes.output, problems);
    }
}

/// Rule M02: the output has the shape of the first input.
pub(super) fn output_like_input(operands: &Operands<'_>, problems: &mut Problems) {
    let ([x, ..], [y, ..]) = (operands.inputs.as_slice(), operands.outputs.as_slice()) else { return };
    if x.shape != y.shape {
        let required = format_args!("the shape of input 0, {:?}", x.shape.as_slice());
        wrong_shape(Rule::M02, operands, Place::Output(0), required, problems);
    }
}

/// Rule M02: all inputs, and the outputs where `with_outputs`, have one shape. The first input is to blame
/// where two or more others agree against it.
pub(super) fn alike(operands: &Operands<'_>, with_outputs: bool, problems: &mut Problems) {
    let [first, inputs @ ..] = operands.inputs.as_slice() else { return };
    let outputs = if with_outputs { operands.outputs.as_slice() } else { &[] };
    let others = || inputs.iter().chain(outputs);
    if others().all(|other| other.shape == first.shape) {
        return;
    }
    if let Some(second) = others().next()
        && others().count() > 1
        && others().all(|other| other.shape == second.shape)
    {
        let required = format_args!("the shape of the other operands, {:?}", second.shape.as_slice());
        return wrong_shape(Rule::M02, operands, Place::Input(0), required, problems);
    }
    let input_places = (1..=inputs.len()).map(Place::Input);
    let places = input_places.chain((0..outputs.len()).map(Place::Output));
    for (place, other) in places.zip(others()) {
        if other.shape != first.shape {
            let required = format_args!("the shape of input 0, {:?}", first.shape.as_slice());
            wrong_shape(Rule::M02, operands, place, required, problems);
        }
    }
}

/// A size that an operand has; nothing where the operand's rank leaves it open (which is reported elsewhere).
pub(super) type Size = (Place, Option<i128>);

/// Rule M02: two operands and, where it is given, a parameter have one size. The one that differs from the
/// two others is to blame; without a parameter that is the second operand.
pub(super) fn agree(
    operands: &Operands<'_>,
    name: &str,
    first: Size,
    second: Size,
    param: Param,
    problems: &mut Problems,
) {
    let given = operands.task.params.int(param).map(i128::from);
    if let (Some(a), Some(b)) = (first.1, second.1) {
        if a == b {
            if let Some(given) = given.filter(|&given| given != a) {
                let (one, other) = (subject(operands, first.0), subject(operands, second.0));
                let shapes = [shape(operands, first.0), shape(operands, second.0)];
                let message = format!(
                    "`{}` is {given}; required {a}, the {name} of {one} with shape {} and {other} with shape {}",
                    param.name(),
                    shapes[0],
                    shapes[1]
                );
                wrong_param(Rule::M02, param, message, problems);
            }
            return;
        }
        if given.is_none() {
            let required = format!("{a}, as in {}", subject(operands, first.0));
            return wrong_size(operands, name, second.0, b, &required, problems);
        }
    }
    let Some(given) = given else { return };
    for (place, size) in [first, second] {
        if let Some(size) = size.filter(|&size| size != given) {
            let required = format!("{given}, the value of `{}`", param.name());
            wrong_size(operands, name, place, size, &required, problems);
        }
    }
}

#[cold]
fn wrong_size(
    operands: &Operands<'_>,
    name: &str,
    place: Place,
    size: i128,
    required: &str,
    problems: &mut Problems,
) {
    let (subject, shape) = (subject(operands, place), shape(operands, place));
    let message = format!("{subject} has shape {shape}, so its {name} is {size}; required {required}");
    problems.push(Problem { rule: Rule::M02, place, message });
}

/// Rules M03 and M04: `start + length` is at most `limit`, which the operand at `holder` has.
pub(super) fn within(
    rule: Rule,
    operands: &Operands<'_>,
    (param, start): (Param, i64),
    (length_name, length): (&str, i64),
    (limit_name, limit, holder): (&str, i64, Place),
    problems: &mut Problems,
) {
    let end = i128::from(start) + i128::from(length);
    if end > i128::from(limit) {
        let message = format!(
            "`{}` {start} plus {length_name} {length} is {end}; required at most {limit}, the {limit_name} of {}",
            param.name(),
            subject(operands, holder)
        );
        wrong_param(rule, param, message, problems);
    }
}
