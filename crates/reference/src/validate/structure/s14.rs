//! S14 param-type: a known parameter fits its field of `amk_params_t` (clause ABI-03).

use megakernel_ir::model::Task;
use megakernel_ir::params::{Param, ParamKey, ParamKind, ParamValue};
use megakernel_ir::{Number, Rule};
use megakernel_order::Findings;

pub(super) fn check(index: usize, task: &Task<'_>, findings: &mut Findings) {
    for (key, value) in &task.params.0 {
        let ParamKey::Known(param) = key else { continue };
        if !fits(*param, value) {
            let required = match param.kind() {
                ParamKind::Int => "an integer from -2147483648 to 2147483647",
                ParamKind::Float => "a number that is finite as binary32",
            };
            let message = format!("`{}` is {}, required {required}", param.name(), describe(value));
            findings.broken(Rule::S14, format!("/tasks/{index}/params/{}", param.name()), message);
        }
    }
}

/// Whether the value marshals without loss of its meaning.
pub(super) fn fits(param: Param, value: &ParamValue) -> bool {
    match (param.kind(), value) {
        (ParamKind::Int, ParamValue::Number(Number::Int(value))) => i32::try_from(*value).is_ok(),
        (ParamKind::Float, ParamValue::Number(number)) => (number.as_f64() as f32).is_finite(),
        _ => false,
    }
}

fn describe(value: &ParamValue) -> String {
    match value {
        ParamValue::Number(Number::Int(value)) => value.to_string(),
        ParamValue::Number(Number::Float(value)) => megakernel_ir::float_text(*value),
        ParamValue::Other(value) => value.to_string(),
    }
}
