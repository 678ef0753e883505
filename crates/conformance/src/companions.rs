//! The checkers of the companions.

use megakernel_ir::companion::Checker;

/// In order of name.
pub static CHECKERS: &[&dyn Checker] = &[
    &megakernel_collectives_checker::CHECKER,
    &megakernel_mcir_checker::CHECKER,
    &megakernel_schedule_checker::CHECKER,
    &megakernel_task_graph_checker::CHECKER,
];
