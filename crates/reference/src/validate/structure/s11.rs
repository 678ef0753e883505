//! S11 arity: a task has as many inputs and outputs as its opcode takes.

use megakernel_ir::Rule;
use megakernel_ir::model::Task;
use megakernel_order::Findings;

use crate::opcodes;
use crate::validate::structure::s12::{MAX_INPUTS, MAX_OUTPUTS};

pub(super) fn check(index: usize, task: &Task<'_>, findings: &mut Findings) {
    let arity = opcodes::arity(task);
    let (inputs, outputs) = (task.inputs.len(), task.outputs.len());
    // Counts beyond the ABI's capacity are S12's.
    if inputs <= MAX_INPUTS && !arity.inputs.contains(&inputs) {
        let (least, most) = (arity.inputs.start(), arity.inputs.end());
        let required = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let message = format!("{} takes {required} inputs, found {inputs}", task.op);
        findings.broken(Rule::S11, format!("/tasks/{index}/inputs"), message);
    }
    // Outputs that S10 refuses are not counted: listing one buffer twice is one mistake.
    let repeats = task.outputs.iter().enumerate().any(|(position, id)| task.outputs[..position].contains(id));
    if outputs <= MAX_OUTPUTS && !repeats && outputs != arity.outputs {
        let message = format!("{} has {} outputs, found {outputs}", task.op, arity.outputs);
        findings.broken(Rule::S11, format!("/tasks/{index}/outputs"), message);
    }
}
