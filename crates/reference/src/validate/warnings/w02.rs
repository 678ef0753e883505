//! W02 gpu-label: `meta.gpu` names the target.

use megakernel_ir::Rule;
use megakernel_ir::model::Program;
use megakernel_order::Findings;

pub(super) fn check(program: &Program<'_>, findings: &mut Findings) {
    let (Some(target), Some(label)) = (&program.target, program.meta.text("gpu")) else { return };
    if label != *target.name {
        let message = format!("meta.gpu is `{label}`, the target is `{}`", target.name);
        findings.broken(Rule::W02, "/meta/gpu", message);
    }
}
