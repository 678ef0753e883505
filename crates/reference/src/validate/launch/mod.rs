//! Class L: the launch contract of the target (clause TGT-03).

mod l01;
mod l02;
mod l03;
mod l04;

use megakernel_ir::model::Program;
use megakernel_order::Findings;

/// Judges L01 to L04.
pub fn check(program: &Program<'_>, findings: &mut Findings) {
    let target = program.target.as_ref();
    if let Some(config) = &program.config {
        l01::check(config, target, findings);
        l02::check(config, target, findings);
        l04::check(config, target, findings);
    }
    if let Some(target) = target {
        l03::check(target, findings);
    }
}
