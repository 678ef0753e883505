//! Variants: operators that the same code serves share a number (clause TGR-15).

use std::collections::HashMap;

use megakernel_task_graph::Operator as Stated;

use super::plan::{Operator, Tensor};

/// Types whose code takes its shapes from the task, so that there is one variant only: REDUCE, ARGMAX and COPY.
const ONE_VARIANT: [i64; 4] = [super::ALL_REDUCE, super::REDUCE, 109, super::COPY];

/// Numbers the variants of each type in the order of their first use.
pub fn number(operators: &mut [Operator], tensors: &[Tensor<'_>], stated: &[Stated<'_>]) {
    let mut known: HashMap<i64, Vec<String>> = HashMap::new();
    for (operator, stated) in operators.iter_mut().zip(stated) {
        if ONE_VARIANT.contains(&operator.task_type) {
            continue;
        }
        let signature = signature(operator, tensors, stated);
        let variants = known.entry(operator.task_type).or_default();
        let number = variants.iter().position(|variant| *variant == signature).unwrap_or(variants.len());
        if number == variants.len() {
            variants.push(signature);
        }
        operator.variant = number as i64;
    }
}

/// All that code is generated from, as text: tiles, strides, element types and parameters.
fn signature(operator: &Operator, tensors: &[Tensor<'_>], stated: &Stated<'_>) -> String {
    let operands = operator.inputs.iter().map(Option::as_ref).chain(operator.outputs.iter().map(Some));
    let shapes: Vec<_> = operands
        .map(|operand| operand.map(|o| (&o.tile, &tensors[o.tensor].strides, tensors[o.tensor].data_type)))
        .collect();
    let mut params: Vec<(String, serde_json::Value)> = stated.params.value().into_iter().collect();
    params.sort_by(|a, b| a.0.cmp(&b.0));
    format!("{} {shapes:?} {params:?}", operator.inputs.len())
}
