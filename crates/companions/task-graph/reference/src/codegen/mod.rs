//! CUDA C++ of a kernel graph: variants, dispatcher, tables (clause TGR-20).
//!
//! The text is one file: a fixed prelude, a record of shapes for each variant, the dispatcher, a list of the tensors, and a
//! fixed end with the loop of a worker and the reader of `task_graph.json`. The kernels are somebody else's.

mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use megakernel_ir::Diagnostic;
use megakernel_reference::cpp::{one_line, quoted};
use megakernel_task_graph::{TensorKind, Translation};

use super::translate::plan::{Operand, Operator, Plan};
use super::translate::{COPY, REDUCE, plan as plan_of};

const PRELUDE: &str = include_str!("prelude.cuh");
const WORKER: &str = include_str!("worker.cuh");

/// The code of one variant: which operators it serves, and what all their tasks have in common.
struct Variant {
    operators: Vec<String>,
    body: String,
}

/// By task type, the variants in the order of their numbers.
type Registry = BTreeMap<i64, Vec<Variant>>;

/// Generates the source for a kernel graph. The mode does not matter: variants are the same in both.
///
/// # Errors
/// Diagnostics of the TK rules, as of translation.
pub fn generate(request: &Translation<'_>) -> Result<String, Vec<Diagnostic>> {
    let plan = plan_of(request)?;
    let registry = register(&plan, request);
    let mut code = format!(
        "// Generated from a kernel graph of {} operators, for {} rank(s). Do not edit.\n\n#pragma once\n\n{PRELUDE}\n",
        plan.operators.len(),
        plan.ranks
    );
    shapes(&registry, &mut code);
    dispatcher(&registry, &mut code);
    tensors(&plan, request, &mut code);
    code.push_str(WORKER);
    Ok(code)
}

/// Collects the variants. Operators that share a number share the text, which is what the number stands for.
fn register(plan: &Plan<'_>, request: &Translation<'_>) -> Registry {
    let mut registry = Registry::new();
    for (operator, stated) in plan.operators.iter().zip(&request.kernel_graph.operators) {
        if operator.all_reduce().is_some() {
            // One variant each, which takes its shapes from the task.
            for task_type in [REDUCE, COPY] {
                let variants = registry.entry(task_type).or_default();
                add(variants, 0, &stated.name, String::new());
            }
        } else {
            let variants = registry.entry(operator.task_type).or_default();
            let body = body(plan, operator, &stated.params.value());
            add(variants, operator.variant as usize, &stated.name, body);
        }
    }
    registry
}

fn add(variants: &mut Vec<Variant>, number: usize, operator: &str, body: String) {
    if variants.len() == number {
        variants.push(Variant { operators: Vec::new(), body });
    }
    if let Some(variant) = variants.get_mut(number) {
        variant.operators.push(operator.to_owned());
    }
}

/// The members of a variant's record.
fn body(plan: &Plan<'_>, operator: &Operator, params: &serde_json::Map<String, serde_json::Value>) -> String {
    let mut body = String::new();
    for (number, operand) in operator.inputs.iter().enumerate() {
        let tile = operand.as_ref().map_or_else(|| "NoTile".to_owned(), |operand| tile(plan, operand));
        let _ = writeln!(body, "  typedef {tile} In{number};");
    }
    for (number, operand) in operator.outputs.iter().enumerate() {
        let _ = writeln!(body, "  typedef {} Out{number};", tile(plan, operand));
    }
    let mut names = BTreeSet::new();
    for (name, value) in params {
        let mut name = identifier(name);
        while !names.insert(name.clone()) {
            name.push('_');
        }
        let _ = match value {
            serde_json::Value::Bool(value) => writeln!(body, "  static constexpr bool {name} = {value};"),
            serde_json::Value::Number(value) if value.is_f64() => {
                writeln!(
                    body,
                    "  static constexpr double {name} = {value:?};",
                    value = value.as_f64().unwrap_or(0.0)
                )
            }
            serde_json::Value::Number(value) => {
                writeln!(body, "  static constexpr long long {name} = {value}ll;")
            }
            other => writeln!(body, "  // {name}: {}", one_line(&other.to_string())),
        };
    }
    body
}

fn tile(plan: &Plan<'_>, operand: &Operand) -> String {
    let tensor = &plan.tensors[operand.tensor];
    let list = |numbers: &[i64], suffix: &str| -> String {
        numbers.iter().map(|number| format!("{number}{suffix}")).collect::<Vec<_>>().join(", ")
    };
    let (dims, strides) = (list(&operand.tile, ""), list(&tensor.strides, "ll"));
    format!("Tile<{}, {dims}>::Of<{strides}>", tensor.data_type)
}

fn shapes(registry: &Registry, code: &mut String) {
    code.push_str("namespace megakernel {\n\n");
    for (task_type, variants) in registry {
        for (number, variant) in variants.iter().enumerate() {
            let _ = writeln!(
                code,
                "// {}, variant {number}: {}\ntemplate <> struct Variant<{task_type}, {number}> {{\n{}}};\n",
                names::of(*task_type),
                one_line(&summary(&variant.operators)),
                variant.body
            );
        }
    }
    code.push_str("} // namespace megakernel\n\n");
}

/// The operators of a variant; of many the first three.
fn summary(operators: &[String]) -> String {
    let first = operators.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    match operators.len() {
        0..=3 => first,
        many => format!("{first} and {} more", many - 3),
    }
}

fn dispatcher(registry: &Registry, code: &mut String) {
    code.push_str(
        "// What each task does: namespace kernels has one function template a task type, of the variant and the context,\n\
         // and unknown_task for tasks of a graph that was not made from this kernel graph.\n\
         #ifndef MEGAKERNEL_KERNELS\n#define MEGAKERNEL_KERNELS \"kernels.cuh\"\n#endif\n#include MEGAKERNEL_KERNELS\n\n\
         namespace megakernel {\n\n\
         template <class Context> __device__ void execute_task(const Task &task, Context &context) {\n  switch (task.type) {\n",
    );
    for (task_type, variants) in registry {
        let name = names::of(*task_type);
        let _ = writeln!(code, "  case {task_type}:\n    switch (task.variant) {{");
        for number in 0..variants.len() {
            let _ = writeln!(
                code,
                "    case {number}: return kernels::{name}<Variant<{task_type}, {number}>>(task, context);"
            );
        }
        code.push_str("    }\n    break;\n");
    }
    code.push_str("  }\n  kernels::unknown_task(task, context);\n}\n\n");
}

/// Where the memory of each tensor comes from, and how much it takes.
fn tensors(plan: &Plan<'_>, request: &Translation<'_>, code: &mut String) {
    code.push_str(
        "// host: given by the caller; device: to be allocated; symmetric: to be allocated alike on all ranks.\n\
         enum class Memory { host, device, symmetric };\n\
         struct TensorInfo {\n  const char *name;\n  Memory memory;\n  long long bytes;\n};\n\
         constexpr TensorInfo tensors[] = {\n",
    );
    for (tensor, stated) in plan.tensors.iter().zip(&request.kernel_graph.tensors) {
        let memory = match stated.io {
            TensorKind::Torch => "host",
            TensorKind::Cuda | TensorKind::Shuffled => "device",
            TensorKind::Nvshmem => "symmetric",
            // Its parts are listed.
            TensorKind::Fused => continue,
        };
        let bytes = (i128::from(tensor.elements()) * i128::from(tensor.bits) + 7) / 8;
        let _ = writeln!(code, "    {{{}, Memory::{memory}, {bytes}ll}},", quoted(&tensor.name));
    }
    code.push_str("};\n\n} // namespace megakernel\n");
}

/// A name that C++ takes: other characters become underscores.
fn identifier(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("param_{plain}")
}
