//! What a spec author runs of the companions.

use megakernel_corpus::companion::Companion;
use megakernel_prove::Provable;
use megakernel_reference::commands;

/// Their cases.
pub static CASES: &[Companion] = &[
    megakernel_collectives_cases::COMPANION,
    megakernel_mcir_cases::COMPANION,
    megakernel_schedule_cases::COMPANION,
    megakernel_selection_cases::COMPANION,
    megakernel_task_graph_cases::COMPANION,
];

/// Their references.
pub static REFERENCES: &[&commands::Companion] = &[
    &megakernel_collectives_reference::COMPANION,
    &megakernel_mcir_reference::COMPANION,
    &megakernel_schedule_reference::COMPANION,
    &megakernel_selection_reference::COMPANION,
    &megakernel_task_graph_reference::COMPANION,
];

/// What `prove` proves of them.
pub static SUBJECTS: &[&(dyn Provable + Sync)] = &[
    &megakernel_collectives_subject::SUBJECT,
    &megakernel_mcir_subject::SUBJECT,
    &megakernel_schedule_subject::SUBJECT,
    &megakernel_selection_subject::SUBJECT,
    &megakernel_task_graph_subject::SUBJECT,
];
