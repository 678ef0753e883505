//! The references of the companions.

use megakernel_reference::commands::Companion;

/// In order of name.
pub static COMPANIONS: &[&Companion] = &[
    &megakernel_collectives_reference::COMPANION,
    &megakernel_mcir_reference::COMPANION,
    &megakernel_schedule_reference::COMPANION,
    &megakernel_selection_reference::COMPANION,
    &megakernel_task_graph_reference::COMPANION,
];
