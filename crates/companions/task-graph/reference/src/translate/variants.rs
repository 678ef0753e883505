//! Variants: operators that the same code serves share a number (clause TGR-15).

use std::collections::HashMap;

use megakernel_task_graph::{Mode, Operator as Stated, Translation};

use super::plan::{Operator, Tensor};

/// There is no code of it.
const ARGMAX: i64 = 109;
/// Types whose code takes its shapes from the task, so that there is one variant only.
const ONE_VARIANT: &[i64] = &[super::ALL_REDUCE, super::REDUCE, ARGMAX, super::COPY];
/// The same of the current generator.
const ONE_VARIANT_NOW: &[i64] = &[ARGMAX];

/// Numbers the variants of each type in the order of their first use.
pub fn number(operators: &mut [Operator], tensors: &[Tensor<'_>], request: &Translation<'_>) {
    let is_current = request.mode == Mode::ExactCurrent;
    let one_variant = if is_current { ONE_VARIANT_NOW } else { ONE_VARIANT };
    let mut known: HashMap<i64, Vec<String>> = HashMap::new();
    for (operator, stated) in operators.iter_mut().zip(&request.kernel_graph.operators) {
        if one_variant.contains(&operator.task_type) {
            continue;
        }
        let signature = signature(operator, tensors, stated, is_current);
        let variants = known.entry(operator.task_type).or_default();
        let number = variants.iter().position(|variant| *variant == signature).unwrap_or(variants.len());
        if number == variants.len() {
            variants.push(signature);
        }
        operator.variant = number as i64;
    }
}

/// All that code is generated from, as text: tiles, strides, parameters, and in the earlier version element types.
fn signature(operator: &Operator, tensors: &[Tensor<'_>], stated: &Stated<'_>, is_current: bool) -> String {
    let operands = operator.inputs.iter().map(Option::as_ref).chain(operator.outputs.iter().map(Some));
    let shapes: Vec<_> = operands
        .map(|operand| {
            let tensor = tensors.get(operand?.tensor)?;
            Some((&operand?.tile, &tensor.strides, (!is_current).then_some(tensor.data_type)))
        })
        .collect();
    let mut params: Vec<(String, serde_json::Value)> = stated.params.value().into_iter().collect();
    params.sort_by(|a, b| a.0.cmp(&b.0));
    format!("{} {shapes:?} {params:?}", operator.inputs.len())
}
